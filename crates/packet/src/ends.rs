//! The two ends of a connection as this engine simulates them, and how a connection begins.

use forebay_congestion::packet::Window;
use forebay_discipline::Label;
use forebay_random::{Purpose, StreamKey};
use forebay_scenario::{DelayedAck, FlowGroup, HeaderFields, HeaderRecord, Segment, Workload};
use forebay_simulation::{
    Alarm, Direction, Ends, Event, FlowPosition, Group, HopTelemetry, Identity, Kind, Progress,
    Refusal, Turn, unsupported,
};
use forebay_simulation::{Calendar, Flow};
use forebay_units::{Bytes, Time};

use crate::connection::{Connection, HostDelay, TransferSetup};
use crate::reverse::RemoteReceiver;
use crate::tcp_options::{Selects, TcpOptions};

/// A flow whose ends are simulated.
pub(crate) type SimulatedFlow = Flow<SimulatedEnds>;

/// Whether a flow has something to send or to have acknowledged.
pub(crate) fn is_active(flow: &SimulatedFlow) -> bool {
    flow.ends.begun() && !flow.stopped && !flow.ends.finished()
}

/// Both ends of a connection. As in [`Connection`] the fields are in the order of need.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct SimulatedEnds {
    /// The receiver, where it does not live in the connection: its acknowledgments cross links.
    pub(crate) receiver: Option<Box<RemoteReceiver>>,
    /// The event of its retransmission timer.
    pub(crate) timer: Alarm,
    /// Whether its packets go straight to the first link, all of one size and not recorded.
    pub(crate) direct: bool,
    /// Whether they go straight there, and what they say is not recorded.
    pub(crate) straight: bool,
    /// Whether its receiver is a remote one, the headers of its packets are recorded, or its
    /// acknowledgments carry telemetry.
    pub(crate) special: bool,
    /// Whether a pacing event is due.
    pub(crate) pacing_armed: bool,

    pub(crate) connection: Connection,

    /// The event of its receiver's timer for delayed acknowledgments.
    pub(crate) delayed_ack: Alarm,
    /// Bytes of a SYN.
    syn_bytes: u32,
    /// The headers of its packets, if they are recorded.
    pub(crate) tcp_options: Option<Box<TcpOptions>>,
}

impl SimulatedEnds {
    /// The ends of a flow of this group that has not started.
    pub(crate) fn new(group: &Group<'_>, place: FlowPosition) -> Result<Self, Refusal> {
        let random = group.draws.key(place.index, Purpose::Controller);
        let begin = FlowStart {
            packets: Some(0),
            packet_bytes: place.packet_bytes,
            random,
        };
        let stack = &group.spec.stack;
        let opening = begin.opening(group)?;
        let special = opening.controller.requirements().telemetry;
        Ok(Self {
            connection: Connection::new(opening, 1),
            receiver: None,
            timer: Alarm::OFF,
            direct: group.spec.access.is_none() && !group.pauses && !stack.handshake,
            straight: group.spec.access.is_none() && !group.pauses,
            special,
            pacing_armed: false,
            delayed_ack: Alarm::OFF,
            syn_bytes: stack.syn().get() as u32,
            tcp_options: None,
        })
    }

    // --- What its packets say, where that is recorded ---

    /// A connection opens for `packets` data packets. It ends with them if its user opens another
    /// connection for the next transfer. A connection without a handshake does not end, because it
    /// has no number to spare for the end.
    pub(crate) fn note_opening(&mut self, spec: &FlowGroup, packets: Option<u64>) {
        let Some(tcp_options) = &mut self.tcp_options else {
            return;
        };
        let closes = matches!(
            spec.workload,
            Workload::Finite { .. } | Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        );
        let first = self.connection.first();
        let packets = packets.filter(|_| closes && spec.stack.handshake);
        let end = packets.map(|packets| first.saturating_add(1).saturating_add(packets));
        tcp_options.begin(first, end);
    }

    /// The sender sends the packet with these low bits of its number.
    pub(crate) fn note_departure(&mut self, number: u32, now: Time) {
        let packet = self.connection.full_number(number);
        if let Some(tcp_options) = &mut self.tcp_options {
            tcp_options.send(packet, now);
        }
    }

    /// Packets reach the receiver.
    pub(crate) fn note_arrivals(&mut self, packets: impl IntoIterator<Item = u64>) {
        if let Some(tcp_options) = &mut self.tcp_options {
            packets
                .into_iter()
                .for_each(|packet| tcp_options.arrive(packet));
        }
    }

    /// The receiver acknowledges what it has: which acknowledgment it is, and what it says.
    pub(crate) fn note_ack(&mut self, now: Time) -> Option<(Identity, HeaderFields)> {
        let selects = if self.connection.selects() {
            Selects::Blocks
        } else {
            Selects::Nothing
        };
        let tcp_options = self.tcp_options.as_mut()?;
        let fields = tcp_options.acknowledge(now, selects);
        let (latest, number) = tcp_options.latest();
        let segment = if self.connection.is_syn(latest) && number == latest + 1 {
            Segment::SynAck
        } else {
            Segment::Ack
        };
        Some((Identity { number, segment }, fields))
    }

    /// The same of one that sets out over links with this number: the packet that it awaits.
    pub(crate) fn note_ack_over_links(&mut self, number: u32, now: Time) -> Option<u64> {
        let (identity, fields) = self.note_ack(now)?;
        self.tcp_options.as_mut()?.set_out(number, fields);
        Some(identity.number)
    }

    /// Bytes of an acknowledgment.
    pub(crate) fn answer_bytes(&self) -> u32 {
        self.syn_bytes
    }

    /// The receiver waits before it acknowledges, until then at most.
    pub(crate) fn arm_delayed_ack(
        &mut self,
        turn: Turn,
        due: Option<Time>,
        calendar: &mut Calendar,
    ) {
        if let Some(due) = due.filter(|due| self.delayed_ack.misses(*due)) {
            self.delayed_ack = Alarm::at(due);
            calendar.push(Event::of_flow(due, Kind::DelayedAck, turn.flow));
        }
    }
}

/// The beginning of a connection: it sends `packets` packets of `packet_bytes` bytes, or sends
/// without an end. Its controller draws from `random`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowStart {
    pub(crate) packets: Option<u64>,
    pub(crate) packet_bytes: u32,
    pub(crate) random: StreamKey,
}

impl FlowStart {
    /// The same in a group, with all that a connection must know.
    pub(crate) fn opening(self, group: &Group<'_>) -> Result<TransferSetup, Refusal> {
        let (spec, random) = (group.spec, self.random);
        let (name, parameters) = (spec.controller.name(), spec.controller.parameters());
        let controller = forebay_congestion::controller(name, parameters, random)
            .ok_or_else(|| unsupported(name))?;
        let mut stack = spec.stack;
        let mut late = host_delay(group, random);
        if !spec.reverse.is_empty() {
            // Acknowledgments are delayed where they set out.
            stack.delayed_ack = DelayedAck::AT_ONCE;
            late = None;
        }
        Ok(TransferSetup {
            stack,
            host_delay: late,
            controller,
            payload: Bytes::new(u64::from(self.packet_bytes)).saturating_sub(spec.header()),
            packets: self.packets,
        })
    }
}

/// How late the hosts of a flow with such a key deal with what arrives.
pub(crate) fn host_delay(group: &Group<'_>, random: StreamKey) -> Option<HostDelay> {
    let random = random.of(Purpose::Processing);
    HostDelay::new(group.spec.stack.processing.beyond(), random)
}

impl Ends for SimulatedEnds {
    #[inline]
    fn size(&self, number: u32, full: u32) -> u32 {
        if self.connection.has_syn(number) {
            self.syn_bytes
        } else {
            full
        }
    }

    /// A SYN says nothing about ECN (RFC 3168 section 6.1.1).
    #[inline]
    fn label(&self, number: u32, label: Label) -> Label {
        if self.connection.has_syn(number) {
            label.not_capable()
        } else {
            label
        }
    }

    fn header(&mut self, number: u32, direction: Direction) -> HeaderRecord {
        let packet = self.connection.full_number(number);
        let fields = self
            .tcp_options
            .as_mut()
            .and_then(|tcp_options| match direction {
                Direction::Data => tcp_options.at_link(packet),
                Direction::Acknowledgment => tcp_options.answer(number),
            });
        fields.map_or(HeaderRecord::Plain, HeaderRecord::Simulated)
    }

    fn note_telemetry(&mut self, number: u32, hop: HopTelemetry) {
        if let Some(telemetry) = self.connection.telemetry_mut() {
            telemetry.note(number, hop);
        }
    }

    fn lose(&mut self, number: u32, direction: Direction) {
        if self.special
            && direction == Direction::Data
            && let Some(telemetry) = self.connection.telemetry_mut()
        {
            telemetry.forget(number);
        }
        let packet = self.connection.full_number(number);
        let Some(tcp_options) = &mut self.tcp_options else {
            return;
        };
        match direction {
            Direction::Data => tcp_options.lose(packet),
            Direction::Acknowledgment => {
                tcp_options.take_ack_fields(number);
            }
        }
    }

    fn identify(&self, number: u32, direction: Direction) -> Identity {
        let (number, sent) =
            if let (Some(receiver), Direction::Acknowledgment) = (&self.receiver, direction) {
                let fields = receiver.fields(number);
                (fields.rcv_nxt, fields.packet)
            } else {
                let number = self.connection.full_number(number);
                (number, number)
            };
        let opens = self.connection.is_syn(sent);
        let segment = match (direction, opens) {
            (Direction::Data, false) => Segment::Data,
            (Direction::Data, true) => Segment::Syn,
            // One more SYN behind data is answered like data.
            (Direction::Acknowledgment, true) if number == sent + 1 => Segment::SynAck,
            (Direction::Acknowledgment, _) => Segment::Ack,
        };
        Identity { number, segment }
    }

    #[inline]
    fn prefetch(&self) {
        // The fetch of the flow covers the fields before the connection.
        self.connection.prefetch();
    }

    fn record_packets(&mut self) {
        self.direct = false;
    }

    fn record_headers(&mut self) {
        (self.direct, self.straight, self.special) = (false, false, true);
        self.tcp_options = Some(Box::default());
    }

    fn delay_back(&self) -> Time {
        self.receiver.as_ref().map_or(Time::ZERO, |r| r.delay)
    }

    fn begun(&self) -> bool {
        self.connection.begun()
    }

    fn finished(&self) -> bool {
        self.connection.finished()
    }

    fn transfer_packets(&self) -> u64 {
        self.connection.transfer_packets()
    }

    fn first_congestion_event(&self) -> Option<Time> {
        self.connection.first_cut()
    }

    fn window(&self) -> Window {
        self.connection.window()
    }

    fn smoothed_rtt(&self) -> f64 {
        self.connection.smoothed_rtt()
    }

    fn progress(&self) -> Progress {
        Progress {
            delivered: self.connection.delivered(),
            retransmissions: self.connection.retransmissions(),
            timeouts: self.connection.timeouts(),
        }
    }

    fn consistent(&self) -> bool {
        self.connection.consistent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest memory of a flow, whatever its controller; its scoreboard comes with losses.
    #[test]
    fn a_flow_fits_into_a_kilobyte() {
        let size = size_of::<SimulatedFlow>();
        assert!(size <= 960, "{size}");
    }

    /// The fields that nearly every packet needs of its flow are in the first cache line.
    #[test]
    fn the_network_and_the_timer_share_a_cache_line() {
        let ends = std::mem::offset_of!(SimulatedFlow, ends);
        assert!(ends + std::mem::offset_of!(SimulatedEnds, direct) <= 64);
    }
}
