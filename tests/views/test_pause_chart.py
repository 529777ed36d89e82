"""The picture of pauses: a row for each sender, in the order of their first pauses."""

from __future__ import annotations

import re
import textwrap
from math import inf

import polars as pl
import pytest

from forebay import Scenario
from forebay.views.chart import Curve, Row
from forebay.views.pause_chart import MOST_ROWS, pause_keys, pauses_panel
from tests.support.paths import ROOT

PAGE = ROOT / "docs/tutorials/pause-spreads.md"


def table(*rows: tuple[str, int, int, float, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["link", "group", "flow", "begun_s", "ended_s"], orient="row")


def names(panel_rows: object) -> list[str]:
    assert isinstance(panel_rows, list)
    assert all(isinstance(row, Row) for row in panel_rows)
    return [row.name for row in panel_rows]


def test_each_sender_has_a_row_in_the_order_of_first_pauses() -> None:
    panel = pauses_panel(table(("up", -1, -1, 0.3, 0.4), ("", 1, 5, 0.6, 0.7), ("down", -1, -1, 0.0, 1.0)), ["a", "b"])
    assert panel is not None
    assert names(panel.up) == ["down, 100 %", "up, 10 %", "hosts of b, 10 %"]
    curves = [each for each in panel.series if isinstance(each, Curve)]
    assert [curve.points for curve in curves] == [[(0.0, 0), (1.0, 0)], [(0.3, 1), (0.4, 1)], [(0.6, 2), (0.7, 2)]]
    assert [key.text for key in pause_keys(panel)] == ["paused link, share of the time", "paused hosts"]


def test_pauses_of_a_group_at_the_same_time_are_one_interval() -> None:
    panel = pauses_panel(table(("", 0, 0, 0.0, 0.6), ("", 0, 1, 0.4, 1.0), ("", 0, 2, 0.5, 0.7)), ["a"])
    assert panel is not None
    assert [each.points for each in panel.series if isinstance(each, Curve)] == [[(0.0, 0), (1.0, 0)]]


def test_a_pause_that_goes_on_reaches_the_end_of_the_axis() -> None:
    panel = pauses_panel(table(("a", -1, -1, 0.0, 1.0), ("b", -1, -1, 0.5, inf)), [])
    assert panel is not None
    assert names(panel.up) == ["a, 100 %", "b, 50 %"]
    assert [each.points[1][0] for each in panel.series if isinstance(each, Curve)] == [1.0, inf]


def test_many_senders_leave_rows_for_the_longest_pauses() -> None:
    rows = [(f"port{at}", -1, -1, 0.01 * at, 0.01 * at + (0.5 if at % 2 else 0.001)) for at in range(2 * MOST_ROWS)]
    panel = pauses_panel(table(*rows), [])
    assert panel is not None
    assert [name.split(",")[0] for name in names(panel.up)] == [f"port{at}" for at in range(1, 2 * MOST_ROWS, 2)]
    assert pauses_panel(table(), []) is None


def test_the_rows_agree_with_the_paused_time_of_the_report() -> None:
    blocks = re.findall(r"(?:^    .*\n|^\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    text = textwrap.dedent(next(block for block in blocks if "[[links]]" in block))
    changes = ['trace.record=["pauses"]', "run.warmup=0s", "run.measure=5ms"]
    report = Scenario.parse(text, overrides=changes).run(replications=1, traces=True)
    traces = report.traces()
    assert traces is not None
    found = pl.DataFrame(traces["pauses"])
    for link in report.links:
        if "paused_time_s" in link.metrics:
            mine = found.filter(pl.col("link") == link.name).with_columns(pl.col("ended_s").clip(upper_bound=5e-3))
            total = (mine["ended_s"] - mine["begun_s"]).sum()
            assert total == pytest.approx(link.metrics["paused_time_s"].mean, abs=1e-9)
    figure = report.plot()
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert [word.split(",")[0] for word in words if "%" in word] == [
        *("hosts of victim", "down", "up", "hosts of culprit"),
    ]
