//! Links and buffers.

use std::sync::Arc;

use forebay_units::{Bytes, Rate, RateSteps, Time};
use serde_json::{Value, json};

use crate::algorithm::{Algorithm, Registered};
use crate::classes::{QUEUE_KEY, TrafficClass};
use crate::cursor::Cursor;
use crate::delay::{DELAY_KEY, Delays};
use crate::form::{Maybe, Switch, Table, Text, Words};
use crate::keys::{Context, Form, Grammar, Section, keys, words};
use crate::law::packets;
use crate::loss::MediumLoss;
use crate::medium::{Medium, MediumForm, Phy};
use crate::naming::is_control;
use crate::node::ScenarioError;
use crate::outages::{Outages, OutagesForm};
use crate::policer::{Policer, PolicerTable};
use crate::rate::RATE_KEY;
use crate::schema::text;
use crate::shaper::{Shaper, ShaperTable};
use crate::varying::Varying;

/// How much may wait at a link, as written. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferSize {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// What the link sends in this time, at its average rate where that changes.
    Time(Time),
    /// A multiple of the bandwidth-delay product.
    Bdp(f64),
}

/// A resolved limit on what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferLimit {
    /// At most this many packets wait.
    Packets(u64),
    /// At most this many bytes wait.
    Bytes(Bytes),
}

/// Largest buffer in packets, and in bytes.
const MAX_PACKETS: u64 = 1_000_000_000_000;
const MAX_BYTES: u64 = 1_000_000_000_000_000;

impl BufferSize {
    const ALLOWED: &'static str = "packets \"100p\", bytes \"150kB\" or \"64KiB\", time \"5ms\", or \"0.5BDP\" (at most 1e12 whole packets or 1e15 bytes)";

    /// Reads "100p", "150kB", "5ms" or "0.5BDP".
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(multiple) = text.strip_suffix("BDP") {
            let multiple: f64 = multiple.trim().parse().ok()?;
            return (multiple.is_finite() && multiple >= 0.0).then_some(Self::Bdp(multiple));
        }
        if let Some(count) = packets(text) {
            let whole = count <= MAX_PACKETS as f64 && count.fract() == 0.0;
            return whole.then_some(Self::Packets(count as u64));
        }
        if let Ok(bytes) = text.parse::<Bytes>() {
            return (bytes.get() <= MAX_BYTES).then_some(Self::Bytes(bytes));
        }
        text.parse().ok().map(Self::Time)
    }

    pub(crate) fn read(cursor: &Cursor<'_>) -> Result<Self, ScenarioError> {
        cursor
            .text()
            .and_then(Self::parse)
            .ok_or_else(|| cursor.quantity_error(|text| Self::parse(text).is_some(), Self::ALLOWED))
    }

    /// The limit at a link of (average) `rate` where one BDP is `bdp` bytes.
    pub(crate) fn resolve(self, rate: Rate, bdp: f64) -> Option<BufferLimit> {
        let bytes = match self {
            Self::Packets(count) => return Some(BufferLimit::Packets(count)),
            Self::Bytes(bytes) => bytes.get() as f64,
            Self::Time(time) => rate.bytes_in(time).get() as f64,
            Self::Bdp(multiple) => floor_of_nearly_whole(multiple * bdp),
        };
        (bytes.is_finite() && bytes <= MAX_BYTES as f64)
            .then_some(BufferLimit::Bytes(Bytes::new(bytes as u64)))
    }
}

/// The whole part, where a product that is whole but for rounding counts as whole: half a BDP of
/// 10000 packets is 5000 packets and not a byte less.
fn floor_of_nearly_whole(bytes: f64) -> f64 {
    let nearest = bytes.round();
    if (bytes - nearest).abs() <= 1e-9 * nearest {
        nearest
    } else {
        bytes.floor()
    }
}

/// As it is written: "100p", "64kB", "5ms" or "0.5BDP".
impl std::fmt::Display for BufferSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Packets(count) => write!(f, "{count}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Bdp(multiple) => write!(f, "{multiple}BDP"),
        }
    }
}

/// As it is written: "100p" or "64kB".
impl std::fmt::Display for BufferLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Packets(count) => write!(f, "{count}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

keys! {
    /// One link with its queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Link {
        /// Name, unique in the scenario; without one `link`, `link1`, ...
        name: String = String::new(), always(NAME);
        /// Bits of IP packets per second, headers included; the average where it changes, and that of a
        /// shaper where this is less.
        rate: Rate = Rate::from_bits_per_second(0), parts(RATE_KEY);
        /// How the rate changes, where it does.
        varying: Option<Varying> = None, derived;
        /// The rate as time goes on, where it changes and is known.
        steps: Option<Arc<RateSteps>> = None, derived;
        /// What may wait, without the packet in transmission.
        buffer: BufferLimit = BufferLimit::Packets(0), required("\"100p\"", Buffer);
        /// Who is dropped and who goes first.
        discipline: Algorithm = Algorithm::new(forebay_discipline::descriptions()[0]),
            parts(QUEUE_KEY);
        /// Its classes, where the discipline is `classes`.
        classes: Vec<TrafficClass> = Vec::new(), derived;
        /// One-way propagation, part of each `rtt`; the shortest where it changes.
        delay: Time = Time::ZERO, parts(DELAY_KEY);
        /// How the delay changes, where it does.
        delays: Option<Delays> = None, derived;
        /// When it sends nothing.
        outages: Outages = Outages::NONE, key(OutagesForm);
        /// What packets cross, where it is no wire.
        medium: Option<Medium> = None, key(Maybe(MediumForm));
        /// The rate as it is written, where a medium takes a share of it.
        phy: Option<Phy> = None, derived;
        /// What is lost behind the queue, on the way to the next link or the receiver.
        loss: MediumLoss = MediumLoss::NONE, key(Table);
        /// What is dropped in front of the queue, for it comes faster than this rate and burst.
        policer: Option<Policer> = None, key(Maybe(PolicerTable));
        /// The token bucket that empties the queue: then `rate` is that of the line behind it.
        shaper: Option<Shaper> = None, key(Maybe(ShaperTable));
        /// The rate of the line behind a shaper.
        line: Option<Rate> = None, derived;
        /// Which layer's overhead the rate includes.
        rate_layer: RateLayer = RateLayer::L3, always(Words);
        /// The memory in which its packets wait together with those of other links, where it has none
        /// of its own: one of `[[memories]]`.
        memory: Option<usize> = None, key(Maybe(OneOfTheMemories));
        /// Whether reports speak of this link; of several links, one is the target.
        target: bool = false, always(Switch);
    }
}

pub(crate) const NAME: Text = Text {
    valid: |text| {
        !text.is_empty() && text.len() <= 64 && !text.contains('.') && !text.contains(is_control)
    },
    allowed: "a name without dots and control characters",
};

pub(crate) const QUEUE: Registered = Registered(forebay_discipline::descriptions);

words! {
    /// The layer whose bits a link's rate counts.
    pub enum RateLayer {
        /// Bits on an Ethernet wire: 38 bytes per packet more (preamble, header, check, gap).
        L1 = "l1",
        /// Bits of Ethernet frames: 18 bytes per packet more.
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
        /// What may wait at all its links together, packets in transmission not counted.
        size: BufferLimit = BufferLimit::Packets(0), required("\"12MB\"", MemorySize);
    }
}

/// The form of a link's buffer. Times and multiples of the bandwidth-delay product stand for nothing
/// until rates and flows are known: the scenario resolves them.
pub(crate) struct Buffer;

impl Form<BufferLimit> for Buffer {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<BufferLimit, ScenarioError> {
        BufferSize::read(at).map(|_| BufferLimit::Packets(0))
    }

    fn write(&self, limit: &BufferLimit, _: &Context<'_>) -> Option<Value> {
        Some(limit.to_string().into())
    }

    fn grammar(&self) -> Grammar {
        let schema = text(
            "^[0-9.eE+-]+ ?(p|B|[kMGT]B|[KMGT]iB|BDP|ps|ns|us|ms|s|min|h|d)$",
            "packets \"100p\", bytes \"150kB\", time \"5ms\" or \"0.5BDP\"",
        );
        Grammar::new(schema, BufferSize::ALLOWED)
    }
}

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
struct MemorySize;

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

/// The limit that `table` gives at `link`, where one bandwidth-delay product is `bdp` bytes.
pub(crate) fn resolve_buffer(
    table: &Cursor<'_>,
    link: &Link,
    bdp: Option<f64>,
) -> Result<BufferLimit, ScenarioError> {
    let at = table.require("buffer", "\"100p\"")?;
    let size = BufferSize::read(&at)?;
    if matches!(size, BufferSize::Bdp(_)) && bdp.is_none() {
        return Err(at.error(
            "packets, bytes or time: without responsive flows of bounded RTT there is no BDP",
        ));
    }
    let limit = size.resolve(link.rate, bdp.unwrap_or(0.0));
    limit.ok_or_else(|| at.error("at most 1e15 bytes"))
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
