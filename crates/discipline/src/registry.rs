//! The registry of queue disciplines: one line per file, the default first.

use forebay_units::parameter::{Description, Parameters};

use crate::admission::{AdmissionControl, Arrival, Fifo, Verdict};
use crate::custom::CustomDiscipline;
use crate::packet::Packet;
use crate::port::{Backlog, Port, Setting};
use crate::queue_discipline::{PacketQueue, QueueDiscipline, QueueWork, Storage};

/// Defines the enums of all disciplines and their dispatch from the two lists of files.
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
            /// A discipline of a user.
            Custom(CustomDiscipline),
        }

        impl Queue {
            /// Runs `work` on the queue.
            pub fn work(&mut self, work: impl QueueWork) {
                match self {
                    Self::Fifo(queue) => work.run(queue),
                    $(Self::$queue(queue) => work.run(queue),)+
                    Self::Custom(queue) => work.run(queue),
                }
            }

            /// See [`QueueDiscipline::enqueue`].
            #[inline]
            pub fn enqueue(&mut self, packet: Packet, port: &mut Port) {
                match self {
                    Self::Fifo(queue) => queue.enqueue(packet, port),
                    $(Self::$queue(queue) => QueueDiscipline::enqueue(queue, packet, port),)+
                    Self::Custom(queue) => queue.enqueue(packet, port),
                }
            }

            /// See [`QueueDiscipline::dequeue`].
            #[inline]
            pub fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
                match self {
                    Self::Fifo(queue) => queue.dequeue(port),
                    $(Self::$queue(queue) => QueueDiscipline::dequeue(queue, port),)+
                    Self::Custom(queue) => queue.dequeue(port),
                }
            }

            /// See [`QueueDiscipline::backlog`].
            #[inline]
            pub fn backlog(&self) -> Backlog {
                match self {
                    Self::Fifo(queue) => queue.backlog(),
                    $(Self::$queue(queue) => QueueDiscipline::backlog(queue),)+
                    Self::Custom(queue) => queue.backlog(),
                }
            }
        }

        impl Queue {
            /// Removes a packet to make room for another: the last of a first-in-first-out queue,
            /// otherwise the one that would leave next.
            /// Classes remove it from the class with the most bytes.
            pub fn push_out(&mut self, port: &mut Port) -> Option<Packet> {
                match self {
                    Self::Fifo(queue) => return queue.take_last(),
                    Self::Classes(classes) => return classes.push_out_longest(port),
                    _ => {}
                }
                let marks = port.marks;
                let packet = self.dequeue(port);
                // The packet is dropped, so its mark does not count.
                port.marks = marks;
                packet
            }
        }

        static ALL: &[&Description] = &[
            $(&<$gate as AdmissionControl>::DESCRIPTION,)+
            $(&<$type as QueueDiscipline>::DESCRIPTION,)+
        ];

        /// The memory of the discipline `name`. `None` if it decides at arrival, and for an unknown
        /// name.
        pub fn storage(name: &str, parameters: &Parameters) -> Option<Storage> {
            $(
                if name == <$type as QueueDiscipline>::DESCRIPTION.name {
                    return Some(<$type as QueueDiscipline>::storage(parameters));
                }
            )+
            crate::custom::storage(name)
        }

        /// Creates the discipline `name` for a link; `None` for an unknown name.
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
            let queue = crate::custom::discipline(name, parameters, setting)?;
            Some(Discipline::Queued(Queue::Custom(queue)))
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
