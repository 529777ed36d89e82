"""`plot`: pictures from what other verbs left on disk."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.terminal import writing

__all__ = ["plot"]


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Where to; beside PATH by default.")
def plot(path: Path, out: Path | None) -> None:
    """Pictures from what sweep, recommend or run --trace left."""
    from forebay.views.pictures import draw

    with writing(out or path):
        for written in draw(path, out):
            click.echo(f"wrote {written}")
