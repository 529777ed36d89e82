"""Keys that take words: the answer with each is that of a search of its own, and the best is picked honestly."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from forebay import InputError, Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.results.report import Estimate
from forebay.search.answer_parts import Conflict, CurvePoint, JudgedGoal, Side
from forebay.search.choice import Choice, cases, choice, for_each, of_all
from forebay.search.plan import Plan
from forebay.search.ranking import compared
from forebay.search.recommendation import Recommendation
from forebay.search.smallest import Search
from forebay.views.recommendation_text import recommendation_text
from forebay.views.wording import comparison_with_best
from tests.support.commands import forebay
from tests.support.noisy_links import EDGE, Link, utilization
from tests.support.scenarios import SMALL

SHORT = SMALL.replace("30s", "8s")
CCA = "flows.bulk.cca=newreno,cubic,vegas"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("flows.*.cca=cubic,bbr, bbr3", Choice("flows.*.cca", ("cubic", "bbr", "bbr3"))),
        ('link.queue={ kind = "codel", target = "3ms" },droptail',
         Choice("link.queue", ('{ kind = "codel", target = "3ms" }', "droptail"))),
        ("link.rate=1Mbps..2Mbps", None),
        ("link.rate=1Mbps", None),
        ("link.buffer", None),
    ],
)  # fmt: skip
def test_a_list_is_read(text: str, found: Choice | None) -> None:
    assert choice(text) == found


def test_every_combination_is_a_case() -> None:
    scenario = Scenario.parse(SMALL)
    assert cases(scenario, []) == [({}, scenario)]
    found = cases(scenario, [Choice("link.queue", ("droptail", "codel")), Choice("flows.bulk.cca", ("cubic", "bbr"))])
    assert [tuple(chosen.values()) for chosen, _ in found] == [
        ("droptail", "cubic"),
        ("droptail", "bbr"),
        ("codel", "cubic"),
        ("codel", "bbr"),
    ]
    for chosen, case in found:
        assert case.core.queue == chosen["link.queue"]
        assert case.resolved["flows"][0]["cca"]["kind"] == chosen["flows.bulk.cca"]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (["link.queue=droptail,codle"], "over: unknown queue `codle`; did you mean `codel`?"),
        (["link.queue=droptail,,codel"], "over: link.queue: found `droptail,,codel`; allowed: different values"),
        (["link.queue=codel,codel"], "allowed: different values"),
        (["link.queue=codel,red", "link.queue=pie,red"], "over: found `link.queue` twice; allowed: each key once"),
        (["link.rate=1Mbps..2Mbps", "link.buffer"], "allowed: one key that is varied"),
        (
            [f"flows.bulk.initial_window={','.join(f'{n}p' for n in range(1, 10))}",
             f"flows.bulk.packet={','.join(f'{n}00B' for n in range(2, 10))}"],
            "allowed: at most 64",
        ),
    ],
)  # fmt: skip
def test_what_is_no_choice_is_refused_before_anything_runs(over: list[str], message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=r"^over: ") as raised:
        recommend(Scenario.parse(SMALL), over=over, progress=refuse)
    assert message in str(raised.value)


@given(st.floats(0.51, 0.999), st.integers(1, 64))
def test_the_best_of_several_has_the_requested_confidence(confidence: float, count: int) -> None:
    each = for_each(confidence, count)
    assert confidence <= each < 1
    assert of_all(each, count, confidence) == pytest.approx(confidence)
    assert of_all(None, count, confidence) is None
    assert of_all(0.96, count, confidence) <= 0.96, "no more than its runs carry"


@pytest.mark.long
def test_picking_the_smallest_of_equals_misses_no_more_often_than_stated() -> None:
    """The smallest of eight noisy answers about one edge flatters itself; each has an eighth of the error."""
    wrong, searches = 0, 60
    for seed in range(searches):
        found = []
        for each in range(8):
            link = Link({"utilization": utilization}, noise=0.03, seed=1000 * each + seed)
            plan = Plan(smallest=1, largest=1000, ceiling=8000, confidence=for_each(0.95, 8))
            outcome = Search(link, [Goal("utilization", ">=", 0.9)], plan).run()
            if outcome.buffer is not None:
                found.append(outcome.buffer)
        wrong += min(found) < EDGE
    assert wrong / searches <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / searches)


@pytest.fixture(scope="module")
def answer() -> Recommendation:
    return recommend(Scenario.parse(SHORT), ["utilization>=90%"], over=CCA)


def test_each_answer_is_that_of_a_search_of_its_own(answer: Recommendation) -> None:
    assert [dict(each.choice)["flows.bulk.cca"] for each in answer.alternatives] != []
    delays = []
    for each in answer.alternatives:
        (value,) = each.choice.values()
        scenario = Scenario.parse(SHORT, overrides=[f"flows.bulk.cca={value}"])
        alone = recommend(scenario, ["utilization>=90%"], confidence=for_each(0.95, 3))
        assert alone.buffer == each.recommendation
        assert alone.binding_goal == each.binding_goal
        assert alone.cost.replications >= each.replications, "alone it asks for more runs"
        if alone.buffer is not None:
            assert each.confidence is not None
            assert 0.95 <= each.confidence <= alone.confidence
            at = alone.at(alone.buffer)
            assert at is not None
            assert each.measured.keys() == at.metrics.keys()
            assert (each.goals_met, each.goals_total, each.nearest) == (2, 2, None)
            delays.append(at.metrics["queue_delay_p99_s"].mean)
        else:
            assert each.significantly_worse
    assert delays == sorted(delays), "the best first"
    assert answer.buffer == answer.alternatives[0].recommendation
    assert answer.choice == answer.alternatives[0].choice
    assert answer.scenario.resolved["flows"][0]["cca"]["kind"] == answer.choice["flows.bulk.cca"]
    assert answer.cost.replications == sum(each.replications for each in answer.alternatives)


def judged(answer: Recommendation, *goals: tuple[str, float, float, float]) -> Recommendation:
    """The answer with these goals: name, threshold, mean and half width at the answer; each is an upper bound."""
    found = {}
    for name, threshold, mean, half in goals:
        goal = Goal(name, "<=", threshold)
        slack = goal.margin(mean)
        found[name] = JudgedGoal(goal, None, None, 9, Estimate(mean, half), slack, slack >= 0, 0.95, False)
    return replace(answer, goals=found)


def order(*answers: Recommendation) -> list[tuple[str, bool]]:
    """The numbers of the answers from the best on, and whether each is told apart from the best."""
    _, found = compared([{"n": str(number)} for number in range(len(answers))], answers, 0.95)
    return [(each.choice["n"], each.significantly_worse) for each in found]


def test_more_margin_on_delay_is_better_than_a_smaller_buffer(answer: Recommendation) -> None:
    """A call's p99 delay of 28 ms with 133 packets is worse than 0.4 ms with 209 where at most 30 ms are asked for."""
    small, large = (replace(answer, buffer=answer.variable.sized(packets)) for packets in (133, 209))
    slow = judged(small, ("call.queue_delay_p99", 0.03, 0.0284, 0.0002))
    quick = judged(large, ("call.queue_delay_p99", 0.03, 0.0004, 0.0001))
    assert order(slow, quick) == [("1", False), ("0", True)]


def test_overlapping_intervals_are_not_ranked(answer: Recommendation) -> None:
    found = [judged(answer, ("loss_rate", 0.01, mean, 0.001)) for mean in (0.005, 0.004, 0.0065)]
    assert order(*found) == [("1", False), ("0", False), ("2", True)]


def test_the_goal_with_the_least_margin_decides(answer: Recommendation) -> None:
    even = judged(answer, ("loss_rate", 0.01, 0.005, 0.0), ("queue_delay_p99", 0.1, 0.05, 0.0))
    odd = judged(answer, ("loss_rate", 0.01, 0.009, 0.0), ("queue_delay_p99", 0.1, 0.001, 0.0))
    assert order(odd, even) == [("1", False), ("0", True)]


def test_more_goals_met_come_before_a_nearer_miss(answer: Recommendation) -> None:
    none = replace(answer, buffer=None)
    both_near = judged(none, ("loss_rate", 0.01, 0.0101, 0.0), ("queue_delay_p99", 0.1, 0.101, 0.0))
    one_far = judged(none, ("loss_rate", 0.01, 0.09, 0.0), ("queue_delay_p99", 0.1, 0.05, 0.0))
    one_near = judged(none, ("loss_rate", 0.01, 0.02, 0.0), ("queue_delay_p99", 0.1, 0.05, 0.0))
    met = judged(answer, ("loss_rate", 0.01, 0.01, 0.0), ("queue_delay_p99", 0.1, 0.1, 0.0))
    assert [number for number, _ in order(both_near, one_far, met, one_near)] == ["2", "3", "1", "0"]


def undecided(answer: Recommendation, *goals: tuple[str, float, float, float]) -> Recommendation:
    """The same without an answer, and without a proof that there is none: the nearest miss has these figures."""
    assert answer.buffer is not None
    side = Side((), None)
    nearest = Conflict(side, side, answer.buffer, answer.buffer, ())
    return replace(judged(answer, *goals), buffer=None, verdict="undecided", conflict=nearest)


def test_an_undecided_choice_comes_first_if_its_figures_are_clearly_better(answer: Recommendation) -> None:
    slow = judged(answer, ("queue_delay_p99", 0.03, 0.0284, 0.0002))
    quick = undecided(answer, ("queue_delay_p99", 0.03, 0.0004, 0.0001))
    assert order(slow, quick) == [("1", False), ("0", True)]


def test_a_confirmed_choice_comes_first_if_both_are_close(answer: Recommendation) -> None:
    confirmed = judged(answer, ("queue_delay_p99", 0.03, 0.0200, 0.001))
    open_one = undecided(answer, ("queue_delay_p99", 0.03, 0.0195, 0.001))
    assert order(open_one, confirmed) == [("1", False), ("0", False)]


def test_an_undecided_choice_on_the_edge_of_a_goal_comes_after_a_confirmed_one(answer: Recommendation) -> None:
    """Its mean loss is hardly below the goal, so that it may miss the goal, and its delay does not count."""
    goals = ("loss_rate", 0.01, 0.0099, 0.001), ("queue_delay_p99", 0.03, 0.0004, 0.0001)
    on_edge = undecided(answer, *goals)
    confirmed = judged(answer, ("loss_rate", 0.01, 0.00995, 0.0), ("queue_delay_p99", 0.03, 0.02, 0.0))
    assert [number for number, _ in order(on_edge, confirmed)] == ["1", "0"]


def test_an_impossible_choice_comes_after_an_undecided_one(answer: Recommendation) -> None:
    goal = ("queue_delay_p99", 0.03, 0.02, 0.0)
    never = replace(undecided(answer, goal), verdict="impossible")
    assert [number for number, _ in order(never, undecided(answer, goal))] == ["1", "0"]


def test_the_table_says_that_the_best_is_not_confirmed(answer: Recommendation) -> None:
    slow = judged(answer, ("queue_delay_p99", 0.03, 0.0284, 0.0002))
    quick = undecided(answer, ("queue_delay_p99", 0.03, 0.0004, 0.0001))
    _, found = compared([{"n": "slow"}, {"n": "quick"}], [slow, quick], 0.95)
    shown = replace(quick, alternatives=found)
    assert [comparison_with_best(shown, number) for number in range(2)] == ["the best, not confirmed", "worse"]


def test_a_choice_that_is_worse_in_everything_is_dominated(answer: Recommendation) -> None:
    def measured(utilization: float, delay: float) -> Recommendation:
        values = {"utilization": utilization, "loss_rate": 0.01, "queue_delay_p99_s": delay, "goodput_bps": 1e6}
        point = CurvePoint(answer.buffer, 4, {name: Estimate(value) for name, value in values.items()}, {})
        return replace(answer, points=(point,))

    _, found = compared(
        [{"n": str(number)} for number in range(3)],
        [measured(0.95, 0.02), measured(0.99, 0.03), measured(0.94, 0.04)],
        0.95,
    )
    assert {each.choice["n"]: each.on_front for each in found} == {"0": True, "1": True, "2": False}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_of_choices_has_every_metric_at_any_width(answer: Recommendation, width: int) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(recommendation_text(answer))
    shown = console.export_text()
    table = shown[shown.index("flows.bulk.cca   packets") :]
    table = table[: table.index("\nrule ")]
    for heading in ("util.", "loss", "p99 delay", "goodput", "goals met", "dominated", "compared with the best"):
        assert heading in table
    assert table.count("newreno") >= 1


def test_the_json_has_them(answer: Recommendation) -> None:
    data = json.loads(answer.to_json())
    assert data["choice"] == dict(answer.choice)
    assert [each["choice"] for each in data["alternatives"]] == [dict(each.choice) for each in answer.alternatives]
    assert data["alternatives"][0]["recommendation"] == data["recommendation"]
    assert "choice" not in recommend(Scenario.parse(SHORT), ["utilization>=90%"]).to_dict()


def test_a_choice_and_a_range_together() -> None:
    scenario = Scenario.parse(SHORT)
    goals = ["queue_delay_p99<=60ms", "utilization>=95%"]
    both = recommend(scenario, goals, over=["link.rate=1.2Mbps..12Mbps", "flows.bulk.cca=newreno,cubic"], largest=True)
    values = [each.recommendation.value for each in both.alternatives if each.recommendation is not None]
    assert values == sorted(values, reverse=True), "of the largest the largest is the best"
    assert both.setting.value == values[0]
    assert both.to_dict()["over"] == "link.rate=1.2Mbps..12Mbps"


def test_without_an_answer_the_nearest_miss_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SHORT, encoding="utf-8")
    done = forebay("recommend", path, "--over", CCA, "--goal", "utilization>=99.99%", "--goal", "queue_delay_p99<=5ms",
                   "--out", tmp_path, "--report", tmp_path / "page.html")  # fmt: skip
    assert done.code == 1
    table = done.out[done.out.index("compared with the best") :].partition("With the configured buffer")[0]
    assert table.count("misses") == 3
    assert table.count("closest") == 1
    assert "No buffer" in done.out
    assert "Results of each alternative" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_command_line_shows_the_best_first(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SHORT, encoding="utf-8")
    result = forebay("recommend", path, "--over", CCA, "--goal", "utilization>=90%", "--goal", "queue_delay_p99<=1s",
                   "--no-picture")  # fmt: skip
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("flows.bulk.cca"))
    table = lines[first + 2 : first + 5]
    assert "the best" in table[0] or "no clear difference" in table[0]
    assert {line.split()[0] for line in table} == {"newreno", "cubic", "vegas"}
    assert f"with flows.bulk.cca = {table[0].split()[0]}" in result.out


def test_an_interrupted_comparison_goes_on(tmp_path: Path) -> None:
    def stop(done: int, _all: int) -> None:
        if done > 30:
            raise KeyboardInterrupt

    scenario = Scenario.parse(SHORT)
    uninterrupted = recommend(scenario, over=CCA).to_dict()
    with pytest.raises(KeyboardInterrupt):
        recommend(scenario, over=CCA, resume=tmp_path, progress=stop)
    resumed = recommend(scenario, over=CCA, resume=tmp_path).to_dict()
    assert resumed["cost"]["cached_runs"] >= 30, "those of the first searches, too"
    del uninterrupted["cost"], resumed["cost"]
    assert resumed == uninterrupted
