"""`recommend`: the smallest buffer that meets the goals, compared with the buffers of all rules.

The function behind the verb and `forebay.recommend`: its keywords become options, each choice becomes a question, and
each question an answer. The package's page (`forebay.search`) has the stages.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.configuration.configuring import check
from forebay.engines import run_s, simulates_hosts
from forebay.scenario import TARGET, Progress, Scenario
from forebay.search import findings
from forebay.search.answer import Recommendation
from forebay.search.answering import answer_of, configurations
from forebay.search.choice import cases, of_all
from forebay.search.evidence import Evidence
from forebay.search.goals import Goals
from forebay.search.listener import Callbacks, Labeled
from forebay.search.measurements import Means
from forebay.search.optimizing import objective
from forebay.search.options import Execution, Extras, Precision, Sizing
from forebay.search.question import Question
from forebay.search.ranking import compared
from forebay.search.searching import Searching
from forebay.search.shorter_runs import ShorterRuns
from forebay.search.tradeoff import front
from forebay.search.unmeasured import of_assumptions, resting_on
from forebay.search.variations import variations

if TYPE_CHECKING:
    from forebay.measurement.cluster import Cluster

__all__ = ["Recommendation", "recommend"]


def recommend(
    scenario: Scenario,
    goals: Iterable[str] = (),
    *,
    also: Iterable[str] = (),
    engine: str = "packet",
    confidence: float = 0.95,
    resolution: float = 0.05,
    replications: int | None = None,
    fraction: float | None = None,
    quick: bool = False,
    within: float | None = None,
    sensitivity: bool = False,
    platforms: Iterable[str] = (),
    access: str | None = None,
    download: str | None = None,
    upload: str | None = None,
    pareto: str | None = None,
    over: str | Sequence[str] = TARGET,
    largest: bool = False,
    minimize: str | None = None,
    maximize: str | None = None,
    jitter: bool = False,
    jobs: int | None = None,
    scheduler: str | Cluster | None = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    tell: Callable[[str], object] | None = None,
    known: Callable[[str], object] | None = None,
) -> Recommendation:
    """Find the smallest buffer that meets the goals, by simulation.

    Parameters
    ----------
    scenario : Scenario
        The link and its traffic; its own buffer is measured as one of many, and says whether the limit is in packets
        or bytes.
    goals : iterable of str
        Such as "utilization>=0.99"; they replace the scenario's own on the same metrics and add to the
        others. Several on one metric all count.
    also : iterable of str
        Buffers such as "20p" or "0.5BDP" to measure beside those of the rules. The scenario's own always is.
    engine : str
        The engine: "packet", or "fluid" for a quick look.
    confidence : float
        One-sided confidence with which the goals hold at the answer.
    resolution : float
        How close to the smallest buffer the search goes, as a fraction of it, where noise lets it.
    replications : int, optional
        At the first look at each buffer, at least 2; 1 by default, and with `fraction` the scenario's own number, but
        at least 4.
    fraction : float, optional
        Then all goals have to hold at once in this fraction of the replications, each of which draws what the scenario
        does not know (`count = { poisson = 40 }`); else they are about the mean over the replications.
    quick : bool
        Whether to answer from a handful of replications, in about a second, with a wider interval and what confidence
        they have.
    within : float, optional
        Seconds after which the best answer so far is given, unless there is a confident one before.
    sensitivity : bool
        Whether to repeat the search with the number of flows, the round trips and the load 20 % lower and higher.
    platforms : iterable of str
        Platforms such as "ios-xr" or "linux" whose configuration the answer also gives.
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan": Linux and OpenWrt shape below
        its rate then, and count its framing.
    download, upload : str, optional
        Rate of the access line in the direction that was not simulated, as in "250Mbps".
    pareto : str, optional
        Two metrics, as in "utilization,queue_delay_p99", whose trade-off over the measured buffers the answer also
        gives.
    over : str or sequence of str
        The key of the buffer to size while every other one stays, such as "link.queue.classes.voice.buffer" or
        "links.uplink.buffer"; the target link's by default. Rules speak of that one only. Or any key with a range, as
        in "link.queue.threshold=5p..500p": the smallest value that meets the goals. Beside it, or alone, keys with a
        list of values, as in "flows.*.cca=cubic,bbr": the best of the answers with each of them, and all in
        `alternatives`.
    largest : bool
        Whether the largest value is asked for instead; of a range, or of a buffer.
    minimize, maximize : str, optional
        A metric, as in "queue_delay_p99": the answer is then where it is lowest or highest, of all that meet the goals,
        of which there need not be any; `optimum` says how well it is told from its neighbors.
    jitter : bool
        Whether to add a packet time of jitter to every round trip and to spread the starts, wherever the scenario says
        nothing random of flows that react; then they cannot move in step.
    jobs : int, optional
        Threads; the answer does not depend on it. An engine in real time takes one.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads, with the same answer; none
        measures in real time.
    progress : callable, optional
        Called with the replications done and those expected in all.
    resume : Path, optional
        A directory in which finished replications are kept until the answer is there: a call that was interrupted goes
        on from them, with the same answer. Nothing is kept by default.
    tell : callable, optional
        Called with a line on what was found there, and on how long a replication in real time takes.
    known : callable, optional
        Called with what is known of the answer so far, as in "between 40 and 90 packets".

    Returns
    -------
    Recommendation
        Its `feasible` says whether there is such a buffer.

    Raises
    ------
    InputError
        Without goals, or with a goal on something that the engine does not report.
    ContradictionError
        With two goals on one metric that no value can meet both.

    Examples
    --------
    >>> answer = forebay.recommend(forebay.Scenario.load("@dsl-access"), quick=True)
    >>> answer.verdict, answer.packets < 64
    ('met', True)
    """
    precision = Precision(confidence, resolution, replications, fraction, quick=quick, within=within)
    execution = Execution(engine, jobs, scheduler, resume, Callbacks(progress, tell, known))
    sizing = Sizing(over if isinstance(over, str) else tuple(over), largest, minimize, maximize)
    extras = Extras(
        tuple(also), tuple(platforms), access, download, upload, pareto, sensitivity=sensitivity, jitter=jitter
    )
    return _recommended(scenario, tuple(goals), sizing, precision, execution, extras)


def _recommended(
    scenario: Scenario,
    goals: tuple[str, ...],
    sizing: Sizing,
    precision: Precision,
    execution: Execution,
    extras: Extras,
) -> Recommendation:
    """The best answer of all choices."""
    started = time.perf_counter()
    precision.budget.refuse_combination(
        fraction=precision.fraction,
        replications=precision.replications,
        minimize=sizing.minimize,
        maximize=sizing.maximize,
    )
    systems = check(extras.platforms, scenario)
    chosen = cases(scenario, sizing.choices)
    best_of = objective(scenario, sizing.minimize, sizing.maximize, execution.engine)
    sizing.refuse_combination(
        sensitivity=extras.sensitivity, fraction=precision.fraction is not None, largest=sizing.largest
    )
    asked_goals = Goals(goals, needed=best_of is None)
    questions = [
        Question.of(case, execution.engine, asked_goals, sizing, extras, precision.resolution) for _, case in chosen
    ]
    looked = ShorterRuns(scenario).quick if precision.quick else scenario
    execution.announce(run_s(looked.core))
    each = precision.among(len(chosen))
    at_once = execution.threads if simulates_hosts(execution.engine) and execution.scheduler is None else None
    found: list[tuple[Evidence, Recommendation]] = []
    with execution.open(quick=precision.quick) as means:
        for question, (choice, _) in zip(questions, chosen, strict=True):
            searching = Searching(question, each, _labeled(means, choice), _runs(found), at_once)
            result = searching.run(best_of)
            found.append((result.evidence, answer_of(question, result, each)))
        best, alternatives = compared(
            [choice for choice, _ in chosen], [answer for _, answer in found], precision.requested_confidence
        )
        evidence, answer = found[best]
        complete = dataclasses.replace(
            answer,
            confidence=of_all(answer.confidence, len(chosen), precision.requested_confidence),
            goals={
                key: dataclasses.replace(
                    goal, confidence=of_all(goal.confidence, len(chosen), precision.requested_confidence)
                )
                for key, goal in answer.goals.items()
            },
            level=precision.requested_confidence,
            choice=chosen[best][0],
            alternatives=alternatives if sizing.choices else (),
            sensitivity=variations(evidence) if extras.sensitivity else None,
            configurations=tuple(configurations(answer, systems, extras.line)),
            pareto=None if extras.pareto is None else front(answer, extras.pareto),
            # Last of what takes time.
            cost=findings.cost(
                [each.measure for each, _ in found],
                time.perf_counter() - started,
                (each.companion for each, _ in found),
            ),
        )
        return resting_on(complete, of_assumptions(scenario.assumed))


def _labeled(means: Means, choice: Mapping[str, str]) -> Means:
    """The same means with the name of a choice before what is known of its answer."""
    if not choice:
        return means
    return dataclasses.replace(means, listener=Labeled(means.listener, ", ".join(choice.values())))


def _runs(found: Iterable[tuple[Evidence, Recommendation]]) -> int:
    """Runs of the searches so far, those of twins included."""
    return sum(each.measure.runs + (0 if each.companion is None else each.companion.runs) for each, _ in found)
