"""How long an answer is waited for: until it is confident, for about a second, or for so many seconds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.formatting import counted, duration
from forebay.goals import parts_of_key
from forebay.scenario import Scenario
from forebay.search.findings import Finished
from forebay.search.observing import Observing
from forebay.search.plan import Outcome
from forebay.search.quick import QuickLook
from forebay.search.resumption import Resumption
from forebay.search.smallest import Search
from forebay.warning import Kind, Warning

__all__ = ["Patience", "shorter"]

#: Makes a search of a kind that has not begun, of a scenario, which ends with a `TimeoutError` when `time.monotonic`
#: says so.
Begin = Callable[[type[Observing], Scenario, float | None], Finished]

#: Packets of one run of a quick look where that measures for less than the scenario says, and the least part of what it
#: says that is measured. The warm-up stays: what it leaves out is not the link's behavior.
PACKETS = 1e6
LEAST_PART = 0.25
#: Metrics that are about all of the measured time at once, and another number where that is shorter.
WHOLE = frozenset({"jain_index", "synchronization"})


@dataclass(frozen=True, slots=True)
class Patience:
    """For how long an answer is waited.

    Attributes
    ----------
    quick : bool
        For a quick look only.
    within : float or None
        For so many seconds; None for as long as it takes.
    """

    quick: bool = False
    within: float | None = None

    def check(self, **others: object) -> None:
        """Refuse what cannot be kept, and other options that ask for more patience, where they are asked for."""
        if self.within is not None and self.quick:
            raise InputError("found it beside `quick`; allowed: one of them", "within")
        if self.within is not None and not self.within > 0:
            raise InputError(f"found {self.within:g} s; allowed: above 0 s, as in 30s", "within")
        for name, asked in others.items():
            if asked is not None and not self.patient:
                beside = "quick" if self.quick else "within"
                raise InputError(f"found it beside `{beside}`; allowed: one of them", name)

    def shared(self, searches: int) -> Patience:
        """What each of so many searches has of it."""
        return self if self.within is None else Patience(within=self.within / searches)

    @property
    def patient(self) -> bool:
        """Whether it is waited for as long as it takes."""
        return not self.quick and self.within is None

    def wait(self, begin: Begin, scenario: Scenario, resumption: Resumption | None) -> Finished:
        """Search for so long.

        Parameters
        ----------
        begin : Begin
            Makes searches.
        scenario : Scenario
            What is asked about.
        resumption : Resumption or None
            Told where there is more to do.

        Raises
        ------
        InputError
            Where the time is over before anything is known.
        """
        if self.patient:
            # Without goals there is nothing to search for.
            return _over(begin(Search if scenario.goals else Observing, scenario, None))
        until = None if self.within is None else time.monotonic() + self.within
        look = begin(QuickLook, shorter(scenario), until)
        try:
            found = _quick(look, scenario)
            if until is None:
                return found
            search = begin(Search, scenario, until)
        except TimeoutError:
            search, found = look, None
        else:
            with suppress(TimeoutError):
                return _over(search)
        if resumption is not None:
            resumption.unfinished()
        best = _best(search, found)
        if best is None:
            text = f"found {duration(self.within or 0.0)}, which is over before anything is known; allowed: longer"
            raise InputError(text, "within")
        return best


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


def _best(search: Finished, found: Finished | None) -> Finished | None:
    """What an interrupted search knows, unless the quick look knows more; None where neither knows anything."""
    seen = QuickLook(search.measure, search.scenario.goals, search.search.plan)
    outcome = seen.seen({buffer: search.measure.at(buffer) for buffer in search.measure.buffers()})
    if found is not None and (outcome is None or _width(outcome) >= _width(found.outcome)):
        search, outcome = found, found.outcome
        outcome.notes = [note for note in outcome.notes if note.kind is not Kind.QUICK]
    if outcome is None:
        return None
    replications = search.measure.runs
    done = counted(replications, "run")
    text = f"the time was over after {done}: repeat with more, or without --within, to confirm"
    outcome.notes.insert(0, Warning(Kind.TIME_OVER, text, values={"replications": replications}))
    return dataclasses.replace(search, outcome=outcome)


def _width(outcome: Outcome) -> float:
    """By which factor the ends of what the smallest buffer may be differ."""
    if outcome.buffer is None:
        return float("inf")
    return 1.0 if outcome.lower_end is None else outcome.lower_end[1] / outcome.lower_end[0]


def shorter(scenario: Scenario) -> Scenario:
    """The scenario with as much less of measured time as a quick look can do without."""
    warmup, measured = scenario.core.duration_s
    size = scenario.buffer
    rate = size.packets / size.seconds
    if (
        any(parts_of_key(goal.key)[0].rpartition(".")[2] in WHOLE for goal in scenario.goals)
        or _latest(scenario) > warmup
    ):
        return scenario
    enough = max(LEAST_PART * measured, PACKETS / rate - warmup)
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
