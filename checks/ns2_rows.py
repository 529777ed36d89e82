"""Rows of ns-2.35 off phase: `make ns2-rows` runs Debian's `ns` and writes an ns2.jsonl that `make reference` reads.

The scenarios are those of tests/ns2/offphase/scenarios.toml, or of another file in its form; tests/ns2/row.tcl runs one
of them. Round trips are moved by a part of a transmission time (`off_phase`), so that no flow keeps a place among the
packets of the others. Each seed is a substream of ns-2's random numbers.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.phases import on_phase
from checks.programs import exit_code, is_chosen, new_row_file, write_rows
from forebay.errors import InputError, UnavailableError

__all__ = ["Run", "main", "off_phase", "row_of", "runs_of"]

SCRIPT = Path("tests/ns2/row.tcl")
SCENARIOS = Path("tests/ns2/offphase/scenarios.toml")

#: First part of a transmission time by which a round trip is moved, and step from one to the next: the golden ratio,
#: of which no few multiples lie close together.
FIRST, STEP = 0.29, 0.6180339887

#: Parts of a transmission time that are this close to a whole or a half one are moved on by as much.
CLEAR = 0.03

#: Options of row.tcl by the names of a row, where they have no default there that a row should not state.
OPTIONS: Mapping[str, str] = {
    "rate_bps": "rate",
    "access_bps": "access",
    "bottleneck_delay_s": "delay",
    "wire_bytes": "wire",
    "duration_s": "duration",
    "warmup_s": "warmup",
    "buffer_pkts": "buffer",
    "seed": "seed",
    "queue": "queue",
    "red_adaptive": "red_adaptive",
    "model": "model",
    "cc": "cc",
    "rtt_s": "rtt",
    "start_jitter_s": "jitter",
    "min_rto_s": "min_rto",
    "tcp_tick_s": "tick",
    "newreno_impatient": "impatient",
    "bg_bps": "bg_rate",
    "bg_flows": "bg_flows",
    "reverse_cc": "reverse_cc",
    "reverse_rtt_s": "reverse_rtt",
    "persistent_flows": "persistent_flows",
    "users": "users",
    "load": "load",
    "sync_bin_s": "bin",
}

#: Fields of a row's result by the names that row.tcl prints, and their rounding to decimals or significant digits.
RESULTS: Mapping[str, str] = {
    "utilization": "utilization",
    "loss_rate": "loss_rate",
    "arrivals_pkts": "arrivals_pkts",
    "drops_pkts": "drops_pkts",
    "mean_queue_pkts": "mean_queue_pkts",
    "bottleneck_pkts_forwarded_total": "bottleneck_pkts_forwarded_total",
    "nrexmit_": "flow_timeouts",
    "nrexmitpack_": "flow_retransmitted_pkts",
    "ncwndcuts_": "flow_window_cuts",
    "events": "congestion_events",
}

#: Longest time that one run may take, in seconds.
LONGEST_S = 600


@dataclass(frozen=True)
class Run:
    """One run of ns-2: the name of its experiment and the fields of `given`."""

    experiment: str
    given: Mapping[str, Any]


def off_phase(rtts_s: Sequence[float], packet_s: float) -> list[float]:
    """Move round trips to parts of a transmission time that are neither whole nor half, each to another.

    Parameters
    ----------
    rtts_s : sequence of float
        Round trips, in seconds.
    packet_s : float
        Transmission time of a full packet on the bottleneck, in seconds.

    Returns
    -------
    list of float
        Round trips less than two transmission times away, rounded to a nanosecond.
    """
    moved = []
    for index, rtt in enumerate(rtts_s):
        part = (FIRST + STEP * index) % 1.0
        if abs(2.0 * part - round(2.0 * part)) < 2.0 * CLEAR:
            part += 2.0 * CLEAR
        moved.append(round((int(rtt / packet_s + 1e-9) + part) * packet_s, 9))
    assert not any(on_phase(rtt, packet_s) for rtt in moved)
    return moved


def runs_of(path: Path) -> Iterator[Run]:
    """The runs of a file of scenarios: each scenario with each of its seeds."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}; allowed: tables [defaults] and [[scenario]]") from None
    for scenario in found["scenario"]:
        fields = {**found.get("defaults", {}), **scenario}
        try:
            name, seeds, given = fields.pop("name"), fields.pop("seeds"), _given(fields)
        except KeyError as error:
            raise InputError(f"{path}: {scenario.get('name', 'a scenario')}: found no {error}") from None
        yield from (Run(name, {**given, "seed": seed}) for seed in seeds)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row's `given`, without its seed."""
    rate, wire = float(fields["rate_bps"]), int(fields["wire_bytes"])
    packet_s = 8.0 * wire / rate
    first, last = fields.pop("rtt_s")
    factor = fields.pop("access_factor")
    fields.setdefault("access_bps", factor * rate)
    forward, reverse = _controllers(fields.get("cc", [])), _controllers(fields.get("reverse_cc", []))
    flows = fields.pop("sources", len(forward))
    rtts = off_phase(_spaced(first, last, flows), packet_s)
    mean = sum(rtts) / len(rtts)
    given = dict(fields)
    given["rtt_s"] = _joined(rtts)
    given["buffer_pkts"] = max(2, round(given.pop("bdp") * rate * mean / (8.0 * wire)))
    if forward:
        given["cc"] = ",".join(forward)
        given["sync_bin_s"] = round(mean, 3)
    else:
        given.pop("start_jitter_s")
    if reverse:
        # The two directions have round trips of their own, so that they do not lock either.
        backwards = off_phase([0.0] * flows + _spaced(first, last, len(reverse)), packet_s)
        given["reverse_cc"] = ",".join(reverse)
        given["reverse_rtt_s"] = _joined(backwards[flows:])
    return given


def _controllers(parts: Sequence[str]) -> list[str]:
    """Controllers in the order of their flows, from texts such as "4 sack"."""
    found = []
    for part in parts:
        match = re.fullmatch(r"(\d+) ([\w:]+)", part)
        if match is None:
            raise InputError(f"cc: found `{part}`; allowed: a number and a controller, as in 4 sack")
        found += [match[2]] * int(match[1])
    return found


def _spaced(first: float, last: float, count: int) -> list[float]:
    return [first + (last - first) * index / max(1, count - 1) for index in range(count)]


def _joined(values: Sequence[float]) -> str:
    return ",".join(f"{value:.9f}" for value in values)


def row_of(run: Run, printed: str, version: str) -> dict[str, Any]:
    """The row of a run from what row.tcl printed."""
    stated = dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)
    result: dict[str, Any] = {}
    for name, field in RESULTS.items():
        if name not in stated:
            continue
        values = [float(value) for value in stated[name].split()]
        if field == "utilization":
            result[field] = round(values[0], 6)
        elif field == "loss_rate":
            result[field] = float(f"{values[0]:.5g}")
        elif field == "mean_queue_pkts":
            result[field] = round(values[0], 3)
        else:
            counts = [int(value) for value in values]
            result[field] = counts if field.startswith("flow_") else counts[0]
    if "ack_" in stated:
        bits = 8.0 * run.given["wire_bytes"] / (run.given["duration_s"] - run.given["warmup_s"])
        result["flow_goodput_bps"] = [round(float(value) * bits) for value in stated["ack_"].split()]
    if run.given.get("model") in {"open", "closed"}:
        result["mean_flow_pkts"] = 85.69
    return {
        "experiment": run.experiment,
        "simulator": f"ns-2.35 (Debian {version})",
        "given": run.given,
        "result": result,
    }


def _run(program: str, run: Run) -> str:
    """Return the text that row.tcl prints for a run."""
    options = [part for name, value in run.given.items() for part in (OPTIONS[name], str(value))]
    try:
        done = subprocess.run(
            [program, str(SCRIPT), *options], capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{run.experiment} seed={run.given['seed']}: ns took more than {LONGEST_S} s") from None
    if done.returncode or "utilization" not in done.stdout or "ollision" in done.stderr:
        text = (done.stderr or done.stdout).strip()
        raise UnavailableError(f"{run.experiment} seed={run.given['seed']}: ns failed: {text}")
    return done.stdout


def _version() -> str:
    """The version of Debian's package."""
    requested = ["dpkg-query", "--show", "--showformat=${Version}", "ns2"]
    try:
        return subprocess.run(requested, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios and write their rows."""
    parser = argparse.ArgumentParser(prog="make ns2-rows", description=__doc__)
    parser.add_argument("to", type=Path, help="the folder to write ns2.jsonl into")
    parser.add_argument("--scenarios", type=Path, default=SCENARIOS, metavar="FILE")
    parser.add_argument(
        "--match", default="", help="only experiments with one of these in their name, with commas between"
    )
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="runs at a time")
    options = parser.parse_args(arguments)
    return exit_code("ns2-rows", lambda: _write(options), "interrupted; no row is written")


def _write(options: argparse.Namespace) -> int:
    target = new_row_file(options.to, "ns2.jsonl")
    program = shutil.which("ns")
    if program is None:
        raise UnavailableError("found no program `ns`; install Debian's package ns2")
    runs = [run for run in runs_of(options.scenarios) if is_chosen(run.experiment, options.match)]
    if not runs:
        raise InputError(f"{options.scenarios}: found no experiment with `{options.match}`; allowed: one or more")
    version, rows = _version(), []
    with ThreadPoolExecutor(max(1, options.at_once)) as pool:
        for run, printed in zip(runs, pool.map(lambda each: _run(program, each), runs), strict=True):
            rows.append(row_of(run, printed, version))
            result = rows[-1]["result"]
            print(
                f"{run.experiment} seed={run.given['seed']}: utilization {result['utilization']}, "
                f"loss {result['loss_rate']}, queue {result['mean_queue_pkts']}",
                flush=True,
            )
    write_rows(target, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
