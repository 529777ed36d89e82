"""Claims and finished runs of a gallery of papers."""

from __future__ import annotations

from pathlib import Path

from forebay.papers.claims import Claim


def claim(region: dict[str, float] | None, measure: str | None = "1", uncheckable: str | None = None) -> Claim:
    table: dict[str, object] = {"quantity": "a number", "why": "because", "otherwise": "an explanation"}
    if region is not None:
        table["claimed"] = region
    if measure is not None:
        table["measure"] = measure
    if uncheckable is not None:
        table["uncheckable"] = uncheckable
    return Claim.parse(table, "here")


def finished(folder: Path) -> dict[Path, int]:
    """Every batch of finished cells and every recording with the time it was written."""
    cells = list(folder.glob("data/*/cells/*.jsonl"))
    tables = list(folder.glob("data/*/*/*.parquet"))
    return {path: path.stat().st_mtime_ns for path in [*cells, *tables]}
