"""The laboratory's memory: what is over leaves nothing behind. `make lab-memory` looks for ten minutes."""

from __future__ import annotations

import pytest

from checks import lab_memory
from checks.lab_page import LaboratoryPage

#: Enough rounds to separate growth from fluctuation.
ROUNDS = 6


@pytest.mark.long
def test_what_is_over_leaves_nothing_behind(probed_page: LaboratoryPage) -> None:
    lab_memory.begin(probed_page)
    for number in range(lab_memory.WARMING):
        lab_memory.round_of_use(probed_page, number)
    before = lab_memory.sample(probed_page, 0.0)
    for number in range(lab_memory.WARMING, lab_memory.WARMING + ROUNDS):
        lab_memory.round_of_use(probed_page, number)
    after = lab_memory.sample(probed_page, 1.0)
    # Rounds start workers, and none of theirs lives on.
    assert after.started >= before.started + ROUNDS
    assert after.workers == before.workers
    # A round that left a chart, a table or a listener behind would leave as many as there were rounds.
    assert after.listeners < before.listeners + ROUNDS
    assert after.nodes < before.nodes + 50 * ROUNDS
    # A history that is not bounded or a picture that is kept (a megabyte) shows within these rounds.
    assert after.heap_mb < before.heap_mb + 1.0 * ROUNDS


def test_the_table_of_the_manual_has_the_smallest_and_the_largest_memory() -> None:
    samples = [
        lab_memory.Sample(minutes, heap_mb, 900, 80, 3, started, process_mb)
        for minutes, heap_mb, started, process_mb in [
            (0.0, 3.2, 4, 90.0),
            (5.0, 5.1, 800, 130.4),
            (10.0, 4.0, 1500, 99.0),
        ]
    ]
    assert lab_memory.summary(samples).splitlines()[2:] == [
        "| duration | 10 minutes |",
        "| workers started | 1,500 |",
        "| live workers at the end | 3 |",
        "| heap of the page | 3 to 5 MB |",
        "| process of the page, with the memory of all engines | 90 to 130 MB |",
    ]
