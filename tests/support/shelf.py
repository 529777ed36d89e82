"""The guided experiments of the laboratory as its page defines them, and their runs by the engines of this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from forebay.scenario import Scenario
from tests.support.paths import ROOT

LAB = ROOT / "lab"
#: The narrow space between a number and its unit.
SPACE = "\u202f"


@dataclass(frozen=True)
class Told:
    """The statements of the page about reports."""

    claim: bool
    happened: str
    compared: str | None
    #: The number of the right answer; none where a curve is drawn.
    right: int | None


class Shelf:
    """Definitions of all experiments, in their order."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._source, self._sink = process.stdin, process.stdout
        #: Each by its id.
        self.all: dict[str, Any] = {each["id"]: each for each in json.loads(self._sink.readline())}

    def natively(self, name: str, seed: int | None = None) -> list[dict[str, Any]]:
        """Reports of an experiment's runs by this machine's engines, as the page makes them: replication 0."""
        experiment = self.all[name]
        return [
            Scenario.parse(experiment["scenario"], overrides=run["overrides"])
            .run(run.get("engine", "packet"), seed=seed, replications=1)
            .to_dict()
            for run in experiment["runs"]
        ]

    def told(self, name: str, reports: Sequence[dict[str, Any]]) -> Told:
        """The statements of the page about such reports."""
        self._source.write(json.dumps({"id": name, "reports": reports}) + "\n")
        self._source.flush()
        return Told(**json.loads(self._sink.readline()))

    def table(self, name: str, reports: Sequence[dict[str, Any]]) -> list[list[str]]:
        """The table of an experiment, from the numbers of the reports alone."""
        experiment = self.all[name]
        return [
            [run["name"], *(shown(figure(report, each["metric"]), each["unit"]) for each in experiment["columns"])]
            for run, report in zip(experiment["runs"], reports, strict=True)
        ]


@contextmanager
def opened() -> Iterator[Shelf]:
    """The shelf, while Node reads it."""
    if shutil.which("node") is None:
        pytest.skip("needs node on PATH (Debian: apt-get install nodejs)")
    if not (LAB / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs the laboratory's packages: make lab")
    command = ["node", str(ROOT / "tests/support/shelf.mjs"), str(LAB)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Shelf(process)
        process.kill()


def figure(report: dict[str, Any], metric: str) -> float:
    """A report's number by a name such as `utilization` or `cubic.goodput_bps`."""
    group, _, name = metric.rpartition(".")
    metrics = report["metrics"]
    if group:
        parts = [*report["groups"], *report.get("links", [])]
        [metrics] = [each["metrics"] for each in parts if each["name"] == group]
    return float(metrics[name]["mean"])


def shown(value: float, unit: str) -> str:
    """A number as the page shows it: three digits and a unit."""
    if unit == "share":
        return f"{digits(100 * value)}{SPACE}%"
    if unit == "time":
        scale, name = next(each for each in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= each[0] or value == 0)
        return f"{digits(value * round(1 / scale))}{SPACE}{name}"
    if unit == "rate":
        scale, name = next(each for each in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")) if value >= each[0])
        return f"{digits(value / scale)}{SPACE}{name}b/s"
    if unit == "number":
        return digits(value)
    raise AssertionError(unit)


def digits(value: float) -> str:
    """Three digits, counted from the first one that is not zero."""
    if value == 0:
        return "0"
    exact = Decimal(value)
    places = max(0, 2 - exact.adjusted())
    return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
