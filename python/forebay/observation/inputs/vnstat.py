"""vnStat's JSON (`vnstat --json f`): bytes of each five minutes or hour, by interface."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from forebay.errors import InputError
from forebay.observation.counter_files.json_counters import documents
from forebay.observation.counter_files.readings import Readings
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, Yields
from forebay.storage.safe_io import clean

__all__ = ["VNSTAT"]

#: Lists of amounts, the finest first, and the seconds of one.
_LISTS = (("fiveminute", 300), ("hour", 3600))


def _recognizes(head: Head) -> bool:
    return head.is_json and head.has("vnstatversion")


def read_amounts(text: str, where: str) -> Readings:
    """Read amounts; times are those of the host's clock, taken as UTC.

    Raises
    ------
    InputError
        Where there are none of five minutes or hours, or a number is none.
    """
    readings = Readings()
    for _, document in documents(text, where):
        interfaces = document.get("interfaces")
        for each in interfaces if isinstance(interfaces, list) else []:
            traffic = each.get("traffic") if isinstance(each, dict) else None
            if isinstance(traffic, dict):
                _interface(str(each.get("name", "")), traffic, readings, where)
    if not readings.ports:
        raise InputError(f"{where}: found no amounts of five minutes or hours; allowed: `vnstat --json f`")
    readings.say("times are those of the host's clock, taken as UTC: vnStat prints no zone")
    return readings


def _interface(port: str, traffic: Mapping[str, Any], readings: Readings, where: str) -> None:
    for name, seconds in _LISTS:
        entries = traffic.get(name)
        if isinstance(entries, list) and len(entries) >= 2:
            for number, entry in enumerate(entries, start=1):
                _amount(port, entry, seconds, readings, f"{where}, {name} {number}")
            return


def _amount(port: str, entry: Any, seconds: int, readings: Readings, place: str) -> None:
    try:
        date, time = entry["date"], entry["time"]
        begin = datetime(date["year"], date["month"], date["day"], time["hour"], time.get("minute", 0), tzinfo=UTC)
        rates = {"out_bps": entry["tx"] * 8 / seconds, "in_bps": entry["rx"] * 8 / seconds}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{place}: found {clean(entry)}; allowed: a date, a time, rx and tx") from None
    for name, rate in rates.items():
        readings.add(port, name, begin.timestamp() + seconds, rate, place)


VNSTAT = CounterInput("vnStat's JSON (`vnstat --json f`)", _recognizes, (Yields.RATES,), read_amounts)
