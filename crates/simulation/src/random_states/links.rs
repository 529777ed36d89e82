//! The random states of links: rates and outages that replications draw, media that lose in bursts,
//! and schedules that a run does not see whole.

use forebay_scenario::{
    FlowGroup, GilbertElliott, Link, Outages, RunPlan, Scenario, Varying, Workload,
};
use forebay_units::Time;

use super::state::{Found, MOST_EVENTS, Rarer, StateKind, seconds};

/// The random states of one link, if any group crosses it.
pub(crate) fn of_link<'a>(scenario: &'a Scenario, number: usize) -> Vec<Found<'a>> {
    let mut groups = scenario.flows().iter();
    if !groups.any(|group| group.crosses(number) || group.reverse.contains(&number)) {
        return Vec::new();
    }
    let link = &scenario.links()[number];
    let prefix = if number == scenario.target_index() {
        "link".to_owned()
    } else {
        format!("links.{}", link.name)
    };
    let crossed = Crossed {
        link,
        number,
        prefix,
        run: scenario.run(),
        packet_bytes: scenario.packet_bytes(),
    };
    let mut all: Vec<Found<'a>> = crossed.rate().into_iter().collect();
    all.extend(crossed.delay());
    all.extend(crossed.outages());
    all.extend(crossed.loss());
    all.extend(crossed.random_loss(scenario));
    all
}

/// A link of the scenario that packets cross.
struct Crossed<'a> {
    link: &'a Link,
    number: usize,
    /// Path of the link's keys.
    prefix: String,
    run: RunPlan,
    packet_bytes: f64,
}

impl<'a> Crossed<'a> {
    fn names(&self, key: &str, subject: &str, at: &str) -> (String, String) {
        let key = format!("{}.{key}", self.prefix);
        (key, format!("{subject} {at} link `{}`", self.link.name))
    }

    fn rate(&self) -> Option<Found<'a>> {
        match self.link.varying.as_ref()? {
            Varying::Markov(markov) => {
                if markov.changes() * self.run.end().as_secs_f64() > MOST_EVENTS {
                    return None;
                }
                let rarest = markov.states.iter().min_by_key(|state| state.mean_time)?;
                let times = markov.states.iter().map(|state| state.mean_time);
                let cycle = times.map(Time::as_secs_f64).sum();
                let rarer = Rarer::of_flows(1, rarest.mean_time.as_secs_f64(), cycle);
                let names = self.names("rate.markov", &format!("A rate of {}", rarest.rate), "on");
                let found = Found::of_process(StateKind::MarkovRate, names, &rarer);
                let (number, window) = (self.number, rarer.window(&self.run));
                Some(found.sampled(move |seed| {
                    let steps = markov.realized(seed, number, window.to);
                    steps.map_or(0.0, |steps| steps.mean(window.from, window.to))
                }))
            }
            // The rate of a link with outages is one step.
            Varying::Steps(steps) if steps.constant().is_some() => None,
            Varying::Steps(steps) => {
                let begins: Vec<Time> = steps.steps().map(|(begin, _)| begin).collect();
                self.schedule("rate", &begins, steps.repeat())
            }
            Varying::Opportunities(list) => {
                let period = list.period();
                let missed = period > self.run.end();
                missed.then(|| self.cycle("rate.opportunities", "the rate", period))
            }
        }
    }

    fn delay(&self) -> Option<Found<'a>> {
        let steps = &self.link.delays.as_ref()?.steps;
        let begins: Vec<Time> = steps.steps().map(|(begin, _)| begin).collect();
        self.schedule("delay", &begins, steps.repeat())
    }

    /// Steps that the run does not see whole.
    fn schedule(&self, of: &str, begins: &[Time], repeat: Option<Time>) -> Option<Found<'a>> {
        let missed = missed_step(begins, repeat, &self.run)?;
        let (key, subject) = (format!("{of}.steps"), format!("the {of}"));
        if let Some(period) = repeat {
            return Some(self.cycle(&key, &subject, period));
        }
        let (key, subject) = self.names(&key, &format!("A step of {subject}"), "of");
        let phrase = format!("{subject} at {}", seconds(missed.as_secs_f64()));
        Some(Found::scheduled(key, phrase, missed))
    }

    fn cycle(&self, key: &str, subject: &str, period: Time) -> Found<'a> {
        let cycle = seconds(period.as_secs_f64());
        let subject = format!("The cycle of {cycle} of {subject}");
        let (key, phrase) = self.names(key, &subject, "of");
        Found::scheduled(key, phrase, period)
    }

    fn outages(&self) -> Option<Found<'a>> {
        let outages = &self.link.outages;
        let (Some(between), Some(duration)) = (&outages.between, &outages.duration) else {
            return self.listed(outages);
        };
        let (up, out) = (between.mean(), duration.mean());
        if self.run.end().as_secs_f64() / (up + out) > MOST_EVENTS {
            return None;
        }
        let subject = if out <= up { "An outage" } else { "An uptime" };
        let names = self.names("outages", subject, "of");
        let rarer = Rarer::of_flows(1, out.min(up), up + out);
        let (number, window) = (self.number, rarer.window(&self.run));
        let found = Found::of_process(StateKind::Outages, names, &rarer);
        Some(found.sampled(move |seed| {
            let times = outages.realized(seed, number, window.to);
            let times = times.into_iter();
            let lengths = times.map(|(begin, end)| window.overlap(begin, end).as_secs_f64());
            lengths.sum()
        }))
    }

    /// The first listed outage that the run does not reach.
    fn listed(&self, outages: &Outages) -> Option<Found<'a>> {
        let end = self.run.end();
        let mut times = outages.times.iter();
        let (begin, _) = times.find(|(begin, _)| *begin >= end)?;
        let (key, subject) = self.names("outages", "An outage", "of");
        let phrase = format!("{subject} at {}", seconds(begin.as_secs_f64()));
        Some(Found::scheduled(key, phrase, *begin))
    }

    /// Bursts of losses, if a link that is never idle sees less than a cycle of them in the
    /// measured time.
    fn loss(&self) -> Option<Found<'a>> {
        let distribution = self.link.loss.gilbert_elliott?;
        let GilbertElliott {
            to_bad, to_good, ..
        } = distribution;
        if to_bad <= 0.0 || distribution.bad.total_cmp(&distribution.good).is_eq() {
            return None;
        }
        let rate = self.link.rate.as_bytes_per_second();
        let packet_s = self.packet_bytes / rate;
        let (subject, rarer_end) = if to_good >= to_bad {
            ("A burst of losses", to_good)
        } else {
            ("A time without a burst of losses", to_bad)
        };
        let cycle_s = packet_s * (1.0 / to_bad + 1.0 / to_good);
        let rarer = Rarer::of_flows(1, packet_s / rarer_end, cycle_s);
        let names = self.names("loss.gilbert_elliott", subject, "on");
        let found = Found::of_process(StateKind::GilbertElliott, names, &rarer);
        (cycle_s > self.run.measure.as_secs_f64()).then_some(found)
    }

    /// Single random losses, if most runs have none although one run in [`SELDOM`] has one.
    fn random_loss(&self, scenario: &Scenario) -> Option<Found<'a>> {
        let share = self.link.loss.random;
        let groups = scenario.flows().iter();
        let crossing = groups.filter(|group| group.crosses(self.number));
        let offered: Option<f64> = crossing.map(offered).sum();
        let carried = self.link.rate.as_bits_per_second() as f64;
        let packets = offered.unwrap_or(carried).min(carried) / (8.0 * self.packet_bytes);
        let cycle_s = 1.0 / (share * packets);
        let measure_s = self.run.measure.as_secs_f64();
        if !(measure_s..SELDOM * measure_s).contains(&cycle_s) {
            return None;
        }
        let rarer = Rarer::of_flows(1, 0.0, cycle_s);
        let names = self.names("loss.random", "A random loss", "on");
        Some(Found::of_process(StateKind::RandomLoss, names, &rarer))
    }
}

/// Runs of which one has a random loss, beyond which the loss is too rare to decide a goal on a
/// mean.
const SELDOM: f64 = 100.0;

/// Mean load of a group in bits per second; none if the network decides it.
fn offered(group: &FlowGroup) -> Option<f64> {
    let periodic = || match &group.workload {
        Workload::Periodic { every, size } => {
            Some(8.0 * size.mean() / every.mean() * group.count as f64)
        }
        _ => None,
    };
    let rate = group.unresponsive_rate().or_else(|| group.open_loop_rate());
    rate.or_else(periodic)
}

/// The beginning of the first step that the run misses: of steps that repeat, one of which nothing
/// lies in the measured time, or any if the run is shorter than a period; of others, one that
/// begins after the run.
fn missed_step(begins: &[Time], repeat: Option<Time>, run: &RunPlan) -> Option<Time> {
    let end = run.end();
    let Some(period) = repeat else {
        return begins.iter().find(|begin| **begin >= end).copied();
    };
    let ends = begins.iter().skip(1).copied().chain([period]);
    let is_seen = |begin: Time, over: Time| {
        // The first repetition of the step that ends within or after the measured time.
        let late = (run.warmup + Time::from_picos(1)).saturating_sub(over);
        let periods = late.as_picos().div_ceil(period.as_picos());
        begin.saturating_add(period.saturating_mul(periods)) < end
    };
    let mut steps = begins.iter().copied().zip(ends);
    let unseen = steps.find(|&(begin, over)| !is_seen(begin, over));
    let unseen = unseen.map(|(begin, _)| begin);
    unseen.or_else(|| (period > end).then_some(begins[begins.len() - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step is missed if no instant of the measured time lies in any repetition of it.
    #[test]
    fn a_missed_step_is_one_that_no_measured_second_shows() {
        let second = Time::from_secs;
        for (period, warmup, measure) in
            (6..40).flat_map(|p| (0..30).flat_map(move |w| (1..30).map(move |m| (p, w, m))))
        {
            let begins = [0, 2, 5];
            let run = RunPlan {
                warmup: second(warmup),
                measure: second(measure),
                seed: 1,
                replications: 1,
            };
            let number = |at: u64| begins.iter().filter(|begin| **begin <= at % period).count() - 1;
            let mut seen = [false; 3];
            for at in warmup..warmup + measure {
                seen[number(at)] = true;
            }
            let begins = begins.map(second);
            let first = seen.iter().position(|seen| !seen).map(|step| begins[step]);
            let expected = first.or((period > warmup + measure).then_some(begins[2]));
            let found = missed_step(&begins, Some(second(period)), &run);
            assert_eq!(found, expected, "{period} {warmup} {measure}");
        }
    }
}
