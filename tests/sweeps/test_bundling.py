"""A bundle holds all that a sweep was, and running it again gives the same numbers or says which differ."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from forebay.storage.tables import read_table, write_table
from forebay.sweeps.bundling import TABLES, replay
from tests.support.commands import forebay
from tests.support.scenarios import SMALL

QUICK = SMALL.replace('measure = "30s"', 'measure = "4s"').replace('warmup  = "5s"', 'warmup = "1s"')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "quick.toml").write_text(QUICK, encoding="utf-8")
    over = ["--over", "link.buffer=5p..80p:3", "--over", "flows.bulk.cca=newreno,cubic"]
    answer = forebay(
        "sweep",
        folder / "quick.toml",
        *over,
        "--out",
        folder / "out",
        "--replications",
        "3",
        "--bundle",
        folder / "b.zip",
    )
    assert answer.code == 0, answer.err
    return folder / "b.zip"


def member(source: Path, name: str) -> bytes:
    with zipfile.ZipFile(source) as archive:
        return archive.read(name)


def repack(source: Path, target: Path, changed: dict[str, bytes], *, honest: bool) -> None:
    """The archive with other members; `honest` about their hashes or not."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changed
    if honest:
        hashes = json.loads(members.pop("hashes.json"))
        hashes |= {name: hashlib.sha256(data).hexdigest() for name, data in changed.items()}
        members["hashes.json"] = json.dumps(hashes).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_a_bundle_has_every_part(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    expected = {"README.txt", "manifest.json", "scenario.toml", "scenarios.jsonl", "results.jsonl", "rows.parquet"}
    expected |= {"summary.parquet", "sweep.png", "sweep.svg", "figure.py", "environment.json", "hashes.json"}
    assert {path.name for path in tmp_path.iterdir()} == expected
    for name, digest in json.loads((tmp_path / "hashes.json").read_text(encoding="utf-8")).items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    results = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["cell"], row["replication"]) for row in results] == [(c, r) for c in range(6) for r in range(3)]
    scenarios = [json.loads(line) for line in (tmp_path / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entry["sha256"] for entry in scenarios] == [row["scenario_sha256"] for row in results[::3]]
    assert (tmp_path / "scenario.toml").read_text(encoding="utf-8") == QUICK
    # The figure script needs nothing of forebay.
    assert "forebay" not in (tmp_path / "figure.py").read_text(encoding="utf-8")
    subprocess.run([sys.executable, "-I", str(tmp_path / "figure.py")], check=True)
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_a_replay_finds_every_number_the_same(made: Path) -> None:
    answer = forebay("sweep", "--replay", made, "--jobs", "1")
    assert answer.code == 0, answer.err
    assert answer.out == "18 results compared: every number the same to the last bit\n"


def test_a_replay_names_the_number_that_differs(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        lines = archive.read("results.jsonl").decode().splitlines()
    row = json.loads(lines[7])
    was = row["utilization"]
    row["utilization"] = was * (1 + 2**-52)
    lines[7] = json.dumps(row)
    repack(made, tmp_path / "b.zip", {"results.jsonl": "\n".join(lines).encode()}, honest=True)
    answer = forebay("sweep", "--replay", tmp_path / "b.zip", "--json")
    assert answer.code == 1
    data = json.loads(answer.out)
    assert data["compared"] == 18
    assert data["differences"] == [f"cell 2, replication 1: utilization was {row['utilization']!r}, is {was!r}"]


def test_another_version_is_noted(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    manifest["forebay"] = "0.0.1"
    repack(made, tmp_path / "b.zip", {"manifest.json": json.dumps(manifest).encode()}, honest=True)
    answer = forebay("sweep", "--replay", tmp_path / "b.zip")
    assert "note: made by forebay 0.0.1" in answer.out


def test_what_is_no_bundle_is_one_line(made: Path, tmp_path: Path) -> None:
    repack(made, tmp_path / "damaged.zip", {"results.jsonl": b"{}"}, honest=False)
    (tmp_path / "text.zip").write_text("no archive", encoding="utf-8")
    for name, complaint in (
        ("damaged.zip", "found a damaged `results.jsonl`"),
        ("text.zip", "found no bundle"),
        ("missing.zip", "found no such file"),
    ):
        answer = forebay("sweep", "--replay", tmp_path / name)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert complaint in answer.err
    combined = forebay("sweep", tmp_path / "x.toml", "--replay", made)
    assert (combined.code, combined.err.count("\n")) == (2, 1)
    nothing = forebay("sweep")
    assert (nothing.code, nothing.err.count("\n")) == (2, 1)
    assert "found no FILE" in nothing.err


def test_a_number_is_compared_wherever_a_bundle_says_it(made: Path, tmp_path: Path) -> None:
    """Every table and scenario of a bundle matches the replay, or the replay reports the difference."""
    scenarios = member(made, "scenarios.jsonl")
    forgeries = {
        "scenarios.jsonl": [
            scenarios.replace(b"Mbps", b"Gbps"),
            scenarios[: scenarios.index(b"\n") + 1],
            b"[" * 10**6,
            b"",
        ]
    }
    for name in TABLES:
        (tmp_path / name).write_bytes(member(made, name))
        table = read_table(tmp_path / name, "")
        column = next(column for column in table.columns if column.startswith("utilization"))
        forgeries[name] = [b"", b"PAR1", bytes(5000)]
        for changed in (
            table.with_columns((table[column] * 1.001).alias(column)),
            table.with_columns(table[column].cast(str)),
            table.with_columns(more=table[column]),
            table.drop(column),
            table.head(1),
            table.reverse(),
        ):
            write_table(changed, tmp_path / name)
            forgeries[name].append((tmp_path / name).read_bytes())
    for name, many in forgeries.items():
        for data in many:
            repack(made, tmp_path / "b.zip", {name: data}, honest=True)
            found = replay(tmp_path / "b.zip")
            assert found.differences
            assert all(line.startswith(name) and len(line) < 300 for line in found.differences)
    assert replay(made).differences == []
