"""The manual's incast into a lossless port: the times and bytes that its page derives by hand."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from forebay import InputError, Scenario, recommend
from forebay.search.value import Value

PAGE = Path(__file__).parents[2] / "docs/guides/lossless.md"
#: Times in seconds: of a packet of 1,500 bytes, and from a decision of the queue until it takes effect.
PACKET_S = 1500 * 8 / 100e9
FRAME_S = 2 * 300 / 198e6 + 2e-6
SERVERS, XOFF, XON = 32, 60_000, 30_000


def scenario(*changes: str) -> Scenario:
    blocks = re.findall(r"(?:^    .*\n|^\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    text = next(block for block in blocks if "[link]" in block)
    return Scenario.parse(textwrap.dedent(text), overrides=changes)


def measured(until_s: float, metric: str, *changes: str) -> float:
    return scenario(f"run.measure={until_s:.12g}s", *changes).run().metrics[metric].mean


def first_pause_s() -> float:
    """When each server has more than `xoff` waiting: n packets have come, and the port has sent n of all servers."""
    arrived = next(n for n in range(1, 1000) if (n - n // SERVERS) * 1500 > XOFF)
    return arrived * PACKET_S


def test_the_first_pause_is_decided_when_xoff_is_exceeded() -> None:
    """A server of which the port has sent two packets exceeds it one packet later."""
    assert measured(first_pause_s() - PACKET_S / 2, "pause_frames") == 0
    assert measured(first_pause_s() + 2 * PACKET_S, "pause_frames") == SERVERS


def test_the_headroom_is_what_comes_until_the_frame_takes_effect() -> None:
    used = measured(0.02, "headroom_max_bytes")
    bound = FRAME_S * 100e9 / 8 + 2 * 1500
    assert bound - 2 * 1500 <= used <= bound
    assert measured(0.02, "loss_rate", f"link.pfc.headroom={used:.0f}B") == 0
    assert measured(0.02, "loss_rate", f"link.pfc.headroom={used - 1:.0f}B") > 0


def test_the_pauses_end_when_the_port_has_sent_all_packets_above_xon() -> None:
    most = XOFF + measured(0.02, "headroom_max_bytes")
    drained = first_pause_s() + FRAME_S + (most - XON) / 1500 * SERVERS * PACKET_S
    # The servers differ by a round of the port.
    for late in (400e-6, 300e-6):
        paused = late - measured(late, "pause_time_s") - first_pause_s()
        assert paused == pytest.approx(FRAME_S, rel=0.5)
    at = drained - 2 * SERVERS * PACKET_S
    assert measured(at, "pause_time_s") == pytest.approx(at - first_pause_s(), abs=PACKET_S)


def test_the_smallest_headroom_is_found() -> None:
    answer = recommend(scenario(), over="link.pfc.headroom=10kB..200kB", jobs=1)
    assert answer.verdict == "met"
    used = measured(0.02, "headroom_max_bytes")
    assert isinstance(answer.setting, Value)
    assert used <= answer.setting.value <= 1.06 * used


def test_the_buffer_of_a_lossless_queue_is_not_sized() -> None:
    with pytest.raises(InputError, match=r"--over link.pfc.headroom"):
        recommend(scenario(), jobs=1)
