"""`size_port`: headroom, xoff, K, alpha and pool of a lossless port that meet every goal together.

`port_values` reads the values of the target link, and `port_steps` searches and confirms them. This module makes the
answer. A lossless port has the goal that it loses nothing, and a lossless class that its groups lose nothing, unless
the scenario has another goal on this loss. Lossy classes beside it have a buffer or an alpha.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.configuration.configuring import check
from forebay.configuration.jitter import Jitter, jittered
from forebay.engines import run_s
from forebay.results.warning import Warning
from forebay.scenario import Progress, Scenario
from forebay.search.evidence_warnings import warnings
from forebay.search.goals import Goals
from forebay.search.joint_answer import configurations, deadline, joint_answer, take, undemanded
from forebay.search.listener import Callbacks
from forebay.search.measurements import Means
from forebay.search.options import Execution, Extras, Precision
from forebay.search.port_answer import PortSizing, SizedHeadroom, SizedValue
from forebay.search.port_goals import lossless_goals
from forebay.search.port_steps import PortSteps
from forebay.search.port_values import PortValue, port_values
from forebay.search.rare_states import Lengthened, lengthened
from forebay.search.shorter_runs import ShorterRuns
from forebay.search.strata import strata
from forebay.search.unmeasured import of_assumptions

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["PortSizing", "size_port"]


def size_port(
    scenario: Scenario,
    goals: Iterable[str] = (),
    *,
    engine: str = "packet",
    confidence: float = 0.95,
    resolution: float = 0.05,
    quick: bool = False,
    within: float | None = None,
    platforms: Iterable[str] = (),
    access: str | None = None,
    download: str | None = None,
    upload: str | None = None,
    jitter: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
    known: Callable[[str], object] | None = None,
) -> PortSizing:
    """Find headroom, xoff, K, alpha and pool of a lossless port that meet every goal together, by simulation.

    Parameters
    ----------
    scenario : Scenario
        Its target link or one of its classes has `pfc`. K is sized if a lossless queue marks, and alpha if it is
        configured. Of lossy classes the buffer or alpha is sized. The pool is the `memory` of the link, or its buffer.
    goals : iterable of str
        Such as "pause_time<=2ms"; they replace the scenario's own on the same metrics and add to the others.
    engine : str
        The engine that measures.
    confidence : float
        One-sided confidence with which all goals hold together.
    resolution : float
        How close to the smallest value each search goes, as a fraction of it, as far as noise allows.
    quick : bool
        Whether to answer from few and short runs, at a confidence of at most 80 %.
    within : float, optional
        Seconds after which the answer is "undecided", unless it is confirmed before.
    platforms : iterable of str
        Platforms such as "sonic" whose configuration of the port the answer also gives.
    access : str, optional
        The access line that the target link is, such as "docsis".
    download, upload : str, optional
        Rate of the access line in the direction that was not simulated, as in "250Mbps".
    jitter : bool
        Whether to add a packet time of jitter to every round trip and to spread the starts, wherever the scenario says
        nothing random of flows that react.
    jobs : int, optional
        Threads; the answer does not depend on their number.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads, with the same answer.
    progress : callable, optional
        Called with the runs done and those expected in all.
    resume : Path, optional
        A directory in which finished runs are kept until the answer is there: an interrupted call goes on from them.
    tell : callable, optional
        Called with a line on what was found there.
    known : callable, optional
        Called with what is known of the answer so far.

    Returns
    -------
    PortSizing
        Its `verdict` is "met" or "undecided".

    Raises
    ------
    InputError
        If neither the target link nor one of its classes has `pfc`, or with a goal on something that the engine does
        not report.

    Examples
    --------
    >>> port = forebay.Scenario.parse('''
    ... [link]
    ... rate = "100Gbps"
    ... buffer = "10MB"
    ... pfc = { xoff = "60kB", xon = "30kB", headroom = "70kB", cable = "300m" }
    ... [[flows]]
    ... rtt = "20us"
    ... access = { rate = "100Gbps" }
    ... workload = { incast = { servers = 8, size = "300kB", pause = "1ms" } }
    ... [run]
    ... warmup = "0s"
    ... measure = "5ms"
    ... ''')
    >>> sizing = forebay.size_port(port, quick=True)
    >>> sizing["headroom"].nearest % 1024, sizing.headroom.senders
    (0, 8)
    """
    precision = Precision(confidence, resolution, quick=quick, within=within)
    execution = Execution(engine, jobs, scheduler, resume, Callbacks(progress, tell, known))
    extras = Extras((), tuple(platforms), access, download, upload, jitter=jitter)
    return _sized(scenario, Goals(tuple(goals), needed=False), precision, execution, extras)


def _sized(scenario: Scenario, goals: Goals, precision: Precision, execution: Execution, extras: Extras) -> PortSizing:
    """Take the steps, and make the answer of them."""
    started = time.perf_counter()
    port_values(scenario)
    systems = check(extras.platforms, scenario)
    requested = goals.added_to(scenario, execution.engine)
    own = lossless_goals(port_values(requested))
    if own:
        requested = Goals(own).added_to(requested, execution.engine)
    requested, added = jittered(requested) if extras.jitter else (requested, None)
    runs = lengthened(requested)
    looked = ShorterRuns(runs.scenario).quick if precision.quick else runs.scenario
    execution.announce(run_s(looked.core))
    with execution.open(quick=precision.quick) as means:
        steps = _steps(looked, precision, means)
        if not runs.decided or runs.missed_later:
            steps.leave_undecided()
        answer = _answer(steps, runs, added, started)
    answer = replace(answer, scenario=requested).resting_on(of_assumptions(scenario.assumed))
    sized = answer.sized if answer.feasible else None
    return replace(answer, configurations=tuple(configurations(sized, "values", systems, extras.line)))


def _steps(scenario: Scenario, precision: Precision, means: Means) -> PortSteps:
    """Take the steps until the answer is there or the time is over."""
    steps = PortSteps(precision, means, deadline(precision), strata(scenario.core), port_values(scenario))
    take(steps)
    return steps


def _answer(steps: PortSteps, runs: Lengthened, jitter: Jitter | None, started: float) -> PortSizing:
    """The values, with the result of every goal there."""
    joint = joint_answer(steps, steps.variable, runs, jitter, started)
    return PortSizing(
        **joint.facts,
        values=tuple(_value(steps, each, joint.place, found=joint.found) for each in steps.values.every),
        headrooms={each: _headroom(steps, each, joint.place) for each in steps.values.needs},
        warnings=tuple(dict.fromkeys((*warnings(joint.evidence), *_undemanded(steps)))),
    )


def _undemanded(steps: PortSteps) -> Iterator[Warning]:
    """Warnings about lossy classes for which no goal needs a large buffer."""
    classes = steps.values.classes
    if classes is None or steps.outcome.buffer is None:
        return
    for each in classes.every:
        label = f"{each.name}.buffer"
        if each.name not in steps.values.needs and label in steps.values and steps.states[label].unchanged:
            yield undemanded(each)


def _headroom(steps: PortSteps, traffic_class: str, at: int) -> SizedHeadroom:
    """The headroom of a lossless queue in a combination, with its parts."""
    need, reports = steps.values.needs[traffic_class], steps.measures[0].at(at)
    value = next(each for each in steps.values.named("headroom") if each.traffic_class == traffic_class)
    size = int(steps.values.limit(value.label, steps.variable.at[at]))
    if len(steps.values.needs) > 1:
        # The metric is that of all classes together.
        reports = []
    used = [report.metrics["headroom_max_bytes"].mean for report in reports if "headroom_max_bytes" in report.metrics]
    return SizedHeadroom(
        exact_bytes=need.exact,
        delay_bytes=need.delay_bytes,
        packet_bytes=need.packet_bytes,
        bytes=size,
        wasted_bytes=max(0, math.floor(size - need.exact)),
        used_bytes=max(used, default=None),
        senders=need.senders,
    )


def _value(steps: PortSteps, of: PortValue, at: int, *, found: bool) -> SizedValue:
    """One value of a combination."""
    place, state = steps.variable.at[at][of.label], steps.states[of.label]
    number = of.number(place)
    return SizedValue(
        name=of.label,
        traffic_class=of.traffic_class,
        key=of.key,
        settings=dict(of.settings(place)),
        unit="" if of.is_alpha else "bytes" if of.step else "packets",
        recommended=number if found else None,
        nearest=number,
        configured=of.configured,
        memory_bytes=_memory(steps, of, number),
        binding_goal=state.binding,
        unchanged=state.unchanged,
    )


def _memory(steps: PortSteps, of: PortValue, number: float) -> float | None:
    """Memory of all senders for a value."""
    if of.name in ("buffer", "pool"):
        return steps.values.in_bytes(of, number)
    if of.name in ("headroom", "xoff"):
        senders = steps.values.needs[of.traffic_class].senders
        return None if senders is None else senders * number
    return None
