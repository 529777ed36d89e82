"""forebay compared with numbers of other programs, of the Linux kernel and of a real switch: `make reference`.

Reads those of oracle.json, ns2.jsonl, linux.jsonl, tofino.jsonl and ns3.jsonl that a folder has
(tests/reference/README.md describes the format). It turns each row into a forebay scenario and runs it at least eight
times with the row's own duration and start distribution. It judges each number by the rule stated there. The rule is
|theirs - mean(ours)| <= max(base, 2.5 s), with 2.5 s capped at 4 points of utilization or 40 % of a loss rate. ns-3's
rows are a cross-check of trends: they are printed and not counted.

ENGINE=kernel judges this machine's own TCP by the kernel's rows, the only ones that it can answer. A row is run once,
with its original starts, in real time. The scatter s is that of the packet engine's runs of the row, so that its
tolerances are the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checks.findings import Finding, Tally, read, settled, write
from checks.kernel_runs import ATTEMPTS, KernelRuns, Refused, RunRequest
from checks.programs import exit_code, is_chosen
from checks.rows import Number, Row, read_folder
from checks.summary import print_summary
from forebay import _core
from forebay.errors import ForebayError, InputError
from forebay.results.report import Estimate, Report
from forebay.scenario import Scenario, run_jobs
from forebay.storage.safe_io import DamagedError, content, document

__all__ = ["KINDS", "Judge", "Tally", "compare", "file_of", "finding", "main"]

KINDS = ("oracle", "ns2", "linux", "tofino", "ns3")

#: Why the kernel engine has no answer to rows of the other kinds.
NOT_A_KERNEL: Mapping[str, str] = {
    "oracle": "formulas are no run",
    "ns2": "they ran ns-2's TCP, and the kernel engine has this machine's",
    "tofino": "they ran Linux 5.5's TCP at 10 Gb/s over two cards",
    "ns3": "they ran ns-3's TCP, and the kernel engine has this machine's",
}


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

    def __init__(self, replications: int, jobs: int | None, kernel: KernelRuns | None = None) -> None:
        self.replications, self.jobs, self.kernel = replications, jobs, kernel
        self.findings: list[Finding] = []
        self.widely = 0
        self._known: dict[str, Mapping[str, list[float]] | str] = {}

    def row(self, row: Row, repeats: Mapping[str, Sequence[float]]) -> None:
        """Judge every number of one row; `repeats` has their numbers of all rows of the same scenario."""
        if self.kernel is not None:
            self._kernel_row(row, repeats)
            return
        ours = self._run(row.tables)
        for number in row.numbers:
            values = ours if isinstance(ours, str) else ours.get(number.metric, "forebay did not report it")
            self._add(_with_repeats(finding(row, number, values), repeats.get(number.name, ())))

    def _kernel_row(self, row: Row, repeats: Mapping[str, Sequence[float]]) -> None:
        """Judge a run of the kernel engine by the tolerances that the packet engine's runs give."""
        assert self.kernel is not None
        assert row.kernel is not None
        found = self.kernel.of(RunRequest(row.label, row.kernel))
        scatter = self._run(row.tables)
        for number in row.numbers:
            if isinstance(found, Refused):
                refused = replace(number, unjudged=f"refused {found.attempts} times: {found.why}")
                self._add(finding(row, refused, found.why))
                continue
            ours = _one(_figures(found.report), number.metric)
            others = scatter if isinstance(scatter, str) else scatter.get(number.metric, "the packet engine has none")
            judged = finding(row, number, others) if isinstance(others, str) else finding(row, number, ours, others)
            self.widely += judged.judged and judged.agrees and _off(judged) > number.base
            self._add(_with_repeats(judged, repeats.get(number.name, ())))

    def _run(self, tables: Mapping[str, Any]) -> Mapping[str, list[float]] | str:
        """The values of each metric over the replications, or the reason why there are none."""
        key = scenario_key(tables)
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
        self.findings.append(Finding(kind, "rows that cannot be read", label, "row", None, why=reason))
        print(f"{kind:6} {label:64} failed: {reason}", flush=True)

    def _add(self, found: Finding) -> None:
        """Store and print the finding about a row's number."""
        self.findings.append(found)
        ours = "-" if found.ours is None else f"{found.ours:.6g}"
        allowed = "-" if found.allowed is None else f"{found.allowed:.3g}"
        print(
            f"{found.kind:6} {found.row:64} {found.number:16} theirs {found.theirs:<11.6g} ours {ours:<11} "
            f"tolerance {allowed:<9} {_verdict(found)}",
            flush=True,
        )

    def oracle(self, row: Mapping[str, Any]) -> None:
        """Judge one formula's value."""
        theirs = float(row["value"])
        label = f"{row['id']} {row['quantity']}"
        tolerance = _core.REFERENCE_TOLERANCE * max(abs(theirs), 1e-300)
        found = Finding("oracle", "formulas", str(row["id"]), row["quantity"], theirs, allowed=tolerance)
        try:
            ours = _core.evaluate(row["model"], row["quantity"], json.dumps(row["inputs"]))
            found = replace(found, ours=ours, runs=1, agrees=abs(ours - theirs) <= tolerance)
        except ForebayError as error:
            found = replace(found, why=str(error))
        self.findings.append(found)
        shown = "-" if found.ours is None else f"{found.ours:.12g}"
        print(
            f"oracle {label:64} theirs {theirs:<19.12g} ours {shown:<19} tolerance {tolerance:<9.3g} {_verdict(found)}"
        )


def _one(figures: Mapping[str, float], metric: str) -> list[float] | str:
    return [figures[metric]] if metric in figures else "forebay did not report it"


def finding(row: Row, number: Number, values: Sequence[float] | str, scatter: Sequence[float] | None = None) -> Finding:
    """Compare one number with the mean of ours by the rule; without values, the finding has the reason.

    `scatter` has values of other runs whose deviation counts, if ours are too few for one.
    """
    found = Finding(
        row.kind,
        row.family,
        row.label,
        number.name,
        number.theirs,
        phase=row.phase,
        noise=number.noise,
        unjudged=number.unjudged,
    )
    if isinstance(values, str):
        return replace(found, why=values)
    mean = number.scale * statistics.fmean(values) + number.offset
    deviation = number.scale * statistics.stdev(values if scatter is None else scatter)
    allowed = max(number.base, min(2.5 * deviation, number.cap))
    agrees = abs(number.theirs - mean) <= allowed
    why = f"explained: {row.explanation}" if row.explanation is not None and not agrees else ""
    return replace(found, ours=mean, deviation=deviation, runs=len(values), allowed=allowed, agrees=agrees, why=why)


def _verdict(found: Finding) -> str:
    """The end of a number's line."""
    if found.unjudged is not None:
        return f"not judged: {found.unjudged}"
    if found.trend:
        return "trend: agrees" if found.agrees else f"trend: differs {found.why}".rstrip()
    if found.agrees:
        return "passed"
    if found.why.startswith("explained: "):
        return f"failed ({found.why})"
    return "failed" + (f": {found.why}" if found.why else "")


def _with_repeats(found: Finding, theirs: Sequence[float]) -> Finding:
    """The finding, with mean and scatter of theirs over all rows of the same scenario."""
    if len(theirs) < 2:
        return found
    return replace(
        found,
        mean=statistics.fmean(theirs),
        scatter=statistics.stdev(theirs),
        repeats=len(theirs),
        range=max(theirs) - min(theirs),
    )


def scenario_key(tables: Mapping[str, Any]) -> str:
    """A text that is the same for the same scenario."""
    return json.dumps(tables, sort_keys=True)


def _repeats(rows: Iterable[Row]) -> Mapping[str, Mapping[str, list[float]]]:
    """Theirs by scenario and number, over all rows of a file."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        of_scenario = found.setdefault(scenario_key(row.tables), {})
        for number in row.numbers:
            of_scenario.setdefault(number.name, []).append(number.theirs)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare with a folder; 0 if there are numbers and at least 90 % of those judged pass."""
    parser = argparse.ArgumentParser(prog="make reference", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="comma-separated out of oracle, ns2, linux, tofino, ns3")
    parser.add_argument("--match", default="", help="only rows whose label contains one of these, with commas between")
    parser.add_argument("--engine", choices=("packet", "kernel"), default="packet")
    parser.add_argument(
        "--at-once", type=int, default=1, metavar="N", help="runs of the kernel engine at a time, 1 or 2"
    )
    parser.add_argument(
        "--runs", type=Path, default=Path("out/kernel/reference"), metavar="DIR", help="where those are kept"
    )
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write every number as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="say what differs from what --write wrote before")
    options = parser.parse_args(arguments)
    goes_on = "; the same command goes on where it stopped" if options.engine == "kernel" else ""
    return exit_code("reference", lambda: _judge(options), f"interrupted{goes_on}")


def _judge(options: argparse.Namespace) -> int:
    kinds = _kinds(options.folder, options.only)
    before = None if options.against is None else read(options.against)
    if options.write is not None and not options.write.parent.is_dir():
        raise InputError(f"WRITE: found no folder {options.write.parent}; allowed: a file in a folder that exists")
    if options.replications < 8:
        raise InputError(f"replications: found {options.replications}; allowed: 8 or more")
    judge = Judge(options.replications, options.jobs)
    if options.engine == "kernel":
        judge.kernel = KernelRuns(options.runs, options.at_once)
        _fetch(judge.kernel, options.folder, kinds, options.match)
    for kind in kinds:
        compare(judge, options.folder, kind, options.match)
    if options.write is not None:
        write(options.write, judge.findings, options.replications)
    print_summary(judge.findings, before)
    tally = Tally.of(settled(judge.findings))
    if judge.kernel is not None:
        narrowly = tally.passed - judge.widely
        print(f"of {tally.passed} that pass, {narrowly} do so within the base alone, {judge.widely} within 2.5 s only")
    print("\n".join(tally.lines()))
    if not judge.findings:
        print(f"reference: found no row to judge in {options.folder}; allowed: one or more", file=sys.stderr)
        return 1
    return 0 if tally.passed >= 0.9 * (tally.passed + tally.failed) else 1


def compare(judge: Judge, folder: Path, kind: str, match: str = "") -> None:
    """Judge the rows of one file of a folder whose label contains a part of `match`, a printed line per number."""
    if judge.kernel is not None and kind in NOT_A_KERNEL:
        print(f"{kind:6} not run: {NOT_A_KERNEL[kind]}", flush=True)
        return
    if kind == "oracle":
        for row in _oracle_rows(file_of(folder, kind)):
            if is_chosen(f"{row['id']} {row['quantity']}", match):
                judge.oracle(row)
        return
    rows = list(read_folder(folder, kind))
    repeats = _repeats(row for row in rows if isinstance(row, Row))
    for found in rows:
        if not isinstance(found, Row):
            judge.unreadable(kind, *found)
        elif is_chosen(found.label, match):
            judge.row(found, repeats[scenario_key(found.tables)])


def _fetch(kernel: KernelRuns, folder: Path, kinds: Iterable[str], match: str) -> None:
    """Make the runs of the kernel engine that are to be judged, and print their duration beforehand."""
    rows = (row for kind in kinds if kind not in NOT_A_KERNEL for row in read_folder(folder, kind))
    requested = [
        RunRequest(row.label, row.kernel)
        for row in rows
        if isinstance(row, Row) and row.kernel is not None and is_chosen(row.label, match)
    ]
    print(f"kernel: {kernel.cost(requested)}; what the engine refuses is run up to {ATTEMPTS} times", file=sys.stderr)
    kernel.fetch(requested, lambda text: print(f"kernel: {text}", file=sys.stderr, flush=True))


def _off(found: Finding) -> float:
    return 0.0 if found.theirs is None or found.ours is None else abs(found.theirs - found.ours)


def _oracle_rows(path: Path) -> list[Mapping[str, Any]]:
    """The rows of oracle.json, each with the fields that name it."""
    allowed = "a table with a list `rows` (tests/reference/README.md)"
    found = document(content(path, allowed), str(path), allowed)
    rows = found.get("rows") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and {"id", "quantity"} <= {*row} for row in rows):
        raise DamagedError(str(path), "no rows that each have an id and a quantity", allowed)
    return rows


def file_of(folder: Path, kind: str) -> Path:
    """The file of a folder with the numbers of one kind."""
    return folder / ("oracle.json" if kind == "oracle" else f"{kind}.jsonl")


def _kinds(folder: Path, only: str) -> Iterable[str]:
    """The files to read: the requested ones, or all that exist."""
    if not folder.is_dir():
        raise InputError(f"{folder}: found no such folder; allowed: a folder with oracle.json, ns2.jsonl, ...")
    requested = [part.strip() for part in only.split(",") if part.strip()]
    for part in requested:
        if part not in KINDS:
            raise InputError(f"ONLY: found `{part}`; allowed: {', '.join(KINDS)}")
    files = {kind: file_of(folder, kind) for kind in KINDS}
    present = [kind for kind in KINDS if files[kind].is_file()]
    missing = [kind for kind in requested if kind not in present]
    if missing or not present:
        absent = (
            files[missing[0]].name if missing else "any of oracle.json, ns2.jsonl, linux.jsonl, tofino.jsonl, ns3.jsonl"
        )
        raise InputError(f"{folder}: found no {absent}")
    return [kind for kind in present if not requested or kind in requested]


if __name__ == "__main__":
    sys.exit(main())
