"""The printed report of `check`: every goal at every width, the answer first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from forebay import Scenario, check
from forebay.search.check_report import CheckReport, together
from tests.support.scenarios import SMALL


def printed(report: CheckReport, columns: int) -> list[str]:
    from io import StringIO

    from rich.console import Console

    from forebay.views.check_text import check_text

    out = StringIO()
    Console(file=out, width=columns, no_color=True).print(check_text(report), highlight=False)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.fixture(scope="module")
def one() -> CheckReport:
    return check(Scenario.parse(SMALL), goals=["bulk.loss_rate<=0.1%"])


@pytest.fixture(scope="module")
def several() -> CheckReport:
    return check(Scenario.parse(SMALL), ["5p", "20p", "60kB"], ["background.loss_rate<=50%"])


def words(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("columns", [100, 80, 60, 40])
def test_every_goal_is_printed_at_every_width(one: CheckReport, several: CheckReport, columns: int) -> None:
    for report in (one, several):
        lines = printed(report, columns)
        assert max(map(len, lines)) <= columns
        text = words(lines)
        assert "…" not in words(line for line in lines if "Small link" not in line)
        for each in report.buffers:
            for goal in each.goals.values():
                title = {"utilization": "utilization ≥ 85 %", "queue_delay_p99": "p99 delay ≤ 150 ms"}
                assert title.get(goal.goal.key, f"{goal.goal.name.partition('.')[0]}: loss ≤ ") in text
        assert text.count(" met") + text.count(" missed") >= sum(len(each.goals) for each in report.buffers)


def test_the_first_line_is_the_answer(one: CheckReport, several: CheckReport) -> None:
    assert printed(one, 100)[0] == "The configured buffer (20 packets, 20.0 kB, 80.0 ms) misses 1 of 3 goals."
    assert printed(several, 100)[0] == "1 of 3 buffers meets every goal: 20 packets."
    lines = printed(one, 100)
    assert any("utilization 99." in line and "goodput" in line and "p99 delay" in line for line in lines)
    assert any("CPU seconds" in line and line.startswith("38 runs") for line in lines)


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        (["met"], "The configured buffer (20 packets, 20.0 kB, 80.0 ms) meets the goal."),
        (["met", "met"], "The configured buffer (20 packets, 20.0 kB, 80.0 ms) meets both goals."),
        (["met", "undecided"], "The configured buffer (20 packets, 20.0 kB, 80.0 ms) meets 1 of 2 goals; 1 undecided."),
        (
            ["missed", "undecided", "met"],
            "The configured buffer (20 packets, 20.0 kB, 80.0 ms) misses 1 of 3 goals; 1 undecided.",
        ),
        (
            ["undecided"] * 3,
            "Undecided: the configured buffer (20 packets, 20.0 kB, 80.0 ms) may meet or miss all 3 goals.",
        ),
        (["undecided"], "Undecided: the configured buffer (20 packets, 20.0 kB, 80.0 ms) may meet or miss the goal."),
    ],
)
def test_the_answer_counts_the_goals(one: CheckReport, verdicts: list[Any], line: str) -> None:
    from dataclasses import replace

    from forebay.views.check_text import answer_line

    (found,) = one.buffers
    goals = dict(zip("abc", (replace(found.goals["utilization"], verdict=each) for each in verdicts), strict=False))
    changed = replace(found, goals=goals, verdict=together(verdicts))
    assert answer_line(replace(one, buffers=(changed,), verdict=together(verdicts))) == line


def test_a_report_shows_itself_in_a_notebook(several: CheckReport) -> None:
    html = several._repr_html_()
    assert "1 of 3 buffers meets every goal" in html
    assert html.count("<tr>") >= 4
    assert repr(several) == "<CheckReport of 'Small link': missed, 1 of 3 buffers meet every goal>"
    assert json.loads(several.to_json()) == several.data
