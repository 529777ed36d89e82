"""Findings from what is not a capture: flow records, counters, sockets. Each leaves more unknown than the last.

`observing` calls it for inputs that are no captures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from forebay.observation.arrivals import arrivals
from forebay.observation.busy_hour import WHOLE, Day, Intervals, Window, day_of
from forebay.observation.counters import Counters
from forebay.observation.estimate import Estimate, Unknown, exactly, given_rate, scaled
from forebay.observation.estimate_text import value_text
from forebay.observation.finding import (
    AppLimited,
    Finding,
    FittedDistribution,
    FlowFinding,
    GroupFinding,
    Input,
    LimitedBy,
    LinkFinding,
    OpenLoop,
    Persistent,
    Queue,
    RoundTrips,
    Stack,
    Workload,
)
from forebay.observation.load import Load, load_of, product
from forebay.observation.records import FlowRecords
from forebay.observation.regime import Regime, regime_of
from forebay.observation.sample import Sample
from forebay.observation.sizes import sizes
from forebay.observation.sockets import FEWEST_BYTES, Group, Sockets
from forebay.text.formatting import bandwidth, clock_time, counted

__all__ = ["of_counters", "of_records", "of_sockets"]

#: Transfers whose sizes are worth a distribution, and round trips that a scenario lists one by one.
_TRANSFERS, _EACH = 5, 64
#: Disciplines of Linux by their names in scenarios, whose other parameters are defaults.
_DISCIPLINES = {
    **dict.fromkeys(("pfifo", "bfifo", "pfifo_fast", "tbf"), "droptail"),
    **{name: name for name in ("codel", "fq_codel", "pie", "fq_pie", "cake", "sfq")},
}
#: What limits most sockets of a group, as a finding says it.
_LIMITS: dict[str, LimitedBy] = {"application": "application", "sender's buffer": "application", "receiver": "receiver"}


def _given(rate_bps: float | None, because: str) -> Estimate | Unknown:
    if rate_bps is not None:
        return given_rate(rate_bps)
    return Unknown("link rate", because, "give it by --rate: the port or the shaper states it")


def _no_queue(what: str, because: str) -> Unknown:
    return Unknown(what, because, "read it from the router's configuration, or capture both sides of the queue")


def _unyielding(because: str) -> Unknown:
    return Unknown("load of what does not yield", because, "capture the port")


def of_records(records: FlowRecords, rate_bps: float | None) -> Finding:
    """What flow records say."""
    because = "records say how much came between two instants, and nothing of when"
    rate = _given(rate_bps, because)
    load = _load_of_records(records, rate)
    limited = records.estimates.get("limited_flows") or Unknown(
        "flows that this link limits", because, "capture the port for a minute at a busy time"
    )
    groups: list[GroupFinding] = []
    distributions: list[FittedDistribution] = []
    many = records.estimates.get("long_flows")
    if many is not None and many.value > 0:
        groups.append(_long_records(records, many, limited))
    transfers = _short_records(records, distributions)
    if transfers is not None:
        groups.append(transfers)
    return Finding(
        input=Input("flow records", records.last_s - records.first_s, None, None),
        link=LinkFinding(rate, _no_queue("buffer", because), _no_queue("queue discipline", because)),
        limited=limited,
        regime=_regime(load, limited, because),
        groups=tuple(groups),
        load=load,
        distributions=tuple(distributions),
        unknown=_not_said(records.unknown, limited, groups),
        remarks=records.remarks if load is not None else (*records.remarks, *_mean_alone(records)),
        day=records.day,
        assumed=("bursts are those of transfers that begin as the records show: records have no packets",),
    )


def _not_said(
    unknown: Sequence[Unknown], limited: Estimate | Unknown, groups: Sequence[GroupFinding]
) -> tuple[Unknown, ...]:
    """What is not identified, without what the link, its flows and the groups say already."""
    said = {"buffer and queue discipline"}
    if isinstance(limited, Unknown):
        said.add("which flows this link limits")
    if groups:
        said |= {"base round trips", "congestion controllers"}
    return tuple(each for each in unknown if each.what not in said)


def _mean_alone(records: FlowRecords) -> tuple[str, ...]:
    """The mean load of records that are too short for a load over time."""
    mean = records.estimates.get("load")
    return () if mean is None else (f"the load is {bandwidth(mean.value)} on average; over less time it is not known",)


def _load_of_records(records: FlowRecords, rate: Estimate | Unknown) -> Load | None:
    series = records.load
    width = max(series.resolution_s, series.bin_s)
    means = series.averaged(width)
    if len(means) < 2:
        return None
    bins = max(1, round(np.ceil(width / series.bin_s - 1e-9)))
    size = records.estimates.get("packet_size")
    return load_of(
        means * bins * series.bin_s / 8.0,
        bins * series.bin_s,
        rate=rate,
        source="bytes of records over their time",
        packet_bytes=size.value if size is not None else 1500.0,
    )


def _long_records(records: FlowRecords, many: Estimate, limited: Estimate | Unknown) -> GroupFinding:
    """Long flows: persistent ones where the link is known to limit them, else as fast as each was."""
    mean = records.estimates.get("long_rate") or records.estimates.get("load")
    rate = None
    if mean is not None:
        share = max(many.value, 1.0)
        rate = replace(scaled(mean, 1.0 / share, "bit/s"), source="load over the number of long flows")
    is_limited = isinstance(limited, Estimate) and limited.value > 0
    workload: Workload = Persistent() if is_limited or rate is None else AppLimited(rate)
    return GroupFinding(
        "long flows",
        many,
        workload,
        "this link" if is_limited else "unknown",
        Unknown("congestion controller", "records have no windows", "ask the senders (ss -tin), or capture the port"),
        Unknown("base round trip", "records have no round trips", "capture the port in both directions, or ss -tin"),
        rate=rate,
    )


def _short_records(records: FlowRecords, distributions: list[FittedDistribution]) -> GroupFinding | None:
    if len(records.sizes) < _TRANSFERS or len(records.arrivals_s) < 2:
        return None
    source = f"{len(records.sizes)} flows that were seen from beginning to end"
    of_size = sizes(Sample.of(np.maximum(records.sizes, 1.0)), source)
    begin, end = records.first_s, max(records.last_s, float(records.arrivals_s[-1]) + 1e-3)
    of_starts = arrivals(records.arrivals_s, begin, end, source)
    if of_starts.gap is None:
        return None
    distributions.append(FittedDistribution("size of flows", "byte", of_size.sample, of_size.distribution, of_size.why))
    load = product(of_starts.rate, of_size.mean, 8.0, "bit/s", "their rate times their mean size")
    return GroupFinding(
        "transfers",
        None,
        OpenLoop(of_size.distribution, of_starts.gap, of_size.why, of_starts.why, load),
        "unknown",
        Unknown("congestion controller", "records have no windows", "ask the senders (ss -tin), or capture the port"),
        Unknown("base round trip", "records have no round trips", "capture the port in both directions, or ss -tin"),
    )


def of_counters(counters: Counters, window: Window = WHOLE) -> Finding:
    """What a port's counters say of a window, and of the day."""
    because = "counters are sums over everybody"
    rate = counters.rate or Unknown(
        "link rate", "counters have no packets", "ifHighSpeed of the port, or give the rate by --rate"
    )
    load, day = None, None
    if len(counters.bits_per_second) >= 2:
        size = counters.estimates.get("packet_size")
        day, chosen = day_of(
            Intervals(counters.starts_s, counters.seconds, counters.bits_per_second, counters.drops, counters.packets),
            window.at_least(2 * counters.interval_s),
            "bytes between polls",
        )
        described = counters.bits_per_second[chosen]
        load = load_of(
            (described if described.size > 1 else np.repeat(described, 2)) * counters.interval_s / 8.0,
            counters.interval_s,
            rate=rate,
            source="bytes between polls",
            packet_bytes=size.value if size is not None else 1500.0,
        )
    limited = Unknown("flows that this link limits", because, "capture the port for a minute at a busy time")
    return Finding(
        input=Input("counters of a port", float(counters.seconds.sum()), None, None),
        link=LinkFinding(rate, _buffer(counters), _queue(counters)),
        limited=limited,
        regime=_regime(load, limited, because),
        load=load,
        # An unknown rate implies an unknown utilization.
        unknown=tuple(each for each in counters.unknown if counters.rate is not None or each.what != "utilization"),
        remarks=(*(() if day is None else (day.span.sentence,)), *counters.remarks),
        day=day,
        assumed=_assumed(counters, day),
    )


def _assumed(counters: Counters, day: Day | None) -> tuple[str, ...]:
    """What a scenario of counters rests on."""
    if day is None:
        return counters.assumed
    every = clock_time(counters.interval_s)
    said = [
        *counters.assumed,
        f"packets come at random within {every}: counters do not show shorter bursts, which need a larger buffer",
    ]
    if day.lossy and counters.rate is not None:
        loads = [each.load_bps for each in day.losses]
        said.append(
            f"no burst makes packets drop, though {counted(day.lossy, 'interval')} with a load of "
            f"{bandwidth(min(loads))} or more had drops: the true buffer is larger"
        )
    if counters.is_nominal:
        said.append("the link runs at the speed of the port's type")
    return tuple(said)


def _buffer(counters: Counters) -> Estimate | Unknown:
    """What may wait: the limit that a host states, else at least what a watermark has seen."""
    shaper, mark = counters.shaper, counters.estimates.get("watermark_max")
    if shaper is not None and shaper.limit is not None:
        unit = "byte" if shaper.in_bytes else "packets"
        return exactly(shaper.limit, unit, f"the limit of {shaper.kind}, as `tc` states it", 1)
    if mark is not None and mark.value > 0:
        because = f"a watermark shows that {value_text(mark.value, mark.unit)} waited, and not the limit"
        find = "read it from the router's configuration, or capture both sides of the queue"
        return Unknown("buffer", because, find, at_least=mark.value if mark.unit == "byte" else None)
    return _no_queue("buffer", "a counter of drops does not say what waited")


def _queue(counters: Counters) -> Queue | Unknown:
    kind = _DISCIPLINES.get(counters.shaper.kind) if counters.shaper is not None else None
    if kind is not None:
        other = "" if kind == "droptail" else "; its parameters are the defaults"
        return Queue(kind, f"as `tc` states it{other}")
    return _no_queue("queue discipline", "counters do not say who is dropped when")


def of_sockets(sockets: Sockets, rate_bps: float | None) -> Finding:
    """What a server's sockets say."""
    because = "sockets know their own path, and not which link of it is full"
    limited = Unknown("flows that this link limits", because, "capture the port of the link")
    return Finding(
        input=Input(f"sockets of a server, {sockets.dumps} dump{'s' if sockets.dumps > 1 else ''}"),
        link=LinkFinding(
            _given(rate_bps, because), _no_queue("buffer", because), _no_queue("queue discipline", because)
        ),
        limited=limited,
        regime=_regime(None, limited, because),
        groups=tuple(made for group in sockets.groups for made in _of_group(group, sockets)),
        flows=tuple(_rows(sockets)),
        unknown=sockets.unknown,
        remarks=sockets.remarks,
    )


def _of_group(group: Group, sockets: Sockets) -> list[GroupFinding]:
    """Groups of a controller's connections that send, one for what limits them."""
    alike: dict[LimitedBy, list[int]] = {}
    for at, each in enumerate(sockets.sockets):
        if each.controller == group.controller and (sockets.changes[at].acknowledged or 0.0) >= FEWEST_BYTES:
            alike.setdefault(_LIMITS.get(sockets.limits[at], "unknown"), []).append(at)
    made = (_alike(group.controller, limit, mine, sockets) for limit, mine in alike.items())
    return [each for each in made if each is not None]


def _alike(controller: str, limit: LimitedBy, mine: list[int], sockets: Sockets) -> GroupFinding | None:
    """Connections that the same thing limits; None where an application limits them to a rate that is not known."""
    rate = _rate_of_each(mine, sockets)
    is_held = limit in ("application", "receiver")
    if is_held and rate is None:
        return None
    trips = [trip for at in mine if (trip := sockets.sockets[at].minrtt_s)]
    known: RoundTrips | Unknown = Unknown("base round trip", "this kernel prints no minrtt", "a newer ss, or a capture")
    if trips and len(trips) <= _EACH:
        known = RoundTrips(each=tuple(Estimate(trip, 0.9 * trip, trip, "s", "minrtt of a socket", 1) for trip in trips))
    elif trips:
        known = RoundTrips(quantiles=Sample.of(trips).quantiles("s", "minrtt of sockets"))
    sizes_seen = [mss for at in mine if (mss := sockets.sockets[at].mss)]
    packet = None
    if sizes_seen:
        value = float(np.median(sizes_seen)) + 52.0
        packet = Estimate(
            value, min(sizes_seen) + 52, max(sizes_seen) + 52, "byte", "mss and its headers", len(sizes_seen)
        )
    held = {"application": ", limited by the application", "receiver": ", limited by the receiver"}.get(limit, "")
    return GroupFinding(
        f"sockets of {controller}{held}",
        exactly(float(len(mine)), "", "sockets that sent 100 kB or more", len(mine)),
        AppLimited(rate) if is_held and rate is not None else Persistent(),
        limit,
        {_scenario_name(controller): 1.0},
        known,
        packet=packet,
        rate=rate,
        stack=Stack("linux", "ss lists the sockets of Linux"),
    )


def _rate_of_each(mine: list[int], sockets: Sockets) -> Estimate | None:
    """The mean rate of a connection; without two dumps it is at most the rate while the connection was busy."""
    changes = [sockets.changes[at] for at in mine]
    rates = [rate for each in changes if (rate := each.rate_bps) is not None]
    source = "bytes acknowledged between dumps"
    if not rates:
        rates = [rate for at in mine if (rate := sockets.sockets[at].delivery_bps)]
        source = "delivery rates"
    if not rates:
        return None
    mean = float(np.mean(rates))
    if source != "delivery rates" and all(each.seconds for each in changes):
        ends = float(min(rates)), float(max(rates))
        return Estimate(mean, *ends, "bit/s", source, len(rates)) if ends[0] < ends[1] else exactly(
            mean, "bit/s", source, len(rates)
        )  # fmt: skip
    bound = source if source == "delivery rates" else "bytes acknowledged over the time with data outstanding"
    while_busy = f"at most: {bound}"
    return Estimate(mean, 0.0, mean, "bit/s", while_busy, len(rates))


def _scenario_name(controller: str) -> str:
    """A kernel's controller by its name in scenarios."""
    return {"reno": "newreno", "bbr2": "bbr", "bbr1": "bbr", "scalable": "scalable", "highspeed": "hstcp"}.get(
        controller, controller
    )


def _rows(sockets: Sockets) -> Sequence[FlowFinding]:
    each = zip(sockets.sockets, sockets.changes, sockets.limits, strict=True)
    ordered = sorted(each, key=lambda row: -(row[1].acknowledged or 0.0))
    rows = []
    for number, (socket, change, limit) in enumerate(ordered[:200], 1):
        rate, again = change.rate_bps, change.retransmission_rate
        trip = socket.minrtt_s
        rows.append(
            FlowFinding(
                f"socket {number}",
                change.seconds or change.busy_s,
                change.acknowledged or 0.0,
                None if rate is None else exactly(rate, "bit/s", "acknowledged bytes over time", 1),
                None if trip is None else Estimate(trip, 0.9 * trip, trip, "s", "minrtt", 1),
                None if again is None else exactly(again, "", "retransmissions over what was sent", 1),
                socket.controller,
                _LIMITS.get(limit, "unknown"),
            )
        )
    return rows


def _regime(load: Load | None, limited: Estimate | Unknown, because: str) -> Regime:
    if load is None:
        return Regime("unknown", f"not identifiable, because {because}", ())
    return regime_of(load, limited=limited, unyielding=_unyielding(because))
