"""The answer in sentences: the first lines of `recommend`, the table of goals and the table of rules, at any width."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from forebay import Scenario, Warning, recommend
from forebay.results.report import BufferSize, Estimate
from forebay.results.warning import Kind
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import CurvePoint, FeasibleInterval, GoalAt, LowerEnd
from forebay.views.goal_table import goal_rows, region
from forebay.views.recommendation_text import Detail, recommendation_text
from forebay.views.reports import report_view
from tests.support.scenarios import SMALL

GOALS = ["utilization>=90%", "queue_delay_p99<=150ms", "bulk.loss_rate<=20%", "background.queue_delay_p99<=1s"]


@pytest.fixture(scope="module")
def met() -> Recommendation:
    found = recommend(Scenario.parse(SMALL.replace("30s", "8s")), GOALS, platforms=["linux"])
    return dataclasses.replace(found, warnings=tuple(each for each in found.warnings if not each.urgent))


@pytest.fixture(scope="module")
def conflict() -> Recommendation:
    return recommend(Scenario.parse(SMALL.replace("30s", "8s")), ["utilization>=97%", "queue_delay_p99<=10ms"])


def lines(answer: Recommendation, width: int = 80, detail: Detail = Detail.ANSWER) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO(), legacy_windows=False)
    console.print(recommendation_text(answer, detail))
    return console.export_text().splitlines()


def words(answer: Recommendation, width: int = 80) -> str:
    return " ".join(" ".join(lines(answer, width)).split())


def packets(number: float) -> BufferSize:
    return BufferSize(number, 1000 * number, 0.004 * number, None)


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (1.0, "meet all goals with at least 95 % confidence (24 runs)."),
        (0.9503, "meet all goals with at least 95 % confidence (24 runs)."),
        (0.9499, "probably meet all goals (94 % confidence, 24 runs)."),
        (0.177, "It is doubtful whether"),
        (0.0, "(no confidence: the runs at"),
        (0.009, "(no confidence: the runs at"),
    ],
)
def test_the_confidence_is_the_level_that_is_reached(met: Recommendation, confidence: float, message: str) -> None:
    shown = words(dataclasses.replace(met, confidence=confidence, runs=24))
    assert message in shown
    assert not re.search(r"\b(100|0(\.0)?|99\.9) % confidence", shown)


def test_a_requested_level_is_stated(met: Recommendation) -> None:
    answer = dataclasses.replace(met, confidence=0.9995, level=0.999, runs=48)
    assert "with at least 99.9 % confidence (48 runs)" in words(answer)
    assert "(98 % confidence, 48 runs)" in words(dataclasses.replace(answer, confidence=0.989))


def test_a_quick_look_says_probably(met: Recommendation) -> None:
    quick = dataclasses.replace(met, confidence=0.8, runs=4, warnings=(Warning(Kind.QUICK, "a quick look"),))
    assert "probably meet all goals (80 % confidence, 4 runs)." in words(quick)


def test_the_recommendation_comes_before_the_interval_of_the_minimum(met: Recommendation) -> None:
    answer = dataclasses.replace(
        met, buffer=met.buffer, feasible_from=LowerEnd(packets(7), packets(9), 0.8), confidence=0.99, runs=6
    )
    title, second, *_ = lines(answer, 200)
    assert title == "2 Mb/s, droptail: Small link"
    assert second.startswith(f"We recommend {met.packets} packets (")
    assert "The true minimum is probably 7 to 9 packets (80 % interval)." in second


def test_four_metrics_of_the_answer_are_in_the_first_lines(met: Recommendation) -> None:
    for width in (60, 80, 120):
        top = " ".join(" ".join(lines(met, width)[:8]).split())
        for metric in ("utilization is ", "loss ", "p99 delay ", "goodput "):
            assert metric in top, width


def test_urgent_warnings_begin_in_the_third_line_and_stand_above_the_configuration(met: Recommendation) -> None:
    loss = Warning(Kind.HIGH_LOSS, "9 packets lose 15 %.")
    starved = Warning(Kind.STARVED_GROUP, "`bulk` gets nothing.", subject="bulk")
    other = Warning(Kind.PRIOR, "the atlas knows.")
    shown = lines(dataclasses.replace(met, warnings=(other, starved, loss)))
    assert [line.startswith("warning: ") for line in shown[:4]] == [False, False, True, True]
    assert shown[2] == "warning: 9 packets lose 15 %."
    first = next(index for index, line in enumerate(shown) if line.startswith("  tc "))
    assert [line.strip() for line in shown[first - 2 : first]] == [f"warning: {loss}", f"warning: {starved}"]
    assert sum("the atlas knows." in line for line in shown) == 1
    assert sum(str(loss) in line for line in shown) == 2


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_column_is_left_out_at_any_width(met: Recommendation, width: int) -> None:
    shown = lines(met, width)
    assert all(len(line) <= width for line in shown if not line.startswith("  "))
    table = " ".join(" ".join(shown[next(i for i, line in enumerate(shown) if line.startswith("rule ")) :]).split())
    for heading in ("util.", "p99 delay", "bulk: loss", "background: p99 delay", "loss", "goodput", "rule verdict"):
        assert heading in table, heading
    assert "…" not in "".join(shown[1:]), "no number is cut"


def test_rules_that_do_not_apply_are_one_line(met: Recommendation) -> None:
    others = [rule for rule in met.rules if not rule.applies]
    sized = [rule.name for rule in others if rule.buffer is not None]
    assert len(sized) > 3
    brief = lines(met, 200)
    assert f"{len(others)} rules do not apply to this link; --verbose lists them." in brief
    assert not [line for line in brief if line.split(" ")[0] in sized]
    every = lines(met, 200, Detail.EVERYTHING)
    first = next(index for index, line in enumerate(every) if line.startswith("rule "))
    rows = [line.split()[0] for line in every[first + 2 : first + 2 + len(met.rules)] if line.strip()]
    assert set(sized) <= set(rows)
    assert rows.index("forebay") < min(rows.index(name) for name in sized)


def test_the_bdp_rule_says_how_many_packets_one_product_is(met: Recommendation) -> None:
    rule = next(rule for rule in met.rules if rule.name == "bdp")
    assert rule.buffer is not None
    bdp = met.scenario.core.bdp_packets
    assert bdp is not None
    assert rule.buffer.packets < 0.9 * bdp
    answer = dataclasses.replace(met, rules=(dataclasses.replace(rule, applies=True),))
    assert f"{rule.buffer.packets / bdp:.2g} BDP of the link (1 BDP is {round(bdp)} packets)" in words(answer)


def test_smaller_intervals_that_meet_the_goals_are_named(met: Recommendation) -> None:
    def curve(*numbers: int) -> tuple[CurvePoint, ...]:
        known = {point.buffer.packets: point for point in met.points}
        made = [CurvePoint(packets(number), 1, met.points[0].metrics, met.points[0].groups) for number in numbers]
        return tuple(known.get(point.buffer.packets, point) for point in made) + met.points[-1:]

    missed = packets(9)
    islands = tuple(FeasibleInterval(packets(number), missed) for number in (2, 3, 5))
    together = dataclasses.replace(met, feasible_intervals=islands, points=curve(1, 2, 3, 5, 9))
    assert "All goals are also met from 2 to 5 packets, but not at 9 packets" in words(together)
    apart = dataclasses.replace(met, feasible_intervals=islands, points=curve(1, 2, 3, 4, 5, 9))
    assert "All goals are also met from 2 to 3 packets, but not at 9 packets" in words(apart)
    assert "All goals are also met at 5 packets, but not at 9 packets" in words(apart)


# Without an answer -------------------------------------------------------------------------------------------------


def test_a_conflict_has_each_goal_at_three_buffers(conflict: Recommendation) -> None:
    shown = words(conflict, 200)
    assert shown.startswith("2 Mb/s, droptail: Small link No buffer meets every goal.")
    assert "smallest closest largest" in shown
    rows = {row.key: row for row in goal_rows(conflict)}
    assert rows["utilization"].smallest is not None
    assert (rows["utilization"].smallest.verdict, rows["queue_delay_p99"].smallest.verdict) == ("missed", "met")
    assert rows["queue_delay_p99"].largest is not None
    assert (rows["utilization"].largest.verdict, rows["queue_delay_p99"].largest.verdict) == ("met", "missed")


def test_every_limit_that_is_named_was_measured_as_met(conflict: Recommendation) -> None:
    for row in goal_rows(conflict):
        found = region(conflict, row)
        limits = [each for each in (found.low, found.high) if each is not None]
        assert limits
        for limit in limits:
            point = conflict.at(limit)
            assert point is not None
            measured = point.estimate(point.key(row.goal.name) or "")
            assert measured is not None
            assert row.goal.margin(measured.mean) >= 0


def test_a_goal_that_the_smallest_buffer_meets_is_not_called_missed_there(conflict: Recommendation) -> None:
    """The search's verdicts count: the sentence and the table never contradict each other."""
    delay = conflict.goals["queue_delay_p99"]
    smallest, largest = conflict.points[0].buffer, conflict.points[-1].buffer
    at = {
        "at_smallest": GoalAt(smallest, Estimate(0.0), "met", 1),
        "at_largest": GoalAt(largest, Estimate(0.0), "met", 1),
    }
    everywhere = tuple(
        dataclasses.replace(point, metrics={**point.metrics, "queue_delay_p99_s": Estimate(0.0)}, goals={})
        for point in conflict.points
    )
    answer = dataclasses.replace(
        conflict,
        goals={**conflict.goals, "queue_delay_p99": dataclasses.replace(delay, **at)},
        points=everywhere,
    )
    shown = words(answer, 200)
    sentences = shown.partition("goal")[0]
    assert "P99 delay" not in sentences
    assert "0 ms (1 run) met" in shown


def test_a_goal_that_no_measured_buffer_meets_is_printed_with_the_best_value(conflict: Recommendation) -> None:
    goals = {key: dataclasses.replace(goal, at_smallest=None, at_largest=None) for key, goal in conflict.goals.items()}
    low = tuple(
        dataclasses.replace(point, metrics={**point.metrics, "utilization": Estimate(0.5 + 0.01 * index)}, goals={})
        for index, point in enumerate(conflict.points)
    )
    shown = words(dataclasses.replace(conflict, points=low, goals=goals), 200)
    assert "The goal on utilization is missed at every measured buffer; the closest value is " in shown


def test_a_goal_that_is_undecided_at_an_end_is_not_called_missed_everywhere(conflict: Recommendation) -> None:
    smallest = conflict.points[0].buffer
    goals = {
        key: dataclasses.replace(goal, at_smallest=GoalAt(smallest, goal.measured, "undecided", 1))
        for key, goal in conflict.goals.items()
    }
    bad = {"utilization": Estimate(0.5), "queue_delay_p99_s": Estimate(1.0)}
    points = tuple(dataclasses.replace(point, metrics={**point.metrics, **bad}, goals={}) for point in conflict.points)
    answer = dataclasses.replace(conflict, goals=goals, points=points, verdict="undecided", between=None)
    assert "is missed at every measured buffer;" not in words(answer, 200)
    assert "the closest value" not in words(answer, 200)


def test_an_undecided_answer_names_the_range_and_the_reason(conflict: Recommendation) -> None:
    between = packets(682), packets(6000)
    late = Warning(Kind.TIME_OVER, "the time was over after 30 s")
    answer = dataclasses.replace(conflict, verdict="undecided", between=between, warnings=(late,))
    shown = words(answer)
    assert "Undecided: a buffer between 682 and 6,000 packets may meet every goal." in shown
    assert "The reason is: the time was over after 30 s." in shown
    assert "No buffer" not in shown
    assert "Undecided: the runs do not show whether" in words(dataclasses.replace(answer, between=None))


# Goodput -----------------------------------------------------------------------------------------------------------


def test_a_goodput_above_what_the_link_sent_says_why(met: Recommendation) -> None:
    assert met.buffer is not None
    at = met.at(met.buffer)
    assert at is not None
    excess = {**at.metrics, "utilization": Estimate(0.9), "goodput_bps": Estimate(1.9e6)}
    points = tuple(
        dataclasses.replace(point, metrics=excess) if point.buffer == met.buffer else point for point in met.points
    )
    shown = words(dataclasses.replace(met, points=points, goals={}), 300)
    assert "goodput 1.90 Mb/s (the link sent 1.80 Mb/s; after a loss, receivers also delivered" in shown
    assert shown.count("1.90 Mb/s (") == 2, "in the first lines, and in the cell of the table"
    assert "the link sent" not in words(met, 300)


def test_a_run_marks_a_goodput_above_what_the_link_sent() -> None:
    scenario = Scenario.parse(ABOVE)
    console = Console(width=80, record=True, file=io.StringIO())
    report = scenario.run(replications=1)
    assert report.metrics["goodput_bps"].mean > 20e6
    console.print(report_view(report, scenario, "a run"))
    line = next(line for line in console.export_text().splitlines() if line.strip().startswith("goodput"))
    assert "sent in the warm-up" in line


#: Losses before the measurement, whose gaps are filled in it.
ABOVE = """
[link]
rate = "20Mbps"
buffer = "40p"
[[flows]]
name = "bulk"
count = 40
cca = "cubic"
rtt = { uniform = ["8ms", "90ms"] }
packet = "1000B"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "1s"
measure = "5s"
seed = 3
"""


def test_a_goal_that_the_smallest_buffer_meets_is_not_met_last(met: Recommendation) -> None:
    """Fresh runs may refuse a buffer for such a goal, but a larger buffer does not bring it nearer."""
    assert "The goal utilization" in " ".join(lines(met))
    delay = next(key for key in met.goals if key.startswith("queue_delay"))
    refused = " ".join(lines(dataclasses.replace(met, binding_goal=delay)))
    assert "The goal utilization" in refused
    assert "The goal p99 delay" not in refused
