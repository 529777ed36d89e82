"""How fast a search locates a threshold: the next buffer of a bracket, gaps, and the expected number of steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.search.plan import without_gaps
from forebay.search.smallest import Search, _between
from tests.support.oracle import ROOM, Link, Oracle, buffer_of, plan_of, searched, since


class Straight(Oracle):
    """Margins that are a straight line over the logarithm of the buffer."""

    edge = 300.0

    def margin(self, reports: Sequence[Report], goals: Sequence[Goal]) -> float:
        del goals
        return 0.1 * math.log(buffer_of(reports) / self.edge)


@pytest.mark.parametrize("edge", [47.0, 61.9, 150.0, 230.4, 500.5, 3000.0])
def test_three_looks_about_the_edge_settle_it_where_margins_are_straight(edge: float) -> None:
    test = Straight(lambda buffer: buffer >= edge)
    test.edge = edge
    first = len(without_gaps([1, 1000], 4.0))
    doublings = max(0, math.ceil(math.log2(edge / 1000)))
    outcome, link, *_ = searched(test)
    assert outcome.buffer is not None
    assert len(link.buffers) <= first + doublings + 3
    below = max(buffer for buffer in link.buffers if buffer < edge)
    # One at most half a resolution and a packet above it, one as much below.
    assert outcome.buffer <= edge * 1.025 + 1
    assert below >= edge / 1.025 - 1


def looked(test: Oracle, low: int, high: int, steps: int, **changes: object) -> int:
    search = Search(Link(), (ROOM,), plan_of(test, **changes))
    search.sample([low, high], 4)
    return search._next(low, high, (ROOM,), steps)


@pytest.mark.parametrize("resolution", [0.02, 0.05, 0.2])
@pytest.mark.parametrize(("low", "high"), [(10, 40), (100, 400), (250, 1000), (100, 110)])
@pytest.mark.parametrize("place", [0.1, 0.4, 0.45, 0.6, 0.9])
def test_the_next_look_is_half_a_resolution_beside_the_edge(
    place: float, low: int, high: int, resolution: float
) -> None:
    """On the side of the end that is further away; every third time, and where neither is inside, in the middle."""
    test = Straight(since(1))
    test.edge = edge = low * (high / low) ** place
    above, below = edge * (1 + resolution / 2), edge / (1 + resolution / 2)
    candidates = [math.ceil(above), math.floor(below)]
    if place > 0.5:
        candidates.reverse()
    inside = [candidate for candidate in candidates if low < candidate < high]
    for steps in range(7):
        found = looked(test, low, high, steps, resolution=resolution)
        assert low < found < high
        if steps % 3 == 2 or not inside:
            assert found == _between(low, high)
        else:
            assert abs(found - inside[0]) <= (1 if abs(math.remainder(above, 1)) < 1e-6 else 0)


def test_without_a_change_of_sign_the_next_look_is_in_the_middle() -> None:
    for edge in (5.0, 10.0, 100.0, 5000.0):
        test = Straight(since(1))
        test.edge = edge
        assert looked(test, 10, 100, 0) == _between(10, 100)
        assert looked(test, 200, 1000, 1) == _between(200, 1000) or 200 < edge < 1000


@given(st.integers(1, 5000), st.integers(2, 5000))
def test_the_middle_is_the_whole_number_nearest_the_geometric_mean(low: int, more: int) -> None:
    high = low + more
    found = _between(low, high)
    assert low < found < high
    mean = math.sqrt(low * high)
    assert all(abs(found - mean) <= abs(other - mean) + 1e-9 for other in (found - 1, found + 1) if low < other < high)


@given(st.sets(st.integers(1, 10**5), min_size=1, max_size=6).map(sorted), st.sampled_from([2.0, 4.0, 10.0]))
def test_gaps_are_filled_and_nothing_more(buffers: list[int], gap: float) -> None:
    found = without_gaps(buffers, gap)
    assert found == sorted(set(found))
    assert set(buffers) <= set(found)
    for low, high in itertools.pairwise(buffers):
        inner = [buffer for buffer in found if low < buffer < high]
        pieces = math.ceil(round(math.log(high / low, gap), 9))
        assert len(inner) <= max(0, pieces - 1), "no more than have to be"
        for one, other in itertools.pairwise([low, *inner, high]):
            assert other - 0.5 <= gap * (one + 0.5) + 1e-6, "to half a packet each"


def test_exact_powers_leave_exact_gaps() -> None:
    assert without_gaps([1, 4**6], 4.0) == [4**k for k in range(7)]
    assert without_gaps([1, 10**5], 10.0) == [10**k for k in range(6)]
    assert without_gaps([7, 28], 4.0) == [7, 28]
    assert without_gaps([7], 4.0) == [7]
    assert without_gaps([100, 401], 4.0) == [100, 200, 401]


@pytest.mark.parametrize(
    ("low", "high", "resolution", "done"),
    [
        (3, 4, 0.05, True),
        (3, 5, 0.05, False),
        (1, 2, 0.001, True),
        (100, 105, 0.05, True),
        (100, 106, 0.05, False),
        (10, 12, 0.05, False),
        (1000, 1050, 0.05, True),
        (1000, 1051, 0.05, False),
        (4, 8, 1.0, True),
        (4, 9, 1.0, False),
    ],
)
def test_a_bracket_is_resolved_at_a_packet_or_at_the_resolution(
    low: int, high: int, resolution: float, done: bool
) -> None:
    assert Search(Link(), (ROOM,), plan_of(Oracle(since(1)), resolution=resolution))._resolved(low, high) is done


@pytest.mark.parametrize("test", [Oracle, Straight])
@pytest.mark.parametrize("analyses", [(4, 8, 16), (10, 20), (20, 22)])
def test_what_is_expected_is_about_what_it_takes(test: type[Oracle], analyses: tuple[int, ...]) -> None:
    """Progress: where nothing is unclear the search takes no more than is foretold at the start, and much of it."""
    for edge in (5, 17, 30, 77, 200, 444, 900):
        one = test(since(edge))
        if isinstance(one, Straight):
            one.edge = edge - 0.5
        _, link, search, expected = searched(one, analyses=analyses)
        first = expected[0]
        assert 0.4 * first <= len(link.asked) <= first, (edge, first, len(link.asked))
        assert expected[-1] == one.fresh, "at last nothing but the fresh ones"
        # While the bracket narrows, ever less remains.
        assert expected[1:] == sorted(expected[1:], reverse=True)
        assert all(forecast >= one.fresh for forecast in expected)
        assert len(expected) == 2 + len(search.samples) - len(without_gaps([1, 1000], 4.0))


def test_the_listener_is_optional() -> None:
    assert Search(Link(), (ROOM,), plan_of(Oracle(since(30)))).run().buffer in {30, 31}
