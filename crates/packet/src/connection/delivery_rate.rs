//! Delivery-rate estimation (draft-ietf-ccwg-bbr section 4.1): how fast the network delivered the
//! packets that were in flight together.

use forebay_congestion::packet::{Delivery, LostPacket};
use forebay_units::Time;

use super::ring::Ring;

/// The state of delivery when a packet was sent (draft-ietf-ccwg-bbr section 4.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    first_sent: Time,
    delivered_time: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// The packet sent last among those that an acknowledgment makes known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Newest {
    snapshot: Snapshot,
    sent: Time,
}

/// The counts at which a packet leaves or a sample is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Packets that have arrived, ever.
    pub(super) delivered: u64,
    /// Losses found, ever.
    pub(super) losses: u64,
    /// Packets in flight.
    pub(super) in_flight: u64,
}

/// The estimator of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    snapshots: Ring<Snapshot>,
    newest: Option<Newest>,
    /// The packet found lost since the last sample whose flight lost the largest share.
    lost_packet: Option<LostPacket>,
    first_sent: Time,
    delivered_time: Time,
    /// Number of delivered packets up to which the application limits delivery.
    app_limited_until: Option<u64>,
}

impl RateSampler {
    /// Nothing is in flight when the next packet leaves.
    pub(super) fn restart(&mut self, now: Time) {
        self.first_sent = now;
        self.delivered_time = now;
    }

    /// A packet leaves, the highest so far or one `is_retransmission`; `from` is the lowest one not
    /// acknowledged.
    pub(super) fn on_send(
        &mut self,
        packet: u64,
        from: u64,
        is_retransmission: bool,
        counts: Counts,
    ) {
        self.snapshots.reserve(from, packet, !is_retransmission);
        *self.snapshots.get_mut(packet) = Snapshot {
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: counts.delivered,
            lost: counts.losses,
            in_flight: counts.in_flight,
            app_limited: self.app_limited_until.is_some(),
        };
    }

    /// A packet that was last sent at `sent` is now known to have arrived.
    pub(super) fn on_arrival(&mut self, packet: u64, sent: Time, now: Time) {
        self.delivered_time = now;
        if self.newest.is_none_or(|newest| sent >= newest.sent) {
            self.first_sent = sent;
            self.newest = Some(Newest {
                snapshot: *self.snapshots.get(packet),
                sent,
            });
        }
    }

    /// A packet is found lost, the last of `losses` ever.
    pub(super) fn on_loss(&mut self, packet: u64, losses: u64) {
        let snapshot = self.snapshots.get(packet);
        let found = LostPacket {
            in_flight: snapshot.in_flight as f64,
            lost: (losses - snapshot.lost) as f64,
            app_limited: snapshot.app_limited,
        };
        if self
            .lost_packet
            .is_none_or(|other| found.share() >= other.share())
        {
            self.lost_packet = Some(found);
        }
    }

    /// The packet found lost since the last call whose flight lost the largest share.
    pub(super) fn take_lost_packet(&mut self) -> Option<LostPacket> {
        self.lost_packet.take()
    }

    /// Nothing is left to send although the window would allow it.
    pub(super) fn mark_app_limited(&mut self, delivered: u64, in_flight: u64) {
        // A connection that has sent nothing is limited until its second packet arrives.
        self.app_limited_until = Some((delivered + in_flight).max(1));
    }

    /// The delivery rate over the packets that arrived since the last call. `min_rtt` is the
    /// shortest round trip in seconds.
    pub(super) fn sample(&mut self, counts: Counts, min_rtt: f64, now: Time) -> Option<Delivery> {
        if self
            .app_limited_until
            .is_some_and(|until| counts.delivered > until)
        {
            self.app_limited_until = None;
        }
        let newest = self.newest.take()?;
        let sending = newest.sent.saturating_sub(newest.snapshot.first_sent);
        let answering = now.saturating_sub(newest.snapshot.delivered_time);
        let interval = sending.max(answering).as_secs_f64();
        // Shorter than any round trip: packets found lost had arrived after all.
        if interval < min_rtt || interval <= 0.0 {
            return None;
        }
        let delivered = (counts.delivered - newest.snapshot.delivered) as f64;
        Some(Delivery {
            rate: delivered / interval,
            delivered,
            interval,
            prior_delivered: newest.snapshot.delivered,
            app_limited: newest.snapshot.app_limited,
            in_flight: newest.snapshot.in_flight as f64,
            lost: (counts.losses - newest.snapshot.lost) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples over a bottleneck that passes a packet every `gap` milliseconds, of packets sent
    /// every `spacing`.
    fn rates(spacing: u64, gap: u64) -> Vec<Delivery> {
        const DELAY: u64 = 100;
        let mut sampler = RateSampler::default();
        let sent = |packet: u64| 1000 + spacing * packet;
        let arrived = |packet: u64| 1000 + DELAY + spacing.max(gap) * packet;
        sampler.restart(Time::from_millis(sent(1)));
        let (mut next, mut samples) = (1, Vec::new());
        for packet in 1..=300 {
            let now = arrived(packet);
            let mut counts = Counts {
                delivered: packet - 1,
                losses: 0,
                in_flight: 0,
            };
            while sent(next) < now {
                counts.delivered = (1..packet).filter(|p| arrived(*p) <= sent(next)).count() as u64;
                sampler.on_send(next, 1, false, counts);
                next += 1;
            }
            counts.delivered = packet;
            let at = Time::from_millis(now);
            sampler.on_arrival(packet, Time::from_millis(sent(packet)), at);
            samples.extend(sampler.sample(counts, 0.1, at));
        }
        samples
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sender_and_bottleneck() {
        for (spacing, gap, expected) in [(1, 2, 500.0), (4, 2, 250.0), (2, 2, 500.0)] {
            let samples = rates(spacing, gap);
            assert!(samples.len() > 200);
            for sample in &samples {
                assert!(sample.rate <= expected * 1.001, "{sample:?}");
            }
            let last = samples.last().unwrap().rate;
            assert!((last / expected - 1.0).abs() < 0.02, "{last} {expected}");
        }
    }

    /// draft-ietf-ccwg-bbr section 4.1: a rate over less than the shortest round trip is none.
    #[test]
    fn an_interval_shorter_than_any_round_trip_says_nothing() {
        for (took, shortest, says) in [
            (100, 0.1, true),
            (100, 0.101, false),
            (50, 0.1, false),
            (50, 0.0, true),
            (0, 0.0, false),
        ] {
            let mut sampler = RateSampler::default();
            let counts = |delivered| Counts {
                delivered,
                losses: 0,
                in_flight: 1,
            };
            let (sent, back) = (Time::from_millis(1000), Time::from_millis(1000 + took));
            sampler.restart(sent);
            sampler.on_send(1, 1, false, counts(0));
            sampler.on_arrival(1, sent, back);
            let sample = sampler.sample(counts(1), shortest, back);
            assert_eq!(sample.is_some(), says, "{took} {shortest}");
        }
    }

    #[test]
    fn what_the_application_limits_says_so_until_the_network_is_full_again() {
        let mut sampler = RateSampler::default();
        let counts = |delivered| Counts {
            delivered,
            losses: 0,
            in_flight: 1,
        };
        let at = Time::from_millis;
        sampler.restart(at(1000));
        sampler.on_send(1, 1, false, counts(0));
        sampler.mark_app_limited(0, 1);
        sampler.on_send(2, 1, false, counts(0));
        let mut limited = Vec::new();
        for packet in 1..=4 {
            sampler.on_arrival(packet, at(1000 + packet), at(1100 + packet));
            let sample = sampler.sample(counts(packet), 0.0, at(1100 + packet));
            limited.push(sample.unwrap().app_limited);
            sampler.on_send(packet + 2, 1, false, counts(packet));
        }
        // 2 and 3 left before the second packet had arrived.
        assert_eq!(limited, [false, true, true, false]);
    }
}
