//! What is counted while a run is measured: flows of packets at a link and the law of its queue.

/// Bins of the queue's law between empty and full.
const BINS: usize = 256;

/// Everything counted at one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Packets that arrived, background included.
    pub(crate) arrived: f64,
    /// Packets that left.
    pub(crate) departed: f64,
    /// Packets that were let in: summed, for as the difference of arrivals and losses they would drown
    /// where nearly all is lost.
    pub(crate) accepted: f64,
    /// Background packets that arrived, and that were clipped.
    pub(crate) background: f64,
    pub(crate) background_lost: f64,
    /// Packets clipped at a full buffer.
    pub(crate) lost: f64,
    /// Packets that RED would have dropped early.
    pub(crate) early: f64,
    /// Time integral of the queue, packets x seconds.
    pub(crate) queue: f64,
    /// Integral of the waiting time over accepted packets, packets x seconds.
    pub(crate) waiting: f64,
    /// Largest queue, packets.
    pub(crate) largest: f64,
    /// Congestion events.
    pub(crate) events: u64,
    /// Sum over events of the fraction of the flows that was cut.
    pub(crate) fractions: f64,
    /// Law of the queue that accepted packets find.
    pub(crate) found: QueueLawCount,
}

impl Tally {
    /// Forgets everything, keeping the memory.
    pub(crate) fn reset(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        found.reset();
        *self = Self {
            found,
            ..Self::default()
        };
    }

    /// What left of what was let in: below 1 where the queue has grown, above where it has shrunk.
    pub(crate) fn delivered(&self) -> f64 {
        if self.accepted > 0.0 {
            self.departed / self.accepted
        } else {
            1.0
        }
    }

    /// Copies without allocating.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let mut found = std::mem::take(&mut self.found);
        found.inside.clone_from(&other.found.inside);
        found.changes.clone_from(&other.found.changes);
        found.empty = other.found.empty;
        found.full = other.found.full;
        (found.width, found.scale) = (other.found.width, other.found.scale);
        *self = Self {
            found,
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
            events: other.events,
            fractions: other.fractions,
        };
    }
}

/// Mass of accepted packets against the queue they find: atoms at empty and full, and a piecewise
/// constant density between. A stretch of the queue adds its mass in constant time: part-filled
/// bins directly, whole bins through the differences of their density.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueLawCount {
    width: f64,
    /// Bins per packet.
    scale: f64,
    empty: f64,
    full: f64,
    inside: Vec<f64>,
    changes: Vec<f64>,
}

impl QueueLawCount {
    pub(crate) fn new(buffer: f64) -> Self {
        Self {
            width: buffer / BINS as f64,
            scale: if buffer > 0.0 {
                BINS as f64 / buffer
            } else {
                0.0
            },
            empty: 0.0,
            full: 0.0,
            inside: vec![0.0; BINS],
            changes: vec![0.0; BINS + 1],
        }
    }

    /// Width of a bin, packets.
    #[inline]
    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    fn reset(&mut self) {
        self.inside.fill(0.0);
        self.changes.fill(0.0);
        (self.empty, self.full) = (0.0, 0.0);
    }

    /// Packets that found the queue empty.
    #[inline]
    pub(crate) fn add_empty(&mut self, mass: f64) {
        self.empty += mass;
    }

    /// Packets that found it full.
    #[inline]
    pub(crate) fn add_full(&mut self, mass: f64) {
        self.full += mass;
    }

    /// Packets that found a queue moving evenly between two levels.
    #[inline]
    pub(crate) fn add_between(&mut self, one: f64, other: f64, mass: f64) {
        let top = BINS as f64;
        let a = (one.min(other) * self.scale).clamp(0.0, top);
        let b = (one.max(other) * self.scale).clamp(0.0, top);
        let (i, j) = ((a as usize).min(BINS - 1), (b as usize).min(BINS - 1));
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

    /// The queue that a fraction `p` of the packets find at most, packets; 0 without packets.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let mut density = 0.0;
        let masses: Vec<f64> = self
            .inside
            .iter()
            .zip(&self.changes)
            .map(|(inside, change)| {
                density += change;
                (inside + density).max(0.0)
            })
            .collect();
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
        BINS as f64 * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_law() {
        let mut law = QueueLawCount::new(100.0);
        law.add_empty(10.0);
        law.add_between(80.0, 20.0, 60.0);
        law.add_full(30.0);
        assert_eq!(law.quantile(0.05), 0.0);
        assert!((law.quantile(0.4) - 50.0).abs() < 0.5);
        assert!((law.quantile(0.2) - 30.0).abs() < 0.5);
        assert_eq!(law.quantile(0.9), 100.0);
        law.reset();
        assert_eq!(law.quantile(0.5), 0.0);
    }

    #[test]
    fn many_stretches_conserve_mass() {
        let mut law = QueueLawCount::new(1.0);
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

    /// Against a thousand packets in each stretch, counted one by one: within a bin's width.
    #[test]
    fn quantiles_are_those_of_packets_counted_one_by_one() {
        for stretches in [1_u32, 3, 40] {
            let mut law = QueueLawCount::new(50.0);
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
            // A queue that stands still is found where it stands.
            law.add_between(20.0, 20.0, 700.0);
            found.extend([20.0; 700]);
            law.add_full(300.0);
            found.extend([50.0; 300]);
            found.sort_by(f64::total_cmp);
            for percent in 1..100 {
                let share = f64::from(percent) / 100.0;
                let at = (share * found.len() as f64) as usize;
                // Between stretches lie gaps, in which any value is as good.
                let (low, high) = (
                    found[at.saturating_sub(3)],
                    found[(at + 3).min(found.len() - 1)],
                );
                let ours = law.quantile(share);
                let width = law.width() * 50.0;
                assert!(
                    ours >= low - 0.2 && ours <= high + 0.2,
                    "{stretches} {share} {low} {ours} {high} {width}"
                );
            }
        }
    }
}
