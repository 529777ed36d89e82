//! Priority flow control (IEEE 802.1Qbb, 802.3 annex 31B): queues that pause their senders.
//!
//! A lossless queue counts the waiting bytes of each sender: of each class of a link before it, and
//! of each host that sends into it. Above `xoff` it sends a pause frame, at `xon` a frame that ends
//! the pause. A frame takes effect after the cable and the response time of the sender, which
//! completes the packet in transmission. Until then more packets arrive; the headroom holds them. A
//! switch renews a pause before its quanta run out, so that a pause lasts until it is ended.
//!
//! The counters of a switch are those of its ingress ports: a sender's bytes count in all lossless
//! queues of the memory together, if the memory says so. The queue whose packet crosses `xoff`
//! begins the pause.
//!
//! The simulation places the propagation delay of the first link of a path behind its last one.
//! A packet of a host is therefore not on a cable before the queue. For a host, the delay of the
//! pause frame contains both directions of the cable; the same packets then arrive after the pause.

mod deadlock;
mod spread;
mod topology;
mod trace;

use std::collections::BTreeMap;

use forebay_scenario::{Link, Pfc, PfcCounters, Scenario, TraceOptions};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::calendar::event::Event;
use crate::ids::{FlowId, LinkId};
use crate::link::pauses::Pauses;
use crate::memory_place::Place;
use crate::pause_frame::{PauseFrame, Sender};

use spread::Victims;
use trace::PauseTrace;

pub(crate) use deadlock::LinkQueue;
pub(crate) use spread::MaybeHeld;
pub use topology::{may_be_paused, mixed_classes, takes_part};
pub(crate) use trace::TracedPause;

/// The counts of a queue for one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    waiting: u64,
    is_paused: bool,
    /// The bytes above which the headroom begins, during a pause.
    level: u64,
}

/// A counter of a sender: its bytes in all queues that count it together.
#[derive(Clone, Copy, Debug)]
struct Counter {
    waiting: u64,
    /// The queue that pauses the sender.
    pausing: Option<usize>,
    /// The bytes above which the headroom begins, during a pause.
    level: u64,
}

impl Counter {
    /// The bytes in the headroom.
    fn beyond(&self) -> u64 {
        self.pausing
            .map_or(0, |_| self.waiting.saturating_sub(self.level))
    }
}

/// A lossless queue: of a link, or of a class.
#[derive(Clone, Debug)]
struct LosslessQueue {
    place: LinkQueue,
    pfc: Pfc,
    ingress: BTreeMap<Sender, Ingress>,
    /// All queues that count a sender together, this one among them.
    peers: Vec<usize>,
}

/// A link with lossless queues.
#[derive(Clone, Debug)]
struct LosslessLink {
    /// The queue of each flow group, if it is lossless.
    of_groups: Vec<Option<usize>>,
    /// The pauses by its queues, of all senders.
    pauses: Pauses,
    counts: PauseCounts,
    /// Bytes of its queues in the headroom.
    in_headroom: u64,
}

/// The pauses by the queues of a link since the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PauseCounts {
    /// Time that a queue paused at least one sender.
    pub(crate) time: Time,
    /// Frames that began a pause.
    pub(crate) frames: u64,
    /// The most bytes of a sender beyond `xoff`.
    pub(crate) most_headroom: u64,
    /// Packets that a lossless queue lost.
    pub(crate) lost: u64,
    /// The most hops that the pauses by a queue reached at once.
    pub(crate) spread: u64,
}

/// The lossless queue that a packet joins, and its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingoing {
    queue: usize,
    sender: Sender,
}

/// The lossless queues of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct PauseControl {
    queues: Vec<LosslessQueue>,
    /// Each link, if it has lossless queues.
    links: Vec<Option<LosslessLink>>,
    /// The class of each flow group at each link.
    classes: Vec<Vec<u8>>,
    /// The delay of each link.
    delays: Vec<Time>,
    /// Whether a queue behind it may pause each link.
    pausable: Vec<bool>,
    victims: Victims,
    /// The pauses of senders, if they are traced.
    trace: Option<PauseTrace>,
}

impl PauseControl {
    /// The lossless queues; none without one.
    pub(crate) fn new(scenario: &Scenario) -> Option<Self> {
        let links = scenario.links();
        if !links.iter().any(Link::is_lossless) {
            return None;
        }
        let (numbers, groups) = (0..links.len(), 0..scenario.flows().len());
        let class_at = |at, group| topology::class_at(scenario, at, group);
        let mut control = Self {
            queues: Vec::new(),
            links: Vec::new(),
            classes: numbers
                .clone()
                .map(|at| groups.clone().map(|group| class_at(at, group)).collect())
                .collect(),
            delays: links.iter().map(|link| link.delay).collect(),
            pausable: numbers.map(|at| may_be_paused(scenario, at)).collect(),
            victims: Victims::new(scenario, std::iter::empty()),
            trace: None,
        };
        for (at, link) in links.iter().enumerate() {
            let queue_of = |group: usize| {
                let pfc = link.pfc_of(&scenario.flows()[group].name)?;
                Some(control.queue((LinkId::new(at), class_at(at, group)), *pfc))
            };
            let of_groups = groups.clone().map(queue_of).collect();
            control.links.push(link.is_lossless().then(|| LosslessLink {
                of_groups,
                pauses: Pauses::default(),
                counts: PauseCounts::default(),
                in_headroom: 0,
            }));
        }
        control.victims = Victims::new(scenario, control.places());
        control.join_counters(scenario);
        Some(control)
    }

    /// Queues of a memory with the counters of a switch count their senders together.
    fn join_counters(&mut self, scenario: &Scenario) {
        let memory_of = |queue: &LosslessQueue| {
            let memory = scenario.links()[queue.place.0.index()].memory?;
            let counters = scenario.memories()[memory].pfc_counters;
            (counters == PfcCounters::Ingress).then_some(memory)
        };
        let memories: Vec<_> = self.queues.iter().map(memory_of).collect();
        for (number, queue) in self.queues.iter_mut().enumerate() {
            let all = 0..memories.len();
            let is_peer = |other: &usize| {
                *other == number
                    || memories[number].is_some() && memories[*other] == memories[number]
            };
            queue.peers = all.filter(is_peer).collect();
        }
    }

    /// The counter of a sender.
    fn counter(&self, at: Ingoing) -> Counter {
        let mut counter = Counter {
            waiting: 0,
            pausing: None,
            level: 0,
        };
        for peer in &self.queues[at.queue].peers {
            let Some(ingress) = self.queues[*peer].ingress.get(&at.sender) else {
                continue;
            };
            counter.waiting += ingress.waiting;
            if ingress.is_paused {
                counter.pausing = Some(*peer);
                counter.level = ingress.level;
            }
        }
        counter
    }

    /// The headroom of a sender that `queue` pauses grew or shrank.
    fn move_headroom(&mut self, queue: usize, before: u64, now: u64) {
        if let Some(link) = &mut self.links[self.queues[queue].place.0.index()] {
            link.counts.most_headroom = link.counts.most_headroom.max(now);
            link.in_headroom = link.in_headroom + now - before;
        }
    }

    /// The number of the lossless queue at this place.
    fn queue(&mut self, place: LinkQueue, pfc: Pfc) -> usize {
        let known = self.queues.iter().position(|queue| queue.place == place);
        known.unwrap_or_else(|| {
            self.queues.push(LosslessQueue {
                place,
                pfc,
                ingress: BTreeMap::new(),
                peers: Vec::new(),
            });
            self.queues.len() - 1
        })
    }

    /// Whether a queue behind a link may pause it, or a class of it.
    pub(crate) fn may_pause(&self, at: usize) -> bool {
        self.pausable[at]
    }

    /// Whether a link has lossless queues.
    pub(crate) fn is_lossless(&self, at: LinkId) -> bool {
        self.links[at.index()].is_some()
    }

    /// The lossless queue of link `at` that a packet of a flow of this group joins, and the sender
    /// of the packet: `before` is the link before. None if the queue is not lossless.
    pub(crate) fn ingoing(
        &self,
        at: LinkId,
        (flow, group): (FlowId, u16),
        before: Option<LinkId>,
    ) -> Option<Ingoing> {
        let group = usize::from(group);
        let link = self.links[at.index()].as_ref()?;
        let queue = link.of_groups.get(group).copied().flatten()?;
        let sender = match (before, flow) {
            (Some(link), _) => Sender::Link(link, self.classes[link.index()][group]),
            (None, FlowId::Responsive(flow)) => Sender::Host(flow),
            (None, FlowId::Unresponsive(_)) => return None,
        };
        Some(Ingoing { queue, sender })
    }

    /// The bytes of the sender above which the headroom begins: `xoff`, or less if the place of the
    /// packet in a shared memory says so. A dynamic `xoff` is alpha times the free shared memory,
    /// as for the priority groups of SONiC. If a memory with headroom is full, the headroom begins
    /// with the packet. Otherwise a pause keeps its level.
    fn level(&self, at: Ingoing, counter: Counter, place: Option<Place>) -> u64 {
        let queue = &self.queues[at.queue];
        let is_full = place.is_some_and(|place| place.headroom.is_some() && !place.fits);
        if counter.pausing.is_some() {
            let most = if is_full { counter.waiting } else { u64::MAX };
            return counter.level.min(most);
        }
        let xoff = queue.pfc.xoff.get();
        let Some(place) = place else {
            return xoff;
        };
        let free = queue
            .pfc
            .alpha
            .map(|alpha| (alpha * place.free as f64) as u64);
        let level = if is_full {
            0
        } else {
            xoff.min(free.unwrap_or(u64::MAX))
        };
        // What waits already is where it is.
        level.max(counter.waiting.min(xoff))
    }

    /// Whether a packet with this place in a shared memory may wait. If it may, it waits from now
    /// on, in the headroom of its sender if nowhere else.
    pub(crate) fn admit(
        &mut self,
        at: Ingoing,
        (size, place): (u32, Option<Place>),
        now: Time,
        calendar: &mut Calendar,
    ) -> bool {
        let counter = self.counter(at);
        let level = self.level(at, counter, place);
        let waiting = counter.waiting + u64::from(size);
        let beyond = waiting.saturating_sub(level.max(counter.waiting));
        let has_place = place.is_none_or(|place| match place.headroom {
            // The headroom holds the bytes beyond the level, and the memory the others.
            Some(headroom) => beyond <= headroom && (place.fits || counter.waiting >= level),
            None => place.fits,
        });
        let has_room = has_place && waiting <= level + self.queues[at.queue].pfc.headroom.get();
        if has_room {
            self.store(at, (counter, level), (size, now), calendar);
        } else if waiting > level {
            self.refuse(at, (counter, level), now, calendar);
        }
        has_room
    }

    /// A packet that crosses the level is lost, because its headroom is too small: the sender is
    /// paused all the same, if a packet that leaves can end the pause.
    #[cold]
    fn refuse(
        &mut self,
        at: Ingoing,
        (counter, level): (Counter, u64),
        now: Time,
        calendar: &mut Calendar,
    ) {
        let queue = &mut self.queues[at.queue];
        let ends = queue.pfc.xon.get().min(level);
        if counter.pausing.is_some() || counter.waiting <= ends {
            return;
        }
        let ingress = queue.ingress.entry(at.sender).or_default();
        (ingress.is_paused, ingress.level) = (true, level);
        let beyond = counter.waiting.saturating_sub(level);
        self.move_headroom(at.queue, 0, beyond);
        self.begin_pause(at, now, calendar);
    }

    /// Bytes of a link's queues in the headroom.
    pub(crate) fn headroom_of(&self, at: LinkId) -> u64 {
        let link = self.links[at.index()].as_ref();
        link.map_or(0, |link| link.in_headroom)
    }

    /// A packet of a sender is about to be sent without a wait.
    pub(crate) fn carry(&mut self, at: Ingoing, size: u32) {
        let before = self.counter(at);
        let ingress = self.queues[at.queue].ingress.entry(at.sender).or_default();
        ingress.waiting += u64::from(size);
        // Another queue may pause the sender. The release of the packet restores its headroom.
        let now = Counter {
            waiting: before.waiting + u64::from(size),
            ..before
        };
        if let Some(pausing) = now.pausing
            && let Some(link) = &mut self.links[self.queues[pausing].place.0.index()]
        {
            link.in_headroom = link.in_headroom + now.beyond() - before.beyond();
        }
    }

    /// A packet of a sender, which had this counter `before`, waits from now on. The headroom of
    /// the sender begins at `level`.
    fn store(
        &mut self,
        at: Ingoing,
        (before, level): (Counter, u64),
        (size, now): (u32, Time),
        calendar: &mut Calendar,
    ) {
        let waiting = before.waiting + u64::from(size);
        let begins = waiting > level && before.pausing.is_none();
        let pausing = before.pausing.or(begins.then_some(at.queue));
        let queue = &mut self.queues[at.queue];
        queue.ingress.entry(at.sender).or_default().waiting += u64::from(size);
        let Some(pausing) = pausing else {
            return;
        };
        let queue = &mut self.queues[pausing];
        let ingress = queue.ingress.entry(at.sender).or_default();
        (ingress.is_paused, ingress.level) = (true, level);
        self.move_headroom(pausing, before.beyond(), waiting.saturating_sub(level));
        if begins {
            self.begin_pause(at, now, calendar);
        }
    }

    /// A queue begins to pause a sender.
    #[cold]
    fn begin_pause(&mut self, at: Ingoing, now: Time, calendar: &mut Calendar) {
        if let Some(link) = &mut self.links[self.queues[at.queue].place.0.index()] {
            link.counts.frames += 1;
        }
        self.send_frame((at, true), now, calendar);
        self.count_hops(at.queue);
    }

    /// A packet of a sender waits no longer.
    pub(crate) fn release(
        &mut self,
        at: Ingoing,
        (size, now): (u32, Time),
        calendar: &mut Calendar,
    ) {
        let before = self.counter(at);
        let waiting = before.waiting - u64::from(size);
        let queue = &mut self.queues[at.queue];
        queue.ingress.entry(at.sender).or_default().waiting -= u64::from(size);
        let Some(pausing) = before.pausing else {
            return;
        };
        let queue = &mut self.queues[pausing];
        let ends = waiting <= queue.pfc.xon.get().min(before.level);
        if ends {
            queue.ingress.entry(at.sender).or_default().is_paused = false;
        }
        let beyond = if ends {
            0
        } else {
            waiting.saturating_sub(before.level)
        };
        self.move_headroom(pausing, before.beyond(), beyond);
        if ends {
            let at = Ingoing {
                queue: pausing,
                ..at
            };
            self.send_frame((at, false), now, calendar);
        }
    }

    /// A lossless queue of link `at` loses a packet.
    pub(crate) fn lose(&mut self, at: LinkId) {
        if let Some(link) = &mut self.links[at.index()] {
            link.counts.lost += 1;
        }
    }

    /// Decides at `now` that a pause begins or ends.
    #[cold]
    fn send_frame(&mut self, (at, begins): (Ingoing, bool), now: Time, calendar: &mut Calendar) {
        let (queue, sender) = (&self.queues[at.queue], at.sender);
        if let Some(link) = &mut self.links[queue.place.0.index()] {
            link.pauses.change(begins, now);
        }
        // The time that the packets themselves take after the link before.
        let of_packets = match sender {
            Sender::Link(link, _) => self.delays[link.index()],
            Sender::Host(_) => Time::ZERO,
        };
        let cable = queue.pfc.cable_delay().unwrap_or(of_packets);
        // Both directions of the cable, less the one in which the packets are late already.
        let delay = cable
            .saturating_add(cable.saturating_sub(of_packets))
            .saturating_add(queue.pfc.response);
        let frame = PauseFrame { sender, begins };
        calendar.push(Event::pause(now.saturating_add(delay), frame));
    }

    /// The places of the lossless queues.
    pub(crate) fn places(&self) -> impl Iterator<Item = LinkQueue> {
        self.queues.iter().map(|queue| queue.place)
    }

    /// Whether the counts of the lossless queue at this place agree with the `bytes` that wait in
    /// it, if they are known, and with its pauses.
    pub(crate) fn agrees(&self, place: LinkQueue, bytes: Option<u64>) -> bool {
        let queues = self.queues.iter().enumerate();
        let mut queues = queues.filter(|(_, queue)| queue.place == place);
        queues.all(|(number, queue)| {
            let waiting: u64 = queue.ingress.values().map(|each| each.waiting).sum();
            let mut senders = queue.ingress.keys();
            bytes.is_none_or(|bytes| waiting == bytes)
                && senders.all(|sender| {
                    let counter = self.counter(Ingoing {
                        queue: number,
                        sender: *sender,
                    });
                    match counter.pausing {
                        Some(_) => counter.waiting > queue.pfc.xon.get().min(counter.level),
                        None => counter.waiting <= queue.pfc.xoff.get(),
                    }
                })
        })
    }

    /// Whether the link knows of as many pauses as its queues.
    pub(crate) fn counts_agree(&self, at: LinkId) -> bool {
        let queues = self.queues.iter().filter(|queue| queue.place.0 == at);
        let senders = queues.flat_map(|queue| queue.ingress.values());
        let paused = senders.filter(|each| each.is_paused).count();
        let link = self.links[at.index()].as_ref();
        link.is_none_or(|link| link.pauses.are(paused))
    }

    /// Records the pauses of senders from now on.
    pub(crate) fn record(&mut self, options: &TraceOptions) {
        self.trace = Some(PauseTrace::new(options));
    }

    /// The recorded pauses, in the order in which they began.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = &TracedPause> {
        self.trace.iter().flat_map(PauseTrace::pauses)
    }

    /// The senders that the queues of a link pause now.
    pub(crate) fn paused_senders(&self, at: usize) -> usize {
        let queues = self.queues.iter();
        let here = queues.filter(|queue| queue.place.0.index() == at);
        let senders = here.flat_map(|queue| queue.ingress.values());
        senders.filter(|each| each.is_paused).count()
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        for link in self.links.iter_mut().flatten() {
            link.pauses.restart(now);
            link.counts = PauseCounts::default();
        }
        for number in 0..self.queues.len() {
            let senders = self.queues[number].ingress.keys().copied();
            let counters = senders.map(|sender| {
                self.counter(Ingoing {
                    queue: number,
                    sender,
                })
            });
            let own = counters.filter(|counter| counter.pausing == Some(number));
            let beyond = own.map(|counter| counter.beyond()).max().unwrap_or(0);
            self.move_headroom(number, beyond, beyond);
        }
        self.restart_spread();
    }

    /// The pauses by a link's queues since the warm-up; none where it has no lossless queue.
    pub(crate) fn counts(&self, at: usize, now: Time) -> Option<PauseCounts> {
        let link = self.links[at].as_ref()?;
        Some(PauseCounts {
            time: link.pauses.total(now),
            ..link.counts
        })
    }
}
