//! Metrics and goals: what a report measures and what a recommendation must meet. Each metric is
//! declared once here; engines fill it in.
//!
//! A metric of a group states its requirements in `search/measurable.py` of the Python package. A
//! metric of the fluid engine is also in `crates/fluid/src/answer.rs`.

use forebay_units::{Rate, Time};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::text::cursor::Cursor;
use crate::text::dimension::Dimension;
use crate::text::naming::likeliest_quantity;
use crate::text::tree::{ScenarioError, ValueError};

/// The unit of a metric; its name in reports ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Part of a whole that is spoken of in percent, from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
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
            Self::Bytes => "bytes",
            Self::Number => "number",
        }
    }

    /// How names in reports end.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Seconds => "_s",
            Self::BitsPerSecond => "_bps",
            Self::Packets => "_packets",
            Self::Bytes => "_bytes",
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

/// Makes the enum of all metrics and what finds their texts out of one list, in report order.
macro_rules! metrics {
    (
        of_every_engine: { $($common:ident($common_name:literal, $common_title:literal, $common_unit:ident, $common_scope:ident, $common_meaning:literal),)+ }
        others: { $($other:ident($name:literal, $title:literal, $unit:ident, $scope:ident, $meaning:literal),)+ }
    ) => {
        /// A metric at the target link after the warm-up.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $(#[doc = $common_meaning] $common,)+
            $(#[doc = $meaning] $other,)+
        }

        impl Metric {
            /// The metrics of every engine for every scenario; the others need transfers, or single
            /// packets.
            pub const OF_EVERY_ENGINE: [Self; [$($common_name),+].len()] = [$(Self::$common),+];

            /// All metrics in report order.
            pub const ALL: [Self; [$($common_name,)+ $($name),+].len()] =
                [$(Self::$common,)+ $(Self::$other),+];

            /// Its unit.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Self::$common => Unit::$common_unit,)+
                    $(Self::$other => Unit::$unit,)+
                }
            }

            /// Which part of a report carries it.
            pub const fn scope(self) -> Scope {
                match self {
                    $(Self::$common => Scope::$common_scope,)+
                    $(Self::$other => Scope::$scope,)+
                }
            }

            const fn texts(self) -> [&'static str; 3] {
                match self {
                    $(Self::$common => [$common_name, $common_title, $common_meaning],)+
                    $(Self::$other => [$name, $title, $meaning],)+
                }
            }
        }
    };
}

metrics! {
    of_every_engine: {
        Utilization("utilization", "utilization", Share, Link,
            "bytes that left the link / (rate x time)"),
        LossRate("loss_rate", "loss", Share, Both,
            "packets dropped / packets arrived"),
        MarkRate("mark_rate", "ECN marks", Share, Link,
            "packets ECN-marked / packets arrived"),
        QueueMean("queue_mean_packets", "mean queue", Packets, Link,
            "time-weighted mean of the packets waiting"),
        QueueDelayMean("queue_delay_mean_s", "mean delay", Seconds, Both,
            "mean queueing delay of accepted packets, own transmission excluded"),
        QueueDelayP05("queue_delay_p05_s", "p5 delay", Seconds, Both,
            "5th percentile of the queueing delay of accepted packets: the standing queue"),
        QueueDelayP50("queue_delay_p50_s", "median delay", Seconds, Both,
            "median queueing delay of accepted packets"),
        QueueDelayP95("queue_delay_p95_s", "p95 delay", Seconds, Both,
            "95th percentile of the queueing delay of accepted packets"),
        QueueDelayP99("queue_delay_p99_s", "p99 delay", Seconds, Both,
            "99th percentile of the queueing delay of accepted packets"),
        QueueDelayMax("queue_delay_max_s", "longest delay", Seconds, Both,
            "longest queueing delay of an accepted packet"),
        Goodput("goodput_bps", "goodput", BitsPerSecond, Both,
            "payload delivered in order, all responsive flows"),
        JainIndex("jain_index", "Jain index", Number, Link,
            "(sum x)^2 / (n sum x^2) over the persistent flows' goodputs"),
        Synchronization("synchronization", "synchronization", Number, Link,
            "mean fraction of the persistent flows that lose in one congestion event"),
    }
    others: {
        Retransmissions("retransmissions", "retransmissions", Number, Group,
            "packets retransmitted"),
        Timeouts("timeouts", "timeouts", Number, Group,
            "retransmission timeouts"),
        CompletionTimeP50("completion_time_p50_s", "completion time p50", Seconds, Group,
            "median time to complete a transfer"),
        CompletionTimeP95("completion_time_p95_s", "completion time p95", Seconds, Group,
            "95th percentile of the time to complete a transfer"),
        CompletionTimeP99("completion_time_p99_s", "completion time p99", Seconds, Group,
            "99th percentile of the time to complete a transfer"),
        RequestTimeP50("request_time_p50_s", "request time p50", Seconds, Group,
            "median time from an incast's request to the end of its last response"),
        RequestTimeP95("request_time_p95_s", "request time p95", Seconds, Group,
            "95th percentile of the time from an incast's request to the end of its last response"),
        RequestTimeP99("request_time_p99_s", "request time p99", Seconds, Group,
            "99th percentile of the time from an incast's request to the end of its last response"),
        FlowGoodputP10("flow_goodput_p10_bps", "flow goodput p10", BitsPerSecond, Group,
            "goodput that 90 % of the flows exceed"),
        FlowGoodputP50("flow_goodput_p50_bps", "flow goodput p50", BitsPerSecond, Group,
            "median goodput of a flow"),
        CongestionEvents("congestion_events", "congestion events", Number, Link,
            "groups of losses of persistent flows less than one harmonic-mean round trip apart"),
        LossesPerEvent("losses_per_event_packets", "losses per event", Packets, Link,
            "mean number of packets that persistent flows lose in one congestion event"),
        LossBurstMean("loss_burst_mean_packets", "loss burst mean", Packets, Link,
            "mean number of packets dropped directly after each other"),
        LossBurstMax("loss_burst_max_packets", "loss burst max", Packets, Link,
            "most packets dropped directly after each other"),
        MediumLossRate("medium_loss_rate", "medium loss rate", Share, Link,
            "packets that the medium after the link lost / packets that left it"),
        QueueDelayP50Slow("queue_delay_p50_slow_s", "median delay while slow", Seconds, Link,
            "median over time of the queue's drain time while the rate is below its average"),
        QueueDelayP99Slow("queue_delay_p99_slow_s", "p99 delay while slow", Seconds, Link,
            "99th percentile over time of the queue's drain time while the rate is below its average"),
        QueueDelayP50Fast("queue_delay_p50_fast_s", "median delay while fast", Seconds, Link,
            "median over time of the queue's drain time while the rate is at its average or above"),
        QueueDelayP99Fast("queue_delay_p99_fast_s", "p99 delay while fast", Seconds, Link,
            "99th percentile over time of the queue's drain time while the rate is at its average or above"),
        DrainTimeMax("drain_time_max_s", "longest drain", Seconds, Link,
            "longest time to send the packets that wait when the rate falls"),
        PolicerLossRate("policer_loss_rate", "policer loss rate", Share, Link,
            "packets that the policer in front of the link dropped / packets that came to it"),
        PauseTime("pause_time_s", "pause time", Seconds, Link,
            "time that the queue paused at least one of its senders"),
        PauseFrames("pause_frames", "pauses", Number, Link,
            "pauses that the queue began, each of one sender"),
        HeadroomMax("headroom_max_bytes", "headroom used", Bytes, Link,
            "most waiting bytes of one sender above xoff"),
        PausedTime("paused_time_s", "paused time", Seconds, Link,
            "time that queues behind the link paused it"),
        Spread("spread", "spread of pauses", Number, Link,
            "most hops that pauses by the queue reached at once; a paused host counts as a hop"),
        Victims("victims", "victims", Number, Both,
            "flows that a pause held and that do not cross the queue that began it"),
        QueueAutocorrelation("queue_autocorrelation_s", "queue autocorrelation", Seconds, Link,
            "integral of the autocorrelation of the queue's drain time"),
        LongFlows("long_flows", "long flows", Number, Both,
            "time-weighted mean number of flows that have left slow start and lose packets here and not elsewhere"),
        ShortTransfers("short_transfers", "short transfers", Number, Group,
            "share of the completed transfers that spent most of their time before their first congestion signal"),
        WindowMean("window_mean_packets", "window mean", Packets, Group,
            "time-weighted mean congestion window of a flow that has data to send"),
        SlowdownMean("slowdown_mean", "slowdown mean", Number, Group,
            "mean of completion time / (round trip + size at the slowest rate of the path)"),
        SlowdownP50("slowdown_p50", "slowdown p50", Number, Group,
            "median slowdown of a transfer"),
        SlowdownP95("slowdown_p95", "slowdown p95", Number, Group,
            "95th percentile of the slowdown of a transfer"),
        SlowdownP99("slowdown_p99", "slowdown p99", Number, Group,
            "99th percentile of the slowdown of a transfer"),
    }
}

impl Metric {
    /// Quantiles of the wait of accepted packets, each with the share of packets that wait no
    /// longer.
    pub const QUEUE_DELAY_QUANTILES: [(Self, f64); 4] = [
        (Self::QueueDelayP05, 0.05),
        (Self::QueueDelayP50, 0.5),
        (Self::QueueDelayP95, 0.95),
        (Self::QueueDelayP99, 0.99),
    ];

    /// Median and 99th percentile over time of how long the queue takes to drain, while the rate is
    /// below its average and while it is not.
    pub const DRAINS_BY_PHASE: [[Self; 2]; 2] = [
        [Self::QueueDelayP50Slow, Self::QueueDelayP99Slow],
        [Self::QueueDelayP50Fast, Self::QueueDelayP99Fast],
    ];

    /// Name in reports, with its unit.
    pub const fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// Title in tables and pictures.
    pub const fn title(self) -> &'static str {
        self.texts()[1]
    }

    /// Name in goals, without its unit.
    pub fn goal_name(self) -> &'static str {
        let name = self.name();
        name.strip_suffix(self.unit().suffix()).unwrap_or(name)
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

    /// Its meaning.
    pub const fn meaning(self) -> &'static str {
        self.texts()[2]
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let named = Self::ALL.into_iter().find(|metric| metric.name() == name);
        named.ok_or_else(|| D::Error::custom(format!("unknown metric `{name}`")))
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
    /// Where it was read.
    pub place: SourcePosition,
}

/// Where something was read, as messages say it: "link.toml:9: goal.utilization". Goals that say
/// the same are equal wherever they stand.
#[derive(Clone, Debug)]
pub struct SourcePosition(pub String);

impl PartialEq for SourcePosition {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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
    pub fn text(&self) -> String {
        let relation = match self.relation {
            Relation::AtLeast => ">=",
            Relation::AtMost => "<=",
        };
        let threshold = match self.metric.unit() {
            Unit::Seconds => Time::from_secs_f64(self.threshold).to_string(),
            Unit::BitsPerSecond => Rate::from_bits_per_second(self.threshold as u64).to_string(),
            Unit::Bytes => format!("{}B", self.threshold),
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
            let known = groups.iter().map(|group| &**group);
            return Err(cursor.unknown("group", &group.unwrap_or_default(), known));
        }
        let metric = Metric::ALL
            .into_iter()
            .find(|m| m.goal_name() == name || m.name() == name);
        let metric = metric.ok_or_else(|| {
            let known = Metric::ALL.into_iter().map(Metric::goal_name);
            cursor.unknown("metric", name, known)
        })?;
        let allowed = match metric.unit() {
            Unit::Seconds => "a bound on a time, as in \"<= 20ms\"",
            Unit::BitsPerSecond => "a bound on a rate, as in \">= 1Mbps\"",
            Unit::Packets => "a bound on a number of packets, as in \"<= 100p\"",
            Unit::Bytes => "a bound on a number of bytes, as in \"<= 100kB\"",
            Unit::Share => "a bound on a share, as in \">= 99%\" or \"<= 0.001\"",
            Unit::Number => "a bound on a number, as in \">= 0.9\"",
        };
        let text = cursor
            .text()
            .map(str::trim)
            .ok_or_else(|| cursor.error(allowed))?;
        let (relation, threshold) = match (text.strip_prefix(">="), text.strip_prefix("<=")) {
            (Some(rest), _) => (Relation::AtLeast, rest),
            (_, Some(rest)) => (Relation::AtMost, rest),
            _ => {
                let sense = if metric.more_is_better() { ">=" } else { "<=" };
                let bound = text.trim_start_matches(['<', '>', '=', ' ']);
                let meant = threshold_value(metric, bound).map(|_| format!("{sense} {bound}"));
                return Err(cursor.value_error(ValueError::Value {
                    found: cursor.shown(),
                    meant,
                    allowed: allowed.into(),
                }));
            }
        };
        let sense = &text[..2];
        let threshold = threshold_value(metric, threshold.trim());
        let threshold = threshold.ok_or_else(|| {
            let meant = likeliest_quantity(&text[2..], |x| threshold_value(metric, x).is_some());
            cursor.value_error(ValueError::Value {
                found: cursor.shown(),
                meant: meant.map(|meant| format!("{sense} {meant}")),
                allowed: allowed.into(),
            })
        })?;
        Ok(Self {
            group,
            metric,
            relation,
            threshold,
            place: SourcePosition(cursor.place()),
        })
    }
}

/// A threshold in the unit of its metric: times need a time unit, rates a rate unit.
fn threshold_value(metric: Metric, text: &str) -> Option<f64> {
    match metric.unit() {
        Unit::Seconds => Dimension::Time,
        Unit::BitsPerSecond => Dimension::Rate,
        Unit::Packets => Dimension::Packets,
        Unit::Bytes => Dimension::Bytes,
        Unit::Share | Unit::Number => Dimension::Share,
    }
    .parse(text)
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Scenario};

    #[test]
    fn names_end_with_their_units() {
        for metric in Metric::ALL {
            let (name, unit) = (metric.name(), metric.unit());
            assert!(name.ends_with(unit.suffix()), "{name} in {}", unit.name());
            let known = ["_s", "_bps", "_packets", "_bytes"];
            let ending = known.iter().find(|ending| name.ends_with(**ending));
            assert_eq!(ending.copied().unwrap_or(""), unit.suffix(), "{name}");
        }
    }

    #[test]
    fn a_quantile_of_the_delay_has_its_share_in_its_name() {
        for (metric, share) in Metric::QUEUE_DELAY_QUANTILES {
            assert_eq!(
                metric.name(),
                format!("queue_delay_p{:02}_s", 100.0 * share)
            );
        }
    }

    #[test]
    fn a_goal_knows_its_line_and_is_the_same_elsewhere() {
        let scenario = |above: &str| {
            let text = format!(
                "{above}[link]\nrate = \"1Mbps\"\nbuffer = \"9p\"\n[[flows]]\nname = \"bulk\"\n\
                 rtt = \"10ms\"\n[run]\nwarmup = \"1s\"\nmeasure = \"1s\"\n[goal]\n\
                 \"bulk.loss_rate\" = \"<= 1%\"\n"
            );
            Scenario::parse(&text, Format::Toml, "link.toml", &[]).unwrap()
        };
        let (first, second) = (scenario(""), scenario("\n"));
        assert_eq!(first.goals(), second.goals());
        let places = [&first, &second].map(|it| it.goals()[0].place.0.clone());
        assert_eq!(places[0], "link.toml:11: goal.bulk.loss_rate");
        assert_eq!(places[1], "link.toml:12: goal.bulk.loss_rate");
    }
}
