"""The files that a visitor can save: the trace equals a native run's, and the pictures need no other file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from forebay.scenario import Scenario
from tests.support.laboratory_page import QUICK, Lab, until


def taken(lab: Lab, what: str, name: str, folder: Path) -> bytes:
    """The file that the browser saves when something of the menu is chosen."""
    behavior = {"behavior": "allow", "downloadPath": str(folder)}
    lab.browser.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    lab.save(what)
    path = folder / name
    until(lambda: path.exists() and path.stat().st_size > 0 and lab.text(".saved").endswith("saved"), 60.0)
    return path.read_bytes()


def run_to_its_end(browser: Any, page: Path) -> Lab:
    lab = Lab(browser, page)
    lab.choose("Speed", "fast")
    lab.all("button.main")[0].click()
    until(lab.outcome, 60.0)
    return lab


def test_a_trace_is_that_of_a_native_run(browser: Any, page: Path, tmp_path: Path) -> None:
    lab = run_to_its_end(browser, page)
    lines = taken(lab, "csv", "trace.csv", tmp_path).decode().splitlines()
    scenario = Scenario.parse(QUICK)
    assert lines[0].endswith(": Two flows")
    report = scenario.run(replications=1, traces=True)
    assert report.data["scenario_sha256"] in lines[1]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    tables = report.traces()
    assert tables is not None
    # Every 100 ms of five seconds.
    times = np.array([float(row["time_s"]) for row in rows])
    assert times == pytest.approx(np.arange(51) * 0.1)
    queue, flows = tables["queue"], tables["flows"]
    places = np.searchsorted(times, queue["time_s"] - 1e-9)
    assert len(places) >= 50
    assert times[places] == pytest.approx(queue["time_s"])
    for name in ("packets", "delay_s", "utilization"):
        shown = np.array([float(row[name]) for row in rows])[places]
        assert shown == pytest.approx(queue[name], rel=1e-9, abs=1e-9), name
    for flow in range(2):
        own = flows["flow"] == flow
        shown = {float(row["time_s"]): row[f"cwnd_packets two {flow + 1}"] for row in rows}
        for time, window in zip(flows["time_s"][own], flows["cwnd_packets"][own], strict=True):
            [text] = [text for at, text in shown.items() if abs(at - time) < 1e-9]
            if time == 0:
                # A row describes the events before its time, and the flow has not started by then.
                assert text == ""
                continue
            assert float(text) == pytest.approx(window, rel=1e-12), (flow, time)
    drops = [int(row["drops"]) for row in rows]
    # Counting restarts when the warm-up ends.
    assert drops[-1] == int(lab.figure("lost").replace(",", ""))
    assert not lab.complaints()


@pytest.mark.long
def test_pictures_are_read_alone(browser: Any, page: Path, tmp_path: Path) -> None:
    lab = run_to_its_end(browser, page)
    until(lambda: browser.execute_script("return document.querySelector('.tradeoff progress').value === 1"), 120.0)
    for what, name in (("", "run"), ("tradeoff ", "tradeoff")):
        drawn = taken(lab, f"{what}png", f"{name}.png", tmp_path)
        assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = (int.from_bytes(drawn[at : at + 4], "big") for at in (16, 20))
        svg = taken(lab, f"{what}svg", f"{name}.svg", tmp_path).decode()
        root = ElementTree.fromstring(svg)
        assert width == pytest.approx(2 * float(root.attrib["width"]), abs=1)
        assert height == pytest.approx(2 * float(root.attrib["height"]), abs=2)
        text = " ".join(root.itertext())
        values = {
            "run": ["Two flows", "Queue (packets)", "Congestion windows (packets)", "time (s)", "buffer: 20 packets"],
            "tradeoff": [
                "Two flows",
                "buffer (packets)",
                "Utilization %",
                "Queueing delay, 99th percentile ms",
                "fluid model",
            ],
        }[name]
        assert [each for each in [*values, "forebay", "seed 1"] if each not in text] == []
        # Nothing of the page's style sheet or classes is needed.
        assert "class=" not in svg
        assert "var(" not in svg
        lines = [each for each in root.iter() if each.tag.endswith("path") and len(each.attrib["d"]) > 40]
        assert len(lines) >= 3
    assert not lab.complaints()


def test_a_scenario_is_saved_as_it_stands(browser: Any, page: Path, tmp_path: Path) -> None:
    lab = Lab(browser, page)
    assert taken(lab, "toml", "scenario.toml", tmp_path).decode() == QUICK
