"""Types of option values: each one reads a value, refuses it in one sentence, and completes it in the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from forebay.errors import InputError
from forebay.storage.files import check_file, check_folder

if TYPE_CHECKING:
    ParamType = click.ParamType[Any, Any]
else:
    ParamType = click.ParamType  # generic from click 8.4 on only

__all__ = [
    "ASIC",
    "CONTROLLER",
    "DISCIPLINE",
    "ENGINE",
    "EXPLAINED",
    "FIGURE",
    "FLEET_PLATFORM",
    "GOAL",
    "HEADROOM_MODEL",
    "LANGUAGE",
    "MODEL",
    "PLATFORM",
    "RELEASE",
    "SCENARIO",
    "SETTING",
    "SHIPPED",
    "IntegerValue",
    "Names",
    "OutputFile",
    "OutputFolder",
    "Readable",
    "ScenarioFile",
    "Share",
    "Size",
    "Time",
    "amount",
]


#: The longest accepted time, in seconds: 30 days.
MOST_SECONDS = 30 * 86_400.0


class Value(ParamType):
    """A type of value; its errors name the argument, which the command line turns into the option."""

    def refuse(self, found: str, allowed: str, parameter: click.Parameter | None) -> NoReturn:
        """Raise an error with the found value and the allowed ones."""
        raise InputError(f"found {found}; allowed: {allowed}", None if parameter is None else parameter.name)


class IntegerValue(Value):
    """A whole number within closed bounds."""

    name = "n"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """Parse the number."""
        try:
            number = int(value)
        except ValueError:
            self.refuse(f"`{value}`", self.allowed, param)
        if number < self.least or number > self.most:
            self.refuse(str(number), self.allowed, param)
        return number

    @property
    def allowed(self) -> str:
        """The bounds in words."""
        return f"a whole number from {self.least} to {self.most}"


class Size(Value):
    """A positive size in bytes: "16GB" or "512MiB"."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """Parse the size."""
        if isinstance(value, int):
            return value
        from forebay import _core

        try:
            size = int(_core.parse_quantity(str(value), "bytes"))
        except InputError:
            size = 0
        if not 1 <= size < 2**63:
            self.refuse(f"`{value}`", "a size from 1B to 9e18B, as in 16GB", param)
        return size


class Time(Value):
    """A positive time, in seconds: "30s" or "2min"."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Parse the time."""
        if isinstance(value, float):
            return value
        from forebay import _core

        try:
            seconds = _core.parse_quantity(str(value), "time")
        except InputError:
            seconds = 0.0
        if not 0 < seconds <= MOST_SECONDS:
            self.refuse(f"`{value}`", "a time above 0 s, up to 30 days, as in 30s or 2min", param)
        return seconds


class Share(Value):
    """A fraction: "95%" or 0.95."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Parse the fraction."""
        if isinstance(value, float):
            return value
        from forebay.text.formatting import share

        return share("share" if param is None else param.name or "share", str(value))


class Readable(Value):
    """A file to read."""

    name = "file"

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """Accept the name; an unreadable file is found when it is read."""
        if not str(value):
            self.refuse(f"`{value}`", self.allowed, param)
        return Path(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Let the shell complete files."""
        return [CompletionItem(incomplete, type="file")]


class ScenarioFile(Readable):
    """The file of a scenario, or @ and the name of a scenario that comes with forebay."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Accept the name; a name that begins with ./@ remains a file, though a path drops the ./."""
        from forebay.inputs.bundled_scenarios import SIGN

        path = super().convert(value, param, ctx)
        suggestion = isinstance(value, str) and not value.startswith(SIGN)
        return Path.cwd() / path if suggestion and str(path).startswith(SIGN) else path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete files, and names of scenarios after @."""
        from forebay.inputs.bundled_scenarios import SIGN

        if not incomplete.startswith(SIGN):
            return super().shell_complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in (SIGN + each for each in _bundled()) if name.startswith(incomplete)]


class OutputFolder(Value):
    """A directory to write into, created if it does not exist."""

    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """Refuse a directory that cannot be written; a default is checked by the verb, if it needs the directory."""
        if not str(value):
            self.refuse(f"`{value}`", "a directory, there or not yet", param)
        if not isinstance(value, Path):
            check_folder(Path(value), None if param is None else param.name)
        return Path(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Let the shell complete directories."""
        return [CompletionItem(incomplete, type="dir")]


class OutputFile(Value):
    """A file to write.

    Parameters
    ----------
    *endings : str
        Allowed endings of the name, such as ".html"; without endings any name is allowed.
    """

    name = "file"

    def __init__(self, *endings: str) -> None:
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """Refuse a file that cannot be written; without required endings, - is standard output."""
        path = Path(value)
        if not str(value):
            self.refuse(f"`{value}`", "the name of a file", param)
        if str(value) == "-" and not self.endings:
            return path
        if self.endings and path.suffix.lower() not in self.endings:
            self.refuse(f"`{value}`", f"a name that ends in {' or '.join(self.endings)}", param)
        check_file(path, None if param is None else param.name)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Let the shell complete files."""
        return [CompletionItem(incomplete, type="file")]


class Names(Value):
    """A text that is often one of some names: the shell completes the names, and the verb checks the text."""

    def __init__(self, name: str, known: Callable[[], Iterable[str]], *, after: str = "") -> None:
        self.name = name
        self.known = known
        self.after = after

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Accept the text."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Complete the names."""
        names = sorted(name + self.after for name in self.known())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _engines() -> list[str]:
    from forebay import _core

    return [engine.name for engine in _core.engines()]


def _models() -> list[str]:
    from forebay import _core

    return [model for engine in _core.engines() for model in engine.models]


def _metrics() -> list[str]:
    from forebay import _core

    return [metric.goal_name for metric in _core.metrics()]


def _keys() -> list[str]:
    from forebay.explanation import setting_keys

    return setting_keys()


def _controllers() -> list[str]:
    from forebay import _core

    return [controller.name for controller in _core.controllers()]


def _disciplines() -> list[str]:
    from forebay import _core

    return [discipline.name for discipline in _core.disciplines()]


def _platforms() -> list[str]:
    from forebay.configuration.platforms.registry import PLATFORMS

    return list(PLATFORMS)


def _accesses() -> list[str]:
    from forebay.configuration.access import ACCESSES

    return list(ACCESSES)


def _asics() -> list[str]:
    from forebay.fabric.sonic_devices import ASICS, DEVICES

    return [*ASICS, *DEVICES]


def _releases() -> list[str]:
    from forebay.fabric.sonic_devices import RELEASES

    return list(RELEASES)


def _headroom_models() -> tuple[str, ...]:
    from forebay.fabric.headroom import MODELS

    return MODELS


def _languages() -> list[str]:
    from forebay.algorithms.template import LANGUAGES

    return list(LANGUAGES)


def _explained() -> list[str]:
    from forebay.explanation import names

    return sorted({name for entries in names().values() for name in entries})


def _bundled() -> list[str]:
    from forebay.inputs.bundled_scenarios import bundled_names

    return bundled_names()


def _figures() -> list[str]:
    from forebay.papers.catalog import PAPERS, load

    papers = [load(name) for name in PAPERS]
    return ["list", "all", *PAPERS, *(figure.id for paper in papers for figure in paper.figures)]


SCENARIO = ScenarioFile("a scenario file, @NAME, or - for standard input")
SHIPPED = Names("name", _bundled)
ENGINE = Names("engine", _engines)
MODEL = Names("model", _models)
GOAL = Names("goal", _metrics)
SETTING = Names("key=value", _keys, after="=")
CONTROLLER = Names("cca", _controllers)
DISCIPLINE = Names("queue", _disciplines)
PLATFORM = Names("platform", _platforms)
FLEET_PLATFORM = Names("platform", lambda: ["own", *_platforms()])
ACCESS = Names("access", _accesses)
ASIC = Names("name", _asics)
RELEASE = Names("name", _releases)
HEADROOM_MODEL = Names("model", _headroom_models)
LANGUAGE = Names("language", _languages)
EXPLAINED = Names("name", _explained)
FIGURE = Names("what", _figures)


def amount(argument: str, text: str, dimension: Any, least: float, most: float) -> float:
    """Parse the amount of an argument, and check its bounds."""
    from forebay._core import parse_quantity
    from forebay.errors import naming

    with naming(argument):
        found = parse_quantity(text, dimension)
    if not least <= found <= most:
        bounds = {"rate": "1kbps to 100Tbps", "bytes": "64B to 65535B"}.get(dimension, "1ps to 1000000s")
        raise InputError(f"found `{text}`; allowed: {bounds}", argument)
    return found
