//! Scheduled events of a run: cuts, ends of congestion events, redrawn backgrounds, the start of
//! the measurement, and changes of capacities.

use super::{Run, next_change};
use crate::schedule::{Cause, Occurrence};

/// A cut that a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) slot: usize,
    pub(crate) cause: Cause,
}

impl Run<'_> {
    /// Time of the next scheduled event, change of a capacity or end of the measurement, which no
    /// step passes.
    #[inline]
    pub(crate) fn next_event(&self) -> f64 {
        let scheduled = self.schedule.next_time().min(self.measurement.end);
        scheduled.min(self.next_change)
    }

    /// Whether a scheduled event is due.
    #[inline]
    pub(crate) fn is_event_due(&self) -> bool {
        self.schedule.next_time() <= self.now
    }

    /// Time of the next change of a link's capacity or of the senders' knowledge.
    #[inline]
    pub(crate) fn next_change(&self) -> f64 {
        self.next_change
    }

    /// Schedules a cut of a flow.
    pub(crate) fn schedule_cut(&mut self, time: f64, cut: Cut) {
        let (cause, slot) = (cut.cause, cut.slot as u32);
        self.schedule.enter(time, Occurrence::Cut { cause, slot });
    }

    /// Applies the changes of capacities and of the senders' knowledge that are due. Returns
    /// whether any is.
    pub(crate) fn change_capacities(&mut self) -> bool {
        let due = self.next_change <= self.now;
        if due {
            let (now, end) = (self.now, self.measurement.end);
            for link in &mut self.links {
                if link.change(now) && now < end {
                    link.count_fall(now);
                }
            }
            self.next_change = next_change(&self.links);
        }
        due
    }

    /// Applies the events that are due at `until`, up to the next cut, which the integrator makes.
    #[inline]
    pub(crate) fn next_cut(&mut self, until: f64) -> Option<Cut> {
        if self.schedule.next_time() <= until {
            return self.take_due(until);
        }
        None
    }

    #[inline(never)]
    fn take_due(&mut self, until: f64) -> Option<Cut> {
        while let Some(what) = self.schedule.take_due(until) {
            match what {
                Occurrence::Cut { cause, slot } => {
                    let slot = slot as usize;
                    return Some(Cut { slot, cause });
                }
                Occurrence::Close { link } => self.links[link as usize].close_event(),
                Occurrence::Redraw { link: number } => {
                    let link = &mut self.links[number as usize];
                    link.redraw();
                    if let Some(interval) = link.redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => {
                    self.measurement
                        .begin(self.now, &mut self.flows, &mut self.links);
                }
            }
        }
        None
    }
}
