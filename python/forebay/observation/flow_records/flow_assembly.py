"""Flows out of their records: an exporter writes a long flow in pieces, one for each of its active timeouts.

RFC 5470, section 5.1.1 and RFC 7011 call the two timeouts active and inactive. Neither is written into records; both
show in them: pieces that go on at once are as long as the active one, and a pause that ended a record was at least as
long as the inactive one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Evidence", "Timeouts", "assemble_flows", "gather", "timeouts"]

#: Usual timeouts of exporters, in seconds.
ACTIVE = (30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600)
INACTIVE = (5, 10, 15, 20, 30, 60, 120, 300)
#: Cisco's and softflowd's default, where records do not tell.
USUAL_INACTIVE_S = 15.0
#: A piece goes on after at most so long where nothing paused, in seconds: sampled packets and whole seconds included.
SOON_S = 10.0
#: Fewest pairs of records that say anything of an active and of an inactive timeout.
FEWEST = 5
FEWEST_PAUSES = 20

#: A sampled flow pauses whenever none of its packets is taken: for seven times their mean spacing in 1 of 1000 cases.
SPACINGS = 7.0

KEY = ("pair", "source_port", "target_port", "protocol", "input", "output")
FINISHED, BEGUN = 0b101, 0b10  # FIN or RST; SYN


@dataclass(frozen=True, slots=True)
class Timeouts:
    """An exporter's timeouts.

    Attributes
    ----------
    active_s : float or None
        After which it writes a record of a flow that goes on; None where no record shows one.
    inactive_s : float
        Pause that ends a flow.
    assumed : bool
        Whether the inactive one is the usual one, because records do not tell.
    """

    active_s: float | None
    inactive_s: float
    assumed: bool


@dataclass
class Evidence:
    """The evidence of records on timeouts, gathered one bucket at a time.

    Attributes
    ----------
    going_on : list of ndarray
        Durations of records whose flow went on soon.
    pauses : list of ndarray
        Durations of records whose flow went on at some time, without having ended, and the pauses: two columns.
    lasting : list of ndarray
        Durations of all records of at least 20 seconds.
    """

    going_on: list[NDArray[np.float64]]
    pauses: list[NDArray[np.float64]]
    lasting: list[NDArray[np.float64]]


def gather(buckets: Iterable[pl.DataFrame]) -> Evidence:
    """Look at pairs of records of one flow."""
    import polars as pl

    evidence = Evidence([], [], [])
    for bucket in buckets:
        records = _in_order(bucket)
        lasting = (records["end_s"] - records["start_s"]).to_numpy()
        evidence.lasting.append(lasting[lasting >= 20])
        after = records.select(
            lasting=(pl.col("end_s") - pl.col("start_s")).shift(1),
            gap=pl.col("start_s") - pl.col("end_s").shift(1),
            same=_same(),
            finished=pl.col("tcp_flags").shift(1).fill_null(0) & FINISHED != 0,
        ).filter("same", ~pl.col("finished"), pl.col("gap").is_between(-1.0, 600.0))
        evidence.going_on.append(after.filter(pl.col("gap") <= SOON_S)["lasting"].to_numpy())
        evidence.pauses.append(after.select("lasting", "gap").to_numpy())
    return evidence


def timeouts(evidence: Evidence) -> Timeouts:
    """Read the exporter's timeouts off the evidence."""
    active = _active(np.concatenate(evidence.going_on), np.concatenate(evidence.lasting))
    pauses = np.concatenate(evidence.pauses)
    if active is not None:
        # Had the active one ended a record, the next would begin that much after it.
        pauses = pauses[pauses.sum(axis=1) < 0.9 * active]
    gaps = pauses[:, 1]
    if gaps.size >= FEWEST_PAUSES:
        # Records that print whole seconds are wrong by as much.
        least = float(np.quantile(gaps, 0.02)) * 1.05 + 1.0
        below = [each for each in INACTIVE if each <= least]
        if below:
            return Timeouts(active, float(below[-1]), assumed=False)
    return Timeouts(active, USUAL_INACTIVE_S, assumed=True)


def _active(going_on: NDArray[np.float64], lasting: NDArray[np.float64]) -> float | None:
    """The timeout at which most records end whose flow goes on, else the one above which no record lasts."""
    long = going_on[going_on >= 20]
    counts = [int(_is_near(long, each).sum()) for each in ACTIVE]
    best = int(np.argmax(counts))
    if counts[best] >= FEWEST and counts[best] >= long.size / 2:
        return float(ACTIVE[best])
    for each in ACTIVE:
        here, above = int(_is_near(lasting, each).sum()), int((lasting > 1.15 * each + 5).sum())
        shorter = int(((lasting >= 0.7 * each) & (lasting < 0.9 * each)).sum())
        if here >= FEWEST and here >= 3 * shorter and above <= here / 100:
            return float(each)
    return None


def _is_near(durations: NDArray[np.float64], timeout: float) -> NDArray[np.bool_]:
    # The last packet comes before the timeout; exporters look at their flows every few seconds.
    return (durations >= 0.9 * timeout) & (durations <= 1.1 * timeout + 5)


def assemble_flows(records: pl.DataFrame, inactive_s: float) -> pl.DataFrame:
    """Flows of a bucket's records: of one key, with pauses shorter than the inactive timeout, until they end.

    In sampled flows a pause may also be as long as it takes to sample some packets.

    Returns
    -------
    DataFrame
        `start_s`, `end_s`, `bytes` and `packets` as sampled, `protocol`, `tcp_flags` of the first and last record,
        `sampling`, `records` and `pair`.
    """
    import polars as pl

    finished = pl.col("tcp_flags").shift(1).fill_null(0) & FINISHED != 0
    begun = pl.col("tcp_flags").fill_null(0) & BEGUN != 0
    pause = pl.col("start_s") - pl.col("end_s").shift(1)
    lasting = pl.col("end_s") - pl.col("start_s")
    spacing = lasting.sum().over(KEY) / (pl.col("packets") - 1).sum().over(KEY)
    patience = pl.when((pl.col("sampling") > 1) & spacing.is_finite()).then(
        pl.max_horizontal(pl.lit(inactive_s), SPACINGS * spacing)
    ).otherwise(inactive_s)  # fmt: skip
    fresh = ~_same() | (pause >= patience) | (finished & begun)
    return (
        _in_order(records)
        .with_columns(flow=fresh.fill_null(value=True).cum_sum())
        .group_by("flow", maintain_order=True)
        .agg(
            pl.col("start_s").min(),
            pl.col("end_s").max(),
            pl.col("bytes").sum(),
            pl.col("packets").sum(),
            pl.col("protocol").first(),
            pl.col("tcp_flags").first().alias("first_flags"),
            pl.col("tcp_flags").last().alias("last_flags"),
            pl.col("sampling").max(),
            pl.len().cast(pl.UInt32).alias("records"),
            pl.col("pair").first(),
        )
        .drop("flow")
    )


def _in_order(records: pl.DataFrame) -> pl.DataFrame:
    return records.sort([*KEY, "start_s", "end_s"])


def _same() -> pl.Expr:
    """Whether a row is of the same flow as the one before; rows without addresses are of none."""
    import polars as pl

    alike = [pl.col(name).eq_missing(pl.col(name).shift(1)) for name in KEY]
    return pl.all_horizontal(pl.col("pair").is_not_null(), *alike)
