"""`run`: simulate one scenario on one engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forebay.commands.estimate import Work, announced_soon, one_run
from forebay.commands.options import ALLOW_CODE, AS_JSON, FILE, JOBS, MEMORY, REPLICATIONS, SEED, SET
from forebay.commands.sources import print_assumptions, source
from forebay.commands.streams import say, say_json
from forebay.commands.terminal import afterwards, progress_bar, show
from forebay.commands.values import ENGINE, MODEL, IntegerValue, OutputFolder
from forebay.commands.verb import OtherSpelling, check_address_space, verb
from forebay.errors import InputError
from forebay.storage.files import check_file

if TYPE_CHECKING:
    from forebay.results.report import Report
    from forebay.scenario import Progress, Scenario

__all__ = ["run"]

#: Number of threads above which a run needs more address space than formulas and engines do.
MANY = 16


@verb(
    ("run link.toml", "Simulate a scenario and print its metrics:"),
    ("run link.toml --set link.buffer=20p --replications 8", "Simulate it with another buffer:"),
    ("run - --engine fluid --json < scenario.json", "Read the scenario from standard input and print JSON:"),
    groups={
        "Simulation": ("--engine", "--model", "--set", "--seed", "--fit-synchronisation"),
        "Number of runs": ("--replications", "--precision", "--batches"),
    },
)
@FILE
@click.option(
    "--engine",
    default="packet",
    show_default=True,
    type=ENGINE,
    help="Use this engine: packet, fluid, closed_form or kernel.",
)
@click.option("--model", type=MODEL, help="Use this closed-form model; by default one that fits.")
@SET
@ALLOW_CODE
@SEED
@REPLICATIONS
@click.option(
    "--precision",
    multiple=True,
    metavar="[METRIC=]X",
    help="Run replications until the half width of the confidence interval is at most X: 1%, loss_rate=5%, "
    "queue_delay_p99=0.5ms. May be repeated.",
)
@click.option(
    "--batches",
    type=IntegerValue(5, 1000),
    help="Run once, and compute intervals of utilization and mean queue from N parts of the run, such as 20.",
)
@click.option("--trace", "trace_to", type=OutputFolder(), help="Write the recorded traces into this directory.")
@click.option(
    "--fit-synchronization",
    "--fit-synchronisation",
    "fit",
    cls=OtherSpelling,
    is_flag=True,
    help="Give the fluid engine the synchronization of losses that the packet engine measures.",
)
@click.option("--verbose", is_flag=True, help="Print every metric of the link and of each group.")
@JOBS
@MEMORY
@AS_JSON
def run(
    file: Path,
    engine: str,
    model: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    precision: tuple[str, ...],
    batches: int | None,
    trace_to: Path | None,
    fit: bool,
    verbose: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run a scenario on one engine and print the measured metrics.

    FILE is a scenario in TOML, or in JSON if its name ends in .json. - is standard input, and @NAME is a scenario of
    forebay.
    """
    if trace_to is not None or precision or batches or fit or (jobs or 1) > MANY:
        check_address_space()
    given = source(file)
    scenario = given.scenario(overrides)
    print_assumptions(scenario)
    if trace_to is not None:
        from forebay.extras import need
        from forebay.measurement.traces import FILES

        need("polars")
        for name in FILES:
            check_file(trace_to / name, "trace_to")
    options = RunOptions(engine, model, seed, replications, precision, batches, trace_to is not None, jobs)
    options.check()
    if fit:
        scenario = _fitted(scenario, engine, seed=seed, quiet=as_json)
    each_s = _each_s(scenario, options, quiet=as_json)
    announced = announced_soon(None if as_json else _work(scenario, options), jobs)
    runs = options.runs(scenario)
    with announced, progress_bar("running", quiet=as_json, each_s=each_s, expected=runs) as progress:
        report = _report(scenario, options, progress)
    with afterwards(lambda: _print_report(report, scenario, given.name, as_json=as_json, verbose=verbose)):
        if trace_to is not None:
            from forebay.measurement.traces import write_traces

            for path in write_traces(report, trace_to):
                say(f"wrote {path}", err=True)


def _print_report(report: Report, scenario: Scenario, name: str, *, as_json: bool, verbose: bool) -> None:
    """Print the measured values."""
    if as_json:
        say_json(report.to_json(indent=2))
    else:
        from forebay.views.reports import report_view

        show(report_view(report, scenario, name, verbose=verbose))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run."""

    engine: str
    model: str | None
    seed: int | None
    replications: int | None
    precision: tuple[str, ...]
    batches: int | None
    traces: bool
    jobs: int | None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        from forebay import _core

        engines = {known.name: known for known in _core.engines()}
        if self.engine not in engines:
            raise InputError(_core.unknown("engine", self.engine, list(engines)), "engine")
        if self.model is not None:
            choosing = [known.name for known in engines.values() if known.models]
            if self.engine not in choosing:
                allowed = f"with --engine {', '.join(choosing)}"
                raise InputError(f"not available with --engine {self.engine}; allowed: {allowed}", "model")
        counted = self.replications is not None or self.traces
        if self.precision and counted:
            raise InputError("cannot be combined with --replications or --trace; allowed: one of them", "precision")
        if self.batches is not None and (self.precision or counted):
            raise InputError(
                "cannot be combined with --precision, --replications or --trace; allowed: one of them", "batches"
            )

    def runs(self, scenario: Scenario) -> int | None:
        """Number of replications in all; None if a precision determines it."""
        if self.precision:
            return None
        if self.batches is not None:
            return 1
        return scenario.core.replications if self.replications is None else self.replications


def _work(scenario: Scenario, options: RunOptions) -> Work | None:
    """The work of the packet engine; None for other engines, and if the number of runs is unknown."""
    runs, each = options.runs(scenario), one_run(scenario, options.engine)
    return None if runs is None or each is None else Work(runs, each)


def _each_s(scenario: Scenario, options: RunOptions, *, quiet: bool) -> float | None:
    """Duration of each run in seconds, also announced, for an engine in real time; None for other engines."""
    from forebay.engines import check_exclusive, forecast, in_real_time, run_s

    if not in_real_time(options.engine):
        return None
    check_exclusive(options.engine, jobs=options.jobs)
    each_s = run_s(scenario.core)
    if not quiet:
        say(forecast(options.engine, each_s, options.runs(scenario)), err=True)
    return each_s


def _fitted(scenario: Scenario, engine: str, *, seed: int | None, quiet: bool) -> Scenario:
    """The scenario with the packet engine's distribution of the number of flows that lose together."""
    from forebay.engines import assumes_losses
    from forebay.measurement.synchronization import fit_synchronization

    if not assumes_losses(engine):
        raise InputError(f"not available with --engine {engine}; allowed: with --engine fluid", "fit")
    from forebay.text.formatting import counted

    with progress_bar("fitting", quiet=quiet) as progress:
        fitted = fit_synchronization(scenario, seed=seed, progress=progress)
    say(
        f"synchronization from {counted(fitted.events, 'congestion event')} of the packet engine: "
        f"{100 * fitted.fraction:.1f} % of {counted(fitted.flows, 'flow')} lose in an event",
        err=True,
    )
    for warning in fitted.warnings:
        say(f"warning: {warning}", err=True)
    return fitted.scenario


def _report(scenario: Scenario, options: RunOptions, progress: Progress | None) -> Report:
    """Run in batches, to a precision, or a fixed number of replications."""
    if options.batches is not None:
        from forebay.measurement.batches import run_in_batches

        return run_in_batches(scenario, options.engine, batches=options.batches, seed=options.seed)
    if options.precision:
        from forebay.measurement.precision import Precision, run_to_precision

        goals = [Precision.parse(text) for text in options.precision]
        return run_to_precision(
            scenario,
            goals,
            options.engine,
            seed=options.seed,
            jobs=options.jobs,
            progress=progress,
            model=options.model,
        )
    return scenario.run(
        options.engine,
        seed=options.seed,
        replications=options.replications,
        jobs=options.jobs,
        progress=progress,
        traces=options.traces,
        model=options.model,
    )
