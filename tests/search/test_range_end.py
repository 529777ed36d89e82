"""A buffer beyond the range is looked for, excluded with a reason, or left open; it is never denied without one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from forebay import Scenario, recommend
from forebay.inputs.goals import Goal
from forebay.results.warning import Kind
from forebay.search.buffer_variable import BufferVariable
from forebay.search.options import Precision
from forebay.search.plan import Outcome, Plan
from forebay.search.planning import PART_OF_A_RUN, RequestedBuffers, plan_of
from forebay.search.quick import QuickLook
from forebay.search.smallest import Search
from tests.support.noisy_links import PLAN, Link, delay
from tests.support.noisy_systems import QUICK

LOSS = Goal("loss_rate", "<=", 0.02)
DELAY = Goal("queue_delay_p99", "<=", delay(500))
KINDS = [(Search, PLAN), (QuickLook, QUICK)]


def falling(buffer: int) -> float:
    """Loss that falls below 2 % at 20,000 packets, beyond the range of 8,000."""
    return 0.2 * math.exp(-buffer / 20_000 * math.log(10))


def hopeless(_buffer: int) -> float:
    """Loss that no buffer changes."""
    return 0.1


def ended(kind: type[Search | QuickLook], plan: Plan, link: Link, goals: list[Goal]) -> tuple[Outcome, int]:
    """The outcome of a search, and the largest buffer that it measured."""
    search = kind(link, goals, plan)
    outcome = search.run()
    return outcome, max(search.samples)


@pytest.mark.parametrize(("kind", "plan"), KINDS)
def test_the_range_is_extended_while_packets_are_lost_at_its_end(kind: type[Search | QuickLook], plan: Plan) -> None:
    wider = replace(plan, furthest=128_000, shows_full=("loss",))
    outcome, largest = ended(kind, wider, Link({"loss_rate": falling}, 0.002), [LOSS])
    assert outcome.buffer is not None
    assert 19_000 <= outcome.buffer <= 26_000
    assert plan.ceiling < largest <= 128_000


@pytest.mark.parametrize(("kind", "plan"), KINDS)
def test_no_verdict_is_given_on_buffers_that_no_run_can_judge(kind: type[Search | QuickLook], plan: Plan) -> None:
    wider = replace(plan, furthest=12_000, shows_full=("loss",))
    for loss in (falling, hopeless):
        outcome, largest = ended(kind, wider, Link({"loss_rate": loss}, 0.002), [LOSS])
        assert (outcome.buffer, outcome.impossible, outcome.between) == (None, False, None)
        assert largest == 12_000
        (note,) = [note for note in outcome.notes if note.kind is Kind.RANGE_END]
        assert note.values == {"packets": 12_000}


@pytest.mark.parametrize(("kind", "plan"), KINDS)
def test_a_goal_that_needs_a_small_buffer_excludes_larger_ones(kind: type[Search | QuickLook], plan: Plan) -> None:
    wider = replace(plan, furthest=128_000, shows_full=("loss",), opposing=(DELAY,))
    link = Link({"loss_rate": falling, "queue_delay_p99_s": delay}, 0.002)
    outcome, largest = ended(kind, wider, link, [LOSS, DELAY])
    assert outcome.impossible
    assert largest <= plan.ceiling


@pytest.mark.parametrize(("kind", "plan"), KINDS)
def test_larger_buffers_change_nothing_if_no_packet_was_lost(kind: type[Search | QuickLook], plan: Plan) -> None:
    wider = replace(plan, furthest=128_000, shows_full=("loss",))
    link = Link({"loss_rate": lambda _: 0.0, "utilization": lambda _: 0.6}, 0.0)
    link.means = {"loss_rate": lambda buffer: 0.01 * (buffer < 100), "utilization": lambda _: 0.6}
    outcome, largest = ended(kind, wider, link, [Goal("utilization", ">=", 0.9)])
    assert outcome.impossible
    assert largest <= plan.ceiling


RARE_AND_LARGE = """
[link]
rate = "10Mbps"
buffer = "60p"
[[flows]]
name = "web"
rtt = "30ms"
workload = { open_loop = { load = 0.5, size = { mixture = [
    { weight = 0.98, exponential = "10kB" }, { weight = 0.02, exponential = "1MB" } ] } } }
[run]
warmup = "3s"
measure = "40s"
"""


def test_a_buffer_above_sixteen_products_is_found_and_holds_in_other_runs() -> None:
    scenario = Scenario.parse(RARE_AND_LARGE)
    answer = recommend(scenario, ["web.loss_rate<=0.5%"])
    assert answer.buffer is not None
    bdp = scenario.core.bdp_packets
    assert bdp is not None
    assert answer.buffer.packets > 16 * bdp
    fresh = scenario.changed(f"link.buffer={answer.buffer.packets:.0f}p", "run.seed=9001").run(replications=60)
    assert fresh.groups[0].metrics["loss_rate"].mean <= 0.005


@pytest.mark.parametrize("queue", ["droptail", "codel"])
def test_a_link_that_is_never_full_needs_no_further_range(queue: str) -> None:
    """Utilization that the traffic does not have, or loss by the discipline itself: no buffer meets the goal."""
    goal = {"droptail": "utilization>=90%", "codel": "loss_rate<=0.1%"}[queue]
    flows = {
        "droptail": "workload = { open_loop = { load = 0.5, size = { exponential = '20kB' } } }",
        "codel": "count = 20",
    }[queue]
    scenario = Scenario.parse(
        f"[link]\nrate = '20Mbps'\nbuffer = '60p'\nqueue = '{queue}'\n[[flows]]\nname = 'web'\nrtt = '30ms'\n{flows}\n"
        "[run]\nwarmup = '2s'\nmeasure = '8s'"
    )
    answer = recommend(scenario, [goal])
    assert answer.verdict == "impossible"
    bdp = scenario.core.bdp_packets
    assert bdp is not None
    # Slow starts in the warm-up of CoDel wait for more than half of 16 products.
    reach = {"droptail": 1, "codel": 4}[queue]
    assert max(point.buffer.packets for point in answer.points) <= reach * (16 * bdp + 1)


BURST = """
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "burst"
rtt = "2ms"
count = 60
start = { uniform = ["1.9s", "1.905s"] }
workload = { finite = { size = "15kB" } }
[run]
warmup = "2s"
measure = "10s"
"""


def test_losses_of_the_warmup_count_for_a_no() -> None:
    """At 256 packets, 16 products, the burst before the measured time is lost, and nothing in it."""
    answer = recommend(Scenario.parse(BURST), ["burst.completion_time_p99<=1s"])
    assert answer.verdict == "met"
    assert answer.buffer is not None
    assert answer.buffer.packets > 256


def test_small_packets_fill_a_buffer_in_packets_sooner_than_its_time() -> None:
    """Packets of 100 bytes wait for a fifteenth of the time of a buffer of 64 packets."""
    text = """
    link = { rate = "2Mbps", buffer = "20p" }
    run = { warmup = "1s", measure = "8s" }
    [[flows]]
    name = "small"
    packet = "100B"
    count = 10
    workload = { on_off = { peak = "600kbps", on = { exponential = "100ms" }, off = { exponential = "300ms" } } }
    [[flows]]
    name = "large"
    packet = "1500B"
    workload = { cbr = { rate = "24kbps" } }
    """
    answer = recommend(Scenario.parse(text), ["loss_rate<=1%"])
    assert answer.verdict == "met"
    assert answer.buffer is not None
    assert answer.buffer.packets > 64


def test_a_lower_limit_on_the_queue_needs_a_larger_buffer() -> None:
    text = "link = { rate = '10Mbps', buffer = '20p' }\nrun = { warmup = '2s', measure = '8s' }\n[[flows]]\n"
    text += "name = 'bulk'\nrtt = '2ms'\ncount = 4"
    answer = recommend(Scenario.parse(text), ["queue_delay_mean>=200ms"])
    assert answer.verdict == "met"
    assert answer.buffer is not None
    assert answer.buffer.packets > 64


def test_losses_at_another_link_are_not_known() -> None:
    """The buffer of the first link decides the goodput, and the report has the losses of the second one."""
    text = """
    [[links]]
    name = "first"
    rate = "2Mbps"
    delay = "10ms"
    buffer = "20p"
    [[links]]
    name = "second"
    rate = "100Mbps"
    buffer = "1000p"
    target = true
    [[flows]]
    name = "web"
    rtt = "40ms"
    path = ["first", "second"]
    workload = { closed_loop = { users = 1, think = { exponential = "1s" }, size = "300kB" } }
    [run]
    warmup = "2s"
    measure = "10s"
    """
    answer = recommend(Scenario.parse(text), ["web.completion_time_p99<=100ms"], over="links.first.buffer", quick=True)
    assert answer.verdict != "impossible"


def test_the_range_ends_where_a_buffer_empties_in_a_part_of_the_run() -> None:
    scenario = Scenario.parse(RARE_AND_LARGE)
    plan = plan_of(BufferVariable(scenario), RequestedBuffers(), Precision())
    assert plan.furthest is not None
    assert plan.furthest / (10e6 / 8 / 1500) == pytest.approx(PART_OF_A_RUN * 40, rel=0.01)
    short = scenario.changed("run.measure=100ms")
    plan = plan_of(BufferVariable(short), RequestedBuffers(), Precision())
    assert plan.furthest == plan.ceiling
