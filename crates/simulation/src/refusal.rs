//! Why a run cannot be.

use forebay_scenario::{Cancel, EngineError, MORE_MEMORY};

/// Why a run does not begin, or ends before its time: whose run it was the engine says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A feature of the scenario is not modeled.
    Unsupported(String),
    /// The run would be too large.
    TooLarge(String),
    /// The run was canceled.
    Interrupted,
}

impl Refusal {
    /// As the engine of this name tells it.
    pub fn of(self, engine: &'static str) -> EngineError {
        match self {
            Self::Unsupported(feature) => EngineError::Unsupported { engine, feature },
            Self::TooLarge(why) => EngineError::TooLarge { engine, why },
            Self::Interrupted => EngineError::Interrupted,
        }
    }
}

/// Ends a run that was asked to stop.
pub(crate) fn heed(cancel: &Cancel) -> Result<(), Refusal> {
    if cancel.requested() {
        return Err(Refusal::Interrupted);
    }
    Ok(())
}

/// Packets beyond which a link's queue is too large.
pub(crate) const TOO_MANY_WAIT: &str = "more than 100 million packets wait at a link at once";

/// A feature that is not modeled.
pub fn unsupported(feature: &str) -> Refusal {
    Refusal::Unsupported(feature.to_owned())
}

/// A quantity that is too large.
pub(crate) fn too_large(why: &str) -> Refusal {
    Refusal::TooLarge(why.to_owned())
}

/// More flows are alive at once than memory is allowed for.
pub(crate) fn too_many_alive(group: &str, most: usize) -> Refusal {
    too_large(&format!(
        "`flows.{group}.workload` has more than {most} simultaneous flows, the limit of the memory ({MORE_MEMORY})"
    ))
}
