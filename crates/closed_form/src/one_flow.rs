//! One bottlenecked flow: mean utilisation of an AIMD sawtooth (Auge & Roberts, section 1.3), the
//! bandwidth-delay rule generalised to any cut (Villamizar & Song; Spang, Arslan & McKeown).

use crate::error::{ModelError, non_negative, open_unit, positive, probability, representable};

/// C T: bit rate x round-trip time / packet size, packets.
pub fn bandwidth_delay_product(
    bits_per_s: f64,
    rtt_s: f64,
    packet_bytes: f64,
) -> Result<f64, ModelError> {
    positive("rate (bit/s)", bits_per_s)?;
    positive("round-trip time (s)", rtt_s)?;
    positive("packet (bytes)", packet_bytes)?;
    representable(
        "bandwidth-delay product (packets)",
        bits_per_s * rtt_s / (8.0 * packet_bytes),
    )
}

/// Seconds to send `packets` of `packet_bytes` at `bits_per_s`.
pub fn drain_time(packets: f64, packet_bytes: f64, bits_per_s: f64) -> Result<f64, ModelError> {
    non_negative("packets", packets)?;
    positive("packet (bytes)", packet_bytes)?;
    positive("rate (bit/s)", bits_per_s)?;
    representable("drain time (s)", packets * packet_bytes * 8.0 / bits_per_s)
}

/// 1/beta - 1: buffer over BDP that keeps the link busy through a cut to the fraction `kept`.
pub fn full_buffer(kept: f64) -> Result<f64, ModelError> {
    probability("kept fraction beta", kept)?;
    representable("buffer over BDP", (1.0 - kept) / kept)
}

/// min(1, beta (1 + B/BDP)): the worst utilisation over one round trip.
pub fn worst_utilization(kept: f64, buffer_over_bdp: f64) -> Result<f64, ModelError> {
    probability("kept fraction beta", kept)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    Ok((kept * (1.0 + buffer_over_bdp)).min(1.0))
}

/// U = [(1-w0^2)/2 + x + x^2/2] / [(1-w0) + x + x^2/2], w0 = beta (1+x), x = B/BDP; 1 from
/// w0 = 1 on. Needs a BDP of many packets (error +0.0063 at 100 packets, x = 0.3).
pub fn mean_utilization(kept: f64, buffer_over_bdp: f64) -> Result<f64, ModelError> {
    open_unit("kept fraction beta", kept)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    let (x, start) = (buffer_over_bdp, kept * (1.0 + buffer_over_bdp));
    if start >= 1.0 {
        return Ok(1.0);
    }
    let queueing = x + 0.5 * x * x;
    Ok((0.5 * (1.0 - start * start) + queueing) / ((1.0 - start) + queueing))
}

/// Mean queue over BDP of the same sawtooth, time-averaged.
///
/// The window rises by a fixed step per round trip, whose length is 1 + q (in units of the
/// propagation time): the time average of q = w - 1 weights each window by w.
pub fn mean_queue(kept: f64, buffer_over_bdp: f64) -> Result<f64, ModelError> {
    open_unit("kept fraction beta", kept)?;
    non_negative("buffer over BDP", buffer_over_bdp)?;
    let (x, start) = (buffer_over_bdp, kept * (1.0 + buffer_over_bdp));
    // Integrals of q(1+q) and of (1+q) over the queue q.
    let moment = |q: f64| q * q * (0.5 + q / 3.0);
    let length = |q: f64| q + 0.5 * q * q;
    let low = (start - 1.0).max(0.0);
    let idle = (1.0 - start).max(0.0);
    let duration = idle + length(x) - length(low);
    if duration <= 0.0 {
        return Ok(0.0);
    }
    representable("mean queue over BDP", (moment(x) - moment(low)) / duration)
}

/// Smallest B/BDP with a mean utilisation of at least `utilization` (0 where none is needed).
pub fn buffer_for_utilization(kept: f64, utilization: f64) -> Result<f64, ModelError> {
    open_unit("kept fraction beta", kept)?;
    probability("utilization", utilization)?;
    if utilization <= 0.5 * (1.0 + kept) {
        return Ok(0.0);
    }
    let full = full_buffer(kept)?;
    if utilization >= 1.0 {
        return Ok(full);
    }
    crate::numeric::root("buffer over BDP", (0.0, full), |x| {
        mean_utilization(kept, x).map_or(f64::NAN, |u| u - utilization)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unit_checks_of_the_papers() {
        for (rate, rtt, bytes, packets) in [
            (1e9, 0.1, 1000.0, 12500.0),
            (1e9, 0.1245, 1000.0, 15562.5),
            (2.5e9, 0.02, 1000.0, 6250.0),
            (1e8, 0.006, 500.0, 150.0),
            (1e10, 0.17, 1500.0, 141_666.666_666_666_66),
        ] {
            let bdp = bandwidth_delay_product(rate, rtt, bytes).unwrap();
            assert!((bdp / packets - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn twenty_packets_give_around_eighty_percent() {
        assert!((mean_utilization(0.5, 20.0 / 625.0).unwrap() - 0.773).abs() < 1e-3);
        assert!((mean_utilization(0.5, 20.0 / 312.5).unwrap() - 0.795).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn utilization_rises_in_both(x in 0.0_f64..3.0, kept in 0.05_f64..0.94) {
            let u = mean_utilization(kept, x).unwrap();
            prop_assert!(mean_utilization(kept, x + 0.01).unwrap() >= u);
            prop_assert!(mean_utilization(kept + 0.01, x).unwrap() >= u);
            prop_assert!(worst_utilization(kept, x).unwrap() <= u + 1e-15);
        }

        #[test]
        fn ends_are_exact(kept in 0.01_f64..0.99) {
            prop_assert!((mean_utilization(kept, 0.0).unwrap() - 0.5 * (1.0 + kept)).abs() < 1e-14);
            let full = full_buffer(kept).unwrap();
            prop_assert_eq!(mean_utilization(kept, full * (1.0 + 1e-12)).unwrap(), 1.0);
            prop_assert!(mean_utilization(kept, full * 0.999).unwrap() < 1.0);
        }

        #[test]
        fn both_means_by_quadrature(x in 0.0_f64..3.0, kept in 0.05_f64..0.95) {
            let start = kept * (1.0 + x);
            let n = 40_000;
            let (mut time, mut sent, mut queue) = (0.0, 0.0, 0.0);
            for i in 0..n {
                let w = start + (1.0 + x - start) * (f64::from(i) + 0.5) / f64::from(n);
                let q = (w - 1.0_f64).max(0.0);
                time += 1.0 + q;
                sent += w.min(1.0) * (1.0 + q);
                queue += q * (1.0 + q);
            }
            prop_assert!((mean_utilization(kept, x).unwrap() - sent / time).abs() < 1e-6);
            prop_assert!((mean_queue(kept, x).unwrap() - queue / time).abs() < 1e-6);
        }

        #[test]
        fn the_buffer_for_a_utilization_gives_it(kept in 0.05_f64..0.95, share in 0.01_f64..0.99) {
            let goal = 0.5 * (1.0 + kept) + share * 0.5 * (1.0 - kept);
            let x = buffer_for_utilization(kept, goal).unwrap();
            prop_assert!((mean_utilization(kept, x).unwrap() - goal).abs() < 1e-12);
        }
    }
}
