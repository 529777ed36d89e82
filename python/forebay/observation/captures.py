"""Captures as `Seen`: the reader's columns, one direction of one interface, in seconds from the first packet on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.errors import InputError
from forebay.observation.capture_link import HOST_S, Observed, Seen, Transfers, interpret
from forebay.observation.capture_sides import UNORDERED, by_answers, by_losses, by_rates, by_waits
from forebay.observation.capture_sides import Place as Side
from forebay.observation.clock_offset import clock_offset_ns
from forebay.observation.consistency import check_clock, check_holes
from forebay.observation.limits import is_long
from forebay.observation.line_reader import Progress
from forebay.observation.link_rate import Bins, Gaps, link_rate
from forebay.observation.memory import check_memory
from forebay.observation.queues import Backlogs
from forebay.observation.streams import Front, Place, Reductions, Sender, Stream, Visits, Windows
from forebay.text.formatting import clock_time

if TYPE_CHECKING:
    from forebay._core import Captured, CapturedDirection, CapturedInterface

    class Sided(Captured):
        """Captures; of two files with the sides of a queue the number of the interface behind it."""

        behind: int | None


__all__ = ["capture_remarks", "observe_captures", "read_captures", "seen_of"]

#: Nanoseconds in a second.
_NS = 1e-9
#: From which likeness on UDP is taken for QUIC, which answers.
_QUIC = 0.5
#: Share of two captures' time that both cover, from which on they are two sides of a queue.
_OVERLAP = 0.5
#: Share of the bytes in packets that no link carries, from which on segments were gathered before they were seen.
_GATHERED = 0.01
#: A clock that goes back by less is one of several processors, which stamp packets at once.
_STEP_NS = 100_000
#: A time without a packet that is told, in seconds and as a share of the capture.
_SILENCE_S, _SILENT = 60.0, 0.02
#: Windows over time of all streams together, and the table of a stream without any.
_MOST_WINDOWS = 1_000_000
_NO_WINDOWS: dict[str, NDArray[Any]] = {"index": np.empty(0)}
#: Names of the engines' own interfaces.
_SIDES = {"arrivals": Place.BEFORE, "departures": Place.BEHIND}
_TCP, _UDP = 6, 17


def observe_captures(
    paths: Sequence[Path], rate_bps: float | None = None, progress: Progress | None = None
) -> Observed:
    """Read captures and answer every question that they can answer.

    Raises
    ------
    InputError
        Where a file cannot be read, or has no packet.
    """
    return interpret(seen_of(read_captures(paths, progress)), rate_bps)


def read_captures(paths: Sequence[Path], progress: Progress | None = None) -> Sided:
    """What captures come to together; two of them that saw the same packets are the sides of a queue.

    Two sides without an order are left without a queue.

    Raises
    ------
    InputError
        Where a file cannot be read, or has no packet.
    """
    progress = _within_memory(paths, progress)
    found: Sided = {**_core.observe_captures(list(paths), progress=progress), "behind": None}
    sides = _sides(found)
    order = None if sides is None else _order(paths, *sides, progress)
    if order is not None:
        before, behind = (side.interface["number"] for side in order)
        found = {**_both_sides(paths, before, behind, progress), "behind": behind}
    if found["between_ns"] is None or not any(each["directions"][0]["total"][0] for each in found["interfaces"]):
        raise InputError(f"{paths[0]}: found no IP packet; allowed: a capture of a link's traffic")
    check_holes(paths, found)
    chosen = _chosen(found)
    check_clock(paths, chosen, _gaps(chosen["directions"][0]))
    return found


def _within_memory(paths: Sequence[Path], progress: Progress | None) -> Progress:
    """Progress that refuses captures that take more memory than is allowed."""

    def tell(done: int, size: int | None) -> None:
        check_memory(str(paths[0]), done)
        if progress is not None:
            progress(done, size)

    return tell


def _both_sides(paths: Sequence[Path], before: int, after: int, progress: Progress) -> Captured:
    """Captures of both sides of a queue, of which the one behind is brought up to it.

    What every packet takes at least from one to the other is the way between the two places, and what their clocks
    differ by: packets that are on it do not wait.
    """
    found = _core.observe_captures(list(paths), before=before, after=after, progress=progress)
    assert found["queue"] is not None, "both sides are given"
    least = found["queue"]["directions"][0]["offsets"]["wait_least_ns"]
    least = least[np.isfinite(least)]
    if not len(least) or _gathered(found) > _GATHERED:
        return found
    direction = found["interfaces"][after]["directions"][0]
    load = _bins(direction)
    hosts = _answered_by_hosts(found, before, "least_before_ns") and _answered_by_hosts(found, after, "least_behind_ns")
    rate = link_rate(_gaps(direction), load)
    apart = clock_offset_ns(int(least.min()), rate, load, direction["largest"], hosts=hosts)
    if not apart:
        return found
    file = found["interfaces"][after]["file"]
    ahead = [apart if place == file else 0 for place in range(len(paths))]
    return _core.observe_captures(list(paths), before=before, after=after, ahead_ns=ahead, progress=progress)


def _answered_by_hosts(captured: Captured, interface: int, column: str) -> bool:
    """Whether every answer at an interface comes from the host itself: no packet has been to another one and back."""
    columns = captured["interfaces"][interface]["directions"][0]["streams"]["long"]
    answers = columns[column][np.isfinite(columns[column])] * _NS
    return bool(len(answers)) and float(answers.max()) < HOST_S


def _sides(captured: Captured) -> tuple[Side, Side] | None:
    """The interfaces of two files of the same time, the one with more packets first."""
    used = [each for each in captured["interfaces"] if each["directions"][0]["between_ns"] is not None]
    if captured["queue"] is not None or len(used) != 2 or used[0]["file"] == used[1]["file"]:
        return None
    spans = [each["directions"][0]["between_ns"] for each in used]
    assert spans[0] is not None
    assert spans[1] is not None
    both = min(spans[0][1], spans[1][1]) - max(spans[0][0], spans[1][0])
    longest = max(span[1] - span[0] for span in spans if span is not None)
    if both <= _OVERLAP * longest:
        return None
    sides = [Side(each, link_rate(_gaps(each["directions"][0]), _bins(each["directions"][0]))) for each in used]
    first, second = sorted(sides, key=lambda side: -side.packets)
    return first, second


def _order(paths: Sequence[Path], first: Side, second: Side, progress: Progress) -> tuple[Side, Side] | None:
    """Two sides of a queue, the one before it first; None where nothing tells."""
    for tells in (by_answers, by_losses, by_rates):
        is_first = tells(first, second)
        if is_first is not None:
            return (first, second) if is_first else (second, first)
    numbers = first.interface["number"], second.interface["number"]
    queue = _core.observe_captures(list(paths), before=numbers[0], after=numbers[1], progress=progress)["queue"]
    assert queue is not None, "both sides are given"
    tick_ns = max(side.interface["directions"][0]["tick_ns"] for side in (first, second))
    is_first = by_waits(queue["directions"][0], tick_ns)
    if is_first is None:
        return None
    return (first, second) if is_first else (second, first)


def seen_of(captured: Sided) -> Seen:
    """The busiest direction of a capture; behind the queue where both sides were seen."""
    interface = _chosen(captured)
    direction = interface["directions"][0]
    between = direction["between_ns"]
    assert between is not None, "a direction with packets has a time"
    origin = between[0]
    streams = direction["streams"]
    fronts = _fronts(captured, interface)
    every = [*_streams(streams["long"], origin, fronts), *_streams(streams["sample"], origin, fronts)]
    loose = sum(stream.bytes for stream in every if not stream.responsive)
    # Of short streams a sample is kept: their sum is known by protocol.
    known = sum(amount[1] for number, amount in direction["protocols"].items() if number not in (_TCP, _UDP))
    queue, gathered = captured["queue"], _gathered(captured) > _GATHERED
    backlogs = None if queue is None else _backlogs(queue["directions"][0])
    return Seen(
        place=Place.BEHIND if queue is not None and not gathered else _SIDES.get(interface["name"] or ""),
        start_s=0.0,
        end_s=(between[1] - origin) * _NS,
        load=_bins(direction),
        gaps=_gaps(direction),
        streams=every,
        transfers=_transfers(every, (between[1] - origin) * _NS),
        unresponsive_bytes=float(loose + known),
        backlogs=backlogs,
        gathered=gathered,
        largest_bytes=float(direction["largest"]),
        unordered=UNORDERED if _sides(captured) is not None else "",
    )


def _gathered(captured: Captured) -> float:
    """Share of the bytes that came in packets larger than any link's, of the interface where it is largest."""
    return max(_oversized(each) for each in captured["interfaces"])


def _oversized(interface: CapturedInterface) -> float:
    direction = interface["directions"][0]
    return direction["oversized"][1] / max(direction["total"][1], 1)


def _chosen(captured: Sided) -> CapturedInterface:
    interfaces = captured["interfaces"]
    if captured["queue"] is not None:
        named = [each for each in interfaces if each["name"] == "departures"]
        if named:
            return named[0]
        used = [each for each in interfaces if each["directions"][0]["total"][0]]
        # Packets are what a link carries behind the queue, unless segments were gathered there.
        whole = min(map(_oversized, used)) + _GATHERED
        return min(
            (each for each in used if _oversized(each) <= whole),
            key=lambda each: (each["number"] != captured["behind"], each["directions"][0]["total"][0]),
        )
    return max(interfaces, key=lambda each: each["directions"][0]["total"][1])


def _bins(direction: CapturedDirection) -> Bins:
    bins = direction["bins"]
    return Bins(bins["width_ns"] * _NS, bins["bytes"].astype(float), bins["packets"].astype(float))


def _silence_s(load: Bins) -> float:
    """The longest time without a packet, where that is much of the capture; 0 elsewhere."""
    busy = np.flatnonzero(load.packets)
    longest = float(np.diff(busy).max() - 1) * load.width_s if len(busy) > 1 else 0.0
    return longest if longest > max(_SILENCE_S, _SILENT * load.seconds) else 0.0


def _gaps(direction: CapturedDirection) -> Gaps:
    gaps = direction["gaps"]
    least, most = gaps["least_ns"].astype(float), gaps["most_ns"].astype(float)
    return Gaps(
        gaps["before"].astype(float),
        gaps["behind"].astype(float),
        (least + most) / 2.0 * _NS,
        (most - least + 1.0) * _NS,
        gaps["count"].astype(float),
        direction["tick_ns"] * _NS,
    )


def _backlogs(crossing: _core.Crossing) -> Backlogs:
    """What waited, with the packet that came."""
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


def _transfers(streams: Sequence[Stream], capture_s: float) -> Transfers:
    """Connections that came and went; a long one is a flow of its own, though it may have begun and ended here."""
    whole = [each for each in streams if each.responsive and each.began and each.ended]
    whole = [each for each in whole if not is_long(each, capture_s)]
    whole.sort(key=lambda each: each.start_s)
    return Transfers(
        np.array([float(each.distinct_bytes) for each in whole]),
        np.array([each.start_s for each in whole]),
        len(whole),
    )


# Streams -----------------------------------------------------------------------------------------------------------


#: What the interface before the queue saw, by the path of a stream, with its first and last time there.
_Fronts = Mapping[int, Sequence[tuple[int, int, Front]]]


def _streams(columns: dict[str, Any], origin: int, fronts: _Fronts) -> list[Stream]:
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
    """Of which streams windows over time are looked at: the largest, as far as there is memory for all of these."""
    table = columns["windows"]
    last = np.zeros(len(columns["connection"]))
    np.maximum.at(last, table["stream"].astype(int), table["index"].astype(float) + 1.0)
    order = np.argsort(-columns["bytes"].astype(float), kind="stable")
    dense = np.zeros(len(last), dtype=bool)
    dense[order] = np.cumsum(last[order]) <= _MOST_WINDOWS
    return dense


def _fronts(captured: Captured, behind: CapturedInterface) -> _Fronts:
    """All streams of the other interface, where it is the one before the queue."""
    found: dict[int, list[tuple[int, int, Front]]] = {}
    # Between captures that are apart is more than the queue, and gathered segments are in none.
    if captured["queue"] is None or any(captured["ahead_ns"]) or _gathered(captured) > _GATHERED:
        return found
    for interface in captured["interfaces"]:
        if interface["number"] == behind["number"]:
            continue
        for direction in interface["directions"]:
            for columns in (direction["streams"]["long"], direction["streams"]["sample"]):
                count = len(columns["connection"])
                for row, windows in enumerate(_parted(columns["windows"], count)):
                    befores = windows["before_least_ns"].astype(float) * _NS
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
    return None if math.isnan(value) else value * _NS


def _front(columns: dict[str, Any], row: int, fronts: _Fronts) -> Front | None:
    """Of streams that had these addresses and ports one after the other, the one of this time."""
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
        responsive=number("protocol") == _TCP or float(columns["quic"][row]) >= _QUIC,
        start_s=(first - origin) * _NS,
        end_s=(last - origin) * _NS,
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
        losses_s=(losses["time_ns"].astype(float) - origin) * _NS,
        behind_s=real("least_behind_ns"),
        before_s=real("least_before_ns"),
        behind_samples=max(number("behind_count"), number("behind_timestamps_count")),
        before_samples=number("before_count"),
        handshake_behind_s=real("handshake_behind_ns"),
        handshake_before_s=real("handshake_before_ns"),
        window_limited=number("window_limited_ns") / watched if watched and columns["scale_known"][row] else math.nan,
        idle_share=number("empty_ns") / watched if watched else 0.0,
        pauses=number("pause_count"),
        gap_variation=float(columns["gap_variation"][row]),
        ecn_capable=number("capable") > 0.5 * number("packets"),
        timestamps=any(number(name) for name in ("behind_timestamps_count", "before_count")),
        began=bool(columns["begun"][row]),
        ended=str(columns["ending"][row]) in ("fin", "rst", "idle"),
        of_data_s=None if data[0] is None or data[1] is None else data[0] + data[1],
        data_behind_s=data[0],
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
        since: NDArray[np.float64] = (column.astype(float) - origin) * _NS
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
            silence_s=reductions["silence_ns"].astype(float) * _NS,
        ),
        Visits(
            times_s=times(visits["time_ns"]),
            lengths_s=visits["length_ns"].astype(float) * _NS,
            former_bytes=visits["former"].astype(float),
            regained_bytes=visits["regained"].astype(float),
            silence_s=visits["silence_ns"].astype(float) * _NS,
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
        start_s=(begin - origin) * _NS,
        width_s=width * _NS,
        bytes=spread("bytes", empty=0.0),
        packets=spread("packets", empty=0.0),
        flight_bytes=spread("flight_most"),
        repeated=spread("repeated", empty=0.0),
        filled=spread("filled", empty=0.0),
        marked=spread("marks", empty=0.0),
        behind_s=spread("behind_least_ns", _NS),
        before_s=spread("before_least_ns", _NS),
        longest_behind_s=spread("behind_most_ns", _NS),
        receive_window_bytes=spread("receive_window_least"),
    )


# Remarks -----------------------------------------------------------------------------------------------------------


def capture_remarks(captured: Sided) -> tuple[str, ...]:
    """What the captures are like, a sentence each, where that is not as it should be."""
    notes, said = captured["notes"], []

    def count(name: str) -> int:
        return notes[name] or 0

    frames = max(count("frames"), 1)
    for name, text in (
        ("not_ip", "frames carry no IP and are not counted"),
        ("undecodable", "frames have headers that contradict themselves"),
        ("cut_before_ip", "frames were cut off before their IP header: capture more bytes of each (tcpdump -s 128)"),
        ("cut_in_transport", "packets were cut off in their TCP header: capture more bytes of each (tcpdump -s 128)"),
        ("fragments", "packets are fragments, whose connection cannot be told"),
        ("unknown_link", f"frames are of a link layer that is not read (type {notes['unknown_link_type']})"),
        ("lost", "packets were lost by the capture itself: gaps of it look like losses"),
    ):
        if count(name) > frames * 1e-4:
            said.append(f"{count(name)} of {count('frames')} {text}")
    if count("largest_step_back_ns") >= _STEP_NS:
        times = count("steps_back")
        said.append(
            f"the clock went back {'once' if times == 1 else f'{times} times'}, "
            f"by {count('largest_step_back_ns') * _NS:.3g} s at most"
        )
    apart = max(captured["ahead_ns"], key=abs, default=0)
    if apart:
        said.append(
            f"no packet took less than {apart * 1e-6:.3g} ms between the two captures: that is taken for the way and "
            "the clocks between them, so that a queue that never emptied is smaller here than it is"
        )
    silence = _silence_s(_bins(_chosen(captured)["directions"][0]))
    if silence:
        said.append(
            f"nothing was captured for {clock_time(silence)} in between: what is told over time holds for the rest"
        )
    if count("ended_early"):
        said.append("a file ends in the middle of a packet: what came before it is used")
    gathered = _gathered(captured)
    if gathered > _GATHERED:
        largest = max(each["directions"][0]["largest"] for each in captured["interfaces"])
        said.append(
            f"packets of up to {largest / 1000:.0f} kB carry {gathered:.0%} of the bytes: segments "
            "were gathered where they were captured, which makes gaps and losses coarser "
            "(ethtool -K DEV tso off gso off gro off)"
        )
    if not _chosen(captured)["directions"][1]["total"][0]:
        said.append("one direction only: round trips, windows and flights are not known")
    return tuple(said)
