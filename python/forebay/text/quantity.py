"""Quantities as texts: lists of them, and as numbers in one base unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from forebay._core import parse_quantity, split_quantity
from forebay.errors import InputError

__all__ = ["Scale", "scale_of", "split_list"]

#: Dimensions of a quantity with a unit, and their base units.
_DIMENSIONS: tuple[tuple[Literal["time", "rate", "bytes", "packets", "share"], str], ...] = (
    ("time", "s"),
    ("rate", "bps"),
    ("bytes", "bytes"),
    ("packets", "packets"),
    ("share", ""),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values of an axis as numbers.

    Attributes
    ----------
    numbers : tuple of float
        Numbers in the order of the values.
    unit : str
        "s", "bps", "bytes", "packets", "BDP", or none for numbers and shares.
    """

    numbers: tuple[float, ...]
    unit: str


def scale_of(values: Iterable[object]) -> Scale | None:
    """Values such as "100p" or "2Gbps" as numbers in one base unit; None if they are not quantities of one kind."""
    texts = [str(value) for value in values]
    split = [split_quantity(text) for text in texts]
    if not texts or None in split:
        return None
    found = [each for each in split if each is not None]
    units = {unit for _, unit in found}
    if units in ({""}, {"BDP"}):
        return Scale(tuple(number for number, _ in found), units.pop())
    if "" in units:
        return None
    for dimension, unit in _DIMENSIONS:
        try:
            return Scale(tuple(parse_quantity(text, dimension) for text in texts), unit)
        except InputError:
            continue
    return None


def split_list(values: str) -> list[str]:
    """Split at commas outside of brackets, braces and quotes."""
    parts, depth, quoted, current = [], 0, False, ""
    for character in values:
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "[{(":
            depth += 1
        elif not quoted and character in "]})":
            depth -= 1
        if character == "," and depth == 0 and not quoted:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()]
