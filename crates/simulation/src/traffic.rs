//! The traffic: what the users of the network have to send, and when. The event loop hands it the
//! starts of flows of all groups, of sources without congestion control, and of the transfers of
//! users, arrivals and incasts.

pub(crate) mod delivery_lanes;
pub(crate) mod group;
pub(crate) mod hosts;
mod idle_slots;
pub(crate) mod incast;
mod lifecycle;
pub(crate) mod on_periods;
mod ring;
pub(crate) mod source;

use std::cmp::Reverse;

use forebay_random::{Purpose, Seed};
use forebay_scenario::{Scenario, Workload};
use forebay_units::Time;

use crate::access::AccessLink;
use crate::calendar::Calendar;
use crate::calendar::event::{Event, Kind, Mark};
use crate::ends::Ends;
use crate::flow::{Arriving, Flow, InFlight, Transit, Unresponsive};
use crate::ids::{FlowId, GroupId, HopNumber, ResponsiveId, SourceId, UnresponsiveId};
use crate::link::host_timing::earliness;
use crate::measure::recorder::Recorder;
use crate::network::Network;
use crate::refusal::Refusal;
use crate::route_table::HostRoute;
use crate::timeline::Timeline;
use crate::traffic::delivery_lanes::{AccessLanes, DeliveryLanes, way};
use crate::traffic::group::Group;
use crate::traffic::hosts::{Completed, FlowPosition, Hosts, ReversePath, Turn};
use crate::traffic::source::{Source, SourceSetup, TooManyPeriods};

/// Everything that sends.
#[derive(Debug)]
pub struct Traffic<'a, H: Hosts<'a>> {
    scenario: &'a Scenario,
    /// Both ends of all connections.
    pub hosts: H,
    /// All groups, in the order of the scenario.
    pub groups: Vec<Group<'a>>,
    pub(crate) sources: Vec<Source>,
    lanes: DeliveryLanes,
    access_lanes: AccessLanes,
    /// Flows that memory is allowed for.
    pub most_flows: usize,
}

impl<'a, H: Hosts<'a>> Traffic<'a, H> {
    // --- Set-up ---

    /// All flows and sources of a scenario; the paths of their packets are the network's.
    pub(crate) fn new(
        scenario: &'a Scenario,
        (seed, hosts): (Seed, H),
        network: &mut Network,
    ) -> Result<Self, Refusal> {
        let groups = scenario.flows().iter();
        let mut traffic = Self {
            scenario,
            hosts,
            groups: groups
                .map(|spec| Group::new(scenario, (spec, seed), earliness(&network.timings, spec)))
                .collect(),
            sources: Vec::new(),
            lanes: DeliveryLanes::default(),
            access_lanes: AccessLanes::default(),
            most_flows: usize::MAX,
        };
        for group in 0..traffic.groups.len() {
            traffic.add_sources(GroupId::new(group), network)?;
        }
        let places = traffic.places();
        traffic.hosts.flows_mut().responsive.reserve(places.len());
        for (_, group, index) in places {
            let path = traffic.groups[group.index()].route_of_flow(index);
            let path = path.map(|(pair, spine)| network.host_route(scenario, (group, pair, spine)));
            let flow = traffic.add_flow((group, index), path.transpose()?, network)?;
            if let Some(rounds) = &mut traffic.groups[group.index()].rounds {
                rounds.add(flow);
            }
            if let Some(ring) = &mut traffic.groups[group.index()].ring {
                ring.join(index, flow);
            }
        }
        Ok(traffic)
    }

    /// Adds the flows and sources of an unresponsive group.
    fn add_sources(&mut self, group: GroupId, network: &mut Network) -> Result<(), Refusal> {
        let Group { spec, draws, .. } = self.groups[group.index()];
        if spec.responsive() {
            return Ok(());
        }
        let flows = &mut self.hosts.flows_mut().unresponsive;
        let run = self.scenario.run();
        let setup = SourceSetup {
            group,
            first: UnresponsiveId::new(flows.len()),
            draws,
            end: run.end(),
        };
        let transit = Transit {
            group,
            route: network.routes(group).there,
            ..Transit::default()
        };
        let flow = Unresponsive {
            transit,
            ..Unresponsive::default()
        };
        for index in 0..spec.count {
            let mut flow = flow;
            if let Some((pair, spine)) = self.groups[group.index()].route_of_flow(index) {
                let host_route = network.host_route(self.scenario, (group, pair, spine))?;
                flow.transit.route = host_route.route;
            }
            flows.push(flow);
        }
        self.sources.extend(Source::of_group(spec, setup));
        Ok(())
    }

    /// (round trip, group, index) of all flows that exist from the beginning, in the order in which
    /// their packets of one instant come. The longest round trip is first: its packets have been
    /// sent before the others, and events of one instant come in the order of their causes. Round
    /// trips drawn at random make no such ties and stand as zero.
    fn places(&self) -> Vec<(Time, GroupId, u64)> {
        let mut places = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let spec = group.spec;
            places.extend((0..group.slots()).map(|index| {
                let mut stream = group.draws.stream(index, Purpose::RoundTrip);
                let rtt = if group.states_rtt() {
                    spec.rtt.draw(index, spec.count, &mut stream)
                } else {
                    Time::ZERO
                };
                (rtt, GroupId::new(number), index)
            }));
        }
        places.sort_by_key(|&(rtt, ..)| Reverse(rtt));
        places
    }

    /// Adds a flow of this group that has not started.
    fn add_flow(
        &mut self,
        (number, index): (GroupId, u64),
        path: Option<HostRoute>,
        network: &Network,
    ) -> Result<ResponsiveId, Refusal> {
        let group = &self.groups[number.index()];
        let spec = group.spec;
        let stream = |purpose| group.draws.stream(index, purpose);
        let packet = spec
            .packet
            .draw(index, spec.count, &mut stream(Purpose::Packet));
        let rtt = spec
            .rtt
            .draw(index, spec.count, &mut stream(Purpose::RoundTrip));
        let routes = network.routes(number);
        let transit = Transit {
            group: number,
            route: path.map_or(routes.there, |path| path.route),
            packet_bytes: packet.get() as u32,
            ..Transit::default()
        };
        let place = FlowPosition {
            index,
            packet_bytes: transit.packet_bytes,
        };
        let ends = self.hosts.prepare(group, place)?;
        let mut flow = Flow::new(ends, (spec, index), transit);
        if group.pauses {
            let rate = self.scenario.links()[spec.path[0]].rate;
            let access = AccessLink::pausable(spec, transit.packet_bytes, rate);
            flow.access = Some(access);
        }
        let (there, delay) = self.hosts.delays(group, self.scenario, rtt)?;
        let shortcut = path.map_or(Time::ZERO, |path| path.shortcut);
        let (there, delay) = shortened((there, delay), shortcut);
        flow.transit.return_delay = there;
        let flows = &mut self.hosts.flows_mut().responsive;
        flows.push(flow);
        let flow = ResponsiveId::new(flows.len() - 1);
        let route = routes.back;
        self.hosts.join(flow, group, ReversePath { route, delay });
        if let Some(path) = path {
            let transfers = &mut self.groups[number.index()].transfers;
            transfers.shorten(path.route, path.shortcut);
        }
        Ok(flow)
    }

    /// Tells each flow the lanes of its deliveries and of its access link.
    pub(crate) fn assign_lanes(&mut self, lanes: DeliveryLanes, access_lanes: AccessLanes) {
        (self.lanes, self.access_lanes) = (lanes, access_lanes);
        for flow in 0..self.hosts.flows().responsive.len() {
            self.assign_lane(ResponsiveId::new(flow));
        }
    }

    fn assign_lane(&mut self, flow: ResponsiveId) {
        let Flow {
            transit, access, ..
        } = &mut self.hosts.flows_mut()[flow];
        let group = self.groups[transit.group.index()].spec;
        transit.lane = self.lanes.of(way(group, transit.return_delay));
        if let Some(access) = access {
            access.lane = self.access_lanes.of(access.transmission());
        }
    }

    /// From now on each packet at the target link is recorded.
    pub(crate) fn record_packets(&mut self, recorder: &Recorder<'_>) {
        for flow in &mut self.hosts.flows_mut().responsive {
            record(&mut flow.ends, recorder);
        }
    }

    /// The first events: starts and stops of flows, first packets of sources, first arrivals.
    pub(crate) fn schedule_starts(&mut self, calendar: &mut Calendar) -> Result<(), Refusal> {
        for (number, flow) in self.hosts.flows().responsive.iter().enumerate() {
            let group = &self.groups[flow.transit.group.index()];
            let (spec, flow_id) = (group.spec, ResponsiveId::new(number));
            let mut stream = group.draws.stream(flow.index, Purpose::Start);
            let start = if spec.under_way {
                group.resumption(flow.index, flow.transit.packet_bytes)
            } else {
                spec.start.draw(flow.index, spec.count, &mut stream)
            };
            calendar.push(Event::of_flow(start, Kind::Start, flow_id));
            if let Some(stop) = &spec.stop {
                let stop = stop.draw(flow.index, spec.count, &mut stream);
                calendar.push(Event::of_flow(stop, Kind::Stop, flow_id));
            }
        }
        for (number, source) in self.sources.iter_mut().enumerate() {
            let Group { spec, draws, .. } = &self.groups[source.group.index()];
            let mut stream = draws.stream(source.index, Purpose::Start);
            let start = spec.start.draw(source.index, spec.count, &mut stream);
            if let Some(stop) = &spec.stop {
                source.stop_at(stop.draw(source.index, spec.count, &mut stream));
            }
            let first = if spec.under_way {
                let mut phase = draws.stream(source.index, Purpose::Phase);
                let first = source.next_of_many(&mut phase);
                first.map_err(|TooManyPeriods| TooManyPeriods::refusal(&spec.name))?
            } else {
                source.first_arrival(start)
            };
            let first = Event::source(first, SourceId::new(number));
            calendar.push_delivery(source.lane, first);
        }
        for number in 0..self.groups.len() {
            let Group { spec, draws, .. } = &self.groups[number];
            if matches!(spec.workload, Workload::OpenLoop { .. }) {
                let start = spec.start.draw(0, 1, &mut draws.stream(0, Purpose::Start));
                self.schedule_transfer(GroupId::new(number), start, calendar);
            }
        }
        Ok(())
    }

    // --- Packets and timers ---

    /// A packet without a mark reaches its receiver and the answer its sender.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let completed = self.hosts.deliver(event, network, timeline);
        self.settle(completed, event.time, (network, timeline));
    }

    /// The same of a packet that a link has marked.
    pub(crate) fn deliver_marked(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let completed = self.hosts.deliver_marked(event, network, timeline);
        self.settle(completed, event.time, (network, timeline));
    }

    /// A packet reaches a hop of its path.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        arriving: Arriving,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flows = self.hosts.flows_mut();
        match flows.of_number(arriving.event.flow()) {
            // Nearly all: what is known of them here the network need not ask.
            FlowId::Responsive(flow) if !arriving.mark.present() => {
                if arriving.hop == HopNumber::FIRST {
                    let now = arriving.event.time;
                    flows[flow].leave_access(flow, now, &mut timeline.calendar);
                }
                let size = flows[flow].size(arriving.event.packet());
                let packet = InFlight {
                    mark: Mark::Absent,
                    ..arriving.packet(FlowId::Responsive(flow), size)
                };
                network.offer(packet, flows, timeline);
            }
            flow => self.arrive_any(arriving, flow, (network, timeline)),
        }
    }

    #[inline(never)]
    fn arrive_any(
        &mut self,
        arriving: Arriving,
        flow: FlowId,
        (network, timeline): (&mut Network, &mut Timeline<'_>),
    ) {
        let flows = self.hosts.flows_mut();
        let number = arriving.event.packet();
        let size = flows.size(flow, number);
        network.offer(arriving.packet(flow, size), flows, timeline);
    }

    /// A time has come that a host had asked for.
    pub(crate) fn awake(
        &mut self,
        (kind, event): (Kind, Event),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let completed = self.hosts.awake((kind, event), network, timeline);
        self.settle(completed, event.time, (network, timeline));
    }

    #[inline]
    fn settle(
        &mut self,
        completed: Completed,
        now: Time,
        (network, timeline): (&mut Network, &mut Timeline<'_>),
    ) {
        if let Some(flow) = completed {
            self.close(Turn { flow, now }, (network, timeline));
        }
    }

    /// The transfer of a flow is complete.
    #[inline(never)]
    fn close(&mut self, turn: Turn, (network, timeline): (&mut Network, &mut Timeline<'_>)) {
        network.catch_up(turn.now, self.hosts.flows_mut(), timeline);
        let group = self.hosts.flows()[turn.flow].transit.group;
        if self.groups[group.index()].ring.is_some() {
            self.arrive_part(turn, network, timeline);
        } else {
            self.complete(turn, timeline);
        }
    }

    fn send(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        let completed = self.hosts.send(turn, network, timeline);
        self.settle(completed, turn.now, (network, timeline));
    }

    // --- Sources and arrivals ---

    /// A source sends a packet, or a transfer of an open-loop group arrives.
    pub(crate) fn emit(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Result<(), Refusal> {
        let number = event.source_id();
        let Some(source) = self.sources.get_mut(number.index()) else {
            return self.arrive_transfer(event, network, timeline);
        };
        let now = event.time;
        if source.is_over(now) {
            return Ok(());
        }
        let spec = self.groups[source.group.index()].spec;
        let (flow, size) = (source.pick(), source.size(spec));
        let next = source.next_arrival(now);
        let next = next.map_err(|TooManyPeriods| TooManyPeriods::refusal(&spec.name))?;
        if let Some(next) = next {
            let next = Event::source(next, number);
            timeline.calendar.push_delivery(source.lane, next);
        }
        let packet = self.hosts.flows().set_out(flow, size, now);
        network.offer(packet, self.hosts.flows_mut(), timeline);
        Ok(())
    }

    /// Schedules the next open-loop arrival of a group.
    fn schedule_transfer(&mut self, group: GroupId, now: Time, calendar: &mut Calendar) {
        if let Some(next) = self.groups[group.index()].next_arrival(now) {
            let source = SourceId::new(self.sources.len() + group.index());
            calendar.push_frequent(Event::source(next, source));
        }
    }

    /// An open-loop transfer arrives and takes a free slot.
    fn arrive_transfer(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Result<(), Refusal> {
        let number = GroupId::new(event.source_id().index() - self.sources.len());
        let now = event.time;
        network.catch_up(now, self.hosts.flows_mut(), timeline);
        self.schedule_transfer(number, now, &mut timeline.calendar);
        let group = &mut self.groups[number.index()];
        let transfer = group.arrived;
        group.arrived += 1;
        let path = group.route_of_transfer(transfer);
        let path =
            path.map(|(pair, spine)| network.host_route(self.scenario, (number, pair, spine)));
        let path = path.transpose()?;
        let route = path.map_or_else(|| network.routes(number).there, |path| path.route);
        let flow = if let Some(flow) = group.idle.take(route) {
            flow
        } else {
            let flow = self.add_flow((number, 0), path, network)?;
            record(&mut self.hosts.flows_mut()[flow].ends, &timeline.recorder);
            let name = &self.groups[number.index()].spec.name;
            self.hosts.flows().check_count(self.most_flows, name)?;
            flow
        };
        self.begin(Turn { flow, now }, transfer)?;
        self.send(Turn { flow, now }, network, timeline);
        Ok(())
    }

    /// The run ends: what lives then has lived until then.
    pub(crate) fn finish(&mut self, end: Time, recorder: &mut Recorder<'_>) {
        for flow in &self.hosts.flows().responsive {
            // The data of an application is never complete, also if all of it has arrived.
            if flow.transfer.since.is_some() && !flow.stopped && flow.ends.begun() {
                let group = &mut self.groups[flow.transit.group.index()];
                group.transfers.lived(flow, end);
                recorder.record_transfer(flow, None);
            }
        }
        let rounds = self.groups.iter_mut().filter_map(|g| g.rounds.as_mut());
        rounds.for_each(|rounds| rounds.end(end));
    }
}

/// Delays after the last link, to the receiver and from there to the sender, on a shorter path.
fn shortened((there, back): (Time, Time), shortcut: Time) -> (Time, Time) {
    if back > Time::ZERO {
        (there, back.saturating_sub(shortcut))
    } else {
        (there.saturating_sub(shortcut), back)
    }
}

/// Has each packet of a connection seen, and what its headers say, where that is recorded.
fn record<E: Ends>(ends: &mut E, recorder: &Recorder<'_>) {
    if recorder.records_packets() {
        ends.record_packets();
    }
    if recorder.records_headers() {
        ends.record_headers();
    }
}
