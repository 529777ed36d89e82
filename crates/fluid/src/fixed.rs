//! The common part of the integrators with a fixed step size: windows by slot, arrivals by link,
//! and the step.

use crate::error::FluidError;
use crate::flows::with_class;
use crate::run::Run;

/// Maximum number of steps times flows of a run.
const WORK_LIMIT: u64 = 20_000_000_000;

/// Windows and arrivals of a run with steps of a fixed size.
#[derive(Debug)]
pub(crate) struct FixedSteps {
    /// Size of a step in seconds, and of the current one, which ends at a change of a capacity.
    pub(crate) size: f64,
    pub(crate) span: f64,
    /// Time of the latest change, and the number of steps since then.
    origin: f64,
    since: u64,
    /// Windows by slot, in packets.
    pub(crate) windows: Vec<f64>,
    /// Packets that arrive at each link in the step.
    pub(crate) arrived: Vec<f64>,
}

impl FixedSteps {
    /// Steps of `size` seconds from time 0. More than 2e10 flow steps are an error.
    pub(crate) fn new(run: &mut Run<'_>, size: f64) -> Result<Self, FluidError> {
        let horizon = run.model.horizon;
        let steps = horizon / size + 2.0 * run.model.changes();
        let work = steps * (run.model.flows.len() + 8) as f64;
        if work > WORK_LIMIT as f64 {
            return Err(FluidError::TooLong {
                time: 0.0,
                horizon,
                limit: WORK_LIMIT,
            });
        }
        let mut windows = vec![0.0; run.flows.len()];
        for class in 0..run.flows.classes.len() {
            with_class!(run.model, run.flows, class, part => {
                part.pinned_windows((0.0, 0.0, 0.0), |slot, w| windows[slot] = w);
            });
        }
        Ok(Self {
            size,
            span: size,
            origin: 0.0,
            since: 0,
            windows,
            arrived: vec![0.0; run.links.len()],
        })
    }

    /// Begins a step with the arrivals of the background.
    #[inline]
    pub(crate) fn begin(&mut self, run: &Run<'_>) {
        let room = run.next_change() - run.now;
        self.span = self.size.min(room);
        for l in 0..run.links.len() {
            self.arrived[l] = run.links[l].background * self.span;
        }
    }

    /// Records every sample that is due.
    #[inline]
    pub(crate) fn sample(&self, run: &mut Run<'_>) {
        if run.samples.next <= run.now {
            self.sample_all_due(run);
        }
    }

    fn sample_all_due(&self, run: &mut Run<'_>) {
        while run.samples.next <= run.now {
            for (slot, &number) in run.flows.number.iter().enumerate() {
                run.samples.trace.windows[number as usize].push(self.windows[slot]);
            }
            for (l, link) in run.links.iter().enumerate() {
                let used = link.used(link.queue, self.arrived[l] / self.span);
                run.samples.push_link(l, link.queue, used);
            }
            run.samples.finish();
        }
    }

    /// Ends a step.
    #[inline]
    pub(crate) fn end(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        run.count_step()?;
        self.since += 1;
        run.now = self.origin + self.since as f64 * self.size;
        if run.next_change() <= run.now {
            run.now = run.next_change();
            (self.origin, self.since) = (run.now, 0);
            run.change_capacities();
        }
        Ok(())
    }

    /// Refuses windows that are not finite.
    pub(crate) fn check(&self, now: f64) -> Result<(), FluidError> {
        if self.windows.iter().all(|w| w.is_finite()) {
            Ok(())
        } else {
            Err(FluidError::NotFinite { time: now })
        }
    }
}
