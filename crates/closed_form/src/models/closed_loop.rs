//! Finite-source processor sharing: a finite number of users that think and transfer in turn
//! (Dhamdhere & Dovrolis).

use crate::error::{FormulaError, check, positive};
use crate::model::{Example, Model, symbol};
use crate::quantity::{Arguments, Input, quantity};
use crate::reference::{Column, Reference, named};

/// The model.
pub static MODEL: Model = Model {
    name: "closed-loop",
    aliases: &["finite-source", "closed-ps"],
    title: "A finite number of users that think and transfer in turn",
    summary: "Closed-loop load yields to congestion: the number of users bounds the number of flows.",
    formula: "P(n) = U!/(U−n)! (S/CZ)ⁿ / norm        utilization = 1 − P(0)",
    symbols: &[
        symbol("U", "users", "users"),
        symbol("S", "mean size of a transfer", "packets"),
        symbol("C", "capacity", "packets/s"),
        symbol("Z", "mean think time", "s"),
    ],
    assumptions: &[
        "fair sharing of the link among active users",
        "independent think times",
    ],
    source: "Dhamdhere & Dovrolis, Open issues in router buffer sizing, closed-loop traffic; the \
        standard finite-source processor-sharing law. Checked against its sum and flow balance.",
    errata: &["\"The sum of three exponential distributions\" must be a mixture."],
    variants: &[],
    quantities: &[
        quantity("probability", "1", &[USERS, RATIO, FLOWS_N], |a| {
            closed(a)?.probability(a[2])
        }),
        quantity("mean_active", "users", &[USERS, RATIO], |a| {
            Ok(closed(a)?.mean_active())
        }),
        quantity("utilization", "1", &[USERS, RATIO], |a| {
            Ok(closed(a)?.utilization())
        }),
    ],
    example: Example {
        text: "Utilization with 20 users and S/(CZ) = 0.04",
        quantity: "utilization",
        arguments: &[("users", &[20.0]), ("size_over_capacity_think", &[0.04])],
    },
    sizing: None,
    references: REFERENCES,
};

/// The names in reference tables.
const REFERENCES: &[Reference] = &[
    named("closed-ps", "utilisation", &["utili"]).quantity("utilization", COLUMNS),
    named("closed-ps", "mean active users", &["mean"]).quantity("mean_active", COLUMNS),
    named("closed-ps", "P(n active users)", &[]).quantity(
        "probability",
        &[
            USER_COUNT,
            SIZE_OVER_C_THINK,
            Column::of(&["n"]).or_after_or("p(", 0.0),
        ],
    ),
];

const USER_COUNT: Column = Column::of(&["users", "U"]);
const SIZE_OVER_C_THINK: Column = Column::of(&["size_over_C_think", "r"]);
const COLUMNS: &[Column] = &[USER_COUNT, SIZE_OVER_C_THINK];

const FLOWS_N: Input = Input::new(
    "n",
    "flows",
    "number of flows in progress",
    "whole, 0 to users",
);
const USERS: Input = Input::new("users", "users", "number of users", "whole, 1 to 1e7");
const RATIO: Input = Input::new(
    "size_over_capacity_think",
    "1",
    "mean transfer size / (capacity x mean think time)",
    "above 0",
);

fn closed(a: &Arguments) -> Result<ClosedLoop, FormulaError> {
    ClosedLoop::new(a[0], a[1])
}

/// A finite population of users that think and transfer in turn.
///
/// The distribution is P(n) = U!/(U-n)! r^n / norm with r = size / (capacity x think time).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Number U of users, a whole number from 1 to 1e7.
    pub users: f64,
    /// Ratio S/(C Z): mean transfer size over capacity times mean think time; above 0.
    pub size_over_capacity_think: f64,
}

impl ClosedLoop {
    /// Creates the population. The error names the input that is out of range.
    pub fn new(users: f64, size_over_capacity_think: f64) -> Result<Self, FormulaError> {
        let whole = (1.0..=1e7).contains(&users) && users == users.floor();
        check("users", users, "a whole number, 1 <= x <= 1e7", whole)?;
        positive("size / (capacity x think time)", size_over_capacity_think)?;
        Ok(Self {
            users,
            size_over_capacity_think,
        })
    }

    /// The probability that `n` users transfer at once.
    pub fn probability(&self, n: f64) -> Result<f64, FormulaError> {
        let inside = (0.0..=self.users).contains(&n) && n == n.floor();
        check(
            "active users n",
            n,
            "a whole number, 0 <= x <= users",
            inside,
        )?;
        Ok(libm::exp(self.ln_weight(n) - self.ln_norm()))
    }

    /// Mean number of users that transfer: U minus the mean number that think, U_busy / r.
    pub fn mean_active(&self) -> f64 {
        // The flows balance: thinkers / Z = (1 - P(0)) C / S.
        let busy = self.utilization();
        let thinking = busy / self.size_over_capacity_think;
        if thinking < 0.9 * self.users {
            return self.users - thinking;
        }
        // Few users are active. The difference would cancel, so the sum is computed.
        let norm = self.ln_norm();
        let mut sum = 0.0;
        for n in 1..=self.users as u64 {
            let term = n as f64 * libm::exp(self.ln_weight(n as f64) - norm);
            sum += term;
            if term < 1e-18 * sum {
                break;
            }
        }
        sum
    }

    /// Utilization 1 - P(0) of the link.
    pub fn utilization(&self) -> f64 {
        -libm::expm1(-self.ln_norm())
    }

    /// The ln of U!/(U-n)! r^n.
    fn ln_weight(&self, n: f64) -> f64 {
        libm::lgamma(self.users + 1.0) - libm::lgamma(self.users - n + 1.0)
            + n * libm::log(self.size_over_capacity_think)
    }

    /// The ln of the sum of all weights, computed from the largest outwards.
    fn ln_norm(&self) -> f64 {
        let r = self.size_over_capacity_think;
        // Weights grow while (U - n) r > 1.
        let peak = (self.users - 1.0 / r).ceil().clamp(0.0, self.users);
        let mut sum = 1.0;
        let mut weight = 1.0;
        let mut n = peak;
        while n < self.users && weight > 1e-18 * sum {
            weight *= (self.users - n) * r;
            sum += weight;
            n += 1.0;
        }
        weight = 1.0;
        n = peak;
        while n > 0.0 && weight > 1e-18 * sum {
            weight /= (self.users - n + 1.0) * r;
            sum += weight;
            n -= 1.0;
        }
        self.ln_weight(peak) + libm::log(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn closed_loop_sums_and_balances(users in 1_u32..80, r in 0.001_f64..10.0) {
            let closed = ClosedLoop::new(f64::from(users), r).unwrap();
            let law: Vec<f64> =
                (0..=users).map(|n| closed.probability(f64::from(n)).unwrap()).collect();
            prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-10);
            let mean: f64 = law.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
            prop_assert!((closed.mean_active() / mean - 1.0).abs() < 1e-8);
            prop_assert!((closed.utilization() - (1.0 - law[0])).abs() < 1e-10);
        }
    }
}
