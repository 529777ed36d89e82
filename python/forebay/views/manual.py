"""Manual pages in roff: a template, and what texts need to stand in it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["escaped", "roff"]


def roff(page: object) -> str:
    """Fill the template of a manual page with what `page` says."""
    return _environment().get_template("manual.1.j2").render(page=page)


def escaped(text: str) -> str:
    """A text that roff prints as it is: no escapes, no requests, hyphens that can be copied."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    text = text.replace('"', "\\(dq").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


@cache
def _environment() -> Environment:
    # Jinja2 takes longer to import than most commands run.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("forebay", "views/templates"),
        autoescape=False,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["roff"] = escaped
    return environment
