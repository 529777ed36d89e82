"""Run `forebay` as a user would, and drop from its output what the machine decides."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from forebay.commands.program import main
from tests.support.forked import Answer, Forks


@cache
def forks() -> Forks:
    """The process that forks for the tests of this process."""
    return Forks()


def forebay(*arguments: str | Path, cwd: Path | None = None, columns: int = 200, timeout_s: float = 300) -> Answer:
    """Run the installed command as a user would, in a process of its own."""
    environment = _environment(columns)
    if sys.platform == "linux" and forks().can(environment):
        return forks().call([str(each) for each in arguments], cwd or Path.cwd(), environment, timeout_s)
    return begun(*arguments, cwd=cwd, columns=columns, timeout_s=timeout_s)


def begun(*arguments: str | Path, cwd: Path | None = None, columns: int = 200, timeout_s: float = 300) -> Answer:
    """Run the installed command in a process that begins from nothing."""
    command = [sys.executable, "-m", "forebay", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout_s, cwd=cwd, env=_environment(columns)
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def _environment(columns: int) -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}


def steady(text: str) -> str:
    """The printed text without the values that depend on the machine."""
    # The line may be broken anywhere, as it has more digits on a slower machine.
    return re.sub(r",\s+[\d.]+\s+CPU\s+seconds(\s+in\s+[\d.]+\s+s)?", ", N CPU seconds", text)


def without_costs(found: object) -> object:
    """The answer without the values that depend on the machine."""
    if isinstance(found, dict):
        return {key: without_costs(each) for key, each in found.items() if key not in {"cost", "elapsed_s", "cpu_s"}}
    return [without_costs(each) for each in found] if isinstance(found, list) else found


def called(*arguments: str, columns: int = 80) -> Answer:
    """The same within this process, which is faster."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["forebay", *arguments])
        patch.setenv("COLUMNS", str(columns))
        try:
            main()
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())
