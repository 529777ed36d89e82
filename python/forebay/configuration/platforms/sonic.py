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

from forebay.configuration.lossless import PRIORITY, Lossless
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
from forebay.configuration.platforms.sonic_reader import read_port
from forebay.configuration.port import UNKNOWN, Classes, Discipline, Limit, Port, Queue, TrafficClass
from forebay.errors import UnsupportedError

__all__ = ["SONIC", "Sonic"]

#: Placeholder for the name of the interface.
PORT = "Ethernet0"
POOL = "egress_lossy_pool"
#: The pool of lossless priority groups (pg_profile_lookup, buffers_config.j2), and the profile of the written group.
LOSSLESS_POOL, GROUP = "ingress_lossless_pool", "forebay_lossless"
#: Queues of a port.
QUEUES = 8
#: Bytes of an Ethernet frame beside the IP packet, which the chip's counters include.
FRAME = 18

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
        "some chips want thresholds of the mode of their pool, static_th or dynamic_th; many files mix them",
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
    pauses: Mapping[str, int] | None = dataclasses.field(
        default_factory=lambda: {"xoff": 1, "xon": 1, "headroom": 1},
    )
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
        if port.lossless is not None:
            notes.append(
                f"priority {PRIORITY}, its group and its queue: replace them by those of your lossless traffic"
            )
        queue = port.queue
        if port.memory is not None:
            reasons["memory"] = "it is the pool's size, in bytes"
        else:
            notes.append(
                f"{_pool_name(port)}: not written, as the scenario has no memory of the chip; the switch has to have it"
            )
        if isinstance(queue, Queue) and queue.discipline.kind == "priority":
            queue, of_bands = bands(self.name, port, queue, most=QUEUES)
            notes.extend(of_bands)
        if isinstance(queue, Queue) and port.memory_alpha is not None and port.memory is not None:
            return self._sharing(changed, queue, port, reasons, tuple(notes))
        reasons |= dict.fromkeys(("memory_alpha", "memory_reserved"), "a profile has them only for a single queue")
        changed = dataclasses.replace(changed, memory_alpha=None, memory_reserved=None)
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

    def _sharing(
        self, changed: Port, queue: Queue, port: Port, reasons: dict[str, str], notes: tuple[str, ...]
    ) -> Fitted:
        """A port whose queue may hold a multiple of the free memory: `dynamic_th`, beside WRED if the queue has it."""
        assert port.memory is not None, "checked by the caller"
        assert port.memory_alpha is not None, "checked by the caller"
        alpha = self._power(port.memory_alpha)
        pool = round_up_to_bytes(port.memory, port.packet)
        reserved = None if port.memory_reserved is None else round_up_to_bytes(port.memory_reserved, port.packet)
        reasons |= {
            "buffer": "with dynamic_th nothing but the pool limits a queue",
            "memory": "it is the pool's size, in bytes",
            "memory_alpha": "dynamic_th is a power of two, from -8 to 8",
            "memory_reserved": "SONiC counts bytes",
            "queue": "SONiC has this threshold in the profile",
        }
        if queue.discipline.kind in ("red", "step"):
            found = self._queue(queue, port, reasons, "")
            shared = dataclasses.replace(changed, memory=pool, memory_alpha=alpha, memory_reserved=reserved)
            return Fitted(shared.with_queue(Queue(pool, found.discipline)), reasons, notes)
        if queue.discipline.kind == "dynamic_threshold":
            alpha = min(alpha, self._power(queue.discipline.number("alpha")))
        elif queue.discipline.kind != "droptail":
            raise refusal(self, queue.discipline.kind)
        reasons["memory"] = "it is the pool's size, which limits the queue"
        alone = dataclasses.replace(changed, memory=None, memory_alpha=None, memory_reserved=None)
        return Fitted(alone.with_queue(Queue(pool, Discipline("dynamic_threshold", {"alpha": alpha}))), reasons, notes)

    @staticmethod
    def _power(alpha: float) -> float:
        """Alpha rounded up to a power of two."""
        power = math.ceil(math.log2(alpha) - 1e-12)
        if power > 8:
            raise UnsupportedError(f"sonic does not support alpha = {alpha:g}; allowed: up to 256")
        return 2.0 ** max(-8, power)

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
            alpha = self._power(found.number("alpha"))
            reasons[f"{prefix}alpha"] = "dynamic_th is a power of two, from -8 to 8"
            return Queue(limit, found.having(alpha=alpha))
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
        numbers = [len(queues) - 1 - n for n in range(len(queues))] if port.lossless is None else [PRIORITY]
        pool = _pool(port)
        tables: dict[str, dict[str, dict[str, str]]] = {
            **({"BUFFER_POOL": {_pool_name(port): pool}} if pool else {}),
            "BUFFER_PROFILE": {name: _profile(queue, port) for name, queue in zip(names, queues, strict=True)},
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
        if port.lossless is not None:
            tables["BUFFER_PROFILE"][GROUP] = _group(port.lossless)
            tables["BUFFER_PG"] = {f"{PORT}|{PRIORITY}": {"profile": GROUP}}
            qos_map |= dict.fromkeys(("pfc_enable", "pfcwd_sw_enable"), str(PRIORITY))
        tables["PORT_QOS_MAP"] = {PORT: qos_map}
        return json.dumps(tables, indent=4).splitlines()

    def read(self, text: str, assumed: Assumed) -> Reading:
        """A config_db.json, a part of it, or a profile's field alone."""
        return read_port(text, assumed)


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


def _pool_name(port: Port) -> str:
    """The pool of the port's queues."""
    return POOL if port.lossless is None else "egress_lossless_pool"


def _pool(port: Port) -> dict[str, str]:
    """The pool of the chip; empty if its memory is unknown."""
    shared = [queue.limit for _, queue in port.queues() if queue.discipline.kind == "dynamic_threshold"]
    memory = shared[0] if shared else port.memory
    if memory is None or not memory.known:
        return {}
    is_dynamic = bool(shared) or port.memory_alpha is not None
    return {"type": "egress", "mode": "dynamic" if is_dynamic else "static", "size": str(memory.amount)}


def _group(lossless: Lossless) -> dict[str, str]:
    """The profile of the lossless priority group: `static_th` is where it pauses, and `xoff` is its headroom."""
    assert lossless.complete, "a scenario has all levels"
    size = (lossless.xon or 0) + (lossless.headroom or 0)
    levels = {"size": size, "xon": lossless.xon, "xoff": lossless.headroom, "static_th": lossless.xoff}
    return {"pool": LOSSLESS_POOL, **{name: str(level) for name, level in levels.items()}}


def _profile(queue: Queue, port: Port) -> dict[str, str]:
    if port.memory_alpha is not None:
        size = 0 if port.memory_reserved is None else port.memory_reserved.amount
        return {"pool": _pool_name(port), "size": str(size), "dynamic_th": str(round(math.log2(port.memory_alpha)))}
    if queue.discipline.kind == "dynamic_threshold":
        power = round(math.log2(queue.discipline.number("alpha")))
        return {"pool": _pool_name(port), "size": "0", "dynamic_th": str(power)}
    return {"pool": _pool_name(port), "size": "0", "static_th": str(queue.limit.amount)}


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


SONIC = Sonic()
