//! Oscillation of many Reno flows: the stability bound of Raina & Wischik.

use forebay_scenario::{Check, Metric, ModelError};

use crate::checks::{HUNDREDS, checked, many_flows, reno, saturable, unknown, unless_refused};
use crate::error::{FormulaError, non_negative, positive, representable};
use crate::inputs::{B, BUF, BUFFER};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::numeric;
use crate::pieces::{long_flows, on_whole_link};
use crate::quantity::{Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};
use crate::words::figure;

/// The model.
pub static MODEL: Model = Model {
    name: "small-buffers",
    aliases: &["raina-wischik", "small-buffer"],
    title: "Whether many Reno flows oscillate",
    summary: "With many flows a buffer above a bound set by the window makes the flows oscillate together; about 20 packets is the authors' compromise.",
    formula: "w = (2 w̄ᴮ)^(1/(B+2)),  ρ = w/w̄,  p = ρᴮ        stable iff √(g² − 1)/w < arccos(−1/g),  g = 1 + B",
    symbols: &[
        symbol("w", "window at the equilibrium", "packets"),
        symbol("w̄", "C T / N, the window at full load", "packets"),
        BUF,
        symbol("ρ", "load", "1"),
        symbol("p", "loss", "1"),
    ],
    assumptions: &[
        "many Reno flows of equal round-trip time",
        "loss = load^buffer: packets arrive smoothly on the scale of the buffer",
    ],
    source: "Raina & Wischik, Buffer sizes for large multiplexers (NGI 2005); derived here, checked by integrating the delay equation.",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity("window", "packets", AT, |a| {
            Ok(Stability::new(a[0], a[1])?.window())
        }),
        quantity("load", "1", AT, |a| Ok(Stability::new(a[0], a[1])?.load())),
        quantity("loss", "1", AT, |a| Ok(Stability::new(a[0], a[1])?.loss())),
        quantity("margin", "rad", AT, |a| {
            Stability::new(a[0], a[1])?.margin()
        }),
        quantity(
            "critical_window",
            "packets",
            &[Input::new(
                "elasticity",
                "1",
                "d ln p/d ln load: the buffer in packets",
                "0 and more",
            )],
            |a| critical_window(a[0]),
        ),
    ],
    example: Example {
        text: "Smallest stable window with 20 packets of buffer",
        quantity: "critical_window",
        arguments: &[("elasticity", &[20.0])],
    },
    sizing: Some(Sizing {
        assumptions: |s| vec![many_flows(s, HUNDREDS), reno(s), saturable(s), stable(s)],
        predict: Some(predict),
        size: Some(size),
        note: "the loss is load^buffer, and the buffer is the largest at which the flows do not oscillate together",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named(
        "small-buffer",
        "critical window for stability",
        &["critical"],
    )
    .quantity("critical_window", &[Column::of(&["elasticity", "B"])]),
    named("small-buffer", "equilibrium window", &["window"]).quantity("window", AT_COLUMNS),
    named("small-buffer", "equilibrium loss", &["loss"]).quantity("loss", AT_COLUMNS),
    named("small-buffer", "stability margin", &["margin"]).quantity("margin", AT_COLUMNS),
    named(
        "small-buffer",
        "equilibrium load",
        &["load", "rho", "utili"],
    )
    .quantity("load", AT_COLUMNS),
];

const AT_COLUMNS: &[Column] = &[Column::of(&["wbar"]), B];

const AT: &[Input] = &[
    Input::new(
        "fair_window",
        "packets",
        "C T / N, the window at full load",
        "above 0",
    ),
    BUFFER.within("above 0"),
];

fn predict(s: &Situation) -> Numbers {
    let at = stability(s)?;
    Ok(vec![
        (
            Metric::Utilization,
            on_whole_link(s, at.load() * (1.0 - at.loss())),
        ),
        (Metric::LossRate, at.loss()),
    ])
}

fn size(s: &Situation, _: &Targets) -> Packets {
    // The largest stable buffer is wanted, because larger ones make the flows oscillate.
    let fair = s.residual_bdp()? / long_flows(s)?;
    let stable = |b: f64| {
        Stability::new(fair, b)
            .and_then(|at| at.margin())
            .is_ok_and(|m| m > 0.0)
    };
    if !stable(1.0) {
        return Err(ModelError::NoSolution(format!(
            "windows of {} packets oscillate together whatever the buffer",
            figure(fair)
        )));
    }
    let margin = |ln_b: f64| {
        Stability::new(fair, libm::exp(ln_b))
            .and_then(|at| at.margin())
            .unwrap_or(f64::NAN)
    };
    let ln_b = numeric::root("buffer (packets)", (0.0, 60.0), margin)?;
    Ok(Some(libm::exp(ln_b).floor()))
}

fn stability(s: &Situation) -> Result<Stability, ModelError> {
    let at = Stability::new(s.residual_bdp()? / long_flows(s)?, s.buffer.max(1.0))?;
    if at.loss() > 1.0 {
        return Err(ModelError::NotApplicable(format!(
            "a flow's share of the bandwidth-delay product is {} packets, too few for fast retransmit",
            figure(at.fair_window)
        )));
    }
    Ok(at)
}

fn stable(s: &Situation) -> Check {
    let assumption = "a stable equilibrium (flows that do not oscillate)";
    let check = stability(s).and_then(|at| {
        let (window, steady) = (at.window(), critical_window(at.buffer)?);
        let (buffer, windows) = (figure(at.buffer), figure(window));
        if window > steady {
            let why = format!("windows of {windows} packets are steady at a buffer of {buffer} packets");
            return Ok(checked(assumption, true, why));
        }
        // The scenario's own buffer does not contradict the one that the rule recommends.
        Ok(unknown(
            assumption,
            format!(
                "windows of {windows} packets oscillate together at the scenario's buffer of {buffer} packets, \
                where only those above {} would be steady; the rule's buffer is smaller",
                figure(steady)
            ),
        ))
    });
    unless_refused(assumption, check)
}

/// Reno flows through a buffer of B packets that loses p = rho^B (Raina & Wischik).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// Window wbar = C T / N at full load, in packets.
    pub fair_window: f64,
    /// Buffer B, in packets.
    pub buffer: f64,
}

impl Stability {
    /// Creates the operating point. The error names the input that is out of range.
    pub fn new(fair_window: f64, buffer: f64) -> Result<Self, FormulaError> {
        positive("fair window C T / N (packets)", fair_window)?;
        positive("buffer (packets)", buffer)?;
        Ok(Self {
            fair_window,
            buffer,
        })
    }

    /// The window w = (2 wbar^B)^(1/(B+2)) in packets, from w^2 p = 2.
    pub fn window(&self) -> f64 {
        let b = self.buffer;
        libm::exp((core::f64::consts::LN_2 + b * libm::log(self.fair_window)) / (b + 2.0))
    }

    /// The load rho = w / wbar.
    pub fn load(&self) -> f64 {
        self.window() / self.fair_window
    }

    /// The loss p = rho^B = 2 / w^2.
    pub fn loss(&self) -> f64 {
        let w = self.window();
        2.0 / (w * w)
    }

    /// The stability margin arccos(-1/g) - sqrt(g^2-1)/w with g = 1 + B, in rad. The point is
    /// locally stable if it is positive.
    pub fn margin(&self) -> Result<f64, FormulaError> {
        let critical = critical_window(self.buffer)?;
        let angle = libm::acos(-1.0 / (1.0 + self.buffer));
        Ok(angle * (1.0 - critical / self.window()))
    }
}

/// The critical window sqrt(g^2-1)/arccos(-1/g), g = 1 + e, in packets. Windows above it are stable
/// for a loss law of elasticity e = d ln p/d ln y (B for p = y^B). The round-trip time cancels.
pub fn critical_window(elasticity: f64) -> Result<f64, FormulaError> {
    non_negative("elasticity of the loss", elasticity)?;
    let g = 1.0 + elasticity;
    let root = (elasticity * (elasticity + 2.0)).sqrt();
    representable("critical window (packets)", root / libm::acos(-1.0 / g))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn critical_window_of_twenty_packets() {
        assert!((critical_window(20.0).unwrap() - 12.961).abs() < 1e-3);
    }

    /// Peak-to-trough swing of the delay equation after `round_trips` round trips from a small
    /// kick.
    fn peak_to_trough_after(fair_window: f64, buffer: f64, round_trips: usize) -> f64 {
        let per = 400;
        let h = 1.0 / per as f64;
        let at = Stability::new(fair_window, buffer).unwrap();
        let loss = |w: f64| libm::pow((w / fair_window).min(1.0), buffer);
        let mut w = vec![at.window() * 1.001; per + 1];
        for i in per..per * round_trips {
            let (now, old) = (w[i], w[i - per]);
            w.push(now + h * (1.0 - now * old * loss(old) / 2.0));
        }
        let tail = &w[w.len() - 6 * per..];
        let (low, high) = tail
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        (high - low) / at.window()
    }

    #[test]
    fn direct_integration_agrees_about_stability() {
        // Windows on both sides of the critical 12.961 at B = 20.
        let fair = |w: f64| w * libm::pow(w * w / 2.0, 1.0 / 20.0);
        let early = |w| peak_to_trough_after(fair(w), 20.0, 60);
        let late = |w| peak_to_trough_after(fair(w), 20.0, 400);
        assert!(late(12.0) > 1.5 * early(12.0));
        assert!(late(14.5) < 0.7 * early(14.5));
    }

    proptest! {
        #[test]
        fn equilibrium_satisfies_its_equations(wbar in 0.5_f64..1e4, b in 1.0_f64..1e4) {
            let at = Stability::new(wbar, b).unwrap();
            prop_assert!((at.window() * at.window() * at.loss() - 2.0).abs() < 1e-9);
            prop_assert!((b * libm::log(at.load()) - libm::log(at.loss())).abs() < 1e-7 * (1.0 + b * libm::log(at.load()).abs()));
            let stable = at.window() > critical_window(b).unwrap();
            prop_assert_eq!(at.margin().unwrap() > 0.0, stable);
        }
    }
}
