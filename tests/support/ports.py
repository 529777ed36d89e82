"""Ports and disciplines that tests of several platforms configure."""

from __future__ import annotations

from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, TrafficClass

ROUTERS = ("ios-xe", "ios-xr", "nx-os", "junos", "eos", "eos-trident", "sros")


FIFO = Discipline("droptail")


RED = Discipline(
    "red",
    {
        "min": Limit(20, "packets"),
        "max": Limit(60, "packets"),
        "max_p": 0.1,
        "weight": 2.0**-9,
        "gentle": False,
        "adaptive": False,
        "wait": False,
    },
    ecn=True,
)


STEP = Discipline("step", {"threshold": Limit(65, "packets"), "others": "drop"}, ecn=True)


def packets(count: int, discipline: Discipline = FIFO) -> Queue:
    """A queue of `count` packets."""
    return Queue(Limit(count, "packets"), discipline)


def dsl(queue: Queue | Classes) -> Port:
    """16 Mb/s of IP."""
    return Port(16_000_000, 1500, queue)


VOICE_AND_REST = Classes(
    "dwrr",
    (
        TrafficClass("voice", ("calls",), 1.0, packets(20), priority=True),
        TrafficClass("gold", ("tv",), 3.0, packets(60)),
        TrafficClass("rest", ("web",), 1.0, packets(200)),
    ),
)
