"""NetBox's table of interfaces, as "Export: current view" and "all data" write it: speeds of ports, and nothing else.

For an interface without a speed, its type tells the highest speed.
"""

from __future__ import annotations

import csv
import io
import re

from forebay.errors import InputError
from forebay.observation.counter_files.readings import Readings
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, Yields
from forebay.storage.safe_io import clean

__all__ = ["INTERFACES", "NONE", "nominal_bits", "stated_bits"]

#: Texts of an empty cell.
NONE = ("", "—", "-", "None")

_UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SPEED = re.compile(r"([\d.,]+)\s*([KMGT])?(?:bps|bit/s|b/s|bit|ps)?$", re.IGNORECASE)
#: The speed in a type's name, as in "SFP+ (10GE)", "1000BASE-T (1GE)", or in its slug, as in "25gbase-x-sfp28".
_TYPE = re.compile(r"\(([\d.]+)GE\)|^([\d.]+)gbase|^(10|100|1000)base|\((10/)?(100)ME\)", re.IGNORECASE)


def _recognizes(head: Head) -> bool:
    names = {each.lower() for each in head.columns}
    return not head.is_json and "name" in names and "type" in names and (
        "speed" in names or "speed (kbps)" in names or {"device", "enabled"} <= names
    )  # fmt: skip


def read_interfaces(text: str, where: str) -> Readings:
    """Read the table.

    Raises
    ------
    InputError
        Where a speed is none.
    """
    readings = Readings()
    rows = csv.reader(io.StringIO(text))
    try:
        names = [each.strip().lower() for each in next(rows, [])]
        for cells in rows:
            if len(cells) >= 2:
                row = dict(zip(names, cells, strict=False))
                _interface(row, readings, f"{where}, line {rows.line_num}")
    except csv.Error as error:
        raise InputError(f"{where}, line {rows.line_num}: found no CSV ({error}); allowed: NetBox's CSV") from None
    return readings


def _interface(row: dict[str, str], readings: Readings, place: str) -> None:
    name = row.get("name", "").strip()
    device = row.get("device", "").strip()
    port = f"{device} {name}".strip()
    if not name:
        return
    text = next((row[each].strip() for each in ("speed (kbps)", "speed") if row.get(each, "").strip()), "")
    if text not in NONE:
        speed = stated_bits(text)
        if speed is None:
            raise InputError(f"{place}: found the speed {clean(text)}; allowed: kbit/s, or such as `1 Gbps`")
        readings.add(port, "speed_bps", 0.0, speed, place)
        return
    nominal = nominal_bits(row.get("type", ""))
    if nominal is not None:
        readings.add(port, "speed_bps", 0.0, nominal, place)
        readings.nominal.add(port)


def nominal_bits(kind: str) -> float | None:
    """The highest speed of a type in bit/s; None if its name states none."""
    found = _TYPE.search(kind)
    if found is None:
        return None
    giga, slug, mega, _, hundred = found.groups()
    return float(giga or slug or 0) * 1e9 or float(mega or hundred) * 1e6


def stated_bits(text: str) -> float | None:
    """Bit/s of "1 Gbps", or of a number, which NetBox has in kbit/s; None if it is no speed."""
    found = _SPEED.match(text)
    try:
        number = float(found[1].replace(",", "")) if found is not None else -1.0
    except ValueError:
        number = -1.0
    if found is None or number <= 0:
        return None
    return number * (_UNITS[found[2].lower()] if found[2] else 1e3)


INTERFACES = CounterInput("NetBox's interfaces", _recognizes, (Yields.SPEED,), read_interfaces)
