"""Programs in the two namespaces of an emulation: their environment, their start and their end."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from forebay import _core
from forebay.errors import InputError
from forebay.measurement.emulation import StandIn, of_link
from forebay.results.report import Report

__all__ = ["Emulation", "Side", "check_program", "end", "exit_code", "words"]

#: Time between the request to end and the kill of a program, in seconds.
PATIENCE_S = 1.0
#: Time between two checks whether the emulation continues, in seconds.
LOOK_S = 0.5
#: Time between two checks whether a socket listens, in seconds.
GLANCE_S = 0.02

#: A socket that listens, and a datagram socket that is not connected, in /proc/net (include/net/tcp_states.h).
_LISTENS, _UNCONNECTED = "0A", "07"
_TABLES = {"tcp": _LISTENS, "tcp6": _LISTENS, "udp": _UNCONNECTED, "udp6": _UNCONNECTED}


class Side(StrEnum):
    """A namespace of the emulation: data crosses the path of the group from the sender to the receiver."""

    SENDER = "sender"
    RECEIVER = "receiver"

    @property
    def other(self) -> Side:
        """The side of the peer."""
        return Side.RECEIVER if self is Side.SENDER else Side.SENDER

    @property
    def core(self) -> str:
        """The engine's name of the side."""
        return "near" if self is Side.SENDER else "far"


class Emulation:
    """Namespaces behind the links of a scenario, in real time, until it is finished or the process ends.

    Parameters
    ----------
    placed : StandIn
        The scenario.
    seed : int
        Seed of the links and of the other flows.
    traces : bool
        Whether to record the traces that the scenario's [trace] requests.

    Raises
    ------
    UnavailableError
        If this machine cannot emulate.
    UnsupportedError
        If the kernel cannot run a group that runs beside.
    """

    def __init__(self, placed: StandIn, seed: int, *, traces: bool = False) -> None:
        self.placed = placed
        self._core = _core.Emulation(placed.scenario.core, placed.number, seed, traces=traces)

    def variables(self, side: Side) -> dict[str, str]:
        """The environment variables of programs on a side."""
        return {
            "FOREBAY_PEER": self._core.address(side.other.core),
            "FOREBAY_SELF": self._core.address(side.core),
            "FOREBAY_SIDE": side.value,
        }

    def start(
        self,
        side: Side,
        arguments: Sequence[str],
        *,
        reads: bool = True,
        writes: bool = True,
        output: Path | None = None,
        errors: Path | None = None,
    ) -> _core.Program:
        """Start a program.

        Parameters
        ----------
        side : Side
        arguments : sequence of str
            The program and its arguments, in which `$FOREBAY_PEER` and `{peer}` stand for the peer's address.
        reads, writes : bool
            Whether it has this process' standard input and output; else it reads nothing, and what it writes there
            goes to standard error.
        output, errors : Path, optional
            Files that take standard output and standard error.
        """
        variables = self.variables(side)
        filled = [fill(argument, variables) for argument in arguments]
        try:
            return self._core.run(
                side.core, filled, list(variables.items()), reads=reads, writes=writes, output=output, errors=errors
            )
        except (OSError, ValueError) as error:
            raise InputError(f"found `{filled[0]}`, which cannot be started: {error}") from None

    def entry(self, side: Side) -> str:
        """The beginning of a command line that runs a program on a side, or a shell."""
        return shlex.join(self._core.entry(side.core)[1])

    def live(self) -> _core.Live:
        """The present state of the target link."""
        return self._core.live()

    def wait(self, program: _core.Program, seconds: float | None = None) -> int | None:
        """Wait until a program ends; return its exit status, negative for a signal, or None after `seconds`.

        The status is also None if the emulation does not continue; `finish` gives the reason.
        """
        until = None if seconds is None else time.monotonic() + seconds
        status = program.poll()
        if status is not None or sys.platform != "linux":
            return status
        handle = os.pidfd_open(program.pid)
        try:
            while (status := program.poll()) is None and self._core.goes_on():
                left = LOOK_S if until is None else min(LOOK_S, until - time.monotonic())
                if left <= 0:
                    break
                select.select([handle], [], [], left)
            return status
        finally:
            os.close(handle)

    def goes_on(self) -> bool:
        """Whether packets are still carried."""
        return self._core.goes_on()

    def listening(self, side: Side) -> set[tuple[str, str]]:
        """The protocols and addresses at which programs on a side wait for others.

        The sockets of this process, which carry the flows that run beside, are not among them.
        """
        pid, _ = self._core.entry(side.core)
        own = _own_sockets()
        found = set()
        for table, state in _TABLES.items():
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
                sockets = [words for words in map(str.split, lines) if words[3] == state]
                found |= {(table, words[1]) for words in sockets if words[9] not in own}
        return found

    def await_listener(self, side: Side, program: _core.Program, before: set[tuple[str, str]], within: float) -> bool:
        """Wait until a new socket listens on a side; False after `within` seconds, or if the program fails."""
        until = time.monotonic() + within
        while time.monotonic() < until and self._core.goes_on():
            if self.listening(side) - before:
                return True
            if program.poll() not in (None, 0):
                return False
            time.sleep(GLANCE_S)
        return False

    def finish(self) -> Report:
        """End all programs and the namespaces, and return the link's report."""
        return of_link(Report(self._core.finish(), self.placed.scenario.resolved), self.placed)


def _own_sockets() -> set[str]:
    """The inodes of the sockets of this process, as the kernel's tables print them."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def end(program: _core.Program) -> None:
    """Ask a program to end (SIGTERM), and kill it if it takes too long."""
    if program.poll() is None and _terminate(program):
        until = time.monotonic() + PATIENCE_S
        while program.poll() is None and time.monotonic() < until:
            time.sleep(GLANCE_S)
    program.kill()
    while program.poll() is None:
        time.sleep(GLANCE_S)


def _terminate(program: _core.Program) -> bool:
    """Send SIGTERM to the one child of a program's process."""
    pid = program.pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for child in map(int, children):
            os.kill(child, signal.SIGTERM)
    except OSError:
        return False
    return bool(children)


def exit_code(status: int) -> int:
    """The exit code that a shell gives to a program with this status."""
    return status if status >= 0 else 128 - status


def fill(argument: str, variables: Mapping[str, str]) -> str:
    """An argument with addresses in place of variables, which no shell has expanded, and of {peer}."""
    names = "|".join(variables)
    pattern = rf"\$\{{({names})\}}|\$({names})\b|\{{(peer)\}}"

    def replacement(match: re.Match[str]) -> str:
        braced, bare, _ = match.groups()
        return variables[braced or bare or "FOREBAY_PEER"]

    return re.sub(pattern, replacement, argument)


def words(line: str, argument: str) -> list[str]:
    """The words of a command line, as a shell has them.

    Raises
    ------
    InputError
        If there are no words, or if a quotation does not end.
    """
    try:
        found = shlex.split(line)
    except ValueError as error:
        raise InputError(f"found `{line}` ({str(error).lower()}); allowed: a command line", argument) from None
    check_program(found, argument)
    return found


def check_program(arguments: Sequence[str], argument: str) -> None:
    """Refuse a program that does not exist, before anything is set up for it."""
    if not arguments or not arguments[0]:
        raise InputError("found no program; allowed: a command and its arguments", argument)
    if shutil.which(arguments[0]) is None:
        raise InputError(f"found `{arguments[0]}`, and no such program; allowed: one of PATH, or its path", argument)
