"""forebay: how large a router's buffer should be, with the proof.

Examples
--------
>>> import forebay
>>> scenario = forebay.Scenario.load("@dsl-access")
>>> report = scenario.run("packet", replications=4)
>>> answer = forebay.recommend(scenario, quick=True)
>>> answer.verdict
'met'
"""

from __future__ import annotations

import sys

if any(name in " ".join(sys.orig_argv[:4]) + " " for name in ("/forebay ", "\\forebay.exe ", "-m forebay ")):
    # The command: Ctrl-C may come before it has begun.
    from forebay.interruption import while_starting

    while_starting()

from typing import TYPE_CHECKING, Any

from forebay.errors import (
    ForebayError,
    InputError,
    Interrupted,
    UnavailableError,
    UnsupportedError,
    UntrustedError,
)

if TYPE_CHECKING:
    from forebay._core import Metric, __version__
    from forebay.comparison.answers import Comparison
    from forebay.comparison.comparison import compare
    from forebay.configuration.verbs import Configuration, Translation, configure, translate
    from forebay.contract.answer import Check, Conformance
    from forebay.contract.conforming import conformance
    from forebay.explanation import Explanation, explain
    from forebay.fabric.audit_answer import Audit, Finding
    from forebay.fabric.headroom import headroom
    from forebay.fabric.headroom_answer import Headroom
    from forebay.fabric.switch_audit import audit
    from forebay.fleets.answer import FleetAnswer, Judgment
    from forebay.fleets.auditing import FleetExecution
    from forebay.fleets.comparing import AuditComparison, compare_audits
    from forebay.measurement.emulating import Emulated, emulate
    from forebay.networks.auditing import fleet
    from forebay.observation.observing import observe
    from forebay.papers.gallery import Gallery
    from forebay.papers.reproduction import reproduce
    from forebay.results.report import BufferSize, Cost, Estimate, GroupReport, LinkReport, Report
    from forebay.results.warning import Warning
    from forebay.scenario import Scenario
    from forebay.search.answer import Recommendation
    from forebay.search.check_report import CheckReport
    from forebay.search.checking import check
    from forebay.search.class_answer import ClassSizing
    from forebay.search.class_sizing import size_classes
    from forebay.search.port_answer import PortSizing
    from forebay.search.port_sizing import size_port
    from forebay.search.recommendation import recommend
    from forebay.search.surveying import feasible_map
    from forebay.sweeps.axes import Axis
    from forebay.sweeps.sweeping import Sweep, sweep

__all__ = [
    "Audit",
    "AuditComparison",
    "Axis",
    "BufferSize",
    "Check",
    "CheckReport",
    "ClassSizing",
    "Comparison",
    "Configuration",
    "Conformance",
    "Cost",
    "Emulated",
    "Estimate",
    "Explanation",
    "Finding",
    "FleetAnswer",
    "FleetExecution",
    "ForebayError",
    "Gallery",
    "GroupReport",
    "Headroom",
    "InputError",
    "Interrupted",
    "Judgment",
    "LinkReport",
    "Metric",
    "PortSizing",
    "Recommendation",
    "Report",
    "Scenario",
    "Sweep",
    "Translation",
    "UnavailableError",
    "UnsupportedError",
    "UntrustedError",
    "Warning",
    "__version__",
    "audit",
    "check",
    "compare",
    "compare_audits",
    "configure",
    "conformance",
    "emulate",
    "explain",
    "feasible_map",
    "fleet",
    "headroom",
    "observe",
    "recommend",
    "reproduce",
    "size_classes",
    "size_port",
    "sweep",
    "translate",
]

#: Module of each public name: NumPy, SciPy and Matplotlib load only when they are needed.
_HOMES = {
    "Audit": "forebay.fabric.audit_answer",
    "AuditComparison": "forebay.fleets.comparing",
    "Axis": "forebay.sweeps.axes",
    "BufferSize": "forebay.results.report",
    "Check": "forebay.contract.answer",
    "CheckReport": "forebay.search.check_report",
    "ClassSizing": "forebay.search.class_answer",
    "Comparison": "forebay.comparison.answers",
    "Configuration": "forebay.configuration.verbs",
    "Conformance": "forebay.contract.answer",
    "Cost": "forebay.results.report",
    "Emulated": "forebay.measurement.emulating",
    "Estimate": "forebay.results.report",
    "Explanation": "forebay.explanation",
    "Finding": "forebay.fabric.audit_answer",
    "FleetAnswer": "forebay.fleets.answer",
    "FleetExecution": "forebay.fleets.auditing",
    "Gallery": "forebay.papers.gallery",
    "GroupReport": "forebay.results.report",
    "Headroom": "forebay.fabric.headroom_answer",
    "Judgment": "forebay.fleets.answer",
    "LinkReport": "forebay.results.report",
    "Metric": "forebay._core",
    "PortSizing": "forebay.search.port_answer",
    "Recommendation": "forebay.search.answer",
    "Report": "forebay.results.report",
    "Scenario": "forebay.scenario",
    "Sweep": "forebay.sweeps.sweeping",
    "Translation": "forebay.configuration.verbs",
    "Warning": "forebay.results.warning",
    "__version__": "forebay._core",
    "audit": "forebay.fabric.switch_audit",
    "check": "forebay.search.checking",
    "compare": "forebay.comparison.comparison",
    "compare_audits": "forebay.fleets.comparing",
    "configure": "forebay.configuration.verbs",
    "conformance": "forebay.contract.conforming",
    "emulate": "forebay.measurement.emulating",
    "explain": "forebay.explanation",
    "feasible_map": "forebay.search.surveying",
    "fleet": "forebay.networks.auditing",
    "headroom": "forebay.fabric.headroom",
    "observe": "forebay.observation.observing",
    "recommend": "forebay.search.recommendation",
    "reproduce": "forebay.papers.reproduction",
    "size_classes": "forebay.search.class_sizing",
    "size_port": "forebay.search.port_sizing",
    "sweep": "forebay.sweeps.sweeping",
    "translate": "forebay.configuration.verbs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'forebay' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def _notebook() -> Any:
    """The module that shows answers in notebooks; `forebay.results.notebook_repr` requests it."""
    from importlib import import_module

    return import_module("forebay.views.notebook")


def _laboratory(scenario: Any, height: int | None) -> Any:
    """The widget that shows the laboratory in notebooks; `forebay.results.notebook_repr` requests it."""
    from importlib import import_module

    from forebay.extras import need

    need("anywidget")
    return import_module("forebay.laboratory.widget").Laboratory(scenario, height)


def __dir__() -> list[str]:
    return sorted(__all__)
