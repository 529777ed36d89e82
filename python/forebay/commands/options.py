"""Arguments and options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from forebay.commands.values import ENGINE, GOAL, SCENARIO, SETTING, IntegerValue, OutputFile, OutputFolder, Size, Time
from forebay.inputs.validation import MOST_JOBS, MOST_REPLICATIONS, MOST_SEED

__all__ = [
    "ALLOW_CODE",
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


def _consent(context: click.Context, option: click.Parameter, allowed: bool) -> None:  # noqa: ARG001
    """Let the command run the code of scenarios, until it ends."""
    if allowed:
        from forebay.algorithms.code_files import allowing

        context.with_resource(allowing(allowed))


FILE = click.argument("file", type=SCENARIO)
ALLOW_CODE = click.option(
    "--allow-code",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_consent,
    help="Run the code that the scenario names for its algorithms: Python classes and WebAssembly modules.",
)
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    type=SETTING,
    metavar="KEY=VALUE",
    help="Set a key, as in link.buffer=100p. May be repeated.",
)
SEED = click.option("--seed", type=IntegerValue(0, MOST_SEED), help="Use this seed, not the scenario's.")
JOBS = click.option(
    "--jobs",
    type=IntegerValue(1, MOST_JOBS),
    help="Use this many threads; by default all cores.",
)


SCHEDULER = click.option("--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler.")


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
    help="Limit the memory of all simultaneous runs; by default 4GB. A run that reaches the limit ends. A run that "
    "may need more than twice the limit does not start.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
REPLICATIONS = click.option(
    "--replications",
    type=IntegerValue(1, MOST_REPLICATIONS),
    help="Run this many replications, not the scenario's number.",
)
RESULTS_OUT = click.option(
    "--out",
    type=OutputFolder(),
    metavar="DIR",
    help="Write the picture (PNG, SVG) and the JSON here.",
)
PICTURE = click.option(
    "--picture",
    type=OutputFile(".png", ".svg"),
    metavar="FILE",
    help="Write only the picture: a name in .png or .svg.",
)
#: Files are written on request only, so the option has no effect; scripts for 0.2.0 still pass it.
NO_PICTURE = click.option("--no-picture", is_flag=True, hidden=True, expose_value=False)
MEASURED_BY = click.option(
    "--engine",
    default="packet",
    show_default=True,
    type=ENGINE,
    help="Simulate with this engine: packet, fluid or kernel.",
)
JITTER = click.option(
    "--jitter",
    is_flag=True,
    help="Remove phase effects, if there are any: vary each round trip by up to one packet time and stagger the "
    "starts.",
)


def goals(action: str) -> Callable[[Function], Function]:
    """`--goal`; the help begins with the action of the verb, such as "Meet"."""
    return click.option(
        "--goal",
        "goals",
        multiple=True,
        type=GOAL,
        metavar="GOAL",
        help=f"{action} this goal, such as 'loss_rate<=1%', instead of the file's goal for the metric. May be "
        "repeated.",
    )


def within(result: str) -> Callable[[Function], Function]:
    """`--within`, which ends the verb early with this result."""
    return click.option(
        "--within",
        type=Time(),
        metavar="TIME",
        help=f"Stop after this time, as in 30s, and print {result} so far. The same command continues later.",
    )


def fresh(noun: str) -> Callable[[Function], Function]:
    """`--fresh`, for a verb whose interrupted runs are called by this noun."""
    return click.option(
        "--fresh",
        is_flag=True,
        help=f"Start a new {noun}: neither use nor store runs.",
    )
