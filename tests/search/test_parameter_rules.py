"""Rules for parameters: by hand from their formulas, where they apply, and measured beside the answer."""

from __future__ import annotations

import math

import pytest

from forebay import Scenario, _core, recommend
from forebay.rules import rules
from forebay.search.parameter_rules import RULES, ParameterRule, parameter_rules
from forebay.search.range_variable import range_variable
from tests.support.scenarios import SMALL

#: 10 Gb/s, 84 µs, packets of 1,500 bytes: 833,333 packets a second and 70 of them in a round trip.
SWITCH = """\
[link]
rate   = "10Gbps"
buffer = "500p"
queue  = { kind = "step", threshold = "65p" }

[[flows]]
name  = "bulk"
count = 3
cca   = "dctcp"
ecn   = true
rtt   = "84us"

[[flows]]
name  = "others"
count = 1
cca   = "cubic"
ecn   = true
rtt   = "84us"

[goal]
utilization = ">= 95%"
"""


def found(text: str, over: str, *changes: str) -> dict[str, ParameterRule]:
    scenario = Scenario.parse(text, overrides=changes)
    return {rule.name: rule for rule in parameter_rules(range_variable(scenario, over, largest=False, resolution=0.05))}


def values(by_name: dict[str, ParameterRule]) -> dict[str, float]:
    return {name: rule.value for name, rule in by_name.items()}


def test_marking_thresholds_are_shares_of_a_round_trip() -> None:
    rules_found = found(SWITCH, "link.queue.threshold=5p..500p")
    assert values(rules_found) == pytest.approx({"dctcp-seventh": 10, "dctcp-1g": 20, "dctcp-10g": 65, "ecn-bdp": 70})
    assert {name for name, rule in rules_found.items() if rule.applies} == {"dctcp-seventh", "dctcp-10g"}
    assert (rules_found["dctcp-seventh"].share, rules_found["ecn-bdp"].share) == (0.75, 0.25)
    assert rules_found["dctcp-1g"].against == "made for 1 Gb/s"
    assert rules_found["ecn-bdp"].against == "75 % of the flows that react do not halve at a mark"
    classic = found(SWITCH, "link.queue.threshold=5p..500p", "flows.bulk.cca=cubic")
    assert {name for name, rule in classic.items() if rule.applies} == {"ecn-bdp"}
    in_time = found(SWITCH, "link.queue.threshold=10us..1ms")
    assert values(in_time)["dctcp-seventh"] == pytest.approx(84e-6 / 7)
    assert values(in_time)["dctcp-10g"] == pytest.approx(65 * 1.2e-6)
    in_bytes = found(SWITCH, "link.queue.threshold=10kB..1MB")
    assert values(in_bytes)["ecn-bdp"] == pytest.approx(70 * 1500)


def test_a_threshold_elsewhere_is_about_that_link_s_rate() -> None:
    leaf = 'name = "leaf"\nrate = "1Gbps"\nbuffer = "100p"\nqueue = { kind = "step" }\n'
    links = SWITCH.replace("[link]\n", f'[[links]]\n{leaf}\n[[links]]\nname = "core"\ntarget = true\n').replace(
        'rtt   = "84us"', 'rtt   = "84us"\npath = ["leaf", "core"]'
    )
    rules_found = found(links, "links.leaf.queue.threshold=2p..50p")
    assert values(rules_found)["ecn-bdp"] == pytest.approx(7.0)
    assert rules_found["dctcp-1g"].applies
    assert not rules_found["dctcp-10g"].applies


def test_red_s_parameters() -> None:
    red = SMALL.replace('buffer = "20p"', 'buffer = "100p"\nqueue = "red"')
    # 2 Mb/s are 250 packets of 1,000 bytes a second: less than five in 2.5 ms.
    assert values(found(red, "link.queue.min=1p..50p")) == {"red-1997": 5, "adaptive-red": 5}
    fast = found(red, "link.queue.min=1p..500p", "link.rate=200Mbps")
    assert values(fast) == pytest.approx({"red-1997": 5, "adaptive-red": 25_000 * 0.0025})
    assert values(found(red, "link.queue.max=1p..90p"))["three-to-one"] == 15
    assert values(found(red, "link.queue.max=50p..90p", "link.queue.min=12p"))["three-to-one"] == 36
    assert values(found(red, "link.queue.max=50p..90p", "link.queue.min=12kB"))["three-to-one"] == pytest.approx(36)
    assert values(found(red, "link.queue.max=50p..90p", "link.queue.min=48ms"))["three-to-one"] == pytest.approx(36)
    assert values(found(red, "link.queue.max=1ms..900ms"))["three-to-one"] == pytest.approx(15 / 250)
    weight = values(found(red, "link.queue.weight=0.0001..0.1"))
    assert weight == pytest.approx({"red-1997": 0.002, "adaptive-red": 1 - math.exp(-1 / 250)})
    rules_found = found(red, "link.queue.max_p=0.01..0.5")
    assert values(rules_found) == {"red-1993": 0.02, "red-1997": 0.1}
    assert not rules_found["red-1997"].applies, "adaptive"
    assert found(red, "link.queue.max_p=0.01..0.5", "link.queue.adaptive=false")["red-1997"].applies


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "cobalt", "cake"])
def test_targets_of_controlled_delay(kind: str) -> None:
    codel = SMALL.replace('buffer = "20p"', f'buffer = "100p"\nqueue = "{kind}"')
    rules_found = found(codel, "link.queue.target=1ms..100ms")
    assert values(rules_found) == pytest.approx({"rfc-8289": 0.005, "codel-share": 0.005})
    assert rules_found["rfc-8289"].applies, "a packet takes 4 ms"
    slow = found(codel, "link.queue.target=1ms..100ms", "link.rate=1Mbps", "link.queue.interval=240ms")
    assert slow["rfc-8289"].against == "a packet alone takes 8.00 ms on the link"
    assert slow["codel-share"].value == pytest.approx(0.012)
    assert slow["codel-share"].applies
    assert values(found(codel, "link.queue.interval=10ms..1s")) == pytest.approx({"rfc-8289": 0.1, "longest-rtt": 0.04})
    inside = found(codel, "link.queue.interval=1ms..1s", "flows.bulk.rtt=2ms")
    assert (inside["rfc-8289"].applies, inside["longest-rtt"].applies) == (False, True)


def test_standards_that_are_numbers() -> None:
    def told(queue: str, over: str) -> dict[str, float]:
        return values(found(SMALL.replace('"20p"', f'"100p"\nqueue = "{queue}"'), over))

    assert told("pie", "link.queue.target=1ms..100ms") == {"rfc-8033": 0.015}
    assert told("fq_pie", "link.queue.update=1ms..100ms") == {"rfc-8033": 0.015}
    assert told("dualpi2", "link.queue.target=1ms..100ms") == {"rfc-9332": 0.015}
    assert told("dualpi2", "link.queue.step=100us..10ms") == {"rfc-9332": 0.001}
    assert told("fq_codel", "link.queue.quantum=300B..9000B") == {"rfc-8290": 1514.0}
    assert told("droptail", "link.rate=1Mbps..9Mbps") == {}
    assert told("codel", "flows.bulk.rtt=10ms..90ms") == {}


@pytest.mark.parametrize(("packet", "window"), [("600B", 4), ("1500B", 3), ("2500B", 2), ("9000B", 2)])
def test_initial_windows(packet: str, window: int) -> None:
    rules_found = found(SMALL.replace('rtt      = "40ms"\npacket   = "1000B"', f'rtt = "40ms"\npacket = "{packet}"'),
                 "flows.bulk.initial_window=1p..40p")  # fmt: skip
    assert values(rules_found) == {"rfc-6928": 10, "rfc-3390": window}


def test_a_gain_follows_from_the_threshold() -> None:
    rules_found = found(SWITCH, "flows.bulk.cca.gain=0.01..0.5")
    assert values(rules_found) == pytest.approx({"rfc-8257": 0.0625, "dctcp-gain": 1.386 / math.sqrt(2 * (70 + 65))})


def test_of_a_buffer_they_are_the_sizing_rules() -> None:
    scenario = Scenario.parse(SMALL)
    requested = {rule.name: rule for rule in rules(scenario.core) if rule.packets is not None}
    in_packets = found(SMALL, "link.buffer=1p..100p")
    assert values(in_packets) == {name: max(1, round(rule.packets)) for name, rule in requested.items()}
    assert {name: rule.applies for name, rule in in_packets.items()} == {n: r.applies for n, r in requested.items()}
    in_time = values(found(SMALL, "link.buffer=1ms..400ms"))
    assert in_time == pytest.approx({name: packets * 0.004 for name, packets in values(in_packets).items()})


def test_every_rule_is_about_a_parameter_that_there_is() -> None:
    known = {
        each.name: {parameter[0] for parameter in each.parameters}
        for each in (*_core.disciplines(), *_core.controllers())
    }
    for family, parameter in RULES:
        for kind in family:
            assert parameter in known[kind], (kind, parameter)


def test_what_a_rule_is_worth_is_read_off_the_curve() -> None:
    scenario = Scenario.parse(
        SWITCH, overrides=["run.warmup=20ms", "run.measure=60ms", 'flows.*.start={ uniform = ["0s", "1ms"] }']
    )
    answer = recommend(scenario, over="link.queue.threshold=2p..50p")
    by_name = {rule.name: rule for rule in answer.rules}
    seventh, tenth = by_name["dctcp-seventh"], by_name["dctcp-10g"]
    assert seventh.buffer.text == "10p"
    assert seventh.between is not None or answer.at(seventh.buffer) is not None
    if seventh.between is not None:
        low, high = seventh.between
        assert low.value < 10 < high.value
        means = [answer.at(end).metrics["utilization"].mean for end in (low, high)]
        share = math.log(10 / low.value) / math.log(high.value / low.value)
        assert seventh.measured["utilization"].mean == pytest.approx(means[0] + share * (means[1] - means[0]))
    assert seventh.rule_verdict.simulated
    # Beyond the range nothing is known.
    assert tenth.buffer.text == "65p"
    assert tenth.measured == {}
    assert not tenth.rule_verdict.simulated
    assert tenth.notes[1] == "not simulated: not in 2p..50p"
    at = answer.setting
    if at is not None and seventh.rule_verdict.times is not None:
        assert seventh.rule_verdict.times == pytest.approx(10 / at.value)
