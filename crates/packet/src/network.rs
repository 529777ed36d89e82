//! From a flow to a link with a queue discipline and on: what drop-tail links do in fewer steps.

use std::collections::BTreeMap;

use forebay_congestion::EcnSemantics;
use forebay_discipline::{Ecn, Label, Packet};
use forebay_scenario::{EngineError, FlowGroup, TracedGroup};
use forebay_units::{Bytes, Time};

use crate::calendar::{Event, Kind};
use crate::link::Link;
use crate::queued::Service;
use crate::simulation::{LAST_FLOW, Simulation, Stop, too_large};

/// Records of packets in a trace whose fate is not known yet: (arrival, flow, number) and the
/// record's index.
pub(crate) type Records = BTreeMap<(Time, u32, u32), usize>;

/// Why a run with a boundless queue ends.
const TOO_MANY_WAIT: &str = "more than 100 million packets wait at a link at once";

/// A flow's number at a discipline: dense, whatever flows join later.
fn dense(flow: u32, responsive: bool) -> u32 {
    if responsive {
        flow << 1
    } else {
        (LAST_FLOW - flow) << 1 | 1
    }
}

/// The flow's number in events.
fn event_flow(dense: u32) -> u32 {
    if dense & 1 == 0 {
        dense >> 1
    } else {
        LAST_FLOW - (dense >> 1)
    }
}

/// What the packets of a group say about ECN: by what their controller makes of marks.
fn codepoint(spec: &FlowGroup) -> Ecn {
    if !spec.stack.ecn || !spec.responsive() {
        return Ecn::NotCapable;
    }
    match forebay_congestion::description(spec.controller.name()).map(|known| known.ecn) {
        Some(EcnSemantics::Scalable) => Ecn::Scalable,
        _ => Ecn::Classic,
    }
}

/// What a capture must know of a group's packets.
pub(crate) fn traced(spec: &FlowGroup) -> TracedGroup {
    let responsive = spec.responsive();
    TracedGroup {
        responsive,
        header: spec.header().get() as u32,
        syn: (responsive && spec.stack.handshake).then(|| spec.stack.syn().get() as u32),
        ecn: match codepoint(spec) {
            Ecn::NotCapable => 0,
            Ecn::Scalable => 1,
            Ecn::Classic => 2,
        },
    }
}

impl Simulation<'_> {
    /// A packet reaches a link with a queue discipline.
    #[inline(never)]
    pub(crate) fn arrive_unmarked(&mut self, flow: u32, number: u32, hop: usize, now: Time) {
        let packet = self.packet(flow, number, hop, now);
        self.meet(packet);
    }

    /// A packet that another link has marked reaches a link.
    pub(crate) fn arrive_marked(&mut self, flow: u32, number: u32, hop: usize, now: Time) {
        let mut packet = self.packet(flow, number, hop, now);
        packet.label = packet.label.with_mark();
        self.meet(packet);
    }

    /// The packet as a discipline sees it. The number of an unresponsive packet is its size.
    #[inline]
    fn packet(&self, flow_number: u32, number: u32, hop: usize, now: Time) -> Packet {
        let flow = self.flows.get(flow_number as usize);
        let (group, size, syn) = if let Some(flow) = flow {
            let syn = flow.connection.has_syn(number);
            (flow.group, flow.wire, syn)
        } else {
            let other = &self.unresponsive[(LAST_FLOW - flow_number) as usize];
            let size = other.acks.map_or(number, |acks| acks.bytes);
            (other.group, size, other.acks.is_some())
        };
        let spec = self.groups[group as usize].spec;
        let (size, ecn) = if syn {
            (spec.stack.syn().get() as u32, Ecn::NotCapable)
        } else {
            (size, codepoint(spec))
        };
        Packet {
            arrival: now,
            flow: dense(flow_number, flow.is_some()),
            number,
            size,
            label: Label::new(hop as u8, group.min(255) as u8, ecn),
        }
    }

    /// The group of a packet's flow.
    #[inline]
    fn spec(&self, packet: &Packet) -> &FlowGroup {
        let at = packet.flow as usize >> 1;
        let group = if packet.flow & 1 == 0 {
            self.flows[at].group
        } else {
            self.unresponsive[at].group
        };
        self.groups[group as usize].spec
    }

    /// Where a packet is on its path.
    #[inline]
    fn stop_of(&self, packet: &Packet) -> Stop {
        let at = packet.flow as usize >> 1;
        let route = if packet.flow & 1 == 0 {
            self.flows[at].route
        } else {
            self.unresponsive[at].route
        };
        self.stops[route as usize + packet.hop()]
    }

    fn meet(&mut self, packet: Packet) {
        let at = self.stop_of(&packet).link as usize;
        self.count_arrival(&packet, at);
        if !self.memories.is_empty() && !self.finds_memory(&packet, at) {
            self.refuse(&packet, at);
            return;
        }
        if self.links[at].has_departures() {
            self.join(packet, at);
        } else {
            self.pass(packet, at);
        }
    }

    /// A packet passes a link that decides at its arrival.
    #[inline(never)]
    fn pass(&mut self, packet: Packet, at: usize) {
        let departure = match &mut self.links[at] {
            Link::DropTail(link) => link
                .arrive(packet.arrival, packet.size)
                .map(|departure| (departure, packet.marked())),
            Link::Gated(link) => link.arrive(packet.arrival, &packet),
            Link::Queued(_) => return,
        };
        if at == self.target && self.record_packets {
            let marked = departure.is_some_and(|(_, marked)| marked);
            let recorded = self.record_arrival(&packet, departure.map(|(departure, _)| departure));
            if recorded
                && let Some(record) = self.traces.as_mut().and_then(|t| t.packets.last_mut())
            {
                record.marked = marked;
            }
        }
        match departure {
            Some((departure, true)) => {
                let label = packet.label.with_mark();
                self.forward(&Packet { label, ..packet }, departure);
            }
            Some((departure, false)) => self.forward(&packet, departure),
            None => self.lose(&packet, at, packet.arrival),
        }
    }

    /// A packet that finds no memory is dropped.
    #[cold]
    fn refuse(&mut self, packet: &Packet, at: usize) {
        self.links[at].refuse();
        if at == self.target && self.record_packets {
            self.record_arrival(packet, None);
        }
        if packet.flow & 1 == 1 && self.links[at].has_departures() {
            self.lose_queued(packet, at, packet.arrival);
        } else {
            self.lose(packet, at, packet.arrival);
        }
    }

    /// A packet joins the queue of a link whose departures are events.
    #[inline]
    fn join(&mut self, packet: Packet, at: usize) {
        if at == self.target && self.record_packets {
            let now = packet.arrival;
            if self.record_arrival(&packet, Some(now)) {
                let index = self.traces.as_ref().map_or(0, |t| t.packets.len()) - 1;
                self.records
                    .insert((now, packet.flow, packet.number), index);
            }
        }
        let Link::Queued(link) = &mut self.links[at] else {
            return;
        };
        link.enqueue(packet);
        if link.idle() {
            let service = link.wake(packet.arrival);
            self.transmit_next(at, service);
        } else if link.has_discarded() {
            self.lose_discarded(at, packet.arrival);
        }
    }

    /// A link has finished sending a packet.
    #[inline]
    pub(crate) fn depart(&mut self, event: Event) -> Result<(), EngineError> {
        let at = event.link();
        if let Link::Queued(link) = &mut self.links[at] {
            if link.overfull() {
                return Err(too_large(TOO_MANY_WAIT));
            }
            let service = link.depart(event.time);
            self.transmit_next(at, service);
        }
        Ok(())
    }

    /// The link's next packet goes into transmission: its way from here is known.
    #[inline]
    fn transmit_next(&mut self, at: usize, service: Option<Service>) {
        let Link::Queued(link) = &self.links[at] else {
            return;
        };
        let (now, discarded) = (link.now(), link.has_discarded());
        if let Some(Service { packet, departure }) = service {
            let event = Event::departure(departure, at);
            self.calendar.push_delivery(link.lane, event);
            if at == self.target && self.record_packets {
                self.settle_record(&packet, Some(departure));
            }
            self.forward(&packet, departure);
        }
        if discarded {
            self.lose_discarded(at, now);
        }
    }

    #[inline(never)]
    fn lose_discarded(&mut self, at: usize, now: Time) {
        while let Link::Queued(link) = &mut self.links[at]
            && let Some(packet) = link.discarded()
        {
            self.lose_queued(&packet, at, now);
        }
    }

    /// A packet that a discipline had taken in, or has not, is dropped at `now`.
    fn lose_queued(&mut self, packet: &Packet, at: usize, now: Time) {
        if at == self.target && self.record_packets {
            self.settle_record(packet, None);
        }
        let last = self.stop_of(packet).last;
        if packet.flow & 1 == 1 && last {
            // It was counted as delivered when it arrived, before the warm-up's end or since.
            let before = packet.arrival < self.links[at].statistics().since;
            let flow = &mut self.unresponsive[packet.flow as usize >> 1];
            flow.counts.delivered -= 1;
            flow.bytes_delivered -= u64::from(packet.size);
            if before {
                flow.before.delivered -= 1;
                flow.bytes_before -= u64::from(packet.size);
            }
        }
        self.lose(packet, at, now);
    }

    /// The run ends: the waits of what is still queued are those it would have if nothing more
    /// arrived.
    pub(crate) fn finish_links(&mut self) -> Result<(), EngineError> {
        if self.links.iter().any(Link::overfull) {
            return Err(too_large(TOO_MANY_WAIT));
        }
        let mut links = std::mem::take(&mut self.links);
        for link in &mut links {
            if let Link::Queued(link) = link {
                link.finish(self.end(), |packet, departure| {
                    self.settle_record(packet, departure);
                });
            }
        }
        self.links = links;
        Ok(())
    }

    // --- What is counted ---

    #[inline]
    fn count_arrival(&mut self, packet: &Packet, at: usize) {
        let flow = packet.flow as usize >> 1;
        let at_target = u64::from(at == self.target);
        if packet.flow & 1 == 0 {
            self.flows[flow].arrived += at_target;
            return;
        }
        let last = self.stop_of(packet).last;
        let queued = self.links[at].has_departures();
        let flow = &mut self.unresponsive[flow];
        flow.counts.arrived += at_target;
        if last && queued {
            // Nobody waits for it: it counts as delivered unless it is dropped.
            flow.counts.delivered += 1;
            flow.bytes_delivered += u64::from(packet.size);
        }
    }

    /// A packet is dropped at link `at`. Losses are those of packets that arrived since the
    /// warm-up, so that no more are lost than arrived.
    fn lose(&mut self, packet: &Packet, at: usize, now: Time) {
        let at_target = at == self.target;
        let counts = at_target && packet.arrival >= self.links[at].statistics().since;
        let persistent = self.spec(packet).persistent();
        let number = packet.flow as usize >> 1;
        if packet.flow & 1 == 1 {
            self.unresponsive[number].counts.dropped += u64::from(counts);
            return;
        }
        let flow = &mut self.flows[number];
        flow.dropped += u64::from(counts);
        flow.lost_elsewhere += u64::from(!at_target);
        if at_target && persistent {
            flow.events += u64::from(self.congestion.loss(now, &mut flow.seen_event));
        }
    }

    /// A packet leaves its link at `departure`.
    #[inline]
    fn forward(&mut self, packet: &Packet, departure: Time) {
        let hop = packet.hop();
        let (flow, number) = (event_flow(packet.flow), packet.number);
        let stop = self.stop_of(packet);
        if !stop.last {
            let time = departure + stop.delay;
            let event = if packet.marked() {
                Event::marked_arrival(time, hop + 1, flow, number)
            } else {
                Event::arrival(time, hop + 1, flow, number)
            };
            self.calendar.push_delivery(stop.lane, event);
        } else if packet.flow & 1 == 0 {
            let kind = if packet.marked() {
                Kind::MarkedDelivery
            } else {
                Kind::Delivery
            };
            let sender = &self.flows[flow as usize];
            let event = Event::new(departure + sender.return_delay, kind, flow, number);
            self.calendar.push_delivery(sender.lane, event);
        } else if let Some(acks) = self.unresponsive[packet.flow as usize >> 1].acks {
            self.send_back(acks, flow, number, departure);
        } else if !self.links[stop.link as usize].has_departures() {
            let sender = &mut self.unresponsive[packet.flow as usize >> 1];
            sender.counts.delivered += 1;
            sender.bytes_delivered += u64::from(packet.size);
        }
    }

    // --- Traces ---

    /// Records an arrival; says whether the traces take it.
    #[cold]
    fn record_arrival(&mut self, packet: &Packet, departure: Option<Time>) -> bool {
        let at = packet.flow as usize >> 1;
        let number = if packet.flow & 1 == 0 {
            self.flows[at].connection.full_number(packet.number)
        } else {
            self.unresponsive[at].counts.arrived
        };
        let flow = event_flow(packet.flow);
        self.record_packet(packet.arrival, flow, number, packet.size, departure)
    }

    /// The fate of a packet that waited: its departure, or none where it was dropped.
    #[cold]
    fn settle_record(&mut self, packet: &Packet, departure: Option<Time>) {
        let key = (packet.arrival, packet.flow, packet.number);
        let Some(index) = self.records.remove(&key) else {
            return;
        };
        let size = Bytes::new(u64::from(packet.size));
        let transmission = self.scenario.target().rate.time_to_send(size);
        let record = self
            .traces
            .as_mut()
            .and_then(|traces| traces.packets.get_mut(index));
        if let Some(record) = record {
            record.dropped = departure.is_none();
            record.marked = departure.is_some() && packet.marked();
            record.wait_s = departure.map_or(0.0, |departure| {
                departure
                    .saturating_sub(packet.arrival)
                    .saturating_sub(transmission)
                    .as_secs_f64()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equality::{run, scenario};
    use crate::link::Departures;
    use forebay_scenario::{Cancel, Metric, Seed};

    /// Two links; senders say that they understand marks.
    const CAPABLE: &str = r#"
[[links]]
name = "first"
rate = "21Mbps"
buffer = "1000p"
queue = { kind = "step", threshold = "5p" }
[[links]]
name = "second"
rate = "20Mbps"
buffer = "1000p"
target = true
[[flows]]
name = "capable"
count = 4
cca = "newreno"
recovery = "sack"
ecn = true
rtt = "20ms"
packet = "1000B"
path = ["first", "second"]
workload = "persistent"
initial_ssthresh = "60p"
[run]
warmup = "1s"
measure = "4s"
"#;

    #[test]
    fn flow_numbers_are_dense_and_come_back() {
        for flow in [0, 1, 70_000] {
            assert_eq!(event_flow(dense(flow, true)), flow);
            assert_eq!(event_flow(dense(LAST_FLOW - flow, false)), LAST_FLOW - flow);
            assert_ne!(dense(flow, true), dense(LAST_FLOW - flow, false));
        }
    }

    #[test]
    fn each_marking_discipline_marks_capable_packets() {
        for queue in ["red", "pie", "step", "codel", "fq_codel", "dualpi2"] {
            let text = CAPABLE.replace(
                "target = true",
                &format!("target = true\nqueue = \"{queue}\""),
            );
            let scenario = scenario(&text, &[]);
            for departures in [Departures::Folded, Departures::Events] {
                let report = run(&scenario, departures);
                let marks = report.value(Metric::MarkRate).unwrap_or(0.0);
                assert!(marks > 1e-4, "{queue} {marks}");
            }
        }
    }

    /// What is under way when the run stops at this point includes marked packets, on their way
    /// to the second link and to the receivers.
    #[test]
    fn a_mark_travels_with_the_packet() {
        let text = CAPABLE
            .replace("name = \"first\"", "name = \"first\"\ndelay = \"5ms\"")
            .replace("21Mbps", "19Mbps")
            // Senders that hardly yield, so that marks do not end.
            .replace("\"newreno\"", "{ kind = \"aimd\", decrease = 0.01 }");
        let scenario = scenario(&text, &[]);
        for departures in [Departures::Folded, Departures::Events] {
            let seed = Seed::default();
            let mut simulation = Simulation::with_departures(&scenario, seed, departures).unwrap();
            simulation.run(&Cancel::default()).unwrap();
            let (mut arrivals, mut deliveries, mut unmarked) = (0, 0, 0);
            while let Some(event) = simulation.calendar.pop() {
                match event.kind() {
                    kind if kind == Kind::MarkedDelivery as u8 => deliveries += 1,
                    kind if kind == Kind::MarkedArrival as u8 + 1 => arrivals += 1,
                    kind if kind == Kind::Delivery as u8 => unmarked += 1,
                    _ => {}
                }
            }
            assert!(
                arrivals > 0 && deliveries > 0,
                "{arrivals} {deliveries} {unmarked}"
            );
            let second = &simulation.links[1];
            assert_eq!(second.statistics().marks, 0);
        }
    }
}
