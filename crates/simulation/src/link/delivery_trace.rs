//! A link that sends at opportunities, as Mahimahi's link emulation does (Netravali et al., USENIX
//! ATC 2015; `LinkQueue::rationalize` in its `src/frontend/link_queue.cc`): each carries up to
//! 1,504 bytes of what arrived before it, a packet that does not fit goes on at the next one, and
//! what is left of one when nothing waits is lost.

use std::sync::Arc;

use forebay_units::{Bytes, Opportunities, Time, Work};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryTrace {
    opportunities: Arc<Opportunities>,
    /// The opportunity that is to be used next, counted from the beginning, and the bytes it still
    /// carries.
    current: u64,
    left: u64,
    /// Bytes of each packet that was taken in at this turn, of them together, and of all packets so
    /// far.
    loaded: Vec<u64>,
    together: u64,
    taken: u64,
}

const WHOLE: u64 = Opportunities::BYTES as u64;

/// The queue is asked so long before an opportunity: what arrives at that very instant misses it.
const BEFORE: Time = Time::from_picos(1);

impl DeliveryTrace {
    pub(crate) fn new(opportunities: Arc<Opportunities>) -> Self {
        Self {
            opportunities,
            current: 0,
            left: WHOLE,
            loaded: Vec::new(),
            together: 0,
            taken: 0,
        }
    }

    /// See [`crate::link::scheduler::Scheduler::next`].
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let first = self.opportunities.until(now);
        if self.current < first {
            (self.current, self.left) = (first, WHOLE);
        }
        self.opportunities.time(self.current) - BEFORE
    }

    /// A packet is taken in; another may be as long as the opportunity is not used up.
    pub(crate) fn load(&mut self, size: u32) -> bool {
        let size = u64::from(size) + u64::from(Opportunities::HEADER);
        self.loaded.push(size);
        self.together += size;
        self.taken += size;
        self.together < self.left
    }

    /// See [`crate::link::scheduler::Scheduler::serve`].
    pub(crate) fn serve(&mut self, departures: &mut Vec<Time>) -> Time {
        self.together = 0;
        for size in self.loaded.drain(..) {
            // All but the last packet fit.
            let over = size.saturating_sub(self.left);
            let more = over.div_ceil(WHOLE);
            self.current += more;
            self.left = self.left + more * WHOLE - size;
            departures.push(self.opportunities.time(self.current));
            if self.left == 0 {
                (self.current, self.left) = (self.current + 1, WHOLE);
            }
        }
        self.opportunities.time(self.current) - BEFORE
    }

    /// The data sent until `now`, and the data that could have been sent.
    pub(crate) fn sent(&self, now: Time) -> (Work, Work) {
        let possible = self.opportunities.until(now);
        let carried = possible.saturating_mul(WHOLE);
        let sent = self.taken - self.to_come(possible);
        (Work::of(Bytes::new(sent)), Work::of(Bytes::new(carried)))
    }

    /// Bytes of packets that were taken in and that opportunities from number `first` on carry.
    fn to_come(&self, first: u64) -> u64 {
        match self.current.checked_sub(first) {
            Some(more) => (more + 1) * WHOLE - self.left,
            None => 0,
        }
    }

    /// See [`crate::link::scheduler::Scheduler::time_to_send`].
    pub(crate) fn time_to_send(&self, now: Time, packets: u64, bytes: u64) -> Time {
        let first = self.opportunities.until(now);
        let headers = packets.saturating_mul(u64::from(Opportunities::HEADER));
        let bytes = self
            .to_come(first)
            .saturating_add(bytes.saturating_add(headers));
        match bytes.div_ceil(WHOLE).checked_sub(1) {
            Some(more) => self.opportunities.time(first.saturating_add(more)) - now,
            None => Time::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::scheduler::Scheduler;
    use crate::link::scheduler::testing::{Left, play};
    use forebay_discipline::Limit;
    use proptest::prelude::*;

    fn at(text: &str) -> Scheduler {
        Scheduler::DeliveryTrace(DeliveryTrace::new(Arc::new(text.parse().unwrap())))
    }

    fn micros(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// Opportunity by opportunity, by hand, as mm-link(1) and `rationalize` have it.
    #[test]
    fn packets_leave_as_a_table_says() {
        // Opportunities at 1, 1, 3, 7; 8, 8, 10, 14; ... ms. IP packets of 1,500 bytes fill one
        // each.
        let full = |list: &[u64]| {
            list.iter()
                .map(|&at| (micros(at), 1500))
                .collect::<Vec<_>>()
        };
        let arrivals = full(&[0, 200, 400, 1000, 3001, 7000, 7100]);
        let found = play(at("1 1 3 7"), Limit::Packets(100), &arrivals);
        let departures = [1, 1, 3, 7, 8, 8, 10].map(|at| Left::At(Time::from_millis(at)));
        assert_eq!(found, departures);

        // A packet that arrives at the very instant of an opportunity misses it, and an opportunity
        // that finds no packet is lost.
        let found = play(at("1 2"), Limit::Packets(100), &full(&[1000, 2000, 4500]));
        assert_eq!(found, [2, 3, 5].map(|at| Left::At(Time::from_millis(at))));

        // 496 bytes and the tunnel's 4 are a third of an opportunity, with 4 bytes of it to spare:
        // what waits before it shares it, and a large packet goes on at the next ones.
        let arrivals = [496, 496, 496, 496, 2500, 96].map(|size| (micros(100), size));
        let found = play(at("1 2 3 4 5 9"), Limit::Packets(100), &arrivals);
        // 1504 - 1500 = 4 of the fourth at 1 ms, 496 at 2 ms; 2504 = 1008 at 2 ms and 1496 at 3 ms;
        // 8 of the last at 3 ms and 92 at 4 ms.
        let departures = [1, 1, 1, 2, 3, 4].map(|at| Left::At(Time::from_millis(at)));
        assert_eq!(found, departures);
    }

    /// Waiting packets are those that no opportunity has touched.
    #[test]
    fn a_packet_that_is_sent_in_part_waits_no_longer() {
        let arrivals = [(0, 3000), (100, 1000), (1100, 1000), (1200, 1000)];
        let arrivals = arrivals.map(|(at, size)| (micros(at), size));
        let found = play(at("1 2 3"), Limit::Packets(2), &arrivals);
        let departures = [2, 3, 4].map(|at| Left::At(Time::from_millis(at)));
        assert_eq!(found[..3], departures);
        // At 1.2 ms the first is on its way and two wait.
        assert_eq!(found[3], Left::Dropped);
    }

    /// Mahimahi's own loop, a second time: for each opportunity up to `now`, bytes of packets.
    fn by_the_book(millis: &[u64], limit: usize, arrivals: &[(Time, u32)]) -> Vec<Left> {
        let period = millis[millis.len() - 1];
        let mut left = vec![Left::Dropped; arrivals.len()];
        let mut queue: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
        let (mut next, mut base, mut transit) = (0, 0, None::<(usize, u32)>);
        let mut rationalize = |now: Time, queue: &mut std::collections::VecDeque<usize>| {
            while Time::from_millis(base + millis[next]) <= now {
                let this = Time::from_millis(base + millis[next]);
                next += 1;
                if next == millis.len() {
                    (next, base) = (0, base + period);
                }
                let mut budget = 1504;
                while budget > 0 {
                    let Some((packet, bytes)) = transit.take().or_else(|| {
                        let packet = queue.pop_front()?;
                        Some((packet, arrivals[packet].1 + 4))
                    }) else {
                        break;
                    };
                    let amount = bytes.min(budget);
                    budget -= amount;
                    if bytes == amount {
                        left[packet] = Left::At(this);
                    } else {
                        transit = Some((packet, bytes - amount));
                    }
                }
            }
        };
        for (number, &(now, _)) in arrivals.iter().enumerate() {
            rationalize(now, &mut queue);
            if queue.len() < limit {
                queue.push_back(number);
            }
        }
        rationalize(Time::from_secs(1000), &mut queue);
        left
    }

    /// Bytes of a packet: often what fills one opportunity, half of one or two.
    fn any_size() -> impl Strategy<Value = u32> {
        prop_oneof![1u32..4000, prop::sample::select(vec![1500, 748, 3004])]
    }

    proptest! {
        /// Whatever comes whenever leaves as Mahimahi's loop says.
        #[test]
        fn departures_are_those_of_mahimahis_loop(
            mut millis in prop::collection::vec(0u64..30, 1..20),
            last in 1u64..40,
            packets in prop::collection::vec((0u64..4000, any_size()), 1..60),
            limit in 1u64..8,
        ) {
            millis.push(last + 30);
            millis.sort_unstable();
            let mut now = Time::ZERO;
            let arrivals: Vec<_> = packets.into_iter().map(|(gap, size)| {
                now += micros(gap);
                (now, size)
            }).collect();
            let text: Vec<String> = millis.iter().map(u64::to_string).collect();
            let found = play(at(&text.join(" ")), Limit::Packets(limit), &arrivals);
            prop_assert_eq!(found, by_the_book(&millis, limit as usize, &arrivals));
        }

        /// At any time, the data sent equals the packets' share of the opportunities so far. In the
        /// end all data is sent.
        #[test]
        fn bytes_are_counted_when_they_leave(
            sizes in prop::collection::vec(any_size(), 1..20),
            now in 0u64..60_000,
        ) {
            let mut turns = DeliveryTrace::new(Arc::new("1 1 4 9".parse().unwrap()));
            let mut free = turns.next(Time::ZERO);
            let mut departures = Vec::new();
            for &size in &sizes {
                let alone = turns.time_to_send(Time::ZERO, 1, u64::from(size));
                turns.load(size);
                free = turns.serve(&mut departures);
                turns.next(free);
                prop_assert_eq!(alone, departures[departures.len() - 1]);
            }
            let (now, all) = (micros(now), sizes.iter().map(|size| u64::from(size + 4)).sum::<u64>());
            let (sent, possible) = turns.sent(now);
            let bytes = all.min(turns.opportunities.until(now) * 1504);
            prop_assert_eq!(sent, Work::of(Bytes::new(bytes)));
            prop_assert_eq!(possible, Work::of(Bytes::new(turns.opportunities.until(now) * 1504)));
            let last = departures[departures.len() - 1];
            prop_assert_eq!(now.max(last), now + turns.time_to_send(now, 0, 0));
            prop_assert!(free >= last - BEFORE);
        }
    }
}
