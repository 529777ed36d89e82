"""Scenarios with keys that nothing has measured: no answer has a number in their place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.inputs.observed_bounds import Bound
from tests.support.commands import forebay

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
    requested = ["recommend", without_a_buffer, "--quick", "--fresh"]
    result = forebay(*requested, "--picture", picture, "--report", page, "--out", tmp_path / "answers")
    assert result.code in (0, 1, 3), result.err
    written = [page, picture, *(tmp_path / "answers").glob("*.json")]
    assert len(written) == 3
    assert not any("as configured" in text for text in (result.out, *(path.read_text() for path in written)))
    [answer] = (path for path in written if path.suffix == ".json")
    assert json.loads(answer.read_text())["also"] in ([], {})
    stated = forebay(*requested, "--no-picture", "--json", "--set", "link.buffer=20p")
    assert "as configured" in stated.out


@pytest.mark.parametrize("over", ["link.rate=5Mbps..20Mbps", "run.measure=2s..4s"])
def test_a_range_of_another_key_needs_the_buffer(over: str, without_a_buffer: Path) -> None:
    refused = forebay("recommend", without_a_buffer, "--quick", "--fresh", "--over", over)
    assert refused.code == 2
    assert "link.buffer: found no value" in refused.err


ASSUMED = 'assumed = ["packets come at random within 5 min"]\n' + LINK.replace(
    'workload = "persistent"', 'workload = "persistent"\nstart = { uniform = ["0s", "1s"] }'
)
SAID = "the scenario assumes that packets come at random within 5 min"


@pytest.fixture(scope="module")
def assumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario that rests on an assumption, with every value."""
    path = tmp_path_factory.mktemp("assumed") / "link.toml"
    path.write_text(ASSUMED.replace("[link]", '[link]\nbuffer = "50p"'))
    return path


@pytest.mark.parametrize("verb", [["run"], ["compare", "--points", "0"]])
def test_runs_and_comparisons_list_what_a_scenario_assumes(verb: list[str], assumed: Path, tmp_path: Path) -> None:
    for options in ([], ["--json"]):
        short = ["--set", "run.measure=1s", "--set", "run.warmup=1s", "--set", "run.replications=1", *options]
        out = ["--out", tmp_path / "out"] if verb[0] == "compare" else []
        answer = forebay(*verb, assumed, *short, *out)
        assert answer.code in (0, 1), answer.err
        assert "assumes that packets come at random within 5 min" in " ".join(answer.err.split())


def test_a_bound_is_called_by_its_article() -> None:
    for ends, words in ((("1Mbps", None), "is a lower bound"), ((None, "9Mbps"), "is an upper bound")):
        assert words in Bound("link.rate", *ends, "read it").sentence


def test_a_check_of_an_assumption_lists_it_without_confidence(assumed: Path) -> None:
    result = forebay("check", assumed, "--fresh", columns=80)
    assert result.code in (0, 1, 3), result.err
    assert f"warning: {SAID}" in " ".join(result.out.split())
    assert "There is no confidence" in " ".join(result.out.split())
    assert "% confidence" not in result.out
    answer = json.loads(forebay("check", assumed, "--fresh", "--json").out)
    assert answer["confidence"] is None
    assert {goal["confidence"] for each in answer["buffers"] for goal in each["goals"].values()} == {None}
    measured = assumed.with_name("measured.toml")
    measured.write_text(assumed.read_text().partition("\n")[2])
    assert "% confidence" in forebay("check", measured, "--fresh").out


def test_a_map_and_a_sweep_of_an_assumption_list_it(assumed: Path, tmp_path: Path) -> None:
    over = ["--over", "link.buffer=20p..60p", "--over", "link.rate=9Mbps..10Mbps"]
    result = forebay("recommend", assumed, *over, "--fresh", "--no-picture", "--json")
    assert result.code in (0, 1, 3), result.err
    answer = json.loads(result.out)
    assert answer["confidence"] is None
    assert SAID in str(answer["warnings"])
    swept = forebay("sweep", assumed, "--over", "link.buffer=20p", "--out", tmp_path / "swept")
    assert swept.code == 0, swept.err
    assert SAID in swept.err


def test_buffers_of_classes_that_rest_on_an_assumption_have_no_confidence(assumed: Path) -> None:
    path = assumed.with_name("classes.toml")
    queue = 'queue = { kind = "classes", classes = [{ name = "a", buffer = "50p" }] }\nbuffer'
    path.write_text(assumed.read_text().replace("buffer", queue, 1).replace("count = 2", 'name = "a"\ncount = 2'))
    result = forebay("recommend", path, "--goal", "a.goodput>=1Mbps", "--classes", "--quick", "--fresh", "--json")
    assert result.code in (0, 1, 3), result.err
    answer = json.loads(result.out)
    assert answer["confidence"] is None
    assert {goal["confidence"] for goal in answer["goals"].values()} == {None}
    assert SAID in str(answer["warnings"])


def test_a_check_names_all_missing_keys_or_takes_their_bounds(tmp_path: Path) -> None:
    bounds = LINK.replace('{ find = "read', '{ at_least = "20kB", find = "read')
    path = tmp_path / "link.toml"
    path.write_text(bounds.replace('rate = "10Mbps"\n', "") + '"link.rate" = { at_least = "9Mbps", find = "ask" }\n')
    refused = forebay("check", path)
    assert refused.code == 2
    assert len(refused.err.strip().splitlines()) == 1
    assert "found no values of link.buffer (at least 20kB), link.rate (at least 9Mbps); allowed: " in refused.err
    answer = forebay("check", path, "--assume-lower-bounds", "--fresh")
    assert answer.code in (0, 1, 3), answer.err
    assert answer.out.startswith(
        "Assumed: link.buffer = 20kB is a lower bound: the true value may be larger; link.rate"
    )
    assert "The assumed buffer" in answer.out
    assert "configured" not in answer.out.splitlines()[1]
    one = forebay("check", path, "--assume-lower-bounds", "--buffer", "30p", "--fresh")
    assert "link.buffer = 20kB" not in one.out
