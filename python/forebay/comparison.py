"""`compare`: what every engine and every rule says of one scenario, and where they disagree."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import UnsupportedError
from forebay.scenario import Progress, Scenario

__all__ = ["Comparison", "compare"]

#: Differences below this fraction (of the larger value) are not worth a line, however certain they are.
WORTH_MENTIONING = 0.02


@dataclass(frozen=True, slots=True)
class Comparison:
    """Answers side by side.

    Attributes
    ----------
    scenario : Scenario
        What was asked about.
    data : mapping
        `answers`: one entry per engine or model with `name`, `kind` ("engine" or "model"), `applies`, `why` and
        `metrics`; `disagreements` of those that apply: metric, the two names, their values, how much they differ.
    """

    scenario: Scenario
    data: Mapping[str, Any]

    def to_json(self, indent: int | None = None) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(self.data, indent=indent)


def compare(
    scenario: Scenario,
    *,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run a scenario on every engine and ask every closed-form model.

    Parameters
    ----------
    scenario : Scenario
        What to ask about; at its own buffer.
    replications : int, optional
        Instead of the scenario's own, but at least 4: without intervals nothing can be said to disagree.
    jobs : int, optional
        Threads.
    progress : callable, optional
        Told about the replications of each engine.

    Returns
    -------
    Comparison
        An engine that cannot run the scenario is listed with its reason.
    """
    count = max(4, scenario.core.replications) if replications is None else replications
    answers: list[dict[str, Any]] = []
    for engine in _core.engines():
        if engine == "closed_form":
            continue  # its models are listed one by one below
        entry: dict[str, Any] = {"name": engine, "kind": "engine", "applies": True, "why": "", "metrics": {}}
        try:
            report = scenario.run(engine, replications=count, jobs=jobs, progress=progress)
            entry["metrics"] = report.data["metrics"]
            entry["why"] = "; ".join(report.warnings)
        except UnsupportedError as error:
            entry["applies"], entry["why"] = False, str(error)
        answers.append(entry)
    for rule in _core.rules(scenario.core):
        if not rule.predicted:
            continue
        failing = [f"{assumption}: {why}" for assumption, holds, why in rule.checks if holds == "no"]
        answers.append(
            {
                "name": rule.name,
                "kind": "model",
                "applies": not failing,
                "why": "; ".join([*failing, *rule.notes]),
                "metrics": {
                    name: {"mean": value, "half_width": None, "confidence": 0.95} for name, value in rule.predicted
                },
            }
        )
    data = {
        "scenario_sha256": scenario.core.sha256,
        "buffer": scenario.core.buffer(),
        "answers": answers,
        "disagreements": _disagreements(answers),
    }
    return Comparison(scenario, data)


def _disagreements(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pairs with the packet engine that differ by more than both intervals and by a worthwhile fraction."""
    found = []
    packet = next((answer for answer in answers if answer["name"] == "packet"), None)
    pairs = itertools.product([packet], answers) if packet is not None else itertools.combinations(answers, 2)
    for one, other in pairs:
        if one is other or not (one["applies"] and other["applies"]):
            continue  # a model outside of its assumptions is no disagreement
        for metric in one["metrics"]:
            if metric not in other["metrics"]:
                continue
            mine, theirs = one["metrics"][metric], other["metrics"][metric]
            gap = theirs["mean"] - mine["mean"]
            doubt = (mine["half_width"] or 0.0) + (theirs["half_width"] or 0.0)
            larger = max(abs(mine["mean"]), abs(theirs["mean"]))
            if abs(gap) > doubt and abs(gap) > WORTH_MENTIONING * larger:
                found.append(
                    {
                        "metric": metric,
                        "between": [one["name"], other["name"]],
                        "values": [mine["mean"], theirs["mean"]],
                        "difference": gap,
                        "uncertainty": doubt,
                        "why": other["why"] or "its assumptions hold by their own account",
                    }
                )
    return found
