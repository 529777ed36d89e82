"""The picture of a map: areas where goals are met, missed and not clear, their boundary, and the measured places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from forebay.views.chart import Chart, Curve, Field, Key, Look, Panel
from forebay.views.headline import headline
from forebay.views.scales import Axis
from forebay.views.wording import both, goal_phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebay.search.feasible import FeasibleMap, MapPoint

__all__ = ["draw_map", "map_chart"]

#: Height of the panel, in points.
HEIGHT = 374.0
#: Standard errors above which a margin counts as clear, and above which the color no longer changes.
CLEAR, MOST = 1.645, 4.0
#: Look and legend text of each verdict.
KINDS = {
    "met": (Look("green", marker="o", size=3.4), "all goals met"),
    "unclear": (Look("other", marker="s", size=3.2), "not clear"),
    "missed": (Look("orange", marker="x", size=3.6), "a goal missed"),
}


def draw_map(found: FeasibleMap) -> Figure:
    """Draw a map."""
    from forebay.views.chart_figure import draw

    return draw(map_chart(found))


def map_chart(found: FeasibleMap) -> Chart:
    """One panel, with logarithmic axes if ranges span a decade."""
    across, up = (
        Axis(
            f"{variable.key} ({unit})" if (unit := variable.unit_words) else variable.key,
            variable.range.low,
            variable.range.high,
            variable.range.by_decades,
        )
        for variable in found.over
    )
    curves = [
        Curve([_place(point) for point in found.points if point.verdict == verdict], look)
        for verdict, (look, _) in KINDS.items()
    ]
    legend = [Key(text, look) for verdict, (look, text) in KINDS.items() if found.count(verdict)]
    legend += [
        Key("boundary estimated from means", Look("ink", "solid", 1.4)),
        Key("range of the boundary", area="other", opacity=0.3),
    ]
    heading = headline(found.scenario.resolved, otherwise="Combinations that meet all goals")
    words = f"goals: {both([goal_phrase(goal) for goal in found.goals])}"
    panel = Panel(up, (_field(found), *curves), HEIGHT, note=words)
    return Chart(across, (panel,), f"{heading.title}: {words}", heading, legend, columns=4)


def _place(point: MapPoint) -> tuple[float, float]:
    first, second = point.settings
    return first.number, second.number


def _field(found: FeasibleMap) -> Field:
    """Areas by how far the margin is from zero in standard errors, and the line of the zero."""
    # Neighbors are those on the search's scale, on which ratios or differences are steps.
    neighbors = [(math.log(one.place), math.log(other.place)) for one, other in (p.settings for p in found.points)]
    points = [(*_place(point), _clear(point)) for point in found.points]
    return Field(points, neighbors, (-2 * MOST, -CLEAR, CLEAR, 2 * MOST), ("orange", "other", "green"))


def _clear(point: MapPoint) -> float:
    """The margin in standard errors, within bounds."""
    if point.standard_error <= 0:
        return MOST if point.margin >= 0 else -MOST
    return max(-MOST, min(MOST, point.margin / point.standard_error))
