"""Loads the classes of users: makes a class of a text, and registers its parameters with the core.

`code_files` calls `admit` in the process of a command, which runs none of the code. A worker calls `activate`.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import inspect
import json
import linecache
import re
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Literal

from forebay import _core
from forebay.algorithms.errors import FILES
from forebay.algorithms.errors import described as error_in_one_line
from forebay.algorithms.interface import DECLARED, CongestionControl, QueueDiscipline
from forebay.errors import CodeError

__all__ = ["Role", "activate", "described", "file_of", "is_wasm", "loaded", "name_of", "registered"]

Role = Literal["controller", "discipline"]

#: Registered names of algorithms, by place, text and role.
_KNOWN: dict[tuple[str, str, Role], str] = {}

BASES: Mapping[str, type] = {"controller": CongestionControl, "discipline": QueueDiscipline}
KINDS = {"": "number", "time": "time", "bytes": "bytes", "rate": "rate"}
#: Methods that the engine calls only if a class has its own.
OPTIONAL = ("window", "pacing_rate", "on_sample", "on_idle", "on_undo", "recovery_floor")
#: Keys of an algorithm's table that are no parameters.
TAKEN = ("kind", "python", "wasm", "kernel", "source")
LISTED = f"{', '.join(TAKEN[:-1])} or {TAKEN[-1]}"
#: Methods that a class must have.
NEEDED = {"controller": ("on_ack|on_sample", "on_congestion_event"), "discipline": ("enqueue", "dequeue")}


def name_of(place: str, source: str) -> str:
    """The name of an algorithm, as `crates/scenario` makes it: file without folders, class, start of the SHA-256."""
    file = re.split(r"[/\\]", place)[-1]
    return f"{file}@{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def is_wasm(place: str) -> bool:
    """Whether a place is a WebAssembly module; no class of Python has such a name."""
    return place.endswith(".wasm")


def file_of(place: str) -> str:
    """The file of a place."""
    return place if is_wasm(place) else place.rpartition(":")[0]


def loaded(place: str, source: str, role: Role) -> type:
    """Run a file and return its class.

    Parameters
    ----------
    place : str
        File and class, such as "mine.py:Mine".
    source : str
        Text of the file.
    role : {"controller", "discipline"}

    Raises
    ------
    CodeError
        If the file fails, or has no such class.
    """
    file, _, name = place.rpartition(":")
    FILES[file] = None
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        raise CodeError(f"{PurePath(file).name}:{line}: found a NUL byte; allowed: the text of Python code")
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType(f"forebay_code_{hashlib.sha256(source.encode()).hexdigest()[:16]}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except BaseException as error:
        raise CodeError(error_in_one_line(error)) from None
    found = module.__dict__.get(name)
    base = BASES[role]
    if not (isinstance(found, type) and issubclass(found, base)):
        classes = [key for key, value in module.__dict__.items() if isinstance(value, type) and issubclass(value, base)]
        known = ", ".join(key for key in classes if key != base.__name__) or f"a subclass of `{base.__name__}`"
        raise CodeError(f"{file}: found no class `{name}` for a {role}; allowed: {known}")
    for methods in NEEDED[role]:
        if not any(_overrides(found, base, method) for method in methods.split("|")):
            raise CodeError(f"{file}: the class `{name}` has no method `{methods.replace('|', '` or `')}`")
    return found


def _overrides(found: type, base: type, method: str) -> bool:
    return getattr(found, method, None) is not getattr(base, method)


def described(found: type, role: Role) -> dict[str, Any]:
    """The facts about a class for the core, as JSON: title, parameters, capabilities."""
    base = BASES[role]
    text = (inspect.getdoc(found) or found.__name__).strip().splitlines()[0]
    own = [method for method in OPTIONAL if role == "controller" and _overrides(found, base, method)]
    if role == "discipline":
        return {"title": text, "parameters": _parameters(found)}
    ecn = getattr(found, "ecn", "classic")
    if ecn not in {"classic", "scalable"}:
        raise CodeError(f'`{found.__name__}.ecn`: found {ecn!r}; allowed: "classic" or "scalable"')
    rates = bool(getattr(found, "delivery_rate", False))
    return {
        "title": text,
        "parameters": _parameters(found),
        "scalable": ecn == "scalable",
        # A pace needs the times of packets, which the engine keeps for samples.
        "samples": "rates" if rates else "round_trips" if {"on_sample", "pacing_rate"} & set(own) else "none",
        "own_recovery": bool(getattr(found, "own_recovery", False)),
        "own": own,
    }


def _parameters(found: type) -> list[_core.Declared]:
    """The parameters of a class: name, meaning, kind, default, smallest and largest number of each."""
    if not dataclasses.is_dataclass(found):
        return []
    parameters: list[_core.Declared] = []
    for field in dataclasses.fields(found):
        if not field.init:
            continue
        _check_name(field.name, f"`{found.__name__}.{field.name}`")
        declared = field.metadata.get(DECLARED, {})
        default = None if field.default is dataclasses.MISSING else field.default
        text: str | None
        where = f"`{found.__name__}.{field.name}`"
        if isinstance(default, bool):
            kind, text = "switch", str(default).lower()
        elif isinstance(default, int | float):
            kind, text = "number", repr(float(default))
        elif default is None or isinstance(default, str):
            kind = KINDS.get(declared.get("unit", ""), "")
            if not kind or (isinstance(default, str) and kind == "number"):
                raise CodeError(f"{where}: found {default!r}; allowed: a number, a truth, or a text with `unit`")
            text = default
        else:
            raise CodeError(f"{where}: found {default!r}; allowed: a number, a truth, or a text with `unit`")
        parameters.append(
            (field.name, declared.get("meaning", ""), kind, text, declared.get("least"), declared.get("most"))
        )
    return parameters


def _check_name(name: str, where: str) -> None:
    """Refuse a parameter whose name is a key beside the parameters."""
    if name in TAKEN:
        raise CodeError(f"{where}: found the name `{name}`, which is taken; allowed: no parameter named {LISTED}")


def registered(place: str, source: str, role: Role) -> bool:
    """Whether this process knows the parameters of some code."""
    return (place, source, role) in _KNOWN


def register(place: str, source: str, role: Role, facts: Mapping[str, Any], make: Callable[..., Any] | None) -> None:
    """Tell the core about an algorithm."""
    name = name_of(place, source)
    parameters = facts["parameters"]
    if role == "discipline":
        _core.register_discipline(name, facts["title"], parameters, make=make)
    else:
        _core.register_controller(
            name,
            facts["title"],
            parameters,
            scalable=facts["scalable"],
            samples=facts["samples"],
            own_recovery=facts["own_recovery"],
            own=facts["own"],
            make=make,
        )
    _KNOWN[place, source, role] = name


def activate(place: str, source: str, role: Role) -> Mapping[str, Any]:
    """Load a class or a module and register it, ready to run. Only a worker calls this."""
    if is_wasm(place):
        return _activate_wasm(place, source)
    found = loaded(place, source, role)
    facts = described(found, role)
    whole = {
        field.name
        for field in (dataclasses.fields(found) if dataclasses.is_dataclass(found) else ())
        if field.type in (int, "int") and not isinstance(field.default, bool)
    }

    def values(parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {key: int(value) if key in whole else value for key, value in parameters.items()}

    def controller(random: _core.Random, **parameters: Any) -> Any:
        made = found(**values(parameters))
        made.random = random
        return made

    def discipline(link: _core.Link, **parameters: Any) -> Any:
        made = found(**values(parameters))
        made.link = link
        return made

    register(place, source, role, facts, discipline if role == "discipline" else controller)
    return facts


def _activate_wasm(place: str, source: str) -> Mapping[str, Any]:
    """Compile a WebAssembly module, whose bytes are in Base64."""
    file = re.split(r"[/\\]", place)[-1]
    FILES[file] = None
    try:
        module = base64.b64decode(source, validate=True)
    except (binascii.Error, ValueError):
        raise CodeError(f"{file}: found a `source` that is no Base64; allowed: the bytes of the module") from None
    facts: dict[str, Any] = json.loads(_core.activate_wasm(name_of(place, source), file, module))
    return facts | {"own": []}
