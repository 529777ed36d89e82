"""`reproduce`: published figures from forebay's own runs, a verdict on each claim, pictures and one HTML page."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.errors import ForebayError, InputError
from forebay.extras import need
from forebay.measurement.cluster import Cluster, connected
from forebay.papers import catalog
from forebay.papers.catalog import Figure, Paper
from forebay.papers.gallery import FILE, Drawn, Gallery, earlier_figures
from forebay.scenario import threads
from forebay.storage.files import write_atomically
from forebay.storage.locks import exclusive_in
from forebay.sweeps.axes import Axis, cells

if TYPE_CHECKING:
    from forebay.papers.catalog import Run
    from forebay.papers.results import Results

__all__ = ["CostEstimate", "estimate", "reproduce"]

#: Called with the finished and the total seconds of estimated work, and with the work in progress.
FigureProgress = Callable[[float, float, str], object]

#: Core seconds that drawing one picture takes.
PICTURE_S = 0.8


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The estimated cost of a reproduction, before it begins.

    Attributes
    ----------
    figures, claims : int
    core_s : float
        Seconds of one core, at the measured speed.
    packets_per_core_s : float
        Measured speed, in packets per second of one core.
    """

    figures: int
    claims: int
    core_s: float
    packets_per_core_s: float


def _needed(paper: Paper, figures: list[Figure], *, quick: bool) -> dict[str, Run]:
    """The runs of some figures of a paper, each once."""
    runs = paper.runs(quick=quick)
    names = [name for figure in figures for name in figure.runs]
    return {name: runs[name] for name in dict.fromkeys(names) if name in runs}


def estimate(wanted: str, *, quick: bool = False, folder: Path = catalog.FOLDER) -> CostEstimate:
    """Estimate the cost of `reproduce` if nothing were finished yet."""
    from forebay.papers import running

    speed = running.speed()
    chosen = catalog.select(wanted, folder)
    figures = [figure for _, each in chosen for figure in each]
    runs = [run for paper, each in chosen for run in _needed(paper, each, quick=quick).values()]
    core_s = sum(running.cost(run, speed) for run in runs) + PICTURE_S * len(figures)
    return CostEstimate(len(figures), sum(len(figure.claims) for figure in figures), core_s, speed)


def reproduce(
    wanted: str = "all",
    *,
    out: str | os.PathLike[str] = "out/gallery",
    quick: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: FigureProgress | None = None,
    folder: Path = catalog.FOLDER,
    tell: Callable[[str], object] = lambda _line: None,
) -> Gallery:
    """Run, judge and draw published figures.

    Parameters
    ----------
    wanted : str
        "all", a paper such as "auge" or a figure such as "auge/fig3".
    out : path-like
        Folder of results, pictures and the page. Finished runs are not repeated, and earlier figures stay on the page.
    quick : bool
        The coarse version: shorter runs, fewer buffers and replications.
    jobs : int, optional
        Threads; no number depends on it.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers run everything in place of this machine's threads.
    progress : callable, optional
        Called with the finished and the total work, in estimated core seconds, and with the work in progress.
    folder : Path
        Folder of the papers.
    tell : callable, optional
        Called with a line about damage in the gallery's folder.

    Returns
    -------
    Gallery

    Raises
    ------
    InputError
        If a paper or figure is unknown, or if a folder cannot be written.
    MissingPackageError
        If polars or matplotlib is not installed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gallery = forebay.reproduce("avrachenkov/fig4", quick=True, out=folder)
    >>> [each.paper.name for each in gallery.drawn]
    ['avrachenkov']
    """
    need("polars", "matplotlib")
    from forebay.papers import running
    from forebay.papers.page import write_page
    from forebay.papers.results import Results

    threads(jobs)
    target = Path(out)
    chosen = catalog.select(wanted, folder)
    work = [(paper, figure) for paper, figures in chosen for figure in figures]
    needed = {paper.name: _needed(paper, figures, quick=quick) for paper, figures in chosen}
    costs = {(name, run.name): running.cost(run) for name, runs in needed.items() for run in runs.values()}
    total = sum(costs.values()) + PICTURE_S * len(work)
    done = 0.0
    drawn: list[Drawn] = []
    seen: set[tuple[str, str]] = set()
    failed: dict[str, str] = {}
    try:
        with connected(scheduler) as cluster, _gallery(target):
            for paper, figure in work:
                fresh = [name for name in figure.runs if name in needed[paper.name] and (paper.name, name) not in seen]
                seen |= {(paper.name, name) for name in fresh}

                def advance(part: float, _all: float, before: float = done, name: str = figure.id) -> None:
                    if progress is not None:
                        progress(before + part, total, name)

                failed |= running.perform(
                    [needed[paper.name][name] for name in fresh],
                    target,
                    jobs=jobs,
                    cluster=cluster,
                    progress=advance,
                    say=tell,
                )
                done += sum(costs[paper.name, name] for name in fresh)
                left_out = [name for name in figure.runs if name not in needed[paper.name]]
                results = Results(target, needed[paper.name], failed, left_out)
                link = _link(needed[paper.name][name] for name in figure.runs if name in needed[paper.name])
                drawn.append(dataclasses.replace(_draw(paper, figure, results, target, link), quick=quick))
                done += PICTURE_S
                advance(0.0, total, done)
            papers = {paper.name: paper for paper, _ in catalog.select("all", folder)}
            redrawn = {each.figure.id for each in drawn}
            earlier = (each for each in earlier_figures(target, papers, tell) if each.figure.id not in redrawn)
            gallery = Gallery(tuple(drawn), quick, target / "gallery.html", tuple(earlier))
            all_figures = gallery.all_figures()
            write_page(all_figures)
            write_atomically(target / FILE, all_figures.to_json(indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None
    return gallery


@contextmanager
def _gallery(target: Path) -> Iterator[None]:
    """Work alone in the gallery's folder, which is made if it is missing."""
    target.mkdir(parents=True, exist_ok=True)
    with exclusive_in(target, "a gallery"):
        yield


def _link(runs: Iterable[Run]) -> str:
    """The common part of the links of all runs of a figure, in a line; empty if only formulas draw it."""
    from forebay.papers.running import scenario_of
    from forebay.views.headline import common, headline

    links = []
    for run in runs:
        scenario = scenario_of(run)
        grid = list(cells([Axis.parse(axis) for axis in run.over]))
        # The values that an axis changes differ between its ends.
        for cell in (grid[0], grid[-1]):
            links.append(headline(scenario.changed(*cell.overrides).resolved, otherwise="").link)
    return common(links)


def _draw(paper: Paper, figure: Figure, results: Results, out: Path, link: str) -> Drawn:
    """Judge a figure's claims, then draw it; a run that failed costs its own figure only."""
    from forebay.papers import drawing
    from forebay.views import plots

    verdicts = tuple(results.judge(claim) for claim in figure.claims)
    module = import_module(f"forebay.papers.{paper.name}.drawing")
    draw = getattr(module, figure.name.replace("-", "_"))
    try:
        picture = draw(results, figure)
    except InputError:
        raise
    except ForebayError as error:
        return Drawn(paper, figure, verdicts, None, str(error))
    drawing.complete(picture, link, verdicts)
    _, png = reversed(plots.save_both(picture, out / paper.name / figure.name))
    return Drawn(paper, figure, verdicts, png)
