"""`reproduce`: published figures, run, judged and drawn."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.options import AS_JSON, JOBS
from forebay.commands.terminal import show

__all__ = ["reproduce"]


@click.command()
@click.argument("what", default="list")
@click.option("--quick", is_flag=True, help="The coarse version: shorter runs, fewer buffers and replications.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/gallery"),
    show_default=True,
    help="Results, pictures and the HTML page; continued where they exist.",
)
@JOBS
@AS_JSON
def reproduce(what: str, quick: bool, out: Path, jobs: int | None, as_json: bool) -> None:
    """Published figures, reproduced and judged. WHAT is list, all, a PAPER or PAPER/FIGURE."""
    from forebay.papers import view
    from forebay.papers.reproduction import estimate
    from forebay.papers.reproduction import reproduce as run_gallery
    from forebay.scenario import threads

    if what == "list":
        click.echo(view.listing())
        return
    if not as_json:
        click.echo(view.announcement(estimate(what, quick=quick), threads(jobs)), err=True)
    with view.progress(quiet=as_json) as progress:
        found = run_gallery(what, out=out, quick=quick, jobs=jobs, progress=progress)
    if as_json:
        click.echo(found.to_json(indent=2))
    else:
        show(view.table(found))
        click.echo(f"wrote {found.page}")
