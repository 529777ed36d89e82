//! Metrics and goals: what a report measures and what a recommendation must meet.

use forebay_units::{Rate, Time};
use serde::ser::{Serialize, Serializer};

use crate::cursor::Cursor;
use crate::law::packets;
use crate::node::ScenarioError;

/// Makes the enum of all metrics and what finds their texts out of one list, in report order.
macro_rules! metrics {
    (
        of_every_engine: { $($common:ident($common_name:literal, $common_meaning:literal),)+ }
        others: { $($other:ident($name:literal, $meaning:literal),)+ }
    ) => {
        /// A metric at the target link after the warm-up.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $(#[doc = $common_meaning] $common,)+
            $(#[doc = $meaning] $other,)+
        }

        impl Metric {
            /// What is asked of every engine about every scenario; the others need transfers, or
            /// packets to look at one by one.
            pub const OF_EVERY_ENGINE: [Self; [$($common_name),+].len()] = [$(Self::$common),+];

            /// All metrics in report order.
            pub const ALL: [Self; [$($common_name,)+ $($name),+].len()] =
                [$(Self::$common,)+ $(Self::$other),+];

            const fn text(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$common => ($common_name, $common_meaning),)+
                    $(Self::$other => ($name, $meaning),)+
                }
            }
        }
    };
}

metrics! {
    of_every_engine: {
        Utilization("utilization", "bytes that left the link / (rate x time)"),
        LossRate("loss_rate", "packets dropped / packets arrived"),
        MarkRate("mark_rate", "packets ECN-marked / packets arrived"),
        QueueMean("queue_mean_packets", "time-weighted mean of the packets waiting"),
        QueueDelayMean(
            "queue_delay_mean_s",
            "mean wait of accepted packets, own transmission excluded"
        ),
        QueueDelayP50("queue_delay_p50_s", "median wait of accepted packets"),
        QueueDelayP95(
            "queue_delay_p95_s",
            "95th percentile of the wait of accepted packets"
        ),
        QueueDelayP99("queue_delay_p99_s", "99th percentile of the wait of accepted packets"),
        QueueDelayMax("queue_delay_max_s", "longest wait of an accepted packet"),
        Goodput("goodput_bps", "in-order payload delivered, all responsive flows"),
        JainIndex("jain_index", "(sum x)^2 / (n sum x^2) over the persistent flows' goodputs"),
        Synchronization(
            "synchronization",
            "mean fraction of the persistent flows that lose in one congestion event"
        ),
    }
    others: {
        Retransmissions("retransmissions", "packets sent again"),
        Timeouts("timeouts", "retransmission timeouts"),
        CompletionTimeP50("completion_time_p50_s", "median time to complete a transfer"),
        CompletionTimeP95(
            "completion_time_p95_s",
            "95th percentile of the time to complete a transfer"
        ),
        CompletionTimeP99(
            "completion_time_p99_s",
            "99th percentile of the time to complete a transfer"
        ),
        RequestTimeP50(
            "request_time_p50_s",
            "median time from an incast's request to the end of its last response"
        ),
        RequestTimeP95(
            "request_time_p95_s",
            "95th percentile of the time from an incast's request to the end of its last response"
        ),
        RequestTimeP99(
            "request_time_p99_s",
            "99th percentile of the time from an incast's request to the end of its last response"
        ),
        FlowGoodputP10("flow_goodput_p10_bps", "goodput that 90 % of the flows exceed"),
        FlowGoodputP50("flow_goodput_p50_bps", "median goodput of a flow"),
        CongestionEvents(
            "congestion_events",
            "groups of losses of persistent flows less than one harmonic-mean round trip apart"
        ),
        LossesPerEvent(
            "losses_per_event_packets",
            "mean number of packets that persistent flows lose in one congestion event"
        ),
        LossBurstMean(
            "loss_burst_mean_packets",
            "mean number of packets dropped one directly after the other"
        ),
        LossBurstMax("loss_burst_max_packets", "most packets dropped one directly after the other"),
        QueueAutocorrelation(
            "queue_autocorrelation_s",
            "integral of the autocorrelation of the time that the queue takes to drain"
        ),
        LongFlows(
            "long_flows",
            "time-weighted mean number of flows that have left slow start for good and lose here and not elsewhere"
        ),
        ShortTransfers(
            "short_transfers",
            "share of the completed transfers that spent most of their time before their first congestion signal"
        ),
        WindowMean(
            "window_mean_packets",
            "time-weighted mean congestion window of a flow that has something to send"
        ),
        SlowdownMean(
            "slowdown_mean",
            "mean of completion time / (round trip + size at the slowest rate of the path)"
        ),
        SlowdownP50("slowdown_p50", "median slowdown of a transfer"),
        SlowdownP95("slowdown_p95", "95th percentile of the slowdown of a transfer"),
        SlowdownP99("slowdown_p99", "99th percentile of the slowdown of a transfer"),
    }
}

impl Metric {
    /// Quantiles of the wait of accepted packets, each with the share of packets that wait no longer.
    pub const QUEUE_DELAY_QUANTILES: [(Self, f64); 3] = [
        (Self::QueueDelayP50, 0.5),
        (Self::QueueDelayP95, 0.95),
        (Self::QueueDelayP99, 0.99),
    ];

    /// Name in reports, with its unit.
    pub const fn name(self) -> &'static str {
        self.text().0
    }

    /// Name in goals, without its unit.
    pub fn goal_name(self) -> &'static str {
        let name = self.name();
        ["_packets", "_bps", "_s"]
            .iter()
            .find_map(|unit| name.strip_suffix(unit))
            .unwrap_or(name)
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        self.text().1
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
        let name = self.metric.name();
        let threshold = if name.ends_with("_s") {
            Time::from_secs_f64(self.threshold).to_string()
        } else if name.ends_with("_bps") {
            Rate::from_bits_per_second(self.threshold as u64).to_string()
        } else if name.ends_with("_packets") {
            format!("{}p", self.threshold)
        } else {
            self.threshold.to_string()
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
    let name = metric.name();
    let value = if name.ends_with("_s") {
        text.parse::<Time>().ok()?.as_secs_f64()
    } else if name.ends_with("_bps") {
        text.parse::<Rate>().ok()?.as_bits_per_second() as f64
    } else if name.ends_with("_packets") {
        packets(text)?
    } else if let Some(percent) = text.strip_suffix('%') {
        percent.trim().parse::<f64>().ok()? / 100.0
    } else {
        text.parse().ok()?
    };
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_of_the_delay_has_its_share_in_its_name() {
        for (metric, share) in Metric::QUEUE_DELAY_QUANTILES {
            assert_eq!(metric.name(), format!("queue_delay_p{}_s", 100.0 * share));
        }
    }
}
