//! HighSpeed TCP's growth and cut on packets as Linux computes them (net/ipv4/tcp_highspeed.c, the
//! same in 2.6.22, which ns-2.35 runs, as in 6.x): by the table of RFC 3649, in whole packets.

use forebay_units::Time;

use super::response::HstcpResponse;
use crate::classic::WindowGrowth;
use crate::packet::{Ack, CongestionEvent, Path, Window};

/// RFC 3649 appendix B without its last row, as Linux has it: the largest windows with a(w) = 1, 2,
/// 3, ...
#[rustfmt::skip]
const WINDOWS: [u64; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053,
];

/// The largest window that the arithmetic is made for.
const LARGEST_WINDOW: f64 = 1e9;

/// HighSpeed TCP as in Linux; windows are whole numbers of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxHstcp {
    /// The row of the table at which the window grew last (`ai`).
    row: usize,
    snd_cwnd_cnt: u64,
}

/// The row for this window; larger windows have the last one.
fn row(cwnd: u64) -> usize {
    let row = WINDOWS.partition_point(|&largest| largest < cwnd);
    row.min(WINDOWS.len() - 1)
}

/// The fraction cut, in whole 256ths (`md`): b(w) of RFC 3649 at the row's largest window.
fn cut_of(row: usize) -> u64 {
    (256.0 * HstcpResponse::default().decrease(WINDOWS[row] as f64)) as u64
}

impl WindowGrowth for LinuxHstcp {
    /// `hstcp_cong_avoid` after slow start: once for an acknowledgment, however many it is for.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        if ack.acked <= 0.0 {
            return;
        }
        window.cwnd = window.cwnd.floor();
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        self.row = row(cwnd);
        self.snd_cwnd_cnt += self.row as u64 + 1;
        if self.snd_cwnd_cnt >= cwnd {
            self.snd_cwnd_cnt -= cwnd;
            window.cwnd += 1.0;
        }
    }

    /// `hstcp_ssthresh`.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        let cwnd = window.cwnd.min(LARGEST_WINDOW) as u64;
        self.snd_cwnd_cnt = 0;
        window.cut((cwnd - ((cwnd * cut_of(self.row)) >> 8)) as f64, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    /// RFC 3649 appendix B, b(w) as printed.
    #[rustfmt::skip]
    const PRINTED: [f64; 72] = [
        0.50, 0.44, 0.41, 0.38, 0.37, 0.35, 0.34, 0.33, 0.32, 0.31, 0.30, 0.29, 0.28, 0.28, 0.27,
        0.27, 0.26, 0.26, 0.25, 0.25, 0.24, 0.24, 0.23, 0.23, 0.22, 0.22, 0.22, 0.21, 0.21, 0.21,
        0.20, 0.20, 0.20, 0.19, 0.19, 0.19, 0.19, 0.18, 0.18, 0.18, 0.17, 0.17, 0.17, 0.17, 0.16,
        0.16, 0.16, 0.16, 0.15, 0.15, 0.15, 0.15, 0.14, 0.14, 0.14, 0.14, 0.13, 0.13, 0.13, 0.13,
        0.13, 0.12, 0.12, 0.12, 0.12, 0.11, 0.11, 0.11, 0.10, 0.10, 0.10, 0.10,
    ];

    #[test]
    fn cuts_and_increases_are_those_of_the_rfcs_table() {
        let functions = HstcpResponse::default();
        for (number, (&largest, printed)) in WINDOWS.iter().zip(PRINTED).enumerate() {
            assert_eq!(
                (row(largest), row(largest + 1)),
                (number, (number + 1).min(71))
            );
            let cut = cut_of(number) as f64 / 256.0;
            assert!((cut - printed).abs() < 0.01, "{largest} {cut} {printed}");
            // The functions agree with every row up to High_Window within four percent.
            let exact = functions.bounded_increase(largest as f64) / (number + 1) as f64;
            assert!(
                largest > 83_000 || (exact - 1.0).abs() < 0.04,
                "{largest} {exact}"
            );
        }
    }

    /// RFC 3649 appendix B says how its table came about: from a window of 38 on, a row wherever
    /// the increase has grown by more than one since the row before.
    #[test]
    fn the_table_is_what_the_rfcs_program_prints() {
        let functions = HstcpResponse::default();
        let (mut increase, mut rows) = (1.0, vec![38]);
        for window in 38..=89_053 {
            let w = f64::from(window);
            // a(w) of section 5 as the program writes it: W ** 2 * 2 * b / ((2 - b) * W ** 1.2 *
            // 12.8).
            let b = -0.4 * libm::log(w / 38.0) / libm::log(83_000.0 / 38.0) + 0.5;
            let a = w * w * 2.0 * b / ((2.0 - b) * libm::pow(w, 1.2) * 12.8);
            if a > increase + 1.0 {
                rows.push(window as u64);
                increase = a;
            }
            assert!((functions.decrease(w) - b).abs() < 1e-3, "{window}");
        }
        assert_eq!(rows, WINDOWS);
    }

    #[test]
    fn a_window_of_a_thousand_grows_by_eight_in_a_round_trip_and_keeps_two_thirds() {
        let (mut hstcp, mut window) = (LinuxHstcp::default(), window(1000.0, 10.0));
        let ack = Ack {
            acked: 1.0,
            now: Time::ZERO,
        };
        for _ in 0..1000 {
            hstcp.on_ack(&mut window, &ack, &Path::default());
        }
        // The next one needs a larger window's worth of acknowledgments.
        assert_eq!(window.cwnd, 1007.0);
        // The reduction uses the window and not the packets in flight.
        hstcp.on_congestion_event(
            &mut window,
            CongestionEvent::Loss,
            Time::ZERO,
            &Path::default(),
        );
        assert_eq!(window.cwnd, 1007.0 - (1007 * 83 / 256) as f64);
        assert_eq!(window.cwnd, window.ssthresh);
    }
}
