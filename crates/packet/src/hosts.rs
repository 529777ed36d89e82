//! Hosts: the ends of all connections. A delivery reaches a receiver, its acknowledgment the sender,
//! and whatever that may send goes through the flow's access link into the network.
//!
//! Where acknowledgments cross links, a receiver stands between two paths ([`crate::reverse`]) and
//! half of what is left of the round trip lies on each side of it; elsewhere its acknowledgments
//! return over a constant delay and it lives in its sender ([`crate::connection`]).

#[cfg(test)]
mod tests;

use forebay_scenario::{FlowGroup, Scenario, Stack};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::connection::{Held, Lateness, Next, Reception, Reply, most_merged};
use crate::event::{Event, Kind, Mark};
use crate::flow::{Alarm, Flow, Flows, InFlight, Transit, Unresponsive};
use crate::ids::{FlowId, HopNumber, ResponsiveId, Route};
use crate::network::Network;
use crate::reverse::RemoteReceiver;
use crate::timeline::Timeline;

/// All senders and receivers.
#[derive(Debug)]
pub(crate) struct Hosts<'a> {
    scenario: &'a Scenario,
    pub(crate) flows: Flows,
}

/// A flow that may act, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) flow: ResponsiveId,
    pub(crate) now: Time,
}

impl Turn {
    /// Of an event that concerns a responsive flow.
    #[inline]
    pub(crate) fn of(event: Event) -> Self {
        Self {
            flow: event.flow().responsive(),
            now: event.time,
        }
    }
}

/// A packet that a sender sends: the low bits of its number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    turn: Turn,
    number: u32,
}

/// What a sender does about an acknowledgment of the next packet in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The packet that it sends at once.
    pub(crate) packet: Option<InFlight>,
    /// Whether it may send no more, and its timer's event comes no later than it must.
    pub(crate) is_all: bool,
}

/// The flow whose transfer is complete, where one is.
pub(crate) type Completed = Option<ResponsiveId>;

impl<'a> Hosts<'a> {
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

    /// Adds a flow.
    pub(crate) fn add(&mut self, flow: Flow) -> ResponsiveId {
        self.flows.responsive.push(flow);
        ResponsiveId::new(self.flows.responsive.len() - 1)
    }

    // --- A delivery ---

    /// The next packet of a flow in order arrives where nothing is missing or slows the sender down,
    /// and its acknowledgment reaches the sender, whose packets go straight to a link: what follows
    /// from that; none, and nothing is done, where it is not so. Nearly every packet comes this way.
    #[inline]
    pub(crate) fn deliver_in_order(&mut self, event: Event) -> Option<Answer> {
        let turn = Turn::of(event);
        let flow = self.flows.responsive.get_mut(turn.flow.index())?;
        let connection = &mut flow.connection;
        if !flow.direct || !connection.deliver_next(event.packet(), turn.now) {
            return None;
        }
        let (mut packet, mut more) = (None, false);
        if connection.has_room() {
            more = connection.window_allows(2);
            let number = connection.send_next(turn.now).packet as u32;
            packet = Some(turn.packet(number, flow.transit.packet_bytes));
        }
        let is_all = !more && connection.waits_until(flow.timer.horizon());
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
        while self.flows[turn.flow].connection.has_room() {
            self.send_direct(turn, network, timeline);
        }
        self.set_timer(turn, &mut timeline.calendar)
    }

    /// Sends the next packet in order straight to the first link.
    #[allow(clippy::inline_always, reason = "as in `Network::offer`")]
    #[inline(always)]
    fn send_direct(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        let flow = &mut self.flows[turn.flow];
        let number = flow.connection.send_next(turn.now).packet as u32;
        let packet = turn.packet(number, flow.transit.packet_bytes);
        network.offer(packet, &mut self.flows, timeline);
    }

    /// Any other delivery without a mark: of an acknowledgment that has crossed links to its sender,
    /// or of a packet to its receiver.
    #[inline]
    pub(crate) fn deliver(
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
        if flow.receiver.is_some() {
            self.receive_apart(event, network, timeline);
            return None;
        }
        let packet = flow.connection.full_number(event.packet());
        if event.is_unmarked_delivery() && flow.connection.deliver_beyond(packet, event.time) {
            return self.repair(turn, network, timeline);
        }
        let answer = if event.is_unmarked_delivery() {
            flow.connection.deliver(packet, event.time)
        } else {
            flow.connection.deliver_marked(packet, event.time)
        };
        match answer {
            Reception::Acknowledged => return self.send(turn, network, timeline),
            Reception::Delayed => {
                let due = flow.connection.acknowledgment_due();
                flow.arm_delayed_ack(turn, due, &mut timeline.calendar);
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
        if !flow.delayed_ack.rings(turn.now) {
            // An earlier one has taken this one's place.
            return None;
        }
        flow.delayed_ack = Alarm::OFF;
        if flow.receiver.is_some() {
            self.expire_apart(turn, network, timeline);
            return None;
        }
        let most = flow.most_merged(self.scenario);
        let mut completed = None;
        for segment in flow.connection.take_gathered(turn.now, most) {
            // Each acknowledgment lets its sender send, also among others of one instant.
            let connection = &mut self.flows[turn.flow].connection;
            if connection.deliver_merged(&segment, turn.now) == Reception::Acknowledged {
                completed = self.send(turn, network, timeline).or(completed);
            }
        }
        let connection = &mut self.flows[turn.flow].connection;
        if connection
            .acknowledgment_due()
            .is_some_and(|due| due <= turn.now)
        {
            connection.acknowledge_delayed(turn.now);
            completed = self.send(turn, network, timeline).or(completed);
        }
        let flow = &mut self.flows[turn.flow];
        let due = flow.connection.acknowledgment_due();
        flow.arm_delayed_ack(turn, due, &mut timeline.calendar);
        completed
    }

    // --- Sending ---

    /// Sends whatever the windows of a flow allow.
    #[inline]
    pub(crate) fn send(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        match self.flows[turn.flow].connection.quota() {
            Some(quota) => {
                for _ in 0..quota {
                    let connection = &mut self.flows[turn.flow].connection;
                    let number = connection.send_next(turn.now).packet as u32;
                    self.transmit(Sent { turn, number }, network, timeline);
                }
            }
            None => self.send_one_by_one(turn, network, timeline),
        }
        self.set_timer(turn, &mut timeline.calendar)
    }

    /// The same where losses are under plain repair: an acknowledgment hardly ever lets two packets leave.
    #[inline]
    fn repair(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let flow = &mut self.flows[turn.flow];
        if let Some(transmission) = flow.connection.repair(turn.now) {
            let number = transmission.packet as u32;
            self.transmit(Sent { turn, number }, network, timeline);
        }
        let flow = &self.flows[turn.flow];
        if flow.connection.is_held() && flow.connection.waits_until(flow.timer.horizon()) {
            return None;
        }
        self.send(turn, network, timeline)
    }

    /// The same during recovery, or where a ledger or pacing has a say.
    #[inline(never)]
    fn send_one_by_one(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        loop {
            let flow = &mut self.flows[turn.flow];
            match flow.connection.next_to_send(turn.now) {
                Next::Send(transmission) => {
                    let number = transmission.packet as u32;
                    self.transmit(Sent { turn, number }, network, timeline);
                }
                Next::Pause(until) => {
                    if !flow.pacing_armed {
                        flow.pacing_armed = true;
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
        self.flows[turn.flow].pacing_armed = false;
        self.send(turn, network, timeline)
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
        if flow.access.is_none() {
            let packet = turn.packet(number, flow.size(number));
            network.offer(packet, &mut self.flows, timeline);
        } else {
            self.transmit_through_access(turn, number, &mut timeline.calendar);
        }
    }

    #[inline(never)]
    fn transmit_through_access(&mut self, turn: Turn, number: u32, calendar: &mut Calendar) {
        let flow = &mut self.flows[turn.flow];
        let size = flow.size(number);
        let Some(access) = &mut flow.access else {
            return;
        };
        let Some((time, wait)) = access.enqueue(turn.now, size) else {
            flow.lost_elsewhere += 1;
            return;
        };
        let event = Event::access(time, turn.flow, number, wait);
        match access.lane {
            Some(lane) => calendar.push_delivery(lane, event),
            None => calendar.push_frequent(event),
        }
    }

    // --- The retransmission timer ---

    /// After sending: the timer runs as long as something is outstanding.
    #[inline]
    pub(crate) fn set_timer(&mut self, turn: Turn, calendar: &mut Calendar) -> Completed {
        let flow = &mut self.flows[turn.flow];
        let Some(deadline) = flow.connection.deadline() else {
            return flow.connection.finished().then_some(turn.flow);
        };
        if flow.timer.misses(deadline) {
            flow.timer = Alarm::at(deadline);
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
        if !flow.timer.rings(turn.now) {
            // A later deadline has taken this one's place, or an earlier one already served.
            return None;
        }
        flow.timer = Alarm::OFF;
        let deadline = flow.connection.deadline()?;
        if deadline > turn.now {
            flow.timer = Alarm::at(deadline);
            let event = Event::of_flow(deadline, Kind::Timer, turn.flow);
            timeline.calendar.push(event);
            return None;
        }
        flow.connection.time_out(turn.now);
        self.send(turn, network, timeline)
    }

    // --- Receivers whose acknowledgments cross links ---

    /// Gives a flow a receiver whose acknowledgments take this path and then `delay` to the
    /// sender, and which may be late.
    pub(crate) fn attach_receiver(
        &mut self,
        flow: ResponsiveId,
        (route, delay): (Route, Time),
        late: Option<Lateness>,
    ) {
        let stack = self.stack(flow);
        let (packet_bytes, delayed_ack) = (stack.syn().get() as u32, stack.acknowledgments());
        let (number, of) = (self.flows.unresponsive.len() as u32, flow);
        let flow = &mut self.flows[of];
        flow.direct = false;
        flow.receiver = Some(Box::new(RemoteReceiver::new(
            number,
            delay,
            delayed_ack,
            late,
        )));
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

    /// The round trip of a flow changes: what is left of it behind the last link, and behind the last
    /// link of its acknowledgments where they take a path.
    pub(crate) fn set_delays(&mut self, flow: ResponsiveId, (there, back): (Time, Time)) {
        let flow = &mut self.flows.responsive[flow.index()];
        flow.transit.return_delay = there;
        if let Some(receiver) = &mut flow.receiver {
            receiver.delay = back;
            let acks = &mut self.flows.unresponsive[receiver.acks().index()];
            acks.transit.return_delay = back;
        }
    }

    /// A data packet reaches such a receiver.
    fn receive_apart(&mut self, event: Event, network: &mut Network, timeline: &mut Timeline<'_>) {
        let turn = Turn::of(event);
        let flow = &mut self.flows[turn.flow];
        let Flow {
            connection,
            receiver: Some(receiver),
            ..
        } = flow
        else {
            return;
        };
        let packet = connection.full_number(event.packet());
        if packet < connection.first() {
            // Of an earlier transfer.
            return;
        }
        let (arrival, marked) = (
            connection.arrival(packet, turn.now),
            !event.is_unmarked_delivery(),
        );
        if receiver.gathers() && !connection.is_syn(packet) {
            receiver.gather(Held { arrival, marked });
            let due = receiver.acknowledgment_due();
            flow.arm_delayed_ack(turn, due, &mut timeline.calendar);
            return;
        }
        let waits = receiver.receive(Held { arrival, marked }) == Reply::Later;
        if !waits || connection.is_syn(packet) {
            self.acknowledge(turn, network, timeline);
        } else {
            let due = receiver.acknowledgment_due();
            flow.arm_delayed_ack(turn, due, &mut timeline.calendar);
        }
    }

    /// Such a receiver's timer for delayed acknowledgments expires.
    fn expire_apart(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        let flow = &mut self.flows[turn.flow];
        let most = flow.most_merged(self.scenario);
        let receiver = flow.receiver.as_mut();
        let gathered =
            receiver.map_or_else(Vec::new, |receiver| receiver.take_gathered(turn.now, most));
        for segment in gathered {
            let receiver = self.flows[turn.flow].receiver.as_mut();
            let reply = receiver.map(|receiver| receiver.receive_merged(&segment));
            if reply.is_some_and(|reply| reply != Reply::Later) {
                self.acknowledge(turn, network, timeline);
            }
        }
        let due = |flow: &Flow| flow.receiver.as_ref()?.acknowledgment_due();
        if due(&self.flows[turn.flow]).is_some_and(|due| due <= turn.now) {
            self.acknowledge(turn, network, timeline);
        }
        let flow = &mut self.flows[turn.flow];
        flow.arm_delayed_ack(turn, due(flow), &mut timeline.calendar);
    }

    /// An acknowledgment sets out.
    fn acknowledge(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>) {
        let Some(receiver) = &mut self.flows[turn.flow].receiver else {
            return;
        };
        let (flow, number) = (receiver.acks(), receiver.set_out());
        let packet = self.flows[flow].packet(flow, number, turn.now);
        network.offer(packet, &mut self.flows, timeline);
    }

    /// An acknowledgment reaches its sender, with what it and those lost before it announce. Other
    /// unresponsive packets arrive nowhere.
    fn deliver_ack(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let (now, number) = (event.time, event.packet());
        let flow = self.flows[event.flow().unresponsive()].acks_of?;
        let Flow {
            connection,
            receiver: Some(receiver),
            ..
        } = &mut self.flows[flow]
        else {
            return None;
        };
        while let Some((packet, mark)) = receiver.next_announced(number) {
            let packet = connection.full_number(packet);
            match mark {
                Mark::Absent => connection.deliver(packet, now),
                Mark::Present => connection.deliver_marked(packet, now),
            };
        }
        self.send(Turn { flow, now }, network, timeline)
    }
}

impl Flow {
    /// Packets that its receiver's card merges at most.
    fn most_merged(&self, scenario: &Scenario) -> usize {
        let header = scenario.flows()[self.transit.group.index()].stack.header;
        most_merged(u64::from(self.transit.packet_bytes), header.get())
    }

    /// The receiver waits before it acknowledges, until then at most.
    fn arm_delayed_ack(&mut self, turn: Turn, due: Option<Time>, calendar: &mut Calendar) {
        if let Some(due) = due.filter(|due| self.delayed_ack.misses(*due)) {
            self.delayed_ack = Alarm::at(due);
            calendar.push(Event::of_flow(due, Kind::DelayedAck, turn.flow));
        }
    }
}

impl Turn {
    /// The flow's packet with these low bits of its number sets out.
    #[inline]
    fn packet(self, number: u32, size: u32) -> InFlight {
        InFlight {
            arrival: self.now,
            flow: FlowId::Responsive(self.flow),
            number,
            size,
            hop: HopNumber::FIRST,
            mark: Mark::Absent,
        }
    }
}
