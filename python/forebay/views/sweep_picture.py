"""The picture of a sweep: each metric against the buffer, or against another axis of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.results.report import BufferSize
from forebay.rules import rules
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import load
from forebay.text.formatting import USUAL
from forebay.text.quantity import Scale, scale_of
from forebay.views import plots
from forebay.views.charts import Point
from forebay.views.headline import headline
from forebay.views.rule_panel import MARKERS, PALETTE, RuleLine, draw_rules, height
from forebay.views.scales import axis_title

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_sweep", "sweep_figure"]

#: The column of the buffer that waits, in packets.
BUFFER = "buffer.packets"
#: Series that a legend names at most.
NAMED = 24


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
    """Utilization, loss and delay against the buffer, one series per setting of the other axes."""
    import polars as pl

    from forebay.views import canvas

    summary, manifest = load(folder, "summary"), Manifest.read(folder)
    across, others = _axes(summary, folder)
    metrics = [name for name in USUAL if f"{name}.mean" in summary.columns]
    labels = [", ".join(f"{name.removeprefix('axis.')}={row[name]}" for name in others) for row in summary.to_dicts()]
    series = summary.with_columns(pl.Series("series", labels))
    marked = _rules(manifest) if across == BUFFER else []
    handles = _handles(series) if others else []
    if marked:
        applying = [rule.applies for rule in marked]
        handles += plots.rule_handles(applying=any(applying), others=not all(applying))
    found, panels = canvas.figure(
        headline(manifest.scenario, otherwise="Sweep"),
        plots.WIDTH,
        [plots.PANEL] * len(metrics),
        above=height(marked),
        below=canvas.legend_height(len(handles), 2) if handles else 0.0,
    )
    scale = _scale(series, across)
    with canvas.style():
        for panel, metric in zip(panels, metrics, strict=True):
            _draw_panel(panel, metric, series, scale)
        if min(scale.numbers) > 0 and max(scale.numbers) > min(scale.numbers):
            panels[0].set_xscale("log")
        panels[0].set_xlim(panels[0].get_xlim())
        second = _second_scale(summary) if across == BUFFER else None
        named = across.removeprefix("axis.") + (f" ({scale.unit})" if scale.unit else "")
        panels[-1].set_xlabel(plots.buffer_title(second[0] if second else "") if across == BUFFER else named)
    draw_rules(panels, marked, answer_color=plots.ANSWER)
    canvas.plain_axes(panels, second[1] if second else None)
    canvas.legend(found, handles)
    return found


def _handles(series: pl.DataFrame) -> list[Any]:
    """A legend's entry for each series, and how many more there are."""
    from matplotlib.lines import Line2D

    labels = series["series"].unique(maintain_order=True).to_list()
    handles: list[Any] = []
    for index, label in enumerate(labels[:NAMED]):
        color, marker = _style(index)
        handles.append(Line2D([], [], color=color, marker=marker, markersize=3.5, linewidth=1.3, label=label))
    if len(labels) > NAMED:
        handles.append(Line2D([], [], linestyle="none", label=f"and {len(labels) - NAMED} more"))
    return handles


def _style(index: int) -> tuple[str, str]:
    return PALETTE[index % len(PALETTE)], MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


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


def _draw_panel(panel: Axes, metric: str, series: pl.DataFrame, scale: Scale) -> None:
    """One metric: a line with its band for each series, from left to right."""
    import polars as pl

    from forebay.views import canvas

    mean, half_width = f"{metric}.mean", f"{metric}.half_width"
    title, factor = axis_title(metric, series[mean].max())  # type: ignore[arg-type]
    canvas.title_axis(panel, title, plots.PANEL)
    placed = series.with_columns(pl.Series("where", scale.numbers))
    for index, label in enumerate(series["series"].unique(maintain_order=True)):
        mine = placed.filter(pl.col("series") == label, pl.col(mean).is_not_null()).sort("where")
        color, marker = _style(index)
        points = [
            Point(row["where"], factor * row[mean], None if row[half_width] is None else factor * row[half_width])
            for row in mine.iter_rows(named=True)
        ]
        plots.band(panel, points, color=color, marker=marker)
    if metric == "utilization":
        panel.set_ylim(top=101)
    if metric == "loss_rate" and (series[mean] > 0).sum() > 1:
        panel.set_yscale("log", nonpositive="clip")


def _rules(manifest: Manifest) -> list[RuleLine]:
    """The rules' buffers for the sweep's scenario."""
    asked = [
        RuleLine(rule.name, rule.packets, rule.applies)
        for rule in rules(manifest.start().core)
        if rule.packets is not None
    ]
    return sorted(asked, key=lambda rule: rule.packets)


def _second_scale(summary: pl.DataFrame) -> tuple[str, Callable[[float], str]] | None:
    """The same buffers in another unit, if that is the same for every cell."""
    largest = summary.sort(BUFFER).to_dicts()[-1]
    if not largest["buffer.bdp"]:
        return None
    per_packet = (summary["buffer.bdp"] / summary[BUFFER]).round(12)
    if per_packet.n_unique() != 1:
        return None
    return plots.below_packets(
        BufferSize(**{field.name: largest[f"buffer.{field.name}"] for field in fields(BufferSize)})
    )
