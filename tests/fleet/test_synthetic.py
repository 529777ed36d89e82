"""A synthetic network is equal for equal seeds, readable, and wrong where it is meant to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from checks.fleet_scale import write_large_network
from checks.fleet_truth import factor_of, filled, main, verdict_of
from forebay.fleets.inventory import read_inventory
from forebay.fleets.profiles import load_profiles
from forebay.fleets.questions import questions_of
from forebay.fleets.synthetic import PROFILES, made_ports, network_files, write_network
from forebay.scenario import Scenario
from tests.fleet.writing import reasons
from tests.support.commands import forebay


def test_equal_seeds_make_equal_networks() -> None:
    assert made_ports(300, 7) == made_ports(300, 7)
    assert made_ports(300, 7) != made_ports(300, 8)


def test_one_port_in_twenty_is_wrong_on_both_sides() -> None:
    aimed = Counter(port.aimed for port in made_ports(1000, 1))
    assert aimed == {"fine": 950, "too small": 25, "too large": 25}
    factors = {port.factor for port in made_ports(1000, 1) if port.aimed != "fine"}
    assert min(factors) > 2
    assert max(factors) <= 10


def test_a_thousand_ports_ask_about_sixty_to_ninety_questions() -> None:
    questions = {(port.profile, port.rate, port.buffer) for port in made_ports(1000, 1)}
    assert 60 <= len(questions) <= 90


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_the_written_inventory_is_read_without_a_rejected_row(tmp_path: Path, count: int) -> None:
    paths = write_network(tmp_path, count, 1)
    assert paths == network_files(tmp_path)
    found = read_inventory(tmp_path / "inventory.csv")
    assert reasons(found) == []
    assert len(found.ports) == count
    assert found.ports["buffer_bytes"].null_count() == 0


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_filled_profile_is_a_scenario(profile: object) -> None:
    for rate in profile.rates:  # type: ignore[attr-defined]
        scenario = Scenario.parse(filled(profile.text, rate, "1MB"))  # type: ignore[attr-defined]
        assert "{" not in scenario.title
        assert len(scenario.core.goals) == 2


@pytest.mark.parametrize(
    ("goals", "verdict"),
    [
        ({"utilization>=": "met", "queue_delay_p99<=": "met"}, "fine"),
        ({"utilization>=": "missed", "queue_delay_p99<=": "met"}, "too small"),
        ({"utilization>=": "met", "queue_delay_p99<=": "missed"}, "too large"),
        ({"utilization>=": "undecided", "queue_delay_p99<=": "missed"}, "too large"),
        ({"utilization>=": "undecided", "queue_delay_p99<=": "met"}, "undecided"),
        ({"utilization>=": "missed", "queue_delay_p99<=": "missed"}, "impossible"),
    ],
)
def test_the_missed_goal_tells_the_side(goals: dict[str, str], verdict: str) -> None:
    assert verdict_of(goals) == verdict


def test_answers_of_another_build_are_no_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def checked(scenario: Scenario, _: int | None) -> dict[str, object]:
        asked.append(scenario.title)
        return {"verdict": "fine", "goals": {}, "runs": 4}

    monkeypatch.setattr("checks.fleet_truth._checked", checked)
    monkeypatch.setattr("checks.fleet_truth._limits", lambda *_: {"smallest": 1500.0, "largest": None})
    write_network(tmp_path, 3, 1)
    assert main([str(tmp_path)]) == 0
    first = len(asked)
    truth = (tmp_path / "truth.csv").read_bytes()
    assert main([str(tmp_path)]) == 0
    assert len(asked) == first > 0, "answers of this build are kept"
    assert (tmp_path / "truth.csv").read_bytes() == truth
    monkeypatch.setattr("forebay.storage.build.fingerprint", lambda: "another")
    assert main([str(tmp_path)]) == 0
    assert len(asked) == 2 * first


@pytest.mark.parametrize("options", [("--ports", "5"), ("--seed", "5")])
def test_options_of_a_network_need_its_folder(tmp_path: Path, options: tuple[str, str]) -> None:
    answer = forebay("new", tmp_path / "link.toml", *options)
    assert answer.code == 2
    assert (
        answer.err
        == f"forebay: {options[0]}: found no --fleet; allowed: with --fleet DIR, whose network it describes\n"
    )


def test_the_factor_counts_from_the_nearest_limit() -> None:
    assert factor_of(50, 100, 400) == 2
    assert factor_of(800, 100, 400) == 2
    assert factor_of(200, 100, 400) == 1
    assert factor_of(200, None, None) == 1


def test_a_large_network_has_the_wanted_number_of_questions(tmp_path: Path) -> None:
    assert write_large_network(tmp_path, 20_000, 500) == 500
    asked = questions_of(read_inventory(tmp_path / "inventory.csv").ports, load_profiles(tmp_path / "profiles"))
    assert (len(asked.questions), sum(asked.counts.values())) == (500, 20_000)
