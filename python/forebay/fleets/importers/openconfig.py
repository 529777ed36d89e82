"""OpenConfig in JSON: interfaces with their speeds, and the buffers and WRED of `openconfig-qos`.

Sources: openconfig/public at 94f5896: openconfig-interfaces, openconfig-if-ethernet (identities SPEED_10GB) and
openconfig-qos-mem-mgmt 2.2.0 (`dedicated-buffer` in bytes, `dedicated-buffer-temporal` in microseconds, thresholds of
WRED in bytes or percent, `weight` n of 2^-n, `max-drop-probability-percent`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer, virtual_type
from forebay.storage.safe_io import clean

__all__ = ["OPENCONFIG"]


class _Unread(Exception):  # noqa: N818 - becomes a rejected row
    """A queue that the columns cannot express."""


def _recognizes(file: SourceFile) -> bool:
    text = file.beginning.lstrip()
    named = re.search(r'"(?:openconfig-(?:interfaces:|qos:)?(?:interfaces|qos)|interfaces|qos)"\s*:\s*\{', text)
    return text.startswith("{") and named is not None and ("openconfig" in text or '"config"' in text)


def _bare(value: Any) -> Any:
    """The value without the names of modules before its keys."""
    if isinstance(value, dict):
        return {str(key).rpartition(":")[2]: _bare(each) for key, each in value.items()}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _items(value: Any) -> Iterator[dict[str, Any]]:
    yield from (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def _leaf(entry: Any, name: str) -> Any:
    """A leaf of `config`, else of `state`."""
    found = _at(entry, "config", name)
    return _at(entry, "state", name) if found is None else found


@dataclass(frozen=True, slots=True)
class _Model:
    """The lists of a device by their keys."""

    buffers: Mapping[str, Any]
    management: Mapping[str, Any]
    ports: Mapping[str, Any]


def _read(file: SourceFile) -> Found:
    tree = _bare(file.document)
    interfaces = _at(tree, "interfaces", "interface")
    if not isinstance(interfaces, list) or not interfaces:
        raise FileFault("found no interfaces in OpenConfig; allowed: /interfaces beside /qos")
    qos = _at(tree, "qos")
    model = _Model(
        _by_name(_at(qos, "buffer-allocation-profiles", "buffer-allocation-profile"), "name"),
        _by_name(_at(qos, "queue-management-profiles", "queue-management-profile"), "name"),
        _by_name(_at(qos, "interfaces", "interface"), "interface-id"),
    )
    host = _leaf(_at(tree, "system"), "hostname")
    found = Collector()
    device = host if isinstance(host, str) and host else file.path.stem
    for interface in _items(interfaces):
        _port(device, interface, model, found)
    return found.found


def _by_name(entries: Any, key: str) -> dict[str, Any]:
    return {str(each.get(key) or _leaf(each, key)): each for each in _items(entries)}


def _port(device: str, interface: Mapping[str, Any], model: _Model, found: Collector) -> None:
    name = str(interface.get("name") or _leaf(interface, "name") or "")
    where = f"{device} {name}"
    if _leaf(interface, "enabled") is False:
        found.reject(None, f"{where}: the interface is disabled; allowed: enabled ones")
        return
    kind = virtual_type(str(_leaf(interface, "type") or "").rpartition(":")[2])
    if kind is not None:
        found.reject(None, f"{where}: the type {kind} has no queue of its own; allowed: ethernetCsmacd")
        return
    ethernet = interface.get("ethernet")
    speed = str(_leaf(ethernet, "port-speed") or _leaf(ethernet, "negotiated-port-speed") or "")
    rate = re.search(r"SPEED_([0-9]{1,5})(GB|MB)$", speed)
    mtu = _leaf(interface, "mtu")
    try:
        buffer, queue = _queue(model.ports.get(name), model)
    except _Unread as error:
        found.reject(None, f"{where}: {error}")
        return
    found.add(
        None,
        device=device,
        port=name,
        rate=None if rate is None else f"{rate[1]}{rate[2][0]}bps",
        mtu=None if mtu is None else str(mtu),
        buffer=buffer,
        queue=queue,
    )


def _queue(port: Any, model: _Model) -> tuple[str | None, str | None]:
    """The buffer and the discipline of a port, which has one queue with settings."""
    output = _at(port, "output")
    profile = _leaf(output, "buffer-allocation-profile") or _leaf(output, "unicast-buffer-allocation-profile")
    queues = list(_items(_at(model.buffers.get(str(profile)), "queues", "queue")))
    named = list(_items(_at(output, "queues", "queue")))
    if profile is not None and str(profile) not in model.buffers:
        raise _Unread(f"buffer: found no profile {clean(profile)}; allowed: one of buffer-allocation-profiles")
    if max(len(queues), len(named)) > 1:
        raise _Unread(
            f"buffer: found {max(len(queues), len(named))} queues; allowed: one, as their shares are not read"
        )
    buffer = _buffer(queues[0]) if queues else None
    management = _leaf(named[0], "queue-management-profile") if named else None
    if management is None:
        return buffer, None
    if str(management) not in model.management:
        raise _Unread(f"queue: found no profile {clean(management)}; allowed: one of queue-management-profiles")
    return buffer, _red(model.management[str(management)])


def _buffer(queue: Mapping[str, Any]) -> str | None:
    """The limit of a queue: its dedicated buffer, and its static limit in the shared memory in addition."""
    limit = str(_leaf(queue, "shared-buffer-limit-type") or "").rpartition(":")[2]
    if limit == "DYNAMIC_BASED_ON_SCALING_FACTOR":
        raise _Unread("buffer: found a limit that depends on the free memory; allowed: a static limit")
    sizes = [_number(queue, name) for name in ("dedicated-buffer", "static-shared-buffer-limit")]
    times = [_number(queue, f"{name}-temporal") for name in ("dedicated-buffer", "static-shared-buffer-limit")]
    if any(each is not None for each in sizes) and any(each is not None for each in times):
        raise _Unread("buffer: found bytes and microseconds of one queue; allowed: one of them")
    if any(each is not None for each in times):
        return f"{sum(each or 0 for each in times)} us"
    return f"{sum(each or 0 for each in sizes)} B" if any(each is not None for each in sizes) else None


def _number(entry: Any, name: str) -> int | None:
    """A whole number; JSON of YANG writes those of 64 bits as texts (RFC 7951)."""
    value = _leaf(entry, name)
    if value is None:
        return None
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)):
        raise _Unread(f"{name}: found {clean(value)}; allowed: a whole number")
    return int(value)


def _red(profile: Any) -> str:
    """WRED of all packets as the table of a scenario."""
    entry = _at(profile, "wred", "uniform") or _at(profile, "red", "uniform")
    levels = []
    for name in ("min", "max"):
        size, percent = _number(entry, f"{name}-threshold"), _number(entry, f"{name}-threshold-percent")
        if (size is None) == (percent is None):
            raise _Unread(f"queue: found no {name}-threshold; allowed: bytes or percent")
        levels.append(f"{size}B" if size is not None else f"{percent}%")
    parts = [f'kind = "red", min = "{levels[0]}", max = "{levels[1]}"']
    chance, weight = _number(entry, "max-drop-probability-percent"), _number(entry, "weight")
    if chance is not None:
        parts.append(f"max_p = {chance / 100:g}")
    if weight is not None:
        parts.append(f"weight = {2.0**-weight!r}")
    return f"{{ {', '.join([*parts, 'gentle = false, wait = false'])} }}"


OPENCONFIG = Importer("OpenConfig (JSON)", "openconfig/public at 94f5896", _recognizes, _read)
