//! The counts of a link during the measurement: packets, and the distributions of its queue and of
//! waiting times.

/// Number of bins between empty and the longest queue, or twice that.
const BINS: usize = 256;

/// Number of bins of waiting times. An outage causes a few that are much longer than the others.
const BINS_OF_WAITS: usize = 16 * BINS;

/// Maximum initial width of the bins, in packets.
const FINEST: f64 = 1.0 / 64.0;

/// All counts of one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkCounters {
    /// Packets that arrived, background included.
    pub(crate) arrived: f64,
    /// Departures, in packets.
    pub(crate) departed: f64,
    /// Accepted packets. They are summed directly, because the difference of arrivals and losses
    /// would lose its digits if nearly all packets are lost.
    pub(crate) accepted: f64,
    /// Background packets that arrived, and those that were clipped.
    pub(crate) background: f64,
    pub(crate) background_lost: f64,
    /// Packets that were clipped at a full buffer.
    pub(crate) lost: f64,
    /// Packets that RED would have dropped early.
    pub(crate) early: f64,
    /// Time integral of the queue, in packets x seconds.
    pub(crate) queue: f64,
    /// Integral of the waiting time over accepted packets, in packets x seconds.
    pub(crate) waiting: f64,
    /// Largest queue, in packets. If the capacity changes, the longest waiting time, in packets at
    /// the mean capacity.
    pub(crate) largest: f64,
    /// Longest drain time of the queue at a fall of the capacity, in seconds.
    pub(crate) drains: Option<f64>,
    /// Distributions over time of the drain time, in the unit of `largest`, while the capacity is
    /// below its mean and while it is not. Without bins if the capacity is constant.
    pub(crate) slow: QueueHistogram,
    pub(crate) fast: QueueHistogram,
    /// Number of congestion events.
    pub(crate) events: u64,
    /// Sum over events of the fraction of the flows that was cut.
    pub(crate) fractions: f64,
    /// Distribution of the queue that accepted packets find, or of their waiting times, in the unit
    /// of `largest`.
    pub(crate) found: QueueHistogram,
}

impl LinkCounters {
    /// Resets all counts without freeing memory.
    pub(crate) fn reset(&mut self) {
        let [found, slow, fast] = self.take_laws().map(|mut law| {
            law.reset();
            law
        });
        *self = Self {
            slow,
            fast,
            found,
            ..Self::default()
        };
    }

    /// Records a fall of the capacity, with the drain time of the queue in seconds.
    pub(crate) fn fall(&mut self, drains: f64) {
        self.drains = Some(self.drains.map_or(drains, |most| most.max(drains)));
    }

    /// Departures divided by accepted packets: below 1 if the queue has grown, above 1 if it has
    /// shrunk.
    pub(crate) fn delivered(&self) -> f64 {
        if self.accepted > 0.0 {
            self.departed / self.accepted
        } else {
            1.0
        }
    }

    fn take_laws(&mut self) -> [QueueHistogram; 3] {
        [&mut self.found, &mut self.slow, &mut self.fast].map(std::mem::take)
    }

    /// Copies without allocating.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let [mut found, mut slow, mut fast] = self.take_laws();
        found.copy_from(&other.found);
        slow.copy_from(&other.slow);
        fast.copy_from(&other.fast);
        *self = Self {
            arrived: other.arrived,
            departed: other.departed,
            accepted: other.accepted,
            background: other.background,
            background_lost: other.background_lost,
            lost: other.lost,
            early: other.early,
            queue: other.queue,
            waiting: other.waiting,
            largest: other.largest,
            drains: other.drains,
            slow,
            fast,
            events: other.events,
            fractions: other.fractions,
            found,
        };
    }
}

/// The distribution of the queue that accepted packets find: masses at empty and full, and a
/// piecewise constant density between. An interval adds its mass in constant time: to partial bins
/// directly, and to whole bins through density differences. If the queue exceeds the last bin, bins
/// are merged in pairs. Therefore the used part of a large buffer is resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueHistogram {
    width: f64,
    /// Bins per packet.
    scale: f64,
    /// Initial width of the bins, and the end of the last bin at the maximum width, in packets.
    finest: f64,
    limit: f64,
    empty: f64,
    full: f64,
    inside: Vec<f64>,
    changes: Vec<f64>,
}

impl QueueHistogram {
    pub(crate) fn new(buffer: f64) -> Self {
        // The width is halved repeatedly, so that doubled bins end at the buffer.
        let mut finest = buffer / BINS as f64;
        while finest > FINEST {
            finest *= 0.5;
        }
        let mut law = Self {
            finest,
            limit: buffer,
            inside: vec![0.0; BINS],
            changes: vec![0.0; BINS + 1],
            ..Self::default()
        };
        law.set_width(finest);
        law
    }

    /// A distribution of waiting times, which have no limit.
    pub(crate) fn of_waits() -> Self {
        let mut law = Self {
            finest: FINEST,
            limit: f64::INFINITY,
            inside: vec![0.0; BINS_OF_WAITS],
            changes: vec![0.0; BINS_OF_WAITS + 1],
            ..Self::default()
        };
        law.set_width(FINEST);
        law
    }

    /// Copies without allocating.
    fn copy_from(&mut self, other: &Self) {
        self.inside.clone_from(&other.inside);
        self.changes.clone_from(&other.changes);
        (self.empty, self.full) = (other.empty, other.full);
        (self.width, self.scale) = (other.width, other.scale);
        (self.finest, self.limit) = (other.finest, other.limit);
    }

    fn set_width(&mut self, width: f64) {
        self.width = width;
        self.scale = if width > 0.0 { 1.0 / width } else { 0.0 };
    }

    /// Whether it has bins.
    pub(crate) fn has_bins(&self) -> bool {
        !self.inside.is_empty()
    }

    /// Width of a bin, in packets.
    #[inline]
    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    fn reset(&mut self) {
        self.inside.fill(0.0);
        self.changes.fill(0.0);
        (self.empty, self.full) = (0.0, 0.0);
        self.set_width(self.finest);
    }

    /// Merges bins in pairs until they cover a queue of `queue` packets.
    #[cold]
    fn widen(&mut self, queue: f64) {
        while queue * self.scale > self.inside.len() as f64 {
            let masses = self.masses();
            self.changes.fill(0.0);
            self.inside.fill(0.0);
            for (sum, pair) in self.inside.iter_mut().zip(masses.chunks(2)) {
                *sum = pair.iter().sum();
            }
            self.set_width(2.0 * self.width);
        }
    }

    /// The mass of each bin.
    fn masses(&self) -> Vec<f64> {
        let mut density = 0.0;
        let bins = self.inside.iter().zip(&self.changes);
        bins.map(|(inside, change)| {
            density += change;
            (inside + density).max(0.0)
        })
        .collect()
    }

    /// Adds packets that found the queue empty.
    #[inline]
    pub(crate) fn add_empty(&mut self, mass: f64) {
        self.empty += mass;
    }

    /// Adds packets that found the queue full.
    #[inline]
    pub(crate) fn add_full(&mut self, mass: f64) {
        self.full += mass;
    }

    /// Adds packets that found a queue moving evenly between two levels.
    #[inline]
    pub(crate) fn add_between(&mut self, one: f64, other: f64, mass: f64) {
        let bins = self.inside.len();
        let top = bins as f64;
        let highest = one.max(other).min(self.limit);
        if highest * self.scale > top {
            self.widen(highest);
        }
        let a = (one.min(other) * self.scale).clamp(0.0, top);
        let b = (one.max(other) * self.scale).clamp(0.0, top);
        let (i, j) = ((a as usize).min(bins - 1), (b as usize).min(bins - 1));
        if i == j {
            self.inside[i] += mass;
            return;
        }
        let density = mass / (b - a);
        self.inside[i] += density * ((i + 1) as f64 - a);
        self.inside[j] += density * (b - j as f64);
        self.changes[i + 1] += density;
        self.changes[j] -= density;
    }

    /// The quantiles for these shares; `None` if nothing was added.
    pub(crate) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let total = self.empty + self.full + self.masses().iter().sum::<f64>();
        (total > 0.0).then(|| shares.map(|share| self.quantile(share)))
    }

    /// The queue that a fraction `p` of the packets do not exceed, in packets. It is 0 without
    /// packets, and infinite for a full queue.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let masses = self.masses();
        let total = self.empty + self.full + masses.iter().sum::<f64>();
        let mut left = p * total - self.empty;
        if left <= 0.0 {
            return 0.0;
        }
        for (i, mass) in masses.iter().enumerate() {
            if left <= *mass {
                return (i as f64 + left / mass) * self.width;
            }
            left -= mass;
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_law() {
        let mut law = QueueHistogram::new(100.0);
        law.add_empty(10.0);
        law.add_between(80.0, 20.0, 60.0);
        law.add_full(30.0);
        // Within the tolerated error a queue may end beyond its limit.
        law.add_between(100.0, 100.0 + 1e-9, 0.0);
        assert_eq!(law.width(), 100.0 / 256.0);
        assert_eq!(law.quantile(0.05), 0.0);
        assert!((law.quantile(0.4) - 50.0).abs() < 0.5);
        assert!((law.quantile(0.2) - 30.0).abs() < 0.5);
        assert_eq!(law.quantile(0.9), f64::INFINITY);
        law.reset();
        assert_eq!(law.quantile(0.5), 0.0);
    }

    /// For any buffer, the resolution is a hundredth of the largest queue.
    #[test]
    fn of_a_buffer_that_is_hardly_used_the_used_part_is_told_apart() {
        for buffer in [100.0, 1e4, 1e7, 1e12] {
            let mut law = QueueHistogram::new(buffer);
            for k in 1..=97 {
                law.add_between(f64::from(k - 1), f64::from(k), 1.0);
                for (p, queue) in [(0.25, 0.25), (0.5, 0.5), (0.99, 0.99)] {
                    let (found, k) = (law.quantile(p), f64::from(k));
                    assert!(
                        (found - queue * k).abs() <= 0.01 * k,
                        "{buffer} {k}: {p} {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn many_stretches_conserve_mass() {
        let mut law = QueueHistogram::new(1.0);
        for i in 0..1000 {
            let x = f64::from(i) / 1000.0;
            law.add_between(x, (x * 7.3) % 1.0, 1.0);
        }
        let mut density = 0.0;
        let mut sum = 0.0;
        for (inside, change) in law.inside.iter().zip(&law.changes) {
            density += change;
            sum += inside + density;
        }
        assert!((sum - 1000.0).abs() < 1e-9);
    }

    /// Comparison with a thousand packets in each interval, counted one by one: the difference is
    /// within a bin's width.
    #[test]
    fn quantiles_are_those_of_packets_counted_one_by_one() {
        for stretches in [1_u32, 3, 40] {
            let mut law = QueueHistogram::new(50.0);
            let mut found = Vec::new();
            law.add_empty(500.0);
            found.resize(500, 0.0);
            for i in 0..stretches {
                let [one, other] =
                    [0.37, 0.81].map(|step| 50.0 * libm::fmod(step * f64::from(i + 1), 1.0));
                law.add_between(one, other, 1000.0);
                found
                    .extend((0..1000).map(|k| one + (other - one) * (f64::from(k) + 0.5) / 1000.0));
            }
            // A constant queue is found at its value.
            law.add_between(20.0, 20.0, 700.0);
            found.extend([20.0; 700]);
            law.add_full(300.0);
            found.extend([50.0; 300]);
            found.sort_by(f64::total_cmp);
            for percent in 1..100 {
                let share = f64::from(percent) / 100.0;
                let at = (share * found.len() as f64) as usize;
                // Gaps lie between the intervals, in which any value is valid.
                let (low, high) = (
                    found[at.saturating_sub(3)],
                    found[(at + 3).min(found.len() - 1)],
                );
                let ours = law.quantile(share).min(50.0);
                let width = law.width() * 50.0;
                assert!(
                    ours >= low - 0.2 && ours <= high + 0.2,
                    "{stretches} {share} {low} {ours} {high} {width}"
                );
            }
        }
    }
}
