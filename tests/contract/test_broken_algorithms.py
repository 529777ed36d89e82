"""Each broken algorithm fails exactly the check that its fault belongs to; correct ones pass all checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.algorithms.processes import close_idle
from forebay.contract.answer import Conformance
from forebay.contract.conforming import conformance

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"

CONTROL = """
import math
{imports}
from forebay.algorithms import CongestionControl
from forebay.algorithms.math import exp

class Mine(CongestionControl):
    def on_open(self, payload):
        self.weight = 1.0
        {on_open}
    def on_ack(self, ack):
        rest = self.slow_start(ack.acked) if self.cwnd < self.ssthresh else ack.acked
        self.cwnd += self.weight * rest / self.cwnd
        {on_ack}
    def on_congestion_event(self, event):
        {on_event}
    {more}
"""
QUEUE = """
{imports}
from collections import deque
from forebay.algorithms import QueueDiscipline

class Mine(QueueDiscipline):
    def __init__(self):
        self.packets = deque()
        self.count = 0
    def enqueue(self, packet, now, random):
        {enqueue}
        self.packets.append(packet)
        return True
    def dequeue(self, now, random):
        {dequeue}
        return self.packets.popleft() if self.packets else None
"""
CONTROL_PARTS = {"imports": "", "on_open": "", "on_ack": "", "on_event": "self.reduce(event.flight / 2)", "more": ""}
QUEUE_PARTS = {"imports": "", "enqueue": "if not self.fits(packet): return False", "dequeue": ""}

CONTROLLERS = {
    "window": {"more": "def window(self): return self.cwnd if self.cwnd > 1 else 0.5"},
    "loss": {
        "on_ack": "self.cwnd = min(self.cwnd, 25.0)",
        "on_event": "self.reduce(event.flight / 2 if event.kind != 'loss' else self.cwnd)",
    },
    "ecn": {"on_event": "self.reduce(event.flight / 2 if event.kind != 'mark' else self.cwnd)"},
    "fairness": {"on_open": "self.weight = 20.0 if self.random.below(3) == 0 else 0.1"},
    "share_newreno": {"on_event": "self.reduce(event.flight * 0.98)", "on_open": "self.weight = 20.0"},
    "random_loss_5": {"on_event": "self.reduce(event.flight / 16)", "on_ack": "self.ssthresh = max(self.ssthresh, 2)"},
    "equal_results": {"imports": "from random import random", "on_open": "self.weight = 1.0 + 0.01 * random()"},
    "pinned_math": {"on_open": "self.weight = math.exp(0.0)"},
    "speed": {"on_ack": "sum(range(400))"},
    "runs": {"on_event": "self.reduce(event.flight / 0)"},
}
QUEUES = {
    "fifo": {"dequeue": "if len(self.packets) > 5: return self.packets.pop()"},
    "conservation": {"dequeue": "if len(self.packets) > 5: return self.packets[0]"},
    "work": {"dequeue": "self.count += 1\n        if self.count % 500 == 0: return None"},
    "memory": {"enqueue": ""},
    "marks": {
        "enqueue": "if not self.fits(packet): return False\n"
        "        if len(self.packets) >= 10: packet.mark()"
    },
    "equal_results": {
        "imports": "import time",
        "enqueue": "if not self.fits(packet) or time.time_ns() % 1000 == 0: return False",
    },
    "pinned_math": {"imports": "from math import log2", "enqueue": "if log2(4) != 2 or not self.fits(packet): return False"},
    "speed": {"dequeue": "sum(range(2000))"},
    "runs": {"dequeue": "self.count = 1 / 0"},
}


def broken(folder: Path, template: str, parts: dict[str, str]) -> Conformance:
    """The verdicts on a template with some parts replaced."""
    defaults = CONTROL_PARTS if template is CONTROL else QUEUE_PARTS
    path = folder / "mine.py"
    path.write_text(template.format(**(defaults | parts)), encoding="utf-8")
    close_idle()
    return conformance(f"{path}:Mine", allow_code=True)


def failures(found: Conformance) -> dict[str, str]:
    return {each.name: each.figure for each in found.with_verdict("fail")}


@pytest.mark.parametrize("place", ["newreno.py:NewReno", "cubic.py:Cubic", "codel.py:CoDel"])
def test_the_examples_pass_every_check(place: str) -> None:
    found = conformance(f"{EXAMPLES / place}", allow_code=True)
    assert {each.verdict for each in found.checks} == {"pass"}


@pytest.mark.parametrize("template", [CONTROL, QUEUE], ids=["controller", "queue"])
def test_the_template_without_a_fault_passes(tmp_path: Path, template: str) -> None:
    found = broken(tmp_path, template, {})
    assert failures(found) == {}
    assert found.passed


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_broken_congestion_control_fails_the_intended_check(tmp_path: Path, name: str) -> None:
    assert list(failures(broken(tmp_path, CONTROL, CONTROLLERS[name]))) == [name]


@pytest.mark.parametrize("name", QUEUES)
def test_a_broken_queue_discipline_fails_the_intended_check(tmp_path: Path, name: str) -> None:
    assert list(failures(broken(tmp_path, QUEUE, QUEUES[name]))) == [name]
