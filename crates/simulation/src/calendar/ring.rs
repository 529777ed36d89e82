//! A ring of events in rising order.

use crate::calendar::event::{Event, NEVER};

/// An event that would have to pass more events than this does not enter a ring.
const MOST_PASSED: usize = 8;

/// The place that an event has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the first one.
    Head,
    /// Others come before it.
    Behind,
}

/// A ring of events in rising order, its capacity a power of two.
#[derive(Debug)]
pub(super) struct Ring {
    events: Box<[Event]>,
    head: usize,
    tail: usize,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self {
            events: vec![NEVER; 16].into_boxed_slice(),
            head: 0,
            tail: 0,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call costs each packet 20 of 340 instructions"
    )]
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
        if self.tail - self.head == self.events.len() {
            self.grow();
        }
        let mask = self.events.len() - 1;
        self.events[self.tail & mask] = event;
        self.tail += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let (old, count) = (self.events.len(), self.tail - self.head);
        let mut events = vec![NEVER; old * 2].into_boxed_slice();
        for (k, slot) in events.iter_mut().take(count).enumerate() {
            *slot = self.events[(self.head + k) & (old - 1)];
        }
        self.events = events;
        self.head = 0;
        self.tail = count;
    }

    /// Adds an event before those that come later, if few of them are there already. Otherwise the
    /// event is returned.
    #[inline]
    pub(super) fn insert(&mut self, event: Event) -> Result<Place, Event> {
        if self.is_empty() {
            self.push(event);
            return Ok(Place::Head);
        }
        if self.last() < event {
            self.push(event);
            return Ok(Place::Behind);
        }
        self.insert_before(event)
    }

    #[cold]
    fn insert_before(&mut self, event: Event) -> Result<Place, Event> {
        let mask = self.events.len() - 1;
        let later = (self.head..self.tail)
            .rev()
            .take(MOST_PASSED + 1)
            .take_while(|at| self.events[at & mask] > event)
            .count();
        if later > MOST_PASSED {
            return Err(event);
        }
        self.push(NEVER);
        let mask = self.events.len() - 1;
        let at = self.tail - 1 - later;
        for to in (at + 1..self.tail).rev() {
            self.events[to & mask] = self.events[(to - 1) & mask];
        }
        self.events[at & mask] = event;
        Ok(if at == self.head {
            Place::Head
        } else {
            Place::Behind
        })
    }

    /// Removes the head; the one after it.
    #[inline]
    pub(super) fn advance(&mut self) -> Event {
        self.head += 1;
        self.head()
    }

    #[inline]
    fn head(&self) -> Event {
        if self.head == self.tail {
            return NEVER;
        }
        self.events[self.head & (self.events.len() - 1)]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail - self.head
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The event pushed last.
    pub(super) fn last(&self) -> Event {
        self.events[(self.tail - 1) & (self.events.len() - 1)]
    }
}
