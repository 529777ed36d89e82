"""The hashes of a folder's files, in the folder: whether it is whole, and what it was written as.

A folder that appears under its name at once has all of its files or none; this finds out which were changed since, and
folders that took each other's names.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from forebay.files import write_whole
from forebay.untrusted import DamagedError, content, document, regular, shown

__all__ = ["FILE", "check_hashes", "write_hashes"]

FILE = "hashes.json"
MOST_BYTES = 2**20
ALLOWED = "a folder as it was written"


def write_hashes(folder: Path, identity: str) -> None:
    """Write down the hash of each file of a folder, and what it is."""
    hashes = {path.name: _hash(path) for path in sorted(folder.iterdir()) if path.name != FILE}
    write_whole(folder / FILE, json.dumps({"identity": identity, "sha256": hashes}, indent=2) + "\n")


def check_hashes(folder: Path, identity: str) -> None:
    """Read every file and compare.

    Raises
    ------
    DamagedError
        Where one differs or is missing, or the folder was written as something else.
    """
    path = folder / FILE
    told = document(content(path, ALLOWED, MOST_BYTES), str(path), ALLOWED)
    if not isinstance(told, dict) or not isinstance(told.get("sha256"), dict):
        raise DamagedError(str(path), "no table of hashes", ALLOWED)
    if told.get("identity") != identity:
        raise DamagedError(str(folder), "what was written under another name", ALLOWED)
    for name, digest in told["sha256"].items():
        if Path(name).name != name:
            raise DamagedError(str(path), f"the name {shown(name)}", ALLOWED)
        if _hash(folder / name) != digest:
            raise DamagedError(str(folder / name), "a damaged file", ALLOWED)


def _hash(path: Path) -> str:
    with regular(path, ALLOWED) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
