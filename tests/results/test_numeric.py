"""Estimates calculate, compare and print as their means do (`forebay.results.numeric`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import Scenario
from forebay.results.report import Estimate
from tests.support.scenarios import SMALL

NUMBERS = st.floats(-1e6, 1e6).filter(lambda number: abs(number) > 1e-6)
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge)


@given(NUMBERS, NUMBERS)
def test_operations_are_those_of_the_means(one: float, other: float) -> None:
    operation: Callable[[Any, Any], Any]
    for operation in (*ARITHMETIC, *COMPARISONS):
        expected = operation(one, other)
        assert operation(Estimate(one, 0.1), other) == expected
        assert operation(one, Estimate(other, 0.1)) == expected
        assert operation(Estimate(one, 0.1), Estimate(other)) == expected
    for alone in (operator.neg, operator.pos, abs, float, int, round, math.floor, math.ceil, math.trunc, complex):
        assert alone(Estimate(one, 0.1)) == alone(one)
    assert round(Estimate(one, 0.1), 2) == round(one, 2)
    assert Estimate(abs(one)) ** 0.5 == abs(one) ** 0.5
    assert 2 ** Estimate(0.5) == 2**0.5


@given(NUMBERS)
def test_an_estimate_equals_the_number_that_is_its_mean(mean: float) -> None:
    estimate = Estimate(mean, 0.1)
    assert estimate == mean
    assert mean == estimate
    assert hash(estimate) == hash(mean)
    assert estimate != mean + 1
    assert estimate == Estimate(mean, 0.1)
    assert estimate != Estimate(mean, 0.2)
    assert estimate != "text"


def test_a_report_s_metrics_are_numbers() -> None:
    report = Scenario.parse(SMALL).run(replications=2)
    mean = report.utilization.mean
    assert float(report.utilization) == mean
    assert f"{report.utilization:.3f}" == f"{mean:.3f}"
    assert f"{report.utilization:8.1%}" == f"{mean:8.1%}"
    assert f"{report.utilization}" == str(report.utilization)
    assert 100 * report.utilization == 100 * mean
    assert report.utilization <= 1 < report.goodput_bps
    assert sorted(report.metrics.values()) == sorted(report.metrics.values(), key=lambda found: found.mean)
    assert report.utilization == pytest.approx(mean, rel=1e-12)
    assert np.asarray([report.utilization], dtype=float)[0] == mean
    assert math.sqrt(report.utilization) == math.sqrt(mean)
    # An estimate of nothing is still there.
    assert Estimate(0.0)


def test_texts_and_sequences_are_no_operands() -> None:
    for other in ("1", [1], None):
        with pytest.raises(TypeError):
            _ = Estimate(1.0) + other
        with pytest.raises(TypeError):
            _ = Estimate(1.0) < other
