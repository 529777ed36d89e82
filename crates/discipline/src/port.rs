//! The discipline's view of its link: the limit, the rate, the time and random numbers. The
//! discipline reports its discards and marks here.

use std::sync::Arc;

use forebay_random::Stream;
use forebay_units::parameter::Threshold;
use forebay_units::{Rate, RateSteps, Time};

use crate::packet::{Ecn, Packet};

/// A limit on the waiting packets. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

/// The packets that wait, without the one in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Adds a packet of `size` bytes.
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Removes a packet of `size` bytes.
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

    /// The part of the limit that `backlog` leaves free, in the limit's unit.
    #[inline]
    pub fn free(self, backlog: Backlog) -> f64 {
        let (Self::Packets(limit) | Self::Bytes(limit)) = self;
        (limit as f64 - self.level(backlog)).max(0.0)
    }

    /// `backlog` in the limit's unit, packets or bytes.
    #[inline]
    pub fn count(self, backlog: Backlog) -> u64 {
        match self {
            Self::Packets(_) => backlog.packets,
            Self::Bytes(_) => backlog.bytes,
        }
    }

    /// The same as a number with decimals.
    #[inline]
    pub fn level(self, backlog: Backlog) -> f64 {
        self.count(backlog) as f64
    }
}

/// The link that a discipline is created for.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The limit on the waiting packets.
    pub limit: Limit,
    /// The link's rate for packets as they are counted here; the average if the rate changes.
    pub rate: Rate,
    /// The steps of the rate, if it changes, for a discipline that measures it.
    pub steps: Option<Arc<RateSteps>>,
    /// One-way propagation delay of the link; zero if it is not known.
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
    /// The limit on the packets that wait at all ports together.
    pub limit: Limit,
    /// The packets that wait at all ports together.
    pub used: Backlog,
}

/// The state of one of several classes at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfClass {
    /// The time since which nothing of the class waits or is in transmission.
    pub empty_since: Option<Time>,
}

/// A link's port: the time, random numbers, and the packets that were discarded or marked.
#[derive(Clone, Debug)]
pub struct Port {
    /// The current time.
    pub now: Time,
    /// The time since which nothing is in transmission; `None` while a packet is. An arrival at an
    /// idle link is transmitted at once, so no limit on waiting packets applies to it.
    pub idle_since: Option<Time>,
    /// The memory that this port shares with others, as the arriving packet finds it.
    pub shared: Option<Shared>,
    /// The class whose queue the arriving packet joins, if there are classes.
    pub class: Option<OfClass>,
    /// Random stream of this link.
    pub random: Stream,
    /// Packets discarded in the last call; the engine takes them.
    pub discards: Vec<Packet>,
    /// Number of packets marked that arrived at `since` or later.
    pub marks: u64,
    /// The time from which packets are counted: the end of the warm-up.
    pub since: Time,
}

impl Port {
    /// Creates the port of an idle link at time zero.
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

    /// The time since which the queue that an arriving packet joins has had no packet; `None` while
    /// it has one.
    #[inline]
    pub fn empty_since(&self) -> Option<Time> {
        self.class
            .map_or(self.idle_since, |class| class.empty_since)
    }

    /// Discards the packet.
    #[inline]
    pub fn discard(&mut self, packet: Packet) {
        self.discards.push(packet);
    }

    /// Marks the packet if its sender is ECN-capable. Returns whether it is.
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
