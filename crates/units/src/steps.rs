//! Rates that are a known function of time, constant between steps. The work sent is counted
//! exactly, as an integer. A packet that straddles a step is sent partly at each rate.

use crate::{Bytes, Rate, TICKS_PER_SECOND, Time};

/// Work of a link: an amount of bits. The unit is the amount that a rate of 1 bit/s sends in a
/// tick.
///
/// ```
/// use forebay_units::{Bytes, Work};
///
/// assert_eq!(Work::of(Bytes::new(1)).bits(), 8.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work(u128);

impl Work {
    /// No work.
    pub const ZERO: Self = Self(0);

    /// The work of sending `size` bytes.
    #[inline]
    pub const fn of(size: Bytes) -> Self {
        Self(size.get() as u128 * 8 * TICKS_PER_SECOND as u128)
    }

    /// The work that `rate` does in `time`.
    #[inline]
    pub const fn at(rate: Rate, time: Time) -> Self {
        Self(rate.as_bits_per_second() as u128 * time.as_picos() as u128)
    }

    /// A part of a tick's work: the remainder if a departure is rounded down to a tick.
    #[inline]
    pub const fn rest(rest: u64) -> Self {
        Self(rest as u128)
    }

    /// `parts / whole` of this work, rounded down.
    ///
    /// ```
    /// use forebay_units::{Bytes, Work};
    ///
    /// assert_eq!(Work::of(Bytes::new(10)).part(3, 5), Work::of(Bytes::new(6)));
    /// ```
    #[must_use]
    pub const fn part(self, parts: u64, whole: u64) -> Self {
        Self(
            self.0 / whole as u128 * parts as u128
                + self.0 % whole as u128 * parts as u128 / whole as u128,
        )
    }

    /// This work in bits.
    pub fn bits(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }

    /// Time that `rate` needs for this work, rounded up to a tick.
    ///
    /// ```
    /// use forebay_units::{Bytes, Rate, Time, Work};
    ///
    /// let rate = Rate::from_bits_per_second(3);
    /// assert_eq!(Work::of(Bytes::new(1)).time_at(rate), Time::from_picos(2_666_666_666_667));
    /// assert_eq!(Work::ZERO.time_at(rate), Time::ZERO);
    /// ```
    pub fn time_at(self, rate: Rate) -> Time {
        let ticks = self
            .0
            .div_ceil(u128::from(rate.as_bits_per_second()).max(1));
        Time::from_picos(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// Time that `rate` needs for this work, rounded down to a tick; zero if the rate is zero.
    pub fn whole_time_at(self, rate: Rate) -> Time {
        let ticks = self.0.checked_div(u128::from(rate.as_bits_per_second()));
        ticks.map_or(Time::ZERO, |ticks| {
            Time::from_picos(u64::try_from(ticks).unwrap_or(u64::MAX))
        })
    }

    /// `count` times this work.
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count as u128))
    }

    /// The number of units of size `each` that begin in this work.
    ///
    /// ```
    /// use forebay_units::{Bytes, Work};
    ///
    /// let work = |bytes| Work::of(Bytes::new(bytes));
    /// assert_eq!([2999, 3000, 3001].map(|bytes| work(bytes).count(work(1500))), [2, 2, 3]);
    /// ```
    pub fn count(self, each: Self) -> u64 {
        u64::try_from(self.0.div_ceil(each.0.max(1))).unwrap_or(u64::MAX)
    }

    /// `self - other`, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Work {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// The error in a list of steps. Steps are counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsError {
    /// There is no step.
    Empty,
    /// The first step is not at time zero.
    LateStart,
    /// This step is not later than its predecessor.
    Unsorted(usize),
    /// The period ends before the last step, this one, begins.
    ShortPeriod(usize),
    /// The rate is zero from this step on for ever.
    ZeroForEver(usize),
}

/// A rate in steps from time zero on. The last step lasts for ever, or all steps repeat.
///
/// ```
/// use forebay_units::{Bytes, Rate, RateSteps, Time};
///
/// let rate = |text: &str| text.parse::<Rate>().unwrap();
/// let steps = [(Time::ZERO, rate("50Mbps")), (Time::from_secs(10), rate("5Mbps"))];
/// let steps = RateSteps::new(&steps, Some(Time::from_secs(20))).unwrap();
/// assert_eq!(steps.phase(Time::from_secs(31)).rate, rate("5Mbps"));
/// assert_eq!(steps.work(Time::from_secs(20)).bits(), 550e6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps {
    /// The steps of a period or of all time: never empty, the first at zero, neighbors with
    /// different rates.
    steps: Vec<Step>,
    /// The period, and the work of a period.
    period: Option<(Time, Work)>,
}

/// A rate from a time on, and the work done before that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    begin: Time,
    rate: Rate,
    before: Work,
}

/// An interval of constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The rate.
    pub rate: Rate,
    /// The beginning of the interval.
    pub begin: Time,
    /// The end of the interval; [`Time::MAX`] for the last one.
    pub end: Time,
}

/// Checks that steps are a function of time and returns the number of the last one.
pub(crate) fn check<T>(list: &[(Time, T)], repeat: Option<Time>) -> Result<usize, StepsError> {
    let last = list.len().checked_sub(1).ok_or(StepsError::Empty)?;
    if list[0].0 > Time::ZERO {
        return Err(StepsError::LateStart);
    }
    if let Some(at) = list.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        return Err(StepsError::Unsorted(at + 1));
    }
    if repeat.is_some_and(|repeat| repeat <= list[last].0) {
        return Err(StepsError::ShortPeriod(last));
    }
    Ok(last)
}

impl RateSteps {
    /// A rate with these steps (beginning, rate), repeated with the period `repeat` if it is given.
    ///
    /// # Errors
    /// Steps that are not a function of time, or whose rate is zero for ever.
    pub fn new(list: &[(Time, Rate)], repeat: Option<Time>) -> Result<Self, StepsError> {
        let last = check(list, repeat)?;
        let zero = Rate::from_bits_per_second(0);
        let lasting = if repeat.is_some() {
            list
        } else {
            &list[last..]
        };
        if lasting.iter().all(|(_, rate)| *rate == zero) {
            return Err(StepsError::ZeroForEver(list.len() - lasting.len()));
        }
        let mut steps: Vec<Step> = Vec::new();
        for &(begin, rate) in list {
            let before = steps.last().map_or(Work::ZERO, |step| step.until(begin));
            if steps.last().is_none_or(|step| step.rate != rate) {
                steps.push(Step {
                    begin,
                    rate,
                    before,
                });
            }
        }
        let sent = |end| steps.last().map_or(Work::ZERO, |step| step.until(end));
        let period = repeat.map(|end| (end, sent(end)));
        Ok(Self { steps, period })
    }

    /// The rate, if it is always the same.
    pub fn constant(&self) -> Option<Rate> {
        match &self.steps[..] {
            [step] => Some(step.rate),
            _ => None,
        }
    }

    /// The beginning and the rate of each step.
    pub fn steps(&self) -> impl Iterator<Item = (Time, Rate)> {
        self.steps.iter().map(|step| (step.begin, step.rate))
    }

    /// The period of the steps, if they repeat.
    pub fn repeat(&self) -> Option<Time> {
        self.period.map(|(period, _)| period)
    }

    /// The same steps with each rate changed. A rate of zero stays zero.
    pub fn map(&self, change: impl Fn(Rate) -> Rate) -> Self {
        let zero = Rate::from_bits_per_second(0);
        let changed = |(begin, rate)| (begin, if rate == zero { rate } else { change(rate) });
        let list: Vec<_> = self.steps().map(changed).collect();
        Self::new(&list, self.repeat()).unwrap_or_else(|_| self.clone())
    }

    /// The same rate, with zero during these outages (beginning, end). The result is exact at least
    /// until `end`. The outages are sorted and do not overlap.
    pub fn interrupted(&self, outages: &[(Time, Time)], end: Time) -> Self {
        let zero = Rate::from_bits_per_second(0);
        let (mut at, mut list) = (Time::ZERO, Vec::new());
        let mut outages = outages.iter().peekable();
        loop {
            while outages.next_if(|(_, over)| *over <= at).is_some() {}
            let phase = self.phase(at);
            let (rate, until) = match outages.peek() {
                Some((begin, over)) if *begin <= at => (zero, *over),
                Some((begin, _)) => (phase.rate, phase.end.min(*begin)),
                None => (phase.rate, phase.end),
            };
            list.push((at, rate));
            if until == Time::MAX || at >= end && rate > zero {
                break;
            }
            at = until;
        }
        Self::new(&list, None).unwrap_or_else(|_| self.clone())
    }

    /// The interval of constant rate that contains `at`.
    pub fn phase(&self, at: Time) -> Phase {
        let (periods, within) = self.periods(at);
        let number = self.steps.partition_point(|step| step.begin <= within) - 1;
        let begun = |within: Time| match self.period {
            Some((period, _)) => (period * periods).saturating_add(within),
            None => within,
        };
        let next = self.steps.get(number + 1).map(|step| step.begin);
        let end = next.or(self.repeat());
        Phase {
            rate: self.steps[number].rate,
            begin: begun(self.steps[number].begin),
            end: end.map_or(Time::MAX, begun),
        }
    }

    /// The interval that contains `at`, if its rate is above zero; otherwise the last such interval
    /// before it. If there is none before, the first such interval.
    pub fn sending(&self, at: Time) -> Phase {
        let zero = Rate::from_bits_per_second(0);
        let mut phase = self.phase(at);
        while phase.rate == zero && phase.begin > Time::ZERO {
            phase = self.phase(phase.begin - Time::from_picos(1));
        }
        if phase.rate == zero {
            phase = self.phase(phase.end);
        }
        phase
    }

    /// The next time, at or after `from`, at which the rate falls; `None` if it never falls.
    pub fn next_fall(&self, from: Time) -> Option<Time> {
        let before = from.as_picos().checked_sub(1).map(Time::from_picos);
        let mut phase = self.phase(before.unwrap_or(from));
        // One period contains each change of the rate.
        for _ in 0..=self.steps.len() {
            if phase.end == Time::MAX {
                return None;
            }
            let next = self.phase(phase.end);
            if next.rate < phase.rate {
                return Some(next.begin);
            }
            phase = next;
        }
        None
    }

    /// The work done until `at`.
    pub fn work(&self, at: Time) -> Work {
        let (periods, within) = self.periods(at);
        let number = self.steps.partition_point(|step| step.begin <= within) - 1;
        let before = self
            .period
            .map_or(0, |(_, sent)| sent.0 * u128::from(periods));
        Work(before) + self.steps[number].until(within)
    }

    /// The first time at which `work` is done, rounded down to a tick, and the remaining part of
    /// that tick.
    pub fn reach(&self, work: Work) -> (Time, u64) {
        let Some(last) = work.0.checked_sub(1) else {
            return (Time::ZERO, 0);
        };
        let (before, begun) = match self.period {
            Some((period, sent)) => {
                let periods = u64::try_from(last / sent.0).unwrap_or(u64::MAX);
                (sent.0 * u128::from(periods), period * periods)
            }
            None => (0, Time::ZERO),
        };
        let within = work.0 - before;
        // More than the work before the step, so that the step does some work.
        let number = self.steps.partition_point(|step| step.before.0 < within);
        let step = self.steps[number.max(1) - 1];
        let rate = u128::from(step.rate.as_bits_per_second()).max(1);
        let left = within - step.before.0;
        let ticks = u64::try_from(left / rate).unwrap_or(u64::MAX);
        let time = (begun + step.begin).saturating_add(Time::from_picos(ticks));
        (time, (left % rate) as u64)
    }

    /// The mean rate between two times, in bits per second; zero if they are equal.
    pub fn mean(&self, from: Time, to: Time) -> f64 {
        let sent = self.work(to).saturating_sub(self.work(from)).bits();
        let seconds = to.saturating_sub(from).as_secs_f64();
        if seconds > 0.0 { sent / seconds } else { 0.0 }
    }

    /// The highest rate of all steps.
    pub fn highest(&self) -> Rate {
        self.steps().map(|(_, rate)| rate).max().unwrap_or_default()
    }

    /// The number of whole periods before `at`, and the time within the period that follows.
    fn periods(&self, at: Time) -> (u64, Time) {
        match self.period {
            Some((period, _)) => {
                let (at, period) = (at.as_picos(), period.as_picos());
                (at / period, Time::from_picos(at % period))
            }
            None => (0, at),
        }
    }
}

impl Step {
    /// The work done until `end`, which lies in the step.
    fn until(&self, end: Time) -> Work {
        self.before + Work::at(self.rate, end.saturating_sub(self.begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits)
    }

    /// A rate of one bit per tick for two ticks, zero for three ticks, three bits per tick for one
    /// tick.
    fn tiny(repeat: Option<u64>) -> RateSteps {
        let bits = |bits| rate(bits * TICKS_PER_SECOND);
        let list = [(0, bits(1)), (2, bits(0)), (5, bits(3))];
        let list = list.map(|(begin, rate)| (Time::from_picos(begin), rate));
        RateSteps::new(&list, repeat.map(Time::from_picos)).unwrap()
    }

    #[test]
    fn an_outage_is_passed_over() {
        let steps = tiny(Some(6));
        let bits = |bits: u128| Work(bits * u128::from(TICKS_PER_SECOND));
        let sent: Vec<f64> = (0..14)
            .map(|at| steps.work(Time::from_picos(at)).bits())
            .collect();
        let by_hand = [0, 1, 2, 2, 2, 2, 5, 6, 7, 7, 7, 7, 10, 11].map(f64::from);
        assert_eq!(sent, by_hand);
        let reached = |work| steps.reach(bits(work)).0.as_picos();
        // Work that is complete when an outage begins is complete at that time, not at the end of
        // the outage.
        assert_eq!(
            [0, 1, 2, 3, 5, 6, 7, 10].map(reached),
            [0, 1, 2, 5, 6, 7, 8, 12]
        );
        assert_eq!(tiny(None).work(Time::from_picos(10)), bits(2 + 15));
        // Work that is complete when a period ends is complete at that time, too.
        let ends = tiny(None).steps().take(2).collect::<Vec<_>>();
        let ends = RateSteps::new(&ends, Some(Time::from_picos(5))).unwrap();
        assert_eq!(
            [2, 3, 4].map(|work| ends.reach(bits(work)).0.as_picos()),
            [2, 6, 7]
        );
    }

    #[test]
    fn phases_follow_one_another_without_end() {
        let steps = tiny(Some(6));
        let mut at = Time::ZERO;
        for begin in [0, 2, 5, 6, 8, 11, 12, 14] {
            let phase = steps.phase(at);
            assert_eq!(phase.begin, Time::from_picos(begin));
            at = phase.end;
        }
        assert_eq!(tiny(None).phase(Time::from_secs(1)).end, Time::MAX);
    }

    #[test]
    fn a_fall_is_where_a_rate_becomes_lower() {
        let falls = |steps: &RateSteps| {
            let next = |from| steps.next_fall(Time::from_picos(from));
            let next = |from| next(from).map(Time::as_picos);
            (0..=8).map(next).collect::<Vec<_>>()
        };
        // The rates are 1, 1, 0, 0, 0, 3 and repeat. They fall after two ticks and at each new
        // period.
        let by_hand = [2, 2, 2, 6, 6, 6, 6, 8, 8].map(Some);
        assert_eq!(falls(&tiny(Some(6))), by_hand);
        let mut once = [None; 9];
        once[..3].fill(Some(2));
        assert_eq!(falls(&tiny(None)), once);
        let rises = [(Time::ZERO, rate(1)), (Time::from_picos(3), rate(2))];
        let rises = RateSteps::new(&rises, None).unwrap();
        assert_eq!(falls(&rises), [None; 9]);
        let constant = RateSteps::new(&[(Time::ZERO, rate(7))], Some(Time::from_picos(2)));
        assert_eq!(falls(&constant.unwrap()), [None; 9]);
    }

    #[test]
    fn what_is_no_rate_in_steps_is_refused() {
        let second = |count| Time::from_secs(count);
        let new = |list: &[(Time, Rate)], repeat: Option<u64>| {
            RateSteps::new(list, repeat.map(Time::from_secs)).unwrap_err()
        };
        assert_eq!(new(&[], None), StepsError::Empty);
        assert_eq!(new(&[(second(1), rate(5))], None), StepsError::LateStart);
        let twice = [
            (second(0), rate(5)),
            (second(2), rate(6)),
            (second(2), rate(7)),
        ];
        assert_eq!(new(&twice, None), StepsError::Unsorted(2));
        assert_eq!(new(&twice[..2], Some(2)), StepsError::ShortPeriod(1));
        let ends = [(second(0), rate(5)), (second(2), rate(0))];
        assert_eq!(new(&ends, None), StepsError::ZeroForEver(1));
        assert!(RateSteps::new(&ends, Some(second(3))).is_ok());
        assert_eq!(
            new(&[(second(0), rate(0))], Some(3)),
            StepsError::ZeroForEver(0)
        );
    }

    #[test]
    fn steps_of_one_rate_are_that_rate() {
        let list: Vec<_> = (0..10).map(|at| (Time::from_secs(at), rate(7))).collect();
        let steps = RateSteps::new(&list, Some(Time::from_secs(11))).unwrap();
        assert_eq!(steps.constant(), Some(rate(7)));
        assert_eq!(tiny(None).constant(), None);
    }

    fn any_steps() -> impl Strategy<Value = RateSteps> {
        let step = (1u64..5_000_000_000, 0u64..3_000_000_000);
        (prop::collection::vec(step, 1..8), any::<bool>()).prop_filter_map(
            "a rate of zero for ever",
            |(steps, repeats)| {
                let mut end = Time::ZERO;
                let mut list = Vec::new();
                for (length, bits) in steps {
                    list.push((end, rate(bits.saturating_sub(1_000_000_000))));
                    end += Time::from_picos(length);
                }
                RateSteps::new(&list, repeats.then_some(end)).ok()
            },
        )
    }

    proptest! {
        /// The work is the integral of the rate, interval by interval.
        #[test]
        fn work_is_the_integral_of_the_rate(steps in any_steps(), end in 0u64..50_000_000_000) {
            let end = Time::from_picos(end);
            let (mut at, mut sum) = (Time::ZERO, Work::ZERO);
            while at < end {
                let phase = steps.phase(at);
                prop_assert!(phase.begin == at && phase.end > at);
                sum = sum + Work::at(phase.rate, phase.end.min(end) - at);
                at = phase.end;
            }
            prop_assert_eq!(steps.work(end), sum);
        }

        /// The rate does not fall between two falls, and it falls at each of them.
        #[test]
        fn falls_are_all_there_are(steps in any_steps(), end in 0u64..50_000_000_000) {
            let end = Time::from_picos(end);
            let (mut at, mut before, mut falls) = (Time::ZERO, None, Vec::new());
            while at < end {
                let phase = steps.phase(at);
                if before.is_some_and(|before| phase.rate < before) {
                    falls.push(at);
                }
                (at, before) = (phase.end, Some(phase.rate));
            }
            let (mut found, mut from) = (Vec::new(), Time::ZERO);
            while let Some(fall) = steps.next_fall(from).filter(|fall| *fall < end) {
                found.push(fall);
                from = fall + Time::from_picos(1);
            }
            prop_assert_eq!(found, falls);
        }

        /// During an outage no work is done. Outside of outages the work is the same.
        #[test]
        fn outages_take_what_they_would_have_sent(
            steps in any_steps(),
            outages in prop::collection::vec((1u64..3_000_000_000, 1u64..2_000_000_000), 0..8),
            end in 1u64..40_000_000_000,
        ) {
            let (mut now, mut list) = (Time::ZERO, Vec::new());
            for (gap, long) in outages {
                let begin = now + Time::from_picos(gap);
                now = begin + Time::from_picos(long);
                list.push((begin, now));
            }
            let end = Time::from_picos(end);
            let cut = steps.interrupted(&list, end);
            let clip = |at: Time| at.min(end);
            let lost = list.iter().map(|&(begin, over)| {
                steps.work(clip(over)).saturating_sub(steps.work(clip(begin)))
            });
            let lost = lost.fold(Work::ZERO, |sum, work| sum + work);
            prop_assert_eq!(cut.work(end) + lost, steps.work(end));
            for &(begin, over) in &list {
                prop_assert_eq!(cut.work(clip(over)), cut.work(clip(begin)));
            }
        }

        /// The time is the first at which the work is done, to a part of a tick.
        #[test]
        fn what_is_reached_has_been_sent(steps in any_steps(), bits in 1u64..40_000_000) {
            let work = Work(u128::from(bits) * u128::from(TICKS_PER_SECOND) + 17);
            let (time, rest) = steps.reach(work);
            prop_assert_eq!(steps.work(time) + Work::rest(rest), work);
            prop_assert!(time == Time::ZERO || steps.work(time - Time::from_picos(1)) < work);
            let whole = u64::from(rest > 0);
            prop_assert!(steps.work(time.saturating_add(Time::from_picos(whole))) >= work);
        }
    }
}
