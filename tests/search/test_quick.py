"""A quick look says where the edge is as often as it claims, and what is not waited for is said to be so."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from forebay import Scenario, recommend
from forebay.atlas.prior import Place, Prior
from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.results.warning import Kind
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import LOWER_END, Outcome, Plan
from forebay.search.quick import ANALYSES, ANALYSES_OF_MISSES, ATTEMPTS, FRESH, QuickLook
from forebay.search.search_state import SearchState
from forebay.search.shorter_runs import LEAST_PART, ShorterRuns
from forebay.search.smallest import Search
from forebay.search.time_budget import TimeBudget
from tests.support.commands import forebay
from tests.support.noisy_links import EDGE, Link, Shaped, saturating, slow, steady, stepped, utilization
from tests.support.scenarios import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLAN = Plan(smallest=1, largest=1000, ceiling=8000, confidence=0.8)
ENOUGH = Goal("utilization", ">=", 0.9)
SEEDS = 100


NOISY = pytest.mark.parametrize(
    ("shape", "mean", "noise", "far"),
    [
        ("normal", utilization, 0.03, 1.6),
        ("heavy", utilization, 0.03, 1.6),
        ("skewed", utilization, 0.03, 1.6),
        ("skewed down", utilization, 0.03, 1.6),
        ("heavy", utilization, 0.004, 1.12),
        ("skewed down", utilization, 0.004, 1.12),
        ("normal", saturating, 0.004, 1.7),
        ("skewed down", saturating, 0.004, 1.7),
        ("normal", stepped, 0.03, 1.4),
        ("fading", slow, 0.03, 1.35),
        ("rare", steady, 0.005, 1.6),
        ("rare", utilization, 0.004, 1.15),
        ("rare", slow, 0.01, 1.4),
        ("normal", utilization, 0.1, 8.0),
        ("heavy", steady, 0.03, 3.0),
    ],
)


@pytest.mark.sampled(3)
@NOISY
def test_claims_hold_whatever_the_noise(shape: str, mean: Callable[[int], float], noise: float, far: float) -> None:
    taken, middle = claims_hold(shape, mean, noise, PLAN)
    assert taken <= 34
    assert middle <= far


@pytest.mark.sampled(10)
@NOISY
@pytest.mark.parametrize(("off", "spread", "most"), [(1.0, 1.3, 35), (1.4, 1.5, 35), (0.25, 1.2, 35), (5.0, 1.2, 35)])
def test_what_is_expected_takes_no_claim_away(
    shape: str, mean: Callable[[int], float], noise: float, far: float, off: float, spread: float, most: float
) -> None:
    """Whether the edge is expected where it is, a little beside it or somewhere else."""
    edge = next(buffer for buffer in range(1, 8000) if mean(buffer) >= 0.9)
    low, high = math.floor(off * edge / spread), math.ceil(off * edge * spread)
    place = Place(1e9, 0.1, 100, "cubic", 0.0, 0.9)
    taken, middle = claims_hold(shape, mean, noise, replace(PLAN, prior=Prior(place, low, high)))
    assert taken <= most
    assert middle <= far


def claims_hold(shape: str, mean: Callable[[int], float], noise: float, plan: Plan) -> tuple[float, float]:
    """Hold that the edge is in the interval as often as is said, and no more answers are wrong than own up to it.

    Returns
    -------
    (float, float)
        Replications for each analysis, and the median answer over the edge.
    """
    edge = next(buffer for buffer in range(1, 8000) if mean(buffer) >= 0.9)
    inside = wrong = taken = 0
    answers, doubts = [], []
    for seed in range(SEEDS):
        link = Shaped({"utilization": mean}, noise, seed)
        link.shape = shape
        outcome = QuickLook(link, [ENOUGH], plan).run()
        taken += link.asked.total()
        assert max(link.asked.values()) == 1
        if outcome.buffer is None:
            continue
        answers.append(outcome.buffer)
        wrong += mean(outcome.buffer) < 0.9
        assert outcome.confidence is not None
        doubts.append(1 - outcome.confidence)
        assert outcome.lower_end is not None
        low, high = outcome.lower_end
        assert 1 <= low <= high <= outcome.buffer
        inside += low <= edge <= high or (high == outcome.buffer < edge)
    count = len(answers)
    # The others are undecided: four runs carry little where noise is large.
    assert count >= 0.75 * SEEDS
    assert inside / count >= LOWER_END - 3 * math.sqrt(LOWER_END * (1 - LOWER_END) / count)
    assert wrong <= sum(doubts) + 3 * math.sqrt(sum(doubt * (1 - doubt) for doubt in doubts))
    return taken / SEEDS, float(np.median(answers)) / edge


def test_without_noise_the_edge_is_found() -> None:
    outcome = QuickLook(Link({"utilization": utilization}, 0.0), [ENOUGH], PLAN).run()
    assert outcome.buffer is not None
    assert outcome.lower_end is not None
    assert EDGE <= outcome.buffer <= 1.05 * EDGE
    assert outcome.lower_end[0] <= math.ceil(EDGE) <= outcome.lower_end[1]
    assert outcome.confidence is None, "replications repeat each other"


def test_goals_met_everywhere_give_the_smallest_buffer() -> None:
    outcome = QuickLook(Link({"utilization": lambda _: 1.0}, 0.001), [ENOUGH], PLAN).run()
    assert (outcome.buffer, outcome.lower_end, outcome.binding) == (1, None, None)


def test_goes_above_the_first_range() -> None:
    outcome = QuickLook(Link({"utilization": lambda at: 1 - 300 / at}, 0.001), [ENOUGH], PLAN).run()
    assert outcome.buffer is not None
    assert 3000 <= outcome.buffer <= 3500


def test_a_goal_out_of_reach_is_missed_at_the_ceiling() -> None:
    link = Link({"utilization": lambda _: 0.7}, 0.001)
    outcome = QuickLook(link, [ENOUGH], PLAN).run()
    assert outcome.buffer is None
    assert outcome.needs_at_least == ((ENOUGH.key,), None)
    assert outcome.compromise is not None
    assert not outcome.notes, "it is clear"
    assert max(buffer for buffer, _ in link.asked) == PLAN.ceiling


class Two(Link):
    """A link with two goals, and noise of its own for each."""

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        self.asked.update(pairs)
        found = []
        for buffer, replication in pairs:
            one, other = np.random.default_rng((self.seed, buffer, replication)).normal(size=2)
            metrics = {
                "utilization": {"mean": utilization(buffer) + self.noise * one},
                "queue_delay_p99_s": {"mean": buffer * 1e-4 * (1 + self.noise * other)},
            }
            found.append(Report.of({"engine": "test", "metrics": metrics, "groups": []}))
        return found


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.03])
@pytest.mark.parametrize("most", [60, 90, 200, 400])
def test_a_quick_search_finds_conflicts_and_feasible_buffers(noise: float, most: int) -> None:
    """From 110 packets on there is enough; 60 and 90 are too few, 200 and 400 plenty."""
    goals = [ENOUGH, Goal("queue_delay_p99", "<=", most * 1e-4)]
    answered = right = 0
    for seed in range(40):
        outcome = QuickLook(Two({}, noise, seed), goals, PLAN).run()
        if outcome.buffer is not None:
            answered += 1
            right += EDGE <= outcome.buffer <= most
        elif most < EDGE:
            assert outcome.compromise is not None
            least, allowed = outcome.needs_at_least[1], outcome.needs_at_most[1]
            assert least is not None
            assert allowed is not None
    if most < EDGE:
        assert answered == 0
    else:
        assert answered >= 34
        assert right >= answered - 2


def test_a_peak_is_no_reason_to_give_up() -> None:
    """Met from 66 to 606 packets only."""

    def peak(buffer: int) -> float:
        return 0.95 - 0.05 * abs(math.log(buffer / 200)) / math.log(3)

    outcomes = [QuickLook(Link({"utilization": peak}, 0.004, seed), [ENOUGH], PLAN).run() for seed in range(30)]
    found = [outcome.buffer for outcome in outcomes if outcome.buffer is not None]
    assert len(found) >= 25
    assert sum(peak(buffer) >= 0.9 for buffer in found) >= len(found) - 2
    assert np.median(found) <= 130, "its beginning, at 66 packets, is looked for as any other"


def test_no_more_than_some_answers_are_put_to_fresh_replications() -> None:
    for seed in range(20):
        link = Link({"utilization": utilization}, 0.1, seed)
        QuickLook(link, [ENOUGH], PLAN).run()
        fresh = sum(PLAN.is_fresh(number) for _, number in link.asked)
        assert FRESH <= fresh <= (ATTEMPTS + 2 + ANALYSES_OF_MISSES) * ANALYSES[-1][0] * FRESH


def test_what_refused_a_buffer_says_where_the_edge_is() -> None:
    for seed in range(20):
        link = Link({"utilization": utilization}, 0.1, seed)
        look = QuickLook(link, [ENOUGH], PLAN)
        outcome = look.run()
        retained = sum(len(reports) for reports in look.samples.values())
        assert link.asked.total() == retained + len(outcome.confirmation)


def test_the_goal_that_is_met_last_decides() -> None:
    """Utilization is enough from 110 packets on, what is left over from 300."""
    goals = [Goal("loss_rate", "<=", 0.1), ENOUGH]
    for seed in range(20):
        means = {"utilization": utilization, "loss_rate": lambda at: 30 / at}
        outcome = QuickLook(Link(means, 0.002, seed), goals, PLAN).run()
        assert outcome.binding == "loss_rate"
        assert outcome.buffer is not None
        assert 290 <= outcome.buffer <= 360
        assert outcome.lower_end is not None
        assert outcome.lower_end[0] >= 240


# Shorter runs -----------------------------------------------------------------------------------------------------


def fast(**keys: str) -> Scenario:
    """A link of 2.5 million packets in the measured time."""
    text = SMALL.replace("2Mbps", "1Gbps").replace('measure = "30s"', 'measure = "20s"').replace('"1Mbps"', '"0.5Gbps"')
    return Scenario.parse(text).changed(*(f"{key.replace('__', '.')}={value}" for key, value in keys.items()))


def test_long_runs_are_cut_and_warm_up_for_as_long() -> None:
    whole, cut = fast(), ShorterRuns(fast()).quick
    assert cut.core.duration_s == (5.0, pytest.approx(5.0))
    assert cut.core.duration_s[1] >= LEAST_PART * whole.core.duration_s[1]
    small = Scenario.parse(SMALL)
    assert ShorterRuns(small).quick is small


@pytest.mark.parametrize("keys", [{"goal__jain_index": ">= 0.9"}, {"flows__bulk__start": "6s"}])
def test_runs_whose_end_matters_are_not_cut(keys: dict[str, str]) -> None:
    scenario = fast(**keys)
    assert ShorterRuns(scenario).quick is scenario
    begins = fast(flows__bulk__start="4s")
    assert ShorterRuns(begins).quick is not begins


# Time budgets -------------------------------------------------------------------------------------------------------


class Timed(Measurements):
    """Measurements that time out after `left` replications."""

    left = math.inf

    def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
        for pair in pairs:
            if self.left <= 0:
                raise TimeoutError
            self.left -= 1
            super().__call__([pair])
        return [self.reports[pair] for pair in pairs]


def holds_the_answer(found: Evidence, scenario: Scenario) -> None:
    """The range that is said where the time is over has the answer of a search that was waited for in it."""
    assert found.outcome.buffer is None
    assert not found.outcome.impossible
    assert found.outcome.between is not None
    low, high = found.outcome.between
    uninterrupted = recommend(scenario)
    assert uninterrupted.feasible_from is not None
    assert low <= uninterrupted.feasible_from.high.packets
    assert high >= uninterrupted.feasible_from.low.packets
    assert [note.kind for note in found.outcome.notes].count(Kind.TIME_OVER) == 1
    assert all(note.kind is not Kind.QUICK for note in found.outcome.notes)


@pytest.mark.parametrize("left", [0, 3, 5, 8, 12, 16, 20, 25])
def test_a_search_out_of_time_returns_an_interval(left: int) -> None:
    scenario = Scenario.parse(SMALL)
    plan = Plan(smallest=1, largest=40, ceiling=200)
    begun: list[type] = []

    def begin(kind: type[Search | QuickLook], looked: Scenario, until: float | None) -> Evidence:
        assert until is not None
        begun.append(kind)
        measure = Timed(BufferVariable(looked), Means("packet", 1))
        measure.left = left if kind is Search else math.inf
        return Evidence(kind(measure, looked.goals, plan), Outcome(), measure, BufferVariable(looked))

    found = TimeBudget(within=60.0).search(SimpleNamespace(scenario=scenario, begin=begin), None)
    assert begun == [QuickLook, Search]
    holds_the_answer(found, scenario)
    quick = QuickLook(Measurements(BufferVariable(scenario), Means("packet", 1)), scenario.goals, plan).run()
    ends = quick.between or ((quick.lower_end or (1, 1))[0], quick.buffer or plan.ceiling)
    assert found.outcome.between is not None
    low, high = found.outcome.between
    assert high / low <= ends[1] / ends[0], "whichever knows more"


@pytest.mark.parametrize("left", [0, 1, 8, 12])
def test_a_quick_search_out_of_time_returns_an_interval(left: int) -> None:
    scenario = Scenario.parse(SMALL)
    plan = Plan(smallest=1, largest=40, ceiling=200, also=(20,))

    def begin(kind: type[SearchState], looked: Scenario, until: float | None) -> Evidence:
        measure = Timed(BufferVariable(looked), Means("packet", 1))
        measure.left = left if kind is QuickLook else math.inf
        assert (until is None) == (kind is SearchState), "a run of few packets has any time"
        return Evidence(kind(measure, looked.goals, plan), Outcome(), measure, BufferVariable(looked))

    found = TimeBudget(within=60.0).search(SimpleNamespace(scenario=scenario, begin=begin), None)
    holds_the_answer(found, scenario)
    assert len(found.measure.reports) == max(left, 1)


def test_with_enough_time_the_answer_is_that_of_the_search() -> None:
    scenario = Scenario.parse(SMALL)
    waited, searched = recommend(scenario, within=600.0).to_dict(), recommend(scenario).to_dict()
    del waited["cost"], searched["cost"]
    assert waited == searched


def test_a_search_out_of_time_resumes_from_its_runs(tmp_path: Path) -> None:
    """However often it ends too early, in the end there is the answer, and nothing is left."""
    path = tmp_path / "slow.toml"
    text = SMALL.replace('measure = "30s"', 'measure = "600s"').replace('processing = "0s"\n', "")
    path.write_text(text, encoding="utf-8")
    scenario, cache, messages = Scenario.load(path), tmp_path / "cache", list[str]()
    within = 0.05
    while True:
        within *= 1.3
        answer = recommend(scenario, within=within, resume=cache, tell=messages.append)
        if not any(warning.kind is Kind.TIME_OVER for warning in answer.warnings):
            break
    assert any(line.startswith("resuming with ") for line in messages)
    assert not list(cache.glob("*.jsonl"))
    assert answer.packets == recommend(scenario).packets


# Output for people and programs ------------------------------------------------------------------------------------


def asked(small: Path, *options: str) -> dict[str, Any]:
    answer = forebay("recommend", small, "--no-picture", "--json", *options)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


def test_a_quick_answer_says_that_it_is_one(small: Path) -> None:
    found, whole = asked(small, "--quick"), asked(small)
    assert found["cost"]["replications"] < whole["cost"]["replications"] + 10
    assert found["feasible_from"]["confidence"] == LOWER_END
    assert any("a quick search" in warning and "without --quick" in warning for warning in found["warnings"])
    low, high = (found["feasible_from"][end]["packets"] for end in ("low", "high"))
    assert low <= whole["feasible_from"]["high"]["packets"]
    assert high >= whole["feasible_from"]["low"]["packets"]
    text = forebay("recommend", small, "--no-picture", "--quick").out
    assert "probably meet all goals (" in " ".join(text.split())
    assert found["confidence"] <= found["runs"] / (found["runs"] + 1)
    assert "run it without --quick to confirm" in " ".join(text.split())


def test_any_time_ends_with_a_range(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    answer = forebay("recommend", small, "--within", "1us", "--json")
    assert answer.code == 3, answer.err
    found = json.loads(answer.out)
    assert (found["verdict"], found["recommendation"]) == ("undecided", None)
    low, high = found["between"]
    assert 1 <= low["packets"] <= high["packets"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--within", "0s"],
            "forebay: --within: found `0s`; allowed: a time above 0 s, up to 30 days, as in 30s or 2min",
        ),
        (["--within", "soon"], "forebay: --within: found `soon`; allowed: a time above 0 s"),
        (["--quick", "--within", "3s"], "forebay: --within: cannot be combined with `quick`; allowed: one of them"),
        (
            ["--quick", "--fraction", "90%"],
            "forebay: --fraction: cannot be combined with `quick`; allowed: one of them",
        ),
        (
            ["--within", "3s", "--replications", "4"],
            "forebay: --replications: cannot be combined with `within`; allowed",
        ),
    ],
)
def test_what_cannot_be_waited_for_is_refused(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], error: str
) -> None:
    # Replications that were simulated before the time was over stay for the next search.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    answer = forebay("recommend", small, "--no-picture", *options)
    assert answer.code == 2
    assert answer.err.startswith(error)
    assert answer.err.count("\n") == 1


def test_an_engine_without_replications_is_quick_too(small: Path) -> None:
    answer = recommend(Scenario.load(small), engine="fluid", quick=True)
    assert answer.packets is not None
    assert any(warning.kind is Kind.QUICK for warning in answer.warnings)
