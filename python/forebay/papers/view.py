"""The gallery on a terminal: its cost, its progress, the counts of verdicts and a table of claims."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from forebay.papers.claims import Verdict
    from forebay.papers.gallery import Gallery
    from forebay.papers.reproduction import Estimate

__all__ = ["announcement", "listing", "listing_json", "progress", "summary", "table"]

_STYLES = {"reproduced": "green", "not_reproduced": "red", "not_checkable": "yellow"}


def duration(seconds: float) -> str:
    """A rough time."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def announcement(found: Estimate, cores: int) -> str:
    """One line about the work to come."""
    from forebay.text.formatting import counted

    what = f"{counted(found.figures, 'figure')}, {counted(found.claims, 'claim')}"
    return (
        f"{what}: about {duration(found.core_s)} of one core, "
        f"{duration(found.core_s / cores)} on {cores} (this machine now simulates "
        f"{found.packets_per_core_s / 1e6:.1f} million packets per core second); what is there already is not run again"
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
        lines.append(f"{paper.name}: {paper.title} ({paper.authors}, {paper.year})")
        for figure in figures:
            lines.append(f"  {figure.id:<22} {figure.title} ({counted(len(figure.claims), 'claim')})")
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
    """The counts of verdicts, then the claims of each figure and the reasons of those that are not reproduced."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(summary(gallery), style="bold")]
    for drawn in gallery.drawn:
        parts.append(Text(f"\n{drawn.figure.id}: {drawn.figure.title}", style="bold"))
        if drawn.trouble:
            parts.append(Text(f"no picture: {drawn.trouble}", style="red"))
        if drawn.verdicts:
            parts += [_claims(drawn.verdicts), *_reasons(drawn.verdicts)]
        elif not drawn.trouble:
            parts.append(Text("(a picture without a claim)", style="dim"))
    return Group(*parts)


def _claims(verdicts: Sequence[Verdict]) -> RenderableType:
    """The claims of a figure in a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    view = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    view.add_column("claim", ratio=5)
    view.add_column("claimed", ratio=3)
    view.add_column("ours", ratio=3)
    view.add_column("verdict", no_wrap=True)
    for verdict in verdicts:
        claim = Text(verdict.claim.quantity)
        if verdict.claim.source:
            claim.append(f" ({verdict.claim.source})", style="dim")
        claimed = "–" if verdict.claim.region is None else verdict.claim.region.text
        word = Text(verdict.verdict.replace("_", " "), style=_STYLES[verdict.verdict])
        if verdict.claim.recalled:
            word.append("\n(recalled)", style="dim")
        view.add_row(claim, claimed, verdict.ours, word)
    return view


def _reasons(verdicts: Sequence[Verdict]) -> Iterator[Text]:
    """A paragraph for each claim that is not reproduced: the reason, and the results of other programs."""
    from rich.text import Text

    from forebay.papers.claims import reason

    for verdict in verdicts:
        if verdict.verdict != "reproduced":
            text = Text(f"{verdict.claim.quantity}: ", style="italic")
            yield text.append(reason(verdict.why, verdict.claim.evidence), style="not italic dim")


def summary(gallery: Gallery) -> str:
    """The number of claims by verdict, in a line."""
    from forebay.text.formatting import counted

    counts = gallery.counts()
    said = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
    recalled = f"; {gallery.recalled} recalled, not counted" if gallery.recalled else ""
    head = f"{counted(len(gallery.drawn), 'figure')}, {counted(sum(counts.values()), 'claim')}"
    return f"{head}: {said}{recalled}"
