"""No run exceeds a derived delay, and nothing is derived where the queue may hold more than its buffer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from forebay import Scenario, recommend
from forebay.results.warning import Kind
from forebay.search.buffer_variable import BufferVariable
from forebay.search.delay_bound import FIRST_IN_FIRST_OUT, delay_bounds
from forebay.search.question import varied

#: Twice what the link carries, in packets of two sizes, and flows that react.
OVERLOAD = """
[link]
rate = "4Mbps"
buffer = "20p"
queue = "droptail"
[[flows]]
name = "flood"
packet = "1500B"
workload = { poisson = { rate = "5Mbps" } }
[[flows]]
name = "small"
packet = "200B"
workload = { poisson = { rate = "3Mbps" } }
[[flows]]
name = "bulk"
rtt = "20ms"
packet = "1500B"
count = 4
[run]
warmup = "1s"
measure = "3s"
[goal]
queue_delay_max = "<= 60ms"
queue_delay_p99 = "<= 25ms"
queue_delay_mean = "<= 200ms"
utilization = ">= 50%"
"""
BASE = Scenario.parse(OVERLOAD)


def bounds(scenario: Scenario) -> Mapping[str, int]:
    """By goal, the largest buffer up to which it is derived to hold."""
    return {goal.key: most for goal, most in delay_bounds(BufferVariable(scenario).of_key("link.buffer")).items()}


def test_the_bound_is_that_of_a_full_queue_of_the_largest_packets() -> None:
    """One packet of 1,500 bytes takes 3 ms: 60 ms are 19 in the queue and one in transmission, short of rounding."""
    assert bounds(BASE) == {"queue_delay_max": 18, "queue_delay_p99": 7, "queue_delay_mean": 65}


def test_a_limit_in_bytes_is_filled_by_packets_of_any_size() -> None:
    scenario = BASE.changed("link.buffer=30kB")
    assert not scenario.core.packet_limit
    varied = BufferVariable(scenario).of_key("link.buffer")
    size = varied.size
    each = size.bytes / size.packets
    assert bounds(scenario)["queue_delay_max"] == int((0.999 * 0.06 * 5e5 - 1500) / each)


@pytest.mark.parametrize("queue", ["droptail", "red", "codel", "pie", "choke", "drophead", "cobalt"])
@pytest.mark.parametrize(
    ("limit", "layer"), [("20p", "l3"), ("30kB", "l3"), ("20p", "l1"), ("30kB", "l2"), ("30kB", "l1")]
)
def test_no_run_exceeds_the_bound(queue: str, limit: str, layer: str) -> None:
    assert queue in FIRST_IN_FIRST_OUT
    for threshold_ms in (7, 12.5, 31, 60, 250):
        changes = [f"link.queue={queue}", f"link.buffer={limit}", f"goal.queue_delay_max=<= {threshold_ms}ms"]
        changes.append(f"link.rate_layer={layer}")
        scenario = BASE.changed(*changes)
        most = bounds(scenario).get("queue_delay_max")
        if most is None:
            assert threshold_ms == 7, "two packets with their frames take longer"
            continue
        varied = BufferVariable(scenario).of_key("link.buffer")
        for buffer in {most, max(1, most // 3)}:
            for replication in range(2):
                turned = varied.apply(buffer)
                report = turned.changed(f"run.seed={replication + 1}").run(replications=1)
                assert report.metrics["queue_delay_max_s"].mean <= threshold_ms / 1e3, (threshold_ms, buffer)


@pytest.mark.parametrize("layer", ["l3", "l1"])
def test_the_bound_is_not_far_from_what_a_run_reaches(layer: str) -> None:
    """So that the test above cannot pass by accident: a little more than the bound, and the goal is missed."""
    text = OVERLOAD.replace('packet = "200B"', 'packet = "1500B"')
    scenario = Scenario.parse(text).changed(f"link.rate_layer={layer}")
    most = bounds(scenario)["queue_delay_max"]
    report = BufferVariable(scenario).of_key("link.buffer").apply(most + 3).run(replications=1)
    assert report.metrics["queue_delay_max_s"].mean > 0.06


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('queue = "droptail"', 'queue = "fq_codel"'),
        ('queue = "droptail"', 'queue = "priority"'),
        (
            'queue = "droptail"',
            "queue = { kind = 'classes', schedule = 'dwrr', classes = [{ name = 'a', groups = ['flood'], weight = 1 },"
            " { name = 'b', groups = ['small', 'bulk'], weight = 1 }] }",
        ),
        ('rate = "4Mbps"', 'rate = { steps = [["0s", "4Mbps"], ["2s", "2Mbps"]], repeat = "4s" }'),
        ('rate = "4Mbps"', 'rate = "4Mbps"\nshaper = { rate = "2Mbps", burst = "20kB" }'),
        ('rate = "4Mbps"', 'rate = "4Mbps"\noutages = [["2s", "2.5s"]]'),
        ('packet = "200B"', "packet = { choice = ['200B', '1500B'] }"),
        ('packet = "200B"', "packet = { uniform = ['200B', '1500B'] }"),
    ],
)
def test_nothing_is_derived_where_a_packet_may_wait_longer(before: str, after: str) -> None:
    assert before in OVERLOAD
    assert bounds(Scenario.parse(OVERLOAD.replace(before, after, 1))) == {}


def test_nothing_is_derived_of_what_is_not_the_buffer() -> None:
    ranged = varied(BufferVariable(BASE), "link.rate=2Mbps..8Mbps", largest=False, resolution=0.05)
    assert delay_bounds(ranged) == {}
    assert delay_bounds(object()) == {}


def test_nothing_is_derived_of_other_goals_and_of_a_delay_below_one_packet() -> None:
    found = bounds(BASE.changed("goal.queue_delay_p99=<= 4ms", "goal.queue_delay_mean=>= 1ms"))
    assert set(found) == {"queue_delay_max"}


def test_a_bound_is_of_the_target_alone_and_holds_for_every_group() -> None:
    """Packets that waited at an earlier link for longer wait at the target for no longer than its buffer lets them."""
    first = '[[links]]\nname = "first"\nrate = "1Mbps"\nbuffer = "200p"\n[[links]]\nname = "second"\ntarget = true'
    text = OVERLOAD.replace("[link]", first, 1)
    text = text.replace("workload =", 'path = ["first", "second"]\nworkload =')
    text = text.replace("count = 4", 'path = ["second"]\ncount = 16')
    scenario = Scenario.parse(text).changed("goal.flood.queue_delay_max=<= 60ms")
    varied = BufferVariable(scenario).of_key("link.buffer")
    found = {goal.key: most for goal, most in delay_bounds(varied).items()}
    assert found["flood.queue_delay_max"] == found["queue_delay_max"] == 18
    report = varied.apply(18).run(replications=1)
    assert 0.03 < report.metrics["queue_delay_max_s"].mean <= 0.06
    for group in report.groups:
        assert group.metrics["queue_delay_max_s"].mean <= 0.06
    earlier = BufferVariable(scenario).of_key("links.first.buffer")
    assert delay_bounds(earlier) == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("queue", ["droptail", "codel"])
@pytest.mark.parametrize("quick", [True, False])
def test_no_goal_is_called_missed_within_its_bound(queue: str, quick: bool) -> None:
    """No verdict is impossible, and no note refuses a buffer within the bound for its delay."""
    for threshold_ms, share in itertools.product((20, 60), (60, 90)):
        scenario = Scenario.parse(OVERLOAD.partition("[goal]")[0]).changed(f"link.queue={queue}")
        answer = recommend(
            scenario, [f"queue_delay_max<={threshold_ms}ms", f"utilization>={share}%"], quick=quick, jobs=2
        )
        most = {
            goal.name: packets
            for goal, packets in delay_bounds(BufferVariable(answer.scenario).of_key("link.buffer")).items()
        }["queue_delay_max"]
        assert answer.verdict != "impossible"
        for warning in answer.warnings:
            if warning.kind is Kind.REFUSED and "queue_delay_max" in warning:
                assert warning.values["packets"] > most
        for point in answer.points:
            if point.buffer.packets <= most:
                assert point.metrics["queue_delay_max_s"].mean <= threshold_ms / 1e3
