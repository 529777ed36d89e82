//! Losses by the medium after a link, whatever waits before it. The table of a link reads them.

use crate::text::form::{Maybe, Share, Table};
use crate::text::keys::keys;

keys! {
    /// The losses of the medium after a link: packets that have left the queue and never arrive.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MediumLoss: const {
        /// Probability of the loss of each packet, independently of all others.
        random: f64 = 0.0, key(PROBABILITY);
        /// Losses in bursts: a medium that alternates between a good and a bad state.
        gilbert_elliott: Option<GilbertElliott> = None, key(Maybe(Table));
    }
}

keys! {
    /// A medium that is good or bad by turns (Gilbert 1960, Elliott 1963): behind each packet it
    /// may change, as netem's `loss gemodel` has it (Linux 6.6, net/sched/sch_netem.c,
    /// `loss_gilb_ell`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GilbertElliott: const {
        /// Probability, after each packet, that a good medium becomes bad (netem: p).
        to_bad: f64 = 0.0, required("\"1%\"", PROBABILITY);
        /// Probability, after each packet, that a bad medium becomes good (netem: r).
        to_good: f64 = 1.0, required("\"25%\"", SOME_TIME);
        /// Probability that a bad medium loses a packet (netem: 1-h).
        bad: f64 = 1.0, key(PROBABILITY);
        /// Probability that a good medium loses a packet (netem: 1-k).
        good: f64 = 0.0, key(PROBABILITY);
    }
}

const PROBABILITY: Share = Share {
    least: 0.0,
    most: 1.0,
    allowed: "a share from 0% to 100%",
};

/// A bad medium does not stay so for ever.
const SOME_TIME: Share = Share {
    least: 1e-9,
    most: 1.0,
    allowed: "a share from 0.0000001% to 100%",
};

impl GilbertElliott {
    /// Share of the packets that find the medium bad, in the long run.
    ///
    /// ```
    /// use forebay_scenario::GilbertElliott;
    ///
    /// let medium = GilbertElliott { to_bad: 0.01, to_good: 0.24, bad: 0.5, good: 0.001 };
    /// assert_eq!(medium.bad_share(), 0.04);
    /// assert!((medium.loss_rate() - (0.04 * 0.5 + 0.96 * 0.001)).abs() < 1e-15);
    /// ```
    pub fn bad_share(&self) -> f64 {
        self.to_bad / (self.to_bad + self.to_good)
    }

    /// Share of the packets that are lost, in the long run.
    pub fn loss_rate(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.bad + (1.0 - bad) * self.good
    }
}

impl MediumLoss {
    /// Nothing is lost.
    pub const NONE: Self = Self {
        random: 0.0,
        gilbert_elliott: None,
    };

    /// Share of the packets that are lost, in the long run.
    ///
    /// ```
    /// use forebay_scenario::MediumLoss;
    ///
    /// assert_eq!(MediumLoss::NONE.rate(), 0.0);
    /// assert_eq!(MediumLoss { random: 0.01, ..MediumLoss::NONE }.rate(), 0.01);
    /// ```
    pub fn rate(&self) -> f64 {
        let bursts = self
            .gilbert_elliott
            .map_or(0.0, |distribution| distribution.loss_rate());
        self.random + (1.0 - self.random) * bursts
    }
}
