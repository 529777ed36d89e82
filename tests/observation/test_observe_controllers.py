"""Which family a flow is of: laws of the probabilities, on windows made here and on captures of the engines."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from checks.observed import judge
from checks.observed_cases import CASES
from forebay import _core
from forebay.measurement.traces import write_traces
from forebay.observation.congestion_signals import congestion_signals
from forebay.observation.controllers import FACTORS, UNKNOWN, Family, families, family
from forebay.observation.inputs.capture import observe_captures
from forebay.observation.streams import Reductions, Sender, Stream, Visits
from forebay.observation.window_reductions import reduced_shares
from forebay.scenario import Scenario, run_jobs
from tests.support.streams import SEGMENT, stream, windows
from tests.support.tiers import examples

RTT = 0.051


# Seen by the sender's own echoes -------------------------------------------------------------------------------------


def sender(before: Any, after: Any, rounds: Any, **others: Any) -> Sender:
    """A sender whose reductions come after `rounds` full rounds each; windows are in segments."""
    before, after, rounds = (np.asarray(column, dtype=float) for column in (before, after, rounds))
    times = np.cumsum((rounds + 2.0) * RTT)
    reductions = Reductions(
        times_s=times,
        repaired_s=times + RTT,
        before_bytes=before * SEGMENT,
        earlier_bytes=before * SEGMENT,
        after_bytes=after * SEGMENT,
        later_bytes=after * SEGMENT,
        rounds=rounds,
        silence_s=np.zeros(len(before)),
    )
    usual: dict[str, Any] = {"reductions": reductions, "visits": visits(0), "compared": int(rounds.sum()), "fallen": 0}
    return Sender(**{**usual, **others})


def visits(count: int, former: float = 60.0, length: float = 0.2) -> Visits:
    return Visits(
        10.0 * np.arange(1, count + 1),
        np.full(count, length),
        np.full(count, former * SEGMENT),
        np.full(count, former * SEGMENT),
        np.full(count, RTT),
    )


def flow(seen: Sender, window: float, **others: Any) -> Stream:
    """A stream whose losses are those reductions and whose packets are those of a mean window."""
    times = seen.reductions.times_s
    seconds = float(times[-1]) + RTT if len(times) else 60.0
    usual = {"losses_s": times, "filled": len(times), "packets": round(seconds / RTT * window)}
    return stream(seconds, sender=seen, windows=windows(seconds), **{**usual, **others})


def grows(factor: float, by: float, top: float, events: int) -> Stream:
    """A window that keeps `factor` at each loss and grows by `by` segments in each round trip."""
    after = np.full(events, np.floor(top * factor + by))
    rounds = np.round((top - after) / by) + 1.0
    return flow(sender(np.full(events, np.floor(top)), after, rounds), top * (1 + factor) / 2)


@settings(max_examples=examples(60), deadline=None)
@given(top=st.floats(8, 2000), events=st.integers(3, 40))
def test_what_keeps_seven_tenths_is_never_reno_whatever_its_scale(top: float, events: int) -> None:
    found = family(grows(0.7, 0.53, top, events))
    assert found.probabilities["newreno"] < 0.5
    assert found.probabilities["newreno"] < found.probabilities["cubic"]


@settings(max_examples=examples(60), deadline=None)
@given(top=st.floats(6, 400), events=st.integers(4, 40))
def test_what_halves_and_grows_by_a_segment_is_reno(top: float, events: int) -> None:
    assert family(grows(0.5, 1.0, top, events)).name == "newreno"


@settings(max_examples=examples(40), deadline=None)
@given(top=st.floats(8, 300), factor=st.sampled_from([(0.5, 1.0), (0.7, 0.53)]), events=st.integers(2, 20))
def test_fewer_losses_do_not_make_more_certain(top: float, factor: tuple[float, float], events: int) -> None:
    more, fewer = (max(family(grows(*factor, top, count)).probabilities.values()) for count in (2 * events, events))
    assert fewer <= more + 0.02


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32), events=st.integers(0, 30), fallen=st.floats(0, 1))
def test_probabilities_are_of_something(seed: int, events: int, fallen: float) -> None:
    draws = np.random.default_rng(seed)
    before, after = draws.uniform(0, 400, events), draws.uniform(0, 400, events)
    seen = sender(before, after, draws.integers(0, 50, events))
    seen = replace(seen, fallen=round(fallen * seen.compared), visits=visits(int(draws.integers(0, 4))))
    found = family(flow(seen, float(draws.uniform(1, 200))))
    assert math.isclose(sum(found.probabilities.values()), 1.0)
    assert all(0.0 <= share <= 1.0 for share in found.probabilities.values())
    assert (found.name == UNKNOWN) == bool(found.because)


def test_a_flow_that_drops_to_four_segments_and_recovers_is_bbr() -> None:
    nothing = sender([], [], [])
    still = replace(nothing, compared=1000)
    assert family(flow(replace(still, visits=visits(5)), 60.0)).name == "bbr"
    # Neither after a halving, nor for long, nor where nothing comes back.
    for other in (visits(5, former=9.0), visits(5, length=1.5), replace(visits(5), regained_bytes=np.full(5, 4.0))):
        assert family(flow(replace(still, visits=other), 60.0)).name == UNKNOWN


def test_a_flow_that_slows_without_a_loss_is_bbr_unless_application_limited() -> None:
    falls = replace(sender([], [], []), compared=400, fallen=50)
    assert family(flow(falls, 60.0)).name == "bbr"
    for idle in ({"idle_share": 0.3}, {"pauses": 4}):
        found = family(flow(falls, 60.0, **idle))
        assert found.name == UNKNOWN
        assert found.because == "it lost no packet"


def test_who_repairs_all_the_time_with_a_large_window_is_bbr() -> None:
    """Two losses in three round trips would bring a controller that yields to two segments."""
    events = 200
    seen = sender(np.zeros(events), np.zeros(events), np.zeros(events))
    found = family(flow(seen, 60.0))
    assert found.name == "bbr"
    # The same losses at Reno's window for this loss rate identify no controller.
    assert family(flow(seen, 2.0)).probabilities["bbr"] < found.probabilities["bbr"]


@settings(max_examples=examples(40), deadline=None)
@given(top=st.floats(28, 95), events=st.integers(12, 40))
def test_what_keeps_seven_eighths_and_has_scalable_s_window_is_scalable(top: float, events: int) -> None:
    """Windows below 28 segments keep 22 of 25, for example, and stay unknown."""
    assert family(grows(0.875, 1.0, top, events)).name == "scalable"


@pytest.mark.parametrize(
    ("rate", "buffer", "rtt", "count", "seed"),
    [("20Mbps", "2BDP", "20ms", 2, 15), ("30Mbps", "0.25BDP", "30ms", 3, 111), ("10Mbps", "0.5BDP", "30ms", 2, 3)],
)
def test_bbr_that_keeps_seven_eighths_for_a_while_is_not_scalable(
    rate: str, buffer: str, rtt: str, count: int, seed: int, tmp_path: Path
) -> None:
    flows = {"cca": "bbr", "count": count, "rtt": rtt, "stack": "linux", "packet": "1500B", "workload": "persistent"}
    tables = {
        "link": {"rate": rate, "buffer": buffer},
        "flows": [{**flows, "start": {"uniform": ["0s", "0.5s"]}}],
        "run": {"warmup": "0s", "measure": "20s", "seed": seed},
        "trace": {"record": ["packets"], "capture": "departures", "acknowledgments": True},
    }
    [report] = run_jobs([_core.Job(Scenario.of(tables).core, "packet", seed, 0, traces=True)])
    write_traces(report, tmp_path)
    named = [each.family.name for each in observe_captures([tmp_path / "packets.pcapng"]).long_flows]
    assert len(named) == count
    assert set(named) <= {"bbr", UNKNOWN}


def test_timeouts_and_full_receivers_tell_nothing() -> None:
    stated = grows(0.5, 1.0, 40.0, 10)
    assert stated.sender is not None
    late = replace(stated.sender.reductions, silence_s=np.full(10, 0.3))
    assert not family(replace(stated, sender=replace(stated.sender, reductions=late))).losses
    assert stated.windows is not None
    full = replace(stated.windows, receive_window_bytes=np.full(len(stated.windows), 41.0 * SEGMENT))
    assert not family(replace(stated, windows=full)).losses
    assert family(stated).losses == 10


def test_slow_start_is_left_out() -> None:
    stated = grows(0.5, 1.0, 40.0, 10)
    assert stated.sender is not None
    earlier = replace(stated.sender.reductions, earlier_bytes=stated.sender.reductions.before_bytes / 2)
    assert not family(replace(stated, sender=replace(stated.sender, reductions=earlier))).losses


def test_others_lend_to_who_says_little_and_not_to_who_says_much() -> None:
    little, cubics = grows(0.7, 0.53, 9.0, 2), [grows(0.7, 0.53, 60.0, 20)] * 10
    renos = [grows(0.5, 1.0, 60.0, 20)] * 10

    def first(*streams: Stream) -> Family:
        return families(streams)[0]

    alone = family(little).probabilities["cubic"]
    assert first(little, *cubics).probabilities["cubic"] > alone > first(little, *renos).probabilities["cubic"]
    assert first(cubics[0], *renos).name == "cubic"
    assert first(renos[0], *cubics).name == "newreno"
    # As many of each lend to neither more than the prior does.
    both = first(little, *cubics, *renos).probabilities["cubic"]
    assert first(little, *renos).probabilities["cubic"] < both < first(little, *cubics).probabilities["cubic"]


@settings(max_examples=examples(60), deadline=None)
@given(losses=st.integers(2, 6), window=st.floats(20, 400), lone=st.booleans())
def test_the_prior_alone_names_no_controller(losses: int, window: float, lone: bool) -> None:
    """Losses of which no reduction is known, at the window that Reno and CUBIC have: several families have it."""
    events = sender(np.zeros(losses), np.zeros(losses), np.full(losses, window))
    one = flow(events, window)
    for found in families([one] if lone else [one] * 4):
        assert found.name == UNKNOWN
        assert found.because


def test_bbr_is_not_ruled_out_by_losses_at_its_beginning() -> None:
    """A large queue drops packets of its startup and none later, so that it repairs for next to no time."""
    events = sender(np.zeros(3), np.zeros(3), np.array([5.0, 5.0, 280.0]), compared=0)
    assert family(flow(events, 130.0)).probabilities["bbr"] > 0.005


@pytest.mark.parametrize("without", [True, False])
def test_a_receiver_without_timestamps_knows_no_window(without: bool) -> None:
    """Its round trips lack the larger part, so that losses of one round trip count as several."""
    losses = np.arange(2.0, 50.0, 0.5)
    seen = windows(
        60.0, max_downstream_rtt_s=np.full(3000, 5e-5), upstream_rtt_s=np.full(3000, np.nan if without else 0.04)
    )
    one = stream(
        60.0, windows=seen, losses_s=losses, filled=len(losses), handshake_upstream_rtt_s=0.04, downstream_rtt_s=5e-5
    )
    assert math.isnan(congestion_signals(one).response) is without


def test_of_no_flow_no_family() -> None:
    assert families([]) == []


# Seen without timestamps ---------------------------------------------------------------------------------------------


def sawtooth(factor: float, growth: str, seed: int, top: float = 80.0) -> Stream:
    """A window that falls to `factor` of its top and grows back, at a round trip of 51 ms."""
    draws = np.random.default_rng(seed)
    width, seconds, rtt = 0.02, 60.0, 0.051
    count = round(seconds / width)
    flight, losses = np.empty(count), []
    epoch, since, level = 0.0, top * factor, top * factor
    for index in range(count):
        time = index * width
        age = time - epoch
        if growth == "reno":
            level = since + age / rtt
        else:
            period = ((1 - factor) * top / 0.4) ** (1 / 3)
            level = 0.4 * (age - period) ** 3 + top
        if level >= top * (1 + 0.05 * draws.standard_normal()):
            losses.append(time + rtt)
            since, epoch = level * factor, time + 2 * rtt
        flight[index] = level
        if losses and losses[-1] - rtt <= time <= losses[-1] + rtt:
            # While a repair is on its way the acknowledgment number stands.
            flight[index] = level * 1.7
    made = windows(seconds, flight_bytes=flight * SEGMENT)
    packets = round(float(np.mean(flight)) * seconds / rtt)
    return stream(seconds, losses_s=np.array(losses), filled=len(losses), windows=made, packets=packets)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("name", "growth"), [("newreno", "reno"), ("cubic", "cubic"), ("cubic", "reno")])
def test_a_sawtooth_tells_its_family(name: str, growth: str, seed: int) -> None:
    found = family(sawtooth(FACTORS[name], growth, seed))
    assert found.name == name
    assert found.factor == pytest.approx(FACTORS[name], abs=0.08)
    assert math.isclose(sum(found.probabilities.values()), 1.0)


def test_of_a_flow_that_lost_nothing_no_family_is_known() -> None:
    found = family(stream())
    assert (found.name, found.because) == (UNKNOWN, "it lost no packet")
    assert not len(reduced_shares(stream()))
    assert family(stream(windows=None, losses_s=np.array([3.0]))).name == UNKNOWN
    assert family(stream(windows=None, downstream_samples=0)).because == "only one direction of it was captured"


def test_windows_longer_than_a_round_trip_tell_nothing() -> None:
    wide = windows(60.0, 0.2)
    assert not len(reduced_shares(stream(windows=wide, losses_s=np.arange(5.0, 50.0, 5.0))))


def flight_with(visits_at: Any) -> NDArray[np.float64]:
    flight = np.full(3000, 80.0 * SEGMENT)
    for visit in visits_at:
        flight[visit : visit + 10] = 4 * SEGMENT
    return flight


def test_visits_to_the_least_window_are_bbr_s() -> None:
    regular = stream(windows=windows(60.0, flight_bytes=flight_with(range(0, 3000, 500))))
    assert family(regular).name == "bbr"
    # As often as timeouts come, and not as regularly, the visits identify no controller.
    odd = stream(windows=windows(60.0, flight_bytes=flight_with((100, 220, 1900))))
    assert family(odd).name == UNKNOWN


# Captures ------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("case", "least"),
    [
        ("5 newreno, 50 Mb/s", 5),
        ("5 cubic, 50 Mb/s", 5),
        ("5 bbr, 50 Mb/s", 4),
        ("4 newreno + 4 cubic", 8),
        ("4 cubic + 4 bbr", 4),
        ("2 bbr, seen before", 2),
        ("20 cubic, 100 Mb/s", 18),
        ("6 newreno of the RFCs", 5),
    ],
)
def test_the_controllers_of_the_engine_are_identified(case: str, least: int, tmp_path: Path) -> None:
    taken = judge(CASES[case], tmp_path).controllers
    right = [each for each in taken if each.name == each.truth]
    wrong = [each for each in taken if each.name not in (each.truth, UNKNOWN)]
    assert len(right) >= least, taken
    assert not wrong


@pytest.mark.parametrize("case", ["8 limited by applications, link half full", "4 limited by receivers, link not full"])
def test_who_is_limited_by_something_else_is_unknown(case: str, tmp_path: Path) -> None:
    [report] = run_jobs([_core.Job(Scenario.of(CASES[case].tables).core, "packet", 7, 0, traces=True)])
    write_traces(report, tmp_path)
    flows = observe_captures([tmp_path / "packets.pcapng"]).long_flows
    assert flows
    for each in flows:
        assert (each.family.name, each.family.because) == (UNKNOWN, "it lost no packet")
