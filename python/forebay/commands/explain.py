"""`explain`: what forebay knows of a name."""

from __future__ import annotations

import json

import click

from forebay.commands.options import AS_JSON

__all__ = ["explain"]


@click.command()
@click.argument("name", required=False)
@AS_JSON
def explain(name: str | None, as_json: bool) -> None:
    """A model, controller or queue discipline: formula, assumptions, source, errata. Without NAME: what there is."""
    from forebay.explanation import explain as find

    if name is None:
        _tell_names(as_json=as_json)
        return
    found = find(name)
    click.echo(found.to_json(indent=2) if as_json else str(found))


def _tell_names(*, as_json: bool) -> None:
    from forebay.explanation import names

    known = names()
    if as_json:
        click.echo(json.dumps(known, indent=2))
        return
    for kind, entries in known.items():
        click.echo(f"{kind}: {', '.join(entries)}")
