//! Samples of the target link and of windows at equal distances over the measured time: what has
//! no event of its own. There are at most [`MOST`] of them however long a run is, so that neither
//! its memory nor its cost grows with time.

use forebay_scenario::sorted_quantile;
use forebay_units::Time;

use crate::ends::Ends;
use crate::flow::{Flow, Flows};
use crate::histogram::Histogram;
use crate::ids::GroupId;
use crate::link::Link;

/// The most samples of a run.
const MOST: u64 = 4096;

/// The largest number of flows whose windows one sample reads, in turn.
const FLOWS_EACH: usize = 4;

/// The unit of windows in counts and columns, in packets.
pub const WINDOW_UNIT: f64 = 1.0 / 1024.0;

/// The sampled values, and the interval between samples.
#[derive(Debug)]
pub(crate) struct Sampler {
    every: Time,
    /// Time in seconds that the queue takes to drain.
    drains: Vec<f64>,
    /// The same while the rate of a link that changes is below its average, and while it is not.
    slow: Vec<f64>,
    fast: Vec<f64>,
    /// Packets waiting.
    pub(crate) waiting: Histogram,
    /// Windows of flows that have something to send, by group.
    windows: Vec<Histogram>,
    /// The flow to look at next.
    turn: usize,
}

impl Sampler {
    /// A sampler for a measured time, a round trip and `groups` groups. The interval has no simple
    /// ratio to the round trip, because much of a queue's motion is in step with it.
    pub(crate) fn new(measure: Time, round_trip: Time, groups: usize) -> Self {
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        let fine = Time::from_secs_f64(round_trip.as_secs_f64() * golden / 8.0);
        let coarse = Time::from_picos(measure.as_picos() / MOST);
        Self {
            every: fine.max(coarse).max(Time::from_picos(1)),
            drains: Vec::new(),
            slow: Vec::new(),
            fast: Vec::new(),
            waiting: Histogram::new(),
            windows: vec![Histogram::new(); groups],
            turn: 0,
        }
    }

    /// When the sample after that at `now` is due.
    pub(crate) fn next(&self, now: Time) -> Time {
        now.saturating_add(self.every)
    }

    /// Windows of a group's flows, in [`WINDOW_UNIT`].
    pub(crate) fn windows(&self, group: GroupId) -> &Histogram {
        &self.windows[group.index()]
    }

    /// Takes a sample of the target link and of the windows of a few flows.
    #[cold]
    pub(crate) fn sample<E: Ends>(&mut self, now: Time, target: &mut Link, flows: &Flows<E>) {
        let drains = target.backlog(now).as_secs_f64();
        self.drains.push(drains);
        match target.line().is_slow(now) {
            Some(true) => self.slow.push(drains),
            Some(false) => self.fast.push(drains),
            None => {}
        }
        self.waiting.add_value(target.count_waiting(now));
        let flows = &flows.responsive;
        for _ in 0..flows.len().min(FLOWS_EACH) {
            self.turn = (self.turn + 1) % flows.len();
            self.sample_window(&flows[self.turn]);
        }
    }

    fn sample_window<E: Ends>(&mut self, flow: &Flow<E>) {
        let ends = &flow.ends;
        if ends.begun() && !flow.stopped && !ends.finished() {
            let window = ends.window().cwnd / WINDOW_UNIT;
            self.windows[flow.transit.group.index()].add_value(window as u64);
        }
    }

    /// Median and 99th percentile of the queue's draining time in seconds, while the rate is below
    /// its average and while it is not; none where it never is or never changes.
    pub(crate) fn phases(&self) -> [Option<[f64; 2]>; 2] {
        [&self.slow, &self.fast].map(|drains| {
            let mut sorted = drains.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let quantile = |share| sorted_quantile(&sorted, share);
            (!sorted.is_empty()).then(|| [0.5, 0.99].map(quantile))
        })
    }

    /// The integral over all lags of the autocorrelation of the queue's draining time, in
    /// seconds; none where it never changes or was hardly sampled.
    pub(crate) fn autocorrelation_time(&self) -> Option<f64> {
        integrated_autocorrelation(&self.drains).map(|lags| lags * self.every.as_secs_f64())
    }
}

/// The sum of the autocorrelations over all lags from 0, by the trapezoid rule, in sample
/// distances. Lags beyond five times the sum so far are noise (Madras and Sokal 1988, appendix C).
fn integrated_autocorrelation(values: &[f64]) -> Option<f64> {
    const LEAST: usize = 100;
    if values.len() < LEAST {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let centered: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| products(&centered, &centered[lag..]) / n;
    let variance = covariance(0);
    if variance <= 0.0 {
        return None;
    }
    let mut sum = 0.5;
    for lag in 1..=values.len() / 16 {
        sum += covariance(lag) / variance;
        if lag as f64 >= 5.0 * sum {
            break;
        }
    }
    Some(sum.max(0.0))
}

/// The sum of the products of two series as far as both go. Eight sums at a time do not wait for
/// one another.
fn products(one: &[f64], other: &[f64]) -> f64 {
    let length = one.len().min(other.len());
    let (ones, others) = (
        one[..length].chunks_exact(8),
        other[..length].chunks_exact(8),
    );
    let rest = ones.remainder().iter().zip(others.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 8];
    for (ones, others) in ones.zip(others) {
        for ((sum, a), b) in sums.iter_mut().zip(ones).zip(others) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::{Purpose, Seed, Stream};

    /// x' = r x + noise has autocorrelations r^k: the sum is 1/2 + r/(1 - r).
    #[test]
    fn an_autoregressive_series_has_its_known_sum() {
        for r in [0.0, 0.5, 0.9] {
            let mut stream = Stream::new(Seed::default(), 1, Purpose::Think);
            let mut x = 0.0;
            let values: Vec<f64> = (0..200_000)
                .map(|_| {
                    x = r * x + stream.normal();
                    x
                })
                .collect();
            let (ours, theory) = (
                integrated_autocorrelation(&values).unwrap(),
                0.5 + r / (1.0 - r),
            );
            assert!((ours / theory - 1.0).abs() < 0.06, "{r}: {ours} {theory}");
        }
    }

    #[test]
    fn a_constant_has_none_and_a_long_run_no_more_samples() {
        assert_eq!(integrated_autocorrelation(&[3.0; 1000]), None);
        assert_eq!(integrated_autocorrelation(&[1.0, 2.0]), None);
        for seconds in [1, 100, 1_000_000] {
            let measure = Time::from_secs(seconds);
            let sampler = Sampler::new(measure, Time::from_millis(10), 1);
            assert!(sampler.every.as_picos() * MOST >= measure.as_picos());
        }
    }
}
