//! Flow groups and buffers of the classes of a link. Engines ask a link for them.

use crate::model::buffer::resolve_buffer;
use crate::model::classes::TrafficClass;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::pfc::Pfc;
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

impl Link {
    /// Whether anything waits in the link's own buffer: not where every class has another.
    pub fn has_shared_buffer(&self) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|class| class.buffer.is_none())
    }

    /// The class of the flow group of this name, where the link has classes.
    pub fn class_of(&self, group: &str) -> Option<usize> {
        let names = |class: &TrafficClass| class.groups.iter().any(|name| name == group);
        let last = self.classes.len().checked_sub(1)?;
        Some(self.classes.iter().position(names).unwrap_or(last))
    }

    /// Priority flow control of the queue that the packets of this flow group join, if it is
    /// lossless.
    pub fn pfc_of(&self, group: &str) -> Option<&Pfc> {
        let class = self.class_of(group).map(|at| &self.classes[at]);
        class.map_or(&self.pfc, |class| &class.pfc).as_ref()
    }

    /// Whether it has a lossless queue: its own, or that of a class.
    pub fn is_lossless(&self) -> bool {
        self.lossless_queues().next().is_some()
    }

    /// The keys of its lossless queues: of its own queue and of those of classes.
    pub(crate) fn lossless_queues(&self) -> impl Iterator<Item = &Pfc> {
        let of_classes = self.classes.iter().filter_map(|class| class.pfc.as_ref());
        self.pfc.iter().chain(of_classes)
    }

    /// Whether the `xoff` of a lossless queue depends on the free shared memory.
    pub(crate) fn has_pfc_alpha(&self) -> bool {
        self.lossless_queues().any(|pfc| pfc.alpha.is_some())
    }

    /// Checks the classes against the scenario's flow groups, and resolves their buffers where one
    /// bandwidth-delay product is `bdp` bytes.
    pub(crate) fn resolve_classes(
        &mut self,
        table: &Cursor<'_>,
        flows: &[FlowGroup],
        bdp: Option<f64>,
    ) -> Result<(), ScenarioError> {
        let list = table.get("queue").and_then(|queue| queue.get("classes"));
        let items = list.and_then(|list| list.items()).unwrap_or_default();
        let last = self.classes.len().saturating_sub(1);
        if let Some(pfc) = table.get("pfc").filter(|_| !self.classes.is_empty()) {
            return Err(pfc.error_found("`pfc` beside classes", "`pfc` in classes of the queue"));
        }
        for (at, item) in items.iter().enumerate().take(self.classes.len()) {
            self.check_groups(at, item, flows)?;
            if self.classes[at].groups.is_empty() && at < last {
                return Err(item.error_found(
                    "no `groups`",
                    "groups = [names of flow groups]; the last class alone may go without",
                ));
            }
            if item.get("buffer").is_some() {
                self.classes[at].buffer = Some(resolve_buffer(item, self.rate, bdp)?);
            }
        }
        Ok(())
    }

    /// Checks that the groups of class number `at` exist and are in no class before.
    fn check_groups(
        &self,
        at: usize,
        item: &Cursor<'_>,
        flows: &[FlowGroup],
    ) -> Result<(), ScenarioError> {
        let names = item.get("groups").and_then(|names| names.items());
        for (number, cursor) in names.iter().flatten().enumerate() {
            let group = &self.classes[at].groups[number];
            if !flows.iter().any(|known| known.name == *group) {
                let known = flows.iter().map(|flow| flow.name.as_str());
                return Err(cursor.unknown("group", group, known));
            }
            let before = &self.classes[at].groups[..number];
            let elsewhere = self.classes[..at].iter().find(|c| c.groups.contains(group));
            if let Some(class) = elsewhere.or(before.contains(group).then_some(&self.classes[at])) {
                return Err(cursor.error_found(
                    format!("`{group}`, which class `{}` has already", class.name),
                    "each group once",
                ));
            }
        }
        Ok(())
    }
}
