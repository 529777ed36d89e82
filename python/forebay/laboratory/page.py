"""The built page of the laboratory, with a scenario in it that it opens with."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from forebay.errors import UnsupportedError

__all__ = ["MARK", "is_built", "laboratory_page", "widget_code"]

#: Name of the page that `make lab` writes beside this file.
_NAME = "index.html"
#: Place of the scenario with which the page opens.
MARK = '<script type="application/json" id="scenario">null</script>'

#: Tags around the code that shows the page in a notebook.
_WIDGET = '<script type="text/plain" id="widget">', "</script>"


def is_built() -> bool:
    """Whether this build has the page."""
    return _built().is_file()


def _built() -> Traversable:
    return files("forebay.laboratory").joinpath(_NAME)


def laboratory_page(name: str | None = None, text: str | None = None) -> str:
    """The page as one file.

    Parameters
    ----------
    name : str, optional
        Name of the scenario.
    text : str, optional
        A scenario in TOML, valid and without other files; by default the page opens with its own.

    Raises
    ------
    UnsupportedError
        If the page was not built.
    """
    page = _page()
    if text is None:
        return page
    # No part of the text may end the script element that contains it.
    held = json.dumps({"name": name or "scenario", "text": text}).replace("<", "\\u003c")
    return page.replace(MARK, MARK.replace("null", held), 1)


def widget_code() -> str:
    """The ECMAScript module that shows the page in a notebook.

    Raises
    ------
    UnsupportedError
        If the page was not built.
    """
    begin, end = _WIDGET
    return _page().partition(begin)[2].partition(end)[0]


def _page() -> str:
    if not is_built():
        raise UnsupportedError(
            "the laboratory's page is not in this build of forebay; allowed: a wheel that has it, or `make lab` in a "
            "checkout"
        )
    return _built().read_text(encoding="utf-8")
