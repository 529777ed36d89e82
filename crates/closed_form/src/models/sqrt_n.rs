//! The square-root rule of Appenzeller, Keslassy & McKeown (SIGCOMM 2004). The general form with
//! any sawtooth and any correlation is after Spang, Arslan & McKeown 2021.

use forebay_scenario::{Metric, ModelError};

use crate::checks::{HUNDREDS, equal_round_trips, loss_based, many_flows, saturable};
use crate::error::{FormulaError, at_least_one, non_negative, positive, representable, unit};
use crate::inputs::{B_OVER_BDP, BDP, BDP_PACKETS, BUF, BUFFER_BDP, FLOWCOUNT, FLOWS, N, PIPE};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::models::cubic_response::CubicResponse;
use crate::numeric::two_sided_normal;
use crate::pieces::{long_flows, on_whole_link, residual_goal, response};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "sqrt-n",
    aliases: &["stanford", "appenzeller", "spang-arslan-mckeown"],
    title: "The square-root rule",
    summary: "Windows that move independently average out: N long flows need 1/√N of the bandwidth-delay product.",
    formula: "B = CT/√N        U ≥ erf( B√N / (2√2 κ (CT + B)) )\ngeneral: B = CT k/(1 − k),  k = 2zκ √((1 + (N−1)r)/N)",
    symbols: &[
        BUF,
        PIPE,
        FLOWCOUNT,
        symbol(
            "κ",
            "standard deviation over mean of one window: 1/(3√3) for Reno",
            "1",
        ),
        symbol("z", "standard deviations covered", "1"),
        symbol("r", "correlation between two windows", "1"),
    ],
    assumptions: &[
        "hundreds of long flows",
        "windows that move independently (r near 0): no synchronizing marks, bounded unfairness",
    ],
    source: "Appenzeller, Keslassy & McKeown (SIGCOMM 2004), re-derived; κ and r after Spang, Arslan & McKeown (2021), \
        whose theorem constants were not available.",
    errata: &[
        "For N = 20 and a BDP of 150 the rule gives 33.5 packets, not 21 as quoted by Avrachenkov et al.",
    ],
    variants: &[],
    quantities: &[
        quantity("buffer", "packets", &[BDP, FLOWS], |a| stanford(a[0], a[1])),
        quantity(
            "utilization",
            "1",
            &[
                FLOWS.within("1 and more"),
                BUFFER_BDP,
                VARIATION,
                CORRELATION,
            ],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .utilization(a[1])
            },
        ),
        quantity(
            "buffer_bdp_for_quantile",
            "BDP",
            &[
                FLOWS.within("1 and more"),
                Input::new("z", "1", "standard deviations covered", "0 and more"),
                VARIATION,
                CORRELATION,
            ],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .buffer_for_quantile(a[1])
            },
        ),
        quantity(
            "buffer_bdp_for_utilization",
            "BDP",
            &[
                FLOWS.within("1 and more"),
                Input::new("utilization", "1", "least utilization", "0 to below 1"),
                VARIATION,
                CORRELATION,
            ],
            |a| {
                WindowSum {
                    flows: a[0],
                    variation: a[2],
                    correlation: a[3],
                }
                .buffer_for_utilization(a[1])
            },
        ),
    ],
    example: Example {
        text: "Utilization bound of 10000 flows with BDP/√N = 1 % of a BDP",
        quantity: "utilization",
        arguments: &[("flows", &[1e4]), ("buffer_bdp", &[0.01])],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                many_flows(s, HUNDREDS),
                loss_based(s),
                equal_round_trips(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "it is a lower bound of the utilization, for independent windows",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("stanford", "utilisation lower bound", &["utili"]).formula(
        |a| {
            let buffer = if a[1].is_nan() {
                a[2] / a[0].sqrt()
            } else {
                a[1]
            };
            WindowSum::reno(a[0]).utilization(buffer)
        },
        &[
            N,
            B_OVER_BDP.without("B_over_bdp_by_sqrt_n"),
            Column::of(&["B_over_bdp_by_sqrt_n"]).without("B_over_bdp"),
        ],
    ),
    named("stanford", "buffer", &[]).quantity("buffer", &[BDP_PACKETS, N]),
    named(
        "sqrt-n",
        "utilization, CUBIC",
        &["cubic*utili", "utili*cubic"],
    )
    .formula(
        |a| of_cubic(a)?.utilization(a[1]),
        &[N, B_OVER_BDP, CUBIC_CUT, R],
    ),
    named("sqrt-n", "buffer / BDP, CUBIC", &["cubic"]).formula(
        |a| of_cubic(a)?.buffer_for_quantile(a[1]),
        &[N, Z, CUBIC_CUT, R],
    ),
    named("sqrt-n", "utilisation", &["utili"]).quantity("utilization", &[N, B_OVER_BDP, KAPPA, R]),
    named("sqrt-n", "buffer / BDP", &[]).quantity("buffer_bdp_for_quantile", &[N, Z, KAPPA, R]),
];

const R: Column = Column::of(&["r", "correlation"]).or(0.0);
const Z: Column = Column::of(&["z"]).or_after_or("z ", 2.0);
const KAPPA: Column = Column::of(&["kappa"]).or(RENO_VARIATION);
const CUBIC_CUT: Column = Column::of(&["cut"]).or_after_or("cut", 0.3);

/// Windows of CUBIC, uncorrelated or correlated, with the decrease in argument 2.
fn of_cubic(a: &Arguments) -> Result<WindowSum, FormulaError> {
    let cubic = CubicResponse {
        cut: a[2],
        ..CubicResponse::default()
    };
    Ok(WindowSum {
        flows: a[0],
        variation: cubic.epoch_variation()?,
        correlation: a[3],
    })
}

const VARIATION: Input = Input::new(
    "variation",
    "1",
    "coefficient of variation of a window: 0.19245 Reno, 0.0919 CUBIC",
    "above 0",
)
.or(RENO_VARIATION);
const CORRELATION: Input =
    Input::new("correlation", "1", "correlation of two windows", "0 to 1").or(0.0);

fn predict(s: &Situation) -> Numbers {
    let bound = window_sum(s)?.utilization(s.buffer / s.residual_bdp()?)?;
    Ok(vec![(Metric::Utilization, on_whole_link(s, bound))])
}

fn size(s: &Situation, t: &Targets) -> Packets {
    let bdp = s.residual_bdp()?;
    Ok(Some(match t.utilization {
        Some(goal) if goal < 1.0 => {
            bdp * window_sum(s)?.buffer_for_utilization(residual_goal(s, goal)?)?
        }
        _ => stanford(bdp, long_flows(s)?)?,
    }))
}

fn window_sum(s: &Situation) -> Result<WindowSum, ModelError> {
    let variation = response(s)?.variation(s.fair_window()?)?;
    Ok(WindowSum {
        flows: long_flows(s)?,
        variation,
        correlation: 0.0,
    })
}

/// The buffer B = CT / sqrt(N), in packets.
pub fn stanford(bdp: f64, flows: f64) -> Result<f64, FormulaError> {
    positive("bandwidth-delay product (packets)", bdp)?;
    positive("number of flows", flows)?;
    representable("buffer (packets)", bdp / flows.sqrt())
}

/// Coefficient of variation of Reno's window, 1/(3 sqrt 3). The window is uniform on [2/3, 4/3] of
/// its mean.
pub const RENO_VARIATION: f64 = 0.192_450_089_729_875_25;

/// Windows with a normal sum: each has the coefficient of variation `variation`, any two the
/// correlation `correlation`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSum {
    /// Number N of long flows, at least 1.
    pub flows: f64,
    /// Standard deviation over mean of one window, kappa.
    pub variation: f64,
    /// Correlation r between two windows, 0 to 1.
    pub correlation: f64,
}

impl WindowSum {
    /// Uncorrelated Reno windows.
    pub fn reno(flows: f64) -> Self {
        Self {
            flows,
            variation: RENO_VARIATION,
            correlation: 0.0,
        }
    }

    /// Standard deviation over mean of the sum, kappa sqrt((1 + (N-1) r)/N).
    pub fn spread(&self) -> Result<f64, FormulaError> {
        at_least_one("number of flows", self.flows)?;
        positive("coefficient of variation", self.variation)?;
        unit("correlation", self.correlation)?;
        let inflation = 1.0 + (self.flows - 1.0) * self.correlation;
        Ok(self.variation * (inflation / self.flows).sqrt())
    }

    /// Lower bound of the utilization, erf(z/sqrt 2) with z = (B/2) / (spread (CT + B)). The
    /// argument is in bandwidth-delay products.
    pub fn utilization(&self, buffer_over_bdp: f64) -> Result<f64, FormulaError> {
        non_negative("buffer over BDP", buffer_over_bdp)?;
        let half = 0.5 * buffer_over_bdp / (1.0 + buffer_over_bdp);
        Ok(libm::erf(
            half / (self.spread()? * core::f64::consts::SQRT_2),
        ))
    }

    /// The buffer B/BDP = k/(1-k), k = 2 z spread, that covers z standard deviations.
    pub fn buffer_for_quantile(&self, z: f64) -> Result<f64, FormulaError> {
        non_negative("quantile z", z)?;
        let k = 2.0 * z * self.spread()?;
        if k >= 1.0 {
            return Err(FormulaError::Unreachable {
                quantity: "quantile z",
                found: z,
                bound: format!("no buffer covers more than {} standard deviations", z / k),
            });
        }
        Ok(k / (1.0 - k))
    }

    /// The buffer B/BDP whose bound is `utilization`.
    pub fn buffer_for_utilization(&self, utilization: f64) -> Result<f64, FormulaError> {
        self.buffer_for_quantile(two_sided_normal(utilization)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_thousand_flows() {
        let sum = WindowSum::reno(1e4);
        for (multiple, bound) in [(1.0, 0.98990), (1.5, 0.999877), (2.0, 0.999_999_7)] {
            assert!((sum.utilization(multiple / 100.0).unwrap() - bound).abs() < 1e-5);
        }
        assert!((WindowSum::reno(1e18).utilization(1e-9).unwrap() - 0.99063).abs() < 1e-5);
        assert_eq!(RENO_VARIATION, 1.0 / (3.0 * 3.0_f64.sqrt()));
    }

    proptest! {
        #[test]
        fn bound_rises_in_buffer_and_flows(n in 1.0_f64..1e6, x in 0.0_f64..3.0) {
            let bound = WindowSum::reno(n).utilization(x).unwrap();
            prop_assert!(WindowSum::reno(n).utilization(x + 0.01).unwrap() >= bound);
            prop_assert!(WindowSum::reno(n * 1.1).utilization(x).unwrap() >= bound);
            prop_assert_eq!(WindowSum::reno(n).utilization(0.0).unwrap(), 0.0);
        }

        #[test]
        fn full_correlation_removes_the_gain(n in 1.0_f64..1e6, z in 0.0_f64..2.5) {
            let one = WindowSum::reno(1.0).buffer_for_quantile(z).unwrap();
            let many = WindowSum { correlation: 1.0, ..WindowSum::reno(n) };
            prop_assert!((many.buffer_for_quantile(z).unwrap() - one).abs() < 1e-9 * (1.0 + one));
        }

        #[test]
        fn buffer_and_bound_are_inverse(n in 50.0_f64..1e6, u in 0.1_f64..0.9999) {
            let sum = WindowSum::reno(n);
            let back = sum.utilization(sum.buffer_for_utilization(u).unwrap()).unwrap();
            prop_assert!((back - u).abs() < 1e-11);
        }
    }
}
