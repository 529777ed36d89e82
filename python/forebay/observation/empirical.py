"""A sample as a scenario's `cdf` of few points, such that every quantile stays within some percent of the sample's.

The points lie on the line of the fewest segments through a tube around the sample's quantile function, as in Imai and
Iri, An optimal algorithm for approximating a piecewise linear function, 1986, but with corners on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.distributions import Cdf
from forebay.observation.sample import BEYOND, Sample

__all__ = ["MOST_POINTS", "TOLERANCE", "Reduced", "reduce_sample"]

MOST_POINTS = 20
TOLERANCE = 0.05
#: Multiple of the tolerance beyond the quantiles that a sample tells: each quantile there is one observation.
BEYOND_TOLD = 4.0

#: Jumps of a quantile function whose sides are looked at; of more, none stands out.
MOST_JUMPS = 40

#: Heights within the tolerance that a segment may end at, as shares of it.
_HEIGHTS = np.array([0.0, -0.9, 0.9, -0.45, 0.45])
#: Steps of the search for a tolerance that needs few enough points, between two of which one is twice the other.
_STEPS = 4

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]
_Knots = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The points, and how far a quantile that the sample tells is off at most, as a share of it."""

    distribution: Cdf
    error: float


def reduce_sample(sample: Sample, *, most: int = MOST_POINTS, floor: float = 0.0) -> Reduced:
    """Reduce a sample to a limited number of points.

    Parameters
    ----------
    sample : Sample
        A sample of any size.
    most : int
        The largest number of points, at least 2.
    floor : float
        Differences up to this value do not matter, however small the quantile is.

    Returns
    -------
    Reduced
        The points with a tolerance of 5 % if `most` points are enough, otherwise with the tolerance that they reach.
    """
    shares = _grid(sample)
    values = sample.quantile(shares)
    resolved = np.minimum(shares, 1 - shares) * sample.count >= BEYOND
    factor = np.where(resolved, 1.0, BEYOND_TOLD)

    def walked(tolerance: float) -> _Knots | None:
        return _walked(shares, values, tolerance * factor * values + floor, most)

    low = high = TOLERANCE
    while (found := walked(high)) is None:
        low, high = high, 2 * high
    for _ in range(_STEPS if high > TOLERANCE else 0):
        middle = (low * high) ** 0.5
        fewer = walked(middle)
        low, high, found = (middle, high, found) if fewer is None else (low, middle, fewer)
    distribution = Cdf(tuple((float(value), float(share)) for share, value in found))
    off = np.maximum(np.abs(distribution.quantile(shares) - values) - floor, 0.0) / (values * factor)
    return Reduced(distribution, float(np.max(off)))


def _grid(sample: Sample) -> Numbers:
    """Probabilities at which quantiles are compared: evenly, and in both tails as far as the sample reaches."""
    even = np.linspace(0.0, 1.0, 201)
    depth = max(2.4, np.log10(2 * sample.count))
    tail = 10.0 ** -np.arange(2.4, depth + 1e-9, 0.1)
    # Where many values are equal the quantile function jumps: both sides of each jump count.
    shares, values = sample._knots
    jumps = np.flatnonzero(np.diff(values) > 0.1 * values[:-1])
    sides = np.concatenate((shares[jumps], shares[jumps + 1])) if jumps.size <= MOST_JUMPS else np.array([])
    return np.unique(np.clip(np.concatenate((even, tail, 1 - tail, sides)), 0.0, 1.0))


def _walked(shares: Numbers, values: Numbers, room: Numbers, most: int) -> _Knots | None:
    """Knots (share, value) of the rising line of the fewest segments that keeps so near to the values; none above most.

    Knots are grid points at one of a few heights; a breadth-first search over them finds the fewest.
    """
    # Both ends rise, as the values do, though the room changes.
    low, high = np.maximum.accumulate(values - room), np.minimum.accumulate((values + room)[::-1])[::-1]
    heights = np.maximum(values[:, None] + _HEIGHTS * room[:, None], 0.0)
    heights = np.clip(heights, low[:, None], high[:, None])
    levels = heights.shape[1]
    # A knot is known by its number: those of a grid point by their heights, and the points in their order.
    parents = np.full(heights.size, -1)
    layer = parents[:levels] = np.arange(levels)
    last = heights.size - levels
    knots = 1
    while np.all(parents[last:] < 0):
        knots += 1
        if knots > most:
            return None
        fresh = parents < 0
        begins, ends = _reached(shares, (low, high), heights, layer, np.any(fresh.reshape(heights.shape), axis=1))
        begins, ends = begins[fresh[ends]], ends[fresh[ends]]
        # If several lines reach one knot, the first one of the layer stays, because the last write wins.
        parents[ends[::-1]] = layer[begins[::-1]]
        # The farthest first: they make the longest segments.
        layer = np.unique(ends)[::-1]
    knot = last + int(np.argmax(parents[last:] >= 0))
    found = [(float(shares[knot // levels]), float(heights.flat[knot]))]
    while knot >= levels:
        knot = int(parents[knot])
        found.append((float(shares[knot // levels]), float(heights.flat[knot])))
    return found[::-1]


def _reached(
    shares: Numbers, tube: tuple[Numbers, Numbers], heights: Numbers, layer: Places, required: NDArray[np.bool_]
) -> tuple[Places, Places]:
    """Rising lines within the tube from the knots of a layer to knots at wanted grid points.

    Returns
    -------
    (array, array)
        Of each its beginning, as a place in the layer, which rises, and the knot that it ends at.
    """
    low, high = tube
    at, starts = layer // heights.shape[1], heights.ravel()[layer]
    ahead = at[:, None] + np.arange(1, shares.size - int(np.min(at)))
    inside = ahead < shares.size
    ahead = np.minimum(ahead, shares.size - 1)
    run = shares[ahead] - shares[at, None]
    least = np.maximum.accumulate(np.maximum((low[ahead] - starts[:, None]) / run, 0.0), axis=1)
    most = np.minimum.accumulate((high[ahead] - starts[:, None]) / run, axis=1)
    possible = least <= most
    # The next point is always reached: quantiles do not fall.
    possible[:, 0] = True
    begins, steps = np.nonzero(possible & inside & required[ahead])
    least, most, to = least[begins, steps], most[begins, steps], ahead[begins, steps]
    slopes = (heights[to] - starts[begins, None]) / run[begins, steps, None]
    slack = 1e-9 * (np.abs(most) + least)
    lines, level = np.nonzero((slopes >= (least - slack)[:, None]) & (slopes <= (most + slack)[:, None]))
    return begins[lines], to[lines] * heights.shape[1] + level
