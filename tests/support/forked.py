"""The command in a process of its own that does not begin from nothing.

Python's start and the imports of a verb take longer than most calls of the tests work. A process that has imported all
of it waits here, and forks for every call: what is called has its own memory, streams, folder and environment, ends as
Python ends, and shares nothing with other calls but what was imported. What a real process does from its first
instruction on is tested by those that start one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

#: Variables that Python and its libraries read once, at the start; the command itself handles its windows.
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS_", "OMP_", "MPLCONFIGDIR", "MATPLOTLIBRC", "TZ")
#: Loaded by verbs while they work, and safe to fork: polars and dask have threads of their own, and are not.
WITH_THEM = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "rich.console",
    "rich.progress",
    "rich.table",
    "scipy.special",
)
COMMAND = "forebay.__main__"
LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Answer:
    """The result of one call of the command line."""

    code: int
    out: str
    err: str


class Forks:
    """The process that forks, from the caller's side."""

    def __init__(self) -> None:
        self._began = _read_at_start(os.environ)
        ours, theirs = socket.socketpair()
        self._socket = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self._close)

    def can(self, environment: Mapping[str, str]) -> bool:
        """Whether a process that began now would find what the waiting one found."""
        return _read_at_start(environment) == self._began

    def call(self, arguments: list[str], folder: Path, environment: Mapping[str, str], timeout_s: float) -> Answer:
        """Run the command, for at most so long."""
        requested = json.dumps([arguments, str(folder), dict(environment)]).encode("utf-8", "surrogateescape")
        out, err = (os.memfd_create(name) for name in ("out", "err"))
        try:
            socket.send_fds(self._socket, [LENGTH.pack(len(requested))], [out, err])
            self._socket.sendall(requested)
            process = _number(self._socket)
            self._socket.settimeout(timeout_s)
            try:
                code = _number(self._socket)
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                self._socket.settimeout(None)
                _number(self._socket)
                raise subprocess.TimeoutExpired(arguments, timeout_s) from None
            self._socket.settimeout(None)
            return Answer(code, _text(out), _text(err))
        finally:
            os.close(out)
            os.close(err)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def _text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode().replace("\r\n", "\n").replace("\r", "\n")


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def _number(connection: socket.socket) -> int:
    (number,) = struct.unpack("!i", _exactly(connection, 4))
    return int(number)


def _load() -> None:
    """Import what the verbs would."""
    import forebay

    for module in pkgutil.walk_packages(forebay.__path__, "forebay."):
        if not module.name.startswith(("checks", COMMAND, "forebay.laboratory.widget")):
            importlib.import_module(module.name)
    for name in WITH_THEM:
        importlib.import_module(name)


def _wait(connection: socket.socket) -> list[str]:
    """Fork for every call until the caller has ended; return the arguments in each forked process."""
    while True:
        head, descriptors, _flags, _address = socket.recv_fds(connection, LENGTH.size, 2)
        if not head:
            os._exit(0)
        head += _exactly(connection, LENGTH.size - len(head))
        arguments, folder, environment = json.loads(_exactly(connection, LENGTH.unpack(head)[0]))
        process = os.fork()
        if process == 0:
            connection.close()
            for place, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, place)
                os.close(descriptor)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[0] = folder
            return list(arguments)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(struct.pack("!i", process))
        _, status = os.waitpid(process, 0)
        connection.sendall(struct.pack("!i", os.waitstatus_to_exitcode(status)))


def _main(descriptor: str) -> NoReturn:
    _load()
    gc.collect()
    gc.freeze()
    arguments = _wait(socket.socket(fileno=int(descriptor)))
    sys.argv = [COMMAND, *arguments]
    code: object = 0
    try:
        runpy.run_module(COMMAND, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    _end(code)


def _end(code: object) -> NoReturn:
    """End without taking apart, one by one, the modules that another process needs, too."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0 if code is None else code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _main(sys.argv[1])
