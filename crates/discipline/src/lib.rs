//! Queue disciplines: one file each.
//!
//! A discipline declares whether departures are known when a packet arrives. One with a single
//! first-in-first-out queue that decides at arrival implements [`AdmissionControl`]; the engine
//! then needs no event for the departure. All others implement [`QueueDiscipline`] and hold the
//! packets that wait. A link asks for one by name:
//!
//! ```
//! use forebay_discipline::{Discipline, Limit, Setting, descriptions, discipline};
//! use forebay_units::parameter::Parameters;
//! use forebay_units::{Rate, Time};
//!
//! let setting = Setting {
//!     limit: Limit::Packets(100),
//!     rate: Rate::from_bits_per_second(10_000_000),
//!     steps: None,
//!     delay: Time::ZERO,
//!     packet: 1500.0,
//!     salt: 0,
//! };
//! for description in descriptions() {
//!     let parameters = Parameters::defaults(description.parameters);
//!     assert!(discipline(description.name, &parameters, &setting).is_some());
//! }
//! let named = |name| discipline(name, &Parameters::defaults(&[]), &setting);
//! assert!(matches!(named("droptail"), Some(Discipline::AtArrival(_))));
//! assert!(named("no such queue").is_none());
//! ```

mod admission;
mod cake;
mod choke;
mod classes;
mod cobalt;
mod codel;
pub mod custom;
mod delay_limit;
mod drophead;
mod droptail;
mod drr;
mod dualpi2;
mod dynamic_threshold;
mod flow_queues;
mod flow_scheduler;
mod fq_codel;
mod fq_pie;
mod packet;
mod pie;
mod port;
mod priority;
mod queue_discipline;
mod red;
#[cfg(test)]
mod reference_tests;
mod registry;
mod sfq;
mod step;
mod stfq;

pub use admission::{AdmissionControl, Arrival, Fifo, Verdict};
pub use classes::{ClassSetting, Classes, MAX_CLASSES};
pub use packet::{Ecn, Label, Packet};
pub use port::{Backlog, Limit, OfClass, Port, Setting, Shared};
pub use queue_discipline::{PacketQueue, QueueDiscipline, QueueWork, Storage};
pub use red::{AboveThreshold, DropCurve};
pub use registry::{Admission, Discipline, Queue, descriptions, discipline, storage};
