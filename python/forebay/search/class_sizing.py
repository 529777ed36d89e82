"""`size_classes`: the smallest buffers of all classes of a port with which every goal holds, confirmed together.

The steps of a sizing:

1. Measure the configured buffers. If a goal on the whole link fails there, scale all buffers until it holds.
2. For each class, in the order in which classes are served, search the smallest buffer that meets the goals which this
   class decides, while the other buffers stay. Goals on a group are decided by its class. Goals on the link are decided
   by one class, which comes last: the one whose flows fill the link.
3. Search each class again, because the buffer of a class changes the share of the others.
4. Put all buffers together to fresh runs. A refusal enlarges the buffers of the refused goals and tests again, at half
   of the error that is left.

`class_steps.py` takes the steps, and `joint_buffers.py` makes a place of several buffers. The searches are those of
`recommend`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.configuration.configuring import check
from forebay.configuration.jitter import Jitter, jittered
from forebay.engines import run_s
from forebay.errors import InputError
from forebay.fabric.simulated_headroom import is_lossless
from forebay.results.warning import Kind, Warning
from forebay.scenario import Progress, Scenario
from forebay.search.buffer_variable import BufferVariable
from forebay.search.class_answer import ClassSize, ClassSizing
from forebay.search.class_steps import ClassSteps
from forebay.search.evidence import Evidence
from forebay.search.evidence_warnings import warnings
from forebay.search.goals import Goals
from forebay.search.joint_answer import configurations, deadline, joint_answer, take, undemanded
from forebay.search.listener import Callbacks
from forebay.search.measurements import Means
from forebay.search.options import Execution, Extras, Precision
from forebay.search.port_classes import PortClass, PortClasses, port_classes
from forebay.search.port_warnings import port_warnings
from forebay.search.rare_states import Lengthened, lengthened
from forebay.search.shorter_runs import ShorterRuns
from forebay.search.strata import strata
from forebay.search.unmeasured import of_assumptions
from forebay.text.formatting import counted

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["ClassSize", "ClassSizing", "size_classes"]

#: Packets below which a class's buffer may not hold the bursts of real sources.
FEW = 5


def size_classes(
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
) -> ClassSizing:
    """Find the smallest buffers of all classes of the target link that meet every goal together, by simulation.

    Parameters
    ----------
    scenario : Scenario
        Its target link has `queue = { kind = "classes", ... }`.
    goals : iterable of str
        Such as "voice.loss_rate<=0.1%"; they replace the scenario's own on the same metrics and add to the others.
    engine : str
        The engine that measures.
    confidence : float
        One-sided confidence with which all goals hold together.
    resolution : float
        How close to the smallest buffer each search goes, as a fraction of it, as far as noise allows.
    quick : bool
        Whether to answer from few and short runs, at a confidence of at most 80 %.
    within : float, optional
        Seconds after which the answer is "undecided", unless it is confirmed before.
    platforms : iterable of str
        Platforms such as "linux" whose configuration of the port the answer also gives.
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan": Linux and OpenWrt shape below
        its rate then, and count its framing.
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
    ClassSizing
        Its `verdict` says whether there are such buffers.

    Raises
    ------
    InputError
        Without classes, with a lossless class, without goals, or with a goal on something that the engine does not
        report.

    Examples
    --------
    >>> sizing = forebay.size_classes(forebay.Scenario.load("@voice-and-data"), quick=True)
    >>> [each.name for each in sizing.classes]
    ['voice', 'web', 'bulk']
    """
    precision = Precision(confidence, resolution, quick=quick, within=within)
    execution = Execution(engine, jobs, scheduler, resume, Callbacks(progress, tell, known))
    extras = Extras((), tuple(platforms), access, download, upload, jitter=jitter)
    return _sized(scenario, Goals.of(goals), precision, execution, extras)


def _sized(scenario: Scenario, goals: Goals, precision: Precision, execution: Execution, extras: Extras) -> ClassSizing:
    """Take the steps, and make the answer of them."""
    started = time.perf_counter()
    if is_lossless(scenario.resolved):
        text = "found a lossless class; allowed: `forebay recommend` or size_port, which size the values of all classes"
        raise InputError(text, "classes")
    classes = port_classes(scenario).by_buffer
    systems = check(extras.platforms, scenario)
    requested = goals.added_to(scenario, execution.engine)
    requested, added = jittered(requested) if extras.jitter else (requested, None)
    runs = lengthened(requested)
    looked = ShorterRuns(runs.scenario).quick if precision.quick else runs.scenario
    execution.announce(run_s(looked.core))
    with execution.open(quick=precision.quick) as means:
        steps = _steps(replace(classes, scenario=looked), precision, means)
        if not runs.decided or (runs.missed_later and not steps.impossible):
            steps.leave_undecided()
        answer = _answer(steps, runs, added, started)
    answer = replace(answer, scenario=requested).resting_on(of_assumptions(scenario.assumed))
    sized = answer.sized if answer.feasible else None
    return replace(answer, configurations=tuple(configurations(sized, "buffers", systems, extras.line)))


def _steps(classes: PortClasses, precision: Precision, means: Means) -> ClassSteps:
    """Take the steps until the answer is there or the time is over."""
    steps = ClassSteps(precision, means, deadline(precision), strata(classes.scenario.core), classes)
    take(steps)
    return steps


def _answer(steps: ClassSteps, runs: Lengthened, jitter: Jitter | None, started: float) -> ClassSizing:
    """The buffers, with the result of every goal there."""
    joint = joint_answer(steps, steps.variable, runs, jitter, started)
    return ClassSizing(
        **joint.facts,
        classes=tuple(_class_size(steps, each, joint.place, found=joint.found) for each in steps.classes.every),
        total=steps.variable.sized(joint.place) if joint.found else None,
        warnings=tuple(dict.fromkeys(_warnings(steps, joint.evidence, joint.place))),
    )


def _class_size(steps: ClassSteps, of: PortClass, place: int, *, found: bool) -> ClassSize:
    sizes, state = steps.variable.at[place], steps.states[of.key]
    buffer = BufferVariable(steps.classes.scenario, of.key)
    nearest = buffer.sized(sizes[of.key])
    return ClassSize(
        name=of.name,
        key=of.key,
        buffer=nearest if found else None,
        nearest=nearest,
        configured=buffer.size,
        goals=tuple(goal.key for goal in steps.classes.decided_by(of)),
        binding_goal=state.binding,
        unchanged=state.unchanged,
    )


def _warnings(steps: ClassSteps, evidence: Evidence, place: int) -> Iterator[Warning]:
    """The warnings about the answer."""
    yield from port_warnings(evidence)
    yield from warnings(evidence)
    yield from _undemanded(steps)
    yield from _few(steps, place)


def _undemanded(steps: ClassSteps) -> Iterator[Warning]:
    """Warnings about classes for which no goal needs a large buffer."""
    names = [each for each in steps.classes.every if steps.states[each.key].unchanged]
    for each in names if steps.outcome.buffer is not None else ():
        yield undemanded(each)


def _few(steps: ClassSteps, place: int) -> Iterator[Warning]:
    """The recommended buffers that hold only a few packets."""
    sizes = steps.variable.at[place]
    few = [each for each in steps.classes.every if sizes[each.key] < FEW]
    if few and steps.outcome.buffer is not None:
        names = " and ".join(_class_text(each.name, sizes[each.key]) for each in few)
        text = f"The buffer is small for {names}: real sources may send larger bursts than this scenario."
        yield Warning(Kind.FEW_PACKETS, text, subject=few[0].name)


def _class_text(name: str, packets: int) -> str:
    """A class with its buffer."""
    return f"`{name}` ({counted(packets, 'packet')})"
