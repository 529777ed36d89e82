"""Access lines: what each adds to a packet, the shaper in front of it, and both of its directions."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

import forebay as forebay_package
from forebay import InputError, Scenario
from forebay.configuration.access import ACCESSES, Access, Framing, access, requested_access
from forebay.configuration.configuring import configure, link_table, translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Port
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.traffic_control import given_to_tc

DSL = ROOT / "scenarios" / "dsl-access.toml"
HOMES = [name for name, each in PLATFORMS.items() if each.accesses]
#: iproute2 7.1.0, tc/q_cake.c: bytes of overhead, mpu and cells by keyword.
OF_CAKE = {
    "docsis": (18, 64, "none"),
    "ethernet": (38, 84, "none"),
    "ethernet+vlan": (42, 84, "none"),
    "pppoe-ptm": (30, 0, "ptm"),
    "pppoe-ptm+vlan": (34, 0, "ptm"),
    "bridged-ptm": (22, 0, "ptm"),
    "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"),
    "pppoe-vcmux": (32, 0, "atm"),
    "pppoe-llcsnap": (40, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"),
    "bridged-llcsnap": (32, 0, "atm"),
    "ipoa-vcmux": (8, 0, "atm"),
    "ipoa-llcsnap": (16, 0, "atm"),
    "conservative": (48, 0, "atm"),
}


def port(kind: str, *more: str) -> Port:
    return Port.of(Scenario.load(DSL, [f"link.queue={kind}", *more]))


def lines(system: str, kind: str, line: Access | None) -> str:
    configuration = configure(PLATFORMS[system], port(kind), line)
    assert configuration.lines, configuration.notes
    return "\n".join(configuration.lines)


@pytest.mark.parametrize(("name", "figures"), OF_CAKE.items())
def test_each_access_line_has_the_framing_of_cake(name: str, figures: tuple[int, int, str]) -> None:
    framing = access(name).framing
    assert (framing.overhead, framing.least, framing.cells) == figures
    assert {each.partition("+")[0] for each in OF_CAKE} == set(ACCESSES)


@pytest.mark.parametrize(
    ("framing", "packet", "size"),
    [
        (Framing(18, 64), 1500, 1518),
        (Framing(18, 64), 40, 64),
        # 1540 bytes are 33 cells of 48, the last of them filled up; 88 bytes are two.
        (Framing(40, cells="atm"), 1500, 33 * 53),
        (Framing(48, cells="atm"), 40, 2 * 53),
        # 1530 bytes are 24 blocks of 64, each with a byte more.
        (Framing(30, cells="ptm"), 1500, 1554),
    ],
)
def test_what_a_packet_is_on_the_line(framing: Framing, packet: int, size: int) -> None:
    """As cake_calc_overhead of net/sched/sch_cake.c counts."""
    assert framing.on_wire(packet) == size


@pytest.mark.parametrize("kind", ["cake", "fq_codel", "codel", "droptail", "sfq", "fq_pie"])
@pytest.mark.parametrize("given", [{}, {"download": "250Mbps"}, {"upload": "4Mbps"}], ids=["alone", "down", "up"])
@pytest.mark.parametrize("name", OF_CAKE)
@pytest.mark.parametrize("system", HOMES)
def test_what_is_written_in_front_of_a_line_is_read_back(
    system: str, name: str, given: dict[str, str], kind: str
) -> None:
    line = requested_access(name, given.get("download"), given.get("upload"))
    assert line is not None
    read = translate(lines(system, kind, line), system, Assumed(direction=line.direction)).port
    assert (read.wire or Framing(read.framing)).overhead == line.framing.overhead
    assert read.direction == ("download" if "upload" in given else "upload")
    share = Fraction(9, 10)
    if line.framing.cells == "ptm" and kind != "cake":
        # Only cake counts PTM's coding.
        share *= Fraction(64, 65)
    else:
        assert (read.wire or Framing(read.framing)) == line.framing
    assert abs(read.bits_per_second - 16_000_000 * share) < 1000
    controlled = kind in ("cake", "fq_codel", "codel", "fq_pie")
    rate = 250_000_000 if "download" in given else 4_000_000
    assert read.other is None if not (given and controlled) else abs(read.other - rate * share) < 1001  # type: ignore[operator]
    configuration = configure(PLATFORMS[system], dataclasses.replace(read, groups=("a",)))
    assert lines(system, kind, line) == "\n".join(configuration.lines)


@pytest.mark.parametrize("system", HOMES)
def test_an_answer_says_what_it_assumes_of_the_line(system: str) -> None:
    configuration = configure(PLATFORMS[system], port("cake"))
    (statements,) = (note for note in configuration.notes if note.startswith("access: "))
    assert statements.startswith(
        "access: none given, so the shaper has the simulated rate and counts only IP packets. "
    )
    assert all(name in statements for name in ACCESSES)
    configuration = configure(PLATFORMS[system], port("cake"), access("docsis"))
    rate = (
        "rate: simulated 16 Mb/s, configured 14.4 Mb/s (90 % of the rate of the line, so that packets wait here and "
        "not in the modem)"
    )
    assert rate in configuration.notes
    assert "access: docsis, 18 bytes of framing per packet, at least 64 bytes" in configuration.notes
    assert "download: not shaped, because its rate is not given (--download RATE)" in configuration.notes
    assert "iproute2 7.1.0" in configuration.source


@pytest.mark.parametrize("system", HOMES)
@pytest.mark.parametrize("rate", ["1Mbps", "16Mbps", "1Gbps"])
def test_cake_has_no_limit_of_memory(system: str, rate: str) -> None:
    configuration = configure(PLATFORMS[system], port("cake", f"link.rate={rate}", "flows.1.workload.cbr.rate=10kbps"))
    assert configuration.lines
    assert "memlimit" not in "\n".join(configuration.lines)
    (statements,) = (
        note for note in configuration.notes if note.startswith("buffer: simulated 64 packets, configured ")
    )
    # Four times the bytes of a round trip of 100 ms, from 4 MiB to 10,240 frames of 1514 bytes; 2304 a packet.
    held = {"1Mbps": 4 << 20, "16Mbps": 4 << 20, "1Gbps": 10_240 * 1514}[rate] // 2304
    assert f"configured {held:,} packets" in statements


def test_a_buffer_above_what_cake_holds_is_refused() -> None:
    configuration = configure(PLATFORMS["linux"], port("cake", "link.buffer=2000p"))
    assert configuration.lines == ()
    assert configuration.notes[0].startswith(
        "linux does not support cake with 2,000 packets; allowed: up to 1,820 packets"
    )


@pytest.mark.parametrize("kind", ["droptail", "sfq"])
def test_a_direction_that_was_not_simulated_gets_no_buffer(kind: str) -> None:
    configuration = configure(PLATFORMS["openwrt"], port(kind), requested_access("docsis", "250Mbps", None))
    assert "\toption download '0'" in configuration.lines
    assert (
        f"download: not shaped, because {kind} needs a buffer and none was simulated for this direction"
        in configuration.notes
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("docsi", None, None), "did you mean `docsis`"),
        (("docsis+vlan+vlan+vlan", None, None), r"allowed: docsis, docsis\+vlan, docsis\+vlan\+vlan"),
        (("docsis", "1Mbps", "1Mbps"), "found download and upload"),
        ((None, "1Mbps", None), "without an access line"),
        (("docsis", "fast", None), "download: found `fast`"),
        (("docsis", "1bps", None), "allowed: 1kbps to 1Tbps"),
    ],
)
def test_a_line_that_is_none_is_refused(given: tuple[str | None, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        requested_access(*given)


def test_routers_are_told_of_no_access_line() -> None:
    configuration = configure(PLATFORMS["junos"], port("droptail"), access("docsis"))
    assert configuration.lines == configure(PLATFORMS["junos"], port("droptail")).lines
    assert "access: junos does not support access lines, so --access has no effect" in configuration.notes


def test_a_wrong_line_is_refused_before_anything_is_simulated() -> None:
    answer = forebay("recommend", DSL, "--for", "openwrt", "--access", "docsys")
    assert answer.code == 2
    assert "did you mean `docsis`?" in answer.err


@pytest.mark.parametrize(
    ("text", "overhead", "least", "cells"),
    [
        ("cake bandwidth 20mbit overhead 44 mpu 64", 44, 64, "none"),
        ("cake bandwidth 20mbit docsis nat", 18, 64, "none"),
        ("cake bandwidth 20mbit ethernet ether-vlan ether-vlan", 46, 84, "none"),
        ("cake bandwidth 20mbit pppoe-ptm ether-vlan", 34, 0, "ptm"),
        ("cake bandwidth 20mbit conservative", 48, 0, "atm"),
        ("cake bandwidth 20Mbit diffserv3 triple-isolate nonat nowash rtt 100ms atm overhead 40", 40, 0, "atm"),
    ],
)
def test_the_framing_of_a_cake_is_read(text: str, overhead: int, least: int, cells: str) -> None:
    found = translate(text, "linux", Assumed()).port
    assert found.wire == Framing(overhead, least, cells)  # type: ignore[arg-type]
    # The link table has the bits of IP in full packets.
    table = link_table(found)
    assert f"# 20 Mb/s with {found.wire}, as bits of IP packets of 1500 bytes" in table
    assert Fraction(20_000_000 * 1500, found.wire.on_wire(1500)) == found.ip_rate


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("kind", ["cake", "fq_codel", "droptail"])
@pytest.mark.parametrize("name", OF_CAKE)
def test_tc_takes_the_lines_of_each_access_line(name: str, kind: str) -> None:
    text = lines("linux", kind, requested_access(name, "100Mbps", None)).replace("ifb4eth0", "lo").splitlines()
    found, _ = given_to_tc([line for line in text if line.startswith("tc qdisc") and "ffff:" not in line], "true")
    # 2 is the kernel's refusal of a discipline that it has not, 1 would be tc's own of a word.
    for code, statements in found:
        assert code == 0 or (
            code == 2 and any(word in statements for word in ("unknown", "Parent", "support", "find"))
        ), statements


def test_a_link_is_configured_and_read_from_python() -> None:
    configuration = forebay_package.configure(Scenario.load(DSL, ["link.queue=cake"]), "openwrt", access="docsis")
    assert "\toption upload '14400'" in configuration.lines
    read = forebay_package.translate("\n".join(configuration.lines), "openwrt")
    assert (read.port.rate, read.skipped, read.unknown) == (14_400_000, (), ())
    assert forebay_package.translate("bfifo limit 200kb", "linux", rate="100Mbps").seconds == 0.016384
    with pytest.raises(InputError, match="packet: found `1B`"):
        forebay_package.translate("bfifo limit 200kb", "linux", packet="1B")
    assert {"configure", "emulate", "observe", "translate"} <= {*forebay_package.__all__}
