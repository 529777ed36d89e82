"""Keys that take words: the answer with each is that of a search of its own, and the best is picked honestly."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario, recommend
from forebay.goals import Goal
from forebay.search.answer import LowerEnd
from forebay.search.choice import Choice, cases, choice, for_each, of_all
from forebay.search.plan import Plan
from forebay.search.ranking import compared
from forebay.search.recommendation import Recommendation
from forebay.search.smallest import Search
from tests.conftest import SMALL, forebay
from tests.test_search import EDGE, Link, utilization

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
    ("over", "told"),
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
def test_what_is_no_choice_is_refused_before_anything_runs(over: list[str], told: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=r"^over: ") as raised:
        recommend(Scenario.parse(SMALL), over=over, progress=refuse)
    assert told in str(raised.value)


@given(st.floats(0.51, 0.999), st.integers(1, 64))
def test_the_best_of_several_has_the_confidence_that_was_asked_for(confidence: float, count: int) -> None:
    each = for_each(confidence, count)
    assert confidence <= each < 1
    assert of_all(each, count) == pytest.approx(confidence)
    assert of_all(None, count) is None
    assert of_all(0.2, 8) == 0.0, "never below nothing"


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
    places = []
    for each in answer.alternatives:
        (value,) = each.choice.values()
        scenario = Scenario.parse(SHORT, overrides=[f"flows.bulk.cca={value}"])
        alone = recommend(scenario, ["utilization>=90%"], confidence=for_each(0.95, 3))
        assert alone.buffer == each.recommendation
        assert alone.binding_goal == each.binding_goal
        assert alone.cost.replications == each.replications
        if alone.buffer is not None:
            assert each.confidence == pytest.approx(of_all(alone.confidence, 3))
            assert each.measured == alone.at(alone.buffer).metrics
            places.append(alone.buffer.packets)
            low = alone.feasible_from
            nearest = alone.buffer.packets if low is None else low.low.packets
            assert each.apart == (nearest > answer.buffer.packets)
        else:
            assert each.apart
    assert places == sorted(places), "the best first"
    assert answer.buffer.packets == places[0]
    assert answer.choice == answer.alternatives[0].choice
    assert answer.scenario.resolved["flows"][0]["cca"]["kind"] == answer.choice["flows.bulk.cca"]
    assert answer.cost.replications == sum(each.replications for each in answer.alternatives)


def test_what_may_lie_before_the_best_is_not_apart(answer: Recommendation) -> None:
    def at(packets: int, least: int) -> Recommendation:
        buffer, low = (answer.knob.sized(answer.scenario, count) for count in (packets, least))
        return replace(answer, buffer=buffer, feasible_from=LowerEnd(low, buffer, 0.8))

    best, alternatives = compared([{"n": str(n)} for n in range(4)], [at(9, 7), at(5, 4), at(6, 5), at(8, 6)])
    assert best == 1
    told = [(each.choice["n"], each.recommendation.packets, each.apart) for each in alternatives]
    assert told == [("1", 5, False), ("2", 6, False), ("3", 8, True), ("0", 9, True)]


def test_the_json_has_them(answer: Recommendation) -> None:
    told = json.loads(answer.to_json())
    assert told["choice"] == dict(answer.choice)
    assert [each["choice"] for each in told["alternatives"]] == [dict(each.choice) for each in answer.alternatives]
    assert told["alternatives"][0]["recommendation"] == told["recommendation"]
    assert "choice" not in recommend(Scenario.parse(SHORT), ["utilization>=90%"]).to_dict()


def test_a_choice_and_a_range_together() -> None:
    scenario = Scenario.parse(SHORT)
    goals = ["queue_delay_p99<=60ms", "utilization>=95%"]
    both = recommend(scenario, goals, over=["link.rate=1.2Mbps..12Mbps", "flows.bulk.cca=newreno,cubic"], largest=True)
    values = [each.recommendation.value for each in both.alternatives if each.recommendation is not None]
    assert values == sorted(values, reverse=True), "of the largest the largest is the best"
    assert both.setting.value == values[0]
    assert both.to_dict()["over"] == "link.rate=1.2Mbps..12Mbps"


def test_without_any_answer_the_nearest_miss_is_told(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SHORT, encoding="utf-8")
    told = forebay("recommend", path, "--over", CCA, "--goal", "utilization>=99.99%", "--goal", "queue_delay_p99<=5ms",
                   "--out", tmp_path, "--report", tmp_path / "page.html")  # fmt: skip
    assert told.code == 1
    assert told.out.count("nothing meets every goal") == 3
    assert "No buffer" in told.out
    assert "The answer with each choice" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_command_line_shows_the_best_first(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SHORT, encoding="utf-8")
    told = forebay("recommend", path, "--over", CCA, "--goal", "utilization>=90%", "--goal", "queue_delay_p99<=1s",
                   "--no-picture")  # fmt: skip
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("flows.bulk.cca"))
    table = lines[first + 2 : first + 5]
    assert "the best" in table[0]
    assert {line.split()[0] for line in table} == {"newreno", "cubic", "vegas"}
    assert f"with flows.bulk.cca = {table[0].split()[0]}" in told.out


def test_an_interrupted_comparison_goes_on(tmp_path: Path) -> None:
    def stop(done: int, _all: int) -> None:
        if done > 30:
            raise KeyboardInterrupt

    scenario = Scenario.parse(SHORT)
    whole = recommend(scenario, over=CCA).to_dict()
    with pytest.raises(KeyboardInterrupt):
        recommend(scenario, over=CCA, resume=tmp_path, progress=stop)
    resumed = recommend(scenario, over=CCA, resume=tmp_path).to_dict()
    assert resumed["cost"]["resumed"] >= 30, "those of the first searches, too"
    del whole["cost"], resumed["cost"]
    assert resumed == whole
