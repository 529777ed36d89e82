//! HighSpeed TCP (RFC 3649): the response function and the window laws derived from it.

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};

use crate::fluid::{CutConditions, Epoch, EulerStep, FluidLaw, FluidWindow, LawError};
use crate::packet::{Ack, CongestionControl, Path, Signal, Window};

/// Parameters of the HSTCP response function, RFC 3649 section 5.
///
/// All windows are in packets and all probabilities are dimensionless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HstcpResponse {
    /// `Low_Window`: at and below it HSTCP is Reno. Default 38.
    pub low_window: f64,
    /// `High_Window`: window reached at `high_loss`. Default 83000.
    pub high_window: f64,
    /// `Low_P`: loss probability at `low_window`. Default 1e-3.
    pub low_loss: f64,
    /// `High_P`: loss probability at `high_window`. Default 1e-7.
    pub high_loss: f64,
    /// `High_Decrease`: cut fraction at `high_window`. Default 0.1.
    pub high_decrease: f64,
}

impl Default for HstcpResponse {
    fn default() -> Self {
        Self {
            low_window: 38.0,
            high_window: 83000.0,
            low_loss: 1e-3,
            high_loss: 1e-7,
            high_decrease: 0.1,
        }
    }
}

impl HstcpResponse {
    /// ln(w_h / w_l), called A in the literature.
    pub fn window_log_ratio(&self) -> f64 {
        libm::log(self.high_window / self.low_window)
    }

    /// ln(p_h / p_l), called c in the literature; negative.
    pub fn loss_log_ratio(&self) -> f64 {
        libm::log(self.high_loss / self.low_loss)
    }

    /// Slope s = c / A of ln p against ln w; negative.
    pub fn slope(&self) -> f64 {
        self.loss_log_ratio() / self.window_log_ratio()
    }

    /// p(w): the loss probability at which the mean window is `window` packets
    /// (RFC 3649 section 5; defined above `low_window`).
    pub fn loss_at(&self, window: f64) -> f64 {
        self.low_loss * libm::pow(window / self.low_window, self.slope())
    }

    /// w(p): mean window in packets at loss probability `loss`, the inverse of [`Self::loss_at`].
    pub fn window_at(&self, loss: f64) -> f64 {
        self.low_window * libm::pow(loss / self.low_loss, 1.0 / self.slope())
    }

    /// b(w): the cut fraction at a window of `window` packets (RFC 3649 section 5).
    pub fn decrease(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 0.5;
        }
        0.5 + (self.high_decrease - 0.5) * libm::log(window / self.low_window)
            / self.window_log_ratio()
    }

    /// a(w): the increase in packets per round trip at a window of `window` packets,
    /// a = 2 w^2 b p / (2 - b) (RFC 3649 section 5).
    pub fn increase(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let b = self.decrease(window);
        2.0 * window * window * b * self.loss_at(window) / (2.0 - b)
    }
}

// --- Packet face ---

/// Where a(w) and b(w) come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The functions of RFC 3649 section 5.
    Functions,
    /// The table of its appendix B for the default parameters, as in Linux's tcp_highspeed.c: a(w)
    /// in whole packets.
    Table,
}

/// RFC 3649 appendix B without its last row, as Linux has it: the largest windows with a(w) = 1, 2,
/// 3, ... and their b(w).
#[rustfmt::skip]
const TABLE: [(f64, f64); 72] = [
    (38.0, 0.50),
    (118.0, 0.44),
    (221.0, 0.41),
    (347.0, 0.38),
    (495.0, 0.37),
    (663.0, 0.35),
    (851.0, 0.34),
    (1058.0, 0.33),
    (1284.0, 0.32),
    (1529.0, 0.31),
    (1793.0, 0.30),
    (2076.0, 0.29),
    (2378.0, 0.28),
    (2699.0, 0.28),
    (3039.0, 0.27),
    (3399.0, 0.27),
    (3778.0, 0.26),
    (4177.0, 0.26),
    (4596.0, 0.25),
    (5036.0, 0.25),
    (5497.0, 0.24),
    (5979.0, 0.24),
    (6483.0, 0.23),
    (7009.0, 0.23),
    (7558.0, 0.22),
    (8130.0, 0.22),
    (8726.0, 0.22),
    (9346.0, 0.21),
    (9991.0, 0.21),
    (10661.0, 0.21),
    (11358.0, 0.20),
    (12082.0, 0.20),
    (12834.0, 0.20),
    (13614.0, 0.19),
    (14424.0, 0.19),
    (15265.0, 0.19),
    (16137.0, 0.19),
    (17042.0, 0.18),
    (17981.0, 0.18),
    (18955.0, 0.18),
    (19965.0, 0.17),
    (21013.0, 0.17),
    (22101.0, 0.17),
    (23230.0, 0.17),
    (24402.0, 0.16),
    (25618.0, 0.16),
    (26881.0, 0.16),
    (28193.0, 0.16),
    (29557.0, 0.15),
    (30975.0, 0.15),
    (32450.0, 0.15),
    (33986.0, 0.15),
    (35586.0, 0.14),
    (37253.0, 0.14),
    (38992.0, 0.14),
    (40808.0, 0.14),
    (42707.0, 0.13),
    (44694.0, 0.13),
    (46776.0, 0.13),
    (48961.0, 0.13),
    (51258.0, 0.13),
    (53677.0, 0.12),
    (56230.0, 0.12),
    (58932.0, 0.12),
    (61799.0, 0.12),
    (64851.0, 0.11),
    (68113.0, 0.11),
    (71617.0, 0.11),
    (75401.0, 0.10),
    (79517.0, 0.10),
    (84035.0, 0.10),
    (89053.0, 0.10),
];

/// The row of the table for this window; larger windows have the last one.
fn row(window: f64) -> usize {
    TABLE
        .partition_point(|&(largest, _)| largest < window)
        .min(TABLE.len() - 1)
}

/// HighSpeed TCP on packets, with the exact functions a(w) and b(w) of RFC 3649 section 5 or with
/// its table and, on request, limited slow start (RFC 3742).
#[derive(Clone, Debug)]
pub struct HstcpController {
    response: HstcpResponse,
    source: Source,
    /// a(w) at the window it was last computed for: it changes slowly.
    cached: (f64, f64),
    /// RFC 3742's max_ssthresh in packets; infinite for ordinary slow start.
    limited: f64,
}

impl HstcpController {
    fn response(parameters: &Parameters) -> HstcpResponse {
        HstcpResponse {
            low_window: parameters.number("low_window"),
            high_window: parameters.number("high_window"),
            low_loss: parameters.number("low_loss"),
            high_loss: parameters.number("high_loss"),
            high_decrease: parameters.number("high_decrease"),
        }
    }

    /// a(w), recomputed once the window has moved by more than one part in 500 (an error of a(w)
    /// of at most 0.2 %).
    #[inline]
    fn increase(&mut self, window: f64) -> f64 {
        let (at, value) = self.cached;
        if (window - at).abs() * 500.0 <= at {
            return value;
        }
        let value = match self.source {
            Source::Functions => self.response.bounded_increase(window).max(1.0),
            Source::Table => 1.0 + row(window) as f64,
        };
        self.cached = (window, value);
        value
    }

    /// b(w).
    fn decrease(&self, window: f64) -> f64 {
        match self.source {
            Source::Functions => self.response.bounded_decrease(window).clamp(0.0, 0.5),
            Source::Table => TABLE[row(window)].1,
        }
    }
}

impl CongestionControl for HstcpController {
    const DESCRIPTION: Description = Description {
        name: "hstcp",
        title: "HighSpeed TCP: larger increases and smaller cuts at large windows",
        source: "RFC 3649; limited slow start RFC 3742",
        parameters: &[
            Parameter {
                name: "low_window",
                meaning: "Low_Window: packets up to which it is Reno",
                kind: ParameterKind::Number { min: 2.0, max: 1e6 },
                default: Value::Number(38.0),
            },
            Parameter {
                name: "high_window",
                meaning: "High_Window: packets reached at high_loss",
                kind: ParameterKind::Number {
                    min: 10.0,
                    max: 1e9,
                },
                default: Value::Number(83000.0),
            },
            Parameter {
                name: "low_loss",
                meaning: "Low_P: loss probability at low_window",
                kind: ParameterKind::Number {
                    min: 1e-6,
                    max: 0.1,
                },
                default: Value::Number(1e-3),
            },
            Parameter {
                name: "high_loss",
                meaning: "High_P: loss probability at high_window",
                kind: ParameterKind::Number {
                    min: 1e-12,
                    max: 0.01,
                },
                default: Value::Number(1e-7),
            },
            Parameter {
                name: "high_decrease",
                meaning: "High_Decrease: fraction cut at high_window",
                kind: ParameterKind::Number {
                    min: 0.01,
                    max: 0.5,
                },
                default: Value::Number(0.1),
            },
            Parameter {
                name: "limited_slow_start",
                meaning: "RFC 3742's max_ssthresh in packets: slow start adds at most half of it per round trip",
                kind: ParameterKind::Number { min: 2.0, max: 1e9 },
                default: Value::Automatic,
            },
            Parameter {
                name: "variant",
                meaning: "increase and cut by RFC 3649's functions, or by its table in whole packets as in Linux (packet engine only)",
                kind: ParameterKind::Choice {
                    words: &["rfc", "linux"],
                },
                default: Value::Word("rfc"),
            },
        ],
    };

    fn new(parameters: &Parameters) -> Self {
        let limited = match parameters.get("limited_slow_start") {
            Value::Number(x) => x,
            _ => f64::INFINITY,
        };
        Self {
            response: Self::response(parameters),
            source: if parameters.word("variant") == "linux" {
                Source::Table
            } else {
                Source::Functions
            },
            cached: (0.0, 1.0),
            limited,
        }
    }

    fn fluid(parameters: &Parameters) -> Option<FluidLaw> {
        HstcpTrajectory::new(Self::response(parameters))
            .ok()
            .map(FluidLaw::Hstcp)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &Path) {
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            if window.cwnd > self.limited {
                // RFC 3742 section 2: K = cwnd / (0.5 max_ssthresh), 1/K packets per packet.
                acked *= (0.5 * self.limited / window.cwnd).min(1.0);
            }
            acked = window.slow_start(acked);
        }
        if acked > 0.0 {
            window.cwnd += self.increase(window.cwnd) * acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: Time, path: &Path) {
        window.cut((1.0 - self.decrease(path.flight)) * path.flight, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649 appendix B: w, a(w), b(w).
    #[test]
    fn linux_goes_by_the_table() {
        let mut parameters = Parameters::defaults(HstcpController::DESCRIPTION.parameters);
        assert!(parameters.set("variant", Value::Word("linux")));
        let mut controller = HstcpController::new(&parameters);
        let rows = [
            (20.0, 1.0, 0.50),
            (60.0, 2.0, 0.44),
            (118.0, 2.0, 0.44),
            (119.0, 3.0, 0.41),
            (1000.0, 8.0, 0.33),
            (10_300.0, 30.0, 0.21),
            (80_000.0, 71.0, 0.10),
            (1e9, 72.0, 0.10),
        ];
        for (window, increase, decrease) in rows {
            assert_eq!(controller.increase(window), increase, "a({window})");
            assert_eq!(controller.decrease(window), decrease, "b({window})");
        }
        // The functions agree with every row up to High_Window within four percent and 0.02.
        let functions = HstcpResponse::default();
        let to_high_window = TABLE
            .into_iter()
            .filter(|(window, _)| *window <= functions.high_window);
        for (number, (window, decrease)) in to_high_window.enumerate() {
            let exact = functions.bounded_increase(window);
            let table = (number + 1) as f64;
            assert!((exact / table - 1.0).abs() < 0.04, "a({window}) = {exact}");
            assert!((functions.bounded_decrease(window) - decrease).abs() < 0.02);
        }
    }

    #[test]
    fn constants_are_those_of_the_rfc() {
        let h = HstcpResponse::default();
        assert!((h.window_log_ratio() - 7.68901).abs() < 1e-5);
        assert!((h.loss_log_ratio() + 9.21034).abs() < 1e-5);
    }

    #[test]
    fn window_and_loss_are_inverse() {
        let h = HstcpResponse::default();
        for w in [40.0, 1e3, 83000.0] {
            assert!((h.window_at(h.loss_at(w)) / w - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn reno_at_and_below_the_low_window() {
        let h = HstcpResponse::default();
        assert_eq!(h.increase(38.0), 1.0);
        assert_eq!(h.decrease(10.0), 0.5);
    }
}

// --- Fluid face ---

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

impl HstcpResponse {
    /// The cut fraction of the fluid face: [`Self::decrease`] held at its value at `high_window`
    /// above it.
    pub fn bounded_decrease(&self, window: f64) -> f64 {
        self.decrease(window.min(self.high_window))
    }

    /// The increase of the fluid face: [`Self::increase`] with [`Self::bounded_decrease`].
    pub fn bounded_increase(&self, window: f64) -> f64 {
        if window <= self.high_window {
            return self.increase(window);
        }
        let b = self.high_decrease;
        2.0 * window * window * b * self.loss_at(window) / (2.0 - b)
    }

    /// d ln a / d ln W just above (`side` positive) or below a window above `low_window`.
    fn increase_elasticity(&self, window: f64, side: f64) -> f64 {
        let b = self.bounded_decrease(window);
        let beyond = window * (1.0 + 1e-9 * side) > self.high_window;
        let slope = if beyond {
            0.0
        } else {
            (self.high_decrease - 0.5) / self.window_log_ratio()
        };
        2.0 + self.slope() + slope * (1.0 / b + 1.0 / (2.0 - b))
    }
}

impl HstcpTrajectory {
    /// Tabulates the trajectory of a response function.
    pub fn new(response: HstcpResponse) -> Result<Self, LawError> {
        check_response(&response)?;
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
        check_response(&self.response)
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

fn check_response(response: &HstcpResponse) -> Result<(), LawError> {
    let refuse = |parameter, value, range| LawError::within("hstcp", parameter, value, range);
    refuse(
        "low_window",
        response.low_window,
        (1.0, 1e6, "1 to 1e6 packets"),
    )?;
    let above = (
        2.0 * response.low_window,
        1e9,
        "twice low_window to 1e9 packets",
    );
    refuse("high_window", response.high_window, above)?;
    refuse("low_loss", response.low_loss, (1e-9, 0.1, "1e-9 to 0.1"))?;
    let below = (1e-15, 0.5 * response.low_loss, "1e-15 to half of low_loss");
    refuse("high_loss", response.high_loss, below)?;
    refuse(
        "high_decrease",
        response.high_decrease,
        (0.01, 0.5, "0.01 to 0.5"),
    )?;
    // A slope below -2 would make the increase fall with the window.
    refuse(
        "response slope",
        response.slope(),
        (-1.9, -0.1, "-1.9 to -0.1"),
    )
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

#[cfg(test)]
mod fluid_tests {
    use super::*;
    use crate::fluid::tests::assert_consistent;

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
