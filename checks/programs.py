"""Parts that the programs of `checks` share: their exit codes, choices by name, and files of rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from forebay.errors import ForebayError, InputError
from forebay.storage.files import write_atomically

__all__ = ["exit_code", "is_chosen", "new_row_file", "processor_s", "write_rows"]


def exit_code(program: str, work: Callable[[], int], interrupted: str) -> int:
    """Do the work and return its exit code, or print an error in one line and return the code of the error.

    Parameters
    ----------
    program : str
        Name that begins the line.
    work : callable
    interrupted : str
        Line for an interrupt.
    """
    try:
        return work()
    except OSError as error:
        print(f"{program}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except ForebayError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{program}: {interrupted}", file=sys.stderr)
        return 130


def is_chosen(name: str, parts: str, separator: str = ",") -> bool:
    """Whether a name contains one of the separated parts; every name is chosen if there is no part."""
    required = [part.strip() for part in parts.split(separator) if part.strip()]
    return not required or any(part in name for part in required)


def processor_s(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a process; return its processor time, the kernel's time for it included, in seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def new_row_file(folder: Path, name: str) -> Path:
    """The path of a file of rows that does not exist yet.

    Raises
    ------
    InputError
        If it exists.
    """
    path = folder / name
    if path.exists():
        raise InputError(f"{path}: found a file; allowed: a folder without one, so that no rows are lost")
    return path


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON, one a line, and print their number."""
    lines = [f"{json.dumps(row)}\n" for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(lines))
    print(f"{len(lines)} rows in {path}")
