//! The fluid face of a congestion controller: its window between two cuts as a
//! differential equation in time, and its cut.
//!
//! Between cuts every law here has the form
//!
//! ```text
//! position' = growth_per_round(clock) / R(t),      window = W(position, clock)
//! ```
//!
//! with `R(t)` the round-trip time including queueing and `clock` the time since the last
//! cut. The position is the coordinate in which the growth does not depend on the window
//! itself: the window (AIMD, H-TCP), its logarithm (Scalable), the number of round trips
//! along the law's one trajectory (HSTCP), the Reno-friendly window (CUBIC). It makes the
//! window an explicit function wherever R is constant, and a quadrature of the queue where it
//! is not, so that an integrator needs no per-flow Jacobian.
//!
//! All windows are in packets, times in seconds, rates in packets per second.

use forebay_units::parameter::Parameters;

/// The state of one flow between two reductions. The law defines the meaning of a field; unused
/// fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Epoch {
    /// The law's own coordinate, advanced by `growth_per_round / R`.
    pub position: f64,
    /// CUBIC's `W_max`, packets.
    pub w_max: f64,
    /// CUBIC's K, seconds from the cut to `W_max`.
    pub k: f64,
    /// H-TCP's 2 (1 - beta), packets per round trip.
    pub gain: f64,
    /// H-TCP's rate at its previous cut, packets per second; 0 before the first cut.
    pub last_cut_rate: f64,
    /// HSTCP's interval of its tabulated trajectory, a hint that only speeds the search.
    pub interval: u32,
}

/// The state of a flow at the instant of its reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutConditions {
    /// Seconds since the previous cut, or since the start.
    pub clock: f64,
    /// Sending rate just before the cut, packets per second.
    pub rate: f64,
    /// Propagation round-trip time, seconds.
    pub propagation: f64,
    /// Largest round-trip time since the previous cut, seconds.
    pub largest_round_trip: f64,
}

/// A window law for a differential equation; see the module for its form.
pub trait FluidWindow {
    /// The epoch of a flow that starts with `window` packets and clock 0.
    fn start(&self, window: f64) -> Epoch;

    /// The window in packets at `position` and `clock` seconds after the cut.
    fn window(&self, epoch: &Epoch, position: f64, clock: f64) -> f64;

    /// (dW/dposition, dW/dclock) at the same arguments; one-sided at a kink.
    fn window_slopes(&self, epoch: &Epoch, position: f64, clock: f64) -> (f64, f64);

    /// Growth of the position per round trip at `clock`.
    fn growth_per_round(&self, epoch: &Epoch, clock: f64) -> f64;

    /// d(growth per round)/dclock, per second.
    fn growth_slope(&self, epoch: &Epoch, clock: f64) -> f64;

    /// Integral of the growth per round over the clock from `from` to `from + span` seconds.
    fn growth_integral(&self, epoch: &Epoch, from: f64, span: f64) -> f64;

    /// Integral of the window over the next `span` seconds at a constant round-trip time of
    /// `round_trip` seconds, from the epoch's position and `clock`; packets x seconds.
    fn window_integral(&self, epoch: &Epoch, clock: f64, span: f64, round_trip: f64) -> f64;

    /// The window and its first three derivatives in time at a constant round-trip time of
    /// 1 / `inverse` seconds; packets per second^k.
    fn derivatives(&self, epoch: &Epoch, position: f64, clock: f64, inverse: f64) -> [f64; 4];

    /// Moves the epoch to `position`.
    fn settle(&self, epoch: &mut Epoch, position: f64) {
        epoch.position = position;
    }

    /// The multiplicative cut of a flow at `window` packets: the new epoch, at clock 0.
    fn cut(&self, epoch: &Epoch, window: f64, at: &CutConditions) -> Epoch;

    /// One forward-Euler step of `span` seconds at a constant `round_trip`, in the law's plain
    /// window form; returns the new window. The epoch's position moves only where the law
    /// carries a second window (CUBIC). The reference integrator's only use of the law.
    fn euler_step(&self, epoch: &mut Epoch, window: f64, clock: f64, step: EulerStep) -> f64;

    /// The largest window in packets at which the law is defined.
    fn window_limit(&self) -> f64 {
        1e15
    }
}

/// A window law that scenarios can ask for: the fluid face of the controller of that name.
pub trait FluidFace: FluidWindow + Sized {
    /// The controller's name in scenario files.
    const NAME: &'static str;

    /// The law with the parameters of a scenario; none where these are beyond the law.
    fn of(parameters: &Parameters) -> Option<Self>;
}

/// Length of a forward-Euler step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EulerStep {
    /// Seconds.
    pub span: f64,
    /// The same in round trips: `span / R`.
    pub rounds: f64,
}

/// A parameter of a window law outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{law}: {parameter} is {value}, allowed is {allowed}")]
pub struct LawError {
    /// The law's name in scenario files.
    pub law: &'static str,
    /// The parameter's field name.
    pub parameter: &'static str,
    /// The value found.
    pub value: f64,
    /// The values allowed, in words.
    pub allowed: &'static str,
}

impl LawError {
    /// Refuses `value` unless it lies in the closed range; NaN never does.
    pub(crate) fn within(
        law: &'static str,
        parameter: &'static str,
        value: f64,
        (low, high, allowed): (f64, f64, &'static str),
    ) -> Result<(), Self> {
        if value >= low && value <= high {
            return Ok(());
        }
        Err(Self {
            law,
            parameter,
            value,
            allowed,
        })
    }
}

/// Range of a cut fraction: short of 0 and 1, so that a cut both acts and leaves a window.
pub(crate) const CUT_RANGE: (f64, f64, &str) = (1e-6, 0.999, "1e-6 to 0.999");
/// Range of a growth parameter in packets per round trip.
pub(crate) const GROWTH_RANGE: (f64, f64, &str) = (1e-9, 1e9, "1e-9 to 1e9");

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Holds a law to the contract of [`FluidWindow`]: slopes are derivatives, integrals are
    /// integrals, and the Euler form converges to the closed form at constant R.
    pub(crate) fn assert_consistent(law: &impl FluidWindow, epoch: Epoch, round_trip: f64) {
        let at = |clock: f64| {
            let position = epoch.position + law.growth_integral(&epoch, 0.0, clock) / round_trip;
            (position, law.window(&epoch, position, clock))
        };
        for clock in [0.3, 0.9, 2.0, 5.0, 11.0, 40.0] {
            let (position, window) = at(clock);
            let h = 1e-4;
            let (by_position, by_clock) = law.window_slopes(&epoch, position, clock);
            let scale = position.abs().max(1.0) * 1e-6;
            let numeric = (law.window(&epoch, position + scale, clock)
                - law.window(&epoch, position - scale, clock))
                / (2.0 * scale);
            assert!(
                (by_position - numeric).abs() <= 1e-4 * numeric.abs() + 1e-6,
                "{clock}"
            );
            let numeric = (law.window(&epoch, position, clock + h)
                - law.window(&epoch, position, clock - h))
                / (2.0 * h);
            assert!(
                (by_clock - numeric).abs() <= 1e-5 * numeric.abs() + 1e-6,
                "{clock}"
            );
            let numeric = (law.growth_per_round(&epoch, clock + h)
                - law.growth_per_round(&epoch, clock - h))
                / (2.0 * h);
            let slope = law.growth_slope(&epoch, clock);
            assert!(
                (slope - numeric).abs() <= 1e-6 * numeric.abs() + 1e-6,
                "{clock}"
            );
            // Derivatives in time at constant R.
            let d = law.derivatives(&epoch, position, clock, 1.0 / round_trip);
            assert!((d[0] / window - 1.0).abs() < 1e-14);
            let h = 0.01;
            let [below, above] = [at(clock - h).1, at(clock + h).1];
            let first = (above - below) / (2.0 * h) - h * h / 6.0 * d[3];
            assert!(
                (d[1] - first).abs() <= 1e-6 * first.abs() + 1e-9 * window,
                "{} {first}",
                d[1]
            );
            let second = (above - 2.0 * window + below) / (h * h);
            assert!((d[2] - second).abs() <= 1e-4 * second.abs() + 1e-9 * window);
            let [below, above] = [at(clock - 2.0 * h).1, at(clock + 2.0 * h).1];
            let third = (above - below - 4.0 * h * first) / (8.0 * h * h * h) * 3.0;
            assert!(
                (d[3] - third).abs() <= 0.05 * third.abs() + 1e-6 * window,
                "{} {third}",
                d[3]
            );
            // The window's integral by the midpoint rule.
            let n = 20_000;
            let step = clock / f64::from(n);
            let sum: f64 = (0..n).map(|i| at((f64::from(i) + 0.5) * step).1).sum();
            let exact = law.window_integral(&epoch, 0.0, clock, round_trip);
            assert!(
                (sum * step / exact - 1.0).abs() < 1e-6,
                "{} {exact}",
                sum * step
            );
            // Continuation: the integral splits at any clock.
            let mut later = epoch;
            law.settle(&mut later, position);
            assert!((law.window(&later, later.position, clock) / window - 1.0).abs() < 1e-12);
            let rest = law.window_integral(&later, clock, 3.0, round_trip);
            let whole = law.window_integral(&epoch, 0.0, clock + 3.0, round_trip);
            assert!(
                ((exact + rest) / whole - 1.0).abs() < 1e-9,
                "{} {whole}",
                exact + rest
            );
            // Forward Euler, first order: Richardson's difference removes the leading error.
            let euler = |steps: u32| {
                let span = clock / f64::from(steps);
                let step = EulerStep {
                    span,
                    rounds: span / round_trip,
                };
                let mut moving = epoch;
                let mut w = law.window(&epoch, epoch.position, 0.0);
                for i in 0..steps {
                    w = law.euler_step(&mut moving, w, f64::from(i) * span, step);
                }
                w
            };
            let extrapolated = 2.0 * euler(8000) - euler(4000);
            assert!(
                (extrapolated / window - 1.0).abs() < 2e-4,
                "{clock}: {extrapolated} {window}"
            );
        }
    }
}
