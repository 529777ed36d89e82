"""Engines that run in real time: what their reports say of the machine, who may ask them, and how long that takes."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from forebay import (
    ForebayError,
    InputError,
    Report,
    Scenario,
    Sweep,
    UnavailableError,
    UntrustedError,
    _core,
    compare,
    errors,
    explain,
    explanation,
    feasible_map,
    recommend,
    sweep,
)
from forebay.commands.terminal import progress_bar
from forebay.comparison import comparison
from forebay.comparison.answers import Answer, Comparison
from forebay.comparison.comparison import runs_in_real_time
from forebay.engines import Pace, forecast, in_real_time, real_time_engines, run_s
from forebay.measurement.precision import Precision, run_to_precision
from forebay.results.report import Cost, Estimate, Lateness
from forebay.results.serialization import to_jsonable
from forebay.results.warning import Kind
from forebay.search import measurements
from forebay.sweeps.bundling import bundle, replay
from forebay.sweeps.jobs import jobs_of, row_of
from forebay.sweeps.sweeping import load
from forebay.text.formatting import clock_time
from forebay.views.comparison_tables import comparison_view
from forebay.views.reports import report_view
from tests.support.commands import called
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

pytestmark = pytest.mark.real_time

#: The small link with hosts that vary, which has no warning of its own.
VARIED = SMALL.replace('processing = "0s"\n', "")

LATE = Lateness(p50_s=12e-6, p99_s=90e-6, p999_s=210e-6, max_s=3e-3, frozen_s=2.1e-3, freezes=3)


def core(lateness: Lateness | None) -> _core.Report:
    """A report as of an engine in real time: a run of the packet engine with this lateness of the machine."""
    scenario = Scenario.parse(VARIED)
    retained = scenario.run(replications=1).core.to_cached()
    if lateness is not None:
        values = {name: format(Decimal(repr(value)), "f") for name, value in dataclasses.asdict(lateness).items()}
        text = ",".join(f'"{name}":{value}' for name, value in values.items())
        retained = re.sub(r'("peak_rss_bytes":\d+)', rf'\1,"lateness":{{{text}}}', retained)
        note = f'["late","lateness",{{"frozen_s":{values["frozen_s"]},"p999_s":{values["p999_s"]}}},"it was late"]'
        retained = retained.replace('"warnings":[]},"remarks":[]', f'"warnings":["it was late"]}},"remarks":[{note}]')
    restored = _core.Report.from_cached(retained)
    assert restored is not None
    return restored


# Reports -----------------------------------------------------------------------------------------------------------


def test_a_report_says_how_late_the_machine_was() -> None:
    report = Report(core(LATE))
    assert report.cost.lateness == LATE
    assert json.loads(report.to_json())["cost"]["lateness"] == dataclasses.asdict(LATE)
    assert to_jsonable(report.cost) == report.to_dict()["cost"]
    late = next(warning for warning in report.warnings if warning.kind is Kind.LATE)
    assert (late.subject, late.values) == ("lateness", {"frozen_s": 2.1e-3, "p999_s": 210e-6})
    reread = Report.of(json.loads(report.to_json()))
    assert reread.cost == report.cost


def test_a_report_of_before_has_none() -> None:
    report = Report(core(None))
    assert report.cost.lateness is None
    assert "lateness" not in report.to_json()
    assert "lateness" not in to_jsonable(report.cost)
    assert Cost.of(to_jsonable(report.cost)) == report.cost


def test_the_lateness_of_runs_is_their_worst_and_frozen_time_adds_up() -> None:
    later = dataclasses.replace(LATE, p50_s=11e-6, p99_s=95e-6, freezes=1, frozen_s=1e-3)
    found = Report.over([Report(core(LATE)), Report(core(None)), Report(core(later))]).cost.lateness
    assert found == Lateness(12e-6, 95e-6, 210e-6, 3e-3, pytest.approx(3.1e-3), 4)


def test_run_prints_how_late_the_machine_was() -> None:
    def printed(lateness: Lateness | None) -> str:
        console = Console(width=200, file=io.StringIO(), record=True)
        console.print(report_view(Report(core(lateness)), Scenario.parse(SMALL), "small"))
        return console.export_text()

    text = "lateness 12.0 µs p50, 90.0 µs p99, 210 µs p99.9; clock frozen 3 times, 2.10 ms"
    assert text in printed(LATE)
    assert "210 µs p99.9; clock never frozen\n" in printed(dataclasses.replace(LATE, freezes=0, frozen_s=0.0))
    assert "lateness" not in printed(None)


# Errors ------------------------------------------------------------------------------------------------------------


def test_a_machine_that_cannot_and_a_run_that_is_not_believed_have_their_own_errors() -> None:
    assert (UnavailableError.exit_code, UntrustedError.exit_code) == (2, 1)
    for kind in (UnavailableError, UntrustedError):
        assert issubclass(kind, ForebayError)
        assert not issubclass(kind, InputError)


def test_every_error_that_rust_raises_is_one_of_python() -> None:
    """Rust looks them up by name when it raises one, which may be rarely."""
    code = (ROOT / "crates" / "python" / "src" / "errors.rs").read_text(encoding="utf-8")
    named = re.findall(r"import_exception!\(forebay\.errors, (\w+)\)", code)
    assert {"UnavailableError", "UntrustedError"} <= set(named)
    assert all(issubclass(getattr(errors, name), ForebayError) for name in named)


# Access to the engines, and the duration of their runs ----- ----------------------------------------------------------


@pytest.fixture
def fluid_in_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the fluid engine alone ran in real time: what asks engines goes by their descriptions."""
    retained = [name for name in dir(_core.Engine) if not name.startswith("_")]
    described = [
        SimpleNamespace(**{name: getattr(engine, name) for name in retained})
        for engine in _core.engines()
        if not engine.real_time
    ]
    for engine in described:
        engine.real_time = engine.name == "fluid"
    monkeypatch.setattr(_core, "engines", lambda: described)


@pytest.fixture
def fluid_refuses(monkeypatch: pytest.MonkeyPatch, fluid_in_real_time: None) -> list[ForebayError]:  # noqa: ARG001
    """The errors that jobs of such an engine end with, one after the other; the last one of all further jobs."""
    errors: list[ForebayError] = []
    run_batch, job = _core.run_batch, _core.Job
    refused: list[_core.Job] = []

    def made(core: _core.Scenario, engine: str, *arguments: Any, **settings: Any) -> _core.Job:
        made = job(core, engine, *arguments, **settings)
        refused.extend([made] if engine == "fluid" else [])
        return made

    def run(jobs: Sequence[_core.Job], threads: int, observe: Any = None, within: Any = None) -> Any:
        if not any(each is job for each in refused for job in jobs):
            return run_batch(jobs, threads, observe, within)
        for index in range(len(jobs)):
            observe(index, errors.pop(0) if len(errors) > 1 else errors[0])
        return []

    monkeypatch.setattr(_core, "Job", made)
    monkeypatch.setattr(_core, "run_batch", run)
    return errors


UNAVAILABLE = "the kernel engine cannot run here: no /dev/net/tun (modprobe tun)"
UNTRUSTED = "the kernel engine refuses its own run: packets were 40 ms late"
ALONE = "with the fluid engine, which runs in real time, one replication at a time"


def test_no_engine_that_simulates_is_in_real_time() -> None:
    assert not real_time_engines() & {"packet", "fluid", "closed_form"}
    assert not in_real_time("unheard-of")


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0, "0 s"),
        (0.25, "250 ms"),
        (2.5, "2.5 s"),
        (35, "35 s"),
        (59.7, "1 min"),
        (125, "2 min 5 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h"),
        (3780, "1 h 3 min"),
        (7199, "2 h"),
        (90000, "25 h"),
    ],
)
def test_a_waiting_time_is_printed_in_minutes_and_hours(seconds: float, message: str) -> None:
    assert clock_time(seconds) == message


def test_how_long_runs_take_is_known_beforehand() -> None:
    scenario = Scenario.parse(SMALL)
    assert run_s(scenario.core) == 35.0, "the warm-up is waited for, too"
    of = "the kernel engine runs in real time, one replication at a time: "
    assert forecast("kernel", 35.0, 3) == f"{of}3 replications of 35 s take 1 min 45 s at least"
    assert forecast("kernel", 35.0, 1) == f"{of}1 replication of 35 s takes 35 s at least"
    assert forecast("kernel", 35.0, None) == f"{of}35 s each"


def test_a_pace_goes_by_the_clock() -> None:
    now = 100.0
    pace = Pace(20.0, lambda: now)
    assert (pace.remaining_s, pace.share) == (0.0, 0.0), "nothing is known yet"
    pace.note(0, 3)
    assert (pace.known_s, pace.remaining_s, pace.share) == (60.0, 60.0, 0.0)
    now += 5.0
    assert (pace.elapsed_s, pace.remaining_s) == (5.0, 55.0)
    now += 20.0
    assert pace.remaining_s == 40.0, "the first takes longer: two are to come"
    pace.note(1, 3)
    assert pace.remaining_s == 50.0, "the others take as long as it took"
    assert pace.share == pytest.approx(25 / 75)
    now += 5.0
    pace.note(1, 3)
    assert pace.remaining_s == 45.0, "what is said again is no progress"
    now += 1.0
    pace.note(2, 3)
    assert pace.remaining_s == 20.0, "never less than is known"
    now += 20.0
    pace.note(3, 3)
    assert (pace.remaining_s, pace.share, pace.known_s) == (0.0, 1.0, 60.0)


def test_a_bar_shows_what_has_passed_of_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("running", quiet=False, each_s=40.0, expected=3) as bar:
        assert bar is not None
        bar.say("still running")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.getvalue())
    assert re.search(r"running .* 0/3 0 s of 2 min, left: 2 min", shown), shown
    with progress_bar("running", quiet=True, each_s=40.0, expected=3) as bar:
        assert bar is None


@pytest.mark.usefixtures("fluid_in_real_time")
def test_run_takes_one_thread_and_says_how_long_it_takes(small: Path) -> None:
    scenario = Scenario.load(small)
    with pytest.raises(InputError, match=f"^jobs: found 2 {ALONE}; allowed: 1$"):
        scenario.run("fluid", jobs=2)
    with pytest.raises(InputError, match=ALONE):
        run_to_precision(scenario, [Precision.parse("1%")], "fluid", jobs=2)
    assert scenario.run("fluid", jobs=1).replications == 2
    assert scenario.run("packet", jobs=2).replications == 2
    refused = called("run", str(small), "--engine", "fluid", "--jobs", "4", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"forebay: --jobs: found 4 {ALONE}; allowed: 1\n"
    text = "the fluid engine runs in real time, one replication at a time: "
    for options, ending in [
        ([], "2 replications of 35 s take 1 min 10 s at least"),
        (["--replications", "3"], "3 replications of 35 s take 1 min 45 s at least"),
        (["--batches", "5"], "1 replication of 35 s takes 35 s at least"),
        (["--precision", "50%"], "35 s each"),
    ]:
        assert f"{text}{ending}\n" in called("run", str(small), "--engine", "fluid", *options).err
    assert called("run", str(small), "--engine", "fluid", "--json").err == ""
    assert called("run", str(small), "--jobs", "2").err == ""


@pytest.mark.parametrize(("error", "code"), [(UnavailableError(UNAVAILABLE), 2), (UntrustedError(UNTRUSTED), 1)])
def test_run_ends_with_one_line_where_there_is_no_answer(
    error: ForebayError, code: int, small: Path, fluid_refuses: list[ForebayError]
) -> None:
    fluid_refuses.append(error)
    done = called("run", str(small), "--engine", "fluid", "--json")
    assert (done.code, done.out, done.err) == (code, "", f"forebay: {error}\n")


# Compare -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fluid_in_real_time")
def test_compare_asks_engines_in_real_time_only_where_they_are_named(small: Path) -> None:
    scenario = Scenario.load(small)
    without = compare(scenario, points=0)
    assert [answer.name for answer in without.answers if answer.kind == "engine"] == ["packet"]
    steps: list[tuple[int, int]] = []
    found = compare(scenario, engines=["fluid"], points=1, progress=lambda *stated: steps.append(stated))
    assert found.answers[0].name == "packet"
    assert [answer.name for answer in found.answers if answer.kind == "engine"][-1] == "fluid"
    answer = found.answer("fluid")
    assert answer is not None
    assert answer.assumptions == (), "what it measured rests on no model of packets"
    assert all("fluid" in point.answers for point in found.points)
    assert len(found.points) == 2
    assert steps == [(done, 8) for done in range(9)], "4 replications at 2 buffers"
    assert runs_in_real_time(scenario, ["fluid"], None, 1) == 8
    assert runs_in_real_time(scenario, ["fluid"], None, None) == 4
    scarce = compare(scenario, engines=["fluid"], replications=1)
    assert len(scarce.points) > 5, "the range of the others"
    assert ["fluid" in point.answers for point in scarce.points].count(True) == 1, "the scenario's own buffer"
    for name, statements in [
        ("packet", "found `packet`, which is always compared"),
        ("fluidd", "did you mean `fluid`"),
    ]:
        with pytest.raises(InputError, match=statements) as refused:
            compare(scenario, engines=[name])
        assert refused.value.argument == "engines"


@pytest.mark.usefixtures("fluid_in_real_time")
def test_compare_says_beforehand_how_long_it_takes(small: Path) -> None:
    requested = ["compare", str(small), "--no-picture", "--points", "0"]
    done = called(*requested, "--engine", "fluid", "--engine", "fluid")
    assert done.code == 0
    text = "the fluid engine runs in real time, one replication at a time: "
    assert done.err == f"{text}4 replications of 35 s take 2 min 20 s at least\n", "named twice, asked once"
    assert re.search(r"^metric .*\bfluid\b", done.out, re.MULTILINE)
    assert called(*requested, "--engine", "fluid", "--json").err == ""
    without = called(*requested)
    assert (without.code, without.err) == (0, "")
    assert not re.search(r"^metric .*\bfluid\b", without.out, re.MULTILINE)
    refused = called(*requested, "--engine", "packet")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("forebay: --engine: found `packet`, which is always compared; allowed: ")


def test_compare_ends_where_the_machine_cannot_and_lists_what_was_not_believed(
    small: Path, fluid_refuses: list[ForebayError]
) -> None:
    fluid_refuses += [UntrustedError(UNTRUSTED), UnavailableError(UNAVAILABLE)]
    scenario = Scenario.load(small)
    found = compare(scenario, engines=["fluid"], points=0).answer("fluid")
    assert found is not None
    assert (found.applies, found.why, found.metrics) == (False, UNTRUSTED, {})
    done = called("compare", str(small), "--no-picture", "--engine", "fluid", "--json")
    assert (done.code, done.out, done.err) == (2, "", f"forebay: {UNAVAILABLE}\n")


def test_a_comparison_says_how_late_the_machine_was() -> None:
    scenario = Scenario.parse(SMALL)
    packet = Answer("packet", "engine", True, "", (), {"utilization": Estimate(0.5, 0.01)})
    late = Answer("kernel", "engine", True, "the machine was late", (), {"utilization": Estimate(0.9, 0.01)})
    late = dataclasses.replace(late, lateness=LATE)
    assert late.to_dict()["lateness"] == dataclasses.asdict(LATE)
    assert "lateness" not in packet.to_dict()
    apart = tuple(comparison._disagreements([packet, late]))
    assert apart[0].why == "measured in real time on this machine; the machine was late"
    stated = Comparison(scenario, scenario.buffer, (packet, late), (), apart, (), ())
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(comparison_view(stated))
    text = console.export_text()
    assert "kernel: lateness 12.0 µs p50, 90.0 µs p99, 210 µs p99.9; clock frozen 3 times, 2.10 ms" in text
    assert "measured in real time on this machine; the machine was late" in text
    assert "assumptions hold" not in text


# Sweeps ------------------------------------------------------------------------------------------------------------


def swept(folder: Path, *over: str, **how: Any) -> tuple[Sweep, list[str]]:
    messages: list[str] = []
    found = sweep(Scenario.parse(VARIED), over, folder, tell=messages.append, **how)
    return found, messages


@pytest.mark.usefixtures("fluid_in_real_time")
def test_a_sweep_says_how_long_what_is_missing_takes(tmp_path: Path) -> None:
    both = ["engine=packet,fluid", "run.measure=10s,20s"]
    found, messages = swept(tmp_path / "x", *both, jobs=2)
    assert found.computed == 8
    assert messages == ["4 runs of the fluid engine, one at a time in real time: 1 min 20 s at least"]
    found, messages = swept(tmp_path / "x", *both)
    assert (found.computed, found.reused, messages) == (0, 8, []), "no run is made twice, though no two are equal"
    _, messages = swept(tmp_path / "packets", "link.buffer=5p,9p")
    assert messages == []


@pytest.mark.usefixtures("fluid_in_real_time")
def test_a_sweep_in_real_time_stays_on_this_machine_and_on_one_thread(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^jobs: found 2 {ALONE}; allowed: 1$"):
        swept(tmp_path / "x", "link.buffer=5p,9p", engine="fluid", jobs=2)
    for over in ("engine=packet,fluid", "engine=fluid"):
        with pytest.raises(InputError, match=f"^scheduler: not available {ALONE}; allowed: this machine$"):
            swept(tmp_path / "x", over, scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "x").exists(), "refused before anything is written"


def test_a_sweep_ends_where_the_machine_cannot_and_counts_what_was_not_believed(
    tmp_path: Path, fluid_refuses: list[ForebayError]
) -> None:
    fluid_refuses.append(UnavailableError(UNAVAILABLE))
    with pytest.raises(UnavailableError, match=r"no /dev/net/tun"):
        swept(tmp_path / "x", "link.buffer=5p,9p", engine="fluid")
    fluid_refuses[:] = [UntrustedError(UNTRUSTED)]
    found, messages = swept(tmp_path / "x", "link.buffer=5p,9p", engine="fluid")
    assert (len(found.failed), set(found.failed.values())) == (4, {UNTRUSTED})
    repeated, told_again = swept(tmp_path / "x", "link.buffer=5p,9p", engine="fluid")
    assert (len(repeated.failed), told_again) == (4, messages), "what was not believed is measured again"
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    requested = ["sweep", str(tmp_path / "small.toml"), "--over", "link.buffer=5p", "--out", str(tmp_path / "y")]
    assert called(*requested, "--engine", "fluid").code == 1
    fluid_refuses[:] = [UnavailableError(UNAVAILABLE)]
    done = called(*requested, "--engine", "fluid")
    assert (done.code, done.err.splitlines()[-1]) == (2, f"forebay: {UNAVAILABLE}")


def test_rows_of_a_sweep_say_how_late_the_machine_was() -> None:
    scenario = Scenario.parse(SMALL)
    job = next(jobs_of(scenario, [], "packet", 1, 1))
    row = row_of(job, 1, Report(core(LATE)))
    late = {name.removeprefix("cost.lateness_"): value for name, value in row.items() if "lateness" in name}
    assert late == dataclasses.asdict(LATE)
    assert not [name for name in row_of(job, 1, Report(core(None))) if "lateness" in name]


@pytest.mark.usefixtures("fluid_in_real_time")
def test_a_replay_repeats_no_run_in_real_time(tmp_path: Path) -> None:
    found, _ = swept(tmp_path / "x", "engine=packet,fluid", "link.buffer=5p,9p")
    archive = bundle(found, tmp_path / "x.zip", lambda _folder, _target: [])
    repeated = replay(archive, out=tmp_path / "again")
    assert (repeated.compared, repeated.differences) == (4, [])
    assert repeated.notes == ["4 results in real time, of which no two are equal: not run again"]
    assert set(load(tmp_path / "again")["engine"]) == {"packet"}
    found, _ = swept(tmp_path / "y", "link.buffer=5p,9p", engine="fluid")
    alone = bundle(found, tmp_path / "y.zip", lambda _folder, _target: [])
    with pytest.raises(InputError, match="found nothing but 4 results in real time"):
        replay(alone)


def test_a_replay_of_other_engines_leaves_nothing_out(tmp_path: Path) -> None:
    found, _ = swept(tmp_path / "x", "engine=packet,fluid", "link.buffer=5p,9p")
    repeated = replay(bundle(found, tmp_path / "x.zip", lambda _folder, _target: []))
    assert (repeated.compared, repeated.differences, repeated.notes) == (8, [], [])


# Recommend ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fluid_in_real_time")
def test_recommend_measures_in_real_time_one_after_the_other(small: Path) -> None:
    scenario, messages = Scenario.load(small), list[str]()
    with pytest.raises(InputError, match=f"^jobs: found 2 {ALONE}; allowed: 1$"):
        recommend(scenario, engine="fluid", jobs=2)
    with pytest.raises(InputError, match=f"^scheduler: not available {ALONE}; allowed: this machine$"):
        recommend(scenario, engine="fluid", scheduler="tcp://127.0.0.1:1")
    answer = recommend(scenario, engine="fluid", tell=messages.append)
    assert answer.buffer is not None
    assert messages == ["the fluid engine runs in real time, one replication at a time: 35 s each"]
    messages.clear()
    recommend(scenario, engine="packet", tell=messages.append, quick=True)
    assert messages == []


@pytest.mark.usefixtures("fluid_in_real_time")
def test_a_quick_look_in_real_time_is_as_much_shorter_as_it_measures_less(small: Path) -> None:
    messages: list[str] = []
    longer = Scenario.load(small, ["run.measure=8000s"])
    recommend(longer, engine="fluid", tell=messages.append, quick=True)
    assert messages == ["the fluid engine runs in real time, one replication at a time: 1 h 7 min each"]


def test_a_search_that_a_run_not_believed_ends_goes_on_from_those_before(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_jobs, calls = measurements.run_jobs, list[int]()

    def refusing(work: Sequence[_core.Job], *how: Any) -> list[Report]:
        if len(calls) == 2:
            raise UntrustedError(UNTRUSTED)
        calls.append(len(work))
        return run_jobs(work, *how)

    messages: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(measurements, "run_jobs", refusing)
        with pytest.raises(UntrustedError):
            recommend(Scenario.load(small), engine="fluid", resume=tmp_path)
    answer = recommend(Scenario.load(small), engine="fluid", resume=tmp_path, tell=messages.append)
    assert messages == [f"resuming with {sum(calls)} replications of an earlier command"]
    assert answer.cost.cached_runs == sum(calls)


@pytest.mark.usefixtures("fluid_in_real_time")
def test_a_map_is_not_made_in_real_time(small: Path) -> None:
    text = "engine: found `fluid`, which runs in real time: 400 runs take 3 h 53 min; allowed: an engine that simulates"
    with pytest.raises(InputError, match=re.escape(text)):
        feasible_map(Scenario.load(small), over=["link.rate=1Mbps..3Mbps", "link.buffer"], engine="fluid")


# Explain -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fluid_in_real_time")
def test_an_engine_in_real_time_is_explained_with_the_verbs_that_take_it() -> None:
    values = {each.name: each.usage for each in explanation._engines()}
    assert values["fluid"] == "--engine fluid of run, compare, sweep and recommend"
    assert values["packet"] == "--engine packet of run and sweep"


# The engine itself -------------------------------------------------------------------------------------------------


SHORT = ["run.warmup=0.3s", "run.measure=0.7s", "run.replications=1"]


@pytest.fixture(scope="module")
def kernel() -> Report:
    """A second of it; skips where there is no such engine, or where it cannot run."""
    if "kernel" not in real_time_engines():
        pytest.skip("this build has no kernel engine")
    try:
        return Scenario.parse(SMALL, overrides=SHORT).run("kernel")
    except (UnavailableError, UntrustedError) as error:  # the machine lacks something, or is at other work
        pytest.skip(str(error))


def test_the_kernel_engine_answers_and_says_how_late_it_was(kernel: Report) -> None:
    late = kernel.cost.lateness
    assert late is not None
    assert 0 <= late.p50_s <= late.p99_s <= late.p999_s <= late.max_s
    assert kernel.cost.wall_s >= 1.0, "real time"
    assert 0 < kernel.metrics.utilization.mean <= 1.0
    assert "kernel" in str(explain("kernel"))


@pytest.mark.usefixtures("kernel")
def test_the_kernel_engine_stands_beside_the_others() -> None:
    found = compare(Scenario.parse(SMALL, overrides=SHORT), engines=["kernel"], replications=1, points=0)
    answer = found.answer("kernel")
    assert answer is not None
    assert answer.lateness is not None or "refuses its own run" in answer.why


@pytest.mark.usefixtures("kernel")
def test_ctrl_c_ends_a_run_in_real_time_at_once(small: Path) -> None:
    command = [sys.executable, "-m", "forebay", "run", str(small), "--engine", "kernel"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert "in real time" in running.stderr.readline()
    time.sleep(2.0)  # half a minute of the run remains
    running.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, stated = running.communicate(timeout=30)
    assert time.monotonic() - begun < 5.0, "a second, on a machine that does nothing else"
    assert (running.returncode, stated) == (130, "forebay: interrupted\n")
