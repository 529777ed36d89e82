//! From a scenario to the first events: links, flows, lanes of the calendar, starts.

use std::cmp::Reverse;

use forebay_random::{Purpose, Seed};
use forebay_scenario::{EngineError, FlowGroup, Law, Scenario, Workload};
use forebay_units::{Bytes, Time};

use super::control::WARMUP;
use super::{Group, Simulation, Stop, last_link, unsupported};
use crate::calendar::{Calendar, Event, Kind, MAX_LANES};
use crate::connection::Connection;
use crate::flow::{AccessLink, Counts, Draws, Flow, Source, Unresponsive, opening, source_event};
use crate::incast::Rounds;
use crate::link::{Departures, Link, LinkSetup};
use crate::memory::memories;
use crate::network::Records;
use crate::sampler::Sampler;
use crate::statistics::{CongestionEvents, Histogram};
use crate::transfers::Transfers;

impl<'a> Simulation<'a> {
    /// Sets a scenario up: flows, sources and first events.
    pub(crate) fn new(scenario: &'a Scenario, seed: Seed) -> Result<Self, EngineError> {
        Self::with_departures(scenario, seed, Departures::Folded)
    }

    /// The same with a choice of how links are simulated.
    pub(crate) fn with_departures(
        scenario: &'a Scenario,
        seed: Seed,
        departures: Departures,
    ) -> Result<Self, EngineError> {
        let run = scenario.run();
        let uniform = uniform_size(scenario);
        let links = scenario
            .links()
            .iter()
            .enumerate()
            .map(|(number, spec)| {
                let setup = LinkSetup {
                    seed,
                    number,
                    uniform,
                    packet: scenario.packet_bytes(),
                    departures,
                };
                Link::new(spec, setup)
                    .ok_or_else(|| unsupported(&format!("queue `{}`", spec.discipline.name())))
            })
            .collect::<Result<_, _>>()?;
        let (mut first_number, mut stops) = (0, Vec::new());
        let groups = scenario
            .flows()
            .iter()
            .map(|spec| {
                let draws = Draws::new(seed, spec);
                let group = Group {
                    spec,
                    draws,
                    arrivals: draws.stream(0, Purpose::Interarrival),
                    arrived_transfers: 0,
                    first_number,
                    route: stops.len() as u32,
                    ack_route: (!spec.reverse.is_empty())
                        .then_some((stops.len() + spec.path.len()) as u32),
                    idle: Vec::new(),
                    completed: 0,
                    completion_times: Histogram::new(),
                    transfer_goodputs: Histogram::new(),
                    windows: Histogram::new(),
                    shapes: Transfers::new(scenario, spec),
                    rounds: matches!(spec.workload, Workload::Incast { .. })
                        .then(|| Box::new(Rounds::new(spec))),
                    transfers: Vec::new(),
                };
                first_number += spec.count as u32;
                stops.extend(stops_of(scenario, &spec.path));
                stops.extend(stops_of(scenario, &spec.reverse));
                group
            })
            .collect();
        let apart = Time::from_secs_f64(scenario.harmonic_rtt().unwrap_or(0.1));
        let mut simulation = Self {
            scenario,
            calendar: Calendar::new(Some(1), Time::from_micros(1), 1),
            links,
            memories: memories(scenario),
            target: scenario.target_index(),
            groups,
            flows: Vec::new(),
            unresponsive: Vec::new(),
            sources: Vec::new(),
            stops,
            lanes: None,
            congestion: CongestionEvents::new(apart),
            events_before: 0,
            traces: None,
            record_packets: false,
            records: Records::default(),
            sampled: (Time::ZERO, Time::ZERO),
            sampler: Sampler::new(run.measure, apart),
            warm: false,
            end: run.warmup + run.measure,
            events: 0,
        };
        simulation.create_flows()?;
        simulation.create_calendar();
        simulation.schedule_starts();
        simulation
            .calendar
            .push(Event::new(run.warmup, Kind::Control, 0, WARMUP));
        simulation.schedule_watch(Time::ZERO);
        Ok(simulation)
    }

    fn create_flows(&mut self) -> Result<(), EngineError> {
        for number in 0..self.groups.len() {
            let group = &self.groups[number];
            let (spec, draws) = (group.spec, group.draws);
            if !spec.responsive() {
                let first = self.unresponsive.len() as u32;
                let flow = Unresponsive {
                    group: number as u32,
                    route: group.route,
                    ..Unresponsive::default()
                };
                self.unresponsive
                    .resize(self.unresponsive.len() + spec.count as usize, flow);
                self.sources
                    .extend(Source::of_group(spec, number as u32, first, draws));
                continue;
            }
            self.groups[number].transfers = vec![0; slots(spec) as usize];
        }
        let places = self.places();
        self.flows.reserve(places.len());
        for (_, number, index) in places {
            let at = self.flows.len() as u32;
            self.add_flow(number as usize, index)?;
            if let Some(rounds) = &mut self.groups[number as usize].rounds {
                rounds.join(at);
            }
        }
        Ok(())
    }

    /// (round trip, group, index) of all flows that exist from the beginning, in the order in which
    /// their packets of one instant come. The longest round trip is first: its packets have been
    /// sent before the others, and events of one instant come in the order of their causes. Round
    /// trips drawn at random make no such ties and stand as zero.
    fn places(&self) -> Vec<(Time, u32, u64)> {
        let mut places = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let spec = group.spec;
            let stated = matches!(spec.rtt, Law::Value(_) | Law::List(_) | Law::Linspace(..));
            places.extend((0..slots(spec)).map(|index| {
                let mut stream = group.draws.stream(index, Purpose::RoundTrip);
                let rtt = if stated {
                    spec.rtt.draw(index, spec.count, &mut stream)
                } else {
                    Time::ZERO
                };
                (rtt, number as u32, index)
            }));
        }
        places.sort_by_key(|&(rtt, ..)| Reverse(rtt));
        places
    }

    /// Adds a flow of this group that has not started.
    pub(super) fn add_flow(&mut self, number: usize, index: u64) -> Result<(), EngineError> {
        let group = &self.groups[number];
        let spec = group.spec;
        let wire = spec.packet.draw(
            index,
            spec.count,
            &mut group.draws.stream(index, Purpose::Packet),
        );
        let rtt = spec.rtt.draw(
            index,
            spec.count,
            &mut group.draws.stream(index, Purpose::RoundTrip),
        );
        let random = group.draws.stream(index, Purpose::Controller);
        let opening =
            opening(spec, 0, random).ok_or_else(|| unsupported(spec.controller.name()))?;
        let connection = Connection::new(opening, 1);
        // A flow that joins after the warm-up has delivered nothing either: packets count from 1.
        let before = Counts {
            delivered: connection.delivered(),
            ..Counts::default()
        };
        let (there, back) = self.return_delays(spec, rtt)?;
        let at = self.flows.len();
        self.flows.push(Flow {
            connection,
            group: number as u32,
            route: group.route,
            lane: 0,
            access_lane: None,
            direct: spec.access.is_none() && !spec.stack.handshake && !self.record_packets,
            wire: wire.get() as u32,
            return_delay: there,
            receiver: None,
            timer_at: Time::MAX,
            delayed_ack_armed: false,
            pacing_armed: false,
            arrived: 0,
            dropped: 0,
            lost_elsewhere: 0,
            seen_event: 0,
            events: 0,
            arrived_before: 0,
            dropped_before: 0,
            lost_elsewhere_before: 0,
            access: AccessLink::new(spec, wire.get() as u32),
            index,
            transfer: 0,
            since: Time::ZERO,
            stopped: false,
            before,
        });
        self.attach_receiver(at, back);
        Ok(())
    }

    /// What is left of the round trip behind the last link of the path, up to the receiver where
    /// acknowledgements take a path, and behind the last link of that.
    pub(super) fn return_delays(
        &self,
        spec: &FlowGroup,
        rtt: Time,
    ) -> Result<(Time, Time), EngineError> {
        let between = |path: &[usize]| -> Time {
            let inner = path.iter().take(path.len().saturating_sub(1));
            let delays = inner.map(|&link| self.scenario.links()[link].delay);
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
        if spec.reverse.is_empty() {
            return Ok((rest, Time::ZERO));
        }
        let there = Time::from_picos(rest.as_picos() / 2);
        Ok((there, rest - there))
    }

    /// Chooses the calendar: lanes where few delays are constant, else the wheel. What leaves a
    /// link for the same place is in order, and so is what leaves an access link.
    fn create_calendar(&mut self) {
        let mut delays = self.constant_delays();
        if let Some(delays) = &mut delays {
            delays.sort_unstable();
            delays.dedup();
        }
        let stops = self.stops.clone();
        let inner = (0..self.links.len()).map(|link| {
            let mut here = stops.iter().filter(|stop| stop.link as usize == link);
            here.any(|stop| !stop.last)
        });
        let mut lane = delays.as_ref().map_or(0, Vec::len) as u32;
        let mut take = || {
            lane += 1;
            lane - 1
        };
        for source in &mut self.sources {
            source.lane = take();
        }
        for link in &mut self.links {
            if let Link::Queued(link) = link {
                link.lane = take();
            }
        }
        let onward: Vec<u32> = inner.map(|inner| if inner { take() } else { 0 }).collect();
        for stop in &mut self.stops {
            stop.lane = onward[stop.link as usize];
        }
        for flow in &mut self.flows {
            flow.access_lane = flow.access.is_some().then(&mut take);
        }
        let few = delays.is_some() && lane as usize <= MAX_LANES;
        self.calendar = Calendar::new(few.then_some(lane as usize), self.grain(), self.flows.len());
        self.lanes = delays.filter(|_| few);
        for at in 0..self.flows.len() {
            self.flows[at].lane = self.lane(at);
        }
    }

    /// (last link, return delay) of every delivery; none where they are too many to tell.
    fn constant_delays(&self) -> Option<Vec<(usize, Time)>> {
        let mut delays = Vec::new();
        for group in &self.groups {
            let spec = group.spec;
            let redrawn = matches!(
                spec.workload,
                Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
            );
            let mut add = |rtt: Time| {
                let delays_of = self.return_delays(spec, rtt);
                delays.extend(delays_of.ok().map(|(delay, _)| (last_link(spec), delay)));
            };
            match &spec.rtt {
                _ if !spec.responsive() => {}
                Law::Value(rtt) => add(*rtt),
                Law::Choice(list) => list.iter().copied().for_each(add),
                _ if redrawn => return None,
                _ => {}
            }
            // Slots of open-loop transfers join later, each with its own access link.
            if spec.access.is_some() && matches!(spec.workload, Workload::OpenLoop { .. }) {
                return None;
            }
        }
        for flow in &self.flows {
            let last = last_link(self.groups[flow.group as usize].spec);
            delays.push((last, flow.return_delay));
        }
        Some(delays)
    }

    /// About the time between two deliveries: one transmission at the target link.
    fn grain(&self) -> Time {
        let size = Bytes::new(self.scenario.packet_bytes() as u64);
        self.scenario
            .target()
            .rate
            .time_to_send(size)
            .max(Time::from_picos(1000))
    }

    /// The lane of a flow's deliveries.
    pub(super) fn lane(&self, at: usize) -> u32 {
        let flow = &self.flows[at];
        let last = last_link(self.groups[flow.group as usize].spec);
        let lanes = self.lanes.as_ref();
        lanes
            .and_then(|lanes| lanes.binary_search(&(last, flow.return_delay)).ok())
            .unwrap_or(0) as u32
    }

    fn schedule_starts(&mut self) {
        for at in 0..self.flows.len() {
            let (group, index) = (
                &self.groups[self.flows[at].group as usize],
                self.flows[at].index,
            );
            let mut stream = group.draws.stream(index, Purpose::Start);
            let start = group.spec.start.draw(index, group.spec.count, &mut stream);
            let stop = group.spec.stop.as_ref();
            let stop = stop.map(|stop| stop.draw(index, group.spec.count, &mut stream));
            self.calendar
                .push(Event::new(start, Kind::Start, at as u32, 0));
            if let Some(stop) = stop {
                self.calendar
                    .push(Event::new(stop, Kind::Stop, at as u32, 0));
            }
        }
        for number in 0..self.sources.len() {
            let group = &self.groups[self.sources[number].group as usize];
            let mut stream = group.draws.stream(number as u64, Purpose::Start);
            let start = group.spec.start.draw(0, 1, &mut stream);
            if let Some(stop) = &group.spec.stop {
                self.sources[number].until = stop.draw(0, 1, &mut stream);
            }
            let first = self.sources[number].first_arrival(start);
            let lane = self.sources[number].lane;
            self.calendar
                .push_delivery(lane, source_event(first, number));
        }
        for number in 0..self.groups.len() {
            if matches!(self.groups[number].spec.workload, Workload::OpenLoop { .. }) {
                let group = &self.groups[number];
                let start = group
                    .spec
                    .start
                    .draw(0, 1, &mut group.draws.stream(0, Purpose::Start));
                self.schedule_transfer(number, start);
            }
        }
    }
}

/// Flows of a group that exist from the beginning: transfers of an arrival process join later.
fn slots(spec: &FlowGroup) -> u64 {
    match &spec.workload {
        Workload::OpenLoop { .. } => 0,
        _ if !spec.responsive() => 0,
        _ => spec.count,
    }
}

/// The stops of a path; their lanes come later.
fn stops_of(scenario: &Scenario, path: &[usize]) -> impl Iterator<Item = Stop> {
    let last = path.len().saturating_sub(1);
    path.iter().enumerate().map(move |(hop, &link)| Stop {
        link: link as u32,
        lane: 0,
        delay: scenario.links()[link].delay,
        last: hop == last,
    })
}

/// The one packet size of the scenario, where there is only one.
fn uniform_size(scenario: &Scenario) -> Option<u32> {
    let mut size = None;
    for group in scenario.flows() {
        let Law::Value(packet) = &group.packet else {
            return None;
        };
        if !group.reverse.is_empty() {
            return None;
        }
        if (group.responsive() && group.stack.handshake) || size.is_some_and(|size| size != *packet)
        {
            return None;
        }
        size = Some(*packet);
    }
    size.map(|size| size.get() as u32)
}
