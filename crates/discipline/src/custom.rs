//! Queue disciplines of users, which a program registers while it runs. A scenario names them by
//! their file; the registry of built-in disciplines asks here for names that it does not know.

use std::fmt;
use std::sync::Arc;

use forebay_units::custom::Registry;
use forebay_units::parameter::{Description, Parameters};

use crate::packet::Packet;
use crate::port::{Backlog, Port, Setting};
use crate::queue_discipline::{PacketQueue, Storage};

/// Memory of a waiting packet beside its record, in bytes: an object of the user's language.
const OBJECT: usize = 256;

/// The methods of a queue discipline whose type is not known here.
pub trait CustomQueue: Send + fmt::Debug {
    /// See [`QueueDiscipline::enqueue`](crate::QueueDiscipline::enqueue).
    fn enqueue(&mut self, packet: Packet, port: &mut Port);
    /// See [`QueueDiscipline::dequeue`](crate::QueueDiscipline::dequeue).
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet>;
    /// See [`QueueDiscipline::backlog`](crate::QueueDiscipline::backlog).
    fn backlog(&self) -> Backlog;
    /// A copy with its own state.
    fn copied(&self) -> Box<dyn CustomQueue>;
}

/// A registered discipline of a user on a link.
#[derive(Debug)]
pub struct CustomDiscipline(Box<dyn CustomQueue>);

impl Clone for CustomDiscipline {
    fn clone(&self) -> Self {
        Self(self.0.copied())
    }
}

impl PacketQueue for CustomDiscipline {
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        self.0.enqueue(packet, port);
    }

    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        self.0.dequeue(port)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

/// Makes the discipline of a link.
pub type Make = Arc<dyn Fn(&Parameters, &Setting) -> Box<dyn CustomQueue> + Send + Sync>;

/// A discipline of a user in the registry.
#[derive(Clone)]
pub struct Custom {
    /// Name and parameters.
    pub description: &'static Description,
    /// Makes the discipline of a link. None in a process that must not run the code.
    pub make: Option<Make>,
}

static KNOWN: Registry<Custom> = Registry::new();

/// Registers a discipline under its name. It replaces one of the same name.
pub fn register(custom: Custom) {
    KNOWN.register(custom.description.name, custom);
}

/// The registered discipline of this name.
pub fn registered(name: &str) -> Option<Custom> {
    KNOWN.find(name, Custom::clone)
}

/// The memory of a registered discipline.
pub(crate) fn storage(name: &str) -> Option<Storage> {
    KNOWN.find(name, |_| Storage {
        packet: Storage::QUEUE.packet + OBJECT,
        ..Storage::QUEUE
    })
}

/// A link's discipline; none for an unknown name, and where its code must not run.
pub(crate) fn discipline(
    name: &str,
    parameters: &Parameters,
    setting: &Setting,
) -> Option<CustomDiscipline> {
    let make = registered(name)?.make?;
    Some(CustomDiscipline(make(parameters, setting)))
}
