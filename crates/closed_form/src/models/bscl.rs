//! BSCL, buffer sizing for congested links (Dhamdhere, Jiang & Dovrolis, INFOCOM 2005): one bound
//! each for utilization, loss and delay.

use forebay_scenario::{Check, ModelError};

use crate::checks::{checked, droptail, has_long_flows, reno, saturable, unknown};
use crate::error::{
    FormulaError, at_least_one, non_negative, positive, probability, representable, unit,
};
use crate::inputs::{BUF, CAPACITY, CAPACITY_PPS, FLOWCOUNT, FLOWS, LOSS_UP_TO_ONE, N, P, RTTS};
use crate::model::{Example, Model, Packets, Sizing, symbol};
use crate::models::mathis::DELAYED_ACK;
use crate::pieces::long_flows;
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "bscl",
    aliases: &["dhamdhere-jiang-dovrolis", "congested-links"],
    title: "Buffer sizing for congested links",
    summary: "Two lower bounds, for utilization and for loss, and an upper one for delay; they may contradict each other.",
    formula: "utilization: B ≥ [ q C Tₑ − 2N(1 − q) ]/(2 − q)\nloss:        B ≥ kN/√p − C Tₑ\ndelay:       B ≤ C d",
    symbols: &[
        BUF,
        symbol("C", "capacity", "packets/s"),
        symbol("Tₑ", "harmonic mean round-trip time", "s"),
        FLOWCOUNT,
        symbol("q", "share of the flows hit by a loss event", "1"),
        symbol("p", "largest loss probability", "1"),
        symbol("k", "constant of the rate k/(T √p): 0.87", "1"),
        symbol("d", "largest queueing delay", "s"),
    ],
    assumptions: &["locally bottlenecked long Reno flows", "drop-tail"],
    source: "Dhamdhere, Jiang & Dovrolis, Buffer sizing for congested Internet links (INFOCOM 2005) (recalled; each part re-derived).",
    errata: &[],
    variants: &[],
    quantities: &[
        quantity(
            "utilization_buffer",
            "packets",
            &[CAPACITY, EFFECTIVE_RTT, FLOWS, SHARE_HIT],
            |a| bscl_link(a)?.utilization_buffer(a[3]),
        ),
        quantity(
            "loss_buffer",
            "packets",
            &[
                CAPACITY,
                EFFECTIVE_RTT,
                FLOWS,
                LOSS_UP_TO_ONE,
                RATE_CONSTANT,
            ],
            |a| bscl_link(a)?.loss_buffer(a[3], a[4]),
        ),
        quantity(
            "delay_cap",
            "packets",
            &[
                CAPACITY,
                EFFECTIVE_RTT,
                FLOWS,
                Input::new("delay_s", "s", "largest queueing delay", "0 and more"),
            ],
            |a| bscl_link(a)?.delay_cap(a[3]),
        ),
        quantity(
            "buffer",
            "packets",
            &[
                CAPACITY,
                EFFECTIVE_RTT,
                FLOWS,
                SHARE_HIT,
                LOSS_UP_TO_ONE,
                RATE_CONSTANT,
                Input::new("delay_s", "s", "largest queueing delay", "0 and more"),
            ],
            |a| {
                bscl_link(a)?.buffer(&Goals {
                    share_hit: a[3],
                    loss: a[4],
                    constant: a[5],
                    delay_s: a[6],
                })
            },
        ),
        quantity("effective_rtt_s", "s", &[RTTS], |a| effective_rtt(a.list)),
        quantity(
            "share_hit",
            "1",
            &[
                FLOWS.within("1 and more"),
                Input::new(
                    "losses",
                    "packets",
                    "losses per event, thrown at random",
                    "0 and more",
                ),
            ],
            |a| share_hit(a[0], a[1]),
        ),
    ],
    example: Example {
        text: "Utilization's bound on 10000 packets/s, 100 ms, 20 flows of which 30 % are hit",
        quantity: "utilization_buffer",
        arguments: &[
            ("capacity_pps", &[1e4]),
            ("rtt_s", &[0.1]),
            ("flows", &[20.0]),
            ("share_hit", &[0.3]),
        ],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                reno(s),
                droptail(s),
                saturable(s),
                half_hit(s),
            ]
        },
        predict: None,
        size: Some(size),
        note: "",
    }),
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("bscl", "harmonic-mean RTT", &["rtt"])
        .quantity("effective_rtt_s", &[Column::of(&["rtts_s"]).list()]),
    named(
        "bscl",
        "fraction of flows hit",
        &["fraction", "share", "hit"],
    )
    .quantity("share_hit", &[N, Column::of(&["L", "losses"])]),
    named("bscl", "delay buffer", &["delay"]).formula(
        |a| Ok(a[0] * non_negative("delay (s)", a[1])?),
        &[CAPACITY_PPS, Column::of(&["d_s", "delay_s", "d"])],
    ),
    named("bscl", "utilisation buffer", &["utili"]).quantity(
        "utilization_buffer",
        &[CAPACITY_PPS, EFFECTIVE_RTT_S, N, Column::of(&["q"])],
    ),
    named("bscl", "loss buffer", &["loss"]).quantity(
        "loss_buffer",
        &[
            CAPACITY_PPS,
            EFFECTIVE_RTT_S,
            N,
            P.or_after("p="),
            Column::of(&["k"]).or(DELAYED_ACK),
        ],
    ),
];

const EFFECTIVE_RTT_S: Column = Column::of(&["Te_s", "rtt_s"]);

fn bscl_link(a: &Arguments) -> Result<Bscl, FormulaError> {
    Bscl::new(a[0], a[1], a[2])
}

const EFFECTIVE_RTT: Input = Input::new("rtt_s", "s", "harmonic mean round-trip time", "above 0");
const SHARE_HIT: Input = Input::new(
    "share_hit",
    "1",
    "share of the flows hit by a loss event",
    "0 to 1",
);
const RATE_CONSTANT: Input = Input::new(
    "constant",
    "1",
    "k of the rate k/(T √p): 0.87 with delayed ACKs",
    "above 0",
)
.or(0.87);

fn size(s: &Situation, t: &Targets) -> Packets {
    let rtt = s.round_trip()?;
    let capacity = s.capacity_pps * s.left()?;
    let link = Bscl::new(capacity, rtt, long_flows(s)?)?;
    let mut need = link.utilization_buffer(if s.long_flows() <= 1.5 { 1.0 } else { 0.5 })?;
    if let Some(loss) = t.loss {
        need = need.max(link.loss_buffer(loss, DELAYED_ACK)?);
    }
    if let Some(cap) = t
        .delay_s
        .map(|delay| s.capacity_pps * delay)
        .filter(|cap| need > *cap)
    {
        return Err(ModelError::NoSolution(format!(
            "utilization and loss need {need:.0} packets, and the delay allows {cap:.0}"
        )));
    }
    Ok(Some(need))
}

fn half_hit(s: &Situation) -> Check {
    let assumption = "a known share of flows hit by a loss event";
    if s.long_flows() <= 1.5 {
        return checked(assumption, true, "every loss hits the same flow".into());
    }
    unknown(
        assumption,
        "the scenario does not say how many flows a loss event hits; half of them are taken".into(),
    )
}

/// A congested link and its locally bottlenecked flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bscl {
    /// Capacity C, in packets/s.
    pub capacity_pps: f64,
    /// Effective (harmonic mean) round-trip time T_e, in seconds.
    pub rtt_s: f64,
    /// Number N of flows bottlenecked here.
    pub flows: f64,
}

/// Harmonic mean T_e of the round-trip times, in seconds.
pub fn effective_rtt(rtts_s: &[f64]) -> Result<f64, FormulaError> {
    at_least_one("number of flows", rtts_s.len() as f64)?;
    let mut inverse = 0.0;
    for &rtt in rtts_s {
        inverse += 1.0 / positive("round-trip time (s)", rtt)?;
    }
    representable(
        "effective round-trip time (s)",
        rtts_s.len() as f64 / inverse,
    )
}

/// Expected share q = 1 - (1 - 1/N)^L of N flows that L random losses hit.
pub fn share_hit(flows: f64, losses: f64) -> Result<f64, FormulaError> {
    at_least_one("number of flows", flows)?;
    non_negative("losses per event", losses)?;
    if flows == 1.0 {
        return Ok(if losses > 0.0 { 1.0 } else { 0.0 });
    }
    Ok(-libm::expm1(losses * libm::log1p(-1.0 / flows)))
}

impl Bscl {
    /// Creates the link. The error names the input that is out of range.
    pub fn new(capacity_pps: f64, rtt_s: f64, flows: f64) -> Result<Self, FormulaError> {
        positive("capacity (packets/s)", capacity_pps)?;
        positive("effective round-trip time (s)", rtt_s)?;
        positive("number of flows", flows)?;
        Ok(Self {
            capacity_pps,
            rtt_s,
            flows,
        })
    }

    /// The buffer for utilization, B >= [q C T_e - 2N(1-q)]/(2-q), in packets, at least 0. The
    /// share of flows hit by a loss event is q.
    pub fn utilization_buffer(&self, share_hit: f64) -> Result<f64, FormulaError> {
        let q = unit("share of flows hit", share_hit)?;
        let need = q * self.capacity_pps * self.rtt_s - 2.0 * self.flows * (1.0 - q);
        representable("buffer (packets)", (need / (2.0 - q)).max(0.0))
    }

    /// The buffer for loss, B >= k N/sqrt(p) - C T_e, in packets, at least 0; k = 0.87 with delayed
    /// ACKs.
    pub fn loss_buffer(&self, loss: f64, constant: f64) -> Result<f64, FormulaError> {
        probability("loss probability", loss)?;
        positive("rate constant k", constant)?;
        let need = constant * self.flows / loss.sqrt() - self.capacity_pps * self.rtt_s;
        representable("buffer (packets)", need.max(0.0))
    }

    /// The largest buffer for a delay, B <= C d, in packets.
    pub fn delay_cap(&self, delay_s: f64) -> Result<f64, FormulaError> {
        non_negative("largest queueing delay (s)", delay_s)?;
        representable("buffer (packets)", self.capacity_pps * delay_s)
    }

    /// The larger of the two lower bounds, if it does not exceed the bound of the delay.
    pub fn buffer(&self, goals: &Goals) -> Result<f64, FormulaError> {
        let need = self
            .utilization_buffer(goals.share_hit)?
            .max(self.loss_buffer(goals.loss, goals.constant)?);
        let cap = self.delay_cap(goals.delay_s)?;
        if need > cap {
            return Err(FormulaError::Unreachable {
                quantity: "buffer (packets)",
                found: need,
                bound: format!("the delay allows at most {cap} packets"),
            });
        }
        Ok(need)
    }
}

/// The goals of BSCL's buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goals {
    /// Share q of flows hit by a loss event.
    pub share_hit: f64,
    /// Largest loss probability p.
    pub loss: f64,
    /// Constant k of the rate formula; 0.87 with delayed ACKs.
    pub constant: f64,
    /// Largest queueing delay d, in seconds.
    pub delay_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_per_flow() {
        let link = Bscl::new(1e4, 1e-9, 1.0).unwrap();
        assert!((link.loss_buffer(0.01, 0.87).unwrap() - 8.7).abs() < 1e-3);
        assert!((link.loss_buffer(0.02, 0.87).unwrap() - 6.15).abs() < 1e-2);
    }

    #[test]
    fn an_infeasible_delay_is_refused() {
        let goals = Goals {
            share_hit: 1.0,
            loss: 0.01,
            constant: 0.87,
            delay_s: 0.001,
        };
        assert!(Bscl::new(1e4, 0.1, 20.0).unwrap().buffer(&goals).is_err());
    }

    proptest! {
        #[test]
        fn all_hit_is_the_bdp_and_none_hit_is_zero(c in 1.0_f64..1e7, t in 1e-4_f64..1.0, n in 1.0_f64..1e5) {
            let link = Bscl::new(c, t, n).unwrap();
            prop_assert!((link.utilization_buffer(1.0).unwrap() / (c * t) - 1.0).abs() < 1e-12);
            prop_assert_eq!(link.utilization_buffer(0.0).unwrap(), 0.0);
        }

        #[test]
        fn loss_bound_is_linear_in_the_flows(n in 100.0_f64..1e5, p in 1e-4_f64..0.01) {
            let at = |n| Bscl::new(1.0, 1e-6, n).unwrap().loss_buffer(p, 0.87).unwrap();
            prop_assert!(((at(3.0 * n) - at(2.0 * n)) / (at(2.0 * n) - at(n)) - 1.0).abs() < 1e-9);
        }

        #[test]
        fn share_hit_is_a_share(n in 1.0_f64..1e6, losses in 0.0_f64..1e6) {
            let q = share_hit(n, losses).unwrap();
            prop_assert!((0.0..=1.0).contains(&q));
        }
    }
}
