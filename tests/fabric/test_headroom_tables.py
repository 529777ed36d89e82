"""A device's headroom table: reading, rows as answers, estimates beyond the rows, and what is implausible in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay
from forebay import InputError
from forebay.fabric.lookup_table import MOST_BYTES, MOST_ROWS, LookupTable, parse_table, read_table
from forebay.fabric.pfc_timing import round_trip
from forebay.fabric.table_audit import audit_table
from forebay.fabric.table_fit import fit_of_rate, fit_of_table, step_of
from tests.support.tiers import examples

#: Rows of Nokia IXR7220-D4 (sonic-buildimage 086b03bd), whose values are multiples of 318 bytes.
NOKIA = """# PG lossless profiles.
# speed cable size xon  xoff  threshold xon_offset
 100000 5m    1272 2544 75366  0        2544
 100000 40m   1272 2544 81726  0        2544
 100000 100m  1272 2544 89040  0        2544
 100000 300m  1272 2544 117978 0        2544
 400000 5m    1272 2544 154548 0        2544
 400000 300m  1272 2544 325632 0        2544
"""
#: Two rows of MSN2700, in which the size is xon + xoff.
MELLANOX = "100000 40m 58368 19456 38912 0\n100000 300m 123904 19456 104448 0\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "pg_profile_lookup.ini"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def kinds(table: LookupTable) -> list[str]:
    return [finding.kind for finding in audit_table(table)]


# Reading ---------------------------------------------------------------------------------------------------------


def test_a_row_of_the_table_is_the_answer_and_the_formula_stands_beside_it() -> None:
    found = forebay.headroom("100Gbps", "300m", table=parse_table(NOKIA), release="202411")
    assert (found.model, found.size, found.xon, found.xoff) == ("table", 1272, 2544, 117_978)
    assert sum(part.bytes for part in found.parts) == found.size
    assert found.formula is not None
    assert found.formula == forebay.headroom("100Gbps", "300m", release="202411")
    assert found.table is not None
    assert found.table.row is not None
    assert found.table.row.line == 6
    assert found.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "100000 40m 58368 19456 38912 0",
        "\t100000\t40m\t58368\t19456\t38912\t0\t",
        "100000   40 m  58368 19456 38912 0 ",
        "100000 0.04km 58368 19456 38912 0",
        "100000 40.0m 58368 19456 38912 0 # a comment",
        "\ufeff# speed cable\r\n\r\n100000 40m 58368 19456 38912 0\r\n",
        "; nonsense\n100000 40m 58368 19456 38912 0",
        "# cable speed xoff xon size threshold\n40m 100000 38912 19456 58368 0",
        "#speed cable size xon xoff threshold xon_offset\n100000 40m 58368 19456 38912 0",
        "100000 40m 1 1 1 0\n100000 40m 58368 19456 38912 0",
    ],
)
def test_a_row_is_read_in_every_spelling(text: str) -> None:
    row = parse_table(text).row(100_000, 40.0)
    assert row is not None
    assert (row.size, row.xon, row.xoff, row.threshold, row.xon_offset) == (58_368, 19_456, 38_912, 0, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("100000 40m 58368", "found 3 columns"),
        ("100000 40m 58368 19456 38912 0 0 0", "found 8 columns"),
        ("100000 40 58368 19456 38912 0", "cable: found `40`"),
        ("fast 40m 58368 19456 38912 0", "speed: found `fast`"),
        ("100000 -40m 58368 19456 38912 0", "cable: found `-40m`"),
        ("100000 40m -58368 19456 38912 0", "size: found `-58368`"),
        ("100000 40m 58368 19456 3.5 0", "xoff: found `3.5`"),
        ("100000 40m 58368 19456 99999999999999999999 0", "xoff: found"),
        (f"100000 40m {'9' * 5000} 19456 38912 0", "size: found"),
        ("0 40m 58368 19456 38912 0", "speed: found `0`"),
        ("100000 40m 58368 19456 38912 0 -1", "xon_offset: found `-1`"),
        ("100000 40m 58368 19456 \x1b[31m38912 0", "xoff: found `\\x1b[31m38912`"),
    ],
)
def test_a_broken_row_is_one_line_and_the_others_are_used(line: str, reason: str) -> None:
    table = parse_table(f"{line}\n{MELLANOX}")
    assert len(table.rows) == 2
    (text,) = table.broken
    assert text.startswith("line 1: ")
    assert reason in text
    assert "allowed" in text
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"# speed cable size xon xoff threshold\n",
        b"\x00" * 1000,
        bytes(range(256)),
        "größe".encode("latin-1"),
        b"nonsense\n" * 10,
        b"100000 40m 58368 19456 38912 0\n" * (MOST_ROWS + 1),
        b"100000 40m 58368 19456 38912 0\n" * 10**6,
        b"100000 40m -1 -1 -1 0\n",
        b"1e99 1e99m 1e99 1e99 1e99 1e99\n",
        b"#" * (MOST_BYTES + 1),
        "100000\u00a040m\u202858368".encode(),
    ],
    ids=["empty", "lines", "comment", "zeros", "bytes", "latin", "words", "rows", "million", "negative", "huge", "long",
         "spaces"],
)  # fmt: skip
def test_a_hostile_table_ends_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert "allowed" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_the_later_of_two_rows_for_one_port_is_used() -> None:
    table = parse_table(f"100000 40m 1 1 1 0\n{MELLANOX}")
    assert [row.line for row in table.replaced] == [1]
    assert "replaced" in kinds(table)


@given(st.text(max_size=400))
@settings(max_examples=examples(300))
def test_any_text_is_a_table_or_one_error(text: str) -> None:
    try:
        found = parse_table(text).broken
    except InputError as error:
        found = (str(error),)
    assert all("\n" not in line for line in found)


# Estimates -------------------------------------------------------------------------------------------------------


def test_a_cable_that_the_table_lacks_is_an_estimate_that_says_so() -> None:
    found = forebay.headroom("100Gbps", "200m", table=parse_table(NOKIA))
    assert found.table is not None
    assert found.table.row is None
    assert found.table.fit == fit_of_rate(parse_table(NOKIA), 100_000)
    assert "estimate" in found.warnings[0]
    assert "no row for 200 m" in found.table.extrapolated[0]
    assert 89_040 < found.xoff < 117_978
    assert found.xoff % 318 == 0


def test_an_estimate_is_the_line_raised_by_its_error_and_rounded_up_to_the_step() -> None:
    table = parse_table(NOKIA)
    fit = fit_of_rate(table, 100_000)
    assert fit is not None
    line = fit.at(round_trip(100_000, 200)) + fit.largest_shortfall
    assert 0 <= forebay.headroom("100Gbps", "200m", table=table).xoff - line < 318


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=6))
@settings(max_examples=examples(100))
def test_no_row_is_above_a_line_that_its_largest_shortfall_has_raised(amounts: list[int]) -> None:
    text = "\n".join(f"100000 {10 * number}m 0 0 {xoff} 0" for number, xoff in enumerate(amounts, start=1))
    table = parse_table(text)
    fit = fit_of_rate(table, 100_000)
    assert fit is not None
    for row in table.rows:
        assert fit.at(round_trip(row.rate_mbps, row.cable_m)) + fit.largest_shortfall >= row.xoff - 1e-3
    distances = [abs(fit.at(round_trip(row.rate_mbps, row.cable_m)) - row.xoff) for row in table.rows]
    assert fit.largest_error is None or fit.largest_error == pytest.approx(max(distances), abs=1e-3)


def test_a_rate_that_the_table_lacks_has_the_line_of_all_rates() -> None:
    found = forebay.headroom("200Gbps", "300m", table=parse_table(NOKIA))
    assert found.table is not None
    assert found.table.fit == fit_of_table(parse_table(NOKIA))
    assert "no row for 200 Gb/s" in found.table.extrapolated[0]


def test_a_cable_outside_of_the_table_is_named() -> None:
    found = forebay.headroom("100Gbps", "2km", table=parse_table(NOKIA))
    assert found.table is not None
    assert any("outside of the table's 5 m to 300 m" in text for text in found.table.extrapolated)


def test_the_unit_is_the_greatest_common_divisor_or_the_given_cell() -> None:
    assert step_of(parse_table(NOKIA)) == 318
    assert step_of(parse_table(MELLANOX)) == 1024 * 2
    flat = parse_table("10000 5m 1270 0 190500 -2 2540\n10000 40m 1270 0 190500 -2 2540\n")
    assert step_of(flat) == 1270
    assert forebay.headroom("100Gbps", "200m", table=parse_table(NOKIA), cell="1000B").xoff % 1000 == 0


def test_the_size_of_an_estimate_keeps_its_relation_to_xon_and_xoff() -> None:
    found = forebay.headroom("100Gbps", "100m", table=parse_table(MELLANOX))
    assert found.size == found.xon + found.xoff
    assert forebay.headroom("100Gbps", "200m", table=parse_table(NOKIA)).size == 1272


@pytest.mark.parametrize(
    ("row", "rate", "cable", "size"),
    [
        ("100000 40m 0 0 183263 -6 363506", "10Gbps", "5m", 0),
        ("100000 5m 1248 2288 165568 0", "100Gbps", "300m", 1248),
        ("100000 5m 1248 2288 165568 0", "10Gbps", "5m", 1248),
        ("800000 5m 8636 0 724662 0 3556", "10Gbps", "5m", 8636),
        ("800000 5m 8636 0 724662 0 3556", "400Gbps", "500m", 8636),
        ("100000 40m 19456 19456 49152 0", "100Gbps", "300m", 19_456),
    ],
    ids=["5010", "7050SX3-long", "7050SX3-slow", "7060X6-slow", "7060X6-long", "shared-pool"],
)
def test_a_size_without_xoff_stays_as_in_the_table(row: str, rate: str, cable: str, size: int) -> None:
    found = forebay.headroom(rate, cable, table=parse_table(row))
    assert found.size == size
    assert sum(part.bytes for part in found.parts) == size


def test_a_size_that_includes_xoff_and_a_constant_follows_xoff() -> None:
    """Rows of Trident 2, in which the size is xoff + 1,248."""
    table = parse_table("100000 40m 53872 18432 52624 -1\n100000 300m 92976 18432 91728 -1\n")
    found = forebay.headroom("100Gbps", "200m", table=table)
    assert found.size == found.xoff + 1248


@pytest.mark.parametrize(
    ("rows", "cable", "reason"),
    [
        ("100000 5m 56368 18432 55120 -3\n100000 300m 56368 18432 55120 -3\n", "2km", "does not show whether"),
        ("100000 5m 18796 0 445770 0\n100000 30m 8636 0 445770 0\n", "300m", "2 sizes that do not follow xoff"),
        ("100000 5m 0 0 0 0\n", "300m", "does not show whether"),
    ],
    ids=["one-xoff", "two-sizes", "zeros"],
)
def test_a_size_that_the_table_does_not_show_is_unknown(rows: str, cable: str, reason: str) -> None:
    found = forebay.headroom("100Gbps", cable, table=parse_table(rows))
    assert found.size is None
    assert "size unknown" in str(found)
    assert found.to_dict()["size"] is None
    assert found.table is not None
    assert reason in (found.table.size_unknown or "")
    assert any(reason in warning for warning in found.warnings)


_SIZED = st.lists(
    st.tuples(st.sampled_from([10_000, 100_000]), st.sampled_from([5, 300]), *[st.integers(0, 10**6)] * 3),
    min_size=1,
    max_size=4,
    unique_by=lambda row: row[:2],
)


@given(_SIZED, st.sampled_from(["1Gbps", "10Gbps", "800Gbps"]), st.sampled_from(["1m", "40m", "3km"]))
@settings(max_examples=examples(300))
def test_a_size_is_one_of_the_table_or_not_below_xon(
    rows: list[tuple[int, int, int, int, int]], rate: str, cable: str
) -> None:
    table = parse_table("\n".join(f"{speed} {meters}m {a} {b} {c} 0" for speed, meters, a, b, c in rows))
    found = forebay.headroom(rate, cable, table=table)
    if found.size is not None:
        assert found.size >= found.xon or found.size in {row.size for row in table.rows}
        assert found.size >= 0


def test_the_error_of_a_line_through_two_rows_is_not_known() -> None:
    fit = fit_of_rate(parse_table(MELLANOX), 100_000)
    assert fit is not None
    assert fit.largest_error is None
    found = forebay.headroom("100Gbps", "100m", table=parse_table(MELLANOX))
    assert found.table is not None
    assert any("error is not known" in text for text in found.table.extrapolated)


def test_one_row_has_a_slope_of_one_byte_for_each_byte_on_the_cable() -> None:
    table = parse_table("100000 40m 58368 19456 38912 0")
    assert fit_of_rate(table, 100_000) is None
    assert fit_of_table(table).slope == 1
    assert forebay.headroom("100Gbps", "50m", table=table).xoff >= 38_912 + round_trip(100_000, 10)


_ROWS = st.lists(
    st.tuples(
        st.sampled_from([10_000, 25_000, 100_000, 400_000]),
        st.sampled_from([0, 5, 40, 300, 2000]),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[:2],
)


@given(_ROWS, st.sampled_from(["10Gbps", "50Gbps", "800Gbps"]), st.sampled_from(["1m", "40m", "123m", "3km"]))
@settings(max_examples=examples(300))
def test_an_estimate_is_below_no_smaller_row_and_not_below_the_physical_minimum(
    rows: list[tuple[int, int, int]], rate: str, cable: str
) -> None:
    table = parse_table("\n".join(f"{speed} {meters}m {xoff} 0 {xoff} 0" for speed, meters, xoff in rows))
    found = forebay.headroom(rate, cable, table=table)
    assert found.size is None or sum(part.bytes for part in found.parts) == found.size
    assert found.table is not None
    if found.table.row is None:
        assert found.xoff >= found.physical_minimum
        megabits = found.rate_bps // 10**6
        assert all(
            found.xoff >= row.xoff for row in table.rows if row.rate_mbps <= megabits and row.cable_m <= found.cable_m
        )
        assert found.xoff % found.table.step == 0


@given(st.integers(0, 10**5), st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.sampled_from([1, 208, 1024]))
@settings(max_examples=examples(100))
def test_a_fit_finds_intercept_and_slope_within_the_step(intercept: int, slope: float, step: int) -> None:
    """The device rounds up to its step, so each row lies above the true line by less than a step."""
    lengths = (5, 40, 100, 300, 1000)
    rows = [-(-(intercept + slope * round_trip(100_000, meters)) // step) * step for meters in lengths]
    text = "\n".join(f"100000 {meters}m 0 0 {int(xoff)} 0" for meters, xoff in zip(lengths, rows, strict=True))
    fit = fit_of_rate(parse_table(text), 100_000)
    assert fit is not None
    assert fit.largest_error is not None
    assert fit.largest_error < step + 1
    assert abs(fit.at(0) - intercept) < 2 * step + 2
    assert fit.slope == pytest.approx(slope, abs=2 * step / round_trip(100_000, 1000) + 1e-3)


# Findings --------------------------------------------------------------------------------------------------------


def test_a_plausible_table_has_no_findings() -> None:
    assert kinds(parse_table(NOKIA)) == []


def test_a_flat_table_is_named_for_rate_and_cable() -> None:
    rows = [f"{speed} {cable} 1270 0 1190500 -2" for speed in (10_000, 100_000) for cable in ("5m", "300m")]
    assert kinds(parse_table("\n".join(rows))) == ["flat-cable", "flat-rate"]


def test_a_rate_that_is_flat_in_the_cable_is_named_with_its_rows() -> None:
    rows = "40000 30m 0 0 188416 0\n40000 1000m 0 0 188416 0\n100000 30m 0 0 401408 0\n100000 1000m 0 0 501408 0\n"
    (finding,) = audit_table(parse_table(rows))
    assert (finding.kind, finding.lines) == ("flat-cable", (1, 2))


def test_equal_rows_within_a_step_are_not_flat() -> None:
    """35 m more hold 442 bytes at 10 Gb/s, less than the step of 1,024 bytes."""
    rows = "10000 5m 0 0 20480 0\n10000 40m 0 0 20480 0\n100000 5m 0 0 29696 0\n100000 40m 0 0 32768 0\n"
    assert step_of(parse_table(rows)) == 1024
    assert kinds(parse_table(rows)) == []


def test_rows_that_fall_with_the_cable_or_the_rate_are_named() -> None:
    """Rows of SN5610N at 40 and 250 m, and of NH-5010 at 400 and 800 Gb/s."""
    cable = parse_table("10000 40m 19456 19456 20480 0\n10000 250m 19456 19456 14336 0\n")
    (finding,) = audit_table(cable)
    assert (finding.kind, finding.lines) == ("not-monotone-cable", (1, 2))
    rate = parse_table("400000 30m 0 0 514553 -6 1454025\n800000 30m 0 0 244000 -6 1454025\n")
    (finding,) = audit_table(rate)
    assert (finding.kind, finding.lines) == ("not-monotone-rate", (1, 2))
    assert not finding.is_too_small


def test_a_row_below_the_physical_minimum_may_lose_frames() -> None:
    """A row of SN4280: the cable alone holds a million bytes."""
    (finding,) = audit_table(parse_table("400000 2000m 38912 38912 555008 0"))
    assert (finding.kind, finding.lines, finding.is_too_small) == ("below-minimum", (1,), True)
    assert "1,020,226" in finding.text


def test_the_physical_minimum_of_a_table_has_the_frames_of_the_port() -> None:
    table = parse_table("10000 5m 0 0 10000 0")
    assert [each.kind for each in audit_table(table)] == ["below-minimum"]
    assert audit_table(table, mtu=1500) == ()


def test_a_threshold_outside_of_the_model_is_named() -> None:
    """A row of AS7116-54X, whose column has 36,736."""
    (finding,) = audit_table(parse_table("10000 5m 3584 32256 59136 36736"))
    assert (finding.kind, finding.lines) == ("threshold", (1,))
