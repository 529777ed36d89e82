//! A packet-level run and its scenario in one value. [`crate::laboratory`] holds it.

use std::borrow::Cow;

use forebay_packet::Stepwise;
use forebay_scenario::{EngineError, Report, RunOptions, Scenario};
use self_cell::self_cell;

/// A run until its report is made.
type Underway<'a> = Option<Stepwise<'a>>;

self_cell!(
    struct Both {
        owner: Scenario,
        #[not_covariant]
        dependent: Underway,
    }
);

/// A run that continues with each call.
pub(crate) struct Running {
    both: Both,
    /// The scenario as it was requested, if the run's scenario was drawn from its distributions.
    asked: Option<Box<Scenario>>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Running").field(self.drawn()).finish()
    }
}

impl Running {
    /// Creates a run before its first event.
    pub(crate) fn begin(scenario: Scenario, options: RunOptions) -> Result<Self, EngineError> {
        let (drawn, asked) = match scenario.drawn(options.seed) {
            Cow::Owned(drawn) => (drawn, Some(Box::new(scenario))),
            Cow::Borrowed(_) => (scenario, None),
        };
        let both = Both::try_new(drawn, |drawn| Stepwise::begin(drawn, options).map(Some))?;
        Ok(Self { both, asked })
    }

    /// The scenario of the run, with the values drawn for this replication.
    pub(crate) fn drawn(&self) -> &Scenario {
        self.both.borrow_owner()
    }

    /// Applies `ask` to the run; `None` if its report was already made.
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce(&mut Stepwise<'_>) -> T) -> Option<T> {
        self.both.with_dependent_mut(|_, run| run.as_mut().map(ask))
    }

    /// Ends the run and returns its report; `None` if it was already made.
    pub(crate) fn finish(mut self) -> Option<Result<Report, EngineError>> {
        let both = &mut self.both;
        let report = both.with_dependent_mut(|_, run| run.take().map(Stepwise::finish))?;
        Some(report.map(|mut report| {
            if let Some(asked) = &self.asked {
                report.asked_by(asked);
            }
            report
        }))
    }
}
