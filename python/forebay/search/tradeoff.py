"""The trade-off between two metrics over all measured buffers: which of them nothing beats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.goals import report_key

if TYPE_CHECKING:
    from forebay.search.recommendation import Recommendation

__all__ = ["front"]

#: Metrics of which more is better; of all others less is.
MORE_IS_BETTER = {"utilization", "goodput_bps", "jain_index"}


def front(answer: Recommendation, pair: str) -> Mapping[str, Any]:
    """Sort the measured buffers into those on the Pareto front of two metrics and the rest.

    Parameters
    ----------
    answer : Recommendation
        Whose curve is used; nothing is simulated.
    pair : str
        Two metrics named as in goals, as in "utilization,queue_delay_p99".

    Returns
    -------
    mapping
        `metrics`: their keys; `points`: `buffer`, `measured` and `on_front`, by rising buffer.

    Raises
    ------
    InputError
        Where the pair is no pair or a metric was not measured.
    """
    names = [part.strip() for part in pair.split(",")]
    curve = answer.data["curve"]
    known = curve[0]["metrics"]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"--pareto: found `{pair}`; allowed: two metrics, as in utilization,queue_delay_p99")
    keys = []
    for name in names:
        key = report_key(name, known)
        if key is None:
            raise InputError(f"--pareto: found `{name}`; allowed: {', '.join(known)}")
        keys.append(key)
    points = [point for point in curve if all(key in point["metrics"] for key in keys)]
    goodness = [[_goodness(key, point["metrics"][key]["mean"]) for key in keys] for point in points]
    return {
        "metrics": keys,
        "points": [
            {
                "buffer": point["buffer"],
                "measured": {key: point["metrics"][key] for key in keys},
                "on_front": not any(_dominates(other, mine) for other in goodness),
            }
            for point, mine in zip(points, goodness, strict=True)
        ],
    }


def _goodness(key: str, mean: float) -> float:
    return mean if key in MORE_IS_BETTER else -mean


def _dominates(one: list[float], other: list[float]) -> bool:
    """At least as good in both and better in one."""
    return all(a >= b for a, b in zip(one, other, strict=True)) and one != other
