//! Buffers in time or BDP, which follow later changes of the rate and the round trips. A scenario
//! resolves them after its links and flow groups.

use serde_json::{Map, Value};

use crate::model::buffer::BufferSize;
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

/// Where a buffer is: at a link, or in a class of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) link: usize,
    pub(crate) class: Option<usize>,
}

/// The buffers that a scenario gives in time or BDP, as given.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelativeBuffers(Vec<(Place, BufferSize)>);

/// Scenarios are equal if their resolved values are.
impl PartialEq for RelativeBuffers {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl RelativeBuffers {
    /// Reads them from the tables of the links.
    pub(crate) fn read(links: &[Cursor<'_>]) -> Result<Self, ScenarioError> {
        let mut relative = Self::default();
        for (link, table) in links.iter().enumerate() {
            let classes = table.get("queue").and_then(|queue| queue.get("classes"));
            let classes = classes.and_then(|list| list.items()).unwrap_or_default();
            let classes = classes
                .iter()
                .enumerate()
                .map(|(at, item)| (Some(at), item));
            for (class, table) in [(None, table)].into_iter().chain(classes) {
                if let Some(at) = table.get("buffer") {
                    relative.set(Place { link, class }, BufferSize::read(&at)?);
                }
            }
        }
        Ok(relative)
    }

    pub(crate) fn set(&mut self, place: Place, size: BufferSize) {
        self.0.retain(|(at, _)| *at != place);
        if matches!(size, BufferSize::Time(_) | BufferSize::Bdp(_)) {
            self.0.push((place, size));
        }
    }

    /// Puts the sizes into the tables of a resolved scenario.
    pub(crate) fn write(&self, scenario: &mut Map<String, Value>) {
        for (Place { link, class }, size) in &self.0 {
            let mut table = &mut scenario["links"][link];
            if let Some(class) = class {
                table = &mut table["queue"]["classes"][class];
            }
            table["buffer"] = size.to_string().into();
        }
    }
}
