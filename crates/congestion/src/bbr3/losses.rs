//! Losses in BBR version 3. They show whether a probe put too much in flight (section 5.5.10.2).
//! The state before a recovery returns if the recovery was not needed (section 5.5.11).

use crate::packet::{CongestionEvent, LostPacket, Sample};

use super::model::{BETA, Bounds, Mode};
use super::{Bbr3Controller, LOSS_THRESHOLD};

/// State before a loss recovery (section 2, Undo State).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    bounds: Bounds,
    /// The state that the losses ended.
    mode: Option<Mode>,
}

impl Bbr3Controller {
    /// A loss without a count: acknowledgments do not tell which packets arrived.
    pub(super) fn blind(&self, sample: &Sample) -> bool {
        let counted = sample.lost + sample.delivery.map_or(0.0, |delivery| delivery.lost);
        self.reported_event == Some(CongestionEvent::Loss) && counted <= 0.0
    }

    /// Whether losses say that too much was in flight (IsInflightTooHigh).
    pub(super) fn too_high(&self, sample: &Sample) -> bool {
        let delivery = sample.delivery;
        self.blind(sample) || delivery.is_some_and(|d| is_too_much(d.lost, d.in_flight))
    }

    /// `NoteLoss`.
    pub(super) fn note_losses(&mut self, sample: &Sample) {
        if sample.lost <= 0.0 && self.reported_event.is_none() {
            return;
        }
        if !self.latest.loss_in_round {
            self.latest.loss_round_delivered = sample.delivered;
            self.save_for_undo();
        }
        self.latest.loss_in_round = true;
        self.latest.loss_events_in_round = self.latest.loss_events_in_round.saturating_add(1);
    }

    /// `HandleLostPacket`, with the next acknowledgment.
    pub(super) fn judge_lost_packet(&mut self, sample: &Sample, cwnd: f64) {
        if let Some(packet) = sample.lost_packet
            && self.cycle.bw_probe_samples
            && is_too_much(packet.lost, packet.in_flight)
        {
            let safe = (!packet.app_limited).then(|| inflight_at_loss(&packet));
            self.reject(safe, sample, cwnd);
        }
    }

    /// The same by an acknowledged packet, as Linux does it, too (`bbr_adapt_upper_bounds`). Says
    /// whether the probe ends.
    pub(super) fn judge_delivery(&mut self, sample: &Sample, cwnd: f64) -> bool {
        if !self.cycle.bw_probe_samples {
            return false;
        }
        let delivery = sample.delivery.filter(|d| !self.held_back(d));
        self.reject(delivery.map(|d| d.in_flight), sample, cwnd)
    }

    /// The probe put too much in flight, of which `safe` packets were not too many
    /// (HandleInflightTooHigh); says whether it ends.
    fn reject(&mut self, safe: Option<f64>, sample: &Sample, cwnd: f64) -> bool {
        self.cycle.prev_probe_too_high = true;
        self.cycle.bw_probe_samples = false;
        if let Some(safe) = safe {
            self.bounds.inflight_longterm = safe.max(BETA * self.target(cwnd));
        }
        let ends = self.mode == Mode::Up;
        if ends {
            self.undo.mode = Some(Mode::Up);
            self.go_down(sample.now, sample.delivered);
        }
        ends
    }

    /// Losses ended start-up.
    pub(super) fn note_startup_ended(&mut self) {
        self.undo.mode = Some(Mode::Startup);
    }

    /// `SaveStateUponLoss`; the window is saved apart.
    pub(super) fn save_for_undo(&mut self) {
        self.undo = Undo {
            bounds: self.bounds,
            mode: None,
        };
    }

    /// `HandleSpuriousLossDetection`. The window returns with the next acknowledgment, which finds
    /// the recovery over.
    pub(super) fn undo_recovery(&mut self) {
        self.latest.loss_in_round = false;
        self.plateau.restart(0.0);
        self.bounds.raise_to(&self.undo.bounds);
        let left = self.undo.mode.take().filter(|left| *left != self.mode);
        let probes_round_trip = self.mode == Mode::ProbeRoundTrip;
        match left {
            Some(Mode::Startup) => {
                self.full_bw_reached = false;
                if !probes_round_trip {
                    self.mode = Mode::Startup;
                }
            }
            Some(_) if !probes_round_trip => self.refill(self.delivered),
            _ => {}
        }
    }
}

/// Whether the lost packets of a flight are more than the threshold allows.
fn is_too_much(lost: f64, in_flight: f64) -> bool {
    lost > LOSS_THRESHOLD * in_flight
}

/// Packets in flight at which losses crossed the threshold (InflightAtLoss): those before the
/// packet and the part of it that was not too much.
fn inflight_at_loss(packet: &LostPacket) -> f64 {
    let (before, lost_before) = (packet.in_flight - 1.0, packet.lost - 1.0);
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    // The packets before it may have crossed the threshold (Linux:
    // `bbr_inflight_hi_from_lost_skb`).
    before + prefix.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5.5.10.2: at the level found, (lost before + part)/(in flight before + part) is 2 %.
    #[test]
    fn the_level_at_the_loss_has_two_percent_lost() {
        for (in_flight, lost) in [(100.0, 2.5), (60.0, 2.0), (10.0, 1.0)] {
            let packet = LostPacket {
                in_flight,
                lost,
                app_limited: false,
            };
            let level = inflight_at_loss(&packet);
            let part = level - (in_flight - 1.0);
            assert!((0.0..=1.0).contains(&part), "{part}");
            let share = (lost - 1.0 + part) / level;
            assert!((share - 0.02).abs() < 1e-12, "{in_flight} {lost}: {share}");
        }
        let crossed = LostPacket {
            in_flight: 100.0,
            lost: 9.0,
            app_limited: false,
        };
        assert_eq!(inflight_at_loss(&crossed), 99.0);
    }
}
