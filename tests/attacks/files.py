"""Attacks on forebay's own files, damaged or forged.

Where a checksum would end every attack at once it is made right first: who forges a file can compute one, too.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.results.serialization import to_jsonable
from forebay.scenario import Scenario
from forebay.search.listener import Callbacks
from forebay.storage import journal
from forebay.storage.hashes import check_hashes, write_hashes
from forebay.storage.safe_io import DamagedError, document
from forebay.sweeps import bundling
from forebay.sweeps.bundling import MEMBERS
from forebay.sweeps.grid import Grid
from forebay.sweeps.jobs import Job, jobs_of
from forebay.sweeps.manifest import Manifest
from tests.attacks.laws import check_sentence, refused
from tests.support.rows import stored_rows

if TYPE_CHECKING:
    from forebay.papers.catalog import Paper

#: A link that answers in milliseconds.
SMALL = """\
[link]
rate   = "2Mbps"
buffer = "20p"

[[flows]]
name = "bulk"
rtt  = "40ms"

[run]
warmup  = "1s"
measure = "2s"
"""


@functools.cache
def _folder() -> Path:
    """A folder for the files that readers want to have on a disk; in memory where there is such a thing."""
    memory = Path("/dev/shm")
    retained = tempfile.TemporaryDirectory(prefix="forebay-attack-", dir=memory if memory.is_dir() else None)
    _KEPT.append(retained)
    return Path(retained.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@contextmanager
def _file(name: str, raw: bytes) -> Iterator[Path]:
    path = _folder() / name
    path.write_bytes(raw)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def document_(raw: bytes) -> None:
    """A document that was read has the same content after it is written and read again."""
    with refused():
        found = document(raw, "file", "a document")
        repeated = json.dumps(found).encode()
        assert document(repeated, "file", "a document") == found
        assert _depth(found) <= 64


def _depth(found: object) -> int:
    if isinstance(found, dict):
        return 1 + max(map(_depth, found.values()), default=0)
    return 1 + max(map(_depth, found), default=0) if isinstance(found, list) else 0


def manifest(raw: bytes) -> None:
    """A manifest that is taken is written as it was read, and its grid is one."""
    with refused():
        found = Manifest.of(document(raw, "file", "a manifest"), "file")
        assert Manifest.of(json.loads(found.to_json())) == found
        assert isinstance(found.title, str)
        _grid(found)


def _grid(found: Manifest) -> None:
    """The first cells of a grid, whose size is known before any is made."""
    size = bundling._size(found)
    assert 0 < size <= math.prod(len(axis.values) for axis in found.axes) * found.replications
    if size <= 64:
        start = found.start("file")
        jobs = list(jobs_of(start, found.axes, found.engine, found.replications, found.seed))
        assert len(jobs) <= size


def bundle(raw: bytes) -> None:
    """An archive is refused, or has a manifest and as many results as that says."""
    packed = raw if raw.startswith(b"PK") else _packed(raw)
    with _file("b.zip", packed) as path, refused():
        found, claimed = bundling._read(path)
        assert len(claimed) == bundling._size(found)
        assert Manifest.of(to_jsonable(found)) == found
        for line in bundling._compare(claimed, [{**row, "cell": row["cell"]} for row in claimed[1:]]):
            check_sentence(line)


#: The beginning of a member's first line in the texts of this corpus: `== NAME`. Its content follows.
MARK = b"== "


def _packed(raw: bytes) -> bytes:
    """A bundle out of a text that has its members; those that it lacks are plain, and hashes are right."""
    members: dict[str, bytes] = dict.fromkeys(sorted(MEMBERS.keys() - bundling.OPTIONAL), b"\n")
    name = None
    for line in raw.split(b"\n"):
        if line.startswith(MARK):
            name = line.removeprefix(MARK).decode("latin-1")[:40]
            members[name] = b""
        elif name is not None:
            members[name] += line + b"\n"
    if members["hashes.json"] == b"\n":
        honest = {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != "hashes.json"}
        members["hashes.json"] = json.dumps(honest).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name or "_", bundling.EPOCH), data)
    return target.getvalue()


@functools.cache
def _job() -> Job:
    scenario = Scenario.parse(SMALL)
    return next(iter(jobs_of(scenario, [], "packet", 1, 1)))


def cell(raw: bytes) -> None:
    """A line is refused, or the same when it is written and read again; one that is believed is the job's own."""
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError):
        row = None
    own = {"key": _job().key, "scenario_sha256": _job().scenario.sha256, "engine": "packet", "replication": 0}
    if isinstance(row, dict):
        try:
            raw = journal.line({**own, **row})
        except (ValueError, RecursionError):
            return
    messages: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.jsonl"
        path.write_bytes(raw)
        grid = Grid(Scenario.parse(SMALL), [], "packet", 1, 1)
        found = stored_rows(grid, Path(folder), lambda _path, what: messages.append(what))
        assert all(own.items() <= row.items() for row in found.values())
        assert stored_rows(grid, Path(folder), lambda *_: messages.append("again")) == found
    assert len(messages) <= 1
    for what in messages:
        check_sentence(what)


def table(raw: bytes) -> None:
    """A table is refused or read, whatever its seal seals."""
    from forebay.storage import tables

    with _file("t.parquet", raw) as path:
        with path.open("rb") as file:
            at = tables._footer(file, len(raw))
        if at is not None:
            start = at - tables.SEAL
            sealed = start >= 0 and raw[start:at].startswith(tables.WORD)
            head, tail = (raw[:start] if sealed else raw[:at]), raw[at:]
            digest = hashlib.sha256(head + tail).hexdigest().encode()
            path.write_bytes(head + tables.WORD + digest + tail)
        with refused():
            found = tables.read_table(path, "run it again")
            assert found.height >= 0
            tables.write_table(found, path)
            assert tables.read_table(path, "run it again").equals(found, null_equal=True)


def hashes(raw: bytes) -> None:
    """Hashes are right only as they were written."""
    folder = _folder() / "hashed"
    folder.mkdir(exist_ok=True)
    (folder / "a").write_bytes(b"a")
    write_hashes(folder, "this")
    honest = json.loads((folder / "hashes.json").read_bytes())
    (folder / "hashes.json").write_bytes(raw)
    try:
        check_hashes(folder, "this")
    except DamagedError as error:
        check_sentence(str(error))
    else:
        data = json.loads(raw)
        assert data["identity"] == "this"
        assert all(honest["files"].get(name) == known for name, known in data["files"].items())


def search(raw: bytes) -> None:
    """Stored runs are used or ignored: never more than were stored, and never with an error."""
    from forebay.search.resumption import Resumption

    scenario = _job().scenario
    stored = Resumption(_folder()).of(scenario, "packet", "link.buffer")
    path, requested = stored.path, stored._search
    stored.close()
    lines = [json.dumps({"search": requested}).encode(), *raw.split(b"\n")]
    whole = b"".join(b"%08x %s\n" % (zlib.crc32(line), line) for line in lines)
    with _file(path.name, whole):
        messages: list[str] = []
        reopened = Resumption(_folder(), Callbacks(tell=messages.append)).of(scenario, "packet", "link.buffer")
        assert reopened.count + reopened.damaged <= len(lines)
        for pair in list(reopened._texts):
            report = reopened.take(pair, scenario.sha256)
            assert report is None or json.loads(report.core.json())["scenario_sha256"] == scenario.sha256
        reopened.close()
        for line in messages:
            check_sentence(line)


@functools.cache
def _papers() -> dict[str, Paper]:
    from forebay.papers.catalog import PAPERS, load

    return {name: load(name) for name in PAPERS}


def gallery(raw: bytes) -> None:
    """Figures of a gallery, findings and rows: left out by name, or taken."""
    from checks import findings, rows
    from forebay.papers.gallery import earlier_figures

    messages: list[str] = []
    with _file("gallery.json", raw) as path:
        list(earlier_figures(path.parent, _papers(), messages.append))
        with refused():
            found = findings.read(path)
            findings.biases(found)
            findings.shares(found)
    for kind in rows.READERS:
        with _file(f"{kind}.jsonl", raw) as path:
            for row in rows.read_folder(path.parent, kind):
                if isinstance(row, tuple):
                    messages.append(": ".join(row))
    for line in messages:
        check_sentence(line)
