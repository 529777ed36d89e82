"""A finished sweep as one archive that somebody else can look at, draw from and run again, bit for bit.

The archive is a ZIP file of

- `README.txt`: what it is and how to replay it;
- `manifest.json`: the sweep's own (resolved scenario, axes, replications, seed, version);
- `scenario.toml`: the file that was given, where there was one;
- `scenarios.jsonl`: the resolved scenario of every cell, one a line;
- `results.jsonl`: one line per cell and replication, in the order of the grid, numbers to the last bit;
- `rows.parquet`, `summary.parquet`, `sweep.png`, `sweep.svg`: tables and picture;
- `figure.py`: draws the picture from `summary.parquet` without forebay;
- `environment.json`: versions of everything that ran;
- `hashes.json`: SHA-256 of all the others.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.files import write_whole
from forebay.plain import plain
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import Sweep, jobs_of, recorded, sweep

__all__ = ["Replay", "bundle", "replay"]

#: ZIP files cannot hold earlier times; equal sweeps give equal members.
EPOCH = (1980, 1, 1, 0, 0, 0)

#: Draws the sweep of the first folder into the second; pictures are a floor above.
Draw = Callable[[Path, Path], Sequence[Path]]

#: What runs, and what only reads results.
PACKAGES = ("forebay", "numpy", "scipy", "polars", "matplotlib", "click", "rich", "distributed")

README = """\
A forebay sweep: {title}

forebay {version}, {cells} cells, {results} results. Run it again and compare every number:

    pip install forebay=={version}
    forebay sweep --replay {name}

results.jsonl has one line per cell and replication. figure.py draws summary.parquet (pip install polars matplotlib).
hashes.json lists the SHA-256 of every file. Times and memory (cost.*) differ between machines and are not compared.
"""


@dataclass(frozen=True, slots=True)
class Replay:
    """What running a bundle again gave.

    Attributes
    ----------
    compared : int
        Results compared.
    differences : list of str
        One line each, in the order of the grid; empty where every number is the same to the last bit.
    notes : list of str
        What the reader should know, such as another version of forebay.
    """

    compared: int
    differences: list[str]
    notes: list[str]


def bundle(found: Sweep, path: Path, draw: Draw, source: str | None = None) -> Path:
    """Write the archive of a finished sweep; it appears complete or not at all.

    Parameters
    ----------
    found : Sweep
        Without failed jobs.
    path : Path
        Of the archive.
    draw : callable
        Draws the sweep of one folder into another; returns the pictures.
    source : str, optional
        Text of the scenario file.

    Raises
    ------
    InputError
        Where jobs failed: such a sweep is not finished.
    """
    if found.failed:
        raise InputError(
            f"--bundle: found {len(found.failed)} failed runs in {found.folder}; allowed: a finished sweep"
        )
    manifest = Manifest.read(found.folder)
    members: dict[str, bytes] = {"manifest.json": _json(plain(manifest))}
    if source is not None:
        members["scenario.toml"] = source.encode()
    results = list(_results(found.folder, manifest))
    members["results.jsonl"] = _lines(results)
    members["scenarios.jsonl"] = _lines(_scenarios(manifest))
    for name in ("rows.parquet", "summary.parquet"):
        members[name] = (found.folder / name).read_bytes()
    members |= _pictures(found.folder, draw)
    members["figure.py"] = (files("forebay.sweeps") / "figure.py.txt").read_bytes()
    members["environment.json"] = _json(_environment())
    told = {
        "title": manifest.title or "without a title",
        "version": manifest.forebay,
        "cells": len({row["cell"] for row in results}),
        "results": len(results),
        "name": path.name,
    }
    members["README.txt"] = README.format(**told).encode()
    members["hashes.json"] = _json({name: hashlib.sha256(data).hexdigest() for name, data in sorted(members.items())})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), members[name], zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, packed.getvalue())
    return path


def replay(
    path: Path, *, jobs: int | None = None, scheduler: str | None = None, progress: Any = None, out: Path | None = None
) -> Replay:
    """Run a bundle again and compare every number of every result.

    Parameters
    ----------
    path : Path
        Of the archive.
    jobs, scheduler, progress
        As in `sweep`; no number depends on them.
    out : Path, optional
        Folder of the new results; a temporary one by default.

    Raises
    ------
    InputError
        Where the archive is none, is damaged, or lacks a part.
    """
    members = _read(path)
    manifest = Manifest.of(json.loads(members["manifest.json"]))
    claimed = [json.loads(line) for line in members["results.jsonl"].decode().splitlines()]
    notes = []
    if manifest.forebay != _core.__version__:
        notes.append(f"made by forebay {manifest.forebay}, replayed by {_core.__version__}: numbers may differ")
    with tempfile.TemporaryDirectory() as folder:
        found = sweep(
            manifest.start(f"{path}: manifest.json"),
            manifest.axes,
            out or folder,
            engine=manifest.engine,
            replications=manifest.replications,
            seed=manifest.seed,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
        )
        again = list(_results(found.folder, manifest))
    differences = [f"{job}: {why}" for job, why in found.failed.items()]
    return Replay(len(claimed), [*differences, *_compare(claimed, again)], notes)


def _compare(claimed: list[dict[str, Any]], again: list[dict[str, Any]]) -> Iterator[str]:
    """One line per number that is not the same to the last bit."""
    new = {(row["cell"], row["replication"]): row for row in again}
    for row in claimed:
        where = f"cell {row['cell']}, replication {row['replication']}"
        other = new.pop((row["cell"], row["replication"]), None)
        if other is None:
            yield f"{where}: not there any more"
            continue
        for name in sorted({*row, *other} - {"key"}):
            was, now = row.get(name), other.get(name)
            if was != now:
                yield f"{where}: {name} was {was!r}, is {now!r}"
    for cell, replication in new:
        yield f"cell {cell}, replication {replication}: not in the bundle"


def _results(folder: Path, manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Every recorded row in the order of the grid, without what differs between equal runs."""
    for job in _jobs(manifest):
        row = recorded(folder, job)
        if row is not None:
            yield {name: value for name, value in row.items() if not name.startswith("cost.")}


def _scenarios(manifest: Manifest) -> Iterator[dict[str, Any]]:
    for job in _jobs(manifest):
        if job.replication == 0:
            resolved = json.loads(job.scenario.canonical_json())
            yield {"cell": job.cell.index, "engine": job.engine, "sha256": job.scenario.sha256, "scenario": resolved}


def _jobs(manifest: Manifest) -> Iterator[Any]:
    return jobs_of(manifest.start(), manifest.axes, manifest.engine, manifest.replications, manifest.seed)


def _pictures(folder: Path, draw: Draw) -> dict[str, bytes]:
    """The picture, where the sweep has an axis to draw against."""
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


def _read(path: Path) -> dict[str, bytes]:
    """All members of an archive whose hashes are right."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        hashes = json.loads(members.pop("hashes.json"))
    except FileNotFoundError:
        raise InputError(f"{path}: found nothing there; allowed: an archive that sweep --bundle wrote") from None
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(f"{path}: found no bundle ({error}); allowed: an archive that sweep --bundle wrote") from None
    for name, expected in hashes.items():
        if name not in members or hashlib.sha256(members[name]).hexdigest() != expected:
            raise InputError(f"{path}: found a damaged `{name}`; allowed: an archive as sweep --bundle wrote it")
    return members


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()


def _lines(entries: Any) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()
