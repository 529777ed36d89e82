"""Input of an RRD, as rrdtool, LibreNMS and Cacti print it: rates, each the mean of the step before its time.

An RRD never prints counters. `rrdtool xport` writes XML or JSON (rrdxport(1)), `rrdtool fetch` writes text
(rrdfetch(1)). NaN means "unknown".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from forebay.errors import InputError
from forebay.observation.counter_files.readings import Readings
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, RefusedInput, Yields
from forebay.observation.line_reader import split_cells
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

__all__ = ["BINARY", "CACTI", "FETCH", "LIBRENMS", "XPORT_JSON", "XPORT_XML"]

#: Names of data sources and legends, without case and punctuation: ours, and what one is in its unit. RRDs of ports
#: hold octets a second; graphs show bits.
_NAMES: tuple[tuple[str, str, float], ...] = (
    (r"(if)?(hc)?out(octets|bytes)?\d*|traffic_?out|ds1|tx(bytes|octets)?|bytes_?out|outbound_?octets", "out_bps", 8.0),
    (r"(if)?(hc)?in(octets|bytes)?\d*|traffic_?in|ds0|rx(bytes|octets)?|bytes_?in|inbound_?octets", "in_bps", 8.0),
    (r"out(bits|bps)|tx(bits|bps)|bits_?out", "out_bps", 1.0),
    (r"in(bits|bps)|rx(bits|bps)|bits_?in", "in_bps", 1.0),
    (r"(if)?(hc)?out(ucast|nucast|multicast|broadcast)?(pkts|packets)", "out_pps", 1.0),
    (r"(if)?(hc)?in(ucast|nucast|multicast|broadcast)?(pkts|packets)", "in_pps", 1.0),
    (r"(if)?out(discards|drops)", "out_drops_per_second", 1.0),
    (r"(if)?in(discards|drops)", "in_drops_per_second", 1.0),
)
#: Parts that add up to all packets; the unicast ones alone are no count of packets.
_PARTS = re.compile(r"(nucast|multicast|broadcast)")
_FETCHED = re.compile(r"(\d{9,12}):((?:\s+\S+)+)\s*$")
_ALLOWED = "rates of a port, as `rrdtool xport DEF:o=FILE:OUTOCTETS:AVERAGE XPORT:o:OUTOCTETS` writes them"

_OF_CACTI = "the CSV of a graph of bits or bytes a second with columns such as Inbound and Outbound"
#: How legends of traffic begin, by side.
_SIDES = {"out_bps": r"out(bound)?\b|traffic[ _-]out|transmit|tx\b", "in_bps": r"in(bound)?\b|traffic[ _-]in|rece|rx\b"}


def _is_xml(head: Head) -> bool:
    return "<xport>" in head.text[:2000]


def _is_json(head: Head) -> bool:
    return head.is_json and head.has("about", "meta") and "RRDtool" in head.text[:400]


def _is_fetch(head: Head) -> bool:
    rows = [line for line in head.lines[1:4] if _FETCHED.match(line.strip())]
    return bool(rows) and not head.is_json and "," not in head.lines[0]


def _is_librenms(head: Head) -> bool:
    """Data sources in capitals, which is how RRDs of LibreNMS and Observium name them, and fractions of octets."""
    return any(each in head.columns for each in ("OUTOCTETS", "INOCTETS")) and not head.is_json


def _is_cacti(head: Head) -> bool:
    return re.search(r'^"(Title|Vertical Label):?",', head.text[:2000], re.MULTILINE) is not None


def _is_binary(head: Head) -> bool:
    return head.data[:4] == b"RRD\0"


def read_xml(text: str, where: str) -> Readings:
    """Read XML of `rrdtool xport`.

    Raises
    ------
    InputError
        Where it is no XML, declares entities, or has no rate of a port.
    """
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise InputError(f"{where}: found XML with a document type; allowed: {_ALLOWED}")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{where}, line {error.position[0]}: found no XML; allowed: {_ALLOWED}") from None
    legends = [entry.text or "" for entry in root.iterfind("meta/legend/entry")]
    start, step = (_number(root.findtext(f"meta/{name}"), where) for name in ("start", "step"))
    readings = Readings()
    for number, row in enumerate(root.iterfind("data/row"), start=1):
        stamp = row.findtext("t")
        when = _number(stamp, where) if stamp is not None else start + step * number
        values = [value.text or "" for value in row if re.fullmatch(r"v\d*", value.tag)]
        _row(readings, legends, values, when, f"{where}, row {number}")
    return _with_legends(readings, legends, where)


def read_json(text: str, where: str) -> Readings:
    """Read JSON of `rrdtool xport`.

    Raises
    ------
    InputError
        Where it is no JSON, or has no rate of a port.
    """
    try:
        # RRDtool before 1.5 writes keys without quotes nowhere, but NaN as such.
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: found no JSON; allowed: {_ALLOWED}") from None
    meta, data = found.get("meta", {}), found.get("data", [])
    legends = [str(each) for each in meta.get("legend", [])] if isinstance(meta, dict) else []
    start, step = (_number(meta.get(name), where) for name in ("start", "step"))
    readings = Readings()
    for number, row in enumerate(data if isinstance(data, list) else [], start=1):
        if isinstance(row, list):
            _row(readings, legends, row, start + step * number, f"{where}, row {number}")
    return _with_legends(readings, legends, where)


def read_fetch(text: str, where: str) -> Readings:
    """Read `rrdtool fetch`: names of data sources, an empty line, then times with a colon and values.

    Raises
    ------
    InputError
        Where no name is a port's rate, or a value is no number.
    """
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.strip())
    legends = lines[at].split()
    readings = Readings()
    for number, line in enumerate(lines[at + 1 :], start=at + 2):
        found = _FETCHED.match(line.strip())
        if found is not None:
            _row(readings, legends, found[2].split(), float(found[1]), f"{where}, line {number}")
    return _with_legends(readings, legends, where)


def read_librenms(text: str, where: str) -> Readings:
    """Read a table of rates with the data sources' names, as LibreNMS and Observium export it.

    Raises
    ------
    InputError
        Where a row has no time, or a value is no number.
    """
    readings = Readings()
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    separator = max(",;\t", key=lines[at].count)
    names = [each.strip() for each in split_cells(lines[at].strip("\r"), separator)]
    for number, line in enumerate(lines[at + 1 :], start=at + 2):
        cells = split_cells(line.strip("\r"), separator)
        if not line.strip():
            continue
        when = parse_timestamp(cells[0]) if cells else None
        if when is None:
            if number == len(lines):
                break
            raise InputError(f"{where}, line {number}: found the time {clean(cells[0] if cells else '')}; "
                             "allowed: seconds, or a date such as 2026-11-23 16:00:00")  # fmt: skip
        _row(readings, names[1:], cells[1:], when, f"{where}, line {number}")
    return _with_legends(readings, names[1:], where)


def read_cacti(text: str, where: str) -> Readings:
    """Read a graph's table from Cacti: lines about the graph, an empty cell, then dates and rates.

    graph_xport.php of Cacti 1.2 writes `"Vertical Label","bits per second"`, older versions have a colon behind the
    name. Dates are those of the server's clock.

    Raises
    ------
    InputError
        Where the graph's unit is not known, or no column is inbound or outbound.
    """
    lines = [split_cells(line, ",") for line in text.replace("\r", "").split("\n")]
    at = next((number for number, cells in enumerate(lines) if cells and cells[0] == "Date"), None)
    if at is None:
        raise InputError(f"{where}: found no line that begins with Date; allowed: {_OF_CACTI}")
    about = {cells[0].rstrip(":"): cells[1] for cells in lines[:at] if len(cells) > 1}
    unit = about.get("Vertical Label", "").lower()
    if "bits" not in unit and "bytes" not in unit:
        found = f"the vertical label {clean(unit)}" if unit else "no vertical label"
        raise InputError(f"{where}: found {found}, which is no unit of a load; allowed: {_OF_CACTI}")
    scale = 1.0 if "bits" in unit else 8.0
    sides: dict[str, int] = {}
    for column, name in enumerate(lines[at][1:], start=1):
        for side, pattern in _SIDES.items():
            if re.match(pattern, name.strip().lower()):
                sides.setdefault(side, column)
    if not sides:
        names = ", ".join(clean(each) for each in lines[at][1:7]) or "no column"
        raise InputError(f"{where}: found {names}, neither inbound nor outbound; allowed: {_OF_CACTI}")
    readings = Readings()
    for number, cells in enumerate(lines[at + 1 :], start=at + 2):
        when = parse_timestamp(cells[0]) if cells else None
        for side, column in sides.items():
            if when is None or column >= len(cells) or not cells[column].strip():
                continue
            rate = _number(cells[column], f"{where}, line {number}")
            if not math.isnan(rate):
                readings.add("", side, when, rate * scale, f"{where}, line {number}")
    if not readings.ports:
        raise InputError(f"{where}: found no row with a date and a rate; allowed: {_OF_CACTI}")
    readings = _with_legends(readings, lines[at][1:], where)
    readings.say("times are those of Cacti's clock, taken as UTC: its table has no zone")
    return readings


def _row(readings: Readings, legends: Sequence[str], values: Sequence[Any], when: float, place: str) -> None:
    for legend, value in zip(legends, values, strict=False):
        meaning = _meaning(legend)
        if meaning is None or value is None:
            continue
        name, scale = meaning
        number = _number(value, f"{place}, {clean(legend)}")
        if math.isnan(number):
            readings.say("what the RRD calls NaN was not measured, and is left out")
        else:
            readings.add("", name, when, number * scale, place)


def _with_legends(readings: Readings, legends: Sequence[str], where: str) -> Readings:
    if not readings.ports:
        names = ", ".join(clean(each) for each in legends[:6]) or "no legend"
        raise InputError(f"{where}: found {names}, none of them a rate of a port; allowed: {_ALLOWED}")
    readings.say("values are rates, each the mean of the step before its time, as an RRD stores them")
    return readings


def _meaning(legend: str) -> tuple[str, float] | None:
    plain = re.sub(r"[^a-z0-9_]", "", legend.lower())
    if _PARTS.search(plain):
        return None
    return next(((name, scale) for pattern, name, scale in _NAMES if re.fullmatch(pattern, plain)), None)


def _number(value: Any, place: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{place}: found {clean(value)}; allowed: a number or NaN") from None
    if math.isinf(number) or number < 0:
        raise InputError(f"{place}: found {clean(value)}; allowed: a number from 0 on, or NaN")
    return number


_YIELDS = (Yields.RATES, Yields.DROPS)
XPORT_XML = CounterInput("`rrdtool xport`", _is_xml, _YIELDS, read_xml)
XPORT_JSON = CounterInput("`rrdtool xport --json`", _is_json, _YIELDS, read_json)
FETCH = CounterInput("`rrdtool fetch`", _is_fetch, _YIELDS, read_fetch)
LIBRENMS = CounterInput("rates of LibreNMS or Observium", _is_librenms, _YIELDS, read_librenms)
CACTI = CounterInput("a graph's CSV of Cacti", _is_cacti, (Yields.RATES,), read_cacti)
BINARY = RefusedInput(
    "an RRD", _is_binary, (), "use `rrdtool xport --json DEF:o=FILE:OUTOCTETS:AVERAGE XPORT:o:OUTOCTETS`"
)
