"""`forebay emulate`: programs really run behind the link, and whatever ends them, nothing of them is left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import forebay as forebay_package
from forebay import Scenario, UnavailableError, _core
from forebay.measurement.emulation import stand_in
from forebay.measurement.programs import Emulation, Side, end
from tests.support.commands import forebay
from tests.support.scenarios import HOME

pytestmark = pytest.mark.real_time

#: A process that runs longer than this hangs. No other verdict depends on this time.
HANGS_S = 60
#: A server that reads all data, and a client that sends a number of bytes and waits until all have arrived.
SINK = """
import socket
with socket.create_server(("", 7000)) as server:
    while True:
        connection, _ = server.accept()
        while connection.recv(65536):
            pass
        connection.close()
"""
SOURCE = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000)) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
"""


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    """Skip where this machine has no such namespaces, and say why."""
    placed = stand_in(Scenario.parse(HOME))
    try:
        _core.Emulation(placed.scenario.core, placed.number, 1).finish()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home.toml"
    path.write_text(HOME.replace("ecn = true\n", ""))
    return path


def emulated(home: Path, *options: str, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "forebay", "emulate", str(home), *options, "--", *command]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANGS_S)


def reported(home: Path, *options: str, command: tuple[str, ...]) -> dict[str, Any]:
    found = emulated(home, "--json", *options, command=command)
    assert found.returncode == 0, found.stderr
    report: dict[str, Any] = json.loads(found.stdout)
    return report


# Programs behind the link ----- -----------------------------------------------------------------------------------


def test_an_upload_takes_as_long_as_the_link_takes(home: Path) -> None:
    """A 10 Mb/s link carries 1.25 MB in a second, and headers of 52 bytes to 1448."""
    send = ("python3", "-c", SOURCE, "{peer}", "1250000")
    begin = time.monotonic()
    report = reported(home, "--peer", f"python3 -c '{SINK}'", command=send)
    took = time.monotonic() - begin
    assert took > 1250000 * 8 / 10e6
    metrics = report["metrics"]
    assert metrics["loss_rate"]["mean"] == 0
    # A window that grows without losses waits for about a round trip at least.
    assert metrics["queue_delay_max_s"]["mean"] > 0.02
    assert 0.3 < metrics["utilization"]["mean"] <= 1
    (programs,) = report["groups"]
    assert programs["metrics"]["queue_delay_max_s"] == metrics["queue_delay_max_s"]
    assert "goodput_bps" not in metrics
    assert "goodput_bps" not in programs["metrics"]
    assert not any("home" in warning for warning in report["warnings"])


def test_the_side_says_which_way_the_data_goes(home: Path) -> None:
    """Sent against the path, 1.25 MB cross the other link, five times as fast; the target has the answers alone."""
    send = ("python3", "-c", SOURCE, "$FOREBAY_PEER", "1250000")
    report = reported(home, "--side", "receiver", "--peer", f"python3 -c '{SINK}'", command=send)
    (down,) = report["links"]
    assert down["name"] == "down"
    assert down["metrics"]["utilization"]["mean"] > 3 * report["metrics"]["utilization"]["mean"]


def test_a_small_buffer_loses_and_a_large_one_delays(home: Path) -> None:
    send = ("python3", "-c", SOURCE, "{peer}", "1000000")
    found = {}
    for buffer in ("5ms", "400ms"):
        report = reported(home, "--set", f"link.buffer={buffer}", "--peer", f"python3 -c '{SINK}'", command=send)
        found[buffer] = {name: report["metrics"][name]["mean"] for name in ("loss_rate", "queue_delay_max_s")}
    assert found["5ms"]["loss_rate"] > 0 == found["400ms"]["loss_rate"]
    assert found["5ms"]["queue_delay_max_s"] < 0.008
    assert found["400ms"]["queue_delay_max_s"] > 0.02


def test_a_group_runs_beside_only_where_it_is_named(home: Path) -> None:
    for options, least, most in ((), 0.0, 0.0), (("--with", "calls"), 0.001, 0.02), (("--with", "home"), 0.5, 1.0):
        report = reported(home, *options, command=("sleep", "3"))
        assert least <= report["metrics"]["utilization"]["mean"] <= most
        assert [group["name"] for group in report["groups"]][:-1] == list(options[1:])


def test_output_is_the_commands_own(home: Path) -> None:
    found = emulated(home, command=("sh", "-c", "echo $FOREBAY_SELF $FOREBAY_SIDE; cat >&2", "{peer}"))
    assert found.stdout == "198.18.0.1 sender\n"
    assert "utilization" in found.stderr
    assert max(map(len, found.stderr.splitlines())) <= 100
    as_json = emulated(home, "--json", command=("echo", "said"))
    assert json.loads(as_json.stdout)["engine"] == "kernel"
    assert "said" in as_json.stderr


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -15 $$", 143), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_commands(home: Path, script: str, code: int) -> None:
    found = emulated(home, command=("sh", "-c", script))
    assert found.returncode == code
    assert "utilization" in found.stderr


def test_the_time_of_a_command_may_be_over(home: Path) -> None:
    """It is asked to end and may tidy up; what does not end is killed."""
    begin = time.monotonic()
    found = emulated(home, "--for", "1s", command=("sh", "-c", "trap 'echo tidy; exit 9' TERM; sleep 50 & wait"))
    assert (found.returncode, found.stdout) == (124, "tidy\n")
    stubborn = emulated(home, "--for", "1s", command=("sh", "-c", "trap '' TERM; sleep 50; sleep 50"))
    assert (stubborn.returncode, stubborn.stdout) == (124, "")
    assert time.monotonic() - begin < 30


def test_commands_reach_only_each_other(home: Path) -> None:
    """No device but the loopback and the way to the peer."""
    found = emulated(home, command=("cat", "/proc/net/dev"))
    devices = {line.split(":")[0].strip() for line in found.stdout.splitlines() if ":" in line}
    assert len(devices) == 2
    assert "lo" in devices


def test_nothing_listens_outside(home: Path) -> None:
    process, _ = begun(home, "--peer", "python3 -m http.server 8000", "--", "sleep", "50")
    try:
        tables = [Path(f"/proc/self/net/{table}").read_text() for table in ("tcp", "tcp6")]
        assert not any(re.search(r":1F40 0+:0000 0A", table) for table in tables)
    finally:
        process.kill()
        process.communicate(timeout=HANGS_S)


def test_malformed_packets_are_counted_and_do_no_harm(home: Path) -> None:
    script = """
import socket
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
raw.bind([name for _, name in socket.if_nameindex() if name != "lo"][0:1] and
         ([name for _, name in socket.if_nameindex() if name != "lo"][0], 0x0800))
import random
random.seed(7)
for size in range(1, 400):
    raw.send(bytes(random.randbytes(size)))
    raw.send(b"\\x45" + random.randbytes(size))
    raw.send(b"\\x45\\x00" + (size + 40).to_bytes(2, "big") + random.randbytes(size))
import time; time.sleep(0.5)
print("sent")
"""
    found = emulated(home, command=("python3", "-c", script))
    if "Operation not permitted" in found.stderr:
        pytest.skip("no raw sockets here")
    assert (found.returncode, found.stdout) == (0, "sent\n"), found.stderr
    assert re.search(r"\d packets dropped, because they are incomplete or not IPv4", found.stderr)


# From Python ------------------------------------------------------------------------------------------------------


def test_a_program_is_run_from_python_and_its_output_returned(home: Path) -> None:
    sends = ["python3", "-c", SOURCE, "{peer}", "500000"]
    done = forebay_package.emulate(Scenario.load(home), sends, peer=["python3", "-c", SINK], capture_output=True)
    assert (done.exit_code, done.timed_out, done.peer_listened, done.output) == (0, False, True, "")
    assert 0.1 < done.report.utilization.mean <= 1
    assert done.report.cost.lateness is not None
    line = "sh -c 'echo $FOREBAY_SELF; echo wrong >&2; exit 7'"
    stated = forebay_package.emulate(Scenario.load(home), line, side="receiver", capture_output=True)
    assert (stated.exit_code, stated.output, stated.errors) == (7, "198.18.1.1\n", "wrong\n")
    assert (stated.peer_listened, stated.strays) == (None, 0)


def test_a_program_of_python_s_ends_at_its_time(home: Path) -> None:
    begin = time.monotonic()
    done = forebay_package.emulate(Scenario.load(home), ["sleep", "50"], timeout=1.0)
    assert (done.exit_code, done.timed_out, done.output) == (None, True, None)
    assert time.monotonic() - begin < 30


def test_a_peer_that_does_not_listen_is_waited_for_as_long_as_asked(home: Path) -> None:
    for wait in (0.0, 1.5):
        begin = time.monotonic()
        done = forebay_package.emulate(Scenario.load(home), ["true"], peer=["sleep", "50"], wait=wait)
        assert (done.exit_code, done.peer_listened) == (0, False)
        assert time.monotonic() - begin > wait
    found = emulated(home, "--peer", "sleep 50", "--wait", "1s", command=("true",))
    assert "the peer does not listen after 1 s (--wait TIME); the command starts" in found.stderr


def test_root_s_command_has_the_capabilities_of_programs_of_the_network(home: Path) -> None:
    """A program that enters by a user namespace has its capabilities in that namespace only."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    (bounding,) = re.findall(r"CapBnd:\s*(\w+)", emulated(home, command=("cat", "/proc/self/status")).stdout)
    assert int(bounding, 16) & 1 << 12, "CAP_NET_ADMIN"
    for number, name in ((16, "SYS_MODULE"), (17, "SYS_RAWIO"), (19, "SYS_PTRACE"), (21, "SYS_ADMIN"), (27, "MKNOD")):
        assert not int(bounding, 16) & 1 << number, name


# Mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (["--", "no-such-program"], "COMMAND: found `no-such-program`, and no such program"),
        (["--", ""], "COMMAND: found no program"),
        ([], "COMMAND: found none; allowed: -- COMMAND"),
        (["--serve", "--", "true"], "--serve: cannot be combined with a COMMAND"),
        (["--as", "hom", "--", "true"], "--as: unknown group `hom`; did you mean `home`?"),
        (["--as", "calls", "--", "true"], "--as: found `calls`, which sends whatever is lost"),
        (["--with", "cals", "--", "true"], "--with: unknown group `cals`; did you mean `calls`?"),
        (["--side", "sende", "--", "true"], "--side: unknown side `sende`; did you mean `sender`?"),
        (["--peer", "x 'y", "--", "true"], "--peer: found `x 'y` (no closing quotation)"),
        (["--for", "5", "--", "true"], "--for: found `5`; allowed: a time"),
        (["--peer", "true", "--wait", "5", "--", "true"], "--wait: found `5`; allowed: a time"),
        (["--wait", "5s", "--", "true"], "--wait: found without --peer; allowed: together with --peer COMMAND"),
        (["--with", "watching", "--", "true"], "cca `bbr3` in group `watching`"),
        (["true", "-c", "x"], "emulate: unknown option `-c`"),
    ],
)
def test_a_mistake_is_one_line(home: Path, options: list[str], refusal: str) -> None:
    found = forebay("emulate", home, *options)
    assert found.code == 2
    lines = [line for line in found.err.splitlines() if line.startswith("forebay: ")]
    assert len(lines) == 1
    assert refusal in lines[0]
    assert found.out == ""


def test_a_failing_peer_is_reported(home: Path) -> None:
    found = forebay("emulate", home, "--peer", "sh -c 'exit 3'", "--", "true")
    assert found.code == 2
    assert "--peer: found `sh -c 'exit 3'`, which ended with exit code 3 before it listened" in found.err


# Remaining processes and files ----- ------------------------------------------------------------------------------


def begun(home: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A command that has started what it is to run, and the mark in the environment of all that it started."""
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    line = [sys.executable, "-m", "forebay", "emulate", str(home), *options]
    process = subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "FOREBAY_MARK": mark},
    )
    deadline = time.monotonic() + HANGS_S
    # The command, its parent, the two that represent them, and the three of the namespaces.
    least = 5 if "--serve" not in options else 4
    while len(marked(mark)) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, mark


def marked(mark: str) -> dict[int, str]:
    """Processes with a mark in their environment, and their network namespaces."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                if mark.encode() in (path / "environ").read_bytes():
                    found[int(path.name)] = str((path / "ns" / "net").readlink())
    return found


def nothing_left(mark: str, namespaces: set[str]) -> None:
    # A process that ends loses its environment a moment before its namespaces (do_exit in kernel/exit.c, 6.18).
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (marked(mark) or namespaces & inhabited()):
        time.sleep(0.02)
    assert marked(mark) == {}
    assert not namespaces & inhabited()


def inhabited() -> set[str]:
    """Network namespaces of all processes."""
    found = set()
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            found.add(str((path / "ns" / "net").readlink()))
    return found


#: Leaves a process behind that has no parent, no terminal and ears for nothing but SIGKILL.
LEAVE = "trap '' INT TERM HUP; (setsid sleep 300 >/dev/null 2>&1 </dev/null &) ; "


@pytest.mark.parametrize(
    ("number", "code", "is_integer"),
    [
        (signal.SIGINT, 130, True),
        (signal.SIGINT, 130, False),
        (signal.SIGTERM, 143, False),
        (signal.SIGHUP, 129, False),
        (signal.SIGKILL, -9, False),
    ],
)
@pytest.mark.parametrize("stubborn", [False, True])
def test_whatever_ends_it_nothing_is_left(
    home: Path, number: signal.Signals, code: int, *, is_integer: bool, stubborn: bool
) -> None:
    """Ctrl-C of a terminal, which reaches all processes, and signals to the command alone."""
    script = LEAVE + "sleep 300" if stubborn else "exec sleep 300"
    process, mark = begun(home, "--peer", "sleep 300", "--with", "home", "--", "sh", "-c", script)
    namespaces = set(marked(mark).values()) - {str(Path("/proc/self/ns/net").readlink())}
    assert len(namespaces) == 2
    (os.killpg if is_integer else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == code
    assert ("utilization" in err) == (number != signal.SIGKILL)
    nothing_left(mark, namespaces)


def test_a_command_that_forks_and_ends_leaves_nothing(home: Path) -> None:
    process, mark = begun(home, "--", "sh", "-c", LEAVE + "sleep 1; exit 4")
    namespaces = set(marked(mark).values()) - {str(Path("/proc/self/ns/net").readlink())}
    process.communicate(timeout=HANGS_S)
    assert process.returncode == 4
    nothing_left(mark, namespaces)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serving_ends_with_the_report(home: Path, number: signal.Signals) -> None:
    process, mark = begun(home, "--serve", "--with", "home")
    time.sleep(2.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 0
    assert "nsenter --target=" in err
    assert len(re.findall(r"^\d+ s  .* used  queue \d+ packets?, .* lost$", err, re.MULTILINE)) >= 1
    assert "utilization" in err
    nothing_left(mark, set())


def test_others_enter_by_the_line_that_is_said(home: Path) -> None:
    placed = stand_in(Scenario.load(home))
    emulation = Emulation(placed, 1)
    try:
        for side in Side:
            line = f"{emulation.entry(side)} cat /proc/net/fib_trie"
            found = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, timeout=HANGS_S)
            assert found.returncode == 0, found.stderr
            assert "32 host LOCAL" in found.stdout
        program = emulation.start(Side.SENDER, ["cat"], reads=False)
        assert emulation.wait(program, 10) == 0
        other = emulation.start(Side.SENDER, ["sleep", "100"])
        assert emulation.wait(other, 0.2) is None
        end(other)
        assert other.poll() == -signal.SIGTERM
    finally:
        emulation.finish()


def test_a_full_disk_ends_in_one_line_behind_the_report(home: Path) -> None:
    if not Path("/dev/full").exists() or os.geteuid() != 0:
        pytest.skip("needs a small file system of its own")
    small = home.parent / "small"
    small.mkdir()
    inner = [sys.executable, "-m", "forebay", "emulate", str(home), "--trace", str(small / "t")]
    script = f'mount -t tmpfs -o size=4k tmpfs {small} && exec "$@"'
    line = ["unshare", "--mount", "sh", "-c", script, "sh", *inner, "--with", "home", "--", "sleep", "2"]
    found = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANGS_S)
    if found.stderr.startswith(("mount:", "unshare:")):
        pytest.skip("no file system may be mounted here")
    assert found.returncode == 2
    assert "utilization" in found.stderr
    last = found.stderr.splitlines()[-1]
    assert last.startswith("forebay: ")
    assert "cannot be written: No space left on device" in last
