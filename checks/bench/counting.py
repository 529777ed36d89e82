"""Instructions and bytes per data packet, counted by valgrind's cachegrind: no load on the machine disturbs them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checks.bench.packet import run
from forebay.errors import InputError
from forebay.scenario import Scenario

__all__ = ["count", "totals"]

#: Bytes of a cache line.
LINE = 64


def totals(text: str) -> dict[str, int]:
    """The sums of a cachegrind output file by the names of its events.

    Raises
    ------
    InputError
        If the text has no such sums.
    """
    lines = dict(line.split(":", 1) for line in text.splitlines() if line.startswith(("events:", "summary:")))
    names, sums = lines.get("events", "").split(), lines.get("summary", "").split()
    if not names or len(names) != len(sums):
        raise InputError("cachegrind: its output names no sums")
    return dict(zip(names, map(int, sums), strict=True))


def _counted(path: Path, share: float) -> tuple[int, dict[str, int]]:
    """The data packets and the counts of cachegrind in a run of a share of the scenario's time."""
    warmup, measured = Scenario.load(path).core.duration_s
    shorter = [f"run.warmup={warmup * share:.6f}s", f"run.measure={measured * share:.6f}s"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "counts")
        tool = ["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={output}"]
        cost = run(path, shorter, under=tool)
        return cost["data_packets"], totals(output.read_text(encoding="utf-8"))


def count(path: Path) -> Mapping[str, Any]:
    """The cost of a data packet, as the difference of two lengths of the scenario: a quarter and a half.

    Start-up is in both and cancels. The bytes are those that a simulated cache of this machine's sizes fetches from
    beyond its first level, and from memory.

    Raises
    ------
    InputError
        If valgrind is missing or a run fails.
    """
    run(path, [])  # The first after a change compiles Python's modules: start-up would not be the same in both.
    (few, less), (many, more) = _counted(path, 0.25), _counted(path, 0.5)
    packets = many - few
    if packets <= 0:
        raise InputError(f"{path.name}: the longer run has no more packets than the shorter one")
    per_packet = {name: (more[name] - less[name]) / packets for name in more}
    return {
        "name": path.stem,
        "instructions_per_packet": round(per_packet["Ir"], 1),
        "bytes_beyond_first_cache_per_packet": round(LINE * (per_packet["D1mr"] + per_packet["D1mw"]), 1),
        "bytes_from_memory_per_packet": round(LINE * (per_packet["DLmr"] + per_packet["DLmw"]), 1),
        "packets": packets,
    }
