"""Packets through this machine's kernel: UDP datagrams into a device with disciplines of tc(8), in a network namespace.

The namespace is the process's own and ends with it. It contains a virtual Ethernet pair. Datagrams go into `eth0`,
which has the disciplines, and come out at its peer. The kernel stamps them there before anything else happens to them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KernelError", "Passed", "Played", "play"]

#: Bytes of IPv4 and UDP headers, and the format of a datagram's number after them.
HEADERS, NUMBER = 28, struct.Struct("!I")
#: Linux' socket option and message for times in nanoseconds (asm-generic/socket.h), which Python does not name.
SO_TIMESTAMPNS = 35
#: Protocol of the packets over Ethernet (linux/if_ether.h).
ETH_P_IP = 0x0800
#: Time before the first packet, in which the kernel begins to stamp, and after the last one, in seconds.
BEFORE, AFTER = 0.2, 0.1

_SET_UP = (
    "ip link add eth0 type veth peer name out0",
    "ip link set out0 up",
    "ip link set eth0 up",
    "ip address add 10.0.0.1/24 dev eth0",
    # The address of the other end is fixed, so that no request for it is sent.
    "ip neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent",
)


class KernelError(Exception):
    """Packets cannot be sent through this machine's kernel; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Passed:
    """One packet.

    Attributes
    ----------
    sent : float
        Time when it was handed to the kernel, in seconds; never before its due time.
    left_s : float or None
        Time when it was stamped, right after it left, in seconds; None if it did not leave.
    """

    sent: float
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Played:
    """The packets' passage through the kernel.

    Attributes
    ----------
    packets : tuple of Passed
        Packets in the order in which they were sent.
    dropped, taken : int
        Packets that the discipline at the root counted as dropped and as sent.
    """

    packets: tuple[Passed, ...]
    dropped: int
    taken: int


def play(lines: Sequence[str], packets: Sequence[tuple[float, int]], until: float) -> Played:
    """Send packets through disciplines.

    Parameters
    ----------
    lines : sequence of str
        Commands of tc for the device `eth0`.
    packets : sequence of (float, int)
        Time of each packet, in seconds, and its bytes of IP, 32 to 1,500.
    until : float
        Time by which all have left, in seconds.

    Raises
    ------
    KernelError
        If namespaces, devices or disciplines are not available.
    """
    if shutil.which("unshare") is None:
        raise KernelError("no unshare is installed")
    task = json.dumps({"lines": list(lines), "packets": list(packets), "until": until})
    command = ["unshare", "-Urn", sys.executable, "-I", __file__]
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    done = subprocess.run(
        command,
        input=task,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        timeout=until + 60,
        check=False,
    )
    if done.returncode:
        raise KernelError(done.stderr.strip().rpartition("\n")[2] or f"{command[0]}: exit code {done.returncode}")
    data = json.loads(done.stdout)
    return Played(tuple(Passed(*each) for each in data["packets"]), data["dropped"], data["taken"])


# In the namespace.


def _output_of(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise KernelError(f"{command}: {' '.join(done.stderr.split())}")
    return done.stdout


@contextlib.contextmanager
def _stamps(count: int) -> Iterator[list[int | None]]:
    """The stamp of each datagram at the other end, in nanoseconds; the list is filled as they come."""
    found: list[int | None] = [None] * count
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiver.bind(("out0", ETH_P_IP))
    receiver.settimeout(0.05)
    over = threading.Event()

    def listen() -> None:
        while True:
            try:
                packet, messages, _, _ = receiver.recvmsg(2048, 64)
            except TimeoutError:
                if over.is_set():
                    return
                continue
            (number,) = NUMBER.unpack_from(packet, HEADERS)
            seconds, nanoseconds = struct.unpack("@ll", messages[0][2][:16])
            found[number] = seconds * 10**9 + nanoseconds

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield found
    finally:
        over.set()
        listening.join()
        receiver.close()


def _sent(packets: Sequence[tuple[float, int]], until: float) -> tuple[int, list[int]]:
    """Send the packets; return the time of zero and the time at which each was handed over, in nanoseconds."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
    sender.setblocking(False)
    sender.connect(("10.0.0.2", 9))
    payloads = [NUMBER.pack(number).ljust(size - HEADERS, b"\0") for number, (_, size) in enumerate(packets)]
    begin = time.time_ns() + int(BEFORE * 1e9)
    sent = []
    for (at, _), payload in zip(packets, payloads, strict=True):
        due = begin + round(at * 1e9)
        while (left := due - time.time_ns()) > 0:
            time.sleep(left / 1e9)
        sent.append(time.time_ns())
        sender.send(payload)
    time.sleep(max(0.0, (begin - time.time_ns()) / 1e9 + until + AFTER))
    return begin, sent


def main() -> None:
    """Play the task on standard input in the namespace of this process."""
    task = json.loads(sys.stdin.read())
    try:
        # Other packets must not take tokens, so that no router is solicited.
        with contextlib.suppress(OSError):
            Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
        for command in (*_SET_UP, *task["lines"]):
            _output_of(command)
        with _stamps(len(task["packets"])) as stamps:
            begin, sent = _sent(task["packets"], task["until"])
        root = next(entry for entry in json.loads(_output_of("tc -s -j qdisc show dev eth0")) if entry.get("root"))
    except (KernelError, OSError) as error:
        sys.exit(f"{error}")
    seconds = [[None if at is None else (at - begin) / 1e9 for at in pair] for pair in zip(sent, stamps, strict=True)]
    values = {"packets": seconds, "dropped": root["drops"], "taken": root["packets"]}
    sys.stdout.write(json.dumps(values))


if __name__ == "__main__":
    main()
