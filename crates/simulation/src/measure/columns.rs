//! Columns of simulated time: the smallest, the largest and the mean value of a quantity in each,
//! and counts. A column is 2^k ticks wide. If the run needs more columns than there may be,
//! neighbors merge, so that memory is bounded. All sums are integers: the columns at an instant
//! depend on the quantity and on that instant alone, not on how often they were brought up to date.

use forebay_units::Time;

/// The base-2 logarithm of the width of the first columns, in picoseconds: about a nanosecond.
const NARROWEST: u32 = 10;

/// The division of a run into columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The base-2 logarithm of the width, in picoseconds.
    shift: u32,
    most: usize,
}

impl Scale {
    /// A division into `most` columns at most.
    ///
    /// # Panics
    /// If `most` is zero.
    pub fn new(most: usize) -> Self {
        assert!(most > 0, "a run has one column at least");
        Self {
            shift: NARROWEST,
            most,
        }
    }

    /// The width of a column.
    pub fn width(self) -> Time {
        Time::from_picos(1 << self.shift)
    }

    /// Number of the column that contains this instant.
    #[inline]
    pub fn column(self, time: Time) -> usize {
        (time.as_picos() >> self.shift) as usize
    }

    /// Widens the columns until they cover everything before `end`. Returns whether all must merge,
    /// again and again while it does.
    #[inline]
    fn widen(&mut self, end: Time) -> bool {
        let last = end.as_picos().saturating_sub(1) >> self.shift;
        let wide = last >= self.most as u64;
        self.shift += u32::from(wide);
        wide
    }
}

/// A content of columns that can be merged.
trait Merge: Copy + Default {
    fn merge(&mut self, later: Self);
}

fn merge_pairs<T: Merge>(columns: &mut Vec<T>) {
    let half = columns.len().div_ceil(2);
    for at in 0..half {
        let mut merged = columns[2 * at];
        if let Some(&later) = columns.get(2 * at + 1) {
            merged.merge(later);
        }
        columns[at] = merged;
    }
    columns.truncate(half);
}

/// The values of a quantity in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The smallest value.
    pub least: u64,
    /// The largest value.
    pub most: u64,
    /// The sum of the values, each times its ticks.
    pub sum: u128,
    /// Ticks in which there was a value.
    pub ticks: u64,
}

impl Default for Level {
    fn default() -> Self {
        Self {
            least: u64::MAX,
            most: 0,
            sum: 0,
            ticks: 0,
        }
    }
}

impl Level {
    /// The mean over time; `None` if there was no value.
    pub fn mean(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.sum as f64 / self.ticks as f64)
    }

    #[inline]
    fn add(&mut self, value: u64, ticks: u64) {
        self.merge(Self {
            least: value,
            most: value,
            sum: u128::from(value) * u128::from(ticks),
            ticks,
        });
    }
}

impl Merge for Level {
    #[inline]
    fn merge(&mut self, later: Self) {
        self.least = self.least.min(later.least);
        self.most = self.most.max(later.most);
        self.sum += later.sum;
        self.ticks += later.ticks;
    }
}

/// A quantity that changes at instants, in columns. A value that lasts for no time does not count.
#[derive(Clone, Debug)]
pub struct Levels {
    scale: Scale,
    /// The present value, if there is one, and since when it is accounted for.
    value: Option<u64>,
    since: Time,
    columns: Vec<Level>,
}

impl Levels {
    /// A quantity with this value from the beginning of the run.
    pub fn new(scale: Scale, value: Option<u64>) -> Self {
        Self {
            scale,
            value,
            since: Time::ZERO,
            columns: Vec::new(),
        }
    }

    /// The present value.
    #[inline]
    pub fn value(&self) -> Option<u64> {
        self.value
    }

    /// The quantity has another value from now on.
    #[inline]
    pub fn set(&mut self, now: Time, value: Option<u64>) {
        self.extend(now);
        self.value = value;
    }

    /// Accounts for the time before `now`.
    #[inline]
    pub fn extend(&mut self, now: Time) {
        if now <= self.since {
            return;
        }
        let at = self.scale.column(self.since);
        let end = (at as u64 + 1) << self.scale.shift;
        match self.columns.get_mut(at) {
            Some(column) if now.as_picos() <= end => {
                if let Some(value) = self.value {
                    column.add(value, now.as_picos() - self.since.as_picos());
                }
                self.since = now;
            }
            _ => self.extend_columns(now),
        }
    }

    #[inline(never)]
    fn extend_columns(&mut self, now: Time) {
        while self.scale.widen(now) {
            merge_pairs(&mut self.columns);
        }
        while self.since < now {
            let at = self.scale.column(self.since);
            let end = Time::from_picos((at as u64 + 1) << self.scale.shift).min(now);
            if at >= self.columns.len() {
                self.columns.resize(at + 1, Level::default());
            }
            if let Some(value) = self.value {
                self.columns[at].add(value, end.as_picos() - self.since.as_picos());
            }
            self.since = end;
        }
    }

    /// The division of the run so far.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The columns up to the last accounted instant.
    pub fn columns(&self) -> &[Level] {
        &self.columns
    }
}

/// The packets of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Lost packets.
    pub losses: u64,
    /// Packets that left with a mark.
    pub marks: u64,
    /// Bytes that left.
    pub bytes: u64,
}

impl Merge for Count {
    fn merge(&mut self, later: Self) {
        self.losses += later.losses;
        self.marks += later.marks;
        self.bytes += later.bytes;
    }
}

/// Counts in columns.
#[derive(Clone, Debug)]
pub struct Counts {
    scale: Scale,
    columns: Vec<Count>,
}

impl Counts {
    /// Counts of a run that has not begun.
    pub fn new(scale: Scale) -> Self {
        Self {
            scale,
            columns: Vec::new(),
        }
    }

    /// Adds what happens at this instant.
    #[inline]
    pub fn add(&mut self, now: Time, count: Count) {
        self.extend(now.saturating_add(Time::from_picos(1)));
        let at = self.scale.column(now);
        self.columns[at].merge(count);
    }

    /// Makes columns for the time before `now`.
    #[inline]
    pub fn extend(&mut self, now: Time) {
        while self.scale.widen(now) {
            merge_pairs(&mut self.columns);
        }
        if now > Time::ZERO {
            let last = self.scale.column(Time::from_picos(now.as_picos() - 1));
            if last >= self.columns.len() {
                self.columns.resize(last + 1, Count::default());
            }
        }
    }

    /// The columns so far.
    pub fn columns(&self) -> &[Count] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each tick of a column by itself.
    fn by_ticks(changes: &[(u64, Option<u64>)], (from, to): (u64, u64)) -> Level {
        let mut level = Level::default();
        for tick in from..to {
            let last = changes.iter().rev().find(|(since, _)| *since <= tick);
            if let Some(value) = last.and_then(|(_, value)| *value) {
                level.add(value, 1);
            }
        }
        level
    }

    proptest! {
        /// Columns are those of each tick by itself, however often they are brought up to date.
        #[test]
        fn columns_are_sums_over_ticks(
            changes in prop::collection::vec((0u64..900, prop::option::weighted(0.9, 0u64..50)), 0..60),
            looks in prop::collection::vec(0u64..60_000, 0..20),
            most in 1usize..30,
        ) {
            let mut now = 0;
            let changes: Vec<_> = changes.into_iter().map(|(gap, value)| { now += gap; (now, value) }).collect();
            let end = now + 7;
            let scale = Scale { shift: 3, most };
            let mut levels = Levels::new(scale, None);
            let mut other = Levels::new(scale, None);
            let mut counts = Counts::new(scale);
            let mut looks = looks;
            looks.sort_unstable();
            for &(time, value) in &changes {
                for &look in looks.iter().filter(|look| **look <= time) {
                    other.extend(Time::from_picos(look));
                }
                levels.set(Time::from_picos(time), value);
                other.set(Time::from_picos(time), value);
                counts.add(Time::from_picos(time), Count { losses: 1, ..Count::default() });
            }
            levels.extend(Time::from_picos(end));
            other.extend(Time::from_picos(end));
            counts.extend(Time::from_picos(end));
            prop_assert_eq!(levels.columns(), other.columns());
            prop_assert_eq!(levels.scale(), other.scale());
            let width = levels.scale().width().as_picos();
            let count = levels.columns().len();
            prop_assert!(count <= most && count as u64 == end.div_ceil(width));
            // No wider than needed.
            prop_assert!(width == 8 || end.div_ceil(width / 2) > most as u64);
            for (at, level) in levels.columns().iter().enumerate() {
                let from = at as u64 * width;
                prop_assert_eq!(*level, by_ticks(&changes, (from, end.min(from + width))));
            }
            prop_assert_eq!(counts.columns().len(), count);
            for (at, column) in counts.columns().iter().enumerate() {
                let here = changes.iter().filter(|(time, _)| (time / width) as usize == at);
                prop_assert_eq!(column.losses, here.count() as u64);
            }
        }
    }
}
