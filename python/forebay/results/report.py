"""Reports: the answer of an engine to one scenario, with its uncertainty."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeVar, overload

from forebay import _core
from forebay.results.metric import key_among
from forebay.results.notebook_repr import Displayable
from forebay.results.numeric import Mean
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Kind, Warning, of_engine

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BufferSize",
    "Cost",
    "Estimate",
    "FlowReport",
    "GroupReport",
    "Lateness",
    "LinkReport",
    "Metrics",
    "NamedEntries",
    "Report",
    "buffer_columns",
    "estimate_columns",
    "estimates",
]

#: Bins of a histogram: (low, high, count).
Bins = list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Mean):
    """A number with its uncertainty. It calculates, compares and prints as its mean: `f"{report.utilization:.3f}"`.

    Results of arithmetic are plain numbers without an uncertainty. An estimate equals a number if its mean does, and
    another estimate if all three attributes do.

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

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Estimate):
            ours = self.mean, self.half_width, self.confidence
            return ours == (other.mean, other.half_width, other.confidence)
        return self.mean == other if isinstance(other, int | float) else NotImplemented

    __hash__ = Mean.__hash__


class Metrics(dict[str, Estimate]):
    """Estimates by their names in the report; each is also an attribute.

    `metrics["queue_delay_p99_s"]` and `metrics.queue_delay_p99_s` are the same. The attribute without the unit,
    `metrics.queue_delay_p99`, is deprecated.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Estimate:
        return self.attribute(name, depth=2)

    def attribute(self, name: str, *, depth: int) -> Estimate:
        """The estimate with the name of an attribute.

        Parameters
        ----------
        name : str
            Name in the report. The name without its unit also works and warns that it is deprecated.
        depth : int
            Calls from here up to the code that the warning names.
        """
        key = None if name.startswith("_") else key_among(name, self)
        if key is None:
            raise AttributeError(f"no metric `{name}` here; known: {', '.join(self) or 'none'}", name=name, obj=self)
        if key != name:
            text = f"the metric's name without its unit, `{name}`, is deprecated; use `{key}`"
            warnings.warn(text, DeprecationWarning, stacklevel=depth + 1)
        return self[key]

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]


def estimates(metrics: Mapping[str, Mapping[str, Any]]) -> Metrics:
    """Metrics from their plain form."""
    return Metrics({name: Estimate(**estimate) for name, estimate in metrics.items()})


def buffer_columns(buffer: BufferSize) -> dict[str, float | None]:
    """A buffer as columns of a table."""
    return {f"buffer_{unit}": value for unit, value in to_jsonable(buffer).items()}


def estimate_columns(metrics: Mapping[str, Estimate]) -> dict[str, float | None]:
    """Metrics as columns of a table: the means, and the half widths after them."""
    columns: dict[str, float | None] = {}
    for name, estimate in metrics.items():
        columns |= {name: estimate.mean, f"{name}_half_width": estimate.half_width}
    return columns


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_HasName)


class NamedEntries(tuple[_Entry, ...]):
    """Entries in their order, each also accessible by its name: `groups[0]`, `groups["web"]`, `groups.web`."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return [entry.name for entry in self]

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> _Entry: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[_Entry, ...]: ...

    def __getitem__(self, key: SupportsIndex | slice | str) -> _Entry | tuple[_Entry, ...]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = next((entry for entry in self if entry.name == key), None)
        if found is None:
            raise KeyError(f"found `{key}`; known: {', '.join(self.names) or 'none'}")
        return found

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else super().__contains__(key)

    def __getattr__(self, name: str) -> _Entry:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"found `{name}`; known: {', '.join(self.names) or 'none'}", name=name, obj=self)
        return self[name]

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(name for name in self.names if name.isidentifier())]


class _Measured:
    """An object with metrics, each of which is also an attribute of the object."""

    __slots__ = ()

    metrics: Metrics

    def __getattr__(self, name: str) -> Estimate:
        if name.startswith("_") or name == "metrics":
            raise AttributeError(f"{type(self).__name__} has no attribute `{name}`", name=name, obj=self)
        try:
            return self.metrics.attribute(name, depth=2)
        except AttributeError:
            known = ", ".join(self.metrics) or "none"
            text = f"{type(self).__name__} has no attribute and no metric `{name}`; metrics: {known}"
            raise AttributeError(text, name=name, obj=self) from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self.metrics]


#: The metrics of the link that a one-line text shows first.
_FIRST = ("utilization", "loss_rate", "queue_delay_p99_s")


def _in_a_line(metrics: Mapping[str, Estimate], names: Iterable[str]) -> str:
    """The named metrics in one line, or the first few metrics if none of the names exists."""
    shown = [name for name in names if name in metrics] or list(metrics)[:3]
    return ", ".join(f"{name} {metrics[name].mean:.4g}" for name in shown) or "no metrics"


@dataclass(frozen=True, slots=True)
class BufferSize:
    """The size of a buffer in every unit.

    Attributes
    ----------
    packets, bytes : float
        Capacity of the buffer, at the flows' mean packet size.
    seconds : float
        Time to send a full buffer at the link's rate.
    bdp : float or None
        Multiple of the bandwidth-delay product; None if there is no such product.
    """

    packets: float
    bytes: float
    seconds: float
    bdp: float | None

    @property
    def number(self) -> float:
        """Coordinate on the axis of a picture, in packets."""
        return self.packets

    @property
    def place(self) -> float:
        """Coordinate on the scale of a search, in packets."""
        return self.packets


@dataclass(frozen=True, slots=True)
class Lateness:
    """The lateness of a run in real time, its warm-up included; over several runs the maxima, and the sums.

    Attributes
    ----------
    p50_s, p99_s, p999_s, max_s : float
        Quantiles and maximum of the delay with which packets were handed over, in seconds.
    frozen_s : float
        Total time for which the emulated clock was stopped because the machine did other work, in seconds.
    freezes : int
        Number of such stops.
    """

    p50_s: float
    p99_s: float
    p999_s: float
    max_s: float
    frozen_s: float
    freezes: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run: data packets, events, processor and elapsed time in seconds, and peak memory in bytes.

    Attributes
    ----------
    lateness : Lateness or None
        Lateness of the machine; None for a run that is not in real time.
    """

    data_packets: int
    events: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int
    lateness: Lateness | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Cost:
        """Make a cost from its plain form."""
        late = data.get("lateness")
        return cls(**{**data, "lateness": None if late is None else Lateness(**late)})

    def to_dict(self) -> dict[str, Any]:
        """The plain form, as in the JSON; without a lateness if it is None."""
        return {name: to_jsonable(getattr(self, name)) for name in self.__slots__ if getattr(self, name) is not None}


@dataclass(frozen=True)
class LinkReport(_Measured):
    """Metrics of a link that is not the target."""

    name: str
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class FlowReport:
    """The measurements of one flow after the warm-up."""

    goodput_bps: float
    loss_rate: float
    retransmissions: int
    timeouts: int
    congestion_events: int


class GroupReport(_Measured):
    """The measurements of one flow group. Each is read on first use; each metric is also an attribute.

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
    def metrics(self) -> Metrics:  # type: ignore[override]
        """Metrics by their names in the report."""
        return estimates(self._data["metrics"])

    @property
    def completed(self) -> int | None:
        """Number of completed transfers; None for a group without transfers."""
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
        """Every flow; empty in reports on more than 1,000 flows."""
        return tuple(FlowReport(**flow) for flow in self._data.get("per_flow", ()))

    @cached_property
    def with_quantiles(self) -> Metrics:
        """The metrics, and the quantiles over flows and transfers that a goal may limit."""
        quantiles = {
            **{f"completion_time_{name}_s": value for name, value in self.completion_time_s.items()},
            **{f"flow_goodput_{name}_bps": value for name, value in self.flow_goodput_bps.items()},
        }
        known = {name: Estimate(value) for name, value in quantiles.items() if value is not None}
        return Metrics({**known, **self.metrics})

    def __repr__(self) -> str:
        flows = f"{self.flows} flow{'' if self.flows == 1 else 's'}"
        shown = _in_a_line(self.metrics, ("goodput_bps", "loss_rate", "completion_time_p95_s"))
        return f"<GroupReport {self.name!r}, {flows}: {shown}>"


class Report(_Measured, Displayable):
    """The answer of one engine to one scenario. Each part is read on first use.

    Each metric is also an attribute, and calculates as a number: `report.utilization`, `report.utilization.half_width`.
    The shape of its JSON is documented under "Report".

    Parameters
    ----------
    core : forebay._core.Report or None
        Report of the Rust core; None for a report that was read from JSON.
    resolved : mapping, optional
        The scenario of the report, with every default filled in, for the titles of tables and pictures.
    """

    def __init__(self, core: _core.Report | None, resolved: Mapping[str, Any] | None = None) -> None:
        self._core = core
        self.resolved = resolved

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Report:
        """Make a report from its plain form, such as a `report.json`, which lacks traces and kinds of warnings."""
        made = cls(None)
        made.__dict__["_data"] = data  # the value of the cached property
        return made

    @classmethod
    def over(cls, replications: Iterable[Report], resolved: Mapping[str, Any] | None = None) -> Report:
        """One report over several replications of one scenario: means with 95 % Student-t half widths."""
        return cls(_core.aggregate([report.core for report in replications]), resolved)

    @property
    def core(self) -> _core.Report:
        """Report of the Rust core."""
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
        """Number of replications that the numbers summarize."""
        return int(self._data["replications"])

    @property
    def batches(self) -> int | None:
        """Number of batches of the one run, if the intervals come from batches; None if they come from replications."""
        return self._data.get("batches")

    @cached_property
    def buffer(self) -> BufferSize:
        """The target link's buffer."""
        return BufferSize(**self._data["buffer"])

    @cached_property
    def metrics(self) -> Metrics:  # type: ignore[override]
        """Metrics of the target link by their names in the report."""
        return estimates(self._data["metrics"])

    @cached_property
    def groups(self) -> NamedEntries[GroupReport]:
        """One entry per flow group: `groups[0]`, `groups["web"]` or `groups.web`."""
        return NamedEntries(GroupReport(group) for group in self._data["groups"])

    @cached_property
    def links(self) -> NamedEntries[LinkReport]:
        """Metrics of the links that are not the target."""
        return NamedEntries(
            LinkReport(link["name"], estimates(link["metrics"])) for link in self._data.get("links", ())
        )

    @cached_property
    def distributions(self) -> Mapping[str, Bins]:
        """Histograms at the target link and of groups ("group.name"): (low, high, count) for each bin.

        The names end with the unit. A bin includes `low` and excludes `high`.
        """
        of_groups = {
            f"{group.name}.{name}": bins for group in self.groups for name, bins in group.distributions.items()
        }
        return {**_histograms(self._data), **of_groups}

    @cached_property
    def cost(self) -> Cost:
        """The cost of the runs."""
        return Cost.of(self._data["cost"])

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """Warnings that a reader must know before using the numbers."""
        if self._core is not None:
            return of_engine(self._core)
        return tuple(Warning(Kind.UNKNOWN, text) for text in self._data.get("warnings", ()))

    @cached_property
    def is_deadlocked(self) -> bool:
        """Whether queues pause each other for good at the end of the run, or of one of the runs."""
        return any(warning.kind is Kind.DEADLOCK for warning in self.warnings)

    def warned(self, more: Iterable[Warning]) -> Report:
        """The same report with further warnings."""
        return self._with(warnings=(*self.warnings, *more))

    def saying(
        self, metrics: Mapping[str, Estimate], groups: Sequence[Mapping[str, Any]], warnings: Iterable[Warning]
    ) -> Report:
        """The same report, reduced to these metrics of the target link, plain forms of groups, and warnings."""
        return self._with(metrics=metrics, groups=groups, warnings=tuple(warnings))

    def in_batches(self, batches: int, of: Mapping[str, Any], sha256: str, metrics: Mapping[str, Estimate]) -> Report:
        """The same report with intervals from batches of one run of this resolved scenario, which has this digest."""
        made = self._with(scenario_sha256=sha256, metrics=metrics, batches=batches)
        made.resolved = of
        return made

    def _with(self, **changed: Any) -> Report:
        """A copy with some entries of the plain form changed."""
        warnings = changed.get("warnings", self.warnings)
        made = Report(self._core, self.resolved)
        made.__dict__.update(_data={**self._data, **to_jsonable(changed)}, warnings=warnings)
        return made

    def traces(self) -> dict[str, dict[str, Any]] | None:
        """The recorded time series: NumPy arrays by table ("flows", "queue", "packets") and column, or None."""
        return None if self._core is None else self.core.traces()

    def write_pcapng(self, path: Path) -> bool:
        """Write the traced packets as a pcapng capture; return whether there were any.

        The capture's interface records them as they leave the target link's queue, unless `trace.capture` asks for
        another side. With `trace.acknowledgments` the same interface also records the packets of the reverse path.
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
        often = f"{self.replications} replication{'' if self.replications == 1 else 's'}"
        return (
            f"<Report of the {self.engine} engine, buffer {self.buffer.packets:.0f} packets: "
            f"{_in_a_line(self.metrics, _FIRST)} ({often})>"
        )


def _histograms(data: Mapping[str, Any]) -> Mapping[str, Bins]:
    named = data.get("distributions", {})
    return {name: [(low, high, count) for low, high, count in histogram["bins"]] for name, histogram in named.items()}
