"""Warnings about the port at the answer: high loss without a goal on it, a starved group, and a buffer of few packets.

`evidence_warnings` calls `port_warnings` with the evidence of a search. Each warning says from the measured curve
whether a larger buffer helps, so that a reader can decide without another search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from forebay._core import parse_quantity
from forebay.errors import InputError
from forebay.results.report import Report
from forebay.results.warning import Kind, Warning
from forebay.scenario import TARGET, Scenario
from forebay.search.evidence import Evidence
from forebay.search.range_variable import RangeVariable
from forebay.search.rule_verdict import mean_of
from forebay.text.formatting import bandwidth, exactly, value

__all__ = ["FEW_PACKETS", "HIGH_LOSS", "STARVED", "port_warnings"]

#: Share of lost packets above which a reader is warned.
HIGH_LOSS = 0.01
#: Most links in a sentence.
MOST_LINKS = 3
#: Share of its fair rate below which a group starves.
STARVED = 0.1
#: Packets below which a buffer is tiny, from this rate in bits per second on.
FEW_PACKETS, FAST_BPS = 20, 1e9


@dataclass(frozen=True, slots=True)
class _Point:
    """One measured buffer: its place in the search, its means, and the goodput of each group in bits per second."""

    at: int
    loss: float | None
    goodput_bps: Mapping[str, float]
    meets_all: bool


def port_warnings(evidence: Evidence) -> tuple[Warning, ...]:
    """The warnings about the port at the answer, or at the buffer nearest to all goals where the runs decide nothing.

    Parameters
    ----------
    evidence : Evidence
        A search that is over, with what it measured.

    Returns
    -------
    tuple of Warning
        Warnings of the kinds HIGH_LOSS, LOSS_ELSEWHERE, STARVED_GROUP and TINY_BUFFER; none of a deadlock, which
        explains all of them.
    """
    outcome = evidence.outcome
    answer = outcome.buffer
    if answer is None and not outcome.impossible:
        answer = outcome.compromise
    if answer is None:
        return ()
    number = partial(_number, evidence)
    curve = [_point(evidence, at) for at in sorted(evidence.measure.buffers(), key=number)]
    here = next((point for point in curve if point.at == answer), None)
    if here is None:
        return ()
    # If the range is no buffer, every other value counts.
    larger = [point for point in curve if not _is_buffer(evidence) or number(point.at) > number(answer)]
    larger = [point for point in larger if point is not here]
    reports = evidence.measure.at(answer)
    if any(report.is_deadlocked for report in reports):
        return ()
    return (
        *_of_loss(evidence, here, larger),
        *_of_other_links(evidence.scenario, reports),
        *_of_groups(evidence, here, larger),
        *_of_size(evidence, here, larger),
    )


def _point(evidence: Evidence, at: int) -> _Point:
    """The means of all runs at one buffer."""
    reports = evidence.measure.at(at)
    losses = [report.metrics["loss_rate"].mean for report in reports if "loss_rate" in report.metrics]
    each: dict[str, list[float]] = {}
    for group in (group for report in reports for group in report.groups if "goodput_bps" in group.metrics):
        each.setdefault(group.name, []).append(group.metrics["goodput_bps"].mean)
    goodputs = {name: fmean(found) for name, found in each.items()}
    meets_all = all(goal.margin(mean_of(goal, reports)) >= 0 for goal in evidence.scenario.goals)
    return _Point(at, fmean(losses) if losses else None, goodputs, meets_all)


def _number(evidence: Evidence, at: int) -> float:
    """The value for which a place of the search stands."""
    return float(evidence.variable.sized(at).number)


def _is_buffer(evidence: Evidence) -> bool:
    """Whether buffers are varied, of whatever queue."""
    return not isinstance(evidence.variable, RangeVariable) or evidence.variable.key == TARGET


def _more(evidence: Evidence) -> str:
    """The alternative of a reader, at the beginning of a sentence."""
    return "A larger buffer" if _is_buffer(evidence) else "Another value"


def _first(found: Iterable[_Point]) -> _Point | None:
    """The smallest of some measured buffers that meets all goals, else the smallest of them."""
    return min(found, key=lambda point: not point.meets_all, default=None)


def _goals_there(point: _Point) -> str:
    return ", and all goals are met there" if point.meets_all else ", but a goal is missed there"


# Loss --------------------------------------------------------------------------------------------------------------


def _of_loss(evidence: Evidence, here: _Point, larger: Sequence[_Point]) -> Iterator[Warning]:
    """Loss above 1 % where no goal limits the loss of the link or of every group."""
    if here.loss is None or here.loss <= HIGH_LOSS or _loss_is_a_goal(evidence.scenario):
        return
    lost = f"{_lost(here.loss)} of the packets are lost at {evidence.words([here.at])}."
    values = {"loss_rate": here.loss, "at": float(here.at)}
    yield Warning(Kind.HIGH_LOSS, f"{lost} {_loss_at_larger_buffers(evidence, here, larger)}", values=values)


def _of_other_links(scenario: Scenario, reports: Sequence[Report]) -> Iterator[Warning]:
    """Links that a goal on loss is not about, and that lose more than it allows: the packets are lost all the same."""
    allowed = [goal.threshold for goal in scenario.goals if goal.name.rpartition(".")[2] == "loss_rate"]
    if not allowed:
        return
    losses: dict[str, list[float]] = {}
    for link in (link for report in reports for link in report.links if "loss_rate" in link.metrics):
        losses.setdefault(link.name, []).append(link.metrics["loss_rate"].mean)
    found = {name: fmean(each) for name, each in losses.items() if fmean(each) > max(allowed)}
    if not found:
        return
    worst = sorted(found, key=lambda name: -found[name])
    names = ", ".join(f"{name} {_lost(found[name])}" for name in worst[:MOST_LINKS])
    more = f" and {len(worst) - MOST_LINKS} others" if len(worst) > MOST_LINKS else ""
    about = "the ports with the role of the target" if "fabric" in scenario.resolved else "the target link"
    text = f"The goal on loss is about {about}. Other links lose more than it allows: {names}{more}."
    yield Warning(Kind.LOSS_ELSEWHERE, text, values={"links": len(worst), "loss_rate": found[worst[0]]})


def _loss_is_a_goal(scenario: Scenario) -> bool:
    """Whether a goal limits the loss of the link, or goals limit that of every group."""
    names = {goal.name for goal in scenario.goals}
    groups = [name for name, *_ in scenario.core.groups]
    return "loss_rate" in names or (bool(groups) and all(f"{group}.loss_rate" in names for group in groups))


def _loss_at_larger_buffers(evidence: Evidence, here: _Point, larger: Sequence[_Point]) -> str:
    """Whether a larger buffer lowers the loss."""
    more, known = _more(evidence), [point for point in larger if point.loss is not None]
    if not known or here.loss is None:
        return f"{more} was not measured."
    fine = _first(point for point in known if _loss(point) <= HIGH_LOSS)
    if fine is not None:
        return f"{more} helps: {_lost(_loss(fine))} at {evidence.words([fine.at])}{_goals_there(fine)}."
    least = min(known, key=_loss)
    lost, place = _lost(_loss(least)), evidence.words([least.at])
    if _loss(least) <= here.loss / 2:
        return f"{more} helps partly: {lost} at {place}{_goals_there(least)}."
    return f"{more} does not help: the loss is {lost} at {place}."


def _loss(point: _Point) -> float:
    return 1.0 if point.loss is None else point.loss


def _lost(share: float) -> str:
    """A share of lost packets, to two digits."""
    return exactly(value("loss_rate", float(f"{share:.2g}")))


# Groups ------------------------------------------------------------------------------------------------------------


def _of_groups(evidence: Evidence, here: _Point, larger: Sequence[_Point]) -> Iterator[Warning]:
    """Groups of persistent flows that get less than a tenth of their share of the rate."""
    for name, share_bps in _shares(evidence.scenario).items():
        found = here.goodput_bps.get(name)
        if found is None or found >= STARVED * share_bps:
            continue
        text = (
            f"Group `{name}` gets {bandwidth(found)} at {evidence.words([here.at])}, less than a tenth of its share of "
            f"{bandwidth(share_bps)}. {_goodput_at_larger_buffers(evidence, name, found, share_bps, larger)}"
        )
        values = {"goodput_bps": found, "share_bps": share_bps, "at": float(here.at)}
        yield Warning(Kind.STARVED_GROUP, text, subject=name, values=values)


def _shares(scenario: Scenario) -> Mapping[str, float]:
    """The fair rate of each group of persistent flows at the target link, in bits per second.

    A group that its access link or its receive window holds below that rate has the lower one: it is limited by itself.
    """
    target = next(str(link["name"]) for link in scenario.resolved["links"] if link["target"])
    groups = [
        (group, int(group["count"]))
        for group in scenario.resolved["flows"]
        if group.get("workload") == "persistent"
        and isinstance(group.get("count"), int)
        and target in group.get("path", ())
    ]
    flows = sum(count for _, count in groups)
    shares = {}
    for group, count in groups:
        own = [count * each for each in _own_limits_bps(scenario, group)]
        shares[str(group["name"])] = min([scenario.core.rate_bps * count / flows, *own])
    return shares


def _own_limits_bps(scenario: Scenario, group: Mapping[str, Any]) -> Iterator[float]:
    """The rates that a flow of a group cannot exceed by itself, as far as they are plain numbers."""
    access = _quantity((group.get("access") or {}).get("rate"), "rate")
    if access is not None:
        yield access
    window, rtt = _window_bytes(scenario, group), scenario.core.longest_rtt_s
    if window is not None and rtt:
        yield 8 * window / rtt


def _window_bytes(scenario: Scenario, group: Mapping[str, Any]) -> float | None:
    """The receive window in bytes, where it is a plain number of packets or bytes."""
    window = group.get("receive_window")
    packets = _quantity(window, "packets")
    if packets is not None:
        return packets * (_quantity(group.get("packet"), "bytes") or scenario.core.packet_bytes)
    return _quantity(window, "bytes")


def _quantity(text: object, dimension: Any) -> float | None:
    """A quantity that is a plain number; None for a distribution or another unit."""
    if not isinstance(text, str):
        return None
    try:
        return parse_quantity(text, dimension)
    except (InputError, ValueError):
        return None


def _goodput_at_larger_buffers(
    evidence: Evidence, name: str, here_bps: float, share_bps: float, larger: Sequence[_Point]
) -> str:
    """Whether a larger buffer gives a group more."""
    more, known = _more(evidence), [point for point in larger if name in point.goodput_bps]
    if not known:
        return f"{more} was not measured."
    fine = _first(point for point in known if point.goodput_bps[name] >= STARVED * share_bps)
    if fine is not None:
        got, place = bandwidth(fine.goodput_bps[name]), evidence.words([fine.at])
        return f"{more} helps: the group gets {got} at {place}{_goals_there(fine)}."
    most = max(known, key=lambda point: point.goodput_bps[name])
    got, place = bandwidth(most.goodput_bps[name]), evidence.words([most.at])
    if most.goodput_bps[name] >= 2 * here_bps:
        return f"{more} helps partly: the group gets {got} at {place}{_goals_there(most)}."
    return f"{more} does not help: the group gets at most {got}, at {place}."


# Size --------------------------------------------------------------------------------------------------------------


def _of_size(evidence: Evidence, here: _Point, larger: Sequence[_Point]) -> Iterator[Warning]:
    """Fewer than 20 packets at 1 Gb/s or more: bursts that the scenario does not have may not fit."""
    rate = evidence.scenario.core.rate_bps
    if evidence.variable.key != TARGET or rate < FAST_BPS:
        return
    packets = _number(evidence, here.at)
    if packets >= FEW_PACKETS:
        return
    few = evidence.words([here.at])
    text = (
        f"{few} {'is' if few.startswith('1 ') else 'are'} a small buffer at {exactly(bandwidth(rate))}: network cards "
        f"and hosts may send larger bursts than this scenario. {_larger_note(evidence, here, larger)}"
    )
    yield Warning(Kind.TINY_BUFFER, text, values={"packets": packets, "rate_bps": rate})


def _larger_note(evidence: Evidence, here: _Point, larger: Sequence[_Point]) -> str:
    """Whether the simulated traffic fares better with more room."""
    known = [point for point in larger if point.loss is not None and point.at >= FEW_PACKETS]
    if not known or here.loss is None:
        return f"{_more(evidence)} was not measured."
    if here.loss < 1e-4:
        roomy = known[0]
        return f"{_more(evidence)} can hold them: {evidence.words([roomy.at])}{_goals_there(roomy)}."
    better = _first(point for point in known if _loss(point) <= here.loss / 2)
    if better is None:
        least = min(known, key=_loss)
        return (
            f"A larger buffer does not lower the loss of {_lost(here.loss)}: it is {_lost(_loss(least))} at "
            f"{evidence.words([least.at])}."
        )
    lost, place = _lost(_loss(better)), f"{evidence.words([better.at])}{_goals_there(better)}"
    return f"A larger buffer helps: the loss is {lost} instead of {_lost(here.loss)} at {place}."
