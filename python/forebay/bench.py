"""Speed of the packet engine on fixed scenarios and of the fluid engine on fixed models: `make bench`.

One JSON line per scenario file: the median over the runs of the data packets that reach the target link per second of
processor time, with events per packet, memory and a digest of the results, so that a speed-up that changes a result
shows. Each run is a process of its own: its peak memory is the scenario's.

Then the fluid engine's lines, from the example `fluid_speed` of its crate: F1 against forward Euler at 2 ms in the same
run, law by law; F2 the whole of figure 6 of Kumar, Azad and Park; F3 1,000 flows at 100 Gb/s. Medians as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import ForebayError, InputError

__all__ = ["main"]


def _one(path: Path) -> Mapping[str, Any]:
    """One replication of one scenario in this process."""
    scenario = _core.Scenario.parse(path.read_text(encoding="utf-8"), "toml", str(path), [])
    outcome = _core.run_batch([(scenario, "packet", scenario.seed, 0)], 1)[0]
    if isinstance(outcome, Exception):
        raise outcome
    report: dict[str, Any] = json.loads(outcome.json())
    cost = report.pop("cost")
    results = json.dumps([report["metrics"], report["groups"]], sort_keys=True)
    return {**cost, "results_sha256": hashlib.sha256(results.encode()).hexdigest()}


def measure(path: Path, runs: int) -> Mapping[str, Any]:
    """Run a scenario file several times, each in a fresh process, and take medians.

    Raises
    ------
    InputError
        Where the file is wrong or a run fails.
    """
    found = []
    for _ in range(runs):
        command = [sys.executable, "-m", "forebay.bench", "--one", str(path)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise InputError((process.stderr.strip().splitlines() or ["the run died"])[-1])
        found.append(json.loads(process.stdout))
    digests = {run["results_sha256"] for run in found}
    if len(digests) != 1:
        raise InputError(f"{path.name}: equal runs gave different results")
    packets, events = found[0]["data_packets"], found[0]["events"]
    speeds = [run["data_packets"] / run["cpu_s"] / 1e6 for run in found if run["cpu_s"] > 0]
    return {
        "name": path.stem,
        "million_packets_per_cpu_s": round(statistics.median(speeds), 3) if speeds else None,
        "events_per_packet": round(events / packets, 4) if packets else None,
        "cpu_s": round(statistics.median(run["cpu_s"] for run in found), 3),
        "wall_s": round(statistics.median(run["wall_s"] for run in found), 3),
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in found),
        "data_packets": packets,
        "events": events,
        "runs": runs,
        "spread": round(max(speeds) / min(speeds) - 1, 3) if speeds else None,
        "results_sha256": found[0]["results_sha256"],
    }


#: Lines of the fluid engine's own example, which cargo builds when asked for.
FLUID = ("F1", "F2", "F3")


def measure_fluid(names: Sequence[str]) -> int:
    """Run the fluid engine's example and let it print its lines; its exit status."""
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "forebay-fluid", "--example", "fluid_speed"]
    try:
        return subprocess.run([*command, "--", *names], check=False).returncode
    except OSError as error:
        print(json.dumps({"name": ",".join(names), "error": f"cargo: {error.strerror}"}), flush=True)
        return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per scenario; 1 where one of them failed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of scenario files")
    parser.add_argument("--only", default="", help="comma-separated names, as in W1,F1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        try:
            print(json.dumps(_one(options.folder)))
        except (ForebayError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        return 0
    files = {path.stem: path for path in sorted(options.folder.glob("*.toml"))}
    asked = [name.strip() for name in options.only.split(",") if name.strip()] or [*files, *FLUID]
    unknown = [name for name in asked if name not in files and name not in FLUID]
    if unknown or not files or options.runs < 1:
        known = ", ".join([*files, *FLUID]) if files else f"none in {options.folder}"
        print(f"bench: found `{','.join(unknown)}`; allowed: {known}", file=sys.stderr)
        return 2
    failed = False
    for name in [name for name in asked if name in files]:
        try:
            print(json.dumps(measure(files[name], options.runs)), flush=True)
        except InputError as error:
            print(json.dumps({"name": name, "error": str(error)}), flush=True)
            failed = True
    fluid = [name for name in asked if name in FLUID]
    if fluid and measure_fluid(fluid) != 0:
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
