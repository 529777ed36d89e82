"""The files with which a congestion control of a user begins, in Python, Rust or C.

The folder `templates` has them as data of the package. Each language has the same algorithm, so that results can be
compared. `forebay new --algorithm` writes them.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from forebay.errors import InputError

__all__ = ["LANGUAGES", "checked_name", "template_files"]

FOLDER = Path(__file__).with_name("templates")
#: Ending of files in which names are replaced; it is removed.
REPLACED = ".in"
#: The module that the build of each language leaves, and the folders of its template.
LANGUAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "python": ("", ("python",)),
    "rust": ("target/wasm32-unknown-unknown/release/@NAME@.wasm", ("rust", "module")),
    "c": ("@NAME@.wasm", ("c", "module")),
}
#: Longest name.
MOST_NAME = 40
#: Names that Cargo refuses, or that hide another package.
TAKEN = frozenset(
    {
        *("abstract", "alloc", "become", "box", "build", "const", "core", "crate", "deps", "do", "dyn", "enum"),
        *("examples", "extern", "final", "fn", "forebay", "gen", "impl", "incremental", "let", "loop", "macro"),
        *("match", "mod", "move", "mut", "override", "priv", "pub", "ref", "self", "static", "std", "struct", "super"),
        *("test", "trait", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where"),
    }
)


def checked_name(name: str) -> str:
    """The name of an algorithm, which is also that of files, of a crate and of a class.

    Raises
    ------
    InputError
        If it is no name, or another program has it.
    """
    allowed = f"a small letter, then small letters, digits and _, at most {MOST_NAME}, such as `my_reno`"
    plain = name.isascii() and name.isidentifier() and name[0].islower() and name == name.lower()
    if not plain or len(name) > MOST_NAME:
        raise InputError(f"found `{name}`; allowed: {allowed}", "algorithm")
    if name in TAKEN or keyword.iskeyword(name) or keyword.iskeyword(_class_of(name)):
        raise InputError(f"found `{name}`, a word of Python or Rust; allowed: another name", "algorithm")
    return name


def template_files(name: str, language: str) -> dict[PurePosixPath, str]:
    """The files of a template, with the names of the algorithm.

    Parameters
    ----------
    name : str
        Name of the algorithm, as `checked_name` allows it.
    language : {"python", "rust", "c"}

    Returns
    -------
    dict
        The text of each file by its path in the folder of the algorithm.

    Raises
    ------
    InputError
        If there is no such language.
    """
    if language not in LANGUAGES:
        raise InputError(f"found `{language}`; allowed: {', '.join(LANGUAGES)}", "language")
    module, folders = LANGUAGES[language]
    words = {"@MODULE@": module, "@NAME@": name, "@CLASS@": _class_of(name)}
    found = {}
    for folder in folders:
        for path in sorted((FOLDER / folder).rglob("*")):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                place = path.relative_to(FOLDER / folder).as_posix()
                is_replaced = place.endswith(REPLACED)
                text = _replaced(text, words) if is_replaced else text
                found[PurePosixPath(_replaced(place.removesuffix(REPLACED), words))] = text
    return found


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _class_of(name: str) -> str:
    """The name of a class, as `MyReno` of `my_reno`."""
    return "".join(part.capitalize() for part in name.split("_"))
