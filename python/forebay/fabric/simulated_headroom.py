"""The headroom that a simulated lossless port needs, as a closed form of its scenario.

The model is that of `pfc` (crates/simulation/src/pause.rs): a sender obeys a pause frame after the cable in both
directions and its response time. Until then it sends at its own rate. The packet that exceeds `xoff` and the packet in
transmission add one packet each. IEEE 802.1Q, clause 36, has the same terms. The devices' constants are in `headroom`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _core

__all__ = ["STEP", "HeadroomNeed", "headroom_need", "is_lossless"]

#: Bytes to which headroom is rounded up, as SONiC's calculations for Mellanox and Barefoot do.
STEP = 1024
#: Propagation in cables, in meters per second (SONiC's calculation).
METERS_PER_SECOND = 198e6


@dataclass(frozen=True, slots=True)
class HeadroomNeed:
    """The headroom of one sender of a lossless port.

    Attributes
    ----------
    delay_bytes : float
        Bytes that arrive during both directions of the cable and the response time.
    packet_bytes : int
        Bytes of the two packets.
    senders : int or None
        Senders that may be paused: hosts, and links before the port. None if their number changes.
    """

    delay_bytes: float
    packet_bytes: int
    senders: int | None

    @property
    def exact(self) -> float:
        """The headroom without rounding, in bytes."""
        return self.delay_bytes + self.packet_bytes

    @property
    def rounded(self) -> int:
        """The headroom, rounded up to `STEP`."""
        return math.ceil(self.exact / STEP - 1e-9) * STEP

    @property
    def wasted(self) -> int:
        """Bytes of each sender that the rounding adds."""
        return math.floor(self.rounded - self.exact)


def is_lossless(resolved: Mapping[str, Any]) -> bool:
    """Whether the target link of a resolved scenario pauses its senders."""
    return any(link.get("target") and "pfc" in link for link in resolved["links"])


def headroom_need(resolved: Mapping[str, Any]) -> HeadroomNeed:
    """The headroom that the target link of a resolved scenario needs, for the sender that needs the most.

    Parameters
    ----------
    resolved : mapping
        A scenario with every key filled in, whose target link has `pfc`.
    """
    links = {link["name"]: link for link in resolved["links"]}
    target = next(link for link in resolved["links"] if link["target"])
    pfc = target["pfc"]
    response = _core.parse_quantity(pfc["response"], "time") if "response" in pfc else 0.0
    stated = _meters(pfc["cable"]) / METERS_PER_SECOND if "cable" in pfc else None
    delay_bytes, packet, before = 0.0, 0, set()
    hosts: int | None = 0
    for group in resolved["flows"]:
        path: Sequence[str] = group.get("path", [target["name"]])
        if target["name"] not in path:
            continue
        packet = max(packet, _largest(group["packet"]))
        at = path.index(target["name"])
        if at:
            link = links[path[at - 1]]
            before.add(link["name"])
            rate, delay = _fastest(link["rate"]), _longest(link["delay"])
        else:
            access = group.get("access")
            rate, delay = _fastest(access["rate"] if access else target["rate"]), 0.0
            hosts = None if hosts is None else _added(hosts, group)
        cable = delay if stated is None else stated
        # A packet of a link takes the link's delay, which may be longer than the cable.
        frame = cable + max(cable, delay) + response
        delay_bytes = max(delay_bytes, rate * frame / 8)
    return HeadroomNeed(delay_bytes, 2 * packet, None if hosts is None else hosts + len(before))


def _added(hosts: int, group: Mapping[str, Any]) -> int | None:
    """The hosts so far and those of a group; None if their number is not fixed."""
    count = group.get("count", 1)
    workload = group["workload"]
    kind = workload if isinstance(workload, str) else next(iter(workload))
    if kind == "incast":
        count = workload[kind]["servers"]
    elif kind == "closed_loop":
        count = workload[kind]["users"]
    elif kind == "open_loop":
        return None
    return hosts + count if isinstance(count, int) else None


def _meters(text: str) -> float:
    number = text.removesuffix("m")
    return float(number[:-1]) * 1000 if number.endswith("k") else float(number)


def _fastest(rate: Any) -> float:
    """The highest rate of a link, in bits per second."""
    if isinstance(rate, str):
        return _core.parse_quantity(rate, "rate")
    if "markov" in rate:
        return max(_core.parse_quantity(state["rate"], "rate") for state in rate["markov"])
    return max(_core.parse_quantity(text, "rate") for _, text in rate["steps"])


def _longest(delay: Any) -> float:
    """The longest delay of a link, in seconds."""
    if isinstance(delay, str):
        return _core.parse_quantity(delay, "time")
    return max(_core.parse_quantity(text, "time") for _, text in delay["steps"])


def _largest(packet: Any) -> int:
    """The largest packet of a distribution, in bytes."""
    return max((math.ceil(_core.parse_quantity(text, "bytes")) for text in _texts(packet)), default=1500)


def _texts(value: Any) -> Iterator[str]:
    """All sizes in a distribution."""
    if isinstance(value, str):
        if value[:1].isdigit():
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
