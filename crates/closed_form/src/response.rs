//! What a controller's formula must give: its mean window at a loss probability, and its cut.
//!
//! Every law is evaluated as ln(window) against ln(loss), so that a loss probability of e^-600000
//! (a nearly idle link with a million-packet buffer) is an ordinary argument.

use std::fmt::Debug;

use crate::error::{FormulaError, open_unit, positive, probability, representable};

/// The response function of a family of controllers.
pub trait Response: Debug {
    /// The parameters, or the error naming the one that is out of range.
    fn validate(&self) -> Result<(), FormulaError>;

    /// ln(window in packets) at ln(loss) and a round-trip time in seconds, for valid parameters;
    /// finite for every finite argument.
    fn ln_window(&self, ln_loss: f64, rtt_s: f64) -> f64;

    /// Fraction of a window of `window` packets that is kept at a cut.
    fn kept(&self, window: f64) -> f64;

    /// Standard deviation over mean of the window between two cuts.
    fn variation(&self, window: f64) -> Result<f64, FormulaError> {
        sawtooth_variation(1.0 - self.kept(window))
    }

    /// Whether the window depends on the round-trip time.
    fn depends_on_rtt(&self) -> bool {
        false
    }

    /// Packets per round-trip time by which the window grows, where that is a constant.
    fn additive_increase(&self) -> Option<f64> {
        None
    }

    /// Whether it is Reno in all but name.
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

/// kappa = b / (sqrt 3 (2 - b)): coefficient of variation of a linear sawtooth with cut fraction b.
pub fn sawtooth_variation(cut: f64) -> Result<f64, FormulaError> {
    open_unit("cut fraction", cut)?;
    Ok(cut / (3.0_f64.sqrt() * (2.0 - cut)))
}
