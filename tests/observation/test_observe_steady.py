"""Senders at a constant rate beside long flows: recognized wherever they are captured, or doubted aloud."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checks.observed_places import PLACES, Span, _flows, _tables, restamped
from forebay import _core
from forebay.measurement.traces import write_traces
from forebay.observation.captures import read_captures, seen_of
from forebay.observation.finding import AppLimited, ConstantRate, Finding, Persistent
from forebay.observation.limits import Limit, limits_on_shared_link
from forebay.observation.observing import observe
from forebay.observation.schedules import find_schedule
from forebay.observation.writing import scenario_text
from forebay.scenario import Scenario, run_jobs
from tests.support.commands import forebay
from tests.support.readings import finding_of, interpret
from tests.support.streams import stream, windows


def writes(rate: str, count: int = 1) -> dict[str, Any]:
    """Connections of an application that writes at a constant rate."""
    return _flows("cubic", count, "40ms", name="app", workload={"app_limited": {"rate": rate}}, start="0s")


def captured(span: Span, place: str, folder: Path) -> Path:
    scenario = Scenario.of(_tables(span, place))
    [report] = run_jobs([_core.Job(scenario.core, "packet", 7, 0, traces=True)])
    write_traces(report, folder)
    file = folder / "seen.pcap"
    gathered = {} if place in ("sender", "receiver") else {"handed_over_ns": 0}
    restamped(folder / "packets.pcapng", file, **gathered)
    return file


def seen(span: Span, place: str, folder: Path) -> Finding:
    found = seen_of(read_captures([captured(span, place, folder)]))
    return finding_of(found, interpret(found))


def rates(finding: Finding, workload: type) -> list[float]:
    """Rates of one flow, in Mb/s, of the groups with such a workload, for each of their flows."""
    found: list[float] = []
    for group in finding.groups:
        if isinstance(group.workload, workload) and group.count is not None and group.rate is not None:
            found += [group.rate.value / 1e6] * round(group.count.value)  # type: ignore[union-attr]
    return sorted(found)


SPANS = {
    # The shares of both are nearly alike: 4 Mb/s of an application, 5.7 of a long flow.
    "a newreno and 4 Mb/s": (Span("10Mbps", "0.5BDP", [_flows("newreno", 1, "40ms"), writes("4Mbps")], 12), 1, [4.0]),
    "a cubic and 500 kb/s": (Span("10Mbps", "1BDP", [_flows("cubic", 1, "40ms"), writes("500kbps")], 12), 1, [0.5]),
    "two newreno and three": (
        Span("30Mbps", "0.5BDP", [_flows("newreno", 2, "40ms"), writes("3Mbps", 3)], 12),
        2,
        [3.0] * 3,
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SPANS)
def test_constant_rate_applications_are_distinguished_from_long_flows(name: str, place: str, tmp_path: Path) -> None:
    span, long, of_applications = SPANS[name]
    found = seen(span, place, tmp_path)
    assert rates(found, AppLimited) == pytest.approx(of_applications, rel=0.05)
    assert len(rates(found, Persistent)) == long
    # Without the link's rate, packets that wait leave a doubt.
    assert all("its packets wait" in each and place in {"sender", "before"} for each in found.assumed)


@pytest.mark.parametrize("place", PLACES)
def test_an_application_faster_than_some_long_flows_is_distinguished(place: str, tmp_path: Path) -> None:
    """It loses as they do, and is neither the fastest nor far below it."""
    flows = [_flows("newreno", 4, "60ms"), {**writes("10Mbps"), "rtt": "10ms"}]
    found = seen(Span("60Mbps", "0.5BDP", flows, 12), place, tmp_path)
    assert 10.0 in [pytest.approx(rate, rel=0.03) for rate in rates(found, AppLimited)] or any(
        "one rate" in each for each in found.assumed
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rate", [0.5, 4.0])
def test_datagrams_of_one_rate_beside_a_long_flow_are_of_constant_rate(rate: float, place: str, tmp_path: Path) -> None:
    noise = {"name": "noise", "workload": {"cbr": {"rate": f"{rate}Mbps"}}}
    found = seen(Span("10Mbps", "0.5BDP", [_flows("newreno", 1, "40ms"), noise], 10), place, tmp_path)
    [constant] = [group for group in found.groups if isinstance(group.workload, ConstantRate)]
    assert constant.workload.rate.value == pytest.approx(rate * 1e6, rel=0.03)
    assert len(rates(found, Persistent)) == 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("controllers", ["cubic newreno", "bbr cubic", "newreno newreno newreno", "cubic"])
def test_long_flows_are_no_applications(controllers: str, place: str, tmp_path: Path) -> None:
    names = controllers.split()
    flows = [_flows(each, 1, "40ms", name=f"{each}{number}") for number, each in enumerate(names)]
    found = seen(Span("12Mbps", "0.5BDP", flows, 12), place, tmp_path)
    assert len(rates(found, Persistent)) == len(names)
    assert found.assumed == ()


def test_a_doubtful_limit_is_assumed_and_takes_the_confidence_from_an_answer(tmp_path: Path) -> None:
    """At 4.2 of 10 Mb/s an application that shares a small buffer is limited by the link most of the time."""
    flows = [{**flow, "processing": "0s"} for flow in (_flows("newreno", 1, "40ms"), writes("4.2Mbps"))]
    file = captured(Span("10Mbps", "0.5BDP", flows, 20), "behind", tmp_path)
    found = observe([file])
    [statements] = found.assumed
    assert "its rate was constant in" in statements
    assert "its application may limit it" in statements
    text = scenario_text(found)
    assert tomllib.loads(text)["assumed"][0] == statements
    out = tmp_path / "link.toml"
    out.write_text(text, encoding="utf-8")
    short = ["--set", "run.measure=2s", "--set", "run.warmup=1s", "--fresh", "--no-picture", "--quick"]
    done = forebay("recommend", out, "--goal", "utilization>=80%", *short)
    assert done.code in (0, 1, 3), done.err
    assert "its rate was constant" in " ".join(done.out.split())
    assert "no confidence" in " ".join(done.out.split())


def sent(rates_bps: np.ndarray, width: float = 0.02) -> Any:
    """A stream that sends at these rates, window by window, all of it payload."""
    count = len(rates_bps)
    bytes_ = rates_bps * width / 8
    # Round trips that vary, as beside a flow that fills a queue.
    trips = 0.04 + 0.02 * (np.arange(count) / 100 % 1)
    made = windows(count * width, width, bytes=bytes_, packets=bytes_ / 1500, downstream_rtt_s=trips)
    total = int(bytes_.sum())
    return stream(
        count * width,
        windows=made,
        bytes=total,
        payload_bytes=total,
        distinct_bytes=total,
        losses_s=np.arange(2.0, count * width - 1, 4.0),
        filled=20,
    )


def test_a_sender_that_catches_up_after_a_pause_follows_a_schedule() -> None:
    """Both send nothing for 0.2 s again and again; one sends faster afterwards, the other grows from half its rate."""
    time = np.arange(2000) % 200
    made_up = np.where(time < 10, 0.0, np.where(time < 20, 8e6, 4e6))
    never = np.where(time < 10, 0.0, 2e6 + 2e6 * time / 200) + 1e6 * (np.arange(2000) // 200 % 3)
    retained, lost = (find_schedule(sent(rates), 2) for rates in (made_up, never))
    assert retained is not None
    assert lost is not None
    assert retained.is_followed
    assert retained.rate_bps == pytest.approx(4e6, rel=0.01)
    assert not lost.may_be_followed
    limits, doubted = limits_on_shared_link([sent(made_up), sent(2 * never)], [Limit.LINK, Limit.LINK])
    assert limits == [Limit.ELSEWHERE, Limit.LINK]
    assert doubted == {}


def test_equal_rates_of_a_full_link_are_doubted_and_not_applications() -> None:
    """A fair scheduler makes them as well."""
    one = sent(np.full(2000, 4e6))
    limits, doubted = limits_on_shared_link([one, one], [Limit.LINK, Limit.LINK])
    assert limits == [Limit.LINK] * 2
    assert doubted == pytest.approx({0: 1.0, 1: 1.0})


def test_a_stream_alone_or_short_has_no_schedule() -> None:
    one = sent(np.full(2000, 4e6))
    assert limits_on_shared_link([one], [Limit.LINK]) == ([Limit.LINK], {})
    assert find_schedule(sent(np.full(40, 4e6)), 2) is None
    assert find_schedule(stream(windows=None), 2) is None
