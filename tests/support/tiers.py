"""The two tiers of tests: `make test` takes a sample of each long law, `make test-all` takes the whole of it.

`FOREBAY_TESTS=all` selects the second tier, also for a single file. A test that is named by its node id always runs.

- `@pytest.mark.long`: a test of the second tier alone.
- `@pytest.mark.sampled(3)`: three evenly spread cases of a parametrized test belong to the first tier.
- `@pytest.mark.real_time`: a few tests of each file belong to the first tier.
- `examples(400)`: a number of examples, seeds or searches that is smaller in the first tier.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

import pytest

__all__ = ["ALL", "DEFAULT_EXAMPLES", "examples", "second_tier"]

#: Whether every test runs, and each law on all of its examples.
ALL = os.environ.get("FOREBAY_TESTS") == "all"
#: The first tier has this part of a law's examples.
PART = 5
#: Tests in real time that the first tier has of each file.
REAL_TIME = 4


def examples(count: int) -> int:
    """The number of examples of a law that has `count` in the second tier."""
    return count if ALL else max(1, count // PART)


#: Examples of a law of Hypothesis that states no number.
DEFAULT_EXAMPLES = examples(100)


def second_tier(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that do not belong to the first tier."""
    found = [item for item in items if item.get_closest_marker("long")]
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for each in cases.values():
        marker = each[0].get_closest_marker("sampled")
        assert marker is not None
        found += _beyond(each, marker.args[0])
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("real_time"):
            files[item.nodeid.partition("::")[0]].append(item)
    for each in files.values():
        found += _beyond(each, REAL_TIME)
    return list(dict.fromkeys(found))


def _beyond(items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """The items without `most` of them, which are evenly spread."""
    first = {round(number * (len(items) - 1) / max(1, most - 1)) for number in range(most)}
    return [item for number, item in enumerate(items) if number not in first]
