"""`run`: one scenario on one engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forebay.commands.options import AS_JSON, FILE, JOBS, REPLICATIONS, SEED, SET
from forebay.commands.terminal import progress_bar, show
from forebay.errors import InputError

if TYPE_CHECKING:
    from forebay.report import Report
    from forebay.scenario import Progress, Scenario

__all__ = ["run"]


@click.command()
@FILE
@click.option("--engine", default="packet", show_default=True, help="packet, fluid or closed_form.")
@click.option("--model", help="The closed-form model to use, instead of the one that fits the scenario.")
@SET
@SEED
@REPLICATIONS
@click.option(
    "--precision",
    multiple=True,
    metavar="[METRIC=]X",
    help="Replications until the half width is this small: 1%, loss_rate=5%, queue_delay_p99=0.5ms. Repeatable.",
)
@click.option(
    "--batches",
    type=int,
    metavar="N",
    help="One run, its utilization and mean queue with intervals from N batches of it, as in 20.",
)
@click.option(
    "--trace",
    "trace_to",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write what was recorded here.",
)
@click.option(
    "--fit-synchronization",
    "--fit-synchronisation",
    "fit",
    is_flag=True,
    help="Fluid engine: let as many flows lose together as the packet engine measures.",
)
@JOBS
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
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run one scenario on one engine."""
    from forebay.scenario import Scenario

    scenario = Scenario.load(file, overrides)
    if fit:
        scenario = _fitted(scenario, engine, seed=seed, quiet=as_json)
    wanted = Wanted(engine, model, seed, replications, precision, batches, trace_to is not None, jobs)
    wanted.check()
    with progress_bar("running", quiet=as_json) as progress:
        report = _report(scenario, wanted, progress)
    if trace_to is not None:
        from forebay.measurement.traces import write_traces

        for path in write_traces(report, trace_to):
            click.echo(f"wrote {path}", err=True)
    if as_json:
        click.echo(report.to_json(indent=2))
    else:
        from forebay.views.tables import report_view

        show(report_view(report, scenario.title or str(file)))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options ask of a run."""

    engine: str
    model: str | None
    seed: int | None
    replications: int | None
    precision: tuple[str, ...]
    batches: int | None
    traces: bool
    jobs: int | None

    def check(self) -> None:
        """Refuse what contradicts itself."""
        from forebay import _core

        if self.model is not None:
            choosing = [known.name for known in _core.engines() if known.models]
            if self.engine not in choosing:
                allowed = f"with --engine {', '.join(choosing)}"
                raise InputError(f"--model: found beside --engine {self.engine}; allowed: {allowed}")
        counted = self.replications is not None or self.traces
        if self.precision and counted:
            raise InputError("--precision: found beside --replications or --trace; allowed: one of them")
        if self.batches is not None and (self.precision or counted):
            raise InputError("--batches: found beside --precision, --replications or --trace; allowed: one of them")


def _fitted(scenario: Scenario, engine: str, *, seed: int | None, quiet: bool) -> Scenario:
    """The scenario with the count law of the packet engine's losses."""
    from forebay.measurement.synchronisation import fit_synchronization

    if engine != "fluid":
        raise InputError(f"--fit-synchronization: found beside --engine {engine}; allowed: with --engine fluid")
    with progress_bar("fitting", quiet=quiet) as progress:
        fitted = fit_synchronization(scenario, seed=seed, progress=progress)
    click.echo(
        f"fitted to {fitted.events} congestion events of the packet engine: "
        f"{100 * fitted.fraction:.1f} % of {fitted.flows} flows lose in one",
        err=True,
    )
    for warning in fitted.warnings:
        click.echo(f"warning: {warning}", err=True)
    return fitted.scenario


def _report(scenario: Scenario, wanted: Wanted, progress: Progress | None) -> Report:
    """Run in batches, to a precision, or as often as was asked for."""
    if wanted.batches is not None:
        from forebay.measurement.batches import run_in_batches

        return run_in_batches(scenario, wanted.engine, batches=wanted.batches, seed=wanted.seed)
    if wanted.precision:
        from forebay.measurement.precision import Precision, run_to_precision

        goals = [Precision.parse(text) for text in wanted.precision]
        return run_to_precision(
            scenario,
            goals,
            wanted.engine,
            seed=wanted.seed,
            jobs=wanted.jobs,
            progress=progress,
            model=wanted.model,
        )
    return scenario.run(
        wanted.engine,
        seed=wanted.seed,
        replications=wanted.replications,
        jobs=wanted.jobs,
        progress=progress,
        traces=wanted.traces,
        model=wanted.model,
    )
