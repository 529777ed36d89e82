"""Compares two audits of a network: ports that appeared or vanished, other verdicts, and margins beyond uncertainty.

Ports are the same if their device, port and class are, in any spelling that an inventory takes for one port.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.extras import need
from forebay.fleets.answer import WRONG, FleetAnswer, PortVerdict
from forebay.fleets.columns import KEY
from forebay.fleets.merging import with_full_names
from forebay.storage.files import write_atomically
from forebay.storage.tables import read_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CHANGES", "DIFFERENCES", "AuditComparison", "compare_audits", "read_audit"]

#: Every kind of change, in the order of the summary.
CHANGES = ("appeared", "vanished", "verdict", "margin")
#: The file of the differences in the folder of an audit.
DIFFERENCES = "differences.csv"
#: Columns of a port before and after, each with the suffix `_before` or `_after`.
VALUES = ("verdict", "margin", "margin_low", "margin_high", "buffer_bytes", "rate_bps", "recommended_bytes")
_REMEDY = "the folder of an audit that has ended"


@dataclass(frozen=True, slots=True)
class AuditComparison:
    """The differences of two audits.

    Attributes
    ----------
    differences : polars.DataFrame
        One row per changed port: its names, `change`, the columns of `VALUES` before and after, and `reason`.
    counts : mapping
        Number of ports of each change: "appeared", "vanished", "verdict" or "margin". A port has one change; another
        verdict comes before another margin.
    unchanged : int
        Number of ports without a change.
    """

    differences: pl.DataFrame
    counts: Mapping[str, int]
    unchanged: int

    def newly(self, verdicts: Collection[PortVerdict]) -> pl.DataFrame:
        """The ports that appeared with one of these verdicts, or changed to it."""
        import polars as pl

        return self.differences.filter(
            pl.col("change").is_in(["appeared", "verdict"]) & pl.col("verdict_after").is_in(list(verdicts))
        )

    def no_longer(self, verdicts: Collection[PortVerdict]) -> pl.DataFrame:
        """The ports that had one of these verdicts, and have vanished or have none of them now."""
        import polars as pl

        had = pl.col("verdict_before").is_in(list(verdicts))
        return self.differences.filter(had & ~pl.col("verdict_after").is_in(list(verdicts)).fill_null(value=False))

    def exit_code(self, fail_on: Collection[PortVerdict] = WRONG) -> int:
        """1 if a port newly has a verdict of `fail_on`, 3 if one is newly undecided or without an answer, else 0."""
        if self.newly(fail_on).height:
            return 1
        return 3 if self.newly(("undecided", "not answerable")).height else 0

    def to_dict(self) -> dict[str, Any]:
        """The summary, as in the JSON."""
        return {
            "changes": dict(self.counts),
            "unchanged": self.unchanged,
            "newly_wrong": self.newly(WRONG).height,
            "no_longer_wrong": self.no_longer(WRONG).height,
        }

    def write(self, folder: Path) -> None:
        """Write the differences into the folder of an audit."""
        write_atomically(folder / DIFFERENCES, self.differences.write_csv())


def read_audit(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """The ports of an audit that has ended.

    Raises
    ------
    InputError
        If the folder has none, or if its table is damaged or of another version.
    """
    need("polars")
    path = Path(folder) / "ports.parquet"
    if not path.is_file():
        raise InputError(f"found no audit in `{folder}` (it has no ports.parquet); allowed: {_REMEDY}", "against")
    ports = read_table(path, _REMEDY)
    missing = [name for name in (*KEY, *VALUES, "reason") if name not in ports.columns]
    if missing:
        raise InputError(f"{path}: found no column `{missing[0]}`; allowed: {_REMEDY}", "against")
    return ports


def compare_audits(
    before: str | os.PathLike[str] | FleetAnswer | pl.DataFrame,
    after: str | os.PathLike[str] | FleetAnswer | pl.DataFrame,
) -> AuditComparison:
    r"""Compare two audits of a network.

    A margin has changed if the intervals of both audits (`margin_low` to `margin_high`) have no point in common. An end
    that is not known has no limit.

    Parameters
    ----------
    before, after : path-like, FleetAnswer or polars.DataFrame
        Folders of audits, answers of `forebay.fleet`, or their tables of ports.

    Returns
    -------
    AuditComparison
        The changed ports and their numbers.

    Raises
    ------
    InputError
        If a folder has no audit that has ended.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "profiles").mkdir()
    >>> profile = ["link = { rate = '{rate}', buffer = '{buffer}' }", "flows = [{ cca = 'newreno', rtt = '20ms' }]"]
    >>> profile += ["run = { warmup = '1s', measure = '3s' }", "goal = { utilization = '>= 95%' }"]
    >>> size = (folder / "profiles" / "office.toml").write_text("\n".join(profile))
    >>> answers = []
    >>> for buffer in ("9 packets", "1 packets"):
    ...     size = (folder / "network.csv").write_text(f"device,port,rate,buffer\na,eth0,2Mbps,{buffer}")
    ...     answers.append(forebay.fleet(folder / "network.csv"))
    >>> comparison = forebay.compare_audits(*answers)
    >>> comparison.differences["verdict_after"].to_list()
    ['too small']
    """
    need("polars")
    import polars as pl

    key = ["_device", "_port", "service_class"]
    sides = [_identified(_ports_of(each), side, key) for each, side in ((before, "_before"), (after, "_after"))]
    joined = sides[0].join(sides[1], on=key, how="full", coalesce=True, nulls_equal=True)
    appeared, vanished = pl.col("device_before").is_null(), pl.col("device_after").is_null()
    ends = {
        f"{end}{side}": pl.col(f"margin_{end}{side}").fill_null(unknown)
        for side in ("_before", "_after")
        for end, unknown in (("low", 0.0), ("high", float("inf")))
    }
    apart = (ends["low_after"] > ends["high_before"]) | (ends["high_after"] < ends["low_before"])
    both = pl.col("margin_before").is_not_null() & pl.col("margin_after").is_not_null()
    changed = (
        pl.when(appeared)
        .then(pl.lit("appeared"))
        .when(vanished)
        .then(pl.lit("vanished"))
        .when(pl.col("verdict_before") != pl.col("verdict_after"))
        .then(pl.lit("verdict"))
        .when(both & apart)
        .then(pl.lit("margin"))
    )
    names = [pl.coalesce(f"{name}_after", f"{name}_before").alias(name) for name in ("device", "port")]
    values = [f"{name}_{side}" for name in VALUES for side in ("before", "after")]
    table = joined.select(
        *names,
        "service_class",
        changed.alias("change"),
        *values,
        pl.coalesce("reason_after", "reason_before").alias("reason"),
    )
    differences = table.drop_nulls("change").sort(*KEY, nulls_last=False, maintain_order=True)
    counts = {change: int(differences["change"].eq(change).sum()) for change in CHANGES}
    return AuditComparison(differences, counts, table.height - differences.height)


def _ports_of(audit: str | os.PathLike[str] | FleetAnswer | pl.DataFrame) -> pl.DataFrame:
    if isinstance(audit, FleetAnswer):
        return audit.ports
    return read_audit(audit) if isinstance(audit, str | os.PathLike) else audit


def _identified(ports: pl.DataFrame, side: str, key: list[str]) -> pl.DataFrame:
    """The ports once each, with a suffix at every column that is not of the key."""
    import polars as pl

    found = with_full_names(ports).select(*key, pl.col("device", "port", *VALUES, "reason").name.suffix(side))
    return found.unique(key, keep="first", maintain_order=True)
