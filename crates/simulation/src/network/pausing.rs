//! Lossless queues in the network: packets that need headroom, paused links, and deadlocks.

use forebay_scenario::TraceOptions;
use forebay_units::Time;

use forebay_discipline::Packet;

use super::{Network, Offered};
use crate::departure::{before, maybe_held};
use crate::ends::Ends;
use crate::flow::{Flows, InFlight};
use crate::ids::{FlowId, LinkId, ResponsiveId};
use crate::link::Link;
use crate::measured::Measured;
use crate::memory_place::Place;
use crate::pause::{Ingoing, LinkQueue, PauseCounts, TracedPause};
use crate::pause_frame::Sender;
use crate::timeline::Timeline;

/// The pauses at a link at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseState {
    /// Whether a queue behind it pauses the link, or a class of it.
    pub is_paused: bool,
    /// Time for which it was paused since the warm-up, or since the beginning before that.
    pub paused: Time,
    /// Number of senders that its own queues pause: links, classes of links, and hosts.
    pub senders: usize,
    /// Time for which its own queues paused a sender since then.
    pub pausing: Time,
}

impl Network {
    /// Whether a packet may wait that has this place in a shared memory: in that place, or in the
    /// headroom of a lossless queue, where it waits from now on. It needs neither if it is sent at
    /// once.
    #[inline(never)]
    pub(super) fn has_headroom<E: Ends>(
        &mut self,
        (offered, place): (&Offered, Option<Place>),
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) -> bool {
        let (packet, at) = (&offered.packet, offered.link);
        let fits = place.is_none_or(|place| place.fits);
        if !self.pauses.as_ref().is_some_and(|it| it.is_lossless(at)) {
            return fits;
        }
        self.catch_up_link(at, packet.arrival, (flows, timeline));
        let ingoing = self.ingoing(packet, at, flows);
        let size = self.memories.occupied(at, packet.size);
        let (Some(pauses), Some(ingoing)) = (&mut self.pauses, ingoing) else {
            return fits;
        };
        if self.links[at.index()].sends_at_once(packet) {
            pauses.carry(ingoing, size);
            return true;
        }
        let calendar = &mut timeline.calendar;
        pauses.admit(ingoing, (size, place), packet.arrival, calendar)
    }

    /// The lossless queue of link `at` that a packet joins, and the sender of the packet.
    fn ingoing<E: Ends>(&self, packet: &Packet, at: LinkId, flows: &Flows<E>) -> Option<Ingoing> {
        let arriving = InFlight::of(packet);
        let before = before(&self.hops, arriving, flows);
        let pauses = self.pauses.as_ref()?;
        pauses.ingoing(at, (arriving.flow, packet.group()), before)
    }

    /// A packet that its link refuses would have joined a lossless queue: that one loses it.
    #[cold]
    pub(super) fn count_lossless<E: Ends>(&mut self, offered: &Offered, flows: &Flows<E>) {
        if self.ingoing(&offered.packet, offered.link, flows).is_some()
            && let Some(pauses) = &mut self.pauses
        {
            pauses.lose(offered.link);
        }
    }

    /// A frame takes effect at a link that a queue behind it pauses.
    pub(crate) fn pause<E: Ends>(
        &mut self,
        ((at, class), begins): (LinkQueue, bool),
        now: Time,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        // A packet that leaves at this very instant has left, and the next one has begun.
        let after = now.saturating_add(Time::from_picos(1));
        self.catch_up_link(at, after, (flows, timeline));
        if let Some(pauses) = &mut self.pauses {
            pauses.hold(Sender::Link(at, class), begins, now);
        }
        let Some((link, mut sink)) = self.onward(at, flows, timeline) else {
            return;
        };
        if sink.telemetry.is_some() {
            link.pause((class, begins), now, &mut Measured(&mut sink));
        } else {
            link.pause((class, begins), now, &mut sink);
        }
        link.arm(at, &mut sink.timeline.calendar);
    }

    /// A frame takes effect at a host.
    pub(crate) fn pause_host<E: Ends>(
        &mut self,
        (host, begins): (ResponsiveId, bool),
        now: Time,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        let was_held = flows[host].pause(host, (begins, now), &mut timeline.calendar);
        if let Some(pauses) = &mut self.pauses {
            pauses.hold(Sender::Host(host), begins, now);
        }
        if was_held {
            self.note_host(host, flows);
        }
    }

    /// A pause of a host held a packet of its flow.
    fn note_host<E: Ends>(&mut self, host: ResponsiveId, flows: &Flows<E>) {
        let group = flows[host].transit.group.index().min(usize::from(u16::MAX)) as u16;
        if let Some(pauses) = &mut self.pauses
            && let Some(held) = maybe_held(FlowId::Responsive(host), group, flows)
        {
            pauses.note_host(host, held);
        }
    }

    /// The run ends: packets of hosts that are paused now were held, too.
    pub(super) fn note_paused_hosts<E: Ends>(&mut self, flows: &Flows<E>) {
        let hosts = self.pauses.as_ref().map(|pauses| pauses.paused_hosts());
        for host in hosts.unwrap_or_default() {
            if flows[host]
                .access
                .is_some_and(|access| access.has_waiting())
            {
                self.note_host(host, flows);
            }
        }
    }

    /// The flows of each group that a pause held, and that do not cross the queue that began it.
    pub(crate) fn victims(&self) -> Option<&[u64]> {
        self.pauses.as_ref().map(|pauses| pauses.victims())
    }

    /// Whether a lossless queue behind a link may pause it.
    pub(crate) fn may_be_paused(&self, link: usize) -> bool {
        let pauses = self.pauses.as_ref();
        pauses.is_some_and(|pauses| pauses.may_pause(link))
    }

    /// Time that a link was paused from the warm-up's end to `now`, where another may pause it.
    pub(crate) fn paused_time(&self, link: usize, now: Time) -> Option<Time> {
        let pauses = self.pauses.as_ref()?;
        match &self.links[link] {
            Link::Queued(queued) if pauses.may_pause(link) => Some(queued.paused(now)),
            _ => None,
        }
    }

    /// The pauses that a link's queue began since the warm-up, where the queue is lossless.
    pub(crate) fn pause_counts(&self, link: usize, now: Time) -> Option<PauseCounts> {
        self.pauses.as_ref()?.counts(link, now)
    }

    /// Records the pauses of senders from now on.
    pub(crate) fn record_pauses(&mut self, options: &TraceOptions) {
        if let Some(pauses) = &mut self.pauses {
            pauses.record(options);
        }
    }

    /// The recorded pauses of senders, in the order in which they began.
    pub(crate) fn recorded_pauses(&self) -> impl Iterator<Item = &TracedPause> {
        self.pauses.iter().flat_map(|pauses| pauses.recorded())
    }

    /// The pauses at a link at present; none where it takes no part in pauses.
    pub fn pause_state(&self, link: usize, now: Time) -> Option<PauseState> {
        let pauses = self.pauses.as_ref()?;
        let takes_part = pauses.may_pause(link) || pauses.is_lossless(LinkId::new(link));
        takes_part.then(|| PauseState {
            is_paused: pauses.holds_link(link),
            paused: self.paused_time(link, now).unwrap_or(Time::ZERO),
            senders: pauses.paused_senders(link),
            pausing: pauses.counts(link, now).unwrap_or_default().time,
        })
    }

    /// Checks the counts of the lossless queues.
    ///
    /// # Panics
    /// If they contradict what waits: a sender could then stay paused without a cause.
    pub(super) fn check_pauses(&self) {
        let Some(pauses) = &self.pauses else {
            return;
        };
        for place in pauses.places() {
            let (at, class) = place;
            if let Link::Queued(link) = &self.links[at.index()] {
                let bytes = link.backlog_of(class).bytes;
                let in_cells = self.memories.has_cells(at);
                let agrees = pauses.agrees(place, (!in_cells).then_some(bytes));
                assert!(
                    agrees && pauses.counts_agree(at),
                    "the counts of a lossless queue: {pauses:?}"
                );
            }
        }
    }

    /// Looks for links that pause each other in a circle.
    pub(super) fn find_deadlock(&mut self) {
        let links = &self.links;
        let is_stalled = |(link, class): LinkQueue| match &links[link.index()] {
            Link::Queued(link) => link.is_stalled(class),
            _ => false,
        };
        let pauses = self.pauses.as_ref();
        self.deadlock = pauses.and_then(|pauses| pauses.deadlock(is_stalled));
    }
}
