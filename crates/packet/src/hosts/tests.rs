//! Tests that hosts send at once all packets that may leave.

use forebay_scenario::Seed;
use forebay_simulation::{Event, Hosts, Kind, ResponsiveId, Simulation, Turn};
use forebay_units::Time;

use crate::connection::Next;
use crate::equality_tests::scenario;
use crate::hosts::SimulatedHosts;

const ONE: &str = r#"
[link]
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "one"
cca = "newreno"
recovery = "sack"
rtt = "100ms"
packet = "1000B"
workload = "persistent"
initial_window = "40p"
[run]
warmup = "1s"
measure = "1s"
"#;

/// Some packets of a window of forty are lost, several in a row. Three arrivals beyond them let
/// several repairs leave at once (RFC 6675 section 5). After every arrival no packet that may leave
/// stays.
#[test]
fn nothing_that_may_leave_stays_after_an_arrival() {
    let scenario = scenario(ONE, &[]);
    let mut simulation =
        Simulation::new(&scenario, Seed::default(), SimulatedHosts::new(&scenario)).unwrap();
    let Simulation {
        traffic,
        network,
        timeline,
        ..
    } = &mut simulation;
    let (hosts, flow) = (&mut traffic.hosts, ResponsiveId::new(0));
    let mut now = Time::from_millis(100);
    hosts.send(Turn { flow, now }, network, timeline);
    let mut most = 0;
    for packet in (4..=10).chain(30..=40).chain(1..=3).chain(11..=29) {
        now += Time::from_millis(1);
        let before = hosts.flows[flow].ends.connection.retransmissions();
        let event = Event::of(now, Kind::Delivery.number(), flow.number(), packet);
        hosts.receive(event, network, timeline);
        let mut connection = hosts.flows[flow].ends.connection.clone();
        most = most.max(connection.retransmissions() - before);
        assert_eq!(connection.next_to_send(now), Next::Nothing, "{packet}");
    }
    assert!(most > 1, "{most}");
}
