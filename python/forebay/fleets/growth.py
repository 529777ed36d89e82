"""Growth of traffic: the same network in later years, and the first year in which each port becomes too small."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.scenario import read
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
        if year in found or not 0 < factor < 1e6:
            raise InputError(
                f"{path}, line {rows.line_num}: found `{year},{factor:g}`; allowed: each year once, above 0"
            )
        found[year] = factor
    if not found:
        raise InputError(f"{path}: found no row; allowed: {allowed}")
    return tuple(sorted(found.items()))


def grown(text: str, factor: float) -> str:
    """A scenario, given as JSON, with more traffic.

    Persistent and finite flows grow in number. A workload with a rate or a load grows in that, and one with users in
    users.
    """
    tables = json.loads(text)
    for group in tables.get("flows", []):
        workload = group.get("workload", "persistent")
        (kind, given) = next(iter(workload.items())) if isinstance(workload, Mapping) else (workload, None)
        if not isinstance(given, dict):
            _count(group, factor)
        elif kind == "closed_loop":
            _count(given, factor, "users")
        elif not any(_scaled(given, key, factor) for key in ("rate", "load", "peak")):
            _count(group, factor)
    return json.dumps(tables, sort_keys=True)


def _count(table: dict[str, Any], factor: float, key: str = "count") -> None:
    number = table.get(key, 1)
    if isinstance(number, int):
        table[key] = max(1, round(number * factor))


def _scaled(table: dict[str, Any], key: str, factor: float) -> bool:
    """Scale a rate or a share; False if the table has no such number."""
    given = table.get(key)
    if isinstance(given, (int, float)):
        table[key] = given * factor
        return True
    if isinstance(given, str) and key != "load":
        table[key] = f"{_core.parse_quantity(given, 'rate') * factor:.0f}bps"
        return True
    if isinstance(given, str):
        table[key] = _core.parse_quantity(given, "share") * factor
        return True
    return False
