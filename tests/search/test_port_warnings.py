"""Warnings about the port at the answer: when they are given, and what they say of a larger buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from forebay import Scenario, check, recommend, size_port
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.search import answering
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import Outcome, Plan
from forebay.search.port_warnings import port_warnings
from forebay.search.smallest import Search

#: Ten flows of one group and thirty of another, each persistent; a tenth of the fair shares is 25 and 75 Mb/s.
PORT = """
[link]
rate = "1Gbps"
buffer = "500p"

[[flows]]
name = "few"
count = 10
rtt = "20ms"

[[flows]]
name = "many"
count = 30
rtt = "20ms"

[[flows]]
name = "web"
rtt = "20ms"
workload = { open_loop = { rate = "10Mbps", size = "20kB" } }

[run]
warmup = "1s"
measure = "1s"

[goal]
utilization = ">= 90%"
queue_delay_p99 = "<= 10ms"
"""

#: A measured buffer: loss, p99 delay, goodput of `few`, of `many`.
Row = tuple[float, float, float, float]
FINE: Row = (0.001, 1e-3, 240e6, 700e6)


def warned(
    curve: Mapping[int, Row], answer: int | None, *changes: str, text: str = PORT, ended: Outcome | None = None
) -> dict[str, Warning]:
    """The warnings of a search that measured this curve and ended with this answer, or in another way."""
    scenario = Scenario.parse(text).changed(*changes)
    measure = Measurements(BufferVariable(scenario), Means("test"))
    measure.reports = {(buffer, 0): report(*row) for buffer, row in curve.items()}
    search = Search(measure, scenario.goals, Plan(1, 1000, 4000))
    found = port_warnings(Evidence(search, ended or Outcome(buffer=answer), measure, BufferVariable(scenario)))
    return {f"{each.kind} {each.subject}".strip(): each for each in found}


def report(loss: float, delay: float, few: float, many: float) -> Report:
    def means(**values: float) -> dict[str, Any]:
        return {name: {"mean": value} for name, value in values.items()}

    groups = [
        {"name": name, "flows": 1, "metrics": means(goodput_bps=goodput)}
        for name, goodput in (("few", few), ("many", many), ("web", 1e5))
    ]
    metrics = means(utilization=0.99, queue_delay_p99_s=delay, loss_rate=loss)
    return Report.of({"engine": "test", "metrics": metrics, "groups": groups, "warnings": []})


def test_a_port_without_fault_is_not_warned_of() -> None:
    assert warned({20: FINE, 300: FINE}, 20) == {}
    assert warned({20: FINE}, None) == {}, "without an answer there is no port"


def test_without_a_decision_the_buffer_nearest_to_all_goals_is_warned_of() -> None:
    lossy = {30: (0.15, 1e-3, 240e6, 700e6), 250: (0.14, 4e-3, 240e6, 700e6)}
    (found,) = warned(lossy, None, ended=Outcome(compromise=30)).values()
    assert found.kind is Kind.HIGH_LOSS
    assert found.values["at"] == 30.0
    assert warned(lossy, None, ended=Outcome(impossible=True, compromise=30)) == {}


def test_high_loss_is_warned_of_with_the_smallest_buffer_that_helps() -> None:
    curve = {30: (0.15, 1e-3, 240e6, 700e6), 100: (0.05, 2e-3, 240e6, 700e6), 250: (0.004, 4e-3, 240e6, 700e6)}
    (found,) = warned(curve, 30).values()
    assert found.kind is Kind.HIGH_LOSS
    assert found.urgent
    assert found.startswith("15 % of the packets are lost at 30 packets.")
    assert "A larger buffer helps: 0.4 % at 250 packets, and all goals are met there." in found
    assert found.values == {"loss_rate": pytest.approx(0.15), "at": 30.0}


def test_a_buffer_that_lowers_the_loss_but_misses_a_goal_is_named_as_such() -> None:
    curve = {30: (0.15, 1e-3, 240e6, 700e6), 900: (0.004, 50e-3, 240e6, 700e6)}
    assert "0.4 % at 900 packets, but a goal is missed there." in warned(curve, 30)["high_loss"]


def test_a_larger_buffer_that_loses_as_much_does_not_help() -> None:
    curve = {30: (0.12, 1e-3, 240e6, 700e6), 332: (0.11, 4e-3, 240e6, 700e6)}
    assert "A larger buffer does not help: the loss is 11 % at 332 packets." in warned(curve, 30)["high_loss"]
    part = {**curve, 500: (0.04, 4e-3, 240e6, 700e6)}
    assert "A larger buffer helps partly: 4 % at 500 packets" in warned(part, 30)["high_loss"]
    assert "A larger buffer was not measured." in warned({30: curve[30]}, 30)["high_loss"]


@pytest.mark.parametrize(
    ("goals", "expected"),
    [
        (['goal.loss_rate="<= 20%"'], False),
        (['goal."few.loss_rate"="<= 20%"'], True),
        ([f'goal."{name}.loss_rate"="<= 20%"' for name in ("few", "many", "web")], False),
    ],
)
def test_loss_that_a_goal_limits_is_not_warned_of(goals: list[str], *, expected: bool) -> None:
    text = PORT + "\n".join(goal.removeprefix("goal.") for goal in goals)
    curve = {30: (0.12, 1e-3, 240e6, 700e6), 332: (0.11, 4e-3, 240e6, 700e6)}
    scenario = Scenario.parse(text)
    measure = Measurements(BufferVariable(scenario), Means("test"))
    measure.reports = {(buffer, 0): with_group_loss(report(*row)) for buffer, row in curve.items()}
    search = Search(measure, scenario.goals, Plan(1, 1000, 4000))
    found = port_warnings(Evidence(search, Outcome(buffer=30), measure, BufferVariable(scenario)))
    assert [each.kind for each in found] == ([Kind.HIGH_LOSS] if expected else [])


def with_group_loss(found: Report) -> Report:
    data = found.to_dict()
    for group in data["groups"]:
        group["metrics"]["loss_rate"] = {"mean": 0.1}
    return Report.of(data)


def test_a_starved_group_of_persistent_flows_is_named() -> None:
    curve = {30: (0.0, 1e-3, 20e6, 900e6), 300: (0.0, 4e-3, 100e6, 800e6)}
    found = warned(curve, 30)
    assert list(found) == ["starved_group few"], "`web` sends what it has"
    text = found["starved_group few"]
    assert "Group `few` gets 20.0 Mb/s at 30 packets" in text
    assert "share of 250 Mb/s" in text
    assert "A larger buffer helps: the group gets 100 Mb/s at 300 packets, and all goals are met there." in text
    same = {**curve, 300: (0.0, 4e-3, 21e6, 900e6)}
    assert (
        "A larger buffer does not help: the group gets at most 21.0 Mb/s, at 300 packets."
        in warned(same, 30)["starved_group few"]
    )


@pytest.mark.parametrize("limit", ['access = { rate = "3Mbps" }', 'receive_window = "5p"'])
def test_a_group_that_limits_itself_does_not_starve(limit: str) -> None:
    text = PORT.replace('name = "few"\n', f'name = "few"\n{limit}\n')
    assert warned({30: (0.0, 1e-3, 24e6, 900e6)}, 30, text=text) == {}
    assert list(warned({30: (0.0, 1e-3, 1e6, 900e6)}, 30, text=text)) == ["starved_group few"]


@pytest.mark.parametrize(
    ("packets", "rate", "expected"), [(19, "1Gbps", True), (20, "1Gbps", False), (19, "900Mbps", False)]
)
def test_few_packets_at_a_high_rate_are_warned_of(packets: int, rate: str, *, expected: bool) -> None:
    found = warned({packets: FINE, 300: FINE}, packets, f"link.rate={rate}")
    assert list(found) == (["tiny_buffer"] if expected else [])
    if expected:
        text = found["tiny_buffer"]
        assert text.startswith("19 packets are a small buffer at 1 Gb/s")
        assert "A larger buffer" in text


def test_a_real_port_of_few_packets_and_much_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peering port where utilization alone is asked for: the smallest buffer of all meets the goal."""
    text = (
        PORT.replace("count = 10", 'count = 12\ncca = "bbr"\naccess = { rate = "1Gbps" }')
        .replace("count = 30", 'count = 18\ncca = "cubic"\naccess = { rate = "1Gbps" }')
        .replace('rtt = "20ms"', 'rtt = { uniform = ["5ms", "60ms"] }\nstart = { uniform = ["0s", "1s"] }', 2)
        .partition("queue_delay_p99")[0]
    )
    seen: list[Evidence] = []
    known = answering.warnings

    def keep(finished: Evidence) -> tuple[Warning, ...]:
        seen.append(finished)
        return known(finished)

    monkeypatch.setattr(answering, "warnings", keep)
    answer = recommend(Scenario.parse(text), quick=True)
    assert answer.buffer is not None
    assert answer.packets < 20
    at = answer.at(answer.buffer)
    assert at is not None
    found = {each.kind: each for each in port_warnings(seen[-1])}
    assert Kind.TINY_BUFFER in found
    assert (Kind.HIGH_LOSS in found) == (at.metrics["loss_rate"].mean > 0.01)
    assert found[Kind.TINY_BUFFER].values["packets"] == answer.packets


FABRIC = """
[fabric]
kind = "leaf_spine"
leaves = 3
spines = 2
hosts = 12
[fabric.port]
rate = "25Gbps"
buffer = "2MB"
cable = "99m"
[fabric.uplink]
rate = "50Gbps"
[fabric.spine_port]
rate = "50Gbps"
[[flows]]
name = "exchange"
packet = "1500B"
initial_window = "10000p"
workload = { all_to_all = { size = "1460kB" } }
[run]
warmup = "0s"
measure = "2ms"
[goal]
loss_rate = "<= 0"
"""


@pytest.mark.parametrize(("goal", "expected"), [("loss_rate<=0", True), ("loss_rate<=0.5", False)])
def test_losses_at_links_that_the_goal_is_not_about_are_in_the_first_lines(goal: str, *, expected: bool) -> None:
    report = check(Scenario.parse(FABRIC), goals=[goal], replications=2)
    found = [warning for warning in report.warnings if warning.kind is Kind.LOSS_ELSEWHERE]
    assert bool(found) is expected
    assert all(warning.urgent and warning.values["loss_rate"] > 0.01 for warning in found)
    assert report.buffers[0].metrics["loss_rate"].mean == 0.0


CIRCLE = (
    "".join(
        f"""
[[links]]
name = "l{number}"
rate = "10Gbps"
delay = "1us"
buffer = "1MB"
pfc = {{ xoff = "30kB", xon = "20kB", headroom = "40kB", response = "1us" }}
{"target = true" if number == 0 else ""}
[[flows]]
name = "f{number}"
path = ["l{number}", "l{(number + 1) % 3}", "l{(number + 2) % 3}"]
rtt = "20us"
initial_window = "1000p"
receive_window = "1000p"
start = "0s"
access = {{ rate = "10Gbps" }}
"""
        for number in range(3)
    )
    + '[run]\nwarmup = "0s"\nmeasure = "5ms"\n[goal]\nloss_rate = "<= 0"\n'
)


def test_a_deadlock_misses_every_goal_and_stands_before_its_consequences() -> None:
    report = check(Scenario.parse(CIRCLE))
    assert report.buffers[0].metrics["loss_rate"].mean == 0.0
    assert report.verdict == "missed"
    urgent = [warning.kind for warning in report.warnings if warning.urgent]
    assert urgent == [Kind.DEADLOCK]


def test_no_headroom_is_recommended_for_a_network_in_a_deadlock() -> None:
    answer = size_port(Scenario.parse(CIRCLE), quick=True)
    assert not answer.feasible
    assert Kind.DEADLOCK in {warning.kind for warning in answer.warnings}
