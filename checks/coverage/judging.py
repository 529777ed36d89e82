"""Judges finished searches by the truth, and families of searches by the criteria of the study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.coverage.families import FAMILIES, USEFUL
from checks.coverage.truth import Truth
from forebay.text import formatting

__all__ = ["JudgedSearch", "Result", "Tally", "judge", "tables", "tallies"]

#: An answer is stated surely from this confidence on, and may then be wrong in this share.
SURE, WRONG = 0.95, 0.05
#: The share of the intervals that have to contain the true minimum.
COVERED = 0.75
#: The least share of decided searches, and the largest median of the answer over the true minimum.
DECIDED, RATIO = 0.8, 1.3
#: Standard errors that are allowed to a share.
ALLOWED = 2.0


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one search.

    Attributes
    ----------
    name : str
        Name of the scenario or system.
    seed : int
        Seed of the search.
    verdict : str
        "met", "impossible" or "undecided".
    buffer : int or None
        The answer, in packets.
    confidence : float or None
        Confidence that the search states for its answer; None if it states none.
    runs : int
        Number of runs on which the confidence rests.
    low, high : int or None
        Ends of the interval of the smallest sufficient buffer, in packets.
    replications : int
        Number of replications of the whole search.
    cpu_s : float
        CPU time, in seconds.
    """

    name: str
    seed: int
    verdict: str
    buffer: int | None
    confidence: float | None
    runs: int
    low: int | None
    high: int | None
    replications: int
    cpu_s: float

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Result:
        """Read a result from a line of the journal."""
        return cls(**entry)


@dataclass(frozen=True, slots=True)
class JudgedSearch:
    """One search compared with the truth.

    Attributes
    ----------
    result : Result
        Result of the search.
    wrong : bool or None
        Whether the answer truly misses a goal, or a buffer meets all goals although the search reports that none does.
        None if the search reports neither, or if the truth is not known well enough.
    covered : bool or None
        Whether the interval contains the true minimum; None if there is no interval, or if the truth is not known well
        enough.
    ratio : float or None
        The answer over the true minimum.
    """

    result: Result
    wrong: bool | None
    covered: bool | None
    ratio: float | None

    @property
    def is_decided(self) -> bool:
        """Whether the search has decided."""
        return self.result.verdict != "undecided"

    @property
    def is_stated(self) -> bool:
        """Whether the search has decided with at least 95 % confidence; "impossible" always has it."""
        if self.result.verdict == "impossible":
            return True
        confidence = self.result.confidence
        return self.is_decided and confidence is not None and confidence >= SURE - 1e-9


def judge(result: Result, truth: Truth) -> JudgedSearch:
    """Judge one search."""
    if result.verdict == "impossible":
        return JudgedSearch(result, truth.possible(), None, None)
    if result.verdict != "met" or result.buffer is None:
        return JudgedSearch(result, None, None, None)
    meets = truth.meets(result.buffer)
    minimum = truth.minimum(result.buffer)
    wrong = None if meets is None else not meets
    if minimum is None:
        return JudgedSearch(result, wrong, None, None)
    return JudgedSearch(result, wrong, _covered(result, minimum), result.buffer / minimum[1])


def _covered(result: Result, minimum: tuple[int, int, int]) -> bool | None:
    """Return whether the interval contains the true minimum, which lies between the first and the last number."""
    if result.low is None or result.high is None:
        return None
    least, _, most = minimum
    if result.low <= least and most <= result.high:
        return True
    return False if most < result.low or result.high < least else None


@dataclass(frozen=True, slots=True)
class Tally:
    """Searches of one kind, counted.

    Attributes
    ----------
    family : str
        The family.
    kind : str
        "engine" or "systems", or the name of one scenario.
    searches : sequence of Judged
        All searches.
    """

    family: str
    kind: str
    searches: Sequence[JudgedSearch]

    @property
    def stated(self) -> Sequence[bool]:
        """Whether each sure answer that can be judged is wrong."""
        return [each.wrong for each in self.searches if each.is_stated and each.wrong is not None]

    @property
    def unstated(self) -> Sequence[bool]:
        """The same of the answers without such a confidence."""
        return [each.wrong for each in self.searches if each.wrong is not None and not each.is_stated]

    @property
    def covered(self) -> Sequence[bool]:
        """Whether each interval that can be judged contains the true minimum."""
        return [each.covered for each in self.searches if each.covered is not None]

    @property
    def unknown(self) -> int:
        """The number of answers that the truth does not judge."""
        return sum(each.is_decided and each.wrong is None for each in self.searches)

    @property
    def decided(self) -> Sequence[bool]:
        """Whether each search has decided."""
        return [each.is_decided for each in self.searches]

    @property
    def ratio(self) -> float | None:
        """The median of the answers over the true minimum."""
        ratios = [each.ratio for each in self.searches if each.ratio is not None]
        return float(np.median(ratios)) if ratios else None

    def faults(self, slack: float = 0.0) -> list[str]:
        """Return the criteria that the searches fail.

        Parameters
        ----------
        slack : float
            Standard errors that are allowed to the shares other than the wrong answers, which always have two.
        """
        found = []
        if self.stated and _share(self.stated) > WRONG + ALLOWED * _error(WRONG, len(self.stated)):
            found.append(f"{_percent(self.stated)} of the answers stated at 95 % are wrong")
        if self.covered and _share(self.covered) < COVERED - slack * _error(COVERED, len(self.covered)):
            found.append(f"intervals cover {_percent(self.covered)}")
        if self.family in USEFUL:
            if self.decided and _share(self.decided) < DECIDED - slack * _error(DECIDED, len(self.decided)):
                found.append(f"{_percent(self.decided)} of the searches are decided")
            if self.ratio is not None and self.ratio > RATIO:
                found.append(f"the median answer is {self.ratio:.2f} times the minimum")
        return found


def tallies(judged: Mapping[tuple[str, str], Sequence[JudgedSearch]]) -> list[Tally]:
    """Count the searches of each family and kind, in the order of the families."""
    order = sorted(judged, key=lambda key: (FAMILIES.index(key[0]), key[1]))
    return [Tally(family, kind, judged[family, kind]) for family, kind in order]


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _error(share: float, count: int) -> float:
    """Return the binomial standard error of a share."""
    return math.sqrt(share * (1 - share) / count)


def _percent(values: Sequence[bool]) -> str:
    if not values:
        return "–"
    share = _share(values)
    return f"{100 * share:.1f} ± {100 * _error(share, len(values)):.1f} %"


# Tables --------------------------------------------------------------------------------------------------------------


def tables(families: Sequence[Tally], scenarios: Sequence[Tally]) -> str:
    """Return a table of the families, the verdict, and a table of every scenario and system."""
    head = ("family", "on", "searches", "stated", "wrong", "intervals cover", "decided", "median / minimum", "verdict")
    rows = [_family_row(tally) for tally in families]
    lines = [*formatting.markdown_table(head, rows), "", verdict(families), ""]
    columns = (
        "scenario or system",
        "met",
        "impossible",
        "undecided",
        "not judged",
        "stated and wrong",
        "unstated and wrong",
        "intervals cover",
        "median / minimum",
        "runs",
        "CPU",
    )
    lines += formatting.markdown_table(columns, [_scenario_row(tally) for tally in scenarios])
    return "\n".join(lines) + "\n"


def verdict(families: Iterable[Tally]) -> str:
    """Return the line that reports whether all families pass."""
    faults = [f"{tally.family} ({tally.kind}): {fault}" for tally in families for fault in tally.faults()]
    return "Every family passes." if not faults else f"{len(faults)} criteria fail: {'; '.join(faults)}."


def _family_row(tally: Tally) -> tuple[str, ...]:
    useful = tally.family in USEFUL
    return (
        tally.family,
        tally.kind,
        str(len(tally.searches)),
        str(len(tally.stated)),
        _percent(tally.stated),
        _percent(tally.covered),
        _percent(tally.decided) if useful else f"({_percent(tally.decided)})",
        "–" if tally.ratio is None else f"{tally.ratio:.2f}" if useful else f"({tally.ratio:.2f})",
        "passes" if not tally.faults() else "fails",
    )


def _scenario_row(tally: Tally) -> tuple[str, ...]:
    counts = [
        str(sum(each.result.verdict == name for each in tally.searches)) for name in ("met", "impossible", "undecided")
    ]
    results = [each.result for each in tally.searches]
    return (
        tally.kind,
        *counts,
        str(tally.unknown),
        f"{sum(tally.stated)} of {len(tally.stated)}",
        f"{sum(tally.unstated)} of {len(tally.unstated)}",
        f"{sum(tally.covered)} of {len(tally.covered)}",
        "–" if tally.ratio is None else f"{tally.ratio:.2f}",
        f"{np.mean([each.replications for each in results]):.0f}",
        formatting.duration(float(np.mean([each.cpu_s for each in results]))),
    )
