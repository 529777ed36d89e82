"""Statistics of flows: sizes, beginnings of short flows, number and rates of long flows.

A flow is long if it lasts ten seconds and carries a megabyte: long enough for a congestion controller to leave slow
start on most paths. Flows that were in progress when the records began or ended are left out of the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forebay.observation.estimate import IntervalEstimate, Unknown, exactly, scaled
from forebay.observation.flow_records.spreading import SpreadSum, width_for
from forebay.observation.intervals import batch_ratio, independent_of, quantile
from forebay.observation.numbers import seconds_text
from forebay.observation.series import Series

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["LONG_BYTES", "LONG_S", "Covered", "FlowStatistics", "unknown_of"]

#: From when on a flow is long: seconds and bytes.
LONG_S = 10.0
LONG_BYTES = 1e6
#: Sampled packets from which on a flow's size is told: its standard deviation is 18 %.
FEWEST_SAMPLED = 30
#: Share of a link's rate above which it counts as full, and share of the time from which on that is no chance.
FULL = 0.95
OFTEN = 0.05

TCP = 6
FINISHED, BEGUN = 0b101, 0b10
SHARES = (10, 25, 50, 75, 90, 99)


@dataclass(frozen=True, slots=True)
class Covered:
    """The time that records cover.

    Attributes
    ----------
    first_s, last_s : float
        From the start of the first record to the end of the last.
    resolution_s : float
        Nothing is known of shorter times.
    inactive_s : float
        Pause that ends a flow.
    """

    first_s: float
    last_s: float
    resolution_s: float
    inactive_s: float

    @property
    def short(self) -> bool:
        """Whether the ends, where pieces of flows are missing, cannot be left out."""
        return self.last_s - self.first_s < 4 * self.resolution_s

    def inner(self, series: Series) -> NDArray[np.float64]:
        """A series without a resolution's time at both ends, averaged over the resolution."""
        off = 0 if self.short else int(np.ceil(self.resolution_s / series.bin_s))
        values = series.values[off : series.values.size - off]
        return replace(series, values=values).averaged(self.resolution_s)


class FlowStatistics:
    """Sums over flows, to which a bucket at a time is added.

    Parameters
    ----------
    window : Covered
        The time that the records cover.
    rate_bps : float or None
        Rate of the link in bit/s.
    """

    def __init__(self, window: Covered, rate_bps: float | None) -> None:
        self.window = window
        self.rate_bps = rate_bps
        self.sampling = 1
        self.flows = 0
        self.cut = 0
        self.nameless = 0
        self._width = width_for(window.first_s, window.last_s)
        self._long = SpreadSum(window.first_s, window.last_s, self._width)
        self._long_tcp = SpreadSum(window.first_s, window.last_s, self._width)
        self._sizes: list[NDArray[np.float64]] = []
        self._starts: list[NDArray[np.float64]] = []
        self._rates: list[NDArray[np.float64]] = []
        self._bytes = {"all": 0.0, "tcp": 0.0, "counted": 0.0}
        self._packets = 0.0
        self._records = 0

    def add_records(self, records: pl.DataFrame) -> None:
        """Add what is told of records alone."""
        factor = records["sampling"].to_numpy().astype(np.float64)
        size = records["bytes"].to_numpy() * factor
        packets = records["packets"].to_numpy() * factor  # NaN where a record does not say
        known = np.isfinite(packets)
        self.sampling = max(self.sampling, int(factor.max(initial=1)))
        self.nameless += records["pair"].null_count()
        self._records += records.height
        self._bytes["all"] += float(size.sum())
        self._bytes["tcp"] += float(size[(records["protocol"] == TCP).fill_null(value=False).to_numpy()].sum())
        self._bytes["counted"] += float(size[known].sum())
        self._packets += float(packets[known].sum())

    def add_flows(self, flows: pl.DataFrame) -> None:
        """Add what is told of flows."""
        window = self.window
        start, end = flows["start_s"].to_numpy(), flows["end_s"].to_numpy()
        factor = flows["sampling"].to_numpy().astype(np.float64)
        size = flows["bytes"].to_numpy() * factor
        first, last = flows["first_flags"].fill_null(0).to_numpy(), flows["last_flags"].fill_null(0).to_numpy()
        begun = ((first & BEGUN) != 0) | (start >= window.first_s + window.inactive_s)
        ended = ((last & FINISHED) != 0) | (end <= window.last_s - window.inactive_s)
        long = (end - start >= LONG_S) & (size >= LONG_BYTES)
        usable = np.ones(flows.height, dtype=bool)
        if (factor > 1).any():
            sampled = flows["packets"].fill_null(0).to_numpy()
            usable = (sampled >= FEWEST_SAMPLED) | (factor == 1)
        self.flows += flows.height
        self.cut += int((~(begun & ended)).sum())
        self._sizes.append(size[begun & ended & usable])
        self._starts.append(start[begun & ~long])
        self._rates.append(size[long & usable] * 8 / (end - start)[long & usable])
        tcp = (flows["protocol"] == TCP).fill_null(value=False).to_numpy()
        for smear, which in ((self._long, long), (self._long_tcp, long & tcp)):
            smear.add(start[which], end[which], (end - start)[which] / self._width)

    def sizes(self) -> NDArray[np.float64]:
        """Bytes of flows that were seen as a whole, in ascending order."""
        return np.sort(np.concatenate(self._sizes)) if not self.nameless else np.empty(0)

    def arrivals(self) -> NDArray[np.float64]:
        """When short flows began, in order; none where they cannot be told."""
        return np.sort(np.concatenate(self._starts)) if self.sampling == 1 and not self.nameless else np.empty(0)

    def long_flows(self) -> Series:
        """How many long flows there were over time."""
        return self._series(self._long)

    def _series(self, smear: SpreadSum) -> Series:
        return Series(self.window.first_s, self._width, smear.sums(), self.window.resolution_s, "")

    def at_the_ceiling(self, load: Series) -> NDArray[np.bool_]:
        """For each inner window of a resolution: whether the link was full. All are false if its rate is unknown."""
        inner = self.window.inner(load)
        return inner >= FULL * self.rate_bps if self.rate_bps is not None else np.zeros(inner.size, dtype=bool)

    def limits(self, load: Series) -> bool:
        """Whether the link was full often enough to say that it limits flows."""
        full = self.at_the_ceiling(load)
        return bool(full.size) and float(full.mean()) >= OFTEN

    def estimates(self, load: Series) -> dict[str, IntervalEstimate]:
        """All numbers by name."""
        found = self._of_load(load)
        total = self._bytes["all"]
        if self._packets:
            found["packet_size"] = exactly(
                self._bytes["counted"] / self._packets, "byte", "bytes over packets of all records", self._records
            )
        if total:
            source = "bytes of all records"
            found["tcp_share"] = exactly(self._bytes["tcp"] / total, "", source, self._records)
        if not self.nameless:
            found |= self._of_sizes() | self._of_long_flows(load) | self._of_arrivals()
        return found

    def _of_load(self, load: Series) -> dict[str, IntervalEstimate]:
        inner = self.window.inner(load)
        if not inner.size:  # less than one resolution: only the mean is known
            mean = float(load.values.mean())
            found = {
                "load": IntervalEstimate(mean, -np.inf, np.inf, "bit/s", "bytes of all records over their time", 1)
            }
        else:
            source = f"records averaged over {seconds_text(self.window.resolution_s)}"
            found = {"load": batch_ratio(inner, np.ones_like(inner), "bit/s", source)}
            worth = independent_of(inner)
            for share in (50, 95, 99):
                found[f"load_p{share}"] = quantile(inner, share / 100, "bit/s", source, worth)
        if self.rate_bps is not None:
            for name in list(found):
                found[name.replace("load", "utilization")] = _over(found[name], self.rate_bps)
        return found

    def _of_sizes(self) -> dict[str, IntervalEstimate]:
        sizes = self.sizes()
        if not sizes.size:
            return {}
        if self.sampling == 1:
            source, name = "flows seen from beginning to end", "size"
        else:
            source, name = f"flows of at least {FEWEST_SAMPLED * self.sampling} packets", "large_size"
        return {f"{name}_p{share}": quantile(sizes, share / 100, "byte", source) for share in SHARES}

    def _of_long_flows(self, load: Series) -> dict[str, IntervalEstimate]:
        source = f"flows of at least {LONG_S:g} s and {LONG_BYTES / 1e6:g} MB"
        inner = self.window.inner(self.long_flows())
        found = {}
        if inner.size:
            found["long_flows"] = batch_ratio(inner, np.ones_like(inner), "", f"{source}, at one time")
        rates = np.concatenate(self._rates)
        if rates.size:
            for share in (10, 50, 90):
                found[f"long_rate_p{share}"] = quantile(rates, share / 100, "bit/s", f"mean rates of {source}")
        if self.limits(load):
            tcp = self._series(self._long_tcp)
            full = self.window.inner(tcp)[self.at_the_ceiling(load)]
            mean = float(full.mean())
            most = max(mean, float(full.max()))  # the mean of equal numbers may be rounded up
            source = "long TCP flows while the link was full; others may have been limited elsewhere"
            found["limited_flows"] = IntervalEstimate(mean, min(1.0, mean), most, "", source, int(full.size))
        return found

    def _of_arrivals(self) -> dict[str, IntervalEstimate]:
        starts = self.arrivals()
        window = self.window
        begin, end = window.first_s + window.inactive_s, window.last_s - window.resolution_s - window.inactive_s
        if not starts.size or end <= begin:
            return {}
        seconds = max(1, min(100_000, int(end - begin)))
        counts, edges = np.histogram(starts, bins=seconds, range=(begin, end))
        source = "beginnings of flows that are not long"
        return {"arrival_rate": batch_ratio(counts.astype(np.float64), np.diff(edges), "1/s", source)}


def _over(estimate: IntervalEstimate, rate: float) -> IntervalEstimate:
    return replace(scaled(estimate, 1 / rate, ""), source=f"{estimate.source}, over the link's rate")


def unknown_of(findings: FlowStatistics, load: Series) -> tuple[Unknown, ...]:
    """The quantities that the records cannot tell."""
    capture = "capture packets at the link: `forebay observe port.pcapng`"
    sockets = "ask the servers' sockets: `ss -tin`"
    unknown = [
        Unknown("base round trips", "a record has no times of packets and their acknowledgments", capture),
        Unknown("congestion controllers", "a record has no windows", sockets),
        Unknown("losses", "exporters do not count dropped packets", "read the port's counters of drops"),
        Unknown("buffer and queue discipline", "records have no queueing", "capture on both sides of the queue"),
        Unknown(
            f"load over less than {seconds_text(findings.window.resolution_s)}",
            "a record spreads its bytes over its duration",
            "capture packets, or read queue watermarks",
        ),
    ]  # fmt: skip
    if not findings.limits(load):
        why = (
            "the link's rate is not given"
            if findings.rate_bps is None
            else f"the link was not full for {seconds_text(findings.window.resolution_s)} at a time, the resolution of "
            f"the records"
        )
        unknown.append(Unknown("which flows this link limits", why, f"give `--rate`, or {capture}"))
    if findings.sampling > 1:
        unknown.append(
            Unknown(
                f"sizes and number of flows below {findings.sampling} packets",
                f"most of them have no packet in a sample of 1 in {findings.sampling}",
                "export without sampling for an hour",
            )
        )
    if findings.nameless:
        unknown.append(
            Unknown(
                "sizes of flows, long flows and arrivals",
                "records without addresses cannot be joined to flows",
                "export addresses, hashed if need be",
            )
        )
    return tuple(unknown)
