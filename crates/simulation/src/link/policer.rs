//! The policer in front of a link: token buckets decide which packets come to the queue at all. It
//! counts IP packets without framing, as RFC 2697 section 2 has it, whatever the link's rate
//! counts.

use forebay_scenario::{Policer as PolicerSpec, Yellow};
use forebay_units::{Bytes, Rate, Time};

use crate::link::token_bucket::TokenBucket;

/// The color that a meter gives a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Color {
    /// It conforms to the rate and its burst.
    Green,
    /// It exceeds them.
    Yellow,
    /// It violates the second bucket, too.
    Red,
}

/// The second bucket of a meter.
#[derive(Clone, Debug)]
enum Second {
    Absent,
    /// Filled with what the first has no room for (RFC 2697).
    Excess(TokenBucket),
    /// Filled at a rate of its own (RFC 2698).
    Peak(TokenBucket),
}

/// A color-blind meter of one or two token buckets.
#[derive(Clone, Debug)]
struct Meter {
    committed: TokenBucket,
    second: Second,
}

impl Meter {
    fn new(spec: PolicerSpec) -> Self {
        let second = match (spec.excess_burst, spec.peak, spec.peak_burst) {
            (Some(excess), ..) => {
                Second::Excess(TokenBucket::new(Rate::from_bits_per_second(0), excess))
            }
            (None, Some(peak), Some(burst)) => Second::Peak(TokenBucket::new(peak, burst)),
            _ => Second::Absent,
        };
        Self {
            committed: TokenBucket::new(spec.rate, spec.burst),
            second,
        }
    }

    /// The color of a packet, which takes its tokens: section 3 of RFC 2697 or RFC 2698.
    fn color(&mut self, now: Time, size: Bytes) -> Color {
        let surplus = self.committed.fill(now);
        match &mut self.second {
            Second::Absent => {}
            Second::Excess(excess) => {
                excess.add(surplus);
            }
            Second::Peak(peak) => {
                peak.fill(now);
                if !peak.has(size) {
                    return Color::Red;
                }
                peak.take(size);
            }
        }
        if self.committed.has(size) {
            self.committed.take(size);
            return Color::Green;
        }
        match &mut self.second {
            Second::Absent => Color::Red,
            Second::Excess(excess) if !excess.has(size) => Color::Red,
            Second::Excess(excess) => {
                excess.take(size);
                Color::Yellow
            }
            Second::Peak(_) => Color::Yellow,
        }
    }
}

/// The policer in front of one link.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    meter: Meter,
    yellow: Yellow,
    /// Packets that have come to it since counting began, and that it dropped.
    offered: u64,
    dropped: u64,
}

impl Policer {
    pub(crate) fn new(spec: PolicerSpec) -> Self {
        Self {
            meter: Meter::new(spec),
            yellow: spec.yellow,
            offered: 0,
            dropped: 0,
        }
    }

    /// A packet of `size` bytes comes: whether it passes.
    pub(crate) fn passes(&mut self, now: Time, size: u32) -> bool {
        let color = self.meter.color(now, Bytes::new(u64::from(size)));
        let passes = match color {
            Color::Green => true,
            Color::Yellow => self.yellow == Yellow::Pass,
            Color::Red => false,
        };
        self.offered += 1;
        self.dropped += u64::from(!passes);
        passes
    }

    /// Share of the packets that it dropped; `None` where none came.
    pub(crate) fn loss_rate(&self) -> Option<f64> {
        (self.offered > 0).then(|| self.dropped as f64 / self.offered as f64)
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self) {
        (self.offered, self.dropped) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: PolicerSpec = PolicerSpec {
        rate: Rate::from_bits_per_second(8_000),
        burst: Bytes::new(1000),
        excess_burst: None,
        peak: None,
        peak_burst: None,
        yellow: Yellow::Pass,
    };
    const SINGLE: PolicerSpec = PolicerSpec {
        excess_burst: Some(Bytes::new(500)),
        ..NONE
    };
    const TWO: PolicerSpec = PolicerSpec {
        peak: Some(Rate::from_bits_per_second(16_000)),
        peak_burst: Some(Bytes::new(1500)),
        ..NONE
    };

    fn colors(spec: PolicerSpec, packets: &[(u64, u64)]) -> String {
        let mut meter = Meter::new(spec);
        let letter =
            |&(ms, size): &(u64, u64)| match meter.color(Time::from_millis(ms), Bytes::new(size)) {
                Color::Green => 'g',
                Color::Yellow => 'y',
                Color::Red => 'r',
            };
        packets.iter().map(letter).collect()
    }

    /// RFC 2697 section 3 by hand: CIR = 1 B/ms, CBS = 1000 B, EBS = 500 B; (Tc, Te) before each
    /// packet.
    #[test]
    fn one_rate_and_three_colors_as_in_the_rfc() {
        let by_hand = [
            (0, 800, 'g'),     // (1000, 500), then (200, 500)
            (0, 300, 'y'),     // (200, 500), then (200, 200)
            (0, 300, 'r'),     // (200, 200)
            (0, 200, 'g'),     // (200, 200), then (0, 200)
            (100, 150, 'y'),   // (100, 200), then (100, 50)
            (999, 1000, 'r'),  // (999, 50)
            (1000, 1000, 'g'), // (1000, 50), then (0, 50)
            (2000, 1, 'g'),    // (1000, 50), then (999, 50)
            (2101, 999, 'g'),  // 101 come, of which 1 has room: (1000, 150), then (1, 150)
            (2101, 151, 'r'),  // (1, 150)
            (2101, 150, 'y'),  // (1, 150), then (1, 0)
            (5000, 1000, 'g'), // 2899 come: 999 have room, of the others 500: (1000, 500), then (0, 500)
            (5000, 500, 'y'),  // (0, 500), then (0, 0)
            (5000, 1, 'r'),
        ];
        let packets = by_hand.map(|(at, size, _)| (at, size));
        let expected: String = by_hand.iter().map(|(.., color)| color).collect();
        assert_eq!(colors(SINGLE, &packets), expected);
    }

    /// RFC 2698 section 3 by hand: CIR = 1 B/ms, CBS = 1000 B, PIR = 2 B/ms, PBS = 1500 B; (Tp, Tc)
    /// before each packet.
    #[test]
    fn two_rates_and_three_colors_as_in_the_rfc() {
        let by_hand = [
            (0, 600, 'g'),     // (1500, 1000), then (900, 400)
            (0, 500, 'y'),     // (900, 400), then (400, 400)
            (0, 401, 'r'),     // (400, 400): red takes nothing
            (0, 400, 'g'),     // (400, 400), then (0, 0)
            (0, 1, 'r'),       // (0, 0)
            (100, 150, 'y'),   // (200, 100), then (50, 100)
            (100, 60, 'r'),    // (50, 100): red though there are tokens of the lower rate
            (100, 50, 'g'),    // (50, 100), then (0, 50)
            (900, 1500, 'y'),  // 800 ms: (1500, 850), then (0, 850)
            (1100, 400, 'g'),  // 200 ms: (400, 1000), then (0, 600)
            (9000, 1001, 'y'), // full again: (1500, 1000), then (499, 1000)
            (9000, 499, 'g'),  // (499, 1000), then (0, 501)
            (9001, 3, 'r'),    // (2, 502)
            (9001, 2, 'g'),
        ];
        let packets = by_hand.map(|(at, size, _)| (at, size));
        let expected: String = by_hand.iter().map(|(.., color)| color).collect();
        assert_eq!(colors(TWO, &packets), expected);
    }

    #[test]
    fn yellow_packets_pass_or_are_dropped_and_both_are_counted() {
        let dropping = PolicerSpec {
            yellow: Yellow::Drop,
            ..SINGLE
        };
        for (spec, fates, rate) in [
            (SINGLE, [true, true, false, false], 0.5),
            (dropping, [true, false, false, false], 0.75),
            (NONE, [true, false, false, false], 0.75),
        ] {
            let mut policer = Policer::new(spec);
            assert_eq!(policer.loss_rate(), None);
            let found = [900, 500, 501, 500].map(|size| policer.passes(Time::ZERO, size));
            assert_eq!(found, fates);
            assert_eq!(policer.loss_rate(), Some(rate));
            policer.restart();
            assert_eq!(policer.loss_rate(), None);
            assert!(!policer.passes(Time::ZERO, 200));
            assert_eq!(policer.loss_rate(), Some(1.0));
        }
    }

    fn rates() -> impl Strategy<Value = u64> {
        prop::sample::select(vec![
            1_000,
            8_000,
            9_999_991,
            1_000_003,
            100_000_000_000_000,
        ])
    }

    proptest! {
        /// Section 1 of both RFCs: what is green is at most rate x t + burst in every interval,
        /// what is green or yellow at most what both buckets give; and no packet for which there
        /// are tokens is refused, whatever the rates: a second meter that counts in floating point
        /// agrees.
        #[test]
        fn no_interval_has_more_than_rate_times_time_and_burst(
            packets in prop::collection::vec((0u64..2_000_000_000_000, 1u64..1500), 1..80),
            (rate, more) in (rates(), rates()),
            (burst, second) in (1u64..9000, 1u64..9000),
            two in any::<bool>(),
        ) {
            let rate = rate.min(more);
            let spec = PolicerSpec {
                rate: Rate::from_bits_per_second(rate),
                burst: Bytes::new(burst),
                excess_burst: (!two).then_some(Bytes::new(second)),
                peak: two.then_some(Rate::from_bits_per_second(more)),
                peak_burst: two.then_some(Bytes::new(second)),
                yellow: Yellow::Pass,
            };
            let mut meter = Meter::new(spec);
            let mut now = Time::ZERO;
            let mut found = Vec::new();
            for (gap, size) in packets {
                now += Time::from_picos(gap);
                found.push((now, size, meter.color(now, Bytes::new(size))));
            }
            // In bits x ticks.
            let ticks = |time: Time| u128::from(time.as_picos());
            let bits = |bytes: u64| u128::from(bytes) * 8_000_000_000_000;
            for (first, (begin, ..)) in found.iter().enumerate() {
                let (mut green, mut passed) = (0, 0);
                for &(end, size, color) in &found[first..] {
                    green += if color == Color::Green { bits(size) } else { 0 };
                    passed += if color == Color::Red { 0 } else { bits(size) };
                    let come = ticks(end - *begin) * u128::from(rate);
                    prop_assert!(green <= come + bits(burst));
                    let bound = if two {
                        ticks(end - *begin) * u128::from(more) + bits(second)
                    } else {
                        come + bits(burst) + bits(second)
                    };
                    prop_assert!(passed <= bound);
                }
            }
            let (mut committed, mut other, mut last) = (burst as f64, second as f64, Time::ZERO);
            for &(at, size, color) in &found {
                let seconds = (at - last).as_secs_f64();
                let all = committed + seconds * rate as f64 / 8.0;
                committed = all.min(burst as f64);
                let come = if two { seconds * more as f64 / 8.0 } else { all - committed };
                other = (other + come).min(second as f64);
                last = at;
                let bytes = size as f64;
                // Where the float is not within its rounding of the edge.
                let clear = |tokens: f64| (tokens - bytes).abs() > 1e-6 * (1.0 + bytes);
                if !clear(committed) || !clear(other) {
                    break;
                }
                let expected = match (two, committed > bytes, other > bytes) {
                    (true, _, false) | (false, false, false) => Color::Red,
                    (true, true, true) | (false, true, _) => Color::Green,
                    (_, false, true) => Color::Yellow,
                };
                prop_assert_eq!(color, expected);
                if color == Color::Green {
                    committed -= bytes;
                }
                if color == Color::Yellow || two && color == Color::Green {
                    other -= bytes;
                }
            }
        }
    }
}
