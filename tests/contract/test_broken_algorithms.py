"""Each broken algorithm fails exactly the check that its fault belongs to; correct ones pass all checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.algorithms.code_files import admit
from forebay.algorithms.loading import Role
from forebay.contract import control_checks, queue_checks
from forebay.contract.answer import Conformance
from forebay.contract.conforming import conformance
from forebay.contract.trials import Subject, Trials

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
    "fairness": {
        "on_ack": "if not hasattr(self, 'most'): self.most = 8.0 if ack.now > 0.5 else math.inf\n"
        "        self.cwnd = min(self.cwnd, self.most)"
    },
    "share_cubic share_newreno": {
        "on_event": "self.reduce(event.flight * (0.5 if event.kind == 'mark' else 0.95))",
        "on_open": "self.weight = 6.0",
    },
    "random_loss_1": {"on_open": "self.weight = 0.2"},
    "random_loss_5": {"more": "def on_timeout(self, event): self.ssthresh = 2.0; self.cwnd = 1.0; self.weight = 0.1"},
    "equal_results": {"imports": "from random import random", "on_open": "self.weight = 1.0 + 0.01 * random()"},
    "pinned_math": {"on_open": "self.weight = math.exp(0.0)"},
    "runs": {"on_event": "self.reduce(event.flight / 0)"},
}
QUEUES = {
    "fifo": {"dequeue": "if len(self.packets) > 5: return self.packets.pop()"},
    "conservation": {"dequeue": "if len(self.packets) > 5: return self.packets[0]"},
    "work": {"dequeue": "self.count += 1\n        if self.count % 500 == 0: return None"},
    "memory": {"enqueue": ""},
    "marks": {"enqueue": "if not self.fits(packet): return False\n        if len(self.packets) >= 10: packet.mark()"},
    "equal_results": {
        "imports": "import time",
        "enqueue": "if not self.fits(packet) or time.time_ns() % 1000 == 0: return False",
    },
    "pinned_math": {
        "imports": "from math import log2",
        "enqueue": "if log2(4) != 2 or not self.fits(packet): return False",
    },
    "runs": {"dequeue": "self.count = 1 / 0"},
}


def written(folder: Path, template: str, parts: dict[str, str]) -> Path:
    """A file with a template, some parts of which are replaced."""
    defaults = CONTROL_PARTS if template is CONTROL else QUEUE_PARTS
    path = folder / "mine.py"
    path.write_text(template.format(**(defaults | parts)), encoding="utf-8")
    return path


def broken(folder: Path, template: str, parts: dict[str, str]) -> Conformance:
    """The verdicts on a template with some parts replaced."""
    return conformance(f"{written(folder, template, parts)}:Mine", allow_code=True)


def subject(folder: Path, template: str, parts: dict[str, str]) -> Subject:
    """A template with some parts replaced, as the checks take it."""
    source = written(folder, template, parts).read_text(encoding="utf-8")
    table = {"python": "mine.py:Mine", "source": source}
    role: Role = "controller" if template is CONTROL else "discipline"
    admit("mine.py:Mine", source, role)
    return Subject("mine.py:Mine", role, table, source)


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
    assert list(failures(broken(tmp_path, CONTROL, CONTROLLERS[name]))) == name.split()


def test_a_difference_between_processes_that_the_text_hides_is_found(tmp_path: Path) -> None:
    hidden = {"on_open": "self.weight = 1.0 + ('text'.__hash__() % 100_003) / 1e6"}
    found = control_checks.equal_results(Trials(subject(tmp_path, CONTROL, hidden), tmp_path))
    assert (found.verdict, found.figure, found.reasons) == ("fail", "different", ())


def test_slow_code_fails_the_check_of_speed(tmp_path: Path) -> None:
    for check, template, slow in (
        (control_checks.speed, CONTROL, {"on_ack": "sum(range(800))"}),
        (queue_checks.speed, QUEUE, {"dequeue": "sum(range(2000))"}),
    ):
        found = check(Trials(subject(tmp_path, template, slow), tmp_path))
        assert found.verdict == "fail"
        assert found.value is not None
        assert 1000 < found.value < 300_000


@pytest.mark.parametrize("name", QUEUES)
def test_a_broken_queue_discipline_fails_the_intended_check(tmp_path: Path, name: str) -> None:
    assert list(failures(broken(tmp_path, QUEUE, QUEUES[name]))) == [name]


def test_losses_that_show_no_reaction_are_not_called_unseen(tmp_path: Path) -> None:
    parts = {"on_ack": "self.cwnd = 3.0", "on_event": "self.cwnd = self.ssthresh = 3.0"}
    found = control_checks.loss(Trials(subject(tmp_path, CONTROL, parts), tmp_path))
    assert (found.verdict, found.figure) == ("note", "no single loss to judge")
