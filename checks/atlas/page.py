"""Tables of docs/reference/atlas.md: the accuracy of every rule on the atlas, and the rule that the atlas gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from checks.atlas.cells import TARGETS
from checks.atlas.drawing import TITLES
from checks.atlas.fitting import Fit, fitted
from checks.atlas.judging import RuleResult, Verdict, tally
from forebay.atlas.rows import CONTROLLERS, Row
from forebay.storage.files import between, write_atomically
from forebay.text.formatting import markdown_table

__all__ = ["FITS", "FOUND", "RULES", "fits_table", "precision_table", "renew", "rules_table"]

#: Marks around the tables.
FOUND = ("<!-- found: begin -->", "<!-- found: end -->")
RULES = ("<!-- accuracy: begin -->", "<!-- accuracy: end -->")
FITS = ("<!-- fits: begin -->", "<!-- fits: end -->")


def renew(page: Path, found: Sequence[Row], rules: Sequence[RuleResult]) -> None:
    """Put the tables in the page."""
    document, where = page.read_text(encoding="utf-8"), str(page)
    fits = [fitted(found, controller, target) for controller in CONTROLLERS for target in TARGETS]
    for marks, table in ((FOUND, precision_table(found)), (RULES, rules_table(rules)), (FITS, fits_table(fits))):
        document = between(document, marks, table, where)
    write_atomically(page, document)


def precision_table(found: Iterable[Row]) -> str:
    """The table of the number of links, the precision of their buffers, and the cost."""
    rows = []
    by_kind: dict[tuple[str, float], list[Row]] = {}
    for row in found:
        by_kind.setdefault((row.controller, row.utilization), []).append(row)
    for controller in CONTROLLERS:
        for target in TARGETS:
            of_kind = by_kind.get((controller, target), [])
            widths = sorted(_width(row) for row in of_kind if row.buffer_packets is not None)
            packets = sum(row.data_packets for row in of_kind)
            rows.append(
                (
                    f"{TITLES[controller]}, {100 * target:g} %",
                    str(len(of_kind)),
                    str(len(widths)),
                    _factor(widths, 0.5),
                    _factor(widths, 0.9),
                    f"{packets / 1e9:.1f}",
                )
            )
    head = (
        *("algorithm, utilization", "links", "links with a buffer"),
        *("width of the interval: median", "90th percentile", "10^9 simulated packets"),
    )
    return "\n".join(markdown_table(head, rows)) + "\n"


def _width(row: Row) -> float:
    assert row.low_packets is not None
    assert row.high_packets is not None
    return row.high_packets / row.low_packets


def _factor(widths: Sequence[float], share: float) -> str:
    return f"a factor of {widths[min(int(share * len(widths)), len(widths) - 1)]:.2f}" if widths else "-"


def rules_table(rules: Iterable[RuleResult]) -> str:
    """The table of the percentage of links without background for which each rule is within 20 %, below and above."""
    counts = tally(each for each in rules if not each.row.background)
    names = sorted({rule for rule, _ in counts}, key=lambda rule: (-_right_of(counts, rule), rule))
    rows = [(f"`{name}`", *(_shares(counts.get((name, each), Counter())) for each in CONTROLLERS)) for name in names]
    return "\n".join(markdown_table(("rule", *(TITLES[each] for each in CONTROLLERS)), rows)) + "\n"


def _right_of(counts: Mapping[tuple[str, str], Counter[Verdict]], rule: str) -> float:
    """Share of all links for which a rule is right."""
    of_rule = sum((counts.get((rule, each), Counter()) for each in CONTROLLERS), Counter[Verdict]())
    return of_rule[Verdict.RIGHT] / of_rule.total()


def _shares(verdicts: Counter[Verdict]) -> str:
    every = verdicts.total()
    return " / ".join(f"{100 * verdicts[each] / every:.0f}" for each in _ordered()) if every else "-"


def _ordered() -> Iterator[Verdict]:
    yield from (Verdict.RIGHT, Verdict.SMALL, Verdict.LARGE)


def fits_table(fits: Iterable[Fit]) -> str:
    """The rule that the atlas gives for each controller and utilization."""
    rows = [
        (
            f"{TITLES[fit.controller]}, {100 * fit.utilization:g} %",
            str(fit),
            str(fit.rows),
            f"{100 * fit.right:.0f} %",
            f"{100 * fit.unseen:.0f} %",
        )
        for fit in fits
    ]
    head = ("algorithm, utilization", "buffer in packets", "links", "within 20 %", "within 20 %, links not in the fit")
    return "\n".join(markdown_table(head, rows)) + "\n"
