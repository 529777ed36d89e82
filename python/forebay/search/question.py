"""A question: one scenario with its goals, its variable, and the values of the published rules.

`recommendation` makes one question of each choice, before anything runs. `searching` answers it with evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forebay.configuration.jitter import Jitter, jittered
from forebay.rules import Rule
from forebay.rules import rules as rules_of
from forebay.search.buffer_variable import BufferVariable
from forebay.search.named_buffer import AS_CONFIGURED
from forebay.search.parameter_rules import ParameterRule, parameter_rules
from forebay.search.planning import configured_packets, reach
from forebay.search.range_variable import RangeVariable, range_variable
from forebay.search.rare_states import Lengthened, lengthened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.scenario import Scenario
    from forebay.search.goals import Goals
    from forebay.search.options import Extras, Sizing

__all__ = ["Question", "named_numbers", "varied"]


@dataclass(frozen=True, slots=True)
class Question:
    """A search before its first run; its construction finds every error of the question.

    Attributes
    ----------
    variable : BufferVariable or RangeVariable
        The variable, with the scenario as it is simulated.
    named_buffers : mapping
        The numbers of the configured buffer and of those that the user wants to see, by their names.
    rules, parameter_rules : sequence
        Published rules for the target link's buffer, and for any other key.
    jitter : Jitter or None
        The random parts that were added to the scenario.
    runs : Lengthened
        The factor by which runs are longer than the scenario states.
    """

    variable: BufferVariable | RangeVariable
    named_buffers: Mapping[str, int]
    rules: Sequence[Rule]
    parameter_rules: Sequence[ParameterRule]
    jitter: Jitter | None
    runs: Lengthened

    @classmethod
    def of(
        cls, scenario: Scenario, engine: str, goals: Goals, sizing: Sizing, extras: Extras, resolution: float
    ) -> Question:
        """Make the question about a scenario.

        Parameters
        ----------
        scenario : Scenario
            The scenario with its own goals and its own buffer.
        engine : str
            The engine that will measure.
        goals : Goals
            The goals to add.
        sizing : Sizing
            The varied key.
        extras : Extras
            Additional measurements, and whether round trips and starts are made random.
        resolution : float
            Resolution of the values of a range.

        Raises
        ------
        InputError
            States what was found and what is allowed.
        """
        scenario = goals.added_to(scenario, engine)
        variable = varied(BufferVariable(scenario), sizing.key, largest=sizing.largest, resolution=resolution)
        named = named_numbers(variable, extras.also)
        scenario, added = jittered(scenario) if extras.jitter else (scenario, None)
        variable = replace(variable, scenario=scenario)
        rules = rules_of(scenario.core) if variable.is_target else ()
        of_parameters = parameter_rules(variable) if isinstance(variable, RangeVariable) else ()
        runs = lengthened(scenario)
        return cls(replace(variable, scenario=runs.scenario), named, rules, of_parameters, added, runs)

    @property
    def scenario(self) -> Scenario:
        """The scenario as it is simulated."""
        return self.variable.scenario

    @property
    def of_rules(self) -> list[int]:
        """The numbers of the search for the buffers, or the values, of the rules."""
        return [*self._sized, *self._placed]

    @property
    def _sized(self) -> list[int]:
        """The buffers of the rules, in packets, at least one."""
        return [max(1, round(rule.packets)) for rule in self.rules if rule.packets is not None]

    @property
    def _placed(self) -> list[int]:
        """The numbers of the search for the values of parameter rules that lie in the range."""
        variable = self.variable
        if not isinstance(variable, RangeVariable):
            return []
        found = (variable.nearest(rule.value / variable.factor) for rule in self.parameter_rules)
        return [round(value.place) for value in found if variable.range.low <= value.number <= variable.range.high]


def varied(target: BufferVariable, over: str, *, largest: bool, resolution: float) -> BufferVariable | RangeVariable:
    """The varied quantity: a key between two ends, or a buffer between one packet and the largest that is tried.

    Parameters
    ----------
    target : BufferVariable
        The target link's buffer.
    over : str
        The key, with two ends unless it is a buffer.
    largest : bool
        Whether the largest value is asked for.
    resolution : float
        How fine values are told.
    """
    if "=" in over:
        return range_variable(target.scenario, over, largest=largest, resolution=resolution)
    found = target.of_key(over)
    if not largest:
        return found
    ceiling = reach(found.scale, at_least=configured_packets(found))[1]
    text = f"{found.key}=1p..{ceiling}p"
    return range_variable(target.scenario, text, largest=True, resolution=resolution)


def named_numbers(variable: BufferVariable | RangeVariable, also: Iterable[str]) -> dict[str, int]:
    """The scenario's own buffer and those that the user wants to see, in packets of at least one."""
    if isinstance(variable, RangeVariable):
        own = variable.configured
        as_configured = {} if own is None else {AS_CONFIGURED: round(own.place)}
    else:
        as_configured = {AS_CONFIGURED: max(1, round(variable.size.packets))}
    return as_configured | {text.strip(): variable.read(text) for text in also}
