//! Round-trip times and the retransmission timeout (RFC 6298). A sender adds each measured time and
//! reads the timeout.

use forebay_congestion::packet::Path;
use forebay_scenario::{Recovery, RtoArithmetic, Stack};
use forebay_units::Time;

/// The longest timeout (RFC 6298 section 2.5).
const MAX_RTO: Time = Time::from_secs(60);

/// The timeout of the first data where the SYN had to be repeated (RFC 6298 section 5.7).
const RTO_AFTER_REPEATED_SYN: Time = Time::from_secs(3);

/// The sender's estimates of its round trip. The fields that each acknowledgment needs come first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RoundTrip {
    timeout: Time,
    pub(crate) path: Path,
    /// RTTVAR in seconds.
    variation: f64,
    min_timeout: Time,
    /// The least that is added to the round-trip time. Linux bounds RTTVAR by the minimum RTO,
    /// where RFC 6298 bounds the sum.
    min_margin: Time,
    clock: Time,
    /// The estimator in whole ticks, where the stack has it.
    ticks: Option<Ticks>,
}

/// Smoothed round-trip time and variation as integers (Jacobson 1988, appendix A), and what ns-2.35
/// does with them (tcp.cc: `rtt_update`, `rtt_backoff`; tcp-linux.cc: `rtt_update`).
#[derive(Clone, Copy, Debug)]
struct Ticks {
    /// Smoothed round-trip time in eighths of a tick; 0 before the first sample and after long
    /// silence.
    srtt8: i32,
    /// Variation in quarters of a tick.
    rttvar4: i32,
    /// Timeouts since the last sample.
    backoffs: u32,
    /// Samples come from timestamps, which are rounded to the next tick; a clock that is read twice
    /// counts ticks.
    timestamps: bool,
    /// Samples that fall far raise the variation by an eighth of the difference only (Linux 2.6:
    /// tcp_rtt_estimator).
    falls_slowly: bool,
}

impl Ticks {
    /// The variation is doubled three times before the smoothed round-trip time is given up.
    const MOST_BACKOFFS: u32 = 3;

    fn of(stack: &Stack) -> Option<Self> {
        let whole = stack.rto_arithmetic == RtoArithmetic::Ticks && stack.clock > Time::ZERO;
        whole.then_some(Self {
            srtt8: 0,
            rttvar4: 0,
            backoffs: 0,
            timestamps: stack.timestamps,
            falls_slowly: stack.recovery == Recovery::Fack,
        })
    }

    /// Takes in a sample, and gives the timeout in ticks.
    fn measure(&mut self, sample: i32) -> i32 {
        self.backoffs = 0;
        if self.srtt8 == 0 {
            self.srtt8 = sample << 3;
            self.rttvar4 = sample << 1;
        } else {
            let difference = sample - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + difference).max(1);
            let mut change = difference.abs() - (self.rttvar4 >> 2);
            if self.falls_slowly && difference < 0 && change > 0 {
                change >>= 3;
            }
            self.rttvar4 = (self.rttvar4 + change).max(1);
        }
        (self.srtt8 >> 3) + self.rttvar4
    }

    /// After four timeouts the smoothed round-trip time counts as variation, and the next sample as
    /// the first.
    fn back_off(&mut self) {
        self.backoffs += 1;
        if self.backoffs > Self::MOST_BACKOFFS {
            self.rttvar4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }
}

impl RoundTrip {
    pub(crate) fn new(stack: &Stack) -> Self {
        Self {
            path: Path {
                min_rtt: f64::INFINITY,
                ..Path::default()
            },
            variation: 0.0,
            timeout: stack.initial_rto.max(stack.min_rto),
            min_timeout: stack.min_rto,
            min_margin: match stack.recovery {
                Recovery::Rack => stack.min_rto,
                Recovery::NewReno
                | Recovery::GoBackN
                | Recovery::Sack
                | Recovery::Pipe
                | Recovery::Fack => stack.clock,
            },
            clock: stack.clock,
            ticks: Ticks::of(stack),
        }
    }

    /// Takes in a packet sent at `sent` and acknowledged at `now` (RFC 6298 section 2).
    #[cold]
    pub(crate) fn measure(&mut self, sent: Time, now: Time) {
        // A coarse clock reads whole ticks at both ends.
        let sample = if self.clock == Time::ZERO {
            now - sent
        } else {
            let tick = self.clock.as_picos();
            let ticks = now.as_picos() / tick - sent.as_picos() / tick;
            self.clock * ticks.max(1)
        };
        let exact = (now - sent).as_secs_f64();
        let sample = sample.as_secs_f64();
        let path = &mut self.path;
        if path.smoothed_rtt == 0.0 {
            path.smoothed_rtt = sample;
            self.variation = sample / 2.0;
        } else {
            self.variation += 0.25 * ((path.smoothed_rtt - sample).abs() - self.variation);
            path.smoothed_rtt += 0.125 * (sample - path.smoothed_rtt);
        }
        path.min_rtt = path.min_rtt.min(exact);
        path.max_rtt = path.max_rtt.max(exact);
        let timeout = if let Some(ticks) = &mut self.ticks {
            let tick = self.clock.as_picos();
            let count = if ticks.timestamps {
                ((now - sent).as_picos() + tick / 2) / tick
            } else {
                now.as_picos() / tick - sent.as_picos() / tick
            };
            let sample = i32::try_from(count.max(1)).unwrap_or(i32::MAX >> 4);
            self.clock * u64::from(ticks.measure(sample.min(i32::MAX >> 4)).unsigned_abs())
        } else {
            let margin = (4.0 * self.variation).max(self.min_margin.as_secs_f64());
            Time::from_secs_f64(path.smoothed_rtt + margin).round_up_to(self.clock)
        };
        self.timeout = timeout.clamp(self.min_timeout, MAX_RTO);
    }

    /// The retransmission timeout with its back-off, which only a new measurement takes back
    /// (RFC 6298 section 5.5 and the note after 5.7).
    #[inline]
    pub(crate) fn timeout(&self) -> Time {
        self.timeout
    }

    /// The timer has expired (RFC 6298 section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.timeout = self.timeout.saturating_mul(2).min(MAX_RTO);
        if let Some(ticks) = &mut self.ticks {
            ticks.back_off();
        }
    }

    /// The timer had expired too early: its back-off is taken back unless something was measured
    /// since, and so is what a congestion forgets. `before` is as it was before the timeout.
    pub(crate) fn undo_back_off(&mut self, before: &Self) {
        let mut expired = *before;
        expired.back_off();
        if self.timeout == expired.timeout {
            self.timeout = before.timeout;
            self.ticks = before.ticks;
        }
        self.path.max_rtt = self.path.max_rtt.max(before.path.max_rtt);
    }

    /// Data begins to flow after a SYN that had to be repeated (RFC 6298 section 5.7).
    pub(crate) fn begin_unmeasured(&mut self) {
        self.timeout = RTO_AFTER_REPEATED_SYN;
    }

    /// The largest round-trip time is counted from here on.
    pub(crate) fn forget_maximum(&mut self) {
        self.path.max_rtt = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(stack: &Stack, samples_ms: &[u64]) -> RoundTrip {
        let mut round_trip = RoundTrip::new(stack);
        let mut now = Time::from_secs(1);
        for &ms in samples_ms {
            round_trip.measure(now, now + Time::from_millis(ms));
            now += Time::from_secs(1);
        }
        round_trip
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let stack = Stack {
            min_rto: Time::from_millis(200),
            ..Stack::RFC
        };
        assert_eq!(measured(&stack, &[100]).timeout(), Time::from_millis(300));
    }

    #[test]
    fn a_steady_round_trip_ends_at_the_minimum() {
        let round_trip = measured(&Stack::NS2, &[100; 50]);
        assert_eq!(round_trip.timeout(), Time::from_millis(200));
        assert!((round_trip.path.smoothed_rtt - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_back_off_doubles_and_stays_until_something_is_measured() {
        let stack = Stack {
            rto_arithmetic: RtoArithmetic::Real,
            ..Stack::NS2
        };
        let mut round_trip = measured(&stack, &[100; 50]);
        round_trip.back_off();
        assert_eq!(round_trip.timeout(), Time::from_millis(400));
        for _ in 0..40 {
            round_trip.back_off();
        }
        assert_eq!(round_trip.timeout(), Time::from_secs(60));
        round_trip.measure(Time::from_secs(99), Time::from_millis(99_100));
        assert_eq!(round_trip.timeout(), Time::from_millis(200));
    }

    #[test]
    fn an_undone_timeout_leaves_what_was_measured_since() {
        let before = measured(&Stack::NS2, &[100; 50]);
        let mut round_trip = before;
        round_trip.back_off();
        round_trip.undo_back_off(&before);
        assert_eq!(round_trip.timeout(), before.timeout());
        round_trip.back_off();
        round_trip.measure(Time::from_secs(99), Time::from_millis(99_900));
        let late = round_trip.timeout();
        round_trip.undo_back_off(&before);
        assert_eq!(round_trip.timeout(), late);
        assert!(late > Time::from_millis(900));
    }

    #[test]
    fn before_any_sample_it_is_one_second_and_three_in_ns2() {
        assert_eq!(RoundTrip::new(&Stack::RFC).timeout(), Time::from_secs(1));
        assert_eq!(RoundTrip::new(&Stack::NS2).timeout(), Time::from_secs(3));
        let patient = Stack {
            min_rto: Time::from_secs(5),
            ..Stack::NS2
        };
        assert_eq!(RoundTrip::new(&patient).timeout(), Time::from_secs(5));
    }

    /// ns-2's `rtt_update`: the variation falls by a quarter of itself, rounded down, so that three
    /// quarters of a tick remain, which `t_rttvar_ << 3 >> 3` makes three ticks of the timeout.
    #[test]
    fn whole_ticks_keep_three_of_them_above_a_steady_round_trip() {
        let stack = Stack {
            min_rto: Time::from_millis(1),
            ..Stack::NS2
        };
        assert_eq!(
            measured(&stack, &[100; 50]).timeout(),
            Time::from_millis(130)
        );
        let real = Stack {
            rto_arithmetic: RtoArithmetic::Real,
            ..stack
        };
        assert_eq!(
            measured(&real, &[100; 50]).timeout(),
            Time::from_millis(110)
        );
    }

    /// By hand: 10 ticks (80, 20), 14 (84, 20 + 4 - 5 = 19), 8 (82, 19 + 2 - 4 = 17).
    #[test]
    fn whole_ticks_follow_jacobson_s_integers() {
        let stack = Stack {
            min_rto: Time::from_millis(1),
            ..Stack::NS2
        };
        for (samples, ticks) in [(&[100][..], 30), (&[100, 140], 29), (&[100, 140, 80], 27)] {
            let timeout = measured(&stack, samples).timeout();
            assert_eq!(timeout, Time::from_millis(10 * ticks), "{samples:?}");
        }
    }

    #[test]
    fn timestamps_are_rounded_and_a_clock_is_read_at_both_ends() {
        let stack = |timestamps| Stack {
            min_rto: Time::from_millis(1),
            timestamps,
            ..Stack::NS2
        };
        for (timestamps, ticks) in [(false, 3 * 4), (true, 3 * 3)] {
            let mut round_trip = RoundTrip::new(&stack(timestamps));
            round_trip.measure(Time::from_millis(9), Time::from_millis(41));
            assert_eq!(round_trip.timeout(), Time::from_millis(10 * ticks));
        }
    }

    /// tcp-linux.cc: a sample 40 ticks below adds (40 - 5) / 8 instead of 40 - 5 quarters.
    #[test]
    fn a_linux_agent_s_timeout_rises_little_when_round_trips_fall() {
        let stack = |recovery| Stack {
            min_rto: Time::from_millis(1),
            recovery,
            ..Stack::NS2
        };
        let after = |recovery| measured(&stack(recovery), &[1000, 600]).timeout();
        // 100 ticks (800, 200); 60 (760, 200 + 40 - 50 = 190, and less than the variation for
        // both).
        assert_eq!(after(Recovery::Fack), after(Recovery::NewReno));
        let mut steady = vec![1000; 40];
        steady.push(600);
        let after = |recovery| measured(&stack(recovery), &steady).timeout();
        // (760, 3 + 40) and (760, 3 + 40 / 8).
        assert_eq!(after(Recovery::NewReno), Time::from_millis(10 * (95 + 43)));
        assert_eq!(after(Recovery::Fack), Time::from_millis(10 * (95 + 8)));
    }

    /// ns-2's `rtt_backoff`: a timer that has run out four times forgets the round trip.
    #[test]
    fn after_four_timeouts_the_next_sample_counts_as_the_first() {
        for (timeouts, ms) in [(3, 132), (4, 600)] {
            let stack = Stack {
                min_rto: Time::from_millis(1),
                ..Stack::NS2
            };
            let mut round_trip = measured(&stack, &[100; 50]);
            for _ in 0..timeouts {
                round_trip.back_off();
            }
            let sample = if timeouts == 3 { 100 } else { 200 };
            round_trip.measure(Time::from_secs(99), Time::from_millis(99_000 + sample));
            let timeout = round_trip.timeout();
            assert!(
                timeout.as_secs_f64() * 1e3 <= f64::from(ms)
                    && timeout.as_secs_f64() * 1e3 > f64::from(ms) - 10.0,
                "{timeouts}: {timeout:?}"
            );
        }
    }

    #[test]
    fn a_coarse_clock_reads_whole_ticks() {
        let mut round_trip = RoundTrip::new(&Stack::NS2);
        round_trip.measure(Time::from_millis(9), Time::from_millis(41));
        assert_eq!(round_trip.path.smoothed_rtt, 0.04);
        assert!((round_trip.path.min_rtt - 0.032).abs() < 1e-12);
    }
}
