"""CUBIC (RFC 9438), with the same results as forebay's own `{ kind = "cubic", variant = "rfc" }`."""

import math
from dataclasses import dataclass
from typing import Any

from forebay.algorithms import Ack, CongestionControl, CongestionEvent, Idle, parameter
from forebay.algorithms.math import cbrt

SECOND_PS = 1e12


@dataclass
class Cubic(CongestionControl):
    """A window that grows with the cube of the time since the last reduction."""

    scale: float = parameter(0.4, meaning="Constant C, in packets per second cubed", least=0, most=1e6)
    beta: float = parameter(0.7, meaning="Part of the window that remains after a reduction", least=0, most=1)

    def __post_init__(self) -> None:
        """Begin with no reduction."""
        self.alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        self.w_max = 0.0
        self.k = 0.0
        self.w_est = 0.0
        self.cwnd_prior = math.inf
        self.after_timeout = False
        self.epoch_start: int | None = None

    def w_cubic(self, seconds: float) -> float:
        """The window of equation 1."""
        x = seconds - self.k
        return self.scale * x * x * x + self.w_max

    def begin_epoch(self, now: int) -> int:
        """Start the clock of the cubic function (sections 4.2 and 4.8)."""
        self.epoch_start = now
        self.w_est = self.cwnd
        if self.w_max <= self.cwnd or self.after_timeout:
            self.w_max = self.cwnd
            self.k = 0.0
        else:
            self.k = cbrt((self.w_max - self.cwnd) / self.scale)
        self.after_timeout = False
        return now

    def on_ack(self, ack: Ack) -> None:
        """Grow the window (sections 4.2 to 4.4)."""
        acked = self.slow_start(ack.acked)
        if acked <= 0.0:
            return
        start = self.begin_epoch(ack.now_ps) if self.epoch_start is None else self.epoch_start
        elapsed = max(0, ack.now_ps - start) / SECOND_PS
        per_packet = acked / self.cwnd
        alpha = self.alpha if self.w_est < self.cwnd_prior or self.alpha == 0.0 else 1.0
        self.w_est += alpha * per_packet
        if self.w_cubic(elapsed) < self.w_est and self.alpha > 0.0:
            self.cwnd = max(self.cwnd, self.w_est)
            return
        target = min(max(self.w_cubic(elapsed + ack.smoothed_rtt), self.cwnd), 1.5 * self.cwnd)
        self.cwnd += (target - self.cwnd) * per_packet

    def on_congestion_event(self, event: CongestionEvent) -> None:
        """Reduce the window (sections 4.6 and 4.7)."""
        self.cwnd_prior = event.flight
        fast = event.flight < self.w_max
        self.w_max = 0.5 * event.flight * (1.0 + self.beta) if fast else event.flight
        self.epoch_start = None
        self.after_timeout = event.kind == "timeout"
        self.reduce(self.beta * event.flight)

    def recovery_floor(self) -> float:
        """The threshold, as in Linux, whose CUBIC has no `min_cwnd`."""
        return self.ssthresh

    def on_idle(self, idle: Idle) -> None:
        """Leave idle time out of the clock (section 5.8)."""
        super().on_idle(idle)
        if self.epoch_start is not None:
            self.epoch_start = min(self.epoch_start + idle.time_ps, idle.now_ps)

    def on_undo(self, before: Any) -> None:
        """Restore the state before a spurious timeout (section 4.9.2)."""
        self.__dict__.update(before.__dict__)
