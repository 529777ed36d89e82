"""The regime of a link, in the words of the closed forms, from what was measured: transparent, elastic or overload.

After Auge and Roberts (NGI 2006): transparent where no flow fills the link, elastic where flows fill what the rest
leaves, overload where traffic that does not yield offers more than the link carries. Thresholds are those of the closed
forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.load import FILLED, Load
from forebay.text.formatting import counted

__all__ = ["Regime", "percent", "regime_of"]

#: Share of the time that a link must limit its flows for, to be elastic without long ones.
SELDOM = 0.1

Name = Literal["transparent", "elastic", "overload", "unknown"]


@dataclass(frozen=True, slots=True)
class Regime:
    """The regime of a link: the relation of its traffic to its rate.

    Attributes
    ----------
    name : {"transparent", "elastic", "overload", "unknown"}
    reason : str
        The deciding fact, in a clause.
    evidence : tuple of str
        The measured evidence, a sentence each.
    """

    name: Name
    reason: str
    evidence: tuple[str, ...]


def percent(share: float) -> str:
    """A share as one writes it."""
    return f"{100 * share:.3g} %"


def regime_of(load: Load, *, limited: IntervalEstimate | Unknown, unyielding: IntervalEstimate | Unknown) -> Regime:
    """Name the regime.

    Parameters
    ----------
    load : Load
        The load that the link carried.
    limited : IntervalEstimate or Unknown
        Long flows that this link limits, at a time on average.
    unyielding : IntervalEstimate or Unknown
        Offered load of the traffic that does not yield to losses, as a share of the link's rate: its load divided by
        the share of its packets that gets through.
    """
    evidence = tuple(_evidence(load, limited, unyielding))
    if isinstance(unyielding, IntervalEstimate) and unyielding.value >= 1:
        doubt = ", with an interval that reaches below 100 %" if _reaches_below(unyielding, 1) else ""
        return Regime("overload", f"unresponsive traffic has a load of {percent(unyielding.value)}{doubt}", evidence)
    if isinstance(limited, IntervalEstimate) and limited.value >= 0.5:
        flows = counted(max(1, round(limited.value)), "long flow")
        take = "fills" if round(limited.value) <= 1 else "fill"
        doubt = ", with an interval that reaches zero" if _reaches_below(limited, 0.5) else ""
        return Regime("elastic", f"{flows} {take} the link{doubt}", evidence)
    if isinstance(load.full_share, Unknown):
        return Regime("unknown", f"unknown, because {load.full_share.because}", evidence)
    full = percent(load.full_share.value)
    if load.full_share.value < SELDOM:
        above = load.full_share.is_bounded and load.full_share.high >= SELDOM
        doubt = ", with an interval that reaches above 10 %" if above else ""
        return Regime("transparent", f"the link itself limits flows {full} of the time{doubt}", evidence)
    doubt = ", with an interval that reaches below 10 %" if _reaches_below(load.full_share, SELDOM) else ""
    return Regime("elastic", f"transfers fill the link while they last, {full} of the time{doubt}", evidence)


def _reaches_below(found: IntervalEstimate, least: float) -> bool:
    """Whether an interval has an end below a threshold; what has no interval does not say so."""
    return found.is_bounded and found.low < least


def _evidence(load: Load, limited: IntervalEstimate | Unknown, unyielding: IntervalEstimate | Unknown) -> list[str]:
    sentences = []
    if isinstance(load.utilization, IntervalEstimate):
        sentences.append(f"The utilization is {_interval(load.utilization)}.")
    if isinstance(load.full_share, IntervalEstimate):
        full = f"full ({percent(FILLED)} of its rate or more)"
        sentences.append(f"In {_interval(load.full_share)} of windows of 100 ms it is {full}.")
    if isinstance(limited, IntervalEstimate):
        between = f" ({limited.low:.3g} to {limited.high:.3g})" if limited.is_bounded else ""
        sentences.append(f"Long flows that this link limits: {limited.value:.3g} at a time{between}.")
    else:
        sentences.append(f"The number of long flows that this link limits is unknown, because {limited.because}.")
    if isinstance(unyielding, IntervalEstimate):
        sentences.append(f"Unresponsive traffic has a load of {_interval(unyielding)}.")
    return sentences


def _interval(share: IntervalEstimate) -> str:
    between = f" ({percent(share.low)} to {percent(share.high)})" if share.is_bounded else ""
    return f"{percent(share.value)}{between}"
