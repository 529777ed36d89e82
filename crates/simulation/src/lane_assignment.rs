//! Lanes: what leaves one place for another after a constant delay arrives in the order in which it
//! left, so each such way gets a lane of the calendar, as long as there are few.

use forebay_scenario::{Distribution, FlowGroup, Scenario, Workload};
use forebay_units::{Bytes, Time};

use crate::access::AccessLink;
use crate::calendar::{Calendar, MAX_LANES, MAX_SIDE_LANES, Ways};
use crate::flow::Flow;
use crate::hop::Hop;
use crate::ids::{LaneId, LinkId};
use crate::link::{Departures, Link, in_turn};
use crate::network::Network;
use crate::pause::takes_part;
use crate::traffic::Traffic;
use crate::traffic::delivery_lanes::{AccessLanes, DeliveryLanes, Way, way};
use crate::traffic::hosts::Hosts;

/// Chooses the calendar of a run: lanes where few delays are constant, else the wheel. Tells all
/// that send which lane is theirs.
pub(crate) fn calendar<'a, H: Hosts<'a>>(
    scenario: &Scenario,
    network: &mut Network,
    traffic: &mut Traffic<'a, H>,
    departures: Departures,
) -> Calendar {
    let delays = constant_delays(scenario, traffic);
    if let (Some(delays), Departures::Folded) = (&delays, departures) {
        assign_slacks(scenario, network, delays);
    }
    let mut next = LaneCounter(delays.as_ref().map_or(0, Vec::len));
    for source in &mut traffic.sources {
        source.lane = next.take();
    }
    assign_links(network, &mut next);
    let mut accesses = transmissions(traffic);
    let count = next.0 + accesses.len();
    let few = delays.is_some() && count <= MAX_LANES && scenario.links().iter().all(in_turn);
    let (ways, first) = if few {
        (Ways::Constant(count), next.0)
    } else {
        accesses.truncate(MAX_SIDE_LANES);
        (Ways::Access(accesses.len()), 0)
    };
    let access_lanes = AccessLanes::new(accesses, first);
    traffic.assign_lanes(DeliveryLanes::new(delays.filter(|_| few)), access_lanes);
    let flows = traffic.hosts.flows().responsive.len();
    let end = scenario.run().end();
    Calendar::new(ways, grain(scenario), flows, end)
}

/// The times that a full packet takes on an access link, in rising order: those of the flows that
/// exist from the beginning, and those of open-loop groups, whose flows join later.
fn transmissions<'a, H: Hosts<'a>>(traffic: &Traffic<'a, H>) -> Vec<Time> {
    let present = traffic.hosts.flows().responsive.iter();
    let present = present.filter_map(|flow| flow.access);
    let later = traffic.groups.iter().filter_map(|group| match &group.spec {
        FlowGroup {
            packet: Distribution::Value(packet),
            workload: Workload::OpenLoop { .. },
            ..
        } => AccessLink::new(group.spec, packet.get() as u32),
        _ => None,
    });
    let mut times: Vec<_> = present
        .chain(later)
        .map(|access| access.transmission())
        .collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// How many lanes are taken.
struct LaneCounter(usize);

impl LaneCounter {
    fn take(&mut self) -> LaneId {
        self.0 += 1;
        LaneId::new(self.0 - 1)
    }
}

/// Lanes of departures, and of what goes on from a link to another.
fn assign_links(network: &mut Network, next: &mut LaneCounter) {
    for link in &mut network.links {
        if let Link::Queued(link) = link {
            link.lane = next.take();
        }
    }
    for number in 0..network.links.len() {
        let here = |hop: &Hop| hop.link == LinkId::new(number);
        if network.hops.iter().any(|hop| here(hop) && !hop.last) {
            let lane = next.take();
            for hop in network.hops.iter_mut().filter(|hop| here(hop)) {
                hop.lane = lane;
            }
        }
    }
}

/// Tells links whose disciplines hold what waits how long after a departure their event may come.
fn assign_slacks(scenario: &Scenario, network: &mut Network, delays: &[Way]) {
    let acknowledged = |link: usize| {
        let mut groups = scenario.flows().iter();
        groups.any(|group| group.reverse.last() == Some(&link))
    };
    for number in 0..network.links.len() {
        let at = LinkId::new(number);
        let timing = network.timings[number];
        let to_hosts = delays.iter().filter(|(link, ..)| *link == at);
        // That of hosts that do not vary is no sooner.
        let to_hosts = to_hosts.map(|(_, delay, _)| timing.soonest(*delay));
        let goes_on = network
            .hops
            .iter()
            .filter(|hop| hop.link == at && !hop.last);
        let onward = goes_on.map(|_| timing.soonest(scenario.links()[number].delay));
        let shortest = to_hosts.chain(onward).min();
        if let Link::Queued(link) = &mut network.links[number]
            && !acknowledged(number)
            && !takes_part(scenario, number)
        {
            let tick = Time::from_picos(1);
            let slack = shortest.map_or(MOST_SLACK, |way| way.saturating_sub(tick));
            link.slack = slack.min(MOST_SLACK);
        }
    }
}

/// The longest that a link's event may be late, so that what has left is not forgotten altogether.
const MOST_SLACK: Time = Time::from_secs(1);

/// The way of every delivery; none where they are too many to tell.
fn constant_delays<'a, H: Hosts<'a>>(
    scenario: &Scenario,
    traffic: &Traffic<'a, H>,
) -> Option<Vec<Way>> {
    let mut delays = Vec::new();
    if traffic
        .groups
        .iter()
        .any(|group| group.spec.routing.is_some())
    {
        // A fabric has a way to each host.
        return None;
    }
    for group in &traffic.groups {
        let spec = group.spec;
        let redrawn = matches!(
            spec.workload,
            Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        );
        let mut add = |rtt: Time| {
            let delays_of = traffic.hosts.delays(group, scenario, rtt);
            delays.extend(delays_of.ok().map(|(delay, _)| way(spec, delay)));
        };
        match &spec.rtt {
            _ if !spec.responsive() => {}
            Distribution::Value(rtt) => add(*rtt),
            Distribution::Choice(list) => list.iter().copied().for_each(add),
            _ if redrawn => return None,
            _ => {}
        }
        // Slots of open-loop transfers join later. Their access links have a lane if it is known.
        let joins = matches!(spec.workload, Workload::OpenLoop { .. });
        if joins && spec.access.is_some() && !matches!(spec.packet, Distribution::Value(_)) {
            return None;
        }
    }
    let of_flow = |flow: &Flow<H::Ends>| {
        let spec = traffic.groups[flow.transit.group.index()].spec;
        way(spec, flow.transit.return_delay)
    };
    delays.extend(traffic.hosts.flows().responsive.iter().map(of_flow));
    delays.sort_unstable();
    delays.dedup();
    Some(delays)
}

/// About the time between two deliveries: one transmission at the target link, or in a fabric at
/// one of the hosts.
fn grain(scenario: &Scenario) -> Time {
    let size = Bytes::new(scenario.packet_bytes() as u64);
    let transmission = scenario.target().rate.time_to_send(size);
    // The links of all hosts deliver at the same time.
    let hosts = scenario
        .flows()
        .iter()
        .filter_map(|group| Some(group.routing.as_ref()?.senders()));
    let parallel = hosts.max().unwrap_or(1) as u64;
    Time::from_picos((transmission.as_picos() / parallel).max(1000))
}
