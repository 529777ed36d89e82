//! The lanes of the calendar for deliveries and for packets that leave access links.

use forebay_scenario::FlowGroup;
use forebay_units::Time;

use crate::ids::{LaneId, LinkId};
use crate::link::host_timing::varies;

/// The way from the last link to the hosts: that link, the delay from there, and whether the hosts
/// vary it.
pub(crate) type Way = (LinkId, Time, bool);

/// The way of a group's packets if this is the delay from its last link.
pub(crate) fn way(group: &FlowGroup, delay: Time) -> Way {
    let last = group.path[group.path.len() - 1];
    (LinkId::new(last), delay, varies(group))
}

/// Lanes of deliveries: one for each way, in their order.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLanes(Option<Vec<Way>>);

impl DeliveryLanes {
    /// The lanes of these ways in rising order; none if there are too many ways.
    pub(crate) fn new(ways: Option<Vec<Way>>) -> Self {
        Self(ways)
    }

    /// The lane of the deliveries on a way.
    pub(crate) fn of(&self, way: Way) -> LaneId {
        let ways = self.0.as_ref();
        let at = ways.and_then(|ways| ways.binary_search(&way).ok());
        LaneId::new(at.unwrap_or(0))
    }
}

/// Lanes of access links: one for each time that a full packet takes on them.
#[derive(Debug, Default)]
pub(crate) struct AccessLanes {
    transmissions: Vec<Time>,
    first: usize,
}

impl AccessLanes {
    /// Lanes from number `first` on, for these times in rising order.
    pub(crate) fn new(transmissions: Vec<Time>, first: usize) -> Self {
        Self {
            transmissions,
            first,
        }
    }

    /// The lane of an access link on which a full packet takes this time, if there is one.
    pub(crate) fn of(&self, transmission: Time) -> Option<LaneId> {
        let at = self.transmissions.binary_search(&transmission).ok()?;
        Some(LaneId::new(self.first + at))
    }
}
