//! H-TCP (Leith and Shorten 2004): the increase grows with the time since the last cut, the
//! cut adapts to the ratio of smallest to largest round-trip time.

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};

use crate::fluid::{CutConditions, Epoch, EulerStep, FluidLaw, FluidWindow, LawError};
use crate::packet::{Ack, CongestionControl, Path, Signal, Window};

/// Whether the cut falls back to one half when the rate has changed between two cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateSwitch {
    /// The published rule: a change of more than [`Htcp::rate_change`] gives beta = 1/2.
    #[default]
    On,
    /// Always clip(RTT_min / RTT_max).
    Off,
}

/// Parameters of H-TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Htcp {
    /// Low-speed period after a cut during which H-TCP is Reno, seconds. Default 1.
    pub low_speed_period: f64,
    /// Smallest kept fraction beta of the window. Default 0.5.
    pub smallest_kept: f64,
    /// Largest kept fraction beta of the window. Default 0.8.
    pub largest_kept: f64,
    /// Relative change of the rate between cuts that resets beta to 1/2. Default 0.2.
    pub rate_change: f64,
    /// Whether that reset is in force. Default on.
    pub rate_switch: RateSwitch,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            low_speed_period: 1.0,
            smallest_kept: 0.5,
            largest_kept: 0.8,
            rate_change: 0.2,
            rate_switch: RateSwitch::On,
        }
    }
}

impl Htcp {
    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        let kept = (0.01, 0.99, "0.01 to 0.99");
        LawError::within(
            "htcp",
            "low_speed_period",
            self.low_speed_period,
            (0.0, 1e6, "0 to 1e6 s"),
        )?;
        LawError::within("htcp", "smallest_kept", self.smallest_kept, kept)?;
        let above = (self.smallest_kept, 0.99, "smallest_kept to 0.99");
        LawError::within("htcp", "largest_kept", self.largest_kept, above)?;
        LawError::within(
            "htcp",
            "rate_change",
            self.rate_change,
            (0.0, 1e6, "0 to 1e6"),
        )
    }

    /// The kept fraction beta of a cut.
    fn kept(&self, last_cut_rate: f64, at: &CutConditions) -> f64 {
        let changed = last_cut_rate <= 0.0
            || (at.rate - last_cut_rate).abs() > self.rate_change * last_cut_rate;
        if changed && self.rate_switch == RateSwitch::On {
            return 0.5;
        }
        (at.propagation / at.largest_round_trip).clamp(self.smallest_kept, self.largest_kept)
    }

    /// Seconds past the low-speed period.
    #[inline]
    fn past(&self, clock: f64) -> f64 {
        (clock - self.low_speed_period).max(0.0)
    }

    /// Integral of f from the cut to `clock`: s + 5 d^2 + d^3/12 with d the seconds past the
    /// low-speed period.
    #[inline]
    fn first_integral(&self, clock: f64) -> f64 {
        let d = self.past(clock);
        clock + d * d * (5.0 + d / 12.0)
    }
}

// --- Fluid face ---

/// W' = 2 (1 - beta) f(s) / R with f = 1 up to the low-speed period and 1 + 10 d + d^2/4 after
/// it; the position is the window.
impl FluidWindow for Htcp {
    fn start(&self, window: f64) -> Epoch {
        Epoch {
            position: window,
            gain: 1.0,
            ..Epoch::default()
        }
    }

    #[inline]
    fn window(&self, _: &Epoch, position: f64, _: f64) -> f64 {
        position
    }

    #[inline]
    fn window_slopes(&self, _: &Epoch, _: f64, _: f64) -> (f64, f64) {
        (1.0, 0.0)
    }

    #[inline]
    fn growth_per_round(&self, epoch: &Epoch, clock: f64) -> f64 {
        let d = self.past(clock);
        epoch.gain * (1.0 + d * (10.0 + 0.25 * d))
    }

    #[inline]
    fn growth_slope(&self, epoch: &Epoch, clock: f64) -> f64 {
        if clock < self.low_speed_period {
            return 0.0;
        }
        epoch.gain * (10.0 + 0.5 * self.past(clock))
    }

    #[inline]
    fn growth_integral(&self, epoch: &Epoch, from: f64, span: f64) -> f64 {
        epoch.gain * (self.first_integral(from + span) - self.first_integral(from))
    }

    #[inline]
    fn window_integral(&self, epoch: &Epoch, clock: f64, span: f64, round_trip: f64) -> f64 {
        // The second integral of f is s^2/2 + 5 d^3/3 + d^4/48.
        let beyond = |d: f64| d * d * d * (5.0 / 3.0 + d / 48.0);
        let end = clock + span;
        let second = 0.5 * span * (clock + end) + beyond(self.past(end)) - beyond(self.past(clock));
        let rate = epoch.gain / round_trip;
        span * (epoch.position - rate * self.first_integral(clock)) + rate * second
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4] {
        let rate = epoch.gain * inverse;
        if clock < self.low_speed_period {
            return [position, rate, 0.0, 0.0];
        }
        let d = self.past(clock);
        [
            position,
            rate * (1.0 + d * (10.0 + 0.25 * d)),
            rate * (10.0 + 0.5 * d),
            0.5 * rate,
        ]
    }

    fn cut(&self, epoch: &Epoch, window: f64, at: &CutConditions) -> Epoch {
        let kept = self.kept(epoch.last_cut_rate, at);
        Epoch {
            position: kept * window,
            gain: 2.0 * (1.0 - kept),
            last_cut_rate: at.rate,
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, epoch: &mut Epoch, window: f64, clock: f64, step: EulerStep) -> f64 {
        window + self.growth_per_round(epoch, clock) * step.rounds
    }
}

// --- Packet face ---

/// Whose H-TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// The paper's.
    Paper,
    /// tcp_htcp.c: the increase is scaled by the round trip (`use_rtt_scaling`), and after a cut to
    /// one half for a changed rate the next cut halves, too (`modeswitch`).
    Linux,
}

/// The share of 100 ms that a round trip takes, by which Linux divides the increase: its inverse in
/// whole eighths, between 1/2 and 10 (tcp_htcp.c, `htcp_alpha_update`).
fn share_of_reference(min_rtt: f64) -> f64 {
    (0.8 / min_rtt).floor().clamp(4.0, 80.0) / 8.0
}

/// H-TCP on packets (Leith and Shorten 2004; draft-leith-tcp-htcp-06).
#[derive(Clone, Debug)]
pub struct HtcpController {
    law: Htcp,
    variant: Variant,
    /// Linux: whether the cut before found the rate unchanged.
    steady: bool,
    beta: f64,
    last_cut: Option<Time>,
    last_rate: f64,
}

impl HtcpController {
    fn law(parameters: &Parameters) -> Htcp {
        let rate_switch = if parameters.switch("rate_switch") {
            RateSwitch::On
        } else {
            RateSwitch::Off
        };
        Htcp {
            rate_switch,
            ..Htcp::default()
        }
    }

    /// Packets added per round trip, `elapsed` seconds after the last cut.
    #[inline]
    fn increase(&self, elapsed: f64, path: &Path) -> f64 {
        let d = elapsed - 1.0;
        let mut alpha = if d <= 0.0 {
            1.0
        } else {
            1.0 + 10.0 * d + 0.25 * d * d
        };
        if self.variant == Variant::Linux && path.min_rtt > 0.0 {
            alpha = (alpha / share_of_reference(path.min_rtt)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }
}

impl CongestionControl for HtcpController {
    const DESCRIPTION: Description = Description {
        name: "htcp",
        title: "H-TCP: increase grows with the time since the last cut, cut adapts to the queue",
        source: "Leith and Shorten 2004; draft-leith-tcp-htcp-06",
        parameters: &[
            Parameter {
                name: "rate_switch",
                meaning: "whether the cut returns to one half when the rate changed by more than 20 % between cuts",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "variant",
                meaning: "the paper's, or Linux's tcp_htcp.c: growth scaled by the round trip, two halvings where the rate changed (packet engine only)",
                kind: ParameterKind::Choice {
                    words: &["paper", "linux"],
                },
                default: Value::Word("paper"),
            },
        ],
    };

    fn new(parameters: &Parameters) -> Self {
        Self {
            law: Self::law(parameters),
            variant: if parameters.word("variant") == "linux" {
                Variant::Linux
            } else {
                Variant::Paper
            },
            steady: false,
            beta: 0.5,
            last_cut: None,
            last_rate: 0.0,
        }
    }

    fn fluid(parameters: &Parameters) -> Option<FluidLaw> {
        let published = parameters.word("variant") == "paper";
        published.then(|| FluidLaw::Htcp(Self::law(parameters)))
    }

    // Linux's tcp_htcp has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            acked = window.slow_start(acked);
        }
        let since = *self.last_cut.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_sub(since).as_secs_f64();
        window.cwnd += self.increase(elapsed, path) * acked / window.cwnd;
    }

    // Linux: htcp_cwnd_undo.
    fn on_undo(&mut self, before: &Self) {
        self.clone_from(before);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, now: Time, path: &Path) {
        let rate = path.flight / path.smoothed_rtt.max(1e-9);
        let switched = self.law.rate_switch == RateSwitch::On
            && (self.last_rate <= 0.0 || (rate - self.last_rate).abs() > 0.2 * self.last_rate);
        let halved = switched || (self.variant == Variant::Linux && !self.steady);
        self.steady = !switched;
        self.beta = if halved || path.max_rtt <= 0.0 {
            0.5
        } else {
            (path.min_rtt / path.max_rtt).clamp(0.5, 0.8)
        };
        self.last_rate = rate;
        self.last_cut = Some(now);
        window.cut(self.beta * path.flight, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::tests::assert_consistent;
    use crate::packet::tests::window;

    fn conditions(rate: f64, largest_round_trip: f64) -> CutConditions {
        CutConditions {
            clock: 4.0,
            rate,
            propagation: 0.1,
            largest_round_trip,
        }
    }

    #[test]
    fn the_fluid_face_is_consistent() {
        let law = Htcp::default();
        let epoch = Epoch {
            gain: 0.6,
            ..law.start(800.0)
        };
        assert_consistent(&law, epoch, 0.15);
    }

    #[test]
    fn the_first_cut_halves_and_later_ones_adapt() {
        let law = Htcp::default();
        let first = law.cut(&law.start(100.0), 100.0, &conditions(1000.0, 0.14));
        assert_eq!((first.position, first.gain), (50.0, 1.0));
        let second = law.cut(&first, 100.0, &conditions(1100.0, 0.14));
        assert!((second.position - 100.0 * 0.1 / 0.14).abs() < 1e-12);
        assert!((second.gain - 2.0 * (1.0 - 0.1 / 0.14)).abs() < 1e-12);
        let unsteady = law.cut(&second, 100.0, &conditions(1400.0, 0.14));
        assert_eq!(unsteady.position, 50.0);
        let nearly_empty = law.cut(&second, 100.0, &conditions(1100.0, 0.101));
        assert_eq!(nearly_empty.position, 80.0);
    }

    #[test]
    fn without_the_rate_switch_only_the_delay_counts() {
        let law = Htcp {
            rate_switch: RateSwitch::Off,
            ..Htcp::default()
        };
        let cut = law.cut(&law.start(100.0), 100.0, &conditions(1000.0, 0.1));
        assert_eq!(cut.position, 80.0);
    }

    fn controller(variant: &'static str) -> HtcpController {
        let mut parameters = Parameters::defaults(HtcpController::DESCRIPTION.parameters);
        assert!(parameters.set("variant", Value::Word(variant)));
        HtcpController::new(&parameters)
    }

    /// The window that each of these rates leaves of 1000 packets, at cuts one after the other.
    fn kept(variant: &'static str, rates: &[f64]) -> Vec<f64> {
        let mut controller = controller(variant);
        let kept = rates.iter().map(|rate| {
            let path = Path {
                smoothed_rtt: 1000.0 / rate,
                min_rtt: 0.07,
                max_rtt: 0.1,
                flight: 1000.0,
            };
            let mut window = window(1000.0, 10.0);
            controller.on_congestion(&mut window, Signal::Loss, Time::ZERO, &path);
            (1e6 * window.cwnd).round() / 1e6
        });
        kept.collect()
    }

    #[test]
    fn linux_halves_twice_where_the_rate_changed() {
        let rates = [1e4, 1e4, 1e4, 1.3e4, 1.3e4, 1.3e4];
        let paper = [500.0, 700.0, 700.0, 500.0, 700.0, 700.0];
        assert_eq!(kept("paper", &rates), paper);
        let linux = [500.0, 500.0, 700.0, 500.0, 500.0, 700.0];
        assert_eq!(kept("linux", &rates), linux);
    }

    /// The packets that a window of 1000 gains in a round trip, 3 s after its first packet.
    fn gain_after_three_seconds(min_rtt: f64, variant: &'static str) -> f64 {
        let mut controller = controller(variant);
        let path = Path {
            smoothed_rtt: min_rtt,
            min_rtt,
            max_rtt: min_rtt,
            flight: 1000.0,
        };
        let mut window = window(1000.0, 10.0);
        let ack = |now, acked| Ack { acked, now };
        controller.on_ack(&mut window, &ack(Time::ZERO, 0.0), &path);
        controller.on_ack(&mut window, &ack(Time::from_secs(3), 1000.0), &path);
        window.cwnd - 1000.0
    }

    #[test]
    fn linux_divides_the_increase_by_the_inverse_round_trip_in_eighths() {
        // 1 + 10 x 2 + 2^2 / 4, and beta = 1/2.
        let alpha = 22.0;
        for rtt in [0.01, 0.12, 1.0] {
            assert_eq!(gain_after_three_seconds(rtt, "paper"), alpha);
        }
        // 0.8 s / 120 ms is 6 eighths, 0.8 s / 20 ms is 40.
        assert!((gain_after_three_seconds(0.12, "linux") - alpha * 8.0 / 6.0).abs() < 1e-9);
        assert!((gain_after_three_seconds(0.02, "linux") - alpha * 8.0 / 40.0).abs() < 1e-9);
        // Never less than half of it and ten times as much, and never less than one packet.
        assert!((gain_after_three_seconds(1.0, "linux") - 2.0 * alpha).abs() < 1e-9);
        assert!((gain_after_three_seconds(0.001, "linux") - 0.1 * alpha).abs() < 1e-9);
        assert_eq!(share_of_reference(1e-9), 10.0);
        assert_eq!(share_of_reference(f64::INFINITY), 0.5);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let wrong = Htcp {
            smallest_kept: 0.9,
            largest_kept: 0.8,
            ..Htcp::default()
        };
        assert_eq!(wrong.check().unwrap_err().parameter, "largest_kept");
        assert!(
            Htcp {
                rate_change: f64::NAN,
                ..Htcp::default()
            }
            .check()
            .is_err()
        );
        assert!(Htcp::default().check().is_ok());
    }
}
