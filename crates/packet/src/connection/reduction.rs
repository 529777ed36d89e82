//! How the window falls in recovery where it does not fall at once (RFC 6675): by proportional
//! rate reduction (RFC 9937), or by rate halving (Mathis, Semke and Mahdavi 1999,
//! draft-mathis-tcp-ratehalving-00; Linux up to 3.1, tcp_cwnd_down) as ns-2's Linux senders do it
//! (Wei and Cao 2006, tcp-linux.cc).
//!
//! If many packets were lost, Linux lets the window fall to one packet more than the flight, even
//! below the floor, and recovers the difference in slow start. ns-2 sends up to the floor at once.

use forebay_congestion::packet::Window;
use forebay_scenario::Reduction as Kind;

/// The most that may leave at once at the end of rate halving, packets (Linux: tcp_max_burst).
const MAX_BURST: f64 = 3.0;

/// The state of one recovery, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowReduction {
    method: Method,
    /// The window when recovery began (RecoverFS).
    before: f64,
    delivered: f64,
    sent: f64,
    /// Rate halving: the packets that may be in flight at the next acknowledgment.
    next: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Proportional,
    Halving,
}

/// Whether an acknowledgment moves on in order without a new loss (RFC 9937 section 6: SafeACK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SafeAck {
    Yes,
    No,
}

impl SafeAck {
    /// The value for an acknowledgment for `acked` packets in order that showed `found` losses.
    pub(super) fn of(acked: u64, found: u64) -> Self {
        if acked > 0 && found == 0 {
            Self::Yes
        } else {
            Self::No
        }
    }
}

/// An acknowledgment in recovery, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryAck {
    /// Newly arrived.
    pub(super) delivered: f64,
    /// Packets in flight now.
    pub(super) pipe: f64,
    /// Whether it moves on in order and no new loss was found.
    pub(super) safe: bool,
    /// The window below which rate halving takes nothing away.
    pub(super) floor: f64,
}

impl WindowReduction {
    /// None where the window falls at once.
    pub(super) fn new(kind: Kind) -> Option<Self> {
        let method = match kind {
            Kind::AtOnce => return None,
            Kind::Prr => Method::Proportional,
            Kind::RateHalving => Method::Halving,
        };
        Some(Self {
            method,
            before: 0.0,
            delivered: 0.0,
            sent: 0.0,
            next: 0.0,
        })
    }

    pub(super) fn on_send(&mut self) {
        self.sent += 1.0;
    }

    /// Recovery begins with this window before the cut.
    pub(super) fn begin(&mut self, before: f64, window: &mut Window) {
        *self = Self {
            before,
            delivered: 0.0,
            sent: 0.0,
            next: before,
            method: self.method,
        };
        if self.method == Method::Halving {
            window.cwnd = before;
        }
    }

    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &RecoveryAck) {
        match self.method {
            Method::Proportional => self.keep_proportion(window, ack),
            Method::Halving => self.halve(window, ack),
        }
    }

    /// RFC 9937 section 6: the window is the packets in flight plus those that may leave now.
    fn keep_proportion(&mut self, window: &mut Window, ack: &RecoveryAck) {
        self.delivered += ack.delivered;
        let (pipe, target) = (ack.pipe, window.ssthresh);
        let room = if pipe > target {
            let due = self.delivered * target / self.before.max(1.0);
            due.ceil() - self.sent
        } else {
            let conserved = (self.delivered - self.sent).max(ack.delivered);
            // SafeACK: progress without new losses allows for one more.
            (conserved + f64::from(u8::from(ack.safe))).min(target - pipe)
        };
        // The first repetition leaves at once.
        let least = if self.sent > 0.0 { 0.0 } else { 1.0 };
        window.cwnd = (pipe + room.max(least)).max(1.0);
    }

    /// tcp-linux.cc, send_much with next_pkts_in_flight_: an acknowledgment sends one packet at
    /// most, and after that one packet less may be in flight. Every second acknowledgment therefore
    /// sends a packet, down to the floor.
    fn halve(&mut self, window: &mut Window, ack: &RecoveryAck) {
        if ack.delivered <= 0.0 {
            return;
        }
        window.cwnd = self.next.min(ack.pipe + 1.0).max(ack.floor);
        let sends = ack.pipe + 1.0 <= window.cwnd;
        let left = if sends { 0.0 } else { 1.0 };
        self.next = self.next.min((ack.pipe + left).max(1.0));
    }

    /// Recovery ends: PRR has come to the threshold (RFC 9937 section 6); after rate halving the
    /// window is the threshold too, where that is no large burst, and slow start takes it there
    /// otherwise (tcp_moderate_cwnd).
    pub(super) fn end(&self, window: &mut Window, pipe: f64, floor: f64) {
        window.cwnd = match self.method {
            Method::Proportional => window.ssthresh,
            Method::Halving => (pipe + MAX_BURST).max(floor).min(window.ssthresh),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a round trip in which all but one of `packets` packets in flight arrive, each
    /// packet leaves as soon as it may, and recovery ends. Returns the windows, the packets sent
    /// and the window at the end.
    fn round(kind: Kind, ssthresh: f64, floor: f64) -> (Vec<f64>, f64, Window) {
        let mut reduction = WindowReduction::new(kind).unwrap();
        let packets = 100.0;
        let mut window = Window {
            cwnd: ssthresh,
            ssthresh,
        };
        reduction.begin(packets, &mut window);
        let (mut pipe, mut sent, mut windows) = (packets - 1.0, 0.0, Vec::new());
        for _ in 0..99 {
            pipe -= 1.0;
            let ack = RecoveryAck {
                delivered: 1.0,
                pipe,
                safe: false,
                floor,
            };
            reduction.on_ack(&mut window, &ack);
            windows.push(window.cwnd);
            while pipe + 1.0 <= window.cwnd {
                pipe += 1.0;
                sent += 1.0;
                reduction.on_send();
            }
        }
        reduction.end(&mut window, pipe, floor);
        (windows, sent, window)
    }

    #[test]
    fn rate_halving_sends_a_packet_for_two_acknowledgments() {
        let (windows, sent, window) = round(Kind::RateHalving, 50.0, 25.0);
        assert!((49.0..=51.0).contains(&sent), "{sent}");
        assert!(windows.windows(2).all(|w| w[1] <= w[0]), "{windows:?}");
        assert!((49.0..=51.0).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn rate_halving_stops_at_the_floor() {
        let (windows, sent, window) = round(Kind::RateHalving, 80.0, 80.0);
        // Two acknowledgments a packet down to 80, then each sends one.
        assert!(windows.iter().all(|w| *w >= 80.0), "{windows:?}");
        assert!((78.0..=81.0).contains(&sent), "{sent}");
        assert_eq!(window.cwnd, 80.0);
    }

    #[test]
    fn rate_halving_ends_below_the_threshold_where_its_floor_is_lower() {
        let (_, _, window) = round(Kind::RateHalving, 67.0, 33.5);
        assert!((51.0..=54.0).contains(&window.cwnd), "{}", window.cwnd);
        assert_eq!(window.ssthresh, 67.0);
    }

    #[test]
    fn rate_halving_sends_one_packet_at_a_time_above_the_floor() {
        let mut reduction = WindowReduction::new(Kind::RateHalving).unwrap();
        let mut window = Window {
            cwnd: 50.0,
            ssthresh: 50.0,
        };
        reduction.begin(100.0, &mut window);
        let at = |pipe| RecoveryAck {
            delivered: 1.0,
            pipe,
            safe: false,
            floor: 25.0,
        };
        // Ten are lost: one leaves, and then none with the next acknowledgment.
        reduction.on_ack(&mut window, &at(89.0));
        assert_eq!(window.cwnd, 90.0);
        reduction.on_ack(&mut window, &at(89.0));
        assert_eq!(window.cwnd, 89.0);
        // However many packets are lost, the floor may be in flight.
        reduction.on_ack(&mut window, &at(10.0));
        assert_eq!(window.cwnd, 25.0);
    }

    #[test]
    fn prr_sends_in_proportion_and_ends_at_the_threshold() {
        let (_, sent, window) = round(Kind::Prr, 70.0, 0.0);
        assert!((69.0..=71.0).contains(&sent), "{sent}");
        assert_eq!(window.cwnd, 70.0);
    }

    #[test]
    fn nothing_that_arrived_takes_nothing_off() {
        let mut reduction = WindowReduction::new(Kind::RateHalving).unwrap();
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 10.0,
        };
        reduction.begin(20.0, &mut window);
        let ack = RecoveryAck {
            delivered: 0.0,
            pipe: 3.0,
            safe: false,
            floor: 5.0,
        };
        reduction.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 20.0);
    }

    #[test]
    fn at_once_needs_nothing() {
        assert!(WindowReduction::new(Kind::AtOnce).is_none());
    }
}
