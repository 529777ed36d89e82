"""Comparisons of two audits: a port has one change, and a margin changes only beyond its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay
from forebay import AuditComparison, InputError, compare_audits
from forebay.fleets.comparing import CHANGES, VALUES, read_audit
from forebay.storage.tables import write_table
from forebay.views.fleet_comparison_text import comparison_lines
from tests.fleet.ports import inventory, profiles
from tests.support.commands import forebay as command
from tests.support.scenarios import PROFILE

TEXTS = ("device", "port", "service_class", "verdict", "reason")
SCHEMA = {**dict.fromkeys(TEXTS, pl.String), **{name: pl.Float64 for name in VALUES if name != "verdict"}}


def ports(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Ports r1 e1 with the verdict "fine" and a margin from 1 to 2, unless they say more."""
    usual = {"device": "r1", "port": "e1", "verdict": "fine", "margin": 1.4, "margin_low": 1.0, "margin_high": 2.0}
    return pl.DataFrame([{**usual, **row} for row in rows], schema=SCHEMA)


def changes(before: pl.DataFrame, after: pl.DataFrame) -> list[tuple[Any, ...]]:
    found = compare_audits(before, after).differences
    return found.select("device", "port", "change", "verdict_before", "verdict_after").rows()


def test_an_audit_does_not_differ_from_itself() -> None:
    table = ports({}, {"port": "e2", "service_class": "voice"}, {"port": "e3", "verdict": "too small", "margin": None})
    found = compare_audits(table, table)
    assert (found.differences.height, found.unchanged, found.exit_code()) == (0, 3, 0)
    assert comparison_lines(found, "x")[0] == "No port changed (against x)"


def test_each_change_is_listed_once_with_both_verdicts() -> None:
    before = ports({"port": "a"}, {"port": "b"}, {"port": "c"}, {"port": "same"})
    after = ports(
        {"port": "b", "verdict": "too small", "margin": 0.1, "margin_low": 0.1, "margin_high": 0.2},
        {"port": "c", "margin": 5.0, "margin_low": 4.0, "margin_high": 8.0},
        {"port": "d", "verdict": "undecided"},
        {"port": "same"},
    )
    assert changes(before, after) == [
        ("r1", "a", "vanished", "fine", None),
        ("r1", "b", "verdict", "fine", "too small"),
        ("r1", "c", "margin", "fine", "fine"),
        ("r1", "d", "appeared", None, "undecided"),
    ]
    assert changes(before, after) == [
        (device, port, {"appeared": "vanished", "vanished": "appeared"}.get(change, change), one, other)
        for device, port, change, other, one in changes(after, before)
    ]
    assert dict.fromkeys(CHANGES, 1) == compare_audits(before, after).counts


@pytest.mark.parametrize(
    ("ends", "is_changed"),
    [
        ((2.0, 4.0), False),
        ((2.01, 4.0), True),
        ((0.5, 1.0), False),
        ((0.5, 0.99), True),
        ((None, 0.5), True),
        ((3.0, None), True),
        ((None, 1.5), False),
        ((None, None), False),
    ],
)
def test_a_margin_changes_only_beyond_its_uncertainty(
    ends: tuple[float | None, float | None], is_changed: bool
) -> None:
    low, high = ends
    after = ports({"margin": 1.0, "margin_low": low, "margin_high": high})
    assert bool(compare_audits(ports({}), after).differences.height) == is_changed


def test_an_unknown_margin_is_no_other_margin() -> None:
    unknown = ports({"margin": None, "margin_low": None, "margin_high": None})
    assert changes(ports({"margin_low": 5.0, "margin_high": 6.0}), unknown) == []


def test_other_spellings_of_a_port_are_the_same_port() -> None:
    assert changes(ports({"device": "R1", "port": "Gi0/1"}), ports({"port": "GigabitEthernet0/1"})) == []


def test_classes_of_a_port_are_compared_each() -> None:
    before = ports({"service_class": "voice"}, {"service_class": "data"}, {})
    after = ports({"service_class": "voice"}, {"service_class": "data", "verdict": "too large"}, {})
    assert [row[4] for row in changes(before, after)] == ["too large"]


CODES = [
    ("fine", "too small", 1),
    ("too small", "too large", 1),
    ("too small", "fine", 0),
    ("too small", "too small", 0),
    ("fine", "undecided", 3),
    ("undecided", "not answerable", 3),
    (None, "too large", 1),
    (None, "fine", 0),
    ("too small", None, 0),
]


@pytest.mark.parametrize(("before", "after", "code"), CODES)
def test_the_exit_code_is_about_ports_that_newly_are_wrong(before: str | None, after: str | None, code: int) -> None:
    sides = [ports() if each is None else ports({"verdict": each}) for each in (before, after)]
    assert compare_audits(*sides).exit_code() == code


def test_fail_on_chooses_the_verdicts_of_the_exit_code() -> None:
    found = compare_audits(ports({}), ports({"verdict": "too large"}))
    assert (found.exit_code(), found.exit_code(("too small",))) == (1, 0)


def test_the_first_lines_fit_80_columns_whatever_the_names() -> None:
    long = {"device": "d" * 200, "port": "p" * 200}
    found = compare_audits(ports({**long, "verdict": "too small"}), ports({**long, "verdict": "too large"}))
    lines = comparison_lines(found, "x" * 200)
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80


def test_folders_without_an_audit_of_this_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no audit"):
        read_audit(tmp_path)
    write_table(ports({}).drop("margin_low"), tmp_path / "ports.parquet")
    with pytest.raises(InputError, match="found no column `margin_low`"):
        read_audit(tmp_path)
    write_table(ports({}), tmp_path / "ports.parquet")
    assert read_audit(tmp_path).height == 1
    (tmp_path / "ports.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match="damaged"):
        read_audit(tmp_path)


def test_the_command_compares_with_the_audit_that_it_replaces(tmp_path: Path) -> None:
    profiles(tmp_path, PROFILE)
    options = ("fleet", "ports.csv", "--out", "audit", "--full", "0")
    inventory(tmp_path, [{"buffer": "1 packets"}, {"port": "eth1", "buffer": "12 packets"}])
    assert command(*options, "--against", "audit", cwd=tmp_path).code == 2
    assert command(*options, cwd=tmp_path).code == 1
    same = command(*options, "--against", "audit", cwd=tmp_path)
    assert (same.code, same.out.splitlines()[0]) == (0, "No port changed (against audit)")
    inventory(tmp_path, [{"buffer": "1 packets"}, {"port": "eth1", "buffer": "1 packets"}])
    other = command(*options, "--against", "audit", cwd=tmp_path)
    assert other.code == 1
    assert other.out.splitlines()[1] == "Newly wrong: 1, such as d eth1: fine → too small"
    assert pl.read_csv(tmp_path / "audit" / "differences.csv")["verdict_after"].to_list() == ["too small"]
    assert command(*options, cwd=tmp_path).code == 1
    assert not (tmp_path / "audit" / "differences.csv").exists()


def test_python_compares_folders_and_answers(tmp_path: Path) -> None:
    rows = [{"buffer": "1 packets"}, {"port": "eth1", "buffer": "12 packets"}]
    execution = forebay.FleetExecution(full=0)
    answer = forebay.fleet(inventory(tmp_path, rows), profiles(tmp_path), execution, out=tmp_path / "out")
    fewer = forebay.fleet(inventory(tmp_path, rows[:1]), profiles(tmp_path), execution)
    found = forebay.compare_audits(tmp_path / "out", fewer)
    assert isinstance(found, AuditComparison)
    assert found.to_dict() == {
        "changes": {**dict.fromkeys(CHANGES, 0), "vanished": 1},
        "unchanged": 1,
        "newly_wrong": 0,
        "no_longer_wrong": 0,
    }
    assert compare_audits(tmp_path / "out", answer).differences.height == 0
