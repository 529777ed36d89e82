"""The opening of a recommendation: the sentences with which the terminal, the page, the notebook and the picture begin.

Every view prints the opening unchanged, so that no two views word it differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from forebay.views.answer_sentences import (
    configured,
    decisive,
    metrics_there,
    proof,
    recommended,
    undecided,
    urgent,
    why_none,
)
from forebay.views.changing import rate_changes
from forebay.views.wording import around

if TYPE_CHECKING:
    from forebay.results.warning import Warning
    from forebay.search.answer import Recommendation

__all__ = ["Opening", "opening"]


@dataclass(frozen=True, slots=True)
class Opening:
    """The first lines of a recommendation.

    Attributes
    ----------
    verdict : str
        "met" if a buffer is recommended, "undecided" if the runs decide nothing, else "impossible".
    answer : str
        The answer as one sentence.
    warnings : tuple of Warning
        The warnings that change the decision, the weightiest first.
    paragraphs : tuple of str
        The interval and the confidence, the metrics at the answer, the goal that decides.
        Without an answer, the reasons.
    surprises : tuple of str
        Measured buffers that contradict the answer.
    """

    verdict: Literal["met", "impossible", "undecided"]
    answer: str
    warnings: tuple[Warning, ...]
    paragraphs: tuple[str, ...]
    surprises: tuple[str, ...] = ()


def opening(answer: Recommendation) -> Opening:
    """The opening of an answer.

    Parameters
    ----------
    answer : Recommendation
        With or without a buffer that meets the goals.
    """
    if answer.buffer is None:
        first, *others = why_none(answer)
        verdict: Literal["impossible", "undecided"] = "undecided" if undecided(answer) else "impossible"
        text = filter(None, (" ".join(others), configured(answer)))
        return Opening(verdict, first, tuple(urgent(answer)), tuple(text))
    surprises = () if answer.monotone else around(answer)
    return Opening("met", recommended(answer), tuple(urgent(answer)), tuple(_of_buffer(answer)), surprises)


def _of_buffer(answer: Recommendation) -> Iterator[str]:
    """The paragraphs below a recommended buffer."""
    yield from filter(None, (" ".join(proof(answer)), metrics_there(answer)))
    if answer.goals and answer.optimum is None:
        yield " ".join(decisive(answer))
    yield from filter(None, (configured(answer),))
    yield from rate_changes(answer)
