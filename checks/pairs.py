"""Scenarios that are in no reference file, for the kernel engine and the packet engine to run side by side.

Each is a few lines of data; all take 5 s of warm-up and 15 s of measurement, which a real kernel takes as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["CAUSES", "SCENARIOS"]

Group = dict[str, Any]
#: Warm-up and measured time of a run.
WARMUP, MEASURE = "5s", "15s"


def _flows(controller: str, count: int, **others: Any) -> Group:
    """Persistent flows of Linux' TCP; their starts are spread over a second."""
    rtt = others.pop("rtt", "40ms")
    name = others.pop("name", controller)
    cca = {"reno": "newreno"}.get(controller, controller)
    usual = {"workload": "persistent", "start": {"uniform": ["0s", "1s"]}}
    return {
        "name": name,
        "count": count,
        "cca": cca,
        "stack": "linux",
        "packet": "1500B",
        "rtt": rtt,
        **usual,
        **others,
    }


def _web(workload: Mapping[str, Any], **others: Any) -> Group:
    group = _flows("cubic", 1, name="web", workload=dict(workload), **others)
    return {key: value for key, value in group.items() if key not in {"count", "start"}}


def _scenario(
    flows: Sequence[Group], rate: Any = "40Mbps", buffer: str = "0.5BDP", queue: Any = "droptail"
) -> dict[str, Any]:
    link = {"rate": rate, "buffer": buffer, "queue": queue}
    return {"link": link, "flows": list(flows), "run": {"warmup": WARMUP, "measure": MEASURE, "seed": 1}}


def _both_ways(flows: Sequence[Group], up: str) -> dict[str, Any]:
    """Data over one link, acknowledgments over a slower one."""
    links = [
        {"name": "down", "rate": "40Mbps", "buffer": "100p", "target": True},
        {"name": "up", "rate": up, "buffer": "100p"},
    ]
    return {"links": links, "flows": list(flows), "run": {"warmup": WARMUP, "measure": MEASURE, "seed": 1}}


_ECN = {"ecn": True}
_SIZES = {"pareto": {"shape": 1.3, "minimum": "6kB", "maximum": "2MB"}}
_STEPS = {"steps": [["0s", "40Mbps"], ["4s", "15Mbps"]], "repeat": "8s"}
_DOWN = {"path": ["down"], "reverse": ["up"]}


def _open(load: float) -> Group:
    return _web({"open_loop": {"load": load, "size": _SIZES}})


def _closed(users: int) -> Group:
    return _web({"closed_loop": {"users": users, "think": {"exponential": "1s"}, "size": {"exponential": "100kB"}}})


def _tail_drop() -> dict[str, dict[str, Any]]:
    """Each controller over several buffers and numbers of flows."""
    found = {}
    for controller in ("reno", "cubic", "bbr"):
        for count, buffer in ((2, "0.5BDP"), (4, "2BDP"), (8, "0.25BDP"), (32, "0.5BDP")):
            found[f"{count} {controller}, {buffer}"] = _scenario([_flows(controller, count)], buffer=buffer)
    found["16 reno, 0.05BDP"] = _scenario([_flows("reno", 16)], buffer="0.05BDP")
    found["8 cubic, 0.1BDP"] = _scenario([_flows("cubic", 8)], buffer="0.1BDP")
    found["6 cubic, 20 Mb/s, 1BDP"] = _scenario([_flows("cubic", 6)], rate="20Mbps", buffer="1BDP")
    found["4 reno of 700 B, 1BDP"] = _scenario([_flows("reno", 4, packet="700B")], rate="20Mbps", buffer="1BDP")
    return found


def _mixes() -> dict[str, dict[str, Any]]:
    reno, cubic, bbr = (_flows(controller, 2) for controller in ("reno", "cubic", "bbr"))
    near, far = {"name": "near", "rtt": "20ms"}, {"name": "far", "rtt": "80ms"}
    return {
        "2 reno, 2 cubic, 1BDP": _scenario([reno, cubic], buffer="1BDP"),
        "2 cubic, 2 bbr, 1BDP": _scenario([cubic, bbr], buffer="1BDP"),
        "2 cubic, 2 bbr, 3BDP": _scenario([cubic, bbr], buffer="3BDP"),
        "2 reno, 2 cubic, 2 bbr, 0.5BDP": _scenario([reno, cubic, bbr]),
        **{
            f"{controller}, 2 of 20 ms, 2 of 80 ms": _scenario(
                [_flows(controller, 2, **near), _flows(controller, 2, **far)], buffer="1BDP"
            )
            for controller in ("reno", "cubic", "bbr")
        },
    }


def _managed() -> dict[str, dict[str, Any]]:
    """Active queue management over 2 BDP, with and without ECN."""
    found = {}
    for queue in ("red", "codel", "pie"):
        for controller, count in (("reno", 8), ("cubic", 8), ("bbr", 4)):
            found[f"{count} {controller}, {queue}"] = _scenario([_flows(controller, count)], buffer="2BDP", queue=queue)
        found[f"8 cubic with ECN, {queue}"] = _scenario([_flows("cubic", 8, **_ECN)], buffer="2BDP", queue=queue)
    fair: dict[str, Any] = {"buffer": "1000p", "queue": "fq_codel"}
    found["4 reno, 4 cubic, fq_codel"] = _scenario([_flows("reno", 4), _flows("cubic", 4)], **fair)
    found["4 cubic, 4 bbr, fq_codel"] = _scenario([_flows("cubic", 4), _flows("bbr", 4)], **fair)
    found["16 cubic with ECN, fq_codel"] = _scenario([_flows("cubic", 16, **_ECN)], **fair)
    return found


def _traffic() -> dict[str, dict[str, Any]]:
    """Web traffic, two rates of access, a changing rate, acknowledgments that queue, traffic that does not respond."""
    slow, fast = {"name": "slow", "access": {"rate": "5Mbps"}}, {"name": "fast", "access": {"rate": "100Mbps"}}
    noise = {"name": "noise", "packet": "1000B", "rtt": "40ms", "workload": {"poisson": {"rate": "10Mbps"}}}
    return {
        "web, open loop, load 0.5": _scenario([_open(0.5)], buffer="1BDP"),
        "web, open loop, load 0.4, 2 cubic": _scenario([_flows("cubic", 2), _open(0.4)], buffer="1BDP"),
        "web, closed loop, 30 users": _scenario([_closed(30)], buffer="1BDP"),
        "web, closed loop, 20 users, 2 cubic, fq_codel": _scenario(
            [_flows("cubic", 2), _closed(20)], buffer="1000p", queue="fq_codel"
        ),
        "cubic, 3 at 5 Mb/s, 3 at 100 Mb/s": _scenario([_flows("cubic", 3, **slow), _flows("cubic", 3, **fast)]),
        "reno, 3 at 5 Mb/s, 3 at 100 Mb/s": _scenario([_flows("reno", 3, **slow), _flows("reno", 3, **fast)]),
        "4 cubic, 40 and 15 Mb/s": _scenario([_flows("cubic", 4)], rate=_STEPS, buffer="100p"),
        "2 bbr, 40 and 15 Mb/s": _scenario([_flows("bbr", 2)], rate=_STEPS, buffer="100p"),
        "4 cubic, acknowledgments over 5 Mb/s": _both_ways([_flows("cubic", 4, **_DOWN)], "5Mbps"),
        "4 reno, acknowledgments beside 1 cubic": _both_ways(
            [_flows("reno", 4, **_DOWN), _flows("cubic", 1, name="upload", path=["up"], reverse=["down"])], "10Mbps"
        ),
        "3 reno beside 10 Mb/s of Poisson": _scenario([_flows("reno", 3), noise]),
    }


#: Scenarios by name.
SCENARIOS: Mapping[str, Mapping[str, Any]] = _tail_drop() | _mixes() | _managed() | _traffic()

#: Result of another emulator of the same path on the same machine and day, with two draws of the starts.
_SECOND = "real senders; a second emulator confirms it: {}"
_SHORTER = "real senders' queues are 2 to 5 % shorter, in both of two runs of the kernel"
_FULL = "the link is full except for milliseconds, and the packet engine's runs hardly vary"

#: Why a metric differs by more than three standard errors, by scenario and metric.
CAUSES: Mapping[tuple[str, str], str] = {
    ("32 reno, 0.5BDP", "loss_rate"): _SECOND.format("4.28 and 4.21 %, 14.8 and 15.4 ms"),
    ("32 reno, 0.5BDP", "queue_delay_mean_s"): _SECOND.format("4.28 and 4.21 %, 14.8 and 15.4 ms"),
    ("32 cubic, 0.5BDP", "queue_delay_mean_s"): _SECOND.format("18.28 and 18.23 ms"),
    ("16 reno, 0.05BDP", "utilization"): _SECOND.format("88.5 and 89.0 %, 0.79 and 0.80 ms"),
    ("16 reno, 0.05BDP", "queue_delay_mean_s"): _SECOND.format("88.5 and 89.0 %, 0.79 and 0.80 ms"),
    ("8 cubic, 0.1BDP", "utilization"): _SECOND.format("97.7 and 98.0 %") + ", but 98.7 % in another run",
    ("8 cubic, 0.1BDP", "loss_rate"): "chance: 0.51 % lost in another run, 0.55 and 0.49 % by the second emulator",
    ("4 reno of 700 B, 1BDP", "utilization"): _FULL,
    ("2 cubic, 2 bbr, 1BDP", "utilization"): "chance: -0.10 in another run",
    ("8 reno, red", "queue_delay_mean_s"): _SHORTER,
    ("8 cubic with ECN, red", "utilization"): _FULL,
    ("8 reno, codel", "loss_rate"): "chance, as far as is known: -0.02 in another run",
    ("8 cubic with ECN, codel", "queue_delay_mean_s"): _SHORTER,
    ("4 reno, 4 cubic, fq_codel", "queue_delay_mean_s"): _SHORTER,
}
