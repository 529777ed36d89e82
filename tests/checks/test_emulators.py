"""The measure of emulators: what a regular link would score, and what an irregular one does."""

from __future__ import annotations

import random

import pytest

from checks.emulators import EMULATORS, EmulatorError, Measured, regularity, table, task
from checks.probe import Task

APART = 240e-6


def perfect(bursts: int = 3, packets: int = 400) -> list[list[float]]:
    return [[burst + number * APART for number in range(packets)] for burst in range(bursts)]


def test_a_perfect_link_makes_no_error_wherever_its_bursts_begin() -> None:
    found = regularity(perfect(), APART)
    assert (found.packets, found.longest_burst) == (1200, 1)
    assert found.p999_s == pytest.approx(0.0, abs=1e-12)
    assert found.rate == pytest.approx(1.0)


def test_delays_that_do_not_last_are_the_errors_that_were_made() -> None:
    random.seed(4)
    late = [[stamp + random.random() * 50e-6 for stamp in burst] for burst in perfect()]
    found = regularity(late, APART)
    assert found.p50_s == pytest.approx(25e-6, rel=0.15)
    assert found.p99_s == pytest.approx(49.5e-6, rel=0.05)
    assert found.rate == pytest.approx(1.0, rel=1e-3)


def test_a_stall_delays_all_that_follows_and_a_burst_is_seen() -> None:
    stalled = perfect(1)[0]
    stalled = [stamp + (0.003 if number >= 200 else 0.0) for number, stamp in enumerate(stalled)]
    found = regularity([stalled], APART)
    assert found.p99_s == pytest.approx(0.003)
    assert found.rate == pytest.approx(399 * APART / (399 * APART + 0.003))
    # Five packets that were due come at once.
    clumped = [
        [stamp // (5 * APART) * 5 * APART + number * 1e-9 for number, stamp in enumerate(burst)] for burst in perfect(1)
    ]
    assert regularity(clumped, APART).longest_burst in {5, 6}
    # A link that is two percent slow.
    slow = [[stamp * 1.02 for stamp in burst] for burst in perfect(1)]
    assert regularity(slow, APART).rate == pytest.approx(1 / 1.02)


def test_nothing_that_came_is_no_measurement() -> None:
    nothing: list[list[list[float]]] = [[], [[]], [[1.0]]]
    for none in nothing:
        with pytest.raises(EmulatorError, match="nothing came through"):
            regularity(none, APART)


def test_a_task_is_the_text_that_a_program_is_given() -> None:
    requested = task(50e6)
    assert Task.of(str(requested)) == requested
    assert requested.packets * requested.size * 8 / 50e6 == pytest.approx(0.1, rel=0.01), (
        "a burst drains for a tenth of a second"
    )
    assert requested.pause > 0.1


def test_the_table_says_of_each_what_it_did_or_why_not() -> None:
    rows = [Measured(name, 50e6, "no such program") for name in EMULATORS]
    rows.append(Measured("one", 50e6, regularity(perfect(), APART), 0.25))
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len(EMULATORS) + 1
    assert all("no such program" in line for line in lines[2:-1])
    assert lines[-1] == "| 50 Mb/s | one | 14.4% | 0 µs | 0 µs | 0 µs | 1 | 100.00% | 0.25 |"
