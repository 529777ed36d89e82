"""Profiles: open keys take the values of a port, the first rule wins, and errors name file and key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from forebay.errors import InputError
from forebay.fleets.profiles import BUFFER, load_profiles
from forebay.scenario import Scenario
from tests.support.scenarios import PROFILE

PORT = {
    "device": "core-1",
    "port": "eth0",
    "rate_bps": 90_000_000,
    "role": "core",
    "service_class": None,
    "platform": None,
    "profile": None,
}


def folder(tmp_path: Path, **files: str) -> Path:
    """A folder with profiles and rules."""
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_placeholder_alone_takes_the_type_of_its_value(tmp_path: Path) -> None:
    text = PROFILE.replace('name     = "bulk"', 'name = "bulk"\ncount = "{rate / 20Mbps}"\npacket = "{mtu_bytes}B"')
    text = text.replace('packet   = "1000B"\nprocessing', "processing")
    found = json.loads(
        load_profiles(folder(tmp_path, a=text))
        .profiles["a"]
        .filled({"rate_bps": 90_000_000, "queue": '{ kind = "codel" }', "mtu_bytes": 1500}, None)
    )
    assert found["link"] == {"rate": "90000000bps", "buffer": BUFFER, "queue": {"kind": "codel"}}
    assert (found["flows"][0]["count"], found["flows"][0]["packet"]) == (4, "1500B")


@pytest.mark.parametrize(("rate", "count"), [(1, 1), (20_000_000, 1), (1_000_000_000, 50)])
def test_a_ratio_of_rates_is_a_whole_number_of_at_least_one(rate: int, count: int, tmp_path: Path) -> None:
    text = PROFILE.replace('name     = "bulk"', 'name = "bulk"\ncount = "{rate / 20Mbps}"')
    profile = load_profiles(folder(tmp_path, a=text)).profiles["a"]
    assert json.loads(profile.filled({"rate_bps": rate, "queue": None}, None))["flows"][0]["count"] == count


def test_goals_of_a_port_replace_those_on_the_same_metric(tmp_path: Path) -> None:
    profile = load_profiles(folder(tmp_path, a=PROFILE)).profiles["a"]
    found = json.loads(profile.filled({"rate_bps": 1, "queue": None}, "utilization>=0.5; loss_rate<=1%"))
    assert found["goal"] == {"utilization": ">= 0.5", "queue_delay_p99": "<= 150ms", "loss_rate": "<= 1%"}


def test_goals_of_a_port_on_one_metric_all_count(tmp_path: Path) -> None:
    profile = load_profiles(folder(tmp_path, a=PROFILE)).profiles["a"]
    port = {"rate_bps": 2_000_000, "queue": None}
    text = profile.filled(port, "queue_delay_p99<=50ms; utilization>=0.5; queue_delay_p99 >= 1ms; utilization>=0.5")
    assert json.loads(text)["goal"] == {"utilization": ">= 0.5", "queue_delay_p99": ["<= 50ms", ">= 1ms"]}
    goals = Scenario.parse(text.replace(BUFFER, "9p"), "json", name="a").goals
    assert [(goal.name, goal.sense, goal.threshold) for goal in goals] == [
        ("queue_delay_p99", "<=", 0.05),
        ("queue_delay_p99", ">=", 0.001),
        ("utilization", ">=", 0.5),
    ]


RULES = """
[[rule]]
profile = "fast"
rate = "1Gbps.."

[[rule]]
profile = "core"
role = "CORE"

[[rule]]
profile = "fast"
device = ["access-*", "metro-?"]
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "core"),
        ({"rate_bps": 1_000_000_000}, "fast"),
        ({"role": None}, None),
        ({"role": None, "device": "metro-1"}, "fast"),
        ({"role": None, "device": "metro-10"}, None),
        ({"profile": "mine"}, "mine"),
    ],
)
def test_the_first_rule_that_matches_wins_and_a_named_profile_wins_over_all(
    change: dict[str, object], expected: str | None, tmp_path: Path
) -> None:
    profiles = load_profiles(folder(tmp_path, core=PROFILE, fast=PROFILE, mine=PROFILE, rules=RULES))
    schema = {name: pl.Int64 if name == "rate_bps" else pl.String for name in PORT}
    frame = pl.DataFrame([{**PORT, **change}], schema=schema)
    assert frame.select(profiles.assigned().alias("found"))["found"].to_list() == [expected]


@pytest.mark.parametrize(
    ("profile", "rules", "message"),
    [
        (PROFILE.replace("{rate}", "{rat}"), "", "a.toml: link.rate: unknown placeholder `rat`"),
        (PROFILE.replace("{rate}", "{rate / 5ms}"), "", "a.toml: link.rate: found `{rate / 5ms}`"),
        (PROFILE.replace("{buffer}", "9p"), "", "a.toml: link.buffer: found no placeholder"),
        (PROFILE.replace("{rate}", "1Gbps"), "", "a.toml: link.rate: found no placeholder"),
        ("x", "", "a.toml: found invalid TOML"),
        ("title = 'x'", "", "a.toml: link: found no table"),
        (PROFILE, "[[rule]]\nprofile = 'b'", "rules.toml: rule[1].profile: unknown profile `b`"),
        (PROFILE, "[[rule]]\nprofile = 'a'\nrole = 3", "rules.toml: rule[1].role: found `3`"),
        (PROFILE, "[[rule]]\nprofile = 'a'\nrate = '9..1'", "rules.toml: rule[1].rate: found `9..1`"),
        (PROFILE, "[[rule]]\nprofile = 'a'\nname = 'x'", "rules.toml: rule[1]: unknown key `name`"),
        (PROFILE, "rule = 3", "rules.toml: rule: found no list"),
    ],
)
def test_an_error_is_one_line_with_file_and_key(profile: str, rules: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        load_profiles(folder(tmp_path, a=profile, rules=rules))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


FLOW = 'name     = "bulk"'
UTILIZATION = 'utilization = ">= 85%"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"{rate}"', '"{rate"', "link.rate: found `{rate`; allowed: a placeholder in a pair of braces"),
        ('"newreno"', '"newreno}"', "flows[0].cca: found `newreno}`; allowed: a placeholder in a pair of braces"),
        (FLOW, f'{FLOW}\ncount = "{{rate / }}"', "flows[0].count: found `{rate / }`; allowed: a rate"),
        (FLOW, f'{FLOW}\ncount = "1e9"', "flows[0].count: found `1e9`; allowed: a whole number"),
        (FLOW, f"{FLOW}\nstart = 2026-01-01", "flows[0].start: found `2026-01-01`; allowed: "),
        ("[run]", "[run]\nwarmpu = '1s'", "run.warmpu: unknown key `warmpu`"),
        ('title = "Small link"', "links = 3", "found both [link] and [[links]]"),
        (UTILIZATION, 'utilization = ">= 110%"', "goal.utilization: found `>= 110%`; allowed: at most 100 %"),
        (UTILIZATION, 'jain_index = ">= 1.5"', "goal.jain_index: found `>= 1.5`; allowed: at most 100 %"),
        (UTILIZATION, 'utilization = [">= 85%", "<= 10%"]', "goal.utilization: found `>= 85%` and `<= 10%`"),
        (UTILIZATION, 'utilization = ">= x"', "goal.utilization: found `>= x`; allowed: a bound on a share"),
    ],
)
def test_a_fault_that_every_port_would_have_is_an_error_of_the_profile(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = PROFILE.replace(old, new, 1)
    assert text != PROFILE
    with pytest.raises(InputError) as raised:
        load_profiles(folder(tmp_path, a=text))
    assert f"a.toml: {message}" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("text", ["goal = 3", "goal = 2026-01-01"])
def test_goals_that_are_no_table_are_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.toml: goal: found `"):
        load_profiles(folder(tmp_path, a=f"{text}\n{PROFILE.partition('[goal]')[0]}"))


@pytest.mark.parametrize(
    "text",
    [
        PROFILE.replace(FLOW, 'name = "{role}"'),
        PROFILE.replace('"newreno"', '"{role}"'),
        PROFILE.replace(FLOW, f'{FLOW}\ncount = "{{rate / 1bps}}"'),
        PROFILE.replace(UTILIZATION, 'utilization = ">= {utilization}"'),
        PROFILE.partition("[goal]")[0],
    ],
)
def test_a_fault_that_depends_on_a_port_is_none_of_the_profile(text: str, tmp_path: Path) -> None:
    assert load_profiles(folder(tmp_path, a=text)).profiles["a"].name == "a"


@pytest.mark.parametrize(
    "code", ['cca = { python = "mine.py:Mine" }', 'cca = { wasm = "mine.wasm" }'], ids=["python", "wasm"]
)
def test_a_profile_with_code_is_refused(code: str, tmp_path: Path) -> None:
    text = re.sub(r"cca *= *[\"'][a-z]+[\"']", code, PROFILE)
    assert code in text
    with pytest.raises(InputError, match=r"a\.toml: flows\.0\.cca: .*because fleet runs no code of users$"):
        load_profiles(folder(tmp_path, a=text))


def test_a_folder_without_profiles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no profile in"):
        load_profiles(tmp_path)
    with pytest.raises(InputError, match="found no folder"):
        load_profiles(tmp_path / "none")
