//! Changes of a link's rate, at known times or at times that are drawn for each replication. The
//! table of a link reads them.

use std::sync::Arc;

use forebay_random::{Purpose, Seed, Stream};
use forebay_units::{Opportunities, Rate, RateSteps, Time};

use crate::text::form::Within;
use crate::text::keys::keys;

/// Rates that a link may have.
pub(crate) const RATE: Within<Rate> = Within {
    least: Rate::from_bits_per_second(1000),
    most: Rate::from_bits_per_second(100_000_000_000_000),
    allowed: "a rate from 1kbps to 100Tbps",
};

/// How a rate changes, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Varying {
    /// At times that are known.
    Steps(Arc<RateSteps>),
    /// At times that are drawn.
    Markov(Markov),
    /// A packet or so at each of certain instants.
    Opportunities(Arc<Opportunities>),
}

keys! {
    /// A rate of a link that stays for an exponential time.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MarkovState: const {
        /// Rate of the state in bits of IP packets per second; 0bps is an outage.
        rate: Rate = Rate::from_bits_per_second(0), required("\"50Mbps\"", RATE_OR_NONE);
        /// Mean duration of the state.
        mean_time: Time = Time::ZERO, required("\"2s\"", SOME_TIME);
    }
}

const RATE_OR_NONE: Within<Rate> = Within {
    least: Rate::from_bits_per_second(0),
    most: RATE.most,
    allowed: "a rate from 1kbps to 100Tbps, or 0bps",
};

const SOME_TIME: Within<Time> = Within {
    least: Time::from_micros(1),
    most: Time::from_secs(86_400),
    allowed: "a time from 1us to 1d",
};

/// The most changes of a rate that are drawn for one run, on average.
pub(crate) const MOST_CHANGES: f64 = 1e6;

/// A rate that is a Markov chain in continuous time: each state lasts for an exponential time, and
/// then comes any of the others, all as likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Markov {
    /// Two at least.
    pub states: Vec<MarkovState>,
}

impl Markov {
    /// A chain of these states, or what is allowed.
    pub(crate) fn new(states: Vec<MarkovState>) -> Result<Self, String> {
        let too_low = |state: &&MarkovState| state.rate < RATE.least && state.rate != NONE;
        if !(2..=1000).contains(&states.len()) {
            return Err("two to 1000 states".into());
        }
        if states.iter().any(|state| too_low(&state)) {
            return Err(format!("in each state {}", RATE_OR_NONE.allowed));
        }
        if states.iter().all(|state| state.rate == NONE) {
            return Err("a rate above 0bps in one state at least".into());
        }
        Ok(Self { states })
    }

    /// Mean rate, in bits per second: each state comes as often as any other.
    pub fn mean(&self) -> f64 {
        let (mut bits, mut time) = (0.0, 0.0);
        for state in &self.states {
            time += state.mean_time.as_secs_f64();
            bits += state.rate.as_bits_per_second() as f64 * state.mean_time.as_secs_f64();
        }
        bits / time
    }

    /// The same chain with other rates.
    pub(crate) fn map(&self, rate: impl Fn(Rate) -> Rate) -> Self {
        let mut states = self.states.clone();
        for state in &mut states {
            state.rate = rate(state.rate);
        }
        Self { states }
    }

    /// How often the rate changes, per second.
    pub fn changes(&self) -> f64 {
        let time: f64 = self
            .states
            .iter()
            .map(|state| state.mean_time.as_secs_f64())
            .sum();
        self.states.len() as f64 / time
    }

    /// The rate as time goes on, until `end` at least, that the replication of this seed draws for
    /// the link of this number.
    pub fn realized(&self, seed: Seed, number: usize, end: Time) -> Option<RateSteps> {
        let mut draws = Stream::new(seed, number as u64, Purpose::LinkRate);
        RateSteps::new(&self.draw(&mut draws, end), None).ok()
    }

    /// A rate as time goes on, until `end` at least; it begins in a state as it is at any time.
    fn draw(&self, draws: &mut Stream, end: Time) -> Vec<(Time, Rate)> {
        let mut state = self.stationary(draws.uniform());
        let (mut now, mut steps) = (Time::ZERO, Vec::new());
        loop {
            let MarkovState { rate, mean_time } = self.states[state];
            steps.push((now, rate));
            // The last rate lasts, so that it is not none.
            if now >= end && rate != NONE {
                return steps;
            }
            let lasts = Time::from_secs_f64(mean_time.as_secs_f64() * draws.exponential());
            now = now.saturating_add(lasts.max(Time::from_picos(1)));
            let others = self.states.len() as u64 - 1;
            let other = draws.below(others) as usize;
            state = other + usize::from(other >= state);
        }
    }

    /// The state that a share of `at` of all time lies in or before.
    fn stationary(&self, at: f64) -> usize {
        let times = self
            .states
            .iter()
            .map(|state| state.mean_time.as_secs_f64());
        let whole: f64 = times.clone().sum();
        let mut before = 0.0;
        for (number, time) in times.enumerate() {
            before += time;
            if at * whole < before {
                return number;
            }
        }
        self.states.len() - 1
    }
}

/// The rate of an outage.
pub(crate) const NONE: Rate = Rate::from_bits_per_second(0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scenario::Scenario;

    fn chain(states: &[(u64, u64)]) -> Markov {
        let state = |&(bits, millis): &(u64, u64)| MarkovState {
            rate: Rate::from_bits_per_second(bits),
            mean_time: Time::from_millis(millis),
        };
        Markov::new(states.iter().map(state).collect()).unwrap()
    }

    fn drawn(chain: &Markov, replication: u64, end: Time) -> RateSteps {
        let seed = Seed {
            seed: 3,
            replication,
        };
        let mut draws = Stream::new(seed, 0, Purpose::LinkRate);
        RateSteps::new(&chain.draw(&mut draws, end), None).unwrap()
    }

    /// A continuous-time chain whose jumps are uniform stays in each state for a share of the time
    /// that its mean time is of their sum; and each stay lasts as long on average, whatever its
    /// variance.
    #[test]
    fn a_chain_is_in_each_state_for_its_share_of_time() {
        let chain = chain(&[(1_000_000, 300), (5_000_000, 100), (0, 50)]);
        let end = Time::from_secs(20_000);
        let steps = drawn(&chain, 0, end);
        let (mut time, mut stays) = ([0.0_f64; 3], [0.0_f64; 3]);
        let list: Vec<_> = steps.steps().collect();
        for pair in list.windows(2) {
            let state = chain
                .states
                .iter()
                .position(|state| state.rate == pair[0].1)
                .unwrap();
            let lasted = (pair[1].0 - pair[0].0).as_secs_f64();
            (time[state], stays[state]) = (time[state] + lasted, stays[state] + 1.0);
        }
        for (state, share) in [(0, 300.0 / 450.0), (1, 100.0 / 450.0), (2, 50.0 / 450.0)] {
            let found = time[state] / end.as_secs_f64();
            assert!(
                (found - share).abs() < 5.0 / stays[state].sqrt() * share,
                "{state}: {found}"
            );
            let mean = chain.states[state].mean_time.as_secs_f64();
            let lasted = time[state] / stays[state];
            assert!(
                (lasted / mean - 1.0).abs() < 5.0 / stays[state].sqrt(),
                "{state}: {lasted}"
            );
        }
        let (mean, closed) = (steps.mean(Time::ZERO, end), chain.mean());
        assert_eq!(closed, (300.0 * 1e6 + 100.0 * 5e6) / 450.0);
        assert!((mean / closed - 1.0).abs() < 0.02, "{mean} {closed}");
    }

    /// Over replications a run begins in each state as often as it is in it.
    #[test]
    fn a_run_begins_as_at_any_time() {
        let chain = chain(&[(1_000_000, 300), (5_000_000, 100)]);
        let runs = 20_000;
        let first = |replication| {
            drawn(&chain, replication, Time::ZERO)
                .steps()
                .next()
                .unwrap()
                .1
        };
        let slow = (0..runs)
            .filter(|&run| first(run) == chain.states[0].rate)
            .count();
        let found = slow as f64 / runs as f64;
        assert!(
            (found - 0.75).abs() < 4.0 * (0.75 * 0.25 / runs as f64).sqrt(),
            "{found}"
        );
        // The first stay is no shorter than any: the chain has no memory.
        let stay = |replication| {
            let steps = drawn(&chain, replication, Time::from_secs(5));
            let list: Vec<_> = steps.steps().take(2).collect();
            (list[0].1 == chain.states[0].rate && list.len() > 1).then(|| list[1].0.as_secs_f64())
        };
        let stays: Vec<f64> = (0..runs).filter_map(stay).collect();
        let mean = stays.iter().sum::<f64>() / stays.len() as f64;
        assert!(
            (mean / 0.3 - 1.0).abs() < 5.0 / (stays.len() as f64).sqrt(),
            "{mean}"
        );
    }

    /// A run measures 20 s after 5 s of warm-up. A fall at its first instant counts, and one at 25
    /// s does not.
    #[test]
    fn a_rate_falls_in_the_measured_time() {
        let of = |link: &str| {
            let text = format!(
                "[link]\n{link}\nbuffer = \"50p\"\n[[flows]]\nrtt = \"40ms\"\n[run]\nwarmup = \"5s\"\nmeasure = \"20s\""
            );
            let scenario = Scenario::parse(&text, crate::Format::Toml, "test", &[]).unwrap();
            let (low, high) = scenario.target().rates_between();
            let falls = scenario.target().falls(&scenario.run());
            (falls, low.to_string(), high.to_string())
        };
        let told = |falls, low: &str, high: &str| (falls, low.to_owned(), high.to_owned());
        let steps = |at: &str| {
            format!(
                "rate = {{ steps = [[\"0s\", \"9Mbps\"], [\"{at}\", \"2Mbps\"], [\"30s\", \"9Mbps\"]] }}"
            )
        };
        for (at, falls) in [("4s", false), ("5s", true), ("24s", true), ("25s", false)] {
            assert_eq!(of(&steps(at)), told(falls, "2Mbps", "9Mbps"), "{at}");
        }
        assert_eq!(of("rate = \"9Mbps\""), told(false, "9Mbps", "9Mbps"));
        let outage = "rate = \"9Mbps\"\noutages = [[\"7s\", \"1s\"]]";
        assert_eq!(of(outage), told(true, "9Mbps", "9Mbps"));
        let drawn = "rate = { markov = [{ rate = \"0bps\", mean_time = \"1s\" }, { rate = \"3Mbps\", mean_time = \"1s\" }] }";
        assert_eq!(of(drawn), told(true, "3Mbps", "3Mbps"));
        assert!(!of("rate = { opportunities = \"1 1 5\" }").0);
    }

    #[test]
    fn a_drawn_rate_ends_above_zero_and_lasts_to_the_end() {
        let chain = chain(&[(0, 1000), (5_000_000, 10)]);
        for replication in 0..200 {
            let end = Time::from_secs(2);
            let seed = Seed {
                seed: 1,
                replication,
            };
            let steps = chain.draw(&mut Stream::new(seed, 0, Purpose::LinkRate), end);
            let last = steps[steps.len() - 1];
            assert!(last.0 >= end && last.1 > NONE);
            assert!(
                steps
                    .windows(2)
                    .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1)
            );
        }
    }
}
