"""Properties of a queue that was captured on both sides: its limit, in the queue's own unit, and whether it tail-drops.

A tail-drop queue accepts a packet as long as the backlog and the packet stay within its limit. The largest accepted
backlog is therefore a lower bound of the limit, and the smallest backlog at a loss is an upper bound. If both meet,
the limit is the buffer. A queue that drops below a backlog which it accepts at other times is managed, or shares its
memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.estimate import IntervalEstimate, Unknown

__all__ = ["Backlogs", "Queue", "queue_limit"]

#: Losses of fewer packets tell no limit.
_FEWEST = 5
#: Share of losses that may lie below what was taken: stamps of both sides are not exact.
_TOLERATED = 0.02
#: Share of packets that may be stamped late behind the queue, so that the backlog seems to exceed its limit; and, for
#: losses from one limit, the least share that lies near the median backlog, with the relative width of "near".
_LATE, _MOST, _ALIKE = 0.1, 0.75, 0.05
#: The distance below the largest accepted backlog at which losses of a tail-drop queue may begin, in packets.
_PACKETS_OFF = 1.0


@dataclass(frozen=True)
class Backlogs:
    """Backlogs at arrivals of packets, in bytes and in packets, the arriving packets included.

    Attributes
    ----------
    taken_bytes, taken_packets : float
        The largest backlog at which a packet was accepted.
    lost_bytes, lost_packets : array of float
        Backlogs at the arrival of each lost packet, or of a sample of them.
    through_bytes, through_packets : histogram or None
        Backlogs at the arrivals of accepted packets: amounts in rising order, and the count of each.
    """

    taken_bytes: float
    taken_packets: float
    lost_bytes: NDArray[np.float64]
    lost_packets: NDArray[np.float64]
    through_bytes: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    through_packets: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


@dataclass(frozen=True)
class Queue:
    """The properties of a queue.

    Attributes
    ----------
    limit : IntervalEstimate or Unknown
        Its buffer, in bytes or in packets.
    tail_drop : bool or None
        Whether it drops at its tail; None if there are too few losses to tell.
    is_one_sided : bool
        Whether the other side of it was not captured.
    """

    limit: IntervalEstimate | Unknown
    tail_drop: bool | None
    is_one_sided: bool = False


def queue_limit(backlogs: Backlogs) -> Queue:
    """The limit of a queue that was seen from both sides."""
    if len(backlogs.lost_bytes) < _FEWEST:
        return Queue(
            Unknown(
                "buffer",
                f"the queue lost {len(backlogs.lost_bytes)} packets: it holds more than the "
                f"{backlogs.taken_bytes / 1e3:.0f} kB that waited",
                "capture while the queue overflows, or read it from the router's configuration",
            ),
            None,
        )
    in_packets = _limit(backlogs.taken_packets, backlogs.lost_packets, "packets", _PACKETS_OFF)
    if in_packets is None:
        in_packets = _limit_with_late_stamps(backlogs.through_packets, backlogs.lost_packets, "packets", _PACKETS_OFF)
    own = float(np.median(backlogs.lost_bytes / np.maximum(backlogs.lost_packets, 1.0)))
    in_bytes = _limit(backlogs.taken_bytes, backlogs.lost_bytes, "byte", own)
    if in_bytes is None:
        in_bytes = _limit_with_late_stamps(backlogs.through_bytes, backlogs.lost_bytes, "byte", own)
    both = [found for found in (in_packets, in_bytes) if found is not None]
    if not both:
        return Queue(
            Unknown(
                "buffer",
                f"packets were lost while {np.median(backlogs.lost_bytes) / 1e3:.0f} kB waited, and taken at "
                f"{backlogs.taken_bytes / 1e3:.0f} kB: the queue is managed, or shares its memory",
                "read discipline and limit from the router's configuration",
            ),
            False,
        )
    # The unit whose two ends are closer together, as a share, is the one that it counts in.
    return Queue(min(both, key=lambda found: (found.high - found.low) / found.value).estimate, True)


@dataclass(frozen=True)
class _Enclosed:
    """A limit between what was taken and what was lost."""

    value: float
    low: float
    high: float
    unit: str
    source: str
    losses: int

    @property
    def estimate(self) -> IntervalEstimate:
        return IntervalEstimate(self.value, self.low, self.high, self.unit, self.source, self.losses)


def _limit(taken: float, lost: NDArray[np.float64], unit: str, own: float) -> _Enclosed | None:
    """The limit in one unit; None where it contradicts what was seen."""
    if taken <= 0:
        return None
    # The least loss that is no error of the stamps.
    least = float(np.quantile(lost, _TOLERATED))
    if least < taken - own:
        return None
    high = max(float(np.median(lost)), taken)
    ends = max(min(taken, least - own), 0.0), high
    return _Enclosed(taken, *ends, unit, "what was taken and lost on its two sides", len(lost))


def _limit_with_late_stamps(
    through: tuple[NDArray[np.float64], NDArray[np.float64]] | None, lost: NDArray[np.float64], unit: str, own: float
) -> _Enclosed | None:
    """The limit where a few packets were stamped late: losses are at one backlog, and next to nothing is taken beyond.

    A queue that is managed loses packets at many backlogs, and takes most of them at the same.
    """
    if through is None:
        return None
    amounts, counts = through
    low, middle, high = (float(np.quantile(lost, share)) for share in (0.05, 0.5, 0.95))
    if float(np.mean(np.abs(lost - middle) <= max(_ALIKE * middle, own))) < _MOST:
        return None
    beyond = float(counts[amounts > middle + own].sum())
    if beyond > _LATE * float(counts.sum()):
        return None
    # The arriving packet had no room: with it the backlog would have exceeded the limit.
    value = middle - own
    source = "what waited as packets were lost; a few were stamped late behind the queue"
    return _Enclosed(value, min(low - own, value), max(high, middle), unit, source, len(lost))
