"""Checks profiles that are filled with the values of a port: the scenario has to be valid, and its goals possible.

`profiles` fills each profile with sample ports when it is loaded, and finds the faults that all ports share.
`questions` checks the scenario of each port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from forebay.errors import ContradictionError, InputError
from forebay.inputs.goals import Goal, check_bounds
from forebay.results.metric import unit_of
from forebay.scenario import Scenario

__all__ = ["SAMPLE_GOAL", "check_filled", "shared_fault"]

#: Rates, buffers, disciplines, packets and loads of sample ports: the first of each is usual, and the others extreme.
_RATES = (1_000_000_000, 2_000_000, 400_000_000_000, 1_000, 10_000_000_000_000)
_SIZES = ("2000p", "20p", "90000000B", "1p", "100000000000B")
_OTHERS = ((None, 1500, 0.5), ("codel", 576, 0.05), ("fq_codel", 9000, 0.95))
#: The goal of a sample port if the profile has none.
SAMPLE_GOAL = "utilization>=50%"
#: Metrics without a unit that are at most 1, as the shares are: Jain's index of fairness.
_AT_MOST_ONE = ("jain_index",)


def shared_fault(filled: Callable[[Mapping[str, Any]], str], mark: str, name: str) -> InputError | None:
    """The fault that a profile has for every port; None if a sample port has none, or each sample has its own.

    Parameters
    ----------
    filled : callable
        Fills the profile with the values of a port; the text is a scenario as JSON.
    mark : str
        The mark of the buffer in that text.
    name : str
        The file of the profile, for the error.
    """
    faults: dict[str, InputError] = {}
    for sample in _samples():
        try:
            check_filled(filled(sample).replace(mark, sample["size"]), name)
        except InputError as error:
            faults[str(error)] = error
        else:
            return None
    # A fault that depends on a value names the value, which differs from sample to sample.
    return next(iter(faults.values())) if len(faults) == 1 else None


def _samples() -> Iterator[Mapping[str, Any]]:
    """Ports that differ in every value, so that a fault of all of them belongs to the profile."""
    for place, (rate, size) in enumerate(product(_RATES, _SIZES)):
        queue, mtu, load = _OTHERS[place % len(_OTHERS)]
        yield {
            **{name: f"sample-{name}-{place}" for name in ("device", "port", "platform", "service_class", "role")},
            "rate_bps": rate,
            "queue": queue,
            "size": size,
            "buffer_bytes": 1000 + place,
            "mtu_bytes": mtu,
            "utilization": load,
            "drops": place,
            "packets": 1_000_000 + place,
            "interval_s": 60.0 + place,
        }


def check_filled(text: str, name: str) -> None:
    """Refuse a scenario that is not valid, and goals that no buffer can meet.

    Parameters
    ----------
    text : str
        The scenario as JSON.
    name : str
        The file of its profile, with which the error begins.

    Raises
    ------
    InputError
        One line with file, key, the value found and the values allowed.
    """
    goals = Scenario.parse(text, "json", name=name).goals
    for goal in goals:
        if goal.sense == ">=" and goal.threshold > 1 and _is_at_most_one(goal):
            raise InputError(f"{name}: goal.{goal.name}: found `{_bound(goal)}`; allowed: at most 100 %")
    try:
        check_bounds(
            ((goal, _bound(goal)) for goal in goals), {goal.name: f"{name}: goal.{goal.name}" for goal in goals}
        )
    except ContradictionError as error:
        raise InputError(f"{error}; allowed: bounds that one value can meet") from None


def _is_at_most_one(goal: Goal) -> bool:
    metric = goal.name.rpartition(".")[2]
    return unit_of(metric) == "share" or metric in _AT_MOST_ONE


def _bound(goal: Goal) -> str:
    """The bound of a goal as a scenario writes it."""
    if unit_of(goal.name) == "share":
        return f"{goal.sense} {100 * goal.threshold:g}%"
    return f"{goal.sense} {goal.threshold:g}"
