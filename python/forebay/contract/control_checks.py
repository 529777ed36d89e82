"""The checks of congestion controls. Each runs its own scenarios and gives one verdict.

Each constant is an allowed value. It states which of forebay's own algorithms do not meet it, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from forebay.algorithms.processes import close_idle
from forebay.contract import static_checks
from forebay.contract.answer import Check, Verdict
from forebay.contract.trials import RTT_S, Trials, flows, goodput, numbers

__all__ = [
    "ATTEMPTS",
    "BUFFERS",
    "CONTROL_CHECKS",
    "ECN_QUEUE",
    "ECN_UTILIZATION",
    "JAIN",
    "LOSS_GOODPUT",
    "SHARE",
    "SPEED",
]

#: The columns of a trace, by table and name.
Traces = Mapping[str, Mapping[str, Any]]

#: Smallest Jain index of four flows with equal round trips. Vegas has 0.67; Swift has 0.32 outside of data centers.
JAIN = 0.6
#: Smallest share of the goodput that CUBIC and New Reno keep. BBR leaves them 1 %, Copa 2 %.
SHARE = 0.05
#: Buffers of the shares, in BDP.
BUFFERS = (0.1, 0.3, 1.0, 3.0)
#: Smallest goodput under random loss, over that of New Reno. LEDBAT++ has 0.51.
LOSS_GOODPUT = 0.5
#: Least time between two losses of which the window shows the reaction, in seconds. BBR and BBRv3 set the window in
#: recovery themselves, CDG ignores some losses, and Swift reacts to one of them per round trip at most.
PAUSE_S = 5 * RTT_S
#: Time until which the losses of the first slow start are under repair, in seconds.
SETTLED_S = 10.0
#: Smallest window whose reaction counts, in packets.
LEAST_WINDOW = 4.0
#: Largest part of the packets that are sent again. BIC and BBRv3 have 0.16 %, and a window that falls by 5 % has 2 %.
REPEATED = 0.05
#: Most packets that wait on average behind a queue that marks from 20 packets on. BBR has 85: it ignores marks.
ECN_QUEUE = 25.0
#: Smallest utilization there. LEDBAT++ has 0.72.
ECN_UTILIZATION = 0.7
#: Packets of an initial window (RFC 6928).
INITIAL_WINDOW = 10
#: Fewest acknowledgments for each second of processor time.
SPEED = 300_000.0
#: Most runs of which the fastest counts, because other processes slow some down.
ATTEMPTS = 2
#: Most reasons that a check lists.
MOST_REASONS = 5


def _verdict(passed: bool, otherwise: Verdict = "fail") -> Verdict:
    return "pass" if passed else otherwise


def window(trials: Trials) -> Check:
    """The smallest window that the algorithm set, in a scenario with timeouts."""
    link = {"rate": "10Mbps", "buffer": "5p", "loss": {"random": "3%"}}
    least = trials.least_window(flows(None, 8, rtt="20ms"), link=link, run={"measure": "20s"}, every="10ms")
    figure = f"{least:.2f} packets"
    return Check("window", _verdict(least >= 1.0), figure, "≥ 1 packet", least)


def loss(trials: Trials) -> Check:
    """The window within two round trips after each single loss, over the window before it."""
    allowed = "smaller after each"
    report = trials.run(
        flows(trials.subject.table),
        link={"loss": {"random": "0.05%"}},
        run={"warmup": "0s", "measure": "60s"},
        every="1ms",
        record=("cwnd", "packets"),
    )
    traces = report.core.traces()
    assert traces is not None, "the trace was requested"
    ratios, repeated = _reactions(traces)
    fell = sum(ratio < 1 for ratio in ratios)
    middle = float(np.median(ratios)) if ratios else None
    passed = 0 < fell == len(ratios) and repeated <= REPEATED
    if repeated > REPEATED:
        figure = f"{100 * repeated:.0f} % sent again"
        allowed = f"≤ {100 * REPEATED:.0f} % sent again"
    elif middle is None:
        return Check("loss", "note", "no single loss to judge" if repeated else "no loss was seen", allowed)
    else:
        figure = f"falls to {100 * middle:.0f} %" if passed else f"smaller after {fell} of {len(ratios)}"
    reasons = ("The class sets the window in recovery itself.",) if trials.subject.own_recovery and not passed else ()
    verdict = _verdict(passed, "note" if trials.subject.own_recovery else "fail")
    return Check("loss", verdict, figure, allowed, middle, reasons)


def _reactions(traces: Traces) -> tuple[list[float], float]:
    """The smallest window after each single loss over the window before it, and the part of packets sent again.

    The first retransmission of a loss recovery leaves at the time of the congestion event.
    """
    times, windows = traces["flows"]["time_s"], traces["flows"]["cwnd_packets"]
    settled = traces["packets"]["time_s"] >= SETTLED_S
    sent, packets = traces["packets"]["time_s"][settled], traces["packets"]["packet"][settled]
    again = np.flatnonzero(packets[1:] <= np.maximum.accumulate(packets)[:-1]) + 1
    ratios, last = [], SETTLED_S
    for now in sent[again]:
        is_single, last = now - last > PAUSE_S, now
        before = windows[max(0, int(np.searchsorted(times, now)) - 1)]
        after = windows[(times > now) & (times <= now + 2 * RTT_S)]
        # At two packets a window cannot fall (RFC 5681, equation 4).
        if is_single and before > LEAST_WINDOW and len(after):
            ratios.append(float(after.min() / before))
    return ratios, len(again) / max(len(sent), 1)


def ecn(trials: Trials) -> Check:
    """The queue behind a link that marks from 20 packets on, and the utilization that remains."""
    link = {"buffer": "200p", "queue": {"kind": "step", "threshold": "20p"}}
    report = trials.run(flows(trials.subject.table, 2, ecn=True, start=["0s", "100ms"]), link=link)
    queue, used = report.metrics["queue_mean_packets"].mean, report.metrics["utilization"].mean
    passed = queue <= ECN_QUEUE and used >= ECN_UTILIZATION
    figure = f"{queue:.0f} packets, {100 * used:.0f} % used"
    allowed = f"≤ {ECN_QUEUE:.0f} packets, ≥ {100 * ECN_UTILIZATION:.0f} %"
    reasons = ("The class sets the window in recovery itself.",) if trials.subject.own_recovery and not passed else ()
    verdict = _verdict(passed, "note" if trials.subject.own_recovery else "fail")
    return Check("ecn", verdict, figure, allowed, queue, reasons)


def fairness(trials: Trials) -> Check:
    """The Jain index of four flows over 60 s, as the mean over three seeds."""
    report = trials.run(flows(trials.subject.table, 4), run={"replications": 3})
    index = report.metrics["jain_index"].mean
    return Check("fairness", _verdict(index >= JAIN), f"Jain {index:.2f}", f"≥ {JAIN}", index)


def shares(trials: Trials, other: str) -> dict[float, float]:
    """The share of the goodput that two flows of another algorithm keep beside two of this one, by buffer in BDP."""
    found = {}
    for buffer in BUFFERS:
        mine, theirs = flows(trials.subject.table, 2), flows(other, 2, "theirs")
        report = trials.run(mine, theirs, link={"buffer": f"{buffer:g}BDP"})
        both = goodput(report), goodput(report, "theirs")
        found[buffer] = both[1] / max(sum(both), 1.0)
    return found


def share(trials: Trials, other: str, title: str) -> Check:
    """The smallest share that another algorithm keeps; a note if this one keeps little itself."""
    found = shares(trials, other)
    least, most = min(found.values()), max(found.values())
    reasons = []
    if least < SHARE:
        reasons = [
            f"{title} keeps {100 * kept:.1f} % at {buffer:g} BDP." for buffer, kept in found.items() if kept < SHARE
        ]
    elif 1 - most < SHARE:
        reasons = [f"It keeps only {100 * (1 - most):.1f} % for itself at one buffer."]
    verdict: Verdict = "fail" if least < SHARE else "note" if reasons else "pass"
    figure = f"{100 * least:.0f} to {100 * most:.0f} %"
    return Check(f"share_{other}", verdict, figure, f"≥ {100 * SHARE:.0f} %", least, tuple(reasons))


def random_loss(trials: Trials, percent: int) -> Check:
    """The goodput under random loss, over that of New Reno."""
    link = {"loss": {"random": f"{percent}%"}}
    ours = goodput(trials.run(flows(trials.subject.table), link=link))
    theirs = goodput(trials.run(flows("newreno"), link=link))
    ratio = ours / max(theirs, 1.0)
    return Check(
        f"random_loss_{percent}",
        _verdict(ratio >= LOSS_GOODPUT),
        f"{ratio:.2f} × New Reno",
        f"≥ {LOSS_GOODPUT} × New Reno",
        ratio,
    )


def idle(trials: Trials) -> Check:
    """The packets that leave within a round trip after an idle time."""
    group = flows(trials.subject.table, workload={"periodic": {"every": "4s", "size": "300p"}})
    run = {"warmup": "0s", "measure": "40s"}
    report = trials.run(group, link={"buffer": "2BDP"}, run=run, every="1s", record=("packets",))
    traces = report.core.traces()
    assert traces is not None, "the trace was requested"
    times = traces["packets"]["time_s"]
    starts = np.flatnonzero(np.diff(times) > 1.0) + 1
    bursts = [int(((times >= times[at]) & (times < times[at] + 0.98 * RTT_S)).sum()) for at in starts]
    most = max(bursts, default=0)
    allowed = f"≤ {INITIAL_WINDOW} packets"
    if not bursts:
        return Check("idle", "note", "no idle time was seen", allowed)
    passed = most <= INITIAL_WINDOW
    reasons = () if passed else ("RFC 5681, section 4.1, allows an initial window. Pacing can make more harmless.",)
    return Check("idle", _verdict(passed, "note"), f"{most} packets", allowed, float(most), reasons)


def equal_results(trials: Trials) -> Check:
    """The numbers of equal runs in two processes, and the sources of chance in the text."""
    group = flows(trials.subject.table, 3)
    found = []
    for _ in range(2):
        close_idle()  # The next run gets a process of its own.
        found.append(numbers(trials.run(group, run={"warmup": "1s", "measure": "20s"})))
    return equality(trials, found)


def equality(trials: Trials, found: list[str]) -> Check:
    """The verdict on the numbers of two runs."""
    # A module has no text, and no clock or chance of its own.
    subject = trials.subject
    reasons = static_checks.chance(subject.source, subject.file)[:MOST_REASONS] if subject.is_python else ()
    equal = found[0] == found[1]
    figure = "different" if not equal else f"equal, but {len(reasons)} risks in the text" if reasons else "equal"
    return Check("equal_results", _verdict(equal and not reasons), figure, "equal", None, reasons)


def pinned_math(trials: Trials) -> Check:
    """The uses of functions that differ in the last digit between machines."""
    subject = trials.subject
    found = static_checks.unpinned(subject.source, subject.file) if subject.is_python else ()
    figure = "none" if not found else f"{len(found)}: {found[0].partition(': ')[2]}"
    reasons = tuple(f"{each} differs between machines." for each in found[:MOST_REASONS])
    return Check("pinned_math", _verdict(not found), figure, "none", float(len(found)), reasons)


def speed(trials: Trials) -> Check:
    """The acknowledgments for each second of processor time, the engine's own work included."""
    found = 0.0
    for _ in range(ATTEMPTS):
        cost = trials.run(
            flows(trials.subject.table), link={"rate": "100Mbps"}, run={"warmup": "0s", "measure": "10s"}
        ).cost
        found = max(found, cost.data_packets / max(cost.cpu_s, 1e-9))
        if found >= SPEED:
            break
    return Check("speed", _verdict(found >= SPEED), f"{found:,.0f} ACKs/s", f"≥ {SPEED:,.0f} ACKs/s", found)


#: The checks in the order of the table.
CONTROL_CHECKS: Mapping[str, Callable[[Trials], Check]] = {
    "window": window,
    "loss": loss,
    "ecn": ecn,
    "fairness": fairness,
    "share_cubic": lambda trials: share(trials, "cubic", "CUBIC"),
    "share_newreno": lambda trials: share(trials, "newreno", "New Reno"),
    "random_loss_1": lambda trials: random_loss(trials, 1),
    "random_loss_5": lambda trials: random_loss(trials, 5),
    "idle": idle,
    "equal_results": equal_results,
    "pinned_math": pinned_math,
    "speed": speed,
}
