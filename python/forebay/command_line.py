"""The command `forebay`: reads options, calls the package, prints. Imports wait until a command needs them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from forebay.errors import ForebayError, InputError
from forebay.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from forebay.scenario import Scenario

__all__ = ["main"]

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.argument("file", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key, as in link.buffer=100p. Repeatable.",
)
JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Threads; all cores by default. Never changes a result.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")
REPLICATIONS = click.option(
    "--replications", type=click.IntRange(min=1, max=100_000), help="Instead of the scenario's own."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(None, "--version", package_name="forebay", message="%(prog)s %(version)s")
def cli() -> None:
    """How large should this router's buffer be? Ask with a scenario file."""


@cli.command()
@FILE
@click.option("--engine", default="packet", show_default=True, help="packet, fluid or closed_form.")
@click.option("--model", help="The closed-form model to use, instead of the one that fits the scenario.")
@SET
@click.option("--seed", type=click.IntRange(min=0), help="Instead of the scenario's own.")
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
    from forebay.measurement.cautions import phase_effects
    from forebay.scenario import Scenario

    scenario = Scenario.load(file, overrides)
    if fit:
        scenario = _fitted(scenario, engine, seed=seed, quiet=as_json)
    if model is not None:
        from forebay import _core

        choosing = [known.name for known in _core.engines() if known.models]
        if engine not in choosing:
            raise InputError(f"--model: found beside --engine {engine}; allowed: with --engine {', '.join(choosing)}")
    _check_run_options(bool(precision), batches is not None, replications is not None or trace_to is not None)
    with progress_bar("running", quiet=as_json) as progress:
        if batches is not None:
            from forebay.measurement.batches import run_in_batches

            report = run_in_batches(scenario, engine, batches=batches, seed=seed)
        elif precision:
            from forebay.measurement.precision import Precision, run_to_precision

            wanted = [Precision.parse(text) for text in precision]
            report = run_to_precision(scenario, wanted, engine, seed=seed, jobs=jobs, progress=progress, model=model)
        else:
            report = scenario.run(
                engine,
                seed=seed,
                replications=replications,
                jobs=jobs,
                progress=progress,
                traces=trace_to is not None,
                model=model,
            )
    report.data["warnings"].extend(phase_effects(scenario, report.engine))
    if trace_to is not None:
        from forebay.measurement.traces import write_traces

        for path in write_traces(report, trace_to):
            click.echo(f"wrote {path}", err=True)
    if as_json:
        click.echo(report.to_json(indent=2))
    else:
        from forebay.views.tables import report_view

        show(report_view(report, scenario.title or str(file)))


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


def _check_run_options(precision: bool, batches: bool, replications: bool) -> None:
    """Refuse what contradicts itself; `replications` stands for --trace too."""
    if precision and replications:
        raise InputError("--precision: found beside --replications or --trace; allowed: one of them")
    if batches and (precision or replications):
        raise InputError("--batches: found beside --precision, --replications or --trace; allowed: one of them")


@cli.command()
@FILE
@click.option(
    "--goal",
    "goals",
    multiple=True,
    metavar="GOAL",
    help="Such as 'utilization>=0.99'; overrides the file's. Repeatable.",
)
@SET
@click.option(
    "--also", multiple=True, metavar="BUFFER", help="Measure this buffer too, as in 20p or 0.5BDP. Repeatable."
)
@click.option("--engine", default="packet", show_default=True, help="What measures: packet or fluid.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="One-sided, that the goals hold.")
@click.option("--resolution", type=float, default=0.05, show_default=True, help="Relative accuracy of the buffer.")
@REPLICATIONS
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Directory of the picture and the JSON; the current one by default.",
)
@click.option("--no-picture", is_flag=True, help="Write no picture and no JSON.")
@click.option(
    "--report",
    "report_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Also a page to hand on: one file, nothing fetched, interactive pictures, prints on A4.",
)
@click.option(
    "--for", "system", metavar="SYSTEM", help="Also the lines for ios-xr, ios-xe, junos, eos, sr-os, sonic or linux."
)
@click.option(
    "--fraction",
    metavar="SHARE",
    help="All goals in this share of the draws, as in 90%, instead of on average over them.",
)
@click.option("--sensitivity", is_flag=True, help="Also with flows, round trips and load 20 % lower and higher.")
@click.option(
    "--pareto", metavar="A,B", help="Also the trade-off between two metrics, as in utilization,queue_delay_p99."
)
@JOBS
@AS_JSON
def recommend(
    file: Path,
    goals: tuple[str, ...],
    overrides: tuple[str, ...],
    also: tuple[str, ...],
    engine: str,
    confidence: float,
    resolution: float,
    replications: int | None,
    out: Path,
    no_picture: bool,
    report_to: Path | None,
    system: str | None,
    fraction: str | None,
    sensitivity: bool,
    pareto: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Find the smallest buffer that meets the goals, beside what every rule says."""
    from forebay.formatting import share
    from forebay.scenario import Scenario
    from forebay.search.recommendation import recommend as find

    scenario = Scenario.load(file, overrides)
    if system is not None:
        from forebay.configuration.vendors import DIALECTS

        if system not in DIALECTS:
            raise InputError(f"--for: found `{system}`; allowed: {', '.join(DIALECTS)}")
    with progress_bar("simulating", quiet=as_json) as progress:
        answer = find(
            scenario,
            goals,
            also=also,
            engine=engine,
            confidence=confidence,
            resolution=resolution,
            replications=replications,
            fraction=None if fraction is None else share("--fraction", fraction),
            sensitivity=sensitivity,
            jobs=jobs,
            progress=progress,
        )
    if system is not None and answer.feasible:
        from forebay.configuration.vendors import configure

        size = answer.data["recommendation"]["bytes"]
        answer.data["configuration"] = {
            "system": system,
            "lines": configure(system, size, scenario.core.rate_bps),
            "source": DIALECTS[system].source,
            "quirks": list(DIALECTS[system].quirks),
        }
    if pareto is not None:
        from forebay.search.tradeoff import front

        answer.data["pareto"] = front(answer, pareto)
    written = []
    if not no_picture:
        from forebay.views import plots

        stem = out / f"{file.stem}-recommendation"
        with writing(stem):
            picture = plots.draw_recommendation(answer)
            written.append(plots.save(picture, stem.with_suffix(".png"), close=False))
            written.append(plots.save(picture, stem.with_suffix(".svg")))
            if pareto is not None:
                trade = plots.draw_front(answer)
                path = stem.with_name(f"{file.stem}-pareto")
                written.append(plots.save(trade, path.with_suffix(".png"), close=False))
                written.append(plots.save(trade, path.with_suffix(".svg")))
            write_whole(stem.with_suffix(".json"), answer.to_json(indent=2) + "\n")
            written.append(stem.with_suffix(".json"))
    if report_to is not None:
        from forebay.views.webpage import recommendation_page

        page = recommendation_page(
            answer, source=file.read_text(encoding="utf-8"), command=shlex.join(["forebay", *sys.argv[1:]])
        )
        with writing(report_to):
            report_to.parent.mkdir(parents=True, exist_ok=True)
            write_whole(report_to, page)
        written.append(report_to)
    if as_json:
        click.echo(answer.to_json(indent=2))
    else:
        from forebay.views.tables import recommendation_view

        show(recommendation_view(answer))
        for path in written:
            click.echo(f"wrote {path}")
    if not answer.feasible:
        sys.exit(1)


@cli.command()
@FILE
@SET
@REPLICATIONS
@click.option(
    "--points",
    type=click.IntRange(min=0, max=1000),
    default=9,
    show_default=True,
    help="Buffers of the range, besides the scenario's own; 0 for none.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Directory of the picture and the JSON; the current one by default.",
)
@click.option("--no-picture", is_flag=True, help="Write no files.")
@JOBS
@AS_JSON
def compare(
    file: Path,
    overrides: tuple[str, ...],
    replications: int | None,
    points: int,
    out: Path,
    no_picture: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """All engines and rules side by side over the buffer range, where they disagree, and why."""
    from forebay.comparison.comparison import compare as put_side_by_side
    from forebay.scenario import Scenario

    scenario = Scenario.load(file, overrides)
    with progress_bar("running", quiet=as_json) as progress:
        found = put_side_by_side(scenario, replications=replications, points=points, jobs=jobs, progress=progress)
    written = []
    if not no_picture and len(found.data["curve"]) > 1:
        from forebay.views import plots
        from forebay.views.comparison_picture import draw_comparison

        stem = out / f"{file.stem}-comparison"
        with writing(stem):
            picture = draw_comparison(found)
            written.append(plots.save(picture, stem.with_suffix(".png"), close=False))
            written.append(plots.save(picture, stem.with_suffix(".svg")))
            write_whole(stem.with_suffix(".json"), found.to_json(indent=2) + "\n")
            written.append(stem.with_suffix(".json"))
    if as_json:
        click.echo(found.to_json(indent=2))
    else:
        from forebay.views.comparison_tables import comparison_view

        show(comparison_view(found))
        for path in written:
            click.echo(f"wrote {path}")


@cli.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--over",
    multiple=True,
    metavar="AXIS",
    help="KEY=A,B,C or KEY=A..B:N (logarithmic) or KEY=A..B:Nlin, as in link.buffer=0.01BDP..2BDP:12. Repeatable.",
)
@SET
@click.option("--engine", default="packet", show_default=True, help="Where no axis names it.")
@REPLICATIONS
@click.option("--seed", type=click.IntRange(min=0), help="Instead of the scenario's own.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Results; continued where they exist.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option(
    "--bundle",
    "bundle_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.zip",
    help="Also one archive with everything that looking at it and running it again takes.",
)
@click.option(
    "--replay",
    "replayed",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.zip",
    help="Run such an archive again and compare every number; takes no FILE and no --over.",
)
@JOBS
@AS_JSON
def sweep(
    file: Path | None,
    over: tuple[str, ...],
    overrides: tuple[str, ...],
    engine: str,
    replications: int | None,
    seed: int | None,
    out: Path | None,
    scheduler: str | None,
    bundle_to: Path | None,
    replayed: Path | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run a grid of scenarios, resumable, into a folder of Parquet tables."""
    import json

    from forebay.scenario import Scenario
    from forebay.sweeps.sweeping import sweep as run_grid

    if replayed is not None:
        if file is not None or over or overrides or bundle_to or replications is not None or seed is not None:
            raise InputError(
                "--replay: found beside FILE or what changes it; allowed: --out, --jobs, --scheduler, --json"
            )
        compare_again(replayed, out=out, jobs=jobs, scheduler=scheduler, as_json=as_json)
        return
    for name, value in (("FILE", file), ("--over", over), ("--out", out)):
        if not value:
            raise InputError(f"sweep: found no {name}; allowed: FILE, --over AXIS and --out DIR, or --replay FILE.zip")
    assert file is not None
    assert out is not None
    scenario = Scenario.load(file, overrides)
    with progress_bar("sweeping", quiet=as_json) as progress:
        found = run_grid(
            scenario,
            over,
            out,
            engine=engine,
            replications=replications,
            seed=seed,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
        )
    if as_json:
        summary = {"folder": str(out), "computed": found.computed, "reused": found.reused, "failed": found.failed}
        click.echo(json.dumps(summary, indent=2))
    else:
        click.echo(f"{found.computed} runs computed, {found.reused} were there already: {out}/rows.parquet")
        for job, why in list(found.failed.items())[:20]:
            click.echo(f"failed: {job}: {why}")
    if found.failed:
        sys.exit(1)
    if bundle_to is not None:
        from forebay.sweeps.bundling import bundle
        from forebay.views.sweep_picture import draw_sweep

        with writing(bundle_to):
            bundle(found, bundle_to, draw_sweep, file.read_text(encoding="utf-8"))
        click.echo(f"wrote {bundle_to}", err=as_json)


def compare_again(path: Path, *, out: Path | None, jobs: int | None, scheduler: str | None, as_json: bool) -> None:
    """Replay a bundle and say whether every number is the same; exit code 1 where one is not."""
    import json

    from forebay.sweeps.bundling import replay

    with progress_bar("replaying", quiet=as_json) as progress:
        found = replay(path, jobs=jobs, scheduler=scheduler, progress=progress, out=out)
    if as_json:
        told = {"compared": found.compared, "differences": found.differences, "notes": found.notes}
        click.echo(json.dumps(told, indent=2))
    else:
        for note in found.notes:
            click.echo(f"note: {note}")
        for line in found.differences[:20]:
            click.echo(f"differs: {line}")
        if len(found.differences) > 20:
            click.echo(f"and {len(found.differences) - 20} more; --json lists them all")
        same = "every number the same to the last bit" if not found.differences else f"{len(found.differences)} differ"
        click.echo(f"{found.compared} results compared: {same}")
    if found.differences:
        sys.exit(1)


@cli.command()
@click.argument("name", required=False)
@AS_JSON
def explain(name: str | None, as_json: bool) -> None:
    """A model, controller or queue discipline: formula, assumptions, source, errata. Without NAME: what there is."""
    import json

    from forebay.explanation import explain as find
    from forebay.explanation import names

    if name is None:
        known = names()
        if as_json:
            click.echo(json.dumps(known, indent=2))
            return
        for kind, entries in known.items():
            click.echo(f"{kind}: {', '.join(entries)}")
        return
    found = find(name)
    click.echo(json.dumps(found.data, indent=2) if as_json else str(found))


@cli.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Where to; beside PATH by default.")
def plot(path: Path, out: Path | None) -> None:
    """Pictures from what sweep, recommend or run --trace left."""
    from forebay.views.pictures import draw

    with writing(out or path):
        for written in draw(path, out):
            click.echo(f"wrote {written}")


@cli.command()
@click.argument("what", default="list")
@click.option("--quick", is_flag=True, help="The coarse version: shorter runs, fewer buffers and replications.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/gallery"),
    show_default=True,
    help="Results, pictures and the HTML page; continued where they exist.",
)
@JOBS
@AS_JSON
def reproduce(what: str, quick: bool, out: Path, jobs: int | None, as_json: bool) -> None:
    """Published figures, reproduced and judged. WHAT is list, all, a PAPER or PAPER/FIGURE."""
    from forebay.papers import view
    from forebay.papers.reproduction import estimate
    from forebay.papers.reproduction import reproduce as run_gallery
    from forebay.scenario import threads

    if what == "list":
        click.echo(view.listing())
        return
    if not as_json:
        click.echo(view.announcement(estimate(what, quick=quick), threads(jobs)), err=True)
    with view.progress(quiet=as_json) as progress:
        found = run_gallery(what, out=out, quick=quick, jobs=jobs, progress=progress)
    if as_json:
        click.echo(found.to_json(indent=2))
    else:
        show(view.table(found))
        click.echo(f"wrote {found.page}")


@cli.command()
@click.argument("setting")
@click.option("--for", "system", required=True, help="ios-xr, ios-xe, junos, eos, sr-os, sonic or linux.")
@click.option("--link", "rate", required=True, help="Rate that the system counts with, as in 10Gbps.")
@click.option("--rtt", help="For the multiple of the bandwidth-delay product, as in 10ms.")
@AS_JSON
def translate(setting: str, system: str, rate: str, rtt: str | None, as_json: bool) -> None:
    """Read a router's setting back: bytes, time and bandwidth-delay products."""
    import json

    from forebay import formatting
    from forebay.configuration.vendors import DIALECTS
    from forebay.configuration.vendors import translate as read
    from forebay.scenario import Scenario

    # The scenario's own reader knows every unit and says what is allowed.
    link = {"link": {"rate": rate, "buffer": "0p"}, "flows": [{"rtt": rtt or "10ms"}]}
    core = Scenario.of(link, name="translate").core
    found = read(setting, system, core.rate_bps)
    multiple = found.bytes / (core.bdp_packets * core.packet_bytes) if rtt is not None and core.bdp_packets else None
    if as_json:
        data = {"bytes": found.bytes, "seconds": found.seconds, "bdp": multiple, "how": found.how}
        click.echo(json.dumps({**data, "source": DIALECTS[system].source, "quirks": list(DIALECTS[system].quirks)}))
        return
    text = f"{formatting.size(found.bytes)}, {formatting.duration(found.seconds)}"
    if multiple is not None:
        text += f", {multiple:.3g} BDP at {rtt}"
    click.echo(f"{text} ({found.how})")
    for quirk in DIALECTS[system].quirks:
        click.echo(f"note: {quirk}")
    click.echo(f"source: {DIALECTS[system].source}")


@cli.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--rate", help="Of the link, as in 100Mbps.")
@click.option("--rtt", help="Round trip without any queue, as in 40ms or 20ms..80ms.")
@click.option("--long", type=int, help="Number of long transfers.")
@click.option("--cca", help="Congestion control; cubic by default.")
@click.option("--web", metavar="SHARE", help="Short transfers that offer this share of the rate, as in 20%.")
@click.option("--background", metavar="SHARE", help="Traffic that does not react, as in 30%.")
@click.option("--video", type=int, help="Number of video streams of 5 Mb/s in bursts.")
@click.option("--queue", default="droptail", show_default=True, help="Queue discipline.")
@click.option("--packet", default="1500B", show_default=True, help="Size of full packets.")
@click.option("--buffer", help="What is configured now; 0.5BDP, or 100p without flows that react, by default.")
@click.option("--goal", "goals", multiple=True, metavar="GOAL", help="Such as 'utilization>=0.98'. Repeatable.")
@click.option("--title", default="", help="In pictures and reports.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def new(
    file: Path,
    rate: str | None,
    rtt: str | None,
    long: int | None,
    cca: str | None,
    web: str | None,
    background: str | None,
    video: int | None,
    queue: str,
    packet: str,
    buffer: str | None,
    goals: tuple[str, ...],
    title: str,
    force: bool,
) -> None:
    """Write a commented scenario to start from; asks for what no option gives. FILE may be - for standard output."""
    from forebay.commands.asking import answers
    from forebay.configuration.drafting import Wishes, draft

    to_screen = str(file) == "-"
    if not to_screen and file.exists() and not force:
        raise InputError(f"{file}: found a file there; allowed: a new name, or --force")
    given = {"rate": rate, "rtt": rtt, "long": long, "cca": cca, "web": web, "background": background, "video": video}
    told = answers({name: value for name, value in given.items() if value is not None})
    text = draft(Wishes(**told, queue=queue, packet=packet, buffer=buffer or "", goals=goals, title=title))
    if to_screen:
        click.echo(text, nl=False)
        return
    with writing(file):
        write_whole(file, text)
    click.echo(f"wrote {file}; try it: forebay run {shlex.quote(str(file))}")


@cli.command()
def schema() -> None:
    """The JSON Schema of scenario files, for editors."""
    import json

    from forebay import _core

    click.echo(json.dumps(json.loads(_core.schema()), indent=2))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn failures to write into one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from None


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error with an estimate of what remains; nothing where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def tell(done: int, expected: int) -> None:
            progress.update(task, completed=done, total=expected)

        yield tell


def console() -> Console:
    """Standard output; as wide as the tables where it is no terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=int(os.environ.get("COLUMNS", "160")))


def show(view: RenderableType) -> None:
    """Print a view without breaking numbers into colours."""
    console().print(view, highlight=False)


def fail(message: str, code: int) -> NoReturn:
    """End with one line on standard error."""
    click.echo(f"forebay: {' '.join(message.split())}", err=True)
    sys.exit(code)


def main() -> None:
    """Entry point: every mistake of the user ends in one line and its exit code."""
    try:
        # Not cli.main(): it would answer Ctrl-C with a line of its own.
        with cli.make_context("forebay", sys.argv[1:]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.Abort:
        fail("interrupted", 130)
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        where = f"{error.ctx.command_path}: " if isinstance(error, click.UsageError) and error.ctx else ""
        fail(f"{where}{error.format_message()}".removeprefix("forebay "), 2)
    except ForebayError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe left: not a mistake of anyone.
        sys.stdout = None
        sys.exit(0)


if __name__ == "__main__":
    main()
