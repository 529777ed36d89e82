//! The first-in-first-out link: a packet's departure is known when it arrives, so such a link needs
//! no event of its own and its backlog is a number, the time until which it is busy.

use std::collections::VecDeque;

use forebay_discipline::{Arrival, Backlog, Limit};
use forebay_scenario::BufferLimit;
use forebay_units::{Time, Work};

use crate::link::statistics::{Account, LinkStatistics};
use crate::link::transmitter::{Transmitter, Usage};

/// A link with a first-in-first-out queue that drops arrivals at its limit.
#[derive(Clone, Debug)]
pub struct FifoLink {
    transmitter: Transmitter,
    room: Room,
    pub(crate) statistics: LinkStatistics,
}

impl FifoLink {
    /// A link for packets of any size, or of the one size `uniform`.
    pub(crate) fn new(
        mut transmitter: Transmitter,
        limit: BufferLimit,
        uniform: Option<u32>,
    ) -> Self {
        let room = Room::uniform(&transmitter, limit, uniform).unwrap_or(Room::Counted {
            departures: VecDeque::new(),
            bytes_waiting: 0,
            limit,
            overfull: false,
        });
        if let Room::Stepped { most_work, .. } = room {
            transmitter.hold(most_work);
        }
        Self {
            transmitter,
            room,
            statistics: LinkStatistics::new(),
        }
    }

    /// A packet of `size` bytes arrives: its departure, or `None` where it is dropped. Its wait
    /// goes to an account.
    #[expect(
        clippy::inline_always,
        reason = "a call costs each packet 30 of 340 instructions"
    )]
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time, size: u32, account: Account) -> Option<Time> {
        self.statistics.arrivals += 1;
        let ahead = self.transmitter.busy_until.saturating_sub(now);
        match &self.room {
            Room::Uniform {
                transmission,
                most_work,
                ..
            } => {
                if ahead >= *most_work && self.transmitter.is_full(now, *most_work) {
                    self.statistics.dropped();
                    return None;
                }
                let transmission = *transmission;
                if self.transmitter.busy_until < now {
                    self.transmitter.busy_since = now;
                }
                self.transmitter.busy_until = now + ahead + transmission;
                self.transmitter.work += transmission;
            }
            Room::Stepped { .. } | Room::Counted { .. } => {
                if !self.take(now, size) {
                    self.statistics.dropped();
                    return None;
                }
            }
        }
        self.statistics.accepted(account, ahead);
        Some(self.transmitter.busy_until)
    }

    /// The part of the current transmission that is left when a packet is dropped, in parts of
    /// 65,536, at a constant rate.
    pub(crate) fn phase(&self, now: Time) -> Option<u16> {
        let (left, transmission) = match &self.room {
            Room::Uniform { transmission, .. } => {
                let ahead = self.transmitter.busy_until.saturating_sub(now);
                (
                    ahead.as_picos() % transmission.as_picos().max(1),
                    *transmission,
                )
            }
            Room::Counted { departures, .. } => {
                let (departure, size) = departures.front()?;
                let left = departure.saturating_sub(now);
                (left.as_picos(), self.transmitter.always(*size)?)
            }
            Room::Stepped { .. } => return None,
        };
        let part = (u128::from(left) << 16) / u128::from(transmission.as_picos().max(1));
        Some(part as u16)
    }

    /// Takes a packet in where there is room.
    #[cold]
    #[inline(never)]
    fn take(&mut self, now: Time, size: u32) -> bool {
        match self.room {
            Room::Stepped { .. } => self.step(now, size),
            _ => self.count(now, size),
        }
    }

    /// The same at a rate that changes.
    #[inline(never)]
    fn step(&mut self, now: Time, size: u32) -> bool {
        self.transmitter.follow(now) || self.step_over(now, size)
    }

    /// The same where it changes by then, or where the limit is near.
    #[inline(never)]
    fn step_over(&mut self, now: Time, size: u32) -> bool {
        let Room::Stepped { most_work, .. } = self.room else {
            return false;
        };
        let occupied = self.transmitter.occupied(now);
        if occupied && self.has_more(now, most_work) {
            return false;
        }
        self.transmitter.take_in_steps(now, size, !occupied);
        true
    }

    /// Whether more than this work's packets leave at `now` or later, while the link is occupied.
    #[inline]
    fn has_more(&self, now: Time, most_work: Work) -> bool {
        let since = self.transmitter.busy_since;
        let mut steps = self.transmitter.stepping().into_iter();
        steps.any(|steps| steps.has_more(since, now, most_work))
    }

    /// How many packets of `each` work leave at `now` or later.
    fn to_leave(&self, now: Time, each: Work) -> u64 {
        let since = self.transmitter.busy_since;
        let steps = self.transmitter.stepping();
        steps.map_or(0, |steps| steps.to_leave(since, now, each))
    }

    /// The same, keeping the record of departures.
    #[inline(never)]
    fn count(&mut self, now: Time, size: u32) -> bool {
        self.forget_departed(now);
        let Room::Counted {
            departures,
            bytes_waiting,
            limit,
            overfull,
        } = &mut self.room
        else {
            return false;
        };
        let room = match limit {
            _ if departures.is_empty() => true,
            BufferLimit::Packets(count) => departures.len() as u64 <= *count,
            BufferLimit::Bytes(bytes) => *bytes_waiting + u64::from(size) <= bytes.get(),
        };
        if !room {
            return false;
        }
        if departures.len() >= MAX_RECORDS {
            *overfull = true;
            return false;
        }
        if !departures.is_empty() {
            *bytes_waiting += u64::from(size);
        }
        let idle = !self.transmitter.occupied(now);
        let departure = self.transmitter.take(now, size, idle);
        departures.push_back((departure, size));
        true
    }

    #[inline]
    fn forget_departed(&mut self, now: Time) {
        if let Room::Counted {
            departures,
            bytes_waiting,
            ..
        } = &mut self.room
        {
            while departures
                .front()
                .is_some_and(|(departure, _)| *departure < now)
            {
                departures.pop_front();
                // The next one moves from waiting into transmission.
                *bytes_waiting -= departures.front().map_or(0, |(_, size)| u64::from(*size));
            }
        }
    }

    /// The state that an arrival of `size` bytes would find.
    pub(crate) fn found(&mut self, now: Time, size: u32) -> Arrival {
        self.forget_departed(now);
        let busy_until = self.transmitter.busy_until;
        let occupied = self.transmitter.occupied(now);
        let idle_since = (!occupied).then_some(busy_until);
        let ahead = busy_until.saturating_sub(now);
        let (backlog, room) = match &self.room {
            Room::Uniform {
                size,
                transmission,
                most_work,
            } => {
                let each = transmission.as_picos().max(1);
                // If a transmission ends at this very instant, its packet has no part in `ahead`.
                let sent = u64::from(occupied && self.transmitter.busy_since == now);
                let ends_now = ahead.as_picos().is_multiple_of(each);
                let sending = if ends_now { sent } else { 1 };
                let packets = ahead.as_picos().div_ceil(each) - sending;
                let bytes = packets * u64::from(*size);
                let full = ahead >= *most_work && self.transmitter.is_full(now, *most_work);
                (Backlog { packets, bytes }, !full)
            }
            Room::Stepped {
                size,
                each,
                most_work,
            } => {
                let packets = self.to_leave(now, *each).saturating_sub(1);
                let bytes = packets * u64::from(*size);
                let full = occupied && self.has_more(now, *most_work);
                (Backlog { packets, bytes }, !full)
            }
            Room::Counted {
                departures,
                bytes_waiting,
                limit,
                ..
            } => {
                let backlog = Backlog {
                    packets: (departures.len() as u64).saturating_sub(1),
                    bytes: *bytes_waiting,
                };
                let room = departures.is_empty() || limit_of(*limit).fits(backlog, size);
                (backlog, room)
            }
        };
        Arrival {
            backlog,
            idle_since,
            empty_since: idle_since,
            full: !room,
        }
    }

    /// Whether more packets wanted to wait than there may be records of: the run is void.
    pub(crate) fn overfull(&self) -> bool {
        matches!(self.room, Room::Counted { overfull: true, .. })
    }

    /// Whether there is a record of each packet.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self.room, Room::Counted { .. })
    }

    /// The transmitter of the packets.
    pub(crate) fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }

    /// The usage until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        self.transmitter.usage(now)
    }

    /// Time until everything here has left.
    pub(crate) fn backlog(&self, now: Time) -> Time {
        self.transmitter.busy_until.saturating_sub(now)
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
            Room::Stepped { each, .. } => {
                let left = self.to_leave(now + Time::from_picos(1), *each);
                let count = left.saturating_sub(1);
                let steps = self.transmitter.stepping().into_iter();
                let starts = steps.flat_map(|steps| steps.starts(*each, count));
                let waits = starts.map(|start| u128::from((start - now).as_picos()));
                (count, waits.sum())
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

    /// The number of packets waiting, in few steps.
    pub(crate) fn count_waiting(&mut self, now: Time) -> u64 {
        self.forget_departed(now);
        match &self.room {
            Room::Uniform { .. } => self.waiting(now).0,
            Room::Stepped { each, .. } => self.to_leave(now, *each).saturating_sub(1),
            Room::Counted { departures, .. } => (departures.len() as u64).saturating_sub(1),
        }
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        let (_, ahead) = self.waiting(now);
        let usage = self.usage(now);
        self.statistics.restart(now, usage);
        self.statistics.wait_before = ahead;
    }

    /// Little's law on the sample path: the time integral of the packets waiting is the sum of
    /// their waits, of which a part lies before and a part behind the measured time.
    pub(crate) fn occupancy(&self, end: Time) -> u128 {
        let (_, after) = self.waiting(end);
        (self.statistics.wait_sum() + self.statistics.wait_before).saturating_sub(after)
    }
}

/// How the limit on what waits is checked.
#[derive(Clone, Debug)]
enum Room {
    /// All packets take the same whole number of ticks: a packet has room as long as the work
    /// ahead of it is at most the limit's.
    Uniform {
        size: u32,
        transmission: Time,
        most_work: Time,
    },
    /// The same where the rate changes: all packets take the same work.
    Stepped {
        size: u32,
        each: Work,
        most_work: Work,
    },
    /// A record of each packet in the system: its departure and size.
    Counted {
        departures: VecDeque<(Time, u32)>,
        bytes_waiting: u64,
        limit: BufferLimit,
        /// Whether an arrival was dropped for want of memory and not of room.
        overfull: bool,
    },
}

impl Room {
    /// Without records: for packets of one size, so that a limit in bytes is one on their number.
    fn uniform(
        transmitter: &Transmitter,
        limit: BufferLimit,
        uniform: Option<u32>,
    ) -> Option<Self> {
        let size = uniform?;
        let count = match limit {
            BufferLimit::Packets(count) => count,
            BufferLimit::Bytes(bytes) => bytes.get() / u64::from(size.max(1)),
        };
        if let Some(steps) = transmitter.stepping() {
            let each = Work::of(transmitter.wire(size));
            return steps.takes_time(each).then_some(Self::Stepped {
                size,
                each,
                most_work: each.times(count),
            });
        }
        let transmission = transmitter.always(size)?;
        Some(Self::Uniform {
            size,
            transmission,
            most_work: transmission.saturating_mul(count),
        })
    }
}

/// The most records of waiting packets that a link keeps: 4 GB of 16 bytes each.
const MAX_RECORDS: usize = 1 << 28;

/// The limit as a discipline knows it.
pub(crate) fn limit_of(limit: BufferLimit) -> Limit {
    match limit {
        BufferLimit::Packets(count) => Limit::Packets(count),
        BufferLimit::Bytes(bytes) => Limit::Bytes(bytes.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Bytes, Rate, RateSteps};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn link(limit: BufferLimit, uniform: Option<u32>) -> FifoLink {
        at(Rate::from_bits_per_second(8_000_000), limit, uniform)
    }

    fn at(rate: Rate, limit: BufferLimit, uniform: Option<u32>) -> FifoLink {
        FifoLink::new(Transmitter::new(rate, 0), limit, uniform)
    }

    #[test]
    fn the_limit_counts_what_waits_and_not_the_packet_in_transmission() {
        for uniform in [None, Some(1000)] {
            let mut link = link(BufferLimit::Packets(2), uniform);
            let fates: Vec<bool> = (0..5)
                .map(|_| link.arrive(Time::ZERO, 1000, Account::ALL).is_some())
                .collect();
            assert_eq!(fates, [true, true, true, false, false]);
            assert_eq!(link.waiting(Time::ZERO).0, 2);
            // After one transmission (1 ms) there is room for one more, but not at its very end.
            assert!(
                link.arrive(Time::from_millis(1), 1000, Account::ALL)
                    .is_none()
            );
            assert!(
                link.arrive(Time::from_micros(1001), 1000, Account::ALL)
                    .is_some()
            );
            assert!(
                link.arrive(Time::from_micros(1001), 1000, Account::ALL)
                    .is_none()
            );
        }
    }

    #[test]
    fn a_buffer_of_nothing_takes_a_packet_only_when_idle() {
        for uniform in [None, Some(1000)] {
            let mut link = link(BufferLimit::Packets(0), uniform);
            assert!(link.arrive(Time::ZERO, 1000, Account::ALL).is_some());
            assert!(
                link.arrive(Time::from_millis(1), 1000, Account::ALL)
                    .is_none()
            );
            assert!(
                link.arrive(Time::from_micros(1001), 1000, Account::ALL)
                    .is_some()
            );
        }
    }

    #[test]
    fn a_byte_limit_counts_waiting_bytes() {
        let mut link = link(BufferLimit::Bytes(Bytes::new(1500)), None);
        assert!(link.arrive(Time::ZERO, 1500, Account::ALL).is_some());
        assert!(link.arrive(Time::ZERO, 1000, Account::ALL).is_some());
        assert!(link.arrive(Time::ZERO, 501, Account::ALL).is_none());
        assert!(link.arrive(Time::ZERO, 500, Account::ALL).is_some());
    }

    #[test]
    fn departures_carry_the_remainder_of_a_tick() {
        // 8 bits at 3 bit/s are 2.666... s: three of them end on a whole tick.
        let rate = Rate::from_bits_per_second(3);
        let mut link = at(rate, BufferLimit::Packets(10), Some(1));
        let ends: Vec<Time> = (0..3)
            .filter_map(|_| link.arrive(Time::ZERO, 1, Account::ALL))
            .collect();
        assert_eq!(ends[2], Time::from_secs(8));
    }

    proptest! {
        /// Both ways of checking the limit give the same link.
        #[test]
        fn the_uniform_link_is_the_counted_link(
            gaps in prop::collection::vec(0u64..3_000, 1..300),
            limit in 0u64..20,
            extra in prop_oneof![Just(None), (0u64..1000).prop_map(Some)],
        ) {
            let limit = extra.map_or(BufferLimit::Packets(limit), |extra| {
                BufferLimit::Bytes(Bytes::new(1000 * limit + extra))
            });
            let (mut fast, mut slow) = (link(limit, Some(1000)), link(limit, None));
            let mut now = Time::ZERO;
            for gap in gaps {
                now += Time::from_micros(gap);
                prop_assert_eq!(fast.arrive(now, 1000, Account::ALL), slow.arrive(now, 1000, Account::ALL));
                prop_assert_eq!(fast.waiting(now), slow.waiting(now));
                prop_assert_eq!(fast.usage(now), slow.usage(now));
            }
            prop_assert_eq!(fast.statistics.drops, slow.statistics.drops);
            prop_assert_eq!(fast.statistics.wait_sum(), slow.statistics.wait_sum());
        }

        /// So do they where the rate changes, with outages, and with arrivals as a packet leaves.
        #[test]
        fn the_stepped_link_is_the_counted_link(
            list in prop::collection::vec((1u64..9, prop::sample::select(vec![
                0, 8_000_000, 4_000_000, 9_999_991, 1_000_003
            ])), 1..6),
            repeats in any::<bool>(),
            tick in prop::sample::select(vec![500_000_000, 999_999_937]),
            gaps in prop::collection::vec(prop_oneof![0u64..30, Just(0)], 1..200),
            exact in any::<bool>(),
            limit in 0u64..12,
            extra in prop_oneof![Just(None), (0u64..1000).prop_map(Some)],
        ) {
            let limit = extra.map_or(BufferLimit::Packets(limit), |extra| {
                BufferLimit::Bytes(Bytes::new(1000 * limit + extra))
            });
            let mut end = Time::ZERO;
            let steps = list.iter().map(|&(ticks, bits)| {
                let begin = end;
                end += Time::from_picos(ticks * tick);
                (begin, Rate::from_bits_per_second(bits))
            });
            let steps: Vec<_> = steps.collect();
            let steps = RateSteps::new(&steps, repeats.then_some(end));
            let Ok(steps) = steps.map(Arc::new) else { return Ok(()) };
            let link = |uniform| {
                let rate = Rate::from_bits_per_second(1);
                let transmitter = Transmitter::in_steps(rate, 0, steps.clone());
                FifoLink::new(transmitter, limit, uniform)
            };
            let found = |link: &mut FifoLink, now| {
                let Arrival { backlog, idle_since, full, .. } = link.found(now, 1000);
                (backlog.packets, backlog.bytes, idle_since, full)
            };
            let (mut fast, mut slow) = (link(Some(1000)), link(None));
            prop_assert!(!fast.is_counted() && slow.is_counted());
            let (mut now, mut departures) = (Time::ZERO, VecDeque::new());
            for gap in gaps {
                now += Time::from_picos(gap * tick / 10);
                // At the very end of a transmission.
                while exact && departures.front().is_some_and(|first| *first < now) {
                    departures.pop_front();
                }
                now = departures.pop_front().filter(|_| exact).unwrap_or(now);
                prop_assert_eq!(found(&mut fast, now), found(&mut slow, now));
                let departure = fast.arrive(now, 1000, Account::ALL);
                prop_assert_eq!(departure, slow.arrive(now, 1000, Account::ALL));
                departures.extend(departure);
                prop_assert_eq!(fast.waiting(now), slow.waiting(now));
                prop_assert_eq!(fast.count_waiting(now), slow.count_waiting(now));
                prop_assert_eq!(fast.usage(now), slow.usage(now));
            }
            prop_assert_eq!(fast.statistics.drops, slow.statistics.drops);
            prop_assert_eq!(fast.statistics.wait_sum(), slow.statistics.wait_sum());
        }

        /// A first-in-first-out link never reorders, whatever the sizes.
        #[test]
        fn departures_rise(
            packets in prop::collection::vec((0u64..2_000_000, 1u32..3000), 1..200),
            rate in 1_000u64..10_000_000_000,
        ) {
            let limit = BufferLimit::Bytes(Bytes::new(20_000));
            let mut link = at(Rate::from_bits_per_second(rate), limit, None);
            let (mut now, mut last) = (Time::ZERO, Time::ZERO);
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                if let Some(departure) = link.arrive(now, size, Account::ALL) {
                    prop_assert!(departure > last && departure > now);
                    last = departure;
                }
            }
        }
    }
}
