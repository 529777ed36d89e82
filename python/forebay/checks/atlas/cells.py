"""The cells of the atlas: which links, and how long each has to be watched.

A cell is a drop-tail link whose persistent flows are alike but for their round trips, which lie within a fifth of the
stated one, and their starts. What is too dear is no cell: where the windows that controllers swing through take so long
that a run would have more than `MOST_PACKETS`, which single flows on long fat links do.
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
#: Of the link, by unresponsive Poisson traffic.
BACKGROUNDS = (0.0, 0.5)
#: Utilizations that a buffer is looked for.
TARGETS = (0.95, 0.99)

#: More flows for each packet of the bandwidth-delay product are left out: all of them wait for timers.
MOST_CROWDED = 20
#: Of one run.
MOST_PACKETS = 12e6

#: Swings of a window that are waited for, and that are measured; round trips and seconds at least of both: timeouts
#: take their time whatever the round trip is.
SETTLING, MEASURED = 4, 8
SETTLING_TRIPS, MEASURED_TRIPS = 30, 100
SETTLING_S, MEASURED_S = 2.0, 4.0
#: Of the bandwidth-delay product: how much of it a full queue adds to windows, and the mean queue to round trips.
FULL, MEAN = 0.5, 0.25
#: Packets that a run measures at least.
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
        In bit/s.
    rtt : float
        In seconds.
    flows : int
        How many persistent ones.
    controller : str
        Of all of them.
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
        """As in "1e+09-0.1-316-cubic-0.5"."""
        return f"{self.rate:g}-{self.rtt:g}-{self.flows}-{self.controller}-{self.background:g}"

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.rate * self.rtt / PACKET_BITS

    @property
    def swing(self) -> float:
        """How long, in seconds, a window takes from one loss to the next, or a controller from one probe to the next.

        New Reno grows by a packet in a round trip from half of its window (RFC 5681); CUBIC is back at its window, of
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
        """Warm-up and measured time."""
        settling, measured = (1, 2) if self.controller in PROBES else (SETTLING, MEASURED)
        warmup = max(settling * self.swing, SETTLING_TRIPS * self.rtt, SETTLING_S)
        least = max(MEASURED_TRIPS * self.rtt, LEAST_PACKETS * PACKET_BITS / self.rate, MEASURED_S)
        return warmup, max(measured * self.swing, least)

    @property
    def packets(self) -> float:
        """Of one run."""
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
    kept = [cell for cell in found if cell.flows <= MOST_CROWDED * cell.bdp and cell.packets <= MOST_PACKETS]
    if quick:
        kept = [cell for cell in kept if cell.rtt == ROUND_TRIPS[-1] and cell.rate <= RATES[1] and not cell.background]
    yield from sorted(kept, key=lambda cell: (cell.packets, cell))
