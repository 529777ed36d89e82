"""`new`: a commented scenario to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from forebay.commands.terminal import writing
from forebay.errors import InputError
from forebay.files import write_whole

__all__ = ["new"]


@click.command()
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
    queue: str,
    packet: str,
    buffer: str | None,
    goals: tuple[str, ...],
    title: str,
    force: bool,
    **given: Any,
) -> None:
    """Write a commented scenario to start from; asks for what no option gives. FILE may be - for standard output."""
    from forebay.commands.asking import answers
    from forebay.configuration.drafting import Wishes, draft

    to_screen = str(file) == "-"
    if not to_screen and file.exists() and not force:
        raise InputError(f"{file}: found a file there; allowed: a new name, or --force")
    # Link and traffic: the options that can be asked for instead.
    told = answers({name: value for name, value in given.items() if value is not None})
    text = draft(Wishes(**told, queue=queue, packet=packet, buffer=buffer or "", goals=goals, title=title))
    if to_screen:
        click.echo(text, nl=False)
        return
    with writing(file):
        write_whole(file, text)
    click.echo(f"wrote {file}; try it: forebay run {shlex.quote(str(file))}")
