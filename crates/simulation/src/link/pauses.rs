//! The time of pauses: of a link by lossless queues behind it, or by a queue of its senders. A link
//! asks before each packet whether it may send.

use forebay_units::Time;

/// The pauses of a link by the queues behind it, or of all senders by a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pauses {
    /// Pauses that have begun, less those that have ended. Frames of one instant come in any order,
    /// so that it may be negative in between.
    by: i32,
    since: Time,
    /// Time that it was paused since the warm-up, up to `since` if it is paused now.
    total: Time,
    /// Whether it would send if it were not paused.
    pub(crate) stalled: bool,
}

impl Pauses {
    /// No pause after pauses of this time.
    pub(crate) fn over(total: Time) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Whether this many have begun and not ended.
    pub(crate) fn are(&self, count: usize) -> bool {
        usize::try_from(self.by) == Ok(count)
    }

    /// Whether a queue pauses the link.
    pub(crate) fn are_on(&self) -> bool {
        self.by > 0
    }

    /// A pause begins or ends at `now`. Says whether the link, which was stalled, is to send.
    pub(crate) fn change(&mut self, begins: bool, now: Time) -> bool {
        let was_on = self.are_on();
        self.by += if begins { 1 } else { -1 };
        match (was_on, self.are_on()) {
            (false, true) => self.since = now,
            (true, false) => {
                self.total += now - self.since;
                return std::mem::take(&mut self.stalled);
            }
            _ => {}
        }
        false
    }

    /// Time that it was paused from the warm-up's end to `now`.
    pub(crate) fn total(&self, now: Time) -> Time {
        if self.are_on() {
            return self.total + now.saturating_sub(self.since);
        }
        self.total
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.total, self.since) = (Time::ZERO, now);
    }
}

/// The pauses of the classes of a link.
#[derive(Clone, Debug)]
pub(crate) struct ClassPauses {
    each: Vec<Pauses>,
    /// The pauses of any class.
    any: Pauses,
}

impl ClassPauses {
    /// No pauses of `count` classes.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            each: vec![Pauses::default(); count],
            any: Pauses::default(),
        }
    }

    /// A pause of a class begins or ends at `now`. Says whether the class is paused from now on, if
    /// that changes.
    pub(crate) fn change(&mut self, class: usize, begins: bool, now: Time) -> Option<bool> {
        let each = &mut self.each[class];
        let was_on = each.are_on();
        each.change(begins, now);
        self.any.change(begins, now);
        (each.are_on() != was_on).then(|| each.are_on())
    }

    /// Whether a class is paused.
    pub(crate) fn are_on(&self, class: usize) -> bool {
        self.each[class].are_on()
    }

    /// Ends all pauses: the paused classes. The time of the pauses remains.
    pub(crate) fn end(&mut self, now: Time) -> impl Iterator<Item = usize> {
        self.any = Pauses::over(self.any.total(now));
        let each = self.each.iter_mut().enumerate();
        each.filter_map(|(class, each)| std::mem::take(each).are_on().then_some(class))
    }

    /// Time that a class was paused from the warm-up's end to `now`.
    pub(crate) fn total(&self, now: Time) -> Time {
        self.any.total(now)
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        self.any.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_instant_may_come_in_any_order() {
        let at = Time::from_millis;
        let mut pauses = Pauses::default();
        // The end of a pause before its beginning.
        assert!(!pauses.change(false, at(1)) && !pauses.change(true, at(1)));
        assert!(!pauses.are_on() && pauses.total(at(2)) == Time::ZERO);
        // Two queues: the link sends again after the last of their pauses.
        pauses.change(true, at(3));
        pauses.stalled = true;
        assert!(!pauses.change(true, at(4)) && !pauses.change(false, at(5)));
        assert_eq!(pauses.total(at(6)), at(3));
        assert!(pauses.change(false, at(7)));
        assert_eq!((pauses.stalled, pauses.total(at(9))), (false, at(4)));
    }
}
