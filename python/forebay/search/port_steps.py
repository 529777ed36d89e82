"""The steps of a sizing of a lossless port: its values are searched one after another, and confirmed together.

1. Headroom is the closed form, rounded up. If packets are lost with it and all other limits lifted, it is searched.
2. xoff takes memory of each sender: the smallest one that meets every goal. K takes none: the configured one if there
   is such an xoff, otherwise the smallest one that meets every goal, and xoff again. In both, alpha and the pool are so
   large that they limit nothing.
3. The buffer of a lossy class: the smallest one that meets the goals of this class.
4. alpha: the configured one if nothing is lost with the largest pool of step 5, otherwise the smallest power of two.
5. The pool: the smallest one with which nothing is lost. It holds at least the buffers of lossy classes and what one
   sender of each lossless class may fill. It goes up to the configured size or, if that is larger, a size of
   which alpha leaves the port what all senders may fill. A pool changes a run only by losses. If the goal allows some,
   steps 4 and 5 judge every goal. They also do so with classes, because these share the pool.
6. Fresh runs confirm all values together. A refusal enlarges the value of the refused goal, and the pool.

`port_goals.py` says which goals a value decides. The searches are those of `recommend`. `port_sizing.py` makes the
answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forebay.inputs.goals import Goal
from forebay.scenario import TARGET
from forebay.search.goal_test import mean_margin
from forebay.search.plan import Outcome, Plan
from forebay.search.port_classes import needs_larger_buffer
from forebay.search.port_goals import PortGoals
from forebay.search.port_values import (
    REACH,
    JointValues,
    JointValueWords,
    PortValue,
    PortValues,
    SteppedVariable,
    SteppedWords,
)
from forebay.search.search_state import SearchState
from forebay.search.sizing_steps import CONFIDENCE_OF_ONE, CONFIRMATIONS, SizingSteps, StepState

__all__ = ["PortSteps"]

#: Runs that show whether a port loses packets before a search begins.
FIRST = 4
#: Passes over xoff and K; a quick look has one.
PASSES = 2
#: Values at which a search looks first, at least.
PARTS = 6


@dataclass(slots=True)
class PortSteps(SizingSteps):
    """One sizing of a lossless port.

    Attributes
    ----------
    values : PortValues
        The values, with the scenario that is simulated.
    places : dict
        The place of each value, so far.
    states : dict
        How far the sizing of each value is, by its label.
    variable : JointValues
        Combinations of values.
    """

    values: PortValues
    places: dict[str, int] = field(init=False)
    states: dict[str, StepState] = field(init=False)
    variable: JointValues = field(init=False)

    def __post_init__(self) -> None:
        values = self.values
        self.places = {each.label: each.place(each.configured) for each in values.every}
        for each in values.named("headroom"):
            self.places[each.label] = each.place(values.needs[each.traffic_class].rounded)
        self.states = {each.label: StepState() for each in values.every}
        self.variable = JointValues.of(values)
        self._open(self.variable, self.variable.place_of(self.places), JointValueWords(self.variable))

    @property
    def _goals(self) -> PortGoals:
        return PortGoals(self.values)

    # Searching -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Size, then confirm."""
        self._check_headroom()
        for number in range(1 if self.precision.quick else PASSES):
            for value in self.values.named("xoff", "K"):
                self._size(value, self._lifted(), str(number))
            for value in self.values.named("buffer"):
                if value not in self._limits:
                    self._size(value, self._lifted(), str(number))
        limits = [*self.values.named("alpha"), *(each for each in self._limits if not each.is_alpha)]
        for number, value in enumerate(limits):
            still = {each.label for each in limits[number + 1 :]} | {"pool"}
            self._size(value, {label: place for label, place in self._lifted().items() if label in still}, "0")
        for pool in self.values.named("pool"):
            lifted = {"pool": self._largest_pool(pool)}
            self._size(pool, lifted, "0", self._met(self._goals.of(pool), lifted))
            self.places[pool.label] = min(self.places[pool.label], self._enough(pool))
        failed = [label for label, state in self.states.items() if state.failed]
        if failed:
            self.reason = (
                f"The search found no {' and no '.join(failed)} with which every goal is met. It varies one value at a "
                f"time, so this is no proof that none exists.{self._of_shared()}"
            )
        self._confirm()

    def _of_shared(self) -> str:
        """A sentence about lossy classes that may fill the memory of lossless ones; empty without one."""
        values = self.values
        every = () if values.classes is None else values.classes.every
        shared = [each.name for each in every if each.key == TARGET and each.name not in values.needs]
        shared = [name for name in shared if f"{name}.alpha" not in values]
        if not shared:
            return ""
        return (
            f" Class `{shared[0]}` has no `buffer` of its own and may fill the memory of lossless classes: give it one."
        )

    @property
    def _limits(self) -> Sequence[PortValue]:
        """The values that may make a lossless queue lose packets: its alpha, its own buffer, and the port's alpha."""
        found = self.values.named("alpha", "buffer")
        return [each for each in found if not each.traffic_class or self.values.is_lossless(each)]

    def _largest_pool(self, pool: PortValue) -> int:
        """A pool of which alpha leaves the port what all senders may fill, and at least what is configured."""
        values = self.values
        lifted = {each.label: self._last(each) for each in values.named("xoff")}
        demand = values.demand({**self.places, **lifted})
        if demand is None:
            return pool.place(REACH * pool.configured)
        lossy = [each for each in values.named("alpha", "buffer") if each not in self._limits]
        alphas = [each.configured for each in self._limits if each.is_alpha]
        # Lossy classes hold their alphas times the free memory.
        free = (1 + sum(each.configured for each in lossy if each.is_alpha)) * max(
            1.0, 1 / min(alphas, default=math.inf)
        )
        beside = sum(values.in_bytes(each, each.number(self._last(each))) for each in lossy if not each.is_alpha)
        size = (1 + free) * demand + beside
        return pool.place(max(pool.configured, size if pool.step else size / values.packet_bytes(pool)))

    def _enough(self, pool: PortValue) -> int:
        """A pool of which classes cannot use more if no alpha limits them; runs with larger ones are the same."""
        values = self.values
        demand = values.demand(self.places)
        if values.classes is None or demand is None or any(values.named("alpha")):
            return max(self.places[pool.label], self._largest_pool(pool))
        lossy = [each for each in values.named("buffer") if each not in self._limits]
        size = demand + sum(values.in_bytes(each, values.limit(each.label, self.places)) for each in lossy)
        return pool.place(size if pool.step else size / values.packet_bytes(pool))

    def _first(self, value: PortValue) -> int:
        """The smallest place of a value that is searched.

        A buffer holds a packet, that of a lossless class what one sender may fill, and the pool all of these.
        """
        values = self.values
        if value.name == "headroom":
            return self.places[value.label]
        if values.classes is None or value.name not in ("buffer", "pool"):
            return 1
        filled = sum(
            values.limit(each.label, self.places)
            for each in values.named("headroom", "xoff")
            if not value.traffic_class or each.traffic_class == value.traffic_class
        )
        if value.name == "pool" and value.key != TARGET:
            lossy = [each for each in values.named("buffer") if each not in self._limits]
            filled += sum(values.in_bytes(each, values.limit(each.label, self.places)) for each in lossy)
        packet = values.packet_bytes(value)
        return value.place(max(packet, filled) / (1 if value.step else packet))

    def _last(self, value: PortValue) -> int:
        """The largest place of a value that is searched."""
        if value.is_alpha:
            return value.place(math.inf)
        least = value.place(value.configured)
        if value.name == "headroom":
            least = max(least, self.places[value.label])
        if value.name == "buffer" and self.values.is_lossless(value):
            demand = self.values.demand(self.places)
            least = max(least, value.place((demand or 0.0) / (1 if value.step else self.values.packet_bytes(value))))
        return max(PARTS, REACH * least)

    def _lifted(self) -> dict[str, int]:
        """The limits of lossless queues and the pool, so large that they limit nothing."""
        return {
            **{each.label: self._last(each) for each in self._limits},
            **{each.label: self._largest_pool(each) for each in self.values.named("pool")},
        }

    def _met(self, goals: Sequence[Goal], lifted: Mapping[str, int]) -> Sequence[Goal]:
        """Those of some goals that are met with the largest pool, because no smaller one meets the others."""
        if self.values.classes is None or not any(state.failed for state in self.states.values()):
            return goals
        place = self.variable.place_of({**self.places, **lifted})
        self.joint.sample([place], FIRST)
        return [goal for goal in goals if mean_margin(goal, self.joint.samples[place]) >= 0]

    def _check_headroom(self) -> None:
        """Measure the closed form of the headroom with all other limits lifted; search it if packets are lost."""
        lifted = {**self.places, **self._lifted()}
        place = self.variable.place_of(lifted)
        self.joint.sample([place], FIRST)
        for value in self.values.named("headroom"):
            loss = self._goals.of_loss(value)
            if any(mean_margin(goal, self.joint.samples[place]) < 0 for goal in loss):
                self._size(value, self._lifted(), "0", loss)

    def _size(self, value: PortValue, lifted: dict[str, int], step: str, goals: Sequence[Goal] | None = None) -> None:
        """Search the smallest place of one value while the others stay."""
        wanted = self._goals.of(value) if goals is None else goals
        label, state = value.label, self.states[value.label]
        others = {key: place for key, place in {**self.places, **lifted}.items() if key != label}
        if state.around == others:
            return
        state.around = others
        if not wanted or self._stays(value, others, wanted):
            state.unchanged, state.failed, state.binding = True, False, None
            return
        last = lifted["pool"] if label == "pool" else self._last(value)
        variable = SteppedVariable(self.values, value, others, step)
        plan = self._plan(value, last)
        search, outcome = self._search(self._measurements(variable), wanted, plan, label)
        state.binding, state.failed = outcome.binding, outcome.buffer is None
        if outcome.buffer is None:
            self.places[label] = self.places[label] if outcome.compromise is None else outcome.compromise
        elif outcome.buffer == plan.floor and self._is_undemanded(value, wanted):
            state.unchanged, state.binding = True, None
            self.places[label] = self._retained(value, search, outcome)
        else:
            state.unchanged = False
            self.places[label] = outcome.buffer

    def _is_undemanded(self, value: PortValue, goals: Sequence[Goal]) -> bool:
        """Whether a value stays as configured if its smallest place meets the goals."""
        if value.name == "buffer" and value not in self._limits:
            return not any(needs_larger_buffer(goal) for goal in goals)
        return value.name == "xoff"

    def _stays(self, value: PortValue, others: dict[str, int], goals: Sequence[Goal]) -> bool:
        """Whether the configured value of K or alpha needs no search."""
        configured = value.place(value.configured)
        if value.name == "K":
            # xoff was found with it.
            xoff = next(each for each in self.values.named("xoff") if each.traffic_class == value.traffic_class)
            return self.places[value.label] == configured and not self.states[xoff.label].failed
        if not value.is_alpha:
            return False
        number = self.variable.place_of({**others, value.label: configured})
        self.joint.sample([number], FIRST)
        return all(mean_margin(goal, self.joint.samples[number]) >= 0 for goal in goals)

    def _retained(self, value: PortValue, search: SearchState, outcome: Outcome) -> int:
        """The configured value of which no goal wants more, or the largest smaller one that meets the goals."""
        configured = value.place(value.configured)
        met = [at for at in search.samples if search.plan.test.margin(search.samples[at], search.goals) >= 0]
        return max((at for at in met if at <= configured), default=outcome.buffer or 1)

    def _plan(self, value: PortValue, last: int) -> Plan:
        """Look at both ends and at as many values in between as show a peak."""
        configured = value.place(value.configured)
        first = self._first(value)
        last = max(last, first)
        return Plan(
            smallest=first,
            largest=last,
            ceiling=last,
            floor=first,
            gap=max(1.2, min(4.0, (last / first) ** (1 / PARTS))),
            resolution=self.precision.resolution,
            confidence=CONFIDENCE_OF_ONE,
            also=(configured,) if first <= configured <= last else (),
            words=SteppedWords(value),
        )

    # Confirming ------------------------------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Put all values together to fresh runs; enlarge those of the goals that refuse."""
        tested: set[int] = set()
        while self.joint.attempts < CONFIRMATIONS:
            number = self.variable.place_of(self.places)
            if number in tested:
                break
            tested.add(number)
            if self.joint.test(number, self.outcome):
                self.outcome.runs = len(self.outcome.confirmation) + self.joint.nearby_runs(number)
                return
            refused = self.joint.refused_goals(number, self.outcome.binding)
            if any(state.failed for state in self.states.values()):
                break
            for goal in refused:
                self._move(goal)
        self.reason = self.reason or f"Fresh runs do not confirm `{self.outcome.binding}` with all values together."

    def _move(self, goal: Goal) -> None:
        """Enlarge the pool, and the value that a refused goal decides; reduce an unchanged buffer that delays."""
        factor = (1 + self.precision.resolution) ** self.joint.attempts
        lossy = self._goals.lossy(goal)
        if not self._goals.larger_helps(goal):
            for value in lossy:
                if self.states[value.label].unchanged:
                    self.places[value.label] = max(1, math.floor(self.places[value.label] / factor))
            return
        decided = [each for each in self.values.every if self.states[each.label].binding == goal.key]
        for value in dict.fromkeys([*decided, *lossy, *self.values.named("pool")]):
            label = value.label
            most = value.place(math.inf) if value.is_alpha else math.inf
            grown = self.places[label] + 1 if value.is_alpha else math.ceil(self.places[label] * factor)
            self.places[label] = int(min(most, max(self.places[label] + 1, grown)))
        for pool in self.values.named("pool"):
            self.places[pool.label] = min(self.places[pool.label], self._enough(pool))
        if self.joint.attempts > CONFIRMATIONS // 2:
            for value in self.values.named("headroom"):
                if goal in self._goals.of_loss(value):
                    self.places[value.label] += max(1, self.places[value.label] // 8)
