"""The jobs of a grid, one for each replication of each cell, and the row that a finished one becomes.

`forebay.sweeps.grid` numbers the jobs, and `forebay.sweeps.batches` stores the rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.scenario import Scenario
from forebay.storage import build
from forebay.sweeps.axes import Axis, Cell, cells

__all__ = ["CellJobs", "CellRun", "Job", "Row", "identity", "jobs_of", "key_of", "row_of"]

#: A row's columns by name: texts, numbers and None.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellRun:
    """One replication of one cell, without the scenario of the cell.

    Attributes
    ----------
    cell : Cell
    replication : int
    engine : str
    """

    cell: Cell
    replication: int
    engine: str

    def __str__(self) -> str:
        return f"cell {self.cell.index} ({self.cell}), replication {self.replication}, {self.engine}"


@dataclass(frozen=True, slots=True)
class Job(CellRun):
    """One replication of one cell, ready to run.

    Attributes
    ----------
    scenario : forebay._core.Scenario
    sha256 : str
        Digest of the scenario.
    key : str
        Key of the job; it differs if anything differs that changes the job's numbers.
    """

    scenario: _core.Scenario
    sha256: str
    key: str


def identity(sha256: str, engine: str, seed: int, replication: int) -> str:
    """The key of a job, made of the digest of its scenario."""
    known = [sha256, engine, seed, replication, build.fingerprint()]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class CellJobs:
    """All jobs of one cell.

    Attributes
    ----------
    cell : Cell
    engine : str
    scenario : forebay._core.Scenario
    sha256 : str
        Digest of the scenario.
    replications, seed : int
        Number of jobs, and their seed.
    """

    cell: Cell
    engine: str
    scenario: _core.Scenario
    sha256: str
    replications: int
    seed: int

    @classmethod
    def of(cls, scenario: Scenario, cell: Cell, engine: str, replications: int, seed: int) -> CellJobs:
        """The jobs of a cell; an engine without random numbers has one replication.

        Raises
        ------
        InputError
            If the cell is no valid scenario, or if there is no such engine.
        """
        core = cell.of(scenario.core)
        chosen = cell.engine(engine)
        if chosen not in _replicates():
            argument = "engine" if chosen == engine else "over"
            raise InputError(_core.unknown("engine", chosen, list(_replicates())), argument)
        return cls(cell, chosen, core, core.sha256, replications if _replicates()[chosen] else 1, seed)

    def key(self, replication: int) -> str:
        """The key of one job."""
        return identity(self.sha256, self.engine, self.seed, replication)

    def job(self, replication: int) -> Job:
        """The job of one replication."""
        return Job(self.cell, replication, self.engine, self.scenario, self.sha256, self.key(replication))


def jobs_of(scenario: Scenario, axes: Sequence[Axis], engine: str, count: int, seed: int) -> Iterator[Job]:
    """Every replication of every cell, in the order of the grid; the scenario of each cell is parsed once."""
    for cell in cells(axes):
        jobs = CellJobs.of(scenario, cell, engine, count, seed)
        yield from (jobs.job(replication) for replication in range(jobs.replications))


@lru_cache(maxsize=1)
def _replicates() -> Mapping[str, bool]:
    """Whether the replications of an engine differ, by the engine's name."""
    return {engine.name: engine.replicates for engine in _core.engines()}


def row_of(job: Job, seed: int, report: Report) -> Row:
    """One job's report as a flat row: identity, axes, buffer, metrics, cost, warnings."""
    plain = json.loads(report.core.json())
    row: dict[str, Any] = {"key": job.key, "cell": job.cell.index, "replication": job.replication}
    row |= {f"axis.{key}": value for key, value in job.cell.settings}
    row |= {"engine": job.engine, "seed": seed, "scenario_sha256": job.sha256}
    row |= {f"buffer.{unit}": value for unit, value in plain["buffer"].items()}
    row |= {name: estimate["mean"] for name, estimate in plain["metrics"].items()}
    for group in plain["groups"]:
        named = group["name"]
        row |= {f"{named}.{name}": estimate["mean"] for name, estimate in group["metrics"].items()}
        times = group.get("completion_time_s") or {}
        row |= {f"{named}.completion_time_{name}_s": value for name, value in times.items()}
    cost = plain["cost"]
    late = cost.pop("lateness", None) or {}
    row |= {f"cost.{name}": value for name, value in cost.items()}
    row |= {f"cost.lateness_{name}": value for name, value in late.items()}
    row["warnings"] = "; ".join(report.warnings)
    return row


def key_of(text: bytes) -> str | None:
    """The key of a row, given as JSON text; its key comes first."""
    found = re.match(rb'\{"key": "([0-9a-f]{32})"', text)
    return found[1].decode() if found else None
