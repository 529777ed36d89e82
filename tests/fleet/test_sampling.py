"""The bound on the error rate is the exact one, and the sample does not depend on the order of questions."""

from __future__ import annotations

import math
import random

import pytest

from forebay.fleets.sampling import MOST_ERRORS, SampleCheck, drawn, sample_size, upper_bound


def probability(decided: int, errors: int, checked: int, wrong: int) -> float:
    """The probability of at most `wrong` errors in a sample, by the definition."""
    total = math.comb(decided, checked)
    return sum(math.comb(errors, n) * math.comb(decided - errors, checked - n) / total for n in range(wrong + 1))


@pytest.mark.parametrize(
    ("decided", "checked", "wrong"), [(50, 20, 0), (50, 20, 3), (200, 59, 1), (10, 10, 2), (9, 1, 1)]
)
def test_the_bound_is_the_largest_number_of_errors_that_the_sample_does_not_refute(
    decided: int, checked: int, wrong: int
) -> None:
    errors = round(upper_bound(decided, checked, wrong) * decided)
    likely = [n for n in range(wrong, decided - checked + wrong + 1) if probability(decided, n, checked, wrong) > 0.05]
    assert errors == max(likely)


def test_the_bound_covers_the_true_error_rate() -> None:
    generator, covered = random.Random(1), 0
    for _ in range(400):
        errors = generator.randrange(1, 60)
        wrong = sum(number < errors for number in generator.sample(range(200), 60))
        covered += upper_bound(200, 60, wrong) * 200 >= errors
    assert covered / 400 >= 0.93


@pytest.mark.parametrize("decided", [1, 2, 5, 30, 100, 500, 10_000, 50_000])
def test_the_sample_is_the_smallest_that_has_room_for_one_error(decided: int) -> None:
    size = sample_size(decided)
    assert size == decided or upper_bound(decided, size, 1) <= MOST_ERRORS
    if 1 < size < decided:
        assert upper_bound(decided, size - 1, 1) > MOST_ERRORS


def test_the_draw_does_not_depend_on_the_order() -> None:
    digests = [f"{number:x}" for number in range(300)]
    mixed = random.Random(3).sample(digests, len(digests))
    assert drawn(digests, 20, 1) == drawn(mixed, 20, 1) != drawn(digests, 20, 2)


def test_the_stage_is_withdrawn_above_five_percent() -> None:
    assert not SampleCheck.of(200, 90, 1).withdrawn
    assert SampleCheck.of(200, 90, 6).withdrawn
    assert upper_bound(5, 0, 0) == 1.0, "without a sample nothing is known"
