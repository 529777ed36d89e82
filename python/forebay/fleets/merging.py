"""One row per port: the same port in several files is merged, and contradictions are rejected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forebay.fleets.amounts import bits_per_second, seconds
from forebay.fleets.columns import RAW, REJECTED, schema
from forebay.fleets.rejections import of_port, split

if TYPE_CHECKING:
    import polars as pl

__all__ = ["full_name", "merged", "with_full_names"]

#: Columns on which two files have to agree.
AGREED = ("rate", "platform", "lines", "buffer", "queue", "profile", "goals")
#: Counters over `interval`.
COUNTERS = ("sent", "drops", "packets")
#: Columns of a port that its classes share.
OF_PORT = ("rate", "nominal", "shaper", "platform", "mtu", "role")
#: Characters of a value that a message shows.
MOST_SHOWN = 60
#: Columns other than the names of a port, which may differ in case and in length.
_VALUES = tuple(name for name in RAW if name not in ("device", "port"))
#: Short names of interfaces in SNMP's ifName, with those of configurations.
_NAMES = {"gi": "gigabitethernet", "ge": "gigabitethernet", "te": "tengigabitethernet", "tengige": "tengigabitethernet",
          "twe": "twentyfivegige", "fo": "fortygigabitethernet", "fortygige": "fortygigabitethernet",
          "hu": "hundredgige", "hundredgigabitethernet": "hundredgige", "fa": "fastethernet", "et": "ethernet",
          "eth": "ethernet"}  # fmt: skip


def full_name(port: str) -> str:
    """A name of a port for comparisons: Gi0/0/1 and GigabitEthernet0/0/1 are one; xe-0/0/0 stays."""
    found = re.match(r"([A-Za-z]+) ?([0-9].*)$", port)
    if found is None:
        return port.lower()
    kind = found[1].lower()
    return f"{_NAMES.get(kind, kind)}{found[2].lower()}"


def with_full_names(frame: pl.DataFrame) -> pl.DataFrame:
    """The ports with the columns `_device` and `_port`, in which all spellings of a name are equal."""
    import polars as pl

    names = frame.select(pl.col("port").unique())["port"]
    by_name = {name: full_name(name) for name in names}
    return frame.with_columns(
        pl.col("device").str.to_lowercase().alias("_device"),
        pl.col("port").replace_strict(by_name, return_dtype=pl.String).alias("_port"),
    )


def merged(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ports once each, and rejected rows (file, line, reason).

    A port twice in one file is a duplicate: the first row stays if all are equal, else none does. A port in several
    files has the values of all of them; where two contradict each other, the port is rejected.
    """
    import polars as pl

    frame = with_full_names(frame)
    key = ["_device", "_port", "service_class"]
    columns = [*RAW, "file", "line", "_device", "_port"]
    frame = frame.with_columns(pl.len().over(key).alias("_count"))
    ports, several = frame.filter(pl.col("_count") == 1).select(columns), frame.filter(pl.col("_count") > 1)
    rejected = pl.DataFrame(schema=schema(REJECTED))
    if len(several):
        several, duplicates = _without_duplicates(several, key)
        joined, contradictions = _joined(_over_one_interval(several, key), key)
        ports, rejected = pl.concat([ports, joined.select(columns)]), pl.concat([duplicates, contradictions])
    return _with_rates_of_ports(ports).drop("_device", "_port"), rejected


def _over_one_interval(frame: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """The rows with the counters over one interval of each port: that of `sent`, or else the first one.

    A counter does not belong to the interval of another file.
    """
    import polars as pl

    counts = pl.any_horizontal(pl.col(COUNTERS).is_not_null())
    # 300s and 5min are one interval.
    length = pl.coalesce(seconds(pl.col("interval")).cast(pl.String), "interval")
    frame = frame.with_columns(pl.when(counts).then(length).alias("_length"))
    length = pl.col("_length")
    chosen = pl.coalesce(
        length.filter(pl.col("sent").is_not_null()).drop_nulls().first(), length.drop_nulls().first()
    ).over(key)
    kept = counts & length.eq_missing(chosen)
    return frame.with_columns(pl.when(kept).then(pl.col(name)).alias(name) for name in (*COUNTERS, "interval"))


def _with_rates_of_ports(frame: pl.DataFrame) -> pl.DataFrame:
    """The ports, where a class has the rate of its port unless it states one, and so the facts of its device."""
    import polars as pl

    classed = pl.col("service_class").is_not_null()
    if not frame.select(classed.any()).item():
        return frame
    known = frame.filter(~classed).select("_device", "_port", pl.col(OF_PORT).name.suffix("_known"))
    frame = frame.join(known, on=["_device", "_port"], how="left", maintain_order="left")
    frame = frame.with_columns(pl.coalesce(name, f"{name}_known") for name in OF_PORT)
    return frame.drop(f"{name}_known" for name in OF_PORT)


def _without_duplicates(frame: pl.DataFrame, key: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of ports that are in each file once, and the others as rejected rows."""
    import polars as pl

    in_file = [*key, "file"]
    doubled = frame.filter(pl.len().over(in_file) > 1)
    if not len(doubled):
        return frame, pl.DataFrame(schema=schema(REJECTED))
    values = pl.struct(pl.col(name).fill_null("") for name in _VALUES).hash()
    counted = doubled.with_columns(values.alias("_hash")).group_by(in_file).agg(
        pl.col("_hash").n_unique(), pl.col("line").first().alias("_first")
    )  # fmt: skip
    differing = counted.filter(pl.col("_hash") > 1).select(key).unique().with_columns(pl.lit("x").alias("_differs"))
    frame = frame.join(counted.drop("_hash"), on=in_file, how="left", nulls_equal=True, maintain_order="left")
    frame = frame.join(differing, on=key, how="left", nulls_equal=True, maintain_order="left")
    reason = (
        pl.when(pl.col("_differs").is_not_null())
        .then(pl.lit("found it twice with other values; allowed: once in a file"))
        .when(pl.int_range(pl.len()).over(in_file) > 0)
        .then(pl.format("found it again, as in line {}; allowed: once in a file", pl.col("_first").fill_null(0)))
    )
    return split(frame, of_port(reason))


def _joined(frame: pl.DataFrame, key: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The values of several files together, and the rows of ports on which two files contradict each other."""
    import polars as pl

    # 10Gbps and 10000000kbps are one rate.
    frame = frame.with_columns(
        pl.coalesce(bits_per_second(pl.col("rate")).cast(pl.String), "rate").alias("_rate"),
        *(pl.col(name).alias(f"_{name}") for name in AGREED if name != "rate"),
    )
    together = frame.group_by(key, maintain_order=True).agg(
        *(pl.col(name).drop_nulls().first() for name in RAW if name not in key),
        pl.col("file", "line").first(),
        # Equal texts have an equal minimum and maximum, which costs less than to count them.
        *(pl.col(f"_{name}").min().alias(f"_least_{name}") for name in AGREED),
        *(pl.col(f"_{name}").max().alias(f"_most_{name}") for name in AGREED),
    )
    agree = pl.all_horizontal(
        (pl.col(f"_least_{name}") == pl.col(f"_most_{name}")).fill_null(value=True) for name in AGREED
    )
    wrong = together.filter(~agree).select(key)
    if not len(wrong):
        return together, pl.DataFrame(schema=schema(REJECTED))
    rows = frame.join(wrong, on=key, how="semi", nulls_equal=True)
    reasons = rows.group_by(key).agg(pl.coalesce(_contradiction(name) for name in AGREED).alias("reason"))
    rows = rows.join(reasons, on=key, how="left", nulls_equal=True, maintain_order="left")
    return together.filter(agree), split(rows, of_port(pl.col("reason")))[1]


def _contradiction(name: str) -> pl.Expr:
    """The contradiction of one group of rows in a column; null if its rows agree."""
    import polars as pl

    meaning = pl.col(f"_{name}")
    known, other = meaning.is_not_null(), meaning != meaning.drop_nulls().first()
    text = pl.col(name).str.slice(0, MOST_SHOWN)
    values = (text.filter(known).first(), text.filter(other).first())
    files = (pl.col("file").filter(known).first(), pl.col("file").filter(other).first())
    return pl.format(f"found `{{}}` and `{{}}` as {name} in {{}} and {{}}; allowed: one of them", *values, *files)
