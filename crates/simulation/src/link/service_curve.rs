//! The service curve of a line with a changing rate and token buckets: the data that is sent if
//! packets never lack. While the line is slow it saves tokens, up to a burst, and while it is fast
//! it spends them first.

use std::sync::Arc;

use forebay_units::{Rate, RateSteps, Time, Work};

/// A line behind token buckets with more packets than can be sent.
#[derive(Clone, Debug)]
pub(crate) struct ServiceCurve {
    steps: Arc<RateSteps>,
    buckets: Vec<Bucket>,
    /// Until when it has been followed, and what was sent until then.
    at: Time,
    sent: Work,
}

/// A bucket: tokens at a rate, as many as there is room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) rate: Rate,
    pub(crate) size: Work,
    pub(crate) tokens: Work,
}

/// How many steps of the rate are looked at to say when something has been sent.
const LOOKS: usize = 1000;

impl ServiceCurve {
    /// From this time on, with buckets as they are then.
    pub(crate) fn new(steps: Arc<RateSteps>, buckets: Vec<Bucket>, at: Time) -> Self {
        Self {
            steps,
            buckets,
            at,
            sent: Work::ZERO,
        }
    }

    /// Follows it until then.
    pub(crate) fn advance(&mut self, until: Time) {
        while self.at < until {
            let phase = self.steps.phase(self.at);
            self.stretch(phase.rate, phase.end.min(until));
        }
    }

    /// The data sent so far.
    pub(crate) fn sent(&self) -> Work {
        self.sent
    }

    /// Tokens of each bucket as they are.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = Work> {
        self.buckets.iter().map(|bucket| bucket.tokens)
    }

    /// At one rate of the line: where a bucket is empty its own rate is sent, so that it stays
    /// empty, and where none is tokens are saved or spent. So what is sent is the least that any of
    /// them allows.
    fn stretch(&mut self, line: Rate, end: Time) {
        let time = end - self.at;
        let come = |bucket: &Bucket| bucket.tokens + Work::at(bucket.rate, time);
        let allowed = self.buckets.iter().map(come);
        let sent = allowed.fold(Work::at(line, time), Work::min);
        for bucket in &mut self.buckets {
            bucket.tokens = come(bucket).saturating_sub(sent).min(bucket.size);
        }
        self.sent = self.sent + sent;
        self.at = end;
    }

    /// When `work` has been sent from now on. After a thousand steps it returns the earliest
    /// possible time.
    pub(crate) fn reach(mut self, work: Work) -> Time {
        for _ in 0..LOOKS {
            let phase = self.steps.phase(self.at);
            let before = self.clone();
            self.stretch(phase.rate, phase.end);
            if self.sent >= work {
                return before.reach_at(phase.rate, work);
            }
        }
        let missing = work.saturating_sub(self.sent);
        let line = self.steps.reach(self.steps.work(self.at) + missing).0;
        self.by_tokens(missing).max(line)
    }

    /// The same where the line's rate lasts.
    fn reach_at(&self, line: Rate, work: Work) -> Time {
        let missing = work.saturating_sub(self.sent);
        let by_line = self.at.saturating_add(missing.time_at(line));
        self.by_tokens(missing).max(by_line)
    }

    /// When there have been tokens for `missing`.
    fn by_tokens(&self, missing: Work) -> Time {
        let times = self.buckets.iter().map(|bucket| {
            let lacking = missing.saturating_sub(bucket.tokens);
            self.at.saturating_add(lacking.time_at(bucket.rate))
        });
        times.max().unwrap_or(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Bytes;
    use proptest::prelude::*;

    fn mega(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits * 1_000_000)
    }

    fn bucket(rate: u64, kilobytes: u64) -> Bucket {
        let size = Work::of(Bytes::new(1000 * kilobytes));
        Bucket {
            rate: mega(rate),
            size,
            tokens: size,
        }
    }

    /// 80 Mb/s for 2 ms, 8 Mb/s for 6 ms.
    fn line() -> Arc<RateSteps> {
        let steps = [(Time::ZERO, mega(80)), (Time::from_millis(2), mega(8))];
        Arc::new(RateSteps::new(&steps, Some(Time::from_millis(8))).unwrap())
    }

    /// 40 Mb/s and a bucket for 6 kB, by hand: 20 kB could go in 2 ms, 10 kB of tokens come. So 6
    /// and 10 kB go, then 6 kB in 6 ms, and the bucket is full again.
    #[test]
    fn tokens_are_saved_while_the_line_is_slow() {
        let mut all = ServiceCurve::new(line(), vec![bucket(40, 6)], Time::ZERO);
        let sent = [1000, 2000, 5000, 8000, 9000, 10_000].map(|micros| {
            all.advance(Time::from_micros(micros));
            all.sent().bits() / 8.0
        });
        // Until 1.2 ms at 10 kB a millisecond, then at 5.
        assert_eq!(sent, [10e3, 16e3, 19e3, 22e3, 32e3, 38e3]);
        assert_eq!(all.tokens().next(), Some(Work::ZERO));
    }

    proptest! {
        /// A second time, instant by instant: each microsecond what the line and the tokens allow.
        /// And what has been sent has been sent then, and not before.
        #[test]
        fn what_is_sent_is_the_least_at_each_instant(
            list in prop::collection::vec((1u64..40, 0u64..50), 1..5),
            (rate, size) in (1u64..40, 0u64..4),
            peak in prop::option::of((0u64..20, 0u64..3)),
            until in 1u64..300,
        ) {
            let (mut end, mut steps) = (Time::ZERO, vec![(Time::ZERO, mega(9))]);
            for &(micros, bits) in &list {
                end += Time::from_micros(micros);
                steps.push((end, mega(bits)));
            }
            let period = end + Time::from_micros(5);
            let steps = Arc::new(RateSteps::new(&steps, Some(period)).unwrap());
            let mut buckets = vec![bucket(rate, size)];
            buckets.extend(peak.map(|(more, size)| bucket(rate + more, size)));
            let mut all = ServiceCurve::new(steps.clone(), buckets.clone(), Time::ZERO);
            let (mut sent, micro) = (Work::ZERO, Time::from_micros(1));
            for number in 0..until {
                let line = Work::at(steps.phase(Time::from_micros(number)).rate, micro);
                let levels = buckets.iter().map(|each| each.tokens + Work::at(each.rate, micro));
                let now = levels.fold(line, Work::min);
                for each in &mut buckets {
                    let level = each.tokens + Work::at(each.rate, micro);
                    each.tokens = level.saturating_sub(now).min(each.size);
                }
                sent = sent + now;
            }
            all.advance(Time::from_micros(until));
            prop_assert_eq!(all.sent(), sent);
            let reached = ServiceCurve::new(steps, vec![bucket(rate, size)], Time::ZERO);
            let mut before = reached.clone();
            let at = reached.reach(sent);
            if at > Time::ZERO {
                before.advance(at - Time::from_picos(1));
                prop_assert!(before.sent() < sent);
                before.advance(at);
                prop_assert!(before.sent() >= sent);
            }
        }
    }
}
