"""Arguments and options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from forebay.commands.values import ENGINE, GOAL, SCENARIO, SETTING, OutputFile, OutputFolder, Size, Time, Whole
from forebay.inputs.validation import MOST_JOBS, MOST_REPLICATIONS, MOST_SEED

__all__ = [
    "AS_JSON",
    "FILE",
    "JITTER",
    "JOBS",
    "MEASURED_BY",
    "MEMORY",
    "NO_PICTURE",
    "PICTURE",
    "REPLICATIONS",
    "RESULTS_OUT",
    "SCHEDULER",
    "SEED",
    "SET",
    "fresh",
    "goals",
    "within",
]

Function = TypeVar("Function", bound=Callable[..., Any])

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
    """Set the memory limit of all runs of this process together, in bytes."""
    if size is not None:
        from forebay import _core

        _core.allow_memory(size)


MEMORY = click.option(
    "--memory",
    type=Size(),
    expose_value=False,
    callback=_allow,
    help="Limit the memory of all simultaneous runs together, as in 16GB; 4GB by default. A run that may need more "
    "than twice as much is refused before it begins. A run that reaches the limit ends.",
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
#: Files are written on request only, so the option has no effect; scripts for 0.2.0 still pass it.
NO_PICTURE = click.option("--no-picture", is_flag=True, hidden=True, expose_value=False)
MEASURED_BY = click.option(
    "--engine",
    default="packet",
    show_default=True,
    type=ENGINE,
    help="Measure with this engine: packet, fluid, or kernel in real time.",
)
JITTER = click.option(
    "--jitter",
    is_flag=True,
    help="Add up to a packet time of jitter to every round trip and stagger the starts, if flows would move in step.",
)


def goals(action: str) -> Callable[[Function], Function]:
    """`--goal`; the help begins with the action of the verb, such as "Meet"."""
    return click.option(
        "--goal",
        "goals",
        multiple=True,
        type=GOAL,
        metavar="GOAL",
        help=f"{action} this goal, such as 'utilization>=0.99', instead of the file's goal on the same metric. "
        "May be repeated.",
    )


def within(result: str) -> Callable[[Function], Function]:
    """`--within`, which ends the verb early with this result."""
    return click.option(
        "--within",
        type=Time(),
        metavar="TIME",
        help=f"Give {result} so far after this time, as in 30s; the same command goes on from there.",
    )


def fresh(noun: str) -> Callable[[Function], Function]:
    """`--fresh`, for a verb whose interrupted runs are called by this noun."""
    return click.option(
        "--fresh",
        is_flag=True,
        help=f"Ignore the runs of an interrupted {noun}, and keep none for the next.",
    )
