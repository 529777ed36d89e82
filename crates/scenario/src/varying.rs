//! How a link's rate changes: at times that are known, or at times that are drawn for each replication.

use std::sync::Arc;

use forebay_random::{Purpose, Seed, Stream};
use forebay_units::{Opportunities, Rate, RateSteps, Time};

use crate::cursor::Cursor;
use crate::delay::Delays;
use crate::form::Within;
use crate::keys::keys;
use crate::link::Link;
use crate::node::ScenarioError;
use crate::options::RunPlan;
use crate::rate::RATE;
use crate::scenario::Scenario;
use crate::warning::{Warning, WarningKind};

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
        /// Bits of IP packets per second; 0bps is an outage.
        rate: Rate = Rate::from_bits_per_second(0), required("\"50Mbps\"", RATE_OR_NONE);
        /// How long it lasts, on average.
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

/// A rate that is a Markov chain in continuous time: each state lasts for an exponential time, and then
/// comes any of the others, all as likely.
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

    /// The rate as time goes on, until `end` at least, that the replication of this seed draws for the link
    /// of this number.
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

const NONE: Rate = Rate::from_bits_per_second(0);

impl Link {
    /// Resolves how the rate changes, and averages it: over a period, or over the run where the rate does
    /// not repeat.
    pub(crate) fn resolve_rate(
        &mut self,
        table: &Cursor<'_>,
        run: &RunPlan,
    ) -> Result<(), ScenarioError> {
        let at = table.get("rate").unwrap_or_else(|| table.clone());
        if self.outages.any() && self.varying.is_none() {
            let constant = RateSteps::new(&[(Time::ZERO, self.rate)], None);
            self.varying = constant.ok().map(|steps| Varying::Steps(Arc::new(steps)));
        }
        let (end, outages) = (run.end(), &self.outages);
        let (mut mean, mut over) = match &self.varying {
            None => return Ok(()),
            Some(Varying::Steps(steps)) => {
                let over = steps.repeat().unwrap_or(end);
                (steps.mean(Time::ZERO, over), over)
            }
            Some(Varying::Markov(markov)) => (markov.mean(), end),
            Some(Varying::Opportunities(list)) => (list.mean(), list.period()),
        };
        if outages.any() {
            let at = table.get("outages").unwrap_or_else(|| table.clone());
            if self.opportunities().is_some() {
                return Err(at.error_found(
                    "outages beside opportunities",
                    "opportunities that have gaps",
                ));
            }
            over = end;
            mean *= outages.up(Time::ZERO, end);
        }
        let changes = self.most_changes(end);
        if changes > MOST_CHANGES {
            let found = format!("about {changes:.0} changes of the rate in {end}");
            return Err(at.error_found(found, "a million at most: longer times"));
        }
        if let Some(Varying::Steps(steps)) = &self.varying
            && outages.between.is_none()
        {
            let mut steps = steps.clone();
            if outages.any() {
                let times = outages.realized(Seed::default(), 0, end);
                steps = Arc::new(steps.interrupted(&times, end));
                mean = steps.mean(Time::ZERO, end);
            }
            self.steps = Some(steps);
        }
        self.rate = Rate::from_bits_per_second(mean.round() as u64);
        if self.rate < RATE.least {
            let found = format!("an average of {} over {over}", self.rate);
            return Err(at.error_found(found, "an average of 1kbps at least"));
        }
        if self.mean_rate(run.warmup, end) == 0.0 {
            let found = format!("0bps from {} to {end}, all that is measured", run.warmup);
            return Err(at.error_found(found, "a rate above 0bps in the measured time"));
        }
        Ok(())
    }

    /// Whether its rate changes.
    pub fn changes(&self) -> bool {
        self.varying.is_some()
    }

    /// Whether it is now below its average rate and now above: a rate that changes, unlike opportunities.
    pub fn has_phases(&self) -> bool {
        self.changes() && self.opportunities().is_none()
    }

    /// Whether its rate falls in the measured time; where it is drawn, it may.
    pub fn falls(&self, run: &RunPlan) -> bool {
        let fall = self.steps.as_ref().map(|steps| steps.next_fall(run.warmup));
        fall.map_or(self.has_phases(), |at| at.is_some_and(|at| at < run.end()))
    }

    /// The rate as time goes on in a run that lasts until `end`, where it changes and is a rate: where it
    /// is drawn, that of the replication of this seed at the link of this number.
    pub fn realized(&self, seed: Seed, number: usize, end: Time) -> Option<Arc<RateSteps>> {
        if self.steps.is_some() {
            return self.steps.clone();
        }
        let steps = match self.varying.as_ref()? {
            Varying::Opportunities(_) => return None,
            Varying::Steps(steps) => RateSteps::clone(steps),
            Varying::Markov(markov) => markov.realized(seed, number, end)?,
        };
        if !self.outages.any() {
            return Some(Arc::new(steps));
        }
        let outages = self.outages.realized(seed, number, end);
        Some(Arc::new(steps.interrupted(&outages, end)))
    }

    /// How often its rate changes in a run at most; on average where it is drawn.
    pub fn most_changes(&self, end: Time) -> f64 {
        let outages = 2.0 * self.outages.count(end);
        match &self.varying {
            Some(Varying::Markov(markov)) => outages + markov.changes() * end.as_secs_f64(),
            Some(Varying::Steps(steps)) if self.outages.any() => {
                let periods = steps
                    .repeat()
                    .map_or(1.0, |each| end.as_secs_f64() / each.as_secs_f64());
                outages + periods.ceil() * steps.steps().count() as f64
            }
            Some(Varying::Steps(steps)) => steps.steps().count() as f64,
            _ => 0.0,
        }
    }

    /// Its opportunities of delivery, where it has such.
    pub fn opportunities(&self) -> Option<&Arc<Opportunities>> {
        match &self.varying {
            Some(Varying::Opportunities(list)) => Some(list),
            _ => None,
        }
    }

    /// Bytes that its rate counts beside those of each IP packet.
    pub fn overhead(&self) -> u32 {
        let header = self.opportunities().map_or(0, |_| Opportunities::HEADER);
        self.rate_layer.framing().get() as u32 + header
    }

    /// Bits per second that it has on average until `end`, where it changes and is at no instant above this
    /// rate.
    pub(crate) fn smaller_rate(&self, most: Rate, end: Time) -> Option<f64> {
        let at_most = |rate: Rate| rate.min(most);
        let mean = |steps: &RateSteps| {
            let smaller = steps.map(at_most);
            smaller.mean(Time::ZERO, steps.repeat().unwrap_or(end))
        };
        if let Some(steps) = &self.steps {
            return Some(mean(steps));
        }
        let up = self.outages.up(Time::ZERO, end);
        match self.varying.as_ref()? {
            Varying::Steps(steps) => Some(up * mean(steps)),
            Varying::Markov(markov) => Some(up * markov.map(at_most).mean()),
            Varying::Opportunities(_) => None,
        }
    }

    /// All rates that it may have; of opportunities, what they are and what is between them.
    pub(crate) fn rates(&self) -> Vec<Rate> {
        let mut rates = self.line_rates();
        if let Some(shaper) = self.shaper {
            let highest = rates.iter().max().copied().unwrap_or_default();
            rates.push(shaper.rate.min(highest));
        }
        rates
    }

    fn line_rates(&self) -> Vec<Rate> {
        match &self.varying {
            None => vec![self.line_rate()],
            Some(Varying::Steps(steps)) => steps.steps().map(|(_, rate)| rate).collect(),
            Some(Varying::Markov(markov)) => markov.states.iter().map(|state| state.rate).collect(),
            Some(Varying::Opportunities(list)) => vec![list.highest(), NONE],
        }
    }

    /// The highest rate, a medium's own where it takes a share.
    pub fn highest_rate(&self) -> Rate {
        let highest = self.rates().into_iter().max().unwrap_or_default();
        self.phy.as_ref().map_or(highest, |phy| phy.highest)
    }

    /// The lowest rate, zero in an outage, between opportunities and while others have the medium.
    pub fn lowest_rate(&self) -> Rate {
        let least = self.rates().into_iter().min();
        let always = !self.outages.any() && self.medium.is_none();
        least.filter(|_| always).unwrap_or_default()
    }

    /// The lowest rate at which it sends, and the highest.
    pub fn rates_between(&self) -> (Rate, Rate) {
        let sends = self.rates().into_iter().filter(|rate| *rate != NONE);
        (sends.min().unwrap_or_default(), self.highest_rate())
    }

    /// Mean rate between two times, in bits per second; where it is drawn, that of all replications. In front
    /// of a line that changes a shaper's rate is the mean where that is less than the line's.
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        let line = self.mean_of_line(from, to);
        self.shaper.map_or(line, |shaper| {
            line.min(shaper.rate.as_bits_per_second() as f64)
        })
    }

    fn mean_of_line(&self, from: Time, to: Time) -> f64 {
        if let Some(steps) = &self.steps {
            return steps.mean(from, to);
        }
        let up = self.outages.up(from, to);
        up * match &self.varying {
            None => self.line_rate().as_bits_per_second() as f64,
            Some(Varying::Steps(steps)) => steps.mean(from, to),
            Some(Varying::Markov(markov)) => markov.mean(),
            Some(Varying::Opportunities(list)) => list.between(from, to),
        }
    }

    /// The most that it carries in the long run between two times, in bits per second: where chance has a
    /// part in that, its highest rate.
    pub fn most_carried(&self, from: Time, to: Time) -> f64 {
        let drawn = matches!(self.varying, Some(Varying::Markov(_))) || self.outages.drawn();
        if drawn || self.phy.is_some() {
            self.highest_rate().as_bits_per_second() as f64
        } else {
            self.mean_rate(from, to)
        }
    }
}

impl Scenario {
    /// A remark for each link whose rate or delay changes: what is of its average.
    ///
    /// ```
    /// use forebay_scenario::{Format, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = { steps = [["0s", "50Mbps"], ["10s", "5Mbps"]], repeat = "20s" }
    ///     buffer = "1BDP"
    ///     [[flows]]
    ///     rtt = "100ms"
    /// "#;
    /// let scenario = Scenario::parse(text, Format::Toml, "changing.toml", &[])?;
    /// assert_eq!(scenario.target().rate.to_string(), "27.5Mbps");
    /// assert_eq!(scenario.buffer().bytes, 27.5e6 / 8.0 * 0.1);
    /// assert!(scenario.averages()[0].text.contains("27.5Mbps"));
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn averages(&self) -> Vec<Warning> {
        let remark = |link: &Link| {
            if let Some(text) = link.of_medium() {
                let warning = Warning::new(WarningKind::AverageRate, text).about(&link.name);
                return Some(warning.with("average_bps", link.rate.as_bits_per_second() as f64));
            }
            let repeat = match link.varying.as_ref()? {
                Varying::Steps(steps) => steps.repeat().filter(|_| !link.outages.any()),
                Varying::Opportunities(list) => Some(list.period()),
                Varying::Markov(_) => None,
            };
            let over = match repeat {
                Some(period) => format!("its period of {period}"),
                None if link.steps.is_none() => "all time".to_owned(),
                None => format!("the run of {}", self.run().end()),
            };
            let text = format!(
                "the rate of `{}` changes: its BDP, and its buffers in time or BDP, are of the average over {over}, {}",
                link.name, link.rate
            );
            let warning = Warning::new(WarningKind::AverageRate, text).about(&link.name);
            Some(warning.with("average_bps", link.rate.as_bits_per_second() as f64))
        };
        let later = |link: &Link| {
            let Delays { steps, .. } = link.delays.as_ref()?;
            let (least, most) = (steps.least(), steps.most());
            let text = format!(
                "the delay of `{}` changes from {least} to {most}: each `rtt` is that with the shortest, and the BDP of the average",
                link.name
            );
            let warning = Warning::new(WarningKind::AverageDelay, text).about(&link.name);
            let mean = link.mean_extra_delay(self.run().end()) + least.as_secs_f64();
            Some(warning.with("average_s", mean))
        };
        let links = self.links().iter();
        let rates = links.clone().filter_map(remark);
        rates.chain(links.filter_map(later)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A continuous-time chain whose jumps are uniform stays in each state for a share of the time that
    /// its mean time is of their sum; and each stay lasts as long on average, whatever its variance.
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

    /// Of 20 s behind 5 s of warm-up: a fall at 25 s is not in it, one at its first instant is.
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
