//! Builds an [`Observation`] from packets, one after another. The memory grows with the number of
//! live connections.

use crate::bins::Amount;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::direction_inference::DirectionInference;
use crate::finished::{FinishedStreams, StreamLimits};
use crate::gaps::Gaps;
use crate::load::Load;
use crate::observation::{Direction, Observation, ObservedInterface};
use crate::packet::{Packet, Transport};
use crate::queue::{Late, Owner, Queue, QueueEvent};
use crate::stream::Ending;
use crate::table::{Key, PacketOrigin, Paths, Table};

/// Maximum number of observed interfaces.
const MOST_PORTS: usize = 16;

/// Settings of an observation and limits of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Interfaces before and after a queue, if a queue was captured on both sides.
    pub queue: Option<(u16, u16)>,
    /// Maximum number of live connections.
    pub alive: usize,
    /// Number of ended streams that are stored.
    pub stream_limits: StreamLimits,
    /// Maximum memory of the time series of all streams, in bytes.
    pub series_memory: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue: None,
            alive: 3 << 16,
            stream_limits: StreamLimits::default(),
            series_memory: Budget::default().windows_most,
        }
    }
}

/// Takes packets in the order of a capture and measures connections, loads and queues.
#[derive(Debug)]
pub struct Observer {
    settings: Settings,
    ports: Vec<Port>,
    /// Index of each interface in `ports`; a larger value if the interface is not observed.
    places: Vec<u8>,
    table: Table,
    paths: Paths,
    queue: Option<Queue>,
    budget: Budget,
    packets: u64,
    between: Option<(u64, u64)>,
    connections: u64,
    max_concurrent_flows: u64,
    evicted: u64,
    unobserved: Amount,
}

/// An observed interface.
#[derive(Debug)]
struct Port {
    number: u16,
    clock: Clock,
    direction_inference: DirectionInference,
    ways: [Way; 2],
}

/// Measurements of the packets from one side of an interface.
#[derive(Debug)]
struct Way {
    load: Load,
    gaps: Gaps,
    finished: FinishedStreams,
    other: Amount,
}

impl Observer {
    /// An observer without packets.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ports: Vec::new(),
            places: Vec::new(),
            table: Table::new(settings.alive),
            paths: Paths::default(),
            queue: None,
            budget: Budget {
                windows_most: settings.series_memory,
                ..Budget::default()
            },
            packets: 0,
            between: None,
            connections: 0,
            max_concurrent_flows: 0,
            evicted: 0,
            unobserved: Amount::default(),
        }
    }

    /// Processes the next packet.
    pub fn observe(&mut self, packet: &Packet) {
        self.packets += 1;
        let Some(place) = self.place(packet) else {
            self.unobserved.add(packet.bytes);
            return;
        };
        let time = self.ports[place].clock.read(packet.time);
        self.ports[place].direction_inference.hear(packet);
        let (first, latest) = self.between.unwrap_or((time, time));
        self.between = Some((first.min(time), latest.max(time)));
        let (side, owner) = match packet.transport {
            Transport::Tcp(_) | Transport::Udp(_) => {
                let (side, owner) = self.connect(place, time, packet);
                (side, Some(owner))
            }
            Transport::Other | Transport::Fragment => {
                let port = &mut self.ports[place];
                let side = port.direction_inference.of(packet);
                port.ways[usize::from(side)].other.add(packet.bytes);
                (side, None)
            }
        };
        let way = &mut self.ports[place].ways[usize::from(side)];
        way.load.add(time, packet);
        way.gaps.add(time, packet.bytes);
        self.cross(time, packet, side, owner);
        self.tidy(latest.max(time));
    }

    /// The result of all packets.
    pub fn finish(mut self) -> Observation {
        let (mut crossed, late) = match self.queue.take() {
            Some(queue) => {
                let (crossed, late) = queue.finish(&mut telling(&mut self.table));
                (Some(crossed), late)
            }
            None => (None, Late::default()),
        };
        while let Some(connection) = self.table.oldest() {
            self.end(*connection, Ending::Capture);
        }
        let before = self.settings.queue.map(|(before, _)| before);
        let mut interfaces = Vec::new();
        for port in self.ports {
            let numbered = port.number;
            let interface = port.finish();
            let mut interface = if before == Some(numbered) {
                with_late_signals(interface, &late)
            } else {
                interface
            };
            let [first, second] = &interface.directions;
            if first.load.total.bytes < second.load.total.bytes {
                interface.directions.swap(0, 1);
                interface.inbound = interface.inbound.map(|it| 1 - it);
                if let Some(crossed) = crossed.as_mut().filter(|_| before == Some(numbered)) {
                    crossed.directions.swap(0, 1);
                }
            }
            interfaces.push(interface);
        }
        interfaces.sort_by_key(|it| it.number);
        Observation {
            packets: self.packets,
            between: self.between,
            interfaces,
            queue: crossed,
            connections: self.connections,
            max_concurrent_flows: self.max_concurrent_flows,
            evicted: self.evicted,
            unobserved: self.unobserved,
        }
    }

    /// The index of a packet's interface in `ports`; `None` if it is not observed.
    fn place(&mut self, packet: &Packet) -> Option<usize> {
        let interface = usize::from(packet.interface);
        if self.places.len() <= interface {
            self.places.resize(interface + 1, u8::MAX);
        }
        let place = usize::from(self.places[interface]);
        if place < self.ports.len() {
            return Some(place);
        }
        if self.ports.len() == MOST_PORTS {
            return None;
        }
        let origin = self.between.map_or(packet.time, |(first, _)| first);
        let stream_limits = self.settings.stream_limits;
        self.places[interface] = self.ports.len() as u8;
        self.ports
            .push(Port::new(packet.interface, origin, stream_limits));
        Some(self.ports.len() - 1)
    }

    /// Passes a packet to its connection. Returns the side that it comes from, and its stream.
    fn connect(&mut self, place: usize, time: u64, packet: &Packet) -> (u8, Owner) {
        let (key, greater) = Key::of(packet);
        let mut found = self.table.find(&key, greater);
        if let Some(PacketOrigin { slot, direction }) = found
            && let Some(connection) = self.table.get(slot)
            && connection.is_reused_by(direction, packet)
        {
            self.remove(slot, Ending::Reused);
            found = None;
        }
        let PacketOrigin { slot, direction } = found.unwrap_or_else(|| {
            while let Some(connection) = self.table.evicted() {
                self.evicted += 1;
                self.end(*connection, Ending::Evicted);
            }
            let side = self.ports[place].direction_inference.of(packet);
            let protocol = packet.flow.protocol;
            let (number, interface) = (self.connections, packet.interface);
            self.connections += 1;
            let paths = self.paths.of(&key, greater);
            let connection = Connection::new(number, interface, protocol, paths, side);
            let inserted = self.table.insert(key, greater, connection);
            self.max_concurrent_flows = self.max_concurrent_flows.max(self.table.len() as u64);
            inserted
        });
        let mut owner = Owner {
            slot,
            number: 0,
            direction: direction as u8,
        };
        let mut side = 0;
        let mut starts = false;
        if let Some(connection) = self.table.get(slot) {
            side = connection.side ^ direction as u8;
            owner.number = connection.number;
            starts = connection.take(time, direction, packet, &mut self.budget);
        }
        if starts {
            let way = &mut self.ports[place].ways[usize::from(side)];
            way.finished.start(time);
        }
        self.table.touch(slot, time);
        (side, owner)
    }

    /// Passes a packet to the queue, if it is at one of the queue's interfaces.
    fn cross(&mut self, time: u64, packet: &Packet, side: u8, owner: Option<Owner>) {
        let Some((before, after)) = self.settings.queue else {
            return;
        };
        if packet.interface != before && packet.interface != after {
            return;
        }
        let origin = self.between.map_or(time, |(first, _)| first);
        let queue = self.queue.get_or_insert_with(|| Queue::new(origin));
        let tell = &mut telling(&mut self.table);
        if packet.interface == before {
            queue.enter(time, packet, side, owner, tell);
        } else {
            queue.leave(time, packet, tell);
        }
    }

    /// Ends connections that were silent for too long. Drops time series if memory is short.
    fn tidy(&mut self, now: u64) {
        while let Some(connection) = self.table.idle(now) {
            self.end(*connection, Ending::Idle);
        }
        while !self.budget.windows_left() {
            let finished = self.ports.iter_mut().flat_map(|port| &mut port.ways);
            let smallest = finished
                .filter_map(|way| Some((way.finished.smallest_series()?, way)))
                .min_by_key(|&(bytes, _)| bytes);
            let Some((_, way)) = smallest else {
                return;
            };
            way.finished.forget_smallest(&mut self.budget);
        }
    }

    fn remove(&mut self, slot: u32, ending: Ending) {
        if let Some(connection) = self.table.remove(slot) {
            self.end(*connection, ending);
        }
    }

    /// Stores the streams of an ended connection.
    fn end(&mut self, connection: Connection, ending: Ending) {
        let place = self.places[usize::from(connection.interface)];
        let port = &mut self.ports[usize::from(place)];
        for ended in connection.finish(ending, &mut self.budget) {
            let finished = &mut port.ways[usize::from(ended.side)].finished;
            match ended.stream {
                Some(stream) => finished.keep(stream, &mut self.budget),
                None => finished.bare(ended.carried),
            }
        }
    }
}

impl Port {
    fn new(number: u16, origin: u64, stream_limits: StreamLimits) -> Self {
        let way = || Way {
            load: Load::new(origin),
            gaps: Gaps::default(),
            finished: FinishedStreams::new(stream_limits),
            other: Amount::default(),
        };
        Self {
            number,
            clock: Clock::default(),
            direction_inference: DirectionInference::default(),
            ways: [way(), way()],
        }
    }

    fn finish(self) -> ObservedInterface {
        let evidence = self.direction_inference.evidence();
        ObservedInterface {
            number: self.number,
            clock: self.clock.steps(),
            evidence,
            inbound: (evidence.by_capture > 0).then_some(1),
            directions: self.ways.map(|way| Direction {
                load: way.load,
                tick: way.gaps.tick(),
                gaps: way.gaps.finish(),
                streams: way.finished.finish(),
                other: way.other,
            }),
        }
    }
}

/// A function that reports drops and marks to live streams. It returns whether the stream is live.
fn telling(table: &mut Table) -> impl FnMut(Owner, QueueEvent) -> bool {
    move |owner, fate| {
        let connection = table.get(owner.slot);
        let Some(connection) = connection.filter(|it| it.number == owner.number) else {
            return false;
        };
        let direction = &mut connection.directions[usize::from(owner.direction)];
        match fate {
            QueueEvent::Dropped => direction.dropped += 1,
            QueueEvent::Marked => direction.marked_inside += 1,
        }
        true
    }
}

/// Adds to the streams the drops and marks that became known after their ends.
fn with_late_signals(mut interface: ObservedInterface, late: &Late) -> ObservedInterface {
    for (side, direction) in (0..).zip(&mut interface.directions) {
        let streams = &mut direction.streams;
        for stream in streams.long.iter_mut().chain(&mut streams.sample) {
            if let Some((dropped, marked)) = late.get(&(stream.connection, side)) {
                stream.dropped += dropped;
                stream.marked_inside += marked;
            }
        }
    }
    interface
}
