"""Counters of a port: the base of their inputs, and their finding.

An input of counters is a function from a text to readings. `counters` sums up the port, `busy_hour` chooses the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from forebay.errors import InputError
from forebay.observation.busy_hour import Day, Intervals, day_of
from forebay.observation.counter_files.readings import Readings
from forebay.observation.counters import ALLOWED, Counters, check_rate, port_counters
from forebay.observation.estimate import IntervalEstimate, Unknown, exactly
from forebay.observation.estimate_text import value_text
from forebay.observation.finding import Finding, LinkFinding, Queue
from forebay.observation.finding import Input as ObservedInput
from forebay.observation.inputs.input import File, Input, InputReading, Kind, Options
from forebay.observation.line_reader import read_text
from forebay.observation.load import Load, LoadSeries
from forebay.observation.one_sided import regime_without_packets, unknown_queue
from forebay.text.formatting import bandwidth, clock_time, counted

__all__ = ["CounterInput", "CounterReading"]

#: The largest text of counters, in bytes.
_MOST_BYTES = 64 * 2**20
#: Disciplines of Linux by their names in scenarios, whose other parameters are defaults.
_DISCIPLINES = {
    **dict.fromkeys(("pfifo", "bfifo", "pfifo_fast", "tbf"), "droptail"),
    **{name: name for name in ("codel", "fq_codel", "pie", "fq_pie", "cake", "sfq")},
}


@dataclass(frozen=True)
class CounterReading(InputReading):
    """Counters of a port, with their load over the day if they have two intervals."""

    counters: Counters
    day: Day | None


@dataclass(frozen=True)
class CounterInput(Input[CounterReading]):
    """An input of counters.

    Attributes
    ----------
    parse : callable
        From the text and the name of the file to readings.
    """

    kind: ClassVar[Kind] = Kind.COUNTERS
    options: ClassVar[frozenset[str]] = frozenset(("port", "window"))

    parse: Callable[[str, str], Readings]

    def read(self, files: Sequence[File], options: Options) -> CounterReading:
        """Read the counters of one port: load, losses and watermarks by poll interval."""
        check_rate(options.rate_bps)
        readings = [_parsed(each) for each in files]
        found = port_counters(readings, str(files[0].path), options.rate_bps, options.port)
        rate = found.rate or Unknown(
            "link rate", "counters have no packets", "read ifHighSpeed of the port, or give the rate with --rate"
        )
        if len(found.bits_per_second) < 2:
            return CounterReading(rate, None, found, None)
        size = found.estimates.get("packet_size")
        day, chosen = day_of(
            Intervals(found.starts_s, found.seconds, found.bits_per_second, found.drops, found.packets),
            options.window.at_least(2 * found.interval_s),
            "bytes between polls",
        )
        described = found.bits_per_second[chosen]
        series = LoadSeries(
            (described if described.size > 1 else np.repeat(described, 2)) * found.interval_s / 8.0,
            found.interval_s,
            "bytes between polls",
            size.value if size is not None else 1500.0,
        )
        return CounterReading(rate, series, found, day)

    def finding(self, reading: CounterReading, load: Load | None) -> Finding:
        """Make a finding of a port's counters: the load of a window, and of the day."""
        counters, day = reading.counters, reading.day
        because = "counters are sums over all flows"
        limited = Unknown("flows that this link limits", because, "capture the port for a minute at a busy time")
        return Finding(
            input=ObservedInput("counters of a port", float(counters.seconds.sum()), None, None),
            link=LinkFinding(reading.rate, _buffer(counters), _queue(counters)),
            limited_flows=limited,
            regime=regime_without_packets(load, limited, because),
            load=load,
            # An unknown rate implies an unknown utilization.
            unknown=tuple(
                each for each in counters.unknown if counters.rate is not None or each.quantity != "utilization"
            ),
            notes=(*(() if day is None else (day.span.sentence,)), *counters.notes),
            day=day,
            assumed=_assumed(counters, day),
        )


def _parsed(file: File) -> Readings:
    """The readings of one file."""
    assert isinstance(file.input, CounterInput), "files are of one kind"
    text, where = read_text(file.path, ALLOWED, _MOST_BYTES), str(file.path)
    if "\0" in text[:4096]:
        raise InputError(f"{where}: found a binary file; allowed: {ALLOWED}")
    return file.input.parse(text, where)


def _assumed(counters: Counters, day: Day | None) -> tuple[str, ...]:
    """The assumptions of a scenario that is made from counters."""
    if day is None:
        return counters.assumed
    every = clock_time(counters.interval_s)
    assumptions = [
        *counters.assumed,
        f"packets have random times within {every}: counters do not show shorter bursts, which need a larger buffer",
    ]
    if day.lossy and counters.rate is not None:
        loads = [each.load_bps for each in day.losses]
        assumptions.append(
            f"no burst makes packets drop, though {counted(day.lossy, 'interval')} with a load of "
            f"{bandwidth(min(loads))} or more had drops: the true buffer is larger"
        )
    if counters.is_nominal:
        assumptions.append("the link runs at the speed of the port's type")
    return tuple(assumptions)


def _buffer(counters: Counters) -> IntervalEstimate | Unknown:
    """The buffer: the limit that a host states, otherwise a lower bound from a watermark."""
    shaper, mark = counters.shaper, counters.estimates.get("watermark_max")
    if shaper is not None and shaper.limit is not None:
        unit = "byte" if shaper.in_bytes else "packets"
        return exactly(shaper.limit, unit, f"the limit of {shaper.kind}, as `tc` states it", 1)
    if mark is not None and mark.value > 0:
        because = f"a watermark shows that {value_text(mark.value, mark.unit)} waited, and not the limit"
        find = "read it from the router's configuration, or capture both sides of the queue"
        return Unknown("buffer", because, find, at_least=mark.value if mark.unit == "byte" else None)
    return unknown_queue("buffer", "a counter of drops does not show the queue length")


def _queue(counters: Counters) -> Queue | Unknown:
    kind = _DISCIPLINES.get(counters.shaper.kind) if counters.shaper is not None else None
    if kind is not None:
        other = "" if kind == "droptail" else "; its parameters are the defaults"
        return Queue(kind, f"as `tc` states it{other}")
    return unknown_queue("queue discipline", "counters do not show the time and the flow of a drop")
