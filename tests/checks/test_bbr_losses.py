"""BBR keeps its rate at steady losses, so that its default loss recovery has to repair lost retransmissions in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.memory import measure
from forebay import Report, Scenario, _core
from forebay.search.choice import Choice, cases
from tests.support.commands import forebay

#: Bytes of payload in a packet, by which goodput is smaller than the rate of the link.
PAYLOAD = 1460 / 1500

FLOWS = """
[link]
rate   = "{rate}"
buffer = "{buffer}"
loss   = {{ random = "{lost}%" }}
[[flows]]
name  = "bbr"
count = {count}
cca   = "{cca}"
rtt   = {{ uniform = ["{low}", "{high}"] }}
start = {{ uniform = ["0s", "0.5s"] }}
[run]
warmup  = "3s"
measure = "6s"
"""


def of(text: str) -> tuple[Report, float]:
    """One replication, and its goodput as a part of what the link could carry of payload."""
    core = Scenario.parse(text).core
    (outcome,) = _core.run_batch([_core.Job(core, "packet", 1, 0)], 1)
    assert not isinstance(outcome, Exception), outcome
    report = Report(outcome)
    return report, report.metrics["goodput_bps"].mean / (PAYLOAD * core.rate_bps)


@pytest.mark.parametrize("cca", ["bbr", "bbr3"])
@pytest.mark.parametrize(
    ("rate", "buffer", "count", "lost", "low", "high"),
    [
        # Queues that drop up to a fifth of BBR's packets.
        ("100Mbps", "10p", 30, 0, "10ms", "40ms"),
        ("500Mbps", "20p", 60, 0, "5ms", "60ms"),
        ("20Mbps", "4p", 8, 0, "10ms", "40ms"),
        # Media that lose packets after the queue.
        ("100Mbps", "1BDP", 10, 15, "10ms", "40ms"),
        ("10Mbps", "1BDP", 1, 15, "10ms", "40ms"),
        ("200Mbps", "1BDP", 5, 5, "1ms", "4ms"),
    ],
)
def test_what_the_link_carries_for_bbr_is_goodput(
    cca: str, rate: str, buffer: str, count: int, lost: int, low: str, high: str
) -> None:
    text = FLOWS.format(rate=rate, buffer=buffer, count=count, lost=lost, low=low, high=high, cca=cca)
    report, goodput = of(text)
    arrived = report.metrics["utilization"].mean * (1.0 - lost / 100)
    assert goodput == pytest.approx(arrived, rel=0.03)


@pytest.mark.parametrize(("rate", "buffer", "count"), [("100Mbps", "10p", 30), ("500Mbps", "20p", 60)])
def test_many_bbr_flows_fill_a_link_that_drops_a_sixth_of_their_packets(rate: str, buffer: str, count: int) -> None:
    text = FLOWS.format(rate=rate, buffer=buffer, count=count, lost=0, low="10ms", high="40ms", cca="bbr")
    report, goodput = of(text)
    assert report.metrics["loss_rate"].mean > 0.15
    assert goodput > 0.97


def test_explicit_sack_waits_for_timeouts() -> None:
    """RFC 6675 does not detect lost retransmissions; a group that asks for it gets it."""
    text = FLOWS.format(rate="500Mbps", buffer="20p", count=60, lost=0, low="5ms", high="60ms", cca="bbr")
    report, goodput = of(text.replace("[run]", 'recovery = "sack"\n[run]'))
    assert goodput < 0.8 * report.metrics["utilization"].mean


# Memory ----------------------------------------------------------------------------------------------------------
#: A peering port of 100 Gb/s, a twentieth of it.
PEER = """
[link]
rate   = "5Gbps"
buffer = "141p"
[[flows]]
name   = "cubic"
count  = 90
rtt    = { uniform = ["5ms", "60ms"] }
start  = { uniform = ["0s", "1s"] }
access = { rate = "1Gbps" }
[[flows]]
name   = "bbr"
count  = 60
cca    = "bbr"
rtt    = { uniform = ["5ms", "60ms"] }
start  = { uniform = ["0s", "1s"] }
access = { rate = "1Gbps" }
[run]
warmup  = "3s"
measure = "3s"
"""


def test_a_port_with_bbr_takes_the_memory_that_is_estimated(tmp_path: Path) -> None:
    path = tmp_path / "peer.toml"
    path.write_text(PEER, encoding="utf-8")
    found = measure(str(path))
    assert found.agrees, found


# Changes ---------------------------------------------------------------------------------------------------------
TWO = """
[link]
rate   = "20Mbps"
buffer = "20p"
[[flows]]
name   = "bulk"
rtt    = "20ms"
[run]
warmup  = "1s"
measure = "2s"
"""


def recovery(scenario: Scenario) -> str:
    (group,) = scenario.resolved["flows"]
    return str(group["recovery"])


@pytest.mark.parametrize("stack", ["rfc", "linux", "ns2"])
def test_a_changed_controller_brings_the_recovery_of_its_file(stack: str) -> None:
    text = TWO.replace("rtt ", f'stack = "{stack}"\nrtt ')
    unchanged = Scenario.parse(text)
    for cca in ("bbr", "bbr3", "newreno"):
        changed = unchanged.changed(f"flows.bulk.cca={cca}")
        assert changed.core.sha256 == Scenario.parse(text, overrides=[f"flows.bulk.cca={cca}"]).core.sha256
        back = changed.changed("flows.*.cca=cubic")
        assert back.core.sha256 == unchanged.core.sha256
        assert Scenario.parse(changed.toml).core.sha256 == changed.core.sha256
        assert Scenario.of(changed.resolved).core.sha256 == changed.core.sha256


def test_a_choice_of_controllers_has_the_recovery_of_each() -> None:
    chosen = [Choice("flows.bulk.cca", ("cubic", "bbr", "newreno", "bbr3"))]
    found = {setting["flows.bulk.cca"]: recovery(case) for setting, case in cases(Scenario.parse(TWO), chosen)}
    assert found == {"cubic": "sack", "bbr": "rack", "newreno": "sack", "bbr3": "rack"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (["flows.bulk.cca=bbr"], "rack"),
        (["flows.bulk.cca=bbr", "flows.bulk.recovery=sack"], "sack"),
        (["flows.bulk.recovery=sack", "flows.bulk.cca=bbr"], "sack"),
        ([], "sack"),
    ],
)
def test_options_of_a_command_keep_an_explicit_recovery(changes: list[str], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TWO, encoding="utf-8")
    done = forebay("run", path, "--json", *(option for change in changes for option in ("--set", change)))
    assert done.code == 0, done.err
    explicit = Scenario.load(path, [*changes, f"flows.bulk.recovery={expected}"])
    assert json.loads(done.out)["scenario_sha256"] == explicit.core.sha256
