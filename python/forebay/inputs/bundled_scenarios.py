"""The scenarios that come with forebay, by name: `@campus-uplink` can replace the path of a scenario's file.

They are data of the package. In a checkout their folder is a link to the one in the root.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.errors import InputError

__all__ = ["FOLDER", "SIGN", "BundledScenario", "bundled", "bundled_names"]

FOLDER = Path(__file__).parent.with_name("scenarios")

#: First character of a name in place of a file; a file of such a name is `./@name`.
SIGN = "@"


@dataclass(frozen=True, slots=True)
class BundledScenario:
    """One scenario that comes with forebay.

    Attributes
    ----------
    name : str
    path : Path
        Its file, in the package.
    """

    name: str
    path: Path

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.path.read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Title of the scenario, from its text."""
        return str(tomllib.loads(self.text)["title"])

    @property
    def companions(self) -> list[Path]:
        """The files beside it that it names, as tables of rates."""
        text = self.text
        others = (path for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".toml")
        return sorted(path for path in others if f'"{path.name}"' in text)


def bundled_names() -> list[str]:
    """The names of all, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def bundled(name: str) -> BundledScenario:
    """Find one by its name, with or without the sign before it.

    Raises
    ------
    InputError
        If none has the name; the text names the likeliest one and the command that lists all.
    """
    bare, known = name.removeprefix(SIGN), bundled_names()
    if bare not in known:
        text, _, _ = _core.unknown("scenario", bare, known).partition(" (see ")
        raise InputError(f"{text} (see `forebay new --list`)")
    return BundledScenario(bare, FOLDER / f"{bare}.toml")
