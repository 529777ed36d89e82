"""`forebay translate` without a platform audits a switch: a line for each finding, and exit code 1 for errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import called

TABLES = {
    "PORT": {f"Ethernet{4 * number}": {"speed": "100000"} for number in range(32)},
    "CABLE_LENGTH": {"AZURE": {f"Ethernet{4 * number}": "300m" for number in range(32)}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072"}},
    "BUFFER_PROFILE": {
        "lossless": {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "48003", "dynamic_th": "0"}
    },
    "BUFFER_PG": {f"Ethernet{4 * number}|3-4": {"profile": "lossless"} for number in range(32)},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(TABLES, indent=1))
    return path


def test_a_sound_switch_has_exit_code_0_and_the_memory_for_lossy_traffic(config: Path) -> None:
    answer = called("translate", str(config))
    assert answer.code == 0
    assert answer.out.startswith("0 errors, 0 notes; 32 ports, 32 with lossless groups\n")
    left = 10_875_072 - 64 * (1_248 + 48_003)
    assert (
        f"Lossy traffic may share {left:,} B of ingress_lossless_pool, {100 * left / 10_875_072:.3g} % of the pool."
        in answer.out
    )


@pytest.mark.parametrize("columns", [80, 120])
def test_a_finding_is_one_line_and_an_error_has_exit_code_1(config: Path, columns: int) -> None:
    text = config.read_text().replace('"48003"', '"48002"').replace('"0"', '"8"')
    config.write_text(text)
    answer = called("translate", str(config), columns=columns)
    assert answer.code == 1
    first, second, third, blank, *_ = answer.out.splitlines()
    assert first.startswith("2 errors, 0 notes")
    assert second.startswith("error ")
    assert "Ethernet0|3-4 (+31): xoff is 48,002 B; 100 Gb/s and 300 m need 48,003 B." in second
    assert "dynamic_th is 8; allowed: -8 to 7" in third
    assert blank == ""
    assert max(map(len, answer.out.splitlines())) <= columns


def test_json_has_all_findings_and_the_pools(config: Path) -> None:
    config.write_text(config.read_text().replace('"48003"', '"48002"'))
    answer = called("translate", str(config), "--json")
    data = json.loads(answer.out)
    assert answer.code == 1
    (finding,) = data["findings"]
    assert (finding["kind"], finding["is_error"], len(finding["places"])) == ("below-minimum", True, 32)
    assert data["pools"][0]["left"] == 10_875_072 - 64 * (1_248 + 48_002)


def test_many_findings_are_cut_with_their_number(config: Path) -> None:
    tables = {**TABLES, "BUFFER_PG": {f"Ethernet{number}|3": {"profile": f"p{number}"} for number in range(80)}}
    config.write_text(json.dumps(tables))
    answer = called("translate", str(config))
    assert sum(line.startswith(("error ", "note ")) for line in answer.out.splitlines()) == 50
    assert "more findings (--json lists them)" in answer.out


def test_standard_input_and_a_text_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.commands.translate.standard_input", lambda: json.dumps(TABLES))
    assert called("translate", "-").code == 0
    assert called("translate", json.dumps(TABLES)).code == 0


def test_a_table_is_given_or_lies_beside_the_file(config: Path, tmp_path: Path) -> None:
    table = tmp_path / "other.ini"
    table.write_text("100000 300m 1248 2288 48002 0\n")
    answer = called("translate", str(config), "--table", str(table))
    assert "other.ini" in answer.out
    assert called("translate", str(table)).code == 1
    assert called("translate", str(config), "--for", "sonic", "--table", str(table)).code == 2


@pytest.mark.parametrize("arguments", [("pfifo limit 100",), ("config_db.json", "--toml")])
def test_a_text_of_another_platform_needs_for(arguments: tuple[str, ...]) -> None:
    answer = called("translate", *arguments)
    assert answer.code == 2
    assert "missing option '--for'" in answer.err
