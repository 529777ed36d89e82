//! The contract of every connection, whatever its controller and recovery: loops over the registry.

use std::collections::VecDeque;

use forebay_congestion::Controller;
use forebay_congestion::packet::LossState;
use forebay_random::{Purpose, Seed, StreamKey};
use forebay_scenario::{Recovery, Stack};
use forebay_units::parameter::{Parameters, Value};
use forebay_units::{Bytes, Time};
use proptest::prelude::*;

use super::{Connection, Next, TransferSetup};

const RECOVERIES: [Recovery; 5] = [
    Recovery::NewReno,
    Recovery::Sack,
    Recovery::Pipe,
    Recovery::Fack,
    Recovery::Rack,
];

/// A connection and its clock.
struct Driven {
    connection: Connection,
    now: Time,
    name: String,
}

impl Driven {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for description in forebay_congestion::descriptions() {
            for recovery in RECOVERIES {
                for (pacing, linux) in [(false, false), (true, false), (false, true), (true, true)]
                {
                    let stack = Stack {
                        recovery,
                        pacing,
                        offload: linux,
                        frto: linux,
                        // Nothing else bounds a window without a bottleneck.
                        receive_window: Some(200.0),
                        ..Stack::RFC
                    };
                    let mut parameters = Parameters::defaults(description.parameters);
                    if linux {
                        parameters.set("variant", Value::Word("linux"));
                    }
                    let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
                    let controller =
                        forebay_congestion::controller(description.name, &parameters, random)
                            .unwrap();
                    let opening = TransferSetup {
                        stack,
                        controller,
                        payload: Bytes::new(1448),
                        host_delay: None,
                        packets: None,
                    };
                    all.push(Self {
                        connection: Connection::new(opening, 1),
                        now: Time::from_secs(1),
                        name: format!(
                            "{} {recovery:?} pacing {pacing} linux {linux}",
                            description.name
                        ),
                    });
                }
            }
        }
        all
    }

    /// All that may be sent now or after pauses.
    fn send(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        loop {
            match self.connection.next_to_send(self.now) {
                Next::Send(transmission) => sent.push(transmission.packet),
                Next::Pause(until) => self.now = until,
                Next::Nothing => return sent,
            }
        }
    }

    /// All that may be sent, one packet after the other.
    fn send_spaced(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Next::Send(transmission) = self.connection.next_to_send(self.now) {
            sent.push(transmission.packet);
            self.now += Time::from_micros(1);
        }
        sent
    }

    /// Rounds of 100 ms in which everything arrives.
    fn rounds(&mut self, count: usize) {
        let mut in_flight = self.send();
        for _ in 0..count {
            self.now += Time::from_millis(100);
            let mut next = Vec::new();
            for packet in in_flight {
                self.now += Time::from_micros(10);
                self.connection.deliver(packet, self.now);
                next.extend(self.send());
                self.check();
            }
            in_flight = next;
        }
        // The packets that remain in flight are dropped: they count as lost.
    }

    fn check(&self) {
        assert!(self.connection.consistent(), "{}", self.name);
    }
}

#[test]
fn fifty_timeouts_in_a_row_are_survived() {
    for mut driven in Driven::all() {
        driven.rounds(5);
        for _ in 0..50 {
            // A probe or a reordering timer may come first; none comes for ever.
            let (before, mut steps) = (driven.connection.timeouts(), 0);
            while driven.connection.timeouts() == before {
                let deadline = driven.connection.deadline().unwrap();
                driven.now = driven.now.max(deadline);
                driven.connection.time_out(driven.now);
                driven.send();
                driven.check();
                steps += 1;
                assert!(steps < 100, "{}", driven.name);
            }
        }
        let delivered = driven.connection.delivered();
        // The last retransmission gets through at last.
        for _ in 0..20 {
            let deadline = driven.connection.deadline().unwrap();
            driven.now = driven.now.max(deadline);
            driven.connection.time_out(driven.now);
            driven.rounds(30);
        }
        let more = driven.connection.delivered() - delivered;
        assert!(more > 100, "{} {more}", driven.name);
    }
}

#[test]
fn no_window_grows_without_acknowledgments() {
    for mut driven in Driven::all() {
        driven.rounds(3);
        let mut window = driven.connection.window().cwnd;
        for _ in 0..20 {
            let deadline = driven.connection.deadline().unwrap();
            driven.now = driven.now.max(deadline);
            driven.connection.time_out(driven.now);
            driven.send();
            let now = driven.connection.window().cwnd;
            assert!(now <= window + 1e-9, "{} {window} {now}", driven.name);
            window = now;
        }
        assert!(window >= 1.0);
    }
}

#[test]
fn a_late_window_after_a_timeout_brings_the_old_one_back() {
    for mut driven in Driven::all() {
        driven.rounds(6);
        // The packets in flight now arrive only after the timer has expired.
        let in_flight: Vec<u64> = (driven.connection.control.receiver.rcv_nxt()
            ..driven.connection.control.sender.next)
            .collect();
        let before = driven.connection.window().cwnd;
        let (timeouts, mut steps) = (driven.connection.timeouts(), 0);
        while driven.connection.timeouts() == timeouts && steps < 100 {
            driven.now = driven.now.max(driven.connection.deadline().unwrap());
            driven.connection.time_out(driven.now);
            driven.send();
            driven.check();
            steps += 1;
        }
        let mut after = None;
        for packet in in_flight {
            driven.now += Time::from_micros(10);
            driven.connection.deliver(packet, driven.now);
            driven.send();
            driven.check();
            if driven.connection.control.sender.state == LossState::Open {
                after.get_or_insert(driven.connection.window().cwnd);
            }
        }
        if driven.connection.timeout.frto {
            let after = after.unwrap();
            // To CDG and to Swift the late window is a delay that has grown: they back off once,
            // Swift by its largest decrease.
            let kept = if driven.name.starts_with("cdg") {
                724.0 / 1024.0
            } else if driven.name.starts_with("swift") {
                0.5
            } else {
                1.0
            };
            assert!(
                after + 1.0 >= kept * before,
                "{} {before} {after}",
                driven.name
            );
        }
    }
}

#[test]
fn duplicates_and_packets_of_the_past_do_no_harm() {
    for mut driven in Driven::all() {
        let before = driven.connection.delivered();
        let first = driven.send();
        for &packet in first.iter().chain(&first).rev() {
            driven.now += Time::from_millis(10);
            driven.connection.deliver(packet, driven.now);
            driven.check();
        }
        let delivered = driven.connection.delivered() - before;
        assert_eq!(delivered, first.len() as u64, "{}", driven.name);
        driven.connection.deliver_marked(first[0], driven.now);
        driven.check();
    }
}

#[test]
fn a_silent_hour_does_not_break_the_arithmetic() {
    for mut driven in Driven::all() {
        driven.rounds(3);
        driven.now += Time::from_secs(3600);
        driven.connection.time_out(driven.now);
        driven.rounds(10);
        let window = driven.connection.window();
        assert!(window.cwnd.is_finite() && !window.ssthresh.is_nan());
        assert!(driven.connection.delivered() > 10, "{}", driven.name);
    }
}

/// A controller with its defaults.
fn default_controller(name: &str) -> Controller {
    let mut descriptions = forebay_congestion::descriptions().iter();
    let description = descriptions.find(|known| known.name == name).unwrap();
    let parameters = Parameters::defaults(description.parameters);
    let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
    forebay_congestion::controller(name, &parameters, random).unwrap()
}

proptest! {
    /// Over a wire that preserves the order, each packet sent has arrived, was found lost, or is in
    /// flight, through recoveries and timeouts. The scoreboard leaves no packet out and counts none
    /// twice.
    #[test]
    fn what_was_sent_has_arrived_is_lost_or_under_way(
        drops in prop::collection::vec(prop::bool::weighted(0.1), 50..400),
        burst in 0usize..300,
    ) {
        for recovery in [Recovery::Sack, Recovery::Fack, Recovery::Rack] {
            let controller = default_controller("newreno");
            let opening = TransferSetup {
                stack: Stack { recovery, ..Stack::RFC },
                controller,
                payload: Bytes::new(1448),
                host_delay: None,
                packets: None,
            };
            let mut driven = Driven {
                connection: Connection::new(opening, 1),
                now: Time::from_secs(1),
                name: format!("{recovery:?}"),
            };
            let mut wire: VecDeque<u64> = driven.send_spaced().into();
            let (mut sent, mut arrived) = (wire.len() as u64, 0);
            // A dozen in a row are lost somewhere: now and then no packet is left in flight.
            let dropped = |k: usize| drops[k] || (burst..burst + 12).contains(&k);
            for k in 0..drops.len() {
                driven.now += Time::from_millis(5);
                match wire.pop_front() {
                    Some(_) if dropped(k) => {}
                    Some(packet) => {
                        arrived += 1;
                        driven.connection.deliver(packet, driven.now);
                    }
                    None => {
                        let deadline = driven.connection.deadline().unwrap();
                        driven.now = driven.now.max(deadline);
                        driven.connection.time_out(driven.now);
                    }
                }
                let more = driven.send_spaced();
                sent += more.len() as u64;
                wire.extend(more);
                driven.check();
                let control = &driven.connection.control;
                let in_flight = control.in_flight();
                let accounted = arrived + control.sender.totals.losses + in_flight;
                if recovery == Recovery::Rack {
                    // A packet that a timeout found lost may be found lost again when a later
                    // packet arrives.
                    prop_assert!(sent <= accounted, "{} after {k}", &driven.name);
                } else {
                    prop_assert_eq!(sent, accounted, "{} after {}", &driven.name, k);
                }
                prop_assert!(in_flight >= wire.len() as u64, "{} after {k}", &driven.name);
            }
        }
    }
}
