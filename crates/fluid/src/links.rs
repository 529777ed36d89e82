//! A link's queue during a run: its state, its congestion events and its ledger.

use std::mem;

use forebay_random::{Purpose, Seed, Stream};

use crate::changing::{Changing, Known};
use crate::dense::Dense;
use crate::model::{Background, FluidLink, QueueLaw};
use crate::red::{EarlyDrops, RedState, RedStretch};
use crate::rosenbrock::STAGES;
use crate::synchronization::{Candidate, Synchronization};
use crate::tally::{QueueLawCount, Tally};

/// Bandwidth-delay products of a buffer by which errors of its queue are measured.
const DEEPEST: f64 = 10.0;

/// Where the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Empty, with no more arriving than leaves.
    Empty,
    /// Following its differential equation.
    Free,
    /// At the limit, with the excess clipped.
    Full,
}

/// One link during a run.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) capacity: f64,
    /// By how much a packet in the queue holds senders back: 1 / capacity, and 0 while they do not know it.
    pub(crate) per_packet: f64,
    /// By how much they are held back whatever the queue, seconds.
    pub(crate) hold: f64,
    changing: Option<Box<Changing>>,
    /// The latest fall of the capacity.
    fall: Fall,
    pub(crate) buffer: f64,
    /// Error of the queue tolerated in one step, packets.
    pub(crate) tolerated: f64,
    pub(crate) background: f64,
    law: Background,
    draws: Stream,
    pub(crate) mode: Mode,
    pub(crate) queue: f64,
    /// Stages of the queue in the step being tried.
    pub(crate) stages: [f64; STAGES],
    pub(crate) dense: Dense,
    /// Derivative of a free queue at the start of the step, packets per second.
    pub(crate) rate: f64,
    pub(crate) red: Option<RedState>,
    pub(crate) events: Events,
    pub(crate) tally: Tally,
    /// Arrivals less departures and losses since the start, all arrivals, and all losses.
    kept: f64,
    arrived: f64,
    lost: f64,
}

/// A fall of a link's capacity: when, and how long the queue takes to be served from then on, seconds.
#[derive(Clone, Copy, Debug)]
struct Fall {
    at: f64,
    drains: f64,
}

/// A link's congestion events.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// Whether one is open.
    open: bool,
    /// Events since the start of the run.
    pub(crate) number: u64,
    /// When the first flow answers the open event, seconds; its opening, where it follows another in one overflow.
    first_answer: f64,
    /// Whether the queue has been clipped since the latest event closed.
    follows: bool,
    /// Flows that cross the link.
    pub(crate) crowd: usize,
    /// Whether each slot's flow lost in the latest event.
    losers: Vec<bool>,
    counts: Stream,
    victims: Stream,
    pub(crate) seed: Seed,
}

/// A stretch of time as a link sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// When it begins, seconds.
    pub(crate) begin: f64,
    /// Seconds.
    pub(crate) span: f64,
    /// Packets that arrived.
    pub(crate) arrived: f64,
    /// The part of `dense` used, in a free stretch.
    pub(crate) theta: f64,
}

impl Events {
    /// Notes that the flow in `slot` loses in the latest event; returns whether it had not.
    pub(crate) fn lose(&mut self, slot: usize) -> bool {
        !mem::replace(&mut self.losers[slot], true)
    }
}

impl Link {
    /// Link number `number`, crossed by `crowd` of `flows` flows.
    pub(crate) fn new(
        link: &FluidLink,
        number: usize,
        (crowd, flows): (usize, usize),
        seed: Seed,
    ) -> Self {
        let stream = |purpose| Stream::new(seed, number as u64, purpose);
        let mut draws = stream(Purpose::Background);
        Self {
            capacity: link.capacity,
            per_packet: 1.0 / link.capacity,
            hold: 0.0,
            changing: None,
            fall: Fall {
                at: -1.0,
                drains: 0.0,
            },
            buffer: link.buffer,
            tolerated: 0.0,
            background: draw(&link.background, &mut draws),
            law: link.background,
            draws,
            mode: Mode::Empty,
            queue: 0.0,
            stages: [0.0; STAGES],
            dense: Dense::default(),
            rate: 0.0,
            red: match link.queue {
                QueueLaw::DropTail => None,
                QueueLaw::Red(red) => Some(RedState::new(red)),
            },
            events: Events {
                open: false,
                number: 0,
                first_answer: f64::INFINITY,
                follows: false,
                crowd,
                losers: vec![false; flows],
                counts: stream(Purpose::VictimCount),
                victims: stream(Purpose::Victims),
                seed,
            },
            tally: Tally {
                found: QueueLawCount::new(link.buffer),
                ..Tally::default()
            },
            kept: 0.0,
            arrived: 0.0,
            lost: 0.0,
        }
    }

    /// The same where its capacity changes, which its flows know `lag` seconds later.
    pub(crate) fn with_changes(mut self, link: &FluidLink, lag: f64) -> Self {
        if let Some(steps) = &link.steps {
            let changing = Changing::new(steps.clone(), link.capacity, lag);
            let (capacity, known) = changing.first();
            self.capacity = capacity;
            self.learn(known);
            let laws = [(); 3].map(|()| QueueLawCount::of_waits());
            [self.tally.found, self.tally.slow, self.tally.fast] = laws;
            self.changing = Some(Box::new(changing));
        }
        self
    }

    /// Lets the senders know of a capacity.
    fn learn(&mut self, known: Known) {
        (self.per_packet, self.hold) = known;
    }

    /// When the capacity, or what is known of it, changes next; never where it is constant.
    pub(crate) fn next_change(&self) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(f64::INFINITY, |changing| changing.next())
    }

    /// Changes the capacity, or what is known of it, as is due at `now`; says whether the capacity falls.
    pub(crate) fn change(&mut self, now: f64) -> bool {
        let before = self.capacity;
        if let Some(changing) = &mut self.changing {
            if changing.next() > now {
                return false;
            }
            let (capacity, known) = changing.take(now, self.queue);
            self.capacity = capacity.unwrap_or(self.capacity);
            self.learn(known);
        }
        self.capacity < before
    }

    /// Counts how long the queue takes to be served from `now` on, where the capacity falls.
    pub(crate) fn count_fall(&mut self, now: f64) {
        self.fall = Fall {
            at: now,
            drains: self.wait(now),
        };
        self.tally.fall(self.fall.drains);
    }

    /// What is counted begins at `now`: a fall at this very instant belongs to it.
    pub(crate) fn begin(&mut self, now: f64) {
        self.tally.reset();
        // Of those who wait, what they have still to wait is not counted: they came before.
        self.tally.waiting -= self.still_to_wait(now);
        if self.fall.at == now {
            self.tally.fall(self.fall.drains);
        }
    }

    /// The highest capacity.
    pub(crate) fn highest(&self) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(self.capacity, |changing| changing.highest())
    }

    /// Packets that can be served between two times.
    pub(crate) fn possible(&self, from: f64, to: f64) -> f64 {
        match &self.changing {
            Some(changing) => changing.possible(from, to),
            None => self.capacity * (to - from),
        }
    }

    /// Seconds that what arrives at `at` waits.
    pub(crate) fn wait(&self, at: f64) -> f64 {
        match &self.changing {
            Some(changing) => changing.wait(at, self.queue),
            None => self.delay(),
        }
    }

    /// What the packets in the queue at `at` still wait, where that is not known before, packets x seconds.
    pub(crate) fn still_to_wait(&self, at: f64) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(0.0, |changing| changing.still_to_wait(at, self.queue))
    }

    /// Part of all that arrived since the start that was lost.
    pub(crate) fn loss_share(&self) -> f64 {
        self.lost / self.arrived.max(1.0)
    }

    /// Seconds between redraws of the background, if it is redrawn.
    pub(crate) fn redraw_interval(&self) -> Option<f64> {
        match self.law {
            Background::Constant(_) => None,
            Background::Redrawn { interval, .. } => Some(interval),
        }
    }

    /// Draws the background's next rate.
    pub(crate) fn redraw(&mut self) {
        self.background = draw(&self.law, &mut self.draws);
    }

    /// Whether a congestion event can open: there are flows to cut, and none is open.
    pub(crate) fn may_open_event(&self) -> bool {
        !self.events.open && self.events.crowd > 0
    }

    /// Opens a congestion event and moves the flows that it cuts to the front of the candidates;
    /// returns their number.
    pub(crate) fn choose_victims(
        &mut self,
        law: &Synchronization,
        candidates: &mut [Candidate],
    ) -> usize {
        let events = &mut self.events;
        let count = law.draw_count(candidates.len(), &mut events.counts);
        law.choose(candidates, count, events.number, &mut events.victims);
        events.number += 1;
        events.open = true;
        events.losers.fill(false);
        if let Some(red) = &mut self.red {
            red.restart();
        }
        count
    }

    /// Whether the event that has just opened follows another in one overflow.
    pub(crate) fn event_follows(&self) -> bool {
        self.events.follows
    }

    /// Notes when the first flow answers the event that has just opened.
    pub(crate) fn expect_answer(&mut self, at: f64) {
        self.events.first_answer = at;
    }

    /// Whether the queue is still clipped at `now` although a flow has answered the open event.
    #[inline]
    pub(crate) fn overflow_goes_on(&self, now: f64) -> bool {
        self.mode == Mode::Full && self.events.open && now >= self.events.first_answer
    }

    /// Closes the congestion event.
    pub(crate) fn close_event(&mut self) {
        self.events.open = false;
        self.events.follows = self.mode == Mode::Full;
        if let Some(red) = &mut self.red {
            red.restart();
        }
    }

    /// Queueing delay by which the flows send, seconds.
    #[inline]
    pub(crate) fn delay(&self) -> f64 {
        self.queue * self.per_packet + self.hold
    }

    /// Share of the capacity in use by a queue of so many packets, or by a `rate` of arrivals.
    pub(crate) fn used(&self, queue: f64, rate: f64) -> f64 {
        if queue > 0.0 || rate >= self.capacity {
            1.0
        } else {
            rate / self.capacity
        }
    }

    /// Places the queue in its mode, given what arrives from the flows; true when it is clipped.
    pub(crate) fn place(&mut self, arrivals: f64) {
        let net = arrivals + self.background - self.capacity;
        self.mode = if self.queue >= self.buffer && net > 0.0 {
            Mode::Full
        } else if self.queue <= 0.0 && net <= 0.0 {
            Mode::Empty
        } else {
            Mode::Free
        };
    }

    /// Enters a stretch into the ledgers and moves the queue; returns the packets lost.
    pub(crate) fn account(&mut self, stretch: &Stretch) -> f64 {
        let Stretch {
            span,
            arrived,
            theta,
            ..
        } = *stretch;
        if span <= 0.0 {
            return 0.0;
        }
        let served = self.capacity * span;
        let before = self.queue;
        // Where a pinned queue's arrivals end on the other side of its capacity, within the integration error, it
        // has moved. Within the tolerated error a free queue may end a hair beyond its limits. Both are reflected
        // at 0 and clipped at the buffer like any other.
        let end = match self.mode {
            Mode::Empty => (arrived - served).max(0.0),
            Mode::Full => self.queue + (arrived - served).min(0.0),
            Mode::Free => self.dense.at(theta),
        };
        self.queue = end.clamp(0.0, self.buffer);
        let (departed, lost) = match self.mode {
            Mode::Empty => (arrived.min(served), end - self.queue),
            Mode::Full => (served + end.min(0.0), (arrived - served).max(0.0)),
            Mode::Free => (served + end.min(0.0), (end - self.buffer).max(0.0)),
        };
        self.enter(stretch, before, (departed, lost));
        if self.mode == Mode::Free {
            // Accepted packets arrive at C + q', so their waits sum to
            // int q/C (C + q') dt = int q dt + (q1^2 - q0^2) / 2 C.
            // A queue that hardly leaves 0 may lie below it by the tolerated error.
            let area = (self.dense.integral(theta) * span / theta).max(0.0);
            let squares = (self.queue - before) * (self.queue + before);
            self.tally.queue += area;
            self.tally.waiting += match self.changing {
                Some(_) => area,
                None => area + 0.5 * squares / self.capacity,
            };
            self.count_found(stretch);
        }
        if self.queue > 0.0 && self.queue < self.buffer {
            self.mode = Mode::Free;
        }
        lost
    }

    /// Keeps what RED does over a stretch until it is known where it ends.
    pub(crate) fn hold_red(&mut self, stretch: RedStretch) {
        if let Some(red) = &mut self.red {
            red.pending = Some(stretch);
        }
    }

    /// Takes over the end of the stretch kept, if one is.
    pub(crate) fn settle_red(&mut self) {
        if let Some(red) = &mut self.red
            && let Some(end) = red.pending.take()
        {
            self.tally.early += red.settle(&end);
        }
    }

    /// RED's expected drops in a step of `span` seconds in which `arrived` packets come.
    #[inline]
    pub(crate) fn drop_early(&mut self, arrived: f64, span: f64) -> EarlyDrops {
        let queue = self.queue;
        let Some(red) = &mut self.red else {
            return EarlyDrops::default();
        };
        let stretch = red.follow(span, |_| queue, |_| arrived / span);
        let drops = red.settle(&stretch);
        self.tally.early += drops;
        EarlyDrops {
            drops,
            first: stretch.first,
        }
    }

    /// A step of `span` seconds from `begin` on in which `arrived` packets come, the queue reflected at 0 and clipped
    /// at its limit; returns the packets lost.
    #[inline]
    pub(crate) fn step(&mut self, arrived: f64, (begin, span): (f64, f64)) -> f64 {
        let served = self.capacity * span;
        let before = self.queue;
        let unbounded = before + arrived - served;
        self.queue = unbounded.clamp(0.0, self.buffer);
        let lost = (unbounded - self.buffer).max(0.0);
        let departed = (before + arrived - lost).min(served);
        self.mode = if lost > 0.0 {
            Mode::Full
        } else if unbounded <= 0.0 {
            Mode::Empty
        } else {
            Mode::Free
        };
        let theta = 1.0;
        let stretch = Stretch {
            begin,
            span,
            arrived,
            theta,
        };
        self.enter(&stretch, before, (departed, lost));
        if self.mode == Mode::Free {
            self.enter_level(before, &stretch);
        }
        lost
    }

    /// Enters a stretch that began with `before` packets waiting into the ledgers; what a moving queue
    /// does inside it is entered apart.
    #[inline]
    fn enter(&mut self, stretch: &Stretch, before: f64, (departed, lost): (f64, f64)) {
        let Stretch {
            begin,
            span,
            arrived,
            ..
        } = *stretch;
        self.arrived += arrived;
        self.lost += lost;
        self.events.follows &= self.mode == Mode::Full;
        self.kept += arrived - departed - lost;
        let tally = &mut self.tally;
        tally.arrived += arrived;
        tally.departed += departed;
        tally.accepted += departed + self.queue - before;
        tally.lost += lost;
        tally.background += self.background * span;
        if lost > 0.0 {
            tally.background_lost += self.background * span * (lost / arrived);
        }
        if self.changing.is_none() {
            tally.largest = tally.largest.max(self.queue);
        }
        match self.mode {
            Mode::Empty => {
                tally.found.add_empty(arrived);
                if let Some(changing) = &self.changing {
                    changing.count_idle(span, self.capacity, tally);
                }
            }
            Mode::Full => {
                tally.queue += self.queue * span;
                tally.waiting += self.queue * span;
                if self.changing.is_some() {
                    self.count_waits((begin, span), (before, self.queue));
                } else {
                    self.tally.found.add_full(departed);
                }
            }
            Mode::Free => {}
        }
    }

    /// Sets the error of the queue tolerated in one step from that of the utilization.
    ///
    /// An error of the queue moves the next event by a part of a cycle that is smaller than the
    /// error's part of the buffer; errors of many steps add up, and the finer the tolerance the
    /// more steps there are, hence the exponent 3/2. The factor is set by experiment (the tests
    /// hold it to its promise): at the default tolerance of 1e-4 it allows 1e-3 of the buffer.
    ///
    /// Of a buffer of many bandwidth-delay products, of which `product` is the largest, most may never be
    /// used: such an error is measured by [`DEEPEST`] of these.
    pub(crate) fn tolerate(&mut self, tolerance: f64, product: f64) {
        let used = self.buffer.min(DEEPEST * product);
        self.tolerated = (1000.0 * tolerance * tolerance.sqrt()).min(0.01) * used;
    }

    /// Relative defect of arrivals = departures + losses + queue since the start.
    pub(crate) fn defect(&self) -> f64 {
        (self.kept - self.queue).abs() / self.arrived.max(1.0)
    }

    /// Enters a short stretch in which the queue stays free near its present length.
    #[inline]
    fn enter_level(&mut self, before: f64, &Stretch { begin, span, .. }: &Stretch) {
        let mean = 0.5 * (before + self.queue);
        if self.changing.is_some() {
            self.tally.queue += mean * span;
            self.tally.waiting += mean * span;
            return self.count_waits((begin, span), (before, self.queue));
        }
        let mass = (self.capacity * span + self.queue - before).max(0.0);
        self.tally.queue += mean * span;
        self.tally.waiting += mean / self.capacity * mass;
        self.tally.found.add_between(before, self.queue, mass);
    }

    /// Enters the queues that a free stretch's packets find, in pieces that are nearly straight.
    fn count_found(&mut self, stretch: &Stretch) {
        let Stretch {
            begin, span, theta, ..
        } = *stretch;
        let [c1, c2, c3] = self.dense.slope;
        let curvature = c2.abs() + c3.abs();
        let bent = 8.0 * curvature > c1.abs() && curvature > 0.5 * self.tally.found.width();
        let pieces = if bent { 4 } else { 1 };
        let part = 1.0 / f64::from(pieces);
        let mass = self.capacity * span * part;
        let mut from = self.dense.start;
        for piece in 1..=pieces {
            let to = self.dense.at(theta * (f64::from(piece) * part));
            if self.changing.is_some() {
                let since = begin + f64::from(piece - 1) * part * span;
                let inside = |queue: f64| queue.clamp(0.0, self.buffer);
                self.count_waits((since, part * span), (inside(from), inside(to)));
                from = to;
                continue;
            }
            self.tally.largest = self.tally.largest.max(to.min(self.buffer));
            self.tally
                .found
                .add_between(from, to, (mass + to - from).max(0.0));
            from = to;
        }
    }

    /// Counts how long those wait that come while the queue goes straight from one length to another; no
    /// change of the capacity lies in it.
    fn count_waits(&mut self, (begin, span): (f64, f64), queues: (f64, f64)) {
        if let Some(changing) = &self.changing {
            changing.count_waits((begin, span), queues, self.capacity, &mut self.tally);
        }
    }
}

fn draw(law: &Background, stream: &mut Stream) -> f64 {
    match *law {
        Background::Constant(rate) => rate,
        Background::Redrawn {
            mean, deviation, ..
        } => (mean + deviation * stream.normal()).max(0.0),
    }
}
