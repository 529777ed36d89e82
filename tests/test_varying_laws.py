"""What a search varies, what may be asked of it, and what it keeps: each by its definition."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from forebay import InputError, Scenario, _core, recommend
from forebay.errors import Interrupted
from forebay.report import Report
from forebay.scenario import TARGET, run_jobs
from forebay.search import resumption
from forebay.search.knob import Knob, knob
from forebay.search.measurable import check_goals, measurable
from forebay.search.measurements import Measurements
from forebay.search.recommendation import with_goals
from forebay.search.resumption import Kept, Resumption, cache_directory
from forebay.search.sensitivity import VARIATIONS, vary
from tests.conftest import SMALL

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
        tables, wanted = after.resolved, before.resolved
        for each in (tables, wanted):
            holder = at(each, path[:-1])
            holder[path[-1]] = None
            if kind == "incast":
                assert each["flows"][0].pop("count", 10) in {10, round(10 * factor)}, "its servers are its flows"
        assert tables["flows"] == wanted["flows"]


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
    wanted = scenario(f"count = 2\nrtt = {law}").resolved["flows"][0]["rtt"]

    def same(one: Any, other: Any) -> bool:
        if isinstance(one, dict):
            return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
        if isinstance(one, list):
            return all(itertools.starmap(same, zip(one, other, strict=True)))
        return one == other or (isinstance(one, str) and number(one) == pytest.approx(number(other)))

    assert same(after.resolved["flows"][0]["rtt"], scaled)
    assert not same(wanted, scaled)


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
    assert Knob(key).place == place
    assert Knob(key).is_target == (key == TARGET)


def test_a_scale_is_packets_of_a_product_or_of_a_second_of_queue() -> None:
    link = Scenario.parse(
        CLASSES.replace('queue = { kind = "classes", schedule = "strict", classes = [', "#").replace(
            '    { name = "voice", groups = ["calls"], buffer = "20p" },\n    { name = "rest" },\n] }\n', ""
        )
    )
    product = 10e6 * 0.030 / 8
    target = Knob()
    assert target.scale(link) == pytest.approx(link.core.bdp_packets)
    assert target.size(target.turned(link, 37)).packets == 37
    classes = Scenario.parse(CLASSES)
    rest = knob(classes, "link.queue.classes.rest.buffer")
    size = rest.sized(classes, 100)
    assert size.packets == 100
    if size.bdp is not None:
        assert rest.scale(classes) == pytest.approx(100 / size.bdp, rel=1e-3)
    voice = knob(classes, "link.queue.classes.voice.buffer")
    assert voice.sized(classes, 100).bytes == 100 * 200, "packets of those that wait there"
    assert product > 0
    calls = Scenario.parse(
        CLASSES.partition('[[flows]]\nname = "bulk"')[0].replace(
            '{ name = "rest" },', '{ name = "rest", buffer = "9p" },'
        )
    )
    assert calls.core.bdp_packets is None
    for each in (Knob(), knob(calls, "link.queue.classes.voice.buffer")):
        seconds = each.sized(calls, 1000).seconds
        assert each.sized(calls, 1000).bdp is None
        assert each.scale(calls) == pytest.approx(1000 / seconds, rel=1e-3)


def test_a_buffer_is_read_in_whole_packets_of_at_least_one() -> None:
    link = Scenario.parse(SMALL)
    for text, packets in (("20p", 20), ("1p", 1), ("1B", 1), ("2500B", 2), ("2501B", 3), ("10ms", 2), ("14.1ms", 4)):
        assert abs(Knob().read(link, text) - packets) <= (1 if text.endswith(("B", "ms")) else 0)
        assert Knob().read(link, text) == max(1, round(Knob().size(link.changed(f"link.buffer={text}")).packets))


def test_a_key_that_names_no_buffer_is_refused_with_those_there_are() -> None:
    classes = Scenario.parse(CLASSES)
    assert knob(classes, "link.queue.classes.voice.buffer").key == "link.queue.classes.voice.buffer"
    assert knob(classes, "link.queue.classes.0.buffer") == knob(classes, "link.queue.classes.voice.buffer")
    assert knob(classes, "link.queue.classes.1.buffer") == knob(classes, "link.queue.classes.rest.buffer")
    for wrong in ("link.rate", "link.queue.classes.video.buffer", "links.up.buffer", ""):
        with pytest.raises(InputError) as raised:
            knob(classes, wrong)
        assert raised.value.argument == "over"
        for key in classes.core.buffer_keys:
            assert key in str(raised.value)


# What may be asked -----------------------------------------------------------------------------------------------


def refused(goal: str, *groups: str, engine: str = "packet", place: str | None = None) -> str | None:
    asked = with_goals(scenario(*groups), [goal])
    places = {} if place is None else {asked.goals[0].name: place}
    found = None
    try:
        check_goals(asked, engine, places)
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
        told = refused(goal, BULK, place=place)
        assert (told is None) is fine
        for word in words:
            assert told is not None
            assert word in told
        if told is not None:
            assert ("did you mean" in told) == any("did you mean" in word for word in words)
            assert "jain" not in goal or "which is" not in told


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
    told = refused(goal, group)
    if why is None:
        assert told is None
        return
    assert told is not None
    assert f", which is not measured: {why}" in told
    whose = "group `g0`" if goal.startswith("g0.") else "the link"
    allowed = measurable(scenario(group), "packet", "g0" if goal.startswith("g0.") else None)
    assert told.endswith(f"allowed for {whose}: {', '.join(allowed)}")
    # One other group that has it is enough for the link, but not for this group.
    if "there are none" in why:
        assert refused(goal, group, BULK) is None


def test_an_engine_leaves_out_what_it_does_not_know() -> None:
    told = refused("mark_rate<=1%", BULK, engine="fluid")
    assert told is not None
    assert ": the fluid engine does not report it; allowed for the link: " in told
    for name in ("queue_delay_p99<=1s", "utilization>=0.1", "goodput>=1kbps", "g0.flow_goodput_p50>=1kbps"):
        assert refused(name, BULK, engine="fluid") is None
    for name in ("queue_mean", "jain_index", "synchronization"):
        assert name in measurable(scenario(BULK), "fluid")
        assert name not in measurable(scenario(BULK), "fluid", "g0")
    assert "queue_delay_p50" in measurable(scenario(BULK), "fluid", "g0")


# What is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated() -> tuple[Scenario, Report]:
    link = Scenario.parse(SMALL).changed("run.measure=1s", "run.warmup=0s")
    return link, run_jobs([_core.Job(link.core.with_packets(7), "packet", 3, 5)])[0]


def opened(folder: Path, link: Scenario, engine: str = "packet", varied: str = "link.buffer") -> Kept:
    return Resumption(folder).of(link.core, engine, varied)


def left(folder: Path, simulated: tuple[Scenario, Report], *pairs: tuple[int, int]) -> Path:
    kept = opened(folder, simulated[0])
    for pair in pairs or ((7, 5),):
        kept.add(pair, simulated[1])
    kept.close()
    return kept.path


def test_a_replication_is_found_by_its_buffer_and_its_number(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    link, report = simulated
    left(tmp_path / "a" / "b", simulated, (7, 5), (8, 2))
    kept = opened(tmp_path / "a" / "b", link)
    digest = link.core.with_packets(7).sha256
    assert (kept.count, kept.damaged) == (2, 0)
    for pair in ((7, 5), (8, 2)):
        found = kept.take(pair, digest)
        assert found is not None
        assert found.to_json() == report.to_json()
    for pair in ((5, 7), (2, 8), (7, 7), (5, 5)):
        assert kept.take(pair, digest) is None
    assert kept.take((7, 5), link.core.sha256) is None, "of another buffer"
    kept.close()
    assert kept.path.read_bytes().count(b"\n") == 3, "one header, and a line for each"


def test_a_file_is_read_by_its_owner_alone_and_cut_off_after_the_last_whole_line(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    path = left(tmp_path, simulated)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.name) == 32 + len(".jsonl")
    whole = path.read_bytes()
    for more in (b"", b"half a line", b"00000000 {}"):
        path.write_bytes(whole + more)
        kept = opened(tmp_path, simulated[0])
        assert (kept.count, kept.damaged) == (1, 0)
        assert path.read_bytes() == whole
        kept.close()


def test_damage_is_counted_and_the_rest_is_used(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    path = left(tmp_path, simulated, (7, 5), (7, 6), (7, 7))
    header, *lines = path.read_bytes().splitlines(keepends=True)
    unknown = resumption._line({"something": "else"})
    deep = resumption._line({"buffer": 1, "replication": 1, "kept": 3})
    text = b"not json"
    wrong = b"%08x %s\n" % (resumption.zlib.crc32(text), text)
    for spoiled, count, damaged, said in (
        ([header, *lines], 3, 0, ["resuming: 3 replications done before"]),
        ([header, lines[0]], 1, 0, ["resuming: 1 replication done before"]),
        ([header, lines[0], b"#" + lines[1][1:], lines[2]], 2, 1, ["ignored 1 line of", "resuming: 2 replications"]),
        ([header, unknown, deep, wrong], 0, 3, ["ignored 3 lines of"]),
        ([lines[0], header], 0, 2, ["ignored 2 lines of"]),
        ([header], 0, 0, []),
        ([], 0, 0, []),
    ):
        path.write_bytes(b"".join(spoiled))
        told: list[str] = []
        kept = Resumption(tmp_path, told.append).of(simulated[0].core, "packet", "link.buffer")
        assert (kept.count, kept.damaged) == (count, damaged)
        assert len(told) == len(said)
        assert all(line.startswith(word) for line, word in zip(told, said, strict=True))
        kept.close()


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (None, False),
        (InputError("wrong"), False),
        (Interrupted("now"), True),
        (KeyboardInterrupt(), True),
        (OSError(), True),
    ],
)
def test_what_is_kept_goes_with_the_answer_and_stays_after_an_interruption(
    error: BaseException | None, stays: bool, tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    paths = []
    with suppress(InputError, Interrupted, KeyboardInterrupt, OSError), Resumption(tmp_path) as going:
        for varied in ("link.buffer", "links.other.buffer"):
            kept = going.of(simulated[0].core, "packet", varied)
            kept.add((7, 5), simulated[1])
            paths.append(kept.path)
        if error is not None:
            raise error
    assert [path.exists() for path in paths] == [stays] * 2
    assert len(set(paths)) == 2
    # Nobody holds them any more.
    if stays:
        again = opened(tmp_path, simulated[0])
        assert again.count == 1
        again.remove()
        assert not paths[0].exists()
        again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files")
def test_a_file_that_another_search_has_is_left_alone(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    first = opened(tmp_path, simulated[0])
    first.add((7, 5), simulated[1])
    second = opened(tmp_path, simulated[0])
    assert second.count == 0
    second.add((7, 6), simulated[1])
    second.remove()
    assert first.path.exists()
    first.close()
    third = opened(tmp_path, simulated[0])
    assert third.count == 1
    third.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no symbolic links without rights")
def test_only_a_file_of_its_own_is_opened(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    path = left(tmp_path, simulated)
    mine = tmp_path / "precious.txt"
    mine.write_text("mine\nand mine", encoding="utf-8")
    path.unlink()
    path.symlink_to(mine)
    kept = opened(tmp_path, simulated[0])
    kept.add((7, 5), simulated[1])
    kept.close()
    assert mine.read_text(encoding="utf-8") == "mine\nand mine"
    path.unlink()
    os.mkfifo(path)
    kept = opened(tmp_path, simulated[0])
    assert kept.count == 0, "and nobody waits for what never comes"
    kept.close()
    path.unlink()
    path.mkdir()
    kept = opened(tmp_path, simulated[0])
    kept.add((7, 5), simulated[1])
    kept.remove()
    assert path.is_dir()


def test_a_disk_that_is_full_costs_nothing_but_the_resumption(
    tmp_path: Path, simulated: tuple[Scenario, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = opened(tmp_path, simulated[0])

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    kept.add((7, 5), simulated[1])
    kept.close()
    assert not kept.path.exists()


@pytest.mark.parametrize("lines", [1, 3, 5])
def test_one_search_keeps_up_to_its_bound(
    lines: int, tmp_path: Path, simulated: tuple[Scenario, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes beyond it is the last line; a file more than twice as large was not written by this."""
    path = left(tmp_path, simulated)
    header, line = map(len, path.read_bytes().splitlines(keepends=True))
    for bound, kept in ((header + lines * line, lines + 1), (header + lines * line - 1, lines)):
        path.unlink()
        monkeypatch.setattr(resumption, "MOST_BYTES_OF_ONE", bound)
        left(tmp_path, simulated, *((7, number) for number in range(9)))
        assert path.stat().st_size == header + kept * line
    size = path.stat().st_size
    whole = path.read_bytes()
    for bound, read in ((size / 2, lines), (size / 2 - 1, 0)):
        monkeypatch.setattr(resumption, "MOST_BYTES_OF_ONE", bound)
        path.write_bytes(whole)
        found = opened(tmp_path, simulated[0])
        assert found.count == read
        found.close()


def test_files_go_after_a_month_and_the_oldest_where_all_together_are_a_gigabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/recommend.md says; a single search keeps a quarter of that at most."""
    assert resumption.MOST_SECONDS == 30 * 24 * 3600
    assert resumption.MOST_BYTES == 1024**3
    assert 4 * resumption.MOST_BYTES_OF_ONE == resumption.MOST_BYTES
    now = 2_000_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)

    def files(**ages: float) -> set[str]:
        for name, days in ages.items():
            path = tmp_path / f"{name}.jsonl"
            path.write_bytes(b"x" * 100)
            os.utime(path, (now - days * 86_400, now - days * 86_400))
        Resumption(tmp_path)
        left = {path.stem for path in tmp_path.iterdir()}
        for path in tmp_path.iterdir():
            path.unlink()
        return left

    assert files(today=0, month=30, more=30.001) == {"today", "month"}
    for bound, expected in ((300, {"a", "b", "c"}), (299, {"a", "b"}), (200, {"a", "b"}), (199, {"a"}), (99, set())):
        monkeypatch.setattr(resumption, "MOST_BYTES", bound)
        assert files(c=3, a=1, b=2) == expected
    assert files() == set()


def test_measurements_take_what_was_left_and_simulate_the_rest(
    tmp_path: Path, simulated: tuple[Scenario, Report]
) -> None:
    link = simulated[0]
    first = Measurements(link, "packet", 1, None, resumption=Resumption(tmp_path))
    pairs = [(3, 0), (3, 1), (4, 0)]
    seen = first(pairs)
    first._kept.close()  # type: ignore[union-attr]
    again = Measurements(link, "packet", 1, None, resumption=Resumption(tmp_path))
    assert again._kept is not None
    more = [(3, 1), (4, 0), (4, 1), (3, 0), (3, 0)]
    found = again(more)
    assert again.resumed == 3
    assert [each.to_json() for each in found[:2]] == [seen[1].to_json(), seen[2].to_json()]
    assert len(again.reports) == 4
    again(more)
    assert again.resumed == 3, "each is taken once"
    assert first.resumed == 0
    again._kept.close()


def test_the_cache_is_where_each_platform_keeps_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for platform, parts in (
        ("linux", (".cache", "forebay")),
        ("freebsd14", (".cache", "forebay")),
        ("darwin", ("Library", "Caches", "forebay")),
        ("win32", ("AppData", "Local", "forebay", "Cache")),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_directory() == tmp_path.joinpath(*parts)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_directory() == tmp_path / "local" / "forebay" / "Cache"
    for wrong in ("", "relative/one"):
        monkeypatch.setenv("XDG_CACHE_HOME", wrong)
        assert cache_directory() == tmp_path / "local" / "forebay" / "Cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "forebay"


def test_a_search_that_is_over_leaves_nothing(tmp_path: Path, simulated: tuple[Scenario, Report]) -> None:
    goals = ["utilization>=1%", "queue_delay_p99<=10s"]
    answer = recommend(simulated[0], goals, engine="packet", resume=tmp_path, replications=2)
    assert answer.feasible
    assert list(tmp_path.iterdir()) == []
