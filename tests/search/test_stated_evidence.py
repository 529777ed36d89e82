"""A stated verdict, its runs, its confidences and its printed figures agree with each other."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import InputError, Scenario
from forebay.inputs.goals import Goal, metric_value
from forebay.results.metric import NEVER_S
from forebay.results.report import BufferSize, Estimate, Report
from forebay.scenario import TARGET
from forebay.search import findings
from forebay.search.answer_parts import CurvePoint, GoalAt
from forebay.search.buffer_variable import BufferVariable
from forebay.search.checked_buffers import checked_buffers
from forebay.search.evidence import without_few
from forebay.search.goal_test import Verdict
from forebay.search.optimum import Optimizing
from forebay.search.plan import Outcome
from forebay.search.planning import configured_packets
from forebay.search.search_state import SearchState
from forebay.search.smallest import Search
from forebay.text import formatting
from forebay.views.answer_sentences import recommended
from forebay.views.goal_table import GoalRow, region, verdict_cell
from tests.support.noisy_links import PLAN, Link
from tests.support.noisy_systems import KINDS, SYSTEMS
from tests.support.optima import LOSS
from tests.support.optima import PLAN as OPTIMUM_PLAN
from tests.support.optima import Link as Metric
from tests.support.scenarios import SMALL
from tests.support.searches import SCENARIO, UTILIZATION, bad, finished, four, good

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.search.plan import Plan
    from forebay.search.quick import QuickLook

NONE = ["conflict", "never", "peak below"]


# Proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NONE)
@pytest.mark.parametrize(("kind", "plan"), KINDS, ids=["search", "quick"])
def test_a_proof_rests_on_the_stated_runs_at_the_nearest_miss(
    kind: type[Search | QuickLook], plan: Plan, name: str
) -> None:
    """Its own runs exclude the nearest miss, and each measured buffer misses a goal."""
    means, goals = SYSTEMS[name]
    proofs = 0
    for seed in range(12):
        search = kind(Link(means, 0.01, seed), goals, plan)
        outcome = search.run()
        if not outcome.impossible:
            continue
        proofs += 1
        nearest = outcome.compromise
        assert nearest is not None
        assert any(search.missed_surely(nearest, goal, plan.confidence) for goal in search.goals)
        assert outcome.runs == search.nearby_runs(nearest) >= plan.least_runs
        for at in search.samples:
            assert Verdict.MISSED in {search.verdict_on(at, goal, outcome) for goal in search.goals}
    assert proofs, "some of them are proven"


def test_what_may_be_met_at_the_nearest_miss_is_no_proof() -> None:
    """One run just below the threshold between clear misses excludes nothing; more runs there decide it."""
    search = Search(Link({"utilization": lambda _buffer: 0.5}, 0.001), [Goal("utilization", ">=", 0.9)], PLAN)
    search.sample([1, 8, 60, 8000], 20)
    below = search.samples[8][0]
    at_edge = Report.of({**below.to_dict(), "metrics": {"utilization": {"mean": 0.899}}})
    search._keep(20, [at_edge])
    outcome = Outcome()
    assert search.not_excluded(0.95) == []
    assert search._unproven(0.95) == 20
    search.conclude(outcome, 19, 4, lambda _buffer: False)
    assert outcome.impossible
    assert len(search.samples[20]) >= 19


def test_an_answer_that_is_taken_back_states_no_confidence_of_a_goal() -> None:
    outcome = Outcome(buffer=9, confidence=0.97, confirmation=four(good), confidences={UTILIZATION.key: 0.97})
    outcome.leave_undecided(80)
    taken = finished({3: four(bad), 9: four(good)}, outcome)
    assert all(goal.confidence is None for goal in findings.judged_goals(taken, None).values())


# Confidences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "plan"), KINDS, ids=["search", "quick"])
def test_the_confidence_of_an_answer_is_the_smallest_of_its_goals(kind: type[Search | QuickLook], plan: Plan) -> None:
    means, goals = SYSTEMS["room"]
    answers = 0
    for seed in range(12):
        outcome = kind(Link(means, 0.01, seed), goals, plan).run()
        if outcome.buffer is not None:
            answers += 1
            assert set(outcome.confidences) == {goal.key for goal in goals}
            assert min(outcome.confidences.values()) == outcome.confidence
    assert answers


def test_goals_have_the_confidences_of_the_runs_that_confirmed_the_answer() -> None:
    """Runs that other buffers get afterwards change none of them."""
    fresh = [good(number) for number in range(8)]
    stated = {goal.key: 0.97 + 0.01 * number for number, goal in enumerate(SCENARIO.goals)}
    outcome = Outcome(buffer=9, confirmation=fresh, confidence=0.97, confidences=stated)
    known = finished({8: [bad(number) for number in range(8)], 9: four(good)}, outcome)
    assert {key: goal.confidence for key, goal in findings.judged_goals(known, None).items()} == stated


# Regions and rows ------------------------------------------------------------------------------------------------


def packets(number: int) -> BufferSize:
    return BufferSize(float(number), 1500.0 * number, 0.01 * number, None)


def curve(verdicts: Sequence[str]) -> tuple[Any, GoalRow]:
    """An answer of which only the verdicts on one goal are known, and the goal's row."""
    goal = Goal("utilization", ">=", 0.9)
    means = {"met": 0.95, "missed": 0.85, "undecided": 0.9}
    found = [
        GoalAt(packets(at + 1), Estimate(means[verdict]), verdict, 4)  # type: ignore[arg-type]
        for at, verdict in enumerate(verdicts)
    ]
    points = [CurvePoint(each.buffer, 4, {"utilization": each.measured}, {}, (), {goal.key: each}) for each in found]
    return SimpleNamespace(points=points, fraction=None), GoalRow(goal.key, goal, found[0], found[-1], None)


@pytest.mark.parametrize("measured", range(1, 8))
def test_a_sentence_on_a_goal_says_only_what_the_verdicts_say(measured: int) -> None:
    """Every list of verdicts at up to seven measured buffers is tried."""
    for verdicts in itertools.product(["met", "missed", "undecided"], repeat=measured):
        said_of(verdicts)


def said_of(verdicts: Sequence[str]) -> None:
    """Assert that the region's shape and ends say what the verdicts say."""
    found = region(*curve(verdicts))
    low = None if found.low is None else round(found.low.place) - 1
    high = None if found.high is None else round(found.high.place) - 1
    claimed: dict[str, tuple[Sequence[str], str]] = {
        "everywhere": (verdicts, "met"),
        "nowhere": (verdicts, "missed"),
        "from": (verdicts[low:] if low is not None else (), "met"),
        "up_to": (verdicts[: high + 1] if high is not None else (), "met"),
        "missed_from": (verdicts[low:] if low is not None else (), "missed"),
        "missed_up_to": (verdicts[: high + 1] if high is not None else (), "missed"),
        "between": (verdicts[low : high + 1] if low is not None and high is not None else (), "met"),
    }
    if found.shape in claimed:
        about, verdict = claimed[found.shape]
        assert about
        assert set(about) == {verdict}, "the sentence speaks of every measured buffer of the part"
    if found.shape in {"from", "missed_from"} and low is not None:
        assert low == 0 or verdicts[low - 1] != verdicts[low], "the part begins as low as the verdicts allow"
    if found.shape in {"up_to", "missed_up_to"} and high is not None:
        assert high == len(verdicts) - 1 or verdicts[high + 1] != verdicts[high], "and ends as high"
    if found.shape in {"between", "scattered"}:
        assert "undecided" not in verdicts


def test_points_without_an_answer_have_the_verdicts_of_the_search() -> None:
    """A buffer that a proof excludes is missed there, however few runs it has."""
    outcome = Outcome(compromise=9, impossible=True, excluded={UTILIZATION.key: [(1, 80)]})
    known = finished({3: four(bad), 5: [bad()], 9: four(bad)}, outcome)
    rows = findings.judged_goals(known, None)[UTILIZATION.key]
    assert rows.at_smallest is not None
    assert rows.at_largest is not None
    assert rows.at_smallest.verdict == rows.at_largest.verdict == "missed"
    assert {findings._goal_at(known, UTILIZATION, at).verdict for at in (3, 5, 9)} == {"missed"}


# Figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", range(1, 8))
def test_few_runs_have_a_mean_and_no_interval(runs: int) -> None:
    known = finished({3: four(bad), 9: [good(number) for number in range(runs)]}, Outcome(compromise=9))
    goal = findings.judged_goals(known, None)[UTILIZATION.key]
    there = findings._goal_at(known, UTILIZATION, 9)
    retained = without_few({"utilization": Estimate(0.9, 0.1)}, runs)
    assert (goal.measured.half_width is not None) == (runs >= 4)
    assert (retained["utilization"].half_width is not None) == (runs >= 4)
    row = GoalRow(UTILIZATION.key, UTILIZATION, None, None, None)
    cell = verdict_cell(row, there, interval=True)
    assert (f"({formatting.counted(runs, 'run')})" in cell) == (runs < 4)
    assert ("±" in cell) == (runs >= 4)


def test_runs_in_which_no_transfer_ended_give_no_mean_time() -> None:
    for never, text in ((1.0, "never"), (2 / 19, "never in 11 % of runs")):
        found = Estimate(never * NEVER_S + (1 - never) * 5, None)
        assert formatting.estimate("web.completion_time_p95", found) == text
        assert formatting.value("completion_time_p95_s", found.mean) == text
    assert formatting.value("web.completion_time_p95", 50.0) == "50.0 s"
    assert "never" not in formatting.value("queue_delay_max", 1e5)


@given(
    st.sampled_from(["loss_rate", "utilization", "a.loss_rate", "queue_delay_p99_s", "goodput_bps"]),
    st.floats(0, 1),
    st.floats(1e-9, 2),
)
def test_no_printed_interval_leaves_the_range_of_its_metric(name: str, mean: float, half: float) -> None:
    shown = formatting.estimate(name, Estimate(mean, half))
    share = "loss" in name or "util" in name
    if "±" in shown:
        assert mean - half >= 0
        assert not share or mean + half <= 1
    else:
        assert mean < half or (share and mean + half > 1)
        assert " to " in shown
        assert "-" not in shown.replace("e-", "")


def test_a_share_that_every_run_agrees_on_has_no_interval_of_zero() -> None:
    assert formatting.estimate("loss_rate", Estimate(0.0, 0.0)) == "0 %"


def test_a_limit_in_bytes_is_recommended_in_bytes() -> None:
    for text, first in (
        ("10kB", "We recommend 3 kB (3 packets of 1000 B"),
        ("20p", "We recommend 3 packets (3 kB"),
    ):
        scenario = Scenario.parse(SMALL).changed(f"link.buffer={text}")
        variable = BufferVariable(scenario)
        size = variable.sized(3)
        answer = SimpleNamespace(buffer=size, variable=variable, scenario=scenario, choice={})
        assert recommended(answer).startswith(first)  # type: ignore[arg-type]


# Optima, memories and figures that a run lacks -------------------------------------------------------------------


@pytest.mark.parametrize("best", [60, 200, 1000])
def test_an_optimum_beyond_the_first_range_is_found(best: int) -> None:
    """The first range ends at 33; the interval never ends where nothing larger was looked at."""
    for seed in range(10):
        link = Metric(lambda place: abs(place - best) / best, 0.02, seed)
        found = Optimizing(SearchState(link, [LOSS], OPTIMUM_PLAN), LOSS, [], 0.95).best(1, 33, limit=1000)
        assert found.low <= best <= found.high
        assert max(found.indistinguishable) < found.high or found.high == 1000
    inside = Optimizing(SearchState(link, [LOSS], OPTIMUM_PLAN), LOSS, [], 0.95).best(1, 33)
    assert inside.high == 33


MEMORY = """
[[memories]]
name = "chip"
size = "{size}"
[[links]]
name = "one"
rate = "2Mbps"
buffer = "6p"
memory = "chip"
target = true
[[flows]]
name = "a"
packet = "500B"
workload = {{ poisson = {{ rate = "1500kbps" }} }}
[run]
warmup = "1s"
measure = "1s"
"""


@pytest.mark.parametrize("size", ["30kB", "60p"])
def test_a_memory_counts_in_every_unit_that_a_run_accepts(size: str) -> None:
    scenario = Scenario.parse(MEMORY.format(size=size))
    assert configured_packets(BufferVariable(scenario).of_key(TARGET)) == pytest.approx(60)
    checked = checked_buffers(scenario, [f"memories.chip.size={size}"])
    assert [each.size.packets for each in checked.at.values()] == pytest.approx([60])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("drain_time_max", "the link's rate did not fall"),
        ("loss_rate", "no packet arrived"),
        ("web.loss_rate", "no packet of group `web` arrived"),
        ("jain_index", "nothing that it counts happened"),
    ],
)
def test_a_run_without_a_figure_says_why(name: str, why: str) -> None:
    groups = [{"name": "web", "metrics": {}}]
    seen = Report.of({"engine": "packet", "metrics": {"utilization": {"mean": 0.5}}, "groups": groups})
    with pytest.raises(InputError, match=f"has no `{name}`: {why} in the measured time"):
        metric_value(name, seen)
