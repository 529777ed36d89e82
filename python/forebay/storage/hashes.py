"""The hashes of a folder's files, in the folder: they show whether it is complete, unchanged and under its own name.

A folder that appears under its name at once has all of its files or none. The hashes reveal files that were changed
since, and folders that exchanged their names.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from forebay.storage.files import write_atomically
from forebay.storage.safe_io import DamagedError, clean, content, document, regular

__all__ = ["FILE", "check_hashes", "write_hashes"]

FILE = "hashes.json"
MOST_BYTES = 2**20
ALLOWED = "a folder as it was written"


def write_hashes(folder: Path, identity: str) -> None:
    """Write down the size and the hash of each file of a folder, and what it is."""
    files = {path.name: _of(path) for path in sorted(folder.iterdir()) if path.name != FILE}
    write_atomically(folder / FILE, json.dumps({"identity": identity, "files": files}, indent=2) + "\n")


def check_hashes(folder: Path, identity: str) -> None:
    """Read every file and compare.

    Raises
    ------
    DamagedError
        If one differs or is missing, or if the folder was written under another name.
    """
    path = folder / FILE
    data = document(content(path, ALLOWED, MOST_BYTES), str(path), ALLOWED)
    if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
        raise DamagedError(str(path), "no table of hashes", ALLOWED)
    if data.get("identity") != identity:
        raise DamagedError(str(folder), "what was written under another name", ALLOWED)
    for name, known in data["files"].items():
        if Path(name).name != name:
            raise DamagedError(str(path), f"the name {clean(name)}", ALLOWED)
        if _of(folder / name, known) != known:
            raise DamagedError(str(folder / name), "a damaged file", ALLOWED)


def _of(path: Path, known: object = None) -> dict[str, int | str]:
    """A file's size and, unless that is already another than is known, its SHA-256."""
    with regular(path, ALLOWED) as file:
        size = os.fstat(file.fileno()).st_size
        if isinstance(known, dict) and known.get("bytes") != size:
            return {"bytes": size}
        return {"bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
