"""`new`: a commented scenario to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from forebay.commands.streams import say, say_lines
from forebay.commands.terminal import writing
from forebay.commands.values import CONTROLLER, DISCIPLINE, GOAL, OutputFile, Whole
from forebay.commands.verb import verb
from forebay.errors import InputError
from forebay.files import write_whole

__all__ = ["new"]


@verb(
    (
        "new link.toml --rate 100Mbps --rtt 20ms..80ms --long 8 --web 20%",
        "Draft a link with downloads and web traffic:",
    ),
    ("new - --rate 1Gbps --rtt 10ms --long 4 | forebay run -", "Try one without a file:"),
)
@click.argument("file", type=OutputFile())
@click.option("--rate", metavar="RATE", help="Give the link this rate, as in 100Mbps.")
@click.option("--rtt", metavar="TIME", help="Give flows this round trip without any queue, as in 40ms or 20ms..80ms.")
@click.option("--long", type=Whole(0, 1_000_000), help="Put this many long transfers on the link.")
@click.option("--cca", type=CONTROLLER, help="Let them use this congestion control; cubic by default.")
@click.option("--web", metavar="SHARE", help="Add short transfers that offer this share of the rate, as in 20%.")
@click.option("--background", metavar="SHARE", help="Add traffic that does not respond to congestion, as in 30%.")
@click.option("--video", type=Whole(0, 1_000_000), help="Add this many video streams of 5 Mb/s in bursts.")
@click.option("--queue", type=DISCIPLINE, default="droptail", show_default=True, help="Use this queue discipline.")
@click.option("--packet", metavar="SIZE", default="1500B", show_default=True, help="Let full packets have this size.")
@click.option(
    "--buffer",
    metavar="BUFFER",
    help="Set what is configured now; 0.5BDP, or 100p without responsive flows, by default.",
)
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=GOAL,
    metavar="GOAL",
    help="Ask for this, as in 'utilization>=0.98'. May be repeated.",
)
@click.option("--title", default="", help="Use this title in pictures and reports.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def new(
    file: Path,
    queue: str,
    packet: str,
    buffer: str | None,
    goals: tuple[str, ...],
    title: str,
    force: bool,
    **given: Any,
) -> None:
    """Write a commented scenario to start from, and ask on a terminal for what no option says.

    FILE may be - for standard output.
    """
    from forebay.commands.asking import answers
    from forebay.configuration.drafting import Wishes, draft

    to_screen = str(file) == "-"
    if file.suffix == ".json":
        raise InputError(
            f"found `{file}`; allowed: another ending, as in {file.with_suffix('.toml')}: it is TOML", "file"
        )
    if not to_screen and file.exists() and not force:
        raise InputError(f"{file}: found a file of this name; allowed: a new name, or --force")
    # Link and traffic: the options that can be asked for instead.
    told = answers({name: value for name, value in given.items() if value is not None})
    text = draft(Wishes(**told, queue=queue, packet=packet, buffer=buffer or "", goals=goals, title=title))
    if to_screen:
        say_lines(text)
        return
    with writing(file):
        write_whole(file, text)
    say(f"wrote {file}; try it: forebay run {shlex.quote(str(file))}")
