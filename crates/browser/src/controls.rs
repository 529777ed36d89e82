//! The values that the page's controls show, as the scenario's text writes them. They are part of
//! the answer to a check, beside the resolved scenario of [`crate::answer`].

use std::str::FromStr;

use forebay_scenario::{Scenario, ScenarioError, Workload, split_quantity};
use forebay_units::{Rate, Time};
use serde::Serialize;
use serde_json::Value;

use crate::request::Text;

/// The values of all controls. `None` is a value that only the text can change.
#[derive(Debug, Serialize)]
pub(crate) struct Controls {
    /// Rate of the target link, in bit/s.
    rate: Option<Quantity>,
    /// Buffer of the target link, in its own unit.
    buffer: Option<Buffer>,
    queue: &'static str,
    /// Threshold above which the queue `step` marks packets.
    threshold: Option<Buffer>,
    groups: Vec<GroupControls>,
}

/// A quantity as it is written, and its number in a base unit.
#[derive(Debug, Serialize)]
struct Quantity {
    text: String,
    value: f64,
}

/// A size as it is written.
#[derive(Debug, Serialize)]
struct Buffer {
    text: String,
    value: f64,
    /// Unit as it is written: `p`, `kB`, `ms`, `BDP`.
    unit: String,
}

#[derive(Debug, Serialize)]
struct GroupControls {
    /// The name or the number by which changes name the group.
    key: String,
    name: String,
    /// Whether its own key gives the number of its flows.
    counted: bool,
    count: Option<u64>,
    /// Congestion controller; `None` if the group has no congestion control.
    controller: Option<&'static str>,
    /// Round trip; `None` if each flow has another one.
    rtt: Option<RoundTrip>,
    /// Background traffic; `None` if the workload is another one.
    load: Option<Load>,
}

/// A round trip, in seconds, and the most that is added to it for each flow.
#[derive(Debug, Serialize)]
struct RoundTrip {
    #[serde(flatten)]
    base: Quantity,
    jitter: Option<Quantity>,
}

/// Unresponsive packets of a constant rate.
#[derive(Debug, Serialize)]
struct Load {
    /// `poisson` or `cbr`.
    kind: &'static str,
    /// Rate of the whole group.
    rate_bps: f64,
    /// The lines of the first such group in the text; `None` if it has no lines of its own.
    text: Option<String>,
}

impl Controls {
    pub(crate) fn of(scenario: &Scenario, text: &Text) -> Result<Self, ScenarioError> {
        let written = text.written()?;
        let target = scenario.target_index();
        let link = match &written["link"] {
            Value::Null => &written["links"][target],
            link => link,
        };
        let mut is_first = true;
        let groups = scenario.flows().iter().enumerate().map(|(number, group)| {
            let table = &written["flows"][number];
            let load = load_of(&table["workload"]).map(|(kind, rate_bps)| Load {
                kind,
                rate_bps,
                // One control removes a group and adds it again. A text is read for each group
                // here.
                text: std::mem::take(&mut is_first)
                    .then(|| text.group(number).map(str::to_owned))
                    .flatten(),
            });
            let elsewhere = matches!(
                group.workload,
                Workload::ClosedLoop { .. } | Workload::OpenLoop { .. } | Workload::Incast { .. }
            );
            GroupControls {
                key: table["name"]
                    .as_str()
                    .map_or_else(|| number.to_string(), str::to_owned),
                name: group.name.clone(),
                counted: load.is_none() && !elsewhere,
                count: match &table["count"] {
                    Value::Null => Some(1),
                    count => count.as_u64(),
                },
                controller: group.responsive().then(|| group.controller.name()),
                rtt: round_trip_of(&table["rtt"]),
                load,
            }
        });
        Ok(Self {
            rate: quantity::<Rate>(&link["rate"], |rate| rate.as_bits_per_second() as f64),
            buffer: size_of(&link["buffer"]),
            threshold: (link["queue"]["kind"] == "step")
                .then(|| size_of(&link["queue"]["threshold"]))
                .flatten(),
            queue: scenario.links()[target].discipline.name(),
            groups: groups.collect(),
        })
    }
}

fn size_of(written: &Value) -> Option<Buffer> {
    let text = written.as_str()?;
    let (value, unit) = split_quantity(text)?;
    Some(Buffer {
        text: text.to_owned(),
        value,
        unit: unit.to_owned(),
    })
}

fn quantity<T: FromStr>(written: &Value, number: impl Fn(T) -> f64) -> Option<Quantity> {
    let text = written.as_str()?;
    let value = number(text.parse().ok()?);
    Some(Quantity {
        text: text.to_owned(),
        value,
    })
}

/// A round trip that is a value, or a value with a uniform jitter from zero on.
fn round_trip_of(written: &Value) -> Option<RoundTrip> {
    let time = |written| quantity::<Time>(written, Time::as_secs_f64);
    if written.is_string() {
        let base = time(written)?;
        return Some(RoundTrip { base, jitter: None });
    }
    let base = time(&written["value"])?;
    let [least, most] = &written["jitter"]["uniform"].as_array()?[..] else {
        return None;
    };
    let from_zero = time(least).is_some_and(|least| least.value == 0.0);
    let jitter = from_zero.then(|| time(most)).flatten()?;
    Some(RoundTrip {
        base,
        jitter: Some(jitter),
    })
}

/// The kind and the rate of background traffic that has a rate of its own.
fn load_of(workload: &Value) -> Option<(&'static str, f64)> {
    let rate = |kind: &str| {
        quantity::<Rate>(&workload[kind]["rate"], |rate| {
            rate.as_bits_per_second() as f64
        })
    };
    let kinds = ["poisson", "cbr"].into_iter();
    let mut found = kinds.filter_map(|kind| Some((kind, rate(kind)?.value)));
    found.next().filter(|(_, rate)| *rate > 0.0)
}
