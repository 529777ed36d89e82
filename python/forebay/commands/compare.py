"""`compare`: all engines and rules side by side, printed and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from forebay.commands.drawing import draws
from forebay.commands.options import AS_JSON, FILE, JOBS, MEMORY, PICTURES_OUT, REPLICATIONS, SET
from forebay.commands.sources import source
from forebay.commands.streams import say, say_json
from forebay.commands.terminal import afterwards, progress_bar, show, writing
from forebay.commands.values import ENGINE, Whole
from forebay.commands.verb import verb
from forebay.files import check_file, write_whole

if TYPE_CHECKING:
    from forebay.comparison.answers import Comparison
    from forebay.scenario import Scenario

__all__ = ["compare"]


@verb(
    ("compare link.toml", "Hold every engine and rule against a scenario:"),
    ("compare link.toml --points 0 --no-picture", "At the scenario's own buffer only:"),
    ("compare link.toml --engine kernel", "With real TCP, too, one run at a time:"),
    heavy=True,
)
@FILE
@SET
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=ENGINE,
    help="Ask this engine, too, which runs in real time: kernel. May be repeated.",
)
@REPLICATIONS
@click.option(
    "--points",
    type=Whole(0, 1000),
    help="Ask about this many buffers besides the scenario's own; 0 for none. By default 9, and of engines in real "
    "time none.",
)
@PICTURES_OUT
@click.option("--no-picture", is_flag=True, help="Write no picture and no JSON.")
@JOBS
@MEMORY
@AS_JSON
def compare(
    file: Path,
    overrides: tuple[str, ...],
    engines: tuple[str, ...],
    replications: int | None,
    points: int | None,
    out: Path,
    no_picture: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Hold all engines and rules side by side over a range of buffers: where they disagree, and why.

    FILE is a scenario in TOML or JSON; - reads it from standard input, and @NAME is one that comes with forebay.
    """
    from forebay.comparison.comparison import compare as put_side_by_side

    given = source(file)
    scenario = given.scenario(overrides)
    drawn = not no_picture and points != 0 and draws()
    if not no_picture:
        for ending in (".png", ".svg", ".json"):
            check_file(out / f"{given.stem}-comparison{ending}", "out")
    asked: _Asked = {"engines": tuple(dict.fromkeys(engines)), "replications": replications, "points": points}
    with progress_bar("running", quiet=as_json, each_s=_each_s(scenario, asked, quiet=as_json)) as progress:
        found = put_side_by_side(scenario, jobs=jobs, progress=progress, **asked)
    kept = not no_picture and len(found.points) > 1
    written: list[Path] = []
    with afterwards(lambda: _tell(found, written, as_json=as_json)):
        if kept:
            written += _write_picture(found, out / f"{given.stem}-comparison", drawn=drawn)


class _Asked(TypedDict):
    """What is asked besides the scenario, by the names that the function has."""

    engines: tuple[str, ...]
    replications: int | None
    points: int | None


def _each_s(scenario: Scenario, asked: _Asked, *, quiet: bool) -> float | None:
    """Seconds of each run in real time, of which all are told how long they take; None where there are none."""
    from forebay.comparison.comparison import check_engines, runs_in_real_time
    from forebay.real_time import forecast, run_s

    check_engines(asked["engines"])
    if not asked["engines"]:
        return None
    each_s = run_s(scenario.core)
    if not quiet:
        say(forecast(" and ".join(asked["engines"]), each_s, runs_in_real_time(scenario, **asked)), err=True)
    return each_s


def _tell(found: Comparison, written: list[Path], *, as_json: bool) -> None:
    """Print the answers, and what was written unless somebody reads JSON."""
    if as_json:
        say_json(found.to_json(indent=2))
        return
    from forebay.views.comparison_tables import comparison_view

    show(comparison_view(found))
    for path in written:
        say(f"wrote {path}")


def _write_picture(found: Comparison, stem: Path, *, drawn: bool) -> list[Path]:
    """Write the picture and the JSON beside it."""
    written: list[Path] = []
    with writing(stem):
        stem.parent.mkdir(parents=True, exist_ok=True)
        if drawn:
            from forebay.views import plots
            from forebay.views.comparison_picture import draw_comparison

            written += plots.save_both(draw_comparison(found), stem)
        write_whole(stem.with_suffix(".json"), found.to_json(indent=2) + "\n")
    return [*written, stem.with_suffix(".json")]
