"""Numbers as an engineer writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from forebay._core import parse_quantity
from forebay.errors import naming
from forebay.results.metric import NEVER_S, find, unit_of
from forebay.results.report import Estimate, Lateness

__all__ = [
    "USUAL",
    "bandwidth",
    "capitalized",
    "clock_time",
    "confidence",
    "counted",
    "duration",
    "estimate",
    "exactly",
    "lateness",
    "markdown_table",
    "metric_title",
    "sentence",
    "share",
    "size",
    "value",
]

#: Metrics that are shown for every buffer, whatever the goals are.
USUAL = ("utilization", "loss_rate", "queue_delay_p99_s")

#: Share of runs without a finished transfer from which on that share is printed in place of a mean completion time.
SOME_RUNS = 2e-3


def metric_title(name: str) -> str:
    """Title of a metric or of "group.metric"."""
    group, dot, metric = name.rpartition(".")
    known = find(metric)
    title = metric.replace("_", " ") if known is None else known.title
    return f"{group}: {title}" if dot else title


def capitalized(text: str) -> str:
    """The text with a capital letter at the beginning."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """The text with a capital letter at the beginning and one full stop at the end."""
    return f"{capitalized(text).rstrip('.')}."


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _significant(number: float, digits: int = 3) -> str:
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if abs(number) < 1e-5:
        return f"{number:.1e}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{places}f}" if abs(number) < 10**digits else f"{round(number)}"


def duration(seconds: float, digits: int = 3) -> str:
    """Format a time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= scale:
            return f"{_significant(seconds / scale, digits)} {unit}"
    return f"{_significant(seconds / 1e-9, digits)} ns" if seconds else "0 ms"


def clock_time(seconds: float) -> str:
    """Format a long time: "35 s", "2 min 5 s", "1 h 3 min"; from two weeks on in days, from two years on in years."""
    rounded = round(seconds)
    for unit, length, least in (("years", 365.25 * 86400, 2), ("days", 86400, 14)):
        if seconds >= least * length:
            return f"{exactly(_significant(seconds / length))} {unit}"
    if rounded < 60:
        return exactly(duration(seconds)) if 0 < seconds < 10 else f"{rounded} s"
    unit, part, smaller = ("min", "s", rounded) if rounded < 3600 else ("h", "min", round(rounded / 60))
    count, rest = divmod(smaller, 60)
    return f"{count} {unit} {rest} {part}" if rest else f"{count} {unit}"


def lateness(late: Lateness) -> str:
    """The lateness of a machine, in a line."""
    quantiles = ", ".join(
        f"{duration(value)} {name}"
        for name, value in (("p50", late.p50_s), ("p99", late.p99_s), ("p99.9", late.p999_s))
    )
    frozen = f"frozen {counted(late.freezes, 'time')}, {duration(late.frozen_s)}" if late.freezes else "never frozen"
    return f"lateness {quantiles}; clock {frozen}"


def size(number: float) -> str:
    """Format bytes in powers of 1000."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(number) >= scale:
            return f"{_significant(number / scale)} {unit}"
    return f"{number:.0f} B"


def bandwidth(number: float) -> str:
    """Format bits per second."""
    for unit, scale in (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if abs(number) >= scale:
            return f"{_significant(number / scale)} {unit}"
    return f"{_significant(number)} b/s"


def counted(number: int, noun: str) -> str:
    """A number of things: "1 replication", "2 replications", "1,200 flows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def exactly(text: str) -> str:
    """A number that was chosen, without zeros that would claim a precision: "50 Mb/s" for "50.0 Mb/s"."""
    number, space, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.')}{space}{unit}" if "." in number and "e" not in number else text


def confidence(probability: float, places: int = 1) -> str:
    """A confidence in percent, rounded down so that it never looks higher than it is; never as 0 % or 100 %."""
    scale = 10.0**places
    # The billionth gives back what a decimal fraction loses in binary: 0.969 is 96.9 %, not 96.8 %.
    shown = math.floor(100 * probability * scale + 1e-9) / scale
    least, most = 1 / scale, (100 * scale - 1) / scale
    if shown < least:
        return f"< {least:.{places}f} %"
    return f"> {most:.{places}f} %" if shown >= most and 100 * probability > most else f"{shown:.{places}f} %"


def share(argument: str, text: str) -> float:
    """Read "90%" or "0.9" out of an argument."""
    with naming(argument):
        return parse_quantity(text, "share")


def _scale(name: str, number: float) -> tuple[float, str]:
    """Scale and unit that suit a metric of this size."""
    counted_in = unit_of(name)
    if counted_in == "s":
        return (1.0, "s") if abs(number) >= 1 else (1e-3, "ms")
    if counted_in == "bps":
        for shown, scale in (("Gb/s", 1e9), ("Mb/s", 1e6)):
            if abs(number) >= scale:
                return scale, shown
        return 1e3, "kb/s"
    if counted_in == "bytes":
        return next(((scale, shown) for shown, scale in (("MB", 1e6), ("kB", 1e3)) if abs(number) >= scale), (1.0, "B"))
    return (1e-2, "%") if counted_in == "share" else (1.0, "")


def value(name: str, number: float) -> str:
    """Format one value of a metric with its unit; for a mean over transfers that never end, the share of such runs."""
    never = _never(name, number)
    if never:
        return f"never in {100 * never:.2g} % of runs" if never < 1 else "never"
    scale, shown = _scale(name, number)
    return f"{_significant(number / scale, 4 if shown == '%' and number > 0.1 else 3)} {shown}".strip()


def _never(name: str, number: float) -> float:
    """The share of runs in which no transfer ended, from a mean completion time; 0 if it is below `SOME_RUNS`.

    Such a run counts as `NEVER_S`, far above any time that a run can measure.
    """
    share = number / NEVER_S
    return min(share, 1.0) if name.rpartition(".")[2].startswith("completion_time_") and share >= SOME_RUNS else 0.0


def estimate(name: str, found: Estimate | None) -> str:
    """Format an estimate, its interval to the same decimal place.

    An interval that would leave the range of the metric is cut: "0.20 (0 to 0.62) %".
    """
    if found is None:
        return "–"
    if not found.half_width or _never(name, found.mean):
        return value(name, found.mean)
    scale, shown = _scale(name, found.mean)
    half = found.half_width / scale
    # Two significant digits of the half width, but no more than five places.
    places = min(5, max(0, 1 - math.floor(math.log10(half))))
    least, most = _range(name)
    low, high = found.mean - found.half_width, found.mean + found.half_width
    # A mean outside the range, such as a goodput share above 1, is shown as it is.
    if least <= found.mean <= most and (low < least or high > most):
        ends = [
            f"{end / scale:.{places}f}" if least < end < most else f"{end / scale:.0f}"
            for end in (max(low, least), min(high, most))
        ]
        return f"{found.mean / scale:.{places}f} ({ends[0]} to {ends[1]}) {shown}".strip()
    return f"{found.mean / scale:.{places}f} ± {half:.{places}f} {shown}".strip()


def _range(name: str) -> tuple[float, float]:
    """The least and the largest possible value of a metric: shares, times and rates are never negative."""
    counted_in = unit_of(name)
    least = 0.0 if counted_in in {"share", "s", "bps", "bytes"} else -math.inf
    return least, (1.0 if counted_in == "share" else math.inf)
