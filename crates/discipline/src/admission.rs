//! Disciplines that decide when a packet arrives, for one first-in-first-out queue.

use std::collections::VecDeque;

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameters};

use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::registry::Admission;

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may wait.
    Accept,
    /// It may wait, with a congestion mark. Only for packets that can carry one.
    Mark,
    /// It is dropped.
    Drop,
}

/// What an arrival finds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What waits.
    pub backlog: Backlog,
    /// Since when nothing is in transmission; none while something is.
    pub idle_since: Option<Time>,
    /// Since when nothing of this queue waits or is in transmission: the same, but for one of several
    /// classes at the link.
    pub empty_since: Option<Time>,
    /// Whether there is no room: the packet will be dropped whatever the verdict.
    pub full: bool,
}

/// A discipline whose departures are known at arrival.
pub trait AdmissionControl: Sized {
    /// What the registry knows of it.
    const DESCRIPTION: Description;

    /// The discipline with these parameters on a link.
    fn new(parameters: &Parameters, setting: &Setting) -> Self;

    /// Decides on an arriving packet. The limit itself is enforced by the link.
    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict;
}

/// A first-in-first-out queue that holds its packets, behind any admission control.
#[derive(Clone, Debug)]
pub struct Fifo {
    admission: Admission,
    limit: Limit,
    packets: VecDeque<Packet>,
    backlog: Backlog,
}

impl Fifo {
    /// An empty queue.
    pub fn new(admission: Admission, limit: Limit) -> Self {
        Self {
            admission,
            limit,
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    /// A packet arrives.
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

    /// The next packet to transmit.
    #[inline]
    pub fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    /// Size of the next packet to transmit.
    #[inline]
    pub fn head(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.size)
    }

    /// The last packet to have come, taken out again.
    pub(crate) fn take_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    /// What waits.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// An arrival that finds so many packets of 1000 bytes at a busy link, and room.
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
