"""Keys that `observe` leaves out of a scenario, with their known bounds.

A scenario's reader refuses such a file and names the first missing key. `recommend --assume-lower-bounds` uses the
bounds as values. `recommend` needs no buffer, because it varies the buffer.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forebay import _core

__all__ = ["Bound", "beginnings", "bounds_of", "missing", "taken_for_values"]

#: The argument that a change by a bound names in errors.
ARGUMENT = "assume_lower_bounds"
#: The key of the buffer that `recommend` varies, and its first values with flows that yield and without.
BUFFER = "link.buffer"
BEGINNINGS = ("1BDP", "100p")
#: The ends of a bound; the first one that is known replaces the value.
ENDS = ("at_least", "at_most")


@dataclass(frozen=True, slots=True)
class Bound:
    """A key that a scenario leaves out.

    Attributes
    ----------
    key : str
        Key as a change names it: "link.rate".
    at_least, at_most : str or None
        Bounds on its value, as a scenario writes them; None if unknown.
    find : str
        Way to find the value.
    """

    key: str
    at_least: str | None
    at_most: str | None
    find: str

    @property
    def value(self) -> str | None:
        """The bound that can replace the value: the lower one if there is one."""
        return self.at_least if self.at_least is not None else self.at_most

    @property
    def known(self) -> str:
        """The bounds in words, "at least 9.97Mbps"; empty if there is none."""
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{words} {end}" for words, end in ends if end is not None)

    @property
    def sentence(self) -> str:
        """The meaning of the bound as a value, in words."""
        side, other = ("a lower", "larger") if self.at_least is not None else ("an upper", "smaller")
        return f"{self.key} = {self.value} is {side} bound: the true value may be {other}"


def bounds_of(text: str, kind: str = "toml") -> tuple[Bound, ...]:
    """The bounds of keys that have no value in a scenario's text; none for a text that is no scenario.

    Parameters
    ----------
    text : str
    kind : {"toml", "json"}
    """
    try:
        tables = json.loads(text) if kind == "json" else tomllib.loads(text)
    except (ValueError, RecursionError):
        return ()
    observed = tables.get("observed") if isinstance(tables, dict) else None
    bounds = observed.get("bounds") if isinstance(observed, dict) else None
    if not isinstance(bounds, dict):
        return ()
    return tuple(
        Bound(key, _text(table, "at_least"), _text(table, "at_most"), _text(table, "find") or "")
        for key, table in bounds.items()
        if isinstance(table, dict) and not _is_set(tables, key)
    )


def _text(table: Mapping[str, Any], name: str) -> str | None:
    found = table.get(name)
    return found if isinstance(found, str) else None


def _is_set(tables: Mapping[str, Any], key: str) -> bool:
    """Whether a key has a value."""
    found: Any = tables
    for part in key.split("."):
        if isinstance(found, list):
            found = next((each for each in found if isinstance(each, dict) and each.get("name") == part), None)
        elif isinstance(found, dict):
            found = found.get(part)
        else:
            return False
    return found is not None


def taken_for_values(
    bounds: Sequence[Bound], overrides: Iterable[_core.Change]
) -> tuple[tuple[Bound, ...], tuple[_core.Change, ...]]:
    """The bounds that replace missing values, and the changes that set them."""
    given = {_key(change) for change in overrides}
    taken = tuple(bound for bound in bounds if bound.value is not None and bound.key not in given)
    return taken, tuple((ARGUMENT, bound.key, bound.value or "") for bound in taken)


def missing(bounds: Sequence[Bound], changes: Iterable[_core.Change]) -> tuple[Bound, ...]:
    """The bounds of keys that still have no value with these changes."""
    given = {_key(change) for change in changes}
    return tuple(bound for bound in bounds if bound.key not in given)


def _key(change: _core.Change) -> str:
    return change.partition("=")[0].strip() if isinstance(change, str) else change[1]


def beginnings(bounds: Sequence[Bound], overrides: Iterable[_core.Change]) -> tuple[tuple[_core.Change, ...], ...]:
    """Changes with a first buffer for a search, of which the first that fits counts; no change if none is missing."""
    given = {_key(change) for change in overrides}
    if BUFFER in given or all(bound.key != BUFFER for bound in bounds):
        return ((),)
    return tuple(((BUFFER, BUFFER, size),) for size in BEGINNINGS)
