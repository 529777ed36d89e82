//! Laws: how a quantity varies, from a plain value to an empirical distribution. One grammar
//! wherever a number of the scenario may vary. A new law is a variant here and its draw, its
//! moments in `moments.rs`, its periods in `renewal.rs`, and its line of the grammar in `form.rs`;
//! the compiler names what is missing.

pub(crate) mod form;
mod moments;
pub(crate) mod renewal;

use forebay_random::Stream;
use forebay_units::{Bytes, Time, UnitError};

use crate::model::measured::{MEASURED, Measured};
use crate::text::cursor::Cursor;
use crate::text::quantity::packets;
use crate::text::tree::ScenarioError;

/// A quantity that a law can be about.
pub trait Quantity:
    Copy + 'static + PartialOrd + std::fmt::Display + PartialEq + std::fmt::Debug
{
    /// An example for error messages.
    const EXAMPLE: &'static str;
    /// Reads the quantity, or says what is allowed; `packet` is the payload of one full packet,
    /// for the unit `p`.
    fn read(text: &str, packet: Bytes) -> Result<Self, String>;
    /// In base units (seconds or bytes).
    fn to_real(self) -> f64;
    /// From base units (seconds or bytes), rounded; negative and NaN give zero.
    fn from_real(value: f64) -> Self;
    /// `self + other`, saturating.
    fn plus(self, other: Self) -> Self;
    /// The points of a measured distribution of this quantity by its name, or the known names.
    fn measured(name: &str) -> Result<Vec<(Self, f64)>, String>;
}

impl Quantity for Time {
    const EXAMPLE: &'static str = "\"100ms\"";
    fn read(text: &str, _: Bytes) -> Result<Self, String> {
        text.parse().map_err(|error: UnitError| error.allowed)
    }
    fn to_real(self) -> f64 {
        self.as_secs_f64()
    }
    fn from_real(value: f64) -> Self {
        Self::from_secs_f64(value)
    }
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
    fn measured(_: &str) -> Result<Vec<(Self, f64)>, String> {
        Err("no `measured` times: only sizes have names".into())
    }
}

impl Quantity for Bytes {
    const EXAMPLE: &'static str = "\"100kB\" or \"50p\"";
    fn read(text: &str, packet: Bytes) -> Result<Self, String> {
        let Some(count) = packets(text) else {
            return text.parse().map_err(|error: UnitError| error.allowed);
        };
        let bytes = count * packet.get() as f64;
        if bytes < 1e18 {
            Ok(Self::new(bytes.ceil() as u64))
        } else {
            Err("fewer bytes than 1e18".into())
        }
    }
    fn to_real(self) -> f64 {
        self.get() as f64
    }
    fn from_real(value: f64) -> Self {
        Self::new(value.ceil() as u64)
    }
    fn plus(self, other: Self) -> Self {
        Self::new(self.get().saturating_add(other.get()))
    }
    fn measured(name: &str) -> Result<Vec<(Self, f64)>, String> {
        let known = MEASURED
            .iter()
            .find(|distribution| distribution.name == name);
        known.map(Measured::points).ok_or_else(|| {
            let names: Vec<_> = MEASURED
                .iter()
                .map(|distribution| format!("\"{}\"", distribution.name))
                .collect();
            names.join(", ")
        })
    }
}

/// How a quantity varies.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution<T> {
    /// Always the same.
    Value(T),
    /// One value per flow.
    List(Vec<T>),
    /// Uniform between two values.
    Uniform(T, T),
    /// Equally spaced over the flows of the group, both ends included.
    Linspace(T, T),
    /// Exponential with this mean.
    Exponential(T),
    /// Pareto: P(X > x) = (minimum / x)^shape, truncated at `maximum` if given.
    Pareto {
        /// Tail exponent, above 0 (above 1 for a finite mean).
        shape: f64,
        /// Smallest value.
        minimum: T,
        /// Largest value, the law being conditioned on staying below it.
        maximum: Option<T>,
    },
    /// Log-normal: exp of a normal with mean ln(median) and standard deviation `sigma`.
    Lognormal {
        /// Median.
        median: T,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape); below a shape of 1 with a heavier tail than the
    /// exponential law.
    Weibull {
        /// Exponent, above 0.
        shape: f64,
        /// The value that a draw exceeds with probability 1/e.
        scale: T,
    },
    /// One of these values, at random each time with equal probability.
    Choice(Vec<T>),
    /// One of several laws, with weights that sum to 1.
    Mixture(Vec<(f64, Distribution<T>)>),
    /// Empirical: (value, probability of at most this), linear in between.
    Cdf(Vec<(T, f64)>),
    /// A value or list with a random addition.
    Jitter {
        /// The value or list.
        base: Box<Distribution<T>>,
        /// The random addition.
        jitter: Box<Distribution<T>>,
    },
}

impl<T: Quantity> Distribution<T> {
    /// Checks a list's length against the number of flows.
    pub(crate) fn check_count(&self, count: u64, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::List(list) if list.len() as u64 != count => {
                Err(cursor.error(format!("a list of {count}, one per flow of the group")))
            }
            Self::Jitter { base, .. } => base.check_count(count, cursor),
            _ => Ok(()),
        }
    }

    /// Refuses lists, whose length a number of flows that is drawn cannot match.
    pub(crate) fn check_unlisted(&self, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::List(_) => Err(cursor.error("no list if the count is random")),
            Self::Jitter { base, .. } => base.check_unlisted(cursor),
            _ => Ok(()),
        }
    }

    /// Refuses laws that need to know which flow they are for.
    pub(crate) fn check_anonymous(&self, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::List(_) | Self::Linspace(..) => {
                Err(cursor.error("a distribution for single values (not a list or linspace)"))
            }
            Self::Jitter { base, .. } => base.check_anonymous(cursor),
            _ => Ok(()),
        }
    }

    /// A draw for flow `index` of `count`.
    pub fn draw(&self, index: u64, count: u64, stream: &mut Stream) -> T {
        match self {
            Self::Value(x) => *x,
            Self::List(list) => list[(index % list.len() as u64) as usize],
            Self::Linspace(a, _) if index == 0 => *a,
            Self::Linspace(_, b) if index + 1 >= count => *b,
            Self::Linspace(a, b) => {
                let (a, b) = (a.to_real(), b.to_real());
                T::from_real(a + (b - a) * (index as f64 / (count - 1) as f64))
            }
            Self::Uniform(a, b) => {
                let (a, b) = (a.to_real(), b.to_real());
                T::from_real(a + (b - a) * stream.uniform())
            }
            Self::Exponential(mean) => T::from_real(mean.to_real() * stream.exponential()),
            Self::Pareto { .. } | Self::Cdf(_) => T::from_real(self.quantile(stream.uniform())),
            Self::Lognormal { median, sigma } => {
                T::from_real(median.to_real() * libm::exp(sigma * stream.normal()))
            }
            Self::Weibull { shape, scale } => {
                T::from_real(scale.to_real() * libm::pow(stream.exponential(), 1.0 / shape))
            }
            Self::Choice(list) => list[stream.below(list.len() as u64) as usize],
            Self::Mixture(parts) => {
                let mut left = stream.uniform();
                for (weight, distribution) in parts {
                    if left < *weight {
                        return distribution.draw(index, count, stream);
                    }
                    left -= weight;
                }
                let (_, last) = &parts[parts.len() - 1];
                last.draw(index, count, stream)
            }
            Self::Jitter { base, jitter } => base
                .draw(index, count, stream)
                .plus(jitter.draw(index, count, stream)),
        }
    }
}
