"""The jobs of a grid, one for each replication of each cell, and the row that a finished one becomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.results.serialization import to_jsonable
from forebay.scenario import Scenario
from forebay.storage import build
from forebay.sweeps.axes import Axis, Cell, cells

__all__ = ["Job", "Row", "identity", "jobs_of", "placed", "row_of"]

#: A row's columns by name: texts, numbers and None.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One replication of one cell.

    Attributes
    ----------
    cell : Cell
    replication : int
    engine : str
    scenario : forebay._core.Scenario
    sha256 : str
        Digest of the scenario.
    key : str
        Key of the job; it differs if anything differs that changes the job's numbers.
    """

    cell: Cell
    replication: int
    engine: str
    scenario: _core.Scenario
    sha256: str
    key: str

    def __str__(self) -> str:
        return f"cell {self.cell.index} ({self.cell}), replication {self.replication}, {self.engine}"

    def is_of(self, row: Row) -> bool:
        """Whether a row names this job."""
        recorded = [row.get(name) for name in ("key", "scenario_sha256", "engine", "replication")]
        return recorded == [self.key, self.sha256, self.engine, self.replication]


def identity(sha256: str, engine: str, seed: int, replication: int) -> str:
    """The key of a job, made of the digest of its scenario."""
    known = [sha256, engine, seed, replication, build.fingerprint()]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def jobs_of(scenario: Scenario, axes: Sequence[Axis], engine: str, count: int, seed: int) -> Iterator[Job]:
    """Every replication of every cell, in the order of the grid; the scenario of each cell is parsed once."""
    engines = {engine.name: engine for engine in _core.engines()}
    for cell in cells(axes):
        core = cell.of(scenario.core)
        chosen = cell.engine(engine)
        if chosen not in engines:
            argument = "engine" if chosen == engine else "over"
            raise InputError(_core.unknown("engine", chosen, list(engines)), argument)
        digest = core.sha256
        for replication in range(count if engines[chosen].replicates else 1):
            yield Job(cell, replication, chosen, core, digest, identity(digest, chosen, seed, replication))


def row_of(job: Job, seed: int, report: Report) -> Row:
    """One job's report as a flat row: identity, axes, buffer, metrics, cost, warnings."""
    row: dict[str, Any] = {"key": job.key, "cell": job.cell.index, "replication": job.replication}
    row |= {f"axis.{key}": value for key, value in job.cell.settings}
    row |= {"engine": job.engine, "seed": seed, "scenario_sha256": job.sha256}
    row |= {f"buffer.{unit}": value for unit, value in to_jsonable(report.buffer).items()}
    row |= {name: estimate.mean for name, estimate in report.metrics.items()}
    for group in report.groups:
        row |= {f"{group.name}.{name}": estimate.mean for name, estimate in group.metrics.items()}
        row |= {f"{group.name}.completion_time_{name}_s": value for name, value in group.completion_time_s.items()}
    cost = to_jsonable(report.cost)
    late = cost.pop("lateness", {})
    row |= {f"cost.{name}": value for name, value in cost.items()}
    row |= {f"cost.lateness_{name}": value for name, value in late.items()}
    row["warnings"] = "; ".join(report.warnings)
    return row


def placed(row: Row, job: Job) -> Row:
    """A row at the job's own place in the grid: two cells may resolve to the same scenario."""
    return {**row, "cell": job.cell.index, **{f"axis.{key}": value for key, value in job.cell.settings}}
