"""The verdicts of packet runs, on a link whose metrics follow from the buffer by a formula."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import pytest

from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint
from forebay.fleets.packet_stage import has_delay_goal, judge
from forebay.fleets.questions import Question
from forebay.results.metric import metrics

#: A scenario with a bandwidth-delay product of 833,333 packets.
TEXT = """{"link": {"rate": "1Tbps", "buffer": "<buffer>"}, "flows": [{"cca": "cubic", "rtt": "10ms"}],
"goal": {"utilization": ">= 95%"}}"""


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
    also : str
        A further goal that needs the same buffer.
    unsure : (float, float)
        Buffers at which the runs do not decide the goal on utilization.
    open_delay : (float, float)
        Buffers at which they do not decide the goal on delay.
    refused : float
        The smallest buffer whose runs are refused.
    """

    needed: float
    allowed: float = 1e18
    used: float = 1e18
    also: str = ""
    unsure: tuple[float, float] = (0, 0)
    open_delay: tuple[float, float] = (0, 0)
    refused: float = 1e18

    def __post_init__(self) -> None:
        self.asked: list[int] = []

    def measured(self, size: Size) -> MeasuredPoint:
        number = size.number
        if number >= self.refused:
            return MeasuredPoint(refusal="no memory for it")
        margins = {("utilization", ">="): (number - self.needed) / 1e9}
        if self.allowed < 1e18:
            margins["queue_delay_p99", "<="] = (self.allowed - number) * 1e-6
        if self.also:
            margins[self.also, "<="] = (number - self.needed) / 1e9
        unsure = {"utilization": self.unsure, "queue_delay_p99": self.open_delay}

        def verdict(key: str, margin: float) -> str:
            low, high = unsure.get(key, (0, 0))
            return "undecided" if low <= number < high else "met" if margin >= 0 else "missed"

        goals = tuple(
            MeasuredGoal(key, sense, 0.5, 0.5, margin, verdict(key, margin), 0.9)
            for (key, sense), margin in margins.items()
        )
        return MeasuredPoint(goals, number, 4, 1e-6 * min(number, self.used), 0.0, max(0.0, 1e-9 * (9 - number)))

    def judged(self, number: int) -> Judgment:
        question, known = Question(TEXT, Size(number, "p")), dict[Size, MeasuredPoint]()
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


@pytest.mark.parametrize("configured", [1, 3, 20, 300, 900, 2500, 40_000, 150_000])
def test_the_recommended_buffer_is_enough_and_less_than_twice_the_needed_one(configured: int) -> None:
    found = Link(1000).judged(configured)
    assert found.recommended_bytes is not None
    assert 1000 <= found.recommended_bytes <= 2 * 1000
    assert found.margin_low is not None
    assert found.margin_high is not None
    assert found.margin_low <= configured / 1000 <= found.margin_high <= 2.1 * found.margin_low


@pytest.mark.parametrize("configured", [160, 200, 1000, 9000, 20_000])
def test_with_a_goal_on_delay_the_recommended_buffer_is_a_step_inside_of_the_range(configured: int) -> None:
    found = Link(10, allowed=150).judged(configured)
    assert found.recommended_bytes is not None
    assert 75 / 1.42 <= found.recommended_bytes <= 150 / 1.4
    assert found.needed_bytes is not None
    assert 75 <= found.needed_bytes <= 300
    assert found.margin == pytest.approx(configured / found.needed_bytes)
    assert found.margin_low is not None
    assert found.margin_high is not None
    assert found.margin_low <= configured / 150 <= found.margin_high


def test_a_step_that_would_leave_the_range_is_not_taken() -> None:
    for configured in (100, 9000):
        found = Link(140, allowed=150).judged(configured)
        assert found.recommended_bytes is not None
        assert 140 <= found.recommended_bytes <= 150
    link = Link(1000)
    found = link.judged(900)
    enough = min(size for size in link.asked if size >= 1000)
    assert found.recommended_bytes == int(enough * math.sqrt(2))


@pytest.mark.parametrize("configured", [50, 800, 3000, 100_000])
def test_the_next_audit_calls_a_recommended_buffer_fine(configured: int) -> None:
    found = Link(1000).judged(configured)
    assert found.recommended_bytes is not None
    assert Link(1000).judged(round(found.recommended_bytes)).verdict == "fine"


def test_a_port_that_needs_no_change_has_no_recommended_buffer() -> None:
    for found in (Link(1000).judged(1500), Link(10, allowed=150).judged(100), Link(1000, allowed=100).judged(500)):
        assert (found.recommended_bytes, found.recommended_delay_s, found.recommended_loss) == (None, None, None)


@pytest.mark.parametrize("configured", [10, 500, 920, 2000, 200_000])
def test_a_narrow_range_in_which_every_goal_is_met_is_found(configured: int) -> None:
    found = Link(900, allowed=1000).judged(configured)
    if configured == 920:
        assert found.verdict == "fine"
        return
    assert found.verdict == ("too small" if configured < 900 else "too large")
    assert found.recommended_bytes is not None
    assert 900 <= found.recommended_bytes <= 1000


@pytest.mark.parametrize("configured", [10, 400, 600, 5000])
def test_a_buffer_is_not_wrong_if_every_other_one_also_misses_a_goal(configured: int) -> None:
    link = Link(1000, allowed=300)
    found = link.judged(configured)
    assert (found.verdict, found.severity, found.recommended_bytes) == ("not answerable", 0.0, None)
    assert max(link.asked) <= max(640, configured), "no larger buffer meets the goal on delay"
    assert "utilization" in found.reason
    assert "queue_delay_p99" in found.reason


def test_a_conflict_that_the_runs_do_not_show_is_undecided() -> None:
    for configured in (50, 5000):
        assert Link(1000, allowed=300, unsure=(200, 1000)).judged(configured).verdict == "undecided"


def test_a_missed_goal_is_undecided_if_the_runs_leave_another_one_open_at_every_other_size() -> None:
    found = Link(1000, allowed=9e6, open_delay=(900, 1e9)).judged(100)
    assert (found.verdict, found.recommended_bytes) == ("undecided", None)
    assert "queue_delay_p99" in found.reason


@pytest.mark.parametrize(("needed", "verdict"), [(1.5e6, "too small"), (1e12, "not answerable")])
def test_larger_buffers_are_sought_up_to_twice_the_bandwidth_delay_product(needed: float, verdict: str) -> None:
    link = Link(needed)
    found = link.judged(33)
    assert found.verdict == verdict
    assert 1.66e6 <= max(link.asked) <= 1.67e6 * 1.42, "the last step may be beyond it"


def test_smaller_buffers_are_sought_down_to_a_packet() -> None:
    assert Link(1, allowed=2000).judged(10**9).verdict == "too large"
    link = Link(1, allowed=0.5)
    assert link.judged(10**9).verdict == "not answerable"
    assert min(link.asked) == 1


def test_a_refused_buffer_ends_the_search_undecided() -> None:
    found = Link(1000, refused=300).judged(100)
    assert (found.verdict, "no memory" in found.reason) == ("undecided", True)


def test_half_of_a_buffer_of_one_packet_is_not_followed_by_a_larger_recommendation() -> None:
    question, known = Question(TEXT, Size(2000, "B")), dict[Size, MeasuredPoint]()
    while not isinstance(found := judge(question, known.get), Judgment):
        known |= {size: Link(1).measured(size) for size in found}
    assert found.verdict == "too large"
    assert found.recommended_bytes is not None
    assert 1000 <= found.recommended_bytes < 2000


def test_a_needless_buffer_that_costs_no_delay_is_fine() -> None:
    assert Link(1000, used=500).judged(90000).verdict == "fine"


def test_a_missed_goal_on_delay_makes_a_buffer_too_large() -> None:
    found = Link(100, allowed=150).judged(160)
    assert (found.verdict, found.severity > 1) == ("too large", True)
    assert found.recommended_bytes is not None
    assert found.cost_delay_s == pytest.approx(1e-6 * (160 - found.recommended_bytes))


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
        ("utilization<=0.5", "<=", "too large"),
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
    if "delay" in key:
        assert min(asked) == 1000 if verdict == "too small" else max(asked) == 1000, "the other side is not asked for"


@dataclass
class Overshoot:
    """A link that loses least at `best` bytes, as slow start overshoots a large buffer; the delay rises with it."""

    best: float
    loss: float
    allowed: float = 1e18
    filling: float = 1e18

    def judged(self, number: int) -> tuple[Judgment, list[int]]:
        known: dict[Size, MeasuredPoint] = {}
        while not isinstance(found := judge(Question(TEXT, Size(number, "p")), known.get), Judgment):
            known |= {size: self.point(size.number) for size in found}
        return found, [size.number for size in known]

    def point(self, number: int) -> MeasuredPoint:
        lost = 0.0 if number >= self.filling else 0.01 * (1 + abs(math.log2(number / self.best)))
        margins = {("loss_rate", "<="): self.loss - lost, ("queue_delay_p99", "<="): 1e-6 * (self.allowed - number)}
        goals = tuple(
            MeasuredGoal(key, sense, 0.5, 0.5, margin, "met" if margin >= 0 else "missed", 0.9)
            for (key, sense), margin in margins.items()
        )
        point = {"goals": [asdict(goal) for goal in goals], "bytes": number, "runs": 4, "measured_s": 4.0}
        delay_s = 2.0 if number >= self.filling else 1e-9 * number
        return MeasuredPoint.of({**point, "delay_s": delay_s, "delay_half_width": 0.0, "loss": lost})


@pytest.mark.parametrize(("configured", "verdict"), [(200, "too small"), (900_000, "too large"), (9000, "fine")])
def test_the_runs_show_on_which_side_the_loss_is_lower(configured: int, verdict: str) -> None:
    found, _ = Overshoot(9000, 0.03).judged(configured)
    assert found.verdict == verdict
    if verdict != "fine":
        assert found.recommended_bytes is not None
        assert 9000 / 4 <= found.recommended_bytes <= 9000 * 4


@dataclass
class Dip(Overshoot):
    """The same for the utilization, which is 1 at `best` bytes and falls on both sides."""

    def point(self, number: int) -> MeasuredPoint:
        found = super().point(number)
        goals = (replace(found.goals[0], key="utilization", sense=">="), *found.goals[1:])
        return replace(found, goals=goals)


@pytest.mark.parametrize("configured", [100_000, 5_000_000, 10**9])
@pytest.mark.parametrize("allowed", [20_000, 1e18])
def test_a_utilization_that_a_very_large_buffer_misses_is_sought_in_smaller_ones(
    configured: int, allowed: float
) -> None:
    found, _ = Dip(9000, 0.02, allowed).judged(configured)
    assert found.verdict == "too large"
    assert found.recommended_bytes is not None
    assert 4500 <= found.recommended_bytes <= min(18_000, allowed)


def test_far_below_a_very_large_buffer_the_middle_of_the_sufficient_ones_is_recommended() -> None:
    found, _ = Dip(9000, 0.06).judged(10**9)
    assert found.verdict == "too large"
    assert found.recommended_bytes is not None
    assert 9000 / 4 <= found.recommended_bytes <= 9000 * 4, "the range is 32 times as wide on each side"


def test_every_bound_on_the_queueing_delay_is_a_goal_on_delay() -> None:
    names = [metric.goal_name for metric in metrics() if metric.goal_name.startswith("queue_delay_")]
    for name in names:
        if not name.endswith(("slow", "fast")):
            assert has_delay_goal([MeasuredGoal(name, "<=", 0.5, 0.5, 0.1, "met", 0.9)]), name


def test_goals_on_loss_and_delay_that_a_large_buffer_misses_are_sought_in_smaller_ones() -> None:
    for loss in (0.02, 0.03, 0.05):
        found, _ = Overshoot(9000, loss, allowed=20_000).judged(900_000)
        assert found.verdict == "too large"
        assert found.recommended_bytes is not None
        assert found.recommended_bytes <= 20_000
    assert Overshoot(9000, 0.005, allowed=20_000).judged(900_000)[0].verdict == "not answerable"


def test_a_buffer_that_the_runs_do_not_fill_meets_no_goal() -> None:
    found, asked = Overshoot(9e6, 0.005, filling=1e6).judged(9000)
    assert (found.verdict, found.recommended_bytes) == ("undecided", None)
    assert "set run.measure to 40.0 s or more" in found.reason
    assert max(asked) <= 4e6
    found, _ = Overshoot(9e6, 0.005, filling=1e6).judged(2_000_000)
    assert found.verdict == "undecided"
    assert "set run.measure to 40.0 s or more" in found.reason


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
