"""Flow records that name their fields as NetFlow, IPFIX or nfdump do: tables, objects, nfcapd's files, packets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forebay.observation.flow_records import exports, json_records, nfcapd, text_records
from forebay.observation.flow_records.record_table import Source
from forebay.observation.inputs.flow_records import FlowInput
from forebay.observation.inputs.input import Head, Yields
from forebay.observation.json_stream import read_objects
from forebay.observation.line_reader import read_blocks, split_lines

if TYPE_CHECKING:
    import polars as pl

    from forebay.observation.flow_records.record_table import Reading

__all__ = ["EXPORTS", "NFCAPD", "OBJECTS", "TABLE"]

#: Columns and keys of which records of flows have at least one, and counters none.
_OF_FLOWS = re.compile(
    r"\b(sa|da|src_?addr|dst_?addr|src_?ip|dst_?ip|src4_addr|src6_addr|ipv[46]_(src|dst)_addr|ip_src|ip_dst|sip|dip"
    r"|source(ipv[46])?(transport)?(_?address|_?port)?|sourceipv[46]address|destinationipv[46]address"
    r"|src_?port|dst_?port|l4_src_port|sp|dp|port_src|port_dst|s_?port|d_?port)\b",
    re.IGNORECASE,
)


def _names_flows(head: Head) -> bool:
    return _OF_FLOWS.search(" ".join(head.columns)) is not None


def _is_nfcapd(head: Head) -> bool:
    return nfcapd.is_nfcapd(head.data)


def _is_exported(head: Head) -> bool:
    return exports.is_exported(head.data)


def _is_object(head: Head) -> bool:
    return head.is_json and _names_flows(head)


def _is_table(head: Head) -> bool:
    return not head.is_json and not head.is_binary and _names_flows(head)


def _of_nfcapd(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    with nfcapd.printed(source.path) as text:
        yield from text_records.tables(
            split_lines(read_blocks(text, source.where), source.where), source.where, reading
        )


def _of_packets(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return exports.tables(source.pieces, source.where, reading)


def _of_objects(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return json_records.tables(read_objects(source.pieces, source.where), source.where, reading)


def _of_table(source: Source, reading: Reading) -> Iterator[pl.DataFrame]:
    return text_records.tables(split_lines(source.pieces, source.where), source.where, reading)


_FLOWS = (Yields.FLOWS,)
NFCAPD = FlowInput("nfdump's nfcapd", _is_nfcapd, _FLOWS, _of_nfcapd)
EXPORTS = FlowInput("packets of NetFlow or IPFIX", _is_exported, _FLOWS, _of_packets)
OBJECTS = FlowInput("flow records in JSON", _is_object, _FLOWS, _of_objects)
TABLE = FlowInput("flow records in a table", _is_table, _FLOWS, _of_table)
