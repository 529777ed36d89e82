"""Flow records: the base of their inputs, and their finding.

An input of flow records is a function from a file to typed tables. `records` joins records to flows and sums them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from forebay.errors import InputError
from forebay.observation.estimate import IntervalEstimate, Unknown, scaled
from forebay.observation.finding import (
    AppLimited,
    Finding,
    FittedDistribution,
    GroupFinding,
    LinkFinding,
    Persistent,
    Workload,
)
from forebay.observation.finding import (
    Input as ObservedInput,
)
from forebay.observation.flow_records.record_table import RecordFile, Tables
from forebay.observation.inputs.input import File, Input, InputReading, Kind, Options
from forebay.observation.load import Load, LoadSeries
from forebay.observation.one_sided import given_or_unknown, regime_without_packets, unknown_queue
from forebay.observation.records import FlowRecords, read_records
from forebay.observation.transfers import FEWEST_TRANSFERS, describe_transfers
from forebay.text.formatting import bandwidth

__all__ = ["FlowInput", "FlowReading"]

#: The largest number of an interface (RFC 2863: ifIndex).
_MOST_INTERFACE = 2**31 - 1
#: Quantities that records tell of no group of flows: its controllers and its round trips.
_NO_CONNECTIONS = (
    Unknown("congestion controller", "records have no windows", "ask the senders (ss -tin), or capture the port"),
    Unknown("base round trip", "records have no round trips", "capture the port in both directions, or use ss -tin"),
)
#: Why records do not tell what packets tell.
_BECAUSE = "a record has the bytes of a flow, but not the times of its packets"


@dataclass(frozen=True)
class FlowReading(InputReading):
    """Flow records of a link."""

    records: FlowRecords


@dataclass(frozen=True)
class FlowInput(Input[FlowReading]):
    """An input of flow records.

    Attributes
    ----------
    tables : callable
        From a source to typed tables of records.
    """

    kind: ClassVar[Kind] = Kind.RECORDS
    options: ClassVar[frozenset[str]] = frozenset(("port", "sampling", "window"))

    tables: Tables

    def read(self, files: Sequence[File], options: Options) -> FlowReading:
        """Read flow records: load over time, sizes and beginnings of flows."""
        found = read_records(
            [_record_file(each) for each in files],
            rate_bps=options.rate_bps,
            sampling=options.sampling,
            output=_interface(options.port),
            window=options.window,
            progress=options.progress,
        )
        return FlowReading(given_or_unknown(options.rate_bps, _BECAUSE), _load_series(found), found)

    def finding(self, reading: FlowReading, load: Load | None) -> Finding:
        """Make a finding of flow records."""
        records = reading.records
        limited = records.estimates.get("limited_flows") or Unknown(
            "flows that this link limits", _BECAUSE, "capture the port for a minute at a busy time"
        )
        groups: list[GroupFinding] = []
        distributions: list[FittedDistribution] = []
        many = records.estimates.get("long_flows")
        if many is not None and many.value > 0:
            groups.append(_long_records(records, many, limited))
        transfers = _short_records(records, distributions)
        if transfers is not None:
            groups.append(transfers)
        return Finding(
            input=ObservedInput("flow records", records.last_s - records.first_s, None, None),
            link=LinkFinding(
                reading.rate, unknown_queue("buffer", _BECAUSE), unknown_queue("queue discipline", _BECAUSE)
            ),
            limited_flows=limited,
            regime=regime_without_packets(load, limited, _BECAUSE),
            groups=tuple(groups),
            load=load,
            distributions=tuple(distributions),
            unknown=_unidentified(records.unknown, limited, groups),
            notes=records.notes if load is not None else (*records.notes, *_mean_load_only(records)),
            day=records.day,
            assumed=("bursts are those of transfers that begin as the records show: records have no packets",),
        )


def _record_file(file: File) -> RecordFile:
    assert isinstance(file.input, FlowInput), "files are of one kind"
    return RecordFile(file.path, file.input.name, file.input.tables)


def _interface(port: str | None) -> int | None:
    """A port by its number (SNMP's ifIndex), which is what flow records have."""
    if port is None:
        return None
    if not port.isdecimal() or int(port) > _MOST_INTERFACE:
        raise InputError(f"found {port}; allowed: the number of an output interface, as flow records have it", "port")
    return int(port)


def _unidentified(
    unknown: Sequence[Unknown], limited: IntervalEstimate | Unknown, groups: Sequence[GroupFinding]
) -> tuple[Unknown, ...]:
    """The quantities that are not identified, except those that the link, its flows and the groups name already."""
    values = {"buffer and queue discipline"}
    if isinstance(limited, Unknown):
        values.add("which flows this link limits")
    if groups:
        values |= {"base round trips", "congestion controllers"}
    return tuple(each for each in unknown if each.quantity not in values)


def _mean_load_only(records: FlowRecords) -> tuple[str, ...]:
    """The mean load of records that are too short for a load over time."""
    mean = records.estimates.get("load")
    return (
        ()
        if mean is None
        else (f"the load is {bandwidth(mean.value)} on average; the load over shorter times is unknown",)
    )


def _load_series(records: FlowRecords) -> LoadSeries | None:
    series = records.load
    width = max(series.resolution_s, series.bin_s)
    means = series.averaged(width)
    if len(means) < 2:
        return None
    bins = max(1, round(np.ceil(width / series.bin_s - 1e-9)))
    size = records.estimates.get("packet_size")
    return LoadSeries(
        means * bins * series.bin_s / 8.0,
        bins * series.bin_s,
        "bytes of records over their time",
        size.value if size is not None else 1500.0,
    )


def _long_records(records: FlowRecords, many: IntervalEstimate, limited: IntervalEstimate | Unknown) -> GroupFinding:
    """Long flows: persistent ones where the link is known to limit them, else as fast as each was."""
    mean = records.estimates.get("long_rate") or records.estimates.get("load")
    rate = None
    if mean is not None:
        share = max(many.value, 1.0)
        rate = replace(scaled(mean, 1.0 / share, "bit/s"), source="load over the number of long flows")
    is_limited = isinstance(limited, IntervalEstimate) and limited.value > 0
    workload: Workload = Persistent() if is_limited or rate is None else AppLimited(rate)
    return GroupFinding(
        "long flows",
        many,
        workload,
        "this link" if is_limited else "unknown",
        *_NO_CONNECTIONS,
        rate=rate,
    )


def _short_records(records: FlowRecords, distributions: list[FittedDistribution]) -> GroupFinding | None:
    if len(records.sizes) < FEWEST_TRANSFERS or len(records.arrivals_s) < 2:
        return None
    source = f"{len(records.sizes)} flows that were seen from beginning to end"
    span = records.first_s, max(records.last_s, float(records.arrivals_s[-1]) + 1e-3)
    found = describe_transfers(records.sizes, records.arrivals_s, span, "size of flows", source)
    if found is None:
        return None
    distributions.append(found.sizes)
    return GroupFinding("transfers", None, found.workload, "unknown", *_NO_CONNECTIONS)
