"""`emulate`: run a program behind the links of a scenario, in real time."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from forebay.commands.options import AS_JSON, FILE, SEED, SET
from forebay.commands.sources import source
from forebay.commands.streams import say, say_json
from forebay.commands.terminal import afterwards, live_line, show
from forebay.commands.values import Names, OutputFolder, Time
from forebay.commands.verb import verb
from forebay.errors import InputError
from forebay.interruption import EXIT_CODE
from forebay.storage.files import check_file

if TYPE_CHECKING:
    from forebay.measurement.emulation import StandIn
    from forebay.measurement.programs import Emulation, Side
    from forebay.results.report import Report

__all__ = ["emulate"]

#: Time in seconds that a command has to end by itself after a Ctrl-C, which it receives, too.
GRACE_S = 3.0
#: The exit code of timeout(1) for a command that ran out of time.
TIME_OVER = 124
#: Interval between two lines about the state of the link, in seconds.
EVERY_S = 1.0


class Hangup(BaseException):
    """The command received SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@verb(
    (
        "emulate home.toml --peer 'iperf3 -s' -- iperf3 -c {peer}",
        "Start a server and a client on both sides of the link:",
    ),
    ("emulate home.toml -- curl -o /dev/null http://{peer}:8000/", "Start a client only:"),
    ("emulate home.toml --with upload --serve", "Open both sides to shells while a group of the scenario sends:"),
    codes={
        0: "Done. Other codes are those of COMMAND: 128 + n if signal n ended it.",
        2: "The input is wrong, or this machine lacks something; one line on standard error describes the error.",
        TIME_OVER: "The time of --for ended before COMMAND.",
    },
    groups={
        "Programs": ("--peer", "--wait", "--serve", "--for"),
        "Path of the packets": ("--as", "--side", "--with", "--set", "--seed"),
    },
)
@FILE
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@SET
@click.option(
    "--as",
    "group",
    metavar="GROUP",
    help="Give COMMAND the path and the round trip of this group; by default of the first group across the target "
    "link.",
)
@click.option(
    "--side",
    type=Names("side", lambda: ["sender", "receiver"]),
    default="sender",
    show_default=True,
    help="Run COMMAND at the sender of the group, so that its uploads cross the path, or at the receiver.",
)
@click.option(
    "--with",
    "beside",
    multiple=True,
    metavar="GROUP",
    help="Also run the flows of this group, or of all other groups (all); by default of none. May be repeated.",
)
@click.option(
    "--peer",
    metavar="COMMAND",
    help="Run this program on the other side, before and during COMMAND.",
)
@click.option(
    "--wait",
    type=Time(),
    help="Wait at most this time for the peer to listen; by default 3s.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Run no COMMAND. Print how to open a shell on both sides, and show the link until Ctrl-C.",
)
@click.option("--for", "timeout", type=Time(), help="End everything after this time, as in 30s.")
@click.option("--trace", "trace_to", type=OutputFolder(), help="Write the recorded traces into this directory.")
@SEED
@AS_JSON
def emulate(
    file: Path,
    command: tuple[str, ...],
    overrides: tuple[str, ...],
    group: str | None,
    side: str,
    beside: tuple[str, ...],
    peer: str | None,
    wait: float | None,
    serve: bool,
    timeout: float | None,
    trace_to: Path | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run a program in real time over the links of a scenario.

    COMMAND follows --. It runs in its own network namespace and replaces the flows of a group. Its peer has the address
    $FOREBAY_PEER, which is {peer} in arguments. The report of the link follows on standard error. The verb needs Linux.
    """
    wanted = EmulateOptions(command, side, peer, wait, timeout, trace_to, serve=serve, as_json=as_json)
    wanted.check()
    from forebay.extras import need
    from forebay.measurement.emulation import stand_in

    if trace_to is not None:
        need("polars")
    given = source(file)
    scenario = given.scenario(overrides)
    placed = stand_in(scenario, group, beside)
    if trace_to is not None:
        from forebay.measurement.traces import FILES

        for name in FILES:
            check_file(trace_to / name, "trace_to")
    with _hearing():
        code, report = _emulated(placed, wanted, scenario.core.seed if seed is None else seed)
    with afterwards(lambda: _print_report(report, placed, as_json=as_json)):
        if trace_to is not None:
            from forebay.measurement.traces import write_traces

            for path in write_traces(report, trace_to):
                say(f"wrote {path}", err=True)
    sys.stdout.flush()
    if code:
        raise click.exceptions.Exit(code)


@dataclass(frozen=True, slots=True)
class EmulateOptions:
    """The options of the command line."""

    command: Sequence[str]
    side: str
    peer: str | None
    wait: float | None
    timeout: float | None
    trace_to: Path | None
    serve: bool
    as_json: bool

    def check(self) -> None:
        """Refuse options that contradict each other and programs that do not exist."""
        from forebay.measurement.emulating import side_of
        from forebay.measurement.programs import check_program, words

        side_of(self.side)
        if self.serve and self.command:
            raise InputError("cannot be combined with a COMMAND; allowed: one of them", "serve")
        if not self.serve and not self.command:
            raise InputError("found none; allowed: -- COMMAND [ARGUMENT ...], or --serve", "command")
        if self.command:
            check_program(self.command, "command")
        if self.peer is not None:
            words(self.peer, "peer")
        elif self.wait is not None:
            raise InputError("found without --peer; allowed: together with --peer COMMAND", "wait")


def _emulated(placed: StandIn, options: EmulateOptions, seed: int) -> tuple[int, Report]:
    """Run the emulation: the exit code and the report."""
    from forebay.measurement.programs import Emulation, Side
    from forebay.views.emulation import beginning, strays_text

    side = Side(options.side)
    emulation = Emulation(placed, seed, traces=options.trace_to is not None)
    show(beginning(placed, side, emulation.variables(side), serve=options.serve), err=True)
    try:
        with _peer(emulation, side.other, options):
            code = _serve(emulation, options.timeout) if options.serve else _run(emulation, side, options)
    except KeyboardInterrupt:
        code = 0 if options.serve else EXIT_CODE
    except Hangup as hangup:
        code = 0 if options.serve else 128 + hangup.number
    strays = emulation.live().strays
    report = emulation.finish()
    if strays:
        say(strays_text(strays), err=True)
    return code, report


@contextmanager
def _peer(emulation: Emulation, side: Side, options: EmulateOptions) -> Iterator[None]:
    """Run the peer, which the command talks to, from before the command starts until it has ended."""
    from forebay.measurement.emulating import WAIT_S, peer_of
    from forebay.measurement.programs import words

    arguments = None if options.peer is None else words(options.peer, "peer")
    wait = WAIT_S if options.wait is None else options.wait
    with peer_of(emulation, side, arguments, wait) as listens:
        if listens is False:
            say(f"the peer does not listen after {wait:g} s (--wait TIME); the command starts", err=True)
        yield


def _run(emulation: Emulation, side: Side, options: EmulateOptions) -> int:
    """Run the command and return its exit code."""
    from forebay.measurement.programs import end, exit_code

    program = emulation.start(side, options.command, writes=not options.as_json)
    code = TIME_OVER
    try:
        status = emulation.wait(program, options.timeout)
    except KeyboardInterrupt:
        # The terminal has sent the signal to the command, too.
        status, code = emulation.wait(program, GRACE_S), EXIT_CODE
    finally:
        end(program)
    return code if status is None else exit_code(status)


def _serve(emulation: Emulation, timeout: float | None) -> int:
    """Print the state of the link until the time is over or the emulation ends."""
    from forebay.measurement.programs import Side
    from forebay.views.emulation import live_text

    for side in Side:
        say(f"a shell on the {side.value}'s side: {emulation.entry(side)}", err=True)
    begin = time.monotonic()
    seconds = 0.0
    with live_line() as tell:
        while emulation.goes_on() and (timeout is None or seconds < timeout):
            seconds += EVERY_S if timeout is None else min(EVERY_S, timeout - seconds)
            time.sleep(max(0.0, begin + seconds - time.monotonic()))
            tell(live_text(emulation.live(), emulation.placed.scenario))
    return 0


def _print_report(report: Report, placed: StandIn, *, as_json: bool) -> None:
    """Print the report of the link."""
    if as_json:
        say_json(report.to_json(indent=2))
    else:
        from forebay.views.emulation import ending

        show(ending(report, placed), err=True)


@contextmanager
def _hearing() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command with its report, as Ctrl-C does."""

    def answer(number: int, _frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Hangup(number)

    requested = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # A signal that the caller ignores, as under nohup(1), stays ignored.
    requested = [number for number in requested if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        requested = []
    before = {number: signal.signal(number, answer) for number in requested}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
