"""A lossless port for SONiC, EOS and NX-OS: the units of each, and lines that read back as the same port."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay import InputError, Scenario, audit
from forebay.configuration.configuring import configure, fit, link_table, translate
from forebay.configuration.lossless import Lossless
from forebay.configuration.platforms.nx_os import CELL
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import PLATFORMS
from forebay.configuration.port import Discipline, Limit, Port, Queue, differences
from tests.support.commands import forebay
from tests.support.lossless import PORT
from tests.support.tiers import examples

#: The platforms with lines for PFC, and the levels that each of them has.
LEVELS = {
    "sonic": ("xoff", "xon", "headroom"),
    "nx-os": ("xoff", "xon", "headroom"),
    "eos-trident": ("headroom",),
    "eos": (),
}


@st.composite
def ports(draw: st.DrawFn) -> Port:
    """A lossless port whose queue marks, with or without a shared memory."""
    xoff = draw(st.integers(1, 2**24))
    lossless = Lossless(xoff, draw(st.integers(0, xoff)), draw(st.integers(0, 2**24)))
    least = draw(st.integers(1, 2**20))
    values = {"min": Limit(least, "bytes"), "max": Limit(least + draw(st.integers(1, 2**20)), "bytes"), "max_p": 0.05}
    red = {**values, "weight": 1.0, "gentle": False, "adaptive": False, "wait": False, "bottom": 0.01, "top": 0.5}
    step = Discipline("step", {"threshold": Limit(least, "bytes"), "others": "drop"}, ecn=True)
    discipline = draw(st.sampled_from([step, Discipline("red", red, ecn=True)]))
    pool = draw(st.integers(10**5, 2**27))
    port = Port(10**11, 1500, Queue(Limit(pool, "bytes"), discipline), lossless=lossless)
    if draw(st.booleans()):
        alpha = 2.0 ** draw(st.integers(-7, 7))
        reserved = draw(st.one_of(st.none(), st.integers(1, pool)))
        memory = None if reserved is None else Limit(reserved, "bytes")
        port = dataclasses.replace(port, memory=Limit(pool, "bytes"), memory_alpha=alpha, memory_reserved=memory)
    return port


@pytest.mark.parametrize("system", list(LEVELS))
@settings(max_examples=examples(100), deadline=None)
@given(ports())
def test_what_is_written_of_a_lossless_port_is_read_back(system: str, port: Port) -> None:
    platform = PLATFORMS[system]
    fitted = fit(platform, port).port
    assert fit(platform, fitted).port == fitted
    back = platform.read("\n".join(platform.write(fitted)), Assumed()).port
    assert list(differences(fitted, back)) == []
    assert back.lossless == fitted.lossless
    assert fitted.lossless is not None
    assert port.lossless is not None
    for name in ("xoff", "xon", "headroom"):
        requested, found = getattr(port.lossless, name), getattr(fitted.lossless, name)
        if name not in LEVELS[system]:
            assert found is None
        else:
            assert 0 <= found - requested < (CELL if system == "nx-os" else 1)


@pytest.mark.parametrize("system", list(LEVELS))
def test_each_difference_of_a_level_is_noted_with_both_figures(system: str) -> None:
    notes = configure(PLATFORMS[system], Port.of(Scenario.parse(PORT))).notes
    for name, size in (("xoff", 60_000), ("xon", 30_000), ("headroom", 70_000)):
        found = [note for note in notes if note.startswith(f"{name}: simulated {size:,} bytes, configured ")]
        assert len(found) == (system == "nx-os" or name not in LEVELS[system]), name


def test_nx_os_counts_cells_and_its_buffer_holds_xoff_and_headroom() -> None:
    lines = configure(PLATFORMS["nx-os"], Port.of(Scenario.parse(PORT))).lines
    assert "    pause buffer-size 130208 pause-threshold 60112 resume-threshold 30160" in lines
    assert [line.strip() for line in lines if "pfc-cos" in line] == ["pause pfc-cos 3"]
    assert all(number % CELL == 0 for number in (130_208, 60_112, 30_160))
    assert "  class type queuing c-out-8q-q3" in lines


def test_published_pause_lines_of_nx_os_are_whole_cells() -> None:
    text = (
        "class type queuing c-in-q3\n  pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320\n"
        "policy-map type queuing OUT\n  class type queuing c-out-8q-q3\n    queue-limit 1000000 bytes\n"
        "interface Ethernet1/1\n  service-policy type queuing output OUT\n"
    )
    port = translate(text, "nx-os", Assumed(10**11)).port
    assert port.lossless == Lossless(46_800, 34_320, 55_120)
    assert fit(PLATFORMS["nx-os"], port).port.lossless == port.lossless


def test_a_pause_threshold_above_the_buffer_is_an_error() -> None:
    with pytest.raises(InputError, match="line 1: found a pause-threshold of 500 above the buffer-size; allowed: up"):
        translate("pause buffer-size 400 pause-threshold 500 resume-threshold 300", "nx-os", Assumed(10**10))


def test_an_audit_of_the_lines_for_sonic_has_the_same_headroom(tmp_path: Path) -> None:
    path = tmp_path / "config_db.json"
    tables = json.loads("\n".join(configure(PLATFORMS["sonic"], Port.of(Scenario.parse(PORT))).lines))
    tables["PORT"] = {"Ethernet0": {"speed": "100000", "mtu": "1500"}}
    tables["CABLE_LENGTH"] = {"AZURE": {"Ethernet0": "300m"}}
    tables["BUFFER_POOL"]["ingress_lossless_pool"] = {"type": "ingress", "mode": "static", "size": "9000000"}
    path.write_text(json.dumps(tables), encoding="utf-8")
    found = audit(path)
    # One sender alone has less waiting than the ECN threshold of the queue, which sixteen fill.
    assert {each.kind for each in found.errors} == {"ecn-after-pause"}
    pool = next(each for each in found.pools if each.pool == "ingress_lossless_pool")
    assert pool.headroom == 70_000


def test_a_dynamic_threshold_of_a_lossless_group_is_not_simulated() -> None:
    tables = json.loads("\n".join(configure(PLATFORMS["sonic"], Port.of(Scenario.parse(PORT))).lines))
    group = tables["BUFFER_PROFILE"]["forebay_lossless"]
    del group["static_th"]
    group["dynamic_th"] = "0"
    found = translate(json.dumps(tables), "sonic", Assumed())
    assert found.port.lossless is None
    assert "PFC of priority 3: pause frames and their headroom" in found.unsimulated


@pytest.mark.parametrize("system", sorted(set(PLATFORMS) - set(LEVELS)))
def test_other_platforms_say_that_pfc_is_not_part_of_their_lines(system: str) -> None:
    platform = PLATFORMS[system]
    kind = "droptail" if "droptail" in platform.disciplines else "codel"
    parameters = {"target": 0.005, "interval": 0.1} if kind == "codel" else {}
    queue = Queue(Limit(10**6, "bytes"), Discipline(kind, parameters))
    if kind != "droptail":
        pytest.skip("no queue without a discipline")
    notes = configure(platform, Port(10**9, 1500, queue, lossless=Lossless(1, 1, 1))).notes
    assert any(note.startswith("pfc: simulated on, configured none") for note in notes)


def test_the_link_table_of_a_lossless_port_is_read_as_the_same_port() -> None:
    port = Port.of(Scenario.parse(PORT))
    rest = textwrap.dedent(
        """
        [[flows]]
        name = "servers"
        ecn  = true
        rtt  = "20us"
        access = { rate = "100Gbps" }
        workload = { incast = { servers = 2, size = "30kB", pause = "1ms" } }
        [run]
        warmup  = "0s"
        measure = "1ms"
        """
    )
    again = Port.of(Scenario.parse(link_table(port) + rest))
    assert again.lossless == port.lossless == Lossless(60_000, 30_000, 70_000)
    unknown = dataclasses.replace(port, lossless=Lossless(headroom=70_000))
    assert '# pfc = { xoff = "", xon = "", headroom = "70kB" }' in link_table(unknown)


def test_recommend_writes_the_sized_port_for_three_vendors(tmp_path: Path) -> None:
    path = tmp_path / "port.toml"
    path.write_text(PORT, encoding="utf-8")
    done = forebay("recommend", path, "--quick", "--fresh", "--json", *(f"--for={name}" for name in LEVELS))
    data = json.loads(done.out)
    headroom = data["recommendation"]["headroom"]
    texts = {each["system"]: "\n".join(each["lines"]) for each in data["configurations"]}
    assert f'"xoff": "{headroom}"' in texts["sonic"]
    assert f"ingress headroom bytes {headroom}" in texts["eos-trident"]
    assert "priority-flow-control priority 3 no-drop" in texts["eos"]
    assert "pause pfc-cos 3" in texts["nx-os"]
