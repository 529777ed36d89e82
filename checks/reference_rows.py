"""Reference rows of this machine: `make kernel-rows` writes a linux.jsonl that `make reference` reads.

The experiments are those of another folder's linux.jsonl, repeated on this kernel, or one that the options describe. A
row has the experiment and its results, the kernel and its settings, and the machine's lateness. A run that the engine
refuses makes no row.
"""

from __future__ import annotations

import argparse
import platform
import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.kernel_runs import ATTEMPTS, KernelRuns, Ran, RunRequest
from checks.programs import exit_code, is_chosen, new_row_file, write_rows
from checks.rows import LINUX_CONTROLLERS, Row, linux_row
from forebay import _core
from forebay.errors import InputError
from forebay.scenario import Scenario
from forebay.storage.build import fingerprint
from forebay.storage.safe_io import content, document

__all__ = ["Experiment", "experiments_of", "given_experiments", "main", "row_of"]

#: Bytes of a full packet, and range of the uniform starts in seconds, as in existing rows.
PACKET_BYTES, STARTS_S = 1500, (0.0, 2.0)

#: Fields of a row that describe the experiment.
GIVEN = (
    "label",
    "experiment",
    "buffer_bdp_ratio",
    "bdp_packets",
    "bdp_rtt_ms",
    "repeat_index",
    "n_flows",
    "flow_cc",
    "flow_base_rtt_ms",
    "flow_start_s",
    "rate_bits_per_s",
    "buffer_packets_waiting",
    "duration_s",
    "warmup_s",
    "gso_max_segs",
)

#: Metrics of a report by their names in a row, and the factors between.
METRICS: Mapping[str, tuple[str, float]] = {
    "utilisation_ratio": ("utilization", 1.0),
    "loss_ratio_of_arrivals": ("loss_rate", 1.0),
    "queue_delay_packet_mean_ms": ("queue_delay_mean_s", 1e3),
    "queue_delay_packet_p99_ms": ("queue_delay_p99_s", 1e3),
    "queue_delay_max_ms": ("queue_delay_max_s", 1e3),
    "queue_mean_packets_waiting": ("queue_mean_packets", 1.0),
    "jain_index_ratio": ("jain_index", 1.0),
}


@dataclass(frozen=True)
class Experiment:
    """An experiment: the fields of `GIVEN`, and the scenario that the kernel engine makes of them."""

    given: Mapping[str, Any]
    tables: Mapping[str, Any]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Experiment:
        """Make an experiment of the fields of a row, whose numbers are not known yet."""
        empty = {
            "utilisation_ratio": 0.0,
            "loss_ratio_of_arrivals": 0.0,
            "queue_delay_packet_mean_ms": 0.0,
            "drops_packets": 0,
            "drop_episodes_count": 0,
            "flow_goodput_mbit_per_s": [1.0] * len(given["flow_cc"]),
        }
        values = {name: given[name] for name in GIVEN if name in given}
        row: Row = linux_row({**empty, **values})
        assert row.kernel is not None
        return cls(values, row.kernel)

    @property
    def request(self) -> RunRequest:
        """Its run."""
        return RunRequest(f"{self.given['label']} #{self.given['repeat_index']}", self.tables)


def experiments_of(path: Path, match: str = "") -> list[Experiment]:
    """The experiments of a linux.jsonl whose labels contain one of the comma-separated parts of `match`."""
    allowed = "a row of numbers a line, as JSON"
    found = []
    for number, line in enumerate(content(path, allowed).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            each = Experiment.of(document(line, f"line {number}", allowed))
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise InputError(f"{path}:{number}: found no such row ({error!r}); allowed: {allowed}") from None
        if is_chosen(each.request.label, match):
            found.append(each)
    return found


def given_experiments(
    flows: str, rate_bps: int, rtts_ms: Sequence[float], buffer: float, seconds: tuple[float, float], repeats: int
) -> list[Experiment]:
    """An experiment that options describe, `repeats` times with other starts.

    Parameters
    ----------
    flows : str
        Controllers with numbers, as in "2 cubic + 2 bbr".
    rate_bps : int
        The link's rate, in bits of IP packets per second.
    rtts_ms : sequence of float
        One round trip for all flows, or one for each, in milliseconds.
    buffer : float
        Size of the buffer, in bandwidth-delay products of the mean round trip.
    seconds : (float, float)
        Duration of the whole run, and of the warm-up in it, in seconds.
    repeats : int
        Number of experiments.

    Raises
    ------
    InputError
        If the flows cannot be parsed, or if a list has a wrong length.
    """
    controllers = []
    for part in flows.split("+"):
        match = re.fullmatch(r"\s*(\d+)\s*(?:x\s*)?(\w+)\s*", part)
        if match is None or match[2] not in LINUX_CONTROLLERS or not 1 <= int(match[1]) <= 1000:
            known = ", ".join(LINUX_CONTROLLERS)
            raise InputError(
                f"flows: found `{part.strip()}`; allowed: a number and one of {known}, as in 2 cubic + 2 bbr"
            )
        controllers += [match[2]] * int(match[1])
    rtts = list(rtts_ms) * len(controllers) if len(rtts_ms) == 1 else list(rtts_ms)
    if len(rtts) != len(controllers):
        raise InputError(f"rtt: found {len(rtts)} round trips; allowed: one, or {len(controllers)}")
    rtt = sum(rtts) / len(rtts)
    bdp = rate_bps * rtt / 1e3 / 8 / PACKET_BYTES
    label = f"{'_vs_'.join(dict.fromkeys(controllers))}/n{len(controllers)}/b{buffer:g}"
    found = []
    for repeat in range(1, repeats + 1):
        draw = random.Random(f"{label}-{repeat}")
        given = {
            "label": label,
            "experiment": "given",
            "buffer_bdp_ratio": buffer,
            "bdp_packets": round(bdp, 2),
            "bdp_rtt_ms": rtt,
            "repeat_index": repeat,
            "n_flows": len(controllers),
            "flow_cc": controllers,
            "flow_base_rtt_ms": rtts,
            "flow_start_s": [round(draw.uniform(*STARTS_S), 3) for _ in controllers],
            "rate_bits_per_s": rate_bps,
            "buffer_packets_waiting": max(1, round(bdp * buffer)),
            "duration_s": seconds[0],
            "warmup_s": seconds[1],
            "gso_max_segs": 0,
        }
        found.append(Experiment.of(given))
    return found


def row_of(experiment: Experiment, ran: Ran) -> dict[str, Any]:
    """The row of a run: the experiment, the machine, the results, and the machine's lateness."""
    report, given = ran.report, experiment.given
    metrics = {name: estimate.mean for name, estimate in report.metrics.items()}
    row = dict(given) | {
        "kernel": platform.release(),
        "attachment": "tun",
        "emulator": f"forebay {fingerprint()}",
        "sysctls": dict(_core.kernel_sysctls(Scenario.of(experiment.tables).core)),
        "module_parameters": _module_parameters(given["flow_cc"]),
    }
    row |= {name: factor * metrics[metric] for name, (metric, factor) in METRICS.items() if metric in metrics}
    events = metrics.get("congestion_events", 0.0)
    row["drop_episodes_count"] = round(events)
    row["drops_packets"] = round(events * metrics.get("losses_per_event_packets", 0.0))
    flows = _flows(experiment, ran)
    row["flow_goodput_mbit_per_s"] = [flow["goodput_bps"] / 1e6 for flow in flows]
    row["flow_loss_ratio"] = [flow["loss_rate"] for flow in flows]
    row["flow_retransmitted_segments"] = [flow["retransmissions"] for flow in flows]
    late = report.cost.lateness
    if late is not None:
        row |= {
            "lateness_p50_us": 1e6 * late.p50_s,
            "lateness_p99_us": 1e6 * late.p99_s,
            "lateness_p999_us": 1e6 * late.p999_s,
            "lateness_max_us": 1e6 * late.max_s,
            "emulator_freezes_count": late.freezes,
            "emulator_frozen_total_ms": 1e3 * late.frozen_s,
        }
    return row | {"host_load_average_1min": round(ran.load, 2), "try_index": ran.attempt - 1}


def _flows(experiment: Experiment, ran: Ran) -> list[Mapping[str, Any]]:
    """The results of single flows, in the order in which the row names them."""
    groups = {group["name"]: iter(group["per_flow"]) for group in ran.report.to_dict()["groups"]}
    return [next(groups[controller]) for controller in experiment.given["flow_cc"]]


def _module_parameters(controllers: Sequence[str]) -> dict[str, str]:
    """Parameters of the kernel's congestion control modules that were used, for all of the machine."""
    found = {}
    for controller in dict.fromkeys(controllers):
        for path in sorted(Path(f"/sys/module/tcp_{controller}/parameters").glob("*")):
            found[f"tcp_{controller}.{path.name}"] = path.read_text(encoding="utf-8").strip()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested experiments and write their rows; 1 if the engine refused a run at every attempt."""
    parser = argparse.ArgumentParser(prog="make kernel-rows", description=__doc__)
    parser.add_argument("to", type=Path, help="the folder to write linux.jsonl into")
    parser.add_argument("--like", type=Path, metavar="DIR", help="the experiments of this folder's linux.jsonl")
    parser.add_argument("--match", default="", help="of those, labels that contain one of these, with commas between")
    parser.add_argument("--flows", help="or these: 2 cubic + 2 bbr")
    parser.add_argument("--rate", default="50Mbps")
    parser.add_argument("--rtt", default="50ms", help="one, or one for each flow with commas between")
    parser.add_argument("--buffer", type=float, default=1.0, help="in bandwidth-delay products")
    parser.add_argument("--duration", default="120s")
    parser.add_argument("--warmup", default="20s")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="runs at a time, 1 or 2")
    parser.add_argument("--runs", type=Path, default=Path("out/kernel/rows"), metavar="DIR", help="where runs are kept")
    options = parser.parse_args(arguments)
    return exit_code("kernel-rows", lambda: _write(options), "interrupted; the same command goes on where it stopped")


def _write(options: argparse.Namespace) -> int:
    target = new_row_file(options.to, "linux.jsonl")
    experiments = _requested(options)
    runs = KernelRuns(options.runs, options.at_once)
    required = [experiment.request for experiment in experiments]
    print(f"kernel-rows: {runs.cost(required)}; what the engine refuses is run up to {ATTEMPTS} times", file=sys.stderr)
    runs.fetch(required, lambda text: print(f"kernel-rows: {text}", file=sys.stderr, flush=True))
    rows, refused = [], 0
    for experiment in experiments:
        ran = runs.of(experiment.request)
        if isinstance(ran, Ran):
            rows.append(row_of(experiment, ran))
        else:
            refused += 1
            print(f"{experiment.request.label}: no row: {ran.why}")
    write_rows(target, rows)
    return 1 if refused else 0


def _requested(options: argparse.Namespace) -> list[Experiment]:
    if (options.like is None) == (options.flows is None):
        raise InputError("found both or none of --like and --flows; allowed: one of them")
    if options.like is not None:
        found = experiments_of(options.like / "linux.jsonl", options.match)
    else:
        rtts = [1e3 * _core.parse_quantity(part.strip(), "time") for part in options.rtt.split(",")]
        seconds = (_core.parse_quantity(options.duration, "time"), _core.parse_quantity(options.warmup, "time"))
        if not 0.0 <= seconds[1] < seconds[0]:
            raise InputError(f"warmup: found {options.warmup}; allowed: less than duration, {options.duration}")
        rate = round(_core.parse_quantity(options.rate, "rate"))
        found = given_experiments(options.flows, rate, rtts, options.buffer, seconds, options.repeats)
    if not found:
        raise InputError(f"{options.like}: found no row whose label contains `{options.match}`; allowed: one or more")
    return found


if __name__ == "__main__":
    sys.exit(main())
