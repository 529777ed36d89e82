"""`fleet`: judge the buffer of every port of an inventory; the exit code says whether one is sized wrongly."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from forebay.commands.interrupting import continued
from forebay.commands.options import AS_JSON, JOBS, MEMORY, SCHEDULER
from forebay.commands.streams import print_note, say_json
from forebay.commands.terminal import afterwards, progress_bar, show, width, writing
from forebay.commands.values import FLEET_PLATFORM, IntegerValue, OutputFolder, Share, Time
from forebay.commands.verb import verb
from forebay.inputs.validation import MOST_SEED

__all__ = ["fleet"]

#: Verdicts that `--fail-on` names.
FAILURES = {"too-small": ("too small",), "too-large": ("too large",), "wrong": ("too small", "too large")}
#: Most scenarios that a search may be asked for.
MOST_SEARCHES = 1_000_000


@verb(
    ("fleet network.csv --out audit", "Judge every port, with the profiles in the folder `profiles` beside the table:"),
    (
        "fleet network.csv --profiles mine --growth 40% --out audit",
        "Also find the year in which each becomes too small:",
    ),
    ("fleet network.csv --fail-on too-small --out audit", "Fail only if a buffer is too small:"),
    ("fleet network.csv --for junos --out audit", "Write the lines that change the wrong ports for Junos:"),
    (
        "fleet network.csv --out today --against yesterday",
        "Compare with an earlier audit, and fail only on ports that became wrong:",
    ),
    refusal="A port has a verdict of --fail-on: by default, it is sized wrongly. With --against: it newly has this "
    "verdict.",
    codes={
        0: "No port has a verdict of --fail-on: by default, every port is fine. With --against: no port newly has such "
        "a verdict.",
        3: "As 0, but a port is undecided or has no answer, or a row is rejected. With --against: a port newly is "
        "undecided or has no answer.",
    },
    heavy=True,
    groups={
        "Question": ("--profiles", "--growth", "--replace", "--for", "--fail-on", "--against"),
        "Simulation": ("--full", "--within", "--confidence", "--seed"),
    },
)
@click.argument("inventory", type=click.Path(path_type=Path))
@click.option(
    "--profiles",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of profiles (NAME.toml) and rules (rules.toml); by default `profiles` beside the inventory.",
)
@click.option(
    "--growth",
    metavar="RATE",
    help="Traffic grows by this share each year, as in 40%, or as in a CSV file with the columns year,factor. Find the "
    "year in which each port becomes too small.",
)
@click.option(
    "--replace",
    metavar="platform=FILE.csv",
    help="Find which other boxes have enough memory for each port. The columns of the file are "
    "platform,bytes_per_port. A memory may have a unit, as in 12MB.",
)
@click.option(
    "--for",
    "platform",
    type=FLEET_PLATFORM,
    default="own",
    show_default=True,
    metavar="PLATFORM",
    help="Platform of the lines that change the wrong ports, in DIR/changes. With own, each port has that of the "
    "inventory.",
)
@click.option(
    "--fail-on",
    type=click.Choice(list(FAILURES)),
    default="wrong",
    show_default=True,
    help="Verdict for which the exit code is 1.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Compare with the audit in this directory, which may be that of --out before this audit. The exit code is "
    "then about ports that appeared or changed their verdict.",
)
@click.option(
    "--full",
    type=IntegerValue(0, MOST_SEARCHES),
    default=5,
    show_default=True,
    help="Search this many scenarios in full: those whose change matters most.",
)
@click.option(
    "--within",
    type=Time(),
    metavar="TIME",
    help="Begin no further run after this time, as in 30s. The same command continues later.",
)
@click.option(
    "--confidence",
    type=Share(),
    default="80%",
    show_default=True,
    help="Use this one-sided confidence for the verdicts of packet runs.",
)
@click.option(
    "--seed",
    type=IntegerValue(0, MOST_SEED),
    default=1,
    show_default=True,
    help="Draw the sample that checks the first stage with this seed.",
)
@click.option("--out", type=OutputFolder(), required=True, metavar="DIR", help="Directory of the results.")
@JOBS
@SCHEDULER
@MEMORY
@AS_JSON
def fleet(
    inventory: Path,
    profiles: Path | None,
    growth: str | None,
    replace: str | None,
    platform: str,
    fail_on: str,
    against: Path | None,
    full: int,
    within: float | None,
    confidence: float,
    seed: int,
    out: Path,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Judge the buffer of every port of a network, and say what to change first.

    INVENTORY is a table with one row per port. Profiles are scenarios with open keys; rules assign them to ports. The
    same command continues an audit that was interrupted.
    """
    from forebay.fleets.auditing import FleetExecution
    from forebay.fleets.comparing import compare_audits, read_audit
    from forebay.networks.auditing import NetworkAudit
    from forebay.views.fleet_comparison_text import comparison_text
    from forebay.views.fleet_text import fleet_text

    # Read first, because this audit may replace it.
    earlier = None if against is None else read_audit(against)
    with continued(is_stored=True), progress_bar("measuring", quiet=as_json) as progress:
        execution = FleetExecution(
            jobs=jobs,
            scheduler=scheduler,
            full=full,
            within=within,
            seed=seed,
            confidence=confidence,
            progress=progress,
            begin=None if progress is None else progress.begin,
            tell=print_note,
        )
        audit = NetworkAudit(inventory, profiles, execution, growth, replace, platform)
        found = audit.run(out)
    answer = found.answer
    comparison = None if earlier is None else compare_audits(earlier, answer)

    def tell() -> None:
        if as_json:
            compared = {} if comparison is None else {"comparison": comparison.to_dict()}
            say_json(json.dumps({**answer.to_dict(), **compared}, indent=2))
            return
        if comparison is not None:
            show(comparison_text(comparison, str(against), str(out)))
        show(fleet_text(answer, str(out), width()))

    with afterwards(tell), writing(out):
        audit.write_page(found, out)
        if comparison is not None:
            comparison.write(out)
    sys.exit((answer if comparison is None else comparison).exit_code(FAILURES[fail_on]))  # type: ignore[arg-type]
