//! The rate of a link over time: as it is written, after a shaper, and on average. Engines and
//! formulas ask a link for it.

use std::sync::Arc;

use forebay_random::Seed;
use forebay_units::{Bytes, Opportunities, Rate, RateSteps, Time};

use crate::model::link::Link;
use crate::model::options::RunPlan;
use crate::model::varying::{MOST_CHANGES, NONE, RATE, Varying};
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

impl Link {
    /// Resolves how the rate changes, and averages it: over a period, or over the run where the
    /// rate does not repeat.
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
                return Err(at.error_found("outages with opportunities", "opportunities with gaps"));
            }
            over = end;
            mean *= outages.up(Time::ZERO, end);
        }
        let changes = self.most_changes(end);
        if changes > MOST_CHANGES {
            let found = format!("about {changes:.0} changes of the rate in {end}");
            return Err(at.error_found(found, "at most a million, by longer times"));
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
            let found = format!("0bps in the whole measured time, {} to {end}", run.warmup);
            return Err(at.error_found(found, "a rate above 0bps in the measured time"));
        }
        Ok(())
    }

    /// Whether its rate changes.
    pub fn changes(&self) -> bool {
        self.varying.is_some()
    }

    /// Whether it is now below its average rate and now above: a rate that changes, unlike
    /// opportunities.
    pub fn has_phases(&self) -> bool {
        self.changes() && self.opportunities().is_none()
    }

    /// Whether its rate falls in the measured time; where it is drawn, it may.
    pub fn falls(&self, run: &RunPlan) -> bool {
        let fall = self.steps.as_ref().map(|steps| steps.next_fall(run.warmup));
        fall.map_or(self.has_phases(), |at| at.is_some_and(|at| at < run.end()))
    }

    /// The rate as time goes on in a run that lasts until `end`, where it changes and is a rate:
    /// where it is drawn, that of the replication of this seed at the link of this number.
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

    /// Bits per second that it has on average until `end`, where it changes and is at no instant
    /// above this rate.
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

    /// Mean rate between two times, in bits per second; where it is drawn, that of all
    /// replications. In front of a line that changes a shaper's rate is the mean where that is less
    /// than the line's.
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

    /// The most that it carries in the long run between two times, in bits per second: where chance
    /// has a part in that, its highest rate.
    pub fn most_carried(&self, from: Time, to: Time) -> f64 {
        let drawn = matches!(self.varying, Some(Varying::Markov(_))) || self.outages.drawn();
        if drawn || self.phy.is_some() {
            self.highest_rate().as_bits_per_second() as f64
        } else {
            self.mean_rate(from, to)
        }
    }
}

impl Link {
    /// Lowers the rate to that of its shaper: `rate` is what it carries as time goes on, in a run
    /// that lasts until `end` the average of the smaller one at each instant.
    pub(crate) fn shape(&mut self, table: &Cursor<'_>, end: Time) -> Result<(), ScenarioError> {
        let Some(shaper) = self.shaper else {
            return Ok(());
        };
        let at = table.get("shaper").unwrap_or_else(|| table.clone());
        if self.opportunities().is_some() {
            let allowed = "a rate (`as = \"rate\"` converts opportunities to a rate)";
            return Err(at.error_found("a shaper in front of opportunities", allowed));
        }
        if self.outages.flush {
            let allowed = "outages in which the queue waits, or no shaper";
            return Err(at.error_found("a shaper with outages that empty the queue", allowed));
        }
        if let Some(Varying::Steps(steps)) = &self.varying
            && let Some(period) = steps.repeat()
        {
            // They are looked at one by one.
            let changes = end.as_secs_f64() / period.as_secs_f64() * steps.steps().count() as f64;
            if changes > MOST_CHANGES {
                let found =
                    format!("about {changes:.0} changes of the rate after the shaper in {end}");
                return Err(at.error_found(found, "at most a million, by longer times"));
            }
        }
        self.line = Some(self.rate);
        self.rate = match self.smaller_rate(shaper.rate, end) {
            None => self.rate.min(shaper.rate),
            Some(mean) => Rate::from_bits_per_second(mean.round() as u64),
        };
        if self.rate < RATE.least {
            let found = format!("an average of {} after the shaper", self.rate);
            return Err(at.error_found(found, "an average of 1kbps at least"));
        }
        Ok(())
    }

    /// The rate at which each packet is sent: where a shaper empties the queue, that of the line
    /// behind it.
    pub fn line_rate(&self) -> Rate {
        self.line.unwrap_or(self.rate)
    }

    /// Bytes that may leave at once beyond the rate, from the tokens of a shaper.
    ///
    /// ```
    /// use forebay_scenario::{Format, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = "1Gbps"
    ///     buffer = "1BDP"
    ///     shaper = { rate = "100Mbps", burst = "15kB" }
    ///     [[flows]]
    ///     rtt = "10ms"
    /// "#;
    /// let scenario = Scenario::parse(text, Format::Toml, "shaped.toml", &[])?;
    /// let link = scenario.target();
    /// assert_eq!((link.rate.to_string(), link.line_rate().to_string()), ("100Mbps".into(), "1Gbps".into()));
    /// assert_eq!(scenario.buffer().bytes, 125e3);
    /// assert_eq!(link.saved().to_string(), "15kB");
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn saved(&self) -> Bytes {
        self.shaper.map_or(Bytes::ZERO, |shaper| shaper.burst)
    }
}
