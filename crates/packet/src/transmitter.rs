//! What sends packets one after the other at a constant rate.

use forebay_units::{Bytes, Rate, Time};

/// A transmitter: its rate, and until when it is busy.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    rate: Rate,
    /// Bytes that the link adds to each packet (framing, where the rate counts it).
    overhead: u32,
    /// Transmission time and remainder of the size asked for last.
    cached: (u32, Time, u64),
    /// When the last packet taken has left.
    pub(crate) busy_until: Time,
    /// When the link was last idle before that.
    pub(crate) busy_since: Time,
    /// Time left over from rounding departures down, in ticks / rate.
    remainder: u64,
    /// Transmission time of everything taken.
    pub(crate) work: Time,
}

impl Transmitter {
    pub(crate) fn new(rate: Rate, overhead: u32) -> Self {
        Self {
            rate,
            overhead,
            cached: (0, Time::ZERO, 0),
            busy_until: Time::ZERO,
            busy_since: Time::ZERO,
            remainder: 0,
            work: Time::ZERO,
        }
    }

    /// Takes a packet at `now`, behind all taken before; `idle` says that none of them is left.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, size: u32, idle: bool) -> Time {
        if self.cached.0 != size {
            let bytes = Bytes::new(u64::from(size + self.overhead));
            let (transmission, rest) = self.rate.serialization(bytes);
            self.cached = (size, transmission, rest);
        }
        let (_, mut transmission, rest) = self.cached;
        self.remainder = if idle { rest } else { self.remainder + rest };
        if self.remainder >= self.rate.as_bits_per_second() {
            self.remainder -= self.rate.as_bits_per_second();
            transmission += Time::from_picos(1);
        }
        if idle {
            self.busy_since = now;
        }
        self.busy_until = self.busy_until.max(now) + transmission;
        self.work += transmission;
        self.busy_until
    }

    /// Whether a packet is in transmission, one that ends at this very instant included.
    #[inline]
    pub(crate) fn occupied(&self, now: Time) -> bool {
        self.busy_until > now || self.busy_until == now && self.busy_since < now
    }

    /// Whether no more may wait where those that wait may be `most_work` of transmission. At the
    /// end of a transmission its packet still counts as being sent, and all others wait.
    #[cold]
    pub(crate) fn is_full(&self, now: Time, most_work: Time) -> bool {
        let ahead = self.busy_until.saturating_sub(now);
        self.occupied(now) && (ahead > most_work || self.busy_since < now)
    }

    /// Time spent transmitting until `now`.
    pub(crate) fn busy(&self, now: Time) -> Time {
        self.work - self.busy_until.saturating_sub(now)
    }

    /// Time to send `packets` of `bytes` in all.
    pub(crate) fn time_to_send(&self, packets: u64, bytes: u64) -> Time {
        let framing = u64::from(self.overhead).saturating_mul(packets);
        self.rate
            .time_to_send(Bytes::new(bytes.saturating_add(framing)))
    }
}
