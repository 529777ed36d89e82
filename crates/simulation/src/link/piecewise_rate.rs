//! A transmitter that sends packets one after the other at a rate that changes with time. The
//! departure of a packet is known when its turn is: its transmission counts as work, and each rate
//! does a part of it.

use std::sync::Arc;

use forebay_units::{Bytes, Phase, Rate, RateSteps, Time, Work};

/// A transmitter whose rate is in steps.
#[derive(Clone, Debug)]
pub(crate) struct PiecewiseRate {
    steps: Arc<RateSteps>,
    /// The stretch at one rate in which the last packet taken began or ended.
    phase: Phase,
    /// Transmission time and remainder, at the rate of the phase, of the size asked for last.
    cached: (u32, Time, u64),
    /// Most work that may be ahead of a packet, if all packets have one size.
    most: Work,
    /// Time for `most` at the rate of the phase, rounded down; none if it is not known.
    room: Time,
    /// When the last packet taken has left, rounded down to a tick, and the rest of the tick's
    /// work.
    until: Time,
    rest: u64,
    /// Bytes of everything taken.
    taken: u64,
}

impl PiecewiseRate {
    pub(crate) fn new(steps: Arc<RateSteps>) -> Self {
        Self {
            phase: steps.phase(Time::ZERO),
            steps,
            cached: (0, Time::ZERO, 0),
            most: Work::ZERO,
            room: Time::ZERO,
            until: Time::ZERO,
            rest: 0,
            taken: 0,
        }
    }

    /// When a packet has left that is `wire` bytes long and goes at `start`, when the last one
    /// taken has left, or at any time where the link is `idle`.
    #[inline]
    pub(crate) fn take(&mut self, start: Time, wire: u32, idle: bool) -> Time {
        if idle {
            self.until = start;
            self.rest = 0;
        }
        if start >= self.phase.end {
            self.enter(start);
        }
        if self.cached.0 != wire {
            let (time, rest) = self.phase.rate.serialization(length(wire));
            self.cached = (wire, time, rest);
            self.room = self.most.whole_time_at(self.phase.rate);
        }
        self.taken += u64::from(wire);
        let (_, mut time, rest) = self.cached;
        let mut rest = self.rest + rest;
        if rest >= self.phase.rate.as_bits_per_second() {
            rest = rest.saturating_sub(self.phase.rate.as_bits_per_second());
            time += Time::from_picos(1);
        }
        let departure = start + time;
        if departure < self.phase.end {
            (self.until, self.rest) = (departure, rest);
        } else {
            self.straddle(wire);
        }
        self.until
    }

    /// Another rate than that of the packet before.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, at: Time) {
        self.phase = self.steps.phase(at);
        self.cached = (0, Time::ZERO, 0);
        self.room = Time::ZERO;
    }

    /// Has [`PiecewiseRate::follow`] take packets as long as `most` is not ahead of them: all are
    /// as large, and take a tick or more.
    pub(crate) fn hold(&mut self, most: Work) {
        self.most = most;
    }

    /// Takes a packet at `now` where that is quickly done: there is room, and all that is ahead of
    /// it and itself go at the rate of the one before. Says when it has left.
    #[inline]
    pub(crate) fn follow(&mut self, now: Time) -> Option<Time> {
        let (start, rest) = if self.until >= now {
            (self.until, self.rest)
        } else {
            (now, 0)
        };
        if now < self.phase.begin || start - now >= self.room {
            return None;
        }
        let (wire, time, more) = self.cached;
        let (mut departure, mut rest) = (start + time, rest + more);
        if rest >= self.phase.rate.as_bits_per_second() {
            rest -= self.phase.rate.as_bits_per_second();
            departure += Time::from_picos(1);
        }
        if departure >= self.phase.end {
            return None;
        }
        (self.until, self.rest) = (departure, rest);
        self.taken += u64::from(wire);
        Some(departure)
    }

    /// A packet that is not sent at one rate.
    #[cold]
    #[inline(never)]
    fn straddle(&mut self, wire: u32) {
        (self.until, self.rest) = self.steps.reach(self.end() + Work::of(length(wire)));
        self.enter(self.until);
    }

    /// The rate as time goes on.
    pub(crate) fn steps(&self) -> &Arc<RateSteps> {
        &self.steps
    }

    /// Whether `work` takes a tick at least, whatever the rate.
    pub(crate) fn takes_time(&self, work: Work) -> bool {
        work >= Work::at(self.steps.highest(), Time::from_picos(1))
    }

    /// The rate at a time.
    pub(crate) fn rate(&self, now: Time) -> Rate {
        self.steps.phase(now).rate
    }

    /// When the transmission of `bytes` began that ended at `departure`.
    pub(crate) fn start(&self, departure: Time, bytes: Bytes) -> Time {
        let before = self.steps.work(departure).saturating_sub(Work::of(bytes));
        self.steps.reach(before).0
    }

    /// Time to send `bytes` behind all that was taken.
    pub(crate) fn time_to_send(&self, now: Time, bytes: Bytes) -> Time {
        let begin = self.until.max(now);
        let (end, _) = self.steps.reach(self.steps.work(begin) + Work::of(bytes));
        end.saturating_sub(begin)
    }

    /// The work left of all that was taken.
    pub(crate) fn left(&self, now: Time) -> Work {
        self.end().saturating_sub(self.steps.work(now))
    }

    /// The work sent until `now`, and the work that could have been sent.
    pub(crate) fn sent(&self, now: Time) -> (Work, Work) {
        let taken = Work::of(Bytes::new(self.taken));
        (taken.saturating_sub(self.left(now)), self.steps.work(now))
    }

    /// All that can be sent until the last packet taken has left.
    fn end(&self) -> Work {
        self.steps.work(self.until) + Work::rest(self.rest)
    }

    /// The work left at `now`, while it is busy.
    #[inline]
    fn ahead(&self, now: Time) -> Work {
        if now >= self.phase.begin && now <= self.until {
            return Work::at(self.phase.rate, self.until - now) + Work::rest(self.rest);
        }
        self.left(now)
    }

    /// Whether of packets that are all as large, sent one behind the other from `since` on, more
    /// are to leave at `now` or later than `most` work's. It is busy.
    #[inline]
    pub(crate) fn has_more(&self, since: Time, now: Time, most: Work) -> bool {
        let ahead = self.ahead(now);
        ahead >= most && (ahead > most || self.ends(since, now))
    }

    /// Whether a packet leaves at this very instant, where all of one and nothing of the next has
    /// been sent.
    #[cold]
    #[inline(never)]
    fn ends(&self, since: Time, now: Time) -> bool {
        let sent = self.steps.work(now);
        sent > self.steps.work(since) && self.steps.reach(sent).0 == now
    }

    /// How many packets of `each` work, sent one behind the other from `since` on, leave at `now`
    /// or later.
    pub(crate) fn to_leave(&self, since: Time, now: Time, each: Work) -> u64 {
        if self.until < now {
            return 0;
        }
        let ahead = self.ahead(now);
        let count = ahead.count(each);
        let ends = each.times(count) == ahead && self.ends(since, now);
        count + u64::from(ends)
    }

    /// When of such packets the last `count` begin to be sent, the last one first.
    pub(crate) fn starts(&self, each: Work, count: u64) -> impl Iterator<Item = Time> {
        let start = move |number| self.end().saturating_sub(each.times(number));
        (1..=count).map(move |number| self.steps.reach(start(number)).0)
    }
}

fn length(wire: u32) -> Bytes {
    Bytes::new(u64::from(wire))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::transmitter::Transmitter;

    use proptest::prelude::*;

    /// Steps with a duration in ticks and a rate in bits per second.
    fn steps(list: &[(u64, u64)], repeats: bool) -> Option<Arc<RateSteps>> {
        let mut end = Time::ZERO;
        let mut at = Vec::new();
        for &(ticks, bits) in list {
            at.push((end, Rate::from_bits_per_second(bits)));
            end += Time::from_picos(ticks);
        }
        RateSteps::new(&at, repeats.then_some(end))
            .ok()
            .map(Arc::new)
    }

    /// A packet is sent stretch by stretch, each at its rate: its departure from `(start, rest)`
    /// on.
    fn walked(steps: &RateSteps, (mut at, mut rest): (Time, u128), size: u32) -> (Time, u128) {
        let mut left = u128::from(size) * 8_000_000_000_000;
        loop {
            let phase = steps.phase(at);
            let rate = u128::from(phase.rate.as_bits_per_second());
            let room = u128::from((phase.end - at).as_picos()) * rate - rest;
            if left <= room {
                let ticks = (rest + left) / rate;
                let end = at + Time::from_picos(ticks as u64);
                return (end, (rest + left) % rate);
            }
            left -= room;
            (at, rest) = (phase.end, 0);
        }
    }

    proptest! {
        /// Each packet leaves where a walk from stretch to stretch ends, and everything is sent.
        #[test]
        fn departures_are_those_of_a_walk(
            list in prop::collection::vec((100_000_000u64..3_000_000_000, prop::sample::select(vec![
                0, 1_000_000, 9_999_991, 30_000_000, 1_000_003
            ])), 1..6),
            repeats in any::<bool>(),
            packets in prop::collection::vec((0u64..2_000_000_000, 1u32..1500), 1..60),
        ) {
            let Some(steps) = steps(&list, repeats) else { return Ok(()) };
            let mut stepping = PiecewiseRate::new(steps.clone());
            let (mut now, mut last, mut total) = (Time::ZERO, (Time::ZERO, 0u128), 0);
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                let idle = last.0 < now;
                let begin = if idle { (now, 0) } else { last };
                last = walked(&steps, begin, size);
                prop_assert_eq!(stepping.take(begin.0, size, idle), last.0);
                total += u64::from(size);
                let (sent, possible) = stepping.sent(now);
                prop_assert!(sent <= possible && sent <= Work::of(Bytes::new(total)));
                let left = stepping.time_to_send(now, Bytes::new(1));
                prop_assert_eq!(last.0 + left, walked(&steps, (last.0, 0), 1).0);
            }
            let after = last.0 + Time::from_picos(1);
            prop_assert_eq!(stepping.sent(after).0, Work::of(Bytes::new(total)));
        }

        /// As long as the rate stays, departures are those at that rate for ever.
        #[test]
        fn before_the_first_step_the_rate_is_constant(
            packets in prop::collection::vec((0u64..3_000_000_000, 1u32..1500), 1..100),
            bits in 1_000u64..1_000_000_000,
        ) {
            let day = 86_400_000_000_000_000;
            let steps = steps(&[(day, bits), (1, 2 * bits)], false).unwrap();
            let rate = Rate::from_bits_per_second(bits);
            let (mut constant, mut stepped) = (Transmitter::new(rate, 0), PiecewiseRate::new(steps));
            let mut now = Time::ZERO;
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                let idle = !constant.occupied(now);
                let start = if idle { now } else { constant.busy_until };
                let departure = constant.take(now, size, idle);
                prop_assert_eq!(stepped.take(start, size, idle), departure);
            }
        }
    }
}
