"""The registry of formats, in the order in which they are tried."""

from __future__ import annotations

from forebay.fleet.files import FileFault, SourceFile
from forebay.fleet.importers.importer import Importer
from forebay.fleet.importers.own import CSV, JSON, PARQUET

__all__ = ["IMPORTERS", "importer_of"]

#: Formats with marks of their own come before plain tables.
IMPORTERS: tuple[Importer, ...] = (PARQUET, CSV, JSON)


def importer_of(file: SourceFile) -> Importer:
    """The importer of a file.

    Raises
    ------
    FileFault
        If no importer recognizes the file.
    """
    if file.is_parquet:
        return PARQUET
    assert file.beginning
    for importer in IMPORTERS:
        if importer is not PARQUET and importer.recognizes(file):
            return importer
    formats = ", ".join(importer.name for importer in IMPORTERS)
    raise FileFault(f"found no format that is known; allowed: {formats}")
