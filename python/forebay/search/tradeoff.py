"""The trade-off between two metrics over all measured buffers: which of them nothing beats.

`recommendation` asks for it when an answer is there; nothing is simulated.
"""

from __future__ import annotations

from forebay import _core
from forebay.errors import InputError
from forebay.results.metric import find, key_among
from forebay.results.report import Estimate
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import Front, FrontPoint

__all__ = ["front", "metric_pair"]


def front(answer: Recommendation, pair: str) -> Front:
    """Sort the measured buffers into those on the Pareto front of two metrics and the rest.

    Parameters
    ----------
    answer : Recommendation
        The answer whose curve is used; nothing is simulated.
    pair : str
        Two metrics named as in goals, as in "utilization,queue_delay_p99".

    Returns
    -------
    Front
        The measured buffers in rising order.

    Raises
    ------
    InputError
        Where the pair is no pair or a metric was not measured.
    """
    one, other = (_measured(name, answer) for name in metric_pair(pair))
    points = [point for point in answer.points if one in point.metrics and other in point.metrics]
    goodness = [[_goodness(key, point.metrics[key]) for key in (one, other)] for point in points]
    found = (
        FrontPoint(
            point.buffer,
            {key: point.metrics[key] for key in (one, other)},
            not any(_dominates(better, mine) for better in goodness),
        )
        for point, mine in zip(points, goodness, strict=True)
    )
    return Front((one, other), tuple(found))


def metric_pair(text: str) -> tuple[str, str]:
    """Split "utilization,queue_delay_p99".

    Raises
    ------
    InputError
        Where these are not two metrics.
    """
    names = [part.strip() for part in text.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"found `{text}`; allowed: two metrics, as in utilization,queue_delay_p99", "pareto")
    return names[0], names[1]


def _measured(name: str, answer: Recommendation) -> str:
    """The key of a metric that a goal would name so."""
    known = answer.points[0].metrics
    key = key_among(name, known)
    if key is None:
        raise InputError(_core.unknown("metric", name, list(known)), "pareto")
    return key


def _goodness(key: str, found: Estimate) -> float:
    metric = find(key)
    return found.mean if metric is not None and metric.more_is_better else -found.mean


def _dominates(one: list[float], other: list[float]) -> bool:
    """Whether one point is at least as good in both metrics and better in one."""
    return all(a >= b for a, b in zip(one, other, strict=True)) and one != other
