"""`sweep`: run a grid of scenarios into a folder; write it as one archive, or replay an archive."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forebay.commands.estimate import announced
from forebay.commands.options import ALLOW_CODE, AS_JSON, JOBS, MEMORY, REPLICATIONS, SCHEDULER, SEED, SET
from forebay.commands.sources import print_assumptions, source
from forebay.commands.streams import print_note, say, say_json
from forebay.commands.terminal import progress_bar, show, writing
from forebay.commands.values import ENGINE, SCENARIO, SETTING, OutputFile, OutputFolder, Readable
from forebay.commands.verb import verb
from forebay.errors import InputError

if TYPE_CHECKING:
    from forebay.sweeps.bundling import Replay
    from forebay.sweeps.sweeping import Sweep

__all__ = ["sweep"]


@verb(
    (
        "sweep link.toml --over link.buffer=0.1BDP..2BDP:8 --out out/link",
        "Run eight buffers, evenly spaced on a logarithmic scale:",
    ),
    (
        "sweep link.toml --over link.buffer=9p --over run.seed=1,2 --out x",
        "Run all combinations of two keys:",
    ),
    refusal="Some runs failed, or a replayed archive gave different numbers.",
    heavy=True,
    groups={
        "Runs": ("--over", "--set", "--engine", "--replications", "--seed"),
        "Archives": ("--bundle", "--replay"),
    },
)
@click.argument("file", type=SCENARIO, required=False)
@click.option(
    "--over",
    multiple=True,
    type=SETTING,
    metavar="AXIS",
    help="Vary a key: KEY=A,B,C, or N values as KEY=A..B:N (logarithmic) or KEY=A..B:Nlin (linear), as in "
    "link.buffer=0.01BDP..2BDP:12. May be repeated.",
)
@SET
@ALLOW_CODE
@click.option(
    "--engine",
    default="packet",
    show_default=True,
    type=ENGINE,
    help="Use this engine, if no --over varies the engine.",
)
@REPLICATIONS
@SEED
@click.option("--out", type=OutputFolder(), help="Directory of the results; finished runs in it are used.")
@click.option(
    "--bundle",
    "bundle_to",
    type=OutputFile(".zip"),
    metavar="FILE.zip",
    help="Also write one archive with the results and the input of the sweep.",
)
@click.option(
    "--replay",
    "replayed",
    type=Readable("an archive as sweep --bundle wrote it"),
    metavar="FILE.zip",
    help="Run an archive again, without FILE and --over, and compare every number.",
)
@JOBS
@SCHEDULER
@MEMORY
@AS_JSON
def sweep(
    file: Path | None,
    over: tuple[str, ...],
    overrides: tuple[str, ...],
    engine: str,
    replications: int | None,
    seed: int | None,
    out: Path | None,
    bundle_to: Path | None,
    replayed: Path | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Run all combinations of keys, and write Parquet tables.

    FILE is a scenario in TOML or JSON, - is standard input, and @NAME is a scenario of forebay. The same command
    continues a sweep that was interrupted.
    """
    from forebay.extras import need
    from forebay.sweeps.sweeping import sweep as run_grid

    if bundle_to is not None:
        need("polars", "matplotlib")
    if replayed is not None:
        if file is not None or over or overrides or bundle_to or replications is not None or seed is not None:
            allowed = "--out, --jobs, --scheduler and --json"
            raise InputError(f"cannot be combined with FILE or options that change it; allowed: {allowed}", "replayed")
        _replay(replayed, as_json=as_json, out=out, **where)
        return
    for name, value in (("FILE", file), ("--over", over), ("--out", out)):
        if not value:
            raise InputError(f"sweep: found no {name}; allowed: FILE, --over AXIS and --out DIR, or --replay FILE.zip")
    assert file is not None
    assert out is not None
    given = source(file)
    scenario = given.scenario(overrides)
    print_assumptions(scenario)
    with progress_bar("sweeping", quiet=as_json) as progress:
        found = run_grid(
            scenario,
            over,
            out,
            engine=engine,
            replications=replications,
            seed=seed,
            progress=progress if as_json else announced(progress, scenario, {**where, "engine": engine}),
            tell=print_note,
            **where,
        )
    if not as_json:
        from forebay.views.heading import heading

        show(heading(scenario, given.name))
    _print_summary(found, out, as_json=as_json)
    if found.failed:
        sys.exit(1)
    if bundle_to is not None:
        _bundle(found, bundle_to, given.text)
        say(f"wrote {bundle_to}", err=as_json)


def _print_summary(found: Sweep, out: Path, *, as_json: bool) -> None:
    """Print how many runs were made and which ones failed."""
    if as_json:
        summary: dict[str, Any] = {
            "folder": str(out),
            "computed": found.computed,
            "reused": found.reused,
            "failed": found.failed,
        }
        summary["damaged"] = list(found.damaged)
        summary["warnings"] = list(found.warnings)
        say_json(json.dumps(summary, indent=2))
        return
    from forebay.text.formatting import counted

    were = "was" if found.reused == 1 else "were"
    say(f"{counted(found.computed, 'run')} computed, {found.reused} {were} there already: {out}/rows.parquet")
    for job, why in list(found.failed.items())[:20]:
        say(f"failed: {job}: {why}")


def _bundle(found: Sweep, path: Path, text: str) -> None:
    """Write a sweep as one archive, with its picture and the scenario's text."""
    from forebay.sweeps.bundling import bundle
    from forebay.views.sweep_picture import draw_sweep

    with writing(path):
        bundle(found, path, draw_sweep, text)


def _replay(path: Path, *, as_json: bool, **where: Any) -> None:
    """Replay a bundle and print whether every number is the same; the exit code is 1 if one is not."""
    from forebay.sweeps.bundling import replay

    with progress_bar("replaying", quiet=as_json) as progress:
        found = replay(path, progress=progress, **where)
    if as_json:
        values = {"compared": found.compared, "differences": found.differences, "notes": found.notes}
        say_json(json.dumps(values, indent=2))
    else:
        _print_differences(found)
    if found.differences:
        sys.exit(1)


def _print_differences(found: Replay) -> None:
    for note in found.notes:
        say(f"note: {note}")
    for line in found.differences[:20]:
        say(f"differs: {line}")
    if len(found.differences) > 20:
        say(f"and {len(found.differences) - 20} more; --json lists them all")
    from forebay.text.formatting import counted

    same = "every number the same to the last bit" if not found.differences else f"{len(found.differences)} differ"
    say(f"{counted(found.compared, 'result')} compared: {same}")
