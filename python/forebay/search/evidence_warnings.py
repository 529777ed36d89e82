"""The warnings about the evidence of a search: what a reader must know of its runs, its states and its coincidences.

`answering` and `checking` add them to their answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forebay.configuration.jitter import Jitter, jittered
from forebay.engines import simulates_hosts
from forebay.phase_effects import phase_effects
from forebay.results.warning import Kind, Warning
from forebay.search.evidence import Evidence
from forebay.search.independence import different, enough, in_step
from forebay.search.port_warnings import port_warnings
from forebay.search.range_variable import RangeVariable
from forebay.search.twins import one_message
from forebay.text.formatting import duration

__all__ = ["warnings"]

#: Names in a sentence at most.
MOST_NAMES = 4
#: Buffers within this factor of the answer are near it.
NEAR = 2
#: Warnings of runs that have one cause whatever they are about, as one sentence.
ONE_CAUSE: Mapping[Kind, str] = {
    Kind.METRIC_LEFT_OUT: "at {places}: some replications lack metrics, which are omitted{names}",
    Kind.FEW_DROPS: "at {places}: few packets were dropped in single runs, so the loss rates are inexact; measure "
    "longer",
    Kind.FEW_CONGESTION_EVENTS: (
        "at {places}: single runs have few congestion events, so the means may depend on the measured time"
    ),
}


def warnings(evidence: Evidence) -> tuple[Warning, ...]:
    """The warnings about the evidence, of the search and of the runs, and about coincidences."""
    found = (
        *_of_states(evidence),
        *_of_length(evidence),
        *port_warnings(evidence),
        *_of_independence(evidence),
        *_of_jitter(evidence.jitter),
        *_of_search(evidence),
        *_of_runs(evidence),
        *_of_warmup(evidence),
        *phase_effects(evidence.scenario.core, evidence.measure.engine),
    )
    place = "" if evidence.twin is None else evidence.words([evidence.at_answer()[0]])
    return one_message(found, evidence.twin, place)


def _of_length(evidence: Evidence) -> Iterator[Warning]:
    """The warning that the runs at the answer are too short: their events happened once or twice in each."""
    answer = evidence.outcome.buffer
    if answer is None:
        return
    reports = evidence.measure.at(answer)
    few = [one for report in reports for one in report.warnings if one.kind is Kind.FEW_CONGESTION_EVENTS]
    if 2 * len(few) > len(reports):
        measured = evidence.scenario.core.duration_s[1]
        text = (
            f"A run measures {duration(measured)} and has few congestion events. A longer `run.measure` may change the "
            "answer."
        )
        yield Warning(Kind.SHORT_RUN, text, values={"measured_s": measured})


def _of_states(evidence: Evidence) -> Iterator[Warning]:
    """The random states that decide: those that no run shows, and those whose values runs were chosen by."""
    if evidence.lengthened is not None:
        yield from evidence.lengthened.warnings
    strata = evidence.measure.strata
    if strata is not None:
        keys = _names([f"`{key}`" for key in strata.keys])
        text = (
            f"Each observation is {len(strata.weights)} runs, one for each stratum of {keys}, weighted by the strata's "
            "probabilities."
        )
        values = {f"weight_{number}": weight for number, weight in enumerate(strata.weights)}
        yield Warning(Kind.STRATA, text, values=values)


def _of_independence(evidence: Evidence) -> list[Warning]:
    """Replications that repeat each other, and flows that move in step: why there is no confidence, and what helps."""
    if not evidence.search.samples:
        return []
    if not evidence.measure.replicates:
        text = (
            f"the {evidence.measure.engine} engine runs each buffer once. Without replications there is no confidence"
        )
        return [Warning(Kind.IDENTICAL, text, values={"replications": 1, "different": 1})]
    at, reports = evidence.at_answer()
    independent, count = different(reports), len(reports)
    found = []
    if independent < count:
        if independent == 1:
            text = (
                f"all {count} replications at {evidence.words([at])} are identical, because nothing in them is random. "
                "One observation gives no confidence"
            )
        else:
            worth = (
                f"count as {independent} observations" if enough(independent, count) else "are too few for a confidence"
            )
            text = f"only {independent} of the {count} replications at {evidence.words([at])} differ. They {worth}"
        found.append(Warning(Kind.IDENTICAL, text, values={"replications": count, "different": independent}))
    step = in_step(evidence.scenario.core, evidence.measure.engine, reports)
    if step is not None:
        text = (
            f"{step.flows} flows are synchronized: they have the same round trip and the same start, and no other "
            "traffic is random. The results show this coincidence, so they have no confidence"
        )
        found.append(Warning(Kind.LOCK_STEP, text, subject=step.group, values={"flows": step.flows}))
    if found:
        found[-1] = found[-1].saying(f"{found[-1]}. {_cure(evidence)}")
    return found


def _cure(evidence: Evidence) -> str:
    """The reasons why replications differ."""
    if jittered(evidence.scenario)[1].anything:
        return "Use `--jitter`, which makes round trips and starts random"
    return "Make the traffic random, such as with a distribution for `start`, `rtt` or sizes"


def _of_jitter(jitter: Jitter | None) -> list[Warning]:
    """The warning that says which values `--jitter` changed."""
    if jitter is None:
        return []
    if not jitter.anything:
        return [Warning(Kind.JITTERED, "`--jitter` changed nothing, because every responsive group is already random")]
    parts, values = [], {}
    if jitter.round_trips:
        names = _names([f"`{name}`" for name in jitter.round_trips])
        parts.append(f"added up to {duration(jitter.round_trip_s)} to the round trips of {names}")
        values["round_trip_s"] = jitter.round_trip_s
    if jitter.starts:
        names = _names([f"`{name}`" for name in jitter.starts])
        parts.append(f"spread the starts of {names} over {duration(jitter.start_s)}")
        values["start_s"] = jitter.start_s
    return [Warning(Kind.JITTERED, f"`--jitter` changed the scenario: it {' and '.join(parts)}", values=values)]


def _of_search(evidence: Evidence) -> list[Warning]:
    """The search's own notes, and where its curve falls again, told once."""
    outcome = evidence.outcome
    found = [note for note in outcome.notes if note.kind is not Kind.MISSED_AGAIN or not evidence.gaps]
    for name in dict.fromkeys(goal for _, goal in evidence.gaps):
        at = [packets for packets, goal in evidence.gaps if goal == name]
        beyond = "below" if evidence.variable.largest else "above"
        text = f"`{name}` is also missed {beyond} the answer, at {evidence.words(at)}"
        values = {"missed_at": evidence.search.plan.words.value(at[0])}
        found.append(Warning(Kind.MISSED_AGAIN, text, subject=name, values=values))
    if evidence.feasible_intervals:
        at = sorted(packets for packets, _ in evidence.feasible_intervals)
        broken = max(missed for _, missed in evidence.feasible_intervals)
        text = f"{evidence.words(at)} would also meet every goal, but {evidence.words([broken])} would not"
        value = evidence.search.plan.words.value
        found.append(Warning(Kind.MET_BELOW, text, values={"met_at": value(at[-1]), "missed_at": value(broken)}))
    return found


def _names(names: Sequence[str]) -> str:
    """Names as part of a sentence: all of a few, of many the first ones."""
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _of_runs(evidence: Evidence) -> list[Warning]:
    """The warnings of runs, those of one subject once, with the buffers at which they came up."""
    alike: dict[tuple[Kind, str], tuple[list[Warning], list[int]]] = {}
    reports = evidence.measure.reports
    for buffer, replication in sorted(reports):
        for warning in reports[buffer, replication].warnings:
            if warning.kind in ONE_CAUSE and not _near_the_answer(evidence, buffer):
                continue
            subject = "" if warning.kind in ONE_CAUSE else warning.subject
            several, buffers = alike.setdefault((warning.kind, subject), ([], []))
            several.append(warning)
            if buffer not in buffers:
                buffers.append(buffer)
    return [_merged(several, evidence.words(buffers)) for several, buffers in alike.values()]


def _near_the_answer(evidence: Evidence, buffer: int) -> bool:
    """Whether what a run at a buffer lacks matters for the answer; everywhere where there is none."""
    answer = evidence.outcome.buffer
    return answer is None or isinstance(evidence.variable, RangeVariable) or answer / NEAR <= buffer <= NEAR * answer


def _merged(alike: Sequence[Warning], places: str) -> Warning:
    """Warnings of one cause as one sentence, with the buffers at which they came up."""
    first = alike[0]
    if first.kind in {Kind.AVERAGE_RATE, Kind.AVERAGE_DELAY}:
        # A link is the same at every buffer.
        return first
    if len(set(alike)) > 1 and first.kind in ONE_CAUSE:
        subjects = sorted({warning.subject for warning in alike if warning.subject})
        names = f" ({_names([f'`{name}`' for name in subjects])})" if subjects else ""
        return first.saying(ONE_CAUSE[first.kind].format(places=places, names=names))
    return first.saying(f"at {places}: {first}")


def _of_warmup(evidence: Evidence) -> list[Warning]:
    """Whether the warm-up is long enough at the answer, on one more replication with its traces."""
    from forebay.measurement.warmup import warmup_warnings

    buffer, engine = evidence.outcome.buffer, evidence.measure.engine
    unwaited = any(note.kind in {Kind.QUICK, Kind.TIME_OVER} for note in evidence.outcome.notes)
    if buffer is None or not simulates_hosts(engine) or unwaited:
        return []
    return warmup_warnings(evidence.variable.apply(buffer), engine)
