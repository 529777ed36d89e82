//! Receivers that stand apart from their senders: their acknowledgments cross links.

use forebay_simulation::{Completed, Event, Mark, Network, ResponsiveId, Timeline, Turn};

use super::{SimulatedHosts, most_merged_of};
use crate::connection::{AckDecision, PendingPacket};
use crate::ends::{SimulatedEnds, SimulatedFlow};

impl SimulatedHosts<'_> {
    /// A data packet reaches such a receiver.
    pub(super) fn receive_remote(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let turn = Turn::of(event);
        let flow = &mut self.flows[turn.flow];
        let SimulatedEnds {
            connection,
            receiver: Some(receiver),
            ..
        } = &mut flow.ends
        else {
            return;
        };
        let packet = connection.full_number(event.packet());
        if packet < connection.first() {
            // The packet belongs to an earlier transfer.
            flow.ends.note_arrivals([packet]);
            return;
        }
        let (arrival, marked) = (
            connection.arrival(packet, turn.now),
            !event.is_unmarked_delivery(),
        );
        let opens = connection.is_syn(packet);
        if receiver.gathers() && !opens {
            receiver.gather(PendingPacket { arrival, marked });
            let due = receiver.acknowledgment_due();
            flow.ends.arm_delayed_ack(turn, due, &mut timeline.calendar);
            return;
        }
        let reply = receiver.receive(PendingPacket { arrival, marked });
        let waits = !matches!(reply, AckDecision::Immediate { .. });
        flow.ends.note_arrivals([packet]);
        if !waits || opens {
            self.acknowledge(turn, network, timeline);
        } else {
            let receiver = flow.ends.receiver.as_ref();
            let due = receiver.and_then(|receiver| receiver.acknowledgment_due());
            flow.ends.arm_delayed_ack(turn, due, &mut timeline.calendar);
        }
    }

    /// Such a receiver's timer for delayed acknowledgments expires.
    pub(super) fn expire_remote(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = &mut self.flows[turn.flow];
        let most = most_merged_of(flow, self.scenario);
        let receiver = flow.ends.receiver.as_mut();
        let gathered =
            receiver.map_or_else(Vec::new, |receiver| receiver.take_gathered(turn.now, most));
        for segment in gathered {
            let ends = &mut self.flows[turn.flow].ends;
            ends.note_arrivals(segment.iter().map(|held| held.arrival.packet));
            let receiver = ends.receiver.as_mut();
            let reply = receiver.map(|receiver| receiver.receive_merged(&segment));
            if matches!(reply, Some(AckDecision::Immediate { .. })) {
                self.acknowledge(turn, network, timeline);
            }
        }
        let due = |flow: &SimulatedFlow| flow.ends.receiver.as_ref()?.acknowledgment_due();
        if due(&self.flows[turn.flow]).is_some_and(|due| due <= turn.now) {
            self.acknowledge(turn, network, timeline);
        }
        let flow = &mut self.flows[turn.flow];
        flow.ends
            .arm_delayed_ack(turn, due(flow), &mut timeline.calendar);
    }

    /// An acknowledgment sets out.
    pub(super) fn acknowledge(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let ends = &mut self.flows[turn.flow].ends;
        let Some(receiver) = &mut ends.receiver else {
            return;
        };
        let (flow, number) = (receiver.acks(), receiver.set_out());
        let (over_links, delay) = (receiver.over_links(), receiver.delay);
        if ends.tcp_options.is_some() {
            let rcv_nxt = receiver.rcv_nxt();
            let number_sent = ends.note_ack_over_links(number, turn.now);
            debug_assert_eq!(number_sent, Some(rcv_nxt));
        }
        let packet = self.flows.set_out(flow, number, turn.now);
        if over_links {
            network.offer(packet, &mut self.flows, timeline);
        } else {
            Network::return_ack(packet, delay, &mut timeline.calendar);
        }
    }

    /// The flow, if a part of its data has arrived that has not been reported.
    pub(super) fn reported(&self, flow: ResponsiveId) -> Completed {
        let receiver = self.flows[flow].ends.receiver.as_ref()?;
        receiver.has_parts().then_some(flow)
    }

    /// An acknowledgment reaches its sender, with what it and those lost before it announce. Other
    /// unresponsive packets arrive nowhere.
    pub(super) fn deliver_ack(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed {
        let (now, number) = (event.time, event.packet());
        let flow = self.flows[event.flow().unresponsive()].acks_of?;
        if self.flows[flow].ends.tcp_options.is_some() {
            self.record_ack_over_links(Turn { flow, now }, number, timeline);
        }
        let SimulatedEnds {
            connection,
            receiver: Some(receiver),
            ..
        } = &mut self.flows[flow].ends
        else {
            return None;
        };
        while let Some((packet, mark)) = receiver.next_announced(number) {
            connection.read_telemetry(packet);
            let packet = connection.full_number(packet);
            match mark {
                Mark::Absent => connection.deliver(packet, now),
                Mark::Present => connection.deliver_marked(packet, now),
            };
        }
        self.send_allowed(Turn { flow, now }, network, timeline)
    }
}
