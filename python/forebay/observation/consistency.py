"""Contradictions in a capture: holes, a clock that is too coarse, round trips of 0 s.

No answer is made from such a capture. One line says which file is doubtful, why, and what to capture instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError
from forebay.observation.packet_timing import Gaps
from forebay.text.formatting import duration

if TYPE_CHECKING:
    from forebay._core import Captured, CapturedInterface

__all__ = ["check_clock", "check_holes"]

#: Share of packets that the capture says it lost, and of bytes that were acknowledged and never seen, that make holes.
_LOST, _UNSEEN = 0.01, 0.02
#: Bytes of a stream below which holes are not looked for, and the share of streams that may have fewer.
_ENOUGH, _FEW = 100_000, 0.25
#: The coarsest clock that tells a load by the millisecond, and the share of packets stamped alike above which it is
#: coarser than the packets' distances.
_COARSEST_S, _ALIKE = 0.002, 0.5
#: Round trips of each part that a stream has at least.
_FEWEST = 3


def check_holes(paths: Sequence[Path], captured: Captured) -> None:
    """Refuse captures with holes.

    Raises
    ------
    InputError
        Names the file, and how to capture without losses.
    """
    instead = "a whole capture: capture fewer bytes of each packet into a larger buffer (tcpdump -s 128 -B 65536)"
    lost, frames = captured["notes"]["lost"] or 0, captured["notes"]["frames"] or 0
    if lost > _LOST * (lost + frames):
        share = lost / (lost + frames)
        raise InputError(f"{_file(paths)}: found a capture that lost {share:.1%} of its packets; allowed: {instead}")
    for interface in captured["interfaces"]:
        distinct, unseen, filled = (_bytes(interface, name) for name in ("distinct", "unseen", "filled"))
        large = distinct + unseen > _ENOUGH
        # Packets that a queue drops are retransmitted and fill their gaps. Packets that a capture misses are not, and
        # belong to all streams.
        shares = unseen[large] / (distinct + unseen)[large]
        if not len(shares) or unseen.sum() <= filled.sum():
            continue
        if (share := float(np.quantile(shares, _FEW))) > _UNSEEN:
            raise InputError(
                f"{_file(paths, interface)}: found a capture with holes: receivers acknowledge {share:.1%} or more of "
                f"the bytes without a packet in it; allowed: {instead}"
            )


def check_clock(paths: Sequence[Path], interface: CapturedInterface, gaps: Gaps) -> None:
    """Refuse a capture whose stamps are coarser than what they are to tell.

    Raises
    ------
    InputError
        Names the file, and how to stamp finer.
    """
    name = _file(paths, interface)
    instead = "a capture whose clock is finer (tcpdump --time-stamp-precision=nano, without -J host_lowprec)"
    total = float(gaps.counts.sum())
    alike = float(gaps.counts[gaps.seconds <= 0.0].sum())
    if gaps.resolution_s > _COARSEST_S and total > 0 and alike > _ALIKE * total:
        raise InputError(
            f"{name}: found stamps that advance by {duration(gaps.resolution_s)}, and {alike / total:.0%} of the "
            f"packets stamped like the one before; allowed: {instead}"
        )
    columns = interface["directions"][0]["streams"]["long"]
    measured = (columns["behind_count"] >= _FEWEST) & (columns["before_count"] >= _FEWEST)
    nothing = measured & (columns["least_behind_ns"] == 0) & (columns["least_before_ns"] == 0)
    if nothing.any():
        raise InputError(f"{name}: found round trips of 0 s; allowed: {instead}")


def _file(paths: Sequence[Path], interface: CapturedInterface | None = None) -> str:
    """The file of an interface; of several files the first where it is not known."""
    file = None if interface is None else interface["file"]
    return str(paths[0 if file is None or file >= len(paths) else file])


def _bytes(interface: CapturedInterface, name: str) -> NDArray[np.float64]:
    """A column of bytes of all streams."""
    tables = [direction["streams"][kind] for direction in interface["directions"] for kind in ("long", "sample")]
    return np.concatenate([table[name].astype(float) for table in tables])
