"""Times of flow records in seconds, whatever their unit: text, or a number of seconds down to nanoseconds.

A unit that a name does not say follows from the size of the numbers, once for a column, so that a file is read one way
from its first line to its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_SECONDS", "duration_unit", "durations", "times", "unit_of"]

#: The year 2400: whatever is later was no time.
MOST_SECONDS = 13.6e9

#: Ends of normalized names that say a unit, in seconds.
_UNITS = (
    ("nanoseconds", 1e-9),
    ("microseconds", 1e-6),
    ("milliseconds", 1e-3),
    ("seconds", 1.0),
    ("sysuptime", 1e-3),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
)
_STAMP = "%Y-%m-%d %H:%M:%S%.f"


def unit_of(name: str, sample: pl.Series) -> float:
    """The unit of a column of times in seconds, by its name, else by the size of its numbers.

    Parameters
    ----------
    name : str
        Without case and punctuation.
    sample : Series
        Texts of the column.
    """
    for ending, unit in _UNITS:
        if name.endswith(ending) and len(name) > len(ending):
            return unit
    middle = sample.cast(_float(), strict=False).drop_nulls().abs().median()
    if not isinstance(middle, float) or middle < 1e11:
        # Times of an exporter's uptime are milliseconds (RFC 3954, FIRST_SWITCHED); a collector may have made them an
        # epoch's seconds.
        # Seconds since 1970 are 1.2e9 to 2.1e9 from 2008 to 2036.
        uptime = name.endswith("switched") and isinstance(middle, float) and not 1.2e9 <= middle <= 2.1e9
        return 1e-3 if uptime else 1.0
    return 1e-3 if middle < 1e14 else 1e-6 if middle < 1e17 else 1e-9


def times(column: pl.Series, unit: float) -> pl.Series:
    """Seconds of texts: numbers of a unit, or dates, in UTC where they say no zone; null where neither.

    A column is mostly all numbers or all dates of one form, so the cheap ways are tried on all of it first.
    """
    text = column.str.strip_chars()
    nothing = column.null_count()
    numbers = _numbers(text, unit)
    if numbers.null_count() == nothing:
        return numbers
    dates = _dates(text)
    if dates.null_count() == nothing:
        return dates
    return numbers.fill_null(_zoned_dates(text))


def _numbers(text: pl.Series, unit: float) -> pl.Series:
    import polars as pl

    found = _over(text.cast(pl.Int64, strict=False), round(1 / unit))
    if found.null_count() > text.null_count():
        found = found.fill_null(text.cast(pl.Float64, strict=False) * unit)
    return _possible(found)


def _dates(text: pl.Series) -> pl.Series:
    return _possible(_over(text.str.to_datetime(_STAMP, strict=False, time_unit="us").dt.epoch("us"), 1_000_000))


def _zoned_dates(text: pl.Series) -> pl.Series:
    """Dates with slashes, a T in the middle, and a zone behind them."""
    import polars as pl

    dated = text.str.strip_suffix("Z").str.strip_suffix(" UTC").str.replace_all("/", "-", literal=True)
    dated = dated.str.replace(r"^(\d{4}-\d{2}-\d{2})[Tt]", "${1} ")
    zone = dated.str.extract_groups(r":\d{2}(?:\.\d+)? ?([+-])(\d{2}):?(\d{2})$").struct
    sign = (zone.field("1") == "-").fill_null(value=False).cast(pl.Float64) * -2 + 1
    ahead = sign * (zone.field("2").cast(pl.Float64) * 3600 + zone.field("3").cast(pl.Float64) * 60)
    stamp = dated.str.replace(r"(:\d{2}(?:\.\d+)?) ?[+-]\d{2}:?\d{2}$", "${1}")
    return _possible(_dates(stamp) - ahead.fill_null(0.0))


def _over(whole: pl.Series, parts: int) -> pl.Series:
    """Integers over a number, their rest apart: nanoseconds of an epoch have more digits than a float."""
    return (whole // parts) + (whole % parts) / parts


def _possible(seconds: pl.Series) -> pl.Series:
    """The same without what was no time."""
    return seconds.set((seconds.abs() >= MOST_SECONDS) | ~seconds.is_finite(), None)


def durations(column: str, unit: float) -> pl.Expr:
    """Seconds of a column of durations: numbers of a unit, or hours, minutes and seconds; null where neither."""
    import polars as pl

    text = pl.col(column).str.strip_chars()
    clock = text.str.extract_groups(r"^(?:(\d+)d )?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)$")
    days, hours, minutes, seconds = (clock.struct.field(str(each)).cast(pl.Float64) for each in (1, 2, 3, 4))
    spelled = days.fill_null(0.0) * 86400 + hours * 3600 + minutes * 60 + seconds
    found = pl.coalesce(text.cast(pl.Float64, strict=False) * unit, spelled)
    return pl.when((found >= 0) & (found < MOST_SECONDS)).then(found)


def duration_unit(name: str) -> float:
    """The unit of a column of durations, seconds unless its name says another."""
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), 1.0)


def _float() -> type[pl.Float64]:
    import polars as pl

    return pl.Float64
