"""Speed of reading captures: packets per second of processor time, beside tcptrace, tshark and capinfos on one file.

One capture is the packet engine's. The other is a real one, if there is one: it is repeated under other ports until it
is long enough. Programs take turns, and each line has the medians of its runs.
"""

from __future__ import annotations

import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from checks.programs import processor_s
from forebay import _core
from forebay.measurement.traces import write_traces
from forebay.scenario import Scenario, run_jobs

__all__ = ["repeated", "speeds"]

#: A link and its flows: some two million packets with their acknowledgments.
_SCENARIO: Mapping[str, Any] = {
    "link": {"rate": "1Gbps", "buffer": "0.5BDP"},
    "flows": [{"count": 10, "rtt": "20ms", "cca": "cubic", "workload": "persistent"}],
    "run": {"warmup": "1s", "measure": "15s", "seed": 7},
    "trace": {"record": ["packets"], "capture": "departures", "acknowledgments": True, "from": "1s"},
}
#: Packets of the repeated real capture, and bytes of each that are written.
_PACKETS, _SNAP = 2_000_000, 96
_PCAP_NANOSECONDS, _RAW = 0xA1B23C4D, 101
_READS = "import pathlib, sys; from forebay import _core; _core.observe_captures([pathlib.Path(sys.argv[1])])"

#: Each program that reads captures, and its command in front of the file.
_COMMANDS: Mapping[str, Sequence[str]] = {
    "forebay observe": (sys.executable, "-c", "from forebay.__main__ import main; main()", "observe", "--json"),
    "forebay's reader alone": (sys.executable, "-c", _READS),
    "tcptrace": ("tcptrace", "-n", "-l", "-r"),
    "tshark": ("tshark", "-n", "-q", "-z", "conv,tcp", "-r"),
    "capinfos": ("capinfos",),
}


def speeds(real: Path | None, runs: int) -> Iterator[Mapping[str, Any]]:
    """A line for each program and capture.

    Parameters
    ----------
    real : Path or None
        A capture of a kernel, in nanoseconds and of IP packets, as `make captured KEEP=DIR` leaves it.
    runs : int
        Number of runs of each program.
    """
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario.of(dict(_SCENARIO))
        [report] = run_jobs([_core.Job(scenario.core, "packet", 7, 0, traces=True)])
        write_traces(report, Path(folder))
        yield from _of_file("the engine's", Path(folder) / "packets.pcapng", runs)
    if real is not None:
        with tempfile.TemporaryDirectory() as folder:
            yield from _of_file("a kernel's, repeated", repeated(real, Path(folder) / "real.pcap"), runs)


def repeated(real: Path, to: Path, packets: int = _PACKETS) -> Path:
    """A capture repeated until it has at least `packets` packets, each copy after the last and under the next ports."""
    data = real.read_bytes()
    magic, *_, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, link) == (_PCAP_NANOSECONDS, _RAW), f"{real}: no capture of IP packets in nanoseconds"
    once, stamps, ends = bytearray(), [], []
    at = 24
    while at + 16 <= len(data):
        seconds, nanoseconds, captured, length = struct.unpack_from("<IIII", data, at)
        stamps.append((seconds * 10**9 + nanoseconds, len(once)))
        port = len(once) + 16 + (data[at + 16] & 15) * 4
        ends.append((port, struct.unpack_from(">HH", data, at + 16 + (data[at + 16] & 15) * 4)))
        once += (
            struct.pack("<IIII", 0, 0, min(captured, _SNAP), length) + data[at + 16 : at + 16 + min(captured, _SNAP)]
        )
        at += 16 + captured
    lasts = stamps[-1][0] - stamps[0][0] + 1_000_000
    with to.open("wb") as file:
        file.write(struct.pack("<IHHiIII", _PCAP_NANOSECONDS, 2, 4, 0, 0, _SNAP, _RAW))
        for copy in range(-(-packets // len(stamps))):
            for (stamp, place), (port, both) in zip(stamps, ends, strict=True):
                struct.pack_into("<II", once, place, *divmod(stamp + copy * lasts, 10**9))
                # The larger one is the sender's.
                moved = (each + copy if each == max(both) else each for each in both)
                struct.pack_into(">HH", once, port, *(each % 65536 for each in moved))
            file.write(once)
    return to


def _of_file(name: str, file: Path, runs: int) -> Iterator[Mapping[str, Any]]:
    packets = _core.observe_captures([file])["packets"]
    commands = {program: command for program, command in _COMMANDS.items() if shutil.which(command[0])}
    spent: dict[str, list[float]] = {program: [] for program in commands}
    for _ in range(runs):
        for program, command in commands.items():
            spent[program].append(_cpu_s([*command, str(file)]))
    reference = statistics.median(spent["forebay observe"])
    for program, seconds in spent.items():
        median = statistics.median(seconds)
        yield {
            "name": "O",
            "capture": name,
            "program": program,
            "packets": packets,
            "cpu_s": round(median, 3),
            "million_packets_per_cpu_s": round(packets / median / 1e6, 2),
            "times_forebay_observe": round(median / reference, 3),
        }


def _cpu_s(command: Sequence[str]) -> float:
    """The processor time of a program, the kernel's time for it included, in seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = processor_s(process)
    if process.returncode:
        raise OSError(f"{command[0]}: exit code {process.returncode}")
    return seconds
