//! Leaf-spine fabrics: the table `[fabric]` stands for the links and the memories of all switches.
//! A scenario reads it in place of its links; flow groups then name hosts instead of a path.

pub(crate) mod groups;
pub(crate) mod hosts;
pub(crate) mod links;
pub(crate) mod ports;
pub(crate) mod routing;
pub(crate) mod shape;
pub(crate) mod table;
