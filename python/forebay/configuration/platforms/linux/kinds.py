"""tc's disciplines without classes: the settings of each, and forebay's name for it.

Sources: the manual pages tc-bfifo(8), tc-pfifo(8), tc-codel(8), tc-fq_codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8),
tc-cake(8), tc-dualpi2(8), and net/sched of Linux for the limits that they do not state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from forebay.configuration.platforms.linux.units import LARGEST, MICROSECOND, count, packets, size, time, time_word
from forebay.configuration.platforms.linux.units import rate as bits
from forebay.configuration.platforms.platform import round_up_to_bytes, round_up_to_packets
from forebay.configuration.port import Discipline, Limit, Port, Queue, Value
from forebay.configuration.reading import Mistake
from forebay.errors import UnsupportedError

__all__ = ["Draft", "Kind", "Options"]

#: Options of a discipline: values by option; a flag is True.
Options = Mapping[str, Value]
Reader = Callable[[str], Value]


@dataclass(slots=True)
class Draft:
    """A queue that is being fitted to tc, and the reasons for its changes."""

    queue: Queue
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: The platform, for refusals.
    name: str = "linux"

    @property
    def discipline(self) -> Discipline:
        """The discipline as it is now."""
        return self.queue.discipline

    def limit(self, limit: Limit, why: str) -> None:
        """Change the limit, for this reason."""
        if limit.amount > LARGEST:
            raise UnsupportedError(f"{self.name} does not support a buffer of {limit}; allowed: up to {LARGEST:,}")
        if limit != self.queue.limit:
            self.queue = Queue(limit, self.discipline)
            self.reasons["buffer"] = why

    def set(self, name: str, value: Value, why: str) -> None:
        """Change the value of a parameter, for this reason."""
        if self.discipline.parameters.get(name) != value:
            self.queue = Queue(self.queue.limit, self.discipline.having(**{name: value}))
            self.reasons[name] = why

    def ecn(self, why: str) -> None:
        """Mark packets in any case."""
        if not self.discipline.ecn:
            discipline = Discipline(self.discipline.kind, self.discipline.parameters, ecn=True)
            self.queue = Queue(self.queue.limit, discipline)
            self.reasons["ecn"] = why

    def time(self, *names: str, least: Fraction = MICROSECOND) -> None:
        """Round times up to whole microseconds."""
        for name in names:
            requested = self.discipline.time(name)
            rounded = max(least, math.ceil(requested / MICROSECOND) * MICROSECOND)
            if rounded > LARGEST * MICROSECOND:
                raise UnsupportedError(
                    f"{self.name} does not support {name} = {float(requested):g} s; allowed: up to 4294 s"
                )
            self.set(name, rounded, "tc counts whole microseconds")

    def within(self, name: str, least: float, most: float, why: str) -> None:
        """Limit a parameter to whole numbers or sizes in a range."""
        value = self.discipline.parameters[name]
        if isinstance(value, Limit):
            self.set(name, Limit(math.ceil(min(max(value.amount, least), most)), "bytes"), why)
        else:
            self.set(name, float(math.floor(min(max(self.discipline.number(name), least), most))), why)


class Kind(Protocol):
    """One of tc's disciplines."""

    @property
    def simulated(self) -> str:
        """Forebay's name of the discipline."""
        ...

    @property
    def options(self) -> Mapping[str, Reader | None]:
        """Options of the discipline with the readers of their values; None for a flag."""
        ...

    def fit(self, draft: Draft, port: Port) -> None:
        """Change the values that tc does not accept for the discipline."""
        ...

    def write(self, queue: Queue, port: Port) -> str:
        """The options of a fitted queue, after the name."""
        ...

    def read(self, options: Options, packet: int) -> Queue:
        """The queue of these options, with defaults."""
        ...


def ecn_word(discipline: Discipline) -> str:
    """The word that switches ECN on or off, for most disciplines."""
    return "ecn" if discipline.ecn else "noecn"


def decimal_word(value: float) -> str:
    """A fraction in tc's notation, without an exponent."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def number_word(value: float) -> str:
    """A number in tc's notation."""
    return f"{value:.10g}"


def _limit(options: Options, default: int) -> Limit:
    value = options.get("limit", Limit(default, "packets"))
    assert isinstance(value, Limit), "a limit"
    return value


IN_PACKETS = "tc counts packets here, of any size"
KERNEL = "fixed by the kernel"


@dataclass(frozen=True, slots=True)
class Fifo:
    """pfifo, bfifo and pfifo_head_drop."""

    simulated: str
    unit: str

    @property
    def options(self) -> Mapping[str, Reader | None]:
        return {"limit": packets if self.unit == "packets" else size}

    def fit(self, draft: Draft, port: Port) -> None:
        limit = draft.queue.limit
        if self.unit == "bytes":
            draft.limit(round_up_to_bytes(limit, port.packet), "at least one byte: tc reads 0 as its default")
        else:
            draft.limit(
                round_up_to_packets(limit, port.packet), IN_PACKETS if limit.unit == "bytes" else "at least one"
            )

    def write(self, queue: Queue, port: Port) -> str:  # noqa: ARG002
        return f"limit {queue.limit.amount}"

    def read(self, options: Options, packet: int) -> Queue:  # noqa: ARG002
        limit = options.get("limit")
        if not isinstance(limit, Limit):
            raise Mistake("no limit", "limit and a number (without one the interface's txqueuelen counts)")
        return Queue(limit, Discipline(self.simulated))


@dataclass(frozen=True, slots=True)
class Fq:
    """fq, which is only read: one queue per flow, and pacing, which a scenario sets for its flows."""

    simulated: str = "drr"

    @property
    def options(self) -> Mapping[str, Reader | None]:
        own: dict[str, Reader | None] = {"limit": packets, "flow_limit": packets, "quantum": size}
        own |= {"initial_quantum": size, "maxrate": bits, "buckets": count, "orphan_mask": count, "pacing": None}
        own |= {"nopacing": None, "ce_threshold": time, "low_rate_threshold": bits, "refill_delay": time}
        own |= {"timer_slack": time, "horizon": time, "horizon_drop": None, "horizon_cap": None, "defrate": bits}
        return own | {"bands": count, "priomap": None, "weights": None, "offload_horizon": time}

    def fit(self, draft: Draft, port: Port) -> None:
        raise UnsupportedError(f"{draft.name} does not support drr as fq at {port.rate} b/s")

    def write(self, queue: Queue, port: Port) -> str:
        raise UnsupportedError(f"linux does not support {queue.limit} as fq at {port.rate} b/s")

    def read(self, options: Options, packet: int) -> Queue:
        # Two frames (net/sched/sch_fq.c, fq_init).
        quantum = options.get("quantum", Limit(2 * (packet + 14), "bytes"))
        return Queue(_limit(options, 10_000), Discipline("drr", {"drop": "tail", "quantum": quantum}))


@dataclass(frozen=True, slots=True)
class CoDel:
    """codel and fq_codel."""

    simulated: str
    queueing: bool

    @property
    def options(self) -> Mapping[str, Reader | None]:
        own: dict[str, Reader | None] = {"limit": packets, "target": time, "interval": time, "ecn": None, "noecn": None}
        return own | (
            {"flows": count, "quantum": size, "drop_batch": count, "memory_limit": size} if self.queueing else {}
        )

    def fit(self, draft: Draft, port: Port) -> None:
        draft.limit(round_up_to_packets(draft.queue.limit, port.packet), IN_PACKETS)
        draft.time("target", "interval")
        if self.queueing:
            draft.within("flows", 1, 65536, "fq_codel has 1 to 65,536 queues")
            draft.within("quantum", 256, 2**20, "fq_codel allows 256 bytes to 1 MiB")
            draft.within("batch", 1, LARGEST, "whole packets")

    def write(self, queue: Queue, port: Port) -> str:  # noqa: ARG002
        discipline = queue.discipline
        text = f"limit {queue.limit.amount} target {time_word(discipline.time('target'))} "
        text += f"interval {time_word(discipline.time('interval'))} {ecn_word(discipline)}"
        if self.queueing:
            text += f" flows {number_word(discipline.number('flows'))} quantum {discipline.level('quantum').amount}"
            text += f" drop_batch {number_word(discipline.number('batch'))}"
        return text

    def read(self, options: Options, packet: int) -> Queue:  # noqa: ARG002
        values: dict[str, Value] = {
            "target": options.get("target", Fraction(5, 1000)),
            "interval": options.get("interval", Fraction(100, 1000)),
        }
        if self.queueing:
            values["flows"] = options.get("flows", 1024.0)
            values["quantum"] = options.get("quantum", Limit(1514, "bytes"))
            values["batch"] = options.get("drop_batch", 64.0)
        marks = "noecn" not in options if self.queueing else "ecn" in options
        limit = _limit(options, 10240 if self.queueing else 1000)
        return Queue(limit, Discipline(self.simulated, values, ecn=marks))


#: PIE's gains count in sixteenths of 1/s.
SIXTEENTHS = 16


@dataclass(frozen=True, slots=True)
class Pie:
    """pie and fq_pie."""

    simulated: str
    queueing: bool

    @property
    def options(self) -> Mapping[str, Reader | None]:
        own: dict[str, Reader | None] = {"limit": packets, "target": time, "tupdate": time, "alpha": count}
        own |= {"beta": count, "ecn": None, "noecn": None, "nobytemode": None, "no_dq_rate_estimator": None}
        return own | (
            {"flows": count, "quantum": size, "ecn_prob": count, "memory_limit": size} if self.queueing else {}
        )

    def fit(self, draft: Draft, port: Port) -> None:
        draft.limit(round_up_to_packets(draft.queue.limit, port.packet), IN_PACKETS)
        draft.time("target", "update")
        for gain in ("alpha", "beta"):
            rounded = min(32, max(0, round(draft.discipline.number(gain) * SIXTEENTHS)))
            draft.set(gain, rounded / SIXTEENTHS, "tc counts sixteenths of 1/s, from 0 to 32 of them")
        draft.set("burst", Fraction(150, 1000), f"MAX_BURST is {KERNEL}")
        if self.queueing:
            rounded = round(draft.discipline.number("mark_below") * 100)
            draft.set("mark_below", rounded / 100, "fq_pie counts whole percents")
            draft.within("flows", 1, 65536, "fq_pie has 1 to 65,536 queues")
            draft.within("quantum", 256, 2**20, "fq_pie allows 256 bytes to 1 MiB")
        else:
            draft.set("mark_below", 0.1, f"pie's 10 % is {KERNEL}")

    def write(self, queue: Queue, port: Port) -> str:  # noqa: ARG002
        discipline = queue.discipline
        text = f"limit {queue.limit.amount} target {time_word(discipline.time('target'))} "
        text += f"tupdate {time_word(discipline.time('update'))}"
        for gain in ("alpha", "beta"):
            text += f" {gain} {number_word(discipline.number(gain) * SIXTEENTHS)}"
        if self.queueing:
            text += f" flows {number_word(discipline.number('flows'))} quantum {discipline.level('quantum').amount}"
            text += f" ecn_prob {number_word(round(discipline.number('mark_below') * 100))}"
        return f"{text} {ecn_word(discipline)}"

    def read(self, options: Options, packet: int) -> Queue:  # noqa: ARG002
        def gain(name: str, default: float) -> float:
            value = options.get(name, default)
            assert isinstance(value, float), name
            return value / SIXTEENTHS

        values: dict[str, Value] = {
            "target": options.get("target", Fraction(15, 1000)),
            "update": options.get("tupdate", Fraction(15, 1000)),
            "alpha": gain("alpha", 2.0),
            "beta": gain("beta", 20.0),
            "burst": Fraction(150, 1000),
            "mark_below": 0.1,
        }
        if self.queueing:
            percent = options.get("ecn_prob", 10.0)
            assert isinstance(percent, float), "ecn_prob"
            values["mark_below"] = percent / 100
            values["flows"] = options.get("flows", 1024.0)
            values["quantum"] = options.get("quantum", Limit(1514, "bytes"))
        limit = _limit(options, 10240 if self.queueing else 1000)
        return Queue(limit, Discipline(self.simulated, values, ecn="ecn" in options))


@dataclass(frozen=True, slots=True)
class Sfq:
    """sfq: a divisor of queues that are a power of two, whole seconds between perturbations."""

    simulated: str = "sfq"
    #: Maximum number of packets of a flow (SFQ_MAX_DEPTH).
    depth = 127

    @property
    def options(self) -> Mapping[str, Reader | None]:
        own: dict[str, Reader | None] = {"limit": packets, "perturb": seconds, "quantum": size, "divisor": count}
        return own | {"flows": count, "depth": count, "headdrop": None}

    def fit(self, draft: Draft, port: Port) -> None:
        limit = round_up_to_packets(draft.queue.limit, port.packet)
        if limit.amount > 65535:
            raise UnsupportedError(f"{draft.name} does not support sfq with {limit}; allowed: up to 65,535 packets")
        draft.limit(limit, IN_PACKETS)
        queues = min(65536, 2 ** math.ceil(math.log2(draft.discipline.number("flows"))))
        draft.set("flows", float(queues), "sfq's divisor is a power of two of at most 65,536")
        draft.within("quantum", 64, LARGEST, "whole bytes")
        draft.set("perturb", Fraction(math.ceil(draft.discipline.time("perturb"))), "sfq counts whole seconds")
        if limit.amount > self.depth:
            draft.notes.append(
                f"sfq: one flow may hold at most {self.depth} of the {limit} (SFQ_MAX_DEPTH of the kernel)"
            )

    def write(self, queue: Queue, port: Port) -> str:  # noqa: ARG002
        sfq = queue.discipline
        text = f"limit {queue.limit.amount} quantum {sfq.level('quantum').amount}"
        text += f" divisor {number_word(sfq.number('flows'))} flows {number_word(min(65408, sfq.number('flows')))}"
        text += f" depth {min(self.depth, queue.limit.amount)} perturb {number_word(float(sfq.time('perturb')))}"
        return text + (" headdrop" if sfq.word("drop") == "head" else "")

    def read(self, options: Options, packet: int) -> Queue:
        values: dict[str, Value] = {
            "flows": options.get("divisor", 1024.0),
            "quantum": options.get("quantum", Limit(packet, "bytes")),
            "perturb": options.get("perturb", Fraction(0)),
            "drop": "head" if "headdrop" in options else "tail",
        }
        return Queue(_limit(options, 127), Discipline("sfq", values))


def seconds(text: str) -> Value:
    """Whole seconds, or a time with the unit that tc prints."""
    return Fraction(int(count(text.removesuffix("sec"))))


@dataclass(frozen=True, slots=True)
class DualPi2:
    """dualpi2: in Linux from 6.17 on."""

    simulated: str = "dualpi2"

    @property
    def options(self) -> Mapping[str, Reader | None]:
        own: dict[str, Reader | None] = {"limit": packets, "target": time, "tupdate": time, "alpha": gain}
        own |= {"beta": gain, "coupling_factor": count, "step_thresh": time, "classic_protection": percents}
        return own | {"drop_on_overload": None, "drop_dequeue": None, "split_gso": None, "memlimit": size}

    def fit(self, draft: Draft, port: Port) -> None:
        draft.limit(round_up_to_packets(draft.queue.limit, port.packet), IN_PACKETS)
        draft.time("target", "update", "step")
        for name in ("alpha", "beta"):
            draft.set(
                name, float(f"{min(255.99, draft.discipline.number(name)):.6g}"), "tc keeps 1/256 of 1/s, below 256"
            )
        draft.within("coupling", 0, 255, "a whole number up to 255")
        share = min(99, round(draft.discipline.number("classic_share") * 100)) / 100
        draft.set("classic_share", share, "whole percents below 100")
        draft.ecn("dualpi2 always marks")

    def write(self, queue: Queue, port: Port) -> str:  # noqa: ARG002
        pi2 = queue.discipline
        text = f"limit {queue.limit.amount} target {time_word(pi2.time('target'))}"
        text += f" tupdate {time_word(pi2.time('update'))} alpha {number_word(pi2.number('alpha'))}"
        text += f" beta {number_word(pi2.number('beta'))} coupling_factor {number_word(pi2.number('coupling'))}"
        text += f" step_thresh {time_word(pi2.time('step'))}"
        return text + f" classic_protection {number_word(round(pi2.number('classic_share') * 100))}%"

    def read(self, options: Options, packet: int) -> Queue:  # noqa: ARG002
        values: dict[str, Value] = {
            "target": options.get("target", Fraction(15, 1000)),
            "update": options.get("tupdate", Fraction(16, 1000)),
            "alpha": options.get("alpha", 0.16),
            "beta": options.get("beta", 3.2),
            "coupling": options.get("coupling_factor", 2.0),
            "step": options.get("step_thresh", Fraction(1, 1000)),
            "classic_share": options.get("classic_protection", 0.1),
        }
        return Queue(_limit(options, 10000), Discipline("dualpi2", values, ecn=True))


def gain(text: str) -> Value:
    """A gain in 1/s, with decimals."""
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"`{text}`", "a number such as 0.16") from None


def percents(text: str) -> Value:
    """A share as "10%" or "10"."""
    return count(text.removesuffix("%")) / 100


KINDS: Mapping[str, Kind] = {
    "pfifo": Fifo("droptail", "packets"),
    "bfifo": Fifo("droptail", "bytes"),
    "pfifo_head_drop": Fifo("drophead", "packets"),
    "codel": CoDel("codel", queueing=False),
    "fq_codel": CoDel("fq_codel", queueing=True),
    "pie": Pie("pie", queueing=False),
    "fq_pie": Pie("fq_pie", queueing=True),
    "sfq": Sfq(),
    "dualpi2": DualPi2(),
    "fq": Fq(),
}
