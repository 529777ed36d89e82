"""`plot`: draw pictures from the files of `sweep --out` or `run --trace`."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.streams import say
from forebay.commands.terminal import writing
from forebay.commands.values import OutputFolder, Readable
from forebay.commands.verb import verb
from forebay.storage.files import check_folder

__all__ = ["plot"]


@verb(
    ("plot out/link", "Draw the results of a sweep in out/link:"),
    ("plot out/link --out pictures", "Write the pictures into another directory:"),
    heavy=True,
)
@click.argument("path", type=Readable("what sweep or run --trace left"))
@click.option("--out", type=OutputFolder(), help="Directory of the pictures; by default that of PATH.")
def plot(path: Path, out: Path | None) -> None:
    """Draw the results of `sweep` or `run --trace`.

    PATH is the directory that the command wrote, or one of its tables.
    """
    from forebay.views.pictures import draw

    if path.is_dir():
        check_folder(out or path, "out" if out else "path")
    with writing(out or path):
        for written in draw(path, out):
            say(f"wrote {written}")
