"""From what a capture says of its link to a finding: flows that are alike become groups, short transfers a workload.

Groups are those of a scenario: long flows that this link limits, by the family of their controller; long flows that
something else limits; transfers that come and go; and traffic that does not yield.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from forebay.observation.capture_flows import LongFlow, Observed
from forebay.observation.capture_link import Seen
from forebay.observation.controllers import FACTORS, UNKNOWN, likeliest
from forebay.observation.empirical import reduce_sample
from forebay.observation.estimate import IntervalEstimate, Unknown, exactly, ratio, scaled
from forebay.observation.finding import (
    AppLimited,
    ConstantRate,
    Finding,
    FittedDistribution,
    FlowFinding,
    GroupFinding,
    Input,
    LimitedBy,
    LinkFinding,
    Persistent,
    PoissonPackets,
    Queue,
    RoundTrips,
    Stack,
    Workload,
)
from forebay.observation.intervals import batch_ratio
from forebay.observation.limits import Limit
from forebay.observation.load import Load
from forebay.observation.regime import regime_of
from forebay.observation.round_trips import WAITED, handshakes
from forebay.observation.sample import Sample
from forebay.observation.streams import Place, Stream
from forebay.observation.transfers import FEWEST_TRANSFERS, describe_transfers
from forebay.text.formatting import bandwidth, counted

__all__ = ["capture_finding"]

#: Flows of which each has a round trip of its own in a scenario.
_EACH = 64
#: Traffic that does not yield is told from this share of the bytes on.
_SHARE = 0.001
#: Below this variation of their gaps packets come at equal distances.
_EQUAL = 0.3
#: Least packets (and least windows) of a stream that tell whether it has one rate, and least packets of each window.
#: The last value is a share of bytes: if more bytes belong to streams with one rate, the group has one rate.
_TOLD, _IN_A_WINDOW, _MOSTLY = 20, 20, 0.5
#: Share of the bytes from which on a connection is told of, whatever is known of it.
_WORTH_TELLING = 0.01
#: Flows of doubtful limit that are named one by one.
_DOUBTED = 5
#: Long flows in the table.
_LISTED = 200
#: Names of groups of flows that something else limits; a scenario's keys have them.
_OTHERS: Mapping[Limit, str] = {
    Limit.RECEIVER: "long flows limited by the receiver",
    Limit.APPLICATION: "long flows limited by the application",
    Limit.ELSEWHERE: "other long flows",
    Limit.UNKNOWN: "long flows of unknown limit",
}
#: Where the load of what does not yield comes from.
_LOOSE = "traffic without acknowledgments"
_NOTHING_LOOSE = exactly(0.0, "bit/s", _LOOSE, 0)

_LIMITED_BY: Mapping[Limit, LimitedBy] = {
    Limit.LINK: "this link",
    Limit.RECEIVER: "receiver",
    Limit.APPLICATION: "application",
    Limit.ELSEWHERE: "elsewhere",
    Limit.UNKNOWN: "unknown",
}


def capture_finding(seen: Seen, observed: Observed, load: Load, notes: Sequence[str]) -> Finding:
    """Make the finding of a capture.

    Parameters
    ----------
    seen : Seen
        The direction of the capture, as it was read.
    observed : Observed
        The interpretation of that direction.
    load : Load
        The load that the link carried.
    notes : sequence of str
        Sentences about the quality of the input.
    """
    packets = float(seen.load.packets.sum())
    total = float(seen.load.bytes.sum())
    unyielding: IntervalEstimate | Unknown
    share = observed.unresponsive_share
    if isinstance(observed.rate, IntervalEstimate):
        loose = replace(scaled(observed.load_bps, share, "bit/s"), source=_LOOSE) if share > 0 else _NOTHING_LOOSE
        unyielding = ratio(loose, observed.rate, loose.source)
    else:
        unyielding = Unknown("load of unresponsive traffic", "the link's rate is not known", "give it with --rate")
    groups, distributions = _groups(seen, observed)
    brief = _brief(seen, observed)
    return Finding(
        input=Input(_kind(observed), seen.seconds, round(packets), total),
        link=LinkFinding(observed.rate, observed.queue.limit, _discipline(observed)),
        limited_flows=observed.limited,
        regime=regime_of(load, limited=observed.limited, unyielding=unyielding),
        groups=tuple(groups),
        load=load,
        flows=tuple(_rows(observed, brief, seen.tick_s)),
        distributions=tuple(distributions),
        notes=(*notes, *_brief_note(brief, total, seen.seconds)),
        assumed=tuple(_doubted(observed.long_flows)),
    )


def _doubted(flows: Sequence[LongFlow]) -> Iterable[str]:
    """Limits of flows that are taken for certain in a scenario and are not."""
    doubted = [each for each in map(_doubt, flows) if each]
    yield from doubted[:_DOUBTED]
    if len(doubted) > _DOUBTED:
        yield f"the limits of {counted(len(doubted) - _DOUBTED, 'other flow')} are uncertain as well"


def _doubt(flow: LongFlow) -> str:
    """The limit that a flow is taken to have though it may have another one; empty where it is certain."""
    who = f"a flow of {bandwidth(flow.stream.mean_bps)}"
    if flow.on_schedule is not None:
        return (
            f"{who} is limited by this link, but its rate was constant in {flow.on_schedule:.0%} of the time, so its "
            "application may limit it instead"
        )
    if not flow.doubt:
        return ""
    if flow.limit is Limit.UNKNOWN:
        taken = "always has data to send" if flow.lost else "sends as fast as its application writes"
        return f"{who} {taken}, but its limit is unknown: {flow.doubt}"
    return f"{who} is limited by {flow.limit.value}, but {flow.doubt}"


def _brief(seen: Seen, observed: Observed) -> list[Stream]:
    """Connections with a share of the bytes that are neither long nor one of many transfers, the largest first."""
    known = {flow.stream.number for flow in observed.long_flows}
    total = float(seen.load.bytes.sum())
    described = len(observed.transfers.bytes) >= FEWEST_TRANSFERS
    found = [
        stream
        for stream in seen.streams
        if stream.responsive
        and stream.number not in known
        and stream.bytes >= _WORTH_TELLING * total
        and not (described and stream.began and stream.ended)
    ]
    return sorted(found, key=lambda stream: -stream.bytes)


def _brief_note(brief: Sequence[Stream], total: float, seconds: float) -> list[str]:
    if not brief or not total:
        return []
    share = sum(stream.bytes for stream in brief) / total
    longest = max(stream.seconds for stream in brief)
    one = len(brief) == 1
    return [
        f"{'one connection has' if one else f'{len(brief)} connections have'} {share:.0%} of the bytes and "
        f"{'lives' if one else 'live'} for {longest:.3g} s{'' if one else ' at most'} of {seconds:.3g} s: that is "
        "too short to identify the limit of a flow"
    ]


def _kind(observed: Observed) -> str:
    if not observed.queue.is_one_sided:
        return "capture of both sides of a queue"
    where = observed.place.value if observed.is_place_known else "side of the queue unknown"
    return f"capture of one place, {where}"


def _discipline(observed: Observed) -> Queue | Unknown:
    if observed.queue.tail_drop:
        return Queue("droptail", "packets were lost at a single queue length")
    if observed.queue.tail_drop is False:
        return Unknown(
            "queue discipline",
            "packets were lost at queue lengths that the queue accepts at other times, which several disciplines do",
            "read it from the router's configuration",
        )
    if observed.queue.is_one_sided:
        return Unknown(
            "queue discipline",
            "one side of a queue does not show the queue length at losses",
            "capture both sides while the queue overflows, or read it from the router's configuration",
        )
    return Unknown(
        "queue discipline",
        "too few losses were seen from both sides of the queue",
        "capture both sides while the queue overflows, or read it from the router's configuration",
    )


# Groups ------------------------------------------------------------------------------------------------------------


def _groups(seen: Seen, observed: Observed) -> tuple[list[GroupFinding], list[FittedDistribution]]:
    groups: list[GroupFinding] = []
    distributions: list[FittedDistribution] = []
    for name, flows in _by_family(observed.long_flows).items():
        # All flows of the capture, weighted by how much of it they live through.
        groups.append(_limited_here(name, flows, seen))
    for limit in (Limit.RECEIVER, Limit.APPLICATION, Limit.ELSEWHERE, Limit.UNKNOWN):
        of_limit = [flow for flow in observed.long_flows if flow.limit is limit]
        for lost in (True, False):
            # A flow that loses packets has more to send, unless something else is known to limit it.
            persistent = lost and limit is Limit.UNKNOWN
            flows = [flow for flow in of_limit if (flow.lost and limit is Limit.UNKNOWN) is lost]
            if flows:
                groups.append(_limited_otherwise(limit, flows, seen, persistent=persistent))
    transfers = _transfers(seen, observed, distributions)
    if transfers is not None:
        groups.append(transfers)
    loose = _unyielding(seen, observed)
    if loose is not None:
        groups.append(loose)
    trips = [
        flow.base_round_trip.value for flow in observed.long_flows if isinstance(flow.base_round_trip, IntervalEstimate)
    ]
    if len(trips) >= FEWEST_TRANSFERS:
        sample = Sample.of(np.maximum(trips, 1e-9))
        distribution = reduce_sample(sample).distribution
        distributions.append(
            FittedDistribution(
                "base round trips of long flows", "s", sample, distribution, "empirical, where the queue emptied"
            )
        )
    return groups, distributions


def _by_family(flows: Iterable[LongFlow]) -> dict[str, list[LongFlow]]:
    """Flows that this link limits, by the likeliest family of each."""
    found: dict[str, list[LongFlow]] = {}
    for flow in flows:
        if flow.limit is Limit.LINK:
            found.setdefault(flow.family.name, []).append(flow)
    return dict(sorted(found.items(), key=lambda item: (item[0] == UNKNOWN, -len(item[1]))))


def _limited_here(name: str, flows: Sequence[LongFlow], seen: Seen) -> GroupFinding:
    role = f"long flows of {name}" if name != UNKNOWN else "long flows"
    return GroupFinding(
        role,
        _at_a_time(flows, seen.seconds),
        Persistent(),
        "this link",
        _controllers(flows),
        _round_trips(flows),
        packet=_packet(flows),
        rate=_rate(flows, seen.tick_s),
        ecn=_are_ecn_capable(flows),
        stack=_stack([flow.stream for flow in flows]),
    )


def _limited_otherwise(limit: Limit, flows: Sequence[LongFlow], seen: Seen, *, persistent: bool) -> GroupFinding:
    rate = _rate(flows, seen.tick_s)
    window = None
    workload: Workload = Persistent() if persistent else AppLimited(rate)
    if limit is Limit.RECEIVER:
        workload, window = Persistent(), _window(flows)
    return GroupFinding(
        _OTHERS[limit],
        _at_a_time(flows, seen.seconds),
        workload,
        _LIMITED_BY[limit],
        _controllers(flows),
        _round_trips(flows),
        packet=_packet(flows),
        receive_window=window,
        rate=rate,
        ecn=_are_ecn_capable(flows),
        stack=_stack([flow.stream for flow in flows]),
    )


def _at_a_time(flows: Sequence[LongFlow], seconds: float) -> IntervalEstimate:
    lived = sum(min(flow.stream.seconds / seconds, 1.0) if seconds else 1.0 for flow in flows)
    return IntervalEstimate(
        lived, min(lived, float(len(flows)) * 0.9), float(len(flows)), "", "long flows at a time", len(flows)
    )


def _controllers(flows: Sequence[LongFlow]) -> Mapping[str, float] | Unknown:
    """Mean probabilities; "unknown" where that is the likeliest."""
    means = {name: float(np.mean([flow.family.probabilities[name] for flow in flows])) for name in (*FACTORS, UNKNOWN)}
    if likeliest(means) == UNKNOWN:
        reasons = Counter(flow.family.because or "its flows are of several families" for flow in flows)
        [(reason, count)] = reasons.most_common(1)
        of = "" if len(flows) == 1 else f" (so {count} of {len(flows)})"
        return Unknown(
            "congestion controller", f"{reason}{of}", "capture for longer and both ways, or ask the senders (ss -tin)"
        )
    return means


def _round_trips(flows: Sequence[LongFlow]) -> RoundTrips | Unknown:
    estimates = [flow.base_round_trip for flow in flows if isinstance(flow.base_round_trip, IntervalEstimate)]
    if not estimates:
        unknown = [flow.base_round_trip for flow in flows if isinstance(flow.base_round_trip, Unknown)]
        ends = [each.at_most for each in unknown]
        whole = [end for end in ends if end is not None]
        return replace(unknown[0], at_most=max(whole) if len(whole) == len(ends) else None)
    if len(estimates) < len(flows):
        of = f", of {len(estimates)} of {len(flows)} flows"
        estimates = [replace(each, source=f"{each.source}{of}") for each in estimates]
    if len(estimates) <= _EACH:
        return RoundTrips(each=tuple(estimates))
    return RoundTrips(quantiles=Sample.of([each.value for each in estimates]).quantiles("s", estimates[0].source))


def _packet(flows: Sequence[LongFlow]) -> IntervalEstimate:
    sizes_seen = [float(flow.stream.packet_bytes) for flow in flows]
    value = float(np.median(sizes_seen))
    return IntervalEstimate(value, min(sizes_seen), max(sizes_seen), "byte", "their largest packets", len(flows))


def _rate(flows: Sequence[LongFlow], tick_s: float) -> IntervalEstimate:
    rates = [flow.stream.mean_bps for flow in flows]
    source = "bytes over the time that each lived"
    if len(flows) == 1:
        return _mean_rate(flows[0].stream, source, tick_s)
    return IntervalEstimate(float(np.mean(rates)), min(rates), max(rates), "bit/s", source, len(flows))


def _mean_rate(stream: Stream, source: str, tick_s: float) -> IntervalEstimate:
    """The mean rate of one flow, with the scatter of its windows and a tick of the clock at both ends."""
    if stream.windows is None or len(stream.windows) < 2:
        return IntervalEstimate(stream.mean_bps, -math.inf, math.inf, "bit/s", source, 1)
    bits = stream.windows.bytes * 8.0
    found = batch_ratio(bits, np.full(len(bits), stream.windows.width_s), "bit/s", source)
    off = stream.mean_bps / found.value if found.value else 1.0
    found = scaled(found, off, "bit/s") if off > 0 else found
    doubt = 2.0 * tick_s / stream.seconds if stream.seconds > 0 else 0.0
    return replace(found, low=found.low * (1.0 - min(doubt, 1.0)), high=found.high * (1.0 + doubt))


def _window(flows: Sequence[LongFlow]) -> IntervalEstimate | None:
    windows = [
        float(np.nanmedian(flow.stream.windows.receive_window_bytes))
        for flow in flows
        if flow.stream.windows is not None and np.isfinite(flow.stream.windows.receive_window_bytes).any()
    ]
    if not windows:
        return None
    return IntervalEstimate(
        float(np.median(windows)), min(windows), max(windows), "byte", "windows in ACKs", len(windows)
    )


def _are_ecn_capable(flows: Sequence[LongFlow]) -> bool:
    return sum(flow.stream.ecn_capable for flow in flows) > len(flows) / 2


def _stack(streams: Sequence[Stream]) -> Stack | None:
    """Linux and those like it by their timestamps; the preset of the RFCs has none."""
    if 2 * sum(stream.timestamps for stream in streams) <= len(streams):
        return None
    return Stack("linux", "timestamps, as Linux sends them; its ACKs, bursts and recovery with them")


def _transfers(seen: Seen, observed: Observed, distributions: list[FittedDistribution]) -> GroupFinding | None:
    transfers = observed.transfers
    if len(transfers.bytes) < FEWEST_TRANSFERS:
        return None
    source = f"{transfers.count} transfers that began and ended here"
    span = seen.start_s, seen.end_s
    found = describe_transfers(transfers.bytes, transfers.starts_s, span, "size of transfers", source)
    if found is None:
        return None
    distributions.append(found.sizes)
    starts = found.arrivals
    if starts.gaps is not None and starts.gap is not None:
        distributions.append(
            FittedDistribution("time between beginnings of transfers", "s", starts.gaps, starts.gap, starts.why)
        )
    return GroupFinding(
        "transfers",
        None,
        found.workload,
        "unknown",
        Unknown(
            "congestion controller",
            "transfers end before their congestion control shows",
            "ask the senders (ss -tin)",
        ),
        _of_transfers(seen, observed.rate.value if isinstance(observed.rate, IntervalEstimate) else None),
        stack=_stack([stream for stream in seen.streams if stream.responsive]),
    )


def _of_transfers(seen: Seen, rate_bps: float | None) -> RoundTrips | Unknown:
    shakes, source = handshakes(seen.streams, rate_bps, seen.load, FEWEST_TRANSFERS)
    if len(shakes) < FEWEST_TRANSFERS:
        return Unknown("base round trip of transfers", "their handshakes were not captured", "capture both directions")
    quantiles = Sample.of(shakes).quantiles("s", source)
    if source == WAITED:
        quantiles = tuple(replace(each, estimate=replace(each.estimate, is_most=True)) for each in quantiles)
    return RoundTrips(quantiles=quantiles)


def _unyielding(seen: Seen, observed: Observed) -> GroupFinding | None:
    if observed.unresponsive_share < _SHARE:
        return None
    loose = [stream for stream in seen.streams if not stream.responsive]
    packets = sum(stream.packets for stream in loose)
    rate = replace(scaled(observed.load_bps, observed.unresponsive_share, "bit/s"), source=_LOOSE)
    packet = None
    if packets:
        mean = sum(stream.bytes for stream in loose) / packets
        packet = exactly(mean, "byte", "their mean packet", packets)
    total = sum(stream.bytes for stream in loose)
    even = sum(stream.bytes for stream in loose if _is_even(stream))
    workload: Workload = ConstantRate(rate) if total and even > _MOSTLY * total else PoissonPackets(rate)
    return GroupFinding("unresponsive traffic", None, workload, packet=packet)


def _is_even(stream: Stream) -> bool:
    """Whether a stream has one rate: its packets have equal gaps, or each of many windows has as many packets.

    A queue shifts packets and thereby changes their gaps. For random packets the variance of a count equals its mean.
    """
    if stream.packets < _TOLD:
        return False
    if stream.gap_variation < _EQUAL:
        return True
    if stream.windows is None or len(stream.windows) < _TOLD:
        return False
    # The last window is cut off.
    counts = stream.windows.packets[:-1]
    each = max(1, math.ceil(_IN_A_WINDOW / max(float(counts.mean()), 1e-9)))
    whole = len(counts) // each * each
    sums = counts[:whole].reshape(-1, each).sum(axis=1)
    return len(sums) >= _TOLD and float(sums.var()) < _EQUAL * float(sums.mean())


# The table of long flows -------------------------------------------------------------------------------------------


def _rows(observed: Observed, brief: Sequence[Stream], tick_s: float) -> Iterable[FlowFinding]:
    for number, flow in enumerate(observed.long_flows[:_LISTED], 1):
        trip = flow.base_round_trip
        name = flow.family.name
        yield replace(
            _row(f"long {number}", flow.stream, observed.place, tick_s),
            round_trip=trip if isinstance(trip, IntervalEstimate) else None,
            controller="" if name == UNKNOWN else f"{name} ({flow.family.probabilities[name]:.0%})",
            limited_by=_LIMITED_BY[flow.limit],
        )
    for number, stream in enumerate(brief[:_LISTED], 1):
        yield _row(f"brief {number}", stream, observed.place, tick_s)


def _row(role: str, stream: Stream, place: Place, tick_s: float) -> FlowFinding:
    """The row of a stream in the table of flows, before anything is known of its limit."""
    rate = _mean_rate(stream, "bytes over time", tick_s) if stream.seconds > 0 else None
    return FlowFinding(role, stream.seconds, float(stream.bytes), rate, None, _loss(stream, place), "", "unknown")


def _loss(stream: Stream, place: Place) -> IntervalEstimate:
    """Share of packets that were lost here, with Wilson's interval of as many packets as lose independently."""
    lost = stream.lost(place)
    sent = stream.packets + (lost if place is Place.BEHIND else 0)
    # Losses within a round trip are one event: together they count as one observation.
    worth = sent / max(lost / max(len(stream.losses_s), 1), 1.0)
    share, z = lost / sent, 1.6449
    middle = (share + z * z / (2 * worth)) / (1 + z * z / worth)
    half = z / (1 + z * z / worth) * math.sqrt(share * (1 - share) / worth + z * z / (4 * worth * worth))
    ends = max(min(middle - half, share), 0.0), max(middle + half, share)
    return IntervalEstimate(share, *ends, "", "gaps that were filled later", sent, worth)
