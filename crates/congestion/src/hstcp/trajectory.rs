//! HighSpeed TCP's fluid face.

use forebay_units::parameter::Parameters;

use super::response::HstcpResponse;
use crate::law::{CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};

/// HSTCP's window as a function of the round trips made, tabulated once per parameter set.
///
/// Every HSTCP flow follows the one solution of dW/dJ = a(W) with J counted in round trips
/// (J = 0 at `low_window`), each from its own J; so the table makes a flow as cheap as an AIMD
/// flow. Between knots, equally spaced in ln W, the window is the quintic through value, slope
/// and curvature at both ends (relative error below 1e-10, tested).
///
/// Above `high_window` the cut fraction stays at `high_decrease`, where the RFC's formula would
/// reach 0 and turn negative; the RFC gives no rule there.
#[derive(Clone, Debug, PartialEq)]
pub struct HstcpTrajectory {
    response: HstcpResponse,
    pieces: Box<[Piece]>,
}

/// One interval of the trajectory: W as a quintic of the fraction of the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// Round trips at the left end; minus infinity for the Reno region.
    rounds: f64,
    /// Reciprocal of the interval's length in round trips.
    scale: f64,
    /// Coefficients of W in powers of (J - rounds) x scale.
    window: [f64; 6],
}

/// Tabulated up to this window, packets; 8e15 bits in flight at 1000 B.
const LARGEST_WINDOW: f64 = 1e12;
/// Largest spacing of the knots in ln W.
const SPACING: f64 = 0.1;
/// Nodes and weights of the 5-point Gauss-Legendre rule on [-1, 1].
const GAUSS: [(f64, f64); 5] = [
    (-0.906179845938664, 0.236926885056189),
    (-0.538469310105683, 0.478628670499366),
    (0.0, 0.568888888888889),
    (0.538469310105683, 0.478628670499366),
    (0.906179845938664, 0.236926885056189),
];

impl HstcpTrajectory {
    /// Tabulates the trajectory of a response function.
    pub fn new(response: HstcpResponse) -> Result<Self, LawError> {
        response.check()?;
        let whole = response.window_log_ratio();
        let spacing = whole / (whole / SPACING).ceil();
        let count = (libm::log(LARGEST_WINDOW / response.low_window) / spacing).ceil() as usize;
        // The Reno region: one packet per round trip, J = 0 at the low window.
        let mut pieces = vec![Piece {
            rounds: f64::NEG_INFINITY,
            scale: 1.0,
            window: [response.low_window, 1.0, 0.0, 0.0, 0.0, 0.0],
        }];
        let mut rounds = 0.0;
        for k in 0..count {
            let left = response.low_window * libm::exp(k as f64 * spacing);
            let piece = Piece::between(&response, rounds, left, spacing);
            rounds += 1.0 / piece.scale;
            pieces.push(piece);
        }
        Ok(Self {
            response,
            pieces: pieces.into(),
        })
    }

    /// The response function behind the trajectory.
    pub fn response(&self) -> &HstcpResponse {
        &self.response
    }

    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        self.response.check()
    }

    /// The interval of `rounds`, searched from a hint.
    #[inline]
    fn interval(&self, hint: u32, rounds: f64) -> usize {
        let mut k = (hint as usize).min(self.pieces.len() - 1);
        while self.pieces[k].rounds > rounds {
            k -= 1;
        }
        while k + 1 < self.pieces.len() && self.pieces[k + 1].rounds <= rounds {
            k += 1;
        }
        k
    }

    /// Round trips along the trajectory at `window` packets, and their interval.
    fn rounds_at(&self, window: f64) -> (f64, usize) {
        if window <= self.response.low_window {
            return (window - self.response.low_window, 0);
        }
        let k = self
            .pieces
            .partition_point(|piece| piece.window[0] <= window)
            - 1;
        let piece = &self.pieces[k.max(1)];
        // Newton from the left end; the quintic is increasing and convex.
        let mut fraction = 0.0;
        for _ in 0..50 {
            let (value, slope) = piece.value_and_slope(fraction);
            let change = (window - value) / slope;
            fraction += change;
            if change.abs() < 1e-15 {
                break;
            }
        }
        (piece.rounds + fraction / piece.scale, k.max(1))
    }

    /// Integral of W over the round trips from `from` to `to`.
    fn window_over_rounds(&self, hint: u32, from: f64, to: f64) -> f64 {
        let mut k = self.interval(hint, from);
        let mut left = from;
        let mut sum = 0.0;
        loop {
            let end = self
                .pieces
                .get(k + 1)
                .map_or(f64::INFINITY, |next| next.rounds);
            let right = to.min(end);
            sum += self.pieces[k].integral(left, right);
            if right >= to {
                return sum;
            }
            left = right;
            k += 1;
        }
    }
}

impl Piece {
    /// The piece over `spacing` in ln W from `left` packets at `rounds`.
    fn between(response: &HstcpResponse, rounds: f64, left: f64, spacing: f64) -> Self {
        let half = 0.5 * spacing;
        let length: f64 = GAUSS
            .iter()
            .map(|(node, weight)| {
                let w = left * libm::exp(half * (1.0 + node));
                half * weight * w / response.bounded_increase(w)
            })
            .sum();
        let right = left * libm::exp(spacing);
        // Just above the low window, where a jumps from 1 to 0.963.
        let above = left * (1.0 + 1e-13);
        let (a0, a1) = (
            response.bounded_increase(above),
            response.bounded_increase(right),
        );
        let (s0, s1) = (a0 * length, a1 * length);
        let c0 = s0 * s0 / left * response.increase_elasticity(left, 1.0);
        let c1 = s1 * s1 / right * response.increase_elasticity(right, -1.0);
        let d = right - left - s0 - 0.5 * c0;
        let ds = s1 - s0 - c0;
        let dc = c1 - c0;
        let window = [
            left,
            s0,
            0.5 * c0,
            10.0 * d - 4.0 * ds + 0.5 * dc,
            -15.0 * d + 7.0 * ds - dc,
            6.0 * d - 3.0 * ds + 0.5 * dc,
        ];
        Self {
            rounds,
            scale: 1.0 / length,
            window,
        }
    }

    #[inline]
    fn value(&self, x: f64) -> f64 {
        let c = &self.window;
        c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))
    }

    #[inline]
    fn value_and_slope(&self, x: f64) -> (f64, f64) {
        let c = &self.window;
        let slope = c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * (4.0 * c[4] + x * 5.0 * c[5])));
        (self.value(x), slope)
    }

    #[inline]
    fn fraction(&self, rounds: f64) -> f64 {
        if self.rounds == f64::NEG_INFINITY {
            rounds
        } else {
            (rounds - self.rounds) * self.scale
        }
    }

    /// Integral of W over round trips inside the piece.
    #[inline]
    fn integral(&self, from: f64, to: f64) -> f64 {
        let c = &self.window;
        let primitive = |x: f64| {
            let tail = c[3] / 4.0 + x * (c[4] / 5.0 + x * (c[5] / 6.0));
            x * (c[0] + x * (c[1] / 2.0 + x * (c[2] / 3.0 + x * tail)))
        };
        (primitive(self.fraction(to)) - primitive(self.fraction(from))) / self.scale
    }
}

/// W' = a(W) / R; the position is the number of round trips along the trajectory.
impl FluidWindow for HstcpTrajectory {
    fn start(&self, window: f64) -> Epoch {
        let (position, interval) = self.rounds_at(window.min(LARGEST_WINDOW));
        Epoch {
            position,
            interval: interval as u32,
            ..Epoch::default()
        }
    }

    #[inline]
    fn window(&self, epoch: &Epoch, position: f64, _: f64) -> f64 {
        let piece = &self.pieces[self.interval(epoch.interval, position)];
        piece.value(piece.fraction(position))
    }

    #[inline]
    fn window_slopes(&self, epoch: &Epoch, position: f64, _: f64) -> (f64, f64) {
        let piece = &self.pieces[self.interval(epoch.interval, position)];
        let (_, slope) = piece.value_and_slope(piece.fraction(position));
        (slope * piece.scale, 0.0)
    }

    #[inline]
    fn growth_per_round(&self, _: &Epoch, _: f64) -> f64 {
        1.0
    }

    #[inline]
    fn growth_slope(&self, _: &Epoch, _: f64) -> f64 {
        0.0
    }

    #[inline]
    fn growth_integral(&self, _: &Epoch, _: f64, span: f64) -> f64 {
        span
    }

    #[inline]
    fn window_integral(&self, epoch: &Epoch, _: f64, span: f64, round_trip: f64) -> f64 {
        let end = epoch.position + span / round_trip;
        round_trip * self.window_over_rounds(epoch.interval, epoch.position, end)
    }

    #[inline]
    fn settle(&self, epoch: &mut Epoch, position: f64) {
        epoch.interval = self.interval(epoch.interval, position) as u32;
        epoch.position = position;
    }

    #[inline]
    fn derivatives(&self, epoch: &Epoch, position: f64, _: f64, inverse: f64) -> [f64; 4] {
        let piece = &self.pieces[self.interval(epoch.interval, position)];
        let x = piece.fraction(position);
        let c = &piece.window;
        let (value, slope) = piece.value_and_slope(x);
        let curvature = 2.0 * c[2] + x * (6.0 * c[3] + x * (12.0 * c[4] + x * 20.0 * c[5]));
        let third = 6.0 * c[3] + x * (24.0 * c[4] + x * 60.0 * c[5]);
        let speed = piece.scale * inverse;
        [
            value,
            speed * slope,
            speed * speed * curvature,
            speed * speed * speed * third,
        ]
    }

    fn cut(&self, _: &Epoch, window: f64, _: &CutConditions) -> Epoch {
        self.start((1.0 - self.response.bounded_decrease(window)) * window)
    }

    #[inline]
    fn euler_step(&self, _: &mut Epoch, window: f64, _: f64, step: EulerStep) -> f64 {
        window + self.response.bounded_increase(window) * step.rounds
    }

    fn window_limit(&self) -> f64 {
        LARGEST_WINDOW
    }
}

impl FluidFace for HstcpTrajectory {
    const NAME: &'static str = "hstcp";

    fn of(parameters: &Parameters) -> Option<Self> {
        Self::new(HstcpResponse::of(parameters)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::assert_consistent;

    fn trajectory() -> HstcpTrajectory {
        HstcpTrajectory::new(HstcpResponse::default()).unwrap()
    }

    #[test]
    fn the_fluid_face_is_consistent() {
        let law = trajectory();
        for window in [20.0, 37.0, 45.0, 9000.0, 82000.0, 500_000.0] {
            assert_consistent(&law, law.start(window), 0.17);
        }
    }

    #[test]
    fn the_table_solves_the_differential_equation() {
        // Relative defect of dW/dJ = a(W), and the inverse.
        let law = trajectory();
        let mut window = 38.5;
        while window < 1e9 {
            let epoch = law.start(window);
            assert!((law.window(&epoch, epoch.position, 0.0) / window - 1.0).abs() < 1e-12);
            let (slope, _) = law.window_slopes(&epoch, epoch.position, 0.0);
            let defect = slope / law.response.bounded_increase(window) - 1.0;
            assert!(defect.abs() < 1e-8, "{window}: {defect:e}");
            window *= 1.037;
        }
        // The position against an independent integration of dJ = dW / a(W).
        let (from, to) = (law.start(100.0), law.start(50_000.0));
        let n = 200_000;
        let step = libm::log(500.0) / f64::from(n);
        let rounds: f64 = (0..n)
            .map(|i| {
                let w = 100.0 * libm::exp((f64::from(i) + 0.5) * step);
                step * w / law.response.bounded_increase(w)
            })
            .sum();
        assert!(((to.position - from.position) / rounds - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_cut_follows_the_response_function_and_stays_positive_above_it() {
        let law = trajectory();
        let at = CutConditions {
            clock: 1.0,
            rate: 1.0,
            propagation: 0.1,
            largest_round_trip: 0.1,
        };
        for (window, kept) in [(30.0, 0.5), (83_000.0, 0.9), (1e6, 0.9), (1e9, 0.9)] {
            let epoch = law.cut(&law.start(window), window, &at);
            let after = law.window(&epoch, epoch.position, 0.0);
            assert!(
                (after / (kept * window) - 1.0).abs() < 1e-9,
                "{window} {after}"
            );
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (low_window, high_loss) in [(f64::NAN, 1e-7), (0.0, 1e-7), (38.0, 1e-3), (38.0, 0.0)] {
            let response = HstcpResponse {
                low_window,
                high_loss,
                ..HstcpResponse::default()
            };
            assert!(HstcpTrajectory::new(response).is_err());
        }
    }
}
