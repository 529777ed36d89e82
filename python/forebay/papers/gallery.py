"""The result of `reproduce`: figures with their verdicts, and the path of the page with all of them."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.papers.catalog import PAPERS, Figure, Paper
from forebay.papers.claims import VERDICTS, Measured, Verdict
from forebay.results.deprecated_names import DeprecatedName
from forebay.storage.safe_io import DamagedError, content, document

__all__ = ["FILE", "Drawn", "Gallery", "earlier_figures"]

#: File of a gallery's folder that lists its figures.
FILE = "gallery.json"
ALLOWED = "the list of figures that reproduce wrote"


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
        Reason why there is no picture.
    quick : bool
        Whether it is the coarse version.
    """

    paper: Paper
    figure: Figure
    verdicts: tuple[Verdict, ...]
    picture: Path | None
    trouble: str = ""
    quick: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The figure in the form of `reproduce --json`."""
        return {
            "paper": self.paper.name,
            "figure": self.figure.name,
            "title": self.figure.title,
            "picture": None if self.picture is None else str(self.picture),
            "trouble": self.trouble,
            "quick": self.quick,
            "claims": [verdict.as_dict() for verdict in self.verdicts],
        }


@dataclass(frozen=True, slots=True)
class Gallery:
    """Everything that was reproduced.

    Attributes
    ----------
    drawn : tuple of Drawn
        Requested figures.
    quick : bool
        Whether it is the coarse version.
    page : Path
        The HTML page with all pictures.
    earlier : tuple of Drawn
        Figures that the same folder had before, and that this call did not draw again.
    """

    drawn: tuple[Drawn, ...]
    quick: bool
    page: Path
    earlier: tuple[Drawn, ...] = ()

    whole = DeprecatedName("all_figures")

    def all_figures(self) -> Gallery:
        """Everything that the folder has, in the order of the catalog."""
        places = {name: place for place, name in enumerate(PAPERS)}

        def order(each: Drawn) -> tuple[int, int]:
            names = [figure.name for figure in each.paper.figures]
            place = names.index(each.figure.name) if each.figure.name in names else len(names)
            return places.get(each.paper.name, len(places)), place

        drawn = tuple(sorted((*self.earlier, *self.drawn), key=order))
        return Gallery(drawn, any(each.quick for each in drawn), self.page)

    def counts(self) -> dict[str, int]:
        """The number of claims by verdict, among the requested figures; recalled claims do not count."""
        verdicts = [verdict for each in self.drawn for verdict in each.verdicts]
        found = Counter(verdict.verdict for verdict in verdicts if not verdict.claim.recalled)
        return {name: found[name] for name in VERDICTS}

    @property
    def recalled(self) -> int:
        """The number of claims whose published number was not looked up."""
        return sum(verdict.claim.recalled for each in self.drawn for verdict in each.verdicts)

    def to_json(self, indent: int | None = None) -> str:
        """Everything that was requested, except the pictures."""
        figures = [each.as_dict() for each in self.drawn]
        data = {"quick": self.quick, "figures": figures, "counts": self.counts(), "recalled": self.recalled}
        data["page"] = str(self.page)
        return json.dumps(data, indent=indent)


def earlier_figures(
    folder: Path, papers: Mapping[str, Paper], say: Callable[[str], object] = lambda _line: None
) -> Iterator[Drawn]:
    """The figures that a gallery's folder has from earlier calls, of those that the papers still have.

    Parameters
    ----------
    folder : Path
        Folder of the gallery, possibly new.
    papers : mapping
        Papers by name.
    say : callable, optional
        Called with a line about damage that is left out.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        return
    try:
        found = document(content(path, ALLOWED), str(path), ALLOWED)
        entries = found["figures"] if isinstance(found, dict) else None
        if not isinstance(entries, list):
            raise DamagedError(str(path), "no list of figures", ALLOWED)
    except (DamagedError, KeyError) as error:
        found_there = error.found if isinstance(error, DamagedError) else "no `figures`"
        say(f"{path}: found {found_there}; leaves out the figures of earlier calls")
        return
    damaged = 0
    for entry in entries:
        try:
            drawn = _earlier_figure(entry, folder, papers, quick=bool(found.get("quick", False)))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            damaged += 1
            continue
        if drawn is not None:
            yield drawn
    if damaged:
        found_there, them = ("1 figure", "it") if damaged == 1 else (f"{damaged} figures", "them")
        say(f"{path}: found {found_there} of wrong form; leaves {them} out")


def _earlier_figure(
    entry: Mapping[str, Any], folder: Path, papers: Mapping[str, Paper], *, quick: bool
) -> Drawn | None:
    """One figure, if paper, figure and picture still exist."""
    paper = papers.get(entry["paper"])
    figure = None if paper is None else next((each for each in paper.figures if each.name == entry["figure"]), None)
    if paper is None or figure is None:
        return None
    picture = folder / paper.name / f"{figure.name}.png"
    there = entry["picture"] is not None and picture.is_file()
    trouble = entry["trouble"]
    if not isinstance(trouble, str):
        raise TypeError
    if not there and not trouble:
        return None  # the picture was removed
    verdicts = tuple(_verdicts(figure, entry["claims"]))
    return Drawn(paper, figure, verdicts, picture if there else None, trouble, bool(entry.get("quick", quick)))


def _verdicts(figure: Figure, claims: list[Mapping[str, Any]]) -> Iterator[Verdict]:
    """The stored verdicts on the claims that the figure still has."""
    known = {claim.quantity: claim for claim in figure.claims}
    for entry in claims:
        claim = known.get(entry["quantity"])
        if claim is None:
            continue
        if entry["verdict"] not in VERDICTS or not isinstance(entry["why"], str):
            raise ValueError
        half_width = None if entry["half_width"] is None else _number(entry["half_width"], 0.0)
        measured = None if entry["ours"] is None else Measured(_number(entry["ours"]), half_width)
        yield Verdict(claim, measured, entry["verdict"], entry["why"])


def _number(value: object, least: float = -math.inf) -> float:
    """A stored finite number that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    number = float(value)
    if not least <= number < math.inf:
        raise ValueError
    return number
