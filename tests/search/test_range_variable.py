"""Any key between two ends: the smallest and the largest value that meet the goals, on systems whose edge is known."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forebay import InputError, Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.options import Precision
from forebay.search.plan import Outcome
from forebay.search.planning import RequestedBuffers, plan_of
from forebay.search.range_variable import RangeVariable, RangeWords, range_variable
from forebay.search.smallest import Search
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

STEP = SMALL.replace('buffer = "20p"', 'buffer = "60p"\nqueue  = { kind = "codel" }').replace("30s", "8s")
SCENARIO = Scenario.parse(STEP)
PRECISION = Precision()


class System:
    """Something whose mean metrics are known functions of a key's value, seen through noise."""

    def __init__(
        self, variable: RangeVariable, means: Mapping[str, Callable[[float], float]], noise: float, seed: int = 1
    ) -> None:
        self.variable, self.means, self.noise, self.seed = variable, means, noise, seed

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        return [self.report(self.variable.at(place).number, replication) for place, replication in pairs]

    def report(self, value: float, replication: int) -> Report:
        metrics = {}
        for name, mean in self.means.items():
            draw = np.random.default_rng((self.seed, replication, zlib.crc32(name.encode())))
            metrics[name] = {"mean": mean(value) + self.noise * draw.normal()}
        return Report.of({"engine": "test", "metrics": metrics, "groups": []})

    def searched(self, *goals: Goal) -> Outcome:
        plan = plan_of(self.variable, RequestedBuffers(), PRECISION)
        return Search(self, goals, plan).run()

    def value(self, place: int | None) -> float:
        assert place is not None
        return self.variable.at(place).number


def variable(text: str, *, largest: bool = False, resolution: float = 0.05) -> RangeVariable:
    return range_variable(SCENARIO, text, largest=largest, resolution=resolution)


#: Two decades of times, whole packets over two decades, and a range that is not logarithmic.
RANGES = {
    "decades": "link.queue.target=1ms..100ms",
    "whole": "flows.bulk.initial_window=2p..200p",
    "even": "flows.bulk.rtt=20ms..80ms",
}
#: Where the system of each begins to be good enough, and where it ceases to be.
EDGES = {"decades": (5.0, 40.0), "whole": (7.0, 90.0), "even": (31.0, 66.0)}


def rising(edge: float, width: float) -> Callable[[float], float]:
    """A metric that saturates, and is 0.9 at the edge."""
    return lambda value: 1 - 0.1 * math.exp(-(value - edge) / width)


def falling(edge: float, width: float) -> Callable[[float], float]:
    return lambda value: 1 - 0.1 * math.exp((value - edge) / width)


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("largest", [False, True])
def test_finds_both_edges_without_noise(kind: str, largest: bool) -> None:
    found = variable(RANGES[kind], largest=largest)
    low, high = EDGES[kind]
    means = {"utilization": rising(low, low / 2), "jain_index": falling(high, high / 4)}
    system = System(found, means, 0.0)
    goals = [Goal("utilization", ">=", 0.9), Goal("jain_index", ">=", 0.9)]
    outcome = system.searched(*goals)
    value = system.value(outcome.buffer)
    fine = {"decades": 0.06 * (high if largest else low), "whole": 0.06 * high + 1, "even": 0.04 * 60}[kind]
    if largest:
        assert high - fine <= value <= high
        assert outcome.binding == "jain_index"
    else:
        assert low <= value <= low + fine
        assert outcome.binding == "utilization"
    # The other end is known as well as the first look has it: beyond the other edge nothing was believed to be met.
    last, missed = outcome.up_to
    assert low - 1e-9 <= system.value(last) <= high + 1e-9
    assert missed is not None
    assert not low <= system.value(missed) <= high


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("largest", [False, True])
def test_claims_hold_as_often_as_stated(kind: str, largest: bool) -> None:
    """Over 120 noisy searches at most 5 % of the answers miss a goal (three standard errors allowed)."""
    found = variable(RANGES[kind], largest=largest)
    low, high = EDGES[kind]
    means = {"utilization": rising(low, low / 2), "jain_index": falling(high, high / 4)}
    wrong = answered = 0
    off = []
    for seed in range(120):
        system = System(found, means, 0.02, seed)
        outcome = system.searched(Goal("utilization", ">=", 0.9), Goal("jain_index", ">=", 0.9))
        if outcome.buffer is None:
            continue
        answered += 1
        value = system.value(outcome.buffer)
        wrong += not low <= value <= high
        off.append(abs(value - (high if largest else low)) / (high if largest else low))
    assert answered > 110
    assert wrong / answered <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / answered)
    assert np.median(off) < 0.25


@pytest.mark.parametrize("largest", [False, True])
def test_a_peak_is_found_from_either_side(largest: bool) -> None:
    """A metric that is good enough between 12 and 27 ms only: each side's edge is the answer."""
    found = variable(RANGES["decades"], largest=largest)
    peak = System(found, {"jain_index": lambda value: 1 - 0.2 * math.log(value / 18) ** 2}, 0.0)
    reach = math.exp(math.sqrt(0.03 / 0.2))
    outcome = peak.searched(Goal("jain_index", ">=", 0.97))
    value = peak.value(outcome.buffer)
    low, high = 18 / reach, 18 * reach
    assert low <= value <= high
    edge = high if largest else low
    assert abs(math.log(value / edge)) <= math.log(1.06)


def test_where_goals_contradict_clearly_the_first_look_is_enough() -> None:
    """Between 10 and 50 ms neither goal is met: no edge is looked for, and the sides only name their goals."""
    found = variable(RANGES["decades"])
    system = System(found, {"utilization": rising(50.0, 20.0), "jain_index": falling(10.0, 5.0)}, 0.0)
    outcome = system.searched(Goal("utilization", ">=", 0.9), Goal("jain_index", ">=", 0.9))
    assert outcome.impossible
    assert outcome.buffer is None
    assert outcome.needs_at_least == (("utilization",), None)
    assert outcome.needs_at_most == (("jain_index",), None)
    assert 9.9 <= system.value(outcome.compromise) < 50


def test_where_goals_nearly_hold_together_both_sides_say_what_they_need() -> None:
    """To within a fifth."""
    found = variable(RANGES["decades"])
    system = System(found, {"utilization": rising(50.0, 20.0), "jain_index": falling(47.0, 5.0)}, 0.0)
    outcome = system.searched(Goal("utilization", ">=", 0.9), Goal("jain_index", ">=", 0.9))
    assert outcome.impossible
    (_, needed), (_, allowed) = outcome.needs_at_least, outcome.needs_at_most
    assert 50 <= system.value(needed) <= 60
    assert 40 <= system.value(allowed) <= 47
    assert 40 < system.value(outcome.compromise) < 55


def test_a_rule_far_beyond_the_range_is_named_without_a_simulation() -> None:
    """The value that a rule states at 99.99 % has no number in the search; this once ended in an overflow."""
    answer = recommend(SCENARIO, ["utilization>=99.99%"], over="link.buffer=10p..40p", quick=True)
    far = [rule for rule in answer.rules if rule.buffer is not None and rule.buffer.value > 11_000]
    assert far
    assert all("not simulated: not in 10p..40p" in rule.notes for rule in far)


@pytest.mark.parametrize("kind", RANGES)
def test_no_value_is_ever_tried_beyond_the_ends(kind: str) -> None:
    for largest in (False, True):
        found = variable(RANGES[kind], largest=largest)
        for seed in range(30):
            # Edges at the very ends, where a step beyond is near: those of the goals, and far from the answer.
            near, far = found.range.low * 1.01, found.range.high * 0.99
            edges = (near, far) if seed % 2 else (far, near)
            means = {"utilization": rising(edges[0], edges[0] / 2), "jain_index": falling(edges[1], edges[1])}
            system = System(found, means, 0.03, seed)
            places: list[int] = []

            def watched(
                pairs: Sequence[tuple[int, int]], system: System = system, places: list[int] = places
            ) -> list[Report]:
                places.extend(place for place, _ in pairs)
                return system(pairs)

            goals = [Goal("utilization", ">=", 0.9), Goal("jain_index", ">=", 0.9)][: 1 + seed % 3]
            Search(watched, goals, plan_of(found, RequestedBuffers(), PRECISION)).run()
            assert found.range.first <= min(places)
            assert max(places) <= found.range.last


# Reading -----------------------------------------------------------------------------------------------------------


def test_values_are_put_where_they_are_asked_for() -> None:
    found = variable("link.queue.target=1ms..100ms")
    place = round(found.range.place(7.0))
    assert found.apply(place).resolved["links"][0]["queue"]["target"] == "7ms"
    setting = found.sized(place)
    assert (setting.value, setting.unit, setting.text) == (pytest.approx(0.007), "s", "7ms")
    assert found.read("7000us") == place
    assert found.configured == found.value_of(5.0), "CoDel's own target"
    beyond = SCENARIO.changed("link.queue.target=200ms")
    assert dataclasses.replace(found, scenario=beyond).configured is None


@pytest.mark.parametrize(
    ("text", "is_integer", "by_decades", "base"),
    [
        ("flows.bulk.initial_window=2p..200p", True, True, "packets"),
        ("flows.*.count=1..9", True, False, ""),
        ("flows.bulk.delayed_ack.packets=1..20", True, True, ""),
        ("link.rate=500kbps..2Mbps", False, False, "bps"),
        ("link.rate=1Mbps..1Gbps", False, True, "bps"),
        ("link.buffer=0.1BDP..10BDP", False, True, "BDP"),
        ("link.queue.target=500us..50ms", False, True, "s"),
        ("flows.bulk.start=0s..2s", False, False, "s"),
        ("link.buffer=1500B..9000B", False, False, "bytes"),
    ],
)
def test_what_a_key_takes_says_how_it_is_varied(text: str, is_integer: bool, by_decades: bool, base: str) -> None:
    found = variable(text)
    assert (found.range.integral, found.range.by_decades, found.base) == (is_integer, by_decades, base)
    assert found.requested_name == text
    for place in (found.range.first, round(math.sqrt(found.range.first * found.range.last)), found.range.last):
        value = found.at(place)
        assert SCENARIO.changed(f"{found.key}={value.text}").core.sha256 == found.apply(place).core.sha256
        assert found.within(value.text) == value
    low, high = text.partition("=")[2].split("..")
    assert SCENARIO.changed(f"{found.key}={low}").core.sha256 == found.apply(found.range.first).core.sha256
    assert SCENARIO.changed(f"{found.key}={high}").core.sha256 == found.apply(found.range.last).core.sha256


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("link.queue.target=100ms..1ms", "over: link.queue.target: found `100ms..1ms`; allowed: a lower end"),
        ("link.queue.target=5ms..5ms", "allowed: a lower end of at least 0, then a higher one"),
        ("link.queue.target=5ms", "over: link.queue.target: found `5ms`; allowed: LOW..HIGH, as in 5p..500p"),
        ("link.queue.target=5ms..50p", "allowed: two quantities of one kind"),
        ("link.queue.target=5ms..50ms:7", "allowed: LOW..HIGH"),
        ("link.queue.target=..50ms", "allowed: LOW..HIGH"),
        ("link.queue.target=5..50", "over: "),
        ("link.queue.tagret=5ms..50ms", "did you mean `target`?"),
        ("goal.utilization=0.5..0.9", "over: found `goal.utilization`, which is no part of the link or its traffic"),
        ("run.measure=1s..9s", "over: found `run.measure`"),
        ("link.queue.target", "of another key a range, as in KEY=LOW..HIGH"),
        ("link.rate=0Mbps..9Mbps", "over: "),
    ],
)
def test_what_is_no_range_is_refused_before_anything_runs(over: str, message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=r"^over: ") as raised:
        recommend(SCENARIO, over=over, progress=refuse)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("also", ["200ms", "9p", "fast"])
def test_what_lies_beyond_the_range_is_not_measured(also: str) -> None:
    with pytest.raises(InputError, match=r"^also: "):
        recommend(SCENARIO, over="link.queue.target=1ms..100ms", also=[also])


def test_words_are_those_of_the_values() -> None:
    found = variable("link.queue.target=1ms..100ms", largest=True)
    words = RangeWords(found)
    five, seven = (round(found.range.place(value)) for value in (5.0, 7.0))
    assert words.in_words(five) == "link.queue.target = 5 ms"
    assert words.in_words(seven, five) == "link.queue.target = 7, 5 ms"
    many = words.in_words(*(round(found.range.place(float(value))) for value in range(1, 9)))
    assert many == "link.queue.target = 1, 2, 3, 4, 5, 6, ... ms"
    assert words.between(seven, five) == words.between(five, seven) == "between 5 and 7 ms"
    assert words.value(five) == pytest.approx(0.005)
    assert found.ratio(seven, five) == pytest.approx(1.4)


# The whole way -----------------------------------------------------------------------------------------------------

GOALS = ["queue_delay_p99<=60ms", "utilization>=98%"]
RATE = "link.rate=1.2Mbps..12Mbps"


@pytest.fixture(scope="module")
def rate() -> Mapping[bool, object]:
    scenario = Scenario.parse(SMALL.replace("30s", "8s"))
    return {largest: recommend(scenario, GOALS, over=RATE, largest=largest) for largest in (False, True)}


def test_how_much_must_be_bought_is_what_runs_at_that_rate_say(rate) -> None:
    """Fresh runs of the scenario with the answered rate meet the goals; those with a rate well beyond miss one."""
    scenario = Scenario.parse(SMALL.replace("30s", "8s"))
    rates = {}
    for largest, answer in rate.items():
        assert answer.setting is not None
        assert answer.packets is None
        rates[largest] = answer.setting.value
        inside = scenario.changed(f"link.rate={answer.setting.text}").run(seed=99, replications=12)
        beyond = answer.setting.number * (1.4 if largest else 1 / 1.4)
        outside = scenario.changed(f"link.rate={beyond:.3f}Mbps").run(seed=99, replications=12)
        goals = Scenario.parse(SMALL).goals and answer.scenario.goals
        assert all(goal.margin(_value(inside, goal)) > -0.02 * goal.threshold for goal in goals)
        assert any(goal.margin(_value(outside, goal)) < 0 for goal in goals)
    assert rates[False] < rates[True], "the goals leave an interval"


def _value(report: Report, goal: Goal) -> float:
    return float(report.metrics[{"queue_delay_p99": "queue_delay_p99_s"}.get(goal.name, goal.name)].mean)


def test_both_ends_are_in_the_json_and_in_the_frame(rate) -> None:
    for largest, answer in rate.items():
        data = json.loads(answer.to_json())
        assert data["over"] == RATE
        assert data.get("largest", False) == largest
        assert data["recommendation"] == {
            "value": answer.setting.value,
            "unit": "bps",
            "text": answer.setting.text,
        }
        assert '"buffer"' not in answer.to_json()
        assert [point["setting"]["value"] for point in data["curve"]] == answer.curve["setting"].to_list()
        assert answer.curve["setting"].is_sorted()
        assert answer.curve["setting_text"].dtype == pl.String
        assert all(1.2e6 <= value <= 12e6 for value in answer.curve["setting"])
        ends = answer.feasible_from
        assert ends is None or ends.low.value <= ends.high.value
        assert {goal["at"] for goal in data["goals"].values()} == {answer.setting.value}
        (own,) = answer.also
        assert (own.name, own.buffer.text) == ("as configured", "2Mbps")
        assert f"link.rate = {answer.setting.words}" in repr(answer)


@pytest.mark.parametrize("largest", [False, True])
def test_texts_pictures_and_pages_speak_of_the_key(small: Path, tmp_path: Path, largest: bool) -> None:
    page = tmp_path / "page.html"
    options = ["--set", "run.measure=8s", "--over", RATE, *(["--largest"] if largest else [])]
    goals = [part for goal in GOALS for part in ("--goal", goal)]
    answer = forebay("recommend", small, *options, *goals, "--out", tmp_path, "--report", page)
    assert answer.code == 0, answer.err
    assert re.search(r"^We recommend link\.rate = [0-9.]+ Mb/s", answer.out, re.MULTILINE)
    assert "with at least 95 % confidence" in " ".join(answer.out.split())
    assert f"true {'maximum' if largest else 'minimum'}" in answer.out
    assert "uffer" not in answer.out.partition("wrote")[0]
    text = page.read_text(encoding="utf-8")
    which = "largest" if largest else "smallest"
    assert f"What is the {which} value of link.rate for this 2 Mb/s link" in text
    assert "link.rate (Mb/s)" in text
    assert "buffer (packets)" not in text
    assert "link.rate (Mb/s)" in re.sub(r"<!-- (.*?) -->", r"\1", (tmp_path / "small-recommendation.svg").read_text())
    assert (tmp_path / "small-recommendation.png").stat().st_size > 5_000


def test_without_an_answer_the_range_is_named(small: Path) -> None:
    over = "link.rate=1.2Mbps..1.6Mbps"
    answer = forebay("recommend", small, "--set", "run.measure=8s", "--over", over, "--goal", "loss_rate<=1e-6",
                     "--goal", "utilization>=99.9%", "--no-picture")  # fmt: skip
    assert answer.code == 1
    assert "No link.rate from 1.2 to 1.6 Mb/s " in answer.out
    assert "buffer" not in answer.out


def test_the_largest_buffer_needs_no_range(small: Path) -> None:
    scenario = Scenario.load(small, ["run.measure=8s"])
    answer = recommend(scenario, ["queue_delay_p99<=60ms"], largest=True)
    smallest = recommend(scenario, ["queue_delay_p99<=60ms"])
    assert answer.setting is not None
    assert smallest.packets is not None
    assert answer.setting.unit == "packets"
    assert answer.setting.value >= smallest.packets
    # A packet of 1,000 bytes takes 4 ms at 2 Mb/s: fifteen of them 60 ms.
    assert answer.setting.value <= 16


def test_an_interrupted_search_of_a_range_goes_on(tmp_path: Path) -> None:
    def stop(done: int, _all: int) -> None:
        if done > 4:
            raise KeyboardInterrupt

    scenario = Scenario.parse(SMALL.replace("30s", "4s"))
    uninterrupted = recommend(scenario, over=RATE).to_dict()
    with pytest.raises(KeyboardInterrupt):
        recommend(scenario, over=RATE, resume=tmp_path, progress=stop)
    resumed = recommend(scenario, over=RATE, resume=tmp_path).to_dict()
    assert resumed["cost"]["cached_runs"] > 3
    assert not list(tmp_path.glob("*.jsonl"))
    del uninterrupted["cost"], resumed["cost"]
    assert resumed == uninterrupted
