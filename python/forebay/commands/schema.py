"""`schema`: the JSON Schema of scenario files."""

from __future__ import annotations

import json

import click

__all__ = ["schema"]


@click.command()
def schema() -> None:
    """The JSON Schema of scenario files, for editors."""
    from forebay import _core

    click.echo(json.dumps(json.loads(_core.schema()), indent=2))
