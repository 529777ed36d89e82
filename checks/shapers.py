"""Shapers of the packet engine compared with those of this machine's kernel: the same packets through both.

The engine plays a scenario and records the arrival and the departure of each packet. The same packets go at the same
times through the kernel (`checks.kernel`), which has the lines that forebay writes for the scenario. The line
after a bucket takes hardly any time in either.

``python -m checks.shapers`` prints the results of both for every case.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from checks.kernel import KernelError, Played, play
from forebay.configuration.configuring import configure
from forebay.configuration.platforms.registry import platform
from forebay.configuration.port import Port, Shaper
from forebay.scenario import Scenario
from forebay.text.formatting import markdown_table

__all__ = ["CASES", "Case", "Pair", "Simulated", "main", "run", "simulated"]


@dataclass(frozen=True, slots=True)
class Case:
    """A shaper, and packets that wait only for tokens.

    Attributes
    ----------
    name : str
        Name of the property that the case shows.
    link : str
        Keys of the link beside its rate.
    flows : str
        Groups of unresponsive flows.
    measure : float
        Time until all packets have left, in seconds.
    """

    name: str
    link: str
    flows: str
    measure: float = 1.2

    @property
    def scenario(self) -> Scenario:
        """The scenario that the engine plays."""
        text = (
            f'[link]\nrate = "100Tbps"\n{self.link}\n{self.flows}[trace]\nrecord = ["packets"]\n'
            f'[run]\nwarmup = "0s"\nmeasure = "{self.measure}s"\nreplications = 1\nseed = 1\n'
        )
        return Scenario.parse(text, name=self.name)


#: Time between packets of a burst, in seconds; each packet has 1,000 bytes.
APART = 10e-6


def _bursts(*bursts: tuple[float, int]) -> str:
    """Flows that send bursts: at each time, in seconds, a number of packets."""
    return "".join(
        f'[[flows]]\npacket = "1000B"\nstart = "{at:.6f}s"\nstop = "{at + (count - 0.5) * APART:.6f}s"\n'
        'workload = { cbr = { rate = "800Mbps" } }\n'
        for at, count in bursts
    )


#: A packet of 1,000 bytes takes 25 ms, and a virtual machine is hardly so late.
SLOW = 'rate = "320kbps", burst = "5000B"'
#: Bursts of fourteen packets: twice at a full bucket, and once at one with tokens for two and a half.
THRICE = _bursts((0.0, 14), (0.6, 14), (0.8125, 14))
#: Twice as much as passes, in packets of three sizes.
MUCH = """[[flows]]
packet = { choice = ["200B", "1000B", "1400B"] }
stop = "1s"
workload = { poisson = { rate = "4Mbps" } }
"""
CASES: Sequence[Case] = (
    Case("tbf: burst and limit", f'buffer = "6000B"\nshaper = {{ {SLOW} }}', THRICE),
    Case("tbf: limit in packets", f'buffer = "6p"\nshaper = {{ {SLOW} }}', THRICE),
    Case(
        "tbf: peak",
        'buffer = "30000B"\nshaper = { rate = "320kbps", burst = "8000B", peak = "640kbps", peak_burst = "2000B" }',
        _bursts((0.0, 28)),
    ),
    Case("tbf: frames", f'buffer = "6000B"\nrate_layer = "l1"\nshaper = {{ {SLOW} }}', THRICE),
    Case("htb: burst and limit", f'buffer = "6000B"\nshaper = {{ {SLOW}, kind = "htb" }}', THRICE),
    Case("htb: frames", f'buffer = "6p"\nrate_layer = "l2"\nshaper = {{ {SLOW}, kind = "htb" }}', THRICE),
    Case(
        "htb: ceil and cburst",
        'buffer = "30000B"\nshaper = { rate = "320kbps", burst = "8000B", peak = "640kbps", peak_burst = "2000B", '
        'kind = "htb" }',
        _bursts((0.0, 28)),
    ),
    Case("tbf: overload", 'buffer = "20000B"\nshaper = { rate = "2Mbps", burst = "10000B" }', MUCH),
    Case("htb: overload", 'buffer = "20000B"\nshaper = { rate = "2Mbps", burst = "10000B", kind = "htb" }', MUCH),
)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A packet of the engine: arrival in seconds, size in bytes, departure in seconds; None if it was dropped."""

    came: float
    size: int
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """The results of the engine and of the kernel for a case, packet by packet."""

    case: Case
    simulated: tuple[Simulated, ...]
    played: Played

    @property
    def shaper(self) -> Shaper:
        """The buckets."""
        found = Port.of(self.case.scenario).shaper
        assert found is not None, self.case.name
        return found

    def dropped(self) -> tuple[list[int], list[int]]:
        """The numbers of the packets that were dropped, in the engine and in the kernel."""
        ours = [number for number, packet in enumerate(self.simulated) if packet.left_s is None]
        return ours, [number for number, packet in enumerate(self.played.packets) if packet.left_s is None]

    def send_lateness(self) -> float:
        """The largest lateness of a packet when it was sent, in seconds."""
        pairs = zip(self.simulated, self.played.packets, strict=True)
        return max(theirs.sent - ours.came for ours, theirs in pairs)

    def carried(self) -> tuple[int, int]:
        """Bytes of IP that left."""
        sizes = [packet.size for packet in self.simulated]
        ours, theirs = (sum(sizes) - sum(sizes[number] for number in dropped) for dropped in self.dropped())
        return ours, theirs

    def lateness(self) -> list[float]:
        """The time by which each packet left later in the kernel, in seconds, for packets that left both."""
        pairs = zip(self.simulated, self.played.packets, strict=True)
        return [
            theirs.left_s - ours.left_s
            for ours, theirs in pairs
            if ours.left_s is not None and theirs.left_s is not None
        ]

    def at_once(self) -> tuple[int, int]:
        """The numbers of packets, ours and the kernel's, that left before half a packet's tokens had arrived."""
        soon = self.simulated[0].size * 4 / (self.shaper.peak or self.shaper.rate)
        ours, theirs = (
            sum(packet.left_s is not None and packet.left_s < soon for packet in packets)
            for packets in (self.simulated, self.played.packets)
        )
        return ours, theirs


def simulated(case: Case) -> tuple[Simulated, ...]:
    """The engine's packets of a case, in their order, in time since the first one."""
    tables = case.scenario.run(traces=True).traces()
    assert tables is not None, case.name
    table = tables["packets"]
    rows = zip(table["time_s"], table["bytes"], table["wait_s"], table["dropped"], strict=True)
    return tuple(
        Simulated(float(came), int(size), None if dropped else float(came) + float(wait))
        for came, size, wait, dropped in rows
    )


def run(case: Case) -> Pair:
    """Play a case in the engine and in the kernel.

    Raises
    ------
    KernelError
        If packets cannot be sent through this machine's kernel.
    """
    ours = simulated(case)
    configuration = configure(platform("linux"), Port.of(case.scenario))
    assert configuration.lines, configuration.notes
    return Pair(case, ours, play(configuration.lines, [(packet.came, packet.size) for packet in ours], case.measure))


def main() -> None:
    """Print a table of all cases."""
    try:
        with ThreadPoolExecutor(len(CASES)) as pool:
            pairs = list(pool.map(run, CASES))
    except KernelError as error:
        sys.exit(f"this machine's kernel cannot be asked: {error}")
    rows = []
    for pair in pairs:
        lost, missed = pair.dropped()
        counts = [
            f"{len(lost)}, {len(missed)}",
            str(len(set(lost) ^ set(missed))),
            "{:,}, {:,}".format(*pair.carried()),
        ]
        row = [pair.case.name, str(len(pair.simulated)), "", *counts, ""]
        if lost == missed:
            late = pair.lateness()
            row[2], row[-1] = "{}, {}".format(*pair.at_once()), f"{1e3 * min(late):.2f} to {1e3 * max(late):.2f} ms"
        rows.append(row)
    head = (
        "case",
        "packets",
        "at once: engine, kernel",
        "dropped",
        "by one alone",
        "bytes",
        "the kernel's are later by",
    )
    sys.stdout.write("\n".join(markdown_table(head, rows)) + "\n")


if __name__ == "__main__":
    main()
