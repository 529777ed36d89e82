"""Captures of hosts, as tcpdump makes them: a way between two captures, clocks that differ, gathered segments."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from forebay.observation.capture_flows import Observed
from forebay.observation.capture_link import Seen, Transfers
from forebay.observation.capture_notes import capture_notes
from forebay.observation.capture_sides import Packets
from forebay.observation.captures import read_captures, seen_of
from forebay.observation.clock_offset import clock_offset_ns
from forebay.observation.estimate import IntervalEstimate, Unknown
from forebay.observation.finding import LinkFinding
from forebay.observation.limits import Limit, limits, receiver_share
from forebay.observation.link_rate import CEILING
from forebay.observation.packet_timing import Bins, Gaps
from forebay.observation.queues import Backlogs, queue_limit
from forebay.observation.round_trips import at_most, base_round_trip
from forebay.observation.streams import Place
from forebay.text.formatting import bandwidth
from forebay.views.observation_words import answer
from tests.support.observations import made
from tests.support.packets import ORIGIN, PACKET, capture, segment
from tests.support.readings import interpret
from tests.support.streams import stream, windows

#: The link: sending time of a packet of 1,500 bytes at 12 Mb/s in ns, buffer in packets, delay behind the queue in ns.
SENDING, BUFFER, WAY = 1_000_000, 25, 20_000_000
UNKNOWN_RATE = Unknown("link rate", "", "")


def crossing(late: float = 0.0) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Bursts into a tail-drop queue: when each packet comes, and when those that were taken arrive at the receiver.

    `late` is the share of those that are stamped 15 ms late, as a host does that was busy.
    """
    random = np.random.default_rng(3)
    came: list[tuple[int, int]] = []
    arrived: list[tuple[int, int]] = []
    leaves: list[int] = []
    number, time = 0, ORIGIN
    for burst in range(200):
        time = ORIGIN + burst * 60_000_000
        for _ in range(int(random.integers(10, 55))):
            # Faster than the link.
            time += int(random.exponential(SENDING / 3))
            waiting = [leave for leave in leaves if leave > time]
            came.append((time, number))
            if len(waiting) < BUFFER:
                leave = max(time, waiting[-1] if waiting else 0) + SENDING
                leaves = [*waiting, leave]
                seen = leave + WAY + (15_000_000 if random.random() < late else 0)
                arrived.append((max(seen, arrived[-1][0] if arrived else 0), number))
            number += 1
    return came, arrived


def files(folder: Path, clock: int, late: float = 0.0) -> list[Path]:
    came, arrived = crossing(late)
    payload = PACKET - 40

    def written(name: str, packets: Sequence[tuple[int, int]], ahead: int) -> Path:
        return capture(
            folder / name, ((time + ahead, segment(1 + PACKET * number, payload), PACKET) for time, number in packets)
        )

    return [written("sender.pcap", came, 0), written("receiver.pcap", arrived, clock)]


@pytest.mark.parametrize("clock", [0, 7_000_000, 900_000_000, -35_000_000])
def test_what_is_on_its_way_between_two_captures_does_not_wait(clock: int, tmp_path: Path) -> None:
    captured = read_captures(files(tmp_path, clock))
    found = interpret(seen_of(captured))
    assert found.queue.tail_drop
    limit = found.queue.limit
    assert isinstance(limit, IntervalEstimate)
    packets = limit.value if limit.unit == "packets" else limit.value / PACKET
    assert packets == pytest.approx(BUFFER, abs=1.01)
    [statements] = [each for each in capture_notes(captured) if "between the two captures" in each]
    assert f"less than {(WAY + SENDING + clock) * 1e-6:.3g} ms" in statements


def test_packets_that_were_stamped_late_make_no_managed_queue(tmp_path: Path) -> None:
    found = interpret(seen_of(read_captures(files(tmp_path, 0, late=0.002)))).queue
    assert found.tail_drop
    assert isinstance(found.limit, IntervalEstimate)
    packets = found.limit.value if found.limit.unit == "packets" else found.limit.value / PACKET
    assert packets == pytest.approx(BUFFER, abs=1.01)


@pytest.mark.parametrize("seed", range(5))
def test_a_queue_that_loses_at_many_backlogs_is_managed(seed: int) -> None:
    random = np.random.default_rng(seed)
    taken = np.sort(random.uniform(0, 1e5, 5000))
    lost = random.uniform(4e4, 1e5, 300)
    packets = taken / 1500, np.ones(5000)
    found = queue_limit(Backlogs(1e5, 67.0, lost, lost / 1500, (taken, np.ones(5000)), packets))
    assert found.tail_drop is False
    # Nor where next to nothing is taken beyond the middle one.
    low = np.sort(random.uniform(0, 7.2e4, 5000))
    found = queue_limit(Backlogs(1e5, 67.0, lost, lost / 1500, (low, np.ones(5000)), (low / 1500, np.ones(5000))))
    assert found.tail_drop is False
    # Losses at one backlog are no limit where much is taken beyond it.
    lost = np.full(300, 5e4)
    found = queue_limit(Backlogs(1e5, 67.0, lost, lost / 1500, (taken, np.ones(5000)), packets))
    assert found.tail_drop is False


def test_gathered_segments_are_no_queue_s_packets(tmp_path: Path) -> None:
    sent = [(ORIGIN + burst * 20_000_000, 1 + burst * 14_600) for burst in range(300)]
    sender = capture(tmp_path / "sender.pcap", ((time, segment(number, 14_600), 14_640) for time, number in sent))
    cut = [
        (time + WAY + part * SENDING, segment(number + part * 1460, 1460), PACKET)
        for time, number in sent
        for part in range(10)
    ]
    captured = read_captures([sender, capture(tmp_path / "receiver.pcap", cut)])
    limit = interpret(seen_of(captured)).queue.limit
    assert isinstance(limit, Unknown)
    assert "offload merged" in limit.because
    assert any("packets of up to 15 kB have" in each for each in capture_notes(captured))
    assert all(each.front is None for each in seen_of(captured).streams)
    # The load of the link comes from the side with whole packets.
    assert seen_of(captured).load.packets.sum() == len(cut)


def flow(folder: Path, before: int) -> Observed:
    """Twenty packets each round trip of 50 ms, a receiver's window, at a place so far from the sender and back."""
    packets: list[tuple[int, bytes, int]] = []
    advertised = 20 * 1460
    number = 1
    random = np.random.default_rng(5)
    # A steady stream, no two packets of which are back to back.
    offsets = np.arange(20) * 2_500_000 + random.integers(0, 2_000_000, (240, 20))
    for time in (ORIGIN + 50_000_000 * np.arange(240)[:, None] + offsets).ravel().tolist():
        packets.append((time, segment(number, 1460), PACKET))
        number += 1460
        answer = bytearray(segment(number, 0, answers=True))
        struct.pack_into(">H", answer, 34, advertised)
        packets.append((time + 50_000_000 - before - 10_000, bytes(answer), 40))
    syn, back, done = (bytearray(segment(0, 0)), bytearray(segment(1, 0, answers=True)), bytearray(segment(1, 0)))
    syn[33], back[33] = 0x02, 0x12
    struct.pack_into(">I", back, 24, 0)
    start = ORIGIN - 60_000_000
    packets += [
        (start, bytes(syn), 40),
        (start + 50_000_000 - before, bytes(back), 40),
        (start + 50_000_000, bytes(done), 40),
    ]
    return interpret(seen_of(read_captures([capture(folder / f"{before}.pcap", packets)])))


@pytest.mark.parametrize("before", [5_000, 10_000_000, 25_000_000, 49_000_000])
def test_a_receiver_s_window_limits_wherever_it_is_captured(before: int, tmp_path: Path) -> None:
    found = flow(tmp_path, before)
    assert found.limited.value == 0
    [held] = found.long_flows
    assert held.limit is Limit.RECEIVER
    assert receiver_share(held.stream) > 0.6


@pytest.mark.parametrize("before", [5_000, 25_000_000, 49_000_000])
def test_a_ceiling_that_nothing_waits_at_is_no_link_s(before: int, tmp_path: Path) -> None:
    found = flow(tmp_path, before)
    seen = seen_of(read_captures([tmp_path / f"{before}.pcap"]))
    ceiling = seen.packets.rate
    assert isinstance(ceiling, IntervalEstimate)
    assert ceiling.source == CEILING
    assert isinstance(found.rate, Unknown)
    because = "the queue may have dropped a part" if found.place is Place.BEFORE else "without loss or queueing"
    assert because in found.rate.because


@pytest.mark.parametrize(("rise", "known"), [(0.0, False), (0.03, True)])
def test_a_wait_is_a_rise_of_whole_round_trips(rise: float, known: bool) -> None:
    """Some windows have seen no data that an acknowledgment released: what is left of them is no short round trip."""
    before = 0.05 + np.where(np.arange(3000) % 10 < 7, rise, 0.0)
    before[::5] = np.nan
    one = stream(
        30.0, windows=windows(30.0, 0.01, upstream_rtt_s=before, downstream_rtt_s=np.full(3000, 5e-6)), bytes=15_000_000
    )
    load = Bins(0.001, np.full(30_000, 500.0), np.full(30_000, 1 / 3))
    none = np.empty(0)
    seen = Seen(
        None,
        0.0,
        30.0,
        Packets(load, Gaps(none, none, none, none, none)),
        [one],
        Transfers(none, none, 0),
        0.0,
        None,
        gathered=False,
    )
    rate = interpret(seen).rate
    assert isinstance(rate, IntervalEstimate) is known


@pytest.mark.parametrize(("pairs", "known"), [(1, False), (60, True)])
def test_what_a_sender_s_own_link_carries_is_no_link_behind_it(pairs: int, known: bool, tmp_path: Path) -> None:
    """Packets leave in pairs at 1 Gb/s, and some come twice: a slower link lost them. Of many at once none must be."""
    packets = []
    for turn in range(3000):
        number = turn if turn % 200 else max(turn - 30, 0)
        packets += [
            (ORIGIN + turn * 2_000_000 + each * 12_000, segment(1 + (number * 2 * pairs + each) * 1460, 1460), PACKET)
            for each in range(2 * pairs)
        ]
    found = interpret(seen_of(read_captures([capture(tmp_path / "sender.pcap", packets)])))
    assert found.place is Place.BEFORE
    assert isinstance(found.rate, IntervalEstimate) is known
    if isinstance(found.rate, Unknown):
        assert "a link before the queue" in found.rate.because
    else:
        assert found.rate.value == pytest.approx(1e9, rel=0.01)


def test_without_a_loss_only_a_sender_s_own_host_tells_its_place(tmp_path: Path) -> None:
    assert flow(tmp_path, 5_000).place is Place.BEFORE
    assert flow(tmp_path, 200_000).place is Place.BEHIND
    assert flow(tmp_path, 49_000_000).place is Place.BEHIND


def test_what_is_before_this_place_is_in_the_window_too() -> None:
    width, payload, received = 0.01, 40_000.0, 100_000.0
    columns = {
        "bytes": np.full(3000, payload * 1500 / 1448 * width / 0.1),
        "flight_bytes": np.full(3000, 55_000.0),
        "receive_window_bytes": np.full(3000, received),
        "upstream_rtt_s": np.full(3000, np.nan),
    }
    made = windows(30.0, width, **columns)
    of = {"payload_bytes": 1448, "bytes": 1500, "window_limited": 0.0, "downstream_rtt_s": 0.05}
    # 55 kB here and 400 kB/s before it: 0.0875 s and more of it fill nine tenths of the window.
    for before, share in ((0.05, 0.0), (0.08, 0.0), (0.1, 1.0)):
        one = stream(30.0, windows=made, upstream_rtt_s=before, **of)
        assert receiver_share(one) == pytest.approx(share, abs=0.02), before
    assert limits([stream(30.0, windows=made, upstream_rtt_s=0.1, **of)], Place.BEHIND, 1.0) == [Limit.RECEIVER]
    unknown = stream(30.0, windows=made, upstream_rtt_s=0.1, **{**of, "window_limited": float("nan")})
    assert receiver_share(unknown) == 0.0


def test_processors_that_stamp_at_once_are_no_clock_that_steps(tmp_path: Path) -> None:
    def remarks(step: int) -> list[str]:
        times = [ORIGIN + 1_000_000 * each for each in range(200)]
        times[100] = times[99] - step
        packets = [(time, segment(1 + 1460 * place, 1460), PACKET) for place, time in enumerate(times)]
        path = tmp_path / f"{step}.pcap"
        with path.open("wb") as file:
            file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 101))
            for time, headers, length in packets:
                file.write(struct.pack("<IIII", time // 10**9, time % 10**9, len(headers), length) + headers)
        return [each for each in capture_notes(read_captures([path])) if "clock" in each]

    assert remarks(900) == []
    assert remarks(80_000) == []
    [statements] = remarks(150_000_000)
    assert statements.startswith("the clock went back once, by 0.15 s")


@pytest.mark.parametrize(("of_data", "found"), [(0.0412, 0.0400), (0.0450, 0.0403)])
def test_a_handshake_is_not_as_long_as_a_packet(of_data: float, found: float) -> None:
    """Sending 1,500 bytes takes 1.2 ms of the times of data, and next to nothing of the handshake's."""
    one = stream(
        downstream_rtt_s=1e-5,
        upstream_rtt_s=0.04029,
        of_data_s=of_data,
        handshake_downstream_rtt_s=0.04,
        handshake_upstream_rtt_s=3e-4,
    )
    base, most = base_round_trip(one, 10e6), at_most(one)
    assert isinstance(base, IntervalEstimate)
    assert most is not None
    assert base.value == pytest.approx(found)
    assert most == pytest.approx(min(of_data, 0.0403))


def test_what_is_between_two_captures_of_a_full_queue_may_be_the_queue() -> None:
    rate = IntervalEstimate(12e6, 11.9e6, 12.1e6, "bit/s", "", 100)

    def between(least_ns: int, share: float, *, hosts: bool = False, known: bool = True) -> int:
        load = Bins(0.001, np.full(1000, share * 1500.0), np.full(1000, share))
        return clock_offset_ns(least_ns, rate if known else UNKNOWN_RATE, load, 1500, hosts=hosts)

    # A packet takes 1 ms.
    assert (between(1_200_000, 0.5), between(-900_000, 0.5)) == (0, 0)
    assert (between(20_000_000, 0.9), between(20_000_000, 0.999)) == (20_000_000, 0)
    assert between(20_000_000, 0.999, hosts=True) == 20_000_000
    # No queue is as long, or shorter than nothing.
    assert (between(2_000_000_000, 1.0), between(-5_000_000, 1.0)) == (2_000_000_000, -5_000_000)
    assert (between(90_000, 0.9, known=False), between(200_000, 0.9, known=False)) == (0, 200_000)


def test_a_long_flow_is_no_transfer(tmp_path: Path) -> None:
    """It began and ended within the capture, as transfers do."""
    packets = [(ORIGIN + turn * 1_000_000, segment(1 + turn * 1460, 1460), PACKET) for turn in range(4000)]
    found = interpret(seen_of(read_captures([_closed(tmp_path / "long.pcap", packets)])))
    assert len(found.long_flows) == 1
    assert found.transfers.count == 0
    few = [(ORIGIN + turn * 1_000_000, segment(1 + turn * 1460, 1460), PACKET) for turn in range(50)]
    found = interpret(seen_of(read_captures([_closed(tmp_path / "short.pcap", few)])))
    assert (len(found.long_flows), found.transfers.count) == (0, 1)


def _closed(path: Path, packets: Sequence[tuple[int, bytes, int]]) -> Path:
    """A capture with a SYN before and a FIN behind."""
    begin, end = bytearray(segment(0, 0)), bytearray(segment(1 + 1460 * len(packets), 0))
    begin[33], end[33] = 0x02, 0x11
    both = [(packets[0][0] - 1_000_000, bytes(begin), 40), (packets[-1][0] + 1_000_000, bytes(end), 40)]
    return capture(path, [*packets, *both])


def test_what_a_link_carries_at_least_is_no_burst_of_a_moment() -> None:
    """Hosts hand on together what they held up, and senders burst: neither is faster than the link."""
    finding = made()
    link = LinkFinding(UNKNOWN_RATE, finding.link.buffer, finding.link.queue)
    assert finding.load is not None
    bursts = tuple(
        dataclasses.replace(scale, most=scale.most * (7 if scale.scale_s < 0.1 else 1)) for scale in finding.load.scales
    )
    finding = dataclasses.replace(finding, link=link, load=dataclasses.replace(finding.load, scales=bursts))
    [steady] = [scale.most for scale in bursts if scale.scale_s == 0.1]
    assert answer(finding)[0].startswith(f"Link of unknown rate (at least {bandwidth(steady)})")
    before = dataclasses.replace(finding, link=dataclasses.replace(link, at_least_bps=31.4e6))
    assert answer(before)[0].startswith("Link of unknown rate (at least 31.4 Mb/s)")
