//! Groups of flows: their draws, their transfers and their rounds.

use std::collections::HashMap;

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Distribution, FlowGroup, HostPair, Routing, Scenario, Workload};
use forebay_units::{Bytes, Time};

use crate::measure::transfers::Transfers;
use crate::refusal::{Refusal, unsupported};
use crate::sampling::Sampling;
use crate::traffic::idle_slots::IdleSlots;
use crate::traffic::incast::Rounds;
use crate::traffic::ring::{Ring, part};

/// Draws and totals of one group.
#[derive(Debug)]
pub struct Group<'a> {
    /// Its table in the scenario.
    pub spec: &'a FlowGroup,
    /// Whether the first link of its path is lossless and pauses its hosts.
    pub pauses: bool,
    /// Streams of its random numbers.
    pub draws: Sampling,
    /// Arrival process of open-loop transfers.
    arrivals: Stream,
    /// Open-loop transfers that have arrived.
    pub(crate) arrived: u64,
    /// Slots of finished open-loop transfers.
    pub(crate) idle: IdleSlots,
    pub(crate) transfers: Transfers,
    /// Rounds, if the group's flows begin and end them together.
    pub(crate) rounds: Option<Box<Rounds>>,
    /// Steps, if the group is a ring.
    pub(crate) ring: Option<Box<Ring>>,
    /// Transfers that each user has begun, for its draws; packets that an application has written.
    pub(crate) begun: Vec<u64>,
}

impl<'a> Group<'a> {
    pub(crate) fn new(
        scenario: &Scenario,
        (spec, seed): (&'a FlowGroup, Seed),
        earliness: Time,
    ) -> Self {
        let draws = Sampling::new(seed, spec);
        let mut group = Self {
            spec,
            pauses: spec
                .path
                .first()
                .is_some_and(|&at| scenario.links()[at].pfc_of(&spec.name).is_some()),
            draws,
            arrivals: draws.stream(0, Purpose::Interarrival),
            arrived: 0,
            idle: match spec.routing {
                Some(_) => IdleSlots::ByPath(HashMap::new()),
                None => IdleSlots::OnePath(Vec::new()),
            },
            transfers: Transfers::new(scenario, spec, earliness),
            rounds: spec
                .workload
                .has_rounds()
                .then(|| Box::new(Rounds::new(spec))),
            ring: Ring::of(spec).map(Box::new),
            begun: Vec::new(),
        };
        group.begun = vec![0; group.slots() as usize];
        group
    }

    /// Flows that exist from the beginning: transfers of an arrival process join later.
    pub(crate) fn slots(&self) -> u64 {
        match &self.spec.workload {
            Workload::OpenLoop { .. } => 0,
            _ if !self.spec.responsive() => 0,
            _ => self.spec.count,
        }
    }

    /// The hosts of the flow with this index and its spine, where it has no path of its own: equal
    /// cost multipath routing chooses a spine once for each flow.
    pub(crate) fn route_of_flow(&self, index: u64) -> Option<(HostPair, usize)> {
        let routing = self.spec.routing.as_deref()?;
        let mut stream = self.draws.stream(index, Purpose::Route);
        Some(choose(routing, routing.pair(index), &mut stream))
    }

    /// The same of an open-loop transfer, between random hosts.
    pub(crate) fn route_of_transfer(&self, transfer: u64) -> Option<(HostPair, usize)> {
        let routing = self.spec.routing.as_deref()?;
        let mut stream = self.draws.transfer(0, transfer, Purpose::Route);
        let pair = routing.draw(&mut stream);
        Some(choose(routing, pair, &mut stream))
    }

    /// The time after `now` of the next open-loop arrival, where there is an arrival process.
    pub(crate) fn next_arrival(&mut self, now: Time) -> Option<Time> {
        let Workload::OpenLoop { interarrival, .. } = &self.spec.workload else {
            return None;
        };
        let gap = interarrival.draw(0, 1, &mut self.arrivals);
        Some(now.saturating_add(gap.max(Time::from_picos(1))))
    }

    /// When the flow with this index goes on, if it is active when the run begins: with the next of
    /// its periodic transfers, or with the next packet that its application writes.
    pub(crate) fn resumption(&self, index: u64, packet_bytes: u32) -> Time {
        let mut phase = self.draws.stream(index, Purpose::Phase);
        match &self.spec.workload {
            Workload::Periodic { every, .. } => every.under_way(0, 1, &mut phase).left,
            Workload::ApplicationLimited { rate } => {
                let packet = Bytes::new(u64::from(packet_bytes));
                Distribution::Value(rate.time_to_send(packet))
                    .under_way(0, 1, &mut phase)
                    .left
            }
            _ => Time::ZERO,
        }
    }

    /// When the user with this index begins its next transfer, where it does so by itself: it is
    /// done at `now` with one that began at `since`.
    pub(crate) fn next_transfer(&self, index: u64, since: Time, now: Time) -> Option<Time> {
        let (from, distribution) = match &self.spec.workload {
            Workload::ClosedLoop { think, .. } => (now, think),
            Workload::Periodic { every, .. } => (since, every),
            _ => return None,
        };
        let transfer = self.begun[index as usize];
        let mut stream = self.draws.transfer(index, transfer, Purpose::Think);
        Some(
            from.saturating_add(distribution.draw(0, 1, &mut stream))
                .max(now),
        )
    }

    /// Packets of `payload` bytes of transfer number `transfer` of the flow with this index; none
    /// where it has no end.
    pub(crate) fn packets(&self, index: u64, transfer: u64, payload: Bytes) -> Option<u64> {
        let size = match &self.spec.workload {
            Workload::Finite { size } => {
                let mut stream = self.draws.stream(index, Purpose::Size);
                size.draw(index, self.spec.count, &mut stream)
            }
            Workload::ClosedLoop { size, .. }
            | Workload::Periodic { size, .. }
            | Workload::OpenLoop { size, .. }
            | Workload::AllToAll { size, .. }
            | Workload::Incast { size, .. } => {
                let mut stream = self.draws.transfer(index, transfer, Purpose::Size);
                size.draw(0, 1, &mut stream)
            }
            Workload::RingAllReduce { .. } => return part(self.spec, payload),
            Workload::ApplicationLimited { .. } => return Some(1),
            _ => return None,
        };
        Some(size.get().div_ceil(payload.get().max(1)).max(1))
    }

    /// The round trip of transfer number `transfer` of the flow with this index, where each
    /// transfer draws its own.
    pub(crate) fn redrawn_rtt(&self, index: u64, transfer: u64) -> Option<Time> {
        let redrawn = matches!(
            self.spec.workload,
            Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        );
        if !redrawn || self.states_rtt() {
            return None;
        }
        let mut stream = self.draws.transfer(index, transfer, Purpose::RoundTrip);
        Some(self.spec.rtt.draw(index, self.spec.count, &mut stream))
    }

    /// Packets of a part that the receiver reports, if the group is a ring.
    pub fn reported_part(&self, packet_bytes: u32) -> Option<u64> {
        let size = Bytes::new(u64::from(packet_bytes));
        part(self.spec, size.saturating_sub(self.spec.stack.header))
    }

    /// Whether the scenario says each flow's round trip.
    pub(crate) fn states_rtt(&self) -> bool {
        let rtt = &self.spec.rtt;
        matches!(
            rtt,
            Distribution::Value(_) | Distribution::List(_) | Distribution::Linspace(..)
        )
    }

    /// The part of the round trip after the last link of the path. If acknowledgments take a path,
    /// it is divided: up to the receiver, and after the last link of their path.
    pub fn return_delays(&self, scenario: &Scenario, rtt: Time) -> Result<(Time, Time), Refusal> {
        let spec = self.spec;
        let between = |path: &[usize]| -> Time {
            let inner = path.iter().take(path.len().saturating_sub(1));
            let delays = inner.map(|&link| scenario.links()[link].delay);
            delays.fold(Time::ZERO, Time::saturating_add)
        };
        let between = between(&spec.path).saturating_add(between(&spec.reverse));
        if between > rtt {
            return Err(unsupported(&format!(
                "an rtt of {rtt} in group `{}`, shorter than the {between} of its links' delays",
                spec.name
            )));
        }
        let rest = rtt - between;
        if self.ring.is_some() {
            // The part arrives after the last link, and its acknowledgment later.
            let last = spec.path.last();
            let there = last.map_or(Time::ZERO, |&link| scenario.links()[link].delay);
            return Ok((there.min(rest), rest.saturating_sub(there)));
        }
        if spec.reverse.is_empty() {
            return Ok((rest, Time::ZERO));
        }
        let there = Time::from_picos(rest.as_picos() / 2);
        Ok((there, rest - there))
    }
}

/// Two hosts and the spine between them, each spine with the same probability.
fn choose(routing: &Routing, pair: HostPair, stream: &mut Stream) -> (HostPair, usize) {
    let spine = stream.below(routing.paths(pair) as u64) as usize;
    (pair, spine)
}
