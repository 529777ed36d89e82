"""The packet engine compared with theory, and a table that counts every kind of check.

``python -m checks.theory`` runs the checks against theory and prints a line for each and the table. With
``--reference DIR`` the numbers of other programs are counted too, as ``make reference`` judges them. With ``--write
FOLDER`` each table replaces the one between its marks, on the page of the folder that has them.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import reference, summary
from checks.findings import Finding, Tally, read, settled
from checks.pages import Marks, renewed, write_pages
from checks.programs import exit_code
from forebay import _core
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.scenario import Scenario, run_jobs
from forebay.text.formatting import markdown_table

__all__ = [
    "CHECKS",
    "Check",
    "Outcome",
    "blocks",
    "counts",
    "found_in",
    "main",
    "md1_wait",
    "md1k_loss",
    "mm1k",
    "pair_per_round_trip",
    "sawtooth",
]

#: Marks around the checks against theory, and around the counts of every kind of check.
THEORY: Marks = ("<!-- theory: begin -->", "<!-- theory: end -->")
COUNTS: Marks = ("<!-- checks: begin -->", "<!-- checks: end -->")

#: Marks around the shares of families, and around the numbers that are not judged.
SHARES: Marks = ("<!-- families: begin -->", "<!-- families: end -->")
UNJUDGED: Marks = ("<!-- not judged: begin -->", "<!-- not judged: end -->")

#: Figures of one report: metrics by name, those of a group as "group.metric", and packets as "packets".
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Check:
    """One quantity that theory gives.

    Attributes
    ----------
    name, source : str
        Checked quantity, and the theory.
    tables : mapping
        The scenario.
    ours : callable
        Function from one report's figures to the quantity.
    theory : callable
        Function from one report's figures to the value of theory, which may relate two of them.
    tolerance : float
        Largest relative difference that comes from the theory's own assumptions and not from the sample.
    """

    name: str
    source: str
    tables: Mapping[str, Any]
    ours: Callable[[Figures], float]
    theory: Callable[[Figures], float]
    tolerance: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a check: means, the standard error of ours, and whether the difference is within its bounds."""

    check: Check
    ours: float
    theory: float
    error: float
    passed: bool


# Theory ------------------------------------------------------------------------------------------------------------


def md1_wait(load: float, service: float) -> float:
    """Mean wait in an M/D/1 queue (Pollaczek and Khinchine)."""
    return service * load / (2.0 * (1.0 - load))


def md1k_loss(load: float, capacity: int) -> float:
    """Loss of an M/D/1/K system of ``capacity`` packets, the one in service included.

    From the chain embedded at departures: pi(0..K-1), loss = 1 - 1 / (pi(0) + load).
    """
    arrivals = [math.exp(-load)]
    for k in range(1, capacity + 1):
        arrivals.append(arrivals[-1] * load / k)
    chain = [1.0]
    for n in range(capacity - 1):
        seen = chain[0] * arrivals[n] + sum(chain[k] * arrivals[n + 1 - k] for k in range(1, n + 1))
        chain.append((chain[n] - seen) / arrivals[0])
    return 1.0 - 1.0 / (chain[0] / sum(chain) + load)


def mm1k(load: float, capacity: int) -> tuple[float, float]:
    """Loss and mean number waiting of an M/M/1/K system of ``capacity`` packets, the one in service included."""
    weights = [load**n for n in range(capacity + 1)]
    total = sum(weights)
    return weights[-1] / total, sum((n - 1) * w for n, w in enumerate(weights) if n > 0) / total


def sawtooth(ratio: float) -> float:
    """Mean utilization of one flow that halves its window, over a buffer of ``ratio`` bandwidth-delay products."""
    floor = 0.5 * (1.0 + ratio)
    if floor >= 1.0:
        return 1.0
    rise = ratio + 0.5 * ratio * ratio
    return ((1.0 - floor * floor) / 2.0 + rise) / (1.0 - floor + rise)


def pair_per_round_trip(round_trip_s: float, packet_s: float) -> float:
    """Utilization of one flow of exact hosts over one waiting packet: two packets in each round trip.

    Acknowledgments are a transmission apart, and so are the packets that they release. An acknowledgment that lets the
    window grow releases two packets at the end of a transmission: the first waits, and the second finds the buffer
    full. The flow repairs that loss within two round trips, in which two packets arrive each.
    """
    return 2.0 * packet_s / (round_trip_s + packet_s)


def _exponential_sizes(mean: float) -> Mapping[str, Any]:
    """Packet sizes of the exponential distribution up to 65,535 bytes."""
    points = [[f"{1 + 200 * k}B", -math.expm1(-200 * k / mean)] for k in range(327)]
    return {"cdf": [*points, ["65535B", 1.0]]}


# Scenarios ---------------------------------------------------------------------------------------------------------


def _tables(link: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"link": {"rate": "100Mbps", **link}, "flows": list(flows), "run": run}


def _poisson(
    load: float, buffer: str, packet: Any = "1250B", queue: Any = "droptail", seconds: int = 100
) -> Mapping[str, Any]:
    flows = [{"name": "poisson", "packet": packet, "workload": {"poisson": {"rate": f"{100 * load:g}Mbps"}}}]
    warmup = "60s" if load > 1 else "2s"
    return _tables({"buffer": buffer, "queue": queue}, flows, {"warmup": warmup, "measure": f"{seconds}s"})


#: Measured seconds of one flow, and the packets that its link can send in a second.
ELEPHANT_S, ELEPHANT_PPS = 1500, 6250


def _elephant(buffer: str) -> Mapping[str, Any]:
    flow = {
        "name": "one",
        "cca": "newreno",
        "recovery": "sack",
        "rtt": "100ms",
        "packet": "1000B",
        "start": {"uniform": ["0s", "1s"]},
    }
    return _tables({"rate": "50Mbps", "buffer": buffer}, [flow], {"warmup": "200s", "measure": f"{ELEPHANT_S}s"})


def _measured_packets(figures: Mapping[str, float]) -> float:
    """Packets of one flow in the measured time; the report's cost has the warm-up's, too."""
    return figures["utilization"] * ELEPHANT_PPS * ELEPHANT_S


def _unequal(queue: str) -> Mapping[str, Any]:
    flows = [
        {"name": name, "packet": packet, "workload": {"cbr": {"rate": "90Mbps"}}}
        for name, packet in (("large", "1500B"), ("small", "300B"))
    ]
    return _tables({"buffer": "200p", "queue": queue}, flows, {"warmup": "2s", "measure": "60s"})


def _switch(alpha: float, overloaded: int) -> Mapping[str, Any]:
    links = [
        {
            "name": f"port{k}",
            "rate": "100Mbps",
            "buffer": "100000p",
            "memory": "chip",
            "queue": {"kind": "dynamic_threshold", "alpha": alpha},
            "target": k == 0,
        }
        for k in range(overloaded)
    ]
    flows = [
        {"name": f"f{k}", "packet": "1250B", "path": [f"port{k}"], "workload": {"poisson": {"rate": "150Mbps"}}}
        for k in range(overloaded)
    ]
    memories = [{"name": "chip", "size": "600p"}]
    return {"links": links, "memories": memories, "flows": flows, "run": {"warmup": "2s", "measure": "10s"}}


def _slow_way_back() -> Mapping[str, Any]:
    links = [
        {"name": "down", "rate": "100Mbps", "buffer": "10000p", "target": True},
        {"name": "up", "rate": "300kbps", "buffer": "100000p"},
    ]
    flow = {"name": "one", "rtt": "40ms", "packet": "1500B", "path": ["down"], "reverse": ["up"]}
    return {"links": links, "flows": [flow], "run": {"warmup": "5s", "measure": "5s"}}


def _codel_drops(seconds: float, interval: float) -> float:
    """The number of CoDel's signals in a time that begins with the first (RFC 8289 section 3.3)."""
    at, count = 0.0, 0
    while at <= seconds:
        count += 1
        at += interval / math.sqrt(count)
    return float(count)


def _metric(name: str) -> Callable[[Figures], float]:
    return lambda figures: figures[name]


def _constant(value: float) -> Callable[[Figures], float]:
    return lambda _figures: value


def _queues() -> Iterator[Check]:
    """One server with Poisson arrivals: waiting and loss."""
    for load in (0.5, 0.7, 0.9):
        yield Check(
            f"M/D/1, load {load}: mean waiting time",
            "Pollaczek and Khinchine",
            _poisson(load, "100000p"),
            _metric("queue_delay_mean_s"),
            _constant(md1_wait(load, 1e-4)),
            0.005,
        )
    for load, waiting in ((0.9, 10), (1.0, 10), (1.2, 5)):
        yield Check(
            f"M/D/1/K, load {load}, {waiting} waiting places: loss",
            "embedded Markov chain",
            _poisson(load, f"{waiting}p"),
            _metric("loss_rate"),
            _constant(md1k_loss(load, waiting + 1)),
            0.005,
        )
    for load in (0.9, 1.0):
        loss, queue = mm1k(load, 11)
        scenario = _poisson(load, "10p", _exponential_sizes(5000.0), seconds=400)
        for what, metric, value in (("loss", "loss_rate", loss), ("mean queue", "queue_mean_packets", queue)):
            name = f"M/M/1/K, load {load}, 10 waiting places: {what}"
            yield Check(name, "birth and death", scenario, _metric(metric), _constant(value), 0.01)
        bursts = _metric("loss_burst_mean_packets")
        name = f"M/M/1/K, load {load}, 10 waiting places: mean loss burst"
        yield Check(name, "geometric, 1 + load", scenario, bursts, _constant(1.0 + load), 0.02)


def _one_flow() -> Iterator[Check]:
    """One flow that halves its window: the link's utilization, and the relation between window and cuts."""
    for buffer in (5, 62, 125, 312, 625, 937):
        yield Check(
            f"one flow, {buffer} packets of 625 BDP: utilization",
            "sawtooth integrated over a cycle",
            _elephant(f"{buffer}p"),
            _metric("utilization"),
            _constant(sawtooth(buffer / 625.0)),
            0.005,
        )
    for rate, rtt in ((10, 10), (10, 50), (100, 20)):
        flow = {"name": "one", "cca": "newreno", "rtt": f"{rtt}ms", "processing": "0s"}
        link = {"rate": f"{rate}Mbps", "buffer": "1p"}
        yield Check(
            f"one flow of exact hosts, {rate} Mb/s, {rtt} ms, 1 packet: utilization",
            "two packets a round trip: the second of a pair is lost",
            _tables(link, [flow], {"warmup": "20s", "measure": "100s"}),
            _metric("utilization"),
            _constant(pair_per_round_trip(rtt / 1e3, 12e-3 / rate)),
            0.005,
        )
    for buffer in (5, 20):
        yield Check(
            f"one flow, {buffer} packets: window against cut rate",
            "W = sqrt(3 / 2p), p cuts per packet (Mathis et al. 1997)",
            _elephant(f"{buffer}p"),
            _metric("one.window_mean_packets"),
            lambda figures: math.sqrt(1.5 * _measured_packets(figures) / figures["congestion_events"]),
            0.01,
        )


def _fair_queues() -> Iterator[Check]:
    """Packets of unequal sizes share fairly."""
    for queue in ("drr", "stfq", "fq_codel"):
        yield Check(
            f"{queue}, packets of 1500 and 300 bytes: ratio of goodputs",
            "fair to within a quantum and two packets (Shreedhar and Varghese 1995)",
            _unequal(queue),
            lambda figures: figures["large.goodput_bps"] / figures["small.goodput_bps"],
            _constant(1.0),
            0.002,
        )


def _active_queues() -> Iterator[Check]:
    """The equilibrium of active queue management under traffic that never reacts."""
    # 12,000 packets arrive in a second and 10,000 leave: the wait stays above the target for the whole time.
    flood = [{"name": "flood", "packet": "1250B", "workload": {"cbr": {"rate": "120Mbps"}}}]
    yield Check(
        "CoDel, steady overload: drops in 20 s",
        "n-th drop interval / sqrt(n) after the one before (RFC 8289)",
        _tables({"buffer": "1000000p", "queue": "codel"}, flood, {"warmup": "0s", "measure": "20s"}),
        lambda figures: figures["loss_rate"] * figures["packets"],
        # A departing packet has waited for a sixth of the time: 5 ms, the target, after 30 ms. An interval without
        # drops follows.
        _constant(_codel_drops(20.0 - 0.03 - 0.1, 0.1)),
        0.01,
    )
    yield Check(
        "PIE, steady overload by a fifth: mean queue",
        "an integral controller rests at its target of 15 ms (RFC 8033)",
        _poisson(1.2, "2000p", queue="pie"),
        _metric("queue_mean_packets"),
        _constant(150.0),
        0.05,
    )
    red = {"kind": "red", "min": "100p", "max": "300p", "max_p": 0.1, "adaptive": False, "wait": False}
    yield Check(
        "RED, steady overload by a fifth: mean queue",
        "drops 1 to 1/p - 1 arrivals apart, six on average (Floyd and Jacobson 1993)",
        _poisson(1.2, "2000p", queue=red),
        _metric("queue_mean_packets"),
        _constant(100.0 + 200.0 * (0.5 / 6.0) / 0.1),
        0.02,
    )


def _networks() -> Iterator[Check]:
    """Ports that share a memory, and a way back that is slow."""
    for alpha, ports in ((1.0, 1), (1.0, 4), (8.0, 2)):
        yield Check(
            f"shared memory, alpha {alpha:g}, {ports} ports overloaded: queue of each",
            "alpha B / (1 + alpha S) (Choudhury and Hahne 1998)",
            _switch(alpha, ports),
            _metric("queue_mean_packets"),
            _constant(alpha * 600.0 / (1.0 + alpha * ports)),
            0.02,
        )
    yield Check(
        "acknowledgments over 300 kb/s: goodput",
        "a packet for each acknowledgment of 40 bytes",
        _slow_way_back(),
        _metric("goodput_bps"),
        _constant(300e3 / 320.0 * 1460.0 * 8.0),
        0.01,
    )


#: Every check against theory.
CHECKS: Sequence[Check] = (*_queues(), *_one_flow(), *_fair_queues(), *_active_queues(), *_networks())


# Running -----------------------------------------------------------------------------------------------------------


def _figures(report: Report) -> dict[str, float]:
    figures = {name: estimate.mean for name, estimate in report.metrics.items()}
    for group in report.groups:
        figures |= {f"{group.name}.{name}": estimate.mean for name, estimate in group.metrics.items()}
    figures["packets"] = float(report.cost.data_packets)
    return figures


def run_check(check: Check, replications: int, jobs: int | None) -> Outcome:
    """Run one check.

    It passes if the mean over replications is within the tolerance and three standard errors of the theory.
    """
    core = Scenario.of(check.tables).core
    reports = run_jobs([_core.Job(core, "packet", 1, k) for k in range(replications)], jobs)
    figures = [_figures(report) for report in reports]
    differences = [check.ours(each) - check.theory(each) for each in figures]
    error = statistics.stdev(differences) / math.sqrt(replications)
    theory = statistics.fmean(check.theory(each) for each in figures)
    ours = statistics.fmean(check.ours(each) for each in figures)
    passed = abs(statistics.fmean(differences)) <= check.tolerance * abs(theory) + 3.0 * error
    return Outcome(check, ours, theory, error, passed)


def _run_all(replications: int, jobs: int | None) -> list[Outcome]:
    outcomes = []
    for check in CHECKS:
        outcome = run_check(check, replications, jobs)
        outcomes.append(outcome)
        verdict = "passed" if outcome.passed else "failed"
        print(
            f"theory {check.name:64} theory {outcome.theory:<11.6g} ours {outcome.ours:<11.6g} "
            f"+- {outcome.error:<9.2g} tolerance {100 * check.tolerance:g} %  {verdict}",
            flush=True,
        )
    return outcomes


def found_in(folder: Path, replications: int, jobs: int | None) -> list[Finding]:
    """The findings about a reference folder, or those that a file holds."""
    if folder.is_file():
        return read(folder)
    judge = reference.Judge(max(replications, 8), jobs)
    for kind in reference.KINDS:
        if reference.file_of(folder, kind).is_file():
            reference.compare(judge, folder, kind)
    summary.print_summary(judge.findings)
    return judge.findings


def counts(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """(source, numbers that agree, of) for each file of a reference folder."""
    kinds = dict.fromkeys(found.kind for found in findings)
    tallies = {kind: Tally.of([found for found in settled(findings) if found.kind == kind]) for kind in kinds}
    return [
        (summary.SOURCES[kind], str(tally.agreed), str(tally.agreed + tally.differed))
        for kind, tally in tallies.items()
    ]


def theory_table(outcomes: Sequence[Outcome]) -> str:
    """Return the checks against theory as a Markdown table."""
    rows = [
        (
            found.check.name,
            found.check.source,
            f"{found.theory:.5g}",
            f"{found.ours:.5g}",
            "passed" if found.passed else "**failed**",
        )
        for found in outcomes
    ]
    return "\n".join(markdown_table(("quantity", "source", "theory", "forebay", "result"), rows)) + "\n"


def counts_table(outcomes: Sequence[Outcome], references: Sequence[tuple[str, str, str]]) -> str:
    """Return the numbers that agree with theory and with each other program as a Markdown table."""
    passed = sum(found.passed for found in outcomes)
    rows = [
        (source, agreed, of, f"{100.0 * int(agreed) / int(of):.1f} %" if int(of) else "–")
        for source, agreed, of in [("theory", str(passed), str(len(outcomes))), *references]
    ]
    return "\n".join(markdown_table(("compared with", "numbers that agree", "of", "share"), rows)) + "\n"


def blocks(outcomes: Sequence[Outcome], findings: Sequence[Finding] | None) -> dict[Marks, str]:
    """Return the tables of the manual by their marks; without findings only the checks against theory."""
    tables = {THEORY: theory_table(outcomes)}
    if findings:
        tables[COUNTS] = counts_table(outcomes, counts(findings))
        tables[SHARES] = summary.shares_table(findings)
        tables[UNJUDGED] = summary.unjudged_table(findings)
    return tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; 0 if all against theory pass."""
    parser = argparse.ArgumentParser(prog="make checks", description=__doc__)
    parser.add_argument(
        "--reference",
        type=Path,
        help="a folder of reference numbers, counted too, or what make reference WRITE=FILE wrote",
    )
    parser.add_argument("--write", type=Path, help="a folder of pages, or a page, whose tables are replaced")
    parser.add_argument("--replications", type=int, default=4)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args(arguments)
    return exit_code("checks", lambda: _check(options), "interrupted")


def _check(options: argparse.Namespace) -> int:
    if options.replications < 2:
        raise InputError(f"replications: found {options.replications}; allowed: 2 or more")
    if options.write is not None:
        # A page without its marks is found before the checks.
        renewed(options.write, dict.fromkeys((THEORY, COUNTS, SHARES, UNJUDGED), ""))
    outcomes = _run_all(options.replications, options.jobs)
    findings = None
    if options.reference is not None:
        findings = found_in(options.reference, options.replications, options.jobs)
    if options.write is not None:
        write_pages(renewed(options.write, blocks(outcomes, findings)))
    print(theory_table(outcomes))
    print(counts_table(outcomes, counts(findings or ())))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
