"""`check`: test the goals at the configured buffer, or at each of several; the exit code is the verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forebay.commands.estimate import announced
from forebay.commands.interrupting import continued
from forebay.commands.missing import ASSUME_LOWER_BOUNDS, with_bounds
from forebay.commands.options import (
    ALLOW_CODE,
    AS_JSON,
    FILE,
    JITTER,
    JOBS,
    MEASURED_BY,
    MEMORY,
    SCHEDULER,
    SET,
    fresh,
    goals,
    within,
)
from forebay.commands.sources import source
from forebay.commands.streams import print_note, say_json
from forebay.commands.terminal import progress_bar, show
from forebay.commands.values import IntegerValue, Share
from forebay.commands.verb import verb
from forebay.inputs.validation import MOST_REPLICATIONS

if TYPE_CHECKING:
    from forebay.scenario import Scenario

__all__ = ["EXIT_CODES", "check"]

#: The exit code of each verdict.
EXIT_CODES = {"met": 0, "missed": 1, "undecided": 3}


@verb(
    ("check link.toml", "Test the scenario's goals at its configured buffer:"),
    ("check link.toml --buffer 4.5MB --buffer 9MB", "Test two buffers:"),
    ("check link.toml --goal 'loss_rate<=0.1%' --json", "Test another goal, and print JSON:"),
    refusal="At least one goal is missed, at one of the buffers.",
    codes={0: "Every goal is met at every buffer.", 3: "No goal is missed, but at least one is undecided."},
    heavy=True,
    groups={
        "Question": ("--buffer", "--goal", "--set", "--assume-lower-bounds"),
        "Simulation": ("--engine", "--replications", "--confidence", "--jitter", "--within", "--fresh"),
    },
)
@FILE
@click.option(
    "--buffer",
    "buffers",
    multiple=True,
    metavar="[KEY=]SIZE",
    help="Test this buffer, such as 9MB, instead of the configured one. May be repeated. A key names another buffer, "
    "as "
    "in links.uplink.buffer=100p, or a memory, as in memories.chip.size=16MB.",
)
@goals("Test")
@SET
@ALLOW_CODE
@MEASURED_BY
@click.option(
    "--confidence",
    type=Share(),
    default="95%",
    show_default=True,
    help="Use this one-sided confidence for each verdict.",
)
@click.option(
    "--replications",
    type=IntegerValue(2, MOST_REPLICATIONS),
    help="Run this many replications first; by default as many as the confidence needs, 19 for 95 %. Undecided goals "
    "get up to four times as many.",
)
@ASSUME_LOWER_BOUNDS
@within("the verdicts")
@JITTER
@fresh("check")
@JOBS
@SCHEDULER
@MEMORY
@AS_JSON
def check(
    file: Path, overrides: tuple[str, ...], fresh: bool, as_json: bool, assume_lower_bounds: bool, **options: Any
) -> None:
    """Test each goal at the configured buffer: met, missed or undecided.

    FILE is a scenario in TOML or JSON, - is standard input, and @NAME is a scenario of forebay. With --buffer only the
    given buffers are tested, and the exit code is that of the worst one.
    """
    from forebay.search.checking import check as judge
    from forebay.search.resumption import cache_directory
    from forebay.search.unmeasured import of_bounds

    # Buffers given by --buffer replace the configured one.
    varied = bool(options["buffers"]) and all(_is_of_the_target(each) for each in options["buffers"])
    scenario, taken, _ = with_bounds(source(file), overrides, assume=assume_lower_bounds, varied=varied)
    each_s = _each_s(scenario, options["engine"])
    with continued(is_stored=not fresh), progress_bar("simulating", quiet=as_json, each_s=each_s) as progress:
        least = _least(options)
        shown_progress = progress if as_json else announced(progress, scenario, options, lambda runs: max(runs, least))
        # The remaining options have the same names as the function's parameters.
        report = judge(
            scenario,
            progress=shown_progress,
            resume=None if fresh else cache_directory() / "check",
            tell=print_note,
            known=None if progress is None else progress.say,
            **options,
        )
    report = report.resting_on(of_bounds(taken))
    if as_json:
        say_json(report.to_json(indent=2))
    else:
        from forebay.views.check_text import check_text

        show(check_text(report))
    sys.exit(EXIT_CODES[report.verdict])


def _is_of_the_target(buffer: str) -> bool:
    """Whether a --buffer value is for the target link: a plain size, or a size with the target's key."""
    from forebay.scenario import TARGET

    key, given, _ = buffer.partition("=")
    return not given or key.strip() == TARGET


def _least(options: dict[str, Any]) -> int:
    """The smallest number of runs that a check makes."""
    from forebay.results.statistics import runs_for_confidence

    first: int = options["replications"] or runs_for_confidence(options["confidence"])
    return first * max(1, len(options["buffers"]))


def _each_s(scenario: Scenario, engine: str) -> float | None:
    """Duration of each run in seconds for an engine in real time; None for other engines."""
    from forebay.engines import in_real_time, run_s

    return run_s(scenario.core) if in_real_time(engine) else None
