"""Strata have the probabilities of their states, and their weighted mean is that of runs as they come."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from forebay import Scenario, _core
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Means, Measurements
from forebay.search.overlaps import States
from forebay.search.plan import Plan
from forebay.search.strata import MOST, MOST_OF_RARE, RAREST, STREAM_BITS, Strata, strata

#: A flood once in 300 s, seen for 25 s.
FLOOD = """
[link]
rate = "10Mbps"
buffer = "50p"
[[flows]]
name = "steady"
workload = { poisson = { rate = "6Mbps" } }
[[flows]]
name = "burst"
workload = { on_off = { peak = "20Mbps", on = { exponential = "1s" }, off = { exponential = "300s" } } }
[run]
warmup = "5s"
measure = "20s"
[goal]
loss_rate = "<= 0.5%"
queue_delay_p99 = "<= 400ms"
"""
#: One flow, and thirty in one of ten draws.
BIMODAL = """
[link]
rate = "20Mbps"
buffer = "100p"
[[flows]]
name = "bulk"
cca = "newreno"
count = { choice = [1, 1, 1, 1, 1, 1, 1, 1, 1, 30] }
rtt = { uniform = ["40ms", "120ms"] }
start = { uniform = ["0s", "3s"] }
[run]
warmup = "20s"
measure = "40s"
[goal]
loss_rate = "<= 0.3%"
utilization = ">= 80%"
"""
#: Two bursts that hurt only if they overlap, as in one replication in twenty.
OVERLAP = """
[link]
rate = "2Mbps"
buffer = "40p"
[[flows]]
name = "a"
count = 2
start = { uniform = ["0s", "20s"] }
workload = { on_off = { peak = "1900kbps", on = "500ms", off = "1000s" } }
[run]
warmup = "0s"
measure = "21s"
[goal]
loss_rate = "<= 0.1%"
"""
#: A flood in one run of a hundred, the same packets whenever it comes.
START = """
[link]
rate = "2Mbps"
buffer = "20p"
[[flows]]
name = "flood"
workload = { cbr = { rate = "4Mbps" } }
start = { mixture = [{ weight = 99, value = "100s" }, { weight = 1, value = "0s" }] }
[run]
warmup = "0s"
measure = "1s"
[goal]
loss_rate = "<= 1%"
"""
#: Some packets, so that thousands of runs take seconds.
CHEAP = """
[link]
rate = "2Mbps"
buffer = "20p"
[[flows]]
name = "steady"
workload = { poisson = { rate = "1Mbps" } }
[[flows]]
name = "bulk"
rtt = "20ms"
count = { choice = [1, 1, 1, 1, 1, 1, 1, 8] }
[run]
warmup = "0.2s"
measure = "1s"
[goal]
loss_rate = "<= 1%"
"""


def core(text: str) -> _core.Scenario:
    return Scenario.parse(text).core


def found(text: str) -> Strata:
    each = strata(core(text))
    assert each is not None
    return each


def choices(counts: list[int]) -> str:
    return BIMODAL.replace("[1, 1, 1, 1, 1, 1, 1, 1, 1, 30]", str(counts))


def within_four_errors(weight: float, probability: float, population: int = 65_536) -> bool:
    return abs(weight - probability) <= 4 * math.sqrt(probability * (1 - probability) / population)


@pytest.mark.parametrize("counts", [[1] * 9 + [30], [1, 1, 1, 30], [2, 5], [1, 1, 2, 2, 2, 9], [1, 2, 3, 4, 4, 4]])
def test_a_choice_has_a_stratum_for_each_value_with_its_probability(counts: list[int]) -> None:
    each = found(choices(counts))
    assert each.keys == ("flows.bulk.count",)
    assert sum(each.weights) == pytest.approx(1.0, abs=1e-12)
    known = [times / len(counts) for _, times in sorted(Counter(counts).items())]
    assert len(each.weights) == len(known)
    assert all(within_four_errors(*pair) for pair in zip(each.weights, known, strict=True))


def test_a_flood_has_strata_for_none_and_for_a_large_one() -> None:
    each = found(FLOOD)
    assert each.keys == ("flows.burst.workload.on_off",)
    assert sum(each.weights) == pytest.approx(1.0, abs=1e-12)
    none, some, *tails = each.weights
    large = sum(tails)
    values = np.array(core(FLOOD).state_values(77, range(20_000)))[:, 0]
    free = float(np.mean(values == 0))
    error = math.sqrt(none * (1 - none) * (1 / 65_536 + 1 / values.size))
    assert abs(none - free) <= 4 * error
    # The state is stationary, and the process restarts at the start of a run or within it: a flood is on at the
    # start with the probability 1 / 301, and none begins in 25 s with exp(-25 / 300).
    assert abs(none - 300 / 301 * math.exp(-25 / 300)) <= 0.02
    # The tail is the last fifth of the floods.
    assert large / (some + large) == pytest.approx(0.2, abs=0.01)


def test_independent_states_multiply() -> None:
    each = found(choices([1, 1, 1, 9]) + '[[flows]]\nname = "more"\nrtt = "50ms"\ncount = { choice = [1, 4] }\n')
    assert set(each.keys) == {"flows.bulk.count", "flows.more.count"}
    expected = [3 / 8, 3 / 8, 1 / 8, 1 / 8]
    for weight, probability in zip(sorted(each.weights, reverse=True), expected, strict=True):
        assert within_four_errors(weight, probability)


@pytest.mark.parametrize("text", [FLOOD, BIMODAL, CHEAP])
def test_members_are_of_their_strata_and_of_the_series(text: str) -> None:
    each, scenario = found(text), core(text)
    runs: list[int] = []
    for series, place in itertools.product((0, 3, 1 << 20), range(12)):
        first = series << STREAM_BITS
        members = each.members(first + place)
        assert len(members) == len(each.weights)
        assert all(first <= member < first + (1 << STREAM_BITS) for member in members)
        values = np.array(scenario.state_values(scenario.seed, members))
        assert each._strata_of(values) == list(range(len(members)))
        runs.extend(members)
    assert len(runs) == len(set(runs)), "no run is part of two observations"


@pytest.mark.long
@pytest.mark.parametrize(("text", "rare"), [(BIMODAL, 0.1), (START, 0.01)])
def test_an_observation_takes_the_probabilities_from_draws_of_its_own(text: str, rare: float) -> None:
    """Their mean is the declared probability, and their spread that of a share of as many draws (binomial law).

    If all observations shared the weights, no number of runs would show the error of these.
    """
    each = found(text)
    shares = np.array([each.weights_of((place // 30 << 60) + place % 30) for place in range(300)])
    assert np.allclose(shares.sum(axis=1), 1)
    of_rare = shares[:, int(np.argmin(each.weights))]
    spread = math.sqrt(rare * (1 - rare) / each._drawn)
    assert abs(float(np.mean(of_rare)) - rare) < 4 * spread / math.sqrt(300)
    assert 0.85 < float(np.std(of_rare)) / spread < 1.15


def test_the_error_of_the_probabilities_is_part_of_the_spread() -> None:
    """Where the runs of a stratum are all alike, observations differ by the probabilities alone, and in proportion."""
    parts = found(START)
    measure = Measurements(BufferVariable(Scenario.parse(START)), Means("packet", 1), strata=parts)
    used = [report.metrics["utilization"].mean for report in measure([(20, number) for number in range(8)])]
    flooded = [parts.weights_of(number)[int(np.argmin(parts.weights))] for number in range(8)]
    assert len(set(used)) == len(used)
    assert np.allclose(np.divide(used, flooded), used[0] / flooded[0])


def test_the_search_and_fresh_runs_are_of_different_series() -> None:
    """So that what confirms an answer was not seen by the search, and no two buffers share a run."""
    plan = Plan(smallest=1, largest=1000, ceiling=8000)
    places = [(buffer, fresh) for buffer in (20, 21, 8000) for fresh in (False, True)]
    numbers = [plan.number(buffer, 0, fresh=fresh) for buffer, fresh in places]
    assert len({number >> STREAM_BITS for number in numbers}) == len(numbers)
    assert all(number % (1 << STREAM_BITS) == 0 for number in numbers)
    each = found(BIMODAL)
    members = [member for number in numbers for place in range(3) for member in each.members(number + place)]
    assert len(members) == len(set(members))


def test_members_of_a_count_have_its_values() -> None:
    each, scenario = found(BIMODAL), core(BIMODAL)
    for number in (0, 5, (7 << STREAM_BITS) + 3):
        values = scenario.state_values(scenario.seed, each.members(number))
        assert [row[0] for row in values] == [1, 30]


def test_members_do_not_depend_on_the_order_of_calls() -> None:
    numbers = [(series << STREAM_BITS) + place for series in (0, 2) for place in (0, 1, 5, 30)]
    one, other = found(FLOOD), found(FLOOD)
    forward = {number: one.members(number) for number in numbers}
    backward = {number: other.members(number) for number in reversed(numbers)}
    assert forward == backward
    assert forward == {number: one.members(number) for number in numbers}


def test_members_are_the_first_of_their_strata() -> None:
    """Nothing is passed over: the runs of a stratum come in the order of their numbers."""
    each, scenario = found(BIMODAL), core(BIMODAL)
    values = [row[0] for row in scenario.state_values(scenario.seed, range(200))]
    rare = [number for number, value in enumerate(values) if value == 30]
    assert [each.members(place)[1] for place in range(len(rare))] == rare


@pytest.mark.parametrize(
    "text",
    [
        CHEAP.replace("{ choice = [1, 1, 1, 1, 1, 1, 1, 8] }", "2"),
        CHEAP.replace("{ choice = [1, 1, 1, 1, 1, 1, 1, 8] }", "{ choice = [2, 2] }"),
        CHEAP.replace("{ choice = [1, 1, 1, 1, 1, 1, 1, 8] }", "{ poisson = 40 }"),
    ],
)
def test_without_rare_states_there_is_nothing_to_stratify(text: str) -> None:
    assert strata(core(text)) is None


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_there_are_six_strata_at_most_and_none_too_rare(groups: int) -> None:
    group = '[[flows]]\nname = "more{}"\nrtt = "50ms"\ncount = {{ choice = [1, 2, 3, 9] }}\n'
    each = found(choices([1] * 9 + [30]) + "".join(group.format(number) for number in range(groups)))
    assert 2 <= len(each.weights) <= MOST == 6
    assert sum(each.weights) == pytest.approx(1.0, abs=1e-12)
    assert min(each.weights) >= RAREST
    scenario = each._states.core
    members = each.members(4)
    assert each._strata_of(np.array(scenario.state_values(scenario.seed, members))) == list(range(len(members)))


def test_a_combination_that_is_too_rare_joins_a_neighbor() -> None:
    """Two states of one in a hundred: both at once are one in 10,000, and count to the stratum of one of them."""
    rare = choices([1] * 99 + [30])
    more = f'[[flows]]\nname = "more"\nrtt = "50ms"\ncount = {{ choice = {[1] * 99 + [20]} }}\n'
    each, scenario = found(rare + more), core(rare + more)
    none, one, both = 0.99 * 0.99, 0.99 / 100, 1e-4
    assert sum(each.weights) == pytest.approx(1.0, abs=1e-12)
    for weight, probability in zip(sorted(each.weights), (one, one + both, none), strict=True):
        assert within_four_errors(weight, probability)
    values = np.array(scenario.state_values(scenario.seed, range(120_000)))
    known = each._strata_of(values)
    at_once = {known[number] for number, row in enumerate(values) if tuple(row) == (30, 20)}
    assert len(at_once) == 1, "it is never parted"
    assert at_once != {known[number] for number, row in enumerate(values) if tuple(row) == (1, 1)}


@pytest.mark.parametrize("states", [2, 3, 4])
def test_rare_draws_that_coincide_have_a_stratum_of_their_own(states: int) -> None:
    """Each may be harmless, and together they may decide a mean; common draws do not take their place."""
    one = '[[flows]]\nname = "{}"\nrtt = "50ms"\ncount = {{ choice = {} }}\n'
    rare = "".join(one.format(f"rare{number}", [1] * 9 + [30]) for number in range(states))
    common = "".join(one.format(f"common{number}", [1, 1, 2]) for number in range(3))
    each = found(choices([1, 2]) + common + rare)
    assert len(each.weights) <= MOST_OF_RARE
    scenario = each._states.core
    values = np.array(scenario.state_values(scenario.seed, range(40_000)))
    names = [state["key"] for state in scenario.random_states() if state["sampled"]]
    columns = [number for number, name in enumerate(names) if "rare" in name]
    crowds = (values[:, columns] > 1).sum(axis=1)
    known = np.array(each._strata_of(values))
    both = {int(stratum) for stratum in known[crowds >= 2]}
    assert both.isdisjoint({int(stratum) for stratum in known[crowds == 0]})
    assert both.isdisjoint({int(stratum) for stratum in known[crowds == 1]}) or states > 3
    assert sum(each.weights[stratum] for stratum in both) >= 0.9 * np.mean(crowds >= 2)


def test_the_number_of_many_rare_draws_has_strata() -> None:
    """Forty draws of one in 400: one of them is frequent. Its runs are never together with those of none."""
    one = '[[flows]]\nname = "s{}"\nrtt = "50ms"\ncount = {{ choice = {} }}\n'
    each = found(choices([1, 2]) + "".join(one.format(number, [1] * 399 + [30]) for number in range(40)))
    assert len(each.weights) <= MOST_OF_RARE
    assert set(each.keys) == {f"flows.s{number}.count" for number in range(40)}
    scenario = each._states.core
    values = np.array(scenario.state_values(scenario.seed, range(20_000)))
    rare = (values == 30).sum(axis=1)
    known = np.array(each._strata_of(values))
    none = {int(stratum) for stratum in known[rare == 0]}
    assert none.isdisjoint(int(stratum) for stratum in known[rare > 0])
    assert within_four_errors(sum(each.weights[stratum] for stratum in none), (1 - 1 / 400) ** 40)
    members = np.array(scenario.state_values(scenario.seed, list(each.members(7))))
    assert each._strata_of(members) == list(range(len(each.weights)))


def test_the_tail_of_a_tail_has_a_stratum() -> None:
    """One outage in fifty is three hundred times as long as the others."""
    text = CHEAP.replace(
        "[[flows]]",
        """[link.outages]
between = { exponential = "20s" }
lasting = { mixture = [{ weight = 0.98, value = "20ms" }, { weight = 0.02, value = "6s" }] }
[[flows]]""",
        1,
    ).replace("{ choice = [1, 1, 1, 1, 1, 1, 1, 8] }", "4")
    each = found(text.replace('measure = "1s"', 'measure = "15s"'))
    scenario = each._states.core
    values = np.array(scenario.state_values(scenario.seed, range(20_000)))[:, 0]
    known = np.array(each._strata_of(values[:, None]))
    long = {int(stratum) for stratum in known[values > 1.0]}
    assert sum(each.weights[stratum] for stratum in long) < 3 * np.mean(values > 1.0)


def test_a_single_value_that_is_too_rare_has_no_stratum() -> None:
    assert strata(core(choices([1] * 4999 + [30]))) is None


def test_a_combination_that_was_not_seen_is_of_the_nearest_stratum() -> None:
    each = Strata(
        States(core(BIMODAL)), [(0, [5.0]), (1, [1.0, 2.0, 3.0])], {(0, 0): 0, (1, 1): 1}, [0.9, 0.1], ["a", "b"]
    )
    assert each._strata_of(np.array([[0.0, 0.0], [9.0, 1.5], [9.0, 7.0]])) == [0, 1, 1]


def test_the_stratum_of_a_combination_does_not_depend_on_what_was_asked_before() -> None:
    def made() -> Strata:
        return Strata(States(core(BIMODAL)), [(0, [5.0]), (1, [1.0])], {(0, 0): 0, (1, 1): 1}, [0.9, 0.1], ["a", "b"])

    at_once, later = made(), made()
    later._known((0, 2))
    assert at_once._known((1, 3)) == later._known((1, 3))


@pytest.mark.long
def test_the_weighted_mean_of_strata_is_that_of_runs_as_they_come() -> None:
    """400 observations of strata and 3,000 runs agree within four standard errors, and strata vary less."""
    scenario = Scenario.parse(CHEAP)
    parts = strata(scenario.core)
    assert parts is not None
    series = 1 << STREAM_BITS
    composite = Measurements(BufferVariable(scenario), Means("packet", 2), strata=parts)
    uncompressed = Measurements(BufferVariable(scenario), Means("packet", 2))
    of_strata = composite([(20, series + place) for place in range(400)])
    as_they_come = uncompressed([(20, (5 << STREAM_BITS) + place) for place in range(3000)])
    assert composite.runs == 400 * len(parts.weights)
    for name in ("loss_rate", "queue_mean_packets", "queue_delay_p99_s"):
        one, other = (
            np.array([report.metrics[name].mean for report in reports]) for reports in (of_strata, as_they_come)
        )
        errors = [float(np.std(values, ddof=1)) / math.sqrt(values.size) for values in (one, other)]
        # The probabilities of the strata are those of 65,536 draws.
        weights = math.sqrt(1 / 8 * 7 / 8 / 65_536) * 8 * float(np.std(other))
        assert abs(float(one.mean() - other.mean())) <= 4 * math.hypot(*errors, weights), name
        assert float(np.std(one)) < float(np.std(other)), name


def test_an_observation_is_the_weighted_mean_of_its_runs() -> None:
    scenario = Scenario.parse(CHEAP)
    parts = strata(scenario.core)
    assert parts is not None
    (observation,) = Measurements(BufferVariable(scenario), Means("packet", 1), strata=parts)([(20, 3)])
    runs = Measurements(BufferVariable(scenario), Means("packet", 1))([(20, member) for member in parts.members(3)])
    expected = math.fsum(
        weight * run.metrics["loss_rate"].mean for weight, run in zip(parts.weights_of(3), runs, strict=True)
    )
    assert observation.metrics["loss_rate"].mean == pytest.approx(expected, rel=1e-12)


def test_runs_with_an_overlap_have_strata_of_their_own() -> None:
    core = Scenario.parse(OVERLAP).core
    parts = strata(core)
    assert parts is not None
    assert "link.rate" in parts.keys
    last = [state["kind"] for state in core.random_states() if state["sampled"]].index("overload")
    overlap: dict[bool, list[float]] = {False: [], True: []}
    for stratum, weight in enumerate(parts.weights):
        members = [parts.members(place)[stratum] for place in range(50)]
        found = {row[last] > 0 for row in core.state_values(core.seed, members)}
        assert len(found) == 1
        overlap[found.pop()].append(weight)
    # Bursts of 0.5 s whose starts are less than 0.5 s apart.
    assert math.fsum(overlap[True]) == pytest.approx(1 - (19.5 / 20) ** 2, rel=0.05)
