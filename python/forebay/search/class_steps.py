"""The steps of a sizing of all classes: each class is searched, and all buffers are confirmed together.

`class_sizing.py` runs the steps and makes the answer of them; `port_classes.py` says which goals a class decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from forebay.inputs.goals import Goal
from forebay.search.buffer_variable import BufferVariable
from forebay.search.delay_bound import delay_bounds
from forebay.search.goal_test import mean_margin
from forebay.search.joint_buffers import JointBuffers, JointWords, PortBuffers, ScaledBuffers
from forebay.search.plan import Outcome, Plan
from forebay.search.planning import reach
from forebay.search.port_classes import PortClass, PortClasses, needs_larger_buffer
from forebay.search.search_state import SearchState
from forebay.search.sizing_steps import CONFIDENCE_OF_ONE, CONFIRMATIONS, SizingSteps, StepState
from forebay.search.smallest import LEAP

__all__ = ["ClassSteps"]

#: Runs at the configured buffers.
FIRST = 4
#: Range of a second search about the first answer, as a factor, and the largest factor between its first buffers.
AROUND, GAP = 4, 2.0
#: Passes over all classes; a quick look has one.
PASSES = 2


@dataclass(slots=True)
class ClassSteps(SizingSteps):
    """One sizing: the buffers so far, and the state of each class.

    Attributes
    ----------
    classes : PortClasses
        The classes, with the scenario that is simulated.
    sizes : dict
        Packets of each buffer by its key, so far.
    states : dict
        How far the sizing of each class is, by the key of its buffer.
    variable : JointBuffers
        Combinations of buffers.
    """

    classes: PortClasses
    sizes: dict[str, int] = field(init=False)
    states: dict[str, StepState] = field(init=False)
    variable: JointBuffers = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = self.classes.configured
        self.states = {each.key: StepState() for each in self.classes.every}
        self.variable = self._buffers.joint
        self._open(self.variable, self.variable.place_of(self.sizes), JointWords(self.variable.at))

    @property
    def _buffers(self) -> PortBuffers:
        return PortBuffers(self.classes.scenario)

    # Searching -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Size, then confirm."""
        self._start()
        if self.impossible:
            return
        # The needs of the goals on the link depend on the buffers of the other classes.
        order = sorted(self.classes.every, key=lambda each: each == self.classes.filling)
        for number in range(1 if self.precision.quick else PASSES):
            for each in order:
                self._size(each, number)
        for each in order:
            if self.states[each.key].failed:
                self._prove(each)
            if self.impossible:
                return
        self._confirm()

    def _start(self) -> None:
        """Measure the configured buffers; scale all of them if a goal on the link fails there."""
        place = self.variable.place_of(self.sizes)
        self.joint.sample([place], FIRST)
        reports, of_link = self.joint.samples[place], self.classes.of_link
        if all(mean_margin(goal, reports) >= 0 for goal in of_link):
            return
        found = self._scaled(of_link)
        if found is not None:
            self.sizes = found
            return
        for goal in of_link:
            if self.impossible:
                return
            if self._scaled([goal]) is None and self.impossible:
                self.reason = f"No buffers meet `{goal.key}`, even if all are scaled together."

    def _scaled(self, goals: Sequence[Goal]) -> dict[str, int] | None:
        """The smallest buffers, in the configured proportions, that meet goals on the link."""
        configured = self.classes.configured
        variable = self._buffers.scaled(configured)
        largest = max(self.classes.every, key=lambda each: configured[each.key])
        scale = BufferVariable(self.classes.scenario, largest.key).scale
        most, ceiling = reach(scale, at_least=configured[largest.key])
        plan = self._plan(1, most, ceiling, (configured[largest.key],), confidence=self.precision.requested_confidence)
        same = next((each for each in self.measures if isinstance(each.variable, ScaledBuffers)), None)
        _, outcome = self._search(same or self._measurements(variable), goals, plan, "all classes")
        # Goals that contradict each other in these proportions may hold in others; one goal alone may not.
        self.impossible = outcome.impossible and len(goals) == 1
        return None if outcome.buffer is None else variable.sizes(outcome.buffer)

    def _size(self, of: PortClass, number: int) -> None:
        """Search the smallest buffer of one class while the others stay."""
        state, around = self.states[of.key], {key: size for key, size in self.sizes.items() if key != of.key}
        if state.around == around and not state.failed:
            return
        is_repeated = state.around is not None and not state.failed
        state.around, state.failed = around, False
        goals = self.classes.decided_by(of)
        if not goals:
            state.unchanged = True
            return
        variable = self._buffers.of_class(of.key, str(number), around)
        plan = self._plan_of_class(variable, around_answer=is_repeated)
        search, outcome = self._search(self._measurements(variable), goals, plan, of.name)
        state.binding = outcome.binding
        if outcome.buffer is None:
            state.failed = True
            self.sizes[of.key] = self.sizes[of.key] if outcome.compromise is None else outcome.compromise
        elif outcome.buffer == plan.floor and not any(needs_larger_buffer(goal) for goal in self.classes.own(of)):
            state.unchanged, state.binding = True, None
            self.sizes[of.key] = self._retained_buffer(of, search, outcome)
        else:
            state.unchanged = False
            self.sizes[of.key] = outcome.buffer

    def _retained_buffer(self, of: PortClass, search: SearchState, outcome: Outcome) -> int:
        """The present buffer of a class that no goal wants larger, or the largest smaller one that meets its goals."""
        met = [at for at in search.samples if search.plan.test.margin(search.samples[at], search.goals) >= 0]
        return max((at for at in met if at <= self.sizes[of.key]), default=outcome.buffer or 1)

    def _plan_of_class(self, variable: BufferVariable, *, around_answer: bool) -> Plan:
        """Look at the whole range, or about the answer of the first pass."""
        size = self.sizes[variable.key]
        most, ceiling = reach(variable.scale, at_least=max(size, self.classes.configured[variable.key]))
        derived = delay_bounds(variable)
        if around_answer and not self.states[variable.key].unchanged:
            low, high = max(1, size // AROUND), min(ceiling, max(8, AROUND * size))
            return replace(self._plan(low, high, ceiling, (size,)), gap=GAP, met_up_to=derived)
        return replace(self._plan(1, max(most, size), ceiling, (size,)), met_up_to=derived)

    def _plan(
        self, smallest: int, largest: int, ceiling: int, also: tuple[int, ...], confidence: float = CONFIDENCE_OF_ONE
    ) -> Plan:
        return Plan(
            smallest=smallest,
            largest=largest,
            ceiling=ceiling,
            resolution=self.precision.resolution,
            confidence=confidence,
            also=also,
            # Steps reach no further, so that larger buffers have to be excluded.
            furthest=ceiling,
            shows_full=("loss",),
            opposing=tuple(goal for goal in self.classes.scenario.goals if not needs_larger_buffer(goal)),
        )

    def _prove(self, of: PortClass) -> None:
        """Search a class's own goals with every other buffer at one packet: none does where none does there."""
        own = self.classes.own(of)
        if not own:
            return
        alone = dict.fromkeys(self.states[of.key].around or {}, 1)
        variable = self._buffers.of_class(of.key, "alone", alone)
        most, ceiling = reach(variable.scale, at_least=self.sizes[of.key])
        plan = self._plan(1, most, ceiling, (), confidence=self.precision.requested_confidence)
        _, outcome = self._search(self._measurements(variable), own, plan, of.name)
        if outcome.impossible:
            self.impossible = True
            goals = " and ".join(f"`{goal.key}`" for goal in own)
            self.reason = f"No buffer of `{of.name}` meets {goals}, even if every other class holds one packet."

    # Confirming ------------------------------------------------------------------------------------------------

    def _confirm(self) -> None:
        """Put all buffers together to fresh runs; change those of the goals that refuse."""
        tested: set[int] = set()
        while self.joint.attempts < CONFIRMATIONS:
            place = self.variable.place_of(self.sizes)
            if place in tested:
                break
            tested.add(place)
            if self.joint.test(place, self.outcome):
                self.outcome.runs = len(self.outcome.confirmation) + self.joint.nearby_runs(place)
                return
            for goal in self.joint.refused_goals(place, self.outcome.binding):
                self._move(goal)
        self.reason = f"Fresh runs do not confirm `{self.outcome.binding}` with all buffers together."

    def _move(self, goal: Goal) -> None:
        """Enlarge the buffer that decides a goal; of a delay goal reduce it, where no goal needs it as it is."""
        of = self.classes.deciding(goal)
        size, attempt = self.sizes[of.key], self.joint.attempts
        if needs_larger_buffer(goal):
            factor = (1 + self.precision.resolution) ** attempt if attempt <= 2 else LEAP ** (attempt - 2)
            _, ceiling = reach(BufferVariable(self.classes.scenario, of.key).scale, at_least=size)
            self.sizes[of.key] = min(ceiling, max(size + 1, math.ceil(size * factor)))
            self.states[of.key].binding, self.states[of.key].unchanged = goal.key, False
        elif self.states[of.key].unchanged:
            self.sizes[of.key] = max(1, math.floor(size / LEAP))
