"""Pictures of a recommendation, and how all pictures are written.

Modules of charts describe what is drawn, and `chart_figure` draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.sanitize import sanitize_lines
from forebay.storage.files import replacing
from forebay.views.recommendation_charts import recommendation_chart
from forebay.views.tradeoff_charts import front_chart

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from forebay.search.answer import Recommendation

__all__ = ["draw_front", "draw_recommendation", "save", "save_both"]


def save(found: Figure, path: Path) -> Path:
    """Write a figure; the file appears complete or not at all, and its bytes depend on the figure alone."""
    from forebay.views import canvas

    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix.removeprefix(".")
    values: dict[str, Any] = {}
    if kind == "svg":
        values = {"Date": None, "Title": sanitize_lines(getattr(found, "label", ""))}
    with replacing(path) as partial, canvas.style():
        found.savefig(partial, dpi=130, format=kind, metadata=values)
    return path


def save_both(found: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG, and as SVG beside it."""
    return [save(found, stem.with_suffix(".png")), save(found, stem.with_suffix(".svg"))]


def draw_recommendation(answer: Recommendation) -> Figure:
    """The decision and the rules along the axis of the buffer; below, utilization, loss and delay with the goals."""
    from forebay.views.chart_figure import draw

    return draw(recommendation_chart(answer))


def draw_front(answer: Recommendation) -> Figure:
    """One metric against another, a dot per buffer; the front connected, each rule in the legend."""
    from forebay.views.chart_figure import draw

    return draw(front_chart(answer))
