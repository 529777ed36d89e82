//! The square-root rule: Appenzeller, Keslassy & McKeown (SIGCOMM 2004), Wischik & McKeown (2005)
//! and the general form with any sawtooth and any correlation (after Spang, Arslan & McKeown 2021).

use crate::error::{ModelError, at_least_one, non_negative, positive, representable, unit};
use crate::numeric::two_sided_normal;

/// B = CT / sqrt(N), packets.
pub fn stanford(bdp: f64, flows: f64) -> Result<f64, ModelError> {
    positive("bandwidth-delay product (packets)", bdp)?;
    positive("number of flows", flows)?;
    representable("buffer (packets)", bdp / flows.sqrt())
}

/// Coefficient of variation of Reno's window, uniform on [2/3, 4/3] of its mean: 1/(3 sqrt 3).
pub fn reno_variation() -> f64 {
    1.0 / (3.0 * 3.0_f64.sqrt())
}

/// B = z kappa CT / sqrt(N) with z the two-sided normal quantile of `confidence`, Reno's kappa.
pub fn wischik_mckeown(bdp: f64, flows: f64, confidence: f64) -> Result<f64, ModelError> {
    Ok(two_sided_normal(confidence)? * reno_variation() * stanford(bdp, flows)?)
}

/// Windows whose sum is Normal: each with coefficient of variation `variation`, any two with
/// correlation `correlation`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSum {
    /// N, number of long flows, 1 or more.
    pub flows: f64,
    /// kappa, standard deviation over mean of one window.
    pub variation: f64,
    /// r, correlation between two windows, 0 to 1.
    pub correlation: f64,
}

impl WindowSum {
    /// Reno windows, uncorrelated.
    pub fn reno(flows: f64) -> Self {
        Self {
            flows,
            variation: reno_variation(),
            correlation: 0.0,
        }
    }

    /// Standard deviation over mean of the sum: kappa sqrt((1 + (N-1) r)/N).
    pub fn spread(&self) -> Result<f64, ModelError> {
        at_least_one("number of flows", self.flows)?;
        positive("coefficient of variation", self.variation)?;
        unit("correlation", self.correlation)?;
        let inflation = 1.0 + (self.flows - 1.0) * self.correlation;
        Ok(self.variation * (inflation / self.flows).sqrt())
    }

    /// U >= erf(z/sqrt 2) with z = (B/2) / (spread (CT + B)); argument in bandwidth-delay products.
    pub fn utilization(&self, buffer_over_bdp: f64) -> Result<f64, ModelError> {
        non_negative("buffer over BDP", buffer_over_bdp)?;
        let half = 0.5 * buffer_over_bdp / (1.0 + buffer_over_bdp);
        Ok(libm::erf(
            half / (self.spread()? * core::f64::consts::SQRT_2),
        ))
    }

    /// B/BDP = k/(1-k), k = 2 z spread: buffer that covers z standard deviations.
    pub fn buffer_for_quantile(&self, z: f64) -> Result<f64, ModelError> {
        non_negative("quantile z", z)?;
        let k = 2.0 * z * self.spread()?;
        if k >= 1.0 {
            return Err(ModelError::Unreachable {
                quantity: "quantile z",
                found: z,
                bound: format!("no buffer covers more than {} standard deviations", z / k),
            });
        }
        Ok(k / (1.0 - k))
    }

    /// B/BDP whose bound is `utilization`.
    pub fn buffer_for_utilization(&self, utilization: f64) -> Result<f64, ModelError> {
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
        assert!((wischik_mckeown(1.0, 1.0, 0.999).unwrap() - 0.6333).abs() < 5e-5);
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
