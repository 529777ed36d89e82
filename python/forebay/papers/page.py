"""The gallery as one HTML page: every picture inside, no script, nothing from the network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.papers.claims import SIGNS
from forebay.storage.files import write_atomically
from forebay.text.formatting import sentence
from forebay.views.pages import render

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.papers.claims import Verdict
    from forebay.papers.gallery import Drawn, Gallery

__all__ = ["write_page"]

_WORDS = {"reproduced": "reproduced", "not_reproduced": "not reproduced", "not_checkable": "not checkable"}


def write_page(gallery: Gallery) -> Path:
    """Write the page; it appears complete or not at all."""
    write_atomically(gallery.page, render("gallery.html.j2", _page(gallery)))
    return gallery.page


# View models of the template -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim with its verdict; `source` names a publication other than the section's paper."""

    quantity: str
    source: str
    why: str
    evidence: tuple[str, ...]
    claimed: str
    ours: str
    verdict: str
    sign: str
    words: str


@dataclass(frozen=True, slots=True)
class FigureSection:
    """A figure; `picture` is a PNG in base 64, `trouble` the reason for none; `version` if versions are mixed."""

    id: str
    name: str
    title: str
    shows: str
    picture: str | None
    trouble: str
    version: str
    claims: tuple[ClaimRow, ...]


@dataclass(frozen=True, slots=True)
class PaperSection:
    """A paper with its figures."""

    name: str
    title: str
    authors: str
    venue: str
    year: str
    question: str
    figures: tuple[FigureSection, ...]


@dataclass(frozen=True, slots=True)
class GalleryPage:
    """The page: how much is in it, in which version, and the papers."""

    figures: str
    claims: str
    version: str
    counts: str
    papers: tuple[PaperSection, ...]


def _page(gallery: Gallery) -> GalleryPage:
    counts = gallery.counts()
    mixed = len({each.quick for each in gallery.drawn}) > 1
    papers = dict.fromkeys(each.paper.name for each in gallery.drawn)
    return GalleryPage(
        figures=str(len(gallery.drawn)),
        claims=str(sum(counts.values())),
        version=_version(gallery),
        counts=", ".join(f"{number} {_WORDS[name]}" for name, number in counts.items()),
        papers=tuple(
            _paper([each for each in gallery.drawn if each.paper.name == name], mixed=mixed) for name in papers
        ),
    )


def _version(gallery: Gallery) -> str:
    coarse = sum(each.quick for each in gallery.drawn)
    if 0 < coarse < len(gallery.drawn):
        return f"the full version ({coarse} of the figures in the coarse one, --quick)"
    return "the coarse version (--quick)" if gallery.quick else "the full version"


def _paper(drawn: Sequence[Drawn], *, mixed: bool) -> PaperSection:
    """The section of the paper that all of the figures are of."""
    paper = drawn[0].paper
    figures = tuple(_figure(each, mixed=mixed) for each in drawn)
    return PaperSection(paper.name, paper.title, paper.authors, paper.venue, str(paper.year), paper.question, figures)


def _figure(drawn: Drawn, *, mixed: bool) -> FigureSection:
    figure = drawn.figure
    return FigureSection(
        id=figure.id,
        name=figure.name,
        title=figure.title,
        shows=figure.shows,
        picture=None if drawn.picture is None else base64.b64encode(drawn.picture.read_bytes()).decode("ascii"),
        trouble=drawn.trouble,
        version=("coarse" if drawn.quick else "full") if mixed else "",
        claims=tuple(_claim(verdict) for verdict in drawn.verdicts),
    )


def _claim(verdict: Verdict) -> ClaimRow:
    claim = verdict.claim
    return ClaimRow(
        quantity=claim.quantity,
        source=claim.source,
        why=sentence(verdict.why),
        evidence=tuple(claim.evidence),
        claimed="–" if claim.region is None else claim.region.text,
        ours=verdict.ours,
        verdict=verdict.verdict,
        sign=SIGNS[verdict.verdict],
        words=_WORDS[verdict.verdict] + (" (recalled, not counted)" if claim.recalled else ""),
    )
