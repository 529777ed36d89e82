"""The memory of `observe`: what needs more than is allowed ends early in one line, whatever the input is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forebay.errors import InputError
from forebay.observation import memory
from forebay.observation.line_reader import FREE_EXPANSION, MOST_EXPANSION
from forebay.observation.memory import check_memory, limited_memory, resident
from forebay.observation.observing import observe
from tests.support.commands import forebay
from tests.support.packets import pcap


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "port.pcap"
    return pcap(path, ((0.001 * number, 700) for number in range(4000)))


def counters(path: Path) -> Path:
    rows = (f"{1_700_000_000 + 60 * number},{10**8 * number}" for number in range(300))
    path.write_text("\n".join(["time,ifHCOutOctets", *rows]))
    return path


def test_an_input_that_needs_more_memory_is_refused_in_one_line(capture: Path, tmp_path: Path) -> None:
    records = tmp_path / "flows.csv"
    records.write_text("ts,te,td,pr,ipkt,ibyt\n2026-01-01 00:00:00,2026-01-01 00:01:00,60,TCP,10,1000\n")
    for path in (capture, counters(tmp_path / "port.csv"), records):
        refused = forebay("observe", path, "--memory", "5MB")
        assert refused.code == 2
        [line] = refused.err.strip().splitlines()
        assert f"{path}: " in line
        assert "allowed: 5.00 MB (`--memory` allows more; an input of less time or of fewer flows needs less)" in line
    assert forebay("observe", capture, "--memory", "2GB").code == 0
    assert forebay("observe", capture, "--memory", "none").code == 2


def test_the_limit_of_a_call_counts_what_it_takes_itself(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = resident()
    assert held > 10**6
    assert observe([capture], memory=10**9).load is not None
    taken = iter([held, held, *[held + 10**9 + 1] * 1000])
    monkeypatch.setattr(memory, "resident", lambda: next(taken))
    with pytest.raises(InputError, match=r"allowed: 1\.00 GB"):
        observe([capture])


def test_a_limit_within_another_is_the_lower_one() -> None:
    text = r"port: reading it took more than 1 B of memory after 7 B of it"
    with limited_memory(1, held=0), limited_memory(10**12), pytest.raises(InputError, match=text):
        check_memory("port", 7)
    check_memory("port", 7)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["csv", "pcap"])
def test_a_file_that_unpacks_to_far_more_ends_early(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"bomb.{kind}.gz"
    line = b"2026-01-01 00:00:00,2026-01-01 00:01:00,60,TCP,10,1000\n"
    head, rest = {
        "csv": (b"ts,te,td,pr,ipkt,ibyt\n", line * (2**20 // len(line))),
        "pcap": (bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"), bytes(2**20)),
    }[kind]
    with gzip.open(path, "wb", 9) as file:
        file.write(head)
        for _ in range(300):
            file.write(rest)
    refused = forebay("observe", path, timeout_s=120)
    assert refused.code == 2
    assert len(refused.err.strip().splitlines()) == 1


def test_a_text_may_be_as_much_longer_than_its_file_as_texts_are(tmp_path: Path) -> None:
    path = tmp_path / "port.csv.gz"
    text = counters(tmp_path / "port.csv").read_bytes()
    path.write_bytes(gzip.compress(text))
    assert len(text) < FREE_EXPANSION
    assert len(text) < MOST_EXPANSION * path.stat().st_size
    assert observe([path]).load is not None
