"""The public contract of the command line: exit codes, one-line errors, JSON shapes, speed of the help."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from forebay import Scenario
from forebay import recommend as find
from forebay.commands.program import cli
from forebay.search.answer_parts import Verdict
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

BUFFER_KEYS = {"packets", "bytes", "seconds", "bdp"}
#: Endings of a picture's files.
PICTURES = ("png", "svg")
METRICS = {
    "utilization",
    "loss_rate",
    "queue_mean_packets",
    "queue_delay_mean_s",
    "queue_delay_p05_s",
    "queue_delay_p50_s",
    "queue_delay_p95_s",
    "queue_delay_p99_s",
    "queue_delay_max_s",
    "goodput_bps",
}


def one_line(text: str) -> str:
    """The error text without its newline, which must be its only one."""
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text.rstrip("\n")


def is_estimate(found: Any) -> bool:
    return (
        set(found) == {"mean", "half_width", "confidence"}
        and isinstance(found["mean"], int | float)
        and (found["half_width"] is None or found["half_width"] >= 0)
        and found["confidence"] == 0.95
    )


def test_help_lists_the_verbs() -> None:
    """That it is fast is held by what it may load (tests/project/test_layering.py)."""
    command = [sys.executable, "-m", "forebay", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"run", "recommend", "check", "compare", "sweep", "explain", "plot"} <= set(done.stdout.split())


def test_run_prints_the_report_of_the_contract(small: Path) -> None:
    answer = forebay("run", small, "--json", "--replications", "3")
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert {"engine", "version", "scenario_sha256", "seed", "replications", "buffer", "metrics", "groups"} <= set(
        report
    )
    assert (report["engine"], report["seed"], report["replications"]) == ("packet", 3, 3)
    assert len(report["scenario_sha256"]) == 64
    assert set(report["buffer"]) == BUFFER_KEYS
    assert report["buffer"]["packets"] == 20
    assert set(report["metrics"]) >= METRICS
    assert all(is_estimate(found) for found in report["metrics"].values())
    assert all(found["half_width"] is not None for found in report["metrics"].values())
    assert [group["name"] for group in report["groups"]] == ["bulk", "background"]
    assert all(is_estimate(found) for group in report["groups"] for found in group["metrics"].values())
    assert {"data_packets", "events", "cpu_s", "wall_s", "peak_rss_bytes"} <= set(report["cost"])
    assert report["cost"]["cpu_s"] > 0
    assert report["cost"]["peak_rss_bytes"] > 1 << 20
    assert isinstance(report["warnings"], list)


def test_equal_runs_give_equal_reports_at_any_number_of_jobs(small: Path) -> None:
    reports = []
    for jobs in (1, 2, 7):
        report = json.loads(forebay("run", small, "--json", "--replications", "5", "--jobs", str(jobs)).out)
        del report["cost"]
        reports.append(json.dumps(report))
    assert len(set(reports)) == 1


def test_set_seed_and_json_scenarios(small: Path, tmp_path: Path) -> None:
    changed = json.loads(forebay("run", small, "--json", "--set", "link.buffer=7p", "--seed", "99").out)
    assert (changed["buffer"]["packets"], changed["seed"]) == (7, 99)
    assert changed["metrics"]["utilization"]["mean"] < 0.99
    tables = {
        "link": {"rate": "2Mbps", "buffer": "7p"},
        "flows": [{"rtt": "40ms", "packet": "1000B"}],
        "run": {"warmup": "1s", "measure": "5s"},
    }
    path = tmp_path / "small.json"
    path.write_text(json.dumps(tables), encoding="utf-8")
    assert forebay("run", path, "--json").code == 0


def test_run_for_people(small: Path) -> None:
    answer = forebay("run", small)
    assert answer.code == 0
    assert "utilization" in answer.out
    assert "20 packets = 20.0 kB = 80.0 ms" in answer.out


def test_trace_is_written_and_drawn(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    data = json.loads(forebay("run", small, "--json", "--replications", "1").out)
    answer = forebay("run", small, "--json", "--replications", "1", "--trace", folder)
    assert answer.code == 0, answer.err
    traced = json.loads(answer.out)
    assert traced["metrics"] == data["metrics"], "tracing must not change a result"
    import polars as pl

    queue = pl.read_parquet(folder / "queue.parquet")
    assert {"time_s", "packets", "delay_s", "utilization"} <= set(queue.columns)
    assert queue["packets"].max() <= 21
    flows = pl.read_parquet(folder / "flows.parquet")
    assert flows["cwnd_packets"].min() > 0
    drawn = forebay("plot", folder)
    assert drawn.code == 0, drawn.err
    assert (folder / "traces.png").stat().st_size > 10_000
    assert (folder / "traces.svg").is_file()


def test_transfers_are_recorded_and_drawn(tmp_path: Path) -> None:
    import polars as pl

    web = ROOT / "scenarios" / "open-loop-web.toml"
    folder = tmp_path / "web"
    changes = ("--set", "run.warmup=1s", "--set", "run.measure=2s", "--set", 'trace.record=["transfers"]')
    answer = forebay("run", web, *changes, "--replications", "1", "--json", "--trace", folder)
    assert answer.code == 0, answer.err
    table = pl.read_parquet(folder / "transfers.parquet")
    assert sorted(table["transfer"].to_list()) == list(range(table.height))
    measured = table.filter(pl.col("completed_s").is_between(1, 3)).height
    assert measured == json.loads(answer.out)["groups"][0]["completed"] > 100
    drawn = forebay("plot", folder)
    assert drawn.code == 0, drawn.err
    assert (folder / "traces.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (SMALL.replace('"2Mbps"', "2"), ["small.toml:4", "link.rate", "`2`", "Mbps"]),
        (SMALL.replace('"newreno"', '"reno2"'), ["small.toml:9", "flows", "cca", "reno2", "newreno", "cubic"]),
        (SMALL.replace("buffer =", "bufer ="), ["small.toml:5", "bufer", "buffer"]),
        (SMALL.replace('">= 85%"', '"85%"'), ["small.toml", "goal", "85%"]),
        (SMALL.replace("[link]", "[link"), ["small.toml:3"]),
        ("", ["small.toml"]),
        (SMALL.replace('"40ms"', '["40ms", "50ms"]'), ["small.toml:10", "rtt"]),
    ],
)
def test_a_wrong_file_gives_one_line(small: Path, text: str, parts: list[str]) -> None:
    small.write_text(text, encoding="utf-8")
    for command in ("run", "recommend", "check", "compare"):
        answer = forebay(command, small)
        assert answer.code == 2
        assert answer.out == ""
        line = one_line(answer.err)
        assert all(part in line for part in parts), line


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "{file}", "--engine", "magic"], ["magic", "packet"]),
        (["run", "{file}", "--set", "link.buffer"], ["link.buffer", "key=value"]),
        (["run", "{file}", "--set", "link.buffer=10furlongs"], ["link.buffer", "furlongs"]),
        (["run", "{file}", "--set", "flows.nobody.rtt=1ms"], ["nobody"]),
        (["run", "{file}", "--replications", "0"], ["--replications", "0"]),
        (["run", "{file}", "--jobs", "0"], ["--jobs", "0"]),
        (["run", "{file}", "--frob"], ["--frob"]),
        (["run"], ["FILE"]),
        (["run", "nowhere.toml"], ["nowhere.toml", "No such file"]),
        (["run", "."], [".", "directory"]),
        (["recommend", "{file}", "--goal", "utilization"], ["--goal", "utilization", ">="]),
        (["recommend", "{file}", "--goal", "speed>=3"], ["speed"]),
        (["recommend", "{file}", "--goal", "queue_delay_p99<=3"], ["queue_delay_p99"]),
        (["recommend", "{file}", "--confidence", "1.5"], ["confidence", "1.5"]),
        (["recommend", "{file}", "--replications", "1"], ["replications", "1"]),
        (["recommend", "{file}", "--out", "/proc/forebay"], ["/proc/forebay"]),
        (["explain", "nonsense"], ["nonsense", "newreno"]),
        (["plot", "nowhere"], ["nowhere"]),
        (["frobnicate"], ["frobnicate"]),
    ],
)
def test_a_wrong_option_gives_one_line(small: Path, arguments: list[str], parts: list[str]) -> None:
    answer = forebay(*(part.replace("{file}", str(small)) for part in arguments), cwd=small.parent)
    assert answer.code == 2, answer
    line = one_line(answer.err)
    assert all(part in line for part in parts), line


def test_recommend_prints_the_shape_of_the_contract(small: Path, tmp_path: Path) -> None:
    answer = forebay("recommend", small, "--json", "--out", tmp_path)
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert {"recommendation", "confidence", "binding_goal", "goals", "rules", "curve", "cost", "warnings"} <= set(found)
    assert set(found["recommendation"]) == BUFFER_KEYS
    assert 0.95 <= found["confidence"] <= 1
    assert found["binding_goal"] in {*found["goals"], None}
    assert set(found["goals"]) == {"utilization", "queue_delay_p99"}
    assert all(goal["met"] for goal in found["goals"].values())
    assert sum(bool(rule["measured"]) for rule in found["rules"]) > 3
    for rule in found["rules"]:
        assert {"name", "buffer", "applies", "why", "measured"} <= set(rule)
        assert isinstance(rule["applies"], bool)
        assert all(is_estimate(estimate) for estimate in rule["measured"].values())
    sizes = [point["buffer"]["packets"] for point in found["curve"]]
    assert sizes == sorted(set(sizes)), "no buffer is measured twice"
    assert found["recommendation"] in [point["buffer"] for point in found["curve"]]
    assert all(set(point["metrics"]) >= METRICS for point in found["curve"])
    assert all(is_estimate(estimate) for point in found["curve"] for estimate in point["metrics"].values())
    assert (tmp_path / "small-recommendation.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "small-recommendation.json").read_text()) == found


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ([], set()),
        (["--no-picture"], set()),
        (["--out", "out"], {f"out/small-recommendation.{kind}" for kind in (*PICTURES, "json")}),
        (["--picture", "new/mine.svg"], {"new/mine.svg"}),
        (["--picture", "mine.PNG", "--report", "mine.html"], {"mine.PNG", "mine.html"}),
        (["--pareto", "utilization,loss_rate", "--picture", "mine.png"], {"mine.png"}),
        (["--over", "link.rate=1Mbps..4Mbps", "--over", "link.buffer=5p..50p"], set()),
        (["--over", "link.rate=1Mbps..4Mbps", "--over", "link.buffer=5p..50p", "--picture", "map.png"], {"map.png"}),
    ],
)
def test_recommend_writes_the_requested_files(small: Path, tmp_path: Path, options: list[str], left: set[str]) -> None:
    answer = forebay("recommend", small, "--engine", "fluid", *options, cwd=tmp_path)
    assert answer.err == ""
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} - {small.name}
    assert files == left
    values = {line.removeprefix("wrote ") for line in answer.out.splitlines() if line.startswith("wrote ")}
    assert values == left
    for path in left:
        assert (tmp_path / path).stat().st_size > 1000
        kind = Path(path).suffix.lower()
        assert kind != ".png" or (tmp_path / path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "left"), [([], []), (["--no-picture"], []), (["--picture", "mine.svg"], ["mine.svg"])]
)
def test_compare_writes_the_requested_files(small: Path, tmp_path: Path, options: list[str], left: list[str]) -> None:
    short = ["--points", "1", "--set", "run.measure=2s", "--replications", "1"]
    assert forebay("compare", small, *short, *options, cwd=tmp_path).code == 0
    assert [path.name for path in tmp_path.iterdir() if path != small] == left


@pytest.mark.parametrize(
    ("verdict", "feasible", "code"),
    [("met", True, 0), ("impossible", False, 1), ("undecided", False, 3), ("undecided", True, 3), ("met", False, 1)],
)
def test_the_verdict_is_the_exit_code(
    small: Path, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, feasible: bool, code: int
) -> None:
    found = find(Scenario.load(small), engine="fluid")
    answer = dataclasses.replace(found, verdict=verdict, buffer=found.buffer if feasible else None)
    monkeypatch.setattr("forebay.search.recommendation.recommend", lambda *_, **__: answer)
    done = CliRunner().invoke(cli, ["recommend", str(small), "--json"])
    assert done.exit_code == code, done.output


def test_recommend_meets_its_goals_on_new_seeds(small: Path, tmp_path: Path) -> None:
    """The recommended buffer still meets the goals when simulated again with streams it never saw."""
    found = json.loads(forebay("recommend", small, "--json", "--out", tmp_path).out)
    packets = round(found["recommendation"]["packets"])
    repeated = json.loads(
        forebay(
            "run", small, "--json", "--seed", "12345", "--replications", "30", "--set", f"link.buffer={packets}p"
        ).out
    )
    assert repeated["metrics"]["utilization"]["mean"] >= 0.85
    assert repeated["metrics"]["queue_delay_p99_s"]["mean"] <= 0.15
    if packets > 1:
        smaller = max(1, round(packets * 0.6))
        less = json.loads(
            forebay(
                "run", small, "--json", "--seed", "12345", "--replications", "30", "--set", f"link.buffer={smaller}p"
            ).out
        )
        assert less["metrics"]["utilization"]["mean"] < repeated["metrics"]["utilization"]["mean"]


def test_recommend_does_not_depend_on_the_jobs(small: Path) -> None:
    answers = []
    for jobs in ("1", "4"):
        found = json.loads(forebay("recommend", small, "--json", "--no-picture", "--jobs", jobs).out)
        del found["cost"]
        answers.append(found)
    assert answers[0] == answers[1]


def test_conflicting_goals_end_with_1_and_say_which(small: Path, tmp_path: Path) -> None:
    goals = ["--goal", "utilization>=0.97", "--goal", "queue_delay_p99<=10ms"]
    answer = forebay("recommend", small, *goals, "--out", tmp_path)
    assert answer.code == 1, answer
    assert answer.err == ""
    assert "No buffer meets every goal." in answer.out
    assert "Some goals need a larger buffer, others a smaller one." in answer.out
    assert "that is closest to all goals" in answer.out
    found = json.loads(forebay("recommend", small, *goals, "--json", "--no-picture").out)
    assert found["recommendation"] is None
    least, most = found["conflict"]["needs_at_least"], found["conflict"]["needs_at_most"]
    assert (least["goals"], most["goals"]) == (["utilization"], ["queue_delay_p99"])
    assert found["verdict"] == "impossible"
    assert found["goals"]["utilization"]["at_smallest"]["verdict"] == "missed"
    assert found["goals"]["queue_delay_p99"]["at_largest"]["verdict"] == "missed"


def test_recommend_without_a_goal_asks_for_one(small: Path) -> None:
    small.write_text(SMALL.partition("[goal]")[0], encoding="utf-8")
    answer = forebay("recommend", small)
    assert answer.code == 2
    assert "utilization>=0.99" in one_line(answer.err)
    assert forebay("recommend", small, "--no-picture", "--goal", "utilization>=0.8").code == 0


def test_compare_lists_every_engine(small: Path) -> None:
    answer = forebay("compare", small, "--json", "--points", "0")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert {"buffer", "answers", "disagreements"} <= set(found)
    packet = next(entry for entry in found["answers"] if entry["name"] == "packet")
    assert set(packet["metrics"]) >= METRICS
    assert forebay("compare", small, "--points", "0").code == 0


def test_explain_knows_everything_it_lists() -> None:
    listed = json.loads(forebay("explain", "--json").out)
    assert {"congestion controller", "queue discipline", "metric"} <= set(listed)
    from forebay import explain

    for names in listed.values():
        for name in names:
            text = str(explain(name))
            assert name in text
            assert "source:" in text


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(forebay("schema").out)
    return found


def test_schema_is_json_schema(schema: dict[str, Any]) -> None:
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "flows" in schema["properties"]
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("**/*.toml")), ids=lambda path: path.stem)
def test_scenarios_follow_the_schema(path: Path, schema: dict[str, Any]) -> None:
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(written, schema)
    # The resolved form of a scenario is a scenario, too.
    jsonschema.validate(dict(Scenario.load(path).resolved), schema)
    written["link" if "link" in written else "links"] = {"rate": "fast"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written, schema)


def test_the_demo_scenario_is_valid() -> None:

    scenario = Scenario.load(ROOT / "scenarios" / "elastic-access-link.toml")
    assert scenario.core.bdp_packets == pytest.approx(625)
    assert [(goal.name, goal.sense, goal.threshold) for goal in scenario.goals] == [
        ("utilization", ">=", 0.9),
        ("queue_delay_p99", "<=", 0.02),
    ]


def test_ctrl_c_ends_with_one_line(small: Path) -> None:
    import signal

    command = [sys.executable, "-m", "forebay", "run", str(small), "--set", "run.measure=8000000s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tasks = Path(f"/proc/{process.pid}/task")
    for _ in range(400):  # until the engine's threads run
        if tasks.is_dir() and len(list(tasks.iterdir())) > 1:
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert out == ""
    assert one_line(err) == "forebay: interrupted"


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_every_named_scenario_is_valid(path: Path) -> None:

    scenario = Scenario.load(path)
    assert scenario.title
    reread = Scenario.parse(scenario.core.canonical_json(), "json")
    assert reread.core.sha256 == scenario.core.sha256
