"""The headroom of a lossless priority group: published values, laws of the sums, and refused arguments."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay
from forebay import Headroom, InputError
from forebay.fabric.headroom import MODELS
from forebay.fabric.headroom_sum import SumBuilder, Term
from forebay.fabric.pfc_timing import PAUSE_QUANTA, SPEED_IN_CABLE
from forebay.fabric.sonic_devices import ASICS, DEVICES, RELEASES
from tests.support.tiers import examples

#: Values that SONiC's plugins themselves gave: Lua 5.1, the language of Redis, ran each release's
#: buffer_headroom_mellanox.lua or buffer_headroom_barefoot.lua on drawn inputs.
PLUGIN_VALUES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "sonic_plugin_values.json").read_text(encoding="utf-8")
)
#: The static table of MSN2700 (sonic-buildimage 086b03bd): rate in Mb/s, cable in m, size, xon, xoff.
MSN2700 = (
    (10000, 5, 49152, 19456, 29696),
    (25000, 5, 49152, 19456, 29696),
    (40000, 5, 49152, 19456, 29696),
    (50000, 5, 49152, 19456, 29696),
    (100000, 5, 50176, 19456, 30720),
    (10000, 40, 49152, 19456, 29696),
    (25000, 40, 51200, 19456, 31744),
    (40000, 40, 52224, 19456, 32768),
    (50000, 40, 53248, 19456, 33792),
    (100000, 40, 58368, 19456, 38912),
    (10000, 300, 56320, 19456, 36864),
    (25000, 300, 67584, 19456, 48128),
    (40000, 300, 78848, 19456, 59392),
    (50000, 300, 86016, 19456, 66560),
    (100000, 300, 123904, 19456, 104448),
)
#: Rates of ports, in Gb/s, for which quanta are published.
RATES = sorted(rate / 1000 for rate in PAUSE_QUANTA if rate >= 10_000)
#: Releases without the compensation of 2 KiB, which may fall as the share of small packets rises.
WITHOUT_COMPENSATION = [name for name, revision in RELEASES.items() if not revision.compensation]


def values(found: Headroom) -> tuple[int, int, int]:
    return found.size, found.xon, found.xoff


# Published values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PLUGIN_VALUES, ids=lambda case: f"{case['rate']}-{case['cable']}")
def test_the_values_are_those_of_the_plugin_of_each_release(case: dict[str, Any]) -> None:
    found = forebay.headroom(case["rate"], case["cable"], **case["arguments"])
    assert values(found) == (case["size"], case["xon"], case["xoff"])


def test_the_plugins_values_cover_every_asic_and_revision() -> None:
    arguments = [case["arguments"] for case in PLUGIN_VALUES]
    assert {each["asic"] for each in arguments} == set(ASICS)
    assert len({RELEASES[each["release"]].date for each in arguments}) == 5
    assert {each["lanes"] == 8 for each in arguments} == {True, False}


@pytest.mark.parametrize("row", MSN2700, ids=lambda row: f"{row[0]}-{row[1]}m")
def test_the_static_table_of_msn2700_follows_the_formula_with_a_constant_response(row: tuple[int, ...]) -> None:
    rate, cable, *expected = row
    found = forebay.headroom(
        f"{rate}Mbps",
        f"{cable}m",
        asic="msn2700",
        release="202411",
        small_packets="100%",
        peer_response="3.8KiB",
    )
    assert list(values(found)) == expected


#: Bytes of the pause quanta of each rate in Mb/s: 905, 905, 453, 394, 147, 118, 80, 67, 2 and 1 quanta of 64 bytes.
RESPONSES = {
    **{800_000: 57_920, 400_000: 57_920, 200_000: 28_992, 100_000: 25_216, 50_000: 9_408},
    **{40_000: 7_552, 25_000: 5_120, 10_000: 4_288, 1_000: 128, 100: 64},
}


@pytest.mark.parametrize("rate", RESPONSES)
@pytest.mark.parametrize("model", ["sonic-mellanox", "ieee"])
def test_the_response_of_the_peer_is_that_of_annex_31b(rate: int, model: str) -> None:
    found = forebay.headroom(f"{rate}Mbps", "5m", model=model, release="202411")
    (part,) = (each for each in found.parts if each.name == "response of the peer")
    assert part.bytes == RESPONSES[rate]
    assert set(RESPONSES) == set(PAUSE_QUANTA)


def test_the_share_of_small_packets_changes_sn5600_as_published() -> None:
    at = {
        share: forebay.headroom("100Gbps", "5m", asic="sn5600", release="202411", small_packets=share)
        for share in ("50%", "100%")
    }
    assert (at["50%"].xoff, at["100%"].xoff) == (47_104, 113_664)


@pytest.mark.parametrize(
    ("rate", "cable", "mtu", "xoff"),
    # (301 + 2.16 L) r + 2.72 MTU, rounded down term by term as the driver does.
    [("100Gbps", "300m", "9100B", 119_652), ("100Gbps", "7m", "1500B", 35_680), ("10Gbps", "1m", "1500B", 16_200)],
)
def test_mlx5_computes_in_whole_numbers_as_the_driver_does(rate: str, cable: str, mtu: str, xoff: int) -> None:
    assert forebay.headroom(rate, cable, mtu=mtu, model="mlx5").xoff == xoff


def test_mlx5_has_one_largest_frame_between_the_thresholds() -> None:
    found = forebay.headroom("100Gbps", "300m", model="mlx5", mtu="1500B")
    xoff_threshold = found.size - found.xoff
    assert 0 <= xoff_threshold - 9216 - found.xon < 128
    assert found.size % 128 == 0


def test_the_standard_adds_its_terms_for_100_gbps_and_300_m() -> None:
    found = forebay.headroom("100Gbps", "300m", model="ieee")
    terms = 9100 + 64 + 3 * 20 + 819.2 + 2 * 300 * 100e9 / SPEED_IN_CABLE / 8 + 394 * 64 + 1024
    assert 0 <= found.xoff - terms < 1
    assert (found.xon, found.size) == (0, found.xoff)


# Laws ------------------------------------------------------------------------------------------------------------


@st.composite
def ports(draw: st.DrawFn, models: tuple[str, ...] = MODELS) -> dict[str, Any]:
    """Arguments that every model accepts."""
    model = draw(st.sampled_from(models))
    vendor = model.removeprefix("sonic-")
    asics = [None, *(name for name, asic in ASICS.items() if asic.vendor == vendor)]
    releases = [name for name in RELEASES if model != "sonic-barefoot" or name >= "202211"]
    return {
        "model": model,
        "rate": f"{draw(st.sampled_from(RATES)):g}Gbps",
        "cable": f"{draw(st.sampled_from([0, 0.5, 3, 40, 300, 2000, 120_000]))}m",
        "mtu": f"{draw(st.integers(64, 9216))}B",
        "lossless_mtu": f"{draw(st.integers(64, 9216))}B",
        "asic": draw(st.sampled_from(asics)),
        "release": draw(st.sampled_from(releases)),
        "small_packets": f"{draw(st.integers(0, 100))}%",
        "lanes": draw(st.sampled_from([None, 1, 4, 8])),
        "over_subscription": draw(st.sampled_from([None, 0, 2])),
        "cell": draw(st.sampled_from([None, "64B", "208B", "254B"])),
    }


@given(ports())
@settings(max_examples=examples(400))
def test_the_parts_add_up_to_the_size(arguments: dict[str, Any]) -> None:
    found = forebay.headroom(**arguments)
    assert sum(part.bytes for part in found.parts) == found.size
    for target, total in (("xoff", found.xoff), ("xon", found.xon)):
        assert sum(part.bytes for part in found.parts if part.of == target) == total
    if arguments["model"] != "mlx5":
        assert all(part.bytes >= 0 for part in found.parts if part.name.startswith("rounding"))
    assert found.rounding == sum(part.bytes for part in found.parts if part.is_rounding) >= 0


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=12))
def test_no_sum_of_the_first_parts_is_half_a_byte_off(amounts: list[float]) -> None:
    builder = SumBuilder()
    builder.add("xoff", [Term("term", amount, "", "") for amount in amounts], round(sum(amounts)), "", "")
    whole = list(itertools.accumulate(part.bytes for part in builder.parts))
    for exact, rounded in zip(itertools.accumulate(amounts), whole, strict=False):
        assert abs(exact - rounded) <= 0.5 + 1e-6


@given(ports(), st.sampled_from(["rate", "cable", "mtu", "lossless_mtu"]))
@settings(max_examples=examples(400))
def test_a_larger_port_needs_no_less_headroom(arguments: dict[str, Any], key: str) -> None:
    if arguments["model"].startswith("sonic-") and arguments["release"] not in WITHOUT_COMPENSATION:
        arguments |= {"release": "202511"}
    # Without quanta for a rate, old releases use one constant for all; newer ones have quanta for all these rates.
    if key == "rate" and arguments["model"] != "ieee":
        arguments |= {"release": "202511", "asic": None if arguments["model"] == "mlx5" else arguments["asic"]}
    ladder = {
        "rate": ["10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps"],
        "cable": ["0m", "5m", "40m", "300m", "0.5km", "2km", "120km"],
        "mtu": ["64B", "1500B", "9100B", "9216B"],
        # SONiC converts a share of packets to a share of bytes, so larger packets dilute the small ones.
        "lossless_mtu": ["64B", "1024B", "4096B"],
    }[key]
    if key == "lossless_mtu":
        arguments |= {"small_packets": "100%"}
    if key == "rate" and arguments["asic"] is None and arguments["model"] == "sonic-mellanox":
        arguments |= {"asic": "spectrum-4"}
    found = [forebay.headroom(**{**arguments, key: each}).xoff for each in ladder]
    assert found == sorted(found)


@given(ports(("sonic-mellanox", "sonic-barefoot", "sonic-vs")))
@settings(max_examples=examples(200))
def test_more_small_packets_need_no_less_headroom_before_the_compensation(arguments: dict[str, Any]) -> None:
    shares = [forebay.headroom(**{**arguments, "small_packets": f"{share}%"}) for share in (0, 10, 33.3, 50, 90, 100)]
    bare = [found.xoff - sum(part.bytes for part in found.parts if part.name == "compensation") for found in shares]
    assert bare == sorted(bare)


def test_the_published_compensation_lets_a_larger_share_need_less() -> None:
    """SONiC 202605 adds 2 KiB below 100 % unless that reaches the worst case, so xoff is not monotone there."""
    shares = [f"{90 + tenth / 10:g}%" for tenth in range(100)]
    found = [forebay.headroom("100Gbps", "300m", asic="spectrum-1", small_packets=share).xoff for share in shares]
    falls = [before - after for before, after in itertools.pairwise(found) if after < before]
    assert falls
    assert max(falls) <= 1024


@given(ports(("sonic-mellanox", "sonic-vs", "mlx5", "ieee")))
@settings(max_examples=examples(300))
def test_no_newer_calculation_is_below_the_physical_minimum(arguments: dict[str, Any]) -> None:
    arguments |= {"release": "master"}
    found = forebay.headroom(**arguments)
    if arguments["model"] == "mlx5":
        # The driver has no frame of a lossless class: it counts 2.72 frames of the port.
        found = forebay.headroom(**{**arguments, "lossless_mtu": arguments["mtu"]})
    assert found.xoff >= found.physical_minimum
    assert found.warnings == ()


def test_an_old_release_is_below_the_physical_minimum_for_a_long_cable() -> None:
    """Old plugins divide the bytes on the cable by 1,024 where 1,000 is meant, so they count 2.3 % less of them."""
    found = forebay.headroom("400Gbps", "40km", asic="spectrum-3", release="202305", small_packets="0%")
    assert found.xoff < found.physical_minimum
    assert "below the physical minimum" in found.warnings[0]


def test_the_physical_minimum_is_the_cable_and_two_frames() -> None:
    found = forebay.headroom("100Gbps", "300m", mtu="9100B", lossless_mtu="1024B")
    assert 0 <= found.physical_minimum - (2 * 300 * 100e9 / 198e6 / 8 + 9100 + 1024) < 1


@pytest.mark.parametrize(("name", "value"), [("shared_pool", "1MiB"), ("over_subscription", 2)])
def test_a_shared_pool_holds_the_headroom_outside_of_the_size(name: str, value: Any) -> None:
    own = forebay.headroom("100Gbps", "300m", asic="spectrum-4", release="202411")
    pooled = forebay.headroom("100Gbps", "300m", asic="spectrum-4", release="202411", **{name: value})
    assert (pooled.size, pooled.xoff) == (pooled.xon, own.xoff)
    assert own.size == own.xon + own.xoff


@pytest.mark.parametrize(("name", "value"), [("shared_pool", "0B"), ("over_subscription", 0)])
def test_a_pool_of_zero_is_no_pool(name: str, value: Any) -> None:
    arguments: dict[str, Any] = {name: value}
    assert values(forebay.headroom("100Gbps", "300m", **arguments)) == values(forebay.headroom("100Gbps", "300m"))


def test_a_port_of_8_lanes_reserves_a_second_pipeline_latency_and_a_frame() -> None:
    four, eight = (
        forebay.headroom("100Gbps", "5m", asic="spectrum-3", release="202411", lanes=lanes) for lanes in (4, 8)
    )
    assert eight.xoff == four.xoff
    assert eight.xon == 2 * four.xon
    assert eight.size - four.size == 19 * 1024 + 9 * 1024


@pytest.mark.parametrize("asic", ["spectrum-1", "spectrum-3", "spectrum-4", "spectrum-6", "vs"])
@pytest.mark.parametrize("rate", ["1Gbps", "10Gbps", "100Gbps", "400Gbps", "800Gbps"])
@pytest.mark.parametrize("share", ["0%", "50%", "100%"])
def test_no_release_needs_more_than_the_release_of_the_default(asic: str, rate: str, share: str) -> None:
    found = forebay.headroom(rate, "300m", asic=asic, small_packets=share)
    of_releases = {
        release: forebay.headroom(rate, "300m", asic=asic, small_packets=share, release=release).xoff
        for release in RELEASES
    }
    assert found.xoff == max(of_releases.values())
    assert found.release == max(release for release, xoff in of_releases.items() if xoff == found.xoff)
    assert any("needs the most memory" in text for text in found.assumptions)


def test_a_given_release_is_used_and_not_assumed() -> None:
    found = forebay.headroom("100Gbps", "300m", asic="spectrum-4", release="master")
    assert (found.release, found.xoff) == ("master", 95_232)
    assert not any("needs the most memory" in text for text in found.assumptions)


@pytest.mark.parametrize(
    ("asic", "rate", "xon"),
    [
        ("spectrum-3", "400Gbps", 38912),
        ("spectrum-4", "800Gbps", 38912),
        ("spectrum-5", "800Gbps", 38912),
        ("spectrum-4", "400Gbps", 19456),
        ("spectrum-6", "800Gbps", 43008),
    ],
)
def test_a_rate_that_an_asic_has_only_with_8_lanes_has_8_lanes(asic: str, rate: str, xon: int) -> None:
    """The static tables of SN4700, SN5600 and SN6810 have these values; SONiC gives SN5640 the lanes of SN5600."""
    assert forebay.headroom(rate, "40m", asic=asic, release="202411").xon == xon


def test_the_gearbox_of_a_device_is_counted_in_both_directions() -> None:
    bare, device = (
        forebay.headroom("100Gbps", "5m", asic=asic, release="202411") for asic in ("spectrum-2", "msn3800")
    )
    (part,) = (each for each in device.parts if each.name.startswith("gearbox"))
    assert part.bytes == round(2 * 100_000 * 400 / 8192)
    assert device.xoff > bare.xoff


def test_a_rate_without_quanta_has_the_constant_of_the_asic() -> None:
    found = forebay.headroom("2.5Gbps", "5m", asic="spectrum-2")
    (part,) = (each for each in found.parts if each.name == "response of the peer")
    assert (part.bytes, part.formula) == (3891, "3.8 KiB")
    assert any("no pause quanta" in text for text in found.assumptions)


# Arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_has_its_asic(device: str) -> None:
    assert forebay.headroom("100Gbps", "5m", asic=device).device == DEVICES[device].asic


@pytest.mark.parametrize("name", ["spectrum-4", "Spectrum-4", "spectrum4", "SPC4", "MELLANOX-SPECTRUM-4", "SN5600"])
def test_an_asic_is_known_by_its_usual_names(name: str) -> None:
    assert forebay.headroom("100Gbps", "5m", asic=name).device == "spectrum-4"
    assert forebay.headroom("100Gbps", "5m", asic="MELLANOX-SPECTRUM").device == "spectrum-1"


def test_an_asic_decides_the_model() -> None:
    assert forebay.headroom("100Gbps", "5m", asic="tofino-2").model == "sonic-barefoot"
    assert forebay.headroom("100Gbps", "5m", asic="SN5600").model == "sonic-mellanox"


def test_without_an_asic_the_answer_names_the_one_that_it_assumes() -> None:
    found = forebay.headroom("200Gbps", "5m")
    assert found.device == "spectrum-2"
    assert any("spectrum-2, the first generation" in text for text in found.assumptions)


def test_the_other_published_calculations_stand_beside_the_answer() -> None:
    found = forebay.headroom("100Gbps", "300m", asic="spectrum-4", release="202305")
    names = [each.name for each in found.others]
    assert "SONiC 202605 master" in names
    assert {"ieee", "mlx5"} <= set(names)
    assert not any("202305" in name for name in names)


@pytest.mark.parametrize(
    ("arguments", "name", "allowed"),
    [
        ({"rate": "100"}, "rate", "bps"),
        ({"rate": "1kbps"}, "rate", "100Mbps to 10Tbps"),
        ({"rate": "100.5Mbps"}, "rate", "whole Mb/s"),
        ({"cable": "300"}, "cable", "300m or 0.5km"),
        ({"cable": "-5m"}, "cable", "0m to 1000km"),
        ({"cable": "1e9m"}, "cable", "0m to 1000km"),
        ({"cable": "5ft"}, "cable", "0m to 1000km"),
        ({"mtu": "10B"}, "mtu", "64B to 65535B"),
        ({"lossless_mtu": "1MB"}, "lossless_mtu", "64B to 65535B"),
        ({"model": "iee"}, "model", "ieee"),
        ({"asic": "spectrum-9"}, "asic", "spectrum-6"),
        ({"asic": "tofino-2", "model": "sonic-mellanox"}, "asic", "sonic-barefoot"),
        ({"asic": "tofino-2", "release": "202111"}, "release", "202211"),
        ({"release": "202399"}, "release", "202305"),
        ({"small_packets": "101%"}, "small_packets", "0% to 100%"),
        ({"lanes": 0}, "lanes", "1 to 16"),
        ({"lanes": "eight"}, "lanes", "1 to 16"),
        ({"gearbox_delay": "2s"}, "gearbox_delay", "0ns to 1s"),
        ({"over_subscription": -1}, "over_subscription", "0 to 1000"),
        ({"cell": "0B"}, "cell", "1B to 65536B"),
        ({"peer_response": "3.8"}, "peer_response", "3.8KiB"),
        ({"mac_phy_delay": "nan"}, "mac_phy_delay", "KiB"),
        ({"rate": "2.5Gbps", "model": "ieee"}, "rate", "100Gbps"),
    ],
)
def test_a_wrong_argument_is_one_line_with_the_allowed_values(
    arguments: dict[str, Any], name: str, allowed: str
) -> None:
    with pytest.raises(InputError) as caught:
        forebay.headroom(**{"rate": "100Gbps", "cable": "300m", **arguments})
    assert caught.value.argument == name
    assert caught.value.text.startswith(("found", "unknown"))
    assert allowed in caught.value.text
    assert "\n" not in caught.value.text


@pytest.mark.parametrize("text", ["300m", "300 m", " 300m ", "0.3km", "0.3 km", "30000cm", "3e2m"])
def test_a_length_has_a_unit(text: str) -> None:
    assert forebay.headroom("100Gbps", text).cable_m == 300


def test_the_answer_is_frozen() -> None:
    found = forebay.headroom("100Gbps", "300m")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.xoff = 0  # type: ignore[misc]
