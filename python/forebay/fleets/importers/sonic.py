"""SONiC's config_db.json: each entry of PORT is a port, with `speed` in Mb/s and the buffers of its queues.

Sources: SONiC Configuration Database Manual; YANG models sonic-port (`speed`: Mb/s), sonic-buffer-queue, -queue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer
from forebay.fleets.importers.port_settings import ConfiguredPort, add_port
from forebay.fleets.importers.snmp import document_of
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
    tables = _nested(document_of(file))
    ports = tables.get("PORT") if isinstance(tables, dict) else None
    if not isinstance(ports, dict) or not ports:
        raise FileFault("found no ports in config_db.json; allowed: a table PORT with entries")
    found = Collector()
    lines = _lines(file.text)
    host = _host(tables, file)
    bound = {table: _of_ports(tables.get(table)) for table in _BOUND}
    shared = {table: tables[table] for table in _SHARED if isinstance(tables.get(table), dict)}
    for name, entry in ports.items():
        line = lines.get(name)
        if not isinstance(entry, dict):
            found.reject(line, f"{host} {name}: found {clean(json.dumps(entry))}; allowed: an entry of fields")
            continue
        if entry.get("admin_status") == "down":
            found.reject(line, f"{host} {name}: the interface is disabled; allowed: enabled ones")
            continue
        speed = entry.get("speed")
        if speed is not None and not re.fullmatch(r"[0-9]{1,9}", str(speed)):
            found.reject(line, f"{host} {name}: speed: found {clean(speed)}; allowed: Mb/s")
            continue
        own = {table: entries[name] for table, entries in bound.items() if name in entries}
        # One name for all ports, so that ports with the same buffers are read once.
        of_port = {
            table: {f"Ethernet0|{span}" if span else "Ethernet0": value for span, value in entries.items()}
            for table, entries in own.items()
        }
        text = json.dumps({**shared, **of_port}) if {"BUFFER_QUEUE", "QUEUE"} & set(own) else ""
        shown = json.dumps(
            {"PORT": {name: entry}, **{table: dict(entries) for table, entries in own.items()}}, indent=1
        )
        rate = None if speed is None else f"{speed}Mbps"
        mtu = None if entry.get("mtu") is None else str(entry["mtu"])
        add_port(ConfiguredPort(host, name, "sonic", line, rate, mtu, text, shown[:4000]), found)
    return found.found


def _nested(tables: Any) -> Any:
    """Tables of entries, also of a dump with keys such as "PORT|Ethernet0"."""
    if not isinstance(tables, dict) or not any("|" in name for name in tables):
        return tables
    found: dict[str, Any] = {}
    for name, value in tables.items():
        table, _, key = name.partition("|")
        if key:
            entries = found.setdefault(table, {})
            if isinstance(entries, dict):
                entries[key] = value
        else:
            found[name] = value
    return found


def _lines(text: str) -> Mapping[str, int]:
    """The line of each port in the text."""
    at = text.find('"PORT"') if '"PORT"' in text else text.find('"PORT|')
    found: dict[str, int] = {}
    first = text.count("\n", 0, max(0, at)) + 1
    for number, line in enumerate(text[max(0, at) :].split("\n"), first):
        match = re.match(r'\s*"(?:PORT\|)?(Ethernet[^"|]*)"\s*:', line)
        if match is not None:
            found.setdefault(match[1], number)
    return found


def _host(tables: Mapping[str, Any], file: SourceFile) -> str:
    metadata = tables.get("DEVICE_METADATA")
    local = metadata.get("localhost") if isinstance(metadata, dict) else None
    named = local.get("hostname") if isinstance(local, dict) else None
    if isinstance(named, str) and named and named != "sonic":
        return named
    stem = file.path.stem
    return file.path.parent.name if stem == "config_db" and file.path.parent.name else stem


def _of_ports(table: Any) -> dict[str, dict[str, Any]]:
    """The entries of a table by port and by queues, as in "Ethernet0,Ethernet4|3-4"."""
    found: dict[str, dict[str, Any]] = {}
    for key, entry in table.items() if isinstance(table, dict) else ():
        names, _, span = key.rpartition("|") if "|" in key else (key, "", "")
        for name in names.split(","):
            found.setdefault(name.rpartition("|")[2].strip(), {})[span] = entry
    return found


SONIC = Importer("config_db.json of SONiC", "SONiC Configuration Database Manual", _recognizes, _read)
