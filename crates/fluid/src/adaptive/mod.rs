//! The adaptive integrator of the engine: closed forms while every queue is pinned, and Rosenbrock
//! steps otherwise.
//!
//! While a queue is empty or full, its delay is constant. Every window is then an explicit function
//! of time, and the next event is a root of the summed rates ([`pinned`]). A moving queue relaxes
//! within a round trip, although a cycle may last thousands of them. Therefore the method is
//! linearly implicit ([`free`], [`step`], [`stages`]); its coefficients are data
//! ([`crate::methods`]). The dense output ends a step where a queue empties or fills
//! ([`location`]). No step passes a cut or another scheduled time.

mod control;
mod events;
mod free;
pub(crate) mod location;
mod pinned;
mod sampling;
mod solver;
mod stages;
pub(crate) mod step;
#[cfg(test)]
mod tests;

use crate::adaptive::control::{Opening, StepControl};
use crate::adaptive::events::{cut, leave_limit, open_event, place_links};
use crate::adaptive::location::Ending;
use crate::adaptive::pinned::pinned_stretch;
use crate::adaptive::step::Step;
use crate::error::FluidError;
use crate::flows::with_class;
use crate::links::{Link, Mode};
use crate::methods::STANDARD;
use crate::model::FluidModel;
use crate::outcome::FluidOutcome;
use crate::rosenbrock::Rosenbrock;
use crate::run::{Integrator, Run};

/// Maximum number of steps times flows of a run.
pub(crate) const WORK_LIMIT: u64 = 4_000_000_000;

/// Runs a model with the adaptive integrator. The limits of flows ([`crate::Limits`]) are ignored.
///
/// # Errors
///
/// If [`FluidModel::check`] refuses the model, a run needs more than 4e9 flow steps, or a value is
/// not finite.
///
/// ```
/// use forebay_congestion::{fluid::FluidLaw, newreno::NewReno};
/// use forebay_fluid::{
///     Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueDistribution, Synchronization,
///     integrate,
/// };
///
/// let flow = FluidFlow {
///     propagation: 0.1,
///     law: 0,
///     path: 0,
///     size: 1.0,
///     initial_window: None,
///     limits: Limits::default(),
/// };
/// let model = FluidModel {
///     links: vec![FluidLink {
///         capacity: 1000.0,
///         steps: None,
///         buffer: 100.0,
///         background: Background::Constant(0.0),
///         queue: QueueDistribution::DropTail,
///     }],
///     target: 0,
///     paths: vec![vec![0]],
///     laws: vec![FluidLaw::NewReno(NewReno::default())],
///     flows: vec![flow],
///     synchronization: Synchronization::default(),
///     measure: Measure::WholeCycles { start: 50.0, duration: 100.0 },
///     horizon: 200.0,
///     tolerance: 1e-4,
///     trace: None,
///     seed: Default::default(),
///     cancel: Default::default(),
/// };
/// let link = &integrate(&model)?.links[0];
/// // A buffer of one bandwidth-delay product keeps the link busy through every cut.
/// assert!(link.utilization > 0.999);
/// assert_eq!(link.synchronization, Some(1.0));
/// # Ok::<(), forebay_fluid::FluidError>(())
/// ```
pub fn integrate(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    integrate_with(model, &[])
}

/// Runs a model with timeouts. `timeouts` holds, for each flow or for none, the seconds of silence
/// after a loss that only its timer detects.
///
/// # Errors
///
/// Those of [`integrate`], and a number of timeouts that is not that of the flows.
pub fn integrate_with(model: &FluidModel, timeouts: &[f64]) -> Result<FluidOutcome, FluidError> {
    integrate_by(STANDARD, model, timeouts)
}

/// The same with another Rosenbrock method.
pub(crate) fn integrate_by(
    table: &'static Rosenbrock,
    model: &FluidModel,
    timeouts: &[f64],
) -> Result<FluidOutcome, FluidError> {
    let mut run = Run::new(model, model.measure)?.with_timeouts(timeouts)?;
    let mut adaptive = Adaptive::new(&mut run, table);
    run.complete(&mut adaptive)?;
    Ok(run.outcome())
}

pub(crate) struct Adaptive {
    pub(crate) step: Step,
    control: StepControl,
}

impl Integrator for Adaptive {
    fn advance(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        let limit = run.next_event();
        let limit = limit.min(run.now + self.span_of_overflow(run));
        if limit > run.now {
            run.count_step()?;
            check_work(run)?;
            let ending = if run.links.iter().any(|link| link.mode == Mode::Free) {
                self.step.free_stretch(run, &mut self.control, limit)?
            } else {
                pinned_stretch(run, limit, self.control.restart)?
            };
            self.end_stretch(run, ending);
        }
        let changed = run.change_capacities();
        if changed || run.is_event_due() {
            while let Some(due) = run.next_cut(run.now) {
                cut(run, due);
            }
            self.control.reopen(Opening::Jump);
            place_links(run);
        }
        Ok(())
    }

    fn finish(&mut self, run: &mut Run<'_>) -> Result<(), FluidError> {
        let now = run.now;
        for class in 0..run.flows.classes.len() {
            with_class!(run.model, run.flows, class, part => part.note_peaks(now));
            if !with_class!(run.model, run.flows, class, part => part.is_sound(now)) {
                return Err(FluidError::NotFinite { time: now });
            }
        }
        Ok(())
    }
}

impl Adaptive {
    /// The integrator at the beginning of a run.
    pub(crate) fn new(run: &mut Run<'_>, table: &'static Rosenbrock) -> Self {
        let propagation = || run.flows.propagation.iter().copied();
        let shortest = propagation().fold(f64::INFINITY, f64::min);
        // Without flows, only the buffer sets a scale.
        let longest = propagation().reduce(f64::max).unwrap_or(f64::INFINITY);
        for link in &mut run.links {
            link.tolerate(run.model.tolerance, link.highest() * longest);
        }
        let restart = if shortest.is_finite() {
            0.25 * shortest
        } else {
            run.model.horizon
        };
        place_links(run);
        Self {
            step: Step::new(run, table),
            control: StepControl::new(restart),
        }
    }

    /// The longest interval during an overflow: a quarter of the shortest round trip. The rates
    /// hardly change in it, and no loss is answered.
    fn span_of_overflow(&self, run: &Run<'_>) -> f64 {
        let overflowing = run.links.iter().filter(|l| l.overflow_goes_on(run.now));
        let span = |link: &Link| self.control.restart + 0.25 * link.wait(run.now);
        overflowing.map(span).fold(f64::INFINITY, f64::min)
    }

    fn end_stretch(&mut self, run: &mut Run<'_>, ending: Ending) {
        run.links.iter_mut().for_each(Link::settle_red);
        match ending {
            Ending::None => {}
            Ending::Empties(l) => {
                run.links[l].queue = 0.0;
                run.links[l].mode = Mode::Empty;
            }
            Ending::Fills(l) => {
                run.links[l].queue = run.links[l].buffer;
                run.links[l].mode = Mode::Full;
                open_event(run, l);
            }
            Ending::Leaves(l) => {
                self.control.reopen(Opening::Overflow);
                leave_limit(run, l);
            }
            Ending::Drops(l) => open_event(run, l),
        }
    }
}

/// Refuses a run if its steps (rejected ones included) times flows exceed the work limit, or surely
/// will. After a hundredth of the work, the rest is extrapolated: losses do not become rarer once
/// the windows have grown.
fn check_work(run: &Run<'_>) -> Result<(), FluidError> {
    let flows = run.flows.len() as u64;
    let work = run.steps() * (flows + 8) + run.refused * flows;
    let ahead = work as f64 * run.model.horizon / run.now.max(1e-12);
    if work > WORK_LIMIT || work > WORK_LIMIT / 100 && ahead > 10.0 * WORK_LIMIT as f64 {
        return Err(FluidError::TooLong {
            time: run.now,
            horizon: run.model.horizon,
            limit: WORK_LIMIT,
        });
    }
    Ok(())
}
