"""The lines for Linux of a link with a shaper: what tc makes of them in a namespace is what was simulated."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay import Scenario
from forebay.configuration.access import Framing
from forebay.configuration.configuring import configure, fit
from forebay.configuration.platforms.linux import shaping
from forebay.configuration.platforms.linux.tc import LINUX
from forebay.configuration.platforms.linux.tree import parse
from forebay.configuration.port import FRAMING, Limit, Port, Shaper
from tests.support.paths import ROOT
from tests.support.traffic_control import given_to_tc

LAB = ROOT / "scenarios" / "lab-dumbbell.toml"


def shaped(table: str, *more: str) -> Port:
    return Port.of(Scenario.load(LAB, [f"link.shaper={{ {table} }}", *more]))


@pytest.mark.parametrize(
    ("table", "more", "lines"),
    [
        (
            'rate = "50Mbps", burst = "15kB"',
            (),
            ["tbf rate 50mbit burst 15000 limit 300000", "pfifo limit 200"],
        ),
        (
            'rate = "50Mbps", burst = "15kB", peak = "60Mbps"',
            (),
            ["tbf rate 50mbit burst 15000 peakrate 60mbit mtu 1500 limit 300000", "pfifo limit 200"],
        ),
        # Tokens count the frame, and tbf adds its overhead to its buckets, too.
        (
            'rate = "50Mbps", burst = "15kB", peak = "60Mbps"',
            ("link.rate_layer=l1", "link.queue=fq_codel"),
            [
                "tbf rate 50mbit burst 14962 peakrate 60mbit mtu 1500 limit 300000 overhead 38",
                "fq_codel limit 200 target 5ms interval 100ms noecn flows 1024 quantum 1514 drop_batch 64",
            ],
        ),
        # At the rate itself the smaller bucket is the only one.
        (
            'rate = "50Mbps", burst = "15kB", peak = "50Mbps", peak_burst = "3kB"',
            (),
            ["tbf rate 50mbit burst 3000 limit 300000", "pfifo limit 200"],
        ),
        # The ceiling would be at the rate, with a bucket for hardly more than a packet.
        (
            'rate = "50Mbps", burst = "15kB", kind = "htb"',
            ("link.buffer=150kB",),
            [
                "htb default 1",
                "htb rate 50mbit burst 15000 ceil 50mbit cburst 15000 quantum 1514",
                "bfifo limit 150000",
            ],
        ),
        (
            'rate = "50Mbps", burst = "15kB", peak = "60Mbps", peak_burst = "3kB", kind = "htb"',
            ("link.rate_layer=l2",),
            [
                "htb default 1",
                "htb rate 50mbit burst 15000 ceil 60mbit cburst 3000 quantum 1514 overhead 18",
                "pfifo limit 200",
            ],
        ),
    ],
)
def test_lines_say_what_was_simulated(table: str, more: tuple[str, ...], lines: list[str]) -> None:
    found = configure(LINUX, shaped(table, *more))
    heads = [
        "tc qdisc replace dev eth0 root handle 1: stab overhead -14 linklayer ethernet",
        "tc qdisc replace dev eth0 parent 1:1",
    ]
    if len(lines) == 3:
        heads.insert(1, "tc class replace dev eth0 parent 1: classid 1:1")
    assert list(found.lines) == [f"{head} {line}" for head, line in zip(heads, lines, strict=True)]
    assert "rate: the port itself has to run at the line's rate, 100 Mb/s" in found.notes


def test_differences_are_listed() -> None:
    found = configure(LINUX, shaped('rate = "50000001bps", burst = "15001B", kind = "htb"'))
    assert found.notes[:2] == (
        "shaper.rate: simulated 50000.001 kb/s, configured 50 Mb/s (tc keeps whole bytes per second)",
        "shaper.burst: simulated 15,001 bytes, configured 15,006 bytes (tc counts htb's buckets in microseconds)",
    )
    found = configure(LINUX, shaped('rate = "50Mbps", burst = "15kB", peak = "50Mbps"'))
    same = "tbf takes no peak at the rate, where the smaller bucket alone is the same"
    assert found.notes[:3] == (
        f"shaper.peak: simulated 50 Mb/s, configured none ({same})",
        f"shaper.burst: simulated 15,000 bytes, configured 1,500 bytes ({same})",
        f"shaper.peak_burst: simulated 1,500 bytes, configured none ({same})",
    )


@pytest.mark.parametrize(
    ("table", "more", "why"),
    [
        ('rate = "50Mbps", burst = "15kB"', "link.queue=cake", "linux does not support cake beneath a `shaper`"),
        ('rate = "50Mbps", burst = "5GB"', "link.delay=0s", "a bucket of 5,000,000,000 bytes; allowed: up to 4 GiB"),
        (
            'rate = "1kbps", burst = "50kB", kind = "htb"',
            "link.delay=0s",
            "an htb with a bucket of 400 s; allowed: up to 60, as tokens come at once",
        ),
        (
            'rate = "50Mbps", burst = "15kB", peak = "60Mbps"',
            'flows.0.packet={ choice = ["500B", "1500B"] }',
            "a peak without a `peak_burst` where packets vary",
        ),
    ],
)
def test_keys_without_a_tc_option_are_refused_by_name(table: str, more: str, why: str) -> None:
    port = (
        shaped(table, more)
        if "choice" not in more
        else dataclasses.replace(shaped(table), shaper=Shaper("tbf", 50_000_000, 15_000, 100_000_000, 60_000_000))
    )
    found = configure(LINUX, port)
    assert found.lines == ()
    assert why in found.notes[0]


rates = st.integers(1000, 10**11)
bursts = st.integers(1600, 10**7)


@given(
    kind=st.sampled_from(["tbf", "htb"]),
    rate=rates,
    burst=bursts,
    peak=st.none() | st.tuples(st.integers(0, 10**10), bursts),
    layer=st.sampled_from(sorted(FRAMING)),
)
def test_fitting_twice_is_fitting_once(
    kind: Any, rate: int, burst: int, peak: tuple[int, int] | None, layer: str
) -> None:
    """And no bucket is smaller than asked for, nor by more than the kernel's grain larger."""
    requested = Shaper(kind, rate, burst, 10**12)
    if peak is not None:
        requested = dataclasses.replace(requested, peak=rate + peak[0], peak_burst=peak[1])
    port = dataclasses.replace(shaped('rate = "50Mbps", burst = "15kB"'), shaper=requested, rate=rate, layer=layer)
    if kind == "htb" and max(burst, peak[1] if peak else 0) * 8 / max(8, rate // 8 * 8) > 60:
        return
    once = fit(LINUX, port).port
    assert fit(LINUX, once).port == once
    shaper = once.shaper
    assert shaper is not None
    grain = math.ceil(1.1e-6 * rate / 8) + 1 if kind == "htb" else 0
    if shaper.peak is not None or peak is None:
        assert burst <= shaper.burst <= burst + grain
    else:
        assert shaper.burst == min(burst, peak[1])
    assert rate - 7 <= shaper.rate <= rate


SHAPERS = [
    'rate = "50Mbps", burst = "15kB"',
    'rate = "8Mbps", burst = "1501B", peak = "9Mbps", peak_burst = "4567B"',
    'rate = "123456789bps", burst = "54321B", peak = "400Gbps", peak_burst = "1MB"',
    'rate = "1kbps", burst = "1500B"',
    'rate = "40Gbps", burst = "10MB", peak = "41Gbps", peak_burst = "3MB"',
]


@pytest.mark.usefixtures("tc")
@pytest.mark.parametrize("layer", sorted(FRAMING))
@pytest.mark.parametrize("table", SHAPERS)
@pytest.mark.parametrize("kind", ["tbf", "htb"])
def test_the_kernel_has_what_was_simulated(kind: str, table: str, layer: str) -> None:
    """tc prints rates in whole kb/s, and a bucket from its ticks in whole microseconds: both are rounded down."""
    port = shaped(f'{table}, kind = "{kind}"', f"link.rate_layer={layer}", "link.rate=1Tbps", "flows.0.packet=1400B")
    shaper = fit(LINUX, port).port.shaper
    assert shaper is not None
    show = "tc -d qdisc show dev lo" + ("; tc -d class show dev lo" if kind == "htb" else "")
    found, shown = given_to_tc(configure(LINUX, port).lines, show)
    assert all(code == 0 for code, _ in found), found
    root = next(node for node in parse(shown, []) if node.kind == kind)
    assert root.stab == Framing(-14)
    options = root.options if kind == "tbf" else root.children[0].options
    peak = (shaper.peak, shaper.peak_burst)
    if kind == "htb" and shaper.peak is None:
        peak = (shaper.rate, shaper.burst)
    names = ("peakrate", "mtu") if kind == "tbf" else ("ceil", "cburst")
    for rate, burst, shown_rate, shown_burst in (
        (shaper.rate, shaper.burst, options["rate"], options["burst"]),
        (*peak, options.get(names[0]), options.get(names[1])),
    ):
        if rate is None or burst is None:
            assert shown_rate is None
            continue
        assert isinstance(shown_rate, int)
        assert isinstance(shown_burst, Limit)
        assert shown_rate == (rate // 1000 * 1000 if rate > 1_000_000 else rate)
        assert burst - 2 - 2.2e-6 * rate / 8 <= shown_burst.amount <= burst
    assert options.get("overhead", 0) == FRAMING[layer]


def test_a_bucket_is_what_the_kernel_makes_of_its_word() -> None:
    """By hand: 1,538 bytes at 12.5 MB/s are 123.04 us, of which tc keeps 123, 1,921 ticks of 64 ns."""
    assert shaping.configured_bucket(1538, 100_000_000) == pytest.approx(1921 * 64e-9 * 12.5e6)
    # So 124 us it is: 1,937 ticks.
    port = shaped('rate = "100Mbps", burst = "1538B", kind = "htb"')
    assert "burst 1550 " in configure(LINUX, port).lines[1]
    assert fit(LINUX, port).port.shaper == Shaper("htb", 100_000_000, 1549, 100_000_000)


def test_times_are_of_the_shapers_rate() -> None:
    """As the engine has it: a threshold of 2 ms is of the smaller rate, the shaper's or the line's."""
    red = 'link.queue={ kind = "red", min = "2ms", max = "4ms" }'
    for rate, smaller in (("50Mbps", "50Mbps"), ("150Mbps", "100Mbps")):
        found = shaped(f'rate = "{rate}", burst = "15kB"', red)
        uncompressed = Port.of(Scenario.load(LAB, [red, f"link.rate={smaller}"]))
        assert dataclasses.replace(found, shaper=None) == uncompressed
