"""New Reno (RFC 5681, RFC 6582), with the same results as forebay's own `newreno`."""

from dataclasses import dataclass

from forebay.algorithms import Ack, CongestionControl, CongestionEvent


@dataclass
class NewReno(CongestionControl):
    """One packet more per round trip, half of the window after a loss."""

    def on_ack(self, ack: Ack) -> None:
        """Grow the window (RFC 5681, section 3.1)."""
        rest = self.slow_start(ack.acked)
        self.cwnd += rest / self.cwnd

    def on_congestion_event(self, event: CongestionEvent) -> None:
        """Halve the window (RFC 5681, equation 4)."""
        self.reduce(0.5 * event.flight)
