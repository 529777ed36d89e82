//! Marks travel with packets, and no packet is lost without being counted.

use forebay_discipline::Ecn;
use forebay_scenario::{Cancel, Metric, Seed};
use forebay_simulation::{
    Departures, FlowId, HopNumber, InFlight, Kind, Mark, Occasion, ResponsiveId,
};
use forebay_units::Time;

use crate::equality_tests::{run, scenario, simulation};

/// Two links; senders say that they understand marks.
const CAPABLE: &str = r#"
[[links]]
name = "first"
rate = "21Mbps"
buffer = "1000p"
queue = { kind = "step", threshold = "5p" }
[[links]]
name = "second"
rate = "20Mbps"
buffer = "1000p"
target = true
[[flows]]
name = "capable"
count = 4
cca = "newreno"
recovery = "sack"
ecn = true
rtt = "20ms"
packet = "1000B"
path = ["first", "second"]
workload = "persistent"
initial_ssthresh = "60p"
[run]
warmup = "1s"
measure = "4s"
"#;

#[test]
fn each_marking_discipline_marks_capable_packets() {
    for queue in ["red", "pie", "step", "codel", "fq_codel", "dualpi2"] {
        let text = CAPABLE.replace(
            "target = true",
            &format!("target = true\nqueue = \"{queue}\""),
        );
        let scenario = scenario(&text, &[]);
        for departures in [Departures::Folded, Departures::Events] {
            let report = run(&scenario, departures);
            let marks = report.value(Metric::MarkRate).unwrap_or(0.0);
            assert!(marks > 1e-4, "{queue} {marks}");
        }
    }
}

/// The packets in flight when the run stops at this point include marked packets, on their way to
/// the second link and to the receivers.
#[test]
fn a_mark_travels_with_the_packet() {
    let text = CAPABLE
        .replace("name = \"first\"", "name = \"first\"\ndelay = \"5ms\"")
        .replace("21Mbps", "19Mbps")
        // Senders that hardly yield, so that marks do not end.
        .replace("\"newreno\"", "{ kind = \"aimd\", decrease = 0.01 }");
    let scenario = scenario(&text, &[]);
    for departures in [Departures::Folded, Departures::Events] {
        let seed = Seed::default();
        let mut simulation = simulation(&scenario, seed, departures);
        simulation.run(&Cancel::default()).unwrap();
        let (mut arrivals, mut deliveries, mut unmarked) = (0, 0, 0);
        while let Some(event) = simulation.timeline.calendar.pop() {
            match event.occasion() {
                Occasion::Other(Kind::MarkedDelivery) => deliveries += 1,
                Occasion::Arrival { hop, mark } if mark.present() && hop.index() == 1 => {
                    arrivals += 1;
                }
                Occasion::Other(Kind::Delivery) => unmarked += 1,
                _ => {}
            }
        }
        assert!(
            arrivals > 0 && deliveries > 0,
            "{arrivals} {deliveries} {unmarked}"
        );
        let second = &simulation.network.links[1];
        assert_eq!(second.statistics().marks, 0);
    }
}

/// Three links, and the second has a discipline; no sender waits for acknowledgments.
const UNRESPONSIVE: &str = r#"
[[links]]
name = "first"
rate = "21Mbps"
delay = "3ms"
buffer = "20p"
[[links]]
name = "second"
rate = "20Mbps"
delay = "2ms"
buffer = "12p"
target = true
[[links]]
name = "third"
rate = "18Mbps"
buffer = "15kB"
[[flows]]
name = "through"
count = 3
packet = { choice = ["1000B", "300B"] }
path = ["first", "second", "third"]
workload = { poisson = { rate = "22Mbps" } }
[run]
warmup = "0s"
measure = "3s"
"#;

/// Classes with two buffers, one of them dropping heads and the other out of the middle.
const CLASSES: &str = r#"{ kind = "classes", schedule = "dwrr", classes = [
    { name = "some", groups = ["through"], buffer = "9p", queue = "drophead" }, { name = "rest", queue = "choke" } ] }"#;

/// At each hop, of what has been offered all was dropped, waits, is in flight to the next hop or
/// has reached it; what the last hop has taken in counts as delivered.
#[test]
fn what_is_offered_is_dropped_or_waits_or_goes_on() {
    for description in forebay_discipline::descriptions() {
        let queue = match description.name {
            "classes" => CLASSES.to_owned(),
            name => format!("\"{name}\""),
        };
        let queue = format!("target = true\nqueue = {queue}");
        let scenario = scenario(&UNRESPONSIVE.replace("target = true", &queue), &[]);
        for departures in [Departures::Folded, Departures::Events] {
            let seed = Seed::default();
            let mut simulation = simulation(&scenario, seed, departures);
            simulation.advance(&Cancel::default()).unwrap();
            let mut in_flight = [0; 3];
            while let Some(event) = simulation.timeline.calendar.pop() {
                if let Occasion::Arrival { hop, .. } = event.occasion() {
                    in_flight[hop.index()] += 1;
                }
            }
            assert!(in_flight[1] > 0 && in_flight[2] > 0);
            let (mut offered, mut accepted, mut held) = ([0; 3], [0; 3], [0; 3]);
            for (hop, link) in simulation.network.links.iter().enumerate() {
                let statistics = link.statistics();
                assert!(statistics.drops > 0, "{queue} {hop}");
                offered[hop] = statistics.arrivals;
                accepted[hop] = statistics.arrivals - statistics.drops;
                held[hop] = link.held();
            }
            for next in [1, 2] {
                let reached = offered[next] + in_flight[next];
                assert_eq!(accepted[next - 1], held[next - 1] + reached, "{queue}");
            }
            let flows = &simulation.traffic.hosts.flows.unresponsive;
            let delivered: u64 = flows.iter().map(|flow| flow.counts().delivered).sum();
            assert_eq!(delivered, accepted[2], "{queue}");
        }
    }
}

/// One link of 20 Mb/s with shallow marking, and flows that open with a handshake.
const HANDSHAKES: &str = r#"
[link]
rate = "20Mbps"
buffer = "100p"
queue = { kind = "step", threshold = "3p" }
[[flows]]
count = 4
stack = "linux"
cca = "newreno"
ecn = true
rtt = "20ms"
packet = "1000B"
workload = "persistent"
[run]
warmup = "0s"
measure = "3s"
[trace]
record = ["packets"]
"#;

#[test]
fn a_syn_says_nothing_about_congestion_notification() {
    let scenario = scenario(HANDSHAKES, &[]);
    let simulation = simulation(&scenario, Seed::default(), Departures::Folded);
    let flows = &simulation.traffic.hosts.flows;
    let packet = |number| InFlight {
        arrival: Time::ZERO,
        flow: FlowId::Responsive(ResponsiveId::new(0)),
        number,
        size: flows.responsive[0].size(number),
        hop: HopNumber::FIRST,
        mark: Mark::Absent,
    };
    let hop = simulation.network.hops[0];
    let (syn, data) = (hop.held(&packet(1), flows), hop.held(&packet(2), flows));
    assert_eq!((syn.ecn(), data.ecn()), (Ecn::NotCapable, Ecn::Classic));
    assert!(syn.size < data.size && data.size == 1000);
}

#[test]
fn each_mark_is_recorded_with_its_packet() {
    for queue in ["red", "pie", "step", "codel", "fq_codel", "dualpi2"] {
        marks_are_those_of_the_record(queue);
    }
}

fn marks_are_those_of_the_record(queue: &str) {
    let text = HANDSHAKES.replace("step\", threshold = \"3p", queue);
    let scenario = scenario(&text, &[]);
    for departures in [Departures::Folded, Departures::Events] {
        let seed = Seed::default();
        let mut simulation = simulation(&scenario, seed, departures);
        simulation.record();
        simulation.run(&Cancel::default()).unwrap();
        let marks = simulation.network.target().statistics().marks;
        let traces = simulation.timeline.recorder.into_traces().unwrap();
        let recorded = traces.packets.iter().filter(|packet| packet.marked);
        let waiting = recorded.count() as u64;
        // A packet that still waits at the end may be marked when it leaves, which no count of the
        // run includes.
        assert!(
            marks > 10 && (marks..marks + marks.min(100)).contains(&waiting),
            "{queue} {marks} {waiting}"
        );
    }
}

/// The flows count a drop of the first link as lost before the target.
#[test]
fn each_loss_counts_for_one_flow_at_one_place() {
    let text = CAPABLE
        .replace("queue = { kind = \"step\", threshold = \"5p\" }", "")
        .replace("buffer = \"1000p\"", "buffer = \"7p\"")
        .replace("warmup = \"1s\"", "warmup = \"0s\"");
    for changes in [&[][..], &["flows.0.ecn=false"]] {
        let scenario = scenario(&text, changes);
        let mut simulation = simulation(&scenario, Seed::default(), Departures::Folded);
        simulation.run(&Cancel::default()).unwrap();
        let drops = |link: usize| simulation.network.links[link].statistics().drops;
        let flows = &simulation.traffic.hosts.flows.responsive;
        let elsewhere: u64 = flows.iter().map(|flow| flow.losses().elsewhere).sum();
        let here: u64 = flows.iter().map(|flow| flow.losses().dropped).sum();
        assert!(drops(0) > 0);
        assert_eq!((elsewhere, here), (drops(0), drops(1)));
    }
}

/// A transfer with a new round trip has it on both sides of its receiver.
#[test]
fn acknowledgments_return_after_what_is_left_of_the_round_trip() {
    let text = r#"
[[links]]
name = "down"
rate = "20Mbps"
buffer = "50p"
target = true
[[links]]
name = "up"
rate = "2Mbps"
buffer = "50p"
[[flows]]
cca = "newreno"
rtt = { choice = ["10ms", "30ms", "50ms"] }
packet = "1000B"
path = ["down"]
reverse = ["up"]
workload = { closed_loop = { users = 5, think = "10ms", size = "20p" } }
[run]
warmup = "0s"
measure = "5s"
"#;
    let scenario = scenario(text, &[]);
    let mut simulation = simulation(&scenario, Seed::default(), Departures::Folded);
    simulation.run(&Cancel::default()).unwrap();
    let flows = &simulation.traffic.hosts.flows;
    for flow in &flows.responsive {
        let receiver = flow.ends.receiver.as_ref().unwrap();
        let back = flows[receiver.acks()].transit.return_delay;
        assert_eq!((back, back), (receiver.delay, flow.transit.return_delay));
        assert!(flow.transfer.number > 10);
    }
}
