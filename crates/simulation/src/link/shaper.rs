//! A token bucket that empties a queue, as Linux' tbf and htb do (Linux 6.6, net/sched/sch_tbf.c,
//! `tbf_dequeue`; net/sched/sch_htb.c, `htb_class_mode` and `htb_charge_class`, for one class):
//! packets leave one after the other at the line's rate, each when there are tokens.
//!
//! htb keeps no more than a minute of debt, and gets no more than a minute's tokens at once
//! (`mbuffer`): a packet or a burst of more than a minute is bounded there and not here.

use forebay_scenario::{Shaper as ShaperSpec, ShaperKind};
use forebay_units::{Bytes, Time, Work};

use crate::link::service_curve::{Bucket, ServiceCurve};
use crate::link::token_bucket::TokenBucket;
use crate::link::transmitter::{Transmitter, Usage};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    kind: ShaperKind,
    line: Transmitter,
    tokens: Tokens,
    /// The packet that went last, where it may still wait for its tokens.
    going: Option<Going>,
    /// Data that could have been sent, if the line's rate changes.
    most: Option<ServiceCurve>,
    /// Debt that a bucket may have.
    lent: Bytes,
    /// The end of the run.
    end: Time,
    /// The packet of this turn.
    loaded: u32,
}

/// A packet goes into transmission at this time.
#[derive(Clone, Copy, Debug)]
struct Going {
    start: Time,
    wire: Bytes,
}

/// The buckets, and what was taken out of them.
#[derive(Clone, Debug)]
struct Tokens {
    committed: TokenBucket,
    peak: Option<TokenBucket>,
    taken: Work,
}

impl Tokens {
    fn buckets(&self) -> impl Iterator<Item = &TokenBucket> {
        std::iter::once(&self.committed).chain(&self.peak)
    }

    /// When both have tokens for `size` bytes.
    fn ready(&self, size: Bytes) -> Time {
        let times = self.buckets().map(|bucket| bucket.ready(size));
        times.max().unwrap_or_default()
    }

    /// Until when tokens have come.
    fn at(&self) -> Time {
        self.committed.at()
    }

    fn fill(&mut self, now: Time) {
        self.committed.fill(now);
        if let Some(peak) = &mut self.peak {
            peak.fill(now);
        }
    }

    fn take(&mut self, going: Going) {
        self.fill(going.start);
        self.committed.take(going.wire);
        if let Some(peak) = &mut self.peak {
            peak.take(going.wire);
        }
        self.taken = self.taken + Work::of(going.wire);
    }
}

impl Shaper {
    /// The shaper in front of this line, whose largest packet is this long with its framing, in a
    /// run until `end`.
    pub(crate) fn new(spec: ShaperSpec, line: Transmitter, largest: Bytes, end: Time) -> Self {
        let peak = |rate| TokenBucket::new(rate, spec.peak_burst.unwrap_or(largest));
        let lent = match spec.kind {
            ShaperKind::Tbf => Bytes::ZERO,
            ShaperKind::Htb => largest,
        };
        let mut shaper = Self {
            kind: spec.kind,
            lent,
            line,
            tokens: Tokens {
                committed: TokenBucket::new(spec.rate, spec.burst),
                peak: spec.peak.map(peak),
                taken: Work::ZERO,
            },
            going: None,
            most: None,
            end,
            loaded: 0,
        };
        // While a packet waits for the line that has its tokens, others are saved.
        shaper.most = shaper.backlogged(&shaper.tokens, (largest, lent), Time::ZERO);
        shaper
    }

    /// The line behind buckets as they are at a time, where its rate changes: with more `room`, and
    /// tokens that are `lent` besides.
    fn backlogged(
        &self,
        tokens: &Tokens,
        (room, lent): (Bytes, Bytes),
        at: Time,
    ) -> Option<ServiceCurve> {
        let bucket = |bucket: &TokenBucket| Bucket {
            rate: bucket.rate(),
            size: bucket.size() + Work::of(room + lent),
            tokens: bucket.level().0 + Work::of(lent),
        };
        let buckets = tokens.buckets().map(bucket).collect();
        Some(ServiceCurve::new(self.line.steps()?.clone(), buckets, at))
    }

    /// The transmitter of the packets.
    pub(crate) fn line(&self) -> &Transmitter {
        &self.line
    }

    /// See [`crate::link::scheduler::Scheduler::next`]: when the packet before has left, and
    /// nothing is owed.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let free = self.line.busy_until.max(now);
        if self.kind == ShaperKind::Tbf {
            return free;
        }
        self.settle();
        free.max(self.tokens.ready(Bytes::ZERO))
    }

    /// See [`crate::link::scheduler::Scheduler::ready`].
    pub(crate) fn ready(&mut self, now: Time, size: u32) -> Time {
        self.settle();
        match self.kind {
            ShaperKind::Tbf => now.max(self.tokens.ready(self.line.wire(size))),
            ShaperKind::Htb => now,
        }
    }

    /// See [`crate::link::scheduler::Scheduler::load`].
    pub(crate) fn load(&mut self, size: u32) -> bool {
        self.loaded = size;
        false
    }

    /// See [`crate::link::scheduler::Scheduler::serve`].
    pub(crate) fn serve(&mut self, now: Time, departures: &mut Vec<Time>) -> Time {
        let start = self.ready(now, self.loaded);
        let idle = !self.line.occupied(start);
        let departure = self.line.take(start, self.loaded, idle);
        self.going = Some(Going {
            start,
            wire: self.line.wire(self.loaded),
        });
        departures.push(departure);
        departure
    }

    /// When the packet that was taken in last goes into transmission.
    pub(crate) fn start(&self) -> Time {
        self.going.map_or(Time::ZERO, |going| going.start)
    }

    /// The packet that went last has taken its tokens.
    fn settle(&mut self) {
        if let Some(going) = self.going.take() {
            self.tokens.take(going);
            if let Some(most) = &mut self.most {
                most.advance(going.start.min(self.end));
            }
        }
    }

    /// Tokens as they are at `now`, and the work that is left of the packet in transmission.
    fn at(&self, now: Time) -> (Tokens, Work) {
        let mut tokens = self.tokens.clone();
        let waits = self.going.filter(|going| going.start > now);
        if let Some(going) = self.going
            && waits.is_none()
        {
            tokens.take(going);
        }
        tokens.fill(now);
        let left = if waits.is_some() {
            Work::ZERO
        } else {
            self.line.left(now)
        };
        (tokens, left)
    }

    /// The usage until `now`. A packet counts as its bits are on the line and its tokens have come,
    /// whichever is later, so that no bucket and no line ever gives more than it can. The data that
    /// could be sent is the smallest of two kinds of limits: the data that the line sends, and the
    /// tokens that each bucket gets and had saved.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        let (tokens, left) = self.at(now);
        if let Some(most) = &self.most {
            return self.usage_in_steps(now, most.clone(), (&tokens, left));
        }
        let owed = tokens.buckets().map(|bucket| bucket.level().1);
        let pending = owed.fold(left, Work::max);
        let mut limits = [(self.line.possible(now), Work::ZERO); 3];
        for (limit, bucket) in limits[1..].iter_mut().zip(tokens.buckets()) {
            let (saved, owed) = bucket.level();
            *limit = (bucket.all(now), saved + pending.saturating_sub(owed));
        }
        Usage::limited(now, tokens.taken.saturating_sub(pending), limits)
    }

    /// The same where the line's rate changes: a packet counts as its bits are on the line, and
    /// what could be sent is what would be where packets never lack, and what is saved more than
    /// there.
    fn usage_in_steps(
        &self,
        now: Time,
        mut most: ServiceCurve,
        (tokens, left): (&Tokens, Work),
    ) -> Usage {
        most.advance(now.min(self.end));
        let more = tokens.buckets().zip(most.tokens()).map(|(bucket, least)| {
            let (saved, owed) = bucket.level();
            (saved + left + Work::of(self.lent)).saturating_sub(owed + least)
        });
        let more = more.fold(Work::ZERO, Work::max);
        let line = (self.line.possible(now), Work::ZERO);
        let limits = [line, (most.sent(), more), (most.sent(), more)];
        Usage::limited(now, tokens.taken.saturating_sub(left), limits)
    }

    /// Time from `now` until `packets` packets of `bytes` bytes in all have left, after the one
    /// taken in, if the line takes no time for the last one's bits beyond its tokens.
    pub(crate) fn time_to_send(&self, now: Time, packets: u64, bytes: u64) -> Time {
        let by_line = self.line.time_to_empty(now, packets, bytes);
        if packets == 0 {
            return by_line;
        }
        let mut tokens = self.tokens.clone();
        if let Some(going) = self.going {
            tokens.take(going);
        }
        // Without debt at the beginning of the last packet, htb owes it afterwards.
        let paid = match self.kind {
            ShaperKind::Tbf => bytes,
            ShaperKind::Htb => bytes - bytes / packets,
        };
        tokens.fill(now);
        let wire = self.line.wire_of(packets, paid);
        if self.most.is_some() {
            let begin = self.line.busy_until.max(now);
            tokens.fill(begin.max(tokens.ready(Bytes::ZERO)));
            let lent = Bytes::new(bytes - paid);
            let all = self.backlogged(&tokens, (Bytes::ZERO, lent), tokens.at());
            let work = Work::of(self.line.wire_of(packets, bytes));
            return all.map_or(by_line, |all| all.reach(work).saturating_sub(now));
        }
        by_line.max(tokens.ready(wire).saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::scheduler::Scheduler;
    use crate::link::scheduler::testing::{Left, play};
    use forebay_discipline::Limit;
    use forebay_units::{Rate, RateSteps};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// 1 B/us of tokens, in front of a line of 10 B/us.
    const SPEC: ShaperSpec = ShaperSpec {
        rate: Rate::from_bits_per_second(8_000_000),
        burst: Bytes::new(3000),
        peak: None,
        peak_burst: None,
        kind: ShaperKind::Tbf,
    };
    const PEAK: ShaperSpec = ShaperSpec {
        peak: Some(Rate::from_bits_per_second(16_000_000)),
        ..SPEC
    };
    const LINE: Rate = Rate::from_bits_per_second(80_000_000);

    fn shaped(spec: ShaperSpec) -> Scheduler {
        behind(spec, Transmitter::new(LINE, 0))
    }

    fn behind(spec: ShaperSpec, line: Transmitter) -> Scheduler {
        let shaper = Shaper::new(spec, line, Bytes::new(1500), Time::MAX);
        Scheduler::Shaped(Box::new(shaper))
    }

    /// A line of these rates, each for this many microseconds, over and over.
    fn stepped(list: &[(u64, u64)]) -> Transmitter {
        let (mut end, mut steps) = (Time::ZERO, Vec::new());
        for &(micros, bits) in list {
            steps.push((end, Rate::from_bits_per_second(bits)));
            end += Time::from_micros(micros);
        }
        let steps = RateSteps::new(&steps, Some(end)).unwrap();
        Transmitter::in_steps(Rate::from_bits_per_second(1), 0, Arc::new(steps))
    }

    fn any_line() -> impl Strategy<Value = Transmitter> {
        let rates = vec![0, 1_000_003, 8_000_000, 80_000_000, 1_000_000_000];
        let step = (50u64..5000, prop::sample::select(rates));
        let steps = prop::collection::vec(step, 0..5).prop_map(|mut steps| {
            steps.push((700, 80_000_000));
            stepped(&steps)
        });
        prop_oneof![Just(Transmitter::new(LINE, 0)), steps]
    }

    fn micros(list: &[u64]) -> Vec<Left> {
        list.iter()
            .map(|at| Left::At(Time::from_micros(*at)))
            .collect()
    }

    #[test]
    fn packets_leave_as_a_table_says() {
        let htb = |spec| ShaperSpec {
            kind: ShaperKind::Htb,
            ..spec
        };
        // Six packets of 1500 B at once, which are 150 us on the line, and two of 500 B much later.
        let mut arrivals = vec![(Time::ZERO, 1500); 6];
        arrivals.extend([(Time::from_millis(20), 500); 2]);
        for (spec, departures) in [
            // Tokens for two; then a packet each 1500 us, from 1500 us on when 300 + 1200 have
            // come.
            (SPEC, [150, 300, 1650, 3150, 4650, 6150, 20_050, 20_100]),
            // The third one finds 300 tokens, which do, and owes 1200 until 1500 us.
            (htb(SPEC), [150, 300, 450, 1650, 3150, 4650, 20_050, 20_100]),
            // At the peak a packet each 750 us until the burst is used up: the third one has to
            // wait for the 1500 that have come by 1500 us.
            (PEAK, [150, 900, 1650, 3150, 4650, 6150, 20_050, 20_100]),
            // The second one finds 300 tokens of the peak and owes 1200 until 750 us; the third one
            // then finds 750 of the rate and none owed of the peak, and owes both until 1500 us.
            (htb(PEAK), [150, 300, 900, 1650, 3150, 4650, 20_050, 20_100]),
        ] {
            let found = play(shaped(spec), Limit::Packets(100), &arrivals);
            assert_eq!(found, micros(&departures), "{spec:?}");
        }
    }

    /// By hand, in front of 10 B/us for a millisecond, nothing for another, 0.5 B/us for two.
    #[test]
    fn packets_leave_as_the_line_can_and_tokens_allow() {
        let line = || stepped(&[(1000, 80_000_000), (1000, 0), (2000, 4_000_000)]);
        let mut arrivals = vec![(Time::ZERO, 1500); 4];
        arrivals.push((Time::from_millis(5), 1500));
        arrivals.push((Time::from_millis(5), 1500));
        // Two at once; the third has its tokens at 1500 us, in the outage, and 1000 of it are sent
        // by 4000 us, the rest of it then at 10 B/us; the fourth has had its tokens at 3000 us. By
        // 5 ms there are 1950 of those, in another outage: the fifth begins at 5000 us, is 500 B at
        // 7000 us, and is through at 8000 us and 50 more; 1500 for the sixth had come at 6050 us.
        let found = play(behind(SPEC, line()), Limit::Packets(100), &arrivals);
        assert_eq!(found, micros(&[150, 300, 4050, 4200, 8050, 8200]));
    }

    /// Before a rate changes for the first time it is constant, and so are departures.
    #[test]
    fn a_line_that_has_not_changed_yet_is_constant() {
        let day = 86_400_000_000;
        let arrivals: Vec<_> = (0..200)
            .map(|number| {
                (
                    Time::from_micros(number * 100 + number % 7),
                    100 + 7 * number as u32,
                )
            })
            .collect();
        for spec in [SPEC, PEAK] {
            for kind in [ShaperKind::Tbf, ShaperKind::Htb] {
                let spec = ShaperSpec { kind, ..spec };
                let line = stepped(&[(day, LINE.as_bits_per_second()), (1, 8)]);
                let found = play(behind(spec, line), Limit::Packets(20), &arrivals);
                let constant = play(shaped(spec), Limit::Packets(20), &arrivals);
                assert!(found.contains(&Left::Dropped), "{found:?}");
                assert_eq!(found, constant);
            }
        }
    }

    /// Waiting packets drain as the line and the tokens allow at each instant. The predicted time
    /// is right to within a packet at each step of the rate.
    #[test]
    fn what_waits_has_left_when_it_was_foretold() {
        for list in [
            &[(40_000, 80_000_000), (60_000, 4_000_000)][..],
            &[(5000, 80_000_000), (7000, 0), (9000, 6_000_000)],
        ] {
            for spec in [SPEC, PEAK] {
                for kind in [ShaperKind::Tbf, ShaperKind::Htb] {
                    let spec = ShaperSpec { kind, ..spec };
                    let mut shaper = Shaper::new(spec, stepped(list), Bytes::new(1500), Time::MAX);
                    let mut now = Time::ZERO;
                    for left in (0..100).rev() {
                        now = shaper.next(now);
                        shaper.load(1500);
                        now = shaper.serve(now, &mut Vec::new());
                        let mut ahead = shaper.clone();
                        let told = now + ahead.time_to_send(now, left, 1500 * left);
                        let mut at = now;
                        for _ in 0..left {
                            at = ahead.next(at);
                            ahead.load(1500);
                            at = ahead.serve(at, &mut Vec::new());
                        }
                        // Tokens that are saved while a packet is on the line; and up to a packet
                        // less in each of ten periods, for which there is another one.
                        assert!(
                            told <= at + Time::from_millis(3),
                            "{kind:?} {left}: {told} {at}"
                        );
                        assert!(
                            at <= told + Time::from_millis(25),
                            "{kind:?} {left}: {told} {at}"
                        );
                    }
                }
            }
        }
    }

    /// A packet that waits for tokens counts: of four packets at once two leave, in a burst, and
    /// one may wait.
    #[test]
    fn a_packet_that_waits_for_tokens_takes_room() {
        let arrivals = [
            (0, 1500),
            (151, 1500),
            (302, 1500),
            (303, 1500),
            (1501, 1500),
        ];
        let arrivals = arrivals.map(|(at, size)| (Time::from_micros(at), size));
        let found = play(shaped(SPEC), Limit::Packets(1), &arrivals);
        let mut expected = micros(&[150, 301, 1650, 0, 3150]);
        expected[3] = Left::Dropped;
        assert_eq!(found, expected);
    }

    fn ticks(time: Time) -> i128 {
        i128::from(time.as_picos())
    }

    /// The first whole tick at which every interval that ends with this packet has at most rate x t
    /// + burst.
    fn earliest(starts: &[(Time, u64)], size: u64, (rate, burst): (u64, u64)) -> i128 {
        let rate = i128::from(rate);
        let (mut sum, mut at) = (i128::from(size), 0);
        for &(start, size) in starts.iter().rev() {
            sum += i128::from(size);
            let missing = (sum - i128::from(burst)) * 8_000_000_000_000;
            at = at.max(ticks(start) + (missing + rate - 1).div_euclid(rate));
        }
        at
    }

    proptest! {
        /// Whatever comes, a packet starts at the first tick at which it has come, the line is free
        /// and no interval gets more than rate x t + burst at either bucket; htb's last packet of
        /// an interval may be any, as its tokens come later.
        #[test]
        fn every_interval_has_at_most_rate_times_time_and_burst(
            packets in prop::collection::vec((0u64..4_000_000_000, 64u32..1500), 1..60),
            rate in prop::sample::select(vec![8_000_000u64, 9_999_991, 300_000_000]),
            (peak, more) in (any::<bool>(), 0u64..50_000_000),
            (burst, peak_burst) in (1500u64..9000, 1500u64..4000),
            kind in prop::sample::select(vec![ShaperKind::Tbf, ShaperKind::Htb]),
            mut line in any_line(),
        ) {
            let spec = ShaperSpec {
                rate: Rate::from_bits_per_second(rate),
                burst: Bytes::new(burst),
                peak: peak.then_some(Rate::from_bits_per_second(rate + more)),
                peak_burst: peak.then_some(Bytes::new(peak_burst)),
                kind,
            };
            let mut now = Time::ZERO;
            let arrivals: Vec<(Time, u32)> = packets.iter().map(|&(gap, size)| {
                now += Time::from_picos(gap);
                (now, size)
            }).collect();
            let found = play(behind(spec, line.clone()), Limit::Packets(1000), &arrivals);
            let mut starts: Vec<(Time, u64)> = Vec::new();
            for (&(arrival, size), left) in arrivals.iter().zip(found) {
                let needed = if kind == ShaperKind::Tbf { u64::from(size) } else { 0 };
                let mut start = ticks(arrival).max(ticks(line.busy_until));
                start = start.max(earliest(&starts, needed, (rate, burst)));
                if peak {
                    start = start.max(earliest(&starts, needed, (rate + more, peak_burst)));
                }
                let start = Time::from_picos(start as u64);
                let idle = !line.occupied(start);
                prop_assert_eq!(left, Left::At(line.take(start, size, idle)));
                starts.push((start, u64::from(size)));
            }
        }

        /// The usage of a line and its buckets is at most their capacity in any interval. While
        /// packets wait it is all of the capacity, except for tokens that are saved for the next
        /// packet.
        #[test]
        fn no_more_is_used_than_could_be_sent(
            packets in prop::collection::vec((0u64..9_000_000_000, 64u32..1500), 1..40),
            looks in prop::collection::vec(0u64..30_000_000_000, 2..10),
            spec in prop::sample::select(vec![SPEC, PEAK, ShaperSpec { kind: ShaperKind::Htb, ..SPEC }, ShaperSpec { kind: ShaperKind::Htb, ..PEAK }]),
            line in any_line(),
        ) {
            let mut shaper = Shaper::new(spec, line, Bytes::new(1500), Time::MAX);
            let mut looks: Vec<Time> = looks.into_iter().map(Time::from_picos).collect();
            looks.sort_unstable();
            let mut looks = looks.into_iter().peekable();
            let mut usages = Vec::new();
            let mut now = Time::ZERO;
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                let turn = shaper.next(now);
                now = turn;
                while let Some(look) = looks.next_if(|look| *look < now) {
                    usages.push(shaper.usage(look));
                }
                shaper.load(size);
                now = shaper.serve(now, &mut Vec::new());
            }
            usages.extend(looks.map(|look| shaper.usage(look)));
            for (at, before) in usages.iter().enumerate() {
                for after in &usages[at..] {
                    let used = after.since(before);
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&used), "{}", used);
                }
            }
        }
    }

    /// While packets wait, all is used: two long enough stretches of a link that is never idle.
    #[test]
    fn a_link_that_is_never_idle_is_used_as_far_as_can_be() {
        for spec in [SPEC, PEAK] {
            for kind in [ShaperKind::Tbf, ShaperKind::Htb] {
                // For the last line, the smaller one of the average limits of line and tokens would
                // be 1 B/us. The link cannot send that much.
                for line in [
                    Transmitter::new(LINE, 0),
                    stepped(&[(40_000, 80_000_000), (60_000, 4_000_000)]),
                    stepped(&[(20_000, 80_000_000), (60_000, 0)]),
                ] {
                    let spec = ShaperSpec { kind, ..spec };
                    let mut shaper = Shaper::new(spec, line, Bytes::new(1500), Time::MAX);
                    let (mut now, mut usages) = (Time::ZERO, vec![shaper.usage(Time::ZERO)]);
                    for number in 0..400 {
                        now = shaper.next(now);
                        if number % 100 == 99 {
                            usages.push(shaper.usage(now));
                        }
                        shaper.load(1500);
                        now = shaper.serve(now, &mut Vec::new());
                    }
                    for pair in usages.windows(2) {
                        let used = pair[1].since(&pair[0]);
                        // The margin is the tokens saved for the next packet, of 100, and one at
                        // each of a few steps.
                        assert!((0.95..=1.0).contains(&used), "{kind:?} {used}");
                    }
                }
            }
        }
    }
}
