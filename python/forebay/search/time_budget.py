"""The time budget of an answer: until it is confident, about a second, or a number of seconds."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.inputs.goals import parts_of_key
from forebay.measurement.run_time import run_time
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import Scenario
from forebay.search.findings import Finished
from forebay.search.goal_test import Verdict
from forebay.search.ladder import RUNS, Guess, Ladder, Rung, ScaledLook, extrapolated, factors, keys_of_room
from forebay.search.plan import Outcome
from forebay.search.quick import QuickLook
from forebay.search.resumption import Resumption
from forebay.search.scaling import largest_factor, scaled
from forebay.search.search_state import SearchState
from forebay.search.smallest import Search
from forebay.text.formatting import counted, duration

__all__ = ["TimeBudget", "shorter"]

#: Makes a search of a kind that has not begun, of a scenario, which ends with a `TimeoutError` when `time.monotonic`
#: says so.
Begin = Callable[[Callable[..., SearchState], Scenario, float | None], Finished]

#: Packets of one run of a quick look where that measures for less than the scenario says, and the least part of what it
#: says that is measured. The warm-up stays: what it leaves out is not the link's behavior.
PACKETS = 1e6
LEAST_PART = 0.25
#: Packets of the one run that any time is enough for.
BRIEF_PACKETS = 1e5
#: Parts of the time that `within` allows: smaller links are asked if a quick look takes more than the first, and a
#: search on a smaller link ends after the second.
MOST_OF_THE_TIME, MOST_OF_A_RUNG = 0.5, 0.25
#: Metrics that are about all of the measured time at once, and another number where that is shorter.
WHOLE = frozenset({"jain_index", "synchronization"})


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """How much time an answer may take.

    Attributes
    ----------
    quick : bool
        For a quick look only.
    within : float or None
        Time limit, in seconds; None for as long as it takes.
    """

    quick: bool = False
    within: float | None = None

    def check(self, **others: object) -> None:
        """Refuse what cannot be kept, and other options that ask for more time, where they are asked for."""
        if self.within is not None and self.quick:
            raise InputError("found it beside `quick`; allowed: one of them", "within")
        if self.within is not None and not self.within > 0:
            raise InputError(f"found {self.within:g} s; allowed: above 0 s, as in 30s", "within")
        for name, asked in others.items():
            if asked is not None and not self.unlimited:
                beside = "quick" if self.quick else "within"
                raise InputError(f"found it beside `{beside}`; allowed: one of them", name)

    def shared(self, searches: int) -> TimeBudget:
        """The share of each of several searches."""
        return self if self.within is None else TimeBudget(within=self.within / searches)

    @property
    def unlimited(self) -> bool:
        """Whether it is waited for as long as it takes."""
        return not self.quick and self.within is None

    def search(
        self, begin: Begin, scenario: Scenario, resumption: Resumption | None, at_once: int | None = None
    ) -> Finished:
        """Search for so long.

        Parameters
        ----------
        begin : Begin
            Makes searches.
        scenario : Scenario
            What is asked about.
        resumption : Resumption or None
            Told where there is more to do.
        at_once : int, optional
            Packet-level runs that are made at the same time; None where smaller links say nothing of the answer.
        """
        if self.unlimited:
            # Without goals there is nothing to search for.
            return _over(begin(Search if scenario.goals else SearchState, scenario, None))
        until = None if self.within is None else time.monotonic() + self.within
        if self.within is not None and at_once is not None:
            run_s = run_time(shorter(scenario)).seconds / at_once
            if RUNS * run_s > MOST_OF_THE_TIME * self.within:
                return _climbed(begin, scenario, resumption, _Climb(self.within, run_s, at_once))
        look = begin(QuickLook, shorter(scenario), until)
        found: Finished | None = None
        search = look
        with suppress(TimeoutError):
            found = _quick(look, scenario)
            if until is None:
                return found
            search = begin(Search, scenario, until)
            return _over(search)
        if resumption is not None:
            resumption.unfinished()
        return _undecided(search, found, begin)


def _over(search: Finished) -> Finished:
    return dataclasses.replace(search, outcome=search.search.run())


def _quick(look: Finished, scenario: Scenario) -> Finished:
    """Take a quick look and say that it is one."""
    found = _over(look)
    measured, whole = look.scenario.core.duration_s[1], scenario.core.duration_s[1]
    less = "" if measured == whole else f" of {duration(measured)} instead of {duration(whole)}"
    replications = counted(found.measure.runs, "run")
    text = f"a quick look, {replications}{less}: run without --quick to confirm"
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


def _climbed(begin: Begin, scenario: Scenario, resumption: Resumption | None, climb: _Climb) -> Finished:
    """Search a scenario whose runs are too long for a quick look: by smaller links, then by runs of the whole one."""
    until, short = time.monotonic() + climb.within, shorter(scenario)
    guess = extrapolated([*_rungs(begin, short, climb)])
    ladder = partial(Ladder, guess=guess, at_once=climb.at_once)
    search = begin(ladder, short, until)
    found = dataclasses.replace(search, outcome=Outcome(confidence=None, between=search.search.undecided()))
    try:
        narrowed = found.search
        assert isinstance(narrowed, Ladder), "it was begun as one"
        narrowed.narrow()
        found.outcome.between = low, high = narrowed.undecided()
        again = Guess(
            low, math.sqrt(low * high), high, low, high, {} if guess is None else guess.scatters, keys_of_room(narrowed)
        )
        search = begin(partial(Ladder, guess=again, at_once=climb.at_once), scenario, until)
        over = _over(search)
    except TimeoutError:
        if resumption is not None:
            resumption.unfinished()
        over = _undecided(search, found, begin)
    if guess is not None:
        over.outcome.notes.append(_scaled_note(guess))
    return over


def _rungs(begin: Begin, scenario: Scenario, climb: _Climb) -> Iterator[Rung]:
    """Searches on smaller links, each within its share of the time."""
    for factor in factors(largest_factor(scenario), climb.run_s, climb.within):
        look = begin(ScaledLook, scaled(scenario, factor), time.monotonic() + MOST_OF_A_RUNG * climb.within)
        assert isinstance(look.search, ScaledLook), "it was begun as one"
        with suppress(TimeoutError):
            look.search.run()
        look.search.look_at(_measured(look))
        rung = look.search.rung(factor)
        if rung is not None:
            yield rung


def _measured(search: Finished) -> dict[int, list[Report]]:
    """Everything that a search has measured, by buffer."""
    return {at: search.measure.at(at) for at in search.measure.buffers()}


def _scaled_note(guess: Guess) -> Warning:
    """The result of smaller links."""
    links = [f"1/{rung.factor} of the size needs {rung.low:,.0f} to {rung.high:,.0f} packets" for rung in guess.rungs]
    text = (
        f"A link of {', one of '.join(links)}. These suggest {guess.low:,.0f} to {guess.high:,.0f} packets for the "
        f"whole link. Only runs of the whole link decide."
    )
    return Warning(Kind.SCALED, text, values={"low_packets": guess.low, "high_packets": guess.high})


def _undecided(search: Finished, found: Finished | None, begin: Begin) -> Finished:
    """The result when the time is over: the buffers between which the answer lies.

    Parameters
    ----------
    search : Finished
        The search that was interrupted: a quick look or a whole one.
    found : Finished or None
        The quick look before it, where that ended.
    begin : Begin
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
            search = begin(SearchState, briefest(search.scenario), None)
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
    outcome.runs = seen.runs_near(outcome.compromise)
    done = counted(runs, "run")
    text = f"The time was over after {done}. Repeat the command with a longer time: it goes on from there."
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


def briefest(scenario: Scenario) -> Scenario:
    """The scenario with as little time as a few packets take, for figures where nothing else is known."""
    warmup, measured = scenario.core.duration_s
    share = min(1.0, BRIEF_PACKETS / (scenario.packets_per_second * (warmup + measured)))
    return scenario.changed(f"run.warmup={share * warmup:.9g}s", f"run.measure={share * measured:.9g}s")


def shorter(scenario: Scenario) -> Scenario:
    """The scenario with as much less of measured time as a quick look can do without."""
    warmup, measured = scenario.core.duration_s
    if (
        any(parts_of_key(goal.key)[0].rpartition(".")[2] in WHOLE for goal in scenario.goals)
        or _latest(scenario) > warmup
    ):
        return scenario
    enough = max(LEAST_PART * measured, PACKETS / scenario.packets_per_second - warmup)
    return scenario if enough >= measured else scenario.changed(f"run.measure={enough:.9g}s")


def _latest(scenario: Scenario) -> float:
    """The latest time, in seconds, that says when a group begins or ends."""
    groups = scenario.resolved["flows"]
    return max((_last(group.get(key)) for group in groups for key in ("start", "stop")), default=0.0)


def _last(law: Any) -> float:
    """The largest time in a law."""
    if isinstance(law, str):
        return _core.parse_quantity(law, "time")
    parts = law.values() if isinstance(law, Mapping) else law if isinstance(law, Sequence) else ()
    return max(map(_last, parts), default=0.0)
