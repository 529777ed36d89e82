"""Pages: one environment of templates, and the files that a page carries inside.

Every page is a template of this package with a view model, whose texts and numbers are already formatted.
Every value is escaped, control characters too; only the package's own style sheets, scripts and charts are not. Data
for a script are JSON without signs of markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from forebay.sanitize import sanitize_lines

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["Row", "Table", "render"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; `kind` is a class for the style sheet."""

    cells: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, with as many cells in each row as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""


def render(template: str, page: object) -> str:
    """Fill a template.

    Parameters
    ----------
    template : str
        Name of a file in `templates`.
    page : dataclass
        The template's view model, which it knows as `page`.

    Returns
    -------
    str
        The whole document.
    """
    return _environment().get_template(template).render(page=page)


@cache
def _environment() -> Environment:
    # Jinja2 takes longer to import than most commands run.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("forebay.views", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_for_template,
    )
    found.globals["asset"] = _asset
    found.globals["svg"] = _svg
    found.globals["data"] = _data
    return found


def _for_template(value: object) -> object:
    """A value for a template; in a text, control characters are replaced by legible ones."""
    return sanitize_lines(value) if type(value) is str else value


def _svg(drawing: Element) -> Markup:
    """A chart as SVG, whose texts are escaped when it is written."""
    from xml.etree.ElementTree import tostring

    from markupsafe import Markup

    return Markup(tostring(drawing, encoding="unicode"))


def _asset(name: str) -> Markup:
    """A style sheet or a script of this package, unescaped."""
    from markupsafe import Markup

    return Markup((files("forebay.views") / name).read_text(encoding="utf-8"))


def _data(value: object) -> Markup:
    """Data for a script, as JSON that no text in it can end."""
    from markupsafe import Markup

    text = json.dumps(_legible(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _legible(value: object) -> object:
    """Data whose texts have legible characters in place of control characters."""
    if isinstance(value, str):
        return sanitize_lines(value)
    if isinstance(value, Mapping):
        return {key: _legible(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return value if all(type(each) is int for each in value) else [_legible(each) for each in value]
    return value
