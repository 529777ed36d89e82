//! Deadlocks: queues that pause each other in a circle, so that none of them sends any more.

use crate::ids::LinkId;
use crate::pause::{LosslessQueue, PauseControl};
use crate::pause_frame::Sender;

/// A queue of a link: its own, or that of a class. The queue of a link without classes is that of
/// its first class.
pub(crate) type LinkQueue = (LinkId, u8);

impl PauseControl {
    /// The queues that keep a pause of a sender from its end as long as they send nothing: those
    /// of the counter that hold more of its bytes than end the pause. A pause that only several
    /// queues together keep is not found.
    fn blocking(&self, pausing: usize, sender: Sender) -> impl Iterator<Item = &LosslessQueue> {
        let queue = &self.queues[pausing];
        let level = queue
            .ingress
            .get(&sender)
            .map_or(0, |ingress| ingress.level);
        let ends = queue.pfc.xon.get().min(level);
        let peers = queue.peers.iter().map(|peer| &self.queues[*peer]);
        peers.filter(move |peer| {
            let ingress = peer.ingress.get(&sender);
            ingress.is_some_and(|ingress| ingress.waiting > ends)
        })
    }

    /// Queues that pause each other in a circle. `is_stalled` tells of a queue whether a pause
    /// keeps packets in it. No pause of such a circle ends: each queue waits for room in the next
    /// one, which sends nothing.
    pub(crate) fn deadlock(
        &self,
        is_stalled: impl Fn(LinkQueue) -> bool,
    ) -> Option<Vec<LinkQueue>> {
        let stalled: Vec<LinkQueue> = self
            .queues
            .iter()
            .map(|queue| queue.place)
            .filter(|place| is_stalled(*place))
            .collect();
        // The queues that pause a queue, by their numbers among those that are stalled.
        let waits_for = |(link, class): LinkQueue| {
            let sender = Sender::Link(link, class);
            let pausing = self
                .pausing(sender)
                .flat_map(move |queue| self.blocking(queue, sender));
            pausing.filter_map(|queue| stalled.iter().position(|place| *place == queue.place))
        };
        for first in 0..stalled.len() {
            // From each queue the whole way of waiting queues; a circle comes back to the first
            // one.
            let mut before = vec![None; stalled.len()];
            let mut open = vec![first];
            while let Some(number) = open.pop() {
                for next in waits_for(stalled[number]) {
                    if next == first {
                        let mut circle = vec![number];
                        while let Some(number) = before[circle[circle.len() - 1]] {
                            circle.push(number);
                        }
                        circle.reverse();
                        return Some(circle.into_iter().map(|number| stalled[number]).collect());
                    }
                    if before[next].is_none() {
                        before[next] = Some(number);
                        open.push(next);
                    }
                }
            }
        }
        None
    }
}
