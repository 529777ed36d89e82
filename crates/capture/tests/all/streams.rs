//! Streams with known truth: the measured round trips, losses, windows and pauses equal the
//! constructed ones.

use crate::connections::{
    ACK, FIN, MILLISECOND, RST, SECOND, SEGMENT, SYN, Transfer, ends, merged, packet,
};
use forebay_capture::{
    Ending, Flags, Observation, Observer, Packet, Settings, Stream, Tcp, Transport,
};
use proptest::prelude::*;

fn observed(packets: &[Packet]) -> Observation {
    let mut observer = Observer::new(Settings::default());
    for packet in packets {
        observer.observe(packet);
    }
    observer.finish()
}

/// The stream of the only transfer's data.
fn only(observation: &Observation) -> &Stream {
    let streams = &observation.interfaces[0].directions[0].streams;
    assert_eq!(streams.count, 1);
    streams
        .long
        .iter()
        .chain(&streams.sample)
        .next()
        .expect("a stream")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn round_trips_are_those_of_the_path(before in 2u64..80, behind in 2u64..80, first in any::<u32>(), timestamps in any::<bool>(), window in 2u64..60) {
        let transfer = Transfer {
            before: before * MILLISECOND,
            behind: behind * MILLISECOND,
            first,
            timestamps,
            window,
            segments: 600,
            ..Transfer::default()
        };
        let observation = observed(&transfer.packets());
        let stream = only(&observation);
        prop_assert_eq!(stream.handshake_behind, Some(transfer.behind));
        prop_assert_eq!(stream.handshake_before, Some(transfer.before));
        prop_assert_eq!(stream.behind.least(), Some(transfer.behind));
        // Each segment is acknowledged, and each acknowledgment answers one segment.
        prop_assert_eq!(u64::from(stream.behind.count()), transfer.segments);
        for quantile in stream.behind_quantiles {
            let ratio = quantile.unwrap() / transfer.behind as f64;
            prop_assert!((ratio - 1.0).abs() < 0.07, "{}", ratio);
        }
        if timestamps {
            prop_assert_eq!(stream.behind_timestamps.least(), Some(transfer.behind));
            prop_assert_eq!(stream.before.least(), Some(transfer.before));
            prop_assert!(stream.before.count() > 2);
        } else {
            prop_assert_eq!(stream.before.count() + stream.behind_timestamps.count(), 0);
        }
        prop_assert_eq!(stream.base_round_trip(), Some(transfer.before + transfer.behind));
        let flight = window * u64::from(SEGMENT);
        prop_assert!(stream.largest_flight.unwrap() <= flight);
        // If the whole window passes before its first acknowledgment, the capture point sees all of
        // it in flight.
        if window * transfer.gap < transfer.behind {
            prop_assert_eq!(stream.largest_flight, Some(flight));
        }
        prop_assert_eq!(stream.distinct, transfer.segments * u64::from(SEGMENT));
        prop_assert_eq!((stream.payload, stream.unseen), (stream.distinct, 0));
        prop_assert_eq!((stream.repeated, stream.filled, stream.losses, stream.duplicate_acks), (0, 0, 0, 0));
    }

    #[test]
    fn losses_are_told_by_their_place(first in any::<u32>(), losses in prop::collection::btree_map(1u64..18, any::<bool>(), 0..6)) {
        // Losses far apart are separate events.
        let lost = |before| losses.iter().filter(|&(_, &it)| it == before).map(|(&it, _)| it * 100).collect();
        let transfer = Transfer { first, lost_before: lost(true), lost_behind: lost(false), ..Transfer::default() };
        let (before, behind) = (transfer.lost_before.len() as u64, transfer.lost_behind.len() as u64);
        let observation = observed(&transfer.packets());
        let stream = only(&observation);
        let segment = u64::from(SEGMENT);
        prop_assert_eq!((stream.repeated_packets, stream.repeated), (behind, behind * segment));
        prop_assert_eq!((stream.filled_packets, stream.filled), (before, before * segment));
        prop_assert_eq!(stream.reordered_packets, 0);
        prop_assert_eq!(stream.losses, before + behind);
        prop_assert_eq!(stream.loss_times.iter().filter(|it| it.before).count() as u64, before);
        prop_assert_eq!(stream.distinct, 2000 * segment);
        prop_assert_eq!(stream.unseen, 0);
        prop_assert_eq!(stream.duplicate_acks > 0, !losses.is_empty());
        // Karn's algorithm: retransmitted data gives no round trip.
        prop_assert_eq!(stream.behind.least(), Some(transfer.behind));
        prop_assert_eq!(stream.behind_timestamps.least(), Some(transfer.behind));
        prop_assert!(stream.behind_quantiles[2].unwrap() < 1.1 * transfer.behind as f64);
        let windows = stream.series.as_ref().unwrap().windows().iter();
        let longest = windows.filter_map(|(_, it)| it.behind).map(|it| it.1).max();
        prop_assert_eq!(longest, Some(transfer.behind));
    }

    #[test]
    fn what_the_capture_lost_is_told(lost in prop::collection::btree_set(10u64..1990, 1..30)) {
        let transfer = Transfer { window: 8, ..Transfer::default() };
        let mut packets = transfer.packets();
        packets.retain(|it| match it.transport {
            Transport::Tcp(tcp) if tcp.payload > 0 => !lost.contains(&(u64::from(tcp.sequence - 1001) / u64::from(SEGMENT))),
            _ => true,
        });
        let observation = observed(&packets);
        let stream = only(&observation);
        prop_assert_eq!(stream.unseen, lost.len() as u64 * u64::from(SEGMENT));
        prop_assert_eq!((stream.repeated, stream.filled), (0, 0));
        prop_assert_eq!(stream.behind.least(), Some(transfer.behind));
    }

    #[test]
    fn series_add_up_to_the_stream(losses in prop::collection::btree_set(1u64..18, 0..6), gap in 1u64..3_000_000) {
        let transfer = Transfer { lost_behind: losses.iter().map(|it| it * 100).collect(), gap, ..Transfer::default() };
        let observation = observed(&transfer.packets());
        let stream = only(&observation);
        let series = stream.series.as_ref().unwrap();
        let windows: Vec<_> = series.windows().iter().map(|&(_, it)| it).collect();
        prop_assert!(windows.len() <= 2048);
        prop_assert_eq!(windows.iter().map(|it| u64::from(it.packets)).sum::<u64>(), stream.data_packets);
        prop_assert_eq!(windows.iter().map(|it| u64::from(it.repeated)).sum::<u64>(), stream.repeated);
        prop_assert_eq!(windows.iter().filter_map(|it| it.behind).map(|it| it.0).min(), stream.behind.least());
        prop_assert_eq!(windows.iter().filter_map(|it| it.before).min(), stream.before.least());
        prop_assert_eq!(windows.iter().filter_map(|it| it.flight).map(|it| u64::from(it.1)).max(), stream.largest_flight);
        let between = series.origin()..=series.origin() + series.width() * 2048;
        prop_assert!(between.contains(&stream.first_data) && between.contains(&stream.last_data));
    }
}

#[test]
fn neighbors_that_change_places_are_reordering() {
    let transfer = Transfer::default();
    let mut packets = transfer.packets();
    let data: Vec<_> = (0..packets.len())
        .filter(|&it| packets[it].bytes > 1000)
        .collect();
    // Every hundredth packet is overtaken by the two after it.
    let mut swapped = 0;
    for places in data.chunks(100).filter(|it| it.len() == 100) {
        let moved = packets[places[50]].transport;
        for pair in [50, 51] {
            packets[places[pair]].transport = packets[places[pair + 1]].transport;
        }
        packets[places[52]].transport = moved;
        swapped += 1;
    }
    let observation = observed(&packets);
    let stream = only(&observation);
    assert_eq!((stream.filled, stream.repeated, stream.losses), (0, 0, 0));
    assert_eq!(stream.reordered_packets, swapped);
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    for before in [false, true] {
        let lost = (300..310).step_by(2).collect();
        let mut transfer = Transfer::default();
        if before {
            transfer.lost_before = lost;
        } else {
            transfer.lost_behind = lost;
        }
        let observation = observed(&transfer.packets());
        let stream = only(&observation);
        assert_eq!(stream.repeated_packets + stream.filled_packets, 5);
        // New Reno repairs one loss per round trip: five round trips, at most five events.
        assert!(
            stream.losses <= 5 && stream.losses >= 2,
            "{}",
            stream.losses
        );
    }
    // Two packets are repeated at once.
    let flow = ends(0);
    let mut packets = Transfer::default().packets();
    let middle = packets[packets.len() / 2].time;
    let repeated: Vec<_> = packets
        .iter()
        .filter(|it| it.flow == flow && it.bytes > 1000)
        .take(2)
        .copied()
        .collect();
    for (time, again) in (0..).zip(repeated) {
        let time = middle + time * MILLISECOND;
        packets.push(Packet { time, ..again });
    }
    let observation = observed(&merged([packets]));
    let stream = only(&observation);
    assert_eq!((stream.repeated_packets, stream.losses), (2, 1));
}

#[test]
fn a_full_receive_window_is_told_where_its_scale_is_known() {
    for (receive, limited) in [(40, true), (400, false)] {
        let transfer = Transfer {
            receive_window: receive,
            gap: 10,
            ..Transfer::default()
        };
        let packets = transfer.packets();
        let observation = observed(&packets);
        let stream = only(&observation);
        assert!(stream.scale_known);
        let bytes = (receive as u32 * SEGMENT) >> 7 << 7;
        assert_eq!(stream.receive_window.map(|(least, _)| least), Some(bytes));
        let share = stream.spent.window_limited as f64 / stream.spent.watched as f64;
        // At the capture point the window is full from data to acknowledgment: 30 of 40 ms.
        let expected = if limited { 0.75 } else { 0.0 };
        assert!((share - expected).abs() < 0.05, "{share}");
        // Without the handshake the scale is unknown.
        let observation = observed(&packets[3..]);
        let stream = only(&observation);
        assert!(!stream.scale_known);
        assert_eq!(
            (stream.receive_window, stream.spent.window_limited),
            (None, 0)
        );
        assert_eq!(stream.base_round_trip(), Some(40 * MILLISECOND));
    }
}

#[test]
fn pauses_of_the_application_are_told() {
    // No packet comes for three seconds, and all data before is acknowledged.
    let transfer = Transfer {
        segments: 400,
        ..Transfer::default()
    };
    let mut packets = transfer.packets();
    packets.pop();
    let last = packets.last().unwrap().time;
    let more = Transfer {
        start: last + 3 * SECOND - transfer.before / 2 - transfer.behind - transfer.before,
        first: transfer.first.wrapping_add(400 * SEGMENT),
        segments: 400,
        ..transfer.clone()
    };
    packets.extend(more.packets().split_off(3));
    let observation = observed(&packets);
    let stream = only(&observation);
    assert_eq!(stream.spent.pauses, 1);
    assert_eq!(stream.pauses.len(), 1);
    assert!(stream.pauses[0].start == last);
    assert!(
        stream.pauses[0].length.abs_diff(3 * SECOND) < 10 * MILLISECOND,
        "{:?}",
        stream.pauses
    );
    // The sender could not have answered sooner.
    assert!(stream.spent.empty + transfer.before >= stream.pauses[0].length);
    assert!(stream.spent.empty >= stream.pauses[0].length - transfer.before);
    assert_eq!((stream.repeated, stream.unseen), (0, 0));
}

#[test]
fn a_sender_that_waits_for_acknowledgments_is_not_idle_wherever_it_is_captured() {
    for (before, behind) in [(0, 40), (1, 39), (20, 20), (39, 1), (40, 0)] {
        let transfer = Transfer {
            before: before * MILLISECOND,
            behind: behind * MILLISECOND + 10_000,
            segments: 2000,
            ..Transfer::default()
        };
        let observation = observed(&transfer.packets());
        let stream = only(&observation);
        let share = stream.spent.empty as f64 / stream.spent.watched as f64;
        assert!(
            share < 0.1,
            "{before} ms before, {behind} ms behind: {share}"
        );
    }
}

#[test]
fn one_way_captures_say_what_they_can() {
    let transfer = Transfer {
        lost_before: [500].into(),
        lost_behind: [900].into(),
        ..Transfer::default()
    };
    let mut packets = transfer.packets();
    packets.retain(|it| it.flow == ends(0));
    let observation = observed(&packets);
    let stream = only(&observation);
    assert_eq!((stream.repeated_packets, stream.filled_packets), (1, 1));
    assert_eq!(stream.behind.count() + stream.before.count(), 0);
    assert_eq!(
        (stream.largest_flight, stream.base_round_trip()),
        (None, None)
    );
    assert!((stream.tick.unwrap() / 1e6 - 1.0).abs() < 0.005);
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let first = Transfer::default().packets();
    let end = first.last().unwrap().time;
    let again = Transfer {
        start: end + MILLISECOND,
        first: 4_000_000_000,
        ..Transfer::default()
    };
    let observation = observed(&merged([first, again.packets()]));
    let streams = &observation.interfaces[0].directions[0].streams;
    assert_eq!((streams.count, streams.long.len()), (2, 2));
    for stream in &streams.long {
        assert_eq!(stream.distinct, 2000 * u64::from(SEGMENT));
        assert_eq!((stream.repeated, stream.unseen), (0, 0));
        assert!(stream.begun);
    }
    assert_eq!(observation.connections, 2);
}

#[test]
fn every_ending_is_told() {
    let data = |time, sequence, flags| {
        let tcp = Tcp {
            sequence,
            flags: Flags(flags),
            payload: 100,
            ..Tcp::default()
        };
        packet(time, ends(0), tcp)
    };
    let later = |time| {
        let tcp = Tcp {
            payload: 1,
            ..Tcp::default()
        };
        packet(time, ends(1), tcp)
    };
    let cases = [
        (vec![data(0, 1, ACK), data(1, 101, ACK | FIN)], Ending::Fin),
        (vec![data(0, 1, ACK), data(1, 101, RST)], Ending::Reset),
        (vec![data(0, 1, ACK)], Ending::Capture),
        (vec![data(0, 1, ACK), later(299 * SECOND)], Ending::Capture),
        (vec![data(0, 1, ACK), later(301 * SECOND)], Ending::Idle),
        (vec![data(0, 1, ACK), data(1, 999, SYN)], Ending::Reused),
    ];
    for (packets, ending) in cases {
        let observation = observed(&packets);
        let streams = &observation.interfaces[0].directions[0].streams;
        assert_eq!(streams.sample[0].ending, ending);
    }
    let mut observer = Observer::new(Settings {
        alive: 1,
        ..Settings::default()
    });
    observer.observe(&data(0, 1, ACK));
    observer.observe(&later(1));
    let observation = observer.finish();
    assert_eq!(observation.evicted, 1);
    let streams = &observation.interfaces[0].directions[0].streams;
    assert_eq!(streams.sample[0].ending, Ending::Evicted);
}
