"""`forebay.emulate`: one program behind the links of a scenario, from its start to its end."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.errors import ForebayError, InputError
from forebay.inputs.validation import MOST_SEED, integer, real
from forebay.measurement.emulation import MOST_SECONDS, stand_in
from forebay.measurement.programs import Emulation, Side, check_program, end, exit_code, words
from forebay.results.report import Report
from forebay.scenario import Scenario

__all__ = ["WAIT_S", "Emulated", "emulate", "peer_of", "seconds", "side_of"]

#: Time that a peer may take to listen, in seconds.
WAIT_S = 3.0


@dataclass(frozen=True, slots=True)
class Emulated:
    """The end of a program behind a link, and the state of the link.

    Attributes
    ----------
    exit_code : int or None
        Exit code of the program, 128 + n for signal n; None if the time limit passed before it ended.
    report : Report
        Report of the target link, of the groups that ran beside, and of the machine's lateness
        (`report.cost.lateness`).
    peer_listened : bool or None
        Whether the peer listened before the program started; None without a peer.
    strays : int
        Packets that were not carried, because they were not whole or not IPv4.
    output, errors : str or None
        Standard output and standard error of the program, if they were captured.
    """

    exit_code: int | None
    report: Report
    peer_listened: bool | None
    strays: int
    output: str | None
    errors: str | None

    @property
    def timed_out(self) -> bool:
        """Whether the time limit passed before the program ended."""
        return self.exit_code is None


def emulate(
    scenario: Scenario,
    command: str | Sequence[str],
    *,
    peer: str | Sequence[str] | None = None,
    group: str | None = None,
    side: str = "sender",
    beside: Collection[str] = (),
    wait: float = WAIT_S,
    timeout: float | None = None,
    seed: int | None = None,
    traces: bool = False,
    capture_output: bool = False,
) -> Emulated:
    """Run a program behind the links of a scenario, in real time.

    Parameters
    ----------
    scenario : Scenario
        The links, and the flows that run beside.
    command : str or sequence of str
        The program and its arguments, or a line that is split as a shell splits it. `{peer}` and `$FOREBAY_PEER` stand
        for the address of the other side.
    peer : str or sequence of str, optional
        Program with which the command talks; it is started on the other side before, and ended afterwards.
    group : str, optional
        The group whose path and round trips the program's packets have; by default the first one across the target
        link.
    side : str
        "sender" for a program whose uploads cross the path, "receiver" for one whose downloads do.
    beside : collection of str
        Groups whose flows run beside, or "all" for every other one.
    wait : float
        Longest wait of the program for the peer to listen, in seconds.
    timeout : float, optional
        Time after its start at which the program is ended if it still runs, in seconds.
    seed : int, optional
        In place of the scenario's own.
    traces : bool
        Whether to record the traces that `[trace]` requests.
    capture_output : bool
        Whether to capture the program's output instead of printing it.

    Returns
    -------
    Emulated
        The exit code, and the link's report.

    Raises
    ------
    InputError
        If a program or a group does not exist, or if a peer ended before it listened.
    UnavailableError
        If this machine cannot emulate: it needs Linux, and root or user namespaces.
    UnsupportedError
        If the kernel cannot run a group that runs beside.

    Examples
    --------
    >>> scenario = forebay.Scenario.load("@dsl-access")
    >>> done = forebay.emulate(scenario, "true", capture_output=True)  # doctest: +SKIP
    >>> done.exit_code  # doctest: +SKIP
    0
    """
    arguments = _arguments(command, "command")
    talks_to = None if peer is None else _arguments(peer, "peer")
    own = side_of(side)
    wait = seconds(wait, "wait", least=0.0)
    if timeout is not None:
        timeout = seconds(timeout, "timeout")
    seed = scenario.core.seed if seed is None else integer(seed, (0, MOST_SEED), "seed")
    placed = stand_in(scenario, group, beside)
    emulation = Emulation(placed, seed, traces=traces)
    try:
        with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
            files = [Path(folder, name) for name in ("output", "errors")] if capture_output else [None, None]
            with peer_of(emulation, own.other, talks_to, wait) as listened:
                program = emulation.start(own, arguments, output=files[0], errors=files[1])
                try:
                    status = emulation.wait(program, timeout)
                finally:
                    end(program)
            said = [None if file is None else file.read_text(encoding="utf-8", errors="replace") for file in files]
        strays = emulation.live().strays
    except BaseException:
        # The first error is raised, whatever finishing the emulation raises.
        with suppress(ForebayError):
            emulation.finish()
        raise
    report = emulation.finish()
    return Emulated(None if status is None else exit_code(status), report, listened, strays, said[0], said[1])


@contextmanager
def peer_of(emulation: Emulation, side: Side, arguments: Sequence[str] | None, wait: float) -> Iterator[bool | None]:
    """Start the peer of a program, and end it afterwards.

    Parameters
    ----------
    emulation : Emulation
    side : Side
        Side on which the peer runs.
    arguments : sequence of str or None
        The peer and its arguments; None for no peer.
    wait : float
        Longest wait for it to listen, in seconds.

    Yields
    ------
    bool or None
        Whether it listens; None without a peer.

    Raises
    ------
    InputError
        If it ended with an exit code other than 0 before it listened.
    """
    if arguments is None:
        yield None
        return
    before = emulation.listening(side)
    program = emulation.start(side, arguments, reads=False, writes=False)
    try:
        listens = emulation.await_listener(side, program, before, wait)
        if not listens and (status := program.poll()):
            line = shlex.join(arguments)
            raise InputError(
                f"found `{line}`, which ended with exit code {exit_code(status)} before it listened", "peer"
            )
        yield listens
    finally:
        end(program)


def side_of(name: str) -> Side:
    """Return the side of this name, or refuse it."""
    if name not in list(Side):
        raise InputError(_core.unknown("side", name, list(Side)), "side")
    return Side(name)


def seconds(value: float, argument: str, *, least: float | None = None) -> float:
    """Return a time in seconds: above 0, or at least `least`, and no longer than an emulation."""
    found = real(value, argument)
    inside = found > 0 if least is None else found >= least
    if not inside or found > MOST_SECONDS:
        allowed = "above 0 s" if least is None else f"from {least:g} s"
        raise InputError(f"found {found:g} s; allowed: a time {allowed} up to 30 days", argument)
    return found


def _arguments(command: str | Sequence[str], argument: str) -> Sequence[str]:
    if isinstance(command, str):
        return words(command, argument)
    check_program(command, argument)
    return command
