"""The verdict on the configured buffer, as `check` states it, for an answer of `recommend`.

`searching.py` asks for it when a search is over. The runs are those that `check` would make, so both say the same.
They are made only if they cost no more than the search did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from forebay.engines import in_real_time
from forebay.results import statistics
from forebay.results.report import Report
from forebay.search.check_report import together
from forebay.search.checked_buffers import place_of
from forebay.search.evidence import ConfiguredVerdict, Evidence
from forebay.search.goal_test import Analyses, Verdict
from forebay.search.named_buffer import GoalVerdict
from forebay.search.plan import Plan
from forebay.search.quick import FRESH, QuickLook
from forebay.search.search_state import SearchState
from forebay.search.sequential_test import SERIES, SequentialTest, analyses_for

__all__ = ["configured_verdict"]

#: Verdicts of the search as those of goals.
_WORDS: Mapping[Verdict, GoalVerdict] = {Verdict.MET: "met", Verdict.MISSED: "missed", Verdict.UNCLEAR: "undecided"}


def configured_verdict(evidence: Evidence, place: int, confidence: float) -> ConfiguredVerdict | None:
    """Judge the configured buffer after a search.

    Parameters
    ----------
    evidence : Evidence
        The search that is over.
    place : int
        The configured buffer as the search numbers it.
    confidence : float
        One-sided confidence of the verdict by itself.

    Returns
    -------
    ConfiguredVerdict or None
        None without goals.
    """
    search, outcome, goals = evidence.search, evidence.outcome, evidence.scenario.goals
    if not goals:
        return None
    if not outcome.states_shown:
        # The runs do not show a state that may decide the goals.
        return _of_all(dict.fromkeys((goal.key for goal in goals), "undecided"), 0)
    if place == outcome.buffer:
        return _of_all(dict.fromkeys((goal.key for goal in goals), "met"), outcome.runs)
    if not search.plan.test.averages:
        runs = len(search.samples.get(place, ()))
        verdict = search.together(place, goals) if runs else Verdict.UNCLEAR
        return ConfiguredVerdict(_WORDS[verdict], {}, runs)
    if outcome.impossible and place in search.samples:
        each = {goal.key: _WORDS[search.verdict_on(place, goal, outcome)] for goal in goals}
        if "missed" in each.values():
            runs = len(search.samples[place])
            # A few runs exclude a buffer together with their neighbors; that a goal is met they do not show.
            few = [goal.key for goal in goals if runs < search.plan.least_runs and not search.derived(place, goal)]
            each |= {key: "undecided" for key in few if each[key] == "met"}
            return _of_all(each, runs)
    return _tested(evidence, place, confidence)


def _tested(evidence: Evidence, place: int, confidence: float) -> ConfiguredVerdict:
    """Put the configured buffer to the test of `check`."""
    goals, measure, outcome = evidence.scenario.goals, evidence.measure, evidence.outcome
    number = place_of(place)
    least = statistics.runs_for_confidence(confidence)
    plan = Plan(smallest=number, largest=number, ceiling=number, confidence=confidence, least=least)

    def run(pairs: Iterable[tuple[int, int]]) -> list[Report]:
        return measure([(place, SERIES + each) for _, each in pairs])

    seen = SearchState(run, goals, plan)
    derived = {number: frozenset(goal for goal in goals if evidence.search.derived(place, goal))}
    analyses = _affordable(evidence, least)
    test = SequentialTest(seen, analyses, measure.are_observations, derived, measure.expect)
    if analyses:
        with suppress(TimeoutError):
            test.run([number])
    runs = len(seen.samples.get(number, ()))
    each = {goal.key: test.result(number, goal).verdict for goal in goals}
    each |= {goal.key: "undecided" for goal in evidence.search.plan.missed_later if each[goal.key] == "met"}
    if not runs and place in evidence.search.samples:
        # Without runs of its own the search may still have shown that a goal is missed.
        shown = {goal.key: evidence.search.verdict_on(place, goal, outcome) for goal in goals}
        each |= {key: "missed" for key, found in shown.items() if found is Verdict.MISSED}
    return _of_all(each, runs)


def _affordable(evidence: Evidence, least: int) -> Analyses:
    """The analyses of `check` that cost no more runs than the search.

    After a quick look there is one analysis, with as many runs as the look takes to confirm an answer.
    """
    measure = evidence.measure
    if not measure.replicates:
        return ((1, 1.0),)
    if in_real_time(measure.engine):
        return ()
    each = 1 if measure.strata is None else len(measure.strata.weights)
    planned = ((max(FRESH, least), 1.0),) if isinstance(evidence.search, QuickLook) else analyses_for(least)
    return tuple(analysis for analysis in planned if analysis[0] * each <= measure.runs)


def _of_all(goals: Mapping[str, GoalVerdict], runs: int) -> ConfiguredVerdict:
    """The verdict on several goals together."""
    return ConfiguredVerdict(together(goals.values()), goals, runs)
