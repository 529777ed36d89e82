//! The registry of queue disciplines: one line per file, the default first.

use forebay_units::parameter::{Description, Parameters};

use crate::admission::{AdmissionControl, Arrival, Fifo, Verdict};
use crate::packet::Packet;
use crate::port::{Backlog, Port, Setting};

/// What a discipline keeps, in bytes, without the room by which containers are larger than what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Of each packet that waits.
    pub packet: usize,
    /// Of each number up to the largest of a flow that has sent.
    pub flow: usize,
    /// Of a queue where nothing has been sent.
    pub empty: usize,
}

impl Storage {
    /// Of first-in-first-out queues.
    pub(crate) const QUEUE: Self = Self {
        packet: size_of::<Packet>(),
        flow: 0,
        empty: 0,
    };

    /// The same with so many bytes more for each flow.
    pub(crate) const fn with_flow(self, bytes: usize) -> Self {
        Self {
            flow: self.flow + bytes,
            ..self
        }
    }

    /// Where there is a fixed number of queues into which flows are hashed.
    pub(crate) const fn of_queues(self, count: usize) -> Self {
        Self {
            flow: 0,
            empty: self.empty + count * self.flow,
            ..self
        }
    }

    /// The same of a discipline that may discard all that waits at once.
    pub(crate) const DISCARDING: Self = Self {
        packet: 2 * size_of::<Packet>(),
        ..Self::QUEUE
    };
}

/// A discipline that holds the packets waiting.
pub trait QueueDiscipline: Sized {
    /// What the registry knows of it.
    const DESCRIPTION: Description;

    /// The discipline with these parameters on a link.
    fn new(parameters: &Parameters, setting: &Setting) -> Self;

    /// What it keeps with these parameters.
    fn storage(_parameters: &Parameters) -> Storage {
        Storage::QUEUE
    }

    /// A packet arrives. What is dropped for it, or it itself, is discarded at the port. Where the
    /// link is idle, a packet that is accepted leaves at the [`Self::dequeue`] that follows.
    fn enqueue(&mut self, packet: Packet, port: &mut Port);

    /// The packet to transmit next; `None` only where nothing waits.
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet>;

    /// What waits.
    fn backlog(&self) -> Backlog;
}

/// What holds the packets that wait: a discipline that does, or a first-in-first-out queue behind one that
/// decides at arrival.
pub trait PacketQueue {
    /// See [`QueueDiscipline::enqueue`].
    fn enqueue(&mut self, packet: Packet, port: &mut Port);

    /// See [`QueueDiscipline::dequeue`].
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet>;

    /// See [`QueueDiscipline::backlog`].
    fn backlog(&self) -> Backlog;

    /// Size of the packet that is the next to go, whatever happens until then; none where that is only
    /// known when it is taken out.
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

/// Work on a queue, compiled for each of them: what is done many times asks once which it is.
pub trait QueueWork {
    /// Does it.
    fn run<Q: PacketQueue>(self, queue: &mut Q);
}

/// Makes the enums of all disciplines and their dispatch out of the two lists of files.
macro_rules! disciplines {
    (
        at_arrival: { $($admission:ident($gate:ty),)+ }
        queued: { $($queue:ident($type:ty),)+ }
    ) => {
        /// Any registered discipline whose departures are known at arrival.
        #[derive(Clone, Debug)]
        pub enum Admission {
            $(
                #[doc = concat!("See `", stringify!($gate), "`.")]
                $admission($gate),
            )+
        }

        impl Admission {
            /// See [`AdmissionControl::admit`].
            #[inline]
            pub fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
                match self {
                    $(Self::$admission(gate) => gate.admit(packet, arrival, port),)+
                }
            }
        }

        /// Any discipline that holds its packets.
        #[derive(Clone, Debug)]
        pub enum Queue {
            /// A discipline that decides at arrival, in the form that holds its packets.
            Fifo(Fifo),
            $(
                #[doc = concat!("See `", stringify!($type), "`.")]
                $queue($type),
            )+
        }

        impl Queue {
            /// Has work done on the queue.
            pub fn work(&mut self, work: impl QueueWork) {
                match self {
                    Self::Fifo(queue) => work.run(queue),
                    $(Self::$queue(queue) => work.run(queue),)+
                }
            }

            /// See [`QueueDiscipline::enqueue`].
            #[inline]
            pub fn enqueue(&mut self, packet: Packet, port: &mut Port) {
                match self {
                    Self::Fifo(queue) => queue.enqueue(packet, port),
                    $(Self::$queue(queue) => QueueDiscipline::enqueue(queue, packet, port),)+
                }
            }

            /// See [`QueueDiscipline::dequeue`].
            #[inline]
            pub fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
                match self {
                    Self::Fifo(queue) => queue.dequeue(port),
                    $(Self::$queue(queue) => QueueDiscipline::dequeue(queue, port),)+
                }
            }

            /// See [`QueueDiscipline::backlog`].
            #[inline]
            pub fn backlog(&self) -> Backlog {
                match self {
                    Self::Fifo(queue) => queue.backlog(),
                    $(Self::$queue(queue) => QueueDiscipline::backlog(queue),)+
                }
            }
        }

        impl Queue {
            /// A packet less, to make room for another: the last of a first-in-first-out queue, of
            /// others the one that would have gone next.
            pub(crate) fn push_out(&mut self, port: &mut Port) -> Option<Packet> {
                if let Self::Fifo(queue) = self {
                    return queue.take_last();
                }
                let marks = port.marks;
                let packet = self.dequeue(port);
                // It carries no mark to anybody.
                port.marks = marks;
                packet
            }
        }

        static ALL: &[&Description] = &[
            $(&<$gate as AdmissionControl>::DESCRIPTION,)+
            $(&<$type as QueueDiscipline>::DESCRIPTION,)+
        ];

        /// What the discipline `name` keeps, where it holds the packets that wait; `None` where it
        /// decides at arrival, and for an unknown name.
        pub fn storage(name: &str, parameters: &Parameters) -> Option<Storage> {
            $(
                if name == <$type as QueueDiscipline>::DESCRIPTION.name {
                    return Some(<$type as QueueDiscipline>::storage(parameters));
                }
            )+
            None
        }

        /// The discipline `name` on a link; `None` for an unknown name.
        pub fn discipline(
            name: &str,
            parameters: &Parameters,
            setting: &Setting,
        ) -> Option<Discipline> {
            $(
                if name == <$gate as AdmissionControl>::DESCRIPTION.name {
                    let gate = <$gate as AdmissionControl>::new(parameters, setting);
                    return Some(Discipline::AtArrival(Admission::$admission(gate)));
                }
            )+
            $(
                if name == <$type as QueueDiscipline>::DESCRIPTION.name {
                    let queue = <$type as QueueDiscipline>::new(parameters, setting);
                    return Some(Discipline::Queued(Queue::$queue(queue)));
                }
            )+
            None
        }
    };
}

disciplines! {
    at_arrival: {
        DropTail(crate::droptail::DropTail),
        Red(crate::red::Red),
        Pie(crate::pie::Pie),
        Step(crate::step::StepMarking),
        DynamicThreshold(crate::dynamic_threshold::DynamicThreshold),
        DelayLimit(crate::delay_limit::DelayLimit),
    }
    queued: {
        CoDel(crate::codel::CoDel),
        FqCoDel(crate::fq_codel::FqCoDel),
        FqPie(crate::fq_pie::FqPie),
        Cobalt(crate::cobalt::Cobalt),
        Cake(crate::cake::Cake),
        Drr(crate::drr::DeficitRoundRobin),
        Stfq(crate::stfq::StartTimeFairQueueing),
        Sfq(crate::sfq::StochasticFairnessQueueing),
        DualPi2(crate::dualpi2::DualPi2),
        Priority(crate::priority::StrictPriority),
        DropHead(crate::drophead::DropHead),
        Choke(crate::choke::Choke),
        Classes(crate::classes::Classes),
    }
}

/// A discipline on a link.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// Departures are known at arrival.
    AtArrival(Admission),
    /// Departures depend on what arrives later.
    Queued(Queue),
}

impl Discipline {
    /// The discipline in the form that holds its packets.
    pub fn queued(self, setting: &Setting) -> Queue {
        match self {
            Self::AtArrival(admission) => Queue::Fifo(Fifo::new(admission, setting.limit)),
            Self::Queued(queue) => queue,
        }
    }
}

/// All disciplines; the first is the default.
pub fn descriptions() -> &'static [&'static Description] {
    ALL
}
