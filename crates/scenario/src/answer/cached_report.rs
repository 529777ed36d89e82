//! A report as a text that gives the same report back: for a search that goes on where it stopped.

use serde_json::{Map, Value, json};

use crate::answer::report::Report;
use crate::answer::warning::{Warning, WarningKind};

impl Report {
    /// Everything but the traces, remarks with their kinds and figures.
    ///
    /// # Errors
    /// A report that JSON cannot hold.
    pub fn to_cached(&self) -> Result<String, serde_json::Error> {
        let notes: Vec<Value> = self.warnings.iter().map(warning_json).collect();
        serde_json::to_string(&json!({ "report": self, "remarks": notes }))
    }

    /// The report that was serialized to this text. It is none if the text is of no report, or of
    /// one that would not be serialized to the same text again.
    ///
    /// ```
    /// use forebay_scenario::{Format, Report, Scenario};
    ///
    /// let text = "[link]\nrate = \"1Mbps\"\nbuffer = \"9p\"\n\
    ///     [[flows]]\nrtt = \"10ms\"\n[run]\nwarmup = \"1s\"\nmeasure = \"1s\"";
    /// let scenario = Scenario::parse(text, Format::Toml, "<text>", &[])?;
    /// let report = Report::new("packet", &scenario, 1);
    /// assert_eq!(Report::from_cached(&report.to_cached()?), Some(report));
    /// assert_eq!(Report::from_cached("{}"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_cached(text: &str) -> Option<Self> {
        let mut cached: Map<String, Value> = serde_json::from_str(text).ok()?;
        let mut report: Self = serde_json::from_value(cached.remove("report")?).ok()?;
        let notes = cached.get("remarks")?.as_array()?;
        report.warnings = notes.iter().map(restored_warning).collect::<Option<_>>()?;
        (report.to_cached().ok()? == text).then_some(report)
    }
}

fn warning_json(warning: &Warning) -> Value {
    json!([
        warning.kind.name(),
        warning.subject,
        warning.values,
        warning.text
    ])
}

fn restored_warning(cached: &Value) -> Option<Warning> {
    let [kind, subject, values, text] = &cached.as_array()?[..] else {
        return None;
    };
    let kind = WarningKind::ALL.into_iter().find(|it| it.name() == kind)?;
    let mut warning = Warning::new(kind, text.as_str()?).about(subject.as_str()?);
    for (name, value) in values.as_object()? {
        warning.values.insert(name.clone().into(), value.as_f64()?);
    }
    Some(warning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::answer::report::{
        Bin, Completions, Cost, FlowReport, GroupReport, Lateness, LinkReport, MeasuredDistribution,
    };
    use crate::{Format, Metric, Scenario};

    /// A report with something in every field.
    fn full() -> Report {
        let text = "[link]\nrate = \"1Mbps\"\nbuffer = \"9p\"\n[[flows]]\nrtt = \"10ms\"\n\
            [run]\nwarmup = \"1s\"\nmeasure = \"1s\"";
        let scenario = Scenario::parse(text, Format::Toml, "<text>", &[]).unwrap();
        let mut report = Report::new("packet", &scenario, 7);
        // Every metric, with a number that has no short decimal form.
        let third = |(at, metric): (usize, Metric)| (metric, (1.0 + at as f64 / 3.0).into());
        report.metrics = Metric::ALL.into_iter().enumerate().map(third).collect();
        let bins = vec![Bin {
            low: 1e-300,
            high: 0.1 + 0.2,
            count: u64::MAX,
        }];
        let distributions =
            BTreeMap::from([("queue_delay_s".to_owned(), MeasuredDistribution { bins })]);
        let quantiles = BTreeMap::from([("p50".to_owned(), 1.0 / 7.0)]);
        report.groups = vec![
            GroupReport {
                name: "bare".into(),
                ..GroupReport::default()
            },
            GroupReport {
                name: "full".into(),
                flows: 3,
                metrics: report.metrics.clone(),
                flow_goodput_bps: quantiles.clone(),
                completions: Some(Completions {
                    completed: 2,
                    completion_time_s: quantiles,
                }),
                distributions: distributions.clone(),
                per_flow: vec![FlowReport {
                    goodput_bps: 1e9 / 3.0,
                    loss_rate: 0.01,
                    retransmissions: 1,
                    timeouts: 2,
                    congestion_events: 3,
                }],
            },
        ];
        report.links = vec![LinkReport {
            name: "other".into(),
            metrics: report.metrics.clone(),
        }];
        report.distributions = distributions;
        report.cost = Cost {
            data_packets: 1,
            events: 2,
            cpu_s: 0.1,
            wall_s: 1.0 / 3.0,
            peak_rss_bytes: 4,
            lateness: Some(Lateness {
                p50_s: 1e-6 / 3.0,
                p99_s: 1e-4 / 3.0,
                p999_s: 1e-3 / 3.0,
                max_s: 0.1 / 3.0,
                frozen_s: 0.2 / 3.0,
                freezes: 5,
            }),
        };
        report.warnings = WarningKind::ALL
            .map(|kind| {
                let warning = Warning::new(kind, "a \"sentence\"").about("subject");
                warning.with("drops", 3.0).with("share", 1.0 / 3.0)
            })
            .into();
        report
    }

    #[test]
    fn what_is_kept_comes_back_the_same() {
        let report = full();
        let cached = report.to_cached().unwrap();
        let again = Report::from_cached(&cached).unwrap();
        assert_eq!(again, report);
        assert_eq!(again.to_cached().unwrap(), cached);
    }

    #[test]
    fn only_a_run_in_real_time_has_a_lateness() {
        let mut report = full();
        let late = serde_json::to_value(&report).unwrap();
        assert_eq!(late["cost"]["lateness"]["p999_s"], 1e-3 / 3.0);
        assert_eq!(late["cost"]["lateness"]["freezes"], 5);
        report.cost.lateness = None;
        let cached = report.to_cached().unwrap();
        assert!(!cached.contains("lateness"), "{cached}");
        assert_eq!(Report::from_cached(&cached), Some(report));
    }

    #[test]
    fn a_text_that_was_spoiled_gives_nothing() {
        let cached = full().to_cached().unwrap();
        assert_eq!(Report::from_cached(&cached[..cached.len() - 1]), None);
        assert_eq!(
            Report::from_cached(&cached.replace("few_drops", "few_crumbs")),
            None
        );
        assert_eq!(
            Report::from_cached(&cached.replace("jain_index", "jane_index")),
            None
        );
        for other in [
            "",
            "\"\"",
            "null",
            "[]",
            "3",
            "true",
            "{}",
            "{\"report\": 3}",
        ] {
            assert_eq!(Report::from_cached(other), None, "{other}");
        }
        assert_eq!(
            Report::from_cached(&format!("{cached} ")),
            None,
            "not as it was kept"
        );
        assert_eq!(
            Report::from_cached(&cached.replace("\"seed\":7,", "")),
            None
        );
    }

    #[test]
    fn what_json_cannot_hold_is_not_restored() {
        let mut report = full();
        report
            .metrics
            .insert(Metric::LossRate, f64::INFINITY.into());
        assert_eq!(Report::from_cached(&report.to_cached().unwrap()), None);
    }
}
