"""`make observed`: captures of scenarios whose truth is known, observed, and the findings beside the truth.

The packet engine runs each case and writes its capture; the observation reads the file as any other. Every number is
compared with the promise of the manual, and the coverage of its 90 % interval is counted.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from checks.observed_cases import CASES, Case
from checks.observed_draws import DEVELOPED_ON, JUDGED_ON, drawn
from checks.observed_places import LINKS, places_table, seen_at_all_places
from checks.pages import print_or_write, selected
from forebay import _core
from forebay.errors import ForebayError
from forebay.measurement.traces import write_traces
from forebay.observation.capture_flows import Observed
from forebay.observation.controllers import FACTORS, UNKNOWN, likeliest
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.inputs.capture import observe_captures
from forebay.observation.limits import Limit
from forebay.results.report import BufferSize
from forebay.scenario import Scenario, run_jobs
from forebay.text import formatting

__all__ = ["MARKS", "PROMISES", "JudgedCase", "Judgment", "Taken", "judge", "main", "tables"]

#: Marks around the tables in docs/background/validation/captures.md.
MARKS = ("<!-- observed: begin -->", "<!-- observed: end -->")
#: Marks around the table of captures of one place.
PLACES_MARKS = ("<!-- places: begin -->", "<!-- places: end -->")

#: Largest distance of each number from the truth, as a share of it.
PROMISES: Mapping[str, float] = {
    "link rate": 0.02,
    "base round trip": 0.05,
    "limited flows": 0.15,
    "load": 0.03,
    "buffer": 0.10,
    "size quantile": 0.10,
}
#: Quantiles of sizes that are compared, and least number of transfers for them.
_QUANTILES, _TRANSFERS = (0.25, 0.5, 0.75, 0.9), 200
#: Bins of stated probabilities.
_STATED = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
#: Controllers that belong to another one's family; variants of a family look alike.
_FAMILIES: Mapping[str, str] = {"bbr3": "bbr"}
#: Number of cases that are drawn of each seed.
_DRAWN = 120


@dataclass(frozen=True)
class Judgment:
    """One number of a case: the observed value and the true one.

    `found` is None if the observation reports it as unknown.
    """

    quantity: str
    truth: float
    found: IntervalEstimate | None

    @property
    def holds(self) -> bool:
        """Whether the estimate is right: an unknown number claims nothing, and an upper bound claims only to be one."""
        if self.found is None:
            return True
        off = abs(self.found.value - self.truth)
        slack = 1.0 if self.quantity == "limited flows" else 0.0
        above = self.found.is_most and self.found.value >= self.truth
        return above or off <= max(PROMISES[self.quantity] * abs(self.truth), slack)

    @property
    def is_covered(self) -> bool | None:
        """Whether the interval covers the truth; None if there is none."""
        return None if self.found is None else self.found.contains(self.truth)


@dataclass(frozen=True)
class Taken:
    """The family that the observation found for a limited flow.

    Attributes
    ----------
    truth, name : str
        Controller of the flow, and the family that the observation named.
    best : str
        The likeliest family, named or not.
    probability, of_truth : float
        Probability of the likeliest family, and of the true one ("unknown" for a controller of no family).
    """

    truth: str
    name: str
    best: str
    probability: float
    of_truth: float

    @property
    def is_right(self) -> bool:
        """Whether the likeliest family is the controller's."""
        return self.best == _FAMILIES.get(self.truth, self.truth)


@dataclass(frozen=True)
class JudgedCase:
    """All judgments of a case, and the family that the observation found for each limited flow."""

    judgments: Sequence[Judgment]
    controllers: Sequence[Taken]


def judge(case: Case, folder: Path) -> JudgedCase:
    """Run a case, write its capture into `folder`, observe it and compare."""
    scenario = Scenario.of(case.tables)
    [report] = run_jobs([_core.Job(scenario.core, "packet", 7, 0, traces=True)])
    write_traces(report, folder)
    observed = observe_captures([folder / "packets.pcapng"])
    packets = pl.read_parquet(folder / "packets.parquet")
    flows = _flows(case, packets)
    return JudgedCase(
        [
            *_of_link(case, report.buffer, packets, observed),
            *_of_flows(case, flows, observed),
            *_of_sizes(folder, observed),
        ],
        _of_controllers(flows, observed),
    )


def _of_link(case: Case, buffer: BufferSize, packets: pl.DataFrame, observed: Observed) -> list[Judgment]:
    link = case.tables.get("link") or case.tables["links"][-1]
    rate = _core.parse_quantity(link["rate"], "rate")
    found = [Judgment("link rate", rate, _known(observed.rate))]
    data = packets.filter(~pl.col("ack"))
    if case.tables["trace"]["capture"] != "arrivals":
        data = data.filter(~pl.col("dropped"))
    seconds = _core.parse_quantity(case.tables["run"]["measure"], "time")
    found.append(Judgment("load", float(data["bytes"].sum()) * 8 / seconds, observed.load_bps))
    if case.buffer:
        limit = observed.queue.limit
        truth = buffer.bytes if isinstance(limit, IntervalEstimate) and limit.unit == "byte" else buffer.packets
        found.append(Judgment("buffer", truth, _known(limit)))
    return found


def _of_flows(case: Case, flows: Sequence[_Flow], observed: Observed) -> list[Judgment]:
    found = []
    if case.limited is not None:
        found.append(Judgment("limited flows", float(case.limited), observed.limited))
    for flow in observed.long_flows:
        true = _flow_of(flow.stream.start_s, flows)
        if true is not None:
            found.append(Judgment("base round trip", true.rtt_s, _known(flow.base_round_trip)))
    return found


def _of_sizes(folder: Path, observed: Observed) -> list[Judgment]:
    path = folder / "transfers.parquet"
    if not path.exists() or len(observed.transfers.bytes) < _TRANSFERS:
        return []
    transfers = pl.read_parquet(path).filter(pl.col("completed_s").is_finite())
    sizes = transfers["packets"].to_numpy() * 1448.0
    truths, found = np.quantile(sizes, _QUANTILES), np.quantile(observed.transfers.bytes, _QUANTILES)
    count = len(observed.transfers.bytes)
    return [
        Judgment(
            "size quantile", float(truth), IntervalEstimate(float(value), float(value), float(value), "byte", "", count)
        )
        for truth, value in zip(truths, found, strict=True)
    ]


def _of_controllers(flows: Sequence[_Flow], observed: Observed) -> list[Taken]:
    found = []
    for flow in observed.long_flows:
        true = _flow_of(flow.stream.start_s, flows)
        if true is not None and flow.limit is Limit.LINK:
            truth, shares = str(true.group["cca"]), flow.family.probabilities
            best = likeliest({name: share for name, share in shares.items() if name != UNKNOWN})
            of_truth = shares.get(_FAMILIES.get(truth, truth), shares[UNKNOWN])
            found.append(Taken(truth, flow.family.name, best, shares[best], of_truth))
    return found


@dataclass(frozen=True)
class _Flow:
    """A persistent flow as it was simulated: its group, its round trip, and the time of its first captured packet."""

    group: Mapping[str, Any]
    rtt_s: float
    first_s: float


def _flow_of(stream_start_s: float, flows: Sequence[_Flow]) -> _Flow | None:
    """The flow of a stream, found by the time of its first packet."""
    nearest = min(flows, key=lambda flow: abs(flow.first_s - stream_start_s), default=None)
    return nearest if nearest is not None and abs(nearest.first_s - stream_start_s) < 1e-6 else None


def _flows(case: Case, packets: pl.DataFrame) -> list[_Flow]:
    """Every persistent flow with a captured packet."""
    before = case.tables["trace"]["capture"] == "arrivals"
    sight = pl.col("time_s") if before else pl.col("time_s") + pl.col("wait_s")
    data = packets.filter(~pl.col("ack") & ~pl.col("syn"))
    data = data if before else data.filter(~pl.col("dropped"))
    sights = data.with_columns(sight.alias("sight")).group_by("flow").agg(pl.col("sight").min())
    firsts = dict(sights.iter_rows())
    begin = min(firsts.values(), default=0.0)
    found, number = [], 0
    for group in case.tables["flows"]:
        rtts = group.get("rtt")
        for index in range(int(group.get("count", 1))):
            if number in firsts and group.get("workload") == "persistent":
                rtt = rtts[index] if isinstance(rtts, list) else rtts
                found.append(_Flow(group, _core.parse_quantity(rtt, "time"), firsts[number] - begin))
            number += 1
    return found


def _known(found: IntervalEstimate | Unknown) -> IntervalEstimate | None:
    return found if isinstance(found, IntervalEstimate) else None


# Tables --------------------------------------------------------------------------------------------------------------


def tables(judged: Mapping[str, Mapping[str, JudgedCase]]) -> str:
    """Tables of sets of cases: estimates that are right, controllers and their probabilities, and deviations."""
    lines: list[str] = []
    for title, cases in judged.items():
        if cases:
            lines += [f"### {title.capitalize()}", "", *_promises(cases), "", *_confusion(cases), ""]
    every = {name: case for cases in judged.values() for name, case in cases.items()}
    lines += [*_reliability(judged), "", *_off(every)]
    return "\n".join(lines)


def _promises(judged: Mapping[str, JudgedCase]) -> list[str]:
    head = ("number", "tolerance", "numbers", "within tolerance", "unknown", "90 % interval covers")
    rows = []
    for what, most in PROMISES.items():
        of_it = [each for case in judged.values() for each in case.judgments if each.quantity == what]
        known = [each for each in of_it if each.found is not None]
        right = sum(each.holds for each in known)
        covered = [bool(each.is_covered) for each in known]
        rows.append(
            (
                what,
                f"{most:.0%}" + (" or 1" if what == "limited flows" else ""),
                str(len(of_it)),
                f"{right} of {len(known)}",
                str(len(of_it) - len(known)),
                f"{np.mean(covered):.0%}" if known and what != "size quantile" else "–",
            )
        )
    return formatting.markdown_table(head, rows)


def _confusion(judged: Mapping[str, JudgedCase]) -> list[str]:
    taken = [each for case in judged.values() for each in case.controllers]
    columns = (*FACTORS, UNKNOWN)
    rows = []
    for truth in sorted({each.truth for each in taken}):
        counts = [sum((each.truth, each.name) == (truth, name) for each in taken) for name in columns]
        rows.append((truth, *map(str, counts)))
    return formatting.markdown_table(("flows of \\ identified as", *columns), rows)


def _reliability(judged: Mapping[str, Mapping[str, JudgedCase]]) -> list[str]:
    """The share of flows that belong to their likeliest family, by the stated probability of that family.

    Flows of one case err together. Beside the share of flows is therefore that of cases, each of which counts once.
    """
    rows = []
    for low, high in itertools.pairwise(_STATED):
        row = [f"{low:.2f} to {high:.2f}"]
        for cases in judged.values():
            # A flow without a finding has no stated probability.
            inside = [
                (each.is_right, each.probability, 1.0 / len(case.controllers))
                for case in cases.values()
                for each in case.controllers
                if low <= each.probability < high + (high == 1.0) and each.probability > 0.0
            ]
            if not inside:
                row += ["0", "–", "–", "–"]
                continue
            right, stated, weights = (np.array(column, dtype=float) for column in zip(*inside, strict=True))
            shares = (stated.mean(), right.mean(), np.average(right, weights=weights))
            row += [str(len(inside)), *(f"{share:.2f}" for share in shares)]
        rows.append(tuple(row))
    scores = ["Brier score"], ["log loss"]
    for cases in judged.values():
        taken = [each for case in cases.values() for each in case.controllers if each.probability > 0.0]
        if not taken:
            scores[0].extend(["–"] * 4)
            scores[1].extend(["–"] * 4)
            continue
        brier = float(np.mean([(each.probability - each.is_right) ** 2 for each in taken]))
        loss = float(np.mean([-math.log(max(each.of_truth, 1e-6)) for each in taken]))
        for score, value in zip(scores, (brier, loss), strict=True):
            score.extend([str(len(taken)), "", f"{value:.3f}", ""])
    head = ["stated probability"]
    for title in judged:
        head += [f"{title}: flows", "stated", "right", "right, by case"]
    return formatting.markdown_table(tuple(head), [*rows, *(tuple(score) for score in scores)])


def _off(judged: Mapping[str, JudgedCase]) -> list[str]:
    """The number of deviations for each case and number, and the farthest of them."""
    rows = []
    for name, case in judged.items():
        for what in PROMISES:
            known = [each for each in case.judgments if each.quantity == what and each.found is not None]
            off = [(abs(each.found.value / each.truth - 1.0), each) for each in known if each.found and not each.holds]
            if not off:
                continue
            _, worst = max(off, key=lambda pair: pair[0])
            assert worst.found is not None
            count = f"{len(off)} of {len(known)}"
            rows.append((name, what, count, f"{worst.truth:.4g}", f"{worst.found.value:.4g}"))
    if not rows:
        return ["No reported number is off."]
    return formatting.markdown_table(("case", "number", "off", "true", "farthest observed"), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge cases whose names contain one of `--only`, drawn ones and captures of one place, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--drawn", type=int, default=_DRAWN, help="how many cases to draw of each seed")
    parser.add_argument("--places", action="store_true", help="judge captures of one place alone")
    parser.add_argument("--write", type=Path, help="a page, or a folder of pages, with the marks around the tables")
    options = parser.parse_args(arguments)
    if not options.places and (code := _judge_cases(options)):
        return code
    places = list(seen_at_all_places(selected(LINKS, options.only)))
    if places:
        print_or_write(places_table(places), options.write, PLACES_MARKS)
    return 0 if all(each.is_right for each in places) else 1


def _judge_cases(options: argparse.Namespace) -> int:
    """Judge the cases, and write their tables; return an exit code."""
    sets: Mapping[str, Mapping[str, Case]] = {
        "chosen cases": CASES,
        "tuning set": drawn(options.drawn, DEVELOPED_ON),
        "test set": drawn(options.drawn, JUDGED_ON),
    }
    judged: dict[str, dict[str, JudgedCase]] = {}
    for title, cases in sets.items():
        chosen = {name: cases[name] for name in selected(cases, options.only)}
        judged[title] = {}
        for number, (name, case) in enumerate(chosen.items(), 1):
            print(f"observed: {title}: {number} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
            try:
                with tempfile.TemporaryDirectory() as folder:
                    judged[title][name] = judge(case, Path(folder))
            except ForebayError as error:
                print(f"observed: {name}: {error}", file=sys.stderr)
                return 1
    print_or_write(tables(judged), options.write, MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
