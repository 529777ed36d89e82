//! The flows of a run: each as the network sees it, with its counts. Traffic, the network and the
//! hosts use them.

use forebay_discipline::Packet;
use forebay_scenario::FlowGroup;
use forebay_units::Time;

use crate::access::{AccessLink, Taken};
use crate::calendar::Calendar;
use crate::calendar::event::{AccessWait, Event, Mark};
use crate::ends::{Direction, Ends, Progress};
use crate::ids::{
    FlowId, FlowNumber, GroupId, HopNumber, LaneId, ResponsiveId, Route, UnresponsiveId,
};
use crate::prefetch::prefetch;
use crate::refusal::{Refusal, too_large, too_many_alive};

/// All flows.
#[derive(Debug)]
pub struct Flows<E> {
    /// Flows with congestion control.
    pub responsive: Vec<Flow<E>>,
    /// Flows without it, and acknowledgments that cross links.
    pub unresponsive: Vec<Unresponsive>,
}

/// A flow as the network sees it: its way, and what it has counted of it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Transit {
    /// Its group.
    pub group: GroupId,
    /// Its path.
    pub route: Route,
    /// Lane of its deliveries, where it is responsive.
    pub lane: LaneId,
    /// Bytes of a full packet, or of each acknowledgment; none where each packet's number is its
    /// size.
    pub packet_bytes: u32,
    /// From leaving the last link to the acknowledgment's arrival, or to that at the receiver, or
    /// where these are acknowledgments to the sender.
    pub return_delay: Time,
    /// Packets that have arrived at the target link.
    pub arrived: u64,
    /// Packets among them that were dropped there.
    pub dropped: u64,
    /// The last congestion event that hit it.
    pub seen_event: u64,
}

impl Transit {
    /// From the last link to the sender, where these are acknowledgments.
    #[inline]
    pub fn acknowledgment_delay(&self) -> Option<Time> {
        (self.packet_bytes > 0).then_some(self.return_delay)
    }
}

/// A responsive flow. The fields are in the order of need, in whole cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Flow<E> {
    /// How the network sees it.
    pub transit: Transit,
    /// Its sender and its receiver.
    pub ends: E,
    /// Whether it has stopped for good.
    pub stopped: bool,
    /// Packets lost before or behind the target link.
    pub drops_off_target: u64,
    /// Congestion events that hit it.
    pub congestion_events: u64,
    /// The link in front of its first one, where it has one of its own.
    pub access: Option<AccessLink>,
    /// Number within its group, for draws.
    pub index: u64,
    /// The transfer that it is at, or the one before.
    pub transfer: Transfer,
    /// Counts at the end of the warm-up.
    pub before: Counts,
}

/// The transfer that a flow is at, or the one before.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Its number among its user's, or its open-loop group's.
    pub number: u64,
    /// When it began; none where it is complete.
    pub since: Option<Time>,
    /// Whether it began with a new connection, not with one that the transfer before left open.
    pub opens: bool,
    /// Counts of the flow before the transfer.
    pub before: Losses,
}

/// The network's counts of a flow's packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Arrivals at the target link.
    pub arrived: u64,
    /// Drops there.
    pub dropped: u64,
    /// Drops at other links.
    pub elsewhere: u64,
}

/// When an event of a timer is due, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm(Time);

impl Alarm {
    /// No event is due.
    pub const OFF: Self = Self(Time::MAX);

    /// The event is due then.
    pub fn at(time: Time) -> Self {
        Self(time)
    }

    /// Whether the event at `now` is this one, and not one that another has replaced.
    pub fn rings(self, now: Time) -> bool {
        self.0 == now
    }

    /// Whether `deadline` comes before the event.
    #[inline]
    pub fn misses(self, deadline: Time) -> bool {
        deadline < self.0
    }

    /// The latest time that needs no event of its own: the time of the event, or the end of all
    /// time.
    #[inline]
    pub fn horizon(self) -> Time {
        self.0
    }
}

/// An unresponsive flow: only its counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unresponsive {
    /// How the network sees it.
    pub transit: Transit,
    /// The flow that these acknowledgments belong to, if they are any.
    pub acks_of: Option<ResponsiveId>,
    /// Packets and bytes that have arrived at its last link.
    pub last_hop_arrivals: Volume,
    /// Packets and bytes dropped there, of those that have arrived since the warm-up.
    pub last_hop_drops: Volume,
    /// Counts and bytes delivered at the end of the warm-up.
    pub before: (Counts, u64),
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    pub packets: u64,
    pub bytes: u64,
}

impl Volume {
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// The counts of one flow at the target link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub arrived: u64,
    pub dropped: u64,
    pub delivered: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Congestion events that hit it.
    pub events: u64,
}

impl Counts {
    pub fn since(self, earlier: Self) -> Self {
        Self {
            arrived: self.arrived - earlier.arrived,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            events: self.events - earlier.events,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.dropped += other.dropped;
        self.delivered += other.delivered;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.events += other.events;
    }
}

/// A packet in flight: what an event or a link knows of it.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// When it reaches its next link, or has reached the one where it waits.
    pub arrival: Time,
    /// The flow of the packet.
    pub flow: FlowId,
    /// Low bits of its number; the size of an unresponsive packet.
    pub number: u32,
    /// Bytes, headers included.
    pub size: u32,
    /// Its hop on its path.
    pub hop: HopNumber,
    /// Whether it carries a mark of congestion.
    pub mark: Mark,
}

/// The event of a packet that reaches this hop of its path, marked or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) event: Event,
    /// Its hop on its path.
    pub(crate) hop: HopNumber,
    pub(crate) mark: Mark,
}

impl Arriving {
    #[inline]
    pub(crate) fn packet(self, flow: FlowId, size: u32) -> InFlight {
        InFlight {
            arrival: self.event.time,
            flow,
            number: self.event.packet(),
            size,
            hop: self.hop,
            mark: self.mark,
        }
    }
}

impl<E> Default for Flows<E> {
    fn default() -> Self {
        Self {
            responsive: Vec::new(),
            unresponsive: Vec::new(),
        }
    }
}

impl<E: Ends> Flows<E> {
    /// The flow that an event is about.
    #[inline]
    pub fn of_number(&self, number: FlowNumber) -> FlowId {
        number.flow(self.responsive.len())
    }

    /// How the network sees a flow.
    #[inline]
    pub fn transit(&self, flow: FlowId) -> &Transit {
        match flow {
            FlowId::Responsive(flow) => &self[flow].transit,
            FlowId::Unresponsive(flow) => &self[flow].transit,
        }
    }

    /// The same, to count.
    #[inline]
    pub fn transit_mut(&mut self, flow: FlowId) -> &mut Transit {
        match flow {
            FlowId::Responsive(flow) => &mut self[flow].transit,
            FlowId::Unresponsive(flow) => &mut self[flow].transit,
        }
    }

    /// Refuses more flows than flow numbers suffice for, and more than the allowed memory has room
    /// for. The error names the group that a flow was added to.
    pub fn check_count(&self, most: usize, group: &str) -> Result<(), Refusal> {
        if !FlowNumber::suffice_for(self.responsive.len(), self.unresponsive.len()) {
            return Err(too_large(
                "there are more than 16 million simultaneous flows",
            ));
        }
        if self.responsive.len() > most {
            return Err(too_many_alive(group, most));
        }
        Ok(())
    }

    /// Has fetched what the next events need of their flows.
    pub fn prefetch(&self, events: &[Event]) {
        for event in events {
            if let Some(flow) = self.responsive.get(event.flow().responsive().index()) {
                flow.prefetch();
            }
        }
    }

    /// Bytes of the packet of this flow with this number.
    pub fn size(&self, flow: FlowId, number: u32) -> u32 {
        match flow {
            FlowId::Responsive(flow) => self[flow].size(number),
            FlowId::Unresponsive(flow) => match self[flow].acks_of {
                Some(of) => {
                    let full = self[flow].transit.packet_bytes;
                    self[of].ends.acknowledgment_size(number, full)
                }
                None => number,
            },
        }
    }

    /// The transfer that a flow is at, or whose acknowledgments it has.
    pub(crate) fn transfer(&self, flow: FlowId) -> Option<&Transfer> {
        let flow = match flow {
            FlowId::Responsive(flow) => flow,
            FlowId::Unresponsive(flow) => self[flow].acks_of?,
        };
        Some(&self[flow].transfer)
    }

    /// A packet of an unresponsive flow sets out.
    #[inline]
    pub fn set_out(&self, flow: UnresponsiveId, number: u32, now: Time) -> InFlight {
        let flow = FlowId::Unresponsive(flow);
        InFlight {
            arrival: now,
            flow,
            number,
            size: self.size(flow, number),
            hop: HopNumber::FIRST,
            mark: Mark::Absent,
        }
    }

    /// The warm-up ends: what was counted until then does not count.
    pub fn finish_warmup(&mut self) {
        for flow in &mut self.responsive {
            flow.before = flow.counts();
        }
        for flow in &mut self.unresponsive {
            flow.before = (flow.counts(), flow.bytes_delivered());
        }
    }
}

impl InFlight {
    /// The packet that a discipline has held.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self {
            arrival: packet.arrival,
            flow: FlowId::of_key(packet.flow),
            number: packet.number,
            size: packet.size,
            hop: HopNumber::new(packet.hop()),
            mark: Mark::of(packet.marked()),
        }
    }
}

impl<E> std::ops::Index<ResponsiveId> for Flows<E> {
    type Output = Flow<E>;

    #[inline]
    fn index(&self, flow: ResponsiveId) -> &Flow<E> {
        &self.responsive[flow.index()]
    }
}

impl<E> std::ops::IndexMut<ResponsiveId> for Flows<E> {
    #[inline]
    fn index_mut(&mut self, flow: ResponsiveId) -> &mut Flow<E> {
        &mut self.responsive[flow.index()]
    }
}

impl<E> std::ops::Index<UnresponsiveId> for Flows<E> {
    type Output = Unresponsive;

    #[inline]
    fn index(&self, flow: UnresponsiveId) -> &Unresponsive {
        &self.unresponsive[flow.index()]
    }
}

impl<E> std::ops::IndexMut<UnresponsiveId> for Flows<E> {
    #[inline]
    fn index_mut(&mut self, flow: UnresponsiveId) -> &mut Unresponsive {
        &mut self.unresponsive[flow.index()]
    }
}

impl<E: Ends> Flow<E> {
    /// Number `index` of a group, which has not started.
    pub fn new(ends: E, (group, index): (&FlowGroup, u64), transit: Transit) -> Self {
        // One that joins after the warm-up has delivered nothing either: packets count from 1.
        let before = Counts {
            delivered: ends.progress().delivered,
            ..Counts::default()
        };
        Self {
            access: AccessLink::new(group, transit.packet_bytes),
            transit,
            ends,
            stopped: false,
            drops_off_target: 0,
            congestion_events: 0,
            index,
            transfer: Transfer {
                number: 0,
                since: Some(Time::ZERO),
                opens: true,
                before: Losses::default(),
            },
            before,
        }
    }

    /// Bytes of the packet with these low bits of its number.
    #[inline]
    pub fn size(&self, number: u32) -> u32 {
        self.ends.size(number, self.transit.packet_bytes)
    }

    /// Its packet with these low bits of its number comes to its access link, whence it goes on to
    /// the first link or, where no place is left, nowhere; nothing happens where it has none. `me`
    /// is its own number.
    pub fn enter_access(
        &mut self,
        me: ResponsiveId,
        (now, number): (Time, u32),
        calendar: &mut Calendar,
    ) {
        let size = self.size(number);
        let Some(access) = &mut self.access else {
            return;
        };
        match access.take((now, number, size), &mut calendar.waiting) {
            Taken::Sent(time, wait) => {
                calendar.push_access(access.lane, Event::access(time, me, number, wait));
            }
            Taken::Waits => {}
            Taken::Lost => {
                self.drops_off_target += 1;
                self.ends.lose(number, Direction::Data);
            }
        }
    }

    /// A packet of it has left its access link: the one that waits behind it, if there is one, is
    /// transmitted. `me` is its own number.
    #[inline]
    pub(crate) fn leave_access(&mut self, me: ResponsiveId, now: Time, calendar: &mut Calendar) {
        if let Some(access) = &mut self.access {
            let next = access.next(now, &mut calendar.waiting);
            push_waiting((me, access.lane), next, calendar);
        }
    }

    /// A pause of its host begins or ends. Says whether a packet leaves that the pause held.
    pub(crate) fn pause(
        &mut self,
        me: ResponsiveId,
        (begins, now): (bool, Time),
        calendar: &mut Calendar,
    ) -> bool {
        let Some(access) = &mut self.access else {
            return false;
        };
        let next = access.pause(begins, now, &mut calendar.waiting);
        push_waiting((me, access.lane), next, calendar);
        next.is_some()
    }

    /// Its round trip without the delays between links.
    pub fn trip(&self) -> Time {
        self.transit.return_delay + self.ends.delay_back()
    }

    /// Has everything that a delivery may need fetched.
    #[inline]
    fn prefetch(&self) {
        prefetch(&self.transit);
        self.ends.prefetch();
    }

    /// The network's counts so far.
    pub fn losses(&self) -> Losses {
        Losses {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            elsewhere: self.drops_off_target,
        }
    }

    /// The same of its current transfer.
    pub fn transfer_losses(&self) -> Losses {
        let (now, before) = (self.losses(), self.transfer.before);
        Losses {
            arrived: now.arrived - before.arrived,
            dropped: now.dropped - before.dropped,
            elsewhere: now.elsewhere - before.elsewhere,
        }
    }

    /// Its counts so far.
    pub fn counts(&self) -> Counts {
        let Progress {
            delivered,
            retransmissions,
            timeouts,
        } = self.ends.progress();
        Counts {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            delivered,
            retransmissions,
            timeouts,
            events: self.congestion_events,
        }
    }
}

/// Adds the end of the transmission of a packet that has waited at the access link of flow `me`.
#[inline]
fn push_waiting(
    (me, lane): (ResponsiveId, Option<LaneId>),
    packet: Option<(Time, u32)>,
    calendar: &mut Calendar,
) {
    if let Some((time, number)) = packet {
        let event = Event::access(time, me, number, AccessWait::BehindOthers);
        calendar.push_access(lane, event);
    }
}

impl Unresponsive {
    /// Its counts so far. Its packets are not acknowledged: they are delivered when their last link
    /// takes them in and does not drop them later.
    pub fn counts(&self) -> Counts {
        Counts {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            delivered: self.last_hop_arrivals.packets - self.last_hop_drops.packets,
            ..Counts::default()
        }
    }

    /// Bytes of the packets that were delivered.
    pub fn bytes_delivered(&self) -> u64 {
        self.last_hop_arrivals.bytes - self.last_hop_drops.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_that_is_off_misses_every_deadline_and_never_rings() {
        let at = Alarm::at(Time::from_secs(1));
        assert!(Alarm::OFF.misses(Time::from_secs(9)) && !Alarm::OFF.rings(Time::from_secs(9)));
        assert!(at.rings(Time::from_secs(1)) && !at.misses(Time::from_secs(1)));
    }
}
