"""Algorithms of the examples, written in Python, have the results of the built-in ones to the last digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.algorithms.traffic import TRAFFIC, numbers

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"

CONTROLLERS = {"newreno": "newreno.py:NewReno", "cubic": "cubic.py:Cubic"}


def code(place: str, **parameters: Any) -> dict[str, Any]:
    """An algorithm of the examples, with its text."""
    file = place.partition(":")[0]
    return {"python": place, "source": (EXAMPLES / file).read_text(encoding="utf-8")} | parameters


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_in_python_have_the_results_of_the_built_in_ones(name: str, traffic: str) -> None:
    queue = {"kind": "red"} if traffic == "marks" else "droptail"
    built_in = {"kind": name, "variant": "rfc"}
    assert numbers(code(CONTROLLERS[name]), traffic, queue) == numbers(built_in, traffic, queue)


@pytest.mark.parametrize("traffic", TRAFFIC)
@pytest.mark.parametrize("target", ["5ms", "2ms"])
def test_codel_in_python_has_the_results_of_the_built_in_one(traffic: str, target: str) -> None:
    mine = numbers("cubic", traffic, code("codel.py:CoDel", target=target))
    assert mine == numbers("cubic", traffic, {"kind": "codel", "target": target})


def test_a_class_with_a_pace_and_no_samples_is_paced() -> None:
    more = "\n    def pacing_rate(self):\n        return 2e6\n"
    paced = code("newreno.py:NewReno")
    paced["source"] += more
    goodputs = [
        json.loads(numbers(cca, "long"))["metrics"]["goodput_bps"]["mean"]
        for cca in (paced, code("newreno.py:NewReno"))
    ]
    assert goodputs[0] == pytest.approx(3 * 2e6, rel=0.05)
    assert goodputs[1] > 15e6
