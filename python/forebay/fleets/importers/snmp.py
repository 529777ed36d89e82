"""Counters of IF-MIB: what snmp_exporter's module `if_mib` shows, answers of Prometheus as JSON, and LibreNMS.

Sources: RFC 2863 (ifHighSpeed in Mb/s, ifSpeed in b/s); prometheus/snmp_exporter at 1d54f35, `generator/generator.yml`
(modules if_mib and system; labels ifIndex, ifName, ifDescr); Prometheus, "HTTP API"; LibreNMS, `doc/API/Ports.md` at
1ee2e8e (ifSpeed in b/s).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer, virtual_type
from forebay.fleets.importers.tables import header_of, rows_of
from forebay.observation.counter_files.scrapes import LABEL, SAMPLE, is_scrape
from forebay.observation.counter_files.speeds import SATURATED
from forebay.storage.safe_io import clean

__all__ = ["IF_MIB", "LIBRENMS", "LIBRENMS_CSV", "PROMETHEUS"]

#: Metrics that are read, by their part in the row of a port.
_METRICS: Mapping[str, str] = {
    **{"ifHighSpeed": "mbps", "ifSpeed": "bps", "ifMtu": "mtu", "ifHCOutOctets": "sent", "ifOutDiscards": "drops"},
    **{"ifHCOutUcastPkts": "packets", "ifAdminStatus": "admin", "ifType": "type", "ifType_info": "type"},
    **{"node_network_speed_bytes": "speed", "node_network_transmit_bytes_total": "sent"},
    **{"node_network_transmit_drop_total": "drops", "node_network_transmit_packets_total": "packets"},
    **{"node_network_mtu_bytes": "mtu"},
}


@dataclass(slots=True)
class _Port:
    """The readings of a port."""

    line: int | None
    values: dict[str, float] = field(default_factory=dict)
    interval: float | None = None
    type: str = ""


class _Ports:
    """Readings by device and port."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.ports: dict[tuple[str, str], _Port] = {}
        self.uptimes: dict[str, float] = {}
        self.found = Collector()

    def take(
        self, labels: Mapping[str, str], name: str, value: float, line: int | None, interval: float | None
    ) -> None:
        """Add a reading of a port."""
        device = device_of(labels) or self.device
        if name in ("sysUpTime", "sysUpTimeInstance"):
            self.uptimes[device] = value / 100
            return
        kind = _METRICS.get(name)
        if kind is None:
            return
        port = next((labels[each] for each in _NAMES if labels.get(each)), "")
        if not port:
            self.found.reject(line, f"{clean(name)}: found no label of the port; allowed: {', '.join(_NAMES)}")
            return
        if math.isnan(value) or value < 0:
            self.found.reject(line, f"{device} {port}: found {value:g} as {name}; allowed: a number, 0 or more")
            return
        reading = self.ports.setdefault((device, port), _Port(line))
        if kind == "type":
            # The type is the value, or a label of a metric whose value is 1.
            reading.type = labels.get("ifType") or f"{value:.0f}"
            return
        reading.values[kind] = value
        if interval is not None and kind in ("sent", "drops", "packets"):
            reading.interval = interval

    def finish(self) -> Found:
        """The ports, and those that are disabled or virtual as rejected rows."""
        for (device, port), reading in self.ports.items():
            values = reading.values
            if values.get("admin", 1) == 2:
                self.found.reject(reading.line, f"{device} {port}: the interface is disabled; allowed: enabled ones")
                continue
            virtual = virtual_type(reading.type)
            if virtual is not None:
                reason = f"{device} {port}: ifType {virtual} has no queue of its own; allowed: physical ports"
                self.found.reject(reading.line, reason)
                continue
            interval = reading.interval or self.uptimes.get(device)
            texts = {
                name: f"{values[name]:.0f}"
                for name in ("sent", "drops", "packets", "mtu")
                if name in values and (name == "mtu" or interval is not None)
            }
            self.found.add(
                reading.line,
                device=device,
                port=port,
                rate=_rate(values),
                interval=None if interval is None else f"{interval:.3f}s",
                **texts,
            )
        return self.found.found


#: Labels that name a port.
_NAMES = ("ifName", "ifDescr", "interface", "device_port", "port", "ifIndex", "device")


def device_of(labels: Mapping[str, str]) -> str:
    """The device of a sample: its label without the port of the exporter."""
    named = next((labels[each] for each in ("hostname", "sysName", "instance", "target") if labels.get(each)), "")
    return re.sub(r"(?<=[^:]):[0-9]{1,5}$", "", named)


def _rate(values: Mapping[str, float]) -> str | None:
    """The rate by ifHighSpeed, else by ifSpeed, which cannot state more than 4.29 Gb/s; None without a speed."""
    if values.get("mbps", 0) > 0:
        return f"{values['mbps']:.0f}Mbps"
    if values.get("speed", 0) > 0:
        return f"{values['speed'] * 8:.0f}bps"
    bits = values.get("bps", 0)
    return f"{bits:.0f}bps" if 0 < bits != SATURATED else None


# Text of an exporter -----------------------------------------------------------------------------------------------


def _is_text(file: SourceFile) -> bool:
    text = file.beginning
    return is_scrape(text) and any(name in text for name in _METRICS)


def _read_text(file: SourceFile) -> Found:
    ports = _Ports(_stem(file))
    for number, line in enumerate(file.lines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        sample = SAMPLE.match(line.strip())
        if sample is None or (sample[1] not in _METRICS and not sample[1].startswith("sysUpTime")):
            continue
        try:
            value = float(sample[3])
        except ValueError:
            ports.found.reject(number, f"{clean(sample[1])}: found {clean(sample[3])}; allowed: a number")
            continue
        ports.take(dict(LABEL.findall(sample[2] or "")), sample[1], value, number, None)
    return ports.finish()


def _stem(file: SourceFile) -> str:
    return file.path.name.split(".")[0]


# Answers of Prometheus ---------------------------------------------------------------------------------------------


def _is_query(file: SourceFile) -> bool:
    text = file.beginning.lstrip()
    return text.startswith("{") and '"resultType"' in text and '"result"' in text


def _read_query(file: SourceFile) -> Found:
    answer = file.document
    data = answer.get("data") if isinstance(answer, dict) else None
    results = data.get("result") if isinstance(data, dict) else None
    if not isinstance(results, list):
        raise FileFault("found an answer of Prometheus without data.result; allowed: status success")
    ports = _Ports(_stem(file))
    for number, entry in enumerate(results, 1):
        labels = entry.get("metric") if isinstance(entry, dict) else None
        pairs = _pairs(entry.get("values", [entry.get("value")]) if isinstance(entry, dict) else [])
        if not isinstance(labels, dict) or not pairs:
            ports.found.reject(None, f"result {number}: found no metric with values; allowed: a vector or a matrix")
            continue
        names = {str(name): str(value) for name, value in labels.items()}
        name = names.get("__name__", "")
        if name not in _METRICS and not name.startswith("sysUpTime"):
            known = ", ".join(list(_METRICS)[:7])
            ports.found.reject(None, f"result {number}: found the metric {clean(name)}; allowed: {known}, ...")
            continue
        counts = _METRICS.get(name) in ("sent", "drops", "packets")
        if counts and len(pairs) > 1:
            # A counter that falls was reset; it then counts from zero (Prometheus, `increase`).
            value = sum(after if after < before else after - before for (_, before), (_, after) in pairwise(pairs))
            ports.take(names, name, value, None, pairs[-1][0] - pairs[0][0])
        else:
            ports.take(names, name, pairs[-1][1], None, None)
    return ports.finish()


def _pairs(values: Any) -> list[tuple[float, float]]:
    found = []
    for pair in values if isinstance(values, list) else []:
        try:
            when, value = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, IndexError, KeyError):
            continue
        if math.isfinite(when) and math.isfinite(value):
            found.append((when, value))
    return found


# LibreNMS ----------------------------------------------------------------------------------------------------------


def _is_librenms(file: SourceFile) -> bool:
    text = file.beginning.lstrip()
    return text.startswith("{") and ('"ports"' in text or '"port"' in text) and '"ifName"' in text


def _read_librenms(file: SourceFile) -> Found:
    answer = file.document
    rows = answer.get("ports", answer.get("port")) if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise FileFault("found no list of ports; allowed: the answer of /api/v0/ports")
    found = Collector()
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            _port_of_librenms({str(name): _plain(value) for name, value in row.items()}, None, file, found)
        else:
            found.reject(None, f"port {number}: found {clean(json.dumps(row))}; allowed: an object")
    return found.found


def _plain(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _is_librenms_csv(file: SourceFile) -> bool:
    table = header_of(file.beginning)
    names = set() if table is None else set(table.names)
    return bool({"ifName", "ifDescr"} & names) and bool({"ifSpeed", "ifHighSpeed"} & names)


def _read_librenms_csv(file: SourceFile) -> Found:
    table = header_of(file.beginning)
    assert table is not None
    found = Collector()
    for part in rows_of(file, table, list(range(len(table.names))), found.rejected):
        for cells in part:
            _port_of_librenms(dict(zip(table.names, cells, strict=False)), int(cells[-1]), file, found)
    return found.found


def _port_of_librenms(row: Mapping[str, str], line: int | None, file: SourceFile, found: Collector) -> None:
    device = row.get("hostname") or row.get("sysName") or row.get("device_id") or _stem(file)
    port = row.get("ifName") or row.get("ifDescr") or ""
    where = f"{device} {port}"
    if row.get("ifAdminStatus") == "down" or row.get("disabled") == "1" or row.get("deleted") == "1":
        found.reject(line, f"{where}: the interface is disabled; allowed: enabled ones")
        return
    kind = virtual_type(row.get("ifType", ""))
    if kind is not None:
        found.reject(line, f"{where}: ifType {kind} has no queue of its own; allowed: physical ports")
        return
    values = {}
    for name, key in (("ifHighSpeed", "mbps"), ("ifSpeed", "bps"), ("ifOutOctets_rate", "octets")):
        text = row.get(name, "").strip()
        if not text:
            continue
        try:
            values[key] = float(text)
        except ValueError:
            found.reject(line, f"{where}: {name}: found {clean(text)}; allowed: a number")
            return
    octets = values.get("octets")
    # A rate of bytes per second is the bytes of one second.
    counted = {} if octets is None or not math.isfinite(octets) else {"sent": f"{octets:.0f}", "interval": "1s"}
    found.add(line, device=device, port=port, rate=_rate(values), mtu=row.get("ifMtu") or None, **counted)


IF_MIB = Importer(
    "Prometheus text (snmp_exporter, node_exporter)", "RFC 2863; snmp_exporter at 1d54f35", _is_text, _read_text
)
PROMETHEUS = Importer("answer of Prometheus (JSON)", "Prometheus, 'HTTP API'", _is_query, _read_query)
LIBRENMS = Importer("LibreNMS ports (JSON)", "LibreNMS, doc/API/Ports.md at 1ee2e8e", _is_librenms, _read_librenms)
LIBRENMS_CSV = Importer(
    "LibreNMS ports (CSV)", "columns of LibreNMS, doc/API/Ports.md", _is_librenms_csv, _read_librenms_csv
)
