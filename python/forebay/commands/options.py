"""Arguments and options that several verbs share."""

from __future__ import annotations

import click

from forebay.bounds import MOST_JOBS, MOST_REPLICATIONS, MOST_SEED
from forebay.commands.values import SCENARIO, SETTING, OutputFile, OutputFolder, Size, Whole

__all__ = [
    "AS_JSON",
    "FILE",
    "JOBS",
    "MEMORY",
    "NO_PICTURE",
    "PICTURE",
    "REPLICATIONS",
    "RESULTS_OUT",
    "SCHEDULER",
    "SEED",
    "SET",
]

FILE = click.argument("file", type=SCENARIO)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    type=SETTING,
    metavar="KEY=VALUE",
    help="Change a key of the scenario, as in link.buffer=100p. May be repeated.",
)
SEED = click.option("--seed", type=Whole(0, MOST_SEED), help="Use this seed instead of the scenario's own.")
JOBS = click.option(
    "--jobs",
    type=Whole(1, MOST_JOBS),
    help="Run on this many threads; all cores by default. Results do not depend on it.",
)


SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS", help="Run on the workers of this Dask scheduler; results do not depend on it."
)


def _allow(context: click.Context, option: click.Parameter, size: int | None) -> None:  # noqa: ARG001
    """Allow the runs of this process so much memory together."""
    if size is not None:
        from forebay import _core

        _core.allow_memory(size)


MEMORY = click.option(
    "--memory",
    type=Size(),
    expose_value=False,
    callback=_allow,
    help="Allow the runs side by side this much memory together, as in 16GB; 4GB by default. A run that may need more "
    "than twice as much is refused before it begins; a run that reaches the limit ends.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output and nothing else.")
REPLICATIONS = click.option(
    "--replications",
    type=Whole(1, MOST_REPLICATIONS),
    help="Run this many replications instead of the scenario's own number.",
)
RESULTS_OUT = click.option(
    "--out",
    type=OutputFolder(),
    metavar="DIR",
    help="Write the picture (PNG and SVG) and the JSON into this directory.",
)
PICTURE = click.option(
    "--picture",
    type=OutputFile(".png", ".svg"),
    metavar="FILE.png|.svg",
    help="Write the picture alone, as PNG or SVG by the name's ending.",
)
#: Files are written on request only, so that it asks for nothing; scripts of 0.2.0 give it.
NO_PICTURE = click.option("--no-picture", is_flag=True, hidden=True, expose_value=False)
