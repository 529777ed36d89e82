"""Numbers of the texts of a port, and the first fault of each row: no unit, out of range, or a contradiction.

All rows are checked at once; only distinct settings of platforms, disciplines and goals are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from forebay.configuration.platforms import ios_xr
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.fleets.amounts import bits_per_second, buffer_bytes, seconds, share, whole
from forebay.fleets.columns import PORTS
from forebay.fleets.rejections import of_port, short, split
from forebay.fleets.settings import (
    MOST_DISTINCT,
    Setting,
    fault_of_goals,
    fault_of_queue,
    platform_name,
    translated,
    words,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["validated"]

#: Slowest and fastest port: 1 kb/s, and 1.6 Tb/s of IEEE 802.3dj with room, in bits per second.
SLOWEST, FASTEST = 1e3, 1e13
#: Largest buffer in bytes, and the size of a packet where the MTU is not known.
LARGEST, PACKET = 2**44, 1500
#: Bytes of the shortest packet on the wire, with preamble and gap (IEEE 802.3), and what counters may exceed the rate.
SHORTEST, MARGIN = 84, 0.02


def validated(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ports with numbers, and the rejected rows."""
    import polars as pl

    frame = frame.with_columns(
        bits_per_second(pl.col("rate")).alias("_rate"),
        bits_per_second(pl.col("nominal")).alias("_nominal"),
        bits_per_second(pl.col("shaper")).alias("_shaper"),
        whole(pl.col("mtu"), "(?: ?B| ?bytes)?").alias("_mtu"),
        share(pl.col("utilization")).alias("_share"),
        seconds(pl.col("interval")).alias("_interval"),
        *(whole(pl.col(name)).alias(f"_{name}") for name in ("sent", "drops", "packets")),
        _mapped(frame, "platform", lambda text: platform_name(text) or "", "").alias("_platform"),
        _mapped(frame, "goals", fault_of_goals).alias("_goals_fault"),
    )
    stated = pl.coalesce("_rate", "_nominal")
    frame = frame.with_columns(pl.min_horizontal(stated, "_shaper").round().alias("_bits"))
    frame = _of_lines(frame)
    # IOS XR counts packets of its own size, whatever the MTU is.
    packet = pl.when(pl.col("_platform") == "ios-xr").then(ios_xr.PACKET).otherwise(pl.coalesce("_mtu", pl.lit(PACKET)))
    frame = frame.with_columns(buffer_bytes(pl.col("buffer"), pl.col("_bits"), packet).round().alias("_buffer"))
    frame = _in_words(frame)
    frame = frame.with_columns(_mapped(frame, "queue", fault_of_queue).alias("_queue_fault"))
    counted = pl.col("_sent") * 8 / pl.col("_interval") / pl.col("_bits")
    frame = frame.with_columns(pl.coalesce("_share", counted).alias("_load"))
    right, wrong = split(frame, of_port(_fault()))
    bare = pl.col("queue").str.strip_chars("\"' ")
    queue = pl.when(pl.col("queue").str.starts_with("{")).then("queue").when(bare != "droptail").then(bare)
    goals = pl.col("goals").str.split(";").list.eval(pl.element().str.strip_chars()).list.join("; ")
    ports = right.with_columns(
        pl.col("_bits").cast(pl.Int64).alias("rate_bps"),
        pl.col("_platform").alias("platform"),
        pl.col("_buffer").cast(pl.Int64).alias("buffer_bytes"),
        pl.col("_mtu").alias("mtu_bytes"),
        queue.alias("queue"),
        goals.str.strip_chars("; ").alias("goals"),
        pl.col("_load").clip(upper_bound=1.0).alias("utilization"),
        pl.col("_drops").alias("drops"),
        pl.col("_packets").alias("packets"),
        pl.col("_interval").alias("interval_s"),
    )
    return ports.select(list(PORTS)), wrong


def _mapped(frame: pl.DataFrame, name: str, reader: Callable[[str], str], rest: str | None = None) -> pl.Expr:
    """A column of texts made of another one, each distinct text once; `rest` is for texts beyond the bound."""
    import polars as pl

    distinct = frame.select(pl.col(name).drop_nulls().unique(maintain_order=True))[name].to_list()
    known = {text: reader(text) for text in distinct[:MOST_DISTINCT]}
    rest = f"found more than {MOST_DISTINCT} different texts; allowed: fewer" if rest is None else rest
    if not known:
        return pl.lit(None, pl.String)
    return pl.when(pl.col(name).is_not_null()).then(
        pl.col(name).replace_strict(known, default=rest, return_dtype=pl.String)
    )


def _of_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the queues of configurations, whose shapers bound the rates of their ports."""
    import polars as pl

    asked = pl.col("lines").is_not_null() & (pl.col("_platform").fill_null("") != "")
    frame = _translated(frame, "lines", asked, translated)
    return frame.with_columns(pl.min_horizontal("_bits", "lines_limit").alias("_bits"))


def _in_words(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the buffers that are no plain amount in the words of their platforms; those of lines are known."""
    import polars as pl

    plain = pl.col("_buffer").is_not_null() | pl.col("buffer").is_null()
    # A bare number has a unit only in a platform's words.
    asked = ~plain & (pl.col("_platform").fill_null("") != "") & ~pl.col("buffer").str.contains(r"^[0-9.]+$")
    frame = _translated(frame, "buffer", asked, words, MOST_DISTINCT)
    frame = frame.with_columns(
        pl.coalesce("_buffer", "buffer_size").alias("_buffer"),
        pl.coalesce("queue", "buffer_queue").alias("queue"),
        pl.min_horizontal("_bits", "buffer_limit").alias("_bits"),
    )
    return frame.with_columns(
        (pl.col("buffer").is_not_null() & pl.col("_buffer").is_null()).alias("_unread"),
        pl.coalesce("_buffer", "lines_size").alias("_buffer"),
        pl.coalesce("buffer", "lines_text").alias("buffer"),
        pl.coalesce("queue", "lines_queue").alias("queue"),
    )


def _translated(
    frame: pl.DataFrame,
    name: str,
    asked: pl.Expr,
    reader: Callable[[str, str, int | None, int], Setting | str],
    most: int | None = None,
) -> pl.DataFrame:
    """The frame with a column of texts as settings, each distinct one read once.

    The columns have the text's name: `_size` in bytes, `_text` as `link.buffer`, `_queue`, `_limit` in bits per second,
    and `_fault`, which is null if the text was not read.
    """
    import polars as pl

    key = ["_platform", name, "_bits", "_mtu"]
    distinct = frame.filter(asked).select(key).unique(maintain_order=True)
    distinct = distinct if most is None else distinct.head(most)
    found = []
    for platform, text, bits, mtu in distinct.iter_rows():
        rate = None if bits is None else round(min(bits, FASTEST))
        setting = reader(platform, text, rate, mtu if mtu is not None and 64 <= mtu <= 65535 else PACKET)
        known = setting if isinstance(setting, Setting) else Setting(None, None, None, None)
        fault = setting if isinstance(setting, str) else ""
        found.append((known.bytes, known.buffer, known.queue, known.rate, fault))
    kinds = {"size": pl.Float64, "text": pl.String, "queue": pl.String, "limit": pl.Float64, "fault": pl.String}
    read = pl.DataFrame(found, {f"{name}_{each}": kind for each, kind in kinds.items()}, orient="row", strict=False)
    return frame.join(distinct.hstack(read), on=key, how="left", nulls_equal=True, maintain_order="left")


def _refusal(name: str, allowed: str) -> pl.Expr:
    import polars as pl

    return pl.format(f"{name}: found `{{}}`; allowed: {allowed}", short(name))


def _fault() -> pl.Expr:
    """The first fault of a row; null if it has none."""
    import polars as pl

    def out(name: str, low: float, high: float) -> pl.Expr:
        return ~pl.col(name).is_between(low, high)

    def unread(name: str, read: str) -> pl.Expr:
        return pl.col(name).is_not_null() & pl.col(read).is_null()

    rate = "a rate with its unit, as in 10Gbps, from 1kbps to 10Tbps"
    bits = pl.col("_packets") * SHORTEST * 8 / pl.col("_interval")
    faults = [
        (unread("rate", "_rate") | out("_rate", SLOWEST, FASTEST), _refusal("rate", rate)),
        (unread("shaper", "_shaper") | out("_shaper", SLOWEST, FASTEST), _refusal("shaper", rate)),
        (
            (pl.col("lines_fault") != "") & pl.col("buffer").is_null(),
            pl.format("its queue: {}", "lines_fault"),
        ),
        (pl.col("_bits").is_null(), pl.lit(f"rate: found none; allowed: {rate}, here or in another file")),
        (out("_bits", SLOWEST, FASTEST), pl.format(f"rate: found {{}}bps of a shaper; allowed: {rate}", "_bits")),
        (pl.col("_platform") == "", _refusal("platform", ", ".join(PLATFORMS))),
        (unread("mtu", "_mtu") | out("_mtu", 64, 65_535), _refusal("mtu", "bytes from 64 to 65535")),
        (
            unread("utilization", "_share") | out("_share", 0, 1),
            _refusal("utilization", "a share from 0 to 1, or percent as in 57%"),
        ),
        *(
            (unread(name, f"_{name}"), _refusal(name, "a whole number, 0 or more"))
            for name in ("sent", "drops", "packets")
        ),
        (
            unread("interval", "_interval") | (pl.col("_interval") <= 0) | (pl.col("_interval") > 1e10),
            _refusal("interval", "a time with its unit, as in 300s"),
        ),
        (
            pl.col("_sent").is_not_null() & (pl.col("_load") > 1 + MARGIN),
            pl.format(
                "sent: found a counter of {} % of the rate; allowed: at most the rate", (pl.col("_load") * 100).round(1)
            ),
        ),
        (
            bits > pl.col("_bits") * (1 + MARGIN),
            pl.lit("packets: found more than the rate carries in the interval; allowed: at most the rate"),
        ),
        (
            pl.col("_unread") & (pl.col("buffer_fault") != ""),
            pl.format("buffer: {}", "buffer_fault"),
        ),
        (
            pl.col("_unread") & pl.col("buffer_fault").is_null(),
            _refusal("buffer", "a size such as 9MB, 512 packets or 200 ms, or a line of the platform"),
        ),
        (out("_buffer", 1, LARGEST), _refusal("buffer", "1 byte to 16 TiB")),
        *(
            (differs, pl.format(f"{name}: found `{{}}` and `{{}}` of its configuration; allowed: one", *values))
            for name, differs, values in (
                ("buffer", (pl.col("_buffer") - pl.col("lines_size")).abs() >= 1, (short("buffer"), "lines_text")),
                ("queue", pl.col("queue") != pl.col("lines_queue"), (short("queue"), short("lines_queue"))),
            )
        ),
        (pl.col("_queue_fault") != "", pl.format("queue: {}", "_queue_fault")),
        (pl.col("_goals_fault") != "", pl.format("goals: {}", "_goals_fault")),
    ]
    return pl.coalesce(pl.when(wrong.fill_null(value=False)).then(reason) for wrong, reason in faults)
