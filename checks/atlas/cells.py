"""The cells of the atlas: its links, and the duration of each one's runs.

A cell is a drop-tail link. Its persistent flows are alike except for their starts and their round trips, which lie
within a fifth of the stated one. A link is no cell if it is too expensive: its windows swing so slowly that a run would
have more than `MOST_PACKETS`. Single flows on long fat links are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from forebay.atlas.rows import CONTROLLERS, PACKET_BITS
from forebay.scenario import Scenario

__all__ = ["TARGETS", "Cell", "cells"]

#: Bits per second, and seconds: bandwidth-delay products from 8 to 83,333 packets.
RATES = (10e6, 100e6, 1e9, 10e9)
ROUND_TRIPS = (0.010, 0.032, 0.100)
FLOWS = (1, 3, 10, 32, 100, 316, 1000, 3162, 10_000)
#: Shares of the link's rate that unresponsive Poisson traffic offers.
BACKGROUNDS = (0.0, 0.5)
#: Utilizations for which a buffer is searched.
TARGETS = (0.95, 0.99)

#: Largest number of flows for each packet of the bandwidth-delay product; with more, all flows wait for timers.
MOST_CROWDED = 20
#: Largest number of packets of one run.
MOST_PACKETS = 12e6

#: Swings of a window before and during the measurement. Round trips and seconds are lower bounds of both, because
#: timeouts take their time whatever the round trip is.
SETTLING, MEASURED = 4, 8
SETTLING_TRIPS, MEASURED_TRIPS = 30, 100
SETTLING_S, MEASURED_S = 2.0, 4.0
#: Part of the bandwidth-delay product that a full queue adds to windows, and that the mean queue adds to round trips.
FULL, MEAN = 0.5, 0.25
#: Least number of packets that a run measures.
LEAST_PACKETS = 20_000
#: BBR looks for the least round trip every 10 s (Cardwell et al., BBR, 2016), BBRv3 every 5 s
#: (draft-ietf-ccwg-bbr): two such cycles are measured.
PROBES = {"bbr": 10.0, "bbr3": 5.0}


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One link.

    Attributes
    ----------
    rate : float
        Rate of the link, in bit/s.
    rtt : float
        Stated round trip, in seconds.
    flows : int
        Number of persistent flows.
    controller : str
        Congestion control of all flows.
    background : float
        Share of the rate that unresponsive traffic offers.
    """

    rate: float
    rtt: float
    flows: int
    controller: str
    background: float

    @property
    def name(self) -> str:
        """The name of the cell, such as "1e+09-0.1-316-cubic-0.5"."""
        return f"{self.rate:g}-{self.rtt:g}-{self.flows}-{self.controller}-{self.background:g}"

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.rate * self.rtt / PACKET_BITS

    @property
    def swing(self) -> float:
        """The time from one loss of a window to the next, or from one probe of a controller to the next, in seconds.

        New Reno grows by a packet in a round trip from half of its window (RFC 5681). CUBIC is back at its window, of
        which it gave up 0.3, after K (RFC 9438, section 4.2), or sooner as New Reno would (section 4.3).
        """
        window = max((1 + FULL) * self.bdp * (1 - self.background) / self.flows, 2.0)
        rtt = (1 + MEAN) * self.rtt
        if self.controller == "newreno":
            return window / 2 * rtt
        if self.controller == "cubic":
            return min(0.3 / 0.53 * window * rtt, math.cbrt(0.3 * window / 0.4))
        return PROBES[self.controller]

    @property
    def seconds(self) -> tuple[float, float]:
        """Warm-up and measured time, in seconds."""
        settling, measured = (1, 2) if self.controller in PROBES else (SETTLING, MEASURED)
        warmup = max(settling * self.swing, SETTLING_TRIPS * self.rtt, SETTLING_S)
        least = max(MEASURED_TRIPS * self.rtt, LEAST_PACKETS * PACKET_BITS / self.rate, MEASURED_S)
        return warmup, max(measured * self.swing, least)

    @property
    def packets(self) -> float:
        """The number of packets of one run."""
        return sum(self.seconds) * self.rate / PACKET_BITS

    def scenario(self, seed: int = 1) -> Scenario:
        """The cell as a scenario without goals."""
        warmup, measured = self.seconds
        low, high = 0.8 * self.rtt, 1.2 * self.rtt
        background = f"""
[[flows]]
name     = "background"
packet   = "1500B"
workload = {{ poisson = {{ rate = "{self.background * self.rate:.9g}bps" }} }}
"""
        return Scenario.parse(f"""
[link]
rate   = "{self.rate:.9g}bps"
buffer = "1BDP"

[[flows]]
name     = "flows"
count    = {self.flows}
cca      = "{self.controller}"
recovery = "sack"
min_rto  = "200ms"
rtt      = {{ uniform = ["{low:.9g}s", "{high:.9g}s"] }}
packet   = "1500B"
start    = {{ uniform = ["0s", "{warmup / 4:.9g}s"] }}
{background if self.background else ""}
[run]
warmup  = "{warmup:.9g}s"
measure = "{measured:.9g}s"
seed    = {seed}
""")


def cells(*, quick: bool = False) -> Iterator[Cell]:
    """Every cell that is not too dear, the cheapest first; some of them, for a first picture."""
    every = itertools.product(RATES, ROUND_TRIPS, FLOWS, CONTROLLERS, BACKGROUNDS)
    found = (Cell(*each) for each in every)
    retained = [cell for cell in found if cell.flows <= MOST_CROWDED * cell.bdp and cell.packets <= MOST_PACKETS]
    if quick:
        retained = [
            cell for cell in retained if cell.rtt == ROUND_TRIPS[-1] and cell.rate <= RATES[1] and not cell.background
        ]
    yield from sorted(retained, key=lambda cell: (cell.packets, cell))
