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
    """Whether the target link of a resolved scenario pauses its senders, with its queue or with a class."""
    return any(link["target"] and any(_of_link(link)) for link in resolved["links"])


def headroom_need(resolved: Mapping[str, Any], traffic_class: str = "") -> HeadroomNeed:
    """The headroom that a lossless queue of the target link needs, for the sender that needs the most.

    Parameters
    ----------
    resolved : mapping
        A scenario with every key filled in, whose target link has `pfc`. In a fabric all ports have the headroom of
        the target link, so that it is that of the port which needs the most.
    traffic_class : str
        The class with `pfc`; empty if the link is lossless as a whole.
    """
    target = next(link for link in resolved["links"] if link["target"])
    pfc = dict(_of_link(target))[traffic_class]
    crossing = [group for group in resolved["flows"] if target["name"] in group.get("path", [target["name"]])]
    groups = [group for group in crossing if _class_of(target, group["name"]) == traffic_class]
    packet = max((_largest(group["packet"]) for group in groups), default=0)
    if "fabric" in resolved:
        ports = [link for link in resolved["links"] if any(_of_link(link))]
        delays = [_frame_bytes(pfc, before) for port in ports for before in _into(port, resolved)]
        return HeadroomNeed(max(delays, default=0.0), 2 * packet, len(_into(target, resolved)))
    links = {link["name"]: link for link in resolved["links"]}
    delay_bytes, before = 0.0, set()
    hosts: int | None = 0
    for group in groups:
        path: Sequence[str] = group.get("path", [target["name"]])
        at = path.index(target["name"])
        if at:
            link = links[path[at - 1]]
            before.add((link["name"], _class_of(link, group["name"])))
            delay_bytes = max(delay_bytes, _frame_bytes(pfc, link))
        else:
            host = {"rate": group["access"]["rate"] if group.get("access") else target["rate"]}
            hosts = None if hosts is None else _added(hosts, group)
            delay_bytes = max(delay_bytes, _frame_bytes(pfc, host))
    return HeadroomNeed(delay_bytes, 2 * packet, None if hosts is None else hosts + len(before))


def _of_link(link: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names of the lossless classes of a link with their `pfc`; an empty name for the link's own queue."""
    if "pfc" in link:
        yield "", link["pfc"]
    for each in _classes(link):
        if "pfc" in each:
            yield each["name"], each["pfc"]


def _classes(link: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The classes of a link."""
    queue = link["queue"]
    return queue.get("classes", ()) if isinstance(queue, Mapping) else ()


def _class_of(link: Mapping[str, Any], group: str) -> str:
    """The class of a group at a link; empty without classes."""
    classes = _classes(link)
    named = (each["name"] for each in classes if group in each.get("groups", ()))
    return next(named, classes[-1]["name"] if classes else "")


def _into(port: Mapping[str, Any], resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The links of a fabric whose packets a port may forward: not those from the device that it leads to."""
    here, _, there = port["name"].partition("-")
    return [
        link for link in resolved["links"] if link["name"].endswith(f"-{here}") and link["name"] != f"{there}-{here}"
    ]


def _frame_bytes(pfc: Mapping[str, Any], before: Mapping[str, Any]) -> float:
    """Bytes that a sender sends from a decision of the queue until it obeys.

    Parameters
    ----------
    pfc : mapping
        The keys of the lossless queue.
    before : mapping
        The link before the queue, or the rate of a host.
    """
    response = _core.parse_quantity(pfc["response"], "time") if "response" in pfc else 0.0
    delay = _longest(before["delay"]) if "delay" in before else 0.0
    cable = _meters(pfc["cable"]) / METERS_PER_SECOND if "cable" in pfc else delay
    # A packet of a link takes the link's delay, which may be longer than the cable.
    return _fastest(before["rate"]) * (cable + max(cable, delay) + response) / 8


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
