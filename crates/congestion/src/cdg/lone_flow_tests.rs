//! A flow of CDG alone on a link, packet by packet.

use std::collections::VecDeque;

use super::*;
use crate::packet::tests::{sample, window};

/// A link of one packet per millisecond behind 40 ms of propagation, without losses;
/// acknowledgments come up to `noise` milliseconds later, by chance.
struct Link {
    cdg: CdgController,
    window: Window,
    noise: f64,
    random: Stream,
    /// Packets in flight: when each was sent, and when its acknowledgment comes, in milliseconds.
    in_flight: VecDeque<(f64, f64)>,
    free_at: f64,
    sent: u64,
}

impl Link {
    fn new(cdg: CdgController, noise: f64) -> Self {
        let random = crate::registration::tests::stream(7).stream();
        Self {
            cdg,
            window: window(10.0, 10.0),
            noise,
            random,
            in_flight: VecDeque::new(),
            free_at: 0.0,
            sent: 0,
        }
    }

    fn send(&mut self, now: f64) {
        while (self.in_flight.len() as f64) < self.window.cwnd.floor() {
            self.free_at = self.free_at.max(now) + 1.0;
            let noise = self.noise * self.random.uniform();
            let last = self.in_flight.back().map_or(0.0, |last| last.1);
            let acknowledged = (self.free_at + 39.0 + noise).max(last);
            self.in_flight.push_back((now, acknowledged));
            self.sent += 1;
        }
    }

    /// Utilization over a number of milliseconds, after a tenth of them.
    fn utilization(&mut self, ms: f64) -> f64 {
        self.send(0.0);
        let (mut acked, mut counted) = (0, 0_u32);
        while let Some((sent, now)) = self.in_flight.pop_front() {
            if now > 1.1 * ms {
                break;
            }
            acked += 1;
            counted += u32::from(now > 0.1 * ms);
            let at = Time::from_secs_f64(now * 1e-3);
            let ack = Ack {
                acked: 1.0,
                now: at,
            };
            self.cdg.on_ack(&mut self.window, &ack, &Path::default());
            let mut seen = sample((now - sent) * 1e-3);
            (seen.now, seen.acknowledged, seen.next) = (at, acked, self.sent);
            self.cdg
                .on_sample(&mut self.window, &seen, &Path::default());
            self.send(now);
        }
        f64::from(counted) / ms
    }
}

/// Utilization by the law alone, round trip by round trip, of a link that holds 40 packets: the
/// queue grows by one packet per round trip, and the gradients of reductions do not count.
fn by_rounds(rounds: usize) -> f64 {
    const PRODUCT: f64 = 40.0;
    let mut random = crate::registration::tests::stream(1).stream();
    let mut gradients = vec![(0.0, 0.0); rounds];
    let (mut cwnd, mut backoffs, mut drained) = (10.0_f64, 0, 0.0);
    let (mut packets, mut time) = (0.0, 0.0);
    for round in 0..200_000 {
        let queue = |cwnd: f64| (cwnd - PRODUCT).max(0.0);
        packets += cwnd;
        time += PRODUCT + queue(cwnd);
        let grown = queue(cwnd + 1.0) - queue(cwnd);
        cwnd += 1.0;
        // A backoff drains packets, which only the largest round-trip time shows.
        gradients[round % rounds] = (grown, grown - drained);
        drained = 0.0;
        let sum = |of: fn(&(f64, f64)) -> f64| gradients.iter().map(of).sum::<f64>();
        let (min, max) = (sum(|pair| pair.0), sum(|pair| pair.1));
        if min < -0.03 || max < -0.03 {
            backoffs = 0;
        }
        let by = if min > 0.0 { min } else { max };
        if by > 0.0 && random.uniform() > libm::exp(-0.042 * by) {
            backoffs += 1;
            if backoffs <= 5 {
                drained = queue(cwnd) - queue(BACKOFF_BETA * cwnd);
                cwnd *= BACKOFF_BETA;
                packets += cwnd;
                time += PRODUCT + queue(cwnd);
            }
        }
    }
    packets / time
}

/// The default leaves a seventh of an empty link unused. Gradients of eight rounds stay positive
/// after a backoff, because its own gradient does not count: further backoffs follow at once. With
/// the gradient of one round the queue of a backoff is so long that 0.7071 of the window fills the
/// link.
#[test]
fn a_flow_alone_uses_the_link_as_the_law_says() {
    for rounds in [1, 2, 8] {
        let expected = by_rounds(rounds);
        for noise in [0.0, 0.1, 0.5, 1.0] {
            let mut parameters = Parameters::defaults(CdgController::DESCRIPTION.parameters());
            assert!(parameters.set("window", Value::Number(rounds as f64)));
            let stream = crate::registration::tests::stream(0);
            let mut link = Link::new(CdgController::new(&parameters, stream), noise);
            let found = link.utilization(100_000.0);
            assert!(
                (found - expected).abs() < 0.05,
                "{rounds} {noise}: {found} {expected}"
            );
        }
    }
    assert!(by_rounds(1) > 0.99 && by_rounds(8) < 0.9);
}
