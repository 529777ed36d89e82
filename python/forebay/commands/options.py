"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["AS_JSON", "FILE", "JOBS", "PICTURES_OUT", "REPLICATIONS", "SEED", "SET"]

FILE = click.argument("file", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key, as in link.buffer=100p. Repeatable.",
)
SEED = click.option("--seed", type=click.IntRange(min=0), help="Instead of the scenario's own.")
JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Threads; all cores by default. Never changes a result.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")
REPLICATIONS = click.option(
    "--replications", type=click.IntRange(min=1, max=100_000), help="Instead of the scenario's own."
)
PICTURES_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Directory of the picture and the JSON; the current one by default.",
)
