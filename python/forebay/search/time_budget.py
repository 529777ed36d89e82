"""The time budget of an answer: until it is confident, about a second, or a number of seconds.

`searching` gives it a question; it begins searches and ends them, and returns the evidence.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from forebay.errors import InputError
from forebay.measurement.run_time import run_time
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario
from forebay.search.evidence import Evidence
from forebay.search.goal_test import Verdict
from forebay.search.ladder import RUNS, Guess, Ladder, Rung, ScaledLook, extrapolated, factors, larger_buffer_goals_of
from forebay.search.plan import Outcome
from forebay.search.quick import QuickLook
from forebay.search.resumption import Resumption
from forebay.search.scaling import ScaledLinks
from forebay.search.search_state import SearchState
from forebay.search.shorter_runs import ShorterRuns
from forebay.search.smallest import Search
from forebay.text.formatting import counted, duration

__all__ = ["Beginner", "TimeBudget"]

#: Parts of the time that `within` allows: smaller links are asked if a quick look takes more than the first, and a
#: search on a smaller link ends after the second.
MOST_OF_THE_TIME, MOST_OF_A_RUNG = 0.5, 0.25


class Beginner(Protocol):
    """Begins the searches of one question."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of the question."""

    def begin(self, kind: Callable[..., SearchState], looked: Scenario, until: float | None) -> Evidence:
        """Make a search that has not begun: its kind, the scenario that it simulates, and when it times out."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """The time that an answer may take.

    Attributes
    ----------
    quick : bool
        For a quick look only.
    within : float or None
        Time limit, in seconds; None for as long as it takes.
    """

    quick: bool = False
    within: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be kept."""
        if self.within is not None and self.quick:
            raise InputError("cannot be combined with `quick`; allowed: one of them", "within")
        if self.within is not None and not self.within > 0:
            raise InputError(f"found {self.within:g} s; allowed: above 0 s, as in 30s", "within")

    def refuse_combination(self, **others: object) -> None:
        """Refuse other time options that are given together with a limited budget."""
        for name, requested in others.items():
            if requested is not None and not self.unlimited:
                beside = "quick" if self.quick else "within"
                raise InputError(f"cannot be combined with `{beside}`; allowed: one of them", name)

    def shared(self, searches: int) -> TimeBudget:
        """The share of each of several searches."""
        return self if self.within is None else TimeBudget(within=self.within / searches)

    @property
    def unlimited(self) -> bool:
        """Whether it is waited for as long as it takes."""
        return not self.quick and self.within is None

    def search(self, question: Beginner, resumption: Resumption | None, at_once: int | None = None) -> Evidence:
        """Search for so long.

        Parameters
        ----------
        question : Beginner
            Makes searches of the scenario that is asked about.
        resumption : Resumption or None
            Stored replications of the search, if it can continue an earlier one.
        at_once : int, optional
            Packet-level runs that are made at the same time; None where smaller links say nothing of the answer.
        """
        scenario = question.scenario
        if self.unlimited:
            # Without goals there is nothing to search for.
            return _over(question.begin(Search if scenario.goals else SearchState, scenario, None))
        until = None if self.within is None else time.monotonic() + self.within
        short = ShorterRuns(scenario).quick
        if self.within is not None and at_once is not None:
            run_s = run_time(short).seconds / at_once
            if RUNS * run_s > MOST_OF_THE_TIME * self.within:
                return _climbed(question, resumption, _Climb(self.within, run_s, at_once))
        look = question.begin(QuickLook, short, until)
        found: Evidence | None = None
        search = look
        with suppress(TimeoutError):
            found = _quick(look, question)
            if until is None:
                return found
            search = question.begin(Search, scenario, until)
            return _over(search)
        if resumption is not None:
            resumption.unfinished()
        return _undecided(search, found, question)


def _over(search: Evidence) -> Evidence:
    return dataclasses.replace(search, outcome=search.search.run())


def _quick(look: Evidence, question: Beginner) -> Evidence:
    """Take a quick look and say that it is one."""
    found = _over(look)
    measured, whole = look.scenario.core.duration_s[1], question.scenario.core.duration_s[1]
    less = "" if measured == whole else f" of {duration(measured)} instead of {duration(whole)}"
    replications = counted(found.measure.runs, "run")
    text = f"a quick search with {replications}{less}; run it without --quick to confirm the answer"
    found.outcome.notes.insert(0, Warning(Kind.QUICK, text, values={"measured_s": measured, "whole_s": whole}))
    expected = look.search.plan.prior
    if expected is not None:
        values = {"low_packets": expected.low, "high_packets": expected.high}
        found.outcome.notes.insert(1, Warning(Kind.PRIOR, str(expected), values=values))
    return found


@dataclass(frozen=True, slots=True)
class _Climb:
    """The search time of a long scenario and the time of one run among several at once, both in seconds."""

    within: float
    run_s: float
    at_once: int


def _climbed(question: Beginner, resumption: Resumption | None, climb: _Climb) -> Evidence:
    """Search a scenario whose runs are too long for a quick look: by smaller links, then by runs of the whole one."""
    until, scenario = time.monotonic() + climb.within, question.scenario
    short = ShorterRuns(scenario).quick
    guess = extrapolated([*_rungs(question, short, climb)])
    ladder = partial(Ladder, guess=guess, at_once=climb.at_once)
    search = question.begin(ladder, short, until)
    found = dataclasses.replace(search, outcome=Outcome(confidence=None, between=search.search.undecided()))
    try:
        narrowed = found.search
        assert isinstance(narrowed, Ladder), "it was begun as one"
        narrowed.narrow()
        found.outcome.between = low, high = narrowed.undecided()
        next_guess = Guess(
            low,
            math.sqrt(low * high),
            high,
            low,
            high,
            {} if guess is None else guess.scatters,
            larger_buffer_goals_of(narrowed),
        )
        search = question.begin(partial(Ladder, guess=next_guess, at_once=climb.at_once), scenario, until)
        over = _over(search)
    except TimeoutError:
        if resumption is not None:
            resumption.unfinished()
        over = _undecided(search, found, question)
    if guess is not None:
        over.outcome.notes.append(_scaled_note(guess))
    return over


def _rungs(question: Beginner, scenario: Scenario, climb: _Climb) -> Iterator[Rung]:
    """Searches on smaller links, each within its share of the time."""
    links = ScaledLinks(scenario)
    for factor in factors(links.largest_factor, climb.run_s, climb.within):
        look = question.begin(ScaledLook, links.by(factor), time.monotonic() + MOST_OF_A_RUNG * climb.within)
        assert isinstance(look.search, ScaledLook), "it was begun as one"
        with suppress(TimeoutError):
            look.search.run()
        look.search.look_at(_measured(look))
        rung = look.search.rung(factor)
        if rung is not None:
            yield rung


def _measured(search: Evidence) -> dict[int, list[Report]]:
    """Everything that a search has measured, by buffer."""
    return {at: search.measure.at(at) for at in search.measure.buffers()}


def _scaled_note(guess: Guess) -> Warning:
    """The result of smaller links."""
    links = [f"1/{rung.factor} of the size needs {rung.low:,.0f} to {rung.high:,.0f} packets" for rung in guess.rungs]
    text = (
        f"A smaller link with {', one with '.join(links)}. This suggests {guess.low:,.0f} to {guess.high:,.0f} packets "
        "for the whole link. Only runs of the whole link decide."
    )
    return Warning(Kind.SCALED, text, values={"low_packets": guess.low, "high_packets": guess.high})


def _undecided(search: Evidence, found: Evidence | None, question: Beginner) -> Evidence:
    """The result when the time is over: the buffers between which the answer lies.

    Parameters
    ----------
    search : Evidence
        The search that was interrupted: a quick look or a whole one.
    found : Evidence or None
        The quick look before it, where that ended.
    question : Beginner
        Makes a search of the few packets that any time is enough for, where not a single run ended.
    """
    outcome, runs = Outcome(confidence=None), search.measure.runs
    if found is not None:
        runs += found.measure.runs if found.measure is not search.measure else 0
    if found is not None and found.outcome.impossible:
        # At the confidence of a quick look, which is not what was asked for.
        outcome.between = found.search.plan.floor, found.search.plan.ceiling
    elif found is not None:
        last = found.outcome.buffer
        ends = found.outcome.between if last is None else (found.search.plan.floor, last)
        low = found.outcome.lower_end
        outcome.between = (low[0], last) if low is not None and last is not None else ends
        outcome.binding = found.outcome.binding
    if not search.measure.reports:
        if found is not None and found.measure.reports:
            search = found
        else:
            search = question.begin(SearchState, ShorterRuns(search.scenario).briefest, None)
            search.search.run()
    seen = search.search
    seen.look_at(_measured(search))
    if isinstance(seen, Ladder) and found is not None and found.measure is search.measure:
        # Runs of the whole link count, and not what smaller links say.
        outcome.between = seen.undecided()
    else:
        outcome.between = _common(outcome.between, seen.undecided())
    outcome.between = _with_those_met(outcome.between, seen)
    outcome.compromise = seen.compromise(outcome.between)
    outcome.runs = seen.nearby_runs(outcome.compromise)
    done = counted(runs, "run")
    text = f"The time limit ended the search after {done}. To continue it, repeat the command with a longer time limit."
    outcome.notes.append(Warning(Kind.TIME_OVER, text, values={"replications": runs}))
    return dataclasses.replace(search, search=seen, outcome=outcome)


def _with_those_met(between: tuple[int, int], seen: SearchState) -> tuple[int, int]:
    """An interval that begins at a smaller buffer where the runs there meet every goal as far as they say."""
    met = [at for at in seen.samples if seen.together(at, seen.goals) is Verdict.MET]
    low = min([between[0], *met])
    return low, max(between[1], low)


def _common(one: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    """The intersection of two intervals; the first one if it is empty."""
    if one is None:
        return other
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else one
