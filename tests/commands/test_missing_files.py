"""Files that are not there, cannot be read, are empty or are folders: each verb says so in one line, exit code 2."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import forebay
from tests.support.scenarios import SMALL

#: Verbs that read a file, and the position of its name.
VERBS = (
    ("run", "FILE"),
    ("recommend", "FILE"),
    ("check", "FILE"),
    ("compare", "FILE"),
    ("sweep", "FILE", "--over", "link.buffer=5p,20p", "--out", "grid"),
    ("lab", "FILE", "--no-open"),
    ("emulate", "FILE", "--", "true"),
    ("emulate", "FILE", "--serve"),
    ("observe", "FILE"),
    ("observe", "--ss", "FILE"),
    ("translate", "FILE", "--for", "linux"),
    ("translate", "FILE", "--for", "ios-xe"),
    ("headroom", "--rate", "100Gbps", "--cable", "40m", "--table", "FILE"),
    ("plot", "FILE"),
)


def told(verb: tuple[str, ...], name: str, folder: Path) -> str:
    """The message of a verb about a file, in one line."""
    found = forebay(*(name if each == "FILE" else each for each in verb), cwd=folder)
    assert found.code == 2, (verb, found)
    assert found.out == ""
    assert found.err.count("\n") == 1, (verb, found.err)
    assert found.err.startswith("forebay: ")
    return found.err


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_missing_file_is_reported_as_missing(verb: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("missing.toml", "missing.pcap", "./missing", "no-such-folder/port.txt"):
        line = told(verb, name, tmp_path)
        assert "no such f" in line.lower(), line
        assert name.removeprefix("./") in line


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_folder_is_no_file(verb: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    line = told(verb, "folder", tmp_path)
    assert "neither manifest.json nor traces" in line if verb[0] == "plot" else "directory" in line.lower(), line


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_an_empty_file_says_nothing(verb: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    line = told(verb, "empty.txt", tmp_path)
    assert any(words in line for words in ("found no", "found an empty", "found a file")), line


@pytest.mark.sampled(4)
@pytest.mark.skipif(sys.platform == "win32", reason="files have other permissions")
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb[0] != "plot"], ids=" ".join)
def test_a_file_without_permission_cannot_be_read(verb: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "secret.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "secret.toml").chmod(0)
    arguments = ["secret.toml" if each == "FILE" else each for each in verb]
    line = [sys.executable, "-m", "forebay", *arguments]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may read every file")
        line = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *line]
    found = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1), found
    assert "secret.toml" in found.stderr
    assert "Permission denied" in found.stderr
