//! What one connection does, step by step: a test per behaviour of recovery and timeouts.

use forebay_scenario::{Recovery, Reduction, Stack, TimeoutCut};
use forebay_units::Time;
use forebay_units::parameter::Parameters;

use super::{Connection, Next, Opening, Phase};

/// Connections number packets from there on.
const FIRST: u64 = 1;

/// A Reno connection and its clock; its first packet is number 0 here.
struct Wire {
    connection: Connection,
    now: Time,
}

impl Wire {
    /// Twenty packets leave at once.
    fn new(stack: Stack) -> Self {
        let description = forebay_congestion::descriptions()
            .iter()
            .find(|description| description.name == "newreno")
            .unwrap();
        let parameters = Parameters::defaults(description.parameters);
        let opening = Opening {
            stack: Stack {
                initial_window: 20.0,
                ..stack
            },
            controller: forebay_congestion::controller("newreno", &parameters).unwrap(),
            packets: u64::MAX,
        };
        Self {
            connection: Connection::new(opening, FIRST),
            now: Time::from_secs(1),
        }
    }

    /// Everything that may leave now.
    fn send(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Next::Send(transmission) = self.connection.next_to_send(self.now) {
            sent.push(transmission.packet - FIRST);
        }
        sent
    }

    /// A packet arrives a tenth of a millisecond later; what leaves then.
    fn arrive(&mut self, packet: u64) -> Vec<u64> {
        self.now += Time::from_micros(100);
        self.connection.deliver(packet + FIRST, self.now);
        self.send()
    }

    fn time_out(&mut self) -> Vec<u64> {
        self.now = self.connection.deadline().unwrap();
        self.connection.time_out(self.now);
        self.send()
    }
}

#[test]
fn forward_acknowledgement_repairs_what_is_three_below_the_furthest_arrival() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        ..Stack::RFC
    });
    assert_eq!(wire.send().len(), 20);
    wire.now += Time::from_millis(100);
    // 0, 1 and 2 are lost: each is found when the packet three beyond arrives.
    for (arrival, lost) in [(3, 1), (4, 2), (5, 3)] {
        let sent = wire.arrive(arrival);
        assert_eq!(wire.connection.lost, lost);
        assert_eq!(wire.connection.phase, Phase::Recovery);
        assert_eq!(sent.contains(&0), arrival == 3);
    }
}

#[test]
fn forward_acknowledgement_sees_that_a_repetition_is_lost() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        reduction: Some(Reduction::Prr),
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let mut repeated = 0;
    let mut new = Vec::new();
    for packet in 1..20 {
        for sent in wire.arrive(packet) {
            if sent == 0 {
                repeated += 1;
            } else {
                new.push(sent);
            }
        }
    }
    assert_eq!(repeated, 1);
    // A packet first sent after the repetition arrives, the repetition has not.
    wire.now += Time::from_millis(100);
    let last = *new.last().unwrap();
    let sent = wire.arrive(last);
    assert!(sent.contains(&0), "{sent:?}");
    assert_eq!(wire.connection.timeouts, 0);
}

#[test]
fn rate_halving_leaves_half_as_much_under_way_after_a_round_trip() {
    let mut wire = Wire::new(Stack {
        recovery: Recovery::Fack,
        ..Stack::RFC
    });
    wire.send();
    wire.now += Time::from_millis(100);
    let sent: usize = (1..20).map(|packet| wire.arrive(packet).len()).sum();
    // Three before the loss is noticed, then one for two.
    assert!((9..=12).contains(&sent), "{sent}");
}

#[test]
fn at_once_falls_silent_and_prr_does_not() {
    for (reduction, expected) in [(Reduction::AtOnce, 0), (Reduction::Prr, 3)] {
        for recovery in [Recovery::Sack, Recovery::Fack, Recovery::Rack] {
            let mut wire = Wire::new(Stack {
                recovery,
                reduction: Some(reduction),
                ..Stack::RFC
            });
            wire.send();
            wire.now += Time::from_millis(100);
            for packet in 1..=4 {
                wire.arrive(packet);
            }
            // Between the repetition and half a window of arrivals.
            let sent: usize = (5..=10).map(|packet| wire.arrive(packet).len()).sum();
            assert!(
                sent.abs_diff(expected) <= expected / 3,
                "{reduction:?} {recovery:?} {sent}"
            );
        }
    }
}

#[test]
fn only_the_first_timeout_of_a_packet_lowers_the_threshold_unless_every_one_does() {
    for (timeout_cut, expected) in [(TimeoutCut::First, 10.0), (TimeoutCut::Every, 2.0)] {
        for recovery in [
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Fack,
            Recovery::Rack,
        ] {
            let mut wire = Wire::new(Stack {
                recovery,
                timeout_cut,
                ..Stack::RFC
            });
            wire.send();
            let mut thresholds = Vec::new();
            while thresholds.len() < 2 {
                let before = wire.connection.timeouts;
                wire.time_out();
                if wire.connection.timeouts > before {
                    thresholds.push(wire.connection.window.ssthresh);
                }
            }
            assert!((thresholds[0] - 10.0).abs() <= 0.5, "{thresholds:?}");
            assert!(
                (thresholds[1] - expected).abs() <= 0.5,
                "{recovery:?} {timeout_cut:?} {thresholds:?}"
            );
        }
    }
}
