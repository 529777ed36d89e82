"""The verdicts after a search: "fine" only where the search has shown every goal, and a severity that ranks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint, Measuring, OutOfTime, QuickPrecision
from forebay.fleets.profiles import BUFFER
from forebay.fleets.questions import Question, questions_of
from forebay.fleets.search_stage import _at_recommended, _judged, ranked, search_stage
from forebay.fleets.store import Store
from tests.fleet.ports import inventory, profiles
from tests.support.scenarios import PROFILE

UTILIZATION = {"utilization": ">= 95%"}
BOTH = {**UTILIZATION, "queue_delay_p99": "<= 60ms"}
#: A search that has found 30 kB, and that has seen every goal met up to 50 kB.
ANSWER = {
    "verdict": "met",
    "bytes": 30_000,
    "low_bytes": 28_000,
    "up_bytes": 50_000,
    "end_bytes": 60_000,
    "late_bytes": 75_000,
    "confidence": 0.95,
    "runs": 40,
    "binding": "utilization",
}
UNDECIDED = Judgment("undecided", "the runs do not show whether queue_delay_p99 is met", stage="packet runs", runs=4)
TOO_SMALL = Judgment("too small", "utilization needs a larger buffer", severity=1.5)
TOO_LARGE = Judgment("too large", "half of the buffer also meets every goal", severity=0.4)


def question(configured: int, goals: dict[str, str]) -> Question:
    tables = {
        "link": {"rate": "100Mbps", "buffer": BUFFER},
        "flows": [{"cca": "newreno", "rtt": "20ms"}],
        "goal": goals,
    }
    return Question(json.dumps(tables), Size(configured, "B"))


def judged(configured: int, before: Judgment, goals: dict[str, str], **changes: Any) -> Judgment:
    return _judged(question(configured, goals), before, {**ANSWER, **changes})


def test_a_buffer_beyond_those_that_the_search_has_seen_meet_the_goals_stays_undecided() -> None:
    assert judged(900_000, UNDECIDED, BOTH) == UNDECIDED
    assert judged(30_000, UNDECIDED, BOTH).verdict == "fine"
    assert judged(50_000, UNDECIDED, BOTH).verdict == "fine"
    assert judged(50_001, UNDECIDED, BOTH) == UNDECIDED


@pytest.mark.parametrize("before", [UNDECIDED, TOO_SMALL])
def test_a_buffer_below_the_interval_of_the_needed_one_is_too_small(before: Judgment) -> None:
    assert judged(27_000, before, BOTH).verdict == "too small"


def test_a_buffer_in_the_interval_of_the_needed_one_keeps_its_verdict() -> None:
    assert judged(29_000, UNDECIDED, BOTH) == UNDECIDED
    assert judged(29_000, TOO_SMALL, BOTH).verdict == "too small"
    assert judged(29_000, TOO_LARGE, BOTH) == TOO_LARGE


def test_an_undecided_buffer_that_is_too_small_ranks_by_its_need() -> None:
    found = {str(each): judged(each, UNDECIDED, BOTH) for each in (15_000, 3_000, 1_000)}
    assert [judgment.severity for judgment in found.values()] == pytest.approx([2, 10, 10])
    assert ranked({**found, "less": TOO_LARGE}, dict.fromkeys([*found, "less"], 1))[-1] == "less"


def test_without_a_goal_on_delay_twice_the_needed_buffer_stays_too_large() -> None:
    up = {"up_bytes": 1_000_000, "end_bytes": None, "late_bytes": None}
    assert judged(59_999, TOO_LARGE, UTILIZATION, **up).verdict == "fine"
    found = judged(60_000, TOO_LARGE, UTILIZATION, **up)
    assert (found.verdict, found.margin, found.severity) == ("too large", 2.0, TOO_LARGE.severity)
    assert judged(60_000, TOO_LARGE, BOTH, **up).verdict == "fine", "the user allows this delay"


def test_the_needed_buffer_is_the_nearest_one_and_the_recommended_one_is_enough() -> None:
    small, late = judged(10_000, TOO_SMALL, BOTH), judged(900_000, TOO_LARGE, BOTH)
    needless = judged(900_000, TOO_LARGE, UTILIZATION, up_bytes=1_000_000, end_bytes=None)
    assert [found.needed_bytes for found in (small, late, needless)] == [30_000, 60_000, 30_000]
    assert (late.margin_low, late.margin_high) == (900_000 / 75_000, 900_000 / 50_000)
    for found, configured in ((small, 10_000), (late, 900_000), (needless, 900_000)):
        assert found.margin == pytest.approx(configured / (found.needed_bytes or 0))
    assert needless.recommended_bytes == pytest.approx(30_000 * 2**0.5), "a step beyond the needed one"
    for found in (small, late):
        assert found.recommended_bytes == pytest.approx((30_000 * 60_000) ** 0.5), "the middle of the range"


@dataclass
class Runs:
    """Packet runs on a link of 8 Gb/s whose queue is always full; the goals are missed up to `missed` bytes."""

    missed: float = 0.0
    late: bool = False

    def __post_init__(self) -> None:
        self.asked: list[int] = []

    def measure(self, points: Iterable[Question]) -> None:
        if self.late:
            raise OutOfTime
        self.asked += [point.size.number for point in points]

    def find(self, point: Question) -> MeasuredPoint | None:
        number = point.size.number
        if number not in self.asked:
            return None
        is_met = number > self.missed
        goal = MeasuredGoal("utilization", ">=", 0.95, 0.9, 0.1, "met" if is_met else "missed", 0.9)
        return MeasuredPoint((goal,), number, 4, 1e-9 * number, 0.0, 100 / number, notes=(f"at {number}",))


def changed(runs: Runs) -> Judgment:
    before = replace(judged(900_000, TOO_LARGE, BOTH), notes=("of an earlier size",))
    return _at_recommended(question(900_000, BOTH), before, ANSWER, cast("Measuring", runs))


def test_the_delay_and_the_loss_are_those_of_the_recommended_buffer_after_a_search() -> None:
    found = changed(Runs())
    assert (found.delay_s, found.loss) == (pytest.approx(900e-6), 100 / 900_000)
    assert found.recommended_bytes == 42_427
    assert (found.recommended_delay_s, found.recommended_loss) == (pytest.approx(42.427e-6), 100 / 42_427)
    assert found.raises_loss
    assert found.notes == ("at 900000", "at 42427")


def test_the_buffer_of_the_search_is_recommended_if_the_middle_misses_a_goal() -> None:
    assert changed(Runs(missed=42_427)).recommended_bytes == 30_000
    assert changed(Runs(missed=29_999)).recommended_bytes == 42_427


def test_without_time_the_recommended_buffer_stays_and_its_delay_is_unknown() -> None:
    found = changed(Runs(late=True))
    assert found.recommended_bytes == pytest.approx(42_427, abs=1)
    assert (found.delay_s, found.recommended_delay_s) == (None, None)


def test_a_buffer_that_misses_a_goal_beyond_those_that_the_search_has_found_is_too_large() -> None:
    found = judged(900_000, TOO_SMALL, {"loss_rate": "<= 0.1%"})
    assert (found.verdict, found.needed_bytes) == ("too large", 60_000)
    assert found.recommended_bytes == pytest.approx((30_000 * 60_000) ** 0.5)
    assert "30.0 kB to 60.0 kB" in found.reason


def test_a_fine_buffer_costs_nothing() -> None:
    for before in (TOO_SMALL, TOO_LARGE):
        found = judged(40_000, before, BOTH)
        assert (found.verdict, found.severity, found.recommended_bytes) == ("fine", 0.0, None)


def test_a_search_without_an_answer_changes_no_verdict() -> None:
    assert judged(9000, UNDECIDED, BOTH, verdict="undecided", bytes=None) == UNDECIDED
    assert _judged(question(9000, BOTH), UNDECIDED, {"refusal": "no memory"}) == UNDECIDED


def test_an_impossible_search_is_no_answer() -> None:
    found = judged(9000, UNDECIDED, BOTH, verdict="impossible", bytes=None)
    assert (found.verdict, found.stage, found.runs) == ("not answerable", "search", 40)
    size = replace(TOO_LARGE, margin=9.0, needed_bytes=1e3, recommended_bytes=1e3)
    found = judged(9000, size, BOTH, verdict="impossible", bytes=None)
    assert (found.margin, found.needed_bytes, found.recommended_bytes, found.severity) == (None, None, None, 0.0)


def test_the_time_limit_ends_a_search_and_a_later_call_searches_again(tmp_path: Path) -> None:
    profile = profiles(tmp_path, PROFILE.replace('"30s"', '"3000s"'))
    asked = questions_of(inventory(tmp_path, [{"buffer": "9 packets"}]).ports, profile)
    before = dict.fromkeys(asked.questions, UNDECIDED)

    def searched(within: float | None) -> tuple[dict[str, Judgment], set[str], float]:
        with Store(tmp_path / "measurements", print) as store:
            began = time.monotonic()
            until = None if within is None else began + within
            means = Measuring(store, QuickPrecision(), until=until)
            found = search_stage(asked.questions, before, asked.counts, means, full=1, folder=tmp_path / "searches")
            return found, store.added, time.monotonic() - began

    found, added, limited_s = searched(0.2)
    assert (found, added) == (before, set())
    found, added, whole_s = searched(None)
    assert {judgment.stage for judgment in found.values()} == {"search"}
    assert len(added) == 1
    assert limited_s < whole_s
