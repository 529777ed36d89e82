//! What Linux's receivers acknowledge at other times than with every second packet
//! (net/ipv4/tcp_input.c of 6.18).
//!
//! - Packets beyond a hole: three at once, and then all that arrive within a millisecond or a
//!   twentieth of the round trip together (`__tcp_ack_snd_check` with the sysctls
//!   `tcp_comp_sack_delay_ns` and `tcp_comp_sack_nr`; since 4.18). Its timer may be late by
//!   `tcp_comp_sack_slack_ns`, and on an idle processor is.
//! - The last packet of a burst of segmentation offload, which carries a PSH (`__tcp_transmit_skb`):
//!   at once, where an application reads it at once (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`; since
//!   6.7).
//! - The first acknowledgments of a connection: at once (`tcp_incr_quickack`, quick ACK mode). A growing
//!   receive window prolongs that in Linux (`tcp_grow_window`); here it does not.

use forebay_scenario::DelayedAck;
use forebay_units::Time;

/// Packets beyond a hole that are acknowledged one by one (`TCP_FASTRETRANS_THRESH`).
const APART: u32 = 3;

/// The most that one acknowledgment waits for (`tcp_comp_sack_nr`).
const TOGETHER: usize = 44;

/// By how much the timer is late (`tcp_comp_sack_slack_ns`).
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
    apart: u32,
    hole: u64,
    /// Packets beyond a hole that wait to be acknowledged, and until when.
    waiting: Vec<u64>,
    due: Time,
}

impl Compression {
    /// That of a policy, where it has any.
    pub(super) fn new(policy: DelayedAck) -> Option<Box<Self>> {
        let any = policy.push || policy.quick > 0 || policy.sack_delay > Time::ZERO;
        any.then(|| {
            Box::new(Self {
                policy,
                quick: policy.quick,
                apart: 0,
                hole: 0,
                waiting: Vec::new(),
                due: Time::MAX,
            })
        })
    }

    /// Whether a packet in order is acknowledged at once.
    pub(super) fn hurries(&self, pushed: bool) -> bool {
        self.quick > 0 || pushed && self.policy.push
    }

    /// A new packet arrives beyond the hole at `hole`: whether it waits for others.
    pub(super) fn defers(&mut self, packet: u64, hole: u64, (now, rtt): (Time, Time)) -> bool {
        let full = self.waiting.len() >= TOGETHER;
        if self.policy.sack_delay == Time::ZERO || self.quick > 0 || full {
            return false;
        }
        if self.hole != hole {
            (self.hole, self.apart) = (hole, 0);
        }
        if self.apart < APART {
            self.apart += 1;
            return false;
        }
        if self.waiting.is_empty() {
            let part = Time::from_picos(rtt.as_picos() / PART_OF_ROUND_TRIP);
            let delay = self.policy.sack_delay.min(part).saturating_add(SLACK);
            self.due = now.saturating_add(delay);
        }
        self.waiting.push(packet);
        true
    }

    /// An acknowledgment leaves: the packets beyond a hole that waited for it, in the order of
    /// arrival.
    pub(super) fn acknowledge(&mut self) -> Vec<u64> {
        self.quick = self.quick.saturating_sub(1);
        self.due = Time::MAX;
        std::mem::take(&mut self.waiting)
    }

    /// Packets that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Until when they wait.
    pub(super) fn due(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.due)
    }
}
