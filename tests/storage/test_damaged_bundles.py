"""Damaged and forged bundles: each is refused in one line, or its cells are run again."""

from __future__ import annotations

import hashlib
import json
import shutil
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forebay.storage import journal
from forebay.storage.safe_io import DamagedError, unpack
from forebay.sweeps import bundling
from forebay.sweeps.bundling import replay
from tests.support.damages import DAMAGES, Damage, batch, damages, in_one_line, refused


def forged(source: Path, target: Path, changes: Mapping[str, bytes | None], **hashes: str | None) -> Path:
    """The bundle with other members (None: without) and honest hashes but for those named."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changes
    members = {name: data for name, data in members.items() if data is not None}
    if "hashes.json" not in changes:
        honest = {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != "hashes.json"}
        values = {name: digest for name, digest in {**honest, **hashes}.items() if digest is not None}
        members["hashes.json"] = json.dumps(values).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def member(source: Path, name: str) -> bytes:
    with zipfile.ZipFile(source) as archive:
        return archive.read(name)


def test_a_forged_bundle_is_found_out_where_its_cells_lie(swept: Path, out: Path, tmp_path: Path) -> None:
    """A forger of results can forge cells with valid checksums, too: a replay trusts neither."""
    rows = [json.loads(line) for line in member(swept / "b.zip", "results.jsonl").splitlines()]
    rows[1]["utilization"] = 0.987654321
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = forged(swept / "b.zip", tmp_path / "b.zip", {"results.jsonl": text})
    path_of_cells = batch(out)
    entries = [row for _, row in journal.entries(path_of_cells.read_bytes())]
    forgeries = [{**row, "utilization": 0.987654321} if row["key"] == rows[1]["key"] else row for row in entries]
    path_of_cells.write_bytes(b"".join(map(journal.line, forgeries)))
    found = replay(path, out=out)
    assert len(found.differences) == 1
    assert found.differences[0].startswith("cell 1, replication 0: utilization was 0.987654321, is ")
    assert replay(swept / "b.zip", out=out).differences == []


@damages
def test_a_damaged_bundle_is_refused(damage: Damage, swept: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(swept / "b.zip", tmp_path / "b.zip"))
    damage(path)
    refused(lambda: replay(path), path)


JSON_DAMAGES = {name: data for name, data in DAMAGES.items() if name not in ("10 GB", "flipped") and "/" not in name}


@pytest.mark.parametrize("name", ["hashes.json", "manifest.json", "results.jsonl"])
@pytest.mark.parametrize("damage", [name for name in JSON_DAMAGES if name not in (
    "directory", "full directory", "pipe", "device", "dangling", "circle")])  # fmt: skip
def test_a_damaged_member_is_refused_though_its_hash_is_right(
    damage: str, name: str, swept: Path, tmp_path: Path
) -> None:
    part = tmp_path / name
    part.write_bytes(member(swept / "b.zip", name))
    DAMAGES[damage](part)
    path = forged(swept / "b.zip", tmp_path / "b.zip", {name: part.read_bytes()})
    refused(lambda: replay(path), path)


WRONG: Mapping[str, Any] = {
    "replications": [1e30, 10**30, 0, -1, 1.5, "2", None, True, [1], 99],
    "seed": [-1, 2**63, 2**64, 1e3, None, "1"],
    "axes": [None, {}, "x", [1], [{}], [{"key": "link.buffer", "values": []}], [{"key": 1, "values": ["1p"]}],
             [{"key": "link.buffer", "values": [5, 20]}], [{"key": "link.buffer", "values": ["5p"] * 100_001}],
             [{"key": "nonsense", "values": ["1", "2"]}], [{"key": "link.buffer", "values": ["5p", "x"]}],
             [{"key": "link.buffer", "values": ["5p", "20p"]}] * 2, [{"key": "a", "values": ["1"] * 10**5}] * 5],
    "engine": [None, "", "abacus", 3, ["packet"], "x" * 10**6],
    "scenario": [None, [], "x", {}, {"link": 1}],
    "forebay": [None, 1, {}, "x" * 10**6],
    "build": [None, 1],
    "scenario_sha256": [None, 1],
    "more": [1],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values],
                         ids=lambda value: str(value)[:20])  # fmt: skip
def test_a_manifest_of_wrong_types_is_refused(key: str, value: Any, swept: Path, tmp_path: Path) -> None:
    manifest = {**json.loads(member(swept / "b.zip", "manifest.json")), key: value}
    path = forged(swept / "b.zip", tmp_path / "b.zip", {"manifest.json": json.dumps(manifest).encode()})
    refused(lambda: replay(path), path)


@pytest.mark.parametrize("name", sorted(bundling.MEMBERS.keys() - bundling.OPTIONAL))
def test_a_bundle_lacks_nothing(name: str, swept: Path, tmp_path: Path) -> None:
    path = forged(swept / "b.zip", tmp_path / "b.zip", {name: None})
    refused(lambda: replay(path), path)
    if name != "hashes.json":
        refused(lambda: replay(forged(swept / "b.zip", path, {}, **{name: None})), path)
        refused(lambda: replay(forged(swept / "b.zip", path, {}, **{name: "0" * 64})), path)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "cells/x.json", "x" * 60_000, "\x1b[31m", "C:\\x", "readme.txt"])
def test_a_bundle_has_nothing_else(name: str, swept: Path, tmp_path: Path) -> None:
    path = forged(swept / "b.zip", tmp_path / "b.zip", {name: b""})
    refused(lambda: replay(path), path)
    refused(lambda: replay(forged(swept / "b.zip", path, {}, **{name: "0" * 64})), path)


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[]", b'{"cell": 0}', b'{"cell": 1e0, "replication": 0}', b'{"cell": 0, "replication": 0, "x": []}'],
)
def test_a_result_is_a_row(line: bytes, swept: Path, tmp_path: Path) -> None:
    first = member(swept / "b.zip", "results.jsonl").splitlines()[0]
    for text in (b"\n".join([first, line]), b"\n".join([line, first]), first, b"\n".join([first] * 3)):
        path = forged(swept / "b.zip", tmp_path / "b.zip", {"results.jsonl": text})
        refused(lambda path=path: replay(path), path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method: int, swept: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(swept / "b.zip") as source, zipfile.ZipFile(path, "w", method) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name), method)
    refused(lambda: replay(path), path)


def small_archive(path: Path) -> dict[str, bytes]:
    members = {"a.json": b'{"a": 1}' * 9, "b.json": b"[2, 3]", "c.bin": bytes(range(32))}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, bundling.EPOCH), data, zipfile.ZIP_DEFLATED)
    return members


def read_small(path: Path) -> Mapping[str, bytes]:
    limits = dict.fromkeys(("a.json", "b.json", "c.bin"), 10_000)
    return unpack(path, limits, frozenset(limits), "an archive").files


def test_no_flipped_bit_and_no_cut_of_an_archive_goes_unseen(tmp_path: Path) -> None:
    """Bits of times and permissions have no effect; every other flipped bit is found, with one line."""
    path = tmp_path / "b.zip"
    members = small_archive(path)
    assert read_small(path) == members
    original = path.read_bytes()
    found = {"same": 0, "refused": 0, "wild": 0}
    spoiled = [original[:place] + bytes([original[place] ^ 1 << bit]) + original[place + 1 :]
               for place in range(len(original)) for bit in (place % 4, 7 - place % 4)]  # fmt: skip
    for data in [*spoiled, *(original[:size] for size in range(len(original))), original + b"\0"]:
        path.write_bytes(data)
        try:
            # A name that has changed is of no member that is asked for; a bundle says which is missing.
            assert read_small(path).items() <= members.items()
            found["same"] += 1
        except DamagedError as error:
            found["refused"] += 1
            found["wild"] += not in_one_line(str(error), path)
    assert found["refused"] > found["same"]
    assert found["wild"] == 0


@pytest.mark.parametrize("declared", [1000, 0xC0000000, None], ids=["little", "much", "the truth"])
def test_zeros_that_deflate_a_thousandfold_are_not_held(declared: int | None, swept: Path, tmp_path: Path) -> None:
    """Neither what the list of members says of their sizes nor what comes out of them is believed."""
    path = forged(swept / "b.zip", tmp_path / "b.zip", {"rows.parquet": bytes(60 * 2**20), "manifest.json": b"{}"})
    original = bytearray(path.read_bytes())
    at = original.rfind(b"PK\x01\x02", 0, original.rfind(b"rows.parquet"))
    if declared is not None:
        original[at + 24 : at + 28] = declared.to_bytes(4, "little")  # APPNOTE.TXT 4.3.12: the size
    path.write_bytes(original)
    tracemalloc.start()
    try:
        refused(lambda: replay(path), path)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def test_a_member_has_at_most_its_own_size(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    sizes = {name: len(data) for name, data in small_archive(path).items()}
    assert unpack(path, sizes, frozenset(), "an archive").digests.keys() == sizes.keys()
    for name, size in sizes.items():
        with pytest.raises(DamagedError, match=f"found {size} bytes of `{name}`; allowed: at most {size - 1}"):
            unpack(path, {**sizes, name: size - 1}, frozenset(), "an archive")
