//! Queue disciplines in Python.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_discipline::custom::{Custom, CustomQueue, register};
use forebay_discipline::{Backlog, Ecn, Limit, Packet, Port, Setting};
use forebay_random::Stream;
use forebay_units::parameter::{Parameters, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList};

use super::control::shown;
use super::{Declared, Random, arguments, call, described, wrong_value};

/// The link of a discipline.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Link {
    /// Largest number of waiting packets; None if bytes limit the buffer.
    limit_packets: Option<u64>,
    /// Largest number of waiting bytes; None if packets limit the buffer.
    limit_bytes: Option<u64>,
    /// Rate in bits per second; the average if it changes.
    rate: u64,
    /// Mean size of a packet, in bytes.
    packet: f64,
    /// One-way delay of the link, in seconds; 0 if it is not known.
    delay: f64,
}

/// A packet that waits, or that arrives.
#[pyclass(module = "forebay._core", frozen)]
pub(crate) struct QueuePacket {
    id: u64,
    packet: Packet,
    mark: AtomicBool,
}

#[pymethods]
impl QueuePacket {
    /// Number of its flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.packet.flow
    }

    /// Size in bytes, headers included.
    #[getter]
    fn size(&self) -> u32 {
        self.packet.size
    }

    /// Time of its arrival, in seconds.
    #[getter]
    fn arrival(&self) -> f64 {
        self.packet.arrival.as_secs_f64()
    }

    /// The same in picoseconds, without rounding.
    #[getter]
    fn arrival_ps(&self) -> u64 {
        self.packet.arrival.as_picos()
    }

    /// "none", "classic" (ECT(0)) or "scalable" (ECT(1)).
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.packet.ecn() {
            Ecn::NotCapable => "none",
            Ecn::Classic => "classic",
            Ecn::Scalable => "scalable",
        }
    }

    /// Whether it carries a mark of congestion.
    #[getter]
    fn marked(&self) -> bool {
        self.packet.marked() || self.mark.load(Ordering::Relaxed)
    }

    /// Mark the packet if its sender is capable of ECN. Return whether it is.
    fn mark(&self) -> bool {
        if self.packet.ecn() == Ecn::NotCapable {
            return false;
        }
        self.mark.store(true, Ordering::Relaxed);
        true
    }
}

/// An object of a user's class at one link.
struct PythonQueue {
    object: Py<PyAny>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    /// Packets that the object dropped in a call.
    dropped: Py<PyList>,
    random: Option<Py<Random>>,
    limit: Limit,
    held: HashMap<u64, Packet>,
    backlog: Backlog,
    next: u64,
}

impl fmt::Debug for PythonQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonQueue({:?})", self.backlog)
    }
}

impl PythonQueue {
    fn new(py: Python<'_>, object: Py<PyAny>, limit: Limit) -> PyResult<Self> {
        let dropped = PyList::empty(py);
        object.setattr(py, intern!(py, "_dropped"), &dropped)?;
        Ok(Self {
            enqueue: object.getattr(py, intern!(py, "enqueue"))?,
            dequeue: object.getattr(py, intern!(py, "dequeue"))?,
            object,
            dropped: dropped.unbind(),
            random: None,
            limit,
            held: HashMap::new(),
            backlog: Backlog::default(),
            next: 0,
        })
    }

    fn state(&self, method: &str, port: &Port) -> String {
        let now = port.now;
        format!(
            "in `{method}` at {now}, {} packets wait",
            self.backlog.packets
        )
    }

    /// The random stream of the object, which begins where that of the port is.
    fn stream(&mut self, py: Python<'_>, port: &Port) -> PyResult<Py<Random>> {
        if self.random.is_none() {
            let stream: Stream = port.random.clone();
            self.random = Some(Py::new(py, Random(stream))?);
        }
        let random = self.random.as_ref().expect("it was made");
        Ok(random.clone_ref(py))
    }

    /// Tells the object the time, the backlog and whether the link is idle.
    fn tell(&self, py: Python<'_>, port: &Port) -> PyResult<()> {
        let object = self.object.bind(py);
        object.setattr(intern!(py, "now_ps"), port.now.as_picos())?;
        object.setattr(intern!(py, "idle"), port.idle_since.is_some())?;
        object.setattr(intern!(py, "backlog_packets"), self.backlog.packets)?;
        object.setattr(intern!(py, "backlog_bytes"), self.backlog.bytes)
    }

    /// Removes a packet that the object no longer holds, with its mark.
    fn take(&mut self, packet: &QueuePacket, method: &str, port: &mut Port) -> PyResult<Packet> {
        let mut found = self.held.remove(&packet.id).ok_or_else(|| {
            let allowed = "a packet that waits in the queue, once";
            wrong_value(method, "a packet that it does not hold", allowed)
        })?;
        if packet.mark.load(Ordering::Relaxed) {
            port.mark(&mut found);
        }
        self.backlog.remove(found.size);
        Ok(found)
    }

    /// Discards the packets that the object dropped.
    fn discard(&mut self, py: Python<'_>, port: &mut Port) -> PyResult<()> {
        let dropped = self.dropped.clone_ref(py);
        let dropped = dropped.bind(py);
        if dropped.is_empty() {
            return Ok(());
        }
        for packet in dropped.iter() {
            let packet = packet.extract::<PyRef<'_, QueuePacket>>()?;
            // The packet is dropped, so its mark does not count.
            let marks = port.marks;
            let found = self.take(&packet, "drop", port)?;
            port.marks = marks;
            port.discard(found);
        }
        dropped.call_method0(intern!(py, "clear")).map(drop)
    }

    fn enter(&mut self, py: Python<'_>, packet: Packet, port: &mut Port) -> PyResult<()> {
        let random = self.stream(py, port)?;
        self.tell(py, port)?;
        let id = self.next;
        self.next += 1;
        self.held.insert(id, packet);
        self.backlog.add(packet.size);
        let arrival = QueuePacket {
            id,
            packet,
            mark: AtomicBool::new(false),
        };
        let arrival = Py::new(py, arrival)?;
        let arguments = (&arrival, port.now.as_secs_f64(), random);
        let taken = self.enqueue.bind(py).call1(arguments)?;
        if !taken.is_none() && !taken.is_instance_of::<PyBool>() {
            let allowed = "True, False or None";
            return Err(wrong_value("enqueue", &shown(&taken), allowed));
        }
        self.discard(py, port)?;
        let refused = !taken.is_none() && !taken.extract::<bool>()?;
        if refused && self.held.contains_key(&id) {
            let marks = port.marks;
            let found = self.take(&arrival.borrow(py), "enqueue", port)?;
            port.marks = marks;
            port.discard(found);
        }
        let waiting = port.idle_since.is_none();
        if waiting && self.limit.exceeded(self.backlog) {
            let found = format!("with {} waiting packets", self.backlog.packets);
            let allowed = format!("{:?}, the buffer of the link", self.limit);
            return Err(wrong_value("enqueue", &found, &allowed));
        }
        Ok(())
    }

    fn leave(&mut self, py: Python<'_>, port: &mut Port) -> PyResult<Option<Packet>> {
        let random = self.stream(py, port)?;
        self.tell(py, port)?;
        let arguments = (port.now.as_secs_f64(), random);
        let found = self.dequeue.bind(py).call1(arguments)?;
        if found.is_none() {
            self.discard(py, port)?;
            if self.held.is_empty() {
                return Ok(None);
            }
            let found = format!("None while {} packets wait", self.held.len());
            return Err(wrong_value("dequeue", &found, "a packet that waits"));
        }
        let Ok(packet) = found.extract::<PyRef<'_, QueuePacket>>() else {
            let allowed = "a packet that waits, or None";
            return Err(wrong_value("dequeue", &shown(&found), allowed));
        };
        let packet = self.take(&packet, "dequeue", port)?;
        self.discard(py, port)?;
        Ok(Some(packet))
    }
}

impl CustomQueue for PythonQueue {
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let state = self.state("enqueue", port);
        call(|| state, |py| self.enter(py, packet, port));
    }

    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        if self.held.is_empty() {
            return None;
        }
        let state = self.state("dequeue", port);
        call(|| state, |py| self.leave(py, port))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn copied(&self) -> Box<dyn CustomQueue> {
        let state = || "in `__deepcopy__`".to_owned();
        Box::new(call(state, |py| {
            let copy = py.import("copy")?;
            let object = copy.call_method1("deepcopy", (&self.object,))?.unbind();
            let mut copied = Self::new(py, object, self.limit)?;
            copied.held.clone_from(&self.held);
            (copied.backlog, copied.next) = (self.backlog, self.next);
            Ok(copied)
        }))
    }
}

/// Register a queue discipline.
///
/// Parameters are declared as (name, meaning, kind, default, smallest, largest). `make` gets the
/// link and the parameters, and returns an object. Without `make` this process runs none of the
/// code.
#[pyfunction]
#[pyo3(signature = (name, title, parameters, *, make))]
pub(crate) fn register_discipline(
    name: &str,
    title: &str,
    parameters: Vec<Declared>,
    make: Option<Py<PyAny>>,
) -> PyResult<()> {
    let make = make.map(|make| -> forebay_discipline::custom::Make {
        Arc::new(move |parameters: &Parameters, setting: &Setting| {
            let link = Link {
                limit_packets: match setting.limit {
                    Limit::Packets(limit) => Some(limit),
                    Limit::Bytes(_) => None,
                },
                limit_bytes: match setting.limit {
                    Limit::Packets(_) => None,
                    Limit::Bytes(limit) => Some(limit),
                },
                rate: setting.rate.as_bits_per_second(),
                packet: setting.packet,
                delay: setting.delay.as_secs_f64(),
            };
            let state = || "in `__init__`".to_owned();
            Box::new(call(state, |py| {
                let found = arguments(py, parameters)?;
                for (name, value) in parameters.iter() {
                    if let Value::Threshold(threshold) = value {
                        found.set_item(name, setting.level(*threshold))?;
                    }
                }
                let object = make.call(py, (link,), Some(&found))?;
                PythonQueue::new(py, object, setting.limit)
            })) as Box<dyn CustomQueue>
        })
    });
    register(Custom {
        description: forebay_units::custom::described(name, title, described(parameters)?),
        make,
    });
    Ok(())
}
