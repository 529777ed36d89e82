//! The acknowledgments that Linux's receivers send at other times than with every second packet
//! (net/ipv4/tcp_input.c of 6.18).
//!
//! - Packets beyond a hole: three at once, and then all that arrive within a millisecond or a
//!   twentieth of the round trip together (`__tcp_ack_snd_check` with the sysctls
//!   `tcp_comp_sack_delay_ns` and `tcp_comp_sack_nr`; since 4.18). Its timer may be late by
//!   `tcp_comp_sack_slack_ns`, and on an idle processor is.
//! - The last packet of a burst of segmentation offload, which carries a PSH
//!   (`__tcp_transmit_skb`): at once, where an application reads it at once (`tcp_measure_rcv_mss`,
//!   `tcp_cleanup_rbuf`; since 6.7).
//! - The first acknowledgments of a connection: at once (`tcp_incr_quickack`, quick ACK mode). A
//!   growing receive window prolongs that in Linux (`tcp_grow_window`); here it does not.

use forebay_scenario::DelayedAck;
use forebay_units::Time;

/// Packets beyond a hole that are acknowledged one by one (`TCP_FASTRETRANS_THRESH`).
const APART: u32 = 3;

/// The most that one acknowledgment waits for (`tcp_comp_sack_nr`).
const TOGETHER: u32 = 44;

/// The time by which the timer is late (`tcp_comp_sack_slack_ns`).
const SLACK: Time = Time::from_micros(100);

/// The part of a round trip that packets wait at most.
const PART_OF_ROUND_TRIP: u64 = 20;

/// A receiver's way to acknowledge beside RFC 5681's.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    policy: DelayedAck,
    /// Acknowledgments that still wait for nothing.
    quick: u32,
    /// Packets acknowledged one by one beyond the hole at `hole`.
    separate: u32,
    hole: u64,
    /// Packets beyond a hole that wait to be acknowledged, and until when.
    waiting: Vec<u64>,
    /// Arrivals that wait, of which merged packets are one.
    arrivals: u32,
    due: Time,
}

impl Compression {
    /// The compression of a policy, if it has any.
    pub(super) fn new(policy: DelayedAck) -> Option<Box<Self>> {
        let times = policy.sack_delay > Time::ZERO || policy.gro > Time::ZERO;
        let any = policy.push || policy.quick > 0 || times;
        any.then(|| {
            Box::new(Self {
                policy,
                quick: policy.quick,
                separate: 0,
                hole: 0,
                waiting: Vec::new(),
                arrivals: 0,
                due: Time::MAX,
            })
        })
    }

    /// Whether a packet in order is acknowledged at once.
    pub(super) fn ack_immediately(&self, pushed: bool) -> bool {
        self.quick > 0 || pushed && self.policy.push
    }

    /// New packets arrive beyond the hole at `hole`, merged to one: whether they wait for others.
    pub(super) fn delays_ack(&mut self, hole: u64, (now, rtt): (Time, Time)) -> bool {
        let full = self.arrivals >= TOGETHER;
        if self.policy.sack_delay == Time::ZERO || self.quick > 0 || full {
            return false;
        }
        if self.hole != hole {
            (self.hole, self.separate) = (hole, 0);
        }
        if self.separate < APART {
            self.separate += 1;
            return false;
        }
        if self.arrivals == 0 {
            let part = Time::from_picos(rtt.as_picos() / PART_OF_ROUND_TRIP);
            let delay = self.policy.sack_delay.min(part).saturating_add(SLACK);
            self.due = now.saturating_add(delay);
        }
        self.arrivals += 1;
        true
    }

    /// The next acknowledgment tells of these packets, too.
    pub(super) fn note_reported(&mut self, packets: &[u64]) {
        self.waiting.extend_from_slice(packets);
    }

    /// An acknowledgment leaves: the packets beyond a hole that waited for it, in the order of
    /// arrival.
    pub(super) fn acknowledge(&mut self) -> Vec<u64> {
        self.quick = self.quick.saturating_sub(1);
        self.due = Time::MAX;
        self.arrivals = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Packets that wait.
    pub(super) fn unsacked(&self) -> &[u64] {
        &self.waiting
    }

    /// Until when they wait.
    pub(super) fn due(&self) -> Option<Time> {
        (self.arrivals > 0).then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use forebay_scenario::Stack;
    use proptest::prelude::*;

    use super::super::nic_coalescing::Arrival;
    use super::super::receiver::{AckDecision, Receiver};
    use super::*;

    const LINUX: DelayedAck = Stack::LINUX.delayed_ack;

    /// The times of the acknowledgments for this many packets, one in `gap`. The first packet is
    /// missing.
    fn beyond_a_hole(policy: DelayedAck, packets: u64, gap: Time, rtt: Time) -> Vec<Time> {
        let mut receiver = Receiver::new(1, policy, None);
        let mut times = Vec::new();
        for packet in 2..2 + packets {
            let now = gap * packet;
            while let Some(due) = receiver.acknowledgment_due().filter(|due| *due <= now) {
                receiver.acknowledge();
                times.push(due);
            }
            let arrival = Arrival {
                packet,
                now,
                pushed: true,
                rtt,
            };
            if receiver.receive(arrival) != AckDecision::Delayed {
                receiver.acknowledge();
                times.push(now);
            }
        }
        times
    }

    proptest! {
        /// Three at once, and then one for all that arrive in a millisecond or a twentieth of the
        /// round trip, and the timer's lateness: at any rate and round trip.
        #[test]
        fn packets_beyond_a_hole_are_acknowledged_together(
            packets in 4u64..300,
            gap_us in 5u64..5000,
            rtt_us in 50u64..200_000,
        ) {
            let (gap, rtt) = (Time::from_micros(gap_us), Time::from_micros(rtt_us));
            let policy = DelayedAck { quick: 0, ..LINUX };
            let times = beyond_a_hole(policy, packets, gap, rtt);
            prop_assert_eq!(&times[..3], &[gap * 2, gap * 3, gap * 4]);
            let wait = (rtt_us * 1000 / 20).min(1_000_000) + 100_000;
            // The first of a group sets the timer; the next to arrive begins another.
            let each = wait.div_ceil(gap_us * 1000).min(45);
            let groups = (packets - 3) / each;
            let acks = times.len() as u64 - 3;
            prop_assert!(acks.abs_diff(groups) <= 1, "{} {} {}", acks, groups, each);
            let separate = DelayedAck { sack_delay: Time::ZERO, ..policy };
            prop_assert_eq!(beyond_a_hole(separate, packets, gap, rtt).len() as u64, packets);
        }
    }

    #[test]
    fn at_first_nothing_waits() {
        let (gap, rtt) = (Time::from_micros(10), Time::from_millis(50));
        let times = beyond_a_hole(LINUX, 40, gap, rtt);
        // Sixteen quick ones and three apart; the others wait for more than there is.
        assert_eq!(times.len(), 19);
    }

    #[test]
    fn a_push_is_acknowledged_at_once_and_another_packet_waits() {
        let policy = DelayedAck { quick: 0, ..LINUX };
        let replies = |policy, pushed| {
            let mut receiver = Receiver::new(1, policy, None);
            let arrival = Arrival {
                packet: 1,
                now: Time::ZERO,
                pushed,
                rtt: Time::ZERO,
            };
            receiver.receive(arrival) == AckDecision::Delayed
        };
        assert_eq!(
            [true, false].map(|pushed| replies(policy, pushed)),
            [false, true]
        );
        let old = DelayedAck {
            push: false,
            ..policy
        };
        assert!(replies(old, true), "Linux 5.5");
    }

    #[test]
    fn a_new_hole_has_three_acknowledgments_of_its_own() {
        let mut receiver = Receiver::new(1, DelayedAck { quick: 0, ..LINUX }, None);
        let mut take = |packet| {
            let arrival = Arrival {
                packet,
                now: Time::from_micros(packet),
                pushed: false,
                rtt: Time::from_millis(50),
            };
            let waits = receiver.receive(arrival) == AckDecision::Delayed;
            (
                waits,
                if waits {
                    vec![]
                } else {
                    receiver.acknowledge().sack_blocks
                },
            )
        };
        for packet in [2, 3, 5] {
            assert_eq!(take(packet), (false, vec![]));
        }
        assert_eq!(take(6), (true, vec![]));
        // The hole is filled: the acknowledgment reports the packet that waited, too, and 4 is
        // missing now.
        assert_eq!(take(1), (false, vec![6]));
        assert_eq!([7, 8, 9].map(|packet| take(packet).0), [false; 3]);
        assert!(take(10).0);
    }
}
