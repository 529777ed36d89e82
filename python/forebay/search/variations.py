"""The change of the recommended buffer if the number of flows, their round trips or the background are 20 % off.

`recommendation` asks for it if an answer is to have its sensitivity.
"""

from __future__ import annotations

import dataclasses

from forebay.search.answer_parts import Variation
from forebay.search.evidence import Evidence
from forebay.search.measurements import Measurements
from forebay.search.quick import QuickLook
from forebay.search.sensitivity import VARIATIONS, vary
from forebay.search.smallest import Search

__all__ = ["variations"]


def variations(evidence: Evidence) -> tuple[Variation, ...]:
    """The answer when a property is 20 % off, searched for around the answer as it is."""
    plan, measure = evidence.search.plan, evidence.measure
    around = evidence.outcome.buffer or evidence.outcome.compromise or plan.largest
    nearby = dataclasses.replace(
        plan, smallest=max(plan.floor, around // 4), largest=min(plan.ceiling, 4 * around), gap=2.0, also=()
    )
    kind = QuickLook if isinstance(evidence.search, QuickLook) else Search
    found: list[Variation] = []
    for what in VARIATIONS:
        for factor in (0.8, 1.2):
            changed = vary(evidence.scenario, what, factor)
            if changed is None:
                continue
            before = measure.runs + sum(entry.replications for entry in found)
            variable = dataclasses.replace(evidence.variable, scenario=changed)
            runs = Measurements(variable, measure.means, before=before)
            answer = kind(runs, changed.goals, nearby, runs.expect).run()
            buffer = None if answer.buffer is None else variable.sized(answer.buffer)
            found.append(Variation(what, factor, buffer, answer.binding, runs.runs))
    return tuple(found)
