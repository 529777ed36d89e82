"""Numbers of every public function: what is none or out of range is one mistake of the user's, at once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forebay import InputError, Scenario, _core, check, compare, recommend, reproduce, sweep
from forebay.commands.program import cli
from forebay.commands.values import IntegerValue as WholeOption
from forebay.inputs.validation import MOST_JOBS, MOST_REPLICATIONS, MOST_SEED, integer, real
from forebay.measurement.batches import run_in_batches
from forebay.measurement.precision import Precision, run_to_precision
from forebay.measurement.synchronization import fit_synchronization
from tests.support.scenarios import SMALL

#: Values that no argument accepts as a number.
NONE = [
    *(math.nan, math.inf, -math.inf, "3", "", b"3", [], {}, object, 1 + 1j, True, False),
    *(np.nan, np.float64("inf"), np.bool_(True), np.array([1, 2]), np.array([]), np.str_("3")),
]
HUGE = [10**20, -(10**20), 10**5000, np.uint64(2**64 - 1), 2**63, -1]
PARTS = [1.5, 2.0, 1e300, np.float64(3.0), np.float32(0.5)]

SCENARIO = Scenario.parse(SMALL)
CALLS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "run": (lambda _, **given: SCENARIO.run(**given), ("seed", "replications", "jobs")),
    "recommend": (lambda _, **given: recommend(SCENARIO, **given), ("replications", "jobs")),
    "check": (lambda _, **given: check(SCENARIO, **given), ("replications", "jobs")),
    "sweep": (lambda out, **given: sweep(SCENARIO, [], out, **given), ("seed", "replications", "jobs")),
    "compare": (lambda _, **given: compare(SCENARIO, **given), ("points", "replications", "jobs")),
    "reproduce": (lambda out, **given: reproduce("auge/fig1", out=out, **given), ("jobs",)),
    "with_packets": (lambda _, **given: SCENARIO.with_packets(**given), ("packets",)),
    "batches": (lambda _, **given: run_in_batches(SCENARIO, **{"batches": 9, **given}), ("batches", "seed")),
    "precision": (
        lambda _, **given: run_to_precision(SCENARIO, [Precision.parse("5%")], **given),
        ("seed", "jobs"),
    ),
    "fit": (lambda _, **given: fit_synchronization(SCENARIO, **given), ("seed", "replications")),
}


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, (_, arguments) in CALLS.items() for argument in arguments]
)
def test_a_whole_number_is_one(name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay._core.run_batch", lambda *_: pytest.fail("something ran"))
    for value in [*NONE, *HUGE, *PARTS]:
        with pytest.raises(InputError, match=f"^{argument}: found .*; allowed: a whole number from") as found:
            CALLS[name][0](tmp_path / "out", **{argument: value})
        assert "\n" not in str(found.value)
        assert len(str(found.value)) < 200


@pytest.mark.parametrize("argument", ["confidence", "resolution", "fraction"])
def test_a_share_is_a_number(argument: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay._core.run_batch", lambda *_: pytest.fail("something ran"))
    for value in [*NONE, *HUGE, 1e300, 0.0]:
        with pytest.raises(InputError, match=f"^{argument}: found .*; allowed: "):
            recommend(SCENARIO, **{argument: value})


def test_numbers_of_numpy_are_numbers() -> None:
    short = SCENARIO.changed("run.measure=1s")
    plain = short.run(seed=3, replications=2, jobs=1)
    numbers = {"seed": np.uint64(3), "replications": np.int8(2), "jobs": np.int32(1)}
    assert short.run(**numbers).metrics == plain.metrics  # type: ignore[arg-type]
    assert short.with_packets(np.int64(7)).core.sha256 == short.with_packets(7).core.sha256
    for value in (0, np.int64(0), 9, np.uint8(9)):
        assert integer(value, (0, 9), "x") == int(value)
        assert type(integer(value, (0, 9), "x")) is int
        assert type(real(value, "x")) is float


def test_bounds_are_declared_in_one_place() -> None:
    """The command line's, the library's and the file's are the same."""
    most = {"seed": MOST_SEED, "jobs": MOST_JOBS, "replications": MOST_REPLICATIONS}
    for verb in cli.commands.values():
        for option in verb.params:
            if option.name in most and isinstance(option.type, WholeOption):
                assert option.type.most == most[option.name], (verb.name, option.name)
    run = json.loads(_core.schema())["properties"]["run"]["properties"]
    assert run["replications"]["maximum"] == MOST_REPLICATIONS
    assert run["seed"]["maximum"] == MOST_SEED
