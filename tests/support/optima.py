"""Links whose metric is best at a known place, seen through noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.plan import Plan

LOSS, FAIRNESS = Goal("loss_rate", "<=", 0.0), Goal("jain_index", ">=", 0.0)


PLAN = Plan(smallest=1, largest=1000, ceiling=1000)


class Link:
    """A mean metric that is a known function of the place, and another that goals are about, seen through noise."""

    def __init__(self, mean: Callable[[int], float], noise: float, seed: int = 0) -> None:
        self.mean, self.noise, self.seed = mean, noise, seed
        self.asked: list[tuple[int, int]] = []

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.asked += pairs
        return [self.report(*pair) for pair in pairs]

    def report(self, place: int, replication: int) -> Report:
        draw = np.random.default_rng((self.seed, replication)).normal()
        value = self.mean(place) + self.noise * draw
        metrics = {name: {"mean": sign * value} for name, sign in (("loss_rate", 1), ("jain_index", -1))}
        metrics["utilization"] = {"mean": 1 - 30 / place}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})
