"""The definition of a sweep: its scenario, axes, replications and seed, from its folder's `manifest.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.inputs.validation import MOST_REPLICATIONS, MOST_SEED
from forebay.results.serialization import to_jsonable
from forebay.scenario import Scenario
from forebay.storage.safe_io import DamagedError, clean, content, document
from forebay.sweeps.axes import MOST_VALUES, Axis

__all__ = ["Manifest"]

FILE = "manifest.json"

ALLOWED = "the manifest of a sweep"
#: Replications of a cell that a manifest may name, and characters of a text.
MOST_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """The fields of the file, in its order.

    Attributes
    ----------
    forebay : str
        Version of forebay that ran the sweep.
    scenario : mapping
        Resolved scenario from which every cell starts.
    scenario_sha256 : str
        Digest of the scenario.
    axes : tuple of Axis
        Axes of the grid; the last one varies fastest.
    engine : str
        Engine of the cells if no axis names it.
    replications, seed : int
        Number of replications of every cell, and their seed.
    build : str
        Build that ran it, from `forebay.storage.build.fingerprint`; empty if it was not recorded yet.
    """

    forebay: str
    scenario: Mapping[str, Any]
    scenario_sha256: str
    axes: tuple[Axis, ...]
    engine: str
    replications: int
    seed: int
    build: str = ""

    @classmethod
    def of(cls, data: Any, where: str = FILE) -> Manifest:
        """Make a manifest from its plain form, which may be anything; `where` names the file in errors."""
        if not isinstance(data, dict):
            raise DamagedError(where, _kind(data), ALLOWED)
        known = {*cls.__slots__}
        if missing := known - {"build"} - {*data}:
            raise DamagedError(where, f"no {clean(min(missing))}", ALLOWED)
        if foreign := {*data} - known:
            raise DamagedError(where, f"the key {clean(min(foreign))}", ALLOWED)
        return cls(
            forebay=_text(data, "forebay", where),
            scenario=_mapping(data, where),
            scenario_sha256=_text(data, "scenario_sha256", where),
            axes=tuple(_axes(data["axes"], where)),
            engine=_text(data, "engine", where),
            replications=_integer(data, "replications", (1, MOST_REPLICATIONS), where),
            seed=_integer(data, "seed", (0, MOST_SEED), where),
            build=_text({"build": "", **data}, "build", where),
        )

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a sweep's folder.

        Raises
        ------
        DamagedError
            If there is none, or if it is damaged.
        """
        path = folder / FILE
        return cls.of(document(content(path, ALLOWED), str(path), ALLOWED), str(path))

    @property
    def title(self) -> str:
        """Title of the scenario, possibly empty."""
        title = self.scenario.get("title")
        return title if isinstance(title, str) else ""

    def start(self, name: str = FILE) -> Scenario:
        """The scenario from which every cell starts; `name` names the file in errors."""
        return Scenario.of(self.scenario, name=name)

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps(to_jsonable(self), indent=2) + "\n"


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    found = data[key]
    if not isinstance(found, str) or len(found) > MOST_CHARACTERS:
        raise DamagedError(where, f"`{key}` as {_kind(found)}", "a short text")
    return found


def _mapping(data: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    found = data["scenario"]
    if not isinstance(found, dict):
        raise DamagedError(where, f"`scenario` as {_kind(found)}", "the tables of a scenario")
    return found


def _integer(data: Mapping[str, Any], key: str, bounds: tuple[int, int], where: str) -> int:
    found = data[key]
    allowed = f"a whole number from {bounds[0]} to {bounds[1]}"
    if not isinstance(found, int) or isinstance(found, bool):
        raise DamagedError(where, f"`{key}` as {_kind(found)}", allowed)
    if not bounds[0] <= found <= bounds[1]:
        raise DamagedError(where, f"`{key}` {clean(found)}", allowed)
    return found


def _axes(found: Any, where: str) -> Iterator[Axis]:
    """The axes: each a key and values, as texts."""
    if not isinstance(found, list):
        raise DamagedError(where, f"`axes` as {_kind(found)}", "a list of axes")
    for axis in found:
        if not isinstance(axis, dict) or {*axis} != {"key", "values"} or not isinstance(axis["values"], list):
            raise DamagedError(where, "an axis without its key and values", "axes of a key and a list of values each")
        if not 1 <= len(axis["values"]) <= MOST_VALUES:
            raise DamagedError(where, f"an axis of {len(axis['values'])} values", f"1 to {MOST_VALUES}")
        values = tuple(_text({"values": value}, "values", where) for value in axis["values"])
        yield Axis(_text(axis, "key", where), values)


def _kind(found: object) -> str:
    """The type of a value, in words."""
    kinds = {type(None): "null", bool: "a truth value", int: "a number", float: "a number with a fraction"}
    return {**kinds, str: "a text", list: "a list", dict: "a table"}[type(found)]
