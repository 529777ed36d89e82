"""The code of users that a scenario names: it replaces the name of its file before the scenario is read.

The text is therefore part of the resolved scenario, of its SHA-256 and of every bundle. `scenario.py` calls
`changes_of_code`. No code runs here: `processes` asks a worker for the parameters of a class.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.algorithms.loading import Role, register, registered
from forebay.errors import InputError
from forebay.inputs.scenario_text import line_of, tables_of
from forebay.storage.safe_io import content

__all__ = [
    "ALLOWED",
    "FORBIDDEN",
    "MOST_BYTES",
    "admit",
    "admit_all",
    "allowing",
    "changes_of_code",
    "code_in",
    "forbidding",
    "with_sources",
]

#: Whether the user consents that code of scenarios runs.
ALLOWED: ContextVar[bool] = ContextVar("forebay_code", default=False)
#: The reason why no code may run, whatever the user allowed; empty if it may.
FORBIDDEN: ContextVar[str] = ContextVar("forebay_no_code", default="")
#: Largest size of a file with code, in bytes.
MOST_BYTES = 2**20

PLACE = "a file and a class, such as `mine.py:Mine`"


@contextmanager
def allowing(allowed: bool) -> Iterator[None]:
    """Consent, inside, that code of scenarios runs. An earlier consent stays."""
    token = ALLOWED.set(ALLOWED.get() or allowed)
    try:
        yield
    finally:
        ALLOWED.reset(token)


@contextmanager
def forbidding(why: str) -> Iterator[None]:
    """Refuse inside every scenario with code, for a reason such as "an archive never runs code"."""
    token = FORBIDDEN.set(why)
    try:
        yield
    finally:
        FORBIDDEN.reset(token)


def code_in(tables: Any) -> Iterator[tuple[str, Mapping[str, Any], Role]]:
    """Each algorithm of a scenario that is code: its key, its table and its role."""
    if not isinstance(tables, Mapping):
        return
    flows = tables.get("flows")
    for number, group in enumerate(flows if isinstance(flows, list) else []):
        if isinstance(group, Mapping) and _is_code(group.get("cca")):
            yield f"flows.{number}.cca", group["cca"], "controller"
    links = tables.get("links")
    each = [("link", tables.get("link"))]
    each += [(f"links.{number}", link) for number, link in enumerate(links if isinstance(links, list) else [])]
    for key, link in each:
        queue = link.get("queue") if isinstance(link, Mapping) else None
        if isinstance(queue, Mapping) and _is_code(queue):
            yield f"{key}.queue", queue, "discipline"
        classes = queue.get("classes") if isinstance(queue, Mapping) else None
        for number, one in enumerate(classes if isinstance(classes, list) else []):
            if isinstance(one, Mapping) and _is_code(one.get("queue")):
                yield f"{key}.queue.classes.{number}.queue", one["queue"], "discipline"


def _is_code(table: Any) -> bool:
    return isinstance(table, Mapping) and isinstance(table.get("python"), str)


def changes_of_code(text: str, kind: str, folder: Path | None, name: str) -> Iterator[_core.Change]:
    """Changes that put the text of each file beside its name.

    Parameters
    ----------
    text : str
        The scenario; a text that cannot be parsed is left to its next reader.
    kind : {"toml", "json"}
    folder : Path or None
        Folder to which names of files are relative; None if the scenario is no file.
    name : str
        Name of the scenario in errors.

    Raises
    ------
    InputError
        If the user has not allowed code, or if there is no such file.
    CodeError
        If the file has no such class.
    """
    if "python" not in text:
        return
    for key, table, role in code_in(tables_of(text, kind)):
        place = f"{name}:{line_of(text, table['python'])}"
        yield place, f"{key}={_value(_with_source(table, role, f'{place}: {key}.python', folder))}"


def with_sources(overrides: Sequence[_core.Change]) -> Iterator[_core.Change]:
    """The changes of a command line, with the text of each file beside its name."""
    for change in overrides:
        given = change if isinstance(change, str) else change[-1]
        key, equals, value = given.partition("=")
        if not equals or "python" not in value:
            yield change
            continue
        table = (tables_of(f"value = {value}", "toml") or {}).get("value")
        if not isinstance(table, Mapping) or not _is_code(table):
            yield change
            continue
        role: Role = "controller" if key.strip().endswith("cca") else "discipline"
        text = f"{key}={_value(_with_source(table, role, f'{key.strip()}.python', Path()))}"
        yield text if isinstance(change, str) else (*change[:-1], text)


def _with_source(table: Mapping[str, Any], role: Role, place: str, folder: Path | None) -> dict[str, Any]:
    """The table with the text of its file; the core knows its parameters afterwards."""
    code = table["python"]
    if FORBIDDEN.get():
        raise InputError(f"{place}: `{code}` is code, and {FORBIDDEN.get()}")
    file, _, found = code.rpartition(":")
    if not file or not found.isidentifier():
        raise InputError(f"{place}: found `{code}`; allowed: {PLACE}")
    source = table.get("source")
    if source is None:
        if folder is None:
            raise InputError(f"{place}: found `{code}` in a scenario that is no file; allowed: the key `source` beside")
        source = _read(folder / file, place)
    if not isinstance(source, str):
        raise InputError(f"{place}: found a `source` that is no text; allowed: the text of {file}")
    if not registered(code, source, role):
        if not ALLOWED.get():
            raise InputError(
                f"{place}: `{code}` is code, and forebay runs it only with your consent: add `--allow-code` "
                "(in Python: `allow_code=True`)"
            )
        admit(code, source, role)
    return {"python": code, "source": source} | {key: value for key, value in table.items() if key != "python"}


def _read(path: Path, place: str) -> str:
    data = content(path, "a file with Python code", MOST_BYTES)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{place}: {path.name}: found bytes that are no text; allowed: Python code in UTF-8") from None


def admit(place: str, source: str, role: Role) -> None:
    """Register code whose use the user has allowed: a worker tells its parameters."""
    if registered(place, source, role):
        return
    from forebay.algorithms.processes import describe

    register(place, source, role, describe(place, source, role), None)


def admit_all(text: str) -> None:
    """On a worker of a cluster: register the code of a scenario, given as JSON. Its sender has allowed it."""
    if '"python"' not in text:
        return
    for _, table, role in code_in(json.loads(text)):
        admit(table["python"], table["source"], role)


def _value(value: Any) -> str:
    """A value as TOML in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
