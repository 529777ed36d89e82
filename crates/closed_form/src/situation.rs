//! The figures of a scenario that the formulas need: its target link, its long flows, its load.
//! [`crate::reading`] fills them.

use forebay_discipline::{DropCurve, Limit, Setting};
use forebay_scenario::{Goal, Metric, ModelError, Relation};
use forebay_units::parameter::Parameters;

use crate::mix::Mix;
use crate::numeric::settled;

/// A scenario in the formulas' units. Its 22 fields are independent figures, and a rule reads the
/// three or four that its formula needs.
pub(crate) struct Situation {
    /// Capacity C, in the scenario's mean packets per second.
    pub(crate) capacity_pps: f64,
    /// Buffer B, in waiting packets.
    pub(crate) buffer: f64,
    /// Harmonic mean round-trip time T of the long flows, in seconds.
    pub(crate) rtt_s: Option<f64>,
    /// Number of persistent flows.
    pub(crate) persistent: f64,
    /// Number of persistent flows that this link bottlenecks. Neither receive window nor access
    /// link holds them below their fair share (Dhamdhere & Dovrolis, section 3.3).
    pub(crate) bottlenecked: f64,
    /// Load rho of the persistent flows that are held down elsewhere.
    pub(crate) held_down: f64,
    /// Bottlenecked persistent flows by round-trip time.
    pub(crate) flows: Vec<RttClass>,
    /// The long flows, or without these all flows that react to congestion.
    pub(crate) mix: Mix,
    /// Number of equal sources with a load of the same variability. It is infinite for Poisson
    /// arrivals and 0 without load.
    pub(crate) sources: f64,
    /// Share of the offered load from flows whose peak is at most a tenth of the link.
    pub(crate) slow_share: f64,
    /// Load rho of the unresponsive groups and of application-limited flows.
    pub(crate) background: f64,
    /// Load rho of the open-loop transfers.
    pub(crate) open_loop: f64,
    /// Load rho of the closed-loop users, as far as they fill the link.
    pub(crate) closed_loop: f64,
    /// Mean number of transfers in progress that outlive slow start, in addition to the persistent
    /// flows; infinite in overload.
    pub(crate) long_transfers: f64,
    /// Smallest ratio of link rate to access rate, if every responsive group has an access rate.
    pub(crate) core_access: Option<f64>,
    /// Probability that this link, and not the access links, limits the flows; `None` if it is not
    /// known.
    pub(crate) core_limits: Option<f64>,
    /// Sum over the persistent flows of largest window / (C T); infinite if one is unlimited.
    pub(crate) saturation: f64,
    /// Largest receive window of the responsive flows in packets; `None` if one is unlimited.
    pub(crate) largest_window: Option<f64>,
    /// Name of the target's queue discipline.
    pub(crate) discipline: &'static str,
    /// The target's RED queue, if it has one.
    pub(crate) red: Option<RedQueue>,
    /// Number of waiting packets from which the target marks, if it marks by a step.
    pub(crate) marking_threshold: Option<f64>,
    /// Number of links other than the target.
    pub(crate) other_links: usize,
}

/// Flows with a common round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttClass {
    /// Round-trip propagation time, in seconds.
    pub rtt_s: f64,
    /// Number of flows; need not be whole.
    pub flows: f64,
}

/// A RED queue whose buffer is not yet set.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    parameters: Parameters,
    setting: Setting,
}

impl RedQueue {
    /// Creates the queue with these parameters on a link with this setting. The limit of the
    /// setting is ignored.
    pub(crate) const fn new(parameters: Parameters, setting: Setting) -> Self {
        Self {
            parameters,
            setting,
        }
    }

    /// Its drop curve as a function of the waiting packets, with a buffer of `buffer` packets.
    pub(crate) fn curve(&self, buffer: f64) -> DropCurve {
        let setting = Setting {
            limit: Limit::Packets(buffer as u64),
            ..self.setting.clone()
        };
        DropCurve::new(&self.parameters, &setting)
    }
}

impl Situation {
    /// Load rho of all traffic that does not adapt by itself to a full link.
    pub(crate) fn offered_load(&self) -> f64 {
        self.background + self.held_down + self.open_loop + self.closed_loop
    }

    /// Long flows in progress that this link bottlenecks: persistent ones and long transfers.
    pub(crate) fn long_flows(&self) -> f64 {
        self.bottlenecked + self.long_transfers
    }

    /// Share of the capacity left to the long flows.
    pub(crate) fn residual(&self) -> f64 {
        let transfers = if self.persistent > 0.0 {
            self.open_loop + self.closed_loop
        } else {
            0.0
        };
        let left = 1.0 - self.background - self.held_down - transfers;
        // If others take the whole link the share is zero, whatever the order of the sum.
        if settled(left) == 0.0 { 0.0 } else { left }
    }

    /// Bandwidth-delay product in packets of the capacity left to the long flows.
    pub(crate) fn residual_bdp(&self) -> Result<f64, ModelError> {
        Ok(self.bdp()? * self.left()?)
    }

    /// Bandwidth-delay product in packets of the whole link.
    pub(crate) fn bdp(&self) -> Result<f64, ModelError> {
        Ok(self.capacity_pps * self.round_trip()?)
    }

    /// The round-trip time T in seconds, or the error that there is none.
    pub(crate) fn round_trip(&self) -> Result<f64, ModelError> {
        let none = || {
            ModelError::NotApplicable(
                "no flow has a round trip, because no receiver acknowledges".into(),
            )
        };
        self.rtt_s.filter(|rtt| *rtt > 0.0).ok_or_else(none)
    }

    /// Share of the capacity left to the long flows, or the error that nothing is left.
    pub(crate) fn left(&self) -> Result<f64, ModelError> {
        let residual = self.residual();
        if residual > 0.0 {
            return Ok(residual);
        }
        Err(ModelError::NotApplicable(nothing_left()))
    }

    /// Fair window of one long flow, in packets.
    pub(crate) fn fair_window(&self) -> Result<f64, ModelError> {
        Ok((self.residual_bdp()? + self.buffer) / self.long_flows().max(1.0))
    }

    /// System size K = B + 1 of the formulas that count the packet in transmission.
    pub(crate) fn system_capacity(&self) -> f64 {
        (self.buffer + 1.0).round()
    }
}

/// The reason why a formula for long flows has no result beside a load of the whole link.
pub(crate) fn nothing_left() -> String {
    "other traffic takes the whole link".into()
}

/// The requirements of a buffer, from a scenario's goals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Targets {
    /// Smallest utilization.
    pub(crate) utilization: Option<f64>,
    /// Largest loss probability, of the link or of an unresponsive group.
    pub(crate) loss: Option<f64>,
    /// Largest queueing delay, in seconds.
    pub(crate) delay_s: Option<f64>,
}

impl Targets {
    /// The tightest goal of each kind.
    pub(crate) fn new(goals: &[Goal]) -> Self {
        let mut targets = Self::default();
        for goal in goals {
            let least =
                |known: Option<f64>| Some(known.map_or(goal.threshold, |k| k.min(goal.threshold)));
            match (goal.metric, goal.relation) {
                (Metric::Utilization, Relation::AtLeast) => {
                    let known = targets.utilization;
                    targets.utilization =
                        Some(known.map_or(goal.threshold, |k| k.max(goal.threshold)));
                }
                (Metric::LossRate, Relation::AtMost) => targets.loss = least(targets.loss),
                (
                    Metric::QueueDelayMean
                    | Metric::QueueDelayP95
                    | Metric::QueueDelayP99
                    | Metric::QueueDelayMax,
                    Relation::AtMost,
                ) => targets.delay_s = least(targets.delay_s),
                _ => {}
            }
        }
        targets
    }
}
