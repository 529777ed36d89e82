"""The code of users that a scenario names: it replaces the name of its file before the scenario is read.

The text is therefore part of the resolved scenario, of its SHA-256 and of every bundle. `scenario.py` calls
`changes_of_code`. No code runs here: `processes` asks a worker for the parameters of a class.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.algorithms.loading import Role, is_wasm, name_of, register, registered
from forebay.errors import InputError
from forebay.inputs.scenario_text import line_of, tables_of
from forebay.storage.safe_io import content

__all__ = [
    "ALLOWED",
    "FORBIDDEN",
    "KEYS",
    "MOST_BYTES",
    "admit",
    "admit_all",
    "allowing",
    "changes_of_code",
    "check_values",
    "code_in",
    "forbidding",
    "source_of",
    "with_names",
    "with_sources",
    "without_code",
]

#: Whether the user consents that code of scenarios runs.
ALLOWED: ContextVar[bool] = ContextVar("forebay_code", default=False)
#: The reason why no code may run, whatever the user allowed; empty if it may.
FORBIDDEN: ContextVar[str] = ContextVar("forebay_no_code", default="")
#: Largest size of a file with code, in bytes.
MOST_BYTES = 2**20

PLACE = "a file and a class, such as `mine.py:Mine`"
WASM_PLACE = "a file such as `mine.wasm`"
#: Keys that name code.
KEYS = ("python", "wasm")
QUOTES = "\"'"


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
    return isinstance(table, Mapping) and _key_of(table) is not None


def _key_of(table: Mapping[str, Any]) -> str | None:
    """The key that names the code; None without one."""
    return next((key for key in KEYS if isinstance(table.get(key), str)), None)


def _mentions_code(text: str) -> bool:
    return any(key in text for key in KEYS)


def without_code(tables: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
    """A scenario that can be read without its code, for pictures of its results.

    Parameters
    ----------
    tables : mapping
        A resolved scenario as nested dictionaries.

    Returns
    -------
    tuple of dict, mapping
        The scenario with a built-in algorithm in place of each of a user, and the names of the replaced ones by key.
    """
    plain: dict[str, Any] = copy.deepcopy(dict(tables))
    names = {}
    for key, table, role in list(code_in(plain)):
        place = str(table[_key_of(table) or ""])
        names[key] = name_of(place, str(table.get("source", "")))
        holder, last = _holder(plain, key)
        holder[last] = "newreno" if role == "controller" else "droptail"
    return plain, names


def with_names(resolved: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A resolved scenario with the names that `without_code` has replaced."""
    named: dict[str, Any] = copy.deepcopy(dict(resolved))
    for key, name in names.items():
        holder, last = _holder(named, key.replace("link.", "links.0.", 1) if key.startswith("link.") else key)
        holder[last] = {"kind": name}
    return named


def _holder(tables: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The table that has the last part of a dotted key, and this part."""
    *path, last = key.split(".")
    found: Any = tables
    for part in path:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found, last


def check_values(key: str, values: Iterable[str], argument: str) -> None:
    """Refuse code among the values of a key that varies: a result has only the key and the value.

    Raises
    ------
    InputError
        If a value names code.
    """
    varies_place = key.strip().rpartition(".")[2] in KEYS
    for value in values:
        table = _table_of(value)
        if varies_place or (table is not None and _is_code(table)):
            whole = key.strip().rpartition(".")[0] if varies_place else key.strip()
            raise InputError(
                f"{key.strip()}: found `{value}`, which names code; allowed: name the file in the scenario or with "
                f"`--set '{whole}={{ ... }}'`, and vary its parameters, as in `--over {whole}.gain=1,2`",
                argument,
            )


def _table_of(value: str) -> Mapping[str, Any] | None:
    """A value as a table; None if it is none."""
    if not _mentions_code(value):
        return None
    table = (tables_of(f"value = {value}", "toml") or {}).get("value")
    return table if isinstance(table, Mapping) else None


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
    if not _mentions_code(text):
        return
    for key, table, role in code_in(tables_of(text, kind)):
        named = _key_of(table) or ""
        place = f"{name}:{line_of(text, table[named])}"
        yield place, f"{key}={_value(_with_source(table, role, f'{place}: {key}.{named}', folder))}"


def with_sources(overrides: Sequence[_core.Change]) -> Iterator[_core.Change]:
    """The changes of a command line, with the text of each file beside its name."""
    for change in overrides:
        given = change if isinstance(change, str) else change[-1]
        key, equals, value = given.partition("=")
        place, _, last = key.strip().rpartition(".")
        if equals and last in KEYS and place.endswith((".cca", ".queue")):
            argument = "overrides" if isinstance(change, str) else change[0]
            allowed = f"the whole table, as in `{place}={{ {last} = {json.dumps(value.strip().strip(QUOTES))} }}`"
            raise InputError(f"{key.strip()}: found `{value.strip()}`; allowed: {allowed}", argument)
        table = _table_of(value) if equals else None
        if table is None or not _is_code(table):
            yield change
            continue
        role: Role = "controller" if key.strip().endswith("cca") else "discipline"
        text = f"{key}={_value(_with_source(table, role, f'{key.strip()}.{_key_of(table)}', Path()))}"
        yield text if isinstance(change, str) else (*change[:-1], text)


def _with_source(table: Mapping[str, Any], role: Role, place: str, folder: Path | None) -> dict[str, Any]:
    """The table with the text of its file; the core knows its parameters afterwards."""
    named = _key_of(table) or "python"
    code = table[named]
    if FORBIDDEN.get():
        raise InputError(f"{place}: `{code}` is code, and {FORBIDDEN.get()}")
    if named == "wasm":
        if role == "discipline":
            raise InputError(f"{place}: found `{code}`; allowed: a Python class, because modules are only controllers")
        file = code if is_wasm(code) else ""
    else:
        file, _, found = code.rpartition(":")
        file = file if found.isidentifier() else ""
    if not file:
        raise InputError(f"{place}: found `{code}`; allowed: {WASM_PLACE if named == 'wasm' else PLACE}")
    source = table.get("source")
    if source is None:
        if folder is None:
            raise InputError(f"{place}: found `{code}` in a scenario that is no file; allowed: the key `source` beside")
        source = source_of(folder / file, place)
    if not isinstance(source, str):
        raise InputError(f"{place}: found a `source` that is no text; allowed: the text of {file}")
    if not registered(code, source, role):
        if not ALLOWED.get():
            raise InputError(
                f"{place}: `{code}` is code, and forebay runs it only with your consent: add `--allow-code` "
                "(in Python: `allow_code=True`)"
            )
        admit(code, source, role)
    return {named: code, "source": source} | {key: value for key, value in table.items() if key != named}


def source_of(path: Path, place: str) -> str:
    """The text of a file with code; the bytes of a WebAssembly module in Base64.

    Raises
    ------
    InputError
        If there is no such file, or if it is too large or no text.
    """
    if is_wasm(path.name):
        data = content(path, "a WebAssembly module of at most 1 MiB", MOST_BYTES)
        return base64.b64encode(data).decode("ascii")
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
    if not any(f'"{key}"' in text for key in KEYS):
        return
    for _, table, role in code_in(json.loads(text)):
        admit(table[_key_of(table) or ""], table["source"], role)


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
