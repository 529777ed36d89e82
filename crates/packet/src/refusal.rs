//! What the packet engine refuses, by name.

use forebay_scenario::{EngineError, MORE_MEMORY};

/// Why a run with a boundless queue ends.
pub(crate) const TOO_MANY_WAIT: &str = "more than 100 million packets wait at a link at once";

/// A feature that the engine does not model.
pub(crate) fn unsupported(feature: &str) -> EngineError {
    EngineError::Unsupported {
        engine: "packet",
        feature: feature.to_owned(),
    }
}

/// A run that takes more memory or time than it may.
pub(crate) fn too_large(why: &str) -> EngineError {
    EngineError::TooLarge {
        engine: "packet",
        why: why.to_owned(),
    }
}

/// More transfers of a group are alive than memory is allowed for.
pub(crate) fn too_many_alive(group: &str, most: usize) -> EngineError {
    too_large(&format!(
        "`flows.{group}.workload` keeps more than {most} flows alive at once, for which memory is allowed ({MORE_MEMORY})"
    ))
}
