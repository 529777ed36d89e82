"""`lab`: open the laboratory, a page that simulates in the browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from forebay.commands.sources import source
from forebay.commands.streams import say
from forebay.commands.terminal import writing
from forebay.commands.values import SCENARIO
from forebay.commands.verb import verb
from forebay.errors import InputError

__all__ = ["lab"]


@verb(
    ("lab", "Open the laboratory:"),
    ("lab dsl.toml", "Open it with a scenario:"),
    ("lab dsl.toml --out lab.html --no-open", "Write it into a file, for a lecture or an e-mail:"),
)
@click.argument("file", required=False, type=SCENARIO)
@click.option("--out", type=click.Path(path_type=Path), metavar="PAGE.html", help="Write the page into this file.")
@click.option("--no-open", is_flag=True, help="Open no browser; print the name of the page.")
def lab(file: Path | None, out: Path | None, *, no_open: bool) -> None:
    """Open the laboratory, which simulates a link live in the browser.

    FILE is a scenario in TOML or JSON, - is standard input, and @NAME is a scenario of forebay. The page is one file
    that loads nothing from the network. It works offline and as an attachment, and it contains the files that the
    scenario names. The same engines simulate in the browser.
    """
    from forebay.algorithms.code_files import forbidding
    from forebay.laboratory.page import laboratory_page
    from forebay.storage.files import check_file, write_atomically

    if out is not None:
        check_file(out, "out")
    if file is None:
        page = laboratory_page()
    else:
        given = source(file)
        if out is not None and out.exists() and file.exists() and out.samefile(file):
            raise InputError(f"found `{out}` (the scenario itself); allowed: the name of another file", "out")
        with forbidding("the laboratory opens without code; its tab `Controls` opens WebAssembly modules"):
            page = laboratory_page(given.stem, given.scenario().toml)
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="forebay-lab-")) / "laboratory.html"
    with writing(out):
        write_atomically(out, page)
    opened = not no_open and _opened(out)
    say(f"{'the laboratory is open' if opened else 'open this file in a browser'}: {out}")


def _opened(page: Path) -> bool:
    """Whether a browser has opened the page."""
    import webbrowser

    try:
        return webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        return False
