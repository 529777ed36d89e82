//! The spread of pauses: the hops that they reach at once, the queues that began them, and the
//! flows that they hold although the flows never cross such a queue.
//!
//! A queue that pauses a sender reaches one hop. If that sender is a queue that itself pauses
//! senders, it reaches one hop more. The origin of a pause is the queue behind it that no other
//! queue pauses.

use std::collections::{BTreeMap, BTreeSet};

use forebay_scenario::{Scenario, Workload};
use forebay_units::Time;

use crate::ids::{FlowId, ResponsiveId};
use crate::pause::{LinkQueue, PauseControl, topology};
use crate::pause_frame::Sender;

/// The pauses of a queue by those behind it.
#[derive(Clone, Debug, Default)]
struct Hold {
    /// Pauses that have begun, less those that have ended.
    by: i32,
    /// The end of the last pause.
    until: Time,
    /// The queues that began the present pauses, or the last ones.
    origins: Vec<usize>,
}

/// A flow as victims are counted: each transfer of an open loop is a flow.
type Victim = (u32, u64);

/// The flows that pauses hold.
#[derive(Clone, Debug)]
pub(super) struct Victims {
    holds: BTreeMap<Sender, Hold>,
    /// Whether the packets of a group join each lossless queue, by queue and group.
    crosses: Vec<Vec<bool>>,
    /// Whether each group is an open loop.
    open_loops: Vec<bool>,
    found: BTreeSet<Victim>,
    /// The number of those found, by group.
    counts: Vec<u64>,
}

impl Victims {
    pub(super) fn new(scenario: &Scenario, places: impl Iterator<Item = LinkQueue>) -> Self {
        let groups = 0..scenario.flows().len();
        let joins = |(link, class): LinkQueue, group: usize| {
            let path = &scenario.flows()[group].path;
            path.contains(&link.index())
                && topology::class_at(scenario, link.index(), group) == class
        };
        let flows = scenario.flows().iter();
        Self {
            holds: BTreeMap::new(),
            crosses: places
                .map(|place| groups.clone().map(|group| joins(place, group)).collect())
                .collect(),
            open_loops: flows
                .map(|group| matches!(group.workload, Workload::OpenLoop { .. }))
                .collect(),
            found: BTreeSet::new(),
            counts: vec![0; scenario.flows().len()],
        }
    }

    /// A flow of a group was held by pauses with these origins.
    fn note(&mut self, origins: &[usize], group: usize, victim: Victim) {
        let crosses = |origin: &usize| self.crosses[*origin][group];
        if origins.is_empty() || origins.iter().any(crosses) {
            return;
        }
        let number = if self.open_loops[group] { victim.1 } else { 0 };
        self.counts[group] += u64::from(self.found.insert((victim.0, number)));
    }
}

/// A packet or a host that a pause may have held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeHeld {
    pub(crate) flow: FlowId,
    pub(crate) group: u16,
    /// The number of the transfer that the flow is at.
    pub(crate) transfer: u64,
}

impl PauseControl {
    /// The lossless queues that pause a sender now.
    pub(super) fn pausing(&self, sender: Sender) -> impl Iterator<Item = usize> {
        let queues = self.queues.iter().enumerate();
        let pausing = queues.filter(move |(_, queue)| {
            let ingress = queue.ingress.get(&sender);
            ingress.is_some_and(|ingress| ingress.is_paused)
        });
        pausing.map(|(number, _)| number)
    }

    /// The lossless queues that pause a lossless queue now.
    fn behind(&self, queue: usize) -> impl Iterator<Item = usize> {
        let (link, class) = self.queues[queue].place;
        self.pausing(Sender::Link(link, class))
    }

    /// The hops that the pauses by a queue reach now. `known` has those of other queues; a queue
    /// whose own hops are being counted counts as none, as in a circle.
    fn hops(&self, queue: usize, known: &mut Vec<Option<u64>>) -> u64 {
        if let Some(hops) = known[queue] {
            return hops;
        }
        known[queue] = Some(0);
        let senders = &self.queues[queue].ingress;
        let paused = |ingress: &&super::Ingress| ingress.is_paused;
        let mut hops = u64::from(senders.values().any(|ingress| paused(&ingress)));
        // Links come before hosts.
        let links = senders.range(..Sender::Host(ResponsiveId::new(0)));
        for (sender, _) in links.filter(|(_, ingress)| paused(ingress)) {
            let Sender::Link(link, class) = *sender else {
                continue;
            };
            let mut queues = self.queues.iter();
            if let Some(before) = queues.position(|queue| queue.place == (link, class)) {
                hops = hops.max(1 + self.hops(before, known));
            }
        }
        known[queue] = Some(hops);
        hops
    }

    /// Counts the hops that pauses by a queue, and by those behind it, reach now.
    pub(super) fn count_hops(&mut self, queue: usize) {
        let mut known = vec![None; self.queues.len()];
        let mut open = vec![(queue, self.hops(queue, &mut known))];
        let mut seen = vec![false; self.queues.len()];
        while let Some((queue, hops)) = open.pop() {
            if std::mem::replace(&mut seen[queue], true) {
                continue;
            }
            open.extend(self.behind(queue).map(|behind| (behind, hops + 1)));
            let link = self.queues[queue].place.0;
            if let Some(link) = &mut self.links[link.index()] {
                link.counts.spread = link.counts.spread.max(hops);
            }
        }
    }

    /// The queues that began the pauses of a sender: no other queue pauses them.
    fn origins(&self, sender: Sender) -> Vec<usize> {
        let mut origins = Vec::new();
        let mut seen = vec![false; self.queues.len()];
        let mut open: Vec<_> = self.pausing(sender).collect();
        while let Some(queue) = open.pop() {
            if std::mem::replace(&mut seen[queue], true) {
                continue;
            }
            let before = open.len();
            open.extend(self.behind(queue));
            if open.len() == before {
                origins.push(queue);
            }
        }
        origins
    }

    /// A frame takes effect at a sender.
    pub(crate) fn hold(&mut self, sender: Sender, begins: bool, now: Time) {
        let mut origins = if begins {
            self.origins(sender)
        } else {
            Vec::new()
        };
        let hold = self.victims.holds.entry(sender).or_default();
        let was_paused = hold.by > 0;
        if begins && !was_paused {
            hold.origins.clear();
        }
        hold.origins.append(&mut origins);
        hold.by += if begins { 1 } else { -1 };
        let is_paused = hold.by > 0;
        if !is_paused {
            hold.until = now;
        }
        if let Some(trace) = self.trace.as_mut().filter(|_| was_paused != is_paused) {
            trace.change(sender, is_paused, now);
        }
    }

    /// Whether a pause holds a link now, or a class of it.
    pub(crate) fn holds_link(&self, at: usize) -> bool {
        let holds = self.victims.holds.iter().filter(|(_, hold)| hold.by > 0);
        let mut senders = holds.map(|(sender, _)| sender);
        senders.any(|sender| matches!(sender, Sender::Link(link, _) if link.index() == at))
    }

    /// A packet that arrived at a link then leaves it, or is there at the end of the run: a pause
    /// held it if it was there before the end of one.
    pub(crate) fn note_packet(&mut self, at: LinkQueue, arrival: Time, packet: MaybeHeld) {
        let hold = self.victims.holds.get(&Sender::Link(at.0, at.1));
        if let Some(hold) = hold.filter(|hold| hold.by > 0 || arrival < hold.until) {
            let origins = hold.origins.clone();
            self.note(&origins, packet);
        }
    }

    /// The pause of a host held a packet of its flow.
    pub(crate) fn note_host(&mut self, host: ResponsiveId, packet: MaybeHeld) {
        if let Some(hold) = self.victims.holds.get(&Sender::Host(host)) {
            let origins = hold.origins.clone();
            self.note(&origins, packet);
        }
    }

    /// The hosts that are paused now.
    pub(crate) fn paused_hosts(&self) -> Vec<ResponsiveId> {
        let holds = self.victims.holds.iter().filter(|(_, hold)| hold.by > 0);
        let hosts = holds.filter_map(|(sender, _)| match sender {
            Sender::Host(host) => Some(*host),
            Sender::Link(..) => None,
        });
        hosts.collect()
    }

    fn note(&mut self, origins: &[usize], packet: MaybeHeld) {
        let victim = (packet.flow.key(), packet.transfer);
        self.victims.note(origins, packet.group.into(), victim);
    }

    /// The class of a group at a link.
    pub(crate) fn place(&self, at: crate::ids::LinkId, group: u16) -> LinkQueue {
        (at, self.classes[at.index()][usize::from(group)])
    }

    /// The flows of each group that a pause held since the warm-up, and that do not cross the queue
    /// that began it.
    pub(crate) fn victims(&self) -> &[u64] {
        &self.victims.counts
    }

    /// The warm-up ends: counting restarts.
    pub(super) fn restart_spread(&mut self) {
        self.victims.found.clear();
        self.victims.counts.fill(0);
        for queue in 0..self.queues.len() {
            self.count_hops(queue);
        }
    }
}
