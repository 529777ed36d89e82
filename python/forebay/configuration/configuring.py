"""A port as a router's configuration, and back: the functions behind `--for` and `translate`."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from forebay.configuration.access import ACCESSES, PTM, SHARE, SOURCE, Access
from forebay.configuration.lossless import lossless_lines
from forebay.configuration.platforms.platform import Assumed, Fitted, Platform, refusal
from forebay.configuration.port import MARKING, Classes, Limit, Port, Queue, TrafficClass, Value, differences
from forebay.configuration.quantities import rate_text, scenario_rate, scenario_size, scenario_time
from forebay.configuration.reading import MOST_CHARACTERS, check_text
from forebay.errors import ForebayError, InputError
from forebay.results.deprecated_names import DeprecatedName
from forebay.scenario import Scenario

__all__ = [
    "MOST_OF_SWITCH",
    "Configuration",
    "Translation",
    "check",
    "configure",
    "fit",
    "link_buffer",
    "link_queue",
    "link_table",
    "translate",
    "unconfigured",
]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A port as lines of a router's configuration.

    Attributes
    ----------
    system : str
        The platform, as in `--for`.
    lines : tuple of str
        Lines to type; empty if the platform cannot express the port.
    source : str
        Documents that the lines follow.
    quirks : tuple of str
        Facts to know before typing the lines.
    notes : tuple of str
        Differences from the simulation, one per line with both figures; if there are no lines, the reason.
    title : str
        The platform's name in full.
    """

    system: str
    lines: tuple[str, ...]
    source: str
    quirks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    """The content of a router's configuration.

    Attributes
    ----------
    system : Platform
        Platform of the configuration.
    port : Port
        Port as a scenario describes it.
    derivation : tuple of str
        Derivation of the figures.
    skipped : tuple of str
        Lines that do not concern the port.
    unknown : tuple of str
        Settings that the text leaves to the device or the hardware.
    unsimulated : tuple of str
        Settings of the text that a scenario cannot express.
    """

    system: Platform
    port: Port
    derivation: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unsimulated: tuple[str, ...] = ()

    how = DeprecatedName("derivation")

    @property
    def bytes(self) -> float | None:
        """Capacity of all queues in bytes; None if a limit is unknown."""
        return self.port.limit_bytes() if self.port.limited else None

    @property
    def seconds(self) -> float | None:
        """Time to send full queues, in seconds; None if the rate or a limit is unknown."""
        size = self.bytes
        return None if self.port.rate is None or size is None else size * 8 / float(self.port.ip_rate)


def check(names: Iterable[str], scenario: Scenario) -> tuple[Platform, ...]:
    """Refuse platforms that lack the scenario's discipline, before anything is simulated."""
    wanted = dict.fromkeys(names)
    if not wanted:
        return ()
    # The platforms take longer to import than a small search.
    from forebay.configuration.platforms.registry import platform

    port = Port.of(scenario)
    found = tuple(platform(name) for name in wanted)
    for system in found:
        _check_expressible(system, port)
    return found


#: Maximum length of a configuration that has all ports of a switch, in characters.
MOST_OF_SWITCH = 2**26
#: Disciplines whose delay does not depend on the limit, so that one of them serves a direction that was not simulated.
_CONTROLLED = frozenset({"codel", "fq_codel", "pie", "fq_pie", "cake"})
_IN_FRONT = (
    f"{100 * SHARE.numerator // SHARE.denominator} % of the rate of the line, so that packets wait here and not in the "
    f"modem"
)


def configure(system: Platform, port: Port, access: Access | None = None) -> Configuration:
    """The whole configuration of a port.

    If a value is out of the platform's range, there are no lines, and the note states the reason.

    Parameters
    ----------
    system : Platform
        Operating system of the router.
    port : Port
        Simulated port.
    access : Access, optional
        Access line behind the port, with the port's rate. The shaper then has a part of this rate and counts the line's
        framing.
    """
    if port.medium:
        return unconfigured(
            system, "no configuration, because the simulated link has a `medium` and the router has a wire"
        )
    if port.changing:
        average = rate_text(port.bits_per_second)
        return unconfigured(
            system,
            f"no configuration, because the simulated rate changes; a constant rate of {average} was not simulated",
        )
    if port.shaper is not None and not system.shapes:
        return unconfigured(system, f"no configuration, because {system.name} does not support the simulated `shaper`")
    try:
        requested, of_access = _with_access_shaper(system, port, access)
        fitted = fit(system, requested)
        lines = tuple(system.write(fitted.port))
    except ForebayError as error:
        return unconfigured(system, str(error))
    differing = (
        *_differences(port, fitted.port, _reasons(fitted, access)),
        *_sizes(port, fitted.port),
        *_shared(port),
        *_threshold(port),
        *_policed(port),
        *_lossless_classes(port),
        *of_access,
    )
    source = system.source if requested.wire is None else f"{system.source}; {SOURCE}"
    return Configuration(system.name, lines, source, system.quirks, (*differing, *fitted.notes), system.title)


def _with_access_shaper(system: Platform, port: Port, access: Access | None) -> tuple[Port, tuple[str, ...]]:
    """The port as a shaper in front of an access line, and the facts to know about it."""
    if not system.accesses:
        text = f"access: {system.name} does not support access lines, so --access has no effect"
        return port, () if access is None else (text,)
    if access is None:
        counts = f"{port.framing} bytes of framing per packet" if port.framing else "only IP packets"
        return port, (
            f"access: none given, so the shaper has the simulated rate and counts {counts}. For an access line use "
            f"--access with one of {', '.join(ACCESSES)}, and +vlan for each VLAN tag",
        )
    if port.shaper is not None:
        return port, ("access: not used, because the link has a `shaper`",)
    share, framing = SHARE, access.framing
    if framing.cells == "ptm" and port.kind != "cake":
        share, framing = share * PTM, dataclasses.replace(framing, cells="none")
    notes = [f"access: {access.name}, {access.framing}"]
    other, back = access.other, "download" if access.direction == "upload" else "upload"
    if other is None:
        notes.append(f"{back}: not shaped, because its rate is not given (--{back} RATE)")
    elif port.kind not in _CONTROLLED:
        notes.append(
            f"{back}: not shaped, because {port.kind} needs a buffer and none was simulated for this direction"
        )
        other = None
    else:
        other = max(1000, math.floor(other * share / 1000) * 1000)
        text = f"{back}: shaped to {rate_text(other)} by the same {port.kind} with its default limit"
        notes.append(f"{text}; this direction was not simulated")
    rate = max(1000, math.floor(port.bits_per_second * share))
    shaped = dataclasses.replace(port, rate=rate, layer="l3", wire=framing, direction=access.direction, other=other)
    return shaped, tuple(notes)


def _reasons(fitted: Fitted, access: Access | None) -> Mapping[str, str]:
    """Reasons for differences from the simulated port: the shaper of an access line is slower than the line."""
    if fitted.port.wire is None or access is None:
        return fitted.reasons
    coded = access.framing.cells == "ptm" and fitted.port.wire.cells == "none"
    rate = f"{_IN_FRONT}, and 64/65 of it for PTM's coding" if coded else _IN_FRONT
    return {**fitted.reasons, "rate": rate, **dict.fromkeys(("rate_layer", "framing"), "the line counts these")}


def fit(system: Platform, port: Port) -> Fitted:
    """The nearest port that a platform can express, with every class counted by the size of its own packets.

    A platform can read more than it can write, such as the tiers of simple.qos; these are an `UnsupportedError`.
    """
    _check_expressible(system, port)
    port, pausing = _with_pauses(system, port)
    fitted = system.fit(port)
    fitted = dataclasses.replace(fitted, reasons={**pausing, **fitted.reasons})
    if isinstance(port.queue, Queue) or all(entry.packet is None for entry in port.queue.classes):
        return fitted
    units = {name: queue.limit.unit for name, queue in fitted.port.queues()}
    classes = tuple(entry.counted_in(units[entry.name]) for entry in port.queue.classes)
    return system.fit(port.with_queue(Classes(port.queue.schedule, classes)))


def _with_pauses(system: Platform, port: Port) -> tuple[Port, Mapping[str, str]]:
    """The port with the levels of PFC that the platform has, and the reasons for differences."""
    if port.lossless is None:
        return port, {}
    if system.pauses is None or isinstance(port.queue, Classes):
        return dataclasses.replace(port, lossless=None), {"pfc": "configure PFC and its headroom beside these lines"}
    fitted = port.lossless.fitted(system.pauses)
    steps = {name: f"whole steps of {step} bytes" for name, step in system.pauses.items()}
    missing = dict.fromkeys(("xoff", "xon", "headroom"), "no line that could be verified sets it")
    return dataclasses.replace(port, lossless=fitted), {**missing, **steps}


def unconfigured(system: Platform, why: str) -> Configuration:
    """A configuration without lines, and the reason."""
    return Configuration(system.name, (), system.source, system.quirks, (why,), system.title)


def translate(text: str, name: str, assumed: Assumed) -> Translation:
    """Read a configuration, a part of one, or a device's output; an `InputError` names the unknown word."""
    from forebay.configuration.platforms.registry import platform

    system = platform(name)
    check_text(text, MOST_OF_SWITCH if system.name == "sonic" else MOST_CHARACTERS)
    reading = system.read(text, assumed)
    if assumed.direction not in (None, reading.port.direction):
        other = reading.port.direction
        raise InputError(f"found nothing that shapes the {assumed.direction}; allowed: {other}, or none", "direction")
    port = reading.port if reading.port.rate is not None else dataclasses.replace(reading.port, rate=assumed.rate)
    return Translation(system, port, reading.how, reading.skipped, reading.unknown, reading.unsimulated)


def _check_expressible(system: Platform, port: Port) -> None:
    if port.kind not in system.disciplines:
        raise refusal(system, port.kind)
    for _, queue in port.queues():
        if queue.discipline.kind not in system.disciplines:
            raise refusal(system, queue.discipline.kind)


def _differences(requested: Port, fitted: Port, reasons: Mapping[str, str]) -> Iterator[str]:
    if isinstance(requested.queue, Queue) and isinstance(fitted.queue, Classes):
        requested = dataclasses.replace(requested, queue=fitted.queue)  # reported in a note
    for name, simulated, configured in differences(requested, fitted):
        reason = reasons.get(name, "")
        yield f"{name}: simulated {simulated}, configured {configured}" + (f" ({reason})" if reason else "")


def _sizes(requested: Port, fitted: Port) -> Iterator[str]:
    """Notes on the packet size of classes whose limit changes between packets and bytes."""
    if isinstance(requested.queue, Queue):
        return
    units = {name: queue.limit.unit for name, queue in fitted.queues()}
    for entry in requested.queue.classes:
        if entry.packet is not None and units[entry.name] != entry.queue.limit.unit:
            yield f"{entry.name}: its packets have {entry.packet:,} bytes"


def _shared(port: Port) -> Iterator[str]:
    """A note that classes with a common buffer in the scenario have separate buffers in the router."""
    sharing = [] if isinstance(port.queue, Queue) else [entry for entry in port.queue.classes if entry.shared]
    if len(sharing) > 1:
        names = ", ".join(entry.name for entry in sharing[:-1]) + f" and {sharing[-1].name}"
        limit = sharing[0].queue.limit
        yield f"buffer: simulated {limit} shared by {names}, configured {limit} for each"


def _threshold(port: Port) -> Iterator[str]:
    """A note that the platform has no such threshold of the memory."""
    if port.memory_threshold != "dynamic":
        yield f"memory: simulated with the threshold `{port.memory_threshold}`, which no platform has"


def _policed(port: Port) -> Iterator[str]:
    """A note that the policer in front of the queue is not part of these lines."""
    if port.policed:
        yield "policer: simulated before the queue, but not configured by these lines"


def _lossless_classes(port: Port) -> Iterator[str]:
    """Notes on the levels of PFC of classes, which no platform writes."""
    for name, levels in port.lossless_classes:
        texts = [f"{each.name} {getattr(levels, each.name):,} bytes" for each in dataclasses.fields(levels)]
        yield (
            f"{name}.pfc: simulated on, configured none (configure PFC of this class beside these lines: "
            f"{', '.join(texts)})"
        )


def link_table(port: Port, unknown: Iterable[str] = (), unsimulated: Iterable[str] = ()) -> str:
    """The `[link]` table of a scenario with this port.

    The link's own buffer is the sum of the classes' buffers; each class has its own. Settings that are unknown or not
    simulated become comments.
    """
    lines = ["[link]", *(f"# unknown: {text}" for text in unknown)]
    lines += [f"# not simulated: {text}" for text in unsimulated]
    if port.rate is not None and port.wire is not None:
        lines.append(f"# {rate_text(port.rate)} with {port.wire}, as bits of IP packets of {port.packet} bytes")
        lines += [f'rate   = "{scenario_rate(math.floor(port.ip_rate))}"', 'rate_layer = "l3"']
    elif port.rate is not None:
        lines.append(f'rate   = "{scenario_rate(port.rate)}"')
    if port.layer != "l3":
        lines.append(f'rate_layer = "{port.layer}"')
    if port.memory is not None and port.memory_alpha is not None:
        lines += ['memory = "pool"', f"memory_alpha = {_value(port.memory_alpha)}"]
        if port.memory_reserved is not None:
            lines.append(f'memory_reserved = "{_level(port.memory_reserved)}"')
    buffer = link_buffer(port)
    if buffer is not None:
        lines.append(f'buffer = "{buffer}"')
    else:
        lines.append('# buffer = ""  # unknown: the text does not have it, and the device shows it')
    lines += lossless_lines(port.lossless)
    if isinstance(port.queue, Classes):
        lines.append("# groups are the names of your [[flows]]; the last class takes what no other names")
    lines += _marking(port)
    lines.append(f"queue  = {link_queue(port)}")
    if port.memory is not None and port.memory_alpha is not None:
        lines += ["", "[[memories]]", 'name = "pool"', f'size = "{_level(port.memory)}"']
    return "\n".join(lines) + "\n"


def link_buffer(port: Port) -> str | None:
    """`link.buffer` of a scenario with this port, such as "512p"; None if a limit is unknown."""
    return _level(_together(port)) if port.limited else None


def link_queue(port: Port) -> str:
    """`link.queue` of a scenario with this port, as an inline table."""
    return _table(port.queue)


def _marking(port: Port) -> Iterator[str]:
    """Comments on ECN, which is a key of flow groups and not of a discipline."""
    names = _names(port.queue) if isinstance(port.queue, Classes) else [""]
    marking: dict[tuple[str, bool], list[str]] = {}
    for name, (_, queue) in zip(names, port.queues(), strict=True):
        discipline = queue.discipline
        if discipline.kind in MARKING:
            marking.setdefault((discipline.kind, discipline.ecn), []).append(name)
    for (kind, marks), members in marking.items():
        where = f" in {', '.join(members)}" if members != [""] else ""
        if marks:
            yield f"# ecn of {kind}{where}: on; it marks packets of [[flows]] with ecn = true"
        else:
            yield f"# ecn of {kind}{where}: off; omit ecn = true in [[flows]], or it marks their packets"


def _together(port: Port) -> Limit:
    """Sum of all limits; in packets if every limit is in packets, else in bytes."""
    limits = [queue.limit for _, queue in port.queues()]
    if all(limit.unit == "packets" for limit in limits):
        return Limit(sum(limit.amount for limit in limits), "packets")
    return Limit(math.ceil(port.limit_bytes()), "bytes")


def _weights(found: Classes) -> list[int]:
    """Weights as whole numbers from 1 to 10,000, in the same proportions if possible.

    A class that is promised nothing, as by "percent 0", has the smallest weight.
    """
    least = min((entry.weight for entry in found.classes if entry.weight > 0), default=1.0)
    shares = [Fraction(entry.weight / least).limit_denominator(100) for entry in found.classes]
    common = math.lcm(*(share.denominator for share in shares))
    largest = max(shares) * common
    scale = Fraction(common) if largest <= 10_000 else 10_000 / max(shares)
    return [max(1, round(share * scale)) for share in shares]


def _table(queue: Queue | Classes) -> str:
    if isinstance(queue, Queue):
        discipline = queue.discipline
        pairs = [
            ("kind", f'"{discipline.kind}"'),
            *((name, _value(value)) for name, value in discipline.parameters.items()),
        ]
        return "{ " + ", ".join(f"{name} = {value}" for name, value in pairs) + " }"
    classes = ", ".join(
        # The last class carries all traffic that no other class does.
        f"{{ {_class(entry, name, weight, named=entry is not queue.classes[-1])} }}"
        for entry, name, weight in zip(queue.classes, _names(queue), _weights(queue), strict=True)
    )
    return f'{{ kind = "classes", schedule = "{queue.schedule}", classes = [{classes}] }}'


def _names(found: Classes) -> list[str]:
    """Unique names of the classes in characters that flow groups allow: "1:10" becomes "1-10"."""
    messages: list[str] = []
    for number, entry in enumerate(found.classes, 1):
        bare = re.sub(r"[^A-Za-z0-9_-]", "-", entry.name) or "class"
        messages.append(bare if bare not in messages else f"{bare}-{number}")
    return messages


def _class(entry: TrafficClass, name: str, weight: int, *, named: bool) -> str:
    """The keys of one class; if its groups are unknown, it carries a group of its own name."""
    groups = ", ".join(json.dumps(each, ensure_ascii=False) for each in entry.groups or ((name,) if named else ()))
    pairs = {
        "name": json.dumps(name),
        **({"groups": f"[{groups}]"} if groups else {}),
        **({"priority": "true"} if entry.priority else {}),
        **({"weight": str(weight)} if not entry.priority and weight != 1 else {}),
        **({"buffer": f'"{_level(entry.queue.limit)}"'} if entry.queue.limit.known else {}),
        "queue": _table(entry.queue),
    }
    return ", ".join(f"{name} = {value}" for name, value in pairs.items())


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return f'"{scenario_time(value)}"'
    if isinstance(value, Limit):
        return f'"{_level(value)}"'
    return f'"{value}"' if isinstance(value, str) else repr(float(value)).removesuffix(".0")


def _level(limit: Limit) -> str:
    if limit.unit == "packets":
        return f"{limit.amount}p"
    return scenario_size(round(limit.amount))
