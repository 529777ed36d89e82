//! Token buckets: tokens come at a rate as long as the bucket has room, and packets take them away.

use forebay_units::{Bytes, Rate, Time, Work};

/// A token bucket, full at the beginning (RFC 2697 and RFC 2698, section 3; Linux 6.6,
/// net/sched/sch_tbf.c, `tbf_change`). Tokens are counted exactly, in parts of bits.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    size: Work,
    tokens: Work,
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
            at: Time::ZERO,
        }
    }

    /// Tokens come until `now`; those for which there is no room are given back.
    pub(crate) fn fill(&mut self, now: Time) -> Work {
        let come = Work::at(self.rate, now.saturating_sub(self.at));
        self.at = self.at.max(now);
        self.add(come)
    }

    /// These tokens come; those for which there is no room are given back.
    pub(crate) fn add(&mut self, come: Work) -> Work {
        let all = self.tokens + come;
        self.tokens = all.min(self.size);
        all.saturating_sub(self.size)
    }

    /// Whether there are tokens for so many bytes.
    pub(crate) fn has(&self, size: Bytes) -> bool {
        self.tokens >= Work::of(size)
    }

    /// Takes the tokens of so many bytes, which there are.
    pub(crate) fn take(&mut self, size: Bytes) {
        debug_assert!(self.has(size));
        self.tokens = self.tokens.saturating_sub(Work::of(size));
    }
}
