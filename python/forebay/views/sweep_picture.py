"""The picture of a sweep: each metric against the buffer, or against another axis of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay._core import split_quantity
from forebay.errors import InputError
from forebay.formatting import USUAL
from forebay.report import BufferSize
from forebay.rules import rules
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import load
from forebay.views import plots
from forebay.views.charts import Point
from forebay.views.scales import axis_title

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["draw_sweep"]

#: The column of the buffer that waits, in packets.
BUFFER = "buffer.packets"
MARKERS = "osD^vP*X"


def draw_sweep(folder: Path, target: Path) -> list[Path]:
    """Draw utilisation, loss and delay against the buffer, one series per setting of the other axes.

    Parameters
    ----------
    folder : Path
        Of a finished sweep.
    target : Path
        Folder of the pictures.

    Returns
    -------
    list of Path
        PNG and SVG.
    """
    import polars as pl

    summary = load(folder, "summary")
    across, others = _axes(summary, folder)
    metrics = [name for name in USUAL if f"{name}.mean" in summary.columns]
    found, panels = plots.figure(8.6, 1.0 + 2.0 * len(metrics), len(metrics))
    labels = [", ".join(f"{name.removeprefix('axis.')}={row[name]}" for name in others) for row in summary.to_dicts()]
    series = summary.with_columns(pl.Series("series", labels))
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, metric, series, across)
    panels[0].set_xscale("log")
    panels[-1].set_xlabel("buffer (packets that may wait)" if across == BUFFER else across.removeprefix("axis."))
    plots.plain_ticks(panels[-1])
    if others:
        found.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    manifest = Manifest.read(folder)
    if across == BUFFER:
        _mark_buffers(panels, summary, manifest)
    found.suptitle(manifest.title or "Sweep", fontsize=11, x=0.01, ha="left")
    return plots.save_both(found, target / "sweep")


def _axes(summary: pl.DataFrame, folder: Path) -> tuple[str, list[str]]:
    """The column to draw against, and the axes that tell series apart."""
    axes = [name for name in summary.columns if name.startswith("axis.")]
    if summary[BUFFER].n_unique() >= 2:
        return BUFFER, [name for name in axes if name != "axis.link.buffer"]
    varying = [name for name in axes if summary[name].n_unique() > 1]
    numeric = [name for name in varying if _numbers(summary[name].to_list()) is not None]
    if not numeric:
        raise InputError(f"{folder}: found no axis of numbers to draw against")
    return numeric[0], [name for name in axes if name != numeric[0]]


def _draw_panel(panel: Axes, metric: str, series: pl.DataFrame, across: str) -> None:
    """One metric: a line with its band for each series, from left to right."""
    import polars as pl

    mean, half_width = f"{metric}.mean", f"{metric}.half_width"
    title, scale = axis_title(metric, series[mean].max())  # type: ignore[arg-type]
    panel.set_ylabel(title)
    for index, label in enumerate(series["series"].unique(maintain_order=True)):
        mine = series.filter(pl.col("series") == label, pl.col(mean).is_not_null())
        where = _numbers(mine[across].to_list()) or []
        order = sorted(range(len(where)), key=where.__getitem__)
        plots.band(
            panel,
            [Point(where[at], scale * mine[mean][at], scale * (mine[half_width][at] or 0.0)) for at in order],
            color=plots.PALETTE[index % len(plots.PALETTE)],
            marker=MARKERS[index % len(MARKERS)],
            label=label or None,
        )
    if metric == "loss_rate" and (series[mean] > 0).sum() > 1:
        panel.set_yscale("log", nonpositive="clip")
        plots.plain_decades(panel)


def _mark_buffers(panels: list[Any], summary: pl.DataFrame, manifest: Manifest) -> None:
    """The rules' buffers for the sweep's scenario, and a second scale where it is the same for every cell."""
    largest = summary.sort("buffer.packets").to_dicts()[-1]
    shown = (float(summary["buffer.packets"].min()), float(largest["buffer.packets"]))  # type: ignore[arg-type]
    marks = [
        (rule.packets, rule.name, rule.applies)
        for rule in rules(manifest.start().core)
        if rule.packets is not None and shown[0] <= rule.packets <= shown[1]
    ]
    plots.mark_rules(panels, marks)
    if largest["buffer.bdp"]:
        per_packet = (summary["buffer.bdp"] / summary["buffer.packets"]).round(12)
        if per_packet.n_unique() == 1:
            buffer = BufferSize(**{field.name: largest[f"buffer.{field.name}"] for field in fields(BufferSize)})
            plots.second_scale(panels[-1], buffer)


def _numbers(values: Iterable[Any]) -> list[float] | None:
    """Leading numbers of values such as "100p" or "2Gbps", or None where one has none."""
    found = [split_quantity(str(value)) for value in values]
    return None if None in found else [split[0] for split in found if split is not None]
