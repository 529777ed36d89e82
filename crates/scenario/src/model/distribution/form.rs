//! How laws are written: one line of a table for each, from which reading, the list of what is
//! allowed, the schema, `explain` and the manual come.

use forebay_units::Bytes;
use serde_json::{Map, Value, json};

use crate::model::distribution::{Distribution, Quantity};
use crate::model::measured::MEASURED;
use crate::text::cursor::Cursor;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::{Context, Form};
use crate::text::tree::ScenarioError;

/// A law as a table with one key, `{ NAME = ARGUMENT }`.
struct Kind<T: 'static> {
    name: &'static str,
    /// Form of the argument.
    argument: &'static str,
    meaning: &'static str,
    /// Function that reads the argument; the unit `p` means this many `Bytes`.
    read: fn(&Cursor<'_>, Bytes) -> Result<Distribution<T>, ScenarioError>,
}

impl<T: Quantity> Distribution<T> {
    /// The laws in the order in which they are listed.
    const KINDS: &'static [Kind<T>] = &[
        Kind {
            name: "uniform",
            argument: "[a, b]",
            meaning: "Uniform between two values.",
            read: |at, packet| range(at, packet).map(|(a, b)| Self::Uniform(a, b)),
        },
        Kind {
            name: "linspace",
            argument: "[a, b]",
            meaning: "Equally spaced over the flows of the group, both ends included.",
            read: |at, packet| ends(at, packet).map(|(a, b)| Self::Linspace(a, b)),
        },
        Kind {
            name: "exponential",
            argument: "mean",
            meaning: "Exponential with this mean.",
            read: |at, packet| quantity(at, packet).map(Self::Exponential),
        },
        Kind {
            name: "pareto",
            argument: "{ shape, minimum or mean, maximum }",
            meaning: "Pareto: P(X > x) = (minimum / x)^shape, truncated at `maximum` if given.",
            read: read_pareto,
        },
        Kind {
            name: "lognormal",
            argument: "{ median or mean, sigma }",
            meaning: "Log-normal: `sigma` is the standard deviation of the logarithm.",
            read: read_lognormal,
        },
        Kind {
            name: "weibull",
            argument: "{ shape, scale or mean }",
            meaning: "Weibull: P(X > x) = exp(-(x / scale)^shape). With a shape below 1 it fits the times between \
                arrivals of TCP connections (Feldmann, Characteristics of TCP connection arrivals, 2000).",
            read: read_weibull,
        },
        Kind {
            name: "choice",
            argument: "[..]",
            meaning: "One of these values, at random each time with equal probability.",
            read: |at, packet| list(at, packet).map(Self::Choice),
        },
        Kind {
            name: "mixture",
            argument: "[{ weight = w, ..distribution }, ..]",
            meaning: "One of several distributions, with probabilities in proportion to the weights.",
            read: read_mixture,
        },
        Kind {
            name: "cdf",
            argument: "[[value, probability], ..]",
            meaning: "Empirical: points of the distribution function, linear in between.",
            read: read_cdf,
        },
        Kind {
            name: "measured",
            argument: "\"web_search\"",
            meaning: "Sizes of transfers that were measured in data centers: `web_search`, `data_mining` or `hadoop`.",
            read: |at, _| {
                let points = T::measured(at.text().unwrap_or_default());
                points.map(Self::Cdf).map_err(|allowed| at.error(allowed))
            },
        },
    ];

    /// The same for what is a law without being a table, too: there to take `jitter`.
    const PLAIN: &'static [Kind<T>] = &[
        Kind {
            name: "value",
            argument: "a",
            meaning: "Always the same value; without `jitter` it is written as the value alone.",
            read: |at, packet| quantity(at, packet).map(Self::Value),
        },
        Kind {
            name: "list",
            argument: "[..]",
            meaning: "One value per flow; without `jitter` it is written as the list alone.",
            read: |at, packet| list(at, packet).map(Self::List),
        },
    ];

    fn allowed() -> String {
        let distributions: Vec<String> = Self::KINDS
            .iter()
            .map(|kind| format!("{{ {} = {} }}", kind.name, kind.argument))
            .collect();
        format!(
            "a value, a list, {} or {{ value | list = .., jitter = distribution }}",
            distributions.join(", ")
        )
    }

    /// Reads a law; the unit `p` means `packet`.
    fn read(cursor: &Cursor<'_>, packet: Bytes) -> Result<Self, ScenarioError> {
        if let Some(items) = cursor.items() {
            return Ok(Self::List(values(&items, packet, cursor)?));
        }
        let Ok(entries) = cursor.entries() else {
            return quantity(cursor, packet).map(Self::Value);
        };
        let distribution: Vec<_> = entries
            .iter()
            .filter(|(key, _)| *key != "weight" && *key != "jitter")
            .collect();
        let [(name, argument)] = distribution[..] else {
            return Err(cursor.error(Self::allowed()));
        };
        let kind = (Self::KINDS.iter().chain(Self::PLAIN)).find(|kind| kind.name == *name);
        let kind = kind.ok_or_else(|| {
            let known = Self::KINDS.iter().chain(Self::PLAIN).map(|kind| kind.name);
            cursor.unknown("distribution", name, known)
        })?;
        let base = (kind.read)(argument, packet)?;
        let Some(jitter) = cursor.get("jitter") else {
            return Ok(base);
        };
        let jitter = match Self::read(&jitter, packet)? {
            // A constant jitter would be none: a plain value is its upper bound.
            Self::Value(bound) => Self::Uniform(T::from_real(0.0), bound),
            distribution => distribution,
        };
        jitter.check_anonymous(cursor)?;
        Ok(Self::Jitter {
            base: Box::new(base),
            jitter: Box::new(jitter),
        })
    }

    /// The law as it is written.
    fn shown(&self) -> Value {
        match self {
            Self::Value(x) => x.to_string().into(),
            Self::List(list) => texts(list),
            _ => self.entries().into(),
        }
    }

    /// The law as a table, whose keys may stand beside `weight` and `jitter`.
    fn entries(&self) -> Map<String, Value> {
        let (name, argument) = match self {
            Self::Value(x) => ("value", x.to_string().into()),
            Self::List(list) => ("list", texts(list)),
            Self::Uniform(a, b) => ("uniform", texts(&[*a, *b])),
            Self::Linspace(a, b) => ("linspace", texts(&[*a, *b])),
            Self::Exponential(mean) => ("exponential", mean.to_string().into()),
            Self::Choice(list) => ("choice", texts(list)),
            Self::Pareto {
                shape,
                minimum,
                maximum,
            } => {
                let mut argument = json!({ "shape": shape, "minimum": minimum.to_string() });
                if let Some(maximum) = maximum {
                    argument["maximum"] = maximum.to_string().into();
                }
                ("pareto", argument)
            }
            Self::Lognormal { median, sigma } => {
                let argument = json!({ "median": median.to_string(), "sigma": sigma });
                ("lognormal", argument)
            }
            Self::Weibull { shape, scale } => {
                let argument = json!({ "shape": shape, "scale": scale.to_string() });
                ("weibull", argument)
            }
            Self::Mixture(parts) => {
                let part = |(weight, distribution): &(f64, Self)| {
                    let mut part = Map::from_iter([("weight".to_owned(), (*weight).into())]);
                    part.extend(distribution.entries());
                    Value::Object(part)
                };
                ("mixture", parts.iter().map(part).collect())
            }
            Self::Cdf(points) => {
                let point = |(x, p): &(T, f64)| json!([x.to_string(), p]);
                ("cdf", points.iter().map(point).collect())
            }
            Self::Jitter { base, jitter } => {
                let mut entries = base.entries();
                entries.insert("jitter".into(), jitter.shown());
                return entries;
            }
        };
        Map::from_iter([(name.to_owned(), argument)])
    }
}

fn texts<T: Quantity>(list: &[T]) -> Value {
    list.iter().map(ToString::to_string).collect()
}

/// The description of each law, for the manual and `explain`.
pub(crate) fn distributions() -> Vec<KeyText> {
    let texts = Distribution::<Bytes>::KINDS
        .iter()
        .chain(Distribution::PLAIN)
        .map(|kind| {
            let allowed = format!("{{ {} = {} }}", kind.name, kind.argument);
            KeyText::of(kind.name, kind.meaning, Grammar::new(Value::Null, allowed))
        });
    texts.collect()
}

/// JSON Schema of any law.
pub(crate) fn schema() -> Value {
    let names: Vec<_> = MEASURED
        .iter()
        .map(|distribution| format!("{} ({})", distribution.name, distribution.source))
        .collect();
    let description = format!(
        "a value, a list with one value per flow, or a table with one law; of sizes also \
        {{ measured = NAME }} with a name out of: {}",
        names.join("; ")
    );
    json!({"description": description, "type": ["string", "array", "object"]})
}

/// A law for each flow of a group: any.
pub(crate) struct EachFlow;

impl<T: Quantity> Form<Distribution<T>> for EachFlow {
    fn read(
        &self,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<Distribution<T>, ScenarioError> {
        Distribution::read(at, context.payload)
    }

    fn write(&self, distribution: &Distribution<T>, _: &Context<'_>) -> Option<Value> {
        Some(distribution.shown())
    }

    fn grammar(&self) -> Grammar {
        let allowed = format!("a distribution: {} or one of its forms", T::EXAMPLE);
        Grammar::new(json!({"$ref": "#/$defs/law"}), allowed)
    }
}

/// A distribution for single values, so no list or linspace over the flows.
pub(crate) struct Drawn;

impl<T: Quantity> Form<Distribution<T>> for Drawn {
    fn read(
        &self,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<Distribution<T>, ScenarioError> {
        let distribution = Distribution::read(at, context.payload)?;
        distribution.check_anonymous(at)?;
        Ok(distribution)
    }

    fn write(&self, distribution: &Distribution<T>, _: &Context<'_>) -> Option<Value> {
        Some(distribution.shown())
    }

    fn grammar(&self) -> Grammar {
        let allowed = format!(
            "a distribution: {} or one of its forms, no list or linspace",
            T::EXAMPLE
        );
        Grammar::new(json!({"$ref": "#/$defs/law"}), allowed)
    }
}

/// Reads a quantity at the cursor.
fn quantity<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<T, ScenarioError> {
    let text = cursor
        .text()
        .ok_or_else(|| cursor.error(format!("a text such as {}", T::EXAMPLE)))?;
    let valid = |text: &str| T::read(text, packet).is_ok();
    T::read(text, packet).map_err(|allowed| cursor.quantity_error(valid, allowed))
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

fn list<T: Quantity>(cursor: &Cursor<'_>, packet: Bytes) -> Result<Vec<T>, ScenarioError> {
    let items = cursor.items().ok_or_else(|| cursor.error("a list"))?;
    values(&items, packet, cursor)
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

fn read_pareto<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Distribution<T>, ScenarioError> {
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
    Ok(Distribution::Pareto {
        shape,
        minimum,
        maximum,
    })
}

fn read_lognormal<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Distribution<T>, ScenarioError> {
    cursor.only(&["median", "mean", "sigma"])?;
    let sigma = cursor.require("sigma", "1.0")?.number_in(0.0, 20.0)?;
    let median = match (cursor.get("median"), cursor.get("mean")) {
        (Some(median), None) => quantity(&median, packet)?,
        (None, Some(mean)) => {
            T::from_real(quantity::<T>(&mean, packet)?.to_real() * libm::exp(-sigma * sigma / 2.0))
        }
        _ => return Err(cursor.error("sigma and either median or mean")),
    };
    Ok(Distribution::Lognormal { median, sigma })
}

fn read_weibull<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Distribution<T>, ScenarioError> {
    cursor.only(&["shape", "scale", "mean"])?;
    let shape = cursor.require("shape", "0.7")?.number_in(0.1, 100.0)?;
    let scale = match (cursor.get("scale"), cursor.get("mean")) {
        (Some(scale), None) => quantity(&scale, packet)?,
        (None, Some(mean)) => {
            let mean: T = quantity(&mean, packet)?;
            T::from_real(mean.to_real() / libm::tgamma(1.0 + 1.0 / shape))
        }
        _ => return Err(cursor.error("shape and either scale or mean")),
    };
    if scale.to_real() <= 0.0 {
        return Err(cursor.error("a scale or mean above 0"));
    }
    Ok(Distribution::Weibull { shape, scale })
}

fn read_mixture<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Distribution<T>, ScenarioError> {
    let items = cursor.items().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| cursor.error("a list of { weight = w, ..distribution }"))?;
    let mut parts = Vec::with_capacity(items.len());
    for item in &items {
        let weight = item.require("weight", "0.3")?.number_in(0.0, 1e12)?;
        let distribution = Distribution::read(item, packet)?;
        distribution.check_anonymous(item)?;
        if weight > 0.0 {
            parts.push((weight, distribution)); // what is never drawn is no part of it, nor of its means and ends
        }
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
    Ok(Distribution::Mixture(parts))
}

fn read_cdf<T: Quantity>(
    cursor: &Cursor<'_>,
    packet: Bytes,
) -> Result<Distribution<T>, ScenarioError> {
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
    Ok(Distribution::Cdf(points))
}
