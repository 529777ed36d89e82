//! The spread of pauses over hops, and the flows that they hold without need.

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, Format, Metric, Report, RunOptions, Scenario};

use super::{run, value};

const PFC: &str = "pfc = { xoff = \"30kB\", xon = \"15kB\", headroom = \"30kB\" }";

fn link(name: &str, rate: &str, keys: &str) -> String {
    let target = if name == "port" { "target = true" } else { "" };
    format!(
        "[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\nbuffer = \"100MB\"\ndelay = \"1us\"\n{keys}\n{target}\n"
    )
}

fn group(name: &str, path: &[&str], count: u64) -> String {
    let path: Vec<_> = path.iter().map(|link| format!("\"{link}\"")).collect();
    format!(
        "[[flows]]\nname = \"{name}\"\npath = [{}]\ncount = {count}\nrtt = \"50us\"\npacket = \"1500B\"\n\
         receive_window = \"200p\"\naccess = {{ rate = \"10Gbps\" }}\n",
        path.join(", ")
    )
}

const RUN: &str = "[run]\nwarmup = \"5ms\"\nmeasure = \"30ms\"\n";

fn of(report: &Report, link: &str, metric: Metric) -> f64 {
    let mut links = report.links.iter();
    let other = links.find(|other| other.name == link);
    other.map_or(&report.metrics, |other| &other.metrics)[&metric].mean
}

fn victims(report: &Report) -> Vec<f64> {
    let groups = report.groups.iter();
    groups
        .map(|group| group.metrics[&Metric::Victims].mean)
        .collect()
}

/// The slow port pauses a chain of lossless links up to the hosts: each link adds a hop.
#[test]
fn a_pause_reaches_one_hop_more_for_each_paused_link() {
    for before in 0..4 {
        let names = ["a", "b", "c"];
        let chain = &names[names.len() - before.min(3)..];
        let mut text = String::new();
        for name in chain {
            text += &link(name, "10Gbps", PFC);
        }
        text += &link("port", "1Gbps", PFC);
        let path: Vec<_> = chain.iter().copied().chain(["port"]).collect();
        let report = run(&(text + &group("all", &path, 4) + RUN));
        assert_eq!(value(&report, Metric::Spread), before as f64 + 1.0);
        for (at, name) in chain.iter().enumerate() {
            assert_eq!(of(&report, name, Metric::Spread), at as f64 + 1.0, "{name}");
        }
        // All flows cross the slow port, so that none is a victim.
        assert_eq!(value(&report, Metric::Victims), 0.0);
        assert_eq!(victims(&report), [0.0]);
    }
}

/// A lossless queue that never fills reaches no hop and holds no flow.
#[test]
fn queues_without_pauses_reach_no_hop() {
    let text = link("port", "10Gbps", &PFC.replace("30kB\", xon", "30MB\", xon"));
    let report = run(&(text + &group("all", &["port"], 2) + RUN));
    assert_eq!(value(&report, Metric::Spread), 0.0);
    assert_eq!(value(&report, Metric::Victims), 0.0);
}

/// Victims are the flows to the fast port, whether a link or a host holds them.
#[test]
fn flows_that_a_pause_of_another_port_holds_are_victims() {
    let flows = |first: &str| {
        link("shared", "10Gbps", first)
            + &link("port", "1Gbps", PFC)
            + &link("fast", "10Gbps", "")
            + &group("culprit", &["shared", "port"], 2)
            + &group("victim", &["shared", "fast"], 3)
            + &group("apart", &["fast"], 5)
            + RUN
    };
    // The link holds them.
    let by_link = run(&flows(""));
    assert_eq!(victims(&by_link), [0.0, 3.0, 0.0]);
    assert_eq!(value(&by_link, Metric::Victims), 3.0);
    assert_eq!(value(&by_link, Metric::Spread), 1.0);
    // The link pauses the hosts in turn, and the slow port began that.
    let by_host = run(&flows(PFC));
    assert_eq!(victims(&by_host), [0.0, 3.0, 0.0]);
    assert_eq!(value(&by_host, Metric::Spread), 2.0);
    // A class of its own for the slow port holds no others.
    let classes = "queue = { kind = \"classes\", schedule = \"dwrr\", classes = [\
                   { name = \"slow\", groups = [\"culprit\"] }, { name = \"rest\" }] }";
    let apart = run(&flows(classes));
    assert!(of(&apart, "shared", Metric::PausedTime) > 0.001);
    assert_eq!(victims(&apart), [0.0; 3]);
}

/// A link whose own queue is too short pauses hosts of all its flows: none is a victim, although
/// one of them goes on to another port than the other.
#[test]
fn flows_that_cross_the_queue_that_began_the_pause_are_no_victims() {
    let report = run(&(link("port", "1Gbps", PFC)
        + &link("next", "10Gbps", "")
        + &group("one", &["port", "next"], 2)
        + &group("other", &["port"], 2)
        + RUN));
    assert_eq!(value(&report, Metric::Spread), 1.0);
    assert_eq!(value(&report, Metric::Victims), 0.0);
}

/// Flows that a deadlock holds to the end of the run are victims of a queue that they do not cross.
#[test]
fn flows_that_wait_at_the_end_of_the_run_count() {
    // The port is slower than one packet in the run: whatever waits for it never leaves.
    let text = link("shared", "10Gbps", PFC)
        + &link("port", "1kbps", PFC)
        + &link("fast", "10Gbps", "")
        + &group("culprit", &["shared", "port"], 1)
            .replace("receive", "initial_window = \"100p\"\nreceive")
        + &group("victim", &["shared", "fast"], 3)
        + &RUN.replace("5ms", "0s");
    let report = run(&text);
    assert_eq!(victims(&report), [0.0, 3.0]);
}

/// Each transfer of an open loop is a flow: more of them are victims than are there at once.
#[test]
fn each_transfer_of_an_open_loop_counts() {
    let text = link("shared", "10Gbps", "")
        + &link("port", "1Gbps", PFC)
        + &link("fast", "10Gbps", "")
        + &group("culprit", &["shared", "port"], 2)
        + "[[flows]]\nname = \"mice\"\npath = [\"shared\", \"fast\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
           workload = { open_loop = { interarrival = \"100us\", size = \"15kB\" } }\n"
        + RUN;
    let report = run(&text);
    // One transfer begins every 100 us of 35 ms.
    let held = victims(&report)[1];
    assert!((150.0..=350.0).contains(&held), "{held}");
}

/// Flows that pauses held count although no pause lasts to the end of the run.
#[test]
fn flows_that_a_pause_held_count_after_the_pause() {
    let culprit = group("culprit", &["shared", "port"], 2)
        + "workload = { finite = { size = \"300kB\" } }\ninitial_window = \"200p\"\n";
    let text = link("shared", "10Gbps", "")
        + &link("port", "1Gbps", PFC)
        + &link("fast", "10Gbps", "")
        + &culprit
        + &group("victim", &["shared", "fast"], 3)
        + &RUN.replace("5ms", "0s");
    let report = run(&text);
    assert_eq!(victims(&report), [0.0, 3.0]);
    // 600 kB take 4.8 ms of the 30 ms.
    let paused = of(&report, "shared", Metric::PausedTime);
    assert!(paused > 0.0 && paused < 0.006, "{paused}");
}

/// Each pause of the trace is one that the report counts: the times of a link add up to its paused
/// time, and the pauses spread from the port against the direction of the packets.
#[test]
fn the_trace_has_every_pause_of_links_and_hosts() {
    let text = link("a", "10Gbps", PFC)
        + &link("b", "10Gbps", PFC)
        + &link("port", "1Gbps", PFC)
        + &group("all", &["a", "b", "port"], 2)
        + "[run]\nwarmup = \"0s\"\nmeasure = \"30ms\"\n[trace]\nrecord = [\"pauses\"]\n";
    let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
    let options = RunOptions {
        traces: true,
        ..RunOptions::default()
    };
    let report = PacketEngine.run(&scenario, &options).unwrap();
    let pauses = &report.traces.as_ref().unwrap().pauses;
    let of_link = |name: &str| {
        pauses
            .iter()
            .filter(|it| it.link == name)
            .collect::<Vec<_>>()
    };
    for name in ["a", "b"] {
        let found = of_link(name);
        let lengths = found.iter().map(|it| it.ended_s.min(0.03) - it.begun_s);
        let total: f64 = lengths.sum();
        let paused = of(&report, name, Metric::PausedTime);
        assert!(total > 0.01 && (total - paused).abs() < 1e-9, "{name}");
        assert!(found.iter().all(|it| (it.group, it.flow) == (-1, -1)));
    }
    let hosts = of_link("");
    assert!(hosts.iter().all(|it| it.group == 0 && it.flow < 2));
    assert!([0, 1].map(|flow| hosts.iter().any(|it| it.flow == flow)) == [true; 2]);
    assert!(of_link("port").is_empty());
    assert!(pauses.is_sorted_by(|one, next| one.begun_s <= next.begun_s));
    // The pause of `b` precedes that of `a`, which precedes those of the hosts.
    let first = |name: &str| of_link(name)[0].begun_s;
    assert!(first("b") < first("a") && first("a") < first(""));
    // A shorter traced time has the pauses that overlap it.
    let later = text.replace("[trace]", "[trace]\nfrom = \"20ms\"\nuntil = \"21ms\"");
    let scenario = Scenario::parse(&later, Format::Toml, "test", &[]).unwrap();
    let report = PacketEngine.run(&scenario, &options).unwrap();
    let part = &report.traces.as_ref().unwrap().pauses;
    let overlapping = pauses
        .iter()
        .filter(|it| it.begun_s <= 0.021 && it.ended_s >= 0.02);
    assert!(!part.is_empty() && part.iter().eq(overlapping));
}
