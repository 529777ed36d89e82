//! Segmentation offload as in Linux (net/ipv4/tcp_output.c of 6.x): packets leave in bursts of up
//! to a millisecond at the sender's rate, and a smaller burst waits for the next acknowledgment
//! where that is near (`tcp_tso_autosize`, `tcp_tso_should_defer`).

use forebay_congestion::segmentation::Segmentation;
use forebay_units::Time;

/// Least packets of a burst (`tcp_min_tso_segs`).
const SMALLEST: f64 = 2.0;

/// Nothing waits when the last burst left longer ago than this, or when the next acknowledgment
/// is further off.
const NEAR: Time = Time::from_millis(1);

/// Nothing waits where this part of the window is free (`tcp_tso_win_divisor`).
const FREE_PART: f64 = 3.0;

/// The state that decides whether a burst leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readiness {
    pub(super) now: Time,
    /// Packets that the window allows, at least one.
    pub(super) quota: f64,
    /// Packets that there are to send, and the number of the first.
    pub(super) unsent: f64,
    pub(super) next: u64,
    pub(super) cwnd: f64,
    /// Packets of a whole burst.
    pub(super) burst: f64,
    /// Smoothed round-trip time in seconds.
    pub(super) rtt: f64,
    /// When the first packet not acknowledged was sent; none where nothing is in flight.
    pub(super) oldest: Option<Time>,
}

/// The burst in progress.
#[derive(Clone, Debug)]
pub(super) struct Offload {
    segmentation: Segmentation,
    /// Whether a burst takes in what follows where a buffer ends.
    grows: bool,
    /// When the last burst left, and how many packets it may still hold; none before the first.
    last: Option<Time>,
    left: u32,
    /// Packets of the burst in progress, and when it left.
    packets: u32,
    since: Option<Time>,
    /// The first packet of all.
    origin: Option<u64>,
}

impl Offload {
    pub(super) fn new(segmentation: Segmentation, grows: bool) -> Self {
        Self {
            segmentation,
            grows,
            last: None,
            left: 0,
            packets: 0,
            since: None,
            origin: None,
        }
    }

    /// Packets of a burst at `rate` packets per second (`tcp_tso_autosize`).
    pub(super) fn burst(&self, rate: f64) -> f64 {
        self.segmentation.burst(rate, SMALLEST)
    }

    /// Whether the next packet waits for company.
    pub(super) fn defers(&mut self, ready: &Readiness) -> bool {
        if self.is_in_progress(ready.now) {
            return false;
        }
        if self.waits(ready) {
            return true;
        }
        self.begin(ready);
        false
    }

    /// Packets left of the buffer that holds the next one. An application writes into buffers of 64
    /// KiB at most (`tcp_xmit_size_goal`).
    fn left_of_buffer(&mut self, ready: &Readiness) -> f64 {
        let origin = *self.origin.get_or_insert(ready.next);
        let most = self.segmentation.most() as u64;
        (most - (ready.next - origin) % most) as f64
    }

    /// Whether the next packet belongs to a burst that has begun.
    fn is_in_progress(&self, now: Time) -> bool {
        self.left > 0 && self.since == Some(now)
    }

    /// A burst begins that waits for nothing. It is cut out of one buffer, which since 6.10 first
    /// takes from the next what it lacks (`tcp_grow_skb`).
    fn begin(&mut self, ready: &Readiness) {
        let mut most = ready.unsent;
        let left = self.left_of_buffer(ready);
        if !self.grows {
            most = most.min(left);
        }
        self.left = ready.quota.min(ready.burst).min(most) as u32;
        self.packets = self.left;
        self.since = Some(ready.now);
    }

    /// In recovery nothing waits (`tcp_tso_should_defer`): a burst begins if none is in progress.
    pub(super) fn begin_if_idle(&mut self, ready: &Readiness) {
        if !self.is_in_progress(ready.now) {
            self.begin(ready);
        }
    }

    fn waits(&mut self, ready: &Readiness) -> bool {
        let recent = self
            .last
            .is_some_and(|last| ready.now <= last.saturating_add(NEAR));
        let Some(oldest) = ready.oldest else {
            return false;
        };
        if !recent || ready.quota >= ready.burst || ready.quota >= ready.cwnd / FREE_PART {
            return false;
        }
        // The rest of a buffer gets no more company, and with what it grows by fills the window.
        let rest = self.left_of_buffer(ready);
        if rest < ready.unsent && ready.quota >= rest {
            return false;
        }
        let expected = oldest.saturating_add(Time::from_secs_f64(ready.rtt));
        let near = NEAR.min(Time::from_secs_f64(0.5 * ready.rtt));
        expected.saturating_sub(ready.now) <= near
    }

    /// A packet leaves. Returns whether it is the last of a burst of several, which carries a PSH
    /// (`__tcp_transmit_skb`). A retransmission is no part of a burst.
    pub(super) fn on_send(&mut self, now: Time, is_retransmission: bool) -> bool {
        self.last = Some(now);
        if is_retransmission {
            self.since = None;
            return false;
        }
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.packets > 1 && self.since == Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Bytes;

    fn ready(now_us: u64, quota: f64) -> Readiness {
        Readiness {
            now: Time::from_micros(now_us),
            quota,
            unsent: 1e9,
            next: 1,
            cwnd: 200.0,
            burst: 5.0,
            rtt: 0.05,
            oldest: Some(Time::from_micros(now_us.saturating_sub(50_000))),
        }
    }

    /// Sends all that does not wait; how many packets that were.
    fn send(offload: &mut Offload, mut ready: Readiness) -> u32 {
        let mut sent = 0;
        while ready.quota >= 1.0 && !offload.defers(&ready) {
            offload.on_send(ready.now, false);
            ready.quota -= 1.0;
            ready.next += 1;
            sent += 1;
        }
        sent
    }

    fn offload() -> Offload {
        Offload::new(Segmentation::default(), false)
    }

    #[test]
    fn bursts_are_a_millisecond_long_and_two_packets_at_least() {
        let bursts = [0.0, 5200.0, 1e300].map(|rate| offload().burst(rate));
        assert_eq!(bursts, [2.0, 5.0, 45.0]);
        let jumbo = Offload::new(Segmentation::of(Bytes::new(8948)), false);
        assert_eq!(jumbo.burst(1e300), 7.0);
    }

    #[test]
    fn acknowledgments_of_two_packets_free_bursts_of_five() {
        // 5200 packets/s: five in 1/1024 s. Two become free every 480 us.
        let mut offload = offload();
        let (mut quota, mut bursts) = (0.0, Vec::new());
        for k in 0..40 {
            quota += 2.0;
            let sent = send(&mut offload, ready(100_000 + 480 * k, quota));
            quota -= f64::from(sent);
            bursts.extend((sent > 0).then_some(sent));
        }
        assert!(bursts[2..].iter().all(|&burst| burst == 5), "{bursts:?}");
    }

    #[test]
    fn nothing_waits_after_a_pause_without_packets_under_way_or_with_a_far_acknowledgment() {
        let mut offload = offload();
        assert_eq!(send(&mut offload, ready(100_000, 2.0)), 2, "the first");
        assert_eq!(send(&mut offload, ready(100_500, 2.0)), 0, "soon after");
        assert_eq!(send(&mut offload, ready(101_001, 2.0)), 2, "after 1 ms");
        let alone = Readiness {
            oldest: None,
            ..ready(101_100, 2.0)
        };
        assert_eq!(send(&mut offload, alone), 2);
        let far = Readiness {
            oldest: Some(Time::from_micros(53_000)),
            ..ready(101_200, 2.0)
        };
        assert_eq!(send(&mut offload, far), 2);
        let free = Readiness {
            cwnd: 6.0,
            ..ready(101_300, 2.0)
        };
        assert_eq!(send(&mut offload, free), 2, "a third of the window");
    }

    #[test]
    fn a_large_window_leaves_in_several_bursts_at_once() {
        let mut offload = offload();
        let sent = send(&mut offload, ready(100_000, 12.0));
        assert_eq!(sent, 10, "two packets wait");
    }

    /// Linux cuts bursts out of buffers of 64 KiB: what is left of one leaves though it is small.
    #[test]
    fn the_rest_of_a_buffer_waits_for_nothing() {
        let mut offload = offload();
        assert_eq!(send(&mut offload, ready(100_000, 5.0)), 5);
        let near_end = Readiness {
            next: 1 + 45 - 2,
            ..ready(100_400, 2.0)
        };
        assert_eq!(send(&mut offload, near_end), 2, "the last two of 45");
        let mut newer = Offload::new(Segmentation::default(), true);
        assert_eq!(send(&mut newer, ready(100_000, 5.0)), 5);
        let four = Readiness {
            quota: 4.0,
            ..near_end
        };
        assert_eq!(send(&mut newer, four), 4, "Linux 6.10: and two of the next");
        let mut older = Offload::new(Segmentation::default(), false);
        assert_eq!(send(&mut older, ready(100_000, 5.0)), 5);
        assert_eq!(send(&mut older, four), 2, "two of the next wait");
        let next = Readiness {
            next: 1 + 45,
            ..ready(100_500, 2.0)
        };
        assert_eq!(send(&mut offload, next), 0, "two of the next 45");
        let last = Readiness {
            next: 1 + 45 - 2,
            unsent: 2.0,
            ..ready(100_600, 2.0)
        };
        assert_eq!(
            send(&mut offload, last),
            0,
            "more may be written into the last buffer"
        );
    }

    #[test]
    fn the_last_packet_of_a_burst_is_pushed_but_not_one_alone_or_sent_again() {
        let mut offload = offload();
        let mut now_us = 100_000;
        let mut pushed = |packets: f64, is_retransmission| {
            now_us += 5000;
            let mut ready = ready(now_us, packets);
            let mut pushes = Vec::new();
            while ready.quota >= 1.0 && !offload.defers(&ready) {
                pushes.push(offload.on_send(ready.now, is_retransmission));
                ready.quota -= 1.0;
            }
            pushes
        };
        assert_eq!(pushed(3.0, false), [false, false, true]);
        assert_eq!(pushed(1.0, false), [false]);
        assert_eq!(pushed(2.0, true), [false]);
        let seven = [false, false, false, false, true, false, true];
        assert_eq!(pushed(7.0, false)[..5], seven[..5], "five, and two wait");
    }
}
