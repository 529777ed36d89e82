"""A sample of the coverage study: each family keeps the criteria, and a search that overstates its confidence fails."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from checks.coverage import study, systems, truth
from checks.coverage.families import CASES, FAMILIES, USEFUL
from checks.coverage.judging import JudgedSearch, Result, Tally, judge, tables, verdict
from checks.coverage.systems import PLAN, SYSTEMS, System
from checks.coverage.truth import SEED, Truth, of_means
from forebay import _core
from forebay.inputs.goals import Goal, metric_value
from forebay.results.report import Report
from forebay.scenario import run_jobs

#: Searches of each scenario and of each system in the sample.
COUNTS = {"engine": 3, "systems": 10}
#: The seeds of the sample, which the study with its default numbers does not use.
FIRST = 10_001


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        # Searches on the engine take seconds in the first family, and minutes in the others.
        pytest.param(family, kind, marks=pytest.mark.long if kind == "engine" and number else ())
        for number, family in enumerate(FAMILIES)
        for kind in COUNTS
    ],
)
def test_a_family_keeps_the_criteria(family: str, kind: str) -> None:
    """A few searches on every scenario of the engine, or on every system, of a family."""
    of = [each for each in study.subjects([family]) if isinstance(each, systems.System) is (kind == "systems")]
    results = [study.searched(subject, FIRST + number) for subject in of for number in range(COUNTS[kind])]
    (tally,) = study.study(results, of)[0]
    assert tally.faults(slack=2.0) == []


class Repeating(System):
    """A system that gives each observation 32 times with a trace of noise, which a search takes for 32 observations."""

    def report(self, buffer: int, replication: int, seed: int) -> Report:
        metrics = super().report(buffer, replication // 32, seed).metrics
        trace = 1e-6 * float(np.random.default_rng((seed, buffer, replication)).normal())
        values = {name: {"mean": estimate.mean + trace} for name, estimate in metrics.items()}
        return Report.of({"engine": "test", "metrics": values, "groups": []})


def test_a_search_that_is_too_sure_fails() -> None:
    [honest] = [each for each in SYSTEMS if each.name == "system: normal, much"]
    parts = {name: getattr(honest, name) for name in ("family", "name", "goals", "metrics")}
    for system, fails in ((honest, False), (Repeating(**parts), True)):
        [tally], _ = study.study([study.searched(system, seed) for seed in range(60)], [system])
        assert any("are wrong" in fault for fault in tally.faults()) is fails


# The study itself ----------------------------------------------------------------------------------------------------


def test_there_are_enough_scenarios_of_each_family() -> None:
    assert len(CASES) >= 30
    for of in (CASES, SYSTEMS):
        counts = Counter(each.family for each in of)
        assert set(counts) == set(FAMILIES)
        assert min(counts.values()) >= 3
    names = [each.name for each in (*CASES, *SYSTEMS)]
    assert len(set(names)) == len(names)
    assert set(USEFUL) < set(FAMILIES)
    # The goals are possible and impossible, and met by every buffer.
    truths = [truth.load(case) for case in CASES]
    assert sum(each.possible() is False for each in truths) >= 2
    assert sum(bool((each.states > 0).all()) for each in truths) >= 2
    assert sum(each.possible() is True for each in truths) >= 0.8 * len(truths)


def test_most_buffers_of_each_scenario_can_be_judged() -> None:
    for case in CASES:
        states = truth.load(case).states
        assert np.abs(states).mean() >= 0.8, case.name


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in {"rare floods", "bimodal counts"}])
def test_the_stored_truth_agrees_with_fresh_runs(family: str) -> None:
    """If numbers of the engine change, `python -m checks.coverage.truth --anew` computes the truth again."""
    case = next(case for case in CASES if case.family == family)
    retained, scenario = truth.curve(case), case.scenario(77)
    for place in range(0, len(retained.buffers), len(retained.buffers) // 3):
        core = scenario.with_packets(retained.buffers[place]).core
        reports = run_jobs([_core.Job(core, "packet", 77, number) for number in range(80)], 1)
        for goal in scenario.goals:
            fresh = np.array([metric_value(goal.name, report) for report in reports])
            error = np.hypot(fresh.std(ddof=1) / np.sqrt(len(fresh)), retained.errors[goal.name][place])
            assert abs(fresh.mean() - retained.means[goal.name][place]) <= 5 * error + 1e-4, (case.name, place)


def test_the_states_of_a_scenario_have_its_probabilities() -> None:
    [case] = [case for case in CASES if case.name == "one-or-thirty-flows"]
    states = truth.states(case)
    assert [state.probability for state in states] == [0.9, 0.1]
    assert sum(state.probability for state in states) == 1.0
    assert not any(state.scenario.core.uncertain for state in states)
    [case] = [case for case in CASES if case.name == "two-sources-seldom-together"]
    assert [state.probability for state in truth.states(case)] == [1 / 400, 19 / 400, 19 / 400, 361 / 400]
    [case] = [case for case in CASES if case.name == "poisson-loss"]
    [state] = truth.states(case)
    assert state.scenario.core.sha256 == case.scenario(SEED).core.sha256


def test_a_curve_of_another_scenario_is_refused() -> None:
    changed = dataclasses.replace(CASES[0], tables={**CASES[0].tables, "run": {"warmup": "1s", "measure": "6s"}})
    with pytest.raises(ValueError, match="has no curve of `poisson-loss` as it is now"):
        truth.load(changed)


def test_the_noise_of_a_system_is_zero_on_average() -> None:
    for system in SYSTEMS:
        for name, metric in system.metrics.items():
            random = np.random.default_rng(1)
            draws = np.array([metric.draw(random) for _ in range(4000)])
            error = draws.std() / np.sqrt(len(draws))
            assert abs(draws.mean()) <= 4 * error + 1e-12, (system.name, name)


def stands(*states: int) -> Truth:
    """The truth with these states from one packet on; what is unknown is met by the means alone."""
    found = np.array(states, dtype=np.int8)
    return Truth(found, found >= 0)


def found(verdict: str, buffer: int | None, low: int | None = None, high: int | None = None) -> Result:
    return Result("a", 1, verdict, buffer, 0.95, 6, low, high, 20, 0.1)


def test_the_minimum_is_the_lower_end_about_the_answer_or_above_it() -> None:
    truth = stands(-1, 1, 1, -1, -1, 0, 1, 1)
    assert truth.minimum(3) == (2, 2, 2)
    assert truth.minimum(2) == (2, 2, 2)
    assert truth.minimum(8) == (6, 6, 7)
    assert truth.minimum(4) == (6, 6, 7)
    assert truth.minimum(9) == (6, 6, 7), "beyond the largest buffer it is as there"
    assert stands(1, -1).minimum(2) is None
    assert stands(1, 1).minimum(2) == (1, 1, 1)


def test_a_buffer_that_misses_a_goal_is_wrong_and_what_is_unknown_is_not_judged() -> None:
    truth = stands(-1, -1, 0, 1, 1, 1)
    assert [judge(found("met", buffer), truth).wrong for buffer in (2, 3, 4)] == [True, None, False]
    assert judge(found("impossible", None), truth).wrong is True
    assert judge(found("impossible", None), stands(-1, -1)).wrong is False
    assert judge(found("impossible", None), stands(-1, 0)).wrong is None
    assert judge(found("undecided", None), truth).wrong is None
    assert judge(found("met", 6), truth).ratio == 2.0


@pytest.mark.parametrize(
    ("ends", "covered"),
    [((2, 4), True), ((3, 5), True), ((4, 6), None), ((1, 2), False), ((5, 6), False), ((None, None), None)],
)
def test_an_interval_covers_the_minimum(ends: tuple[int | None, int | None], covered: bool | None) -> None:
    assert judge(found("met", 6, *ends), stands(-1, -1, 0, 1, 1, 1)).covered is covered


def test_a_mean_within_two_errors_of_a_goal_is_unknown() -> None:
    goals = [Goal("utilization", ">=", 0.9), Goal("loss_rate", "<=", 0.1)]
    means = {"utilization": np.array([0.8, 0.91, 0.95, 0.95]), "loss_rate": np.array([0.0, 0.0, 0.05, 0.2])}
    errors = {name: np.full(4, 0.01) for name in means}
    assert of_means(goals, means, errors).states.tolist() == [-1, 0, 1, -1]
    assert of_means(goals, means, errors).likely.tolist() == [False, True, True, False]


def counted(family: str, *, wrong: int = 0, of: int = 200, covered: float = 0.8, ratio: float = 1.1) -> Tally:
    judged = [JudgedSearch(found("met", 5), each < wrong, each < covered * of, ratio) for each in range(of)]
    return Tally(family, "engine", judged)


def test_five_percent_and_two_errors_may_be_wrong() -> None:
    assert counted("overload", wrong=16).faults() == []
    assert counted("overload", wrong=17).faults() == ["8.5 ± 2.0 % of the answers stated at 95 % are wrong"]


def test_three_quarters_of_the_intervals_cover_the_minimum() -> None:
    assert counted("overload", covered=0.75).faults() == []
    assert counted("overload", covered=0.74).faults() == ["intervals cover 74.0 ± 3.1 %"]
    assert counted("overload", covered=0.74).faults(slack=2.0) == []


def test_answers_are_useful_where_the_study_asks_for_it() -> None:
    assert counted("smooth", ratio=1.31).faults() == ["the median answer is 1.31 times the minimum"]
    assert counted("overload", ratio=1.31).faults() == []
    undecided = [JudgedSearch(found("undecided", None), None, None, None)] * 21
    decided = [JudgedSearch(found("met", 5), False, True, 1.0)] * 79
    assert Tally("smooth", "engine", [*undecided, *decided]).faults() == ["79.0 ± 4.1 % of the searches are decided"]
    assert Tally("overload", "engine", [*undecided, *decided]).faults() == []


def test_an_answer_without_a_confidence_is_counted_apart() -> None:
    unsure = JudgedSearch(dataclasses.replace(found("met", 5), confidence=None), True, None, None)
    low = JudgedSearch(dataclasses.replace(found("met", 5), confidence=0.9), True, None, None)
    tally = Tally("overload", "engine", [unsure, low])
    assert (len(tally.stated), len(tally.unstated)) == (0, 2)
    assert tally.faults() == []


def test_the_tables_say_which_family_fails() -> None:
    bad, good = counted("overload", wrong=100), counted("smooth")
    text = tables([good, bad], [dataclasses.replace(good, kind="poisson-loss")])
    assert "| smooth | engine | 200 |" in text
    assert "| poisson-loss | 200 | 0 | 0 |" in text
    assert verdict([good]) == "Every family passes."
    assert verdict([good, bad]).startswith("1 criteria fail: overload (engine): 50.0 ± 3.5 %")


def test_a_study_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = [each for each in SYSTEMS if each.family == "lock-step"]
    counts = {"engine": 0, "systems": 3}
    first = study.run(of, counts, tmp_path)
    begun = [next(first) for _ in range(4)]
    first.close()
    [path] = tmp_path.iterdir()
    # A line that was not written to its end is searched for again.
    path.write_bytes(path.read_bytes()[:-5])
    requested: list[tuple[str, int]] = []
    honest = study.searched

    def counting(subject: study.Subject, seed: int) -> Result:
        requested.append((subject.name, seed))
        return honest(subject, seed)

    monkeypatch.setattr(study, "searched", counting)
    every = list(study.run(of, counts, tmp_path))
    assert len(requested) == 3 * len(of) - 3
    assert [dataclasses.replace(each, cpu_s=0.0) for each in every[:3]] == [
        dataclasses.replace(each, cpu_s=0.0) for each in begun[:3]
    ]
    requested.clear()
    assert {(each.name, each.seed) for each in study.run(of, counts, tmp_path)} == {
        (each.name, seed) for each in of for seed in (1, 2, 3)
    }
    assert requested == []


def test_the_command_ends_with_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--searches", "0", "--systems", "3", "--folder", str(tmp_path)]
    assert study.main([*options, "--family", "lock-step"]) == 0
    assert "Every family passes." in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        study.main([*options, "--family", "no such"])
    assert end.value.code == 2
    assert "expected a part of one of smooth" in capsys.readouterr().err


def test_systems_begin_with_the_plan_of_the_study() -> None:
    assert PLAN.confidence == 0.95
    outcome, replications = systems.search(SYSTEMS[0], 1)
    assert outcome.buffer is not None
    assert replications > 10
