"""The scenarios of the checks, and the runs of one algorithm in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from forebay.algorithms.loading import file_of, is_wasm
from forebay.contract.module_probe import probed_module, small_window
from forebay.contract.probe import least_window, probed
from forebay.errors import CodeError
from forebay.results.report import Report
from forebay.scenario import Scenario

__all__ = ["PACKET", "RATE", "RTT_S", "Subject", "Trials", "flows", "goodput", "numbers"]

#: Bits per second, round trip in seconds and bytes of a packet in most scenarios: the BDP is 67 packets.
RATE, RTT_S, PACKET = 20e6, 0.04, 1500
#: Receive window in packets. Without it, a window without bounds makes a run without end.
MOST_WINDOW = 2000
LINK = {"rate": "20Mbps", "buffer": "1BDP"}
RUN = {"warmup": "10s", "measure": "60s", "replications": 1}


@dataclass(frozen=True, slots=True)
class Subject:
    """The algorithm under test.

    Attributes
    ----------
    place : str
        File and class, or the name of a built-in algorithm.
    role : {"controller", "discipline"}
    table : mapping
        The algorithm as a scenario names it, with its parameters.
    source : str
        Text of the file; empty for a built-in algorithm.
    own_recovery : bool
        Whether the class sets the window during loss recovery itself, as BBR does.
    """

    place: str
    role: Literal["controller", "discipline"]
    table: Mapping[str, Any]
    source: str = ""
    own_recovery: bool = False

    @property
    def file(self) -> str:
        """Name of the file, without folders."""
        return Path(file_of(self.place)).name

    @property
    def is_python(self) -> bool:
        """Whether it is a class of a Python file."""
        return bool(self.source) and not is_wasm(self.place)


class Trials:
    """Runs of one algorithm.

    Parameters
    ----------
    subject : Subject
    folder : Path
        A temporary folder for the notes of probes.
    """

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject = subject
        self._folder = folder

    def scenario(
        self,
        *groups: Mapping[str, Any],
        link: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        every: str = "",
        record: Sequence[str] = ("cwnd", "queue"),
    ) -> Scenario:
        """A scenario with these groups of flows; `every` is the time between two samples of its trace."""
        tables: dict[str, Any] = {"link": LINK | dict(link or {}), "flows": list(groups), "run": RUN | dict(run or {})}
        if every:
            tables["trace"] = {"every": every, "record": list(record)}
        return Scenario.of(tables, name=self.subject.place)

    def run(self, *groups: Mapping[str, Any], every: str = "", **keys: Any) -> Report:
        """Run one `scenario`."""
        return self.scenario(*groups, every=every, **keys).run(traces=bool(every))

    def least_window(self, group: Mapping[str, Any], **options: Any) -> float:
        """The smallest window that the algorithm set in one scenario, in packets.

        A probe shows windows below one packet, which the engine does not use. A built-in algorithm has no probe.
        """
        table, path = self.subject.table, self._folder / "window.txt"
        if self.subject.is_python:
            path.unlink(missing_ok=True)
            table = probed(table, path)
        elif self.subject.source:
            table = probed_module(table)
        try:
            traces = self.run({**group, "cca": table}, **options).core.traces()
        except CodeError as error:
            small = None if self.subject.is_python else small_window(str(error))
            if small is None:
                raise
            return small
        assert traces is not None, "the trace was requested"
        found = least_window(path)
        return float(traces["flows"]["cwnd_packets"].min()) if found is None else found


def flows(cca: Any, count: int = 1, name: str = "mine", **keys: Any) -> dict[str, Any]:
    """A group of long flows, which start within a second of each other."""
    start = {"start": {"uniform": ["0s", "1s"]}} if count > 1 else {}
    limit = {"receive_window": f"{MOST_WINDOW}p"}
    return {"name": name, "count": count, "rtt": f"{RTT_S * 1000:g}ms", "cca": cca} | limit | start | keys


def goodput(report: Report, name: str = "mine") -> float:
    """The goodput of a group, in bits per second."""
    return next(group.metrics["goodput_bps"].mean for group in report.groups if group.name == name)


def numbers(report: Report) -> str:
    """Every number of a report but its cost, as text."""
    found = json.loads(report.core.json())
    return json.dumps({key: found[key] for key in ("metrics", "groups")}, sort_keys=True)
