"""Estimates in words: a value with its unit, its interval, and who limits whom."""

from __future__ import annotations

import math

from forebay.observation.estimate import CONFIDENCE, FEWEST_SAMPLES, IntervalEstimate, Unknown
from forebay.observation.regime import percent
from forebay.text import formatting

__all__ = ["ABOUT_INTERVALS", "estimate_text", "evidence_text", "interval_text", "unknown_text", "value_text"]


def value_text(number: float, unit: str) -> str:
    """A number in a unit of estimates."""
    if unit == "bit/s":
        return formatting.bandwidth(number)
    if unit == "s":
        return formatting.duration(number)
    if unit == "byte":
        return formatting.size(number)
    if unit == "share":
        return percent(number)
    bare_text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return f"{bare_text} a second" if unit == "1/s" else f"{bare_text} {unit}".strip()


def interval_text(estimate: IntervalEstimate, unit: str | None = None) -> str:
    """The interval in words: "97.1 to 99.0 Mb/s", or what there is in its place."""
    unit = estimate.unit if unit is None else unit
    low, high = estimate.low, estimate.high
    if estimate.is_most:
        return f"at most {value_text(estimate.value, unit)}"
    if low == high:
        return "exactly"
    if math.isinf(low) and math.isinf(high):
        return f"no interval from {_samples(estimate)}"
    if math.isinf(high):
        return f"{value_text(low, unit)} or more"
    if math.isinf(low):
        return f"{value_text(high, unit)} or less"
    first, last = value_text(low, unit), value_text(high, unit)
    of_first, of_last = _unit(first), _unit(last)
    return f"{first.removesuffix(of_first)} to {last}" if of_first == of_last else f"{first} to {last}"


def _samples(estimate: IntervalEstimate) -> str:
    """How many independent samples there are, whole ones."""
    return formatting.counted(max(int(estimate.independent), min(estimate.samples, 1)), "independent sample")


def evidence_text(estimate: IntervalEstimate) -> str:
    """The interval, how many samples it rests on, and where these are from."""
    ends = interval_text(estimate)
    has_interval = estimate.low < estimate.high and estimate.is_bounded
    return f"{ends} from {_samples(estimate)}; {estimate.source}" if has_interval else f"{ends}; {estimate.source}"


def _unit(text: str) -> str:
    """A unit with the space before it."""
    number, space, unit = text.partition(" ")
    return f"{space}{unit}" if number else ""


def estimate_text(estimate: IntervalEstimate, unit: str | None = None) -> str:
    """The value with its interval, if it has one: "98.7 Mb/s (97.1 to 99.0)"."""
    value = value_text(estimate.value, estimate.unit if unit is None else unit)
    if estimate.is_most:
        return f"at most {value}"
    if estimate.low == estimate.high or (math.isinf(estimate.low) and math.isinf(estimate.high)):
        return value
    ends = interval_text(estimate, unit)
    # A unit is said once where all three have it.
    once = " " not in ends.partition(" to ")[0]
    return f"{value} ({ends.removesuffix(_unit(value)) if once else ends})"


def unknown_text(unknown: Unknown) -> str:
    """A line on a quantity that is not identifiable."""
    return f"{unknown.quantity}: unknown, because {unknown.because}. {formatting.sentence(unknown.measure)}"


#: Explanation of the intervals, for readers of the output.
ABOUT_INTERVALS = f"intervals have {100 * CONFIDENCE:g} % confidence and need {FEWEST_SAMPLES} independent samples"
