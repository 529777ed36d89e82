"""Ports with several classes: which flows of a profile each class carries, and buffers that change together.

A configuration names its classes, and a profile its flows. The buffer of such a port is that of all classes together;
another buffer multiplies the buffer of each class by the same factor, so that their shares stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.fleets.buffer_size import PACKET, Size

__all__ = ["has_classes", "sized", "with_flows"]

#: Marks the buffer of a class: its number and unit at the configured buffer of the whole port.
_PART = re.compile(r"<part ([0-9.e+-]+)([A-Za-z]+) of ([0-9]+[Bp])>")
#: A buffer of a class: a number and its unit.
_AMOUNT = re.compile(r"([0-9.]+) ?([A-Za-z]+)")


def has_classes(text: str) -> bool:
    """Whether a scenario with marks has classes whose buffers change together."""
    return _PART.search(text) is not None


def sized(text: str, size: Size) -> str:
    """A scenario with the buffers of its classes in place of their marks, where the port has this buffer."""

    def part(found: re.Match[str]) -> str:
        number, unit, configured = float(found[1]), found[2], Size.parse(found[3])
        scaled = number * _in_unit(size, configured.unit) / configured.number
        # A limit in packets or bytes is a whole number; a time is not.
        return f"{max(1, round(scaled))}{unit}" if unit in ("p", "B") else f"{scaled:.9g}{unit}"

    return _PART.sub(part, text)


def _in_unit(size: Size, unit: str) -> float:
    """A size in another unit, with packets of 1,500 bytes."""
    if size.unit == unit:
        return size.number
    return size.number * PACKET if unit == "B" else size.number / PACKET


def with_flows(
    queue: Mapping[str, Any], flows: Sequence[str], patterns: Mapping[str, Sequence[str]], size: str | None
) -> Mapping[str, Any]:
    """The table of a discipline whose classes carry the flows of a profile.

    Parameters
    ----------
    queue : mapping
        `link.queue` of the port; without classes it stays as it is.
    flows : sequence of str
        Names of the profile's flow groups.
    patterns : mapping
        Patterns of the names of classes, by flow group. A group is also in a class that has its name or names it.
    size : str or None
        The port's configured buffer, as the text of a `Size`.

    Raises
    ------
    InputError
        If no flow is in a class, and so the profile does not tell what the classes carry.
    """
    if queue.get("kind") != "classes" or not isinstance(queue.get("classes"), list) or size is None:
        return queue
    free = list(flows)
    classes = []
    *named, last = queue["classes"]
    for entry in named:
        mine = [flow for flow in free if _carries(entry, flow, patterns.get(flow, ()))]
        free = [flow for flow in free if flow not in mine]
        if mine:  # a class without traffic changes nothing
            classes.append({**entry, "groups": mine})
    if named and not classes:
        names, flow = ", ".join(str(entry.get("name")) for entry in named), next(iter(flows), "calls")
        raise InputError(
            f"the port has the classes {names}, and the profile puts no flow into them; allowed: a table [classes] as "
            f'in {flow} = ["EF*"], or flows with the names of classes'
        )
    rest = {name: value for name, value in last.items() if name != "groups"}
    return {**queue, "classes": [_marked(entry, size) for entry in (*classes, rest)]}


def _carries(entry: Mapping[str, Any], flow: str, patterns: Sequence[str]) -> bool:
    """Whether a class carries a flow group: it names the group, has its name, or has a name of its patterns."""
    name, groups = str(entry.get("name")).casefold(), entry.get("groups")
    named = isinstance(groups, list) and flow in groups
    return named or name == flow.casefold() or any(fnmatchcase(name, pattern.casefold()) for pattern in patterns)


def _marked(entry: Mapping[str, Any], size: str) -> Mapping[str, Any]:
    """A class with a mark in place of its buffer; classes without a buffer share that of the port."""
    amount = _AMOUNT.fullmatch(str(entry.get("buffer", "")))
    if amount is None:
        return entry
    number, unit = float(amount[1]), amount[2]
    if unit != "p":
        with suppress(InputError):  # a time
            number, unit = _core.parse_quantity(amount[0], "bytes"), "B"
    return {**entry, "buffer": f"<part {number!r}{unit} of {size}>"}
