"""Captures, and inventories whose ports name files for `observe`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forebay import Scenario, _core
from forebay.fleets.inventory import Inventory, read_inventory
from forebay.measurement.traces import write_traces
from forebay.scenario import run_jobs

__all__ = ["capture", "ports"]

GOALS = "utilization>=90%; queue_delay_p99<=100ms"


def capture(folder: Path, *, stack: str) -> Path:
    """A capture of both sides of a full queue of 10 Mb/s."""
    flow = {"cca": "newreno", "count": 2, "rtt": ["21ms", "29ms"], "stack": stack, "workload": "persistent"}
    scenario = Scenario.of(
        {
            "link": {"rate": "10Mbps", "buffer": "25p"},
            "flows": [{"name": "long", **flow}],
            "run": {"warmup": "2s", "measure": "15s", "seed": 7},
            "trace": {"record": ["packets"], "capture": "both", "acknowledgments": True, "from": "2s"},
        }
    )
    [report] = run_jobs([_core.Job(scenario.core, "packet", 7, 0, traces=True)])
    write_traces(report, folder)
    return folder / "packets.pcapng"


def ports(folder: Path, *rows: Mapping[str, str]) -> Inventory:
    """A table beside the files; each port has 10 Mb/s, 30 packets and a goal unless it says more."""
    usual = {"device": "r", "rate": "10Mbps", "buffer": "30 packets", "goals": GOALS, "profile": "", "observe": ""}
    full = [{**usual, "port": f"e{number}", **row} for number, row in enumerate(rows, 1)]
    lines = [",".join(full[0]), *(",".join(row.values()) for row in full)]
    (folder / "ports.csv").write_text("\n".join(lines))
    return read_inventory(folder / "ports.csv")
