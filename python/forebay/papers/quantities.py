"""Quantities of recordings over time, for claims: one number per recording, or per pair of recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from forebay.papers.running import Recording

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


def window_at(recording: Recording, seconds: float, flow: int = 0) -> float:
    """Window of a flow in packets, linear between the samples around a time after the warm-up."""
    import polars as pl

    mine = recording.table("flows").filter(pl.col("flow") == flow).sort("time_s")
    begin = recording.core.duration_s[0]
    return float(np.interp(begin + seconds, mine["time_s"].to_numpy(), mine["cwnd_packets"].to_numpy()))


# Packets around a loss ---------------------------------------------------------------------------------------------


def gap_variation(recording: Recording, flow: int = 0) -> float:
    """Standard deviation over mean of the gaps between a flow's packets."""
    import polars as pl

    gaps = np.diff(recording.table("packets").filter(pl.col("flow") == flow)["time_s"].to_numpy())
    return float(gaps.std(ddof=1) / gaps.mean())


def wait_quantile(recording: Recording, group: str, at: float) -> float:
    """Quantile of the waiting time in seconds of a group's accepted packets."""
    import polars as pl

    mine = pl.col("group").is_in(group_numbers(recording, group))
    frame = recording.table("packets").filter(mine & ~pl.col("dropped"))
    found = frame["wait_s"].quantile(at)
    return float("nan") if found is None else found


def group_numbers(recording: Recording, group: str) -> list[int]:
    """Numbers of the groups of this name, or of this name with a number after a dash."""
    names = [name for name, *_ in recording.core.groups]
    found = [number for number, name in enumerate(names) if name == group or name.rpartition("-")[0] == group]
    if not found:
        raise InputError(f"found group `{group}`; allowed: {', '.join(names)}")
    return found


# Transfers ---------------------------------------------------------------------------------------------------------


def finished_transfers(recording: Recording, group: str, *, begun_before: float = 0.8) -> pl.DataFrame:
    """Transfers of a group that began after the warm-up and in the first part of the measured time.

    Columns: those of the recorded table, `bytes` of its packets, `loss`, and `throughput` in bytes per second from the
    beginning to the last acknowledgment: 0 if the end of the run came first.
    """
    import polars as pl

    core = recording.core
    warmup, measure = core.duration_s
    frame = recording.table("transfers").filter(pl.col("group").is_in(group_numbers(recording, group)))
    return frame.filter(pl.col("begun_s").is_between(warmup, warmup + begun_before * measure)).with_columns(
        bytes=pl.col("packets") * core.packet_bytes,
        loss=pl.col("dropped") / pl.col("arrived"),
        throughput=pl.col("packets") * core.packet_bytes / (pl.col("completed_s") - pl.col("begun_s")),
    )


def _sized(frame: pl.DataFrame, least: float, most: float) -> pl.DataFrame:
    import polars as pl

    return frame.filter(pl.col("bytes").is_between(least, most))


def lossless(recording: Recording, group: str, least: float = 0, most: float = 1e18) -> float:
    """Share of a group's transfers of `least` to `most` bytes that lose no packet."""
    import polars as pl

    frame = _sized(finished_transfers(recording, group), least, most)
    return float(frame.select((pl.col("dropped") == 0).mean()).item())


def _mean_number(recording: Recording, group: str, chosen: pl.Expr) -> float:
    """Mean number of a group's transfers of a kind that are in progress after the warm-up."""
    import polars as pl

    warmup, measure = recording.core.duration_s
    end = warmup + measure
    life = recording.table("transfers").filter(pl.col("group").is_in(group_numbers(recording, group)))
    life = life.with_columns(over_s=pl.min_horizontal("completed_s", pl.lit(end)))
    inside = life.filter(chosen).select(pl.col("over_s").clip(lower_bound=warmup) - pl.col("begun_s").clip(warmup, end))
    return float(inside.to_series().sum()) / measure


def _long() -> pl.Expr:
    """Flows that are out of slow start for half of their life and more, as the third paper counts them."""
    import polars as pl

    return pl.col("first_signal_s") - pl.col("begun_s") <= 0.5 * (pl.col("over_s") - pl.col("begun_s"))


def long_flows(recording: Recording, group: str) -> float:
    """Mean number of a group's transfers in progress that spend at most half of their life in slow start."""
    return _mean_number(recording, group, _long())


def limited_flows(recording: Recording, group: str) -> float:
    """Mean number of the long flows that lose at the target link at least as often as elsewhere."""
    import polars as pl

    here = (pl.col("dropped") > 0) & (pl.col("dropped") >= pl.col("drops_off_target"))
    return _mean_number(recording, group, _long() & here)


def median_throughput(recording: Recording, group: str, least: float = 0, most: float = 1e18) -> float:
    """Median throughput in bytes per second of a group's transfers of `least` to `most` bytes."""
    found = _sized(finished_transfers(recording, group), least, most)["throughput"].median()
    return float(found) if isinstance(found, int | float) else float("nan")


def transfer_variation(recording: Recording, group: str, least: float = 0, most: float = 1e18) -> float:
    """Standard deviation over mean of the throughput of a group's transfers of `least` to `most` bytes."""
    found = _sized(finished_transfers(recording, group), least, most)["throughput"].to_numpy()
    return float(found.std(ddof=1) / found.mean())


def per_flow(recording: Recording, group: str, quantity: str) -> NDArray[np.float64]:
    """A field of `FlowReport` for each persistent flow of a group, after the warm-up."""
    groups = recording.report().groups
    found = [getattr(flow, quantity) for number in group_numbers(recording, group) for flow in groups[number].per_flow]
    return np.array(found, dtype=float)


def persistent_rates(recording: Recording, group: str) -> NDArray[np.float64]:
    """Bytes of payload per second of each persistent flow of a group."""
    return per_flow(recording, group, "goodput_bps") / 8


def share_of_full_rates(recording: Recording, group: str) -> float:
    """Share of the persistent flows whose rate is more than three quarters of the median rate."""
    found = persistent_rates(recording, group)
    return float(np.mean(found > 0.75 * np.median(found)))


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
    key = ["group", "user", "transfer"]
    one = _sized(finished_transfers(first, group), least, most).select(*key, "throughput")
    two = finished_transfers(second, group).select(*key, other="throughput")
    both = one.join(two, on=key)
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
    "limited_flows": limited_flows,
    "transfer_variation": transfer_variation,
    "median_throughput": median_throughput,
    "rate_variation": rate_variation,
    "share_of_full_rates": share_of_full_rates,
    "window_at": window_at,
}

#: Quantities of two recordings of the same replication.
TWO: Mapping[str, Callable[..., float]] = {
    "share_faster": share_faster,
    "share_transfers_faster": share_transfers_faster,
    "quantile_ratio": quantile_ratio,
    "persistent_ratio": persistent_ratio,
}
