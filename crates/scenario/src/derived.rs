//! Values that follow from a whole scenario: draws of replications, the memory estimate, remarks,
//! the schema and the manual.

pub(crate) mod edit;
pub(crate) mod group_text;
pub(crate) mod manual;
pub(crate) mod memory_estimate;
pub(crate) mod notes;
pub(crate) mod random_count;
pub(crate) mod schema;
pub(crate) mod user_code;
