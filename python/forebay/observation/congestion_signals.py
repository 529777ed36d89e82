"""Congestion signals of a flow: the evidence that a capture gives on its congestion control.

`controllers` names the controller from these signals. Published probes measure the same signals actively, at a server;
here they come from passive observation of a flow:

- the share of the window that remains after a loss (TBIT: Padhye and Floyd, SIGCOMM 2001);
- the growth of the window after the loss (CAAI: Yang et al., IEEE/ACM Transactions on Networking 22, 2014; Gordon:
  Mishra et al., SIGMETRICS 2020);
- whether the window falls without a loss and goes down to four segments (BBR's own probes:
  draft-cardwell-iccrg-bbr-congestion-control-00 sections 4.3.3 and 4.3.4);
- the size of the window for its loss rate. The response function bounds it for a controller that yields to losses
  (Mathis et al., Computer Communication Review 27, 1997; RFC 9438 section 5.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.streams import Reductions, Sender, Stream
from forebay.observation.window_reductions import reduced_shares, regular_visits, round_trips

__all__ = ["CongestionSignals", "Event", "congestion_signals"]

#: Smallest window of which a share can be told, in segments.
_SMALLEST = 3.5
#: Silence that is a timeout's (RFC 6298; the least of Linux is 0.2 s).
_TIMEOUT_S = 0.18
#: A window that grew by this factor in a round trip was in slow start, and more may have been sent than was counted.
_SLOW_START = 1.4
#: Share of the receiver's window that may be what limits.
_RECEIVER = 0.9
#: Fewest round trips over which growth is taken, and losses of which a response is.
_GROWTH_ROUNDS, _FEWEST_LOSSES = 4, 2
#: Loss events of which times are kept.
_KEPT = 256
#: Former windows of a visit that one or two halvings do not bring down to four segments.
_FORMER = 16.0
#: Lengths of such visits: 200 ms and a round trip, and how much of the former window they regain at once.
_VISIT_S, _REGAINED = (0.16, 0.25), 0.45
#: Factors of the response functions of Reno (the square-root law) and of CUBIC, for controllers that yield to losses.
_RENO_RESPONSE, _CUBIC_RESPONSE = math.sqrt(1.5), (0.4 * 3.7 / 1.2) ** 0.25
#: The same of Scalable, which keeps seven eighths and grows by a hundredth of its window, or by a segment if that is
#: more: factors of the square root of the packets from one loss to the next, and of their number.
_SCALABLE_RESPONSE = (math.sqrt(7.5), 0.075)
#: Share of time or pauses from which on falls of a window may be the application's.
_IDLE, _PAUSES = 0.02, 1


@dataclass(frozen=True)
class Event:
    """A reduction of a window, in segments.

    Attributes
    ----------
    before, after : float
        Most outstanding in the full round trip before, and in the first one behind the repair.
    grown_to : float
        Most outstanding before the next reduction; NaN where that came too soon.
    rounds, seconds : float
        How long it grew.
    exact : bool
        Whether the sender's own view was seen, or was put together.
    """

    before: float
    after: float
    grown_to: float
    rounds: float
    seconds: float
    exact: bool

    @property
    def window_ratio(self) -> float:
        """The share of its window that it kept."""
        return self.after / self.before


@dataclass(frozen=True)
class CongestionSignals:
    """Everything that is known of a flow's congestion control.

    Attributes
    ----------
    events : tuple of Event
        In the order of time.
    losses : int
        Loss events, told or not.
    response : float
        Logarithm of its mean window over the largest one that Reno and CUBIC have at its losses; NaN where unknown.
    of_scalable : float
        The same over the window that Scalable has at its losses.
    repairing : float
        Share of time in which it repaired something; NaN where unknown.
    compared, fallen : int
        Round trips without a reduction, and those whose window fell.
    visits : int
        How often it went down to four segments for a fifth of a second and came back at once.
    seconds : float
        How long it was watched for them; 0 where they could not be seen.
    answered : bool
        Whether acknowledgments were captured.
    window : float
        Mean window in segments; NaN where unknown.
    """

    events: tuple[Event, ...]
    losses: int
    response: float
    of_scalable: float
    repairing: float
    compared: int
    fallen: int
    visits: int
    seconds: float
    answered: bool
    window: float

    @property
    def is_informative(self) -> bool:
        """Whether there is anything to go by."""
        return len(self.events) > 0 or math.isfinite(self.response) or self.fallen > 0 or self.visits > 0


def congestion_signals(stream: Stream) -> CongestionSignals:
    """The congestion signals of a stream."""
    rtt = _mean_round_trip(stream)
    sender = stream.sender
    window = stream.packets / stream.seconds * rtt if stream.seconds > 0 else math.nan
    # A sender may respond to marks without setting CWR. Its window then falls without a recorded reduction.
    busy = stream.idle_share < _IDLE and stream.pauses < _PAUSES and not stream.ecn_capable
    response, of_scalable = _responses(stream, rtt, window)
    return CongestionSignals(
        events=tuple(_events(stream)),
        losses=len(stream.losses_s),
        response=response,
        of_scalable=of_scalable,
        repairing=_repairing(stream, sender),
        compared=sender.compared if sender is not None and busy else 0,
        fallen=sender.fallen if sender is not None and busy else 0,
        visits=(_visits(stream, sender, rtt) if sender is not None else regular_visits(stream)) if busy else 0,
        seconds=stream.seconds if busy and stream.downstream_samples > 0 else 0.0,
        answered=stream.downstream_samples > 0,
        window=window,
    )


def _events(stream: Stream) -> list[Event]:
    if stream.sender is None:
        return [
            Event(window, window * ratio, math.nan, 0.0, 0.0, exact=False) for window, ratio in reduced_shares(stream)
        ]
    if not stream.segment_bytes:
        return []
    reductions = stream.sender.reductions
    found = [_event(stream, reductions, index) for index in range(len(reductions))]
    return [event for event in found if event is not None]


def _event(stream: Stream, reductions: Reductions, index: int) -> Event | None:
    segment = float(stream.segment_bytes)
    before, earlier, after = (
        float(column[index]) / segment
        for column in (reductions.before_bytes, reductions.earlier_bytes, reductions.after_bytes)
    )
    if before < _SMALLEST or after <= 0.0 or reductions.silence_s[index] > _TIMEOUT_S:
        return None
    if earlier > 0.0 and before > _SLOW_START * earlier + 1.0:
        return None
    if before * segment >= _RECEIVER * _allowed(stream, float(reductions.times_s[index])):
        return None
    behind = index + 1
    grown, rounds, seconds = math.nan, 0.0, 0.0
    if behind < len(reductions) and reductions.before_bytes[behind] > 0:
        # The first full round behind the repair is `after` itself.
        count = float(reductions.rounds[behind]) - 1.0
        if count >= _GROWTH_ROUNDS:
            grown, rounds = float(reductions.before_bytes[behind]) / segment, count
            seconds = float(reductions.times_s[behind] - reductions.repaired_s[index])
    return Event(before, after, grown, rounds, seconds, exact=True)


def _allowed(stream: Stream, time_s: float) -> float:
    """Least window of the receiver around a time, in bytes; infinite where its scale is not known."""
    windows = stream.windows
    if windows is None or math.isnan(stream.window_limited):
        return math.inf
    at = int((time_s - windows.start_s) / windows.width_s)
    near = windows.receive_window_bytes[max(at - 2, 0) : at + 2]
    near = near[np.isfinite(near)]
    return float(near.min()) if len(near) else math.inf


def _mean_round_trip(stream: Stream) -> float:
    """Mean round trip in seconds, queue included; NaN where nothing was answered."""
    if stream.windows is None:
        return math.nan
    trip = float(np.mean(round_trips(stream.windows)))
    if np.isfinite(stream.windows.upstream_rtt_s).any():
        return trip
    # Without timestamps the handshake alone has seen the way before this place. Where that is the larger part, losses
    # of a round trip are not known to be of one.
    before = stream.handshake_upstream_rtt_s or 0.0
    return trip + before if before <= trip else math.nan


def _responses(stream: Stream, rtt: float, window: float) -> tuple[float, float]:
    """Logarithms of a window over what Reno and CUBIC, and over what Scalable has at its losses."""
    times: NDArray[np.float64] = stream.losses_s
    # A mean window below a segment is that of a round trip of which the larger part was not seen.
    if len(times) < _FEWEST_LOSSES or not rtt > 0 or not window >= 1.0:
        return math.nan, math.nan
    # Where not all events are kept, those that are say how often they come.
    seconds = stream.seconds if len(times) < _KEPT else float(times[-1]) - stream.start_s
    per_loss = stream.packets * seconds / stream.seconds / len(times)
    if not per_loss > 0:
        return math.nan, math.nan
    most = max(_RENO_RESPONSE * math.sqrt(per_loss), _CUBIC_RESPONSE * (rtt * per_loss) ** 0.75)
    root, whole = _SCALABLE_RESPONSE
    return math.log(window / most), math.log(window / max(root * math.sqrt(per_loss), whole * per_loss))


def _repairing(stream: Stream, sender: Sender | None) -> float:
    if sender is None or len(sender.reductions) < _FEWEST_LOSSES:
        return math.nan
    reductions = sender.reductions
    begins, all_kept = reductions.times_s, len(reductions) < _KEPT
    last = stream.end_s if all_kept else float(begins[-1])
    until = np.append(begins[1:], last)
    # One that was never repaired was so until the next one.
    ends = np.where(reductions.repaired_s >= begins, np.minimum(reductions.repaired_s, until), until)
    watched = last - stream.start_s
    return float(np.sum(np.maximum(ends - begins, 0.0))) / watched if watched > 0 else math.nan


def _visits(stream: Stream, sender: Sender, rtt: float) -> int:
    visits, segment = sender.visits, stream.segment_bytes
    if not len(visits) or not rtt > 0:
        return 0
    good = visits.former_bytes >= _FORMER * segment
    good &= (visits.lengths_s >= _VISIT_S[0]) & (visits.lengths_s <= _VISIT_S[1] + 2.0 * rtt)
    good &= visits.regained_bytes >= _REGAINED * visits.former_bytes
    good &= visits.silence_s <= max(_TIMEOUT_S, 1.6 * rtt)
    return int(good.sum())
