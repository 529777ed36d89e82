//! The response function of HighSpeed TCP (RFC 3649 section 5), and what follows from it.

use forebay_units::parameter::Parameters;

use crate::law::LawError;

/// Parameters of the HSTCP response function, RFC 3649 section 5.
///
/// All windows are in packets and all probabilities are dimensionless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HstcpResponse {
    /// `Low_Window`: at and below it HSTCP is Reno. Default 38.
    pub low_window: f64,
    /// `High_Window`: window reached at `high_loss`. Default 83000.
    pub high_window: f64,
    /// `Low_P`: loss probability at `low_window`. Default 1e-3.
    pub low_loss: f64,
    /// `High_P`: loss probability at `high_window`. Default 1e-7.
    pub high_loss: f64,
    /// `High_Decrease`: cut fraction at `high_window`. Default 0.1.
    pub high_decrease: f64,
}

impl Default for HstcpResponse {
    fn default() -> Self {
        Self {
            low_window: 38.0,
            high_window: 83000.0,
            low_loss: 1e-3,
            high_loss: 1e-7,
            high_decrease: 0.1,
        }
    }
}

impl HstcpResponse {
    /// With the parameters of a scenario.
    pub(super) fn of(parameters: &Parameters) -> Self {
        Self {
            low_window: parameters.number("low_window"),
            high_window: parameters.number("high_window"),
            low_loss: parameters.number("low_loss"),
            high_loss: parameters.number("high_loss"),
            high_decrease: parameters.number("high_decrease"),
        }
    }

    /// ln(w_h / w_l), called A in the literature.
    pub fn window_log_ratio(&self) -> f64 {
        libm::log(self.high_window / self.low_window)
    }

    /// ln(p_h / p_l), called c in the literature; negative.
    pub fn loss_log_ratio(&self) -> f64 {
        libm::log(self.high_loss / self.low_loss)
    }

    /// Slope s = c / A of ln p against ln w; negative.
    pub fn slope(&self) -> f64 {
        self.loss_log_ratio() / self.window_log_ratio()
    }

    /// p(w): the loss probability at which the mean window is `window` packets
    /// (RFC 3649 section 5; defined above `low_window`).
    pub fn loss_at(&self, window: f64) -> f64 {
        self.low_loss * libm::pow(window / self.low_window, self.slope())
    }

    /// w(p): mean window in packets at loss probability `loss`, the inverse of [`Self::loss_at`].
    pub fn window_at(&self, loss: f64) -> f64 {
        self.low_window * libm::pow(loss / self.low_loss, 1.0 / self.slope())
    }

    /// b(w): the cut fraction at a window of `window` packets (RFC 3649 section 5).
    pub fn decrease(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 0.5;
        }
        0.5 + (self.high_decrease - 0.5) * libm::log(window / self.low_window)
            / self.window_log_ratio()
    }

    /// a(w): the increase in packets per round trip at a window of `window` packets,
    /// a = 2 w^2 b p / (2 - b) (RFC 3649 section 5).
    pub fn increase(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let b = self.decrease(window);
        2.0 * window * window * b * self.loss_at(window) / (2.0 - b)
    }

    /// The cut fraction of the fluid face: [`Self::decrease`] held at its value at `high_window`
    /// above it.
    pub fn bounded_decrease(&self, window: f64) -> f64 {
        self.decrease(window.min(self.high_window))
    }

    /// The increase of the fluid face: [`Self::increase`] with [`Self::bounded_decrease`].
    pub fn bounded_increase(&self, window: f64) -> f64 {
        if window <= self.high_window {
            return self.increase(window);
        }
        let b = self.high_decrease;
        2.0 * window * window * b * self.loss_at(window) / (2.0 - b)
    }

    /// d ln a / d ln W just above (`side` positive) or below a window above `low_window`.
    pub(super) fn increase_elasticity(&self, window: f64, side: f64) -> f64 {
        let b = self.bounded_decrease(window);
        let beyond = window * (1.0 + 1e-9 * side) > self.high_window;
        let slope = if beyond {
            0.0
        } else {
            (self.high_decrease - 0.5) / self.window_log_ratio()
        };
        2.0 + self.slope() + slope * (1.0 / b + 1.0 / (2.0 - b))
    }

    /// Refuses parameters outside their ranges.
    pub fn check(&self) -> Result<(), LawError> {
        let refuse = |parameter, value, range| LawError::within("hstcp", parameter, value, range);
        refuse(
            "low_window",
            self.low_window,
            (1.0, 1e6, "1 to 1e6 packets"),
        )?;
        let above = (
            2.0 * self.low_window,
            1e9,
            "twice low_window to 1e9 packets",
        );
        refuse("high_window", self.high_window, above)?;
        refuse("low_loss", self.low_loss, (1e-9, 0.1, "1e-9 to 0.1"))?;
        let below = (1e-15, 0.5 * self.low_loss, "1e-15 to half of low_loss");
        refuse("high_loss", self.high_loss, below)?;
        refuse(
            "high_decrease",
            self.high_decrease,
            (0.01, 0.5, "0.01 to 0.5"),
        )?;
        // A slope below -2 would make the increase fall with the window.
        refuse("response slope", self.slope(), (-1.9, -0.1, "-1.9 to -0.1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_the_rfc() {
        let h = HstcpResponse::default();
        assert!((h.window_log_ratio() - 7.68901).abs() < 1e-5);
        assert!((h.loss_log_ratio() + 9.21034).abs() < 1e-5);
    }

    #[test]
    fn window_and_loss_are_inverse() {
        let h = HstcpResponse::default();
        for w in [40.0, 1e3, 83000.0] {
            assert!((h.window_at(h.loss_at(w)) / w - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn reno_at_and_below_the_low_window() {
        let h = HstcpResponse::default();
        assert_eq!(h.increase(38.0), 1.0);
        assert_eq!(h.decrease(10.0), 0.5);
    }
}
