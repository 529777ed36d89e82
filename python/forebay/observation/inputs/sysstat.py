"""Input of sysstat's interface statistics: JSON and CSV of `sadf`, and the table of `sar -n DEV`.

All values are rates over the interval before each time: packets a second, and kilobytes of 1024 bytes a second
(sar(1)).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from forebay.errors import InputError
from forebay.observation.counter_files.json_counters import documents
from forebay.observation.counter_files.readings import Readings
from forebay.observation.counter_files.tables import number_of
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, RefusedInput, Yields
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

__all__ = ["BINARY", "SADF_CSV", "SADF_JSON", "SAR"]

KILOBYTE = 1024 * 8
#: Names of sar's columns: ours, and what one is in its unit. `%ifutil` and the speed behind it are not used.
COLUMNS: Mapping[str, tuple[str, float]] = {
    "txkB": ("out_bps", KILOBYTE), "rxkB": ("in_bps", KILOBYTE),
    "txbyt": ("out_bps", 8), "rxbyt": ("in_bps", 8),
    "txpck": ("out_pps", 1), "rxpck": ("in_pps", 1),
    "txdrop": ("out_drops_per_second", 1), "rxdrop": ("in_drops_per_second", 1),
}  # fmt: skip
_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2}|\d{2}/\d{2}/(?:\d{4}|\d{2}))\b")
_CLOCK = re.compile(r"\d{2}:\d{2}:\d{2}$")
_ALLOWED = "network statistics of sysstat, as `sadf -j FILE -- -n DEV` writes them"


def _is_json(head: Head) -> bool:
    return head.is_json and head.has("sysstat")


def _is_csv(head: Head) -> bool:
    return re.match(r"# ?hostname;interval;timestamp", head.text) is not None


def _is_table(head: Head) -> bool:
    return re.match(r"Linux \d", head.text) is not None and ("IFACE" in head.text or "%idle" in head.text)


def _is_binary(head: Head) -> bool:
    return head.data[:2] in (b"\xd5\x96", b"\x96\xd5")


def read_json(text: str, where: str) -> Readings:
    """Read `sadf -j`.

    Raises
    ------
    InputError
        Where it has no network statistics, or one is no number.
    """
    readings = Readings()
    for _, document in documents(text, where):
        hosts = document.get("sysstat", {}).get("hosts", []) if isinstance(document.get("sysstat"), dict) else []
        for host in hosts if isinstance(hosts, list) else []:
            statistics = host.get("statistics", []) if isinstance(host, dict) else []
            for number, each in enumerate(statistics if isinstance(statistics, list) else [], start=1):
                _sample(each, readings, f"{where}, sample {number}")
    if not readings.ports:
        raise InputError(f"{where}: found sysstat's JSON without interfaces; allowed: {_ALLOWED}")
    return readings


def _sample(each: Any, readings: Readings, place: str) -> None:
    stamp = each.get("timestamp") if isinstance(each, dict) else None
    network = each.get("network") if isinstance(each, dict) else None
    if not isinstance(stamp, dict) or not isinstance(network, dict):
        return
    when = parse_timestamp(f"{stamp.get('date')} {stamp.get('time')}")
    if when is None:
        raise InputError(f"{place}: found the time {clean(stamp)}; allowed: a date and a time")
    for kind in ("net-dev", "net-edev"):
        entries = network.get(kind)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                _entry(entry, readings, when, place)


def _entry(entry: Mapping[str, Any], readings: Readings, when: float, place: str) -> None:
    for column, (name, scale) in COLUMNS.items():
        value = entry.get(column)
        if isinstance(value, int | float) and not isinstance(value, bool):
            readings.add(str(entry.get("iface", "")), name, when, value * scale, place)
    speed = entry.get("speed")
    if isinstance(speed, int | float) and speed > 0:
        readings.add(str(entry.get("iface", "")), "speed_mbps", when, speed, place)


def read_csv(text: str, where: str) -> Readings:
    """Read `sadf -d`: a header for each table, then host, interval, time, interface and rates.

    Raises
    ------
    InputError
        Where a time is none, or a cell is no number.
    """
    readings = Readings()
    names: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.rstrip("\r").lstrip("# ").split(";")
        if line.startswith("#"):
            names = cells
        elif "IFACE" in names and len(cells) == len(names):
            row = dict(zip(names, cells, strict=True))
            place = f"{where}, line {number}"
            when = parse_timestamp(row.get("timestamp", "").removesuffix(" UTC"))
            if when is None:
                raise InputError(f"{place}: found the time {clean(row.get('timestamp'))}; allowed: a date and a time")
            _cells(row, row["IFACE"], when, readings, place)
    if not readings.ports:
        raise InputError(f"{where}: found sysstat's table without interfaces; allowed: {_ALLOWED}")
    return readings


def _cells(row: Mapping[str, str], port: str, when: float, readings: Readings, place: str) -> None:
    for column, (name, scale) in COLUMNS.items():
        value = number_of(row.get(f"{column}/s", ""), f"{column}/s", place)
        if value is not None:
            readings.add(port, name, when, value * scale, place)


def read_table(text: str, where: str) -> Readings:
    """Read `sar -n DEV`: times of day without a date, which the first line has.

    Raises
    ------
    InputError
        Where there is no table of interfaces, or a cell is no number.
    """
    readings = Readings()
    lines = text.split("\n")
    day = _day(lines[0])
    names: list[str] = []
    before = -1.0
    for number, line in enumerate(lines[1:], start=2):
        words = _twelve(line.split())
        if not words or words[0].rstrip(":") in ("Average", "Summary"):
            names = [] if words else names
        elif "IFACE" in words:
            names = words
        elif words[0] == "Linux":
            day, before = _day(line), -1.0
        elif names and len(words) == len(names) and _CLOCK.match(words[0]):
            seconds = _seconds(words[0])
            if seconds < before - 3600:  # the clock went past midnight
                day += timedelta(days=1)
            before = seconds
            row = dict(zip(names[1:], words[1:], strict=True))
            when = day.timestamp() + seconds
            _cells(row, row.get("IFACE", ""), when, readings, f"{where}, line {number}")
    if not readings.ports:
        raise InputError(f"{where}: found sar's table without interfaces; allowed: {_ALLOWED}")
    readings.say("times are those of the host's clock, taken as UTC: sar prints no zone")
    return readings


def _day(line: str) -> datetime:
    """The date of sar's first line, in any of its forms; 1970 where it has none."""
    found = _DATE.search(line)
    forms = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y")
    for form in forms if found is not None else ():
        try:
            return datetime.strptime(found[1], form).replace(tzinfo=UTC)  # type: ignore[index]
        except ValueError:
            continue
    return datetime(1970, 1, 1, tzinfo=UTC)


def _twelve(words: list[str]) -> list[str]:
    """The same with a time of twelve hours as one of twenty-four."""
    if len(words) < 2 or words[1] not in ("AM", "PM") or not _CLOCK.match(words[0]):
        return words
    hour = int(words[0][:2]) % 12 + (12 if words[1] == "PM" else 0)
    return [f"{hour:02d}{words[0][2:]}", *words[2:]]


def _seconds(clock: str) -> float:
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return float(hours * 3600 + minutes * 60 + seconds)


_YIELDS = (Yields.RATES, Yields.DROPS)
SADF_JSON = CounterInput("sysstat's JSON (`sadf -j`)", _is_json, _YIELDS, read_json)
SADF_CSV = CounterInput("sysstat's table (`sadf -d`)", _is_csv, _YIELDS, read_csv)
SAR = CounterInput("`sar -n DEV`", _is_table, _YIELDS, read_table)
BINARY = RefusedInput("sysstat's own file (sa01)", _is_binary, (), "use `sadf -j FILE -- -n DEV`")
