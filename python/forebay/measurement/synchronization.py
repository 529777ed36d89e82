"""The number of flows that lose together: measured by the packet engine, used by the fluid engine."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.validation import MOST_REPLICATIONS, MOST_SEED, integer
from forebay.results.warning import Kind, Warning
from forebay.scenario import run_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forebay.scenario import Progress, Scenario

__all__ = ["Fit", "fit_synchronization", "flows_hit"]

#: Arrivals that one traced replication may record; each takes about a hundred bytes for a moment.
MOST_ARRIVALS = 4_000_000
#: Largest number of entries of the list for the fluid engine; a longer list is thinned to as many quantiles.
LONGEST_LIST = 1000
#: Number of events below which a distribution is a guess.
FEW_EVENTS = 20


@dataclass(frozen=True, slots=True)
class Fit:
    """The measurement of the packet engine, and the scenario that uses it.

    Attributes
    ----------
    scenario : Scenario
        The same scenario with `[fluid]` `law = "empirical"`, the list below and no least fraction.
    counts : sequence of int
        Persistent flows that lost in each congestion event, sorted; thinned to at most 1,000 quantiles.
    events : int
        Congestion events measured.
    flows : int
        Persistent flows.
    warnings : sequence of Warning
        Warnings about the limits of the fit.
    """

    scenario: Scenario
    counts: Sequence[int]
    events: int
    flows: int
    warnings: Sequence[Warning]

    @property
    def fraction(self) -> float:
        """Mean fraction of the persistent flows that lose in one event."""
        return sum(self.counts) / len(self.counts) / self.flows


def fit_synchronization(
    scenario: Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Run the packet engine, and use its congestion events as the distribution of the number of flows that lose.

    Parameters
    ----------
    scenario : Scenario
        Scenario with at least one persistent flow.
    seed, replications : int, optional
        Seed and number of the packet runs, in place of the scenario's own.
    progress : callable, optional
        Called during the packet runs.

    Returns
    -------
    Fit
        The distribution and the scenario for the fluid engine.

    Raises
    ------
    InputError
        If there are no persistent flows, or if no congestion event was measured.
    """
    core = scenario.core
    flows = core.persistent_flows
    if not flows:
        raise InputError("found no persistent flows; allowed: a scenario that has some", "fit")
    warmup, measure = core.duration_s
    span = min(measure, MOST_ARRIVALS / (1.2 * core.rate_bps / 8 / core.packet_bytes))
    traced = core.with_overrides(
        ['trace.record=["packets"]', f"trace.from={warmup!r}s", f"trace.until={warmup + span!r}s"]
    )
    persistent = _persistent_numbers(scenario)
    apart = core.bdp_packets * core.packet_bytes * 8 / core.rate_bps if core.bdp_packets else 0.1
    seed = integer(core.seed if seed is None else seed, (0, MOST_SEED), "seed")
    count = core.replications if replications is None else replications
    count = integer(count, (1, MOST_REPLICATIONS), "replications")
    counts: list[int] = []
    for replication in range(count):
        # One at a time: a trace is large.
        job = _core.Job(traced, "packet", seed, replication, traces=True)
        (report,) = run_jobs([job], 1)
        tables = report.traces() or {}
        packets = tables["packets"]
        lost = packets["dropped"].nonzero()[0]
        drops = zip(packets["time_s"][lost].tolist(), packets["flow"][lost].tolist(), strict=True)
        counts += flows_hit(((time, flow) for time, flow in drops if flow in persistent), apart)
        if progress is not None:
            progress(replication + 1, count)
    if not counts:
        raise InputError(f"found no congestion event in {count} x {span:g} s; allowed: a longer run.measure", "fit")
    warnings = []
    if span < measure:
        text = f"only the first {span:.3g} s after the warm-up were traced"
        warnings.append(Warning(Kind.TRACED_IN_PART, text, values={"traced_s": span}))
    if len(counts) < FEW_EVENTS:
        text = f"the distribution has only {len(counts)} congestion events. Measure longer"
        warnings.append(Warning(Kind.FEW_CONGESTION_EVENTS, text, values={"events": len(counts)}))
    thinned = thin(sorted(counts), LONGEST_LIST)
    changes = ['fluid.law="empirical"', f"fluid.empirical={thinned}", "fluid.minimum_synchronization=0.0"]
    return Fit(type(scenario)(core.with_overrides(changes)), thinned, len(counts), flows, warnings)


def flows_hit(drops: Iterable[tuple[float, int]], apart: float) -> list[int]:
    """Number of different flows in each congestion event.

    Parameters
    ----------
    drops : iterable of (float, int)
        Time in seconds and flow of each drop, in the order of time.
    apart : float
        Drops less than this many seconds after the last one belong to its event.

    Returns
    -------
    list of int
        One number per event, in order.
    """
    events: list[set[int]] = []
    last = float("-inf")
    for time, flow in drops:
        if time - last >= apart:
            events.append(set())
        events[-1].add(flow)
        last = time
    return [len(event) for event in events]


def thin(values: Sequence[int], most: int) -> list[int]:
    """At most `most` evenly spaced quantiles of sorted values."""
    if len(values) <= most:
        return list(values)
    return [values[(2 * rank + 1) * len(values) // (2 * most)] for rank in range(most)]


def _persistent_numbers(scenario: Scenario) -> frozenset[int]:
    """Numbers of the persistent flows in traces: flows are numbered over all groups in order."""
    numbers: list[range] = []
    first = 0
    for group, described in zip(scenario.core.groups, scenario.resolved["flows"], strict=True):
        _, count, _, responsive = group
        if responsive and described.get("workload", "persistent") == "persistent":
            numbers.append(range(first, first + count))
        first += count
    return frozenset(itertools.chain.from_iterable(numbers))
