//! TCP Westwood+ (Grieco and Mascolo 2004): Reno's growth, but a cut to the bandwidth-delay
//! product that the acknowledgments showed, whatever the reason for the loss.

mod linux;

use forebay_random::StreamKey;
use forebay_units::Time;
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};

pub(crate) use linux::LinuxWestwood;

use crate::classic::{Classic, WindowGrowth};
use crate::one_of::one_of;
use crate::packet::{Ack, CongestionEvent, Path, Requirements, Round, Sample, Window};
use crate::registration::{Description, Registered};
use crate::slow_start::Standard;

/// Weight of the old estimate in the filter.
const MEMORY: f64 = 7.0 / 8.0;

/// Shortest time of a bandwidth sample, in seconds. A sample takes at least a round trip, too
/// (Grieco and Mascolo 2004 section 3: shorter samples alias bursts).
const SHORTEST_ROUND: f64 = 0.05;

/// Westwood+'s growth and cut.
#[derive(Clone, Debug, Default)]
pub struct WestwoodGrowth {
    round: Round,
    since: Option<Time>,
    arrived: f64,
    /// Bandwidth in packets per second; zero before the first estimate.
    bandwidth: f64,
}

impl WindowGrowth for WestwoodGrowth {
    const NEEDS: Requirements = Requirements::ROUND_TRIPS;

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
        let product = if self.bandwidth > 0.0 && path.min_rtt.is_finite() {
            self.bandwidth * path.min_rtt
        } else {
            0.5 * path.flight
        };
        window.cut(product.min(path.flight), event);
    }

    fn on_sample(&mut self, _: &mut Window, sample: &Sample, _: &Path) {
        self.arrived += sample.arrived;
        let since = *self.since.get_or_insert(sample.now);
        let elapsed = sample.now.saturating_sub(since).as_secs_f64();
        if elapsed < SHORTEST_ROUND || !self.round.begins(sample) {
            return;
        }
        let rate = self.arrived / elapsed;
        self.bandwidth = if self.bandwidth > 0.0 {
            MEMORY * self.bandwidth + (1.0 - MEMORY) * rate
        } else {
            rate
        };
        self.arrived = 0.0;
        self.since = Some(sample.now);
    }
}

one_of! {
    /// Westwood+ on packets: which one, the parameters say.
    pub enum WestwoodController {
        /// Grieco and Mascolo 2004.
        Published(Classic<Standard, WestwoodGrowth>),
        /// Linux.
        Linux(Classic<Standard, LinuxWestwood>),
    }
}

impl Registered for WestwoodController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "westwood",
        aliases: &["westwood+"],
        title: "Westwood+: Reno's growth, reductions to the estimated bandwidth-delay product",
        formula: &[
            "growth: W += 1/W per packet acknowledged, as Reno",
            "a loss: W = min(BW × RTT_min, F), with F packets in flight",
            "BW = 7/8 BW + 1/8 (packets acknowledged in a round trip/its duration)",
            "Linux: BW through this filter twice; W/2 while a loss is repaired, and W = ⌊BW × RTT_min⌋ when it is",
        ],
        source: "Grieco and Mascolo 2004; Mascolo et al. 2001; Linux net/ipv4/tcp_westwood.c",
        checked: &[],
        parameters: &[Parameter {
            name: "variant",
            meaning: "Filter and reduction as published, or those of Linux in whole packets. The preset `linux` sets `linux`.",
            kind: ParameterKind::Choice {
                words: &["paper", "linux"],
            },
            default: Value::Word("paper"),
        }],
    });

    fn new(parameters: &Parameters, _: StreamKey) -> Self {
        if parameters.word("variant") == "linux" {
            return Self::Linux(Classic::of(Standard, LinuxWestwood::default()));
        }
        Self::Published(Classic::of(Standard, WestwoodGrowth::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CongestionControl;
    use crate::packet::tests::{rounds, window};
    use crate::registration::tests::default_controller;

    #[test]
    fn the_cut_is_to_the_bandwidth_delay_product() {
        let mut westwood: WestwoodController = default_controller();
        let mut window = window(180.0, 50.0);
        // Twenty packets in each 150 ms, 100 ms of which are propagation.
        rounds(&mut westwood, &mut window, 0.1, &[0.15; 60]);
        let path = Path {
            min_rtt: 0.1,
            flight: 180.0,
            ..Path::default()
        };
        westwood.on_congestion_event(
            &mut window,
            CongestionEvent::Loss,
            Time::from_secs(9),
            &path,
        );
        let product = 20.0 / 0.15 * 0.1;
        assert!((window.cwnd / product - 1.0).abs() < 0.1, "{}", window.cwnd);
    }

    #[test]
    fn without_an_estimate_it_halves() {
        let mut westwood: WestwoodController = default_controller();
        let mut window = window(40.0, f64::INFINITY);
        let path = Path {
            min_rtt: f64::INFINITY,
            flight: 40.0,
            ..Path::default()
        };
        westwood.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
        assert_eq!(window.cwnd, 20.0);
    }
}
