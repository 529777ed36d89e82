"""A fork of a waiting process answers like a new process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forebay.commands.completion import VARIABLE
from forebay.commands.program import cli
from tests.support.commands import begun, forebay, forks, steady

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux alone")

SHORT = ("--set", "run.warmup=1s", "--set", "run.measure=2s")

#: A call of every verb, and mistakes of each kind.
CALLS = {
    "run": ("run", "small.toml", *SHORT, "--seed", "5"),
    "recommend": ("recommend", "small.toml", "--quick", *SHORT, "--for", "linux"),
    "check": ("check", "small.toml", *SHORT),
    "compare": ("compare", "small.toml", *SHORT, "--points", "2"),
    "sweep": ("sweep", "small.toml", *SHORT, "--over", "link.buffer=5p,20p", "--out", "swept"),
    "fleet": ("fleet", "nothing.csv", "--out", "audited"),
    "emulate": ("emulate", "nothing.toml"),
    "observe": ("observe", "small.toml"),
    "lab": ("lab", "nothing.toml", "--no-open"),
    "explain": ("explain", "queue_delay_p99"),
    "plot": ("plot", "nothing"),
    "reproduce": ("reproduce", "nobody/fig1"),
    "translate": ("translate", "pfifo limit 100", "--for", "linux", "--link", "100Mbps"),
    "headroom": ("headroom", "--rate", "100Gbps", "--cable", "300m"),
    "conformance": ("conformance", "nothing.py:Mine", "--allow-code"),
    "new": ("new", "--list"),
    "schema": ("schema",),
    "completion": ("completion", "bash"),
}
OTHERS = {
    "version": ("--version",),
    "nothing asked": (),
    "no such verb": ("recomend",),
    "too little memory": ("run", "small.toml", "--memory", "1"),
    "no such option": ("run", "small.toml", "--sed", "5"),
}


def test_there_is_a_call_of_every_verb() -> None:
    assert set(CALLS) == set(cli.commands)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("arguments", [*CALLS.values(), *OTHERS.values()], ids=[*CALLS, *OTHERS])
def test_it_answers_as_a_process_from_nothing(arguments: tuple[str, ...], small: Path, tmp_path: Path) -> None:
    there = tmp_path / "from nothing"
    there.mkdir()
    shutil.copy(small, there)
    found, expected = forebay(*arguments, cwd=small.parent), begun(*arguments, cwd=there)
    assert replace(found, out=steady(found.out)) == replace(expected, out=steady(expected.out))


def test_calls_share_neither_environment_nor_folder(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = forebay(cwd=small.parent).out
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "fish_source")
        assert forebay(cwd=small.parent).out != before
    assert forebay(cwd=small.parent).out == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert [forebay("run", "small.toml", *SHORT, cwd=each).code for each in (elsewhere, small.parent)] == [2, 0]


def test_what_is_read_at_a_start_is_given_to_a_process_that_starts() -> None:
    assert forks().can(os.environ)
    assert forks().can({**os.environ, "COLUMNS": "17"})
    for name in ("PYTHONIOENCODING", "PYTHONHASHSEED", "LC_ALL", "LANG", "OPENBLAS_NUM_THREADS"):
        assert not forks().can({**os.environ, name: "other"}), name


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_answered(small: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forks().call(["run", "small.toml", "--set", "run.measure=8000000s"], small.parent, os.environ, timeout_s=0.5)
    assert forks().call(["explain", "buffer"], small.parent, os.environ, timeout_s=60).code == 0
