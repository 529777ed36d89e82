//! The capacity of a link as a known function of time, in steps. It gives the packets that are
//! served between two times, and the waiting time of a queue.

use forebay_units::{Rate, RateSteps};

/// Round-trip time of a flow that waits for its timer, in seconds: so long that it sends nothing.
pub(crate) const NO_ARRIVALS: f64 = 1e15;

/// Number of periods up to which departures are computed step by step.
const MAX_STEPPED_PERIODS: f64 = 4.0;

/// A capacity in steps from time 0 on. The last step lasts forever, or all steps repeat. A capacity
/// of 0 is an outage.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitySteps {
    /// Steps of a period, or of all time. The list is never empty, and the first step is at 0 s.
    steps: Vec<Step>,
    period: Option<Period>,
}

/// Capacity from a time on, and the packets that were served before, in seconds and packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    begin: f64,
    capacity: f64,
    before: f64,
}

/// Length of a period in seconds, and the packets that are served in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Period {
    length: f64,
    served: f64,
}

/// A step in time: the number of periods before it, and its index within the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    periods: u64,
    number: usize,
}

/// Packets that leave one after another at one capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Departures {
    /// Packets that leave before the first and before the last of them.
    pub(crate) packets: (f64, f64),
    /// Departure times of the first and the last of them, in seconds after the query time.
    pub(crate) after: (f64, f64),
}

impl CapacitySteps {
    /// Converts the steps of a rate; `capacity` converts a rate to packets per second.
    ///
    /// ```
    /// use forebay_fluid::CapacitySteps;
    /// use forebay_units::{Rate, RateSteps, Time};
    ///
    /// let rate = |bits| Rate::from_bits_per_second(bits);
    /// let steps = [(Time::ZERO, rate(8_000)), (Time::from_secs(10), rate(0))];
    /// let steps = RateSteps::new(&steps, Some(Time::from_secs(12))).unwrap();
    /// let capacity = CapacitySteps::new(&steps, |rate| rate.as_bytes_per_second() / 1000.0);
    /// // One packet a second, and none in two of twelve seconds.
    /// assert_eq!(capacity.served(0.0, 30.0), 26.0);
    /// assert_eq!(capacity.wait(9.0, 3.0), 5.0);
    /// ```
    pub fn new(steps: &RateSteps, capacity: impl Fn(Rate) -> f64) -> Self {
        let mut all: Vec<Step> = Vec::new();
        for (begin, rate) in steps.steps() {
            let begin = begin.as_secs_f64();
            let before = all.last().map_or(0.0, |step| step.until(begin));
            let capacity = capacity(rate);
            all.push(Step {
                begin,
                capacity,
                before,
            });
        }
        let length = steps.repeat().map(forebay_units::Time::as_secs_f64);
        let served = |length| all.last().map_or(0.0, |step| step.until(length));
        let period = length.map(|length| Period {
            length,
            served: served(length),
        });
        Self { steps: all, period }
    }

    /// Number of steps, of a period or of all time.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Number of changes of the capacity in the first `seconds`.
    pub fn changes(&self, seconds: f64) -> f64 {
        let within = |time: f64| self.steps.partition_point(|step| step.begin < time) as f64;
        let (periods, rest) = match self.period {
            Some(period) => {
                let periods = (seconds / period.length).floor();
                (periods, seconds - periods * period.length)
            }
            None => (0.0, seconds),
        };
        (periods * self.steps.len() as f64 + within(rest) - 1.0).max(0.0)
    }

    /// Packets that can be served between two times in seconds.
    pub fn served(&self, from: f64, to: f64) -> f64 {
        let (first, last) = (self.place(from), self.place(to));
        let before = |place: Place, at: f64| {
            let step = &self.steps[place.number];
            step.before + step.capacity * (at - self.begin(place)).max(0.0)
        };
        let periods = (last.periods - first.periods) as f64;
        periods * self.period.map_or(0.0, |period| period.served) + before(last, to)
            - before(first, from)
    }

    /// Seconds from `at` on until `packets` have been served, with all later changes of the
    /// capacity. This is the waiting time of a packet that arrives after them. It is zero for no
    /// packets.
    pub fn wait(&self, at: f64, packets: f64) -> f64 {
        if packets <= 0.0 {
            return 0.0;
        }
        let (place, served) = self.ahead(at, packets, |before, asked| before < asked);
        self.after(at, place, served)
    }

    /// Calls `each` for the packets from number `from` to number `to` that are served from `at` on,
    /// in pieces of one capacity. If they take many periods, they are one piece.
    pub(crate) fn departures(
        &self,
        at: f64,
        (from, to): (f64, f64),
        mut each: impl FnMut(Departures),
    ) {
        let (mut place, mut served) = self.ahead(at, from, |before, asked| before <= asked);
        let whole = self.period.map_or(f64::INFINITY, |period| period.served);
        if to - from > MAX_STEPPED_PERIODS * whole {
            let after = (self.after(at, place, served), self.wait(at, to));
            let packets = (from, to);
            return each(Departures { packets, after });
        }
        // A smaller number of packets beyond a change is a rounding error.
        let few = 1e-9 * (to - from) + 4.0 * f64::EPSILON * (served + to - from);
        let mut first = from;
        loop {
            let room = self.end_of(place) - served;
            let last = if first + room + few < to {
                first + room
            } else {
                to
            };
            if last >= to || room > few {
                let leaves = |packets: f64| self.after(at, place, served + (packets - first));
                let after = (leaves(first), leaves(last));
                let packets = (first, last);
                each(Departures { packets, after });
            }
            if last >= to {
                return;
            }
            if room > few {
                first = last;
            }
            let Some(next) = self.next(place) else {
                return;
            };
            served = self.steps[next.number].before;
            place = next;
        }
    }

    /// The capacity of a step, in packets per second.
    pub(crate) fn capacity(&self, place: Place) -> f64 {
        self.steps[place.number].capacity
    }

    /// The highest capacity, in packets per second.
    pub(crate) fn highest(&self) -> f64 {
        let capacities = self.steps.iter().map(|step| step.capacity);
        capacities.fold(0.0, f64::max)
    }

    /// The longest step with capacity 0, in seconds. A last step without end does not count.
    pub(crate) fn longest_outage(&self) -> f64 {
        let ends = self.steps.iter().skip(1).map(|step| step.begin);
        let ends = ends.chain(self.period.map(|period| period.length));
        let outages = self.steps.iter().zip(ends);
        let outages = outages.filter(|(step, _)| step.capacity == 0.0);
        outages.fold(0.0, |longest, (step, end)| longest.max(end - step.begin))
    }

    /// Start of a step, in seconds.
    pub(crate) fn begin(&self, Place { periods, number }: Place) -> f64 {
        let before = self
            .period
            .map_or(0.0, |period| periods as f64 * period.length);
        before + self.steps[number].begin
    }

    /// The next step; `None` after the last one.
    pub(crate) fn next(&self, Place { periods, number }: Place) -> Option<Place> {
        let next = Place {
            periods,
            number: number + 1,
        };
        if next.number < self.steps.len() {
            return Some(next);
        }
        self.period.map(|_| Place {
            periods: periods + 1,
            number: 0,
        })
    }

    /// The step that contains a time in seconds.
    pub(crate) fn place(&self, at: f64) -> Place {
        let (periods, within) = match self.period {
            Some(period) => {
                let periods = (at / period.length).floor();
                (periods, at - periods * period.length)
            }
            None => (0.0, at),
        };
        let number = self.steps.partition_point(|step| step.begin <= within);
        Place {
            periods: periods as u64,
            number: number.saturating_sub(1),
        }
    }

    /// The step in which the last of `packets` packets from `at` on is served, and the packets of
    /// its period that are served by then. `comes` compares the packets before a step with the
    /// number asked for: it returns whether the step is entered.
    fn ahead(&self, at: f64, packets: f64, comes: impl Fn(f64, f64) -> bool) -> (Place, f64) {
        let now = self.place(at);
        let step = &self.steps[now.number];
        let mut served = step.before + step.capacity * (at - self.begin(now)).max(0.0) + packets;
        let mut periods = now.periods;
        if let Some(period) = self.period
            && comes(period.served, served)
        {
            let whole = (served / period.served).floor();
            // The last whole period is not over before its last packet.
            let over = comes(0.0, served - whole * period.served);
            let whole = if over { whole } else { whole - 1.0 };
            served -= whole * period.served;
            periods += whole as u64;
        }
        let number = self
            .steps
            .partition_point(|step| comes(step.before, served));
        let number = number.saturating_sub(1);
        (Place { periods, number }, served)
    }

    /// Seconds from `at` on until `served` packets of the step's period have been served.
    fn after(&self, at: f64, place: Place, served: f64) -> f64 {
        let step = &self.steps[place.number];
        let left = (served - step.before).max(0.0);
        let time = if left > 0.0 {
            left / step.capacity
        } else {
            0.0
        };
        (self.begin(place) - at + time).max(0.0)
    }

    /// Packets of the period that have been served when a step ends.
    fn end_of(&self, place: Place) -> f64 {
        match (self.steps.get(place.number + 1), self.period) {
            (Some(next), _) => next.before,
            (None, Some(period)) => period.served,
            (None, None) => f64::INFINITY,
        }
    }
}

impl Step {
    /// Packets that have been served until `end`, which lies in the step.
    fn until(&self, end: f64) -> f64 {
        self.before + self.capacity * (end - self.begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::{Bytes, Time, Work};
    use proptest::prelude::*;

    /// Steps of rates and of capacities, with one byte per packet.
    fn both(list: &[(u64, u64)], repeats: bool) -> Option<(RateSteps, CapacitySteps)> {
        let mut end = Time::ZERO;
        let mut at = Vec::new();
        for &(millis, bytes) in list {
            at.push((end, Rate::from_bits_per_second(8 * bytes)));
            end += Time::from_picos(millis * 1_000_000_000);
        }
        let steps = RateSteps::new(&at, repeats.then_some(end)).ok()?;
        let capacity = CapacitySteps::new(&steps, Rate::as_bytes_per_second);
        Some((steps, capacity))
    }

    fn any_steps() -> impl Strategy<Value = (RateSteps, CapacitySteps)> {
        let rates = prop::sample::select(vec![0_u64, 0, 1, 70, 4000, 999_983]);
        let list = prop::collection::vec((1_u64..5000, rates), 1..7);
        (list, any::<bool>()).prop_filter_map("a rate of zero for ever", |(list, repeats)| {
            both(&list, repeats)
        })
    }

    proptest! {
        /// The served packets and the waiting times equal those of the exact steps.
        #[test]
        fn what_is_served_is_what_the_rate_sends(
            (steps, capacity) in any_steps(), from in 0.0..40.0_f64, span in 0.0..40.0_f64,
            packets in 1_u64..200_000,
        ) {
            let time = |seconds: f64| Time::from_picos((seconds * 1e12) as u64);
            let before = steps.work(time(from));
            let sent = steps.work(time(from + span)).saturating_sub(before).bits() / 8.0;
            let served = capacity.served(from, from + span);
            prop_assert!((served - sent).abs() < 1e-9 * (sent + 1e5), "{} {}", served, sent);
            let (end, _) = steps.reach(before + Work::of(Bytes::new(packets)));
            let wait = capacity.wait(from, packets as f64);
            let expected = end.as_secs_f64() - from;
            // Near an outage a rounding error decides whether it is waited for; the served packets
            // are the same.
            let same = capacity.served(from, from + wait) - packets as f64;
            prop_assert!((wait - expected).abs() < 1e-7 * (1.0 + expected) || same.abs() < 1e-6 * packets as f64,
                "{} {} {}", wait, expected, same);
        }

        /// Departures follow one another without a gap. Each piece has one capacity, and begins
        /// when all earlier packets have been served.
        #[test]
        fn departures_are_when_what_is_before_them_is_served(
            (_, capacity) in any_steps(), at in 0.0..40.0_f64, from in 0.0..1e4_f64, more in 0.0..1e4_f64,
        ) {
            let mut pieces = Vec::new();
            capacity.departures(at, (from, from + more), |piece| pieces.push(piece));
            let mut reached = (from, 0.0);
            for piece in &pieces {
                prop_assert_eq!(piece.packets.0, reached.0);
                prop_assert!(piece.after.0 >= reached.1 - 1e-9);
                reached = (piece.packets.1, piece.after.1);
                for (packets, after) in [(piece.packets.0, piece.after.0), (piece.packets.1, piece.after.1)] {
                    let served = capacity.served(at, at + after);
                    prop_assert!((served - packets).abs() < 1e-6 * (packets + 1.0), "{:?} {}", piece, served);
                }
                let middle = 0.5 * (piece.packets.0 + piece.packets.1);
                let straight = 0.5 * (piece.after.0 + piece.after.1);
                let period = capacity.period.map_or(0.0, |period| period.length);
                let off = (capacity.wait(at, middle) - straight).abs();
                prop_assert!(off < 1e-6 * (1.0 + straight) || pieces.len() == 1 && off <= period, "{:?} {}", piece, off);
            }
            prop_assert!(more == 0.0 || reached.0 == from + more);
        }

        /// The number of changes equals that of a walk from step to step.
        #[test]
        fn changes_are_counted_as_they_are_met((_, capacity) in any_steps(), until in 0.001..40.0_f64) {
            let mut met = 0;
            let mut place = capacity.place(0.0);
            while let Some(next) = capacity.next(place).filter(|next| capacity.begin(*next) < until) {
                prop_assert_eq!(capacity.place(capacity.begin(next) + 1e-9), next);
                (place, met) = (next, met + 1);
            }
            prop_assert_eq!(capacity.changes(until), f64::from(met));
        }
    }

    /// The capacity is one packet a second for two seconds, zero for three, and three a second for
    /// one.
    #[test]
    fn an_outage_is_waited_for() {
        let (_, capacity) = both(&[(2000, 1), (3000, 0), (1000, 3)], true).unwrap();
        assert_eq!((capacity.highest(), capacity.longest_outage()), (3.0, 3.0));
        let waits = [0.0, 1.0, 2.0, 3.5, 5.0, 6.0, 12.0].map(|packets| capacity.wait(0.0, packets));
        assert_eq!(waits, [0.0, 1.0, 2.0, 5.5, 6.0, 7.0, 14.0]);
        // A packet that arrives at the start of the outage, with an empty queue, leaves at its end.
        let mut pieces = Vec::new();
        capacity.departures(2.0, (0.0, 4.0), |piece| pieces.push(piece));
        let piece = |packets, after| Departures { packets, after };
        let expected = [piece((0.0, 3.0), (3.0, 4.0)), piece((3.0, 4.0), (4.0, 5.0))];
        assert_eq!(pieces, expected);
    }
}
