"""The limit of a switch that drops packets: alpha of the queue, the port's buffer, the pool, or the headroom.

`check` asks for it at a buffer that loses packets. Each limit is lifted alone, and some of the same runs are repeated
with the same random streams. A limit that never acted leaves the report as it is, so the loss without a limit is what
the limit costs. A report counts drops of a link without their cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from forebay.results.report import Report
from forebay.scenario import TARGET, Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Measurements

__all__ = ["LimitEffect", "limit_effects"]

#: Runs that are repeated without a limit.
RUNS = 4
#: Values that limit nothing: more than any run holds, and the largest alpha of a scenario.
LIFTED_BYTES, LIFTED_PACKETS, LIFTED_ALPHA = "1TB", "600000000p", "1000"


@dataclass(frozen=True, slots=True)
class LimitEffect:
    """The effect of one limit.

    Attributes
    ----------
    name : str
        "queue" (alpha), "port" (the buffer), "pool" or "headroom".
    key : str
        The key, as `--set` takes it.
    configured : str
        The value in the scenario.
    loss_rate : float
        Loss of the link in the repeated runs with all limits.
    loss_without : float
        Loss of the link in the same runs without this limit.
    binds : bool
        Whether less is lost without this limit than with it, and less than without any other. If alpha and the pool
        are equal, alpha binds.
    """

    name: str
    key: str
    configured: str
    loss_rate: float
    loss_without: float
    binds: bool


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit, with the text that lifts it."""

    name: str
    key: str
    configured: str
    lifted: str


@dataclass(frozen=True, slots=True)
class _WithoutLimit(BufferVariable):
    """The scenario without one limit, by the number of the limit from 1."""

    limits: Sequence[_Limit] = field(default=(), compare=False)
    place_checked: int = 0

    @property
    def identity(self) -> str:
        """The name of the runs among those of an interrupted check."""
        return f"limits#{self.place_checked}"

    def apply(self, packets: int) -> Scenario:
        """The scenario without a limit."""
        limit = self.limits[packets - 1]
        return self.scenario.changed(("limits", limit.key, limit.lifted))


def limit_effects(measure: Measurements, place: int, scenario: Scenario) -> tuple[list[LimitEffect], Measurements]:
    """Lift each limit of the target link alone, and repeat some of the runs at a place.

    Parameters
    ----------
    measure : Measurements
        The runs so far, with all limits.
    place : int
        The place of the scenario among them.
    scenario : Scenario
        The scenario at this place.

    Returns
    -------
    list of LimitEffect
        Empty if the link has neither a memory nor `pfc`, or if it lost nothing.
    Measurements
        The repeated runs.
    """
    limits = list(_limits(scenario.resolved))
    variable = _WithoutLimit(scenario, TARGET, limits, place)
    lifted = measure.alongside(variable)
    numbers = sorted(number for at, number in measure.reports if at == place)[:RUNS]
    before = [_loss(measure.reports[place, number]) for number in numbers]
    if not limits or not numbers or None in before or not sum(each or 0 for each in before):
        return [], lifted
    loss = fmean(each or 0 for each in before)
    without = []
    for at in range(1, len(limits) + 1):
        reports = lifted([(at, number) for number in numbers])
        without.append(fmean(_loss(report) or 0 for report in reports))
    # A larger pool raises the threshold of alpha, too: if no loss is left without alpha, the pool is not full.
    binding = without.index(min(without)) if min(without) < loss else None
    return [
        LimitEffect(each.name, each.key, each.configured, loss, found, binds=number == binding)
        for number, (each, found) in enumerate(zip(limits, without, strict=True))
    ], lifted


def _loss(report: Report) -> float | None:
    """Loss of the link in a run."""
    return report.metrics["loss_rate"].mean if "loss_rate" in report.metrics else None


def _limits(resolved: Mapping[str, Any]) -> Iterator[_Limit]:
    """The limits of the target link, from the queue to the pool; none of a link without a memory and without `pfc`."""
    link = next(each for each in resolved["links"] if each["target"])
    memory = next((each for each in resolved.get("memories", ()) if each["name"] == link.get("memory")), None)
    if memory is None and "pfc" not in link:
        return
    if "memory_alpha" in link:
        yield _Limit("queue", "link.memory_alpha", f"{link['memory_alpha']:g}", LIFTED_ALPHA)
    elif link["queue"]["kind"] == "dynamic_threshold":
        yield _Limit("queue", "link.queue.alpha", f"{link['queue']['alpha']:g}", LIFTED_ALPHA)
    yield _Limit("port", TARGET, str(link["buffer"]), _lifted(link["buffer"]))
    if memory is not None:
        yield _Limit("pool", f"memories.{memory['name']}.size", str(memory["size"]), _lifted(memory["size"]))
    if "pfc" in link:
        yield _Limit("headroom", "link.pfc.headroom", str(link["pfc"]["headroom"]), LIFTED_BYTES)


def _lifted(size: Any) -> str:
    """A size in the same unit that limits nothing."""
    text = str(size)
    return LIFTED_PACKETS if text.endswith("p") and not text.endswith("BDP") else LIFTED_BYTES
