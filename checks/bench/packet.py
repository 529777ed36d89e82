"""The packet engine's speed on a scenario file: each run is a process of its own, with its own peak memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.bench.alone import COUNTED, YARDSTICK_EVENTS
from forebay.errors import InputError

__all__ = ["Timing", "measure", "run"]

#: Share of the yardstick's best speed at or above which a run is undisturbed.
UNDISTURBED = 0.9


def run(path: Path, overrides: Sequence[str] = (), *, under: Sequence[str] = ()) -> Mapping[str, Any]:
    """Run one replication in a process of its own (`alone`), `under` a program that counts if one is given.

    Raises
    ------
    InputError
        If the file is wrong, the run fails or there is no such program.
    """
    counted = [COUNTED] if under else []
    command = [*under, sys.executable, "-m", "checks.bench.alone", *counted, str(path), *overrides]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from error
    if process.returncode != 0:
        raise InputError((process.stderr.strip().splitlines() or ["the run died"])[-1])
    found: dict[str, Any] = json.loads(process.stdout)
    return found


@dataclass(frozen=True, slots=True)
class Timing:
    """Equal runs of one scenario file."""

    path: Path
    runs: Sequence[Mapping[str, Any]]

    def speeds(self, yardstick: float | None = None) -> list[float]:
        """Million data packets per processor second by run; given the best yardstick, only of the undisturbed runs."""
        return [
            run["data_packets"] / run["cpu_s"] / 1e6
            for run in self.runs
            if run["cpu_s"] > 0 and (yardstick is None or yardstick >= UNDISTURBED * run["yardstick_s"])
        ]

    def in_yardsticks(self) -> list[float]:
        """Data packets by run in the time of an event of the yardstick beside it, to compare two machines."""
        return [
            run["data_packets"] / run["cpu_s"] * run["yardstick_s"] / YARDSTICK_EVENTS
            for run in self.runs
            if run["cpu_s"] > 0
        ]

    @property
    def yardstick(self) -> float:
        """The yardstick's best time beside these runs."""
        return min(float(run["yardstick_s"]) for run in self.runs)

    def summary(self, yardstick: float) -> dict[str, Any]:
        """One line of `make bench`, given the yardstick's best time of all."""
        first = self.runs[0]
        packets, events = first["data_packets"], first["events"]
        speeds, undisturbed = self.speeds(), self.speeds(yardstick)
        in_yardsticks = self.in_yardsticks()
        return {
            "name": self.path.stem,
            "million_packets_per_cpu_s": round(statistics.median(speeds), 3) if speeds else None,
            "slowest": round(min(speeds), 3) if speeds else None,
            "fastest": round(max(speeds), 3) if speeds else None,
            "undisturbed": round(statistics.median(undisturbed), 3) if undisturbed else None,
            "undisturbed_runs": len(undisturbed),
            "runs": len(self.runs),
            "packets_per_yardstick_event": round(statistics.median(in_yardsticks), 3) if in_yardsticks else None,
            "yardstick_million_events_per_cpu_s": round(YARDSTICK_EVENTS / self.yardstick / 1e6, 2),
            "events_per_packet": round(events / packets, 4) if packets else None,
            "cpu_s": round(statistics.median(run["cpu_s"] for run in self.runs), 3),
            "wall_s": round(statistics.median(run["wall_s"] for run in self.runs), 3),
            "peak_rss_bytes": max(run["peak_rss_bytes"] for run in self.runs),
            "data_packets": packets,
            "events": events,
            "results_sha256": first["results_sha256"],
        }


def measure(paths: Sequence[Path], runs: int) -> dict[Path, Timing | InputError]:
    """Run scenario files several times, each run in a fresh process, all files in turn.

    The files take turns, so that a slow minute of the machine affects a run or two of every file and not all of one.

    Returns
    -------
    dict
        Timing of each file, or the reason why there is none: the file is wrong, a run failed or equal runs differ.
    """
    found: dict[Path, list[Mapping[str, Any]]] = {path: [] for path in paths}
    wrong: dict[Path, InputError] = {}
    for _ in range(runs):
        for path in paths:
            if path in wrong:
                continue
            try:
                found[path].append(run(path))
            except InputError as error:
                wrong[path] = error
                continue
            if found[path][-1]["results_sha256"] != found[path][0]["results_sha256"]:
                wrong[path] = InputError(f"{path.name}: equal runs gave different results")
    return {path: wrong.get(path) or Timing(path, found[path]) for path in paths}
