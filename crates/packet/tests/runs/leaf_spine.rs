//! Leaf-spine fabrics: the links that `[fabric]` makes carry what the same links of a file carry,
//! and the routes, loads and workloads follow their laws.

use std::fmt::Write as _;

use forebay_packet::PacketEngine;
use forebay_scenario::{Cost, Engine, Format, LinkReport, Metric, Report, RunOptions, Scenario};

use super::{of_group, replication, run, run_with, scenario, traced};

/// Bits of a packet.
const BITS: f64 = 12_000.0;

fn fabric((leaves, spines, hosts): (usize, usize, usize), rest: &str) -> String {
    format!(
        r#"
[fabric]
kind = "leaf_spine"
leaves = {leaves}
spines = {spines}
hosts = {hosts}
[fabric.port]
rate = "10Gbps"
buffer = "1MB"
{rest}
"#
    )
}

/// Bits that each link carried in the measured time. The port to the first host is the target, and
/// comes first where it is one of them.
fn carried(report: &Report, seconds: f64, of: impl Fn(&str) -> bool) -> Vec<f64> {
    let target = of("leaf1-host1").then_some(&report.metrics);
    let links = report.links.iter().filter(|link| of(&link.name));
    let metrics = target.into_iter().chain(links.map(|link| &link.metrics));
    let bits = metrics.map(|metrics| metrics[&Metric::Utilization].mean * 10e9 * seconds);
    bits.collect()
}

/// The two ends of a link by their kinds.
fn between(from: &'static str, to: &'static str) -> impl Fn(&str) -> bool {
    move |name| {
        let (sender, receiver) = name.split_once('-').expect("two ends");
        sender.starts_with(from) && receiver.starts_with(to)
    }
}

fn sum(values: Vec<f64>) -> f64 {
    values.into_iter().sum()
}

/// A report without its cost.
fn plain(report: Report) -> Report {
    Report {
        cost: Cost::default(),
        scenario_sha256: String::new(),
        ..report
    }
}

const RUN: &str = "[run]\nwarmup = \"0s\"\nmeasure = \"20ms\"\n";

/// Twelve transfers among four hosts, as one group of a fabric, and as twelve groups over links
/// that are written by hand. Each link carries, loses and delays the same.
#[test]
fn a_fabric_is_the_same_as_its_links_written_by_hand() {
    let flows = "workload = { finite = { size = \"900kB\" } }\nrtt = \"30us\"\n";
    let routed = fabric(
        (2, 1, 4),
        &format!(
            "[fabric.uplink]\nbuffer = \"40p\"\n[[flows]]\nname = \"all\"\ncount = 12\n{flows}{RUN}"
        ),
    );
    let mut written = String::new();
    let leaf = |host: usize| 1 + (host - 1) / 2;
    let mut link = |name: String, buffer: &str| {
        let target = if name == "leaf1-host1" {
            "target = true\n"
        } else {
            ""
        };
        let _ = write!(
            written,
            "[[links]]\nname = \"{name}\"\nrate = \"10Gbps\"\nbuffer = \"{buffer}\"\n{target}"
        );
    };
    (1..=4).for_each(|host| link(format!("host{host}-leaf{}", leaf(host)), "100MB"));
    (1..=4).for_each(|host| link(format!("leaf{}-host{host}", leaf(host)), "1MB"));
    (1..=2).for_each(|leaf| link(format!("leaf{leaf}-spine1"), "40p"));
    (1..=2).for_each(|leaf| link(format!("spine1-leaf{leaf}"), "1MB"));
    for turn in 1..4 {
        for from in 1..=4 {
            let to = 1 + (from - 1 + turn) % 4;
            let (first, last) = (leaf(from), leaf(to));
            let middle = if first == last {
                String::new()
            } else {
                format!("\"leaf{first}-spine1\", \"spine1-leaf{last}\", ")
            };
            let _ = write!(
                written,
                "[[flows]]\n{flows}path = [\"host{from}-leaf{first}\", {middle}\"leaf{last}-host{to}\"]\n"
            );
        }
    }
    let (routed, written) = (run(&routed), run(&(written + RUN)));
    let losses = |report: &Report| {
        report
            .links
            .iter()
            .map(|link| link.metrics[&Metric::LossRate].mean)
            .sum::<f64>()
    };
    assert!(losses(&routed) > 0.0);
    assert_eq!(routed.metrics, written.metrics);
    assert_eq!(routed.links, written.links);
    assert_eq!(routed.cost.events, written.cost.events);
    assert_eq!(routed.cost.data_packets, written.cost.data_packets);
    let flows = |report: &Report| -> Vec<f64> {
        let flows = report.groups.iter().flat_map(|group| &group.per_flow);
        flows.map(|flow| flow.goodput_bps).collect()
    };
    assert_eq!(flows(&routed), flows(&written));
}

#[test]
fn the_canonical_form_has_the_same_report() {
    let text = fabric(
        (2, 2, 8),
        &format!(
            "[[flows]]\nname = \"web\"\nrtt = \"20us\"\nworkload = {{ open_loop = {{ load = 0.6, size = \"30kB\" }} }}\n{RUN}"
        ),
    );
    let one = scenario::<&str>(&text, &[]);
    let again =
        Scenario::parse(&one.canonical_json(), Format::Json, "again", &[]).expect("a scenario");
    assert_eq!(plain(replication(&one, 3)), plain(replication(&again, 3)));
    assert_ne!(
        plain(replication(&one, 3)).links,
        plain(replication(&one, 4)).links
    );
}

/// A transfer of one packet between hosts of one leaf, and of two: two or four transmissions, and
/// the cables of its own path both ways.
#[test]
fn a_shorter_path_has_the_round_trip_of_its_own_cables() {
    let text = fabric(
        (2, 2, 4),
        "cable = \"198m\"\n[fabric.uplink]\ndelay = \"3us\"\n[[flows]]\nname = \"one\"\nworkload = { finite = { size = \"1460B\" } }\nfrom = \"host1\"\nstart = \"10us\"\nprocessing = \"0s\"\n[fabric.spine_port]\ndelay = \"4us\"\n[run]\nwarmup = \"0s\"\nmeasure = \"1ms\"\n",
    );
    let transmission = BITS / 10e9;
    // The first receiver of a group whose longest path has other lengths, and single ones.
    for (to, receivers, links, delays) in [
        ("host2", "host2", 2.0, 2e-6),
        ("host2", "[\"host2\", \"host4\"]", 2.0, 2e-6),
        ("host4", "host4", 4.0, 9e-6),
    ] {
        let target = format!(
            "fabric.target={}",
            if to == "host2" {
                "leaf1-host2"
            } else {
                "leaf2-host4"
            }
        );
        // The port to the host is the target, which its packets cross.
        let report = run_with(&text, &[format!("flows.one.to={receivers}"), target]);
        let times = report.groups[0].completions.as_ref().expect("a completion");
        let expected = links * transmission + 2.0 * delays;
        let time = times.completion_time_s["p50"];
        assert!(
            (time / expected - 1.0).abs() < 0.02,
            "{to}: {time} {expected}"
        );
    }
}

/// Without losses the hosts receive what they send, and the spines forward what the leaves send
/// them. All transfers are complete.
#[test]
fn packets_are_conserved_over_all_links() {
    for spray in ["false", "true"] {
        let text = fabric(
            (4, 2, 16),
            &format!(
                "[[flows]]\nname = \"all\"\ncount = 240\nspray = {spray}\nrecovery = \"rack\"\nrtt = \"20us\"\nworkload = {{ finite = {{ size = \"146kB\" }} }}\n[fabric.uplink]\nbuffer = \"100MB\"\n[fabric.spine_port]\nbuffer = \"100MB\"\n[fabric.host_port]\nbuffer = \"100MB\"\n{RUN}"
            ),
        );
        let report = run(&text);
        assert!(
            report
                .links
                .iter()
                .all(|link| link.metrics[&Metric::LossRate].mean == 0.0)
        );
        let total = |from, to| sum(carried(&report, 20e-3, between(from, to)));
        let sent = total("host", "leaf");
        assert!(sent >= 240.0 * 100.0 * BITS, "{sent}");
        assert!((sent / total("leaf", "host") - 1.0).abs() < 1e-9);
        assert!((total("leaf", "spine") / total("spine", "leaf") - 1.0).abs() < 1e-9);
        // Twelve of fifteen receivers have another leaf.
        // Only packets between leaves change their order, and some of them are sent again.
        let share = total("leaf", "spine") / sent;
        let most = if spray == "true" { 0.9 } else { 0.801 };
        assert!((0.799..most).contains(&share), "{spray}: {share}");
        assert_eq!(
            report.groups[0].completions.as_ref().map(|it| it.completed),
            Some(240)
        );
    }
}

/// Transfers of one packet: each spine gets its share of those of a leaf.
#[test]
fn transfers_choose_each_spine_equally_often() {
    let text = fabric(
        (2, 8, 8),
        "[[flows]]\nname = \"web\"\nfrom = \"leaf2\"\nto = \"leaf1\"\nrtt = \"10us\"\nworkload = { open_loop = { load = 0.1, size = \"1000B\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"50ms\"\n",
    );
    let report = run(&text);
    let bits = carried(&report, 50e-3, between("leaf2", "spine"));
    let mean = sum(bits.clone()) / 8.0;
    let packets = mean / BITS;
    assert!(packets > 1000.0);
    let chi: f64 = bits
        .iter()
        .map(|bits| (bits / BITS - packets) * (bits / BITS - packets) / packets)
        .sum();
    // 7 degrees of freedom: from 0.6 to 24.3 in 998 of a thousand cases.
    assert!((0.6..24.3).contains(&chi), "{chi}");
}

/// All packets of a transfer take one path, and sprayed ones all of them.
#[test]
fn a_flow_stays_on_its_path_unless_it_sprays_its_packets() {
    let text = |spray: bool| {
        fabric(
            (2, 4, 4),
            &format!(
                "[[flows]]\nname = \"one\"\nfrom = \"host3\"\nto = \"host1\"\nspray = {spray}\nrecovery = \"rack\"\nrtt = \"20us\"\nworkload = {{ finite = {{ size = \"14.6MB\" }} }}\n{RUN}"
            ),
        )
    };
    let used = |report: &Report| -> Vec<f64> {
        carried(report, 20e-3, between("leaf2", "spine"))
            .into_iter()
            .filter(|bits| *bits > 0.0)
            .collect()
    };
    let (one, all) = (run(&text(false)), run(&text(true)));
    assert_eq!(used(&one).len(), 1);
    let used = used(&all);
    assert_eq!(used.len(), 4);
    let mean = sum(used.clone()) / 4.0;
    assert!(
        used.iter().all(|bits| (bits / mean - 1.0).abs() < 0.1),
        "{used:?}"
    );
    assert_eq!(of_group(&all, 0, Metric::Timeouts), 0.0);
}

/// Poisson arrivals between random hosts offer the load to the links of the hosts: within four
/// standard errors, for the number of transfers is a Poisson count.
#[test]
fn random_transfers_offer_the_load_of_the_hosts_links() {
    for load in [0.2, 0.5] {
        let text = fabric(
            (2, 4, 8),
            &format!(
                "[[flows]]\nname = \"web\"\nrtt = \"10us\"\nworkload = {{ open_loop = {{ load = {load}, size = \"29200B\" }} }}\n[run]\nwarmup = \"5ms\"\nmeasure = \"100ms\"\n"
            ),
        );
        let report = run(&text);
        // Random hosts send different numbers of transfers: 7 degrees of freedom, as above.
        let sent = carried(&report, 0.1, between("host", "leaf"));
        let each = sum(sent.clone()) / 8.0 / (20.0 * BITS);
        let off = sent.iter().map(|bits| bits / (20.0 * BITS) - each);
        let chi: f64 = off.map(|off| off * off / each).sum();
        assert!((0.6..24.3).contains(&chi), "{chi}");
        for bits in [
            carried(&report, 0.1, between("host", "leaf")),
            carried(&report, 0.1, between("leaf", "host")),
        ] {
            let mean = sum(bits) / (8.0 * 0.1 * 10e9);
            let transfers = load * 8.0 * 0.1 * 10e9 / (20.0 * BITS);
            let error = load / transfers.sqrt();
            assert!(
                (mean - load).abs() < 4.0 * error + 1e-3,
                "{mean} {load} {error}"
            );
        }
    }
}

/// Seven servers respond to the first host: no sooner than its port can carry that.
#[test]
fn an_incast_goes_from_all_other_hosts_to_the_first() {
    let text = fabric(
        (2, 4, 8),
        "[[flows]]\nname = \"servers\"\nrtt = \"10us\"\nmin_rto = \"1ms\"\nworkload = { incast = { servers = 7, size = \"146kB\", pause = \"100us\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"50ms\"\n",
    );
    let report = run(&text);
    let least = 7.0 * 100.0 * BITS / 10e9;
    let time = of_group(&report, 0, Metric::RequestTimeP50);
    assert!((least..1.3 * least).contains(&time), "{time} {least}");
    let busy = carried(&report, 0.05, between("leaf", "host"));
    assert!(busy[0] > 0.0 && busy[1..].iter().all(|bits| *bits == 0.0));
    let sent = carried(&report, 0.05, between("host", "leaf"));
    assert!(sent[0] == 0.0 && sent[1..].iter().all(|bits| *bits > 0.0));
}

/// The length of a round with these flows and times: the median, which has bins of a hundredth.
fn round(text: &str) -> f64 {
    of_group(&run(text), 0, Metric::RequestTimeP50)
}

/// A ring all-reduce without contention takes 2 (n - 1) steps of the transmission of a part on each
/// link of its path in turn and the propagation to the next host.
#[test]
fn a_ring_all_reduce_takes_its_steps_one_after_the_other() {
    for (hosts, spray) in [(4, "false"), (8, "false"), (8, "true")] {
        let shape = (2, 4, hosts);
        // Each host has another leaf before or after it only at the ends of a leaf.
        let text = fabric(
            shape,
            &format!(
                "cable = \"198m\"\n[[flows]]\nname = \"ring\"\nspray = {spray}\nrecovery = \"rack\"\ninitial_window = \"10000p\"\nprocessing = \"0s\"\nworkload = {{ ring_all_reduce = {{ size = \"{}B\", pause = \"1ms\" }} }}\n[run]\nwarmup = \"0s\"\nmeasure = \"60ms\"\n",
                hosts * 146_000
            ),
        );
        let steps = 2.0 * (hosts - 1) as f64;
        let part = 100.0 * BITS / 10e9;
        let packet = BITS / 10e9;
        // The way to a host of another leaf has two links more, of a microsecond and a packet each.
        let (near, far) = (part + packet + 2e-6, part + 3.0 * packet + 4e-6);
        let time = round(&text);
        let (least, most) = (steps * near, steps * (far + packet));
        assert!(
            (0.99 * least..1.01 * most).contains(&time),
            "{hosts} {spray}: {least} {time} {most}"
        );
    }
}

/// In one leaf all ways are equal, and so is each step, to the tick.
#[test]
fn a_ring_in_one_leaf_takes_the_steps_of_its_closed_form() {
    let (hosts, packets) = (5.0, 200.0);
    let text = fabric(
        (1, 1, 5),
        "cable = \"198m\"\n[[flows]]\nname = \"ring\"\ninitial_window = \"10000p\"\nprocessing = \"0s\"\nworkload = { ring_all_reduce = { size = \"1460kB\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"5ms\"\n[trace]\nrecord = [\"transfers\"]\n",
    );
    let report = traced(&text);
    let transfers = &report.traces.as_ref().expect("traces").transfers;
    let packet = BITS / 10e9;
    let step = packets * packet + packet + 2e-6;
    let round = 2.0 * (hosts - 1.0) * step;
    for host in 0..5 {
        let mut own = transfers.iter().filter(|each| each.user == host);
        for number in 1..=2 {
            let end = own.next().expect("a round").completed_s;
            let expected = f64::from(number) * round;
            assert!(
                (end - expected).abs() < 1e-11,
                "{host} {number}: {end} {expected}"
            );
        }
    }
}

/// A host of a ring that begins late delays the steps of the others: no part is sent before the one
/// of the step before has arrived.
#[test]
fn a_late_host_holds_up_the_whole_ring() {
    let text = |start: &str| {
        fabric(
            (1, 1, 4),
            &format!(
                "[[flows]]\nname = \"ring\"\nrtt = \"10us\"\nstart = {start}\nprocessing = \"0s\"\ninitial_window = \"1000p\"\nworkload = {{ ring_all_reduce = {{ size = \"584kB\", pause = \"1s\" }} }}\n{RUN}"
            ),
        )
    };
    let together = round(&text("\"0s\""));
    let late = round(&text("[\"0s\", \"0s\", \"5ms\", \"0s\"]"));
    // The last host that waits for the late one has nearly all steps before it.
    assert!(
        late > 5e-3 + 0.6 * together && late < 5e-3 + 1.1 * together,
        "{late} {together}"
    );
}

/// In a fabric that blocks nothing each host sends to all others at its full rate.
#[test]
fn an_all_to_all_takes_the_time_of_the_hosts_links() {
    let text = fabric(
        (2, 4, 8),
        "[[flows]]\nname = \"all\"\nrtt = \"10us\"\nspray = true\nrecovery = \"rack\"\ninitial_window = \"1000p\"\nworkload = { all_to_all = { size = \"730kB\", pause = \"100us\" } }\n[fabric.host_port]\nbuffer = \"100MB\"\n[fabric.uplink]\nbuffer = \"100MB\"\n[fabric.spine_port]\nbuffer = \"100MB\"\n[run]\nwarmup = \"0s\"\nmeasure = \"60ms\"\n",
    );
    let report = run(&text);
    let least = 7.0 * 500.0 * BITS / 10e9;
    let time = of_group(&report, 0, Metric::RequestTimeP50);
    assert!((least..1.15 * least).contains(&time), "{time} {least}");
    assert_eq!(report.groups[0].flows, 56);
}

/// Twice the hosts need about twice the memory: the estimate is that of one receiver for each.
#[test]
fn the_memory_of_a_fabric_is_estimated_for_all_its_receivers() {
    let total = |hosts: usize| {
        let text = fabric(
            (2, 2, hosts),
            "[[flows]]\nname = \"web\"\nrtt = \"10us\"\nworkload = { open_loop = { load = 0.5, size = \"1MB\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"5ms\"\n",
        );
        let scenario = scenario::<&str>(&text, &[]);
        let needs = PacketEngine.needs(&scenario, &RunOptions::default());
        let of = |key: &str| {
            needs
                .iter()
                .filter(|need| need.key.starts_with(key))
                .map(|need| need.bytes)
                .sum::<f64>()
        };
        (of("flows.web"), of("links.leaf1-host1.buffer"))
    };
    let ((flows, waiting), (more_flows, more_waiting)) = (total(8), total(16));
    assert!(
        (1.8..2.8).contains(&(more_flows / flows)),
        "{flows} {more_flows}"
    );
    assert!(
        (1.8..2.8).contains(&(more_waiting / waiting)),
        "{waiting} {more_waiting}"
    );
}

/// With a window of a packet each packet waits for the acknowledgment of the one before: the way
/// back is the rest of the round trip.
#[test]
fn acknowledgments_of_a_ring_return_after_the_rest_of_the_round_trip() {
    let text = fabric(
        (1, 1, 3),
        "cable = \"198m\"\n[[flows]]\nname = \"ring\"\ninitial_window = \"1p\"\nreceive_window = \"1p\"\nprocessing = \"0s\"\nworkload = { ring_all_reduce = { size = \"17520B\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"1ms\"\n[trace]\nrecord = [\"transfers\"]\n",
    );
    let report = traced(&text);
    let first = report.traces.as_ref().expect("traces").transfers[0].completed_s;
    // Two transmissions and both cables, and both cables back: four packets of a part, four steps.
    // A step begins with the last arrival, and its first packet when that is acknowledged.
    let there = 2.0 * BITS / 10e9 + 2e-6;
    let expected = 4.0 * (3.0 * (there + 2e-6) + there) + 3.0 * 2e-6;
    assert!((first - expected).abs() < 1e-11, "{first} {expected}");
}

/// Lossless ports of a fabric pause the ports and the hosts before them, and lose nothing.
#[test]
fn pauses_of_a_lossless_fabric_reach_the_ports_before() {
    let pfc = "pfc = { xoff = \"30kB\", xon = \"20kB\", headroom = \"100kB\" }\n";
    let text = fabric(
        (2, 1, 8),
        &format!(
            "{pfc}[fabric.nic]\n{pfc}[[flows]]\nname = \"servers\"\nrtt = \"10us\"\ninitial_window = \"1000p\"\nworkload = {{ incast = {{ servers = 7, size = \"292kB\", pause = \"100us\" }} }}\n{RUN}"
        ),
    );
    let report = run(&text);
    let is_above_zero = |link: &LinkReport, metric| {
        let found = link.metrics.get(&metric);
        found.is_some_and(|found| found.mean > 0.0)
    };
    let lost = report
        .links
        .iter()
        .any(|link| is_above_zero(link, Metric::LossRate));
    assert!(!lost && report.metrics[&Metric::LossRate].mean == 0.0);
    let paused = report
        .links
        .iter()
        .filter(|link| is_above_zero(link, Metric::PausedTime));
    let paused: Vec<&str> = paused.map(|link| &*link.name).collect();
    for port in ["spine1-leaf1", "leaf2-spine1", "host5-leaf2", "host2-leaf1"] {
        assert!(paused.contains(&port), "{port}: {paused:?}");
    }
}
