//! Exact units: [`Time`], [`Bytes`] and [`Rate`] are integers, so that sums never drift and
//! equal instants compare equal on every machine.
//!
//! Text is parsed and printed without loss: `parse(print(x)) == x` for every value.

pub mod custom;
mod decimal;
mod delay_steps;
mod log_histogram;
mod opportunities;
pub mod parameter;
mod steps;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use decimal::{Unit, parse_scaled, print_scaled};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use delay_steps::DelaySteps;
pub use log_histogram::{LogBin, LogHistogram};
pub use opportunities::{Opportunities, OpportunitiesError};
pub use steps::{Phase, RateSteps, StepsError, Work};

/// The error for a text that is not a quantity: the text found and the form allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a {quantity}; {allowed}")]
pub struct UnitError {
    /// The text that was found.
    pub found: String,
    /// The quantity that was expected ("time", "rate", ...).
    pub quantity: &'static str,
    /// The form that would be accepted.
    pub allowed: String,
}

/// A span of simulated time, or an instant counted from the start of the simulation.
///
/// The tick is one picosecond in 64 bits. A 64-byte packet at 1.6 Tb/s lasts 320 ticks, so
/// serialization times of common rates are whole numbers, and 2^64 ticks are 213 days.
///
/// ```
/// use forebay_units::Time;
///
/// let rtt: Time = "1.5ms".parse()?;
/// assert_eq!(rtt + rtt, Time::from_millis(3));
/// assert_eq!(rtt.to_string(), "1.5ms");
/// # Ok::<(), forebay_units::UnitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// Ticks per second.
const TICKS_PER_SECOND: u64 = 1_000_000_000_000;

impl Time {
    /// The start of the simulation, or no time at all.
    pub const ZERO: Self = Self(0);
    /// The end of time: later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// A time of `ticks` picoseconds.
    pub const fn from_picos(ticks: u64) -> Self {
        Self(ticks)
    }

    /// This time in picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// A time of `micros` microseconds (saturating).
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000_000))
    }

    /// A time of `millis` milliseconds (saturating).
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000_000))
    }

    /// A time of `seconds` seconds (saturating).
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(TICKS_PER_SECOND))
    }

    /// The nearest tick to `seconds`; negative and NaN give zero, too large gives [`Time::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Self {
        // A float-to-integer cast saturates and maps NaN to zero.
        Self((seconds * TICKS_PER_SECOND as f64).round_ties_even() as u64)
    }

    /// This time in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        // The conversion of a signed number is one instruction.
        let signed = self.0 as i64;
        let ticks = if signed >= 0 {
            signed as f64
        } else {
            self.0 as f64
        };
        ticks / TICKS_PER_SECOND as f64
    }

    /// `self - other`, or zero if `other` is later.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or [`Time::MAX`] on overflow.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self * factor`, or [`Time::MAX`] on overflow.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The next whole multiple of `grain` at or after this time; this time if `grain` is zero.
    pub const fn round_up_to(self, grain: Self) -> Self {
        if grain.0 == 0 {
            self
        } else {
            Self(self.0.div_ceil(grain.0).saturating_mul(grain.0))
        }
    }
}

/// A sum beyond the end of time is [`Time::MAX`]. Distributions may draw any delay, and an event
/// after every run never happens.
impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Time {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// A product beyond the end of time is [`Time::MAX`], like a sum.
impl Mul<u64> for Time {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// A number of bytes.
///
/// ```
/// use forebay_units::Bytes;
///
/// assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
/// assert!("64K".parse::<Bytes>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - other`, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

/// A bit rate in bits per second.
///
/// ```
/// use forebay_units::{Bytes, Rate, Time};
///
/// let rate: Rate = "100Mbps".parse()?;
/// assert_eq!(rate.time_to_send(Bytes::new(1250)), Time::from_micros(100));
/// assert_eq!(rate.bytes_in(Time::from_millis(1)), Bytes::new(12_500));
/// # Ok::<(), forebay_units::UnitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bits` per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    pub fn as_bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The exact time to send `size` at this rate: whole ticks, and the remainder in units of one
    /// tick / rate. A link can carry the remainder from packet to packet. A rate of zero never
    /// finishes: the time is [`Time::MAX`].
    pub fn serialization(self, size: Bytes) -> (Time, u64) {
        if self.0 == 0 {
            return (Time::MAX, 0);
        }
        let scaled = u128::from(size.get()) * 8 * u128::from(TICKS_PER_SECOND);
        let whole = scaled / u128::from(self.0);
        match u64::try_from(whole) {
            Ok(ticks) => (Time(ticks), (scaled % u128::from(self.0)) as u64),
            Err(_) => (Time::MAX, 0),
        }
    }

    /// The time to send `size` at this rate, rounded down to a tick.
    pub fn time_to_send(self, size: Bytes) -> Time {
        self.serialization(size).0
    }

    /// The whole bytes sent in `time` at this rate.
    pub fn bytes_in(self, time: Time) -> Bytes {
        let bits = u128::from(self.0) * u128::from(time.0) / u128::from(TICKS_PER_SECOND);
        Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

const TIME_UNITS: &[Unit] = &[
    Unit {
        symbol: "ps",
        scale: 1,
    },
    Unit {
        symbol: "ns",
        scale: 1_000,
    },
    Unit {
        symbol: "us",
        scale: 1_000_000,
    },
    Unit {
        symbol: "ms",
        scale: 1_000_000_000,
    },
    Unit {
        symbol: "s",
        scale: TICKS_PER_SECOND,
    },
    Unit {
        symbol: "min",
        scale: 60 * TICKS_PER_SECOND,
    },
    Unit {
        symbol: "h",
        scale: 3600 * TICKS_PER_SECOND,
    },
    Unit {
        symbol: "d",
        scale: 86400 * TICKS_PER_SECOND,
    },
    Unit {
        symbol: "µs",
        scale: 1_000_000,
    },
    Unit {
        symbol: "μs",
        scale: 1_000_000,
    },
];

const BYTE_UNITS: &[Unit] = &[
    Unit {
        symbol: "B",
        scale: 1,
    },
    Unit {
        symbol: "kB",
        scale: 1_000,
    },
    Unit {
        symbol: "MB",
        scale: 1_000_000,
    },
    Unit {
        symbol: "GB",
        scale: 1_000_000_000,
    },
    Unit {
        symbol: "TB",
        scale: 1_000_000_000_000,
    },
    Unit {
        symbol: "KiB",
        scale: 1 << 10,
    },
    Unit {
        symbol: "MiB",
        scale: 1 << 20,
    },
    Unit {
        symbol: "GiB",
        scale: 1 << 30,
    },
    Unit {
        symbol: "TiB",
        scale: 1 << 40,
    },
];

const RATE_UNITS: &[Unit] = &[
    Unit {
        symbol: "bps",
        scale: 1,
    },
    Unit {
        symbol: "kbps",
        scale: 1_000,
    },
    Unit {
        symbol: "Mbps",
        scale: 1_000_000,
    },
    Unit {
        symbol: "Gbps",
        scale: 1_000_000_000,
    },
    Unit {
        symbol: "Tbps",
        scale: 1_000_000_000_000,
    },
];

/// Parsing, printing and serialization of one integer unit type. Printing chooses from the first
/// `printed` units.
macro_rules! textual {
    ($type:ident, $quantity:literal, $units:ident, $printed:literal, $example:literal) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse_scaled(text, $units)
                    .map($type)
                    .map_err(|why| UnitError {
                        found: text.to_owned(),
                        quantity: $quantity,
                        allowed: format!("{why}, as in {}", $example),
                    })
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&print_scaled(self.0, &$units[..$printed]))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

textual!(Time, "time", TIME_UNITS, 5, "\"100ms\" or \"1.5s\"");
textual!(
    Bytes,
    "size in bytes",
    BYTE_UNITS,
    5,
    "\"1500B\", \"150kB\" or \"64KiB\""
);
textual!(Rate, "bit rate", RATE_UNITS, 5, "\"50Mbps\" or \"1.6Tbps\"");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_packet_on_the_fastest_link_is_a_whole_number_of_ticks() {
        let rate: Rate = "1.6Tbps".parse().unwrap();
        assert_eq!(
            rate.serialization(Bytes::new(64)),
            (Time::from_picos(320), 0)
        );
    }

    #[test]
    fn a_run_of_days_fits() {
        let run: Time = "200d".parse().unwrap();
        assert_eq!(run.as_picos() / TICKS_PER_SECOND, 200 * 86400);
    }

    #[test]
    fn serialization_carries_the_remainder() {
        let rate = Rate::from_bits_per_second(3);
        let (time, rest) = rate.serialization(Bytes::new(1));
        assert_eq!(
            u128::from(time.as_picos()) * 3 + u128::from(rest),
            8 * 1_000_000_000_000
        );
    }

    #[test]
    fn prefixes_of_rates_are_powers_of_1000_and_ki_is_1024() {
        assert_eq!("50Mbps".parse(), Ok(Rate::from_bits_per_second(50_000_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes::new(65536)));
        assert_eq!("150kB".parse(), Ok(Bytes::new(150_000)));
    }

    #[test]
    fn errors_say_what_was_found_and_what_is_allowed() {
        let error = "50Mb".parse::<Rate>().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`50Mb`") && text.contains("Mbps"), "{text}");
    }

    #[test]
    fn numbers_without_a_unit_negative_and_absurd_values_are_refused() {
        for text in [
            "",
            "5",
            "-5ms",
            "NaNs",
            "infs",
            "1e300s",
            "5 parsec",
            "ms",
            "1e999999999999s",
        ] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    proptest! {
        /// The clock never runs backwards, however long the addend is.
        #[test]
        fn time_never_wraps(a in any::<u64>(), b in any::<u64>(), factor in 1u64..) {
            let (a, b) = (Time(a), Time(b));
            prop_assert!(a + b >= a && a + b >= b && a * factor >= a);
            prop_assert_eq!(a + b, b + a);
            let mut sum = a;
            sum += b;
            prop_assert_eq!(sum, a + b);
            prop_assert_eq!([a, b].into_iter().sum::<Time>(), a + b);
            if let Some(exact) = a.0.checked_add(b.0) {
                prop_assert_eq!(a + b, Time(exact));
            }
        }

        #[test]
        fn printing_loses_nothing(n in any::<u64>(), shift in 0u32..64) {
            let n = n >> shift;
            prop_assert_eq!(Time(n).to_string().parse(), Ok(Time(n)));
            prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Time>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Rate>();
        }

        #[test]
        fn numbers_near_the_grammar_do_not_panic(text in "[0-9.eE+-]{0,30}(ps|s|d|kB|Gbps)") {
            let _ = text.parse::<Time>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Rate>();
        }
    }
}
