"""Suricata's eve.json: events `flow` (both directions in one) and `netflow` (one direction), among others.

Fields after Suricata's user guide, section "EVE JSON format".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.observation.flow_records.directions import Connection, two_way
from forebay.observation.flow_records.record_table import Source
from forebay.observation.inputs.flow_records import FlowInput
from forebay.observation.inputs.input import Head, Yields
from forebay.observation.json_stream import read_objects
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["EVE"]


def _recognizes(head: Head) -> bool:
    return head.is_json and head.has("event_type", "timestamp") and (
        head.has("flow_id") or head.has("in_iface") or head.has("dest_ip") or head.has("stats")
    )  # fmt: skip


def _records(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return two_way(_connections(source, reading), reading)


def _connections(source: Source, reading: Reading) -> Iterator[Connection]:
    kinds: Counter[str] = Counter()
    found = 0
    for line, event in read_objects(source.pieces, source.where):
        kind = str(event.get("event_type", ""))[:40]
        place = f"{source.where}, line {line}"
        body = event.get(kind) if kind in ("flow", "netflow") else None
        if not isinstance(body, Mapping):
            kinds[kind if len(kinds) < 100 else "other"] += 1
            continue
        found += 1
        yield _connection(event, body, kind, place)
    if not found and kinds:
        names = ", ".join(clean(name) for name, _ in kinds.most_common(4))
        raise InputError(
            f"{source.where}: found Suricata's events {names}, and none of the kind `flow`; "
            "turn on `flow` among the types of eve-log"
        )
    if kinds:
        reading.say(f"{sum(kinds.values())} events of other kinds than `flow` are passed over")


def _connection(event: Mapping[str, Any], body: Mapping[str, Any], kind: str, place: str) -> Connection:
    start, end = (_time(body, name, place) for name in ("start", "end"))
    tcp = event.get("tcp")
    flags = tcp.get("tcp_flags") if isinstance(tcp, Mapping) else None
    one_way = kind == "netflow"
    return Connection(
        start_s=start,
        end_s=end,
        forward_bytes=_count(body, "bytes" if one_way else "bytes_toserver", place),
        backward_bytes=0.0 if one_way else _count(body, "bytes_toclient", place),
        forward_packets=_count(body, "pkts" if one_way else "pkts_toserver", place),
        backward_packets=0.0 if one_way else _count(body, "pkts_toclient", place),
        protocol=str(event.get("proto", "")),
        flags=_flags(flags),
        source=str(event.get("src_ip", "")),
        target=str(event.get("dest_ip", "")),
        source_port=int(_count(event, "src_port", place)),
        target_port=int(_count(event, "dest_port", place)),
    )


def _flags(text: object) -> int:
    """A byte of TCP flags in hexadecimal digits."""
    try:
        return int(str(text), 16) & 0xFF if text is not None else 0
    except ValueError:
        return 0


def _time(body: Mapping[str, Any], name: str, place: str) -> float:
    value = body.get(name)
    found = parse_timestamp(str(value)) if value is not None else None
    if found is None:
        raise InputError(f"{place}: found {clean(value)} for {clean(name)}; allowed: a time such as "
                         "2026-11-23T16:00:00.000000+0000")  # fmt: skip
    return found


def _count(body: Mapping[str, Any], name: str, place: str) -> float:
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e17:
        raise InputError(f"{place}: found {clean(value)} for {clean(name)}; allowed: a number from 0 on")
    return float(value)


EVE = FlowInput("Suricata's eve.json", _recognizes, (Yields.FLOWS,), _records)
