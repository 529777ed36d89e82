"""`make kernel`: this machine's TCP and the packet engine side by side, over scenarios that are in no reference file.

Each scenario is run by the kernel engine in real time, once or a few times, and by the packet engine often. A single
run of the kernel scatters as one of the packet engine's does. The standard error of a difference is therefore s
sqrt(1/k + 1/n), with s of the packet engine's n runs and k runs of the kernel. A difference beyond three of them has a
named cause, or is printed as not explained.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.kernel_runs import ATTEMPTS, KernelRuns, Ran, Refused, RunRequest
from checks.pages import Marks, renewed, write_pages
from checks.pairs import CAUSES, SCENARIOS
from checks.programs import exit_code, is_chosen
from forebay import _core
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.scenario import Scenario, run_jobs
from forebay.text import formatting

__all__ = ["MARKS", "METRICS", "Pair", "main", "metric_pair", "metric_pairs", "table"]

#: Marks around the table in docs/background/validation/linux.md.
MARKS: Marks = ("<!-- kernel and packets: begin -->", "<!-- kernel and packets: end -->")

#: Metrics of the table: name, factor, unit and number of digits of each.
METRICS: Mapping[str, tuple[str, float, str, int]] = {
    "utilization": ("utilization", 100.0, "%", 2),
    "loss_rate": ("loss", 100.0, "%", 3),
    "queue_delay_mean_s": ("mean queueing delay", 1e3, "ms", 2),
    "jain_index": ("Jain index", 1.0, "", 3),
}

#: Standard errors beyond which a difference needs a cause.
BEYOND = 3.0
#: Number of the packet engine's runs of a scenario.
REPLICATIONS = 24


@dataclass(frozen=True)
class Pair:
    """A metric of one scenario: means of the kernel engine's and the packet engine's runs, in the metric's own unit.

    `error` is the standard error of their difference; zero if the packet engine's runs are all alike.
    """

    kernel: float
    packets: float
    error: float

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        off = abs(self.kernel - self.packets)
        if off == 0.0:
            return 0.0
        return off / self.error if self.error > 0.0 else math.inf


def metric_pair(kernel: Sequence[float], packets: Sequence[float]) -> Pair:
    """Values of one metric over the runs of both."""
    error = statistics.stdev(packets) * math.sqrt(1 / len(kernel) + 1 / len(packets))
    return Pair(statistics.fmean(kernel), statistics.fmean(packets), error)


def packet_tables(tables: Mapping[str, Any], kernel: Sequence[Report]) -> dict[str, Any]:
    """The scenario for the packet engine: this machine's lateness becomes the processing time of its hosts.

    The time is uniform, with the same median as the lateness of both ways together.
    """
    late = statistics.fmean(0.0 if each.cost.lateness is None else each.cost.lateness.p50_s for each in kernel)
    processing = f"{4e6 * late:.3f}us"
    groups = [
        {**group, "processing": processing} if "cca" in group else dict(group)  # others have no sender that waits
        for group in tables["flows"]
    ]
    return {**tables, "flows": groups}


def metric_pairs(
    tables: Mapping[str, Any], kernel: Sequence[Report], replications: int = REPLICATIONS, jobs: int | None = None
) -> dict[str, Pair]:
    """The metrics that both engines report of a scenario."""
    core = Scenario.of(packet_tables(tables, kernel)).core
    packets = run_jobs([_core.Job(core, "packet", 1, number) for number in range(replications)], jobs)
    found = {}
    for name in METRICS:
        ours, theirs = _values(kernel, name), _values(packets, name)
        # Jain's index of one flow is 1 by definition.
        if len(ours) == len(kernel) and len(theirs) == len(packets):
            found[name] = metric_pair(ours, theirs)
    return found


def _values(reports: Iterable[Report], name: str) -> list[float]:
    return [report.metrics[name].mean for report in reports if name in report.metrics]


# The table ---------------------------------------------------------------------------------------------------------


def table(
    found: Mapping[str, Mapping[str, Pair] | Refused], causes: Mapping[tuple[str, str], str] | None = None
) -> str:
    """The differences, scenario by scenario: the kernel's value, and its difference from the packet engine's."""
    named = CAUSES if causes is None else causes
    head = ("scenario", *(f"{title}, {unit}" if unit else title for title, _, unit, _ in METRICS.values()), "cause")
    rows = []
    for name, pairs in found.items():
        if isinstance(pairs, Refused):
            rows.append((name, *[""] * len(METRICS), f"refused {pairs.attempts} times: {pairs.why}"))
            continue
        cells = [_cell(pairs.get(metric), metric) for metric in METRICS]
        rows.append((name, *cells, "; ".join(_reasons(name, pairs, named))))
    return "\n".join([*formatting.markdown_table(head, rows), "", _count(found, named)])


def _cell(pair: Pair | None, metric: str) -> str:
    if pair is None:
        return "–"
    _, scale, _, digits = METRICS[metric]
    off = scale * (pair.kernel - pair.packets)
    text = f"{scale * pair.kernel:.{digits}f}: {off:+.{digits}f} ± {scale * pair.error:.{digits}f}"
    return f"**{text}**" if pair.errors > BEYOND else text


def _reasons(name: str, pairs: Mapping[str, Pair], causes: Mapping[tuple[str, str], str]) -> list[str]:
    beyond = [metric for metric, pair in pairs.items() if pair.errors > BEYOND]
    return list(dict.fromkeys(causes.get((name, metric), "not explained") for metric in beyond))


def _count(found: Mapping[str, Mapping[str, Pair] | Refused], causes: Mapping[tuple[str, str], str]) -> str:
    pairs = [
        (name, metric, pair) for name, of in found.items() if not isinstance(of, Refused) for metric, pair in of.items()
    ]
    within = [sum(pair.errors <= most for _, _, pair in pairs) for most in (1.0, 2.0, BEYOND)]
    beyond = [(name, metric) for name, metric, pair in pairs if pair.errors > BEYOND]
    known = sum(each in causes for each in beyond)
    refused = sum(isinstance(of, Refused) for of in found.values())
    return (
        f"{len(pairs)} differences in {len(found) - refused} scenarios: {within[0]} are within one standard error,\n"
        f"{within[1]} within two and {within[2]} within three.\n{len(beyond)} are beyond three (bold), "
        f"and {known} of these have a named cause."
    )


# The command -------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested scenarios; print the table, or renew it in the manual."""
    parser = argparse.ArgumentParser(prog="make kernel", description=__doc__)
    parser.add_argument(
        "--only", default="", help="scenarios whose names contain one of these, with semicolons between"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs of the kernel engine for each scenario")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="of those, at a time: 1 or 2")
    parser.add_argument("--folder", type=Path, default=Path("out/kernel/pairs"), help="where those are kept")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="renew the table in this page, or in a page of this folder"
    )
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args(arguments)
    return exit_code("kernel", lambda: _compare(options), "interrupted; the same command goes on where it stopped")


def _compare(options: argparse.Namespace) -> int:
    if options.runs < 1:
        raise InputError(f"runs: found {options.runs}; allowed: 1 or more")
    if options.write is not None:
        if options.only:
            raise InputError("WRITE: found ONLY beside it; allowed: all scenarios, so that the page has them all")
        renewed(options.write, {MARKS: ""})  # A page without its marks is found before an hour.
    chosen = {name: tables for name, tables in SCENARIOS.items() if is_chosen(name, options.only, ";")}
    if not chosen:
        raise InputError(f"ONLY: found `{options.only}`; allowed: parts of {'; '.join(SCENARIOS)}")
    runs = KernelRuns(options.folder, options.at_once)
    requested = {
        name: [RunRequest(name, tables, number) for number in range(options.runs)] for name, tables in chosen.items()
    }
    required = [each for of in requested.values() for each in of]
    print(f"kernel: {runs.cost(required)}; what the engine refuses is run up to {ATTEMPTS} times", file=sys.stderr)
    runs.fetch(required, lambda text: print(f"kernel: {text}", file=sys.stderr, flush=True))
    found: dict[str, Mapping[str, Pair] | Refused] = {}
    for name, tables in chosen.items():
        outcomes = [runs.of(each) for each in requested[name]]
        reports = [each.report for each in outcomes if isinstance(each, Ran)]
        refused = [each for each in outcomes if isinstance(each, Refused)]
        found[name] = metric_pairs(tables, reports, jobs=options.jobs) if reports else refused[0]
    text = table(found)
    print(text)
    if options.write is not None:
        write_pages(renewed(options.write, {MARKS: text}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
