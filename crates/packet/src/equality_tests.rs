//! The folded and the general path of a link give the same reports, and so does what is put off and
//! what is done at once: a test only.

use forebay_scenario::{Cancel, Format, Override, Report, Scenario, Seed, Warning, WarningKind};
use forebay_simulation::{Departures, Link, report};

use crate::hosts::SimulatedHosts;
use crate::{NAME, PacketSimulation};

/// A scenario from TOML text and `key=value` changes.
pub(crate) fn scenario(text: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<Override> = changes
        .iter()
        .map(|change| Override::parse(change).unwrap())
        .collect();
    Scenario::parse(text, Format::Toml, "test", &changes).unwrap()
}

/// A run of a scenario before its first event, with a choice of how links are simulated.
pub(crate) fn simulation(
    scenario: &Scenario,
    seed: Seed,
    departures: Departures,
) -> PacketSimulation<'_> {
    let hosts = SimulatedHosts::new(scenario);
    PacketSimulation::with_departures(scenario, (seed, hosts), departures).unwrap()
}

/// Runs with traces and returns the report without its cost.
pub(crate) fn run(scenario: &Scenario, departures: Departures) -> Report {
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let mut simulation = simulation(scenario, seed, departures);
    simulation.record();
    simulation.run(&Cancel::default()).unwrap();
    let mut report = report(NAME, (scenario, seed), simulation);
    report.cost = forebay_scenario::Cost::default();
    report
}

const BASE: &str = r#"
[link]
rate = "20Mbps"
buffer = "40p"

[[flows]]
name = "elephants"
count = 5
cca = "newreno"
recovery = "sack"
rtt = "40ms"
packet = "1000B"
workload = "persistent"
start = { uniform = ["0s", "1s"] }

[run]
warmup = "2s"
measure = "8s"
seed = 3

[trace]
record = ["cwnd", "queue", "utilization", "packets"]
every = "37ms"
"#;

const BACKGROUND: &str = r#"
[[flows]]
name = "background"
count = 3
packet = { choice = ["80B", "500B", "1500B"] }
workload = { poisson = { rate = "8Mbps" } }
[[flows]]
name = "bursts"
packet = "700B"
workload = { on_off = { peak = "10Mbps", on = { exponential = "50ms" }, off = { exponential = "100ms" } } }
"#;

const TRANSFERS: &str = r#"
[[flows]]
name = "web"
rtt = { choice = ["10ms", "30ms"] }
packet = "1500B"
cca = "newreno"
stack = "linux"
recovery = "sack"
workload = { open_loop = { load = 0.4, size = { exponential = "20p" } } }
"#;

const PATH: &str = r#"
[[links]]
name = "first"
rate = "30Mbps"
buffer = "20p"
delay = "2ms"
[[links]]
name = "second"
rate = "20Mbps"
buffer = "30kB"
target = true
[[flows]]
name = "long"
count = 3
cca = "newreno"
recovery = "newreno"
rtt = { linspace = ["20ms", "50ms"] }
packet = "1000B"
path = ["first", "second"]
workload = "persistent"
start = { uniform = ["0s", "1s"] }
[[flows]]
name = "cross"
packet = "900B"
path = ["first", "second"]
workload = { poisson = { rate = "12Mbps" } }
[run]
warmup = "2s"
measure = "8s"
seed = 5
[trace]
record = ["queue", "packets"]
"#;

/// Every case: a scenario and what is changed in it.
fn cases() -> Vec<(String, Vec<&'static str>)> {
    let with = |more: &str| format!("{BASE}{more}");
    vec![
        (with(""), vec![]),
        (with(""), vec!["link.buffer=0p"]),
        (with(""), vec!["link.buffer=1p", "link.rate=19999999bps"]),
        (with(""), vec!["link.buffer=23kB", "link.rate_layer=l1"]),
        (with(BACKGROUND), vec![]),
        (with(BACKGROUND), vec!["link.buffer=9kB"]),
        (
            with(BACKGROUND),
            vec!["link.buffer=0B", "link.rate=7777777bps"],
        ),
        (with(TRANSFERS), vec!["link.buffer=0.3BDP"]),
        (with(BACKGROUND), vec!["run.warmup=0s", "link.buffer=300p"]),
        (with(BACKGROUND), vec!["link.loss.random=1%"]),
        (
            with(BACKGROUND),
            vec![
                "link.buffer=0B",
                "link.loss.gilbert_elliott={ to_bad = 0.02, to_good = 0.3 }",
            ],
        ),
        (
            with(BACKGROUND),
            vec!["link.policer={ rate = \"9Mbps\", burst = \"20kB\" }"],
        ),
        (PATH.to_owned(), vec![]),
        (
            PATH.to_owned(),
            vec![
                "links.second.policer={ rate = \"9Mbps\", burst = \"9kB\", peak = \"15Mbps\", peak_burst = \"3kB\" }",
            ],
        ),
        (
            PATH.replacen("delay", "loss = { random = 0.02 }\ndelay", 1),
            vec!["links.second.loss.random=3%"],
        ),
        (PATH.replace("linspace", "uniform"), vec!["run.seed=9"]),
    ]
}

/// Warnings of a report but for those of phases, which only links without events count.
fn without_phases(report: &Report) -> Vec<&Warning> {
    let warnings = report.warnings.iter();
    let phases = WarningKind::SimultaneousEvents;
    warnings.filter(|warning| warning.kind != phases).collect()
}

#[test]
fn both_paths_give_the_same_report_for_every_discipline() {
    let (mut at_arrival, mut put_off) = (0, 0);
    let all = forebay_discipline::descriptions().iter();
    // Classes have no name that says enough alone.
    for description in all.filter(|description| description.name != "classes") {
        let (mut folded_somewhere, mut put_off_somewhere) = (false, false);
        for (text, mut changes) in cases() {
            let queue = format!("link.queue={}", description.name);
            let text = text.replace(
                "target = true",
                &format!("target = true\nqueue = \"{}\"", description.name),
            );
            if text.contains("[link]") {
                changes.push(&queue);
            }
            let scenario = scenario(&text, &changes);
            let simulation = simulation(&scenario, Seed::default(), Departures::Folded);
            match simulation.network.target() {
                link @ Link::Queued(_) => put_off_somewhere |= link.defers_arrivals(),
                _ => folded_somewhere = true,
            }
            let folded = run(&scenario, Departures::Folded);
            let events = run(&scenario, Departures::Events);
            let traces = folded.traces.as_ref().unwrap();
            assert!(traces.packets.len() > 1000 && !traces.queue.is_empty());
            assert!(
                folded.metrics == events.metrics
                    && folded.groups == events.groups
                    && folded.links == events.links
                    && without_phases(&folded) == without_phases(&events),
                "{} {changes:?}\n{:#?}\n{:#?}",
                description.name,
                folded.metrics,
                events.metrics
            );
            assert!(
                folded.traces.as_ref().map(|t| &t.packets)
                    == events.traces.as_ref().map(|t| &t.packets),
                "packets: {} {changes:?}",
                description.name
            );
            assert!(
                folded.traces.as_ref().map(|t| &t.flows)
                    == events.traces.as_ref().map(|t| &t.flows),
                "windows: {} {changes:?}",
                description.name
            );
        }
        at_arrival += u32::from(folded_somewhere);
        put_off += u32::from(put_off_somewhere);
    }
    assert!(at_arrival >= 2 && put_off >= 10);
}
