//! Acknowledgements that cross links: they queue behind data of the other direction, and may be
//! dropped.
//!
//! Elsewhere a receiver answers over a constant delay and lives in its sender (see
//! [`crate::sender`]). Here it stands between the two paths and decides alone when to acknowledge. An
//! acknowledgement announces the packets that arrived since the one before, and those of others
//! that were dropped on the way, as cumulative and selective acknowledgements do; its sender
//! learns of them when it arrives. Half of the round trip that is left beside the links' delays lies on each
//! side of the receiver.
//!
//! Where an acknowledgement of a duplicate is dropped, a sender without SACK still counts the
//! duplicate when the next one arrives.

use std::collections::VecDeque;

use forebay_units::Time;

use crate::bitmap::Bitmap;
use crate::event::Mark;
use crate::ids::UnresponsiveId;

/// A packet that the sender does not know of yet.
#[derive(Clone, Copy, Debug)]
struct Announced {
    /// The acknowledgement that says so.
    by: u32,
    packet: u32,
    marked: bool,
}

/// A receiver whose acknowledgements take a path of links.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The flow of its acknowledgements among the unresponsive ones.
    acks: u32,
    /// From the last link of that path to the sender.
    pub(crate) delay: Time,
    /// The next packet in order.
    expected: u64,
    /// Packets beyond it that have arrived.
    received: Bitmap,
    out_of_order: u64,
    /// Packets in order that are not acknowledged, and since when.
    pending: u32,
    pending_since: Time,
    timer_armed: bool,
    /// Number of the next acknowledgement.
    next: u32,
    announced: VecDeque<Announced>,
}

/// What a receiver does about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    AtOnce,
    /// It waits for more packets or a timer.
    Later,
}

impl Receiver {
    pub(crate) fn new(acks: u32, delay: Time) -> Self {
        Self {
            acks,
            delay,
            expected: 0,
            received: Bitmap::default(),
            out_of_order: 0,
            pending: 0,
            pending_since: Time::ZERO,
            timer_armed: false,
            next: 0,
            announced: VecDeque::new(),
        }
    }

    /// A transfer begins whose packets are numbered from `first` on.
    pub(crate) fn restart(&mut self, first: u64) {
        self.expected = first;
        self.received = Bitmap::default();
        self.out_of_order = 0;
        self.pending = 0;
    }

    /// A packet arrives; those in order may wait for `together` of them (RFC 5681 section 4.2).
    pub(crate) fn take(&mut self, packet: u64, together: u32, now: Time) -> Reply {
        if packet != self.expected || self.out_of_order > 0 {
            self.take_otherwise(packet);
            return Reply::AtOnce;
        }
        self.expected += 1;
        self.pending += 1;
        if self.pending == 1 {
            self.pending_since = now;
        }
        if self.pending < together {
            Reply::Later
        } else {
            Reply::AtOnce
        }
    }

    fn take_otherwise(&mut self, packet: u64) {
        if packet > self.expected {
            self.out_of_order += u64::from(self.received.set(packet, self.expected));
        } else if packet == self.expected {
            let next = self.received.take_run(packet + 1);
            self.out_of_order -= next - (packet + 1);
            self.expected = next;
        }
    }
}

impl Receiver {
    /// The flow of its acknowledgements.
    pub(crate) fn acks(&self) -> UnresponsiveId {
        UnresponsiveId::new(self.acks as usize)
    }

    /// The next acknowledgement announces this packet.
    pub(crate) fn announce(&mut self, packet: u32, mark: Mark) {
        self.announced.push_back(Announced {
            by: self.next,
            packet,
            marked: mark.present(),
        });
    }

    /// The next packet that acknowledgement `number`, or one lost before it, announces: its low
    /// bits and mark.
    pub(crate) fn next_announced(&mut self, number: u32) -> Option<(u32, Mark)> {
        let known = |next: &&Announced| number.wrapping_sub(next.by) <= u32::MAX / 2;
        let next = *self.announced.front().filter(known)?;
        self.announced.pop_front();
        Some((next.packet, Mark::of(next.marked)))
    }

    /// An acknowledgement sets out: its number.
    pub(crate) fn set_out(&mut self) -> u32 {
        self.pending = 0;
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// Sets the timer for delayed acknowledgements where it does not run: when it expires.
    pub(crate) fn arm_timer(&mut self, now: Time, timeout: Time) -> Option<Time> {
        let idle = !std::mem::replace(&mut self.timer_armed, true);
        idle.then(|| now.saturating_add(timeout))
    }

    /// The timer for delayed acknowledgements expires.
    pub(crate) fn expire(&mut self, now: Time, timeout: Time) -> Expiry {
        self.timer_armed = false;
        if self.pending == 0 {
            return Expiry::Idle;
        }
        let due = self.pending_since.saturating_add(timeout);
        if due > now {
            self.timer_armed = true;
            return Expiry::Again(due);
        }
        Expiry::Acknowledge
    }
}

/// What the timer for delayed acknowledgements finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Everything is acknowledged.
    Idle,
    /// What waits came later: the timer expires again then.
    Again(Time),
    /// An acknowledgement is due.
    Acknowledge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_order_wait_for_each_other_and_others_do_not() {
        let mut receiver = Receiver::new(0, Time::ZERO);
        receiver.restart(5);
        let mut take = |packet| receiver.take(packet, 2, Time::ZERO);
        assert_eq!((take(5), take(6)), (Reply::Later, Reply::AtOnce));
        // 7 is missing: 8 and 9 ask for it, 7 fills the hole, 7 again is a duplicate.
        for packet in [8, 9, 7, 7] {
            assert_eq!(take(packet), Reply::AtOnce);
        }
        assert_eq!((receiver.expected, receiver.out_of_order), (10, 0));
    }
}
