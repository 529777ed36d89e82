"""Reads an inventory: a file or a folder becomes one table of ports, and one table of rejected rows with reasons.

The importers give texts. `validation` makes numbers of them and finds contradictions, `merging` the ports of several
files.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.extras import need
from forebay.fleets.columns import RAW, REJECTED, empty_raw, file_names, schema
from forebay.fleets.files import ALLOWED, FileFault, SourceFile, source_files
from forebay.fleets.rejections import of_port, split
from forebay.sanitize import sanitize
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FileRead", "Inventory", "read_inventory"]


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file of an inventory.

    Attributes
    ----------
    name : str
        Name of the file, relative to the folder.
    format : str
        Format by which it was read; empty if it was not.
    rows : int
        Number of its rows that may be ports.
    notes : tuple of str
        Facts about it, such as columns that are not read.
    """

    name: str
    format: str
    rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """The ports of a network.

    Attributes
    ----------
    ports : DataFrame
        One row per port, with the columns of `forebay.fleets.columns.PORTS`.
    rejected : DataFrame
        One row per rejected row: file, line and reason.
    files : tuple of FileRead
        The files in order of their names.
    """

    ports: pl.DataFrame
    rejected: pl.DataFrame
    files: tuple[FileRead, ...] = ()


def read_inventory(path: str | PathLike[str]) -> Inventory:
    """Read an inventory.

    Parameters
    ----------
    path : path
        A CSV, Parquet or JSON file, an export, a configuration, or a folder of these.

    Returns
    -------
    Inventory
        The ports, and every rejected row with the reason.

    Raises
    ------
    InputError
        If there is nothing to read.
    MissingPackageError
        If polars is not installed.
    """
    need("polars")
    import polars as pl

    from forebay.fleets.merging import merged
    from forebay.fleets.validation import validated

    whole = Path(path)
    sources, skipped = source_files(whole)
    frames: list[pl.DataFrame] = []
    rejected: list[dict[str, Any]] = [{"file": name, "line": None, "reason": reason} for name, reason in skipped]
    files = []
    for source in sources:
        try:
            read, frame = _read(source, rejected)
        except FileFault as fault:
            if len(sources) == 1 and not skipped:
                where = source.name if fault.line is None else f"{source.name}, line {fault.line}"
                raise InputError(f"{where}: {fault.reason}") from None
            rejected.append({"file": source.name, "line": fault.line, "reason": fault.reason})
            files.append(FileRead(source.name, "", 0))
            continue
        finally:
            source.release()
        files.append(read)
        frames.append(frame)
    raw = pl.concat(frames) if frames else empty_raw().with_columns(pl.lit(None, pl.String).alias("file"))
    if not len(raw) and not rejected:
        raise InputError(f"{clean(path)}: found no port; allowed: {ALLOWED}", "inventory")
    usable, faults = _identified(raw)
    single, contradictions = merged(usable)
    ports, wrong = validated(single)
    ports, absent = _with_files(ports, whole)
    listed = pl.DataFrame(rejected, schema=schema(REJECTED))
    every = pl.concat([listed, faults, contradictions, wrong, absent]).sort(
        "file", "line", nulls_last=False, maintain_order=True
    )
    order = {each.name: place for place, each in enumerate(sources)}
    ports = ports.with_columns(
        pl.col("file").replace_strict(order, default=len(order), return_dtype=pl.Int64).alias("_at")
    )
    ports = ports.sort("_at", "line", nulls_last=True, maintain_order=True).drop("_at")
    every = every.with_columns(pl.col("reason").map_elements(sanitize, return_dtype=pl.String, skip_nulls=True))
    return Inventory(ports, every, tuple(files))


def _read(source: SourceFile, rejected: list[dict[str, Any]]) -> tuple[FileRead, pl.DataFrame]:
    """One file by the importer that recognizes it."""
    import polars as pl

    from forebay.fleets.importers.registry import importer_of

    importer = importer_of(source)
    found = importer.read(source)
    rejected.extend({"file": source.name, "line": each.line, "reason": each.reason} for each in found.rejected)
    if not len(found.frame) and not found.rejected:
        raise FileFault(f"found no port in {importer.name}; allowed: at least one")
    frame = found.frame.with_columns(pl.lit(source.name).alias("file"))
    return FileRead(source.name, importer.name, len(frame), tuple(found.notes)), frame


def _identified(raw: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that name a port in text of UTF-8, and the others as rejected rows."""
    import polars as pl

    texts = pl.concat_str([pl.col(name) for name in RAW if name != "config"], ignore_nulls=True)
    reason = (
        pl.when(texts.str.contains("\ufffd", literal=True))
        .then(pl.lit("found a byte that is not UTF-8; allowed: a text in UTF-8"))
        .when(texts.str.contains("\0", literal=True) | pl.col("config").str.contains("\0", literal=True))
        .then(pl.lit("found a byte of zero (NUL); allowed: a text without it"))
        .when(pl.col("device").is_null())
        .then(pl.lit("device: found none; allowed: the name of the device"))
        .when(pl.col("port").is_null())
        .then(pl.lit("port: found none; allowed: the name of the port"))
        .when(pl.max_horizontal(pl.col("device").str.len_chars(), pl.col("port").str.len_chars()) > MOST_NAME)
        .then(pl.lit(f"found a name of more than {MOST_NAME} characters; allowed: less"))
    )
    return split(raw, reason)


def _with_files(ports: pl.DataFrame, whole: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ports with the files of the column `observe` found beside their table, and rows whose files are missing."""
    import polars as pl

    distinct = ports.filter(pl.col("observe").is_not_null()).select("file", "observe").unique(maintain_order=True)
    if not len(distinct):
        return split(ports, pl.lit(None, pl.String))
    places, faults = [], []
    for file, names in distinct.iter_rows():
        folder = (whole / file).parent if whole.is_dir() else whole.parent
        written = file_names(names)
        paths = [folder / name for name in written]
        missing = [name for name, path in zip(written, paths, strict=True) if not path.is_file()]
        places.append("; ".join(map(str, paths)))
        faults.append(
            f"observe: found no file {clean(missing[0])}; allowed: one that observe reads" if missing else None
        )
    known = distinct.with_columns(pl.Series("_place", places, pl.String), pl.Series("_fault", faults, pl.String))
    ports = ports.join(known, on=["file", "observe"], how="left", nulls_equal=True, maintain_order="left")
    right, wrong = split(ports.with_columns(pl.col("_place").alias("observe")), of_port(pl.col("_fault")))
    return right.drop("_place", "_fault"), wrong


#: Longest name of a device or a port, in characters.
MOST_NAME = 255
