"""Ctrl-C of the command, wherever it comes and however often: one line, exit code 130, nothing that goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from forebay import Scenario, recommend, sweep
from tests.support.scenarios import SMALL

LONG = ("run.measure=8000000s",)

#: Run before anything of the package: sends SIGINT so often when a module is first looked for.
SITE = """
import os, signal, sys

class Striking:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["STRIKE_AT"] and self in sys.meta_path:
            sys.meta_path.remove(self)
            for _ in range(int(os.environ["STRIKES"])):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Striking())
"""


def started(tmp_path: Path, *arguments: str, **strike: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "forebay", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, **strike}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.mark.parametrize("strikes", [1, 5])
@pytest.mark.parametrize(
    "module",
    # From the first that the package imports to what a verb needs at work.
    [
        "typing",
        "forebay.errors",
        "click",
        "forebay.commands.sweep",
        "forebay._core",
        "forebay.scenario",
        "numpy.linalg",
    ],
)
def test_while_the_command_loads(tmp_path: Path, small: Path, module: str, strikes: int) -> None:
    found = started(
        tmp_path, "recommend", str(small), "--no-picture", "--fresh", STRIKE_AT=module, STRIKES=str(strikes)
    )
    if module == "typing" and found.returncode == 0:
        pytest.skip("typing was loaded before the package")
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr.splitlines() == ["forebay: interrupted"]


#: A process that runs longer than this hangs. No other verdict depends on this time.
HANGS_S = 100


def striking(command: list[str], times: int, gap_s: float) -> tuple[int, str]:
    """Interrupt a command once its engine runs; its exit code, and what it said."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tasks = Path(f"/proc/{process.pid}/task")
    while len(list(tasks.iterdir())) < 2:
        assert process.poll() is None, "the engine's threads never ran"
        time.sleep(0.02)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(gap_s)
    _, err = process.communicate(timeout=HANGS_S)
    return process.returncode, err


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("times", "gap_s"), [(1, 0.0), (5, 0.0), (5, 0.005), (5, 0.05)])
@pytest.mark.parametrize("verb", ["run", "recommend", "check", "compare", "sweep"])
def test_while_the_engine_runs(small: Path, tmp_path: Path, verb: str, times: int, gap_s: float) -> None:
    more = {
        "sweep": ["--over", "link.buffer=5p,9p", "--out", str(tmp_path / "out")],
        "recommend": ["--no-picture", "--fresh"],
        "check": ["--fresh"],
    }
    options = [*more.get(verb, []), "--set", LONG[0]]
    command = [sys.executable, "-m", "forebay", verb, str(small), *options]
    code, err = striking(command, times, gap_s)
    assert code == 130
    # Where the runs have begun, a line says about how long they take.
    *estimates, last = err.splitlines()
    assert last == "forebay: interrupted"
    assert len(estimates) <= 1
    assert all(line.startswith("forebay: this takes about ") for line in estimates)


def tasks() -> set[str]:
    """The threads of this process, without those of Polars."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # ended meanwhile
            if "polars" not in (task / "comm").read_text(encoding="utf-8"):
                found.add(task.name)
    return found


@pytest.mark.parametrize("what", ["packet", "fluid", "recommend", "sweep"])
def test_nothing_of_the_library_goes_on(what: str, tmp_path: Path) -> None:
    scenario = Scenario.parse(SMALL).changed(*LONG)
    calls = {
        "packet": lambda: scenario.run(replications=4, jobs=2),
        "fluid": lambda: scenario.run("fluid", replications=4, jobs=2),
        "recommend": lambda: recommend(scenario, ["utilization>=90%"]),
        "sweep": lambda: sweep(scenario, ["link.buffer=5p,9p"], tmp_path / "out"),
    }

    def interrupt() -> None:
        time.sleep(0.6)
        os.kill(os.getpid(), signal.SIGINT)

    if not Path("/proc/self/task").exists():
        pytest.skip("counts threads in /proc")
    before = tasks()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        calls[what]()
    thread.join()
    deadline = time.monotonic() + HANGS_S
    while tasks() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert tasks() <= before, "a thread of the engine computes on"


def test_the_library_leaves_ctrl_c_as_it_is() -> None:
    code = """
        import signal
        import forebay, forebay.__main__, forebay.commands.program
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        import sys
        sys.argv = ["forebay", "--version"]
        try:
            forebay.__main__.main()
        except SystemExit:
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        sys.argv = ["-c"]
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


#: Runs that once were deaf: what its links carry, how many flows there are, or how long its text is.
DEAF = {
    "a fast source on a slow link": (
        "packet",
        '[link]\nrate = "1kbps"\nbuffer = "10p"\n[[flows]]\npacket = "64B"\n'
        'workload = { cbr = { rate = "900Mbps" } }\n[run]\nwarmup = "1s"\nmeasure = "5000s"\n',
    ),
    "many packet flows": (
        "packet",
        '[link]\nrate = "100Gbps"\nbuffer = "0.1BDP"\n[[flows]]\ncount = 100000\n'
        'rtt = { uniform = ["20ms", "200ms"] }\n[run]\nwarmup = "1s"\nmeasure = "200s"\n',
    ),
    "a million packet flows at once": (
        "packet",
        '[link]\nrate = "1Gbps"\nbuffer = "0.1BDP"\n[[flows]]\ncount = 1000000\nrtt = "50ms"\n',
    ),
    "many fluid flows": (
        "fluid",
        '[link]\nrate = "100Gbps"\nbuffer = "0.1BDP"\n[[flows]]\ncount = 30000\n'
        'rtt = { uniform = ["20ms", "200ms"] }\n[run]\nwarmup = "1s"\nmeasure = "5s"\n',
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", DEAF)
@pytest.mark.parametrize("where", ["main", "another"])
def test_every_run_hears_at_once_in_every_thread(what: str, where: str) -> None:
    """The exception comes, and the engine's own thread ends."""
    engine, text = DEAF[what]
    code = f"""
        import ctypes, os, signal, threading, time
        import forebay
        scenario = forebay.Scenario.parse({text!r})
        told, ended = [], []

        def work():
            try:
                scenario.run({engine!r}, replications=1)
            except (KeyboardInterrupt, SystemExit):
                ended.append(len(told))

        def tell():
            time.sleep(1.5)
            told.append(True)
            if {where!r} == "main":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                asked = ctypes.c_ulong(thread.ident)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(asked, ctypes.py_object(SystemExit))

        thread = threading.Thread(target=work)
        teller = threading.Thread(target=tell)
        teller.start()
        if {where!r} == "main":
            work()
        else:
            thread.start()
            thread.join()
        teller.join()
        while len(os.listdir("/proc/self/task")) > 1:
            time.sleep(0.005)
        print(ended)
    """
    if not Path("/proc/self/task").exists():
        pytest.skip("counts threads in /proc")
    # None of these runs ends by itself in that time.
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=HANGS_S
    )
    assert (done.returncode, done.stdout) == (0, "[1]\n"), done.stderr


def test_reading_a_long_text_hears() -> None:
    """Inside of the reader, not once it returns: it ends with the exception."""
    code = """
        import os, signal, sys, threading
        import forebay
        head = '[link]\\nrate = "1Gbps"\\nbuffer = "9p"\\n[[flows]]\\ncount = 1000000\\nrtt = ['
        text = head + '"50ms",' * 1_000_000 + ']'
        reading = threading.Event()
        ends = []

        def observe(frame, event, argument):
            if getattr(argument, "__qualname__", "").endswith("Scenario.parse"):
                reading.set() if event == "c_call" else ends.append(event)

        def tell():
            reading.wait()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=tell).start()
        sys.setprofile(observe)
        try:
            forebay.Scenario.parse(text)
        except KeyboardInterrupt:
            print(ends)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=HANGS_S
    )
    assert (done.returncode, done.stdout) == (0, "['c_exception']\n"), done.stderr
