"""`forebay headroom` as a user sees it: three lines, the table of parts, JSON, and errors of one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import called, forebay

PORT = ("headroom", "--rate", "100Gbps", "--cable", "300m")
TABLE = """# speed cable size xon xoff threshold
100000 40m 58368 19456 38912 0
100000 300m 1 2
10000 40m 49152 19456 29696 0
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "pg_profile_lookup.ini"
    path.write_text(TABLE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("model", ["sonic-mellanox", "sonic-barefoot", "mlx5", "ieee"])
def test_the_answer_is_in_three_lines_of_80_columns(model: str, columns: int) -> None:
    answer = called(*PORT, "--model", model, columns=columns)
    assert answer.code == 0
    first, second, third, blank, *rest = answer.out.splitlines()
    assert "xoff" in first
    assert "xon" in first
    assert "size" in first
    assert model in second
    assert "wastes" in third
    assert "physical minimum" in third
    assert blank == ""
    assert max(map(len, (first, second, third))) <= 80
    assert max(map(len, rest)) <= max(columns, 75)
    assert rest[0].split() == ["part", "bytes", "formula"]


def test_the_printed_parts_add_up_to_the_printed_size() -> None:
    lines = called(*PORT, "--asic", "spectrum-4", columns=200).out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("part "))
    end = next(number for number, line in enumerate(lines) if line.startswith("= size"))
    parts = [line for line in lines[start + 1 : end] if not line.startswith("=")]
    amounts = [re.split(r" {2,}", line)[1].replace(",", "") for line in parts]
    assert sum(map(int, amounts)) == int(lines[end].split()[-1].replace(",", ""))


def test_json_has_xon_xoff_and_size_in_bytes() -> None:
    given = ("--mtu", "9100B", "--asic", "spectrum-4", "--small-packets", "50%", "--release", "master")
    data = json.loads(called(*PORT, *given, "--json").out)
    assert (data["xon"], data["xoff"], data["size"]) == (19_456, 95_232, 114_688)
    assert sum(part["bytes"] for part in data["parts"]) == data["size"]
    assert set(data["parts"][0]) >= {"name", "bytes", "of", "formula", "source"}
    assert data["rate_bps"] == 100_000_000_000
    assert data["table"] is None


def test_a_row_of_a_table_is_printed_with_the_other_calculations(table: str) -> None:
    answer = called("headroom", "--rate", "100Gbps", "--cable", "40m", "--table", table)
    assert answer.out.startswith("xoff 38,912 B, xon 19,456 B, size 58,368 B (100 Gb/s, 40 m)\n")
    assert "a row of" in answer.out
    assert "sonic-mellanox" in answer.out
    assert "not used: line 3: found 4 columns" in answer.out


def test_an_estimate_is_printed_as_an_estimate(table: str) -> None:
    answer = called("headroom", "--rate", "100Gbps", "--cable", "100m", "--table", table)
    assert answer.code == 0
    assert "an estimate of" in answer.out.splitlines()[1]
    assert "warning: this is an estimate and no value of the device" in answer.out
    data = json.loads(called("headroom", "--rate", "100Gbps", "--cable", "100m", "--table", table, "--json").out)
    assert data["table"]["fit"]["rows"] == 2
    assert data["table"]["row"] is None
    assert data["formula"]["model"] == "sonic-mellanox"


def test_a_row_whose_size_leaves_out_xoff_is_printed_without_a_negative_part(tmp_path: Path) -> None:
    path = tmp_path / "table.ini"
    path.write_text("100000 40m 1272 2544 81726 0\n", encoding="utf-8")
    for cable in ("40m", "300m"):
        answer = called("headroom", "--rate", "100Gbps", "--cable", cable, "--table", str(path), columns=200)
        assert answer.code == 0
        size = next(line for line in answer.out.splitlines() if line.startswith("= size"))
        assert re.search(r" 1,272 .*other memory holds [0-9,]+ B of xon and xoff", size)
        assert not re.search(r" -[0-9]", answer.out)


def test_an_unknown_size_is_printed_with_its_reason_and_not_written_for_sonic(tmp_path: Path) -> None:
    path = tmp_path / "table.ini"
    path.write_text("100000 5m 56368 18432 55120 -3\n", encoding="utf-8")
    port = ("headroom", "--rate", "100Gbps", "--cable", "2km", "--table", str(path))
    answer = called(*port, columns=200)
    assert answer.code == 0
    assert "size unknown (100 Gb/s, 2,000 m)" in answer.out.splitlines()[0]
    assert "warning: the size is unknown: the table does not show whether the size includes xoff." in answer.out
    answer = called(*port, "--for", "sonic")
    assert (answer.code, answer.out) == (2, "")
    assert "found no size for a port of 100000 Mb/s and 2000m (the table does not show whether" in answer.err
    assert answer.err.endswith("; allowed: a table with a row for it\n")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rate", "100"), "--rate: found `100`"),
        (("--cable", "300"), "--cable: found `300`; allowed: a length from 0m to 1000km, as in 300m or 0.5km"),
        (("--model", "mlx4"), "--model: unknown model `mlx4`"),
        (("--asic", "spectrum"[::-1]), "--asic: unknown ASIC"),
        (("--small-packets", "120%"), "--small-packets: found `120%`"),
        (("--lossless-mtu", "1B"), "--lossless-mtu: found `1B`"),
        (("--over-subscription", "x"), "--over-subscription: found 'x'"),
        (("--table", "missing.ini"), "missing.ini: found no such file"),
        (("--table", "."), ".: found a directory"),
    ],
)
def test_an_error_is_one_line_that_names_the_option(arguments: tuple[str, ...], message: str) -> None:
    answer = called(*PORT, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"forebay: {message}")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("name", ["headroom", "PFC", "xon", "xoff"])
def test_the_terms_are_explained(name: str) -> None:
    answer = called("explain", name)
    assert answer.code == 0
    assert answer.out.startswith(f"{name.lower()} (term)")


def test_the_command_runs_as_a_user_calls_it() -> None:
    answer = forebay(*PORT, "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["size"] > 0
