"""Sockets of a server, as `ss -tin` prints them: how a dump is recognized, and its finding.

`sockets` compares dumps and groups connections by controller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from forebay.errors import InputError
from forebay.observation.estimate import IntervalEstimate, Unknown, exactly
from forebay.observation.finding import (
    AppLimited,
    Finding,
    FlowFinding,
    GroupFinding,
    LimitedBy,
    LinkFinding,
    Persistent,
    RoundTrips,
    Stack,
)
from forebay.observation.finding import (
    Input as ObservedInput,
)
from forebay.observation.inputs.input import File, Head, Input, InputReading, Kind, Options, Yields
from forebay.observation.line_reader import read_text
from forebay.observation.load import Load
from forebay.observation.one_sided import given_or_unknown, regime_without_packets, unknown_queue
from forebay.observation.sample import Sample
from forebay.observation.sockets import FEWEST_BYTES, Sockets, read_sockets

__all__ = ["SOCKETS", "SocketInput", "SocketReading", "sockets_finding"]

#: Facts that `ss -ti` prints for a TCP socket.
_FACTS = re.compile(r"\b(cwnd:\d+|rto:\d+|wscale:\d+,\d+)")
#: Round trips that a scenario lists one by one.
_EACH = 64
#: The finding's word for the limit of most sockets of a group.
_LIMITS: dict[str, LimitedBy] = {"application": "application", "sender's buffer": "application", "receiver": "receiver"}
#: Why sockets do not tell the link.
_BECAUSE = "sockets show their path, but not the link of it that is full"


@dataclass(frozen=True)
class SocketReading(InputReading):
    """Sockets of a server."""

    sockets: Sockets


@dataclass(frozen=True)
class SocketInput(Input[SocketReading]):
    """The input of `ss -tin` output."""

    kind: ClassVar[Kind] = Kind.SOCKETS

    def read(self, files: Sequence[File], options: Options) -> SocketReading:
        """Read one file of dumps."""
        if len(files) > 1:
            raise InputError(f"found {len(files)} files of {self.kind.value}; allowed: one", "inputs")
        path = files[0].path
        found = read_sockets(read_text(path, "the output of `ss -tin`"), str(path))
        return SocketReading(given_or_unknown(options.rate_bps, _BECAUSE), None, found)

    def finding(self, reading: SocketReading, load: Load | None) -> Finding:
        """Make a finding of a server's sockets."""
        return sockets_finding(reading.sockets, reading.rate, load)


def _accepts(head: Head) -> bool:
    return not head.is_json and _FACTS.search(head.text) is not None


SOCKETS = SocketInput("`ss -tin`", _accepts, (Yields.SOCKETS,))


def sockets_finding(sockets: Sockets, rate: IntervalEstimate | Unknown, load: Load | None = None) -> Finding:
    """Make a finding of a server's sockets and the rate of the link, if it is known."""
    limited = Unknown("flows that this link limits", _BECAUSE, "capture the port of the link")
    return Finding(
        input=ObservedInput(f"sockets of a server, {sockets.dumps} dump{'s' if sockets.dumps > 1 else ''}"),
        link=LinkFinding(rate, unknown_queue("buffer", _BECAUSE), unknown_queue("queue discipline", _BECAUSE)),
        limited_flows=limited,
        regime=regime_without_packets(load, limited, _BECAUSE),
        load=load,
        groups=tuple(made for controller in sockets.controllers for made in _of_controller(controller, sockets)),
        flows=tuple(_rows(sockets)),
        unknown=sockets.unknown,
        notes=sockets.notes,
    )


def _of_controller(controller: str, sockets: Sockets) -> list[GroupFinding]:
    """Groups of a controller's connections that send, one for what limits them."""
    alike: dict[LimitedBy, list[int]] = {}
    for at, each in enumerate(sockets.sockets):
        if each.controller == controller and (sockets.changes[at].acknowledged or 0.0) >= FEWEST_BYTES:
            alike.setdefault(_LIMITS.get(sockets.limits[at], "unknown"), []).append(at)
    made = (_group_of(controller, limit, mine, sockets) for limit, mine in alike.items())
    return [each for each in made if each is not None]


def _group_of(controller: str, limit: LimitedBy, mine: list[int], sockets: Sockets) -> GroupFinding | None:
    """Connections that the same thing limits; None where an application limits them to a rate that is not known."""
    rate = _rate_of_each(mine, sockets)
    is_held = limit in ("application", "receiver")
    if is_held and rate is None:
        return None
    trips = [trip for at in mine if (trip := sockets.sockets[at].minrtt_s)]
    known: RoundTrips | Unknown = Unknown("base round trip", "this kernel prints no minrtt", "a newer ss, or a capture")
    if trips and len(trips) <= _EACH:
        known = RoundTrips(
            each=tuple(IntervalEstimate(trip, 0.9 * trip, trip, "s", "minrtt of a socket", 1) for trip in trips)
        )
    elif trips:
        known = RoundTrips(quantiles=Sample.of(trips).quantiles("s", "minrtt of sockets"))
    sizes_seen = [mss for at in mine if (mss := sockets.sockets[at].mss)]
    packet = None
    if sizes_seen:
        value = float(np.median(sizes_seen)) + 52.0
        packet = IntervalEstimate(
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


def _rate_of_each(mine: list[int], sockets: Sockets) -> IntervalEstimate | None:
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
        return IntervalEstimate(mean, *ends, "bit/s", source, len(rates)) if ends[0] < ends[1] else exactly(
            mean, "bit/s", source, len(rates)
        )  # fmt: skip
    bound = source if source == "delivery rates" else "bytes acknowledged over the time with data outstanding"
    while_busy = f"at most: {bound}"
    return IntervalEstimate(mean, 0.0, mean, "bit/s", while_busy, len(rates))


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
        rate, retransmitted = change.rate_bps, change.retransmission_rate
        trip = socket.minrtt_s
        rows.append(
            FlowFinding(
                f"socket {number}",
                change.seconds or change.busy_s,
                change.acknowledged or 0.0,
                None if rate is None else exactly(rate, "bit/s", "acknowledged bytes over time", 1),
                None if trip is None else IntervalEstimate(trip, 0.9 * trip, trip, "s", "minrtt", 1),
                None if retransmitted is None else exactly(retransmitted, "", "retransmissions over what was sent", 1),
                socket.controller,
                _LIMITS.get(limit, "unknown"),
            )
        )
    return rows
