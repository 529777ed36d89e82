"""Every family of reference rows, elsewhere: other flows, buffers and rates than the rows have, compared with theory.

What was fitted to rows would agree with them and not with the theory of the same controller at another place.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from checks.rows import NS2_CONTROLLERS, Row, read_folder
from forebay import Report, _core
from forebay.scenario import Scenario, run_jobs
from tests.support import cycles
from tests.support.cycles import Law
from tests.support.paths import ROOT

RFC = {"recovery": "sack"}
LINUX = {"stack": "linux"}


def ns2(name: str) -> Mapping[str, Any]:
    """The keys of a controller with the behavior of ns-2."""
    return {"stack": "ns2", **NS2_CONTROLLERS[name]}


@dataclass(frozen=True)
class Controller:
    """A controller as the rows have it, and its law over round trips from `rtt` to `longest`."""

    flow: Mapping[str, Any]
    named: str

    def law(self, rtt: float, longest: float) -> Law:
        known = {
            "reno": cycles.RENO,
            "cubic": cycles.cubic(0.7),
            "cubic 0.8": cycles.cubic(0.8),
            "scalable": cycles.scalable(0.01, 0.125),
            "scalable of Linux": cycles.LINUX_SCALABLE,
            "hstcp": cycles.hstcp(),
            "hstcp of ns-2": cycles.hstcp(ns2_low_loss()),
            "hstcp table": cycles.HSTCP_TABLE,
            "htcp": cycles.htcp(rtt / longest),
            "htcp linux": cycles.htcp(rtt / longest, cycles.linux_share(rtt)),
        }
        return known[self.named]


def ns2_low_loss() -> float:
    """The loss at 38 packets that the rows of ns-2 have."""
    found = NS2_CONTROLLERS["hstcp"]["cca"]
    return float(found["low_loss"]) if isinstance(found, dict) else 1e-3


CONTROLLERS = {
    "newreno": Controller(ns2("newreno"), "reno"),
    "sack": Controller(ns2("sack"), "reno"),
    "reno of RFCs": Controller({"cca": "newreno", **RFC}, "reno"),
    "reno of Linux": Controller({"cca": "newreno", **LINUX}, "reno"),
    "cubic of RFCs": Controller({"cca": "cubic", **RFC}, "cubic"),
    "cubic of Linux": Controller({"cca": "cubic", **LINUX}, "cubic"),
    "cubic of ns-2's Linux": Controller(ns2("linux:cubic"), "cubic 0.8"),
    "scalable": Controller({"cca": "scalable", **RFC}, "scalable"),
    "scalable of Linux": Controller({"cca": "scalable", **LINUX}, "scalable of Linux"),
    "hstcp": Controller({"cca": "hstcp", **RFC}, "hstcp"),
    "hstcp of ns-2": Controller(ns2("hstcp"), "hstcp of ns-2"),
    "hstcp of ns-2's Linux": Controller(ns2("linux:highspeed"), "hstcp table"),
    "htcp": Controller({"cca": "htcp", **RFC}, "htcp"),
    "htcp of ns-2's Linux": Controller(ns2("linux:htcp"), "htcp linux"),
}


def run(link: Mapping[str, Any], *flows: Mapping[str, Any], warmup: int = 20, measure: int = 100) -> Report:
    tables = {"link": link, "flows": flows, "run": {"warmup": f"{warmup}s", "measure": f"{measure}s"}}
    (report,) = run_jobs([_core.Job(Scenario.of(tables).core, "packet", 1, 0)], 1)
    return report


def of(report: Report, metric: str) -> float:
    return report.metrics[metric].mean


def packets(flow: Mapping[str, Any], count: int, rtt: Any, **more: Any) -> dict[str, Any]:
    start = {"uniform": ["0s", "1s"]}
    return {"name": "flows", "count": count, "rtt": rtt, "packet": "1500B", "start": start, **flow, **more}


# One flow ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [10, 80])
@pytest.mark.parametrize("name", CONTROLLERS)
def test_one_flow_has_the_cycle_of_its_law(name: str, buffer: int) -> None:
    """20 Mb/s, 60 ms (100 packets): how full the link is, and which queue it leaves 5 and 95 % of the time.

    Three points and a tenth of the buffer are what detection and repair take; CUBIC's law knows its last peak to the
    packet, and its flow does not.
    """
    assert not misses_of_one_flow(CONTROLLERS[name], CONTROLLERS[name].flow, buffer)


def misses_of_one_flow(controller: Controller, flow: Mapping[str, Any], buffer: int) -> list[tuple[str, float, float]]:
    """The numbers of a flow that differ from the cycle of the controller's law: name, our value, the law's value."""
    rtt, pipe = 0.06, 100.0
    law = controller.law(rtt, rtt * (1.0 + buffer / pipe))
    expected = cycles.cycle(law, pipe + buffer + 1.0, rtt, pipe)
    found = run({"rate": "20Mbps", "buffer": f"{buffer}p"}, packets(flow, 1, "60ms"))
    allowed = 0.045 if controller.named.startswith("cubic") else 0.03
    numbers = [("utilization", of(found, "utilization"), expected.utilization, allowed)]
    for quantile in (0.05, 0.95):
        metric = f"queue_delay_p{100 * quantile:02.0f}_s"
        queue = of(found, metric) * 20e6 / 12e3
        numbers.append((metric, queue, expected.queue(quantile), 4.0 + 0.05 * buffer))
    return [(name, ours, theory) for name, ours, theory, most in numbers if abs(ours - theory) > most]


# Several flows -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CONTROLLERS)
def test_windows_and_cuts_belong_together_as_the_response_function_says(name: str) -> None:
    """Seven flows of 80 to 110 ms at 30 Mb/s: a flow that is cut once in n packets has the window of such a cycle.

    Cycles of random length have windows up to 15 % larger than equal ones; noise breaks the phases of drop-tail
    queues, which favor one flow over another.
    """
    assert 0.85 < statistics.median(ratios := window_ratios(CONTROLLERS[name], CONTROLLERS[name].flow)) < 1.2, ratios


def window_ratios(controller: Controller, flow: Mapping[str, Any]) -> list[float]:
    """Ratio of each flow's window to the window of its controller's law at the same number of reductions."""
    link = {"rate": "30Mbps", "buffer": "48p"}
    noise = {"name": "noise", "packet": "500B", "workload": {"poisson": {"rate": "1.5Mbps"}}}
    flows = packets(flow, 7, {"linspace": ["80ms", "110ms"]})
    found = run(link, flows, noise)
    header = 52 if flow.get("stack") == "linux" else 40
    payload = 1500 - int(flow.get("header", f"{header}B")[:-1])
    ratios = []
    for number, each in enumerate(found.groups[0].per_flow):
        rtt = 0.08 + 0.005 * number
        waited = rtt + of(found, "queue_delay_mean_s")
        rate = each.goodput_bps / 8.0 / payload
        law = controller.law(rtt, rtt + 48 * 12e3 / 30e6)
        ratios.append(rate * waited / cycles.window_of(law, each.congestion_events / (100.0 * rate), waited))
    return ratios


def test_a_controller_that_is_another_does_not_pass() -> None:
    """Constants as one would fit them: faster growth, a smaller cut."""
    for name, fitted in (
        ("scalable", {"kind": "scalable", "increase": 0.016}),
        ("reno of RFCs", {"kind": "aimd", "decrease": 0.3}),
    ):
        ratios = window_ratios(CONTROLLERS[name], {**CONTROLLERS[name].flow, "cca": fitted})
        assert not 0.85 < statistics.median(ratios) < 1.2, (name, statistics.median(ratios))
    for name, fitted in (
        ("cubic of RFCs", {"kind": "cubic", "beta": 0.82}),
        ("scalable", {"kind": "scalable", "decrease": 0.25}),
        ("reno of RFCs", {"kind": "aimd", "decrease": 0.4}),
    ):
        assert misses_of_one_flow(CONTROLLERS[name], {**CONTROLLERS[name].flow, "cca": fitted}, 80), name


@pytest.mark.parametrize(("flows", "buffer"), [(3, 20), (9, 12), (9, 60)])
@pytest.mark.parametrize("name", ["newreno", "sack", "reno of Linux"])
def test_equal_senders_fill_the_link_no_worse_than_all_at_once(name: str, flows: int, buffer: int) -> None:
    """25 Mb/s, 12 to 13 ms: at worst all halve together, which is the sawtooth of one."""
    pipe = 25e6 * 0.0125 / 12e3
    expected = cycles.cycle(cycles.RENO, pipe + buffer + 1.0, 0.0125, pipe)
    round_trips = {"linspace": ["12ms", "13ms"]}
    found = run({"rate": "25Mbps", "buffer": f"{buffer}p"}, packets(CONTROLLERS[name].flow, flows, round_trips))
    assert expected.utilization - 0.03 < of(found, "utilization") <= 1.0 + 1e-9
    assert of(found, "queue_mean_packets") < buffer


def padhye(loss: float, rtt: float, timeout: float) -> float:
    """Packets a second of a flow that loses so often (Padhye, Firoiu, Towsley and Kurose 1998), each acknowledged."""
    in_time = rtt * (2.0 * loss / 3.0) ** 0.5
    late = timeout * min(1.0, 3.0 * (3.0 * loss / 8.0) ** 0.5) * loss * (1.0 + 32.0 * loss**2)
    return 1.0 / (in_time + late)


def test_many_flows_with_small_windows_have_the_rates_of_pftk() -> None:
    """Sixty flows of 60 to 160 ms at 20 Mb/s over 60 packets: three packets each."""
    flows = packets(ns2("sack"), 60, {"linspace": ["60ms", "160ms"]}, min_rto="200ms")
    found = run({"rate": "20Mbps", "buffer": "60p"}, flows)
    ratios = []
    for number, flow in enumerate(found.groups[0].per_flow):
        waited = 0.06 + 0.1 * number / 59 + of(found, "queue_delay_mean_s")
        rate = flow.goodput_bps / 8.0 / 1460
        cuts = flow.congestion_events / (100.0 * rate)
        ratios.append(rate / padhye(cuts, waited, 2.0 * waited + 0.2))
    assert 0.7 < statistics.median(ratios) < 1.4, statistics.median(ratios)


# Traffic that comes and goes ---------------------------------------------------------------------------------------

MIXTURE = {"mixture": [{"weight": 0.5, "exponential": "12p"}, {"weight": 0.5, "exponential": "90p"}]}


def test_open_loop_traffic_is_carried() -> None:
    """All offered traffic leaves, plus the retransmissions and nothing else; two percent are random."""
    load = {"open_loop": {"load": 0.7, "size": MIXTURE}}
    flows = {"name": "web", **ns2("sack"), "rtt": {"uniform": ["20ms", "90ms"]}, "workload": load}
    found = run({"rate": "20Mbps", "buffer": "60p"}, flows, warmup=50, measure=600)
    repeated = found.groups[0].metrics["retransmissions"].mean * 12e3 / 600 / 20e6
    assert 0.68 < of(found, "utilization") < 0.72 + repeated


def test_closed_loop_traffic_obeys_the_response_time_law() -> None:
    """Users = rate of transfers x (time to think + time to complete) (Little 1961)."""
    users = {"users": 80, "think": {"exponential": "3s"}, "size": MIXTURE}
    flows = {"name": "web", **ns2("sack"), "rtt": "70ms", "workload": {"closed_loop": users}}
    found = run({"rate": "10Mbps", "buffer": "40p"}, flows, warmup=50, measure=600)
    bins = found.groups[0].distributions["completion_time_s"]
    count = sum(count for _, _, count in bins)
    completion = sum(0.5 * (low + high) * count for low, high, count in bins) / count
    completed = found.groups[0].completed
    assert completed is not None
    assert completed / 600 * (3.0 + completion) == pytest.approx(80, rel=0.06)


@pytest.mark.parametrize(
    ("name", "timeouts"), [("newreno", 0.1), ("sack", 0.0), ("hstcp", 0.0), ("cubic of RFCs", 0.0)]
)
def test_beside_poisson_traffic_one_flow_fills_what_is_left(name: str, timeouts: float) -> None:
    """A third of 30 Mb/s is Poisson: the rest is filled between the cycle without a buffer and that with all of it.

    Without SACK several losses of one window end in a timeout: half a second of a cycle of five.
    """
    controller = CONTROLLERS[name]
    background = {"name": "background", "packet": "1500B", "workload": {"poisson": {"rate": "10Mbps"}}}
    found = run({"rate": "30Mbps", "buffer": "40p"}, packets(controller.flow, 1, "80ms"), background)
    rtt, pipe = 0.08, 20e6 * 0.08 / 12e3
    least, most = (
        cycles.cycle(controller.law(rtt, rtt), pipe + buffer, rtt, pipe).utilization for buffer in (1.0, 41.0)
    )
    lost = found.groups[1].metrics["loss_rate"].mean
    carried = of(found, "utilization") - (1.0 - lost) / 3.0
    assert least - 0.03 - timeouts < carried * 1.5 < most + 0.03


def test_fair_queueing_gives_poisson_traffic_its_share_without_loss() -> None:
    """A third of the link is less than a half: it loses nothing, and the flow has what is left."""
    link = {"rate": "30Mbps", "buffer": "60000B", "queue": {"kind": "drr", "drop": "longest"}}
    background = {"name": "background", "packet": "1500B", "workload": {"poisson": {"rate": "10Mbps"}}}
    found = run(link, packets(CONTROLLERS["sack"].flow, 1, "80ms"), background)
    assert found.groups[1].metrics["loss_rate"].mean < 1e-3
    least = cycles.cycle(cycles.RENO, 20e6 * 0.08 / 12e3 + 1.0, 0.08, 20e6 * 0.08 / 12e3).utilization
    assert of(found, "utilization") > 1.0 / 3.0 + 2.0 / 3.0 * (least - 0.03)


@pytest.mark.parametrize(("flows", "buffer"), [(5, 80), (20, 120)])
def test_adaptive_red_holds_the_queue_halfway(flows: int, buffer: int) -> None:
    """Between 0.4 and 0.6 of the way from min to max (Floyd, Gummadi and Shenker 2001), here 0.35 to 0.65."""
    least = 0.4 * buffer
    queue = {
        "kind": "red",
        "min": f"{least:g}p",
        "max": f"{buffer}p",
        "max_p": 0.1,
        "gentle": True,
        "adaptive": True,
    }
    link = {"rate": "25Mbps", "buffer": f"{buffer}p", "delay": "10ms", "queue": queue}
    found = run(link, packets(CONTROLLERS["sack"].flow, flows, {"linspace": ["40ms", "90ms"]}), warmup=60)
    place = (of(found, "queue_mean_packets") - least) / (buffer - least)
    assert 0.35 < place < 0.65, place


# BBR, and beside others --------------------------------------------------------------------------------------------

BBR = {"cca": "bbr", **LINUX}


def test_one_bbr_flow_keeps_a_deep_buffer_nearly_empty() -> None:
    """Its probe of 1.25 fills a quarter of the product for an eighth of the time, and 0.75 empties it again."""
    found = run({"rate": "20Mbps", "buffer": "400p"}, packets(BBR, 1, "60ms"))
    assert of(found, "loss_rate") == 0.0
    assert of(found, "utilization") > 0.95
    assert of(found, "queue_mean_packets") < 0.25 * 100
    assert of(found, "queue_delay_p95_s") < 0.3 * 0.06


@pytest.mark.parametrize("flows", [3, 6])
def test_several_bbr_flows_fill_a_deep_buffer_with_their_second_window(flows: int) -> None:
    """Each overestimates its rate, until two products are in flight: 0.5 to 1.5 wait (Hock, Bless and Zitterbart 2017).

    Beyond that each keeps three bursts of two packets for offload (tcp_bbr.c, `bbr_quantization_budget`).
    """
    found = run({"rate": "30Mbps", "buffer": "1000p"}, packets(BBR, flows, "50ms"))
    pipe = 30e6 * 0.05 / 12e3
    assert 0.5 * pipe < of(found, "queue_mean_packets") < 1.5 * pipe + 6 * flows
    assert of(found, "loss_rate") < 1e-3


@pytest.mark.parametrize("part", [0.15, 0.4])
def test_bbr_loses_no_more_than_its_second_window(part: float) -> None:
    """Two products in flight over a buffer of a part of one: what is beyond is lost, and a link stays full."""
    pipe = 40e6 * 0.04 / 12e3
    found = run({"rate": "40Mbps", "buffer": f"{round(part * pipe)}p"}, packets(BBR, 5, "40ms"))
    assert 0.005 < of(found, "loss_rate") < 1.0 - (1.0 + part) / 2.0
    assert of(found, "utilization") > 0.9


def shares(first: Mapping[str, Any], second: Mapping[str, Any], link: Mapping[str, Any], rtt: str) -> float:
    """The first group's part of the goodput."""
    groups = [{**packets(flow, 1, rtt), "name": name} for name, flow in (("first", first), ("second", second))]
    found = run(link, *groups, warmup=50, measure=300)
    rates = [group.metrics["goodput_bps"].mean for group in found.groups]
    return rates[0] / sum(rates)


@pytest.mark.parametrize("products", [4, 10])
def test_beside_cubic_bbr_has_what_its_window_keeps_of_a_deep_buffer(products: int) -> None:
    """1/2 - 1/(2X) with X products of buffer, less 4 packets per flow (Ware, Mukerjee, Seshan and Sherry 2019)."""
    pipe = 20e6 * 0.04 / 12e3
    link = {"rate": "20Mbps", "buffer": f"{round(products * pipe)}p"}
    bbr = shares(BBR, {"cca": "cubic", **LINUX}, link, "40ms")
    expected = 0.5 - 0.5 / products - 4.0 / (products * pipe)
    assert bbr == pytest.approx(expected, abs=0.15)


def test_beside_reno_cubic_is_as_reno_where_windows_are_small() -> None:
    """The Reno-friendly region of RFC 9438: half each, within a fifth."""
    share = shares({"cca": "newreno", **LINUX}, {"cca": "cubic", **LINUX}, {"rate": "5Mbps", "buffer": "20p"}, "20ms")
    assert 0.4 < share < 0.6, share


# Which family is held by what --------------------------------------------------------------------------------------

LONE = "one flow has the cycle of its law"
RESPONSE = "windows and cuts belong together as the response function says"
TOGETHER = "equal senders fill the link no worse than all at once"
PFTK = "many flows with small windows have the rates of pftk"
OPEN = "open loop traffic is carried"
CLOSED = "closed loop traffic obeys the response time law"
POISSON = "beside poisson traffic one flow fills what is left"
FAIR = "fair queueing gives poisson traffic its share without loss"
RED = "adaptive red holds the queue halfway"
BBR_ALONE = "one bbr flow keeps a deep buffer nearly empty"
BBR_DEEP = "several bbr flows fill a deep buffer with their second window"
BBR_SHALLOW = "bbr loses no more than its second window"
BBR_CUBIC = "beside cubic bbr has what its window keeps of a deep buffer"
RENO_CUBIC = "beside reno cubic is as reno where windows are small"

#: Laws that are held elsewhere: in `make checks`, and in crates/packet/tests/runs and crates/congestion.
STEADY = "steady states under overload are those of the control laws"
DELAY = "delay control holds the delay"
FAIRNESS = "fair queues protect a flow from a flood"
MARKS = "random marks hold the window that theory says"

#: For each family of rows, what holds it at other numbers of flows, buffers and rates.
HELD: Mapping[str, Mapping[str, Sequence[str]]] = {
    "ns2": {
        "A_reno_fifo": (POISSON, RESPONSE),
        "A_reno_nobg": (LONE, TOGETHER),
        "A_hstcp_fifo": (POISSON, RESPONSE),
        "A_fq": (FAIR,),
        "A_sensitivity": (POISSON, LONE),
        "B_sync": (TOGETHER,),
        "B_access1g": (TOGETHER,),
        "B_random_q50": (TOGETHER,),
        "B_packet540": (TOGETHER,),
        "C_persistent": (PFTK, OPEN),
        "C_persistent_s2": (PFTK, OPEN),
        "C_closed": (CLOSED,),
        "C_closed_s2": (CLOSED,),
        "C_open": (OPEN,),
        "C_open_s2": (OPEN,),
        "C_sensitivity": (PFTK, OPEN, CLOSED),
        "D_two_fast": (LONE, RESPONSE),
        "D_long_droptail": (LONE, RESPONSE),
        "D_long_ared": (RED, RESPONSE),
        "D_2g5_long": (LONE, RESPONSE),
        "E_long_cubic": (LONE, RESPONSE),
        "E_long_highspeed": (LONE, RESPONSE),
        "E_long_htcp": (LONE, RESPONSE),
        "H_cubic4": (LONE, RESPONSE),
        "H_hstcp4": (LONE, RESPONSE),
        "H_htcp4": (LONE, RESPONSE),
        "H_ared8": (RED,),
    },
    "linux": {
        "reno": (LONE, RESPONSE, TOGETHER),
        "cubic": (LONE, RESPONSE),
        "bbr": (BBR_ALONE, BBR_DEEP, BBR_SHALLOW),
        "cubic+bbr": (BBR_CUBIC,),
        "reno+cubic": (RENO_CUBIC,),
    },
    "tofino": {
        "reno": (LONE, RESPONSE),
        "cubic": (LONE, RESPONSE),
        "scalable": (LONE, RESPONSE),
        "bbr": (BBR_ALONE, BBR_DEEP, BBR_SHALLOW),
    },
    "ns3": {
        "TcpNewReno, 4 flows": (RESPONSE, TOGETHER),
        "TcpNewReno, 4 flows, delayed acknowledgments": (RESPONSE, TOGETHER),
        "TcpLinuxReno, 4 flows, delayed acknowledgments": (RESPONSE, TOGETHER),
        "TcpNewReno, 1 flow": (LONE,),
        "TcpCubic, 4 flows": (RESPONSE,),
        "TcpCubic, 4 flows, delayed acknowledgments": (RESPONSE,),
        "TcpCubic, 1 flow": (LONE,),
        "TcpHighSpeed, 4 flows": (RESPONSE,),
        "TcpHighSpeed, 1 flow": (LONE,),
        "TcpHtcp, 4 flows": (RESPONSE,),
        "TcpHtcp, 1 flow": (LONE,),
        "TcpBbr, 4 flows": (BBR_DEEP, BBR_SHALLOW),
        "TcpBbr, 1 flow": (BBR_ALONE,),
        "RedQueueDisc": (RED, STEADY),
        "CoDelQueueDisc": (STEADY, DELAY),
        "PieQueueDisc": (STEADY, DELAY),
        "FqCoDelQueueDisc": (FAIRNESS, DELAY),
        "FqPieQueueDisc": (FAIRNESS, DELAY),
        "CobaltQueueDisc": (DELAY,),
        "TcpDctcp over RedQueueDisc": (MARKS,),
    },
}


def test_every_family_is_held_elsewhere_by_a_test_that_is_there() -> None:
    for kind, held in HELD.items():
        found = read_folder(ROOT / "tests" / "reference", kind)
        assert {row.family for row in found if isinstance(row, Row)} == set(held)
    here = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    rust = [path for folder in ("packet", "congestion") for path in (ROOT / "crates" / folder).rglob("*.rs")]
    there = "".join(path.read_text(encoding="utf-8") for path in rust if "target" not in path.parts)
    for name in {name for held in HELD.values() for names in held.values() for name in names}:
        assert name in here or f"fn {name.replace(' ', '_')}()" in there, name


def test_the_manual_lists_what_holds_each_family() -> None:
    manual = (ROOT / "docs" / "background" / "validation" / "agreement.md").read_text(encoding="utf-8")
    for held in HELD.values():
        for family, names in held.items():
            assert f"| {family} | {'; '.join(names)} |" in manual
