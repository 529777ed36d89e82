"""Reads one port of SONiC's config_db.json: buffers and schedulers of its queues, its shaper, and WRED.

`sonic.py` has the platform and writes the same tables. `forebay.fabric.switch_audit` audits a whole switch.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from forebay.configuration.lossless import Lossless
from forebay.configuration.platforms.platform import Assumed, Reading
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Port, Queue, TrafficClass
from forebay.configuration.reading import Mistake, closest, foreign, integer, json_text, signed

__all__ = ["read_port"]

_COLORS = ("green", "yellow", "red")
#: Known fields of each table, including those that do not affect the simulation.
_FIELDS: Mapping[str, frozenset[str]] = {
    "BUFFER_POOL": frozenset(("type", "mode", "size", "xoff", "percentage")),
    "BUFFER_PROFILE": frozenset(
        (
            "pool",
            "size",
            "static_th",
            "dynamic_th",
            "xon",
            "xoff",
            "xon_offset",
            "headroom_type",
            "packet_discard_action",
        )
    ),
    "BUFFER_QUEUE": frozenset(("profile",)),
    "QUEUE": frozenset(("scheduler", "wred_profile")),
    "SCHEDULER": frozenset(("type", "weight", "priority", "meter_type", "cir", "cbs", "pir", "pbs")),
    "WRED_PROFILE": frozenset(
        [
            *("ecn", "wred_green_enable", "wred_yellow_enable", "wred_red_enable"),
            *(
                f"{color}_{what}"
                for color in _COLORS
                for what in ("min_threshold", "max_threshold", "drop_probability")
            ),
        ]
    ),
}


def read_port(text: str, assumed: Assumed) -> Reading:
    """Read a config_db.json, a part of it, or a profile's field alone; an `InputError` names what is wrong."""
    tables = _tables(text)
    if not any(isinstance(value, dict) for value in tables.values()):
        tables = {"BUFFER_PROFILE": {"profile": tables}}
    reader = _Reader(tables, assumed)
    others = [f"table {name}" for name in tables if name not in (*_FIELDS, *_READ, *_MAPS)]
    port = reader.reading()
    return dataclasses.replace(
        port,
        skipped=(*reader.skipped, *others),
        unknown=tuple(dict.fromkeys(reader.unknown)),
        unsimulated=tuple(dict.fromkeys(reader.unsimulated)),
    )


#: Tables that are read with any fields.
_MAPS = ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP")
_READ = ("BUFFER_QUEUE", "BUFFER_PG", "QUEUE", "PORT_QOS_MAP")


def _kind(value: object) -> str:
    """The type of a JSON value, in words."""
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _tables(text: str) -> dict[str, Any]:
    bare = text.strip()
    allowed = 'a config_db.json, or a field such as "static_th": "96000"'
    if not bare:
        raise Mistake("nothing", allowed).error()
    found = json_text(bare if bare.startswith("{") else "{" + bare.rstrip(",") + "}", allowed)
    if not isinstance(found, dict):
        raise Mistake("a list", "an object").error()
    return found


@dataclass(slots=True)
class _Reader:
    """A reader of the tables of one port."""

    tables: Mapping[str, Any]
    assumed: Assumed
    how: list[str] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)
    unknown: list[str] = dataclasses.field(default_factory=list)
    unsimulated: list[str] = dataclasses.field(default_factory=list)
    port: str = ""
    numbers: list[int] = dataclasses.field(default_factory=list)

    def reading(self) -> Reading:
        self._check()
        queues = self._queues()
        lossless = self._lossless(alone=len(queues) == 1 and queues[0][2] is None)
        rate, layer = self._rate() or self.assumed.rate, "l3"
        if rate is None and self.assumed.interface is not None and (speed := self._speed()) is not None:
            rate, layer = speed, "l1"
        # With a dynamic threshold, the pool is the limit.
        memory = self._pool(queues[0][0]) if queues and "static_th" in queues[0][0] else None
        if len(queues) == 1 and queues[0][2] is None:
            profile, wred, _ = queues[0]
            sharing = self._sharing(profile, wred)
            queue = self._queue(profile, wred) if sharing is None else sharing[0]
            port = Port(rate, self.assumed.packet, queue, layer, memory, lossless=lossless)
            if sharing is not None:
                _, alpha, reserved = sharing
                port = dataclasses.replace(port, memory=queue.limit, memory_alpha=alpha, memory_reserved=reserved)
            return Reading(port, tuple(self.how))
        each_queue = [self._queue(profile, wred) for profile, wred, _ in queues]
        schedulers = [entry or {} for _, _, entry in queues]
        classes = []
        turns: set[Literal["wrr", "dwrr"]] = set()
        for number, (scheduler, queue) in enumerate(zip(schedulers, each_queue, strict=True)):
            kind, weight = str(scheduler.get("type", "WRR")), float(self._number(scheduler, "weight", 1))
            if kind not in ("STRICT", "WRR", "DWRR"):
                raise Mistake(
                    f"`{kind}`", "STRICT, WRR, DWRR", closest(kind.lower(), ("strict", "wrr", "dwrr")).upper()
                ).error()
            if kind != "STRICT":
                turns.add("dwrr" if kind == "DWRR" else "wrr")
            first = kind == "STRICT"
            classes.append(TrafficClass(f"queue{self.numbers[number]}", (), 1.0 if first else weight, queue, first))
        if len(turns) > 1:
            raise Mistake("queues of WRR and of DWRR", "one of them for all that take turns").error()
        if not turns:
            classes = [dataclasses.replace(entry, priority=False) for entry in classes]
        found = Classes(turns.pop() if turns else "strict", tuple(classes))
        return Reading(
            Port(rate, self.assumed.packet, found, layer, memory), (*self.how, "the highest queue goes first")
        )

    def _check(self) -> None:
        """Refuse misspelled fields and tables, and skip fields that resemble no known one."""
        if "BUFFER_PROFILE" not in self.tables and "QUEUE" not in self.tables:
            likely = closest("BUFFER_PROFILE".lower(), [name.lower() for name in self.tables]).upper()
            found = f"`{likely}`" if likely else "no BUFFER_PROFILE"
            raise Mistake(found, "a table BUFFER_PROFILE", "BUFFER_PROFILE" if likely else "").error()
        for table in dict.fromkeys((*_FIELDS, *_READ)):
            entries = self.tables.get(table, {})
            if not isinstance(entries, dict):
                raise Mistake(f"{table} as {_kind(entries)}", "a table of entries by name, {...}").error()
            for name, entry in entries.items():
                if not isinstance(entry, dict):
                    raise Mistake(f"{table}|{name} as {_kind(entry)}", "an entry of fields, {...}").error()
        for table, fields in _FIELDS.items():
            for name, entry in self.tables.get(table, {}).items():
                for field in entry:
                    if foreign(field, fields):
                        self.skipped.append(f"{table}|{name}: {field}")
                    elif field not in fields:
                        suggestion = closest(field, fields)
                        allowed = ", ".join(sorted(fields))
                        raise Mistake(f"`{field}` in {table}|{name}", allowed, suggestion).error()

    def _queues(self) -> list[tuple[Mapping[str, Any], Mapping[str, Any] | None, Mapping[str, Any] | None]]:
        """Profile, WRED profile and scheduler of every queue of one port, the highest queue first."""
        profiles = self.tables.get("BUFFER_PROFILE", {})
        # A part of the file without buffers may still have schedulers and marking.
        bound = self._of_ports("BUFFER_QUEUE" if profiles else "QUEUE")
        if not bound:
            egress = [name for name, entry in profiles.items() if "xon" not in entry]
            if len(egress) != 1:
                raise Mistake(
                    f"{len(egress)} profiles bound to no queue", "a table BUFFER_QUEUE, or one profile"
                ).error()
            self.numbers = [0]
            return [(profiles[egress[0]], None, None)]
        settings = self._of_ports("QUEUE")
        port = self.assumed.interface or next(iter(bound))
        if port not in bound:
            few = ", ".join([*list(bound)[:5], *(["..."] if len(bound) > 5 else [])])
            raise Mistake(f"no queue of `{port}`", few, closest(port, list(bound)[:1000])).error()
        self.port = port
        if len(bound) > 1 and self.assumed.interface is None:
            self.how.append(f"{port} of {len(bound)} ports")
        found = []
        self.numbers = sorted(bound[port], reverse=True)
        for number in self.numbers:
            setting = settings.get(port, {}).get(number, {})
            wred = self._referred("WRED_PROFILE", setting.get("wred_profile"))
            scheduler = self._referred("SCHEDULER", setting.get("scheduler"))
            profile = self._referred("BUFFER_PROFILE", bound[port][number].get("profile")) if profiles else {}
            found.append((profile or {}, wred, scheduler))
        return found

    def _of_ports(self, table: str) -> dict[str, dict[int, Mapping[str, Any]]]:
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        for key, entry in self.tables.get(table, {}).items():
            names, _, numbers = key.rpartition("|")
            first, _, last = numbers.partition("-")
            try:
                span = range(integer(first, "a queue", most=19), integer(last or first, "a queue", most=19) + 1)
            except Mistake as mistake:
                raise Mistake(
                    f"{mistake.found} in {table}|{key}", "a port and queues, as in Ethernet0|0-2"
                ).error() from None
            for name in names.split(","):
                for number in span:
                    found.setdefault(name, {})[number] = entry
        return found

    def _referred(self, table: str, name: Any) -> Mapping[str, Any] | None:
        """An entry by its name, in the current form or in the form before 2021, "[TABLE|name]"."""
        if name is None:
            return None
        bare_text = str(name).strip("[]").rpartition("|")[2]
        entries = self.tables.get(table, {})
        if bare_text not in entries:
            raise Mistake(f"`{name}`, which {table} has not", ", ".join(entries), closest(bare_text, entries)).error()
        entry: Mapping[str, Any] = entries[bare_text]
        return entry

    def _number(self, entry: Mapping[str, Any], field: str, default: int | None = None) -> int:
        if field not in entry and default is not None:
            return default
        text = str(entry.get(field, ""))
        try:
            # Only a power of two may be negative.
            return signed(text) if field == "dynamic_th" else integer(text)
        except Mistake as mistake:
            raise mistake.with_name(field).error() from None

    def _rate(self) -> int | None:
        """The port's shaper, or that of its only queue."""
        ports = [entry.get("scheduler") for entry in self.tables.get("PORT_QOS_MAP", {}).values()]
        queues = [entry.get("scheduler") for entry in self.tables.get("QUEUE", {}).values()]
        for name in (*ports, *(queues if len(queues) == 1 else ())):
            scheduler = self._referred("SCHEDULER", name) or {}
            if "pir" in scheduler and scheduler.get("meter_type", "bytes") == "bytes":
                return self._number(scheduler, "pir") * 8
        return None

    def _speed(self) -> int | None:
        """The rate of the port's line; None if the text does not have it."""
        entry = self.tables.get("PORT", {}).get(self.port)
        if not isinstance(entry, dict) or "speed" not in entry:
            return None
        self._say(f"{self.port} has a speed of {entry['speed']} Mb/s, which counts bits on the wire")
        return self._number(entry, "speed") * 10**6

    def _lossless(self, *, alone: bool) -> Lossless | None:
        """The levels of the lossless priority group of a port with one queue; names what a scenario cannot say."""
        entry = self.tables.get("PORT_QOS_MAP", {}).get(self.port, {})
        named = str(entry.get("pfc_enable") or "")
        if entry.get("pfcwd_sw_enable"):
            self.unsimulated.append("the PFC watchdog")
        if not named:
            return None
        group = self._group(named) if alone else None
        if group is not None and "static_th" in group and "xoff" in group:
            self._say(f"priority group {named}: static_th is where it pauses, and xoff its headroom")
            return Lossless(*(self._number(group, name) for name in ("static_th", "xon", "xoff")))
        word = "priorities" if "," in named else "priority"
        self.unsimulated.append(f"PFC of {word} {named}: pause frames and their headroom")
        return None

    def _group(self, priority: str) -> Mapping[str, Any] | None:
        """The profile of a priority group; None if the text lacks it."""
        groups = self._of_ports("BUFFER_PG").get(self.port, {}) if priority.isdigit() else {}
        profile = groups.get(int(priority), {}).get("profile") if groups else None
        return None if profile in (None, "NULL") else self._referred("BUFFER_PROFILE", profile)

    def _sharing(
        self, profile: Mapping[str, Any], wred: Mapping[str, Any] | None
    ) -> tuple[Queue, float, Limit | None] | None:
        """WRED beside `dynamic_th`: a queue of the size of the pool, its alpha and what is reserved for it."""
        pool = self._pool(profile)
        if "dynamic_th" not in profile or pool is None or pool.amount == 0 or wred is None:
            return None
        power, size = self._number(profile, "dynamic_th"), self._number(profile, "size", 0)
        self._say(f"dynamic_th {power} = {2.0**power:g} times what is free of the pool")
        return Queue(pool, self._discipline(wred)), 2.0**power, Limit(size, "bytes") if size else None

    def _queue(self, profile: Mapping[str, Any], wred: Mapping[str, Any] | None) -> Queue:
        if "static_th" in profile:
            limit = Limit(self._number(profile, "static_th"), "bytes")
            self._say("static_th counts bytes")
            return Queue(limit, self._discipline(wred))
        if not profile:
            missing = "the buffers of queues, which the text does not have; `show buffer configuration` has them"
            self.unknown += [] if missing in self.unknown else [missing]
            return Queue(UNKNOWN, self._discipline(wred))
        if "dynamic_th" not in profile:
            raise Mistake("a profile without a threshold", "static_th or dynamic_th").error()
        power = self._number(profile, "dynamic_th")
        pool = self._pool(profile)
        if wred is not None:
            text = f"dynamic_th {power} of a class beside WRED: a class has no part of a shared memory"
            self.unsimulated.append(text)
            return Queue(UNKNOWN if pool is None else pool, self._discipline(wred))
        self._say(f"dynamic_th {power} = {2.0**power:g} times what is free of the pool")
        if pool is None:
            self.unknown.append(
                "the size of the pool, which the text does not have; `show buffer configuration` has it"
            )
        size = UNKNOWN if pool is None else pool
        return Queue(size, Discipline("dynamic_threshold", {"alpha": 2.0**power}))

    def _pool(self, profile: Mapping[str, Any]) -> Limit | None:
        """The size of a profile's pool; None if the text lacks it, because the chip or a template has it."""
        name = str(profile.get("pool", "")).strip("[]").rpartition("|")[2]
        pool = self.tables.get("BUFFER_POOL", {}).get(name, {})
        return Limit(self._number(pool, "size"), "bytes") if "size" in pool else None

    def _say(self, line: str) -> None:
        if line not in self.how:
            self.how.append(line)

    def _discipline(self, wred: Mapping[str, Any] | None) -> Discipline:
        if wred is None or wred.get("wred_green_enable") != "true":
            return Discipline("droptail")
        least, most = (self._number(wred, f"green_{end}_threshold") for end in ("min", "max"))
        percent = self._number(wred, "green_drop_probability", 100)
        marks = wred.get("ecn", "ecn_none") in ("ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red")
        if least == most and marks:
            self._say("equal thresholds of WRED with ECN are a step")
            return Discipline("step", {"threshold": Limit(least, "bytes"), "others": "drop"}, ecn=True)
        self._say("WRED of green packets, of a queue that is not averaged")
        return Discipline(
            "red",
            {
                "min": Limit(least, "bytes"),
                "max": Limit(most, "bytes"),
                "max_p": percent / 100,
                "weight": 1.0,
                "gentle": False,
                "adaptive": False,
                "bottom": 0.01,
                "top": 0.5,
                "wait": False,
            },
            ecn=marks,
        )
