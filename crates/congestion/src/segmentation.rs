//! Segmentation offload as Linux sizes its bursts, in bytes: what leaves at once lasts 1/1024 s at
//! the pacing rate and is no longer than a segment may be that the network card splits
//! (net/ipv4/tcp_output.c: `tcp_tso_autosize`, net/ipv4/tcp_bbr.c: `bbr_tso_segs_goal`; the same
//! in Linux 5.5 and 6.18).

use forebay_units::Bytes;

/// A burst is 1/1024 s long at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;

/// Most bytes of payload in one: 64 KiB less one byte and what is set aside for headers
/// (`GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, which Linux 6.18 takes off in `sk_dst_gso_max_size`).
const LARGEST: f64 = 65_536.0 - 1.0 - 320.0;

/// Most bytes of a burst in the BBR draft (draft-ietf-ccwg-bbr section 5.6.3), which sets nothing
/// aside.
const LARGEST_OF_DRAFT: f64 = 65_536.0;

/// Payload of a full packet of 1500 bytes with timestamps (RFC 7323).
pub(crate) const ETHERNET_PAYLOAD: f64 = 1448.0;

/// Bursts of full packets with this payload each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segmentation {
    /// Bytes of payload in a full packet (`mss_cache`).
    payload: f64,
}

impl Default for Segmentation {
    fn default() -> Self {
        Self {
            payload: ETHERNET_PAYLOAD,
        }
    }
}

impl Segmentation {
    /// Bursts of packets with this payload. Without any payload it is one byte.
    pub fn of(payload: Bytes) -> Self {
        Self {
            payload: (payload.get() as f64).max(1.0),
        }
    }

    /// Bytes of payload in a full packet.
    pub(crate) fn payload(self) -> f64 {
        self.payload
    }

    /// Packets that one segment holds at most, one at least.
    #[inline]
    pub fn most(self) -> f64 {
        self.largest().floor().max(1.0)
    }

    /// The longest segment in packets, of which the last is none that is full.
    pub(crate) fn largest(self) -> f64 {
        LARGEST / self.payload
    }

    /// Packets of a burst at `rate` packets per second, at least `least`. A segment that holds
    /// fewer than two packets still leaves by `least`, as in the kernel.
    #[inline]
    pub fn burst(self, rate: f64, least: f64) -> f64 {
        let whole = (rate / BURSTS_PER_SECOND).floor();
        whole.min(self.most()).max(least)
    }

    /// The same by the BBR draft: a millisecond's worth, two packets at least.
    #[inline]
    pub(crate) fn quantum_of_draft(self, rate: f64) -> f64 {
        let most = (LARGEST_OF_DRAFT / self.payload).floor();
        (rate * 1e-3).floor().min(most).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: u64) -> Segmentation {
        Segmentation::of(Bytes::new(payload))
    }

    /// `bytes / mss_now` in the kernel's whole numbers, whatever the packets' size.
    #[test]
    fn a_burst_is_the_kernel_s() {
        for payload in (88..65_000).step_by(97) {
            for exponent in 0..70 {
                // Between two whole packets: a real may round the tie down.
                let bytes_per_second = (1_000 << (exponent / 3)) + (payload << 9) + exponent;
                let segments = ((bytes_per_second >> 10).min(65_215) / payload).max(2);
                let rate = bytes_per_second as f64 / payload as f64;
                let ours = of(payload).burst(rate, 2.0);
                let tie = bytes_per_second % (payload << 10) == 0;
                assert!(
                    ours == segments as f64 || tie,
                    "{payload} {bytes_per_second}: {ours}"
                );
            }
        }
    }

    #[test]
    fn bursts_end_at_64_kib_of_payload() {
        let most = |payload| of(payload).burst(1e300, 2.0);
        // Packets of 1500 and 9000 bytes, and of loopback's 64 KiB: one alone fills a segment.
        assert_eq!([most(1448), most(8948), most(65_483)], [45.0, 7.0, 2.0]);
        assert_eq!(Segmentation::default(), of(1448));
    }

    #[test]
    fn slow_senders_have_the_least_burst() {
        for least in [1.0, 2.0] {
            assert_eq!(of(8948).burst(1023.0, least), least);
        }
        assert_eq!(of(8948).burst(3.0 * 1024.0, 2.0), 3.0);
        assert_eq!(of(0).burst(1e5, 2.0), 97.0);
    }

    #[test]
    fn the_draft_counts_milliseconds_and_whole_64_kib() {
        let quantum = |payload, rate| of(payload).quantum_of_draft(rate);
        assert_eq!([quantum(1448, 0.0), quantum(1448, 10_500.0)], [2.0, 10.0]);
        assert_eq!([quantum(1448, 1e300), quantum(8948, 1e300)], [45.0, 7.0]);
    }
}
