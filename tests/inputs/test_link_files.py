"""Rates in a file beside the scenario equal the same steps in the scenario, and an error in the file is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import InputError, Scenario
from forebay.inputs.link_traces import MOST_BYTES, MOST_ROWS
from tests.support.commands import forebay

TEXT = """
title = "changing"
[link]
rate = {RATE}
buffer = "50p"
[[flows]]
name = "bulk"
count = 2
rtt = "30ms"
[run]
warmup = "1s"
measure = "4s"
"""
STEPS = '{ steps = [["0s", "10Mbps"], ["1.5s", "2.5Mbps"], ["2s", "0bps"]], repeat = "3s" }'
TABLE = "time_s,rate_Mbps\n0,10\n1.5,2.5\n2,0\n"


def written(folder: Path, table: str | bytes, rate: str = '{ file = "trace.csv", repeat = "3s" }') -> Path:
    (folder / "trace.csv").write_bytes(table.encode() if isinstance(table, str) else table)
    path = folder / "changing.toml"
    path.write_text(TEXT.replace("{RATE}", rate), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        "\ufeffTime_MS, Rate_kbps\r\n0,10000\r\n1500,2.5e3\r\n2000,0\r\n\r\n",
        # From the first row on, and without what changes nothing.
        "time_us,rate_bps\n7000000,10000000\n7100000,10000000\n8500000,2500000\n9000000,0\n",
        "time_ns,rate_Gbps\n0,0.01\n1500000000,0.0025\n2000000000,0\n",
    ],
)
def test_a_file_is_what_its_steps_are(table: str, tmp_path: Path) -> None:
    steps = Scenario.parse(TEXT.replace("{RATE}", STEPS))
    found = Scenario.load(written(tmp_path, table))
    assert found.core.sha256 == steps.core.sha256
    assert found.resolved == steps.resolved
    report = found.run(replications=1)
    assert report.metrics == steps.run(replications=1).metrics
    assert 0 < report.utilization.mean <= 1


def test_each_of_several_links_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("time_s,rate_Mbps\n0,3\n1,2\n", encoding="utf-8")
    (tmp_path / "fast.csv").write_text("time_s,rate_Mbps\n0,30\n1,20\n", encoding="utf-8")
    links = [
        {"name": name, "rate": {"file": f"{name}.csv"}, "buffer": "20p", "target": name == "slow"}
        for name in ("fast", "slow")
    ]
    tables = {"links": links, "flows": [{"name": "bulk", "rtt": "30ms", "path": ["fast", "slow"]}]}
    path = tmp_path / "two.json"
    path.write_text(json.dumps(tables), encoding="utf-8")
    found = [link["rate"]["steps"] for link in Scenario.load(path).resolved["links"]]
    assert found == [[["0ps", "30Mbps"], ["1s", "20Mbps"]], [["0ps", "3Mbps"], ["1s", "2Mbps"]]]


def test_the_command_finds_it_from_elsewhere_and_takes_another_instead(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE)
    changing = json.loads(forebay("run", path, "--json").out)
    constant = json.loads(forebay("run", path, "--set", "link.rate=10Mbps", "--json").out)
    assert changing["metrics"]["goodput_bps"] != constant["metrics"]["goodput_bps"]
    # The stored form of a run does not need the file.
    assert "trace.csv" not in json.dumps(Scenario.load(path).resolved)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", ":1: found ``; allowed: a table of times and rates"),
        ("time_s,rate_Mbps\n", "found no row; allowed: a table"),
        ("0,10\n1,5\n", ":1: found `0,10`; allowed: a table of times and rates under a line such as"),
        ("time_s,rate_MBps\n0,1\n", ":1: found `time_s,rate_MBps`"),
        ("time_s,rate_Mbps,x\n0,1,2\n", ":1: found `time_s,rate_Mbps,x`"),
        ("time_s,rate_Mbps\n0,10\n2,5\n1,5\n", ":4: found `1`; allowed: a time later than that of the row before"),
        ("time_s,rate_Mbps\n0,10\n0,5\n", ":3: found `0`; allowed: a time later"),
        ("time_s,rate_Mbps\n-1,10\n0,5\n", ":2: found `-1,10`; allowed: a time from 0"),
        ("time_s,rate_Mbps\n0,-10\n", ":2: found `0,-10`; allowed: a time from 0 and a rate from 0"),
        ("time_s,rate_Mbps\n0,0\n1,0\n", "found no rate above 0; allowed: at least one"),
        ("time_s,rate_Mbps\n0,nan\n", ":2: found `0,nan`"),
        ("time_s,rate_Mbps\n0,1e400\n", ":2: found `0,1e400`"),
        ("time_s,rate_Mbps\n0\n", ":2: found `0`"),
        ("time_s,rate_Mbps\n0,fast\n", ":2: found `0,fast`"),
        (b"time_s,rate_Mbps\n0,\xff\xfe\n", "found bytes that are no text"),
        (b"time_s,rate_Mbps\n" + b"\0" * 50, ":2: found"),
        ("time_s,rate_Mbps\n" + '"' + "x" * 200_000, ":2: found what is no row"),
        (
            "time_s,rate_bps\n" + "".join(f"{n},{1000 + n % 2}\n" for n in range(MOST_ROWS + 1)),
            f"found more than {MOST_ROWS} changes of the rate; allowed: fewer",
        ),
        ("time_s,rate_Mbps\n0,10\n" + " " * MOST_BYTES, f"found more than {MOST_BYTES} bytes"),
        # Errors that only the engines' reader can find.
        ("time_s,rate_Mbps\n0,10\n5,2\n", "repeat"),
        ("time_s,rate_bps\n0,10\n5,2\n", "rate"),
    ],
)
def test_bad_files_are_one_line(table: str | bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, table)
    answer = forebay("run", path)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert line.startswith(f"forebay: {path}"), line
    assert message in line
    assert len(line) < 500


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ('{ file = "none.csv" }', "changing.toml:4: link.rate.file: "),
        ('{ file = "." }', "a directory"),
        ('{ file = "trace.csv", steps = [] }', "cannot be combined with `steps`; allowed with it: repeat"),
        ("{ file = 7 }", "rate"),
        ('{ file = "trace.csv", repeat = "1s" }', "a time later than the last step"),
        ('{ file = "/dev/zero" }', "not a regular file"),
    ],
)
def test_bad_names_are_one_line(rate: str, message: str, tmp_path: Path) -> None:
    answer = forebay("run", written(tmp_path, TABLE, rate))
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert message in line
    assert "allowed" in line


def test_a_text_has_no_files_beside_it() -> None:
    with pytest.raises(InputError, match=r"<text>:4: link.rate.file: found `trace.csv` in a scenario that is no file"):
        Scenario.parse(TEXT.replace("{RATE}", '{ file = "trace.csv" }'))


def test_an_average_is_called_one(tmp_path: Path) -> None:
    """10 Mb/s for 1.5 s, 2.5 Mb/s for 0.5 s and nothing for 1 s."""
    path = written(tmp_path, TABLE)
    assert "5.42 Mb/s (average) link, droptail" in forebay("run", path).out
    assert "(average)" not in forebay("run", path, "--set", "link.rate=10Mbps").out


def test_a_trace_of_mahimahis_is_what_its_opportunities_are(tmp_path: Path) -> None:
    played = Scenario.load(written(tmp_path, "1\n1\r\n4\n", '{ mahimahi = "trace.csv" }'))
    listed = Scenario.parse(TEXT.replace("{RATE}", '{ opportunities = "1 1 4" }'))
    assert played.core.sha256 == listed.core.sha256
    # Three opportunities of 1,504 bytes in 4 ms.
    assert played.resolved["links"][0]["rate"] == {"opportunities": "1 1 4"}
    smooth = Scenario.load(written(tmp_path, "1\n1\n4\n", '{ mahimahi = "trace.csv", as = "rate" }'))
    assert smooth.resolved["links"][0]["rate"] == "9.024Mbps"
    longer = "run.warmup=10s", "run.measure=30s"
    one, other = (scenario.changed(*longer).run(replications=1) for scenario in (played, smooth))
    assert 0.9 < one.utilization.mean <= 1
    assert abs(one.utilization.mean - other.utilization.mean) < 0.02


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("", "trace.csv: found no line; allowed: a millisecond in each line"),
        ("0\n0\n", "trace.csv: found `0` as the last millisecond; allowed: one above 0"),
        ("1\n\n2\n", "trace.csv:2: found ``; allowed: whole milliseconds"),
        ("1\n-2\n", "trace.csv:2: found `-2`; allowed: whole milliseconds"),
        ("1\n2.5\n", "trace.csv:2: found `2.5`"),
        ("1\n\u0663\n", "trace.csv:2: found `\u0663`"),
        ("1\n3\n2\n", "trace.csv:3: found `2`; allowed: 3 at least, that of the line before"),
        ("1\n" + "9" * 5000, "trace.csv:2: found `9999"),
        ("1\n" * (MOST_BYTES // 2 + 1), "16777216"),
        (b"\xff\xfe1\x00", "found bytes that are no text"),
    ],
)
def test_bad_traces_are_one_line(trace: str | bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, trace, '{ mahimahi = "trace.csv" }')
    with pytest.raises(InputError) as caught:
        Scenario.load(path)
    assert message in str(caught.value)
    assert "link.rate.mahimahi" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_trace_has_nothing_else_beside_it(tmp_path: Path) -> None:
    for rate, message in [
        ('{ mahimahi = "trace.csv", repeat = "3s" }', "cannot be combined with `repeat`; allowed with it: as"),
        ('{ mahimahi = "other.up" }', "other.up"),
        ('{ mahimahi = "trace.csv", as = "fast" }', "unknown as `fast`"),
    ]:
        with pytest.raises(InputError, match=r"link\.rate") as caught:
            Scenario.load(written(tmp_path, "1\n2\n", rate))
        assert message in str(caught.value)


def test_a_delay_stands_in_a_table_too(tmp_path: Path) -> None:
    (tmp_path / "leo.csv").write_text("time_s,delay_ms\n0,30\n7.5,22.5\n9,25\n", encoding="utf-8")
    path = tmp_path / "leo.toml"
    link = 'rate = "10Mbps"\ndelay = {DELAY}'
    text = TEXT.replace("rate = {RATE}", link).replace("30ms", "100ms")
    table = '{ file = "leo.csv", repeat = "15s", in_order = true }'
    path.write_text(text.replace("{DELAY}", table), encoding="utf-8")
    steps = '[["0s", "30ms"], ["7.5s", "22.5ms"], ["9s", "25ms"]]'
    listed = Scenario.parse(text.replace("{DELAY}", f'{{ steps = {steps}, repeat = "15s", in_order = true }}'))
    found = Scenario.load(path)
    assert found.core.sha256 == listed.core.sha256
    assert found.resolved["links"][0]["delay"]["in_order"] is True
    for table, message in [
        ("time_s,delay_ms\n0,-1\n", "leo.csv:2: found `0,-1`; allowed: a time from 0 and a delay from 0 to 1000 s"),
        ("time_s,rate_Mbps\n0,1\n", "leo.csv:1: found `time_s,rate_Mbps`; allowed: a table of times and delays"),
        ("time_s,delay_MB\n0,1\n", "leo.csv:1: found"),
        ("time_s,delay_ms\n", "leo.csv: found no row"),
    ]:
        (tmp_path / "leo.csv").write_text(table, encoding="utf-8")
        with pytest.raises(InputError, match=r"leo\.toml:\d+: link\.delay\.file") as caught:
            Scenario.load(path)
        assert message in str(caught.value)
