//! The event loop: the only place where time passes.
//!
//! A first-in-first-out link knows a packet's departure when the packet arrives, and the way
//! from there to the receiver and back is a constant delay, so one event per data packet is
//! enough: "the acknowledgement arrives". All of a flow's propagation delay therefore stands
//! behind the last link of its path; seen from the link this only shifts each sender's clock.

mod construction;
mod control;
mod traffic;

use forebay_random::Stream;
use forebay_scenario::{Cancel, EngineError, FlowGroup, PacketRecord, Scenario, Traces};
use forebay_units::{Bytes, Time};

pub(crate) use self::control::MEASURE;
use crate::calendar::{Calendar, Event, Kind, MAX_HOPS};
use crate::connection::{Next, Reception};
use crate::flow::{Draws, Flow, Source, Unresponsive};
use crate::incast::Rounds;
use crate::link::Link;
use crate::memory::Memory;
use crate::network::Records;
use crate::sampler::Sampler;
use crate::statistics::{CongestionEvents, Histogram};
use crate::transfers::{self, Transfers};

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

/// What follows a departure: an event of this kind on this lane after this delay.
#[derive(Clone, Copy, Debug)]
struct Leg {
    lane: u32,
    delay: Time,
    kind: u64,
}

impl Stop {
    /// From here, hop number `hop` of the path of a responsive flow, to the next stop, or as an
    /// acknowledgement to the sender. Choosing numbers instead of events spares a branch.
    #[inline]
    fn leg(self, hop: usize, flow: &Flow) -> Leg {
        if self.last {
            Leg {
                lane: flow.lane,
                delay: flow.return_delay,
                kind: Kind::Delivery as u64,
            }
        } else {
            Leg {
                lane: self.lane,
                delay: self.delay,
                kind: Kind::Arrival as u64 + hop as u64 + 1,
            }
        }
    }
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

impl Simulation<'_> {
    /// Runs to the end, or until somebody cancels it.
    pub(crate) fn run(&mut self, cancel: &Cancel) -> Result<(), EngineError> {
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
                _ => self.control(event, cancel)?,
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
            // What an application writes is never complete, also where all of it has arrived.
            if flow.since < end && !flow.stopped && flow.connection.begun() {
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
            let leg = stop.leg(0, flow);
            let event = Event::of(departure + leg.delay, leg.kind, at as u32, packet);
            self.calendar.push_delivery(leg.lane, event);
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
            Reception::Acknowledged => self.send(at, event.time),
            Reception::Delayed => {
                if !flow.delayed_ack_armed {
                    flow.delayed_ack_armed = true;
                    let spec = self.groups[flow.group as usize].spec;
                    let due = event.time.saturating_add(spec.stack.delayed_ack.timeout);
                    self.calendar
                        .push(Event::new(due, Kind::DelayedAck, event.flow(), 0));
                }
            }
            Reception::Stale => {}
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
            let leg = stop.leg(hop, flow);
            let event = Event::of(departure + leg.delay, leg.kind, at as u32, packet);
            self.calendar.push_delivery(leg.lane, event);
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

    // --- Timers ---

    fn timer(&mut self, event: Event) -> Result<(), EngineError> {
        if self.calendar.deliveries() > MAX_UNDER_WAY {
            return Err(too_large(
                "more than 500 million packets are under way at once",
            ));
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

    /// When the run ends.
    pub(crate) fn end(&self) -> Time {
        self.end
    }
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
