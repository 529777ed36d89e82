"""Names and types of the columns of a network's tables, and the spellings that an inventory may use for them.

`RAW` is what every importer writes: texts as found, with units. `PORTS` is what `read_inventory` returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forebay.extras import need

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "INNER",
    "KEY",
    "PORTS",
    "RAW",
    "REJECTED",
    "REQUIRED",
    "column_of",
    "columns_of",
    "empty_raw",
    "file_names",
    "frame_of",
    "schema",
]

#: Columns of a table of ports with their polars types.
PORTS: Mapping[str, str] = {
    "device": "String",
    "port": "String",
    "rate_bps": "Int64",
    "platform": "String",
    "buffer": "String",
    "buffer_bytes": "Int64",
    "queue": "String",
    "service_class": "String",
    "role": "String",
    "mtu_bytes": "Int64",
    "profile": "String",
    "goals": "String",
    "utilization": "Float64",
    "drops": "Int64",
    "packets": "Int64",
    "interval_s": "Float64",
    "observe": "String",
    "config": "String",
    "file": "String",
    "line": "Int64",
}
#: Columns of the table of rejected rows.
REJECTED: Mapping[str, str] = {"file": "String", "line": "Int64", "reason": "String"}
#: Columns that importers write, all of them texts. `sent` is a number of bytes in `interval`; `nominal` is the rate of
#: the port's type, which any stated rate replaces; `shaper` is a configured rate, which bounds that of the port;
#: `lines` are the lines of a configuration that describe the port's queue.
RAW = (
    "device",
    "port",
    "rate",
    "nominal",
    "shaper",
    "platform",
    "lines",
    "buffer",
    "queue",
    "service_class",
    "role",
    "mtu",
    "profile",
    "goals",
    "utilization",
    "sent",
    "drops",
    "packets",
    "interval",
    "observe",
    "config",
)
#: Columns of `RAW` that only importers of other formats write.
INNER = ("nominal", "shaper", "lines")
#: Columns whose values identify a port.
KEY = ("device", "port", "service_class")
#: Columns that a table needs.
REQUIRED = ("device", "port")

_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("hostname", "host", "switch", "router", "node", "device_name"), "device"),
    **dict.fromkeys(("interface", "ifname", "if_name", "port_name", "interface_name"), "port"),
    **dict.fromkeys(("speed", "bandwidth", "link_rate", "line_rate"), "rate"),
    **dict.fromkeys(("os", "system", "nos"), "platform"),
    **dict.fromkeys(("buffer_size", "queue_limit", "configured_buffer"), "buffer"),
    **dict.fromkeys(("discipline", "queue_discipline", "aqm"), "queue"),
    **dict.fromkeys(("class", "traffic_class"), "service_class"),
    **dict.fromkeys(("goal",), "goals"),
    **dict.fromkeys(("load",), "utilization"),
    **dict.fromkeys(("bytes", "sent_bytes", "out_octets", "tx_bytes"), "sent"),
    **dict.fromkeys(("out_discards", "dropped"), "drops"),
    **dict.fromkeys(("out_packets", "tx_packets"), "packets"),
    **dict.fromkeys(("period",), "interval"),
    **dict.fromkeys(("capture", "counters"), "observe"),
    **dict.fromkeys(("configuration", "lines"), "config"),
}
#: Units in the name of a column, as in rate_mbps, with the text that stands after the number.
_UNITS: Mapping[str, Mapping[str, str]] = {
    "rate": {"bps": "bps", "kbps": "kbps", "mbps": "Mbps", "gbps": "Gbps", "tbps": "Tbps"},
    "buffer": {
        **{"bytes": "B", "kb": "kB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB"},
        **{"packets": " packets", "ms": " ms", "us": " us", "s": " s"},
    },
    "mtu": {"bytes": "B"},
    "interval": {"s": "s", "seconds": "s", "ms": "ms", "min": "min", "minutes": "min"},
    "utilization": {"percent": "%", "pct": "%"},
}


def column_of(header: str) -> tuple[str, str] | None:
    """The column of `RAW` that a header names, and the unit that the header adds to its numbers; None if unknown."""
    name = re.sub(r"[^a-z0-9]+", "_", header.strip().lower()).strip("_")
    if name in RAW and name not in INNER:
        return name, ""
    if name in _ALIASES:
        return _ALIASES[name], ""
    bare, _, unit = name.rpartition("_")
    bare = _ALIASES.get(bare, bare)
    added = _UNITS.get(bare, {}).get(unit)
    return None if added is None else (bare, added)


def columns_of(headers: Iterable[str]) -> dict[int, tuple[str, str]]:
    """The known columns by their position in a header, each with the unit of its numbers.

    `buffer_bytes` beside `buffer` is the converted value that forebay writes, so the text counts.
    """
    found: dict[int, tuple[str, str]] = {}
    taken: dict[str, int] = {}
    for place, header in enumerate(headers):
        known = column_of(header)
        if known is None:
            continue
        name, unit = known
        if name in taken:
            if unit == "" and found[taken[name]][1]:
                del found[taken[name]]
            else:
                continue
        found[place], taken[name] = known, place
    return found


def file_names(text: str) -> list[str]:
    """The files of a cell of `observe`: one, or those of both sides of a queue with semicolons between them."""
    return [name for part in text.split(";") if (name := part.strip())]


def schema(columns: Mapping[str, str]) -> dict[str, Any]:
    """The columns with polars' own types."""
    need("polars")
    import polars as pl

    return {name: getattr(pl, kind) for name, kind in columns.items()}


def _raw_schema() -> dict[str, Any]:
    return schema({**dict.fromkeys(RAW, "String"), "line": "Int64"})


def empty_raw() -> pl.DataFrame:
    """A frame of importers without rows."""
    import polars as pl

    return pl.DataFrame(schema=_raw_schema())


def frame_of(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of importers with these columns and the others empty; empty texts become null."""
    import polars as pl

    wanted = _raw_schema()
    frame = pl.DataFrame(dict(columns), schema_overrides={name: wanted[name] for name in columns}, strict=False)
    texts = {name: pl.col(name).str.strip_chars() for name in columns if name != "line"}
    frame = frame.with_columns(pl.when(text.str.len_bytes() > 0).then(text).alias(name) for name, text in texts.items())
    missing = [pl.lit(None, wanted[name]).alias(name) for name in wanted if name not in columns]
    return frame.with_columns(missing).select(list(wanted))
