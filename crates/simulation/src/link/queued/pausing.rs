//! Pauses of a link with a discipline: of the whole link, or of its classes. The link asks here
//! which of its packets wait for the end of a pause.

use forebay_discipline::{Backlog, Queue};
use forebay_units::Time;

use super::{Departures, QueuedLink, Resume};

impl QueuedLink {
    /// A pause by a queue behind it begins or ends: of this class, or of the whole link if it has
    /// no classes. What has left before `now` must have been done.
    pub(crate) fn pause(
        &mut self,
        (class, begins): (u8, bool),
        now: Time,
        sink: &mut impl Departures,
    ) {
        let class = usize::from(class);
        let resumes = match &mut self.class_pauses {
            None => self.server.pauses.change(begins, now),
            Some(pauses) => match pauses.change(class, begins, now) {
                Some(is_paused) => self.hold(class, is_paused),
                None => false,
            },
        };
        if resumes {
            let Self { queue, server, .. } = self;
            queue.work(Resume { server, sink, now });
        }
    }

    /// Takes a class out of the schedule, or back into it. Says whether the link, which sends
    /// nothing, has a packet of it to send.
    fn hold(&mut self, class: usize, is_paused: bool) -> bool {
        let Queue::Classes(classes) = &mut self.queue else {
            return false;
        };
        classes.pause(class, is_paused);
        !is_paused && self.server.idle() && classes.backlog_of(class).packets > 0
    }

    /// Time that it was paused from the warm-up's end to `now`.
    pub(crate) fn paused(&self, now: Time) -> Time {
        let of_classes = self.class_pauses.as_ref().map(|pauses| pauses.total(now));
        of_classes.unwrap_or_else(|| self.server.pauses.total(now))
    }

    /// Whether a class has packets to send and is paused; without classes, whether the link is.
    pub(crate) fn is_stalled(&self, class: u8) -> bool {
        let stalled = match &self.class_pauses {
            None => self.server.pauses.stalled,
            Some(pauses) => pauses.are_on(usize::from(class)),
        };
        stalled && self.backlog_of(class).packets > 0
    }

    /// Whether a packet of a flow group that arrives now is sent at once.
    pub(crate) fn sends_at_once(&self, group: u16) -> bool {
        let is_paused = match (&self.class_pauses, &self.queue) {
            (Some(pauses), Queue::Classes(classes)) => pauses.are_on(classes.class_of(group)),
            _ => self.server.pauses.are_on(),
        };
        self.idle() && !is_paused
    }

    /// Whether a packet waits that no pause of a class holds, and follows one in transmission.
    pub(super) fn has_unpaused(&self) -> bool {
        match (&self.class_pauses, &self.queue) {
            (Some(_), Queue::Classes(classes)) => !self.idle() && classes.has_unpaused(),
            _ => true,
        }
    }

    /// Packets and bytes waiting in a class; all of them if it has no classes.
    pub(crate) fn backlog_of(&self, class: u8) -> Backlog {
        match &self.queue {
            Queue::Classes(classes) => classes.backlog_of(usize::from(class)),
            queue => queue.backlog(),
        }
    }

    /// Ends the pauses of its classes. Says whether the link is to send.
    pub(super) fn end_class_pauses(&mut self, end: Time) -> bool {
        let Some(pauses) = &mut self.class_pauses else {
            return false;
        };
        let mut resumes = false;
        for class in pauses.end(end).collect::<Vec<_>>() {
            resumes |= self.hold(class, false);
        }
        resumes
    }
}
