"""`schema`: the JSON Schema of scenario files."""

from __future__ import annotations

import json

from forebay.commands.streams import say_json
from forebay.commands.verb import verb

__all__ = ["schema"]


@verb(("schema > forebay.schema.json", "Write the schema into a file for an editor:"))
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from forebay import _core

    say_json(json.dumps(json.loads(_core.schema()), indent=2))
