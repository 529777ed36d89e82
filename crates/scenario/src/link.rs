//! Links and buffers.

use forebay_units::{Bytes, Rate, Time};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::algorithm::Algorithm;
use crate::law::packets;
use crate::node::{Cursor, ScenarioError};

/// How much may wait at a link, as written. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferSize {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// What the link sends in this time.
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
    const ALLOWED: &'static str = "packets \"100p\", bytes \"150kB\" or \"64KiB\", time \"5ms\", or \"0.5BDP\" (at most 1e12 packets or 1e15 bytes)";

    /// Reads "100p", "150kB", "5ms" or "0.5BDP".
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(multiple) = text.strip_suffix("BDP") {
            let multiple: f64 = multiple.trim().parse().ok()?;
            return (multiple.is_finite() && multiple >= 0.0).then_some(Self::Bdp(multiple));
        }
        if let Some(count) = packets(text) {
            return (count <= MAX_PACKETS as f64).then_some(Self::Packets(count.floor() as u64));
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
            .ok_or_else(|| cursor.error(Self::ALLOWED))
    }

    /// The limit at a link of `rate` where one BDP is `bdp` bytes.
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

impl Serialize for BufferLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Packets(count) => serializer.collect_str(&format_args!("{count}p")),
            Self::Bytes(bytes) => serializer.collect_str(bytes),
        }
    }
}

/// One link with its queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name, unique in the scenario.
    pub name: String,
    /// Bits of IP packets per second.
    pub rate: Rate,
    /// What may wait.
    pub buffer: BufferLimit,
    /// Who is dropped and who goes first.
    pub discipline: Algorithm,
    /// One-way propagation, part of each `rtt`; only matters between links of a path.
    pub delay: Time,
    /// Which layer's overhead the rate includes.
    pub rate_layer: RateLayer,
    /// The memory in which its packets wait together with those of other links, where it has none
    /// of its own: an index into the scenario's memories.
    pub memory: Option<usize>,
    /// Whether reports speak of this link.
    pub target: bool,
}

/// A memory that the ports of a switch share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// Name, unique in the scenario.
    pub name: String,
    /// What may wait at all its links together, packets in transmission not counted.
    pub size: BufferLimit,
}

/// Reads `[[memories]]`.
pub(crate) fn read_memories(cursor: &Cursor<'_>) -> Result<Vec<Memory>, ScenarioError> {
    let items = cursor.items().filter(|items| items.len() <= 64);
    let items = items.ok_or_else(|| cursor.error("[[memories]], at most 64 of them"))?;
    let mut memories: Vec<Memory> = Vec::with_capacity(items.len());
    for item in &items {
        item.only(&["name", "size"])?;
        let at = item.require("name", "\"switch\"")?;
        let known = |name: &str| memories.iter().any(|other| other.name == name);
        let name = at.text().filter(|text| {
            !text.is_empty() && text.len() <= 64 && !text.contains('.') && !known(text)
        });
        let name = name.ok_or_else(|| at.error("a name without dots, a different one for each"))?;
        let at = item.require("size", "\"12MB\"")?;
        let size = match at.text().and_then(BufferSize::parse) {
            Some(BufferSize::Packets(count)) => BufferLimit::Packets(count),
            Some(BufferSize::Bytes(bytes)) => BufferLimit::Bytes(bytes),
            _ => return Err(at.error("packets \"1000p\" or bytes \"12MB\"")),
        };
        memories.push(Memory {
            name: name.to_owned(),
            size,
        });
    }
    Ok(memories)
}

/// The layer whose bits a link's rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateLayer {
    /// Bits on an Ethernet wire: 38 bytes per packet more (preamble, header, check, gap).
    L1,
    /// Bits of Ethernet frames: 18 bytes per packet more.
    L2,
    /// Bits of IP packets.
    #[default]
    L3,
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

/// A link as read, its buffer not resolved yet.
pub(crate) struct RawLink<'a> {
    pub(crate) link: Link,
    pub(crate) size: BufferSize,
    pub(crate) buffer: Cursor<'a>,
}

pub(crate) fn read_link<'a>(
    cursor: &Cursor<'a>,
    number: usize,
    memories: &[Memory],
) -> Result<RawLink<'a>, ScenarioError> {
    cursor.only(&[
        "name",
        "rate",
        "buffer",
        "queue",
        "delay",
        "rate_layer",
        "memory",
        "target",
    ])?;
    let at = cursor.require("rate", "\"50Mbps\"")?;
    let rate: Rate = at.unit()?;
    if rate.as_bits_per_second() < 1000 || rate.as_bits_per_second() > 100_000_000_000_000 {
        return Err(at.error("a rate from 1kbps to 100Tbps"));
    }
    let buffer = cursor.require("buffer", "\"100p\"")?;
    let registry = forebay_discipline::descriptions();
    let link = Link {
        name: match cursor.get("name") {
            Some(name) => name
                .text()
                .filter(|text| !text.is_empty() && text.len() <= 64 && !text.contains('.'))
                .ok_or_else(|| name.error("a name without dots"))?
                .to_owned(),
            None if number == 0 => "link".into(),
            None => format!("link{number}"),
        },
        rate,
        buffer: BufferLimit::Packets(0),
        discipline: match cursor.get("queue") {
            Some(queue) => Algorithm::read(&queue, registry)?,
            None => Algorithm::new(registry[0]),
        },
        delay: match cursor.get("delay") {
            Some(delay) => delay.unit()?,
            None => Time::ZERO,
        },
        rate_layer: match cursor.get("rate_layer") {
            Some(layer) => layer.word(&[
                ("l1", RateLayer::L1),
                ("l2", RateLayer::L2),
                ("l3", RateLayer::L3),
            ])?,
            None => RateLayer::L3,
        },
        memory: match cursor.get("memory") {
            Some(memory) => Some(find_memory(&memory, memories)?),
            None => None,
        },
        target: match cursor.get("target") {
            Some(target) => target.switch()?,
            None => false,
        },
    };
    Ok(RawLink {
        link,
        size: BufferSize::read(&buffer)?,
        buffer,
    })
}

fn find_memory(cursor: &Cursor<'_>, memories: &[Memory]) -> Result<usize, ScenarioError> {
    let found = memories.iter().position(|m| cursor.text() == Some(&m.name));
    found.ok_or_else(|| {
        let names: Vec<&str> = memories.iter().map(|memory| memory.name.as_str()).collect();
        cursor.error(if names.is_empty() {
            "the name of one of [[memories]], of which there are none".to_owned()
        } else {
            names.join(", ")
        })
    })
}

/// A link with the name of its memory, for serialisation.
pub(crate) struct ShownLink<'a>(pub(crate) &'a Link, pub(crate) Option<&'a str>);

impl Serialize for ShownLink<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(link, memory) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &link.name)?;
        map.serialize_entry("rate", &link.rate)?;
        map.serialize_entry("buffer", &link.buffer)?;
        map.serialize_entry("queue", &link.discipline)?;
        map.serialize_entry("delay", &link.delay)?;
        map.serialize_entry("rate_layer", &link.rate_layer)?;
        if let Some(memory) = memory {
            map.serialize_entry("memory", memory)?;
        }
        map.serialize_entry("target", &link.target)?;
        map.end()
    }
}
