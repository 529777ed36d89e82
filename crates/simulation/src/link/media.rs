//! Media in which a link does not simply send one packet after the other: a file each.

pub(crate) mod cellular;
pub(crate) mod docsis;
pub(crate) mod wifi;
