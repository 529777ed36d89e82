"""Whether a verb that also draws can: it answers all the same, and says in a line how to get what draws."""

from __future__ import annotations

from forebay.commands.streams import remark
from forebay.errors import MissingPackageError

__all__ = ["draws"]


def draws() -> bool:
    """Whether pictures can be drawn; before the work begins, so that whoever wants some can stop it."""
    from forebay.extras import need

    try:
        need("matplotlib")
    except MissingPackageError as error:
        remark(f"no picture: {error}")
        return False
    return True
