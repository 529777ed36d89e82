"""Programs in the place of flows: the scenario that runs, the environment of the programs, and the report."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, cast

import pytest
from rich.console import Console

from forebay import InputError, Scenario, _core, emulate
from forebay.measurement.emulation import ALL, SLOTS, StandIn, stand_in
from forebay.measurement.programs import Side, exit_code, fill, words
from forebay.views.emulation import beginning, live_text
from tests.support.scenarios import HOME


def tables(placed: StandIn) -> dict[str, Any]:
    return dict(placed.scenario.resolved)


def test_by_default_programs_stand_in_for_the_first_group_that_answers_and_crosses_the_target() -> None:
    placed = stand_in(Scenario.parse(HOME))
    assert (placed.group, placed.slots, placed.number) == ("home", "home", 0)
    assert (placed.path, placed.reverse) == (("up",), ("down",))
    assert (placed.concurrent_groups, placed.idle) == ((), ("calls", "watching"))
    (slots,) = tables(placed)["flows"]
    assert (slots["name"], slots["count"], slots["path"], slots["reverse"]) == ("home", SLOTS, ["up"], ["down"])
    assert slots["ecn"] is True
    assert slots["rtt"][:3] == ["20ms", "30ms", "20ms"]


def test_slots_never_send_and_the_emulation_outlasts_every_program() -> None:
    placed = stand_in(Scenario.parse(HOME))
    warmup, whole = placed.scenario.core.duration_s
    start = next(iter(tables(placed)["flows"]))["start"]
    assert warmup == 0
    assert float(start.removesuffix("s")) > whole == 30 * 86_400
    assert placed.scenario.core.replications == 1
    assert placed.scenario.goals == []
    assert tables(placed)["trace"]["record"] == ["queue", "utilization"]
    beside = stand_in(Scenario.parse(HOME), beside=("home",))
    assert "cwnd" in tables(beside)["trace"]["record"]


def test_links_are_as_in_the_file() -> None:
    scenario = Scenario.parse(HOME)
    for beside in ((), (ALL,), ("home",)):
        placed = stand_in(scenario, beside=beside)
        assert tables(placed)["links"] == scenario.resolved["links"]
        assert placed.scenario.buffer.bytes == scenario.buffer.bytes


def test_groups_that_run_beside_are_as_in_the_file() -> None:
    scenario = Scenario.parse(HOME)
    flows = {flows["name"]: flows for flows in scenario.resolved["flows"]}
    placed = stand_in(scenario, beside=(ALL,))
    assert (placed.concurrent_groups, placed.idle, placed.number) == (("calls", "watching"), (), 2)
    assert tables(placed)["flows"][:2] == [flows["calls"], flows["watching"]]
    both = stand_in(scenario, beside=("home",))
    assert (both.concurrent_groups, both.idle, both.slots, both.number) == (
        ("home",),
        ("calls", "watching"),
        "programs",
        1,
    )
    assert tables(both)["flows"][0] == flows["home"]
    assert tables(both)["flows"][1]["path"] == ["up"]
    named = stand_in(Scenario.parse(HOME.replace('"calls"', '"programs"')), beside=("home",))
    assert named.slots == "programs2"


def test_a_controller_that_the_kernel_lacks_does_not_matter_if_unused() -> None:
    (slots,) = tables(stand_in(Scenario.parse(HOME), "watching"))["flows"]
    assert (slots["cca"]["kind"], slots["path"], slots["rtt"]) == ("newreno", ["down"], "30ms")


@pytest.mark.parametrize(
    ("group", "beside", "refusal"),
    [
        ("hom", (), "group: unknown group `hom`; did you mean `home`?; known: watching, home"),
        ("calls", (), "group: found `calls`, which sends whatever is lost; allowed: watching, home"),
        (None, ("call",), "beside: unknown group `call`"),
    ],
)
def test_groups_that_are_none_are_refused(group: str | None, beside: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(InputError) as found:
        stand_in(Scenario.parse(HOME), group, beside)
    assert str(found.value).startswith(refusal.partition(";")[0])


def test_the_report_is_of_a_link_with_traffic() -> None:
    scenario = Scenario.parse(HOME)
    for beside, target in (((), "down"), (("calls",), "up")):
        placed = stand_in(scenario, "watching", beside)
        assert [link["name"] for link in tables(placed)["links"] if link["target"]] == [target]


def test_a_target_without_responsive_traffic_is_refused() -> None:
    aside = HOME.replace('rtt = ["20ms", "30ms"]\npath = ["up"]', 'rtt = ["20ms", "30ms"]\npath = ["down"]')
    with pytest.raises(InputError, match="no group of flows that answer to losses across the link `up`"):
        stand_in(Scenario.parse(aside.replace('reverse = ["down"]', "").replace("home.loss_rate", "calls.loss_rate")))


CLASSES = """
[link]
rate = "20Mbps"
buffer = "100p"
queue = { kind = "classes", schedule = "dwrr", classes = [
    { name = "voice", groups = ["calls"], priority = true, buffer = "20p" },
    { name = "web", groups = ["web", "mail"], weight = 3, buffer = "50ms", queue = "codel" },
    { name = "rest", weight = 1 },
] }

[[flows]]
name = "calls"
workload = "voip"

[[flows]]
name = "web"
rtt = "30ms"

[[flows]]
name = "mail"
rtt = "30ms"

[[flows]]
name = "copies"
rtt = "40ms"

[run]
warmup = "1s"
measure = "2s"
"""


@pytest.mark.parametrize(
    ("group", "beside", "classes"),
    [
        ("web", (), {"web": ["web"], "rest": []}),
        ("web", ("mail", "web"), {"web": ["programs", "mail", "web"], "rest": []}),
        ("copies", ("calls",), {"voice": ["calls"], "rest": []}),
        ("copies", (), {"rest": []}),
        ("mail", (ALL,), {"voice": ["calls"], "web": ["web", "mail"], "rest": []}),
    ],
)
def test_programs_are_in_the_class_of_their_group(
    group: str, beside: tuple[str, ...], classes: dict[str, list[str]]
) -> None:
    placed = stand_in(Scenario.parse(CLASSES), group, beside)
    (link,) = tables(placed)["links"]
    found = {each["name"]: each.get("groups", []) for each in link["queue"]["classes"]}
    assert {name: sorted(groups) for name, groups in found.items()} == {n: sorted(g) for n, g in classes.items()}


# The environment of programs ----- --------------------------------------------------------------------------------

VARIABLES = {"FOREBAY_PEER": "198.18.1.1", "FOREBAY_SELF": "198.18.0.1", "FOREBAY_SIDE": "sender"}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("$FOREBAY_PEER", "198.18.1.1"),
        ("http://${FOREBAY_PEER}:80/", "http://198.18.1.1:80/"),
        ("{peer}:$FOREBAY_SELF", "198.18.1.1:198.18.0.1"),
        ("$FOREBAY_PEERS", "$FOREBAY_PEERS"),
        ("$HOME ${peer {self} {}", "$HOME ${peer {self} {}"),
        ("$FOREBAY_SIDE.log", "sender.log"),
    ],
)
def test_arguments_have_addresses_where_no_shell_has_put_them(argument: str, message: str) -> None:
    assert fill(argument, VARIABLES) == message


def test_exit_codes_are_a_shells() -> None:
    assert [exit_code(status) for status in (0, 3, -2, -15)] == [0, 3, 130, 143]


def test_a_peer_is_a_line_as_in_a_shell() -> None:
    assert words("sh -c 'exit 3'", "peer") == ["sh", "-c", "exit 3"]
    for wrong in ("", "sh 'x", "no-such-program -s"):
        with pytest.raises(InputError, match=r"^peer: found "):
            words(wrong, "peer")


def test_what_python_asks_for_is_checked_before_anything_runs() -> None:
    scenario = Scenario.parse(HOME)
    for arguments, complaint in (
        ({"command": ["no-such-program"]}, "command: found `no-such-program`"),
        ({"command": []}, "command: found no program"),
        ({"command": "sh 'x"}, "command: found `sh 'x` (no closing quotation)"),
        ({"command": "sh", "peer": ["no-such-program"]}, "peer: found `no-such-program`"),
        ({"command": "sh", "side": "sende"}, "side: unknown side `sende`; did you mean `sender`?"),
        ({"command": "sh", "wait": -1.0}, "wait: found -1 s; allowed: a time from 0 s up to 30 days"),
        ({"command": "sh", "timeout": 0.0}, "timeout: found 0 s; allowed: a time above 0 s up to 30 days"),
        ({"command": "sh", "timeout": float("nan")}, "timeout: found nan; allowed: a number"),
        ({"command": "sh", "seed": -1}, "seed: found -1"),
        ({"command": "sh", "group": "hom"}, "group: unknown group `hom`"),
        ({"command": "sh", "beside": ["call"]}, "beside: unknown group `call`"),
    ):
        with pytest.raises(InputError) as found:
            emulate(scenario, **arguments)  # type: ignore[arg-type]
        assert str(found.value).startswith(complaint)


# Printed text ----- ------------------------------------------------------------------------------------------------


def printed(view: Any, columns: int = 80) -> list[str]:
    console = Console(width=columns, file=io.StringIO(), record=True)
    console.print(view)
    return console.export_text().splitlines()


def told(side: Side, *, serve: bool = False, beside: tuple[str, ...] = (), text: str = HOME) -> str:
    other = {"FOREBAY_PEER": "198.18.0.1", "FOREBAY_SELF": "198.18.1.1", "FOREBAY_SIDE": "receiver"}
    variables = VARIABLES if side is Side.SENDER else other
    lines = printed(beginning(stand_in(Scenario.parse(text), beside=beside), side, variables, serve=serve))
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def test_the_first_lines_list_the_hosts() -> None:
    way = "sender 198.18.0.1 (the command) → up → receiver 198.18.1.1 ($FOREBAY_PEER) → down → sender"
    assert way in told(Side.SENDER)
    assert "sender 198.18.0.1 ($FOREBAY_PEER) → up → receiver 198.18.1.1 (the command)" in told(Side.RECEIVER)
    assert "sender 198.18.0.1 → up → receiver 198.18.1.1 → down → sender" in told(Side.SENDER, serve=True)
    assert "10 Mb/s link, droptail" in told(Side.SENDER)
    assert "round-trip time 20ms, 30ms without queueing" in told(Side.SENDER).replace(" ms", "ms")


def test_the_beginning_says_which_flows_run() -> None:
    assert told(Side.SENDER).endswith("no flows of the scenario run (--with GROUP starts them)")
    assert told(Side.SENDER, beside=("calls",)).endswith(
        "flows of the scenario that also run: calls; flows that do not run: home, watching (--with GROUP starts them)"
    )
    assert told(Side.SENDER, beside=("calls", "home", "watching")).endswith(
        "flows of the scenario that also run: calls, watching, home"
    )


@dataclass
class Live:
    """As the engine's."""

    time_s: float = 12.3
    arrived: int = 10234
    dropped: int = 0
    marked: int = 0
    waiting: int = 42
    delay_s: float = 0.0482
    utilization: float = 0.998
    strays: int = 0


def test_the_link_is_described_in_a_line() -> None:
    scenario = Scenario.parse(HOME)
    line = live_text(cast("_core.Live", Live()), scenario)
    assert line == "12 s  9.98 Mb/s, 100 % used  queue 42 packets, 48.2 ms  0 of 10,234 lost"
    marked = live_text(cast("_core.Live", Live(marked=7, dropped=1234)), scenario)
    assert marked.endswith("1,234 of 10,234 lost  7 marked")
    assert len(marked) <= 100
    changing = scenario.changed('link.rate={ steps = [["0s", "5Mbps"], ["9s", "15Mbps"]], repeat = "20s" }')
    assert live_text(cast("_core.Live", Live()), changing).startswith("12 s  100 % used  queue")
