//! How the window falls in recovery where it does not fall at once (RFC 6675): by proportional
//! rate reduction (RFC 9937), or by rate halving (Mathis, Semke and Mahdavi 1999,
//! draft-mathis-tcp-ratehalving-00; Linux up to 3.1, tcp_cwnd_down) as ns-2's Linux senders do it
//! (Wei and Cao 2006, tcp-linux.cc).
//!
//! Where many packets are lost, Linux itself repairs one for every two acknowledgements and lets the
//! window fall to a packet more than is under way; ns-2 repairs at once what has just been found
//! lost, is silent for as many acknowledgements instead, and never goes below the floor.

use forebay_congestion::packet::Window;
use forebay_scenario::Reduction;

use super::Connection;
use super::ledger::Ledger;

/// The most that may leave at once at the end of rate halving, packets (Linux: tcp_max_burst).
const MAX_BURST: f64 = 3.0;

/// What is kept over one recovery, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reducing {
    way: Way,
    /// The window when recovery began (RecoverFS).
    before: f64,
    delivered: f64,
    sent: f64,
    /// Rate halving: the packets that may be under way at the next acknowledgement.
    next: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Proportional,
    Halving,
}

/// What an acknowledgement in recovery tells, in packets.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Newly arrived.
    delivered: f64,
    /// Under way now.
    pipe: f64,
    /// Whether it moves on in order and no new loss was found.
    safe: bool,
    /// The window below which rate halving takes nothing away.
    floor: f64,
}

impl Reducing {
    /// None where the window falls at once.
    pub(super) fn new(reduction: Reduction) -> Option<Self> {
        let way = match reduction {
            Reduction::AtOnce => return None,
            Reduction::Prr => Way::Proportional,
            Reduction::RateHalving => Way::Halving,
        };
        Some(Self {
            way,
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
    fn begin(&mut self, before: f64, window: &mut Window) {
        *self = Self {
            before,
            delivered: 0.0,
            sent: 0.0,
            next: before,
            way: self.way,
        };
        if self.way == Way::Halving {
            window.cwnd = before;
        }
    }

    fn on_ack(&mut self, window: &mut Window, progress: &Progress) {
        match self.way {
            Way::Proportional => self.keep_proportion(window, progress),
            Way::Halving => self.halve(window, progress),
        }
    }

    /// RFC 9937 section 6: what is under way and what may leave now.
    fn keep_proportion(&mut self, window: &mut Window, progress: &Progress) {
        self.delivered += progress.delivered;
        let (pipe, target) = (progress.pipe, window.ssthresh);
        let room = if pipe > target {
            let due = self.delivered * target / self.before.max(1.0);
            due.ceil() - self.sent
        } else {
            let conserved = (self.delivered - self.sent).max(progress.delivered);
            // SafeACK: progress without new losses allows for one more.
            (conserved + f64::from(u8::from(progress.safe))).min(target - pipe)
        };
        // The first repetition leaves at once.
        let least = if self.sent > 0.0 { 0.0 } else { 1.0 };
        window.cwnd = (pipe + room.max(least)).max(1.0);
    }

    /// tcp-linux.cc, send_much with next_pkts_in_flight_: as many packets as before may be under
    /// way, then one less than that; so every second acknowledgement sends one, down to the floor.
    fn halve(&mut self, window: &mut Window, progress: &Progress) {
        if progress.delivered <= 0.0 {
            return;
        }
        window.cwnd = self.next.max(progress.floor);
        let sends = progress.pipe + 1.0 <= window.cwnd;
        let left = if sends { 0.0 } else { 1.0 };
        self.next = self.next.min((progress.pipe + left).max(1.0));
    }

    /// Recovery ends: PRR has come to the threshold (RFC 9937 section 6); after rate halving the
    /// window is the threshold too, where that is no large burst, and slow start takes it there
    /// otherwise (tcp_moderate_cwnd).
    fn end(&self, window: &mut Window, progress: &Progress) {
        window.cwnd = match self.way {
            Way::Proportional => window.ssthresh,
            Way::Halving => (progress.pipe + MAX_BURST)
                .max(progress.floor)
                .min(window.ssthresh),
        };
    }
}

impl Connection {
    /// Recovery begins; `before` was the window.
    pub(super) fn begin_reduction(&mut self, ledger: &mut Ledger, before: f64) {
        if !ledger.needs.own_recovery
            && let Some(reducing) = &mut ledger.reducing
        {
            reducing.begin(before, &mut self.window);
        }
    }

    /// The window after an acknowledgement in recovery with which `delivered` packets arrived.
    pub(super) fn reduce(&mut self, ledger: &mut Ledger, delivered: f64, safe: bool) {
        if ledger.needs.own_recovery {
            return;
        }
        let progress = self.progress(delivered, safe);
        if let Some(reducing) = &mut ledger.reducing {
            reducing.on_ack(&mut self.window, &progress);
        }
    }

    fn progress(&self, delivered: f64, safe: bool) -> Progress {
        Progress {
            delivered,
            pipe: self.pipe() as f64,
            safe,
            floor: self.controller.recovery_floor(&self.window).max(1.0),
        }
    }

    /// The window after recovery.
    pub(super) fn end_reduction(&mut self, ledger: &Ledger) {
        if ledger.needs.own_recovery {
            return;
        }
        let progress = self.progress(0.0, true);
        if let Some(reducing) = &ledger.reducing {
            reducing.end(&mut self.window, &progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows over a round trip in which all but one of `packets` packets under way arrive,
    /// whenever one may leave it does, and recovery ends; the packets sent.
    fn round(reduction: Reduction, ssthresh: f64, floor: f64) -> (Vec<f64>, f64, Window) {
        let mut reducing = Reducing::new(reduction).unwrap();
        let packets = 100.0;
        let mut window = Window {
            cwnd: ssthresh,
            ssthresh,
        };
        reducing.begin(packets, &mut window);
        let (mut pipe, mut sent, mut windows) = (packets - 1.0, 0.0, Vec::new());
        for _ in 0..99 {
            pipe -= 1.0;
            let progress = Progress {
                delivered: 1.0,
                pipe,
                safe: false,
                floor,
            };
            reducing.on_ack(&mut window, &progress);
            windows.push(window.cwnd);
            while pipe + 1.0 <= window.cwnd {
                pipe += 1.0;
                sent += 1.0;
                reducing.on_send();
            }
        }
        let progress = Progress {
            delivered: 0.0,
            pipe,
            safe: true,
            floor,
        };
        reducing.end(&mut window, &progress);
        (windows, sent, window)
    }

    #[test]
    fn rate_halving_sends_a_packet_for_two_acknowledgements() {
        let (windows, sent, window) = round(Reduction::RateHalving, 50.0, 25.0);
        assert!((49.0..=51.0).contains(&sent), "{sent}");
        assert!(windows.windows(2).all(|w| w[1] <= w[0]), "{windows:?}");
        assert!((49.0..=51.0).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn rate_halving_stops_at_the_floor() {
        let (windows, sent, window) = round(Reduction::RateHalving, 80.0, 80.0);
        // Two acknowledgements a packet down to 80, then each sends one.
        assert!(windows.iter().all(|w| *w >= 80.0), "{windows:?}");
        assert!((78.0..=81.0).contains(&sent), "{sent}");
        assert_eq!(window.cwnd, 80.0);
    }

    #[test]
    fn rate_halving_ends_below_the_threshold_where_its_floor_is_lower() {
        let (_, _, window) = round(Reduction::RateHalving, 67.0, 33.5);
        assert!((51.0..=54.0).contains(&window.cwnd), "{}", window.cwnd);
        assert_eq!(window.ssthresh, 67.0);
    }

    #[test]
    fn rate_halving_repairs_at_once_and_is_silent_for_it_then() {
        let mut reducing = Reducing::new(Reduction::RateHalving).unwrap();
        let mut window = Window {
            cwnd: 50.0,
            ssthresh: 50.0,
        };
        reducing.begin(100.0, &mut window);
        let at = |pipe| Progress {
            delivered: 1.0,
            pipe,
            safe: false,
            floor: 25.0,
        };
        // Ten are lost: they may all leave, the window being what it was.
        reducing.on_ack(&mut window, &at(89.0));
        assert_eq!(window.cwnd, 100.0);
        // Then nothing before as many have arrived.
        reducing.on_ack(&mut window, &at(99.0));
        assert_eq!(window.cwnd, 89.0);
        // However many are lost, the floor may be under way.
        reducing.on_ack(&mut window, &at(10.0));
        reducing.on_ack(&mut window, &at(24.0));
        assert_eq!(window.cwnd, 25.0);
    }

    #[test]
    fn prr_sends_in_proportion_and_ends_at_the_threshold() {
        let (_, sent, window) = round(Reduction::Prr, 70.0, 0.0);
        assert!((69.0..=71.0).contains(&sent), "{sent}");
        assert_eq!(window.cwnd, 70.0);
    }

    #[test]
    fn nothing_that_arrived_takes_nothing_off() {
        let mut reducing = Reducing::new(Reduction::RateHalving).unwrap();
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 10.0,
        };
        reducing.begin(20.0, &mut window);
        let progress = Progress {
            delivered: 0.0,
            pipe: 3.0,
            safe: false,
            floor: 5.0,
        };
        reducing.on_ack(&mut window, &progress);
        assert_eq!(window.cwnd, 20.0);
    }

    #[test]
    fn at_once_needs_nothing() {
        assert!(Reducing::new(Reduction::AtOnce).is_none());
    }
}
