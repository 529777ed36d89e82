"""Renew the documentation's pages about the papers from a gallery: their pictures and their tables of verdicts.

    python -m forebay.papers.renewal OUT DOCS

OUT is the folder of `forebay reproduce all`, DOCS that of the documentation. A picture is renewed if a page shows it;
the table lies between two marks. Nothing else of a page changes. The literature has its table on a page of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.papers.catalog import PAPERS
from forebay.papers.claims import SIGNS, VERDICTS, reason, with_unit
from forebay.papers.gallery import ALLOWED, FILE
from forebay.storage.files import between, write_atomically
from forebay.storage.safe_io import DamagedError, content, document
from forebay.text.formatting import counted, markdown_table

__all__ = ["renew", "verdicts", "verdicts_page"]

MARKS = ("<!-- verdicts: begin -->", "<!-- verdicts: end -->")
_WORDS = {"reproduced": "reproduced", "not_reproduced": "not reproduced", "not_checkable": "not checkable"}
#: Pages of verdicts that are not the paper's own page.
_VERDICTS_PAGES = {"literature": "claims"}
_REASONS = "These claims are not reproduced. Each entry gives the reason and, after *Elsewhere*, the results of others."
#: Columns of a line of text.
_COLUMNS = 100
_PICTURE = re.compile(r"\.\./\.\./images/papers/(\w+)-([\w-]+)\.png")


def renew(gallery: Mapping[str, Any], pictures: Path, docs: Path) -> list[Path]:
    """Renew every page and picture.

    Parameters
    ----------
    gallery : mapping
        Content of `gallery.json`.
    pictures : Path
        Folder of `gallery.json`.
    docs : Path
        Folder with `background/papers/` and `images/papers/`.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    InputError
        If a page lacks the marks, or if the gallery lacks a picture.
    """
    written = []
    for paper in PAPERS:
        figures = [figure for figure in gallery["figures"] if figure["paper"] == paper]
        if not figures:
            continue
        page = docs / "background" / "papers" / f"{paper}.md"
        for owner, name in dict.fromkeys(_PICTURE.findall(page.read_text(encoding="utf-8"))):
            picture = pictures / owner / f"{name}.png"
            if not picture.is_file():
                raise InputError(f"{page}: found the picture of {owner}/{name}; allowed: one that {pictures} has")
            shown = docs / "images" / "papers" / f"{owner}-{name}.png"
            write_atomically(shown, picture.read_bytes())
            written.append(shown)
        page = verdicts_page(paper, docs)
        text = page.read_text(encoding="utf-8")
        write_atomically(page, between(text, MARKS, verdicts(figures, quick=_coarse(gallery, figures)), str(page)))
        written.append(page)
    return written


def verdicts_page(paper: str, docs: Path) -> Path:
    """The page with a paper's table of verdicts."""
    return docs / "background" / "papers" / f"{_VERDICTS_PAGES.get(paper, paper)}.md"


def _coarse(gallery: Mapping[str, Any], figures: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of the figures is of the coarse version."""
    return any(figure.get("quick", gallery["quick"]) for figure in figures)


def verdicts(figures: Iterable[Mapping[str, Any]], *, quick: bool) -> str:
    """A line of counts, a table with one row per claim, and the reasons of claims that are not reproduced."""
    figures = list(figures)
    claims = [(figure["figure"], claim) for figure in figures for claim in figure["claims"]]
    judged = [claim["verdict"] for _, claim in claims if not claim.get("recalled")]
    found = Counter(judged)
    counts = ", ".join(f"{found[name]} {_WORDS[name]}" for name in VERDICTS if found[name])
    kind = "coarse (`--quick`)" if quick else "full"
    sourced = any(claim.get("source") for _, claim in claims)
    rows = []
    for figure, claim in claims:
        ours = "–" if claim["ours"] is None else with_unit(claim["ours"], claim["unit"], claim["half_width"])
        verdict = f"{SIGNS[claim['verdict']]} {_WORDS[claim['verdict']]}"
        if claim.get("recalled"):
            verdict += " (recalled, not counted)"
        source = (claim.get("source", ""),) if sourced else ()
        rows.append((figure, *source, claim["quantity"], claim["claimed"] or "–", ours, verdict))
    head = ("figure", *(("source",) if sourced else ()), "claim", "claimed", "forebay", "verdict")
    total = counted(len(judged), "claim")
    lines = [f"The {kind} version judges {total}: {counts}.", "", *markdown_table(head, rows)]
    contradicted = [(figure, claim) for figure, claim in claims if claim["verdict"] == "not_reproduced"]
    if contradicted:
        lines += ["", *textwrap.wrap(_REASONS, _COLUMNS), ""]
        for figure, claim in contradicted:
            text = f"- **{figure}: {claim['quantity']}.** {reason(claim['why'], claim['evidence'])}"
            lines += textwrap.wrap(
                text, _COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
    return "\n".join([*lines, ""])


def main(arguments: list[str] | None = None) -> int:
    """The command; exit code 2 if an input is wrong."""
    parser = argparse.ArgumentParser(prog="python -m forebay.papers.renewal", description=__doc__)
    parser.add_argument("out", type=Path, help="the folder of `forebay reproduce all`")
    parser.add_argument("docs", type=Path, help="the folder of the documentation")
    options = parser.parse_args(arguments)
    try:
        path = options.out / FILE
        gallery = document(content(path, ALLOWED), str(path), ALLOWED)
        try:
            written = renew(gallery, options.out, options.docs)
        except (AttributeError, KeyError, TypeError):
            raise DamagedError(str(path), "figures of wrong form", ALLOWED) from None
    except OSError as error:
        print(f"{error.filename}: cannot be read or written: {error.strerror}", file=sys.stderr)
        return 2
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for path in written:
        print(f"renewed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
