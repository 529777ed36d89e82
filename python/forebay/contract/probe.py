"""A probe inside of a user's class: a subclass that writes down its windows and its congestion events.

The engine uses one packet if a window is smaller, so no trace shows the window that the class returned. The probe is
text behind the text of the file, because the class runs in a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Event", "Seen", "probed", "seen"]

CLASS = "ForebayProbe"
TEXT = '''

class ForebayProbe({name}):
    """Writes down the smallest window, and the window around each congestion event."""

    def window(self):
        found = super().window()
        if float(found) < _forebay["least"]:
            _forebay["least"] = float(found)
            _forebay_write(["window", float(found)])
        event, _forebay["event"] = _forebay["event"], None
        if event is not None:
            _forebay_write([*event, float(found)])
        return found

    def on_congestion_event(self, event):
        if _forebay["event"] is None:
            _forebay["event"] = ["event", event.kind, event.now, self.cwnd]
        super().on_congestion_event(event)

    def on_timeout(self, event):
        _forebay["event"] = ["event", "timeout", event.now, self.cwnd]
        super().on_timeout(event)

_forebay = {{"least": float("inf"), "event": None}}

def _forebay_write(line):
    import json
    if "file" not in _forebay:
        _forebay["file"] = open({path!r}, "a", encoding="ascii")
    _forebay["file"].write(json.dumps(line) + "\\n")
    _forebay["file"].flush()
'''


@dataclass(frozen=True, slots=True)
class Event:
    """One congestion event: its kind, its time in seconds, and the windows before and after it, in packets."""

    kind: str
    time_s: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Seen:
    """The notes of a probe: the smallest window, in packets, and each congestion event."""

    least: float | None
    events: tuple[Event, ...]


def probed(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A controller's table with the probe in place of the class.

    Parameters
    ----------
    table : mapping
        `python`, `source` and the parameters.
    path : Path
        The file to which the probe writes.
    """
    file, _, name = str(table["python"]).rpartition(":")
    source = str(table["source"]) + TEXT.format(name=name, path=str(path))
    return {**table, "python": f"{file}:{CLASS}", "source": source}


def seen(path: Path) -> Seen:
    """Read the notes of a probe."""
    text = path.read_text(encoding="ascii") if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    least = [line[1] for line in lines if line[0] == "window"]
    events = tuple(Event(*line[1:]) for line in lines if line[0] == "event")
    return Seen(min(least, default=None), events)
