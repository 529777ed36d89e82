"""The third stage: a full search with confirmation, where a change matters most.

It searches the scenarios of wrongly sized questions in the order of ports times severity, and then those of undecided
ones. One search serves all questions of a scenario.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forebay.errors import ForebayError, Interrupted
from forebay.fleets.answer import WRONG, Judgment
from forebay.fleets.measuring import DELAY, LOSS, Measuring
from forebay.fleets.questions import Question
from forebay.fleets.store import key_of
from forebay.scenario import Progress
from forebay.search.recommendation import recommend

__all__ = ["ranked", "search_stage"]


def ranked(judgments: Mapping[str, Judgment], counts: Mapping[str, int]) -> list[str]:
    """Wrongly sized questions, those first whose ports and severity have the largest product."""
    wrong = [digest for digest, judgment in judgments.items() if judgment.verdict in WRONG]
    return sorted(wrong, key=lambda digest: (-counts[digest] * judgments[digest].severity, digest))


def search_stage(
    questions: Mapping[str, Question],
    judgments: Mapping[str, Judgment],
    counts: Mapping[str, int],
    measuring: Measuring,
    *,
    full: int,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Judgment]:
    """Search where a change matters most.

    Parameters
    ----------
    questions, judgments, counts : mapping
        Questions, their verdicts so far and their numbers of ports, by digest.
    measuring : Measuring
        Its store keeps the answers, and its cluster or threads make the runs.
    full : int
        Largest number of scenarios to search.
    folder : Path, optional
        Folder of the runs of a search that is interrupted.
    progress : callable, optional
        Called with the numbers of finished and of all searches.

    Returns
    -------
    dict
        The new verdicts by digest.
    """
    undecided = sorted(
        (digest for digest, judgment in judgments.items() if judgment.verdict == "undecided"),
        key=lambda digest: (-counts[digest], digest),
    )
    by_link: dict[str, list[str]] = {}
    for digest in [*ranked(judgments, counts), *undecided]:
        by_link.setdefault(questions[digest].link, []).append(digest)
    chosen = list(by_link.values())[:full]
    found: dict[str, Judgment] = {}
    for number, digests in enumerate(chosen):
        if progress is not None:
            progress(number, len(chosen))
        if measuring.until is not None and time.monotonic() >= measuring.until:
            break
        answer = _searched(questions[digests[0]], measuring, folder)
        for digest in digests:
            found[digest] = _judged(questions[digest], judgments[digest], answer)
    return found


def _searched(question: Question, measuring: Measuring, folder: Path | None) -> Mapping[str, Any]:
    """The answer of the search of a question's scenario, from the store or from a search."""
    key = key_of("search", question.at(question.size))
    kept = measuring.store.get(key)
    if kept is None:
        try:
            found = recommend(question.scenario(), jobs=measuring.jobs, scheduler=measuring.cluster, resume=folder)
        except Interrupted:
            raise
        except ForebayError as error:
            kept = {"refusal": str(error)}
        else:
            point = None if found.buffer is None else found.at(found.buffer)
            metrics = {} if point is None else point.metrics
            lower = found.feasible_from
            kept = {
                "verdict": found.verdict,
                "bytes": getattr(found.buffer, "bytes", None),
                "low_bytes": None if lower is None else getattr(lower.low, "bytes", None),
                "confidence": found.confidence,
                "runs": found.cost.replications,
                "binding": found.binding_goal,
                "delay_s": metrics[DELAY].mean if DELAY in metrics else None,
                "loss": metrics[LOSS].mean if LOSS in metrics else None,
            }
        measuring.store.add(key, kept)
    return measuring.store.get(key) or {}


def _judged(question: Question, before: Judgment, answer: Mapping[str, Any]) -> Judgment:
    """The verdict on a question after the search of its scenario."""
    if answer.get("verdict") == "impossible":
        reason = f"no buffer meets every goal ({answer['binding']})"
        return replace(before, verdict="not answerable", reason=reason, stage="search", runs=answer["runs"])
    needed = answer.get("bytes")
    if answer.get("verdict") != "met" or not needed:
        return before
    configured = question.scenario().buffer.bytes
    low = answer["low_bytes"] or needed
    verdict = before.verdict
    if configured < low:
        verdict = "too small"
    elif configured >= needed and (
        verdict in {"too small", "undecided"} or (configured < 2 * needed and "half" in before.reason)
    ):
        verdict = "fine"
    return replace(
        before,
        verdict=verdict,
        reason=before.reason if verdict == before.verdict else f"the search found {needed:.0f} bytes",
        margin=configured / needed,
        margin_low=configured / needed,
        margin_high=configured / low,
        needed_bytes=needed,
        enough_bytes=needed,
        confidence=answer["confidence"],
        stage="search",
        runs=answer["runs"],
        severity=before.severity if verdict in WRONG else 0.0,
    )
