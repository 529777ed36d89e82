"""Zeek's conn.log, as tabs and as JSON: a connection becomes a record of each of its directions.

Fields after Zeek's script reference (Conn::Info): bytes of IP where they are counted, else of payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.observation.flow_records.directions import Connection, two_way
from forebay.observation.flow_records.record_table import Source
from forebay.observation.inputs.flow_records import FlowInput
from forebay.observation.inputs.input import Head, RefusedInput, Yields
from forebay.observation.json_stream import read_objects
from forebay.observation.line_reader import split_lines
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["OBJECTS", "OTHER_LOG", "TABLE"]

NEEDED = ("ts", "id.orig_h", "id.resp_h", "proto", "duration")
#: Letters of a connection's history, of either side (upper case of the originator), and the TCP flags that they say.
_SYN, _FIN, _RST = frozenset("SsHh"), frozenset("Ff"), frozenset("Rr")
_ALLOWED = "Zeek's conn.log with ts, duration, and orig_ip_bytes and resp_ip_bytes or orig_bytes and resp_bytes"


def _is_table(head: Head) -> bool:
    return head.text.startswith("#separator") and any(re.match(r"#path\Wconn$", line) for line in head.lines[:12])


def _is_other(head: Head) -> bool:
    return head.text.startswith("#separator")


def _is_objects(head: Head) -> bool:
    return head.is_json and head.has("id.orig_h", "id.resp_h", "conn_state")


def _of_table(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return two_way(_connections(_rows(source), source.where, reading), reading)


def _of_objects(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return two_way(_connections(read_objects(source.pieces, source.where), source.where, reading), reading)


def _rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Every connection with the number of its line; a file may hold several logs, each with a header."""
    names: list[str] = []
    separator = "\t"
    for block in split_lines(source.pieces, source.where):
        lines = block.text.decode("utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines, start=block.first):
            if line.startswith("#"):
                if line.startswith("#separator "):
                    match = re.match(r"#separator \\x([0-9a-fA-F]{2})", line)
                    separator = chr(int(match[1], 16)) if match is not None else line.rstrip("\r")[11:] or "\t"
                elif line.startswith(f"#fields{separator}"):
                    names = line.rstrip("\r").split(separator)[1:]
                continue
            cells = line.rstrip("\r").split(separator)
            if not names and line.strip():
                raise InputError(f"{source.where}, line {number}: found no line #fields before it; allowed: {_ALLOWED}")
            if len(cells) == len(names):
                yield number, {name: cell for name, cell in zip(names, cells, strict=True) if cell not in ("-", "")}
            elif line.strip() and not (block.cut and line is lines[-1]):
                raise InputError(f"{source.where}, line {number}: found {len(cells)} fields; allowed: {len(names)}")


def _connections(rows: Iterator[tuple[int, Mapping[str, Any]]], where: str, reading: Reading) -> Iterator[Connection]:
    first = next(rows, None)
    if first is None:
        return
    for number, row in chain([first], rows):
        place = f"{where}, line {number}"
        if "ts" not in row or "id.orig_h" not in row:
            raise InputError(f"{place}: found a record without ts and id.orig_h; allowed: {_ALLOWED}")
        is_ip = "orig_ip_bytes" in row or "resp_ip_bytes" in row
        if not is_ip and "orig_bytes" not in row:
            if row.get("conn_state") in ("S0", "OTH", "REJ", "RSTOS0", "SH", "RSTRH", "SHR", "SF", None):
                continue  # nothing was counted
            raise InputError(f"{place}: found a record without bytes; allowed: {_ALLOWED}")
        if not is_ip:
            reading.say("Zeek counted bytes of payload only: headers of TCP and IP come on top")
        if _number(row, "missed_bytes", place):
            reading.say("Zeek missed packets of some connections (missed_bytes): their bytes are counted as carried")
        kind = "ip_bytes" if is_ip else "bytes"
        start = _time(row["ts"], place)
        history = set(str(row.get("history", "")))
        flags = 2 * bool(history & _SYN) | bool(history & _FIN) | 4 * bool(history & _RST)
        yield Connection(
            start_s=start,
            end_s=start + _number(row, "duration", place),
            forward_bytes=_number(row, f"orig_{kind}", place),
            backward_bytes=_number(row, f"resp_{kind}", place),
            forward_packets=_number(row, "orig_pkts", place),
            backward_packets=_number(row, "resp_pkts", place),
            protocol=str(row.get("proto", "")),
            flags=int(flags),
            source=str(row.get("id.orig_h", "")),
            target=str(row.get("id.resp_h", "")),
            source_port=int(_number(row, "id.orig_p", place)),
            target_port=int(_number(row, "id.resp_p", place)),
            outward=_outward(row),
        )


def _outward(row: Mapping[str, Any]) -> bool | None:
    """Whether the originator is a local host and the other is not; None where the log does not say."""
    flags = [str(row.get(name, "")).lower() in ("t", "true") for name in ("local_orig", "local_resp")]
    return None if flags[0] == flags[1] else flags[0]


def _time(value: object, place: str) -> float:
    """Seconds since 1970, also of a date, as Zeek writes it with JSON::TS_ISO8601."""
    found = parse_timestamp(str(value))
    if found is None:
        raise InputError(f"{place}: found {clean(value)} for `ts`; allowed: seconds, or a date such as "
                         "2026-11-23T16:00:00.000000Z")  # fmt: skip
    return found


def _number(row: Mapping[str, Any], name: str, place: str) -> float:
    value = row.get(name)
    if value is None:
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < 1e17:
        raise InputError(f"{place}: found {clean(value)} for {clean(name)}; allowed: a number from 0 on")
    return number


_YIELDS = (Yields.FLOWS,)
TABLE = FlowInput("Zeek's conn.log", _is_table, _YIELDS, _of_table)
OBJECTS = FlowInput("Zeek's conn.log in JSON", _is_objects, _YIELDS, _of_objects)
OTHER_LOG = RefusedInput("a log of Zeek that is no conn.log", _is_other, (), "use conn.log of the same time")
