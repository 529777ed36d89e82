"""The headroom that Linux' driver mlx5 sets for the lossless buffers of a ConnectX network card.

Source: Linux, drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c, calculate_xoff() and update_xoff_threshold(),
since 4.18; read at commit 06449e9fba1e of torvalds/linux. The driver computes in whole numbers, which rounds down.
"""

from __future__ import annotations

import math

from forebay.fabric.headroom_sum import HeadroomSum, SumBuilder, Term, bytes_text
from forebay.fabric.pfc_timing import LosslessPort

__all__ = ["CELL", "SOURCE", "mlx5_headroom"]

SOURCE = "Linux mlx5, en/port_buffer.c, calculate_xoff() and update_xoff_threshold()"
#: Bytes of a cell of the port buffer, if the card does not report another size.
CELL = 128
#: Smallest rate of the formula, in Mb/s (SPEED_40000).
LEAST_RATE = 40_000
#: Smallest value of the largest MTU of the interface, in bytes (MINIMUM_MAX_MTU).
LEAST_MTU = 9216


def mlx5_headroom(port: LosslessPort, cell: int = CELL) -> HeadroomSum:
    """Compute the headroom, and the smallest buffer for which the driver accepts it.

    The driver places the xoff threshold `xoff` bytes below the end of the buffer, and the xon threshold one largest MTU
    below that. It refuses a buffer that has no cell left below the xon threshold.

    Parameters
    ----------
    port : LosslessPort
        The driver counts a cable in whole meters; a fraction counts as one meter.
    cell : int
        Bytes of a cell.
    """
    rate, cable = max(port.rate_mbps, LEAST_RATE), math.ceil(port.cable_m)
    xoff = (301 + 216 * cable // 100) * rate // 1000 + 272 * port.mtu // 100
    gbps = rate / 1000
    terms = [
        Term("card and pause frame", 301 * gbps, f"301 B per Gb/s × {gbps:g} Gb/s", SOURCE),
        Term(
            "cable, both directions", 2.16 * cable * gbps, f"2.16 B per m and Gb/s × {cable} m × {gbps:g} Gb/s", SOURCE
        ),
        Term("frames", 2.72 * port.mtu, f"2.72 × MTU {bytes_text(port.mtu)}", SOURCE),
    ]
    builder = SumBuilder()
    builder.add("xoff", terms, xoff, "whole numbers of the driver", SOURCE)
    builder.add("xon", [Term("one cell", float(cell), "the least that the driver accepts", SOURCE)], cell, "", SOURCE)
    hysteresis = max(port.mtu, LEAST_MTU)
    size = math.ceil((xoff + hysteresis + cell) / cell) * cell
    gap = Term("between xon and xoff", float(hysteresis), f"largest MTU {bytes_text(hysteresis)}", SOURCE)
    builder.add("size", [gap], size - xoff - cell, f"a cell of {cell} B", SOURCE)
    return builder.result(xoff, cell, size)
