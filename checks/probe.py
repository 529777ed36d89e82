"""Bursts of UDP and the arrival of each datagram: both ends of a path, as programs that need only Python.

``python probe.py send ADDRESS PORT TASK`` sends bursts, ``python probe.py receive ADDRESS PORT TASK FILE`` writes the
kernel's time stamps of the datagrams, in nanoseconds, as JSON: a list per burst. TASK is a text ``bursts,packets,
bytes,pause``, the pause in seconds from one burst to the next.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Task"]

#: Bytes of IPv4 and UDP headers, and the format of a datagram's number after them.
HEADERS, NUMBER = 28, struct.Struct("!I")
#: Linux' socket option for times in nanoseconds (asm-generic/socket.h), which Python does not name.
SO_TIMESTAMPNS = 35
#: Time for which a receiver waits for one more datagram, and before the first, in seconds.
PATIENCE, LONGEST = 3.0, 30.0


@dataclass(frozen=True, slots=True)
class Task:
    """The bursts that are sent.

    Attributes
    ----------
    bursts, packets : int
        Number of bursts, and of packets in each.
    size : int
        Size of each packet, in bytes of IP.
    pause : float
        Time from the beginning of one burst to that of the next, in seconds.
    """

    bursts: int
    packets: int
    size: int
    pause: float

    def __str__(self) -> str:
        return f"{self.bursts},{self.packets},{self.size},{self.pause}"

    @classmethod
    def of(cls, text: str) -> Task:
        """Parse a task."""
        bursts, packets, size, pause = text.split(",")
        return cls(int(bursts), int(packets), int(size), float(pause))


def send(address: str, port: int, task: Task) -> None:
    """Send all bursts, each as fast as possible."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**24)
    sender.connect((address, port))
    filling = b"\0" * (task.size - HEADERS - NUMBER.size)
    begin = time.monotonic()
    for burst in range(task.bursts):
        time.sleep(max(0.0, begin + burst * task.pause - time.monotonic()))
        for number in range(task.packets):
            sender.send(NUMBER.pack(burst * task.packets + number) + filling)


def receive(address: str, port: int, task: Task, file: Path) -> None:
    """Write when each datagram came."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**24)
    receiver.bind((address, port))
    receiver.settimeout(LONGEST)
    stamps: list[list[int]] = [[] for _ in range(task.bursts)]
    last = task.bursts * task.packets - 1
    number = -1
    while number < last:
        try:
            packet, messages, _, _ = receiver.recvmsg(2048, 64)
        except TimeoutError:
            break
        receiver.settimeout(PATIENCE)
        (number,) = NUMBER.unpack_from(packet)
        seconds, nanoseconds = struct.unpack("@ll", messages[0][2][:16])
        stamps[number // task.packets].append(seconds * 10**9 + nanoseconds)
    file.write_text(json.dumps(stamps))


def main() -> None:
    """Run the verb of the arguments."""
    verb, address, port, task, *file = sys.argv[1:]
    if verb == "send":
        send(address, int(port), Task.of(task))
    else:
        receive(address, int(port), Task.of(task), Path(file[0]))


if __name__ == "__main__":
    main()
