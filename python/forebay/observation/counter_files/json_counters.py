"""Counters in JSON: gNMI as gnmic and Telegraf write it, Prometheus' range queries, and any other objects.

A number under a known name is a reading, at any depth. Its instant and its port are named beside it or above it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from forebay.errors import InputError
from forebay.observation.counter_files.names import quantity_of
from forebay.observation.counter_files.readings import Readings
from forebay.observation.counter_files.scrapes import port_of_labels
from forebay.observation.json_stream import read_objects
from forebay.observation.timestamps import parse_timestamp

__all__ = ["documents", "read_telemetry"]

MOST_LEVELS = 60
TIMES = ("timestamp", "time", "ts", "@timestamp", "_time")
PORTS = ("interface_name", "interface", "ifName", "ifDescr", "device", "port", "if_name", "ifname", "port_name")
QUEUES = ("queue", "queue_name", "queue-name", "queue_id")
#: The assumption about a series without a name.
_UNNAMED = (
    "numbers of the query are bytes a second that leave the port, as `rate(ifHCOutOctets[5m])` gives them: its answer "
    "has neither a name nor a unit"
)
#: Objects whose entries are of the object that holds them.
LABELS = ("tags", "labels", "metric")

_SPEED = re.compile(r"SPEED_(\d{1,5})(GB|MB)$")
_PORT = re.compile(r"interface\[(?:name|interface-id)=([^\]]{1,100})\]")
_QUEUE = re.compile(r"queue\[name=([^\]]{1,100})\]")


@dataclass(frozen=True, slots=True)
class _Place:
    where: str = ""
    instant: float | None = None
    port: str = ""
    queue: str = ""

    @property
    def name(self) -> str:
        return f"{self.port} queue {self.queue}".strip() if self.queue else self.port


def read_telemetry(text: str, where: str) -> Readings:
    """Read a JSON text, or several one after another.

    Raises
    ------
    InputError
        Where it is none.
    """
    readings = Readings()
    for line, each in documents(text, where):
        _walk(each, _Place(f"{where}, line {line}"), readings, 0)
    return readings


def documents(text: str, where: str) -> Iterator[tuple[int, Any]]:
    """Each object of a JSON text, or of several one after another, with the number of the line where it begins."""
    if text.lstrip().startswith("{"):
        try:
            yield 1, json.loads(text)
        except (ValueError, RecursionError):  # several, or one that is cut
            pass
        else:
            return
    yield from read_objects(iter([text.encode()]), where)


def _walk(node: Any, place: _Place, readings: Readings, level: int) -> None:
    if level > MOST_LEVELS:
        return
    if isinstance(node, list):
        for each in node:
            _walk(each, place, readings, level + 1)
    elif isinstance(node, dict):
        if isinstance(node.get("metric"), dict) and ("values" in node or "value" in node):
            _query(node, readings, place.where)
            return
        here = _placed(node, place)
        for name, value in node.items():
            if isinstance(value, list | dict):
                if name not in LABELS:
                    _walk(value, _by_path(name, here), readings, level + 1)
            elif here.instant is not None and quantity_of(name) is not None and (number := _number(value)) is not None:
                readings.add(_by_path(name, here).name, name, here.instant, number, here.where)
            elif here.instant is not None and (speed := _speed(name, value)) is not None:
                readings.add(_by_path(name, here).name, "speed_bps", here.instant, speed, here.where)


def _placed(node: Mapping[str, Any], place: _Place) -> _Place:
    """Where and when the entries of an object are, by what stands beside them."""
    when = next((found for each in TIMES if (found := _instant(node.get(each))) is not None), None)
    if when is not None:
        place = replace(place, instant=when)
    beside = {**node}
    for each in LABELS:
        if isinstance(node.get(each), dict):
            beside |= node[each]
    port = next((beside[each] for each in PORTS if isinstance(beside.get(each), str)), None)
    if port is None and isinstance(node.get("name"), str) and isinstance(node.get("state"), dict):
        port = node["name"]  # an entry of OpenConfig's list of interfaces
    queue = next((str(beside[each]) for each in QUEUES if isinstance(beside.get(each), str | int)), None)
    place = replace(place, port=port or place.port, queue=queue or place.queue)
    for each in ("prefix", "path", "Path"):
        if isinstance(node.get(each), str):
            place = _by_path(node[each], place)
    return place


def _by_path(path: str, place: _Place) -> _Place:
    port, queue = _PORT.search(path), _QUEUE.search(path)
    return replace(place, port=port[1] if port else place.port, queue=queue[1] if queue else place.queue)


def _speed(name: str, value: Any) -> float | None:
    """A speed in OpenConfig's words, such as SPEED_10GB (openconfig-if-ethernet: ETHERNET_SPEED)."""
    if not isinstance(value, str) or not name.endswith("port-speed"):
        return None
    found = _SPEED.search(value)
    return float(found[1]) * (1e9 if found[2] == "GB" else 1e6) if found else None


def _query(node: Mapping[str, Any], readings: Readings, where: str) -> None:
    """A series of the answer of a range query of Prometheus.

    A series without a name is the answer to an expression. One that falls as often as it rises is a rate; Prometheus'
    exporters count bytes, so that it is one of bytes (prometheus.io, "Metric and label naming": base units).

    Raises
    ------
    InputError
        Where a series without a name may be a counter.
    """
    labels = {str(name): str(value) for name, value in node["metric"].items()}
    name = labels.get("__name__", "")
    pairs = node.get("values", [node.get("value")])
    series = []
    for pair in pairs if isinstance(pairs, list) else []:
        if isinstance(pair, list) and len(pair) == 2:
            when, value = _instant(pair[0]), _number(pair[1])
            if when is not None and value is not None and not math.isnan(value):
                series.append((when, value))
    if not name:
        if not any(after[1] < before[1] for before, after in pairwise(series)):
            raise InputError(
                f"{where}: found a series without a name that never falls: it may be a counter or a rate; allowed: the "
                "counter itself, as in the query `ifHCOutOctets`, or a rate over time, as in "
                "`rate(ifHCOutOctets[5m])`"
            )
        name = "outbytespersecond"
        if _UNNAMED not in readings.assumed:
            readings.assumed.append(_UNNAMED)
    for when, value in series:
        readings.add(port_of_labels(labels), name, when, value, where)


def _instant(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return parse_timestamp(str(value))
    except ValueError:  # more digits than Python prints
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 21 else _real(value)
    except (ValueError, OverflowError):
        return None


def _real(value: float | str) -> float:
    return value if isinstance(value, int) and value < 2**64 else float(value)
