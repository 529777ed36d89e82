"""Manual pages generated from the verbs: `python -m forebay.commands.manual DIRECTORY` writes one for each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from forebay.commands.streams import say
from forebay.commands.verb import PROGRAM_EXITS, Verb, Verbs
from forebay.storage.files import write_atomically
from forebay.views.manual import ManualPage, roff

__all__ = ["page", "pages", "write_pages"]


def page(command: click.Command, context: click.Context) -> ManualPage:
    """Collect the help of a command."""
    from forebay import _core

    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [option.get_help_record(context) for option in options]
    children = command.commands if isinstance(command, click.Group) else {}
    exits = command.exits if isinstance(command, Verb) else PROGRAM_EXITS
    examples = command.examples if isinstance(command, Verb | Verbs) else ()
    return ManualPage(
        name=context.command_path.replace(" ", "-"),
        command=context.command_path,
        version=_core.__version__,
        short=paragraphs[0].rstrip("."),
        usage=" ".join(command.collect_usage_pieces(context)),
        paragraphs=paragraphs,
        options=[record for record in records if record is not None],
        verbs=[(name, child.get_short_help_str(200)) for name, child in sorted(children.items())],
        exits=[(str(code), meaning) for code, meaning in exits.items()],
        examples=[(f"forebay {line}", meaning) for line, meaning in examples],
    )


def pages(program: click.Group) -> Iterator[ManualPage]:
    """Iterate over the page of the program and the pages of its verbs."""
    root = click.Context(program, info_name="forebay")
    yield page(program, root)
    for name, command in sorted(program.commands.items()):
        yield page(command, click.Context(command, info_name=name, parent=root))


def write_pages(program: click.Group, folder: Path) -> list[Path]:
    """Write every page into a directory, as section 1 of the manual."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for each in pages(program):
        path = folder / f"{each.name}.1"
        write_atomically(path, roff(each))
        written.append(path)
    return written


if __name__ == "__main__":
    from forebay.commands.program import cli

    for path in write_pages(cli, Path(sys.argv[1] if len(sys.argv) > 1 else "out/man")):
        say(f"wrote {path}")
