//! A run of packets and the scenario that it is of, in one value.

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

/// A run that goes on for as long as it is told.
pub(crate) struct Running(Both);

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Running")
            .field(self.0.borrow_owner())
            .finish()
    }
}

impl Running {
    /// A run before its first event.
    pub(crate) fn begin(scenario: Scenario, options: RunOptions) -> Result<Self, EngineError> {
        Both::try_new(scenario, |scenario| {
            Stepwise::begin(scenario, options).map(Some)
        })
        .map(Self)
    }

    /// Asks the run something; nothing of one that has left its report.
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce(&mut Stepwise<'_>) -> T) -> Option<T> {
        self.0.with_dependent_mut(|_, run| run.as_mut().map(ask))
    }

    /// Its report.
    pub(crate) fn finish(mut self) -> Option<Result<Report, EngineError>> {
        self.0
            .with_dependent_mut(|_, run| run.take().map(Stepwise::finish))
    }
}
