"""Claims of a paper and their verdicts: reproduced, not reproduced or not checkable.

A claim states a region of values: `about` a number and `within` a tolerance, `at_least` or `at_most` a number (`within`
widens them too). Forebay's measurement is an interval. The claim is reproduced if the whole interval lies in the
region, and not reproduced if the whole interval lies outside. Otherwise it is not checkable at that precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.errors import InputError
from forebay.text.formatting import sentence

__all__ = ["VERDICTS", "Claim", "Measured", "Region", "Verdict", "judge", "reason"]

VERDICTS = ("reproduced", "not_reproduced", "not_checkable")
#: Sign before a verdict's words.
SIGNS = {"reproduced": "✓", "not_reproduced": "✗", "not_checkable": "–"}

#: Keys of a claim.
_KEYS = {
    *("quantity", "claimed", "unit", "measure", "why", "otherwise", "evidence", "uncheckable"),
    *("source", "seen", "recalled", "at", "series"),
}

#: Bound on the rounding errors of zero; the smallest loss rate that counts is far above it.
ROUNDING = 1e-10

#: Factor from the quantity's unit to the printed one.
_UNITS = {"%": 100.0, "points": 100.0, "ms": 1e3, "us": 1e6}


@dataclass(frozen=True, slots=True)
class Region:
    """The values that a claim allows.

    Attributes
    ----------
    low, high : float
        Ends of the region, infinite if there is none; the tolerance is included.
    text : str
        Text for readers.
    """

    low: float
    high: float
    text: str

    @classmethod
    def parse(cls, table: Mapping[str, Any], unit: str, where: str) -> Region:
        """Read `{ about, within }`, `{ at_least [, within] }`, `{ at_most [, within] }` or `{ from, to }`.

        Raises
        ------
        InputError
            If the table has none of these forms.
        """
        allowed = "{ about, within }, { at_least [, within] }, { at_most [, within] } or { from, to }"
        keys = set(table)
        numbers = {
            key: value for key, value in table.items() if isinstance(value, int | float) and math.isfinite(value)
        }
        if numbers.keys() != keys or any(isinstance(value, bool) for value in numbers.values()):
            raise InputError(f"{where}: found claimed = {dict(table)}; allowed: {allowed} with numbers")
        slack = float(numbers.get("within", 0.0))
        if slack < 0:
            raise InputError(f"{where}: found within = {slack}; allowed: 0 or more")
        around = f" (± {with_unit(slack, unit)})" if slack else ""
        if keys == {"about", "within"}:
            number = float(numbers["about"])
            return cls(number - slack, number + slack, f"≈ {with_unit(number, unit)}{around}")
        if keys in ({"at_least"}, {"at_least", "within"}):
            number = float(numbers["at_least"])
            return cls(number - slack, math.inf, f"≥ {with_unit(number, unit)}{around}")
        if keys in ({"at_most"}, {"at_most", "within"}):
            number = float(numbers["at_most"])
            return cls(-math.inf, number + slack, f"≤ {with_unit(number, unit)}{around}")
        if keys == {"from", "to"} and numbers["from"] <= numbers["to"]:
            low, high = float(numbers["from"]), float(numbers["to"])
            return cls(low, high, f"{with_unit(low, unit)} to {with_unit(high, unit)}")
        raise InputError(f"{where}: found claimed = {dict(table)}; allowed: {allowed}")


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a paper.

    Attributes
    ----------
    quantity : str
        Claimed quantity, in words.
    region : Region or None
        Claimed region; None if nothing can be compared.
    unit : str
        "%", "points", "ms", "us" or a word that is printed after the number.
    measure : str or None
        Expression over the figure's runs; see `forebay.papers.results`.
    why : str
        Reason for this tolerance.
    otherwise : str
        Explanation of our number if it contradicts the claim; printed only then.
    evidence : tuple of str
        Results of others for the same scenario.
    uncheckable : str or None
        Reason why nothing can be measured.
    source : str
        Publication with section, table or figure; empty if it is the paper of the folder.
    seen : str
        Text in which the number was looked up.
    recalled : bool
        Whether the number was not looked up; such a claim is judged and not counted.
    at : float or None
        Place of the claim on the axis of its figure.
    series : str
        Name of the curve that the claim belongs to.
    """

    quantity: str
    region: Region | None
    unit: str
    measure: str | None
    why: str
    otherwise: str
    evidence: tuple[str, ...]
    uncheckable: str | None
    source: str = ""
    seen: str = ""
    recalled: bool = False
    at: float | None = None
    series: str = ""

    @classmethod
    def parse(cls, table: Mapping[str, Any], where: str) -> Claim:
        """Read one `[[figure.claim]]`.

        Raises
        ------
        InputError
            A missing, unknown or wrong key.
        """
        unknown = sorted(set(table) - _KEYS)
        if unknown:
            raise InputError(f"{where}: found key `{unknown[0]}`; allowed: {', '.join(sorted(_KEYS))}")
        for key in ("quantity", "why"):
            if not isinstance(table.get(key), str) or not table[key].strip():
                raise InputError(f"{where}: found {key} = {table.get(key)!r}; allowed: a text")
        if ("measure" in table) == ("uncheckable" in table):
            raise InputError(f"{where}: found both or none of `measure` and `uncheckable`; allowed: one of them")
        unit = str(table.get("unit", ""))
        claimed = table.get("claimed")
        if claimed is None and "measure" in table:
            raise InputError(f"{where}: found `measure` without `claimed`; allowed: both")
        recalled = table.get("recalled", False)
        if not isinstance(recalled, bool):
            raise InputError(f"{where}: found recalled = {recalled!r}; allowed: true or false")
        if "source" in table and recalled == ("seen" in table):
            raise InputError(f"{where}: found both or none of `seen` and `recalled`; allowed: one of them")
        at = table.get("at")
        return cls(
            quantity=table["quantity"],
            region=None if claimed is None else Region.parse(claimed, unit, where),
            unit=unit,
            measure=table.get("measure"),
            why=table["why"],
            otherwise=str(table.get("otherwise", "")),
            evidence=tuple(str(entry) for entry in table.get("evidence", ())),
            uncheckable=table.get("uncheckable"),
            source=str(table.get("source", "")),
            seen=str(table.get("seen", "")),
            recalled=recalled,
            at=None if at is None else float(at),
            series=str(table.get("series", "")),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """Our number.

    Attributes
    ----------
    mean : float
        Mean over the replications.
    half_width : float or None
        Half width of the 95 % interval; 0 if the number is exact, None if a single run leaves it unknown.
    """

    mean: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a claim."""

    claim: Claim
    measured: Measured | None
    verdict: str
    why: str

    @property
    def ours(self) -> str:
        """Our number as readers see it."""
        if self.measured is None:
            return "–"
        return with_unit(self.measured.mean, self.claim.unit, self.measured.half_width)

    def as_dict(self) -> dict[str, Any]:
        """The shape of `reproduce --json`."""
        return {
            "quantity": self.claim.quantity,
            "source": self.claim.source,
            "recalled": self.claim.recalled,
            "claimed": None if self.claim.region is None else self.claim.region.text,
            "ours": None if self.measured is None else self.measured.mean,
            "half_width": None if self.measured is None else self.measured.half_width,
            "unit": self.claim.unit,
            "verdict": self.verdict,
            "why": self.why,
            "evidence": list(self.claim.evidence),
        }


def judge(claim: Claim, measured: Measured | None, trouble: str = "") -> Verdict:
    """Compare a measurement with a claim.

    Parameters
    ----------
    claim : Claim
    measured : Measured or None
        The measurement; None if there is no number.
    trouble : str
        Reason why there is none.
    """
    if claim.uncheckable is not None:
        return Verdict(claim, None, "not_checkable", claim.uncheckable)
    region = claim.region
    if measured is None or region is None or not math.isfinite(measured.mean):
        return Verdict(claim, None, "not_checkable", f"no number: {trouble or 'the measurement gave none'}")
    if measured.half_width is None or not math.isfinite(measured.half_width):
        return Verdict(claim, measured, "not_checkable", "a single run has no known uncertainty")
    low, high = measured.mean - measured.half_width, measured.mean + measured.half_width
    if region.low <= low and high <= region.high:
        return Verdict(claim, measured, "reproduced", claim.why)
    if high < region.low or low > region.high:
        return Verdict(claim, measured, "not_reproduced", claim.otherwise or claim.why)
    return Verdict(
        claim,
        measured,
        "not_checkable",
        "undecided: the 95 % interval reaches over the edge of what is claimed; more replications would decide",
    )


def reason(why: str, evidence: Iterable[str]) -> str:
    """The reason of a verdict and the results of other programs, as sentences."""
    return " ".join(sentence(text) for text in (why, *(f"elsewhere: {entry}" for entry in evidence)) if text)


def with_unit(number: float, unit: str, half_width: float | None = None) -> str:
    """A number with its unit, to the precision that its half width or size allows."""
    scale = _UNITS.get(unit, 1.0)
    value = number * scale
    half = None if half_width is None or not math.isfinite(half_width) else half_width * scale
    word = {"us": "µs"}.get(unit, unit)
    if max(abs(value), half or 0.0) < ROUNDING:
        text = "0"
    elif abs(value) < 1e-3:
        text = f"{value:.2g}" if not half else f"{value:.2g} ± {half:.1g}"
    elif half is not None and 0 < half < 0.05 * max(1.0, abs(value)) and half < 1e-6:
        text = f"{value:.4g}"
    elif half:
        places = min(5, max(0, 1 - math.floor(math.log10(half))))
        text = f"{value:.{places}f} ± {half:.{places}f}"
    else:
        text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{text} {word}".strip()
