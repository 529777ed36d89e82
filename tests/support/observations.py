"""A finding that no capture was needed for, with something of everything, for pages, texts and scenarios."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from forebay.observation.arrivals import arrivals
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.finding import (
    AppLimited,
    ConstantRate,
    Finding,
    FittedDistribution,
    FlowFinding,
    GroupFinding,
    Input,
    LinkFinding,
    OpenLoop,
    Persistent,
    Queue,
    RoundTrips,
)
from forebay.observation.load import load_of
from forebay.observation.regime import regime_of
from forebay.observation.sample import Sample
from forebay.observation.sizes import sizes
from forebay.views.observation_text import observation_text

RATE = IntervalEstimate(98.7e6, 98.4e6, 99.0e6, "bit/s", "back-to-back departures", 41_233)
BUFFER = Unknown("the buffer's size", "the capture has one side of the queue only", "both sides of the queue")
CONTROLLER = Unknown("their congestion control", "no flow lost packets often enough", "a longer capture")


def bits(seconds: float, low: float, high: float, samples: int = 30, unit: str = "bit/s") -> IntervalEstimate:
    """An estimate from a source of no interest."""
    return IntervalEstimate(seconds, low, high, unit, "made for a test", samples)


def busy_bins(seconds: int, seed: int = 7) -> NDArray[np.float64]:
    """Bytes in bins of a millisecond on a link that long flows fill for two thirds of the time."""
    random = np.random.default_rng(seed)
    full = RATE.value / 8 / 1000
    phases = np.repeat(random.random(seconds) < 0.66, 1000)
    bins = np.where(phases, full * (1 - 0.02 * random.random(phases.size)), full * random.beta(2, 3, phases.size))
    return np.floor(bins)


def made(seconds: int = 20) -> Finding:
    """The finding; from 600 s on it has windows of five minutes."""
    random = np.random.default_rng(11)
    load = load_of(busy_bins(seconds), 0.001, rate=RATE, source="bytes of the capture", packet_bytes=1180)
    limited = IntervalEstimate(8, 7, 9, "", "windows and losses of the flows", 31)
    unyielding = IntervalEstimate(0.051, 0.047, 0.055, "", "packets that do not slow down", 9000)
    small = sizes(Sample.of(np.ceil(random.lognormal(9.2, 1.6, 3000))), "connections that ended")
    come = arrivals(np.cumsum(random.exponential(0.02, 3000)), 0.0, 60.0, "first packets of connections")
    trips = Sample.of(random.lognormal(np.log(0.03), 0.4, 240))
    each = tuple(
        IntervalEstimate(trip, 0.98 * trip, 1.03 * trip, "s", "data to acknowledgment and back", 900)
        for trip in (0.0213, 0.0226, 0.0234, 0.0247, 0.0281, 0.0312, 0.0344, 0.0398)
    )
    groups = (
        GroupFinding(
            name="long flows, 20 to 40 ms",
            count=limited,
            workload=Persistent(),
            limited_by="this link",
            controller={"cubic": 0.93, "newreno": 0.05, "bbr": 0.02},
            round_trips=RoundTrips(each=each),
            packet=IntervalEstimate(1500, 1500, 1500, "byte", "the largest packets", 80_000),
            rate=bits(9.1e6, 8.8e6, 9.4e6),
            ecn=False,
        ),
        GroupFinding(
            name="short transfers",
            count=None,
            workload=OpenLoop(small.distribution, come.gap, small.why, come.why, bits(6.2e6, 5.1e6, 7.3e6)),
            limited_by="elsewhere",
            controller=CONTROLLER,
            round_trips=RoundTrips(quantiles=trips.quantiles("s", "handshakes")),
        ),
        GroupFinding(
            name="written at a steady pace",
            count=IntervalEstimate(3, 3, 3, "", "flows with pauses in each second", 3),
            workload=AppLimited(bits(2.51e6, 2.4e6, 2.6e6)),
            limited_by="application",
            controller={"cubic": 0.41, "bbr": 0.39, "newreno": 0.2},
            round_trips=RoundTrips(each=(each[0], each[3], each[5])),
        ),
        GroupFinding(
            name="calls",
            count=None,
            workload=ConstantRate(bits(5.0e6, 4.7e6, 5.3e6)),
            limited_by="application",
            unknown=(Unknown("losses of calls", "UDP says nothing of them", "RTCP reports"),),
        ),
    )
    flows = tuple(
        FlowFinding(
            role=f"long {number + 1}",
            duration_s=float(seconds),
            carried_bytes=9.1e6 / 8 * seconds,
            rate=bits(9.1e6, 8.8e6, 9.4e6),
            round_trip=trip,
            loss=IntervalEstimate(0.0021, 0.0017, 0.0026, "", "packets seen again", 80_000) if number else None,
            controller="cubic 93 %",
            limited_by="this link",
        )
        for number, trip in enumerate(each)
    )
    return Finding(
        input=Input("capture of one interface", float(seconds), 1_040_000 * seconds // 60, 0.74e9 * seconds / 60),
        link=LinkFinding(RATE, BUFFER, Queue("droptail", "losses come in runs at full queues")),
        limited_flows=limited,
        regime=regime_of(load, limited=limited, unyielding=unyielding),
        groups=groups,
        load=load,
        flows=flows,
        distributions=(
            FittedDistribution("size of short transfers", "byte", small.sample, small.distribution, small.why),
            FittedDistribution(
                "round trip without queueing",
                "s",
                trips,
                RoundTrips(quantiles=trips.quantiles("s", "handshakes")).scenario_distribution,
                "quantiles of 240 connections",
            ),
        ),
        unknown=(Unknown("what happens beyond the capture", "nobody was there", "a second capture"),),
        notes=("Segmentation offload at the capture point: 31 % of bytes came in packets of up to 40 kB.",),
    )


def saying(finding: Finding, text: str) -> Finding:
    """The same with another remark, description, source and role."""
    groups = tuple(dataclasses.replace(group, name=f"{text} {group.name}") for group in finding.groups)
    unknown = tuple(Unknown(f"{text} a", f"{text} b", f"{text} c") for _ in finding.unknown)
    return dataclasses.replace(
        finding,
        notes=(text,),
        input=dataclasses.replace(finding.input, kind=text),
        link=dataclasses.replace(finding.link, rate=dataclasses.replace(RATE, source=text)),
        groups=groups,
        unknown=unknown,
    )


ADDRESSES = (
    "10.1.2.3",
    "192.168.100.254",
    "2001:db8:0:0:8:800:200c:417a",
    "2001:db8::8:800:200c:417a",
    "fe80::1",
    "::1",
    "::ffff:0a01",
    "00:1b:44:11:3a:b7",
    "00-1B-44-11-3A-B7",
)


ADDRESS = re.compile(
    r"\d{1,3}(\.\d{1,3}){3}|([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"
    r"|[0-9A-Fa-f]{1,4}::|::[0-9A-Fa-f]|([0-9A-Fa-f]{1,4}:){7}"
)


def text_of(finding: Finding, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(observation_text(finding))
    return out.getvalue()
