"""Polled counters of a port: load and its quantiles, losses, and queue watermarks.

Every figure is a mean over whole poll intervals. Bursts and short queues within an interval are averaged away; only a
watermark shows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError
from forebay.observation.counter_files.names import Kind, Quantity
from forebay.observation.counter_files.readings import Readings, Shaper
from forebay.observation.counter_files.speeds import LinkSpeed, check_is_counter, check_load, link_speed
from forebay.observation.counter_files.unwrapping import Counted, counted, is_per_interval
from forebay.observation.estimate import MOST_RATE, IntervalEstimate, Unknown, exactly, scaled
from forebay.observation.intervals import (
    batch_ratio,
    independent_of,
    quantile,
    share_without_events,
    weighted_quantile,
)
from forebay.observation.numbers import seconds_text
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ALLOWED", "Counters", "check_rate", "port_counters"]

ALLOWED = "counters of a port over time: a table, JSON of SNMP or gNMI, or what Prometheus exports"
#: The kind of counter that each kind of rate becomes; remarks use its name.
_OF_RATES: Mapping[Kind, Kind] = {"rate": "bytes", "packet_rate": "packets", "drop_rate": "drops"}
_WORDS: Mapping[Kind, str] = {"rate": "rates", "packet_rate": "rates of packets", "drop_rate": "rates of drops"}
#: How many times its usual length an interval of rates is where rows are missing.
GAP = 1.5
#: Bytes of the smallest frame on a wire, for what packets a second a rate allows.
SMALLEST_PACKET = 40
#: Names of interfaces through which a host talks to itself.
_LOOPBACK = re.compile(r"(^| )(lo|loopback) ?\d*$", re.IGNORECASE)


@dataclass(frozen=True)
class Counters:
    """The evaluated counters of a port.

    Attributes
    ----------
    port : str
        The port, as the file names it.
    starts_s, seconds : ndarray
        Beginnings and lengths of the poll intervals without missing readings.
    bits_per_second : ndarray
        Mean load of each interval.
    drops, packets : ndarray
        Drops and packets of each interval; empty if they are not counted.
    interval_s : float
        Median of the poll intervals: the counters tell nothing of shorter times.
    wraps, restarts : int
        How often a counter of bytes, packets or drops wrapped, and in how many intervals one restarted.
    estimates : mapping
        Estimates by name, such as "load" and "loss".
    unknown : tuple of Unknown
        Quantities that counters cannot tell.
    notes : tuple of str
        Remarks on the input, one sentence each.
    rate : IntervalEstimate or None
        Rate of the link in bit/s, if it was given or the input states it.
    is_nominal : bool
        Whether the rate is that of the port's type, which may run slower.
    shaper : Shaper or None
        The shaper and queue that a host reports for the port.
    assumed : tuple of str
        Assumptions about the numbers that the file does not state, a clause each.
    """

    port: str
    starts_s: NDArray[np.float64]
    seconds: NDArray[np.float64]
    bits_per_second: NDArray[np.float64]
    drops: NDArray[np.float64]
    packets: NDArray[np.float64]
    interval_s: float
    wraps: int
    restarts: int
    estimates: Mapping[str, IntervalEstimate]
    unknown: tuple[Unknown, ...]
    notes: tuple[str, ...]
    rate: IntervalEstimate | None = None
    is_nominal: bool = False
    shaper: Shaper | None = None
    assumed: tuple[str, ...] = ()


@dataclass
class _Port:
    """A port's counters by kind, its gauges with their units, and whether its bytes are counted in 32 bits.

    `totals` are the last readings of its counters, each since the counter began.
    """

    counted: dict[Kind, list[Counted]] = field(default_factory=dict)
    gauges: dict[Kind, tuple[NDArray[np.float64], str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    narrow: bool = False
    totals: dict[Kind, float] = field(default_factory=dict)


def check_rate(rate_bps: float | None) -> None:
    """Refuse a rate that no link has.

    Raises
    ------
    InputError
        Names the allowed rates.
    """
    if rate_bps is not None and not 1 <= rate_bps <= MOST_RATE:
        raise InputError(f"found {rate_bps}; allowed: 1 to {MOST_RATE:g} bit/s", "rate")


def port_counters(
    files: Sequence[Readings], where: str, rate_bps: float | None = None, port: str | None = None
) -> Counters:
    """Sum up the counters of one port.

    Parameters
    ----------
    files : sequence of Readings
        The readings of each file: counters of one port, or counters and the speeds of interfaces.
    where : str
        The first file, for errors.
    rate_bps : float, optional
        Rate of the link in bit/s: for its utilization, and to tell a wrap from a restart.
    port : str, optional
        The port to evaluate, if the files have several.

    Raises
    ------
    InputError
        Names the file, the line, what was found and what is allowed.
    """
    # Speeds are given to ports that other files name.
    files = sorted(files, key=_has_speeds_only)
    readings = files[0]
    for other in files[1:]:
        readings.adopt(other)
    if _has_speeds_only(readings) and readings.ports:
        raise InputError(f"{where}: found speeds of interfaces and no counter; allowed: counters of the port beside "
                         "them, as in `forebay observe counters.csv interfaces.csv`")  # fmt: skip
    chosen = _chosen(readings, port, where)
    readings.check_once(chosen, where)
    link = link_speed(readings, chosen, rate_bps, where)
    known = link.rate.value if link.rate is not None else None
    return replace(
        _counters_of(chosen, _port(readings, chosen, known, where), link, readings, where),
        assumed=tuple(readings.assumed),
    )


def _has_speeds_only(readings: Readings) -> bool:
    kinds = {quantity.kind for port in readings.ports for _, quantity, _ in readings.of(port)}
    return kinds <= {"speed"}


def _chosen(readings: Readings, port: str | None, where: str) -> str:
    """The port that is meant."""
    known = sorted(each for each in readings.ports if _has_load(readings, each)) or sorted(readings.ports)
    if not known:
        raise InputError(f"{where}: found no counter of a port; allowed: {ALLOWED}")
    others = [each for each in known if not _LOOPBACK.search(each)]
    if port is None and len(others) == 1:
        return others[0]
    names = ", ".join(clean(each) for each in known[:8]) + (", ..." if len(known) > 8 else "")
    if port is None:
        if len(known) == 1:
            return known[0]
        raise InputError(f"{where}: found counters of {len(known)} ports ({names}); allowed: one of them", "port")
    if port not in readings.ports:
        raise InputError(f"found {clean(port)}; allowed: {names}", "port")
    return port


def _has_load(readings: Readings, port: str) -> bool:
    return any(quantity.kind != "speed" for _, quantity, _ in readings.of(port))


def _port(readings: Readings, name: str, rate_bps: float | None, where: str) -> _Port:
    """Sort out a port's counters: those of what leaves where there are any, wide ones before narrow ones."""
    found: dict[Kind, list[tuple[Quantity, list[tuple[float, float]]]]] = {}
    port = _Port(notes=list(readings.notes))
    for counter, quantity, series in readings.of(name):
        if quantity.leaving and quantity.kind in ("bytes", "packets", "drops"):
            port.totals[quantity.kind] = float(series[-1][1])
        if len(series) >= 2 and quantity.kind != "speed":
            check_is_counter(counter, quantity, series, where)
            found.setdefault(quantity.kind, []).append((quantity, series))
    restarts = [
        after[0] for _, series in found.pop("uptime", []) for before, after in pairwise(series) if after[1] < before[1]
    ]
    is_per_row = any(quantity.is_generic and is_per_interval(series) for quantity, series in found.get("bytes", []))
    if is_per_row:
        port.notes.append("columns are taken as amounts of each row, because they fall as often as they rise")
    rates: dict[Kind, float] = {}
    if rate_bps is not None:
        # A tenth more: polls are not as punctual as their times.
        rates = {"bytes": 1.1 * rate_bps / 8, "packets": 1.1 * rate_bps / 8 / SMALLEST_PACKET}
        rates["drops"] = rates["packets"]
    for kind, all_series in found.items():
        best = _best(all_series)
        target = _OF_RATES.get(kind, kind)
        if target != kind and target in found:
            continue
        if kind in ("queue", "watermark"):
            values = np.array([float(value) for _, series in best for _, value in series])
            port.gauges[kind] = (values, best[0][0].unit)
            continue
        if not best[0][0].leaving:
            what = _WORDS.get(kind, kind)
            port.notes.append(f"{what} are of what arrives at the port, because none are there of what leaves it")
        counts = []
        for quantity, series in best:
            if target != kind or (quantity.is_generic and is_per_row):
                counts.append(
                    _amounts(series, None if target == kind else quantity.scale / (8 if kind == "rate" else 1))
                )
                continue
            each = counted(series, quantity.bits, rates.get(kind), restarts)
            port.narrow |= kind == "bytes" and (quantity.bits == 32 or each.wraps > 0)
            counts.append(each)
        port.counted[target] = counts
    return port


def _best(
    all_series: Sequence[tuple[Quantity, list[tuple[float, float]]]],
) -> list[tuple[Quantity, list[tuple[float, float]]]]:
    """Select the most informative counter of one kind, or all counters that add up to the total."""

    def order(each: tuple[Quantity, list[tuple[float, float]]]) -> tuple[bool, bool, int]:
        quantity = each[0]
        return (not quantity.leaving, quantity.part, -(quantity.bits or 33))

    first = min(all_series, key=order)[0]
    if not first.part:
        return [min(all_series, key=order)]
    return [each for each in all_series if (each[0].part, each[0].bits, each[0].leaving) == (True, first.bits, True)]


def _amounts(series: Sequence[tuple[float, float]], per_second: float | None) -> Counted:
    """Count up a column whose rows state the amount of the interval that ends there, or the mean rate in it.

    `per_second` is the amount that a rate of one counts in a second, in bytes or packets; None for amounts. Intervals
    with missing rows of rates are marked as broken. The first rate is taken for an interval of the usual length. The
    first amount is left out, because the beginning of its interval is not known.
    """
    times = np.array([instant for instant, _ in series])
    values = np.array([float(value) for _, value in series])
    if per_second is None:
        values = values[1:]
        broken = np.zeros(values.size, dtype=bool)
    else:
        usual = float(np.median(np.diff(times)))
        times = np.concatenate([[times[0] - usual], times])
        steps = np.diff(times)
        values = values * per_second * steps
        broken = steps > GAP * usual
    values[broken] = 0.0
    return Counted(times, np.concatenate([[0.0], np.cumsum(values)]), broken, 0)


def _counters_of(name: str, port: _Port, link: LinkSpeed, readings: Readings, where: str) -> Counters:
    rate_bps = link.rate.value if link.rate is not None else None
    base = next((port.counted[kind][0] for kind in ("bytes", "packets", "drops") if kind in port.counted), None)
    if base is None and not port.gauges and link.shaper is None:
        raise InputError(
            f"{where}: found fewer than two polls of every counter; allowed: two at least, with their times"
        )
    times = base.times_s if base is not None else np.zeros(0)
    sums = {kind: sum(each.at(times) for each in counts) for kind, counts in port.counted.items()}
    broken = np.zeros(max(0, times.size - 1), dtype=bool)
    for counts in port.counted.values():
        for each in counts:
            broken |= each.breaks(times)
    amounts = {kind: np.diff(total)[~broken] for kind, total in sums.items()}
    seconds = np.diff(times)[~broken]
    if not seconds.size:
        amounts = {}
    interval = float(np.median(np.diff(times))) if times.size > 1 else 0.0
    notes = [*port.notes, *link.notes]
    wraps = sum(each.wraps for counts in port.counted.values() for each in counts)
    if broken.any():
        notes.append(f"{int(broken.sum())} of {broken.size} poll intervals are left out: a counter was reset or was "
                       "not read")  # fmt: skip
    if port.narrow and not _is_unambiguous(interval, rate_bps):
        most = 2**32 * 8 / interval
        if rate_bps is None:
            notes.append(f"bytes are counted in 32 bits: a load above {most / 1e6:.0f} Mbit/s would look lower")
        else:
            amounts.pop("bytes", None)
    starts = times[:-1][~broken]
    if "bytes" in amounts and link.rate is not None:
        check_load(
            starts,
            seconds,
            amounts["bytes"] * 8 / seconds,
            link.rate,
            where,
            place=lambda instant: readings.place_of(name, ("bytes", "rate"), instant, where),
        )
    if base is None and port.totals.get("packets"):
        drops = port.totals.get("drops", 0.0)
        offered = drops + port.totals["packets"]
        notes.append(f"since the counters began {drops:,.0f} of {offered:,.0f} packets were dropped; when is not known")
    estimates = _Estimates(seconds, amounts, interval, rate_bps, port)
    return Counters(
        port=name,
        starts_s=starts,
        seconds=seconds,
        bits_per_second=amounts["bytes"] * 8 / seconds if "bytes" in amounts else np.zeros(0),
        drops=amounts.get("drops", np.zeros(0)),
        packets=amounts.get("packets", np.zeros(0)),
        interval_s=interval,
        wraps=wraps,
        restarts=int(broken.sum()),
        estimates=estimates.estimates(),
        unknown=estimates.unknown(),
        notes=tuple(notes),
        rate=link.rate,
        is_nominal=link.is_nominal,
        shaper=link.shaper,
    )


def _is_unambiguous(interval_s: float, rate_bps: float | None) -> bool:
    """Whether a counter of 32 bits wraps at most once between two polls."""
    return rate_bps is not None and interval_s * rate_bps / 8 < 2**32


@dataclass(frozen=True)
class _Estimates:
    """Numbers out of amounts between polls."""

    seconds: NDArray[np.float64]
    amounts: Mapping[Kind, NDArray[np.float64]]
    interval_s: float
    rate_bps: float | None
    port: _Port

    def estimates(self) -> dict[str, IntervalEstimate]:
        """All numbers by name."""
        found = self._of_load() | self._of_packets()
        for kind, (values, unit) in self.port.gauges.items():
            source = "the highest depth since the poll before" if kind == "watermark" else "depths at polls"
            worth = independent_of(values)
            for share in (50, 95, 99):
                found[f"{kind}_p{share}"] = quantile(values, share / 100, unit, source, worth)
            most = float(values.max())
            found[f"{kind}_max"] = exactly(most, unit, f"{source}, the largest", int(values.size))
        return found

    def _of_load(self) -> dict[str, IntervalEstimate]:
        size = self.amounts.get("bytes")
        if size is None or not size.size:
            return {}
        source = f"bytes between polls {seconds_text(self.interval_s)} apart"
        found = {"load": batch_ratio(size * 8, self.seconds, "bit/s", source)}
        rates = size * 8 / self.seconds
        worth = independent_of(rates)
        for share in (50, 95, 99):
            found[f"load_p{share}"] = weighted_quantile(rates, self.seconds, share / 100, "bit/s", source, worth)
        if self.rate_bps is not None:
            for name in list(found):
                over = scaled(found[name], 1 / self.rate_bps, "")
                found[name.replace("load", "utilization")] = replace(over, source=f"{source}, over the link's rate")
        return found

    def _of_packets(self) -> dict[str, IntervalEstimate]:
        found = {}
        packets, drops, size = (self.amounts.get(kind) for kind in ("packets", "drops", "bytes"))
        if packets is None or not packets.sum():
            return {}
        if size is not None:
            found["packet_size"] = batch_ratio(size, packets, "byte", "bytes over packets between polls")
        if drops is not None:
            # RFC 2863 would have discards among the packets; most devices count what was sent.
            offered = packets + drops
            source = "drops over packets and drops between polls"
            found["loss"] = (
                batch_ratio(drops, offered, "", source)
                if drops.any()
                else share_without_events(float(offered.sum()), source)
            )
        return found

    def unknown(self) -> tuple[Unknown, ...]:
        """The quantities that these counters cannot tell."""
        capture = "capture packets at the port: `forebay observe port.pcapng`"
        finest = f"load over less than {seconds_text(self.interval_s)}" if self.interval_s else "load over time"
        entries = [
            Unknown(finest, "counters are read at the polls only", f"{capture}, or read queue watermarks"),
            Unknown("number of flows, their sizes and arrivals", "counters are sums over all flows",
                    "export flow records"),
            Unknown("base round trips and congestion controllers", "counters have no connections",
                    "ask the servers' sockets: `ss -tin`"),
        ]  # fmt: skip
        if "bytes" not in self.amounts:
            why = "no counter of bytes was read"
            if self.port.narrow:
                why = f"a counter of 32 bits wraps more than once in {seconds_text(self.interval_s)} at this rate"
            entries.append(Unknown("load", why, "poll counters of 64 bits, such as ifHCOutOctets"))
        drops = self.amounts.get("drops")
        if drops is None or (drops.any() and "packets" not in self.amounts):
            entries.append(
                Unknown(
                    "losses", "the input does not have both drops and packets", "poll ifOutDiscards and packets too"
                )
            )
        if "watermark" not in self.port.gauges:
            entries.append(Unknown("the queue's peak", "no watermark was read", "poll the queue's watermark, if the "
                                "device has one"))  # fmt: skip
        if self.rate_bps is None:
            entries.append(Unknown("utilization", "the link's rate is not given", "give `--rate`"))
        return tuple(entries)
