//! Response functions: the mean window a controller holds at a loss probability.
//!
//! Every law is evaluated as ln(window) against ln(loss), so that a loss probability of e^-600000
//! (a nearly idle link with a million-packet buffer) is an ordinary argument.

use forebay_congestion::hstcp::HstcpResponse;

use crate::error::{ModelError, non_negative, open_unit, positive, probability, representable};
use crate::hstcp::{self, Form};
use crate::numeric;

/// The mean window against the loss probability, for one family of controllers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// Increase `increase` packets per round trip, cut fraction `cut`: w = sqrt(a(2-b)/(2bp)).
    Aimd {
        /// a, packets per round trip, above 0.
        increase: f64,
        /// b, the cut fraction, 0 < b < 1.
        cut: f64,
    },
    /// Reno with `packets_per_ack` packets acknowledged by one ACK: w = sqrt(3/(2dp)).
    Reno {
        /// d, 1 without delayed ACKs, 2 with them.
        packets_per_ack: f64,
    },
    /// CUBIC's own epoch: w = (C(4-b)/(4b))^(1/4) (R/p)^(3/4), and no less than AIMD(3b/(2-b), b).
    Cubic(Cubic),
    /// H-TCP with a fixed back-off.
    Htcp(Htcp),
    /// Scalable TCP: w = 0.01/(p ln(8/7)).
    Scalable,
    /// HighSpeed TCP in one of its published forms; Reno from `low_loss` on.
    Hstcp {
        /// The parameters of RFC 3649.
        response: HstcpResponse,
        /// Which throughput formula.
        form: Form,
    },
}

impl Default for Response {
    /// Reno without delayed ACKs.
    fn default() -> Self {
        Self::Reno {
            packets_per_ack: 1.0,
        }
    }
}

impl Response {
    /// HighSpeed TCP with the RFC's parameters, eq. (3).
    pub fn hstcp() -> Self {
        Self::Hstcp {
            response: HstcpResponse::default(),
            form: Form::Approximate,
        }
    }

    /// Mean window in packets at loss probability `loss` and round-trip time `rtt_s`.
    pub fn window(&self, loss: f64, rtt_s: f64) -> Result<f64, ModelError> {
        self.validate()?;
        probability("loss probability", loss)?;
        positive("round-trip time (s)", rtt_s)?;
        let window = libm::exp(self.ln_window(libm::log(loss), rtt_s));
        representable("mean window (packets)", window)
    }

    /// The parameters, or the error naming the one that is out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        match *self {
            Self::Aimd { increase, cut } => {
                positive("additive increase (packets/RTT)", increase)?;
                open_unit("cut fraction", cut)?;
            }
            Self::Reno { packets_per_ack } => {
                positive("packets per ACK", packets_per_ack)?;
            }
            Self::Cubic(cubic) => cubic.validate()?,
            Self::Htcp(htcp) => htcp.validate()?,
            Self::Scalable => {}
            Self::Hstcp { response, .. } => hstcp::validate(&response)?,
        }
        Ok(())
    }

    /// Whether the window depends on the round-trip time.
    pub(crate) fn depends_on_rtt(&self) -> bool {
        matches!(self, Self::Cubic(_) | Self::Htcp(_))
    }

    /// ln(window) at ln(loss) for valid parameters; finite for every finite argument.
    pub(crate) fn ln_window(&self, ln_loss: f64, rtt_s: f64) -> f64 {
        match *self {
            Self::Aimd { increase, cut } => aimd_ln_window((increase, cut), ln_loss),
            Self::Reno { packets_per_ack } => 0.5 * (libm::log(1.5 / packets_per_ack) - ln_loss),
            Self::Cubic(cubic) => {
                let friendly = (3.0 * cubic.cut / (2.0 - cubic.cut), cubic.cut);
                cubic
                    .ln_window(ln_loss, rtt_s)
                    .max(aimd_ln_window(friendly, ln_loss))
            }
            Self::Htcp(htcp) => htcp.ln_window(ln_loss, rtt_s),
            Self::Scalable => libm::log(SCALABLE_MEAN) - ln_loss,
            Self::Hstcp { response, form } => hstcp::ln_window(&response, form, ln_loss),
        }
    }
}

fn aimd_ln_window((increase, cut): (f64, f64), ln_loss: f64) -> f64 {
    0.5 * (libm::log(increase * (2.0 - cut) / (2.0 * cut)) - ln_loss)
}

/// 0.01 / ln(8/7): Scalable's mean window times the loss probability.
const SCALABLE_MEAN: f64 = 0.01 / 0.133_531_392_624_522_63;

/// Scalable's window just before a cut, 0.08/p, the customary "response function".
pub fn scalable_peak(loss: f64) -> Result<f64, ModelError> {
    probability("loss probability", loss)?;
    representable("peak window (packets)", 0.08 / loss)
}

/// sqrt(3/(2d)) / sqrt(p): packets per round-trip time of Reno (Mathis et al.), d packets per ACK.
pub fn mathis(loss: f64, packets_per_ack: f64) -> Result<f64, ModelError> {
    Response::Reno { packets_per_ack }.window(loss, 1.0)
}

/// kappa = b / (sqrt 3 (2 - b)): coefficient of variation of a linear sawtooth with cut fraction b.
pub fn sawtooth_variation(cut: f64) -> Result<f64, ModelError> {
    open_unit("cut fraction", cut)?;
    Ok(cut / (3.0_f64.sqrt() * (2.0 - cut)))
}

/// CUBIC (RFC 9438): scaling constant C and cut fraction b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    /// C, packets/s^3. Default 0.4.
    pub scaling: f64,
    /// b, the cut fraction: 0.3 in RFC 9438, 0.2 in the version of 2008. Default 0.3.
    pub cut: f64,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            scaling: 0.4,
            cut: 0.3,
        }
    }
}

impl Cubic {
    fn validate(self) -> Result<(), ModelError> {
        positive("CUBIC scaling constant C (packets/s^3)", self.scaling)?;
        open_unit("cut fraction", self.cut)?;
        Ok(())
    }

    /// Mean window of the cubic epoch alone, without the Reno-friendly floor.
    pub fn epoch_mean_window(&self, loss: f64, rtt_s: f64) -> Result<f64, ModelError> {
        self.validate()?;
        probability("loss probability", loss)?;
        positive("round-trip time (s)", rtt_s)?;
        representable(
            "mean window (packets)",
            libm::exp(self.ln_window(libm::log(loss), rtt_s)),
        )
    }

    fn ln_window(self, ln_loss: f64, rtt_s: f64) -> f64 {
        let shape = self.scaling * (4.0 - self.cut) / (4.0 * self.cut);
        0.25 * libm::log(shape) + 0.75 * (libm::log(rtt_s) - ln_loss)
    }

    /// C (t - K)^3 + Wmax, the window `t_s` seconds after a cut from `peak` packets;
    /// K = (Wmax b / C)^(1/3).
    pub fn window_after_cut(&self, t_s: f64, peak: f64) -> Result<f64, ModelError> {
        self.validate()?;
        non_negative("time since the cut (s)", t_s)?;
        positive("window before the cut (packets)", peak)?;
        let offset = t_s - self.plateau_s(peak);
        representable(
            "window (packets)",
            self.scaling * offset * offset * offset + peak,
        )
    }

    /// K, seconds from a cut until the window is back at `peak` packets.
    fn plateau_s(self, peak: f64) -> f64 {
        libm::cbrt(peak * self.cut / self.scaling)
    }

    /// b sqrt(9/112)/(1 - b/4): coefficient of variation of the window over an epoch.
    pub fn variation(&self) -> Result<f64, ModelError> {
        self.validate()?;
        Ok(self.cut * (9.0_f64 / 112.0).sqrt() / (1.0 - self.cut / 4.0))
    }
}

/// H-TCP with a fixed back-off: increase 2(1-beta) f(s) packets per round trip, s seconds after a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Htcp {
    /// beta, the kept fraction, 0.5 to 0.8 in the protocol. Default 0.5.
    pub kept: f64,
    /// Seconds after a cut during which it grows as Reno. Default 1.
    pub quiet_s: f64,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            kept: 0.5,
            quiet_s: 1.0,
        }
    }
}

impl Htcp {
    fn validate(self) -> Result<(), ModelError> {
        open_unit("kept fraction beta", self.kept)?;
        non_negative("quiet period (s)", self.quiet_s)?;
        Ok(())
    }

    /// f(s) = 1 up to the quiet period, then 1 + 10 d + (d/2)^2 with d the seconds beyond it.
    pub fn increase_factor(&self, since_cut_s: f64) -> Result<f64, ModelError> {
        self.validate()?;
        non_negative("time since the cut (s)", since_cut_s)?;
        let d = (since_cut_s - self.quiet_s).max(0.0);
        representable("increase factor", 1.0 + 10.0 * d + 0.25 * d * d)
    }

    /// ln of R/(p T), T the cycle length with packets(T) = 1/p.
    fn ln_window(self, ln_loss: f64, rtt_s: f64) -> f64 {
        // Beyond e^-600 a cycle is a pure quartic: packets ~ T^4, so the window goes as p^(-3/4).
        const FAR: f64 = -600.0;
        if ln_loss < FAR {
            return self.ln_window(FAR, rtt_s) - 0.75 * (ln_loss - FAR);
        }
        let excess = |ln_t: f64| -ln_loss - self.ln_packets(libm::exp(ln_t), rtt_s);
        let Ok(interval) = numeric::bracket_decreasing("H-TCP cycle", (0.0, 1024.0), excess) else {
            return f64::NAN;
        };
        match numeric::root("H-TCP cycle", interval, excess) {
            Ok(ln_t) => libm::log(rtt_s) - ln_loss - ln_t,
            Err(_) => f64::NAN,
        }
    }

    /// ln of the packets sent in a cycle of `t` seconds: [beta W T + 2(1-beta) G/R]/R, W = 2F/R.
    fn ln_packets(self, t: f64, rtt_s: f64) -> f64 {
        let d = (t - self.quiet_s).max(0.0);
        // F and G are the first and second integrals of f.
        let first = t + d * d * (5.0 + d / 12.0);
        let second = t * t / 2.0 + d * d * d * (5.0 / 3.0 + d / 48.0);
        let inside = 2.0 * self.kept * first * t + 2.0 * (1.0 - self.kept) * second;
        libm::log(inside) - 2.0 * libm::log(rtt_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Response> {
        let mut all = vec![
            Response::default(),
            Response::Aimd {
                increase: 1.0,
                cut: 0.5,
            },
            Response::Cubic(Cubic::default()),
            Response::Cubic(Cubic {
                cut: 0.2,
                ..Cubic::default()
            }),
            Response::Htcp(Htcp::default()),
            Response::Htcp(Htcp {
                kept: 0.8,
                ..Htcp::default()
            }),
            Response::Scalable,
        ];
        for form in Form::ALL {
            all.push(Response::Hstcp {
                response: HstcpResponse::default(),
                form,
            });
        }
        all
    }

    #[test]
    fn constants_of_the_literature() {
        let cubic = |cut| Cubic {
            cut,
            ..Cubic::default()
        };
        assert!((cubic(0.3).epoch_mean_window(1.0, 1.0).unwrap() - 1.0538).abs() < 5e-5);
        assert!((cubic(0.2).epoch_mean_window(1.0, 1.0).unwrap() - 1.17405).abs() < 5e-5);
        assert!((Response::Scalable.window(1.0, 1.0).unwrap() - 0.0749).abs() < 5e-5);
        assert!((sawtooth_variation(0.5).unwrap() - 0.19245).abs() < 5e-6);
        assert!((cubic(0.3).variation().unwrap() - 0.0919).abs() < 5e-5);
    }

    #[test]
    fn cubic_window_returns_to_the_peak_after_the_plateau_time() {
        let cubic = Cubic::default();
        assert!((cubic.window_after_cut(0.0, 1000.0).unwrap() - 700.0).abs() < 1e-9);
        let k = cubic.plateau_s(1000.0);
        assert!((cubic.window_after_cut(k, 1000.0).unwrap() - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn cubic_epoch_mean_by_quadrature() {
        // An epoch of K seconds from (1-b) Wmax to Wmax that sends 1/p packets.
        let (cubic, rtt, loss) = (Cubic::default(), 0.08, 3e-5);
        let mean = cubic.epoch_mean_window(loss, rtt).unwrap();
        let peak = mean / (1.0 - cubic.cut / 4.0);
        let k = cubic.plateau_s(peak);
        let sent = numeric::integral((0.0, k), k / 8.0, |t| {
            cubic.window_after_cut(t, peak).unwrap() / rtt
        });
        assert!((sent * loss - 1.0).abs() < 1e-10);
    }

    proptest! {
        #[test]
        fn rates_go_as_the_inverse_round_trip_time(ln_loss in -40.0_f64..0.0, rtt in 1e-5_f64..1.0) {
            // HSTCP, AIMD and Scalable hold a window whatever the round-trip time.
            for response in all().iter().filter(|response| !response.depends_on_rtt()) {
                prop_assert_eq!(response.ln_window(ln_loss, rtt), response.ln_window(ln_loss, 1.0));
            }
        }

        #[test]
        fn aimd_one_half_is_reno(ln_loss in -40.0_f64..0.0) {
            let aimd = Response::Aimd { increase: 1.0, cut: 0.5 }.ln_window(ln_loss, 0.1);
            prop_assert!((aimd - Response::default().ln_window(ln_loss, 0.1)).abs() < 1e-12);
        }

        #[test]
        fn htcp_with_short_epochs_is_reno(loss in 1e-3_f64..0.5, rtt in 1e-4_f64..5e-3) {
            // A Reno cycle lasts W/2 round trips.
            let reno = Response::default().window(loss, rtt).unwrap();
            prop_assume!(reno * rtt < 1.0);
            let htcp = Response::Htcp(Htcp::default()).window(loss, rtt).unwrap();
            prop_assert!((htcp / reno - 1.0).abs() < 1e-10);
        }

        #[test]
        fn windows_fall_with_loss_and_are_finite(ln_loss in -700_000.0_f64..-1e-3,
                                                 ln_rtt in -11.6_f64..0.1) {
            let rtt = libm::exp(ln_rtt);
            for response in all() {
                let here = response.ln_window(ln_loss, rtt);
                prop_assert!(here.is_finite(), "{response:?}");
                // HSTCP switches formula at low_loss, where three forms jump (erratum B9).
                let jump = matches!(response, Response::Hstcp { .. }) && (-8.0..0.0).contains(&ln_loss);
                let below = response.ln_window(ln_loss - 1.0, rtt);
                prop_assert!(jump || below > here, "{response:?} {below} {here}");
            }
        }
    }
}
