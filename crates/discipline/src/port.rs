//! What a discipline knows of its link: the limit, the rate, the time, randomness, and where its
//! discards and marks are counted.

use std::sync::Arc;

use forebay_random::Stream;
use forebay_units::parameter::Threshold;
use forebay_units::{Rate, RateSteps, Time};

use crate::packet::{Ecn, Packet};

/// A limit on what waits. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

/// What waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    /// One packet more.
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// One packet less.
    #[inline]
    pub fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

impl Limit {
    /// Whether a packet of `size` bytes fits behind `backlog`.
    #[inline]
    pub fn fits(self, backlog: Backlog, size: u32) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(size) <= limit,
        }
    }

    /// Whether `backlog` is more than the limit.
    #[inline]
    pub fn exceeded(self, backlog: Backlog) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets > limit,
            Self::Bytes(limit) => backlog.bytes > limit,
        }
    }

    /// What is left of the limit behind `backlog`, in the limit's unit.
    #[inline]
    pub fn free(self, backlog: Backlog) -> f64 {
        let (Self::Packets(limit) | Self::Bytes(limit)) = self;
        (limit as f64 - self.level(backlog)).max(0.0)
    }

    /// `backlog` in the limit's unit, packets or bytes.
    #[inline]
    pub fn level(self, backlog: Backlog) -> f64 {
        match self {
            Self::Packets(_) => backlog.packets as f64,
            Self::Bytes(_) => backlog.bytes as f64,
        }
    }
}

/// The link on which a discipline is set up.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What may wait.
    pub limit: Limit,
    /// The link's rate for packets as they are counted here, as a discipline is told it: the average
    /// where it changes.
    pub rate: Rate,
    /// The same as time goes on, where it changes: for a discipline that measures it.
    pub steps: Option<Arc<RateSteps>>,
    /// One-way propagation of the link, zero where it is not known.
    pub delay: Time,
    /// Mean packet size in bytes, at least 1.
    pub packet: f64,
    /// Random bits for the discipline's hash, fixed for a run.
    pub salt: u64,
}

impl Setting {
    /// `threshold` in the limit's unit, packets or bytes.
    pub fn level(&self, threshold: Threshold) -> f64 {
        let bytes = match (threshold, self.limit) {
            (Threshold::Fraction(x), Limit::Packets(limit) | Limit::Bytes(limit)) => {
                return x * limit as f64;
            }
            (Threshold::Packets(count), Limit::Packets(_)) => return count,
            (Threshold::Packets(count), Limit::Bytes(_)) => return count * self.packet,
            (Threshold::Bytes(bytes), _) => bytes.get() as f64,
            (Threshold::Time(time), _) => time.as_secs_f64() * self.rate.as_bytes_per_second(),
        };
        match self.limit {
            Limit::Packets(_) => bytes / self.packet,
            Limit::Bytes(_) => bytes,
        }
    }

    /// Packets of the mean size per second.
    pub fn packets_per_second(&self) -> f64 {
        self.rate.as_bytes_per_second() / self.packet
    }
}

/// A memory that several ports share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// What may wait at all of them together.
    pub limit: Limit,
    /// What waits at all of them together.
    pub used: Backlog,
}

/// What one of several classes at a port knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfClass {
    /// Since when nothing of the class waits or is in transmission.
    pub empty_since: Option<Time>,
}

/// A link's port: the time, randomness, and what became of packets that did not wait to the end.
#[derive(Clone, Debug)]
pub struct Port {
    /// The time now.
    pub now: Time,
    /// Since when nothing is in transmission; none while something is. What arrives at an idle
    /// link is transmitted at once, so no limit on what waits holds it up.
    pub idle_since: Option<Time>,
    /// The memory that this port shares with others, as the arriving packet finds it.
    pub shared: Option<Shared>,
    /// The class whose queue the arriving packet joins, where there are classes.
    pub class: Option<OfClass>,
    /// Randomness of this link.
    pub random: Stream,
    /// Packets discarded in the last call, for the engine to take.
    pub discards: Vec<Packet>,
    /// Packets marked, of those that arrived at `since` or later.
    pub marks: u64,
    /// Since when packets are counted, the warm-up's end.
    pub since: Time,
}

impl Port {
    /// The port of an idle link at time zero.
    pub fn new(random: Stream) -> Self {
        Self {
            now: Time::ZERO,
            idle_since: Some(Time::ZERO),
            shared: None,
            class: None,
            random,
            discards: Vec::new(),
            marks: 0,
            since: Time::ZERO,
        }
    }

    /// Since when the queue that an arriving packet joins has had nothing to send.
    #[inline]
    pub fn empty_since(&self) -> Option<Time> {
        self.class
            .map_or(self.idle_since, |class| class.empty_since)
    }

    /// The packet goes no further.
    #[inline]
    pub fn discard(&mut self, packet: Packet) {
        self.discards.push(packet);
    }

    /// Marks the packet where its sender understands that; says whether it does.
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn() == Ecn::NotCapable {
            return false;
        }
        let counts = !packet.marked() && packet.arrival >= self.since;
        self.marks += u64::from(counts);
        packet.label = packet.label.with_mark();
        true
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::packet::testing::with_ecn;
    use forebay_random::{Purpose, Seed};

    /// A busy port with a fixed seed.
    pub(crate) fn port() -> Port {
        let mut port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
        port.idle_since = None;
        port
    }

    /// A link of 8 Mb/s: 1000 bytes take one millisecond.
    pub(crate) fn setting(limit: Limit) -> Setting {
        Setting {
            limit,
            rate: Rate::from_bits_per_second(8_000_000),
            steps: None,
            delay: Time::ZERO,
            packet: 1000.0,
            salt: 1,
        }
    }

    #[test]
    fn thresholds_resolve_in_the_limits_unit() {
        use forebay_units::Bytes;
        let packets = setting(Limit::Packets(200));
        let bytes = setting(Limit::Bytes(200_000));
        for (threshold, count) in [
            (Threshold::Fraction(0.4), 80.0),
            (Threshold::Packets(30.0), 30.0),
            (Threshold::Bytes(Bytes::new(5000)), 5.0),
            (Threshold::Time(Time::from_millis(7)), 7.0),
        ] {
            assert_eq!(packets.level(threshold), count);
            assert_eq!(bytes.level(threshold), count * 1000.0);
        }
    }

    #[test]
    fn only_capable_packets_are_marked_and_each_counts_once() {
        let mut port = port();
        assert!(!port.mark(&mut with_ecn(Ecn::NotCapable, 0)));
        let mut packet = with_ecn(Ecn::Classic, 0);
        assert!(port.mark(&mut packet) && port.mark(&mut packet));
        assert!(packet.marked());
        assert_eq!(port.marks, 1);
    }
}
