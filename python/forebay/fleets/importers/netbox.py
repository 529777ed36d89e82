"""NetBox's interfaces: the CSV of the import form, and the display CSV with other headers. `speed` is in kb/s.

Sources: NetBox, `dcim/models/device_components.py` (`speed`: "Speed (Kbps)"), `dcim/choices.py` (types) and "Export:
current view / all data" of netbox-community/netbox, discussion 16189.
"""

from __future__ import annotations

import re

from forebay.fleets.files import SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer, virtual_type
from forebay.fleets.importers.tables import header_of, rows_of
from forebay.storage.safe_io import clean

__all__ = ["NETBOX"]

_NONE = ("", "—", "-", "None")
_SPEED = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:([KMGT])(?:bps|bit/s|b/s))?", re.IGNORECASE)
#: The speed in a type's name, as in "SFP+ (10GE)" and "1000BASE-T (1GE)", or in its slug, as in "25gbase-x-sfp28".
_TYPE = re.compile(r"\(([0-9.]+)GE\)|^([0-9.]+)gbase|^(100|1000|10)base|\((?:10/)?(100)ME\)", re.IGNORECASE)


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
    rate = None
    if speed not in _NONE:
        number = _SPEED.fullmatch(speed)
        if number is None:
            found.reject(line, f"{where}: speed: found {clean(speed)}; allowed: kb/s, or a rate such as 1 Gbps")
            return
        rate = f"{number[1]}{(number[2] or 'k').lower()}bps"
    mtu = row.get("mtu", "")
    found.add(
        line,
        device=device,
        port=name,
        rate=rate,
        nominal=_nominal(kind),
        mtu=None if mtu in _NONE else mtu,
        role=row.get("device role") or row.get("role"),
    )


def _nominal(kind: str) -> str | None:
    """The rate of a type; None if its name has none."""
    match = _TYPE.search(kind)
    if match is None:
        return None
    giga, slug, mega, hundred = match.groups()
    return f"{giga or slug}Gbps" if giga or slug else f"{mega or hundred}Mbps"


NETBOX = Importer("NetBox interfaces", "NetBox: `speed` in kb/s", _recognizes, _read)
