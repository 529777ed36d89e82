//! A fixed amount of work to be timed beside runs. Figures of two machines, or of one at two times,
//! are compared in units of it. It never changes, so it shares no code with the engines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of events that are pending at any time.
const PENDING: u64 = 64;

/// Number of counters that events increment: 32 KiB, which just fit into a first-level cache.
const COUNTS: usize = 4096;

/// An event loop of `events` events over a binary heap. The first of 64 pending events is removed
/// and counted. Another follows after a pseudo-random time (Knuth's linear congruential generator
/// MMIX). Returns a checksum, so that the compiler cannot remove any of the work.
pub fn yardstick(events: u64) -> u64 {
    let mut state = 1u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut pending: BinaryHeap<_> = (0..PENDING).map(|flow| Reverse((draw(), flow))).collect();
    let mut counts = vec![0u64; COUNTS];
    let mut last = 0;
    for _ in 0..events {
        let Some(Reverse((time, flow))) = pending.pop() else {
            break;
        };
        let delay = draw();
        counts[delay as usize % COUNTS] += time - last;
        last = time;
        pending.push(Reverse((time + delay, flow)));
    }
    counts.iter().enumerate().fold(last, |sum, (at, count)| {
        sum.wrapping_mul(31) ^ (count + at as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same loop over a sorted list.
    fn by_sorting(events: u64) -> Vec<(u64, u64)> {
        let mut state = 1u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let mut pending: Vec<(u64, u64)> = (0..PENDING).map(|flow| (draw(), flow)).collect();
        let mut taken = Vec::new();
        for _ in 0..events {
            pending.sort_unstable();
            let (time, flow) = pending.remove(0);
            taken.push((time, draw()));
            pending.push((time + taken[taken.len() - 1].1, flow));
        }
        taken
    }

    /// Figures of two versions are comparable only if the work is the same.
    #[test]
    fn it_never_changes() {
        assert_eq!(yardstick(100_000), 16_422_914_182_221_139_140);
        let (mut counts, mut last) = (vec![0u64; COUNTS], 0);
        for (time, delay) in by_sorting(3_000) {
            assert!(time >= last);
            counts[delay as usize % COUNTS] += time - last;
            last = time;
        }
        let mut sum = last;
        for (at, count) in counts.iter().enumerate() {
            sum = sum.wrapping_mul(31) ^ (count + at as u64);
        }
        assert_eq!(yardstick(3_000), sum);
    }
}
