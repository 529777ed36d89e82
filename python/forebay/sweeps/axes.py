"""Axes of a sweep: `key=values`, the values a list, a logarithmic or a linear range.

The grammar, one axis per `--over`:

    KEY=A,B,C            a list: texts, numbers or quantities
    KEY=A..B:N           N values from A to B, evenly spread on a logarithmic scale (A and B above zero)
    KEY=A..B:Nlin        N values from A to B, evenly spread
    engine=packet,fluid  the engine itself as an axis

A and B are numbers with the same unit, or with units of one kind if one is omitted: `0.01..2BDP:12`, `10p..1000p:7`.
Packet counts are rounded to whole packets; values that round to the same count are used once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from forebay import _core
from forebay._core import split_quantity
from forebay.algorithms.code_files import check_values
from forebay.errors import InputError
from forebay.inputs.ecn_presets import with_presets
from forebay.text.quantity import split_list

__all__ = ["Axis", "Cell", "cells"]

_RANGE = re.compile(r"^(?P<low>[^:]+?)\.\.(?P<high>[^:]+?):(?P<count>\d+)(?P<scale>lin|log)?$")
#: Values of an axis.
MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class Axis:
    """One key and the values it takes.

    Attributes
    ----------
    key : str
        Dotted key of the scenario, or "engine".
    values : tuple of str
        The values as they are written into the scenario.
    """

    key: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Read `key=values`.

        Raises
        ------
        InputError
            If the text does not follow the grammar.
        """
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals or not key or not values.strip():
            raise InputError(f"found `{text}`; allowed: KEY=A,B,C or KEY=A..B:N or KEY=A..B:Nlin", "over")
        check_values(key, split_list(values), "over")
        match = _RANGE.match(values.strip())
        if match is None:
            if ".." in values:
                raise InputError(f"{key}: found `{values}`; allowed: A..B:N (logarithmic) or A..B:Nlin", "over")
            parts = split_list(values)
            if any(not part for part in parts):
                raise InputError(f"{key}: found an empty value in `{values}`; allowed: A,B,C", "over")
            return cls(key, tuple(dict.fromkeys(parts)))
        return cls(
            key,
            _spread(key, match["low"], match["high"], int(match["count"]), linear=match["scale"] == "lin"),
        )


def _spread(key: str, low: str, high: str, count: int, *, linear: bool) -> tuple[str, ...]:
    ends = [split_quantity(low), split_quantity(high)]
    if ends[0] is None or ends[1] is None or not all(_is_unit(end[1]) for end in ends if end is not None):
        raise InputError(f"{key}: found `{low}..{high}`; allowed: two numbers with a unit, as in 0.01BDP..2BDP", "over")
    (first, unit_low), (last, unit_high) = ends[0], ends[1]
    unit = unit_high or unit_low
    if unit_low and unit_high and unit_low != unit_high:
        raise InputError(f"{key}: found units `{unit_low}` and `{unit_high}`; allowed: one unit for both ends", "over")
    rising = math.isfinite(last - first) and last >= first and (linear or first > 0)
    if not rising or not 1 <= count <= MOST_VALUES:
        above = "" if linear else ", above zero on a logarithmic scale"
        found = f"{count} value{'s' * (count != 1)} from {low} to {high}"
        raise InputError(f"{key}: found {found}; allowed: 1 to {MOST_VALUES} rising values{above}", "over")
    if count == 1 or first == last:
        numbers = [first]
    elif linear:
        numbers = [first + (last - first) * step / (count - 1) for step in range(count)]
    else:
        ratio = math.log(last / first)
        numbers = [first * math.exp(ratio * step / (count - 1)) for step in range(count)]
        numbers[-1] = last
    if unit == "p":
        return tuple(dict.fromkeys(f"{round(number)}p" for number in numbers))
    requested = {first, last}
    texts = [_written(number, 17 if number in requested else 6) for number in numbers]
    if any(float(after) <= float(before) for before, after in itertools.pairwise(texts)):
        texts = [_written(number, 17) for number in numbers]
    return tuple(dict.fromkeys(f"{text}{unit}" for text in texts))


def _written(number: float, digits: int) -> str:
    """A number in 6 to `digits` digits, as few as represent it exactly; whole numbers without an exponent."""
    near = next(text for used in range(6, 18) if float(text := f"{number:.{used}g}") == number or used == digits)
    return str(int(float(near))) if float(near).is_integer() and abs(number) < 2**63 else near


def _is_unit(text: str) -> bool:
    return not text or text == "%" or (text.isascii() and text.isalpha())


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    index : int
        Position in the grid; the last axis varies fastest.
    settings : tuple of (key, value)
        Keys and values, in the order of the axes.
    """

    index: int
    settings: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.settings) or "the scenario"

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings as changes of a scenario, without the engine."""
        return [("over", f"{key}={value}") for key, value in self.settings if key != "engine"]

    def of(self, core: _core.Scenario) -> _core.Scenario:
        """The scenario of this cell, made of the one that every cell starts from."""
        return core.with_overrides(tuple(with_presets(self.overrides))) if self.overrides else core

    def engine(self, default: str) -> str:
        """The engine of this cell."""
        return dict(self.settings).get("engine", default)


def cells(axes: Iterable[Axis]) -> Iterator[Cell]:
    """All points of the grid, in order."""
    listed = list(axes)
    twice = [axis.key for index, axis in enumerate(listed) if axis.key in [other.key for other in listed[:index]]]
    if twice:
        raise InputError(f"found `{twice[0]}` twice; allowed: each key once", "over")
    for axis in listed:
        if len(axis.values) > MOST_VALUES:
            found = f"{axis.key}: found {len(axis.values)} values"
            raise InputError(f"{found}; allowed: at most {MOST_VALUES}", "over")
    size = math.prod(len(axis.values) for axis in listed)
    if size > 10_000_000:
        raise InputError(f"found {size} cells; allowed: at most 10000000", "over")
    for index, values in enumerate(itertools.product(*(axis.values for axis in listed))):
        yield Cell(index, tuple(zip((axis.key for axis in listed), values, strict=True)))
