"""The views of an answer in a notebook: a table at the end of a cell, and a picture on request.

Answers lie below the views in the order of imports. Only the package itself knows both, and it gives the views.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

__all__ = ["Displayable", "Result", "laboratory", "table"]


class Displayable:
    """An answer that has a table and a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The answer as a table, for notebooks."""
        return table(self)

    def plot(self) -> Figure:
        """Draw the answer.

        Returns
        -------
        matplotlib.figure.Figure
            A new figure; the state of `matplotlib.pyplot` does not change. Its `savefig` writes it.
        """
        figure: Figure = _views().picture(self)
        return figure


class Result(Displayable):
    """An answer that programs can read, too."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dictionaries and lists, as in the JSON."""
        raise NotImplementedError

    @property
    def data(self) -> Mapping[str, Any]:
        """The same as `to_dict()`."""
        return self.to_dict()

    def to_json(self, indent: int | None = None) -> str:
        """Return the answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def table(answer: object) -> str:
    """The answer as a table in HTML."""
    return str(_views().table(answer))


def laboratory(scenario: object, height: int | None) -> Any:
    """The laboratory as a widget that shows this scenario."""
    return _package()._laboratory(scenario, height)


def _views() -> Any:
    return _package()._notebook()


def _package() -> Any:
    return import_module(__name__.partition(".")[0])
