//! The event loop: the only place where time passes.
//!
//! A first-in-first-out link knows a packet's departure when the packet arrives, and the way
//! from there to the receiver and back is a constant delay, so one event per data packet is
//! enough: "the acknowledgement arrives". All of a flow's propagation delay therefore stands
//! behind the last link of its path; seen from the link this only shifts each sender's clock.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{
    EngineError, FlowGroup, FlowSample, Law, PacketRecord, QueueSample, Recorded, Scenario, Traces,
    Workload,
};
use forebay_units::{Bytes, Time};

use crate::calendar::{Calendar, Event, Kind, MAX_HOPS, MAX_LANES};
use crate::flow::{
    AccessLink, Counts, Draws, Flow, Source, Unresponsive, opening, packets_of, source_event,
};
use crate::incast::Rounds;
use crate::link::{Departures, Link, LinkSetup};
use crate::memory::{Memory, memories};
use crate::network::{self, Records};
use crate::sampler::Sampler;
use crate::sender::{Answer, Connection, Next};
use crate::statistics::{CongestionEvents, Histogram};
use crate::transfers::{self, Transfers};

/// Control events: the end of the warm-up, a trace sample, a sample for the report, and the start
/// of the first trace sample's interval.
const WARMUP: u32 = 0;
const SAMPLE: u32 = 1;
pub(crate) const MEASURE: u32 = 2;
const BASELINE: u32 = 3;

/// Unresponsive flows are numbered down from here in events.
pub(crate) const LAST_FLOW: u32 = 0x00ff_ffff;

/// The most packets under way: 16 bytes each.
const MAX_UNDER_WAY: usize = 1 << 29;

/// Draws and totals of one group.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) spec: &'a FlowGroup,
    draws: Draws,
    /// Arrival process of open-loop transfers.
    arrivals: Stream,
    arrived_transfers: u64,
    /// Its first flow's number over all groups, for traces.
    pub(crate) first_number: u32,
    /// Where its path begins among the stops.
    route: u32,
    /// The same of its acknowledgements' path, where they take one.
    pub(crate) ack_route: Option<u32>,
    /// Slots of finished open-loop transfers.
    idle: Vec<u32>,
    pub(crate) completed: u64,
    pub(crate) completion_times: Histogram,
    pub(crate) transfer_goodputs: Histogram,
    /// Windows of flows that have something to send.
    pub(crate) windows: Histogram,
    pub(crate) shapes: Transfers,
    /// Rounds, where the group is an incast.
    pub(crate) rounds: Option<Box<Rounds>>,
    /// Completed transfers of each user, for its draws.
    transfers: Vec<u64>,
}

/// One stop on a group's path: a link, and what is behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub(crate) link: u32,
    /// Lane of the packets that go on from here to the next stop.
    pub(crate) lane: u32,
    /// How long they take.
    pub(crate) delay: Time,
    /// Whether the receiver is behind this link.
    pub(crate) last: bool,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) calendar: Calendar,
    pub(crate) links: Vec<Link>,
    pub(crate) memories: Vec<Memory>,
    pub(crate) target: usize,
    pub(crate) groups: Vec<Group<'a>>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) unresponsive: Vec<Unresponsive>,
    sources: Vec<Source>,
    /// The stops of all groups' paths, one path behind the other.
    pub(crate) stops: Vec<Stop>,
    /// (last link, return delay) of each lane of deliveries, sorted; none where deliveries have
    /// no lanes.
    lanes: Option<Vec<(usize, Time)>>,
    pub(crate) congestion: CongestionEvents,
    pub(crate) events_before: u64,
    pub(crate) traces: Option<Box<Traces>>,
    pub(crate) record_packets: bool,
    /// Records of packets that wait for their fate.
    pub(crate) records: Records,
    /// When the target link was sampled last for a trace, and how long it had been busy by then.
    sampled: (Time, Time),
    pub(crate) sampler: Sampler,
    warm: bool,
    end: Time,
    pub(crate) events: u64,
}

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
        Ok(simulation)
    }

    /// Records over time what the scenario's `[trace]` asks for.
    pub(crate) fn record(&mut self) {
        let trace = self.scenario.trace();
        let groups = self.groups.iter();
        let groups = groups.map(|group| network::traced(group.spec)).collect();
        self.traces = Some(Box::new(Traces {
            groups,
            ..Traces::default()
        }));
        self.record_packets = trace.record.contains(&Recorded::Packets);
        for flow in &mut self.flows {
            flow.direct &= !self.record_packets;
        }
        let before = trace.from.saturating_sub(trace.every);
        for (at, what) in [(before, BASELINE), (trace.from, SAMPLE)] {
            self.calendar.push(Event::new(at, Kind::Control, 0, what));
        }
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
            let slots = match &spec.workload {
                Workload::OpenLoop { .. } => 0,
                _ => spec.count,
            };
            self.groups[number].transfers = vec![0; slots as usize];
            self.flows.reserve(slots as usize);
            for index in 0..slots {
                self.add_flow(number, index)?;
            }
        }
        Ok(())
    }

    /// Adds a flow of this group that has not started.
    fn add_flow(&mut self, number: usize, index: u64) -> Result<(), EngineError> {
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
        let opening = opening(spec, 0).ok_or_else(|| unsupported(spec.controller.name()))?;
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
    fn return_delays(&self, spec: &FlowGroup, rtt: Time) -> Result<(Time, Time), EngineError> {
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
    fn lane(&self, at: usize) -> u32 {
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

    /// Schedules the next open-loop arrival of a group.
    fn schedule_transfer(&mut self, number: usize, now: Time) {
        let group = &mut self.groups[number];
        if let Workload::OpenLoop { interarrival, .. } = &group.spec.workload {
            let gap = interarrival
                .draw(0, 1, &mut group.arrivals)
                .max(Time::from_picos(1));
            let source = self.sources.len() + number;
            self.calendar
                .push_frequent(source_event(now.saturating_add(gap), source));
        }
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) -> Result<(), EngineError> {
        const FIRST_ARRIVAL: u8 = Kind::Arrival as u8;
        const LAST_ARRIVAL: u8 = FIRST_ARRIVAL + MAX_HOPS as u8 - 1;
        const FIRST_MARKED: u8 = Kind::MarkedArrival as u8;
        const LAST_MARKED: u8 = FIRST_MARKED + MAX_HOPS as u8 - 1;
        loop {
            let ahead = |events: &[Event]| prefetch(&self.flows, events);
            let event = self.calendar.pop_before(self.end, ahead);
            let now = event.time;
            if now >= self.end {
                break;
            }
            self.events += 1;
            let kind = event.kind();
            // Both kinds of delivery, whose numbers differ in the last bit.
            if kind | 1 == Kind::MarkedDelivery as u8 {
                self.deliver(event);
                continue;
            }
            match kind {
                k if k == Kind::Departure as u8 => self.depart(event)?,
                k if k == Kind::PromptArrival as u8 => {
                    self.arrive(event.flow(), event.packet(), 0, now);
                }
                FIRST_ARRIVAL..=LAST_ARRIVAL => {
                    let hop = usize::from(kind - FIRST_ARRIVAL);
                    self.arrive(event.flow(), event.packet(), hop, now);
                }
                FIRST_MARKED..=LAST_MARKED => {
                    let hop = usize::from(kind - FIRST_MARKED);
                    self.arrive_marked(event.flow(), event.packet(), hop, now);
                }
                k if k == Kind::Source as u8 => self.emit(event)?,
                k if k == Kind::Timer as u8 => self.timer(event)?,
                k if k == Kind::DelayedAck as u8 => self.delayed_ack(event),
                k if k == Kind::Pacing as u8 => {
                    let at = event.flow() as usize;
                    self.flows[at].pacing_armed = false;
                    self.send(at, now);
                }
                k if k == Kind::Start as u8 => self.start(event.flow() as usize, now)?,
                k if k == Kind::Stop as u8 => self.stop(event.flow() as usize, now),
                _ => self.control(event),
            }
        }
        if !self.warm {
            self.finish_warmup(self.end);
        }
        // A broken count would make every figure of the report a lie.
        let wrong = self.flows.iter().find(|flow| !flow.connection.consistent());
        assert!(
            wrong.is_none(),
            "a connection's counts contradict each other: {wrong:?}"
        );
        self.finish_lives();
        self.finish_links()
    }

    /// What lives at the end of the run has lived until then.
    fn finish_lives(&mut self) {
        let (measured, end) = (self.scenario.run().warmup, self.end);
        for flow in &self.flows {
            if flow.since < end && !flow.stopped && !flow.connection.finished() {
                let group = &mut self.groups[flow.group as usize];
                group.shapes.lived(flow, measured, end);
                if let (Some(traces), false) = (&mut self.traces, group.spec.persistent()) {
                    traces.transfers.extend(transfers::record(
                        flow,
                        self.scenario.trace(),
                        Time::MAX,
                    ));
                }
            }
        }
        let rounds = self.groups.iter_mut().filter_map(|g| g.rounds.as_mut());
        rounds.for_each(|rounds| rounds.end(end));
    }

    // --- At the sender and receiver ---

    #[inline]
    fn deliver(&mut self, event: Event) {
        let at = event.flow() as usize;
        let Some(flow) = self.flows.get_mut(at) else {
            self.deliver_unresponsive(event);
            return;
        };
        let simple = flow.direct && event.kind() == Kind::Delivery as u8;
        if simple && flow.connection.deliver_next(event.packet(), event.time) {
            self.send_directly(at, event.time);
        } else {
            self.deliver_otherwise(event);
        }
    }

    /// One more packet in order has been acknowledged, nothing is missing or slows the sender
    /// down, and its packets go straight to a link: what [`Self::send`] and [`Self::arrive`] do,
    /// in one piece because nearly every packet comes this way.
    #[inline]
    fn send_directly(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        let stop = self.stops[flow.route as usize];
        let link = stop.link as usize;
        let Link::DropTail(fifo) = &mut self.links[link] else {
            self.send(at, now);
            return;
        };
        let at_target = link == self.target;
        let mut lost = 0;
        while flow.connection.has_room() {
            let packet = flow.connection.send_next(now).packet as u32;
            flow.arrived += u64::from(at_target);
            let Some(departure) = fifo.arrive(now, flow.wire) else {
                lost += 1;
                continue;
            };
            let (lane, event) = if stop.last {
                let time = departure + flow.return_delay;
                let event = Event::new(time, Kind::Delivery, at as u32, packet);
                (flow.lane, event)
            } else {
                let time = departure + stop.delay;
                (stop.lane, Event::arrival(time, 1, at as u32, packet))
            };
            self.calendar.push_delivery(lane, event);
        }
        if !flow.connection.waits_until(flow.timer_at) {
            self.set_timer(at, now);
        }
        for _ in 0..lost {
            self.drop_arrival(at, link, now);
        }
    }

    #[inline(never)]
    fn deliver_otherwise(&mut self, event: Event) {
        let at = event.flow() as usize;
        let flow = &mut self.flows[at];
        if flow.receiver.is_some() {
            self.receive(event);
            return;
        }
        let packet = flow.connection.full_number(event.packet());
        let answer = if event.kind() == Kind::Delivery as u8 {
            flow.connection.deliver(packet, event.time)
        } else {
            flow.connection.deliver_marked(packet, event.time)
        };
        match answer {
            Answer::Acknowledged => self.send(at, event.time),
            Answer::Delayed => {
                if !flow.delayed_ack_armed {
                    flow.delayed_ack_armed = true;
                    let spec = self.groups[flow.group as usize].spec;
                    let due = event.time.saturating_add(spec.stack.delayed_ack.timeout);
                    self.calendar
                        .push(Event::new(due, Kind::DelayedAck, event.flow(), 0));
                }
            }
            Answer::Stale => {}
        }
    }

    /// Of what is not data of a responsive flow only acknowledgements arrive somewhere.
    fn deliver_unresponsive(&mut self, event: Event) {
        let flow = &self.unresponsive[(LAST_FLOW - event.flow()) as usize];
        if let Some(acks) = flow.acks {
            self.acknowledged(acks, event.packet(), event.time);
        }
    }

    /// Sends whatever the windows of a flow allow.
    #[inline]
    pub(crate) fn send(&mut self, at: usize, now: Time) {
        let quota = self.flows[at].connection.quota();
        match quota {
            Some(quota) => {
                for _ in 0..quota {
                    let packet = self.flows[at].connection.send_next(now).packet;
                    self.transmit(at, packet, now);
                }
            }
            None => self.send_otherwise(at, now),
        }
        self.set_timer(at, now);
    }

    /// After sending: the timer runs as long as something is outstanding.
    #[inline]
    fn set_timer(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        match flow.connection.deadline() {
            Some(deadline) => {
                if deadline < flow.timer_at {
                    flow.timer_at = deadline;
                    self.calendar
                        .push(Event::new(deadline, Kind::Timer, at as u32, 0));
                }
            }
            None => {
                if flow.connection.finished() {
                    self.complete(at, now);
                }
            }
        }
    }

    /// The same during recovery, or where a ledger or pacing has a say.
    #[inline(never)]
    fn send_otherwise(&mut self, at: usize, now: Time) {
        loop {
            match self.flows[at].connection.next_to_send(now) {
                Next::Send(transmission) => self.transmit(at, transmission.packet, now),
                Next::Pause(until) => {
                    self.pause(at, until);
                    break;
                }
                Next::Nothing => break,
            }
        }
    }

    /// A paced flow sends again at `until`.
    fn pause(&mut self, at: usize, until: Time) {
        let flow = &mut self.flows[at];
        if !flow.pacing_armed {
            flow.pacing_armed = true;
            self.calendar
                .push_frequent(Event::new(until, Kind::Pacing, at as u32, 0));
        }
    }

    /// Hands a packet to the network: to the first link, or through the flow's access link.
    #[inline]
    fn transmit(&mut self, at: usize, packet: u64, now: Time) {
        if self.flows[at].access.is_none() {
            self.arrive_responsive(at, packet as u32, 0, now);
        } else {
            self.transmit_through_access(at, packet, now);
        }
    }

    #[inline(never)]
    fn transmit_through_access(&mut self, at: usize, packet: u64, now: Time) {
        let flow = &mut self.flows[at];
        let Some(access) = &mut flow.access else {
            return;
        };
        let size = if flow.connection.is_syn(packet) {
            self.groups[flow.group as usize].spec.stack.syn().get() as u32
        } else {
            flow.wire
        };
        let prompt = access.idle(now);
        match access.pass(now, size) {
            Some(time) => {
                let event = if prompt {
                    Event::prompt_arrival(time, at as u32, packet as u32)
                } else {
                    Event::arrival(time, 0, at as u32, packet as u32)
                };
                match flow.access_lane {
                    Some(lane) => self.calendar.push_delivery(lane, event),
                    None => self.calendar.push_frequent(event),
                }
            }
            None => flow.lost_elsewhere += 1,
        }
    }

    // --- In the network ---

    /// A responsive flow's packet (or an acknowledgement, or one of an unresponsive flow, whose
    /// `packet` is its size)
    /// reaches hop number `hop` of its path.
    #[inline]
    pub(crate) fn arrive(&mut self, flow_number: u32, packet: u32, hop: usize, now: Time) {
        if (flow_number as usize) < self.flows.len() {
            self.arrive_responsive(flow_number as usize, packet, hop, now);
        } else {
            self.arrive_unresponsive(flow_number, packet, hop, now);
        }
    }

    #[inline]
    fn arrive_responsive(&mut self, at: usize, packet: u32, hop: usize, now: Time) {
        let flow = &mut self.flows[at];
        let size = if flow.connection.has_syn(packet) {
            self.groups[flow.group as usize].spec.stack.syn().get() as u32
        } else {
            flow.wire
        };
        let stop = self.stops[flow.route as usize + hop];
        let link = stop.link as usize;
        let Link::DropTail(fifo) = &mut self.links[link] else {
            self.arrive_unmarked(at as u32, packet, hop, now);
            return;
        };
        let departure = fifo.arrive(now, size);
        flow.arrived += u64::from(link == self.target);
        if let Some(departure) = departure {
            let (lane, event) = if stop.last {
                let time = departure + flow.return_delay;
                let event = Event::new(time, Kind::Delivery, at as u32, packet);
                (flow.lane, event)
            } else {
                let time = departure + stop.delay;
                let event = Event::arrival(time, hop + 1, at as u32, packet);
                (stop.lane, event)
            };
            self.calendar.push_delivery(lane, event);
        } else {
            self.drop_arrival(at, link, now);
        }
        if self.record_packets && link == self.target {
            self.record_responsive(at, packet, size, departure, now);
        }
    }

    /// A drop-tail link has no room for a packet.
    #[inline(never)]
    fn drop_arrival(&mut self, at: usize, link: usize, now: Time) {
        let flow = &mut self.flows[at];
        if link == self.target {
            flow.dropped += 1;
            if self.groups[flow.group as usize].spec.persistent() {
                flow.events += u64::from(self.congestion.loss(now, &mut flow.seen_event));
            }
        } else {
            flow.lost_elsewhere += 1;
        }
    }

    #[cold]
    fn record_responsive(
        &mut self,
        at: usize,
        packet: u32,
        size: u32,
        departure: Option<Time>,
        now: Time,
    ) {
        let packet = self.flows[at].connection.full_number(packet);
        self.record_packet(now, at as u32, packet, size, departure);
    }

    fn arrive_unresponsive(&mut self, flow_number: u32, number: u32, hop: usize, now: Time) {
        let at = (LAST_FLOW - flow_number) as usize;
        let flow = &mut self.unresponsive[at];
        let stop = self.stops[flow.route as usize + hop];
        let link = stop.link as usize;
        let Link::DropTail(fifo) = &mut self.links[link] else {
            self.arrive_unmarked(flow_number, number, hop, now);
            return;
        };
        let size = flow.acks.map_or(number, |acks| acks.bytes);
        let departure = fifo.arrive(now, size);
        let at_target = link == self.target;
        flow.counts.arrived += u64::from(at_target);
        match departure {
            Some(departure) if !stop.last => {
                let time = departure + stop.delay;
                let event = Event::arrival(time, hop + 1, flow_number, number);
                self.calendar.push_delivery(stop.lane, event);
            }
            // Nobody waits for it: it counts as delivered when it is accepted by its last link.
            Some(departure) => {
                flow.counts.delivered += 1;
                flow.bytes_delivered += u64::from(size);
                if let Some(acks) = flow.acks {
                    self.send_back(acks, flow_number, number, departure);
                }
            }
            None => flow.counts.dropped += u64::from(at_target),
        }
        if at_target && self.record_packets {
            let packet = self.unresponsive[at].counts.arrived;
            self.record_packet(now, flow_number, packet, size, departure);
        }
    }

    /// Records an arrival at the target link where it is within the traced time; says whether.
    /// `flow` is the flow's number in events.
    #[cold]
    pub(crate) fn record_packet(
        &mut self,
        now: Time,
        flow: u32,
        packet: u64,
        size: u32,
        departure: Option<Time>,
    ) -> bool {
        let trace = self.scenario.trace();
        if now < trace.from || trace.until.is_some_and(|until| now > until) {
            return false;
        }
        let rate = self.scenario.target().rate;
        let transmission = rate.time_to_send(Bytes::new(u64::from(size)));
        let (group, index) = match self.flows.get(flow as usize) {
            Some(flow) => (flow.group, flow.index as u32),
            None => (self.unresponsive[(LAST_FLOW - flow) as usize].group, 0),
        };
        if let Some(traces) = &mut self.traces {
            traces.packets.push(PacketRecord {
                time_s: now.as_secs_f64(),
                flow: self.groups[group as usize].first_number + index,
                group,
                connection: flow,
                packet,
                bytes: size,
                dropped: departure.is_none(),
                marked: false,
                wait_s: departure.map_or(0.0, |departure| {
                    departure
                        .saturating_sub(now)
                        .saturating_sub(transmission)
                        .as_secs_f64()
                }),
            });
        }
        true
    }

    // --- Sources and transfers ---

    /// A source sends a packet, or a transfer of an open-loop group arrives.
    fn emit(&mut self, event: Event) -> Result<(), EngineError> {
        let number = event.flow() as usize;
        let Some(source) = self.sources.get_mut(number) else {
            let group = number - self.sources.len();
            return self.arrive_transfer(group, event.time);
        };
        if event.time >= source.until {
            return Ok(());
        }
        let flow = LAST_FLOW - source.pick();
        let size = source.size(self.groups[source.group as usize].spec);
        let next = source_event(source.next_arrival(event.time), number);
        self.calendar.push_delivery(source.lane, next);
        self.arrive(flow, size, 0, event.time);
        Ok(())
    }

    /// An open-loop transfer arrives and takes a free slot.
    fn arrive_transfer(&mut self, number: usize, now: Time) -> Result<(), EngineError> {
        self.schedule_transfer(number, now);
        let group = &mut self.groups[number];
        let transfer = group.arrived_transfers;
        group.arrived_transfers += 1;
        let at = if let Some(at) = group.idle.pop() {
            at as usize
        } else {
            self.add_flow(number, 0)?;
            let at = self.flows.len() - 1;
            if at as u32 + self.unresponsive.len() as u32 >= LAST_FLOW {
                return Err(too_large("more than 16 million flows are alive at once"));
            }
            at
        };
        self.flows[at].index = 0;
        self.begin(at, transfer, now)
    }

    /// A flow starts, or a user ends its thinking.
    fn start(&mut self, at: usize, now: Time) -> Result<(), EngineError> {
        let (number, index) = (self.flows[at].group as usize, self.flows[at].index as usize);
        if self.flows[at].stopped {
            if self.flows[at].since == Time::MAX {
                self.finish_round(number, now);
            }
            return Ok(());
        }
        if let Some(rounds) = &mut self.groups[number].rounds {
            rounds.begin(now);
        }
        if let Workload::ApplicationLimited { rate } = self.groups[number].spec.workload {
            let size = Bytes::new(u64::from(self.flows[at].wire));
            let next = rate.time_to_send(size).max(Time::from_picos(1));
            let next = now.saturating_add(next);
            self.calendar
                .push_frequent(Event::new(next, Kind::Start, at as u32, 0));
            if self.groups[number].transfers[index] > 0 {
                self.flows[at].connection.write(1, now);
                self.send(at, now);
                return Ok(());
            }
        }
        let transfers = &mut self.groups[number].transfers[index];
        let transfer = *transfers;
        *transfers += 1;
        self.begin(at, transfer, now)
    }

    /// Begins transfer number `transfer` (of a user, or of an open-loop group) in a slot.
    fn begin(&mut self, at: usize, transfer: u64, now: Time) -> Result<(), EngineError> {
        let flow = &mut self.flows[at];
        let group = &self.groups[flow.group as usize];
        let spec = group.spec;
        let (index, count) = (flow.index, spec.count);
        let payload = Bytes::new(u64::from(flow.wire)).saturating_sub(spec.stack.header);
        let packets = match &spec.workload {
            Workload::Finite { size } => {
                let mut stream = group.draws.stream(index, Purpose::Size);
                packets_of(size.draw(index, count, &mut stream), payload)
            }
            Workload::ClosedLoop { size, .. }
            | Workload::OpenLoop { size, .. }
            | Workload::Incast { size, .. } => {
                let mut stream = group.draws.transfer(index, transfer, Purpose::Size);
                packets_of(size.draw(0, 1, &mut stream), payload)
            }
            Workload::ApplicationLimited { .. } => 1,
            _ => u64::MAX,
        };
        let redrawn = !matches!(
            spec.workload,
            Workload::Finite { .. }
                | Workload::Persistent
                | Workload::ApplicationLimited { .. }
                | Workload::Incast { .. }
        );
        if redrawn && !matches!(spec.rtt, Law::Value(_) | Law::List(_) | Law::Linspace(..)) {
            let mut stream = group.draws.transfer(index, transfer, Purpose::RoundTrip);
            let rtt = spec.rtt.draw(index, count, &mut stream);
            let (there, back) = self.return_delays(spec, rtt)?;
            let flow = &mut self.flows[at];
            flow.return_delay = there;
            if let Some(receiver) = &mut flow.receiver {
                receiver.delay = back;
            }
        }
        let lane = self.lane(at);
        let flow = &mut self.flows[at];
        flow.since = now;
        flow.transfer = transfer;
        flow.arrived_before = flow.arrived;
        flow.dropped_before = flow.dropped;
        flow.lost_elsewhere_before = flow.lost_elsewhere;
        if transfer > 0 && matches!(spec.workload, Workload::Incast { .. }) {
            // The connections of an incast stay open.
            flow.connection.write(packets, now);
            self.send(at, now);
            return Ok(());
        }
        let opening = opening(spec, packets).ok_or_else(|| unsupported(spec.controller.name()))?;
        flow.lane = lane;
        flow.connection.open(opening);
        if let Some(receiver) = &mut flow.receiver {
            receiver.restart(flow.connection.first());
        }
        self.send(at, now);
        Ok(())
    }

    /// A transfer is complete: a user thinks, an open-loop slot is free.
    fn complete(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        if flow.since == Time::MAX || flow.stopped {
            return;
        }
        let number = flow.group as usize;
        let group = &mut self.groups[number];
        let spec = group.spec;
        if matches!(spec.workload, Workload::ApplicationLimited { .. }) {
            // Idle until the application writes again.
            return;
        }
        if !spec.persistent() && self.warm {
            group.shapes.completed(flow, spec, now);
            group.shapes.lived(flow, self.scenario.run().warmup, now);
            let duration = now - flow.since;
            group.completed += 1;
            group.completion_times.add(duration);
            let payload = u64::from(flow.wire) - spec.stack.header.get();
            let bits = flow.connection.transfer_packets() * payload * 8;
            let goodput = bits as f64 / duration.as_secs_f64().max(1e-12);
            group
                .transfer_goodputs
                .add(Time::from_picos(goodput as u64));
        }
        if let (Some(traces), false) = (&mut self.traces, spec.persistent()) {
            let record = transfers::record(flow, self.scenario.trace(), now);
            traces.transfers.extend(record);
        }
        flow.since = Time::MAX;
        match &spec.workload {
            Workload::ClosedLoop { think, .. } => {
                let index = flow.index;
                let transfer = group.transfers[index as usize];
                let mut stream = group.draws.transfer(index, transfer, Purpose::Think);
                let next = now.saturating_add(think.draw(0, 1, &mut stream));
                self.calendar
                    .push(Event::new(next, Kind::Start, at as u32, 0));
            }
            Workload::OpenLoop { .. } => group.idle.push(at as u32),
            Workload::Incast { .. } => self.finish_round(number, now),
            _ => {}
        }
    }

    /// A server of an incast has finished the round, or left: after the last one and a pause all
    /// are asked again.
    fn finish_round(&mut self, number: usize, now: Time) {
        let group = &mut self.groups[number];
        let Workload::Incast { pause, delay, .. } = &group.spec.workload else {
            return;
        };
        let Some(rounds) = &mut group.rounds else {
            return;
        };
        let Some(time) = rounds.finish(now) else {
            return;
        };
        if self.warm {
            rounds.times.add(time);
        }
        let servers = |flow: &Flow| flow.group as usize == number && !flow.stopped;
        let left = self.flows.iter().filter(|flow| servers(flow)).count();
        let round = rounds.number();
        let mut stream = group.draws.transfer(0, round, Purpose::Think);
        let request = now.saturating_add(pause.draw(0, 1, &mut stream));
        rounds.request(request, left as u64);
        for (at, flow) in self.flows.iter().enumerate().filter(|(_, f)| servers(f)) {
            let mut stream = group.draws.transfer(flow.index, round, Purpose::Processing);
            let start = request.saturating_add(delay.draw(0, 1, &mut stream));
            self.calendar
                .push(Event::new(start, Kind::Start, at as u32, 0));
        }
    }

    fn stop(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        let number = flow.group as usize;
        let busy = flow.since != Time::MAX && !flow.stopped;
        if flow.since <= now {
            let shapes = &mut self.groups[number].shapes;
            shapes.lived(flow, self.scenario.run().warmup, now);
        }
        flow.connection.stop();
        flow.stopped = true;
        if busy {
            self.finish_round(number, now);
        }
    }

    // --- Timers and control ---

    fn timer(&mut self, event: Event) -> Result<(), EngineError> {
        if self.calendar.deliveries() > MAX_UNDER_WAY {
            return Err(too_large(
                "more than 500 million packets are under way at once",
            ));
        }
        if forebay_scenario::interrupted() {
            return Err(EngineError::Interrupted);
        }
        let (at, now) = (event.flow() as usize, event.time);
        let flow = &mut self.flows[at];
        if flow.timer_at != now {
            // A later deadline has taken this one's place, or an earlier one already served.
            return Ok(());
        }
        flow.timer_at = Time::MAX;
        let Some(deadline) = flow.connection.deadline() else {
            return Ok(());
        };
        if deadline > now {
            flow.timer_at = deadline;
            self.calendar
                .push(Event::new(deadline, Kind::Timer, event.flow(), 0));
            return Ok(());
        }
        flow.connection.time_out(now);
        self.send(at, now);
        Ok(())
    }

    fn delayed_ack(&mut self, event: Event) {
        let at = event.flow() as usize;
        let flow = &mut self.flows[at];
        if flow.receiver.is_some() {
            self.receiver_timer(at, event.time);
            return;
        }
        flow.delayed_ack_armed = false;
        if let Some(due) = flow.connection.delayed_ack_due(event.time) {
            flow.delayed_ack_armed = true;
            self.calendar
                .push(Event::new(due, Kind::DelayedAck, event.flow(), 0));
            return;
        }
        self.send(at, event.time);
    }

    fn control(&mut self, event: Event) {
        match event.packet() {
            WARMUP => self.finish_warmup(event.time),
            MEASURE => self.measure(event.time),
            BASELINE => self.sampled = (event.time, self.links[self.target].busy(event.time)),
            _ => self.sample(event.time),
        }
    }

    /// Counting starts anew.
    fn finish_warmup(&mut self, now: Time) {
        self.warm = true;
        for link in &mut self.links {
            link.restart(now);
        }
        for flow in &mut self.flows {
            flow.before = flow.counts();
        }
        for flow in &mut self.unresponsive {
            flow.before = flow.counts;
            flow.bytes_before = flow.bytes_delivered;
        }
        self.events_before = self.congestion.restart();
        self.schedule_sample(now);
    }

    /// Records one sample of each flow and of the target link.
    fn sample(&mut self, now: Time) {
        let trace = self.scenario.trace();
        let Some(traces) = &mut self.traces else {
            return;
        };
        if trace.until.is_none_or(|until| now <= until) {
            self.calendar.push(Event::new(
                now.saturating_add(trace.every),
                Kind::Control,
                0,
                SAMPLE,
            ));
        }
        if trace.record.contains(&Recorded::Cwnd) {
            traces.flows.extend(
                self.flows
                    .iter()
                    .filter(|flow| flow.since <= now)
                    .map(|flow| FlowSample {
                        time_s: now.as_secs_f64(),
                        flow: self.groups[flow.group as usize].first_number + flow.index as u32,
                        cwnd_packets: flow.connection.window.cwnd,
                        ssthresh_packets: flow.connection.window.ssthresh,
                        rtt_s: flow.connection.smoothed_rtt(),
                    }),
            );
        }
        let wanted = trace.record.contains(&Recorded::Queue)
            || trace.record.contains(&Recorded::Utilization);
        if wanted {
            let link = &self.links[self.target];
            let busy = link.busy(now);
            traces.queue.push(QueueSample {
                time_s: now.as_secs_f64(),
                packets: link.waiting(now) as f64,
                delay_s: link.backlog(now).as_secs_f64(),
                utilization: share(busy - self.sampled.1, now - self.sampled.0),
            });
            self.sampled = (now, busy);
        }
    }

    /// When the run ends.
    pub(crate) fn end(&self) -> Time {
        self.end
    }
}

/// A part of a time; of none, nothing.
fn share(part: Time, whole: Time) -> f64 {
    if whole == Time::ZERO {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}

/// Has fetched what the next events need of their flows.
fn prefetch(flows: &[Flow], events: &[Event]) {
    for event in events {
        if let Some(flow) = flows.get(event.flow() as usize) {
            flow.prefetch();
        }
    }
}

/// The link before the receivers of a group.
fn last_link(spec: &FlowGroup) -> usize {
    spec.path[spec.path.len() - 1]
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

pub(crate) fn unsupported(feature: &str) -> EngineError {
    EngineError::Unsupported {
        engine: "packet",
        feature: feature.to_owned(),
    }
}

pub(crate) fn too_large(why: &str) -> EngineError {
    EngineError::TooLarge {
        engine: "packet",
        why: why.to_owned(),
    }
}
