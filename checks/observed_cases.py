"""Scenarios whose captures are observed; each states the truth.

A capture has some hundred thousand packets at most. Fast links are therefore watched for a short time, over round trips
as short as they usually have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["CASES", "Case"]

Group = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A scenario and the truth about it.

    Attributes
    ----------
    tables : mapping
        Tables of the scenario, with its trace.
    limited : int or None
        Number of flows that its link limits; None if that is open to argument.
    full : bool
        Whether the link was full at times, so that its rate can be seen.
    buffer : bool
        Whether its buffer can be seen: it is captured on both sides, and it overflows.
    """

    tables: Mapping[str, Any]
    limited: int | None
    full: bool = True
    buffer: bool = False


def _flows(controller: str, count: int, rtt: Any, **others: Any) -> Group:
    name = others.pop("name", controller)
    usual = {"stack": "linux", "packet": "1500B", "workload": "persistent", "start": {"uniform": ["0s", "0.5s"]}}
    return {"name": name, "cca": controller, "count": count, "rtt": rtt, **usual, **others}


def _spread(count: int, least_ms: float, most_ms: float) -> list[str]:
    """Round trips at equal distances, one for each flow."""
    return [f"{least_ms + (most_ms - least_ms) * index / (count - 1):.4g}ms" for index in range(count)]


def _web(load: float, rtt: str, size: Any = None) -> Group:
    size = size or {"lognormal": {"median": "20kB", "sigma": 1.2}}
    workload = {"open_loop": {"load": load, "size": size}}
    return {"name": "web", "cca": "cubic", "stack": "linux", "packet": "1500B", "rtt": rtt, "workload": workload}


def _case(
    rate: str,
    flows: list[Group],
    seconds: float,
    *,
    buffer: str = "0.5BDP",
    queue: Any = "droptail",
    capture: str = "departures",
    warmup: float = 2.0,
    limited: int | None = None,
    full: bool = True,
) -> Case:
    link = {"rate": rate, "buffer": buffer, "queue": queue}
    trace = {"record": ["packets", "transfers"], "capture": capture, "acknowledgments": True, "from": f"{warmup:g}s"}
    run = {"warmup": f"{warmup:g}s", "measure": f"{seconds:g}s", "seed": 7}
    if limited is None and all(group["workload"] == "persistent" for group in flows):
        limited = sum(group["count"] for group in flows)
    seen = capture == "both" and full and queue == "droptail"
    tables = {"link": link, "flows": flows, "run": run, "trace": trace}
    return Case(tables, limited, full=full, buffer=seen)


def _long_flows() -> dict[str, Case]:
    """One controller each, from 10 Mb/s to 10 Gb/s and from 1 to 200 flows."""
    found = {}
    for controller in ("newreno", "cubic", "bbr"):
        slow = [_flows(controller, 1, "40ms")]
        found[f"1 {controller}, 10 Mb/s"] = _case("10Mbps", slow, 60, buffer="1BDP", warmup=5)
        few = [_flows(controller, 2, ["20ms", "60ms"])]
        found[f"2 {controller}, 20 Mb/s, two round trips"] = _case("20Mbps", few, 60, buffer="1BDP", warmup=5)
        found[f"5 {controller}, 50 Mb/s"] = _case("50Mbps", [_flows(controller, 5, "30ms")], 30, warmup=5)
        spread = [_flows(controller, 20, _spread(20, 10, 80))]
        found[f"20 {controller}, 100 Mb/s"] = _case("100Mbps", spread, 20, warmup=5)
        many = [_flows(controller, 50, _spread(50, 10, 50))]
        found[f"50 {controller}, 200 Mb/s"] = _case("200Mbps", many, 12, buffer="0.25BDP", warmup=4)
    for controller in ("newreno", "cubic"):
        all_of_them = [_flows(controller, 200, _spread(200, 5, 25))]
        found[f"200 {controller}, 1 Gb/s"] = _case("1Gbps", all_of_them, 3, buffer="0.2BDP", warmup=2)
        rack = [_flows(controller, 20, _spread(20, 1, 3), start={"uniform": ["0s", "10ms"]})]
        found[f"20 {controller}, 10 Gb/s"] = _case("10Gbps", rack, 0.25, buffer="1BDP", warmup=0.2)
    return found


def _mixes() -> dict[str, Case]:
    found = {}
    for pair in (("newreno", "cubic"), ("cubic", "bbr"), ("newreno", "bbr")):
        both = [_flows(controller, 4, "40ms") for controller in pair]
        found[f"4 {pair[0]} + 4 {pair[1]}"] = _case("50Mbps", both, 30, buffer="1BDP", warmup=5)
    three = [_flows("cubic", 10, _spread(10, 10, 40)), _flows("newreno", 5, "60ms")]
    found["10 cubic + 5 newreno, 100 Mb/s"] = _case("100Mbps", three, 20, warmup=5)
    far = [_flows("cubic", 3, "10ms"), _flows("cubic", 3, "120ms", name="far")]
    found["3 near + 3 far cubic"] = _case("50Mbps", far, 30, buffer="1BDP", warmup=5)
    return found


def _queues() -> dict[str, Case]:
    """Disciplines, and buffers from small to large."""
    found = {}
    for queue in ("red", "codel", "fq_codel", "pie"):
        found[f"8 cubic, {queue}"] = _case("50Mbps", [_flows("cubic", 8, "40ms")], 30, buffer="2BDP", queue=queue)
    marked = [_flows("cubic", 8, "40ms", ecn=True)]
    found["8 cubic, codel that marks"] = _case("50Mbps", marked, 30, buffer="2BDP", queue="codel")
    for buffer in ("0.1BDP", "0.25BDP", "2BDP"):
        found[f"8 newreno, {buffer}"] = _case("50Mbps", [_flows("newreno", 8, "40ms")], 30, buffer=buffer)
    return found


def _both_sides() -> dict[str, Case]:
    """Cases captured on both sides of the queue: waiting and lost packets are seen."""
    found = {}
    for controller, count, buffer in (
        ("newreno", 1, "0.5BDP"),
        ("cubic", 4, "0.25BDP"),
        ("cubic", 16, "1BDP"),
        ("bbr", 4, "1BDP"),
        ("newreno", 32, "60p"),
        ("cubic", 8, "300kB"),
    ):
        flows = [_flows(controller, count, "40ms")]
        name = f"{count} {controller}, {buffer}, both sides"
        found[name] = _case("40Mbps", flows, 20, buffer=buffer, capture="both", warmup=4)
    fast = [_flows("cubic", 20, _spread(20, 2, 8))]
    found["20 cubic, 1 Gb/s, both sides"] = _case("1Gbps", fast, 2, capture="both", warmup=1)
    codel = [_flows("cubic", 8, "40ms")]
    found["8 cubic, codel, both sides"] = _case("40Mbps", codel, 20, buffer="2BDP", queue="codel", capture="both")
    web = [_flows("cubic", 4, "40ms"), _web(0.2, "40ms")]
    found["4 cubic + web, both sides"] = _case("40Mbps", web, 20, capture="both", warmup=4, limited=4)
    return found


def _before() -> dict[str, Case]:
    """Cases that are captured only before the queue."""
    found = {}
    for controller, count in (("newreno", 4), ("cubic", 12), ("bbr", 2)):
        flows = [_flows(controller, count, "40ms")]
        found[f"{count} {controller}, seen before"] = _case("40Mbps", flows, 20, capture="arrivals", warmup=4)
    return found


def _transfers() -> dict[str, Case]:
    """Web traffic alone and beside long flows."""
    found = {}
    for load in (0.2, 0.5, 0.8):
        web = [_web(load, "30ms")]
        found[f"web at {load:.0%}"] = _case("50Mbps", web, 40, buffer="1BDP", limited=0, full=False)
    heavy = [_web(0.5, "30ms", {"pareto": {"shape": 1.3, "minimum": "6kB", "maximum": "3MB"}})]
    found["web of Pareto sizes"] = _case("100Mbps", heavy, 25, buffer="1BDP", limited=None, full=False)
    small = [_web(0.3, "20ms", {"exponential": "15kB"})]
    found["web of exponential sizes"] = _case("50Mbps", small, 40, buffer="1BDP", limited=0, full=False)
    for count in (2, 10):
        flows = [_flows("cubic", count, "40ms"), _web(0.3, "40ms")]
        found[f"{count} cubic + web"] = _case("50Mbps", flows, 30, warmup=5, limited=count)
    return found


def _elsewhere() -> dict[str, Case]:
    """Flows that something other than the link limits, alone and beside flows that the link limits."""
    found = {}
    app = _flows("cubic", 8, "40ms", name="video", workload={"app_limited": {"rate": "3Mbps"}})
    app.pop("start")
    found["8 limited by applications, link half full"] = _case("50Mbps", [app], 20, limited=0, full=False)
    access = _flows("cubic", 6, "40ms", name="slow", access={"rate": "5Mbps", "queue": "100p"})
    found["6 limited by access, link not full"] = _case("50Mbps", [access], 20, limited=0, full=False)
    window = _flows("cubic", 4, "40ms", name="windowed", receive_window="20p")
    found["4 limited by receivers, link not full"] = _case("50Mbps", [window], 20, limited=0, full=False)
    for name, group in (("applications", app), ("access", access), ("receivers", window)):
        bulk = _flows("cubic", 4, "40ms", name="bulk")
        found[f"4 cubic beside those limited by {name}"] = _case(
            "100Mbps", [bulk, dict(group)], 20, warmup=4, limited=4
        )
    voice = {"name": "voice", "count": 10, "workload": "voip"}
    found["4 cubic beside voice"] = _case("20Mbps", [_flows("cubic", 4, "40ms"), voice], 30, warmup=4, limited=4)
    noise = {"name": "noise", "workload": {"poisson": {"rate": "15Mbps"}}}
    found["4 cubic beside Poisson"] = _case("50Mbps", [_flows("cubic", 4, "40ms"), noise], 30, warmup=4, limited=4)
    found["Poisson alone"] = _case("50Mbps", [dict(noise)], 20, buffer="100p", limited=0, full=False)
    return found


def _packets_and_stacks() -> dict[str, Case]:
    """Packet sizes, stacks and acknowledgments."""
    found = {}
    small = [_flows("cubic", 6, "30ms", packet="600B")]
    found["6 cubic of 600 bytes"] = _case("20Mbps", small, 25, warmup=4)
    mixed = [_flows("cubic", 3, "30ms"), _flows("newreno", 3, "30ms", name="small", packet="576B")]
    found["two packet sizes"] = _case("20Mbps", mixed, 25, warmup=4)
    single = [_flows("cubic", 6, "30ms", offload=False)]
    found["6 cubic without offload"] = _case("30Mbps", single, 25, warmup=4)
    plain = [{**_flows("newreno", 6, "30ms"), "stack": "rfc"}]
    found["6 newreno of the RFCs"] = _case("30Mbps", plain, 25, warmup=4)
    upstream = _case("30Mbps", [_flows("cubic", 6, "40ms", path=["edge", "link"])], 25, warmup=4)
    links = [
        {"name": "edge", "rate": "200Mbps", "buffer": "1000p", "delay": "8ms"},
        {"name": "link", "target": True, **upstream.tables["link"]},
    ]
    tables = {"links": links, **{key: value for key, value in upstream.tables.items() if key != "link"}}
    found["6 cubic, 8 ms from the router"] = replace(upstream, tables=tables)
    long = [_flows("cubic", 3, "300ms")]
    found["3 cubic over a satellite"] = _case("20Mbps", long, 60, warmup=10)
    return found


#: Each case by its name.
CASES: Mapping[str, Case] = {
    **_long_flows(),
    **_mixes(),
    **_queues(),
    **_both_sides(),
    **_before(),
    **_transfers(),
    **_elsewhere(),
    **_packets_and_stacks(),
}
