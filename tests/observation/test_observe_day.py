"""Load over the day: the busy hour is described, `--window` chooses another part, drops have their time and load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forebay import InputError, Scenario, recommend
from forebay.observation.busy_hour import BUSY_HOUR, WHOLE, Intervals, Window, day_of
from forebay.observation.finding import Finding
from forebay.observation.observing import observe
from forebay.observation.writing import scenario_text
from tests.support.commands import forebay
from tests.support.readings import read_counters, read_records

#: Monday, 2026-09-21 00:00 UTC; three days of intervals of five minutes.
BEGIN, STEP, COUNT = 1_789_948_800, 300, 864
#: 100 Mb/s at night and 400 Mb/s by day; from 20:00 to 21:00 of the second day 800 Mb/s, with drops at its end.
HOURS = (np.arange(COUNT) * STEP // 3600) % 24
RATES = np.where((HOURS >= 8) & (HOURS < 22), 400e6, 100e6)
BUSY = slice(288 + 240, 288 + 252)
RATES[BUSY] = 800e6
DROPS = np.zeros(COUNT, dtype=int)
DROPS[288 + 251] = 3000
PACKETS = (RATES * STEP / 8 / 1000).astype(int)


def table(names: str = "time,ifHCOutOctets,ifHCOutUcastPkts,ifOutDiscards,ifHighSpeed", *, packets: bool = True) -> str:
    columns = [np.concatenate([[0], np.cumsum(each)]) for each in ((RATES * STEP / 8).astype(int), PACKETS, DROPS)]
    if not packets:
        names, columns = names.replace("ifHCOutUcastPkts,", ""), [columns[0], columns[2]]
    values = [[BEGIN + STEP * at, *(int(column[at]) for column in columns), 1000] for at in range(COUNT + 1)]
    rows = [",".join(map(str, row)) for row in values]
    return "\n".join([names, *rows, ""])


@pytest.fixture
def polled(tmp_path: Path) -> Path:
    path = tmp_path / "week.csv"
    path.write_text(table())
    return path


def found(path: Path, window: str | None = None) -> Finding:
    return observe([path], window=None if window is None else Window.parse(window))


def mean_of(finding: Finding) -> float:
    assert finding.load is not None
    return finding.load.mean.value


def test_the_scenario_is_of_the_busy_hour(polled: Path) -> None:
    finding = found(polled)
    assert mean_of(finding) == pytest.approx(800e6)
    day = finding.day
    assert day is not None
    assert (day.span.begin_s, day.span.end_s) == (BEGIN + 86400 + 72000, BEGIN + 86400 + 75600)
    assert day.mean.value == pytest.approx(RATES.mean())
    assert [each.value for each in day.quantiles] == pytest.approx([400e6, 400e6, 800e6, 800e6])
    assert 'poisson = { rate = "800Mbps" }' in scenario_text(finding)
    busiest = "the described part is the busiest hour of the input: 2026-09-22 20:00 UTC to 2026-09-22 21:00 UTC"
    assert busiest in finding.notes


@pytest.mark.parametrize(
    ("window", "mean"),
    [
        ("all", RATES.mean()),
        ("15min", 800e6),
        ("2h", 600e6),
        ("2026-09-21T20:00..2026-09-21T22:00", 400e6),
        ("20:00..21:00", 1600e6 / 3),
        ("23:00..07:00", 100e6),
    ],
)
def test_another_window_is_described(window: str, mean: float, polled: Path) -> None:
    assert mean_of(found(polled, window)) == pytest.approx(mean)


@pytest.mark.parametrize("text", ["", "hour", "0h", "..", "20:00..20:00", "25:00..26:00", "2026-09-22..2026-09-21"])
def test_what_is_no_window_is_one_line(text: str, polled: Path) -> None:
    done = forebay("observe", polled, "--window", text)
    assert done.code == 2
    assert "--window: found" in done.err
    assert done.err.count("\n") == 1


def test_a_window_without_load_and_one_of_sockets_are_refused(polled: Path) -> None:
    with pytest.raises(InputError, match="found no load in it"):
        found(polled, "2020-01-01..2020-01-02")
    assert "with counters and flow records" in forebay("observe", "--ss", polled, "--window", "1h").err


def test_drops_have_their_time_their_load_and_their_share(polled: Path) -> None:
    day = found(polled).day
    assert day is not None
    (loss,) = day.losses
    assert (loss.time_s, loss.load_bps, loss.drops) == (BEGIN + STEP * (288 + 251), pytest.approx(800e6), 3000)
    assert loss.share == pytest.approx(3000 / (3000 + PACKETS[288 + 251]))
    assert day.loss is not None
    assert day.loss_of_all is not None
    assert day.loss.value == pytest.approx(3000 / (3000 + PACKETS[BUSY].sum()))
    assert day.loss_of_all.value == pytest.approx(3000 / (3000 + PACKETS.sum()))


def test_without_packets_a_share_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "week.csv"
    path.write_text(table(packets=False))
    day = found(path).day
    assert day is not None
    assert (day.loss, day.losses[0].share) == (None, None)
    assert day.loss_at_most == pytest.approx(3000 / (3000 + (RATES * STEP / 8).sum() / 1500))


def test_hours_of_the_day_are_those_of_the_clock(polled: Path) -> None:
    day = found(polled).day
    assert day is not None
    means = {hour.hour: hour.mean for hour in day.hours}
    assert means == {hour: pytest.approx(100e6 if hour in (*range(8), 22, 23) else 400e6 if hour != 20 else 1600e6 / 3)
                     for hour in range(24)}  # fmt: skip
    assert max(day.hours, key=lambda hour: hour.drops).hour == 20


def test_the_page_and_the_terminal_show_the_day(polled: Path, tmp_path: Path) -> None:
    page = tmp_path / "week.html"
    done = forebay("observe", polled, "--report", page)
    assert done.code == 0, done.err
    first = " ".join(done.out.split())
    assert first.startswith(
        "1.00 Gb/s link, buffer unknown Mean load in the busiest hour of the input: 800 Mb/s (80 %); in the whole "
        "input: 281"
    )
    assert ") Drops in 1 interval" in first
    assert "Load by hour of the day (UTC): highest at 20:00, 533 Mb/s (53.3 %)" in done.out
    assert "2026-09-22 20:55 UTC: 3,000 drops" in done.out
    text = page.read_text()
    for words in ("Load over the day", "Load by hour of the day", "hour of the day (UTC)", "Intervals with drops"):
        assert words in text


@pytest.mark.parametrize("count", [2, 5, 11])
def test_the_busiest_part_is_never_less_busy_than_another(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(50):
        seconds = rng.choice([100.0, 200.0], 60)
        starts = np.concatenate([[0.0], np.cumsum(seconds)[:-1]]) + BEGIN
        rates = rng.uniform(0, 1e6, 60)
        nothing = np.zeros(0)
        _, chosen = day_of(
            Intervals(starts, seconds, rates, nothing, nothing), Window(length_s=200.0 * count), "a test"
        )
        at = np.flatnonzero(chosen)
        assert np.array_equal(at, np.arange(at[0], at[-1] + 1))
        assert seconds[chosen].sum() <= 200.0 * count
        mean = (rates * seconds)[chosen].sum() / seconds[chosen].sum()
        for first in range(60):
            last = first + int(np.searchsorted(np.cumsum(seconds[first:]), 200.0 * count + 1e-6, side="right"))
            lasting = seconds[first:last].sum()
            if lasting >= 0.75 * 200 * count and starts[first] + 150 * count <= starts[-1] + seconds[-1]:
                assert (rates * seconds)[first:last].sum() / lasting <= mean * (1 + 1e-9)


def test_records_are_cut_to_the_busy_hour(tmp_path: Path) -> None:
    rows = ["ts,te,sa,da,sp,dp,pr,flg,ipkt,ibyt"]
    for at in range(0, 4 * 3600, 20):
        size = 5_000_000 if 7200 <= at < 10800 else 1_000_000
        rows.append(f"{BEGIN + at},{BEGIN + at + 10},10.0.0.1,10.0.0.2,{at},80,TCP,APSF,1000,{size}")
    # One flow over all of the time.
    rows.append(f"{BEGIN},{BEGIN + 4 * 3600},10.0.0.9,10.0.0.2,9,80,TCP,AP,72000,72000000")
    path = tmp_path / "flows.csv"
    path.write_text("\n".join([*rows, ""]))
    complete = read_records([path])
    assert complete.count == 721
    short = tmp_path / "short.csv"
    short.write_text("\n".join([*rows[:-1], ""]))
    busy = read_records([short], window=BUSY_HOUR)
    assert busy.day is not None
    assert busy.day.span.begin_s == pytest.approx(BEGIN + 7200, abs=30)
    assert busy.estimates["load"].value == pytest.approx(5_000_000 * 8 / 20, rel=0.05)
    assert busy.estimates["size_p50"].value == 5_000_000
    assert read_records([short], window=WHOLE).estimates["load"].value == pytest.approx(2_000_000 * 8 / 20, rel=0.05)
    # Bytes of what is cut are in proportion to its time.
    part = read_records([short], window=Window.parse("2026-09-21T00:00:05..2026-09-21T02:00"))
    assert part.records.select("bytes").collect()["bytes"].sum() == pytest.approx(1_000_000 * 360, rel=0.02)


def test_an_answer_to_what_is_assumed_lists_it_and_has_no_confidence(polled: Path, tmp_path: Path) -> None:
    out = tmp_path / "week.toml"
    assert forebay("observe", polled, "--out", out).code == 0
    scenario = Scenario.load(out, ["run.measure=0.2s", "run.warmup=0.05s", "link.buffer=100p"])
    assert len(scenario.assumed) == 2
    assert scenario.assumed[0].startswith("packets have random times within 5 min")
    assert "had drops: the true buffer is larger" in scenario.assumed[1]
    answer = recommend(scenario, quick=True)
    assert answer.confidence is None
    assert {each.confidence for each in answer.goals.values()} == {None}
    assert [str(each) for each in answer.warnings[:2]] == [
        f"the scenario assumes that {each}" for each in scenario.assumed
    ]
    done = forebay("recommend", out, "--quick", "--set", "run.measure=0.2s", "--set", "run.warmup=0.05s")
    assert "no confidence: the scenario has assumed values" in " ".join(done.out.split())
    assert "warning: the scenario assumes that packets have random times within 5 min" in " ".join(done.out.split())


def test_a_scenario_without_assumptions_keeps_its_confidence() -> None:
    scenario = Scenario.parse('[link]\nrate = "1Gbps"\nbuffer = "9p"\n[[flows]]\nrtt = "9ms"\n')
    assert scenario.assumed == ()


def test_counters_of_hours_have_no_busy_hour_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "hours.csv"
    rows = "".join(f"{BEGIN + 7200 * at},{10**9 * at * (at + 1)}\n" for at in range(20))
    path.write_text("time,ifHCOutOctets\n" + rows)
    finding = found(path)
    assert finding.day is not None
    assert finding.day.span.why == "the busiest 4 h of the input"
    assert read_counters(path).interval_s == 7200
