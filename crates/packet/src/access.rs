//! What is before all links: the time that a flow's hosts take, and its own access link.

use forebay_random::Stream;
use forebay_scenario::FlowGroup;
use forebay_units::{Bytes, Rate, Time};

use crate::event::AccessWait;
use crate::ids::LaneId;

/// A flow's own access link: packets leave it one after the other.
#[derive(Clone, Debug)]
pub(crate) struct AccessLink {
    processing: Option<Box<Processing>>,
    /// None where only processing takes time.
    rate: Option<Rate>,
    busy_until: Time,
    /// Work that may wait; none for an unlimited queue.
    most_work: Option<Time>,
    /// Lane of what leaves it; none where its flow joined too late to have one.
    pub(crate) lane: Option<LaneId>,
}

impl AccessLink {
    /// That of a flow, where it has one or its hosts take time; `random` draws how much.
    pub(crate) fn new(group: &FlowGroup, wire: u32, random: Stream) -> Option<Self> {
        let access = group.access.as_ref();
        let processing = Processing::new(group.processing, random);
        let any = access.is_some() || processing.is_some();
        let most_work = access.and_then(|access| {
            let transmission = access.rate.time_to_send(Bytes::new(u64::from(wire)));
            let queue = access.queue?;
            Some(transmission.saturating_mul(queue))
        });
        any.then(|| Self {
            processing,
            rate: access.map(|access| access.rate),
            busy_until: Time::ZERO,
            most_work,
            lane: None,
        })
    }

    /// Whether its packets leave one after the other, so that no two leave at one instant.
    pub(crate) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// A packet of `size` bytes arrives: when it reaches the network and whether it waits before;
    /// `None` where the queue is full.
    pub(crate) fn enqueue(&mut self, now: Time, size: u32) -> Option<(Time, AccessWait)> {
        let processing = self.processing.as_mut();
        let now = processing.map_or(now, |processing| processing.release(now));
        let ahead = self.busy_until.saturating_sub(now);
        if self.most_work.is_some_and(|most| ahead > most) {
            return None;
        }
        let wait = if ahead == Time::ZERO {
            AccessWait::None
        } else {
            AccessWait::BehindOthers
        };
        let size = Bytes::new(u64::from(size));
        let transmission = self.rate.map_or(Time::ZERO, |rate| rate.time_to_send(size));
        self.busy_until = now + ahead + transmission;
        Some((self.busy_until, wait))
    }
}

/// The time that hosts take before what they send at once leaves (ns-2.35 tcp.cc: `overhead_` of
/// `send_much`).
#[derive(Clone, Debug)]
struct Processing {
    most: Time,
    random: Stream,
    /// When the last packets were handed over, and when they leave.
    since: Option<Time>,
    until: Time,
}

impl Processing {
    /// At most so long, where it takes any time.
    fn new(most: Time, random: Stream) -> Option<Box<Self>> {
        (most > Time::ZERO).then(|| {
            Box::new(Self {
                most,
                random,
                since: None,
                until: Time::ZERO,
            })
        })
    }

    /// When a packet leaves that is handed over now: with others of this instant, and not before
    /// earlier ones.
    fn release(&mut self, now: Time) -> Time {
        if self.since != Some(now) {
            let takes = Time::from_secs_f64(self.random.uniform() * self.most.as_secs_f64());
            self.since = Some(now);
            self.until = self.until.max(now.saturating_add(takes));
        }
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::{Purpose, Seed};

    /// Two packets of 1 ms may wait behind the one that is sent, and what is taken leaves in order.
    #[test]
    fn packets_leave_one_after_the_other_and_beyond_the_limit_not_at_all() {
        let mut access = AccessLink {
            processing: None,
            rate: Some(Rate::from_bits_per_second(8_000_000)),
            busy_until: Time::ZERO,
            most_work: Some(Time::from_millis(2)),
            lane: None,
        };
        let fates: Vec<_> = (0..5).map(|_| access.enqueue(Time::ZERO, 1000)).collect();
        let (alone, behind) = (AccessWait::None, AccessWait::BehindOthers);
        let taken = [(1, alone), (2, behind), (3, behind)];
        let taken = taken.map(|(ms, wait)| Some((Time::from_millis(ms), wait)));
        assert_eq!(fates[..3], taken);
        assert_eq!(fates[3..], [None, None]);
        assert!(access.enqueue(Time::from_millis(1), 1000).is_some());
        access.most_work = None;
        assert!((0..50).all(|_| access.enqueue(Time::ZERO, 1000).is_some()));
    }

    /// Packets of one instant leave together, none before an earlier one, and each within the
    /// longest time or with the one before; on average half of it goes by.
    #[test]
    fn processing_keeps_the_order_and_takes_half_its_longest_time() {
        let most = Time::from_micros(100);
        for gap_us in [20, 100, 1000] {
            let random = Stream::new(Seed::default(), 3, Purpose::Processing);
            let mut processing = Processing::new(most, random).unwrap();
            let (mut before, mut taken) = (Time::ZERO, 0.0);
            for k in 1..=10_000 {
                let now = Time::from_micros(gap_us * k);
                let leaves = processing.release(now);
                assert_eq!(processing.release(now), leaves);
                assert!(leaves >= before.max(now) && leaves <= now + most);
                taken += (leaves - now).as_secs_f64();
                before = leaves;
            }
            let mean = taken / 10_000.0 / most.as_secs_f64();
            // Where packets wait for the one before, more.
            let expected = if gap_us < 100 { 0.55..0.9 } else { 0.49..0.51 };
            assert!(expected.contains(&mean), "{gap_us} {mean}");
        }
        assert!(
            Processing::new(Time::ZERO, Stream::new(Seed::default(), 3, Purpose::Start)).is_none()
        );
    }
}
