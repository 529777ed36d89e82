"""The order of two captures of the same packets: right whichever is named first, or unknown with the reason."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from forebay.observation.capture_link import Seen, Transfers
from forebay.observation.capture_sides import UNORDERED, Packets
from forebay.observation.captures import read_captures, seen_of
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.finding import Persistent
from forebay.observation.limits import Limit
from forebay.observation.packet_timing import Bins, Gaps
from forebay.observation.writing import scenario_text
from tests.support.packets import ORIGIN, PACKET, capture, segment
from tests.support.readings import finding_of, interpret
from tests.support.streams import stream, windows

#: Nanoseconds of a packet at 12 Mb/s and at the faster link before it, and of the way behind both places.
SENDING, ARRIVING, WAY = 1_000_000, 100_000, 20_000_000
#: Most packets of a burst, and bursts: the queue empties between two of them and never overflows.
BURST, BURSTS = 12, 300
#: An unknown part of the clock of the second place.
CLOCKS = [0, 3_000_000, -3_000_000, 700_000_000, -700_000_000]


def lossless() -> list[tuple[int, int, int]]:
    """Number of each packet and its times before and behind a queue that takes every one of them."""
    random = np.random.default_rng(11)
    crossed, free, number = [], 0, 0
    for burst in range(BURSTS):
        start = ORIGIN + burst * 30_000_000 + int(random.integers(0, 5_000_000))
        for place in range(int(random.integers(1, BURST))):
            came = start + place * ARRIVING + int(random.integers(0, 20_000))
            free = max(came, free) + SENDING
            crossed.append((number, came, free))
            number += 1
    return crossed


def places(folder: Path, clock: int, *, answered: bool, waits: bool = True) -> tuple[Path, Path]:
    """Captures before and behind, with or without acknowledgments; the second clock is ahead."""
    before, behind = [], []
    for number, came, waited in lossless():
        left = waited if waits else came + 50_000
        packet = segment(1 + 1460 * number, 1460)
        before.append((came, packet, PACKET))
        behind.append((left + clock, packet, PACKET))
        if answered and number % 2:
            answer = segment(1 + 1460 * (number + 1), 0, answers=True)
            before.append((left + WAY, answer, 40))
            behind.append((left + WAY + clock, answer, 40))
    return capture(folder / "one.pcap", before), capture(folder / "other.pcap", behind)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("swapped", [False, True])
def test_captures_of_a_queue_that_lost_nothing_have_the_order_of_their_packets(
    clock: int, answered: bool, swapped: bool, tmp_path: Path
) -> None:
    files = list(places(tmp_path, clock, answered=answered))
    found = interpret(seen_of(read_captures(files[::-1] if swapped else files)))
    assert isinstance(found.rate, IntervalEstimate)
    assert found.rate.value == pytest.approx(12e6, rel=0.02)


@pytest.mark.parametrize("clock", [0, 3_000_000])
@pytest.mark.parametrize("swapped", [False, True])
def test_captures_without_an_order_tell_no_rate_and_no_buffer(clock: int, swapped: bool, tmp_path: Path) -> None:
    """Every packet takes as long from one place to the other, so that either may be the first."""
    files = list(places(tmp_path, clock, answered=False, waits=False))
    found = interpret(seen_of(read_captures(files[::-1] if swapped else files)))
    assert isinstance(found.rate, Unknown)
    assert found.rate.because == UNORDERED
    assert isinstance(found.queue.limit, Unknown)
    assert found.queue.limit.because == UNORDERED


def test_an_answer_takes_longer_at_the_earlier_place_though_more_packets_are_missing_there(tmp_path: Path) -> None:
    """A capture that misses packets before the queue does not turn the order round."""
    before, behind = places(tmp_path, 0, answered=True)
    data, at, retained, number = before.read_bytes(), 24, [], 0
    while at < len(data):
        length = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        # Two in a thousand.
        if number % 500 != 250:
            retained.append(data[at : at + length])
        at, number = at + length, number + 1
    before.write_bytes(data[:24] + b"".join(retained))
    found = interpret(seen_of(read_captures([before, behind])))
    assert isinstance(found.rate, IntervalEstimate)
    assert found.rate.value == pytest.approx(12e6, rel=0.02)


def test_a_flow_that_loses_packets_of_unknown_cause_is_a_long_flow_of_doubtful_limit() -> None:
    """The link was never full at its losses: the scenario assumes that the flow has more to send."""
    draws = np.random.default_rng(1)
    uneven = windows(60.0, bytes=30_000 * (1 + 0.5 * np.repeat(draws.standard_normal(60), 50)))
    one = stream(losses_s=np.arange(2.0, 50.0, 5.0), filled=10, windows=uneven)
    none, load = np.empty(0), Bins(0.001, np.full(60_000, 250.0), np.full(60_000, 1 / 6))
    gaps, transfers = Gaps(none, none, none, none, none), Transfers(none, none, 0)
    seen = Seen(None, 0.0, 60.0, Packets(load, gaps), [one], transfers, 0.0, None)
    observed = interpret(seen, rate_bps=100e6)
    [flow] = observed.long_flows
    assert flow.limit is Limit.UNKNOWN
    found = finding_of(seen, observed)
    [group] = found.groups
    assert isinstance(group.workload, Persistent)
    [statements] = found.assumed
    assert "always has data to send, but its limit is unknown" in statements
    assert tomllib.loads(scenario_text(found))["assumed"][0] == statements
