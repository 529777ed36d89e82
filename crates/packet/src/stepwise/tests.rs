//! Laws of runs that are watched: the report is that of the same run unwatched, and what was seen
//! adds up.

use std::collections::BTreeMap;

use forebay_attack::random_scenario;
use forebay_congestion::packet::LossState;
use forebay_scenario::{Engine, Format, Metric, RunOptions, Scenario, Seed};
use forebay_simulation::PacketEventKind;
use forebay_units::Time;
use proptest::prelude::*;

use super::*;
use crate::PacketEngine;

pub(super) fn options(scenario: &Scenario) -> RunOptions {
    let seed = scenario.run().seed;
    let replication = 0;
    Seed { seed, replication }.into()
}

fn text_of(answer: &Result<Report, EngineError>) -> String {
    match answer {
        Ok(report) => serde_json::to_string(report).unwrap(),
        Err(error) => error.to_string(),
    }
}

/// One step of a caller.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The part of the run that is still ahead, as far as this step goes, and events at most.
    share: f64,
    events: u64,
    watch: Option<usize>,
    /// The flow of the first group that is followed from here on.
    follow: Option<u64>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let watch = prop::option::of(prop::sample::select(vec![0usize, 1, 1000]));
    let events = prop::sample::select(vec![0u64, 1, 5000, u64::MAX]);
    let follow = prop::option::weighted(0.3, 0u64..3);
    let step = (0.0..0.3f64, events, watch, follow);
    let step = step.prop_map(|(share, events, watch, follow)| Step {
        share,
        events,
        watch,
        follow,
    });
    prop::collection::vec(step, 0..12)
}

fn watched(scenario: &Scenario, steps: &[Step]) -> Result<Report, EngineError> {
    let mut run = Stepwise::begin(scenario, options(scenario))?;
    for step in steps {
        if let Some(most) = step.watch {
            run.watch(most);
        }
        if let Some(flow) = step.follow {
            run.follow((0, flow), 1000);
        }
        let left = run.end().saturating_sub(run.now()).as_secs_f64();
        let until = run.now() + Time::from_secs_f64(left * step.share);
        let before = run.now();
        run.advance(until, step.events)?;
        assert!(before <= run.now() && run.now() <= until.min(run.end()));
        assert!(step.events < u64::MAX || run.now() == until.min(run.end()));
        for link in run.links() {
            let busy = link.utilization;
            assert!((0.0..=1.0 + 1e-9).contains(&busy), "{link:?}");
            assert!(link.drops + link.marks <= 2 * link.arrivals && link.backlog_s >= 0.0);
        }
        for flow in run.flows(20) {
            assert!(flow.cwnd_packets > 0.0 && flow.rtt_s >= 0.0, "{flow:?}");
            assert!(flow.dropped <= flow.arrived, "{flow:?}");
        }
        let seen = run.packet_events();
        assert!(
            seen.packet_events
                .iter()
                .all(|it| (it.group as usize) < scenario.flows().len())
        );
        assert!(run.course().standings.len() <= 1000);
    }
    run.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No caller changes the report, whatever its steps.
    #[test]
    fn a_watched_run_leaves_the_same_report(
        words in prop::collection::vec(any::<u16>(), 0..160),
        steps in steps(),
    ) {
        let text = random_scenario(&words);
        let scenario = Scenario::parse(&text, Format::Toml, "random", &[]);
        prop_assume!(scenario.as_ref().is_ok_and(|it| it.most_events() < 3e6));
        let scenario = scenario.unwrap();
        let alone = PacketEngine.run(&scenario, &options(&scenario));
        prop_assert_eq!(text_of(&watched(&scenario, &steps)), text_of(&alone), "{}", text);
    }
}

/// Disciplines that decide at arrival, that hold packets, that mark and that drop later; and
/// classes.
pub(super) const QUEUES: [&str; 6] = [
    "\"droptail\"",
    "\"red\"",
    "\"codel\"",
    "\"fq_codel\"",
    "\"drophead\"",
    "{ kind = \"dualpi2\" }",
];

pub(super) fn contested(queue: &str) -> Scenario {
    let text = format!(
        r#"
        link = {{ rate = "10Mbps", buffer = "30p", queue = {queue} }}
        run = {{ warmup = "0s", measure = "6s" }}
        [[flows]]
        name = "loss"
        start = "1s"
        count = 3
        rtt = {{ linspace = ["10ms", "50ms"] }}
        [[flows]]
        name = "marks"
        rtt = "20ms"
        ecn = true
        [[flows]]
        name = "noise"
        workload = {{ poisson = {{ rate = "2Mbps" }} }}
        "#
    );
    Scenario::parse(&text, Format::Toml, "test", &[]).unwrap()
}

/// Every packet that arrives at the target link leaves, is lost or waits there, at every look;
/// sightings count what the link counts, and what has left took its time.
#[test]
fn what_is_seen_adds_up() {
    for queue in QUEUES {
        let scenario = contested(queue);
        let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
        run.watch(1_000_000);
        let mut counts = BTreeMap::new();
        let (mut ahead, mut busy, mut sent) = (0, 0.0, 0);
        for step in 1..=60 {
            let now = Time::from_millis(step * 100);
            run.advance(now, u64::MAX).unwrap();
            let seen = run.packet_events();
            assert_eq!(seen.missed, 0);
            for sighting in &seen.packet_events {
                *counts.entry(sighting.kind as u8).or_insert(0u64) += 1;
                let leaves = matches!(
                    sighting.kind,
                    PacketEventKind::Departs | PacketEventKind::DepartsMarked
                );
                sent += if leaves { sighting.bytes } else { 0 };
                // Only departures are known ahead of their time.
                assert!(leaves || sighting.time < now, "{sighting:?}");
                let flow = sighting.flow;
                assert_eq!(sighting.group, [0, 0, 0, 1, 2][flow as usize]);
            }
            let count = |it: PacketEventKind| counts.get(&(it as u8)).copied().unwrap_or(0);
            let left = count(PacketEventKind::Departs) + count(PacketEventKind::DepartsMarked);
            let inside = count(PacketEventKind::Arrives) - left - count(PacketEventKind::IsDropped);
            let link = run.links()[0];
            assert_eq!(count(PacketEventKind::Arrives), link.arrivals, "{queue}");
            assert_eq!(count(PacketEventKind::IsDropped), link.drops, "{queue}");
            assert!(inside <= link.waiting + 1, "{queue}: {inside} {link:?}");
            ahead += link.waiting;
            busy += link.utilization * 0.1;
        }
        assert!(
            ahead > 0 && counts.contains_key(&(PacketEventKind::IsDropped as u8)),
            "{queue}"
        );
        // Departures may be reported while up to 30 packets wait.
        let (could, most) = (busy * 10e6 / 8.0, 32.0 * 1500.0);
        assert!(
            (could - f64::from(sent)).abs() <= most,
            "{queue}: {could} {sent}"
        );
        let marked = counts.contains_key(&(PacketEventKind::DepartsMarked as u8));
        let marks = matches!(run.links()[0].marks, 1..);
        assert_eq!(marked, marks, "{queue}");
    }
}

/// The payload that a watched run has delivered since the warm-up is that of the report's goodput,
/// also if transfers come and go.
#[test]
fn the_delivered_payload_is_that_of_the_goodput() {
    let text = r#"
        link = { rate = "10Mbps", buffer = "30p" }
        run = { warmup = "2s", measure = "6s" }
        [[flows]]
        name = "bulk"
        count = 2
        rtt = "20ms"
        [[flows]]
        name = "web"
        rtt = "30ms"
        workload = { open_loop = { load = 0.3, size = { exponential = "20kB" } } }
        [[flows]]
        name = "users"
        packet = "500B"
        rtt = "30ms"
        workload = { closed_loop = { users = 5, think = "100ms", size = { exponential = "9kB" } } }
        [[flows]]
        name = "noise"
        workload = { poisson = { rate = "1Mbps" } }
        "#;
    let scenario = Scenario::parse(text, Format::Toml, "test", &[]).unwrap();
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    run.advance(Time::from_secs(2), u64::MAX).unwrap();
    let before = run.delivered_bytes();
    run.advance(Time::MAX, u64::MAX).unwrap();
    let delivered = run.delivered_bytes() - before;
    let report = run.finish().unwrap();
    let groups = report.groups.iter().filter(|it| it.name != "noise");
    let goodput: f64 = groups.map(|it| it.metrics[&Metric::Goodput].mean).sum();
    assert!(before > 0.0 && delivered > 0.0);
    assert!(
        (8.0 * delivered / 6.0 - goodput).abs() < 1e-6 * goodput,
        "{delivered} {goodput}"
    );
}

/// Watching from the middle on, and no longer: sightings are of that time.
#[test]
fn one_may_begin_to_watch_and_cease() {
    let scenario = contested("\"codel\"");
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    let [first, second, third] = [2, 4, 6].map(Time::from_secs);
    run.advance(first, u64::MAX).unwrap();
    assert_eq!(run.packet_events(), Seen::default());
    run.watch(10);
    run.advance(second, u64::MAX).unwrap();
    let seen = run.packet_events();
    assert!(seen.packet_events.len() == 10 && seen.missed > 100);
    assert!(
        seen.packet_events
            .iter()
            .all(|it| it.time >= first.saturating_sub(Time::from_millis(200)))
    );
    run.watch(0);
    run.advance(third, u64::MAX).unwrap();
    assert_eq!(run.packet_events(), Seen::default());
}

/// A budget of events is exceeded by some thousands at most, and what it left is gone on with.
#[test]
fn a_budget_bounds_a_step() {
    let scenario = contested("\"droptail\"");
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    let (mut steps, mut before) = (0, 0);
    while run.now() < run.end() {
        run.advance(Time::MAX, 2000).unwrap();
        let done = run.events() - before;
        assert!(done <= 2000 + 3 * 4096, "{done}");
        (before, steps) = (run.events(), steps + 1);
    }
    assert!(steps >= 3, "{steps}");
    let straight = PacketEngine.run(&scenario, &options(&scenario));
    assert_eq!(text_of(&run.finish()), text_of(&straight));
}

/// A caller cancels the run.
#[test]
fn a_canceled_run_ends() {
    let scenario = contested("\"droptail\"");
    let options = options(&scenario);
    let mut run = Stepwise::begin(&scenario, options.clone()).unwrap();
    options.cancel.request();
    let answer = run.advance(Time::MAX, u64::MAX);
    assert_eq!(answer, Err(EngineError::Interrupted));
    assert!(run.now() <= run.end());
    assert!(matches!(run.finish(), Err(EngineError::Interrupted)));
}

/// A followed flow has the same state at every moment as the pictures of an equal run. Each change
/// is reported once, at an instant of the run.
#[test]
fn a_course_says_how_the_flow_stood_at_every_moment() {
    // The last one begins to send at the very beginning.
    for (group, flow, from) in [(0, 1, 0), (0, 2, 2500), (1, 3, 0)] {
        let scenario = contested("\"droptail\"");
        let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
        let mut other = Stepwise::begin(&scenario, options(&scenario)).unwrap();
        run.advance(Time::from_millis(from), u64::MAX).unwrap();
        assert!(run.follow((group, flow), usize::MAX));
        let mut course = Vec::new();
        for step in 1..=250 {
            let now = Time::from_millis(from) + Time::from_micros(step * 13_337);
            run.advance(now, u64::MAX).unwrap();
            other.advance(now, u64::MAX).unwrap();
            let StateHistory { standings, missed } = run.course();
            assert_eq!(missed, 0);
            course.extend(standings);
            let last: &SenderState = course.last().unwrap();
            assert!(last.time < now);
            let pictures = other.flows(10);
            let shown = pictures.iter().find(|it| it.flow == flow).unwrap();
            let shown_state = FlowPicture {
                active: last.active,
                cwnd_packets: last.cwnd_packets,
                ssthresh_packets: last.ssthresh_packets,
                rtt_s: last.rtt_s,
                retransmissions: last.retransmissions,
                timeouts: last.timeouts,
                ..*shown
            };
            assert_eq!(shown_state, *shown);
        }
        for pair in course.windows(2) {
            let [before, after] = pair else {
                unreachable!()
            };
            assert!(before.time < after.time, "{pair:?}");
            assert_ne!(
                *after,
                SenderState {
                    time: after.time,
                    ..*before
                },
                "{pair:?}"
            );
            assert!(before.unacknowledged <= after.unacknowledged, "{pair:?}");
            assert!(before.retransmissions <= after.retransmissions);
            assert!(before.timeouts <= after.timeouts);
            // Whatever is sent again was found lost before, or at that instant.
            let is_retransmission = after.retransmissions > before.retransmissions;
            assert!(
                !is_retransmission
                    || (before.state, after.state) != (LossState::Open, LossState::Open)
            );
        }
        let repairs = course.iter().filter(|it| it.state == LossState::Recovery);
        assert!(repairs.count() > 0, "{group} {flow}");
    }
}

/// States without room are counted, and a flow that does not exist or has no congestion control has
/// no states.
#[test]
fn only_flows_with_congestion_control_are_followed() {
    let scenario = contested("\"droptail\"");
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    assert!(run.follow((1, 3), 5));
    run.advance(Time::from_secs(3), u64::MAX).unwrap();
    let kept = run.course();
    assert!(kept.standings.len() == 5 && kept.missed > 100, "{kept:?}");
    for nobody in [(2, 4), (0, 3), (1, 0), (7, 0)] {
        assert!(!run.follow(nobody, 5), "{nobody:?}");
        run.advance(run.now() + Time::from_millis(200), u64::MAX)
            .unwrap();
        assert_eq!(run.course(), StateHistory::default());
    }
}
