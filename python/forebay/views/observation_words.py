"""Lines and tables of an observation that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from forebay.observation.estimate import NAMED, IntervalEstimate, Unknown, rounded_down, scaled
from forebay.observation.estimate_text import estimate_text, value_text
from forebay.observation.finding import (
    AppLimited,
    ConstantRate,
    OpenLoop,
    Persistent,
    Queue,
    RoundTrips,
    known_rate,
    rate_at_least,
)
from forebay.observation.regime import percent
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.observation_day import known_of_day

if TYPE_CHECKING:
    from forebay.observation.finding import Finding, FlowFinding, GroupFinding, Workload
    from forebay.observation.load import Scale

__all__ = [
    "FLOW_COLUMNS",
    "GROUP_COLUMNS",
    "answer",
    "flow_cells",
    "granularity",
    "group_cells",
    "hurst",
    "input_line",
    "leads_with_load",
    "scale_cells",
    "scale_columns",
    "window",
]

#: Packets of a window below which it shows that they are whole.
_FEW_IN_A_WINDOW = 20.0
#: Titles of columns, the least important last: a narrow terminal lacks them first.
GROUP_COLUMNS = ("group", "flows", "limited by", "round trip", "workload", "congestion control")
FLOW_COLUMNS = ("flow", "limited by", "rate", "round trip", "loss", "congestion control", "data", "duration")

#: How near to a whole number of flows a mean is one.
_NEARLY = 0.02
#: The mark of an unknown value.
NONE = "–"


def answer(finding: Finding) -> tuple[str, str, str]:
    """Three lines: which link, how many flows it limits, which regime; or of the load where these are not known."""
    if finding.day is not None and leads_with_load(finding):
        return _link(finding), *known_of_day(finding.day, known_rate(finding))
    return _link(finding), _limited(finding), _regime(finding)


def leads_with_load(finding: Finding) -> bool:
    """Whether the first lines say load and drops, because flows and regime are not known."""
    return finding.day is not None and isinstance(finding.limited_flows, Unknown) and finding.regime.name == "unknown"


def _link(finding: Finding) -> str:
    link = finding.link
    if isinstance(link.rate, IntervalEstimate):
        parts = [f"{estimate_text(link.rate)} link"]
    else:
        most = rate_at_least(finding)
        seen = "" if most is None else f" (at least {formatting.bandwidth(rounded_down(most))})"
        parts = [f"Link of unknown rate{seen}"]
    if isinstance(link.queue, Queue):
        parts.append(link.queue.kind)
    parts.append("buffer unknown" if isinstance(link.buffer, Unknown) else f"buffer {estimate_text(link.buffer)}")
    return ", ".join(parts)


def _limited(finding: Finding) -> str:
    limited = finding.limited_flows
    if isinstance(limited, Unknown):
        return f"The number of long flows that the link limits is unknown, because {limited.because}"
    limited_here = [
        group.round_trips
        for group in finding.groups
        if group.limited_by == "this link" and isinstance(group.round_trips, RoundTrips)
    ]
    trips = [end for each in limited_here for end in each.ends]
    ends = ""
    if any(each.are_most for each in limited_here):
        plural = "s" if min(trips) != max(trips) else ""
        ends = f", round trip{plural} at most {formatting.duration(max(trips))}"
    elif trips:
        low, high = formatting.duration(min(trips)), formatting.duration(max(trips))
        ends = f", round trips {low} to {high}" if low != high else f", round trip {low}"
    if not limited.value:
        seen = any(group.yields and not isinstance(group.workload, OpenLoop) for group in finding.groups)
        verb = "observed" if finding.input.packets is None else "captured"
        return f"The link limits no {verb} long flow{_limited_flows(finding)}" if seen else "The input has no long flow"
    noun = "long flow" if limited.value == 1 else "long flows"
    between = ""
    if limited.is_bounded:
        low, high = (f"{each:.3g}" for each in (limited.low, limited.high))
        between = f" ({low} to {high})" if low != high else ""
    return f"The link limits {flows(limited.value)} {noun}{between} at a time{ends}{_limited_flows(finding)}"


def _limited_flows(finding: Finding) -> str:
    """Long flows that something else limits."""
    found: dict[str, float] = {}
    for group in finding.groups:
        if isinstance(group.count, IntervalEstimate) and group.limited_by in _ELSEWHERE and group.yields:
            words = _ELSEWHERE[group.limited_by]
            found[words] = found.get(words, 0.0) + group.count.value
    return (
        f"; other long flows: {', '.join(f'{flows(many)} {words}' for words, many in found.items())}" if found else ""
    )


def flows(number: float) -> str:
    """A number of flows at a time: a whole one if it is nearly that."""
    rounded = round(number)
    return f"{rounded:,}" if rounded and abs(number - rounded) <= _NEARLY * rounded else f"{number:.2g}"


_ELSEWHERE: Mapping[str, str] = {
    "application": "limited by the application",
    "receiver": "limited by the receiver",
    "elsewhere": "limited by the application or another link",
    "unknown": "with an unknown limit",
}
#: The words of a column for the limit of a flow.
_WHO: Mapping[str, str] = {"elsewhere": "app/other link"}


def _regime(finding: Finding) -> str:
    regime = finding.regime
    name = "Traffic regime" if regime.name == "unknown" else f"Traffic regime {regime.name}"
    used = ""
    if finding.load is not None and isinstance(finding.load.utilization, IntervalEstimate):
        used = f"; the utilization is {percent(finding.load.utilization.value)}"
    return f"{name}: {regime.reason}{used}"


def input_line(finding: Finding) -> str:
    """The line that describes the input."""
    found = finding.input
    parts = [found.kind]
    if found.span_s is not None:
        parts.append(formatting.clock_time(found.span_s))
    if found.packets is not None:
        parts.append(counted(found.packets, "packet"))
    if found.bytes is not None:
        parts.append(formatting.size(found.bytes))
    return ", ".join(parts)


# Groups and flows ------------------------------------------------------------------------------------------------


def group_cells(group: GroupFinding) -> tuple[str, ...]:
    """A row of `GROUP_COLUMNS`."""
    return (
        group.name,
        _count(group.count),
        _WHO.get(group.limited_by, group.limited_by),
        _trips(group.round_trips),
        _sent(group.workload),
        _controllers(group),
    )


def _estimate(found: IntervalEstimate | Unknown | None, unit: str | None = None) -> str:
    return (
        estimate_text(found, unit) if isinstance(found, IntervalEstimate) else "unknown" if found is not None else NONE
    )


def _count(found: IntervalEstimate | Unknown | None) -> str:
    if isinstance(found, IntervalEstimate) and (found.low == found.high or not found.is_bounded):
        return flows(found.value)
    return _estimate(found)


def _trips(found: RoundTrips | Unknown | None) -> str:
    if not isinstance(found, RoundTrips):
        return "unknown" if found is not None else NONE
    low, high = (formatting.duration(end) for end in found.ends)
    if found.are_most:
        return f"at most {high}"
    return estimate_text(found.typical) if low == high else f"{low} to {high}"


def _sent(workload: Workload) -> str:
    if isinstance(workload, Persistent):
        return "persistent"
    if isinstance(workload, OpenLoop):
        load = "" if workload.load is None else f", {estimate_text(workload.load)} in total"
        return f"finite transfers{load}"
    if isinstance(workload, AppLimited):
        return f"{estimate_text(workload.rate)} each"
    return (
        f"{estimate_text(workload.rate)} in total, "
        f"{'constant rate' if isinstance(workload, ConstantRate) else 'random packet times'}"
    )


def _controllers(group: GroupFinding) -> str:
    if not group.yields:
        return "none"
    return controllers(group.controller) if isinstance(group.controller, Mapping) else "unknown"


def controllers(found: Mapping[str, float]) -> str:
    """Families with their probabilities, the likeliest first, and whether none of them is likely enough."""
    likely = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    text = ", ".join(f"{name} {100 * share:.0f} %" for name, share in likely[:3] if share >= 0.05)
    return text if likely and likely[0][1] >= NAMED else f"unknown ({text})" if text else "unknown"


def flow_cells(flow: FlowFinding) -> tuple[str, ...]:
    """A row of `FLOW_COLUMNS`."""
    return (
        flow.role,
        _WHO.get(flow.limited_by, flow.limited_by),
        _estimate(flow.rate),
        _estimate(flow.round_trip),
        _estimate(flow.loss, "share"),
        flow.controller or "unknown",
        formatting.size(flow.carried_bytes),
        formatting.clock_time(flow.duration_s),
    )


# Load ------------------------------------------------------------------------------------------------------------


def hurst(found: IntervalEstimate) -> str:
    """Hurst's exponent with two digits: the third one is never known."""
    between = f" ({found.low:.2f} to {found.high:.2f})" if found.is_bounded else ""
    return f"{found.value:.2f}{between}"


def window(seconds: float) -> str:
    """The length of a window."""
    return formatting.exactly(formatting.duration(seconds)) if seconds < 60 else formatting.clock_time(seconds)


def granularity(finding: Finding) -> str:
    """How coarse the shortest windows are, where few packets fill one: shares beyond the link's rate come of that."""
    load, rate, count, sent = finding.load, finding.link.rate, finding.input.packets, finding.input.bytes
    if load is None or not load.scales or not isinstance(rate, IntervalEstimate) or not count or not sent:
        return ""
    shortest = min(scale.scale_s for scale in load.scales)
    packets = rate.value * shortest / 8.0 / (sent / count)
    if packets >= _FEW_IN_A_WINDOW:
        return ""
    return (
        f"a window of {window(shortest)} holds {packets:.2g} packets at the link's rate and counts whole packets, so "
        "shares can be above 100 %"
    )


def scale_columns(scales: Iterable[Scale]) -> tuple[str, ...]:
    """Titles of a table of loads."""
    probabilities = sorted({each.probability for scale in scales for each in scale.quantiles})
    named = ["median" if each == 0.5 else f"p{100 * each:g}" for each in probabilities]
    return ("window", *named, "maximum")


def scale_cells(scale: Scale, columns: tuple[str, ...], rate: float | None, *, intervals: bool) -> tuple[str, ...]:
    """A row: shares of the link's rate where that is known."""

    def value(number: float) -> str:
        return percent(number / rate) if rate else value_text(number, "bit/s")

    texts = {}
    for each in scale.quantiles:
        name = "median" if each.probability == 0.5 else f"p{100 * each.probability:g}"
        found = each.estimate
        if rate:
            found = scaled(found, 1 / rate, "share")
        differ = found.is_bounded and value_text(found.low, found.unit) != value_text(found.high, found.unit)
        texts[name] = estimate_text(found) if intervals and differ else value_text(found.value, found.unit)
    middle = (texts.get(name, NONE) for name in columns[1:-1])
    return (window(scale.scale_s), *middle, value(scale.most))
