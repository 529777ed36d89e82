"""Goals are refused before anything runs where no report could have the figure, and in no other case."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from forebay import InputError, Scenario, UnsupportedError, _core, recommend
from forebay.errors import ContradictionError
from forebay.results.metric import find
from forebay.search.measurable import ENGINES, Measurable
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

#: Every kind of workload. Finite workloads begin after the warm-up, so that they end in the measured time.
WORKLOADS: Mapping[str, str] = {
    "persistent": '"persistent"',
    "finite": '{ finite = { size = "300kB" } }\nstart = "1.2s"',
    "closed_loop": '{ closed_loop = { users = 6, think = { exponential = "100ms" }, size = "60kB" } }',
    "periodic": '{ periodic = { every = "200ms", size = "60kB" } }\ncount = 3',
    "open_loop": '{ open_loop = { load = 0.9, size = "60kB" } }',
    "incast": '{ incast = { servers = 4, pause = "20ms", size = "9kB" } }',
    "app_limited": '{ app_limited = { rate = "1.5Mbps" } }\ncount = 2',
    "poisson": '{ poisson = { rate = "2.5Mbps" } }',
    "cbr": '{ cbr = { rate = "2.5Mbps" } }',
    "on_off": '{ on_off = { peak = "5Mbps", on = { exponential = "100ms" }, off = { exponential = "100ms" } } }',
    "voip": '"voip"\ncount = 50',
}


def scenario(*kinds: str) -> Scenario:
    groups = (
        f'[[flows]]\nname = "{kind.replace("_", "-")}"\nrtt = "20ms"\npacket = "1000B"\nworkload = {WORKLOADS[kind]}\n'
        for kind in kinds
    )
    run = '[run]\nwarmup = "1s"\nmeasure = "4s"\n'
    return Scenario.parse(f'[link]\nrate = "2Mbps"\nbuffer = "3p"\n{"".join(groups)}{run}')


def named(metrics: Mapping[str, object]) -> set[str]:
    """Names as in goals of the metrics of a report."""
    found = (find(name) for name in metrics)
    return {metric.goal_name for metric in found if metric is not None}


def test_every_kind_of_workload_is_tried() -> None:
    known = (_core.scenario_keys(),)
    assert all(f'"{kind}"' in known[0] for kind in WORKLOADS if kind != "persistent")


@pytest.mark.parametrize("engine", ["packet", "fluid"])
@pytest.mark.parametrize("kind", list(WORKLOADS))
def test_what_is_foretold_is_what_is_reported(kind: str, engine: str) -> None:
    """Where packets are lost and transfers end, a report has exactly the metrics that goals may be about."""
    requested = scenario(kind)
    try:
        report = requested.run(engine, replications=1)
    except UnsupportedError:
        assert engine == "fluid"
        assert kind not in {"persistent", "poisson", "cbr", "on_off"}
        return
    (group,) = report.groups
    assert named(group.metrics) == set(Measurable(requested, engine).metrics(group.name))
    assert named(report.metrics) == set(Measurable(requested, engine).metrics())


@pytest.mark.parametrize("engine", ["packet", "fluid"])
def test_what_is_foretold_of_a_mix(engine: str) -> None:
    kinds = ("persistent", "cbr") if engine == "fluid" else tuple(WORKLOADS)
    requested = scenario(*kinds)
    report = requested.run(engine, replications=1)
    # Not every flow of a crowd gets anywhere.
    assert named(report.metrics) <= set(Measurable(requested, engine).metrics())
    for group in report.groups:
        assert named(group.metrics) <= set(Measurable(requested, engine).metrics(group.name))


def test_a_medium_has_a_loss_rate_where_it_loses() -> None:
    lossy = scenario("persistent").changed(("test", "link.loss.random", "1%"))
    assert "medium_loss_rate" in Measurable(lossy, "packet").metrics()
    assert "medium_loss_rate" in named(lossy.run("packet", replications=1).metrics)
    assert "medium_loss_rate" not in Measurable(lossy, "packet").metrics("persistent")
    with pytest.raises(InputError, match="medium_loss_rate`, which is not measured: the link has no `loss`; allowed"):
        recommend(scenario("persistent"), ["medium_loss_rate<=1%"], progress=refuse)


@pytest.mark.parametrize("engine", ["packet", "fluid"])
def test_phases_have_delays_where_the_rate_changes(engine: str) -> None:
    changing = scenario("persistent").changed(
        'link.rate={ steps = [["0s", "10Mbps"], ["200ms", "5Mbps"]], repeat = "1s" }'
    )
    phases = {f"queue_delay_{part}_{phase}" for part in ("p50", "p99") for phase in ("slow", "fast")}
    assert phases <= set(Measurable(changing, engine).metrics())
    assert phases <= named(changing.run(engine, replications=1).metrics)
    played = scenario("persistent").changed('link.rate={ opportunities = "1 1 2" }')
    assert not phases & (
        named(played.run("packet", replications=1).metrics) | set(Measurable(played, "packet").metrics())
    )
    with pytest.raises(
        InputError, match="queue_delay_p99_slow`, which is not measured: the link's rate does not change"
    ):
        recommend(scenario("persistent"), ["queue_delay_p99_slow<=10ms"], progress=refuse)


@pytest.mark.parametrize("engine", ["packet", "fluid"])
def test_a_queue_drains_after_falls_of_the_rate(engine: str) -> None:
    """Where the rate falls in the measured time, and where it only rises, or falls before."""
    falls = {
        '{ steps = [["0s", "10Mbps"], ["200ms", "5Mbps"]], repeat = "1s" }': True,
        '{ markov = [{ rate = "10Mbps", mean_time = "40ms" }, { rate = "1Mbps", mean_time = "40ms" }] }': True,
        '{ steps = [["0s", "10Mbps"], ["1ms", "5Mbps"], ["2s", "10Mbps"]] }': False,
    }
    for rate, expected in falls.items():
        changing = scenario("persistent").changed(f"link.rate={rate}")
        assert ("drain_time_max" in Measurable(changing, engine).metrics()) == expected, rate
        assert ("drain_time_max" in named(changing.run(engine, replications=1).metrics)) == expected, rate
    with pytest.raises(InputError, match="drain_time_max`, which is not measured: the link's rate does not fall in"):
        recommend(scenario("persistent"), ["drain_time_max<=10ms"], engine=engine, progress=refuse)


def test_a_policer_has_a_loss_rate_where_there_is_one() -> None:
    policed = scenario("persistent").changed(("test", "link.policer", '{ rate = "2Mbps", burst = "20kB" }'))
    assert "policer_loss_rate" in Measurable(policed, "packet").metrics()
    assert "policer_loss_rate" not in Measurable(scenario("persistent"), "packet").metrics()
    assert named(policed.run("packet", replications=1).metrics) <= set(Measurable(policed, "packet").metrics())
    with pytest.raises(
        InputError, match="policer_loss_rate`, which is not measured: the link has no `policer`; allowed"
    ):
        recommend(scenario("persistent"), ["policer_loss_rate<=1%"], progress=refuse)


def test_engines_that_leave_metrics_out_are_engines() -> None:
    assert set(ENGINES) <= {engine.name for engine in _core.engines()}
    known = {metric.goal_name for metric in _core.metrics()}
    for of_link, of_groups in ENGINES.values():
        assert of_link | of_groups <= known


# In one line, at once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "messages"),
    [
        ("background.completion_time_p99<=1s", ["transfers that end", "the group's workload is poisson", "loss_rate"]),
        ("bulk.completion_time_p99<=1s", ["transfers that end", "the group's workload is persistent", "timeouts"]),
        ("bulk.request_time_p50<=1s", ["an incast"]),
        ("background.timeouts<=1", ["flows that react to congestion"]),
        ("bulk.utilization>=0.9", ["of the link", "without the group"]),
        ("timeouts<=1", ["of a flow group", "GROUP.timeouts"]),
        ("utilization>=99", ["which is 9900 %", "did you mean `>= 99%`?"]),
        ("loss_rate<=5", ["did you mean `<= 5%`?"]),
        ("bulk.loss_rate<=5", ["did you mean `<= 5%`?"]),
        ("jain_index>=95", ["did you mean `>= 0.95`?", "allowed: 0 to 1"]),
        ("utilization>=1234", ["123400 %", "allowed: 0 to 1"]),
        ("utilization>=nan", ["nan"]),
        ("queue_delay_p99<=-1ms", ["-1ms"]),
        ("speed>=3", ["speed"]),
        ("mice.loss_rate<=1%", ["mice", "bulk, background"]),
    ],
)
def test_a_goal_that_cannot_be_is_refused_at_once(goal: str, messages: list[str], small: Path) -> None:
    started = time.perf_counter()
    with pytest.raises(InputError) as raised:
        recommend(Scenario.load(small), [goal], progress=refuse)
    assert time.perf_counter() - started < 0.5
    assert str(raised.value).startswith("goals: ")
    for part in messages:
        assert part in str(raised.value)
    answer = forebay("recommend", small, "--goal", goal)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "--goal: " in answer.err


def refuse(_done: int, _all: int) -> None:
    raise AssertionError("simulated")


def test_fairness_needs_flows_that_last() -> None:
    with pytest.raises(InputError, match=r"goals: found `jain_index`.*needs persistent flows, and there are none"):
        recommend(scenario("open_loop"), ["jain_index>=0.9"], progress=refuse)


def test_metrics_missing_from_an_engine_are_listed() -> None:
    with pytest.raises(
        InputError, match=r"found `mark_rate`.*the fluid engine does not report it; allowed for the lin"
    ):
        recommend(Scenario.parse(SMALL), ["mark_rate<=1%"], engine="fluid", progress=refuse)


@pytest.mark.parametrize(
    ("found", "expected", "place"),
    [
        ('utilization = ">= 85%"', 'utilization = ">= 85"', "small.toml:26: goal.utilization: "),
        (
            "queue_delay_p99 =",
            '"background.slowdown_p99" = "<= 3"\nqueue_delay_p99 =',
            "small.toml:27: goal.background",
        ),
    ],
)
def test_a_goal_of_the_file_is_named_with_its_line(found: str, expected: str, place: str, small: Path) -> None:
    small.write_text(SMALL.replace(found, expected), encoding="utf-8")
    answer = forebay("recommend", small, "--goal", "loss_rate<=50%")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert place in answer.err
    assert "--goal" not in answer.err


def test_an_option_replaces_what_is_wrong_in_the_file(small: Path) -> None:
    small.write_text(SMALL.replace('">= 85%"', '">= 85"'), encoding="utf-8")
    assert recommend(Scenario.load(small), ["utilization>=85%"]).feasible


def test_goals_that_exclude_each_other_are_refused_before_anything_runs(small: Path) -> None:
    for pair in (["utilization>=0.9", "utilization<=0.7"], ["queue_delay_p99>=9ms", "queue_delay_p99_s<=8ms"]):
        with pytest.raises(ContradictionError, match="no value can meet both"):
            recommend(Scenario.load(small), pair, progress=refuse)


def test_unusual_goals_are_the_users_own_affair() -> None:
    """A bound on the other side than usual, the whole of something, and what may but need not be measured."""
    answer = recommend(Scenario.parse(SMALL), ["utilization<=99%", "loss_rate>=0", "bulk.window_mean<=1000p"])
    assert set(answer.goals) == {"utilization", "queue_delay_p99", "loss_rate", "bulk.window_mean"}


@pytest.mark.parametrize(
    ("option", "same", "wrong"),
    [("--confidence", ("95%", "0.95"), "95"), ("--resolution", ("5%", "0.05"), "5"), ("--confidence", (), "x")],
)
def test_shares_are_read_in_per_cent_and_as_numbers(
    option: str, same: tuple[str, ...], wrong: str, small: Path
) -> None:
    cheap = ["recommend", small, "--no-picture", "--json", "--engine", "fluid", option]
    answers = {forebay(*cheap, text).out.partition('"cost"')[0] for text in same}
    assert len(answers) <= 1
    refused = forebay(*cheap, wrong)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert option.removeprefix("--") in refused.err
    assert wrong in refused.err
