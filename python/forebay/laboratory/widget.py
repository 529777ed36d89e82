"""The laboratory in a notebook: anywidget's frame around the page, and the scenario that Python and the page share."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from forebay.laboratory.page import laboratory_page, widget_code
from forebay.results import notebook_repr
from forebay.scenario import Scenario

__all__ = ["Laboratory"]


class Laboratory(anywidget.AnyWidget):
    """The laboratory as a widget, for Jupyter, marimo and other front ends of anywidget.

    Parameters
    ----------
    scenario : Scenario
        Scenario with which the widget opens.
    height : int, optional
        Height in pixels; by default the height of the content.

    Attributes
    ----------
    scenario : Scenario
        The scenario that the page shows. It follows changes in the page; another scenario is shown at once.
    text : str
        The scenario as TOML. An invalid text is refused, from the page and from the program. A text that a user types
        arrives only after the engines accept it.
    height : int or None
        Height in pixels; None is the height of the content.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _page = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(None, allow_none=True, min=100, max=20_000).tag(sync=True)
    scenario = traitlets.Instance(Scenario)

    def __init__(self, scenario: Scenario, height: int | None = None) -> None:
        super().__init__(
            _esm=widget_code(), _page=laboratory_page(), text=scenario.toml, scenario=scenario, height=height
        )

    @traitlets.validate("text")
    def _valid(self, proposal: Any) -> str:
        text = str(proposal["value"])
        Scenario.parse(text)
        return text

    @traitlets.observe("text")
    def _read(self, change: Any) -> None:
        if self.scenario is None or self.scenario.toml != change["new"]:
            self.scenario = Scenario.parse(change["new"])

    @traitlets.observe("scenario")
    def _write(self, change: Any) -> None:
        if self.text != change["new"].toml:
            self.text = change["new"].toml

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The output that a notebook stores: the widget, and a table for readers without a kernel."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, "text/html": notebook_repr.table(self.scenario)}, metadata
