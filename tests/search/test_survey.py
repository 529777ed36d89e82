"""A map of two settings: where the boundary is known its verdicts hold, and it looks closer along the boundary."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forebay import InputError, Scenario, feasible_map, recommend
from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.feasible import FeasibleMap
from forebay.search.goal_test import Verdict
from forebay.search.survey import ANALYSES, BUDGET, COARSE, STEPS, Place, Survey
from forebay.search.surveying import lattice
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

SHORT = SMALL.replace("30s", "8s")
GOALS = ["utilization>=95%", "queue_delay_p99<=80ms"]
OVER = ["link.rate=1.2Mbps..12Mbps", "link.buffer=2p..100p"]
#: 1 - exp(-xy/300) is 0.9 where xy is this.
PRODUCT = 300 * math.log(10)


def values(place: Place) -> tuple[float, float]:
    """Two decades over each axis."""
    x, y = (10 ** (2 * step / STEPS) for step in place)
    return x, y


def hyperbola(x: float, y: float) -> float:
    return 1 - math.exp(-x * y / 300)


class Link:
    """A metric of two settings, seen through noise."""

    def __init__(self, mean: Callable[[float, float], float], noise: float, seed: int = 0) -> None:
        self.mean, self.noise, self.seed = mean, noise, seed
        self.asked: Counter[tuple[Place, int]] = Counter()

    def __call__(self, pairs: Sequence[tuple[Place, int]]) -> list[Report]:
        self.asked.update(pairs)
        return [self.report(place, number) for place, number in pairs]

    def report(self, place: Place, number: int) -> Report:
        value = self.mean(*values(place)) + self.noise * np.random.default_rng((self.seed, *place, number)).normal()
        return Report.of({"engine": "test", "metrics": {"utilization": {"mean": value}}, "groups": []})


GOAL = Goal("utilization", ">=", 0.9)


def test_without_noise_the_boundary_is_known_to_a_step() -> None:
    link = Link(hyperbola, 0.0)
    survey = Survey(link, [GOAL])
    seen = survey.run()
    assert survey.complete
    for place, judged in seen.items():
        x, y = values(place)
        assert judged.verdict is (Verdict.MET if x * y >= PRODUCT else Verdict.MISSED)
        assert judged.margin == pytest.approx((hyperbola(x, y) - 0.9) / 0.9)
        assert judged.error == 0
    # In every column that the boundary crosses the two places on either side of it are neighbors.
    for column in range(STEPS + 1):
        crossing = next((row for row in range(STEPS + 1) if math.prod(values((column, row))) >= PRODUCT), None)
        if crossing not in (None, 0):
            assert (column, crossing) in seen
            assert (column, crossing - 1) in seen
    # Away from it there is the first grid and no more: every place lies within a square that the boundary crosses.
    assert len(seen) < (STEPS + 1) ** 2 / 2
    assert all(link.asked[pair] == 1 for pair in link.asked)
    assert max(number for _, number in link.asked) == ANALYSES[0] - 1, "nothing is unclear"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize(
    ("mean", "good"),
    [
        (hyperbola, lambda x, y: x * y >= PRODUCT),
        (lambda x, y: 0.9 + 0.1 * (1 - math.log(x / 9) ** 2 - math.log(y / 12) ** 2),
         lambda x, y: math.log(x / 9) ** 2 + math.log(y / 12) ** 2 <= 1),
        (lambda x, _y: 0.8 + 0.02 * x, lambda x, _y: x >= 5),
    ],
    ids=["hyperbola", "island", "one key only"],
)  # fmt: skip
def test_verdicts_hold_as_often_as_stated(
    mean: Callable[[float, float], float], good: Callable[[float, float], bool], noise: float
) -> None:
    """Next to the boundary, where it is hardest, at most 5 % of the clear verdicts are wrong."""
    wrong = clear = 0
    for seed in range(40):
        survey = Survey(Link(mean, noise, seed), [GOAL])
        for place, judged in survey.run().items():
            if judged.verdict is Verdict.UNCLEAR or abs(mean(*values(place)) - 0.9) > 2 * noise:
                continue
            clear += 1
            wrong += (judged.verdict is Verdict.MET) != good(*values(place))
        assert survey.spent <= BUDGET
    assert clear > 40
    assert wrong / clear <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / clear)


def test_several_goals_hold_together() -> None:
    def both(place: Place, _number: int) -> Report:
        x, y = values(place)
        metrics = {"utilization": {"mean": hyperbola(x, y)}, "queue_delay_p99_s": {"mean": y / 1000}}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})

    goals = [GOAL, Goal("queue_delay_p99", "<=", 0.05)]
    seen = Survey(lambda pairs: [both(*pair) for pair in pairs], goals).run()
    for place, judged in seen.items():
        x, y = values(place)
        assert (judged.verdict is Verdict.MET) == (x * y >= PRODUCT and y <= 50)
        margins = {"utilization": (hyperbola(x, y) - 0.9) / 0.9, "queue_delay_p99": (0.05 - y / 1000) / 0.05}
        if judged.verdict is Verdict.MISSED:
            assert margins[judged.goal.name] < 0
        assert judged.margin == pytest.approx(margins[judged.goal.name])


def test_the_budget_is_respected_after_the_first_measurements() -> None:
    for budget in (1, 60, 130, 250):
        link = Link(hyperbola, 0.3)
        survey = Survey(link, [GOAL], budget)
        survey.run()
        first = (COARSE + 1) ** 2 * ANALYSES[0]
        assert sum(link.asked.values()) == survey.spent <= max(budget, first)
        assert not survey.complete


# The whole way -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> FeasibleMap:
    return feasible_map(Scenario.parse(SHORT), GOALS, over=OVER)


def test_each_place_is_the_scenario_with_both_values(found: FeasibleMap) -> None:
    scenario = Scenario.parse(SHORT)
    clear = [point for point in found.points if point.verdict != "unclear"][:: len(found.points) // 12]
    assert {point.verdict for point in clear} == {"met", "missed"}
    for point in clear:
        changes = [
            f"{variable.key}={setting.text}" for variable, setting in zip(found.over, point.settings, strict=True)
        ]
        fresh = scenario.changed(*changes).run(replications=8, seed=77).metrics
        met = fresh["utilization"].mean >= 0.95 and fresh["queue_delay_p99_s"].mean <= 0.08
        close = abs(fresh["utilization"].mean - 0.95) < 0.01 or abs(fresh["queue_delay_p99_s"].mean - 0.08) < 0.004
        assert close or met == (point.verdict == "met"), changes


def test_a_packet_s_time_bounds_the_delay(found: FeasibleMap) -> None:
    """A buffer whose packets of 8,000 bits take longer than 80 ms at the rate is not met."""
    for point in found.points:
        rate, buffer = (setting.value for setting in point.settings)
        if point.verdict == "met":
            assert buffer * 8000 / rate < 0.08 * 1.2
    for stretch in found.ranges:
        if stretch.low is not None and stretch.high is not None:
            assert stretch.low.number <= stretch.high.number
            assert stretch.below is None or stretch.below.number < stretch.low.number
            assert stretch.above is None or stretch.above.number > stretch.high.number


def test_the_map_is_printed_and_serialized(found: FeasibleMap) -> None:
    data = json.loads(found.to_json())
    assert data["over"] == OVER
    assert set(data["goals"]) == {"utilization", "queue_delay_p99"}
    assert len(data["points"]) == len(found.points) == found.frame.height
    assert Counter(point["verdict"] for point in data["points"]) == Counter(found.frame["verdict"].to_list())
    assert found.frame["link.rate"].min() == 1.2e6
    assert found.frame["link.buffer"].max() == 100
    assert [len({point.settings[axis].text for point in found.points}) <= STEPS + 1 for axis in (0, 1)] == [True, True]
    assert f"hold at {found.count('met')} of" in repr(found)
    assert found._repr_html_().count("<tr") > 5
    assert found.plot().get_axes()
    variable = found.over[0]
    assert variable.range.number(lattice(variable, 0)) == 1.2
    assert variable.range.number(lattice(variable, STEPS)) == 12
    middle = variable.range.number(lattice(variable, STEPS // 2))
    assert middle == pytest.approx(math.sqrt(1.2 * 12), rel=0.01)


@pytest.mark.parametrize(
    ("verdicts", "stretch"),
    [
        ("xxooox", (3, 5, 2, 6)),
        ("ooxooo", (4, 6, 3, None)),
        ("ox?oo?", (4, 5, 2, None)),
        ("oooxoo", (1, 3, None, 4)),
        ("x?xx?x", (None, None, None, None)),
    ],
)
def test_the_longest_of_several_feasible_intervals_is_reported(
    found: FeasibleMap, verdicts: str, stretch: tuple[int | None, ...]
) -> None:
    named = {"o": "met", "x": "missed", "?": "unclear"}
    second = [found.over[1].value_of(float(number)) for number in range(1, 7)]
    points = [
        replace(found.points[0], settings=(found.over[0].value_of(2.0), setting), verdict=named[verdict])
        for setting, verdict in zip(second, verdicts, strict=True)
    ]
    (changed,) = replace(found, points=tuple(points)).ranges
    ends = (changed.low, changed.high, changed.below, changed.above)
    assert tuple(None if end is None else end.number for end in ends) == stretch


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (["link.rate=1Mbps..9Mbps"], "over: found 1; allowed: two keys"),
        (["link.rate=1Mbps..9Mbps", "link.rate=1Mbps..2Mbps"], "over: found `link.rate` twice"),
        (["link.rate=1Mbps..9Mbps", "link.buffr=1p..2p"], "did you mean `buffer`?"),
        (["link.rate=1Mbps..9Mbps", "link.queue=red,codel"], "over: link.queue: found `red,codel`; allowed: LOW..HIGH"),
    ],
)
def test_what_makes_no_map_is_refused_before_anything_runs(over: list[str], message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=r"^over: ") as raised:
        feasible_map(Scenario.parse(SHORT), GOALS, over=over, progress=refuse)
    assert message in str(raised.value)
    with pytest.raises(InputError, match="two of `feasible_map`"):
        recommend(Scenario.parse(SHORT), over=OVER)


def test_the_command_line_draws_it(small: Path, tmp_path: Path) -> None:
    options = [part for over in OVER for part in ("--over", over)] + [
        part for goal in GOALS for part in ("--goal", goal)
    ]
    answer = forebay("recommend", small, "--set", "run.measure=4s", *options, "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "All goals are met at " in answer.out
    assert "Values of link.buffer at which all goals are met" in answer.out
    for ending in ("png", "svg", "json"):
        assert (tmp_path / f"small-map.{ending}").stat().st_size > 5_000
    none = forebay("recommend", small, "--set", "run.measure=2s", *options[:4], "--goal", "utilization>=99.999%",
                   "--goal", "queue_delay_p99<=1ms", "--json", "--no-picture")  # fmt: skip
    assert none.code == 1
    assert json.loads(none.out)["ranges"][0]["low"] is None
    refused = forebay("recommend", small, *options, "--report", tmp_path / "page.html")
    assert refused.code == 2
    assert refused.err.strip().startswith("forebay: --report: cannot be combined with two --over")


def test_an_interrupted_map_goes_on(tmp_path: Path) -> None:
    def stop(done: int, _all: int) -> None:
        if done > 60:
            raise KeyboardInterrupt

    scenario = Scenario.parse(SMALL.replace("30s", "2s"))
    uninterrupted = feasible_map(scenario, GOALS, over=OVER).to_dict()
    with pytest.raises(KeyboardInterrupt):
        feasible_map(scenario, GOALS, over=OVER, resume=tmp_path, progress=stop)
    resumed = feasible_map(scenario, GOALS, over=OVER, resume=tmp_path).to_dict()
    assert resumed["cost"]["cached_runs"] > 50
    del uninterrupted["cost"], resumed["cost"]
    assert resumed == uninterrupted
