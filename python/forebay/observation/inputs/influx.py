"""InfluxDB's line protocol, as Telegraf writes it: `net,interface=eth0 bytes_sent=123i 1715083200000000000`.

The syntax is that of InfluxDB's reference "Line protocol". No declared dependency reads it.
"""

from __future__ import annotations

import re

from forebay.errors import InputError
from forebay.observation.counter_files.names import quantity_of
from forebay.observation.counter_files.readings import Readings
from forebay.observation.counter_files.tables import number_of
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, Yields
from forebay.observation.timestamps import parse_timestamp

__all__ = ["LINES"]

#: Parts of a line; a backslash escapes commas, spaces and equal signs. No way of matching is tried twice.
_WORD = r"(?:[^\s,=\\]|\\.)++"
_FIELD = rf'{_WORD}=(?:"(?:[^"\\]|\\.)*+"|[^\s,"]++)'
_LINE = re.compile(
    rf"((?:[^\s,\\]|\\.)++)((?:,{_WORD}=(?:[^\s,\\]|\\.)*+)*+) ({_FIELD}(?:,{_FIELD})*+)(?: (\d{{1,20}}))?$"
)
_PAIR = re.compile(rf'({_WORD})=("(?:[^"\\]|\\.)*+"|(?:[^\s,\\]|\\.)*+)')
PORTS = ("interface", "interface_name", "ifName", "ifDescr", "name", "ifIndex", "device", "port")


def _recognizes(head: Head) -> bool:
    lines = [line for line in head.lines[:8] if not line.startswith("#")][:3]
    return bool(lines) and not head.is_json and all(_LINE.match(line.strip()) for line in lines[:2])


def read_lines(text: str, where: str) -> Readings:
    """Read lines; those of other measurements are passed over.

    Raises
    ------
    InputError
        Where a counter of a port has no timestamp or no number.
    """
    readings = Readings()
    lines = text.split("\n")
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.match(line)
        if found is None:
            readings.ignored += 1
            continue
        measurement, labels, fields, stamp = found.groups()
        tags = {_unescaped(name): _unescaped(value) for name, value in _PAIR.findall(labels)}
        port = next((tags[each] for each in PORTS if tags.get(each)), "")
        place = f"{where}, line {number}"
        for name, value in _PAIR.findall(fields):
            known = "speed_mbps" if measurement == "net" and name == "speed" else _unescaped(name)
            if quantity_of(known) is None or value.startswith('"') or value in ("true", "false", "t", "f", "T", "F"):
                continue
            when = parse_timestamp(stamp) if stamp else None
            if when is None:
                raise InputError(f"{place}: found no timestamp; allowed: lines that end with one, in nanoseconds")
            if known == "speed_mbps" and value.startswith("-"):
                continue  # Linux has -1 for an interface without a speed
            read = number_of(value.rstrip("iu"), name, place)
            if read is not None:
                readings.add(port, known, when, read, place)
    return readings


def _unescaped(text: str) -> str:
    """The text without backslashes."""
    return re.sub(r"\\(.)", r"\1", text)


LINES = CounterInput(
    "Influx line protocol",
    _recognizes,
    (Yields.COUNTERS, Yields.SPEED, Yields.DROPS),
    read_lines,
)
