//! Metrics and goals: what a report measures and what a recommendation must meet.

use forebay_units::{Rate, Time};
use serde::ser::{Serialize, Serializer};

use crate::cursor::Cursor;
use crate::dimension::Dimension;
use crate::node::ScenarioError;

/// What a metric is counted in; its name in reports ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Part of a whole that is spoken of in per cent, from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Packets.
    Packets,
    /// A count, an index or a ratio.
    Number,
}

impl Unit {
    /// The name that programs see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Seconds => "s",
            Self::BitsPerSecond => "bps",
            Self::Packets => "packets",
            Self::Number => "number",
        }
    }

    /// How names in reports end.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => "_s",
            Self::BitsPerSecond => "_bps",
            Self::Packets => "_packets",
            Self::Share | Self::Number => "",
        }
    }
}

/// Which part of a report carries a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The target link.
    Link,
    /// Each flow group.
    Group,
    /// Both.
    Both,
}

impl Scope {
    /// The name that programs see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Group => "group",
            Self::Both => "both",
        }
    }
}

/// A metric at the target link after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each name is explained by Metric::meaning")]
pub enum Metric {
    Utilization,
    LossRate,
    MarkRate,
    QueueMean,
    QueueDelayMean,
    QueueDelayP50,
    QueueDelayP99,
    QueueDelayMax,
    Goodput,
    JainIndex,
    Synchronization,
    Retransmissions,
    Timeouts,
    CompletionTimeP50,
    CompletionTimeP95,
    CompletionTimeP99,
    RequestTimeP50,
    RequestTimeP95,
    RequestTimeP99,
    FlowGoodputP10,
    FlowGoodputP50,
    CongestionEvents,
    LossesPerEvent,
    LossBurstMean,
    LossBurstMax,
    QueueAutocorrelation,
    LongFlows,
    ShortTransfers,
    WindowMean,
    SlowdownMean,
    SlowdownP50,
    SlowdownP95,
    SlowdownP99,
}

impl Metric {
    /// All metrics in report order.
    pub const ALL: [Self; 33] = [
        Self::Utilization,
        Self::LossRate,
        Self::MarkRate,
        Self::QueueMean,
        Self::QueueDelayMean,
        Self::QueueDelayP50,
        Self::QueueDelayP99,
        Self::QueueDelayMax,
        Self::Goodput,
        Self::JainIndex,
        Self::Synchronization,
        Self::Retransmissions,
        Self::Timeouts,
        Self::CompletionTimeP50,
        Self::CompletionTimeP95,
        Self::CompletionTimeP99,
        Self::RequestTimeP50,
        Self::RequestTimeP95,
        Self::RequestTimeP99,
        Self::FlowGoodputP10,
        Self::FlowGoodputP50,
        Self::CongestionEvents,
        Self::LossesPerEvent,
        Self::LossBurstMean,
        Self::LossBurstMax,
        Self::QueueAutocorrelation,
        Self::LongFlows,
        Self::ShortTransfers,
        Self::WindowMean,
        Self::SlowdownMean,
        Self::SlowdownP50,
        Self::SlowdownP95,
        Self::SlowdownP99,
    ];

    /// What is asked of every engine about every scenario; the others need transfers, or packets to
    /// look at one by one.
    pub const OF_EVERY_ENGINE: [Self; 11] = [
        Self::Utilization,
        Self::LossRate,
        Self::MarkRate,
        Self::QueueMean,
        Self::QueueDelayMean,
        Self::QueueDelayP50,
        Self::QueueDelayP99,
        Self::QueueDelayMax,
        Self::Goodput,
        Self::JainIndex,
        Self::Synchronization,
    ];

    /// Name in reports, with its unit.
    pub const fn name(self) -> &'static str {
        self.text().0
    }

    /// Name in goals, without its unit.
    pub fn goal_name(self) -> &'static str {
        let name = self.name();
        name.strip_suffix(self.unit().suffix()).unwrap_or(name)
    }

    /// What it is counted in.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Utilization | Self::LossRate | Self::MarkRate => Unit::Share,
            Self::QueueDelayMean
            | Self::QueueDelayP50
            | Self::QueueDelayP99
            | Self::QueueDelayMax
            | Self::CompletionTimeP50
            | Self::CompletionTimeP95
            | Self::CompletionTimeP99
            | Self::RequestTimeP50
            | Self::RequestTimeP95
            | Self::RequestTimeP99
            | Self::QueueAutocorrelation => Unit::Seconds,
            Self::Goodput | Self::FlowGoodputP10 | Self::FlowGoodputP50 => Unit::BitsPerSecond,
            Self::QueueMean
            | Self::LossesPerEvent
            | Self::LossBurstMean
            | Self::LossBurstMax
            | Self::WindowMean => Unit::Packets,
            Self::JainIndex
            | Self::Synchronization
            | Self::Retransmissions
            | Self::Timeouts
            | Self::CongestionEvents
            | Self::LongFlows
            | Self::ShortTransfers
            | Self::SlowdownMean
            | Self::SlowdownP50
            | Self::SlowdownP95
            | Self::SlowdownP99 => Unit::Number,
        }
    }

    /// Whether more of it is better; of the others, also of those that are neither, less is.
    pub const fn more_is_better(self) -> bool {
        matches!(
            self,
            Self::Utilization
                | Self::Goodput
                | Self::JainIndex
                | Self::FlowGoodputP10
                | Self::FlowGoodputP50
        )
    }

    /// Which part of a report carries it.
    pub const fn scope(self) -> Scope {
        match self {
            Self::LossRate | Self::Goodput | Self::LongFlows => Scope::Both,
            Self::Retransmissions
            | Self::Timeouts
            | Self::CompletionTimeP50
            | Self::CompletionTimeP95
            | Self::CompletionTimeP99
            | Self::RequestTimeP50
            | Self::RequestTimeP95
            | Self::RequestTimeP99
            | Self::FlowGoodputP10
            | Self::FlowGoodputP50
            | Self::ShortTransfers
            | Self::WindowMean
            | Self::SlowdownMean
            | Self::SlowdownP50
            | Self::SlowdownP95
            | Self::SlowdownP99 => Scope::Group,
            Self::Utilization
            | Self::MarkRate
            | Self::QueueMean
            | Self::QueueDelayMean
            | Self::QueueDelayP50
            | Self::QueueDelayP99
            | Self::QueueDelayMax
            | Self::JainIndex
            | Self::Synchronization
            | Self::CongestionEvents
            | Self::LossesPerEvent
            | Self::LossBurstMean
            | Self::LossBurstMax
            | Self::QueueAutocorrelation => Scope::Link,
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        self.text().1
    }

    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Utilization => ("utilization", "bytes that left the link / (rate x time)"),
            Self::LossRate => ("loss_rate", "packets dropped / packets arrived"),
            Self::MarkRate => ("mark_rate", "packets ECN-marked / packets arrived"),
            Self::QueueMean => (
                "queue_mean_packets",
                "time-weighted mean of the packets waiting",
            ),
            Self::QueueDelayMean => (
                "queue_delay_mean_s",
                "mean wait of accepted packets, own transmission excluded",
            ),
            Self::QueueDelayP50 => ("queue_delay_p50_s", "median wait of accepted packets"),
            Self::QueueDelayP99 => (
                "queue_delay_p99_s",
                "99th percentile of the wait of accepted packets",
            ),
            Self::QueueDelayMax => ("queue_delay_max_s", "longest wait of an accepted packet"),
            Self::Goodput => (
                "goodput_bps",
                "in-order payload delivered, all responsive flows",
            ),
            Self::JainIndex => (
                "jain_index",
                "(sum x)^2 / (n sum x^2) over the persistent flows' goodputs",
            ),
            Self::Synchronization => (
                "synchronization",
                "mean fraction of the persistent flows that lose in one congestion event",
            ),
            Self::Retransmissions => ("retransmissions", "packets sent again"),
            Self::Timeouts => ("timeouts", "retransmission timeouts"),
            Self::CompletionTimeP50 => (
                "completion_time_p50_s",
                "median time to complete a transfer",
            ),
            Self::CompletionTimeP95 => (
                "completion_time_p95_s",
                "95th percentile of the time to complete a transfer",
            ),
            Self::CompletionTimeP99 => (
                "completion_time_p99_s",
                "99th percentile of the time to complete a transfer",
            ),
            Self::RequestTimeP50 => (
                "request_time_p50_s",
                "median time from an incast's request to the end of its last response",
            ),
            Self::RequestTimeP95 => (
                "request_time_p95_s",
                "95th percentile of the time from an incast's request to the end of its last response",
            ),
            Self::RequestTimeP99 => (
                "request_time_p99_s",
                "99th percentile of the time from an incast's request to the end of its last response",
            ),
            Self::FlowGoodputP10 => (
                "flow_goodput_p10_bps",
                "goodput that 90 % of the flows exceed",
            ),
            Self::FlowGoodputP50 => ("flow_goodput_p50_bps", "median goodput of a flow"),
            Self::CongestionEvents => (
                "congestion_events",
                "groups of losses of persistent flows less than one harmonic-mean round trip apart",
            ),
            Self::LossesPerEvent => (
                "losses_per_event_packets",
                "mean number of packets that persistent flows lose in one congestion event",
            ),
            Self::LossBurstMean => (
                "loss_burst_mean_packets",
                "mean number of packets dropped one directly after the other",
            ),
            Self::LossBurstMax => (
                "loss_burst_max_packets",
                "most packets dropped one directly after the other",
            ),
            Self::QueueAutocorrelation => (
                "queue_autocorrelation_s",
                "integral of the autocorrelation of the time that the queue takes to drain",
            ),
            Self::LongFlows => (
                "long_flows",
                "time-weighted mean number of flows that have left slow start for good and lose here and not elsewhere",
            ),
            Self::ShortTransfers => (
                "short_transfers",
                "share of the completed transfers that spent most of their time before their first congestion signal",
            ),
            Self::WindowMean => (
                "window_mean_packets",
                "time-weighted mean congestion window of a flow that has something to send",
            ),
            Self::SlowdownMean => (
                "slowdown_mean",
                "mean of completion time / (round trip + size at the slowest rate of the path)",
            ),
            Self::SlowdownP50 => ("slowdown_p50", "median slowdown of a transfer"),
            Self::SlowdownP95 => (
                "slowdown_p95",
                "95th percentile of the slowdown of a transfer",
            ),
            Self::SlowdownP99 => (
                "slowdown_p99",
                "99th percentile of the slowdown of a transfer",
            ),
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Which side of the threshold is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The metric must be at least the threshold.
    AtLeast,
    /// The metric must be at most the threshold.
    AtMost,
}

/// One condition that a buffer must meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The flow group the metric is of; none for the link.
    pub group: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// Direction.
    pub relation: Relation,
    /// Threshold in the metric's unit (fractions, seconds, bits per second, packets).
    pub threshold: f64,
}

impl Goal {
    /// The key in a scenario file: "utilization" or "background.loss_rate".
    pub fn key(&self) -> String {
        let name = self.metric.goal_name();
        self.group
            .as_ref()
            .map_or_else(|| name.to_owned(), |group| format!("{group}.{name}"))
    }

    /// The condition as it is written: "<= 20ms".
    pub(crate) fn text(&self) -> String {
        let relation = match self.relation {
            Relation::AtLeast => ">=",
            Relation::AtMost => "<=",
        };
        let threshold = match self.metric.unit() {
            Unit::Seconds => Time::from_secs_f64(self.threshold).to_string(),
            Unit::BitsPerSecond => Rate::from_bits_per_second(self.threshold as u64).to_string(),
            Unit::Packets => format!("{}p", self.threshold),
            Unit::Share | Unit::Number => self.threshold.to_string(),
        };
        format!("{relation} {threshold}")
    }

    pub(crate) fn read(
        key: &str,
        cursor: &Cursor<'_>,
        groups: &[String],
    ) -> Result<Self, ScenarioError> {
        let (group, name) = match key.rsplit_once('.') {
            Some((group, name)) => (Some(group.to_owned()), name),
            None => (None, key),
        };
        if group.as_ref().is_some_and(|group| !groups.contains(group)) {
            return Err(cursor.error_found(
                format!(
                    "a goal for the unknown group `{}`",
                    group.unwrap_or_default()
                ),
                groups.join(", "),
            ));
        }
        let metric = Metric::ALL
            .into_iter()
            .find(|m| m.goal_name() == name || m.name() == name);
        let metric = metric.ok_or_else(|| {
            let known: Vec<&str> = Metric::ALL.into_iter().map(Metric::goal_name).collect();
            cursor.error_found(format!("the unknown metric `{name}`"), known.join(", "))
        })?;
        let allowed = "\">= 99%\", \"<= 20ms\", \"<= 0.1%\", \">= 1Mbps\" or \"<= 100p\"";
        let text = cursor
            .text()
            .map(str::trim)
            .ok_or_else(|| cursor.error(allowed))?;
        let (relation, threshold) = match (text.strip_prefix(">="), text.strip_prefix("<=")) {
            (Some(rest), _) => (Relation::AtLeast, rest),
            (_, Some(rest)) => (Relation::AtMost, rest),
            _ => return Err(cursor.error(allowed)),
        };
        let threshold = threshold_value(metric, threshold.trim());
        let threshold = threshold.ok_or_else(|| cursor.error(allowed))?;
        Ok(Self {
            group,
            metric,
            relation,
            threshold,
        })
    }
}

/// A threshold in the unit of its metric: times need a time unit, rates a rate unit.
fn threshold_value(metric: Metric, text: &str) -> Option<f64> {
    match metric.unit() {
        Unit::Seconds => Dimension::Time,
        Unit::BitsPerSecond => Dimension::Rate,
        Unit::Packets => Dimension::Packets,
        Unit::Share | Unit::Number => Dimension::Share,
    }
    .parse(text)
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_their_units() {
        for metric in Metric::ALL {
            let (name, unit) = (metric.name(), metric.unit());
            assert!(name.ends_with(unit.suffix()), "{name} in {}", unit.name());
            let known = ["_s", "_bps", "_packets"];
            let ending = known.iter().find(|ending| name.ends_with(**ending));
            assert_eq!(ending.copied().unwrap_or(""), unit.suffix(), "{name}");
        }
    }
}
