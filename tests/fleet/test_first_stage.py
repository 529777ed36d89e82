"""The first stage: intervals of the atlas, and verdicts only far from them."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from forebay.atlas.prior import Place, Table, between
from forebay.atlas.rows import CONTROLLERS, read
from forebay.fleets.buffer_size import Size
from forebay.fleets.first_stage import CLEAR, first_stage
from forebay.fleets.profiles import BUFFER
from forebay.fleets.questions import Question
from tests.support.atlas_arrays import intervals

CORE = """{"link": {"rate": "200Mbps", "buffer": "%s"}, "flows": [{"name": "long", "count": 40, "cca": "cubic",
"rtt": {"uniform": ["40ms", "60ms"]}, "start": {"uniform": ["0s", "1s"]}}], "goal": {"utilization": ">= 95%%"}}"""


def question(packets: int, text: str = CORE, goals: str = "") -> Question:
    text = text % BUFFER
    return Question(text.replace('">= 95%"}', f'">= 95%"{goals}}}'), Size(packets, "p"))


def verdict(packets: int, text: str = CORE, goals: str = "") -> str | None:
    found = first_stage({"q": question(packets, text, goals)})
    return found["q"].verdict if found else None


def test_a_table_of_a_controller_interpolates_as_arrays_do() -> None:
    generator, rows = random.Random(7), read()
    places = [
        Place(
            10 ** generator.uniform(6.9, 10.1),
            10 ** generator.uniform(-2.05, -0.95),
            round(10 ** generator.uniform(0, 4.05)),
            generator.choice(CONTROLLERS),
            generator.choice([0.0, 0.2, 0.5, 0.6]),
            generator.choice([0.95, 0.97, 0.99]),
        )
        for _ in range(300)
    ]
    places += [Place(row.rate_bps, row.rtt_s, row.flows, row.controller, row.background, 0.95) for row in rows[:200]]
    tables = {controller: Table.of(controller, rows) for controller in CONTROLLERS}
    known = 0
    for place, found in zip(places, intervals(places, rows), strict=True):
        expected = between(place, rows)
        assert tables[place.controller].at(place) == expected
        known += expected is not None
        if expected is None:
            assert np.isnan(found).all()
        else:
            assert found == pytest.approx(expected, rel=1e-9)
    assert known > 100


def test_verdicts_rise_with_the_buffer_and_leave_out_the_doubtful_ones() -> None:
    order = {"too small": 0, None: 1, "fine": 1, "too large": 2}
    found = [verdict(packets) for packets in range(1, 3000, 7)]
    assert all(order[before] <= order[after] for before, after in pairwise(found))
    assert {"too small", "too large", None} <= set(found)


def test_a_verdict_is_given_only_beyond_the_clear_distance() -> None:
    judged = {packets: first_stage({"q": question(packets)}).get("q") for packets in range(1, 3000, 7)}
    for judgment in judged.values():
        if judgment is not None and judgment.verdict == "too small":
            assert judgment.margin_high is not None
            assert judgment.margin_high < 1 / CLEAR
        if judgment is not None and judgment.verdict == "too large":
            assert judgment.margin_low is not None
            assert judgment.margin_low > 2 * CLEAR


def test_a_missed_goal_on_delay_makes_a_buffer_too_large() -> None:
    goals = ', "queue_delay_p99": "<= 20ms"'
    assert verdict(1000, CORE, goals) == "too large"
    assert verdict(1000, CORE, ', "queue_delay_p99": "<= 900ms"') == "fine", "the user allows this delay"
    assert verdict(300, CORE, goals) is None, "the bound of the delay and the goal are close"


@pytest.mark.parametrize("packets", [5, 20, 1000, 2900])
@pytest.mark.parametrize("allowed", ["1us", "1ms", "20ms", "60ms"])
def test_goals_that_may_conflict_go_to_the_packet_runs(packets: int, allowed: str) -> None:
    found = first_stage({"q": question(packets, CORE, f', "queue_delay_p99": "<= {allowed}"')}).get("q")
    if allowed in ("1us", "1ms"):
        assert found is None
    elif found is not None and found.recommended_bytes is not None:
        needed, longest = found.recommended_bytes, {"20ms": 20e-3, "60ms": 60e-3}[allowed]
        assert needed * 8 / 200e6 < longest, "a full queue of the recommended buffer is within the goal"


def test_a_recommended_buffer_is_beyond_the_needed_one_of_the_atlas() -> None:
    for packets, verdict_ in ((5, "too small"), (2900, "too large")):
        found = first_stage({"q": question(packets)})["q"]
        assert (found.verdict, found.needed_bytes is None) == (verdict_, False)
        assert found.recommended_bytes is not None
        assert (found.needed_bytes or 0) < found.recommended_bytes
        assert found.margin == pytest.approx(packets * 1500 / (found.needed_bytes or 1))
    assert found.recommended_bytes < packets * 1500 / 2


@pytest.mark.parametrize(
    "change",
    [
        ('"cca": "cubic"', '"cca": "westwood"'),
        ('"utilization": ">= 95%%"', '"loss_rate": "<= 1%%"'),
        ('"rate": "200Mbps"', '"rate": "200Mbps", "queue": "codel"'),
        ('"rate": "200Mbps"', '"rate": "200nothing"'),
        ('"count": 40', '"count": 20000'),
    ],
)
def test_other_scenarios_go_to_the_packet_runs(change: tuple[str, str]) -> None:
    assert verdict(9000, CORE.replace(*change)) is None
