"""`recommend`: the smallest buffer that meets the goals, printed, drawn and as lines for a router."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forebay.commands.options import AS_JSON, FILE, JOBS, PICTURES_OUT, REPLICATIONS, SET
from forebay.commands.terminal import progress_bar, show, writing
from forebay.errors import Interrupted
from forebay.files import write_whole

if TYPE_CHECKING:
    from forebay.search.answer import Recommendation

__all__ = ["recommend"]


@click.command()
@FILE
@click.option(
    "--goal",
    "goals",
    multiple=True,
    metavar="GOAL",
    help="Such as 'utilization>=0.99'; overrides the file's. Repeatable.",
)
@SET
@click.option(
    "--also", multiple=True, metavar="BUFFER", help="Measure this buffer too, as in 20p or 0.5BDP. Repeatable."
)
@click.option("--engine", default="packet", show_default=True, help="What measures: packet or fluid.")
@click.option(
    "--confidence", metavar="SHARE", default="95%", show_default=True, help="One-sided, that the goals hold; or 0.95."
)
@click.option(
    "--resolution", metavar="SHARE", default="5%", show_default=True, help="Relative accuracy of the buffer; or 0.05."
)
@REPLICATIONS
@PICTURES_OUT
@click.option("--no-picture", is_flag=True, help="Write no picture and no JSON.")
@click.option(
    "--report",
    "report_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Also a page to hand on: one file, nothing fetched, interactive pictures, prints on A4.",
)
@click.option(
    "--for",
    "platforms",
    multiple=True,
    metavar="PLATFORM",
    help="Also the whole configuration for linux, openwrt, routeros, sonic, junos, ios-xr, ios-xe, nx-os, eos or sros. "
    "Repeatable.",
)
@click.option(
    "--fraction",
    metavar="SHARE",
    help="All goals in this share of the draws, as in 90%, instead of on average over them.",
)
@click.option("--sensitivity", is_flag=True, help="Also with flows, round trips and load 20 % lower and higher.")
@click.option(
    "--pareto", metavar="A,B", help="Also the trade-off between two metrics, as in utilization,queue_delay_p99."
)
@click.option(
    "--over",
    metavar="KEY",
    default="link.buffer",
    show_default=True,
    help="The buffer to size while others stay: a class's, as in link.queue.classes.voice.buffer, or another link's.",
)
@click.option(
    "--jitter",
    is_flag=True,
    help="A packet time of jitter on every round trip and staggered starts, where flows would move in step.",
)
@click.option(
    "--fresh", is_flag=True, help="Do not go on where an interrupted search stopped, and keep nothing for the next."
)
@JOBS
@AS_JSON
def recommend(
    file: Path,
    overrides: tuple[str, ...],
    out: Path,
    no_picture: bool,
    report_to: Path | None,
    confidence: str,
    resolution: str,
    fraction: str | None,
    fresh: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Find the smallest buffer that meets the goals, beside what every rule says."""
    from forebay.formatting import share
    from forebay.scenario import Scenario
    from forebay.search.recommendation import recommend as find
    from forebay.search.resumption import cache_directory

    scenario = Scenario.load(file, overrides)
    with _going_on(kept=not fresh), progress_bar("simulating", quiet=as_json) as progress:
        # The other options have the names that the function has.
        answer = find(
            scenario,
            confidence=share("--confidence", confidence),
            resolution=share("--resolution", resolution),
            fraction=None if fraction is None else share("--fraction", fraction),
            progress=progress,
            resume=None if fresh else cache_directory() / "recommend",
            tell=lambda line: click.echo(f"forebay: {line}", err=True),
            **asked,
        )
    written = [] if no_picture else _write_pictures(answer, out, file.stem)
    if report_to is not None:
        _write_page(answer, report_to, file.read_text(encoding="utf-8"))
        written.append(report_to)
    _tell(answer, written, as_json=as_json)
    if not answer.feasible:
        sys.exit(1)


@contextmanager
def _going_on(*, kept: bool) -> Iterator[None]:
    """Say of an interrupted search that what is done is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if not kept:
            raise
        raise Interrupted("interrupted; the same command goes on from here") from None


def _write_pictures(answer: Recommendation, out: Path, name: str) -> list[Path]:
    """Write the pictures and the JSON beside them; the trade-off has a picture of its own."""
    from forebay.views import plots

    stem = out / f"{name}-recommendation"
    with writing(stem):
        written = plots.save_both(plots.draw_recommendation(answer), stem)
        if answer.pareto is not None:
            written += plots.save_both(plots.draw_front(answer), out / f"{name}-pareto")
        write_whole(stem.with_suffix(".json"), answer.to_json(indent=2) + "\n")
    return [*written, stem.with_suffix(".json")]


def _write_page(answer: Recommendation, path: Path, source: str) -> None:
    """Write the page to hand on, with the scenario's text and the command that was given."""
    from forebay.views.webpage import recommendation_page

    page = recommendation_page(answer, source=source, command=shlex.join(["forebay", *sys.argv[1:]]))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page)


def _tell(answer: Recommendation, written: list[Path], *, as_json: bool) -> None:
    """Print the answer, and what was written unless somebody reads JSON."""
    if as_json:
        click.echo(answer.to_json(indent=2))
        return
    from forebay.views.tables import recommendation_view

    show(recommendation_view(answer))
    for path in written:
        click.echo(f"wrote {path}")
