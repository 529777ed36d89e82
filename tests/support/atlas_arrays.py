"""The interpolation of `forebay.atlas.prior`, written a second time with arrays, so that tests can compare them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from forebay.atlas.prior import Place
from forebay.atlas.rows import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["intervals"]


def intervals(places: Sequence[Place], rows: Iterable[Row]) -> NDArray[np.float64]:
    """The ends of the interval at each place, in packets: an array of two columns, NaN where the atlas has none."""
    found = np.full((len(places), 2), np.nan)
    listed = list(rows)
    for controller in sorted({place.controller for place in places}):
        numbers = [number for number, place in enumerate(places) if place.controller == controller]
        at = np.array([places[number].coordinates() for number in numbers])
        found[numbers] = _interpolated(at, [row for row in listed if row.controller == controller])
    return found


def _interpolated(at: NDArray[np.float64], rows: Sequence[Row]) -> NDArray[np.float64]:
    """The intervals at places of one controller."""
    known = [
        (
            Place(row.rate_bps, row.rtt_s, row.flows, row.controller, row.background, row.utilization),
            (row.low_packets, row.high_packets),
        )
        for row in rows
        if row.low_packets is not None and row.high_packets is not None
    ]
    if not known:
        return np.full((len(at), 2), np.nan)
    coordinates = np.array([place.coordinates() for place, _ in known])
    axes = [np.unique(values) for values in coordinates.T]
    grid = np.full((*(len(axis) for axis in axes), 2), np.nan)
    spots = tuple(np.searchsorted(axis, values) for axis, values in zip(axes, coordinates.T, strict=True))
    grid[spots] = np.log(np.array([ends for _, ends in known], dtype=float))
    total = np.zeros((len(at), 2))
    within = np.ones(len(at), dtype=bool)
    sides = []
    for axis, values in zip(axes, at.T, strict=True):
        slack = 1e-9 * (1 + np.abs(values))
        within &= (axis[0] - slack <= values) & (values <= axis[-1] + slack)
        above = np.minimum(np.searchsorted(axis, values, side="right"), len(axis) - 1)
        below = np.maximum(above - 1, 0)
        width = axis[above] - axis[below]
        share = np.where(width > 0, np.clip((values - axis[below]) / np.where(width > 0, width, 1.0), 0, 1), 1.0)
        sides.append(((below, 1 - share), (above, share)))
    for corner in itertools.product(*sides):
        weight = np.prod([share for _, share in corner], axis=0)
        ends = grid[tuple(index for index, _ in corner)]
        # A corner without weight may be missing.
        total += np.where(weight[:, None] > 0, weight[:, None] * ends, 0.0)
    return np.where(within[:, None], np.exp(total), np.nan)
