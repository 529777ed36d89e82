"""The steps of a sizing of a lossless port: its values are searched one after another, and confirmed together.

1. Headroom is the closed form, rounded up. If packets are lost with it and all other limits lifted, it is searched.
2. xoff takes memory of each sender: the smallest one that meets every goal. K takes none: the configured one if there
   is such an xoff, otherwise the smallest one that meets every goal, and xoff again. In both, alpha and the pool are so
   large that they limit nothing.
3. alpha: the configured one if nothing is lost with the largest pool of step 4, otherwise the smallest power of two.
4. The pool: the smallest one with which nothing is lost, up to the configured size or, if that is larger, a size of
   which alpha leaves the port what all senders may fill. A pool changes a run only by losses. If the goal allows some,
   steps 3 and 4 judge every goal.
5. Fresh runs confirm all values together. A refusal enlarges the value of the refused goal, and the pool.

The searches are those of `recommend`. `port_sizing.py` makes the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from forebay.inputs.goals import Goal
from forebay.search.goal_test import mean_margin
from forebay.search.plan import Outcome, Plan
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

__all__ = ["LOSS", "PortSteps"]

#: The goal that a lossless port has by itself.
LOSS = "loss_rate"
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
        How far the sizing of each value is.
    variable : JointValues
        Combinations of values.
    """

    values: PortValues
    places: dict[str, int] = field(init=False)
    states: dict[str, StepState] = field(init=False)
    variable: JointValues = field(init=False)

    def __post_init__(self) -> None:
        values = self.values
        self.places = {each.name: each.place(each.configured) for each in values.every}
        self.places["headroom"] = values["headroom"].place(values.need.rounded)
        self.states = {each.name: StepState() for each in values.every}
        self.variable = JointValues.of(values)
        self._open(self.variable, self.variable.place_of(self.places), JointValueWords(self.variable))

    @property
    def _goals(self) -> Sequence[Goal]:
        return self.values.scenario.goals

    # Searching -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Size, then confirm."""
        self._check_headroom()
        for number in range(1 if self.precision.quick else PASSES):
            for name in ("xoff", "K"):
                if name in self.values:
                    self._size(name, self._lifted(), str(number))
        if "alpha" in self.values:
            self._size("alpha", {"pool": self._largest_pool}, "0", self._of_memory)
        self._size("pool", {"pool": self._largest_pool}, "0", self._of_memory)
        failed = [name for name, state in self.states.items() if state.failed]
        if failed:
            self.reason = (
                f"The search found no {' and no '.join(failed)} with which every goal is met. It varies one value at a "
                "time, so this is no proof that none exists."
            )
        self._confirm()

    @property
    def _of_memory(self) -> Sequence[Goal]:
        """The goals that alpha and the pool decide."""
        strict = [goal for goal in self._goals if goal.name == LOSS and goal.threshold == 0]
        return strict or self._goals

    @property
    def _largest_pool(self) -> int:
        """A pool of which alpha leaves the port what all senders may fill, and at least what is configured."""
        pool = self.values["pool"]
        demand = self.values.demand({**self.places, "xoff": self._last("xoff")})
        if demand is None:
            return pool.place(REACH * pool.configured)
        alpha = self.values["alpha"].configured if "alpha" in self.values else math.inf
        return pool.place(max(pool.configured, (1 + max(1.0, 1 / alpha)) * self._counted(demand)))

    def _counted(self, size: float) -> float:
        """Bytes in the unit of the pool."""
        if self.values["pool"].step:
            return size
        return size / max(1, self.values.need.packet_bytes / 2)

    def _last(self, name: str) -> int:
        """The largest place of a value that is searched."""
        value = self.values[name]
        if value.is_alpha:
            return value.place(math.inf)
        least = value.place(value.configured)
        if name == "headroom":
            least = max(least, self.places["headroom"])
        return max(PARTS, REACH * least)

    def _lifted(self) -> dict[str, int]:
        """Alpha and the pool, so large that they limit nothing."""
        found = {"pool": self._largest_pool}
        if "alpha" in self.values:
            found["alpha"] = self._last("alpha")
        return found

    def _check_headroom(self) -> None:
        """Measure the closed form of the headroom with all other limits lifted; search it if packets are lost."""
        lifted = {**self.places, **self._lifted()}
        place = self.variable.place_of(lifted)
        self.joint.sample([place], FIRST)
        loss = [goal for goal in self._goals if goal.name == LOSS]
        if all(mean_margin(goal, self.joint.samples[place]) >= 0 for goal in loss):
            return
        self._size("headroom", self._lifted(), "0", loss)

    def _size(self, name: str, lifted: dict[str, int], step: str, goals: Sequence[Goal] | None = None) -> None:
        """Search the smallest place of one value while the others stay."""
        wanted = self._goals if goals is None else goals
        value, state = self.values[name], self.states[name]
        around = {**self.places, **lifted}
        if name == "pool":
            around.pop("pool")
        others = {key: place for key, place in around.items() if key != name}
        if state.around == others:
            return
        state.around = others
        if self._stays(name, others, wanted):
            state.unchanged, state.failed, state.binding = True, False, None
            return
        last = lifted["pool"] if name == "pool" else self._last(name)
        variable = SteppedVariable(self.values, value, others, step)
        plan = self._plan(value, last)
        search, outcome = self._search(self._measurements(variable), wanted, plan, name)
        state.binding, state.failed = outcome.binding, outcome.buffer is None
        if outcome.buffer is None:
            self.places[name] = self.places[name] if outcome.compromise is None else outcome.compromise
        elif outcome.buffer == plan.floor and name == "xoff":
            state.unchanged, state.binding = True, None
            self.places[name] = self._retained(name, search, outcome)
        else:
            state.unchanged = False
            self.places[name] = outcome.buffer

    def _stays(self, name: str, others: dict[str, int], goals: Sequence[Goal]) -> bool:
        """Whether the configured value of K or alpha needs no search."""
        configured = self.values[name].place(self.values[name].configured)
        if name == "K":
            # xoff was found with it.
            return self.places[name] == configured and not self.states["xoff"].failed
        if name != "alpha":
            return False
        number = self.variable.place_of({**others, name: configured})
        self.joint.sample([number], FIRST)
        return all(mean_margin(goal, self.joint.samples[number]) >= 0 for goal in goals)

    def _retained(self, name: str, search: SearchState, outcome: Outcome) -> int:
        """The configured value of which no goal wants more, or the largest smaller one that meets the goals."""
        configured = self.values[name].place(self.values[name].configured)
        met = [at for at in search.samples if search.plan.test.margin(search.samples[at], search.goals) >= 0]
        return max((at for at in met if at <= configured), default=outcome.buffer or 1)

    def _plan(self, value: PortValue, last: int) -> Plan:
        """Look at both ends and at as many values in between as show a peak."""
        configured = value.place(value.configured)
        first = self.places["headroom"] if value.name == "headroom" else 1
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
        """Enlarge the pool, and the value that a refused goal decides."""
        factor = (1 + self.precision.resolution) ** self.joint.attempts
        decided = [name for name, state in self.states.items() if state.binding == goal.key]
        for name in {*decided, "pool"}:
            value = self.values[name]
            most = value.place(math.inf) if value.is_alpha else math.inf
            grown = self.places[name] + 1 if value.is_alpha else math.ceil(self.places[name] * factor)
            self.places[name] = int(min(most, max(self.places[name] + 1, grown)))
        if goal.name == LOSS and self.joint.attempts > CONFIRMATIONS // 2:
            self.places["headroom"] += max(1, self.places["headroom"] // 8)
