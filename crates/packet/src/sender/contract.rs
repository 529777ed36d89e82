//! What every connection owes whatever its controller and recovery: loops over the registry.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Recovery, Stack};
use forebay_units::Time;
use forebay_units::parameter::{Parameters, Value};

use super::{Connection, Next, Opening, Phase};

const RECOVERIES: [Recovery; 4] = [
    Recovery::NewReno,
    Recovery::Sack,
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
                    let random = Stream::new(Seed::default(), 0, Purpose::Controller);
                    let controller =
                        forebay_congestion::controller(description.name, &parameters, random)
                            .unwrap();
                    let opening = Opening {
                        stack,
                        controller,
                        packets: u64::MAX,
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

    /// Rounds of 100 ms in which everything arrives.
    fn rounds(&mut self, count: usize) {
        let mut under_way = self.send();
        for _ in 0..count {
            self.now += Time::from_millis(100);
            let mut next = Vec::new();
            for packet in under_way {
                self.now += Time::from_micros(10);
                self.connection.deliver(packet, self.now);
                next.extend(self.send());
                self.check();
            }
            under_way = next;
        }
        // What is left is forgotten: it counts as lost.
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
            let (before, mut steps) = (driven.connection.timeouts, 0);
            while driven.connection.timeouts == before {
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
fn no_window_grows_without_acknowledgements() {
    for mut driven in Driven::all() {
        driven.rounds(3);
        let mut window = driven.connection.window.cwnd;
        for _ in 0..20 {
            let deadline = driven.connection.deadline().unwrap();
            driven.now = driven.now.max(deadline);
            driven.connection.time_out(driven.now);
            driven.send();
            let now = driven.connection.window.cwnd;
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
        // What is under way now comes only after the timer has expired.
        let under_way: Vec<u64> = (driven.connection.expected..driven.connection.next).collect();
        let before = driven.connection.window.cwnd;
        let (timeouts, mut steps) = (driven.connection.timeouts, 0);
        while driven.connection.timeouts == timeouts && steps < 100 {
            driven.now = driven.now.max(driven.connection.deadline().unwrap());
            driven.connection.time_out(driven.now);
            driven.send();
            driven.check();
            steps += 1;
        }
        let mut after = None;
        for packet in under_way {
            driven.now += Time::from_micros(10);
            driven.connection.deliver(packet, driven.now);
            driven.send();
            driven.check();
            if driven.connection.phase == Phase::Open {
                after.get_or_insert(driven.connection.window.cwnd);
            }
        }
        if driven.connection.settings.frto {
            let after = after.unwrap();
            assert!(after + 1.0 >= before, "{} {before} {after}", driven.name);
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
        let window = driven.connection.window;
        assert!(window.cwnd.is_finite() && !window.ssthresh.is_nan());
        assert!(driven.connection.delivered() > 10, "{}", driven.name);
    }
}
