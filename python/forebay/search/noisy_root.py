"""The root of a margin, estimated from few noisy observations near it.

Near its root a curve is a line. Its slope is known from afar, roughly, before anything is seen nearby, and enters
as an observation of its own (a conjugate normal prior); the place then follows from as few as two observations, and
its standard error from the delta method (Fieller, Some problems in interval estimation, 1954, has the exact set, which
is the same to first order where the slope is clear).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forebay.results import statistics

__all__ = [
    "Noise",
    "NoisyRoot",
    "Point",
    "line_at",
    "noisy_root",
    "rises_between",
    "scatter",
    "slope_of",
    "zero_between",
]

#: Abscissa and ordinate of an observation.
Point = tuple[float, float]

#: Standard deviation of the slope nearby around what it is from afar, as a share of that.
DOUBT = 0.5
#: The slope nearby is believed to be no further from that than by this factor.
MOST_DOUBT = 8.0


@dataclass(frozen=True, slots=True)
class Noise:
    """Variance of one observation, and the degrees of freedom that it rests on."""

    variance: float
    degrees: int


@dataclass(frozen=True, slots=True)
class NoisyRoot:
    """A line's zero.

    Attributes
    ----------
    at : float
        Where it is.
    error : float
        Its standard error.
    spread : float
        How far from the line one observation lies, along the abscissa: the standard deviation over the slope.
    """

    at: float
    error: float
    spread: float


def noisy_root(points: Sequence[Point], slope: float, noise: Noise) -> NoisyRoot:
    """Fit a line to observations and say where it crosses zero.

    Parameters
    ----------
    points : sequence of (float, float)
        Abscissa and ordinate of each, at least one.
    slope : float
        As it is from afar, above 0.
    noise : Noise
        As repeated observations have it; what the fit leaves is pooled with it.

    Returns
    -------
    NoisyRoot
    """
    count, middle, level, width, rise = _moments(points)
    weight = noise.variance / (DOUBT * slope) ** 2
    found = (rise + weight * slope) / (width + weight) if width + weight > 0 else slope
    found = min(max(found, slope / MOST_DOUBT), slope * MOST_DOUBT)
    left = _residual_sum(points, (middle, level), found)
    degrees = count - 1 + noise.degrees
    variance = (left + noise.degrees * noise.variance) / degrees if degrees else 0.0
    at = middle - level / found
    known = width + variance / (DOUBT * slope) ** 2
    lever = (middle - at) ** 2 * variance / known if known > 0 else 0.0
    return NoisyRoot(at, math.sqrt(variance / count + lever) / found, math.sqrt(variance) / found)


def scatter(points: Sequence[Point]) -> Noise:
    """The noise of observations: their distance from a curve that only rises, or only falls, whichever is nearer.

    The curve is the monotone regression (Barlow, Bartholomew, Bremner and Brunk, Statistical inference under order
    restrictions, 1972): it follows steps and bends as well as a line, and takes a degree of freedom for each of its
    levels.
    """
    places = _places(points)
    either = _levels(places), _levels(places[::-1])
    left, levels = min((math.fsum([_squares(level) for level in found]), len(found)) for found in either)
    degrees = len(points) - levels
    return Noise(left / degrees, degrees) if degrees else Noise(0.0, 0)


def rises_between(points: Sequence[Point]) -> tuple[float | None, float | None]:
    """The abscissas between which the monotone regression of observations rises through zero; None for beyond them all.

    The last one where it is below zero, and the first where it is not.
    """
    last, first = None, None
    for level in _levels(_places(points)):
        if level.height < 0:
            last = level.last
        else:
            first = level.first
            break
    return last, first


@dataclass(frozen=True, slots=True)
class _Level:
    """Neighbors of one height: abscissas of the first and last, their ordinates and the mean of these."""

    first: float
    last: float
    values: list[float]
    height: float


def _places(points: Sequence[Point]) -> list[_Level]:
    """Observations at one place together, the places in rising order."""
    at: dict[float, list[float]] = {}
    for x, y in points:
        at.setdefault(x, []).append(y)
    return [_Level(x, x, at[x], math.fsum(at[x]) / len(at[x])) for x in sorted(at)]


def _levels(places: Sequence[_Level]) -> list[_Level]:
    """Pool neighbors until their means rise."""
    found: list[_Level] = []
    for place in places:
        level = place
        while found and found[-1].height >= level.height:
            before = found.pop()
            values = before.values + level.values
            level = _Level(before.first, place.last, values, math.fsum(values) / len(values))
        found.append(level)
    return found


def _squares(level: _Level) -> float:
    return math.fsum([(y - level.height) ** 2 for y in level.values])


def zero_between(points: Sequence[Point], level: float) -> tuple[float, float] | None:
    """The interval of the root of the rising line through observations, each end at a one-sided level.

    Fieller's exact set; None where it is unbounded, for the line may as well not rise.
    """
    if len(points) < 3:
        return None
    count, middle, mean, width, rise = _moments(points)
    if width <= 0:
        return None
    slope = rise / width
    deviation = math.sqrt(_residual_sum(points, (middle, mean), slope) / (count - 2))
    reach = statistics.student_quantile(level, count - 2) * deviation
    sure = slope * slope - reach * reach / width
    if slope <= 0 or sure <= 0:
        return None
    half = reach * math.sqrt(sure / count + mean * mean / width)
    return middle - (slope * mean + half) / sure, middle - (slope * mean - half) / sure


def line_at(points: Sequence[Point], at: float) -> tuple[float, float]:
    """The value of the line through observations at a place, and its standard error, infinite if it is unknown."""
    count, middle, level, width, rise = _moments(points)
    slope = rise / width if width > 0 else 0.0
    value = level + slope * (at - middle)
    degrees = count - (2 if width > 0 else 1)
    if degrees < 1:
        return value, math.inf
    variance = _residual_sum(points, (middle, level), slope) / degrees
    lever = (at - middle) ** 2 / width if width > 0 else 0.0
    return value, math.sqrt(variance * (1 / count + lever))


def slope_of(points: Sequence[Point]) -> float | None:
    """Return the slope of the line through observations; None where all have one abscissa."""
    if not points:
        return None
    _, _, _, width, rise = _moments(points)
    return rise / width if width > 0 else None


def _moments(points: Sequence[Point]) -> tuple[int, float, float, float, float]:
    """The number of points, their mean abscissa and ordinate, and the sums of squares and products about these."""
    count = len(points)
    middle = math.fsum(x for x, _ in points) / count
    level = math.fsum(y for _, y in points) / count
    width = math.fsum((x - middle) ** 2 for x, _ in points)
    return count, middle, level, width, math.fsum((x - middle) * (y - level) for x, y in points)


def _residual_sum(points: Sequence[Point], through: tuple[float, float], slope: float) -> float:
    """Sum of squared residuals of a line through a point."""
    middle, level = through
    return math.fsum((y - level - slope * (x - middle)) ** 2 for x, y in points)
