"""Published values in the pictures of papers: each is seen beside our curve, and the legend names what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forebay.papers import drawing
from forebay.papers.catalog import PAPERS, load
from forebay.papers.claims import Claim
from forebay.papers.published import MARKS
from forebay.papers.results import Results
from forebay.sweeps.axes import Axis, cells

#: Figures that sweeps draw; recordings of single packets draw the others.
SWEPT = [
    *(("barman", f"fig{number}") for number in (3, 4, 7, 8)),
    *(("avrachenkov", f"fig{number}") for number in (7, 8)),
    *(("kumar", name) for name in ("fig5", "fig6", "packets")),
    ("dhamdhere", "fig1"),
    ("auge", "buffers"),
]
METRICS = ("utilization", "loss_rate", "queue_mean_packets", "synchronization")


class Drawn(Results):
    """Results of which each metric rises with the number of the cell; nothing is simulated."""

    def rows(self, name: str) -> pl.DataFrame:
        run = self.run(name)
        rows: list[Mapping[str, Any]] = []
        grid = list(cells([Axis.parse(axis) for axis in run.over]))
        for number, cell in enumerate(grid):
            settings = dict(cell.settings)
            for replication in range(4):
                share = (number + 1) / len(grid) - 0.001 * replication
                metrics = {metric: share * (100 if metric == "queue_mean_packets" else 1) for metric in METRICS}
                axes = {f"axis.{key}": value for key, value in settings.items()}
                rows.append({"cell": number, "replication": replication, **axes, **metrics})
        return pl.DataFrame(rows)


def picture(paper: str, name: str) -> Any:
    found = load(paper)
    figure = next(each for each in found.figures if each.name == name)
    return getattr(import_module(f"forebay.papers.{paper}.drawing"), name)(Drawn(Path(), found.full), figure)


@pytest.mark.parametrize(("paper", "name"), SWEPT)
def test_each_value_with_a_place_is_seen_in_a_panel(paper: str, name: str) -> None:
    made = picture(paper, name)
    claims = [claim for each in load(paper).figures if each.name == name for claim in each.claims]
    marks = [(axis, line) for axis in made.axes for line in axis.lines if str(line.get_gid()).startswith("published")]
    placed = [claim for claim in claims if claim.at is not None]
    assert len(marks) == len(placed)
    for axis, line in marks:
        ((x,), (y,)) = line.get_xdata(), line.get_ydata()
        low, high = sorted(axis.get_ylim())
        left, right = sorted(axis.get_xlim())
        assert left <= x <= right, "inside of its panel"
        assert low <= y <= high, "inside of its panel"
    drawn = sorted(float(line.get_xdata()[0]) for _, line in marks)
    assert drawn == pytest.approx(sorted(claim.at or 0.0 for claim in placed), rel=0.07), "a little aside"
    (legend,) = made.legends
    texts = {text.get_text() for text in legend.texts}
    kinds = {str(line.get_gid()).split()[1] for _, line in marks}
    assert {MARKS[kind] for kind in kinds} == texts & set(MARKS.values())


@pytest.mark.parametrize(("paper", "name"), SWEPT)
def test_each_line_has_an_entry_of_the_legend(paper: str, name: str) -> None:
    made = picture(paper, name)
    (legend,) = made.legends
    known = {(line.get_color(), line.get_linestyle()) for line in legend.get_lines()}
    for axis in made.axes:
        for line in axis.lines:
            if len(line.get_xdata()) > 1 and line.get_linestyle() != "None":
                assert (line.get_color(), line.get_linestyle()) in known, line.get_label()
    labels = {line.get_label() for axis in made.axes for line in axis.lines}
    labels |= {each.get_label() for axis in made.axes for each in axis.containers}
    ours = {text.get_text() for text in legend.texts} - set(MARKS.values()) - {"95 % interval of the mean"}
    assert ours <= labels, "nothing else"


def claim(region: Mapping[str, float], at: float | None, series: str = "curve") -> Claim:
    place = {} if at is None else {"at": at, "series": series}
    return Claim.parse({"quantity": "a", "why": "b", "measure": "1", "claimed": region, **place}, "here")


def test_a_bound_points_to_the_side_that_meets_it() -> None:
    made, axes = drawing.grid(1, 1)
    axis = axes[0, 0]
    claims = [
        claim({"about": 0.5, "within": 0.1}, 1),
        claim({"at_least": 0.9}, 2),
        claim({"at_most": 0.2}, 3),
        claim({"about": 0.7, "within": 0.1}, None),
        claim({"about": 0.8, "within": 0.1}, 4, "another"),
    ]
    drawing.at_places(axis, claims, "curve", units=lambda share: 100 * share)
    marks = [line for line in axis.lines if str(line.get_gid()).startswith("published")]
    assert [(line.get_marker(), line.get_xdata()[0], line.get_ydata()[0]) for line in marks] == [
        ("s", 1, pytest.approx(50)),
        ("^", 2, pytest.approx(90)),
        ("v", 3, pytest.approx(20)),
    ]
    bar = axis.collections[0].get_segments()[0]
    assert np.allclose(bar, [(1, 40), (1, 60)]), "its precision"
    drawing.legend_below(made, axis)
    assert [text.get_text() for text in made.legends[0].texts] == list(MARKS.values())


def test_single_runs_have_no_line_and_means_have_their_interval() -> None:
    for replications in (1, 3):
        made, axes = drawing.grid(1, 1)
        numbers = np.arange(3.0)[:, None] + 0.1 * np.arange(replications)
        drawing.band(axes[0, 0], [1, 2, 3], numbers, 0, "curve")
        (line,) = axes[0, 0].lines
        assert (line.get_linestyle() == "None") == (replications == 1)
        drawing.legend_below(made, axes[0, 0])
        texts = [text.get_text() for text in made.legends[0].texts]
        assert texts == ["curve", "95 % interval of the mean"][: 1 if replications == 1 else 2]


def test_a_place_belongs_to_a_number_and_a_series() -> None:
    for name in PAPERS:
        for figure in load(name).figures:
            for each in figure.claims:
                assert (each.at is None) == (not each.series), each.quantity
                if each.at is not None:
                    assert each.region is not None
                    assert math.isfinite(each.at)
