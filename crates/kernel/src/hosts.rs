//! The hosts: senders in the near namespace, receivers in the far one. What their kernels send into
//! their devices goes into the network, and what comes out of that is written into the device of the other.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use forebay_scenario::{FlowGroup, Scenario};
use forebay_simulation::{
    Completed, Direction, Ends, Event, FlowId, Flows, Group, GroupId, HopNumber, Hosts, InFlight,
    Kind, Mark, Network, Opening, Place, Refusal, ResponsiveId, Returned, Timeline, Transit, Turn,
    Unresponsive, UnresponsiveId, WayBack,
};
use forebay_units::{Bytes, Time};

use crate::applications::Applications;
use crate::clock::Clock;
use crate::device::{Device, Written};
use crate::ends::{Limits, Open, SocketEnds};
use crate::guests::Guests;
use crate::lateness::Lateness;
use crate::namespaces::{Kind as SocketKind, Namespaces};
use crate::side::Side;
use crate::tcp::{self, Route};
use crate::translation::{FIRST_PORT, TCP_HEADERS, controller_of};
use crate::wire::{Segment, Stray, mark};

/// Sockets that are asked for at once.
const SOCKETS_AT_ONCE: usize = 64;

/// Sockets that are made beforehand at most.
const MOST_SOCKETS: usize = 2048;

/// Persistent flows that are inspected at a time.
const FLOWS_PER_LOOK: usize = 16;

/// All hosts.
#[derive(Debug)]
pub(crate) struct SocketHosts<'a> {
    scenario: &'a Scenario,
    namespaces: &'a Namespaces,
    applications: Applications,
    flows: Flows<SocketEnds>,
    /// Whose connection begins at an address and port of the near namespace and ends at a port of the far
    /// one: a near port serves connections to several.
    owners: BTreeMap<((Ipv4Addr, u16), u16), ResponsiveId>,
    /// Flows for the packets of programs, where there are any.
    guests: Option<Guests>,
    /// Sockets that nobody has yet.
    sockets: Vec<OwnedFd>,
    next_key: u64,
    /// The flow that was inspected last.
    turn: usize,
    pub(crate) clock: Clock,
    pub(crate) lateness: Lateness,
    /// How late the event is that the event loop hands over.
    pub(crate) late: Time,
    pub(crate) strays: Strays,
    /// The first error of the operating system: nothing behind it is to be believed.
    failure: Option<io::Error>,
}

/// Whose packet one is.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// Of a connection that was opened here.
    Connection(ResponsiveId, Segment),
    /// Of a program that runs in the namespaces.
    Guest(ResponsiveId),
}

/// Packets that were not carried, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    pub(crate) malformed: u64,
    pub(crate) fragments: u64,
    pub(crate) other_protocols: u64,
    /// Of a connection that nobody here has opened.
    pub(crate) of_nobody: u64,
    /// For which a device had no room.
    pub(crate) device_full: u64,
    /// Of a flow of which more were on their way than are kept.
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
            guests: None,
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

    /// From now on packets of programs are carried as if they were of this group's flows.
    pub(crate) fn welcome(&mut self, group: GroupId) {
        self.guests = Some(Guests::of(group, &self.flows));
    }

    /// Why the run cannot go on, if it cannot.
    pub(crate) fn failure(&mut self) -> Option<io::Error> {
        self.failure.take().or_else(|| self.applications.failure())
    }

    fn spec(&self, flow: ResponsiveId) -> (usize, &'a FlowGroup) {
        let group = self.flows[flow].transit.group.index();
        (group, &self.scenario.flows()[group])
    }

    // --- Whether the senders are held back by anything but the path ---

    /// Looks at a few of the persistent flows, behind the warm-up.
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

    /// The longest that the receiver's window has held a persistent flow back, and how many of them were
    /// seen with nothing left to send.
    pub(crate) fn limits(&mut self) -> (Time, u64) {
        for flow in 0..self.flows.responsive.len() {
            self.inspect_flow(ResponsiveId::new(flow));
        }
        let limits = self.flows.responsive.iter().map(|flow| &flow.ends.limits);
        let longest = limits.clone().map(Limits::by_window).max();
        let starved = limits.filter(|limits| limits.starved).count();
        (longest.unwrap_or_default(), starved as u64)
    }

    // --- From the devices ---

    /// The near namespace has sent a packet at `now`.
    pub(crate) fn receive_near(
        &mut self,
        (packet, now): (&[u8], Time),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = match self.recognize(packet, Side::Near) {
            Some(Whose::Connection(flow, segment)) => {
                let ends = &mut self.flows[flow].ends;
                if segment.rst() || !ends.has(&segment) {
                    // A sender whose transfer is over, or that has stopped, cuts its receiver off:
                    // nothing of it is the link's to carry.
                    self.hand(packet, Side::Far);
                    return;
                }
                ends.sends(&segment, now);
                flow
            }
            Some(Whose::Guest(flow)) => flow,
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

    /// The far namespace has sent a packet at `now`.
    pub(crate) fn receive_far(
        &mut self,
        (packet, now): (&[u8], Time),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = match self.recognize(packet, Side::Far) {
            Some(Whose::Connection(flow, segment)) => {
                let ends = &mut self.flows[flow].ends;
                if !ends.has(&segment) {
                    // To a sender that is gone.
                    return;
                }
                ends.answers(&segment);
                flow
            }
            Some(Whose::Guest(flow)) => flow,
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

    /// Whose packet it is; a stray is counted.
    fn recognize(&mut self, packet: &[u8], from: Side) -> Option<Whose> {
        let read = Segment::read(packet, from);
        if let Ok(segment) = read
            && let Some(&flow) = self.owners.get(&(segment.near, segment.far))
        {
            return Some(Whose::Connection(flow, segment));
        }
        if let Some(guests) = &self.guests
            && let Some(flow) = guests.flow(packet, from)
        {
            return Some(Whose::Guest(flow));
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

    // --- Into the devices ---

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

    /// A packet reaches its receiver, or an acknowledgment its sender.
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
                let guest = || self.guests.as_ref().is_some_and(|all| all.have(flow));
                if own.is_none() && !guest() {
                    return None;
                }
                let completed = own.is_some_and(|segment| ends.learns(&segment));
                self.hand(&packet, Side::Near);
                completed.then_some(flow)
            }
        }
    }

    /// The acknowledgment with this number, which reaches its sender, is recorded.
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

    /// Opens a connection for a transfer of so many bytes.
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
        tcp::cut_off_when_closed(&socket)?;
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

    fn flows(&self) -> &Flows<SocketEnds> {
        &self.flows
    }

    fn flows_mut(&mut self) -> &mut Flows<SocketEnds> {
        &mut self.flows
    }

    fn prepare(&mut self, _group: &Group<'a>, place: Place) -> Result<SocketEnds, Refusal> {
        let payload = u64::from(place.packet_bytes).saturating_sub(TCP_HEADERS.get());
        Ok(SocketEnds::new(payload.max(1)))
    }

    /// Acknowledgments are packets of their own here: where they cross no link, half of the round trip
    /// is theirs.
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

    fn join(&mut self, flow: ResponsiveId, _group: &Group<'a>, back: WayBack) {
        let number = UnresponsiveId::new(self.flows.unresponsive.len());
        let joined = &mut self.flows[flow];
        joined.ends.acknowledgments = number;
        joined.ends.cross_links = back.route.is_some();
        joined.ends.delay_back = back.delay;
        let transit = Transit {
            group: joined.transit.group,
            route: back.route.unwrap_or_default(),
            // Each has its own size; with none at all nobody would wait for them.
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

    fn open(&mut self, turn: Turn, _group: &Group<'a>, opening: Opening) -> Result<(), Refusal> {
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

    /// The kernel sends by itself.
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
