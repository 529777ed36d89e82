"""The gallery on a terminal: its cost, its progress, the counts of verdicts and a table of claims."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forebay.papers.claims import Verdict
    from forebay.papers.gallery import Gallery
    from forebay.papers.reproduction import CostEstimate

__all__ = ["announcement", "listing", "listing_json", "progress", "summary", "table"]

#: Columns of the list of figures.
WIDTH = 80
_STYLES = {"reproduced": "green", "not_reproduced": "red", "not_checkable": "yellow"}


def duration(seconds: float) -> str:
    """A rough time."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def announcement(found: CostEstimate, cores: int) -> str:
    """One line about the work to come."""
    from forebay.text.formatting import counted

    what = f"{counted(found.figures, 'figure')}, {counted(found.claims, 'claim')}"
    return (
        f"{what}: about {duration(found.core_s / cores)} on {counted(cores, 'core')} at "
        f"{found.packets_per_core_s / 1e6:.1f} million packets per second and core; finished runs are not repeated"
    )


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[float, float, str], None] | None]:
    """A bar on standard error, or a line for each figure if standard error is no terminal."""
    if quiet:
        yield None
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description:<22}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("reproducing", total=None)
            yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)
        return
    begun, last = time.monotonic(), ""

    def line(done: float, total: float, name: str) -> None:
        nonlocal last
        if name != last:
            last = name
            elapsed = time.monotonic() - begun
            # The first few percent give no estimate: starting up and drawing weigh too much in them.
            left = f", about {duration(elapsed * (total - done) / done)} left" if done > 0.03 * total else ""
            print(f"{100 * done / total:3.0f} %  {name}{left}", file=sys.stderr, flush=True)

    yield line


def listing() -> str:
    """The list of papers and figures that can be reproduced."""
    from forebay.papers import catalog
    from forebay.text.formatting import counted

    lines = []
    for paper, figures in catalog.select("all"):
        lines += textwrap.wrap(
            f"{paper.name}: {paper.title} ({paper.authors}, {paper.year})", WIDTH, subsequent_indent="  "
        )
        for figure in figures:
            text = f"{figure.title} ({counted(len(figure.claims), 'claim')})"
            lines += textwrap.wrap(
                text, WIDTH, initial_indent=f"  {figure.id:<22} ", subsequent_indent=f"{'':<25}", break_long_words=False
            )
    return "\n".join(lines)


def listing_json() -> str:
    """The same list as JSON: an array of papers with their figures and numbers of claims."""
    from forebay.papers import catalog

    papers = [
        {
            "name": paper.name,
            "title": paper.title,
            "authors": paper.authors,
            "year": paper.year,
            "figures": [{"id": each.id, "title": each.title, "claims": len(each.claims)} for each in figures],
        }
        for paper, figures in catalog.select("all")
    ]
    return json.dumps(papers, indent=2)


def table(gallery: Gallery) -> RenderableType:
    """The counts of verdicts, a table of the figures, and the claims of each figure in whole lines."""
    from rich.console import Group
    from rich.text import Text

    from forebay.views.heading import Paragraph

    parts: list[RenderableType] = [Text(summary(gallery), style="bold"), Text(), _figures(gallery)]
    for drawn in gallery.drawn:
        parts += [Text(), Paragraph(f"{drawn.figure.id}: {drawn.figure.title}", "bold")]
        if drawn.trouble:
            parts.append(Paragraph(f"no picture: {drawn.trouble}", "red"))
        if drawn.verdicts:
            for verdict in drawn.verdicts:
                parts += _claim(verdict)
        elif not drawn.trouble:
            parts.append(Text("(a picture without claims)", style="dim"))
    return Group(*parts)


def _figures(gallery: Gallery) -> RenderableType:
    """The number of claims of each figure by verdict."""
    from rich import box
    from rich.table import Table

    view = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    view.add_column("figure", no_wrap=True)
    for verdict in _STYLES:
        view.add_column(verdict.replace("_", " "), justify="right", no_wrap=True)
    for drawn in gallery.drawn:
        counts = [sum(each.verdict == verdict for each in drawn.verdicts) for verdict in _STYLES]
        view.add_row(drawn.figure.id, *map(str, counts))
    return view


def _claim(verdict: Verdict) -> Iterator[RenderableType]:
    """The lines of a claim: its verdict, the two values, and the reason if it is not reproduced."""
    from forebay.papers.claims import reason
    from forebay.views.heading import Paragraph

    word = verdict.verdict.replace("_", " ")
    recalled = ", recalled" if verdict.claim.recalled else ""
    source = f" ({verdict.claim.source})" if verdict.claim.source else ""
    yield Paragraph(f"  {word}{recalled}: {verdict.claim.quantity}{source}", _STYLES[verdict.verdict])
    claimed = "no value" if verdict.claim.region is None else verdict.claim.region.text
    yield Paragraph(f"    paper: {claimed}; forebay: {verdict.ours}")
    if verdict.verdict != "reproduced":
        yield Paragraph(f"    reason: {reason(verdict.why, verdict.claim.evidence)}", "dim")


def summary(gallery: Gallery) -> str:
    """The number of claims by verdict, in a line."""
    from forebay.text.formatting import counted

    counts = gallery.counts()
    text = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
    recalled = f"; {gallery.recalled} recalled, not counted" if gallery.recalled else ""
    head = f"{counted(len(gallery.drawn), 'figure')}, {counted(sum(counts.values()), 'claim')}"
    return f"{head}: {text}{recalled}"
