"""One port of a SONiC switch: its queues, its part of the shared memory, and what a scenario cannot say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay
from forebay.configuration.configuring import configure, fit, link_table
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Classes, Discipline, Limit, Port, Queue, differences
from forebay.errors import InputError
from tests.support.tiers import examples

SONIC = PLATFORMS["sonic"]


def tables() -> dict[str, Any]:
    """Two ports: one with a single queue that is marked, one with a lossless and a lossy queue."""
    return {
        "PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "25000"}},
        "BUFFER_POOL": {"pool": {"type": "egress", "mode": "dynamic", "size": "12000000"}},
        "BUFFER_PROFILE": {
            "marked": {"pool": "pool", "size": "1500", "dynamic_th": "-1"},
            "lossy": {"pool": "pool", "size": "0", "dynamic_th": "3"},
        },
        "BUFFER_QUEUE": {"Ethernet0,Ethernet4|3": {"profile": "marked"}, "Ethernet4|0": {"profile": "lossy"}},
        "WRED_PROFILE": {
            "step": {
                "wred_green_enable": "true",
                "ecn": "ecn_all",
                "green_min_threshold": "90000",
                "green_max_threshold": "90000",
                "green_drop_probability": "100",
            }
        },
        "QUEUE": {"Ethernet0|3": {"wred_profile": "step"}, "Ethernet4|3": {"wred_profile": "step"}},
        "PORT_QOS_MAP": {"Ethernet4": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
    }  # fmt: skip


def read(port: str | None = None) -> forebay.Translation:
    return forebay.translate(json.dumps(tables()), "sonic", port=port)


def test_a_marked_queue_with_a_dynamic_threshold_has_a_part_of_the_shared_memory() -> None:
    port = read("Ethernet0").port
    assert isinstance(port.queue, Queue)
    assert port.queue.discipline.kind == "step"
    assert (port.memory, port.memory_alpha, port.memory_reserved) == (
        Limit(12_000_000, "bytes"), 0.5, Limit(1500, "bytes")
    )  # fmt: skip


def test_the_table_of_such_a_port_is_a_scenario() -> None:
    text = link_table(read("Ethernet0").port)
    flows = '[[flows]]\nname = "long"\ncount = 2\nrtt = "1ms"\necn = true\n[run]\nmeasure = "1s"\n'
    port = Port.of(forebay.Scenario.parse(f"{text}\n{flows}", "toml"))
    assert (port.memory, port.memory_alpha, port.memory_reserved) == (
        Limit(12_000_000, "bytes"), 0.5, Limit(1500, "bytes")
    )  # fmt: skip
    assert port.kind == "step"


def test_the_speed_of_the_port_is_the_rate_on_the_wire() -> None:
    port = read("Ethernet4").port
    assert (port.rate, port.layer) == (25_000_000_000, "l1")
    assert forebay.translate(json.dumps(tables()), "sonic", port="Ethernet4", rate="10Gbps").port.rate == 10**10


def test_the_queues_of_the_chosen_port_are_read_and_the_rest_is_named() -> None:
    found = read("Ethernet4")
    assert isinstance(found.port.queue, Classes)
    kinds = [(entry.name, entry.queue.discipline.kind) for entry in found.port.queue.classes]
    assert kinds == [("queue3", "step"), ("queue0", "dynamic_threshold")]
    assert any(text.startswith("PFC of priority 3") for text in found.unsimulated)
    assert "the PFC watchdog" in found.unsimulated
    assert any(text.startswith("dynamic_th -1 of a class beside WRED") for text in found.unsimulated)


def test_an_unknown_port_is_an_error_with_the_ports() -> None:
    with pytest.raises(InputError, match="found no queue of `Ethernet5`; allowed: Ethernet0, Ethernet4; did you mean"):
        read("Ethernet5")


POWERS = st.integers(-8, 7).map(lambda power: 2.0**power)
SIZES = st.integers(1, 2**40)


@settings(max_examples=examples(200), deadline=None)
@given(POWERS, SIZES, st.one_of(st.none(), SIZES), SIZES, SIZES, st.integers(1, 100), st.booleans(), st.booleans())
def test_what_is_written_of_a_shared_memory_is_read_back(
    alpha: float, pool: int, reserved: int | None, least: int, more: int, percent: int, marks: bool, is_step: bool
) -> None:
    levels = {"min": Limit(least, "bytes"), "max": Limit(least + more, "bytes"), "max_p": percent / 100}
    rest = {"weight": 1.0, "gentle": False, "adaptive": False, "bottom": 0.01, "top": 0.5, "wait": False}
    step = Discipline("step", {"threshold": Limit(least, "bytes"), "others": "drop"}, ecn=True)
    discipline = step if is_step else Discipline("red", {**levels, **rest}, ecn=marks)
    memory = Limit(pool, "bytes")
    part = None if reserved is None else Limit(reserved, "bytes")
    port = Port(10**11, 1500, Queue(memory, discipline), memory=memory, memory_alpha=alpha, memory_reserved=part)
    fitted = fit(SONIC, port).port
    assert list(differences(port, fitted)) == []
    back = SONIC.read("\n".join(SONIC.write(fitted)), Assumed()).port
    assert list(differences(fitted, back)) == []
    assert fit(SONIC, back).port == back


def test_a_threshold_of_the_memory_becomes_a_power_of_two_and_is_reported() -> None:
    memory, step = Limit(10**6, "bytes"), {"threshold": Limit(90_000, "bytes"), "others": "drop"}
    queue = Queue(memory, Discipline("step", step, ecn=True))
    port = Port(10**10, 1500, queue, memory=memory, memory_alpha=0.3)
    configuration = configure(SONIC, port)
    assert any(note.startswith("memory_alpha: simulated 0.3, configured 0.5") for note in configuration.notes)
    assert json.loads("\n".join(configuration.lines))["BUFFER_PROFILE"]["forebay"]["dynamic_th"] == "-1"


@pytest.mark.parametrize("threshold", ["dynamic", "abm", "fab", "lqd"])
def test_a_threshold_that_no_switch_has_is_reported(threshold: str) -> None:
    alpha = "" if threshold == "lqd" else "memory_alpha = 0.5\n"
    scenario = forebay.Scenario.parse(
        f"""
        [[memories]]
        name = "chip"
        size = "1MB"
        threshold = "{threshold}"
        [link]
        rate = "10Gbps"
        buffer = "1MB"
        memory = "chip"
        {alpha}
        [[flows]]
        rtt = "100us"
        """
    )
    told = [note for note in configure(SONIC, Port.of(scenario)).notes if "which no platform has" in note]
    assert len(told) == (threshold != "dynamic")
    assert all(f"`{threshold}`" in note for note in told)


@pytest.mark.parametrize("name", ["nx-os", "routeros", "junos"])
def test_a_platform_without_a_shared_memory_says_so(name: str) -> None:
    port = Port(
        10**9,
        1500,
        Queue(Limit(10**6, "bytes"), Discipline("droptail")),
        memory=Limit(10**6, "bytes"),
        memory_alpha=1.0,
    )
    assert any(
        note.startswith("memory_alpha: simulated 1, configured none") for note in configure(PLATFORMS[name], port).notes
    )
