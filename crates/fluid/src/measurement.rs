//! The measured part of a run: its limits, and the counts within them.

use crate::counters::LinkCounters;
use crate::flows::Flows;
use crate::links::Link;
use crate::model::Measure;
use crate::outcome::MeasuredBy;

/// Limits and counts of the measured part of a run.
#[derive(Debug)]
pub(crate) struct Measurement {
    measure: Measure,
    horizon: f64,
    /// Start of the measurement, and end of the run, in seconds.
    pub(crate) from: f64,
    pub(crate) end: f64,
    pub(crate) by: MeasuredBy,
    phase: Phase,
    /// Counts at the latest event, for whole cycles.
    closed: Option<Counts>,
}

/// Progress of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before its earliest start.
    Before,
    /// Running. If cycles are measured, a first congestion event restarts it.
    Open,
    /// Running since the first congestion event.
    Cycles,
}

/// All counts up to a time.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Time of the counts, in seconds.
    pub(crate) at: f64,
    /// Counts by link.
    pub(crate) tallies: Vec<LinkCounters>,
    /// Packets by slot.
    pub(crate) sent: Vec<f64>,
    pub(crate) lost: Vec<f64>,
}

impl Measurement {
    /// A measurement before its earliest start, in a run that ends at `horizon` at the latest.
    pub(crate) fn new(measure: Measure, horizon: f64) -> Self {
        Self {
            measure,
            horizon,
            from: 0.0,
            end: horizon,
            by: match measure {
                Measure::Fixed { .. } => MeasuredBy::Time,
                _ => MeasuredBy::TooFewEvents,
            },
            phase: Phase::Before,
            closed: None,
        }
    }

    /// Starts the counts at `now`.
    pub(crate) fn begin(&mut self, now: f64, flows: &mut Flows, links: &mut [Link]) {
        self.phase = Phase::Open;
        self.from = now;
        flows.reset_counts();
        for link in links {
            link.begin(now);
        }
    }

    /// Starts or ends measured cycles at a congestion event of the target link at `now`.
    pub(crate) fn delimit(&mut self, now: f64, flows: &mut Flows, links: &mut [Link]) {
        let Some(duration) = self.measure.duration() else {
            return;
        };
        match self.phase {
            Phase::Before => {}
            Phase::Open => {
                self.begin(now, flows, links);
                self.phase = Phase::Cycles;
                self.end = self.horizon.min(now + duration);
                if let Measure::FromFirstEvent { .. } = self.measure {
                    self.by = MeasuredBy::FirstEvent;
                }
            }
            Phase::Cycles => {
                if let Measure::WholeCycles { .. } = self.measure {
                    self.by = MeasuredBy::WholeCycles;
                    match &mut self.closed {
                        Some(closed) => closed.renew(now, flows, links),
                        None => self.closed = Some(Counts::new(now, flows, links)),
                    }
                }
            }
        }
    }

    /// The counts at the end of the measurement: at the last whole cycle, or now.
    pub(crate) fn counts(&mut self, now: f64, flows: &Flows, links: &[Link]) -> Counts {
        let closed = self.closed.take();
        closed.unwrap_or_else(|| Counts::new(now, flows, links))
    }
}

impl Counts {
    fn new(at: f64, flows: &Flows, links: &[Link]) -> Self {
        Self {
            at,
            tallies: links
                .iter()
                .map(|link| {
                    let mut counters = link.counters.clone();
                    counters.waiting += link.still_to_wait(at);
                    counters
                })
                .collect(),
            sent: flows.sent.clone(),
            lost: flows.lost.clone(),
        }
    }

    /// Updates the counts to a later time without allocating.
    fn renew(&mut self, at: f64, flows: &Flows, links: &[Link]) {
        self.at = at;
        self.sent.clone_from(&flows.sent);
        self.lost.clone_from(&flows.lost);
        for (kept, link) in self.tallies.iter_mut().zip(links) {
            kept.copy_from(&link.counters);
            kept.waiting += link.still_to_wait(at);
        }
    }
}
