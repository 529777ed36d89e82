//! DCTCP (RFC 8257): cuts in proportion to the share of packets that were marked.

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

use crate::classic::{Classic, WindowGrowth};
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Round, Sample, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Reno's growth, and a cut by marks. The count of marks is exact here: its receiver's rules for
/// coalescing (RFC 8257 section 3.2) have nothing to preserve.
#[derive(Clone, Debug)]
pub struct DctcpGrowth {
    g: f64,
    /// Estimated share of marked packets.
    alpha: f64,
    round: Round,
    arrived: f64,
    marked: f64,
    /// Packet number up to which data must be acknowledged before the next reduction.
    cut_until: u64,
}

impl WindowGrowth for DctcpGrowth {
    const NEEDS: Requirements = Requirements {
        accurate_ecn: true,
        ..Requirements::ROUND_TRIPS
    };

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        window.cwnd += ack.acked / window.cwnd;
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        path: &Path,
    ) {
        window.cut(0.5 * path.flight, event);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, _: &Path) {
        self.arrived += sample.arrived;
        self.marked += sample.marked;
        if self.round.begins(sample) && self.arrived > 0.0 {
            let share = (self.marked / self.arrived).min(1.0);
            self.alpha += self.g * (share - self.alpha);
            self.arrived = 0.0;
            self.marked = 0.0;
        }
        if sample.marked > 0.0 && sample.calm() && sample.acknowledged >= self.cut_until {
            window.cut(
                window.cwnd * (1.0 - 0.5 * self.alpha),
                CongestionEvent::Mark,
            );
            self.cut_until = sample.next;
        }
    }
}

/// DCTCP on packets.
pub(crate) type DctcpController = Classic<Standard, DctcpGrowth>;

impl Registered for DctcpController {
    const DESCRIPTION: Description = Description::scalable(parameter::Description {
        name: "dctcp",
        aliases: &[],
        title: "DCTCP: reduces the window in proportion to the share of marked packets",
        formula: &[
            "growth: W += 1/W per packet acknowledged",
            "marks: W = W (1 − α/2), at most once per round trip",
            "α = (1 − g) α + g M, once per round trip, with M the share of marked packets and g the gain",
            "a loss: W = F/2, with F packets in flight",
        ],
        source: "RFC 8257; Alizadeh et al. 2010",
        checked: &[
            parameter::Evidence::Trend("ns-3.48: TcpDctcp over RED, one run"),
            parameter::Evidence::Theory(
                "the sawtooth over a threshold, the window under random marks",
            ),
        ],
        parameters: &[Parameter {
            name: "gain",
            meaning: "Weight g of a new round in the estimate of the marked share (RFC 8257 section 4.2).",
            kind: ParameterKind::Number {
                min: 1e-4,
                max: 1.0,
                unit: "",
            },
            default: Value::Number(1.0 / 16.0),
        }],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        let growth = DctcpGrowth {
            g: parameters.number("gain"),
            // Cautious at first: the first marks halve (RFC 8257 section 3.3).
            alpha: 1.0,
            round: Round::default(),
            arrived: 0.0,
            marked: 0.0,
            cut_until: 0,
        };
        Self::of(Standard, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::{marks_per_window, mean_window_with_marks, sample, window};
    use crate::registration::tests::default_controller;

    fn drive(
        dctcp: &mut DctcpController,
        window: &mut Window,
        every: u64,
        packets: std::ops::Range<u64>,
    ) {
        for k in packets {
            let mut seen = sample(0.1);
            seen.acknowledged = k;
            seen.next = k + 20;
            seen.marked = f64::from(u8::from(every > 0 && k % every == 0));
            dctcp.on_sample(window, &seen, &Path::default());
        }
    }

    fn start() -> (DctcpController, Window) {
        let window = window(1e6, 10.0);
        (default_controller(), window)
    }

    #[test]
    fn the_estimate_tends_to_the_share_of_marks() {
        let (mut dctcp, mut window) = start();
        drive(&mut dctcp, &mut window, 4, 0..20_000);
        assert!(
            (dctcp.growth.alpha - 0.25).abs() < 0.02,
            "{}",
            dctcp.growth.alpha
        );
        drive(&mut dctcp, &mut window, 0, 20_000..40_000);
        assert!(dctcp.growth.alpha < 1e-6);
    }

    #[test]
    fn a_window_is_cut_once_by_half_of_the_share() {
        let (mut dctcp, _) = start();
        dctcp.growth.alpha = 0.4;
        let mut window = window(100.0, 10.0);
        let mut seen = sample(0.1);
        seen.marked = 1.0;
        seen.acknowledged = 10;
        seen.next = 110;
        dctcp.growth.round.begins(&seen);
        for k in 10..110 {
            seen.acknowledged = k;
            dctcp.on_sample(&mut window, &seen, &Path::default());
        }
        assert_eq!(window.cwnd, 80.0);
    }

    #[test]
    fn random_marks_hold_the_window_that_theory_says() {
        for probability in [0.01, 0.05] {
            let mut controller: DctcpController = default_controller();
            let marks = probability * mean_window_with_marks(&mut controller, probability);
            let error = marks / marks_per_window(1.0) - 1.0;
            assert!(error.abs() < 0.05, "{probability} {marks}");
        }
    }
}
