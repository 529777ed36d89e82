//! Memories that links share, as the ports of a switch do: their tables, and what must agree
//! between a memory and its links.

use forebay_units::Bytes;
use serde_json::{Value, json};

use crate::model::buffer::{BufferLimit, BufferSize};
use crate::model::link::Link;
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

impl Memory {
    /// Whether packets wait in it that a link without events for departures could not count or give
    /// back.
    pub fn needs_departures(&self) -> bool {
        self.threshold == MemoryThreshold::Lqd || self.cell.is_some() || self.headroom.is_some()
    }

    /// A size in the unit of the memory; none in the other unit.
    fn in_its_unit(&self, part: BufferLimit) -> Option<u64> {
        match (part, self.size) {
            (BufferLimit::Packets(part), BufferLimit::Packets(_)) => Some(part),
            (BufferLimit::Bytes(part), BufferLimit::Bytes(_)) => Some(part.get()),
            _ => None,
        }
    }

    /// Its size in its unit.
    fn amount(&self) -> u64 {
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

/// Refuses links whose thresholds and guarantees do not fit their memory.
pub(crate) fn check_memories(
    (links, cursors): (&[Link], &[Cursor<'_>]),
    memories: &[Memory],
    root: &Cursor<'_>,
) -> Result<(), ScenarioError> {
    check_headroom(links, memories, root)?;
    let mut guaranteed: Vec<u64> = memories
        .iter()
        .map(|memory| memory.headroom.and_then(|part| memory.in_its_unit(part)))
        .map(Option::unwrap_or_default)
        .collect();
    for (link, cursor) in links.iter().zip(cursors) {
        let Some(number) = link.memory else {
            let mut keys = ["memory_alpha", "memory_reserved"].iter();
            let stray = keys.find_map(|key| cursor.get(key));
            if let Some(stray) = stray {
                return Err(stray.error("only with `memory`"));
            }
            if link.has_pfc_alpha() {
                return Err(
                    cursor.error_found("`pfc.alpha` without `memory`", "`memory` of the link")
                );
            }
            continue;
        };
        let memory = &memories[number];
        check_counters((link, cursor), (links, memory, number))?;
        if memory.threshold == MemoryThreshold::Lqd {
            let refused = cursor.get("memory_alpha").or_else(|| cursor.get("pfc"));
            if let Some(refused) = refused {
                return Err(refused.error(format!(
                    "no such key at a link of `{}`, whose longest queue loses packets (`lqd`)",
                    memory.name
                )));
            }
            if link.is_lossless() {
                return Err(cursor.error_found(
                    "a lossless class",
                    format!(
                        "none in `{}`, whose longest queue loses packets (`lqd`)",
                        memory.name
                    ),
                ));
            }
        }
        let Some(reserved) = link.memory_reserved else {
            continue;
        };
        let here = cursor.get("memory_reserved");
        let here = here.as_ref().unwrap_or(cursor);
        let Some(part) = memory.in_its_unit(reserved) else {
            let allowed = format!("the unit of the memory's size, {}", memory.size);
            return Err(here.error(allowed));
        };
        guaranteed[number] += part;
        if guaranteed[number] > memory.amount() {
            let beside = memory
                .headroom
                .map(|part| format!(" less its headroom, {part}"));
            let allowed = format!(
                "guarantees of all links that are together at most {}, the size of `{}`{}",
                memory.size,
                memory.name,
                beside.unwrap_or_default()
            );
            return Err(here.error(allowed));
        }
    }
    Ok(())
}

/// Refuses a link whose lossless queues have other keys than those that count their senders with
/// them.
fn check_counters(
    (link, cursor): (&Link, &Cursor<'_>),
    (links, memory, number): (&[Link], &Memory, usize),
) -> Result<(), ScenarioError> {
    if memory.pfc_counters == PfcCounters::Queue {
        return Ok(());
    }
    let sharing = links.iter().filter(|other| other.memory == Some(number));
    let first = sharing.flat_map(Link::lossless_queues).next();
    if link.lossless_queues().all(|pfc| Some(pfc) == first) {
        return Ok(());
    }
    let here = cursor.get("pfc");
    Err(here.as_ref().unwrap_or(cursor).error_found(
        "other values of `pfc` than at another queue of this memory",
        format!("the same `pfc` at all lossless queues of `{}`, whose counters are those of ingress ports", memory.name),
    ))
}

/// Refuses memories whose headroom nothing uses.
fn check_headroom(
    links: &[Link],
    memories: &[Memory],
    root: &Cursor<'_>,
) -> Result<(), ScenarioError> {
    let allowed = "only with a lossless queue (`pfc`) in this memory";
    let of_fabric = root.get("fabric").and_then(|fabric| fabric.get("memory"));
    if let Some(headroom) = of_fabric.and_then(|memory| memory.get("headroom"))
        && !links.iter().any(Link::is_lossless)
    {
        return Err(headroom.error(allowed));
    }
    let list = root.get("memories");
    let items = list.and_then(|list| list.items()).unwrap_or_default();
    for (number, (memory, item)) in memories.iter().zip(&items).enumerate() {
        let mut sharing = links.iter().filter(|link| link.memory == Some(number));
        let headroom = item.get("headroom").filter(|_| memory.headroom.is_some());
        if let Some(headroom) = headroom
            && !sharing.any(Link::is_lossless)
        {
            return Err(headroom.error(allowed));
        }
    }
    Ok(())
}

/// Reads a memory, whose parts must fit its size.
fn read_memory(item: &Cursor<'_>, context: &Context<'_>) -> Result<Memory, ScenarioError> {
    let memory = Memory::read(item, context)?;
    check_parts(item, &memory)?;
    Ok(memory)
}

/// Refuses a memory of this table whose parts do not fit its size.
pub(crate) fn check_parts(item: &Cursor<'_>, memory: &Memory) -> Result<(), ScenarioError> {
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
