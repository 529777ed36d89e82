//! The table of a link with its buffer. A scenario reads its links first.

use std::sync::Arc;

use forebay_units::{Bytes, Rate, RateSteps, Time};
use serde_json::{Value, json};

use crate::model::algorithm::Algorithm;
use crate::model::buffer::{Buffer, BufferLimit, BufferSize};
use crate::model::classes::{LinkQueue, Queue, TrafficClass};
use crate::model::delay::{DelayForm, Delays, LinkDelay};
use crate::model::loss::MediumLoss;
use crate::model::medium::{Medium, MediumForm, Phy};
use crate::model::outages::{Outages, OutagesForm};
use crate::model::pfc::{Pfc, PfcTable};
use crate::model::policer::{Policer, PolicerTable};
use crate::model::rate::{LinkRate, RateForm};
use crate::model::shaper::{Shaper, ShaperTable};
use crate::model::varying::Varying;
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, NAME, Number, Switch, Table, Words};
use crate::text::grammar::Grammar;
use crate::text::grammar::text;
use crate::text::keys::{Context, Form, Joint, Key, Presence, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// One link with its queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Link {
        /// Name, unique in the scenario; without one `link`, `link1`, ...
        name: String = String::new(), always(NAME);
        /// Bits of IP packets per second, headers included; the average where it changes, and that
        /// of a shaper where this is less.
        rate: Rate = Rate::from_bits_per_second(0), parts(RATE_KEY);
        /// How the rate changes, where it does.
        varying: Option<Varying> = None, derived;
        /// The rate as time goes on, where it changes and is known.
        steps: Option<Arc<RateSteps>> = None, derived;
        /// Largest queue, without the packet in transmission.
        buffer: BufferLimit = BufferLimit::Packets(0), required("\"100p\"", Buffer);
        /// Queue discipline: it decides which packet is dropped and which leaves first.
        discipline: Algorithm = Algorithm::new(forebay_discipline::descriptions()[0]),
            parts(QUEUE_KEY);
        /// Its classes, where the discipline is `classes`.
        classes: Vec<TrafficClass> = Vec::new(), derived;
        /// One-way propagation delay, part of each `rtt`; the shortest if it changes.
        delay: Time = Time::ZERO, parts(DELAY_KEY);
        /// How the delay changes, where it does.
        delays: Option<Delays> = None, derived;
        /// Times at which the link sends nothing.
        outages: Outages = Outages::NONE, key(OutagesForm);
        /// Medium of the link, if it is not a wire.
        medium: Option<Medium> = None, key(Maybe(MediumForm));
        /// The rate as it is written, where a medium takes a share of it.
        phy: Option<Phy> = None, derived;
        /// Random losses after the queue, on the way to the next link or the receiver.
        loss: MediumLoss = MediumLoss::NONE, key(Table);
        /// Token bucket in front of the queue: it drops packets that exceed its rate and burst.
        policer: Option<Policer> = None, key(Maybe(PolicerTable));
        /// Token bucket between the queue and the line; `rate` is then the rate of the line.
        shaper: Option<Shaper> = None, key(Maybe(ShaperTable));
        /// The rate of the line behind a shaper.
        line: Option<Rate> = None, derived;
        /// Layer whose overhead the rate includes.
        rate_layer: RateLayer = RateLayer::L3, always(Words);
        /// Name of the shared memory in which its packets wait together with those of other links;
        /// one of `[[memories]]`.
        memory: Option<usize> = None, key(Maybe(OneOfTheMemories));
        /// Multiple of the free shared memory that the link's queue may hold: a dynamic threshold.
        /// Without it the queue may hold all of the memory.
        memory_alpha: Option<f64> = None, key(Maybe(ALPHA));
        /// Part of the memory that only packets of this link may use.
        memory_reserved: Option<BufferLimit> = None, key(Maybe(MemorySize));
        /// Priority flow control: the queue pauses its senders instead of dropping their packets.
        pfc: Option<Pfc> = None, key(Maybe(PfcTable));
        /// Whether reports are about this link; of several links, one is the target.
        target: bool = false, always(Switch);
    }
}

/// The key `rate` of a link.
pub(crate) const RATE_KEY: Joint<Link, LinkRate, RateForm> = Joint {
    key: Key {
        name: "rate",
        meaning: &[
            "Rate in bits of IP packets per second, headers included; a table if it changes.",
        ],
        presence: Presence::Required("\"50Mbps\""),
        form: RateForm,
    },
    get: |link| match &link.phy {
        Some(phy) => (phy.rate, phy.varying.clone()),
        None => (link.line_rate(), link.varying.clone()),
    },
    set: |link, rate| (link.rate, link.varying) = rate,
};

/// The key `delay` of a link.
pub(crate) const DELAY_KEY: Joint<Link, LinkDelay, DelayForm> = Joint {
    key: Key {
        name: "delay",
        meaning: &[
            "One-way propagation delay, a part of each `rtt`. It matters only between links of a path, or if",
            "it changes. Then each `rtt` contains the shortest delay, and the rest is added.",
        ],
        presence: Presence::Written,
        form: DelayForm,
    },
    get: |link| (link.delay, link.delays.clone()),
    set: |link, delay| (link.delay, link.delays) = delay,
};

/// The key `queue` of a link.
pub(crate) const QUEUE_KEY: Joint<Link, Queue, LinkQueue> = Joint {
    key: Key {
        name: "queue",
        meaning: &["Queue discipline: it decides which packet is dropped and which leaves first."],
        presence: Presence::Written,
        form: LinkQueue,
    },
    get: |link| (link.discipline.clone(), link.classes.clone()),
    set: |link, queue| (link.discipline, link.classes) = queue,
};

words! {
    /// The layer whose bits a link's rate counts.
    pub enum RateLayer {
        /// Bits on an Ethernet wire: 38 bytes more per packet (preamble, header, check, gap).
        L1 = "l1",
        /// Bits of Ethernet frames: 18 bytes more per packet.
        L2 = "l2",
        /// Bits of IP packets.
        L3 = "l3",
    }
}

impl RateLayer {
    /// Bytes per packet that the link's rate counts and the packet's size does not.
    ///
    /// ```
    /// use forebay_scenario::RateLayer;
    /// use forebay_units::Bytes;
    ///
    /// // Ethernet: header 14, check 4; on the wire also preamble 8 and gap 12.
    /// assert_eq!(RateLayer::L3.framing(), Bytes::ZERO);
    /// assert_eq!(RateLayer::L2.framing(), Bytes::new(14 + 4));
    /// assert_eq!(RateLayer::L1.framing(), Bytes::new(14 + 4 + 8 + 12));
    /// ```
    pub const fn framing(self) -> Bytes {
        Bytes::new(match self {
            Self::L1 => 38,
            Self::L2 => 18,
            Self::L3 => 0,
        })
    }
}

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
    }
}

/// Alpha of a dynamic threshold: switches offer powers of two from 1/128 to 128.
const ALPHA: Number = Number(1e-3, 1e3);

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
struct OneOfTheMemories;

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

impl Link {
    /// Reads the link of this number, all but its buffer.
    pub(crate) fn read_unresolved(
        table: &Cursor<'_>,
        number: usize,
        context: &Context<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut link = Self::read(table, context)?;
        if link.name.is_empty() {
            link.name = match number {
                0 => "link".into(),
                _ => format!("link{number}"),
            };
        }
        Ok(link)
    }
}

/// Refuses links whose thresholds and guarantees do not fit their memory.
pub(crate) fn check_memories(
    links: &[Link],
    cursors: &[Cursor<'_>],
    memories: &[Memory],
) -> Result<(), ScenarioError> {
    let mut guaranteed = vec![0; memories.len()];
    for (link, cursor) in links.iter().zip(cursors) {
        let Some(number) = link.memory else {
            let mut keys = ["memory_alpha", "memory_reserved"].iter();
            let stray = keys.find_map(|key| cursor.get(key));
            if let Some(stray) = stray {
                return Err(stray.error("only with `memory`"));
            }
            continue;
        };
        let Some(reserved) = link.memory_reserved else {
            continue;
        };
        let memory = &memories[number];
        let (part, size) = match (reserved, memory.size) {
            (BufferLimit::Packets(part), BufferLimit::Packets(size)) => (part, size),
            (BufferLimit::Bytes(part), BufferLimit::Bytes(size)) => (part.get(), size.get()),
            _ => {
                let here = cursor.get("memory_reserved");
                let allowed = format!("the unit of the memory's size, {}", memory.size);
                return Err(here.as_ref().unwrap_or(cursor).error(allowed));
            }
        };
        guaranteed[number] += part;
        if guaranteed[number] > size {
            let here = cursor.get("memory_reserved");
            let allowed = format!(
                "guarantees of all links that are together at most {}, the size of `{}`",
                memory.size, memory.name
            );
            return Err(here.as_ref().unwrap_or(cursor).error(allowed));
        }
    }
    Ok(())
}

/// Reads `[[memories]]`.
pub(crate) fn read_memories(cursor: &Cursor<'_>) -> Result<Vec<Memory>, ScenarioError> {
    let items = cursor.items().filter(|items| items.len() <= 64);
    let items = items.ok_or_else(|| cursor.error("[[memories]], at most 64 of them"))?;
    let mut memories: Vec<Memory> = Vec::with_capacity(items.len());
    let mut names = Vec::new();
    for item in &items {
        let context = Context {
            memories: &names,
            ..Context::default()
        };
        let memory = Memory::read(item, &context)?;
        names.push(memory.name.clone());
        memories.push(memory);
    }
    Ok(memories)
}
