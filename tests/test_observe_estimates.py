"""Estimates from captures, on inputs whose truth is known because it was drawn here."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from forebay.observation.controllers import FACTORS, UNKNOWN, back_offs, family
from forebay.observation.estimate import Estimate, Unknown
from forebay.observation.limits import Limit, count_limited, limits
from forebay.observation.link_rate import Bins, Gaps, busy_share, link_rate
from forebay.observation.round_trips import base_round_trip, handshakes
from forebay.observation.streams import Front, Place, Stream, Windows

SEGMENT = 1448


def gaps_of(times: NDArray[np.float64], sizes: NDArray[np.float64]) -> Gaps:
    """The histogram of a capture: bins of 1/256 octave, as the reader has them."""
    seconds = np.diff(times)
    held = np.where(seconds > 0, 2 ** ((np.floor(np.log2(np.maximum(seconds, 1e-12)) * 256) + 0.5) / 256), 0.0)
    keys, counts = np.unique(np.stack([sizes[:-1], sizes[1:], held]), axis=1, return_counts=True)
    return Gaps(keys[0], keys[1], keys[2], keys[2] * (2 ** (1 / 256) - 1), counts.astype(float))


def load_of(times: NDArray[np.float64], sizes: NDArray[np.float64], width: float = 1e-3) -> Bins:
    bins = (times / width).astype(int)
    return Bins(width, np.bincount(bins, weights=sizes), np.bincount(bins).astype(float))


def departures(
    rate: float, load: float, count: int, seed: int, small: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Begins of transmission of Poisson arrivals at a link, of 1500 and, as a share, of 60 bytes."""
    draws = np.random.default_rng(seed)
    sizes = np.where(draws.random(count) < small, 60.0, 1500.0)
    arrivals = np.cumsum(draws.exponential(sizes.mean() * 8 / rate / load, count))
    begins = np.empty(count)
    free = 0.0
    for index in range(count):
        begins[index] = max(arrivals[index], free)
        free = begins[index] + sizes[index] * 8 / rate
    return begins, sizes


@pytest.mark.parametrize("rate", [10e6, 97.3e6, 1e9, 10e9])
@pytest.mark.parametrize(("load", "small"), [(0.3, 0.0), (0.9, 0.0), (0.7, 0.3)])
def test_the_rate_of_a_link_shows_in_departures_however_idle_it_is(rate: float, load: float, small: float) -> None:
    times, sizes = departures(rate, load, 20_000, 3, small)
    found = link_rate(gaps_of(times, sizes), load_of(times, sizes))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(rate, rel=0.01)
    assert found.low <= rate <= found.high
    assert found.high / found.low < 1.03


def test_stamps_at_the_end_of_packets_are_as_good() -> None:
    times, sizes = departures(1e8, 0.8, 20_000, 4, 0.3)
    ends = times + sizes * 8 / 1e8
    found = link_rate(gaps_of(ends, sizes), load_of(ends, sizes))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(1e8, rel=0.01)


def test_a_slower_link_before_is_not_taken_for_the_link() -> None:
    """Trains at 100 Mb/s of several senders, over a link of 1 Gb/s on which some follow back to back."""
    draws = np.random.default_rng(5)
    arrivals = np.sort(np.concatenate([s + np.arange(4000) * 12e-5 for s in draws.random(7) * 12e-5]))
    begins, free = np.empty(len(arrivals)), 0.0
    for index, arrival in enumerate(arrivals):
        begins[index] = max(arrival, free)
        free = begins[index] + 12e-6
    sizes = np.full(len(begins), 1500.0)
    found = link_rate(gaps_of(begins, sizes), load_of(begins, sizes))
    if isinstance(found, Estimate):
        assert found.value == pytest.approx(1e9, rel=0.01)


def test_coarse_stamps_leave_the_ceiling_of_the_load() -> None:
    times, sizes = departures(5e7, 1.2, 60_000, 6)
    coarse = np.floor(times / 1e-3) * 1e-3
    found = link_rate(gaps_of(coarse, sizes), load_of(coarse, sizes))
    assert isinstance(found, Estimate)
    assert "ceiling" in found.source
    assert found.value == pytest.approx(5e7, rel=0.02)


def test_of_packets_that_never_follow_one_another_nothing_is_known() -> None:
    draws = np.random.default_rng(7)
    times = np.cumsum(draws.exponential(1e-3, 30_000))
    sizes = np.full(len(times), 1500.0)
    found = link_rate(gaps_of(times, sizes), load_of(times, sizes))
    assert isinstance(found, Unknown)
    assert "--rate" in found.measure


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 65535)), max_size=60))
def test_a_rate_is_an_estimate_or_unknown_whatever_was_captured(packets: list[tuple[float, int]]) -> None:
    times = np.sort(np.array([time for time, _ in packets]))
    sizes = np.array([float(size) for _, size in packets])
    gaps = gaps_of(times, sizes) if len(times) > 1 else Gaps(*(np.empty(0) for _ in range(5)))
    load = load_of(times, sizes) if len(times) else Bins(1e-3, np.empty(0), np.empty(0))
    found = link_rate(gaps, load)
    assert isinstance(found, Estimate | Unknown)
    if isinstance(found, Estimate):
        assert 0 < found.low <= found.value <= found.high


def test_a_full_link_is_busy_and_a_slow_sender_s_is_not() -> None:
    for load, least, most in ((1.3, 0.95, 1.0), (0.3, 0.0, 0.05)):
        times, sizes = departures(1e8, load, 30_000, 8)
        assert least <= busy_share(1e8, load_of(times, sizes)) <= most


# Flows -------------------------------------------------------------------------------------------------------------


def windows(seconds: float, width: float = 0.02, **columns: Any) -> Windows:
    count = round(seconds / width)
    usual = {
        "bytes": np.full(count, 30_000.0),
        "packets": np.full(count, 20.0),
        "flight_bytes": np.full(count, 60.0 * SEGMENT),
        "repeated": np.zeros(count),
        "filled": np.zeros(count),
        "marked": np.zeros(count),
        "behind_s": np.full(count, 0.05),
        "before_s": np.full(count, 0.001),
        "longest_behind_s": np.full(count, 0.05),
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
        "behind_s": 0.05,
        "before_s": 0.001,
        "behind_samples": 1000,
        "before_samples": 1000,
        "handshake_behind_s": None,
        "handshake_before_s": None,
        "window_limited": 0.0,
        "idle_share": 0.0,
        "pauses": 0,
        "gap_variation": 1.0,
        "ecn_capable": False,
        "timestamps": True,
        "began": False,
        "ended": False,
        "windows": windows(seconds),
    }
    return Stream(**{**usual, **others})


def sawtooth(factor: float, growth: str, seed: int, top: float = 80.0) -> Stream:
    """A window that falls to `factor` of its top and grows back, at a round trip of 51 ms."""
    draws = np.random.default_rng(seed)
    width, seconds, rtt = 0.02, 60.0, 0.051
    count = round(seconds / width)
    flight, losses = np.empty(count), []
    epoch, since, level = 0.0, top * factor, top * factor
    for index in range(count):
        time = index * width
        age = time - epoch
        if growth == "reno":
            level = since + age / rtt
        else:
            period = ((1 - factor) * top / 0.4) ** (1 / 3)
            level = 0.4 * (age - period) ** 3 + top
        if level >= top * (1 + 0.05 * draws.standard_normal()):
            losses.append(time + rtt)
            since, epoch = level * factor, time + 2 * rtt
        flight[index] = level
        if losses and losses[-1] - rtt <= time <= losses[-1] + rtt:
            # While a repair is on its way the acknowledgment number stands.
            flight[index] = level * 1.7
    made = windows(seconds, flight_bytes=flight * SEGMENT)
    return stream(seconds, losses_s=np.array(losses), filled=len(losses), windows=made)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("name", "growth"), [("newreno", "reno"), ("cubic", "cubic"), ("cubic", "reno")])
def test_a_sawtooth_tells_its_family(name: str, growth: str, seed: int) -> None:
    found = family(sawtooth(FACTORS[name], growth, seed))
    assert found.name == name
    assert found.factor == pytest.approx(FACTORS[name], abs=0.08)
    assert math.isclose(sum(found.probabilities.values()), 1.0)


def test_of_a_flow_that_lost_nothing_no_family_is_known() -> None:
    assert family(stream()).name == UNKNOWN
    assert not len(back_offs(stream()))
    assert family(stream(windows=None, losses_s=np.array([3.0]))).name == UNKNOWN


def test_windows_longer_than_a_round_trip_tell_nothing() -> None:
    wide = windows(60.0, 0.2)
    assert not len(back_offs(stream(windows=wide, losses_s=np.arange(5.0, 50.0, 5.0))))


def test_visits_to_the_least_window_are_bbr_s() -> None:
    flight = np.full(3000, 80.0 * SEGMENT)
    for visit in range(0, 3000, 500):
        flight[visit : visit + 10] = 4 * SEGMENT
    visits = stream(windows=windows(60.0, flight_bytes=flight))
    assert family(visits).name == "bbr"
    # As often as a timeout comes, and not as regularly, it is nobody's.
    flight[:] = 80.0 * SEGMENT
    for visit in (100, 220, 1900):
        flight[visit : visit + 10] = 4 * SEGMENT
    assert family(stream(windows=windows(60.0, flight_bytes=flight))).name == UNKNOWN


def test_what_loses_here_is_limited_here_and_what_loses_elsewhere_is_not() -> None:
    losses = np.arange(2.0, 50.0, 5.0)
    draws = np.random.default_rng(1)
    uneven = windows(60.0, bytes=30_000 * (1 + 0.5 * np.repeat(draws.standard_normal(60), 50)))
    here = stream(losses_s=losses, filled=10, windows=uneven)
    behind = stream(losses_s=losses, repeated=10, windows=windows(60.0))
    assert limits([here], Place.BEHIND, 0.0) == [Limit.LINK]
    assert limits([behind], Place.BEHIND, 0.0) == [Limit.ELSEWHERE]
    assert limits([stream(losses_s=losses, repeated=10)], Place.BEFORE, 0.0) == [Limit.LINK]


def test_receivers_applications_and_slower_links_limit_too() -> None:
    losses = np.arange(2.0, 50.0, 5.0)
    bulk = stream(bytes=60_000_000, losses_s=losses, filled=10)
    found = limits(
        [bulk, stream(window_limited=0.9), stream(idle_share=0.5), stream(losses_s=losses, filled=3)],
        Place.BEHIND,
        0.9,
    )
    assert found == [Limit.LINK, Limit.RECEIVER, Limit.APPLICATION, Limit.ELSEWHERE]


def test_equal_shares_of_a_full_link_are_the_link_s() -> None:
    """As fair queueing gives them: constant, and nobody has more."""
    assert limits([stream(), stream()], Place.BEHIND, 1.0) == [Limit.LINK] * 2
    assert limits([stream(), stream()], Place.BEHIND, 0.1) == [Limit.ELSEWHERE] * 2


def test_flows_are_counted_while_they_live() -> None:
    first, second = stream(60.0), stream(30.0)
    found = count_limited([first, second], [Limit.LINK, Limit.LINK], (0.0, 60.0))
    assert found.value == pytest.approx(1.5, abs=0.02)
    assert (found.low, found.high) == (1.0, 2.0)
    unsure = count_limited([first, second], [Limit.LINK, Limit.UNKNOWN], (0.0, 60.0))
    assert (unsure.value, unsure.high) == (1.0, 2.0)


def test_a_base_round_trip_is_both_ways_less_the_link_s_own_time() -> None:
    found = base_round_trip(stream(), 10e6)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.051 - 0.0012)
    assert isinstance(base_round_trip(stream(before_samples=0, before_s=None), 1e9), Unknown)
    alone = base_round_trip(
        stream(before_samples=0, before_s=None, handshake_behind_s=0.05, handshake_before_s=0.01), 1e9
    )
    assert isinstance(alone, Estimate)
    assert alone.value == pytest.approx(0.06)


def test_both_sides_of_a_queue_tell_a_round_trip_without_it() -> None:
    """Whatever waits between them: only the ways before and behind the queue count, and the link's own time."""
    front = Front(0.012, 50, np.full(40, 0.0121), 0.013, dropped=7, marked=0)
    for waits in (0.0, 0.5):
        made = stream(before_s=0.012 + waits, behind_s=0.05, front=front)
        found = base_round_trip(made, 10e6, emptied=False)
        assert isinstance(found, Estimate)
        assert found.value == pytest.approx(0.062 - 0.0012)
        assert found.contains(0.062)
        assert made.lost(Place.BEHIND) == 7
    few = dataclasses.replace(front, before_samples=2)
    assert isinstance(base_round_trip(stream(front=few), 10e6, emptied=False), Unknown)


def shaken(count: int, load: float, *, waits_s: float, base_s: float = 0.03) -> tuple[list[Stream], Bins]:
    """Handshakes at a tenth of a second each, on a 12 Mb/s link that is empty but for bursts in each second."""
    busy = np.arange(count * 100) % 1000 < 1000 * load
    streams = [
        stream(
            start_s=0.1 * index + 0.05,
            handshake_behind_s=base_s / 3,
            handshake_before_s=2 * base_s / 3 + waits_s * busy[index * 100 + 50 - 30],
        )
        for index in range(count)
    ]
    return streams, Bins(0.001, np.where(busy, 1500.0, 0.0), np.where(busy, 1.0, 0.0))


@pytest.mark.parametrize("load", [0.0, 0.3, 0.6])
def test_handshakes_of_quiet_times_have_not_waited(load: float) -> None:
    streams, bins = shaken(200, load, waits_s=0.2)
    times, source = handshakes(streams, 12e6, bins, 5)
    assert times == pytest.approx(0.03)
    assert len(times) >= 200 * (0.8 - load)
    assert source == "handshakes while the link was quiet"


def test_handshakes_of_a_link_that_is_never_quiet_may_have_waited() -> None:
    streams, bins = shaken(200, 1.0, waits_s=0.2)
    times, source = handshakes(streams, 12e6, bins, 5)
    assert times == pytest.approx(0.23)
    assert source.endswith("may have waited")
    # Without the link's rate nobody knows what is quiet.
    assert handshakes(shaken(200, 0.0, waits_s=0.0)[0], None, bins, 5)[1].endswith("may have waited")
    front = Front(None, 0, np.empty(0), 0.02, dropped=0, marked=0)
    both = [dataclasses.replace(each, front=front) for each in streams]
    apart, source = handshakes(both, 12e6, bins, 5)
    assert apart == pytest.approx(0.03)
    assert "behind the queue" in source


@pytest.mark.parametrize("emptied", [0.02, 0.3])
def test_intervals_of_a_least_round_trip_cover_the_truth(emptied: float) -> None:
    """Where the queue empties now and then, and where it has to be extrapolated."""
    covered = []
    for seed in range(200):
        draws = np.random.default_rng(seed)
        waits = np.where(draws.random(200) < emptied, draws.random(200) * 1e-4, draws.random(200) * 0.02)
        times = 0.05 + waits
        made = stream(4.0, behind_s=float(times.min()), windows=windows(4.0, behind_s=times))
        found = base_round_trip(made, None)
        assert isinstance(found, Estimate)
        covered.append(found.contains(0.051))
    assert np.mean(covered) >= 0.85
