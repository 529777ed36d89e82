"""What a sweep is of: its scenario, axes, replications and seed, as its folder's `manifest.json` says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.plain import plain
from forebay.scenario import Scenario
from forebay.sweeps.axes import Axis

__all__ = ["Manifest"]

FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The fields of the file, in its order.

    Attributes
    ----------
    forebay : str
        Version that ran it.
    scenario : mapping
        What every cell starts from, resolved.
    scenario_sha256 : str
        Its digest.
    axes : tuple of Axis
        The last runs fastest.
    engine : str
        Where no axis names it.
    replications, seed : int
        Of every cell.
    """

    forebay: str
    scenario: Mapping[str, Any]
    scenario_sha256: str
    axes: tuple[Axis, ...]
    engine: str
    replications: int
    seed: int

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Manifest:
        """From its plain form."""
        axes = tuple(Axis(axis["key"], tuple(axis["values"])) for axis in data["axes"])
        return cls(**{**data, "axes": axes})

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """That of a sweep's folder."""
        return cls.of(json.loads((folder / FILE).read_text(encoding="utf-8")))

    @property
    def title(self) -> str:
        """Title of the scenario, possibly empty."""
        return str(self.scenario.get("title") or "")

    def start(self, name: str = FILE) -> Scenario:
        """The scenario that every cell starts from; `name` stands for the file in errors."""
        return Scenario.of(self.scenario, name=name)

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps(plain(self), indent=2) + "\n"
