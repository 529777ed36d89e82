"""Measurements of an audit on a disk: one line each, so that a killed audit continues where it stopped.

Lines are those of a sweep (`forebay.sweeps.batches`): each has a checksum and its key. A key is a hash of the scenario,
the precision and the build of forebay, so that a line of another build is never used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forebay.storage import build, journal
from forebay.sweeps.batches import Batches
from forebay.text.formatting import counted

__all__ = ["Store", "key_of"]


def key_of(kind: str, text: str, *options: object) -> str:
    """The key of a measurement: its kind, its scenario as JSON, and its options."""
    known = [kind, text, *options, build.fingerprint()]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


class Store:
    """The kept measurements; in memory alone without a folder.

    Parameters
    ----------
    folder : Path or None
        Folder of the lines.
    tell : callable
        Called with a line on damage, and on lines of another build.
    """

    def __init__(self, folder: Path | None, tell: Callable[[str], object]) -> None:
        self._entries: dict[str, Mapping[str, Any]] = {}
        self._batches: Batches | None = None
        #: Measurements that were there at the beginning and were used, and those that were added.
        self.reused: set[str] = set()
        self.added: set[str] = set()
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._batches = Batches(folder)
        others = 0

        def accept(entry: Any, _place: int) -> bool:
            nonlocal others
            if not isinstance(entry.get("key"), str) or not isinstance(entry.get("found"), dict):
                return False
            if entry.get("build") != build.fingerprint():
                others += 1
                return True
            self._entries[entry["key"]] = entry["found"]
            return True

        def damaged(path: Path, found: str) -> None:
            tell(f"{path}: found {found}; measures what is missing again")

        self._batches.read(accept, damaged)
        if others:
            tell(f"{folder}: {counted(others, 'measurement')} of another build of forebay are not used")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        if self._batches is not None:
            self._batches.__exit__(*error)

    def get(self, key: str) -> Mapping[str, Any] | None:
        """A kept measurement."""
        found = self._entries.get(key)
        if found is not None and key not in self.added:
            self.reused.add(key)
        return found

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def add(self, key: str, found: Mapping[str, Any]) -> None:
        """Keep a measurement; it is in the file when this returns.

        A refusal is kept in memory alone: with more memory, or on another worker, there may be a measurement.
        """
        # As it is read again: texts of numbers are exact, and tuples become lists.
        found = json.loads(json.dumps(found))
        self._entries[key] = found
        self.added.add(key)
        if self._batches is not None and "refusal" not in found:
            self._batches.add(journal.line({"key": key, "build": build.fingerprint(), "found": found}))
