//! Remarks on a scenario whose links change: which averages its figures are. Engines add them to
//! their reports as warnings.

use crate::answer::warning::{Warning, WarningKind};
use crate::model::delay::Delays;
use crate::model::link::Link;
use crate::model::scenario::Scenario;
use crate::model::varying::Varying;

impl Scenario {
    /// A remark for each link whose rate or delay changes: what is of its average.
    ///
    /// ```
    /// use forebay_scenario::{Format, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = { steps = [["0s", "50Mbps"], ["10s", "5Mbps"]], repeat = "20s" }
    ///     buffer = "1BDP"
    ///     [[flows]]
    ///     rtt = "100ms"
    /// "#;
    /// let scenario = Scenario::parse(text, Format::Toml, "changing.toml", &[])?;
    /// assert_eq!(scenario.target().rate.to_string(), "27.5Mbps");
    /// assert_eq!(scenario.buffer().bytes, 27.5e6 / 8.0 * 0.1);
    /// assert!(scenario.averages()[0].text.contains("27.5Mbps"));
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn averages(&self) -> Vec<Warning> {
        let remark = |link: &Link| {
            if let Some(text) = link.of_medium() {
                let warning = Warning::new(WarningKind::AverageRate, text).about(&link.name);
                return Some(warning.with("average_bps", link.rate.as_bits_per_second() as f64));
            }
            let repeat = match link.varying.as_ref()? {
                Varying::Steps(steps) => steps.repeat().filter(|_| !link.outages.any()),
                Varying::Opportunities(list) => Some(list.period()),
                Varying::Markov(_) => None,
            };
            let over = match repeat {
                Some(period) => format!("its period of {period}"),
                None if link.steps.is_none() => "all time".to_owned(),
                None => format!("the run of {}", self.run().end()),
            };
            let text = format!(
                "the rate of `{}` changes. Its BDP, and buffers in time or BDP, use the average over {over}, {}",
                link.name, link.rate
            );
            let warning = Warning::new(WarningKind::AverageRate, text).about(&link.name);
            Some(warning.with("average_bps", link.rate.as_bits_per_second() as f64))
        };
        let later = |link: &Link| {
            let Delays { steps, .. } = link.delays.as_ref()?;
            let (least, most) = (steps.least(), steps.most());
            let text = format!(
                "the delay of `{}` changes from {least} to {most}. Each `rtt` contains the shortest delay, and the BDP uses the average",
                link.name
            );
            let warning = Warning::new(WarningKind::AverageDelay, text).about(&link.name);
            let mean = link.mean_extra_delay(self.run().end()) + least.as_secs_f64();
            Some(warning.with("average_s", mean))
        };
        let links = self.links().iter();
        let rates = links.clone().filter_map(remark);
        rates.chain(links.filter_map(later)).collect()
    }
}
