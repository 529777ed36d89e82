//! The warnings that a reader must know before using a report's numbers: a sentence for people, and
//! the kind with its figures for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

/// A remark on a report. In JSON it is its sentence.
#[derive(Clone, PartialEq)]
pub struct Warning {
    /// Kind of the warning.
    pub kind: WarningKind,
    /// Subject of the warning: a metric, a group, a model; empty if the kind says all.
    pub subject: String,
    /// The figures of the sentence by name, with their units where they have one.
    pub values: BTreeMap<Cow<'static, str>, f64>,
    /// The sentence.
    pub text: String,
}

/// Kinds of remarks. Programs may rely on their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WarningKind {
    /// The loss rate rests on few drops (`drops`).
    FewDrops,
    /// The means rest on few congestion events (`events`).
    FewCongestionEvents,
    /// Simultaneous events decide which flow loses. `same_phase` losses, of `compared` ones, had
    /// the same phase in a transmission as the loss of a flow before.
    SimultaneousEvents,
    /// Flows have not started by the end (`flows`).
    NotStarted,
    /// No request of an incast (the subject) was answered in full: its time is a lower bound.
    LowerBound,
    /// More was delivered in the measured time than the link carries in it (`link_bps`): what had
    /// waited before counts, too. The subject is "goodput", or that of a group.
    GoodputAboveRate,
    /// Links (the subject) pause each other in a circle, so that none of them sends any more.
    Deadlock,
    /// A lossless queue of a link (the subject) dropped packets (`drops`).
    LosslessDrops,
    /// The rate of a link (the subject) changes: values in units of its rate refer to its average
    /// (`average_bps`).
    AverageRate,
    /// The delay of a link changes, so that what is of one round trip is of the average.
    AverageDelay,
    /// The engine leaves out something that the scenario states (the subject).
    LeftOut,
    /// Unresponsive traffic is a constant rate, or one resampled at intervals (the subject).
    FluidBackground,
    /// The scenario lies where the fluid engine is off by more than its manual promises, and by
    /// which figure (the subject): a fair `window` of few packets (`window_packets`), a `buffer`
    /// that bursts overflow (`buffer_packets`, `burst_packets`), an `rtt` far longer than another
    /// (`longest_by_shortest`), a `low_window`.
    OutsideDomain,
    /// Which model answers (the subject), and why.
    Model,
    /// An assumption (the subject) does not hold, or is not known to.
    Assumption,
    /// A remark that belongs to a model's numbers.
    Note,
    /// Metrics of which an engine says nothing.
    Silent,
    /// A metric (the subject) that only some replications could measure (`measured`,
    /// `replications`).
    MetricLeftOut,
    /// The machine was late in a run in real time. For the subject "lateness", the figures are the
    /// 99.9th percentile of the delay with which packets were handed over (`p999_s`), the time for
    /// which the emulated clock stopped (`frozen_s`), and the number of attempts if a run had to be
    /// repeated (`attempts`). For "capacity", links carry more than the machine can handle
    /// (`packets_per_second`). For "host", the machine's own limits held traffic back.
    Late,
    /// A setting of a group's (the subject's) stack that the kernel's own TCP does not apply.
    HostStack,
}

impl WarningKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::FewDrops,
        Self::FewCongestionEvents,
        Self::SimultaneousEvents,
        Self::NotStarted,
        Self::LowerBound,
        Self::GoodputAboveRate,
        Self::Deadlock,
        Self::LosslessDrops,
        Self::AverageRate,
        Self::AverageDelay,
        Self::LeftOut,
        Self::FluidBackground,
        Self::OutsideDomain,
        Self::Model,
        Self::Assumption,
        Self::Note,
        Self::Silent,
        Self::MetricLeftOut,
        Self::Late,
        Self::HostStack,
    ];

    /// The name that programs see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FewDrops => "few_drops",
            Self::FewCongestionEvents => "few_congestion_events",
            Self::SimultaneousEvents => "simultaneous_events",
            Self::NotStarted => "not_started",
            Self::LowerBound => "lower_bound",
            Self::GoodputAboveRate => "goodput_above_rate",
            Self::Deadlock => "deadlock",
            Self::LosslessDrops => "lossless_drops",
            Self::AverageRate => "average_rate",
            Self::AverageDelay => "average_delay",
            Self::LeftOut => "left_out",
            Self::FluidBackground => "fluid_background",
            Self::OutsideDomain => "outside_domain",
            Self::Model => "model",
            Self::Assumption => "assumption",
            Self::Note => "note",
            Self::Silent => "silent",
            Self::MetricLeftOut => "metric_left_out",
            Self::Late => "late",
            Self::HostStack => "host_stack",
        }
    }
}

impl Warning {
    /// A remark of a kind, without subject or figures.
    ///
    /// ```
    /// use forebay_scenario::{Warning, WarningKind};
    ///
    /// let few = Warning::new(WarningKind::FewDrops, "the loss rate rests on 3 drops")
    ///     .with("drops", 3.0);
    /// assert_eq!(few.to_string(), "the loss rate rests on 3 drops");
    /// assert_eq!(few.values["drops"], 3.0);
    /// ```
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            subject: String::new(),
            values: BTreeMap::new(),
            text: text.into(),
        }
    }

    /// The same about something in particular.
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// The same with one figure of the sentence by name.
    pub fn with(mut self, name: &'static str, value: f64) -> Self {
        self.values.insert(name.into(), value);
        self
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The sentence of the warning, as in JSON: the text of a printed report does not depend on the
/// form in which warnings are stored.
impl fmt::Debug for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_words_for_programs() {
        let mut names: Vec<&str> = WarningKind::ALL.map(WarningKind::name).into();
        let word = |name: &&str| name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        assert!(names.iter().all(word));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), WarningKind::ALL.len());
    }

    #[test]
    fn in_json_a_warning_is_its_sentence() {
        let warning = Warning::new(WarningKind::Note, "an upper bound")
            .about("mm1k")
            .with("load", 0.9);
        assert_eq!(
            serde_json::to_string(&warning).unwrap(),
            "\"an upper bound\""
        );
    }
}
