"""Whether replications are observations of their own: where they are not, there is no confidence.

Two things make several replications one observation. Nothing random may reach the run: then all replications are equal
to the last bit. And flows may move in step, because they share one round trip and one start: then what replications
agree on is that coincidence, of which no network knows (Floyd and Jacobson, On traffic phase effects in packet-switched
gateways, 1992).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from forebay import _core
from forebay.engines import simulates_hosts
from forebay.phase_effects import exact
from forebay.results.report import Report

__all__ = ["Step", "different", "enough", "in_step", "outcomes"]

#: Share of the other flows that lose together, beyond which flows count as in step where a queue drops at random.
TOGETHER = 1 / 3
#: Distance of Jain's index from 1 below which goodputs are the same: one packet more in a million would be seen.
SAME = 1e-9

#: Metrics of each report. A search compares its reports after each batch.
_figures_of: WeakKeyDictionary[Report, tuple[tuple[str, float], ...]] = WeakKeyDictionary()


def outcomes(reports: Sequence[Report]) -> list[Report]:
    """One replication of each outcome: those equal to the last bit are the same."""
    return list({_figures(report): report for report in reversed(reports)}.values())


def different(reports: Sequence[Report]) -> int:
    """The number of different outcomes among replications."""
    return len(outcomes(reports))


def enough(independent: int, replications: int) -> bool:
    """Whether the number of different outcomes supports a confidence: more than half of the replications."""
    return 2 * independent > replications


def _figures(report: Report) -> tuple[tuple[str, float], ...]:
    """Every metric of the link and of the groups."""
    known = _figures_of.get(report)
    if known is not None:
        return known
    of_link = ((name, found.mean) for name, found in report.metrics.items())
    of_groups = (
        (f"{group.name}.{name}", found.mean) for group in report.groups for name, found in group.metrics.items()
    )
    return _figures_of.setdefault(report, (*of_link, *of_groups))


@dataclass(frozen=True, slots=True)
class Step:
    """Flows that move in step: the group of most of them, and how many share a round trip and a start in all."""

    group: str
    flows: int


def in_step(scenario: _core.Scenario, engine: str, reports: Sequence[Report]) -> Step | None:
    """Find flows that move in step in packet runs.

    They do where more than half of the persistent flows share their round trip and their start with others of their
    group, and nothing that is random flows beside them. Hosts whose processing time varies, a queue that drops at
    random, or a medium that loses packets may still pull them apart: then they must also be seen to lose together, or
    to reach the same goodput.

    Parameters
    ----------
    scenario : forebay._core.Scenario
        The simulated scenario.
    engine : str
        The engine that simulated it.
    reports : sequence of Report
        Replications at the buffer that is spoken of.
    """
    if not simulates_hosts(engine):
        return None
    tables = json.loads(scenario.canonical_json())
    groups: list[Mapping[str, Any]] = tables["flows"]
    if any(_random(group["workload"]) for group in groups):
        return None
    counts = {name: count for name, count, _, _ in scenario.groups}
    persistent = {group["name"]: group for group in groups if group["workload"] == "persistent"}
    shared = {name: _sharing(group, counts[name]) for name, group in persistent.items()}
    flows = sum(shared.values())
    if 2 * flows <= scenario.persistent_flows:
        return None
    at_random = (
        scenario.queue != "droptail"
        or any(_loses_or_changes(link) for link in tables["links"])
        or not all(map(exact, persistent.values()))
    )
    if at_random and not _seen_together(reports, scenario.persistent_flows):
        return None
    return Step(max(shared, key=lambda name: shared[name]), flows)


def _loses_or_changes(link: Mapping[str, Any]) -> bool:
    """Whether a link does something by chance."""
    drawn = (isinstance(link["rate"], dict) and "markov" in link["rate"]) or "between" in link.get("outages", ())
    return drawn or bool(link.keys() & {"loss", "medium"})


def _random(workload: Any) -> bool:
    """Whether traffic of this kind comes and goes: neither flows that never end nor a constant stream."""
    return workload != "persistent" and "cbr" not in workload


def _sharing(group: Mapping[str, Any], count: int) -> int:
    """The number of a group's flows that share their round trip and their start with other flows of the group."""
    pairs = Counter(zip(_each(group["rtt"], count), _each(group["start"], count), strict=True))
    return sum(flows for pair, flows in pairs.items() if flows > 1 and None not in pair)


def _each(law: Any, count: int) -> Iterator[str | None]:
    """The value of a distribution for each flow; None if it draws, and a name of its own for each if all differ."""
    if isinstance(law, str):
        yield from (law for _ in range(count))
    elif isinstance(law, list):
        yield from law
    elif isinstance(law, dict) and "common" in law:
        yield from ("common" for _ in range(count))
    elif isinstance(law, dict) and "linspace" in law and "jitter" not in law:
        first, last = law["linspace"]
        yield from (first if first == last else f"{number} of {first} to {last}" for number in range(count))
    else:
        yield from (None for _ in range(count))


def _seen_together(reports: Sequence[Report], flows: int) -> bool:
    """Whether flows lose together more than by chance, or have goodputs that are the same."""
    together, fair = (_mean(reports, name) for name in ("synchronization", "jain_index"))
    # One flow in each event is the least there can be: 0, and all of them 1.
    beyond_one = 0.0 if together is None else (together - 1 / flows) / (1 - 1 / flows)
    return beyond_one >= TOGETHER or (fair is not None and fair >= 1 - SAME)


def _mean(reports: Sequence[Report], name: str) -> float | None:
    """Mean of a metric over the replications that have it."""
    values = [report.metrics[name].mean for report in reports if name in report.metrics]
    return sum(values) / len(values) if values else None
