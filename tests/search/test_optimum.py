"""The best value of a metric: what is said of it holds on systems whose optimum is known, and in whole answers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from forebay import InputError, Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.search.optimum import Best, Optimizing, _vertex
from forebay.search.search_state import SearchState
from tests.support.commands import forebay
from tests.support.optima import FAIRNESS, LOSS, PLAN, Link
from tests.support.scenarios import SMALL

SHORT = SMALL.replace("30s", "8s")


def sought(link: Link, objective: Goal = LOSS, goals: Sequence[Goal] = (), ends: tuple[int, int] = (1, 1000)) -> Best:
    return Optimizing(SearchState(link, [objective], PLAN), objective, goals, 0.95).best(*ends)


#: Systems with the place of their lowest value; a flat one has none.
SYSTEMS: dict[str, tuple[Callable[[int], float], int | None]] = {
    "wide": (lambda place: math.log(place / 80) ** 2, 80),
    "narrow": (lambda place: 10 * math.log(place / 300) ** 2, 300),
    "lopsided": (lambda place: place / 50 + 50 / place, 50),
    "kinked": (lambda place: abs(math.log(place / 20)), 20),
    "rising": (math.log, 1),
    "falling": (lambda place: 1 - place / 2000, 1000),
    "flat": (lambda _place: 1.0, None),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_the_interval_of_the_optimum_covers_it_at_the_stated_rate(name: str, noise: float) -> None:
    """In 95 of 100 searches at least (three standard errors allowed); of a flat one nothing is claimed."""
    mean, best = SYSTEMS[name]
    searches, held, lost = 100, 0, []
    for seed in range(searches):
        found = sought(Link(mean, noise, seed))
        held += (found.low, found.high) == (1, 1000) if best is None else found.low <= best <= found.high
        lost.append(mean(found.candidates[0]) - (mean(best) if best else 1.0))
        assert (
            found.low
            <= min(found.indistinguishable)
            <= found.candidates[0]
            <= max(found.indistinguishable)
            <= found.high
        )
    assert held / searches >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / searches)
    assert np.median(lost) < noise / math.sqrt(16), "as good but for the standard error of what a place has at most"


@pytest.mark.parametrize("name", ["wide", "narrow", "lopsided", "kinked", "rising", "falling"])
def test_without_noise_the_best_is_found_to_within_the_resolution(name: str) -> None:
    mean, best = SYSTEMS[name]
    assert best is not None
    for objective, link in ((LOSS, Link(mean, 0.0)), (FAIRNESS, Link(mean, 0.0))):
        found = sought(link, objective)
        assert found.low <= best <= found.high
        assert found.high <= max(found.low * 1.05**2 * 1.05, found.low + 2)
        assert abs(math.log(found.candidates[0] / best)) <= math.log(1.05)


def test_more_noise_is_a_wider_interval_and_never_the_same_replication_twice() -> None:
    widths = []
    for noise in (0.02, 0.2, 1.0):
        link = Link(SYSTEMS["wide"][0], noise)
        found = sought(link)
        widths.append(found.high / found.low)
        assert len(set(link.asked)) == len(link.asked)
    assert widths == sorted(widths)
    assert widths[-1] > 4 * widths[0]


def test_what_was_seen_before_is_gone_on_from() -> None:
    """Places that a search has measured get replications of new numbers, and no more than they lack."""
    link = Link(SYSTEMS["wide"][0], 0.3)
    known = SearchState(link, [LOSS], PLAN)
    known.sample([1, 1000], 3)
    Optimizing(known, LOSS, [], 0.95).best(1, 1000)
    assert len(set(link.asked)) == len(link.asked)
    assert sum(place == 1 for place, _ in link.asked) == 4


@pytest.mark.parametrize("top", [-3.0, 0.0, 5.5])
def test_a_parabola_has_its_vertex_where_it_is_highest(top: float) -> None:
    points = [(x, 7 - 2 * (x - top) ** 2) for x in (-1.0, 0.0, 0.5, 4.0)]
    assert _vertex(points) == pytest.approx(top)
    assert _vertex([(x, -y) for x, y in points]) is None, "one that opens upwards has none"


def test_what_misses_a_goal_is_not_sought_in() -> None:
    """Lowest at 80, but 1 - 30/B is 0.9 from 300 on only: the best that is allowed is there."""
    for seed in range(20):
        found = sought(Link(SYSTEMS["wide"][0], 0.02, seed), goals=[Goal("utilization", ">=", 0.9)])
        assert min(found.indistinguishable) >= 300
        assert found.low <= 300 <= found.high
        assert found.candidates[0] < 340


def test_one_place_is_the_best_of_itself() -> None:
    assert sought(Link(SYSTEMS["wide"][0], 0.1), ends=(7, 7)) == Best((7,), 7, 7, (7,))
    found = sought(Link(SYSTEMS["wide"][0], 0.0), ends=(7, 8))
    assert found.candidates[0] == 8


# The whole way -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_at_an_edge_of_the_goals_the_best_is_the_edge(sense: str) -> None:
    """Delay rises with the buffer and utilization with it, so each is best at one end of what the goals allow."""
    scenario = Scenario.parse(SHORT)
    goals = ["utilization>=90%", "queue_delay_p99<=60ms"]
    smallest = recommend(scenario, goals)
    metric = "queue_delay_p99" if sense == "minimize" else "queue_mean"
    answer = recommend(scenario, goals, **{sense: metric})
    assert answer.packets is not None
    assert answer.optimum is not None
    assert (answer.optimum.metric, answer.optimum.sense) == (metric, sense)
    assert answer.optimum.low.number <= answer.packets <= answer.optimum.high.number
    assert all(goal.met for goal in answer.goals.values())
    assert answer.confidence >= 0.95
    if sense == "minimize":
        assert answer.packets == smallest.packets
    else:
        # A packet of 1,000 bytes takes 4 ms: 15 of them wait for 60 ms at most.
        assert smallest.packets < answer.packets <= 15


def test_without_goals_every_value_will_do() -> None:
    scenario = Scenario.parse(SHORT.partition("[goal]")[0])
    with pytest.raises(InputError, match=r"^goals: found none"):
        recommend(scenario)
    answer = recommend(scenario, minimize="loss_rate", over="link.buffer=2p..60p")
    assert answer.goals == {}
    assert answer.setting is not None
    best = answer.optimum
    assert best is not None
    # A larger buffer drops less: the best lies at the upper end, as far as that can be told.
    assert best.high.number == 60
    assert best.low.number > 5
    fresh = scenario.changed("link.buffer=5p").run(replications=12, seed=5).metrics["loss_rate"]
    assert best.measured.mean < fresh.mean
    data = answer.to_dict()
    assert data["goals"] == {}
    assert data["optimum"]["metric"] == "loss_rate"
    assert data["optimum"]["low"]["unit"] == "packets"


def test_of_choices_the_one_with_the_best_metric_comes_first() -> None:
    scenario = Scenario.parse(SHORT)
    answer = recommend(scenario, ["utilization>=85%"], over="flows.bulk.cca=newreno,vegas", minimize="queue_delay_p99")
    means = []
    for each in answer.alternatives:
        assert each.recommendation is not None
        (value,) = each.choice.values()
        alone = recommend(
            Scenario.parse(SHORT, overrides=[f"flows.bulk.cca={value}"]),
            ["utilization>=85%"],
            minimize="queue_delay_p99",
            confidence=0.975,
        )
        assert alone.optimum is not None
        assert alone.buffer == each.recommendation
        means.append(alone.optimum.measured.mean)
    assert means == sorted(means)


def test_where_nothing_meets_the_goals_nothing_is_best() -> None:
    answer = recommend(Scenario.parse(SHORT), ["utilization>=99.99%", "queue_delay_p99<=5ms"], minimize="loss_rate")
    assert answer.optimum is None
    assert not answer.feasible
    assert "optimum" not in answer.to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minimize": "delay"}, "minimize: unknown metric `delay`; "),
        ({"maximize": "bulk.delay"}, "maximize: unknown metric `delay`; "),
        ({"maximize": "blk.goodput"}, "maximize: unknown group `blk`; did you mean `bulk`?"),
        ({"minimize": "bulk.completion_time_p99"}, "minimize: found `bulk.completion_time_p99`, which is not measured"),
        ({"minimize": "loss_rate", "maximize": "goodput"}, "maximize: cannot be combined with --minimize `loss_rate`"),
        ({"minimize": "loss_rate", "fraction": 0.9}, "fraction: cannot be combined with --minimize or --maximize"),
        ({"minimize": "loss_rate", "sensitivity": True}, "sensitivity: cannot be combined with"),
        ({"minimize": "loss_rate", "largest": True}, "largest: cannot be combined with"),
    ],
)
def test_what_cannot_be_best_is_refused_before_anything_runs(options: dict[str, object], message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError) as raised:
        recommend(Scenario.parse(SHORT), progress=refuse, **options)
    assert message in str(raised.value)


def test_the_command_line_says_what_is_lowest(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = forebay("recommend", small, "--set", "run.measure=8s", "--minimize", "queue_delay_p99", "--over",
                   "link.rate=1.2Mbps..12Mbps", "--goal", "utilization>=95%", "--goal", "queue_delay_p99<=1s",
                   "--out", tmp_path, "--report", page)  # fmt: skip
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[1].startswith("We recommend link.rate = ")
    assert "P99 delay there is the lowest" in answer.out
    assert "(95 % interval)" in answer.out
    assert "true minimum" not in answer.out
    assert "value of link.rate of the lowest p99 queueing delay" in page.read_text(encoding="utf-8")
    saved = json.loads((tmp_path / "small-recommendation.json").read_text(encoding="utf-8"))
    assert saved["optimum"]["sense"] == "minimize"
    assert saved["optimum"]["low"]["value"] <= saved["recommendation"]["value"] <= saved["optimum"]["high"]["value"]


def test_without_goals_pictures_and_pages_are_drawn(small: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.toml"
    bare.write_text(small.read_text(encoding="utf-8").partition("[goal]")[0], encoding="utf-8")
    page = tmp_path / "page.html"
    answer = forebay("recommend", bare, "--set", "run.measure=4s", "--maximize", "utilization", "--verbose", "--out",
                   tmp_path, "--report", page)  # fmt: skip
    assert answer.code == 0, answer.err
    assert "true optimum" in answer.out
    assert "no confidence" not in answer.out
    assert "with which" not in page.read_text(encoding="utf-8").partition("</section>")[0]
    assert (tmp_path / "bare-recommendation.png").stat().st_size > 5_000
