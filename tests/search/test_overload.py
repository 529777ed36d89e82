"""A link that is overloaded for good loses at least the excess, whatever a short run shows."""

from __future__ import annotations

import pytest

from forebay import Scenario, check, recommend
from forebay.results.warning import Kind
from forebay.search.overload import Overload

OVERLOADED = """
[link]
rate = "2Mbps"
buffer = "20p"
[[flows]]
name = "background"
packet = "1000B"
workload = { poisson = { rate = "2.4Mbps" } }
[run]
warmup = "1s"
measure = "5s"
[goal]
loss_rate = "<= 5%"
"""
BASE = Scenario.parse(OVERLOADED)
#: 1 - 2 / 2.4.
LEAST = 1 / 6
#: A second group, to append to the flows.
ANOTHER = '[[flows]]\nname = "other"\npacket = "{size}"\nworkload = {{ cbr = {{ rate = "1Mbps" }} }}\n{more}\n[run]'


def another(size: str = "1000B", more: str = "") -> Scenario:
    """The scenario with a second group of constant rate, which makes 3.4 Mb/s of it."""
    return Scenario.parse(OVERLOADED.replace("[run]", ANOTHER.format(size=size, more=more)))


@pytest.mark.parametrize("buffer", ["1p", "20p", "250p"])
@pytest.mark.parametrize("arrivals", ["poisson = { rate = '2.4Mbps' }", "cbr = { rate = '2.4Mbps' }"])
def test_a_long_run_loses_at_least_the_excess(buffer: str, arrivals: str) -> None:
    text = OVERLOADED.replace('poisson = { rate = "2.4Mbps" }', arrivals)
    report = Scenario.parse(text, overrides=[f"link.buffer={buffer}", "run.measure=300s"]).run()
    # 250 packets are a second of the link, of 300 measured; arrivals of 300 s vary by 0.4 %.
    assert report.metrics["loss_rate"].mean >= LEAST - 0.01


def test_the_bound_is_that_of_the_load() -> None:
    assert Overload(BASE).least_loss == pytest.approx(LEAST)
    assert Overload(another()).least_loss == pytest.approx(1 - 2 / 3.4)


def test_packets_of_several_sizes_and_framing_weaken_and_strengthen_the_bound() -> None:
    mixed = another("200B")
    assert 0 < Overload(mixed).least_loss < 1 - 2 / 3.4
    # With 38 bytes of framing for each, 1,000 bytes take as long as 1,038.
    framed = BASE.changed("link.rate_layer=l1", "flows.background.workload.poisson.rate=2Mbps")
    assert Overload(framed).least_loss == pytest.approx(1 - 1000 / 1038)
    for scenario in (mixed, framed):
        measured = scenario.changed("run.measure=200s", "link.buffer=20p").run().metrics["loss_rate"].mean
        assert measured >= Overload(scenario).least_loss - 0.01


def test_a_drawn_number_of_flows_counts_if_the_smallest_overloads_the_link() -> None:
    flows = "{ on_off = { peak = '600kbps', on = { exponential = '100ms' }, off = { exponential = '100ms' } } }"
    text = OVERLOADED.replace('{ poisson = { rate = "2.4Mbps" } }', f"{flows}\ncount = {{ choice = [8, 16] }}")
    assert Overload(Scenario.parse(text)).least_loss == pytest.approx(LEAST)
    assert not Overload(Scenario.parse(text.replace("[8, 16]", "[4, 16]"))).goals


def test_a_buffer_that_holds_the_excess_of_a_short_run_is_no_answer() -> None:
    answer = recommend(BASE)
    assert (answer.verdict, answer.buffer, answer.between) == ("undecided", None, None)
    (warning,) = [each for each in answer.warnings if each.kind is Kind.OVERLOADED]
    assert warning.urgent
    assert warning.values["least_loss"] == pytest.approx(LEAST)
    assert answer.configured is not None
    assert answer.configured.verdict == "missed"


def test_the_configured_buffer_does_not_meet_the_goal_either() -> None:
    answer = recommend(BASE.changed("link.buffer=400p"))
    assert answer.configured is not None
    assert answer.configured.verdict == "undecided"


def test_check_says_no_or_undecided() -> None:
    report = check(BASE, buffers=["20p", "400p"])
    assert [each.verdict for each in report.buffers] == ["missed", "undecided"]
    assert Kind.OVERLOADED in {each.kind for each in report.warnings}


def test_goals_that_permit_the_excess_are_answered() -> None:
    answer = recommend(BASE.changed("goal.loss_rate=<= 25%"))
    assert answer.verdict == "met"
    assert Kind.OVERLOADED not in {each.kind for each in answer.warnings}


def test_a_goal_on_delay_that_no_such_buffer_meets_still_excludes_all() -> None:
    answer = recommend(BASE, ["queue_delay_p99<=20ms"])
    assert answer.verdict == "impossible"


def test_the_loss_of_the_only_group_is_that_of_the_link() -> None:
    scenario = Scenario.parse(OVERLOADED.replace("loss_rate", '"background.loss_rate"'))
    assert [goal.name for goal in Overload(scenario).goals] == ["background.loss_rate"]
    alone = Scenario.parse(
        OVERLOADED.replace("loss_rate", '"background.loss_rate"').replace(
            "[run]", ANOTHER.format(size="1000B", more="")
        )
    )
    assert not Overload(alone).goals


@pytest.mark.parametrize(
    "scenario",
    [
        BASE.changed("flows.background.workload.poisson.rate=1.9Mbps"),
        BASE.changed("flows.background.stop=3s"),
        BASE.changed("flows.background.start=3s"),
        BASE.changed("run.measure=5s", "link.loss={random=0.01}"),
        BASE.changed('link.rate={ steps = [["0s", "1Mbps"], ["1s", "20Mbps"]] }'),
        BASE.changed("flows.background.count={ uniform = [1, 3] }"),
        another(more='stop = "3s"'),
    ],
    ids=[
        "below the rate",
        "ends",
        "begins late",
        "other losses",
        "a changing rate",
        "a drawn number",
        "one of two ends",
    ],
)
def test_nothing_is_derived_from_a_load_that_does_not_last_or_bounds_nothing(scenario: Scenario) -> None:
    assert not Overload(scenario).goals
