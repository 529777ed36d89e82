//! Reno with timeouts: the full and the short formula of Padhye, Firoiu, Towsley & Kurose (SIGCOMM
//! 1998).

use crate::error::{FormulaError, check, open_unit, positive, representable};
use crate::inputs::{
    B, BUFFER, CAPACITY, CAPACITY_PPS, FLOWS, LOSS, LOSS_PROBABILITY, N, P, PACKETS_PER_ACK,
    PER_ACK, PROPAGATION_S, ROUND_TRIP, RTT, RTT_S,
};
use crate::model::{Example, Model, symbol, variant};
use crate::numeric;
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};

/// The model.
pub static MODEL: Model = Model {
    name: "pftk",
    aliases: &["padhye", "reno-with-timeouts"],
    title: "Rate of Reno with timeouts",
    summary: "At losses of a few percent timeouts dominate; the inverse square root overestimates the rate.",
    formula: "rate = [ (1−p)/p + W + Q/(1−p) ] / [ R(bW/2 + 1) + Q T₀ f(p)/(1−p) ]\nW = (2+b)/(3b) + √( 8(1−p)/(3bp) + ((2+b)/3b)² )\nQ = min(1, (1−(1−p)³)(1+(1−p)³(1−(1−p)^(W−3)))/(1−(1−p)^W) )\nf = 1 + p + 2p² + 4p³ + 8p⁴ + 16p⁵ + 32p⁶\nshort: 1/( R√(2bp/3) + T₀ min(1, 3√(3bp/8)) p(1 + 32p²) )",
    symbols: &[
        LOSS_PROBABILITY,
        ROUND_TRIP,
        symbol("b", "packets per ACK", "packets"),
        symbol("T₀", "first retransmission timeout", "s"),
        symbol("W", "mean window at a loss", "packets"),
        symbol("Q", "probability that a loss ends in a timeout", "1"),
    ],
    assumptions: &[
        "losses within a round trip are correlated, independent between round trips",
        "Reno recovery",
    ],
    source: "Padhye, Firoiu, Towsley & Kurose (SIGCOMM 1998), full and approximate model (recalled; limits verified).",
    errata: &[],
    variants: &[
        variant("short", "the approximate formula"),
        variant(
            "seconds",
            "a timeout in seconds instead of round-trip times",
        ),
    ],
    quantities: &[
        quantity("rate", "packets/s", PATH, |a| path(a).sending_rate(a[0])),
        quantity("rate:short", "packets/s", PATH, |a| {
            path(a).short_sending_rate(a[0])
        }),
        quantity("throughput", "packets/s", PATH, |a| {
            path(a).throughput(a[0])
        }),
        quantity(
            "loss_of_full_link",
            "1",
            &[
                FLOWS,
                CAPACITY,
                RTT,
                BUFFER,
                Input::new(
                    "timeout_rtts",
                    "RTT",
                    "retransmission timeout in round-trip times",
                    "above 0",
                )
                .or(4.0),
                PER_ACK.or(2.0),
            ],
            |a| saturation(a, Timeout::RoundTrips(a[4])),
        ),
        quantity(
            "loss_of_full_link:seconds",
            "1",
            &[
                FLOWS,
                CAPACITY,
                RTT,
                BUFFER,
                Input::new("timeout_s", "s", "retransmission timeout", "above 0"),
                PER_ACK.or(2.0),
            ],
            |a| saturation(a, Timeout::Seconds(a[4])),
        ),
    ],
    example: Example {
        text: "Rate at 1 % loss, 100 ms, a timeout of 1 s and delayed ACKs",
        quantity: "rate",
        arguments: &[("loss", &[0.01]), ("rtt_s", &[0.1]), ("timeout_s", &[1.0])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("pftk", "sending rate, approximate", &["approx", "short"])
        .quantity("rate:short", PATH_COLUMNS),
    named("pftk", "throughput", &["throughput", "received", "goodput"])
        .quantity("throughput", PATH_COLUMNS),
    named("pftk", "sending rate, full", &[]).quantity("rate", PATH_COLUMNS),
    named("pftk-saturation", "loss probability, full PFTK", &[])
        .given("T0_s")
        .quantity(
            "loss_of_full_link:seconds",
            &[
                N,
                CAPACITY_PPS,
                PROPAGATION_S,
                B,
                Column::of(&["T0_s"]),
                ACKS,
            ],
        ),
    named(
        "pftk-saturation",
        "loss probability, full PFTK, T0 = n RTT",
        &["rtt"],
    )
    .quantity("loss_of_full_link", FULL_LINK_COLUMNS),
    named(
        "pftk-saturation",
        "loss probability, full PFTK, T0 = n s",
        &["t0"],
    )
    .quantity("loss_of_full_link:seconds", FULL_LINK_COLUMNS),
    named(
        "pftk-saturation",
        "loss probability, full PFTK, T0 = 4 RTT",
        &[],
    )
    .quantity("loss_of_full_link", FULL_LINK_COLUMNS),
];

const ACKS: Column = PACKETS_PER_ACK.or(2.0);
const PATH_COLUMNS: &[Column] = &[
    P,
    RTT_S,
    Column::of(&["T0_s"]),
    ACKS,
    Column::of(&["Wmax"]).or(0.0),
];
/// The columns of a full link. The quantity's name contains the timeout.
const FULL_LINK_COLUMNS: &[Column] = &[
    N,
    CAPACITY_PPS,
    PROPAGATION_S,
    B,
    Column::of(&["timeout_rtts"]).or_after_or("t0", 4.0),
    ACKS,
];

fn path(a: &Arguments) -> Pftk {
    // The value 0 means no receive window.
    let largest_window = if a[4] == 0.0 { f64::INFINITY } else { a[4] };
    Pftk {
        rtt_s: a[1],
        timeout_s: a[2],
        packets_per_ack: a[3],
        largest_window,
    }
}

const PATH: &[Input] = &[
    LOSS,
    Input::new("rtt_s", "s", "round-trip time with queueing", "above 0"),
    Input::new("timeout_s", "s", "first retransmission timeout", "above 0"),
    PER_ACK.or(2.0),
    Input::new(
        "largest_window",
        "packets",
        "receive window; 0 for none",
        "0, or 1 and more",
    )
    .or(0.0),
];

fn saturation(a: &Arguments, timeout: Timeout) -> Result<f64, FormulaError> {
    Saturation {
        flows: a[0],
        capacity_pps: a[1],
        propagation_s: a[2],
        buffer: a[3],
        timeout,
        packets_per_ack: a[5],
    }
    .loss()
}

/// The path of a PFTK flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pftk {
    /// Round-trip time R with queueing, in seconds.
    pub rtt_s: f64,
    /// First retransmission timeout T0, in seconds.
    pub timeout_s: f64,
    /// Packets b acknowledged by one ACK: 1, or 2 with delayed ACKs.
    pub packets_per_ack: f64,
    /// Receive window W_max in packets; infinite if there is no limit.
    pub largest_window: f64,
}

impl Pftk {
    fn validate(&self) -> Result<(), FormulaError> {
        positive("round-trip time (s)", self.rtt_s)?;
        positive("timeout T0 (s)", self.timeout_s)?;
        positive("packets per ACK", self.packets_per_ack)?;
        let window = self.largest_window;
        if window.is_nan() || window < 1.0 {
            check(
                "largest window (packets)",
                window,
                "x >= 1 (infinite allowed)",
                false,
            )?;
        }
        Ok(())
    }

    /// Sending rate in packets/s by the full formula, 0 < p < 1.
    pub fn sending_rate(&self, loss: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        open_unit("loss probability", loss)?;
        representable("sending rate (packets/s)", self.rate(loss, Counted::Sent))
    }

    /// Receive rate in packets/s (the throughput of the paper's section V), 0 < p < 1.
    pub fn throughput(&self, loss: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        open_unit("loss probability", loss)?;
        representable("throughput (packets/s)", self.rate(loss, Counted::Received))
    }

    /// Sending rate by the short formula: min(W_max/R, 1/(R sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8))
    /// p(1+32p^2))).
    pub fn short_sending_rate(&self, loss: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        open_unit("loss probability", loss)?;
        let b = self.packets_per_ack;
        let recovery = self.rtt_s * (2.0 * b * loss / 3.0).sqrt();
        let timeouts = (3.0 * (3.0 * b * loss / 8.0).sqrt()).min(1.0);
        let waiting = self.timeout_s * timeouts * loss * (1.0 + 32.0 * loss * loss);
        let rate = (1.0 / (recovery + waiting)).min(self.largest_window / self.rtt_s);
        representable("sending rate (packets/s)", rate)
    }

    fn rate(&self, p: f64, counted: Counted) -> f64 {
        let b = self.packets_per_ack;
        let share = (2.0 + b) / (3.0 * b);
        let free = share + (8.0 * (1.0 - p) / (3.0 * b * p) + share * share).sqrt();
        let (window, round_trips) = if free < self.largest_window {
            (free, b / 2.0 * free + 1.0)
        } else {
            let limit = self.largest_window;
            (limit, b / 8.0 * limit + (1.0 - p) / (p * limit) + 2.0)
        };
        let timeout = timeout_probability(p, window);
        let backoff = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
        let after = match counted {
            Counted::Sent => window + timeout / (1.0 - p),
            Counted::Received => window / 2.0 + timeout,
        };
        let duration = self.rtt_s * round_trips + timeout * self.timeout_s * backoff / (1.0 - p);
        ((1.0 - p) / p + after) / duration
    }
}

#[derive(Clone, Copy)]
enum Counted {
    Sent,
    Received,
}

/// Probability Q(w) that a loss indication in a window of `w` packets is a timeout.
fn timeout_probability(p: f64, w: f64) -> f64 {
    let ln_survival = libm::log1p(-p);
    let lost_in = |n: f64| -libm::expm1(n * ln_survival);
    let three = lost_in(3.0);
    (three * (1.0 + (1.0 - three) * lost_in(w - 3.0)) / lost_in(w)).min(1.0)
}

/// N flows whose received PFTK rate fills a link with a full buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Number N of flows.
    pub flows: f64,
    /// Capacity C, in packets/s.
    pub capacity_pps: f64,
    /// Round-trip propagation time T_p, in seconds.
    pub propagation_s: f64,
    /// Buffer B in packets; the round-trip time is T_p + B/C.
    pub buffer: f64,
    /// The retransmission timeout.
    pub timeout: Timeout,
    /// Packets b per ACK.
    pub packets_per_ack: f64,
}

/// A retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timeout {
    /// A multiple of the round-trip time.
    RoundTrips(f64),
    /// A time in seconds.
    Seconds(f64),
}

impl Saturation {
    /// The loss p of a link that N flows keep full: N (1 - p) PFTK(p) = C.
    pub fn loss(&self) -> Result<f64, FormulaError> {
        positive("number of flows", self.flows)?;
        positive("capacity (packets/s)", self.capacity_pps)?;
        positive("round-trip propagation time (s)", self.propagation_s)?;
        crate::error::non_negative("buffer (packets)", self.buffer)?;
        let rtt_s = self.propagation_s + self.buffer / self.capacity_pps;
        let timeout_s = match self.timeout {
            Timeout::RoundTrips(count) => count * rtt_s,
            Timeout::Seconds(seconds) => seconds,
        };
        let flow = Pftk {
            rtt_s,
            timeout_s,
            packets_per_ack: self.packets_per_ack,
            largest_window: f64::INFINITY,
        };
        flow.validate()?;
        let excess = |ln_p: f64| {
            let p = libm::exp(ln_p);
            let rate = self.flows * (1.0 - p) * flow.rate(p, Counted::Sent);
            libm::log(rate / self.capacity_pps)
        };
        let ln_p = numeric::root("loss probability", (-300.0, -1e-12), excess)?;
        Ok(libm::exp(ln_p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(packets_per_ack: f64) -> Pftk {
        Pftk {
            rtt_s: 0.1,
            timeout_s: 1.0,
            packets_per_ack,
            largest_window: f64::INFINITY,
        }
    }

    #[test]
    fn saturation_of_the_fourth_papers_link() {
        let at = |buffer, timeout| {
            Saturation {
                flows: 200.0,
                capacity_pps: 12500.0 / 3.0,
                propagation_s: 0.06,
                buffer,
                timeout,
                packets_per_ack: 2.0,
            }
            .loss()
            .unwrap()
        };
        for (timeout, small, large) in [
            (Timeout::RoundTrips(4.0), 0.102, 0.030),
            (Timeout::Seconds(0.2), 0.114, 0.039),
            (Timeout::Seconds(1.0), 0.051, 0.027),
        ] {
            assert!(
                (at(18.0, timeout) - small).abs() < 6e-4,
                "{}",
                at(18.0, timeout)
            );
            assert!(
                (at(500.0, timeout) - large).abs() < 6e-4,
                "{}",
                at(500.0, timeout)
            );
        }
    }

    /// A receive window that is just about to limit the flow changes the rate little.
    #[test]
    fn a_receive_window_that_hardly_binds_changes_little() {
        for b in [1.0, 2.0] {
            for p in [1e-5, 1e-4, 1e-3, 0.01, 0.05] {
                let free = path(b);
                // Bisection finds the smallest window from which nothing changes.
                let rate = |largest_window| {
                    Pftk {
                        largest_window,
                        ..free
                    }
                    .sending_rate(p)
                    .unwrap()
                };
                let (mut low, mut high) = (1.0, 1e6);
                for _ in 0..80 {
                    let middle = 0.5 * (low + high);
                    if rate(middle) == rate(1e6) {
                        high = middle;
                    } else {
                        low = middle;
                    }
                }
                let binding = rate(low);
                assert!(
                    (binding / rate(high) - 1.0).abs() < 0.06,
                    "{b} {p} {binding} {}",
                    rate(high)
                );
                // A smaller window is slower, and never faster than the window per round trip.
                let [half, fifth] = [0.5, 0.2].map(|part| rate((part * low).max(1.0)));
                assert!(
                    fifth <= half && half < binding * 1.001,
                    "{b} {p} {fifth} {half}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn small_loss_is_mathis(ln_p in -40.0_f64..-25.0, b in 1_u32..3) {
            let p = libm::exp(ln_p);
            let limit = (1.5 / f64::from(b)).sqrt();
            for rate in [path(f64::from(b)).sending_rate(p), path(f64::from(b)).short_sending_rate(p)] {
                prop_assert!((rate.unwrap() * 0.1 * p.sqrt() / limit - 1.0).abs() < 2e-4);
            }
        }

        #[test]
        fn rates_fall_with_loss(ln_p in -30.0_f64..-0.1) {
            let p = libm::exp(ln_p);
            let f = path(2.0);
            prop_assert!(f.sending_rate(p * 0.9).unwrap() > f.sending_rate(p).unwrap());
            prop_assert!(f.throughput(p).unwrap() <= f.sending_rate(p).unwrap());
            let limited = Pftk { largest_window: 20.0, ..f };
            prop_assert!(limited.sending_rate(p).unwrap() <= 20.0 / 0.1 * 1.05);
        }
    }
}
