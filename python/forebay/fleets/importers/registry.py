"""The registry of formats, in the order in which they are tried."""

from __future__ import annotations

from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.cisco import CISCO
from forebay.fleets.importers.importer import Importer
from forebay.fleets.importers.junos import JUNOS as JUNOS_TEXT
from forebay.fleets.importers.layouts import fault_of_header
from forebay.fleets.importers.netbox import NETBOX
from forebay.fleets.importers.openconfig import OPENCONFIG
from forebay.fleets.importers.own import CSV, JSON, PARQUET
from forebay.fleets.importers.snmp import IF_MIB, LIBRENMS, LIBRENMS_CSV, PROMETHEUS
from forebay.fleets.importers.sonic import SONIC
from forebay.fleets.importers.tables import header_of

__all__ = ["IMPORTERS", "importer_of"]

#: Formats with marks of their own come before plain tables.
IMPORTERS: tuple[Importer, ...] = (
    PARQUET,
    NETBOX,
    LIBRENMS_CSV,
    PROMETHEUS,
    LIBRENMS,
    SONIC,
    OPENCONFIG,
    JUNOS_TEXT,
    CISCO,
    IF_MIB,
    JSON,
    CSV,
)


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
    if "\0" in file.beginning:
        raise FileFault("found a binary file; allowed: a text or a Parquet file")
    table = header_of(file.beginning)
    fault = None if table is None else fault_of_header(table.names)
    if fault is not None:
        raise FileFault(fault, 1)
    formats = ", ".join(importer.name for importer in IMPORTERS)
    raise FileFault(f"found no format that is known; allowed: {formats}")
