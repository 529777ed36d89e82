"""The headroom of a PFC priority group as IEEE 802.1Q and 802.3 define its terms, without constants of a device.

Sources: IEEE 802.1Qbb-2011 (now IEEE 802.1Q, clause 36 and the annex on buffer requirements of PFC) names the terms:
two frames, the pause frame, the cable in both directions, the delays of the interfaces and the response of the peer.
IEEE 802.3 has the sizes: clause 4.2.7 for preamble and gap, annex 31D for the PFC frame, annex 31B.3.7 for the
response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forebay.errors import InputError
from forebay.fabric.headroom_sum import HeadroomSum, SumBuilder, Term, bytes_text
from forebay.fabric.pfc_timing import PAUSE_QUANTA, PAUSE_QUANTUM_BITS, LosslessPort, round_trip
from forebay.text.length import length_text

__all__ = ["MAC_PHY_DELAY", "SOURCE", "Cells", "ieee_headroom"]

SOURCE = "IEEE 802.1Q, clause 36 and the annex on PFC buffers"
#: Bytes of a PFC frame: the smallest Ethernet frame.
PFC_FRAME = 64
#: Bytes of preamble, start delimiter and gap of each frame.
OVERHEAD = 20
#: Bytes of the smallest packet.
SMALL_PACKET = 64
#: Delay of MAC and PHY of the port that sends the pause frame, in bytes. The standard has it by sublayer. 0.8 KiB is
#: the constant of every ASIC that SONiC lists.
MAC_PHY_DELAY = 0.8 * 1024


@dataclass(frozen=True, slots=True)
class Cells:
    """Memory cells: their size in bytes, and the share of small packets in percent. A cell of one byte is none."""

    size: int = 1
    small_packets: float = 0.0

    def extra(self, large: int) -> float:
        """Cell bytes beyond each byte that arrives, if the other packets have `large` bytes.

        A packet of 64 bytes in a larger cell wastes the rest of it. In a smaller cell, the worst packet is one byte
        longer than a cell.
        """
        if self.size == 1:
            return 0.0
        small = self.small_packets * SMALL_PACKET
        share = small / (small + (100 - self.small_packets) * large)
        is_large = self.size > 2 * SMALL_PACKET
        factor = self.size / SMALL_PACKET if is_large else 2 * self.size / (1 + self.size)
        return share * (factor - 1)


NO_CELLS = Cells()


def ieee_headroom(
    port: LosslessPort,
    mac_phy_delay: float = MAC_PHY_DELAY,
    peer_response: float | None = None,
    cells: Cells = NO_CELLS,
) -> HeadroomSum:
    """Add the terms, and round up to whole cells.

    Parameters
    ----------
    port : LosslessPort
        Rate, cable and frames.
    mac_phy_delay : float
        Delay of MAC and PHY, in bytes.
    peer_response : float, optional
        Response of the peer, in bytes, instead of the bound of the standard.
    cells : Cells
        Memory cells of the device. The standard has none.

    Raises
    ------
    InputError
        If the standard has no response time for the rate, and `peer_response` is missing.
    """
    gbps = port.rate_mbps / 1000
    quanta = PAUSE_QUANTA.get(port.rate_mbps)
    if peer_response is not None:
        response = Term("response of the peer", peer_response, "given", "argument")
    elif quanta is None:
        known = ", ".join(f"{rate / 1000:g}Gbps" for rate in sorted(PAUSE_QUANTA))
        raise InputError(
            f"found {gbps:g}Gbps, for which IEEE 802.3 has no response time; allowed: {known}, or a peer response",
            "rate",
        )
    else:
        formula = f"{quanta} quanta × {PAUSE_QUANTUM_BITS} bits / 8"
        amount = quanta * PAUSE_QUANTUM_BITS / 8
        response = Term("response of the peer", amount, formula, "IEEE 802.3, annex 31B.3.7")
    cable = f"2 × {length_text(port.cable_m)} × {gbps:g} Gb/s / (8 × 198,000 km/s)"
    terms = [
        Term("frame that the port is sending", float(port.mtu), f"MTU {bytes_text(port.mtu)}", SOURCE),
        Term("PFC frame", float(PFC_FRAME), f"{PFC_FRAME} B", "IEEE 802.3, annex 31D"),
        Term("preambles and gaps", 3.0 * OVERHEAD, f"3 frames × {OVERHEAD} B", "IEEE 802.3, clause 4.2.7"),
        Term("MAC and PHY", mac_phy_delay, bytes_text(mac_phy_delay), "constant of the ASICs that SONiC lists"),
        Term("cable, both directions", round_trip(port.rate_mbps, port.cable_m), cable, SOURCE),
        response,
        Term(
            "frame that the peer is sending", float(port.lossless_mtu), f"MTU {bytes_text(port.lossless_mtu)}", SOURCE
        ),
    ]
    arriving = sum(term.amount for term in terms)
    extra = cells.extra(port.lossless_mtu)
    if extra:
        formula = f"{extra:.4g} × {bytes_text(arriving)}"
        terms.append(Term("small packets in cells", extra * arriving, formula, "the worst packet for a cell"))
    xoff = math.ceil((arriving + extra * arriving) / cells.size) * cells.size
    builder = SumBuilder()
    builder.add("xoff", terms, xoff, "one byte" if cells.size == 1 else f"a cell of {cells.size} B", SOURCE)
    return builder.result(xoff, 0, xoff)
