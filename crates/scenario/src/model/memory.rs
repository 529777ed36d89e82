//! Memories that links share, as the ports of a switch do: their tables. `memory_links` compares a
//! memory with its links.

use forebay_units::{Bytes, Time};
use serde_json::{Value, json};

use crate::model::buffer::{BufferLimit, BufferSize};
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, NAME, Number, Within, Words};
use crate::text::grammar::Grammar;
use crate::text::grammar::text;
use crate::text::keys::{Context, Form, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// A memory that the ports of a switch share.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Memory {
        /// Name, unique in the scenario.
        name: String = String::new(), required("\"switch\"", MemoryName);
        /// Size of the memory for all its links together, without packets in transmission.
        size: BufferLimit = BufferLimit::Packets(0), required("\"12MB\"", MemorySize);
        /// How `memory_alpha` limits the queues of its links.
        threshold: MemoryThreshold = MemoryThreshold::Dynamic, key(Words);
        /// Alpha for packets of short flows, instead of `memory_alpha`. Only with `fab`.
        short_alpha: f64 = SHORT_ALPHA, key(SHORT_ALPHAS);
        /// A flow is short until it has sent this much into a queue, the arriving packet included.
        /// Only with `fab`.
        short_flow: Bytes = SHORT_FLOW, key(SHORT_FLOWS);
        /// A flow that sends nothing into a queue for longer than this is short again. Only with
        /// `fab`.
        short_idle: Time = SHORT_IDLE, key(SHORT_IDLES);
        /// Part of the memory for bytes above `xoff` of its lossless queues, shared by all of them.
        /// Without it these bytes take the memory of all packets.
        headroom: Option<BufferLimit> = None, key(Maybe(MemorySize));
        /// Size of a cell: each packet occupies whole cells. Without it a packet occupies its
        /// bytes.
        cell: Option<Bytes> = None, key(Maybe(CELL));
        /// Bytes of a sender that its lossless queues compare with `xoff` and `xon`.
        pfc_counters: PfcCounters = PfcCounters::Queue, key(Words);
    }
}

words! {
    /// The counters of a sender at the lossless queues of a memory.
    pub enum PfcCounters {
        /// Each queue counts the bytes of the sender that wait in it.
        Queue = "queue",
        /// The queues count the bytes that wait in all of them, as the ingress port of a switch
        /// does.
        Ingress = "ingress",
    }
}

words! {
    /// The limit that `memory_alpha` sets.
    pub enum MemoryThreshold {
        /// alpha times the free memory (Choudhury and Hahne 1998).
        Dynamic = "dynamic",
        /// alpha times the free memory, divided by the number of congested queues: ABM (Addanki,
        /// Apostolaki, Ghobadi, Schmid and Vanbever 2022).
        Abm = "abm",
        /// alpha times the free memory, with `short_alpha` for packets of short flows: FAB
        /// (Apostolaki, Vanbever and Ghobadi 2019).
        Fab = "fab",
        /// None: if the memory is full, the longest queue loses its last packet (longest queue
        /// drop; Wei, Coyle and Hsiao 1991).
        Lqd = "lqd",
    }
}

/// The sizes of a cell that are allowed.
pub(crate) const CELL: Within<Bytes> = Within {
    least: Bytes::new(1),
    most: Bytes::new(65_536),
    allowed: "a size from 1B to 65536B, as in \"192B\"",
};

// The defaults of FAB are those of the public ns-3 code of ABM's authors (inet-tub/ns3-datacenter,
// ns-3.35): `alphaUnsched` of `gen-queue-disc.cc`, and in `abm-evaluation.cc` a threshold of 15
// packets of 1400 bytes and a window of 5 ms.

/// The default of `short_alpha`.
pub(crate) const SHORT_ALPHA: f64 = 1024.0;
/// The default of `short_flow`.
pub(crate) const SHORT_FLOW: Bytes = Bytes::new(15 * 1400);
/// The default of `short_idle`.
pub(crate) const SHORT_IDLE: Time = Time::from_millis(5);

/// The values of `short_alpha`: those of alpha, and the default.
pub(crate) const SHORT_ALPHAS: Number = Number(ALPHA.0, SHORT_ALPHA);

/// The values of `short_flow`.
pub(crate) const SHORT_FLOWS: Within<Bytes> = Within {
    least: Bytes::new(1),
    most: Bytes::new(1_000_000_000_000),
    allowed: "a size from 1B to 1e12 bytes, as in \"21kB\"",
};

/// The values of `short_idle`.
pub(crate) const SHORT_IDLES: Within<Time> = Within {
    least: Time::ZERO,
    most: Time::from_secs(1000),
    allowed: "a time up to 1000s, as in \"5ms\"",
};

impl Memory {
    /// Whether packets wait in it that a link without events for departures could not count or give
    /// back.
    pub fn needs_departures(&self) -> bool {
        self.threshold == MemoryThreshold::Lqd || self.cell.is_some() || self.headroom.is_some()
    }

    /// A size in the unit of the memory; none in the other unit.
    pub(crate) fn in_its_unit(&self, part: BufferLimit) -> Option<u64> {
        match (part, self.size) {
            (BufferLimit::Packets(part), BufferLimit::Packets(_)) => Some(part),
            (BufferLimit::Bytes(part), BufferLimit::Bytes(_)) => Some(part.get()),
            _ => None,
        }
    }

    /// Its size in its unit.
    pub(crate) fn amount(&self) -> u64 {
        match self.size {
            BufferLimit::Packets(count) => count,
            BufferLimit::Bytes(bytes) => bytes.get(),
        }
    }
}

/// Alpha of a dynamic threshold: switches offer powers of two from 1/128 to 128.
pub(crate) const ALPHA: Number = Number(1e-3, 1e3);

/// The name of a memory that comes after those of the context.
struct MemoryName;

impl Form<String> for MemoryName {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<String, ScenarioError> {
        let name = at.text().map(str::to_owned);
        name.filter(|name| (NAME.valid)(name) && !context.memories.contains(name))
            .ok_or_else(|| {
                at.error("a name without dots and control characters, a different one for each")
            })
    }

    fn write(&self, name: &String, _: &Context<'_>) -> Option<Value> {
        Some(name.as_str().into())
    }

    fn grammar(&self) -> Grammar {
        NAME.grammar()
    }
}

/// The size of a memory: unlike a buffer, in packets or bytes only.
pub(crate) struct MemorySize;

impl Form<BufferLimit> for MemorySize {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<BufferLimit, ScenarioError> {
        match at.text().and_then(BufferSize::parse) {
            Some(BufferSize::Packets(count)) => Ok(BufferLimit::Packets(count)),
            Some(BufferSize::Bytes(bytes)) => Ok(BufferLimit::Bytes(bytes)),
            _ => {
                let valid = |text: &str| {
                    let size = BufferSize::parse(text);
                    matches!(size, Some(BufferSize::Packets(_) | BufferSize::Bytes(_)))
                };
                Err(at.quantity_error(valid, "whole packets \"1000p\" or bytes \"12MB\""))
            }
        }
    }

    fn write(&self, limit: &BufferLimit, _: &Context<'_>) -> Option<Value> {
        Some(limit.to_string().into())
    }

    fn grammar(&self) -> Grammar {
        let schema = text(
            "^[0-9.eE+-]+ ?(p|B|[kMGT]B|[KMGT]iB)$",
            "packets \"1000p\" or bytes \"12MB\"",
        );
        Grammar::new(schema, "packets \"1000p\" or bytes \"12MB\"")
    }
}

/// A memory by its name.
pub(crate) struct OneOfTheMemories;

impl Form<usize> for OneOfTheMemories {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<usize, ScenarioError> {
        let names = context.memories;
        let found = names.iter().position(|name| at.text() == Some(name));
        found.ok_or_else(|| match at.text() {
            Some(text) if !names.is_empty() => {
                at.unknown("memory", text, names.iter().map(|name| &**name))
            }
            _ if names.is_empty() => {
                at.error("the name of one of [[memories]], of which there are none")
            }
            _ => at.error(names.join(", ")),
        })
    }

    fn write(&self, memory: &usize, context: &Context<'_>) -> Option<Value> {
        Some(context.memories[*memory].as_str().into())
    }

    fn grammar(&self) -> Grammar {
        Grammar::new(json!({"type": "string"}), "a name of [[memories]]")
    }
}

/// Reads a memory, whose parts must fit its size.
fn read_memory(item: &Cursor<'_>, context: &Context<'_>) -> Result<Memory, ScenarioError> {
    let memory = Memory::read(item, context)?;
    check_parts(item, &memory)?;
    Ok(memory)
}

/// Refuses a memory of this table whose parts do not fit its size, or with keys of another
/// threshold.
pub(crate) fn check_parts(item: &Cursor<'_>, memory: &Memory) -> Result<(), ScenarioError> {
    let of_short_flows = ["short_alpha", "short_flow", "short_idle"];
    let stray = of_short_flows.iter().find_map(|key| item.get(key));
    if let Some(stray) = stray.filter(|_| memory.threshold != MemoryThreshold::Fab) {
        return Err(stray.error("only with `threshold = \"fab\"`"));
    }
    let is_in_packets = matches!(memory.size, BufferLimit::Packets(_));
    if let Some(cell) = item.get("cell").filter(|_| is_in_packets) {
        return Err(cell.error("only with a `size` in bytes"));
    }
    let Some(headroom) = memory.headroom else {
        return Ok(());
    };
    let most = if is_in_packets {
        None
    } else {
        memory.in_its_unit(headroom)
    };
    if most.is_none_or(|part| part > memory.amount()) {
        let here = item.get("headroom");
        let allowed = format!("bytes of a `size` in bytes, which is {}", memory.size);
        return Err(here.as_ref().unwrap_or(item).error(allowed));
    }
    Ok(())
}

/// Reads `[[memories]]` of a scenario, if it has some.
pub(crate) fn read_memories(root: &Cursor<'_>) -> Result<Vec<Memory>, ScenarioError> {
    let Some(cursor) = root.get("memories") else {
        return Ok(Vec::new());
    };
    let items = cursor.items().filter(|items| items.len() <= 64);
    let items = items.ok_or_else(|| cursor.error("[[memories]], at most 64 of them"))?;
    let mut memories: Vec<Memory> = Vec::with_capacity(items.len());
    let mut names = Vec::new();
    for item in &items {
        let context = Context {
            memories: &names,
            ..Context::default()
        };
        let memory = read_memory(item, &context)?;
        names.push(memory.name.clone());
        memories.push(memory);
    }
    Ok(memories)
}
