//! The long-term bandwidth of BBR version 1 (Linux: `bbr_lt_bw_sampling` of net/ipv4/tcp_bbr.c). If
//! a fifth of the packets is lost, interval after interval at the same rate, BBR suspects a
//! token-bucket policer. It then uses that rate instead of probing beyond it.
//!
//! A drop-tail queue that a few BBR flows overrun does the same to the slower ones.

use forebay_units::Time;

use crate::packet::Sample;
use crate::segmentation::Segmentation;

/// Shortest interval in rounds; after four times as many it is given up.
const SHORTEST_ROUNDS: u32 = 4;
const LONGEST_ROUNDS: u32 = 4 * SHORTEST_ROUNDS;

/// Lost packets per delivered one that an interval needs (50/256).
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;

/// Two intervals agree when their rates differ by no more than this share, an eighth, or by no more
/// than `SMALL_DIFFERENCE` bytes per second (4 kbit/s).
const AGREEMENT: f64 = 0.125;
const SMALL_DIFFERENCE: f64 = 500.0;

/// Rounds of `PROBE_BW` for which the rate is used.
const LONG_TERM_MAX_ROUNDS: u32 = 48;

/// Shortest interval in seconds: the clock's millisecond.
const SHORTEST_SECONDS: f64 = 1e-3;

/// The evidence of one acknowledgment or timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) now: Time,
    /// Packets that arrived, and that were found lost, since the connection began.
    pub(crate) delivered: u64,
    pub(crate) losses: u64,
    /// Whether this acknowledgment, or the timeout in its place, showed a loss.
    pub(crate) lossy: bool,
    /// Whether a round began.
    pub(crate) round: bool,
    /// Whether the mode is `PROBE_BW`.
    pub(crate) probing: bool,
}

impl Evidence {
    /// The evidence of an acknowledgment.
    pub(crate) fn new(sample: &Sample, round: bool, probing: bool) -> Self {
        Self {
            now: sample.now,
            delivered: sample.delivered,
            losses: sample.losses,
            lossy: sample.lost > 0.0,
            round,
            probing,
        }
    }

    /// The evidence of a timeout, which counts as a loss and the end of a round (`bbr_set_state`).
    pub(crate) fn of_timeout(sample: &Sample, probing: bool) -> Self {
        Self {
            lossy: true,
            ..Self::new(sample, true, probing)
        }
    }
}

/// The beginning of an interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    since: Time,
    delivered: u64,
    losses: u64,
    rounds: u32,
}

impl Interval {
    fn begin(evidence: &Evidence) -> Self {
        Self {
            since: evidence.now,
            delivered: evidence.delivered,
            losses: evidence.losses,
            rounds: 0,
        }
    }

    /// The rate of delivery over an interval with enough losses.
    fn rate(&self, evidence: &Evidence) -> Option<f64> {
        let lost = (evidence.losses - self.losses) as f64;
        let delivered = (evidence.delivered - self.delivered) as f64;
        let seconds = whole_milliseconds(self.since, evidence.now) * 1e-3;
        let policed = delivered > 0.0 && lost >= LOSS_THRESHOLD * delivered;
        (policed && seconds >= SHORTEST_SECONDS).then(|| delivered / seconds)
    }
}

/// From one time to another by a clock that counts milliseconds (`lt_last_stamp`).
fn whole_milliseconds(from: Time, to: Time) -> f64 {
    let tick = Time::from_millis(1).as_picos();
    (to.as_picos() / tick).saturating_sub(from.as_picos() / tick) as f64
}

/// The estimate of a policer's rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policer {
    /// Rate of the last interval, in packets per second.
    estimate: Option<f64>,
    /// Rounds since the estimate is in use; none while it is not.
    rounds_in_use: Option<u32>,
    interval: Option<Interval>,
    segmentation: Segmentation,
}

impl Policer {
    /// The connection opens.
    pub(crate) fn on_open(&mut self, segmentation: Segmentation) {
        self.segmentation = segmentation;
    }

    /// Restarts (`bbr_reset_lt_bw_sampling`).
    fn forget(&mut self) {
        *self = Self {
            segmentation: self.segmentation,
            ..Self::default()
        };
    }

    /// The rate to use instead of the maximum, where a policer is suspected.
    #[inline]
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rounds_in_use.and(self.estimate)
    }

    /// The application limited the rate: an interval would underestimate it.
    pub(crate) fn starve(&mut self) {
        if self.rounds_in_use.is_none() {
            self.forget();
        }
    }

    /// Takes in an acknowledgment; says whether the estimate has just been given up after its
    /// time, so that probing restarts.
    pub(crate) fn update(&mut self, evidence: &Evidence) -> bool {
        if let Some(rounds) = &mut self.rounds_in_use {
            *rounds += u32::from(evidence.probing && evidence.round);
            let over = *rounds >= LONG_TERM_MAX_ROUNDS;
            if over {
                self.forget();
            }
            return over;
        }
        // The first loss begins the sampling: until then a policer has tokens.
        if self.interval.is_none() && evidence.lossy {
            self.interval = Some(Interval::begin(evidence));
        }
        let Some(interval) = &mut self.interval else {
            return false;
        };
        interval.rounds += u32::from(evidence.round);
        if interval.rounds > LONGEST_ROUNDS {
            self.forget();
        } else if interval.rounds >= SHORTEST_ROUNDS && evidence.lossy {
            // It ends with a loss, when the tokens are used up.
            if let Some(rate) = interval.rate(evidence) {
                self.conclude(rate, evidence);
            }
        }
        false
    }

    /// An interval is over (`bbr_lt_bw_interval_done`).
    fn conclude(&mut self, rate: f64, evidence: &Evidence) {
        if let Some(before) = self.estimate {
            let difference = (rate - before).abs();
            let small = difference * self.segmentation.payload() <= SMALL_DIFFERENCE;
            if small || difference <= AGREEMENT * before {
                self.estimate = Some(0.5 * (rate + before));
                self.rounds_in_use = Some(0);
                return;
            }
        }
        self.estimate = Some(rate);
        self.interval = Some(Interval::begin(evidence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives `count` rounds of 100 ms, each with these packets delivered and lost. Returns whether
    /// probing restarted.
    fn rounds(
        policer: &mut Policer,
        evidence: &mut Evidence,
        count: u32,
        each: (u64, u64),
    ) -> bool {
        let mut anew = false;
        for _ in 0..count {
            evidence.now += Time::from_millis(100);
            evidence.delivered += each.0;
            evidence.losses += each.1;
            evidence.lossy = each.1 > 0;
            anew |= policer.update(evidence);
        }
        anew
    }

    fn start() -> (Policer, Evidence) {
        let evidence = Evidence {
            now: Time::from_secs(1),
            delivered: 0,
            losses: 0,
            lossy: false,
            round: true,
            probing: true,
        };
        (Policer::default(), evidence)
    }

    #[test]
    fn two_intervals_that_lose_a_fifth_at_one_rate_are_believed_for_48_rounds() {
        let (mut policer, mut evidence) = start();
        // The round that begins the first interval is counted, what arrived in it is not.
        rounds(&mut policer, &mut evidence, 4, (100, 20));
        assert_eq!(policer.rate(), None, "one interval is not enough");
        rounds(&mut policer, &mut evidence, 4, (110, 22));
        let rate = policer.rate().unwrap();
        assert!((rate - 1050.0).abs() < 1e-9, "{rate}");
        assert!(!rounds(&mut policer, &mut evidence, 47, (100, 0)));
        assert_eq!(policer.rate(), Some(rate));
        assert!(rounds(&mut policer, &mut evidence, 1, (100, 0)));
        assert_eq!(policer.rate(), None);
    }

    /// Ten rounds of 1.95 ms begin and end at other fractions of a millisecond each.
    #[test]
    fn intervals_are_counted_in_whole_milliseconds() {
        let at = Time::from_micros;
        assert_eq!(whole_milliseconds(at(1_999), at(2_000)), 1.0);
        assert_eq!(whole_milliseconds(at(1_000), at(1_999)), 0.0);
        assert_eq!(whole_milliseconds(at(950), at(8_750)), 8.0);
        assert_eq!(whole_milliseconds(at(8_750), at(950)), 0.0);
        let (_, mut evidence) = start();
        let interval = Interval::begin(&evidence);
        evidence.now += Time::from_micros(7_800);
        (evidence.delivered, evidence.losses) = (70, 20);
        assert_eq!(interval.rate(&evidence), Some(70.0 / 7e-3));
    }

    #[test]
    fn a_small_difference_is_one_in_bytes() {
        for (payload, agree) in [(50, true), (8948, false)] {
            let (mut policer, mut evidence) = start();
            policer.on_open(Segmentation::of(forebay_units::Bytes::new(payload)));
            // 20 and 10 packets per second: further apart than an eighth.
            rounds(&mut policer, &mut evidence, 4, (2, 1));
            rounds(&mut policer, &mut evidence, 5, (1, 1));
            assert_eq!(policer.rate().is_some(), agree, "{payload}");
        }
    }

    #[test]
    fn fewer_losses_than_a_fifth_tell_nothing() {
        let (mut policer, mut evidence) = start();
        rounds(&mut policer, &mut evidence, 100, (100, 19));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn intervals_that_differ_by_more_than_an_eighth_tell_nothing() {
        let (mut policer, mut evidence) = start();
        for k in 0..20 {
            let delivered = if k % 2 == 0 { 100 } else { 130 };
            rounds(&mut policer, &mut evidence, 4, (delivered, delivered / 4));
            assert_eq!(policer.rate(), None);
        }
    }

    #[test]
    fn a_lack_of_data_and_sixteen_rounds_without_enough_losses_begin_anew() {
        let (mut policer, mut evidence) = start();
        rounds(&mut policer, &mut evidence, 5, (100, 20));
        assert!(policer.estimate.is_some());
        policer.starve();
        assert!(policer.estimate.is_none() && policer.interval.is_none());
        rounds(&mut policer, &mut evidence, 5, (100, 20));
        assert!(policer.estimate.is_some());
        rounds(&mut policer, &mut evidence, 17, (100, 0));
        assert!(policer.estimate.is_none() && policer.interval.is_none());
    }
}
