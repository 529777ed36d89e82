"""A finished sweep as one archive that a recipient can inspect, draw from and run again, bit for bit.

The archive is a ZIP file of

- `README.txt`: what it is and how to replay it;
- `manifest.json`: the sweep's own (resolved scenario, axes, replications, seed, version);
- `scenario.toml`: the given file, if there was one;
- `scenarios.jsonl`: the resolved scenario of every cell, one a line;
- `results.jsonl`: one line per cell and replication, in the order of the grid, numbers to the last bit;
- `rows.parquet`, `summary.parquet`, `sweep.png`, `sweep.svg`: tables and picture;
- `figure.py`: draws the picture from `summary.parquet` without forebay;
- `environment.json`: versions of everything that ran;
- `hashes.json`: SHA-256 of all the others.

The sender of an archive may have forged it. Reading therefore accepts only these members, bounded in size. Replaying
runs
every cell again, whatever a folder already has.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import platform
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.algorithms.code_files import forbidding
from forebay.engines import real_time_engines
from forebay.errors import InputError
from forebay.results.serialization import to_jsonable
from forebay.storage import build
from forebay.storage.files import write_atomically
from forebay.storage.safe_io import DamagedError, clean, content, document, lines, unpack, unpacked
from forebay.storage.tables import read_table
from forebay.sweeps.jobs import jobs_of
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import Sweep, sweep
from forebay.text.formatting import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Replay", "bundle", "replay"]

#: ZIP files cannot hold earlier times; equal sweeps give equal members.
EPOCH = (1980, 1, 1, 0, 0, 0)

#: Draws the sweep of the first folder into the second; pictures are a floor above.
Draw = Callable[[Path, Path], Sequence[Path]]

#: Packages that run a sweep, and packages that only read its results.
PACKAGES = ("forebay", "numpy", "scipy", "polars", "matplotlib", "click", "rich", "distributed")

#: Members of a bundle with the largest size of each, in bytes; and the members that it must have.
KIB, MIB = 2**10, 2**20
MEMBERS = {
    "README.txt": 64 * KIB,
    "environment.json": 64 * KIB,
    "figure.py": 64 * KIB,
    "hashes.json": 64 * KIB,
    "manifest.json": 64 * MIB,
    "results.jsonl": 512 * MIB,
    "rows.parquet": 512 * MIB,
    "scenario.toml": 64 * MIB,
    "scenarios.jsonl": 512 * MIB,
    "summary.parquet": 512 * MIB,
    "sweep.png": 64 * MIB,
    "sweep.svg": 64 * MIB,
}
OPTIONAL = frozenset({"scenario.toml", "sweep.png", "sweep.svg"})
TABLES = ("rows.parquet", "summary.parquet")
READ = frozenset({"hashes.json", "manifest.json", "results.jsonl"})
ALLOWED = "an archive as sweep --bundle wrote it"

README = """\
A forebay sweep: {title}

forebay {version}, {cells} cells, {results} results. Install that version of forebay. This runs the sweep again and
compares every number:

    forebay sweep --replay {name}

results.jsonl has one line per cell and replication. figure.py draws summary.parquet (pip install polars matplotlib).
hashes.json lists the SHA-256 of every file. The replay compares results, tables and scenarios. It does not compare
scenario.toml, pictures and programs: read these before you trust them. It does not compare times and memory (cost.*),
because machines differ. It does not repeat runs in real time (kernel), because no two are equal.
"""


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of running a bundle again.

    Attributes
    ----------
    compared : int
        Results compared.
    differences : list of str
        One line each, in the order of the grid; empty if every number is the same to the last bit.
    notes : list of str
        Notes for the reader, such as another version of forebay.
    """

    compared: int
    differences: list[str]
    notes: list[str]


def bundle(found: Sweep, path: Path, draw: Draw, source: str | None = None) -> Path:
    """Write the archive of a finished sweep; it appears complete or not at all.

    Parameters
    ----------
    found : Sweep
        A sweep without failed jobs.
    path : Path
        Path of the archive.
    draw : callable
        Draws the sweep of one folder into another; returns the pictures.
    source : str, optional
        Text of the scenario file.

    Raises
    ------
    InputError
        If jobs failed: such a sweep is not finished.
    """
    if found.failed:
        raise InputError(
            f"--bundle: found {len(found.failed)} failed runs in {found.folder}; allowed: a finished sweep"
        )
    manifest = Manifest.read(found.folder)
    members: dict[str, bytes] = {"manifest.json": _json(to_jsonable(manifest))}
    if source is not None:
        members["scenario.toml"] = source.encode()
    members["results.jsonl"], count, cells = _packed_results(found)
    members["scenarios.jsonl"] = _lines(_scenarios(manifest))
    for name in TABLES:
        members[name] = (found.folder / name).read_bytes()
    members |= _pictures(found.folder, draw)
    members["figure.py"] = (files("forebay.sweeps") / "figure.py.txt").read_bytes()
    members["environment.json"] = _json(_environment())
    values = {
        "title": manifest.title or "without a title",
        "version": manifest.forebay,
        "cells": cells,
        "results": count,
        "name": path.name,
    }
    members["README.txt"] = README.format(**values).encode()
    for name, data in members.items():
        if len(data) > MEMBERS[name]:
            allowed = f"at most {MEMBERS[name]}, which is what --replay reads"
            raise InputError(f"--bundle: found {len(data)} bytes of {name}; allowed: {allowed}")
    members["hashes.json"] = _json({name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), members[name], zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, packed.getvalue())
    return path


def replay(
    path: Path, *, jobs: int | None = None, scheduler: str | None = None, progress: Any = None, out: Path | None = None
) -> Replay:
    """Run a bundle again and compare every number of every result, of the tables and of the scenarios.

    Runs in real time are not repeated, because no two of them are equal; a note gives their number.

    Parameters
    ----------
    path : Path
        Path of the archive.
    jobs, scheduler, progress
        As in `sweep`; no number depends on them.
    out : Path, optional
        Folder of the new results; a temporary one by default.

    Raises
    ------
    InputError
        If the file is no archive, is damaged, or lacks a part.
    """
    manifest, claimed = _read(path)
    inside = f"{path}: manifest.json"
    with forbidding("forebay never runs the code of an archive; run its scenario from files of your own"):
        start = manifest.start(inside)
    try:
        for _ in jobs_of(start, manifest.axes, manifest.engine, manifest.replications, manifest.seed):
            pass
    except InputError as error:  # an error of the archive, not of an option
        raise InputError(f"{inside}: {error.text}") from None
    notes = []
    if manifest.forebay != _core.__version__:
        made = clean(manifest.forebay).strip("`")
        notes.append(f"made by forebay {made}, replayed by {_core.__version__}: numbers may differ")
    measured, claimed = _split_real_time(claimed)
    if measured:
        text = f"{counted(measured, 'result')} in real time, of which no two are equal: not run again"
        if not claimed:
            raise InputError(f"{path}: found nothing but {text}; allowed: results of other engines, too")
        notes.append(text)
    with tempfile.TemporaryDirectory() as folder:
        found = sweep(
            start,
            manifest.axes,
            out or folder,
            engine=manifest.engine,
            replications=manifest.replications,
            seed=manifest.seed,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
            fresh=True,
            timeless=True,
        )
        repeated = list(_results(found))
        differences = [f"{job}: {why}" for job, why in found.failed.items()]
        differences += _compare(claimed, repeated)
        differences += _compare_scenarios(path, manifest)
        if not found.failed:
            for table in TABLES:
                differences += _compare_tables(path, table, found.folder)
    if differences and not notes and manifest.build not in ("", build.fingerprint()):
        notes.append(f"made by another build of forebay {_core.__version__}: numbers may differ")
    return Replay(len(claimed), differences, notes)


def _split_real_time(claimed: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
    """The number of results of engines in real time, and the other results."""
    real = real_time_engines()
    others = [row for row in claimed if row.get("engine") not in real]
    return len(claimed) - len(others), others


def _compare(claimed: list[dict[str, Any]], replayed: list[dict[str, Any]]) -> Iterator[str]:
    """One line per number that is not the same to the last bit."""
    new = {(row["cell"], row["replication"]): row for row in replayed}
    for row in claimed:
        where = f"cell {row['cell']}, replication {row['replication']}"
        other = new.pop((row["cell"], row["replication"]), None)
        if other is None:
            yield f"{where}: not there any more"
            continue
        for name in sorted({*row, *other} - {"key"}):
            was, now = row.get(name), other.get(name)
            if was != now or type(was) is not type(now):
                yield f"{where}: {_printable(name)} was {_printable(was)}, is {_printable(now)}"
    for cell, replication in new:
        yield f"cell {cell}, replication {replication}: not in the bundle"


def _compare_scenarios(path: Path, manifest: Manifest) -> Iterator[str]:
    """One line per cell whose scenario is not the one that was run."""
    name = "scenarios.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        raw = content(unpacked(path, name, Path(folder), ALLOWED), ALLOWED, MEMBERS[name])
    try:
        claimed = lines(raw, name, ALLOWED)
    except DamagedError as error:
        yield f"{error.where}: {error.found}"
        return
    ran = list(_scenarios(manifest))
    if len(claimed) != len(ran):
        yield f"{name}: {len(claimed)} scenarios, for {len(ran)} cells"
        return
    for was, now in zip(claimed, ran, strict=True):
        if was != now:
            yield f"{name}: the scenario of cell {now['cell']} is not the one that ran"


def _compare_tables(path: Path, name: str, folder: Path) -> Iterator[str]:
    """One line per number of a table that differs from the runs' own; costs differ between equal runs."""
    with tempfile.TemporaryDirectory() as target:
        copy = unpacked(path, name, Path(target), ALLOWED)
        try:
            was = read_table(copy, ALLOWED)
        except DamagedError as error:
            yield f"{name}: {error.found}"
            return
    now = read_table(folder / name, ALLOWED)
    was, now = _timeless(was, now)
    kinds = [{column: kind for column, kind in table.schema.items() if not _of_run(column)} for table in (was, now)]
    for column in sorted(kinds[0].keys() | kinds[1].keys()):
        if kinds[0].get(column) != kinds[1].get(column):
            yield f"{name}: the column {clean(column)} is not what the runs gave"
            return
    if was.height != now.height:
        yield f"{name}: {was.height} rows, is {now.height}"
        return
    for column in kinds[1]:
        for row, (before, after) in enumerate(zip(was[column], now[column], strict=True), start=1):
            if before != after and not _as_close(before, after):
                yield f"{name}, row {row}: {_printable(column)} was {_printable(before)}, is {_printable(after)}"


def _timeless(was: pl.DataFrame, now: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables without rows in real time, which the second never had, and without columns that are empty then."""
    real = real_time_engines()
    retained = [str(name) not in real for name in was["engine"]] if "engine" in was.columns else []
    if all(retained):
        return was, now
    was = was.filter(retained)
    return was.select(_filled(was)), now.select(_filled(now))


def _filled(table: pl.DataFrame) -> list[str]:
    return [name for name in table.columns if table[name].count()]


def _of_run(column: str) -> bool:
    return column == "key" or column.startswith("cost.")


def _as_close(before: object, after: object) -> bool:
    """Means and half widths come from NumPy, whose sums differ in their last bits between machines."""
    return isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=1e-9)


def _results(found: Sweep) -> Iterator[dict[str, Any]]:
    """Every row in the order of the grid, without the costs of runs and without missing values."""
    if found.computed + found.reused == 0:
        return
    for row in found.rows().iter_rows(named=True):
        yield {name: value for name, value in row.items() if value is not None}


def _packed_results(found: Sweep) -> tuple[bytes, int, int]:
    """The lines of all results, the number of results and the number of their cells.

    The lines end after the first one that makes them too long for a bundle.
    """
    packed, count, cells, last = bytearray(), 0, 0, None
    for row in _results(found):
        packed += json.dumps(row).encode() + b"\n"
        count += 1
        cells += row["cell"] != last
        last = row["cell"]
        if len(packed) > MEMBERS["results.jsonl"]:
            break
    return bytes(packed), count, cells


def _scenarios(manifest: Manifest) -> Iterator[dict[str, Any]]:
    for job in _jobs(manifest):
        if job.replication == 0:
            resolved = json.loads(job.scenario.canonical_json())
            yield {"cell": job.cell.index, "engine": job.engine, "sha256": job.sha256, "scenario": resolved}


def _jobs(manifest: Manifest) -> Iterator[Any]:
    return jobs_of(manifest.start(), manifest.axes, manifest.engine, manifest.replications, manifest.seed)


def _pictures(folder: Path, draw: Draw) -> dict[str, bytes]:
    """The picture, if the sweep has an axis to draw against."""
    with tempfile.TemporaryDirectory() as target:
        try:
            drawn = draw(folder, Path(target))
        except InputError:
            return {}
        return {path.name: path.read_bytes() for path in drawn}


def _environment() -> Mapping[str, Any]:
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "forebay": _core.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "packages": packages,
    }


def _read(path: Path) -> tuple[Manifest, list[dict[str, Any]]]:
    """The manifest and the results of an archive that has every part, each with the right hash."""
    found = unpack(path, MEMBERS, READ, ALLOWED)
    where = str(path)
    for name in sorted(MEMBERS.keys() - OPTIONAL - found.digests.keys()):
        raise DamagedError(where, f"no member `{name}`", ALLOWED)
    hashes = document(found.files["hashes.json"], f"{path}: hashes.json", ALLOWED)
    if not isinstance(hashes, dict):
        raise DamagedError(f"{path}: hashes.json", "no table of hashes", ALLOWED)
    for name, digest in sorted(found.digests.items()):
        if name != "hashes.json" and hashes.pop(name, None) != digest:
            raise DamagedError(where, f"a damaged `{name}`", ALLOWED)
    for name in hashes:
        raise DamagedError(f"{path}: hashes.json", f"the hash of {clean(name)}, which is not there", ALLOWED)
    inside = f"{path}: manifest.json"
    manifest = Manifest.of(document(found.files["manifest.json"], inside, ALLOWED), inside)
    return manifest, _claimed(found.files["results.jsonl"], manifest, f"{path}: results.jsonl")


def _claimed(raw: bytes, manifest: Manifest, where: str) -> list[dict[str, Any]]:
    """The results, if they are rows of a grid of the manifest's size; only then is the grid run."""
    rows = lines(raw, where, ALLOWED)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not all(type(row.get(name)) is int for name in ("cell", "replication")):
            raise DamagedError(f"{where}, line {number}", "no row of a cell and its replication", ALLOWED)
        if any(isinstance(value, list | dict) for value in row.values()):
            raise DamagedError(f"{where}, line {number}", "a row within a row", ALLOWED)
    expected = _size(manifest)
    if len(rows) != expected:
        raise DamagedError(where, f"{len(rows)} results", f"{expected}, for as many runs as manifest.json has")
    return rows


def _size(manifest: Manifest) -> int:
    """Jobs of the grid; a formula has nothing to repeat."""
    engines = next((axis.values for axis in manifest.axes if axis.key == "engine"), (manifest.engine,))
    often = {engine.name: manifest.replications if engine.replicates else 1 for engine in _core.engines()}
    others = math.prod(len(axis.values) for axis in manifest.axes if axis.key != "engine")
    return others * sum(often.get(engine, 1) for engine in engines)


def _printable(value: object) -> str:
    """A name or value of a row, which may be anything, in a line."""
    if isinstance(value, str):
        return clean(value).strip("`") if value.isprintable() and len(value) <= 60 else clean(value)
    return repr(value)


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()


def _lines(entries: Any) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()
