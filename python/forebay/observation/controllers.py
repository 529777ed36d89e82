"""The family of congestion control of a flow, with a probability that is one.

Reno halves its window at a loss (RFC 5681), CUBIC keeps 0.7 of it (RFC 9438 section 4.6), Scalable 0.875 (Kelly 2003),
and BBR goes on (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.4). `evidence` is what was seen and
`behaviors` how likely each family shows it; here Bayes' rule puts both together. Nothing of this tells variants of one
family apart, BBR's versions included, and where none is likely enough the answer is "unknown", with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import special

from forebay.observation.congestion_signals import CongestionSignals, congestion_signals
from forebay.observation.controller_likelihoods import FACTORS, UNKNOWN, log_likelihoods
from forebay.observation.estimate import NAMED
from forebay.observation.streams import Stream

__all__ = ["FACTORS", "UNKNOWN", "Family", "families", "family", "hidden", "likeliest"]

#: From which probability on a family has a name that hardly any sender runs, and that others look like for a while;
#: and up to which share of senders it is one of these.
_NAMED_RARE, _RARE = 0.8, 0.05
#: Prior probabilities of the families; "unknown" stands for controllers that are not in the list.
_PRIOR: Mapping[str, float] = MappingProxyType(
    {"newreno": 0.27, "cubic": 0.34, "scalable": 0.01, "bbr": 0.3, UNKNOWN: 0.08}
)
#: How many flows the prior is worth beside the others of a link.
_PRIOR_FLOWS = 3.0
#: Weight of another flow relative to one flow of the prior: flows of a group have common errors.
_OTHERS_WORTH = 0.1
#: Steps in which shares and flows are brought in line.
_STEPS = 30
#: Smallest mean window of which reductions tell, in segments.
_SMALL = 3.5


@dataclass(frozen=True)
class Family:
    """The possible controllers of a flow, with their probabilities.

    Attributes
    ----------
    probabilities : mapping
        Probability of each family and of "unknown"; they sum to 1.
    factor : float
        Median share of the window that was kept at a loss; NaN if no loss shows it.
    losses : int
        Number of loss events that the probabilities rest on.
    because : str
        Why the controller is not named; empty if it is named.
    """

    probabilities: Mapping[str, float]
    factor: float
    losses: int
    because: str

    @property
    def name(self) -> str:
        """The likeliest, "unknown" where none is likely enough."""
        best = likeliest(self.probabilities)
        return best if self.probabilities[best] >= NAMED else UNKNOWN


def hidden(found: Family, by: str) -> Family:
    """The family of a flow whose controller does not set its window: unknown, because something else sets it."""
    return Family({**dict.fromkeys(FACTORS, 0.0), UNKNOWN: 1.0}, found.factor, found.losses, f"{by} sets its window")


def likeliest(probabilities: Mapping[str, float]) -> str:
    """The family of the largest probability."""
    return max(probabilities, key=lambda name: probabilities[name])


def family(stream: Stream) -> Family:
    """The family of a stream's controller, whatever others there are."""
    return families([stream])[0]


def families(streams: Sequence[Stream]) -> list[Family]:
    """The family of each of the streams of a link.

    Flows of one link are often of a kind. So how often each family is found among them is learned from all of them
    (a mixture whose shares have Dirichlet's distribution around the prior): a flow that shows little is taken for
    what the others are, as far as they are of one kind.
    """
    seen = [congestion_signals(stream) for stream in streams]
    informative = [index for index, each in enumerate(seen) if each.is_informative]
    likelihoods = [log_likelihoods(seen[index]) for index in informative]
    logs = np.array([[each[name] for name in _PRIOR] for each in likelihoods]).reshape(-1, len(_PRIOR))
    shares = _mixed(logs)
    found: dict[int, Mapping[str, float]] = {
        index: dict(zip(_PRIOR, row.tolist(), strict=True)) for index, row in zip(informative, shares, strict=True)
    }
    return [_family(each, found.get(index)) for index, each in enumerate(seen)]


def _mixed(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of each flow's families, whose shares among the other flows are learned on the way."""
    prior = np.array(list(_PRIOR.values()))
    found: NDArray[np.float64] = special.softmax(logs + np.log(prior), axis=1)
    if len(logs) < 2:
        return found
    for _ in range(_STEPS):
        # The evidence of the other flows must not include that of the flow itself.
        others = _OTHERS_WORTH * (found.sum(axis=0) - found)
        total = _PRIOR_FLOWS + others.sum(axis=1, keepdims=True)
        found = special.softmax(logs + np.log((_PRIOR_FLOWS * prior + others) / total), axis=1)
    return found


def _family(seen: CongestionSignals, probabilities: Mapping[str, float] | None) -> Family:
    ratios = [event.window_ratio for event in seen.events]
    factor = float(np.median(ratios)) if ratios else math.nan
    if probabilities is None:
        probabilities = {**dict.fromkeys(FACTORS, 0.0), UNKNOWN: 1.0}
    best = likeliest(probabilities)
    if best != UNKNOWN and _PRIOR[best] < _RARE and probabilities[best] < _NAMED_RARE:
        # BBR keeps what it delivers in a round trip with losses, which may be seven eighths for a while.
        probabilities = {**probabilities, best: 0.0, UNKNOWN: probabilities[UNKNOWN] + probabilities[best]}
        best = likeliest(probabilities)
    named = best != UNKNOWN and probabilities[best] >= NAMED
    return Family(probabilities, factor, len(ratios), "" if named else _because(seen, probabilities))


def _because(seen: CongestionSignals, probabilities: Mapping[str, float]) -> str:
    if not seen.answered:
        return "only one direction of it was captured"
    if likeliest(probabilities) == UNKNOWN and probabilities[UNKNOWN] >= NAMED and seen.is_informative:
        return "its reaction to losses matches no known congestion control"
    if not seen.losses and not seen.events:
        return "it lost no packet"
    if seen.window < _SMALL:
        return f"its window is of {seen.window:.1f} segments, of which a half and 0.7 look alike"
    if len(seen.events) < 2:
        return "too few of its losses were apart from others, from timeouts and from its receiver's window"
    first, second = sorted(probabilities, key=lambda name: -probabilities[name])[:2]
    return f"its reaction to losses is as likely for {first} as for {second}"
