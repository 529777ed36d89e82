"""A key of the scenario that a search varies between two ends: `KEY=LOW..HIGH`.

It holds its scenario as `buffer_variable` does, and `value` has the scale on which the search moves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.scenario import Scenario
from forebay.search.value import Range, Value, unit_words
from forebay.search.words import Words, listed
from forebay.text.quantity import scale_of

__all__ = ["RangeVariable", "RangeWords", "at_key", "range_variable"]

_RANGE = re.compile(r"^(?P<low>[^:]+?)\.\.(?P<high>[^:]+)$")
#: Tables that say what is asked, and how it is simulated, rather than what is there.
ASKED = ("goal", "run", "trace", "fluid", "title")


@dataclass(frozen=True, slots=True)
class RangeVariable:
    """A key that is varied.

    Attributes
    ----------
    scenario : Scenario
        The scenario that has it.
    key : str
        As in `--set`: "link.queue.threshold", "flows.bulk.initial_window", "link.rate".
    ends : str
        As they were asked for: "5p..500p".
    unit : str
        In which values are written.
    base : str
        The base unit: "s", "bps", "bytes", "packets", "BDP", or none.
    factor : float
        Base units in one of `unit`.
    range : Range
        Which number of the search stands for which value.
    """

    scenario: Scenario = field(repr=False, compare=False)
    key: str
    ends: str
    unit: str
    base: str
    factor: float
    range: Range

    @property
    def is_target(self) -> bool:
        """No sizing rule applies to a range."""
        return False

    @property
    def largest(self) -> bool:
        """Whether the answer is the largest value."""
        return self.range.mirrored

    @property
    def requested_name(self) -> str:
        """The name in the request."""
        return f"{self.key}={self.ends}"

    @property
    def unit_words(self) -> str:
        """The unit of `Value.number`, as an axis has it."""
        return unit_words(self.unit)

    @property
    def identity(self) -> str:
        """The identity of its numbers, different from that of others."""
        return f"{self.requested_name}{' largest' if self.largest else ''} {self.range.digits}"

    def apply(self, place: int) -> Scenario:
        """The scenario with the value for which a number stands."""
        core = self.scenario.core.with_overrides([("over", self.key, self.at(place).text)])
        return self.scenario.with_core(core)

    def sized(self, place: int) -> Value:
        """The value for which a number stands, as a buffer has a size."""
        return self.at(place)

    def at(self, place: int) -> Value:
        """The value for which a number stands."""
        return self.value_of(self.range.number(place))

    def snapped(self, place: int) -> int:
        """The number that stands for the same value, one for each value."""
        return self.range.snapped(place)

    def ratio(self, place: int, to: int) -> float | None:
        """The ratio of one value to another; None if the other value is zero."""
        whole = self.range.number(to)
        return self.range.number(place) / whole if whole else None

    def value_of(self, number: float) -> Value:
        """A value, whether or not in the range."""
        place = self.range.place(number) if number > 0 or not self.range.by_decades else math.nan
        return Value(number * self.factor, self.base, f"{_written(number)}{self.unit}", number, place)

    def nearest(self, number: float) -> Value:
        """A value as the key takes it, to three digits, whether or not in the range."""
        return self.value_of(float(round(number) if self.range.integral else f"{number:.3g}"))

    def within(self, text: str) -> Value | None:
        """A value such as "65p", where it is of the same kind as the ends and between them."""
        found = scale_of([text, f"1{self.unit}"])
        if found is None or found.unit != self.base:
            return None
        number = _rounded(found.numbers[0] / self.factor)
        return self.value_of(number) if self.range.low <= number <= self.range.high else None

    def read(self, text: str) -> int:
        """The number of a value that the user wants to see.

        Raises
        ------
        InputError
            Where it is none, or not in the range.
        """
        self.scenario.changed(("also", self.key, text))
        found = self.within(text)
        if found is None:
            raise InputError(f"{self.key}: found `{text}`; allowed: from {self.ends.replace('..', ' to ')}", "also")
        return round(found.place)

    @property
    def configured(self) -> Value | None:
        """The scenario's value there, if it is one value in the range."""
        found = {str(value) for value in at_key(self.scenario.resolved, self.key)}
        return self.within(found.pop()) if len(found) == 1 else None


class RangeWords(Words):
    """The wording of a search for the values of a range.

    Parameters
    ----------
    variable : RangeVariable
        The varied key with its range.
    """

    noun = "value"
    key = "setting"

    def __init__(self, variable: RangeVariable) -> None:
        self.variable = variable

    def in_words(self, *places: int) -> str:
        """One or some values as part of a sentence."""
        values = list(dict.fromkeys(self.variable.at(place) for place in places))
        text = (
            values[0].words
            if len(values) == 1
            else f"{listed(value.number_text for value in values)} {self.variable.unit_words}"
        )
        return f"{self.variable.key} = {text.rstrip()}"

    def counted(self, place: int) -> str:
        """One value."""
        return self.variable.at(place).words

    def between(self, one: int, other: int) -> str:
        """The range between two values, from the lower one, in words."""
        low, high = sorted((self.variable.at(one), self.variable.at(other)), key=lambda setting: setting.number)
        return f"between {low.number_text} and {high.words}"

    def value(self, place: int) -> float:
        """One in the base unit."""
        return self.variable.at(place).value


def range_variable(scenario: Scenario, text: str, *, largest: bool, resolution: float) -> RangeVariable:
    """Read `KEY=LOW..HIGH`.

    Parameters
    ----------
    scenario : Scenario
        Which has the key, and takes both ends.
    text : str
        As it was asked for.
    largest : bool
        Whether the largest value is asked for.
    resolution : float
        How fine values are told.

    Raises
    ------
    InputError
        States what was found and what is allowed.
    """
    key, _, ends = (part.strip() for part in text.partition("="))
    if key.partition(".")[0] in ASKED:
        raise InputError(f"found `{key}`, which is no part of the link or its traffic; allowed: any other key", "over")
    match = _RANGE.match(ends)
    if match is None:
        raise InputError(f"{key}: found `{ends}`; allowed: LOW..HIGH, as in 5p..500p", "over")
    written = [match["low"].strip(), match["high"].strip()]
    split, scale = [_core.split_quantity(end) for end in written], scale_of(written)
    if split[0] is None or split[1] is None or scale is None:
        raise InputError(f"{key}: found `{ends}`; allowed: two quantities of one kind, as in 5ms..50ms", "over")
    low, high = scale.numbers
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low < high):
        raise InputError(f"{key}: found `{ends}`; allowed: a lower end of at least 0, then a higher one", "over")
    for end in written:
        scenario.changed(("over", key, end))
    # Both ends in the unit of the one that has something to be told in.
    number, unit = split[0] if low > 0 else split[1]
    factor = (low if low > 0 else high) / number
    digits = 1 + max(2, math.ceil(-math.log10(resolution)))
    ends_in_unit = (_rounded(low / factor), _rounded(high / factor))
    whole = unit == "p" or _takes_integers(scenario, key, unit, ends_in_unit)
    return RangeVariable(scenario, key, ends, unit, scale.unit, factor, Range(*ends_in_unit, digits, whole, largest))


def _takes_integers(scenario: Scenario, key: str, unit: str, ends: tuple[float, float]) -> bool:
    """Whether a key takes whole numbers and nothing between them."""
    low, high = ends
    if not (low.is_integer() and high.is_integer()):
        return False
    try:
        scenario.changed(("over", key, f"{_written(low + 0.5)}{unit}"))
    except InputError:
        return True
    return False


def at_key(resolved: Mapping[str, Any], key: str) -> Iterator[Any]:
    """The values of a key in a resolved scenario, one for each place that the key names."""
    first, *rest = key.split(".")
    if first == "link":
        yield from _within([link for link in resolved["links"] if link["target"]], ["*", *rest])
    elif first in resolved:
        yield from _within(resolved[first], rest)


def _within(found: Any, parts: list[str]) -> Iterator[Any]:
    if not parts:
        yield found
    elif isinstance(found, Mapping) and parts[0] in found:
        yield from _within(found[parts[0]], parts[1:])
    elif isinstance(found, list):
        for number, each in enumerate(found):
            if parts[0] in {"*", str(number), each.get("name") if isinstance(each, Mapping) else None}:
                yield from _within(each, parts[1:])


def _rounded(number: float) -> float:
    """A number without what changing its unit has added in the last digits."""
    return float(f"{number:.15g}")


def _written(number: float) -> str:
    """A number as a scenario file takes it: without an exponent."""
    return str(int(number)) if number.is_integer() else f"{Decimal(repr(number)):f}"
