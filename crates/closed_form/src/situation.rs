//! What the formulas need to know of a scenario: its target link, its long flows, its load.

use forebay_congestion::fluid::FluidLaw;
use forebay_discipline::{DropCurve, Limit, Setting};
use forebay_scenario::{Goal, Metric, Relation, Scenario, Workload};
use forebay_units::parameter::Parameters;

use crate::ModelError;
use crate::droptail_fixed_point::FlowGroup;
use crate::error::positive;
use crate::hstcp;
use crate::processor_sharing::{self as sharing, ClosedLoop, RateLimited};
use crate::response::{self, Cubic, Htcp, Response};

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
    /// Those of them that this link bottlenecks: neither their receive window nor their access
    /// link holds them below their fair share (Dhamdhere & Dovrolis, section 3.3).
    pub(crate) bottlenecked: f64,
    /// rho of the persistent flows that are held down elsewhere.
    pub(crate) held_down: f64,
    /// Bottlenecked persistent flows by round-trip time.
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
    /// Transfers in progress on average that outlive slow start, beside the persistent flows;
    /// infinite in overload.
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
    /// The target's RED, where it has that.
    pub(crate) red: Option<RedQueue>,
    /// Links other than the target.
    pub(crate) other_links: usize,
}

/// A RED queue whose buffer is still open.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    parameters: Parameters,
    setting: Setting,
}

impl RedQueue {
    fn of(scenario: &Scenario) -> Option<Self> {
        let target = scenario.target();
        (target.discipline.name() == "red").then(|| Self {
            parameters: target.discipline.parameters().clone(),
            setting: Setting {
                limit: Limit::Packets(0),
                rate: target.rate,
                delay: target.delay,
                packet: scenario.packet_bytes().max(1.0),
                salt: 0,
            },
        })
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
            bottlenecked: 0.0,
            held_down: 0.0,
            flows: Vec::new(),
            controller,
            mixed: names.len() > 1,
            background: scenario.background_load() + application_limited(scenario),
            open_loop: scenario.open_loop_load(),
            closed_loop: 0.0,
            long_transfers: 0.0,
            core_access: core_access(scenario),
            saturation: saturation(scenario, capacity_pps),
            largest_window: largest_window(scenario),
            paced: groups().all(|group| group.stack.pacing),
            discipline: scenario.target().discipline.name(),
            red: RedQueue::of(scenario),
            other_links: scenario.links().len() - 1,
        };
        situation.share_out(scenario);
        situation.count_transfers(scenario);
        situation
    }

    /// Max-min shares: which persistent groups this link bottlenecks, and what the others take.
    fn share_out(&mut self, scenario: &Scenario) {
        let mut groups: Vec<(f64, &forebay_scenario::FlowGroup)> = scenario
            .target_flows()
            .filter(|group| group.persistent())
            .map(|group| (largest_share(group, scenario, self.capacity_pps), group))
            .collect();
        groups.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = (1.0 - self.background).max(0.0);
        let mut flows = self.persistent;
        for (share, group) in groups {
            let count = group.count as f64;
            if share < left / flows {
                self.held_down += share * count;
                left -= share * count;
                flows -= count;
            } else {
                self.bottlenecked += count;
                self.flows.extend(round_trips(group));
            }
        }
    }

    /// Loads of the transfers, and how many in progress have outlived slow start.
    fn count_transfers(&mut self, scenario: &Scenario) {
        let free = (1.0 - self.background - self.held_down).max(0.0);
        let rate = scenario.target().rate.as_bytes_per_second() * free;
        let load = if free > 0.0 {
            self.open_loop / free
        } else {
            f64::INFINITY
        };
        let mut transfers = Vec::new();
        for group in scenario.target_flows() {
            match &group.workload {
                Workload::OpenLoop { size, .. } => {
                    let active = sharing::mean_flows(load).unwrap_or(f64::INFINITY);
                    transfers.push((active, size.mean() / group.packet.mean()));
                }
                Workload::ClosedLoop { users, think, size }
                | Workload::Incast {
                    servers: users,
                    pause: think,
                    size,
                    ..
                } => {
                    let ratio = size.mean() / (rate * think.mean());
                    let Ok(closed) = ClosedLoop::new(*users as f64, ratio) else {
                        continue;
                    };
                    self.closed_loop += closed.utilization() * free;
                    transfers.push((closed.mean_active(), size.mean() / group.packet.mean()));
                }
                _ => {}
            }
        }
        let active: f64 = transfers.iter().map(|(active, _)| active).sum();
        let pipe = self.capacity_pps * free * self.rtt_s.unwrap_or(0.0) + self.buffer;
        let fair_window = pipe / (self.bottlenecked + active).max(1.0);
        // Slow start sends twice the window that it ends with.
        let long = transfers
            .iter()
            .filter(|(_, packets)| *packets > 2.0 * fair_window);
        self.long_transfers = long.map(|(active, _)| active).sum();
    }

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

/// Round-trip times that stand for a group, each for its share of the flows.
fn round_trips(group: &forebay_scenario::FlowGroup) -> impl Iterator<Item = FlowGroup> {
    let points = group.rtt.representatives(group.count.min(POINTS as u64));
    let n = points.len().min(POINTS);
    let flows = group.count as f64 / n as f64;
    (0..n)
        .map(move |k| points[k * points.len() / n])
        .filter(|rtt| *rtt > 0.0)
        .map(move |rtt_s| FlowGroup { rtt_s, flows })
}

/// Largest share of the link that one flow of the group can take: its receive window per
/// round trip, or its access link.
fn largest_share(
    group: &forebay_scenario::FlowGroup,
    scenario: &Scenario,
    capacity_pps: f64,
) -> f64 {
    let window = group.stack.receive_window.unwrap_or(f64::INFINITY);
    let by_window = window * group.rtt.mean_inverse(group.count) / capacity_pps;
    let link = scenario.target().rate.as_bits_per_second() as f64;
    let by_access = group.access.as_ref().map_or(f64::INFINITY, |access| {
        access.rate.as_bits_per_second() as f64 / link
    });
    by_window.min(by_access)
}

/// rho of the flows that their applications hold back: up to the whole link what they write.
fn application_limited(scenario: &Scenario) -> f64 {
    let loads = scenario.target_flows().map(|group| match group.workload {
        Workload::ApplicationLimited { rate } => {
            rate.as_bits_per_second() as f64 * group.count as f64
        }
        _ => 0.0,
    });
    loads.sum::<f64>() / scenario.target().rate.as_bits_per_second() as f64
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
        .map(|group| group.count as f64 * largest_share(group, scenario, capacity_pps))
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
