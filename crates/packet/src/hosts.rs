//! Hosts: the ends of all connections. A delivery reaches a receiver, its acknowledgment the
//! sender, and whatever that may send goes through the flow's access link into the network.
//!
//! Where acknowledgments cross links, a receiver is between two paths ([`crate::reverse`]), and
//! half of the remaining round trip lies on each side of it. Elsewhere its acknowledgments return
//! over a constant delay, and it is a part of its sender ([`crate::connection`]).

mod header_trace;
mod remote_receiver;
#[cfg(test)]
mod tests;

use forebay_random::Purpose;
use forebay_scenario::{FlowGroup, Scenario, Stack};
use forebay_simulation::{
    Alarm, Calendar, Completed, Event, FlowId, FlowPosition, Flows, Group, HopNumber, Hosts,
    InFlight, Kind, Mark, Network, Refusal, ResponsiveId, ReversePath, Timeline, TransferStart,
    Transit, Turn, Unresponsive,
};
use forebay_units::Time;

use crate::connection::{Next, Reception, most_merged};
use crate::ends::{FlowStart, SimulatedEnds, SimulatedFlow, host_delay};
use crate::reverse::RemoteReceiver;

/// All senders and receivers, simulated.
#[derive(Debug)]
pub(crate) struct SimulatedHosts<'a> {
    scenario: &'a Scenario,
    pub(crate) flows: SimulatedFlows,
}

/// Flows whose ends are simulated.
pub(crate) type SimulatedFlows = Flows<SimulatedEnds>;

/// A packet that a sender sends: the low bits of its number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    turn: Turn,
    number: u32,
}

/// The sender's answer to an acknowledgment of the next packet in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The packet that it sends at once.
    pub(crate) packet: Option<InFlight>,
    /// Whether it may send no more, and its timer's event comes no later than it must.
    pub(crate) is_all: bool,
}

impl<'a> SimulatedHosts<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            flows: Flows::default(),
        }
    }

    fn spec(&self, flow: ResponsiveId) -> &'a FlowGroup {
        &self.scenario.flows()[self.flows[flow].transit.group.index()]
    }

    fn stack(&self, flow: ResponsiveId) -> &'a Stack {
        &self.spec(flow).stack
    }

    // --- A delivery ---

    /// The next packet of a flow in order arrives where nothing is missing or slows the sender
    /// down, and its acknowledgment reaches the sender, whose packets go straight to a link: what
    /// follows from that; none, and nothing is done, where it is not so. Nearly every packet comes
    /// this way.
    #[inline]
    pub(crate) fn deliver_in_order(&mut self, event: Event) -> Option<Answer> {
        let turn = Turn::of(event);
        let flow = self.flows.responsive.get_mut(turn.flow.index())?;
        let connection = &mut flow.ends.connection;
        if !flow.ends.direct || !connection.deliver_next(event.packet(), turn.now) {
            return None;
        }
        let (mut packet, mut more) = (None, false);
        if connection.has_room() {
            more = connection.window_allows(2);
            let number = connection.send_next(turn.now).packet as u32;
            packet = Some(set_out(turn, number, flow.transit.packet_bytes));
        }
        let is_all = !more && connection.waits_until(flow.ends.timer.horizon());
        Some(Answer { packet, is_all })
    }

    /// Goes on where an answer was not all: with more packets, straight to the first link, and the
    /// timer.
    #[cold]
    #[inline(never)]
    pub(crate) fn go_on_in_order(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        while self.flows[turn.flow].ends.connection.has_room() {
            self.send_direct(turn, network, timeline);
        }
        self.set_timer(turn, &mut timeline.calendar)
    }

    /// Sends the next packet in order straight to the first link.
    #[allow(clippy::inline_always, reason = "as in `Network::offer`")]
    #[inline(always)]
    fn send_direct(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        let flow = &mut self.flows[turn.flow];
        let number = flow.ends.connection.send_next(turn.now).packet as u32;
        let packet = set_out(turn, number, flow.transit.packet_bytes);
        network.offer(packet, &mut self.flows, timeline);
    }

    /// Any other delivery without a mark: of an acknowledgment that has crossed links to its
    /// sender, or of a packet to its receiver.
    #[inline]
    fn deliver_otherwise(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        match self.flows.of_number(event.flow()) {
            FlowId::Responsive(_) => self.receive(event, network, timeline),
            FlowId::Unresponsive(_) => self.deliver_ack(event, network, timeline),
        }
    }

    /// Any delivery: gaps, duplicates, marks, acknowledgments that are delayed or cross links.
    #[inline(never)]
    pub(crate) fn receive(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let turn = Turn::of(event);
        let flow = &mut self.flows[turn.flow];
        if flow.ends.special {
            return self.receive_slow_path(event, network, timeline);
        }
        let packet = flow.ends.connection.full_number(event.packet());
        if event.is_unmarked_delivery() && flow.ends.connection.deliver_beyond(packet, event.time) {
            return self.repair(turn, network, timeline);
        }
        let answer = if event.is_unmarked_delivery() {
            flow.ends.connection.deliver(packet, event.time)
        } else {
            flow.ends.connection.deliver_marked(packet, event.time)
        };
        match answer {
            Reception::Acknowledged => return self.send_allowed(turn, network, timeline),
            Reception::Delayed => {
                let due = flow.ends.connection.acknowledgment_due();
                flow.ends.arm_delayed_ack(turn, due, &mut timeline.calendar);
            }
            Reception::Stale => {}
        }
        None
    }

    /// A delayed acknowledgment is due.
    pub(crate) fn delayed_ack(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let flow = &mut self.flows[turn.flow];
        if !flow.ends.delayed_ack.rings(turn.now) {
            // An earlier one has taken this one's place.
            return None;
        }
        flow.ends.delayed_ack = Alarm::OFF;
        if flow.ends.receiver.is_some() {
            self.expire_remote(turn, network, timeline);
            return None;
        }
        let most = most_merged_of(flow, self.scenario);
        let mut completed = None;
        for segment in flow.ends.connection.take_gathered(turn.now, most) {
            // Each acknowledgment lets its sender send, also among others of one instant.
            let ends = &mut self.flows[turn.flow].ends;
            ends.note_arrivals(segment.iter().map(|held| held.arrival.packet));
            if ends.connection.deliver_merged(&segment, turn.now) == Reception::Acknowledged {
                self.record_ack(turn, timeline);
                completed = self.send_allowed(turn, network, timeline).or(completed);
            }
        }
        let connection = &mut self.flows[turn.flow].ends.connection;
        if connection
            .acknowledgment_due()
            .is_some_and(|due| due <= turn.now)
        {
            connection.acknowledge_delayed(turn.now);
            self.record_ack(turn, timeline);
            completed = self.send_allowed(turn, network, timeline).or(completed);
        }
        let flow = &mut self.flows[turn.flow];
        let due = flow.ends.connection.acknowledgment_due();
        flow.ends.arm_delayed_ack(turn, due, &mut timeline.calendar);
        completed
    }

    // --- Sending ---

    /// Sends whatever the windows of a flow allow.
    #[inline]
    pub(crate) fn send_allowed(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        match self.flows[turn.flow].ends.connection.quota() {
            Some(quota) => {
                for _ in 0..quota {
                    let connection = &mut self.flows[turn.flow].ends.connection;
                    let number = connection.send_next(turn.now).packet as u32;
                    self.transmit(Sent { turn, number }, network, timeline);
                }
            }
            None => self.send_one_by_one(turn, network, timeline),
        }
        self.set_timer(turn, &mut timeline.calendar)
    }

    /// The same where losses are under plain repair: an acknowledgment hardly ever lets two packets
    /// leave.
    #[inline]
    fn repair(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let flow = &mut self.flows[turn.flow];
        if let Some(transmission) = flow.ends.connection.repair(turn.now) {
            let number = transmission.packet as u32;
            self.transmit(Sent { turn, number }, network, timeline);
        }
        let flow = &self.flows[turn.flow];
        if flow.ends.connection.is_held()
            && flow.ends.connection.waits_until(flow.ends.timer.horizon())
        {
            return None;
        }
        self.send_allowed(turn, network, timeline)
    }

    /// The same during recovery, or where recorded packets or pacing decide.
    #[inline(never)]
    fn send_one_by_one(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        loop {
            let flow = &mut self.flows[turn.flow];
            match flow.ends.connection.next_to_send(turn.now) {
                Next::Send(transmission) => {
                    let number = transmission.packet as u32;
                    self.transmit(Sent { turn, number }, network, timeline);
                }
                Next::Pause(until) => {
                    if !flow.ends.pacing_armed {
                        flow.ends.pacing_armed = true;
                        let event = Event::of_flow(until, Kind::Pacing, turn.flow);
                        timeline.calendar.push_frequent(event);
                    }
                    break;
                }
                Next::Nothing => break,
            }
        }
    }

    /// A paced flow may send again.
    pub(crate) fn resume(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        self.flows[turn.flow].ends.pacing_armed = false;
        self.send_allowed(turn, network, timeline)
    }

    /// Hands a packet to the network: to the first link, or through the flow's access link.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn transmit(&mut self, sent: Sent, network: &mut Network, timeline: &mut Timeline<'_>) {
        let Sent { turn, number } = sent;
        let flow = &self.flows[turn.flow];
        if flow.ends.straight {
            let packet = set_out(turn, number, flow.size(number));
            network.offer(packet, &mut self.flows, timeline);
        } else if flow.ends.tcp_options.is_some() {
            self.transmit_recorded(sent, network, timeline);
        } else {
            self.flows[turn.flow].enter_access(
                turn.flow,
                (turn.now, number),
                &mut timeline.calendar,
            );
        }
    }

    // --- The retransmission timer ---

    /// After sending: the timer runs as long as something is outstanding.
    #[inline]
    pub(crate) fn set_timer(&mut self, turn: Turn, calendar: &mut Calendar) -> Completed {
        let flow = &mut self.flows[turn.flow];
        let Some(deadline) = flow.ends.connection.deadline() else {
            return flow.ends.connection.finished().then_some(turn.flow);
        };
        if flow.ends.timer.misses(deadline) {
            flow.ends.timer = Alarm::at(deadline);
            calendar.push(Event::of_flow(deadline, Kind::Timer, turn.flow));
        }
        None
    }

    /// The event of a retransmission timer.
    pub(crate) fn timer(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let flow = &mut self.flows[turn.flow];
        if !flow.ends.timer.rings(turn.now) {
            // A later deadline has taken this one's place, or an earlier one already served.
            return None;
        }
        flow.ends.timer = Alarm::OFF;
        let deadline = flow.ends.connection.deadline()?;
        if deadline > turn.now {
            flow.ends.timer = Alarm::at(deadline);
            let event = Event::of_flow(deadline, Kind::Timer, turn.flow);
            timeline.calendar.push(event);
            return None;
        }
        if flow.ends.connection.time_out(turn.now) {
            self.record_ack(turn, timeline);
        }
        self.send_allowed(turn, network, timeline)
    }
}

impl<'a> Hosts<'a> for SimulatedHosts<'a> {
    type Ends = SimulatedEnds;

    const SIMULATED: bool = true;

    #[inline]
    fn flows(&self) -> &SimulatedFlows {
        &self.flows
    }

    #[inline]
    fn flows_mut(&mut self) -> &mut SimulatedFlows {
        &mut self.flows
    }

    fn prepare(
        &mut self,
        group: &Group<'a>,
        place: FlowPosition,
    ) -> Result<SimulatedEnds, Refusal> {
        SimulatedEnds::new(group, place)
    }

    /// Gives a flow whose acknowledgments take a path a receiver between the two paths, which may
    /// be late.
    fn join(&mut self, of: ResponsiveId, group: &Group<'a>, back: ReversePath) {
        let part = group.reported_part(self.flows[of].transit.packet_bytes);
        if back.route.is_none() && part.is_none() {
            return;
        }
        let (route, delay) = (back.route.unwrap_or_default(), back.delay);
        let stack = self.stack(of);
        let packet_bytes = stack.syn().get() as u32;
        let policy = (stack.recovery, stack.acknowledgments());
        let number = self.flows.unresponsive.len() as u32;
        let flow = &mut self.flows[of];
        let late = host_delay(group, group.draws.key(flow.index, Purpose::Processing));
        (flow.ends.direct, flow.ends.special) = (false, true);
        flow.ends.receiver = Some(Box::new(RemoteReceiver::new((number, delay), policy, late)));
        if let (Some(part), Some(receiver)) = (part, &mut flow.ends.receiver) {
            receiver.report_parts(part);
        }
        let transit = Transit {
            group: flow.transit.group,
            route,
            packet_bytes,
            return_delay: delay,
            ..Transit::default()
        };
        self.flows.unresponsive.push(Unresponsive {
            transit,
            acks_of: Some(of),
            ..Unresponsive::default()
        });
    }

    fn set_delays(&mut self, flow: ResponsiveId, (there, back): (Time, Time)) {
        let flow = &mut self.flows.responsive[flow.index()];
        flow.transit.return_delay = there;
        if let Some(receiver) = &mut flow.ends.receiver {
            receiver.delay = back;
            let acks = &mut self.flows.unresponsive[receiver.acks().index()];
            acks.transit.return_delay = back;
        }
    }

    fn open(
        &mut self,
        turn: Turn,
        group: &Group<'a>,
        opening: TransferStart,
    ) -> Result<(), Refusal> {
        let flow = &mut self.flows[turn.flow];
        let begin = FlowStart {
            packets: opening.packets,
            packet_bytes: flow.transit.packet_bytes,
            random: group
                .draws
                .transfer_key(flow.index, opening.transfer, Purpose::Controller),
        };
        let ends = &mut flow.ends;
        ends.connection.open(begin.opening(group)?);
        if let Some(receiver) = &mut ends.receiver {
            receiver.restart(ends.connection.first());
        }
        ends.note_opening(group.spec, opening.packets);
        Ok(())
    }

    fn begin(&mut self, turn: Turn, packets: u64) {
        let ends = &mut self.flows[turn.flow].ends;
        ends.connection.begin(packets, turn.now);
    }

    fn write(&mut self, turn: Turn, packets: u64) {
        let ends = &mut self.flows[turn.flow].ends;
        ends.connection.write(packets, turn.now);
    }

    fn take_arrived_parts(&mut self, flow: ResponsiveId) -> u64 {
        let receiver = self.flows[flow].ends.receiver.as_mut();
        receiver.map_or(0, |receiver| receiver.take_parts())
    }

    fn backlog(&self, flow: ResponsiveId) -> u64 {
        self.flows[flow].ends.connection.backlog()
    }

    fn stop(&mut self, turn: Turn) {
        self.flows[turn.flow].ends.connection.stop();
    }

    #[inline]
    fn send(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        self.send_allowed(turn, network, timeline)
    }

    #[inline]
    fn deliver(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        match self.deliver_in_order(event) {
            Some(answer) => {
                if let Some(packet) = answer.packet {
                    network.offer(packet, &mut self.flows, timeline);
                }
                if answer.is_all {
                    return None;
                }
                self.go_on_in_order(Turn::of(event), network, timeline)
            }
            None => self.deliver_otherwise(event, network, timeline),
        }
    }

    fn deliver_marked(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        self.receive(event, network, timeline)
    }

    fn awake(
        &mut self,
        (kind, event): (Kind, Event),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let turn = Turn::of(event);
        match kind {
            Kind::Timer => self.timer(turn, network, timeline),
            Kind::DelayedAck => self.delayed_ack(turn, network, timeline),
            Kind::Pacing => self.resume(turn, network, timeline),
            _ => unreachable!("no host asks for {kind:?}"),
        }
    }
}

/// Packets that the network card of a flow's receiver merges at most.
fn most_merged_of(flow: &SimulatedFlow, scenario: &Scenario) -> usize {
    let header = scenario.flows()[flow.transit.group.index()].stack.header;
    most_merged(u64::from(flow.transit.packet_bytes), header.get())
}

/// The flow's packet with these low bits of its number sets out.
#[inline]
fn set_out(turn: Turn, number: u32, size: u32) -> InFlight {
    InFlight {
        arrival: turn.now,
        flow: FlowId::Responsive(turn.flow),
        number,
        size,
        hop: HopNumber::FIRST,
        mark: Mark::Absent,
    }
}
