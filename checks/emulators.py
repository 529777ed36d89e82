"""`python -m checks.emulators`: forebay's link in real time beside others, on this machine, in one table.

Bursts of UDP, each far longer than a link can send at once, pass through a link of the same rate in each emulator.
While a burst drains, packets should arrive one transmission apart. The earliest consistent line through a burst gives
the due time of each packet. The lateness against it is the emulator's error.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.kernel import KernelError, play
from checks.probe import Task
from forebay.storage.files import between, write_atomically
from forebay.text.formatting import markdown_table

__all__ = ["EMULATORS", "MARKS", "Regularity", "main", "measured", "regularity"]

#: Marks around the table in docs/guides/kernel.md.
MARKS = ("<!-- emulators: begin -->", "<!-- emulators: end -->")
#: Rates in Mb/s.
RATES = (10, 50, 200)
#: Size of every packet, in bytes of IP, and of its Ethernet header, which some disciplines count, too.
SIZE, ETHERNET = 1500, 14
#: Longest time for which a burst drains, in seconds, and number of bursts.
DRAINS_S, BURSTS = 0.1, 20
#: Largest number of packets of a burst; a socket's send buffer holds them.
MOST_PACKETS = 420
PROBE = Path(__file__).with_name("probe.py")
PORT = 5001


class EmulatorError(Exception):
    """An emulator is not available here; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Regularity:
    """The regularity of the packets' arrival.

    Attributes
    ----------
    packets : int
        Number of packets that arrived.
    p50_s, p99_s, p999_s : float
        Quantiles of the packets' lateness against their due times, in seconds.
    longest_burst : int
        Largest number of packets in a row that each came less than half a transmission after the one before.
    rate : float
        Achieved rate over the nominal one, median over the bursts.
    """

    packets: int
    p50_s: float
    p99_s: float
    p999_s: float
    longest_burst: int
    rate: float


def regularity(bursts: Sequence[Sequence[float]], transmission_s: float) -> Regularity:
    """Compute the regularity of the packets' arrival.

    Parameters
    ----------
    bursts : sequence of sequence of float
        Arrival times of the packets of each burst, in seconds.
    transmission_s : float
        Time between two packets if they are regular, in seconds.
    """
    errors: list[float] = []
    rates = []
    longest = 1
    for stamps in bursts:
        if len(stamps) < 2:
            continue
        # The earliest line that no packet precedes.
        begin = min(stamp - number * transmission_s for number, stamp in enumerate(stamps))
        errors += [stamp - number * transmission_s - begin for number, stamp in enumerate(stamps)]
        rates.append((len(stamps) - 1) * transmission_s / max(stamps[-1] - stamps[0], 1e-9))
        run = 1
        for one, other in itertools.pairwise(stamps):
            run = run + 1 if other - one < transmission_s / 2 else 1
            longest = max(longest, run)
    if not errors:
        raise EmulatorError("nothing came through")
    errors.sort()

    def quantile(share: float) -> float:
        return errors[min(len(errors) - 1, math.ceil(share * len(errors)) - 1)]

    return Regularity(len(errors), quantile(0.5), quantile(0.99), quantile(0.999), longest, statistics.median(rates))


def task(rate: float) -> Task:
    """The bursts for a link's rate in bits per second."""
    packets = min(max(20, round(DRAINS_S * rate / 8 / SIZE)), MOST_PACKETS)
    return Task(BURSTS, packets, SIZE, 1.5 * DRAINS_S)


def _busy_s() -> float:
    """Time for which this machine's processors have worked, in seconds."""
    # user, nice, system, idle, iowait, irq, softirq, steal of proc(5)
    spent = [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    return (sum(spent) - spent[3] - spent[4]) / os.sysconf("SC_CLK_TCK")


def _run(command: Sequence[str], seconds: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    except FileNotFoundError as error:
        raise EmulatorError(f"no {command[0]} is installed") from error
    if done.returncode:
        text = done.stderr.strip().rpartition("\n")[2]
        raise EmulatorError(f"{command[0]}: {text or f'exit code {done.returncode}'}")


def _probed(enter: Callable[[str, str], Sequence[str]], at: tuple[str, str], rate: float) -> list[list[float]]:
    """Stamps of an emulator that is given the commands of the sender and of the receiver.

    `at` is the receiver's address, as a shell knows it on the sender's side and on its own.
    """
    requested = task(rate)
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "stamps.json"
        here = [sys.executable, "-I", str(PROBE)]
        sends = f"{shlex.join([*here, 'send'])} {at[0]} {PORT} {requested}"
        receives = shlex.join([*here, "receive", at[1], str(PORT), str(requested), str(found)])
        _run(enter(f"sleep 0.5; {sends}; sleep 1", receives), requested.bursts * requested.pause)
        if not found.exists():
            raise EmulatorError("the receiver has written nothing")
        stamps: list[list[int]] = json.loads(found.read_text(encoding="ascii"))
    return [[stamp / 1e9 for stamp in burst] for burst in stamps]


def _forebay(rate: float) -> list[list[float]]:
    """A link of forebay's, in real time."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "link.toml"
        scenario.write_text(
            f'[link]\nrate = "{rate:.0f}bps"\nbuffer = "100000p"\n[[flows]]\nrtt = "20ms"\n[run]\nmeasure = "1s"\n',
            encoding="ascii",
        )

        def enter(sends: str, receives: str) -> Sequence[str]:
            command = [str(Path(sys.executable).with_name("forebay")), "emulate", str(scenario)]
            return [*command, "--peer", f"sh -c {shlex.quote(receives)}", "--", "sh", "-c", sends]

        return _probed(enter, ("$FOREBAY_PEER", "198.18.1.1"), rate)


def _tbf(bucket: int) -> Callable[[float], list[list[float]]]:
    """The kernel's token bucket filter (tc-tbf(8)) with a bucket of `bucket` packets."""

    def stamps(rate: float) -> list[list[float]]:
        requested = task(rate)
        # It counts Ethernet's header, too.
        framed, bytes_of_bucket = rate * (SIZE + ETHERNET) / SIZE, bucket * (SIZE + ETHERNET) + 6
        line = f"tc qdisc add dev eth0 root tbf rate {framed:.0f}bit burst {bytes_of_bucket} limit 100000000"
        packets = [
            (burst * requested.pause, requested.size)
            for burst in range(requested.bursts)
            for _ in range(requested.packets)
        ]
        try:
            played = play([line], packets, requested.bursts * requested.pause + 1)
        except KernelError as error:
            raise EmulatorError(str(error)) from error
        left = [packet.left_s for packet in played.packets]
        each = [left[at : at + requested.packets] for at in range(0, len(left), requested.packets)]
        return [[stamp for stamp in burst if stamp is not None] for burst in each]

    return stamps


def _rattan(rate: float) -> list[list[float]]:
    """Rattan, a path emulator in user space (crates.io), if it is installed."""
    if shutil.which("rattan") is None:
        raise EmulatorError("no rattan is installed (cargo install rattan)")

    def enter(sends: str, receives: str) -> Sequence[str]:
        rate_and_delays = f"--uplink-bandwidth {rate:.0f}bps --uplink-delay 10ms --downlink-delay 10ms"
        inside = f"rattan link {rate_and_delays} --uplink-queue infinite -- sh -c {shlex.quote(sends)}"
        # The receiver runs outside, wherever the sender finds it.
        return ["sh", "-c", f"{receives} & {inside}; wait"]

    return _probed(enter, ("$RATTAN_BASE", "0.0.0.0"), rate)


#: Emulators by their names in the table.
EMULATORS: Mapping[str, Callable[[float], list[list[float]]]] = {
    "forebay emulate": _forebay,
    "tbf, a bucket of one packet": _tbf(1),
    "tbf, a bucket of ten packets": _tbf(10),
    "rattan": _rattan,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One emulator at one rate: its regularity and its share of one processor, or the reason why it has none."""

    name: str
    rate: float
    result: Regularity | str
    busy: float = 0.0


def measured(name: str, rate: float) -> Measured:
    """Measure an emulator at a rate in bits per second."""
    idle = -_busy_s()
    time.sleep(1.0)
    idle += _busy_s()
    begin, busy = time.monotonic(), -_busy_s()
    try:
        bursts = EMULATORS[name](rate)
        busy += _busy_s()
        elapsed = time.monotonic() - begin
        return Measured(name, rate, regularity(bursts, SIZE * 8 / rate), max(0.0, busy / elapsed - idle))
    except EmulatorError as error:
        return Measured(name, rate, str(error))


def table(rows: Sequence[Measured]) -> str:
    """All of it as Markdown."""
    heads = [
        "rate",
        "emulator",
        "received",
        "error p50",
        "p99",
        "p99.9",
        "longest burst",
        "achieved rate",
        "processors",
    ]
    cells = []
    for row in rows:
        first = [f"{row.rate / 1e6:.0f} Mb/s", row.name]
        if isinstance(row.result, str):
            cells.append([*first, row.result, "", "", "", "", "", ""])
            continue
        found = row.result
        late = [f"{seconds * 1e6:.0f} µs" for seconds in (found.p50_s, found.p99_s, found.p999_s)]
        requested = task(row.rate)
        received = f"{found.packets / (requested.bursts * requested.packets):.1%}"
        cells.append([*first, received, *late, f"{found.longest_burst}", f"{found.rate:.2%}", f"{row.busy:.2f}"])
    return "\n".join(markdown_table(heads, cells))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or renew it in the file that is given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    rows = [measured(name, rate * 1e6) for rate in RATES for name in EMULATORS]
    text = table(rows)
    if given:
        page = Path(given[0])
        write_atomically(page, between(page.read_text(encoding="utf-8"), MARKS, text, page.name))
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
