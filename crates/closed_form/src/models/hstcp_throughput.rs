//! HighSpeed TCP's throughput after Barman, Smaragdakis & Matta (Globecom 2004), on the functions
//! of RFC 3649.
//!
//! The response function gives the mean window. The paper's closed form uses it for the peak, and
//! its printed version has a wrong exponent. Both are named forms. The default is eq. (3). Another
//! form solves the sawtooth under deterministic loss exactly.

use forebay_congestion::hstcp::HstcpResponse;

use crate::error::{FormulaError, check, open_unit, positive, probability, representable};
use crate::inputs::{LOSS_PROBABILITY, LOSS_UP_TO_ONE, P, PERIODIC, ROUND_TRIP, WINDOW};
use crate::model::{Example, Model, symbol, variant};
use crate::numeric;
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::response::Response;

/// The model.
pub static MODEL: Model = Model {
    name: "hstcp-throughput",
    aliases: &["hstcp-response", "rfc3649"],
    title: "HighSpeed TCP: its window laws and its throughput",
    summary: "The rate is w(p)/R: the paper's approximation is better than its closed form, which takes the mean window for the peak.",
    formula: "λ = w(p)/R,  w(p) = w_l (p/p_l)^(1/s),  s = ln(p_h/p_l)/ln(w_h/w_l)\nb(w) = ½ + (b_h − ½) ln(w/w_l)/ln(w_h/w_l)        a(w) = 2w² b(w) p(w)/(2 − b(w))\nclosed form: λ = (w_p/R)(1 + 1/s) [(1 − b_p)^(−s) − 1] / [(1 − b_p)^(−(1+s)) − 1]",
    symbols: &[
        symbol("λ", "rate", "packets/s"),
        LOSS_PROBABILITY,
        ROUND_TRIP,
        symbol("w_l, w_h", "low and high window: 38, 83000", "packets"),
        symbol("p_l, p_h", "loss there: 1e-3, 1e-7", "1"),
        symbol("b_h", "fraction cut at w_h: 0.1", "1"),
        symbol(
            "a(w), b(w)",
            "increase per round trip, fraction cut",
            "packets, 1",
        ),
    ],
    assumptions: &[PERIODIC, "loss below p_l; Reno from there on"],
    source: "RFC 3649 section 5; Barman, Smaragdakis & Matta (2004), eq. (3) and the derivation before it.",
    errata: &[
        "y is printed log(w_h/w_l)/log(w_h/w_l); it is log(w/w_l)/log(w_h/w_l). \"dw/dy\" is dw/dt.",
        "Exponent of w(t): printed −(A+c)/(A+c), right −A/(A+c); the substitutions need the opposite sign, and 1/R is missing in the first integral.",
        "Last display: (1 − b_p)^(−1/(1+c/A)) must be (1 − b_p)^(−(1+c/A)). As printed the rate is 8 to 20 times too small.",
        "The closed form takes the response function's mean window for the peak: 0.73-0.95 of w(p)/R, where the exact sawtooth gives 1.015-1.045.",
        "The paper defines p_l = 1.5/w_l² and computes with 1e-3; then w(p) jumps from 38 to 38.73 at p_l.",
    ],
    variants: &[
        variant("closed", "the closed form with its exponent corrected"),
        variant("printed", "the closed form as printed"),
        variant(
            "peak",
            "the sawtooth that peaks at w(p), exact a(w) and b(w)",
        ),
        variant(
            "self-consistent",
            "the sawtooth that sends exactly 1/p packets between cuts",
        ),
    ],
    quantities: &[
        quantity("window", "packets", AT_LOSS, |a| {
            mean_window(&hstcp(a[1]), Form::Approximate, a[0])
        }),
        quantity("window:closed", "packets", AT_LOSS, |a| {
            mean_window(&hstcp(a[1]), Form::Closed, a[0])
        }),
        quantity("window:printed", "packets", AT_LOSS, |a| {
            mean_window(&hstcp(a[1]), Form::ClosedPrinted, a[0])
        }),
        quantity("window:peak", "packets", AT_LOSS, |a| {
            mean_window(&hstcp(a[1]), Form::PeakExact, a[0])
        }),
        quantity("window:self-consistent", "packets", AT_LOSS, |a| {
            mean_window(&hstcp(a[1]), Form::SelfConsistent, a[0])
        }),
        quantity("increase", "packets/RTT", AT_WINDOW, |a| {
            Ok(at_window(a)?.increase(a[0]))
        }),
        quantity("decrease", "1", AT_WINDOW, |a| {
            Ok(decrease(&at_window(a)?, a[0]))
        }),
        quantity("loss_at_window", "1", AT_WINDOW, |a| {
            Ok(at_window(a)?.loss_at(a[0]))
        }),
    ],
    example: Example {
        text: "Mean window at a loss of 1e-6",
        quantity: "window",
        arguments: &[("loss", &[1e-6])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("hstcp", "constant A", &["constant a", "window_log"])
        .formula(|a| Ok(from_row(a, 0)?.window_log_ratio()), PARAMETERS),
    named(
        "hstcp",
        "c/A",
        &["c/a", "slope", "constant s", "exponent s"],
    )
    .formula(|a| Ok(from_row(a, 0)?.slope()), PARAMETERS),
    named("hstcp", "A/c", &["a/c", "1/s"])
        .formula(|a| Ok(1.0 / from_row(a, 0)?.slope()), PARAMETERS),
    named("hstcp", "constant c", &["constant c"])
        .formula(|a| Ok(from_row(a, 0)?.loss_log_ratio()), PARAMETERS),
    named("hstcp", "a(w)", &["^a"]).given("w").formula(
        |a| row_at_window(a).map(|(window, response)| response.increase(window)),
        AT_WINDOW_COLUMNS,
    ),
    named("hstcp", "b(w)", &["^b"]).given("w").formula(
        |a| row_at_window(a).map(|(window, response)| decrease(&response, window)),
        AT_WINDOW_COLUMNS,
    ),
    named("hstcp", "p(w)", &["^p"])
        .given("w")
        .formula(row_loss, AT_WINDOW_COLUMNS),
    named(
        "hstcp",
        "closed form as printed (wrong exponent), x rtt",
        &["printed", "wrong"],
    )
    .formula(|a| row_window(a, Form::ClosedPrinted), AT_LOSS_COLUMNS),
    named(
        "hstcp",
        "self-consistent deterministic loss, x rtt",
        &["self-consistent", "deterministic"],
    )
    .formula(|a| row_window(a, Form::SelfConsistent), AT_LOSS_COLUMNS),
    named("hstcp", "peak w(p), exact b(w), x rtt", &["peak"])
        .formula(|a| row_window(a, Form::PeakExact), AT_LOSS_COLUMNS),
    named(
        "hstcp",
        "closed form, corrected exponent, x rtt",
        &["closed"],
    )
    .formula(|a| row_window(a, Form::Closed), AT_LOSS_COLUMNS),
    named("hstcp", "w(p), eq. (3) x rtt", &[])
        .formula(|a| row_window(a, Form::Approximate), AT_LOSS_COLUMNS),
];

/// Columns of a row with a loss in argument 0, and the RFC's parameters of HSTCP.
const AT_LOSS_COLUMNS: &[Column] = &[P, W_LOW, W_HIGH, P_LOW, P_HIGH, B_HIGH];
const AT_WINDOW_COLUMNS: &[Column] = &[Column::of(&["w"]), W_LOW, W_HIGH, P_LOW, P_HIGH, B_HIGH];
const PARAMETERS: &[Column] = &[W_LOW, W_HIGH, P_LOW, P_HIGH, B_HIGH];

/// The low window, in packets.
pub(crate) const W_LOW: Column = Column::of(&["w_low"]).or(STANDARD.low_window);
/// The high window, in packets.
pub(crate) const W_HIGH: Column = Column::of(&["w_high"]).or(STANDARD.high_window);
/// The loss at the low window.
pub(crate) const P_LOW: Column = Column::of(&["p_low"]).or(STANDARD.low_loss);
/// The loss at the high window.
pub(crate) const P_HIGH: Column = Column::of(&["p_high"]).or(STANDARD.high_loss);
/// The fraction removed by a decrease at the high window.
pub(crate) const B_HIGH: Column = Column::of(&["b_high"]).or(STANDARD.high_decrease);

/// RFC 3649's parameters.
const STANDARD: HstcpResponse = HstcpResponse {
    low_window: 38.0,
    high_window: 83000.0,
    low_loss: 1e-3,
    high_loss: 1e-7,
    high_decrease: 0.1,
};

/// The parameters of a row, from argument `first` on.
pub(crate) fn from_row(a: &Arguments, first: usize) -> Result<HstcpResponse, FormulaError> {
    let response = HstcpResponse {
        low_window: a[first],
        high_window: a[first + 1],
        low_loss: a[first + 2],
        high_loss: a[first + 3],
        high_decrease: a[first + 4],
    };
    validate(&response)?;
    Ok(response)
}

/// The mean window of a row in one of the forms.
fn row_window(a: &Arguments, form: Form) -> Result<f64, FormulaError> {
    mean_window(&from_row(a, 1)?, form, a[0])
}

/// The window of a row and its parameters.
fn row_at_window(a: &Arguments) -> Result<(f64, HstcpResponse), FormulaError> {
    let response = from_row(a, 1)?;
    Ok((positive("window (packets)", a[0])?, response))
}

/// The loss of a row's window. Below the low window HSTCP is Reno; at it the line gives `low_loss`.
fn row_loss(a: &Arguments) -> Result<f64, FormulaError> {
    let (window, response) = row_at_window(a)?;
    Ok(if window > response.low_window {
        response.loss_at(window)
    } else if window < response.low_window {
        (1.5 / (window * window)).min(1.0)
    } else {
        response.low_loss
    })
}

const LOW_LOSS: Input = Input::new(
    "low_loss", "1", "loss at the low window of 38: 1e-3 (RFC 3649), or 1.5/38^2 = 1.0388e-3, which makes w(p) continuous", "1e-7 < x < 1",
).or(1e-3);

fn hstcp(low_loss: f64) -> HstcpResponse {
    HstcpResponse {
        low_loss,
        ..HstcpResponse::default()
    }
}

fn at_window(a: &Arguments) -> Result<HstcpResponse, FormulaError> {
    positive("window (packets)", a[0])?;
    let response = hstcp(a[1]);
    validate(&response)?;
    Ok(response)
}

const AT_LOSS: &[Input] = &[LOSS_UP_TO_ONE, LOW_LOSS];
const AT_WINDOW: &[Input] = &[WINDOW, LOW_LOSS];

/// HighSpeed TCP in one of its published forms. From `low_loss` on it is Reno.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HstcpThroughput {
    /// The parameters of RFC 3649.
    pub response: HstcpResponse,
    /// The throughput formula.
    pub form: Form,
}

impl Response for HstcpThroughput {
    fn validate(&self) -> Result<(), FormulaError> {
        validate(&self.response)
    }

    fn ln_window(&self, ln_loss: f64, _: f64) -> f64 {
        ln_window(&self.response, self.form, ln_loss)
    }

    fn beta(&self, window: f64) -> f64 {
        1.0 - decrease(&self.response, window)
    }
}

/// The formula for the mean window at a loss probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The paper's eq. (3), w(p), "approximately": within 1.5-4.5 % of the exact sawtooth. Default.
    #[default]
    Approximate,
    /// The paper's closed form with its last exponent corrected (erratum B7).
    Closed,
    /// The closed form as printed; 8 to 20 times too small.
    ClosedPrinted,
    /// The sawtooth that peaks at w(p), with variable b(w) and a(w).
    PeakExact,
    /// The sawtooth that sends exactly 1/p packets between cuts, with exact a(w) and b(w).
    SelfConsistent,
}

impl Form {
    /// All forms, in the order above.
    pub const ALL: [Self; 5] = [
        Self::Approximate,
        Self::Closed,
        Self::ClosedPrinted,
        Self::PeakExact,
        Self::SelfConsistent,
    ];

    /// The form's name in scenario files, Python and `explain`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approximate => "approx",
            Self::Closed => "closed",
            Self::ClosedPrinted => "printed",
            Self::PeakExact => "peak",
            Self::SelfConsistent => "self-consistent",
        }
    }
}

/// The mean window rate x RTT in packets, at loss probability `loss`.
///
/// From `low_loss` on all forms are Reno's sqrt(3/2)/sqrt(p).
pub fn mean_window(response: &HstcpResponse, form: Form, loss: f64) -> Result<f64, FormulaError> {
    validate(response)?;
    probability("loss probability", loss)?;
    representable(
        "mean window (packets)",
        libm::exp(ln_window(response, form, libm::log(loss))),
    )
}

/// Checks the parameters. The error names the one that is out of range.
pub(crate) fn validate(response: &HstcpResponse) -> Result<(), FormulaError> {
    let &HstcpResponse {
        low_window,
        high_window,
        low_loss,
        high_loss,
        high_decrease,
    } = response;
    positive("low window (packets)", low_window)?;
    check(
        "high window (packets)",
        high_window,
        "above the low window",
        high_window > low_window,
    )?;
    open_unit("loss at the low window", low_loss)?;
    let below = high_loss > 0.0 && high_loss < low_loss;
    check(
        "loss at the high window",
        high_loss,
        "above 0, below the loss at the low window",
        below,
    )?;
    let cut = high_decrease > 0.0 && high_decrease < 0.5;
    check(
        "cut fraction at the high window",
        high_decrease,
        "0 < x < 0.5",
        cut,
    )?;
    Ok(())
}

/// The decrease b(w), continued beyond the high window along its line to half of `high_decrease`.
///
/// RFC 3649 defines nothing there. Without a bound the line would cross zero at seven high windows.
pub fn decrease(response: &HstcpResponse, window: f64) -> f64 {
    response.decrease(window).max(0.5 * response.high_decrease)
}

/// The ln(loss) below which windows exceed 1e13 packets, b(w) is constant and every form is a power
/// law.
const FAR: f64 = -40.0;

/// The ln of the mean window at ln(loss).
pub(crate) fn ln_window(response: &HstcpResponse, form: Form, ln_loss: f64) -> f64 {
    let ln_low = libm::log(response.low_loss);
    if ln_loss >= ln_low {
        return 0.5 * (libm::log(1.5) - ln_loss);
    }
    let slope = response.slope();
    let ln_response = libm::log(response.low_window) + (ln_loss - ln_low) / slope;
    if form == Form::Approximate {
        return ln_response;
    }
    if ln_loss < FAR && ln_low > FAR {
        return ln_window(response, form, FAR) + (ln_loss - FAR) / slope;
    }
    let sawtooth = Sawtooth { response, slope };
    match form {
        Form::Approximate => ln_response,
        Form::Closed => ln_response + libm::log(sawtooth.frozen_mean(ln_response)),
        Form::ClosedPrinted => ln_response + libm::log(sawtooth.printed_mean(ln_response)),
        Form::PeakExact => sawtooth.ln_mean(ln_response),
        Form::SelfConsistent => sawtooth.ln_self_consistent(ln_response, ln_loss),
    }
}

/// One cycle of the window from (1 - b) peak to peak, in units of the round-trip time.
struct Sawtooth<'a> {
    response: &'a HstcpResponse,
    slope: f64,
}

impl Sawtooth<'_> {
    /// Mean over peak with constant b: (1+1/s) [(1-b)^-s - 1] / [(1-b)^-(1+s) - 1].
    fn frozen_mean(&self, ln_peak: f64) -> f64 {
        let ln_beta = libm::log1p(-decrease(self.response, libm::exp(ln_peak)));
        // The integral of e^(k u) over the cycle, which is finite at k = 0.
        let moment = |k: f64| {
            if k == 0.0 {
                -ln_beta
            } else {
                -libm::expm1(k * ln_beta) / k
            }
        };
        moment(-self.slope) / moment(-(1.0 + self.slope))
    }

    /// The same as printed: the last exponent is -1/(1+s) instead of -(1+s).
    fn printed_mean(&self, ln_peak: f64) -> f64 {
        let ln_beta = libm::log1p(-decrease(self.response, libm::exp(ln_peak)));
        let s = self.slope;
        (1.0 + 1.0 / s) * libm::expm1(-s * ln_beta) / libm::expm1(-ln_beta / (1.0 + s))
    }

    /// The ln of packets per cycle over round trips per cycle, in the sawtooth of peak e^`ln_peak`.
    fn ln_mean(&self, ln_peak: f64) -> f64 {
        libm::log(self.cycle(ln_peak, 1.0) / self.cycle(ln_peak, 0.0))
    }

    /// The ln of the mean window of the cycle that sends 1/p packets.
    fn ln_self_consistent(&self, ln_guess: f64, ln_loss: f64) -> f64 {
        let excess = |ln_peak: f64| -ln_loss - libm::log(self.cycle(ln_peak, 1.0));
        let Ok(interval) = numeric::bracket_decreasing("HSTCP peak", (ln_guess, 64.0), excess)
        else {
            return f64::NAN;
        };
        match numeric::root("HSTCP peak", interval, excess) {
            Ok(ln_peak) => self.ln_mean(ln_peak),
            Err(_) => f64::NAN,
        }
    }

    /// The integral of w^power / a(w) dw over the cycle: packets for power 1, round trips for 0.
    fn cycle(&self, ln_peak: f64, power: f64) -> f64 {
        let cut = decrease(self.response, libm::exp(ln_peak));
        let ln_valley = ln_peak + libm::log1p(-cut);
        let ln_low = libm::log(self.response.low_window);
        let reno = numeric::integral((ln_valley, ln_peak.min(ln_low)), 0.1, |u| {
            libm::exp((power + 1.0) * u)
        });
        let high = numeric::integral((ln_valley.max(ln_low), ln_peak), 0.1, |u| {
            let w = libm::exp(u);
            let b = decrease(self.response, w);
            // The identity w^2/a = (2-b)/(2 b p(w)).
            let ratio = (2.0 - b) / (2.0 * b * self.response.loss_at(w));
            if power == 1.0 { ratio } else { ratio / w }
        });
        reno + high
    }
}

#[cfg(test)]
mod tests;
