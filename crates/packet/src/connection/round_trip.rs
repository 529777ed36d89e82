//! Round-trip times and the retransmission timeout (RFC 6298).

use forebay_congestion::packet::Path;
use forebay_scenario::{Recovery, Stack};
use forebay_units::Time;

/// The longest timeout (RFC 6298 section 2.5).
const MAX_RTO: Time = Time::from_secs(60);

/// The timeout of the first data where the SYN had to be repeated (RFC 6298 section 5.7).
const RTO_AFTER_REPEATED_SYN: Time = Time::from_secs(3);

/// What a sender knows about its round trip; what each acknowledgment needs comes first.
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
                Recovery::NewReno | Recovery::Sack | Recovery::Pipe | Recovery::Fack => stack.clock,
            },
            clock: stack.clock,
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
        let margin = (4.0 * self.variation).max(self.min_margin.as_secs_f64());
        let timeout = Time::from_secs_f64(path.smoothed_rtt + margin).round_up_to(self.clock);
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
    }

    /// The timer had expired too early: its back-off is taken back unless something was measured
    /// since, and so is what a congestion forgets. `before` is as it was before the timeout.
    pub(crate) fn undo_back_off(&mut self, before: &Self) {
        let mut expired = *before;
        expired.back_off();
        if self.timeout == expired.timeout {
            self.timeout = before.timeout;
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
        let mut round_trip = measured(&Stack::NS2, &[100; 50]);
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

    #[test]
    fn a_coarse_clock_reads_whole_ticks() {
        let mut round_trip = RoundTrip::new(&Stack::NS2);
        round_trip.measure(Time::from_millis(9), Time::from_millis(41));
        assert_eq!(round_trip.path.smoothed_rtt, 0.04);
        assert!((round_trip.path.min_rtt - 0.032).abs() < 1e-12);
    }
}
