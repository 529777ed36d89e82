"""Counters as Prometheus shows them: texts of scrapes with timestamps, one after another.

The exposition format 0.0.4 (timestamps in milliseconds) and OpenMetrics 1.0 (in seconds).
"""

from __future__ import annotations

import re

from forebay.errors import InputError
from forebay.observation.counter_files.names import quantity_of
from forebay.observation.counter_files.readings import Readings
from forebay.observation.counter_files.tables import number_of
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

__all__ = ["LABEL", "SAMPLE", "is_scrape", "port_of_labels", "read_scrapes"]

#: A sample, and a label in its braces. No way of matching is tried twice: the time is linear.
SAMPLE = re.compile(r'([A-Za-z_:][\w:]*+)\s*+(?:\{((?:[^"{}]|"(?:[^"\\]|\\.)*+")*+)\})?\s*+(\S++)(?:\s++(\S++))?')
LABEL = re.compile(r'(\w++)\s*=\s*"((?:[^"\\]|\\.)*+)"')
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PORTS = ("device", "interface", "ifName", "ifDescr", "ifIndex", "port", "interface_name")
QUEUES = ("queue", "queue_id", "queue_name", "class")


def is_scrape(text: str) -> bool:
    """Whether the first line that says something is of the exposition format."""
    for line in text[:65536].split("\n"):
        if _date(line.strip()) is not None:
            continue
        if re.match(r"# (HELP|TYPE|UNIT|EOF)", line):
            return True
        if line.strip() and not line.startswith("#"):
            found = SAMPLE.match(line.strip())
            return found is not None and ("{" in line or "," not in line) and _is_number(found[3])
    return False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_scrapes(text: str, where: str) -> Readings:
    """Read scrapes; lines of other metrics are passed over.

    Raises
    ------
    InputError
        Where a counter of a port has no timestamp, or no number.
    """
    readings = Readings()
    lines = text.split("\n")
    date: float | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            date = _date(line) or date
            continue
        found = SAMPLE.match(line)
        if found is None or quantity_of(found[1]) is None:
            dated = _date(line)
            readings.ignored += dated is None
            date = dated or date
            continue
        name, labels, value_text, stamp = found.groups()
        when = parse_timestamp(stamp) if stamp is not None else date
        if when is None:
            if number == len(lines):  # it has no end: the file may have been cut there
                break
            what = "no timestamp" if stamp is None else f"the timestamp {clean(stamp)}"
            raise InputError(f"{where}, line {number}: found {what} behind {clean(name)}; allowed: scrapes with "
                             "timestamps or after lines of `date +%s`, or a range query's answer as JSON")  # fmt: skip
        value = number_of(value_text, name, f"{where}, line {number}")
        if value is not None:
            readings.add(
                port_of_labels(dict(LABEL.findall(labels or ""))), name, when, value, f"{where}, line {number}"
            )
    return readings


def _date(line: str) -> float | None:
    """The instant that a line of its own says, as `date` prints it; None where it says none."""
    text = line.lstrip("# ")
    return parse_timestamp(text) if text[:1].isdigit() or text[:3] in _DAYS else None


def port_of_labels(labels: dict[str, str]) -> str:
    """The port, and the queue where there is one, that labels name."""
    port = next((labels[each] for each in PORTS if labels.get(each)), "")
    queue = next((labels[each] for each in QUEUES if labels.get(each)), None)
    return port if queue is None else f"{port} queue {queue}".strip()
