"""Captures of one place: nine links, each captured at the sender, before its queue, after it, and at the receiver.

For each capture the rate is right, or it is unknown with a true bound. A host stamps packets that its card hands over
together at the same time, in microseconds; captures of senders and receivers are stamped so.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.measurement.traces import write_traces
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.inputs.capture import observe_captures
from forebay.scenario import Scenario, run_jobs
from forebay.text import formatting

__all__ = [
    "LINKS",
    "PLACES",
    "Seen",
    "Span",
    "places_off",
    "places_table",
    "restamped",
    "seen",
    "seen_at_all_places",
    "seen_in",
]

#: Places of captures.
PLACES = ("sender", "before", "behind", "receiver")
#: Largest error of a rate, as a share of it.
PROMISED = 0.02
#: Time for which a card gathers packets before a host stamps them, and time between these stamps, in nanoseconds.
HANDED_OVER_NS, STAMPED_NS = 100_000, 1_000

Group = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A link and its traffic: its rate, its buffer, and the seconds for which it is captured."""

    rate: str
    buffer: str
    flows: Sequence[Group]
    seconds: float


def _flows(controller: str, count: int, rtt: str, **others: Any) -> Group:
    usual = {"stack": "linux", "packet": "1500B", "workload": "persistent", "start": {"uniform": ["0s", "0.5s"]}}
    return {"name": controller, "cca": controller, "count": count, "rtt": rtt, **usual, **others}


def _web(load: float) -> Group:
    workload = {"open_loop": {"load": load, "size": {"lognormal": {"median": "20kB", "sigma": 1.2}}}}
    return {"name": "web", "cca": "cubic", "stack": "linux", "packet": "1500B", "rtt": "30ms", "workload": workload}


_WRITES = _flows("cubic", 4, "30ms", workload={"app_limited": {"rate": "3Mbps"}})
_WRITES.pop("start")

#: Nine links by name.
LINKS: Mapping[str, Span] = {
    "1 cubic, 10 Mb/s": Span("10Mbps", "1BDP", [_flows("cubic", 1, "40ms")], 25),
    "4 newreno, 10 Mb/s": Span("10Mbps", "0.5BDP", [_flows("newreno", 4, "60ms")], 25),
    "2 cubic, 20 Mb/s": Span("20Mbps", "2BDP", [_flows("cubic", 2, "25ms")], 20),
    "8 newreno, 50 Mb/s": Span("50Mbps", "0.25BDP", [_flows("newreno", 8, "40ms")], 15),
    "20 cubic, 100 Mb/s": Span("100Mbps", "0.5BDP", [_flows("cubic", 20, "30ms")], 8),
    "4 bbr, 50 Mb/s": Span("50Mbps", "1BDP", [_flows("bbr", 4, "40ms")], 12),
    "4 cubic + web, 20 Mb/s": Span("20Mbps", "0.5BDP", [_flows("cubic", 4, "40ms"), _web(0.3)], 20),
    "web at half load, 50 Mb/s": Span("50Mbps", "1BDP", [_web(0.5)], 15),
    "4 limited by applications, 50 Mb/s": Span("50Mbps", "1BDP", [_WRITES], 15),
}


@dataclass(frozen=True)
class Seen:
    """The finding of a capture of one place about a link's rate: a rate, a bound, or neither.

    All are in bit/s; a missing one is None.
    """

    link: str
    place: str
    truth_bps: float
    stated: IntervalEstimate | None
    at_least_bps: float | None

    @property
    def is_right(self) -> bool:
        """Whether the finding is true."""
        if self.stated is not None:
            return abs(self.stated.value / self.truth_bps - 1.0) <= PROMISED
        return self.at_least_bps is None or self.at_least_bps <= self.truth_bps


def seen_at_all_places(names: Iterable[str] = tuple(LINKS)) -> Iterator[Seen]:
    """Simulate the links, capture each at all places and observe the captures."""
    for name in names:
        for place in PLACES:
            with tempfile.TemporaryDirectory() as folder:
                yield seen(name, place, Path(folder))


def seen(name: str, place: str, folder: Path) -> Seen:
    """Simulate a link, capture it at a place into a folder and observe the capture."""
    span = LINKS[name]
    scenario = Scenario.of(_tables(span, place))
    [report] = run_jobs([_core.Job(scenario.core, "packet", 7, 0, traces=True)])
    write_traces(report, folder)
    file = folder / "packets.pcapng"
    if place in ("sender", "receiver"):
        file = folder / "host.pcap"
        restamped(folder / "packets.pcapng", file)
    else:
        # Leave out the names of the engine's interfaces, because they reveal the place.
        file = folder / "port.pcap"
        restamped(folder / "packets.pcapng", file, handed_over_ns=0)
    return seen_in(file, name, place, _core.parse_quantity(span.rate, "rate"))


def seen_in(file: Path, name: str, place: str, truth_bps: float) -> Seen:
    """Observe a capture that was taken of a link at a place.

    Parameters
    ----------
    file : Path
        The capture.
    name, place : str
        Name of the link, and place of the capture.
    truth_bps : float
        The link's rate in bit/s.
    """
    rate = observe_captures([file]).rate
    stated = rate if isinstance(rate, IntervalEstimate) else None
    bound = (rate.at_least or None) if isinstance(rate, Unknown) else None
    return Seen(name, place, truth_bps, stated, bound)


def _tables(span: Span, place: str) -> dict[str, Any]:
    """The scenario of a capture: links around the observed link set the place of the capture."""
    link: Group = {"name": "link", "rate": span.rate, "buffer": span.buffer, "queue": "droptail"}
    links, watched = [link], link
    if place == "before":
        links = [{"name": "edge", "rate": "1Gbps", "buffer": "2000p", "delay": "4ms"}, link]
    if place == "receiver":
        watched = {"name": "last", "rate": "1Gbps", "buffer": "2000p"}
        link["delay"] = "4ms"
        links = [link, watched]
    watched["target"] = True
    capture = "departures" if place in ("behind", "receiver") else "arrivals"
    flows = [{**group, "path": [each["name"] for each in links]} for group in span.flows]
    if place == "receiver":
        # A load is one of the target link.
        flows = [_of_rate(group, span) for group in flows]
    return {
        "links": links,
        "flows": flows,
        "run": {"warmup": "0s", "measure": f"{span.seconds:g}s", "seed": 7},
        "trace": {"record": ["packets"], "capture": capture, "acknowledgments": True},
    }


def _of_rate(group: Group, span: Span) -> Group:
    workload = group["workload"]
    if not isinstance(workload, dict) or "open_loop" not in workload:
        return group
    arrivals = dict(workload["open_loop"])
    offered = arrivals.pop("load") * _core.parse_quantity(span.rate, "rate")
    return {**group, "workload": {"open_loop": {**arrivals, "rate": f"{offered:.0f}bps"}}}


# Stamps --------------------------------------------------------------------------------------------------------------

_BLOCK, _PACKET, _INTERFACE = struct.Struct("<II"), 6, 1


def restamped(source: Path, to: Path, handed_over_ns: int = HANDED_OVER_NS, interface: int | None = None) -> None:
    """Write a capture of the engine again as pcap in microseconds, with the stamps of a host that gathers packets.

    Parameters
    ----------
    source, to : Path
        A pcapng file of the engine, and the pcap file.
    handed_over_ns : int
        Time for which packets are gathered, in nanoseconds; 0 leaves their times unchanged, in nanoseconds.
    interface : int, optional
        The number of the only interface whose packets are written.
    """
    data = source.read_bytes()
    magic = 0xA1B2C3D4 if handed_over_ns else 0xA1B23C4D
    unit = 1000 if handed_over_ns else 1
    records: list[bytes] = []
    link_type, last, at = 101, -1, 0
    while at + 8 <= len(data):
        kind, length = _BLOCK.unpack_from(data, at)
        if kind == _INTERFACE:
            (link_type,) = struct.unpack_from("<H", data, at + 8)
        if kind == _PACKET:
            number, high, low, captured, size = struct.unpack_from("<IIIII", data, at + 8)
            if interface is not None and number != interface:
                at += length
                continue
            time = high << 32 | low
            if handed_over_ns:
                time = max(-(-time // handed_over_ns) * handed_over_ns, last + STAMPED_NS)
            last = time
            seconds, rest = divmod(time, 1_000_000_000)
            records.append(
                struct.pack("<IIII", seconds, rest // unit, captured, size) + data[at + 28 : at + 28 + captured]
            )
        at += length
    head = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 262_144, link_type)
    to.write_bytes(head + b"".join(records))


# Table ---------------------------------------------------------------------------------------------------------------


def places_table(found: Sequence[Seen]) -> str:
    """For each place the number of stated and of right rates, and the number of stated and of true bounds."""
    head = ("captured", "links", "rate stated", "right", "bound stated", "true", "bound over the rate", "neither")
    rows = []
    for place in PLACES:
        here = [each for each in found if each.place == place]
        stated = [each for each in here if each.stated is not None]
        bounds = [each for each in here if each.stated is None and each.at_least_bps is not None]
        shares = sorted(each.at_least_bps / each.truth_bps for each in bounds if each.at_least_bps)
        rows.append(
            (
                f"at the {place}" if place in ("sender", "receiver") else f"{place} the queue",
                str(len(here)),
                str(len(stated)),
                str(sum(each.is_right for each in stated)),
                str(len(bounds)),
                str(sum(each.is_right for each in bounds)),
                f"{shares[0]:.0%} to {shares[-1]:.0%}" if shares else "–",
                str(len(here) - len(stated) - len(bounds)),
            )
        )
    return "\n".join(formatting.markdown_table(head, rows))


def places_off(found: Sequence[Seen]) -> str:
    """Findings that are not true: the link, the place, the rate, and the finding."""
    rows = []
    for each in found:
        if each.is_right:
            continue
        text = f"{each.at_least_bps:.4g} or more" if each.stated is None else f"{each.stated.value:.4g}"
        rows.append((each.link, each.place, f"{each.truth_bps:.4g}", text))
    if not rows:
        return "No rate and no bound is false."
    return "\n".join(formatting.markdown_table(("link", "captured", "true bit/s", "stated"), rows))
