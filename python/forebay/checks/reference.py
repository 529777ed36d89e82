"""forebay against numbers that other programs and the Linux kernel gave: `make reference`.

Reads oracle.json, ns2.jsonl, linux.jsonl, tofino.jsonl and ns3.jsonl of a folder (tests/reference/README.md describes the format),
turns each row into a forebay scenario, runs it at least eight times with the row's own duration and start law, and
judges each number by the rule stated there: |theirs - mean(ours)| <= max(base, 2.5 s), 2.5 s capped at 4 points of
utilization or 40 % of a loss rate. ns-3's rows are a cross-check of trends: they are printed and not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.checks.rows import Number, Row, read_folder
from forebay.errors import ForebayError, InputError
from forebay.metric import find
from forebay.report import Estimate, Report
from forebay.scenario import Scenario, run_jobs

__all__ = ["KINDS", "Judge", "Tally", "compare", "file_of", "main"]

KINDS = ("oracle", "ns2", "linux", "tofino", "ns3")


@dataclass(slots=True)
class Tally:
    """What was counted."""

    passed: int = 0
    failed: int = 0
    rows_passed: int = 0
    rows_failed: int = 0
    trends: list[bool] = field(default_factory=list)
    unjudged: int = 0

    @property
    def agreed(self) -> int:
        """Numbers within their tolerance, trends included."""
        return self.passed + sum(self.trends)

    @property
    def differed(self) -> int:
        """Numbers outside of it, and rows that cannot be run."""
        return self.failed + len(self.trends) - sum(self.trends)

    def lines(self) -> Iterator[str]:
        """What is said at the end; the last line is "N passed, N failed"."""
        if self.unjudged:
            yield f"{self.unjudged} numbers printed and not judged"
        if self.trends:
            yield f"trends (ns-3, not counted): {sum(self.trends)} of {len(self.trends)} within the tolerance"
        rows = self.rows_passed + self.rows_failed
        if rows:
            yield f"{self.rows_passed} of {rows} rows with something to judge passed whole"
        yield f"{self.passed} passed, {self.failed} failed"


def _figures(report: Report) -> dict[str, float]:
    """The metrics of a link, and each group's share of the goodput."""
    figures = {name: estimate.mean for name, estimate in report.metrics.items()}
    rates = {group.name: group.metrics.get("goodput_bps", Estimate(0.0)).mean for group in report.groups}
    total = sum(rates.values())
    if total > 0.0:
        figures.update({f"share of {name}": rate / total for name, rate in rates.items()})
    return figures


class Judge:
    """Runs rows, each distinct scenario once, and prints a line per number."""

    def __init__(self, replications: int, jobs: int | None) -> None:
        self.replications, self.jobs = replications, jobs
        self.tally = Tally()
        self._known: dict[str, Mapping[str, list[float]] | str] = {}

    def row(self, row: Row) -> None:
        """Judge every number of one row."""
        ours = self._run(row.tables)
        failed, judged = self.tally.failed, self.tally.failed + self.tally.passed
        self._numbers(row, ours)
        if self.tally.failed + self.tally.passed > judged:
            whole = self.tally.failed == failed
            self.tally.rows_passed += whole
            self.tally.rows_failed += not whole

    def _numbers(self, row: Row, ours: Mapping[str, list[float]] | str) -> None:
        for number in row.numbers:
            if isinstance(ours, str):
                self._print(row, number, None, None, None, ours)
                continue
            values = ours.get(number.metric)
            if values is None:
                self._print(row, number, None, None, None, "forebay did not report it")
                continue
            mean = number.scale * statistics.fmean(values) + number.offset
            deviation = number.scale * statistics.stdev(values)
            tolerance = max(number.base, min(2.5 * deviation, number.cap))
            close = abs(number.theirs - mean) <= tolerance
            self._print(row, number, mean, tolerance, close, "")

    def _run(self, tables: Mapping[str, Any]) -> Mapping[str, list[float]] | str:
        """Values of each metric over the replications, or why there are none."""
        key = json.dumps(tables, sort_keys=True)
        if key not in self._known:
            try:
                core = Scenario.of(tables).core
                jobs = [_core.Job(core, "packet", 1, replication) for replication in range(self.replications)]
                reports = [_figures(report) for report in run_jobs(jobs, self.jobs)]
                names = set(reports[0]).intersection(*reports)
                self._known[key] = {name: [report[name] for report in reports] for name in sorted(names)}
            except ForebayError as error:
                self._known[key] = str(error)
        return self._known[key]

    def unreadable(self, kind: str, label: str, reason: str) -> None:
        """Count a row that could not be turned into a scenario as failed."""
        self.tally.failed += 1
        print(f"{kind:6} {label:64} failed: {reason}", flush=True)

    def _print(
        self,
        row: Row,
        number: Number,
        mean: float | None,
        tolerance: float | None,
        close: bool | None,
        why: str,
    ) -> None:
        if number.unjudged is not None:
            self.tally.unjudged += 1
            verdict = f"not judged: {number.unjudged}"
        elif row.kind == "ns3":
            self.tally.trends.append(close is True)
            verdict = "trend: agrees" if close else f"trend: differs {why}".rstrip()
        elif close:
            self.tally.passed += 1
            verdict = "passed"
        else:
            self.tally.failed += 1
            verdict = "failed" + (f": {why}" if why else "")
            if row.explanation is not None:
                verdict += f" (explained: {row.explanation})"
        ours = "-" if mean is None else f"{mean:.6g}"
        allowed = "-" if tolerance is None else f"{tolerance:.3g}"
        metric = find(number.metric)
        name = number.title or (number.metric if metric is None else metric.goal_name)
        print(
            f"{row.kind:6} {row.label:64} {name:16} theirs {number.theirs:<11.6g} ours {ours:<11} "
            f"tolerance {allowed:<9} {verdict}",
            flush=True,
        )

    def oracle(self, row: Mapping[str, Any]) -> None:
        """Judge one formula's value."""
        theirs = float(row["value"])
        label = f"{row['id']} {row['quantity']}"
        tolerance = _core.REFERENCE_TOLERANCE * max(abs(theirs), 1e-300)
        try:
            ours = _core.evaluate(row["model"], row["quantity"], json.dumps(row["inputs"]))
            close = abs(ours - theirs) <= tolerance
            verdict = "passed" if close else "failed"
            found = f"{ours:.12g}"
        except ForebayError as error:
            close, verdict, found = False, f"failed: {error}", "-"
        self.tally.passed += close
        self.tally.failed += not close
        print(f"oracle {label:64} theirs {theirs:<19.12g} ours {found:<19} tolerance {tolerance:<9.3g} {verdict}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare with a folder; 0 where at least 90 % of the judged numbers pass."""
    parser = argparse.ArgumentParser(prog="make reference", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="comma-separated out of oracle, ns2, linux, tofino, ns3")
    parser.add_argument("--match", default="", help="only rows whose label contains this")
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args(arguments)
    try:
        kinds = _kinds(options.folder, options.only)
    except InputError as error:
        print(f"reference: {error}", file=sys.stderr)
        return 2
    if options.replications < 8:
        print(f"reference: replications: found {options.replications}; allowed: 8 or more", file=sys.stderr)
        return 2
    judge = Judge(options.replications, options.jobs)
    try:
        for kind in kinds:
            compare(judge, options.folder, kind, options.match)
    except KeyboardInterrupt:
        print("reference: interrupted", file=sys.stderr)
        return 130
    tally = judge.tally
    print("\n".join(tally.lines()))
    judged = tally.passed + tally.failed
    return 0 if tally.passed >= 0.9 * judged else 1


def compare(judge: Judge, folder: Path, kind: str, match: str = "") -> None:
    """Judge the rows of one file of a folder whose label contains `match`, a printed line per number."""
    if kind == "oracle":
        for row in json.loads(file_of(folder, kind).read_text(encoding="utf-8"))["rows"]:
            if match in f"{row['id']} {row['quantity']}":
                judge.oracle(row)
        return
    for found in read_folder(folder, kind):
        if isinstance(found, Row):
            if match in found.label:
                judge.row(found)
        else:
            judge.unreadable(kind, *found)


def file_of(folder: Path, kind: str) -> Path:
    """Where a folder keeps the numbers of one kind."""
    return folder / ("oracle.json" if kind == "oracle" else f"{kind}.jsonl")


def _kinds(folder: Path, only: str) -> Iterable[str]:
    """The files to read: those asked for, or all that are there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: found no such folder; allowed: a folder with oracle.json, ns2.jsonl, ...")
    asked = [part.strip() for part in only.split(",") if part.strip()]
    for part in asked:
        if part not in KINDS:
            raise InputError(f"ONLY: found `{part}`; allowed: {', '.join(KINDS)}")
    files = {kind: file_of(folder, kind) for kind in KINDS}
    present = [kind for kind in KINDS if files[kind].is_file()]
    missing = [kind for kind in asked if kind not in present]
    if missing or not present:
        absent = files[missing[0]].name if missing else "any of oracle.json, ns2.jsonl, linux.jsonl, tofino.jsonl, ns3.jsonl"
        raise InputError(f"{folder}: found no {absent}")
    return [kind for kind in present if not asked or kind in asked]


if __name__ == "__main__":
    sys.exit(main())
