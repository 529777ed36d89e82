//! The product integrator: closed forms while every queue is pinned, Rosenbrock steps otherwise.
//!
//! While a queue is empty or full its delay is constant, every window is an explicit function of
//! time and the next event is a root of the summed rates. While a queue moves it relaxes within a
//! round trip although a cycle may last thousands of them, hence a linearly implicit method; its
//! Jacobian is an arrow whose flow block vanishes ([`crate::flows`]), so a step costs O(flows).
//! A step ends early, by its dense output, where a queue empties or fills; cuts and other known
//! times are never stepped over.

use crate::dense::Dense;
use crate::flows::{Base, Combination, Flows, Method, StagePoint, with_class};
use crate::links::{Link, Mode, RedStretch, Stretch};
use crate::model::{FluidError, FluidModel, Measure};
use crate::outcome::{FluidOutcome, LinkOutcome, MeasuredBy, Trace, jain};
use crate::rosenbrock::{
    ALPHA, ERROR, GAMMA, GAMMA_SUMS, GAMMAS, NODES, STAGES, dense_polynomial, dense_weights, dot,
    jacobian_weights,
};
use crate::schedule::{Occurrence, Schedule};
use crate::synchronisation::Candidate;
use crate::tally::Tally;

/// Steps times flows after which a run is given up.
const WORK_LIMIT: u64 = 4_000_000_000;

/// Runs a model by the adaptive integrator, without the flows' limits ([`crate::Limits`]).
///
/// # Errors
///
/// A model that [`FluidModel::check`] refuses, a run of more than 4e9 flow steps, or one that
/// leaves the finite numbers.
pub fn integrate(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    model.check()?;
    let mut run = Run::new(model);
    run.go()?;
    Ok(run.outcome())
}

/// State of a run.
struct Run<'m> {
    model: &'m FluidModel,
    flows: Flows,
    links: Vec<Link>,
    now: f64,
    schedule: Schedule,
    classes: Vec<ClassStep>,
    solver: Solver,
    /// How the step at hand is made.
    method: Method,
    /// Step that the error control suggests.
    suggested: f64,
    /// A quarter of the shortest round trip: below it a step is short.
    restart: f64,
    /// The jump that the next step follows, and the step that served after the last of each kind.
    opening: Option<Opening>,
    openings: [f64; 2],
    candidates: Vec<Candidate>,
    red_stretches: Vec<Option<RedStretch>>,
    measurement: Measurement,
    trace: Trace,
    next_sample: f64,
    work: u64,
    steps: u64,
    refused: u64,
}

/// A class's part of the step being tried.
#[derive(Clone, Copy, Debug, Default)]
struct ClassStep {
    base: Base,
    /// Queueing delay at the start of the step.
    delay: f64,
    /// G_m: sum over j <= m of gamma_mj times the stages of the delay.
    delay_sums: [f64; STAGES],
    /// Sum over the flows of dA/dv times the stages of v.
    coupled: [f64; STAGES],
    /// Derivative of the queueing delay at the start of the step.
    delay_rate: f64,
}

/// The free links and their small dense system.
#[derive(Clone, Debug, Default)]
struct Solver {
    free: Vec<usize>,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

/// What is measured, from when to when.
struct Measurement {
    from: f64,
    end: f64,
    by: MeasuredBy,
    phase: Phase,
    /// The counts at the latest event, for whole cycles.
    closed: Option<Closed>,
}

/// How far the measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It may not start yet.
    Before,
    /// It runs; a first congestion event will start it anew where cycles are measured.
    Open,
    /// It runs from the first congestion event.
    Cycles,
}

/// Counts at the end of the last whole cycle.
struct Closed {
    at: f64,
    cycles: u64,
    tallies: Vec<Tally>,
    sent: Vec<f64>,
    lost: Vec<f64>,
}

/// A jump after which the error control has no history to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// Something scheduled: a cut, or a new background rate.
    Jump,
    /// Arrivals have passed the capacity of an empty link.
    Overflow,
}

/// What ends a stretch before its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    None,
    /// The queue of a link empties.
    Empties(usize),
    /// The queue of a link fills.
    Fills(usize),
    /// Arrivals at a pinned link pass its capacity.
    Leaves(usize),
    /// RED at a link expects its first drop.
    Drops(usize),
}

impl<'m> Run<'m> {
    fn new(model: &'m FluidModel) -> Self {
        let flows = Flows::new(model);
        let crowd = model.crowd();
        let links: Vec<Link> = (0..model.links.len())
            .map(|l| Link::new(&model.links[l], l, crowd[l], model.seed))
            .collect();
        let mut schedule = Schedule::with_room(flows.len() + 3 * links.len() + 1);
        for (number, link) in links.iter().enumerate() {
            if let Some(interval) = link.redraw_interval() {
                schedule.enter(
                    interval,
                    Occurrence::Redraw {
                        link: number as u32,
                    },
                );
            }
        }
        schedule.enter(model.measure.start(), Occurrence::Measure);
        let by = match model.measure {
            Measure::Fixed { .. } => MeasuredBy::Time,
            _ => MeasuredBy::TooFewEvents,
        };
        let shortest = flows
            .propagation
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let restart = if shortest.is_finite() {
            0.25 * shortest
        } else {
            model.horizon
        };
        Self {
            classes: vec![ClassStep::default(); flows.classes.len()],
            candidates: Vec::with_capacity(flows.len()),
            red_stretches: vec![None; links.len()],
            measurement: Measurement {
                from: 0.0,
                end: model.horizon,
                by,
                phase: Phase::Before,
                closed: None,
            },
            trace: Trace::for_model(model),
            next_sample: if model.trace.is_some() {
                0.0
            } else {
                f64::INFINITY
            },
            model,
            flows,
            links,
            now: 0.0,
            schedule,
            solver: Solver::default(),
            method: Method::default(),
            suggested: restart,
            restart,
            opening: None,
            openings: [restart; 2],
            work: 0,
            steps: 0,
            refused: 0,
        }
    }

    fn go(&mut self) -> Result<(), FluidError> {
        self.place_links();
        while self.now < self.measurement.end {
            let limit = self.schedule.next_time().min(self.measurement.end);
            if limit > self.now {
                self.charge()?;
                if self.links.iter().any(|link| link.mode == Mode::Free) {
                    self.free_stretch(limit)?;
                } else {
                    self.pinned_stretch(limit)?;
                }
            }
            if self.schedule.next_time() <= self.now {
                self.occur();
            }
        }
        let now = self.now;
        for class in 0..self.flows.classes.len() {
            with_class!(self.model, self.flows, class, part => part.note_peaks(now));
            if !with_class!(self.model, self.flows, class, part => part.is_sound(now)) {
                return Err(FluidError::NotFinite { time: now });
            }
        }
        Ok(())
    }

    /// Counts a stretch against the limit on work.
    fn charge(&mut self) -> Result<(), FluidError> {
        self.steps += 1;
        if self.steps.is_multiple_of(1024) && forebay_scenario::interrupted() {
            return Err(FluidError::Interrupted);
        }
        self.work += self.flows.len() as u64 + 8;
        if self.work > WORK_LIMIT {
            return Err(FluidError::TooLong {
                time: self.now,
                horizon: self.model.horizon,
                limit: WORK_LIMIT,
            });
        }
        Ok(())
    }

    fn path(&self, class: usize) -> &'m [usize] {
        &self.model.paths[self.flows.classes[class].path]
    }

    /// Queueing delay along a class's path now.
    fn delay(&self, class: usize) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].delay())
            .sum()
    }

    /// Packets per second that the flows offer a link now.
    fn arrivals(&mut self, link: usize) -> f64 {
        let now = self.now;
        let mut sum = 0.0;
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                let delay = self.delay(class);
                let rate =
                    with_class!(self.model, self.flows, class, part => part.rate(now, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// What the flows will offer a link `span` seconds on if no delay changes, with three
    /// derivatives.
    fn arrivals_ahead(&mut self, link: usize, span: f64) -> [f64; 4] {
        let now = self.now;
        let mut sums = [0.0; 4];
        for class in 0..self.flows.classes.len() {
            if self.path(class).contains(&link) {
                let delay = self.delay(class);
                let rates = with_class!(self.model, self.flows, class, part => part.rate_ahead(now, span, delay));
                let size = self.flows.classes[class].size;
                for (sum, rate) in sums.iter_mut().zip(rates) {
                    *sum += size * rate;
                }
            }
        }
        sums
    }

    /// Places every queue in its mode after a jump; a clipped one opens a congestion event.
    fn place_links(&mut self) {
        for l in 0..self.links.len() {
            let link = &mut self.links[l];
            if link.queue > 0.0 && link.queue < link.buffer {
                link.mode = Mode::Free;
                continue;
            }
            let arrivals = self.arrivals(l);
            self.links[l].place(arrivals);
            if self.links[l].mode == Mode::Full {
                self.open_event(l);
            }
        }
    }

    // --- Pinned stretches ---

    /// Moves on in closed form to `limit`, or to where arrivals pass the capacity of an empty
    /// link, or to RED's first drop.
    fn pinned_stretch(&mut self, limit: f64) -> Result<(), FluidError> {
        let mut span = limit - self.now;
        let mut ending = Ending::None;
        for l in 0..self.links.len() {
            if self.links[l].mode == Mode::Empty
                && let Some(exit) = self.overflow(l, span)
            {
                span = exit;
                ending = Ending::Leaves(l);
            }
        }
        for l in 0..self.links.len() {
            if let Some(first) = self.follow_red_pinned(l, span) {
                span *= first;
                ending = Ending::Drops(l);
            }
        }
        if let Ending::Drops(_) = ending {
            (0..self.links.len()).for_each(|l| _ = self.follow_red_pinned(l, span));
        }
        self.sample_pinned(span);
        self.advance_pinned(span)?;
        self.now = if ending == Ending::None {
            limit
        } else {
            self.now + span
        };
        self.settle_red();
        self.end_stretch(ending);
        Ok(())
    }

    /// When arrivals first exceed the capacity of an empty link within `span` seconds.
    ///
    /// Each iteration takes the root of the cubic through value and three derivatives, which is
    /// exact for all flows of AIMD, CUBIC or H-TCP that stay on one branch of their law.
    fn overflow(&mut self, link: usize, span: f64) -> Option<f64> {
        let room = self.links[link].capacity - self.links[link].background;
        let mut at = if span < self.restart { span } else { 0.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..200 {
            let mut local = self.arrivals_ahead(link, at);
            local[0] -= room;
            if local[0] > 0.0 {
                high = at;
                if local[0] <= 1e-12 * room {
                    break;
                }
            } else if at >= span {
                return None;
            } else {
                low = at;
            }
            if high - low <= 1e-14 * (self.now + span) {
                break;
            }
            let top = high.min(span);
            let next = at + cubic_root(&local);
            // A root a hair above the true one ends the search at the next evaluation.
            let next = next + 1e-15 * self.now.max(next) + 0.5e-12 * room / local[1].max(1e-300);
            at = if next > low && next < top {
                next
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                span
            };
        }
        Some(high.min(span))
    }

    /// Follows RED at a link while no queue moves; returns where it expects its first drop.
    fn follow_red_pinned(&mut self, link: usize, span: f64) -> Option<f64> {
        self.links[link].red?;
        let from = self.arrivals_ahead(link, 0.0)[0];
        let to = self.arrivals_ahead(link, span)[0];
        let state = &self.links[link];
        let (queue, background) = (state.queue, state.background);
        let red = state.red.as_ref()?;
        let stretch = red.follow(span, |_| queue, |x| background + from + (to - from) * x);
        self.red_stretches[link] = Some(stretch);
        if state.event_open || state.crowd == 0 {
            None
        } else {
            stretch.first
        }
    }

    fn settle_red(&mut self) {
        for (link, stretch) in self.links.iter_mut().zip(&mut self.red_stretches) {
            if let (Some(red), Some(end)) = (&mut link.red, stretch.take()) {
                link.tally.early += red.settle(&end);
            }
        }
    }

    fn advance_pinned(&mut self, span: f64) -> Result<(), FluidError> {
        let now = self.now;
        for link in &mut self.links {
            link.dense = Dense {
                start: link.background * span,
                slope: [0.0; 3],
            };
        }
        for class in 0..self.flows.classes.len() {
            let delay = self.delay(class);
            let sent = with_class!(self.model, self.flows, class, part => part.advance_pinned(now, span, delay));
            let arrived = self.flows.classes[class].size * sent;
            for &l in self.path(class) {
                // Between free stretches the cubic's start serves as the sum of arrivals.
                self.links[l].dense.start += arrived;
            }
        }
        for l in 0..self.links.len() {
            let arrived = self.links[l].dense.start;
            self.account(
                l,
                Stretch {
                    span,
                    arrived,
                    theta: 1.0,
                },
            )?;
        }
        Ok(())
    }

    /// Enters a stretch into a link's ledger and shares its losses out in proportion to what was
    /// sent.
    fn account(&mut self, link: usize, stretch: Stretch) -> Result<(), FluidError> {
        let lost = self.links[link].account(&stretch);
        if !(stretch.arrived.is_finite() && self.links[link].queue.is_finite()) {
            return Err(FluidError::NotFinite { time: self.now });
        }
        if lost > 0.0 {
            let fraction = lost / stretch.arrived;
            for class in 0..self.flows.classes.len() {
                if self.path(class).contains(&link) {
                    let range = self.flows.classes[class].range.clone();
                    let survivors = &mut self.flows.stretch[range.clone()];
                    for (total, packets) in self.flows.lost[range].iter_mut().zip(survivors) {
                        // What is lost here cannot be lost again further on.
                        *total += fraction * *packets;
                        *packets -= fraction * *packets;
                    }
                }
            }
        }
        Ok(())
    }

    // --- Free stretches ---

    /// Moves on by one accepted step, at most to `limit`, ended early by the first event in it.
    fn free_stretch(&mut self, limit: f64) -> Result<(), FluidError> {
        self.prepare();
        let room = limit - self.now;
        let mut step = self.suggested.min(room);
        if step > 0.9 * room {
            step = room;
        }
        self.method = Method::Taylor;
        if self.try_taylor(step) {
            if step >= self.suggested {
                self.suggest(step, 4.0);
            }
        } else {
            self.method = Method::Rosenbrock;
            step = self.shrink_to_tolerance(step)?;
        }
        let (theta, ending) = self.first_ending(step);
        let span = theta * step;
        self.sample_free(step, span);
        self.commit(step, theta)?;
        self.now = if ending == Ending::None && step == room {
            limit
        } else {
            self.now + span
        };
        self.settle_red();
        self.end_stretch(ending);
        Ok(())
    }

    /// Tries Rosenbrock steps from `step` seconds downwards until one meets the tolerance.
    fn shrink_to_tolerance(&mut self, mut step: f64) -> Result<f64, FluidError> {
        loop {
            let error = self.try_step(step);
            let factor = if error.is_finite() {
                (0.9 / error.max(1e-8).sqrt().sqrt()).clamp(0.2, 6.0)
            } else {
                0.1
            };
            if error <= 1.0 {
                self.suggest(step, factor);
                return Ok(step);
            }
            self.refused += 1;
            self.work += self.flows.len() as u64;
            step *= factor.min(0.9);
            self.suggested = step;
            if step < 1e-14 * (self.now + 1.0) {
                return Err(FluidError::NotFinite { time: self.now });
            }
        }
    }

    /// Takes over what the error control makes of an accepted step; a step that was limited by
    /// something else never shortens the next one.
    fn suggest(&mut self, step: f64, factor: f64) {
        let next = step * factor;
        self.suggested = if step < self.suggested {
            self.suggested.max(next)
        } else {
            next
        };
        if let Some(opening) = self.opening.take() {
            self.openings[opening as usize] = self.suggested;
        }
    }

    /// Starts the step control anew after a jump, with the step that served after the last jump
    /// of the kind.
    fn reopen(&mut self, opening: Opening) {
        self.opening = Some(opening);
        self.suggested = self.openings[opening as usize];
    }

    /// Whether the Taylor series of order 2 serves for a step of `h` seconds; if so, fills in the
    /// queues' dense output. Between the cuts of one event a step is a small part of a round trip
    /// and the first stage with the Jacobian, at hand already, says all.
    fn try_taylor(&mut self, h: f64) -> bool {
        if h > self.restart {
            return false;
        }
        for l in 0..self.links.len() {
            let link = &mut self.links[l];
            link.dense = Dense {
                start: link.queue,
                slope: [0.0; 3],
            };
            if link.mode == Mode::Free {
                let rate = |(class, step): (usize, &ClassStep)| {
                    let member = self.model.paths[self.flows.classes[class].path].contains(&l);
                    if member {
                        self.flows.classes[class].size * step.base.rate
                    } else {
                        0.0
                    }
                };
                let arrivals: f64 = self.classes.iter().enumerate().map(rate).sum();
                link.dense.slope[0] = h * (arrivals + link.background - link.capacity);
            }
        }
        for class in 0..self.classes.len() {
            let path = &self.model.paths[self.flows.classes[class].path];
            self.classes[class].delay_rate = path
                .iter()
                .map(|&l| self.links[l].dense.slope[0] / self.links[l].capacity)
                .sum::<f64>()
                / h;
        }
        self.solver.free.iter().all(|&l| {
            let (mut second, mut relaxation) = (0.0, 0.0);
            for (class, step) in self.classes.iter().enumerate() {
                if self.model.paths[self.flows.classes[class].path].contains(&l) {
                    let base = &step.base;
                    let size = self.flows.classes[class].size;
                    second +=
                        size * (base.coupled + base.by_delay * step.delay_rate + base.by_time);
                    relaxation += size * base.by_delay;
                }
            }
            let link = &mut self.links[l];
            link.dense.slope[1] = 0.5 * h * h * second;
            // The third derivative is at most about the relaxation rate times the second, plus the
            // square of the relative change of delay; the estimate takes both at full size.
            let relaxed = h * relaxation.abs() / link.capacity;
            let [c1, c2, _] = link.dense.slope;
            let third = relaxed * (2.0 * c2.abs() + relaxed * c1.abs()) / 6.0;
            third <= 0.5 * link.tolerated(self.model.tolerance)
        })
    }

    /// Evaluates the classes at the start of a step and lists the free links.
    fn prepare(&mut self) {
        let now = self.now;
        for class in 0..self.flows.classes.len() {
            let delay = self.delay(class);
            let base = with_class!(self.model, self.flows, class, part => part.prepare(now, delay));
            self.classes[class] = ClassStep {
                base,
                delay,
                ..ClassStep::default()
            };
        }
        let free = &mut self.solver.free;
        free.clear();
        free.extend((0..self.links.len()).filter(|&l| self.links[l].mode == Mode::Free));
    }

    /// Tries a step of `h` seconds; returns its error in units of the tolerated one.
    fn try_step(&mut self, h: f64) -> f64 {
        self.assemble(h);
        for link in &mut self.links {
            link.stages = [0.0; STAGES];
        }
        for m in 0..STAGES {
            self.solver.right.clear();
            for &l in &self.solver.free {
                let link = &self.links[l];
                self.solver
                    .right
                    .push(h * (link.background - link.capacity));
            }
            for class in 0..self.classes.len() {
                self.class_stage(class, m, h);
            }
            self.solver.solve();
            for (a, &l) in self.solver.free.iter().enumerate() {
                self.links[l].stages[m] = self.solver.right[a];
            }
            for class in 0..self.classes.len() {
                self.close_stage(class, m, h);
            }
        }
        let tolerance = self.model.tolerance;
        self.solver
            .free
            .iter()
            .map(|&l| {
                let link = &self.links[l];
                dot(&ERROR, &link.stages).abs() / link.tolerated(tolerance)
            })
            .fold(
                0.0,
                |worst, error| if error <= worst { worst } else { error },
            )
    }

    /// The matrix 1 - h gamma J over the free links, the flows' part eliminated.
    fn assemble(&mut self, h: f64) {
        let n = self.solver.free.len();
        let mut matrix = std::mem::take(&mut self.solver.matrix);
        matrix.clear();
        matrix.resize(n * n, 0.0);
        for a in 0..n {
            matrix[a * n + a] = 1.0;
        }
        for (class, step) in self.classes.iter().enumerate() {
            let size = self.flows.classes[class].size;
            let path = &self.model.paths[self.flows.classes[class].path];
            let base = &step.base;
            let weight = size * h * GAMMA * (h * GAMMA * base.coupled_by_delay + base.by_delay);
            for (a, row) in self.solver.free.iter().enumerate() {
                if !path.contains(row) {
                    continue;
                }
                for (b, column) in self.solver.free.iter().enumerate() {
                    if path.contains(column) {
                        matrix[a * n + b] -= weight / self.links[*column].capacity;
                    }
                }
            }
        }
        self.solver.matrix = matrix;
        self.solver.factor();
    }

    /// Adds a class's known part of stage `m` to the right-hand sides of its links.
    fn class_stage(&mut self, class: usize, m: usize, h: f64) {
        let step = &self.classes[class];
        let base = step.base;
        let (mut delay, mut known) = (step.delay, 0.0);
        let path = &self.model.paths[self.flows.classes[class].path];
        for &l in path {
            let link = &self.links[l];
            delay += dot(&ALPHA[m], &link.stages) / link.capacity;
            // The stages from m on are still zero.
            known += dot(&GAMMAS[m], &link.stages) / link.capacity;
        }
        let point = StagePoint {
            time: self.now + NODES[m] * h,
            delay,
            step: h,
            by_delay: h * dot(&ALPHA[m], &step.delay_sums),
            by_time: h * h * dot(&ALPHA[m], &GAMMA_SUMS),
        };
        let (rate, coupled) = if m == 0 {
            (base.rate, base.coupled)
        } else {
            with_class!(self.model, self.flows, class, part => match m {
                1 => part.stage::<1>(&point),
                2 => part.stage::<2>(&point),
                3 => part.stage::<3>(&point),
                4 => part.stage::<4>(&point),
                _ => part.stage::<5>(&point),
            })
        };
        let step = &mut self.classes[class];
        // This stage's part that does not wait for the queue's stage.
        step.coupled[m] = h
            * (coupled + base.coupled_by_delay * known + h * GAMMA_SUMS[m] * base.coupled_by_time);
        step.delay_sums[m] = known;
        let part = h
            * (rate
                + dot(&GAMMAS[m], &step.coupled)
                + base.by_delay * known
                + h * GAMMA_SUMS[m] * base.by_time);
        let size = self.flows.classes[class].size;
        for (a, l) in self.solver.free.iter().enumerate() {
            if path.contains(l) {
                self.solver.right[a] += size * part;
            }
        }
    }

    /// Completes a class's sums of stage `m` with the queues' stages.
    fn close_stage(&mut self, class: usize, m: usize, h: f64) {
        let path = &self.model.paths[self.flows.classes[class].path];
        let own: f64 = path
            .iter()
            .map(|&l| self.links[l].stages[m] / self.links[l].capacity)
            .sum();
        let step = &mut self.classes[class];
        step.delay_sums[m] += GAMMA * own;
        step.coupled[m] += h * step.base.coupled_by_delay * GAMMA * own;
    }

    /// The first event inside the accepted step, as a fraction of it.
    fn first_ending(&mut self, step: f64) -> (f64, Ending) {
        let (mut theta, mut ending) = (1.0, Ending::None);
        for a in 0..self.solver.free.len() {
            let l = self.solver.free[a];
            let link = &mut self.links[l];
            if self.method == Method::Rosenbrock {
                link.dense = Dense {
                    start: link.queue,
                    slope: dense_polynomial(&link.stages),
                };
            }
            // A queue that starts at a limit leaves it; within the tolerated error its dense output
            // may cross it first.
            let slack = link.tolerated(self.model.tolerance);
            let at_top = if link.queue >= link.buffer {
                slack
            } else {
                0.0
            };
            let at_bottom = if link.queue <= 0.0 { slack } else { 0.0 };
            if let Some(x) = link.dense.crossing(link.buffer, 1.0, at_top)
                && x < theta
            {
                (theta, ending) = (x, Ending::Fills(l));
            }
            if let Some(x) = link.dense.crossing(0.0, -1.0, at_bottom)
                && x < theta
            {
                (theta, ending) = (x, Ending::Empties(l));
            }
        }
        if self.solver.free.len() < self.links.len() {
            (theta, ending) = self.first_departure(step, (theta, ending));
        }
        for l in 0..self.links.len() {
            if let Some(first) = self.follow_red_free(l, step, theta) {
                theta *= first;
                ending = Ending::Drops(l);
            }
        }
        if let Ending::Drops(_) = ending {
            (0..self.links.len()).for_each(|l| _ = self.follow_red_free(l, step, theta));
        }
        (theta, ending)
    }

    /// Where a pinned link's arrivals pass its capacity while another link's queue moves.
    fn first_departure(&mut self, step: f64, mut best: (f64, Ending)) -> (f64, Ending) {
        for l in 0..self.links.len() {
            let sense = match self.links[l].mode {
                Mode::Free => continue,
                Mode::Empty => 1.0,
                Mode::Full => -1.0,
            };
            let room = self.links[l].capacity - self.links[l].background;
            if sense * (self.dense_arrivals(l, step, best.0) - room) <= 0.0 {
                continue;
            }
            let (mut low, mut high) = (0.0, best.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if sense * (self.dense_arrivals(l, step, middle) - room) > 0.0 {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            best = (high, Ending::Leaves(l));
        }
        best
    }

    /// Queueing delay of a class inside the accepted step.
    fn dense_delay(&self, class: usize, theta: f64) -> f64 {
        let at = |l: usize| {
            let link = &self.links[l];
            let queue = if link.mode == Mode::Free {
                link.dense.at(theta)
            } else {
                link.queue
            };
            queue.clamp(0.0, link.buffer) / link.capacity
        };
        self.path(class).iter().map(|&l| at(l)).sum()
    }

    /// What the flows offer a link inside the accepted step.
    fn dense_arrivals(&mut self, link: usize, step: f64, theta: f64) -> f64 {
        let mut sum = 0.0;
        for class in 0..self.classes.len() {
            if self.path(class).contains(&link) {
                let combination = self.combination(class, step, theta);
                let delay = self.dense_delay(class, theta);
                let time = self.now + theta * step;
                let rate = with_class!(self.model, self.flows, class, part => part.dense_rate(&combination, time, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }

    /// Follows RED at a link through the first `theta` of the accepted step.
    fn follow_red_free(&mut self, link: usize, step: f64, theta: f64) -> Option<f64> {
        self.links[link].red?;
        let (mut from, mut to) = (0.0, 0.0);
        if self.links[link].mode != Mode::Free {
            from = self.dense_arrivals(link, step, 0.0);
            to = self.dense_arrivals(link, step, theta);
        }
        let state = &self.links[link];
        let red = state.red.as_ref()?;
        let stretch = if state.mode == Mode::Free {
            // A free queue changes by what arrives less what is served.
            let arrivals = |x: f64| state.capacity + state.dense.derivative(theta * x) / step;
            red.follow(
                theta * step,
                |x| state.dense.at(theta * x).max(0.0),
                |x| arrivals(x).max(0.0),
            )
        } else {
            let arrivals = |x: f64| state.background + from + (to - from) * x;
            red.follow(theta * step, |_| state.queue, arrivals)
        };
        let blind = state.event_open || state.crowd == 0;
        self.red_stretches[link] = Some(stretch);
        if blind { None } else { stretch.first }
    }

    /// The weights with which a class's stages make up its state at the fraction `theta`.
    fn combination(&self, class: usize, h: f64, theta: f64) -> Combination {
        let step = &self.classes[class];
        if self.method == Method::Taylor {
            let (first, second) = (theta * h, 0.5 * theta * theta * h * h);
            return Combination {
                method: Method::Taylor,
                weights: [first, 0.0, 0.0, 0.0, 0.0, 0.0],
                by_delay: second * step.delay_rate,
                by_time: second,
                coupled: [second, 0.0, 0.0, 0.0, 0.0, 0.0],
                coupled_by_delay: 0.0,
                coupled_by_time: 0.0,
            };
        }
        let b = dense_weights(theta);
        let beta = jacobian_weights(&b);
        Combination {
            method: Method::Rosenbrock,
            weights: b.map(|x| h * x),
            by_delay: h * dot(&b, &step.delay_sums),
            by_time: h * h * dot(&b, &GAMMA_SUMS),
            coupled: beta.map(|x| h * h * x),
            coupled_by_delay: h * h * dot(&beta, &step.delay_sums),
            coupled_by_time: h * h * h * dot(&beta, &GAMMA_SUMS),
        }
    }

    /// Moves flows and links to the fraction `theta` of the accepted step.
    fn commit(&mut self, step: f64, theta: f64) -> Result<(), FluidError> {
        let span = theta * step;
        self.solver.right.clear();
        self.solver
            .right
            .extend(self.links.iter().map(|link| link.background * span));
        for class in 0..self.classes.len() {
            let combination = self.combination(class, step, theta);
            let delay = self.dense_delay(class, theta);
            let sent = with_class!(self.model, self.flows, class, part => part.commit(&combination, delay));
            let arrived = self.flows.classes[class].size * sent;
            for &l in self.path(class) {
                self.solver.right[l] += arrived;
            }
        }
        for l in 0..self.links.len() {
            let arrived = self.solver.right[l];
            self.account(
                l,
                Stretch {
                    span,
                    arrived,
                    theta,
                },
            )?;
        }
        Ok(())
    }

    // --- Events ---

    fn end_stretch(&mut self, ending: Ending) {
        match ending {
            Ending::None => {}
            Ending::Empties(l) => {
                self.links[l].queue = 0.0;
                self.links[l].mode = Mode::Empty;
            }
            Ending::Fills(l) => {
                self.links[l].queue = self.links[l].buffer;
                self.links[l].mode = Mode::Full;
                self.open_event(l);
            }
            Ending::Leaves(l) => {
                let link = &mut self.links[l];
                let clipped = link.mode == Mode::Empty && link.buffer <= 0.0;
                link.mode = if clipped { Mode::Full } else { Mode::Free };
                self.reopen(Opening::Overflow);
                if clipped {
                    self.open_event(l);
                }
            }
            Ending::Drops(l) => self.open_event(l),
        }
    }

    /// Takes everything that is due now.
    fn occur(&mut self) {
        while let Some(what) = self.schedule.take_due(self.now) {
            match what {
                Occurrence::Cut { slot } | Occurrence::AccessCut { slot } => {
                    self.cut(slot as usize);
                }
                Occurrence::Close { link } => {
                    let link = &mut self.links[link as usize];
                    link.event_open = false;
                    if let Some(red) = &mut link.red {
                        red.restart();
                    }
                }
                Occurrence::Redraw { link: number } => {
                    let link = &mut self.links[number as usize];
                    link.redraw();
                    if let Some(interval) = link.redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => self.begin_measurement(),
            }
        }
        self.reopen(Opening::Jump);
        self.place_links();
    }

    fn cut(&mut self, slot: usize) {
        let now = self.now;
        let class = self.flows.class_of[slot] as usize;
        let delay = self.delay(class);
        with_class!(self.model, self.flows, class, part => part.cut(slot, now, delay));
    }

    /// Opens a congestion event at a link, unless one is open.
    fn open_event(&mut self, link: usize) {
        if self.links[link].event_open || self.links[link].crowd == 0 {
            return;
        }
        self.gather_candidates(link);
        let state = &mut self.links[link];
        let law = &self.model.synchronisation;
        let count = law.draw_count(state.crowd, &mut state.counts);
        law.choose(
            &mut self.candidates,
            count,
            state.event_number,
            &mut state.victims,
        );
        state.event_number += 1;
        state.event_open = true;
        if let Some(red) = &mut state.red {
            red.restart();
        }
        let fraction = count as f64 / state.crowd as f64;
        let mut last = self.now;
        for chosen in &self.candidates[..count] {
            let time = self.now + chosen.round_trip;
            last = last.max(time);
            self.schedule
                .enter(time, Occurrence::Cut { slot: chosen.slot });
        }
        self.schedule
            .enter(last, Occurrence::Close { link: link as u32 });
        if link == self.model.target {
            self.delimit();
        }
        let tally = &mut self.links[link].tally;
        tally.events += 1;
        tally.fractions += fraction;
    }

    /// Lists the flows of a link with their rates and round-trip times.
    fn gather_candidates(&mut self, link: usize) {
        self.candidates.clear();
        for class in 0..self.flows.classes.len() {
            if !self.path(class).contains(&link) {
                continue;
            }
            let delay = self.delay(class);
            let mut candidates = std::mem::take(&mut self.candidates);
            let now = self.now;
            with_class!(self.model, self.flows, class, part => {
                part.pinned_windows((now, 0.0, delay), |slot, window| {
                    candidates.push(Candidate::new(0, slot as u32, window, 0.0));
                });
            });
            self.candidates = candidates;
            let range = self.flows.classes[class].range.clone();
            let first = self.candidates.len() - range.len();
            for (candidate, slot) in self.candidates[first..].iter_mut().zip(range) {
                candidate.flow = self.flows.number[slot];
                candidate.round_trip = self.flows.propagation[slot] + delay;
                candidate.rate /= candidate.round_trip;
            }
        }
    }

    // --- Measurement ---

    /// A congestion event of the target link begins or ends measured cycles.
    fn delimit(&mut self) {
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

    fn begin_measurement(&mut self) {
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

    // --- Trace and outcome ---

    /// Records the samples that fall into a pinned stretch.
    fn sample_pinned(&mut self, span: f64) {
        while self.next_sample <= self.now + span {
            let ahead = (self.next_sample - self.now).max(0.0);
            for class in 0..self.flows.classes.len() {
                let at = (self.now, ahead, self.delay(class));
                let (windows, slots) = (&mut self.trace.windows, &self.flows.number.clone());
                with_class!(self.model, self.flows, class, part => {
                    part.pinned_windows(at, |slot, w| windows[slots[slot] as usize].push(w));
                });
            }
            for l in 0..self.links.len() {
                let rate = self.arrivals_ahead(l, ahead)[0];
                self.sample_link(l, self.links[l].queue, rate);
            }
            self.finish_sample();
        }
    }

    /// Records the samples that fall into the first `span` seconds of an accepted step.
    fn sample_free(&mut self, step: f64, span: f64) {
        while self.next_sample <= self.now + span {
            let theta = ((self.next_sample - self.now) / step).max(0.0);
            let time = self.next_sample;
            for class in 0..self.flows.classes.len() {
                let combination = self.combination(class, step, theta);
                let (windows, slots) = (&mut self.trace.windows, &self.flows.number.clone());
                with_class!(self.model, self.flows, class, part => {
                    part.dense_windows(&combination, time, |slot, w| {
                        windows[slots[slot] as usize].push(w);
                    });
                });
            }
            for l in 0..self.links.len() {
                let link = &self.links[l];
                let queue = if link.mode == Mode::Free {
                    link.dense.at(theta)
                } else {
                    link.queue
                };
                let rate = self.dense_arrivals(l, step, theta);
                self.sample_link(l, queue, rate);
            }
            self.finish_sample();
        }
    }

    /// Records a link's queue and the share of its capacity that the flows' `rate` leaves in use.
    fn sample_link(&mut self, link: usize, queue: f64, rate: f64) {
        let state = &self.links[link];
        let queue = queue.clamp(0.0, state.buffer);
        let used = if queue > 0.0 {
            1.0
        } else {
            (rate + state.background) / state.capacity
        };
        self.trace.queues[link].push(queue);
        self.trace.used[link].push(used.min(1.0));
    }

    fn finish_sample(&mut self) {
        self.trace.times.push(self.next_sample);
        let cadence = self.model.trace.unwrap_or(f64::INFINITY);
        self.next_sample = self.trace.times.len() as f64 * cadence;
    }

    fn outcome(self) -> FluidOutcome {
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

/// A link's figures from its tally over `time` seconds.
pub(crate) fn link_outcome(tally: &Tally, capacity: f64, time: f64) -> LinkOutcome {
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let accepted = tally.arrived - tally.lost;
    LinkOutcome {
        arrived: tally.arrived,
        background_loss_rate: ratio(tally.background_lost, tally.background),
        utilization: ratio(tally.departed, capacity * time),
        // RED drops before the buffer clips: a packet is lost once.
        loss_rate: 1.0
            - (1.0 - ratio(tally.early, tally.arrived)).max(0.0)
                * (1.0 - ratio(tally.lost, tally.arrived)),
        synchronization: (tally.events > 0).then(|| tally.fractions / tally.events as f64),
        events: tally.events,
        queue_mean: ratio(tally.queue, time),
        delay_mean: ratio(tally.waiting, accepted),
        delay_p50: tally.found.quantile(0.5) / capacity,
        delay_p99: tally.found.quantile(0.99) / capacity,
        delay_max: tally.largest / capacity,
    }
}

/// Root nearest to 0, by Newton's method, of the cubic with these derivatives at 0; NaN or
/// something off the mark where it does not converge.
fn cubic_root(d: &[f64; 4]) -> f64 {
    let mut x = 0.0;
    for _ in 0..12 {
        let value = d[0] + x * (d[1] + x * (0.5 * d[2] + x * d[3] / 6.0));
        let change = value / (d[1] + x * (d[2] + 0.5 * x * d[3]));
        x -= change;
        if change.abs() <= 1e-9 * x.abs() {
            break;
        }
    }
    x
}

impl Link {
    /// Error of the queue tolerated in one step, packets.
    ///
    /// An error of the queue moves the next event by a part of a cycle that is smaller than the
    /// error's part of the buffer; errors of many steps add up, and the finer the tolerance the
    /// more steps there are, hence the exponent 3/2. The factor is set by experiment (the tests
    /// hold it to its promise): at the default tolerance of 1e-4 it allows 1e-3 of the buffer.
    fn tolerated(&self, tolerance: f64) -> f64 {
        (1000.0 * tolerance * tolerance.sqrt()).min(0.01) * self.buffer
    }
}

impl Solver {
    /// LU factors of the matrix in place, without pivoting: it is 1 plus a matrix that the
    /// stabilising Jacobian makes diagonally dominant.
    fn factor(&mut self) {
        let n = self.free.len();
        let a = &mut self.matrix;
        for k in 0..n {
            for i in k + 1..n {
                a[i * n + k] /= a[k * n + k];
                for j in k + 1..n {
                    a[i * n + j] -= a[i * n + k] * a[k * n + j];
                }
            }
        }
    }

    /// Solves for the right-hand side in place.
    fn solve(&mut self) {
        let n = self.free.len();
        let (a, x) = (&self.matrix, &mut self.right);
        for i in 0..n {
            for j in 0..i {
                x[i] -= a[i * n + j] * x[j];
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                x[i] -= a[i * n + j] * x[j];
            }
            x[i] /= a[i * n + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_congestion::aimd::Aimd;
    use forebay_congestion::cubic::{Cubic, FriendlyRegion};
    use forebay_congestion::fluid::FluidLaw;
    use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
    use forebay_congestion::htcp::Htcp;
    use forebay_congestion::scalable::Scalable;
    use forebay_random::Seed;

    use super::*;
    use crate::integrate_euler;
    use crate::model::{Background, FluidFlow, FluidLink, Limits, QueueLaw};
    use crate::synchronisation::Synchronisation;

    /// Flows of every smooth law that fill a deep queue, without any event for seconds.
    fn filling(laws: Vec<FluidLaw>) -> FluidModel {
        let count = laws.len();
        FluidModel {
            links: vec![FluidLink {
                capacity: 10_000.0,
                buffer: 1e5,
                background: Background::Constant(1000.0),
                queue: QueueLaw::DropTail,
            }],
            target: 0,
            paths: vec![vec![0]],
            laws,
            flows: (0..8)
                .map(|i| FluidFlow {
                    propagation: 0.2 + 0.03 * i as f64,
                    law: i % count,
                    path: 0,
                    size: 1.0,
                    initial_window: Some(400.0 + 30.0 * i as f64),
                    limits: Limits::default(),
                })
                .collect(),
            synchronisation: Synchronisation::default(),
            measure: Measure::Fixed { start: 0.0 },
            horizon: 2.0,
            tolerance: 1e-4,
            trace: None,
            seed: Seed::default(),
        }
    }

    /// Every law without its kinks: H-TCP past its low-speed period, CUBIC without its friendly
    /// region.
    fn smooth() -> FluidModel {
        filling(vec![
            FluidLaw::Aimd(Aimd::default()),
            FluidLaw::Hstcp(HstcpTrajectory::new(HstcpResponse::default()).unwrap()),
            FluidLaw::Cubic(Cubic {
                scale: 4.0,
                friendly_region: FriendlyRegion::Off,
                ..Cubic::default()
            }),
            FluidLaw::Htcp(Htcp {
                low_speed_period: 0.0,
                ..Htcp::default()
            }),
            FluidLaw::Scalable(Scalable {
                increase: 0.3,
                decrease: 0.125,
            }),
        ])
    }

    /// The queue at 0.64 s by steps of one size and method.
    fn queue_by(model: &FluidModel, steps: u32, method: Method) -> f64 {
        let mut run = Run::new(model);
        run.place_links();
        let h = 0.64 / f64::from(steps);
        for k in 1..=steps {
            run.prepare();
            run.method = method;
            match method {
                Method::Rosenbrock => _ = run.try_step(h),
                Method::Taylor => {
                    run.restart = 1.0;
                    let _ = run.try_taylor(h);
                }
            }
            let (theta, ending) = run.first_ending(h);
            assert_eq!((theta, ending), (1.0, Ending::None));
            run.commit(h, theta).unwrap();
            run.now = f64::from(k) * h;
        }
        run.links[0].queue
    }

    fn order(error: impl Fn(u32) -> f64, steps: u32) -> f64 {
        libm::log2(error(steps) / error(2 * steps))
    }

    #[test]
    fn the_rosenbrock_step_has_order_four() {
        let model = smooth();
        let exact = queue_by(&model, 4096, Method::Rosenbrock);
        let error = |steps| (queue_by(&model, steps, Method::Rosenbrock) - exact).abs();
        let found = order(error, 64);
        assert!((found - 4.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn the_taylor_step_has_order_two() {
        let model = smooth();
        let exact = queue_by(&model, 4096, Method::Rosenbrock);
        let error = |steps| (queue_by(&model, steps, Method::Taylor) - exact).abs();
        let found = order(error, 64);
        assert!((found - 2.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn forward_euler_has_order_one() {
        let mut model = smooth();
        model.horizon = 0.64;
        let mean = |step: f64| integrate_euler(&model, step).unwrap().links[0].queue_mean;
        let exact = 2.0 * mean(0.64 / 65_536.0) - mean(0.64 / 32_768.0);
        let error = |steps: u32| (mean(0.64 / f64::from(steps)) - exact).abs();
        let found = order(error, 256);
        assert!((found - 1.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn dense_output_meets_the_step_it_belongs_to() {
        // A step cut short by the dense output and a step of that length agree to order 3.
        let model = smooth();
        let short = |h: f64, theta: f64| {
            let mut run = Run::new(&model);
            run.place_links();
            run.prepare();
            run.method = Method::Rosenbrock;
            let _ = run.try_step(h);
            let _ = run.first_ending(h);
            run.commit(h, theta).unwrap();
            run.links[0].queue
        };
        let error = |steps: u32| {
            let h = 0.64 / f64::from(steps);
            (short(h, 0.5) - short(0.5 * h, 1.0)).abs()
        };
        let found = order(error, 64);
        assert!((found - 4.0).abs() < 0.2, "local order {found}");
    }

    #[test]
    fn a_run_that_takes_too_long_is_given_up() {
        let model = smooth();
        let mut run = Run::new(&model);
        run.work = WORK_LIMIT;
        assert!(matches!(run.go(), Err(FluidError::TooLong { .. })));
    }
}
