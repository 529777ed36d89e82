"""The verdicts of packet runs, on a link whose metrics follow from the buffer by a formula."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint
from forebay.fleets.packet_stage import has_delay_goal, judge
from forebay.fleets.questions import Question


@dataclass
class Link:
    """A link that is full from `needed` bytes on, with a delay of a microsecond for each byte that is used.

    Attributes
    ----------
    needed : float
        The smallest buffer that meets the goal on utilization.
    allowed : float
        The largest buffer that meets the goal on delay.
    used : float
        The largest part of a buffer that fills.
    """

    needed: float
    allowed: float = 1e18
    used: float = 1e18
    also: str = ""

    def __post_init__(self) -> None:
        self.asked: list[int] = []

    def measured(self, size: Size) -> MeasuredPoint:
        number = size.number
        margins = {("utilization", ">="): (number - self.needed) / 1e9}
        if self.allowed < 1e18:
            margins["queue_delay_p99", "<="] = (self.allowed - number) * 1e-6
        if self.also:
            margins[self.also, "<="] = (number - self.needed) / 1e9
        goals = tuple(
            MeasuredGoal(key, sense, 0.5, 0.5, margin, "met" if margin >= 0 else "missed", 0.9)
            for (key, sense), margin in margins.items()
        )
        return MeasuredPoint(goals, number, 4, 1e-6 * min(number, self.used), 0.0, max(0.0, 1e-9 * (9 - number)))

    def judged(self, number: int) -> Judgment:
        question, known = Question("<buffer>", Size(number, "B")), dict[Size, MeasuredPoint]()
        while True:
            found = judge(question, known.get)
            if isinstance(found, Judgment):
                return found
            assert found, "it asks for a buffer"
            for size in found:
                assert size not in known, "no buffer is asked for twice"
                known[size] = self.measured(size)
                self.asked.append(size.number)


@pytest.mark.parametrize(
    ("configured", "verdict"),
    [(100, "too small"), (999, "too small"), (1000, "fine"), (1999, "fine"), (2000, "too large"), (50000, "too large")],
)
def test_a_buffer_is_too_large_from_twice_the_needed_one_on(configured: int, verdict: str) -> None:
    found = Link(1000).judged(configured)
    assert found.verdict == verdict
    assert found.margin_low is not None
    assert found.margin_high is not None
    assert found.margin_low <= configured / 1000 <= found.margin_high


def test_a_larger_buffer_never_turns_too_small_by_utilization() -> None:
    order = ["too small", "fine", "too large"]
    found = [order.index(Link(1000).judged(configured).verdict) for configured in range(10, 9000, 90)]
    assert found == sorted(found)


def test_the_enough_buffer_meets_the_goal() -> None:
    for configured in (20, 300, 900, 2500, 40000):
        enough = Link(1000).judged(configured).enough_bytes
        assert enough is not None
        assert enough >= 1000
    for configured in (160, 200, 1000, 9000):
        enough = Link(10, allowed=150).judged(configured).enough_bytes
        assert enough is not None
        assert 10 <= enough <= 150


def test_no_buffer_is_enough_if_none_was_seen_to_meet_every_goal() -> None:
    found = Link(900, allowed=950).judged(500)
    assert (found.verdict, found.enough_bytes) == ("too small", None)


def test_a_needless_buffer_that_costs_no_delay_is_fine() -> None:
    assert Link(1000, used=500).judged(90000).verdict == "fine"


def test_a_missed_goal_on_delay_makes_a_buffer_too_large() -> None:
    found = Link(100, allowed=150).judged(160)
    assert (found.verdict, found.severity > 1) == ("too large", True)
    assert found.cost_delay_s == pytest.approx(80e-6)


def test_a_buffer_within_the_delay_that_the_user_allows_is_fine() -> None:
    assert Link(1000, allowed=9000).judged(8000).verdict == "fine"
    assert Link(1000, allowed=9000).judged(9001).verdict == "too large"


def test_goals_that_no_buffer_meets_have_no_answer() -> None:
    assert Link(1000, allowed=100).judged(500).verdict == "not answerable"
    assert Link(1e15).judged(500).verdict == "not answerable"
    assert Link(1, allowed=0.0001).judged(500).verdict == "not answerable"


def test_runs_at_other_buffers_show_what_a_goal_of_an_unknown_direction_needs() -> None:
    assert Link(1000, also="web.completion_time_p95").judged(400).verdict == "too small"
    assert "web.completion_time_p95" not in Link(1000).judged(400).reason


@pytest.mark.parametrize(
    ("key", "sense", "verdict"),
    [
        ("utilization", ">=", "too small"),
        ("utilization>=0.95", ">=", "too small"),
        ("web.goodput>=2500000.0", ">=", "too small"),
        ("loss_rate<=0.01", "<=", "too small"),
        ("utilization<=0.5", "<=", "too large"),
        ("loss_rate>=0.01", ">=", "too large"),
        ("queue_delay_p99", "<=", "too large"),
        ("web.queue_delay_p99<=0.06", "<=", "too large"),
        ("queue_delay_p99>=0.001", ">=", "too small"),
    ],
)
def test_the_metric_and_the_sense_of_a_missed_goal_tell_its_side(key: str, sense: str, verdict: str) -> None:
    asked: list[int] = []

    def point(size: Size) -> MeasuredPoint:
        asked.append(size.number)
        met = size.number > 1000 if verdict == "too small" else size.number < 1000
        goal = MeasuredGoal(key, sense, 0.5, 0.5, 0.1 if met else -0.1, "met" if met else "missed", 0.9)
        return MeasuredPoint((goal,), size.number, 4)

    found = judge(Question("<buffer>", Size(1000, "B")), point)
    assert isinstance(found, Judgment)
    assert found.verdict == verdict
    assert asked == ([1000, 2000] if verdict == "too small" else [1000, 500]), "the other side is not asked for"


def test_only_an_upper_bound_on_the_delay_is_a_goal_on_delay() -> None:
    for name, sense, expected in [
        ("queue_delay_p99", "<=", True),
        ("queue_delay_p99", ">=", False),
        ("utilization", "<=", False),
    ]:
        assert has_delay_goal([MeasuredGoal(name, sense, 0.5, 0.5, 0.1, "met", 0.9)]) is expected


def test_half_of_the_buffer_is_asked_for_only_if_the_whole_one_meets_the_goals() -> None:
    link = Link(1000)
    link.judged(400)
    assert 200 not in link.asked
    link.judged(1500)
    assert 750 in link.asked


def test_a_refusal_is_the_reason() -> None:
    found = judge(Question("<buffer>", Size(9, "B")), lambda _size: MeasuredPoint(refusal="no such cca"))
    assert isinstance(found, Judgment)
    assert (found.verdict, found.reason) == ("not answerable", "no such cca")
