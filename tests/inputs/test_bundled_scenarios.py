"""The scenarios that come with forebay by name: the same as the files in the root, in every verb and in every shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forebay import InputError, Scenario
from forebay.inputs.bundled_scenarios import bundled, bundled_names
from forebay.laboratory.page import is_built
from tests.support.commands import forebay, without_costs
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

FILES = sorted((ROOT / "scenarios").glob("*.toml"))
SHORT = ["--set", "run.warmup=1s", "--set", "run.measure=2s", "--set", "run.replications=1"]
#: Beside a table of rates.
WITH_TABLE = [path.stem for path in FILES if ".csv" in path.read_text(encoding="utf-8")]


def test_all_of_the_root_are_there_and_no_others() -> None:
    assert bundled_names() == [path.stem for path in FILES]
    assert WITH_TABLE, "one at least reads another file"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_name_means_what_the_file_means(path: Path) -> None:
    assert Scenario.load(f"@{path.stem}").resolved == Scenario.load(path).resolved
    assert bundled(path.stem).title == Scenario.load(path).title != ""


def test_every_verb_that_takes_a_file_takes_a_name(tmp_path: Path) -> None:
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    for arguments in (
        ["run", None, *SHORT, "--json"],
        ["compare", None, *SHORT, "--points", "0", "--no-picture", "--json"],
        ["recommend", None, *SHORT, "--quick", "--fresh", "--no-picture", "--goal", "utilization>=10%", "--json"],
    ):
        named, filed = (
            forebay(*(each or given for each in arguments), cwd=tmp_path) for given in ("@lab-dumbbell", str(path))
        )
        assert named.code == filed.code == 0, named.err
        assert without_costs(json.loads(named.out)) == without_costs(json.loads(filed.out))
    swept = forebay("sweep", "@lab-dumbbell", *SHORT, "--over", "link.buffer=9p", "--out", "swept", cwd=tmp_path)
    assert swept.code == 0, swept.err
    if is_built():
        laboratory = forebay("lab", "@lte-downlink", "--no-open", "--out", "lab.html", cwd=tmp_path)
        assert laboratory.code == 0, laboratory.err
    emulated = forebay("emulate", "@lab-dumbbell", "--as", "nobody", "--", "true", cwd=tmp_path)
    assert (emulated.code, emulated.err.count("\n")) == (2, 1)
    assert "nobody" in emulated.err, "the scenario was read"


def test_what_is_written_is_called_by_the_name(tmp_path: Path) -> None:
    answer = forebay(
        "recommend", "@lab-dumbbell", *SHORT, "--quick", "--goal", "utilization>=10%", "--out", ".", cwd=tmp_path
    )
    assert answer.code == 0, answer.err
    assert (tmp_path / "lab-dumbbell-recommendation.json").is_file()


@pytest.mark.parametrize("given", ["@campus-uplnk", "@", "@fluid-and-packet/cubic-four", "@LEO", "@lte.csv"])
def test_an_unknown_name_is_one_line_with_what_there_is(given: str, tmp_path: Path) -> None:
    answer = forebay("recommend", given, cwd=tmp_path)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert "campus-uplink" in answer.err
    assert "`forebay new --list`" in answer.err
    with pytest.raises(InputError, match="unknown scenario"):
        Scenario.load(given)


def test_the_closest_name_is_suggested() -> None:
    with pytest.raises(InputError, match="did you mean `campus-uplink`"):
        bundled("campus-uplnk")


def test_a_file_of_such_a_name_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "@leo").write_text(SMALL, encoding="utf-8")
    assert "Small link" in forebay("run", "./@leo", cwd=tmp_path).out
    assert "Small link" not in forebay("run", "@leo", *SHORT, cwd=tmp_path).out


def test_all_are_listed_with_their_titles() -> None:
    answer = forebay("new", "--list")
    lines = answer.out.splitlines()
    assert [line.split()[0] for line in lines] == [f"@{path.stem}" for path in FILES]
    for path, line in zip(FILES, lines, strict=True):
        assert line.endswith(Scenario.load(path).title)


@pytest.mark.parametrize("name", ["campus-uplink", *WITH_TABLE])
def test_a_copy_is_the_same_scenario(name: str, tmp_path: Path) -> None:
    answer = forebay("new", "--from", name, cwd=tmp_path)
    assert answer.code == 0, answer.err
    copy = tmp_path / f"{name}.toml"
    assert copy.read_bytes() == (ROOT / "scenarios" / copy.name).read_bytes()
    assert Scenario.load(copy).resolved == Scenario.load(f"@{name}").resolved
    assert all(path.name in answer.out for path in tmp_path.iterdir())
    elsewhere = forebay("new", "deep.toml", "--from", f"@{name}", "--force", cwd=tmp_path)
    assert elsewhere.code == 0, elsewhere.err
    assert (tmp_path / "deep.toml").read_bytes() == copy.read_bytes()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "lte.csv").write_text("mine", encoding="utf-8")
    refused = forebay("new", "--from", "lte-downlink", cwd=tmp_path)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "lte.csv" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["lte.csv"], "not the half of it"
    assert (tmp_path / "lte.csv").read_text(encoding="utf-8") == "mine"
    assert forebay("new", "--from", "lte-downlink", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "lte.csv").read_text(encoding="utf-8") != "mine"


def test_a_copy_goes_to_standard_output() -> None:
    answer = forebay("new", "-", "--from", "campus-uplink")
    assert answer.out == (ROOT / "scenarios" / "campus-uplink.toml").read_text(encoding="utf-8")
    refused = forebay("new", "-", "--from", "lte-downlink")
    assert (refused.code, refused.out) == (2, "")
    assert "lte.csv" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "leo", "--rate", "3Mbps"], "--rate: cannot be combined with --from"),
        (["--from", "leo", "--queue", "droptail"], "--queue: cannot be combined with --from"),
        (["--list", "--from", "leo"], "--from: cannot be combined with --list"),
        (["--list", "new.toml"], "FILE: cannot be combined with --list"),
        (["--from", "campus-uplnk"], "--from: unknown scenario `campus-uplnk`; did you mean `campus-uplink`"),
        (["leo.json", "--from", "leo"], "FILE: found `leo.json`"),
        (
            ["--rate", "3Mbps"],
            "new: found no FILE; allowed: a FILE to write, --from NAME, --fleet DIR, --algorithm NAME, or --list",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    answer = forebay("new", *arguments, cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"forebay: {message}")
    assert not list(tmp_path.iterdir())


# Shells -----------------------------------------------------------------------------------------------------------


def completed(words: list[str], tmp_path: Path) -> list[str]:
    """The completions of bash for the last word; bash splits a line so that an @ is a separate word."""
    program = tmp_path / "forebay"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forebay "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    split = [part for word in words for part in ([word[0], word[1:]] if word[0] == "@" and word != "@" else [word])]
    quoted = " ".join(f"'{word}'" for word in split)
    script = forebay("completion", "bash").out + (
        f"\nCOMP_WORDS=({quoted}) COMP_CWORD={len(split) - 1}; _forebay_completion forebay '{words[-1]}'"
        "\nprintf '%s\\n' \"${COMPREPLY[@]}\""
    )
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "--norc", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on PATH")
@pytest.mark.parametrize("verb", ["recommend", "run", "compare", "sweep", "lab", "emulate"])
def test_bash_completes_names(verb: str, tmp_path: Path) -> None:
    assert completed(["forebay", verb, "@camp"], tmp_path) == ["@campus-uplink"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on PATH")
def test_bash_completes_what_comes_after_a_name(tmp_path: Path) -> None:
    assert completed(["forebay", "run", "@"], tmp_path) == [f"@{path.stem}" for path in FILES]
    assert completed(["forebay", "run", "@leo", "--engine", "pack"], tmp_path) == ["packet"]
    assert completed(["forebay", "new", "--from", "campus-u"], tmp_path) == ["campus-uplink"]
    assert completed(["forebay", "new", "--language", "r"], tmp_path) == ["rust"]
    assert completed(["forebay", "explain", "queue_delay_p9"], tmp_path)[0] == "queue_delay_p95_s"
