"""Scenarios with keys that nothing has measured: no answer has a number in their place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import forebay

LINK = """
[link]
rate = "10Mbps"
[[flows]]
count = 2
rtt = "40ms"
workload = "persistent"
[run]
warmup = "2s"
measure = "3s"
replications = 2
[goal]
utilization = ">= 90%"
[observed.bounds]
"link.buffer" = { find = "read it from the router's configuration" }
"""


@pytest.fixture(scope="module")
def without_a_buffer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario that `observe` left without a buffer."""
    path = tmp_path_factory.mktemp("unmeasured") / "link.toml"
    path.write_text(LINK)
    return path


def test_a_buffer_that_the_scenario_does_not_state_is_nowhere_in_the_answer(
    without_a_buffer: Path, tmp_path: Path
) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    asked = ["recommend", without_a_buffer, "--quick", "--fresh"]
    told = forebay(*asked, "--picture", picture, "--report", page, "--out", tmp_path / "answers")
    assert told.code in (0, 1, 3), told.err
    written = [page, picture, *(tmp_path / "answers").glob("*.json")]
    assert len(written) == 3
    assert not any("as configured" in text for text in (told.out, *(path.read_text() for path in written)))
    [answer] = (path for path in written if path.suffix == ".json")
    assert json.loads(answer.read_text())["also"] in ([], {})
    stated = forebay(*asked, "--no-picture", "--json", "--set", "link.buffer=20p")
    assert "as configured" in stated.out


@pytest.mark.parametrize("over", ["link.rate=5Mbps..20Mbps", "run.measure=2s..4s"])
def test_a_range_of_another_key_needs_the_buffer(over: str, without_a_buffer: Path) -> None:
    refused = forebay("recommend", without_a_buffer, "--quick", "--fresh", "--over", over)
    assert refused.code == 2
    assert "link.buffer: found no value" in refused.err
