//! The headers of packets, if they are recorded: hosts store them as TCP options
//! ([`crate::tcp_options`]), and the recorder gets each acknowledgment that reaches its sender.

use forebay_scenario::HeaderRecord;
use forebay_simulation::{
    Completed, Direction, Ends, Event, Identity, Network, Returned, Timeline, Turn,
};

use super::{Sent, SimulatedHosts, set_out};
use crate::connection::Reception;

impl SimulatedHosts<'_> {
    /// A delivery to a remote receiver, or to a receiver whose connection records TCP options or
    /// reads telemetry.
    #[inline(never)]
    pub(super) fn receive_slow_path(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let turn = Turn::of(event);
        let ends = &mut self.flows[turn.flow].ends;
        if ends.receiver.is_some() {
            self.receive_remote(event, network, timeline);
            return self.reported(turn.flow);
        }
        let packet = ends.connection.full_number(event.packet());
        if !ends.connection.gathers() {
            ends.note_arrivals([packet]);
        }
        ends.connection.read_telemetry(event.packet());
        let answer = if event.is_unmarked_delivery() {
            ends.connection.deliver(packet, event.time)
        } else {
            ends.connection.deliver_marked(packet, event.time)
        };
        match answer {
            Reception::Acknowledged => {
                self.record_ack(turn, timeline);
                return self.send_allowed(turn, network, timeline);
            }
            Reception::Delayed => {
                let due = ends.connection.acknowledgment_due();
                ends.arm_delayed_ack(turn, due, &mut timeline.calendar);
            }
            Reception::Stale => {}
        }
        None
    }

    /// Hands a packet to the network, and keeps what it says.
    #[inline(never)]
    pub(super) fn transmit_recorded(
        &mut self,
        Sent { turn, number }: Sent,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = &mut self.flows[turn.flow];
        flow.ends.note_departure(number, turn.now);
        if flow.access.is_none() {
            let packet = set_out(turn, number, flow.size(number));
            network.offer(packet, &mut self.flows, timeline);
        } else {
            flow.enter_access(turn.flow, (turn.now, number), &mut timeline.calendar);
        }
    }

    /// An acknowledgment of all that has arrived has just reached its sender, over a constant
    /// delay.
    pub(super) fn record_ack(&mut self, turn: Turn, timeline: &mut Timeline<'_>) {
        let ends = &mut self.flows[turn.flow].ends;
        let Some((identity, fields)) = ends.note_ack(turn.now) else {
            return;
        };
        debug_assert_eq!(identity.number, ends.connection.rcv_nxt());
        if let Some(tcp_options) = &mut ends.tcp_options {
            tcp_options.read_ack(&fields);
        }
        self.record(turn, (identity, HeaderRecord::Simulated(fields)), timeline);
    }

    /// The acknowledgment with this number reaches its sender, over links.
    pub(super) fn record_ack_over_links(
        &mut self,
        turn: Turn,
        number: u32,
        timeline: &mut Timeline<'_>,
    ) {
        let ends = &mut self.flows[turn.flow].ends;
        let identity = ends.identify(number, Direction::Acknowledgment);
        let Some(tcp_options) = &mut ends.tcp_options else {
            return;
        };
        let fields = tcp_options.take_ack_fields(number);
        if let Some(fields) = &fields {
            tcp_options.read_ack(fields);
        }
        let header = fields.map_or(HeaderRecord::Plain, HeaderRecord::Simulated);
        self.record(turn, (identity, header), timeline);
    }

    fn record(
        &self,
        Turn { flow, now }: Turn,
        (identity, header): (Identity, HeaderRecord),
        timeline: &mut Timeline<'_>,
    ) {
        let bytes = self.flows[flow].ends.answer_bytes();
        let returned = Returned {
            flow,
            now,
            identity,
            bytes,
            header,
        };
        timeline
            .recorder
            .record_acknowledgment(returned, &self.flows);
    }
}
