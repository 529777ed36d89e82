"""Answers in a notebook: the manual's own code, short lines, tables without markup of a user, metrics as attributes."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay
from forebay import InputError, Report, Scenario, compare, recommend, sweep
from forebay.results.report import Estimate, GroupReport, Metrics, NamedEntries
from forebay.results.warning import Kind, Warning
from forebay.text.quantity import Scale, scale_of
from tests.support.markup import HARMLESS, HOSTILE, Reading
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL


def blocks(page: str) -> list[str]:
    """The indented code of a page of the manual."""
    found = re.findall(r"(?:^(?:    .*|)\n)+", page, re.MULTILINE)
    return [textwrap.dedent(block) for block in found if block.strip() and not block.lstrip("\n").startswith("      ")]


@pytest.mark.long
def test_the_code_of_the_manual_runs_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Cell by cell, as a notebook does: what a cell ends with is shown."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    # As long as the scenario says, for it is in real time: three seconds tell as much.
    assert page.count('scenario.run("kernel")') == 1
    brief = 'scenario.changed("run.warmup=1s", "run.measure=2s").run("kernel")'
    page = page.replace('scenario.run("kernel")', brief)
    cells = blocks(page[: page.index("## Reference")])
    assert len(cells) >= 6
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells:
        for statement in ast.parse(cell).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "docs/reference/api.md", "eval"), names)
                line = repr(value)
                if hasattr(value, "_repr_html_"):
                    assert value._repr_html_()
                if isinstance(value, forebay.Report | forebay.Recommendation | forebay.Comparison | forebay.Sweep):
                    assert "\n" not in line
                    assert len(line) < 200
            else:
                exec(compile(ast.Module([statement], []), "docs/reference/api.md", "exec"), names)
    assert capsys.readouterr().out.startswith("confidence: found 1.5; allowed: ")
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "report.png",
        "answer.png",
        "map.png",
        "comparison.png",
        "sweep.png",
    }
    assert names["data"]["link.buffer"].to_numpy().tolist() == [5, 13, 32, 80]
    assert names["data"]["flows.backup.rtt"].to_numpy().tolist() == [0.01, 0.05]


@pytest.fixture(scope="module")
def report() -> Report:
    return Scenario.parse(SMALL).run()


@pytest.fixture(scope="module")
def answer() -> forebay.Recommendation:
    return recommend(Scenario.parse(SMALL), also=["5p"])


# Metrics as attributes -------------------------------------------------------------------------------------------


def test_metrics_are_attributes(report: Report) -> None:
    for owner in (report, *report.groups):
        for name, estimate in owner.metrics.items():
            assert getattr(owner, name) is getattr(owner.metrics, name) is estimate
            assert name in dir(owner)
            assert name in dir(owner.metrics)
    for either in (report, report.metrics):
        assert either.queue_delay_p99_s is report.metrics["queue_delay_p99_s"]
        # The name without the unit is deprecated, at the place where it is used.
        with pytest.warns(DeprecationWarning, match="use `queue_delay_p99_s`") as warnings:
            assert either.queue_delay_p99 is either.queue_delay_p99_s
        assert warnings[0].filename == __file__
        assert "queue_delay_p99" not in dir(either)
    for owner in (report, report.metrics, report.groups.bulk):
        with pytest.raises(AttributeError, match="utilisatoin"):
            _ = owner.utilisatoin
        assert not hasattr(owner, "_ipython_canary_method_should_not_exist_")
        assert not hasattr(owner, "__array_interface__")


def test_no_metric_is_hidden_by_an_attribute() -> None:
    metrics = forebay._core.metrics()
    assert len(metrics) > 20
    for metric in metrics:
        for name in (metric.name, metric.goal_name):
            assert not hasattr(Report, name), name
            assert not hasattr(GroupReport, name), name
            assert not hasattr(Metrics, name), name


def test_metrics_stay_a_mapping(report: Report) -> None:
    values = dict(report.metrics)
    assert report.metrics == values
    assert list(report.metrics) == list(values)
    for copied in (copy.deepcopy(report.metrics), pickle.loads(pickle.dumps(report.metrics))):
        assert copied == values
        assert copied.utilization == values["utilization"]


def test_groups_are_had_by_number_and_by_name(report: Report) -> None:
    groups = report.groups
    assert [group.name for group in groups] == groups.names == ["bulk", "background"]
    assert groups[0] is groups["bulk"] is groups.bulk
    assert groups[-1] is groups["background"]
    assert groups[:1] == (groups[0],)
    assert "bulk" in groups
    assert "web" not in groups
    assert groups[0] in groups
    assert {"bulk", "background"} <= set(dir(groups))
    with pytest.raises(KeyError, match=r"web.*bulk, background"):
        groups["web"]
    with pytest.raises(AttributeError, match="bulk, background"):
        _ = groups.web
    with pytest.raises(IndexError):
        groups[2]
    odd = NamedEntries(GroupReport({"name": name, "flows": 1, "metrics": {}}) for name in ("two words", "count"))
    assert odd["count"].name == "count"
    assert odd.count(odd[0]) == 1, "what a tuple can do stays"
    assert "two words" not in dir(odd)


def test_other_links_are_had_by_name() -> None:
    text = SMALL.replace("[link]", '[[links]]\nname = "near"\ntarget = true', 1)
    text = text.replace("\n[[flows]]", '\n[[links]]\nname = "far"\nrate = "3Mbps"\nbuffer = "9p"\n\n[[flows]]', 1)
    text = text.replace("[[flows]]", '[[flows]]\npath = ["near", "far"]')
    links = Scenario.parse(text).run(replications=1).links
    assert 0 < links.far.utilization.mean < 1
    assert links["far"] is links[0]


# Lines and tables ------------------------------------------------------------------------------------------------


def shown(tmp_path: Path, text: str = SMALL) -> list[Any]:
    """One answer of each kind."""
    scenario = Scenario.parse(text)
    return [
        scenario.run(),
        recommend(scenario),
        recommend(scenario, ["utilization>=0.99", "queue_delay_p99<=20ms"]),
        compare(scenario, points=1),
        sweep(scenario, ["link.buffer=5p,10p"], tmp_path / "sweep", engine="fluid"),
    ]


def test_a_line_says_what_and_the_answer(tmp_path: Path) -> None:
    for value in shown(tmp_path):
        line = repr(value)
        assert "\n" not in line
        assert line.startswith(f"<{type(value).__name__} ")
        assert len(line) < 200
    report, found, conflict, *_ = shown(tmp_path)
    assert f"utilization {report.utilization.mean:.4g}" in repr(report)
    assert f"{found.packets} packets = " in repr(found)
    assert "decided by utilization" in repr(found)
    assert repr(conflict).endswith("no buffer meets utilization and queue_delay_p99>")


def test_tables_say_the_link_and_the_answer(tmp_path: Path) -> None:
    report, found, conflict, comparison, swept = (each._repr_html_() for each in shown(tmp_path))
    for page in (report, found, conflict, comparison, swept):
        read = Reading(page)
        assert ("table",) in read.elements
        assert "2 Mb/s · " in page
        assert "Small link" in page
        assert not {"script", "style"} & {element[0] for element in read.elements}
        assert len(page) < 20_000
    assert "We recommend " in found
    assert "No buffer meets every goal." in conflict
    assert "background (1)" in report
    assert "fluid" in comparison
    assert "2 cells" in swept


def test_tables_take_no_text_for_markup(answer: forebay.Recommendation, report: Report) -> None:
    from types import SimpleNamespace

    def said(text: str) -> list[str]:
        resolved = {**answer.scenario.resolved, "title": text}
        resolved["flows"] = [{**group, "name": text} for group in resolved["flows"]]
        scenario: Any = SimpleNamespace(title=text, resolved=resolved, core=answer.scenario.core)
        rules = tuple(dataclasses.replace(rule, name=text) for rule in answer.rules)
        changed = dataclasses.replace(answer, scenario=scenario, rules=rules, warnings=(Warning(Kind.UNKNOWN, text),))
        data = report.to_dict() | {"warnings": [text]}
        data["groups"] = [{**group, "name": text} for group in data["groups"]]
        of = Report.of(data)
        of.resolved = resolved
        return [changed._repr_html_(), of._repr_html_()]

    for page, harmless in zip(said(HOSTILE), said(HARMLESS), strict=True):
        assert Reading(page).elements == Reading(harmless).elements
        texts = "".join(text for _, text in Reading(page).texts)
        assert texts.count(HOSTILE) == harmless.count(HARMLESS) >= 4
        assert "<img" not in page


def test_long_sweeps_are_shown_in_part(tmp_path: Path) -> None:
    found = sweep(Scenario.parse(SMALL), ["link.buffer=1p..60p:30lin"], tmp_path, engine="fluid", replications=1)
    page = found._repr_html_()
    assert "the first 12 of 30 rows" in page
    assert page.count("<tr>") == 13


# Data frames -----------------------------------------------------------------------------------------------------


def test_a_curve_is_a_data_frame(answer: forebay.Recommendation) -> None:
    curve = answer.curve
    assert isinstance(curve, pl.DataFrame)
    assert curve.columns[:5] == ["buffer_packets", "buffer_bytes", "buffer_seconds", "buffer_bdp", "replications"]
    assert curve["buffer_packets"].to_list() == [point.buffer.packets for point in answer.points]
    assert curve["buffer_packets"].is_sorted()
    for row, point in zip(curve.iter_rows(named=True), answer.points, strict=True):
        estimate = point.metrics["utilization"]
        assert (row["utilization"], row["utilization_half_width"]) == (estimate.mean, estimate.half_width)
        assert row["bulk.goodput_bps"] == point.groups["bulk"]["goodput_bps"].mean
    assert curve.height == len(answer.to_dict()["curve"]), "the JSON has a list as ever"


def test_a_comparison_is_one_as_well() -> None:
    found = compare(Scenario.parse(SMALL), points=2)
    curve = found.curve
    assert curve.height == sum(len(point.answers) for point in found.points)
    packet = curve.filter(pl.col("answer") == "packet")
    assert packet["utilization"].to_list() == [point.answers["packet"]["utilization"].mean for point in found.points]


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (["100p", "2p"], Scale((100, 2), "packets")),
        (["900kbps", "2Mbps", "1Gbps"], Scale((9e5, 2e6, 1e9), "bps")),
        (["5ms", "1s", "200us"], Scale((0.005, 1, 0.0002), "s")),
        (["150kB", "64KiB"], Scale((150_000, 65_536), "bytes")),
        (["0.5BDP", "2BDP"], Scale((0.5, 2), "BDP")),
        (["3", "0.5", "7e-3"], Scale((3, 0.5, 0.007), "")),
        (["10%", "5%"], Scale((0.1, 0.05), "")),
        (["cubic", "bbr"], None),
        (["100p", "5ms"], None),
        (["100p", "0.5BDP"], None),
        (["100p", "3"], None),
        (["newreno", "3"], None),
        ([], None),
    ],
)
def test_values_of_an_axis_as_numbers(values: list[str], scale: Scale | None) -> None:
    found = scale_of(values)
    if scale is None or found is None:
        assert found is scale
    else:
        assert found.unit == scale.unit
        assert found.numbers == pytest.approx(scale.numbers)


@pytest.mark.parametrize(
    ("axes", "expected", "units"),
    [
        (["link.buffer=100p,5p,20p"], {"link.buffer": [5, 20, 100]}, {"link.buffer": "packets"}),
        (["link.rate=10Mbps,900kbps,2Mbps"], {"link.rate": [9e5, 2e6, 1e7]}, {"link.rate": "bps"}),
        (["flows.bulk.rtt=1s,5ms,40ms"], {"flows.bulk.rtt": [0.005, 0.04, 1]}, {"flows.bulk.rtt": "s"}),
        (["link.buffer=2BDP,0.5BDP"], {"link.buffer": [0.5, 2]}, {"link.buffer": "BDP"}),
        (["link.buffer=100p,5ms,9kB"], {"link.buffer": [1.25, 9, 100]}, {"link.buffer": "packets"}),
        (["link.rate=1000kbps,1Mbps,2Mbps"], {"link.rate": [1e6, 2e6]}, {"link.rate": "bps"}),
        (
            ["flows.bulk.cca=newreno,cubic", "link.buffer=9p,4p"],
            {"flows.bulk.cca": ["cubic", "newreno"], "link.buffer": [4, 9]},
            {"flows.bulk.cca": None, "link.buffer": "packets"},
        ),
    ],
)
def test_coordinates_are_numbers_that_rise(
    tmp_path: Path, axes: list[str], expected: dict[str, list[Any]], units: dict[str, str | None]
) -> None:
    found = sweep(Scenario.parse(SMALL), axes, tmp_path, engine="fluid", replications=2)
    data = found.xarray()
    assert {name: data[name].to_numpy().tolist() for name in expected} == expected
    assert {name: data[name].attrs.get("units") for name in units} == units
    assert not data["utilization"].isnull().any()
    summary = found.summary()
    written, base = next(iter(expected)), summary["buffer.packets"]
    if axes == ["link.buffer=100p,5p,20p"]:
        for packets, mean, half in zip(
            base, summary["utilization.mean"], summary["utilization.half_width"], strict=True
        ):
            at = data.sel({written: packets})
            assert (float(at["utilization"]), float(at["utilization_half_width"])) == (mean, half)


# Mistakes --------------------------------------------------------------------------------------------------------


def scenario() -> Scenario:
    return Scenario.parse(SMALL)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda _: recommend(scenario(), confidence=2), "confidence"),
        (lambda _: recommend(scenario(), resolution=0), "resolution"),
        (lambda _: recommend(scenario(), replications=1), "replications"),
        (lambda _: recommend(scenario(), fraction=2.0), "fraction"),
        (lambda _: recommend(scenario(), ["utilization"]), "goals"),
        (lambda _: recommend(scenario(), also=["many"]), "also"),
        (lambda _: recommend(scenario(), pareto="utilization"), "pareto"),
        (lambda _: recommend(scenario(), jobs=0), "jobs"),
        (lambda _: scenario().run(replications=0), "replications"),
        (lambda _: scenario().run(jobs=0), "jobs"),
        (lambda _: compare(scenario(), points=-1), "points"),
        (lambda out: sweep(scenario(), ["link.buffer"], out), "over"),
        (lambda out: sweep(scenario(), ["link.buffer=1p..x:3"], out), "over"),
        (lambda out: sweep(scenario(), ["link.bufer=1p,2p"], out), "over"),
        (lambda out: sweep(scenario(), ["link.buffer=1p"], out, replications=0), "replications"),
        (lambda out: sweep(scenario(), ["link.buffer=1p"], out, jobs=0), "jobs"),
    ],
)
def test_mistakes_name_the_argument(call: Callable[[Path], object], argument: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        call(tmp_path)
    text = str(caught.value)
    assert text.startswith(f"{argument}: "), text
    assert "--" not in text
    assert "\n" not in text


def test_public_functions_have_the_arguments_that_mistakes_name() -> None:
    for function, names in ((recommend, {"confidence", "goals", "also", "pareto"}), (sweep, {"over", "jobs"})):
        assert names <= inspect.signature(function).parameters.keys()


def test_an_estimate_says_itself() -> None:
    assert repr(Estimate(0.5, 0.1)) == "Estimate(mean=0.5, half_width=0.1, confidence=0.95)"
