//! H-TCP's fluid face.

use forebay_units::parameter::Parameters;

use crate::law::{CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};

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
    /// Smallest fraction beta of the window that remains after a reduction. Default 0.5.
    pub beta_min: f64,
    /// Largest fraction beta of the window that remains after a reduction. Default 0.8.
    pub beta_max: f64,
    /// Relative change of the rate between cuts that resets beta to 1/2. Default 0.2.
    pub rate_change: f64,
    /// Whether that reset is in force. Default on.
    pub rate_switch: RateSwitch,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            low_speed_period: 1.0,
            beta_min: 0.5,
            beta_max: 0.8,
            rate_change: 0.2,
            rate_switch: RateSwitch::On,
        }
    }
}

impl Htcp {
    /// As published, with the rate switch of a scenario.
    pub(super) fn published(parameters: &Parameters) -> Self {
        let rate_switch = if parameters.switch("rate_switch") {
            RateSwitch::On
        } else {
            RateSwitch::Off
        };
        Self {
            rate_switch,
            ..Self::default()
        }
    }

    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        let beta = (0.01, 0.99, "0.01 to 0.99");
        LawError::within(
            "htcp",
            "low_speed_period",
            self.low_speed_period,
            (0.0, 1e6, "0 to 1e6 s"),
        )?;
        LawError::within("htcp", "beta_min", self.beta_min, beta)?;
        let above = (self.beta_min, 0.99, "beta_min to 0.99");
        LawError::within("htcp", "beta_max", self.beta_max, above)?;
        LawError::within(
            "htcp",
            "rate_change",
            self.rate_change,
            (0.0, 1e6, "0 to 1e6"),
        )
    }

    /// The fraction beta of the window that remains after a reduction.
    fn beta(&self, last_cut_rate: f64, at: &CutConditions) -> f64 {
        let changed = last_cut_rate <= 0.0
            || (at.rate - last_cut_rate).abs() > self.rate_change * last_cut_rate;
        if changed && self.rate_switch == RateSwitch::On {
            return 0.5;
        }
        (at.propagation / at.largest_round_trip).clamp(self.beta_min, self.beta_max)
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
        let beta = self.beta(epoch.last_cut_rate, at);
        Epoch {
            position: beta * window,
            gain: 2.0 * (1.0 - beta),
            last_cut_rate: at.rate,
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, epoch: &mut Epoch, window: f64, clock: f64, step: EulerStep) -> f64 {
        window + self.growth_per_round(epoch, clock) * step.rounds
    }
}

impl FluidFace for Htcp {
    const NAME: &'static str = "htcp";

    /// Linux's variant has none.
    fn of(parameters: &Parameters) -> Option<Self> {
        let published = parameters.word("variant") == "paper";
        published.then(|| Self::published(parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

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

    #[test]
    fn parameters_out_of_range_are_refused() {
        let wrong = Htcp {
            beta_min: 0.9,
            beta_max: 0.8,
            ..Htcp::default()
        };
        assert_eq!(wrong.check().unwrap_err().parameter, "beta_max");
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
