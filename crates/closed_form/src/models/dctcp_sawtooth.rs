//! DCTCP above a marking threshold (Alizadeh et al., SIGCOMM 2010): the swing of the queue, and the
//! threshold at which the queue never empties.

use forebay_scenario::{Check, Metric, ModelError};

use crate::checks::{checked, has_long_flows, saturable};
use crate::error::{FormulaError, non_negative, positive, representable};
use crate::inputs::{BDP, FLOWCOUNT, FLOWS, PIPE};
use crate::mix::{FlowRequirement, Part};
use crate::model::{Example, Model, Numbers, Packets, Sizing, symbol};
use crate::numeric;
use crate::pieces::long_flows;
use crate::quantity::{Arguments, Input, quantity};
use crate::situation::{Situation, Targets};

/// The model.
pub static MODEL: Model = Model {
    name: "dctcp-sawtooth",
    aliases: &["alizadeh", "marking-threshold"],
    title: "How far DCTCP's queue swings about a marking threshold",
    summary: "Synchronized DCTCP flows overshoot the marking threshold by a packet each and fall by the amplitude of their \
        sawtooth; a threshold of a seventh of the bandwidth-delay product never lets the queue run empty.",
    formula: "Q_max = K + N        A = ½ √( 2N (CT + K) )        Q_min = Q_max − A ≥ 0 for every N  ⇔  K ≥ CT/7\nα² (1 − α/4) = (2w + 1)/(w + 1)²,  w = (CT + K)/N        period √( (CT + K)/(2N) ) round trips",
    symbols: &[
        symbol("Q", "packets that wait", "packets"),
        symbol(
            "K",
            "threshold from which on arrivals are marked",
            "packets",
        ),
        FLOWCOUNT,
        PIPE,
        symbol("A", "amplitude of the queue", "packets"),
        symbol("α", "share of marked packets", "1"),
        symbol(
            "w",
            "window at which the queue meets the threshold",
            "packets",
        ),
    ],
    assumptions: &[
        "long DCTCP flows of equal round-trip time in step with one another, the worst case",
        "marking by the instantaneous queue against one threshold",
        "windows of many packets: α = √(2/w)",
    ],
    source: "Alizadeh, Greenberg, Maltz, Padhye, Patel, Prabhakar, Sengupta & Sridharan, Data center TCP (DCTCP) (SIGCOMM 2010), \
        section 3.3 (recalled; re-derived here).",
    errata: &[
        "The threshold rests on α = √(2/w) and a linear sawtooth; the exact limit cycle of the authors' later analysis \
            (SIGMETRICS 2011) asks for 17 % of the bandwidth-delay product instead of 14.3 % (recalled).",
    ],
    variants: &[],
    quantities: &[
        quantity("threshold", "packets", &[BDP], |a| smallest_threshold(a[0])),
        quantity("max_queue", "packets", POINT, |a| Ok(point(a)?.max_queue())),
        quantity("min_queue", "packets", POINT, |a| Ok(point(a)?.min_queue())),
        quantity("amplitude", "packets", POINT, |a| Ok(point(a)?.amplitude())),
        quantity("period_rtts", "RTT", POINT, |a| Ok(point(a)?.period_rtts())),
        quantity("marked_share", "1", POINT, |a| point(a)?.marked_share()),
    ],
    example: Example {
        text: "Largest queue of 2 flows at 10 Gb/s (1500-byte packets), 100 µs, marked from 40 packets on",
        quantity: "max_queue",
        arguments: &[
            ("bdp", &[250.0 / 3.0]),
            ("flows", &[2.0]),
            ("threshold", &[40.0]),
        ],
    },
    sizing: Some(Sizing {
        assumptions: |s| {
            vec![
                has_long_flows(s),
                dctcp_only(s),
                step_marking(s),
                saturable(s),
            ]
        },
        predict: Some(predict),
        size: Some(size),
        note: "all flows are synchronized, which is the largest amplitude",
    }),
    references: &[],
};

const POINT: &[Input] = &[
    BDP,
    FLOWS,
    Input::new(
        "threshold",
        "packets",
        "queue from which on arrivals are marked",
        "0 and more",
    ),
];

fn point(a: &Arguments) -> Result<Sawtooth, FormulaError> {
    Sawtooth::new(a[0], a[1], a[2])
}

/// The queue at the scenario's buffer, if the buffer holds the whole swing.
fn predict(s: &Situation) -> Numbers {
    let sawtooth = sawtooth(s)?;
    let refuse = |why: String| Err(ModelError::NotApplicable(why));
    if s.marking_threshold.is_none() {
        return refuse("the queue has no marking threshold".into());
    }
    if sawtooth.min_queue() < 0.0 {
        return refuse("the threshold is so low that the queue empties in each cycle".into());
    }
    if s.buffer < sawtooth.max_queue() {
        return refuse(format!(
            "the queue grows to {:.0} packets, more than the buffer holds",
            sawtooth.max_queue()
        ));
    }
    let queue = sawtooth.max_queue() - 0.5 * sawtooth.amplitude();
    Ok(vec![
        (Metric::Utilization, 1.0),
        (Metric::LossRate, 0.0),
        (Metric::QueueMean, queue),
        (Metric::QueueDelayMean, queue / s.capacity_pps),
    ])
}

/// The largest queue, with the scenario's threshold or the smallest one that keeps the link busy.
fn size(s: &Situation, _: &Targets) -> Packets {
    Ok(Some(sawtooth(s)?.max_queue()))
}

fn sawtooth(s: &Situation) -> Result<Sawtooth, ModelError> {
    if !is_dctcp(s) {
        return Err(ModelError::NotApplicable(
            "the long flows do not use DCTCP".into(),
        ));
    }
    let bdp = s.residual_bdp()?;
    let threshold = match s.marking_threshold {
        Some(threshold) => threshold,
        None => smallest_threshold(bdp)?,
    };
    Ok(Sawtooth::new(bdp, long_flows(s)?, threshold)?)
}

fn is_dctcp(s: &Situation) -> bool {
    s.mix.share(is_its_flow) > 0.0
}

fn is_its_flow(part: &Part) -> bool {
    part.controller() == "dctcp"
}

fn dctcp_only(s: &Situation) -> Check {
    s.mix.check(&FlowRequirement {
        assumption: "DCTCP windows",
        about: "DCTCP",
        fits: &is_its_flow,
    })
}

fn step_marking(s: &Situation) -> Check {
    let why = match s.marking_threshold {
        Some(threshold) => format!("the queue marks at {threshold:.0} packets or more"),
        None => "the queue has no marking threshold; the formula uses a seventh of the bandwidth-delay product"
            .to_owned(),
    };
    checked(
        "ECN marks from one threshold on",
        s.marking_threshold.is_some(),
        why,
    )
}

/// The threshold K = C T/7 in packets: the smallest at which no number of flows empties the queue.
pub fn smallest_threshold(bdp: f64) -> Result<f64, FormulaError> {
    Ok(positive("bandwidth-delay product (packets)", bdp)? / 7.0)
}

/// N synchronized flows whose queue swings about a marking threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// Bandwidth-delay product C T, in packets.
    pub bdp: f64,
    /// Number N of flows.
    pub flows: f64,
    /// Marking threshold K, in packets.
    pub threshold: f64,
}

impl Sawtooth {
    /// Creates the flows. The error names the input that is out of range.
    pub fn new(bdp: f64, flows: f64, threshold: f64) -> Result<Self, FormulaError> {
        positive("bandwidth-delay product (packets)", bdp)?;
        positive("number of flows", flows)?;
        non_negative("marking threshold (packets)", threshold)?;
        let sawtooth = Self {
            bdp,
            flows,
            threshold,
        };
        representable("amplitude (packets)", sawtooth.amplitude())?;
        Ok(sawtooth)
    }

    /// The window w = (C T + K)/N of a flow at the threshold, in packets.
    pub fn window(&self) -> f64 {
        (self.bdp + self.threshold) / self.flows
    }

    /// The largest queue Q_max = K + N, in packets: each flow grows by one more before the mark
    /// reaches it.
    pub fn max_queue(&self) -> f64 {
        self.threshold + self.flows
    }

    /// The amplitude A = N (w + 1) alpha/2 in packets, which is sqrt(2 N (C T + K))/2 for large
    /// windows.
    pub fn amplitude(&self) -> f64 {
        0.5 * (2.0 * self.flows * (self.bdp + self.threshold)).sqrt()
    }

    /// The smallest queue Q_max - A, in packets. Below zero the link idles.
    pub fn min_queue(&self) -> f64 {
        self.max_queue() - self.amplitude()
    }

    /// Round trips from one decrease to the next. A flow regains a packet in each.
    pub fn period_rtts(&self) -> f64 {
        self.amplitude() / self.flows
    }

    /// The share alpha of marked packets: those of the last round trip of a period divided by all
    /// of it. It solves alpha^2 (1 - alpha/4) = (2w + 1)/(w + 1)^2, for windows of at least a
    /// packet.
    pub fn marked_share(&self) -> Result<f64, FormulaError> {
        let w = self.window();
        let goal = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        numeric::root("marked share", (0.0, 1.0), |alpha| {
            goal - alpha * alpha * (1.0 - alpha / 4.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A flow's limit cycle if the queue is marked above the window `marked_from`. Returns the
    /// window before the decrease and the share of marked packets, measured over a period.
    fn limit_cycle(marked_from: f64) -> (f64, f64) {
        let (mut window, mut alpha) = (marked_from, 0.5);
        let mut before = window;
        for _ in 0..200 {
            let (mut sent, mut marked) = (0.0, 0.0);
            loop {
                sent += window;
                if window > marked_from {
                    marked += window;
                    break;
                }
                window += 1.0;
            }
            before = window;
            alpha += (marked / sent - alpha) / 16.0;
            window *= 1.0 - alpha / 2.0;
        }
        (before, alpha)
    }

    #[test]
    fn round_by_round_the_windows_swing_as_the_formula_says() {
        for flows in [2.0, 10.0] {
            let sawtooth = Sawtooth::new(4000.0, flows, 600.0).unwrap();
            let (before, alpha) = limit_cycle(sawtooth.window());
            let share = sawtooth.marked_share().unwrap();
            assert!((alpha / share - 1.0).abs() < 0.05, "{alpha} {share}");
            let fall = flows * before * alpha / 2.0;
            assert!((fall / sawtooth.amplitude() - 1.0).abs() < 0.06, "{fall}");
            let most = flows * before - sawtooth.bdp;
            assert!(most > sawtooth.threshold && most <= sawtooth.max_queue() + 1e-9);
        }
    }

    #[test]
    fn the_published_example() {
        // The figure of section 3.3: 10 Gb/s, 100 us, 40 packets. The queue never empties for 2, 10
        // or 40 flows.
        for flows in [2.0, 10.0, 40.0] {
            let sawtooth = Sawtooth::new(250.0 / 3.0, flows, 40.0).unwrap();
            assert!(sawtooth.min_queue() > 0.0 && sawtooth.max_queue() == 40.0 + flows);
        }
    }

    proptest! {
        #[test]
        fn a_seventh_is_enough_for_any_number_of_flows_and_less_is_not(
            bdp in 1.0_f64..1e6, flows in 0.1_f64..1e6,
        ) {
            let threshold = smallest_threshold(bdp).unwrap();
            let least = |flows, threshold| Sawtooth::new(bdp, flows, threshold).unwrap().min_queue();
            prop_assert!(least(flows, threshold) >= -1e-9 * bdp);
            // The worst number of flows touches zero at this threshold and idles below it.
            let worst = (bdp + threshold) / 8.0;
            prop_assert!(least(worst, threshold).abs() < 1e-9 * bdp);
            prop_assert!(least(worst, 0.99 * threshold) < 0.0);
        }

        #[test]
        fn the_last_round_trip_s_share_of_a_period_is_marked(ln_window in 0.0_f64..12.0) {
            // The packets sent between two windows are half the difference of their squares.
            let window = libm::exp(ln_window);
            let share = Sawtooth::new(window, 1.0, 0.0).unwrap().marked_share().unwrap();
            let (before, after) = (window + 1.0, (window + 1.0) * (1.0 - share / 2.0));
            let period = before * before - after * after;
            prop_assert!((share * period / (before * before - window * window) - 1.0).abs() < 1e-9);
        }

        #[test]
        fn large_windows_are_marked_as_the_square_root(ln_window in 5.0_f64..12.0) {
            let window = libm::exp(ln_window);
            let sawtooth = Sawtooth::new(window, 1.0, 0.0).unwrap();
            let share = sawtooth.marked_share().unwrap();
            prop_assert!((share / (2.0 / window).sqrt() - 1.0).abs() < 0.5 / window.sqrt());
            let fall = (window + 1.0) * share / 2.0;
            prop_assert!((fall / sawtooth.amplitude() - 1.0).abs() < 0.5 / window.sqrt());
            prop_assert!((sawtooth.period_rtts() - sawtooth.amplitude()).abs() < 1e-9 * window);
        }
    }
}
