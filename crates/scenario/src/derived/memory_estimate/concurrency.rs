//! How many flows and packets there may be at once: no more than what a buffer holds, than what can
//! come in a run, and than windows and sizes let senders send.

use forebay_congestion::packet::Capabilities;
use forebay_units::Time;

use crate::answer::footprint::{
    Footprint, Need, TIMERS_OF_A_FLOW, Waiting, controller_requirements, grown,
};
use crate::model::buffer::BufferLimit;
use crate::model::distribution::Distribution;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::scenario::Scenario;
use crate::model::stack::Processing;
use crate::model::workload::Workload;

/// How far a count may lie above its mean, in roots of that: none of a million runs has more.
pub(super) const N_SIGMA: f64 = 6.0;

/// The share of a link's packets that belong to flows which the link's drops spare.
const SPARED: f64 = 0.25;

impl Scenario {
    /// The most responsive flows at once, of all groups.
    pub fn max_concurrent_flows(&self) -> f64 {
        let groups = self.flows().iter().filter(|group| group.responsive());
        groups.map(|group| self.alive(group).1).sum()
    }

    /// The key that says how many flows of a group there are at once, and how many that may be.
    pub(super) fn alive(&self, group: &FlowGroup) -> (String, f64) {
        let key = |key: &str| format!("flows.{}.{key}", group.name);
        match &group.workload {
            Workload::OpenLoop { interarrival, .. } => {
                let alive = || match &group.routing {
                    Some(_) => self.transfers_alive_in_fabric(group, interarrival),
                    None => self.transfers_alive(group, interarrival),
                };
                let groups = self.flows();
                let here = groups.iter().position(|it| std::ptr::eq(it, group));
                let most = here.map_or_else(alive, |at| self.alive.of(at, groups.len(), alive));
                (key("workload"), most)
            }
            Workload::ClosedLoop { .. } | Workload::Incast { .. } => {
                (key("workload"), group.count as f64)
            }
            _ => (key("count"), group.count as f64),
        }
    }

    /// Transfers that an open loop begins in a run, on the average.
    pub(super) fn arrivals(&self, interarrival: &Distribution<Time>) -> f64 {
        self.seconds() / interarrival.mean().max(1e-12) + 1.0
    }

    /// The most packets of a responsive group that are in the network or wait for it at once: no
    /// more than its access links let pass.
    fn held(&self, group: &FlowGroup) -> f64 {
        let passed = access_rate(group) * self.seconds() / smallest(group) + group.count as f64;
        self.in_network(group).min(passed)
    }

    /// The most packets of a responsive group that propagate or wait: no more than what is not
    /// acknowledged, and of long flows no more than their windows. A packet that waits for longer
    /// than a retransmission timeout has another copy.
    fn in_network(&self, group: &FlowGroup) -> f64 {
        if !group.persistent() {
            return self.unanswered(group);
        }
        let wait: f64 = group.path.iter().map(|&at| self.drain_time(at)).sum();
        let trip = self.longest_trip(group) + wait;
        let copies = if trip < group.stack.min_rto.as_secs_f64() {
            1.0
        } else {
            2.0
        };
        let windows = copies * self.windows(group) + ahead(group);
        self.unanswered(group).min(windows)
    }

    /// The most packets of a responsive group that nothing has acknowledged, those that access
    /// links dropped among them. Each acknowledgment lets a sender send two at most. The packets in
    /// flight are therefore no more than those that have been carried, and the first windows. If a
    /// window or a size bounds them, there may be another copy of each, because packets that wait
    /// for long are sent again.
    pub(super) fn unanswered(&self, group: &FlowGroup) -> f64 {
        let carried = self.carried(group) + self.first_windows(group) + ahead(group);
        let size = transfer_packets(group);
        if matches!(group.workload, Workload::OpenLoop { .. }) {
            return carried.min(2.0 * self.alive(group).1 * size);
        }
        let window = group.stack.receive_window.unwrap_or(f64::INFINITY);
        let written = match &group.workload {
            Workload::ApplicationLimited { rate } => {
                rate.as_bytes_per_second() * self.seconds() / smallest(group)
            }
            _ => f64::INFINITY,
        };
        let each = 2.0 * (window.min(size).min(written) + 1.0);
        let grown = self.doubled_windows(group) + ahead(group);
        carried
            .min(group.count as f64 * each)
            .min(grown)
            .min(self.window_at_random_loss(group))
    }

    /// Packets of a group that are not acknowledged where a medium loses packets at random and each
    /// loss reduces the window. A slow start sends 1/p packets until the first loss, on the
    /// average, and as many again until the loss is noticed; congestion avoidance has less in
    /// flight, because it loses about a packet in each cycle (Mathis, Semke, Mahdavi and Ott,
    /// 1997). Infinite where nothing bounds the window.
    fn window_at_random_loss(&self, group: &FlowGroup) -> f64 {
        let rate_based = controller_requirements(group).samples == Capabilities::Rates;
        if rate_based || grown(group) > 0.0 {
            return f64::INFINITY;
        }
        let losses = group.path.iter().map(|&at| self.links()[at].loss.random);
        let loss = losses.fold(0.0, f64::max);
        swung(group.count as f64) * (2.0 / loss + 2.0)
    }

    /// Packets of a group that its links can carry in a run.
    pub(super) fn carried(&self, group: &FlowGroup) -> f64 {
        let rates = group
            .path
            .iter()
            .map(|&at| self.links()[at].highest_rate().as_bytes_per_second());
        let slowest = rates.fold(access_rate(group), f64::min);
        slowest * self.seconds() / smallest(group)
    }

    /// Packets that a group sends without having been acknowledged any, at the beginning of flows
    /// or transfers and as timers expire.
    pub(super) fn first_windows(&self, group: &FlowGroup) -> f64 {
        let size = transfer_packets(group);
        let first = group.stack.initial_window.min(size) + TIMERS_OF_A_FLOW.min(size);
        let flows = match &group.workload {
            Workload::OpenLoop { interarrival, .. } => swung(self.arrivals(interarrival)),
            _ => group.count as f64,
        };
        flows * first
    }

    /// The packets that may wait at a link. They are bounded by the room of its buffer and its
    /// memory, and by the packets that may come. Packets that come at a bounded rate wait only as
    /// far as the link cannot carry them.
    pub(super) fn waiting(&self, at: usize) -> Waiting {
        let here = self.flows().iter();
        let mut coming: Vec<Coming> = here.flat_map(|group| self.coming(group, at)).collect();
        coming.sort_by(|a, b| a.size.total_cmp(&b.size));
        let limit = self.room(at, &coming);
        let rate: f64 = coming.iter().map(|each| each.rate).sum();
        let over = (rate - self.surely_carried(at)).max(0.0) * self.seconds();
        let sizes = coming.iter().filter(|each| each.rate > 0.0);
        let size = sizes.map(|each| each.size).fold(f64::INFINITY, f64::min);
        let at_once: f64 = coming.iter().map(|each| each.at_once).sum();
        let total: f64 = coming.iter().map(|each| each.packets).sum();
        let packets = total.min(over / size + at_once).min(limit);
        let go_on = coming.iter().filter(|each| each.goes_on);
        Waiting {
            packets,
            go_on: go_on.map(|each| each.packets).sum::<f64>().min(packets),
        }
    }

    /// Bytes per second that a link carries of what comes, however late: the rest may wait. Behind
    /// a link whose rate changes, or that is no wire, what has waited there comes faster than it
    /// was sent.
    fn surely_carried(&self, at: usize) -> f64 {
        let mut others = (0..self.links().len()).filter(|other| *other != at);
        let bunches =
            |link: &Link| link.changes() || link.medium.is_some() || link.shaper.is_some();
        if others.any(|other| bunches(&self.links()[other])) {
            return 0.0;
        }
        self.links()[at].lowest_rate().as_bytes_per_second()
    }

    /// Packets of an open loop that may wait at a link at once: those of its own bunches, and while
    /// packets of other groups wait, its share of what arrives in that time. As many as are held
    /// where the link is overloaded.
    fn open_loop_waiting(&self, group: &FlowGroup, at: usize) -> f64 {
        let here = self.flows().iter().filter(|it| it.path.contains(&at));
        let rate = self.links()[at].lowest_rate().as_bits_per_second() as f64;
        let offered = here
            .clone()
            .filter_map(|it| it.unresponsive_rate().or(it.open_loop_rate()));
        let load = offered.sum::<f64>() / rate;
        if load >= 1.0 {
            return f64::INFINITY;
        }
        let closed = here.filter(|it| it.responsive() && it.open_loop_rate().is_none());
        let others: f64 = closed.map(|it| self.held(it)).sum();
        let pipe = rate / 8.0 * self.mean_trip_of_many(group) / smallest(group);
        self.open_loop_queue(group, load, pipe) + others * load / (1.0 - load)
    }

    /// The packets that a group sends over a link, or its acknowledgments.
    fn coming(&self, group: &FlowGroup, at: usize) -> Vec<Coming> {
        let flows = group.count as f64;
        let small = group.stack.header.get().max(1) as f64;
        let held = match group.open_loop_rate() {
            Some(_) => self.held(group).min(self.open_loop_waiting(group, at)),
            None => self.held(group),
        };
        let all = Coming {
            size: small,
            packets: held + flows,
            rate: f64::INFINITY,
            at_once: 0.0,
            goes_on: true,
        };
        if group.reverse.contains(&at) {
            return vec![all];
        }
        let Some(hop) = group.path.iter().position(|&link| link == at) else {
            return Vec::new();
        };
        let size = smallest(group);
        if group.responsive() {
            let data = Coming {
                size,
                rate: access_rate(group),
                at_once: flows,
                ..all
            };
            // A SYN and another copy of it.
            let packets = f64::from(u8::from(group.stack.handshake)) * 2.0 * self.alive(group).1;
            let opening = Coming {
                packets,
                rate: 0.0,
                at_once: packets,
                ..all
            };
            return vec![data, opening];
        }
        let rate = match &group.workload {
            Workload::OnOff { peak, .. } => peak.as_bytes_per_second() * flows,
            _ => group.unresponsive_rate().unwrap_or(0.0) / 8.0,
        };
        let count = rate * self.seconds() / group.packet.mean().max(1.0);
        let at_once = flows + N_SIGMA * count.sqrt();
        vec![Coming {
            size,
            packets: count + at_once,
            rate,
            at_once,
            goes_on: hop + 1 < group.path.len(),
        }]
    }

    /// Packets that find room at a link, the smallest first: in its buffer, in those that classes
    /// have of their own, and in the memory that it shares with others.
    fn room(&self, at: usize, coming: &[Coming]) -> f64 {
        let link = &self.links()[at];
        let classes = link.classes.iter().filter_map(|class| class.buffer);
        let own = classes
            .chain([link.buffer])
            .map(|limit| packets_in(limit, coming));
        let memory = link.memory.map(|at| self.memories()[at].size);
        let memory = memory.map_or(f64::INFINITY, |size| packets_in(size, coming));
        // One more than the limit, before another is dropped for it.
        own.sum::<f64>().min(memory) + 1.0
    }

    /// Packets that propagate, and records that senders keep of packets that are not acknowledged.
    pub(super) fn sent(&self, each: &impl Footprint, waiting: &[Waiting]) -> Vec<Need> {
        let mut needs = Vec::new();
        for group in self.flows().iter().filter(|group| group.responsive()) {
            let key = || format!("flows.{}.rtt", group.name);
            // A packet that waits at an access link is an event of its delivery already, which may
            // lie beyond the end.
            let under_way = self.propagating(group, waiting);
            needs.push(Need::new(
                key(),
                under_way,
                "propagating packet",
                each.under_way(self),
            ));
            let queued = self.queued(group, waiting);
            let window = group.stack.receive_window.unwrap_or(f64::INFINITY);
            let size = transfer_packets(group);
            // A first window leaves at once, though links drop most of it.
            let first = group.stack.initial_window.min(size);
            let outstanding = (under_way
                + queued
                + self.sent_during_recovery(group, under_way + queued)
                + ahead(group))
            .max(self.alive(group).1 * first)
            .min(group.count as f64 * window.min(size))
            .min(self.unanswered(group));
            needs.push(Need::new(
                key(),
                outstanding,
                "unacknowledged packet",
                each.outstanding(group),
            ));
        }
        needs
    }

    /// Packets of a group that wait at the links of its path and of its acknowledgments' path.
    fn queued(&self, group: &FlowGroup, waiting: &[Waiting]) -> f64 {
        let paths = group.path.iter().chain(&group.reverse);
        paths
            .map(|&at| self.share(group, at) * waiting[at].packets)
            .sum()
    }

    /// The share of a link that a group may use. Long flows share it by their number; a group that
    /// paces by measured rates may hold half of it, however many other flows there are (Ware,
    /// Mukerjee, Seshan and Sherry, Modeling BBR's interactions with loss-based congestion control,
    /// 2019). Transfers are bounded by Little's law instead.
    pub(super) fn share(&self, group: &FlowGroup, at: usize) -> f64 {
        if !group.persistent() {
            return 1.0;
        }
        let here = |it: &&FlowGroup| it.path.contains(&at) || it.reverse.contains(&at);
        let long = self
            .flows()
            .iter()
            .filter(|it| it.persistent())
            .filter(here);
        let share = group.count as f64 / long.map(|it| it.count as f64).sum::<f64>().max(1.0);
        match controller_requirements(group).samples {
            Capabilities::Rates => share.clamp(0.5, 1.0),
            _ => share.min(1.0),
        }
    }

    /// The longest round trip of a group, in seconds, with every delay that changes at its longest.
    pub(super) fn longest_trip(&self, group: &FlowGroup) -> f64 {
        let links = group.path.iter().chain(&group.reverse);
        let extra = links.map(|&at| self.links()[at].most_extra_delay().as_secs_f64());
        most_of(&group.rtt) + extra.sum::<f64>()
    }

    /// The mean round trip of a group's flows, in seconds, and a standard deviation of that mean as
    /// if the round trips were uniform up to the longest. Every delay of links that changes is at
    /// its longest.
    pub(super) fn mean_trip(&self, group: &FlowGroup) -> f64 {
        let extra = (most_of(&group.rtt) - group.rtt.mean()).max(0.0);
        let deviation = extra / (3.0 * (group.count as f64).max(1.0)).sqrt();
        self.longest_trip(group) - extra + deviation
    }

    /// Packets of a group that propagate or wait at access links: a link's rate times the delay
    /// behind it, and the packets that windows hold back at access links.
    pub(super) fn propagating(&self, group: &FlowGroup, waiting: &[Waiting]) -> f64 {
        let packet = smallest(group);
        let rate = |at: usize| {
            let rate = self.links()[at].highest_rate().as_bytes_per_second();
            self.share(group, at) * rate
        };
        let Some((&last, inner)) = group.path.split_last() else {
            return 0.0;
        };
        let between = inner
            .iter()
            .map(|&at| rate(at) * self.links()[at].longest_delay().as_secs_f64());
        let behind = rate(last) * self.mean_trip(group);
        let pipe = (between.sum::<f64>() + behind) / packet;
        let there = pipe + self.queued(group, waiting);
        let network = self.in_network(group);
        // Packets of long flows that wait are in the same windows as those that propagate.
        let beside = if group.persistent() {
            (network - self.queued(group, waiting)).max(0.0)
        } else {
            network
        };
        (pipe + group.count as f64 + self.at_access(group, there))
            .min(self.offered_at_once(group))
            .min(beside)
    }

    /// Packets of a group that wait at its access links, where the rest of the network holds
    /// `there` of them.
    fn at_access(&self, group: &FlowGroup, there: f64) -> f64 {
        // A lossless queue drops nothing: what it does not let in waits at its hosts, also at those
        // without an access link.
        let joins = |&at: &usize| self.links()[at].pfc_of(&group.name).is_some();
        let is_held = group.path.iter().any(joins);
        let Some(access) = &group.access else {
            return if is_held { f64::INFINITY } else { 0.0 };
        };
        let queues = access
            .queue
            .map_or(f64::INFINITY, |queue| queue as f64 + 1.0);
        let flows = self.alive(group).1;
        let mut links = group.path.iter().map(|&at| &self.links()[at]);
        let slower = |link: &Link| 2.0 * link.highest_rate().as_bytes_per_second();
        let windows = if is_held {
            f64::INFINITY
        } else if links.any(|link| slower(link) <= access.rate.as_bytes_per_second()) {
            // A slow start sends two packets for each that a link delivers (RFC 5681), which is no
            // faster than the access link: what waits is a first window.
            flows * group.stack.initial_window
        } else if self.drops(group) {
            // Drops keep the windows near what the network holds: a slow start ends at twice as
            // much.
            there + self.spared(group)
        } else {
            // Nothing is dropped behind an access link that is slower than the rest: windows grow
            // to the end.
            f64::INFINITY
        };
        (queues * flows).min(windows)
    }

    /// Packets that wait at the access links of flows which the drops of a full link spare.
    ///
    /// Packets that an access link slower than the path spaces out evenly may find room in a
    /// first-in-first-out queue again and again, while the link drops packets of other flows (Floyd
    /// and Jacobson, On traffic phase effects in packet-switched gateways, 1992). A slow start that
    /// no threshold ends then grows by each packet that the link carries. Hosts that vary their
    /// processing time break the phases. The share of packets that belong to such flows depends on
    /// the draws: in simulated runs of one scenario it is 5 to 40 %. This is a quarter, not a
    /// bound.
    fn spared(&self, group: &FlowGroup) -> f64 {
        let slowest = self.slowest_rate(group);
        let spaced = group.access.as_ref().is_some_and(|access| {
            access.queue.is_none() && access.rate.as_bytes_per_second() < slowest
        });
        let fifo = |at: &usize| self.links()[*at].discipline.name() == "droptail";
        let exact = group.stack.processing == Processing::UpTo(Time::ZERO);
        let endless = group.persistent() && group.stack.initial_ssthresh.is_none();
        let rate_based = controller_requirements(group).samples == Capabilities::Rates;
        if spaced && exact && endless && !rate_based && group.path.iter().all(fifo) {
            SPARED * self.carried(group)
        } else {
            0.0
        }
    }

    /// Whether a link of a group's path is offered more than it carries, and so drops packets.
    fn drops(&self, group: &FlowGroup) -> bool {
        group.path.iter().any(|&at| {
            let here = self.flows().iter().filter(|it| it.path.contains(&at));
            let offered = here.map(|it| {
                if let Workload::ApplicationLimited { rate } = &it.workload {
                    return rate.as_bytes_per_second() * it.count as f64;
                }
                let known = it.unresponsive_rate().or(it.open_loop_rate());
                known.map_or_else(|| access_rate(it), |bits| bits / 8.0)
            });
            offered.sum::<f64>() > self.links()[at].lowest_rate().as_bytes_per_second()
        })
    }
}

/// The packets of one group that come to a link.
#[derive(Clone, Copy)]
struct Coming {
    /// Bytes of its smallest packets.
    size: f64,
    /// The most that are there at once, or come at all.
    packets: f64,
    /// Bytes per second; infinite where nothing bounds them.
    rate: f64,
    /// Packets beyond that rate that may come at once.
    at_once: f64,
    goes_on: bool,
}

/// Packets that a group's flows send ahead of what links take, where windows grow by many in a
/// round trip: until a loss is noticed and the window has been cut often enough.
fn ahead(group: &FlowGroup) -> f64 {
    group.count as f64 * 4.0 * grown(group)
}

/// A count that may lie so far above its mean.
pub(super) fn swung(mean: f64) -> f64 {
    mean + N_SIGMA * mean.sqrt()
}

/// Bytes per second that a group's access links let pass; infinite where it has none.
fn access_rate(group: &FlowGroup) -> f64 {
    let access = group.access.as_ref();
    access.map_or(f64::INFINITY, |access| {
        access.rate.as_bytes_per_second() * group.count as f64
    })
}

/// Bytes of a group's smallest packets.
pub(super) fn smallest(group: &FlowGroup) -> f64 {
    group.packet.infimum().max(1.0)
}

/// The most packets of a transfer.
fn transfer_packets(group: &FlowGroup) -> f64 {
    let size = match &group.workload {
        Workload::Finite { size }
        | Workload::ClosedLoop { size, .. }
        | Workload::Periodic { size, .. }
        | Workload::OpenLoop { size, .. }
        | Workload::AllToAll { size, .. }
        | Workload::Incast { size, .. } => size.supremum(),
        // 2 (n - 1) parts of an n-th.
        Workload::RingAllReduce { size, .. } => 2.0 * size.get() as f64,
        _ => return f64::INFINITY,
    };
    // A packet more where the last is not full, and the SYN.
    size / (smallest(group) - group.stack.header.get() as f64).max(1.0) + 2.0
}

/// The largest value of a law; where there is none, one that hardly any packet meets.
pub(super) fn most_of(distribution: &Distribution<Time>) -> f64 {
    let most = distribution.supremum();
    if most.is_finite() {
        most
    } else {
        10.0 * distribution.mean()
    }
}

/// The most packets in a buffer, the smallest first.
fn packets_in(limit: BufferLimit, coming: &[Coming]) -> f64 {
    let mut bytes = match limit {
        BufferLimit::Packets(count) => return count as f64,
        BufferLimit::Bytes(bytes) => bytes.get() as f64,
    };
    let fit = coming.iter().map(|each| {
        let fit = (bytes / each.size).floor().min(each.packets);
        bytes -= fit * each.size;
        fit
    });
    fit.sum()
}
