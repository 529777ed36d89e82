//! Memory that an engine takes for each part of a scenario, and the need of one key.

use forebay_congestion::packet::Requirements;
use forebay_units::parameter::Value;

use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::text::naming::counted;

/// Parameters of controllers that are packets of growth in a round trip.
const GROWTH: [&str; 4] = ["increase", "max_increment", "alpha", "alpha_max"];

/// Timers that a flow may set in vain.
pub(crate) const TIMERS_OF_A_FLOW: f64 = 100.0;

/// Memory that one key of a scenario needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Dotted name of the key.
    pub key: String,
    /// Count and noun of the parts that take the memory, such as "16000000 flows".
    pub what: String,
    /// Upper bound of the memory, in bytes.
    pub bytes: f64,
}

impl Need {
    /// The need of `count` parts of `each` bytes.
    pub fn new(key: impl Into<String>, count: f64, noun: &str, each: f64) -> Self {
        Self {
            key: key.into(),
            what: if count < 1e7 {
                counted(count.ceil() as u64, noun)
            } else {
                format!("{count:.0e} {noun}s")
            },
            bytes: count * each,
        }
    }
}

/// Packets that may wait at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    /// Largest number of waiting packets.
    pub packets: f64,
    /// Those among them that go on to a receiver or another link. The link forgets the others when
    /// they leave.
    pub go_on: f64,
}

/// Memory that an engine stores for each part of a scenario, in bytes, with the spare capacity of
/// containers that double when they grow.
pub trait Footprint {
    /// Memory of a run without its parts.
    fn run(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Memory of a flow group without its flows, such as histograms.
    fn group(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Memory of a responsive flow.
    fn flow(&self, group: &FlowGroup) -> f64;
    /// Memory of an unresponsive flow.
    fn source(&self, group: &FlowGroup) -> f64;
    /// Memory of link number `at` and its empty queue, in a scenario with this number of flows.
    fn link(&self, _scenario: &Scenario, _at: usize, _flows: f64) -> f64 {
        0.0
    }
    /// Memory of the packets that may wait at link number `at`.
    fn waiting(&self, scenario: &Scenario, at: usize, waiting: Waiting) -> f64;
    /// Memory of a packet that propagates, or waits at its flow's access link.
    fn under_way(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Memory of a packet that is sent and not acknowledged.
    fn outstanding(&self, _group: &FlowGroup) -> f64 {
        0.0
    }
}

/// Requirements of a group's controller on an engine.
pub fn controller_requirements(group: &FlowGroup) -> Requirements {
    let controller = &group.controller;
    forebay_congestion::requirements(controller.name(), controller.parameters()).unwrap_or_default()
}

/// Packets by which a window grows in a round trip, if a parameter above its default sets them, as
/// in `{ kind = "aimd", increase = 1e6 }`.
pub(crate) fn grown(group: &FlowGroup) -> f64 {
    let controller = &group.controller;
    let parameters = controller.description().parameters.iter();
    let growing = parameters.filter(|of| GROWTH.contains(&of.name));
    let above = growing.filter_map(
        |of| match (controller.parameters().get(of.name), of.default) {
            (Value::Number(chosen), Value::Number(usual)) if chosen > usual => Some(chosen),
            _ => None,
        },
    );
    above.fold(0.0, f64::max)
}
