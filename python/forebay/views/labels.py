"""Places of words in a chart: inside of the plot, clear of other words, and over as little of the curve as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from forebay.views.shapes import Place, Size, Text

__all__ = ["Label", "Spot", "cut", "placed", "width"]

#: Largest average width of a character in the page's fonts, plain and bold, and height of a line, in pixels.
PLAIN, BOLD, HEIGHT = 6.9, 7.8, 12.0
#: Average width of a character in names, in pixels; names are long and so closer to the average.
SMALL = 6.6


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for words: the place where they begin or end, on their base line."""

    x: float
    y: float
    anchor: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Label:
    """Words, and the places where they may lie, the best first."""

    words: str
    spots: tuple[Spot, ...]
    bold: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, label: Label, spot: Spot) -> _Box:
        across = width(label.words, bold=label.bold)
        left = spot.x if spot.anchor == "start" else spot.x - across
        return cls(left, spot.y - HEIGHT + 2, left + across, spot.y + 3)

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, place: Place) -> bool:
        x, y = place
        return self.left - 4 < x < self.right + 4 and self.top - 4 < y < self.bottom + 4

    def beyond(self, size: Size) -> float:
        """Pixels by which it leaves the plot; on the right it may reach the edge of the picture."""
        over = (size.left - self.left, self.right - size.width, size.top - 2 - self.top, self.bottom - size.lowest)
        return sum(max(0.0, each) for each in over)


def placed(labels: Iterable[Label], size: Size, curve: Sequence[Place]) -> list[Text]:
    """Place words where they have room.

    Parameters
    ----------
    labels : iterable of Label
        Labels in the order of their importance.
    size : Size
        Size of the chart.
    curve : sequence of (x, y)
        Points of a curve that labels should not hide.
    """
    taken: list[_Box] = []
    found = []
    along = _between(curve)
    for label in labels:
        boxes = [(spot, _Box.of(label, spot)) for spot in label.spots]
        costs = [
            (
                sum(box.meets(other) for other in taken),
                round(box.beyond(size)),
                sum(box.holds(place) for place in along),
                number,
            )
            for number, (_, box) in enumerate(boxes)
        ]
        # A word over another is worse than one that hides a bit of the curve at its best place.
        best = min(costs, key=lambda cost: (cost[0], cost[1], cost[3] > 0 and cost[2] > costs[0][2], cost[3]))
        spot, box = boxes[best[3]]
        taken.append(box)
        found.append(Text((spot.x, spot.y), label.words, spot.anchor))
    return found


def _between(curve: Sequence[Place]) -> list[Place]:
    """The points of a curve, and some on the way from each to the next."""
    found = list(curve[:1])
    for (x, y), (to_x, to_y) in pairwise(curve):
        found += [(x + part / 8 * (to_x - x), y + part / 8 * (to_y - y)) for part in range(1, 9)]
    return found


def width(text: str, *, bold: bool = False) -> float:
    """Largest width of a text, in pixels."""
    return len(text) * (BOLD if bold else PLAIN)


def cut(text: str, pixels: float) -> str:
    """A text, cut with an ellipsis if it has more characters than fit."""
    most = max(1, round(pixels / SMALL))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
