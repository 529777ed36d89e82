//! CUBIC's fluid face.

use forebay_units::parameter::Parameters;

use crate::law::{CUT_RANGE, CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};

/// Whether a flow that lost below its last peak releases bandwidth (RFC 9438 section 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastConvergence {
    /// W_max becomes W (2 - b) / 2 when W < W_max.
    #[default]
    On,
    /// W_max becomes W always.
    Off,
}

/// Whether the window is at least that of AIMD(3 b / (2 - b), b) (RFC 9438 section 4.3).
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
        let x = clock - epoch.k;
        self.scale * x * x * x + epoch.w_max
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
        let (a, b) = (from - epoch.k, to - epoch.k);
        // b^4 - a^4 = (b - a)(b + a)(b^2 + a^2)
        (to - from) * (epoch.w_max + 0.25 * self.scale * (b + a) * (b * b + a * a))
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

/// W = max(C (s - K)^3 + W_max, W_est) with W_est' = 3 b / (2 - b) / R; the position is W_est.
///
/// One part of RFC 9438 is left out: W_est's slope does not change to 1 once W_est passes the
/// window before the reduction (section 4.3). The model behind the tables of loss synchronization
/// leaves it out, too.
impl FluidWindow for Cubic {
    fn start(&self, window: f64) -> Epoch {
        Epoch {
            position: self.friendly_start(window),
            w_max: window,
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
        let x = clock - epoch.k;
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
        let dip = epoch.k + turn;
        let interior = if dip > clock && dip < end {
            lead(dip)
        } else {
            0.0
        };
        if lead(clock) >= 0.0 && lead(end) >= 0.0 && interior >= 0.0 {
            return self.cubic_integral(epoch, clock, end);
        }
        let crest = epoch.k - turn;
        self.integral_with_crossings(
            epoch,
            &friendly,
            [clock, crest.clamp(clock, end), dip.clamp(clock, end), end],
        )
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4] {
        let x = clock - epoch.k;
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
        let released = self.fast_convergence == FastConvergence::On && window < epoch.w_max;
        let w_max = if released {
            0.5 * window * (2.0 - self.decrease)
        } else {
            window
        };
        let start = (1.0 - self.decrease) * window;
        Epoch {
            position: self.friendly_start(start),
            w_max,
            k: libm::cbrt((w_max - start) / self.scale),
            ..*epoch
        }
    }

    #[inline]
    fn euler_step(&self, epoch: &mut Epoch, _: f64, clock: f64, step: EulerStep) -> f64 {
        epoch.position += self.friendly_growth() * step.rounds;
        self.cubic(epoch, clock + step.span).max(epoch.position)
    }
}

impl FluidFace for Cubic {
    const NAME: &'static str = "cubic";

    fn of(parameters: &Parameters) -> Option<Self> {
        let on = |name| parameters.switch(name);
        Some(Self {
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
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

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
            assert!((epoch.k - k).abs() < 1e-12);
            assert!((law.window(&epoch, 0.0, k) - 1000.0).abs() < 1e-9);
        }
    }

    #[test]
    fn fast_convergence_lowers_w_max() {
        let law = Cubic::default();
        let below = law.cut(&law.start(1000.0), 900.0, &AT);
        assert_eq!(below.w_max, 900.0 * 0.85);
        assert!((law.window(&below, 0.0, 0.0) - 630.0).abs() < 1e-9);
        let off = Cubic {
            fast_convergence: FastConvergence::Off,
            ..law
        };
        assert_eq!(off.cut(&off.start(1000.0), 900.0, &AT).w_max, 900.0);
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
}
