//! Growth by whole packets, as in Linux (`tcp_cong_avoid_ai` of net/ipv4/tcp_cong.c).

use crate::packet::Window;

/// Counts acknowledged packets and grows a window by whole packets (`tcp_cong_avoid_ai`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WholePackets {
    count: u64,
}

impl WholePackets {
    /// A packet more for every `each` acknowledged.
    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, each: u64, acked: u64) {
        if self.count >= each {
            self.count = 0;
            window.cwnd += 1.0;
        }
        self.count += acked;
        if self.count >= each {
            let more = self.count / each;
            self.count -= more * each;
            window.cwnd += more as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::window;

    #[test]
    fn a_window_of_ten_grows_by_one_for_ten_packets_and_then_for_eleven() {
        let mut window = window(10.0, 5.0);
        let mut grown = WholePackets::default();
        let mut sizes = Vec::new();
        for _ in 0..11 {
            let each = window.cwnd as u64;
            grown.grow(&mut window, each, 2);
            sizes.push(window.cwnd);
        }
        assert_eq!(sizes[..5], [10.0, 10.0, 10.0, 10.0, 11.0]);
        assert_eq!(sizes[5..], [11.0, 11.0, 11.0, 11.0, 11.0, 12.0]);
    }

    #[test]
    fn what_was_counted_for_a_larger_window_gives_one_packet() {
        let mut window = window(10.0, 5.0);
        let mut grown = WholePackets { count: 90 };
        grown.grow(&mut window, 10, 1);
        assert_eq!((window.cwnd, grown.count), (11.0, 1));
    }
}
