"""`explain`: what forebay knows of a model, a controller, a queue discipline, a metric or a key of scenario files."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.plain import plain

__all__ = ["Explanation", "Key", "Parameter", "Quantity", "Symbol", "explain", "names"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter of a formula."""

    symbol: str
    meaning: str
    unit: str


@dataclass(frozen=True, slots=True)
class Key:
    """A parameter of an algorithm, or a key or word within a key of scenario files."""

    name: str
    meaning: str
    allowed: str
    default: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a quantity of a model is a function of; `list` where it takes several numbers."""

    name: str
    unit: str
    meaning: str
    bounds: str
    default: float | None
    list: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a model computes, for `forebay.models.call`."""

    name: str
    unit: str
    parameters: tuple[Parameter, ...]


#: What is said of each kind, in the order of the JSON.
FIELDS: Mapping[str, Sequence[str]] = {
    "model": (
        *("kind", "name", "aliases", "title", "summary", "formula", "symbols", "assumptions", "source", "errata"),
        *("variants", "quantities", "example", "example_value", "worked"),
    ),
    "congestion controller": ("kind", "name", "title", "source", "parameters"),
    "queue discipline": ("kind", "name", "title", "source", "parameters"),
    "metric": ("kind", "name", "title", "source"),
    "scenario key": ("kind", "name", "title", "source", "allowed", "default", "keys"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one name; `str` gives it as text.

    Attributes
    ----------
    kind, name, title, source : str
        Of everything.
    summary, worked : str
        Of models: in a sentence, and an example with its result (`example`, `example_value`).
    formula, assumptions, errata : tuple of str
        Of models: a line each.
    symbols, quantities, aliases, variants
        Of models: the letters of the formula, what can be computed, other names, other forms of the formula.
    parameters : tuple of Key
        Of controllers and queue disciplines.
    allowed, default : str
        Of scenario keys.
    keys : tuple of Key
        Of scenario keys: the keys and words in it.
    """

    kind: str
    name: str
    title: str
    source: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    formula: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    assumptions: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    variants: tuple[Mapping[str, str], ...] = ()
    quantities: tuple[Quantity, ...] = ()
    example: Mapping[str, Any] | None = None
    example_value: float | None = None
    worked: str = ""
    parameters: tuple[Key, ...] = ()
    allowed: str = ""
    default: str = ""
    keys: tuple[Key, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What is said of this kind as plain dictionaries and lists."""
        return {name: plain(getattr(self, name)) for name in FIELDS[self.kind]}

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.kind})", self.title, *_key_lines(self)]
        if self.kind == "model":
            lines += ["", textwrap.fill(self.summary, 100), *_formula_lines(self)]
        for heading, entries in (("assumptions", self.assumptions), ("errata", self.errata)):
            if entries:
                lines += ["", f"{heading}:", *map(_wrapped, entries)]
        if self.worked:
            lines += ["", "example:", _wrapped(self.worked)]
        lines += ["", "source:", _wrapped(self.source)]
        if self.quantities:
            lines += ["", "quantities (forebay.models.call):", *map(_quantity_line, self.quantities)]
        if "parameters" in FIELDS[self.kind]:
            lines += ["", "parameters:" if self.parameters else "no parameters"]
            for parameter in self.parameters:
                lines.append(_wrapped(f"{parameter.name} = {parameter.default} ({parameter.allowed})"))
                lines.append(_deeper(parameter.meaning))
        return "\n".join(lines)


def _formula_lines(told: Explanation) -> Iterator[str]:
    """A model's formula and the meaning of its symbols."""
    yield from ("", "formula:", *(f"  {line}" for line in told.formula))
    for symbol in told.symbols:
        unit = "" if symbol.unit in {"", "1"} else f" ({symbol.unit})"
        yield _wrapped(f"{symbol.symbol}: {symbol.meaning}{unit}")


def _quantity_line(quantity: Quantity) -> str:
    parameters = ", ".join(parameter.name for parameter in quantity.parameters)
    return _wrapped(f"{quantity.name}({parameters}) in {_unit(quantity.unit)}")


def _key_lines(told: Explanation) -> list[str]:
    """What a scenario key takes, and the keys or words in that."""
    said = (("allowed", told.allowed), ("default", told.default))
    lines = [_wrapped(f"{name}: {text}") for name, text in said if text]
    lines = ["", *lines] if lines else lines
    if told.keys:
        lines += ["", "in it:"]
    for key in told.keys:
        default = f" = {key.default}" if key.default else ""
        allowed = f" ({key.allowed})" if key.allowed else ""
        lines.append(_wrapped(f"{key.name}{default}{allowed}"))
        lines.append(_deeper(key.meaning))
    return lines


def _unit(unit: str) -> str:
    return "a number without unit" if unit in {"", "1"} else unit


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ")


def _deeper(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="      ", subsequent_indent="      ")


# Everything that can be explained --------------------------------------------------------------------------------


def _model(text: str) -> Explanation:
    told = json.loads(text)
    for name in ("aliases", "formula", "assumptions", "errata", "variants"):
        told[name] = tuple(told[name])
    told["symbols"] = tuple(Symbol(**symbol) for symbol in told["symbols"])
    told["quantities"] = tuple(
        Quantity(each["name"], each["unit"], tuple(Parameter(**parameter) for parameter in each["parameters"]))
        for each in told["quantities"]
    )
    return Explanation(**told)


def _algorithms(
    kind: str, entries: Iterable[tuple[str, str, str, list[tuple[str, str, str, str]]]]
) -> Iterator[Explanation]:
    for name, title, source, parameters in entries:
        yield Explanation(kind, name, title, source, parameters=tuple(Key(*parameter) for parameter in parameters))


def _keys(entries: Iterable[Mapping[str, Any]], within: str = "") -> Iterator[Explanation]:
    """Every key of scenario files under its dotted name, with the keys and words in it."""
    for entry in entries:
        name = f"{within}{entry['name']}"
        yield Explanation(
            "scenario key",
            name,
            entry["meaning"],
            "the declaration that the reader of scenario files uses",
            allowed=entry["allowed"],
            default="none: it must be given" if entry["required"] else entry["default"],
            keys=tuple(Key(key["name"], key["meaning"], key["allowed"], key["default"]) for key in entry["keys"]),
        )
        yield from _keys(entry["keys"], f"{name}.")


@cache
def _all() -> tuple[Explanation, ...]:
    return (
        *map(_model, _core.models()),
        *_algorithms("congestion controller", _core.controllers()),
        *_algorithms("queue discipline", _core.disciplines()),
        *(Explanation("metric", metric.name, metric.meaning, "the report's definition") for metric in _core.metrics()),
        *_keys(json.loads(_core.scenario_keys())),
    )


def names() -> dict[str, list[str]]:
    """Everything that can be explained, by kind."""
    found: dict[str, list[str]] = {}
    for entry in _all():
        found.setdefault(entry.kind, []).append(entry.name)
    return found


def explain(name: str) -> Explanation:
    """Explain a model, controller, queue discipline or metric by its name, a key of scenario files by its dotted name.

    Keys are named as in `link.buffer`, `flows.workload.closed_loop` or `law.pareto`.

    Raises
    ------
    InputError
        Where nothing has this name; the message lists what exists.
    """
    wanted = name.strip().lower().replace("_", "-")
    for entry in _all():
        if wanted in [each.lower().replace("_", "-") for each in (entry.name, *entry.aliases)]:
            return entry
    by_kind = names()
    keys = by_kind.pop("scenario key")
    if "." in wanted:
        by_kind = {"scenario key": difflib.get_close_matches(name.strip().lower(), keys, 5, 0.5) or keys}
    known = ", ".join(entry for entries in by_kind.values() for entry in entries)
    raise InputError(f"explain: found `{name}`; allowed: {known}")
