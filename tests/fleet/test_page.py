"""The page of an audit: its data are those of the ports, equal audits give equal pages, and texts stay texts."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay
from checks.fleet_page import example
from forebay import FleetAnswer, FleetExecution, InputError
from forebay.fleets import auditing, changes, measuring
from forebay.fleets.answer import Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.changes import change_sets
from forebay.fleets.growth import Growth
from forebay.fleets.store import Store
from forebay.views import fleet_chart, fleet_page
from forebay.views.fleet_table import natural
from forebay.views.fleet_text import answer_lines
from tests.fleet.page import DATA, column, data_of, without_data
from tests.fleet.ports import inventory, profiles
from tests.support.commands import forebay as command
from tests.support.markup import HARMLESS, HOSTILE, VIEWS, Reading, outline
from tests.support.scenarios import PROFILE

#: Runs of some milliseconds, and goals that buffers of 5 to 40 packets meet.
BRIEF = PROFILE.replace('measure = "30s"', 'measure = "8s"').replace('warmup  = "5s"', 'warmup = "1s"')
PACKETS = (1, 2, 6, 9, 12, 24, 33, 48, 200, 400)
#: A search of one scenario, whose text the page shows.
SEARCHED = FleetExecution(full=1)


def rows(count: int = 20) -> list[dict[str, Any]]:
    given = [{"device": f"d{number}", "buffer": f"{PACKETS[number % len(PACKETS)]} packets"} for number in range(count)]
    return [*given, {"device": "bare", "buffer": None}]


def audit(
    folder: Path, given: list[dict[str, Any]], execution: FleetExecution = SEARCHED, **options: Any
) -> FleetAnswer:
    folder.mkdir(parents=True, exist_ok=True)
    answer = forebay.fleet(inventory(folder, given), profiles(folder, BRIEF), execution, **options)
    assert isinstance(answer, FleetAnswer)
    return answer


def page_of(answer: FleetAnswer) -> str:
    return fleet_page.fleet_page(answer, source="network.csv", options=[("seed of the sample", "1")])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> FleetAnswer:
    return audit(tmp_path_factory.mktemp("whole"), rows())


def test_the_page_begins_with_the_answer_and_fetches_nothing(whole: FleetAnswer) -> None:
    page = page_of(whole)
    found = outline(page)
    text = " ".join(" ".join(found.words).split())
    for line in answer_lines(whole):
        assert line in text
    for verdict, number in whole.counts.items():
        assert f"{verdict} {number} {100 * number / whole.ports.height:.1f} %" in text
    assert found.addresses[0] == "data:,"
    assert all(address.startswith("#port=d") for address in found.addresses[1:])
    assert len(found.addresses) == 1 + min(10, len(whole.first))
    page = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not any(each in page for each in ("http:", "https:", "@import", "url(", "fetch(", "innerHTML"))


def test_the_data_have_each_port_as_the_table_of_ports_has_it(whole: FleetAnswer) -> None:
    data = data_of(page_of(whole))
    for name in ("device", "port", "verdict", "reason", "stage", "buffer", "profile_used"):
        assert column(data, name) == whole.ports[name].to_list(), name
    for name in ("margin", "recommended_bytes", "confidence", "delay_ms", "recommended_loss"):
        known = [each is not None for each in whole.ports[name]]
        assert [each is not None for each in column(data, name)] == known, name
    assert column(data, "rate_bps") == ["2 Mb/s"] * whole.ports.height
    assert column(data, "line") == list(map(str, whole.ports["line"]))


def test_wrong_ports_alone_have_the_lines_of_their_change_set(whole: FleetAnswer) -> None:
    sets = change_sets(whole, "linux")
    page = fleet_page.fleet_page(whole, source="network.csv", changes=sets)
    found = column(data_of(page), "change")
    wrong = [verdict in fleet_page.WRONG for verdict in whole.ports["verdict"]]
    assert [each is not None for each in found] == wrong
    lines = {(each.device, change.port): "\n".join(change.lines) for each in sets for change in each.changes}
    named = zip(whole.ports["device"], whole.ports["port"], found, strict=True)
    assert all(text == lines[device, port] for device, port, text in named if text and not text.startswith("No lines"))
    assert any(lines.values())


def test_texts_of_a_column_are_in_the_order_of_their_values(whole: FleetAnswer) -> None:
    data = data_of(page_of(whole))
    by_name = {each["name"]: each for each in data["columns"]}
    numbers = [by_name["buffer_bytes"]["rows"][row] for row in whole.ports["buffer_bytes"].fill_null(-1).arg_sort()]
    assert numbers == sorted(numbers)
    assert by_name["verdict"]["texts"] == [each for each in fleet_page.VERDICTS if whole.counts[each]]
    assert by_name["device"]["texts"][:4] == ["bare", "d0", "d1", "d2"]
    names = ["eth10", "eth2", "Eth1", "eth2/10", "eth2/9", "eth02", "", "9" * 5000, "8" * 5000]
    ordered = ["", "8" * 5000, "9" * 5000, "Eth1", "eth2", "eth02", "eth2/9", "eth2/10", "eth10"]
    assert sorted(names, key=natural) == ordered


def test_the_table_begins_with_the_ports_to_change_first(whole: FleetAnswer) -> None:
    data = data_of(page_of(whole))
    order = sorted(range(whole.ports.height), key=lambda row: data["answer"][row])
    questions = list(dict.fromkeys(whole.ports["question"][row] for row in order))
    assert tuple(questions[: len(whole.first)]) == whole.first
    assert whole.ports["verdict"][order[-1]] == "fine"


def test_an_answer_has_the_measured_value_of_each_goal_at_the_configured_buffer(whole: FleetAnswer) -> None:
    data = data_of(page_of(whole))
    checked = 0
    for row, question in enumerate(whole.ports["question"]):
        answer = data["answer"][row]
        place, link = data["answers"]["point"][answer], data["answers"]["link"][answer]
        if question is None or place < 0:
            continue
        asked = whole.questions[question]
        point = whole.points[asked.link][place]
        assert point.bytes == asked.scenario().buffer.bytes
        cells = data["links"][link]["measured"][place]
        (head,) = (
            at for at, each in enumerate(data["links"][link]["heads"]) if each.startswith("utilization is at least")
        )
        # Percents are shown with four digits.
        assert float(cells[head].partition(" ")[0]) == pytest.approx(100 * point.goal("utilization").mean, abs=0.06)
        assert f": {point.goal('utilization').verdict}" in cells[head]
        checked += 1
    assert checked > 10


def test_measured_buffers_are_those_that_verdicts_rest_on(whole: FleetAnswer, tmp_path: Path) -> None:
    audit(tmp_path, [{"device": "x", "buffer": f"{number} packets"} for number in (3, 70, 111)], out=tmp_path / "out")
    again = audit(tmp_path, rows(), out=tmp_path / "out")
    assert again.reused > 0
    assert again.points == whole.points
    assert page_of(again).replace(str(tmp_path), "") == page_of(whole).replace(
        str(Path(whole.ports["file"][0]).parent), ""
    )
    sizes = [point.bytes for point in next(iter(whole.points.values()))]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == len(sizes)


def test_a_measured_buffer_without_a_verdict_is_left_out(whole: FleetAnswer, monkeypatch: pytest.MonkeyPatch) -> None:
    question = whole.questions[whole.first[0]]
    monkeypatch.setattr(measuring, "measured", lambda text, **_options: {"bytes": float(len(text)), "runs": 4})
    means = measuring.Measuring(Store(None, print), measuring.QuickPrecision())
    points = [question.with_size(Size(number, "p")) for number in (1000, 3)]
    means.measure(points)
    assert means.points() == {}
    for point in points:
        means.find(point)
    assert [point.bytes for point in means.points()[question.link]] == [
        len(each.at(each.size)) for each in points[::-1]
    ]


def test_equal_ports_share_one_answer_and_one_scenario(whole: FleetAnswer) -> None:
    data = data_of(page_of(whole))
    assert len(set(data["answer"])) == len(PACKETS) + 1
    assert [each["scenario"] for each in data["links"]] == [whole.questions[whole.first[0]].text]
    (text,) = data["texts"]
    assert text == next(each.text for each in whole.judgments.values() if each.text)
    assert "We recommend" in text
    assert "CPU" not in text


def test_the_text_of_a_search_is_kept_and_one_without_a_text_is_sought_again(
    whole: FleetAnswer, tmp_path: Path
) -> None:
    texts = {digest: judgment.text for digest, judgment in whole.judgments.items()}
    given = inventory(tmp_path, rows()), profiles(tmp_path, BRIEF)
    bare = auditing.audited(*given, FleetExecution(full=1), out=tmp_path / "out").answer
    assert not any(judgment.text for judgment in bare.judgments.values())
    for added in (1, 0):
        found = audit(tmp_path, rows(), out=tmp_path / "out")
        assert {digest: judgment.text for digest, judgment in found.judgments.items()} == texts
        assert found.measured == added


def test_the_summary_and_the_table_have_no_text_of_a_search(whole: FleetAnswer) -> None:
    assert "text" not in whole.ports.columns
    assert not any("text" in each for each in whole.to_dict()["change_first"])


def test_the_command_writes_the_page_with_its_options(tmp_path: Path) -> None:
    inventory(tmp_path, rows(4))
    profiles(tmp_path, BRIEF)
    pages = []
    for out in ("one", "two"):
        done = command("fleet", "ports.csv", "--out", out, "--full", "0", "--growth", "40%", cwd=tmp_path)
        assert f"Every port: {out}/index.html" in done.out
        pages.append((tmp_path / out / "index.html").read_bytes())
    assert pages[0] == pages[1]
    text = " ".join(outline(pages[0].decode()).words)
    for words in ("growth", "40%", "confidence of packet runs", "80 %", "5 ports of ports.csv"):
        assert words in text
    assert "too small in year" in {each["title"] for each in data_of(pages[0].decode())["columns"]}


def test_the_command_and_the_function_write_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inventory(tmp_path, [{**row, "platform": "junos", "port": "ge-0/0/0"} for row in rows(4)])
    profiles(tmp_path, BRIEF)
    (tmp_path / "boxes.csv").write_text("platform,bytes_per_port\nsmall,3000\n")
    asked = ["--growth", "40%", "--replace", "platform=boxes.csv", "--for", "linux", "--full", "1"]
    more = ["--profiles", "profiles/", "--confidence", "90%", "--seed", "7", "--out", "command"]
    assert command("fleet", "./ports.csv", *asked, *more, cwd=tmp_path).code == 1
    execution = FleetExecution(full=1, confidence=0.9, seed=7)
    options = {"growth": "40%", "replace": "platform=boxes.csv", "platform": "linux"}
    forebay.fleet("./ports.csv", "profiles/", execution, out="function", **options)  # type: ignore[arg-type]
    command_files, function_files = (
        {
            str(path.relative_to(folder)): path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file() and path.parent.name != "measurements"
        }
        for folder in ("command", "function")
    )
    assert {"index.html", "ports.parquet", "changes/d0.txt"} < set(command_files)
    assert command_files == function_files


def test_the_page_of_tables_in_memory_names_their_files(tmp_path: Path) -> None:
    audit(tmp_path, rows(2), FleetExecution(full=0), out=tmp_path / "out", growth=Growth(((1, 1.5),)))
    text = " ".join(outline((tmp_path / "out" / "index.html").read_text(encoding="utf-8")).words)
    shown = " ".join(text.split())
    for words in (f"inventory {tmp_path}/ports.csv", "growth 1: 1.5", f"profiles {tmp_path}/profiles"):
        assert words in shown, words


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out" / "index.html").mkdir(parents=True)
    with pytest.raises(InputError, match=r"index\.html.*cannot be written") as caught:
        audit(tmp_path, rows(1), FleetExecution(full=0), out=tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_change_sets_are_made_once_and_the_page_has_the_lines_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    actual = changes.change_sets

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return actual(*arguments)

    for module in (changes, auditing):
        monkeypatch.setattr(module, "change_sets", counted)
    answer = audit(tmp_path, rows(), FleetExecution(full=0), out=tmp_path / "out", platform="linux")
    assert calls == 1
    page = data_of((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    shown = dict(zip(column(page, "device"), column(page, "change"), strict=True))
    wrong = answer.ports.filter(pl.col("verdict").is_in(fleet_page.WRONG))["device"].to_list()
    assert wrong
    assert {path.stem for path in (tmp_path / "out" / "changes").iterdir()} == set(wrong)
    for device in wrong:
        text = (tmp_path / "out" / "changes" / f"{device}.txt").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert lines == (shown[device] or "").splitlines()


def test_the_answer_is_printed_also_if_the_page_cannot_be_written(tmp_path: Path) -> None:
    inventory(tmp_path, rows(1))
    profiles(tmp_path, BRIEF)
    (tmp_path / "out" / "index.html").mkdir(parents=True)
    done = command("fleet", "ports.csv", "--out", "out", "--full", "0", cwd=tmp_path)
    assert done.code == 2
    assert done.out.startswith("2 ports: ")
    assert done.err.count("\n") == 1
    assert "index.html" in done.err
    assert (tmp_path / "out" / "ports.parquet").exists()


def renamed(answer: FleetAnswer, text: str) -> FleetAnswer:
    """The answer with a text wherever an inventory or a profile brings one."""
    columns = (
        "device",
        "port",
        "service_class",
        "platform",
        "buffer",
        "role",
        "queue",
        "config",
        "profile_used",
        "file",
    )
    ports = answer.ports.with_columns(pl.lit(text).alias(each) for each in columns)
    judgments = {digest: dataclasses.replace(each, reason=text) for digest, each in answer.judgments.items()}
    ports = ports.with_columns(pl.lit(text).alias("reason"))
    rejected = pl.DataFrame({"file": [text], "line": [3], "reason": [text]})
    return dataclasses.replace(answer, ports=ports, rejected=rejected, judgments=judgments)


def test_the_page_takes_no_text_for_markup(whole: FleetAnswer) -> None:
    pages = {
        text: fleet_page.fleet_page(renamed(whole, text), source=text, options=[("inventory", text)])
        for text in (HOSTILE, HARMLESS)
    }
    found = Reading(pages[HOSTILE])
    assert found.elements == Reading(pages[HARMLESS]).elements
    scripts = [(VIEWS / name).read_text(encoding="utf-8").strip() for name in ("webpage.js", "fleet.js")]
    assert Reading(without_data(pages[HOSTILE])).inside("script").split() == " ".join(scripts).split()
    assert "alert(1)</script>" not in pages[HOSTILE]
    assert "<img" not in pages[HOSTILE]
    (raw,) = DATA.findall(pages[HOSTILE])
    assert not set("<>&\u2028") & set(raw)
    shown = HOSTILE.replace("\u2028", "\\u2028")
    assert set(column(data_of(pages[HOSTILE]), "device")) == {shown}


@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "x" * 10_000, "\x1b[31m", "\x00", "a\tb"])
def test_control_characters_and_long_names_are_legible(whole: FleetAnswer, name: str) -> None:
    answer = renamed(whole, name)
    # The lines of a configuration are as long as they are.
    page = page_of(dataclasses.replace(answer, ports=answer.ports.with_columns(config=pl.lit(None, pl.String))))
    (shown,) = set(column(data_of(page), "device"))
    assert shown is not None
    assert len(shown) <= 2000
    assert shown.isprintable()
    assert name not in page


def test_ports_without_a_margin_are_counted_in_a_sentence(whole: FleetAnswer) -> None:
    text = " ".join(outline(page_of(whole)).words)
    assert "1 port is not in the picture, because the needed buffer is not known: 1 not answerable." in text
    spots = data_of(page_of(whole))["answers"]["spot"]
    assert spots.count(-1) == 1


def test_the_picture_has_a_mark_with_a_shape_for_each_verdict(whole: FleetAnswer) -> None:
    looks = fleet_chart.LOOKS.values()
    assert len({look.marker for look in looks}) == len({look.color for look in looks}) == len(fleet_page.VERDICTS)
    page = page_of(whole)
    for verdict in ("fine", "too small", "too large"):
        series = fleet_chart.SERIES[verdict]
        assert f'class="s-{series}"' in page, verdict
        assert f'data-series="{series}"' in page, verdict


def test_many_ports_share_few_marks_and_none_is_lost(tmp_path: Path) -> None:
    answer = example(3000, 2000, tmp_path)
    table = fleet_page.fleet_table(answer)
    picture = fleet_chart.fleet_picture(answer, table)
    assert len(table.answers) == 3000
    assert table.frame.height > 1000
    used = {spot for spot in picture.spots if spot >= 0}
    assert used == set(range(len(used)))
    assert 50 < len(used) <= fleet_chart.MOST_SPOTS
    known = sum(answer.ports["margin"].is_not_null())
    shown = sum(count for spot, count in zip(picture.spots, table.frame["ports"], strict=True) if spot >= 0)
    assert shown == known == 3000 - sum(picture.missing.values())
    assert picture.joined
    assert not picture.has_bars


def test_scenarios_that_are_too_large_together_stay_out(whole: FleetAnswer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_page, "MOST_SCENARIOS", 10)
    (link,) = data_of(page_of(whole))["links"]
    assert link["scenario"] is None
    assert link["measured"]


def test_without_matplotlib_the_page_has_its_table(whole: FleetAnswer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = page_of(whole)
    assert "<svg" not in page
    assert "There are no charts" in " ".join(outline(page).words)
    assert len(data_of(page)["answer"]) == whole.ports.height


def test_an_audit_without_ports_has_a_page(whole: FleetAnswer) -> None:
    empty = dataclasses.replace(
        whole, ports=whole.ports.clear(), questions={}, judgments={}, first=(), points={}, sample=None,
        counts=dict.fromkeys(whole.counts, 0),
    )  # fmt: skip
    assert data_of(page_of(empty))["answer"] == []


def test_a_question_that_is_refused_is_shown_without_goals(whole: FleetAnswer) -> None:
    digest, question = next(iter(whole.questions.items()))
    broken = dataclasses.replace(question, text=question.text.replace("newreno", "newrino"))
    refused = Judgment("not answerable", "unknown cca")
    answer = dataclasses.replace(
        whole, questions={**whole.questions, digest: broken}, judgments={**whole.judgments, digest: refused}
    )
    assert [] in [link["goals"] for link in data_of(page_of(answer))["links"]]
