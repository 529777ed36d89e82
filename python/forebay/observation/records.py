"""Flow records: load, sizes, arrivals and long flows, as far as exporters' records tell them.

A record states the bytes of a flow between two instants, but not when they came. Events within an active timeout, round
trips, windows and losses are therefore unknown. The report names each of them with the measurement that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError
from forebay.extras import need
from forebay.observation.busy_hour import WHOLE, Day, Intervals, Span, Window, day_of
from forebay.observation.counter_files.speeds import check_load
from forebay.observation.estimate import MOST_RATE, IntervalEstimate, Unknown, given_rate
from forebay.observation.flow_records.directions import BACKWARD, FORWARD
from forebay.observation.flow_records.flow_assembly import Evidence, Timeouts, assemble_flows, gather, timeouts
from forebay.observation.flow_records.flow_statistics import Covered, FlowStatistics, unknown_of
from forebay.observation.flow_records.record_table import ALLOWED, Reading, RecordFile, schema
from forebay.observation.flow_records.spreading import SpreadSum, width_for
from forebay.observation.flow_records.store import Store
from forebay.observation.line_reader import Progress
from forebay.observation.series import Series

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["FlowRecords", "read_records"]

#: Output interfaces that an error names.
_NAMED = 16


@dataclass(frozen=True)
class FlowRecords:
    """The evaluated flow records of a link.

    Attributes
    ----------
    count : int
        Records that were read.
    formats : tuple of str
        Format of each file: "csv", "json", "nfcapd" or "export packets".
    first_s, last_s : float
        Start of the first record and end of the last, in seconds of the input's clock.
    sampling : int
        The sampling interval N: one packet in N was seen; 1 if all were.
    timeouts : Timeouts
        Timeouts of the exporter, as its records show them.
    load : Series
        Load in bit/s, with the resolution below which nothing is known.
    long_flows : Series
        Number of long flows over time.
    arrivals_s : ndarray
        Beginnings of short flows, in order, if the beginning was seen.
    sizes : ndarray
        Bytes of flows that were seen from beginning to end, in ascending order; with sampling, those that are large
        enough for an estimate.
    estimates : mapping
        Estimates by name, such as "load" and "size_p50".
    unknown : tuple of Unknown
        Quantities that records cannot tell.
    notes : tuple of str
        Remarks on the input, one sentence each.
    day : Day or None
        Load over the day, if the records cover two times their resolution; the other fields concern its span.
    """

    count: int
    formats: tuple[str, ...]
    first_s: float
    last_s: float
    sampling: int
    timeouts: Timeouts
    load: Series
    long_flows: Series
    arrivals_s: NDArray[np.float64]
    sizes: NDArray[np.float64]
    estimates: Mapping[str, IntervalEstimate]
    unknown: tuple[Unknown, ...]
    notes: tuple[str, ...]
    day: Day | None
    _records: Store = field(repr=False)
    _flows: Store = field(repr=False)

    @property
    def records(self) -> pl.LazyFrame:
        """All records as `schema` of `flow_records.normal` says; addresses are a hash that means nothing elsewhere."""
        return self._records.lazy()

    @property
    def flows(self) -> pl.LazyFrame:
        """Flows joined of their records: as `flow_records.joining.joined` has them."""
        return self._flows.lazy()


def read_records(
    files: Sequence[RecordFile],
    *,
    rate_bps: float | None = None,
    sampling: int = 1,
    output: int | None = None,
    window: Window = WHOLE,
    progress: Progress | None = None,
) -> FlowRecords:
    """Read files of flow records, in one format or several, and evaluate them.

    Parameters
    ----------
    files : sequence of RecordFile
        The files, plain or packed with gzip or zstd.
    rate_bps : float, optional
        Rate of the link in bit/s, for its utilization.
    sampling : int
        The sampling interval N: one packet in N was seen, if the records do not state it themselves.
    output : int, optional
        Number of the output interface whose link is meant; all records by default.
    window : Window
        The described part; the records are cut to it.
    progress : callable, optional
        Function that receives the number of bytes read and their total.

    Raises
    ------
    InputError
        Names the file, the line, what was found and what is allowed.
    MissingPackageError
        Without polars.
    """
    need("polars")
    if sampling < 1:
        raise InputError(f"found {sampling}; allowed: 1 or more, as in 1 packet in 1000", "sampling")
    if rate_bps is not None and not 1 <= rate_bps <= MOST_RATE:
        raise InputError(f"found {rate_bps}; allowed: 1 to {MOST_RATE:g} bit/s", "rate")
    if not files:
        raise InputError(f"found no file; allowed: {ALLOWED}")
    records, reading, found = _records(files, sampling, output, progress)
    evidence = gather(records.buckets())
    intervals = timeouts(evidence)
    resolution = _resolution(evidence, intervals)
    day, span = _day(records, resolution, window)
    if span is not None:
        records = _cut(records, span)
        resolution = _resolution(gather(records.buckets()), intervals)
    first, last = _span(records)
    covered = Covered(first, last, resolution, intervals.inactive_s)
    width = width_for(first, last)
    smear = SpreadSum(first, last, width)
    flows = Store(_flow_schema(), "pair")
    findings = FlowStatistics(covered, rate_bps)
    for bucket in records.buckets():
        smear.add(*_spread(bucket))
        findings.add_records(bucket)
        pieces = assemble_flows(bucket, intervals.inactive_s)
        findings.add_flows(pieces)
        flows.add(pieces)
    load = Series(first, width, smear.sums() * 8 / width, covered.resolution_s, "bit/s")
    if rate_bps is not None and findings.sampling == 1:
        _check_load(load, rate_bps, str(files[0].path))
    return FlowRecords(
        count=records.height,
        formats=tuple(found),
        first_s=first,
        last_s=last,
        sampling=findings.sampling,
        timeouts=intervals,
        load=load,
        long_flows=findings.long_flows(),
        arrivals_s=findings.arrivals(),
        sizes=findings.sizes(),
        estimates=findings.estimates(load),
        unknown=unknown_of(findings, load),
        notes=(*(() if day is None else (day.span.sentence,)), *_notes(records, reading, intervals, findings, output)),
        day=day,
        _records=records,
        _flows=flows,
    )


def _check_load(load: Series, rate_bps: float, where: str) -> None:
    """Refuse records of more than the link carries; the load of sampled ones is too uncertain for that."""
    means = np.asarray(load.averaged(load.resolution_s), dtype=np.float64)
    seconds = np.full(means.size, load.resolution_s)
    starts = load.start_s + load.resolution_s * np.arange(means.size, dtype=np.float64)
    check_load(starts, seconds, means, given_rate(rate_bps), where, "records of this link in this direction")


def _spread(bucket: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Beginnings, ends and bytes of records, with those that sampling has not seen."""
    amount = bucket["bytes"].to_numpy().astype(np.float64) * bucket["sampling"].to_numpy()
    return bucket["start_s"].to_numpy(), bucket["end_s"].to_numpy(), amount


def _resolution(evidence: Evidence, intervals: Timeouts) -> float:
    """A record spreads its bytes over its time: below the active timeout, or the longest record, nothing is told."""
    if intervals.active_s:
        return max(1.0, intervals.active_s)
    longest = max((float(each.max()) for each in evidence.lasting if each.size), default=1.0)
    return max(1.0, longest)


def _day(records: Store, resolution: float, window: Window) -> tuple[Day | None, Span | None]:
    """The load over the day, and the part of it that is described where it is not all."""
    first, last = _span(records)
    width = width_for(first, last)
    smear = SpreadSum(first, last, width)
    for bucket in records.buckets():
        smear.add(*_spread(bucket))
    means = Series(first, width, smear.sums() * 8 / width, resolution, "bit/s").averaged(resolution)
    each = max(1, int(np.ceil(resolution / width - 1e-9))) * width
    if means.size < 2:
        return None, None
    nothing = np.zeros(0)
    starts = first + each * np.arange(means.size, dtype=np.float64)
    intervals = Intervals(starts, np.full(means.size, each, dtype=np.float64), means, nothing, nothing)
    day, chosen = day_of(intervals, window.at_least(2 * each), "bytes of records over their time")
    return day, None if chosen.all() else day.span


def _cut(records: Store, span: Span) -> Store:
    """The records' parts inside of a span, with bytes and packets in proportion; flags of what is cut say nothing."""
    import polars as pl

    store = Store(schema(), "pair")
    begin, end = pl.col("start_s").clip(lower_bound=span.begin_s), pl.col("end_s").clip(upper_bound=span.end_s)
    lasting = pl.col("end_s") - pl.col("start_s")
    share = pl.when(lasting > 0).then((end - begin) / lasting).otherwise(1.0)
    for bucket in records.buckets():
        inside = bucket.filter((pl.col("end_s") > span.begin_s) & (pl.col("start_s") < span.end_s))
        store.add(
            inside.with_columns(
                start_s=begin,
                end_s=end,
                bytes=(pl.col("bytes") * share).round().cast(pl.Int64),
                packets=(pl.col("packets") * share).ceil().cast(pl.Int64),
                tcp_flags=pl.when(share >= 1).then(pl.col("tcp_flags")),
            )
        )
    return store


def _records(
    files: Sequence[RecordFile], sampling: int, output: int | None, progress: Progress | None
) -> tuple[Store, Reading, list[str]]:
    """All records of all files, of one output interface where one is meant."""
    import polars as pl

    reading, found = Reading(), list[str]()
    stores = {direction: Store(schema(), "pair") for direction in (0, FORWARD, BACKWARD)}
    seen, others = 0, set[int]()
    lengths = [each.path.stat().st_size if each.path.is_file() else 0 for each in files]
    for number, file in enumerate(files):
        found.append(file.name)
        for read in file.read(reading):
            table = read
            seen += table.height
            if output is not None:
                others.update(table["output"].drop_nulls().unique().to_list()[:_NAMED])
                table = table.filter(pl.col("output") == output)
            if sampling > 1:
                statements = pl.col("sampling")
                table = table.with_columns(pl.when(statements > 1).then(statements).otherwise(sampling).cast(pl.UInt32))
            for direction, store in stores.items():
                if direction == 0 and not reading.two_way:
                    store.add(table)
                elif direction and reading.two_way:
                    store.add(table.filter(pl.col("output") == direction))
            if progress is not None:
                progress(sum(lengths[:number]) + reading.position, sum(lengths))
    store = _busier(stores, reading, output)
    if not store.height:
        where = ", ".join(str(each.path) for each in files[:3])
        if seen:
            known = ", ".join(map(str, sorted(others)[:_NAMED])) or "records that name an output interface"
            raise InputError(f"{where}: found {seen} records, none of interface {output}; allowed: {known}", "port")
        raise InputError(f"{where}: found no record; allowed: {ALLOWED}")
    return store, reading, found


def _busier(stores: dict[int, Store], reading: Reading, output: int | None) -> Store:
    """Records of the direction that carries more, where connections have two; else all."""
    import polars as pl

    if not reading.two_way:
        return stores[0]
    if stores[0].height:
        raise InputError(
            "found records of connections (two directions) and records of flows (one direction); allowed: one kind",
            "inputs",
        )
    size = {
        direction: float(stores[direction].lazy().select(pl.col("bytes").sum()).collect().item() or 0.0)
        for direction in (FORWARD, BACKWARD)
    }
    chosen = output if output in size else max(size, key=lambda direction: size[direction])
    total = sum(size.values()) or 1.0
    names = {FORWARD: "from clients to servers", BACKWARD: "from servers to clients"}
    reading.say(
        f"the described direction is {names[chosen]} (`--port {chosen}`), with {size[chosen] / total:.0%} of the "
        f"bytes; the "
        f"other direction is `--port {FORWARD + BACKWARD - chosen}`"
    )
    return stores[chosen]


def _span(records: Store) -> tuple[float, float]:
    import polars as pl

    first, last = records.lazy().select(pl.col("start_s").min(), pl.col("end_s").max()).collect().row(0)
    return float(first), float(last)


def _flow_schema() -> dict[str, pl.DataType]:
    import polars as pl

    return dict(assemble_flows(pl.DataFrame(schema=schema()), 1.0).schema)


def _notes(
    records: Store, reading: Reading, intervals: Timeouts, findings: FlowStatistics, output: int | None
) -> tuple[str, ...]:
    """Remarks on the input."""
    import polars as pl

    notes = list(reading.notes)
    if findings.sampling > 1:
        notes.append(f"one packet in {findings.sampling} was sampled; bytes and packets are multiplied by this number")
    if intervals.active_s is None:
        notes.append("records show no active timeout; the resolution is the duration of the longest record")
    if intervals.assumed:
        notes.append(
            f"records do not show the inactive timeout; {intervals.inactive_s:g} s is assumed, the usual value"
        )
    if reading.backward:
        notes.append(f"{reading.backward} records end before they begin; their duration is set to zero")
    if reading.unread:
        notes.append(f"{reading.unread} sets of export packets came before their template and are omitted")
    if reading.impossible:
        notes.append(f"{reading.impossible} exported records have impossible times or bytes and are omitted")
    if findings.window.short:
        notes.append(
            "the records cover less than four times their resolution, so flows that are cut at both ends bias "
            "all results"
        )
    if findings.cut:
        notes.append(f"{findings.cut} of {findings.flows} flows were active at the beginning or the end of the "
                    "records; their sizes are omitted")  # fmt: skip
    if output is None and not reading.two_way:
        used = records.lazy().group_by("output").agg(pl.col("bytes").sum()).sort("bytes", descending=True).collect()
        known = [row for row in used.iter_rows() if row[0] is not None]
        if len(known) > 1:
            total = float(used["bytes"].sum()) or 1.0
            shares = ", ".join(f"{number} ({size / total:.0%})" for number, size in known[:4])
            notes.append(f"records of {len(known)} output interfaces are counted together: {shares}"
                        f"{', ...' if len(known) > 4 else ''}")  # fmt: skip
    return tuple(notes)
