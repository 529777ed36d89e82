"""Tests of the output for links whose rate changes: a buffer in time at each rate, and the drain after a fall."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console

from forebay import Scenario, compare, recommend
from forebay.text import formatting
from forebay.views.comparison_tables import comparison_view
from forebay.views.recommendation_text import recommendation_text
from forebay.views.reports import report_view

if TYPE_CHECKING:
    from rich.console import RenderableType

FALLING = """
[link]
rate = { steps = [["0s", "50Mbps"], ["2s", "5Mbps"]], repeat = "4s" }
buffer = "50p"
[[flows]]
count = 4
rtt = { uniform = ["38ms", "42ms"] }
[run]
warmup = "4s"
measure = "8s"
replications = 4
"""
#: 50 packets of 1,500 bytes are 600 kbit.
IN_TIME = "In time: 12.0 ms at 50 Mb/s, 21.8 ms at 27.5 Mb/s on average, 120 ms at 5 Mb/s."


def told(view: RenderableType) -> str:
    """The output of a console of 80 columns, its lines joined."""
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(view)
    lines = console.export_text().splitlines()
    assert all(len(line) <= 80 for line in lines)
    return re.sub(r"\s+", " ", " ".join(lines))


def test_a_report_tells_its_buffer_at_each_rate_and_the_longest_drain() -> None:
    scenario = Scenario.parse(FALLING)
    report = scenario.run()
    shown = told(report_view(report, scenario, "report"))
    assert IN_TIME in shown
    drain = report.metrics["drain_time_max_s"].mean
    # A queue that is full as the rate falls drains in 120 ms, and up to a packet's 2.4 ms.
    assert 0.05 < drain < 0.1225
    assert f"longest drain {formatting.estimate('drain_time_max_s', report.metrics['drain_time_max_s'])}" in shown
    assert "p99 delay while slow" in shown


def test_a_constant_link_tells_none_of_it() -> None:
    scenario = Scenario.parse(FALLING).changed("link.rate=50Mbps")
    shown = told(report_view(scenario.run(), scenario, "report"))
    assert "In time" not in shown
    assert "drain" not in shown


def test_a_recommendation_prints_both_with_the_buffer() -> None:
    scenario = Scenario.parse(FALLING)
    answer = recommend(scenario, ["drain_time_max<=60ms", "utilization>=50%"])
    shown = told(recommendation_text(answer))
    assert answer.buffer is not None
    drain = answer.at(answer.buffer).estimate("drain_time_max_s")
    assert drain is not None
    assert drain.mean <= 0.06
    assert f"{formatting.duration(8 * answer.buffer.bytes / 5e6)} at 5 Mb/s." in shown
    assert "When the rate falls, what waits takes up to" in shown
    assert "longest drain ≤ 60 ms" in shown
    constant = recommend(scenario.changed("link.rate=50Mbps"), ["utilization>=50%"])
    assert "When the rate falls" not in told(recommendation_text(constant))


def test_a_comparison_has_a_column_for_the_drain() -> None:
    scenario = Scenario.parse(FALLING)
    found = compare(scenario)
    by = {answer.name: answer.metrics for answer in found.answers if "drain_time_max_s" in answer.metrics}
    assert {"packet", "fluid"} <= set(by)
    shown = told(comparison_view(found))
    assert IN_TIME in shown
    assert "longest drain" in shown
    constant = told(comparison_view(compare(scenario.changed("link.rate=50Mbps"))))
    assert "longest drain" not in constant
