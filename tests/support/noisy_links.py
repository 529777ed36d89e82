"""Links whose metrics are known functions of the buffer, seen through noise."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from forebay.results.report import Report
from forebay.search.plan import Plan

PLAN = Plan(smallest=1, largest=1000, ceiling=8000)


class Link:
    """A link whose mean metrics are known functions of the buffer, seen through noise."""

    def __init__(self, means: Mapping[str, Callable[[int], float]], noise: float, seed: int = 1) -> None:
        self.means, self.noise, self.seed = means, noise, seed
        self.asked: Counter[tuple[int, int]] = Counter()

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.asked.update(pairs)
        return [self.report(*pair) for pair in pairs]

    def report(self, buffer: int, replication: int) -> Report:
        metrics = {}
        for name, mean in self.means.items():
            tag = zlib.crc32(name.encode())
            common = np.random.default_rng((self.seed, replication, tag)).normal()
            own = np.random.default_rng((self.seed, replication, buffer, tag)).normal()
            metrics[name] = {"mean": mean(buffer) + self.noise * (0.8 * common + 0.6 * own)}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})


def utilization(buffer: int) -> float:
    return 1 - 0.3 * math.exp(-buffer / 100)


def delay(buffer: int) -> float:
    return buffer * 160e-6


#: 1 - 0.3 exp(-B / 100) = 0.9 at B = 100 ln 3.
EDGE = 100 * math.log(3)


class Shaped(Link):
    """A link whose noise has another shape than the normal one, or is larger the less of the link is used."""

    shape = "heavy"

    def report(self, buffer: int, replication: int) -> Report:
        mean = self.means["utilization"](buffer)
        draws = [np.random.default_rng(key) for key in ((self.seed, replication), (self.seed, replication, buffer))]
        common, own = (self._drawn(draw) for draw in draws)
        scale = 4 * (1 - mean) if self.shape == "fading" else 1.0
        value = mean + scale * self.noise * (0.8 * common + 0.6 * own)
        return Report.of({"engine": "test", "metrics": {"utilization": {"mean": value}}, "groups": []})

    def _drawn(self, draw: np.random.Generator) -> float:
        if self.shape == "heavy":
            return float(draw.standard_t(3)) / math.sqrt(3)
        if self.shape == "rare":
            # One in twenty replications has a deep loss.
            return 0.5 * float(draw.normal()) + 0.3 - 6 * float(draw.random() < 0.05)
        if self.shape == "skewed":
            return float(draw.exponential()) - 1
        return 1 - float(draw.exponential()) if self.shape == "skewed down" else float(draw.normal())


def saturating(buffer: int) -> float:
    """Never more than a two-hundredth above the goal."""
    return 0.905 - 0.3 * math.exp(-buffer / 100)


def stepped(buffer: int) -> float:
    return 0.8 if buffer < 70 else 0.95


def steady(buffer: int) -> float:
    """Rises as much with each doubling, from 0.75 at one packet."""
    return min(1.0, 0.9 + 0.0326 * math.log(buffer / 100))


def slow(buffer: int) -> float:
    return 1 - 1.2 / (1 + (buffer / 18) ** 0.9)
