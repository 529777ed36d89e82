//! The table `[fabric]`: the numbers of switches and hosts, and the keys of their ports.

use forebay_units::{Bytes, Time};

use crate::model::buffer::BufferLimit;
use crate::model::fabric::ports::{PortForm, PortTable};
use crate::model::fabric::shape::{Role, Shape};
use crate::model::memory::{
    CELL, Memory, MemorySize, MemoryThreshold, PfcCounters, SHORT_ALPHA, SHORT_ALPHAS, SHORT_FLOW,
    SHORT_FLOWS, SHORT_IDLE, SHORT_IDLES, check_parts,
};
use crate::text::cursor::Cursor;
use crate::text::form::{Maybe, NAME, Table, WholeNumber, Words, words};
use crate::text::keys::keys;
use crate::text::tree::ScenarioError;

keys! {
    /// A leaf-spine fabric: each host has a link to and from its leaf, and each leaf one to and
    /// from each spine.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Fabric {
        /// Topology.
        kind: FabricKind = FabricKind::LeafSpine, required("\"leaf_spine\"", Words);
        /// Number of leaf switches.
        leaves: u64 = 1, required("4", WholeNumber(1, 128));
        /// Number of spine switches.
        spines: u64 = 1, required("2", WholeNumber(1, 128));
        /// Number of hosts, the same at each leaf. There may be 1024 links in all.
        hosts: u64 = 1, required("16", WholeNumber(1, 1024));
        /// Link that reports are about; without it `leaf1-host1`, the port to the first host.
        target: Option<String> = None, key(Maybe(NAME));
        /// Memory of each switch, which its ports share.
        memory: Option<SwitchMemory> = None, key(Maybe(Table));
        /// Keys of all ports of switches, as in `[link]`, and `cable`. The next keys have
        /// precedence.
        port: PortTable = PortTable::default(), key(PortForm);
        /// Keys of the links from hosts to leaves: `host3-leaf1`. Without `rate`, `delay` and
        /// `cable` they have those of `host_port`, and without `buffer` 100 MB.
        nic: PortTable = PortTable::default(), key(PortForm);
        /// Keys of the ports from leaves to hosts: `leaf1-host3`.
        host_port: PortTable = PortTable::default(), key(PortForm);
        /// Keys of the ports from leaves to spines: `leaf1-spine2`.
        uplink: PortTable = PortTable::default(), key(PortForm);
        /// Keys of the ports from spines to leaves: `spine2-leaf1`.
        spine_port: PortTable = PortTable::default(), key(PortForm);
    }
}

words! {
    /// The topology of a fabric.
    pub enum FabricKind {
        /// Two stages: the path between hosts of different leaves crosses one of the spines.
        LeafSpine = "leaf_spine",
    }
}

keys! {
    /// The memory of a switch of a fabric.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SwitchMemory {
        /// Size of the memory for all ports together, without packets in transmission.
        size: BufferLimit = BufferLimit::Bytes(Bytes::ZERO), required("\"12MB\"", MemorySize);
        /// How `memory_alpha` limits the queues of its ports.
        threshold: MemoryThreshold = MemoryThreshold::Dynamic, key(Words);
        /// Alpha for packets of short flows, instead of `memory_alpha`. Only with `fab`.
        short_alpha: f64 = SHORT_ALPHA, key(SHORT_ALPHAS);
        /// A flow is short until it has sent this much into a queue. Only with `fab`.
        short_flow: Bytes = SHORT_FLOW, key(SHORT_FLOWS);
        /// A flow that sends nothing into a queue for longer than this is short again. Only with
        /// `fab`.
        short_idle: Time = SHORT_IDLE, key(SHORT_IDLES);
        /// Part of the memory for bytes above `xoff` of its lossless queues, shared by all of them.
        headroom: Option<BufferLimit> = None, key(Maybe(MemorySize));
        /// Size of a cell: each packet occupies whole cells.
        cell: Option<Bytes> = None, key(Maybe(CELL));
        /// Bytes of a sender that its lossless queues compare with `xoff` and `xon`.
        pfc_counters: PfcCounters = PfcCounters::Queue, key(Words);
    }
}

impl Fabric {
    /// Its numbers of switches and hosts.
    pub fn shape(&self) -> Shape {
        Shape {
            leaves: self.leaves as usize,
            spines: self.spines as usize,
            hosts: self.hosts as usize,
        }
    }

    /// The memories of its switches, the leaves first. An error is about the table `[fabric]`.
    pub(crate) fn memories(&self, root: &Cursor<'_>) -> Result<Vec<Memory>, ScenarioError> {
        let Some(memory) = &self.memory else {
            return Ok(Vec::new());
        };
        let leaves = (1..=self.leaves).map(|leaf| format!("leaf{leaf}"));
        let spines = (1..=self.spines).map(|spine| format!("spine{spine}"));
        let of = |name| Memory {
            name,
            size: memory.size,
            threshold: memory.threshold,
            short_alpha: memory.short_alpha,
            short_flow: memory.short_flow,
            short_idle: memory.short_idle,
            headroom: memory.headroom,
            cell: memory.cell,
            pfc_counters: memory.pfc_counters,
        };
        let memories: Vec<Memory> = leaves.chain(spines).map(of).collect();
        let table = root.get("fabric").and_then(|fabric| fabric.get("memory"));
        if let (Some(table), Some(first)) = (table, memories.first()) {
            check_parts(&table, first)?;
        }
        Ok(memories)
    }

    /// Writes another buffer of the ports with a role, or of a class of theirs.
    pub(crate) fn set_buffer(&mut self, (role, class): (Role, Option<usize>), size: String) {
        let queue = self.port.get("queue").cloned();
        let table = match role {
            Role::Nic => &mut self.nic,
            Role::HostPort => &mut self.host_port,
            Role::Uplink => &mut self.uplink,
            Role::SpinePort => &mut self.spine_port,
        };
        let Some(class) = class else {
            table.set("buffer", size.into());
            return;
        };
        if let Some(mut queue) = table.get("queue").cloned().or(queue) {
            queue["classes"][class]["buffer"] = size.into();
            table.set("queue", queue);
        }
    }
}
