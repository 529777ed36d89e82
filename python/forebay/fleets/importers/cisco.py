"""Configurations of IOS, IOS XE, IOS XR, NX-OS and EOS: blocks of lines, of which each interface is a port.

The policies that an interface names go to `translate` together with the lines of the interface. Sources: the same as
those of the platforms (docs/reference/platforms.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forebay.fleets.files import SourceFile
from forebay.fleets.importers.importer import Collector, Found, Importer
from forebay.fleets.importers.port_settings import ConfiguredPort, add_port

__all__ = ["CISCO", "platform_of"]

#: Interfaces that are no ports with a queue.
_VIRTUAL = re.compile(
    r"(?:loopback|vlan|tunnel|bvi|bdi|null|nve|vxlan|bundle-ether|port-channel|dialer|virtual|multilink|nvi|"
    r"ipv4-?unnum|cmp-mgmt|group-async|async|irb|mgmt|management|mgmteth|lo[0-9]|async-?group|embedded-service|"
    r"wlan-?ap|dot11|bri|pseudowire|l2transport|tunnel-te|recirc)",
    re.IGNORECASE,
)
#: Lines of an interface that concern its queue.
_QUEUE = re.compile(
    r"(?:no )?(?:service-policy|tx-queue|uc-tx-queue|mc-tx-queue|shape |random-detect|latency maximum|"
    r"priority strict|bandwidth percent|bandwidth guaranteed|qos profile|service-profile)",
    re.IGNORECASE,
)
_INPUT = re.compile(r"service-policy (?:type \S+ )?input ", re.IGNORECASE)
#: Speeds of `speed`: Mb/s on IOS and NX-OS, words on EOS ("forced 10gfull", "100gfull", "100g").
_SPEED = re.compile(r"(?:forced |sfp-\S+ )?([0-9]+)(g?)(?:full|half|-[0-9]+)?(?: .*)?$", re.IGNORECASE)


@dataclass(slots=True)
class _Block:
    """A line at the left margin with the lines below it."""

    line: int
    head: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([self.head, *self.lines])


def _recognizes(file: SourceFile) -> bool:
    text = file.beginning
    return re.search(r"^interface [A-Za-z]", text, re.MULTILINE) is not None and "\nconfigure {" not in text


def platform_of(text: str, names: Sequence[str]) -> str:
    """The platform of a configuration, by its first lines and the names of its interfaces."""
    head = text[:20_000]
    if _XR.search(head) or (_XR_NAMES.search(" ".join(names)) and _XR_LINES.search(text)):
        return "ios-xr"
    if _EOS.search(head):
        is_trident = "DCS-" in head and re.search(r"DCS-7(?:28|50|80|02)0", head) is None
        return "eos-trident" if is_trident else "eos"
    if _NX_OS.search(head):
        return "nx-os"
    # EOS indents by three spaces, and its Ethernet ports have one or two numbers.
    is_eos = re.search(r"^interface Ethernet[0-9]+(?:/[0-9]+)?\n   [a-z]", text, re.MULTILINE)
    return "eos" if is_eos else "ios-xe"


_XR = re.compile(r"^!! ?IOS XR|RANCID-CONTENT-TYPE: cisco-xr", re.MULTILINE | re.IGNORECASE)
_XR_NAMES = re.compile(r"(?:TenGigE|HundredGigE|GigabitEthernet|MgmtEth)[0-9]+/(?:RP|RSP|CPU|[0-9])\S*/")
_XR_LINES = re.compile(r"^(?: ipv4 address|route-policy|router static$)", re.MULTILINE)
_EOS = re.compile(
    r"RANCID-CONTENT-TYPE: arista|^! (?:device|Command|boot system).*(?:EOS|DCS-|flash:/?EOS)|^daemon TerminAttr|"
    r"^transceiver qsfp|^management api",
    re.MULTILINE | re.IGNORECASE,
)
_NX_OS = re.compile(
    r"RANCID-CONTENT-TYPE: cisco-nx|^feature |^vdc |^version [0-9]+\.[0-9]+\([0-9]+\)|type (?:queuing|network-qos)|"
    r"^boot nxos",
    re.MULTILINE,
)


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip()
        if not line or line.strip() == "!":
            continue
        if line[0] in " \t" and block is not None:
            block.lines.append(line)
        else:
            if block is not None:
                yield block
            block = _Block(number, line.strip())
    if block is not None:
        yield block


def _read(file: SourceFile) -> Found:
    found = Collector()
    text = file.text
    blocks = list(_blocks(text))
    interfaces = [block for block in blocks if re.match(r"interface [A-Za-z]", block.head, re.IGNORECASE)]
    names = [_name(block.head) for block in interfaces]
    platform = platform_of(text, names)
    device = next((block.head.split()[1].strip('"') for block in blocks if _is_hostname(block.head)), "")
    policies = _policies(blocks)
    for block, name in zip(interfaces, names, strict=True):
        _port(block, name, (device or file.path.stem, platform), policies, found)
    found.notes.append(f"read as {platform}")
    return found.found


def _is_hostname(line: str) -> bool:
    return re.match(r"(?:hostname|switchname) \S", line) is not None


def _name(head: str) -> str:
    """The name of an interface without the space that IOS allows, and without words after it."""
    words = head.split()[1:]
    return "".join(words[:2]) if len(words) > 1 and words[1][:1].isdigit() and words[0].isalpha() else words[0]


def _policies(blocks: Iterable[_Block]) -> Mapping[str, _Block]:
    """The policies, class maps and profiles by their names."""
    found = {}
    for block in blocks:
        match = re.match(r"(policy-map|class-map|qos profile)(?: type \S+)?(?: match-\S+)? (\S+)", block.head)
        if match is not None:
            kind = "class-map" if match[1] == "class-map" else "policy"
            found[f"{kind} {match[2]}"] = block
    return found


def _port(block: _Block, name: str, device: tuple[str, str], policies: Mapping[str, _Block], found: Collector) -> None:
    host, platform = device
    where = f"{host} {name}"
    if _VIRTUAL.match(name):
        found.reject(block.line, f"{where}: the interface is virtual or for management; allowed: ports with a queue")
        return
    if re.search(r"\.[0-9]+$", name) or "l2transport" in block.head:
        found.reject(block.line, f"{where}: a subinterface shares the queue of its port; allowed: ports")
        return
    lines = [line.strip() for line in block.lines]
    if "shutdown" in lines:
        found.reject(block.line, f"{where}: the interface is disabled; allowed: enabled ones")
        return
    queueing = list(_queueing(block.lines))
    chosen = _of_queue(queueing, policies)
    text = "\n".join([*(each.text for each in chosen), block.head, *queueing]) + "\n" if queueing else ""
    shown = "\n".join([*(each.text for each in chosen if each.head.startswith("policy")), block.text])
    mtu = next((line.split()[-1] for line in lines if re.match(r"(?:mtu|ip mtu) [0-9]+$", line)), None)
    add_port(ConfiguredPort(host, name, platform, block.line, _speed(lines), mtu, text, shown[:4000]), found)


def _queueing(lines: Iterable[str]) -> Iterator[str]:
    """The lines of an interface that concern its queue; those of a transmit queue stand one level below it."""
    inside, level = False, 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if inside and indent > level:
            yield line
            continue
        bare = line.strip()
        inside = re.match(r"(?:uc-|mc-)?tx-queue [0-9]", bare) is not None
        level = indent
        ignored = _INPUT.match(bare) or re.match(r"service-policy (?:(?:type )?(?:pbr|pdp|control)|history) ", bare)
        if not ignored and _QUEUE.match(bare):
            yield line


def _of_queue(queueing: Sequence[str], policies: Mapping[str, _Block]) -> list[_Block]:
    """The policies that an interface names, those within them, and their class maps, before those that name them."""
    chosen: dict[str, _Block] = {}

    def add(name: str, level: int) -> None:
        policy = policies.get(f"policy {name}")
        if policy is None or name in chosen or level > 8:
            return
        for line in policy.lines:
            inner = re.match(r"\s*service-policy (?:type \S+ )?(?:output )?(\S+)$", line)
            if inner is not None:
                add(inner[1], level + 1)
            member = re.match(r"\s*class (?:type \S+ )?(\S+)", line)
            map_of_class = policies.get(f"class-map {member[1]}") if member is not None else None
            if map_of_class is not None:
                chosen.setdefault(f"class-map {map_of_class.head}", map_of_class)
        chosen[name] = policy

    for line in queueing:
        named = re.match(r"\s*(?:service-policy (?:type \S+ )?output|service-profile|qos profile) (\S+)", line)
        if named is not None:
            add(named[1], 0)
    return list(chosen.values())


def _speed(lines: Iterable[str]) -> str | None:
    """A stated speed: Mb/s, or with g."""
    for line in lines:
        if not line.startswith("speed "):
            continue
        match = _SPEED.match(line.removeprefix("speed "))
        if match is not None:
            return f"{match[1]}{'G' if match[2] else 'M'}bps"
    return None


CISCO = Importer("configuration of IOS, IOS XR, NX-OS or EOS", "docs/reference/platforms.md", _recognizes, _read)
