"""The answer of `forebay.audit`: what is wrong in the buffers of a switch, and how its memory is divided.

`switch_reader.py` and `switch_audit.py` make the findings, `switch_memory.py` the sums.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forebay.results.serialization import to_jsonable
from forebay.sanitize import sanitize

__all__ = ["Audit", "Finding", "PoolMemory", "merged"]

#: Findings of one kind that are listed one by one.
MOST_OF_KIND = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or remarkable in a configuration.

    Attributes
    ----------
    kind : str
        Name of the check, such as "below-minimum".
    place : str
        Table and key, such as "BUFFER_PG|Ethernet0|3-4"; the first one if there are several.
    text : str
        Sentence for a reader, with figures.
    lines : tuple of int
        Lines of the file; empty if the finding is about something that the file lacks.
    is_error : bool
        Whether frames may be lost, or the device cannot do what is configured. Otherwise it is a note.
    places : tuple of str
        All places with the same text.
    """

    kind: str
    place: str
    text: str
    lines: tuple[int, ...] = ()
    is_error: bool = True
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", sanitize(self.place))
        object.__setattr__(self, "text", sanitize(self.text))
        object.__setattr__(self, "places", tuple(map(sanitize, self.places)) or (self.place,))

    def __str__(self) -> str:
        more = f" and {len(self.places) - 1} more" if len(self.places) > 1 else ""
        return f"{'error' if self.is_error else 'note'}: {self.place}{more}: {self.text}"


@dataclass(frozen=True, slots=True)
class PoolMemory:
    """The division of an ingress pool.

    Attributes
    ----------
    pool : str
        Name of the pool.
    size : int or None
        Its size in bytes; None if the device computes it.
    reserved : int
        Bytes that priority groups reserve, their own headroom included.
    lossless_groups, lossy_groups : int
        Priority groups of the pool.
    headroom : int
        Sum of `xoff` of all lossless groups, in bytes.
    shared_headroom : int
        Size of the shared headroom pool in bytes; 0 without one.
    unknown : int
        Lossless groups whose headroom is not known, and which are not counted.
    is_net : bool
        Whether the device's software has already subtracted the reservations from `size`.
    has_lossy : bool
        Whether lossy groups use the pool.
    """

    pool: str
    size: int | None
    reserved: int
    lossless_groups: int
    lossy_groups: int
    headroom: int
    shared_headroom: int
    unknown: int = 0
    is_net: bool = False
    has_lossy: bool = False

    @property
    def left(self) -> int | None:
        """Bytes that all groups share, lossy traffic included; None if the size is not known.

        0 if the groups reserve more than the pool has.
        """
        if self.size is None:
            return None
        return self.size if self.is_net else max(0, self.size - self.reserved)

    @property
    def over_subscription(self) -> float | None:
        """Headroom of all groups as a multiple of the shared headroom pool; None without such a pool."""
        return self.headroom / self.shared_headroom if self.shared_headroom else None


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings on the buffers of a switch: the answer of `forebay.audit`.

    Attributes
    ----------
    file : str
        Name of the file.
    findings : tuple of Finding
        Errors first, then notes.
    pools : tuple of PoolMemory
        Ingress pools.
    ports : int
        Ports that the configuration has.
    lossless_ports : int
        Ports with a lossless priority group.
    table : str or None
        Name of the headroom table that was used.
    assumptions : tuple of str
        Values that the file does not have.
    unknown_tables : int
        Tables that are about something else.
    unknown_fields : int
        Fields of known tables that are not known.
    """

    file: str
    findings: tuple[Finding, ...]
    pools: tuple[PoolMemory, ...] = ()
    ports: int = 0
    lossless_ports: int = 0
    table: str | None = None
    assumptions: tuple[str, ...] = ()
    unknown_tables: int = 0
    unknown_fields: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.is_error)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are no errors."""
        return tuple(finding for finding in self.findings if not finding.is_error)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain dictionaries and lists, with `left` of each pool."""
        data: dict[str, Any] = {name: to_jsonable(getattr(self, name)) for name in self.__slots__}
        for pool, entry in zip(self.pools, data["pools"], strict=True):
            entry |= {"left": pool.left, "over_subscription": pool.over_subscription}
        return data

    def to_json(self, indent: int | None = None) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing is wrong"


def merged(findings: Iterable[Finding], order: Iterable[str]) -> tuple[Finding, ...]:
    """Findings with one text as one, the worst first: errors, then notes, each in the order of their kinds.

    Of each kind the first ones are listed, and one line counts the others.
    """
    ranks = {kind: rank for rank, kind in enumerate(order)}
    grouped: dict[tuple[str, str, bool], list[Finding]] = {}
    for finding in findings:
        grouped.setdefault((finding.kind, finding.text, finding.is_error), []).append(finding)
    by_kind: dict[tuple[bool, int, str], list[Finding]] = {}
    for (kind, text, is_error), group in grouped.items():
        places = tuple(dict.fromkeys(place for each in group for place in each.places))
        lines = tuple(dict.fromkeys(line for each in group for line in each.lines))
        found = Finding(kind, group[0].place, text, lines, is_error, places)
        by_kind.setdefault((not is_error, ranks.get(kind, len(ranks)), kind), []).append(found)
    result: list[Finding] = []
    for (is_note, _, kind), group in sorted(by_kind.items(), key=lambda item: item[0]):
        # More places are worse; of equally many the order of the file stays.
        group.sort(key=lambda finding: -len(finding.places))
        result += group[:MOST_OF_KIND]
        if len(group) > MOST_OF_KIND:
            text = f"{len(group) - MOST_OF_KIND:,} more findings of this kind."
            result.append(Finding(kind, group[MOST_OF_KIND].place, text, (), not is_note))
    return tuple(result)
