"""`recommend --classes`: all class buffers of a port sized together, and confirmed together."""

from __future__ import annotations

import dataclasses
import html
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from forebay import ClassSizing, Scenario, Warning, _core, size_classes
from forebay.errors import InputError
from forebay.inputs.goals import metric_value
from forebay.results.warning import Kind
from forebay.scenario import run_jobs
from forebay.search.joint_buffers import SERIES, JointBuffers, PortBuffers
from forebay.search.measurements import Measurements
from forebay.search.port_classes import port_classes
from forebay.views.answer_sentences import goal_text
from forebay.views.class_sizing_text import class_sizing_text, link_line, paragraphs, sentence
from forebay.views.wording import count
from tests.support.commands import forebay

#: Calls before downloads on a slow link.
TWO = """\
[link]
rate   = "4Mbps"
buffer = "60p"
queue  = { kind = "classes", schedule = "dwrr", classes = [
    { name = "voice", groups = ["calls"], priority = true, buffer = "30p" },
    { name = "data", buffer = "60p" },
] }

[[flows]]
name     = "calls"
count    = 8
workload = "voip"

[[flows]]
name  = "copies"
count = 2
cca   = "cubic"
rtt   = { uniform = ["20ms", "40ms"] }
start = { uniform = ["0s", "1s"] }

[run]
warmup  = "3s"
measure = "10s"

[goal]
utilization       = ">= 93%"
"calls.loss_rate" = "<= 0.5%"
"""

IMPOSSIBLE = ("copies.loss_rate<=0.01%", "copies.queue_delay_max<=5ms")
CLASS_KEYS = ("link.queue.classes.voice.buffer", "link.queue.classes.data.buffer")


@pytest.fixture(name="scenario", scope="module")
def _scenario() -> Scenario:
    return Scenario.parse(TWO)


@pytest.fixture(name="answer", scope="module")
def _answer(scenario: Scenario) -> ClassSizing:
    return size_classes(scenario)


def _fresh_means(answer: ClassSizing, runs: int) -> dict[str, float]:
    """The mean of each goal's metric over runs of another seed, with all recommended buffers."""
    core = answer.sized.core
    reports = {}
    jobs = [_core.Job(core, "packet", core.seed + 12_345, number) for number in range(runs)]
    run_jobs(jobs, None, None, lambda number, report: reports.update({number: report}), None)
    return {
        goal.key: sum(metric_value(goal.name, report) for report in reports.values()) / runs
        for goal in answer.scenario.goals
    }


@pytest.mark.long
def test_the_answer_meets_every_goal_on_200_runs_of_another_seed(answer: ClassSizing) -> None:
    assert answer.verdict == "met"
    assert answer.confidence is not None
    assert answer.confidence >= 0.95
    assert answer.runs >= 19
    means = _fresh_means(answer, 200)
    assert all(goal.margin(means[goal.key]) >= 0 for goal in answer.scenario.goals), means


def test_every_class_is_smaller_than_configured_and_decided_by_its_own_goal(answer: ClassSizing) -> None:
    assert [each.key for each in answer.classes] == list(CLASS_KEYS)
    assert [each.binding_goal for each in answer.classes] == ["calls.loss_rate", "utilization"]
    assert [each.goals for each in answer.classes] == [("calls.loss_rate",), ("utilization",)]
    for each in answer.classes:
        assert each.buffer is not None
        assert each.buffer.packets < each.configured.packets
    assert answer.total is not None
    assert answer.total.bytes == sum(each.nearest.bytes for each in answer.classes)


def test_a_smaller_buffer_of_any_class_misses_its_goal(answer: ClassSizing) -> None:
    for each in answer.classes:
        # The answer is within noise of the minimum: a third of it is far below.
        size = max(1, round(each.nearest.packets / 3))
        changed = answer.sized.core.with_buffer(each.key, size)
        smaller = dataclasses.replace(each, nearest=dataclasses.replace(each.nearest, packets=size))
        rest = tuple(smaller if one is each else one for one in answer.classes)
        means = _fresh_means(dataclasses.replace(answer, classes=rest), 30)
        missed = [goal.key for goal in answer.scenario.goals if goal.margin(means[goal.key]) < 0]
        assert each.binding_goal in missed, changed.buffer_of(each.key)


@pytest.mark.long
def test_the_confirmation_uses_runs_that_no_search_uses(
    scenario: Scenario, answer: ClassSizing, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers: dict[bool, set[int]] = {True: set(), False: set()}
    measured = Measurements.__call__

    def spy(self: Measurements, pairs: list[tuple[int, int]]) -> object:
        numbers[isinstance(self.variable, JointBuffers)].update(number for _, number in pairs)
        return measured(self, pairs)

    monkeypatch.setattr(Measurements, "__call__", spy)
    repeated = size_classes(scenario)
    assert min(numbers[True]) >= SERIES
    assert max(numbers[False]) < SERIES
    assert _but_cost(repeated) == _but_cost(answer)


def _but_cost(answer: ClassSizing) -> dict[str, object]:
    data = answer.to_dict()
    del data["cost"]
    return data


@pytest.mark.long
def test_threads_and_stored_runs_do_not_change_the_answer(
    scenario: Scenario, answer: ClassSizing, tmp_path: Path
) -> None:
    assert _but_cost(size_classes(scenario, jobs=1)) == _but_cost(answer)
    cut = size_classes(scenario, within=0.4, resume=tmp_path)
    assert cut.verdict in {"undecided", "met"}
    retained = list(tmp_path.glob("*.jsonl"))
    uninterrupted = size_classes(scenario, resume=tmp_path)
    assert _but_cost(uninterrupted) == _but_cost(answer)
    if cut.verdict == "undecided":
        assert retained
        assert uninterrupted.cost.cached_runs > 0
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.long
def test_goals_that_contradict_each_other_are_never_met(scenario: Scenario) -> None:
    found = size_classes(scenario, IMPOSSIBLE)
    assert found.verdict in {"impossible", "undecided"}
    assert found.total is None
    assert found.confidence is None
    assert found.reason
    assert all(each.buffer is None for each in found.classes)
    assert any(not goal.met for goal in found.goals.values())


def test_a_goal_on_the_link_that_nothing_meets_is_impossible(scenario: Scenario) -> None:
    found = size_classes(scenario, ["queue_delay_max<=0.01ms"])
    assert found.verdict == "impossible"
    assert "queue_delay_max" in found.reason


def test_the_sizing_starts_above_the_configured_buffers_if_a_goal_fails_there(scenario: Scenario) -> None:
    small = scenario.changed(*(f"{key}=1p" for key in CLASS_KEYS))
    found = size_classes(small)
    assert found.verdict == "met"
    assert all(each.nearest.packets > 1 for each in found.classes)


@pytest.mark.long
def test_a_class_that_no_goal_asks_for_room_keeps_its_buffer(scenario: Scenario) -> None:
    found = size_classes(scenario, ["calls.queue_delay_p99<=50ms"])
    two = scenario.changed("goal.utilization=>= 90%")
    retained = size_classes(_without_loss_goal(two), ["calls.queue_delay_p99<=50ms"])
    assert found.verdict == retained.verdict == "met"
    voice = retained.classes[0]
    assert voice.unchanged
    assert voice.nearest.packets == voice.configured.packets
    assert [warning.kind for warning in retained.warnings if warning.subject == "voice"] == ["undemanded"]


def _without_loss_goal(scenario: Scenario) -> Scenario:
    del scenario
    return _load(TWO.replace('"calls.loss_rate" = "<= 0.5%"\n', ""))


def _load(text: str) -> Scenario:
    return Scenario.parse(text)


def test_classes_without_a_buffer_are_sized_as_one(scenario: Scenario) -> None:
    text = TWO.replace('"data", buffer = "60p" }', '"data" }')
    found = port_classes(_load(text)).every
    assert [(each.name, each.key, each.groups) for each in found] == [
        ("voice", CLASS_KEYS[0], ("calls",)),
        ("data", "link.buffer", ("copies",)),
    ]
    assert [each.key for each in port_classes(scenario).every] == list(CLASS_KEYS)


@pytest.mark.long
def test_a_refusal_enlarges_the_buffer_of_the_refused_goal(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    from forebay.search import class_steps

    sizes: list[dict[str, int]] = []
    real = class_steps.JointSearch.test

    def refused_once(self: class_steps.JointSearch, place: int, outcome: class_steps.Outcome) -> bool:
        sizes.append(dict(_sizing[0].sizes))
        confirmed = real(self, place, outcome)
        if len(sizes) == 1:
            self._keep(place, outcome.confirmation)
            outcome.buffer, outcome.binding = None, "calls.loss_rate"
            return False
        return confirmed

    _sizing: list[class_steps.ClassSteps] = []
    run = class_steps.ClassSteps.run

    def noted(self: class_steps.ClassSteps) -> None:
        _sizing.append(self)
        run(self)

    monkeypatch.setattr(class_steps.ClassSteps, "run", noted)
    monkeypatch.setattr(class_steps.JointSearch, "test", refused_once)
    found = size_classes(scenario)
    assert found.verdict == "met"
    assert sizes[1][CLASS_KEYS[0]] > sizes[0][CLASS_KEYS[0]]
    assert sizes[1][CLASS_KEYS[1]] == sizes[0][CLASS_KEYS[1]]


def test_a_place_has_all_buffers() -> None:
    scenario = _load(TWO)
    port = PortBuffers(scenario)
    variable = port.joint
    sizes = dict(zip(CLASS_KEYS, (7, 21), strict=True))
    place = variable.place_of(sizes)
    assert variable.place_of(dict(sizes)) == place
    assert variable.place_of(dict(zip(CLASS_KEYS, (21, 7), strict=True))) != place
    core = variable.apply(place).core
    assert core.sha256 == port.with_sizes(sizes).core.sha256
    assert [core.buffer_of(key)["packets"] for key in CLASS_KEYS] == [7, 21]
    assert variable.sized(place).packets == 28


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO, encoding="utf-8")
    return path


def test_the_text_begins_with_the_buffers_and_fits_80_columns(file: Path, answer: ClassSizing) -> None:
    found = forebay("recommend", file, "--classes", "--fresh", "--for", "linux")
    assert found.code == 0, found.err
    lines = found.out.splitlines()
    assert answer.total is not None
    assert lines[1].startswith(f"We recommend 2 class buffers, {answer.total.packets:,.0f} packets in total (")
    assert "with at least 95 % confidence (32 runs)" in found.out
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(class_sizing_text(answer))
    assert all(len(line) <= 80 for line in console.export_text().splitlines())
    for each in answer.classes:
        assert f"pfifo limit {each.nearest.packets:.0f}" in found.out


def test_warnings_that_change_the_decision_begin_in_the_third_line_the_weightiest_first(answer: ClassSizing) -> None:
    found = (Warning(Kind.SHORT_RUN, "a run is short"), Warning(Kind.HIGH_LOSS, "much is lost"))
    undecided = dataclasses.replace(answer, verdict="undecided", total=None, reason="The time was over.")
    for each in (answer, undecided):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(class_sizing_text(dataclasses.replace(each, warnings=found)))
        lines = console.export_text().splitlines()
        assert lines[2:4] == ["warning: much is lost", "warning: a run is short"]


def test_a_notebook_shows_the_sentences_every_class_and_every_goal(answer: ClassSizing) -> None:
    undecided = dataclasses.replace(answer, verdict="undecided", total=None, reason="The time was over.")
    urgent = dataclasses.replace(answer, warnings=(Warning(Kind.HIGH_LOSS, "much is lost"),))
    for each in (answer, undecided, urgent):
        page = html.unescape(each._repr_html_())
        assert page.index(sentence(each)) < page.index("<table>")
        assert all(line in page for line in (*paragraphs(each), link_line(each)))
        for found in each.classes:
            assert f'<th scope="row">{found.name}</th><td>{count(found.configured)}</td>' in page
            assert f"<td>{count(found.nearest)}</td>" in page
        for goal in each.goals.values():
            assert f'<th scope="row">{goal_text(goal)}</th>' in page
        assert ("recommended" in page) == each.feasible
    assert 0 <= page.index("much is lost") < page.index(sentence(urgent))


def test_the_json_has_every_class_and_goal(file: Path) -> None:
    found = forebay("recommend", file, "--classes", "--fresh", "--quick", "--json")
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data["verdict"] == "met"
    assert [each["key"] for each in data["classes"]] == list(CLASS_KEYS)
    assert set(data["goals"]) == {"utilization", "calls.loss_rate"}
    assert data["recommendation"]["packets"] == sum(each["buffer"]["packets"] for each in data["classes"])
    assert any("a quick search" in warning for warning in data["warnings"])


@pytest.mark.long
def test_the_exit_code_is_the_verdict(file: Path) -> None:
    goals = [argument for goal in IMPOSSIBLE for argument in ("--goal", goal)]
    found = forebay("recommend", file, "--classes", "--fresh", "--json", *goals)
    assert found.code == {"impossible": 1, "undecided": 3}[json.loads(found.out)["verdict"]]
    found = forebay("recommend", file, "--classes", "--fresh", "--goal", "queue_delay_max<=0.01ms")
    assert found.code == 1
    assert "No combination of class buffers meets every goal." in found.out
    assert "We recommend" not in found.out


@pytest.mark.parametrize(
    "options",
    [
        ("--over", "link.buffer"),
        ("--largest",),
        ("--minimize", "loss_rate"),
        ("--maximize", "utilization"),
        ("--fraction", "90%"),
        ("--sensitivity",),
        ("--pareto", "utilization,loss_rate"),
        ("--also", "5p"),
        ("--picture", "x.png"),
        ("--replications", "4"),
    ],
    ids=lambda options: options[0],
)
def test_options_of_one_buffer_are_refused(file: Path, options: tuple[str, ...]) -> None:
    found = forebay("recommend", file, "--classes", *options)
    assert found.code == 2
    assert found.err.strip() == f"forebay: {options[0]}: cannot be combined with --classes; allowed: one of them"


def test_a_link_without_classes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text(TWO.replace(TWO[TWO.index("queue  =") : TWO.index("\n[[flows]]")], ""))
    found = forebay("recommend", path, "--classes")
    assert found.code == 2
    assert len(found.err.strip().splitlines()) == 1
    assert "`droptail`" in found.err
    assert 'kind = "classes"' in found.err


def test_no_goal_is_refused(scenario: Scenario) -> None:
    text = TWO[: TWO.index("[goal]")]
    with pytest.raises(InputError, match="at least one"):
        size_classes(_load(text))
    with pytest.raises(InputError, match=r"above 0\.5"):
        size_classes(scenario, confidence=0.4)
