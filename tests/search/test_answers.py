"""Answers: typed, with the JSON they always had, and the same from Python as from the command line."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from forebay import InputError, Report, Scenario, Warning, _core, compare, explain, recommend
from forebay.configuration.configuring import configure
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Port
from forebay.explanation import FIELDS, names
from forebay.inputs.goals import split_goal
from forebay.measurement.batches import run_in_batches
from forebay.results.metric import find, key_among, unit_of
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Kind
from forebay.search.answer import Recommendation
from forebay.search.buffer_variable import BufferVariable
from forebay.search.evidence import Evidence
from forebay.search.evidence_warnings import warnings
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import Outcome, Plan
from forebay.search.smallest import Search
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

PAIR = "utilization,queue_delay_p99"


@pytest.fixture(scope="module")
def found() -> Recommendation:
    return recommend(Scenario.parse(SMALL), also=["5p"], platforms=["ios-xr", "linux"], pareto=PAIR)


def without_cost(data: Any) -> Any:
    return {name: value for name, value in data.items() if name != "cost"}


# The JSON ----------------------------------------------------------------------------------------------------------


def test_python_answers_what_the_command_line_prints(small: Path) -> None:
    options = ["--json", "--no-picture", "--also", "5p", "--for", "junos", "--pareto", PAIR, "--sensitivity"]
    printed = json.loads(forebay("recommend", small, *options).out)
    answer = recommend(Scenario.load(small), also=["5p"], platforms=["junos"], pareto=PAIR, sensitivity=True)
    data = json.loads(answer.to_json())
    assert without_cost(data) == without_cost(printed)
    assert list(data) == list(printed)
    assert list(data)[-4:] == ["varied_hosts", "gaps", "islands", "twin"]
    run = json.loads(forebay("run", small, "--json").out)
    report = Scenario.load(small).run()
    assert without_cost(report.to_dict()) == without_cost(run)
    assert [warning.kind for warning in report.warnings][-1] == Kind.PHASE_EFFECT
    assert list(json.loads(report.to_json())) == list(run)
    compared = json.loads(forebay("compare", small, "--points", "2", "--no-picture", "--json").out)
    assert compare(Scenario.load(small), points=2).to_dict() == compared


def test_the_keys_of_a_recommendation_keep_their_order(found: Recommendation) -> None:
    data = found.to_dict()
    assert list(data) == [
        *("verdict", "recommendation", "between", "runs", "confidence", "resolution", "binding_goal", "goals"),
        *("feasible_from", "feasible_up_to"),
        *("infeasible_intervals", "feasible_intervals"),
        *(
            "uncertain",
            "fraction",
            "conflict",
            "rules",
            "also",
            "curve",
            "cost",
            "warnings",
            "scenario_sha256",
            "engine",
            "version",
        ),
        *("configuration", "configurations", "pareto", "varied_hosts"),
        *("gaps", "islands", "twin"),
    ]
    assert list(data["goals"]["utilization"]) == [
        *("met_replications", "replications", "sense", "threshold", "at_packets", "measured", "margin", "met"),
        *("confidence", "binding", "at_smallest", "at_largest", "evidence", "held", "of", "slack"),
    ]
    assert list(data["rules"][0]) == [
        *(
            "name",
            "buffer",
            "applies",
            "why",
            "assumptions",
            "predicted",
            "notes",
            "measured",
            "share",
            "rule_verdict",
            "between",
            "judgment",
        )
    ]
    assert data["recommendation"] == to_jsonable(found.buffer)
    assert json.loads(found.to_json()) == found.data == data


def test_a_report_is_read_when_it_is_asked_for_and_says_what_it_was_read_from() -> None:
    report = Scenario.parse(SMALL).run(replications=2)
    assert not {"metrics", "groups", "cost", "warnings"} & (vars(report).keys() - {"warnings"})
    reread = Report.of(json.loads(report.to_json()))
    assert reread.metrics == report.metrics
    assert (reread.buffer, reread.cost, reread.replications, reread.seed) == (report.buffer, report.cost, 2, 3)
    assert [group.name for group in reread.groups] == ["bulk", "background"]
    assert reread.groups[0].per_flow == report.groups[0].per_flow
    assert reread.groups[0].per_flow[0].goodput_bps > 0
    assert reread.groups[0].with_quantiles["flow_goodput_p50_bps"].mean == reread.groups[0].flow_goodput_bps["p50"]
    assert reread.distributions == report.distributions
    assert reread.to_json() == report.to_json()
    assert list(reread.warnings) == list(report.warnings)
    assert {warning.kind for warning in reread.warnings} <= {Kind.UNKNOWN}
    data = report.to_dict()
    data["metrics"].clear()
    assert report.to_dict()["metrics"], "a copy"


def test_batches_change_what_they_say_and_nothing_else() -> None:
    scenario = Scenario.parse(SMALL)
    one, batched = scenario.run(replications=1), run_in_batches(scenario, batches=10)
    assert batched.batches == 10
    assert batched.metrics["utilization"].half_width == batched.to_dict()["metrics"]["utilization"]["half_width"]
    assert batched.metrics["utilization"].mean == one.metrics["utilization"].mean
    assert one.metrics["utilization"].half_width is None
    assert one.batches is None


def test_answers_are_frozen(found: Recommendation) -> None:
    for value in (found, found.buffer, found.points[0], found.rules[0], found.cost, found.pareto, explain("mm1k")):
        assert dataclasses.is_dataclass(value)
        assert not hasattr(value, "__dict__")
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)


# Requested extras --------------------------------------------------------------------------------------------------


def test_configurations_are_those_of_the_answer(found: Recommendation) -> None:
    assert found.buffer is not None
    assert [configuration.system for configuration in found.configurations] == ["ios-xr", "linux"]
    port = Port.of(found.scenario.with_packets(round(found.buffer.packets)))
    for configuration in found.configurations:
        assert configuration == configure(PLATFORMS[configuration.system], port)
        assert configuration.lines
        assert configuration.quirks == PLATFORMS[configuration.system].quirks
    data = found.to_dict()
    assert data["configurations"][0] == data["configuration"]
    conflict = recommend(Scenario.parse(SMALL), ["utilization>=0.99", "queue_delay_p99<=20ms"], platforms=["linux"])
    assert not conflict.feasible
    (nothing,) = conflict.configurations
    assert nothing.lines == ()
    assert nothing.notes == ("no configuration, because no buffer is recommended",)
    assert conflict.to_dict()["configuration"]["lines"] == []


def test_a_conflict_tells_how_each_goal_fares_at_the_nearest_miss() -> None:
    conflict = recommend(Scenario.parse(SMALL), ["utilization>=0.99", "queue_delay_p99<=20ms", "loss_rate<=99%"])
    assert conflict.conflict is not None
    assert conflict.conflict.compromise is not None
    there = conflict.at(conflict.conflict.compromise)
    assert there is not None
    for name, judged in conflict.goals.items():
        found = there.estimate(there.key(name) or "")
        assert found is not None
        assert judged.measured.mean == pytest.approx(found.mean), "every replication at that buffer counts"
    nearest = conflict.conflict.nearest
    assert [miss.goal.name for miss in nearest] == list(conflict.goals)
    for miss, judged in zip(nearest, conflict.goals.values(), strict=True):
        assert miss.measured == judged.measured
        assert miss.met is judged.met
        assert miss.shortfall == max(0.0, -judged.margin)
        assert (miss.shortfall == 0) is (miss.goal.margin(miss.measured.mean) >= 0)
    assert any(miss.shortfall > 0 for miss in nearest)
    assert any(miss.met for miss in nearest)
    data = conflict.to_dict()["conflict"]["nearest"]
    assert [list(each) for each in data] == [["goal", "measured", "shortfall", "met", "off"]] * 3
    assert data[0]["goal"] == {"name": nearest[0].goal.name, "sense": ">=", "threshold": 0.99}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"platforms": ["cat-os"]}, "platforms: unknown platform `cat-os`; known: ios-xr, "),
        ({"pareto": "utilization"}, "pareto: found `utilization`; allowed: two metrics"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=message):
        recommend(Scenario.parse(SMALL), progress=refuse, **options)


# Warnings ----------------------------------------------------------------------------------------------------------


def test_a_warning_is_its_sentence_and_knows_what_it_is_about() -> None:
    warning = Warning("few_drops", "the loss rate rests on 3 drops", subject="loss_rate", values={"drops": 3})
    assert warning == str(warning) == warning.text == "the loss rate rests on 3 drops"
    assert type(str(warning)) is str
    assert json.dumps([warning]) == '["the loss rate rests on 3 drops"]'
    assert (warning.kind, warning.subject, warning.values["drops"]) == (Kind.FEW_DROPS, "loss_rate", 3)
    reread = pickle.loads(pickle.dumps(warning))
    assert (reread, reread.kind, reread.subject, reread.values) == (
        warning,
        warning.kind,
        warning.subject,
        warning.values,
    )
    other = warning.saying("at 7 packets: few")
    assert (other, other.kind, other.values) == ("at 7 packets: few", warning.kind, warning.values)
    with pytest.raises(ValueError, match="nonsense"):
        Warning("nonsense", "text")


def test_every_kind_of_the_engines_is_known() -> None:
    source = (ROOT / "crates" / "scenario" / "src" / "answer" / "warning.rs").read_text(encoding="utf-8")
    table = source[source.index("pub const fn name(self)") :]
    table = table[: table.index("}\n    }")]
    kinds = [line.partition('"')[2].partition('"')[0] for line in table.splitlines() if "=>" in line]
    assert len(kinds) > 10
    assert set(kinds) <= {kind.value for kind in Kind}


def test_warnings_of_engines_carry_their_figures() -> None:
    short = Scenario.parse(SMALL, overrides=["run.measure=2s", "run.warmup=0.1s"])
    report = short.run(replications=1)
    few = next(warning for warning in report.warnings if warning.kind == Kind.FEW_CONGESTION_EVENTS)
    assert few.startswith(f"there were only {few.values['events']:.0f} congestion events")
    fluid = short.run("fluid")
    assert [warning.subject for warning in fluid.warnings if warning.kind == Kind.FLUID_BACKGROUND] == ["constant"]


def test_warnings_are_distinguished_by_subject_not_by_text() -> None:
    def warned(*messages: tuple[str, str, str]) -> Report:
        return Report.of({"warnings": []}).warned(
            Warning(kind, text, subject=subject) for kind, subject, text in messages
        )

    measure = Measurements(BufferVariable(Scenario.parse(SMALL)), Means("fluid"))
    measure.reports = {
        (9, 0): warned(("assumption", "mm1k", "it is 9"), ("silent", "", "one drop")),
        (4, 1): warned(("assumption", "bdp", "it is 9"), ("silent", "", "no drops at all")),
        (4, 0): warned(("assumption", "mm1k", "it is 4 and more")),
        **{(packets, 0): warned(("note", "", "n")) for packets in range(10, 18)},
    }
    search = Search(measure, measure.scenario.goals, Plan(1, 100, 100))
    outcome = Outcome(notes=[Warning("no_margin", "a note")])
    found = warnings(Evidence(search, outcome, measure, BufferVariable(measure.scenario)))
    assert [(warning.kind.value, warning.subject, str(warning)) for warning in found] == [
        ("no_margin", "", "a note"),
        ("assumption", "mm1k", "at 4, 9 packets: it is 4 and more"),
        ("assumption", "bdp", "at 4 packets: it is 9"),
        ("silent", "", "at 4, 9 packets: no drops at all"),
        ("note", "", "at 10, 11, 12, 13, 14, 15, ... packets: n"),
    ]


@pytest.mark.long
def test_equal_warnings_are_merged_with_their_buffers() -> None:
    short = Scenario.parse(SMALL, overrides=["run.measure=3s", "run.warmup=1s"])
    stated = recommend(short, ["utilization>=0.5"]).warnings
    of_runs = [(warning.kind, warning.subject) for warning in stated if warning.startswith("at ")]
    assert len(of_runs) == len(set(of_runs)) > 0
    assert (Kind.PHASE_EFFECT, "bulk") in [(warning.kind, warning.subject) for warning in stated]


@pytest.mark.parametrize("text", ["fast", "utilization>=", ">=1", "a<=b>=c", 'utilization>="1', "loss_rate=1"])
def test_goals_have_three_parts(text: str) -> None:
    with pytest.raises(InputError, match=r"^goals: found "):
        split_goal(text)
    assert split_goal(" bulk.loss_rate <= 1% ") == ("bulk.loss_rate", "<=", "1%")


# Metrics and quantities --------------------------------------------------------------------------------------------


def test_metrics_know_their_units() -> None:
    endings = {"s": "_s", "bps": "_bps", "packets": "_packets", "bytes": "_bytes", "share": "", "number": ""}
    for metric in _core.metrics():
        assert metric.name == metric.goal_name + endings[metric.unit]
        assert find(metric.name) is not None
        assert unit_of(f"group.{metric.goal_name}") == metric.unit
    assert {metric.goal_name for metric in _core.metrics() if metric.more_is_better} == {
        *("utilization", "goodput", "jain_index", "flow_goodput_p10", "flow_goodput_p50")
    }
    assert unit_of("nonsense") == "number"
    assert key_among("queue_delay_p99", {"queue_delay_p99_s"}) == "queue_delay_p99_s"
    assert key_among("queue_delay_p99", {"utilization"}) is None
    assert key_among("bulk.loss_rate", {"loss_rate"}) is None, "the link's is another"


def test_metrics_are_where_they_say() -> None:
    report = Scenario.parse(SMALL).run(replications=1)
    scopes = {metric.name: metric.scope for metric in _core.metrics()}
    assert {scopes[name] for name in report.metrics} == {"link", "both"}
    assert {scopes[name] for group in report.groups for name in group.metrics} == {"group", "both"}


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("20ms", "time", 0.02),
        (" 1.5 s ", "time", 1.5),
        ("50Mbps", "rate", 5e7),
        ("64KiB", "bytes", 65536),
        ("100p", "packets", 100),
        ("90%", "share", 0.9),
        ("0.25", "share", 0.25),
    ],
)
def test_quantities_are_read_by_the_core(text: str, dimension: Any, value: float) -> None:
    assert _core.parse_quantity(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension", "allowed"),
    [
        ("5", "time", "a unit out of ps, ns, us, ms"),
        ("10Mbit", "rate", "a unit out of bps, kbps"),
        ("-1%", "share", "a share such as 30%"),
        ("inf", "share", "a share such as 30%"),
        ("100", "packets", "such as 100p"),
        ("1kg", "weight", "time, rate, bytes, packets, share"),
    ],
)
def test_wrong_quantities_name_what_is_allowed(text: str, dimension: Any, allowed: str) -> None:
    with pytest.raises(InputError, match=allowed) as raised:
        _core.parse_quantity(text, dimension)
    assert "found " in str(raised.value)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("0.5BDP", (0.5, "BDP")),
        ("1e3p", (1000.0, "p")),
        ("1.5E-3 s", (0.0015, "s")),
        ("-.5%", (-0.5, "%")),
        ("7", (7.0, "")),
        ("3e", (3.0, "e")),
        ("2excellent", (2.0, "excellent")),
        ("cubic", None),
        ("", None),
        ("-", None),
    ],
)
def test_a_number_is_split_from_whatever_follows(text: str, split: tuple[float, str] | None) -> None:
    assert _core.split_quantity(text) == split


# Explanations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(FIELDS))
def test_explanations_say_what_their_kind_does(kind: str) -> None:
    name = names()[kind][-1]
    explanation = explain(name).to_dict()
    assert (explanation["kind"], explanation["name"]) == (kind, name)
    deprecated = ["worked"] if kind == "model" else []
    assert list(explanation) == [*FIELDS[kind], *deprecated]
    shown = json.loads(forebay("explain", name, "--json").out)
    shown.pop("others", None)
    assert shown == explanation


def test_models_are_explained_as_in_the_core() -> None:
    models = _core.models()
    assert len(models) > 10
    for text in models:
        data = json.loads(text)
        mine = explain(data["name"])
        data["worked_example"] = data["worked"]
        assert mine.to_dict() == data
        assert mine.quantities[0].parameters[0].bounds
