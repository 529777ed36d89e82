"""Growth of traffic: the same network in later years, and the first year in which each port becomes too small."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.fleets.small_tables import refusal, rows
from forebay.search.sensitivity import scaled_count, scaled_quantities, workload_kind
from forebay.text.formatting import share

__all__ = ["Growth", "grown"]

#: Years that a share per year covers.
YEARS = 5
#: Largest growth in a year: 40 without its percent sign is above it.
MOST_RATE = 10.0
#: Columns of a table of years, its last year, and the bound of its factors.
COLUMNS, LAST_YEAR, MOST_FACTOR = ("year", "factor"), 9999, 1_000_000


@dataclass(frozen=True, slots=True)
class Growth:
    """Factors of the traffic.

    Attributes
    ----------
    years : tuple of (int, float)
        Each year with the factor of its traffic to that of today, in rising order of years.
    """

    years: tuple[tuple[int, float], ...]

    def __str__(self) -> str:
        """The factors, as in "1: 1.4, 2: 1.96"."""
        return ", ".join(f"{year}: {factor:.6g}" for year, factor in self.years)

    @classmethod
    def parse(cls, text: str) -> Growth:
        """Read a share per year such as "40%", or a CSV file with the columns `year` and `factor`.

        Raises
        ------
        InputError
            If the text is neither.
        """
        path = Path(text)
        if path.suffix == ".csv":
            return cls(_table(path))
        rate = share("growth", text)
        if not 0 < rate <= MOST_RATE:
            allowed = f"above 0 % and at most {MOST_RATE:.0%} a year, as in 40%, or a CSV file"
            raise InputError(f"found `{text}`; allowed: {allowed}", "growth")
        return cls(tuple((year, (1 + rate) ** year) for year in range(1, YEARS + 1)))


def _table(path: Path) -> tuple[tuple[int, float], ...]:
    allowed = f"each year once, from 1 to {LAST_YEAR}, with a factor above 0 and below {MOST_FACTOR:,}"
    found: dict[int, float] = {}
    for place, cells in rows(path, COLUMNS):
        try:
            year, factor = int(cells["year"]), float(cells["factor"])
        except ValueError:
            raise refusal(place, cells, allowed) from None
        if year in found or not 1 <= year <= LAST_YEAR or not 0 < factor < MOST_FACTOR:
            raise refusal(place, cells, allowed)
        found[year] = factor
    return tuple(sorted(found.items()))


def grown(text: str, factor: float) -> str:
    """A scenario, given as JSON, with more traffic.

    Flows grow in number. Users and servers grow in theirs, and a workload with a rate, a load or a peak in that.
    Arrivals and requests have shorter intervals. A list with a value for each flow cannot grow: the scenario is then
    refused when it is read.
    """
    tables = json.loads(text)
    for group in tables.get("flows", []):
        _grow(group, factor)
    return json.dumps(tables, sort_keys=True)


def _grow(group: dict[str, Any], factor: float) -> None:
    """Give a group of flows more traffic."""
    stated = {"workload": "persistent", **group}["workload"]
    body = stated[workload_kind(group)] if isinstance(stated, dict) and stated else {}
    for key, scale in SCALES.items():
        if isinstance(body, dict) and key in body:
            body[key] = scale(body[key], factor)
            if key in COUNTED and "count" in group:
                group["count"] = body[key]  # the same number, stated twice
            return
    group["count"] = scaled_count(group.get("count", 1), factor)


def _scaled_amount(amount: Any, factor: float) -> Any:
    """Scale a rate or a load; a load may be a number."""
    return amount * factor if isinstance(amount, (int, float)) else scaled_quantities(amount, factor)


def _shortened(interval: Any, factor: float) -> Any:
    """Divide a time or its distribution by a factor."""
    return scaled_quantities(interval, 1 / factor)


#: Keys of workloads that say how many take part.
COUNTED = ("users", "servers")
#: Keys of workloads that grow, with the change of each; other groups grow in the number of flows.
SCALES: Mapping[str, Callable[[Any, float], Any]] = {
    **dict.fromkeys(COUNTED, scaled_count),
    **dict.fromkeys(("rate", "load", "peak"), _scaled_amount),
    **dict.fromkeys(("interarrival", "every"), _shortened),
}
