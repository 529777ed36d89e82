"""The load over the day: sentences for the terminal, pictures and tables for the page."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.observation.busy_hour import Day, LossAt, time_of
from forebay.observation.estimate_text import estimate_text
from forebay.observation.regime import percent
from forebay.text import formatting
from forebay.text.formatting import counted
from forebay.views.chart import Chart
from forebay.views.observation_charts import Reading, Reference, span_chart
from forebay.views.page_charts import Figure, figure
from forebay.views.pages import Row, Table

__all__ = ["DaySection", "day_section", "day_sentences", "known_of_day"]

#: Intervals with drops that the terminal shows.
SHOWN = 3
_RATES = ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
_TIMES = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def known_of_day(day: Day, rate: float | None) -> tuple[str, str]:
    """The load and the drops of the described part, compared with those of the whole input, a sentence each."""
    inside = day.described
    first = f"Mean load in {day.span.why}: {_load(inside.value, rate)}"
    if abs(day.mean.value - inside.value) > 1e-9 * inside.value:
        first += f"; in the whole input: {_load(day.mean.value, rate)}"
    drops = _losses(day, rate, 0)
    return first, drops[0] if drops else "Drops are unknown"


def day_sentences(day: Day, rate: float | None, shown: int = SHOWN, *, drops_said: bool = False) -> list[str]:
    """The terminal's sentences on the whole input: the distribution of its load, its busiest hours, its drops.

    With `drops_said` only the intervals with drops are named, because an earlier sentence states their number.
    """
    every = formatting.clock_time(day.interval_s)
    sentences = [
        f"Load in intervals of {every}, whole input: {_distribution(day, rate)}, mean {_load(day.mean.value, rate)}"
    ]
    if day.hours:
        busiest = sorted(day.hours, key=lambda hour: -hour.mean)
        low = busiest[-1]
        sentences.append(
            f"Load by hour of the day (UTC): highest at {busiest[0].hour:02d}:00, {_load(busiest[0].mean, rate)}; "
            f"lowest at {low.hour:02d}:00, {_load(low.mean, rate)}"
        )
    drops = _losses(day, rate, shown)
    if drops_said and drops:
        drops = ["Most drops:", *drops[1:]] if len(drops) > 1 else []
    return sentences + drops


def _distribution(day: Day, rate: float | None) -> str:
    names = [*["median", "p95", "p99"][: len(day.quantiles) - 1], "maximum"]
    return ", ".join(f"{name} {_load(each.value, rate)}" for name, each in zip(names, day.quantiles, strict=True))


def _load(bps: float, rate: float | None) -> str:
    share = f" ({percent(bps / rate)})" if rate else ""
    return f"{formatting.bandwidth(bps)}{share}"


def _losses(day: Day, rate: float | None, shown: int) -> list[str]:
    if not day.lossy:
        if day.loss_of_all is not None and day.loss_of_all.is_bounded:
            return [
                f"No drops were counted; with 90 % confidence the share is below {percent(day.loss_of_all.high)} "
                f"of the packets"
            ]
        return ["No drops were counted"] if day.loss_at_most is not None else []
    sentences = [f"Drops in {counted(day.lossy, 'interval')}{_share(day)}"]
    for each in day.losses[:shown]:
        share = f", {percent(each.share)} of the packets" if each.share is not None else ""
        drops = f"{counted(round(each.drops), 'drop')}{share}"
        sentences.append(f"  {time_of(each.time_s)}: {drops} at a load of {_load(each.load_bps, rate)}")
    return sentences


def _share(day: Day) -> str:
    if day.loss_of_all is not None:
        inside = f", {estimate_text(day.loss, 'share')} in the described part" if day.loss is not None else ""
        return f": {estimate_text(day.loss_of_all, 'share')} of drops and packets sent{inside}"
    if day.loss_at_most is not None:
        return f": at most {percent(day.loss_at_most)} of the packets, if none has more than 1,500 bytes"
    return ""


@dataclass(frozen=True, slots=True)
class DaySection:
    """The load over the day for the page: sentences, pictures, and intervals with drops."""

    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    losses: Table | None


def day_section(day: Day, rate: float | None) -> DaySection:
    """Make the page's section."""
    figures = [figure("Load over the whole input", _over_time(day, rate))] if len(day.columns) > 1 else []
    if len(day.hours) > 1:
        figures.insert(0, figure("Load by hour of the day", _by_hour(day, rate)))
    table = None
    if day.losses:
        rows = tuple(Row(_cells(each, rate)) for each in day.losses)
        table = Table(
            ("time", "drops", "share of the packets", "load"), rows, "Intervals with drops, largest number first"
        )
    return DaySection((formatting.capitalized(day.span.sentence), *day_sentences(day, rate, 0)), tuple(figures), table)


def _cells(each: LossAt, rate: float | None) -> tuple[str, ...]:
    share = "unknown" if each.share is None else percent(each.share)
    return time_of(each.time_s), f"{each.drops:,.0f}", share, _load(each.load_bps, rate)


def _by_hour(day: Day, rate: float | None) -> Chart:
    top = max(*(hour.high for hour in day.hours), rate or 0.0)
    bit, unit = next((each for each in _RATES if top >= each[0]), _RATES[-1])
    readings = []
    for hour in day.hours:
        mean, low, high = map(formatting.bandwidth, (hour.mean, hour.low, hour.high))
        drops = f"\n{hour.drops:,.0f} drops" if hour.drops else ""
        tip = f"{hour.hour:02d}:00 UTC\n{mean} on average\nintervals: {low} to {high}{drops}"
        readings.append(Reading(hour.hour, hour.mean / bit, hour.low / bit, hour.high / bit, tip))
    return span_chart("hour of the day (UTC)", f"load ({unit})", readings, _reference(rate, bit), key="hour ")


def _over_time(day: Day, rate: float | None) -> Chart:
    last = day.columns[-1].time_s
    second, name = next((each for each in _TIMES if last >= 3 * each[0]), _TIMES[-1])
    top = max(*(column.high for column in day.columns), rate or 0.0)
    bit, unit = next((each for each in _RATES if top >= each[0]), _RATES[-1])
    readings = []
    for column in day.columns:
        mean, low, high = map(formatting.bandwidth, (column.mean, column.low, column.high))
        tip = f"at {formatting.clock_time(column.time_s)}\n{mean} on average\nintervals: {low} to {high}"
        readings.append(Reading(column.time_s / second, column.mean / bit, column.low / bit, column.high / bit, tip))
    chart = f"time ({name})", f"load ({unit})", readings, _reference(rate, bit)
    return span_chart(*chart, dots=False, key="day ")


def _reference(rate: float | None, bit: float) -> Reference | None:
    return None if rate is None else Reference("the link’s rate", ((0.0, rate / bit),))
