"""`compare`: print the answers of all engines and rules side by side, and draw them on request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from forebay.commands.drawing import ResultFiles
from forebay.commands.estimate import Announced, Work, one_run
from forebay.commands.options import (
    ALLOW_CODE,
    AS_JSON,
    FILE,
    JOBS,
    MEMORY,
    NO_PICTURE,
    PICTURE,
    REPLICATIONS,
    RESULTS_OUT,
    SET,
)
from forebay.commands.sources import print_assumptions, source
from forebay.commands.streams import say, say_json
from forebay.commands.terminal import afterwards, progress_bar, show
from forebay.commands.values import ENGINE, IntegerValue
from forebay.commands.verb import verb
from forebay.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forebay.comparison.answers import Comparison
    from forebay.scenario import Progress, Scenario

__all__ = ["compare"]


@verb(
    ("compare link.toml", "Compare all engines and sizing rules:"),
    ("compare link.toml --points 0", "Compare them at the configured buffer only:"),
    ("compare link.toml --picture compared.png", "Draw the results over the range of buffers:"),
    ("compare link.toml --engine kernel", "Include TCP of Linux, which runs in real time:"),
    heavy=True,
    groups={"Comparison": ("--points", "--engine", "--replications", "--set")},
)
@FILE
@SET
@ALLOW_CODE
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=ENGINE,
    help="Include this engine in real time: kernel. May be repeated.",
)
@REPLICATIONS
@click.option(
    "--points",
    type=IntegerValue(0, 1000),
    help="Compare at this many buffers besides the configured one; by default 9, and 0 for engines in real time.",
)
@RESULTS_OUT
@PICTURE
@NO_PICTURE
@JOBS
@MEMORY
@AS_JSON
def compare(
    file: Path,
    overrides: tuple[str, ...],
    engines: tuple[str, ...],
    replications: int | None,
    points: int | None,
    out: Path | None,
    picture: Path | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Compare all engines and sizing rules over a range of buffers.

    FILE is a scenario in TOML or JSON, - is standard input, and @NAME is a scenario of forebay. The answer says where
    the engines disagree, and why.
    """
    from forebay.comparison.comparison import buffers
    from forebay.comparison.comparison import compare as put_side_by_side

    given = source(file)
    scenario = given.scenario(overrides)
    print_assumptions(scenario)
    several = bool(buffers(scenario, points))
    if picture is not None and not several:
        raise InputError(
            f"found `{picture}` for one buffer; allowed: a picture of several buffers (--points)", "picture"
        )
    files = ResultFiles(f"{given.stem}-comparison", out, picture, pictures=several)
    requested: _Options = {"engines": tuple(dict.fromkeys(engines)), "replications": replications, "points": points}
    with progress_bar("running", quiet=as_json, each_s=_each_s(scenario, requested, quiet=as_json)) as progress:
        shown_progress = progress if as_json or engines else _announced(progress, scenario, requested, jobs)
        found = put_side_by_side(scenario, jobs=jobs, progress=shown_progress, **requested)
    written: list[Path] = []

    def draw() -> Figure:
        from forebay.views.comparison_picture import draw_comparison

        return draw_comparison(found)

    with afterwards(lambda: _print_answers(found, written, as_json=as_json)):
        written += files.write(draw, lambda: found.to_json(indent=2))


class _Options(TypedDict):
    """The options besides the scenario, under the names of the function's parameters."""

    engines: tuple[str, ...]
    replications: int | None
    points: int | None


def _announced(progress: Progress | None, scenario: Scenario, options: _Options, jobs: int | None) -> Progress | None:
    """Progress that also prints an estimate for the packet engine, which takes longest."""
    from forebay.comparison.comparison import buffers, replications_of

    each = one_run(scenario)
    if each is None:
        return progress
    runs = replications_of(scenario, options["replications"]) * (1 + len(buffers(scenario, options["points"])))
    return Announced(progress, lambda _steps: Work(runs, each), jobs)


def _each_s(scenario: Scenario, options: _Options, *, quiet: bool) -> float | None:
    """Duration of each run in seconds, also announced, if engines in real time run; else None."""
    from forebay.comparison.comparison import check_engines, runs_in_real_time
    from forebay.engines import forecast, run_s

    check_engines(options["engines"])
    if not options["engines"]:
        return None
    each_s = run_s(scenario.core)
    if not quiet:
        say(forecast(" and ".join(options["engines"]), each_s, runs_in_real_time(scenario, **options)), err=True)
    return each_s


def _print_answers(found: Comparison, written: list[Path], *, as_json: bool) -> None:
    """Print the answers and the written files, or only JSON."""
    if as_json:
        say_json(found.to_json(indent=2))
        return
    from forebay.views.comparison_tables import comparison_view

    show(comparison_view(found))
    for path in written:
        say(f"wrote {path}")
