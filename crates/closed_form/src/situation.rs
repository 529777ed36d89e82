//! What the formulas need to know of a scenario: its target link, its long flows, its load.

use forebay_discipline::{DropCurve, Limit, Setting};
use forebay_scenario::{Goal, Metric, Relation};
use forebay_units::parameter::Parameters;

use crate::error::{FormulaError, positive};
use crate::response::Response;

/// A scenario in the formulas' units. Its 22 fields are what the rules ask of a scenario, one figure
/// each and all public to them: a rule reads the three or four that its formula has.
pub(crate) struct Situation {
    /// C, packets/s of the scenario's mean packet.
    pub(crate) capacity_pps: f64,
    /// B, packets that may wait.
    pub(crate) buffer: f64,
    /// T, harmonic mean round-trip time of the long flows, s.
    pub(crate) rtt_s: Option<f64>,
    /// Persistent flows.
    pub(crate) persistent: f64,
    /// Those of them that this link bottlenecks: neither their receive window nor their access
    /// link holds them below their fair share (Dhamdhere & Dovrolis, section 3.3).
    pub(crate) bottlenecked: f64,
    /// rho of the persistent flows that are held down elsewhere.
    pub(crate) held_down: f64,
    /// Bottlenecked persistent flows by round-trip time.
    pub(crate) flows: Vec<RttClass>,
    /// The commonest controller of the long flows.
    pub(crate) controller: Option<CommonController>,
    /// Whether the long flows use several controllers.
    pub(crate) mixed: bool,
    /// rho of the unresponsive groups.
    pub(crate) background: f64,
    /// rho of the open-loop transfers.
    pub(crate) open_loop: f64,
    /// rho of the closed-loop users, as far as they fill the link.
    pub(crate) closed_loop: f64,
    /// Transfers in progress on average that outlive slow start, beside the persistent flows;
    /// infinite in overload.
    pub(crate) long_transfers: f64,
    /// Smallest ratio of link rate to access rate, where every responsive group has an access rate.
    pub(crate) core_access: Option<f64>,
    /// Probability that this link, and not the access links, limits the flows; none where that is
    /// not known.
    pub(crate) core_limits: Option<f64>,
    /// Sum over the persistent flows of largest window / (C T); infinite where one is unlimited.
    pub(crate) saturation: f64,
    /// Largest receive window of the responsive flows, packets; none where one is unlimited.
    pub(crate) largest_window: Option<f64>,
    /// Whether every responsive flow is paced.
    pub(crate) paced: bool,
    /// Name of the target's queue discipline.
    pub(crate) discipline: &'static str,
    /// The target's RED, where it has that.
    pub(crate) red: Option<RedQueue>,
    /// Waiting packets from which on the target marks, where it does so by a step.
    pub(crate) marking_threshold: Option<f64>,
    /// Links other than the target.
    pub(crate) other_links: usize,
}

/// Flows with a common round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttClass {
    /// Round-trip propagation time, s.
    pub rtt_s: f64,
    /// How many flows; need not be whole.
    pub flows: f64,
}

/// A RED queue whose buffer is still open.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    parameters: Parameters,
    setting: Setting,
}

impl RedQueue {
    /// The queue with these parameters on a link of this setting, whose limit does not count.
    pub(crate) const fn new(parameters: Parameters, setting: Setting) -> Self {
        Self {
            parameters,
            setting,
        }
    }

    /// Its drop curve against the packets waiting, where `buffer` may wait.
    pub(crate) fn curve(&self, buffer: f64) -> DropCurve {
        let setting = Setting {
            limit: Limit::Packets(buffer as u64),
            ..self.setting
        };
        DropCurve::new(&self.parameters, &setting)
    }
}

/// The controller that most long flows use, as the formulas see it.
#[derive(Debug)]
pub(crate) struct CommonController {
    /// Its name in scenario files.
    pub(crate) name: &'static str,
    /// Its response function; none for controllers without one (BBR).
    pub(crate) response: Option<Box<dyn Response>>,
}

impl CommonController {
    /// Fraction of a window of `window` packets that it keeps at a cut.
    pub(crate) fn kept(&self, window: f64) -> Option<f64> {
        Some(self.response.as_ref()?.kept(window))
    }

    /// Standard deviation over mean of its window between two cuts.
    pub(crate) fn variation(&self, window: f64) -> Result<Option<f64>, FormulaError> {
        let response = self.response.as_ref();
        response
            .map(|response| response.variation(window))
            .transpose()
    }

    /// Whether it is Reno in all but name.
    pub(crate) fn is_reno(&self) -> bool {
        let response = self.response.as_ref();
        response.is_some_and(|response| response.is_reno())
    }
}

impl Situation {
    /// rho of everything that does not adapt by itself to a full link.
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
        1.0 - self.background - self.held_down - transfers
    }

    /// Bandwidth-delay product in packets of what is left to the long flows.
    pub(crate) fn residual_bdp(&self) -> Result<f64, FormulaError> {
        let rtt = positive(
            "harmonic mean RTT of the responsive flows (s)",
            self.rtt_s.unwrap_or(0.0),
        )?;
        let residual = positive("capacity left to the long flows (share)", self.residual())?;
        Ok(self.capacity_pps * rtt * residual)
    }

    /// Bandwidth-delay product in packets of the whole link.
    pub(crate) fn bdp(&self) -> Result<f64, FormulaError> {
        let rtt = positive(
            "harmonic mean RTT of the responsive flows (s)",
            self.rtt_s.unwrap_or(0.0),
        )?;
        Ok(self.capacity_pps * rtt)
    }

    /// Fair share of the window of one long flow, packets.
    pub(crate) fn fair_window(&self) -> Result<f64, FormulaError> {
        Ok((self.residual_bdp()? + self.buffer) / self.long_flows().max(1.0))
    }

    /// K of the formulas that count the packet in transmission: B + 1.
    pub(crate) fn system_capacity(&self) -> f64 {
        (self.buffer + 1.0).round()
    }
}

/// What a buffer must give, out of a scenario's goals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Targets {
    /// Least utilisation.
    pub(crate) utilization: Option<f64>,
    /// Largest loss probability, of the link or of an unresponsive group.
    pub(crate) loss: Option<f64>,
    /// Largest queueing delay, s.
    pub(crate) delay_s: Option<f64>,
}

impl Targets {
    /// The tightest of each kind.
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
