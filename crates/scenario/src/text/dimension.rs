//! Quantities as users write them outside of scenario files, read by the same grammar.

use forebay_units::{Bytes, Rate, Time};

use crate::text::naming::{likeliest_quantity, shortened};
use crate::text::quantity::packets;
use crate::text::tree::ValueError;

/// The dimension of a quantity in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// "10ms", in seconds.
    Time,
    /// "50Mbps", in bits per second.
    Rate,
    /// "64KiB", in bytes.
    Bytes,
    /// "100p", in packets.
    Packets,
    /// "90%" or "0.9", as a fraction.
    Share,
}

impl Dimension {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Time,
        Self::Rate,
        Self::Bytes,
        Self::Packets,
        Self::Share,
    ];

    /// The name that programs ask with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Share => "share",
        }
    }

    /// The value of a text in the base unit, finite and not negative.
    ///
    /// ```
    /// use forebay_scenario::Dimension;
    ///
    /// assert_eq!(Dimension::Time.parse("20ms"), Ok(0.02));
    /// assert_eq!(Dimension::Share.parse("90%"), Ok(0.9));
    /// assert!(Dimension::Rate.parse("50").is_err());
    /// ```
    ///
    /// # Errors
    /// The allowed values, in words.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let unit = |error: forebay_units::UnitError| error.allowed;
        let value = match self {
            Self::Time => text.parse::<Time>().map_err(unit)?.as_secs_f64(),
            Self::Rate => text.parse::<Rate>().map_err(unit)?.as_bits_per_second() as f64,
            Self::Bytes => text.parse::<Bytes>().map_err(unit)?.get() as f64,
            Self::Packets => packets(text).ok_or("a number of packets such as 100p")?,
            Self::Share => share(text).ok_or("a share such as 30% or 0.3")?,
        };
        Ok(value)
    }
}

impl Dimension {
    /// The value of a text, or what is wrong with it and what was likely meant.
    ///
    /// # Errors
    /// The value found, the value likely meant and the allowed values.
    pub fn read(self, text: &str) -> Result<f64, ValueError> {
        self.parse(text).map_err(|allowed| ValueError::Value {
            found: format!("`{}`", shortened(text)),
            meant: likeliest_quantity(text, |text| self.parse(text).is_ok()),
            allowed,
        })
    }
}

fn share(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (value.is_finite() && value >= 0.0).then_some(value)
}
