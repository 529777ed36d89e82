//! Slots of open-loop transfers that are complete. Another transfer takes one with its path,
//! because packets of the former one may still be on their way.

use std::collections::HashMap;

use crate::ids::{ResponsiveId, Route};

/// The idle slots of a group.
#[derive(Debug)]
pub(crate) enum IdleSlots {
    /// All transfers have one path.
    OnePath(Vec<ResponsiveId>),
    /// Those of each path, in a fabric.
    ByPath(HashMap<Route, Vec<ResponsiveId>>),
}

impl IdleSlots {
    /// A slot with this path is idle.
    pub(crate) fn add(&mut self, route: Route, slot: ResponsiveId) {
        match self {
            Self::OnePath(slots) => slots.push(slot),
            Self::ByPath(slots) => slots.entry(route).or_default().push(slot),
        }
    }

    /// A slot with this path, if one is idle.
    pub(crate) fn take(&mut self, route: Route) -> Option<ResponsiveId> {
        match self {
            Self::OnePath(slots) => slots.pop(),
            Self::ByPath(slots) => slots.get_mut(&route)?.pop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_taken_again_by_a_transfer_with_its_path_only() {
        let (one, other) = (Route::new(0), Route::new(4));
        let mut slots = IdleSlots::ByPath(HashMap::new());
        slots.add(one, ResponsiveId::new(7));
        assert_eq!(slots.take(other), None);
        assert_eq!(slots.take(one), Some(ResponsiveId::new(7)));
        assert_eq!(slots.take(one), None);
    }
}
