"""An observation as one HTML file: answer, flows, load, distributions, regime, and unidentified quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.observation.estimate import IntervalEstimate
from forebay.observation.estimate_text import ABOUT_INTERVALS, estimate_text
from forebay.observation.finding import known_rate, without_addresses
from forebay.observation.writing import assumptions, scenario_text
from forebay.text import formatting
from forebay.text.formatting import capitalized
from forebay.views.chart import Chart
from forebay.views.observation_charts import Reading, Reference, span_chart
from forebay.views.observation_day import DaySection, day_section
from forebay.views.observation_words import (
    FLOW_COLUMNS,
    GROUP_COLUMNS,
    answer,
    flow_cells,
    granularity,
    group_cells,
    hurst,
    input_line,
    scale_cells,
    scale_columns,
    window,
)
from forebay.views.page_charts import Figure, Switch, figure, missing
from forebay.views.pages import Row, Table, render

if TYPE_CHECKING:
    from forebay.observation.finding import Finding, FittedDistribution
    from forebay.observation.load import Load, Scale

__all__ = ["observation_page"]

#: The most long flows in the table; readers would not read more.
FLOWS = 60
#: Points of a distribution's picture.
POINTS = 81

#: Units of axes: seconds as they are named, and how many make one; bits per second likewise.
_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
_RATES = ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
_VALUES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")), "byte": ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))}

_SWITCHES = (
    Switch("mean", "measured"),
    Switch("band", "range of the windows; 90 % interval"),
    Switch("law", "link rate; Poisson packets; distribution of the scenario"),
)


def observation_page(finding: Finding, *, command: str, version: str) -> str:
    """Write the page.

    Parameters
    ----------
    finding : Finding
        The finding of any input.
    command : str
        The command that reproduces it.
    version : str
        Version of forebay.

    Returns
    -------
    str
        The whole document; it contains no address.
    """
    finding = without_addresses(finding)
    link, limited, regime = answer(finding)
    page = ObservationPage(
        title=_title(finding),
        input=input_line(finding),
        about_intervals=ABOUT_INTERVALS,
        lines=(link, limited, regime),
        notes=finding.notes,
        load=None if finding.load is None else _load(finding.load, finding),
        day=None if finding.day is None else day_section(finding.day, known_rate(finding)),
        groups=_groups(finding),
        flows=_flows(finding),
        distributions=tuple(map(_distributions, finding.distributions)),
        regime=Reasons(finding.regime.name, capitalized(finding.regime.reason), finding.regime.evidence),
        unknown=_unknown(finding),
        switches=_SWITCHES if not missing() and (finding.load is not None or finding.distributions) else (),
        assumed=assumptions(finding),
        scenario=scenario_text(finding).rstrip(),
        command=without_addresses(command),
        version=version,
        missing=missing(),
    )
    return render("observation.html.j2", page)


@dataclass(frozen=True, slots=True)
class Reasons:
    """A regime, the fact that decides it, and the measured evidence."""

    name: str
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadSection:
    """The load over time: pictures, a table, what is left out, and its burstiness."""

    mean: str
    figures: tuple[Figure, ...]
    table: Table | None
    omitted_scales: tuple[str, ...]
    burstiness: Figure | None
    memory: str


@dataclass(frozen=True, slots=True)
class DistributionSection:
    """A distribution with its data."""

    figure: Figure
    why: str
    table: Table


@dataclass(frozen=True, slots=True)
class ObservationPage:
    """The page, section by section."""

    title: str
    input: str
    about_intervals: str
    lines: tuple[str, str, str]
    notes: tuple[str, ...]
    load: LoadSection | None
    day: DaySection | None
    groups: Table | None
    flows: Table | None
    distributions: tuple[DistributionSection, ...]
    regime: Reasons
    unknown: Table | None
    switches: tuple[Switch, ...]
    assumed: tuple[str, ...]
    scenario: str
    command: str
    version: str
    missing: str


def _title(finding: Finding) -> str:
    rate = finding.link.rate
    return (
        f"Observed: {formatting.bandwidth(rate.value)} link"
        if isinstance(rate, IntervalEstimate)
        else "Observed: a link"
    )


# Load ------------------------------------------------------------------------------------------------------------


def _load(load: Load, finding: Finding) -> LoadSection:
    rate = known_rate(finding)
    figures = tuple(figure(f"In windows of {window(scale.scale_s)}", _over_time(scale, rate)) for scale in load.scales)
    table = None
    if load.scales:
        columns = scale_columns(load.scales)
        rows = tuple(Row(scale_cells(scale, columns, rate, intervals=True)) for scale in load.scales)
        caption = "Share of the link rate" if rate else "Rate"
        coarse = f"; {granularity(finding)}" if granularity(finding) else ""
        table = Table(columns, rows, f"{caption} in windows of each length: quantiles{coarse}")
    memory = (
        f"The Hurst exponent is {hurst(load.hurst)}. At 0.5 the load has no long-range dependence, near 1 it has "
        f"bursts at "
        "every time scale."
        if isinstance(load.hurst, IntervalEstimate)
        else f"The Hurst exponent is unknown, because {load.hurst.because}."
    )
    mean = f"The mean load is {estimate_text(load.mean)}"
    if isinstance(load.utilization, IntervalEstimate):
        mean += f", {estimate_text(load.utilization, 'share')} of the link rate"
    return LoadSection(mean, figures, table, load.omitted_scales, _burstiness(load), memory)


def _over_time(scale: Scale, rate: float | None) -> Chart:
    last = scale.columns[-1].time_s
    second, unit = next((each for each in _TIMES if last >= 3 * each[0]), _TIMES[-1])
    top = max(scale.most, rate or 0.0)
    bit, of_rate = next((each for each in _RATES if top >= each[0]), _RATES[-1])
    windows = window(scale.scale_s)
    readings = []
    for column in scale.columns:
        mean, low, high = map(formatting.bandwidth, (column.mean, column.low, column.high))
        tip = f"at {formatting.clock_time(column.time_s)}\n{mean} on average\nwindows of {windows}: {low} to {high}"
        readings.append(Reading(column.time_s / second, column.mean / bit, column.low / bit, column.high / bit, tip))
    reference = None if rate is None else Reference("the link’s rate", ((0.0, rate / bit),))
    key = f"load {scale.scale_s:g} "
    return span_chart(f"time ({unit})", f"load ({of_rate})", readings, reference, dots=False, key=key)


def _burstiness(load: Load) -> Figure | None:
    readings = [
        Reading(
            each.scale_s,
            each.index.value,
            each.index.low if each.index.is_bounded else each.index.value,
            each.index.high if each.index.is_bounded else each.index.value,
            f"windows of {window(float(f'{each.scale_s:.3g}'))}\nvariance over mean {estimate_text(each.index)}",
        )
        for each in load.burstiness
    ]
    if len(readings) < 2:
        return None
    reference = Reference("Poisson packets", ((0.0, 1.0),))
    chart = span_chart(
        "length of windows (s)", "variance / mean (packets)", readings, reference, by_decades=(True, True), key="burst "
    )
    return figure("Variance over mean of the load, by window length", chart)


# Distributions ---------------------------------------------------------------------------------------------------


def _distributions(found: FittedDistribution) -> DistributionSection:
    shares = np.linspace(0.0, 1.0, POINTS)
    values = np.maximum(found.data.quantile(shares), 1e-12)
    unit, name = next((each for each in _VALUES[found.unit] if values[POINTS // 2] >= each[0]), _VALUES[found.unit][-1])
    half = 1.645 * np.sqrt(shares * (1 - shares) / max(found.data.count, 1.0))
    amount = formatting.duration if found.unit == "s" else formatting.size
    readings = [
        Reading(
            float(value / unit),
            float(100 * share),
            float(100 * max(0.0, share - each)),
            float(100 * min(1.0, share + each)),
            f"{100 * share:.3g} % are at most {amount(float(value))}",
        )
        for value, share, each in zip(values, shares, half, strict=True)
    ]
    low, high = float(values[0]), float(values[-1])
    along = np.geomspace(low, high, POINTS) if high > low else values
    law = Reference(
        "", tuple(zip((along / unit).tolist(), (100 * found.distribution.below(along)).tolist(), strict=True))
    )
    chart = span_chart(
        f"{found.quantity} ({name})",
        "cumulative share (%)",
        readings,
        law,
        by_decades=(True, False),
        ends=(0.0, 100.0),
        dots=False,
        key=f"{found.quantity} ",
    )
    heading = capitalized(found.quantity)
    why = f"Distribution of the scenario: {found.why}."
    return DistributionSection(figure(heading, chart), why, _quantiles(found))


def _quantiles(found: FittedDistribution) -> Table:
    measured = found.data.quantiles(found.unit, "")
    amount = formatting.duration if found.unit == "s" else formatting.size
    rows = [
        Row(
            (
                f"{100 * each.probability:g} %",
                estimate_text(each.estimate),
                amount(float(found.distribution.quantile(each.probability))),
            )
        )
        for each in measured
    ]
    return Table(("quantile", "measured", "in the scenario"), tuple(rows))


# Tables ----------------------------------------------------------------------------------------------------------


def _groups(finding: Finding) -> Table | None:
    rows = tuple(Row(group_cells(group)) for group in finding.groups)
    return Table(GROUP_COLUMNS, rows) if rows else None


def _flows(finding: Finding) -> Table | None:
    rows = tuple(Row(flow_cells(flow)) for flow in finding.flows[:FLOWS])
    more = len(finding.flows) - FLOWS
    caption = f"The {FLOWS} flows with the most data; {more:,} more are not shown" if more > 0 else "Ordered by data"
    return Table(FLOW_COLUMNS, rows, caption) if rows else None


def _unknown(finding: Finding) -> Table | None:
    rows = tuple(
        Row(tuple(map(capitalized, (each.quantity, each.because, each.measure)))) for each in finding.unidentified
    )
    return Table(("value", "reason", "how to measure it"), rows) if rows else None
