"""Compilers of C on this machine: one for WebAssembly, and one that only checks a file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

#: The highest version is the first that is tried.
CLANGS = ("clang", *(f"clang-{version}" for version in range(23, 14, -1)))


@cache
def clang() -> str | None:
    """A clang that makes modules; None if this machine has none."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "nothing.c"
        source.write_text("void nothing(void) {}\n", encoding="ascii")
        command = ["--target=wasm32", "-nostdlib", "-Wl,--no-entry", "-o", "nothing.wasm", source.name]
        for each in filter(None, map(shutil.which, CLANGS)):
            if subprocess.run([each, *command], cwd=folder, capture_output=True, check=False).returncode == 0:
                return each
    return None


def checked(source: Path) -> str | None:
    """The errors and warnings of a file of C; None if this machine has no compiler."""
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", *CLANGS))), None)
    if compiler is None:
        return None
    command = [compiler, "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-pedantic", source.name]
    return subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False).stderr
