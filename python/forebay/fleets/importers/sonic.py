"""SONiC's config_db.json: each entry of PORT is a port, with `speed` in Mb/s and the buffers of its queues.

Sources: SONiC Configuration Database Manual; YANG models sonic-port (`speed`: Mb/s), sonic-buffer-queue, -queue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from forebay.fabric.config_tables import ConfigTables, Entry, parse_tables
from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer
from forebay.fleets.importers.port_settings import ConfiguredPort, add_port
from forebay.storage.safe_io import clean

__all__ = ["SONIC"]

_SHARED = ("BUFFER_PROFILE", "BUFFER_POOL", "SCHEDULER", "WRED_PROFILE")
_BOUND = ("BUFFER_QUEUE", "QUEUE", "PORT_QOS_MAP")


def _recognizes(file: SourceFile) -> bool:
    text = file.beginning.lstrip()
    return (
        text.startswith("{")
        and re.search(r'"(?:DEVICE_METADATA|PORT|BUFFER_PROFILE|BUFFER_QUEUE|PORT_QOS_MAP)(?:\|[^"]+)?"\s*:\s*\{', text)
        is not None
    )


def _read(file: SourceFile) -> Found:
    tables = parse_tables(file.text, ("PORT", "DEVICE_METADATA", *_SHARED, *_BOUND))
    found = Collector()
    for fault in tables.faults:
        found.reject(fault.lines[-1] if fault.lines else None, f"{fault.place}: {fault.text}")
    if "PORT" not in tables:
        reason = f" ({tables.faults[-1].text})" if tables.faults else ""
        raise FileFault(f"found no ports in config_db.json{reason}; allowed: a table PORT with entries")
    host = _host(tables, file)
    bound = {name: _of_ports(tables.table(name)) for name in _BOUND}
    shared = {name: {entry.key: entry.fields for entry in tables.table(name)} for name in _SHARED if name in tables}
    for entry in tables.table("PORT"):
        name, fields = entry.key, entry.fields
        if fields.get("admin_status") == "down":
            found.reject(entry.line, f"{host} {name}: the interface is disabled; allowed: enabled ones")
            continue
        speed = fields.get("speed")
        if speed is not None and not re.fullmatch(r"[0-9]{1,9}", speed):
            found.reject(entry.line, f"{host} {name}: speed: found {clean(speed)}; allowed: Mb/s")
            continue
        own = {table: entries[name] for table, entries in bound.items() if name in entries}
        # One name for all ports, so that ports with the same buffers are read once.
        of_port = {
            table: {f"Ethernet0|{span}" if span else "Ethernet0": value for span, value in entries.items()}
            for table, entries in own.items()
        }
        text = json.dumps({**shared, **of_port}) if {"BUFFER_QUEUE", "QUEUE"} & set(own) else ""
        shown = json.dumps({"PORT": {name: fields}, **own}, indent=1)
        rate = None if speed is None else f"{speed}Mbps"
        add_port(
            ConfiguredPort(host, name, "sonic", entry.line, rate, fields.get("mtu"), text, shown[:4000]),
            found,
        )
    return found.found


def _host(tables: ConfigTables, file: SourceFile) -> str:
    local = tables.get("DEVICE_METADATA", "localhost")
    named = "" if local is None else local.fields.get("hostname", "")
    if named and named != "sonic":
        return named
    stem = file.path.stem
    return file.path.parent.name if stem == "config_db" and file.path.parent.name else stem


def _of_ports(table: Iterable[Entry]) -> dict[str, dict[str, Mapping[str, str]]]:
    """The fields of a table by port and by queues, as in "Ethernet0,Ethernet4|3-4"."""
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    for entry in table:
        names, _, span = entry.key.rpartition("|") if "|" in entry.key else (entry.key, "", "")
        for name in names.split(","):
            found.setdefault(name.rpartition("|")[2].strip(), {})[span] = entry.fields
    return found


SONIC = Importer("config_db.json of SONiC", "SONiC Configuration Database Manual", _recognizes, _read)
