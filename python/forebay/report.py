"""Reports: what an engine says of one scenario, with its uncertainty."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.plain import plain
from forebay.warning import Kind, Warning, of_engine

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BufferSize", "Cost", "Estimate", "FlowReport", "GroupReport", "LinkReport", "Report", "estimates"]

#: Bins of a histogram: (low, high, count).
Bins = list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty.

    Attributes
    ----------
    mean : float
        Mean over the replications, in the metric's unit.
    half_width : float or None
        Half width of the interval; None for one replication or an exact number.
    confidence : float
        Coverage of the interval.
    """

    mean: float
    half_width: float | None = None
    confidence: float = 0.95


Metrics = Mapping[str, Estimate]


def estimates(metrics: Mapping[str, Mapping[str, Any]]) -> Metrics:
    """Metrics from their plain form."""
    return {name: Estimate(**estimate) for name, estimate in metrics.items()}


@dataclass(frozen=True, slots=True)
class BufferSize:
    """A buffer in every unit.

    Attributes
    ----------
    packets, bytes : float
        What may wait, at the flows' mean packet size.
    seconds : float
        Time to send it at the link's rate.
    bdp : float or None
        Multiples of the bandwidth-delay product; None where there is none.
    """

    packets: float
    bytes: float
    seconds: float
    bdp: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost: packets with data, events, processor and elapsed seconds, bytes of memory at most."""

    data_packets: int
    events: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Metrics of a link that is not the target."""

    name: str
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class FlowReport:
    """What one flow did after the warm-up."""

    goodput_bps: float
    loss_rate: float
    retransmissions: int
    timeouts: int
    congestion_events: int


class GroupReport:
    """What one flow group did. Read when it is asked for.

    Parameters
    ----------
    data : mapping
        The group's entry in a report's plain form.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    @property
    def name(self) -> str:
        """Name of the group."""
        return str(self._data["name"])

    @property
    def flows(self) -> int:
        """Number of flows."""
        return int(self._data["flows"])

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics by their names in the report."""
        return estimates(self._data["metrics"])

    @property
    def completed(self) -> int | None:
        """Transfers completed; None for a group that has none."""
        return self._data.get("completed")

    @property
    def completion_time_s(self) -> Mapping[str, float]:
        """Quantiles ("p50", ...) of the time to complete a transfer."""
        return self._data.get("completion_time_s") or {}

    @property
    def flow_goodput_bps(self) -> Mapping[str, float]:
        """Quantiles ("p10", ...) of the flows' goodputs."""
        return self._data.get("flow_goodput_bps") or {}

    @property
    def distributions(self) -> Mapping[str, Bins]:
        """Histograms by name, in the unit that the name ends with."""
        return _histograms(self._data)

    @cached_property
    def per_flow(self) -> Sequence[FlowReport]:
        """Every flow, in reports on up to 1,000 of them."""
        return tuple(FlowReport(**flow) for flow in self._data.get("per_flow", ()))

    @cached_property
    def with_quantiles(self) -> Metrics:
        """The metrics, and the quantiles over flows and transfers that goals may be about."""
        quantiles = {
            **{f"completion_time_{name}_s": value for name, value in self.completion_time_s.items()},
            **{f"flow_goodput_{name}_bps": value for name, value in self.flow_goodput_bps.items()},
        }
        known = {name: Estimate(value) for name, value in quantiles.items() if value is not None}
        return {**known, **self.metrics}


class Report:
    """The answer of one engine to one scenario. Read when it is asked for.

    The shape of its JSON is documented under "Report".

    Parameters
    ----------
    core : forebay._core.Report or None
        As the Rust side made it.
    """

    def __init__(self, core: _core.Report | None) -> None:
        self._core = core

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Report:
        """A report from its plain form, such as a `report.json`; traces and kinds of warnings are not in it."""
        made = cls(None)
        made.__dict__["_data"] = data  # what a cached property keeps
        return made

    @classmethod
    def over(cls, replications: Iterable[Report]) -> Report:
        """One report over several replications of one scenario: means with 95 % Student-t half widths."""
        return cls(_core.aggregate([report.core for report in replications]))

    @property
    def core(self) -> _core.Report:
        """As the Rust side made it."""
        assert self._core is not None, "a report that was read from its JSON"
        return self._core

    @cached_property
    def _data(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads(self.core.json())
        return data

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self._data["engine"])

    @property
    def seed(self) -> int:
        """Seed of the runs."""
        return int(self._data["seed"])

    @property
    def replications(self) -> int:
        """Replications behind the numbers."""
        return int(self._data["replications"])

    @property
    def batches(self) -> int | None:
        """Parts of the one replication that the intervals rest on; None where they rest on replications."""
        return self._data.get("batches")

    @cached_property
    def buffer(self) -> BufferSize:
        """The target link's buffer."""
        return BufferSize(**self._data["buffer"])

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics of the target link by their names in the report."""
        return estimates(self._data["metrics"])

    @cached_property
    def groups(self) -> Sequence[GroupReport]:
        """One entry per flow group."""
        return tuple(GroupReport(group) for group in self._data["groups"])

    @cached_property
    def links(self) -> Sequence[LinkReport]:
        """The other links."""
        return tuple(LinkReport(link["name"], estimates(link["metrics"])) for link in self._data.get("links", ()))

    @cached_property
    def distributions(self) -> Mapping[str, Bins]:
        """Histograms at the target link and of groups ("group.name"): (low, high, count) for each bin.

        Units are those that the names end with; low is included and high is not.
        """
        of_groups = {
            f"{group.name}.{name}": bins for group in self.groups for name, bins in group.distributions.items()
        }
        return {**_histograms(self._data), **of_groups}

    @cached_property
    def cost(self) -> Cost:
        """What it cost."""
        return Cost(**self._data["cost"])

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """What a reader must know before using the numbers."""
        if self._core is not None:
            return of_engine(self._core)
        return tuple(Warning(Kind.UNKNOWN, text) for text in self._data["warnings"])

    def warned(self, more: Iterable[Warning]) -> Report:
        """The same report with more warnings."""
        return self._with(warnings=(*self.warnings, *more))

    def in_batches(self, batches: int, sha256: str, metrics: Metrics) -> Report:
        """The same report with intervals that rest on batches of one run of the scenario with this digest."""
        return self._with(scenario_sha256=sha256, metrics=metrics, batches=batches)

    def _with(self, **changed: Any) -> Report:
        """A copy whose plain form says otherwise in some places."""
        warnings = changed.get("warnings", self.warnings)
        made = Report(self._core)
        made.__dict__.update(_data={**self._data, **plain(changed)}, warnings=warnings)
        return made

    def traces(self) -> dict[str, dict[str, Any]] | None:
        """What was recorded over time: NumPy arrays by table ("flows", "queue", "packets") and column."""
        return self.core.traces()

    def write_pcapng(self, path: Path) -> bool:
        """Write the traced packets as a pcapng capture; return whether there were any.

        Interface 0 sees packets as they arrive at the target link's queue, interface 1 as they begin to leave it.
        """
        return self.core.write_pcapng(path)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries and lists."""
        return copy.deepcopy(dict(self._data))

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON text."""
        return json.dumps(self._data, indent=indent)

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name}={estimate.mean:.4g}" for name, estimate in self.metrics.items())
        return f"<Report {self.engine}: {metrics}>"


def _histograms(data: Mapping[str, Any]) -> Mapping[str, Bins]:
    named = data.get("distributions", {})
    return {name: [(low, high, count) for low, high, count in histogram["bins"]] for name, histogram in named.items()}
