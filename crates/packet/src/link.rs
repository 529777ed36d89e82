//! A constant-rate first-in-first-out link: when a packet arrives its departure is known, so the
//! link needs no event of its own and its backlog is a number, the time until which it is busy.

use std::collections::VecDeque;

use forebay_scenario::BufferLimit;
use forebay_units::{Bytes, Rate, Time};

use crate::statistics::LinkStatistics;

/// How the limit on what waits is checked.
#[derive(Clone, Debug)]
enum Room {
    /// All packets take the same whole number of ticks: a packet has room as long as the work
    /// ahead of it is at most the limit's.
    Uniform { transmission: Time, most_work: Time },
    /// A record of each packet in the system: its departure and size.
    Counted {
        departures: VecDeque<(Time, u32)>,
        bytes_waiting: u64,
        limit: BufferLimit,
    },
}

/// A link with its queue.
#[derive(Clone, Debug)]
pub(crate) struct FifoLink {
    rate: Rate,
    /// Bytes that the link adds to each packet (framing, where the rate counts it).
    overhead: u32,
    /// Transmission time and remainder of the size asked for last.
    cached: (u32, Time, u64),
    busy_until: Time,
    /// Time left over from rounding departures down, in ticks / rate.
    remainder: u64,
    /// Transmission time of everything accepted.
    work: Time,
    room: Room,
    pub(crate) statistics: LinkStatistics,
}

impl FifoLink {
    /// A link for packets of any size, or of the one size `uniform`.
    pub(crate) fn new(rate: Rate, overhead: u32, limit: BufferLimit, uniform: Option<u32>) -> Self {
        let transmission = |size: u32| rate.serialization(Bytes::new(u64::from(size + overhead)));
        let room = match (limit, uniform.map(transmission)) {
            (BufferLimit::Packets(count), Some((transmission, 0))) => Room::Uniform {
                transmission,
                most_work: transmission.saturating_mul(count),
            },
            _ => Room::Counted {
                departures: VecDeque::new(),
                bytes_waiting: 0,
                limit,
            },
        };
        Self {
            rate,
            overhead,
            cached: (0, Time::ZERO, 0),
            busy_until: Time::ZERO,
            remainder: 0,
            work: Time::ZERO,
            room,
            statistics: LinkStatistics::new(),
        }
    }

    /// A packet of `size` bytes arrives: its departure, or `None` where it is dropped.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, size: u32) -> Option<Time> {
        self.statistics.arrivals += 1;
        let ahead = self.busy_until.saturating_sub(now);
        match &self.room {
            Room::Uniform {
                transmission,
                most_work,
            } => {
                if ahead > *most_work {
                    self.statistics.drops += 1;
                    return None;
                }
                let transmission = *transmission;
                self.busy_until = now + ahead + transmission;
                self.work += transmission;
            }
            Room::Counted { .. } => {
                if !self.count(now, size) {
                    self.statistics.drops += 1;
                    return None;
                }
            }
        }
        self.statistics.accepted(ahead);
        Some(self.busy_until)
    }

    /// Takes a packet in where there is room, keeping the record of departures.
    fn count(&mut self, now: Time, size: u32) -> bool {
        let Room::Counted {
            departures,
            bytes_waiting,
            limit,
        } = &mut self.room
        else {
            return false;
        };
        while departures
            .front()
            .is_some_and(|(departure, _)| *departure <= now)
        {
            departures.pop_front();
            // The next one moves from waiting into transmission.
            *bytes_waiting -= departures.front().map_or(0, |(_, size)| u64::from(*size));
        }
        let room = match limit {
            _ if departures.is_empty() => true,
            BufferLimit::Packets(count) => departures.len() as u64 <= *count,
            BufferLimit::Bytes(bytes) => *bytes_waiting + u64::from(size) <= bytes.get(),
        };
        if !room {
            return false;
        }
        if !departures.is_empty() {
            *bytes_waiting += u64::from(size);
        }
        if self.cached.0 != size {
            let bytes = Bytes::new(u64::from(size + self.overhead));
            let (transmission, rest) = self.rate.serialization(bytes);
            self.cached = (size, transmission, rest);
        }
        let (_, mut transmission, rest) = self.cached;
        let idle = self.busy_until <= now;
        self.remainder = if idle { rest } else { self.remainder + rest };
        if self.remainder >= self.rate.as_bits_per_second() {
            self.remainder -= self.rate.as_bits_per_second();
            transmission += Time::from_picos(1);
        }
        self.busy_until = self.busy_until.max(now) + transmission;
        self.work += transmission;
        departures.push_back((self.busy_until, size));
        true
    }

    /// Time spent transmitting until `now`.
    pub(crate) fn busy(&self, now: Time) -> Time {
        self.work - self.busy_until.saturating_sub(now)
    }

    /// Time until everything here has left.
    pub(crate) fn backlog(&self, now: Time) -> Time {
        self.busy_until.saturating_sub(now)
    }

    /// Number of packets waiting, without the one in transmission, and the sum in ticks of the
    /// waits still ahead of them.
    pub(crate) fn waiting(&self, now: Time) -> (u64, u128) {
        match &self.room {
            Room::Uniform { transmission, .. } => {
                let ahead = u128::from(self.backlog(now).as_picos());
                let each = u128::from(transmission.as_picos()).max(1);
                let count = ahead.div_ceil(each).saturating_sub(1);
                // Service starts at ahead - each, ahead - 2 each, ... from now.
                (
                    count as u64,
                    count * ahead - each * (count * (count + 1) / 2),
                )
            }
            Room::Counted { departures, .. } => {
                let mut ahead = departures.iter().filter(|(departure, _)| *departure > now);
                let (mut count, mut sum) = (0, 0u128);
                let mut starts = ahead.next().map(|(departure, _)| *departure);
                for (departure, _) in ahead {
                    let start = starts.replace(*departure).unwrap_or(now);
                    count += 1;
                    sum += u128::from((start - now).as_picos());
                }
                (count, sum)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(limit: BufferLimit, uniform: Option<u32>) -> FifoLink {
        FifoLink::new(Rate::from_bits_per_second(8_000_000), 0, limit, uniform)
    }

    #[test]
    fn the_limit_counts_what_waits_and_not_the_packet_in_transmission() {
        for uniform in [None, Some(1000)] {
            let mut link = link(BufferLimit::Packets(2), uniform);
            let fates: Vec<bool> = (0..5)
                .map(|_| link.arrive(Time::ZERO, 1000).is_some())
                .collect();
            assert_eq!(fates, [true, true, true, false, false]);
            assert_eq!(link.waiting(Time::ZERO).0, 2);
            // After exactly one transmission (1 ms) there is room for one more.
            assert!(link.arrive(Time::from_millis(1), 1000).is_some());
            assert!(link.arrive(Time::from_millis(1), 1000).is_none());
        }
    }

    #[test]
    fn a_buffer_of_nothing_takes_a_packet_only_when_idle() {
        for uniform in [None, Some(1000)] {
            let mut link = link(BufferLimit::Packets(0), uniform);
            assert!(link.arrive(Time::ZERO, 1000).is_some());
            assert!(link.arrive(Time::from_micros(999), 1000).is_none());
            assert!(link.arrive(Time::from_millis(1), 1000).is_some());
        }
    }

    #[test]
    fn a_byte_limit_counts_waiting_bytes() {
        let mut link = link(BufferLimit::Bytes(Bytes::new(1500)), None);
        assert!(link.arrive(Time::ZERO, 1500).is_some());
        assert!(link.arrive(Time::ZERO, 1000).is_some());
        assert!(link.arrive(Time::ZERO, 501).is_none());
        assert!(link.arrive(Time::ZERO, 500).is_some());
    }

    #[test]
    fn departures_carry_the_remainder_of_a_tick() {
        // 8 bits at 3 bit/s are 2.666... s: three of them end on a whole tick.
        let rate = Rate::from_bits_per_second(3);
        let mut link = FifoLink::new(rate, 0, BufferLimit::Packets(10), Some(1));
        let ends: Vec<Time> = (0..3).filter_map(|_| link.arrive(Time::ZERO, 1)).collect();
        assert_eq!(ends[2], Time::from_secs(8));
    }

    proptest! {
        /// Both ways of checking the limit give the same link.
        #[test]
        fn the_uniform_link_is_the_counted_link(
            gaps in prop::collection::vec(0u64..3_000, 1..300),
            limit in 0u64..20,
        ) {
            let limit = BufferLimit::Packets(limit);
            let (mut fast, mut slow) = (link(limit, Some(1000)), link(limit, None));
            let mut now = Time::ZERO;
            for gap in gaps {
                now += Time::from_micros(gap);
                prop_assert_eq!(fast.arrive(now, 1000), slow.arrive(now, 1000));
                prop_assert_eq!(fast.waiting(now), slow.waiting(now));
                prop_assert_eq!(fast.busy(now), slow.busy(now));
            }
            prop_assert_eq!(fast.statistics.drops, slow.statistics.drops);
            prop_assert_eq!(fast.statistics.wait_sum, slow.statistics.wait_sum);
        }

        /// A first-in-first-out link never reorders, whatever the sizes.
        #[test]
        fn departures_rise(
            packets in prop::collection::vec((0u64..2_000_000, 1u32..3000), 1..200),
            rate in 1_000u64..10_000_000_000,
        ) {
            let limit = BufferLimit::Bytes(Bytes::new(20_000));
            let mut link = FifoLink::new(Rate::from_bits_per_second(rate), 0, limit, None);
            let (mut now, mut last) = (Time::ZERO, Time::ZERO);
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                if let Some(departure) = link.arrive(now, size) {
                    prop_assert!(departure > last && departure > now);
                    last = departure;
                }
            }
        }
    }
}
