"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.values import SCENARIO, SETTING, OutputFolder, Whole

__all__ = ["AS_JSON", "FILE", "JOBS", "PICTURES_OUT", "REPLICATIONS", "SEED", "SET"]

FILE = click.argument("file", type=SCENARIO)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    type=SETTING,
    metavar="KEY=VALUE",
    help="Change a key of the scenario, as in link.buffer=100p. May be repeated.",
)
SEED = click.option("--seed", type=Whole(0, 2**63 - 1), help="Use this seed instead of the scenario's own.")
JOBS = click.option(
    "--jobs", type=Whole(1, 4096), help="Run on this many threads; all cores by default. Results do not depend on it."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output and nothing else.")
REPLICATIONS = click.option(
    "--replications", type=Whole(1, 100_000), help="Run this many replications instead of the scenario's own number."
)
PICTURES_OUT = click.option(
    "--out",
    type=OutputFolder(),
    default=Path(),
    help="Write the picture and the JSON into this directory; the current one by default.",
)
