"""The likelihood of each family of congestion control, given the signals: one density for each piece of evidence.

If a family's rule predicts a signal, its density lies at the prediction. Its width covers rounded windows and a
measurement that is a round trip late. A controller outside the list may show any signal, so its density is lower where
the signals follow a rule of the list. The widths come from the engine's captures of one seed of
`checks.observed_draws` and are tested on another seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import special

from forebay.observation.congestion_signals import CongestionSignals, Event

__all__ = ["FACTORS", "UNKNOWN", "log_likelihoods"]

#: The share of its window that each family keeps at a loss.
FACTORS: Mapping[str, float] = MappingProxyType({"newreno": 0.5, "cubic": 0.7, "scalable": 0.875, "bbr": 1.0})
UNKNOWN = "unknown"

#: Shares of events that are no reduction (a repair of packets that were only late), and that no rule explains.
_NOT_REDUCED, _ANYTHING = 0.04, 0.03
#: Windows are whole segments, and are looked at within a round trip: errors in segments, and as a share.
_ROUNDING, _SHARE = 0.7, 0.03
#: The same where the sender's own view was not seen.
_ROUNDING_APART, _SHARE_APART = 1.0, 0.12
#: Error of a growth in segments and as a share of it.
_GROWN, _GROWN_SHARE = 1.0, 0.15
#: Degrees of freedom: tails are heavier than a normal distribution's.
_FREEDOM = 4.0
#: Events of one flow share what makes them err: together they are worth no more than some.
_COMMON = 0.08
#: Weight of the repairs and of the response: both depend on how often losses come.
_OF_LOSSES = 0.7
#: Share of BBR's flows that lose packets at their beginning and seldom later.
_SELDOM = 0.25
#: Round trips in which Scalable regains what it gave up of a large window: ln(8 / 7) / ln(1.01).
_SCALABLE_ROUNDS = 13.4
#: CUBIC's constants (RFC 9438 section 4): growth and what is left after fast convergence.
_CUBIC, _CONVERGED = 0.4, 0.85


@dataclass(frozen=True)
class _Rule:
    """A family that yields: what it keeps, and the segments by which it grows in the round trip behind a repair."""

    factor: float
    grows: float


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {"newreno": _Rule(0.5, 1.0), "cubic": _Rule(0.7, 0.7), "scalable": _Rule(0.875, 1.2)}
)
#: Shares of other controllers that do what a family of the list does as long as windows are small or round trips short:
#: Illinois and H-TCP are Reno there (Liu, Basar and Srikant 2008; Leith and Shorten 2004), or keep as much as CUBIC.
_ALIKE: Mapping[str, float] = MappingProxyType({"newreno": 0.3, "cubic": 0.25, "scalable": 0.02, "bbr": 0.05})
#: The least share of its window that BBR delivers in a round trip with losses, as a rule.
_DELIVERED = 0.775
#: Factors that others may have.
_OTHERS = np.arange(0.2, 0.975, 0.025)


def log_likelihoods(seen: CongestionSignals) -> dict[str, float]:
    """Logarithm of how likely each family shows this, up to a constant of all; "unknown" is any other controller."""
    found = dict.fromkeys((*FACTORS, UNKNOWN), 0.0)
    for part in (
        _of_events(seen.events),
        _of_response(seen),
        _of_repairs(seen),
        _of_falls(seen),
        _of_visits(seen),
    ):
        for name, value in part.items():
            found[name] += value
    alike = [math.log(share) + found[name] for name, share in _ALIKE.items()]
    apart = math.log1p(-sum(_ALIKE.values())) + found[UNKNOWN]
    found[UNKNOWN] = float(special.logsumexp([*alike, apart]))
    return found


# Reductions ----------------------------------------------------------------------------------------------------------


def _of_events(events: Sequence[Event]) -> dict[str, float]:
    if not events:
        return {}
    before, after, exact = (
        np.array([getattr(event, name) for event in events]) for name in ("before", "after", "exact")
    )
    error = np.hypot(np.where(exact, _ROUNDING, _ROUNDING_APART), np.where(exact, _SHARE, _SHARE_APART) * before)
    worth = 1.0 / (1.0 + _COMMON * (len(events) - 1))
    found = {}
    for name, rule in _RULES.items():
        off = after - rule.factor * before - np.where(exact, rule.grows, 0.0)
        likelihood = _mostly(_t(off, error), before, after, error)
        found[name] = worth * float(np.sum(np.log(likelihood)) + _of_growth(name, events))
    # Any factor, but one: the mean over factors of how likely each is.
    each = np.array([
        worth * float(np.sum(np.log(_mostly(_t(after - factor * before - 1.0, 1.5 * error), before, after, error))))
        for factor in _OTHERS
    ])  # fmt: skip
    any_factor = special.logsumexp(each) - math.log(len(each))
    # The share that BBR delivers may be equal at all losses of a flow, or differ from loss to loss.
    steady = each[_OTHERS >= _DELIVERED]
    one_factor = special.logsumexp(steady) - math.log(len(steady))
    varying = worth * float(np.sum(np.log(_of_bbr(before, after, error))))
    found["bbr"] = float(np.logaddexp(varying, one_factor) - math.log(2)) + worth * _of_growth("bbr", events)
    erratic = worth * float(np.sum(np.log(1.0 / (1.3 * before))))
    found[UNKNOWN] = float(np.logaddexp(any_factor, erratic) - math.log(2)) + worth * _of_growth(UNKNOWN, events)
    return found


def _mostly(
    density: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A density of reductions, mixed with events that are no reduction and events that no rule explains."""
    rest = 1.0 - _NOT_REDUCED - _ANYTHING
    return rest * density + _NOT_REDUCED * _t(after - before, error) + _ANYTHING / (1.5 * before)


def _of_bbr(before: NDArray[np.float64], after: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """BBR goes on as before, or at what it delivers meanwhile, which may be anything."""
    off = np.log(np.maximum(after, 0.1) / before / 0.9)
    near, far = (np.exp(-0.5 * (off / spread) ** 2) / spread for spread in (0.15, 0.4))
    around = (0.75 * near + 0.25 * far) / (math.sqrt(2 * math.pi) * np.maximum(after, 0.1))
    whole: NDArray[np.float64] = 0.35 * _t(after - before, error) + 0.6 * around + 0.05 / (1.5 * before)
    return whole


def _of_growth(name: str, events: Sequence[Event]) -> float:
    """Logarithm of the densities of windows at the end of each growth."""
    total = 0.0
    highest = 0.0
    for event in events:
        if math.isfinite(event.grown_to):
            total += math.log(_grown(name, event, converging=event.before < highest))
        highest = event.before
    return total


def _grown(name: str, event: Event, *, converging: bool) -> float:
    grown, wide = event.grown_to - event.after, max(2.0, 0.4 * event.before)
    anything = float(_t(np.array(grown - 0.3 * event.before), np.array(wide)))
    if name == "newreno":
        # One segment in a round trip; one in two where ACKs are counted, of which every second is left out.
        expected = [event.rounds, event.rounds / 2]
        weights = [0.8, 0.2]
    elif name == "cubic":
        expected, weights = [_cubic_growth(event, converging=converging)], [1.0]
    elif name == "scalable":
        # A hundredth of each ACK, Linux's at least of a hundred segments.
        expected = [event.rounds * max(event.after * 0.01, 0.5), event.rounds]
        weights = [0.7, 0.3]
    else:
        return anything
    density: float = sum(
        weight * float(_t(np.array(grown - each), np.array(math.hypot(_GROWN, _GROWN_SHARE * each))))
        for weight, each in zip(weights, expected, strict=True)
    )
    return 0.85 * density + 0.15 * anything


def _cubic_growth(event: Event, *, converging: bool) -> float:
    """RFC 9438 sections 4.2 and 4.3: the cubic function, or Reno's window where that is larger."""
    most = event.before * (_CONVERGED if converging else 1.0)
    # The last full round ends a round and more before the loss shows.
    since = event.seconds * event.rounds / (event.rounds + 2.0)
    plateau = math.cbrt(max(most - event.after, 0.0) / _CUBIC)
    friendly = event.rounds * 3.0 * (1.0 - 0.7) / (1.0 + 0.7)
    return max(_CUBIC * math.pow(since - plateau, 3) + most - event.after, friendly)


# Without reductions --------------------------------------------------------------------------------------------------


def _of_response(seen: CongestionSignals) -> dict[str, float]:
    if not math.isfinite(seen.response):
        return {}
    wide = np.array(math.hypot(0.15, 0.45 / math.sqrt(seen.losses)))
    yields, scalable = (float(np.log(_t(np.array(each + 0.2), wide))) for each in (seen.response, seen.of_scalable))
    return {
        "newreno": _OF_LOSSES * yields,
        "cubic": _OF_LOSSES * yields,
        "scalable": _OF_LOSSES * scalable,
        "bbr": _OF_LOSSES * _log_normal(seen.response - 0.75, 0.6),
        UNKNOWN: _OF_LOSSES * _log_normal(seen.response, 0.5),
    }


def _of_repairs(seen: CongestionSignals) -> dict[str, float]:
    """Log-likelihoods of the share of repairing round trips.

    A controller that yields repairs for a round trip or two. It then grows for as many round trips as its window has
    segments.
    """
    if not math.isfinite(seen.repairing) or not seen.window > 0:
        return {}
    share = min(max(seen.repairing, 1e-3), 1.0 - 1e-3)

    def yields(grows: float) -> float:
        off = math.log(share / (1.2 / (1.2 + grows)))
        return float(np.log(_t(np.array(off), np.array(0.35 if off > 0 else 0.6))))

    def beta(first: float, second: float) -> float:
        density = special.xlogy(first - 1.0, share) + special.xlog1py(second - 1.0, -share)
        # The density of the logarithm of the share, as above.
        return float(density - special.betaln(first, second) + math.log(share))

    return {
        "newreno": _OF_LOSSES * yields(0.75 * seen.window),
        "cubic": _OF_LOSSES * yields(0.75 * seen.window),
        # An eighth of its window back, by a segment or a hundredth of it in each round trip.
        "scalable": _OF_LOSSES * yields(min(0.133 * seen.window, _SCALABLE_ROUNDS)),
        # A queue that is large enough loses packets of BBR's startup alone.
        "bbr": _OF_LOSSES
        * float(np.logaddexp(math.log1p(-_SELDOM) + beta(1.6, 0.9), math.log(_SELDOM) + beta(0.4, 8))),
        UNKNOWN: _OF_LOSSES * beta(1.0, 2.0),
    }


def _of_falls(seen: CongestionSignals) -> dict[str, float]:
    """Beta-binomial distributions of rounds that fall: flows of a family differ in how often they do."""
    if not seen.compared:
        return {}

    def chance(first: float, second: float) -> float:
        inside = special.betaln(seen.fallen + first, seen.compared - seen.fallen + second)
        return float(inside - special.betaln(first, second))

    yields = chance(0.3, 60.0)
    return {
        "newreno": yields,
        "cubic": yields,
        "scalable": yields,
        "bbr": chance(0.6, 4.0),
        UNKNOWN: chance(0.3, 15.0),
    }


def _of_visits(seen: CongestionSignals) -> dict[str, float]:
    """Whether it went down to four segments: one in 45 s of BBR's are seen in between its repairs."""
    if not seen.seconds:
        return {}
    never = math.exp(-seen.seconds / 45.0)
    if not seen.visits:
        return {"bbr": math.log(never), **dict.fromkeys(("newreno", "cubic", "scalable", UNKNOWN), math.log(0.999))}
    others = min(seen.visits, 2) * math.log(0.002)
    return {"bbr": math.log1p(-never), UNKNOWN: math.log(0.01), **dict.fromkeys(_RULES, others)}


def _t(off: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Student's density."""
    shape = special.gammaln((_FREEDOM + 1) / 2) - special.gammaln(_FREEDOM / 2) - 0.5 * math.log(_FREEDOM * math.pi)
    density: NDArray[np.float64] = np.exp(shape - (_FREEDOM + 1) / 2 * np.log1p((off / scale) ** 2 / _FREEDOM)) / scale
    return density


def _log_normal(off: float, spread: float) -> float:
    """Logarithm of the normal density."""
    return -0.5 * (off / spread) ** 2 - math.log(spread * math.sqrt(2 * math.pi))
