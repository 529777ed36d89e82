"""Tests of the search step by step, with a judge that knows the answer and its confidence."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.inputs.goals import Goal
from forebay.results.report import Report
from forebay.results.warning import Kind
from forebay.search.goal_test import MeanTest, ShareTest, Verdict
from forebay.search.plan import Plan
from forebay.search.smallest import Search
from tests.support.oracle import BOTH, ROOM, SMALL, Link, Oracle, buffer_of, plan_of, searched, since, until
from tests.support.tiers import examples

# Fresh replications ----------------------------------------------------------------------------------------------


def needed(attempt: int, confidence: float = 0.95) -> float:
    """Each attempt has a part of the error; all add up to it, because the sum of 1 / k^2 is pi^2 / 6."""
    return 1 - (1 - confidence) * 6 / (math.pi * attempt) ** 2


@pytest.mark.parametrize("attempt", range(1, 7))
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_each_attempt_has_a_part_of_the_error_and_all_have_the_whole(attempt: int, confidence: float) -> None:
    def found(now: int) -> float:
        return needed(now, confidence) + (1e-12 if now == attempt else -1e-9)

    test = Oracle(since(300), confidence=found)
    outcome, link, search, _ = searched(test, confidence=confidence)
    assert outcome.buffer is not None
    assert outcome.confidence == pytest.approx(confidence, abs=1e-9), "and the claim is of all attempts together"
    assert outcome.buffer == link.fresh(search.plan)[-1]
    refusals = [note for note in outcome.notes if note.kind is Kind.REFUSED]
    assert len(refusals) == attempt - 1 == len(outcome.notes)
    for number, note in enumerate(refusals, start=1):
        assert note.values["needed"] == pytest.approx(needed(number, confidence))
        assert note.values["confidence"] == pytest.approx(needed(number, confidence), abs=1e-8)
        assert note.values["packets"] == link.fresh(search.plan)[number - 1]
        assert note.values["replications"] == test.fresh
        assert note.subject == ROOM.key
        assert f"instead of {100 * needed(number, confidence):.5g} %" in note
    assert [requested for _, requested in test.asked_to_confirm] == pytest.approx(
        [needed(number, confidence) for number in range(1, attempt + 1)]
    )


def test_what_is_just_needed_is_enough_and_a_better_confidence_is_told_as_it_is() -> None:
    exact, *_ = searched(Oracle(since(300), confidence=needed))
    assert exact.notes == []
    assert exact.confidence == pytest.approx(0.95)
    better, *_ = searched(Oracle(since(300), confidence=lambda attempt: 0.999 if attempt == 2 else 0.9))
    assert better.confidence == pytest.approx(1 - 0.001 * (2 * math.pi) ** 2 / 6), "of the part that this attempt has"


@pytest.mark.parametrize("confirmations", [1, 2, 6])
def test_so_many_attempts_and_no_more(confirmations: int) -> None:
    test = Oracle(since(300), confidence=lambda _attempt: 0.5)
    outcome, link, search, _ = searched(test, confirmations=confirmations)
    assert outcome.buffer is None
    assert len(link.fresh(search.plan)) == confirmations
    assert [note.kind for note in outcome.notes] == [Kind.REFUSED] * confirmations + [Kind.NO_MARGIN]
    assert outcome.confirmation == ()
    assert outcome.confidence == 0.0


@pytest.mark.parametrize("edge", [3, 40, 300])
def test_steps_are_as_fine_as_the_search_at_first_and_then_longer_and_longer(edge: int) -> None:
    test = Oracle(since(edge), confidence=lambda _attempt: 0.5)
    outcome, link, search, _ = searched(test)
    tried = link.fresh(search.plan)
    for number, (one, other) in enumerate(itertools.pairwise(tried), start=1):
        required = one * 1.05 ** (number if number > 2 else 1)
        assert max(one + 1, required) <= other < max(one + 1, required) + 1, "the next whole packet"
    assert outcome.needs_at_least[0] == (ROOM.key,)
    assert outcome.needs_at_least[1] is not None
    assert outcome.needs_at_least[1] > tried[-1], "what was refused is not enough"


@pytest.mark.parametrize(("edge", "gap", "repeated"), [(300, 310, 380), (10, 10, 16), (25, 26, 45), (61, 64, 99)])
def test_a_step_passes_over_what_does_not_meet_the_goals(edge: int, gap: int, repeated: int) -> None:
    """Refused at the edge, then a stretch that misses: the next to be tried is beyond it, at the step's own pace."""
    test = Oracle(
        lambda b: b >= edge and not gap < b < repeated, confidence=lambda attempt: 0.5 if attempt == 1 else 0.999
    )
    # Neither is the stretch looked at before, nor what is beyond it.
    outcome, link, search, _ = searched(test, smallest=edge - 1, largest=edge, ceiling=1000)
    first, second = link.fresh(search.plan)
    assert first <= gap
    assert outcome.buffer == second >= repeated
    stepped = [buffer for call in link.calls for buffer in dict.fromkeys(pair[0] for pair in call) if buffer > edge]
    for one, other in itertools.pairwise([first, *dict.fromkeys(stepped)]):
        assert max(one + 1, one * 1.05) <= other < max(one + 1, one * 1.05) + 1, "the next whole packet"


@pytest.mark.parametrize("ceiling", [315, 316, 330])
def test_a_step_stays_below_the_ceiling(ceiling: int) -> None:
    test = Oracle(since(300), confidence=lambda _attempt: 0.5)
    outcome, link, search, _ = searched(test, largest=ceiling, ceiling=ceiling, also=(300,))
    tried = link.fresh(search.plan)
    assert tried[0] == 300
    steps = [300, 315, 331]
    assert tried == [step for step in steps if step <= ceiling]
    assert outcome.needs_at_least == ((ROOM.key,), None)
    assert max(link.buffers) <= ceiling
    assert outcome.notes[-1].kind is Kind.NO_MARGIN


def test_fresh_replications_are_none_that_the_search_has_seen() -> None:
    for analyses in ((4, 8, 16), (2, 5)):
        test = Oracle(since(300), fresh=11)
        outcome, link, search, _ = searched(test, analyses=analyses)
        fresh = [replication for buffer, replication in link.asked if buffer == outcome.buffer][-11:]
        assert fresh == list(range(max(analyses), max(analyses) + 11))
        assert [report.metrics["loss_rate"].mean for report in outcome.confirmation] == fresh
        # The judge is told how many the decision took.
        assert test.asked_to_confirm[0][0] == len(search.samples[outcome.buffer or 0])


def test_a_goal_that_needs_a_small_buffer_is_decided_before_the_confirmation() -> None:
    test = Oracle(since(300), until(200))
    outcome, link, search, _ = searched(test, BOTH)
    assert outcome.buffer is None
    assert link.fresh(search.plan) == [], "nothing is put to fresh replications"
    assert outcome.binding == SMALL.key
    # More replications where the first look is not enough.
    slow = Oracle(since(300), until(200), unclear=lambda buffer, count: 300 <= buffer <= 320 and count < 16)
    outcome, link, search, _ = searched(slow, BOTH)
    assert len(search.samples[outcome.needs_at_least[1] or 0]) == 16
    assert link.fresh(search.plan) == []


def test_what_is_refused_as_too_large_is_not_stepped_up_from() -> None:
    """A goal that needs a smaller buffer was met in the search and is refused: no larger buffer will do."""
    test = Oracle(since(300), until(400), confidence=lambda _attempt: 0.5, weakest=SMALL)
    outcome, link, search, _ = searched(test, BOTH)
    (refused,) = link.fresh(search.plan)
    assert outcome.buffer is None
    assert outcome.binding == SMALL.key
    assert [note.kind for note in outcome.notes] == [Kind.REFUSED]
    assert outcome.needs_at_least == ((ROOM.key,), refused)
    keys, allowed = outcome.needs_at_most
    assert keys == (SMALL.key,)
    assert allowed is not None
    assert allowed < refused, "not a contradiction: it needs more than is allowed"
    assert refused - allowed <= max(1, 0.06 * refused)


def test_what_keeps_a_buffer_from_being_smaller_is_what_binds_it() -> None:
    """Also where the fresh replications are least sure of another goal."""
    for weakest in BOTH:
        outcome, *_ = searched(Oracle(since(300), until(4000), weakest=weakest), BOTH)
        assert outcome.buffer is not None
        assert outcome.binding == ROOM.key


def test_the_goal_that_is_least_sure_is_named() -> None:
    for weakest in BOTH:
        test = Oracle(since(300), until(4000), confidence=lambda _attempt: 0.5, weakest=weakest)
        outcome, *_ = searched(test, BOTH)
        assert outcome.notes[0].subject == weakest.key
        assert outcome.binding == weakest.key


# Measured buffers ------------------------------------------------------------------------------------------------


def test_each_look_has_its_part_of_the_error() -> None:
    for analyses, confidence in (((4, 8, 16), 0.95), ((2, 4), 0.9), ((8,), 0.99)):
        test = Oracle(since(300))
        searched(test, analyses=analyses, confidence=confidence)
        assert list(test.levels) == [pytest.approx(1 - (1 - confidence) / len(analyses))]


@pytest.mark.parametrize("enough", [4, 8, 16, 99])
def test_replications_are_added_while_it_is_unclear(enough: int) -> None:
    """A buffer that stays unclear after all interim analyses does not count as met."""
    test = Oracle(since(250), unclear=lambda buffer, count: buffer == 250 and count < enough)
    outcome, _, search, _ = searched(test, also=(235, 250, 270))
    assert len(search.samples[250]) == min(enough, 16)
    assert (outcome.buffer == 250) == (enough <= 16)
    # Elsewhere the first look is clear; the next below the answer is looked at in full.
    assert all(len(reports) == 4 for buffer, reports in search.samples.items() if buffer > 250)
    assert sorted(len(search.samples[buffer]) for buffer in search.samples if buffer < 250)[:-1] == [4] * (
        len([buffer for buffer in search.samples if buffer < 250]) - 1
    )


def test_the_first_look_is_at_every_buffer_that_was_named_and_in_range() -> None:
    test = Oracle(since(60))
    _, link, search, _ = searched(test, smallest=5, ceiling=2000, also=(4, 5, 77, 1500, 2000, 2001))
    first = list(itertools.takewhile(lambda pair: pair[0] >= 5, link.asked))[:4]
    assert first == [(5, replication) for replication in range(4)]
    assert {5, 77, 1000, 1500, 2000} <= set(search.samples)
    assert min(search.samples) == 5
    assert 4 not in search.samples
    assert 2001 not in search.samples
    looked = sorted({buffer for buffer, _ in link.asked[: 4 * 9]})
    assert all(other / one <= 4.0 + 1e-9 for one, other in itertools.pairwise(looked))


@pytest.mark.parametrize(("plan", "word"), [((0, 5, 9), "0, 5, 9"), ((6, 5, 9), "6, 5, 9"), ((1, 10, 9), "1, 10, 9")])
def test_a_plan_goes_from_a_smallest_to_a_largest_buffer(plan: tuple[int, int, int], word: str) -> None:
    with pytest.raises(ValueError, match=f"found {word}"):
        Plan(*plan)
    for fine in ((1, 1, 1), (1, 5, 5), (5, 5, 9)):
        assert Plan(*fine).largest == fine[1]


@pytest.mark.parametrize("analyses", [(), (1, 4), (1,), (4, 4), (8, 4), (4, 16, 8)])
def test_analyses_rise_from_two_and_where_means_are_judged_from_one(analyses: tuple[int, ...]) -> None:
    share = ShareTest(0.9)
    with pytest.raises(ValueError, match="analyses must rise from at least 2"):
        Plan(1, 2, 3, analyses=analyses, test=share)
    assert Plan(1, 2, 3, analyses=(2,), test=share).analyses == (2,)
    assert Plan(1, 2, 3, analyses=(2, 3), test=share).analyses == (2, 3)
    if analyses[:1] == (1,):
        assert Plan(1, 2, 3, analyses=analyses).analyses == analyses
        return
    with pytest.raises(ValueError, match="analyses must rise from at least 1"):
        Plan(1, 2, 3, analyses=analyses)


def test_a_plan_is_as_documented_and_cannot_be_changed() -> None:
    """The manual says: 5 % resolution, 95 % confidence, one replication at first, and up to sixteen."""
    plan = Plan(1, 2, 3)
    assert (plan.resolution, plan.confidence) == (0.05, 0.95)
    assert (plan.analyses[0], plan.analyses[-1]) == (1, 16)
    assert isinstance(plan.test, MeanTest)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.confidence = 0.5  # type: ignore[misc]
    with pytest.raises(ValueError, match="at least one goal"):
        Search(Link(), (), plan)


def test_a_repeated_goal_counts_once() -> None:
    search = Search(Link(), (ROOM, SMALL, ROOM), plan_of(Oracle(since(3))))
    assert search.goals == BOTH


# Where the edge is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resolution", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("edge", [1, 2, 3, 7, 21, 64, 300, 999, 1000, 1001, 5000, 8000])
def test_the_answer_is_the_edge_to_within_the_resolution(edge: int, resolution: float) -> None:
    outcome, link, search, _ = searched(Oracle(since(edge)), resolution=resolution)
    assert outcome.buffer is not None
    assert edge <= outcome.buffer <= max(edge + 1, edge * (1 + resolution))
    below = max((buffer for buffer in search.samples if buffer < edge), default=None)
    if edge > 1:
        assert below is not None
        assert outcome.buffer <= max(below + 1, below * (1 + resolution)), "the resolution is between two measured"
        assert outcome.binding == ROOM.key
    else:
        assert outcome.binding is None
    assert outcome.up_to == (max(link.buffers), None)
    assert (outcome.gaps, outcome.feasible_intervals, outcome.notes, outcome.compromise) == ((), (), [], None)
    # From a largest of 1000 the search doubles until it is enough, and goes no further than it must.
    tops = [1000, 2000, 4000, 8000]
    assert max(link.buffers) == next(top for top in tops if top >= edge)


@pytest.mark.parametrize(("ceiling", "tops"), [(8000, {2000, 4000, 8000}), (3000, {2000, 3000}), (1000, set())])
def test_without_an_answer_the_ceiling_was_tried(ceiling: int, tops: set[int]) -> None:
    outcome, link, _, _ = searched(Oracle(lambda _buffer: False), ceiling=ceiling)
    assert {buffer for buffer in link.buffers if buffer > 1000} == tops
    assert outcome.buffer is None
    assert outcome.needs_at_least == ((ROOM.key,), None)
    assert outcome.binding == ROOM.key
    assert outcome.compromise == 1, "of equally bad buffers the smallest"


@pytest.mark.parametrize("edge", [1, 2, 30, 999])
def test_goals_that_ask_for_little_only_are_met_by_the_smallest(edge: int) -> None:
    outcome, link, *_ = searched(Oracle(since(1), until(edge)), [SMALL], also=(29, 33))
    assert outcome.buffer == 1
    assert outcome.binding is None
    assert outcome.needs_at_least == ((), 1)
    measured = sorted(link.buffers)
    last = max(buffer for buffer in measured if buffer <= edge)
    assert outcome.up_to == (last, min(buffer for buffer in measured if buffer > edge))
    assert outcome.gaps == (), "a goal that asks for little makes no gap"


@pytest.mark.parametrize("allowed", [0, 1, 2, 45, 299])
def test_a_conflict_says_what_is_needed_and_what_is_allowed(allowed: int) -> None:
    outcome, link, *_ = searched(Oracle(since(300), until(allowed)), BOTH)
    assert outcome.buffer is None
    assert (outcome.needs_at_least[0], outcome.needs_at_most[0]) == ((ROOM.key,), (SMALL.key,))
    least, most = outcome.needs_at_least[1], outcome.needs_at_most[1]
    assert least is not None
    assert 300 <= least <= 315
    if allowed == 0:
        assert most is None
    else:
        assert most is not None
        assert allowed / 1.06 - 1 <= most <= allowed
    low, high = (0, math.inf) if outcome.impossible else outcome.between
    assert outcome.compromise == min(at for at in link.buffers if low <= at <= high), "all miss one of the two"
    assert outcome.binding == SMALL.key
    assert (outcome.up_to, outcome.gaps, outcome.feasible_intervals) == ((0, None), (), ())


def test_what_is_allowed_may_be_all_that_was_tried() -> None:
    outcome, link, *_ = searched(Oracle(lambda _b: False, until(10**9)), BOTH)
    assert outcome.needs_at_most == ((SMALL.key,), max(link.buffers))
    assert outcome.needs_at_least == ((ROOM.key,), None)
    assert outcome.binding == ROOM.key


def test_the_compromise_is_the_smallest_of_those_that_miss_least() -> None:
    class Least(Oracle):
        def margin(self, reports: Sequence[Report], goals: Sequence[Goal]) -> float:
            buffer = buffer_of(reports)
            return -0.2 if buffer in {70, 90, 500} else super().margin(reports, goals)

    outcome, *_ = searched(Least(lambda _b: False), also=(70, 90, 500))
    assert outcome.compromise == 70


def test_goals_take_the_side_on_which_they_are_measured() -> None:
    """A goal that does not change with the buffer counts as one that needs room: a look there costs nothing."""
    for goals, room in (
        ([ROOM], (ROOM.key,)),
        ([SMALL], ()),
        ([Goal("utilization", "<=", 0.5)], ()),
        ([Goal("queue_mean", ">=", 0.5)], ("queue_mean",)),
    ):
        outcome, *_ = searched(Oracle(since(1)), goals)
        assert outcome.needs_at_least[0] == room
    constant = Search(Link(), [Goal("loss_rate", ">=", 1.0), Goal("loss_rate", "<=", 2.0)], plan_of(Oracle(since(1))))
    constant.sample([1, 10], 4)
    assert constant.directions() == (list(constant.goals), [])


# Curves that fall again ------------------------------------------------------------------------------------------


def stretches(edges: Sequence[int]) -> Callable[[int], bool]:
    """Met from the first edge to below the second, from the third to below the fourth, ..."""
    return lambda buffer: sum(buffer >= edge for edge in edges) % 2 == 1


@settings(max_examples=examples(150))
@given(
    st.lists(st.integers(1, 1500), min_size=1, max_size=5, unique=True).map(sorted),
    st.one_of(st.none(), st.integers(1, 1500)),
    st.lists(st.integers(1, 1000), max_size=8),
)
def test_whatever_the_curve_the_answer_is_what_was_measured(
    edges: list[int], allowed: int | None, also: list[int]
) -> None:
    """Any curve of a goal that needs a larger buffer, and a falling curve of one that needs a smaller."""
    test = Oracle(stretches(edges), until(10**9 if allowed is None else allowed))
    outcome, _, search, _ = searched(test, BOTH, also=tuple(also))
    measured = sorted(search.samples)
    room = {buffer: test.room(buffer) for buffer in measured}
    every = {buffer: test.room(buffer) and test.small(buffer) for buffer in measured}
    answer = outcome.buffer
    if answer is None:
        assert not any(every.values()), "no buffer that was measured is passed over"
        assert outcome.compromise == min(measured)
        return
    assert every[answer]
    below = [buffer for buffer in measured if buffer < answer]
    if below and not room[below[-1]]:
        assert answer <= max(below[-1] + 1, below[-1] * 1.05), "the smallest to within the resolution"
    else:
        assert not below, "next below the answer is a buffer that misses a goal, or none"
    above = [buffer for buffer in measured if buffer > answer]
    assert outcome.gaps == tuple((buffer, ROOM.key) for buffer in above if not room[buffer])
    if outcome.gaps:
        beyond = [buffer for buffer in above if buffer > outcome.gaps[-1][0]]
        assert not any(every[buffer] for buffer in beyond), "below a gap is the answer only where none above it is"
    broken = [buffer for buffer in below if not every[buffer]]
    feasible_intervals = [(buffer, broken[-1]) for buffer in below if every[buffer]] if broken else []
    assert sorted(outcome.feasible_intervals) == feasible_intervals
    met = list(itertools.takewhile(lambda buffer: every[buffer], above))
    first = next((buffer for buffer in above if not every[buffer]), None)
    assert outcome.up_to == (met[-1] if met else answer, first)


def test_no_buffer_below_a_gap_was_refused() -> None:
    """Where above a gap nothing is confirmed, what lies below it is tried, but nothing twice."""
    test = Oracle(stretches([15, 51, 70]), confidence=lambda attempt: 0.999999 if attempt > 3 else 0.5)
    outcome, link, search, _ = searched(test, confirmations=3, also=(18, 42, 56))
    tried = link.fresh(search.plan)
    assert len(tried) == 3 == len(set(tried))
    assert min(tried) >= 70
    assert outcome.buffer is None
    assert outcome.binding == ROOM.key
    assert outcome.needs_at_least[1] is not None
    assert outcome.needs_at_least[1] > 70, "as it was before the island was tried in vain"


def test_an_island_is_confirmed_like_any_answer() -> None:
    test = Oracle(stretches([15, 51, 70]), until(60))
    outcome, link, search, _ = searched(test, BOTH, also=(18, 42, 56))
    assert outcome.buffer in {15, 16}
    assert link.fresh(search.plan) == [outcome.buffer]
    assert outcome.confidence == pytest.approx(1 - 1e-5 / (6 / math.pi**2))
    assert (56, ROOM.key) in outcome.gaps
    assert outcome.up_to[0] < 56
    assert outcome.notes == []


def test_what_the_first_look_steps_over_is_found_by_the_last_one() -> None:
    """64 and 65 packets give room, and no more than 65 are allowed: only the search for what is allowed comes there."""
    test = Oracle(stretches([64, 66]), until(65))
    outcome, link, search, _ = searched(test, BOTH)
    first = {buffer for buffer, _ in link.calls[0]}
    assert not first & {64, 65}
    assert outcome.buffer in {64, 65}
    assert link.fresh(search.plan) == [outcome.buffer]


def test_a_feasible_interval_is_tried_after_all_analyses_only() -> None:
    """The first look at 42 packets says that they meet every goal, all analyses say that they do not; 18 packets do."""

    class Flattering(Oracle):
        def verdict(self, reports: Sequence[Report], goals: Sequence[Goal], level: float) -> Verdict:
            if buffer_of(reports) == 42 and SMALL in goals:
                return Verdict.MET if len(reports) < 16 else Verdict.MISSED
            return super().verdict(reports, goals, level)

    test = Flattering(stretches([15, 51, 70]), until(60))
    outcome, _, search, _ = searched(test, BOTH, also=(18, 42, 56))
    assert len(search.samples[42]) == 16
    assert outcome.buffer in {15, 16}


def test_what_is_just_met_by_the_one_outcome_there_is_is_met() -> None:
    """Where nothing random reaches the link, what is seen is all there is: no confidence, and no doubt."""

    class Certain(Link):
        def __call__(self, pairs: Sequence[tuple[int, int]]) -> list[Report]:
            super().__call__(pairs)
            metrics = [{"queue_mean_packets": {"mean": float(buffer)}} for buffer, _ in pairs]
            return [Report.of({"engine": "test", "metrics": each, "groups": []}) for each in metrics]

    for edge in (1, 2, 40, 300):
        plan = Plan(smallest=1, largest=1000, ceiling=8000, also=(edge,))
        outcome = Search(Certain(), [Goal("queue_mean", ">=", float(edge))], plan).run()
        assert outcome.buffer == edge
        assert outcome.confidence is None
        assert outcome.notes == []


def test_what_only_the_largest_buffers_miss_is_noted_with_both_places() -> None:
    outcome, *_ = searched(Oracle(stretches([15, 51])), also=(18, 42, 56))
    assert outcome.buffer in {15, 16}
    (note,) = outcome.notes
    assert note.kind is Kind.MISSED_AGAIN
    assert note.values == {"met_at": 42, "missed_at": 1000}
    assert outcome.needs_at_least == ((ROOM.key,), outcome.buffer)


@pytest.mark.parametrize("seen", [4, 8])
def test_a_gap_and_a_feasible_interval_are_believed_after_all_analyses(seen: int) -> None:
    """The first looks at 56 packets say missed, all of them say met: no gap, no feasible interval, no other answer."""

    class Unlucky(Oracle):
        def verdict(self, reports: Sequence[Report], goals: Sequence[Goal], level: float) -> Verdict:
            unlucky = buffer_of(reports) == 56 and len(reports) <= seen
            return Verdict.MISSED if unlucky else super().verdict(reports, goals, level)

    outcome, _, search, _ = searched(Unlucky(since(15)), also=(18, 42, 56))
    assert outcome.buffer in {15, 16}
    assert len(search.samples[56]) == 16
    assert (outcome.gaps, outcome.feasible_intervals) == ((), ())
