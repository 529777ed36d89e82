//! Pacing: spreads the packets of a sender over time. A sender with records of its packets has a
//! pacer.

use forebay_congestion::packet::Pace;
use forebay_units::Time;

/// When the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    pace: Option<Pace>,
    release: Time,
    burst: Burst,
    /// Time by which the burst came late; half a gap at most is made up (as Linux does).
    late: Time,
}

/// Packets that leave together.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// When it began; none before the first.
    at: Option<Time>,
    /// How many more it may hold.
    left: f64,
}

impl Burst {
    fn is_open(&self, now: Time) -> bool {
        self.at == Some(now) && self.left >= 1.0
    }
}

impl Pacer {
    /// One that holds nothing back.
    pub(super) fn new() -> Self {
        Self {
            pace: None,
            release: Time::ZERO,
            burst: Burst::default(),
            late: Time::ZERO,
        }
    }

    /// Sets the rate from now on.
    pub(super) fn set_pace(&mut self, pace: Option<Pace>) {
        // A rate without a meaning paces nothing.
        self.pace = pace.filter(|pace| pace.rate.is_finite() && pace.rate > 0.0);
    }

    /// Packets that may leave together, where anything is paced.
    pub(super) fn quantum(&self) -> Option<f64> {
        self.pace.map(|pace| pace.quantum)
    }

    /// When a packet may leave, where that is later than now.
    pub(super) fn pause(&self, now: Time) -> Option<Time> {
        self.pace?;
        (!self.burst.is_open(now) && self.release > now).then_some(self.release)
    }

    /// Seconds until the next packet may leave.
    pub(super) fn held(&self, now: Time) -> f64 {
        self.pace
            .map_or(0.0, |_| self.release.saturating_sub(now).as_secs_f64())
    }

    /// A packet leaves.
    pub(super) fn on_send(&mut self, now: Time) {
        let Some(pace) = self.pace else {
            return;
        };
        if !self.burst.is_open(now) {
            self.burst = Burst {
                at: Some(now),
                left: pace.quantum.max(1.0),
            };
            self.late = now.saturating_sub(self.release);
            self.release = self.release.max(now);
        }
        self.burst.left -= 1.0;
        let gap = Time::from_secs_f64((1.0 / pace.rate).min(1.0));
        let made_up = self.late.min(Time::from_picos(gap.as_picos() / 2));
        self.late -= made_up;
        self.release = self.release.saturating_add(gap - made_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Over any time no more leaves than the rate allows, a burst aside, and a sender that
        /// never runs dry sends at the rate.
        #[test]
        fn the_rate_is_kept(rate in 10.0..1e5_f64, quantum in 1.0..8.0_f64, packets in 50u32..400) {
            let mut pacer = Pacer::new();
            pacer.set_pace(Some(Pace { rate, quantum }));
            // From time zero nothing is late.
            let start = Time::ZERO;
            let mut now = start;
            for sent in 0..packets {
                let allowed = (now - start).as_secs_f64() * rate + quantum;
                prop_assert!(f64::from(sent) <= allowed + 1.0, "{sent} {allowed}");
                pacer.on_send(now);
                now = pacer.pause(now).unwrap_or(now);
            }
            let seconds = (now - start).as_secs_f64();
            let least = f64::from(packets) - quantum - 1.0;
            prop_assert!(f64::from(packets) >= seconds * rate - 1.0);
            prop_assert!(seconds * rate >= least, "{seconds} {least}");
        }
    }

    #[test]
    fn a_packet_that_came_late_makes_up_half_a_gap_at_most() {
        let mut pacer = Pacer::new();
        let (rate, quantum) = (100.0, 1.0);
        pacer.set_pace(Some(Pace { rate, quantum }));
        pacer.on_send(Time::ZERO);
        // Due after 10 ms, it leaves after 22.
        let mut now = Time::from_millis(22);
        let mut gaps = Vec::new();
        for _ in 0..4 {
            pacer.on_send(now);
            let next = pacer.pause(now).unwrap();
            gaps.push((next - now).as_picos() / 1_000_000_000);
            now = next;
        }
        assert_eq!(gaps, [5, 10, 10, 10]);
    }

    #[test]
    fn a_rate_without_a_meaning_holds_nothing_back() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut pacer = Pacer::new();
            pacer.set_pace(Some(Pace { rate, quantum: 1.0 }));
            pacer.on_send(Time::from_secs(1));
            assert_eq!(pacer.pause(Time::from_secs(1)), None);
            assert_eq!(pacer.held(Time::from_secs(1)), 0.0);
        }
    }
}
