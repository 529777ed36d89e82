//! The steps of a ring all-reduce. In a round, flow number i of n carries 2 (n - 1) parts from host
//! number i to the next one. A host sends its first part at the beginning of the round, and each
//! further part when one has arrived from the host before it (Patarasu and Yuan, Bandwidth optimal
//! all-reduce algorithms for clusters of workstations, 2009).

use forebay_scenario::{FlowGroup, Workload};
use forebay_units::Bytes;

use crate::ids::ResponsiveId;

/// The state of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    /// Parts of each flow in a round.
    steps: u64,
    members: Vec<Member>,
}

/// A flow of a ring, with its counts of the round.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    flow: Option<ResponsiveId>,
    has_begun: bool,
    /// Parts that the host may have sent, and those that have arrived at the next one.
    written: u64,
    arrived: u64,
}

impl Ring {
    /// The ring of a group, if it is one.
    pub(crate) fn of(spec: &FlowGroup) -> Option<Self> {
        matches!(spec.workload, Workload::RingAllReduce { .. }).then(|| Self {
            steps: 2 * spec.count.saturating_sub(1),
            members: vec![Member::default(); spec.count as usize],
        })
    }

    /// The flow from the host with this index.
    pub(crate) fn join(&mut self, index: u64, flow: ResponsiveId) {
        self.members[index as usize].flow = Some(flow);
    }

    /// The round begins for the host with this index, which sends its first part. Says how many
    /// parts it may send at once beyond that.
    pub(crate) fn begin(&mut self, index: u64) -> u64 {
        let at = index as usize;
        let member = &mut self.members[at];
        (member.has_begun, member.written) = (true, 1);
        self.allow(at)
    }

    /// Parts have arrived from the host with this index. Gives the flow of the next host and the
    /// number of parts that it sends now, and whether the last part of this flow has arrived.
    pub(crate) fn arrive(&mut self, index: u64, parts: u64) -> (Option<ResponsiveId>, u64, bool) {
        let at = index as usize;
        let member = &mut self.members[at];
        member.arrived += parts;
        let is_last = parts > 0 && member.arrived == self.steps;
        let next = (at + 1) % self.members.len();
        let more = self.allow(next);
        (self.members[next].flow, more, is_last)
    }

    /// The parts that a host may send now: one more than have arrived from the host before it.
    fn allow(&mut self, at: usize) -> u64 {
        let before = (at + self.members.len() - 1) % self.members.len();
        let allowed = self.steps.min(1 + self.members[before].arrived);
        let member = &mut self.members[at];
        if !member.has_begun {
            return 0;
        }
        let more = allowed.saturating_sub(member.written);
        member.written += more;
        more
    }

    /// Another round is to begin.
    pub(crate) fn restart(&mut self) {
        for member in &mut self.members {
            *member = Member {
                flow: member.flow,
                ..Member::default()
            };
        }
    }
}

/// Packets of a part of a ring's data, if a group is one.
pub(crate) fn part(spec: &FlowGroup, payload: Bytes) -> Option<u64> {
    match &spec.workload {
        Workload::RingAllReduce { size, .. } => {
            let part = size.get().div_ceil(spec.count.max(1));
            Some(part.div_ceil(payload.get().max(1)).max(1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three hosts: each sends four parts, the first at once and the others as parts arrive.
    #[test]
    fn a_host_sends_a_part_for_each_that_has_arrived_and_no_more_than_its_steps() {
        let mut ring = Ring {
            steps: 4,
            members: vec![Member::default(); 3],
        };
        (0..3).for_each(|index| ring.join(index, ResponsiveId::new(index as usize)));
        assert_eq!(ring.begin(0), 0);
        // Host 1 has not begun: it keeps what has arrived for its beginning.
        assert_eq!(ring.arrive(0, 1), (Some(ResponsiveId::new(1)), 0, false));
        assert_eq!(ring.begin(1), 1);
        assert_eq!(ring.begin(2), 0);
        assert_eq!(ring.arrive(0, 2), (Some(ResponsiveId::new(1)), 2, false));
        assert_eq!(ring.arrive(0, 1), (Some(ResponsiveId::new(1)), 0, true));
        assert_eq!(ring.arrive(0, 0), (Some(ResponsiveId::new(1)), 0, false));
        ring.restart();
        assert_eq!(ring.begin(1), 0);
    }
}
