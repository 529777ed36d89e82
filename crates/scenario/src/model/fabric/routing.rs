//! The routes of a flow group in a fabric: which host sends to which, over which links. Engines
//! choose a route for each flow or each open-loop transfer.

use forebay_random::Stream;

use forebay_units::{Rate, Time};

use crate::model::fabric::links::Ports;
use crate::model::fabric::shape::{Role, Shape};
use crate::model::link::Link;

/// The facts of a fabric's links that flow groups depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FabricLinks {
    pub(crate) shape: Shape,
    /// The link that reports are about.
    pub(crate) target: usize,
    /// Rate of a host's link.
    pub(crate) nic_rate: Rate,
    /// Delays of a link of each role, in their order.
    delays: [Time; 4],
}

impl FabricLinks {
    pub(crate) fn new(ports: &Ports, links: &[Link], target: usize) -> Self {
        let shape = ports.fabric.shape();
        let delay = |role| links[shape.range(role).0].delay;
        Self {
            shape,
            target,
            nic_rate: links[shape.nic(0)].rate,
            delays: Role::ALL.map(delay),
        }
    }

    /// The shortest round trip on the longest path: both ways on its cables.
    pub(crate) fn round_trip(self, path: &[usize]) -> Time {
        let delays = path
            .iter()
            .map(|&link| self.delays[self.shape.role(link) as usize]);
        let there: Time = delays.sum();
        there + there
    }
}

/// A sender and a receiver, hosts counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostPair {
    /// The sending host.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
}

/// The routes of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    shape: Shape,
    /// Round trip of the longest path if only the cables delay packets.
    pub(crate) round_trip: Time,
    /// Hosts that send, each with a receiver other than itself.
    senders: Vec<u32>,
    receivers: Vec<u32>,
    /// Position of a host among the receivers; none where it is not one of them.
    position: Vec<Option<u32>>,
    /// Whether a packet of the group may cross each link.
    crossed: Vec<bool>,
}

impl Routing {
    /// The routes from `senders` to `receivers`; none where no host has another one to send to.
    pub(crate) fn new(shape: Shape, senders: &[u32], receivers: &[u32]) -> Option<Self> {
        let mut position = vec![None; shape.hosts];
        for (at, &host) in receivers.iter().enumerate() {
            position[host as usize] = Some(at as u32);
        }
        let has_other = |host: &&u32| receivers.iter().any(|other| other != *host);
        let senders: Vec<u32> = senders.iter().filter(has_other).copied().collect();
        if senders.is_empty() {
            return None;
        }
        let mut routing = Self {
            shape,
            round_trip: Time::ZERO,
            senders,
            receivers: receivers.to_vec(),
            position,
            crossed: Vec::new(),
        };
        routing.crossed = routing.crossings();
        Some(routing)
    }

    fn crossings(&self) -> Vec<bool> {
        let shape = self.shape;
        let mut crossed = vec![false; shape.links()];
        for &from in &self.senders {
            crossed[shape.nic(from as usize)] = true;
            for &to in self.receivers.iter().filter(|to| **to != from) {
                crossed[shape.host_port(to as usize)] = true;
                let (first, last) = (shape.leaf(from as usize), shape.leaf(to as usize));
                if first != last {
                    for spine in 0..shape.spines {
                        crossed[shape.uplink(first, spine)] = true;
                        crossed[shape.spine_port(spine, last)] = true;
                    }
                }
            }
        }
        crossed
    }

    /// The fabric's shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Hosts that send.
    pub fn senders(&self) -> usize {
        self.senders.len()
    }

    /// Hosts that receive.
    pub fn receivers(&self) -> usize {
        self.receivers.len()
    }

    /// Whether a packet of the group may cross a link.
    pub fn crosses(&self, link: usize) -> bool {
        self.crossed[link]
    }

    /// Whether a packet of the group may go on from a link to another.
    pub fn leads(&self, link: usize, next: usize) -> bool {
        self.crossed[link] && self.crossed[next] && self.shape.leads_to(link, next)
    }

    /// The share of the group's packets that cross a link, if all pairs of hosts send alike.
    pub fn share(&self, link: usize) -> f64 {
        let ends = self.shape.ends(link);
        let leaf = |host: u32| self.shape.leaf(host as usize);
        let at_leaf = |hosts: &[u32], except: u32| {
            let there = hosts
                .iter()
                .filter(|host| **host != except && leaf(**host) == ends.leaf);
            there.count() as f64
        };
        let each = self.senders.iter().map(|&from| {
            let partners = self.partners(from) as f64;
            let local = leaf(from) == ends.leaf;
            let here = match ends.role {
                Role::Nic => f64::from(u8::from(from as usize == ends.other)) * partners,
                Role::HostPort => {
                    let receives = self.position[ends.other].is_some();
                    f64::from(u8::from(receives && from as usize != ends.other))
                }
                Role::Uplink if local => partners - at_leaf(&self.receivers, from),
                Role::SpinePort if !local => at_leaf(&self.receivers, from),
                Role::Uplink | Role::SpinePort => 0.0,
            };
            here / partners
        });
        let spines = match ends.role {
            Role::Nic | Role::HostPort => 1,
            Role::Uplink | Role::SpinePort => self.shape.spines,
        };
        each.sum::<f64>() / (self.senders.len() * spines) as f64
    }

    /// The number of receivers of a sender.
    fn partners(&self, from: u32) -> usize {
        let own = usize::from(self.position[from as usize].is_some());
        self.receivers.len() - own
    }

    /// Receiver number `at` of a sender, itself left out. A sender that also receives begins with
    /// the host after it, another one with the receiver of its own number.
    fn partner(&self, sender: usize, at: usize) -> u32 {
        let from = self.senders[sender];
        let first = match self.position[from as usize] {
            Some(own) => own as usize + 1,
            None => sender,
        };
        self.receivers[(first + at) % self.receivers.len()]
    }

    /// The hosts of flow number `index`. The senders take turns; in each turn a sender has its next
    /// receiver.
    pub fn pair(&self, index: u64) -> HostPair {
        let sender = (index % self.senders.len() as u64) as usize;
        let from = self.senders[sender];
        let turn = index / self.senders.len() as u64;
        let at = (turn % self.partners(from) as u64) as usize;
        let to = self.partner(sender, at);
        HostPair { from, to }
    }

    /// Two random hosts: any sender, and any receiver other than it.
    pub fn draw(&self, stream: &mut Stream) -> HostPair {
        let sender = stream.below(self.senders.len() as u64) as usize;
        let from = self.senders[sender];
        let at = stream.below(self.partners(from) as u64) as usize;
        let to = self.partner(sender, at);
        HostPair { from, to }
    }

    /// The number of paths between two hosts.
    pub fn paths(&self, pair: HostPair) -> usize {
        let leaf = |host: u32| self.shape.leaf(host as usize);
        if leaf(pair.from) == leaf(pair.to) {
            1
        } else {
            self.shape.spines
        }
    }

    /// The links of path number `spine` between two hosts.
    pub fn path(&self, pair: HostPair, spine: usize) -> Vec<usize> {
        let (from, to) = (pair.from as usize, pair.to as usize);
        self.shape.path(from, to, spine)
    }

    /// A path that stands for all: a longest one, over this link if there is such a one.
    pub(crate) fn typical(&self, link: usize) -> Vec<usize> {
        let mut best = (false, Vec::new());
        for sender in 0..self.senders.len() {
            let from = self.senders[sender];
            for at in 0..self.partners(from) {
                let to = self.partner(sender, at);
                let pair = HostPair { from, to };
                for spine in 0..self.paths(pair) {
                    let path = self.path(pair, spine);
                    let crosses = path.contains(&link);
                    let longer = path.len() > best.1.len();
                    if longer || path.len() == best.1.len() && crosses && !best.0 {
                        best = (crosses, path);
                    }
                    if best.0 && best.1.len() == 4 {
                        return best.1;
                    }
                }
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use forebay_random::{Purpose, Seed};

    use super::*;

    const SHAPE: Shape = Shape {
        leaves: 2,
        spines: 2,
        hosts: 8,
    };

    fn hosts(range: std::ops::Range<u32>) -> Vec<u32> {
        range.collect()
    }

    #[test]
    fn flows_go_through_all_pairs_of_hosts_and_each_comes_once() {
        let all = Routing::new(SHAPE, &hosts(0..8), &hosts(0..8)).unwrap();
        let mut seen: Vec<HostPair> = (0..56).map(|index| all.pair(index)).collect();
        assert_eq!(seen[0], HostPair { from: 0, to: 1 });
        assert_eq!(seen[7], HostPair { from: 7, to: 0 });
        assert!(seen.iter().all(|pair| pair.from != pair.to));
        seen.sort_by_key(|pair| (pair.from, pair.to));
        seen.dedup();
        assert_eq!(seen.len(), 56);
        assert_eq!(all.pair(56), all.pair(0));
    }

    #[test]
    fn senders_that_do_not_receive_begin_with_the_receiver_of_their_number() {
        let one_way = Routing::new(SHAPE, &hosts(0..4), &hosts(4..8)).unwrap();
        let first: Vec<u32> = (0..4).map(|index| one_way.pair(index).to).collect();
        assert_eq!(first, [4, 5, 6, 7]);
    }

    #[test]
    fn a_host_with_no_other_receiver_does_not_send() {
        let incast = Routing::new(SHAPE, &hosts(0..8), &hosts(3..4)).unwrap();
        assert_eq!(incast.senders(), 7);
        assert!((0..7).all(|index| incast.pair(index).to == 3));
        assert!(!incast.crosses(SHAPE.nic(3)));
        assert!(incast.crosses(SHAPE.spine_port(1, 0)) && !incast.crosses(SHAPE.spine_port(1, 1)));
        // A port that no packet crosses leads nowhere.
        assert!(incast.leads(SHAPE.nic(4), SHAPE.uplink(1, 0)));
        assert!(!incast.leads(SHAPE.nic(3), SHAPE.uplink(0, 0)));
        assert!(!incast.leads(SHAPE.spine_port(1, 1), SHAPE.host_port(5)));
        assert!(Routing::new(SHAPE, &hosts(3..4), &hosts(3..4)).is_none());
    }

    #[test]
    fn random_pairs_are_uniform_over_all_pairs() {
        let all = Routing::new(SHAPE, &hosts(0..8), &hosts(0..8)).unwrap();
        let mut stream = Stream::new(Seed::default(), 5, Purpose::Route);
        let mut counts = [0.0; 64];
        for _ in 0..56_000 {
            let pair = all.draw(&mut stream);
            counts[(pair.from * 8 + pair.to) as usize] += 1.0;
        }
        let chi: f64 = (0..64)
            .filter(|at| at / 8 != at % 8)
            .map(|at| (counts[at] - 1000.0) * (counts[at] - 1000.0) / 1000.0)
            .sum();
        // 55 degrees of freedom: 93.2 is exceeded once in a thousand times.
        assert!(chi < 93.2, "{chi}");
        assert!((0..8).all(|host| counts[host * 9] == 0.0));
    }

    #[test]
    fn the_shares_of_links_are_those_of_all_paths() {
        for (from, to) in [(0..8, 0..8), (0..4, 4..8), (0..8, 3..4), (2..6, 0..8)] {
            let routing = Routing::new(SHAPE, &hosts(from), &hosts(to)).unwrap();
            let mut shares = vec![0.0; SHAPE.links()];
            for &from in &routing.senders {
                for &to in routing.receivers.iter().filter(|to| **to != from) {
                    let pair = HostPair { from, to };
                    let weight = 1.0 / (routing.senders() * routing.partners(from)) as f64;
                    for spine in 0..routing.paths(pair) {
                        for link in routing.path(pair, spine) {
                            shares[link] += weight / routing.paths(pair) as f64;
                        }
                    }
                }
            }
            for (link, share) in shares.into_iter().enumerate() {
                let found = routing.share(link);
                assert!(
                    (found - share).abs() < 1e-12,
                    "{}: {found} {share}",
                    SHAPE.name(link)
                );
                assert_eq!(routing.crosses(link), share > 0.0);
            }
        }
    }

    #[test]
    fn the_typical_path_is_a_longest_one_over_the_link_where_there_is_one() {
        let all = Routing::new(SHAPE, &hosts(0..8), &hosts(0..8)).unwrap();
        for link in 0..SHAPE.links() {
            let path = all.typical(link);
            assert!(path.len() == 4 && path.contains(&link));
        }
        let local = Routing::new(SHAPE, &hosts(0..4), &hosts(0..4)).unwrap();
        assert_eq!(local.typical(SHAPE.uplink(0, 0)).len(), 2);
    }
}
