"""Streams as a capture may have seen them, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from forebay.observation.streams import Stream, Windows

SEGMENT = 1448


def windows(seconds: float, width: float = 0.02, **columns: Any) -> Windows:
    count = round(seconds / width)
    usual = {
        "bytes": np.full(count, 30_000.0),
        "packets": np.full(count, 20.0),
        "flight_bytes": np.full(count, 60.0 * SEGMENT),
        "repeated": np.zeros(count),
        "filled": np.zeros(count),
        "marked": np.zeros(count),
        "downstream_rtt_s": np.full(count, 0.05),
        "upstream_rtt_s": np.full(count, 0.001),
        "max_downstream_rtt_s": np.full(count, 0.05),
        "receive_window_bytes": np.full(count, np.nan),
    }
    return Windows(0.0, width, **{**usual, **columns})


def stream(seconds: float = 60.0, **others: Any) -> Stream:
    usual: dict[str, Any] = {
        "number": 0,
        "responsive": True,
        "start_s": 0.0,
        "end_s": seconds,
        "packets": 10_000,
        "bytes": 15_000_000,
        "payload_bytes": 14_480_000,
        "distinct_bytes": 14_480_000,
        "segment_bytes": SEGMENT,
        "packet_bytes": 1500,
        "repeated": 0,
        "filled": 0,
        "marked": 0,
        "losses_s": np.empty(0),
        "downstream_rtt_s": 0.05,
        "upstream_rtt_s": 0.001,
        "downstream_samples": 1000,
        "upstream_samples": 1000,
        "handshake_downstream_rtt_s": None,
        "handshake_upstream_rtt_s": None,
        "timestamps": True,
        "window_limited": 0.0,
        "idle_share": 0.0,
        "pauses": 0,
        "gap_variation": 1.0,
        "ecn_capable": False,
        "began": False,
        "ended": False,
        "windows": windows(seconds),
        "sender": None,
    }
    return Stream(**{**usual, **others})
