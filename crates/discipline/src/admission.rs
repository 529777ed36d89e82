//! Admission control for one first-in-first-out queue: disciplines that decide when a packet
//! arrives. Links use it directly, because departures are then known at arrival.

use std::collections::VecDeque;

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameters};

use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::registry::Admission;

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet may wait.
    Accept,
    /// The packet may wait, with a congestion mark. Only for packets that can carry a mark.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// The state of the queue when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The packets that wait.
    pub backlog: Backlog,
    /// The time since which nothing is in transmission; `None` while a packet is.
    pub idle_since: Option<Time>,
    /// The time since which nothing of this queue waits or is in transmission. It equals
    /// `idle_since` unless the queue belongs to one of several classes.
    pub empty_since: Option<Time>,
    /// Whether the buffer is full: the packet will then be dropped whatever the verdict.
    pub full: bool,
}

/// A discipline whose departures are known at arrival.
pub trait AdmissionControl: Sized {
    /// The registry's description of the discipline.
    const DESCRIPTION: Description;

    /// Creates the discipline for a link.
    fn new(parameters: &Parameters, setting: &Setting) -> Self;

    /// Decides on an arriving packet. The link enforces the limit itself.
    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict;
}

/// A first-in-first-out queue that holds its packets, with an admission control.
#[derive(Clone, Debug)]
pub struct Fifo {
    admission: Admission,
    limit: Limit,
    packets: VecDeque<Packet>,
    backlog: Backlog,
}

impl Fifo {
    /// Creates an empty queue.
    pub fn new(admission: Admission, limit: Limit) -> Self {
        Self {
            admission,
            limit,
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    /// Handles the arrival of a packet: queues or discards it.
    #[inline]
    pub fn enqueue(&mut self, mut packet: Packet, port: &mut Port) {
        let idle = port.idle_since;
        let full = idle.is_none() && !self.limit.fits(self.backlog, packet.size);
        let arrival = Arrival {
            backlog: self.backlog,
            idle_since: idle,
            empty_since: port.empty_since(),
            full,
        };
        let verdict = self.admission.admit(&packet, &arrival, port);
        if full || verdict == Verdict::Drop {
            port.discard(packet);
            return;
        }
        if verdict == Verdict::Mark {
            port.mark(&mut packet);
        }
        self.backlog.add(packet.size);
        self.packets.push_back(packet);
    }

    /// Removes and returns the next packet to transmit.
    #[inline]
    pub fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    /// Size of the next packet to transmit, in bytes.
    #[inline]
    pub fn head(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.size)
    }

    /// Removes and returns the packet that arrived last.
    pub(crate) fn take_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    /// The packets that wait.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// An arrival at a busy link that finds `packets` packets of 1000 bytes and a free place.
    pub(crate) fn found(packets: u64) -> Arrival {
        Arrival {
            backlog: Backlog {
                packets,
                bytes: packets * 1000,
            },
            idle_since: None,
            empty_since: None,
            full: false,
        }
    }
}
