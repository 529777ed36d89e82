//! The transmitter of a link, which sends packets one after the other and records the used time.
//! Links of all kinds have one.

use std::sync::Arc;

use forebay_scenario::Link as LinkSpec;
use forebay_units::{Bytes, Rate, RateSteps, Time, Work};

use crate::link::piecewise_rate::PiecewiseRate;

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
    /// Transmission time of everything taken, at a constant rate.
    pub(crate) work: Time,
    /// Where the rate changes: then no size is cached, so that a constant rate asks nothing more.
    steps: Option<Box<PiecewiseRate>>,
}

/// No packet's size.
const NO_SIZE: u32 = u32::MAX;

/// The usage of a link until an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    at: Time,
    /// Time spent transmitting.
    pub(crate) busy: Time,
    /// Data sent, and data that could have been sent, if the rate changes.
    sent: Option<(Work, Work)>,
    /// Further limits of the data that could have been sent: for each the data that came until
    /// then, and the part of it that was saved.
    limits: Option<[(Work, Work); 3]>,
}

impl Usage {
    /// The usage with the data sent until `at`, and the data that could have been sent.
    pub(crate) fn sent(at: Time, sent: (Work, Work)) -> Self {
        Self {
            at,
            busy: Time::ZERO,
            sent: Some(sent),
            limits: None,
        }
    }

    /// The usage with the data sent until `at`. Between two times, each limit allows the data that
    /// comes in between and was saved before; the smallest limit is the data that can be sent.
    pub(crate) fn limited(at: Time, sent: Work, limits: [(Work, Work); 3]) -> Self {
        Self {
            limits: Some(limits),
            ..Self::sent(at, (sent, Work::ZERO))
        }
    }

    /// The part that has been used since `before` of what could be sent; nothing of nothing.
    pub fn since(&self, before: &Self) -> f64 {
        let (used, whole) = match (self.sent, before.sent.unwrap_or_default()) {
            (Some((sent, possible)), (sent_before, possible_before)) => {
                let possible = possible.saturating_sub(possible_before);
                (
                    sent.saturating_sub(sent_before).bits(),
                    self.most_since(before).unwrap_or(possible).bits(),
                )
            }
            (None, _) => (
                (self.busy - before.busy).as_secs_f64(),
                (self.at - before.at).as_secs_f64(),
            ),
        };
        if whole == 0.0 { 0.0 } else { used / whole }
    }

    /// The least that a limit has allowed since `before`.
    fn most_since(&self, before: &Self) -> Option<Work> {
        let pairs = self.limits?.into_iter().zip(before.limits?);
        let most =
            pairs.map(|((come, _), (come_before, saved))| come.saturating_sub(come_before) + saved);
        most.min()
    }
}

impl Transmitter {
    /// The transmitter of a link, for bits of its layer, with the rate of this run where that
    /// changes.
    pub(crate) fn of(link: &LinkSpec, steps: Option<Arc<RateSteps>>) -> Self {
        match steps {
            Some(steps) => Self::in_steps(link.rate, link.overhead(), steps),
            None => Self::new(link.rate, link.overhead()),
        }
    }

    /// A transmitter at a rate that changes, `rate` on average.
    pub(crate) fn in_steps(rate: Rate, overhead: u32, steps: Arc<RateSteps>) -> Self {
        Self {
            cached: (NO_SIZE, Time::ZERO, 0),
            steps: Some(Box::new(PiecewiseRate::new(steps))),
            ..Self::new(rate, overhead)
        }
    }

    pub(crate) fn new(rate: Rate, overhead: u32) -> Self {
        Self {
            steps: None,
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
            if self.steps.is_some() {
                return self.take_in_steps(now, size, idle);
            }
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

    /// The part that sends at a changing rate, if the rate changes.
    #[inline]
    pub(crate) fn stepping(&self) -> Option<&PiecewiseRate> {
        self.steps.as_deref()
    }

    /// Has [`Transmitter::follow`] take packets as long as `most` is not ahead of them.
    pub(crate) fn hold(&mut self, most: Work) {
        if let Some(steps) = &mut self.steps {
            steps.hold(most);
        }
    }

    /// Takes a packet where the rate changes and that is quickly done; whether it is.
    #[inline]
    pub(crate) fn follow(&mut self, now: Time) -> bool {
        let Some(steps) = &mut self.steps else {
            return false;
        };
        let Some(departure) = steps.follow(now) else {
            return false;
        };
        if self.busy_until < now {
            self.busy_since = now;
        }
        self.busy_until = departure;
        true
    }

    /// The same at a rate that changes.
    #[inline(never)]
    pub(crate) fn take_in_steps(&mut self, now: Time, size: u32, idle: bool) -> Time {
        let Some(steps) = &mut self.steps else {
            return self.busy_until;
        };
        let start = if idle { now } else { self.busy_until };
        if idle {
            self.busy_since = now;
        }
        self.busy_until = steps.take(start, size + self.overhead, idle);
        self.busy_until
    }

    /// The time that a packet of this size always takes, where that is so in whole ticks.
    pub(crate) fn always(&self, size: u32) -> Option<Time> {
        let bytes = Bytes::new(u64::from(size + self.overhead));
        let (transmission, rest) = self.rate.serialization(bytes);
        (self.steps.is_none() && rest == 0).then_some(transmission)
    }

    /// The bytes on the wire of a packet of `size` bytes, with the link's overhead.
    pub(crate) fn wire(&self, size: u32) -> Bytes {
        self.wire_of(1, u64::from(size))
    }

    /// The bytes on the wire of `packets` packets of `bytes` bytes in all.
    pub(crate) fn wire_of(&self, packets: u64, bytes: u64) -> Bytes {
        let framing = u64::from(self.overhead).saturating_mul(packets);
        Bytes::new(bytes.saturating_add(framing))
    }

    /// The rate at `now`.
    pub(crate) fn rate(&self, now: Time) -> Rate {
        self.steps
            .as_ref()
            .map_or(self.rate, |steps| steps.rate(now))
    }

    /// The rate as time goes on, where it changes.
    pub(crate) fn steps(&self) -> Option<&Arc<RateSteps>> {
        self.steps.as_ref().map(|steps| steps.steps())
    }

    /// The work that could have been sent until `now`.
    pub(crate) fn possible(&self, now: Time) -> Work {
        match &self.steps {
            Some(steps) => steps.steps().work(now),
            None => Work::at(self.rate, now),
        }
    }

    /// The work left of the packets taken.
    pub(crate) fn left(&self, now: Time) -> Work {
        if self.busy_until < now {
            return Work::ZERO;
        }
        if let Some(steps) = &self.steps {
            return steps.left(now);
        }
        Work::at(self.rate, self.busy_until - now) + Work::rest(self.remainder)
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

    /// The usage until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        if let Some(steps) = &self.steps {
            return Usage::sent(now, steps.sent(now));
        }
        Usage {
            at: now,
            busy: self.busy(now),
            limits: None,
            sent: None,
        }
    }

    /// Whether the rate is below its average, where it changes.
    pub(crate) fn is_slow(&self, now: Time) -> Option<bool> {
        let steps = self.steps.as_ref()?;
        Some(steps.rate(now) < self.rate)
    }

    /// When the transmission of a packet of this size began that ended at `departure`.
    pub(crate) fn start(&self, departure: Time, size: u32) -> Time {
        let bytes = Bytes::new(u64::from(size + self.overhead));
        match &self.steps {
            Some(steps) => steps.start(departure, bytes),
            None => departure.saturating_sub(self.rate.time_to_send(bytes)),
        }
    }

    /// Time until `packets` of `bytes` in all have left that wait behind those taken.
    pub(crate) fn time_to_empty(&self, now: Time, packets: u64, bytes: u64) -> Time {
        let ahead = self.busy_until.saturating_sub(now);
        ahead.saturating_add(self.time_to_send(now, packets, bytes))
    }

    /// Time to send `packets` of `bytes` in all, behind those taken.
    fn time_to_send(&self, now: Time, packets: u64, bytes: u64) -> Time {
        let bytes = self.wire_of(packets, bytes);
        match &self.steps {
            Some(steps) => steps.time_to_send(now, bytes),
            None => self.rate.time_to_send(bytes),
        }
    }
}
