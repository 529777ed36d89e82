//! Time bins of equal width, in a bounded number. If a time lies beyond the last possible bin,
//! neighboring bins are merged in pairs and the width doubles. Loads and queues count in them.

/// Content of a bin that can be merged with the content of the next bin.
pub trait Merge {
    /// Adds the content of the later bin.
    fn merge(&mut self, later: &Self);
}

/// Bytes and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of these IP packets.
    pub bytes: u64,
}

impl Amount {
    /// Counts one packet of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Merge for Amount {
    fn merge(&mut self, later: &Self) {
        self.packets += later.packets;
        self.bytes += later.bytes;
    }
}

/// Time bins of equal width, counted from an origin.
#[derive(Clone, Debug)]
pub struct Bins<T> {
    origin: u64,
    width: u64,
    /// Maximum number of bins; an even number.
    most: usize,
    all: Vec<T>,
    /// Index of the bin that was used last, because consecutive packets are mostly in one bin.
    last: usize,
    last_start: u64,
}

impl<T: Merge + Clone + Default> Bins<T> {
    /// Bins of `width` nanoseconds from `origin` on. Their number is at most `most`, rounded up to
    /// an even number.
    pub fn new(origin: u64, width: u64, most: usize) -> Self {
        Self {
            origin,
            width: width.max(1),
            most: most.max(2).next_multiple_of(2),
            all: Vec::new(),
            last: 0,
            last_start: origin,
        }
    }

    /// The bin that contains a time in nanoseconds. The first bin also holds times before the
    /// origin.
    #[inline]
    pub fn at(&mut self, time: u64) -> &mut T {
        let inside = time >= self.last_start && time - self.last_start < self.width;
        if !inside || self.all.len() <= self.last {
            self.find(time);
        }
        &mut self.all[self.last]
    }

    fn find(&mut self, time: u64) {
        let since = time.saturating_sub(self.origin);
        while since / self.width >= self.most as u64 {
            self.merge_pairs();
        }
        self.last = (since / self.width) as usize;
        self.last_start = self.origin + self.last as u64 * self.width;
        if self.all.len() <= self.last {
            self.all.resize(self.last + 1, T::default());
        }
    }

    fn merge_pairs(&mut self) {
        let pairs = self.all.len().div_ceil(2);
        for pair in 0..pairs {
            let mut merged = self.all[2 * pair].clone();
            if let Some(later) = self.all.get(2 * pair + 1) {
                merged.merge(later);
            }
            self.all[pair] = merged;
        }
        self.all.truncate(pairs);
        // Beyond 2^63 ns the second bin holds all the rest.
        self.width = self.width.saturating_mul(2);
    }

    /// Start of the first bin, in nanoseconds.
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// Width of a bin, in nanoseconds.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// All bins up to the last one that was used.
    pub fn bins(&self) -> &[T] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bin_holds_what_came_in_its_time(origin in any::<u64>(), width in 1u64..2_000_000, times in prop::collection::vec(any::<u64>(), 1..50), shift in 0u32..64) {
            let mut bins = Bins::<Amount>::new(origin, width, 64);
            let times: Vec<_> = times.iter().map(|it| origin.saturating_add(it >> shift)).collect();
            for &time in &times {
                bins.at(time).add(7);
            }
            prop_assert!(bins.bins().len() <= 64);
            // The bins are never wider than needed.
            let span = times.iter().max().unwrap() - origin;
            prop_assert!(bins.width() == width || span / (bins.width() / 2) >= 64);
            for (index, bin) in bins.bins().iter().enumerate() {
                let inside = times.iter().filter(|&&it| ((it - origin) / bins.width()) as usize == index).count() as u64;
                prop_assert_eq!(*bin, Amount { packets: inside, bytes: 7 * inside });
            }
        }
    }

    #[test]
    fn what_comes_before_the_origin_is_in_the_first_bin() {
        let mut bins = Bins::<Amount>::new(1_000, 10, 4);
        bins.at(1_035).add(1);
        bins.at(3).add(1);
        assert_eq!(bins.bins()[0].packets, 1);
        assert_eq!(bins.bins().len(), 4);
    }
}
