"""The picture of an audit's page: configured over needed buffer against the rate of the port, by verdict.

Ports that are close to each other share a spot. A spot's number is that of its answers in the table, so that the page
finds the ports of a spot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay.fleets.answer import VERDICTS, FleetAnswer
from forebay.sanitize import sanitize
from forebay.text.formatting import bandwidth, counted, exactly
from forebay.views.chart import Band, Chart, Curve, Look, Panel, Tip, level
from forebay.views.fleet_table import FleetTable, ratio_range
from forebay.views.fleet_text import ratio
from forebay.views.page_charts import Figure, Switch, figure
from forebay.views.scales import filled

__all__ = ["SERIES", "FleetPicture", "fleet_picture"]

#: Name of the series of each verdict, and its look: colors that any eye tells apart, and a shape of its own.
SERIES = {"fine": "fine", "too small": "small", "too large": "large", "undecided": "open", "not answerable": "none"}
LOOKS = {
    "fine": Look("green", marker="o", opacity=0.75),
    "too small": Look("orange", marker="v"),
    "too large": Look("blue", marker="^"),
    "undecided": Look("other", marker="s", hollow=True),
    "not answerable": Look("pink", marker="D", hollow=True),
}
#: Most spots of a picture, and most of those that have bars.
MOST_SPOTS, MOST_BARS = 600, 60
#: Widths of the squares that share a spot, in decades; the first one with few enough spots counts.
WIDTHS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Spots of one rate stand side by side, a step for each verdict.
STEP = 1.07
#: Sizes of spots, by the least number of their ports.
SIZES = ((1, 4.0), (4, 5.5), (16, 7.0), (64, 8.5))
#: Longest name of a port.
NAME = 60


@dataclass(slots=True)
class Spot:
    """Ports that are drawn as one mark."""

    verdict: str
    number: int
    rate: float
    margin: float
    ports: int = 0
    question: str | None = None
    rates: set[float] = field(default_factory=set)
    ends: list[tuple[float | None, float | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FleetPicture:
    """The picture.

    Attributes
    ----------
    figure : Figure or None
        None if no port has a margin.
    switches : tuple of Switch
        Each verdict in the picture.
    spots : tuple of int
        Number of the spot of each answer; -1 for an answer without a margin.
    missing : mapping
        Number of the ports without a margin, by verdict.
    joined : bool
        Whether spots have ports with different margins.
    has_bars : bool
        Whether bars show the ranges of the margins.
    """

    figure: Figure | None
    switches: tuple[Switch, ...]
    spots: tuple[int, ...]
    missing: Mapping[str, int]
    joined: bool
    has_bars: bool


def fleet_picture(answer: FleetAnswer, table: FleetTable) -> FleetPicture:
    """Draw the picture of an audit."""
    rows = table.frame.select("rate_bps", "margin", "range", "verdict", "question", "ports").to_dicts()
    missing = dict.fromkeys(VERDICTS, 0)
    for row in rows:
        if not _is_shown(row):
            missing[row["verdict"]] += row["ports"]
    spots, numbers = _spots(rows)
    by_verdict: dict[str, list[Spot]] = {
        verdict: [each for each in spots if each.verdict == verdict] for verdict in VERDICTS if verdict in SERIES
    }
    present = [verdict for verdict in VERDICTS if by_verdict[verdict]]
    return FleetPicture(
        figure("Configured over needed buffer", _chart(answer, spots, by_verdict)) if spots else None,
        tuple(Switch(SERIES[verdict], f"{verdict}: {_ports(by_verdict[verdict])}") for verdict in present),
        tuple(numbers),
        {verdict: number for verdict, number in missing.items() if number},
        any(len(set(each.ends)) > 1 for each in spots),
        len(spots) <= MOST_BARS,
    )


def _ports(spots: Sequence[Spot]) -> str:
    return counted(sum(each.ports for each in spots), "port")


def _is_shown(row: Mapping[str, Any]) -> bool:
    return row["margin"] is not None and 0 < row["margin"] < math.inf


def _spots(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Spot], list[int]]:
    """The spots, and the number of the spot of each row."""
    for width in WIDTHS:
        found: dict[tuple[str, int, int], Spot] = {}
        numbers = []
        for row in rows:
            if not _is_shown(row):
                numbers.append(-1)
                continue
            rate, margin = float(row["rate_bps"]), float(row["margin"])
            square = row["verdict"], round(math.log10(rate) / width), round(math.log10(margin) / width)
            spot = found.setdefault(square, Spot(row["verdict"], len(found), rate, margin, question=row["question"]))
            spot.ports += row["ports"]
            spot.rates.add(rate)
            spot.ends.append((row["range"]["margin_low"], row["range"]["margin_high"]))
            numbers.append(spot.number)
        if len(found) <= MOST_SPOTS:
            break
    return list(found.values()), numbers


def _chart(answer: FleetAnswer, spots: Sequence[Spot], by_verdict: Mapping[str, Sequence[Spot]]) -> Chart:
    across = filled("rate of the port (Mb/s)", (_place(each) for each in spots), by_decades=True)
    has_bars = len(spots) <= MOST_BARS
    heights = [each.margin for each in spots]
    if has_bars:
        heights += [end for each in spots for end in each.ends[0] if end]
    up = filled("configured / needed", [*heights, 1.0], by_decades=True)
    series: list[Band | Curve] = [level(1.0, Look("rule", "dashed", 1.2))]
    for verdict in VERDICTS:
        look, name = LOOKS[verdict], SERIES[verdict]
        if has_bars:
            for each in by_verdict[verdict]:
                low, high = each.ends[0]
                if low != high:
                    bar = (_place(each), low or up.low, high or up.high)
                    series.append(Band([bar], look.color, 0.35, series=name))
        for number, (least, marker) in enumerate(SIZES):
            most = SIZES[number + 1][0] if number + 1 < len(SIZES) else math.inf
            group = [each for each in by_verdict[verdict] if least <= each.ports < most]
            if group:
                drawn = Look(look.color, marker=look.marker, size=marker, hollow=look.hollow, opacity=look.opacity)
                points = [(_place(each), each.margin) for each in group]
                series.append(Curve(points, drawn, [_tip(answer, each) for each in group], series=name))
    label = "Configured over needed buffer against the rate of the port, a mark for each group of ports"
    return Chart(across, (Panel(up, series, height=230.0),), label)


def _place(spot: Spot) -> float:
    """The place of a spot on the horizontal axis, in Mb/s."""
    return 1e-6 * spot.rate * STEP ** (VERDICTS.index(spot.verdict) - 2)


def _tip(answer: FleetAnswer, spot: Spot) -> Tip:
    """The ports of a spot in words."""
    low, high = min(spot.rates), max(spot.rates)
    rate = exactly(bandwidth(low)) + ("" if low == high else f" to {exactly(bandwidth(high))}")
    ends = ratio_range(spot.ends[0]) if len(set(spot.ends)) == 1 else ""
    margin = f"configured / needed: {ratio(spot.margin)}" + (f" ({ends})" if ends else "")
    name = ""
    if spot.question is not None:
        port = answer.example(spot.question)
        name = f"\n{_short(port['device'])} {_short(port['port'])}"
    others = f" and {counted(spot.ports - 1, 'other port')}" if spot.ports > 1 else ""
    return Tip(str(spot.number), f"{spot.verdict}, {rate}\n{margin}{name}{others}")


def _short(name: str) -> str:
    shown = sanitize(name)
    return shown if len(shown) <= NAME else f"{shown[: NAME - 1]}…"
