"""Profiles: scenarios with open keys, and the rules that assign them to ports.

`profiles/NAME.toml` is a scenario in which texts have placeholders in braces. `profiles/rules.toml` has a list of
`[[rule]]` tables; the first rule that matches a port names its profile. A port that names its profile wins.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.algorithms.code_files import KEYS, code_in
from forebay.errors import InputError
from forebay.fleets.filled_profiles import SAMPLE_GOAL, shared_fault
from forebay.fleets.port_classes import with_flows
from forebay.inputs.goals import metric_of_goal, split_goal
from forebay.scenario import read

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BUFFER", "Profile", "Profiles", "load_profiles"]

#: Name of the file of rules in a folder of profiles.
RULES = "rules.toml"
#: Marks the place of the buffer in the text of a filled profile.
BUFFER = "<buffer>"

#: Columns of a port that a placeholder may name, by the placeholder's name.
NAMES: Mapping[str, str] = {
    "rate": "rate_bps",
    "buffer": "",
    "queue": "queue",
    **{
        name: name
        for name in (
            "device", "port", "rate_bps", "platform", "buffer_bytes", "service_class", "role", "mtu_bytes",
            "utilization", "drops", "packets", "interval_s",
        )
    },
}  # fmt: skip
#: A placeholder: a name, or the rate over another rate.
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: Conditions of a rule on texts: columns of a port.
PATTERNS = ("role", "device", "port", "service_class", "platform")


@dataclass(frozen=True, slots=True)
class Profile:
    """A scenario with open keys.

    Attributes
    ----------
    name : str
        Name of the file without its ending.
    path : str
        The file, for errors.
    tables : mapping
        The scenario as nested dictionaries, with placeholders in its texts.
    columns : tuple of str
        Columns of a port that the placeholders use, without the buffer's.
    classes : mapping
        Patterns of the names of a port's classes, by the flow group that is in them.
    """

    name: str
    path: str
    tables: Mapping[str, Any]
    columns: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def check_ports(self, ports: pl.DataFrame, of_profile: pl.DataFrame) -> None:
        """Refuse a profile that no port can fill.

        Parameters
        ----------
        ports : polars.DataFrame
            All ports of the inventory.
        of_profile : polars.DataFrame
            The ports with this profile.

        Raises
        ------
        InputError
            If the profile uses a column without values, or if neither it nor one of its ports has a goal.
        """
        for column in self.columns:
            if column != "queue" and ports[column].null_count() == ports.height:
                key, placeholder = next(each for each in _placeholders(self.tables) if _column(each[1]) == column)
                found = f"found `{{{placeholder}}}`, and no port of the inventory has a `{column}`"
                raise InputError(f"{self.path}: {key}: {found}; allowed: a column with values")
        if not self.tables.get("goal") and of_profile["goals"].null_count() == of_profile.height:
            found = "found no goal, and no port with this profile has one"
            raise InputError(f"{self.path}: goal: {found}; allowed: a table `[goal]`, or goals of the ports")

    def filled(self, port: Mapping[str, Any], goals: str | None) -> str:
        """The scenario of a port as JSON, with the mark `BUFFER` in place of its buffer.

        Parameters
        ----------
        port : mapping
            Value of each of `columns`, and of `size` for a port with classes.
        goals : str or None
            Goals of the port, joined by "; "; they replace those of the profile on the same metrics, and
            several on one metric all count.

        Raises
        ------
        InputError
            If the port lacks a value, or if a goal or a queue cannot be read: one line with file and key.
        """
        tables = _filled(self.tables, port, f"{self.path}: ", "")
        tables["title"] = self.name
        flows = [str(group.get("name")) for group in _listed(tables, "flows")]
        for link in (tables.get("link"), *_listed(tables, "links")):
            if isinstance(link, dict) and isinstance(link.get("queue"), dict):
                try:
                    link["queue"] = with_flows(link["queue"], flows, self.classes, port.get("size"))
                except InputError as error:
                    raise InputError(f"{self.path}: classes: {error}") from None
        stated: dict[str, list[str]] = {}
        for text in (goals or "").split(";"):
            if text.strip():
                _, sense, threshold = split_goal(text)
                bounds = stated.setdefault(metric_of_goal(text), [])
                if (bound := f"{sense} {threshold}") not in bounds:
                    bounds.append(bound)
        mine = {name: bounds[0] if len(bounds) == 1 else bounds for name, bounds in stated.items()}
        wanted = dict(tables.get("goal", {})) | mine
        if not wanted:
            raise InputError(f"{self.path}: goal: found no goal; allowed: a table `[goal]`, or goals of the port")
        tables["goal"] = wanted
        # Dates of TOML become texts, which the scenario then refuses with their key.
        return json.dumps(tables, sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a profile, and the conditions under which it applies.

    Attributes
    ----------
    profile : str
    patterns : mapping
        Patterns of file names (`*`, `?`), by column; one of each column must match.
    rates : tuple of (float, float), or None
        Least and largest rate, in bits per second.
    """

    profile: str
    patterns: Mapping[str, tuple[str, ...]]
    rates: tuple[float, float] | None

    def matches(self) -> pl.Expr:
        """Whether the rule applies to each port."""
        import polars as pl

        found = pl.lit(value=True)
        for column, patterns in self.patterns.items():
            pattern = "|".join(_regular(each) for each in patterns)
            found &= pl.col(column).str.contains(f"(?is)^(?:{pattern})$").fill_null(value=False)
        if self.rates is not None:
            found &= pl.col("rate_bps").is_between(*self.rates)
        return found


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles of a folder, and its rules.

    Attributes
    ----------
    folder : str
    profiles : mapping
        Each profile by its name.
    rules : tuple of Rule
        In the order of the file.
    """

    folder: str
    profiles: Mapping[str, Profile]
    rules: tuple[Rule, ...]

    def assigned(self) -> pl.Expr:
        """The name of each port's profile; null if the port names none and no rule applies."""
        import polars as pl

        found: pl.Expr = pl.lit(None, dtype=pl.String)
        if not self.rules and len(self.profiles) == 1:
            found = pl.lit(next(iter(self.profiles)))
        for rule in reversed(self.rules):
            found = pl.when(rule.matches()).then(pl.lit(rule.profile)).otherwise(found)
        return pl.coalesce(pl.col("profile"), found)

    def unknown(self, name: str) -> str:
        """The reason why a port with this profile has no answer."""
        return f"{self.folder}: {_core.unknown('profile', name, list(self.profiles))}"


def load_profiles(folder: Path) -> Profiles:
    """Read the profiles of a folder and its rules.

    Raises
    ------
    InputError
        If there is no profile, or if a file is wrong: one line with file and key.
    """
    if not folder.is_dir():
        raise InputError(f"found no folder `{folder}`; allowed: a folder of profiles (NAME.toml)", "profiles")
    files = sorted(path for path in folder.glob("*.toml") if path.name != RULES)
    if not files:
        raise InputError(f"found no profile in `{folder}`; allowed: files NAME.toml", "profiles")
    profiles = {path.stem: _profile(path) for path in files}
    return Profiles(str(folder), profiles, _rules(folder / RULES, list(profiles)))


def _profile(path: Path) -> Profile:
    """Read one profile; open the keys of the link that it leaves out."""
    tables = _toml(path)
    link = tables.get("link")
    if isinstance(link, dict):
        link.setdefault("rate", "{rate}")
        link.setdefault("buffer", "{buffer}")
        link.setdefault("queue", "{queue}")
    elif "links" not in tables:
        raise InputError(f"{path}: link: found no table; allowed: `[link]` or `[[links]]`")
    for key, table, _ in code_in(tables):
        code = next(table[name] for name in KEYS if name in table)
        allowed = "built-in algorithms, because fleet runs no code of users"
        raise InputError(f"{path}: {key}: found `{code}`; allowed: {allowed}")
    classes = _classes(path, tables)
    columns: dict[str, None] = {}
    for key, text in _texts(tables, ""):
        if set("{}") & set(PLACEHOLDER.sub("", text)):
            allowed = 'a placeholder in a pair of braces, as in "{rate}"'
            raise InputError(f"{path}: {key}: found `{text}`; allowed: {allowed}")
    for key, placeholder in _placeholders(tables):
        _check_placeholder(f"{path}: {key}", placeholder)
        columns[_column(placeholder)] = None
    if "" not in columns:
        raise InputError(f'{path}: link.buffer: found no placeholder; allowed: "{{buffer}}"')
    if "rate_bps" not in columns:
        raise InputError(f'{path}: link.rate: found no placeholder; allowed: "{{rate}}"')
    if not isinstance(tables.get("goal", {}), dict):
        raise InputError(f"{path}: goal: found `{tables['goal']}`; allowed: a table `[goal]`")
    profile = Profile(path.stem, str(path), tables, tuple(sorted(filter(None, columns))), classes)
    goals = None if tables.get("goal") else SAMPLE_GOAL
    fault = shared_fault(lambda sample: profile.filled(sample, goals), BUFFER, str(path))
    if fault is not None:
        raise fault
    return profile


def _listed(tables: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The tables of a list; none if it is another thing, which the scenario then refuses."""
    found = tables.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _classes(path: Path, tables: dict[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Take the table `[classes]`, which is none of a scenario: flow groups with patterns of classes."""
    given = tables.pop("classes", {})
    where = f"{path}: classes"
    if not isinstance(given, dict):
        raise InputError(f'{where}: found no table; allowed: flow groups as in calls = ["EF*"]')
    _check_keys(where, given, [str(group.get("name")) for group in _listed(tables, "flows")])
    return {flow: _patterns(f"{where}.{flow}", value) for flow, value in given.items()}


def _patterns(where: str, value: Any) -> tuple[str, ...]:
    """A pattern of names, or a list of patterns."""
    given = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(each, str) for each in given):
        raise InputError(f"{where}: found `{value}`; allowed: a pattern as in `core-*`, or a list")
    return tuple(given)


def _check_placeholder(where: str, placeholder: str) -> None:
    name, slash, divisor = (part.strip() for part in placeholder.partition("/"))
    if name not in NAMES:
        raise InputError(f"{where}: {_core.unknown('placeholder', name, list(NAMES))}")
    if not slash:
        return
    try:
        number = _core.parse_quantity(divisor, "rate")
    except InputError:
        number = 0.0
    if name != "rate" or not number > 0:
        raise InputError(f"{where}: found `{{{placeholder}}}`; allowed: a rate, as in {{rate / 20Mbps}}")


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text of nested tables, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(each, f"{key}.{name}" if key else name)
    elif isinstance(value, Sequence):
        for place, each in enumerate(value):
            yield from _texts(each, f"{key}[{place}]")


def _placeholders(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every placeholder without its braces, after the dotted key of its text."""
    for key, text in _texts(tables, ""):
        yield from ((key, each) for each in PLACEHOLDER.findall(text))


def _column(placeholder: str) -> str:
    """The column of the ports from which a placeholder has its value; empty for the buffer."""
    return NAMES[placeholder.partition("/")[0].strip()]


def _filled(value: Any, port: Mapping[str, Any], file: str, key: str) -> Any:
    """Nested tables with values of a port in place of placeholders; file and key are for errors."""
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole is not None:
            return _value(whole[1], port, f"{file}{key}")
        return PLACEHOLDER.sub(lambda found: str(_value(found[1], port, f"{file}{key}")), value)
    if isinstance(value, Mapping):
        return {name: _filled(each, port, file, f"{key}.{name}" if key else name) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, port, file, f"{key}[{place}]") for place, each in enumerate(value)]
    return value


def _value(placeholder: str, port: Mapping[str, Any], where: str) -> Any:
    """The value of a placeholder; a ratio of rates is rounded to a whole number, at least 1."""
    name, slash, divisor = (part.strip() for part in placeholder.partition("/"))
    if name == "buffer":
        return BUFFER
    found = port[NAMES[name]]
    if name == "queue":
        return "droptail" if found is None else _queue(found, where)
    if found is None:
        column = NAMES[name]
        raise InputError(
            f"{where}: found `{{{name}}}`, and the port has no `{column}`; allowed: a value in that column"
        )
    if slash:
        return max(1, round(found / _core.parse_quantity(divisor, "rate")))
    return f"{found}bps" if name == "rate" else found


def _queue(text: str, where: str) -> Any:
    """A discipline: its name, or an inline table."""
    if not text.lstrip().startswith("{"):
        return text.strip()
    try:
        return tomllib.loads(f"queue = {text}")["queue"]
    except (tomllib.TOMLDecodeError, RecursionError):
        raise InputError(f"{where}: found the queue `{text}`; allowed: a name, or an inline table of TOML") from None


def _rules(path: Path, profiles: list[str]) -> tuple[Rule, ...]:
    """Read the rules of a folder; none if there is no file."""
    if not path.exists():
        return ()
    tables = _toml(path)
    _check_keys(str(path), tables, ["rule"])
    listed = tables.get("rule", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InputError(f"{path}: rule: found no list of tables; allowed: `[[rule]]`")
    return tuple(_rule(f"{path}: rule[{number}]", each, profiles) for number, each in enumerate(listed, start=1))


def _rule(where: str, table: Mapping[str, Any], profiles: list[str]) -> Rule:
    _check_keys(where, table, ["profile", "rate", *PATTERNS])
    name = table.get("profile")
    if name not in profiles:
        raise InputError(f"{where}.profile: {_core.unknown('profile', str(name), profiles)}")
    patterns = {}
    for key in PATTERNS:
        if key in table:
            patterns[key] = _patterns(f"{where}.{key}", table[key])
    rates = _rates(f"{where}.rate", table["rate"]) if "rate" in table else None
    return Rule(str(name), patterns, rates)


def _rates(where: str, text: Any) -> tuple[float, float]:
    """A rate, or a range of rates whose ends may be open."""
    try:
        low, dots, high = (part.strip() for part in str(text).partition(".."))
        least = _core.parse_quantity(low, "rate") if low else 0.0
        if not dots:
            return least, least
        most = _core.parse_quantity(high, "rate") if high else float("inf")
    except InputError:
        raise InputError(f"{where}: found `{text}`; allowed: a rate or a range, as in 1Gbps..10Gbps") from None
    if most < least:
        raise InputError(f"{where}: found `{text}`; allowed: a rising range")
    return least, most


def _check_keys(where: str, table: Mapping[str, Any], allowed: list[str]) -> None:
    for key in table:
        if key not in allowed:
            raise InputError(f"{where}: {_core.unknown('key', key, allowed)}")


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: found invalid TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: found too many levels; allowed: a scenario") from None


def _regular(pattern: str) -> str:
    """A pattern of file names as a regular expression of polars."""
    return "".join({"*": ".*", "?": "."}.get(each) or re.escape(each) for each in pattern)
