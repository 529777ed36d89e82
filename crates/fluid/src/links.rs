//! The queue of a link during a run: its state, its congestion events and its counts. All
//! integrators share it.

use std::mem;

use forebay_random::{Purpose, Seed, Stream};

use crate::changing::{Changing, Known};
use crate::counters::{LinkCounters, QueueHistogram};
use crate::dense::Dense;
use crate::model::{Background, FluidLink, QueueDistribution};
use crate::red::{EarlyDrops, RedState, RedStretch};
use crate::rosenbrock::STAGES;
use crate::synchronization::{Candidate, Synchronization};

/// Maximum part of a buffer that scales the error of its queue, in bandwidth-delay products.
const DEEPEST: f64 = 10.0;

/// Mode of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Empty, with arrivals up to the capacity.
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
    /// Delay of the senders per packet in the queue, in seconds: 1 / capacity, or 0 while they do
    /// not know it.
    pub(crate) per_packet: f64,
    /// Delay of the senders that does not depend on the queue, in seconds.
    pub(crate) hold: f64,
    changing: Option<Box<Changing>>,
    /// Latest fall of the capacity.
    fall: Fall,
    pub(crate) buffer: f64,
    /// Tolerated error of the queue in one step, in packets.
    pub(crate) tolerated: f64,
    pub(crate) background: f64,
    law: Background,
    draws: Stream,
    pub(crate) mode: Mode,
    pub(crate) queue: f64,
    /// Stages of the queue in the step that is tried.
    pub(crate) stages: [f64; STAGES],
    pub(crate) dense: Dense,
    /// Derivative of a free queue at the start of the step, packets per second.
    pub(crate) rate: f64,
    pub(crate) red: Option<RedState>,
    pub(crate) events: Events,
    pub(crate) counters: LinkCounters,
    /// Arrivals less departures and losses since the start, all arrivals, and all losses.
    kept: f64,
    arrived: f64,
    lost: f64,
}

/// A fall of a link's capacity: its time, and the drain time of the queue from then on, in seconds.
#[derive(Clone, Copy, Debug)]
struct Fall {
    at: f64,
    drains: f64,
}

/// Congestion events of a link.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// Whether an event is open.
    open: bool,
    /// Number of events since the start of the run.
    pub(crate) number: u64,
    /// Time of the first answer to the open event, in seconds. It is the opening if the event
    /// follows another in one overflow.
    first_answer: f64,
    /// Whether the queue has been clipped since the latest event closed.
    follows: bool,
    /// Number of flows that cross the link.
    pub(crate) flow_count: usize,
    /// Whether the flow in each slot lost in the latest event.
    losers: Vec<bool>,
    counts: Stream,
    victims: Stream,
    pub(crate) seed: Seed,
}

/// An interval of time at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Start of the interval, in seconds.
    pub(crate) begin: f64,
    /// Length of the interval, in seconds.
    pub(crate) span: f64,
    /// Packets that arrived.
    pub(crate) arrived: f64,
    /// Part of `dense` that is used, in a free interval.
    pub(crate) theta: f64,
}

impl Events {
    /// Records that the flow in `slot` loses in the latest event. Returns whether it is its first
    /// loss in it.
    pub(crate) fn lose(&mut self, slot: usize) -> bool {
        !mem::replace(&mut self.losers[slot], true)
    }
}

impl Link {
    /// Link number `number`, crossed by `flow_count` of `flows` flows.
    pub(crate) fn new(
        link: &FluidLink,
        number: usize,
        (flow_count, flows): (usize, usize),
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
                QueueDistribution::DropTail => None,
                QueueDistribution::Red(red) => Some(RedState::new(red)),
            },
            events: Events {
                open: false,
                number: 0,
                first_answer: f64::INFINITY,
                follows: false,
                flow_count,
                losers: vec![false; flows],
                counts: stream(Purpose::VictimCount),
                victims: stream(Purpose::Victims),
                seed,
            },
            counters: LinkCounters {
                found: QueueHistogram::new(link.buffer),
                ..LinkCounters::default()
            },
            kept: 0.0,
            arrived: 0.0,
            lost: 0.0,
        }
    }

    /// Adds the changes of the capacity, which the flows know `lag` seconds later.
    pub(crate) fn with_changes(mut self, link: &FluidLink, lag: f64) -> Self {
        if let Some(steps) = &link.steps {
            let changing = Changing::new(steps.clone(), link.capacity, lag);
            let (capacity, known) = changing.first();
            self.capacity = capacity;
            self.learn(known);
            let laws = [(); 3].map(|()| QueueHistogram::of_waits());
            [self.counters.found, self.counters.slow, self.counters.fast] = laws;
            self.changing = Some(Box::new(changing));
        }
        self
    }

    /// Sets the delays of the senders.
    fn learn(&mut self, known: Known) {
        (self.per_packet, self.hold) = known;
    }

    /// Time of the next change of the capacity or of the senders' knowledge; infinite for a
    /// constant capacity.
    pub(crate) fn next_change(&self) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(f64::INFINITY, |changing| changing.next())
    }

    /// Applies the changes that are due at `now`. Returns whether the capacity falls.
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

    /// Counts the drain time of the queue at a fall of the capacity at `now`.
    pub(crate) fn count_fall(&mut self, now: f64) {
        self.fall = Fall {
            at: now,
            drains: self.wait(now),
        };
        self.counters.fall(self.fall.drains);
    }

    /// Starts the counts at `now`. A fall at this instant is included.
    pub(crate) fn begin(&mut self, now: f64) {
        self.counters.reset();
        // Packets in the queue arrived before, so their remaining waiting times are not counted.
        self.counters.waiting -= self.still_to_wait(now);
        if self.fall.at == now {
            self.counters.fall(self.fall.drains);
        }
    }

    /// The highest capacity, in packets per second.
    pub(crate) fn highest(&self) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(self.capacity, |changing| changing.highest())
    }

    /// Packets that can be served between two times in seconds.
    pub(crate) fn possible(&self, from: f64, to: f64) -> f64 {
        match &self.changing {
            Some(changing) => changing.possible(from, to),
            None => self.capacity * (to - from),
        }
    }

    /// Waiting time of an arrival at `at`, in seconds.
    pub(crate) fn wait(&self, at: f64) -> f64 {
        match &self.changing {
            Some(changing) => changing.wait(at, self.queue),
            None => self.delay(),
        }
    }

    /// The sum of the remaining waiting times of the queue at `at`, in packets x seconds. It is 0
    /// for a constant capacity.
    pub(crate) fn still_to_wait(&self, at: f64) -> f64 {
        let changing = self.changing.as_ref();
        changing.map_or(0.0, |changing| changing.still_to_wait(at, self.queue))
    }

    /// Fraction of all arrivals since the start that was lost.
    pub(crate) fn loss_share(&self) -> f64 {
        self.lost / self.arrived.max(1.0)
    }

    /// Seconds between redraws of the background; `None` if it is constant.
    pub(crate) fn redraw_interval(&self) -> Option<f64> {
        match self.law {
            Background::Constant(_) => None,
            Background::Resampled { interval, .. } => Some(interval),
        }
    }

    /// Draws the background's next rate.
    pub(crate) fn redraw(&mut self) {
        self.background = draw(&self.law, &mut self.draws);
    }

    /// Whether a congestion event can open: flows cross the link, and no event is open.
    pub(crate) fn may_open_event(&self) -> bool {
        !self.events.open && self.events.flow_count > 0
    }

    /// Opens a congestion event and moves the flows that it cuts to the front of the candidates.
    /// Returns their number.
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

    /// Sets the time of the first answer to the event that has just opened.
    pub(crate) fn expect_answer(&mut self, at: f64) {
        self.events.first_answer = at;
    }

    /// Whether the queue is still clipped at `now`, although a flow has answered the open event.
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

    /// Queueing delay of the senders, in seconds.
    #[inline]
    pub(crate) fn delay(&self) -> f64 {
        self.queue * self.per_packet + self.hold
    }

    /// The share of the capacity in use with a queue of `queue` packets, or with arrivals at
    /// `rate`.
    pub(crate) fn used(&self, queue: f64, rate: f64) -> f64 {
        if queue > 0.0 || rate >= self.capacity {
            1.0
        } else {
            rate / self.capacity
        }
    }

    /// Sets the mode of the queue for these arrivals of the flows. An overflowing queue becomes
    /// `Full`.
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

    /// Counts an interval and advances the queue. Returns the lost packets.
    pub(crate) fn account(&mut self, stretch: &Interval) -> f64 {
        let Interval {
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
        // If the arrivals of a pinned queue end beyond its capacity, within the integration error,
        // it has moved. Within the tolerated error a free queue may end slightly beyond its limits.
        // Both are reflected at 0 and clipped at the buffer.
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
            // Accepted packets arrive at C + q'. Their waiting times sum to int q/C (C + q') dt =
            // int q dt + (q1^2 - q0^2) / 2 C. A queue near 0 may lie below it by the tolerated
            // error.
            let area = (self.dense.integral(theta) * span / theta).max(0.0);
            let squares = (self.queue - before) * (self.queue + before);
            self.counters.queue += area;
            self.counters.waiting += match self.changing {
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

    /// Stores the effect of RED over an interval until its end is known.
    pub(crate) fn hold_red(&mut self, stretch: RedStretch) {
        if let Some(red) = &mut self.red {
            red.pending = Some(stretch);
        }
    }

    /// Applies the stored effect of RED, if there is one.
    pub(crate) fn settle_red(&mut self) {
        if let Some(red) = &mut self.red
            && let Some(end) = red.pending.take()
        {
            self.counters.early += red.settle(&end);
        }
    }

    /// RED's expected drops in a step of `span` seconds with `arrived` packets.
    #[inline]
    pub(crate) fn drop_early(&mut self, arrived: f64, span: f64) -> EarlyDrops {
        let queue = self.queue;
        let Some(red) = &mut self.red else {
            return EarlyDrops::default();
        };
        let stretch = red.follow(span, |_| queue, |_| arrived / span);
        let drops = red.settle(&stretch);
        self.counters.early += drops;
        EarlyDrops {
            drops,
            first: stretch.first,
        }
    }

    /// Makes a step of `span` seconds from `begin` on with `arrived` packets. The queue is
    /// reflected at 0 and clipped at its limit. Returns the lost packets.
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
        let stretch = Interval {
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

    /// Counts an interval that began with `before` packets in the queue. A moving queue is counted
    /// separately.
    #[inline]
    fn enter(&mut self, stretch: &Interval, before: f64, (departed, lost): (f64, f64)) {
        let Interval {
            begin,
            span,
            arrived,
            ..
        } = *stretch;
        self.arrived += arrived;
        self.lost += lost;
        self.events.follows &= self.mode == Mode::Full;
        self.kept += arrived - departed - lost;
        let counters = &mut self.counters;
        counters.arrived += arrived;
        counters.departed += departed;
        counters.accepted += departed + self.queue - before;
        counters.lost += lost;
        counters.background += self.background * span;
        if lost > 0.0 {
            counters.background_lost += self.background * span * (lost / arrived);
        }
        if self.changing.is_none() {
            counters.largest = counters.largest.max(self.queue);
        }
        match self.mode {
            Mode::Empty => {
                counters.found.add_empty(arrived);
                if let Some(changing) = &self.changing {
                    changing.count_idle(span, self.capacity, counters);
                }
            }
            Mode::Full => {
                counters.queue += self.queue * span;
                counters.waiting += self.queue * span;
                if self.changing.is_some() {
                    self.count_waits((begin, span), (before, self.queue));
                } else {
                    self.counters.found.add_full(departed);
                }
            }
            Mode::Free => {}
        }
    }

    /// Sets the tolerated error of the queue in one step from that of the utilization.
    ///
    /// An error of the queue shifts the next event by a smaller part of a cycle than its part of
    /// the buffer. Errors of many steps add up, and a finer tolerance needs more steps, so the
    /// exponent is 3/2. The factor was found by experiment, and tests verify its promise. At the
    /// default tolerance of 1e-4 it permits 1e-3 of the buffer.
    ///
    /// `product` is the largest bandwidth-delay product. A buffer of many products may never fill,
    /// so its error is relative to at most [`DEEPEST`] products.
    pub(crate) fn tolerate(&mut self, tolerance: f64, product: f64) {
        let used = self.buffer.min(DEEPEST * product);
        self.tolerated = (1000.0 * tolerance * tolerance.sqrt()).min(0.01) * used;
    }

    /// Relative defect of arrivals = departures + losses + queue, since the start.
    pub(crate) fn defect(&self) -> f64 {
        (self.kept - self.queue).abs() / self.arrived.max(1.0)
    }

    /// Counts a short interval in which the queue stays free near its present length.
    #[inline]
    fn enter_level(&mut self, before: f64, &Interval { begin, span, .. }: &Interval) {
        let mean = 0.5 * (before + self.queue);
        if self.changing.is_some() {
            self.counters.queue += mean * span;
            self.counters.waiting += mean * span;
            return self.count_waits((begin, span), (before, self.queue));
        }
        let mass = (self.capacity * span + self.queue - before).max(0.0);
        self.counters.queue += mean * span;
        self.counters.waiting += mean / self.capacity * mass;
        self.counters.found.add_between(before, self.queue, mass);
    }

    /// Counts the queues that arrivals of a free interval find, in nearly linear pieces.
    fn count_found(&mut self, stretch: &Interval) {
        let Interval {
            begin, span, theta, ..
        } = *stretch;
        let [c1, c2, c3] = self.dense.slope;
        let curvature = c2.abs() + c3.abs();
        let bent = 8.0 * curvature > c1.abs() && curvature > 0.5 * self.counters.found.width();
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
            self.counters.largest = self.counters.largest.max(to.min(self.buffer));
            self.counters
                .found
                .add_between(from, to, (mass + to - from).max(0.0));
            from = to;
        }
    }

    /// Counts the waiting times of arrivals while the queue changes linearly. The capacity does not
    /// change meanwhile.
    fn count_waits(&mut self, (begin, span): (f64, f64), queues: (f64, f64)) {
        if let Some(changing) = &self.changing {
            changing.count_waits((begin, span), queues, self.capacity, &mut self.counters);
        }
    }
}

fn draw(law: &Background, stream: &mut Stream) -> f64 {
    match *law {
        Background::Constant(rate) => rate,
        Background::Resampled {
            mean, deviation, ..
        } => (mean + deviation * stream.normal()).max(0.0),
    }
}
