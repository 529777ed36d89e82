//! What the formulas need to know of a scenario: its target link, its long flows, its load.

use forebay_congestion::fluid::FluidLaw;
use forebay_scenario::{Goal, Metric, Relation, Scenario, Workload};

use crate::ModelError;
use crate::droptail_fixed_point::FlowGroup;
use crate::error::positive;
use crate::hstcp;
use crate::processor_sharing::{self as sharing, ClosedLoop, RateLimited};
use crate::response::{self, Cubic, Htcp, Response};

/// Transfers of more payload than this count as long flows (Dhamdhere & Dovrolis, section 2).
const LONG_BYTES: f64 = 100_000.0;

/// Round-trip times per group that stand for its law.
const POINTS: usize = 256;

/// A scenario in the formulas' units.
pub(crate) struct Situation {
    /// C, packets/s of the scenario's mean packet.
    pub(crate) capacity_pps: f64,
    /// B, packets that may wait.
    pub(crate) buffer: f64,
    /// T, harmonic mean round-trip time of the long flows, s.
    pub(crate) rtt_s: Option<f64>,
    /// Persistent flows.
    pub(crate) persistent: f64,
    /// Persistent flows by round-trip time.
    pub(crate) flows: Vec<FlowGroup>,
    /// The commonest controller of the long flows.
    pub(crate) controller: Option<Controller>,
    /// Whether the long flows use several controllers.
    pub(crate) mixed: bool,
    /// rho of the unresponsive groups.
    pub(crate) background: f64,
    /// rho of the open-loop transfers.
    pub(crate) open_loop: f64,
    /// rho of the closed-loop users, as far as they fill the link.
    pub(crate) closed_loop: f64,
    /// Long transfers in progress on average, beside the persistent flows; infinite in overload.
    pub(crate) long_transfers: f64,
    /// Smallest ratio of link rate to access rate, where every responsive group has an access rate.
    pub(crate) core_access: Option<f64>,
    /// Sum over the persistent flows of largest window / (C T); infinite where one is unlimited.
    pub(crate) saturation: f64,
    /// Largest receive window of the responsive flows, packets; none where one is unlimited.
    pub(crate) largest_window: Option<f64>,
    /// Whether every responsive flow is paced.
    pub(crate) paced: bool,
    /// Name of the target's queue discipline.
    pub(crate) discipline: &'static str,
    /// Links other than the target.
    pub(crate) other_links: usize,
}

/// A controller as the formulas see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controller {
    /// Its name in scenario files.
    pub(crate) name: &'static str,
    /// Its response function; none for controllers without one (BBR).
    pub(crate) response: Option<Response>,
}

impl Controller {
    /// Fraction of a window of `window` packets that it keeps at a cut.
    pub(crate) fn kept(&self, window: f64) -> Option<f64> {
        Some(match self.response? {
            Response::Aimd { cut, .. } => 1.0 - cut,
            Response::Reno { .. } => 0.5,
            Response::Cubic(cubic) => 1.0 - cubic.cut,
            Response::Htcp(htcp) => htcp.kept,
            Response::Scalable => 0.875,
            Response::Hstcp { response, .. } => 1.0 - hstcp::decrease(&response, window),
        })
    }

    /// Standard deviation over mean of its window between two cuts.
    pub(crate) fn variation(&self, window: f64) -> Result<Option<f64>, ModelError> {
        let Some(kept) = self.kept(window) else {
            return Ok(None);
        };
        Ok(Some(match self.response {
            Some(Response::Cubic(cubic)) => cubic.variation()?,
            _ => response::sawtooth_variation(1.0 - kept)?,
        }))
    }

    /// Whether it is Reno in all but name.
    pub(crate) fn is_reno(&self) -> bool {
        matches!(self.response, Some(Response::Reno { .. }))
    }
}

impl Situation {
    /// Reads the scenario.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let capacity_pps = scenario.packets_per_second();
        let persistent = scenario.persistent_flows() as f64;
        let groups = || scenario.target_flows().filter(|group| group.responsive());
        let kind = |group: &&forebay_scenario::FlowGroup| persistent == 0.0 || group.persistent();
        let mut names: Vec<(&'static str, u64)> = Vec::new();
        for group in groups().filter(kind) {
            let name = group.controller.name();
            match names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += group.count,
                None => names.push((name, group.count)),
            }
        }
        let commonest = names
            .iter()
            .max_by_key(|(_, count)| *count)
            .map(|(name, _)| *name);
        let controller = groups()
            .filter(kind)
            .find(|group| Some(group.controller.name()) == commonest)
            .map(|group| controller(&group.controller));
        let mut situation = Self {
            capacity_pps,
            buffer: scenario.buffer().packets,
            rtt_s: scenario.harmonic_rtt(),
            persistent,
            flows: persistent_groups(scenario),
            controller,
            mixed: names.len() > 1,
            background: scenario.background_load(),
            open_loop: scenario.open_loop_load(),
            closed_loop: 0.0,
            long_transfers: 0.0,
            core_access: core_access(scenario),
            saturation: saturation(scenario, capacity_pps),
            largest_window: largest_window(scenario),
            paced: groups().all(|group| group.stack.pacing),
            discipline: scenario.target().discipline.name(),
            other_links: scenario.links().len() - 1,
        };
        situation.count_transfers(scenario);
        situation
    }

    /// Loads of the transfers, and how many long ones are in progress.
    fn count_transfers(&mut self, scenario: &Scenario) {
        let free = (1.0 - self.background).max(0.0);
        let rate = scenario.target().rate.as_bytes_per_second() * free;
        let load = if free > 0.0 {
            self.open_loop / free
        } else {
            f64::INFINITY
        };
        for group in scenario.target_flows() {
            let long =
                |size: &forebay_scenario::Law<forebay_units::Bytes>| size.mean() > LONG_BYTES;
            match &group.workload {
                Workload::OpenLoop { size, .. } if long(size) => {
                    self.long_transfers += sharing::mean_flows(load).unwrap_or(f64::INFINITY);
                }
                Workload::ClosedLoop { users, think, size } => {
                    let ratio = size.mean() / (rate * think.mean());
                    let Ok(closed) = ClosedLoop::new(*users as f64, ratio) else {
                        continue;
                    };
                    self.closed_loop += closed.utilization() * free;
                    if long(size) {
                        self.long_transfers += closed.mean_active();
                    }
                }
                _ => {}
            }
        }
    }

    /// rho of everything that does not adapt by itself to a full link.
    pub(crate) fn offered_load(&self) -> f64 {
        self.background + self.open_loop + self.closed_loop
    }

    /// Long flows in progress: the persistent ones and the long transfers.
    pub(crate) fn long_flows(&self) -> f64 {
        self.persistent + self.long_transfers
    }

    /// Share of the capacity left to the long flows.
    pub(crate) fn residual(&self) -> f64 {
        let transfers = if self.persistent > 0.0 {
            self.open_loop + self.closed_loop
        } else {
            0.0
        };
        1.0 - self.background - transfers
    }

    /// Bandwidth-delay product in packets of what is left to the long flows.
    pub(crate) fn residual_bdp(&self) -> Result<f64, ModelError> {
        let rtt = positive(
            "harmonic mean RTT of the responsive flows (s)",
            self.rtt_s.unwrap_or(0.0),
        )?;
        let residual = positive("capacity left to the long flows (share)", self.residual())?;
        Ok(self.capacity_pps * rtt * residual)
    }

    /// Bandwidth-delay product in packets of the whole link.
    pub(crate) fn bdp(&self) -> Result<f64, ModelError> {
        let rtt = positive(
            "harmonic mean RTT of the responsive flows (s)",
            self.rtt_s.unwrap_or(0.0),
        )?;
        Ok(self.capacity_pps * rtt)
    }

    /// Fair share of the window of one long flow, packets.
    pub(crate) fn fair_window(&self) -> Result<f64, ModelError> {
        Ok((self.residual_bdp()? + self.buffer) / self.long_flows().max(1.0))
    }

    /// K of the formulas that count the packet in transmission: B + 1.
    pub(crate) fn system_capacity(&self) -> f64 {
        (self.buffer + 1.0).round()
    }

    /// Whether access links keep the flows from filling the link, as far as is known: the
    /// probability that the core limits them.
    pub(crate) fn core_limits(&self) -> Option<f64> {
        let ratio = self.core_access?.max(1.0);
        RateLimited::new(ratio, self.offered_load())
            .ok()
            .map(|system| system.core_limits())
    }
}

fn controller(algorithm: &forebay_scenario::Algorithm) -> Controller {
    let law = forebay_congestion::fluid_law(algorithm.name(), algorithm.parameters());
    let response = law.map(|law| match law {
        FluidLaw::Aimd(law) => Response::Aimd {
            increase: law.increase,
            cut: law.decrease,
        },
        FluidLaw::NewReno(law) => Response::Reno {
            packets_per_ack: law.packets_per_ack,
        },
        FluidLaw::Hstcp(law) => Response::Hstcp {
            response: *law.response(),
            form: hstcp::Form::Approximate,
        },
        FluidLaw::Cubic(law) => Response::Cubic(Cubic {
            scaling: law.scale,
            cut: law.decrease,
        }),
        FluidLaw::Htcp(law) => Response::Htcp(Htcp {
            kept: law.smallest_kept,
            quiet_s: law.low_speed_period,
        }),
        FluidLaw::Scalable(_) => Response::Scalable,
    });
    Controller {
        name: algorithm.name(),
        response,
    }
}

fn persistent_groups(scenario: &Scenario) -> Vec<FlowGroup> {
    let mut all = Vec::new();
    for group in scenario.target_flows().filter(|group| group.persistent()) {
        let points = group.rtt.representatives(group.count);
        let n = points.len().min(POINTS);
        let flows = group.count as f64 / n as f64;
        let rtts = (0..n)
            .map(|k| points[k * points.len() / n])
            .filter(|rtt| *rtt > 0.0);
        all.extend(rtts.map(|rtt_s| FlowGroup { rtt_s, flows }));
    }
    all
}

fn core_access(scenario: &Scenario) -> Option<f64> {
    let core = scenario.target().rate.as_bits_per_second() as f64;
    let mut least: Option<f64> = None;
    for group in scenario.target_flows().filter(|group| group.responsive()) {
        let ratio = core / group.access.as_ref()?.rate.as_bits_per_second() as f64;
        least = Some(least.map_or(ratio, |least| least.min(ratio)));
    }
    least
}

fn saturation(scenario: &Scenario, capacity_pps: f64) -> f64 {
    scenario
        .target_flows()
        .filter(|group| group.persistent())
        .map(|group| {
            let window = group.stack.receive_window.unwrap_or(f64::INFINITY);
            let by_window = window * group.rtt.mean_inverse(group.count) / capacity_pps;
            let link = scenario.target().rate.as_bits_per_second() as f64;
            let by_access = group.access.as_ref().map_or(f64::INFINITY, |access| {
                access.rate.as_bits_per_second() as f64 / link
            });
            group.count as f64 * by_window.min(by_access)
        })
        .sum()
}

fn largest_window(scenario: &Scenario) -> Option<f64> {
    let mut largest = None;
    for group in scenario.target_flows().filter(|group| group.responsive()) {
        let window = group.stack.receive_window?;
        largest = Some(largest.map_or(window, |known: f64| known.max(window)));
    }
    largest
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
                    Metric::QueueDelayMean | Metric::QueueDelayP99 | Metric::QueueDelayMax,
                    Relation::AtMost,
                ) => targets.delay_s = least(targets.delay_s),
                _ => {}
            }
        }
        targets
    }
}
