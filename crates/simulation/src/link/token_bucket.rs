//! Token buckets: tokens come at a rate as long as the bucket has room, and packets take them away.

use forebay_units::{Bytes, Rate, Time, Work};

/// A token bucket, full at the beginning (RFC 2697 and RFC 2698, section 3; Linux 6.6,
/// net/sched/sch_tbf.c, `tbf_change`). Tokens are counted exactly, in parts of bits.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    size: Work,
    tokens: Work,
    /// Tokens that were taken before they came.
    debt: Work,
    /// Until when tokens have come.
    at: Time,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, size: Bytes) -> Self {
        let size = Work::of(size);
        Self {
            rate,
            size,
            tokens: size,
            debt: Work::ZERO,
            at: Time::ZERO,
        }
    }

    /// Tokens come until `now`; those for which there is no room are given back.
    pub(crate) fn fill(&mut self, now: Time) -> Work {
        let come = self.come(now);
        self.at = self.at.max(now);
        let left = come.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(come);
        self.add(left)
    }

    /// These tokens come; those for which there is no room are given back.
    pub(crate) fn add(&mut self, come: Work) -> Work {
        let all = self.tokens + come;
        self.tokens = all.min(self.size);
        all.saturating_sub(self.size)
    }

    /// Whether there are tokens for `size` bytes.
    pub(crate) fn has(&self, size: Bytes) -> bool {
        self.tokens >= Work::of(size)
    }

    /// Takes the tokens of `size` bytes; missing tokens become debt.
    pub(crate) fn take(&mut self, size: Bytes) {
        let size = Work::of(size);
        self.debt = self.debt + size.saturating_sub(self.tokens);
        self.tokens = self.tokens.saturating_sub(size);
    }

    /// When there will be tokens for `size` bytes and no debt, if none are taken before.
    pub(crate) fn ready(&self, size: Bytes) -> Time {
        let missing = (Work::of(size) + self.debt).saturating_sub(self.tokens);
        self.at.saturating_add(missing.time_at(self.rate))
    }

    /// The rate at which tokens come.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Until when tokens have come.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// The largest number of tokens that it holds.
    pub(crate) fn size(&self) -> Work {
        self.size
    }

    /// Tokens there, and tokens owed.
    pub(crate) fn level(&self) -> (Work, Work) {
        (self.tokens, self.debt)
    }

    /// All tokens that would have come until `now` from the beginning.
    pub(crate) fn all(&self, now: Time) -> Work {
        Work::at(self.rate, now)
    }

    fn come(&self, now: Time) -> Work {
        Work::at(self.rate, now.saturating_sub(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As soon as it says, and not a tick before, there are tokens; what is owed is paid first.
        /// Nothing is lost or made: all that came is there, was taken, or had no room.
        #[test]
        fn tokens_are_neither_lost_nor_made(
            takes in prop::collection::vec((0u64..2_000_000_000_000, 1u64..3000, any::<bool>()), 1..60),
            rate in prop::sample::select(vec![1_000u64, 9_999_991, 100_000_000_000_000]),
            size in 3000u64..9000,
        ) {
            let mut bucket = TokenBucket::new(Rate::from_bits_per_second(rate), Bytes::new(size));
            let (mut now, mut out) = (Time::ZERO, Work::ZERO);
            for (gap, bytes, waits) in takes {
                now += Time::from_picos(gap);
                let bytes = Bytes::new(bytes);
                let ready = bucket.ready(if waits { bytes } else { Bytes::ZERO });
                if ready > now {
                    let mut before = bucket.clone();
                    before.fill(ready - Time::from_picos(1));
                    let (tokens, debt) = before.level();
                    let needed = if waits { Work::of(bytes) } else { Work::ZERO };
                    prop_assert!(tokens < needed || debt > Work::ZERO);
                }
                now = now.max(ready);
                out = out + bucket.fill(now);
                prop_assert!(bucket.level().1 == Work::ZERO);
                prop_assert!(!waits || bucket.has(bytes));
                bucket.take(bytes);
                out = out + Work::of(bytes);
                let (tokens, debt) = bucket.level();
                prop_assert!(tokens == Work::ZERO || debt == Work::ZERO);
                let come = bucket.all(now) + Work::of(Bytes::new(size));
                prop_assert_eq!(come + debt, out + tokens);
            }
        }
    }
}
