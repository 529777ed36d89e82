//! Priority flow control (IEEE 802.1Qbb, 802.3 annex 31B): queues that pause their senders.
//!
//! A lossless queue counts the waiting bytes of each sender: of each link before it, and of each
//! host that sends into it. Above `xoff` it sends a pause frame, at `xon` a frame that ends the
//! pause. A frame takes effect after the cable and the response time of the sender, which completes
//! the packet in transmission. Until then more packets arrive; the headroom holds them. A switch
//! renews a pause before its quanta run out, so that a pause lasts until it is ended.
//!
//! The simulation places the propagation delay of the first link of a path behind its last one.
//! A packet of a host is therefore not on a cable before the queue. For a host, the delay of the
//! pause frame contains both directions of the cable; the same packets then arrive after the pause.

use std::collections::BTreeMap;

use forebay_scenario::{FlowGroup, Link as LinkSpec, Pfc, Scenario};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::calendar::event::Event;
use crate::ids::{FlowId, LinkId};
use crate::link::pauses::Pauses;
use crate::pause_frame::{PauseFrame, Sender};

/// The counts of a queue for one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    waiting: u64,
    is_paused: bool,
}

/// A lossless queue.
#[derive(Clone, Debug)]
struct LosslessQueue {
    pfc: Pfc,
    ingress: BTreeMap<Sender, Ingress>,
    /// Its pauses of all senders.
    pauses: Pauses,
    /// Frames that began a pause since the warm-up.
    frames: u64,
    /// The most bytes of a sender beyond `xoff` since the warm-up.
    most_headroom: u64,
}

/// The pauses of a lossless queue since the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseCounts {
    /// Time that it paused at least one sender.
    pub(crate) time: Time,
    /// Frames that began a pause.
    pub(crate) frames: u64,
    /// The most bytes of a sender beyond `xoff`.
    pub(crate) most_headroom: u64,
}

/// The lossless queues of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct PauseControl {
    /// The queue of each link, if it is lossless.
    queues: Vec<Option<LosslessQueue>>,
    /// The delay of each link.
    delays: Vec<Time>,
    /// Whether a queue behind it may pause each link.
    pausable: Vec<bool>,
}

/// Whether a link pauses its senders, or may be paused.
pub fn takes_part(scenario: &Scenario, at: usize) -> bool {
    scenario.links()[at].pfc.is_some() || may_be_paused(scenario, at)
}

/// Whether a queue behind a link may pause it.
pub fn may_be_paused(scenario: &Scenario, at: usize) -> bool {
    let links = scenario.links();
    let is_before = |path: &[usize]| {
        path.windows(2)
            .any(|pair| pair[0] == at && links[pair[1]].pfc.is_some())
    };
    let leads = |group: &FlowGroup| {
        let mut lossless = (0..links.len()).filter(|&next| links[next].pfc.is_some());
        lossless.any(|next| group.leads(at, next))
    };
    let mut groups = scenario.flows().iter();
    links.iter().any(|link| link.pfc.is_some())
        && groups.any(|group| match group.routing {
            Some(_) => leads(group),
            None => is_before(&group.path) || is_before(&group.reverse),
        })
}

impl LosslessQueue {
    /// Decides at `now` that a pause begins or ends. `delays` are those of all links.
    #[cold]
    fn send_frame(
        &mut self,
        (sender, begins): (Sender, bool),
        (now, delays): (Time, &[Time]),
        calendar: &mut Calendar,
    ) {
        self.pauses.change(begins, now);
        // The time that the packets themselves take after the link before.
        let of_packets = match sender {
            Sender::Link(link) => delays[link.index()],
            Sender::Host(_) => Time::ZERO,
        };
        let cable = self.pfc.cable_delay().unwrap_or(of_packets);
        // Both directions of the cable, less the one in which the packets are late already.
        let delay = cable
            .saturating_add(cable.saturating_sub(of_packets))
            .saturating_add(self.pfc.response);
        let frame = PauseFrame { sender, begins };
        calendar.push(Event::pause(now.saturating_add(delay), frame));
    }
}

impl PauseControl {
    /// The lossless queues; none without one.
    pub(crate) fn new(scenario: &Scenario) -> Option<Self> {
        let queue = |link: &LinkSpec| {
            link.pfc.map(|pfc| LosslessQueue {
                pfc,
                ingress: BTreeMap::new(),
                pauses: Pauses::default(),
                frames: 0,
                most_headroom: 0,
            })
        };
        let queues: Vec<_> = scenario.links().iter().map(queue).collect();
        let delays = scenario.links().iter().map(|link| link.delay).collect();
        let numbers = 0..scenario.links().len();
        let pausable = numbers.map(|at| may_be_paused(scenario, at)).collect();
        queues.iter().any(Option::is_some).then_some(Self {
            queues,
            delays,
            pausable,
        })
    }

    /// Whether a queue behind a link may pause it.
    pub(crate) fn may_pause(&self, at: usize) -> bool {
        self.pausable[at]
    }

    pub(crate) fn is_lossless(&self, at: LinkId) -> bool {
        self.queues[at.index()].is_some()
    }

    /// Whether the queue of link `at` has memory for `size` more bytes of a sender.
    pub(crate) fn has_room(&self, (at, sender): (LinkId, Sender), size: u32) -> bool {
        self.queues[at.index()].as_ref().is_none_or(|queue| {
            let waiting = queue.ingress.get(&sender).map_or(0, |each| each.waiting);
            let most = queue.pfc.xoff.get() + queue.pfc.headroom.get();
            waiting + u64::from(size) <= most
        })
    }

    /// A packet of a sender is about to be sent without a wait.
    pub(crate) fn carry(&mut self, (at, sender): (LinkId, Sender), size: u32) {
        if let Some(queue) = &mut self.queues[at.index()] {
            queue.ingress.entry(sender).or_default().waiting += u64::from(size);
        }
    }

    /// A packet of a sender waits from now on.
    pub(crate) fn store(
        &mut self,
        (at, sender): (LinkId, Sender),
        (size, now): (u32, Time),
        calendar: &mut Calendar,
    ) {
        let Some(queue) = &mut self.queues[at.index()] else {
            return;
        };
        let ingress = queue.ingress.entry(sender).or_default();
        ingress.waiting += u64::from(size);
        let beyond = ingress.waiting.saturating_sub(queue.pfc.xoff.get());
        queue.most_headroom = queue.most_headroom.max(beyond);
        if beyond > 0 && !ingress.is_paused {
            ingress.is_paused = true;
            queue.frames += 1;
            queue.send_frame((sender, true), (now, &self.delays), calendar);
        }
    }

    /// A packet of a sender waits no longer.
    pub(crate) fn release(
        &mut self,
        (at, sender): (LinkId, Sender),
        (size, now): (u32, Time),
        calendar: &mut Calendar,
    ) {
        let Some(queue) = &mut self.queues[at.index()] else {
            return;
        };
        let ingress = queue.ingress.entry(sender).or_default();
        ingress.waiting -= u64::from(size);
        if ingress.is_paused && ingress.waiting <= queue.pfc.xon.get() {
            ingress.is_paused = false;
            queue.send_frame((sender, false), (now, &self.delays), calendar);
        }
    }

    /// The sender of a packet into the link at this hop of its path: `before` is the link before.
    pub(crate) fn sender(flow: FlowId, before: Option<LinkId>) -> Option<Sender> {
        match (before, flow) {
            (Some(link), _) => Some(Sender::Link(link)),
            (None, FlowId::Responsive(flow)) => Some(Sender::Host(flow)),
            (None, FlowId::Unresponsive(_)) => None,
        }
    }

    /// Links that pause each other in a circle. `is_stalled` tells of a link whether a pause keeps
    /// packets in its queue. No pause of such a circle ends: each link waits for room in the queue
    /// of the next one, which sends nothing.
    pub(crate) fn deadlock(&self, is_stalled: impl Fn(LinkId) -> bool) -> Option<Vec<LinkId>> {
        let links = || (0..self.queues.len()).map(LinkId::new);
        let waits_for = |link: LinkId| -> Vec<LinkId> {
            links()
                .filter(|next| {
                    let queue = self.queues[next.index()].as_ref();
                    let ingress = queue.and_then(|queue| queue.ingress.get(&Sender::Link(link)));
                    is_stalled(*next) && ingress.is_some_and(|ingress| ingress.is_paused)
                })
                .collect()
        };
        for first in links().filter(|link| is_stalled(*link)) {
            // From each link the whole way of waiting links; a circle comes back to the first one.
            let mut before = vec![None; self.queues.len()];
            let mut open = vec![first];
            while let Some(link) = open.pop() {
                for next in waits_for(link) {
                    if next == first {
                        let mut circle = vec![link];
                        while let Some(link) = before[circle[circle.len() - 1].index()] {
                            circle.push(link);
                        }
                        circle.reverse();
                        return Some(circle);
                    }
                    if before[next.index()].is_none() {
                        before[next.index()] = Some(link);
                        open.push(next);
                    }
                }
            }
        }
        None
    }

    /// Whether the counts of a lossless queue agree with the `bytes` that wait in it and with its
    /// pauses.
    pub(crate) fn agrees(&self, at: LinkId, bytes: u64) -> bool {
        self.queues[at.index()].as_ref().is_none_or(|queue| {
            let senders = || queue.ingress.values();
            let holds = |each: &Ingress| {
                if each.is_paused {
                    each.waiting > queue.pfc.xon.get()
                } else {
                    each.waiting <= queue.pfc.xoff.get()
                }
            };
            let paused = senders().filter(|each| each.is_paused).count();
            senders().map(|each| each.waiting).sum::<u64>() == bytes
                && senders().all(holds)
                && queue.pauses.are(paused)
        })
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        for queue in self.queues.iter_mut().flatten() {
            let xoff = queue.pfc.xoff.get();
            let beyond = queue.ingress.values().map(|each| each.waiting);
            queue.most_headroom = beyond.max().unwrap_or(0).saturating_sub(xoff);
            queue.frames = 0;
            queue.pauses.restart(now);
        }
    }

    /// The pauses of a queue since the warm-up; none where it is not lossless.
    pub(crate) fn counts(&self, at: usize, now: Time) -> Option<PauseCounts> {
        let queue = self.queues[at].as_ref()?;
        Some(PauseCounts {
            time: queue.pauses.total(now),
            frames: queue.frames,
            most_headroom: queue.most_headroom,
        })
    }
}
