//! Memory that an engine takes for each part of a scenario, and the need of one key.

use forebay_congestion::packet::Needs;
use forebay_random::{Purpose, Seed, StreamKey};
use forebay_units::parameter::Value;

use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::text::naming::counted;

/// Parameters of controllers that are packets of growth in a round trip.
const GROWTH: [&str; 4] = ["increase", "max_increment", "alpha", "alpha_max"];

/// Times that a flow may set a timer to no avail.
pub(crate) const TIMERS_OF_A_FLOW: f64 = 100.0;

/// What one key of a scenario asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// The key, dotted.
    pub key: String,
    /// What takes the memory: "16000000 flows".
    pub what: String,
    /// How much, at most.
    pub bytes: f64,
}

impl Need {
    /// So many of what takes so many bytes each.
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
    /// At most, all together.
    pub packets: f64,
    /// Of them those that go on to a receiver or to another link: the others are forgotten when they
    /// leave.
    pub go_on: f64,
}

/// What an engine keeps, in bytes: so much of each, containers that double as they grow included.
pub trait Footprint {
    /// Of a run, whatever is in it.
    fn run(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Of a flow group beside its flows: histograms.
    fn group(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Of a responsive flow.
    fn flow(&self, group: &FlowGroup) -> f64;
    /// Of an unresponsive flow.
    fn source(&self, group: &FlowGroup) -> f64;
    /// Of link number `at` and its queue where nothing waits, with so many flows in the scenario.
    fn link(&self, _scenario: &Scenario, _at: usize, _flows: f64) -> f64 {
        0.0
    }
    /// Of what may wait at link number `at`.
    fn waiting(&self, scenario: &Scenario, at: usize, waiting: Waiting) -> f64;
    /// Of a packet that propagates, or waits at its flow's access link.
    fn under_way(&self, _scenario: &Scenario) -> f64 {
        0.0
    }
    /// Of a packet that its sender has sent and that is not acknowledged.
    fn outstanding(&self, _group: &FlowGroup) -> f64 {
        0.0
    }
}

/// What the controller of a group's flows asks of an engine.
pub fn controller_needs(group: &FlowGroup) -> Needs {
    let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
    let controller = &group.controller;
    let made = forebay_congestion::controller(controller.name(), controller.parameters(), random);
    made.map(|made| made.needs()).unwrap_or_default()
}

/// Packets that a window grows by in a round trip, where that was chosen above its default, as in
/// `{ kind = "aimd", increase = 1e6 }`.
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
