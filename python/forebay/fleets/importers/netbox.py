"""NetBox's interfaces: the CSV of the import form, and the display CSV with other headers. `speed` is in kb/s.

Sources: NetBox, `dcim/models/device_components.py` (`speed`: "Speed (Kbps)"), `dcim/choices.py` (types) and "Export:
current view / all data" of netbox-community/netbox, discussion 16189.
"""

from __future__ import annotations

from forebay.fleets.files import SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer, virtual_type
from forebay.fleets.importers.tables import header_of, rows_of
from forebay.observation.inputs.netbox import NONE, nominal_bits, stated_bits
from forebay.storage.safe_io import clean

__all__ = ["NETBOX"]


def _recognizes(file: SourceFile) -> bool:
    table = header_of(file.beginning)
    names = {} if table is None else {name.lower() for name in table.names}
    speed = {"speed", "speed (kbps)", "enabled"}
    return {"device", "name", "type"} <= set(names) and bool(speed & set(names))


def _read(file: SourceFile) -> Found:
    table = header_of(file.beginning)
    assert table is not None
    places = {name.lower(): place for place, name in enumerate(table.names)}
    wanted = list(places.values())
    found = Collector()
    for part in rows_of(file, table, wanted, found.rejected):
        for cells in part:
            row = {name: cells[at].strip() for at, name in enumerate(places)}
            _interface(row, int(cells[-1]), found)
    return found.found


def _interface(row: dict[str, str], line: int, found: Collector) -> None:
    device, name, kind = row["device"], row["name"], row["type"]
    where = f"{device} {name}"
    if row.get("enabled", "").lower() in ("false", "no", "0", "✘"):
        found.reject(line, f"{where}: the interface is disabled; allowed: enabled ones")
        return
    if virtual_type(kind) is not None:
        found.reject(line, f"{where}: the type {clean(kind)} has no queue of its own; allowed: physical interfaces")
        return
    speed = row.get("speed (kbps)") or row.get("speed") or ""
    stated = None if speed in NONE else stated_bits(speed)
    if stated is None and speed not in NONE:
        found.reject(line, f"{where}: speed: found {clean(speed)}; allowed: kb/s, or a rate such as 1 Gbps")
        return
    nominal = nominal_bits(kind)
    mtu = row.get("mtu", "")
    found.add(
        line,
        device=device,
        port=name,
        rate=None if stated is None else f"{stated:.0f}bps",
        nominal=None if nominal is None else f"{nominal:.0f}bps",
        mtu=None if mtu in NONE else mtu,
        role=row.get("device role") or row.get("role"),
    )


NETBOX = Importer("NetBox interfaces", "NetBox: `speed` in kb/s", _recognizes, _read)
