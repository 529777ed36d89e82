//! BSCL: buffer sizing for congested links (Dhamdhere, Jiang & Dovrolis, INFOCOM 2005): a bound
//! each for utilisation, loss and delay.

use crate::error::{
    ModelError, at_least_one, non_negative, positive, probability, representable, unit,
};

/// A congested link and its locally bottlenecked flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bscl {
    /// C, packets/s.
    pub capacity_pps: f64,
    /// T_e, effective (harmonic mean) round-trip time, s.
    pub rtt_s: f64,
    /// N, number of flows bottlenecked here.
    pub flows: f64,
}

/// T_e: harmonic mean of the round-trip times, s.
pub fn effective_rtt(rtts_s: &[f64]) -> Result<f64, ModelError> {
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

/// q = 1 - (1 - 1/N)^L: expected share of N flows hit by L losses thrown at random.
pub fn share_hit(flows: f64, losses: f64) -> Result<f64, ModelError> {
    at_least_one("number of flows", flows)?;
    non_negative("losses per event", losses)?;
    if flows == 1.0 {
        return Ok(if losses > 0.0 { 1.0 } else { 0.0 });
    }
    Ok(-libm::expm1(losses * libm::log1p(-1.0 / flows)))
}

impl Bscl {
    /// The link, or the error naming the input that is out of range.
    pub fn new(capacity_pps: f64, rtt_s: f64, flows: f64) -> Result<Self, ModelError> {
        positive("capacity (packets/s)", capacity_pps)?;
        positive("effective round-trip time (s)", rtt_s)?;
        positive("number of flows", flows)?;
        Ok(Self {
            capacity_pps,
            rtt_s,
            flows,
        })
    }

    /// B >= [q C T_e - 2N(1-q)]/(2-q), packets, at least 0; q is the share of flows hit by a loss event.
    pub fn utilization_buffer(&self, share_hit: f64) -> Result<f64, ModelError> {
        let q = unit("share of flows hit", share_hit)?;
        let need = q * self.capacity_pps * self.rtt_s - 2.0 * self.flows * (1.0 - q);
        representable("buffer (packets)", (need / (2.0 - q)).max(0.0))
    }

    /// B >= k N/sqrt(p) - C T_e, packets, at least 0; k = 0.87 with delayed ACKs.
    pub fn loss_buffer(&self, loss: f64, constant: f64) -> Result<f64, ModelError> {
        probability("loss probability", loss)?;
        positive("rate constant k", constant)?;
        let need = constant * self.flows / loss.sqrt() - self.capacity_pps * self.rtt_s;
        representable("buffer (packets)", need.max(0.0))
    }

    /// B <= C d, packets.
    pub fn delay_cap(&self, delay_s: f64) -> Result<f64, ModelError> {
        non_negative("largest queueing delay (s)", delay_s)?;
        representable("buffer (packets)", self.capacity_pps * delay_s)
    }

    /// The larger of the two lower bounds, if it is within the delay's cap.
    pub fn buffer(&self, goals: &Goals) -> Result<f64, ModelError> {
        let need = self
            .utilization_buffer(goals.share_hit)?
            .max(self.loss_buffer(goals.loss, goals.constant)?);
        let cap = self.delay_cap(goals.delay_s)?;
        if need > cap {
            return Err(ModelError::Unreachable {
                quantity: "buffer (packets)",
                found: need,
                bound: format!("the delay allows at most {cap} packets"),
            });
        }
        Ok(need)
    }
}

/// What BSCL's buffer must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goals {
    /// q, share of flows hit by a loss event.
    pub share_hit: f64,
    /// p, largest loss probability.
    pub loss: f64,
    /// k of the rate formula, 0.87 with delayed ACKs.
    pub constant: f64,
    /// d, largest queueing delay, s.
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
