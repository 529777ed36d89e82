//! Response functions of controllers: the mean window at a loss probability, and the multiplicative
//! decrease.
//!
//! Every function takes ln(loss) and returns ln(window). A loss probability of e^-600000 (a nearly
//! idle link with a million-packet buffer) is thus an ordinary argument.

use std::fmt::Debug;

use crate::error::{FormulaError, open_unit, positive, probability, representable};

/// The response function of a family of controllers.
pub trait Response: Debug {
    /// Checks the parameters. The error names the one that is out of range.
    fn validate(&self) -> Result<(), FormulaError>;

    /// The ln(window in packets) at ln(loss) and a round-trip time in seconds, for valid
    /// parameters. It is finite for every finite argument.
    fn ln_window(&self, ln_loss: f64, rtt_s: f64) -> f64;

    /// Decrease factor at a window of `window` packets: window after / window before.
    fn beta(&self, window: f64) -> f64;

    /// Standard deviation over mean of the window between two cuts.
    fn variation(&self, window: f64) -> Result<f64, FormulaError> {
        sawtooth_variation(1.0 - self.beta(window))
    }

    /// Whether the window depends on the round-trip time.
    fn depends_on_rtt(&self) -> bool {
        false
    }

    /// Packets per round-trip time by which the window grows, if that is a constant.
    fn additive_increase(&self) -> Option<f64> {
        None
    }

    /// Whether it equals Reno, whatever its name.
    fn is_reno(&self) -> bool {
        false
    }

    /// Mean window in packets at loss probability `loss` and round-trip time `rtt_s` in seconds.
    fn window(&self, loss: f64, rtt_s: f64) -> Result<f64, FormulaError> {
        self.validate()?;
        probability("loss probability", loss)?;
        positive("round-trip time (s)", rtt_s)?;
        let window = libm::exp(self.ln_window(libm::log(loss), rtt_s));
        representable("mean window (packets)", window)
    }
}

/// Coefficient of variation of a linear sawtooth that removes the fraction b: kappa = b / (sqrt 3
/// (2 - b)).
pub fn sawtooth_variation(cut: f64) -> Result<f64, FormulaError> {
    open_unit("cut fraction", cut)?;
    Ok(cut / (3.0_f64.sqrt() * (2.0 - cut)))
}
