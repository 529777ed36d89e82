"""The checks of queue disciplines. Each runs its own scenarios and gives one verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from forebay.algorithms.processes import close_idle
from forebay.contract.answer import Check, Verdict
from forebay.contract.control_checks import ATTEMPTS, equality, pinned_math
from forebay.contract.trials import PACKET, Trials, flows, numbers

__all__ = ["LIMIT", "QUEUE_CHECKS", "SIGNAL", "SPEED", "WORDS"]

#: Bits per second of the overloaded link, and packets of its buffer.
RATE, LIMIT = 10e6, 50
#: Largest mean queue without ECN, over that with ECN. `step` has 5.5: it only marks.
SIGNAL = 3.0
#: Fewest packets for each second of processor time.
SPEED = 100_000.0
#: Shortest time that counts as a difference of two times, in seconds.
LEAST_S = 1e-9
#: Words of the engine's errors, by the check that they belong to.
WORDS: Mapping[str, tuple[str, ...]] = {
    "memory": ("the buffer of the link",),
    "work": ("None while",),
    "conservation": ("does not hold", "a packet that waits"),
    "marks": ("attribute 'marked'", "attribute 'ecn'"),
}


def _verdict(passed: bool) -> Verdict:
    return "pass" if passed else "fail"


def _overloaded(trials: Trials) -> tuple[float, Mapping[str, Any], Mapping[str, Any]]:
    """Twice the rate of the link for 5 s, then 5 s without arrivals: packets that left, and both traces."""
    groups = [
        {"name": f"load{number}", "workload": {"poisson": {"rate": "5Mbps"}}, "stop": "5s"} for number in range(4)
    ]
    link = {"rate": "10Mbps", "buffer": f"{LIMIT}p", "queue": trials.subject.table}
    run = {"warmup": "0s", "measure": "10s"}
    report = trials.run(*groups, link=link, run=run, every="1ms", record=("packets", "queue"))
    traces = report.core.traces()
    assert traces is not None, "the trace was requested"
    left = report.metrics["utilization"].mean * RATE * 10 / 8 / PACKET
    return left, traces["packets"], traces["queue"]


def conservation(trials: Trials) -> Check:
    """The packets that arrived, without those that were dropped, that left and that wait at the end."""
    left, packets, queue = _overloaded(trials)
    arrived, dropped = len(packets["time_s"]), int(packets["dropped"].sum())
    missing = round(arrived - dropped - left - float(queue["packets"][-1]))
    figure = f"{missing} of {arrived:,} packets"
    return Check("conservation", _verdict(missing == 0), figure, "none", float(missing))


def fifo(trials: Trials) -> Check:
    """The packets of a flow that left before an earlier packet of the same flow."""
    _, packets, _ = _overloaded(trials)
    overtaken = 0
    for group in np.unique(packets["group"]):
        chosen = (packets["group"] == group) & ~packets["dropped"]
        leaves = packets["time_s"][chosen] + packets["wait_s"][chosen]
        overtaken += int((np.diff(leaves) < -LEAST_S).sum())
    figure = f"{overtaken} of {len(packets['time_s']):,} packets"
    return Check("fifo", _verdict(overtaken == 0), figure, "none", float(overtaken))


def work(trials: Trials) -> Check:
    """The time during which the link was idle although a packet waited."""
    _, packets, _ = _overloaded(trials)
    kept = ~packets["dropped"]
    arrives = packets["time_s"][kept]
    leaves = arrives + packets["wait_s"][kept]
    order = np.argsort(leaves, kind="stable")
    arrives, leaves = arrives[order], leaves[order]
    free = np.concatenate([[0.0], leaves[:-1] + PACKET * 8 / RATE])
    late = leaves - np.maximum(arrives, free)
    idle = float(late[late > LEAST_S].sum())
    return Check("work", _verdict(idle == 0.0), f"{1000 * idle:.3g} ms", "none", idle)


def memory(trials: Trials) -> Check:
    """The most packets that wait at twice the rate of the link."""
    _, _, queue = _overloaded(trials)
    most = float(queue["packets"].max())
    return Check(
        "memory",
        _verdict(most <= LIMIT),
        f"{most:.0f} packets",
        f"≤ {LIMIT}, the buffer",
        most,
    )


def marks(trials: Trials) -> Check:
    """Marks on packets without ECN, and whether a queue that marks drops instead where it cannot mark."""
    allowed = "none"
    link = {"buffer": "200p", "queue": trials.subject.table}
    found = {}
    for ecn in (True, False):
        report = trials.run(flows("cubic", 2, ecn=ecn), link=link)
        found[ecn] = report.metrics["mark_rate"].mean, report.metrics["queue_mean_packets"].mean
    (marked, with_ecn), (wrong, without) = found[True], found[False]
    if wrong > 0:
        return Check("marks", "fail", f"{100 * wrong:.2g} % of packets", allowed, wrong)
    if marked == 0:
        return Check("marks", "pass", "none", allowed, 0.0)
    ratio = without / max(with_ecn, 1.0)
    figure = "none" if ratio <= SIGNAL else f"queue {ratio:.1f} × without ECN"
    reason = f"It may be {SIGNAL:g} × that with ECN: what cannot be marked has to be dropped (RFC 3168, section 5)."
    reasons = () if ratio <= SIGNAL else (reason,)
    return Check("marks", _verdict(ratio <= SIGNAL), figure, allowed, ratio, reasons)


def equal_results(trials: Trials) -> Check:
    """The numbers of equal runs in two processes, and the sources of chance in the text."""
    found = []
    for _ in range(2):
        close_idle()  # The next run gets a process of its own.
        link = {"buffer": "0.5BDP", "queue": trials.subject.table}
        found.append(numbers(trials.run(flows("cubic", 3), link=link, run={"warmup": "1s", "measure": "20s"})))
    return equality(trials, found)


def speed(trials: Trials) -> Check:
    """The packets for each second of processor time, the engine's own work included."""
    found = 0.0
    for _ in range(ATTEMPTS):
        link = {"rate": "100Mbps", "queue": trials.subject.table}
        cost = trials.run(flows("newreno", 2), link=link, run={"warmup": "0s", "measure": "10s"}).cost
        found = max(found, cost.data_packets / max(cost.cpu_s, 1e-9))
        if found >= SPEED:
            break
    allowed = f"≥ {SPEED:,.0f} packets/s"
    return Check("speed", _verdict(found >= SPEED), f"{found:,.0f} packets/s", allowed, found)


#: The checks in the order of the table.
QUEUE_CHECKS: Mapping[str, Callable[[Trials], Check]] = {
    "conservation": conservation,
    "fifo": fifo,
    "work": work,
    "memory": memory,
    "marks": marks,
    "equal_results": equal_results,
    "pinned_math": pinned_math,
    "speed": speed,
}
