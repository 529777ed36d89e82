"""The paper gallery: claims as data, verdicts, caching, and a real figure in a real browser."""

from __future__ import annotations

import ast
import itertools
import math
import shutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forebay.errors import ForebayError, InputError
from forebay.papers import catalog, quantities, running
from forebay.papers.catalog import PAPERS, Run, load, select
from forebay.papers.claims import Claim, Measured, Region, judge, with_unit
from forebay.papers.expression import evaluate
from forebay.papers.results import Results, crossing, furthest, interpolate, misfit, nearest, same_setting, slope
from forebay.storage import journal
from forebay.sweeps.axes import Axis, cells
from tests.support.commands import forebay
from tests.support.gallery import claim as parsed_claim
from tests.support.gallery import finished
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

FIGURES = [(paper, figure) for paper, figures in select("all") for figure in figures]


# The papers as data -------------------------------------------------------------------------------------------------


def test_the_gallery_is_complete() -> None:
    assert len(FIGURES) >= 27
    assert sum(len(figure.claims) for _, figure in FIGURES) >= 45
    published = {figure.id for _, figure in FIGURES}
    required = {
        *(f"auge/fig{n}" for n in (1, 3, 4, 5, 6, 7)),
        *(f"barman/fig{n}" for n in range(3, 9)),
        *(f"dhamdhere/fig{n}" for n in range(1, 8)),
        *(f"avrachenkov/fig{n}" for n in range(1, 9)),
        "kumar/fig5",
        "kumar/fig6",
    }
    assert required <= published


def test_every_figure_has_a_drawing_and_every_claim_its_runs() -> None:
    """An expression may name only runs that its own figure asks for: a figure is reproduced by itself, too."""
    for paper, figure in FIGURES:
        module = import_module(f"forebay.papers.{paper.name}.drawing")
        assert callable(getattr(module, figure.name.replace("-", "_"))), figure.id
        functions = Results(Path(), paper.full).functions()
        for claim in figure.claims:
            if claim.measure is None:
                continue
            for node in ast.walk(ast.parse(claim.measure, mode="eval")):
                if isinstance(node, ast.Call):
                    assert isinstance(node.func, ast.Name)
                    assert node.func.id in functions, (figure.id, claim.quantity)
                    if node.func.id in {"value", "curve", "across", "recorded", "compared", "modeled", "report"}:
                        name = node.args[0]
                        assert isinstance(name, ast.Constant)
                        assert name.value in figure.runs, (figure.id, claim.quantity)
                        if node.func.id in {"recorded", "compared"}:
                            known = quantities.ONE if node.func.id == "recorded" else quantities.TWO
                            quantity = node.args[1]
                            assert isinstance(quantity, ast.Constant)
                            assert quantity.value in known, (figure.id, claim.quantity)


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_of_every_run_is_a_valid_scenario(name: str) -> None:
    paper = load(name)
    assert paper.full
    for run in [*paper.full.values(), *paper.quick.values()]:
        scenario = running.scenario_of(run)
        valid = [
            scenario.core.with_overrides(cell.overrides) if cell.overrides else scenario.core
            for cell in cells([Axis.parse(axis) for axis in run.over])
        ]
        assert len({core.sha256 for core in valid}) == len(valid) >= 1, "each cell is another scenario"


def test_claims_ask_for_cells_that_both_versions_have() -> None:
    asking = 0
    for paper, figure in FIGURES:
        for claim in figure.claims:
            for node in ast.walk(ast.parse(claim.measure or "0", mode="eval")):
                if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                    continue
                name = node.args[0].value
                for runs in (paper.quick, paper.full):
                    if name not in runs:
                        continue
                    axes = [Axis.parse(text) for text in runs[name].over]
                    values = {axis.key.rpartition(".")[2]: axis.values for axis in axes}
                    requested = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg in values}
                    if isinstance(node.func, ast.Name) and node.func.id == "compared":
                        axis, *both = (ast.literal_eval(each) for each in node.args[2:5])
                        requested[axis] = both
                    for axis, required in requested.items():
                        for one in required if isinstance(required, list) else [required]:
                            found = [text for text in values[axis] if same_setting(text, one)]
                            assert len(found) == 1, (figure.id, claim.quantity, axis, one)
                            asking += 1
    assert asking > 100


def names_of(claim: Claim) -> set[str]:
    """The runs that a claim's expression names."""
    requested = {"value", "curve", "across", "recorded", "compared", "modeled", "report"}
    calls = [node for node in ast.walk(ast.parse(claim.measure or "0", mode="eval")) if isinstance(node, ast.Call)]
    named = [node.args[0] for node in calls if isinstance(node.func, ast.Name) and node.func.id in requested]
    return {str(name.value) for name in named if isinstance(name, ast.Constant)}


def replications_of(node: ast.AST, runs: Mapping[str, Run]) -> set[int]:
    """How many numbers the runs of an expression give; what is averaged gives one that fits all."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "mean":
            return set()
        if node.func.id == "interpolate":
            return replications_of(node.args[2], runs)
        if node.func.id in {"value", "curve", "recorded", "compared", "report"}:
            assert isinstance(node.args[0], ast.Constant)
            return {runs[str(node.args[0].value)].replications}
    return set().union(*(replications_of(child, runs) for child in ast.iter_child_nodes(node)))


def test_claims_combine_runs_of_equally_many_replications() -> None:
    combined = 0
    for paper, figure in FIGURES:
        for claim in figure.claims:
            for runs in (paper.quick, paper.full):
                if not names_of(claim) <= runs.keys():
                    continue  # too long for the coarse version
                found = replications_of(ast.parse(claim.measure or "0", mode="eval"), runs)
                assert len(found) <= 1, (figure.id, claim.quantity, found)
                combined += bool(found)
    assert combined > 50


def test_the_repositorys_folder_is_the_packages() -> None:
    root = ROOT / "papers"
    assert root.resolve() == catalog.FOLDER.resolve()


@pytest.mark.parametrize(
    ("expected", "complaint"),
    [("auge/fig9", "auge/fig3"), ("villamizar", "all, auge"), ("auge/", "auge/fig3")],
)
def test_unknown_figures_are_named(expected: str, complaint: str) -> None:
    answer = forebay("reproduce", expected)
    assert answer.code == 2
    assert complaint in answer.err
    assert "Traceback" not in answer.err


def test_the_list_names_every_figure() -> None:
    answer = forebay("reproduce")
    assert answer.code == 0
    assert all(figure.id in answer.out for _, figure in FIGURES)


def test_a_wrong_paper_file_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "auge"
    (folder / "scenarios").mkdir(parents=True)
    text = (catalog.FOLDER / "auge" / "paper.toml").read_text(encoding="utf-8")
    for wrong, complaint in (
        (text.replace("claimed = { about = 0.03, within = 0.005 }", "claimed = { about = 0.03 }"), "within"),
        (text.replace('keep = "traces"', 'keep = "everything"', 1), "everything"),
        (text.replace('scenario = "reno.toml"', 'scenario = "none.toml"', 1), "none.toml"),
        (text.replace('runs = ["reno", "reno-time"]', 'runs = ["vegas"]', 1), "vegas"),
        ("[paper", "paper.toml"),
    ):
        assert wrong != text
        (folder / "paper.toml").write_text(wrong, encoding="utf-8")
        for path in (catalog.FOLDER / "auge" / "scenarios").iterdir():
            shutil.copy(path, folder / "scenarios")
        with pytest.raises(InputError, match=complaint):
            load("auge", tmp_path)


# Verdicts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "mean", "half", "verdict"),
    [
        ({"at_least": 0.9}, 0.95, 0.02, "reproduced"),
        ({"at_least": 0.9}, 0.91, 0.02, "not_checkable"),  # the interval reaches over the edge
        ({"at_least": 0.9}, 0.89, 0.02, "not_checkable"),
        ({"at_least": 0.9}, 0.85, 0.02, "not_reproduced"),
        ({"at_least": 0.9, "within": 0.05}, 0.88, 0.02, "reproduced"),
        ({"at_most": 0.1}, 0.05, 0.04, "reproduced"),
        ({"at_most": 0.1}, 0.2, 0.04, "not_reproduced"),
        ({"about": 0.4, "within": 0.1}, 0.45, 0.05, "reproduced"),
        ({"about": 0.4, "within": 0.1}, 0.45, 0.06, "not_checkable"),
        ({"about": 0.4, "within": 0.1}, 0.25, 0.04, "not_reproduced"),
        ({"about": 0.4, "within": 0.1}, 0.4, 0.3, "not_checkable"),
        ({"from": 1, "to": 2}, 1.5, 0.0, "reproduced"),
        ({"from": 1, "to": 2}, 2.5, 0.0, "not_reproduced"),
        ({"at_least": 0.9}, 0.95, None, "not_checkable"),  # one run has no uncertainty
        ({"at_least": 0.9}, math.nan, 0.0, "not_checkable"),
    ],
)
def test_a_verdict_follows_from_the_interval(
    region: dict[str, float], mean: float, half: float | None, verdict: str
) -> None:
    found = judge(parsed_claim(region), Measured(mean, half))
    assert found.verdict == verdict
    if verdict == "not_reproduced":
        assert found.why == "an explanation"


def test_what_cannot_be_measured_says_why() -> None:
    assert judge(parsed_claim(None, None, "sizes are not published"), None).why == "sizes are not published"
    found = judge(parsed_claim({"at_least": 1}), None, "the engine refused")
    assert (found.verdict, found.ours) == ("not_checkable", "–")
    assert "the engine refused" in found.why


@pytest.mark.parametrize(
    "region",
    [{}, {"about": 1.0}, {"about": 1, "within": -1}, {"from": 2, "to": 1}, {"at_least": "x"}, {"at_least": math.nan}],
)
def test_a_wrong_region_is_refused(region: dict[str, float]) -> None:
    with pytest.raises(InputError, match="here"):
        Region.parse(region, "", "here")


def test_numbers_are_written_to_their_precision() -> None:
    assert with_unit(0.4, "%") == "40 %"
    assert with_unit(0.9301, "%", 0.0123) == "93.0 ± 1.2 %"
    assert with_unit(1.1e-5, "", 2e-6) == "1.1e-05 ± 2e-06"
    assert with_unit(160e-6, "us") == "160 µs"
    assert with_unit(-0.0189, "points", 0.0098) == "-1.89 ± 0.98 points"


# Expressions --------------------------------------------------------------------------------------------------------


def test_expressions_are_arithmetic_and_calls_only() -> None:
    assert evaluate("2 * double(3) - 1", {"double": lambda x: 2 * x}) == 11
    for wrong in ("__import__('os')", "double.__class__", "[x for x in (1, 2)]", "lambda: 1", "1 if 1 else 2", "1 +"):
        with pytest.raises(InputError):
            evaluate(wrong, {"double": lambda x: 2 * x})


def test_reductions_over_cells() -> None:
    buffers = [[10], [20], [40]]
    curve = np.array([[0.5, 0.6], [0.9, 0.7], [1.0, 1.0]])
    assert crossing(buffers, curve, 0.95) == pytest.approx([30.0, 20 + 20 * 0.25 / 0.3])
    assert np.isnan(crossing(buffers, curve, 1.1)).all()
    assert crossing(buffers, curve, 0.1) == pytest.approx([10, 10])
    # Above, below, above again: only the last crossing counts.
    assert crossing([[1], [2], [3], [4]], np.array([[1.0], [0.0], [0.5], [1.0]]), 0.75) == pytest.approx([3.5])
    assert slope([1, 2, 3], np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]])) == pytest.approx([2.0, 0.0])
    assert misfit([1, 2, 3], np.array([[1.0, 0.0], [3.0, 3.0], [5.0, 0.0]])) == pytest.approx([0.0, 2**0.5])
    assert nearest(curve, 0.85) == pytest.approx([0.9, 0.7])
    assert furthest(np.array([[0.1, 0.2], [-0.5, -0.7]])) == pytest.approx([0.5, 0.7])
    assert interpolate([[0.0], [1.0]], np.array([[0.0, 2.0], [3.0, 5.0]]), [0.5, 1.0]) == pytest.approx([2.5, 4.0])


USERS = """
[link]
rate = "5Mbps"
buffer = "20p"
[[flows]]
name = "users-1"
cca = "newreno"
rtt = "20ms"
packet = "1000B"
workload = { closed_loop = { users = 8, think = { exponential = "500ms" }, size = { exponential = "60p" } } }
[[flows]]
name = "users-2"
cca = "newreno"
rtt = "60ms"
packet = "1000B"
workload = { closed_loop = { users = 8, think = { exponential = "500ms" }, size = { exponential = "60p" } } }
[[flows]]
name = "bulk"
count = 2
cca = "newreno"
rtt = "40ms"
packet = "1000B"
[run]
warmup = "10s"
measure = "60s"
[trace]
record = ["transfers"]
"""


def test_transfers_agree_with_the_report(tmp_path: Path) -> None:
    """Claims count the same transfers as the engine counts for its own report."""
    path = tmp_path / "users.toml"
    path.write_text(USERS, encoding="utf-8")
    run = Run("auge", "users", path, "packet", (), ("link.buffer=20p,200p",), 1, "traces")
    assert running.perform([run], tmp_path) == {}
    small, large = running.recordings(tmp_path, run)
    for recording in (small, large):
        report = recording.report()
        groups = {group.name: group for group in report.groups}
        table = recording.table("transfers").filter(pl.col("completed_s").is_between(10, 70))
        assert table.height == sum(groups[name].completed or 0 for name in ("users-1", "users-2"))
        mine = sum(groups[name].metrics["long_flows"].mean for name in ("users-1", "users-2"))
        assert quantities.limited_flows(recording, "users") == pytest.approx(mine, rel=1e-9)
        assert quantities.long_flows(recording, "users") == pytest.approx(mine, rel=0.05)
        rates = quantities.persistent_rates(recording, "bulk")
        assert rates.sum() * 8 == pytest.approx(groups["bulk"].metrics["goodput_bps"].mean, rel=1e-9)
    assert quantities.group_numbers(small, "users") == [0, 1]
    assert quantities.group_numbers(small, "users-2") == [1]
    with pytest.raises(InputError, match="users-1"):
        quantities.group_numbers(small, "user")
    # More room, fewer losses; every transfer is at most as likely to be faster as to be there.
    assert quantities.lossless(large, "users") > quantities.lossless(small, "users") + 0.1
    assert 0 < quantities.share_transfers_faster(small, large, "users") < 1
    assert quantities.share_transfers_faster(small, small, "users") == 0
    # A transfer that the end of the run cuts off has no throughput.
    late = small.table("transfers").filter(pl.col("completed_s").is_infinite())
    everything = quantities.finished_transfers(small, "users", begun_before=1.0)
    assert late.height > 0
    assert everything.filter(pl.col("throughput") == 0).height == late.filter(pl.col("begun_s") >= 10).height


# Caching and resuming -----------------------------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Run]:
    """A sweep and recordings on a link that answers in milliseconds."""
    path = tmp_path / "tiny.toml"
    path.write_text(SMALL + '\n[trace]\nevery = "500ms"\nrecord = ["cwnd", "queue"]\n', encoding="utf-8")
    over = ("link.buffer=5p,20p",)
    return {
        "sweep": Run("auge", "sweep", path, "packet", (), over, 3, "metrics"),
        "traces": Run("auge", "traces", path, "packet", (), over, 2, "traces"),
    }


def test_nothing_finished_is_run_again(tiny: dict[str, Run], tmp_path: Path) -> None:
    calls: list[tuple[float, float]] = []
    assert running.perform(tiny.values(), tmp_path, progress=lambda done, total: calls.append((done, total))) == {}
    assert calls[-1][0] == pytest.approx(calls[-1][1])
    assert all(later[0] >= earlier[0] for earlier, later in itertools.pairwise(calls))
    before = finished(tmp_path)
    (batch,) = [path for path in before if path.suffix == ".jsonl"]
    assert len(batch.read_bytes().splitlines()) == 6
    running.perform(tiny.values(), tmp_path)
    assert finished(tmp_path) == before
    results = Results(tmp_path, tiny)
    assert results.curve("sweep", "utilization").shape == (2, 3)
    assert results.value("sweep", "utilization", buffer=20).shape == (3,)
    assert results.across("sweep", "buffer").tolist() == [[5], [20]]
    assert len(results.recordings("traces", buffer=5)) == 2


def test_a_killed_run_goes_on(tiny: dict[str, Run], tmp_path: Path) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    def stop(done: float, total: float) -> None:
        if done > 0.6 * total:
            raise Stop

    with pytest.raises(Stop):
        running.perform([tiny["traces"]], tmp_path, jobs=1, progress=stop)
    half = finished(tmp_path)
    assert 0 < len(half) < 8
    leftover = running.folder_of(tmp_path, tiny["traces"]) / "feed.1.partial"
    leftover.mkdir()
    running.perform([tiny["traces"]], tmp_path)
    uninterrupted = finished(tmp_path)
    assert not leftover.exists()
    assert {path: uninterrupted[path] for path in half} == half
    assert len(uninterrupted) == 2 * 4
    # One cell of the sweep is lost: only that one is run again.
    running.perform([tiny["sweep"]], tmp_path)
    (batch,) = running.folder_of(tmp_path, tiny["sweep"]).glob("cells/*.jsonl")
    *stored, lost = batch.read_bytes().splitlines(keepends=True)
    batch.write_bytes(b"".join(stored))
    before = finished(tmp_path)
    running.perform([tiny["sweep"]], tmp_path)
    after = finished(tmp_path)
    assert {path for path in before if after[path] != before[path]} == set()
    (more,) = after.keys() - before.keys()

    def numbers(line: bytes) -> dict[str, object]:
        ((_, row),) = journal.entries(line)
        return {key: value for key, value in row.items() if not key.startswith("cost.")}

    assert numbers(more.read_bytes()) == numbers(lost)


def test_a_changed_scenario_is_another_folder(tiny: dict[str, Run], tmp_path: Path) -> None:
    run = tiny["sweep"]
    before = running.folder_of(tmp_path, run)
    run.scenario.write_text(SMALL.replace("40ms", "41ms"), encoding="utf-8")
    assert running.folder_of(tmp_path, run) != before


def test_a_run_that_an_engine_refuses_costs_its_claims_only(tiny: dict[str, Run], tmp_path: Path) -> None:
    refused = Run("auge", "sweep", tiny["sweep"].scenario, "fluid", ("link.queue=drr",), (), 2, "metrics")
    failed = running.perform([refused], tmp_path)
    assert "drr" in failed["auge/sweep"]
    results = Results(tmp_path, {"sweep": refused}, failed)
    verdict = results.judge(parsed_claim({"at_least": 0}, 'value("sweep", "utilization")'))
    assert verdict.verdict == "not_checkable"
    assert "drr" in verdict.why
    with pytest.raises(ForebayError, match="drr"):
        results.rows("sweep")


def test_what_takes_long_is_left_out_of_the_coarse_version(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "small.toml").write_text(SMALL, encoding="utf-8")
    text = """
    [paper]
    title = "T"
    authors = "A"
    venue = "V"
    year = 2000
    question = "Q"
    [[run]]
    name = "long"
    scenario = "small.toml"
    quick = false
    """
    (folder / "paper.toml").write_text(text, encoding="utf-8")
    paper = load("paper", tmp_path)
    assert set(paper.runs(quick=False)) == {"long"}
    assert not paper.runs(quick=True)
    coarse = Results(tmp_path, paper.quick, left_out=["long"])
    assert not coarse.has("long")
    verdict = coarse.judge(parsed_claim({"at_least": 0.0}, 'value("long", "utilization")'))
    assert verdict.verdict == "not_checkable"
    assert "the full one has it" in verdict.why
    (folder / "paper.toml").write_text(text.replace("quick = false", "quick = 3"), encoding="utf-8")
    with pytest.raises(InputError, match="found quick = 3; allowed: a table, or false"):
        load("paper", tmp_path)


def test_measured_numbers_carry_their_interval(tiny: dict[str, Run], tmp_path: Path) -> None:
    running.perform([tiny["sweep"]], tmp_path)
    results = Results(tmp_path, tiny)
    values = results.value("sweep", "utilization", buffer=20)
    found = results.judge(parsed_claim({"at_least": 0.0}, 'value("sweep", "utilization", buffer=20)')).measured
    assert found is not None
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(4.302653 * values.std(ddof=1) / math.sqrt(3), rel=1e-6)
    exact = results.judge(
        parsed_claim(
            {"about": 0.03125, "within": 0.0}, 'exact("processor-sharing", "probability_more_than", load=0.5, n=4)'
        )
    )
    assert exact.verdict == "reproduced"
    typo = results.judge(parsed_claim({"at_least": 0}, 'value("sweep", "utilizatoin", buffer=20)'))
    assert typo.verdict == "not_checkable"
    assert "utilizatoin" in typo.why
