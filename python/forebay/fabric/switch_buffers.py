"""The buffers of a switch in types: ports, pools, profiles, priority groups, queues and marking.

`switch_reader.py` makes them of `config_db.json`. `switch_headroom.py`, `switch_memory.py` and `switch_audit.py` read
them. Names of tables and fields are those of SONiC's YANG models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "COLORS",
    "DEFAULT_MTU",
    "BufferQueue",
    "Metadata",
    "Pool",
    "PriorityGroup",
    "Profile",
    "QosMap",
    "Switch",
    "SwitchPort",
    "WredCurve",
    "WredProfile",
]

#: Colors of packets in a WRED profile.
COLORS = ("green", "yellow", "red")
#: Largest frame of a port without `mtu`, in bytes (sonic-port.yang and portsorch.cpp).
DEFAULT_MTU = 9100


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A port: rate in Mb/s, cable in meters, largest frame in bytes; None for what the file does not have."""

    name: str
    line: int
    rate_mbps: int | None = None
    cable_m: float | None = None
    cable_line: int | None = None
    mtu: int = DEFAULT_MTU
    lanes: int | None = None
    is_up: bool = True
    max_headroom: int | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A buffer pool: sizes in bytes; `xoff` is the shared headroom pool."""

    name: str
    line: int
    kind: str = ""
    mode: str = ""
    size: int | None = None
    xoff: int = 0
    percentage: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A buffer profile: sizes in bytes, `dynamic_th` as the exponent of alpha."""

    name: str
    line: int
    pool: str | None = None
    size: int | None = None
    xon: int | None = None
    xoff: int | None = None
    static_th: int | None = None
    dynamic_th: int | None = None
    is_dynamic: bool = False

    @property
    def is_lossless(self) -> bool:
        """Whether its groups have headroom."""
        return self.is_dynamic or bool(self.xoff)


@dataclass(frozen=True, slots=True)
class PriorityGroup:
    """A priority group of a port; `profile` is None if the device computes it, as "NULL" states."""

    port: str
    number: int
    profile: str | None
    place: str
    line: int


@dataclass(frozen=True, slots=True)
class BufferQueue:
    """An egress queue of a port: its buffer profile and its WRED profile, as far as it has them."""

    port: str
    number: int
    profile: str | None = None
    wred: str | None = None
    place: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class WredCurve:
    """Thresholds of one color in bytes, and the probability at the upper one in percent."""

    least: int
    most: int
    probability: int


@dataclass(frozen=True, slots=True)
class WredProfile:
    """A WRED profile: the curve of each enabled color, and the colors that are marked instead of dropped."""

    name: str
    line: int
    curves: Mapping[str, WredCurve]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QosMap:
    """PFC of a port: its priorities, those that the watchdog observes, and the name of its map to groups."""

    port: str
    line: int
    priorities: tuple[int, ...] = ()
    watched: tuple[int, ...] = ()
    pfc_to_pg: str | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """The device and its lossless traffic, as far as the file names them; None for a missing value."""

    platform: str = ""
    sku: str = ""
    is_dynamic: bool = False
    lossless_mtu: int | None = None
    small_packets: int | None = None
    over_subscription: int | None = None
    default_dynamic_th: int | None = None
    memory: int | None = None


@dataclass(slots=True)
class Switch:
    """All buffers of a switch."""

    metadata: Metadata = field(default_factory=Metadata)
    ports: dict[str, SwitchPort] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    groups: dict[tuple[str, int], PriorityGroup] = field(default_factory=dict)
    queues: dict[tuple[str, int], BufferQueue] = field(default_factory=dict)
    wred: dict[str, WredProfile] = field(default_factory=dict)
    qos: dict[str, QosMap] = field(default_factory=dict)
    pfc_to_pg: dict[str, dict[int, int]] = field(default_factory=dict)
    #: Lists of profiles of ports: place, line and names.
    lists: list[tuple[str, int, tuple[str, ...]]] = field(default_factory=list)
    #: Names of the tables that the file has.
    tables: frozenset[str] = frozenset()

    def group_of(self, port: str, priority: int) -> int:
        """The priority group of a PFC priority; by default the group of the same number (buffermgr.cpp)."""
        name = self.qos[port].pfc_to_pg if port in self.qos else None
        return self.pfc_to_pg.get(name or "", {}).get(priority, priority)
