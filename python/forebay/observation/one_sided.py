"""Answers that every input without packets gives: no queue, no rate unless it is given, and the regime of its load.

Inputs of flow records, counters and sockets use them in their findings.
"""

from __future__ import annotations

from forebay.observation.estimate import IntervalEstimate, Unknown, given_rate
from forebay.observation.load import Load
from forebay.observation.regime import Regime, regime_of

__all__ = ["given_or_unknown", "regime_without_packets", "unknown_queue"]


def given_or_unknown(rate_bps: float | None, because: str) -> IntervalEstimate | Unknown:
    """The rate that the user gives; unknown if there is none."""
    if rate_bps is not None:
        return given_rate(rate_bps)
    return Unknown("link rate", because, "give the rate of the port or the shaper with --rate")


def unknown_queue(what: str, because: str) -> Unknown:
    """A property of the queue that the input does not tell."""
    return Unknown(what, because, "read it from the router's configuration, or capture both sides of the queue")


def regime_without_packets(load: Load | None, limited: IntervalEstimate | Unknown, because: str) -> Regime:
    """The regime of a load; unknown if there is no load over time."""
    if load is None:
        return Regime("unknown", f"unknown, because {because}", ())
    return regime_of(
        load, limited=limited, unyielding=Unknown("load of unresponsive traffic", because, "capture the port")
    )
