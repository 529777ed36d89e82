"""A goodput above the rate that the link sent, in words.

Goodput counts payload when it is delivered in order. Packets that arrived before the measurement wait behind a lost one
and are delivered together once that is repeated. A short measurement may so count more than the link sent in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.text import formatting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.results.report import Estimate
    from forebay.scenario import Scenario

__all__ = ["ALL_FLOWS", "GOODPUT", "MARK", "excess", "has_other_flows", "sent_bps"]

GOODPUT = "goodput_bps"

#: Mark of such a goodput in a cell.
MARK = "(partly sent in the warm-up)"

#: Mark of a goodput of flows that do not all cross the link.
ALL_FLOWS = "(all flows)"

#: Ratio of goodput to sent rate that is still allowed, because a packet more or less may count at either end.
_SLACK = 1.01


def has_other_flows(scenario: Scenario) -> bool:
    """Whether flows of a group, or all of them, do not cross the target link: the goodput counts them, too."""
    links, groups = scenario.resolved["links"], scenario.resolved["flows"]
    target = next(str(link["name"]) for link in links if link["target"])
    return any(target not in group.get("path", ()) for group in groups)


def sent_bps(scenario: Scenario, metrics: Mapping[str, Estimate]) -> float | None:
    """The rate that the link sent, in bits per second, if the goodput is above it; else None.

    Parameters
    ----------
    scenario : Scenario
        The measured scenario; if a group does not cross the target link, the answer is None.
    metrics : mapping
        The metrics of the link.
    """
    goodput = metrics.get(GOODPUT)
    if goodput is None:
        return None
    if has_other_flows(scenario):
        return None
    sent: float = scenario.core.rates_between_bps[1]
    utilization = metrics.get("utilization")
    if utilization is not None and not scenario.core.rate_changes:
        sent *= min(1.0, utilization.mean)
    return sent if goodput.mean > _SLACK * sent else None


def excess(scenario: Scenario, metrics: Mapping[str, Estimate]) -> str:
    """The reason for a goodput that the link cannot have sent, in parentheses; empty if there is no such goodput."""
    if has_other_flows(scenario):
        return f" {ALL_FLOWS}"
    sent = sent_bps(scenario, metrics)
    if sent is None:
        return ""
    carried = formatting.bandwidth(sent)
    return f" (the link sent {carried}; after a loss, receivers also delivered packets of the warm-up)"
