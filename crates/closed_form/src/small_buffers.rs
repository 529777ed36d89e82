//! Buffers of tens of packets: Enachescu et al. (tiny buffers), Raina & Wischik (stability),
//! Gorinsky, Kantawala & Turner (two datagrams per input link), Prasad, Dovrolis & Thottan
//! (output/input ratio).

use crate::error::{ModelError, check, non_negative, open_unit, positive, representable};

/// Tiny buffers: B = log_{1/rho}(W_max^2 / (d (1 - theta))) for paced or access-limited sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TinyBuffer {
    /// W_max, packets.
    pub largest_window: f64,
    /// rho, 0 < rho < 1.
    pub load: f64,
    /// theta, share of the largest possible throughput wanted, 0 <= theta < 1.
    pub throughput_share: f64,
    /// d: 2 as published (to the best of recollection), 8 from the direct area argument.
    pub denominator: f64,
}

impl TinyBuffer {
    /// B, packets; 0 where the formula asks for less.
    pub fn buffer(&self) -> Result<f64, ModelError> {
        positive("largest window (packets)", self.largest_window)?;
        open_unit("load", self.load)?;
        let theta = self.throughput_share;
        check(
            "throughput share theta",
            theta,
            "0 <= x < 1",
            (0.0..1.0).contains(&theta),
        )?;
        positive("denominator d", self.denominator)?;
        let odds = self.largest_window * self.largest_window / (self.denominator * (1.0 - theta));
        representable(
            "buffer (packets)",
            (libm::log(odds) / -libm::log(self.load)).max(0.0),
        )
    }
}

/// Raina & Wischik: Reno flows through a buffer of B packets that loses p = rho^B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// wbar = C T / N, the window at full load, packets.
    pub fair_window: f64,
    /// B, packets.
    pub buffer: f64,
}

impl Stability {
    /// The operating point, or the error naming the input that is out of range.
    pub fn new(fair_window: f64, buffer: f64) -> Result<Self, ModelError> {
        positive("fair window C T / N (packets)", fair_window)?;
        positive("buffer (packets)", buffer)?;
        Ok(Self {
            fair_window,
            buffer,
        })
    }

    /// w = (2 wbar^B)^(1/(B+2)), from w^2 p = 2.
    pub fn window(&self) -> f64 {
        let b = self.buffer;
        libm::exp((core::f64::consts::LN_2 + b * libm::log(self.fair_window)) / (b + 2.0))
    }

    /// rho = w / wbar.
    pub fn load(&self) -> f64 {
        self.window() / self.fair_window
    }

    /// p = rho^B = 2 / w^2.
    pub fn loss(&self) -> f64 {
        let w = self.window();
        2.0 / (w * w)
    }

    /// arccos(-1/g) - sqrt(g^2-1)/w with g = 1 + B, rad: locally stable when positive.
    pub fn margin(&self) -> Result<f64, ModelError> {
        let critical = critical_window(self.buffer)?;
        let angle = libm::acos(-1.0 / (1.0 + self.buffer));
        Ok(angle * (1.0 - critical / self.window()))
    }
}

/// Windows above sqrt(g^2-1)/arccos(-1/g), g = 1 + e, are stable for a loss law of elasticity
/// e = d ln p/d ln y (B for p = y^B); the round-trip time drops out.
pub fn critical_window(elasticity: f64) -> Result<f64, ModelError> {
    non_negative("elasticity of the loss", elasticity)?;
    let g = 1.0 + elasticity;
    let root = (elasticity * (elasticity + 2.0)).sqrt();
    representable("critical window (packets)", root / libm::acos(-1.0 / g))
}

/// Gorinsky, Kantawala & Turner: B = 2L datagrams for L input links.
pub fn two_per_input(input_links: f64) -> Result<f64, ModelError> {
    positive("input links", input_links)?;
    representable("buffer (datagrams)", 2.0 * input_links)
}

/// Prasad, Dovrolis & Thottan: with p = a B^-e and rate 1/((T + B/C) sqrt p), the best buffer over
/// the BDP is e/(2-e), 0 < e < 2.
pub fn power_law_buffer(exponent: f64) -> Result<f64, ModelError> {
    check(
        "exponent e of the loss law",
        exponent,
        "0 < x < 2",
        exponent > 0.0 && exponent < 2.0,
    )?;
    representable("buffer over BDP", exponent / (2.0 - exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn critical_window_of_twenty_packets() {
        assert!((critical_window(20.0).unwrap() - 12.961).abs() < 1e-3);
    }

    /// Peak-to-trough swing of the delay equation after `steps` round trips from a small kick.
    fn swing_after(fair_window: f64, buffer: f64, round_trips: usize) -> f64 {
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
        // Windows of 12.5 and 13.5 packets either side of the critical 12.961 at B = 20.
        let fair = |w: f64| w * libm::pow(w * w / 2.0, 1.0 / 20.0);
        let early = |w| swing_after(fair(w), 20.0, 60);
        let late = |w| swing_after(fair(w), 20.0, 400);
        assert!(late(12.0) > 1.5 * early(12.0));
        assert!(late(14.5) < 0.7 * early(14.5));
    }

    proptest! {
        #[test]
        fn logarithmic_in_the_window_and_diverging(w in 2.0_f64..1e6, load in 0.1_f64..0.95) {
            let tiny = TinyBuffer { largest_window: w, load, throughput_share: 0.9, denominator: 2.0 };
            let b = tiny.buffer().unwrap();
            let squared = TinyBuffer { largest_window: w * w, ..tiny }.buffer().unwrap();
            let step = 2.0 * libm::log(w) / -libm::log(load);
            prop_assert!((squared - b - step).abs() < 1e-6 * step);
            let near = TinyBuffer { load: 1.0 - 1e-9, ..tiny }.buffer().unwrap();
            prop_assert!(near > 1e8);
        }

        #[test]
        fn equilibrium_satisfies_its_equations(wbar in 0.5_f64..1e4, b in 1.0_f64..1e4) {
            let at = Stability::new(wbar, b).unwrap();
            prop_assert!((at.window() * at.window() * at.loss() - 2.0).abs() < 1e-9);
            prop_assert!((b * libm::log(at.load()) - libm::log(at.loss())).abs() < 1e-7 * (1.0 + b * libm::log(at.load()).abs()));
            let stable = at.window() > critical_window(b).unwrap();
            prop_assert_eq!(at.margin().unwrap() > 0.0, stable);
        }

        #[test]
        fn the_power_law_optimum_is_one(e in 0.05_f64..1.9, x in 0.001_f64..50.0) {
            // Rate over its scale: B^(e/2)/(1 + B) in units of the BDP.
            let rate = |b: f64| 0.5 * e * libm::log(b) - libm::log1p(b);
            prop_assert!(rate(x) <= rate(power_law_buffer(e).unwrap()) + 1e-12);
        }
    }
}
