"""The picture of a sweep: each metric against the buffer, or against another axis of numbers."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.algorithms.code_files import code_in
from forebay.errors import InputError
from forebay.results.report import BufferSize
from forebay.rules import rules
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import load
from forebay.text import formatting
from forebay.text.formatting import USUAL
from forebay.text.quantity import Scale, scale_of
from forebay.views import plots
from forebay.views.chart import MARKERS, Chart, Curve, Key, Look, Panel, Point, Series, interval_key, intervals
from forebay.views.decision import is_exact
from forebay.views.headline import headline
from forebay.views.rule_rows import COLORED, Dot, own_dot, rule_keys, rule_panel
from forebay.views.scales import Axis, axis_title, buffer_axis, filled, share_axis

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["draw_sweep", "sweep_chart", "sweep_figure"]

#: The column of the buffer that waits, in packets.
BUFFER = "buffer.packets"
#: Series that a legend names at most, and cells that a picture has at most.
NAMED, DRAWN = 24, 20_000


def draw_sweep(folder: Path, target: Path) -> list[Path]:
    """Draw a sweep into a folder.

    Parameters
    ----------
    folder : Path
        Folder of a finished sweep.
    target : Path
        Folder of the pictures.

    Returns
    -------
    list of Path
        PNG and SVG.
    """
    return plots.save_both(sweep_figure(folder), target / "sweep")


def sweep_figure(folder: Path) -> Figure:
    """Draw a finished sweep."""
    from forebay.views.chart_figure import draw

    return draw(sweep_chart(folder))


def sweep_chart(folder: Path) -> Chart:
    """Utilization, loss and delay against the buffer, one series per setting of the other axes."""
    import polars as pl

    summary, manifest = load(folder, "summary", _is_drawn), Manifest.read(folder)
    across, others = _axes(summary, folder)
    metrics = [name for name in USUAL if f"{name}.mean" in summary.columns]
    scale = _scale(summary, across)
    titles = [pl.lit(f"{name.removeprefix('axis.')}=") + pl.col(name) for name in others]
    label = pl.concat_str(titles, separator=", ") if titles else pl.lit("")
    every = summary.with_columns(label.alias("series"), pl.Series("where", scale.numbers))
    series = _thinned(every)
    axis, dots = _horizontal(scale, across), []
    if across == BUFFER:
        axis, dots = buffer_axis(scale.numbers, _last(summary)), _rules(manifest)
    rows, marks = rule_panel(dots, axis)
    heading = headline(manifest.scenario, otherwise="Sweep")
    panels = [_panel(metric, series, marks) for metric in metrics]
    legend = [*_keys(series, manifest.engine), *_left_out(every, series), *interval_key(panels), *rule_keys(dots)]
    panels = [*rows, *panels]
    return Chart(axis, panels, f"{heading.title}: metrics over {axis.title}", heading, legend, columns=2)


def _is_drawn(column: str) -> bool:
    """Whether a picture needs a column of the summary."""
    is_named = column in ("engine", "replications") or column.startswith(("axis.", "buffer."))
    return is_named or column.rsplit(".", 1)[0] in USUAL


def _thinned(series: pl.DataFrame) -> pl.DataFrame:
    """The cells that are drawn: all, or every n-th series, and every n-th cell of a long series."""
    if series.height <= DRAWN:
        return series
    count = series["series"].n_unique()
    step = -(-series.height // DRAWN)
    if count >= 2 * step:
        labels = series["series"].unique(maintain_order=True).gather_every(step)
        return series.filter(series["series"].is_in(labels.to_list()))
    import polars as pl

    parts = series.partition_by("series", maintain_order=True)
    return pl.concat([part.sort("where").gather_every(step) for part in parts])


def _left_out(every: pl.DataFrame, series: pl.DataFrame) -> list[Key]:
    """A legend's entry that says how many cells are drawn, if not all are."""
    return [] if series.height == every.height else [Key(f"{series.height} of {every.height} cells are drawn")]


def _keys(series: pl.DataFrame, engine: str) -> list[Key]:
    """A legend's entry for each series, and how many more there are; a single series has the name of its engine."""
    keys = []
    labels = series["series"].unique(maintain_order=True).to_list()
    for index, label in enumerate(labels[:NAMED]):
        mine = series.filter(series["series"] == label)
        least = min(mine["replications"].to_list())
        runs = "" if _exact(mine) else "single run" if least == 1 else f"mean of {formatting.counted(least, 'run')}"
        text = label or f"{engine} engine" + (f", {runs}" if runs else "")
        keys.append(Key(text, _look(index, joined=_joined(mine))))
    return [*keys, Key(f"and {len(labels) - NAMED} more")] if len(labels) > NAMED else keys


def _exact(series: pl.DataFrame) -> bool:
    """Whether each value is exact instead of one run of several that differ."""
    return all(is_exact(name) for name in series["engine"].unique().to_list())


def _joined(series: pl.DataFrame) -> bool:
    """Whether a line joins the values: no line leads through single runs."""
    return _exact(series) or min(series["replications"].to_list()) > 1


def _look(index: int, *, joined: bool) -> Look:
    count = len(COLORED)
    marker = MARKERS[(index + index // count) % len(MARKERS)]
    return Look(COLORED[index % count], "solid" if joined else "none", 1.3, marker, 3.5 if joined else 4.5)


def _axes(summary: pl.DataFrame, folder: Path) -> tuple[str, list[str]]:
    """The column to draw against, and the axes that distinguish series."""
    axes = [name for name in summary.columns if name.startswith("axis.")]
    if summary[BUFFER].n_unique() >= 2:
        return BUFFER, [name for name in axes if name != "axis.link.buffer"]
    varying = [name for name in axes if summary[name].n_unique() > 1]
    numeric = [name for name in varying if scale_of(summary[name].to_list()) is not None]
    if not numeric:
        raise InputError(f"{folder}: found no axis of numbers to draw against")
    return numeric[0], [name for name in axes if name != numeric[0]]


def _scale(summary: pl.DataFrame, across: str) -> Scale:
    """Every cell's place along the horizontal axis, in units of a readable size."""
    if across == BUFFER:
        return Scale(tuple(summary[BUFFER].to_list()), "packets")
    scale = scale_of(summary[across].to_list())
    assert scale is not None, "an axis of numbers"
    factor, unit = 1.0, scale.unit
    if unit == "bps":
        factor, unit = 1e-6, "Mb/s"
    elif unit == "s" and max(scale.numbers) < 1:
        factor, unit = 1e3, "ms"
    return Scale(tuple(factor * number for number in scale.numbers), unit)


def _horizontal(scale: Scale, across: str) -> Axis:
    """The axis of what is varied, by decades if all of its numbers are positive."""
    title = across.removeprefix("axis.") + (f" ({scale.unit})" if scale.unit else "")
    low, high = min(scale.numbers), max(scale.numbers)
    return filled(title, scale.numbers, by_decades=high > low > 0)


def _panel(metric: str, series: pl.DataFrame, marks: list[Curve]) -> Panel:
    """One metric: a line with its band for each series, from left to right."""
    import polars as pl

    mean, half_width = f"{metric}.mean", f"{metric}.half_width"
    title, factor = axis_title(metric, series[mean].max())  # type: ignore[arg-type]
    lines = []
    for each in series.partition_by("series", maintain_order=True):
        mine = each.filter(pl.col(mean).is_not_null()).sort("where")
        points = [_point(row["where"], factor, row[mean], row[half_width]) for row in mine.iter_rows(named=True)]
        lines.append((points, _joined(mine) if mine.height else True))
    up = _vertical(metric, title, [point for points, _ in lines for point in points])
    drawn: list[Series] = list(marks)
    for index, (points, joined) in enumerate(lines):
        look = _look(index, joined=joined)
        drawn += intervals([each for each in points if each.half_width], look.color)
        drawn.append(Curve([(each.x, each.mean) for each in points], look))
    return Panel(up, drawn)


def _point(where: float, factor: float, mean: float, half_width: float | None) -> Point:
    return Point(where, factor * mean, None if half_width is None else factor * half_width)


def _vertical(metric: str, title: str, points: list[Point]) -> Axis:
    means = [point.mean for point in points]
    positive = [mean for mean in means if mean > 0]
    if metric == "loss_rate" and len(positive) > 1:
        return Axis(title, min(positive) / 1.5, max(positive) * 1.5, by_decades=True)
    ends = [point.mean + sign * (point.half_width or 0.0) for point in points for sign in (-1, 1)]
    return share_axis(title, ends) if metric == "utilization" else filled(title, ends, by_decades=False)


def _rules(manifest: Manifest) -> list[Dot]:
    """The buffer of the sweep's scenario, and those of the rules; none for the code of a user, which must not run."""
    if any(code_in(manifest.scenario)):
        return []
    start = manifest.start()
    requested = [(rule, rule.packets) for rule in rules(start.core) if rule.packets is not None]
    dots = [Dot(rule.name, packets, "rule" if rule.applies else "norule") for rule, packets in requested]
    return [own_dot(start.buffer.packets), *sorted(dots, key=lambda dot: dot.buffer)]


def _last(summary: pl.DataFrame) -> BufferSize | None:
    """The largest buffer, if a packet is as large a part of it in another unit for every cell."""
    largest = summary.sort(BUFFER).tail(1).to_dicts()[0]
    if not largest["buffer.bdp"]:
        return None
    if (summary["buffer.bdp"] / summary[BUFFER]).round(12).n_unique() != 1:
        return None
    return BufferSize(**{field.name: largest[f"buffer.{field.name}"] for field in fields(BufferSize)})
