"""Time constants that all headroom models share: the cable, the response to a pause frame, and the physical minimum.

Every model imports this module, and `table_audit.py` compares tables with the physical minimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["PAUSE_QUANTA", "PAUSE_QUANTUM_BITS", "SPEED_IN_CABLE", "LosslessPort", "physical_minimum", "round_trip"]

#: Speed of a signal in the cable, in meters per second: 0.66 c, as in SONiC's plugins.
SPEED_IN_CABLE = 198_000_000
#: Bits of one pause quantum (IEEE 802.3, annex 31B.2).
PAUSE_QUANTUM_BITS = 512
#: Largest delay from a pause frame to the last frame after it, in pause quanta, by rate in Mb/s. IEEE 802.3, annex
#: 31B.3.7, as SONiC's buffer_headroom_mellanox.lua lists it.
PAUSE_QUANTA: Mapping[int, int] = MappingProxyType(
    {
        800_000: 905,
        400_000: 905,
        200_000: 453,
        100_000: 394,
        50_000: 147,
        40_000: 118,
        25_000: 80,
        10_000: 67,
        1_000: 2,
        100: 1,
    }
)


@dataclass(frozen=True, slots=True)
class LosslessPort:
    """A port with a lossless priority group.

    Attributes
    ----------
    rate_mbps : int
        Rate, in Mb/s.
    cable_m : float
        Length of the cable, in meters.
    mtu : int
        Largest frame of the port, in bytes.
    lossless_mtu : int
        Largest frame of the lossless class, in bytes.
    """

    rate_mbps: int
    cable_m: float
    mtu: int
    lossless_mtu: int


def round_trip(rate_mbps: float, cable_m: float) -> float:
    """Bytes on a cable in both directions: 2 L r / (8 v)."""
    return 2 * cable_m * rate_mbps * 1e6 / SPEED_IN_CABLE / 8


def physical_minimum(port: LosslessPort) -> int:
    """Bytes that arrive after the decision to pause, whatever the device is.

    The frame in transmission at the port delays the pause frame. The frame in transmission at the peer cannot be
    stopped. The cable is full in both directions.
    """
    return math.ceil(round_trip(port.rate_mbps, port.cable_m) + port.mtu + port.lossless_mtu)
