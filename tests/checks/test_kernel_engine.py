"""The kernel engine on this machine, a few seconds of each kind: laws of any run, and the packet engine beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from checks.kernel_runs import ATTEMPTS, missing
from forebay import Report, Scenario, UnavailableError, UntrustedError

pytestmark = pytest.mark.real_time

RATE_BPS, RTT_S, PACKET, PAYLOAD = 20e6, 0.03, 1500, 1448

#: How far utilizations of two seconds may lie apart: the engines differ by two points at most over longer runs, but a
#: web transfer more or less is five, and a cut of BBR's or CUBIC's window that only one of them has is as much.
APART = 0.12


def flows(cca: str, count: int, **others: Any) -> dict[str, Any]:
    group = {"name": cca, "count": count, "cca": cca, "stack": "linux", "rtt": f"{RTT_S}s", "packet": f"{PACKET}B"}
    return {**group, "start": {"uniform": ["0s", "200ms"]}, "workload": "persistent", **others}


def web() -> dict[str, Any]:
    closed = {"users": 12, "think": {"exponential": "200ms"}, "size": {"exponential": "60kB"}}
    group = flows("cubic", 1, name="web", workload={"closed_loop": closed})
    return {key: value for key, value in group.items() if key not in {"count", "start"}}


#: A kind each: its groups, queue and buffer.
KINDS: Mapping[str, tuple[list[dict[str, Any]], Any, str]] = {
    "tail drop": ([flows("newreno", 4)], "droptail", "25p"),
    "a mix": ([flows("cubic", 2), flows("bbr", 2)], "droptail", "1BDP"),
    "CoDel with ECN": ([flows("cubic", 4, ecn=True)], "codel", "200p"),
    "fair queueing": ([flows("cubic", 3), flows("newreno", 3)], "fq_codel", "500p"),
    "RED": ([flows("newreno", 6)], "red", "100p"),
    "web": ([web()], "droptail", "60p"),
}


def scenario(kind: str, measure: str = "2s") -> Scenario:
    groups, queue, buffer = KINDS[kind]
    link = {"rate": f"{RATE_BPS:.0f}bps", "buffer": buffer, "queue": queue}
    return Scenario.of({"link": link, "flows": groups, "run": {"warmup": "1s", "measure": measure, "seed": 3}})


@pytest.fixture(scope="module", autouse=True)
def _machine() -> None:
    why = missing()
    if why is not None:
        pytest.skip(f"no kernel engine here: {why}")


def believed(target: Scenario) -> Report:
    """A run that the engine believes; a machine that is too late three times in a row says nothing."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return target.run("kernel")
        except UntrustedError as error:
            if attempt == ATTEMPTS:
                pytest.skip(f"refused {attempt} times: {error}")
        except UnavailableError as error:
            pytest.skip(str(error))
    raise AssertionError


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_obeys_the_laws_of_its_link(kind: str) -> None:
    required = scenario(kind)
    report = believed(required)
    metrics = report.metrics
    assert report.cost.lateness is not None
    assert 0.2 < metrics.utilization.mean <= 1.0
    buffer_s = report.buffer.seconds
    for name in ("queue_delay_mean_s", "queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"):
        # Quantiles are read off a histogram of finite resolution.
        most = buffer_s * (1.01 if "_p" in name else 1.0 + 1e-9)
        assert 0.0 <= metrics[name].mean <= most, name
    assert metrics.queue_delay_p50_s.mean <= metrics.queue_delay_p99_s.mean <= 1.01 * metrics.queue_delay_max_s.mean
    assert 0.0 <= metrics.loss_rate.mean < 0.3
    assert 0.0 <= metrics.mark_rate.mean < 0.3
    if "ecn" in KINDS[kind][0][0]:
        assert metrics.mark_rate.mean > 0.0
        assert metrics.loss_rate.mean == 0.0, "what may be marked is not dropped beneath the limit"
    packets = scenario(kind).run()
    assert abs(packets.metrics.utilization.mean - metrics.utilization.mean) <= APART


@pytest.mark.parametrize("kind", ["tail drop", "a mix"])
def test_what_was_sent_was_delivered_or_dropped_or_is_under_way(kind: str) -> None:
    """Every packet that left carried new payload or a repair, and repairs equal drops up to one window."""
    report = believed(scenario(kind))
    metrics, seconds = report.metrics, 2.0
    left = metrics.utilization.mean * RATE_BPS * seconds / 8 / PACKET
    delivered = metrics.goodput_bps.mean * seconds / 8 / PAYLOAD
    dropped = metrics.congestion_events.mean * metrics.losses_per_event_packets.mean
    arrived = left + dropped
    under_way = RATE_BPS * (RTT_S + report.buffer.seconds) / 8 / PACKET + report.buffer.packets
    assert metrics.loss_rate.mean * arrived == pytest.approx(dropped, rel=0.02, abs=1.0)
    assert abs(left - delivered) <= under_way
    repaired = sum(group.metrics["retransmissions"].mean for group in report.groups)
    assert abs(repaired - dropped) <= under_way


def test_connections_that_share_a_port_are_not_mistaken_for_each_other() -> None:
    """Ten thousand short connections come by the ports of four long ones, whose receivers are others."""
    short = web() | {"name": "short", "rtt": "5ms"}
    short["workload"] = {"open_loop": {"interarrival": {"exponential": "500us"}, "size": "1p"}}
    link = {"rate": "40Mbps", "buffer": "200p", "queue": "fq_codel"}
    tables = {"link": link, "flows": [flows("cubic", 4), short], "run": {"warmup": "500ms", "measure": "5s"}}
    long = believed(Scenario.of(tables)).groups[0]
    assert long.metrics["timeouts"].mean == 0
    assert long.flow_goodput_bps["p10"] > 0.5 * long.flow_goodput_bps["p90"]
