"""Columns of the capture engine as values in seconds: packets over time, streams and backlogs of a queue.

`captures` chooses the direction and the sides. This module only converts units and groups rows by stream.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.observation.packet_timing import Bins, Gaps
from forebay.observation.queues import Backlogs
from forebay.observation.streams import Front, Reductions, Sender, Stream, Visits, Windows

if TYPE_CHECKING:
    from forebay._core import Captured, CapturedDirection, CapturedInterface

__all__ = ["NS", "TCP", "Fronts", "backlogs_of", "bins_of", "fronts_of", "gaps_of", "streams_of"]

#: Nanoseconds in a second.
NS = 1e-9
#: From which likeness on UDP is taken for QUIC, which answers.
_QUIC = 0.5
#: Windows over time of all streams together, and the table of a stream without any.
_MOST_WINDOWS = 1_000_000
_NO_WINDOWS: dict[str, NDArray[Any]] = {"index": np.empty(0)}
#: The number of TCP (IANA, Protocol Numbers).
TCP = 6


def bins_of(direction: CapturedDirection) -> Bins:
    """The load over time of one direction."""
    bins = direction["bins"]
    return Bins(bins["width_ns"] * NS, bins["bytes"].astype(float), bins["packets"].astype(float))


def gaps_of(direction: CapturedDirection) -> Gaps:
    """The histogram of gaps of one direction."""
    gaps = direction["gaps"]
    least, most = gaps["least_ns"].astype(float), gaps["most_ns"].astype(float)
    return Gaps(
        gaps["before"].astype(float),
        gaps["behind"].astype(float),
        (least + most) / 2.0 * NS,
        (most - least + 1.0) * NS,
        gaps["count"].astype(float),
        direction["tick_ns"] * NS,
    )


def backlogs_of(crossing: _core.Crossing) -> Backlogs:
    """The backlogs of the queue at arrivals, the arriving packet included."""
    at_drops = crossing["backlog_bytes_at_drops"], crossing["backlog_packets_at_drops"]
    lost_bytes, lost_packets = (np.repeat(_middle(counted), counted["count"].astype(int)) for counted in at_drops)
    packets, bytes_ = crossing["through"]
    own = bytes_ / packets if packets else 0.0
    most_packets, most_bytes = crossing["largest_backlog"]
    through_bytes, through_packets = crossing["backlog_bytes"], crossing["backlog_packets"]
    return Backlogs(
        most_bytes + own,
        most_packets + 1.0,
        lost_bytes + own,
        lost_packets + 1.0,
        (_middle(through_bytes) + own, through_bytes["count"].astype(float)),
        (_middle(through_packets) + 1.0, through_packets["count"].astype(float)),
    )


def _middle(counted: Any) -> NDArray[np.float64]:
    middle: NDArray[np.float64] = (counted["least"].astype(float) + counted["most"].astype(float)) / 2.0
    return middle


#: Observations of the interface before the queue, by the path of a stream, with its first and last time there.
Fronts = Mapping[int, Sequence[tuple[int, int, Front]]]


def streams_of(columns: dict[str, Any], origin: int, fronts: Fronts) -> list[Stream]:
    """The streams of a table, in seconds from `origin` on."""
    count = len(columns["connection"])
    dense = _with_windows(columns)
    losses = _parted(columns["loss_times"], count)
    windows = _parted(columns["windows"], count)
    reductions = _parted(columns["reductions"], count)
    visits = _parted(columns["visits"], count)
    return [
        _stream(
            columns,
            row,
            origin,
            (losses[row], windows[row] if dense[row] else _NO_WINDOWS, reductions[row], visits[row]),
            _front(columns, row, fronts),
        )
        for row in range(count)
    ]


def _with_windows(columns: dict[str, Any]) -> NDArray[np.bool_]:
    """Mark the streams whose windows over time are evaluated: the largest ones, as far as memory allows."""
    table = columns["windows"]
    last = np.zeros(len(columns["connection"]))
    np.maximum.at(last, table["stream"].astype(int), table["index"].astype(float) + 1.0)
    order = np.argsort(-columns["bytes"].astype(float), kind="stable")
    dense = np.zeros(len(last), dtype=bool)
    dense[order] = np.cumsum(last[order]) <= _MOST_WINDOWS
    return dense


def fronts_of(captured: Captured, behind: CapturedInterface) -> Fronts:
    """All streams of the other interface, which is the one before the queue."""
    found: dict[int, list[tuple[int, int, Front]]] = {}
    for interface in captured["interfaces"]:
        if interface["number"] == behind["number"]:
            continue
        for direction in interface["directions"]:
            for columns in (direction["streams"]["long"], direction["streams"]["sample"]):
                count = len(columns["connection"])
                for row, windows in enumerate(_parted(columns["windows"], count)):
                    befores = windows["before_least_ns"].astype(float) * NS
                    front = Front(
                        _seconds(columns["least_before_ns"][row]),
                        int(columns["before_count"][row]),
                        befores[np.isfinite(befores)],
                        _seconds(columns["handshake_before_ns"][row]),
                        int(columns["dropped"][row]),
                        int(columns["marked_inside"][row]),
                    )
                    lived = int(columns["first_ns"][row]), int(columns["last_ns"][row])
                    found.setdefault(int(columns["path"][row]), []).append((*lived, front))
    return found


def _seconds(nanoseconds: Any) -> float | None:
    value = float(nanoseconds)
    return None if math.isnan(value) else value * NS


def _front(columns: dict[str, Any], row: int, fronts: Fronts) -> Front | None:
    """Select the stream of this time among the streams that used these addresses and ports one after the other."""
    first, last = int(columns["first_ns"][row]), int(columns["last_ns"][row])
    found = fronts.get(int(columns["path"][row]), ())
    return max(found, key=lambda it: min(it[1], last) - max(it[0], first))[2] if found else None


def _parted(table: dict[str, NDArray[Any]], count: int) -> list[dict[str, NDArray[Any]]]:
    """A table by the row of its stream; rows of one stream stand together."""
    edges = np.searchsorted(table["stream"], np.arange(count + 1))
    return [{name: column[first:last] for name, column in table.items()} for first, last in itertools.pairwise(edges)]


def _stream(
    columns: dict[str, Any],
    row: int,
    origin: int,
    tables: tuple[dict[str, NDArray[Any]], ...],
    front: Front | None,
) -> Stream:
    losses, windows, reductions, visits = tables

    def number(name: str) -> int:
        return int(columns[name][row])

    def real(name: str) -> float | None:
        return _seconds(columns[name][row])

    watched = number("watched_ns")
    data = (real("behind_least_ns"), real("before_least_ns"))
    first, last = number("first_data_ns"), number("last_data_ns")
    packets = max(number("data_packets"), 1)
    return Stream(
        number=number("connection"),
        responsive=number("protocol") == TCP or float(columns["quic"][row]) >= _QUIC,
        start_s=(first - origin) * NS,
        end_s=(last - origin) * NS,
        packets=packets,
        bytes=number("bytes"),
        payload_bytes=number("payload"),
        distinct_bytes=number("distinct"),
        segment_bytes=number("largest_payload"),
        packet_bytes=number("largest_payload")
        + round((number("bytes") - number("payload")) / max(number("packets"), 1)),
        repeated=number("repeated_packets"),
        filled=number("filled_packets"),
        marked=number("marks"),
        losses_s=(losses["time_ns"].astype(float) - origin) * NS,
        downstream_rtt_s=real("least_behind_ns"),
        upstream_rtt_s=real("least_before_ns"),
        downstream_samples=max(number("behind_count"), number("behind_timestamps_count")),
        upstream_samples=number("before_count"),
        handshake_downstream_rtt_s=real("handshake_behind_ns"),
        handshake_upstream_rtt_s=real("handshake_before_ns"),
        window_limited=number("window_limited_ns") / watched if watched and columns["scale_known"][row] else math.nan,
        idle_share=number("empty_ns") / watched if watched else 0.0,
        pauses=number("pause_count"),
        gap_variation=float(columns["gap_variation"][row]),
        ecn_capable=number("capable") > 0.5 * number("packets"),
        timestamps=any(number(name) for name in ("behind_timestamps_count", "before_count")),
        began=bool(columns["begun"][row]),
        ended=str(columns["ending"][row]) in ("fin", "rst", "idle"),
        of_data_s=None if data[0] is None or data[1] is None else data[0] + data[1],
        data_downstream_rtt_s=data[0],
        windows=_windows(windows, number("series_origin_ns"), number("series_width_ns"), origin),
        front=front,
        sender=_sender(reductions, visits, (number("rounds_compared"), number("rounds_fallen")), origin),
    )


def _sender(
    reductions: dict[str, NDArray[Any]], visits: dict[str, NDArray[Any]], rounds: tuple[int, int], origin: int
) -> Sender | None:
    if not rounds[0] and not len(reductions["time_ns"]) and not len(visits["time_ns"]):
        return None

    def times(column: NDArray[Any]) -> NDArray[np.float64]:
        since: NDArray[np.float64] = (column.astype(float) - origin) * NS
        return since

    return Sender(
        Reductions(
            times_s=times(reductions["time_ns"]),
            repaired_s=times(reductions["repaired_ns"]),
            before_bytes=reductions["before"].astype(float),
            earlier_bytes=reductions["earlier"].astype(float),
            after_bytes=reductions["after"].astype(float),
            later_bytes=reductions["later"].astype(float),
            rounds=reductions["rounds"].astype(float),
            silence_s=reductions["silence_ns"].astype(float) * NS,
        ),
        Visits(
            times_s=times(visits["time_ns"]),
            lengths_s=visits["length_ns"].astype(float) * NS,
            former_bytes=visits["former"].astype(float),
            regained_bytes=visits["regained"].astype(float),
            silence_s=visits["silence_ns"].astype(float) * NS,
        ),
        *rounds,
    )


def _windows(table: dict[str, NDArray[Any]], begin: int, width: int, origin: int) -> Windows | None:
    if not width or not len(table["index"]):
        return None
    places = table["index"].astype(int)
    count = int(places[-1]) + 1

    def spread(name: str, scale: float = 1.0, empty: float = math.nan) -> NDArray[np.float64]:
        column = np.full(count, empty)
        column[places] = table[name].astype(float) * scale
        return column

    return Windows(
        start_s=(begin - origin) * NS,
        width_s=width * NS,
        bytes=spread("bytes", empty=0.0),
        packets=spread("packets", empty=0.0),
        flight_bytes=spread("flight_most"),
        repeated=spread("repeated", empty=0.0),
        filled=spread("filled", empty=0.0),
        marked=spread("marks", empty=0.0),
        downstream_rtt_s=spread("behind_least_ns", NS),
        upstream_rtt_s=spread("before_least_ns", NS),
        max_downstream_rtt_s=spread("behind_most_ns", NS),
        receive_window_bytes=spread("receive_window_least"),
    )
