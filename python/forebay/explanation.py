"""`explain`: what forebay knows of a model, a controller, a queue discipline, a metric or a key of scenario files."""

from __future__ import annotations

import difflib
import json
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
        `kind`, `name`, `title`, `source`; of algorithms `parameters`; of scenario keys `allowed`, `default` and `keys`;
        of models `summary`, `formula`, `symbols`, `assumptions`, `errata`, `quantities` and a `worked` example.
    """

    data: Mapping[str, Any]

    def __str__(self) -> str:
        data = self.data
        lines = [f"{data['name']} ({data['kind']})", data["title"]]
        lines += _key_lines(data)
        if "summary" in data:
            lines += ["", textwrap.fill(data["summary"], 100)]
        if "formula" in data:
            lines += ["", "formula:", *(f"  {line}" for line in data["formula"])]
            for symbol in data["symbols"]:
                unit = "" if symbol["unit"] in {"", "1"} else f" ({symbol['unit']})"
                lines.append(_wrapped(f"{symbol['symbol']}: {symbol['meaning']}{unit}"))
        for key in ("assumptions", "errata"):
            if data.get(key):
                lines += ["", f"{key}:", *(_wrapped(entry) for entry in data[key])]
        if data.get("worked"):
            lines += ["", "example:", _wrapped(data["worked"])]
        lines += ["", "source:", _wrapped(data["source"])]
        if data.get("quantities"):
            lines += ["", "quantities (forebay.models.call):"]
            for quantity in data["quantities"]:
                parameters = ", ".join(parameter["name"] for parameter in quantity["parameters"])
                lines.append(_wrapped(f"{quantity['name']}({parameters}) in {_unit(quantity['unit'])}"))
        if "parameters" in data:
            lines += ["", "parameters:" if data["parameters"] else "no parameters"]
            for parameter in data["parameters"]:
                lines.append(_wrapped(f"{parameter['name']} = {parameter['default']} ({parameter['allowed']})"))
                lines.append(
                    textwrap.fill(parameter["meaning"], 100, initial_indent="      ", subsequent_indent="      ")
                )
        return "\n".join(lines)


def _key_lines(data: Mapping[str, Any]) -> list[str]:
    """What a scenario key takes, and the keys or words in that."""
    lines = [_wrapped(f"{each}: {data[each]}") for each in ("allowed", "default") if data.get(each)]
    lines = ["", *lines] if lines else lines
    if data.get("keys"):
        lines += ["", "in it:"]
    for key in data.get("keys", ()):
        default = f" = {key['default']}" if key["default"] else ""
        allowed = f" ({key['allowed']})" if key["allowed"] else ""
        lines.append(_wrapped(f"{key['name']}{default}{allowed}"))
        lines.append(textwrap.fill(key["meaning"], 100, initial_indent="      ", subsequent_indent="      "))
    return lines


def _unit(unit: str) -> str:
    return "a number without unit" if unit in {"", "1"} else unit


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


def _keys(entries: list[dict[str, Any]], within: str = "") -> list[dict[str, Any]]:
    """Every key of scenario files under its dotted name, with the keys and words in it."""
    found = []
    for entry in entries:
        name = f"{within}{entry['name']}"
        inner = [{each: key[each] for each in ("name", "meaning", "allowed", "default")} for key in entry["keys"]]
        found.append(
            {
                "kind": "scenario key",
                "name": name,
                "title": entry["meaning"],
                "source": "the declaration that the reader of scenario files uses",
                "allowed": entry["allowed"],
                "default": "none: it must be given" if entry["required"] else entry["default"],
                "keys": inner,
            }
        )
        found += _keys(entry["keys"], f"{name}.")
    return found


def _all() -> list[dict[str, Any]]:
    return [
        *(json.loads(text) for text in _core.models()),
        *_algorithms("congestion controller", _core.controllers()),
        *_algorithms("queue discipline", _core.disciplines()),
        *(
            {"kind": "metric", "name": name, "title": meaning, "source": "the report's definition"}
            for name, _, meaning in _core.metrics()
        ),
        *_keys(json.loads(_core.scenario_keys())),
    ]


def names() -> dict[str, list[str]]:
    """Everything that can be explained, by kind."""
    found: dict[str, list[str]] = {}
    for entry in _all():
        found.setdefault(entry["kind"], []).append(entry["name"])
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
        known_as = [entry["name"], *entry.get("aliases", ())]
        if wanted in [each.lower().replace("_", "-") for each in known_as]:
            return Explanation(entry)
    by_kind = names()
    keys = by_kind.pop("scenario key")
    if "." in wanted:
        by_kind = {"scenario key": difflib.get_close_matches(name.strip().lower(), keys, 5, 0.5) or keys}
    known = ", ".join(entry for entries in by_kind.values() for entry in entries)
    raise InputError(f"explain: found `{name}`; allowed: {known}")
