"""The kernel engine against reference rows and beside the packet engine: verdicts, new rows, the manual's table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks import kernel_against_packets as beside
from checks import reference, reference_rows
from checks.kernel_runs import FILE, KernelRuns, Ran, Refused, RunRequest
from checks.pairs import CAUSES, SCENARIOS
from checks.reference import Judge, finding
from checks.reference_rows import experiments_of, given_experiments, row_of
from checks.rows import Number, Row, linux_row, read_folder
from forebay import InputError, _core
from forebay.results.report import Report
from forebay.scenario import Scenario, run_jobs
from forebay.storage import journal
from forebay.storage.files import within
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "reference"


def linux() -> list[Row]:
    return [row for row in read_folder(FOLDER, "linux") if isinstance(row, Row)]


def kept(folder: Path, request: RunRequest, report: Mapping[str, Any]) -> None:
    """Put the report of a run into the journal of a folder, as if the kernel engine had made it."""
    folder.mkdir(exist_ok=True)
    entry = {"key": request.key, "label": request.label, "attempt": 1, "load": 0.5, "report": report}
    with (folder / FILE).open("ab") as file:
        file.write(journal.line(entry))


@pytest.fixture(scope="module")
def short() -> dict[str, Any]:
    """A row of few seconds, in the format of linux.jsonl."""
    raw = json.loads((FOLDER / "linux.jsonl").read_text(encoding="utf-8").splitlines()[0])
    changed = {
        "label": "mix",
        "flow_cc": ["cubic", "bbr"],
        "flow_base_rtt_ms": [50.0, 20.0],
        "flow_start_s": [0.3, 0.1],
    }
    rates = {"flow_throughput_mbit_per_s": [20.0, 28.0], "drops_packets": 40, "drop_episodes_count": 9}
    return {**raw, **changed, **rates, "n_flows": 2, "duration_s": 8, "warmup_s": 4}


def test_the_kernel_runs_a_row_with_its_own_starts_and_its_own_time() -> None:
    rows = {row.label: row for row in linux()}
    row = rows["cubic_vs_bbr/b0.5 #2"]
    assert row.kernel is not None
    assert [group["start"] for group in row.kernel["flows"]] == [{"list": ["1.281s"]}, {"list": ["0.747s"]}]
    assert not any("processing" in group for group in row.kernel["flows"])
    assert {**row.kernel, "flows": 0} == {**row.tables, "flows": 0}
    assert [group["offload"] for group in rows["single_gso1/reno/n1/b0.1 #1"].kernel["flows"]] == [False]  # type: ignore[index]
    assert all(
        row.kernel is None for kind in ("ns2", "ns3") for row in read_folder(FOLDER, kind) if isinstance(row, Row)
    )


def test_one_run_is_judged_by_what_others_scatter_by() -> None:
    row = replace(linux()[0], numbers=())
    number = Number("utilization", 0.80, 0.02, 0.04)
    found = finding(row, number, [0.83], [0.80, 0.81, 0.82])
    assert (found.ours, found.runs) == (0.83, 1)
    assert found.deviation == pytest.approx(0.01)
    assert found.allowed == pytest.approx(0.025)
    assert not found.agrees
    assert finding(row, number, [0.824], [0.80, 0.81, 0.82]).agrees
    assert finding(row, number, [0.85], [0.70, 0.85, 0.99]).allowed == 0.04, "the cap holds"


def judged(folder: Path, runs: Path, *more: str) -> int:
    return reference.main([str(folder), "--engine", "kernel", "--runs", str(runs), *more])


@pytest.fixture
def rows_of_one(tmp_path: Path, short: dict[str, Any]) -> tuple[Path, RunRequest]:
    """A folder with one row whose numbers are those of the packet engine's own runs, and the run of the kernel's."""
    (tmp_path / "rows").mkdir()
    row = linux_row(short)
    core = Scenario.of(row.tables).core
    reports = run_jobs([_core.Job(core, "packet", 1, number) for number in range(8)])
    mean = {
        name: statistics.fmean(report.metrics[name].mean for report in reports)
        for name in ("utilization", "loss_rate", "queue_delay_mean_s")
    }
    theirs = {
        "utilisation_ratio": mean["utilization"],
        "loss_ratio_of_arrivals": mean["loss_rate"],
        "queue_delay_packet_mean_ms": 1e3 * mean["queue_delay_mean_s"],
    }
    (tmp_path / "rows" / "linux.jsonl").write_text(json.dumps(short | theirs), encoding="utf-8")
    assert row.kernel is not None
    return tmp_path / "rows", RunRequest(f"mix #{short['repeat_index']}", row.kernel)


def test_a_stored_run_of_the_kernel_is_compared(
    rows_of_one: tuple[Path, RunRequest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, requested = rows_of_one
    report = Scenario.of(requested.tables).run().to_dict()
    wrong = json.loads(json.dumps(report))
    wrong["metrics"]["utilization"]["mean"] = 0.1
    kept(tmp_path / "wrong", requested, wrong)
    judged(folder, tmp_path / "wrong", "--only", "linux")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("linux  mix #1")]
    assert [line.split()[3] for line in lines] == ["utilization", "loss_rate", "queue_delay_mean", "share"]
    assert lines[0].endswith("failed")
    assert "ours 0.1 " in lines[0]
    kept(tmp_path / "right", requested, report)
    judged(folder, tmp_path / "right", "--only", "linux")
    output = capsys.readouterr().out.splitlines()
    assert output[-1].endswith("failed")
    assert next(line for line in output if " utilization " in line).endswith("passed")
    passed = int(output[-1].split()[0])
    assert any(line.startswith(f"of {passed} that pass, ") for line in output)


def test_what_passes_by_the_scatter_alone_is_counted(tmp_path: Path) -> None:
    row = next(row for row in linux() if row.label == "single/reno/n1/b0.5 #1")
    assert row.kernel is not None
    requested = RunRequest(row.label, row.kernel)
    report = Scenario.of({**row.tables, "run": {"warmup": "1s", "measure": "1s"}}).run().to_dict()
    utilization, loss, delay = (number.theirs for number in row.numbers)
    metrics = {"utilization": utilization - 0.03, "loss_rate": loss, "queue_delay_mean_s": 1.05 * delay}
    for name, value in metrics.items():
        report["metrics"][name]["mean"] = value
    kept(tmp_path / "runs", requested, report)
    judge = Judge(8, 2, KernelRuns(tmp_path / "runs"))
    scatter = {"utilization": [0.90, 0.93, 0.96], "loss_rate": [loss, loss], "queue_delay_mean_s": [delay, 1.5 * delay]}
    judge._known[reference.scenario_key(row.tables)] = scatter
    judge.row(row, {})
    found = {each.number: each for each in judge.findings}
    assert found["utilization"].agrees
    assert found["queue_delay_mean"].agrees
    assert judge.widely == 1, "the utilization is within 2.5 s and not within the base, the delay within both"


def test_other_kinds_say_why_the_kernel_has_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ns2.jsonl", "ns3.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert judged(tmp_path, tmp_path / "runs") == 1
    output = capsys.readouterr().out
    assert "ns2    not run: they ran ns-2's TCP" in output
    assert "ns3    not run: they ran ns-3's TCP" in output


def test_a_refused_run_is_not_judged(rows_of_one: tuple[Path, RunRequest], tmp_path: Path) -> None:
    folder, requested = rows_of_one
    kernel = KernelRuns(tmp_path / "runs")
    kernel._results[requested.key] = Refused("it was late", 3)
    judge = Judge(8, 2, kernel)
    reference.compare(judge, folder, "linux")
    assert [found.judged for found in judge.findings] == [False] * 4
    assert judge.findings[0].unjudged == "refused 3 times: it was late"


def test_rows_are_chosen_by_parts_of_their_labels(
    tmp_path: Path, short: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**short, "label": label} for label in ("one", "two", "three")]
    (tmp_path / "linux.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert reference.main([str(tmp_path), "--match", "one, three"]) in {0, 1}
    output = capsys.readouterr().out
    assert {line.split()[1] for line in output.splitlines() if line.startswith("linux  ")} == {"one", "three"}


# New rows ----------------------------------------------------------------------------------------------------------


def test_a_written_row_is_judged_again(
    tmp_path: Path, short: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "like").mkdir()
    (tmp_path / "like" / "linux.jsonl").write_text(json.dumps(short), encoding="utf-8")
    (experiment,) = experiments_of(tmp_path / "like" / "linux.jsonl")
    report = Scenario.of(experiment.tables).run().to_dict()
    late = {"p50_s": 2e-5, "p99_s": 9e-5, "p999_s": 2e-4, "max_s": 3e-3, "frozen_s": 0.02, "freezes": 4}
    report["cost"]["lateness"] = late
    kept(tmp_path / "runs", experiment.request, report)
    code = reference_rows.main(
        [str(tmp_path / "to"), "--like", str(tmp_path / "like"), "--runs", str(tmp_path / "runs")]
    )
    assert code == 0
    row = json.loads((tmp_path / "to" / "linux.jsonl").read_text(encoding="utf-8"))
    assert (row["lateness_p50_us"], row["emulator_freezes_count"]) == (pytest.approx(20.0), 4)
    assert row["kernel"]
    assert row["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    left = row["utilisation_ratio"] * row["rate_bits_per_s"] * 4.0 / 8 / 1500
    lost = row["loss_ratio_of_arrivals"]
    assert row["drops_packets"] > row["drop_episodes_count"]
    assert row["drops_packets"] == pytest.approx(left * lost / (1.0 - lost), rel=0.05, abs=2.0)
    (repeated,) = [each for each in read_folder(tmp_path / "to", "linux") if isinstance(each, Row)]
    assert repeated.kernel == experiment.tables
    assert repeated.tables["flows"][0]["processing"] == "80us"
    theirs = {number.metric: number.theirs for number in repeated.numbers}
    for metric in ("utilization", "loss_rate", "queue_delay_mean_s"):
        assert theirs[metric] == pytest.approx(report["metrics"][metric]["mean"])
    goodputs = {group["name"]: group["metrics"]["goodput_bps"]["mean"] for group in report["groups"]}
    assert theirs["share of cubic"] == pytest.approx(goodputs["cubic"] / sum(goodputs.values()))
    capsys.readouterr()
    assert judged(tmp_path / "to", tmp_path / "runs") == 0, "the very run that the row is of passes"
    assert "0 failed" in capsys.readouterr().out.splitlines()[-1]
    assert (
        reference_rows.main([str(tmp_path / "to"), "--like", str(tmp_path / "like"), "--runs", str(tmp_path / "runs")])
        == 2
    )
    assert "found a file" in capsys.readouterr().err


def test_an_experiment_can_be_described() -> None:
    first, second = given_experiments("2 cubic + 1 bbr", 20_000_000, [40.0], 1.5, (10.0, 2.0), 2)
    assert first.given["flow_cc"] == ["cubic", "cubic", "bbr"]
    assert first.given["buffer_packets_waiting"] == 100
    assert first.given["flow_start_s"] != second.given["flow_start_s"]
    assert all(0.0 <= start <= 2.0 for start in first.given["flow_start_s"])
    assert Scenario.of(first.tables).core.duration_s == (2.0, 8.0)
    with pytest.raises(InputError, match="flows: found `vegas`"):
        given_experiments("vegas", 20_000_000, [40.0], 1.0, (10.0, 2.0), 1)
    with pytest.raises(InputError, match="rtt: found 2 round trips; allowed: one, or 3"):
        given_experiments("3 reno", 20_000_000, [40.0, 50.0], 1.0, (10.0, 2.0), 1)


def test_a_row_says_what_each_flow_did_in_the_order_of_the_row(short: dict[str, Any]) -> None:
    mixed = {
        **{key: value for key, value in short.items() if key != "flow_throughput_mbit_per_s"},
        "flow_cc": ["bbr", "cubic", "bbr"],
        "flow_base_rtt_ms": [50.0] * 3,
        "flow_start_s": [0.1, 0.2, 0.3],
    }
    experiment = reference_rows.Experiment.of(mixed)
    report = Scenario.of(experiment.tables).run()
    row = row_of(experiment, Ran(report, 2, 1.0))
    flows = {
        group.name: [flow["goodput_bps"] / 1e6 for flow in group_data["per_flow"]]
        for group, group_data in zip(report.groups, report.to_dict()["groups"], strict=True)
    }
    assert row["flow_goodput_mbit_per_s"] == [flows["bbr"][0], flows["cubic"][0], flows["bbr"][1]]
    assert row["try_index"] == 1


# Side by side ------------------------------------------------------------------------------------------------------


def test_differences_are_counted_in_standard_errors_of_both() -> None:
    values = [0.90, 0.92, 0.94, 0.96]
    pair = beside.metric_pair([0.99], values)
    spread = statistics.stdev(values)
    assert pair.error == pytest.approx(spread * math.sqrt(1 + 1 / 4))
    assert pair.errors == pytest.approx(0.06 / pair.error)
    assert beside.metric_pair([0.97, 1.01], values).error == pytest.approx(spread * math.sqrt(1 / 2 + 1 / 4))
    assert beside.metric_pair([1.0], [1.0, 1.0]).errors == 0.0
    assert beside.metric_pair([0.9], [1.0, 1.0]).errors == math.inf


def test_differences_beyond_three_want_a_cause() -> None:
    near, far = beside.Pair(0.90, 0.95, 0.02), beside.Pair(0.01, 0.02, 0.001)
    found: dict[str, dict[str, beside.Pair] | Refused] = {
        "one": {"utilization": near, "loss_rate": far},
        "two": {"loss_rate": far},
        "three": Refused("late", 3),
    }
    text = beside.table(found, {("one", "loss_rate"): "its cause"})
    one, two, three = text.splitlines()[2:5]
    assert one == "| one | 90.00: -5.00 ± 2.00 | **1.000: -1.000 ± 0.100** | – | – | its cause |"
    assert two.endswith("| not explained |")
    assert three.endswith("| refused 3 times: late |")
    assert "3 differences in 2 scenarios: 0 are within one standard error,\n0 within two and 1 within three." in text
    assert "2 are beyond three (bold), and 1 of these have a named cause." in text


def test_hosts_of_the_packet_engine_take_the_time_that_the_machine_took() -> None:
    tables = SCENARIOS["3 reno beside 10 Mb/s of Poisson"]
    late = json.loads(json.dumps(Scenario.of(tables).run().to_dict()))
    late["cost"]["lateness"] = {"p50_s": 2e-5, "p99_s": 0.0, "p999_s": 0.0, "max_s": 0.0, "frozen_s": 0.0, "freezes": 0}
    reno, noise = beside.packet_tables(tables, [Report.of(late)])["flows"]
    assert reno["processing"] == "80.000us"
    assert "processing" not in noise


def test_the_scenarios_are_of_every_kind_and_in_no_reference_file() -> None:
    assert len(SCENARIOS) >= 40
    known = {Scenario.of(row.tables).core.sha256 for row in linux()}
    resolved = {name: Scenario.of(tables) for name, tables in SCENARIOS.items()}
    assert not known & {scenario.core.sha256 for scenario in resolved.values()}
    counts = {sum(group.get("count", 1) for group in tables["flows"]) for tables in SCENARIOS.values()}
    assert {2, 32} <= counts
    queues = {json.dumps(link["queue"]) for tables in SCENARIOS.values() for link in [tables.get("link", {"queue": 0})]}
    assert {'"red"', '"codel"', '"fq_codel"', '"pie"', '"droptail"'} <= queues


def scenarios_in(page: str) -> Sequence[str]:
    table = within(page, beside.MARKS, "docs/background/validation/linux.md").splitlines()
    return [line.split("|")[1].strip() for line in table[2:] if line.startswith("|")]


def test_the_manual_has_them_all_and_a_cause_for_what_differs() -> None:
    page = (ROOT / "docs" / "background" / "validation" / "linux.md").read_text(encoding="utf-8")
    assert scenarios_in(page) == list(SCENARIOS)
    table = within(page, beside.MARKS, "docs/background/validation/linux.md")
    for line in table.splitlines()[2:]:
        if line.startswith("|") and "**" in line:
            assert line.split("|")[-2].strip(), line
            assert "not explained" not in line
    assert {name for name, _ in CAUSES} <= set(SCENARIOS)
    assert {metric for _, metric in CAUSES} <= set(beside.METRICS)
