"""The rows of a reference folder, read as scenarios and as the numbers of other programs.

ns-2, ns-3, the Linux kernel and hosts around a real switch ran them; tests/reference/README.md describes the format.
If a program differs from forebay's defaults, the row's scenario has the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.phases import on_phase
from forebay.errors import InputError
from forebay.results.metric import find
from forebay.sanitize import sanitize
from forebay.storage.safe_io import content, document

__all__ = ["LINUX_CONTROLLERS", "Number", "Row", "linux_row", "read_folder"]

#: Fewest drops that a judged loss rate may rest on, and fewest congestion events of a judged row.
FEWEST_DROPS = 30
FEWEST_EVENTS = 5


@dataclass(frozen=True, slots=True)
class Number:
    """One number of another program and how it is judged.

    Attributes
    ----------
    metric : str
        Key in forebay's report.
    theirs : float
        Value of the other program, in that metric's unit.
    base, cap : float
        Absolute tolerance, and the most that 2.5 standard deviations may widen it to.
    unjudged : str or None
        Reason why the number is only printed.
    scale, offset : float
        Ours is the metric times `scale` plus `offset`.
    title : str or None
        Name of the number if it is not the metric itself.
    noise : float
        Scatter of theirs that is known beforehand, as a standard deviation.
    """

    metric: str
    theirs: float
    base: float
    cap: float
    unjudged: str | None = None
    scale: float = 1.0
    offset: float = 0.0
    title: str | None = None
    noise: float = 0.0

    @property
    def name(self) -> str:
        """The printed name of the number."""
        metric = find(self.metric)
        return self.title or (self.metric if metric is None else metric.goal_name)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a reference file.

    Attributes
    ----------
    kind, family, label : str
        File of the row; family over which shares are counted; name of the row.
    tables : mapping
        The scenario that the packet engine runs.
    numbers : tuple of Number
        Numbers of the other program.
    explanation : str or None
        Known modeling difference that decides the row's numbers.
    kernel : mapping or None
        Scenario that the kernel engine runs; None if the row is not from Linux' TCP of such a kernel.
    phase : str
        Phase of a row of ns-2, "on" or "off": whether a round trip is a whole or half number of transmission times.
    """

    kind: str
    family: str
    label: str
    tables: Mapping[str, Any]
    numbers: tuple[Number, ...]
    explanation: str | None = None
    kernel: Mapping[str, Any] | None = None
    phase: str = ""


def _seconds(value: float) -> str:
    return f"{value:.12g}s"


def _runs(duration_s: float, warmup_s: float) -> dict[str, Any]:
    return {"warmup": _seconds(warmup_s), "measure": _seconds(duration_s - warmup_s), "seed": 1}


def _number_list(value: Any) -> list[float]:
    """A number, a list of numbers, or a text of numbers with commas."""
    if isinstance(value, str):
        return [float(part) for part in value.split(",")]
    return [float(part) for part in value] if isinstance(value, list) else [float(value)]


def _words(value: Any) -> list[str]:
    return value.split(",") if isinstance(value, str) else [str(part) for part in value]


def _compared(
    theirs: Mapping[str, float], base_points: float, *, drops: float, unjudged: str | None
) -> tuple[Number, ...]:
    """Utilization, loss and mean queue by the README's rule."""
    few = f"fewer than {FEWEST_DROPS} drops" if drops < FEWEST_DROPS else None
    numbers = []
    for metric, value in theirs.items():
        if metric == "utilization":
            number = Number(metric, value, base_points, 0.04, unjudged)
        elif metric == "loss_rate":
            counting = value / math.sqrt(drops) if drops else 0.0
            number = Number(metric, value, 0.15 * value, 0.40 * value, unjudged or few, noise=counting)
        else:
            number = Number(metric, value, 0.10 * value, 0.40 * value, unjudged)
        numbers.append(number)
    return tuple(numbers)


#: ns-2's port of Linux 2.6: SACK, timestamps (50-byte headers), CUBIC still with a cut of 205/1024.
#: It finds losses by forward acknowledgment and halves the rate during recovery (a packet for two acknowledgments).
#: Its clock ticks every millisecond, and its 40-byte first packet delays nothing.
NS2_LINUX: Mapping[str, Any] = {
    "recovery": "fack",
    "clock": "1ms",
    "handshake": False,
    "timestamps": True,
    "header": "50B",
}

#: ns-2's own HighSpeed TCP takes Low_P to be 1.5 / Low_Window^2, not RFC 3649's 1e-3 (tcp.cc: reset).
NS2_HSTCP: Mapping[str, Any] = {"kind": "hstcp", "low_loss": 1.5 / 38.0**2}

NS2_CONTROLLERS: Mapping[str, Mapping[str, Any]] = {
    "newreno": {"cca": "newreno", "recovery": "newreno"},
    "sack": {"cca": "newreno", "recovery": "pipe"},
    "hstcp": {"cca": NS2_HSTCP, "recovery": "pipe"},
    "hstcp_nr": {"cca": NS2_HSTCP, "recovery": "newreno"},
    "linux:reno": {"cca": {"kind": "newreno", "variant": "linux"}, **NS2_LINUX},
    "linux:cubic": {"cca": {"kind": "cubic", "variant": "linux_2_6", "beta": 0.8}, **NS2_LINUX},
    "linux:highspeed": {"cca": {"kind": "hstcp", "variant": "linux"}, **NS2_LINUX},
    "linux:htcp": {"cca": {"kind": "htcp", "variant": "linux"}, **NS2_LINUX},
    "linux:scalable": {"cca": {"kind": "scalable", "variant": "linux"}, **NS2_LINUX},
    "linux:bic": {"cca": {"kind": "bic", "variant": "linux_2_6"}, **NS2_LINUX},
    "linux:westwood": {"cca": {"kind": "westwood", "variant": "linux"}, **NS2_LINUX},
    "linux:vegas": {"cca": {"kind": "vegas", "variant": "linux_2_6"}, **NS2_LINUX},
}


def _ns2_row(row: Mapping[str, Any]) -> Row:
    given, result = row["given"], row["result"]
    experiment = row["experiment"]
    packets = int(given["buffer_pkts"])
    wire = int(given["wire_bytes"])
    groups = _ns2_model_groups(given, result) if "model" in given else _ns2_long_groups(given)
    if given.get("bg_bps"):
        groups.append(
            {
                "name": "background",
                "count": int(given.get("bg_flows", 1)),
                "packet": f"{wire}B",
                "workload": {"poisson": {"rate": f"{int(given['bg_bps'])}bps"}},
            }
        )
    link: dict[str, Any] = {"rate": f"{int(given['rate_bps'])}bps", "buffer": f"{max(0, packets - 1)}p"}
    if given.get("queue") == "DRR":
        link["queue"] = {"kind": "drr", "drop": "longest"}
        link["buffer"] = f"{max(0, packets - 1) * wire}B"
    elif given.get("queue") == "RED":
        # The automatic queue weight depends on the link's delay.
        link["delay"] = _seconds(given["bottleneck_delay_s"])
        link["queue"] = {
            "kind": "red",
            "min": f"{0.4 * packets:g}p",
            "max": f"{packets}p",
            "max_p": 0.1,
            "gentle": True,
            "adaptive": given.get("red_adaptive", 1) != 0,
        }
    runs = _runs(given["duration_s"], given["warmup_s"])
    tables: dict[str, Any] = {"link": link, "flows": groups, "run": runs}
    if "reverse_cc" in given:
        tables = {"links": _ns2_both_ways(given, link, groups), "flows": groups, "run": runs}
    numbers = _compared(
        {
            "utilization": result["utilization"],
            "loss_rate": result["loss_rate"],
            "queue_mean_packets": result["mean_queue_pkts"],
        },
        0.04 if experiment[0] in "DE" else 0.02,
        drops=result["drops_pkts"],
        unjudged=_ns2_unjudged(experiment, packets, result),
    )
    label, explanation = _ns2_label(experiment, given), _ns2_explanation(given)
    return Row("ns2", experiment, label, tables, numbers, explanation, phase=_ns2_phase(given))


def _ns2_phase(given: Mapping[str, Any]) -> str:
    """Whether a round trip keeps a flow in phase with the bottleneck's transmissions: on or off."""
    packet_s = 8.0 * given["wire_bytes"] / given["rate_bps"]
    rtts = [*_number_list(given["rtt_s"]), *_number_list(given.get("reverse_rtt_s", []))]
    return "on" if any(on_phase(rtt, packet_s) for rtt in rtts) else "off"


def _ns2_both_ways(
    given: Mapping[str, Any], link: Mapping[str, Any], groups: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Two links, each with the data of one direction and the acknowledgments of the other; adds the other groups."""
    backwards = {**given, "cc": given["reverse_cc"], "rtt_s": given["reverse_rtt_s"]}
    for group in groups:
        group.update(path=["forward"], reverse=["backward"])
    for group in _ns2_long_groups(backwards):
        groups.append({**group, "name": f"backward-{group['name']}", "path": ["backward"], "reverse": ["forward"]})
    delay = _seconds(given["bottleneck_delay_s"])
    return [
        {**link, "name": "forward", "delay": delay, "target": True},
        {"name": "backward", "rate": link["rate"], "buffer": link["buffer"], "delay": delay},
    ]


def _ns2_explanation(given: Mapping[str, Any]) -> str | None:
    """The modeling difference that a row is known to hinge on."""
    if given.get("overhead_s"):
        return "ns-2's random processing time at the sender (overhead_) has no counterpart in forebay"
    packets = int(given["buffer_pkts"])
    if packets <= 2 and not given.get("bg_bps"):
        return "ns-2's mean queue of a few thousandths of a packet is given to three decimals"
    if given.get("access_bps") == given.get("rate_bps") and given.get("bg_bps"):
        return "packets of one flow arrive just as others leave: ns-2's rounding decides who finds room"
    return None


def _ns2_label(experiment: str, given: Mapping[str, Any]) -> str:
    label = f"{experiment} L={given['buffer_pkts']}"
    if "model" in given and experiment.endswith("_sensitivity"):
        label += f" {given['model']}"
    if "cc" in given:
        controllers = _words(given["cc"])
        label += f" {len(controllers)}x{'+'.join(dict.fromkeys(controllers))}"
    changed = [
        f"{key}={given[key]:g}"
        for key in ("access_bps", "min_rto_s", "newreno_impatient", "overhead_s", "bg_flows")
        if key in given and experiment.endswith("_sensitivity")
    ]
    return " ".join([label, *changed, f"seed={given['seed']}"])


def _ns2_unjudged(experiment: str, packets: int, result: Mapping[str, Any]) -> str | None:
    if packets == 1:
        return "ns-2 forwards nothing at L = 1"
    if experiment.startswith("B") and packets <= 4:
        return "hinges on the access link and the start"
    if experiment in {"D_two_fast", "D_2g5_long"}:
        return "a single short run"
    events = result.get("congestion_events")
    if events is not None and events < FEWEST_EVENTS:
        return f"fewer than {FEWEST_EVENTS} congestion events"
    return None


def _ns2_stack(given: Mapping[str, Any]) -> dict[str, Any]:
    stack: dict[str, Any] = {"stack": "ns2", "packet": f"{int(given['wire_bytes'])}B"}
    stack["access"] = {"rate": f"{int(given['access_bps'])}bps"}
    if "access_queue_pkts" in given:
        stack["access"]["queue"] = f"{int(given['access_queue_pkts'])}p"
    if "min_rto_s" in given:
        stack["min_rto"] = _seconds(given["min_rto_s"])
    if "tcp_tick_s" in given:
        stack["clock"] = _seconds(given["tcp_tick_s"])
    if given.get("newreno_impatient") == 0:
        stack["partial_ack_timer"] = "every"
    if "initial_ssthresh_pkts" in given:
        stack["initial_ssthresh"] = f"{int(given['initial_ssthresh_pkts'])}p"
    return stack


def _ns2_long_groups(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One group per controller: its flows' round trips and starts in the order of the row."""
    controllers = _words(given["cc"])
    rtts = _number_list(given["rtt_s"])
    rtts = rtts * len(controllers) if len(rtts) == 1 else rtts
    starts = _number_list(given.get("start_s", 0.0))
    starts = starts * len(controllers) if len(starts) == 1 else starts
    jitter = float(given.get("start_jitter_s", 0.0))
    groups = []
    for name in dict.fromkeys(controllers):
        mine = [index for index, controller in enumerate(controllers) if controller == name]
        if name not in NS2_CONTROLLERS:
            raise InputError(f"found controller `{name}`; allowed: {', '.join(NS2_CONTROLLERS)}")
        start: Any = {"list": [_seconds(starts[index]) for index in mine]}
        if jitter:
            start["jitter"] = _seconds(jitter)
        groups.append(
            {
                **_ns2_stack(given),
                **NS2_CONTROLLERS[name],
                "name": name.replace(":", "-"),
                "count": len(mine),
                "rtt": [_seconds(rtts[index]) for index in mine],
                "start": start,
                "workload": "persistent",
            }
        )
    return groups


def _ns2_model_groups(given: Mapping[str, Any], result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Experiment C: persistent flows (200) with mice, closed-loop users, or open-loop arrivals (load 0.95)."""
    common = {
        **_ns2_stack(given),
        "cca": "newreno",
        "recovery": "pipe",
        "rtt": {"choice": [_seconds(rtt) for rtt in _number_list(given["rtt_s"])]},
    }
    mixture = {
        "mixture": [
            {"weight": 0.266, "exponential": "15p"},
            {"weight": 0.434, "exponential": "50p"},
            {"weight": 0.300, "exponential": "200p"},
        ]
    }
    spread = {"uniform": ["0s", "5s"]}
    packet_s = given["wire_bytes"] * 8 / given["rate_bps"]
    if given["model"] == "persistent":
        count = int(given.get("persistent_flows", 200))
        # Whole numbers of packets, 3 to 25, each as likely.
        mice = {"choice": [f"{packets}p" for packets in range(3, 26)]}
        every = {"exponential": _seconds(14 * packet_s / 0.05)}
        return [
            {**common, "name": "persistent", "count": count, "start": spread, "workload": "persistent"},
            {**common, "name": "mice", "workload": {"open_loop": {"interarrival": every, "size": mice}}},
        ]
    if given["model"] == "closed":
        closed = {"users": int(given["users"]), "think": {"exponential": "5s"}, "size": mixture}
        return [{**common, "name": "users", "start": spread, "workload": {"closed_loop": closed}}]
    every = {"exponential": _seconds(result["mean_flow_pkts"] * packet_s / given.get("load", 0.95))}
    return [{**common, "name": "transfers", "workload": {"open_loop": {"interarrival": every, "size": mixture}}}]


LINUX_CONTROLLERS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr"}


def linux_row(row: Mapping[str, Any]) -> Row:
    """A row of linux.jsonl: the packet engine's scenario and the kernel engine's."""
    controllers, rtts = row["flow_cc"], row["flow_base_rtt_ms"]
    groups = []
    for name in dict.fromkeys(controllers):
        mine = [index for index, controller in enumerate(controllers) if controller == name]
        if name not in LINUX_CONTROLLERS:
            raise InputError(f"found controller `{name}`; allowed: {', '.join(LINUX_CONTROLLERS)}")
        groups.append(
            {
                "name": name,
                "count": len(mine),
                "cca": LINUX_CONTROLLERS[name],
                "stack": "linux",
                # Rows with single-segment sends have nothing to gather.
                "offload": row.get("gso_max_segs") != 1,
                "rtt": [f"{rtts[index]:.12g}ms" for index in mine],
                "processing": f"{_lateness_us(row):.12g}us",
                "packet": "1500B",
                # The emulation drew its starts from this distribution.
                "start": {"uniform": ["0s", "2s"]},
                "workload": "persistent",
            }
        )
    tables = {
        "link": {
            "rate": f"{int(row['rate_bits_per_s'])}bps",
            "buffer": f"{int(row['buffer_packets_waiting'])}p",
        },
        "flows": groups,
        "run": _runs(row["duration_s"], row["warmup_s"]),
    }
    label = f"{row['label']} #{row['repeat_index']}"
    family = "+".join(dict.fromkeys(controllers))
    return Row("linux", family, label, tables, _linux_numbers(row), kernel=_linux_kernel(row, tables))


def _linux_kernel(row: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    """The same for real hosts, which have their own processing time, with the starts that the row had."""
    starts = row["flow_start_s"]
    groups = []
    for group in tables["flows"]:
        mine = [index for index, name in enumerate(row["flow_cc"]) if name == group["name"]]
        changed = {key: value for key, value in group.items() if key != "processing"}
        groups.append({**changed, "start": {"list": [_seconds(starts[index]) for index in mine]}})
    return {**tables, "flows": groups}


def _lateness_us(row: Mapping[str, Any]) -> float:
    """Longest processing time of the hosts: twice the median by which the emulator delivered late, there and back."""
    either = row.get("lateness_p50_us", 0.0)  # of both ways together, as forebay's own rows have it
    medians = [float(row.get(f"lateness_{way}_p50_us", either)) for way in ("forward", "reverse")]
    return 2.0 * sum(medians)


def _linux_numbers(row: Mapping[str, Any]) -> tuple[Number, ...]:
    """Utilization, loss and delay; with several controllers also the share of the first, within its own tolerance."""
    controllers = row["flow_cc"]
    episodes = row["drop_episodes_count"]
    # Episodes are BBR's steady state, not the events that a classic controller's cycle hangs on.
    few = episodes < FEWEST_EVENTS and "bbr" not in controllers
    numbers = _compared(
        {
            "utilization": row["utilisation_ratio"],
            "loss_rate": row["loss_ratio_of_arrivals"],
            "queue_delay_mean_s": row["queue_delay_packet_mean_ms"] / 1e3,
        },
        0.02,
        drops=row["drops_packets"],
        unjudged=f"fewer than {FEWEST_EVENTS} congestion events" if few else None,
    )
    if len(set(controllers)) == 1:
        return numbers
    rates: dict[str, float] = {}
    # forebay's own rows have payload without repairs, of which shares are the same to a hundredth of a point.
    kind = "throughput" if "flow_throughput_mbit_per_s" in row else "goodput"
    for name, rate in zip(controllers, row[f"flow_{kind}_mbit_per_s"], strict=True):
        rates[name] = rates.get(name, 0.0) + rate
    first = controllers[0]
    base = 0.03 if row["buffer_bdp_ratio"] >= 8 else 0.01
    trend = None if "bbr" in controllers else "reno against cubic repeats as a trend only"
    return (*numbers, Number(f"share of {first}", rates[first] / sum(rates.values()), base, 0.04, trend))


NS3_CONTROLLERS: Mapping[str, Any] = {
    "TcpNewReno": "newreno",
    "TcpLinuxReno": "newreno",
    "TcpCubic": {"kind": "cubic", "hystart": True},
    "TcpBbr": "bbr",
    "TcpHtcp": "htcp",
    "TcpHighSpeed": {"kind": "hstcp", "variant": "linux"},
    "TcpDctcp": "dctcp",
}
NS3_QUEUES: Mapping[str, str] = {
    "FifoQueueDisc": "droptail",
    "RedQueueDisc": "red",
    "CoDelQueueDisc": "codel",
    "FqCoDelQueueDisc": "fq_codel",
    "PieQueueDisc": "pie",
    "FqPieQueueDisc": "fq_pie",
    "CobaltQueueDisc": "cobalt",
}


def _ns3_row(row: Mapping[str, Any]) -> Row:
    queue: Any = NS3_QUEUES[row["qd"]]
    if queue == "red":
        # ns-3 computes the smallest max_p from its default mean packet of 500 bytes.
        queue = {"kind": "red", "bottom": 10 * 500 * 8 / (row["rate_mbps"] * 1e6)}
    controller = NS3_CONTROLLERS[row["cc"]]
    if controller == "bbr" and row["n"] == 1:
        # A round trip equal to the smallest renews it (TcpBbr::UpdateRTprop). A lone flow measures such round trips
        # again and again, so that it never probes for a smaller one.
        controller = {"kind": "bbr", "probe_rtt": False}
    group = {
        "name": "bulk",
        "count": int(row["n"]),
        "cca": controller,
        "recovery": "sack",
        "reduction": "prr",
        "timestamps": True,
        "handshake": True,
        "rtt": f"{row['rtt_ms']:.12g}ms",
        # 1448 bytes of data, 52 of TCP/IP with timestamps and 2 of PPP.
        "packet": "1502B",
        "header": "54B",
        "initial_window": "10p",
        "min_rto": "200ms",
        "delayed_ack": {"packets": int(row["delack"]), "timeout": "200ms"},
        "start": {"uniform": ["0s", "1s"]},
        "workload": "persistent",
        "ecn": bool(row["ecn"]),
    }
    # One more packet waits in the device after the queue discipline.
    link = {
        "rate": f"{row['rate_mbps']:.12g}Mbps",
        "buffer": f"{int(row['buffer_pkts']) + 1}p",
        "queue": queue,
    }
    tables = {"link": link, "flows": [group], "run": _runs(row["dur"], row["warm"])}
    numbers = _compared(
        {"utilization": row["util"], "loss_rate": row["loss"], "queue_mean_packets": row["mean_q_pkts"]},
        0.02,
        drops=row["drops"],
        unjudged=None,
    )
    label = f"{row['cc']} {row['qd']} n={row['n']} L={row['buffer_pkts']} delack={row['delack']} seed={row['seed']}"
    return Row("ns3", _ns3_family(row), label, tables, numbers)


def _ns3_family(row: Mapping[str, Any]) -> str:
    """The family of a row: a controller over a queue in packets with a number of flows, or a discipline."""
    if row["qd"] != "FifoQueueDisc":
        return f"{row['cc']} over {row['qd']}" if row["ecn"] else str(row["qd"])
    flows = f"{row['n']} flow" if row["n"] == 1 else f"{row['n']} flows"
    return f"{row['cc']}, {flows}" + (", delayed acknowledgments" if row["delack"] > 1 else "")


SWITCH_CONTROLLERS: Mapping[str, Any] = {
    "reno": "newreno",
    "cubic": {"kind": "cubic", "variant": "linux_5_5"},
    "scalable": "scalable",
    "bbr": "bbr",
}

#: Duration of a run, in seconds; its middle third was measured.
SWITCH_RUN_S = 1.0

#: Packets that the depth swings by for reasons unknown, except with BBR (the data set's authors).
UNEXPLAINED_SWING = 10.0

#: Smallest limit of a judged row, and reported depth of an empty queue, in packets.
SMALLEST_LIMIT = 31.0
EMPTY_DEPTH = 2.0


def _switch_row(row: Mapping[str, Any]) -> Row:
    """Parallel flows of one sender with two cards over a port of a switch."""
    controller, flows, limit = row["cca"], int(row["n_flows"]), float(row["limit_packets"])
    if controller not in SWITCH_CONTROLLERS:
        raise InputError(f"found controller `{controller}`; allowed: {', '.join(SWITCH_CONTROLLERS)}")
    rate, packet = int(row["rate_bits_per_s"]), int(row["packet_bytes"])
    links = [
        # All flows leave through the same two cards, whose own queue never reached a limit.
        {"name": "cards", "rate": f"{2 * rate}bps", "buffer": "1000000p"},
        # A packet that finds no more than the limit is accepted: one more than the limit's whole packets may wait.
        {"name": "port", "rate": f"{rate}bps", "buffer": f"{int(limit) + 1}p", "target": True},
    ]
    group = {
        "name": controller,
        "count": flows,
        "cca": SWITCH_CONTROLLERS[controller],
        "stack": "linux",
        "rtt": "1.2ms",
        "packet": f"{packet}B",
        "path": ["cards", "port"],
        # The receiver's Intel 82599 interrupts once in 126 us if 8 to 48 packets arrive in between (Linux 5.5,
        # ixgbe_update_itr). Linux 5.5 does not acknowledge a PSH immediately.
        "delayed_ack": {"gro": "126us", "push": False},
        "offload_grows": False,
        # iperf3 connects its flows first and then lets all of them send.
        "start": {"uniform": ["0s", "1ms"]},
        "workload": "persistent",
    }
    tables = {"links": links, "flows": [group], "run": _runs(SWITCH_RUN_S * 2 / 3, SWITCH_RUN_S / 3)}
    unjudged = f"a limit of less than {SMALLEST_LIMIT:g} packets" if limit < SMALLEST_LIMIT else None
    numbers = tuple(
        Number(
            f"queue_delay_{quantile}_s",
            row["depth_packets"][quantile],
            max(8.0, 0.12 * limit),
            0.0,
            unjudged,
            # A wait is counted in packets of the one size that there is.
            scale=rate / (8.0 * packet),
            offset=EMPTY_DEPTH,
            title=f"depth_{quantile}",
            noise=0.0 if controller == "bbr" else UNEXPLAINED_SWING,
        )
        for quantile in ("p05", "p50", "p95")
    )
    return Row("tofino", controller, row["label"], tables, numbers)


READERS = {"ns2": _ns2_row, "linux": linux_row, "tofino": _switch_row, "ns3": _ns3_row}


def read_folder(folder: Path, kind: str) -> Iterator[Row | tuple[str, str]]:
    """Rows of one file of a reference folder; a (label, reason) pair for a row that no scenario describes."""
    path = folder / f"{kind}.jsonl"
    allowed = "a row of numbers a line, as JSON"
    for number, line in enumerate(content(path, allowed).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield READERS[kind](document(line, f"line {number}", allowed))
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, InputError) as error:
            reason = f"no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
            yield f"{path.name}:{number}", f"the row cannot be read: {sanitize(reason)}"
