//! The predicted values of random states are those that a run of packets has.

use std::collections::BTreeMap;

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, PacketRecord, RunOptions, Scenario, Seed, Traces, TransferRecord};
use forebay_simulation::RandomStates;

/// Replications of each case.
const RUNS: u64 = 12;

/// A scenario with a fast link and these flows, which measures the seconds from 2 to 10.
fn fast(flows: &str) -> Scenario {
    of("rate = \"1Gbps\"\nbuffer = \"100000p\"", flows)
}

fn of(link: &str, flows: &str) -> Scenario {
    of_links(&format!("[link]\n{link}"), flows)
}

/// The same of the second of two links.
fn of_second(link: &str, flows: &str) -> Scenario {
    let first = "[[links]]\nname = \"first\"\nrate = \"1Gbps\"\nbuffer = \"99p\"";
    let second = format!("[[links]]\nname = \"second\"\ntarget = true\n{link}");
    let flows = format!("path = [\"first\", \"second\"]\n{flows}");
    of_links(&format!("{first}\n{second}"), &flows)
}

fn of_links(links: &str, flows: &str) -> Scenario {
    let text = format!(
        "{links}\n[[flows]]\nname = \"some\"\n{flows}\n[run]\nwarmup = \"2s\"\nmeasure = \"8s\"\n\
         [trace]\nrecord = [\"packets\", \"transfers\", \"cwnd\"]\nevery = \"5ms\"",
    );
    super::scenario::<&str>(&text, &[])
}

fn seeds() -> impl Iterator<Item = Seed> {
    (0..RUNS).map(|replication| Seed {
        seed: 5,
        replication,
    })
}

/// The traces of a replication.
fn traces(scenario: &Scenario, seed: Seed) -> Traces {
    let options = RunOptions {
        traces: true,
        ..seed.into()
    };
    let report = PacketEngine.run(&scenario.drawn(seed), &options);
    *report.expect("a report").traces.expect("traces")
}

/// The sampled states' values in a replication, by the ends of their keys, and the seconds of the
/// warm-up that belong to their windows.
fn predicted(scenario: &Scenario, seed: Seed) -> Vec<(String, f64, f64)> {
    let states = RandomStates::of(scenario);
    let sampled = states.list().iter().filter(|state| state.sampled);
    let named = sampled.map(|state| (state.key.clone(), state.duration_s.unwrap_or(0.0).min(2.0)));
    let values = states.values(seed);
    assert_eq!(values.len(), named.clone().count());
    let values = named.zip(values);
    values
        .map(|((key, before), value)| (key, value, before))
        .collect()
}

/// The packets of each flow.
fn by_flow(packets: &[PacketRecord]) -> BTreeMap<u32, Vec<&PacketRecord>> {
    let mut flows: BTreeMap<u32, Vec<&PacketRecord>> = BTreeMap::new();
    for packet in packets {
        flows.entry(packet.flow).or_default().push(packet);
    }
    flows
}

/// A packet comes in each millisecond of an on period: its length is that of its packets, to one
/// more or less.
#[test]
fn predicted_on_time_is_the_time_in_which_packets_come() {
    const GAP: f64 = 1e-3;
    for flows in [
        "on = { exponential = \"1s\" }, off = { exponential = \"9s\" }",
        "on = { uniform = [\"100ms\", \"900ms\"] }, off = \"3s\"",
        "on = \"400ms\", off = \"5s\"",
        "on = { exponential = \"6s\" }, off = { exponential = \"1s\" }",
        "on = { choice = [\"1s\", \"50ms\"] }, off = { exponential = \"2s\" }",
    ] {
        for more in [
            "",
            "count = { choice = [1, 4] }",
            "count = 2\nstop = { uniform = [\"0s\", \"12s\"] }",
            "count = 2\nstart = { uniform = [\"0s\", \"7s\"] }",
            "count = 2\nstart = { uniform = [\"0s\", \"7s\"] }\nstop = { uniform = [\"1s\", \"12s\"] }",
            "start = [\"1500ms\"]",
        ] {
            let text = format!(
                "workload = {{ on_off = {{ peak = \"8Mbps\", {flows} }} }}\npacket = \"1000B\"\n{more}"
            );
            let scenario = fast(&text);
            if flows.starts_with("on = \"400ms\"") && more.starts_with("start = [") {
                // All times are known.
                assert!(RandomStates::of(&scenario).list().is_empty());
                continue;
            }
            let mut total = 0.0;
            for seed in seeds() {
                let found = predicted(&scenario, seed);
                let on_off = |(key, ..): &&(String, f64, f64)| key.ends_with("on_off");
                let (_, value, before) = found.iter().find(on_off).expect("a state");
                let (mut sent, mut bursts) = (0.0, 0.0);
                for packets in by_flow(&traces(&scenario, seed).packets).values() {
                    let times = packets.iter().map(|packet| packet.time_s);
                    let times: Vec<f64> = times.filter(|time| *time >= 2.0 - before).collect();
                    sent += times.len() as f64 * GAP;
                    let pauses = times
                        .windows(2)
                        .filter(|pair| pair[1] - pair[0] > 1.5 * GAP);
                    bursts += pauses.count() as f64 + 2.0;
                }
                let flows = scenario.drawn(seed).flows()[0].count as f64;
                let apart = (sent - value).abs();
                // A period shorter than a gap may have no packet.
                assert!(apart <= (bursts + flows) * GAP, "{seed:?}: {sent} {value}");
                total += value;
            }
            assert!(total > 0.0, "no replication has a burst");
        }
    }
}

/// The bits above the rate in each 20 ms are those of the fluid, except where a source starts or
/// stops within them.
#[test]
fn predicted_overload_is_what_packets_offer_above_the_rate() {
    const SLICE: f64 = 0.02;
    let on_off = |peak: &str, on: &str, off: &str| {
        format!("workload = {{ on_off = {{ peak = \"{peak}\", on = {on}, off = {off} }} }}")
    };
    let drawn = "{ exponential = \"1s\" }";
    let phases = on_off("1500kbps", "\"500ms\"", "\"1500ms\"");
    let cbr = |rest: &str| format!("workload = {{ cbr = {{ rate = \"1300kbps\" }} }}\n{rest}");
    let started = cbr("start = { uniform = [\"0s\", \"9s\"] }");
    let stopped =
        cbr("start = { choice = [\"0s\", \"6s\"] }\nstop = { uniform = [\"3s\", \"15s\"] }");
    let late = format!("start = {{ uniform = [\"0s\", \"7s\"] }}\n{phases}");
    let bursts = on_off("900kbps", drawn, drawn);
    for groups in [
        vec![format!("count = 3\n{phases}")],
        vec![format!("count = {{ choice = [1, 5] }}\n{bursts}")],
        vec![bursts, started.clone(), stopped.clone()],
        vec![started, late, cbr("")],
        vec![stopped, phases],
    ] {
        let groups: Vec<String> = groups
            .into_iter()
            .map(|group| format!("packet = \"125B\"\n{group}"))
            .collect();
        let text = groups.join("\n[[flows]]\n");
        let scenario = of("rate = \"2Mbps\"\nbuffer = \"9p\"", &text);
        let (mut total, mut values) = (0.0, Vec::new());
        for seed in seeds() {
            let found = predicted(&scenario, seed);
            let overload = |(key, ..): &&(String, f64, f64)| key == "link.rate";
            let (_, value, _) = found.iter().find(overload).expect("a state");
            let packets = traces(&scenario, seed).packets;
            let mut slices = vec![0.0; (8.0 / SLICE) as usize];
            for packet in packets.iter().filter(|packet| packet.time_s >= 2.0) {
                let slice = ((packet.time_s - 2.0) / SLICE) as usize;
                slices[slice] += f64::from(packet.bytes) * 8.0;
            }
            let above = slices.iter().map(|bits| (bits - 2e6 * SLICE).max(0.0));
            let expected = above.sum::<f64>() / 2e6;
            let gap_s = 1000.0 / 900e3;
            let mut edges = 2.0;
            for packets in by_flow(&packets).values() {
                let pairs = packets.windows(2);
                let pauses = pairs.filter(|pair| pair[1].time_s - pair[0].time_s > 1.5 * gap_s);
                edges += 2.0 + 2.0 * pauses.count() as f64;
            }
            // A slice with an edge may have a quarter of its time too much or too little.
            let apart = (value - expected).abs();
            assert!(
                apart <= edges * SLICE / 4.0 + 1e-9,
                "{seed:?} {text}: {value} {expected} {edges}"
            );
            assert!(
                apart <= 0.1 * value + 0.02,
                "{seed:?} {text}: {value} {expected}"
            );
            total += value;
            values.push(*value);
        }
        assert!(
            total > 0.2,
            "no replication has an overload: {total} {text}"
        );
        values.dedup();
        assert!(values.len() > 3, "{values:?}");
    }
}

/// A load above every rate keeps the link busy: what leaves it is its rate in the window, the
/// outages left out.
#[test]
fn predicted_rates_and_outages_are_those_that_the_link_has() {
    const MARKOV: &str = "rate = { markov = [{ rate = \"20Mbps\", mean_time = \"3s\" }, { rate = \"2Mbps\", \
                          mean_time = \"1s\" }, { rate = \"0bps\", mean_time = \"500ms\" }] }";
    const OUTAGES: &str = "outages = { between = { exponential = \"2s\" }, lasting = { uniform = [\"100ms\", \"900ms\"] } }";
    let load = "packet = \"500B\"\nworkload = { cbr = { rate = \"40Mbps\" } }";
    let constant = "rate = \"20Mbps\"";
    for (link, state) in [
        (MARKOV.to_owned(), "markov"),
        (format!("{constant}\n{OUTAGES}"), "outages"),
    ] {
        let link = format!("{link}\nbuffer = \"2p\"");
        for scenario in [of(&link, load), of_second(&link, load)] {
            assert_rates(&scenario, state);
        }
    }
}

/// The busy target link sends as much as its rate and its outages allow.
fn assert_rates(scenario: &Scenario, state: &str) {
    let mut values = Vec::new();
    for seed in seeds() {
        let found = predicted(scenario, seed);
        let [(key, value, before)] = &found[..] else {
            panic!("not one state: {found:?}")
        };
        assert!(key.ends_with(state), "{key}");
        let from = 2.0 - before;
        let packets = traces(scenario, seed).packets;
        let leaves = |packet: &&PacketRecord| {
            let leaves = packet.time_s + packet.wait_s;
            !packet.dropped && from <= leaves && leaves < 10.0
        };
        let sent: u32 = packets
            .iter()
            .filter(leaves)
            .map(|packet| packet.bytes)
            .sum();
        let bits = f64::from(sent) * 8.0;
        let expected = if state == "markov" {
            value * (10.0 - from)
        } else {
            20e6 * (10.0 - from - value)
        };
        // One packet is in transmission at each end.
        assert!(
            (bits - expected).abs() <= 8000.0,
            "{seed:?}: {bits} {expected}"
        );
        values.push(*value);
    }
    values.dedup();
    assert!(values.len() as u64 > RUNS / 2, "{values:?}");
}

/// The transfers that a run records, of those that begin in a window.
fn begun(traces: &Traces, from: f64) -> Vec<&TransferRecord> {
    let all = traces.transfers.iter();
    all.filter(|transfer| transfer.begun_s >= from).collect()
}

#[test]
fn predicted_transfers_are_those_that_begin() {
    let periodic = "periodic = { every = { uniform = [\"5s\", \"25s\"] }, size = \"20kB\" }";
    let open = "open_loop = { interarrival = { exponential = \"700ms\" }, size = { choice = [\"1p\", \"1p\", \"1p\", \"40p\"] } }";
    for (workload, more) in [
        (periodic, "count = 5"),
        (
            periodic,
            "count = 5\nstart = { uniform = [\"0s\", \"9s\"] }",
        ),
        (
            periodic,
            "count = 5\nstop = { uniform = [\"0s\", \"12s\"] }",
        ),
        (open, ""),
        (open, "start = { uniform = [\"0s\", \"9s\"] }"),
    ] {
        let scenario = fast(&format!(
            "rtt = \"2ms\"\nworkload = {{ {workload} }}\n{more}"
        ));
        let mut total = 0.0;
        for seed in seeds() {
            let found = predicted(&scenario, seed);
            let [(key, value, before)] = &found[..] else {
                panic!("not one state: {found:?}")
            };
            let traces = traces(&scenario, seed);
            let begun = begun(&traces, 2.0 - before);
            let expected = if key.ends_with("open_loop") {
                let payload = scenario.flows()[0].payload().get();
                let packets: u64 = begun.iter().map(|transfer| transfer.packets).sum();
                (packets * payload) as f64
            } else {
                begun.len() as f64
            };
            assert_eq!(*value, expected, "{seed:?} {key}");
            total += value;
        }
        assert!(total > 0.0, "no replication has a transfer");
    }
}

#[test]
fn predicted_draws_are_those_of_the_flows() {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let first = |packets: &Vec<&PacketRecord>| packets[0].time_s;
    let scenario = fast(
        "count = { uniform = [2, 5] }\nrtt = { choice = [\"20ms\", \"60ms\", \"100ms\"] }\nreceive_window = \"40p\"\n\
         packet = { mixture = [{ weight = 0.3, uniform = [\"500B\", \"600B\"] }, { weight = 0.7, value = \"1400B\" }] }\n\
         start = { choice = [\"0s\", \"1s\"], jitter = \"0s\" }\nworkload = { finite = { size = { choice = [\"45kB\", \"900kB\"] } } }",
    );
    for seed in seeds() {
        let found = predicted(&scenario, seed);
        let value = |key: &str| {
            let state = found.iter().find(|(name, ..)| name.ends_with(key));
            state.expect("a state").1
        };
        let traces = traces(&scenario, seed);
        let flows = by_flow(&traces.packets);
        assert_eq!(value("count"), flows.len() as f64);
        let bytes = |packets: &Vec<&PacketRecord>| f64::from(packets[0].bytes);
        assert_eq!(value("packet"), mean(flows.values().map(bytes).collect()));
        let starts = mean(flows.values().map(first).collect());
        let start = value("start");
        assert!((starts - start).abs() < 1e-9, "{starts} {start}");
        let payload = |packet: &&PacketRecord| f64::from(packet.payload);
        let sizes = flows.values();
        let sizes = sizes.map(|packets| packets.iter().map(payload).sum());
        let sizes = mean(sizes.collect());
        assert!((0.0..1500.0).contains(&(sizes - value("size"))), "{sizes}");
        let mut trips: BTreeMap<u32, f64> = BTreeMap::new();
        for sample in traces.flows.iter().filter(|sample| sample.rtt_s > 0.0) {
            let least = trips.entry(sample.flow).or_insert(f64::INFINITY);
            *least = least.min(sample.rtt_s);
        }
        let (trips, rtt) = (mean(trips.into_values().collect()), value("rtt"));
        assert!((trips - rtt).abs() < 1e-3, "{trips} {rtt}");
    }
}

#[test]
fn predicted_counts_and_common_round_trips_are_those_of_the_drawn_scenario() {
    for flows in [
        "rtt = \"9ms\"\ncount = { choice = [1, 1, 1, 30] }",
        "rtt = \"9ms\"\ncount = { poisson = 4 }",
        "rtt = { common = { choice = [\"9ms\", \"90ms\"] } }\ncount = { uniform = [3, 9] }",
        "rtt = { common = { exponential = \"90ms\" } }",
        "rtt = \"9ms\"\nworkload = { closed_loop = { users = { uniform = [5, 9] }, think = \"1s\", size = \"9kB\" } }",
        "rtt = \"9ms\"\nworkload = { incast = { servers = { choice = [5, 9] }, pause = \"1s\", size = \"9kB\" } }",
    ] {
        // A group before it, so that its number and its name are not those of the first.
        let before = "workload = { cbr = { rate = \"1Mbps\" } }\n[[flows]]\nname = \"second\"";
        let scenario = fast(&format!("{before}\n{flows}"));
        for seed in seeds() {
            let drawn = scenario.drawn(seed);
            let group = &drawn.flows()[1];
            let values = predicted(&scenario, seed);
            assert!(!values.is_empty());
            for (key, value, _) in values {
                let expected = if key.ends_with("common") {
                    group.rtt.mean()
                } else {
                    group.count as f64
                };
                assert!(key.starts_with("flows.second."), "{key}");
                assert_eq!(value, expected, "{key} {seed:?}");
            }
        }
    }
}
