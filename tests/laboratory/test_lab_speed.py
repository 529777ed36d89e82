"""The conditions of a smooth laboratory: the thread that simulates, and the size of its messages. Speed is measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks import lab_speed
from checks.lab_page import LaboratoryPage
from checks.lab_speed import CASES, MARKS, Beginning, Frames, Speed
from checks.pages import print_or_write
from forebay.errors import InputError
from forebay.scenario import Scenario
from tests.support.paths import ROOT


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_it_simulates_in_workers_and_says_a_picture_a_frame(probed_page: LaboratoryPage, case: lab_speed.Case) -> None:
    # So long that it is not over before this is; packets are counted from the warm-up on.
    probed_page.open(case.name, lab_speed.changed(replace(case, overrides=("run.warmup=0s", "run.measure=20000s"))))
    probed_page.choose("Speed", "fast")
    probed_page.press("Play")
    probed_page.until("probe.workers[0].pictures >= 20")
    # Engines stand in workers alone, and none says more before what it said was shown.
    assert probed_page.evaluate("probe.instances") == 0
    assert probed_page.evaluate("probe.workers.map((it) => it.mostUnseen)[0]") == 1
    assert probed_page.evaluate("probe.workers.map((it) => it.mostInFrame)[0]") == 1
    # Those of the trade-off are asked one thing after the other.
    probed_page.until("probe.workers.slice(1).some((it) => it.asked > 0)")
    assert probed_page.evaluate("Math.max(...probe.workers.slice(1).map((it) => it.mostAsked))") <= 1
    # A paused page receives no more pictures.
    probed_page.press("Pause")
    probed_page.until("probe.workers[0].unseen === 0")
    before = probed_page.evaluate("new Promise((done) => setTimeout(() => done(probe.workers[0].pictures), 300))")
    after = probed_page.evaluate("new Promise((done) => setTimeout(() => done(probe.workers[0].pictures), 300))")
    assert before == after
    # The count of packets equals the figure that the page shows, to its three digits.
    shown = probed_page.evaluate(
        "[...document.querySelectorAll('.figures div')].find((it) => it.querySelector('dt').textContent === 'packets')"
        ".querySelector('dd').textContent"
    )
    number, _, prefix = str(shown).partition("\u202f")
    scale = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[prefix]
    arrivals = probed_page.evaluate("probe.workers[0].arrivals")
    assert arrivals > 1000
    assert float(number) * scale == pytest.approx(arrivals, rel=6e-3)


def test_the_first_packet_comes_after_the_first_paint(probed_page: LaboratoryPage) -> None:
    begun = lab_speed.beginning(probed_page)
    assert 0 < begun.first_paint_ms <= begun.first_packet_ms


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_measured_scenarios_are_the_files_with_their_changes(case: lab_speed.Case) -> None:
    expected = Scenario.load(ROOT / case.path, case.overrides)
    assert Scenario.parse(lab_speed.changed(case)).core.canonical_json() == expected.core.canonical_json()


def test_tables_show_medians_and_ratios_of_rounds(tmp_path: Path) -> None:
    counted = [Frames("W2", "nothing", 59.94, 0.015, 31.0, 0.0, 3.456), Frames("W2", "the trade-off", 50, 0, 40, 61, 1)]
    speeds = [Speed("W2", 20_000_000, (2.0, 1.0, 4.0), (4.0, 4.0, 4.0), (1.0, 1.0, 1.0))]
    text = lab_speed.tables([Beginning(100, 300), Beginning(200, 400), Beginning(900, 1000)], counted, speeds)
    assert "first 200 ms" in text
    assert "after 400 ms" in text
    assert "| W2 | nothing | 59.9 | 1.5 % | 31 ms | below 50 ms | 3.46 |" in text
    assert "| W2 | the trade-off | 50.0 | 0.0 % | 40 ms | 61 ms | 1.00 |" in text
    assert "| W2 | 20.0 million | 20.0 | 10.0 | 0.50 | 0.25 |" in text
    manual = tmp_path / "page.md"
    manual.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    print_or_write(text, manual, MARKS)
    assert manual.read_text() == f"before\n{MARKS[0]}\n\n{text}\n{MARKS[1]}\nafter\n"
    manual.write_text("no marks")
    with pytest.raises(InputError, match="laboratory: begin"):
        print_or_write(text, manual, MARKS)
