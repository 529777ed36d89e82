"""`explain`: the explanation of every name that forebay takes or prints, and the glossary of them all."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.results.deprecated_names import DeprecatedName, with_deprecated_keys
from forebay.results.serialization import to_jsonable

__all__ = [
    "Explanation",
    "Key",
    "Parameter",
    "Quantity",
    "Symbol",
    "explain",
    "glossary",
    "meanings",
    "names",
    "setting_keys",
]

#: Wider than this no line is easy to read.
WIDEST = 100


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
    """A parameter of a model's quantity; `list` if it takes several numbers."""

    name: str
    unit: str
    meaning: str
    bounds: str
    default: float | None
    list: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a model computes, for `forebay.models.call`."""

    name: str
    unit: str
    parameters: tuple[Parameter, ...]


#: Fields of algorithms alone.
_CHECKED = ("checked", "parameters")

#: Fields of each kind, in the order of the JSON; the glossary has the kinds in this order.
FIELDS: Mapping[str, Sequence[str]] = {
    "congestion controller": ("kind", "name", "aliases", "title", "formula", "usage", "source", *_CHECKED),
    "queue discipline": ("kind", "name", "aliases", "title", "formula", "usage", "source", *_CHECKED),
    "metric": ("kind", "name", "aliases", "title", "unit", "better", "scope", "usage", "source"),
    "model": (
        *("kind", "name", "aliases", "title", "summary", "formula", "symbols", "assumptions", "source", "errata"),
        *("variants", "quantities", "example", "example_value", "worked_example"),
    ),
    "engine": ("kind", "name", "title", "usage", "source"),
    "platform": ("kind", "name", "title", "usage", "quirks", "source"),
    "term": ("kind", "name", "aliases", "title", "usage", "source"),
    "scenario key": ("kind", "name", "aliases", "title", "source", "allowed", "default", "keys"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one name; `str` gives it as text.

    Attributes
    ----------
    kind, name, title, source : str
        For every kind.
    summary, worked_example : str
        For models: one sentence, and an example with its result (`example`, `example_value`).
    formula : tuple of str
        For models, controllers and queue disciplines: a line each.
    assumptions, errata : tuple of str
        For models: a line each.
    usage : str
        Places where the name is written.
    unit, better, scope : str
        For metrics: the unit, the better direction, and the part of a report that has the metric.
    quirks : tuple of str
        For platforms: notes on their configuration.
    symbols, quantities, aliases, variants
        For models: the letters of the formula, the computed quantities, other names, other forms of the formula.
    checked : tuple of str
        For controllers and queue disciplines: references with which they were compared, a line each.
    parameters : tuple of Key
        For controllers and queue disciplines.
    allowed, default : str
        For scenario keys.
    keys : tuple of Key
        For scenario keys: the keys and words in it.
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
    worked_example: str = ""
    checked: tuple[str, ...] = ()
    parameters: tuple[Key, ...] = ()
    allowed: str = ""
    default: str = ""
    keys: tuple[Key, ...] = ()
    usage: str = ""
    unit: str = ""
    better: str = ""
    scope: str = ""
    quirks: tuple[str, ...] = ()

    worked = DeprecatedName("worked_example")

    def to_dict(self) -> dict[str, Any]:
        """The fields of this kind as plain dictionaries and lists."""
        data = {name: to_jsonable(getattr(self, name)) for name in FIELDS[self.kind]}
        return with_deprecated_keys(Explanation, data)

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        return self.text(WIDEST)

    def text(self, width: int) -> str:
        """Return it as text of at most this width."""
        page = _TextLayout(min(width, WIDEST))
        page.paragraph(f"{self.name} ({self.kind})")
        page.paragraph(self.title)
        if self.aliases:
            page.paragraph(f"also called: {', '.join(self.aliases)}")
        _say_key(page, self)
        if self.summary:
            page.gap()
            page.paragraph(self.summary)
        _say_formula(page, self)
        page.section("assumptions", self.assumptions)
        page.section("errata", self.errata)
        page.section("example", [self.worked_example])
        page.section("usage", [self.usage])
        page.section("notes", self.quirks)
        page.section("source", [self.source])
        page.section("compared with", self.checked)
        page.section("quantities (forebay.models.call)", map(_quantity_line, self.quantities))
        if "parameters" in FIELDS[self.kind]:
            _say_parameters(page, self.parameters)
        return "\n".join(page.lines)


class _TextLayout:
    """Lines of text that are wrapped.

    Parameters
    ----------
    width : int
        Width of a line, in characters.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []

    def gap(self) -> None:
        """Add an empty line."""
        self.lines.append("")

    def paragraph(self, text: str, indent: int = 0, hang: int = 0) -> None:
        """Add a text; its further lines are indented by `hang` more."""
        first, further = " " * indent, " " * (indent + hang)
        self.lines += textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False
        )

    def section(self, title: str, texts: Iterable[str]) -> None:
        """Texts under a title, if there are some."""
        paragraphs = [text for text in texts if text]
        if paragraphs:
            self.gap()
            self.lines.append(f"{title}:")
        for text in paragraphs:
            self.paragraph(text, 2, 2)


def _say_key(page: _TextLayout, explanation: Explanation) -> None:
    """Add the allowed values of a scenario key or the unit of a metric, and the keys or words in a key."""
    fields = (
        *(("allowed", explanation.allowed), ("default", explanation.default)),
        *(("unit", explanation.unit), ("better", explanation.better), ("scope", explanation.scope)),
    )
    lines = [f"{name}: {text}" for name, text in fields if text]
    if lines:
        page.gap()
    for line in lines:
        page.paragraph(line, 2, 2)
    if explanation.keys:
        page.gap()
        page.lines.append("keys:")
    for key in explanation.keys:
        default = f" = {key.default}" if key.default else ""
        allowed = f" ({key.allowed})" if key.allowed else ""
        page.paragraph(f"{key.name}{default}{allowed}", 2, 2)
        page.paragraph(key.meaning, 6)


def _say_formula(page: _TextLayout, explanation: Explanation) -> None:
    """The equations or rules, and the meaning of their symbols."""
    symbols = [
        f"{each.symbol}: {each.meaning}{'' if each.unit in {'', '1'} else f' ({each.unit})'}"
        for each in explanation.symbols
    ]
    page.section("formula", [*explanation.formula, *symbols])


def _say_parameters(page: _TextLayout, parameters: Sequence[Key]) -> None:
    page.gap()
    page.lines.append("parameters:" if parameters else "no parameters")
    for parameter in parameters:
        page.paragraph(f"{parameter.name} = {parameter.default} ({parameter.allowed})", 2, 2)
        page.paragraph(parameter.meaning, 6)


def _quantity_line(quantity: Quantity) -> str:
    parameters = ", ".join(parameter.name for parameter in quantity.parameters)
    return f"{quantity.name}({parameters}) in {_unit(quantity.unit)}"


def _unit(unit: str) -> str:
    return "dimensionless" if unit in {"", "1"} else unit


# Everything that can be explained --------------------------------------------------------------------------------


def _model(text: str) -> Explanation:
    data = json.loads(text)
    for name in ("aliases", "formula", "assumptions", "errata", "variants"):
        data[name] = tuple(data[name])
    data["symbols"] = tuple(Symbol(**symbol) for symbol in data["symbols"])
    data["quantities"] = tuple(
        Quantity(each["name"], each["unit"], tuple(Parameter(**parameter) for parameter in each["parameters"]))
        for each in data["quantities"]
    )
    data["worked_example"] = data.pop("worked")
    return Explanation(**data)


#: Form of a controller and of a queue discipline in scenario files.
_WRITTEN = {
    "congestion controller": 'cca = "{0}" of [[flows]], or with parameters cca = {{ kind = "{0}", ... }}',
    "queue discipline": 'queue = "{0}" of [link], or with parameters queue = {{ kind = "{0}", ... }}',
}


def _algorithms(kind: str, registry: Iterable[_core.Algorithm]) -> Iterator[Explanation]:
    for known in registry:
        yield Explanation(
            kind,
            known.name,
            known.title,
            known.source,
            aliases=tuple(known.aliases),
            formula=tuple(known.formula),
            usage=_WRITTEN[kind].format(known.name),
            checked=tuple(known.checked),
            parameters=tuple(Key(*parameter) for parameter in known.parameters),
        )


#: Names of the units of metrics.
_UNITS = {
    "share": "a fraction of 1, in goals also percent",
    "s": "seconds",
    "bps": "bits per second",
    "packets": "packets",
    "bytes": "bytes",
    "number": "dimensionless",
}
_SCOPES = {"link": "the target link", "group": "each flow group", "both": "the target link and each flow group"}


def _metrics() -> Iterator[Explanation]:
    for metric in _core.metrics():
        own = "" if metric.scope == "link" else "GROUP." if metric.scope == "group" else "[GROUP.]"
        yield Explanation(
            "metric",
            metric.name,
            metric.meaning,
            "measured by forebay after the warm-up, as defined above",
            aliases=() if metric.goal_name == metric.name else (metric.goal_name,),
            unit=_UNITS[metric.unit],
            better="more" if metric.more_is_better else "less",
            scope=_SCOPES[metric.scope],
            usage=f"{own}{metric.goal_name} in [goal] and in --goal",
        )


def _engines() -> Iterator[Explanation]:
    for engine in _core.engines():
        verbs = "run, compare, sweep and recommend" if engine.real_time else "run and sweep"
        usage = f"--engine {engine.name} of {verbs}"
        yield Explanation("engine", engine.name, engine.title, engine.source, usage=usage)


def _platforms() -> Iterator[Explanation]:
    from forebay.configuration.platforms.registry import PLATFORMS

    for name, platform in PLATFORMS.items():
        title = "Recommended buffers as a configuration of this platform, which translate can read."
        usage = f"--for {name} of recommend and translate"
        yield Explanation("platform", name, title, platform.source, usage=usage, quirks=tuple(platform.quirks))


def _terms() -> Iterator[Explanation]:
    from forebay.fabric.terms import TERMS
    from forebay.inputs.ecn_presets import ECN_PRESETS

    for term in TERMS:
        yield Explanation("term", term.name, term.title, term.source, aliases=term.aliases, usage=term.usage)
    for preset in ECN_PRESETS.values():
        title = f"A published ECN setting of {preset.rates}: queue = {preset.table}"
        usage = f"`--set link.queue={preset.name}`, also in a list of `--over`"
        yield Explanation("term", preset.name, title, preset.source, usage=usage)


def _keys(entries: Iterable[Mapping[str, Any]], within: str = "") -> Iterator[Explanation]:
    """Every key of scenario files under its dotted name, with the keys and words in it."""
    for entry in entries:
        name = f"{within}{entry['name']}"
        yield Explanation(
            "scenario key",
            name,
            entry["meaning"],
            "forebay's scenario files; `forebay schema` prints their JSON Schema",
            allowed=entry["allowed"],
            default="none (required)" if entry["required"] else entry["default"],
            keys=tuple(Key(key["name"], key["meaning"], key["allowed"], key["default"]) for key in entry["keys"]),
            aliases=(f"{within}{entry['deprecated']}",) if entry["deprecated"] else (),
        )
        yield from _keys(entry["keys"], f"{name}.")


@cache
def _all() -> tuple[Explanation, ...]:
    # A rule precedes the controller of its name, because answers name rules.
    return (
        *map(_model, _core.models()),
        *_algorithms("congestion controller", _core.controllers()),
        *_algorithms("queue discipline", _core.disciplines()),
        *_metrics(),
        *_engines(),
        *_platforms(),
        *_terms(),
        *_keys(json.loads(_core.scenario_keys())),
    )


def names() -> dict[str, list[str]]:
    """Everything that can be explained, by kind."""
    found: dict[str, list[str]] = {}
    for entry in _all():
        found.setdefault(entry.kind, []).append(entry.name)
    return found


def setting_keys() -> list[str]:
    """The keys that a change of a scenario may name, with `*` for every flow group."""
    tables = {"link": "link", "flows": "flows.*", "run": "run", "goal": "goal", "fluid": "fluid", "trace": "trace"}
    keys = [entry.name.partition(".") for entry in _all() if entry.kind == "scenario key" and entry.allowed]
    return [f"{tables[table]}.{key}" for table, _, key in keys if key and table in tables]


def glossary(width: int) -> str:
    """Every name with its sentence, a line each, by kind.

    Parameters
    ----------
    width : int
        Width of a line, in characters; longer sentences are cut.
    """
    lines: list[str] = []
    # A goal has the name of its metric.
    stated = [entry for entry in _all() if not entry.name.startswith("goal.")]
    for kind in FIELDS:
        entries = [entry for entry in stated if entry.kind == kind]
        column = min(24, max(len(entry.name) for entry in entries))
        lines += ["", f"{_plural(kind)}:"]
        lines += [_cut(f"  {entry.name:<{column}}  {entry.title}", width) for entry in entries]
    lines += ["", "forebay explain NAME explains one of them."]
    return "\n".join(lines[1:])


def _plural(kind: str) -> str:
    return {"queue discipline": "queue disciplines", "scenario key": "keys of scenario files"}.get(kind, f"{kind}s")


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def meanings(name: str) -> tuple[Explanation, ...]:
    """Explain all meanings of a name; names that match exactly come first.

    Keys are named as in `link.buffer`, `flows.workload.closed_loop` or `law.pareto`, or by their last part alone.

    Raises
    ------
    InputError
        If nothing has this name; the message names the likeliest one, and lists what exists.
    """
    required = _folded(name)
    exact = [entry for entry in _all() if required == _folded(entry.name)]
    called = [entry for entry in _all() if entry not in exact and required in map(_folded, entry.aliases)]
    within = [entry for entry in _all() if entry.kind == "scenario key" and _ends_with(entry, required)]
    found = (*exact, *called, *(entry for entry in within if entry not in exact))
    if not found:
        aliases = [(alias, entry.name) for entry in _all() for alias in entry.aliases]
        raise InputError(_core.unknown("name", name.strip(), _candidates(name), aliases))
    return found


def _candidates(name: str) -> list[str]:
    """The names that could have been meant: for a dotted name the keys of its table, for others all names."""
    keys = names()["scenario key"]
    if "." in name:
        table = name.strip().lower().partition(".")[0]
        return [key for key in keys if key.startswith(f"{table}.")] or keys
    return [entry.name for kind in FIELDS for entry in _all() if entry.kind == kind]


def _folded(name: str) -> str:
    return _core.american(name.strip().lower().replace("_", "-").replace(" ", "-"))


def _ends_with(entry: Explanation, expected: str) -> bool:
    """Whether a key's last part is this; a goal's key means its metric, which is explained already."""
    table, dot, _ = entry.name.partition(".")
    last = {_folded(name).rpartition(".")[2] for name in (entry.name, *entry.aliases)}
    return bool(dot) and table != "goal" and expected in last


def explain(name: str) -> Explanation:
    """Explain a name: the first of `meanings`.

    Raises
    ------
    InputError
        If nothing has this name; the message names the likeliest one, and lists what exists.

    Examples
    --------
    >>> forebay.explain("bdp").worked_example
    'Buffer over BDP for CUBIC (β = 0.7): 0.42857 BDP'
    """
    return meanings(name)[0]
