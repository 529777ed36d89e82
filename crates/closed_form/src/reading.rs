//! Conversion of a scenario into the units of the formulas. The rules read the resulting
//! [`Situation`].

use forebay_congestion::fluid::FluidLaw;
use forebay_discipline::{Limit, Setting};
use forebay_scenario::{Algorithm, FlowGroup, Scenario, Workload};

use crate::mix::{Mix, Part};
use crate::models::aimd::AimdResponse;
use crate::models::closed_loop::ClosedLoop;
use crate::models::core_access::RateLimited;
use crate::models::cubic_response::CubicResponse;
use crate::models::hstcp_throughput::{Form, HstcpThroughput};
use crate::models::htcp_response::HtcpResponse;
use crate::models::mathis::RenoResponse;
use crate::models::processor_sharing as sharing;
use crate::models::scalable_response::ScalableResponse;
use crate::numeric::settled;
use crate::response::Response;
use crate::situation::{RedQueue, RttClass, Situation};

/// Largest number of round-trip times that represent the distribution of a group.
const POINTS: usize = 256;

impl Situation {
    /// Reads the scenario.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let capacity_pps = scenario.packets_per_second();
        let persistent = scenario.persistent_flows() as f64;
        let mut situation = Self {
            capacity_pps,
            buffer: scenario.buffer().packets,
            rtt_s: scenario.harmonic_rtt(),
            persistent,
            bottlenecked: 0.0,
            held_down: 0.0,
            flows: Vec::new(),
            mix: Mix::new(("flows", "flows"), Vec::new()),
            sources: 0.0,
            slow_share: 0.0,
            background: scenario.background_load() + application_limited(scenario),
            open_loop: scenario.open_loop_load(),
            closed_loop: 0.0,
            long_transfers: 0.0,
            core_access: core_access(scenario),
            core_limits: None,
            saturation: saturation(scenario, capacity_pps),
            largest_window: largest_window(scenario),
            discipline: scenario.target().discipline.name(),
            red: red_queue(scenario),
            marking_threshold: marking_threshold(scenario),
            other_links: scenario.links().len() - 1,
        };
        let mut offers: Vec<Offer<'_>> = scenario.target_flows().map(Offer::new).collect();
        situation.share_out(scenario, &mut offers);
        situation.count_transfers(scenario, &mut offers);
        situation.mix = mix(scenario, &offers);
        (situation.sources, situation.slow_share) = sources(scenario, &offers);
        situation.core_limits = situation.core_access.and_then(|ratio| {
            let system = RateLimited::new(ratio.max(1.0), situation.offered_load()).ok()?;
            Some(system.core_limits())
        });
        situation
    }

    /// Max-min shares: determines the persistent groups that this link bottlenecks, and the load of
    /// the others.
    fn share_out(&mut self, scenario: &Scenario, offers: &mut [Offer<'_>]) {
        let share = |group| largest_share(group, scenario, self.capacity_pps);
        let mut persistent: Vec<(f64, &mut Offer<'_>)> = offers
            .iter_mut()
            .filter(|offer| offer.group.persistent())
            .map(|offer| (share(offer.group), offer))
            .collect();
        persistent.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = (1.0 - self.background).max(0.0);
        let mut flows = self.persistent;
        for (share, offer) in persistent {
            let count = offer.group.count as f64;
            if share < left / flows {
                offer.load = share * count;
                self.held_down += offer.load;
                left -= offer.load;
                flows -= count;
            } else {
                offer.long_flows = count;
                self.bottlenecked += count;
                self.flows.extend(round_trips(offer.group));
            }
        }
    }

    /// Determines the loads of the transfers, and how many in progress have outlived slow start.
    fn count_transfers(&mut self, scenario: &Scenario, offers: &mut [Offer<'_>]) {
        let free = (1.0 - self.background - self.held_down).max(0.0);
        let rate = scenario.target().rate.as_bytes_per_second() * free;
        let link = scenario.target().rate.as_bits_per_second() as f64;
        let arriving = if free > 0.0 {
            sharing::mean_flows(self.open_loop / free).unwrap_or(MANY)
        } else {
            MANY
        };
        let groups: Vec<&FlowGroup> = offers.iter().map(|offer| offer.group).collect();
        for offer in &mut *offers {
            let group = offer.group;
            // Groups with equal requests are one population, however they are divided.
            let alike = groups
                .iter()
                .filter(|other| have_equal_demand(group, other));
            let users: f64 = alike.map(|other| other.count as f64).sum();
            let part = group.count as f64 / users;
            match &group.workload {
                Workload::OpenLoop { .. } => {
                    offer.load = group.open_loop_rate().unwrap_or(0.0) / link;
                    offer.active = arriving * offer.load / self.open_loop;
                }
                Workload::Periodic { every, size } => {
                    // These users yield: each waits for its transfer before its next request.
                    let load = users * size.mean() / (rate * every.mean());
                    offer.load = part * load.min(1.0) * free;
                    let active = sharing::mean_flows(load).map_or(users, |mean| mean.min(users));
                    offer.active = part * active;
                    self.closed_loop += offer.load;
                }
                Workload::ClosedLoop { think, size, .. }
                | Workload::Incast {
                    pause: think, size, ..
                } => {
                    let ratio = size.mean() / (rate * think.mean());
                    let Ok(closed) = ClosedLoop::new(users, ratio) else {
                        continue;
                    };
                    offer.load = part * closed.utilization() * free;
                    offer.active = part * closed.mean_active();
                    self.closed_loop += offer.load;
                }
                // Other functions read workloads that are persistent, have no steady state or do
                // not yield.
                Workload::Persistent
                | Workload::AllToAll { .. }
                | Workload::RingAllReduce { .. }
                | Workload::Finite { .. }
                | Workload::ApplicationLimited { .. }
                | Workload::Poisson { .. }
                | Workload::Cbr { .. }
                | Workload::OnOff { .. } => {}
            }
        }
        let active: f64 = offers.iter().map(|offer| offer.active).sum();
        let pipe = self.capacity_pps * free * self.rtt_s.unwrap_or(0.0) + self.buffer;
        let fair_window = pipe / (self.bottlenecked + active).max(1.0);
        // Slow start sends twice the window that it ends with.
        for offer in offers.iter_mut().filter(|offer| offer.active > 0.0) {
            if offer.packets() > 2.0 * fair_window {
                offer.long_flows = offer.active;
                self.long_transfers += offer.active;
            }
        }
        if self.long_transfers >= MANY {
            self.long_transfers = f64::INFINITY;
        }
    }
}

/// Transfers in progress if the offered load exceeds the capacity: the number grows without limit.
const MANY: f64 = 1e12;

/// The traffic of a group over the target link.
struct Offer<'a> {
    group: &'a FlowGroup,
    /// Load over the rate of the link. For persistent flows only the load of those held down
    /// elsewhere.
    load: f64,
    /// Mean number of transfers in progress.
    active: f64,
    /// Flows in progress that outlive slow start and that the link bottlenecks.
    long_flows: f64,
}

impl<'a> Offer<'a> {
    const fn new(group: &'a FlowGroup) -> Self {
        Self {
            group,
            load: 0.0,
            active: 0.0,
            long_flows: 0.0,
        }
    }

    /// Packets of a transfer.
    fn packets(&self) -> f64 {
        match &self.group.workload {
            Workload::OpenLoop { size, .. }
            | Workload::Periodic { size, .. }
            | Workload::ClosedLoop { size, .. }
            | Workload::Incast { size, .. } => size.mean() / self.group.packet.mean(),
            _ => 0.0,
        }
    }
}

/// Whether the users of two groups make equal requests equally often.
fn have_equal_demand(group: &FlowGroup, other: &FlowGroup) -> bool {
    use Workload::{ClosedLoop, Incast, Periodic};
    match (&group.workload, &other.workload) {
        (Periodic { every, size }, Periodic { every: e, size: s }) => (every, size) == (e, s),
        (
            ClosedLoop { think, size, .. },
            ClosedLoop {
                think: t, size: s, ..
            },
        ) => (think, size) == (t, s),
        (
            Incast { pause, size, .. },
            Incast {
                pause: p, size: s, ..
            },
        ) => (pause, size) == (p, s),
        _ => std::ptr::eq(group, other),
    }
}

/// The flows that the formulas describe: the long ones. Without these, the flows that react to
/// congestion, weighted by their load or else by their number.
fn mix(scenario: &Scenario, offers: &[Offer<'_>]) -> Mix {
    let link = scenario.target().rate.as_bits_per_second() as f64;
    let weigh = |words, weight: &dyn Fn(&Offer<'_>) -> f64| {
        let responsive = offers.iter().filter(|offer| offer.group.responsive());
        let part = |offer: &Offer<'_>| {
            let response = response(&offer.group.controller);
            Part::new(offer.group, (weight(offer), link), response)
        };
        Mix::new(words, responsive.map(part).collect())
    };
    if offers.iter().any(|offer| offer.long_flows > 0.0) {
        weigh(("long flows", "long flows"), &|offer| offer.long_flows)
    } else if offers
        .iter()
        .any(|offer| offer.group.responsive() && own_load(offer, link) > 0.0)
    {
        weigh(("flows", "load that reacts to congestion"), &|offer| {
            own_load(offer, link)
        })
    } else {
        weigh(("flows", "flows"), &|offer| offer.group.count as f64)
    }
}

/// Load of the group that does not depend on the other groups, over the link's rate.
fn own_load(offer: &Offer<'_>, link_bps: f64) -> f64 {
    let group = offer.group;
    if let Workload::ApplicationLimited { rate } = group.workload {
        return rate.as_bits_per_second() as f64 * group.count as f64 / link_bps;
    }
    let unresponsive = group.unresponsive_rate().map(|rate| rate / link_bps);
    unresponsive.unwrap_or(offer.load)
}

/// The number of equal sources with a load of the same variability, and the share of slow flows.
/// The number is (sum l)^2 / (sum l^2) over the flows' loads l. Slow flows send at most at a tenth
/// of the link's rate. Poisson arrivals, of packets or of transfers, count as infinitely many
/// sources.
fn sources(scenario: &Scenario, offers: &[Offer<'_>]) -> (f64, f64) {
    let link = scenario.target().rate.as_bits_per_second() as f64;
    let capacity_pps = scenario.packets_per_second();
    let (mut total, mut squares, mut slow) = (0.0, 0.0, 0.0);
    for offer in offers {
        let (group, load) = (offer.group, own_load(offer, link));
        let flows = match group.workload {
            Workload::Poisson { .. } | Workload::OpenLoop { .. } => f64::INFINITY,
            // The servers answer all at once.
            Workload::Incast { .. } => 1.0,
            _ => group.count as f64,
        };
        let peak = match &group.workload {
            Workload::Poisson { .. } => 0.0,
            Workload::Cbr { .. } => load / flows,
            Workload::OnOff { peak, .. } => peak.as_bits_per_second() as f64 / link,
            Workload::ApplicationLimited { rate } => rate.as_bits_per_second() as f64 / link,
            _ => largest_share(group, scenario, capacity_pps),
        };
        total += load;
        squares += load * load / flows;
        slow += if peak <= 0.1 { load } else { 0.0 };
    }
    if total == 0.0 {
        return (0.0, 0.0);
    }
    (settled(total * total / squares), settled(slow / total))
}

/// The response function of a controller; `None` if it has none.
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
            beta: law.beta_min,
            quiet_s: law.low_speed_period,
        }),
        FluidLaw::Scalable(_) => Box::new(ScalableResponse),
    })
}

/// The target's RED queue, if it has one.
fn red_queue(scenario: &Scenario) -> Option<RedQueue> {
    let discipline = &scenario.target().discipline;
    let setting = setting(scenario, Limit::Packets(0));
    (discipline.name() == "red").then(|| RedQueue::new(discipline.parameters().clone(), setting))
}

/// The threshold of the target's step marking in packets, if it has one.
fn marking_threshold(scenario: &Scenario) -> Option<f64> {
    let discipline = &scenario.target().discipline;
    let limit = Limit::Packets(scenario.buffer().packets as u64);
    let level = || setting(scenario, limit).level(discipline.parameters().threshold("threshold"));
    (discipline.name() == "step").then(level)
}

/// The setting of the target's discipline, in packets.
fn setting(scenario: &Scenario, limit: Limit) -> Setting {
    let target = scenario.target();
    Setting {
        limit,
        rate: target.rate,
        steps: None,
        delay: target.delay,
        packet: scenario.packet_bytes().max(1.0),
        salt: 0,
    }
}

/// Round-trip times that represent a group, each for its share of the flows.
fn round_trips(group: &FlowGroup) -> impl Iterator<Item = RttClass> {
    let points = group.rtt.representatives(group.count.min(POINTS as u64));
    let n = points.len().min(POINTS);
    let flows = group.count as f64 / n as f64;
    (0..n)
        .map(move |k| points[k * points.len() / n])
        .filter(|rtt| *rtt > 0.0)
        .map(move |rtt_s| RttClass { rtt_s, flows })
}

/// Largest share of the link that one flow of the group can take. Its receive window per round trip
/// or its access link limits it.
fn largest_share(group: &FlowGroup, scenario: &Scenario, capacity_pps: f64) -> f64 {
    let window = group.stack.receive_window.unwrap_or(f64::INFINITY);
    let by_window = window * group.rtt.mean_inverse(group.count) / capacity_pps;
    let link = scenario.target().rate.as_bits_per_second() as f64;
    let by_access = group.access.as_ref().map_or(f64::INFINITY, |access| {
        access.rate.as_bits_per_second() as f64 / link
    });
    by_window.min(by_access)
}

/// Load rho of application-limited flows, from the rates at which their applications write.
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

#[cfg(test)]
mod tests;
