"""Traces: the records of a run over time, as Parquet tables, and packets also as a capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import InputError
from forebay.extras import need
from forebay.storage.files import replacing, write_atomically
from forebay.storage.tables import write_table

if TYPE_CHECKING:
    from forebay.results.report import Report

__all__ = ["FILES", "write_traces"]

#: All that may be written.
FILES = (
    *("flows.parquet", "queue.parquet", "packets.parquet", "transfers.parquet", "pauses.parquet"),
    "packets.pcapng",
    *("report.json", "scenario.json"),
)


def write_traces(report: Report, folder: Path, *, capture: bool = True) -> list[Path]:
    """Write recorded tables as FOLDER/NAME.parquet, packets also as packets.pcapng; report and scenario beside them.

    Parameters
    ----------
    report : Report
        Report of a run; the traces are those of its first replication.
    folder : Path
        Folder of the tables; it is made if it is missing.
    capture : bool
        Whether packets are also written as a capture, which takes as much room again.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    InputError
        If the engine recorded nothing, or if the folder cannot be written.
    MissingPackageError
        If polars is not installed.
    """
    need("polars")
    import polars as pl

    tables = report.traces()
    if tables is None:
        raise InputError(f"the {report.engine} engine recorded nothing", "trace")
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, columns in tables.items():
            frame = pl.DataFrame(columns)
            if frame.height:
                path = folder / f"{name}.parquet"
                with replacing(path) as partial:
                    write_table(frame, partial)
                written.append(path)
        path = folder / "packets.pcapng"
        if capture:
            with replacing(path) as partial:
                captured = report.write_pcapng(partial)
            if captured:
                written.append(path)
        texts = {"report.json": report.to_json(indent=2)}
        if report.resolved is not None:
            texts["scenario.json"] = json.dumps(report.resolved, indent=2)
        for name, text in texts.items():
            write_atomically(folder / name, text + "\n")
            written.append(folder / name)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None
    return written
