"""Reports: what an engine says of one scenario, with its uncertainty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from forebay import _core

__all__ = ["Estimate", "Report"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty.

    Attributes
    ----------
    mean : float
        Mean over the replications, in the metric's unit.
    half_width : float or None
        Half width of the interval; None for one replication or an exact number.
    confidence : float
        Coverage of the interval.
    """

    mean: float
    half_width: float | None
    confidence: float = 0.95


class Report:
    """The answer of one engine to one scenario (the shape of the JSON is documented under "Report").

    Parameters
    ----------
    core : forebay._core.Report
        As the Rust side made it.
    """

    def __init__(self, core: _core.Report) -> None:
        self._core = core

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The report as plain dictionaries and lists."""
        data: Mapping[str, Any] = json.loads(self._core.json())
        return data

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self.data["engine"])

    @property
    def buffer(self) -> Mapping[str, float | None]:
        """The target link's buffer in packets, bytes, seconds and BDP."""
        buffer: Mapping[str, float | None] = self.data["buffer"]
        return buffer

    @cached_property
    def metrics(self) -> Mapping[str, Estimate]:
        """Metrics of the target link by their names in the report."""
        return {name: Estimate(**estimate) for name, estimate in self.data["metrics"].items()}

    @property
    def groups(self) -> list[Mapping[str, Any]]:
        """One entry per flow group."""
        groups: list[Mapping[str, Any]] = self.data["groups"]
        return groups

    @cached_property
    def distributions(self) -> Mapping[str, list[tuple[float, float, int]]]:
        """Histograms at the target link and of groups ("group.name"): (low, high, count) for each bin.

        Units are those that the names end with; low is included and high is not.
        """
        named = list(self.data.get("distributions", {}).items())
        for group in self.groups:
            for name, histogram in group.get("distributions", {}).items():
                named.append((f"{group['name']}.{name}", histogram))
        return {name: [(low, high, count) for low, high, count in histogram["bins"]] for name, histogram in named}

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the numbers."""
        return list(self.data["warnings"])

    def traces(self) -> dict[str, dict[str, Any]] | None:
        """What was recorded over time: NumPy arrays by table ("flows", "queue", "packets") and column."""
        return self._core.traces()

    def write_pcapng(self, path: Path) -> bool:
        """Write the traced packets as a pcapng capture; return whether there were any.

        Interface 0 sees packets as they arrive at the target link's queue, interface 1 as they begin to leave it.
        """
        return self._core.write_pcapng(path)

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.data, indent=indent)

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name}={estimate.mean:.4g}" for name, estimate in self.metrics.items())
        return f"<Report {self.engine}: {metrics}>"
