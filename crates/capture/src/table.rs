//! The live connections, in bounded number. They are found by interface, addresses and ports, and
//! end in the order in which they fell silent.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use crate::connection::{Connection, TimeoutClass};
use crate::packet::Packet;

/// Interface, protocol and both ends in sorted order, so both directions share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    ends: [(u128, u16); 2],
    /// Interface, protocol, and whether the addresses are IPv6. If the capture states the
    /// direction, it also says whether packets of the greater end come in. Therefore traffic that
    /// passes a host twice is two connections.
    kind: u64,
}

impl Key {
    /// The key of a packet, and whether the packet comes from the greater end.
    pub(crate) fn of(packet: &Packet) -> (Self, bool) {
        let flow = &packet.flow;
        let (source, six) = number(flow.source);
        let (destination, _) = number(flow.destination);
        let from = (source, flow.source_port);
        let to = (destination, flow.destination_port);
        let greater = from > to;
        let passing = match packet.inbound {
            None => 0,
            Some(inbound) => 1 + u64::from(inbound == greater),
        };
        let kind = u64::from(packet.interface) << 16
            | u64::from(flow.protocol) << 8
            | passing << 1
            | u64::from(six);
        let ends = if greater { [to, from] } else { [from, to] };
        (Self { ends, kind }, greater)
    }
}

/// Finds the same stream at two interfaces without storing its addresses.
#[derive(Debug, Default)]
pub(crate) struct Paths(RandomState);

impl Paths {
    /// The hashes of half 0 and half 1 of a connection, from its key and whether half 0 is the
    /// greater end.
    pub(crate) fn of(&self, key: &Key, greater: bool) -> [u64; 2] {
        // The hash omits the interface and the side of a host at which the packet was seen.
        let flow = (key.ends, key.kind as u16 >> 8, key.kind & 1);
        [greater, !greater].map(|greater| self.0.hash_one((flow, greater)))
    }
}

fn number(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(it) => (u128::from(u32::from(it)), false),
        IpAddr::V6(it) => (u128::from(it), true),
    }
}

/// Placeholder for a missing slot.
const NONE: u32 = u32::MAX;

/// Maximum silence of a connection in nanoseconds, by class.
const IDLE: [u64; 3] = [60_000_000_000, 300_000_000_000, 5_000_000_000];

/// Live connections.
#[derive(Debug)]
pub(crate) struct Table {
    found: HashMap<Key, u32, RandomState>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// First and last slot of each class, in the order of their last packets.
    queues: [(u32, u32); 3],
    most: usize,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    /// Whether half 0 is the greater end.
    greater: bool,
    last: u64,
    timeout_class: usize,
    before: u32,
    behind: u32,
    connection: Option<Box<Connection>>,
}

/// A connection and the half that sent a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketOrigin {
    pub(crate) slot: u32,
    pub(crate) direction: usize,
}

impl Table {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            found: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            queues: [(NONE, NONE); 3],
            most: most.clamp(1, NONE as usize - 1),
        }
    }

    /// The connection of a packet, and the half that sent it.
    pub(crate) fn find(&self, key: &Key, greater: bool) -> Option<PacketOrigin> {
        let slot = *self.found.get(key)?;
        let direction = usize::from(self.slots[slot as usize].greater != greater);
        Some(PacketOrigin { slot, direction })
    }

    /// Adds a connection whose first packet is of half 0. There must be room.
    pub(crate) fn insert(
        &mut self,
        key: Key,
        greater: bool,
        connection: Connection,
    ) -> PacketOrigin {
        let slot = Slot {
            key,
            greater,
            last: 0,
            timeout_class: usize::MAX,
            before: NONE,
            behind: NONE,
            connection: Some(Box::new(connection)),
        };
        let place = if let Some(free) = self.free.pop() {
            self.slots[free as usize] = slot;
            free
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        self.found.insert(key, place);
        PacketOrigin {
            slot: place,
            direction: 0,
        }
    }

    /// The connection of a slot; `None` if it has ended.
    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot as usize)?.connection.as_deref_mut()
    }

    /// Moves a connection to the end of its queue, because a packet of it was seen.
    pub(crate) fn touch(&mut self, slot: u32, time: u64) {
        self.unlink(slot);
        let it = &mut self.slots[slot as usize];
        let Some(connection) = &it.connection else {
            return;
        };
        let timeout_class = match connection.timeout_class() {
            TimeoutClass::Datagrams => 0,
            TimeoutClass::Open => 1,
            TimeoutClass::Closed => 2,
        };
        let (first, last) = self.queues[timeout_class];
        (it.last, it.timeout_class, it.before, it.behind) = (time, timeout_class, last, NONE);
        if last == NONE {
            self.queues[timeout_class] = (slot, slot);
        } else {
            self.slots[last as usize].behind = slot;
            self.queues[timeout_class] = (first, slot);
        }
    }

    /// Removes a connection that has been silent for too long.
    pub(crate) fn idle(&mut self, now: u64) -> Option<Box<Connection>> {
        for (&(first, _), idle) in self.queues.iter().zip(IDLE) {
            if first != NONE && now.saturating_sub(self.slots[first as usize].last) > idle {
                return self.remove(first);
            }
        }
        None
    }

    /// Removes the connection that has been silent for the longest time, if there is no room.
    pub(crate) fn evicted(&mut self) -> Option<Box<Connection>> {
        if self.found.len() < self.most {
            return None;
        }
        self.oldest()
    }

    /// Removes the connection that has been silent for the longest time.
    pub(crate) fn oldest(&mut self) -> Option<Box<Connection>> {
        let firsts = self.queues.iter().map(|&(first, _)| first);
        let oldest = firsts
            .filter(|&first| first != NONE)
            .min_by_key(|&first| self.slots[first as usize].last)?;
        self.remove(oldest)
    }

    /// Removes the connection of a slot.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Box<Connection>> {
        self.unlink(slot);
        let it = &mut self.slots[slot as usize];
        let connection = it.connection.take()?;
        self.found.remove(&it.key);
        self.free.push(slot);
        Some(connection)
    }

    /// Number of live connections.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    fn unlink(&mut self, slot: u32) {
        let it = &mut self.slots[slot as usize];
        let (before, behind, timeout_class) = (it.before, it.behind, it.timeout_class);
        let Some(&(first, last)) = self.queues.get(timeout_class) else {
            return;
        };
        it.timeout_class = usize::MAX;
        if before != NONE {
            self.slots[before as usize].behind = behind;
        }
        if behind != NONE {
            self.slots[behind as usize].before = before;
        }
        let first = if first == slot { behind } else { first };
        let last = if last == slot { before } else { last };
        self.queues[timeout_class] = (first, last);
    }
}
