//! The input of the fluid engine and its checks. The translation builds it, and the integrators
//! read it.

use std::sync::Arc;

use forebay_congestion::fluid::FluidLaw;
use forebay_discipline::DropCurve;
use forebay_random::Seed;
use forebay_scenario::Cancel;

use crate::capacity::CapacitySteps;
use crate::error::{FluidError, count, range, refuse};
use crate::synchronization::Synchronization;

/// A link with one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidLink {
    /// Capacity in packets per second; the mean if it changes.
    pub capacity: f64,
    /// Capacity over time, if it changes.
    pub steps: Option<Arc<CapacitySteps>>,
    /// Size of the buffer, in packets.
    pub buffer: f64,
    /// Traffic that does not respond to loss.
    pub background: Background,
    /// Queue discipline, which determines when a congestion event opens.
    pub queue: QueueDistribution,
}

/// Unresponsive traffic of a link, in packets per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Background {
    /// A constant rate; 0 for none.
    Constant(f64),
    /// A rate that is redrawn every `interval` seconds from a normal distribution truncated at 0. A
    /// Poisson stream of rate r has `mean` r and `deviation` sqrt(r / interval).
    Resampled {
        /// Mean rate, in packets per second.
        mean: f64,
        /// Standard deviation of the rate, in packets per second.
        deviation: f64,
        /// Seconds between draws.
        interval: f64,
    },
}

/// Condition that opens a congestion event at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueDistribution {
    /// The buffer is full.
    DropTail,
    /// The buffer is full, or RED expects one early drop.
    Red(Red),
}

/// Random early detection (Floyd and Jacobson 1993) on the averaged queue.
///
/// The fluid model counts RED's expected drops: p(average) times the arrival rate. The first
/// expected drop opens a congestion event, as a clipped queue does. The count restarts when the
/// event closes. Early drops are few, so they are reported and signal congestion, but stay in the
/// queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Drop probability as a function of the average in packets. Its `range` is not used.
    pub curve: DropCurve,
    /// Rate at which the average follows the queue, per second: the weight per packet times the
    /// capacity.
    pub follow: f64,
}

/// A persistent flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidFlow {
    /// Propagation round-trip time, in seconds.
    pub propagation: f64,
    /// Index of its window law in the model's `laws`.
    pub law: usize,
    /// Index of its path in the model's `paths`.
    pub path: usize,
    /// Size of its packets, in packets of the links.
    pub size: f64,
    /// Window at time 0, in packets. `None` draws it uniformly from 20 to 80 % of the equal share
    /// of the path's narrowest link.
    pub initial_window: Option<f64>,
    /// Limits of the flow besides its window law.
    pub limits: Limits,
}

/// Limits of a flow besides its window law; infinite numbers mean no limit.
///
/// If a window would send faster than the access link, packets wait in that link's queue, W = rate
/// R. The round trip is max(rtt + queueing, W / access rate), and the flow sends W / R. Only
/// [`crate::integrate_euler`] applies limits. [`crate::integrate`] ignores them;
/// [`crate::FluidOutcome::peak_window`] shows whether that was valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Rate of the flow's access link, in packets of the flow per second.
    pub access_rate: f64,
    /// Buffer of the access link, in packets of the flow. A packet beyond it is lost and cuts the
    /// flow.
    pub access_buffer: f64,
    /// Receive window, in packets of the flow.
    pub receive_window: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            access_rate: f64::INFINITY,
            access_buffer: f64::INFINITY,
            receive_window: f64::INFINITY,
        }
    }
}

/// Measured part of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// From `start` to the horizon.
    Fixed {
        /// Start of the measurement, in seconds.
        start: f64,
    },
    /// From the first congestion event after `start` to `duration` seconds after it.
    FromFirstEvent {
        /// Earliest start, in seconds.
        start: f64,
        /// Duration, in seconds.
        duration: f64,
    },
    /// From the first congestion event after `start` to the last one within `duration` of it. Whole
    /// cycles avoid a bias of (cycle / duration) (1 - utilization). Without an event it is `Fixed`
    /// with the same start. With a single event it is `FromFirstEvent`.
    WholeCycles {
        /// Earliest start, in seconds.
        start: f64,
        /// Maximum duration, in seconds.
        duration: f64,
    },
}

impl Measure {
    /// Earliest start of the measurement, in seconds.
    pub(crate) fn start(&self) -> f64 {
        match *self {
            Self::Fixed { start }
            | Self::FromFirstEvent { start, .. }
            | Self::WholeCycles { start, .. } => start,
        }
    }

    /// Duration from the first event, in seconds.
    pub(crate) fn duration(&self) -> Option<f64> {
        match *self {
            Self::Fixed { .. } => None,
            Self::FromFirstEvent { duration, .. } | Self::WholeCycles { duration, .. } => {
                Some(duration)
            }
        }
    }
}

/// A complete fluid model.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidModel {
    /// The links. Every link of a path is offered the flow's full rate W / R.
    pub links: Vec<FluidLink>,
    /// Index of the link of the outcome's main figures. Its congestion events delimit [`Measure`].
    pub target: usize,
    /// The paths, as indices of links.
    pub paths: Vec<Vec<usize>>,
    /// The window laws in use.
    pub laws: Vec<FluidLaw>,
    /// The flows.
    pub flows: Vec<FluidFlow>,
    /// Choice of the flows that a congestion event cuts.
    pub synchronization: Synchronization,
    /// Measured part of the run.
    pub measure: Measure,
    /// Latest end of the run, in seconds.
    pub horizon: f64,
    /// Tolerated error of the utilization of the adaptive integrator.
    pub tolerance: f64,
    /// Seconds between samples of windows and queues; `None` for no trace.
    pub trace: Option<f64>,
    /// Seed of every random stream.
    pub seed: Seed,
    /// Checked from time to time. A canceled run ends with [`FluidError::Interrupted`].
    pub cancel: Cancel,
}

/// Maximum number of capacity changes. Each is applied and later known to senders, and ends a step
/// both times.
pub(crate) const MOST_CHANGES: f64 = 2e6;

/// Maximum number of links, because the implicit system is dense in the links.
const LARGEST_LINKS: usize = 64;

impl FluidModel {
    /// Checks every number and index of the model. The error names the field and its allowed range.
    pub fn check(&self) -> Result<(), FluidError> {
        let some = "at least 1";
        count("links", self.links.len(), (1, LARGEST_LINKS), "1 to 64")?;
        count("paths", self.paths.len(), (1, 1_000_000), "1 to 1000000")?;
        count("flows", self.flows.len(), (0, 2_000_000), "0 to 2000000")?;
        count(
            "target",
            self.target,
            (0, self.links.len() - 1),
            "the index of a link",
        )?;
        for (i, link) in self.links.iter().enumerate() {
            link.check(i)?;
        }
        for (i, path) in self.paths.iter().enumerate() {
            count(
                &format!("length of path {i}"),
                path.len(),
                (1, usize::MAX),
                some,
            )?;
            for (j, link) in path.iter().enumerate() {
                let last = self.links.len() - 1;
                count(
                    &format!("link of path {i}"),
                    *link,
                    (0, last),
                    "the index of a link",
                )?;
                if path[..j].contains(link) {
                    return Err(refuse(format!("path {i}"), *link as f64, "every link once"));
                }
            }
        }
        self.laws.iter().try_for_each(FluidLaw::check)?;
        for (i, flow) in self.flows.iter().enumerate() {
            self.check_flow(i, flow)?;
        }
        self.synchronization.check(self.flows.len())?;
        range("horizon", self.horizon, (1e-6, 1e9), "1e-6 to 1e9 s")?;
        range("tolerance", self.tolerance, (1e-9, 0.1), "1e-9 to 0.1")?;
        let found = self.changes();
        if found > MOST_CHANGES {
            let (horizon, most) = (self.horizon, MOST_CHANGES);
            return Err(FluidError::TooManyChanges {
                found,
                horizon,
                most,
            });
        }
        if let Some(cadence) = self.trace {
            // At most 2e8 samples in all: 1.6 GB.
            let curves = (self.flows.len() + 2 * self.links.len()) as f64;
            let shortest = self.horizon * curves / 2e8;
            let allowed = "horizon x (flows + 2 links) / 2e8 to 1e9 s";
            range("trace cadence", cadence, (shortest, 1e9), allowed)?;
        }
        let latest = self.horizon * (1.0 - 1e-12);
        range(
            "measure start",
            self.measure.start(),
            (0.0, latest),
            "0 to below the horizon",
        )?;
        if let Some(duration) = self.measure.duration() {
            range("measure duration", duration, (1e-6, 1e9), "1e-6 to 1e9 s")?;
        }
        Ok(())
    }

    fn check_flow(&self, i: usize, flow: &FluidFlow) -> Result<(), FluidError> {
        let name = |field: &str| format!("{field} of flow {i}");
        range(
            &name("propagation"),
            flow.propagation,
            (1e-7, 1e4),
            "1e-7 to 1e4 s",
        )?;
        range(&name("size"), flow.size, (1e-6, 1e6), "1e-6 to 1e6")?;
        let law = (0, self.laws.len().wrapping_sub(1));
        count(&name("law"), flow.law, law, "the index of a law")?;
        count(
            &name("path"),
            flow.path,
            (0, self.paths.len() - 1),
            "the index of a path",
        )?;
        let unlimited = f64::INFINITY;
        let Limits {
            access_rate,
            access_buffer,
            receive_window,
        } = flow.limits;
        let above = "1e-3 packets/s or more";
        range(&name("access rate"), access_rate, (1e-3, unlimited), above)?;
        let above = "0 packets or more";
        range(
            &name("access buffer"),
            access_buffer,
            (0.0, unlimited),
            above,
        )?;
        let above = "1 packet or more";
        range(
            &name("receive window"),
            receive_window,
            (1.0, unlimited),
            above,
        )?;
        if let Some(window) = flow.initial_window {
            range(
                &name("initial window"),
                window,
                (1e-9, 1e11),
                "1e-9 to 1e11 packets",
            )?;
        }
        Ok(())
    }

    /// The equal share of a flow's narrowest link, as a window in packets of the flow. Its own
    /// limits may reduce it.
    pub(crate) fn fair_window(&self, flow: &FluidFlow, flow_count: &[usize]) -> f64 {
        let share = self.paths[flow.path]
            .iter()
            .map(|&link| self.links[link].capacity / flow_count[link].max(1) as f64)
            .fold(f64::INFINITY, f64::min);
        let limits = &flow.limits;
        let largest = (limits.access_rate * flow.propagation).min(limits.receive_window);
        (share * flow.propagation / flow.size).min(largest)
    }

    /// Number of capacity changes until the horizon.
    pub(crate) fn changes(&self) -> f64 {
        let steps = self.links.iter().filter_map(|link| link.steps.as_ref());
        steps.map(|steps| steps.changes(self.horizon)).sum()
    }

    /// Harmonic mean of the propagation times of the flows that cross each link; 0 without flows.
    pub(crate) fn propagation_by_link(&self) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.links.len()];
        for flow in &self.flows {
            for &link in &self.paths[flow.path] {
                let (flows, inverse) = &mut sums[link];
                *flows += 1.0;
                *inverse += 1.0 / flow.propagation;
            }
        }
        let mean = |(flows, inverse): (f64, f64)| if flows > 0.0 { flows / inverse } else { 0.0 };
        sums.into_iter().map(mean).collect()
    }

    /// Number of flows that cross each link.
    pub(crate) fn flow_count(&self) -> Vec<usize> {
        let mut flow_count = vec![0; self.links.len()];
        for flow in &self.flows {
            for &link in &self.paths[flow.path] {
                flow_count[link] += 1;
            }
        }
        flow_count
    }
}

impl FluidLink {
    /// Waiting time of an arrival at `at` after a queue, in seconds.
    pub(crate) fn wait(&self, at: f64, queue: f64) -> f64 {
        let steps = self.steps.as_ref();
        steps.map_or(queue / self.capacity, |steps| steps.wait(at, queue))
    }

    fn check(&self, i: usize) -> Result<(), FluidError> {
        let name = |field: &str| format!("{field} of link {i}");
        range(
            &name("capacity"),
            self.capacity,
            (1e-3, 1e12),
            "1e-3 to 1e12 packets/s",
        )?;
        if let Some(steps) = &self.steps {
            let all = (0.0, 1e12);
            range(
                &name("capacity"),
                steps.highest(),
                all,
                "0 to 1e12 packets/s",
            )?;
        }
        range(
            &name("buffer"),
            self.buffer,
            (0.0, 1e12),
            "0 to 1e12 packets",
        )?;
        let rate = (0.0, 1e13, "0 to 1e13 packets/s");
        match self.background {
            Background::Constant(value) => {
                range(&name("background"), value, (rate.0, rate.1), rate.2)?;
            }
            Background::Resampled {
                mean,
                deviation,
                interval,
            } => {
                range(&name("background mean"), mean, (rate.0, rate.1), rate.2)?;
                range(
                    &name("background deviation"),
                    deviation,
                    (rate.0, rate.1),
                    rate.2,
                )?;
                range(
                    &name("background interval"),
                    interval,
                    (1e-6, 1e9),
                    "1e-6 to 1e9 s",
                )?;
            }
        }
        if let QueueDistribution::Red(red) = self.queue {
            range(
                &name("red minimum"),
                red.curve.min,
                (0.0, 1e12),
                "0 to 1e12 packets",
            )?;
            let above = (red.curve.min * (1.0 + 1e-9) + 1e-9, 1e13);
            range(
                &name("red maximum"),
                red.curve.max,
                above,
                "more than the minimum",
            )?;
            range(
                &name("red probability"),
                red.curve.max_p,
                (1e-12, 1.0),
                "1e-12 to 1",
            )?;
            range(
                &name("red follow"),
                red.follow,
                (1e-9, 1e12),
                "1e-9 to 1e12 per s",
            )?;
        }
        Ok(())
    }
}
