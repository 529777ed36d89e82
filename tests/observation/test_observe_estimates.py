"""Estimates from captures, on inputs whose truth is known because it was drawn here."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from forebay.observation.capture_link import Seen, Transfers
from forebay.observation.capture_sides import Packets
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.limits import Limit, count_limited, doubtful_limits, limits
from forebay.observation.link_rate import link_rate
from forebay.observation.packet_timing import Bins, Gaps
from forebay.observation.rate_bound import least_carried_rate
from forebay.observation.round_trips import base_round_trip, handshakes
from forebay.observation.streams import Front, Place, Stream
from tests.support.readings import interpret
from tests.support.streams import SEGMENT, stream, windows
from tests.support.tiers import examples


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
    assert isinstance(found, IntervalEstimate)
    assert found.value == pytest.approx(rate, rel=0.01)
    assert found.low <= rate <= found.high
    assert found.high / found.low < 1.03


def test_stamps_at_the_end_of_packets_are_as_good() -> None:
    times, sizes = departures(1e8, 0.8, 20_000, 4, 0.3)
    ends = times + sizes * 8 / 1e8
    found = link_rate(gaps_of(ends, sizes), load_of(ends, sizes))
    assert isinstance(found, IntervalEstimate)
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
    if isinstance(found, IntervalEstimate):
        assert found.value == pytest.approx(1e9, rel=0.01)


def test_coarse_stamps_leave_the_ceiling_of_the_load() -> None:
    times, sizes = departures(5e7, 1.2, 60_000, 6)
    coarse = np.floor(times / 1e-3) * 1e-3
    found = link_rate(gaps_of(coarse, sizes), load_of(coarse, sizes))
    assert isinstance(found, IntervalEstimate)
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
    assert isinstance(found, IntervalEstimate | Unknown)
    if isinstance(found, IntervalEstimate):
        assert 0 < found.low <= found.value <= found.high


@pytest.mark.parametrize("ticks", [1, 8])
def test_gaps_of_a_few_ticks_of_the_clock_tell_no_rate(ticks: int) -> None:
    """Trains of ten packets, an interrupt each, stamped in microseconds as a host stamps them."""
    draws = np.random.default_rng(9)
    trains = np.cumsum(draws.exponential(0.05, 500))
    times = np.floor((trains[:, None] + ticks * 1e-6 * np.arange(10)).ravel() * 1e6) / 1e6
    sizes = np.full(len(times), 1500.0)
    gaps = dataclasses.replace(gaps_of(times, sizes), tick_s=1e-6)
    found = link_rate(gaps, load_of(times, sizes))
    assert isinstance(found, Unknown)


@pytest.mark.parametrize("tick", [1e-6, 1e-5])
@pytest.mark.parametrize("rate", [97.3e6, 61.7e6])
def test_the_clock_is_in_the_interval_of_a_rate(rate: float, tick: float) -> None:
    times, sizes = departures(rate, 0.7, 20_000, 3)
    stamps = np.floor(times / tick + 1e-9) * tick
    gaps = dataclasses.replace(gaps_of(stamps, sizes), tick_s=tick)
    found = link_rate(gaps, load_of(stamps, sizes))
    assert isinstance(found, IntervalEstimate)
    assert found.contains(rate)
    assert found.high / found.low < 1.03


def test_a_clock_step_is_found_where_the_clock_stops() -> None:
    """Stamps in microseconds of a clock that goes on by 4 ms at a time."""
    times, sizes = departures(5e7, 0.9, 20_000, 6)
    stamps = np.floor(times / 0.004) * 0.004 + 0.000123
    gaps = dataclasses.replace(gaps_of(stamps, sizes), tick_s=1e-6)
    assert gaps.resolution_s == pytest.approx(0.004, rel=0.01)


def reason(times: NDArray[np.float64], sizes: NDArray[np.float64], tick: float) -> str:
    gaps = dataclasses.replace(gaps_of(times, sizes), tick_s=tick)
    found = link_rate(gaps, load_of(times, sizes))
    assert isinstance(found, Unknown)
    return found.because


def test_the_time_that_an_access_link_takes_is_no_tick_of_a_clock() -> None:
    """Trains over a link that takes 1 ms for each packet, which began at whole milliseconds."""
    draws = np.random.default_rng(12)
    starts = np.cumsum(draws.integers(30, 90, 400)) * 1e-3
    times = (starts[:, None] + 1e-3 * np.arange(8)).ravel()
    statements = reason(times, np.full(len(times), 1500.0), 1e-3)
    assert "clock" not in statements
    assert "the smallest gap between packets is 1 ms" in statements
    assert "12.0 Mb/s" in statements


def test_parallel_access_links_are_not_mistaken_for_a_stopped_clock() -> None:
    """Six senders, each behind a link of its own that takes 0.24 ms: some packets come together by chance."""
    draws = np.random.default_rng(13)
    starts = np.sort(draws.random(600) * 6.0)
    trains = starts[:, None] + 0.24e-3 * np.arange(8)
    trains[::5] = trains[1::5]
    times = np.sort(trains.ravel())
    statements = reason(times, np.full(len(times), 1500.0), 1e-9)
    assert "have the timestamp of the packet before" in statements
    assert "clock" not in statements


@pytest.mark.parametrize("tick", [1e-3, 1e-4])
def test_a_coarse_clock_is_reported(tick: float) -> None:
    draws = np.random.default_rng(14)
    times = np.cumsum(draws.exponential(2.7 * tick, 4000))
    assert "the clock of the capture" in reason(np.floor(times / tick) * tick, np.full(4000, 1500.0), tick)


def test_a_handful_of_gaps_is_no_rate() -> None:
    times = np.array([0.0, 0.9, 0.9012, 1.5, 1.5012, 2.0])
    sizes = np.full(6, 300.0)
    assert isinstance(link_rate(gaps_of(times, sizes), load_of(times, sizes)), Unknown)


@given(st.floats(1e6, 1e9), st.floats(0.1, 1.2), st.integers(0, 100), st.sampled_from([0.0, 0.002, 0.02]))
@settings(max_examples=examples(40), deadline=None)
def test_what_a_link_carried_at_least_is_true(rate: float, load: float, seed: int, carried: float) -> None:
    """Though a host holds packets up for up to so long, and hands them on together."""
    count = min(20_000, int(rate * 6 / 12_000))
    times, sizes = departures(rate, load, count, seed)
    if carried:
        times = np.ceil(times / carried) * carried
    found = least_carried_rate(load_of(times, sizes), [], Place.BEHIND, 1500.0)
    assert found is None or found <= rate
    if carried < 0.001 and times[-1] > 4 and load >= 1:
        assert found is not None
        assert found > 0.97 * rate


def test_a_full_link_is_busy_and_a_slow_sender_s_is_not() -> None:
    for load, least, most in ((1.3, 0.95, 1.0), (0.3, 0.0, 0.05)):
        times, sizes = departures(1e8, load, 30_000, 8)
        assert least <= load_of(times, sizes).busy_share(1e8) <= most


# Flows -------------------------------------------------------------------------------------------------------------


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


def front(dropped: int) -> Front:
    return Front(0.001, 1000, np.full(100, 0.001), None, dropped, 0)


@pytest.mark.parametrize("full_s", [np.empty(0), np.array([30.0])])
def test_drops_that_both_sides_of_a_queue_show_limit_a_flow_though_the_link_is_hardly_full(
    full_s: NDArray[np.float64],
) -> None:
    losses = np.arange(2.0, 50.0, 5.0)
    draws = np.random.default_rng(1)
    uneven = windows(60.0, bytes=30_000 * (1 + 0.5 * np.repeat(draws.standard_normal(60), 50)))
    both = stream(losses_s=losses, filled=10, windows=uneven, front=front(10))
    elsewhere = dataclasses.replace(both, filled=40)
    assert limits([both], Place.BEHIND, 0.0, full_s) == [Limit.LINK]
    assert limits([elsewhere], Place.BEHIND, 0.0, full_s) == [Limit.UNKNOWN]
    assert limits([dataclasses.replace(both, front=None)], Place.BEHIND, 0.0, full_s) == [Limit.UNKNOWN]


@pytest.mark.parametrize(("retained", "limit"), [(0.6, Limit.UNKNOWN), (1.0, Limit.ELSEWHERE)])
def test_the_limit_of_a_slower_steady_flow_whose_window_losses_cut_is_unknown(retained: float, limit: Limit) -> None:
    losses = np.arange(5.0, 55.0, 10.0)
    flight = np.full(3000, 60.0 * SEGMENT)
    for loss in losses:
        after = int(loss / 0.02) + 1
        flight[after : after + 20] *= retained
    # The flow never makes up for bytes not sent after a loss, as an application that writes at one rate would.
    sent = 30_000 * flight / (60.0 * SEGMENT)
    slow = stream(losses_s=losses, filled=10, windows=windows(60.0, flight_bytes=flight, bytes=sent))
    bulk = stream(bytes=25_000_000, losses_s=losses, filled=10)
    assert limits([bulk, slow], Place.BEHIND, 0.9) == [Limit.LINK, limit]


def test_a_limit_that_losses_or_waits_leave_open_is_doubtful() -> None:
    losses = np.arange(2.0, 50.0, 5.0)
    lossless, lossy = stream(), stream(losses_s=losses, filled=10)
    waiting = stream(windows=windows(60.0, downstream_rtt_s=np.linspace(0.05, 0.1, 3000)))

    def told(one: Stream, limit: Limit, *, rate_known: bool = True) -> bool:
        return bool(doubtful_limits([one], [limit], Place.BEHIND, rate_known=rate_known))

    assert told(lossy, Limit.UNKNOWN)
    assert told(lossless, Limit.UNKNOWN)
    assert told(waiting, Limit.ELSEWHERE, rate_known=False)
    assert not told(waiting, Limit.ELSEWHERE)
    assert not told(lossless, Limit.ELSEWHERE, rate_known=False)
    assert not told(lossy, Limit.LINK)
    assert not told(lossy, Limit.RECEIVER)


def test_equal_shares_of_a_full_link_are_the_link_s() -> None:
    """The shares are as fair queueing gives them: constant, and no flow has more."""
    assert limits([stream(), stream()], Place.BEHIND, 1.0) == [Limit.LINK] * 2
    assert limits([stream(), stream()], Place.BEHIND, 0.1) == [Limit.ELSEWHERE] * 2


def test_flows_are_counted_while_they_live() -> None:
    first, second = stream(60.0), stream(30.0)
    found = count_limited([first, second], [Limit.LINK, Limit.LINK], (0.0, 60.0))
    assert found.value == pytest.approx(1.5, abs=0.02)
    assert not found.is_bounded
    pairs = [first, second] * 10
    many = count_limited(pairs, [Limit.LINK, Limit.LINK] * 10, (0.0, 60.0))
    assert (many.low, many.high) == (10.0, 20.0)
    unsure = count_limited(pairs, [Limit.LINK, Limit.UNKNOWN] * 10, (0.0, 60.0))
    assert (unsure.value, unsure.high) == (10.0, 20.0)


@pytest.mark.parametrize("own", [0.0012, 0.0])
def test_a_base_round_trip_is_both_ways_less_the_link_s_own_time(own: float) -> None:
    """A link sends a packet of data for longer than one of a handshake; a shaper lets both pass as they are."""
    shaken = stream(data_downstream_rtt_s=0.05, handshake_downstream_rtt_s=0.05 - own)
    found = base_round_trip(shaken, 10e6)
    assert isinstance(found, IntervalEstimate)
    assert found.value == pytest.approx(0.051 - own)
    without = base_round_trip(stream(), 10e6)
    assert isinstance(without, IntervalEstimate)
    assert without.contains(0.051 - own)
    assert isinstance(base_round_trip(stream(upstream_samples=0, upstream_rtt_s=None), 1e9), Unknown)
    alone = base_round_trip(
        stream(upstream_samples=0, upstream_rtt_s=None, handshake_downstream_rtt_s=0.05, handshake_upstream_rtt_s=0.01),
        1e9,
    )
    assert isinstance(alone, IntervalEstimate)
    assert alone.value == pytest.approx(0.06)


def test_both_sides_of_a_queue_tell_a_round_trip_without_it() -> None:
    """Whatever waits between them: only the ways before and behind the queue count, and the link's own time."""
    front = Front(0.012, 50, np.full(40, 0.0121), 0.013, dropped=7, marked=0)
    for waits in (0.0, 0.5):
        made = stream(upstream_rtt_s=0.012 + waits, downstream_rtt_s=0.05, front=front)
        found = base_round_trip(made, 10e6, emptied=False)
        assert isinstance(found, IntervalEstimate)
        assert found.value == pytest.approx(0.062 - 0.0006)
        assert found.contains(0.062)
        assert found.contains(0.062 - 0.0012)
        assert made.lost(Place.BEHIND) == 7
    few = dataclasses.replace(front, upstream_samples=2)
    assert isinstance(base_round_trip(stream(front=few), 10e6, emptied=False), Unknown)


@pytest.mark.parametrize("wrong", [1, 2])
def test_a_wrong_stamp_does_not_move_a_base_round_trip(wrong: int) -> None:
    times = 0.05 + np.random.default_rng(1).random(200) * 0.002
    times[:wrong] = 0.003
    made = stream(4.0, downstream_rtt_s=0.003, windows=windows(4.0, downstream_rtt_s=times))
    found = base_round_trip(made, None)
    assert isinstance(found, IntervalEstimate)
    assert found.value == pytest.approx(0.051, rel=0.02)


def test_a_clock_that_is_too_coarse_tells_no_round_trip() -> None:
    fine, coarse = (base_round_trip(stream(), None, tick_s=tick) for tick in (1e-6, 0.01))
    assert isinstance(fine, IntervalEstimate)
    assert isinstance(coarse, Unknown)
    assert coarse.at_most is not None
    assert coarse.at_most > 0.051


def shaken(count: int, load: float, *, waits_s: float, base_s: float = 0.03) -> tuple[list[Stream], Bins]:
    """Handshakes at a tenth of a second each, on a 12 Mb/s link that is empty but for bursts in each second."""
    busy = np.arange(count * 100) % 1000 < 1000 * load
    streams = [
        stream(
            start_s=0.1 * index + 0.05,
            handshake_downstream_rtt_s=base_s / 3,
            handshake_upstream_rtt_s=2 * base_s / 3 + waits_s * busy[index * 100 + 50 - 30],
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
    # Without the link's rate the quiet times are unknown.
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
        made = stream(4.0, downstream_rtt_s=float(times.min()), windows=windows(4.0, downstream_rtt_s=times))
        found = base_round_trip(made, None)
        assert isinstance(found, IntervalEstimate)
        covered.append(found.contains(0.051))
    assert np.mean(covered) >= 0.85


@pytest.mark.parametrize(("load", "expected"), [("now and then", True), ("always", False), ("elsewhere", False)])
def test_a_base_round_trip_wants_an_empty_queue_where_it_is_least(load: str, expected: bool) -> None:
    """A 12 Mb/s link, one packet in each millisecond; a tenth of the time the round trip is at its least."""
    milliseconds = np.arange(60_000)
    least = milliseconds % 1000 < 100
    idle = {"now and then": least, "always": np.zeros(60_000, bool), "elsewhere": (milliseconds % 1000) // 100 == 5}[
        load
    ]
    bins = Bins(0.001, np.where(idle, 0.0, 1500.0), np.where(idle, 0.0, 1.0))
    waits = np.where(least.reshape(-1, 20).any(axis=1), 0.0, 0.02)
    made = stream(60.0, windows=windows(60.0, downstream_rtt_s=0.05 + waits), filled=20, losses_s=np.arange(20.0))
    none = np.empty(0)
    seen = Seen(
        Place.BEHIND,
        0.0,
        60.0,
        Packets(bins, Gaps(none, none, none, none, none)),
        [made],
        Transfers(none, none, 0),
        0.0,
        None,
        gathered=False,
    )
    [flow] = interpret(seen, 12e6).long_flows
    assert isinstance(flow.base_round_trip, IntervalEstimate) is expected
    # A capture before the queue does not show whether it is empty.
    [flow] = interpret(dataclasses.replace(seen, place=Place.BEFORE), 12e6).long_flows
    assert isinstance(flow.base_round_trip, Unknown)
    shaken = dataclasses.replace(made, handshake_downstream_rtt_s=0.05, handshake_upstream_rtt_s=0.001)
    [flow] = interpret(dataclasses.replace(seen, place=Place.BEFORE, streams=[shaken]), 12e6).long_flows
    assert isinstance(flow.base_round_trip, IntervalEstimate)
