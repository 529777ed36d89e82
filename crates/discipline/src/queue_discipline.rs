//! The traits of disciplines that hold their packets, and their memory.
//!
//! A discipline that decides at arrival is an [`AdmissionControl`](crate::AdmissionControl)
//! instead.

use forebay_units::parameter::{Description, Parameters};

use crate::admission::Fifo;
use crate::packet::Packet;
use crate::port::{Backlog, Port, Setting};

/// The memory of a discipline in bytes, without the spare capacity of its containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Bytes per waiting packet.
    pub packet: usize,
    /// Bytes per flow number up to the largest number of a flow that has sent.
    pub flow: usize,
    /// Bytes of a queue before its first packet.
    pub empty: usize,
}

impl Storage {
    /// Memory of a first-in-first-out queue.
    pub(crate) const QUEUE: Self = Self {
        packet: size_of::<Packet>(),
        flow: 0,
        empty: 0,
    };

    /// The same with `bytes` more for each flow.
    pub(crate) const fn with_flow(self, bytes: usize) -> Self {
        Self {
            flow: self.flow + bytes,
            ..self
        }
    }

    /// The memory if flows are hashed into a fixed number of queues.
    pub(crate) const fn of_queues(self, count: usize) -> Self {
        Self {
            flow: 0,
            empty: self.empty + count * self.flow,
            ..self
        }
    }

    /// The memory of a discipline that may discard all waiting packets at once.
    pub(crate) const DISCARDING: Self = Self {
        packet: 2 * size_of::<Packet>(),
        ..Self::QUEUE
    };
}

/// A discipline that holds the waiting packets.
pub trait QueueDiscipline: Sized {
    /// The registry's description of the discipline.
    const DESCRIPTION: Description;

    /// Creates the discipline for a link.
    fn new(parameters: &Parameters, setting: &Setting) -> Self;

    /// The memory that the discipline needs with these parameters.
    fn storage(_parameters: &Parameters) -> Storage {
        Storage::QUEUE
    }

    /// Handles the arrival of a packet. Any packet that is dropped, the arrival included, is
    /// discarded at the port. If the link is idle, an accepted packet leaves at the
    /// [`Self::dequeue`] that follows.
    fn enqueue(&mut self, packet: Packet, port: &mut Port);

    /// Removes and returns the packet to transmit next; `None` only if nothing waits.
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet>;

    /// The packets that wait.
    fn backlog(&self) -> Backlog;
}

/// A queue of waiting packets. It is a discipline that holds them, or a first-in-first-out queue
/// with an admission control.
pub trait PacketQueue {
    /// See [`QueueDiscipline::enqueue`].
    fn enqueue(&mut self, packet: Packet, port: &mut Port);

    /// See [`QueueDiscipline::dequeue`].
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet>;

    /// See [`QueueDiscipline::backlog`].
    fn backlog(&self) -> Backlog;

    /// Size in bytes of the packet that leaves next, whatever happens until then. `None` if it is
    /// only known at the departure.
    fn head(&self) -> Option<u32> {
        None
    }
}

impl<Q: QueueDiscipline> PacketQueue for Q {
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        QueueDiscipline::enqueue(self, packet, port);
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        QueueDiscipline::dequeue(self, port)
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn backlog(&self) -> Backlog {
        QueueDiscipline::backlog(self)
    }
}

impl PacketQueue for Fifo {
    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        self.enqueue(packet, port);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        self.dequeue(port)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog()
    }

    #[inline]
    fn head(&self) -> Option<u32> {
        self.head()
    }
}

/// Work on a queue, compiled for each discipline. Repeated work then selects the discipline only
/// once.
pub trait QueueWork {
    /// Does the work on `queue`.
    fn run<Q: PacketQueue>(self, queue: &mut Q);
}
