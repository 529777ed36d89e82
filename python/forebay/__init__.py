"""forebay: how large a router's buffer should be, with the proof.

Examples
--------
>>> import forebay
>>> scenario = forebay.Scenario.load("scenarios/elastic-access-link.toml")
>>> report = scenario.run("packet", replications=4)
>>> answer = forebay.recommend(scenario)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.errors import ForebayError, InputError, Interrupted, UnsupportedError

if TYPE_CHECKING:
    from forebay._core import __version__
    from forebay.comparison.comparison import Comparison, compare
    from forebay.explanation import Explanation, explain
    from forebay.papers.gallery import Gallery
    from forebay.papers.reproduction import reproduce
    from forebay.report import Estimate, Report
    from forebay.scenario import Scenario
    from forebay.search.recommendation import Recommendation, recommend
    from forebay.sweeps.axes import Axis
    from forebay.sweeps.sweeping import Sweep, sweep

__all__ = [
    "Axis",
    "Comparison",
    "Estimate",
    "Explanation",
    "ForebayError",
    "Gallery",
    "InputError",
    "Interrupted",
    "Recommendation",
    "Report",
    "Scenario",
    "Sweep",
    "UnsupportedError",
    "__version__",
    "compare",
    "explain",
    "recommend",
    "reproduce",
    "sweep",
]

#: Where each public name lives: NumPy, SciPy and Matplotlib load only when something needs them.
_HOMES = {
    "Axis": "forebay.sweeps.axes",
    "Comparison": "forebay.comparison.comparison",
    "Estimate": "forebay.report",
    "Explanation": "forebay.explanation",
    "Gallery": "forebay.papers.gallery",
    "Recommendation": "forebay.search.recommendation",
    "Report": "forebay.report",
    "Scenario": "forebay.scenario",
    "Sweep": "forebay.sweeps.sweeping",
    "__version__": "forebay._core",
    "compare": "forebay.comparison.comparison",
    "explain": "forebay.explanation",
    "recommend": "forebay.search.recommendation",
    "reproduce": "forebay.papers.reproduction",
    "sweep": "forebay.sweeps.sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'forebay' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
