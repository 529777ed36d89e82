"""The picture of a map: areas where goals are met, missed and not clear, their boundary, and the measured places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.views.headline import headline
from forebay.views.plots import ANSWER, GOAL, WIDTH
from forebay.views.wording import both, goal_phrase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forebay.search.feasible import FeasibleMap, MapPoint

__all__ = ["draw_map"]

#: Height of the panel, in inches.
HEIGHT = 5.2
#: Standard errors above which a margin counts as clear, and above which the color no longer changes.
CLEAR, MOST = 1.645, 4.0
GRAY = "#8a8a8a"
#: Color, marker and legend text of each verdict.
KINDS = {
    "met": (ANSWER, "o", "every goal met"),
    "unclear": (GRAY, "s", "not clear"),
    "missed": (GOAL, "x", "a goal missed"),
}


def draw_map(found: FeasibleMap) -> Figure:
    """Draw it, with logarithmic axes if ranges span a decade."""
    from forebay.views import canvas

    handles = _legend(found)
    made, (axis,) = canvas.figure(
        headline(found.scenario.resolved, otherwise="Where goals hold"),
        WIDTH,
        [HEIGHT],
        above=0.3,
        below=canvas.legend_height(len(handles), 4),
    )
    with canvas.style():
        for variable, set_scale in zip(found.over, (axis.set_xscale, axis.set_yscale), strict=True):
            set_scale("log" if variable.range.by_decades else "linear")
        _shade(axis, found)
        for verdict, (color, marker, _) in KINDS.items():
            points = [point for point in found.points if point.verdict == verdict]
            axis.plot(*_places(points), marker, color=color, markersize=3.2, linestyle="none", zorder=3, clip_on=False)
        (x, y) = (
            f"{variable.key} ({unit})" if (unit := variable.unit_words) else variable.key for variable in found.over
        )
        axis.set_xlabel(x)
        canvas.title_axis(axis, y, HEIGHT)
        first, second = (variable.range for variable in found.over)
        axis.set_xlim(first.low, first.high)
        axis.set_ylim(second.low, second.high)
        axis.set_axisbelow(True)
        told = f"goals: {both([goal_phrase(goal) for goal in found.goals])}"
        axis.set_title(canvas.cut(told, WIDTH - 1.5, canvas.SMALL), loc="right", fontsize=canvas.SMALL, color=GOAL)
    canvas.plain_axes([axis])
    canvas.legend(made, handles)
    return made


def _places(points: list[MapPoint]) -> tuple[list[float], list[float]]:
    return [point.settings[0].number for point in points], [point.settings[1].number for point in points]


def _shade(axis: Axes, found: FeasibleMap) -> None:
    """Fill between the measured places by how far the margin is from zero in standard errors, and draw the zero."""
    import numpy as np
    from matplotlib.tri import Triangulation

    # Neighbors are those on the search's scale, on which ratios or differences are steps.
    places = np.log([[setting.place for setting in point.settings] for point in found.points])
    triangles = Triangulation(*places.T).triangles
    x, y = (np.asarray(each) for each in _places(list(found.points)))
    drawn: Any = Triangulation(x, y, triangles)
    clear = np.array([_clear(point) for point in found.points])
    axis.tricontourf(drawn, clear, levels=[-2 * MOST, -CLEAR, CLEAR, 2 * MOST], colors=[GOAL, GRAY, ANSWER], alpha=0.16)
    if clear.min() < 0 < clear.max():
        axis.tricontour(drawn, clear, levels=[0.0], colors="#222222", linewidths=1.4)


def _clear(point: MapPoint) -> float:
    """The margin in standard errors, within bounds."""
    if point.error <= 0:
        return MOST if point.margin >= 0 else -MOST
    return max(-MOST, min(MOST, point.margin / point.error))


def _legend(found: FeasibleMap) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=color, marker=marker, markersize=4, linestyle="none", label=text)
        for verdict, (color, marker, text) in KINDS.items()
        if found.count(verdict)
    ]
    handles.append(Line2D([], [], color="#222222", linewidth=1.4, label="the boundary, as means have it"))
    handles.append(Patch(color=GRAY, alpha=0.3, label="where it may lie"))
    return handles
