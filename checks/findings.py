"""The findings of the comparison with other programs, number by number, and the results of each family of rows.

A finding states theirs, ours, the allowed difference and the scatter of both. From findings come the shares of each
family, the bias of numbers that are not judged, and the difference between two builds.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from forebay import _core
from forebay.errors import InputError
from forebay.storage.files import write_atomically
from forebay.storage.safe_io import DamagedError, content, document

__all__ = [
    "Bias",
    "Change",
    "Finding",
    "Share",
    "Tally",
    "Unit",
    "biases",
    "changes",
    "read",
    "settled",
    "shares",
    "write",
]

#: Description of the file that `write` writes, for errors.
WRITTEN = "what `make reference WRITE=FILE` writes"

#: Kinds whose rows are a cross-check of trends, which is printed and not counted.
TRENDS = frozenset({"ns3"})

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a number's differences: they are multiplied by `scale`, and divided by theirs if `relative`."""

    name: str
    scale: float = 1.0
    relative: bool = False


PERCENT = Unit("%", 100.0, relative=True)
POINTS = Unit("points", 100.0)
PACKETS = Unit("packets")


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of another program beside forebay's.

    Attributes
    ----------
    kind, family, row, number : str
        Origin of the number: the file, the family over which shares are counted, the row's label, the metric.
    theirs : float or None
        Their value; None if the row could not be read.
    ours, deviation : float or None
        Mean over our runs, and their standard deviation; None if there are none.
    runs : int
        Number of our runs.
    allowed : float or None
        Largest difference that passes.
    agrees : bool
        Whether the difference is within the allowed one.
    mean, scatter : float or None
        Mean and standard deviation of theirs over the rows of the same scenario, if there are several.
    repeats : int
        Number of these rows.
    range : float or None
        Difference between the largest and the smallest of theirs over them.
    phase : str
        "on" or "off" for rows of ns-2 (`checks.phases`).
    noise : float
        Scatter of theirs that is known beforehand, as a standard deviation.
    unjudged : str or None
        Reason why the rule does not judge it.
    after_all : bool
        Whether it is judged nevertheless, apart from the others.
    why : str
        Further remarks on it.
    """

    kind: str
    family: str
    row: str
    number: str
    theirs: float | None
    ours: float | None = None
    deviation: float | None = None
    runs: int = 0
    allowed: float | None = None
    agrees: bool = False
    mean: float | None = None
    scatter: float | None = None
    repeats: int = 1
    range: float | None = None
    phase: str = ""
    noise: float = 0.0
    unjudged: str | None = None
    after_all: bool = False
    why: str = ""

    @property
    def judged(self) -> bool:
        """Whether it is judged to agree or not."""
        return self.unjudged is None or self.after_all

    @property
    def trend(self) -> bool:
        """Whether it belongs to a cross-check that is not counted."""
        return self.kind in TRENDS

    @property
    def unit(self) -> Unit:
        """The unit of this number's differences."""
        if self.number.startswith("depth_"):
            return PACKETS
        return POINTS if self.number == "utilization" or self.number.startswith("share of ") else PERCENT

    @property
    def errors_of_ours(self) -> float | None:
        """The distance of theirs from our mean, in standard errors of it; infinite if our runs are all alike."""
        if self.theirs is None or self.ours is None or self.deviation is None or self.runs < 2:
            return None
        return _ratio(abs(self.theirs - self.ours), self.deviation / math.sqrt(self.runs))

    @property
    def errors_of_theirs(self) -> float | None:
        """The distance of ours from their mean over repeats, in standard errors of it; None if there are no repeats."""
        if self.mean is None or self.scatter is None or self.ours is None:
            return None
        return _ratio(abs(self.mean - self.ours), self.scatter / math.sqrt(self.repeats))

    @property
    def spread(self) -> float:
        """Standard deviation of the difference between one of our runs and one of theirs."""
        return math.hypot(self.deviation or 0.0, max(self.scatter or 0.0, self.noise))


def _ratio(difference: float, error: float) -> float:
    if error > 0.0:
        return difference / error
    return math.inf if difference > 0.0 else 0.0


# Numbers that are not judged ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bias:
    """Numbers of one family that the rule does not judge: their average difference.

    Attributes
    ----------
    kind, family, number : str
        File, family and name of the numbers.
    reasons : tuple of str
        Reasons why they are not judged.
    count : int
        Count of the numbers.
    bias, noise : float or None
        Mean of ours minus theirs, and the root mean square of the scatter of single differences, in `unit`. None if
        nothing can be compared, or if the mean of theirs is 0 and the difference is a part of it.
    unit : str
        Unit of both.
    """

    kind: str
    family: str
    number: str
    reasons: tuple[str, ...]
    count: int
    bias: float | None
    noise: float | None
    unit: str

    @property
    def hidden(self) -> bool:
        """Whether the numbers are wrong beyond their noise, so that they have to be judged."""
        return self.bias is not None and self.noise is not None and abs(self.bias) > self.noise


def biases(findings: Iterable[Finding]) -> list[Bias]:
    """The biases of every family's numbers that are not judged."""
    unjudged = (found for found in findings if not found.judged and not found.trend)
    return [_bias(each) for each in _grouped(unjudged, lambda found: (found.kind, found.family, found.number)).values()]


def _bias(findings: Sequence[Finding]) -> Bias:
    first = findings[0]
    pairs = [
        (found.ours - found.theirs, found.theirs, found.spread)
        for found in findings
        if found.ours is not None and found.theirs is not None
    ]
    bias = noise = None
    # This is a part of the mean of theirs, because parts of single numbers close to 0 would mean nothing.
    mean = statistics.fmean(theirs for _, theirs, _ in pairs) if pairs else 0.0
    scale = first.unit.scale
    if first.unit.relative:
        scale = scale / mean if mean else 0.0
    if pairs and scale:
        bias = scale * statistics.fmean(difference for difference, _, _ in pairs)
        noise = scale * math.sqrt(statistics.fmean(spread * spread for _, _, spread in pairs))
    return Bias(
        first.kind,
        first.family,
        first.number,
        tuple(dict.fromkeys(found.unjudged for found in findings if found.unjudged)),
        len(findings),
        bias,
        noise,
        first.unit.name,
    )


def settled(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those whose bias over their family is larger than its noise are judged after all.

    They are counted apart, so that numbers that the rule leaves out change no share.
    """
    hidden = {(each.kind, each.family, each.number): each for each in biases(findings) if each.hidden}
    return [
        replace(found, after_all=True)
        if not found.judged and (found.kind, found.family, found.number) in hidden
        else found
        for found in findings
    ]


# Counts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a family that agrees: judged numbers, and rows in all of their judged numbers."""

    kind: str
    family: str
    agreed: int
    numbers: int
    agreed_rows: int
    rows: int
    after_all: bool = False


def shares(findings: Iterable[Finding]) -> list[Share]:
    """Every family's share, in the order of the rows; numbers that are judged after all have a share of their own."""
    judged = (found for found in findings if found.judged)
    grouped = _grouped(judged, lambda found: (found.kind, found.family, found.after_all))
    return [_share(each) for each in grouped.values()]


def total(parts: Iterable[Share], family: str) -> Share:
    """Several families as one, without numbers that are judged after all."""
    counted = [part for part in parts if not part.after_all]
    return Share(
        counted[0].kind if counted else "",
        family,
        sum(part.agreed for part in counted),
        sum(part.numbers for part in counted),
        sum(part.agreed_rows for part in counted),
        sum(part.rows for part in counted),
    )


def _share(findings: Sequence[Finding]) -> Share:
    rows = _grouped(findings, lambda found: found.row).values()
    agreed_rows = sum(all(found.agrees for found in row) for row in rows)
    agreed = sum(found.agrees for found in findings)
    first = findings[0]
    return Share(first.kind, first.family, agreed, len(findings), agreed_rows, len(rows), first.after_all)


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of findings.

    `trends` has for each number of a cross-check whether it agrees, and `after_all` for each that is judged although
    the rule does not judge it.
    """

    passed: int = 0
    failed: int = 0
    rows_passed: int = 0
    rows_failed: int = 0
    trends: Sequence[bool] = ()
    unjudged: int = 0
    after_all: Sequence[bool] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Tally:
        """Count findings; formulas belong to no row."""
        counted = [found for found in findings if found.unjudged is None and not found.trend]
        of_rows = total(shares([found for found in counted if found.kind != "oracle"]), "")
        passed = sum(found.agrees for found in counted)
        return cls(
            passed,
            len(counted) - passed,
            of_rows.agreed_rows,
            of_rows.rows - of_rows.agreed_rows,
            tuple(found.agrees for found in findings if found.judged and found.trend),
            sum(not found.judged for found in findings),
            tuple(found.agrees for found in findings if found.after_all),
        )

    @property
    def agreed(self) -> int:
        """Numbers within their tolerance, trends included."""
        return self.passed + sum(self.trends)

    @property
    def differed(self) -> int:
        """Numbers outside of it, and rows that cannot be run."""
        return self.failed + len(self.trends) - sum(self.trends)

    def lines(self) -> Iterator[str]:
        """The closing lines; the last line is "N passed, N failed"."""
        if self.unjudged:
            yield f"{self.unjudged} numbers printed and not judged"
        if self.after_all:
            agreed = f"{sum(self.after_all)} of {len(self.after_all)}"
            yield f"{agreed} judged after all and counted apart agree: their families are off by more than their noise"
        if self.trends:
            yield f"trends (ns-3, not counted): {sum(self.trends)} of {len(self.trends)} within the tolerance"
        rows = self.rows_passed + self.rows_failed
        if rows:
            yield f"{self.rows_passed} of {rows} rows with something to judge passed whole"
        yield f"{self.passed} passed, {self.failed} failed"


def _grouped(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    found: dict[_K, list[_T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


# Two builds --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """A number with different verdicts of two builds."""

    before: Finding
    after: Finding

    @property
    def better(self) -> bool:
        """Whether it agrees now and did not before."""
        return self.after.agrees


def changes(before: Iterable[Finding], after: Iterable[Finding]) -> list[Change]:
    """The numbers that two builds have both judged, and differently."""
    known = {(found.kind, found.row, found.number): found for found in before}
    pairs = ((known.get((found.kind, found.row, found.number)), found) for found in after)
    return [
        Change(old, new)
        for old, new in pairs
        if old is not None and old.judged and new.judged and old.agrees != new.agrees
    ]


def write(path: Path, findings: Sequence[Finding], replications: int) -> None:
    """Write findings as JSON, from which another build can be compared."""
    head = {"version": _core.__version__, "replications": replications}
    lines = ",\n".join(json.dumps(asdict(found), ensure_ascii=False) for found in findings)
    write_atomically(path, f'{json.dumps(head)[:-1]}, "findings": [\n{lines}\n]}}\n')


#: Types that a field may have in JSON, by the first word of its type.
_KINDS: Mapping[str, tuple[type, ...]] = {"str": (str,), "float": (int, float), "int": (int,), "bool": (bool,)}


def _checked(found: Finding) -> Finding:
    """The same, if every field is of its type."""
    for each in dataclasses.fields(Finding):
        value, kind = getattr(found, each.name), str(each.type)
        if value is None and kind.endswith("None"):
            continue
        allowed = _KINDS[kind.split(maxsplit=1)[0]]
        if not isinstance(value, allowed) or (isinstance(value, bool) and allowed != (bool,)):
            raise TypeError
    return found


def read(path: Path) -> list[Finding]:
    """Read the findings that `write` wrote.

    Raises
    ------
    InputError
        If the file holds something else.
    """
    try:
        found = document(content(path, WRITTEN), str(path), WRITTEN)
        return [_checked(Finding(**each)) for each in found["findings"]]
    except DamagedError as error:
        raise InputError(f"{path}: found {error.found}, not {WRITTEN}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not {WRITTEN}") from None
