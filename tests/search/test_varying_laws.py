"""Tests of a search's variable, of its permitted questions, and of its kept replications, by definition."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from forebay import InputError, Scenario, _core
from forebay.scenario import TARGET
from forebay.search.buffer_variable import BufferVariable
from forebay.search.goals import with_goals
from forebay.search.measurable import Measurable
from forebay.search.sensitivity import VARIATIONS, vary
from tests.support.scenarios import SMALL

HEAD = '[link]\nrate = "10Mbps"\nbuffer = "20p"\n'
TAIL = '[run]\nwarmup = "1s"\nmeasure = "2s"\n'


def scenario(*groups: str, title: str = "") -> Scenario:
    """A link with groups that are told by their workload and what else they have."""
    flows = "".join(f'[[flows]]\nname = "g{number}"\n{group}\n' for number, group in enumerate(groups))
    return Scenario.parse((f'title = "{title}"\n' if title else "") + HEAD + flows + TAIL)


# One property off by a factor ------------------------------------------------------------------------------------

ANSWERING = 'rtt = "20ms"\n'

#: By workload: where the number of flows is, and what of the load is scaled and whether more of it is less.
KINDS: Mapping[str, tuple[str, tuple[str, ...] | None, tuple[str, ...] | None, int]] = {
    "persistent": ('count = 10\nworkload = "persistent"', ("count",), None, 1),
    "finite": ('count = 10\nworkload = { finite = { size = "9kB" } }', ("count",), None, 1),
    "periodic": (
        'count = 10\nworkload = { periodic = { every = "100ms", size = "9kB" } }',
        ("count",),
        ("workload", "periodic", "every"),
        -1,
    ),
    "app_limited": (
        'count = 10\nworkload = { app_limited = { rate = "100kbps" } }',
        ("count",),
        ("workload", "app_limited", "rate"),
        1,
    ),
    "closed_loop": (
        'workload = { closed_loop = { users = 10, think = "100ms", size = "9kB" } }',
        ("workload", "closed_loop", "users"),
        None,
        1,
    ),
    "incast": (
        'workload = { incast = { servers = 10, pause = "20ms", size = "9kB" } }',
        ("workload", "incast", "servers"),
        None,
        1,
    ),
    "open_loop": (
        'workload = { open_loop = { interarrival = "100ms", size = "9kB" } }',
        None,
        ("workload", "open_loop", "interarrival"),
        -1,
    ),
    "poisson": ('workload = { poisson = { rate = "1Mbps" } }', None, ("workload", "poisson", "rate"), 1),
    "cbr": ('workload = { cbr = { rate = "1Mbps" } }', None, ("workload", "cbr", "rate"), 1),
    "on_off": (
        'workload = { on_off = { peak = "1Mbps", on = "100ms", off = "100ms" } }',
        None,
        ("workload", "on_off", "peak"),
        1,
    ),
}


def at(tables: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = tables["flows"][0]
    for key in path:
        found = found[key]
    return found


def number(text: Any) -> float:
    """A quantity, in its unit as it was written."""
    if not isinstance(text, str):
        return float(text)
    split = _core.split_quantity(text)
    assert split is not None
    seconds = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "bps": 1.0, "kbps": 1e3, "Mbps": 1e6}
    return split[0] * seconds[split[1]]


@pytest.mark.parametrize("factor", [0.8, 1.2, 2.0])
@pytest.mark.parametrize("kind", list(KINDS))
def test_each_property_is_scaled_where_traffic_of_a_kind_has_it(kind: str, factor: float) -> None:
    text, flows, load, power = KINDS[kind]
    responsive = kind not in {"poisson", "cbr", "on_off"}
    before = scenario((ANSWERING if responsive else "") + text)
    for what, path, by in (
        ("flows", flows, factor),
        ("load", load, factor**power),
        ("rtt", ("rtt",) if responsive else None, factor),
    ):
        after = vary(before, what, factor)
        if path is None:
            assert after is None
            continue
        assert after is not None
        one, other = at(before.resolved, path), at(after.resolved, path)
        assert number(other) == pytest.approx(by * number(one), rel=1e-9)
        # Nothing else differs.
        tables, required = after.resolved, before.resolved
        for each in (tables, required):
            holder = at(each, path[:-1])
            holder[path[-1]] = None
            if kind == "incast":
                assert each["flows"][0].pop("count", 10) in {10, round(10 * factor)}, "its servers are its flows"
        assert tables["flows"] == required["flows"]


def test_a_number_of_flows_is_whole_and_never_none() -> None:
    one = scenario(ANSWERING + 'workload = "persistent"')
    for factor in (0.01, 0.8, 1.2, 1.4):
        assert vary(one, "flows", factor) is None, "rounding leaves everything as it was"
    two = vary(scenario(ANSWERING + "count = 2"), "flows", 0.1)
    assert two is not None
    assert two.resolved["flows"][0]["count"] == 1
    assert vary(scenario(ANSWERING + "count = { uniform = [1, 10] }"), "flows", 0.3).resolved["flows"][0][  # type: ignore[union-attr]
        "count"
    ] == {"uniform": [1, 3]}
    drawn = vary(scenario(ANSWERING + "count = { poisson = 5 }"), "flows", 1.2)
    assert drawn is not None
    assert drawn.resolved["flows"][0]["count"] == {"poisson": 6.0}


@pytest.mark.parametrize("law", ['rtt = ["20ms", "30ms"]', 'rtt = "20ms"\nstart = ["0s", "1s"]'])
def test_flows_that_are_listed_one_by_one_are_not_multiplied(law: str) -> None:
    listed = scenario(f"count = 2\n{law}")
    assert vary(listed, "flows", 2.0) is None
    jittered = scenario('count = 2\nrtt = { list = ["20ms", "30ms"], jitter = "1ms" }')
    assert vary(jittered, "flows", 2.0) is None
    drawn = scenario('count = 2\nrtt = { uniform = ["20ms", "30ms"] }\nstart = { uniform = ["0s", "1s"] }')
    assert vary(drawn, "flows", 2.0) is not None


def test_one_group_that_can_be_scaled_is_enough_and_all_that_can_are() -> None:
    both = scenario(ANSWERING + "count = 10", KINDS["poisson"][0], ANSWERING + "count = 20", title="Mixed")
    more = vary(both, "flows", 1.5)
    assert more is not None
    assert [group.get("count") for group in more.resolved["flows"]] == [15, both.resolved["flows"][1].get("count"), 30]
    assert more.title == both.title == "Mixed"
    busier = vary(both, "load", 1.5)
    assert busier is not None
    assert busier.core.background_load == pytest.approx(1.5 * both.core.background_load)
    assert VARIATIONS == ("flows", "rtt", "load"), "in the order of the table"


@pytest.mark.parametrize(
    ("law", "scaled"),
    [
        ('{ uniform = ["20ms", "30ms"] }', {"uniform": ["40ms", "60ms"]}),
        ('{ exponential = "20ms" }', {"exponential": "40ms"}),
        ('["20ms", "30ms"]', ["40ms", "60ms"]),
        (
            '{ mixture = [{ weight = 0.25, value = "20ms" }, { weight = 0.75, exponential = "30ms" }] }',
            {"mixture": [{"weight": 0.25, "value": "40ms"}, {"weight": 0.75, "exponential": "60ms"}]},
        ),
    ],
)
def test_what_has_a_unit_is_scaled_and_what_has_none_is_not(law: str, scaled: Any) -> None:
    after = vary(scenario(f"count = 2\nrtt = {law}"), "rtt", 2.0)
    assert after is not None
    required = scenario(f"count = 2\nrtt = {law}").resolved["flows"][0]["rtt"]

    def same(one: Any, other: Any) -> bool:
        if isinstance(one, dict):
            return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
        if isinstance(one, list):
            return all(itertools.starmap(same, zip(one, other, strict=True)))
        return one == other or (isinstance(one, str) and number(one) == pytest.approx(number(other)))

    assert same(after.resolved["flows"][0]["rtt"], scaled)
    assert not same(required, scaled)


# Which buffer ----------------------------------------------------------------------------------------------------

CLASSES = """
[link]
rate = "10Mbps"
buffer = "60p"
queue = { kind = "classes", schedule = "strict", classes = [
    { name = "voice", groups = ["calls"], buffer = "20p" },
    { name = "rest" },
] }
[[flows]]
name = "calls"
packet = "200B"
workload = { cbr = { rate = "1Mbps" } }
[[flows]]
name = "bulk"
count = 2
rtt = "30ms"
packet = "1000B"
"""


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("link.buffer", (None, None)),
        ("links.uplink.buffer", ("uplink", None)),
        ("link.queue.classes.voice.buffer", (None, "voice")),
        ("links.up.queue.classes.a.b.buffer", ("up", "a.b")),
    ],
)
def test_a_key_says_the_link_and_the_class(key: str, place: tuple[str | None, str | None]) -> None:
    assert BufferVariable(Scenario.parse(SMALL), key).place == place
    assert BufferVariable(Scenario.parse(SMALL), key).is_target == (key == TARGET)


def test_a_scale_is_packets_of_a_product_or_of_a_second_of_queue() -> None:
    link = Scenario.parse(
        CLASSES.replace('queue = { kind = "classes", schedule = "strict", classes = [', "#").replace(
            '    { name = "voice", groups = ["calls"], buffer = "20p" },\n    { name = "rest" },\n] }\n', ""
        )
    )
    product = 10e6 * 0.030 / 8
    target = BufferVariable(link)
    assert target.scale == pytest.approx(link.core.bdp_packets)
    assert BufferVariable(target.apply(37)).size.packets == 37
    classes = Scenario.parse(CLASSES)
    rest = BufferVariable(classes).of_key("link.queue.classes.rest.buffer")
    size = rest.sized(100)
    assert size.packets == 100
    if size.bdp is not None:
        assert rest.scale == pytest.approx(100 / size.bdp, rel=1e-3)
    voice = BufferVariable(classes).of_key("link.queue.classes.voice.buffer")
    assert voice.sized(100).bytes == 100 * 200, "packets of those that wait there"
    assert product > 0
    calls = Scenario.parse(
        CLASSES.partition('[[flows]]\nname = "bulk"')[0].replace(
            '{ name = "rest" },', '{ name = "rest", buffer = "9p" },'
        )
    )
    assert calls.core.bdp_packets is None
    for each in (BufferVariable(calls), BufferVariable(calls).of_key("link.queue.classes.voice.buffer")):
        seconds = each.sized(1000).seconds
        assert each.sized(1000).bdp is None
        assert each.scale == pytest.approx(1000 / seconds, rel=1e-3)


def test_a_buffer_is_read_in_whole_packets_of_at_least_one() -> None:
    link = Scenario.parse(SMALL)
    for text, packets in (("20p", 20), ("1p", 1), ("1B", 1), ("2500B", 2), ("2501B", 3), ("10ms", 2), ("14.1ms", 4)):
        assert abs(BufferVariable(link).read(text) - packets) <= (1 if text.endswith(("B", "ms")) else 0)
        assert BufferVariable(link).read(text) == max(
            1, round(BufferVariable(link.changed(f"link.buffer={text}")).size.packets)
        )


def test_a_key_that_names_no_buffer_is_refused_with_those_there_are() -> None:
    classes = Scenario.parse(CLASSES)
    assert BufferVariable(classes).of_key("link.queue.classes.voice.buffer").key == "link.queue.classes.voice.buffer"
    assert BufferVariable(classes).of_key("link.queue.classes.0.buffer") == BufferVariable(classes).of_key(
        "link.queue.classes.voice.buffer"
    )
    assert BufferVariable(classes).of_key("link.queue.classes.1.buffer") == BufferVariable(classes).of_key(
        "link.queue.classes.rest.buffer"
    )
    for wrong in ("link.rate", "link.queue.classes.video.buffer", "links.up.buffer", ""):
        with pytest.raises(InputError) as raised:
            BufferVariable(classes).of_key(wrong)
        assert raised.value.argument == "over"
        for key in classes.core.buffer_keys:
            assert key in str(raised.value)


# Permitted questions ---------------------------------------------------------------------------------------------


def refused(goal: str, *groups: str, engine: str = "packet", place: str | None = None) -> str | None:
    requested = with_goals(scenario(*groups), [goal])
    places = {} if place is None else {requested.goals[0].name: place}
    found = None
    try:
        Measurable(requested, engine).check(requested.goals, places)
    except InputError as error:
        found = error
    if found is None:
        return None
    assert found.argument == ("goals" if place is None else None)
    assert place is None or str(found).startswith(f"{place}: found `")
    return str(found)


BULK = ANSWERING + "count = 2"


@pytest.mark.parametrize(
    ("goal", "fine", "words"),
    [
        ("utilization>=1", True, ()),
        ("utilization>=1.01", False, ("which is 101 %", "did you mean `>= 1.01%`?", "allowed: 0 to 1, or 0% to 100%")),
        ("utilization>=2", False, ("which is 200 %", "did you mean `>= 2%`?")),
        ("loss_rate<=100", False, ("which is 10000 %", "did you mean `<= 100%`?")),
        ("loss_rate<=100.5", False, ("which is 10050 %", "allowed: 0 to 1, or 0% to 100%")),
        ("jain_index>=1", True, ()),
        ("jain_index>=2", False, ("did you mean `>= 0.02`?", "allowed: 0 to 1")),
        ("jain_index>=100", False, ("did you mean `>= 1`?",)),
        ("jain_index>=101", False, ("allowed: 0 to 1",)),
        ("synchronization<=50", False, ("did you mean `<= 0.5`?",)),
        ("queue_mean<=200p", True, ()),
        ("goodput>=2Mbps", True, ()),
        ("queue_delay_p99<=20s", True, ()),
    ],
)
def test_shares_of_more_than_all_are_refused_and_figures_are_not(goal: str, fine: bool, words: tuple[str, ...]) -> None:
    for place in (None, "file.toml:3: goal.x"):
        message = refused(goal, BULK, place=place)
        assert (message is None) is fine
        for word in words:
            assert message is not None
            assert word in message
        if message is not None:
            assert ("did you mean" in message) == any("did you mean" in word for word in words)
            assert "jain" not in goal or "which is" not in message


@pytest.mark.parametrize(
    ("goal", "group", "why"),
    [
        ("g0.timeouts<=1", BULK, None),
        ("timeouts<=1", BULK, "it is of a flow group, as in GROUP.timeouts"),
        ("g0.utilization>=0.5", BULK, "it is of the link; write it without the group"),
        ("g0.completion_time_p99<=1s", BULK, "it needs transfers that end, and the group's workload is persistent"),
        ("jain_index>=0.5", BULK, None),
        ("jain_index>=0.5", KINDS["poisson"][0], "it needs persistent flows, and there are none"),
        ("goodput>=1kbps", KINDS["app_limited"][0] + "\n" + ANSWERING, None),
        ("goodput>=1kbps", KINDS["finite"][0] + "\n" + ANSWERING, None),
        ("goodput>=1kbps", KINDS["poisson"][0], "it needs flows that react to congestion, and there are none"),
        ("g0.flow_goodput_p10>=1kbps", BULK, None),
        ("g0.flow_goodput_p10>=1kbps", KINDS["finite"][0] + "\n" + ANSWERING, None),
        ("g0.flow_goodput_p10>=1kbps", KINDS["poisson"][0], "it needs persistent flows or transfers that end"),
        ("g0.request_time_p50<=1s", KINDS["incast"][0] + "\n" + ANSWERING, None),
        ("g0.request_time_p50<=1s", KINDS["finite"][0] + "\n" + ANSWERING, "it needs an incast"),
        ("g0.loss_rate<=1%", KINDS["cbr"][0], None),
    ],
)
def test_a_metric_needs_its_kind_of_traffic(goal: str, group: str, why: str | None) -> None:
    message = refused(goal, group)
    if why is None:
        assert message is None
        return
    assert message is not None
    assert f", which is not measured: {why}" in message
    whose = "group `g0`" if goal.startswith("g0.") else "the link"
    allowed = Measurable(scenario(group), "packet").metrics("g0" if goal.startswith("g0.") else None)
    assert message.endswith(f"allowed for {whose}: {', '.join(allowed)}")
    # One other group that has it is enough for the link, but not for this group.
    if "there are none" in why:
        assert refused(goal, group, BULK) is None


def test_an_engine_leaves_out_what_it_does_not_know() -> None:
    message = refused("mark_rate<=1%", BULK, engine="fluid")
    assert message is not None
    assert ": the fluid engine does not report it; allowed for the link: " in message
    for name in ("queue_delay_p99<=1s", "utilization>=0.1", "goodput>=1kbps", "g0.flow_goodput_p50>=1kbps"):
        assert refused(name, BULK, engine="fluid") is None
    for name in ("queue_mean", "jain_index", "synchronization"):
        assert name in Measurable(scenario(BULK), "fluid").metrics()
        assert name not in Measurable(scenario(BULK), "fluid").metrics("g0")
    assert "queue_delay_p50" in Measurable(scenario(BULK), "fluid").metrics("g0")
