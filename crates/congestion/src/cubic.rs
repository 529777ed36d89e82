//! CUBIC (Ha, Rhee and Xu 2008; RFC 9438): the window is a cubic function of the time since the
//! last cut, centred on the window at which the loss happened.

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};

use crate::cubic_linux::LinuxCubic;
use crate::fluid::{CUT_RANGE, CutConditions, Epoch, EulerStep, FluidLaw, FluidWindow, LawError};
use crate::hystart::Hystart;
use crate::packet::{Ack, CongestionControl, Idle, Needs, Path, Sample, Samples, Signal, Window};

/// Whether a flow that lost below its last peak releases bandwidth (RFC 9438 section 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastConvergence {
    /// W_max becomes W (2 - b) / 2 when W < W_max.
    #[default]
    On,
    /// W_max becomes W always.
    Off,
}

/// Whether the window is kept at least at that of AIMD(3 b / (2 - b), b) (RFC 9438 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FriendlyRegion {
    /// W is the larger of the cubic and the friendly window.
    #[default]
    On,
    /// W is the cubic alone.
    Off,
}

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    /// C of the cubic, packets per second^3. Default 0.4 (RFC 9438 section 5).
    pub scale: f64,
    /// Cut fraction b of the window. Default 0.3 (RFC 9438); 0.2 in the 2008 paper.
    pub decrease: f64,
    /// Fast convergence. Default on.
    pub fast_convergence: FastConvergence,
    /// Reno-friendly region. Default on.
    pub friendly_region: FriendlyRegion,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            scale: 0.4,
            decrease: 0.3,
            fast_convergence: FastConvergence::On,
            friendly_region: FriendlyRegion::On,
        }
    }
}

impl Cubic {
    /// The parameters of the 2008 paper: b = 0.2.
    pub fn of_2008() -> Self {
        Self {
            decrease: 0.2,
            ..Self::default()
        }
    }

    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        LawError::within(
            "cubic",
            "scale",
            self.scale,
            (1e-9, 1e9, "1e-9 to 1e9 packets/s^3"),
        )?;
        LawError::within("cubic", "decrease", self.decrease, CUT_RANGE)
    }

    /// C (s - K)^3 + W_max.
    #[inline]
    fn cubic(&self, epoch: &Epoch, clock: f64) -> f64 {
        let x = clock - epoch.inflection;
        self.scale * x * x * x + epoch.plateau
    }

    /// Growth of the friendly window, packets per round trip.
    #[inline]
    fn friendly_growth(&self) -> f64 {
        match self.friendly_region {
            FriendlyRegion::On => 3.0 * self.decrease / (2.0 - self.decrease),
            FriendlyRegion::Off => 0.0,
        }
    }

    /// Start of the friendly window, out of reach where there is no friendly region.
    fn friendly_start(&self, window: f64) -> f64 {
        match self.friendly_region {
            FriendlyRegion::On => window,
            FriendlyRegion::Off => -1.0,
        }
    }

    /// Integral of the cubic over the clock.
    #[inline]
    fn cubic_integral(&self, epoch: &Epoch, from: f64, to: f64) -> f64 {
        let (a, b) = (from - epoch.inflection, to - epoch.inflection);
        // b^4 - a^4 = (b - a)(b + a)(b^2 + a^2)
        (to - from) * (epoch.plateau + 0.25 * self.scale * (b + a) * (b * b + a * a))
    }
}

/// The friendly window against the clock at constant R, and where it crosses the cubic.
struct Friendly {
    at: f64,
    start: f64,
    slope: f64,
}

impl Friendly {
    fn window(&self, clock: f64) -> f64 {
        self.start + self.slope * (clock - self.at)
    }
}

// --- Fluid face ---

/// W = max(C (s - K)^3 + W_max, W_est) with W_est' = 3 b / (2 - b) / R; the position is W_est.
///
/// Of RFC 9438 this leaves out the change of W_est's slope to 1 once W_est passes the window
/// before the cut (section 4.3), as does the model that the tables of loss synchronisation use.
impl FluidWindow for Cubic {
    fn start(&self, window: f64) -> Epoch {
        Epoch {
            position: self.friendly_start(window),
            plateau: window,
            ..Epoch::default()
        }
    }

    #[inline]
    fn window(&self, epoch: &Epoch, position: f64, clock: f64) -> f64 {
        self.cubic(epoch, clock).max(position)
    }

    #[inline]
    fn window_slopes(&self, epoch: &Epoch, position: f64, clock: f64) -> (f64, f64) {
        if self.cubic(epoch, clock) < position {
            return (1.0, 0.0);
        }
        let x = clock - epoch.inflection;
        (0.0, 3.0 * self.scale * x * x)
    }

    #[inline]
    fn growth_per_round(&self, _: &Epoch, _: f64) -> f64 {
        self.friendly_growth()
    }

    #[inline]
    fn growth_slope(&self, _: &Epoch, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn growth_integral(&self, _: &Epoch, _: f64, span: f64) -> f64 {
        self.friendly_growth() * span
    }

    #[inline]
    fn window_integral(&self, epoch: &Epoch, clock: f64, span: f64, round_trip: f64) -> f64 {
        let friendly = Friendly {
            at: clock,
            start: epoch.position,
            slope: self.friendly_growth() / round_trip,
        };
        let end = clock + span;
        let lead = |s: f64| self.cubic(epoch, s) - friendly.window(s);
        // The lead of the cubic is least at an end of the span or at its one interior minimum.
        let turn = sqrt_or_zero(friendly.slope / (3.0 * self.scale));
        let dip = epoch.inflection + turn;
        let interior = if dip > clock && dip < end {
            lead(dip)
        } else {
            0.0
        };
        if lead(clock) >= 0.0 && lead(end) >= 0.0 && interior >= 0.0 {
            return self.cubic_integral(epoch, clock, end);
        }
        let crest = epoch.inflection - turn;
        self.integral_with_crossings(
            epoch,
            &friendly,
            [clock, crest.clamp(clock, end), dip.clamp(clock, end), end],
        )
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4] {
        let x = clock - epoch.inflection;
        let cubic = self.cubic(epoch, clock);
        if cubic < position {
            return [position, self.friendly_growth() * inverse, 0.0, 0.0];
        }
        [
            cubic,
            3.0 * self.scale * x * x,
            6.0 * self.scale * x,
            6.0 * self.scale,
        ]
    }

    fn cut(&self, epoch: &Epoch, window: f64, _: &CutConditions) -> Epoch {
        let released = self.fast_convergence == FastConvergence::On && window < epoch.plateau;
        let plateau = if released {
            0.5 * window * (2.0 - self.decrease)
        } else {
            window
        };
        let start = (1.0 - self.decrease) * window;
        Epoch {
            position: self.friendly_start(start),
            plateau,
            inflection: libm::cbrt((plateau - start) / self.scale),
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, epoch: &mut Epoch, _: f64, clock: f64, step: EulerStep) -> f64 {
        epoch.position += self.friendly_growth() * step.rounds;
        self.cubic(epoch, clock + step.span).max(epoch.position)
    }
}

impl Cubic {
    /// The window's integral where the friendly window takes over for a part: the lead of the
    /// cubic is monotone between the given clocks, so each stretch has at most one crossing.
    #[cold]
    fn integral_with_crossings(&self, epoch: &Epoch, friendly: &Friendly, clocks: [f64; 4]) -> f64 {
        let lead = |s: f64| self.cubic(epoch, s) - friendly.window(s);
        let of = |leads: f64, from: f64, to: f64| {
            if leads >= 0.0 {
                self.cubic_integral(epoch, from, to)
            } else {
                0.5 * (to - from) * (friendly.window(from) + friendly.window(to))
            }
        };
        let mut sum = 0.0;
        for stretch in clocks.windows(2) {
            let (from, to) = (stretch[0], stretch[1]);
            if to <= from {
                continue;
            }
            let (first, last) = (lead(from), lead(to));
            if first * last >= 0.0 {
                sum += of(first + last, from, to);
                continue;
            }
            let (mut low, mut high) = (from, to);
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                if lead(middle) * first > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            sum += of(first, from, low) + of(last, low, to);
        }
        sum
    }
}

fn sqrt_or_zero(x: f64) -> f64 {
    x.max(0.0).sqrt()
}

// --- Packet face ---

/// CUBIC on packets (RFC 9438, or as in Linux).
#[derive(Clone, Debug)]
pub struct CubicController {
    /// C, packets per second^3.
    scale: f64,
    /// Kept fraction of the window at a cut.
    beta: f64,
    fast_convergence: FastConvergence,
    /// alpha_cubic: growth of the Reno-friendly window; zero without the friendly region.
    friendly: f64,
    /// W_max, packets.
    plateau: f64,
    /// K, seconds.
    inflection: f64,
    /// When this congestion-avoidance epoch began; none between a cut and its first ACK.
    epoch: Option<Time>,
    /// W_est, packets.
    estimate: f64,
    /// Window before the cut: past it W_est grows as fast as Reno (RFC 9438 section 4.3).
    prior: f64,
    /// Whether the last congestion was a timeout, after which K is 0 (RFC 9438 section 4.8).
    after_timeout: bool,
    hystart: Option<Hystart>,
    linux: Option<Box<LinuxCubic>>,
}

impl CubicController {
    fn begin_epoch(&mut self, window: &Window, now: Time) {
        self.epoch = Some(now);
        self.estimate = window.cwnd;
        if self.plateau <= window.cwnd || self.after_timeout {
            self.plateau = window.cwnd;
            self.inflection = 0.0;
        } else {
            self.inflection = libm::cbrt((self.plateau - window.cwnd) / self.scale);
        }
        self.after_timeout = false;
    }

    /// C (t - K)^3 + W_max (RFC 9438 equation 1).
    #[inline]
    fn window_at(&self, seconds: f64) -> f64 {
        let x = seconds - self.inflection;
        self.scale * x * x * x + self.plateau
    }
}

impl CongestionControl for CubicController {
    const DESCRIPTION: Description = Description {
        name: "cubic",
        title: "CUBIC: window as a cubic function of the time since the last cut",
        source: "RFC 9438; Ha, Rhee and Xu 2008 with beta = 0.8",
        parameters: &[
            Parameter {
                name: "beta",
                meaning: "kept fraction of the window at a cut (RFC 9438 section 4.6; 0.8 in the 2008 paper)",
                kind: ParameterKind::Number {
                    min: 0.1,
                    max: 0.99,
                },
                default: Value::Number(0.7),
            },
            Parameter {
                name: "scale",
                meaning: "C, packets per second^3 (RFC 9438 section 5)",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 1e6,
                },
                default: Value::Number(0.4),
            },
            Parameter {
                name: "fast_convergence",
                meaning: "release bandwidth when the peak falls (RFC 9438 section 4.7)",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "friendly_region",
                meaning: "never grow slower than Reno would (RFC 9438 section 4.3)",
                kind: ParameterKind::Switch,
                default: Value::Switch(true),
            },
            Parameter {
                name: "hystart",
                meaning: "leave slow start when the round-trip time grows (HyStart++, RFC 9406)",
                kind: ParameterKind::Switch,
                default: Value::Switch(false),
            },
            Parameter {
                name: "variant",
                meaning: "RFC 9438, or tcp_cubic.c of Linux 6.x (whole packets, its own HyStart); the preset `linux` sets the latter",
                kind: ParameterKind::Choice {
                    words: &["rfc", "linux"],
                },
                default: Value::Word("rfc"),
            },
        ],
    };

    fn new(parameters: &Parameters) -> Self {
        let beta = parameters.number("beta");
        let friendly = parameters.switch("friendly_region");
        let fast = parameters.switch("fast_convergence");
        let scale = parameters.number("scale");
        let linux = parameters.word("variant") == "linux";
        Self {
            linux: linux.then(|| Box::new(LinuxCubic::new(beta, scale, fast, friendly))),
            scale,
            beta,
            fast_convergence: if fast {
                FastConvergence::On
            } else {
                FastConvergence::Off
            },
            friendly: if friendly {
                3.0 * (1.0 - beta) / (1.0 + beta)
            } else {
                0.0
            },
            plateau: 0.0,
            inflection: 0.0,
            epoch: None,
            estimate: 0.0,
            prior: f64::INFINITY,
            after_timeout: false,
            hystart: parameters.switch("hystart").then(Hystart::new),
        }
    }

    fn needs(&self) -> Needs {
        if self.linux.is_some() {
            return Needs {
                samples: Samples::RoundTrips,
                ..Needs::default()
            };
        }
        Hystart::needs(self.hystart.as_ref())
    }

    // Linux's tcp_cubic has no `min_cwnd`: the threshold.
    fn recovery_floor(&self, window: &Window) -> f64 {
        window.ssthresh
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if let Some(linux) = &mut self.linux {
            linux.on_sample(window, sample, path);
            return;
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.on_sample(window, sample);
        }
    }

    fn fluid(parameters: &Parameters) -> Option<FluidLaw> {
        let on = |name| parameters.switch(name);
        Some(FluidLaw::Cubic(Cubic {
            scale: parameters.number("scale"),
            decrease: 1.0 - parameters.number("beta"),
            fast_convergence: if on("fast_convergence") {
                FastConvergence::On
            } else {
                FastConvergence::Off
            },
            friendly_region: if on("friendly_region") {
                FriendlyRegion::On
            } else {
                FriendlyRegion::Off
            },
        }))
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            acked = window.slow_start(Hystart::slowed(self.hystart.as_ref(), acked));
            if acked <= 0.0 {
                return;
            }
        }
        let epoch = if let Some(epoch) = self.epoch {
            epoch
        } else if let Some(linux) = &mut self.linux {
            // Its epochs are its own: this one never begins.
            linux.on_ack(window, &Ack { acked, ..*ack });
            return;
        } else {
            self.begin_epoch(window, ack.now);
            ack.now
        };
        let elapsed = ack.now.saturating_sub(epoch).as_secs_f64();
        let per_packet = acked / window.cwnd;
        let friendly = if self.estimate < self.prior || self.friendly == 0.0 {
            self.friendly
        } else {
            1.0
        };
        self.estimate += friendly * per_packet;
        if self.window_at(elapsed) < self.estimate && self.friendly > 0.0 {
            window.cwnd = window.cwnd.max(self.estimate);
            return;
        }
        // RFC 9438 section 4.4: towards the window one round trip ahead, at most half faster.
        let target = self.window_at(elapsed + path.smoothed_rtt);
        let target = target.clamp(window.cwnd, 1.5 * window.cwnd);
        window.cwnd += (target - window.cwnd) * per_packet;
    }

    /// The time of an epoch does not count what the application had nothing to send (RFC 9438
    /// section 5.8).
    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        if let Some(restart_window) = idle.restart_window {
            window.cwnd = window.cwnd.min(restart_window);
        }
        self.epoch = self.epoch.map(|epoch| epoch.saturating_add(idle.time));
        if let Some(linux) = &mut self.linux {
            linux.on_idle(idle.time);
        }
    }

    // RFC 9438 section 4.9.2. Linux's bictcp_reset is not taken back.
    fn on_undo(&mut self, before: &Self) {
        if self.linux.is_none() {
            self.clone_from(before);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: Time, path: &Path) {
        if let Some(linux) = &mut self.linux {
            linux.on_congestion(window, signal);
            return;
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.stop();
        }
        self.prior = path.flight;
        let released = self.fast_convergence == FastConvergence::On && path.flight < self.plateau;
        self.plateau = if released {
            0.5 * path.flight * (1.0 + self.beta)
        } else {
            path.flight
        };
        self.epoch = None;
        self.after_timeout = signal == Signal::Timeout;
        window.cut(self.beta * path.flight, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::tests::assert_consistent;
    use crate::packet::tests::window;

    const AT: CutConditions = CutConditions {
        clock: 4.0,
        rate: 1.0,
        propagation: 0.1,
        largest_round_trip: 0.1,
    };

    #[test]
    fn the_fluid_face_is_consistent() {
        let law = Cubic::of_2008();
        let epoch = law.cut(&law.start(5000.0), 5000.0, &AT);
        assert_consistent(&law, epoch, 0.1);
        // A small window over a short path: mostly friendly, with crossings.
        let epoch = law.cut(&law.start(60.0), 60.0, &AT);
        assert_consistent(&law, epoch, 0.09);
        let law = Cubic {
            friendly_region: FriendlyRegion::Off,
            ..Cubic::default()
        };
        let epoch = law.cut(&law.start(60.0), 60.0, &AT);
        assert_consistent(&law, epoch, 0.09);
    }

    #[test]
    fn a_cut_is_continuous_and_returns_to_the_peak_after_k() {
        for law in [Cubic::default(), Cubic::of_2008()] {
            let epoch = law.cut(&law.start(1000.0), 1000.0, &AT);
            let after = law.window(&epoch, epoch.position, 0.0);
            assert!((after / (1000.0 * (1.0 - law.decrease)) - 1.0).abs() < 1e-12);
            let k = libm::cbrt(1000.0 * law.decrease / law.scale);
            assert!((epoch.inflection - k).abs() < 1e-12);
            assert!((law.window(&epoch, 0.0, k) - 1000.0).abs() < 1e-9);
        }
    }

    #[test]
    fn fast_convergence_lowers_the_plateau() {
        let law = Cubic::default();
        let below = law.cut(&law.start(1000.0), 900.0, &AT);
        assert_eq!(below.plateau, 900.0 * 0.85);
        assert!((law.window(&below, 0.0, 0.0) - 630.0).abs() < 1e-9);
        let off = Cubic {
            fast_convergence: FastConvergence::Off,
            ..law
        };
        assert_eq!(off.cut(&off.start(1000.0), 900.0, &AT).plateau, 900.0);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(
            Cubic {
                scale: 0.0,
                ..Cubic::default()
            }
            .check()
            .is_err()
        );
        assert!(
            Cubic {
                decrease: f64::NAN,
                ..Cubic::default()
            }
            .check()
            .is_err()
        );
        assert!(Cubic::default().check().is_ok());
    }

    /// RFC 9438 section 5.8: an hour of silence in the middle of an epoch changes nothing.
    #[test]
    fn the_epoch_stands_still_while_nothing_is_under_way() {
        let grown = |pause: Time| {
            let defaults = Parameters::defaults(CubicController::DESCRIPTION.parameters);
            let mut controller = CubicController::new(&defaults);
            let path = Path {
                smoothed_rtt: 0.1,
                min_rtt: 0.1,
                max_rtt: 0.1,
                flight: 1000.0,
            };
            let mut window = window(1000.0, 10.0);
            controller.on_congestion(&mut window, Signal::Loss, Time::ZERO, &path);
            let mut now = Time::ZERO;
            for round in 0..40 {
                if round == 20 {
                    now = now.saturating_add(pause);
                    let idle = Idle {
                        time: pause,
                        restart_window: None,
                    };
                    controller.on_idle(&mut window, &idle);
                }
                now = now.saturating_add(Time::from_millis(100));
                let acked = window.cwnd;
                controller.on_ack(&mut window, &Ack { acked, now }, &path);
            }
            window.cwnd
        };
        let (steady, paused) = (grown(Time::ZERO), grown(Time::from_secs(3600)));
        assert!(steady > 710.0);
        assert!((paused / steady - 1.0).abs() < 1e-9, "{paused} {steady}");
    }

    #[test]
    fn an_undone_timeout_leaves_the_cubic_where_it_was_and_linux_forgets_it() {
        let parameters = Parameters::defaults(CubicController::DESCRIPTION.parameters);
        let grown = |variant: &'static str, spurious: bool| {
            let mut parameters = parameters.clone();
            parameters.set("variant", Value::Word(variant));
            let mut cubic = CubicController::new(&parameters);
            let mut window = window(100.0, 50.0);
            let path = Path {
                flight: 100.0,
                ..Path::default()
            };
            cubic.on_congestion(&mut window, Signal::Loss, Time::from_secs(1), &path);
            let ack = |millis| Ack {
                acked: 1.0,
                now: Time::from_millis(millis),
            };
            for millis in 1100..1500 {
                cubic.on_ack(&mut window, &ack(millis), &path);
            }
            if spurious {
                let (before, kept) = (cubic.clone(), window);
                cubic.on_congestion(&mut window, Signal::Timeout, Time::from_secs(2), &path);
                for millis in 2100..2110 {
                    cubic.on_ack(&mut window, &ack(millis), &path);
                }
                window = kept;
                cubic.on_undo(&before);
            }
            for millis in 3000..3400 {
                cubic.on_ack(&mut window, &ack(millis), &path);
            }
            window.cwnd
        };
        assert_eq!(grown("rfc", true), grown("rfc", false));
        // Linux does not know the peak any more, and grows by 5 % per round trip without one.
        assert!(grown("linux", true) > grown("linux", false));
    }
}
