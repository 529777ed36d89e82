"""Export packets of NetFlow v5, NetFlow v9 (RFC 3954) and IPFIX (RFC 7011), with their templates.

Of IANA's information elements only those are read of which a record is made; fields of variable length are passed over.
The package `netflow` 0.12.2 is not used: it loops for ever on a set of length zero and knows no variable lengths.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.observation.flow_records.clocks import MOST_SECONDS

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["is_exported", "tables"]

ROWS = 100_000
#: Templates that are remembered; exporters have some dozens.
MOST_TEMPLATES = 10_000
VARIABLE = 0xFFFF
#: Longest number of RFC 7011; a longer field is none.
MOST_BYTES_OF_NUMBER = 8

#: Elements that are numbers and stand in a record as they are (RFC 3954 section 8; IANA, IPFIX Information Elements).
COUNTS = {1: "bytes", 85: "bytes", 2: "packets", 86: "packets", 4: "protocol", 6: "tcp_flags", 7: "source_port",
          11: "target_port", 10: "input", 14: "output", 34: "sampling"}  # fmt: skip
ADDRESSES = {8: "source", 27: "source", 12: "target", 28: "target"}
#: Elements that say when, and the column; how is in `_seconds`.
TIMES = {22: "start_s", 21: "end_s", 150: "start_s", 151: "end_s", 152: "start_s", 153: "end_s", 154: "start_s",
         155: "end_s", 156: "start_s", 157: "end_s", 158: "start_s", 159: "end_s"}  # fmt: skip
DURATIONS = {161: 1e-3, 162: 1e-6}
#: Elements of options that say how packets are sampled.
SAMPLERS = frozenset((34, 50, 305, 306))
NEEDED = ("start_s", "end_s", "bytes")
COLUMNS = (*NEEDED, "packets", "protocol", "tcp_flags", "source_port", "target_port", "input", "output", "sampling",
           "source", "target")  # fmt: skip

Row = dict[str, "float | str"]


class _Wrong(Exception):  # noqa: N818 - never leaves this file
    """A datagram that is no export packet."""


@dataclass(frozen=True, slots=True)
class _Field:
    element: int  # 0 for an enterprise's own
    size: int


@dataclass(frozen=True, slots=True)
class _Template:
    fields: tuple[_Field, ...]
    options: bool

    @property
    def least(self) -> int:
        """Fewest bytes of a record."""
        return sum(1 if each.size == VARIABLE else each.size for each in self.fields)


@dataclass
class _Exporters:
    """The templates and sampling rates of exporters, learned while a file is read."""

    reading: Reading
    templates: dict[tuple[int, int], _Template] = field(default_factory=dict)
    sampling: dict[int, int] = field(default_factory=dict)

    def learn(self, key: tuple[int, int], template: _Template) -> None:
        if len(self.templates) >= MOST_TEMPLATES:
            self.templates.clear()
        self.templates[key] = template

    def sample(self, key: int, interval: int) -> None:
        if len(self.sampling) < MOST_TEMPLATES:
            self.sampling[key] = interval


@dataclass(frozen=True, slots=True)
class _Clock:
    """When a packet was exported, and the exporter's uptime then."""

    exported_s: float
    uptime_ms: int


def is_exported(start: bytes) -> bool:
    """Whether a file begins with an export packet."""
    if len(start) < 20:
        return False
    version, count = struct.unpack(">HH", start[:4])
    if version == 5:
        return bool(1 <= count <= 30)
    if version == 9:
        kind, size = struct.unpack(">HH", start[20:24].ljust(4, b"\0"))
        return bool((kind < 2 or kind >= 256) and size >= 4)
    return bool(version == 10 and count >= 16)


def tables(pieces: Iterator[bytes], where: str, reading: Reading) -> Iterator[pl.DataFrame]:
    """The records of a file, in tables of a limited number of rows.

    Raises
    ------
    InputError
        If a stored packet is not an export packet, or a capture holds no export packet.
    """
    exporters = _Exporters(reading)
    rows: list[Row] = []
    found = 0
    for payload in _stored(_Bytes(pieces), where):
        try:
            fresh = _records(payload, exporters)
        except (_Wrong, struct.error):
            continue
        found += 1
        rows += (row for row in fresh if all(name in row for name in NEEDED))
        if len(rows) >= ROWS:
            yield _table(rows, reading)
            rows = []
    if not found:
        raise InputError(f"{where}: found no export packet; allowed: packets of NetFlow v5, v9 or IPFIX in sequence")
    if rows:
        yield _table(rows, reading)


def _stored(source: _Bytes, where: str) -> Iterator[bytes]:
    """Packets one behind the other, as RFC 5655 stores IPFIX; those of v9 end where a set would be numbered 5 to 10."""
    ahead = source.take(4)
    while len(ahead) == 4:
        version, count = struct.unpack(">HH", ahead)
        if version in (5, 10):
            size = 24 + 48 * count if version == 5 else count
            packet = ahead + source.take(max(0, size - 4))
            ahead = source.take(4)
        elif version == 9:
            packet = ahead + source.take(16)
            ahead = source.take(4)
            while len(ahead) == 4 and (ahead[:2] < b"\x00\x05" or ahead[:2] > b"\x00\x0a"):
                size = max(4, int.from_bytes(ahead[2:], "big"))
                packet += ahead + source.take(size - 4)
                if len(packet) > 2**17:
                    break
                ahead = source.take(4)
        else:
            raise InputError(f"{where}, byte {source.offset - 4}: found a packet of version {version}; "
                             "allowed: 5, 9 or 10")  # fmt: skip
        yield packet


def _records(packet: bytes, exporters: _Exporters) -> list[Row]:
    """The records of one packet."""
    version = int.from_bytes(packet[:2], "big")
    if version == 5:
        return _of_v5(packet)
    if version == 9 and len(packet) >= 20:
        uptime, seconds, _, domain = struct.unpack(">IIII", packet[4:20])
        return _of_sets(packet, 20, domain, _Clock(float(seconds), uptime), exporters)
    if version == 10 and len(packet) >= 16:
        size, seconds, _, domain = struct.unpack(">HIII", packet[2:16])
        if size != len(packet):
            raise _Wrong
        return _of_sets(packet, 16, domain, _Clock(float(seconds), 0), exporters)
    raise _Wrong


def _of_v5(packet: bytes) -> list[Row]:
    count, uptime, seconds, nanoseconds = struct.unpack(">HIII", packet[2:16])
    if not 1 <= count <= 30 or len(packet) != 24 + 48 * count:
        raise _Wrong
    sampling = int.from_bytes(packet[22:24], "big") & 0x3FFF  # the two bits above are its mode
    clock = _Clock(seconds + nanoseconds * 1e-9, uptime)
    rows = []
    for source, target, into, out, packets, size, first, last, sport, dport, flags, protocol in struct.iter_unpack(
        ">4s4s4xHHIIIIHHxBB9x", packet[24:]
    ):
        rows.append({
            "start_s": _since(clock, first), "end_s": _since(clock, last), "bytes": size, "packets": packets,
            "protocol": protocol, "tcp_flags": flags, "source_port": sport, "target_port": dport,
            "input": into, "output": out, "sampling": max(1, sampling),
            "source": str(ip_address(source)), "target": str(ip_address(target)),
        })  # fmt: skip
    return rows


def _since(clock: _Clock, uptime_ms: int) -> float:
    """When an uptime was; uptimes wrap at 32 bits."""
    ago = (clock.uptime_ms - uptime_ms) & 0xFFFFFFFF
    return clock.exported_s - (ago - 2**32 if ago >= 2**31 else ago) / 1000


def _of_sets(
    packet: bytes, at: int, domain: int, clock: _Clock, exporters: _Exporters
) -> list[Row]:  # fmt: skip
    """The records of the sets of a packet of v9 or IPFIX."""
    ipfix = packet[1] == 10
    rows: list[Row] = []
    while at + 4 <= len(packet):
        kind, size = struct.unpack(">HH", packet[at : at + 4])
        if size < 4 or at + size > len(packet):
            raise _Wrong
        body = packet[at + 4 : at + size]
        at += size
        if kind in ((2, 3) if ipfix else (0, 1)):
            for number, template in _templates(body, ipfix=ipfix, options=kind % 2 == 1):
                exporters.learn((domain, number), template)
        elif kind >= 256:
            found = exporters.templates.get((domain, kind))
            if found is None:
                exporters.reading.unread += 1
            elif found.options:
                _learn_sampling(body, found, domain, exporters)
            else:
                sampling = exporters.sampling.get(domain, 1)
                rows += (_row(values, clock, sampling) for values in _values(body, found))
    return rows


def _templates(body: bytes, *, ipfix: bool, options: bool) -> Iterator[tuple[int, _Template]]:
    """Templates of a set; what is left at its end is padding."""
    at = 0
    head = 6 if options else 4
    while at + head <= len(body):
        number, count = struct.unpack(">HH", body[at : at + 4])
        if options and not ipfix:  # RFC 3954, section 6.1: lengths in bytes of scopes and of options
            count = (count + int.from_bytes(body[at + 4 : at + 6], "big")) // 4
        at += head
        if number < 256:
            return
        fields = []
        for _ in range(count):
            if at + 4 > len(body):
                raise _Wrong
            element, size = struct.unpack(">HH", body[at : at + 4])
            at += 4
            if ipfix and element & 0x8000:  # an enterprise's, whose number follows
                element, at = 0, at + 4
            fields.append(_Field(element, size))
        if fields:
            yield number, _Template(tuple(fields), options)


def _values(body: bytes, template: _Template) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Elements and values of each record of a set."""
    at, least = 0, max(1, template.least)
    while at + least <= len(body):
        values = []
        for each in template.fields:
            size = each.size
            if size == VARIABLE:  # RFC 7011, section 7
                size, at = body[at] if at < len(body) else 0, at + 1
                if size == 255:
                    size, at = int.from_bytes(body[at : at + 2], "big"), at + 2
            values.append((each.element, body[at : at + size]))
            at += size
        if at > len(body):
            raise _Wrong
        yield values


def _row(values: Sequence[tuple[int, bytes]], clock: _Clock, sampling: int) -> Row:
    row: Row = {"sampling": sampling}
    lasting = None
    for element, value in values:
        if element in ADDRESSES:
            if len(value) in (4, 16) and any(value):
                row[ADDRESSES[element]] = str(ip_address(value))
        elif len(value) > MOST_BYTES_OF_NUMBER:
            continue
        elif element in COUNTS:
            name, number = COUNTS[element], int.from_bytes(value, "big")
            if name == "tcp_flags":
                number &= 255
            if name != "sampling" or number > 1:
                row[name] = number
        elif element in TIMES:
            row[TIMES[element]] = _seconds(element, value, clock)
        elif element in DURATIONS:
            lasting = int.from_bytes(value, "big") * DURATIONS[element]
    if lasting is not None and "start_s" in row:
        row.setdefault("end_s", float(row["start_s"]) + lasting)
    return row


def _seconds(element: int, value: bytes, clock: _Clock) -> float:
    """Seconds since 1970 of an element that says when."""
    number = int.from_bytes(value, "big")
    if element in (21, 22):
        return _since(clock, number)
    if element in (150, 151):
        return float(number)
    if element in (152, 153):
        return number / 1000
    if element in (154, 155, 156, 157):  # as NTP writes them, from 1900 on (RFC 7011, section 6.1.9)
        return number / 2**32 - 2_208_988_800
    return clock.exported_s - number * 1e-6


def _learn_sampling(body: bytes, template: _Template, domain: int, exporters: _Exporters) -> None:
    for values in _values(body, template):
        sampling = {
            element: int.from_bytes(value, "big")
            for element, value in values
            if element in SAMPLERS and len(value) <= MOST_BYTES_OF_NUMBER
        }
        interval = sampling.get(34) or sampling.get(50) or 0
        if sampling.get(305):  # one run of packets is taken, then another run is skipped (RFC 5477, section 8.2)
            interval = (sampling[305] + sampling.get(306, 0)) // sampling[305]
        if interval > 1:
            exporters.sample(domain, interval)


def _table(rows: list[Row], reading: Reading) -> pl.DataFrame:
    import polars as pl

    kinds = {"start_s": pl.Float64(), "end_s": pl.Float64(), "source": pl.String(), "target": pl.String()}
    columns = {}
    for name in COLUMNS:
        values = [row.get(name) for row in rows]
        if name not in kinds:
            values = [None if value is None or int(value) > 2**62 else int(value) for value in values]
        columns[name] = pl.Series(name, values, dtype=kinds.get(name, pl.Int64()))
    limits = {"protocol": 255, "source_port": 65535, "target_port": 65535}
    limits |= dict.fromkeys(("input", "output", "sampling"), 2**32 - 1) | dict.fromkeys(("bytes", "packets"), 10**17)
    table = pl.DataFrame(columns).with_columns(
        pl.when(pl.col(name) <= most).then(pl.col(name)) for name, most in limits.items()
    )
    good = table.filter(
        pl.col("bytes").is_not_null(), *(pl.col(name).abs() < MOST_SECONDS for name in ("start_s", "end_s"))
    )
    reading.impossible += table.height - good.height
    return reading.finished(good.with_columns(pl.col("sampling").fill_null(1)))


class _Bytes:
    """Bytes of a file, taken from its beginning on.

    Parameters
    ----------
    pieces : iterator of bytes
        Content of the file, cut anywhere.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""
        self._at = 0
        self.offset = 0

    def take(self, count: int) -> bytes:
        """The next bytes; fewer where the file ends."""
        if len(self._rest) - self._at < count:
            parts, size = [self._rest[self._at :]], len(self._rest) - self._at
            while size < count and (piece := next(self._pieces, b"")):
                parts.append(piece)
                size += len(piece)
            self._rest, self._at = b"".join(parts), 0
        found = self._rest[self._at : self._at + count]
        self._at += len(found)
        self.offset += len(found)
        return found
