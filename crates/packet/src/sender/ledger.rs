//! What a sender keeps of each packet under way, where its recovery, its timestamps or its
//! controller need it: when it was sent, what became of it, and the state of delivery at that
//! time. Senders that need none of it keep none.

use forebay_congestion::packet::{Delivery, Needs, Pace, Samples};
use forebay_scenario::{Recovery, Stack};
use forebay_units::Time;

use super::offload::Offload;
use super::rack::{Detection, Rack};
use super::reduction::Reducing;
use crate::bitmap::Bitmap;

/// Values by packet number for a sliding span.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// A power of two of them, or none yet.
    slots: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    /// Makes room for `packet` in a span that begins at `from`.
    fn reserve(&mut self, from: u64, packet: u64) {
        let needed = (packet - from + 1) as usize;
        if needed <= self.slots.len() {
            return;
        }
        let mut slots = vec![T::default(); needed.next_power_of_two().max(16)];
        let new = slots.len() as u64 - 1;
        for kept in from..from + self.slots.len() as u64 {
            slots[(kept & new) as usize] = *self.get(kept);
        }
        self.slots = slots;
    }

    /// The value of a packet of the span.
    #[inline]
    pub(super) fn get(&self, packet: u64) -> &T {
        &self.slots[packet as usize & (self.slots.len() - 1)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, packet: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[packet as usize & mask]
    }
}

/// The last transmission of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) time: Time,
    /// Whether it was sent more than once: the answer may be to either (Karn).
    pub(super) repeated: bool,
    /// Whether it counts as lost.
    pub(super) lost: bool,
    /// Whether it was sent again since it was last found lost.
    pub(super) repaired: bool,
}

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

/// Delivery-rate estimation (draft-ietf-ccwg-bbr section 4.1.2).
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    snapshots: Ring<Snapshot>,
    first_sent: Time,
    delivered_time: Time,
    /// Delivery is limited by the application until so many packets have arrived; 0 for not.
    app_limited_until: u64,
}

/// The rate sample that an acknowledgement builds up.
#[derive(Clone, Copy, Debug)]
struct Newest {
    snapshot: Snapshot,
    sent: Time,
}

/// Spreads packets over time: when the next may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    pace: Option<Pace>,
    release: Time,
    /// When the last burst began, and how many packets it may still hold.
    burst_at: Time,
    left: f64,
    /// Time by which the burst came late; half a gap at most is made up (as Linux does).
    late: Time,
}

impl Pacer {
    fn new() -> Self {
        Self {
            pace: None,
            release: Time::ZERO,
            burst_at: Time::MAX,
            left: 0.0,
            late: Time::ZERO,
        }
    }

    /// When a packet may leave, where that is later than now.
    fn pause(&self, now: Time) -> Option<Time> {
        self.pace?;
        let bursting = self.burst_at == now && self.left >= 1.0;
        (!bursting && self.release > now).then_some(self.release)
    }

    fn on_send(&mut self, now: Time) {
        let Some(pace) = self.pace else {
            return;
        };
        if self.burst_at != now || self.left < 1.0 {
            self.burst_at = now;
            self.left = pace.quantum.max(1.0);
            self.late = now.saturating_sub(self.release);
            self.release = self.release.max(now);
        }
        self.left -= 1.0;
        let gap = Time::from_secs_f64((1.0 / pace.rate).min(1.0));
        let made_up = self.late.min(Time::from_picos(gap.as_picos() / 2));
        self.late -= made_up;
        self.release = self.release.saturating_add(gap - made_up);
    }
}

/// What newly arrived packets tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    pub(super) count: u64,
    /// When the first of them that was sent only once was sent.
    pub(super) oldest: Option<Time>,
    /// The same of the last.
    pub(super) newest: Option<Time>,
    /// Lost packets among them.
    pub(super) were_lost: u64,
    /// Of those, packets sent again.
    pub(super) were_repaired: u64,
}

/// The records of one sender.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) needs: Needs,
    pub(super) sent: Ring<Sent>,
    rates: Option<RateSampler>,
    newest: Option<Newest>,
    pub(super) rack: Option<Rack>,
    pub(super) reducing: Option<Reducing>,
    pub(super) pacer: Pacer,
    /// Whether the stack paces what the controller does not.
    pub(super) always_paced: bool,
    pub(super) offload: Option<Offload>,
    pub(super) delivered: u64,
}

/// What a ledger must hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) needs: Needs,
    pub(super) stack: Stack,
    /// First packet of the transfer.
    pub(super) first: u64,
}

impl Ledger {
    /// A ledger for those who want one.
    pub(super) fn new(wanted: Wanted) -> Option<Box<Self>> {
        let idle = wanted.needs == Needs::default();
        let stack = &wanted.stack;
        let detection = Detection::of(stack.recovery);
        let reducing = Reducing::new(stack.reduction());
        if idle && !stack.timestamps && detection.is_none() && !stack.pacing && reducing.is_none() {
            return None;
        }
        let rates = wanted.needs.samples == Samples::Rates;
        Some(Box::new(Self {
            needs: wanted.needs,
            sent: Ring::default(),
            rates: rates.then(RateSampler::default),
            newest: None,
            rack: detection.map(|detection| Rack::new(detection, wanted.first)),
            reducing,
            pacer: Pacer::new(),
            always_paced: stack.pacing,
            offload: (stack.offload && stack.recovery == Recovery::Rack).then(Offload::new),
            delivered: 0,
        }))
    }

    /// When a packet may leave, where pacing holds it back now.
    pub(super) fn pause(&self, now: Time) -> Option<Time> {
        self.pacer.pause(now)
    }

    /// Sets the rate from now on.
    pub(super) fn set_pace(&mut self, pace: Option<Pace>) {
        // A rate without a meaning paces nothing.
        self.pacer.pace = pace.filter(|pace| pace.rate.is_finite() && pace.rate > 0.0);
    }

    /// Packets that pacing lets go together.
    pub(super) fn paced_burst(&self) -> Option<f64> {
        self.pacer.pace.map(|pace| pace.quantum)
    }

    /// Seconds until the next packet may leave.
    pub(super) fn held(&self, now: Time) -> f64 {
        self.pacer.pace.map_or(0.0, |_| {
            self.pacer.release.saturating_sub(now).as_secs_f64()
        })
    }

    /// Notes that a packet leaves; `from` is the lowest one not acknowledged.
    pub(super) fn on_send(&mut self, packet: u64, sending: Sending, now: Time) {
        self.sent.reserve(sending.from, packet);
        let sent = self.sent.get_mut(packet);
        *sent = Sent {
            time: now,
            repeated: sending.again,
            lost: sending.again && sent.lost,
            repaired: sending.again && sent.lost,
        };
        if let Some(rates) = &mut self.rates {
            if sending.idle {
                rates.first_sent = now;
                rates.delivered_time = now;
            }
            rates.snapshots.reserve(sending.from, packet);
            *rates.snapshots.get_mut(packet) = Snapshot {
                first_sent: rates.first_sent,
                delivered_time: rates.delivered_time,
                delivered: self.delivered,
                lost: sending.lost,
                in_flight: sending.in_flight,
                app_limited: rates.app_limited_until > 0,
            };
        }
        if let Some(rack) = &mut self.rack
            && sending.again
        {
            rack.on_repeat(packet, sending.next, now);
        }
        if let Some(reducing) = &mut self.reducing {
            reducing.on_send();
        }
        self.pacer.on_send(now);
        if let Some(offload) = &mut self.offload {
            offload.on_send(now);
        }
    }

    /// Nothing is left to send although the window would allow it.
    pub(super) fn starve(&mut self, in_flight: u64) {
        if let Some(rates) = &mut self.rates {
            rates.app_limited_until = (self.delivered + in_flight).max(1);
        }
    }

    /// Notes that a packet is now known to have arrived.
    pub(super) fn on_arrival(&mut self, packet: u64, arrivals: &mut Arrivals, path: Reached) {
        let sent = *self.sent.get(packet);
        arrivals.count += 1;
        self.delivered += 1;
        if sent.lost {
            arrivals.were_lost += 1;
            arrivals.were_repaired += u64::from(sent.repaired);
        }
        if !sent.repeated {
            arrivals.oldest = arrivals.oldest.or(Some(sent.time));
            arrivals.newest = Some(sent.time);
        }
        if let Some(rack) = &mut self.rack {
            rack.on_arrival(packet, &sent, path);
        }
        if let Some(rates) = &mut self.rates {
            rates.delivered_time = path.now;
            let newer = self.newest.is_none_or(|newest| sent.time >= newest.sent);
            if newer {
                rates.first_sent = sent.time;
                self.newest = Some(Newest {
                    snapshot: *rates.snapshots.get(packet),
                    sent: sent.time,
                });
            }
        }
    }

    /// The delivery rate over the packets that arrived since the last call.
    pub(super) fn delivery(&mut self, path: Reached, lost: u64) -> Option<Delivery> {
        let Reached { now, min_rtt } = path;
        let rates = self.rates.as_mut()?;
        if rates.app_limited_until > 0 && self.delivered > rates.app_limited_until {
            rates.app_limited_until = 0;
        }
        let newest = self.newest.take()?;
        let sending = newest.sent.saturating_sub(newest.snapshot.first_sent);
        let answering = now.saturating_sub(newest.snapshot.delivered_time);
        let interval = sending.max(answering).as_secs_f64();
        // Shorter than any round trip: packets found lost had arrived after all.
        if interval < min_rtt || interval <= 0.0 {
            return None;
        }
        let delivered = (self.delivered - newest.snapshot.delivered) as f64;
        Some(Delivery {
            rate: delivered / interval,
            delivered,
            interval,
            prior_delivered: newest.snapshot.delivered,
            app_limited: newest.snapshot.app_limited,
            in_flight: newest.snapshot.in_flight as f64,
            lost: (lost - newest.snapshot.lost) as f64,
        })
    }

    /// Whether a packet that has not arrived still waits to be judged.
    pub(super) fn unjudged(&self, packet: u64, expected: u64, received: &Bitmap) -> bool {
        packet >= expected && !received.get(packet) && !self.sent.get(packet).lost
    }
}

/// How a packet is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// The lowest packet not acknowledged.
    pub(super) from: u64,
    pub(super) again: bool,
    /// The next packet to be sent for the first time.
    pub(super) next: u64,
    /// Whether nothing was under way.
    pub(super) idle: bool,
    /// Packets under way with it.
    pub(super) in_flight: u64,
    /// Losses found so far, ever.
    pub(super) lost: u64,
}

/// When packets arrived, and the shortest round trip so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) now: Time,
    pub(super) min_rtt: f64,
}
