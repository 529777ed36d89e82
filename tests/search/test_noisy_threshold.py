"""A threshold in much noise is located from either side, with heavy tails, and at a bounded cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.noisy_threshold import MOST, located
from forebay.search.plan import Plan
from forebay.search.search_state import SearchState

#: The buffer at which the loss rate is 1 %, in packets.
EDGE = 70
GOAL = Goal("loss_rate", "<=", 0.01)
ERROR = 0.1


class HeavyTails:
    """A loss rate that falls with the buffer, or rises, times log-normal noise of mean 1 and deviation 1.3."""

    def __init__(self, seed: int, power: float = 1.2) -> None:
        self.random, self.power, self.runs = np.random.default_rng(seed), power, 0

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.runs += len(pairs)
        found = []
        for buffer, _ in pairs:
            noise = math.exp(float(self.random.normal()) - 0.5)
            metrics = {"loss_rate": {"mean": 0.01 * (EDGE / buffer) ** self.power * noise}}
            found.append(Report.of({"engine": "test", "metrics": metrics, "groups": []}))
        return found


def seen(link: Callable[[Sequence[tuple[int, int]]], list[Report]]) -> SearchState:
    found = SearchState(link, [GOAL], Plan(smallest=1, largest=200, ceiling=1600))
    found.sample([13, 50, 200, 800], 2)
    return found


@pytest.mark.parametrize("start", [25, 70, 250])
def test_an_edge_in_heavy_tails_is_located_from_both_sides(start: int) -> None:
    off = []
    for seed in range(20):
        found = located(seen(HeavyTails(seed)), [GOAL], math.log(start), error=ERROR, most=1024, ends=(1, 1600))
        assert found is not None
        assert found.goal == GOAL
        assert found.error <= ERROR
        assert found.spread > 2 * ERROR
        off.append(found.at - math.log(EDGE))
    assert abs(float(np.median(off))) <= ERROR
    assert float(np.mean(np.abs(off) <= 3 * ERROR)) >= 0.9


def test_no_more_runs_are_spent_than_allowed() -> None:
    for most in (0, 10, 50, 200):
        link = HeavyTails(3)
        before = seen(link)
        begun = link.runs
        assert located(before, [GOAL], math.log(EDGE), error=1e-9, most=most, ends=(1, 1600)) is not None
        assert link.runs - begun == most
    assert MOST < 200, "several rounds"


def test_ends_are_kept() -> None:
    link = HeavyTails(1)
    observing = seen(link)
    found = located(observing, [GOAL], math.log(100), error=ERROR, most=300, ends=(150, 1600))
    assert found is not None
    assert found.at >= math.log(150) - 1e-9
    assert min(set(observing.samples) - {13, 50}) >= 150


def test_without_a_rise_there_is_no_edge() -> None:
    link = HeavyTails(1, power=-3.0)
    assert located(seen(link), [GOAL], math.log(50), error=ERROR, most=300, ends=(1, 1600)) is None
