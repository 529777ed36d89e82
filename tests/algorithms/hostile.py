"""Scenarios with code of users that is wrong, and the errors of their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay import Scenario
from forebay.errors import CodeError
from tests.support.commands import forebay

CONTROL = """
import math, os, time
from dataclasses import dataclass
from forebay.algorithms import CongestionControl, parameter

@dataclass
class Mine(CongestionControl):
    gain: float = parameter(1.0, least=0, most=10)
    def on_ack(self, ack):
        {on_ack}
    def on_congestion_event(self, event):
        {on_event}
"""
QUEUE = """
from collections import deque
from dataclasses import dataclass
from forebay.algorithms import QueueDiscipline

@dataclass
class Mine(QueueDiscipline):
    def __post_init__(self):
        self.packets = deque()
    def enqueue(self, packet, now, random):
        {enqueue}
    def dequeue(self, now, random):
        {dequeue}
"""


def scenario(folder: Path, **parts: str) -> Path:
    """A scenario with code in a file beside it."""
    queue = "enqueue" in parts or "dequeue" in parts
    if queue:
        code = QUEUE.format(
            **({"enqueue": "self.packets.append(packet)", "dequeue": "return self.packets.popleft()"} | parts)
        )
    else:
        code = CONTROL.format(
            **({"on_ack": "self.slow_start(ack.acked)", "on_event": "self.reduce(event.flight / 2)"} | parts)
        )
    (folder / "mine.py").write_text(code, encoding="utf-8")
    chosen = '{ python = "mine.py:Mine" }'
    return written(folder, '"newreno"' if queue else chosen, chosen if queue else '"droptail"')


def written(folder: Path, cca: str, queue: str = '"droptail"') -> Path:
    """A scenario of one flow with these values of `cca` and `queue`, in a folder."""
    text = f"""
[link]
rate = "10Mbps"
buffer = "20p"
queue = {queue}
[[flows]]
name = "f"
rtt = "20ms"
cca = {cca}
[run]
warmup = "100ms"
measure = "1s"
"""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def assert_no_archive_runs(path: Path, folder: Path) -> None:
    """The archive of a sweep over a scenario with code runs nothing, whatever the user allows."""
    archive = folder / "x.zip"
    done = forebay(
        "sweep", path, "--over", "link.buffer=9p,20p", "--out", folder / "o", "--bundle", archive, "--allow-code"
    )
    assert done.code == 0, done.err
    again = forebay("sweep", "--replay", archive, "--out", folder / "p", "--allow-code")
    assert again.code == 2
    assert "never runs the code of an archive" in again.err


def failure(path: Path) -> str:
    """The error of a run, which is one line."""
    with pytest.raises(CodeError) as caught:
        Scenario.load(path, allow_code=True).run()
    text = str(caught.value)
    assert "\n" not in text
    return text


def refusal(path: Path) -> str:
    """The error of a file that cannot be loaded."""
    with pytest.raises(CodeError) as caught:
        Scenario.load(path, allow_code=True)
    return str(caught.value)
