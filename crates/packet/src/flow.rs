//! Flows as the simulation keeps them: how the network sees each of them, and what it counts.

use forebay_discipline::Packet;
use forebay_scenario::EngineError;
use forebay_units::Time;

use crate::access::AccessLink;
use crate::connection::Connection;
use crate::event::{Event, Mark};
use crate::ids::{
    FlowId, FlowNumber, GroupId, HopNumber, LaneId, ResponsiveId, Route, UnresponsiveId,
};
use crate::prefetch::prefetch;
use crate::refusal::{too_large, too_many_alive};
use crate::reverse::RemoteReceiver;

/// All flows.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(crate) responsive: Vec<Flow>,
    pub(crate) unresponsive: Vec<Unresponsive>,
}

/// A flow as the network sees it: its way, and what it has counted of it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Transit {
    pub(crate) group: GroupId,
    /// Its path.
    pub(crate) route: Route,
    /// Lane of its deliveries, where it is responsive.
    pub(crate) lane: LaneId,
    /// Bytes of a full packet, or of each acknowledgment; none where each packet's number is its
    /// size.
    pub(crate) packet_bytes: u32,
    /// From leaving the last link to the acknowledgment's arrival, or to that at the receiver, or
    /// where these are acknowledgments to the sender.
    pub(crate) return_delay: Time,
    /// Packets that have arrived at the target link.
    pub(crate) arrived: u64,
    /// Of them those that were dropped there.
    pub(crate) dropped: u64,
    /// The last congestion event that hit it.
    pub(crate) seen_event: u64,
}

impl Transit {
    /// From the last link to the sender, where these are acknowledgments.
    #[inline]
    pub(crate) fn acknowledgment_delay(&self) -> Option<Time> {
        (self.packet_bytes > 0).then_some(self.return_delay)
    }
}

/// A responsive flow. As in [`Connection`] the fields are in the order of need, in whole cache
/// lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) transit: Transit,
    /// The receiver, where it does not live in the connection: its acknowledgments cross links.
    pub(crate) receiver: Option<Box<RemoteReceiver>>,
    /// The event of its retransmission timer.
    pub(crate) timer: Alarm,
    /// Whether its packets go straight to the first link, all of one size and not recorded.
    pub(crate) direct: bool,
    /// Whether a pacing event is due.
    pub(crate) pacing_armed: bool,
    pub(crate) stopped: bool,

    pub(crate) connection: Connection,

    /// The event of its receiver's timer for delayed acknowledgments.
    pub(crate) delayed_ack: Alarm,
    /// Packets lost before or behind the target link.
    pub(crate) lost_elsewhere: u64,
    /// Congestion events that hit it.
    pub(crate) congestion_events: u64,
    pub(crate) access: Option<AccessLink>,
    /// Bytes of a SYN.
    pub(crate) syn_bytes: u32,
    /// Number within its group, for draws.
    pub(crate) index: u64,
    pub(crate) transfer: Transfer,
    /// Counts at the end of the warm-up.
    pub(crate) before: Counts,
}

/// The transfer that a flow is at, or the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Its number among its user's, or its open-loop group's.
    pub(crate) number: u64,
    /// When it began; none where it is complete.
    pub(crate) since: Option<Time>,
    /// Whether it began with a new connection, not with one that the transfer before left open.
    pub(crate) opens: bool,
    /// What the flow had counted before.
    pub(crate) before: Losses,
}

/// What the network has counted of a flow's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    /// Arrivals at the target link.
    pub(crate) arrived: u64,
    /// Drops there.
    pub(crate) dropped: u64,
    /// Drops at other links.
    pub(crate) elsewhere: u64,
}

/// When an event of a timer is due, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm(Time);

impl Alarm {
    /// No event is due.
    pub(crate) const OFF: Self = Self(Time::MAX);

    pub(crate) fn at(time: Time) -> Self {
        Self(time)
    }

    /// Whether the event at `now` is this one, and not one that another has replaced.
    pub(crate) fn rings(self, now: Time) -> bool {
        self.0 == now
    }

    /// Whether `deadline` comes before the event.
    #[inline]
    pub(crate) fn misses(self, deadline: Time) -> bool {
        deadline < self.0
    }

    /// The latest time that needs no event of its own: the time of the event, or the end of all
    /// time.
    #[inline]
    pub(crate) fn horizon(self) -> Time {
        self.0
    }
}

/// An unresponsive flow: only its counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unresponsive {
    pub(crate) transit: Transit,
    /// Whose acknowledgments these are, where they are any.
    pub(crate) acks_of: Option<ResponsiveId>,
    /// What has arrived at its last link.
    pub(crate) at_last: Volume,
    /// What was dropped there of what has arrived since the warm-up.
    pub(crate) lost_at_last: Volume,
    /// Counts and bytes delivered at the end of the warm-up.
    pub(crate) before: (Counts, u64),
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Volume {
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// What one flow did at the target link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
    pub(crate) delivered: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    /// Congestion events that hit it.
    pub(crate) events: u64,
}

impl Counts {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            arrived: self.arrived - earlier.arrived,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            events: self.events - earlier.events,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
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
pub(crate) struct InFlight {
    /// When it reaches its next link, or has reached the one where it waits.
    pub(crate) arrival: Time,
    pub(crate) flow: FlowId,
    /// Low bits of its number; the size of an unresponsive packet.
    pub(crate) number: u32,
    /// Bytes, headers included.
    pub(crate) size: u32,
    pub(crate) hop: HopNumber,
    pub(crate) mark: Mark,
}

/// The event of a packet that reaches this hop of its path, marked or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) event: Event,
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

impl Flows {
    /// The flow that an event is about.
    #[inline]
    pub(crate) fn of_number(&self, number: FlowNumber) -> FlowId {
        number.flow(self.responsive.len())
    }

    #[inline]
    pub(crate) fn transit(&self, flow: FlowId) -> &Transit {
        match flow {
            FlowId::Responsive(flow) => &self[flow].transit,
            FlowId::Unresponsive(flow) => &self[flow].transit,
        }
    }

    #[inline]
    pub(crate) fn transit_mut(&mut self, flow: FlowId) -> &mut Transit {
        match flow {
            FlowId::Responsive(flow) => &mut self[flow].transit,
            FlowId::Unresponsive(flow) => &mut self[flow].transit,
        }
    }

    /// Refuses more flows than can be told apart, and more than memory is allowed for, by the group that
    /// a flow has been added to.
    pub(crate) fn check_count(&self, most: usize, group: &str) -> Result<(), EngineError> {
        if !FlowNumber::suffice_for(self.responsive.len(), self.unresponsive.len()) {
            return Err(too_large("more than 16 million flows are alive at once"));
        }
        if self.responsive.len() > most {
            return Err(too_many_alive(group, most));
        }
        Ok(())
    }

    /// Has fetched what the next events need of their flows.
    pub(crate) fn prefetch(&self, events: &[Event]) {
        for event in events {
            if let Some(flow) = self.responsive.get(event.flow().responsive().index()) {
                flow.prefetch();
            }
        }
    }

    /// The warm-up ends: what was counted until then does not count.
    pub(crate) fn finish_warmup(&mut self) {
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
    pub(crate) fn of(packet: &Packet) -> Self {
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

impl std::ops::Index<ResponsiveId> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, flow: ResponsiveId) -> &Flow {
        &self.responsive[flow.index()]
    }
}

impl std::ops::IndexMut<ResponsiveId> for Flows {
    #[inline]
    fn index_mut(&mut self, flow: ResponsiveId) -> &mut Flow {
        &mut self.responsive[flow.index()]
    }
}

impl std::ops::Index<UnresponsiveId> for Flows {
    type Output = Unresponsive;

    #[inline]
    fn index(&self, flow: UnresponsiveId) -> &Unresponsive {
        &self.unresponsive[flow.index()]
    }
}

impl std::ops::IndexMut<UnresponsiveId> for Flows {
    #[inline]
    fn index_mut(&mut self, flow: UnresponsiveId) -> &mut Unresponsive {
        &mut self.unresponsive[flow.index()]
    }
}

impl Flow {
    /// Bytes of the packet with these low bits of its number.
    #[inline]
    pub(crate) fn size(&self, number: u32) -> u32 {
        if self.connection.has_syn(number) {
            self.syn_bytes
        } else {
            self.transit.packet_bytes
        }
    }

    /// Its round trip without the delays between links.
    pub(crate) fn trip(&self) -> Time {
        let back = self.receiver.as_ref().map_or(Time::ZERO, |r| r.delay);
        self.transit.return_delay + back
    }

    /// Has everything that a delivery may need fetched.
    #[inline]
    fn prefetch(&self) {
        prefetch(&self.transit);
        self.connection.prefetch();
    }

    /// What the network has counted so far.
    pub(crate) fn losses(&self) -> Losses {
        Losses {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            elsewhere: self.lost_elsewhere,
        }
    }

    /// The same of its current transfer.
    pub(crate) fn transfer_losses(&self) -> Losses {
        let (now, before) = (self.losses(), self.transfer.before);
        Losses {
            arrived: now.arrived - before.arrived,
            dropped: now.dropped - before.dropped,
            elsewhere: now.elsewhere - before.elsewhere,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            delivered: self.connection.delivered(),
            retransmissions: self.connection.retransmissions(),
            timeouts: self.connection.timeouts(),
            events: self.congestion_events,
        }
    }
}

impl Unresponsive {
    /// Bytes of the packet with this number.
    #[inline]
    pub(crate) fn size(&self, number: u32) -> u32 {
        match self.acks_of {
            Some(_) => self.transit.packet_bytes,
            None => number,
        }
    }

    /// Its packet with this number sets out; `flow` is its own number.
    #[inline]
    pub(crate) fn packet(&self, flow: UnresponsiveId, number: u32, now: Time) -> InFlight {
        InFlight {
            arrival: now,
            flow: FlowId::Unresponsive(flow),
            number,
            size: self.size(number),
            hop: HopNumber::FIRST,
            mark: Mark::Absent,
        }
    }

    /// Nobody waits for its packets: they are delivered when their last link takes them in and
    /// does not drop them later.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            arrived: self.transit.arrived,
            dropped: self.transit.dropped,
            delivered: self.at_last.packets - self.lost_at_last.packets,
            ..Counts::default()
        }
    }

    /// Bytes of the packets that were delivered.
    pub(crate) fn bytes_delivered(&self) -> u64 {
        self.at_last.bytes - self.lost_at_last.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow needs at least, whatever its controller; its scoreboard comes with losses.
    #[test]
    fn a_flow_fits_into_a_kilobyte() {
        let size = size_of::<Flow>();
        assert!(size <= 960, "{size}");
    }

    /// What nearly every packet needs of its flow stands in the first cache line.
    #[test]
    fn the_network_and_the_timer_share_a_cache_line() {
        assert!(std::mem::offset_of!(Flow, direct) <= 64);
    }

    #[test]
    fn an_alarm_that_is_off_misses_every_deadline_and_never_rings() {
        let at = Alarm::at(Time::from_secs(1));
        assert!(Alarm::OFF.misses(Time::from_secs(9)) && !Alarm::OFF.rings(Time::from_secs(9)));
        assert!(at.rings(Time::from_secs(1)) && !at.misses(Time::from_secs(1)));
    }
}
