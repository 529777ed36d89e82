//! What sends: sources without congestion control, and the transfers of users, arrivals and incasts.

use forebay_random::Purpose;
use forebay_scenario::{EngineError, Law, Workload};
use forebay_units::{Bytes, Rate, Time};

use super::{LAST_FLOW, Simulation, too_large, unsupported};
use crate::calendar::{Event, Kind};
use crate::flow::{opening, packets_of, source_event};
use crate::transfers;

impl Simulation<'_> {
    /// Schedules the next open-loop arrival of a group.
    pub(super) fn schedule_transfer(&mut self, number: usize, now: Time) {
        let group = &mut self.groups[number];
        if let Workload::OpenLoop { interarrival, .. } = &group.spec.workload {
            let gap = interarrival
                .draw(0, 1, &mut group.arrivals)
                .max(Time::from_picos(1));
            let source = self.sources.len() + number;
            self.calendar
                .push_frequent(source_event(now.saturating_add(gap), source));
        }
    }

    /// A source sends a packet, or a transfer of an open-loop group arrives.
    pub(super) fn emit(&mut self, event: Event) -> Result<(), EngineError> {
        let number = event.flow() as usize;
        let Some(source) = self.sources.get_mut(number) else {
            let group = number - self.sources.len();
            return self.arrive_transfer(group, event.time);
        };
        if event.time >= source.until {
            return Ok(());
        }
        let flow = LAST_FLOW - source.pick();
        let size = source.size(self.groups[source.group as usize].spec);
        let next = source_event(source.next_arrival(event.time), number);
        self.calendar.push_delivery(source.lane, next);
        self.arrive(flow, size, 0, event.time);
        Ok(())
    }

    /// An open-loop transfer arrives and takes a free slot.
    fn arrive_transfer(&mut self, number: usize, now: Time) -> Result<(), EngineError> {
        self.schedule_transfer(number, now);
        let group = &mut self.groups[number];
        let transfer = group.arrived_transfers;
        group.arrived_transfers += 1;
        let at = if let Some(at) = group.idle.pop() {
            at as usize
        } else {
            self.add_flow(number, 0)?;
            let at = self.flows.len() - 1;
            if at as u32 + self.unresponsive.len() as u32 >= LAST_FLOW {
                return Err(too_large("more than 16 million flows are alive at once"));
            }
            at
        };
        self.flows[at].index = 0;
        self.begin(at, transfer, now)
    }

    /// A flow starts, or a user ends its thinking.
    pub(super) fn start(&mut self, at: usize, now: Time) -> Result<(), EngineError> {
        let (number, index) = (self.flows[at].group as usize, self.flows[at].index as usize);
        if self.flows[at].stopped {
            if self.flows[at].since == Time::MAX {
                self.finish_round(number, now);
            }
            return Ok(());
        }
        if let Some(rounds) = &mut self.groups[number].rounds {
            rounds.begin(now);
        }
        let limited = match self.groups[number].spec.workload {
            Workload::ApplicationLimited { rate } => Some(rate),
            _ => None,
        };
        if let Some(rate) = limited.filter(|_| self.groups[number].transfers[index] > 0) {
            self.write(at, rate, now);
            return Ok(());
        }
        let transfers = &mut self.groups[number].transfers[index];
        let transfer = *transfers;
        *transfers += 1;
        self.begin(at, transfer, now)?;
        if let Some(rate) = limited {
            self.write(at, rate, now);
        }
        Ok(())
    }

    /// An application has written on: all packets that are due by now. The more of them wait
    /// already, the later the next look: by the time in which a sixteenth of them is written, so
    /// that an application that is much faster than its sender takes few events.
    fn write(&mut self, at: usize, rate: Rate, now: Time) {
        let flow = &mut self.flows[at];
        let written = &mut self.groups[flow.group as usize].transfers[flow.index as usize];
        let between = rate.time_to_send(Bytes::new(u64::from(flow.wire)));
        let between = between.max(Time::from_picos(1)).as_picos();
        let due = (now - flow.since).as_picos() / between + 1;
        if due > *written {
            flow.connection.write(due - *written, now);
            *written = due;
        }
        self.send(at, now);
        let flow = &self.flows[at];
        let next = due.saturating_add(flow.connection.backlog() / 16);
        let next = Time::from_picos(between.saturating_mul(next));
        self.calendar.push_frequent(Event::new(
            flow.since.saturating_add(next),
            Kind::Start,
            at as u32,
            0,
        ));
    }

    /// Begins transfer number `transfer` (of a user, or of an open-loop group) in a slot.
    fn begin(&mut self, at: usize, transfer: u64, now: Time) -> Result<(), EngineError> {
        let flow = &mut self.flows[at];
        let group = &self.groups[flow.group as usize];
        let spec = group.spec;
        let (index, count) = (flow.index, spec.count);
        let payload = Bytes::new(u64::from(flow.wire)).saturating_sub(spec.stack.header);
        let packets = match &spec.workload {
            Workload::Finite { size } => {
                let mut stream = group.draws.stream(index, Purpose::Size);
                packets_of(size.draw(index, count, &mut stream), payload)
            }
            Workload::ClosedLoop { size, .. }
            | Workload::OpenLoop { size, .. }
            | Workload::Incast { size, .. } => {
                let mut stream = group.draws.transfer(index, transfer, Purpose::Size);
                packets_of(size.draw(0, 1, &mut stream), payload)
            }
            Workload::ApplicationLimited { .. } => 1,
            _ => u64::MAX,
        };
        let redrawn = !matches!(
            spec.workload,
            Workload::Finite { .. }
                | Workload::Persistent
                | Workload::ApplicationLimited { .. }
                | Workload::Incast { .. }
        );
        if redrawn && !matches!(spec.rtt, Law::Value(_) | Law::List(_) | Law::Linspace(..)) {
            let mut stream = group.draws.transfer(index, transfer, Purpose::RoundTrip);
            let rtt = spec.rtt.draw(index, count, &mut stream);
            let (there, back) = self.return_delays(spec, rtt)?;
            let flow = &mut self.flows[at];
            flow.return_delay = there;
            if let Some(receiver) = &mut flow.receiver {
                receiver.delay = back;
            }
        }
        let flow = &mut self.flows[at];
        flow.since = now;
        flow.transfer = transfer;
        flow.arrived_before = flow.arrived;
        flow.dropped_before = flow.dropped;
        flow.lost_elsewhere_before = flow.lost_elsewhere;
        if transfer > 0 && matches!(spec.workload, Workload::Incast { .. }) {
            // The connections of an incast stay open.
            flow.connection.begin(packets, now);
            self.send(at, now);
            return Ok(());
        }
        let random = group.draws.transfer(index, transfer, Purpose::Controller);
        let opening =
            opening(spec, packets, random).ok_or_else(|| unsupported(spec.controller.name()))?;
        self.flows[at].lane = self.lane(at);
        let flow = &mut self.flows[at];
        flow.connection.open(opening);
        if let Some(receiver) = &mut flow.receiver {
            receiver.restart(flow.connection.first());
        }
        self.send(at, now);
        Ok(())
    }

    /// A transfer is complete: a user thinks, an open-loop slot is free.
    pub(super) fn complete(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        if flow.since == Time::MAX || flow.stopped {
            return;
        }
        let number = flow.group as usize;
        let group = &mut self.groups[number];
        let spec = group.spec;
        if matches!(spec.workload, Workload::ApplicationLimited { .. }) {
            // Idle until the application writes again.
            return;
        }
        if !spec.persistent() && self.warm {
            group.shapes.completed(flow, spec, now);
            group.shapes.lived(flow, self.scenario.run().warmup, now);
            let duration = now - flow.since;
            group.completed += 1;
            group.completion_times.add(duration);
            let payload = u64::from(flow.wire) - spec.stack.header.get();
            let bits = flow.connection.transfer_packets() * payload * 8;
            let goodput = bits as f64 / duration.as_secs_f64().max(1e-12);
            group
                .transfer_goodputs
                .add(Time::from_picos(goodput as u64));
        }
        if let (Some(traces), false) = (&mut self.traces, spec.persistent()) {
            let record = transfers::record(flow, self.scenario.trace(), now);
            traces.transfers.extend(record);
        }
        flow.since = Time::MAX;
        match &spec.workload {
            Workload::ClosedLoop { think, .. } => {
                let index = flow.index;
                let transfer = group.transfers[index as usize];
                let mut stream = group.draws.transfer(index, transfer, Purpose::Think);
                let next = now.saturating_add(think.draw(0, 1, &mut stream));
                self.calendar
                    .push(Event::new(next, Kind::Start, at as u32, 0));
            }
            Workload::OpenLoop { .. } => group.idle.push(at as u32),
            Workload::Incast { .. } => self.finish_round(number, now),
            _ => {}
        }
    }

    /// A server of an incast has finished the round, or left: after the last one and a pause all
    /// are asked again.
    fn finish_round(&mut self, number: usize, now: Time) {
        let group = &mut self.groups[number];
        let Workload::Incast { pause, delay, .. } = &group.spec.workload else {
            return;
        };
        let Some(rounds) = &mut group.rounds else {
            return;
        };
        let Some(time) = rounds.finish(now) else {
            return;
        };
        if self.warm {
            rounds.times.add(time);
        }
        let round = rounds.number();
        let mut stream = group.draws.transfer(0, round, Purpose::Think);
        let request = now.saturating_add(pause.draw(0, 1, &mut stream));
        let flows = &self.flows;
        for &at in rounds.request(request, |at| !flows[at as usize].stopped) {
            let index = flows[at as usize].index;
            let mut stream = group.draws.transfer(index, round, Purpose::Processing);
            let start = request.saturating_add(delay.draw(0, 1, &mut stream));
            self.calendar.push(Event::new(start, Kind::Start, at, 0));
        }
    }

    pub(super) fn stop(&mut self, at: usize, now: Time) {
        let flow = &mut self.flows[at];
        let number = flow.group as usize;
        let busy = flow.since != Time::MAX && !flow.stopped;
        if flow.since <= now {
            let shapes = &mut self.groups[number].shapes;
            shapes.lived(flow, self.scenario.run().warmup, now);
        }
        flow.connection.stop();
        flow.stopped = true;
        if busy {
            self.finish_round(number, now);
        }
    }
}
