//! In-band telemetry (INT): links on the paths of flows whose congestion control requires it state
//! their load in each packet of these flows. The state of a queue at a departure is known at the
//! departure only, so that each departure of such a link is an event ([`crate::link::queued`]).

use forebay_congestion::telemetry::LinkTelemetry;
use forebay_scenario::{FlowGroup, Scenario, controller_requirements};

use crate::ids::{HopNumber, LinkId};

/// The statement of a link at one hop of a packet.
#[derive(Clone, Copy, Debug)]
pub struct HopTelemetry {
    /// The position on the path.
    pub number: HopNumber,
    /// Whether the receiver is behind the link.
    pub is_last: bool,
    /// The statement.
    pub link: LinkTelemetry,
}

/// Whether the congestion control of a group requires telemetry.
fn requires(group: &FlowGroup) -> bool {
    group.responsive() && controller_requirements(group).telemetry
}

/// Whether the link of this number states its load in packets.
pub fn states_load(scenario: &Scenario, at: usize) -> bool {
    let mut groups = scenario.flows().iter();
    groups.any(|group| group.crosses(at) && requires(group))
}

/// The links that state their load.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    /// Bytes that each link has sent, with framing; none where it states no load.
    sent: Vec<Option<u64>>,
}

impl Telemetry {
    /// The links of a scenario; none if no link states its load.
    pub(crate) fn new(scenario: &Scenario) -> Option<Self> {
        let numbers = 0..scenario.links().len();
        let sent = numbers.map(|at| states_load(scenario, at).then_some(0));
        let sent: Vec<_> = sent.collect();
        sent.iter().any(Option::is_some).then_some(Self { sent })
    }

    /// The bytes that a link has sent, if it states its load.
    pub(crate) fn sent(&mut self, at: LinkId) -> Option<&mut u64> {
        self.sent[at.index()].as_mut()
    }
}
