//! The paths that the network has laid. Its part `network/routes.rs` lays them.

use std::collections::HashMap;

use forebay_scenario::HostPair;
use forebay_units::Time;

use crate::ids::{GroupId, Route};

/// The paths that are laid.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    pub(crate) of_groups: Vec<Routes>,
    /// Those of hosts in a fabric, by group, hosts and spine.
    pub(crate) of_hosts: HashMap<(GroupId, HostPair, usize), Route>,
}

/// The paths of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    /// Route of its packets.
    pub(crate) there: Route,
    /// Route of their acknowledgments, if they cross links.
    pub(crate) back: Option<Route>,
}

/// The path of a flow or an open-loop transfer between hosts of a fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRoute {
    pub(crate) route: Route,
    /// How much shorter its way from the last link back to the sender is than on a longest path.
    pub(crate) shortcut: Time,
}
