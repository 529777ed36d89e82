"""The range in which the atlas expects a scenario's answer, so that a search starts there.

Between the links of the table, the ends of the interval are interpolated linearly. The coordinates are the logarithms
of
rate, round trip, number of flows and unused share, and the background's share. The atlas expects nothing beyond them.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from forebay.atlas.rows import CONTROLLERS, PACKET_BITS, Row, read
from forebay.inputs.goals import Goal
from forebay.scenario import Scenario
from forebay.storage.safe_io import DamagedError

__all__ = ["Place", "Prior", "Table", "between", "place_of", "prior"]

#: Range of the ratio of the longest round trip of several flows to their mean; it is 1.2 in the atlas. With equal round
#: trips losses coincide, and with very different ones the flows with long round trips do not count.
SPREAD = (1.02, 1.6)


@dataclass(frozen=True, slots=True)
class Place:
    """A link as the atlas has it; see `Row`."""

    rate_bps: float
    rtt_s: float
    flows: int
    controller: str
    background: float
    utilization: float

    def coordinates(self) -> tuple[float, ...]:
        """The coordinates among the links of its controller."""
        logarithms = (math.log(each) for each in (self.rate_bps, self.rtt_s, self.flows, 1 - self.utilization))
        return *logarithms, self.background


@dataclass(frozen=True, slots=True)
class Prior:
    """The interval, in packets, in which the smallest buffer for a utilization is expected."""

    place: Place
    low: int
    high: int

    def __str__(self) -> str:
        flows = f"{self.place.flows} flows reach" if self.place.flows != 1 else "one flow reaches"
        aim = f"{100 * self.place.utilization:g} %"
        return f"the search began at {self.low} to {self.high} packets, where {flows} {aim} according to the atlas"


def prior(scenario: Scenario, goals: Iterable[Goal]) -> Prior | None:
    """The atlas's expectation; None if the scenario lies beyond the atlas's links, or if the table is damaged."""
    place = place_of(scenario, goals)
    if place is None:
        return None
    try:
        found = between(place, read())
    except DamagedError:
        return None
    return None if found is None else Prior(place, math.floor(found[0]), math.ceil(found[1]))


@dataclass(frozen=True, slots=True)
class Table:
    """The intervals of a controller's links, between which it interpolates.

    Attributes
    ----------
    known : mapping
        Both ends of each interval, in packets, by the coordinates of its link.
    axes : tuple of tuple of float
        The values of each coordinate, in rising order; none without a link.
    """

    known: Mapping[tuple[float, ...], tuple[int, int]]
    axes: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, controller: str, rows: Iterable[Row]) -> Table:
        """The table of a controller."""
        known = dict(_known(controller, rows))
        return cls(known, tuple(tuple(sorted(set(values))) for values in zip(*known, strict=True)))

    def at(self, place: Place) -> tuple[float, float] | None:
        """The ends of the interval at a place; None if a link next to it has none."""
        if not self.axes:
            return None
        found = [0.0, 0.0]
        sides = [_side(axis, value) for axis, value in zip(self.axes, place.coordinates(), strict=True)]
        for corner in itertools.product(*sides):
            weight = math.prod(share for _, share in corner)
            if not weight:
                continue
            ends = self.known.get(tuple(value for value, _ in corner))
            if ends is None:
                return None
            found = [sum_ + weight * math.log(end) for sum_, end in zip(found, ends, strict=True)]
        return None if not all(sides) else (math.exp(found[0]), math.exp(found[1]))


def between(place: Place, rows: Iterable[Row]) -> tuple[float, float] | None:
    """The ends of the interval at a place; None if a link next to it has none."""
    return Table.of(place.controller, rows).at(place)


def _known(controller: str, rows: Iterable[Row]) -> Iterator[tuple[tuple[float, ...], tuple[int, int]]]:
    """Intervals by their places."""
    for row in rows:
        if row.controller == controller and row.low_packets is not None and row.high_packets is not None:
            place = Place(row.rate_bps, row.rtt_s, row.flows, controller, row.background, row.utilization)
            yield place.coordinates(), (row.low_packets, row.high_packets)


def _side(axis: Sequence[float], value: float) -> list[tuple[float, float]]:
    """The neighbors of a value with their weights; none if it lies beyond all of them."""
    slack = 1e-9 * (1 + abs(value))
    if not axis[0] - slack <= value <= axis[-1] + slack:
        return []
    above = min(bisect_right(axis, value), len(axis) - 1)
    low, high = axis[max(above - 1, 0)], axis[above]
    share = 1.0 if low == high else min(max((value - low) / (high - low), 0.0), 1.0)
    return [(low, 1 - share), (high, share)] if low != high else [(high, 1.0)]


def place_of(scenario: Scenario, goals: Iterable[Goal]) -> Place | None:
    """The scenario as one of the atlas's links; None if it is not like them."""
    core = scenario.core
    responsive = [(count, controller) for _, count, controller, reacts in core.groups if reacts]
    flows = sum(count for count, _ in responsive)
    controllers = {controller for _, controller in responsive}
    aims = [goal.threshold for goal in goals if goal.name == "utilization" and goal.sense == ">="]
    alike = len(controllers) == 1 and controllers.issubset(CONTROLLERS) and flows == core.persistent_flows > 0
    if not alike or not aims or max(aims) >= 1 or core.queue != "droptail" or len(scenario.resolved["links"]) > 1:
        return None
    assert core.bdp_packets is not None, "a link of responsive flows has one"
    packets_per_s = scenario.packets_per_second
    rtt = core.bdp_packets / packets_per_s
    if flows > 1 and not SPREAD[0] <= (core.longest_rtt_s or math.inf) / rtt <= SPREAD[1]:
        return None
    return Place(
        packets_per_s * PACKET_BITS,
        rtt,
        flows,
        controllers.pop(),
        abs(core.background_load),
        max(aims),
    )
