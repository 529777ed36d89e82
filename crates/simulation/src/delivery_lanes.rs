//! Which lane of the calendar a delivery takes.

use forebay_units::Time;

use crate::ids::{LaneId, LinkId};

/// Lanes of deliveries: one for each last link and delay from there, in their order.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLanes(Option<Vec<(LinkId, Time)>>);

impl DeliveryLanes {
    /// Of these ways in rising order, or of too many to tell.
    pub(crate) fn new(ways: Option<Vec<(LinkId, Time)>>) -> Self {
        Self(ways)
    }

    /// The lane of what is delivered behind `link` after `delay`.
    pub(crate) fn of(&self, link: LinkId, delay: Time) -> LaneId {
        let ways = self.0.as_ref();
        let at = ways.and_then(|ways| ways.binary_search(&(link, delay)).ok());
        LaneId::new(at.unwrap_or(0))
    }
}
