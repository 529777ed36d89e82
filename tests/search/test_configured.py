"""The verdict on the configured buffer in an answer of `recommend`: the one of `check`, or undecided."""

from __future__ import annotations

import pytest

from forebay import Scenario, recommend
from forebay.search.checking import check
from forebay.views.answer_sentences import configured
from tests.support.scenarios import SMALL


@pytest.mark.parametrize("buffer", ["2p", "200p"])
def test_the_verdict_is_the_one_of_check(buffer: str) -> None:
    scenario = Scenario.parse(SMALL, overrides=(f"link.buffer={buffer}",))
    answer = recommend(scenario, jobs=1)
    own = answer.configured
    assert own is not None
    (found,) = check(scenario, jobs=1).buffers
    assert own.runs in (19, 38, 76)
    if own.runs == found.runs:
        assert dict(own.goals) == {key: goal.verdict for key, goal in found.goals.items()}
        assert own.verdict == found.verdict
    else:
        assert own.runs < found.runs
        assert own.verdict == "undecided"
    assert buffer.removesuffix("p") in configured(answer)


def test_without_a_goal_there_is_no_verdict() -> None:
    scenario = Scenario.parse(SMALL.partition("[goal]")[0])
    own = recommend(scenario, minimize="queue_delay_p99", jobs=1).configured
    assert own is None or own.verdict is None
