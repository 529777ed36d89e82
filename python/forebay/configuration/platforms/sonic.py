"""SONiC: a fragment of config_db.json, with the pool, the profile, WRED and ECN, the schedulers, and what binds them.

Key names are those of SONiC's YANG models (sonic-buffer-pool, -buffer-profile, -buffer-queue, -wred-profile,
-scheduler, -queue, -port-qos-map) and of "SONiC Configuration Database Manual", src/sonic-yang-models/doc.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from forebay.configuration.platforms.platform import (
    CODE_POINTS,
    Assumed,
    Fitted,
    Reading,
    bands,
    class_note,
    refusal,
    round_up_to_bytes,
)
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Port, Queue, TrafficClass
from forebay.configuration.reading import Mistake, closest, foreign, integer, json_text, signed
from forebay.errors import UnsupportedError

__all__ = ["SONIC", "Sonic"]

#: Placeholder for the name of the interface.
PORT = "Ethernet0"
POOL = "egress_lossy_pool"
#: Queues of a port.
QUEUES = 8
#: Bytes of an Ethernet frame beside the IP packet, which the chip's counters include.
FRAME = 18

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

_NO_WEIGHT = "SONiC has no weight of the average; chips take the queue as it is, or their own"
_WRED = "WRED drops everything above its upper threshold"


@dataclass(frozen=True, slots=True)
class Sonic:
    """config_db.json."""

    name: str = "sonic"
    title: str = "SONiC"
    source: str = (
        "SONiC Configuration Database Manual; YANG models sonic-buffer-profile, sonic-wred-profile, sonic-scheduler"
    )
    quirks: tuple[str, ...] = (
        f"replace {PORT}; merge with `config load`",
        f"{POOL} is the chip's, for all ports: `show buffer configuration` has its size, not a port's buffer",
        "static_th wants a pool of static mode, and all profiles of one pool are of one mode",
        "omit PORT_QOS_MAP and its scheduler if the port has the link's rate",
        "uncertain: chips count whole cells of some 200 bytes, and frames instead of IP packets",
    )
    disciplines: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            "droptail": "static_th",
            "dynamic_threshold": "dynamic_th",
            "red": "WRED_PROFILE",
            "step": "WRED_PROFILE with equal thresholds and ECN",
            "priority": "queues with STRICT schedulers",
            "classes": "queues with STRICT, WRR or DWRR schedulers",
        }
    )
    shapes: bool = False
    accesses: bool = False
    nearest: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {
            **dict.fromkeys(("pie", "codel", "cobalt", "choke"), "red"),
            **dict.fromkeys(("dualpi2",), "step"),
        }
    )

    def fit(self, port: Port) -> Fitted:
        """Fit a port to whole bytes, whole percents, and a power of two of the free memory."""
        rate = max(8, port.bits_per_second // 8 * 8)
        reasons = {"rate": "SONiC counts whole bytes per second", "rate_layer": "SONiC knows no overhead of a shaper"}
        notes: list[str] = []
        memory = None if port.memory is None or _dynamic(port) else round_up_to_bytes(port.memory, port.packet)
        changed = dataclasses.replace(port, rate=rate, layer="l3", memory=memory)
        queue = port.queue
        if port.memory is not None:
            reasons["memory"] = "it is the pool's size, in bytes"
        else:
            notes.append(f"{POOL}: not written, as the scenario has no memory of the chip; the switch has to have it")
        if isinstance(queue, Queue) and queue.discipline.kind == "priority":
            queue, of_bands = bands(self.name, port, queue, most=QUEUES)
            notes.extend(of_bands)
        if isinstance(queue, Queue):
            fitted = self._queue(queue, port, reasons, "")
            notes.extend(_frames(fitted, port))
            return Fitted(changed.with_queue(fitted), reasons, tuple(notes))
        if len(queue.classes) > QUEUES:
            raise UnsupportedError(f"sonic does not support {len(queue.classes)} classes; allowed: up to {QUEUES}")
        classes = []
        ordered = queue.classes
        if queue.schedule != "strict":
            ordered = tuple(sorted(ordered, key=lambda entry: not entry.priority))
        least = min((entry.weight for entry in ordered if not entry.priority), default=1.0)
        for number, entry in enumerate(ordered):
            inner = self._queue(entry.queue, port, reasons, f"{entry.name}.")
            weight, first = 1.0, queue.schedule != "strict" and entry.priority
            if queue.schedule != "strict" and not first:
                weight = _weight(entry.weight / least)
            classes.append(TrafficClass(entry.name, entry.groups, weight, inner, first))
            notes.append(class_note(f"queue {len(ordered) - 1 - number}", entry, number, len(ordered)))
        schedule = queue.schedule
        if all(entry.priority for entry in classes):
            schedule, reasons["schedule"] = "strict", "no class takes turns"
            classes = [dataclasses.replace(entry, priority=False) for entry in classes]
        reasons |= {f"{entry.name}.share": "weights are whole numbers from 1 to 100" for entry in classes}
        return Fitted(changed.with_queue(Classes(schedule, tuple(classes))), reasons, tuple(notes))

    def _queue(self, queue: Queue, port: Port, reasons: dict[str, str], prefix: str) -> Queue:
        found, kind = queue.discipline, queue.discipline.kind
        if kind not in ("droptail", "dynamic_threshold", "red", "step"):
            raise refusal(self, kind)
        limit = round_up_to_bytes(queue.limit, port.packet)
        reasons[f"{prefix}buffer"] = "SONiC counts bytes"
        if kind == "dynamic_threshold":
            limit = UNKNOWN if port.memory is None else round_up_to_bytes(port.memory, port.packet)
            if port.memory is None and queue.limit.known:
                reasons[f"{prefix}buffer"] = "with dynamic_th the chip's pool is the limit; the scenario has no memory"
            elif port.memory is not None:
                reasons[f"{prefix}buffer"] = "with dynamic_th nothing but the pool limits a queue"
            power = math.ceil(math.log2(found.number("alpha")) - 1e-12)
            if power > 8:
                raise UnsupportedError(f"sonic does not support alpha = {found.number('alpha'):g}; allowed: up to 256")
            reasons[f"{prefix}alpha"] = "dynamic_th is a power of two, from -8 to 8"
            return Queue(limit, found.having(alpha=2.0 ** max(-8, power)))
        if kind == "red":
            return Queue(limit, self._red(found, port, reasons, prefix))
        if kind == "step":
            level = round_up_to_bytes(found.level("threshold"), port.packet)
            reasons |= {
                f"{prefix}threshold": "SONiC counts bytes",
                f"{prefix}others": "WRED drops what it cannot mark; simulate link.queue.others = drop",
                f"{prefix}ecn": "without marks it would have no effect",
            }
            return Queue(limit, Discipline("step", {"threshold": level, "others": "drop"}, ecn=True))
        return Queue(limit, found)

    def _red(self, found: Discipline, port: Port, reasons: dict[str, str], prefix: str) -> Discipline:
        least = round_up_to_bytes(found.level("min"), port.packet)
        most = round_up_to_bytes(found.level("max"), port.packet)
        percent = min(100, max(1, math.floor(found.number("max_p") * 100 + 0.5)))
        # Equal thresholds at 100 % are a step.
        if most.amount <= least.amount:
            most = Limit(least.amount + 1, "bytes")
        reasons |= {
            **dict.fromkeys((f"{prefix}min", f"{prefix}max"), "SONiC counts bytes, and max is above min"),
            f"{prefix}max_p": "drop probabilities are whole percents, at least one",
            f"{prefix}weight": _NO_WEIGHT,
            f"{prefix}gentle": f"{_WRED}; simulate link.queue.gentle = false",
            f"{prefix}adaptive": "WRED is not adaptive; simulate link.queue.adaptive = false",
            f"{prefix}wait": "chips draw for each packet; simulate link.queue.wait = false",
            f"{prefix}bottom": "nothing adapts",
            f"{prefix}top": "nothing adapts",
        }
        return found.having(
            min=least,
            max=most,
            max_p=percent / 100,
            weight=1.0,
            gentle=False,
            adaptive=False,
            wait=False,
            bottom=0.01,
            top=0.5,
        )

    def write(self, port: Port) -> list[str]:
        """The fragment as JSON, one entry per line."""
        queues = [queue for _, queue in port.queues()]
        names = ["forebay"] if isinstance(port.queue, Queue) else [f"forebay_{n}" for n in range(len(queues))]
        numbers = [len(queues) - 1 - n for n in range(len(queues))]
        pool = _pool(port)
        tables: dict[str, dict[str, dict[str, str]]] = {
            **({"BUFFER_POOL": {POOL: pool}} if pool else {}),
            "BUFFER_PROFILE": {name: _profile(queue) for name, queue in zip(names, queues, strict=True)},
            "BUFFER_QUEUE": {
                f"{PORT}|{number}": {"profile": name} for name, number in zip(names, numbers, strict=True)
            },
        }
        wred = {name: found for name, queue in zip(names, queues, strict=True) if (found := _wred(queue))}
        if wred:
            tables["WRED_PROFILE"] = wred
        schedulers = {"forebay_port": {"meter_type": "bytes", "pir": str(port.bits_per_second // 8)}}
        bound: dict[str, dict[str, str]] = {f"{PORT}|{number}": {} for number in numbers}
        for name, number in zip(names, numbers, strict=True):
            if name in wred:
                bound[f"{PORT}|{number}"]["wred_profile"] = name
        qos_map = {"scheduler": "forebay_port"}
        if isinstance(port.queue, Classes):
            kind = {"strict": "STRICT", "wrr": "WRR", "dwrr": "DWRR"}[port.queue.schedule]
            for name, number, entry in zip(names, numbers, port.queue.classes, strict=True):
                schedulers[name] = {"type": "STRICT" if entry.priority else kind}
                if schedulers[name]["type"] != "STRICT":
                    schedulers[name]["weight"] = str(round(entry.weight))
                bound[f"{PORT}|{number}"]["scheduler"] = name
            tables["DSCP_TO_TC_MAP"] = {
                "forebay": {str(CODE_POINTS[n]): str(numbers[n]) for n in range(len(queues) - 1)}
            }
            tables["TC_TO_QUEUE_MAP"] = {"forebay": {str(number): str(number) for number in sorted(numbers)}}
            qos_map |= {"dscp_to_tc_map": "forebay", "tc_to_queue_map": "forebay"}
        tables["SCHEDULER"] = schedulers
        if any(bound.values()):
            tables["QUEUE"] = {key: entry for key, entry in bound.items() if entry}
        tables["PORT_QOS_MAP"] = {PORT: qos_map}
        return json.dumps(tables, indent=4).splitlines()

    def read(self, text: str, assumed: Assumed) -> Reading:
        """A config_db.json, a part of it, or a profile's field alone."""
        tables = _tables(text)
        if not any(isinstance(value, dict) for value in tables.values()):
            tables = {"BUFFER_PROFILE": {"profile": tables}}
        reader = _Reader(tables, assumed)
        others = [f"table {name}" for name in tables if name not in (*_FIELDS, *_READ, *_MAPS)]
        port = reader.reading()
        return dataclasses.replace(
            port, skipped=(*reader.skipped, *others), unknown=tuple(dict.fromkeys(reader.unknown))
        )


def _weight(relative: float) -> float:
    if math.ceil(relative) > 100:
        raise UnsupportedError(f"sonic does not support weights {relative:g} times apart; allowed: up to 100")
    return float(math.ceil(relative))


def _frames(queue: Queue, port: Port) -> Iterator[str]:
    """Notes on the smaller number of packets that fit because the chip counts frames."""
    packets = queue.limit.in_packets(port.packet)
    fits = queue.limit.amount / (port.packet + FRAME)
    if queue.discipline.kind != "dynamic_threshold" and math.floor(fits) < math.floor(packets):
        enough = math.ceil(packets) * (port.packet + FRAME)
        yield (
            f"buffer: a chip that counts {FRAME} bytes of Ethernet a packet holds {math.floor(fits)} full packets, "
            f"simulated {math.floor(packets)}; {enough} bytes would hold them"
        )


def _dynamic(port: Port) -> bool:
    return any(queue.discipline.kind == "dynamic_threshold" for _, queue in port.queues())


def _pool(port: Port) -> dict[str, str]:
    """The pool of the chip; empty if its memory is unknown."""
    shared = [queue.limit for _, queue in port.queues() if queue.discipline.kind == "dynamic_threshold"]
    memory = shared[0] if shared else port.memory
    if memory is None or not memory.known:
        return {}
    return {"type": "egress", "mode": "dynamic" if shared else "static", "size": str(memory.amount)}


def _profile(queue: Queue) -> dict[str, str]:
    if queue.discipline.kind == "dynamic_threshold":
        power = round(math.log2(queue.discipline.number("alpha")))
        return {"pool": POOL, "size": "0", "dynamic_th": str(power)}
    return {"pool": POOL, "size": "0", "static_th": str(queue.limit.amount)}


def _wred(queue: Queue) -> dict[str, str]:
    discipline = queue.discipline
    if discipline.kind == "step":
        level = str(discipline.level("threshold").amount)
        return {
            "wred_green_enable": "true",
            "ecn": "ecn_all",
            "green_min_threshold": level,
            "green_max_threshold": level,
            "green_drop_probability": "100",
        }
    if discipline.kind == "red":
        return {
            "wred_green_enable": "true",
            "ecn": "ecn_all" if discipline.ecn else "ecn_none",
            "green_min_threshold": str(discipline.level("min").amount),
            "green_max_threshold": str(discipline.level("max").amount),
            "green_drop_probability": str(round(discipline.number("max_p") * 100)),
        }
    return {}


# Reading.

#: Tables that are read with any fields.
_MAPS = ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP")
_READ = ("BUFFER_QUEUE", "QUEUE", "PORT_QOS_MAP")


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

    def reading(self) -> Reading:
        self._check()
        queues = self._queues()
        rate = self._rate() or self.assumed.rate
        # With a dynamic threshold, the pool is the limit.
        memory = self._pool(queues[0][0]) if queues and "static_th" in queues[0][0] else None
        each_queue = [self._queue(profile, wred) for profile, wred, _ in queues]
        if len(each_queue) == 1 and queues[0][2] is None:
            return Reading(Port(rate, self.assumed.packet, each_queue[0], memory=memory), tuple(self.how))
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
            classes.append(
                TrafficClass(f"queue{len(each_queue) - 1 - number}", (), 1.0 if first else weight, queue, first)
            )
        if len(turns) > 1:
            raise Mistake("queues of WRR and of DWRR", "one of them for all that take turns").error()
        if not turns:
            classes = [dataclasses.replace(entry, priority=False) for entry in classes]
        found = Classes(turns.pop() if turns else "strict", tuple(classes))
        return Reading(
            Port(rate, self.assumed.packet, found, memory=memory), (*self.how, "the highest queue goes first")
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
            return [(profiles[egress[0]], None, None)]
        settings = self._of_ports("QUEUE")
        port = next(iter(bound))
        if len(bound) > 1:
            self.how.append(f"{port} of {len(bound)} ports")
        found = []
        for number in sorted(bound[port], reverse=True):
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
            raise Mistake("dynamic_th with WRED, which forebay has not as one", "static_th").error()
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


SONIC = Sonic()
