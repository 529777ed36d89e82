"""Input of iproute2's JSON: `tc -s -j qdisc` and `ip -s -j link`, printed once or repeatedly with dates between.

One print tells a shaper's rate, a queue's kind and limit, and the counts sent and dropped since it began. Several
prints tell the load. Keys are those of iproute2's `tc_qdisc.c`, `q_*.c` and `ipaddress.c`; rates of shapers are in
bytes a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from forebay.errors import InputError
from forebay.observation.counter_files.readings import Readings, Shaper
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, RefusedInput, Yields
from forebay.observation.timestamps import parse_timestamp
from forebay.storage.safe_io import clean

__all__ = ["LINK", "LINK_TEXT", "QDISC", "QDISC_TEXT"]

#: Disciplines that only share out: what waits, waits in their leaves.
_SHARED = frozenset(("mq", "mqprio", "multiq", "prio", "noqueue", "ingress", "clsact"))
_HOW = "`while sleep 10; do date +%s; {}; done` for a load over time"


def _is_qdisc(head: Head) -> bool:
    return _is_dump(head) and {"kind", "handle"} <= set(head.keys)


def _is_link(head: Head) -> bool:
    return _is_dump(head) and {"ifname", "link_type"} <= set(head.keys)


def _is_dump(head: Head) -> bool:
    return head.is_json or any(line.lstrip().startswith("[{") for line in head.lines[:3])


def _is_qdisc_text(head: Head) -> bool:
    return re.search(r"^qdisc \w+ [0-9a-f]+: ", head.text, re.MULTILINE) is not None


def _is_link_text(head: Head) -> bool:
    return re.search(r"^\d+: \S+: <[A-Z_,-]+> mtu ", head.text, re.MULTILINE) is not None


def read_qdiscs(text: str, where: str) -> Readings:
    """Read prints of `tc -s -j qdisc`.

    Raises
    ------
    InputError
        Where a number is none.
    """
    readings = Readings()
    for when, place, entries in _prints(text, where, "tc -s -j qdisc"):
        found = [each for each in entries if isinstance(each, dict) and "kind" in each]
        for port in dict.fromkeys(str(each.get("dev", "")) for each in found):
            mine = [each for each in found if str(each.get("dev", "")) == port]
            _device(port, mine, when, readings, place)
    if not readings.ports:
        raise InputError(f"{where}: found no queue discipline with statistics; allowed: `tc -s -j qdisc`")
    return readings


def _device(port: str, found: list[dict[str, Any]], when: float, readings: Readings, place: str) -> None:
    """A device's root counts what was sent; its drops are those of all disciplines, each of its own."""
    roots = [each for each in found if each.get("root")] or found[:1]
    root = roots[0]
    if root["kind"] in ("noqueue", "ingress", "clsact"):
        return
    # Classful disciplines count drops of their leaves too (qdisc_tree_reduce_backlog).
    _count(root, "bytes", "tx_bytes", port, when, readings, place)
    _count(root, "packets", "tx_packets", port, when, readings, place)
    _count(root, "drops", "tx_drops", port, when, readings, place)
    _count(root, "backlog", "backlog_bytes", port, when, readings, place)
    readings.shapers[port] = _shaper(root, found, place)


def _count(
    entry: Mapping[str, Any], key: str, name: str, port: str, when: float, readings: Readings, place: str
) -> None:
    value = entry.get(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{place}: found {clean(value)} for {clean(key)}; allowed: a number from 0 on")
    readings.add(port, name, when, value, place)


def _shaper(root: Mapping[str, Any], found: list[dict[str, Any]], place: str) -> Shaper:
    """The rate of the shaper at the root, and the discipline and limit of the only queue behind it."""
    options = _options(root)
    rate = options.get("rate", options.get("bandwidth"))
    leaves = [each for each in found if each.get("kind") not in _SHARED and each is not root]
    queue = leaves[0] if len(leaves) == 1 else root if not leaves and root["kind"] not in _SHARED else None
    limit = _options(queue).get("limit") if queue is not None else None
    kind = str(queue["kind"]) if queue is not None else ""
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        rate = None
    if rate is not None and not 0 < rate < 1e14:
        raise InputError(f"{place}: found {clean(rate)} for `rate`; allowed: bytes a second")
    return Shaper(
        rate_bps=None if rate is None else rate * 8.0,
        kind=kind,
        limit=float(limit) if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0 else None,
        in_bytes=kind in ("bfifo", "tbf", "red", "sfb", "gred"),
    )


def _options(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    options = entry.get("options")
    return options if isinstance(options, dict) else {}


def read_links(text: str, where: str) -> Readings:
    """Read prints of `ip -s -j link`.

    Raises
    ------
    InputError
        Where a number is none, or statistics are missing.
    """
    readings = Readings()
    for when, place, entries in _prints(text, where, "ip -s -j link"):
        for each in entries:
            if not isinstance(each, dict) or each.get("link_type") == "loopback":
                continue
            port = str(each.get("ifname", ""))
            statistics = each.get("stats64") or each.get("stats")
            for side, ours in (("tx", "tx"), ("rx", "rx")):
                counts = statistics.get(side) if isinstance(statistics, dict) else None
                if isinstance(counts, dict):
                    _count(counts, "bytes", f"{ours}_bytes", port, when, readings, place)
                    _count(counts, "packets", f"{ours}_packets", port, when, readings, place)
                    _count(counts, "dropped", f"{ours}_dropped", port, when, readings, place)
    if not readings.ports:
        raise InputError(f"{where}: found links without statistics; allowed: `ip -s -j link`")
    return readings


def _prints(text: str, where: str, command: str) -> Iterator[tuple[float, str, list[Any]]]:
    """Each print: when, its place, and its entries. Several have dates between them."""
    decoder = json.JSONDecoder()
    at, when, number = 0, None, 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if line[:1] in ("[", "{"):
            place = f"{where}, line {text.count(chr(10), 0, at) + 1}"
            begin = at + (len(text[at:end]) - len(text[at:end].lstrip()))
            try:
                found, at = decoder.raw_decode(text, begin)
            except (ValueError, RecursionError):
                raise InputError(f"{place}: found no JSON; allowed: what `tc -s -j` or `ip -s -j` prints") from None
            number += 1
            if number > 1 and when is None:
                raise InputError(f"{place}: found another print without a date before it; allowed: "
                                 f"{_HOW.format(command)}")  # fmt: skip
            yield (float(number) if when is None else when), place, found if isinstance(found, list) else [found]
        else:
            dated = parse_timestamp(line.lstrip("# "))
            when = dated if dated is not None else when
            at = end + 1


_YIELDS = (Yields.COUNTERS, Yields.DROPS)
QDISC = CounterInput("`tc -s -j qdisc`", _is_qdisc, (*_YIELDS, Yields.SPEED, Yields.QUEUE), read_qdiscs)
LINK = CounterInput("`ip -s -j link`", _is_link, _YIELDS, read_links)
QDISC_TEXT = RefusedInput(
    "`tc qdisc` without -j", _is_qdisc_text, (), "use `tc -s -j qdisc`; " + _HOW.format("tc -s -j qdisc")
)
LINK_TEXT = RefusedInput("`ip link` without -j", _is_link_text, (), "use " + _HOW.format("ip -s -j link"))
