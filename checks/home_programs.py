"""Programs on both sides of the home link of `checks.home_link`, as a script: a server, and its clients.

``serve`` answers with pages of images and with files. ``browse`` lets a headless Chromium load such a page again and
again, and ``fetch`` lets curl fetch a file. Every load has a port of its own, so that no connection exists beforehand.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, build_opener

__all__ = ["OBJECTS", "OBJECT_BYTES", "PORT", "main"]

#: Number of images of a page, and bytes of each.
OBJECTS, OBJECT_BYTES = 50, 20_000
#: First port; load number n uses the n-th port after it.
PORT = 8000

CHROMIUM = (
    *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-port=0"),
)

#: A transparent pixel (GIF89a), after which decoders read nothing.
_PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
#: Page that reports its load time, and continues with the next.
_PAGE = Path(__file__).with_name("home_page.html")


def page(following: int) -> bytes:
    """A page of images that continues with a port, or with none."""
    # The last line is an image of many.
    *head, image = _PAGE.read_text(encoding="utf-8").splitlines()
    images = "".join(image.replace("NUMBER", str(number)) for number in range(OBJECTS))
    return ("\n".join(head).replace("FOLLOWING", str(following)) + images).encode()


class Loads:
    """The time of each load, as browsers report it, in seconds."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.seconds: list[float] = []
        self._all = threading.Condition()

    def add(self, seconds: float) -> None:
        """Add the time of one load."""
        with self._all:
            self.seconds.append(seconds)
            self._all.notify_all()

    def wait(self) -> list[float]:
        """Wait for all of them, and return them."""
        with self._all:
            self._all.wait_for(lambda: len(self.seconds) >= self.expected)
            return list(self.seconds)


class Answering(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    loads: Loads

    def do_GET(self) -> None:
        """Serve a page, an image, a file or the times of loads, or take the time of a load."""
        requested = urlsplit(self.path)
        kind, content = "application/octet-stream", b""
        if requested.path == "/":
            assert isinstance(self.server, Server)
            following = self.server.server_port + 1
            following = following if following < PORT + self.loads.expected else 0
            kind, content = "text/html", page(following)
        elif requested.path == "/loaded":
            self.loads.add(float(parse_qs(requested.query)["ms"][0]) / 1e3)
        elif requested.path == "/loads":
            content = json.dumps(self.loads.wait()).encode()
        elif requested.path.endswith(".gif"):
            kind, content = "image/gif", _PIXEL.ljust(OBJECT_BYTES, b"x")
        elif requested.path[1:].isdecimal():
            content = bytes(int(requested.path[1:]))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Write no log."""


class Server(ThreadingHTTPServer):
    """A server with a long queue, because a browser opens connections that it never uses."""

    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: browsers close connections at any time."""


def serve(loads: str) -> None:
    """Answer for ever."""
    Answering.loads = Loads(int(loads))
    servers = [Server(("", PORT + number), Answering) for number in range(int(loads))]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    servers[0].serve_forever()


def browse(peer: str, out: str) -> None:
    """Load every page, one after the other; write the load times, in seconds."""
    with tempfile.TemporaryDirectory() as profile:
        command = [*CHROMIUM, f"--user-data-dir={profile}", f"http://{peer}:{PORT}/"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with build_opener(ProxyHandler({})).open(f"http://{peer}:{PORT}/loads") as response:
                seconds = response.read().decode()
        finally:
            browser.kill()
            browser.wait()
            shutil.rmtree(profile, ignore_errors=True)
            Path(profile).mkdir(exist_ok=True)
    Path(out).write_text(seconds, encoding="utf-8")


def fetch(peer: str, out: str, size: str, times: str) -> None:
    """Fetch a file `times` times, over a connection each; write the fetch times, in seconds."""
    command = ["curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{time_total}"]
    line = [*command, f"http://{peer}:{PORT}/{size}"]
    found = [float(subprocess.run(line, check=True, capture_output=True, text=True).stdout) for _ in range(int(times))]
    Path(out).write_text(json.dumps(found), encoding="utf-8")


_VERBS: Mapping[str, Callable[..., None]] = {"serve": serve, "browse": browse, "fetch": fetch}


def main() -> None:
    """Run the verb of the arguments."""
    _, verb, *arguments = sys.argv
    _VERBS[verb](*arguments)


if __name__ == "__main__":
    main()
