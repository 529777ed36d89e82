"""What claims ask of recordings over time: one number per recording, or per pair of recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from forebay.gallery.running import Recording

__all__ = ["ONE", "TWO", "finished_transfers", "rates"]


# Windows over time -------------------------------------------------------------------------------------------------


def rates(recording: Recording, seconds: float, skip: float = 0.0) -> NDArray[np.float64]:
    """Mean of window / round-trip time in packets per second: windows of `seconds` x flows, after the warm-up."""
    import polars as pl

    warmup = recording.core.duration_s[0] + skip
    frame = (
        recording.table("flows")
        .filter((pl.col("time_s") >= warmup) & (pl.col("rtt_s") > 0))
        .with_columns(rate=pl.col("cwnd_packets") / pl.col("rtt_s"), at=((pl.col("time_s") - warmup) // seconds))
        .group_by("at", "flow")
        .agg(pl.col("rate").mean(), pl.len())
        .sort("at", "flow")
    )
    table = frame.pivot(on="flow", index="at", values="rate").sort("at").drop("at")
    found: NDArray[np.float64] = table.to_numpy()[:-1] if table.height > 1 else table.to_numpy()
    return found


def window_jain(recording: Recording, seconds: float = 10.0) -> float:
    """Mean over windows of `seconds` of Jain's index of the flows' rates."""
    found = rates(recording, seconds)
    return float(np.mean(found.sum(axis=1) ** 2 / (found.shape[1] * (found**2).sum(axis=1))))


def leader_changes(recording: Recording, seconds: float = 10.0) -> float:
    """Changes of the fastest flow per minute, seen in windows of `seconds`."""
    leaders = np.argmax(rates(recording, seconds), axis=1)
    return float(np.sum(leaders[1:] != leaders[:-1]) / ((len(leaders) - 1) * seconds) * 60)


def share_of_first(recording: Recording) -> float:
    """Share of the first flow in all flows' rates."""
    found = rates(recording, 10.0).mean(axis=0)
    return float(found[0] / found.sum())


# Packets around a loss ---------------------------------------------------------------------------------------------


def gap_variation(recording: Recording, flow: int = 0) -> float:
    """Standard deviation over mean of the gaps between a flow's packets."""
    import polars as pl

    gaps = np.diff(recording.table("packets").filter(pl.col("flow") == flow)["time_s"].to_numpy())
    return float(gaps.std(ddof=1) / gaps.mean())


def wait_quantile(recording: Recording, group: str, at: float) -> float:
    """Quantile of the waiting time in seconds of a group's accepted packets."""
    import polars as pl

    first, last = flow_numbers(recording, group)
    frame = recording.table("packets").filter(pl.col("flow").is_between(first, last) & ~pl.col("dropped"))
    found = frame["wait_s"].quantile(at)
    return float("nan") if found is None else found


def flow_numbers(recording: Recording, group: str) -> tuple[int, int]:
    """First and last number of a group's flows."""
    first = 0
    for name, count, _, _ in recording.core.groups:
        if name == group:
            return first, first + count - 1
        first += count
    raise InputError(f"found group `{group}`; allowed: {', '.join(name for name, *_ in recording.core.groups)}")


# Transfers ---------------------------------------------------------------------------------------------------------


def finished_transfers(recording: Recording, group: str, *, begun_before: float = 0.8) -> pl.DataFrame:
    """Transfers of a group that began after the warm-up and in the first part of what is measured.

    Columns: those of `running.transfers`, `bytes` of data, `loss`, `seconds` from the first packet at the link to the
    last one's acknowledgement at the sender (a round trip after its arrival, as long as the first packet's was), and
    `throughput` in bytes per second.
    """
    import polars as pl

    core = recording.core
    first, last = flow_numbers(recording, group)
    warmup, measure = core.duration_s
    frame = recording.table("transfers").filter(pl.col("flow").is_between(first, last) & (pl.col("transfer") > 0))
    return (
        frame.filter(pl.col("first_s").is_between(warmup, warmup + begun_before * measure) & (pl.col("packets") > 0))
        .with_columns(
            bytes=pl.col("packets") * core.packet_bytes,
            loss=pl.col("dropped") / pl.col("arrived"),
            seconds=pl.col("last_s") - pl.col("first_s") + (pl.col("second_s") - pl.col("opened_s")),
        )
        .with_columns(throughput=pl.col("bytes") / pl.col("seconds"))
    )


def _sized(frame: pl.DataFrame, least: float, most: float) -> pl.DataFrame:
    import polars as pl

    return frame.filter(pl.col("bytes").is_between(least, most))


def lossless(recording: Recording, group: str, least: float = 0, most: float = 1e18) -> float:
    """Share of a group's transfers of `least` to `most` bytes that lose no packet."""
    import polars as pl

    frame = _sized(finished_transfers(recording, group), least, most)
    return float(frame.select((pl.col("dropped") == 0).mean()).item())


def long_flows(recording: Recording, group: str) -> float:
    """Mean number of a group's transfers in progress that have lost a packet here, so have left slow start."""
    import polars as pl

    first, last = flow_numbers(recording, group)
    frame = recording.table("transfers").filter(pl.col("flow").is_between(first, last))
    seconds = (frame["last_s"] - frame["first_drop_s"]).sum()
    return float(seconds) / recording.core.duration_s[1]


def median_throughput(recording: Recording, group: str, least: float = 0, most: float = 1e18) -> float:
    """Median throughput in bytes per second of a group's transfers of `least` to `most` bytes."""
    found = _sized(finished_transfers(recording, group), least, most)["throughput"].median()
    return float(found) if isinstance(found, int | float) else float("nan")


def persistent_rates(recording: Recording, group: str) -> NDArray[np.float64]:
    """Bytes per second that each persistent flow of a group got through after the warm-up."""
    import polars as pl

    first, last = flow_numbers(recording, group)
    frame = recording.table("transfers").filter(pl.col("flow").is_between(first, last))
    totals = frame.group_by("flow").agg(pl.col("accepted_bytes").sum()).sort("flow")
    found = np.zeros(last - first + 1)
    found[totals["flow"].to_numpy() - first] = totals["accepted_bytes"].to_numpy() / recording.core.duration_s[1]
    return found


def rate_variation(recording: Recording, group: str) -> float:
    """Standard deviation over mean of the persistent flows' rates."""
    found = persistent_rates(recording, group)
    return float(found.std(ddof=1) / found.mean())


def share_faster(first: Recording, second: Recording, group: str) -> float:
    """Share of the persistent flows that get more in the second recording."""
    return float(np.mean(persistent_rates(second, group) > persistent_rates(first, group)))


def share_transfers_faster(
    first: Recording, second: Recording, group: str, least: float = 0, most: float = 1e18
) -> float:
    """Share of the transfers that are faster in the second recording; the same transfers in both."""
    one = _sized(finished_transfers(first, group), least, most).select("flow", "transfer", "throughput")
    two = finished_transfers(second, group).select("flow", "transfer", other="throughput")
    both = one.join(two, on=["flow", "transfer"])
    return float((both["other"] > both["throughput"]).to_numpy().mean())


def persistent_ratio(first: Recording, second: Recording, group: str) -> float:
    """Median of the persistent flows' rates in the second recording over that in the first."""
    return float(np.median(persistent_rates(second, group)) / np.median(persistent_rates(first, group)))


def quantile_ratio(
    first: Recording, second: Recording, group: str, least: float = 0, most: float = 1e18, at: float = 0.5
) -> float:
    """Quantile of the transfers' throughput in the second recording over that in the first."""
    one = _sized(finished_transfers(first, group), least, most)["throughput"].quantile(at)
    two = _sized(finished_transfers(second, group), least, most)["throughput"].quantile(at)
    return float(two) / float(one) if one and two else float("nan")


#: Quantities of one recording.
ONE: Mapping[str, Callable[..., float]] = {
    "window_jain": window_jain,
    "leader_changes": leader_changes,
    "share_of_first": share_of_first,
    "gap_variation": gap_variation,
    "wait_quantile": wait_quantile,
    "lossless": lossless,
    "long_flows": long_flows,
    "median_throughput": median_throughput,
    "rate_variation": rate_variation,
}

#: Quantities of two recordings of the same replication.
TWO: Mapping[str, Callable[..., float]] = {
    "share_faster": share_faster,
    "share_transfers_faster": share_transfers_faster,
    "quantile_ratio": quantile_ratio,
    "persistent_ratio": persistent_ratio,
}
