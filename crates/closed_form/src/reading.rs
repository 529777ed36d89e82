//! Reading a scenario into the formulas' units.

use forebay_congestion::fluid::FluidLaw;
use forebay_discipline::{Limit, Setting};
use forebay_scenario::{Algorithm, FlowGroup, Scenario, Workload};

use crate::models::aimd::AimdResponse;
use crate::models::closed_loop::ClosedLoop;
use crate::models::core_access::RateLimited;
use crate::models::cubic_response::CubicResponse;
use crate::models::hstcp_throughput::{Form, HstcpThroughput};
use crate::models::htcp_response::HtcpResponse;
use crate::models::mathis::RenoResponse;
use crate::models::processor_sharing as sharing;
use crate::models::scalable_response::ScalableResponse;
use crate::response::Response;
use crate::situation::{CommonController, RedQueue, RttClass, Situation};

/// Round-trip times per group that stand for its law.
const POINTS: usize = 256;

impl Situation {
    /// Reads the scenario.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let capacity_pps = scenario.packets_per_second();
        let persistent = scenario.persistent_flows() as f64;
        let (controller, mixed) = common_controller(scenario);
        let mut situation = Self {
            capacity_pps,
            buffer: scenario.buffer().packets,
            rtt_s: scenario.harmonic_rtt(),
            persistent,
            bottlenecked: 0.0,
            held_down: 0.0,
            flows: Vec::new(),
            controller,
            mixed,
            background: scenario.background_load() + application_limited(scenario),
            open_loop: scenario.open_loop_load(),
            closed_loop: 0.0,
            long_transfers: 0.0,
            core_access: core_access(scenario),
            core_limits: None,
            saturation: saturation(scenario, capacity_pps),
            largest_window: largest_window(scenario),
            paced: scenario
                .target_flows()
                .filter(|group| group.responsive())
                .all(|group| group.stack.pacing),
            discipline: scenario.target().discipline.name(),
            red: red_queue(scenario),
            marking_threshold: marking_threshold(scenario),
            other_links: scenario.links().len() - 1,
        };
        situation.share_out(scenario);
        situation.count_transfers(scenario);
        situation.core_limits = situation.core_access.and_then(|ratio| {
            let system = RateLimited::new(ratio.max(1.0), situation.offered_load()).ok()?;
            Some(system.core_limits())
        });
        situation
    }

    /// Max-min shares: which persistent groups this link bottlenecks, and what the others take.
    fn share_out(&mut self, scenario: &Scenario) {
        let mut groups: Vec<(f64, &FlowGroup)> = scenario
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
                Workload::Periodic { every, size } => {
                    // They yield: each user waits for its transfer before it asks again.
                    let users = group.count as f64;
                    let load = users * size.mean() / (rate * every.mean());
                    self.closed_loop += load.min(1.0) * free;
                    let active = sharing::mean_flows(load).map_or(users, |mean| mean.min(users));
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
                // What lasts, is no steady state, or does not yield is read elsewhere.
                Workload::Persistent
                | Workload::Finite { .. }
                | Workload::ApplicationLimited { .. }
                | Workload::Poisson { .. }
                | Workload::Cbr { .. }
                | Workload::OnOff { .. } => {}
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
}

/// The controller that most long flows use (most flows, where none is persistent), and whether
/// there are others.
fn common_controller(scenario: &Scenario) -> (Option<CommonController>, bool) {
    let persistent = scenario.persistent_flows() > 0;
    let groups = || {
        let responsive = scenario.target_flows().filter(|group| group.responsive());
        responsive.filter(move |group| !persistent || group.persistent())
    };
    let mut names: Vec<(&'static str, u64)> = Vec::new();
    for group in groups() {
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
        .find(|group| Some(group.controller.name()) == commonest)
        .map(|group| CommonController {
            name: group.controller.name(),
            response: response(&group.controller),
        });
    (controller, names.len() > 1)
}

/// The response function of a controller; none where it has none.
fn response(algorithm: &Algorithm) -> Option<Box<dyn Response>> {
    let law = forebay_congestion::fluid_law(algorithm.name(), algorithm.parameters())?;
    Some(match law {
        FluidLaw::Aimd(law) => Box::new(AimdResponse {
            increase: law.increase,
            cut: law.decrease,
        }),
        FluidLaw::NewReno(law) => Box::new(RenoResponse {
            packets_per_ack: law.packets_per_ack,
        }),
        FluidLaw::Hstcp(law) => Box::new(HstcpThroughput {
            response: *law.response(),
            form: Form::Approximate,
        }),
        FluidLaw::Cubic(law) => Box::new(CubicResponse {
            scaling: law.scale,
            cut: law.decrease,
        }),
        FluidLaw::Htcp(law) => Box::new(HtcpResponse {
            kept: law.smallest_kept,
            quiet_s: law.low_speed_period,
        }),
        FluidLaw::Scalable(_) => Box::new(ScalableResponse),
    })
}

/// The target's RED queue, where it has one.
fn red_queue(scenario: &Scenario) -> Option<RedQueue> {
    let discipline = &scenario.target().discipline;
    let setting = setting(scenario, Limit::Packets(0));
    (discipline.name() == "red").then(|| RedQueue::new(discipline.parameters().clone(), setting))
}

/// The threshold of the target's step marking in packets, where it has that.
fn marking_threshold(scenario: &Scenario) -> Option<f64> {
    let discipline = &scenario.target().discipline;
    let limit = Limit::Packets(scenario.buffer().packets as u64);
    let level = || setting(scenario, limit).level(discipline.parameters().threshold("threshold"));
    (discipline.name() == "step").then(level)
}

/// The target as its discipline sees it, in packets.
fn setting(scenario: &Scenario, limit: Limit) -> Setting {
    let target = scenario.target();
    Setting {
        limit,
        rate: target.rate,
        delay: target.delay,
        packet: scenario.packet_bytes().max(1.0),
        salt: 0,
    }
}

/// Round-trip times that stand for a group, each for its share of the flows.
fn round_trips(group: &FlowGroup) -> impl Iterator<Item = RttClass> {
    let points = group.rtt.representatives(group.count.min(POINTS as u64));
    let n = points.len().min(POINTS);
    let flows = group.count as f64 / n as f64;
    (0..n)
        .map(move |k| points[k * points.len() / n])
        .filter(|rtt| *rtt > 0.0)
        .map(move |rtt_s| RttClass { rtt_s, flows })
}

/// Largest share of the link that one flow of the group can take: its receive window per
/// round trip, or its access link.
fn largest_share(group: &FlowGroup, scenario: &Scenario, capacity_pps: f64) -> f64 {
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
