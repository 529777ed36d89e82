//! Sizes of buffers: as a user gives them, as limits of packets or bytes, and in every unit. Links
//! and classes have buffers.

use forebay_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::cursor::Cursor;
use crate::text::grammar::{Grammar, text};
use crate::text::keys::{Context, Form};
use crate::text::quantity::packets;
use crate::text::tree::ScenarioError;

/// How much may wait at a link, as written. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferSize {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// The data that the link sends in this time, at its average rate if the rate changes.
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
            Self::Bdp(multiple) => floor_with_tolerance(multiple * bdp),
        };
        (bytes.is_finite() && bytes <= MAX_BYTES as f64)
            .then_some(BufferLimit::Bytes(Bytes::new(bytes as u64)))
    }
}

/// The whole part, where a product that is whole but for rounding counts as whole: half a BDP of
/// 10000 packets is 5000 packets and not a byte less.
fn floor_with_tolerance(bytes: f64) -> f64 {
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

/// The form of a link's buffer. Times and multiples of the bandwidth-delay product stand for
/// nothing until rates and flows are known: the scenario resolves them.
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

/// The limit that `table` gives at a link of this rate, where one bandwidth-delay product is `bdp`
/// bytes.
pub(crate) fn resolve_buffer(
    table: &Cursor<'_>,
    rate: Rate,
    bdp: Option<f64>,
) -> Result<BufferLimit, ScenarioError> {
    let at = table.require("buffer", "\"100p\"")?;
    let size = BufferSize::read(&at)?;
    if matches!(size, BufferSize::Bdp(_)) && bdp.is_none() {
        return Err(at.error(
            "packets, bytes or time: without responsive flows of bounded RTT there is no BDP",
        ));
    }
    let limit = size.resolve(rate, bdp.unwrap_or(0.0));
    limit.ok_or_else(|| at.error("at most 1e15 bytes"))
}

/// A buffer in every unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferReport {
    /// Packets (of the flows' mean packet size for a byte limit).
    pub packets: f64,
    /// Bytes (of the flows' mean packet size for a packet limit).
    pub bytes: f64,
    /// Time to send it at link rate.
    pub seconds: f64,
    /// Multiples of the bandwidth-delay product; none where there is none.
    pub bdp: Option<f64>,
}
