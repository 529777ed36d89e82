"""The class of the reference about own algorithms works, and the base class grows a window only up to the threshold."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from forebay import Scenario
from forebay.algorithms import CongestionControl
from tests.support.paths import ROOT

REFERENCE = ROOT / "docs" / "reference" / "own-algorithms.md"
#: The first algorithm that many people write: it asks for no threshold before slow start.
AIMD = """
from forebay.algorithms import CongestionControl

class Aimd(CongestionControl):
    def on_ack(self, ack):
        left = self.slow_start(ack.acked)
        if left > 0:
            self.cwnd += left / self.cwnd
    def on_congestion_event(self, event):
        self.reduce(event.flight / 2)
"""


def windows(folder: Path, code: str, name: str) -> np.ndarray:
    """The windows of one flow that loses packets at a full buffer."""
    (folder / "mine.py").write_text(code, encoding="utf-8")
    text = f"""
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
rtt = "40ms"
cca = {{ python = "mine.py:{name}" }}
[run]
warmup = "0s"
measure = "20s"
[trace]
every = "10ms"
record = ["cwnd"]
"""
    found = Scenario.parse(text, folder=folder, allow_code=True).run(traces=True).core.traces()
    assert found is not None
    return found["flows"]["cwnd_packets"]


def documented() -> str:
    """The code of the class `Mine`."""
    text = REFERENCE.read_text(encoding="utf-8").partition("## Parameters\n")[2]
    found = re.search(r"\n((?: {4}.*\n|\n)+)", text)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.mark.parametrize("name", ["Mine", "Aimd"])
def test_the_window_grows_again_after_a_loss(tmp_path: Path, name: str) -> None:
    found = windows(tmp_path, documented() if name == "Mine" else AIMD, name)
    falls = np.flatnonzero(np.diff(found) < -5)
    assert len(falls) >= 4
    # The first slow start overshoots so far that a second loss follows at once.
    for begin, end in zip(falls[1:-1] + 1, falls[2:], strict=True):
        # The window recovers to what the link and its buffer hold, from about half of it (RFC 5681).
        assert found[end] >= 1.5 * found[begin : end + 1].min()


def test_the_reference_class_grows_as_new_reno(tmp_path: Path) -> None:
    mine = windows(tmp_path, documented(), "Mine")
    example = (ROOT / "examples" / "algorithms" / "newreno.py").read_text(encoding="utf-8")
    theirs = windows(tmp_path, example, "NewReno")
    assert list(mine) == list(theirs)


@pytest.mark.parametrize(
    ("cwnd", "ssthresh", "after", "rest"),
    [(4.0, 10.0, 6.0, 0.0), (9.0, 10.0, 10.0, 1.0), (10.0, 10.0, 10.0, 2.0), (15.0, 10.0, 15.0, 2.0)],
)
def test_slow_start_never_shrinks_the_window(cwnd: float, ssthresh: float, after: float, rest: float) -> None:
    flow = CongestionControl()
    flow.cwnd, flow.ssthresh = cwnd, ssthresh
    assert flow.slow_start(2.0) == rest
    assert flow.cwnd == after
