"""Findings as scenarios and as JSON: whatever was found, the file parses, says its numbers, and holds no address."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay import InputError, Scenario
from forebay.inputs.observed_bounds import bounds_of, taken_for_values
from forebay.observation.distributions import (
    Cdf,
    Choice,
    Distribution,
    Exponential,
    Lognormal,
    Mixture,
    Pareto,
    Weibull,
)
from forebay.observation.estimate import IntervalEstimate, Unknown, rounded_down, rounded_up
from forebay.observation.finding import (
    AppLimited,
    ConstantRate,
    Finding,
    GroupFinding,
    Input,
    LinkFinding,
    OpenLoop,
    Persistent,
    PoissonPackets,
    Queue,
    RoundTrips,
    finding_json,
    without_addresses,
)
from forebay.observation.load import load_of
from forebay.observation.regime import Regime
from forebay.observation.sample import Quantile
from forebay.observation.writing import assumptions, scenario_text
from forebay.views.observation_words import answer, group_cells
from tests.support.observations import ADDRESS, ADDRESSES, BUFFER, RATE, busy_bins, made, saying
from tests.support.tiers import examples


@pytest.fixture(scope="module")
def finding() -> Finding:
    return made()


def parsed(finding: Finding) -> dict[str, Any]:
    """The resolved scenario that the scenario reader makes from the text."""
    return dict(read(scenario_text(finding)).resolved)


def read(text: str, *changes: str) -> Scenario:
    """A scenario with values for all keys that it leaves out."""
    given = {"rate": "100Mbps", "buffer": "100p", "rtt": "40ms"}
    values = [f"{bound.key}={given[bound.key.rpartition('.')[2]]}" for bound in bounds_of(text)]
    return Scenario.parse(text, overrides=[*values, *changes])


def test_the_scenario_says_what_was_found(finding: Finding) -> None:
    resolved = parsed(finding)
    (link,) = resolved["links"]
    assert link["rate"] == "98.7Mbps"
    assert link["queue"]["kind"] == "droptail"
    long, short, paced, calls = resolved["flows"]
    assert [group["name"] for group in resolved["flows"]] == [
        "long-flows-20-to-40-ms",
        "short-transfers",
        "written-at-a-steady-pace",
        "calls",
    ]
    assert long["count"] == 8
    assert long["cca"]["kind"] == "cubic"
    assert long["rtt"] == ["21.3ms", "22.6ms", "23.4ms", "24.7ms", "28.1ms", "31.2ms", "34.4ms", "39.8ms"]
    assert long["workload"] == "persistent"
    assert short["workload"]["open_loop"]["size"]
    assert "exponential" in short["workload"]["open_loop"]["interarrival"]
    assert len(short["rtt"]["cdf"]) == 7
    assert paced["workload"]["app_limited"]["rate"] == "2.51Mbps"
    assert calls["workload"]["cbr"]["rate"] == "5Mbps"


def test_every_number_has_its_interval_and_its_source(finding: Finding) -> None:
    text = scenario_text(finding)
    before = ""
    for line in text.splitlines():
        if " = " in line and not line.startswith(("#", "title", "assumed", " ")):
            assert "  # " in line or before.startswith("# "), line
        before = line
    rate = "98.4 to 99.0 Mb/s from 41,233 independent samples; back-to-back departures"
    assert f'rate = "98.7Mbps" # {rate}\n' in re.sub(" +", " ", text)
    assert "7 to 9 from 31 independent samples; windows and losses of the flows" in text
    assert "cubic 93 %, newreno 5 %, bbr 2 %" in text


def test_unknown_quantities_are_omitted_and_listed(finding: Finding) -> None:
    text = scenario_text(finding)
    tables = tomllib.loads(text)
    _, short, paced, _ = tables["flows"]
    assert (short["cca"], paced["cca"]) == ("cubic", "cubic")
    assert "# assumed: the default of Linux, Windows and macOS" in text
    assert "# assumed: the most likely one" in text
    assert {unknown.quantity for unknown in finding.unidentified} == {
        "the buffer's size",
        "what happens beyond the capture",
        "their congestion control",
        "losses of calls",
        # On for seconds and off for seconds, of twenty in all.
        "Hurst exponent of the load",
    }
    assert "# buffer: unknown, because the capture has one side of the queue only. Both sides of the queue." in text
    assert "buffer" not in tables["link"]
    assert set(tables["observed"]["bounds"]) == {"link.buffer"}
    comments = [line for line in text.splitlines() if "#" in line]
    for unknown in finding.unidentified:
        # An unknown quantity with a place in the file is named there, and nowhere else.
        assert sum(unknown.because in comment for comment in comments) == 1
    assert "none is likely enough (cubic 41 %, bbr 39 %, newreno 20 %)" in text
    of = "the congestion control of"
    assert {each.partition(":")[0] for each in assumptions(finding)} == {
        f"{of} short-transfers",
        f"{of} written-at-a-steady-pace",
    }
    assert [each.partition(" is ")[0] for each in tables["assumed"]] == [
        f"{of} short-transfers",
        f"{of} written-at-a-steady-pace",
    ]
    measured = dataclasses.replace(
        finding,
        link=dataclasses.replace(finding.link, buffer=IntervalEstimate(125e3, 119e3, 133e3, "byte", "waits", 900)),
    )
    assert all(each.startswith(of) for each in assumptions(measured))
    assert 'buffer = "125kB"' in re.sub(" +", " ", scenario_text(measured))
    assert "[observed" not in scenario_text(measured)


@pytest.mark.parametrize("workload", [Persistent(), AppLimited(RATE), "receiver"])
def test_a_goal_is_a_use_of_the_link_only_if_flows_can_use_all_of_it(
    finding: Finding, workload: Persistent | AppLimited | str
) -> None:
    [long, *_] = finding.groups
    window = IntervalEstimate(64_000, 64_000, 64_000, "byte", "windows in ACKs", 30) if workload == "receiver" else None
    sent = workload if isinstance(workload, Persistent | AppLimited) else Persistent()
    long = dataclasses.replace(long, workload=sent, receive_window=window)
    text = scenario_text(dataclasses.replace(finding, groups=(long,)))
    assert finding.regime.name == "elastic"
    assert ("utilization" in tomllib.loads(text)["goal"]) is isinstance(workload, Persistent)


@pytest.mark.parametrize(("likely", "named"), [(0.79, False), (0.81, True)])
def test_a_controller_that_evidence_does_not_single_out_is_assumed(
    finding: Finding, likely: float, named: bool
) -> None:
    [long, *_] = finding.groups
    long = dataclasses.replace(long, controller={"cubic": likely, "newreno": 1.0 - likely})
    tables = tomllib.loads(scenario_text(dataclasses.replace(finding, groups=(long,)))).get("assumed", [])
    assert any("congestion control" in each for each in tables) is not named


def test_a_round_trip_that_may_have_waited_is_at_most_its_value(finding: Finding) -> None:
    trip = IntervalEstimate(0.0456, 0.0456, 0.0456, "s", "its handshake, which may have waited", 1, is_most=True)
    [long, *_] = finding.groups
    long = dataclasses.replace(long, round_trips=RoundTrips(each=(trip,)))
    found = dataclasses.replace(finding, groups=(long,))
    assert "# at most 45.6 ms; its handshake, which may have waited" in scenario_text(found)
    assert "round trip at most 45.6 ms" in answer(found)[1]
    assert "at most 45.6 ms" in group_cells(long)
    [trip_told] = finding_json(found)["groups"][0]["round_trips"]["each"]
    assert trip_told["is_most"] is True


def test_a_finding_without_flows_is_traffic_as_a_whole(finding: Finding) -> None:
    counters = dataclasses.replace(finding, groups=(), link=LinkFinding(RATE, BUFFER, Unknown("queue", "b", "c")))
    (group,) = parsed(counters)["flows"]
    assert "poisson" in group["workload"]
    assert any("all traffic" in each for each in assumptions(counters))
    with pytest.raises(InputError, match="no load over time"):
        scenario_text(dataclasses.replace(counters, load=None))


def test_an_unknown_rate_is_a_comment_with_its_bound_and_how_to_find_it(finding: Finding) -> None:
    unknown = Unknown("the link's rate", "it was never busy", "give it with --rate, or read ifHighSpeed", 9.976e6)
    text = scenario_text(dataclasses.replace(finding, link=dataclasses.replace(finding.link, rate=unknown)))
    known = (
        "# rate: at least 9.97 Mb/s. The value is unknown, because it was never busy. Give it with --rate, or read if"
    )
    assert text.count("it was never busy") == text.count(known) == 1
    tables = tomllib.loads(text)
    assert "rate" not in tables["link"]
    assert tables["title"].startswith("Observed: a link of unknown rate")
    assert tables["observed"]["bounds"]["link.rate"]["at_least"] == "9.97Mbps"
    with pytest.raises(InputError, match=r"link.rate: found no value, and was observed to be at least 9.97Mbps; "):
        Scenario.parse(text)
    taken, changes = taken_for_values(bounds_of(text), ())
    assert [bound.key for bound in taken] == ["link.rate"]
    assert Scenario.parse(text, overrides=[*changes, "link.buffer=1BDP"]).core.rate_bps == 9.97e6
    assert taken_for_values(bounds_of(text), ["link.rate=1Gbps"]) == ((), ())


def test_unknown_round_trips_are_a_comment_with_their_bound(finding: Finding) -> None:
    group = dataclasses.replace(finding.groups[0], round_trips=Unknown("rtt", "it waited", "ping", at_most=0.0401))
    text = scenario_text(dataclasses.replace(finding, groups=(group,)))
    [flows] = tomllib.loads(text)["flows"]
    assert "rtt" not in flows
    assert "# rtt: at most 40.1 ms. The value is unknown, because it waited. Ping." in text
    [rtt] = [bound for bound in bounds_of(text) if bound.key.endswith("rtt")]
    assert (rtt.at_least, rtt.at_most) == (None, "40.1ms")
    with pytest.raises(InputError, match=rf"{rtt.key}: found no value, and was observed to be at most 40.1ms"):
        Scenario.parse(text, overrides=["link.buffer=100p"])


@given(st.floats(1e3, 1e14))
def test_a_bound_stays_true_as_it_is_written(number: float) -> None:
    below, above = rounded_down(number), rounded_up(number)
    assert 0.99 * number <= below <= number * (1 + 1e-9)
    assert number * (1 - 1e-9) <= above <= 1.01 * number


def test_the_scenario_runs(finding: Finding) -> None:
    scenario = read(scenario_text(finding), "run.warmup=1s", "run.measure=1s")
    report = scenario.run(replications=1)
    assert report.metrics["utilization"].mean > 0.5


# Any finding -----------------------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=40)


def estimates(low: float, high: float, unit: str) -> st.SearchStrategy[IntervalEstimate]:
    def of(value: float, below: float, above: float, source: str, exact: bool) -> IntervalEstimate:
        ends = (value, value) if exact else (value * (1 - below), math.inf if above > 0.9 else value * (1 + above))
        return IntervalEstimate(value, *ends, unit, source, 3)

    return st.builds(of, st.floats(low, high), st.floats(0, 1), st.floats(0, 1), words, st.booleans())


unknowns = st.builds(Unknown, words, words, words)


def laws(low: float, high: float) -> st.SearchStrategy[Distribution]:
    value = st.floats(low, high)
    lognormal = st.builds(Lognormal, value, st.floats(0.01, 3))
    pareto = st.builds(lambda shape, start: Pareto(shape, start, 100 * start), st.floats(0.3, 5), value)
    points = st.lists(value, min_size=2, max_size=20).map(
        lambda each: Cdf(tuple((x, min(1.0, (n + 1) / len(each))) for n, x in enumerate(sorted(each))))
    )
    return st.one_of(
        st.builds(Exponential, value),
        st.builds(Weibull, st.floats(0.2, 20), value),
        lognormal,
        pareto,
        st.lists(value, min_size=1, max_size=30).map(lambda each: Choice(tuple(each))),
        st.builds(lambda w, a, b: Mixture(((w, a), (1 - w, b))), st.floats(0.01, 0.99), lognormal, pareto),
        points,
    )


times = estimates(1e-4, 900, "s")
rates = estimates(0, 1e12, "bit/s")
sizes = laws(1, 1e12)
trips = st.one_of(
    st.lists(times, min_size=1, max_size=80).map(lambda each: RoundTrips(each=tuple(each))),
    st.lists(times, min_size=1, max_size=6).map(
        lambda each: RoundTrips(quantiles=tuple(Quantile((n + 0.5) / len(each), time) for n, time in enumerate(each)))
    ),
    laws(1e-3, 400).map(
        lambda law: RoundTrips(
            each=(IntervalEstimate(0.1, 0.1, 0.1, "s", "", 1),), distribution=law if isinstance(law, Cdf) else None
        )
    ),
)
workloads = st.one_of(
    st.just(Persistent()),
    st.builds(OpenLoop, sizes, laws(1e-6, 1e3), words, words, st.none() | rates),
    st.builds(AppLimited, rates),
    st.builds(ConstantRate, rates),
    st.builds(PoissonPackets, rates),
)
controllers = st.dictionaries(st.sampled_from(["cubic", "bbr", "newreno", "reno", "yeah"]), st.floats(0, 1), max_size=4)
groups = st.builds(
    GroupFinding,
    name=words,
    count=st.one_of(st.none(), estimates(0, 1e6, ""), unknowns),
    workload=workloads,
    limited_by=st.sampled_from(["this link", "application", "receiver", "elsewhere", "unknown"]),
    controller=st.none() | controllers | unknowns,
    round_trips=st.none() | trips | unknowns,
    packet=st.none() | estimates(0, 70_000, "byte"),
    receive_window=st.none() | estimates(0, 1e9, "byte"),
    access=st.none() | rates,
    rate=st.none() | rates,
    ecn=st.none() | st.booleans(),
    pacing=st.none() | st.booleans(),
    unknown=st.lists(unknowns, max_size=2).map(tuple),
)
links = st.builds(
    LinkFinding,
    st.one_of(estimates(0, 1e15, "bit/s"), unknowns),
    st.one_of(estimates(0, 1e9, "byte"), estimates(0, 1e6, "packets"), estimates(0, 10, "s"), unknowns),
    st.one_of(st.builds(Queue, st.sampled_from(["droptail", "codel", "fq_codel", "no such"]), words), unknowns),
)
findings = st.builds(
    Finding,
    input=st.builds(Input, words, st.none() | st.floats(0, 1e6), st.none() | st.integers(0, 10**12), st.none()),
    link=links,
    limited_flows=st.one_of(estimates(0, 1e4, ""), unknowns),
    regime=st.builds(Regime, st.sampled_from(["transparent", "elastic", "overload", "unknown"]), words, st.just(())),
    groups=st.lists(groups, min_size=1, max_size=4).map(tuple),
    load=st.just(load_of(busy_bins(3), 0.001, rate=RATE, source="bytes")),
    unknown=st.lists(unknowns, max_size=3).map(tuple),
    notes=st.lists(words, max_size=3).map(tuple),
)


@given(findings)
@settings(max_examples=examples(200))
def test_any_finding_becomes_a_scenario_that_parses(finding: Finding) -> None:
    text = scenario_text(finding)
    scenario = read(text)
    rate = finding.link.rate
    if isinstance(rate, IntervalEstimate) and 1e3 <= rate.value <= 1e14:
        assert scenario.core.rate_bps == pytest.approx(rate.value, rel=0.05, abs=1)
        assert rate.low * (1 - 1e-6) - 1 <= scenario.core.rate_bps <= rate.high * (1 + 1e-6) + 1
    assert not [line for line in text.splitlines() if any(ord(letter) < 32 for letter in line)]


@given(findings)
@settings(max_examples=examples(40))
def test_any_finding_becomes_json(finding: Finding) -> None:
    text = json.dumps(finding_json(finding), allow_nan=False)
    data = json.loads(text)
    assert len(data["groups"]) == len(finding.groups)
    assert len(data["unidentified"]) == len(finding.unidentified)


def test_json_has_laws_in_the_scenarios_form_and_all_that_a_group_is(finding: Finding) -> None:
    data = finding_json(finding)
    assert data["link"]["rate"] == {
        "value": 98.7e6,
        "low": 98.4e6,
        "high": 99.0e6,
        "unit": "bit/s",
        "source": "back-to-back departures",
        "samples": 41_233,
        "independent": 41_233,
    }
    assert data["link"]["buffer"]["unknown"] == "the buffer's size"
    short = data["groups"][1]["workload"]
    assert short["kind"] == "open_loop"
    assert set(short["interarrival"]) == {"exponential"}
    assert data["regime"]["name"] == finding.regime.name
    whats = [each["quantity"] for each in data["distributions"]]
    assert whats == ["size of short transfers", "round trip without queueing"]
    shares = [share for _, share in data["distributions"][0]["data"]["points"]]
    assert shares == sorted(shares)
    assert len(data["flows"]) == 8


# Addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_arrives(finding: Finding, address: str) -> None:
    changed = saying(finding, f"dump of {address}, port 80")
    for text in (scenario_text(changed), json.dumps(finding_json(changed))):
        assert address not in text
        assert "(address)" in text
        assert ADDRESS.search(text) is None


@pytest.mark.parametrize("text", ["12:30:45", "1.2.3", "0.25 of 3.5", "std::vector", "a: b", "10:00 to 11:30", "1e-3"])
def test_what_is_no_address_stays(text: str) -> None:
    assert without_addresses(text) == text
