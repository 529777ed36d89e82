"""Every platform and every discipline: written, read back as the same, and whatever differs is said."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from forebay import InputError, Scenario, _core
from forebay.configuration.configuring import check, configure, fit, link_table, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import ALIASES, PLATFORMS, platform
from forebay.configuration.port import (
    MARKING,
    THRESHOLDS,
    Classes,
    Discipline,
    Limit,
    Port,
    Queue,
    TrafficClass,
    differences,
)
from forebay.configuration.quantities import exact
from forebay.errors import UnsupportedError
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.tiers import examples

KINDS = [entry.name for entry in _core.disciplines()]
PARAMETERS = {
    entry.name: [(name, allowed) for name, _, allowed, _ in entry.parameters] for entry in _core.disciplines()
}
#: Those with one queue.
ONE = [kind for kind in KINDS if kind != "classes"]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))

#: A phone call first, then the others in turns.
CLASSES = (
    '{ kind = "classes", schedule = "dwrr", classes = [{ name = "voice", groups = ["call"], priority = true, '
    'buffer = "10p", queue = "KIND" }, { name = "web", groups = ["web"], weight = 3, queue = "KIND" }, '
    '{ name = "rest", queue = "KIND" }] }'
)

#: Without shrinking, which takes minutes where a port has many parameters.
QUICK = settings(
    max_examples=examples(25),
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

#: Values of each kind of parameter, as a scenario writes them.
TIMES = st.one_of(
    st.sampled_from(["1us", "5ms", "15ms", "100ms", "1s"]),
    st.integers(1, 10**12).map(lambda ns: f"{ns}ns"),
)
LEVELS = st.one_of(
    st.integers(0, 300).map(lambda count: f"{count}p"),
    st.integers(0, 300).map(lambda percent: f"{percent}%"),
    st.integers(0, 10**7).map(lambda size: f"{size}B"),
    st.integers(0, 10**8).map(lambda ns: f"{ns}ns"),
)


def values(allowed: str) -> st.SearchStrategy[Any]:
    """Values of a parameter, by what the registry says is allowed."""
    if allowed == "true or false":
        return st.booleans()
    if "% of the buffer" in allowed:
        return LEVELS
    if allowed.startswith("a "):
        return TIMES if "time" in allowed else st.integers(1, 10**7).map(lambda size: f"{size}B")
    if " to " in allowed:
        low, high = (float(end.split()[0]) for end in allowed.split(" to "))  # A unit may follow.
        if high > 100 and low >= 1:
            return st.integers(int(low), int(high))
        return st.floats(low, high, allow_nan=False) | st.sampled_from([low, high])
    return st.sampled_from(allowed.split(", "))


@st.composite
def queues(draw: st.DrawFn, kind: str) -> Mapping[str, Any]:
    """A queue of a scenario with some of its parameters given."""
    chosen = [entry for entry in PARAMETERS[kind] if draw(st.booleans())]
    return {"kind": kind, **{name: draw(values(allowed)) for name, allowed in chosen}}


RATES = st.sampled_from([1_000, 64_000, 16_000_000, 10**9, 25 * 10**9, 400 * 10**9, 10**14]) | st.integers(1000, 10**12)
BUFFERS = st.one_of(
    st.sampled_from(["1p", "64p", "1B", "150kB"]),
    st.integers(1, 10**6).map(lambda count: f"{count}p"),
    st.integers(1, 10**9).map(lambda size: f"{size}B"),
)


@st.composite
def ports(draw: st.DrawFn, kind: str) -> Port:
    """A port of a scenario that is valid."""
    link = {
        "rate": f"{draw(RATES)}bps",
        "buffer": draw(BUFFERS),
        "queue": draw(queues(kind)),
        "rate_layer": draw(st.sampled_from(["l3", "l3", "l2", "l1"])),
    }
    packet = draw(st.sampled_from([1500, 1500, 1000, 9000, 577]))
    flows = [
        {"name": name, "cca": "cubic", "rtt": "20ms", "packet": f"{packet}B", "ecn": draw(st.booleans())}
        for name in ("bulk", "voice", "video")[: draw(st.integers(1, 3))]
    ]
    run = {"warmup": "1s", "measure": "1s"}
    try:
        return Port.of(Scenario.of({"link": link, "flows": flows, "run": run}))
    except InputError:  # such as a `max` below `min`
        reject()


def anonymous(port: Port) -> Port:
    """The port without what lines for a router do not have: names of groups and classes, a policer."""
    queue = port.queue
    if isinstance(queue, Classes):
        unnamed = tuple(
            TrafficClass(str(number), (), entry.weight, entry.queue, entry.priority)
            for number, entry in enumerate(queue.classes)
        )
        queue = Classes(queue.schedule, unnamed)
    return dataclasses.replace(port, groups=(), policed=False, queue=queue)


#: Platforms that write no shaper, so that their lines do not say how fast the link is.
UNSHAPED = {"ios-xr", "ios-xe", "junos", "eos", "sros"}


def hold_laws(system: str, port: Port) -> None:
    """Check the laws of every platform and port; a platform may also refuse a value, by name."""
    spoken = PLATFORMS[system]
    refused = configure(spoken, port)
    if not refused.lines:
        assert f"{system} " in refused.notes[0]
        assert "allowed: " in refused.notes[0]
        return
    fitted = fit(spoken, port)
    refitted = spoken.fit(fitted.port)
    assert refitted.port == fitted.port
    lines = spoken.write(fitted.port)
    read = spoken.read("\n".join(lines), Assumed(fitted.port.rate if system in UNSHAPED else None, port.packet)).port
    assert anonymous(read) == anonymous(fitted.port)
    assert spoken.write(fitted.port) == spoken.write(dataclasses.replace(read, queue=fitted.port.queue)) == lines
    configuration = configure(spoken, port)
    assert configuration.lines == tuple(lines)
    for name, before, after in differences(port, fitted.port):
        if name != "queue" or isinstance(port.queue, Queue) == isinstance(fitted.port.queue, Queue):
            assert before != after, f"{name}: both figures look alike"
            assert any(before in note and after in note for note in configuration.notes), name
            assert fitted.reasons.get(name), f"{name}: no reason"
    # Never less room than was simulated, whatever the platform counts in.
    there = dict(fitted.port.queues())
    classes = port.queue.classes if isinstance(port.queue, Classes) else ()
    sizes = {entry.name: entry.packet or port.packet for entry in classes}
    for name, requested in port.queues():
        if isinstance(port.queue, Queue) and not fitted.port.limited:
            continue  # the limit is the chip's own
        given_, size = there.get(name) or there["band0"], sizes.get(name, port.packet)
        assert given_.limit.in_bytes(size) >= requested.limit.in_bytes(size) - 1e-6


# The contract ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("system", list(PLATFORMS))
def test_each_platform_emits_each_discipline_or_refuses_it_by_name(system: str, kind: str) -> None:
    inner = next(
        each for each in PLATFORMS[system].disciplines if each in ("droptail", "dynamic_threshold", "fq_codel")
    )
    queue = CLASSES.replace("KIND", inner) if kind == "classes" else kind
    scenario = Scenario.load(ROOT / "scenarios" / "dsl-access.toml", [f"link.queue={queue}"])
    if kind in PLATFORMS[system].disciplines:
        configuration = configure(PLATFORMS[system], Port.of(scenario))
        assert configuration.lines, configuration.notes
        hold_laws(system, Port.of(scenario))
        return
    with pytest.raises(UnsupportedError, match=f"^{system} has no {kind}; the closest is ") as refused:
        check([system], scenario)
    nearest = str(refused.value).rpartition("the closest is ")[2].partition(" (")[0]
    assert nearest in PLATFORMS[system].disciplines


@pytest.mark.parametrize("system", list(PLATFORMS))
def test_each_platform_says_where_its_lines_come_from(system: str) -> None:
    spoken = PLATFORMS[system]
    assert spoken.name == system
    assert spoken.title
    assert spoken.source
    assert spoken.quirks
    assert set(spoken.disciplines) <= {*KINDS, "classes"}
    assert set(spoken.nearest) <= {*KINDS, "classes"}
    assert set(spoken.nearest.values()) <= set(spoken.disciplines)


@pytest.mark.parametrize("system", list(PLATFORMS))
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_shipped_scenario(system: str, path: Path) -> None:
    port = Port.of(Scenario.load(path))
    kinds = {port.kind, *(queue.discipline.kind for _, queue in port.queues())}
    configuration = configure(PLATFORMS[system], port)
    if port.changing or port.medium or (port.shaper and not PLATFORMS[system].shapes):
        assert not configuration.lines
        assert configuration.notes, "why nothing is typed"
    elif kinds <= set(PLATFORMS[system].disciplines):
        # Buckets are read back in test_tc_shapers.py.
        if port.shaper is None:
            hold_laws(system, port)
        assert configuration.lines
    else:
        assert configuration.notes, "what it does not have it says"


@pytest.mark.parametrize(
    ("system", "kind"),
    [(system, kind) for system in PLATFORMS for kind in ONE if kind in PLATFORMS[system].disciplines],
)
@QUICK
@given(data=st.data())
def test_what_is_written_is_read_back(system: str, kind: str, data: st.DataObject) -> None:
    hold_laws(system, data.draw(ports(kind)))


@pytest.mark.parametrize("system", [name for name, each in PLATFORMS.items() if "classes" in each.disciplines])
@QUICK
@given(data=st.data())
def test_classes_are_read_back(system: str, data: st.DataObject) -> None:
    inner = [kind for kind in ("droptail", "red", "codel", "fq_codel", "pie") if kind in PLATFORMS[system].disciplines]
    queue = [data.draw(ports(data.draw(st.sampled_from(inner)))).queue for _ in range(data.draw(st.integers(2, 5)))]
    first = data.draw(st.sets(st.integers(0, 4), max_size=2))
    weights = [data.draw(st.sampled_from([1.0, 2.0, 0.5, 7.0, 0.1])) for _ in queue]
    classes = tuple(
        TrafficClass(f"class-{number}", (f"group-{number}",), weight, each, number in first)
        for number, (weight, each) in enumerate(zip(weights, queue, strict=True))
        if isinstance(each, Queue)
    )
    schedule = data.draw(st.sampled_from(["strict", "wrr", "dwrr"]))
    hold_laws(system, Port(data.draw(RATES), 1500, Classes(schedule, classes)))


def test_the_manual_lists_every_platform() -> None:
    """`docs/reference/platforms.md` has a table of the routers and a row for each other platform."""
    manual = (ROOT / "docs" / "reference" / "platforms.md").read_text(encoding="utf-8")
    for name, each in PLATFORMS.items():
        assert f"`{name}`" in manual
        if name in ("linux", "openwrt", "routeros", "sonic"):
            has = ", ".join(kind if kind == there else f"{kind} ({there})" for kind, there in each.disciplines.items())
            assert f"| `{name}` | {each.title} | {has} | {each.source} |\n" in manual


def test_nothing_is_typed_for_a_link_whose_rate_changes() -> None:
    """Lines with the average would be those of a queue that was not simulated."""
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    steps = 'link.rate={ steps = [["0s", "100Mbps"], ["1s", "50Mbps"]], repeat = "2s" }'
    port, constant = Port.of(Scenario.load(path, [steps])), Port.of(Scenario.load(path))
    assert sum(bool(configure(platform(name), constant).lines) for name in PLATFORMS) > len(PLATFORMS) / 2
    for name in PLATFORMS:
        found = configure(platform(name), port)
        assert found.lines == ()
        assert found.notes == (
            "no configuration, because the simulated rate changes; a constant rate of 75 Mb/s was not simulated",
        )


@pytest.mark.parametrize("system", ["eos", "junos"])
def test_a_buffer_that_lasts_for_months_is_refused_by_name(system: str) -> None:
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    configuration = configure(
        platform(system), Port.of(Scenario.load(path, ["link.rate=1kbps", "link.buffer=1000000p"]))
    )
    assert configuration.lines == ()
    assert "12,144,000,000,000 microseconds at the link's rate; allowed: up to " in configuration.notes[0]


@pytest.mark.parametrize("kind", ["wifi", "cellular", "docsis"])
def test_nothing_is_typed_for_a_medium(kind: str) -> None:
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    port = Port.of(Scenario.load(path, [f"link.medium={kind}"]))
    for name in PLATFORMS:
        found = configure(platform(name), port)
        assert (found.lines, found.notes) == (
            (),
            ("no configuration, because the simulated link has a `medium` and the router has a wire",),
        )


def test_a_platform_without_token_buckets_refuses_a_shaped_link() -> None:
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    port = Port.of(Scenario.load(path, ['link.shaper={ rate = "50Mbps", burst = "15kB" }']))
    refusing = set()
    for name in PLATFORMS:
        found = configure(platform(name), port)
        if platform(name).shapes:
            refusing.add(name)
            assert any("burst 15000" in line for line in found.lines)
            continue
        assert found.lines == ()
        assert found.notes == (f"no configuration, because {name} does not support the simulated `shaper`",)
    assert refusing == {"linux"}


def test_a_policer_is_told_elsewhere() -> None:
    path = ROOT / "scenarios" / "lab-dumbbell.toml"
    policed = Port.of(Scenario.load(path, ['link.policer={ rate = "50Mbps", burst = "625kB" }']))
    uncompressed = Port.of(Scenario.load(path))
    for name in PLATFORMS:
        found, same = configure(platform(name), policed), configure(platform(name), uncompressed)
        assert found.lines == same.lines
        if same.lines:
            assert set(found.notes) - set(same.notes) == {
                "policer: simulated before the queue, but not configured by these lines"
            }


def test_names_and_their_other_spellings() -> None:
    for other, name in ALIASES.items():
        if name in PLATFORMS:
            assert platform(other) is PLATFORMS[name]
    with pytest.raises(InputError, match=r"(?=.*linus)(?=.*did you mean `linux`)"):
        platform("linus")


def test_classes_with_what_a_platform_lacks_are_refused_before_anything_is_simulated() -> None:
    queue = CLASSES.replace("KIND", "codel")
    with pytest.raises(UnsupportedError, match=r"^sonic has no codel; the closest is red"):
        check(["sonic"], Scenario.load(ROOT / "scenarios" / "dsl-access.toml", [f"link.queue={queue}"]))


def test_a_shared_buffer_is_noted_and_weights_become_integers() -> None:
    queue = CLASSES.replace("KIND", "droptail")
    port = Port.of(Scenario.load(ROOT / "scenarios" / "dsl-access.toml", [f"link.queue={queue}"]))
    configuration = configure(PLATFORMS["linux"], port)
    assert "buffer: simulated 64 packets shared by web and rest, configured 64 packets for each" in configuration.notes
    assert isinstance(port.queue, Classes)
    uneven = (1.0, 1.0, 2.25)
    weighed = [dataclasses.replace(entry, weight=w) for entry, w in zip(port.queue.classes, uneven, strict=True)]
    table = link_table(port.with_queue(Classes("dwrr", tuple(weighed))))
    # The first goes before the others; 4 to 9 is 1 to 2.25.
    assert re.findall("weight = ([0-9]+)", table) == ["4", "9"]
    assert 'buffer = "138p"' in table


# The port -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system", [name for name, each in PLATFORMS.items() if {"classes", "droptail"} <= {*each.disciplines}]
)
@pytest.mark.parametrize("limit", ["20p", "4kB"])
def test_a_class_is_counted_by_its_own_packets(system: str, limit: str) -> None:
    scenario = Scenario.load(ROOT / "scenarios" / "voice-and-data.toml")
    scenario = scenario.changed(("set", "link.queue.classes.voice.buffer", limit))
    configuration = configure(PLATFORMS[system], Port.of(scenario))
    assert configuration.lines, configuration.notes
    (voice, *others), notes = Port.of(scenario).queue.classes, " ".join(configuration.notes)  # type: ignore[union-attr]
    assert voice.packet == 200
    assert [other.packet for other in others] == [None, None]
    read = translate("\n".join(configuration.lines), system, Assumed()).port.queue
    assert isinstance(read, Classes)
    found = read.classes[0].queue.limit
    # 20 packets of 200 bytes; never less, and more only if the platform has no such value.
    if found.unit == "packets":
        assert found == Limit(20, "packets")
    else:
        assert found.amount >= 4000
        assert found.amount <= 4002 or "no less than" in notes
    assert ("voice: its packets have 200 bytes" in notes) == (found.unit != voice.queue.limit.unit)


def test_thresholds_of_a_class_are_counted_as_its_limit_is() -> None:
    red = Discipline("red", {"min": Limit(5, "packets"), "max": Limit(15, "packets"), "max_p": 0.1})
    entry = TrafficClass("voice", ("calls",), 1.0, Queue(Limit(20, "packets"), red), packet=200)
    queue = entry.counted_in("bytes").queue
    assert queue.limit == Limit(4000, "bytes")
    assert (queue.discipline.level("min"), queue.discipline.level("max")) == (
        Limit(1000, "bytes"),
        Limit(3000, "bytes"),
    )
    assert dataclasses.replace(entry, queue=queue).counted_in("packets").queue == entry.queue
    assert entry.counted_in("packets") == dataclasses.replace(entry, packet=None)


def test_levels_and_markers_are_those_of_the_registry() -> None:
    levels = {name for entries in PARAMETERS.values() for name, allowed in entries if "% of the buffer" in allowed}
    assert levels == THRESHOLDS
    assert set(KINDS) >= MARKING


def test_a_port_is_what_was_simulated() -> None:
    red = 'link.queue={kind = "red", min = "40%", max = "10ms", max_p = 0.2}'
    port = Port.of(Scenario.load(ROOT / "scenarios" / "dsl-access.toml", [red]))
    assert (port.rate, port.packet, port.groups) == (16_000_000, 1500, ("download", "call", "web"))
    assert isinstance(port.queue, Queue)
    discipline = port.queue.discipline
    assert port.queue.limit == Limit(64, "packets")
    assert discipline.level("min") == Limit(25.6, "packets")
    # 10 ms at 16 Mb/s are 20,000 bytes, below the lower threshold of 25.6 packets: never below it.
    assert discipline.level("max") == Limit(25.6, "packets")
    assert not discipline.ecn
    marking = Port.of(Scenario.load(ROOT / "scenarios" / "datacenter-leaf.toml"))
    assert isinstance(marking.queue, Queue)
    assert marking.queue.discipline.ecn
    assert marking.queue.discipline.level("threshold") == Limit(100, "packets")


def test_what_is_left_to_red_is_what_the_engine_takes() -> None:
    """At 16 Mb/s 2.5 ms are 3.3 packets, so five are the least; at 1 Gb/s they are 208.3."""
    for rate, least in (("16Mbps", 5.0), ("1Gbps", 2500 * 125 / 1500)):
        port = Port.of(Scenario.load(ROOT / "scenarios" / "dsl-access.toml", [f"link.rate={rate}", "link.queue=red"]))
        assert isinstance(port.queue, Queue)
        discipline = port.queue.discipline
        assert discipline.level("min").amount == pytest.approx(least)
        assert discipline.level("max").amount == pytest.approx(3 * least)
        # Ten round trips of 100 ms.
        per_second = port.bits_per_second / 8 / 1500
        assert discipline.number("weight") == pytest.approx(1 / per_second, rel=1e-3)
        assert discipline.number("bottom") == pytest.approx(min(0.01, 10 / per_second))


@pytest.mark.parametrize(
    ("text", "amount", "dimension"),
    [
        ("64KiB", 65_536, "bytes"),
        ("1.5kB", 1500, "bytes"),
        ("16Mbps", 16 * 10**6, "rate"),
        ("5ms", Fraction(5, 1000), "time"),
        ("40%", Fraction(2, 5), "share"),
        ("7p", 7, "packets"),
    ],
)
def test_amounts_of_a_scenario_are_exact(text: str, amount: int | Fraction, dimension: str) -> None:
    assert exact(text) == (amount, dimension)


def test_a_rate_of_frames_counts_their_headers() -> None:
    port = Port.of(Scenario.load(ROOT / "scenarios" / "dsl-access.toml", ["link.rate_layer=l1"]))
    assert port.framing == 38
    assert float(port.ip_rate) == pytest.approx(16e6 * 1500 / 1538)


@QUICK
@given(data=st.data(), kind=st.sampled_from(ONE))
def test_the_link_table_is_read_as_the_same_port(data: st.DataObject, kind: str) -> None:
    port = data.draw(ports(kind))
    text = link_table(port) + (
        "[run]\nwarmup = '1s'\nmeasure = '1s'\n"
        f"[[flows]]\nname = 'a'\ncca = 'cubic'\nrtt = '20ms'\npacket = '{port.packet}B'\n"
    )
    reread = Port.of(Scenario.parse(text))
    assert dataclasses.replace(reread, queue=port.queue, groups=()) == dataclasses.replace(port, groups=())
    assert isinstance(reread.queue, Queue)
    assert isinstance(port.queue, Queue)
    assert reread.queue.limit == port.queue.limit
    for name, value in port.queue.discipline.parameters.items():
        stated = reread.queue.discipline.parameters[name]
        if isinstance(value, Limit) and isinstance(stated, Limit):
            # Levels are written in whole bytes.
            assert stated.unit == value.unit
            assert stated.amount == pytest.approx(value.amount, abs=0.5)
        else:
            assert stated == pytest.approx(value) if isinstance(value, float) else stated == value


# The commands -------------------------------------------------------------------------------------------------------


def test_recommend_refuses_before_it_simulates(small: Path) -> None:
    answer = forebay("recommend", small, "--set", "link.queue=stfq", "--for", "linux", "--no-picture")
    assert answer.code == 2
    assert answer.err == "forebay: linux has no stfq; the closest is fq_codel\n"


def test_recommend_writes_for_several_platforms(small: Path) -> None:
    answer = forebay("recommend", small, "--for", "linux", "--for", "ios-xr", "--no-picture", "--json")
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    assert [entry["system"] for entry in data["configurations"]] == ["linux", "ios-xr"]
    lines = "\n".join(data["configuration"]["lines"])
    read = translate(lines, "linux", Assumed(packet=1000))
    assert read.bytes == data["recommendation"]["bytes"]
    assert read.seconds == pytest.approx(data["recommendation"]["seconds"])
