//! BBR version 1: what one flow keeps busy, what many leave standing in the queue.

use crate::error::{ModelError, non_negative, positive, representable, unit};

/// min(1, 3/4 + B/BDP): the worst utilisation over one round trip of one flow (Spang, Arslan &
/// McKeown: a quarter of the BDP suffices).
pub fn worst_utilization(buffer_over_bdp: f64) -> Result<f64, ModelError> {
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok((0.75 + buffer_over_bdp).min(1.0))
}

/// 1 - max(0, 1/4 - B/BDP)/8: mean over the cycle of gains 1.25, 0.75, six times 1.
pub fn mean_utilization(buffer_over_bdp: f64) -> Result<f64, ModelError> {
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok(1.0 - (0.25 - buffer_over_bdp).max(0.0) / 8.0)
}

/// min(B, BDP) in packets: many flows overestimate their share and keep two BDP in flight.
pub fn standing_queue(buffer: f64, bdp: f64) -> Result<f64, ModelError> {
    non_negative("buffer (packets)", buffer)?;
    positive("bandwidth-delay product (packets)", bdp)?;
    Ok(buffer.min(bdp))
}

/// Share of the link that BBR flows take from loss-based ones in a buffer of `buffer_over_bdp`
/// (Ware et al., IMC 2019; recalled, unverified): 1/2 + 1/(2X) + 4N/q, clipped to 0..1.
pub fn share_against_loss_based(
    flows: f64,
    buffer_over_bdp: f64,
    bdp: f64,
) -> Result<f64, ModelError> {
    positive("number of BBR flows", flows)?;
    positive("buffer over BDP", buffer_over_bdp)?;
    positive("bandwidth-delay product (packets)", bdp)?;
    let loss_based = 0.5 - 0.5 / buffer_over_bdp - 4.0 * flows / (buffer_over_bdp * bdp);
    representable("share", 1.0 - loss_based).and_then(|share| unit("share", share.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quarter_of_the_bdp_suffices() {
        assert_eq!(worst_utilization(0.25).unwrap(), 1.0);
        assert_eq!(mean_utilization(0.25).unwrap(), 1.0);
        assert_eq!(mean_utilization(0.0).unwrap(), 0.96875);
        assert_eq!(standing_queue(500.0, 100.0).unwrap(), 100.0);
    }

    proptest! {
        #[test]
        fn rises_with_the_buffer(x in 0.0_f64..2.0) {
            prop_assert!(mean_utilization(x + 0.01).unwrap() >= mean_utilization(x).unwrap());
            prop_assert!(worst_utilization(x).unwrap() <= mean_utilization(x).unwrap());
            let share = share_against_loss_based(1.0, x + 0.1, 200.0).unwrap();
            prop_assert!((0.5..=1.0).contains(&share));
        }
    }
}
