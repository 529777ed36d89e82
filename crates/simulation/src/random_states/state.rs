//! A random state of a scenario: its name, how rare it is, and how its value in one replication is
//! drawn. `groups`, `links` and `overload` make them, and `RandomStates` keeps them.

use forebay_random::Seed;
use forebay_scenario::{Distribution, Quantity, RunPlan};
use forebay_units::Time;

/// The largest expected number of periods, changes or arrivals in a run that is a random state.
/// More of them average out within the run: their count then has a standard deviation of about 3 %
/// of its mean.
pub(crate) const MOST_EVENTS: f64 = 1000.0;

/// The largest number of flows whose periods are drawn for a replication. A group with more flows
/// is listed without its values.
pub(crate) const MOST_FLOWS: u64 = 1000;

/// The most periods that are drawn for one flow. A distribution whose mean hides a cluster of very
/// short periods may need more; the value then counts the first ones only.
pub(crate) const MOST_PERIODS: usize = 100_000;

/// The kind of a random state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// The number of flows of a group; a draw per replication.
    Count,
    /// The common round-trip time of a group, in seconds; a draw per replication.
    CommonRtt,
    /// On time of an on-off group, in seconds, summed over its flows.
    OnOff,
    /// Transfers of a periodic group that are due to begin.
    Periodic,
    /// Payload of the transfers of an open-loop group that arrive, in bytes.
    OpenLoop,
    /// Transfers of closed-loop users, which depend on the packets.
    ClosedLoop,
    /// Rounds of an incast, which depend on the packets.
    Incast,
    /// The mean over a group's flows of a value that each of them draws, in seconds or bytes.
    Draw,
    /// The average rate of a link with a Markov rate, in bits per second.
    MarkovRate,
    /// Time in drawn outages, in seconds.
    Outages,
    /// The load that sources which change with time offer above the target link's rate, in seconds
    /// of that rate.
    Overload,
    /// Bursts of losses of a medium, which depend on the packets.
    GilbertElliott,
    /// Single random losses of a medium, of which a run may have none.
    RandomLoss,
    /// A cycle or an event at a time that is known, which a run misses at least in part.
    Schedule,
}

impl StateKind {
    /// The kind in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::CommonRtt => "common_rtt",
            Self::OnOff => "on_off",
            Self::Periodic => "periodic",
            Self::OpenLoop => "open_loop",
            Self::ClosedLoop => "closed_loop",
            Self::Incast => "incast",
            Self::Draw => "draw",
            Self::MarkovRate => "markov_rate",
            Self::Outages => "outages",
            Self::Overload => "overload",
            Self::GilbertElliott => "gilbert_elliott",
            Self::RandomLoss => "random_loss",
            Self::Schedule => "schedule",
        }
    }
}

/// A random state that a scenario declares, or a scheduled one that a run misses.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomState {
    /// Path of the key in the scenario, such as `flows.burst.workload.on_off`.
    pub key: String,
    /// Kind of the state.
    pub kind: StateKind,
    /// Mean time in seconds from one occurrence of the rarer phase to the next, in any flow of the
    /// group; of an overload, from one on period of any source to the next. Infinite if the
    /// distribution has no mean; none for a draw per replication. For a scheduled event that does
    /// not repeat: the instant at which it comes.
    pub cycle_s: Option<f64>,
    /// Mean length of the rarer phase, in seconds.
    pub duration_s: Option<f64>,
    /// Share of the time in which at least one flow is in the rarer phase, or the probability that
    /// a replication draws the rarest value at least once.
    pub share: Option<f64>,
    /// Whether the value in a replication is known without simulating packets.
    pub sampled: bool,
    /// A subject for sentences, such as "A burst of group `burst` every 301 s".
    pub phrase: String,
}

/// The value of a state in the replication of this seed.
pub(crate) type Sampler<'a> = Box<dyn Fn(Seed) -> f64 + 'a>;

/// A state and, if it can be predicted, its value.
pub(crate) struct Found<'a> {
    pub(crate) state: RandomState,
    pub(crate) sampler: Option<Sampler<'a>>,
}

impl<'a> Found<'a> {
    /// A state whose value is not known and of which nothing else is known.
    pub(crate) fn new(kind: StateKind, key: String, phrase: String) -> Self {
        let state = RandomState {
            key,
            kind,
            cycle_s: None,
            duration_s: None,
            share: None,
            sampled: false,
            phrase,
        };
        let sampler = None;
        Self { state, sampler }
    }

    /// A state of a process with this cycle, which the phrase then names.
    pub(crate) fn of_process(
        kind: StateKind,
        (key, phrase): (String, String),
        rarer: &Rarer,
    ) -> Self {
        let mut found = Self::new(kind, key, every(phrase, rarer.cycle_s));
        found.state.cycle_s = Some(rarer.cycle_s);
        found.state.duration_s = Some(rarer.duration_s);
        found.state.share = Some(rarer.share);
        found
    }

    /// A scheduled cycle or event, with the length of the cycle or the instant of the event in
    /// seconds.
    pub(crate) fn scheduled(key: String, phrase: String, cycle: Time) -> Self {
        let mut found = Self::new(StateKind::Schedule, key, phrase);
        found.state.cycle_s = Some(cycle.as_secs_f64());
        found
    }

    /// The same state with this share.
    pub(crate) fn with_share(mut self, share: Option<f64>) -> Self {
        self.state.share = share;
        self
    }

    /// The same state with its value.
    pub(crate) fn sampled(mut self, value: impl Fn(Seed) -> f64 + 'a) -> Self {
        self.state.sampled = true;
        self.sampler = Some(Box::new(value));
        self
    }
}

/// The rarer phase of a process that several independent flows repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rarer {
    /// Mean time between two occurrences in any of the flows, in seconds.
    pub(crate) cycle_s: f64,
    /// Mean length, in seconds.
    pub(crate) duration_s: f64,
    /// Share of the time in which at least one flow is in it.
    pub(crate) share: f64,
}

impl Rarer {
    /// The rarer phase of `flows` flows that are each in the phase for `duration_s` in every
    /// `cycle_s` seconds, on average.
    pub(crate) fn of_flows(flows: u64, duration_s: f64, cycle_s: f64) -> Self {
        let share = if cycle_s > 0.0 && cycle_s.is_finite() {
            (duration_s / cycle_s).min(1.0)
        } else {
            0.0
        };
        Self {
            cycle_s: cycle_s / flows as f64,
            duration_s,
            share: of_any(flows, share),
        }
    }

    /// The window of time that decides the state: the measured time and, before it, as much of the
    /// warm-up as the phase lasts on average. The queue of a burst that begins there may last into
    /// the measured time.
    pub(crate) fn window(&self, run: &RunPlan) -> Window {
        let before = Time::from_secs_f64(self.duration_s);
        Window {
            from: run.warmup.saturating_sub(before),
            to: run.end(),
        }
    }
}

/// The probability of at least one of `flows` independent events, each with probability `share`.
pub(crate) fn of_any(flows: u64, share: f64) -> f64 {
    -libm::expm1(flows as f64 * libm::log1p(-share))
}

/// An interval of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Window {
    /// The part of the interval from `begin` to `end` that lies in the window.
    pub(crate) fn overlap(self, begin: Time, end: Time) -> Time {
        end.min(self.to).saturating_sub(begin.max(self.from))
    }

    /// Whether the window contains an instant.
    pub(crate) fn contains(self, at: Time) -> bool {
        self.from <= at && at < self.to
    }
}

/// The probability of the rarest value of a distribution that gives few values or mixes others.
pub(crate) fn rarest<T: Quantity>(distribution: &Distribution<T>) -> Option<f64> {
    match distribution {
        Distribution::Choice(values) => Some(rarest_of(values)),
        Distribution::Mixture(parts) => {
            let weights = parts.iter().map(|(weight, _)| *weight);
            weights.filter(|weight| *weight > 0.0).reduce(f64::min)
        }
        Distribution::Jitter { base, jitter } => match (rarest(base), rarest(jitter)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        },
        _ => None,
    }
}

/// The share of the value that comes least often in a list.
pub(crate) fn rarest_of<T: PartialEq>(values: &[T]) -> f64 {
    let times = |value: &T| values.iter().filter(|other| *other == value).count();
    let least = values.iter().map(times).min().unwrap_or_default();
    least as f64 / values.len() as f64
}

/// Whether a distribution gives one value only.
pub(crate) fn is_constant<T: Quantity>(distribution: &Distribution<T>) -> bool {
    distribution.infimum() >= distribution.supremum()
}

/// A subject with its cycle: "A burst of group `burst` every 301 s".
pub(crate) fn every(subject: String, cycle_s: f64) -> String {
    if cycle_s.is_finite() {
        format!("{subject} every {}", seconds(cycle_s))
    } else {
        subject
    }
}

/// A time with three significant digits, or all digits before the point.
pub(crate) fn seconds(time: f64) -> String {
    let digits = (2.0 - libm::floor(libm::log10(time.max(1e-12)))).clamp(0.0, 14.0) as usize;
    let text = format!("{time:.digits$}");
    let short = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{short} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_three_digits() {
        for (time, text) in [
            (301.0, "301 s"),
            (604_800.0, "604800 s"),
            (40.5, "40.5 s"),
            (20.0, "20 s"),
            (100.0 / 3.0, "33.3 s"),
            (0.25, "0.25 s"),
            (0.001_234, "0.00123 s"),
        ] {
            assert_eq!(seconds(time), text);
        }
        assert_eq!(every("A burst".into(), f64::INFINITY), "A burst");
    }
}
