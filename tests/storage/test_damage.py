"""Whatever is read back from a disk may be damaged or forged: every kind of file, under every kind of damage.

What can be computed again is, and is named; what cannot be is refused in one line. Nothing is believed, waited for or
taken into memory because a file says so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from checks import reference
from checks.reference import file_of
from forebay import InputError, Scenario, _core, sweep
from forebay.measurement.traces import write_traces
from forebay.papers import catalog, running
from forebay.papers.catalog import Run
from forebay.papers.gallery import earlier_figures
from forebay.results.report import Report
from forebay.search.listener import Callbacks
from forebay.search.resumption import Resumption
from forebay.storage import build, journal
from forebay.storage.safe_io import DamagedError, content, document, lines
from forebay.storage.tables import read_table, write_table
from forebay.sweeps.grid import Grid
from forebay.sweeps.jobs import jobs_of
from forebay.sweeps.manifest import Manifest
from forebay.sweeps.sweeping import load
from forebay.views.pictures import draw
from tests.support.damages import OVER, QUICK, Damage, batch, damages, flipped, in_one_line, refused
from tests.support.paths import ROOT
from tests.support.rows import stored_rows

TRACED = QUICK + '\n[trace]\nevery = "500ms"\nrecord = ["cwnd", "queue"]\n'

# Sweeps -------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(9)
@damages
def test_damaged_cells_are_run_again_and_their_batch_is_named(
    damage: Damage, scenario: Scenario, swept: Path, out: Path
) -> None:
    damage(batch(out))
    messages: list[str] = []
    path = batch(out)
    found = sweep(scenario, OVER, out, replications=1, tell=messages.append)
    assert found.computed > 0
    assert (found.computed + found.reused, found.damaged) == (2, (str(path),))
    assert len(messages) == 1
    assert in_one_line(messages[0], path)
    assert load(out).equals(load(swept / "out"))
    repeated = sweep(scenario, OVER, out, replications=1, tell=messages.append)
    assert (repeated.reused, repeated.damaged, len(messages)) == (2, (), 1), (
        "what is damaged is taken out, and named once"
    )


def test_a_damaged_line_costs_one_cell(scenario: Scenario, swept: Path, out: Path) -> None:
    path = batch(out)
    first, second = path.read_bytes().splitlines(keepends=True)
    for damaged in (
        flipped(first) + second,
        first + second[:-1],
        first + second[:9],
        first + b"\n" + second[:-9] + b"\n",
    ):
        path.write_bytes(damaged)
        found = sweep(scenario, OVER, out, replications=1)
        assert (found.computed, found.reused, len(found.damaged)) == (1, 1, 1)
        assert load(out).equals(load(swept / "out"))
        shutil.rmtree(out / "cells")
        (out / "cells").mkdir()


@pytest.mark.parametrize("column", ["utilization", "key", "engine", "replication", "seed", "cost.wall_s", "warnings"])
def test_a_changed_number_is_not_believed(column: str, scenario: Scenario, swept: Path, out: Path) -> None:
    path = batch(out)
    checksum, _, text = path.read_bytes().partition(b" ")
    row = json.loads(text.splitlines()[0])
    changed = json.dumps({**row, column: 0.5}).encode()
    path.write_bytes(checksum + b" " + changed + b"\n")
    found = sweep(scenario, OVER, out, replications=1)
    assert (found.computed, found.damaged) == (2, (str(path),))
    assert load(out).equals(load(swept / "out"))


@pytest.mark.parametrize("column", ["scenario_sha256", "engine", "replication"])
def test_a_line_of_another_cell_is_not_believed(column: str, scenario: Scenario, swept: Path, out: Path) -> None:
    """Its checksum is right, and its key is of a cell that is asked for."""
    path = batch(out)
    first, second = path.read_bytes().splitlines(keepends=True)
    ((_, row),) = journal.entries(first)
    path.write_bytes(journal.line({**row, column: 9}) + second)
    assert sweep(scenario, OVER, out, replications=1).damaged == (str(path),)
    assert load(out).equals(load(swept / "out"))


@pytest.mark.long
def test_no_flipped_bit_of_a_cell_changes_a_number(scenario: Scenario, swept: Path, tmp_path: Path) -> None:
    grid = Grid(scenario, Manifest.read(swept / "out").axes, "packet", 1, scenario.core.seed)
    original = batch(swept / "out").read_bytes()
    row = stored_rows(grid, swept / "out" / "cells", lambda *_: pytest.fail("damaged"))
    assert len(row) == 2
    messages: list[str] = []
    for place in range(0, len(original), 3):
        (tmp_path / "1.jsonl").write_bytes(
            original[:place] + bytes([original[place] ^ 1 << place % 8]) + original[place + 1 :]
        )
        messages.clear()
        found = stored_rows(grid, tmp_path, lambda _path, what: messages.append(what))
        assert len(found) < 2, "no flip goes unnoticed"
        assert len(messages) == 1
        assert found.items() <= row.items()


def test_a_full_directory_of_a_batchs_name_is_kept(scenario: Scenario, out: Path) -> None:
    path = batch(out)
    path.unlink()
    (path / "mine").mkdir(parents=True)
    sweep(scenario, OVER, out, replications=1)
    assert path.is_file()
    assert (out / "cells" / f"{path.name}.1" / "mine").is_dir()


@damages
def test_a_damaged_manifest_is_refused(damage: Damage, scenario: Scenario, out: Path) -> None:
    path = out / "manifest.json"
    damage(path)
    before = sorted(out.rglob("*"))
    refused(lambda: sweep(scenario, OVER, out, replications=1), path)
    refused(lambda: Manifest.read(out), path)
    assert sorted(out.rglob("*")) == before


@pytest.mark.sampled(20)
@pytest.mark.parametrize("table", ["rows", "costs", "summary"])
@damages
def test_a_damaged_table_is_refused_and_written_again(
    damage: Damage, table: str, scenario: Scenario, out: Path
) -> None:
    path = out / f"{table}.parquet"
    original = path.read_bytes()
    damage(path)
    refused(lambda: load(out, table), path)
    if table == "summary":
        refused(lambda: draw(out), path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)  # a directory in the way is the user's to take away
    sweep(scenario, OVER, out, replications=1)
    assert path.read_bytes() == original


def test_another_build_shares_nothing(scenario: Scenario, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = Manifest.read(out).axes
    before = {job.key for job in jobs_of(scenario, axes, "packet", 1, 3)}
    assert before == {row["key"] for _, row in journal.entries(batch(out).read_bytes())}
    monkeypatch.setattr(build, "fingerprint", lambda: f"{_core.__version__}+0123456789abcdef")
    assert not before & {job.key for job in jobs_of(scenario, axes, "packet", 1, 3)}
    with pytest.raises(InputError, match="another `build`"):
        sweep(scenario, OVER, out, replications=1)


def test_files_of_another_build_are_not_used(
    scenario: Scenario, recorded: tuple[Path, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, run = recorded
    stored, recordings = (
        Resumption(tmp_path).of(scenario.core, "packet", "link.buffer"),
        running.recordings(folder, run),
    )
    monkeypatch.setattr(build, "fingerprint", lambda: f"{_core.__version__}+0123456789abcdef")
    other = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    assert other.path != stored.path
    others = running.recordings(folder, run)
    assert not {each.folder for each in others} & {each.folder for each in recordings}
    assert not {each.folder.name for each in others} & {each.folder.name for each in recordings}
    assert not {each.folder.parent for each in others} & {each.folder.parent for each in recordings}


def test_a_build_is_known_by_what_computes(tmp_path: Path) -> None:
    extension = tmp_path / "_core.so"
    shutil.copy(_core.__file__, extension)
    assert build.fingerprint() == f"{_core.__version__}+{build.digest_of(extension)}"
    original = extension.read_bytes()
    extension.write_bytes(flipped(original))
    assert build.digest_of(extension) != build.digest_of(Path(_core.__file__))


# Files of reproduce ----- -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "tiny.toml").write_text(TRACED, encoding="utf-8")
    run = Run("auge", "traces", folder / "tiny.toml", "packet", (), ("link.buffer=5p,20p",), 1, "traces")
    assert running.perform([run], folder) == {}
    return folder, run


RECORDED = ("flows.parquet", "queue.parquet", "report.json", "hashes.json", "")


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", RECORDED, ids=[*RECORDED[:-1], "the folder"])
@damages
def test_a_damaged_recording_is_recorded_again(
    damage: Damage, name: str, recorded: tuple[Path, Run], tmp_path: Path
) -> None:
    folder, run = recorded
    out = Path(shutil.copytree(folder, tmp_path / "out"))
    first, second = running.recordings(out, run)
    path = first.folder / name if name else first.folder
    untouched = {each: each.stat().st_mtime_ns for each in second.folder.iterdir()}
    if not name:
        shutil.rmtree(path)
        path.write_bytes(b"[1, 2]")
    damage(path)
    messages: list[str] = []
    assert running.perform([run], out, say=messages.append) == {}
    assert len(messages) == 1
    assert in_one_line(messages[0], first.folder)
    for table in ("flows", "queue"):
        assert first.table(table).equals(running.recordings(folder, run)[0].table(table))
    assert {each: each.stat().st_mtime_ns for each in second.folder.iterdir()} == untouched
    running.perform([run], out, say=messages.append)
    assert len(messages) == 1


def test_recordings_that_took_each_others_names_are_recorded_again(recorded: tuple[Path, Run], tmp_path: Path) -> None:
    folder, run = recorded
    out = Path(shutil.copytree(folder, tmp_path / "out"))
    first, second = running.recordings(out, run)
    aside = first.folder.with_name("aside")
    first.folder.rename(aside)
    second.folder.rename(first.folder)
    aside.rename(second.folder)
    messages: list[str] = []
    running.perform([run], out, say=messages.append)
    assert len(messages) == 2
    assert first.table("queue").equals(running.recordings(folder, run)[0].table("queue"))


@damages
def test_a_damaged_list_of_figures_is_left_out_and_named(damage: Damage, tmp_path: Path) -> None:
    papers = {paper.name: paper for paper, _ in catalog.select("all", catalog.FOLDER)}
    figure = papers["auge"].figures[0]
    claim = {"quantity": figure.claims[0].quantity, "ours": 1.0, "half_width": None, "verdict": "reproduced", "why": ""}
    entry = {"paper": "auge", "figure": figure.name, "picture": None, "trouble": "t", "claims": [claim]}
    path = tmp_path / "gallery.json"
    path.write_text(json.dumps({"figures": [entry]}), encoding="utf-8")
    messages: list[str] = []
    assert len(list(earlier_figures(tmp_path, papers, messages.append))) == 1
    assert messages == []
    damage(path)
    found = list(earlier_figures(tmp_path, papers, messages.append))
    assert len(messages) == (not found)
    assert all(in_one_line(line, path) for line in messages)


@pytest.mark.parametrize("form", [1, None, [], {}, {"claims": 5}, {"claims": [1]}, {"trouble": 3}, {"trouble": None},
    {"claims": [{"quantity": "Q", "ours": "x", "half_width": None, "verdict": "reproduced", "why": ""}]},
    {"claims": [{"quantity": "Q", "ours": 10**400, "half_width": None, "verdict": "reproduced", "why": ""}]},
    {"claims": [{"quantity": "Q", "ours": True, "half_width": None, "verdict": "reproduced", "why": ""}]},
    {"claims": [{"quantity": "Q", "ours": 1.0, "half_width": -1.0, "verdict": "reproduced", "why": ""}]},
    {"claims": [{"quantity": "Q", "ours": 1.0, "half_width": None, "verdict": "perfect", "why": ""}]}])  # fmt: skip
def test_a_figure_of_wrong_form_is_left_out_and_named(form: Any, tmp_path: Path) -> None:
    papers = {paper.name: paper for paper, _ in catalog.select("all", catalog.FOLDER)}
    figure = papers["auge"].figures[0]
    good = {"paper": "auge", "figure": figure.name, "picture": None, "trouble": "t", "claims": []}
    entry = {**good, **form} if isinstance(form, dict) and form else form
    text = json.dumps({"figures": [entry, good]}).replace('"Q"', json.dumps(figure.claims[0].quantity))
    (tmp_path / "gallery.json").write_text(text, encoding="utf-8")
    messages: list[str] = []
    assert len(list(earlier_figures(tmp_path, papers, messages.append))) == 1
    assert messages == [f"{tmp_path / 'gallery.json'}: found 1 figure of wrong form; leaves it out"]


# Other files that are read back ----- -------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ["flows.parquet", "queue.parquet", "scenario.json"])
@damages
def test_damaged_traces_are_refused(damage: Damage, name: str, tmp_path: Path) -> None:
    write_traces(Scenario.parse(TRACED).run(replications=1, traces=True), tmp_path / "traces")
    path = tmp_path / "traces" / name
    damage(path)
    if path.is_file():  # what is no file is as good as not there
        refused(lambda: draw(tmp_path / "traces"), path)
        return
    try:
        drawn = draw(tmp_path / "traces")
    except InputError as error:
        assert in_one_line(str(error), path)  # noqa: PT017 - either of the two
    else:
        assert drawn


@damages
def test_a_damaged_file_of_a_search_costs_what_it_held(damage: Damage, scenario: Scenario, tmp_path: Path) -> None:
    core = scenario.core.with_packets(7)
    report = scenario.with_packets(7).run(replications=1)
    stored = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    single = _core.run_batch([_core.Job(core, "packet", 3, 0)], 1)[0]
    assert isinstance(single, _core.Report)
    stored.add((7, 0), Report(single))
    stored.add((7, 1), Report(single))
    stored.close()
    damage(stored.path)
    messages: list[str] = []
    reopened = Resumption(tmp_path, Callbacks(tell=messages.append)).of(scenario.core, "packet", "link.buffer")
    found = [reopened.take((7, number), core.sha256) for number in (0, 1)]
    assert all(each is None or each.metrics == report.metrics for each in found)
    assert None in found
    assert len(messages) <= 2
    reopened.add((7, 0), Report(single))
    reopened.close()


def test_a_search_does_not_go_on_from_another_ones_file(scenario: Scenario, tmp_path: Path) -> None:
    single = _core.run_batch([_core.Job(scenario.core.with_packets(7), "packet", 3, 0)], 1)[0]
    assert isinstance(single, _core.Report)
    stored = Resumption(tmp_path).of(scenario.core, "packet", "link.buffer")
    stored.add((7, 0), Report(single))
    stored.close()
    mine = Resumption(tmp_path).of(scenario.changed("run.seed=9").core, "packet", "link.buffer")
    stored.path.rename(mine.path)
    messages: list[str] = []
    found = Resumption(tmp_path, Callbacks(tell=messages.append)).of(
        scenario.changed("run.seed=9").core, "packet", "link.buffer"
    )
    assert found.count == 0
    found.close()
    assert messages == [f"ignored 2 lines of {mine.path} that cannot be read"]


def test_every_flipped_byte_of_a_table_is_seen_before_it_is_read(tmp_path: Path) -> None:
    """Without a table's seal, polars reads many damaged files and returns wrong numbers."""
    path = tmp_path / "t.parquet"
    table = pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    write_table(table, path)
    assert read_table(path, "a table").equals(table)
    assert pl.read_parquet(path).equals(table), "other programs can read the file"
    original = path.read_bytes()
    for place in range(len(original)):
        path.write_bytes(original[:place] + bytes([original[place] ^ 1 << place % 8]) + original[place + 1 :])
        with pytest.raises(DamagedError):
            read_table(path, "a table")


@dataclass(frozen=True)
class Text:
    """A JSON text and whether it is read."""

    text: str
    good: bool


def texts() -> Iterator[Text]:
    for level, good in ((64, True), (65, False), (10**6, False)):
        yield Text("[" * level + "]" * level, good)
        yield Text('{"a":' * level + "1" + "}" * level, good)
    yield Text(json.dumps(["]" * 100, '"[' * 100, "\\" * 99, {"[": "{" * 1000}]), good=True)
    yield Text(json.dumps([[]] * 1000), good=True)
    yield Text(json.dumps({"a": {"b": 1}, "b": {"b": 1}}), good=True)
    for text in ('{"a": {"b": 1, "b": 1}}', "[NaN]", "[-Infinity]", "[1e400]", "1" * 5000, "[1,]", "[", "{}x", "'a'"):
        yield Text(text, good=False)


@pytest.mark.parametrize("text", list(texts()), ids=lambda text: text.text[:20])
def test_json_means_one_thing(text: Text) -> None:
    if text.good:
        assert document(text.text.encode(), "a", "b") == json.loads(text.text)
        assert lines(text.text.encode() + b"\n" + text.text.encode(), "a", "b") == [json.loads(text.text)] * 2
    else:
        with pytest.raises(DamagedError):
            document(text.text.encode(), "a", "b")


def test_no_more_is_read_than_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(10))
    assert content(path, "ten bytes", 10) == bytes(10)
    with pytest.raises(DamagedError, match="more than 9 bytes"):
        content(path, "nine bytes", 9)
    with pytest.raises(DamagedError):
        content(Path("/proc/kallsyms"), "a file that says that it is empty", 1000)


@pytest.mark.parametrize("kind", ["oracle", "ns2", "linux", "tofino", "ns3"])
@damages
def test_damaged_reference_numbers_end_in_one_line(
    damage: Damage, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, kind)
    path.write_bytes(b"".join((ROOT / "tests" / "reference" / path.name).read_bytes().splitlines(keepends=True)[:2]))
    damage(path)
    code = reference.main([str(tmp_path), "--match", "no such label"])
    output = capsys.readouterr()
    assert code in (0, 1, 2)
    # Where no row is left that is said, too; a row that cannot be read counts as one that does not agree.
    silent = code == 0 or (code == 1 and "failed: " in output.out)
    assert len(output.err.splitlines()) == int(not silent)
    assert not output.err or in_one_line(output.err.removesuffix("\n"), tmp_path)
    assert all(line.isprintable() for line in output.out.splitlines())
