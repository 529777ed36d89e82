//! Properties of whole captures: each packet counts once, memory is bounded, and no sequence of
//! packets causes a panic.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::connections::{MILLISECOND, SECOND, SEGMENT, Transfer, datagram, ends, merged};
use forebay_capture::{
    Amount, Ecn, Flags, FlowKey, Observation, Observer, Packet, Settings, StreamLimits, Tcp,
    Timestamps, Transport, Udp,
};
use proptest::prelude::*;

fn observed(settings: Settings, packets: &[Packet]) -> Observation {
    let mut observer = Observer::new(settings);
    for packet in packets {
        observer.observe(packet);
    }
    observer.finish()
}

/// Any packet, with few ends so that they meet.
fn any_packet() -> impl Strategy<Value = Packet> {
    let address = prop_oneof![
        (0u8..4).prop_map(|it| IpAddr::V4(Ipv4Addr::new(10, 0, 0, it))),
        (0u16..3).prop_map(|it| IpAddr::V6(Ipv6Addr::new(it, 0, 0, 0, 0, 0, 0, 1))),
    ];
    let number = || prop_oneof![any::<u32>(), 0u32..5000, Just(u32::MAX)];
    let tcp = (
        (number(), number(), any::<u16>(), any::<u16>()),
        prop_oneof![0u32..3, 0u32..3000, any::<u32>()],
        proptest::option::of((any::<u16>(), 0u8..255)),
        proptest::option::of((number(), number())),
        proptest::option::of((number(), number())),
    );
    let tcp = tcp.prop_map(|(numbers, payload, opening, timestamps, sacked)| {
        Transport::Tcp(Tcp {
            sequence: numbers.0,
            acknowledgment: numbers.1,
            flags: Flags(numbers.2),
            window: numbers.3,
            payload,
            segment_size: opening.map(|it| it.0),
            window_shift: opening.map(|it| it.1),
            selective: true,
            sacked: [sacked, sacked, None, None],
            timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
        })
    });
    let udp = (any::<u32>(), any::<Option<u8>>());
    let transport = prop_oneof![
        4 => tcp,
        2 => udp.prop_map(|(payload, first)| Transport::Udp(Udp { payload, first })),
        1 => Just(Transport::Other),
        1 => Just(Transport::Fragment),
    ];
    let time = prop_oneof![
        3 => 0..10 * SECOND,
        1 => 0..1000 * SECOND,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ];
    let ecn = prop_oneof![
        Just(Ecn::NotCapable),
        Just(Ecn::Capable0),
        Just(Ecn::Capable1),
        Just(Ecn::Marked)
    ];
    let place = (
        prop_oneof![0u16..3, any::<u16>()],
        any::<Option<bool>>(),
        proptest::option::of((0u32..4, 0u32..4)),
    );
    let flow = (address.clone(), address, 0u16..3, 0u16..3, any::<u8>());
    let rest = (any::<u32>(), ecn, any::<Option<u16>>());
    (time, place, flow, rest, transport).prop_map(|(time, place, flow, rest, transport)| {
        let protocol = match transport {
            Transport::Tcp(_) => 6,
            Transport::Udp(_) => 17,
            Transport::Other | Transport::Fragment => flow.4,
        };
        Packet {
            time,
            interface: place.0,
            bytes: rest.0,
            frame_bytes: rest.0,
            inbound: place.1,
            stations: place.2,
            flow: FlowKey {
                source: flow.0,
                destination: flow.1,
                source_port: flow.2,
                destination_port: flow.3,
                protocol,
            },
            ecn: rest.1,
            identification: rest.2,
            hops_left: 1,
            transport,
        }
    })
}

fn sum(all: impl IntoIterator<Item = Amount>) -> Amount {
    let mut sum = Amount::default();
    for it in all {
        sum.packets += it.packets;
        sum.bytes += it.bytes;
    }
    sum
}

/// Every packet counts once in each table, and streams and other packets are all there is.
fn check_totals(observation: &Observation, packets: &[Packet]) {
    let mut all = vec![observation.unobserved];
    for interface in &observation.interfaces {
        for direction in &interface.directions {
            let (load, streams) = (&direction.load, &direction.streams);
            all.push(load.total);
            assert_eq!(sum(load.bins.bins().iter().copied()), load.total);
            assert_eq!(sum(load.protocols.iter().copied()), load.total);
            assert_eq!(sum(load.codepoints), load.total);
            assert_eq!(load.sizes.iter().sum::<u64>(), load.total.packets);
            let parts = [streams.carried, streams.bare, direction.other];
            assert_eq!(sum(parts), load.total);
            let gaps: u64 = direction.gaps.iter().map(|it| it.times.total()).sum();
            assert_eq!(gaps, load.total.packets.saturating_sub(1));
            let kept = || streams.long.iter().chain(&streams.sample);
            if kept().count() as u64 == streams.count {
                let carried = kept().map(|it| Amount {
                    packets: it.packets,
                    bytes: it.bytes,
                });
                assert_eq!(sum(carried), streams.carried);
            }
            assert_eq!(streams.sizes.total(), streams.count);
            assert_eq!(streams.durations.total(), streams.count);
            let starts = streams.start_gaps.total() + u64::from(streams.count > 0);
            assert_eq!(starts, streams.count);
            assert!(streams.starts.is_sorted());
            for stream in kept() {
                assert!(stream.first <= stream.first_data && stream.last_data <= stream.last);
                assert!(stream.data_packets <= stream.packets && stream.distinct <= stream.payload);
                assert!(stream.marks <= stream.capable && stream.capable <= stream.packets);
            }
        }
        let [first, second] = &interface.directions;
        assert!(first.load.total.bytes >= second.load.total.bytes);
    }
    let expected = packets.iter().map(|it| Amount {
        packets: 1,
        bytes: u64::from(it.bytes),
    });
    assert_eq!(sum(all), sum(expected));
    assert_eq!(observation.packets, packets.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_packets_are_counted_once(packets in prop::collection::vec(any_packet(), 0..120), alive in 1usize..6, memory in 0usize..3000, queue in proptest::option::of((0u16..3, 0u16..3))) {
        let stream_limits = StreamLimits { long_packets: 3, long: 2, sample: 2, starts: 3 };
        for stream_limits in [stream_limits, StreamLimits::default()] {
            let settings = Settings { queue, alive, stream_limits, series_memory: memory };
            let observation = observed(settings, &packets);
            check_totals(&observation, &packets);
            prop_assert!(observation.max_concurrent_flows <= alive as u64);
        }
    }

    #[test]
    fn equal_captures_are_equal_observations(packets in prop::collection::vec(any_packet(), 0..60), alive in 1usize..6) {
        let stream_limits = StreamLimits { long_packets: 3, long: 2, sample: 2, starts: 3 };
        let settings = Settings { alive, stream_limits, ..Settings::default() };
        let evidence = || {
            let observation = observed(settings, &packets);
            let directions = observation.interfaces.into_iter().flat_map(|it| it.directions);
            let streams = directions.map(|it| {
                let mut streams = it.streams;
                // Another observer has another hash seed.
                for stream in streams.long.iter_mut().chain(&mut streams.sample) {
                    stream.path = 0;
                }
                format!("{streams:?}")
            });
            streams.collect::<Vec<_>>()
        };
        prop_assert_eq!(evidence(), evidence());
    }
}

#[test]
fn a_million_tiny_flows_take_the_memory_of_those_that_live() {
    let settings = Settings {
        alive: 1000,
        stream_limits: StreamLimits {
            sample: 500,
            starts: 700,
            ..StreamLimits::default()
        },
        ..Settings::default()
    };
    let mut observer = Observer::new(settings);
    let flows = 1_000_000;
    for flow in 0..flows {
        observer.observe(&datagram(u64::from(flow) * 1000, ends(flow), 100));
    }
    let observation = observer.finish();
    assert_eq!(observation.max_concurrent_flows, 1000);
    assert_eq!(observation.evicted, u64::from(flows) - 1000);
    assert_eq!(observation.connections, u64::from(flows));
    let streams = &observation.interfaces[0].directions[0].streams;
    assert_eq!(streams.count, u64::from(flows));
    assert_eq!((streams.sample.len(), streams.starts.len()), (500, 700));
    assert_eq!(streams.sizes.total(), u64::from(flows));
    // In a uniform sample, the mean of 500 numbers of a million is within five standard errors.
    let mean = streams.sample.iter().map(|it| it.connection).sum::<u64>() as f64 / 500.0;
    let error = 1e6 / 12f64.sqrt() / 500f64.sqrt();
    assert!((mean - 5e5).abs() < 5.0 * error, "{mean}");
}

#[test]
fn silence_ends_flows_in_their_time() {
    let mut observer = Observer::new(Settings::default());
    // UDP flows live for 60 s, so about 60 are live at once.
    for flow in 0..1000u32 {
        observer.observe(&datagram(u64::from(flow) * SECOND, ends(flow), 100));
    }
    assert_eq!(observer.finish().max_concurrent_flows, 62);
}

#[test]
fn the_smallest_streams_lose_their_series_first() {
    let transfers = (0..20u32).map(|number| Transfer {
        number,
        segments: 200 + 50 * u64::from(number),
        start: SECOND + u64::from(number) * 20 * SECOND,
        ..Transfer::default()
    });
    let packets = merged(transfers.map(|it| it.packets()));
    let whole = observed(Settings::default(), &packets);
    let series = |observation: &Observation| {
        let streams = &observation.interfaces[0].directions[0].streams;
        let mut all: Vec<_> = streams.long.iter().chain(&streams.sample).collect();
        all.sort_by_key(|it| it.bytes);
        assert_eq!(all.len(), 20);
        all.iter().map(|it| it.series.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(series(&whole), [true; 20]);
    let settings = Settings {
        series_memory: 40_000,
        ..Settings::default()
    };
    let scarce = observed(settings, &packets);
    let kept = series(&scarce);
    assert!(kept.is_sorted() && kept[19] && !kept[0], "{kept:?}");
    let streams = &scarce.interfaces[0].directions[0].streams;
    let lost = kept.iter().filter(|it| !**it).count() as u64;
    assert_eq!(streams.series_lost, lost);
}

#[test]
fn the_longest_streams_are_kept() {
    let transfers = (0..30u32).map(|number| Transfer {
        number,
        segments: 20 + u64::from((number * 7) % 30) * 10,
        start: SECOND + u64::from(number) * 20 * SECOND,
        ..Transfer::default()
    });
    let packets = merged(transfers.map(|it| it.packets()));
    let stream_limits = StreamLimits {
        long_packets: 100,
        long: 5,
        sample: 1000,
        ..StreamLimits::default()
    };
    let settings = Settings {
        stream_limits,
        ..Settings::default()
    };
    let observation = observed(settings, &packets);
    let streams = &observation.interfaces[0].directions[0].streams;
    let mut sizes: Vec<_> = streams.long.iter().map(|it| it.distinct).collect();
    sizes.sort_unstable();
    let largest = [270, 280, 290, 300, 310].map(|it| it * u64::from(SEGMENT));
    assert_eq!(sizes, largest);
    assert_eq!(streams.sample.len(), 25);
    assert_eq!(streams.count, 30);
    check_totals(&observation, &packets);
}

type Change = fn(&mut Packet, bool);
type Count = fn(&Observation) -> u64;

#[test]
fn directions_are_told_by_what_there_is() {
    let transfer = Transfer::default().packets();
    let forward = |it: &Packet| it.flow == ends(0);
    let data = transfer.iter().filter(|it| forward(it)).count() as u64;
    let total = transfer.len() as u64;
    let cases: [(Change, Count); 3] = [
        (
            |it, forward| it.inbound = Some(!forward),
            |it| it.interfaces[0].evidence.by_capture,
        ),
        (
            |it, forward| it.stations = Some(if forward { (8, 9) } else { (9, 8) }),
            |it| it.interfaces[0].evidence.by_station,
        ),
        (|_, _| {}, |it| it.interfaces[0].evidence.by_port),
    ];
    for (change, evidence) in cases {
        let mut packets = transfer.clone();
        for packet in &mut packets {
            let forward = forward(packet);
            change(packet, forward);
        }
        let observation = observed(Settings::default(), &packets);
        let [first, second] = &observation.interfaces[0].directions;
        assert_eq!(first.load.total.packets, data);
        assert_eq!(second.load.total.packets, total - data);
        assert_eq!(evidence(&observation), 1);
        assert_eq!(observation.connections, 1);
    }
    // The direction with more bytes is first in both cases.
    let mut packets = transfer;
    for packet in &mut packets {
        packet.inbound = Some(forward(packet));
    }
    let observation = observed(Settings::default(), &packets);
    assert_eq!(observation.interfaces[0].inbound, Some(0));
    let load = &observation.interfaces[0].directions[0].load;
    assert_eq!(load.total.packets, data);
}

#[test]
fn many_addresses_fall_on_two_sides() {
    // Clients are in one network and servers in another; either side may send first.
    let address = |side: u8, number| IpAddr::V4(Ipv4Addr::new(100 + side, 1, 1, number));
    let mut observer = Observer::new(Settings::default());
    let mut time = 0;
    for round in 0..20u8 {
        for client in 0..10u8 {
            // At first one client sends to all servers; later, ports alone would show the contrary.
            let (from, to) = if round == 0 {
                (0, client)
            } else {
                (client, (client + round) % 10)
            };
            let flow = FlowKey {
                source: address(0, from),
                destination: address(50, to),
                source_port: if round == 0 {
                    1000
                } else {
                    3000 + u16::from(round)
                },
                destination_port: 2000,
                protocol: 17,
            };
            time += MILLISECOND;
            // From the second round on, servers send first.
            let from_client = round == 0;
            let flows = [flow, flow.reversed()];
            let (first, second) = if from_client { (0, 1) } else { (1, 0) };
            observer.observe(&datagram(time, flows[first], 100 + 100 * first as u32));
            observer.observe(&datagram(time, flows[second], 100 + 100 * second as u32));
        }
    }
    let observation = observer.finish();
    for (direction, bytes) in observation.interfaces[0].directions.iter().zip([228, 128]) {
        assert_eq!(direction.load.total.bytes, 200 * bytes);
        assert_eq!(direction.load.largest, bytes as u32);
    }
}

#[test]
fn the_spin_bit_tells_the_round_trip() {
    let mut observer = Observer::new(Settings::default());
    let round_trip = 25 * MILLISECOND;
    for packet in 0..1000u64 {
        let time = packet * MILLISECOND / 2;
        let spin = (time / round_trip) % 2 == 1;
        let first = 0x40 | u8::from(spin) << 5;
        let mut quic = datagram(time, ends(0), 1200);
        let handshake = if packet == 0 { 0xc3 } else { first };
        quic.transport = Transport::Udp(Udp {
            payload: 1200,
            first: Some(handshake),
        });
        observer.observe(&quic);
    }
    let observation = observer.finish();
    let stream = &observation.interfaces[0].directions[0].streams.long[0];
    assert_eq!((stream.quic, stream.protocol), (1.0, 17));
    assert_eq!(stream.base_round_trip(), Some(round_trip));
    assert_eq!(stream.spin.count(), 18);
}
