//! Laws: how a quantity varies, from a plain value to an empirical distribution. One grammar
//! wherever a number of the scenario may vary.

use forebay_random::Stream;
use forebay_units::{Bytes, Time, UnitError};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::measured::{MEASURED, Measured};
use crate::node::{Cursor, ScenarioError};

/// A quantity that a law can be about.
pub trait Quantity: Copy + PartialOrd + std::fmt::Display + PartialEq + std::fmt::Debug {
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
        let known = MEASURED.iter().find(|law| law.name == name);
        known.map(Measured::points).ok_or_else(|| {
            let names: Vec<_> = MEASURED
                .iter()
                .map(|law| format!("\"{}\"", law.name))
                .collect();
            names.join(", ")
        })
    }
}

/// The number in a text such as "100p", where it is one.
pub(crate) fn packets(text: &str) -> Option<f64> {
    let count: f64 = text.trim().strip_suffix('p')?.trim_end().parse().ok()?;
    (count.is_finite() && count >= 0.0).then_some(count)
}

/// How a quantity varies.
#[derive(Clone, Debug, PartialEq)]
pub enum Law<T> {
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
    /// Pareto: P(X > x) = (minimum / x)^shape, cut off at `maximum` where given.
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
    /// One of these, drawn anew each time with equal probability.
    Choice(Vec<T>),
    /// One of several laws, with weights that sum to 1.
    Mixture(Vec<(f64, Law<T>)>),
    /// Empirical: (value, probability of at most this), linear in between.
    Cdf(Vec<(T, f64)>),
    /// A value or list with a random addition.
    Jitter {
        /// The value or list.
        base: Box<Law<T>>,
        /// What is added.
        jitter: Box<Law<T>>,
    },
}

const KINDS: &str = "a value, a list, { uniform = [a, b] }, { linspace = [a, b] }, { exponential = mean }, \
{ pareto = { shape, minimum or mean, maximum } }, { lognormal = { median or mean, sigma } }, { choice = [..] }, \
{ mixture = [{ weight = w, ..law }, ..] }, { cdf = [[value, probability], ..] }, { measured = \"web_search\" } or { value | list = .., jitter = law }";

impl<T: Quantity> Law<T> {
    pub(crate) fn read(cursor: &Cursor<'_>, packet: Bytes) -> Result<Self, ScenarioError> {
        if let Some(items) = cursor.items() {
            return Ok(Self::List(values(&items, packet, cursor)?));
        }
        let Ok(entries) = cursor.entries() else {
            return quantity(cursor, packet).map(Self::Value);
        };
        let law: Vec<_> = entries
            .iter()
            .filter(|(key, _)| *key != "weight" && *key != "jitter")
            .collect();
        let [(kind, argument)] = law[..] else {
            return Err(cursor.error(KINDS));
        };
        let base = Self::read_kind(kind, argument, packet, cursor)?;
        let Some(jitter) = cursor.get("jitter") else {
            return Ok(base);
        };
        let jitter = match Self::read(&jitter, packet)? {
            // A constant jitter would be none: a plain value is its upper bound.
            Self::Value(bound) => Self::Uniform(T::from_real(0.0), bound),
            law => law,
        };
        jitter.check_anonymous(cursor)?;
        Ok(Self::Jitter {
            base: Box::new(base),
            jitter: Box::new(jitter),
        })
    }

    fn read_kind(
        kind: &str,
        argument: &Cursor<'_>,
        packet: Bytes,
        whole: &Cursor<'_>,
    ) -> Result<Self, ScenarioError> {
        match kind {
            "value" => quantity(argument, packet).map(Self::Value),
            "uniform" => range(argument, packet).map(|(a, b)| Self::Uniform(a, b)),
            "linspace" => {
                let (a, b) = ends(argument, packet)?;
                Ok(Self::Linspace(a, b))
            }
            "exponential" => Ok(Self::Exponential(quantity(argument, packet)?)),
            "choice" => {
                let items = argument.items().ok_or_else(|| argument.error("a list"))?;
                Ok(Self::Choice(values(&items, packet, argument)?))
            }
            "list" => {
                let items = argument.items().ok_or_else(|| argument.error("a list"))?;
                Ok(Self::List(values(&items, packet, argument)?))
            }
            "pareto" => read_pareto(argument, packet),
            "lognormal" => read_lognormal(argument, packet),
            "mixture" => read_mixture(argument, packet),
            "cdf" => read_cdf(argument, packet),
            "measured" => {
                let points = T::measured(argument.text().unwrap_or_default());
                let points = points.map_err(|allowed| argument.error(allowed))?;
                Ok(Self::Cdf(points))
            }
            _ => Err(whole.error_found(format!("unknown law `{kind}`"), KINDS)),
        }
    }

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
            Self::List(_) => Err(cursor.error("no list beside a count that is drawn")),
            Self::Jitter { base, .. } => base.check_unlisted(cursor),
            _ => Ok(()),
        }
    }

    /// Refuses laws that need to know which flow they are for.
    pub(crate) fn check_anonymous(&self, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::List(_) | Self::Linspace(..) => {
                Err(cursor.error("a law that is drawn anew each time (not a list or linspace)"))
            }
            Self::Jitter { base, .. } => base.check_anonymous(cursor),
            _ => Ok(()),
        }
    }

    /// A draw for flow `index` of `count`.
    pub fn draw(&self, index: u64, count: u64, stream: &mut Stream) -> T {
        match self {
            Self::Value(x) => *x,
            Self::List(list) => list[index as usize % list.len()],
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
            Self::Choice(list) => list[stream.below(list.len() as u64) as usize],
            Self::Mixture(parts) => {
                let mut left = stream.uniform();
                for (weight, law) in parts {
                    if left < *weight {
                        return law.draw(index, count, stream);
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

    /// Inverse of the distribution function, for Pareto and empirical laws, in base units.
    fn quantile(&self, u: f64) -> f64 {
        match self {
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => {
                let below = maximum.map_or(0.0, |max| {
                    libm::pow(minimum.to_real() / max.to_real(), *shape)
                });
                let tail = 1.0 - u * (1.0 - below);
                minimum.to_real() * libm::pow(tail, -1.0 / shape)
            }
            Self::Cdf(points) => {
                let at = points
                    .partition_point(|(_, p)| *p < u)
                    .clamp(1, points.len() - 1);
                let ((x0, p0), (x1, p1)) = (points[at - 1], points[at]);
                let (x0, x1) = (x0.to_real(), x1.to_real());
                if p1 > p0 {
                    x0 + (x1 - x0) * ((u - p0) / (p1 - p0)).clamp(0.0, 1.0)
                } else {
                    x1
                }
            }
            _ => 0.0,
        }
    }

    /// Equally likely values that stand for the law, in base units: exact for values, lists,
    /// linspace (over `count` flows) and choices; quantile midpoints of the others.
    pub fn representatives(&self, count: u64) -> Vec<f64> {
        const POINTS: usize = 1024;
        let grid = || (0..POINTS).map(|k| (k as f64 + 0.5) / POINTS as f64);
        match self {
            Self::Value(x) => vec![x.to_real()],
            Self::List(list) | Self::Choice(list) => list.iter().map(|x| x.to_real()).collect(),
            Self::Linspace(a, b) => {
                let (a, b, n) = (a.to_real(), b.to_real(), count.clamp(1, 1 << 20));
                let step = if n > 1 { (b - a) / (n - 1) as f64 } else { 0.0 };
                (0..n).map(|k| a + step * k as f64).collect()
            }
            Self::Uniform(a, b) => {
                let (a, b) = (a.to_real(), b.to_real());
                grid().map(|u| a + (b - a) * u).collect()
            }
            Self::Exponential(mean) => grid().map(|u| -mean.to_real() * libm::log1p(-u)).collect(),
            Self::Pareto { .. } | Self::Cdf(_) => grid().map(|u| self.quantile(u)).collect(),
            Self::Lognormal { median, sigma } => grid()
                .map(|u| median.to_real() * libm::exp(sigma * normal_quantile(u)))
                .collect(),
            Self::Mixture(parts) => {
                let mut all = Vec::new();
                for (weight, law) in parts {
                    let points = law.representatives(count);
                    let copies = (weight * POINTS as f64).round() as usize;
                    all.extend((0..copies).map(|k| points[k * points.len() / copies.max(1)]));
                }
                if all.is_empty() {
                    parts[0].1.representatives(count)
                } else {
                    all
                }
            }
            Self::Jitter { base, jitter } => {
                let added = jitter.representatives(count);
                let base = base.representatives(count);
                let step = added.len().div_ceil(64);
                base.iter()
                    .flat_map(|x| added.iter().step_by(step).map(move |y| x + y))
                    .collect()
            }
        }
    }

    /// Mean in base units; infinite for a Pareto law of shape 1 or less without a maximum.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Value(x) | Self::Exponential(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => {
                list.iter().map(|x| x.to_real()).sum::<f64>() / list.len() as f64
            }
            Self::Uniform(a, b) | Self::Linspace(a, b) => f64::midpoint(a.to_real(), b.to_real()),
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => pareto_mean(*shape, minimum.to_real(), maximum.map(Quantity::to_real)),
            Self::Lognormal { median, sigma } => median.to_real() * libm::exp(sigma * sigma / 2.0),
            Self::Mixture(parts) => parts.iter().map(|(weight, law)| weight * law.mean()).sum(),
            Self::Cdf(points) => {
                points
                    .windows(2)
                    .map(|w| f64::midpoint(w[0].0.to_real(), w[1].0.to_real()) * (w[1].1 - w[0].1))
                    .sum::<f64>()
                    + points[0].0.to_real() * points[0].1
            }
            Self::Jitter { base, jitter } => base.mean() + jitter.mean(),
        }
    }

    /// Mean of 1/x in 1/base units over `count` flows: what a harmonic mean needs. Infinite where
    /// the law reaches down to zero (exponential).
    pub fn mean_inverse(&self, count: u64) -> f64 {
        match self {
            Self::Uniform(a, b) if a.to_real() > 0.0 && b > a => {
                let (a, b) = (a.to_real(), b.to_real());
                libm::log(b / a) / (b - a)
            }
            Self::Lognormal { median, sigma } => libm::exp(sigma * sigma / 2.0) / median.to_real(),
            Self::Pareto {
                shape,
                minimum,
                maximum: None,
            } => shape / ((shape + 1.0) * minimum.to_real()),
            Self::Exponential(_) => f64::INFINITY,
            Self::Mixture(parts) => parts
                .iter()
                .map(|(weight, law)| weight * law.mean_inverse(count))
                .sum(),
            _ => {
                let points = self.representatives(count);
                points.iter().map(|x| 1.0 / x).sum::<f64>() / points.len() as f64
            }
        }
    }

    /// Mean of ceil(x / unit), at least 1: the packets of a transfer whose payload follows the law.
    pub fn mean_units(&self, unit: f64) -> f64 {
        match self {
            Self::Exponential(mean) => 1.0 / -libm::expm1(-unit / mean.to_real()),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(weight, law)| weight * law.mean_units(unit))
                .sum(),
            Self::Pareto { .. } | Self::Lognormal { .. } => {
                // Euler-Maclaurin: sum of P(X > k unit) over k >= 0 is the mean plus one half.
                self.mean() / unit + 0.5
            }
            _ => {
                let points = self.representatives(1);
                points
                    .iter()
                    .map(|x| (x / unit).ceil().max(1.0))
                    .sum::<f64>()
                    / points.len() as f64
            }
        }
    }

    /// Smallest value the law can give, in base units.
    pub fn infimum(&self) -> f64 {
        match self {
            Self::Value(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => list
                .iter()
                .map(|x| x.to_real())
                .fold(f64::INFINITY, f64::min),
            Self::Uniform(a, b) | Self::Linspace(a, b) => a.to_real().min(b.to_real()),
            Self::Exponential(_) | Self::Lognormal { .. } => 0.0,
            Self::Pareto { minimum, .. } => minimum.to_real(),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(_, law)| law.infimum())
                .fold(f64::INFINITY, f64::min),
            Self::Cdf(points) => points[0].0.to_real(),
            Self::Jitter { base, jitter } => base.infimum() + jitter.infimum(),
        }
    }

    /// Largest value the law can give, in base units; infinite for unbounded laws.
    pub fn supremum(&self) -> f64 {
        match self {
            Self::Value(x) => x.to_real(),
            Self::List(list) | Self::Choice(list) => {
                list.iter().map(|x| x.to_real()).fold(0.0, f64::max)
            }
            Self::Uniform(a, b) | Self::Linspace(a, b) => a.to_real().max(b.to_real()),
            Self::Exponential(_) | Self::Lognormal { .. } => f64::INFINITY,
            Self::Pareto { maximum, .. } => maximum.map_or(f64::INFINITY, Quantity::to_real),
            Self::Mixture(parts) => parts
                .iter()
                .map(|(_, law)| law.supremum())
                .fold(0.0, f64::max),
            Self::Cdf(points) => points[points.len() - 1].0.to_real(),
            Self::Jitter { base, jitter } => base.supremum() + jitter.supremum(),
        }
    }
}

/// Standard normal quantile by bisection on erfc; only used where speed does not matter.
fn normal_quantile(u: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let x = f64::midpoint(low, high);
        if 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2) < u {
            low = x;
        } else {
            high = x;
        }
    }
    f64::midpoint(low, high)
}

fn pareto_mean(shape: f64, minimum: f64, maximum: Option<f64>) -> f64 {
    match maximum {
        None if shape <= 1.0 => f64::INFINITY,
        None => minimum * shape / (shape - 1.0),
        Some(maximum) => {
            let ratio = minimum / maximum;
            if (shape - 1.0).abs() < 1e-9 {
                return minimum * libm::log(1.0 / ratio) / (1.0 - ratio);
            }
            minimum * shape / (shape - 1.0) * (1.0 - libm::pow(ratio, shape - 1.0))
                / (1.0 - libm::pow(ratio, shape))
        }
    }
}

/// Reads a quantity where the cursor stands.
fn quantity<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<T, ScenarioError> {
    let text = cursor
        .text()
        .ok_or_else(|| cursor.error(format!("a text such as {}", T::EXAMPLE)))?;
    T::read(text, packet).map_err(|allowed| cursor.error(allowed))
}

fn values<T: Quantity>(
    items: &[Cursor<'_>],
    packet: Bytes,
    whole: &Cursor<'_>,
) -> Result<Vec<T>, ScenarioError> {
    if items.is_empty() {
        return Err(whole.error(format!("at least one value such as {}", T::EXAMPLE)));
    }
    items.iter().map(|item| quantity(item, packet)).collect()
}

fn ends<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<(T, T), ScenarioError> {
    match cursor.items().as_deref() {
        Some([a, b]) => Ok((quantity(a, packet)?, quantity(b, packet)?)),
        _ => Err(cursor.error(format!("a list of two values such as {}", T::EXAMPLE))),
    }
}

fn range<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<(T, T), ScenarioError> {
    let (a, b) = ends(cursor, packet)?;
    if a <= b {
        Ok((a, b))
    } else {
        Err(cursor.error("two values, the smaller first"))
    }
}

fn read_pareto<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<Law<T>, ScenarioError> {
    cursor.only(&["shape", "minimum", "mean", "maximum"])?;
    let shape = cursor.require("shape", "1.5")?.number_in(0.05, 100.0)?;
    let minimum = match (cursor.get("minimum"), cursor.get("mean")) {
        (Some(minimum), None) => quantity(&minimum, packet)?,
        (None, Some(mean)) if shape > 1.0 => {
            T::from_real(quantity::<T>(&mean, packet)?.to_real() * (shape - 1.0) / shape)
        }
        _ => return Err(cursor.error("shape and either minimum, or mean with a shape above 1")),
    };
    let maximum = cursor
        .get("maximum")
        .map(|max| quantity(&max, packet))
        .transpose()?;
    if minimum.to_real() <= 0.0 || maximum.is_some_and(|max| max <= minimum) {
        return Err(cursor.error("0 < minimum < maximum"));
    }
    Ok(Law::Pareto {
        shape,
        minimum,
        maximum,
    })
}

fn read_lognormal<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Law<T>, ScenarioError> {
    cursor.only(&["median", "mean", "sigma"])?;
    let sigma = cursor.require("sigma", "1.0")?.number_in(0.0, 20.0)?;
    let median = match (cursor.get("median"), cursor.get("mean")) {
        (Some(median), None) => quantity(&median, packet)?,
        (None, Some(mean)) => {
            T::from_real(quantity::<T>(&mean, packet)?.to_real() * libm::exp(-sigma * sigma / 2.0))
        }
        _ => return Err(cursor.error("sigma and either median or mean")),
    };
    Ok(Law::Lognormal { median, sigma })
}

fn read_mixture<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<Law<T>, ScenarioError> {
    let items = cursor.items().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| cursor.error("a list of { weight = w, ..law }"))?;
    let mut parts = Vec::with_capacity(items.len());
    for item in &items {
        let weight = item.require("weight", "0.3")?.number_in(0.0, 1e12)?;
        let law = Law::read(item, packet)?;
        law.check_anonymous(item)?;
        parts.push((weight, law));
    }
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    if total <= 0.0 {
        return Err(cursor.error("at least one weight above 0"));
    }
    // Weights that already sum to 1 stay as they are, so that printing and reading agree.
    if (total - 1.0).abs() > 1e-12 {
        for (weight, _) in &mut parts {
            *weight /= total;
        }
    }
    Ok(Law::Mixture(parts))
}

fn read_cdf<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<Law<T>, ScenarioError> {
    let allowed =
        "a list of at least two [value, probability], both rising, ending at probability 1";
    let items = cursor.items().filter(|items| items.len() >= 2);
    let mut points: Vec<(T, f64)> = Vec::new();
    for item in items.ok_or_else(|| cursor.error(allowed))? {
        let Some([value, probability]) =
            item.items().and_then(|pair| <[_; 2]>::try_from(pair).ok())
        else {
            return Err(item.error(allowed));
        };
        let point = (quantity(&value, packet)?, probability.number_in(0.0, 1.0)?);
        if points
            .last()
            .is_some_and(|last| last.0 > point.0 || last.1 > point.1)
        {
            return Err(item.error(allowed));
        }
        points.push(point);
    }
    if points[points.len() - 1].1 != 1.0 {
        return Err(cursor.error(allowed));
    }
    Ok(Law::Cdf(points))
}

/// A quantity as text, for serialisation.
struct Shown<T>(T);

impl<T: std::fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

fn shown<T: Quantity>(list: &[T]) -> Vec<Shown<T>> {
    list.iter().map(|x| Shown(*x)).collect()
}

impl<T: Quantity> Serialize for Law<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(x) => return serializer.collect_str(x),
            Self::List(list) => return shown(list).serialize(serializer),
            _ => {}
        }
        let mut map = serializer.serialize_map(None)?;
        self.serialize_entries(&mut map)?;
        map.end()
    }
}

impl<T: Quantity> Law<T> {
    fn serialize_entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Value(x) => map.serialize_entry("value", &Shown(*x)),
            Self::List(list) => map.serialize_entry("list", &shown(list)),
            Self::Uniform(a, b) => map.serialize_entry("uniform", &shown(&[*a, *b])),
            Self::Linspace(a, b) => map.serialize_entry("linspace", &shown(&[*a, *b])),
            Self::Exponential(mean) => map.serialize_entry("exponential", &Shown(*mean)),
            Self::Choice(list) => map.serialize_entry("choice", &shown(list)),
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => {
                let mut fields = serde_json::Map::new();
                fields.insert("shape".into(), (*shape).into());
                fields.insert("minimum".into(), minimum.to_string().into());
                if let Some(maximum) = maximum {
                    fields.insert("maximum".into(), maximum.to_string().into());
                }
                map.serialize_entry("pareto", &fields)
            }
            Self::Lognormal { median, sigma } => {
                let fields = serde_json::json!({ "median": median.to_string(), "sigma": sigma });
                map.serialize_entry("lognormal", &fields)
            }
            Self::Mixture(parts) => {
                let parts: Vec<_> = parts.iter().map(|(w, law)| Weighted(*w, law)).collect();
                map.serialize_entry("mixture", &parts)
            }
            Self::Cdf(points) => {
                let points: Vec<_> = points.iter().map(|(x, p)| (x.to_string(), p)).collect();
                map.serialize_entry("cdf", &points)
            }
            Self::Jitter { base, jitter } => {
                base.serialize_entries(map)?;
                map.serialize_entry("jitter", &**jitter)
            }
        }
    }
}

struct Weighted<'a, T>(f64, &'a Law<T>);

impl<T: Quantity> Serialize for Weighted<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("weight", &self.0)?;
        self.1.serialize_entries(&mut map)?;
        map.end()
    }
}
