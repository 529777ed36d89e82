//! The memory of a run: bytes of each flow, link and packet. With them the memory demand of a run
//! is known beforehand.

use forebay_congestion::packet::{Capabilities, Requirements};
use forebay_congestion::telemetry::LinkTelemetry;
use forebay_discipline::{Classes, Packet, Storage, storage};
use forebay_scenario::{
    BufferLimit, DEFAULT_MEMORY, Distribution, FlowGroup, Footprint, Link, MARGIN, Medium, Need,
    Recovery, Reduction, Scenario, Waiting, Workload, controller_requirements,
};
use forebay_simulation::{
    Event, MAX_LANES, Unresponsive, in_turn, is_counted, states_load, takes_turns,
};
use forebay_units::{Bytes, Time};

use crate::ends::SimulatedFlow;

/// The memory of the packet engine.
pub(crate) struct PacketMemory;

/// A list that doubles as it grows has half as many places again as values, on the average, and
/// while it is copied half of them once more.
const GROWING: f64 = 2.25;

/// The same of one list of many flows, which the system moves by its pages and does not copy as it
/// grows.
const LISTED: f64 = 1.5;

/// Slots of a ring for each packet of its span, a power of two in all: from 1 to 2, 1 / ln 2 on the
/// average.
const RING: f64 = std::f64::consts::LOG2_E;

/// Seconds: the longest timeout, backed off.
const LONGEST_TIMEOUT: f64 = 120.0;

/// How many times its mean an exponential time hardly ever is.
const RARE: f64 = 30.0;

/// Bytes of each change of a rate: in what is drawn and in the steps made of it, for the link and
/// for its discipline, while these lists grow.
const CHANGE: f64 = 512.0;

/// Bytes of a block in a tree, whose nodes are half full at least.
const BLOCK: f64 = 128.0;

/// Bytes of a histogram for each doubling between its smallest and its largest number: 128 bins.
const OCTAVE: f64 = 1024.0;

impl Footprint for PacketMemory {
    /// Samples of the report, the calendar's wheels, and what a scenario is set up with.
    fn run(&self, scenario: &Scenario) -> f64 {
        256e3 + wheels(scenario)
    }

    /// Waits, windows, and times, goodputs and slowdowns of transfers; once more in the report. The
    /// bins between the smallest and the largest number are half of all.
    fn group(&self, scenario: &Scenario) -> f64 {
        let run = scenario.run();
        let ticks = run.end().as_picos().max(2).ilog2();
        let transfers = scenario
            .flows()
            .iter()
            .any(|group| !group.persistent() && group.responsive());
        let histograms = if transfers { 2.0 } else { 1.0 };
        4096.0 + histograms * f64::from(ticks.saturating_sub(5)) * OCTAVE
    }

    fn flow(&self, group: &FlowGroup) -> f64 {
        let growing = matches!(group.workload, Workload::OpenLoop { .. });
        let lists = size_of::<SimulatedFlow>() as f64
            + f64::from(u8::from(!group.reverse.is_empty())) * size_of::<Unresponsive>() as f64;
        lists * if growing { LISTED } else { 1.0 } + boxed(group)
    }

    fn source(&self, _group: &FlowGroup) -> f64 {
        1024.0
    }

    fn link(&self, scenario: &Scenario, at: usize, flows: f64) -> f64 {
        let link = &scenario.links()[at];
        let kept = storages(link);
        let each = kept
            .iter()
            .map(|kept| kept.empty as f64 + GROWING * flows * kept.flow as f64);
        let changes = link.most_changes(scenario.run().end()) * CHANGE;
        // Flows are numbered by kind, one kind between the other.
        2.0 * each.sum::<f64>() + self.group(scenario) + changes + blocks(link)
    }

    fn waiting(&self, scenario: &Scenario, at: usize, waiting: Waiting) -> f64 {
        let link = &scenario.links()[at];
        if let Some(most) = storages(link).iter().map(|kept| kept.packet).max() {
            let granted = match link.medium {
                // All that waits may go in one interval.
                Some(Medium::Docsis(_)) => {
                    size_of::<(Packet, [Time; 2])>() as f64 + event(scenario)
                }
                _ => 0.0,
            };
            return GROWING * waiting.packets * (most as f64 + granted);
        }
        // A departure is known at arrival: what goes on is an event already.
        let record = if takes_turns(link) || states_load(scenario, at) {
            size_of::<Packet>()
        } else if is_counted(scenario, at) {
            size_of::<(Time, u32)>()
        } else {
            0
        };
        GROWING * (waiting.go_on * event(scenario) + waiting.packets * record as f64)
    }

    fn under_way(&self, scenario: &Scenario) -> f64 {
        GROWING * event(scenario)
    }

    fn outstanding(&self, group: &FlowGroup) -> f64 {
        let sent = match noted(group) {
            PacketRecords::Nothing => 1.0,
            PacketRecords::Times => 16.0,
            PacketRecords::Rates => 64.0,
        };
        let unreported = if group.reverse.is_empty() { 0.0 } else { 16.0 };
        let telemetry = if controller_requirements(group).telemetry {
            // A list of at least four statements, and its place in a tree.
            BLOCK + size_of::<LinkTelemetry>() as f64 * (group.path.len() as f64).max(4.0)
        } else {
            0.0
        };
        // One ring at a time is copied to one of twice the size.
        let copied = 1.0 + 0.5 / (group.count as f64).max(1.0);
        RING * copied * (sent + unreported) + telemetry
    }
}

/// The largest number of flows at once: the flows that the scenario states, and those for which the
/// allowed memory has room. The lifetime of open-loop transfers is unknown beforehand.
pub(crate) fn most_flows(scenario: &Scenario, needs: &[Need], allowed: Option<Bytes>) -> usize {
    let allowed = allowed.unwrap_or(DEFAULT_MEMORY).get() as f64;
    let estimated: f64 = needs.iter().map(|need| need.bytes).sum();
    let each = scenario
        .flows()
        .iter()
        .map(|group| PacketMemory.flow(group));
    let more = (MARGIN * allowed - estimated).max(0.0) / each.fold(1.0, f64::max);
    (scenario.max_concurrent_flows() + more) as usize
}

/// The sender's records of each packet in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketRecords {
    Nothing,
    Times,
    Rates,
}

fn noted(group: &FlowGroup) -> PacketRecords {
    let needs = controller_requirements(group);
    let stack = &group.stack;
    let by_records = matches!(stack.recovery, Recovery::Fack | Recovery::Rack);
    if needs.samples == Capabilities::Rates {
        PacketRecords::Rates
    } else if needs != Requirements::default()
        || by_records
        || stack.timestamps
        || stack.pacing
        || stack.reduction() != Reduction::AtOnce
    {
        PacketRecords::Times
    } else {
        PacketRecords::Nothing
    }
}

/// The memory of a flow beside its place in the list: its controller, its sent packets and the
/// first of its rings, its network card and its receiver, its timers in a wheel that may have a
/// chunk for each, and its figures in the report.
fn boxed(group: &FlowGroup) -> f64 {
    let notes = match noted(group) {
        PacketRecords::Nothing => 0.0,
        PacketRecords::Times => 1024.0,
        PacketRecords::Rates => 4096.0,
    };
    512.0 + notes
}

/// The memory of a link's blocks, if it has some.
fn blocks(link: &Link) -> f64 {
    match (link.medium, &link.phy) {
        (Some(Medium::Cellular(cellular)), Some(phy)) => {
            BLOCK * cellular.max_in_flight(phy.largest)
        }
        _ => 0.0,
    }
}

/// The storage of a link's queues, one for each class if it has classes; empty where departures are
/// known at arrival.
fn storages(link: &Link) -> Vec<Storage> {
    if link.classes.is_empty() {
        let (name, parameters) = (link.discipline.name(), link.discipline.parameters());
        if link.medium.is_some() || link.opportunities().is_some() {
            return vec![Classes::storage_of_class(name, parameters)];
        }
        return storage(name, parameters).into_iter().collect();
    }
    let classes = link.classes.iter().map(|class| &class.discipline);
    classes
        .map(|chosen| Classes::storage_of_class(chosen.name(), chosen.parameters()))
        .collect()
}

/// Bytes of an event in the calendar: in a ring, or in the chunks of a wheel, of which one of each
/// bucket is not full.
fn event(scenario: &Scenario) -> f64 {
    if in_wheel(scenario) {
        1.2 * size_of::<Event>() as f64
    } else {
        size_of::<Event>() as f64
    }
}

/// Whether deliveries are in a wheel: where they have many delays.
fn in_wheel(scenario: &Scenario) -> bool {
    let groups = scenario.flows().iter();
    let lanes = groups.map(|group| {
        let delays = match &group.rtt {
            Distribution::Value(_) => 1,
            Distribution::Choice(list) => list.len() as u64,
            _ => group.count,
        };
        delays
            + match (&group.access, &group.packet) {
                (Some(_), Distribution::Value(_)) => 1,
                (Some(_), _) => group.count,
                (None, _) => u64::from(!group.responsive()) * group.count,
            }
    });
    let open = |group: &FlowGroup| matches!(group.workload, Workload::OpenLoop { .. });
    let joins = scenario.flows().iter().any(|group| {
        open(group)
            && (group.access.is_some() && !matches!(group.packet, Distribution::Value(_))
                || !matches!(group.rtt, Distribution::Value(_) | Distribution::Choice(_)))
    });
    let in_turn = scenario.links().iter().all(in_turn);
    joins || !in_turn || lanes.sum::<u64>() + 2 * scenario.links().len() as u64 > MAX_LANES as u64
}

/// Buckets of the wheels of deliveries and of timers: enough for the longest time ahead, each in
/// four bytes: twice as many as are needed, rounded up to a power of two, and the old ones while
/// they are copied.
fn wheels(scenario: &Scenario) -> f64 {
    const MOST: f64 = (1_u64 << 23) as f64;
    let buckets = |ahead: f64, width: f64| (4.5 * ahead / width).min(1.5 * MOST) * 4.0;
    let flows: u64 = scenario
        .flows()
        .iter()
        .filter(|group| group.responsive())
        .map(|group| group.count)
        .sum();
    let end = scenario.run().end().as_secs_f64();
    // None of a million times of an unbounded law is that many times as long as they are on the
    // average.
    let longest = |distribution: &Distribution<Time>| match distribution.supremum() {
        most if most.is_finite() => most.min(end),
        _ => (RARE * distribution.mean()).min(end),
    };
    let pauses = scenario.flows().iter().map(|group| {
        let own = match &group.workload {
            Workload::ClosedLoop { think, .. } => longest(think),
            Workload::Incast { pause, .. }
            | Workload::AllToAll { pause, .. }
            | Workload::RingAllReduce { pause, .. } => longest(pause),
            Workload::Periodic { every, .. } => longest(every),
            Workload::OnOff { off, .. } => longest(off),
            Workload::OpenLoop { interarrival, .. } => longest(interarrival),
            Workload::Poisson { .. } | Workload::Cbr { .. } => (RARE * between(group)).min(end),
            _ => 0.0,
        };
        own.max(longest(&group.start))
    });
    let pause = pauses.fold(0.0, f64::max);
    let timers = if flows > 256 {
        buckets(pause.max(LONGEST_TIMEOUT), 16.0 / flows as f64)
    } else {
        0.0
    };
    if !in_wheel(scenario) {
        return timers;
    }
    let extra = scenario.links().iter().map(Link::most_extra_delay);
    let extra = extra.fold(Time::ZERO, |sum, each| sum + each).as_secs_f64();
    let trips = scenario
        .flows()
        .iter()
        .map(|group| longest(&group.rtt) + extra);
    let rate = scenario.target().rate.as_bytes_per_second();
    let waits = scenario.links().iter().map(|link| match link.buffer {
        BufferLimit::Packets(count) => count as f64 * scenario.packet_bytes(),
        BufferLimit::Bytes(bytes) => bytes.get() as f64,
    } / link.lowest_rate().as_bytes_per_second());
    let trip = trips.fold(0.0, f64::max) + waits.fold(0.0, f64::max).min(end);
    let grain = (scenario.packet_bytes() / rate).max(1e-9);
    timers + buckets(trip.max(pause), 16.0 * grain)
}

/// Seconds between two packets of one source of an unresponsive group.
fn between(group: &FlowGroup) -> f64 {
    let rate = group.unresponsive_rate().unwrap_or(f64::INFINITY);
    8.0 * group.packet.mean() * group.count as f64 / rate
}
