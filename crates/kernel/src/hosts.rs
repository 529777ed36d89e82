//! The hosts: senders in the near namespace, receivers in the far one. Packets from their devices
//! enter the simulated network, and packets that leave it are written to the other device.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use forebay_scenario::{FlowGroup, Scenario};
use forebay_simulation::{
    Completed, Direction, Ends, Event, FlowId, FlowPosition, Flows, Group, GroupId, HopNumber,
    Hosts, InFlight, Kind, Mark, Network, Refusal, ResponsiveId, Returned, ReversePath, Timeline,
    TransferStart, Transit, Turn, Unresponsive, UnresponsiveId,
};
use forebay_units::{Bytes, Time};

use crate::applications::Applications;
use crate::clock::Clock;
use crate::device::{Device, Written};
use crate::ends::{Limits, Open, SocketEnds};
use crate::external_flows::ExternalFlows;
use crate::lateness::Lateness;
use crate::namespaces::{Kind as SocketKind, Namespaces};
use crate::side::Side;
use crate::tcp::{self, Route};
use crate::translation::{FIRST_PORT, TCP_HEADERS, controller_of};
use crate::wire::{Segment, Stray, mark};

/// Number of sockets of one request.
const SOCKETS_AT_ONCE: usize = 64;

/// Maximum number of sockets that are made in advance.
const MOST_SOCKETS: usize = 2048;

/// Persistent flows that are inspected in one step.
const FLOWS_PER_LOOK: usize = 16;

/// All hosts of a run.
#[derive(Debug)]
pub(crate) struct SocketHosts<'a> {
    scenario: &'a Scenario,
    namespaces: &'a Namespaces,
    applications: Applications,
    flows: Flows<SocketEnds>,
    /// Flow of a connection, by near address and port and by far port. A near port serves
    /// connections to several far ports.
    owners: BTreeMap<((Ipv4Addr, u16), u16), ResponsiveId>,
    /// Flows for packets of programs, if there are any.
    external_flows: Option<ExternalFlows>,
    /// Sockets that are not in use yet.
    sockets: Vec<OwnedFd>,
    next_key: u64,
    /// Index of the flow that was inspected last.
    turn: usize,
    pub(crate) clock: Clock,
    pub(crate) lateness: Lateness,
    /// Lateness of the event that the event loop hands over.
    pub(crate) late: Time,
    pub(crate) strays: Strays,
    /// First error of the operating system. All later results are invalid.
    failure: Option<io::Error>,
}

/// The owner of a packet.
#[derive(Clone, Copy, Debug)]
enum PacketOwner {
    /// A connection that these hosts opened.
    Connection(ResponsiveId, Segment),
    /// A program in the namespaces.
    Guest(ResponsiveId),
}

/// Packets that were not carried, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    pub(crate) malformed: u64,
    pub(crate) fragments: u64,
    pub(crate) other_protocols: u64,
    /// Packets of connections that these hosts did not open.
    pub(crate) of_nobody: u64,
    /// Packets that a device had no room for.
    pub(crate) device_full: u64,
    /// Packets of a flow with more bytes in flight than are stored.
    pub(crate) flooded: u64,
}

impl<'a> SocketHosts<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        namespaces: &'a Namespaces,
        applications: Applications,
    ) -> io::Result<Self> {
        let flows: u64 = scenario.flows().iter().map(|group| group.count).sum();
        let first = (flows as usize).clamp(SOCKETS_AT_ONCE, MOST_SOCKETS);
        Ok(Self {
            scenario,
            namespaces,
            applications,
            flows: Flows::default(),
            owners: BTreeMap::new(),
            external_flows: None,
            sockets: namespaces.sockets(Side::Near, SocketKind::Tcp, first)?,
            next_key: 0,
            turn: 0,
            clock: Clock::start(),
            lateness: Lateness::default(),
            late: Time::ZERO,
            strays: Strays::default(),
            failure: None,
        })
    }

    /// From now on, carries packets of programs as if they were of this group's flows.
    pub(crate) fn welcome(&mut self, group: GroupId) {
        self.external_flows = Some(ExternalFlows::of(group, &self.flows));
    }

    /// The error that stops the run, if there is one.
    pub(crate) fn failure(&mut self) -> Option<io::Error> {
        self.failure.take().or_else(|| self.applications.failure())
    }

    fn spec(&self, flow: ResponsiveId) -> (usize, &'a FlowGroup) {
        let group = self.flows[flow].transit.group.index();
        (group, &self.scenario.flows()[group])
    }

    // --- Inspection of limits other than the path ---

    /// Inspects a few of the persistent flows after the warm-up.
    pub(crate) fn inspect(&mut self) {
        let count = self.flows.responsive.len();
        for _ in 0..count.min(FLOWS_PER_LOOK) {
            self.turn = (self.turn + 1) % count;
            self.inspect_flow(ResponsiveId::new(self.turn));
        }
    }

    fn inspect_flow(&mut self, flow: ResponsiveId) {
        let (_, spec) = self.spec(flow);
        let flow = &mut self.flows[flow];
        if spec.persistent() && !flow.stopped {
            flow.ends.inspect();
        }
    }

    /// The longest time that the receiver's window limited a persistent flow, and the number of
    /// flows without unsent data.
    pub(crate) fn limits(&mut self) -> (Time, u64) {
        for flow in 0..self.flows.responsive.len() {
            self.inspect_flow(ResponsiveId::new(flow));
        }
        let limits = self.flows.responsive.iter().map(|flow| &flow.ends.limits);
        let longest = limits.clone().map(Limits::by_window).max();
        let starved = limits.filter(|limits| limits.starved).count();
        (longest.unwrap_or_default(), starved as u64)
    }

    // --- Packets from the devices ---

    /// Processes a packet that the near namespace sent at `now`.
    pub(crate) fn receive_near(
        &mut self,
        (packet, now): (&[u8], Time),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = match self.recognize(packet, Side::Near) {
            Some(PacketOwner::Connection(flow, segment)) => {
                let ends = &mut self.flows[flow].ends;
                if segment.rst() || !ends.has(&segment) {
                    // A sender whose transfer is over, or that has stopped, resets its connection.
                    // Such packets do not cross the link.
                    self.hand(packet, Side::Far);
                    return;
                }
                ends.sends(&segment, now);
                flow
            }
            Some(PacketOwner::Guest(flow)) => flow,
            None => return,
        };
        let sender = &mut self.flows[flow];
        let Some(number) = sender.ends.data.keep(packet) else {
            self.strays.flooded += 1;
            return;
        };
        if sender.access.is_some() {
            sender.enter_access(flow, (now, number), &mut timeline.calendar);
            return;
        }
        let in_flight = InFlight {
            arrival: now,
            flow: FlowId::Responsive(flow),
            number,
            size: packet.len() as u32,
            hop: HopNumber::FIRST,
            mark: Mark::Absent,
        };
        network.offer(in_flight, &mut self.flows, timeline);
    }

    /// Processes a packet that the far namespace sent at `now`.
    pub(crate) fn receive_far(
        &mut self,
        (packet, now): (&[u8], Time),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = match self.recognize(packet, Side::Far) {
            Some(PacketOwner::Connection(flow, segment)) => {
                let ends = &mut self.flows[flow].ends;
                if !ends.has(&segment) {
                    // The packet goes to a sender that no longer exists.
                    return;
                }
                ends.answers(&segment);
                flow
            }
            Some(PacketOwner::Guest(flow)) => flow,
            None => return,
        };
        let ends = &mut self.flows[flow].ends;
        let Some(number) = ends.answers.keep(packet) else {
            self.strays.flooded += 1;
            return;
        };
        let (acks, cross_links) = (ends.acknowledgments, ends.cross_links);
        if cross_links {
            let in_flight = self.flows.set_out(acks, number, now);
            network.offer(in_flight, &mut self.flows, timeline);
        } else {
            let time = now.saturating_add(ends.delay_back);
            let id = FlowId::Unresponsive(acks).number();
            let event = Event::of(time, Kind::Delivery.number(), id, number);
            timeline.calendar.push_frequent(event);
        }
    }

    /// The owner of a packet; `None` for a stray, which is counted.
    fn recognize(&mut self, packet: &[u8], from: Side) -> Option<PacketOwner> {
        let read = Segment::read(packet, from);
        if let Ok(segment) = read
            && let Some(&flow) = self.owners.get(&(segment.near, segment.far))
        {
            return Some(PacketOwner::Connection(flow, segment));
        }
        if let Some(external_flows) = &self.external_flows
            && let Some(flow) = external_flows.flow(packet, from)
        {
            return Some(PacketOwner::Guest(flow));
        }
        let count = match read {
            Ok(_) => &mut self.strays.of_nobody,
            Err(Stray::Malformed) => &mut self.strays.malformed,
            Err(Stray::Fragment) => &mut self.strays.fragments,
            Err(Stray::OtherProtocol) => &mut self.strays.other_protocols,
        };
        *count += 1;
        None
    }

    // --- Packets to the devices ---

    fn hand(&mut self, packet: &[u8], to: Side) {
        let device: &Device = self.namespaces.device(to);
        match device.write(packet) {
            Ok(Written::Yes) => {}
            Ok(Written::Full) => self.strays.device_full += 1,
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Writes a packet to its receiver, or an acknowledgment to its sender.
    fn arrive(&mut self, event: Event, marked: Mark, timeline: &mut Timeline<'_>) -> Completed {
        self.lateness.add(self.late);
        match self.flows.of_number(event.flow()) {
            FlowId::Responsive(flow) => {
                let mut packet = self.flows[flow].ends.data.take(event.packet())?;
                if marked.present() {
                    mark(&mut packet);
                }
                self.hand(&packet, Side::Far);
                None
            }
            FlowId::Unresponsive(acks) => {
                let flow = self.flows[acks].acks_of?;
                if timeline.recorder.records_headers() {
                    self.record(
                        Turn {
                            flow,
                            now: event.time,
                        },
                        event.packet(),
                        timeline,
                    );
                }
                let ends = &mut self.flows[flow].ends;
                let packet = ends.answers.take(event.packet())?;
                let segment = Segment::read(&packet, Side::Far);
                let own = segment.ok().filter(|segment| ends.has(segment));
                let guest = || {
                    self.external_flows
                        .as_ref()
                        .is_some_and(|all| all.have(flow))
                };
                if own.is_none() && !guest() {
                    return None;
                }
                let completed = own.is_some_and(|segment| ends.learns(&segment));
                self.hand(&packet, Side::Near);
                completed.then_some(flow)
            }
        }
    }

    /// Records the acknowledgment with this number when it reaches its sender.
    fn record(&mut self, Turn { flow, now }: Turn, number: u32, timeline: &mut Timeline<'_>) {
        let direction = Direction::Acknowledgment;
        let ends = &mut self.flows[flow].ends;
        let returned = Returned {
            flow,
            now,
            identity: ends.identify(number, direction),
            bytes: ends.acknowledgment_size(number, 0),
            header: ends.header(number, direction),
        };
        timeline
            .recorder
            .record_acknowledgment(returned, &self.flows);
    }

    // --- Connections ---

    /// Opens a connection for a transfer of `bytes` bytes, or without end if `None`.
    fn connect(&mut self, flow: ResponsiveId, bytes: Option<u64>) -> io::Result<()> {
        let (number, spec) = self.spec(flow);
        if self.sockets.is_empty() {
            self.sockets = self
                .namespaces
                .sockets(Side::Near, SocketKind::Tcp, SOCKETS_AT_ONCE)?;
        }
        let socket = self.sockets.pop();
        let socket = socket.ok_or_else(|| io::Error::other("no socket"))?;
        let packet = u64::from(self.flows[flow].transit.packet_bytes);
        let controller = controller_of(spec);
        tcp::set_congestion_control(&socket, controller, &[]).map_err(io::Error::other)?;
        tcp::set_segment_size(&socket, Bytes::new(packet))?;
        tcp::send_at_once(&socket)?;
        tcp::reset_on_close(&socket)?;
        let address = |side| self.namespaces.address(side, 0);
        let (Some(from), Some(to)) = (address(Side::Near), address(Side::Far)) else {
            return Err(io::Error::other("no address"));
        };
        let to = SocketAddrV4::new(to, FIRST_PORT + number as u16);
        let sender = Arc::new(tcp::Connection::connect(socket, Route { from, to })?);
        let near = sender.address()?;
        let near = (*near.ip(), near.port());
        self.owners.insert((near, to.port()), flow);
        let key = self.next_key;
        self.next_key += 1;
        self.applications.send(key, sender.clone(), bytes);
        let open = Open::new(key, sender, near);
        self.flows[flow].ends.open(open, bytes);
        Ok(())
    }

    fn disconnect(&mut self, flow: ResponsiveId) {
        if let Some(open) = self.flows[flow].ends.close() {
            self.applications.close(open.key);
        }
    }

    fn write_more(&self, flow: ResponsiveId, bytes: u64) {
        if let Some(key) = self.flows[flow].ends.key() {
            self.applications.write(key, bytes);
        }
    }
}

impl<'a> Hosts<'a> for SocketHosts<'a> {
    type Ends = SocketEnds;

    const SIMULATED: bool = false;

    fn flows(&self) -> &Flows<SocketEnds> {
        &self.flows
    }

    fn flows_mut(&mut self) -> &mut Flows<SocketEnds> {
        &mut self.flows
    }

    fn prepare(&mut self, _group: &Group<'a>, place: FlowPosition) -> Result<SocketEnds, Refusal> {
        let payload = u64::from(place.packet_bytes).saturating_sub(TCP_HEADERS.get());
        Ok(SocketEnds::new(payload.max(1)))
    }

    /// The delays of data and of acknowledgments. Acknowledgments are separate packets here. If
    /// they cross no link, they take half of the round trip.
    fn delays(
        &self,
        group: &Group<'a>,
        scenario: &Scenario,
        rtt: Time,
    ) -> Result<(Time, Time), Refusal> {
        let (there, back) = group.return_delays(scenario, rtt)?;
        if !group.spec.reverse.is_empty() {
            return Ok((there, back));
        }
        let half = Time::from_picos(there.as_picos() / 2);
        Ok((half, there - half))
    }

    fn join(&mut self, flow: ResponsiveId, _group: &Group<'a>, back: ReversePath) {
        let number = UnresponsiveId::new(self.flows.unresponsive.len());
        let joined = &mut self.flows[flow];
        joined.ends.acknowledgments = number;
        joined.ends.cross_links = back.route.is_some();
        joined.ends.delay_back = back.delay;
        let transit = Transit {
            group: joined.transit.group,
            route: back.route.unwrap_or_default(),
            // Each acknowledgment has its own size. The size here must only be positive, because
            // zero means that no acknowledgment returns.
            packet_bytes: 1,
            return_delay: back.delay,
            ..Transit::default()
        };
        self.flows.unresponsive.push(Unresponsive {
            transit,
            acks_of: Some(flow),
            ..Unresponsive::default()
        });
    }

    fn set_delays(&mut self, flow: ResponsiveId, (there, back): (Time, Time)) {
        let changed = &mut self.flows[flow];
        changed.transit.return_delay = there;
        changed.ends.delay_back = back;
        let acks = changed.ends.acknowledgments;
        self.flows[acks].transit.return_delay = back;
    }

    fn open(
        &mut self,
        turn: Turn,
        _group: &Group<'a>,
        opening: TransferStart,
    ) -> Result<(), Refusal> {
        self.disconnect(turn.flow);
        let ends = &self.flows[turn.flow].ends;
        let bytes = opening.packets.map(|packets| ends.bytes(packets));
        if let Err(error) = self.connect(turn.flow, bytes) {
            self.failure.get_or_insert(error);
        }
        Ok(())
    }

    fn begin(&mut self, turn: Turn, packets: u64) {
        let ends = &mut self.flows[turn.flow].ends;
        let bytes = ends.bytes(packets);
        ends.begin(bytes);
        self.write_more(turn.flow, bytes);
    }

    fn write(&mut self, turn: Turn, packets: u64) {
        let ends = &mut self.flows[turn.flow].ends;
        let bytes = ends.bytes(packets);
        ends.write(bytes);
        self.write_more(turn.flow, bytes);
    }

    fn backlog(&self, flow: ResponsiveId) -> u64 {
        self.flows[flow].ends.backlog()
    }

    fn stop(&mut self, turn: Turn) {
        self.disconnect(turn.flow);
    }

    /// The kernel sends on its own.
    fn send(&mut self, _: Turn, _: &mut Network, _: &mut Timeline<'_>) -> Completed {
        None
    }

    fn deliver(&mut self, event: Event, _: &mut Network, timeline: &mut Timeline<'_>) -> Completed {
        self.arrive(event, Mark::Absent, timeline)
    }

    fn deliver_marked(
        &mut self,
        event: Event,
        _: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        self.arrive(event, Mark::Present, timeline)
    }

    fn awake(
        &mut self,
        (kind, _): (Kind, Event),
        _: &mut Network,
        _: &mut Timeline<'_>,
    ) -> Completed {
        unreachable!("no host asks for {kind:?}")
    }
}
