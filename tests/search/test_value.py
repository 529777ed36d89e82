"""A range gives each number of a search a value: all values, in order, in equal steps, and back."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.search.value import SPAN, Range, Value

RANGES = st.builds(
    lambda low, factor, digits, mirrored: Range(low, low * factor, digits, mirrored=mirrored),
    st.floats(1e-3, 1e3),
    st.floats(1.1, 1e6),
    st.integers(3, 5),
    st.booleans(),
)
WHOLE = st.builds(
    lambda low, width, mirrored: Range(low, low + width, integral=True, mirrored=mirrored),
    st.integers(0, 300).map(float),
    st.integers(1, 3000).map(float),
    st.booleans(),
)


@given(RANGES | WHOLE)
def test_values_go_from_one_end_to_the_other_in_order(found: Range) -> None:
    places = [round(found.first * (found.last / found.first) ** (step / 50)) for step in range(51)]
    values = [found.number(place) for place in places]
    ends = [found.high, found.low] if found.mirrored else [found.low, found.high]
    assert [values[0], values[-1]] == ends
    rising = values[::-1] if found.mirrored else values
    assert all(one <= other for one, other in itertools.pairwise(rising))
    assert found.number(0) == values[0], "nothing lies beyond"
    assert found.number(2 * found.last) == values[-1]


@given(RANGES | WHOLE, st.floats(0, 1))
def test_a_value_has_a_number_that_stands_for_it(found: Range, share: float) -> None:
    place = round(found.first * (found.last / found.first) ** share)
    value, repeated = found.number(place), found.snapped(place)
    assert found.number(repeated) == value
    assert found.snapped(repeated) == repeated
    assert found.integral or repeated == pytest.approx(place, rel=0.02, abs=1)


@given(WHOLE)
def test_every_whole_number_of_a_range_is_a_value(found: Range) -> None:
    reached = {found.number(round(found.place(value))) for value in range(int(found.low), int(found.high) + 1)}
    assert reached == {float(value) for value in range(int(found.low), int(found.high) + 1)}


@given(st.integers(1, 400), st.integers(10, 100))
def test_whole_numbers_over_a_decade_are_the_search_s_own(low: int, factor: int) -> None:
    found = Range(float(low), float(low * factor), integral=True)
    assert (found.first, found.last) == (low, low * factor)
    assert all(found.number(place) == place == found.snapped(place) for place in range(low, low * factor + 1))


def test_over_a_decade_equal_ratios_are_equal_steps_and_else_equal_differences() -> None:
    wide, narrow = Range(0.001, 1.0, digits=9), Range(20.0, 60.0, digits=9)
    assert wide.by_decades
    assert not narrow.by_decades
    assert not Range(0.0, 60.0).by_decades, "nothing has a ratio to nothing"
    for share in (0.25, 0.5, 0.75):
        middle = wide.first * (wide.last / wide.first) ** share
        assert wide.number(middle) == pytest.approx(0.001 * 1000**share, rel=1e-6)
        middle = narrow.first * math.exp(SPAN * share)
        assert narrow.number(middle) == pytest.approx(20 + 40 * share, rel=1e-6)
        assert wide.place(0.001 * 1000**share) == pytest.approx(wide.first * 1000**share)


@given(RANGES | WHOLE, st.floats(1.0, 1e15))
def test_a_value_far_outside_has_a_number_outside(found: Range, factor: float) -> None:
    place = found.place(found.high + factor * (found.high - found.low))
    assert place <= found.first if found.mirrored else place >= found.last


@given(RANGES)
def test_a_step_is_finer_than_any_resolution_and_a_value_has_few_digits(found: Range) -> None:
    place = round(math.sqrt(found.first * found.last))
    here, there = found.number(place), found.number(place + max(2, place // 100))
    width = here if found.by_decades else found.high - found.low
    assert abs(there - here) <= 0.03 * width
    assert len(f"{here / 10 ** math.floor(math.log10(width)):.12g}".replace(".", "").lstrip("0")) <= found.digits + 3


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("42p", 42.0, "42 packets"),
        ("1p", 1.0, "1 packet"),
        ("1250p", 1250.0, "1,250 packets"),
        ("5.25ms", 5.25, "5.25 ms"),
        ("300us", 300.0, "300 µs"),
        ("2.5Gbps", 2.5, "2.5 Gb/s"),
        ("0.25BDP", 0.25, "0.25 BDP"),
        ("0.5", 0.5, "0.5"),
        ("5%", 5.0, "5 %"),
    ],
)
def test_a_value_is_printed_in_common_notation(text: str, number: float, words: str) -> None:
    assert Value(0.0, "", text, number, 1.0).words == words
    assert Value(7.0, "s", text, number, 1.0).to_dict() == {"value": 7.0, "unit": "s", "text": text}
