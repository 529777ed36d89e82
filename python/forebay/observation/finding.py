"""The finding of an observation: the link, its traffic, its load, and the quantities that the input cannot tell.

Every reader of captures, records, counters or sockets makes a `Finding`. Scenario, JSON and page are made from it. A
finding holds no address: `without_addresses` removes those that file names or texts of devices contain.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Literal, TypeVar

import numpy as np

from forebay.observation.busy_hour import Day
from forebay.observation.distributions import Cdf, Choice, Distribution
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.load import Load
from forebay.observation.numbers import rate_text, size_text, time_text
from forebay.observation.regime import Regime
from forebay.observation.sample import Quantile, Sample
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys

__all__ = [
    "AppLimited",
    "ConstantRate",
    "Finding",
    "FittedDistribution",
    "FlowFinding",
    "GroupFinding",
    "Input",
    "LimitedBy",
    "LinkFinding",
    "OpenLoop",
    "Persistent",
    "PoissonPackets",
    "Queue",
    "RoundTrips",
    "Workload",
    "finding_json",
    "known_rate",
    "rate_at_least",
    "without_addresses",
]

#: The limit of a flow's rate.
LimitedBy = Literal["this link", "application", "receiver", "elsewhere", "unknown"]

#: Points of data in JSON.
POINTS = 101


@dataclass(frozen=True, slots=True)
class Queue:
    """The discipline of a queue by its name in scenarios, with parameters as these write them."""

    kind: str
    source: str
    parameters: Mapping[str, str | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkFinding:
    """The link.

    Attributes
    ----------
    rate : IntervalEstimate or Unknown
        In bit/s of IP packets.
    buffer : IntervalEstimate or Unknown
        The buffer, in bytes ("byte"), packets ("packets") or time ("s").
    queue : Queue or Unknown
        Its discipline.
    at_least_bps : float or None
        What it carries at least, where that is not the load of its busiest moment: before its queue more may come at
        once than it carries.
    """

    rate: IntervalEstimate | Unknown
    buffer: IntervalEstimate | Unknown
    queue: Queue | Unknown
    at_least_bps: float | None = None


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Round trips without queueing, of each flow or as quantiles over many, in seconds.

    Attributes
    ----------
    each : tuple of IntervalEstimate
        One for each flow, where they are few.
    quantiles : tuple of Quantile
        In rising order, where they are many.
    distribution : Distribution or None
        For the scenario; by default made of what is there.
    """

    each: tuple[IntervalEstimate, ...] = ()
    quantiles: tuple[Quantile, ...] = ()
    distribution: Distribution | None = None

    def __post_init__(self) -> None:
        assert self.each or self.quantiles, "there is at least one round trip"

    @property
    def typical(self) -> IntervalEstimate:
        """That of the middle."""
        if self.each:
            return sorted(self.each, key=lambda estimate: estimate.value)[len(self.each) // 2]
        return min(self.quantiles, key=lambda quantile: abs(quantile.probability - 0.5)).estimate

    @property
    def ends(self) -> tuple[float, float]:
        """The shortest and the longest that is told."""
        values = [each.value for each in self.each] or [each.estimate.value for each in self.quantiles]
        return min(values), max(values)

    @property
    def are_most(self) -> bool:
        """Whether one of them or more is known to be at most its value."""
        return any(each.is_most for each in (*self.each, *(each.estimate for each in self.quantiles)))

    @property
    def scenario_distribution(self) -> Distribution:
        """The distribution that a scenario draws from: that of the flows, or the quantiles extended to both ends."""
        if self.distribution is not None:
            return self.distribution
        if self.each:
            return Choice(tuple(each.value for each in self.each))
        rising = np.maximum.accumulate([each.estimate.value for each in self.quantiles]).tolist()
        points = [(value, each.probability) for value, each in zip(rising, self.quantiles, strict=True)]
        if len(points) == 1:
            return Choice((points[0][0],))
        # On to both ends as between the last two, within a factor of two.
        (x0, p0), (x1, p1) = points[:2]
        (y0, q0), (y1, q1) = points[-2:]
        begin = [(max(x0 / 2, x0 - (x1 - x0) / (p1 - p0) * p0), 0.0)] if p0 > 0 else []
        end = [(min(2 * y1, y1 + (y1 - y0) / (q1 - q0) * (1 - q1)), 1.0)] if q1 < 1 else []
        return Cdf((*begin, *points, *end))


@dataclass(frozen=True, slots=True)
class Persistent:
    """Always something to send."""


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Transfers that begin independently of the state of the network.

    Attributes
    ----------
    size, interarrival : Distribution
        Distributions of the payload in bytes, and of the seconds from one beginning to the next.
    size_source, interarrival_source : str
        Origins of the distributions, in a clause each.
    load : IntervalEstimate or None
        Load that they offer, in bit/s.
    """

    size: Distribution
    interarrival: Distribution
    size_source: str
    interarrival_source: str
    load: IntervalEstimate | None = None

    gap = DeprecatedName("interarrival")
    of_size = DeprecatedName("size_source")
    of_gap = DeprecatedName("interarrival_source")


@dataclass(frozen=True, slots=True)
class AppLimited:
    """As fast as an application writes: of each flow, in bit/s."""

    rate: IntervalEstimate


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """Packets at equal distances that do not yield: of all flows together, in bit/s."""

    rate: IntervalEstimate


@dataclass(frozen=True, slots=True)
class PoissonPackets:
    """Packets at random that do not yield: of all flows together, in bit/s."""

    rate: IntervalEstimate


Workload = Persistent | OpenLoop | AppLimited | ConstantRate | PoissonPackets


@dataclass(frozen=True, slots=True)
class Stack:
    """The TCP implementation of the hosts, by its name in scenarios, with the evidence for it."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class GroupFinding:
    """Flows that are alike.

    Attributes
    ----------
    name : str
        Their role, never an address: "long flows, 20 to 40 ms".
    count : IntervalEstimate or Unknown or None
        Number of concurrent flows; None if transfers come and go, and for traffic that is described as a whole.
    workload : Workload
        The traffic that they send.
    limited_by : LimitedBy
        The limit of their rates.
    controller : mapping of str to float, Unknown, or None
        Probability of each congestion controller by its name in scenarios; None for traffic that does not yield.
    round_trips : RoundTrips, Unknown, or None
        Round trips without queueing; None for traffic that does not yield.
    packet : IntervalEstimate or None
        Size of a full packet, in bytes.
    receive_window : IntervalEstimate or None
        Receive window in bytes, if the receiver limits the flows.
    access : IntervalEstimate or None
        The flow's own limit elsewhere, in bit/s.
    rate : IntervalEstimate or None
        Mean rate of one flow, in bit/s.
    ecn, pacing : bool or None
        Whether packets are ECN-capable, and whether they are paced; None if that is not known.
    stack : Stack or None
        The TCP implementation that the evidence points to; None without evidence.
    unknown : tuple of Unknown
        Other quantities of the group that are not identifiable.
    """

    name: str
    count: IntervalEstimate | Unknown | None
    workload: Workload
    limited_by: LimitedBy = "unknown"
    controller: Mapping[str, float] | Unknown | None = None
    round_trips: RoundTrips | Unknown | None = None
    packet: IntervalEstimate | None = None
    receive_window: IntervalEstimate | None = None
    access: IntervalEstimate | None = None
    rate: IntervalEstimate | None = None
    ecn: bool | None = None
    pacing: bool | None = None
    stack: Stack | None = None
    unknown: tuple[Unknown, ...] = ()

    @property
    def yields(self) -> bool:
        """Whether it slows down where packets are lost."""
        return not isinstance(self.workload, ConstantRate | PoissonPackets)


@dataclass(frozen=True, slots=True)
class FlowFinding:
    """One long flow by its role; what is None is not known.

    Attributes
    ----------
    role : str
        Never an address: "long 1".
    duration_s, carried_bytes : float
        How long it was seen, and what it carried meanwhile.
    rate : IntervalEstimate or None
        In bit/s.
    round_trip : IntervalEstimate or None
        Without queueing, in seconds.
    loss : IntervalEstimate or None
        Share of its packets.
    controller : str
        With its probability, or empty.
    limited_by : LimitedBy
    """

    role: str
    duration_s: float
    carried_bytes: float
    rate: IntervalEstimate | None
    round_trip: IntervalEstimate | None
    loss: IntervalEstimate | None
    controller: str
    limited_by: LimitedBy

    lasting_s = DeprecatedName("duration_s")


@dataclass(frozen=True)
class FittedDistribution:
    """A sample together with the distribution that the scenario uses for it.

    Attributes
    ----------
    quantity : str
        The quantity, such as "size of transfers".
    unit : {"s", "byte"}
        Unit of the sample and of the distribution.
    data : Sample
        The measured values.
    distribution : Distribution
        The distribution in the scenario.
    why : str
        The name of the distribution, and the reason for it.
    """

    quantity: str
    unit: Literal["s", "byte"]
    data: Sample
    distribution: Distribution
    why: str

    what = DeprecatedName("quantity")


@dataclass(frozen=True, slots=True)
class Input:
    """The description of an input without addresses: "capture of one interface", with length and amount if known."""

    kind: str
    span_s: float | None = None
    packets: int | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The complete result of an observation.

    Attributes
    ----------
    input : Input
    link : LinkFinding
    limited_flows : IntervalEstimate or Unknown
        Long flows that this link limits, at a time on average.
    regime : Regime
    groups : tuple of GroupFinding
    load : Load or None
        The load; None if the input has no load over time.
    flows : tuple of FlowFinding
        Long flows, the largest first.
    distributions : tuple of Distribution
        Samples with the distributions that the scenario uses for them.
    unknown : tuple of Unknown
        Quantities that the input does not identify.
    notes : tuple of str
        Notes on the input: sampled, cut off, merged by segmentation offload, with clock steps.
    day : Day or None
        Load over the day, where the input has one; the other fields are of the part that it names.
    assumed : tuple of str
        Assumptions of a scenario that the input does not measure, a clause each.
    """

    input: Input
    link: LinkFinding
    limited_flows: IntervalEstimate | Unknown
    regime: Regime
    groups: tuple[GroupFinding, ...] = ()
    load: Load | None = None
    flows: tuple[FlowFinding, ...] = ()
    distributions: tuple[FittedDistribution, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    notes: tuple[str, ...] = ()
    day: Day | None = None
    assumed: tuple[str, ...] = ()

    limited = DeprecatedName("limited_flows")
    remarks = DeprecatedName("notes")

    @property
    def unidentified(self) -> tuple[Unknown, ...]:
        """All that the input does not identify, of the link and of groups too, each once."""
        of_link = (self.link.rate, self.link.buffer, self.link.queue, self.limited_flows)
        unknown = [each for each in of_link if isinstance(each, Unknown)]
        if self.load is not None:
            # An unknown rate implies that the time at which the link is full is unknown.
            of_load = (
                (self.load.hurst,) if isinstance(self.link.rate, Unknown) else (self.load.full_share, self.load.hurst)
            )
            unknown += [each for each in of_load if isinstance(each, Unknown)]
        unknown += self.unknown
        for group in self.groups:
            values = (group.count, group.controller, group.round_trips, *group.unknown)
            unknown += [each for each in values if isinstance(each, Unknown)]
        return tuple(dict.fromkeys(unknown))


#: Windows in which no more comes than a link carries, however packets are held up and handed on together, in seconds.
STEADY_S = 0.1


def known_rate(finding: Finding) -> float | None:
    """The rate of the link in bit/s; None where it is not known."""
    return finding.link.rate.value if isinstance(finding.link.rate, IntervalEstimate) else None


def rate_at_least(finding: Finding) -> float | None:
    """A lower bound on what a link of unknown rate carries, in bit/s; None if the input proves nothing.

    A bound that the reader states takes precedence over the load: before a queue, more may arrive at once than the link
    carries.
    """
    link = finding.link
    if isinstance(link.rate, Unknown) and link.rate.at_least is not None:
        return link.rate.at_least or None
    if link.at_least_bps is not None:
        return link.at_least_bps or None
    scales = () if finding.load is None else finding.load.scales
    return max((scale.most for scale in scales if scale.scale_s >= STEADY_S), default=0.0) or None


# Addresses -------------------------------------------------------------------------------------------------------

_ADDRESS = re.compile(
    r"""
    (?<![\w.]) \d{1,3} (?: \. \d{1,3} ){3} (?![\w]|\.\d)  # IPv4
    | (?<![\w:]) (?: [0-9A-Fa-f]{2} [:-] ){5} [0-9A-Fa-f]{2} (?![\w:])  # IEEE 802
    | (?<![\w:]) (?: [0-9A-Fa-f]{1,4} : ){7} [0-9A-Fa-f]{1,4} (?![\w:])  # IPv6 in full
    | (?<![\w:]) (?: [0-9A-Fa-f]{1,4} : ){0,6} [0-9A-Fa-f]{0,4} ::  # IPv6 with its zeros left out
      (?: [0-9A-Fa-f]{1,4} : ){0,6} [0-9A-Fa-f]{0,4} (?![\w:])
    """,
    re.VERBOSE,
)
#: The text that replaces an address.
HIDDEN = "(address)"

Anything = TypeVar("Anything")


def without_addresses(value: Anything) -> Anything:
    """The same with every address in a text taken out, wherever in it the text is."""
    hidden: Any = _hidden(value)
    return hidden  # type: ignore[no-any-return]


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return _ADDRESS.sub(HIDDEN, value)
    if isinstance(value, Sample):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        values = {each.name: _hidden(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return dataclasses.replace(value, **values)
    if isinstance(value, Mapping):
        return {_hidden(key): _hidden(each) for key, each in value.items()}
    return tuple(map(_hidden, value)) if isinstance(value, tuple) else value


# JSON ------------------------------------------------------------------------------------------------------------


_KINDS: Mapping[type, str] = {
    Persistent: "persistent",
    OpenLoop: "open_loop",
    AppLimited: "app_limited",
    ConstantRate: "cbr",
    PoissonPackets: "poisson",
}


def finding_json(finding: Finding) -> dict[str, Any]:
    """The finding as nested dictionaries, without addresses; distributions have the scenario's form."""
    data: dict[str, Any] = _to_jsonable(without_addresses(finding))
    return data | {"unidentified": _to_jsonable(without_addresses(finding.unidentified))}


@singledispatch
def _to_jsonable(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": _KINDS[type(value)]} if type(value) in _KINDS else {}
        data = {each.name: _to_jsonable(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return kind | with_deprecated_keys(type(value), data)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@_to_jsonable.register
def _(value: Mapping) -> Any:  # type: ignore[type-arg]
    return {key: _to_jsonable(each) for key, each in value.items()}


@_to_jsonable.register(tuple)
@_to_jsonable.register(list)
def _(value: list[Any] | tuple[Any, ...]) -> Any:
    return [_to_jsonable(each) for each in value]


@_to_jsonable.register
def _(value: Unknown) -> Any:
    ends = {"at_least": value.at_least, "at_most": value.at_most}
    values = {name: _to_jsonable(end) for name, end in ends.items() if end is not None}
    return {"unknown": value.quantity, "because": value.because, "measure": value.measure, **values}


@_to_jsonable.register
def _(value: IntervalEstimate) -> Any:
    values = {each.name: _to_jsonable(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return values if value.is_most else {name: each for name, each in values.items() if name != "is_most"}


@_to_jsonable.register
def _(value: Sample) -> Any:
    shares = np.linspace(0, 1, POINTS)
    points = zip(value.quantile(shares).tolist(), shares.tolist(), strict=True)
    return {"count": round(value.count), "points": [list(point) for point in points]}


@_to_jsonable.register
def _(value: FittedDistribution) -> Any:
    distribution = value.distribution.form(time_text if value.unit == "s" else size_text)
    data = {
        "quantity": value.quantity,
        "unit": value.unit,
        "data": _to_jsonable(value.data),
        "distribution": distribution,
        "why": value.why,
    }
    return with_deprecated_keys(FittedDistribution, data) | {"law": distribution}


@_to_jsonable.register
def _(value: OpenLoop) -> Any:
    data = {
        "kind": _KINDS[OpenLoop],
        "size": value.size.form(size_text),
        "interarrival": value.interarrival.form(time_text),
        "size_source": value.size_source,
        "interarrival_source": value.interarrival_source,
        "load": _to_jsonable(value.load),
    }
    return with_deprecated_keys(OpenLoop, data)


@_to_jsonable.register
def _(value: RoundTrips) -> Any:
    distribution = None if value.distribution is None else value.distribution.form(time_text)
    return {"each": _to_jsonable(value.each), "quantiles": _to_jsonable(value.quantiles)} | {
        "distribution": distribution,
        "law": distribution,
    }


def amount_text(estimate: IntervalEstimate, digits: int) -> str:
    """An estimate as a scenario writes it, by its unit."""
    written = {"bit/s": rate_text, "s": time_text, "byte": size_text}.get(estimate.unit)
    if written is not None:
        return written(estimate.value, digits)
    return f"{max(0, round(estimate.value))}p" if estimate.unit == "packets" else f"{estimate.value:.{digits}g}"
