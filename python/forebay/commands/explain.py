"""`explain`: print the meanings of a name."""

from __future__ import annotations

import json

import click

from forebay.commands.options import AS_JSON
from forebay.commands.streams import say_json, say_lines
from forebay.commands.values import EXPLAINED
from forebay.commands.verb import verb

__all__ = ["explain"]


@verb(
    ("explain bbr", "Explain bbr, which is a sizing rule and a congestion control:"),
    ("explain link.buffer", "Explain a key of scenario files:"),
    ("explain", "List all names:"),
)
@click.argument("name", required=False, type=EXPLAINED)
@AS_JSON
def explain(name: str | None, as_json: bool) -> None:
    """Explain a name: definition, formula, parameters and source.

    NAME is a congestion control, a queue discipline, a metric, a model, an engine, a platform, a term of lossless
    Ethernet, or a key or word of scenario files under its dotted name. Without NAME all names are listed.
    """
    from forebay.commands.terminal import width
    from forebay.explanation import glossary, meanings, names

    if name is None:
        if as_json:
            say_json(json.dumps(names(), indent=2))
        else:
            say_lines(glossary(width()))
        return
    found = meanings(name)
    if as_json:
        # The first meaning is the object itself; the other meanings of the name are a list within it.
        first, *others = (each.to_dict() for each in found)
        say_json(json.dumps({**first, "others": others} if others else first, indent=2))
        return
    say_lines("\n\n".join(each.text(width()) for each in found))
