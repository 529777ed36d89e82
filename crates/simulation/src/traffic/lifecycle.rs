//! The life of a flow: it starts, begins and completes transfers, and stops.

use forebay_random::Purpose;
use forebay_scenario::{Distribution, Workload};
use forebay_units::{Bytes, Rate, Time};

use super::{Traffic, shortened};
use crate::calendar::event::{Event, Kind};
use crate::flow::Transfer;
use crate::ids::GroupId;
use crate::network::Network;
use crate::refusal::Refusal;
use crate::timeline::Timeline;
use crate::traffic::hosts::{Hosts, TransferStart, Turn};

impl<'a, H: Hosts<'a>> Traffic<'a, H> {
    /// A flow starts, or a user asks again, or an application has written on.
    pub(crate) fn start(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Result<(), Refusal> {
        let turn = Turn::of(event);
        network.catch_up(turn.now, self.hosts.flows_mut(), timeline);
        let flow = &self.hosts.flows()[turn.flow];
        let (number, index) = (flow.transit.group, flow.index as usize);
        if flow.stopped {
            if flow.transfer.since.is_none() {
                self.finish_round(number, turn.now, timeline);
            }
            return Ok(());
        }
        let group = &mut self.groups[number.index()];
        if let Some(rounds) = &mut group.rounds {
            rounds.begin(turn.now);
        }
        let written = match group.spec.workload {
            Workload::ApplicationLimited { rate } => Some(rate),
            _ => None,
        };
        if written.is_none() || group.begun[index] == 0 {
            let transfer = group.begun[index];
            group.begun[index] += 1;
            let more = group
                .ring
                .as_mut()
                .map_or(0, |ring| ring.begin(index as u64));
            self.begin(turn, transfer)?;
            self.write_parts(turn, more);
            self.send(turn, network, timeline);
        }
        if let Some(rate) = written {
            self.write(Writing { turn, rate }, network, timeline);
        }
        Ok(())
    }

    /// An application has written on: all packets that are due by now. The more of them wait
    /// already, the later the next look: by the time in which a sixteenth of them is written, so
    /// that an application that is much faster than its sender takes few events.
    fn write(
        &mut self,
        Writing { turn, rate }: Writing,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let flow = &self.hosts.flows()[turn.flow];
        let Some(since) = flow.transfer.since else {
            return;
        };
        let size = Bytes::new(u64::from(flow.transit.packet_bytes));
        let between = rate.time_to_send(size).max(Time::from_picos(1)).as_picos();
        let due = (turn.now - since).as_picos() / between + 1;
        let group = &mut self.groups[flow.transit.group.index()];
        let written = &mut group.begun[flow.index as usize];
        if due > *written {
            let more = due - *written;
            *written = due;
            self.hosts.write(turn, more);
        }
        self.send(turn, network, timeline);
        let backlog = self.hosts.backlog(turn.flow);
        let next = between.saturating_mul(due.saturating_add(backlog / 16));
        let next = since.saturating_add(Time::from_picos(next));
        let event = Event::of_flow(next, Kind::Start, turn.flow);
        timeline.calendar.push_frequent(event);
    }

    /// Begins transfer number `transfer` (of a user, or of an open-loop group) of a flow.
    pub(super) fn begin(&mut self, turn: Turn, transfer: u64) -> Result<(), Refusal> {
        let flow = &self.hosts.flows()[turn.flow];
        let group = &self.groups[flow.transit.group.index()];
        let spec = group.spec;
        let size = Bytes::new(u64::from(flow.transit.packet_bytes));
        let payload = size.saturating_sub(spec.stack.header);
        let packets = group.packets(flow.index, transfer, payload);
        if let Some(rtt) = group.redrawn_rtt(flow.index, transfer) {
            let (there, back) = self.hosts.delays(group, self.scenario, rtt)?;
            let delays = shortened((there, back), group.transfers.shortcut(flow.transit.route));
            self.hosts.set_delays(turn.flow, delays);
        }
        // Users of these keep their connection open from one transfer to the next.
        let stays = matches!(
            spec.workload,
            Workload::Incast { .. }
                | Workload::AllToAll { .. }
                | Workload::RingAllReduce { .. }
                | Workload::Periodic { .. }
        );
        let opens = !stays || transfer == 0;
        let flow = &mut self.hosts.flows_mut()[turn.flow];
        flow.transfer = Transfer {
            number: transfer,
            since: Some(turn.now),
            opens,
            before: flow.losses(),
        };
        if let (false, Some(packets)) = (opens, packets) {
            self.hosts.begin(turn, packets);
            return Ok(());
        }
        let opening = TransferStart { transfer, packets };
        self.hosts.open(turn, group, opening)?;
        self.assign_lane(turn.flow);
        Ok(())
    }

    /// A transfer is complete: a user thinks or waits, an open-loop slot is free.
    pub(super) fn complete(&mut self, turn: Turn, timeline: &mut Timeline<'_>) {
        let flow = &mut self.hosts.flows_mut()[turn.flow];
        let number = flow.transit.group;
        let group = &mut self.groups[number.index()];
        let spec = group.spec;
        let idle = matches!(spec.workload, Workload::ApplicationLimited { .. });
        let (Some(since), false) = (flow.transfer.since, flow.stopped || idle) else {
            // An application that is idle may write again.
            return;
        };
        if !spec.persistent() && timeline.recorder.is_warm() {
            group.transfers.completed(flow, spec, turn.now);
        }
        timeline.recorder.record_transfer(flow, Some(turn.now));
        flow.transfer.since = None;
        match &spec.workload {
            Workload::OpenLoop { .. } => group.idle.add(flow.transit.route, turn.flow),
            Workload::Incast { .. } | Workload::AllToAll { .. } => {
                self.finish_round(number, turn.now, timeline);
            }
            _ => {
                if let Some(next) = group.next_transfer(flow.index, since, turn.now) {
                    let event = Event::of_flow(next, Kind::Start, turn.flow);
                    timeline.calendar.push(event);
                }
            }
        }
    }

    /// Parts of a ring's data may have arrived at the next host, which then sends as many.
    pub(super) fn arrive_part(
        &mut self,
        turn: Turn,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let parts = self.hosts.take_arrived_parts(turn.flow);
        let flow = &self.hosts.flows()[turn.flow];
        let (number, index) = (flow.transit.group, flow.index);
        let Some(ring) = &mut self.groups[number.index()].ring else {
            return;
        };
        let (next, more, is_last) = ring.arrive(index, parts);
        if let Some(flow) = next.filter(|_| more > 0) {
            let now = turn.now;
            self.write_parts(Turn { flow, now }, more);
            self.send(Turn { flow, now }, network, timeline);
        }
        if is_last {
            let flow = &mut self.hosts.flows_mut()[turn.flow];
            timeline.recorder.record_transfer(flow, Some(turn.now));
            flow.transfer.since = None;
            self.finish_round(number, turn.now, timeline);
        }
    }

    /// A host of a ring writes this many more parts.
    fn write_parts(&mut self, turn: Turn, parts: u64) {
        let flow = &self.hosts.flows()[turn.flow];
        let group = &self.groups[flow.transit.group.index()];
        let packets = group.reported_part(flow.transit.packet_bytes);
        if let Some(packets) = packets.filter(|_| parts > 0) {
            self.hosts.write(turn, parts * packets);
        }
    }

    /// A server of an incast has finished the round, or left: after the last one and a pause all
    /// are asked again.
    fn finish_round(&mut self, number: GroupId, now: Time, timeline: &mut Timeline<'_>) {
        let group = &mut self.groups[number.index()];
        let at_once = Distribution::Value(Time::ZERO);
        let (pause, delay) = match &group.spec.workload {
            Workload::Incast { pause, delay, .. } => (pause, delay),
            Workload::AllToAll { pause, .. } | Workload::RingAllReduce { pause, .. } => {
                (pause, &at_once)
            }
            _ => return,
        };
        let Some(rounds) = &mut group.rounds else {
            return;
        };
        let Some(time) = rounds.finish(now) else {
            return;
        };
        if timeline.recorder.is_warm() {
            rounds.times.add(time);
        }
        if let Some(ring) = &mut group.ring {
            ring.restart();
        }
        let round = rounds.number();
        let mut stream = group.draws.transfer(0, round, Purpose::Think);
        let request = now.saturating_add(pause.draw(0, 1, &mut stream));
        let flows = self.hosts.flows();
        for &server in rounds.request(request, |server| !flows[server].stopped) {
            let index = flows[server].index;
            let mut stream = group.draws.transfer(index, round, Purpose::Processing);
            let start = request.saturating_add(delay.draw(0, 1, &mut stream));
            let event = Event::of_flow(start, Kind::Start, server);
            timeline.calendar.push(event);
        }
    }

    /// A flow stops for good.
    pub(crate) fn stop(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) {
        let turn = Turn::of(event);
        network.catch_up(turn.now, self.hosts.flows_mut(), timeline);
        let flow = &mut self.hosts.flows_mut()[turn.flow];
        let number = flow.transit.group;
        let busy = flow.transfer.since.is_some() && !flow.stopped;
        self.groups[number.index()].transfers.lived(flow, turn.now);
        flow.stopped = true;
        self.hosts.stop(turn);
        if busy {
            self.finish_round(number, turn.now, timeline);
        }
    }
}

/// A flow whose application writes at this rate.
#[derive(Clone, Copy, Debug)]
struct Writing {
    turn: Turn,
    rate: Rate,
}
