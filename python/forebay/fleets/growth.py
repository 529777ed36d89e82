"""Growth of traffic: the same network in later years, and the first year in which each port becomes too small."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.scenario import read
from forebay.search.sensitivity import scaled_count, scaled_quantities, workload_kind
from forebay.text.formatting import share

__all__ = ["Growth", "grown"]

#: Years that a share per year covers.
YEARS = 5


@dataclass(frozen=True, slots=True)
class Growth:
    """Factors of the traffic.

    Attributes
    ----------
    years : tuple of (int, float)
        Each year with the factor of its traffic to that of today, in rising order of years.
    """

    years: tuple[tuple[int, float], ...]

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
        if not rate > 0:
            raise InputError(f"found `{text}`; allowed: above 0 %, as in 40%, or a CSV file", "growth")
        return cls(tuple((year, (1 + rate) ** year) for year in range(1, YEARS + 1)))


def _table(path: Path) -> tuple[tuple[int, float], ...]:
    allowed = "a table with the columns year,factor"
    found: dict[int, float] = {}
    rows = csv.DictReader(read(path).splitlines())
    for row in rows:
        try:
            year, factor = int(row["year"]), float(row["factor"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}, line {rows.line_num}: found no year and factor; allowed: {allowed}") from None
        if year in found or year < 1 or not 0 < factor < 1e6:
            allowed = "each year once, both numbers above 0"
            raise InputError(f"{path}, line {rows.line_num}: found `{year},{factor:g}`; allowed: {allowed}")
        found[year] = factor
    if not found:
        raise InputError(f"{path}: found no row; allowed: {allowed}")
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
