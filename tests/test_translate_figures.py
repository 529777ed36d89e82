"""Figures of `translate`: what a rate and a limit count, and what is said of what a scenario does not have."""

from __future__ import annotations

import pytest

from forebay import InputError
from forebay.configuration.configuring import translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.port import Classes, Limit, Queue

# IOS XR: a queue-limit in time -----------------------------------------------------------------------------------------

#: Cisco, "IOS XR Modular Quality of Service Command Reference for the Cisco CRS Router, Release 4.0", `queue-limit`:
#: a time counts at the guaranteed service rate of the class, the rate of the queue "when all queues are backlogged".
SHAPED_CLASS = """policy-map EGRESS
 class VOICE
  priority level 1
  queue-limit 100 kbytes
 !
 class class-default
  queue-limit 10 ms
  shape average 1 gbps
 !
"""


def last_limit(text: str, rate: int | None = None) -> Limit:
    found = translate(text, "ios-xr", Assumed(rate)).port.queue
    assert isinstance(found, Classes)
    return found.classes[-1].queue.limit


@pytest.mark.parametrize("rate", [None, 10**10])
def test_a_time_of_a_shaped_class_counts_at_its_shaper(rate: int | None) -> None:
    voice = " class VOICE\n  priority level 1\n  queue-limit 100 kbytes\n !\n"
    alone = translate(SHAPED_CLASS.replace(voice, ""), "ios-xr", Assumed())
    assert isinstance(alone.port.queue, Queue)
    # 10 ms of 1 Gb/s, of which 38 bytes of each 1,538 are framing.
    assert alone.port.queue.limit.amount == pytest.approx(1e9 / 8 * 0.01 * 1500 / 1538)
    assert last_limit(SHAPED_CLASS, rate) == alone.port.queue.limit


def test_a_time_counts_at_the_slower_of_shaper_and_share() -> None:
    text = SHAPED_CLASS.replace("priority level 1", "bandwidth remaining percent 75")
    text = text.replace("queue-limit 10 ms", "bandwidth remaining percent 25\n  queue-limit 10 ms")
    assert last_limit(text, 2 * 10**9) == Limit(625_000, "bytes")  # a quarter of 2 Gb/s
    assert last_limit(text, 10**10) == last_limit(SHAPED_CLASS)
    share = text.replace("shape average 1 gbps", "shape average percent 10")
    assert last_limit(share, 10**9) == Limit(125_000, "bytes")  # 10 % of 1 Gb/s
    with pytest.raises(InputError, match="the link's rate, as a time counts at a rate that the text does not have"):
        last_limit(text)
