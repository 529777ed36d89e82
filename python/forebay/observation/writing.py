"""A finding as a commented scenario: every number with its interval and its source, what is unknown said and left out.

A rate, buffer or round trip that the input does not identify is no value in the file: its key is a comment with the
bound that is known and how to find the value, and stands in the table `[observed.bounds]`. Where the reader of
scenarios must have another key, a usual value stands in its place whose comment begins with "assumed"; `assumptions`
lists these.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.configuration.drafting import MOST_PACKETS
from forebay.errors import InputError
from forebay.observation.distributions import Cdf, Choice, Distribution
from forebay.observation.estimate import NAMED, IntervalEstimate, Unknown, rounded_down, rounded_up
from forebay.observation.estimate_text import ABOUT_INTERVALS, evidence_text, interval_text, unknown_text, value_text
from forebay.observation.finding import (
    AppLimited,
    ConstantRate,
    Finding,
    GroupFinding,
    LimitedBy,
    OpenLoop,
    Persistent,
    PoissonPackets,
    RoundTrips,
    Workload,
    amount_text,
    rate_at_least,
    without_addresses,
)
from forebay.observation.numbers import DIGITS, digits_of, rate_text, size_text, time_text
from forebay.sanitize import sanitize
from forebay.text.formatting import bandwidth, clock_time, counted, duration, exactly, sentence, size

__all__ = ["assumptions", "scenario_text"]

#: A round trip that is neither short nor long, for goals of flows whose own is unknown; and bytes of a packet.
USUAL_ROUND_TRIP, PACKET_BYTES = 0.05, 1500.0
#: A rate for the length of a run over a link whose own is unknown, in bit/s.
USUAL_RATE = 1e9
#: Rates that a link may have, bytes of packets, round trips, and flows of a group.
RATES, PACKETS, ROUND_TRIPS, FLOWS = (1e3, 1e14), (41, 65535), (1e-9, 1000.0), (1, 16_777_214)
#: The most characters of how a value is found.
MOST_FIND = 380
#: The most assumptions of a scenario, and the most characters of one.
MOST_ASSUMPTIONS, MOST_OF_ASSUMPTION = 100, 400
#: The largest number of flows whose round trips are listed one by one.
LISTED = 64
#: Mean seconds that a run measures, where packets are not too many for that.
MEASURED_S, WARMUP_S = 60.0, 15.0
#: The controller of those whose own cannot be told.
_USUAL = "cubic"
#: The widest column of values before a column of comments, in characters; longer values are not aligned.
WIDEST = 34
#: Longer lines have their comment above.
LONGEST = 160


@dataclass(frozen=True, slots=True)
class _Line:
    """A key with its value and a comment; a comment of its own where there is no key."""

    key: str
    value: str
    comment: str

    def text(self, across: tuple[int, int]) -> str:
        if not self.key:
            return f"# {sanitize(self.comment)}"
        comment = sanitize(self.comment)
        line = f"{self.key:{across[0]}} = {self.value:{across[1] if comment else 0}}"
        if not comment:
            return line
        if "\n" not in self.value and len(line) + len(comment) + 4 <= LONGEST:
            return f"{line}  # {comment}"
        # Above what leaves no room for it.
        return f"# {comment}\n{line.rstrip()}"


class _Draft:
    """The assumptions of a scenario that the input does not tell, and the keys that are left out of it."""

    def __init__(self) -> None:
        self.assumed: list[str] = []
        self.unmeasured: list[str] = []
        self.missing: dict[str, Unknown] = {}
        self.unknowns: list[Unknown] = []

    def assume(self, key: str, value: str, why: str, what: str, *, inferred: bool = False) -> _Line:
        """A line with a usual value; one that is inferred from what was seen is no assumption of the whole scenario."""
        self.assumed.append(f"{what}: {value.strip(chr(34))}, {why}")
        if not inferred:
            self.unmeasured.append(f"{what} is {value.strip(chr(34))}: {why}")
        return _Line(key, value, f"assumed: {why}")

    def leave_out(self, place: str, key: str, unknown: Unknown, unit: str = "") -> _Line:
        """A comment in the place of a key: what is known of it, why no more, and how to find its value."""
        self.unknowns.append(unknown)
        self.missing[f"{place}.{key}"] = dataclasses.replace(unknown, quantity=unit)
        ends = " and ".join(f"{end} {value_text(number, unit)}" for end, number in _ends(unknown))
        known = f"{ends}. The value is unknown" if ends else "unknown"
        return _Line("", "", f"{key}: {known}, because {unknown.because}. {sentence(unknown.measure)}")

    def miss(self, unknown: Unknown) -> _Line:
        """A comment on what has no key that a scenario must have."""
        self.unknowns.append(unknown)
        return _Line("", "", unknown_text(unknown))


def _ends(unknown: Unknown) -> list[tuple[str, float]]:
    """The bounds of a number above 0, rounded so that they stay true."""
    ends = []
    if unknown.at_least is not None and unknown.at_least > 0:
        ends.append(("at least", rounded_down(unknown.at_least)))
    if unknown.at_most is not None and unknown.at_most > 0:
        ends.append(("at most", rounded_up(unknown.at_most)))
    return ends


def scenario_text(finding: Finding) -> str:
    """Write the scenario.

    Parameters
    ----------
    finding : Finding
        The finding of any input.

    Returns
    -------
    str
        TOML that `Scenario.parse` accepts, once the keys of `[observed.bounds]` have values.

    Raises
    ------
    InputError
        If the input tells neither the traffic nor the load of the link.
    """
    text, _ = _written(without_addresses(finding))
    return text


def _stated(draft: _Draft) -> list[str]:
    """The key with the unmeasured assumptions of the scenario, which `recommend` reads."""
    if not draft.unmeasured:
        return []
    quoted = (_quoted(sanitize(each)[:MOST_OF_ASSUMPTION]) for each in draft.unmeasured[:MOST_ASSUMPTIONS])
    return [f"assumed = [\n{''.join(f'    {each},{chr(10)}' for each in quoted)}]"]


def assumptions(finding: Finding) -> tuple[str, ...]:
    """The assumptions of the scenario that the input does not tell, a clause each."""
    _, draft = _written(without_addresses(finding))
    return tuple(draft.assumed)


def _written(finding: Finding) -> tuple[str, _Draft]:
    draft = _Draft()
    draft.assumed.extend(finding.assumed)
    draft.unmeasured.extend(finding.assumed)
    names = _names(finding.groups)
    groups = [
        lines
        for group, name in zip(finding.groups, names, strict=True)
        if (lines := _group(group, name, draft)) is not None
    ]
    if not groups:
        groups = [_aggregate_traffic(finding, draft)]
    link = _link(finding, draft)
    parts = [
        "\n".join(
            [
                *_head(finding, draft),
                f"title = {json.dumps(_title(finding), ensure_ascii=False)}",
                *_stated(draft),
            ]
        ),
        _section("[link]", link),
        *(_group_text(lines) for lines in groups),
        _section("[run]", _run(_rate(finding) or rate_at_least(finding) or USUAL_RATE)),
        _section("[goal]", _goal(finding)),
        *_bounds(draft),
    ]
    return "\n\n".join([*parts, *_tail(finding, draft)]) + "\n", draft


def _bounds(draft: _Draft) -> list[str]:
    """The bounds of the keys that are left out, for programs."""
    if not draft.missing:
        return []
    lines = []
    # The link's keys first, as in the file.
    for key, unknown in sorted(draft.missing.items(), key=lambda item: not item[0].startswith("link.")):
        written = {"bit/s": rate_text, "s": time_text, "byte": size_text}.get(unknown.quantity)
        ends = {} if written is None else {"_".join(end.split()): written(number, 3) for end, number in _ends(unknown)}
        table = {**ends, "find": sanitize(unknown.measure)[:MOST_FIND]}
        lines.append(f"{_quoted(key)} = {_inline(table)}")
    about = "# Keys that have no value above. `--assume-lower-bounds` of `recommend` and `check` uses the bounds."
    return ["\n".join(["[observed.bounds]", about, *lines])]


def _section(head: str, lines: list[_Line]) -> str:
    keys = [line for line in lines if line.key]
    across = (
        max((len(line.key) for line in keys), default=0),
        max((len(line.value) for line in keys if len(line.value) <= WIDEST), default=0),
    )
    return "\n".join([head, *(line.text(across) for line in lines)])


# The beginning and the end ---------------------------------------------------------------------------------------


def _head(finding: Finding, draft: _Draft) -> list[str]:
    what = finding.input
    parts = [what.kind]
    if what.span_s is not None:
        parts.append(clock_time(what.span_s))
    if what.packets is not None:
        parts.append(counted(what.packets, "packet"))
    if what.bytes is not None:
        parts.append(size(what.bytes))
    use = (
        "`forebay run FILE` simulates it, `forebay recommend FILE` finds a buffer. Replace values that you know better."
    )
    needed = sorted(draft.missing, key=lambda key: not key.startswith("link."))
    if needed:
        use = "Some keys have no value; comments say why. Write values there, or use `--set KEY=VALUE`."
        if needed == ["link.buffer"]:
            use = "`forebay recommend FILE` finds a buffer; `forebay run FILE --set link.buffer=100p` simulates one."
    lines = [
        f"Observed: {', '.join(parts)}; {ABOUT_INTERVALS}.",
        use,
        f"Traffic regime: {finding.regime.name}. The reason is: {finding.regime.reason}."
        if finding.regime.name != "unknown"
        else f"Traffic regime: {finding.regime.reason}.",
        *finding.notes,
    ]
    return [f"# {sanitize(line)}" for line in lines]


def _title(finding: Finding) -> str:
    rate = _rate(finding)
    parts = ["Observed: a link of unknown rate" if rate is None else f"Observed: {exactly(bandwidth(rate))} link"]
    if isinstance(finding.limited_flows, IntervalEstimate) and round(finding.limited_flows.value):
        parts.append(f"{counted(round(finding.limited_flows.value), 'long flow')} that it limits")
    return ", ".join(parts)


def _tail(finding: Finding, draft: _Draft) -> list[str]:
    """The unidentified quantities that have no key in the scenario."""
    unknown = [each for each in finding.unidentified if each not in draft.unknowns]
    if not unknown:
        return []
    return ["\n".join(["# Further unknown values:", *(f"# - {sanitize(unknown_text(each))}" for each in unknown)])]


def _comment(estimate: IntervalEstimate) -> str:
    return evidence_text(estimate)


def _text(estimate: IntervalEstimate) -> str:
    """An amount with the digits that it deserves, between quotes."""
    return _quoted(amount_text(estimate, digits_of(estimate)))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# The link --------------------------------------------------------------------------------------------------------


def _rate(finding: Finding) -> float | None:
    """In bit/s; None where the input does not identify it, or where it is none that a link of a scenario may have."""
    rate = finding.link.rate
    return rate.value if isinstance(rate, IntervalEstimate) and RATES[0] <= rate.value <= RATES[1] else None


def _link(finding: Finding, draft: _Draft) -> list[_Line]:
    link = finding.link
    lines = []
    if isinstance(link.rate, Unknown):
        known = dataclasses.replace(link.rate, at_least=rate_at_least(finding))
        lines.append(draft.leave_out("link", "rate", known, "bit/s"))
        draft.unknowns.append(link.rate)
    elif _rate(finding) is None:
        what = f"{bandwidth(link.rate.value)} is no rate of a link"
        unknown = Unknown("link rate", what, "give it with --rate")
        lines.append(draft.leave_out("link", "rate", unknown, "bit/s"))
    else:
        lines.append(_Line("rate", _text(link.rate), _comment(link.rate)))
    if isinstance(link.buffer, IntervalEstimate):
        lines.append(_Line("buffer", _text(link.buffer), _comment(link.buffer)))
    else:
        lines.append(draft.leave_out("link", "buffer", link.buffer, "byte"))
    if isinstance(link.queue, Unknown):
        lines.append(draft.miss(link.queue))
    elif link.queue.kind not in _spellings(_core.disciplines()):
        lines.append(_Line("", "", f"not identifiable: a queue discipline {link.queue.kind} is not simulated"))
    elif link.queue.parameters:
        table = {"kind": link.queue.kind, **link.queue.parameters}
        lines.append(_Line("queue", _inline(table), link.queue.source))
    else:
        lines.append(_Line("queue", _quoted(link.queue.kind), link.queue.source))
    return lines


def _spellings(known: Iterable[_core.Algorithm]) -> set[str]:
    return {name for each in known for name in (each.name, *each.aliases)}


# Groups of flows -------------------------------------------------------------------------------------------------


def _names(groups: tuple[GroupFinding, ...]) -> list[str]:
    """Names of letters, digits, - and _, no two alike."""
    found: list[str] = []
    for group in groups:
        bare_text = re.sub(r"[^A-Za-z0-9_]+", "-", group.name.encode("ascii", "ignore").decode()).strip("-") or "flows"
        name, number = bare_text, 2
        while name in found:
            name, number = f"{bare_text}-{number}", number + 1
        found.append(name)
    return found


def _group(group: GroupFinding, name: str, draft: _Draft) -> list[list[_Line]] | None:
    """The lines of a group and of its workload's own table; none of a group that sends nothing."""
    no_flow = isinstance(group.count, IntervalEstimate) and round(group.count.value) < 1
    no_data = isinstance(group.workload, AppLimited | ConstantRate | PoissonPackets) and group.workload.rate.value < 1
    if no_flow or no_data:
        return None
    lines = [_Line("name", _quoted(name), _limit(group))]
    if isinstance(group.workload, OpenLoop):
        pass  # as many as come
    elif isinstance(group.count, IntervalEstimate):
        count = min(round(group.count.value), FLOWS[1])
        lines.append(_Line("count", str(count), _comment(group.count)))
    elif isinstance(group.count, Unknown):
        lines.append(draft.miss(group.count))
    lines += _controller(group, name, draft)
    if group.stack is not None and group.yields:
        lines.append(
            draft.assume("stack", _quoted(group.stack.name), group.stack.source, f"the stack of {name}", inferred=True)
        )
    lines += _round_trips(group, name, draft)
    packet = (
        group.packet if group.packet is not None and PACKETS[0] <= round(group.packet.value) <= PACKETS[1] else None
    )
    if packet is not None:
        lines.append(_Line("packet", _quoted(f"{round(packet.value)}B"), _comment(packet)))
    lines += _limits(group, PACKET_BYTES if packet is None else packet.value)
    workload, table = _workload(group.workload)
    lines += workload
    lines += [draft.miss(each) for each in group.unknown]
    return [lines, table]


_LIMITS: Mapping[LimitedBy, str] = {
    "this link": "limited by this link",
    "application": "limited by the application",
    "receiver": "limited by the receiver",
    "elsewhere": "limited by the application or another link",
    "unknown": "limit unknown",
}


def _limit(group: GroupFinding) -> str:
    who = _LIMITS[group.limited_by]
    if group.rate is None or isinstance(group.workload, AppLimited | PoissonPackets | ConstantRate):
        return who
    return f"{who}; each sends {bandwidth(group.rate.value)} ({interval_text(group.rate)})"


def _controller(group: GroupFinding, name: str, draft: _Draft) -> list[_Line]:
    if not group.yields or group.controller is None:
        return []
    if isinstance(group.controller, Unknown):
        return [draft.miss(group.controller), _usual(name, draft)]
    by_count = sorted(group.controller.items(), key=lambda pair: (-pair[1], pair[0]))
    if not by_count:
        return []
    likeliest, probability = by_count[0]
    shares = ", ".join(f"{each} {100 * share:.0f} %" for each, share in by_count if share >= 0.005)
    simulated = likeliest in _spellings(_core.controllers())
    if probability >= NAMED and simulated:
        return [_Line("cca", _quoted(likeliest), f"probability of each: {shares}")]
    why = f"congestion control: unknown, because none is likely enough ({shares})"
    missing = _Line("", "", why)
    if not simulated:
        return [missing, _usual(name, draft)]
    of = f"the congestion control of {name}"
    return [missing, draft.assume("cca", _quoted(likeliest), "the most likely one", of)]


def _usual(name: str, draft: _Draft) -> _Line:
    """The controller that most senders run (Mishra et al., SIGMETRICS 2020: a census of congestion control)."""
    why = "the default of Linux, Windows and macOS"
    return draft.assume("cca", _quoted(_USUAL), why, f"the congestion control of {name}")


def _round_trips(group: GroupFinding, name: str, draft: _Draft) -> list[_Line]:
    trips = group.round_trips
    if not group.yields:
        return []
    if isinstance(trips, RoundTrips):
        found = trips.scenario_distribution
        if isinstance(found, Cdf):
            found = Cdf(tuple((min(max(at, ROUND_TRIPS[0]), ROUND_TRIPS[1]), share) for at, share in found.points))
        value = _listed(found.values, group) if isinstance(found, Choice) else _distribution_text(found, time_text)
        typical = trips.typical
        median = "" if isinstance(found, Choice) and len(found.values) == 1 else f"median {duration(typical.value)}, "
        return [_Line("rtt", value, f"{median}{_comment(typical)}")]
    if trips is None:
        trips = Unknown("round trips", "the input has none", "measure them with ping, or read minrtt in `ss -tin`")
        return [draft.leave_out(f"flows.{name}", "rtt", trips, "s")]
    return [draft.leave_out(f"flows.{name}", "rtt", trips, "s")]


def _listed(trips: tuple[float, ...], group: GroupFinding) -> str:
    """One for each flow where there are as many, else drawn from them."""
    texts = [_quoted(time_text(min(max(trip, ROUND_TRIPS[0]), ROUND_TRIPS[1]))) for trip in trips]
    count = round(group.count.value) if isinstance(group.count, IntervalEstimate) else 1
    if len(texts) == 1:
        return texts[0]
    if len(texts) == count <= LISTED:
        return f"[{', '.join(texts)}]"
    return f"{{ choice = [{', '.join(texts)}] }}"


def _limits(group: GroupFinding, packet: float) -> list[_Line]:
    lines = []
    if group.receive_window is not None and group.yields:
        packets = min(max(1, round(group.receive_window.value / packet)), 10**9)
        comment = f"the receiver's window: {size(group.receive_window.value)}, {_comment(group.receive_window)}"
        lines.append(_Line("receive_window", _quoted(f"{packets}p"), comment))
    if group.access is not None and group.yields and group.access.value >= RATES[0]:
        lines.append(_Line("access", f"{{ rate = {_text(group.access)} }}", _comment(group.access)))
    if group.ecn and group.yields:
        lines.append(_Line("ecn", "true", "packets are ECN-capable"))
    if group.pacing and group.yields:
        lines.append(_Line("pacing", "true", "packets come one by one, not in bursts"))
    return lines


def _workload(workload: Workload) -> tuple[list[_Line], list[_Line]]:
    """Its line, or the lines of its table under a head of their own."""
    if isinstance(workload, OpenLoop):
        load = (
            ""
            if workload.load is None
            else f"; offers {bandwidth(workload.load.value)} ({interval_text(workload.load)})"
        )
        return [], [
            _Line(
                "interarrival",
                _distribution_text(workload.interarrival, time_text),
                f"{workload.interarrival_source}{load}",
            ),
            _Line("size", _distribution_text(workload.size, size_text), workload.size_source),
        ]
    if isinstance(workload, AppLimited | ConstantRate | PoissonPackets):
        kind = {AppLimited: "app_limited", ConstantRate: "cbr", PoissonPackets: "poisson"}[type(workload)]
        whose = "of each flow" if isinstance(workload, AppLimited) else "of all together"
        comment = f"{whose}: {_comment(workload.rate)}"
        return [_Line("workload", f"{{ {kind} = {{ rate = {_text(workload.rate)} }} }}", comment)], []
    start = _Line(
        "start", '{ uniform = ["0s", "1s"] }', "not observed: flows that start together would be synchronized"
    )
    return [_Line("workload", '"persistent"', "always has data to send"), start], []


def _group_text(lines: list[list[_Line]]) -> str:
    own, table = lines
    text = _section("[[flows]]", own)
    if not table:
        return text
    kind = "open_loop" if any(line.key == "interarrival" for line in table) else "periodic"
    return f"{text}\n{_section(f'[flows.workload.{kind}]', table)}"


def _aggregate_traffic(finding: Finding, draft: _Draft) -> list[list[_Line]]:
    """All traffic as one, where no group of flows was told apart."""
    if finding.load is None or finding.load.mean.value <= 0:
        found = "no load over time" if finding.load is None else "a load of 0 b/s"
        needed = "two readings of counters or more with traffic between them, a capture, or flow records"
        raise InputError(f"found {found}; allowed for a scenario: {needed}", "out")
    mean = finding.load.mean
    draft.assumed.append("all traffic: random packet times, because no group of flows was identified")
    if not finding.assumed:
        draft.unmeasured.append("all traffic has random packet times: no group of flows was identified")
    workload = f"{{ poisson = {{ rate = {_text(mean)} }} }}"
    comment = f"assumed: random packet times, because no group of flows was identified; {_comment(mean)}"
    return [[_Line("name", '"traffic"', ""), _Line("workload", workload, comment)], []]


# Values ----------------------------------------------------------------------------------------------------------


def _distribution_text(distribution: Distribution, amount: Any) -> str:
    return _inline(distribution.form(lambda number: amount(number, DIGITS)))


def _inline(value: Any) -> str:
    """A value as TOML has it inside of a line; long lists of pairs go over several."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        parts = [_inline(each) for each in value]
        if len(parts) > 4 and isinstance(value[0], list | tuple):
            rows = [", ".join(parts[at : at + 4]) for at in range(0, len(parts), 4)]
            return "[\n    " + ",\n    ".join(rows) + ",\n]"
        return f"[{', '.join(parts)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    number = float(value)
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.10g}"


# Simulation and goals --------------------------------------------------------------------------------------------


def _run(rate: float) -> list[_Line]:
    """As long as a minute, or shorter where that is too many packets."""
    limit = MOST_PACKETS * PACKET_BYTES * 8 / rate
    part = min(1.0, limit / (MEASURED_S + WARMUP_S))
    measured, warmup = (_two(each * part) for each in (MEASURED_S, WARMUP_S))
    shorter = ", shorter than a minute so that a run takes about ten seconds" if part < 1 else ""
    return [
        _Line("warmup", _quoted(time_text(warmup, 2)), "simulated before the measured time"),
        _Line("measure", _quoted(time_text(measured, 2)), f"not observed: usual value{shorter}"),
        _Line("replications", "4", "the minimum; recommend adds more if a decision is unclear"),
    ]


def _two(number: float) -> float:
    """To two digits, which is how one chooses a time."""
    return float(f"{number:.1e}")


def _fills(group: GroupFinding) -> bool:
    """Whether flows of a group send as much as the link lets them; others may be unable to use all of it."""
    return isinstance(group.workload, Persistent) and group.receive_window is None and group.access is None


def _goal(finding: Finding) -> list[_Line]:
    """The goals of a draft: a utilization that flows can reach, and a queueing delay below a round trip."""
    ask = "not observed: replace it by your goal"
    trips = [group.round_trips.typical.value for group in finding.groups if isinstance(group.round_trips, RoundTrips)]
    wait = max(min(trips, default=USUAL_ROUND_TRIP), 0.002)
    wait = 10.0 ** math.floor(math.log10(wait)) * math.ceil(wait / 10.0 ** math.floor(math.log10(wait)) - 1e-9)
    elastic = finding.regime.name == "elastic" and any(map(_fills, finding.groups))
    first = _Line("utilization", '">= 95%"', ask) if elastic else _Line("loss_rate", '"<= 0.5%"', ask)
    return [first, _Line("queue_delay_p99", _quoted(f"<= {time_text(wait, 2)}"), ask)]
