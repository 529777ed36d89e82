"""Programs at both ends of the link of `checks.captured`, as a script: sockets, tcpdump, and `ss` beside them.

``serve`` receives everything and captures it. ``send`` opens the connections of a case, captures, and writes the output
of `ss -tin` now and then. It writes it a last time when all is acknowledged and nothing is closed yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["DONE", "NAMES", "PORT", "main"]

PORT = 5201
#: Files of a case: the captures at the sender and at the receiver, the output of `ss`, and the receiver's last sign.
NAMES: Mapping[str, str] = {"sender": "sender.pcap", "receiver": "receiver.pcap", "sockets": "sockets.txt"}
DONE = "receiver.done"
#: Devices of forebay's namespaces.
DEVICES: Mapping[str, str] = {"sender": "near", "receiver": "far"}
#: Bytes of a write, bytes that a socket holds before they are sent, and seconds between two calls of `ss`.
_WRITE, _UNSENT, _ASK_S = 1 << 16, 1 << 17, 0.25
#: Longest time from the end of a transfer to its last acknowledgment, in seconds.
_DRAIN_S = 30.0

#: Commands for a separate namespace of the sender, so that its segments are cut only after the place of capture. A veth
#: takes segments of up to 64 kB (veth(4)), and the TUN device after it does not.
_BEHIND_A_ROUTER = """
ip link add inside type veth peer name outside
ip link set inside netns {pid}
ip address del 198.18.0.1/32 dev near
ip address add 198.18.1.254/32 dev outside
ip link set outside up
ip route add 198.18.0.1/32 dev outside
ip route replace 198.18.1.1/32 dev near
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.outside.proxy_arp=1
"""
_INSIDE = """
ip link set lo up
ip address add 198.18.0.1/32 dev inside
ip link set inside up
ip route add default dev inside
"""


@contextlib.contextmanager
def capturing(device: str, file: Path, snap: int) -> Iterator[None]:
    """Run tcpdump on a device from before the first packet until after the last."""
    command = ["tcpdump", "-i", device, "-n", "-s", str(snap), "-w", str(file), "--time-stamp-precision=nano"]
    # As another user it may not write here.
    user = ["-Z", "root"] if os.geteuid() == 0 else []
    dump = subprocess.Popen([*command, "-B", "32768", *user, "tcp"], stderr=subprocess.PIPE, text=True)
    assert dump.stderr is not None
    for line in dump.stderr:
        if "listening on" in line:
            break
    else:
        sys.exit(f"tcpdump: ended with exit code {dump.wait()}")
    try:
        yield
    finally:
        # Packets reach tcpdump in blocks.
        time.sleep(1.2)
        dump.send_signal(signal.SIGINT)
        file.with_suffix(".said").write_text(dump.stderr.read(), encoding="utf-8")
        dump.wait()


def record_sockets(file: Path, over: threading.Event) -> None:
    """`ss -tin` again and again, with a date before each dump."""
    with file.open("w", encoding="utf-8") as written:
        while True:
            written.write(_dump())
            written.flush()
            if over.wait(_ASK_S):
                break


def _dump() -> str:
    now = subprocess.run(["date", "--iso-8601=ns"], capture_output=True, text=True, check=True).stdout
    return now + subprocess.run(["ss", "-tin"], capture_output=True, text=True, check=True).stdout


def transfer(peer: str, flow: Mapping[str, Any], begin: float, until: float) -> socket.socket:
    """Send bytes, or until a time, at full speed or at a rate; return the open connection once all is acknowledged."""
    end = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["controller"].encode())
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    _wait_for(begin)
    end.connect((peer, PORT))
    left, rate, block = flow.get("bytes"), flow.get("rate"), bytes(_WRITE)
    sent = 0
    while (left is None or sent < left) and time.monotonic() < until:
        now = block if left is None else block[: left - sent]
        if rate is not None:
            now = now[: flow["write"]]
            _wait_for(begin + sent * 8 / rate)
        end.sendall(now)
        sent += len(now)
    _acknowledged(end)
    return end


def _wait_for(instant: float) -> None:
    while (left := instant - time.monotonic()) > 0:
        time.sleep(left)


def _acknowledged(end: socket.socket) -> None:
    """Wait until the other end has everything."""
    deadline = time.monotonic() + _DRAIN_S
    while time.monotonic() < deadline:
        (outstanding,) = struct.unpack("i", fcntl.ioctl(end.fileno(), termios.TIOCOUTQ, bytes(4)))
        if not outstanding:
            return
        time.sleep(0.01)


def send(peer: str, task: str, folder: str) -> None:
    """Everything that a case sends."""
    case: dict[str, Any] = json.loads(task)
    place = Path(folder)
    device = DEVICES["sender"]
    if case["gathered"]:
        device = "inside"
        _go_inside()
    _set(case["sysctls"])
    over = threading.Event()
    with capturing(device, place / NAMES["sender"], case["snap"]):
        asking = threading.Thread(target=record_sockets, args=(place / NAMES["sockets"], over))
        asking.start()
        begin = time.monotonic()
        until = begin + case["seconds"]
        opened: list[socket.socket] = []

        def run(flow: Mapping[str, Any]) -> None:
            end = transfer(peer, flow, begin + flow.get("start", 0.0), until)
            if flow.get("bytes") is None:
                opened.append(end)
            else:
                end.close()

        threads = [threading.Thread(target=run, args=(flow,)) for flow in _flows(case)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(2 * _ASK_S)
        over.set()
        asking.join()
        with (place / NAMES["sockets"]).open("a", encoding="utf-8") as written:
            written.write(_dump())
        for end in opened:
            end.close()
        time.sleep(0.3)
    (place / "sender.done").touch()
    _until_exists(place / DONE)


def _flows(case: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The listed transfers, and transfers that begin as a Poisson process."""
    flows = list(case["flows"])
    short = case["transfers"]
    if short:
        draws, at = random.Random(1), 0.0
        while (at := at + draws.expovariate(short["each_second"])) < case["seconds"] - 1.0:
            size = int(min(draws.paretovariate(1.3) * 6000, 1e6))
            flows.append({"controller": short["controller"], "start": at, "bytes": size})
    return flows


def route(*arguments: str) -> None:
    """Send from a namespace of its own, whose router is this one."""
    # Programs of `emulate` make a further network namespace in a user namespace only. It maps no user: to map root,
    # it needs a capability that `emulate` drops (user_namespaces(7), CAP_SETFCAP), and as root tcpdump would change its
    # groups.
    command = [
        "unshare",
        "--user",
        "--keep-caps",
        "--net",
        sys.executable,
        "-I",
        __file__,
        "send",
        *arguments,
    ]
    inside = subprocess.Popen(command)
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{inside.pid}/ns/net").readlink() == own:
        time.sleep(0.02)
    _do(_BEHIND_A_ROUTER.format(pid=inside.pid))
    sys.exit(inside.wait())


def _go_inside() -> None:
    while "inside" not in Path("/proc/self/net/dev").read_text(encoding="ascii"):
        time.sleep(0.02)
    time.sleep(0.2)
    _do(_INSIDE)
    time.sleep(0.5)


def _do(lines: str) -> None:
    for line in lines.strip().splitlines():
        subprocess.run(line.split(), check=True)


def _set(sysctls: Mapping[str, str]) -> None:
    for name, value in sysctls.items():
        Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")


def _until_exists(file: Path) -> None:
    deadline = time.monotonic() + 10.0
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def serve(task: str, folder: str) -> None:
    """Receive everything until the sender is done."""
    case: dict[str, Any] = json.loads(task)
    place = Path(folder)
    _set(case["sysctls"])
    with capturing(DEVICES["receiver"], place / NAMES["receiver"], case["snap"]):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if case["window"]:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, case["window"])
        listening.bind(("", PORT))
        listening.listen(512)
        threading.Thread(target=_take, args=(listening,), daemon=True).start()
        while not (place / "sender.done").exists():
            time.sleep(0.05)
    (place / DONE).touch()


def _take(listening: socket.socket) -> None:
    while True:
        end, _ = listening.accept()
        threading.Thread(target=_swallow, args=(end,), daemon=True).start()


def _swallow(end: socket.socket) -> None:
    taken = bytearray(1 << 18)
    with end, contextlib.suppress(OSError):
        while end.recv_into(taken):
            pass


_VERBS: Mapping[str, Callable[..., None]] = {"serve": serve, "send": send, "route": route}


def main() -> None:
    """Run the verb of the arguments."""
    _, verb, *arguments = sys.argv
    missing = [name for name in ("tcpdump", "ss", "date", "ip") if shutil.which(name) is None]
    if missing:
        sys.exit(f"no {missing[0]} is installed")
    _VERBS[verb](*arguments)


if __name__ == "__main__":
    main()
