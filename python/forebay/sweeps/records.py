"""One finished (cell, replication) of a sweep on a disk: its row as JSON, with the key of the job and two checksums.

One is of what was found, and is the same whenever that is; the other is of what it cost to find.

A row is believed where its checksum is right and its identity is that of the job which asks for it: the name of a file
says nothing. Who can compute the checksum can forge a row; `sweep --replay` of a bundle therefore believes none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from forebay import _core, build
from forebay.files import write_whole
from forebay.untrusted import DamagedError, content, document

__all__ = ["Row", "identity", "read_row", "write_row"]

#: A row's columns by name: texts, numbers and None.
Row = Mapping[str, Any]

#: What a file has beside the row: checksums of all other columns and of those of the cost.
CHECKSUM, COST = "sha256", "cost."
ALLOWED = "a cell as sweep wrote it"


class Asked(Protocol):
    """The job that a row must be of."""

    @property
    def key(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def replication(self) -> int: ...
    @property
    def scenario(self) -> _core.Scenario: ...


def identity(scenario: _core.Scenario, engine: str, seed: int, replication: int) -> str:
    """The key of a job: nothing that changes its numbers leaves it the same."""
    known = [scenario.sha256, engine, seed, replication, build.fingerprint()]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def write_row(path: Path, row: Row) -> None:
    """Write a row; it appears complete or not at all."""
    write_whole(path, json.dumps({**row, **checksums(row)}) + "\n")


def read_row(path: Path, job: Asked) -> Row:
    """Read the row of a job.

    Raises
    ------
    DamagedError
        Where what lies there is not as it was written, or is the row of another job.
    """
    where = str(path)
    found = document(content(path, ALLOWED), where, ALLOWED)
    if not isinstance(found, dict):
        raise DamagedError(where, "no row", ALLOWED)
    row = {name: value for name, value in found.items() if name not in (CHECKSUM, COST + CHECKSUM)}
    if len(row) != len(found) - 2:
        raise DamagedError(where, "a row without its checksums", ALLOWED)
    if any(found[name] != checksum for name, checksum in checksums(row).items()):
        raise DamagedError(where, "a row with a wrong checksum", ALLOWED)
    told = [row.get(name) for name in ("key", "scenario_sha256", "engine", "replication")]
    if told != [job.key, job.scenario.sha256, job.engine, job.replication]:
        raise DamagedError(where, "the row of another cell", ALLOWED)
    return row


def checksums(row: Row) -> dict[str, str]:
    """SHA-256 of what a row says was found, and of its cost, as they are written."""
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, value in row.items():
        parts[name.startswith(COST)][name] = value
    found, cost = (hashlib.sha256(json.dumps(part).encode()).hexdigest() for part in parts)
    return {CHECKSUM: found, COST + CHECKSUM: cost}
