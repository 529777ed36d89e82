"""One buffer of several is sized while the others stay: a class's, or another link's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import InputError, Scenario, _core, compare, recommend
from forebay.results.report import Report
from forebay.scenario import TARGET, run_jobs
from forebay.search.buffer_variable import BufferVariable
from forebay.search.plan import Plan
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

CLASSES = """\
title = "Calls beside bulk"

[link]
rate   = "10Mbps"
buffer = "60p"
queue  = { kind = "classes", schedule = "strict", classes = [
    { name = "voice", groups = ["calls"], buffer = "20p" },
    { name = "rest" },
] }

[[flows]]
name     = "calls"
count    = 60
packet   = "200B"
workload = "voip"

[[flows]]
name   = "bulk"
count  = 4
rtt    = "30ms"
packet = "1500B"
start  = { uniform = ["0s", "1s"] }
access = { rate = "100Mbps" }

[run]
warmup  = "1s"
measure = "4s"

[goal]
"calls.loss_rate" = "<= 0.2%"
"""

LINKS = """\
[[links]]
name   = "uplink"
rate   = "4Mbps"
buffer = "9p"

[[links]]
name   = "core"
rate   = "10Mbps"
buffer = "50ms"
target = true

[[flows]]
name   = "bulk"
count  = 2
rtt    = "30ms"
packet = "1000B"
start  = { uniform = ["0s", "1s"] }
access = { rate = "100Mbps" }
path   = ["uplink", "core"]

[run]
warmup  = "1s"
measure = "5s"

[goal]
"bulk.goodput" = ">= 3.3Mbps"
"""

VOICE = "link.queue.classes.voice.buffer"
REST = "link.queue.classes.rest.buffer"


@pytest.mark.parametrize(
    ("text", "over", "key"),
    [
        (CLASSES, TARGET, TARGET),
        (CLASSES, VOICE, VOICE),
        (CLASSES, "link.queue.classes.0.buffer", VOICE),
        (CLASSES, "link.queue.classes.1.buffer", REST),
        (LINKS, "links.uplink.buffer", "links.uplink.buffer"),
        (LINKS, "links.0.buffer", "links.uplink.buffer"),
        (LINKS, "links.core.buffer", TARGET),
        (LINKS, "links.1.buffer", TARGET),
    ],
)
def test_a_buffer_has_one_name_and_turning_it_leaves_the_others_alone(text: str, over: str, key: str) -> None:
    scenario = Scenario.parse(text)
    found = BufferVariable(scenario).of_key(over)
    assert found == BufferVariable(scenario, key)
    turned = found.apply(7)
    for other in scenario.core.buffer_keys:
        before, after = scenario.core.buffer_of(other), turned.core.buffer_of(other)
        # Traffic without a buffer of its own waits in the link's.
        same = other == key or (key == TARGET and other == REST)
        assert after["packets"] == (7 if same else before["packets"])
    assert BufferVariable(turned, found.key).size == found.sized(7)


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (TARGET, (None, None)),
        (VOICE, (None, "voice")),
        ("links.uplink.buffer", ("uplink", None)),
        ("links.uplink.queue.classes.voice.buffer", ("uplink", "voice")),
    ],
)
def test_a_key_says_where_it_is(key: str, place: tuple[str | None, str | None]) -> None:
    assert BufferVariable(Scenario.parse(SMALL), key).place == place


def test_buffers_are_read_where_they_are() -> None:
    classes, links = Scenario.parse(CLASSES), Scenario.parse(LINKS)
    assert BufferVariable(classes).of_key(VOICE).read("2kB") == 10, "packets of 200 bytes"
    assert BufferVariable(classes).of_key(TARGET).read("15kB") == 10
    assert BufferVariable(links).of_key("links.uplink.buffer").read("20ms") == 10, "at 4 Mb/s"
    assert BufferVariable(links).of_key("links.uplink.buffer").scale == pytest.approx(4e6 * 0.03 / 8000)
    assert BufferVariable(links).of_key(TARGET).scale == links.core.bdp_packets
    calls = Scenario.parse(SMALL).changed('flows.bulk.workload={ poisson = { rate = "0.1Mbps" } }')
    assert BufferVariable(calls).of_key(TARGET).scale == pytest.approx(2e6 / 8000), "a second of queue"


def test_a_class_is_sized_while_the_others_stay() -> None:
    scenario = Scenario.parse(CLASSES)
    answer = recommend(scenario, over=VOICE, also=["2kB"], platforms=["linux"])
    assert answer.buffer is not None
    assert answer.packets is not None
    assert answer.packets < 20
    assert answer.buffer.bytes == 200 * answer.packets
    data = answer.to_dict()
    assert data["over"] == VOICE
    assert data["rules"] == []
    assert {each["name"]: each["buffer"]["packets"] for each in data["also"]} == {"as configured": 20, "2kB": 10}
    # The measurements concern the class alone: each point is a run with just that buffer changed.
    at = next(point for point in answer.points if point.buffer.packets == 10)
    # Its random streams are its own, and those of the search and the fresh ones.
    plan, core = Plan(smallest=1, largest=1, ceiling=1), scenario.core.with_buffer(VOICE, 10)
    searched = [plan.number(10, count, fresh=False) for count in range(at.replications)]
    jobs = [_core.Job(core, "packet", core.seed, number) for number in searched]
    means = {name: found.mean for name, found in Report.over(run_jobs(jobs)).metrics.items()}
    assert {name: found.mean for name, found in at.metrics.items()} == means
    assert answer.scenario.core.buffer_of("link.queue.classes.rest.buffer")["packets"] == 60
    (configuration,) = answer.configurations
    assert configuration.system == "linux"


def test_another_link_is_sized_while_the_target_stays() -> None:
    scenario = Scenario.parse(LINKS)
    answer = recommend(scenario, over="links.uplink.buffer")
    assert answer.packets is not None
    small = Scenario(scenario.core.with_buffer("links.uplink.buffer", max(1, answer.packets // 3))).run(replications=4)
    assert small.groups[0].metrics["goodput_bps"].mean < 3.3e6
    assert answer.goals["bulk.goodput"].met


def test_without_the_option_it_is_the_target_link() -> None:
    scenario = Scenario.parse(SMALL)
    data, named = recommend(scenario).to_dict(), recommend(scenario, over=TARGET).to_dict()
    assert "over" not in data
    del data["cost"], named["cost"]
    assert data == named
    assert data["rules"]


def test_the_command_line_names_the_owner_of_the_buffer(tmp_path: Path) -> None:
    path, page = tmp_path / "classes.toml", tmp_path / "page.html"
    path.write_text(CLASSES, encoding="utf-8")
    answer = forebay("recommend", path, "--over", VOICE, "--out", tmp_path, "--report", page)
    assert answer.code == 0, answer.err
    assert "for the buffer of class “voice”" in answer.out
    assert "does not apply" not in answer.out
    text = page.read_text(encoding="utf-8")
    assert "What is the smallest buffer of class “voice” for this 10 Mb/s link" in text
    assert "published rules" not in text
    assert json.loads((tmp_path / "classes-recommendation.json").read_text(encoding="utf-8"))["over"] == VOICE
    assert (tmp_path / "classes-recommendation.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("link.queue.classes.vioce.buffer", "did you mean `link.queue.classes.voice.buffer`? known: link.buffer, "),
        ("links.backup.buffer", "unknown buffer `links.backup.buffer`; "),
        ("link.rate", "unknown buffer `link.rate`; "),
        ("link.queue.classes.7.buffer", "known: link.buffer, link.queue.classes.voice.buffer"),
    ],
)
def test_what_is_no_buffer_is_refused_before_anything_runs(over: str, message: str) -> None:
    def refuse(_done: int, _all: int) -> None:
        raise AssertionError("simulated")

    with pytest.raises(InputError, match=r"^over: ") as raised:
        recommend(Scenario.parse(CLASSES), over=over, progress=refuse)
    assert message in str(raised.value)


def test_a_link_buffer_in_which_nothing_waits_is_not_sized() -> None:
    scenario = Scenario.parse(CLASSES).changed(("set", "link.queue.classes.rest.buffer", "60p"))
    with pytest.raises(InputError, match=r"^over: no packet waits in `link.buffer`.*one of link.queue.classes.v"):
        recommend(scenario)
    assert (
        BufferVariable(scenario).of_key("links.link.queue.classes.rest.buffer").key == "link.queue.classes.rest.buffer"
    )
    assert [point.buffer for point in compare(scenario, points=5, replications=2).points] == [scenario.buffer]


def test_a_search_over_another_buffer_is_another_search(tmp_path: Path) -> None:
    def stop(done: int, _all: int) -> None:
        if done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recommend(Scenario.parse(CLASSES), over=VOICE, resume=tmp_path, progress=stop)
    assert recommend(Scenario.parse(CLASSES), resume=tmp_path).cost.cached_runs == 0
    assert recommend(Scenario.parse(CLASSES), over=VOICE, resume=tmp_path).cost.cached_runs > 2
