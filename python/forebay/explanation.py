"""`explain`: what forebay knows of a model, a controller or a queue discipline."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError

__all__ = ["Explanation", "explain", "names"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one name; `str` gives it as text.

    Attributes
    ----------
    data : mapping
        `kind`, `name`, `title`, `source`; of algorithms `parameters`; of models `formula`, `assumptions`, `errata`.
    """

    data: Mapping[str, Any]

    def __str__(self) -> str:
        data = self.data
        lines = [f"{data['name']} ({data['kind']})", data["title"]]
        for key in ("formula", "assumptions", "errata"):
            if data.get(key):
                lines += ["", f"{key}:"]
                entries = data[key] if isinstance(data[key], list) else [data[key]]
                lines += [_wrapped(entry) for entry in entries]
        lines += ["", "source:", _wrapped(data["source"])]
        if "parameters" in data:
            lines += ["", "parameters:" if data["parameters"] else "no parameters"]
            for parameter in data["parameters"]:
                lines.append(_wrapped(f"{parameter['name']} = {parameter['default']} ({parameter['allowed']})"))
                lines.append(
                    textwrap.fill(parameter["meaning"], 100, initial_indent="      ", subsequent_indent="      ")
                )
        return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ")


def _algorithms(
    kind: str, entries: list[tuple[str, str, str, list[tuple[str, str, str, str]]]]
) -> list[dict[str, Any]]:
    found = []
    for name, title, source, parameters in entries:
        shown = [{"name": p[0], "meaning": p[1], "allowed": p[2], "default": p[3]} for p in parameters]
        found.append({"kind": kind, "name": name, "title": title, "source": source, "parameters": shown})
    return found


def _models() -> list[dict[str, Any]]:
    """The closed-form models: what the registry says, with formula, source and errata from models.toml."""
    import tomllib
    from importlib.resources import files

    texts = tomllib.loads((files("forebay") / "models.toml").read_text(encoding="utf-8"))
    missing = {"title": "a closed-form model", "formula": [], "source": "not described yet", "errata": []}
    found = []
    for entry in _core.models():
        text = {**missing, **texts.get(entry["name"], {})}
        found.append({"kind": "model", **entry, **text})
    return found


def _all() -> list[dict[str, Any]]:
    return [
        *_models(),
        *_algorithms("congestion controller", _core.controllers()),
        *_algorithms("queue discipline", _core.disciplines()),
        *(
            {"kind": "metric", "name": name, "title": meaning, "source": "the report's definition"}
            for name, _, meaning in _core.metrics()
        ),
    ]


def names() -> dict[str, list[str]]:
    """Everything that can be explained, by kind."""
    found: dict[str, list[str]] = {}
    for entry in _all():
        found.setdefault(entry["kind"], []).append(entry["name"])
    return found


def explain(name: str) -> Explanation:
    """Explain a model, controller, queue discipline or metric by its name.

    Raises
    ------
    InputError
        Where nothing has this name; the message lists what exists.
    """
    wanted = name.strip().lower().replace("_", "-")
    for entry in _all():
        if entry["name"].lower().replace("_", "-") == wanted:
            return Explanation(entry)
    known = ", ".join(entry for entries in names().values() for entry in entries)
    raise InputError(f"explain: found `{name}`; allowed: {known}")
