"""The atlas: its cells, what it finds in small ones, and that nothing is lost where it is interrupted."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from checks.atlas import making
from checks.atlas.cells import MOST_CROWDED, MOST_PACKETS, TARGETS, Cell, cells
from checks.atlas.drawing import draw_buffers, draw_rules
from checks.atlas.fitting import fitted
from checks.atlas.judging import Verdict, rule_results, tally
from checks.atlas.making import computed
from checks.atlas.page import FITS, FOUND, RULES, renew
from forebay.atlas.rows import Row, read, write
from forebay.search.planning import reach
from forebay.storage import journal
from forebay.storage.files import within
from forebay.storage.safe_io import DamagedError
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = Cell(10e6, 0.010, 3, "newreno", 0.0)


def test_cells_are_what_the_atlas_is_of() -> None:
    found, quick = list(cells()), list(cells(quick=True))
    assert len(set(found)) == len(found) > 500
    assert set(quick) < set(found)
    assert sum(cell.packets for cell in quick) < 0.05 * sum(cell.packets for cell in found)
    assert [cell.packets for cell in found] == sorted(cell.packets for cell in found)
    assert len({cell.name for cell in found}) == len(found)
    assert all(cell.packets <= MOST_PACKETS and cell.flows <= MOST_CROWDED * cell.bdp for cell in found)
    assert {cell.controller for cell in found} == {"newreno", "cubic", "bbr", "bbr3"}
    assert min(cell.bdp for cell in found) < 10
    assert max(cell.bdp for cell in found) > 80_000
    assert {1, 10_000} <= {cell.flows for cell in found}
    # Timeouts of 200 ms, and what they bring, are waited for and seen.
    assert min(cell.seconds[0] for cell in found) >= 10 * 0.2
    assert min(cell.seconds[1] for cell in found) >= 20 * 0.2


@pytest.mark.parametrize("cell", [*list(cells(quick=True))[::7], SMALL, replace(SMALL, background=0.5)], ids=str)
def test_a_cell_is_the_scenario_that_it_says(cell: Cell) -> None:
    scenario = cell.scenario()
    core = scenario.core
    assert core.rate_bps == pytest.approx(cell.rate)
    assert core.duration_s == pytest.approx(cell.seconds, rel=1e-6)
    # The harmonic mean of round trips within a fifth of the stated one.
    spread = 0.4 / math.log(1.2 / 0.8)
    assert core.bdp_packets == pytest.approx(cell.bdp * spread, rel=0.02)
    assert scenario.resolved["flows"][0]["count"] == cell.flows
    assert len(scenario.resolved["flows"]) == 1 + (cell.background > 0)


def test_swings_are_those_of_the_controllers() -> None:
    """A window of 1500 packets: 750 round trips of 1.25 s; K = (0.3 W / 0.4)^(1/3) where that comes sooner."""
    of = replace(SMALL, rate=12e6, rtt=1.0, flows=1)
    assert of.bdp == 1000
    assert of.swing == 937.5
    assert replace(of, controller="cubic").swing == pytest.approx(1125 ** (1 / 3))
    short = replace(of, rate=12e9, rtt=0.001, controller="cubic")
    assert short.swing == pytest.approx(1.5 * 1.25 * 0.3 / 0.53)
    assert replace(of, flows=10).swing == 93.75
    assert replace(of, background=0.5).swing == 468.75
    assert replace(of, controller="bbr").swing == 10


def test_more_utilization_needs_more_and_rules_are_judged_by_it() -> None:
    found = list(making.rows(SMALL))
    assert [row.utilization for row in found] == list(TARGETS)
    less, more = found
    assert less.high_packets is not None
    assert more.low_packets is not None
    assert more.buffer_packets is not None
    assert less.high_packets <= more.buffer_packets
    # New Reno's windows halve: between a fifth of the bandwidth-delay product and twice that will do.
    assert 0.2 * SMALL.bdp <= more.buffer_packets <= 2 * SMALL.bdp + 4
    assert all(row.data_packets > 0 and row.replications > 4 for row in found)
    for each in rule_results(found):
        row = each.row
        assert row.low_packets is not None
        assert row.high_packets is not None
        assert (each.packets < 0.8 * row.low_packets) == (each.verdict is Verdict.SMALL)
        assert (each.packets > 1.2 * row.high_packets) == (each.verdict is Verdict.LARGE)


def row(flows: int, rule: float, *, low: int, high: int) -> Row:
    return Row(10e6, 0.1, rule, flows, "newreno", 0.0, 0.99, high, low, high, 0.99, 20, 1000)


def test_a_rule_is_right_within_a_fifth_of_the_interval() -> None:
    def verdict(low: int, high: int) -> Verdict:
        return next(each.verdict for each in rule_results([row(1, 83.3, low=low, high=high)]) if each.rule == "bdp")

    # The rule of thumb says about 82 packets.
    assert verdict(70, 80) is verdict(95, 120) is verdict(50, 70) is Verdict.RIGHT
    assert verdict(110, 130) is Verdict.SMALL
    assert verdict(20, 60) is Verdict.LARGE
    nothing = replace(row(1, 83.3, low=1, high=1), buffer_packets=None, low_packets=None, high_packets=None)
    assert not list(rule_results([nothing]))
    found = tally(rule_results([row(1, 83.3, low=70, high=80), row(100, 83.3, low=5, high=8)]))
    assert found["bdp", "newreno"] == Counter({Verdict.RIGHT: 1, Verdict.LARGE: 1})


def test_an_interrupted_atlas_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retained, required = tmp_path / "kept" / "cells.jsonl", list(cells())[:4]
    made: list[Cell] = []

    def rows(cell: Cell) -> list[Row]:
        made.append(cell)
        return [row(cell.flows, cell.bdp, low=1, high=2)]

    monkeypatch.setattr(making, "rows", rows)
    first = list(itertools.islice(computed(required, retained), 2))
    with retained.open("ab") as file:
        file.write(b'0badc0de {"build": "this", "cell": "x"}\n')
        file.write(journal.line({"build": "another", "cell": required[2].name, "rows": []}) + b"half a li")
    second = list(computed(required, retained))
    assert [there for there, _ in first] == [False, False]
    assert [there for there, _ in second] == [True, True, False, False]
    assert made == required
    assert [found for _, found in second[:2]] == [found for _, found in first]
    assert all(there for there, _ in computed(required, retained))


def test_the_table_keeps_every_row_to_the_last_bit(tmp_path: Path) -> None:
    found = [replace(row(flows, 0.1 + 0.2, low=1, high=2), rate_bps=flows / 3) for flows in (10, 1, 3)]
    found.append(replace(found[0], controller="bbr", buffer_packets=None, low_packets=None, confidence=None))
    path = tmp_path / "atlas.csv"
    write(found, path)
    assert read(path) == [found[3], found[1], found[2], found[0]]
    before = path.read_bytes()
    write(reversed(found), path)
    assert path.read_bytes() == before, "in whichever order they come"


def test_others_read_the_table_too(tmp_path: Path) -> None:
    found = [row(flows, 83.3, low=1, high=2) for flows in (10, 1, 3)]
    write(found, tmp_path / "atlas.csv")
    table = pl.read_csv(tmp_path / "atlas.csv", comment_prefix="#")
    assert table.to_dicts() == [
        {name: getattr(each, name) for name in table.columns} for each in sorted(found, key=lambda each: each.flows)
    ]


@pytest.mark.parametrize("damage", [lambda raw: raw[:-30], lambda raw: raw.replace(b"83.3", b"83.4", 1), lambda _: b""])
def test_a_damaged_table_is_none(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "atlas.csv"
    write([row(flows, 83.3, low=1, high=2) for flows in (10, 1, 3)], path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedError, match="make atlas"):
        read(path)


def test_a_table_of_other_columns_is_none(tmp_path: Path) -> None:
    body = b"rate_bps\n1\n"
    path = tmp_path / "atlas.csv"
    path.write_bytes(b"# forebay sha256 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(DamagedError, match="other columns"):
        read(path)


def test_pictures_show_every_controller_and_rule() -> None:
    found = [
        replace(row(flows, 83.3, low=20, high=30), controller=name) for flows in (10, 1) for name in ("newreno", "bbr")
    ]
    buffers, rules = draw_buffers(found), draw_rules(list(rule_results(found)))
    assert [panel.get_title("left") for panel in buffers.axes] == ["New Reno", "CUBIC", "BBR", "BBRv3"]
    assert [len(panel.lines) for panel in buffers.axes] == [2, 2, 2, 2], "a line for the rate, one for the rule"
    assert list(buffers.axes[0].lines[0].get_xdata()) == [1, 10], "from few flows to many"
    assert [panel.get_title("left") for panel in rules.axes][:2] == ["bdp", "sqrt-n"]
    assert rules.axes[0].lines, "marks"


def test_the_search_reaches_as_far_as_recommend_does() -> None:
    assert reach(1000.0) == (2000, 16_000)
    assert reach(1.0) == (8, 64)


def lawful(controller: str, law: Callable[[float, int], float], error: float = 0.0) -> list[Row]:
    """Rows whose interval is a factor of 1.1 on either side of a law, which is itself off by some error."""
    rng, rows = np.random.default_rng(5), []
    for cell in list(cells())[::3]:
        if cell.controller == controller:
            middle = law(cell.bdp, cell.flows) * math.exp(error * rng.normal())
            ends = middle / 1.1, middle * 1.1
            kind = (cell.rate, cell.rtt, cell.bdp, cell.flows, controller, cell.background, 0.99)
            rows.append(Row(*kind, ends[1], *ends, 0.9, 20, 10**6))  # type: ignore[arg-type]
    return rows


def test_a_power_law_is_found_again() -> None:
    found = fitted(lawful("cubic", lambda bdp, flows: 6 + 0.5 * bdp**0.9 / flows**0.6), "cubic", 0.99)
    assert (found.floor, found.factor) == pytest.approx((6, 0.5), rel=0.02)
    assert (found.bdp_power, found.flows_power) == pytest.approx((0.9, 0.6), abs=0.01)
    assert (found.right, found.unseen) == (1.0, 1.0)
    assert str(found) == "6.0 + 0.50 BDP^0.90 / N^0.60"
    assert found.packets(1000, 100) == pytest.approx(6 + 0.5 * 1000**0.9 / 100**0.6, rel=0.02)


def test_what_was_fitted_is_no_witness() -> None:
    """Where links follow no law the fit is better on those that it saw than on those that it did not."""
    rows = lawful("newreno", lambda bdp, flows: 6 + bdp / flows**0.6)
    by_link = {}
    for each in rows:
        factor = by_link.setdefault((each.rate_bps, each.rtt_s), 1.5 ** (-1) ** len(by_link))
        assert each.low_packets is not None
        assert each.high_packets is not None
        rows[rows.index(each)] = replace(
            each, low_packets=factor * each.low_packets, high_packets=factor * each.high_packets
        )
    found = fitted(rows, "newreno", 0.99)
    assert found.rows == len(rows)
    assert found.unseen < found.right < 1


@pytest.mark.long
def test_the_page_tells_what_was_found(tmp_path: Path) -> None:
    found = [
        replace(each, utilization=target)
        for controller, times in (("newreno", 1), ("cubic", 2), ("bbr", 1), ("bbr3", 1))
        for target in TARGETS
        for each in lawful(controller, lambda bdp, _, times=times: times * bdp)
    ]
    page = tmp_path / "atlas.md"
    empty = "\n".join(f"{begin}\n{end}\n" for begin, end in (FOUND, RULES, FITS))
    page.write_text(f"# Atlas\n\n{empty}", encoding="utf-8")
    renew(page, found, list(rule_results(found)))
    first = page.read_text(encoding="utf-8")
    (of_rule,) = [line for line in within(first, RULES, "page").splitlines() if "`bdp`" in line]
    # BDP: just right for New Reno, too little for CUBIC; it is no rule for BBR.
    assert of_rule == "| `bdp` | 100 / 0 / 0 | 0 / 100 / 0 | - | - |"
    (fit,) = [line for line in within(first, FITS, "page").splitlines() if line.startswith("| CUBIC, 99 %")]
    assert "| 0.0 + 2.00 BDP^1.00 / N^0.00 |" in fit
    assert "| 100 % | 100 % |" in fit
    (count,) = [line for line in within(first, FOUND, "page").splitlines() if line.startswith("| BBR, 95 %")]
    links = sum(cell.controller == "bbr" for cell in list(cells())[::3])
    assert count == f"| BBR, 95 % | {links} | {links} | a factor of 1.21 | a factor of 1.21 | {links / 1000:.1f} |"
    renew(page, found, list(rule_results(found)))
    assert page.read_text(encoding="utf-8") == first


def test_the_table_that_comes_with_forebay_is_the_one_of_the_manual(tmp_path: Path) -> None:
    found = read()
    assert [(row.rate_bps, row.rtt_s, row.flows, row.controller, row.background) for row in found] == [
        (cell.rate, cell.rtt, cell.flows, cell.controller, cell.background)
        for _, cell in sorted(
            ((cell.controller, cell.background, target, cell.bdp, cell.rate, cell.flows), cell)
            for cell in cells()
            for target in TARGETS
        )
    ]
    page = tmp_path / "atlas.md"
    page.write_text((ROOT / "docs" / "reference" / "atlas.md").read_text(encoding="utf-8"), encoding="utf-8")
    renew(page, found, list(rule_results(found)))
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "reference" / "atlas.md").read_text(encoding="utf-8")


def test_rows_are_smallest_buffers() -> None:
    """More utilization needs no less, more packets cannot wait than were looked for, and no interval is upside down."""
    by_link: dict[tuple[float, float, int, str, float], list[Row]] = {}
    for each in read():
        by_link.setdefault((each.rate_bps, each.rtt_s, each.flows, each.controller, each.background), []).append(each)
        if each.buffer_packets is not None:
            assert each.low_packets is not None
            assert each.high_packets is not None
            assert 1 <= each.low_packets <= each.high_packets
            assert each.low_packets <= each.buffer_packets <= reach(each.bdp_packets)[1]
            assert each.confidence is None or 0 <= each.confidence < 1
    upside_down = 0
    for less, more in by_link.values():
        assert (less.utilization, more.utilization) == TARGETS
        # Each interval misses its edge once in five.
        upside_down += (more.high_packets or math.inf) < (less.low_packets or 0)
    assert upside_down <= 0.05 * len(by_link)
