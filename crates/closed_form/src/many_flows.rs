//! Loss of a link that many long Reno flows keep full: Dhamdhere & Dovrolis eqs. (2), (3), Morris,
//! and buffers in proportion to the number of flows.

use crate::error::{ModelError, non_negative, positive, probability, representable};

/// The constant of eq. (2): sqrt(3/4) rounded as the paper prints it (one ACK per two packets).
pub const DELAYED_ACK: f64 = 0.87;

/// Eq. (2): R = 0.87/(T sqrt p) packets/s. No timeouts: valid below a loss of 1-2 %.
pub fn flow_rate(loss: f64, rtt_s: f64) -> Result<f64, ModelError> {
    probability("loss probability", loss)?;
    positive("round-trip time (s)", rtt_s)?;
    representable("rate (packets/s)", DELAYED_ACK / (rtt_s * loss.sqrt()))
}

/// N long flows through one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullLink {
    /// N, number of flows.
    pub flows: f64,
    /// C T_p + B, packets the path and its buffer hold.
    pub storage: f64,
    /// k, the constant of the rate formula k/(T sqrt p).
    pub constant: f64,
}

impl FullLink {
    /// The link, or the error naming the input that is out of range.
    pub fn new(flows: f64, storage: f64) -> Result<Self, ModelError> {
        Self {
            flows,
            storage,
            constant: DELAYED_ACK,
        }
        .validate()
    }

    /// From the link's rate in packets/s, propagation time in s and buffer in packets.
    pub fn of_link(
        flows: f64,
        (capacity_pps, rtt_s): (f64, f64),
        buffer: f64,
    ) -> Result<Self, ModelError> {
        positive("capacity (packets/s)", capacity_pps)?;
        positive("round-trip propagation time (s)", rtt_s)?;
        non_negative("buffer (packets)", buffer)?;
        Self::new(flows, capacity_pps * rtt_s + buffer)
    }

    /// Itself, or the error naming the field that is out of range.
    pub fn validate(self) -> Result<Self, ModelError> {
        positive("number of flows", self.flows)?;
        positive("storage C T + B (packets)", self.storage)?;
        positive("rate constant k", self.constant)?;
        Ok(self)
    }

    /// Eq. (3) as printed: p = (kN)^2/(C T_p + B)^2. Exceeds 1 beyond its validity (erratum D2).
    pub fn printed_loss(&self) -> f64 {
        let root = self.constant * self.flows / self.storage;
        root * root
    }

    /// The corrected loss: only (1 - p) of the sending rate crosses the link, so sqrt(p) solves
    /// u^2 + s u - 1 = 0 with s = (C T_p + B)/(kN); always below 1.
    pub fn loss(&self) -> f64 {
        let s = self.storage / (self.constant * self.flows);
        let root = 2.0 / (s + libm::sqrt(s * s + 4.0));
        root * root
    }

    /// Mean window per flow in packets: storage / flows.
    pub fn mean_window(&self) -> f64 {
        self.storage / self.flows
    }
}

/// Buffer in packets with which `flows` flows lose no more than `loss`: k N (1-p)/sqrt(p) - C T_p
/// or 0 where the path alone holds enough.
pub fn buffer_for_loss(flows: f64, bdp: f64, loss: f64) -> Result<f64, ModelError> {
    positive("number of flows", flows)?;
    non_negative("bandwidth-delay product (packets)", bdp)?;
    probability("loss probability", loss)?;
    let storage = DELAYED_ACK * flows * (1.0 - loss) / loss.sqrt();
    representable("buffer (packets)", (storage - bdp).max(0.0))
}

/// Morris: p = k^2 (N/S)^2 with storage S = BDP + B; k^2 = 3/4.
pub fn morris_loss(flows: f64, storage: f64, constant_squared: f64) -> Result<f64, ModelError> {
    positive("number of flows", flows)?;
    positive("storage S (packets)", storage)?;
    positive("constant k^2", constant_squared)?;
    representable(
        "loss probability",
        constant_squared * (flows / storage) * (flows / storage),
    )
}

/// Flow-proportional buffer: B = m N; m of 6-10 packets keeps windows large enough for fast
/// retransmit.
pub fn flow_proportional(flows: f64, per_flow: f64) -> Result<f64, ModelError> {
    positive("number of flows", flows)?;
    positive("packets per flow", per_flow)?;
    representable("buffer (packets)", flows * per_flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn printed_loss_scales_with_the_squares(n in 1.0_f64..1e4, s in 1.0_f64..1e7, k in 0.1_f64..9.0) {
            let at = |n, s| FullLink::new(n, s).unwrap().printed_loss();
            prop_assert!((at(k * n, s) / at(n, s) / (k * k) - 1.0).abs() < 1e-12);
            prop_assert!((at(n, k * s) / at(n, s) * (k * k) - 1.0).abs() < 1e-12);
        }

        #[test]
        fn corrected_is_below_printed_and_a_probability(n in 1e-3_f64..1e6, s in 1e-2_f64..1e9) {
            let link = FullLink::new(n, s).unwrap();
            prop_assert!(link.loss() <= link.printed_loss() && link.loss() < 1.0);
            if link.printed_loss() < 1e-8 {
                prop_assert!((link.loss() / link.printed_loss() - 1.0).abs() < 1e-7);
            }
        }

        #[test]
        fn the_buffer_for_a_loss_gives_that_loss(n in 1.0_f64..1e4, p in 1e-6_f64..0.3) {
            let buffer = buffer_for_loss(n, 0.0, p).unwrap();
            prop_assert!((FullLink::new(n, buffer).unwrap().loss() / p - 1.0).abs() < 1e-9);
        }

        #[test]
        fn morris_is_eq_3(n in 1.0_f64..1e4, s in 1.0_f64..1e7) {
            let k = 0.75_f64.sqrt();
            let eq3 = FullLink { flows: n, storage: s, constant: k }.printed_loss();
            prop_assert!((morris_loss(n, s, 0.75).unwrap() / eq3 - 1.0).abs() < 1e-12);
        }
    }
}
