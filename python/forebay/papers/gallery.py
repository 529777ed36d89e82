"""What `reproduce` gives: figures with their verdicts, and where the page with all of them lies."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.papers.catalogue import Figure, Paper
from forebay.papers.claims import VERDICTS, Verdict

__all__ = ["Drawn", "Gallery"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One figure: our picture and the verdicts.

    Attributes
    ----------
    paper : Paper
    figure : Figure
    verdicts : tuple of Verdict
    picture : Path or None
        PNG; an SVG of the same name lies beside it.
    trouble : str
        Why there is no picture.
    """

    paper: Paper
    figure: Figure
    verdicts: tuple[Verdict, ...]
    picture: Path | None
    trouble: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The shape of `reproduce --json`."""
        return {
            "paper": self.paper.name,
            "figure": self.figure.name,
            "title": self.figure.title,
            "picture": None if self.picture is None else str(self.picture),
            "trouble": self.trouble,
            "claims": [verdict.as_dict() for verdict in self.verdicts],
        }


@dataclass(frozen=True, slots=True)
class Gallery:
    """Everything that was reproduced.

    Attributes
    ----------
    drawn : tuple of Drawn
    quick : bool
        Whether it is the coarse version.
    page : Path
        The HTML page with all pictures.
    """

    drawn: tuple[Drawn, ...]
    quick: bool
    page: Path

    def counts(self) -> dict[str, int]:
        """Claims by verdict."""
        found = Counter(verdict.verdict for each in self.drawn for verdict in each.verdicts)
        return {name: found[name] for name in VERDICTS}

    def to_json(self, indent: int | None = None) -> str:
        """Everything but the pictures."""
        figures = [each.as_dict() for each in self.drawn]
        data = {"quick": self.quick, "figures": figures, "counts": self.counts(), "page": str(self.page)}
        return json.dumps(data, indent=indent)
