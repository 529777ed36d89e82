"""Your own congestion control and queue disciplines, written in Python.

1. Write a class in a file: a subclass of `CongestionControl` or `QueueDiscipline`. Its parameters are fields of a
   dataclass.
2. Name it in a scenario: `cca = { python = "mine.py:Mine", gain = 2 }` or `queue = { python = "mine.py:MyAqm" }`.
3. Run any verb with `--allow-code`, or load the scenario with `allow_code=True`.

The text of the file becomes part of the scenario, of its SHA-256 and of every bundle. The code runs in a process of its
own, with limits of memory and time.

Examples
--------
>>> from dataclasses import dataclass
>>> @dataclass
... class Simple(CongestionControl):
...     '''One packet more per round trip, half of the window after a loss.'''
...     increase: float = 1.0
...     def on_ack(self, ack):
...         rest = self.slow_start(ack.acked)
...         self.cwnd += self.increase * rest / self.cwnd
...     def on_congestion_event(self, event):
...         self.reduce(event.flight / 2)
"""

from __future__ import annotations

from forebay._core import Ack, CongestionEvent, Idle, Link, QueuePacket, Random, Sample
from forebay.algorithms.interface import CongestionControl, QueueDiscipline, parameter

__all__ = [
    "Ack",
    "CongestionControl",
    "CongestionEvent",
    "Idle",
    "Link",
    "QueueDiscipline",
    "QueuePacket",
    "Random",
    "Sample",
    "parameter",
]
