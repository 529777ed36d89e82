//! Values that depend on others: buffers in time or BDP, offered loads, and sizes in packets. They
//! follow later changes of the rate, the round trips and the packets.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::buffer::BufferSize;
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

/// The place of a buffer: at a link, or in a class of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BufferLocation {
    pub(crate) link: usize,
    pub(crate) class: Option<usize>,
}

/// The values of a scenario that it gives relative to others, as given.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelativeValues {
    /// Buffers in time or BDP.
    buffers: Vec<(BufferLocation, BufferSize)>,
    /// Workloads that are tables, by the number of their group: a load follows the rate of the
    /// link, and a size in packets the packets of the group.
    workloads: Vec<(usize, Arc<Value>)>,
}

/// Scenarios are equal if their resolved values are.
impl PartialEq for RelativeValues {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl RelativeValues {
    /// Reads them from the tables of the links and the flow groups.
    pub(crate) fn read(links: &[Cursor<'_>], groups: &[Cursor<'_>]) -> Result<Self, ScenarioError> {
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
                    relative.set_buffer(BufferLocation { link, class }, BufferSize::read(&at)?);
                }
            }
        }
        for (group, table) in groups.iter().enumerate() {
            let workload = table.get("workload").filter(|at| at.entries().is_ok());
            let workload = workload.map(|at| (group, Arc::new(at.node.value())));
            relative.workloads.extend(workload);
        }
        Ok(relative)
    }

    pub(crate) fn set_buffer(&mut self, place: BufferLocation, size: BufferSize) {
        self.buffers.retain(|(at, _)| *at != place);
        if matches!(size, BufferSize::Time(_) | BufferSize::Bdp(_)) {
            self.buffers.push((place, size));
        }
    }

    /// Puts the values into the tables of a resolved scenario.
    pub(crate) fn write(&self, scenario: &mut Map<String, Value>) {
        for (BufferLocation { link, class }, size) in &self.buffers {
            let mut table = &mut scenario["links"][link];
            if let Some(class) = class {
                table = &mut table["queue"]["classes"][class];
            }
            table["buffer"] = size.to_string().into();
        }
        for (group, workload) in &self.workloads {
            scenario["flows"][group]["workload"] = Value::clone(workload);
        }
    }
}
