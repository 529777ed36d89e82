"""Router dialects: every rule of conversion by hand, and lines that read back as what was asked for."""

from __future__ import annotations

import pytest

from forebay import InputError
from forebay.configuration.configuring import translate
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from tests.support.commands import forebay


@pytest.mark.parametrize(
    ("setting", "system", "rate", "size", "seconds"),
    [
        ("queue-limit 433 packets", "ios-xr", 10e9, 433 * 256, 433 * 256 * 8 / 10e9),
        ("queue-limit 433", "ios-xr", 10e9, 433 * 256, 433 * 256 * 8 / 10e9),
        ("queue-limit 5 ms", "ios-xr", 1e9, 625_000, 0.005),
        ("queue-limit 100 kbytes", "ios-xr", 1e9, 100_000, 0.0008),
        ("queue-limit 64 packets", "ios-xe", 1e9, 96_000, 96_000 * 8 / 1e9),
        ("buffer-size temporal 5000", "junos", 10e9, 6_250_000, 0.005),
        ("latency maximum 50 milliseconds", "eos", 100e9, 625_000_000, 0.05),
        ("mbs 200", "sr-os", 1e9, 200_000, 0.0016),
        ("mbs 200100 bytes", "sr-os", 1e9, 200_100, 200_100 * 8 / 1e9),
        ("tc qdisc add dev eth0 root pfifo limit 100", "linux", 1e9, 150_000, 0.0012),
        ("bfifo limit 150000", "linux", 1e9, 150_000, 0.0012),
    ],
)
def test_settings_read_back(setting: str, system: str, rate: float, size: float, seconds: float) -> None:
    found = translate(setting, system, Assumed(round(rate)))
    assert found.bytes == pytest.approx(size)
    assert found.seconds == pytest.approx(seconds)


@pytest.mark.parametrize("system", list(PLATFORMS))
def test_every_dialect_names_its_source(system: str) -> None:
    assert PLATFORMS[system].source
    assert PLATFORMS[system].quirks


@pytest.mark.parametrize(
    ("setting", "system", "part"),
    [
        ("queue-limit lots", "ios-xr", "found `lots`"),
        ("queue-limit 3 furlongs", "ios-xr", "found `furlongs`"),
        ("queue-limit 3", "cat-os", "unknown platform `cat-os`"),
        ("buffer-size percent 5", "junos", "temporal"),
    ],
)
def test_wrong_settings_are_named(setting: str, system: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        translate(setting, system, Assumed(10**9))


def test_the_command_translates() -> None:
    answer = forebay("translate", "queue-limit 433 packets", "--for", "ios-xr", "--link", "10Gbps", "--rtt", "10ms")
    assert answer.code == 0, answer.err
    assert "111 kB" in answer.out
    assert "0.0887 ms" in answer.out or "88.7 µs" in answer.out
    assert "0.00887 BDP" in answer.out
    wrong = forebay("translate", "queue-limit 433 packets", "--for", "ios-xr", "--link", "10")
    assert wrong.code == 2
    assert "Gbps" in wrong.err


def test_recommend_prints_lines_for_a_system(small) -> None:
    answer = forebay("recommend", small, "--for", "junos", "--no-picture")
    assert answer.code == 0, answer.err
    assert "set class-of-service schedulers FOREBAY buffer-size temporal" in answer.out
