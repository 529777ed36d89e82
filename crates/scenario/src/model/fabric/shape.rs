//! The numbers of a leaf-spine fabric and the names of its links. All links have one order: those
//! of hosts, ports to hosts, ports to spines, ports of spines.

/// The numbers of switches and hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Leaf switches.
    pub leaves: usize,
    /// Spine switches.
    pub spines: usize,
    /// Hosts, the same number at each leaf.
    pub hosts: usize,
}

/// The place of a link in a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// From a host to its leaf.
    Nic,
    /// From a leaf to a host.
    HostPort,
    /// From a leaf to a spine.
    Uplink,
    /// From a spine to a leaf.
    SpinePort,
}

impl Role {
    /// All roles, in the order of the links.
    pub const ALL: [Self; 4] = [Self::Nic, Self::HostPort, Self::Uplink, Self::SpinePort];

    /// The key of its table in `[fabric]`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Nic => "nic",
            Self::HostPort => "host_port",
            Self::Uplink => "uplink",
            Self::SpinePort => "spine_port",
        }
    }
}

/// The two ends of a link, counted from zero: the first one sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) role: Role,
    /// The host, or the spine.
    pub(crate) other: usize,
    pub(crate) leaf: usize,
}

impl Shape {
    /// Number of links.
    pub const fn links(self) -> usize {
        2 * self.hosts + 2 * self.leaves * self.spines
    }

    /// Hosts of a leaf.
    pub const fn hosts_per_leaf(self) -> usize {
        self.hosts / self.leaves
    }

    /// The leaf of a host.
    pub const fn leaf(self, host: usize) -> usize {
        host / self.hosts_per_leaf()
    }

    /// The number of the first link with a role, and their number.
    pub const fn range(self, role: Role) -> (usize, usize) {
        let (hosts, between) = (self.hosts, self.leaves * self.spines);
        match role {
            Role::Nic => (0, hosts),
            Role::HostPort => (hosts, hosts),
            Role::Uplink => (2 * hosts, between),
            Role::SpinePort => (2 * hosts + between, between),
        }
    }

    /// The link from a host to its leaf.
    pub const fn nic(self, host: usize) -> usize {
        host
    }

    /// The port to a host.
    pub const fn host_port(self, host: usize) -> usize {
        self.hosts + host
    }

    /// The port from a leaf to a spine.
    pub const fn uplink(self, leaf: usize, spine: usize) -> usize {
        2 * self.hosts + leaf * self.spines + spine
    }

    /// The port from a spine to a leaf.
    pub const fn spine_port(self, spine: usize, leaf: usize) -> usize {
        2 * self.hosts + self.leaves * self.spines + spine * self.leaves + leaf
    }

    /// The ends of a link.
    pub(crate) fn ends(self, link: usize) -> Ends {
        let within = |role| {
            let (first, count) = self.range(role);
            (first..first + count).contains(&link).then(|| link - first)
        };
        if let Some(host) = within(Role::Nic) {
            return self.of_host(Role::Nic, host);
        }
        if let Some(host) = within(Role::HostPort) {
            return self.of_host(Role::HostPort, host);
        }
        if let Some(at) = within(Role::Uplink) {
            return Ends {
                role: Role::Uplink,
                other: at % self.spines,
                leaf: at / self.spines,
            };
        }
        let at = link - self.range(Role::SpinePort).0;
        Ends {
            role: Role::SpinePort,
            other: at / self.leaves,
            leaf: at % self.leaves,
        }
    }

    fn of_host(self, role: Role, host: usize) -> Ends {
        Ends {
            role,
            other: host,
            leaf: self.leaf(host),
        }
    }

    /// The role of a link.
    pub fn role(self, link: usize) -> Role {
        self.ends(link).role
    }

    /// The name of a link: the sender, then the receiver, counted from one.
    pub fn name(self, link: usize) -> String {
        let ends = self.ends(link);
        let (other, leaf) = (ends.other + 1, ends.leaf + 1);
        match ends.role {
            Role::Nic => format!("host{other}-leaf{leaf}"),
            Role::HostPort => format!("leaf{leaf}-host{other}"),
            Role::Uplink => format!("leaf{leaf}-spine{other}"),
            Role::SpinePort => format!("spine{other}-leaf{leaf}"),
        }
    }

    /// The number of the switch that a link belongs to, the leaves first; none for links of hosts.
    pub(crate) fn switch(self, link: usize) -> Option<usize> {
        let ends = self.ends(link);
        match ends.role {
            Role::Nic => None,
            Role::HostPort | Role::Uplink => Some(ends.leaf),
            Role::SpinePort => Some(self.leaves + ends.other),
        }
    }

    /// The links from a host to another over a spine. Hosts of one leaf need no spine.
    pub fn path(self, from: usize, to: usize, spine: usize) -> Vec<usize> {
        let (first, last) = (self.leaf(from), self.leaf(to));
        let mut path = vec![self.nic(from)];
        if first != last {
            path.extend([self.uplink(first, spine), self.spine_port(spine, last)]);
        }
        path.push(self.host_port(to));
        path
    }

    /// Whether a link leads to another one.
    pub(crate) fn leads_to(self, link: usize, next: usize) -> bool {
        let (one, other) = (self.ends(link), self.ends(next));
        match (one.role, other.role) {
            (Role::Nic, Role::HostPort) => one.leaf == other.leaf && one.other != other.other,
            (Role::Nic, Role::Uplink) | (Role::SpinePort, Role::HostPort) => one.leaf == other.leaf,
            (Role::Uplink, Role::SpinePort) => one.other == other.other && one.leaf != other.leaf,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        leaves: 3,
        spines: 2,
        hosts: 12,
    };

    #[test]
    fn each_link_has_a_name_of_its_own_and_comes_back_from_its_ends() {
        let names: Vec<String> = (0..SHAPE.links()).map(|link| SHAPE.name(link)).collect();
        assert_eq!(names.len(), 36);
        assert_eq!(names[0], "host1-leaf1");
        assert_eq!(names[23], "leaf3-host12");
        assert_eq!(names[SHAPE.uplink(1, 1)], "leaf2-spine2");
        assert_eq!(names[SHAPE.spine_port(0, 2)], "spine1-leaf3");
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    }

    #[test]
    fn each_link_of_a_path_leads_to_the_next_one_and_to_no_other_of_them() {
        for from in 0..12 {
            for to in (0..12).filter(|to| *to != from) {
                let path = SHAPE.path(from, to, 1);
                assert_eq!(path.len(), if from / 4 == to / 4 { 2 } else { 4 });
                for (at, &link) in path.iter().enumerate() {
                    for (next, &other) in path.iter().enumerate() {
                        let follows = next == at + 1;
                        assert_eq!(SHAPE.leads_to(link, other), follows, "{path:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn ports_belong_to_the_switch_that_sends() {
        assert!(!SHAPE.leads_to(SHAPE.nic(3), SHAPE.host_port(3)));
        assert_eq!(SHAPE.switch(SHAPE.nic(3)), None);
        assert_eq!(SHAPE.switch(SHAPE.host_port(11)), Some(2));
        assert_eq!(SHAPE.switch(SHAPE.uplink(1, 0)), Some(1));
        assert_eq!(SHAPE.switch(SHAPE.spine_port(1, 0)), Some(4));
    }
}
