//! A link whose discipline holds the packets that wait: the next departure is known only when the
//! packet before has left. Its arrivals and departures are not processed at once. They are
//! processed many at a time, before the first of them could have a consequence elsewhere.

mod pausing;

use forebay_discipline::{Backlog, Packet, PacketQueue, Port, Queue, QueueWork, Shared};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::calendar::event::Event;
use crate::ids::{LaneId, LinkId};
use crate::link::pauses::{ClassPauses, Pauses};
use crate::link::scheduler::Scheduler;
use crate::link::statistics::{Account, LinkStatistics};
use crate::link::transmitter::{Transmitter, Usage};

/// The most packets that may wait: 4 GB of 32 bytes each.
const MAX_WAITING: u64 = 1 << 27;

/// The most arrivals that are put off.
pub(crate) const MAX_DEFERRED: usize = 32;

/// A link with its discipline.
#[derive(Clone, Debug)]
pub struct QueuedLink {
    queue: Queue,
    server: Server,
    /// Arrivals that the discipline has not seen yet, in their order.
    deferred: Vec<Packet>,
    /// Lane of its events in the calendar.
    pub(crate) lane: LaneId,
    /// How long arrivals and departures may be put off: all ways from here are longer.
    pub(crate) slack: Time,
    /// Whether an event is in the calendar by which they are caught up with.
    armed: bool,
    /// Whether arrivals may be put off without a further look.
    defers: bool,
    /// The pauses of its classes, if it has classes that queues behind it may pause.
    class_pauses: Option<Box<ClassPauses>>,
}

/// The transmitter of a queue's packets, and its counts of them.
#[derive(Clone, Debug)]
struct Server {
    port: Port,
    /// Until when it is busy: where it has turns, until the next one.
    transmitter: Transmitter,
    scheduler: Option<Box<ScheduledServer>>,
    /// Packets waiting, summed over the ticks: less than zero by what those waiting now add later.
    occupancy: i128,
    /// Its pauses, if queues behind it may pause it.
    pauses: Pauses,
    /// Usage at the end of the run, once it has ended.
    usage_at_end: Option<Usage>,
    statistics: LinkStatistics,
}

/// The turns of a link, and what was taken in at the one at hand.
#[derive(Clone, Debug)]
struct ScheduledServer {
    scheduler: Scheduler,
    packets: Vec<Packet>,
    departures: Vec<Time>,
}

/// A packet goes into transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) packet: Packet,
    /// When its transmission begins.
    pub(crate) start: Time,
    pub(crate) departure: Time,
}

/// The destination of packets that have waited.
pub(crate) trait Departures {
    /// One goes into transmission: where its wait is counted.
    fn send(&mut self, service: &Service) -> Account;

    /// The same, with the state of the link at that time.
    #[expect(clippy::inline_always, reason = "as in `serve`")]
    #[inline(always)]
    fn send_from<Q: PacketQueue>(&mut self, service: &Service, _: &Q, _: &Transmitter) -> Account {
        self.send(service)
    }

    /// One is dropped now; it counts where it arrived since the warm-up.
    fn discard(&mut self, discarded: &Discarded);
}

/// A packet that a discipline had taken in, or has not, is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discarded {
    pub(crate) packet: Packet,
    pub(crate) now: Time,
    /// Whether it arrived since the warm-up.
    pub(crate) counts: bool,
}

impl QueuedLink {
    pub(crate) fn new(queue: Queue, transmitter: Transmitter, port: Port) -> Self {
        Self {
            queue,
            server: Server {
                port,
                transmitter,
                scheduler: None,
                occupancy: 0,
                pauses: Pauses::default(),
                usage_at_end: None,
                statistics: LinkStatistics::new(),
            },
            deferred: Vec::with_capacity(MAX_DEFERRED),
            lane: LaneId::default(),
            slack: Time::ZERO,
            armed: false,
            defers: false,
            class_pauses: None,
        }
    }

    /// The same link, of whose `count` classes queues behind it may pause each.
    pub(crate) fn with_paused_classes(mut self, count: usize) -> Self {
        self.class_pauses = (count > 0).then(|| Box::new(ClassPauses::new(count)));
        self
    }

    /// The same link, asked for packets at turns.
    pub(crate) fn with_turns(mut self, scheduler: Option<Scheduler>) -> Self {
        self.server.scheduler = scheduler.map(|scheduler| {
            Box::new(ScheduledServer {
                scheduler,
                packets: Vec::new(),
                departures: Vec::new(),
            })
        });
        self
    }

    // --- A packet's way, from top to bottom ---

    /// Whether an arrival may be put off without a further look.
    #[inline]
    pub(crate) fn defers(&self) -> bool {
        self.defers
    }

    /// Puts an arrival off.
    #[inline]
    pub(crate) fn deferred(&mut self, packet: Packet) {
        self.deferred.push(packet);
        self.defers = self.deferred.len() < MAX_DEFERRED - 1;
    }

    /// A packet arrives that may not be put off without a further look. Says whether the link must
    /// catch up; else there is an event by which it will.
    pub(crate) fn arrive(&mut self, packet: &Packet, at: LinkId, calendar: &mut Calendar) -> bool {
        self.deferred.push(*packet);
        if self.slack == Time::ZERO || self.deferred.len() >= MAX_DEFERRED {
            return true;
        }
        if !self.armed {
            self.push_event(packet.arrival, at, calendar);
        }
        false
    }

    /// From now on arrivals may be put off without a look at each, up to the next event.
    pub(crate) fn defer_more(&mut self) {
        self.defers = self.armed && self.slack > Time::ZERO;
    }

    /// An event has come up by which the link has caught up: the next one is due when a packet
    /// leaves.
    pub(crate) fn rearm(&mut self, at: LinkId, calendar: &mut Calendar) {
        self.armed = false;
        self.defers = false;
        self.arm(at, calendar);
    }

    /// Sees that there is an event by which the packet in transmission has left, where there is
    /// one.
    pub(crate) fn arm(&mut self, at: LinkId, calendar: &mut Calendar) {
        if !self.armed && !self.idle() && !self.server.pauses.stalled {
            self.push_event(self.server.departure(), at, calendar);
        }
    }

    fn push_event(&mut self, first: Time, at: LinkId, calendar: &mut Calendar) {
        self.armed = true;
        let due = first.saturating_add(self.slack);
        calendar.push_delivery(self.lane, Event::departure(due, at));
    }

    /// Does what arrivals so far and departures before `until` lead to; says how many have left.
    pub(crate) fn catch_up(&mut self, until: Time, sink: &mut impl Departures) -> u64 {
        let mut left = 0;
        if !self.deferred.is_empty() || self.server.is_behind(until) {
            let Self {
                queue,
                server,
                deferred,
                ..
            } = self;
            queue.work(CatchUp {
                arrivals: deferred,
                server,
                sink,
                until,
                left: &mut left,
            });
            deferred.clear();
        }
        left
    }

    /// The last packet that waits is dropped at `now`, to make room for a packet of another link.
    /// The link must have caught up with `now`.
    pub(crate) fn push_out(&mut self, now: Time, sink: &mut impl Departures) {
        let Self { queue, server, .. } = self;
        server.port.now = now;
        if let Some(packet) = queue.push_out(&mut server.port) {
            server.port.discard(packet);
        }
        server.settle(sink);
    }

    // --- How things stand, once it has caught up ---

    /// Whether nothing is in transmission.
    pub(crate) fn idle(&self) -> bool {
        self.server.idle()
    }

    /// Whether more packets wait than a run may keep.
    pub(crate) fn overfull(&self) -> bool {
        self.queue.backlog().packets > MAX_WAITING
    }

    /// The transmitter of the packets, unless they leave at turns.
    pub(crate) fn transmitter(&self) -> Option<&Transmitter> {
        match &self.server.scheduler {
            None => Some(&self.server.transmitter),
            Some(turning) => turning.scheduler.transmitter(),
        }
    }

    /// The transmitter that follows its rate over time, also if a medium sends in its own way.
    pub(crate) fn line(&self) -> &Transmitter {
        &self.server.transmitter
    }

    /// The usage until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        let server = &self.server;
        server.usage_at_end.unwrap_or_else(|| server.usage(now))
    }

    /// Time until everything here has left.
    pub(crate) fn backlog(&self, now: Time) -> Time {
        let backlog = self.queue.backlog();
        if let Some(turning) = &self.server.scheduler {
            let scheduler = &turning.scheduler;
            return scheduler.time_to_send(now, backlog.packets, backlog.bytes);
        }
        let transmitter = &self.server.transmitter;
        transmitter.time_to_empty(now, backlog.packets, backlog.bytes)
    }

    /// Packets waiting, without the one in transmission. A departure due now has happened.
    pub(crate) fn waiting(&self, now: Time) -> u64 {
        let packets = self.queue.backlog().packets;
        let held = u64::from(self.server.held_after(now) > Time::ZERO);
        let leaves = packets > 0
            && self.server.departure() <= now
            && !self.server.pauses.are_on()
            && self.has_unpaused();
        packets - u64::from(leaves) + held
    }

    /// Packets and bytes waiting.
    pub(crate) fn what_waits(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Sets the bytes that wait in the memory that the next arrival shares with other links.
    pub(crate) fn share(&mut self, shared: Shared) {
        self.server.port.shared = Some(shared);
    }

    pub(crate) fn statistics(&self) -> &LinkStatistics {
        &self.server.statistics
    }

    pub(crate) fn statistics_mut(&mut self) -> &mut LinkStatistics {
        &mut self.server.statistics
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        let (usage, waiting) = (self.usage(now), self.queue.backlog().packets);
        if let Some(pauses) = &mut self.class_pauses {
            pauses.restart(now);
        }
        let server = &mut self.server;
        server.occupancy = ticks(1, server.held_after(now)) - ticks(waiting, now);
        server.port.since = now;
        server.pauses.restart(now);
        server.statistics.restart(now, usage);
    }

    /// The end of the run: the sums end here, but the waits of what is still here are those it
    /// would have if nothing more arrived.
    pub(crate) fn finish(&mut self, end: Time, sink: &mut impl Departures) {
        let (waiting, paused) = (self.queue.backlog().packets, self.paused(end));
        let is_resumed = self.end_class_pauses(end);
        let server = &mut self.server;
        let was_stalled = server.pauses.stalled || is_resumed;
        server.pauses = Pauses::over(paused);
        server.occupancy += ticks(waiting, end) - ticks(1, server.held_after(end));
        server.usage_at_end = Some(server.usage(end));
        let (occupancy, drops, marks) = (
            server.occupancy,
            server.statistics.drops,
            server.statistics.marks,
        );
        if was_stalled {
            let Self { queue, server, .. } = self;
            queue.work(Resume {
                server,
                sink,
                now: end,
            });
        }
        self.catch_up(Time::MAX, sink);
        let server = &mut self.server;
        server.occupancy = occupancy;
        server.statistics.drops = drops;
        server.statistics.marks = marks;
    }

    /// Packets waiting, summed over the ticks from the warm-up's end to the end of the run.
    pub(crate) fn occupancy(&self) -> u128 {
        self.server.occupancy.unsigned_abs()
    }
}

/// See [`QueuedLink::catch_up`].
struct CatchUp<'a, O> {
    arrivals: &'a [Packet],
    server: &'a mut Server,
    sink: &'a mut O,
    until: Time,
    left: &'a mut u64,
}

/// The end of a pause: the next packet goes.
struct Resume<'a, O> {
    server: &'a mut Server,
    sink: &'a mut O,
    now: Time,
}

impl<O: Departures> QueueWork for Resume<'_, O> {
    fn run<Q: PacketQueue>(self, queue: &mut Q) {
        self.server.serve(self.now, queue, self.sink);
    }
}

impl<O: Departures> QueueWork for CatchUp<'_, O> {
    #[inline(never)]
    fn run<Q: PacketQueue>(self, queue: &mut Q) {
        let Self { server, sink, .. } = self;
        let (mut arrivals, mut left) = (self.arrivals.iter(), 0);
        let mut next = arrivals.next();
        let mut until = next.map_or(self.until, |packet| packet.arrival);
        loop {
            let now = if server.is_behind(until) {
                left += 1;
                server.departure()
            } else if let Some(packet) = next {
                server.enqueue(packet, queue, sink);
                next = arrivals.next();
                until = next.map_or(self.until, |packet| packet.arrival);
                if !server.idle() {
                    continue;
                }
                packet.arrival
            } else {
                break;
            };
            server.serve(now, queue, sink);
        }
        *self.left = left;
    }
}

impl Server {
    #[inline]
    fn idle(&self) -> bool {
        self.port.idle_since.is_some()
    }

    /// When the packet in transmission will have left, or when the last one had.
    #[inline]
    fn departure(&self) -> Time {
        self.transmitter.busy_until
    }

    /// Whether a packet has left before `now` and nothing has followed from that yet.
    #[inline]
    fn is_behind(&self, now: Time) -> bool {
        self.departure() < now && !self.idle() && !self.pauses.stalled
    }

    /// A packet arrives. Where the link is idle it is to serve.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue(
        &mut self,
        packet: &Packet,
        queue: &mut impl PacketQueue,
        sink: &mut impl Departures,
    ) {
        self.statistics.arrivals += 1;
        self.occupancy -= ticks(1, packet.arrival);
        self.port.now = packet.arrival;
        queue.enqueue(*packet, &mut self.port);
        if self.has_counted() {
            let drops = self.count(sink);
            if drops > 0 {
                let arrivals = self.statistics.arrivals;
                self.statistics.bursts.at_arrival(arrivals, drops);
            }
        }
    }

    /// The packet in transmission, if there is one, has left, and the next one goes.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn serve(&mut self, now: Time, queue: &mut impl PacketQueue, sink: &mut impl Departures) {
        self.port.now = now;
        if self.scheduler.is_some() {
            self.take_turn(now, queue, sink);
            return;
        }
        if self.pauses.are_on() {
            // Whether it is idle will be known at the end of the pause.
            self.pauses.stalled = true;
            self.port.idle_since = None;
            return;
        }
        // After a pause, too, no packet is in transmission.
        let restarts = self.idle() || self.departure() < now;
        match queue.dequeue(&mut self.port) {
            Some(packet) => {
                self.occupancy += ticks(1, now);
                self.port.idle_since = None;
                let departure = self.transmitter.take(now, packet.size, restarts);
                let service = Service {
                    packet,
                    start: now,
                    departure,
                };
                let account = sink.send_from(&service, queue, &self.transmitter);
                if packet.arrival >= self.statistics.since {
                    self.statistics.accepted(account, now - packet.arrival);
                }
            }
            None => {
                self.port.idle_since.get_or_insert(now);
            }
        }
        self.settle(sink);
    }

    /// The same where packets leave at turns: one that arrives waits for the next turn, and at that
    /// all go that may.
    #[inline(never)]
    fn take_turn(&mut self, now: Time, queue: &mut impl PacketQueue, sink: &mut impl Departures) {
        let Some(mut turning) = self.scheduler.take() else {
            return;
        };
        let was_idle = self.port.idle_since.take().is_some();
        if was_idle {
            self.transmitter.busy_until = turning.scheduler.next(now);
        }
        if self.departure() <= now {
            let (head, waiting) = (queue.head(), queue.backlog().bytes);
            self.transmitter.busy_until = turning.scheduler.ready(now, head, waiting);
        }
        if turning.scheduler.empties(now) {
            while let Some(packet) = queue.dequeue(&mut self.port) {
                self.port.discards.push(packet);
            }
            self.transmitter.busy_until = turning.scheduler.next(now);
        } else if self.departure() <= now {
            let ScheduledServer {
                scheduler,
                packets,
                departures,
            } = &mut *turning;
            while let Some(packet) = queue.dequeue(&mut self.port) {
                packets.push(packet);
                if !scheduler.load(packet.size) {
                    break;
                }
            }
            if packets.is_empty() {
                // No packet waits: the turn is lost.
                self.port.idle_since = Some(now);
            } else {
                let free = scheduler.serve(now, departures);
                let start = scheduler.start(now);
                self.occupancy += ticks(packets.len() as u64, start);
                for (packet, departure) in packets.drain(..).zip(departures.drain(..)) {
                    let service = Service {
                        packet,
                        start,
                        departure,
                    };
                    let account = sink.send_from(&service, queue, &self.transmitter);
                    if packet.arrival >= self.statistics.since {
                        self.statistics.accepted(account, start - packet.arrival);
                    }
                }
                self.transmitter.busy_until = scheduler.next(free);
            }
        }
        self.scheduler = Some(turning);
        self.settle(sink);
    }

    /// How long from `now` on a packet waits that the discipline has handed over.
    fn held_after(&self, now: Time) -> Time {
        let start = self
            .scheduler
            .as_ref()
            .map(|turning| turning.scheduler.start(now));
        start.unwrap_or(now).saturating_sub(now)
    }

    /// Counts the packets that the discipline has dropped or marked in the last call.
    #[inline]
    fn settle(&mut self, sink: &mut impl Departures) {
        if self.has_counted() {
            let drops = self.count(sink);
            if drops > 0 && self.usage_at_end.is_none() {
                self.statistics.bursts.at_departure(drops);
            }
        }
    }

    /// The usage until `now`.
    fn usage(&self, now: Time) -> Usage {
        match &self.scheduler {
            Some(turning) => turning.scheduler.usage(now),
            None => self.transmitter.usage(now),
        }
    }

    /// Whether the discipline has dropped or marked packets.
    #[inline]
    fn has_counted(&self) -> bool {
        !self.port.discards.is_empty() || self.port.marks > 0
    }

    /// Takes over what the discipline has counted and dropped since; says how many count.
    #[inline(never)]
    fn count(&mut self, sink: &mut impl Departures) -> u64 {
        self.statistics.marks += std::mem::take(&mut self.port.marks);
        let mut drops = 0;
        while let Some(packet) = self.port.discards.pop() {
            let counts = packet.arrival >= self.statistics.since;
            drops += u64::from(counts);
            self.occupancy += ticks(1, self.port.now);
            sink.discard(&Discarded {
                packet,
                now: self.port.now,
                counts,
            });
        }
        self.statistics.drops += drops;
        drops
    }
}

/// The product of `packets` and the ticks up to `time`.
#[inline]
fn ticks(packets: u64, time: Time) -> i128 {
    i128::from(packets) * i128::from(time.as_picos())
}
