//! Scenario files as text: the tree of a file, the position of a reader in it, and the forms and
//! tables of keys. Nothing here knows a key of a scenario.

pub(crate) mod cursor;
pub(crate) mod dimension;
pub(crate) mod form;
pub(crate) mod grammar;
pub(crate) mod keys;
pub(crate) mod naming;
pub(crate) mod overrides;
pub(crate) mod quantity;
pub(crate) mod step_list;
pub(crate) mod tree;
