//! The recorder: congestion events, samples, and the traces that the scenario's `[trace]` asks for.
//! The network and the hosts call it. Counts of links and flows are stored with them
//! ([`crate::link::statistics`], [`crate::flow`]).

use std::collections::BTreeMap;

use forebay_discipline::Ecn;
use forebay_scenario::{
    AcknowledgmentRecord, FlowGroup, FlowSample, HeaderRecord, PacketRecord, QueueSample, Recorded,
    Scenario, Segment, TracedGroup, Traces,
};
use forebay_units::{Bytes, Time};

use crate::calendar::event::Mark;
use crate::codepoint::codepoint;
use crate::ends::{Direction, Ends, Identity};
use crate::flow::{Flow, Flows, InFlight, Transit};
use crate::ids::{FlowId, GroupId, ResponsiveId};
use crate::link::Link;
use crate::link::transmitter::{Transmitter, Usage};
use crate::measure::congestion_events::CongestionEvents;
use crate::measure::loss_phases::LossPhases;
use crate::measure::probe::{PacketEvent, PacketEventKind, Probe};
use crate::measure::queue_chart::QueueChart;
use crate::measure::sampler::Sampler;
use crate::measure::transfers;

/// The records of a run.
#[derive(Debug)]
pub struct Recorder<'a> {
    scenario: &'a Scenario,
    pub(crate) congestion: CongestionEvents,
    /// Phases of the losses at the target link, where it is drop-tail.
    pub(crate) loss_phases: LossPhases,
    pub(crate) sampler: Sampler,
    /// Whether the warm-up has ended.
    warm: bool,
    traces: Option<Box<Traces>>,
    record_packets: bool,
    /// Probe of each packet at the target link, if there is one.
    probe: Option<Box<Probe>>,
    /// Chart of the target link, if there is one.
    chart: Option<Box<QueueChart>>,
    record_headers: bool,
    /// Transmitter of the target link, if each packet takes a time of its own.
    sender: Option<Transmitter>,
    /// Records of packets that wait for their fate.
    waiting: BTreeMap<RecordKey, usize>,
    /// Usage of the target link at the last sample for a trace.
    sampled: Usage,
    /// Number of each group's first flow over all groups.
    first_numbers: Vec<u32>,
}

/// A packet that waits: its arrival, its flow's key and its number.
type RecordKey = (Time, u32, u32);

/// A packet at the target link, and what became of it there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) packet: InFlight,
    pub(crate) outcome: PacketOutcome,
}

/// The outcome of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketOutcome {
    /// It leaves then, with or without a mark.
    Departs(Time, Mark),
    /// It waits for a discipline to decide.
    Waits,
    Dropped,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let apart = Time::from_secs_f64(scenario.harmonic_rtt().unwrap_or(0.1));
        let groups = scenario.flows();
        let mut next = 0;
        let first_numbers = groups.iter().map(|spec| {
            let first = next;
            next += spec.count as u32;
            first
        });
        Self {
            scenario,
            congestion: CongestionEvents::new(apart),
            loss_phases: LossPhases::default(),
            sampler: Sampler::new(scenario.run().measure, apart, groups.len()),
            warm: false,
            traces: None,
            record_packets: false,
            probe: None,
            chart: None,
            record_headers: false,
            sender: None,
            waiting: BTreeMap::new(),
            sampled: Usage::default(),
            first_numbers: first_numbers.collect(),
        }
    }

    /// Records over time what the scenario's `[trace]` asks for, at a link that sends as this one.
    pub(crate) fn record_traces(&mut self, target: &Link) {
        self.sender = target.transmitter().cloned();
        self.traces = Some(Box::new(Traces {
            groups: self.scenario.flows().iter().map(traced).collect(),
            capture: self.scenario.trace().capture,
            ..Traces::default()
        }));
        self.record_packets = self.traces_of(Recorded::Packets);
        self.record_headers = self.record_packets && self.scenario.trace().acknowledgments;
    }

    /// Whether each packet at the target link is to be seen here.
    pub fn records_packets(&self) -> bool {
        self.record_packets || self.probe.is_some() || self.chart.is_some()
    }

    /// Sets or removes the probe from now on.
    pub(crate) fn show(&mut self, probe: Option<Probe>) {
        self.probe = probe.map(Box::new);
    }

    /// The probe.
    pub(crate) fn probe(&mut self) -> Option<&mut Probe> {
        self.probe.as_deref_mut()
    }

    /// Draws a chart of the target link from now on.
    pub(crate) fn draw(&mut self, chart: QueueChart) {
        self.chart = Some(Box::new(chart));
    }

    /// The chart of the target link.
    pub(crate) fn chart(&mut self) -> Option<&mut QueueChart> {
        self.chart.as_deref_mut()
    }

    /// Whether what headers say is recorded, and acknowledgments that cross no link.
    #[inline]
    pub fn records_headers(&self) -> bool {
        self.record_headers
    }

    /// The traces over time.
    pub fn into_traces(self) -> Option<Box<Traces>> {
        self.traces
    }

    /// Whether the warm-up has ended.
    pub fn is_warm(&self) -> bool {
        self.warm
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn finish_warmup(&mut self) {
        self.warm = true;
        self.congestion.restart();
        self.loss_phases.restart();
    }

    /// A flow of this group loses a packet at the target link, `seen` being the last congestion
    /// event that hit it: says whether a new one does.
    pub(crate) fn loss(&mut self, group: GroupId, now: Time, seen: &mut u64) -> bool {
        self.scenario.flows()[group.index()].persistent() && self.congestion.loss(now, seen)
    }

    /// A transfer of a flow is complete at `completed`, or not by the end of the run.
    pub(crate) fn record_transfer<E: Ends>(&mut self, flow: &Flow<E>, completed: Option<Time>) {
        let persistent = self.scenario.flows()[flow.transit.group.index()].persistent();
        if let (Some(traces), false) = (&mut self.traces, persistent) {
            let record = transfers::record(flow, self.scenario.trace(), completed);
            traces.transfers.extend(record);
        }
    }

    // --- Samples for traces ---

    /// The interval of the first trace sample begins.
    pub(crate) fn begin_sampling(&mut self, now: Time, target: &Link) {
        self.sampled = target.usage(now);
    }

    /// Records one sample of each flow and of the target link: when the next one is due.
    pub(crate) fn sample<E: Ends>(
        &mut self,
        now: Time,
        target: &Link,
        flows: &Flows<E>,
    ) -> Option<Time> {
        self.sample_windows(now, flows);
        if self.traces_of(Recorded::Queue) || self.traces_of(Recorded::Utilization) {
            self.sample_queue(now, target);
        }
        let trace = self.scenario.trace();
        let goes_on = trace.until.is_none_or(|until| now <= until);
        goes_on.then(|| now.saturating_add(trace.every))
    }

    fn sample_windows<E: Ends>(&mut self, now: Time, flows: &Flows<E>) {
        if !self.traces_of(Recorded::Cwnd) {
            return;
        }
        let Some(traces) = &mut self.traces else {
            return;
        };
        let begun = |flow: &&Flow<E>| flow.transfer.since.is_some_and(|since| since <= now);
        let from = traces.flows.len();
        let numbers = &self.first_numbers;
        let samples = flows.responsive.iter().filter(begun);
        traces.flows.extend(samples.map(|flow| {
            let window = flow.ends.window();
            FlowSample {
                time_s: now.as_secs_f64(),
                flow: numbers[flow.transit.group.index()] + flow.index as u32,
                group: flow.transit.group.index() as u32,
                transfer: flow.transfer.number,
                cwnd_packets: window.cwnd,
                ssthresh_packets: window.ssthresh,
                rtt_s: flow.ends.smoothed_rtt(),
            }
        }));
        traces.flows[from..].sort_by_key(|sample| sample.flow);
    }

    fn sample_queue(&mut self, now: Time, target: &Link) {
        let usage = target.usage(now);
        let before = std::mem::replace(&mut self.sampled, usage);
        if let Some(traces) = &mut self.traces {
            traces.queue.push(QueueSample {
                time_s: now.as_secs_f64(),
                packets: target.waiting(now) as f64,
                delay_s: target.backlog(now).as_secs_f64(),
                utilization: usage.since(&before),
            });
        }
    }

    fn traces_of(&self, what: Recorded) -> bool {
        self.traces.is_some() && self.scenario.trace().record.contains(&what)
    }

    // --- Packets at the target link ---

    /// Records a packet's arrival where it is within the traced time.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_packet<E: Ends>(
        &mut self,
        Observed { packet, outcome }: Observed,
        flows: &mut Flows<E>,
    ) {
        let observed = Observed { packet, outcome };
        self.show_arrival(observed, flows);
        if !self.record_packets {
            return;
        }
        let now = packet.arrival;
        let header = self.record_headers.then(|| header(&packet, flows));
        if !self.traces_at(now) {
            return;
        }
        let seen = Seen::of(&packet, flows);
        let payload = self.payload(flows.transit(seen.connection));
        let wait = self.wait(&packet, outcome);
        let Some(traces) = &mut self.traces else {
            return;
        };
        if outcome == PacketOutcome::Waits {
            self.waiting.insert(key(&packet), traces.packets.len());
        }
        traces.headers.extend(header);
        traces.packets.push(PacketRecord {
            time_s: now.as_secs_f64(),
            flow: self.first_numbers[seen.group.index()] + seen.index,
            group: seen.group.index() as u32,
            connection: seen.connection.number().bits(),
            packet: seen.number,
            bytes: packet.size,
            segment: seen.segment,
            payload,
            dropped: outcome == PacketOutcome::Dropped,
            marked: matches!(outcome, PacketOutcome::Departs(_, Mark::Present)),
            wait_s: wait,
        });
    }

    /// The fate of a packet that has waited, where its arrival is recorded.
    #[inline(never)]
    pub(crate) fn settle_packet<E: Ends>(
        &mut self,
        Observed { packet, outcome }: Observed,
        now: Time,
        flows: &Flows<E>,
    ) {
        let at = match outcome {
            PacketOutcome::Departs(departure, _) => departure,
            PacketOutcome::Waits | PacketOutcome::Dropped => now,
        };
        self.record_event(Observed { packet, outcome }, at, flows);
        let Some(index) = self.waiting.remove(&key(&packet)) else {
            return;
        };
        let wait = self.wait(&packet, outcome);
        let traces = self.traces.as_mut();
        if let Some(record) = traces.and_then(|traces| traces.packets.get_mut(index)) {
            record.dropped = outcome == PacketOutcome::Dropped;
            record.marked = matches!(outcome, PacketOutcome::Departs(_, Mark::Present));
            record.wait_s = wait;
        }
    }

    /// A packet at the target link goes into transmission.
    pub(crate) fn start_packet(&mut self, now: Time) {
        if let Some(chart) = &mut self.chart {
            chart.start(now);
        }
    }

    /// Shows that a packet arrives, and what becomes of it where that is known.
    fn show_arrival<E: Ends>(&mut self, observed: Observed, flows: &Flows<E>) {
        let now = observed.packet.arrival;
        let arrival = Observed {
            outcome: PacketOutcome::Waits,
            ..observed
        };
        self.record_event(arrival, now, flows);
        match observed.outcome {
            PacketOutcome::Waits => {}
            PacketOutcome::Departs(departure, _) => self.record_event(observed, departure, flows),
            PacketOutcome::Dropped => self.record_event(observed, now, flows),
        }
    }

    fn record_event<E: Ends>(
        &mut self,
        Observed { packet, outcome }: Observed,
        time: Time,
        flows: &Flows<E>,
    ) {
        if let Some(chart) = &mut self.chart {
            match outcome {
                PacketOutcome::Waits => chart.arrive(time),
                PacketOutcome::Departs(_, Mark::Absent) => chart.depart(time, packet.size),
                PacketOutcome::Departs(_, Mark::Present) | PacketOutcome::Dropped => {
                    self.record_signal(Observed { packet, outcome }, time, flows);
                }
            }
        }
        if self.probe.as_deref_mut().is_some_and(Probe::has_room) {
            let event = self.event(Observed { packet, outcome }, time, flows);
            if let Some(probe) = &mut self.probe {
                probe.see(event);
            }
        }
    }

    /// A packet is lost, or leaves with a mark. One that nothing acknowledges has no number of its
    /// own: its event has that of the last arrival, which the packet may have waited for.
    #[inline(never)]
    fn record_signal<E: Ends>(&mut self, observed: Observed, time: Time, flows: &Flows<E>) {
        let mut event = self.event(observed, time, flows);
        let seen = Seen::of(&observed.packet, flows);
        if matches!(seen.connection, FlowId::Unresponsive(_)) {
            event.packet = 0;
        }
        if let Some(chart) = &mut self.chart {
            chart.signal(event);
        }
    }

    fn event<E: Ends>(
        &self,
        Observed { packet, outcome }: Observed,
        time: Time,
        flows: &Flows<E>,
    ) -> PacketEvent {
        let seen = Seen::of(&packet, flows);
        PacketEvent {
            time,
            kind: match outcome {
                PacketOutcome::Waits => PacketEventKind::Arrives,
                PacketOutcome::Departs(_, Mark::Absent) => PacketEventKind::Departs,
                PacketOutcome::Departs(_, Mark::Present) => PacketEventKind::DepartsMarked,
                PacketOutcome::Dropped => PacketEventKind::IsDropped,
            },
            flow: self.first_numbers[seen.group.index()] + seen.index,
            group: seen.group.index() as u32,
            packet: seen.number,
            segment: seen.segment,
            bytes: packet.size,
        }
    }

    /// Whether what happens then is traced.
    fn traces_at(&self, now: Time) -> bool {
        let trace = self.scenario.trace();
        now >= trace.from && trace.until.is_none_or(|until| now <= until)
    }

    /// Payload of the full packets of a flow.
    fn payload(&self, transit: &Transit) -> u32 {
        let header = self.scenario.flows()[transit.group.index()].header().get() as u32;
        transit.packet_bytes.saturating_sub(header)
    }

    /// How long a packet waits before it goes into transmission at the target link, in seconds.
    fn wait(&self, packet: &InFlight, outcome: PacketOutcome) -> f64 {
        let PacketOutcome::Departs(departure, _) = outcome else {
            return 0.0;
        };
        let sender = self.sender.as_ref();
        let begin = sender.map_or(departure, |sender| sender.start(departure, packet.size));
        begin.saturating_sub(packet.arrival).as_secs_f64()
    }
}

/// An acknowledgment that reaches its sender.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The flow whose packets it acknowledges.
    pub flow: ResponsiveId,
    /// When.
    pub now: Time,
    /// Which one it is.
    pub identity: Identity,
    /// Its bytes, headers included.
    pub bytes: u32,
    /// Its header.
    pub header: HeaderRecord,
}

impl Recorder<'_> {
    /// Records an acknowledgment as it passes the target link's router on its way back, where it
    /// does so without crossing the link.
    #[cold]
    #[inline(never)]
    pub fn record_acknowledgment<E: Ends>(&mut self, returned: Returned, flows: &Flows<E>) {
        let flow = &flows[returned.flow];
        let transit = &flow.transit;
        let Some(way) = self.way_from_router(flow) else {
            return;
        };
        let passed = returned.now.saturating_sub(way);
        if !self.traces_at(passed) {
            return;
        }
        let packet = PacketRecord {
            time_s: passed.as_secs_f64(),
            flow: self.first_numbers[transit.group.index()] + flow.index as u32,
            group: transit.group.index() as u32,
            connection: FlowId::Responsive(returned.flow).number().bits(),
            packet: returned.identity.number,
            bytes: returned.bytes,
            segment: returned.identity.segment,
            payload: self.payload(transit),
            dropped: false,
            marked: false,
            wait_s: 0.0,
        };
        if let Some(traces) = &mut self.traces {
            let header = returned.header;
            let record = AcknowledgmentRecord { packet, header };
            traces.acknowledgments.push(record);
        }
    }

    /// How long an acknowledgment takes from the target link's router to its sender: as long as a
    /// full packet takes the other way where nothing waits, but no longer than what is left of the
    /// round trip behind the last link. None where it does not come by, or crosses the link.
    fn way_from_router<E: Ends>(&self, flow: &Flow<E>) -> Option<Time> {
        let transit = &flow.transit;
        let spec = &self.scenario.flows()[transit.group.index()];
        let target = self.scenario.target_index();
        let before = spec.path.iter().position(|&link| link == target)?;
        if spec.reverse.contains(&target) {
            return None;
        }
        let size = Bytes::new(u64::from(transit.packet_bytes));
        let access = spec.access.as_ref();
        let access = access.map_or(Time::ZERO, |access| access.rate.time_to_send(size));
        let way = spec.path[..before].iter().fold(access, |way, &link| {
            let link = &self.scenario.links()[link];
            way.saturating_add(link.rate.time_to_send(size))
                .saturating_add(link.delay)
        });
        let behind = match flow.ends.delay_back() {
            Time::ZERO => transit.return_delay,
            back => back,
        };
        Some(way.min(behind))
    }
}

/// The header of a packet at the target link.
fn header<E: Ends>(packet: &InFlight, flows: &mut Flows<E>) -> HeaderRecord {
    let (of, direction) = match packet.flow {
        FlowId::Responsive(flow) => (flow, Direction::Data),
        FlowId::Unresponsive(flow) => match flows[flow].acks_of {
            Some(of) => (of, Direction::Acknowledgment),
            None => return HeaderRecord::Plain,
        },
    };
    flows[of].ends.header(packet.number, direction)
}

/// The identity of a packet and of its flow.
#[derive(Clone, Copy, Debug)]
struct Seen {
    group: GroupId,
    /// Index of the flow within its group.
    index: u32,
    /// The flow whose packet it is, or whose packets it acknowledges.
    connection: FlowId,
    number: u64,
    segment: Segment,
}

impl Seen {
    fn of<E: Ends>(packet: &InFlight, flows: &Flows<E>) -> Self {
        let (of, direction) = match packet.flow {
            FlowId::Responsive(flow) => (flow, Direction::Data),
            FlowId::Unresponsive(flow) => match flows[flow].acks_of {
                Some(of) => (of, Direction::Acknowledgment),
                None => return Self::unanswered(packet, &flows[flow].transit),
            },
        };
        let flow = &flows[of];
        let Identity { number, segment } = flow.ends.identify(packet.number, direction);
        Self {
            group: flow.transit.group,
            index: flow.index as u32,
            connection: FlowId::Responsive(of),
            number,
            segment,
        }
    }

    /// A packet without acknowledgment.
    fn unanswered(packet: &InFlight, transit: &Transit) -> Self {
        Self {
            group: transit.group,
            index: 0,
            connection: packet.flow,
            number: transit.arrived,
            segment: Segment::Data,
        }
    }
}

fn key(packet: &InFlight) -> RecordKey {
    (packet.arrival, packet.flow.key(), packet.number)
}

/// The properties of a group's packets that a capture needs.
fn traced(spec: &FlowGroup) -> TracedGroup {
    let responsive = spec.responsive();
    TracedGroup {
        responsive,
        header: spec.header().get() as u32,
        ecn: match codepoint(spec) {
            Ecn::NotCapable => 0,
            Ecn::Scalable => 1,
            Ecn::Classic => 2,
        },
        selective: spec.stack.recovery.is_selective(),
        receive_window: spec.stack.receive_window.map(|packets| packets as u64),
    }
}
