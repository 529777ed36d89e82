"""A process of code answers once and in one form, imports nothing from the folder, and leaves no process behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forebay import Scenario, sweep
from forebay.algorithms import processes
from tests.algorithms.hostile import failure, refusal, scenario
from tests.support.commands import begun

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and process groups")

GROW = "self.slow_start(ack.acked)"
#: Text written to every descriptor that is open, once.
WRITE = """if not hasattr(math, "done"):
            math.done = True
            for fd in range(3, 200):
                try:
                    for _ in range({times}): os.write(fd, {data!r})
                except OSError: pass
        self.slow_start(ack.acked)"""


@pytest.fixture(autouse=True)
def without_idle_processes() -> None:
    """A process of an earlier test has the folder and the variables of that test."""
    processes.close_idle()


def once(statement: str) -> str:
    """A statement that the code runs at its first acknowledgment only."""
    return f"(math.__dict__.setdefault('done', []) or ({statement}, math.done.append(1))); {GROW}"


def ends(process: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(100):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("fork", ["os.fork()", "__import__('ctypes').CDLL(None).fork()", "os.fork() or time.sleep(60)"])
def test_a_run_whose_code_forks_ends_in_one_line(tmp_path: Path, fork: str) -> None:
    if "ctypes" in fork:
        # The answer of the other process must come first: nothing tells that this one has a copy.
        fork = f"{fork} and time.sleep(1)"
    assert "answered twice" in failure(scenario(tmp_path, on_ack=once(fork)))


def test_a_fork_puts_no_answer_into_another_cell(tmp_path: Path) -> None:
    path = scenario(tmp_path, on_ack=f"self.gain == 3 and {once('os.fork()')}")
    (tmp_path / "usual").mkdir()
    usual = scenario(tmp_path / "usual")
    choices = ["flows.f.cca.gain=1,3,1.5", "link.buffer=10p,20p"]
    done, right = (
        sweep(Scenario.load(each, allow_code=True), choices, tmp_path / f"out{number}", jobs=1)
        for number, each in enumerate((path, usual))
    )
    assert (done.computed, len(done.failed)) == (4, 2)
    assert all("answered twice" in text for text in done.failed.values())
    columns = ["axis.flows.f.cca.gain", "axis.link.buffer", "utilization"]
    theirs = right.rows().select(columns).rows()
    assert len(theirs) == 6
    assert set(done.rows().select(columns).rows()) == {row for row in theirs if row[0] != "3"}


def test_a_fork_that_ends_by_itself_is_allowed(tmp_path: Path) -> None:
    code = once("(lambda child: os.waitpid(child, 0) if child else os._exit(0))(os.fork())")
    assert Scenario.load(scenario(tmp_path, on_ack=code), allow_code=True).run().metrics["utilization"].mean > 0


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\n[1,2]\n",
        b'{"report": 1}\n',
        b'{"error": "annotations"}\n',
        b'{"number": 2, "error": "annotations", "text": "x"}\n',
        b'{"number": 2, "error": ["CodeError"], "text": 3}\n',
        b'{"number": 2, "report": "{}"}\n',
        b'{"number": 2, "report": 7}\n',
        b'{"number": "2", "report": "{}"}\n',
        b'{"number": 1, "report": "{}"}\n',
        b"[" * 100_000 + b"\n",
        b"\xff\n",
    ],
)
def test_text_in_the_pipe_ends_the_run_in_one_line(tmp_path: Path, data: bytes) -> None:
    text = failure(scenario(tmp_path, on_ack=WRITE.format(data=data, times=1)))
    assert text.startswith("mine.py: the process of the code ")
    assert "a wrong form" in text or "answered twice" in text


def test_a_command_ends_with_one_line_and_exit_code_2_after_text_in_the_pipe(tmp_path: Path) -> None:
    path = scenario(tmp_path, on_ack=WRITE.format(data=b'{"error": "annotations"}\n', times=1))
    done = begun("run", path, "--allow-code")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_an_answer_too_large_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_BYTES", 3 << 20)
    code = WRITE.format(data=b"x" * 1000, times=9000)
    assert "a wrong form" in failure(scenario(tmp_path, on_ack=code))


@pytest.mark.parametrize(
    "statement",
    [
        "setattr(__import__('json'), 'dumps', lambda *a, **k: '{}')",
        "setattr(__import__('json'), 'dumps', lambda *a, **k: 1 / 0)",
        "setattr(time, 'sleep', None)",
        "setattr(time, 'monotonic', lambda: 1e9)",
        "os.closerange(3, 50)",
        "os.read(0, 10)",
    ],
)
def test_functions_that_the_code_replaces_change_no_answer(tmp_path: Path, statement: str) -> None:
    changed = Scenario.load(scenario(tmp_path, on_ack=once(statement)), allow_code=True).run()
    assert changed.metrics == Scenario.load(scenario(tmp_path, on_ack=GROW), allow_code=True).run().metrics


def test_an_encoder_that_fails_ends_the_command_in_one_line(tmp_path: Path) -> None:
    code = "import json; json.encoder.JSONEncoder.encode = None; self.slow_start(ack.acked)"
    done = begun("run", scenario(tmp_path, on_ack=code), "--allow-code")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("forebay: mine.py: the process of the code ended (exit code 1)")


def test_a_file_beside_the_code_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scenario(tmp_path)
    source = (tmp_path / "mine.py").read_text(encoding="utf-8")
    (tmp_path / "beside.py").write_text("GAIN = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # An empty entry would be the current folder.
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", "") + os.pathsep)
    (tmp_path / "mine.py").write_text(f"import beside\n{source}", encoding="utf-8")
    text = refusal(path)
    assert text.startswith("mine.py:1: ModuleNotFoundError: No module named 'beside'")
    assert "imports no files beside it" in text
    assert "imports no files beside it" in failure(scenario(tmp_path, on_ack="import beside"))
    assert "imports no files beside it" in failure(scenario(tmp_path, on_ack="from . import beside"))


def test_a_folder_of_pythonpath_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "installed.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    code = scenario(tmp_path, on_ack=f"import installed; {GROW}")
    assert Scenario.load(code, allow_code=True).run().metrics["utilization"].mean > 0


def test_a_file_named_like_a_module_breaks_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scenario(tmp_path)
    for name in ("numpy", "json", "dataclasses", "forebay"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(5)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8") + '[trace]\nevery = "10ms"\n'
    path.write_text(text, encoding="utf-8")
    assert Scenario.load(path, allow_code=True).run(traces=True).core.traces() is not None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_programs_that_the_code_starts_end_with_the_run(tmp_path: Path) -> None:
    note = tmp_path / "child"
    start = "__import__('subprocess').Popen(['sleep', '77']).pid"
    code = once(f"open({str(note)!r}, 'w').write(str({start}))")
    Scenario.load(scenario(tmp_path, on_ack=code), allow_code=True).run()
    assert ends(int(note.read_text(encoding="ascii")))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_programs_that_the_code_starts_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "child"
    start = "__import__('subprocess').Popen(['sleep', '77']).pid"
    wait = f"(open({str(note)!r}, 'w').write(str({start})), time.sleep(5))"
    path = scenario(tmp_path, on_ack=once(wait))
    with subprocess.Popen([sys.executable, "-m", "forebay", "run", str(path), "--allow-code"]) as parent:
        while not (note.exists() and note.read_text(encoding="ascii")):
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    assert ends(int(note.read_text(encoding="ascii")))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("os._exit(0)", "ended (exit code 0)"),
        ("os._exit(1)", "ended (exit code 1)"),
        ("os.kill(os.getpid(), 11)", "ended (SIGSEGV)"),
        ("os.kill(os.getpid(), 9)", "ended (SIGKILL), perhaps for want of memory"),
    ],
)
def test_the_end_of_a_process_names_its_status(tmp_path: Path, statement: str, words: str) -> None:
    assert failure(scenario(tmp_path, on_ack=statement)).endswith(f"mine.py: the process of the code {words}")
