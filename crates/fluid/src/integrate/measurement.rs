//! What is measured, from when to when, and what a run found in the end.

use super::Run;
use crate::links::Link;
use crate::model::Measure;
use crate::outcome::{FluidOutcome, MeasuredBy, jain, link_outcome};
use crate::tally::Tally;

/// What is measured, from when to when.
pub(super) struct Measurement {
    pub(super) from: f64,
    pub(super) end: f64,
    pub(super) by: MeasuredBy,
    pub(super) phase: Phase,
    /// The counts at the latest event, for whole cycles.
    pub(super) closed: Option<Closed>,
}

/// How far the measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It may not start yet.
    Before,
    /// It runs; a first congestion event will start it anew where cycles are measured.
    Open,
    /// It runs from the first congestion event.
    Cycles,
}

/// Counts at the end of the last whole cycle.
pub(super) struct Closed {
    pub(super) at: f64,
    pub(super) cycles: u64,
    pub(super) tallies: Vec<Tally>,
    pub(super) sent: Vec<f64>,
    pub(super) lost: Vec<f64>,
}

impl Run<'_> {
    /// A congestion event of the target link begins or ends measured cycles.
    pub(super) fn delimit(&mut self) {
        let Some(duration) = self.model.measure.duration() else {
            return;
        };
        match self.measurement.phase {
            Phase::Before => {}
            Phase::Open => {
                self.begin_measurement();
                self.measurement.phase = Phase::Cycles;
                self.measurement.end = self.model.horizon.min(self.now + duration);
                if let Measure::FromFirstEvent { .. } = self.model.measure {
                    self.measurement.by = MeasuredBy::FirstEvent;
                }
            }
            Phase::Cycles => {
                if let Measure::WholeCycles { .. } = self.model.measure {
                    self.close_cycle();
                }
            }
        }
    }

    pub(super) fn begin_measurement(&mut self) {
        self.measurement.phase = Phase::Open;
        self.measurement.from = self.now;
        self.flows.reset_counts();
        for link in &mut self.links {
            link.tally.reset();
        }
    }

    /// Keeps the counts at the end of a whole cycle.
    fn close_cycle(&mut self) {
        let (links, flows, now) = (&self.links, &self.flows, self.now);
        self.measurement.by = MeasuredBy::WholeCycles;
        let closed = self.measurement.closed.get_or_insert_with(|| Closed {
            at: now,
            cycles: 0,
            tallies: links.iter().map(|link| link.tally.clone()).collect(),
            sent: Vec::new(),
            lost: Vec::new(),
        });
        closed.at = now;
        closed.cycles += 1;
        closed.sent.clone_from(&flows.sent);
        closed.lost.clone_from(&flows.lost);
        for (kept, link) in closed.tallies.iter_mut().zip(links) {
            kept.copy_from(&link.tally);
        }
    }

    pub(super) fn outcome(self) -> FluidOutcome {
        let conservation = self.links.iter().map(Link::defect).fold(0.0, f64::max);
        let measurement = self.measurement;
        let (to, tallies, sent, lost) = match measurement.closed {
            Some(closed) => (closed.at, closed.tallies, closed.sent, closed.lost),
            None => (
                self.now,
                self.links.iter().map(|link| link.tally.clone()).collect(),
                self.flows.sent.clone(),
                self.flows.lost.clone(),
            ),
        };
        let time = to - measurement.from;
        let links = tallies
            .iter()
            .zip(&self.links)
            .map(|(tally, link)| link_outcome(tally, link.capacity, time))
            .collect();
        let mut goodput = vec![0.0; sent.len()];
        let mut loss = vec![0.0; sent.len()];
        let mut bytes = Vec::with_capacity(sent.len());
        for (slot, &number) in self.flows.number.iter().enumerate() {
            let rate = (sent[slot] - lost[slot]) / time;
            goodput[number as usize] = rate;
            loss[number as usize] = if sent[slot] > 0.0 {
                lost[slot] / sent[slot]
            } else {
                0.0
            };
            bytes.push(rate * self.flows.classes[self.flows.class_of[slot] as usize].size);
        }
        FluidOutcome {
            from: measurement.from,
            to,
            measured_by: measurement.by,
            links,
            goodput,
            loss,
            sent: self.flows.by_number(&sent),
            peak_window: self.flows.by_number(&self.flows.peak_window),
            jain: jain(&bytes),
            trace: self.trace,
            conservation,
            steps: self.steps,
            refused: self.refused,
        }
    }
}
