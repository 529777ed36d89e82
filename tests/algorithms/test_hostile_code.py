"""Code of users that fails, hangs, asks for memory or returns nonsense ends in one line, and loses no finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay import Scenario, sweep
from forebay.algorithms import processes
from forebay.commands.program import cli
from forebay.errors import CodeError, InputError
from tests.algorithms.hostile import assert_no_archive_runs, failure, refusal, scenario
from tests.support.commands import forebay


def test_an_exception_names_file_line_and_time(tmp_path: Path) -> None:
    text = failure(scenario(tmp_path, on_ack="1 / 0"))
    assert text.startswith("mine.py:10: ZeroDivisionError: division by zero (in `on_ack` at ")
    assert "window" in text


@pytest.mark.parametrize("value", ["math.nan", "-1.0", "math.inf", "1e300", "2**31", "'ten'", "None"])
def test_a_wrong_window_is_refused_by_name(tmp_path: Path, value: str) -> None:
    text = failure(scenario(tmp_path, on_ack=f"self.cwnd = {value}"))
    assert "`cwnd` is " in text
    assert "(in `on_ack` at " in text
    assert "a number of packets from 0 to 2^24" in text


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"dequeue": "return None"}, "`dequeue` returned None while"),
        ({"dequeue": "return 7"}, "`dequeue` returned 7"),
        ({"dequeue": "return self.packets[0]"}, "a packet that it does not hold"),
        ({"enqueue": "self.packets.append(packet); return 3"}, "`enqueue` returned 3"),
        (
            {"enqueue": "self.packets.append(packet); len(self.packets) == 4 and self.drop(packet); return None"},
            "a packet that it does not hold",
        ),
        ({"enqueue": "self.packets.append(packet)"}, "the buffer of the link"),
    ],
)
def test_packets_that_vanish_or_are_invented_are_named(tmp_path: Path, parts: dict[str, str], words: str) -> None:
    assert words in failure(scenario(tmp_path, **parts))


def test_an_endless_loop_ends_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.close_idle()
    monkeypatch.setattr(processes, "LONGEST_CALL_S", 1.0)
    text = failure(scenario(tmp_path, on_ack="[0 for _ in iter(int, 1)]"))
    assert text.startswith("mine.py:10: one call of the code has run for")


@pytest.mark.parametrize("code", ["bytearray(10**11)", "[0] * 10**11", "'x' * 10**11"])
def test_too_much_memory_ends_in_one_line(tmp_path: Path, code: str) -> None:
    assert "MemoryError" in failure(scenario(tmp_path, on_ack=code))


def test_code_that_ends_its_process_is_reported(tmp_path: Path) -> None:
    assert "the process of the code ended (exit code 3)" in failure(scenario(tmp_path, on_ack="os._exit(3)"))


def test_printed_text_is_no_answer(tmp_path: Path) -> None:
    report = Scenario.load(scenario(tmp_path, on_ack="print('{}'); self.slow_start(ack.acked)"), allow_code=True).run()
    assert report.metrics["utilization"].mean > 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = ", "SyntaxError"),
        ("class Other: pass", "found no class `Mine` for a controller"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("from forebay.algorithms import CongestionControl\nclass Mine(CongestionControl): pass", "has no method"),
        ("raise SystemExit(0)", "SystemExit"),
        ("", "found no class"),
    ],
)
def test_a_file_that_cannot_be_loaded_ends_in_one_line(tmp_path: Path, source: str, words: str) -> None:
    path = scenario(tmp_path)
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    text = refusal(path)
    assert words in text
    assert "\n" not in text


def test_nothing_runs_without_consent(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(InputError, match="only with your consent"):
        Scenario.load(path)
    done = forebay("run", path)
    assert done.code == 2
    assert "--allow-code" in done.err
    assert not (tmp_path / "ran").exists()


def test_parameters_are_checked_like_those_of_built_in_algorithms(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    for value in ("11", "-1", '"2"', "nan"):
        changed = path.read_text(encoding="utf-8").replace('"mine.py:Mine" }', f'"mine.py:Mine", gain = {value} }}')
        with pytest.raises(InputError, match="gain"):
            Scenario.parse(changed, folder=tmp_path, allow_code=True)
    other = path.read_text(encoding="utf-8").replace('"mine.py:Mine" }', '"mine.py:Mine", loss = 2 }')
    with pytest.raises(InputError, match="loss"):
        Scenario.parse(other, folder=tmp_path, allow_code=True)


def test_a_changed_file_is_a_changed_scenario(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    before = Scenario.load(path, allow_code=True)
    assert Scenario.load(path, allow_code=True).core.sha256 == before.core.sha256
    scenario(tmp_path, on_event="self.reduce(event.flight / 3)")
    after = Scenario.load(path, allow_code=True)
    assert after.core.sha256 != before.core.sha256
    # The text of the first is part of it.
    assert before.run().metrics != after.run().metrics


def test_a_failing_cell_loses_no_finished_one(tmp_path: Path) -> None:
    path = scenario(tmp_path, on_ack="self.slow_start(ack.acked) if self.gain < 2 else 1 / 0")
    loaded: Any = Scenario.load(path, allow_code=True)
    done = sweep(loaded, ["flows.f.cca.gain=1,3,1.5"], tmp_path / "out")
    assert (done.computed, len(done.failed)) == (2, 1)
    assert "ZeroDivisionError" in next(iter(done.failed.values()))


def test_archives_and_the_laboratory_run_no_code(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    assert_no_archive_runs(path, tmp_path)
    page = forebay("lab", path, "--no-open", "--out", tmp_path / "page.html")
    assert page.code == 2
    assert "the laboratory opens without code" in page.err


def test_traces_of_code_are_those_of_the_same_built_in_algorithm() -> None:
    text = '[link]\nrate = "10Mbps"\nbuffer = "20p"\n[run]\nwarmup = "1s"\nmeasure = "2s"\n[trace]\nevery = "10ms"\n'
    group = '[[flows]]\nrtt = "20ms"\nname = "f"\ncca = '
    examples = Path(__file__).parents[2] / "examples" / "algorithms"
    mine = Scenario.parse(text + group + '{ python = "newreno.py:NewReno" }', folder=examples, allow_code=True)
    theirs = Scenario.parse(text + group + '"newreno"')
    ours, built_in = mine.run(traces=True).core.traces(), theirs.run(traces=True).core.traces()
    assert ours is not None
    assert built_in is not None
    assert len(ours["flows"]["cwnd_packets"]) > 100
    for table, columns in built_in.items():
        for name, column in columns.items():
            assert list(ours[table][name]) == list(column), f"{table}.{name}"


def test_the_consent_of_a_command_ends_with_it(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    runner = CliRunner()
    assert runner.invoke(cli, ["run", str(path), "--allow-code"]).exit_code == 0
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text(encoding="utf-8") + "\n# changed\n", "utf-8")
    with pytest.raises(InputError, match="only with your consent"):
        Scenario.load(path)


@pytest.mark.parametrize("name", ["kind", "python", "wasm", "kernel", "source"])
def test_a_parameter_with_a_taken_name_is_refused(tmp_path: Path, name: str) -> None:
    path = scenario(tmp_path)
    code = (tmp_path / "mine.py").read_text(encoding="utf-8").replace("gain:", f"{name}:")
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    with pytest.raises(CodeError, match=f"found the name `{name}`, which is taken"):
        Scenario.load(path, allow_code=True)


@pytest.mark.parametrize("verb", ["sweep", "recommend"])
@pytest.mark.parametrize(
    "over", ['flows.f.cca={ python = "../mine.py:Mine" },cubic', 'flows.f.cca.python="mine.py:Mine","other.py:Other"']
)
def test_over_says_how_to_vary_code(tmp_path: Path, verb: str, over: str) -> None:
    path = scenario(tmp_path)
    options: list[str | Path] = ["--out", tmp_path / "out"] if verb == "sweep" else ["--goal", "utilization>=50%"]
    done = forebay(verb, path, "--over", over, *options, "--allow-code")
    assert done.code == 2
    assert done.err.startswith("forebay: --over: flows.f.cca")
    assert "which names code; allowed: name the file in the scenario" in done.err
    assert "--over flows.f.cca.gain=1,2" in done.err
    assert done.err.count("\n") == 1


def test_set_names_code_with_a_whole_table(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    done = forebay("run", path, "--set", 'flows.f.cca.python="mine.py:Mine"', "--allow-code", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("forebay: --set: flows.f.cca.python: found")
    assert 'as in `flows.f.cca={ python = "mine.py:Mine" }`' in done.err
    again = forebay("run", path, "--set", 'flows.f.cca={ python = "mine.py:Mine" }', "--allow-code", cwd=tmp_path)
    assert again.code == 0, again.err


@pytest.mark.parametrize("part", ["on_ack", "enqueue"])
def test_traces_of_code_are_drawn_without_consent(tmp_path: Path, part: str) -> None:
    code = {
        "on_ack": "self.slow_start(ack.acked)",
        "enqueue": "return self.fits(packet) and not self.packets.append(packet)",
    }
    path = scenario(tmp_path, **{part: code[part]})
    done = forebay("run", path, "--trace", tmp_path / "tr", "--set", "trace.every=10ms", "--allow-code")
    assert done.code == 0, done.err
    (tmp_path / "mine.py").unlink()
    drawn = forebay("plot", tmp_path / "tr")
    assert drawn.code == 0, drawn.err
    assert "mine.py:Mine" in (tmp_path / "tr" / "traces.svg").read_text(encoding="utf-8")


def test_drawing_traces_runs_none_of_their_code(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    done = forebay("run", path, "--trace", tmp_path / "tr", "--set", "trace.every=10ms", "--allow-code")
    assert done.code == 0, done.err
    resolved = json.loads((tmp_path / "tr" / "scenario.json").read_text(encoding="utf-8"))
    resolved["flows"][0]["cca"]["source"] = f"open({str(tmp_path / 'ran')!r}, 'w')"
    (tmp_path / "tr" / "scenario.json").write_text(json.dumps(resolved), encoding="utf-8")
    assert forebay("plot", tmp_path / "tr").code == 0
    assert not (tmp_path / "ran").exists()
