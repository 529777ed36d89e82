"""The third stage: a full search with confirmation, where a change matters most.

It searches the scenarios of wrongly sized questions in the order of ports times severity, and then those of undecided
ones. One search serves all questions of a scenario.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.errors import ForebayError, Interrupted
from forebay.fleets.answer import WRONG, Judgment, PortVerdict
from forebay.fleets.measuring import Measuring, OutOfTime
from forebay.fleets.packet_stage import INSIDE, MOST_SEVERE, has_delay_goal, with_change
from forebay.fleets.questions import Question
from forebay.fleets.store import key_of
from forebay.results.warning import Kind
from forebay.search.recommendation import recommend
from forebay.text.formatting import size as size_text

if TYPE_CHECKING:
    from forebay.search.answer import Recommendation

__all__ = ["Describe", "ranked", "search_stage"]

#: Warnings of searches that a time limit ended or led over smaller links.
LIMITED = frozenset({Kind.TIME_OVER, Kind.SCALED})
#: Shortest time limit of a search, in seconds, and the key of the text of an answer.
LEAST_S, TEXT = 1e-3, "text"

#: Makes the text of an answer; equal answers have equal texts.
Describe = Callable[["Recommendation"], str]


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
    describe: Describe | None = None,
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
    describe : callable, optional
        Makes the text of an answer, which is kept with it. An answer that was kept without a text is sought again.

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
        if questions[digest].has_classes:
            continue  # a search varies the buffer of the link alone
        by_link.setdefault(questions[digest].link, []).append(digest)
    chosen = list(by_link.values())[:full]
    found: dict[str, Judgment] = {}
    for digests in chosen:
        if measuring.until is not None and time.monotonic() >= measuring.until:
            break
        answer = _searched(questions[digests[0]], measuring, folder, describe)
        for digest in digests:
            question = questions[digest]
            judgment = _judged(question, judgments[digest], answer)
            if judgment.stage == "search":
                judgment = _at_recommended(question, judgment, answer, measuring)
            found[digest] = replace(judgment, text=answer.get(TEXT, ""))
    return found


def _searched(
    question: Question, measuring: Measuring, folder: Path | None, describe: Describe | None
) -> Mapping[str, Any]:
    """The answer of the search of a question's scenario, from the store or from a search.

    An answer that the time limit changed is not kept, so that a later call searches again.
    """
    key = key_of("search", question.at(question.size))
    kept = measuring.store.get(key)
    if kept is None or (describe is not None and "refusal" not in kept and TEXT not in kept):
        rest = None if measuring.until is None else max(LEAST_S, measuring.until - time.monotonic())
        try:
            found = recommend(
                question.scenario(), within=rest, jobs=measuring.jobs, scheduler=measuring.cluster, resume=folder
            )
        except Interrupted:
            raise
        except ForebayError as error:
            kept = {"refusal": str(error)}
        else:
            lower, upper = found.feasible_from, found.feasible_up_to
            kept = {
                "verdict": found.verdict,
                "bytes": getattr(found.buffer, "bytes", None),
                "low_bytes": None if lower is None else getattr(lower.low, "bytes", None),
                "up_bytes": None if upper is None else getattr(upper.buffer, "bytes", None),
                "end_bytes": None if upper is None else getattr(upper.interpolated_end, "bytes", None),
                "late_bytes": None if upper is None else getattr(upper.missed_at, "bytes", None),
                "confidence": found.confidence,
                "runs": found.cost.replications,
                "binding": found.binding_goal,
            }
            if any(warning.kind in LIMITED for warning in found.warnings):
                return kept
            if describe is not None:
                kept[TEXT] = describe(found)
        measuring.store.add(key, kept)
    return measuring.store.get(key) or {}


def _judged(question: Question, before: Judgment, answer: Mapping[str, Any]) -> Judgment:
    """The verdict on a question after the search of its scenario, without the delay and the loss at other buffers."""
    if answer.get("verdict") == "impossible":
        reason = f"no buffer meets every goal ({answer['binding']})"
        found = Judgment("not answerable", reason, confidence=answer["confidence"], stage="search", runs=answer["runs"])
        return replace(found, delay_s=before.delay_s, loss=before.loss)
    needed = answer.get("bytes")
    if answer.get("verdict") != "met" or not needed:
        return before
    scenario = question.scenario()
    configured, limits_delay = scenario.buffer.bytes, has_delay_goal(scenario.goals)
    low, up = answer["low_bytes"] or needed, answer["up_bytes"] or needed
    # Without a goal on delay, twice the needed buffer is too large, if the packet runs say that it costs delay.
    is_excess = before.verdict == "too large" and configured >= 2 * needed and not limits_delay
    if configured < low:
        verdict: PortVerdict = "too small"
    elif needed <= configured <= up and not is_excess:
        verdict = "fine"
    elif (before.verdict, configured >= needed) in {("too small", False), ("too large", True)}:
        verdict = before.verdict
    elif before.verdict == "too small" and configured > up:
        verdict = "too large"  # it misses a goal that smaller ones meet
    else:
        return before
    is_late = verdict == "too large" and (limits_delay or before.verdict == "too small")
    end = max(up, answer["end_bytes"] or up)
    nearest, ends = (end, (answer["late_bytes"] or end, up)) if is_late else (needed, (needed, low))
    # The middle is far from both ends, so that other traffic of the same kind meets the goals, too.
    recommended = math.sqrt(needed * end) if limits_delay or is_late else INSIDE * needed
    found = replace(
        before,
        verdict=verdict,
        margin=configured / nearest,
        margin_low=configured / ends[0],
        margin_high=configured / ends[1],
        needed_bytes=nearest,
        recommended_bytes=None if verdict == "fine" else recommended,
        confidence=answer["confidence"],
        recommended_delay_s=None,
        recommended_loss=None,
        stage="search",
        runs=answer["runs"],
    )
    if verdict == before.verdict:
        return found
    severity = 1 + min(MOST_SEVERE, needed / configured - 1) if verdict == "too small" else 0.0
    reason = f"the search found that {size_text(needed)} to {size_text(end)} meet every goal"
    return replace(found, reason=reason, severity=severity)


def _at_recommended(
    question: Question, judgment: Judgment, answer: Mapping[str, Any], measuring: Measuring
) -> Judgment:
    """The verdict with the delay and the loss at the configured and at the recommended buffer.

    The middle of the sufficient buffers was not measured by the search. If packet runs miss a goal there, the needed
    buffer of the search takes its place.
    """
    found: list[tuple[str, Judgment]] = []
    for recommended in dict.fromkeys((judgment.recommended_bytes, answer.get("bytes"))):
        if judgment.recommended_bytes is None or recommended is None:
            break
        changed = question.with_bytes(recommended)
        with suppress(OutOfTime):
            measuring.measure((question, changed))
        here, end = measuring.find(question), measuring.find(changed)
        if here is None or end is None or here.refusal is not None or end.refusal is not None:
            break
        found.append((end.verdict, with_change(judgment, here, end)))
        if end.verdict == "met":
            break
    # A buffer that the runs do not decide is better than one that misses a goal; the search has confirmed the last one.
    order = ("met", "undecided", "missed")
    return min(reversed(found), key=lambda each: order.index(each[0]), default=("", judgment))[1]
