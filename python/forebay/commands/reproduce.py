"""`reproduce`: run published figures, test the papers' claims and draw the results."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.options import AS_JSON, JOBS, SCHEDULER
from forebay.commands.streams import print_note, say, say_json, say_lines
from forebay.commands.terminal import show
from forebay.commands.values import FIGURE, OutputFolder
from forebay.commands.verb import check_address_space, verb
from forebay.storage.files import check_folder

__all__ = ["reproduce"]


@verb(
    ("reproduce list", "List papers and figures:"),
    ("reproduce auge/fig3 --quick", "Reproduce one figure with shorter runs:"),
)
@click.argument("what", default="list", type=FIGURE)
@click.option("--quick", is_flag=True, help="Use shorter runs, fewer buffers and fewer replications.")
@click.option(
    "--out",
    type=OutputFolder(),
    default=Path("out/gallery"),
    show_default=True,
    help="Directory of results, pictures and the page; finished runs in it are used.",
)
@JOBS
@SCHEDULER
@AS_JSON
def reproduce(what: str, quick: bool, out: Path, jobs: int | None, scheduler: str | None, as_json: bool) -> None:
    """Reproduce published figures and test the papers' claims.

    WHAT is list, all, the name of a paper, or PAPER/FIGURE.
    """
    from forebay.extras import need
    from forebay.measurement.cluster import connected
    from forebay.papers import view
    from forebay.papers.reproduction import estimate
    from forebay.papers.reproduction import reproduce as run_gallery
    from forebay.scenario import threads

    if what == "list":
        if as_json:
            say_json(view.listing_json())
        else:
            say_lines(view.listing())
        return
    check_address_space()
    need("polars", "matplotlib")
    check_folder(out, "out")
    with connected(scheduler) as cluster:
        if not as_json:
            cores = threads(jobs) if cluster is None else max(1, cluster.threads())
            say(view.announcement(estimate(what, quick=quick), cores), err=True)
        with view.progress(quiet=as_json) as progress:
            found = run_gallery(
                what, out=out, quick=quick, jobs=jobs, scheduler=cluster, progress=progress, tell=print_note
            )
    if as_json:
        say_json(found.to_json(indent=2))
    else:
        show(view.table(found))
        say(f"wrote {found.page}")
