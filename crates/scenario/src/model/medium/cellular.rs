//! A cellular link as a medium: blocks in slots, each repeated until it has arrived, and packets
//! that are handed on in their order.
//!
//! Blocks are those of LTE (3GPP TS 36.213 and 36.321, a subframe each) and NR (TS 38.214 and
//! 38.321); packets are cut and put together, and wait for those before them, as in RLC's
//! acknowledged mode (TS 36.322 section 5.1.3).

use forebay_units::{Bytes, Rate, Time, Work};

use crate::text::form::{Share, WholeNumber, Within};
use crate::text::keys::keys;

keys! {
    /// A cellular link whose `rate` is that of its blocks, repeats included.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Cellular: const {
        /// Duration of a slot, which carries one block (LTE 1ms; NR 0.5ms at 30 kHz).
        slot: Time = Time::from_millis(1), key(Within {
            least: Time::from_picos(62_500_000),
            most: Time::from_millis(10),
            allowed: "a time from 62500ns to 10ms",
        });
        /// Probability that a block fails, at each transmission.
        block_error: f64 = 0.1, key(BLOCK_ERROR);
        /// Number of slots from a failed block to its repetition (HARQ).
        feedback: u64 = 8, key(WholeNumber(1, 64));
        /// Number of repetitions before HARQ gives up.
        repeats: u64 = 3, key(WholeNumber(0, 31));
        /// Time until RLC retransmits a block after HARQ has given up.
        recovery: Time = Time::from_millis(50), key(Within {
            least: Time::from_millis(1),
            most: Time::from_secs(1),
            allowed: "a time from 1ms to 1s",
        });
    }
}

const BLOCK_ERROR: Share = Share {
    least: 0.0,
    most: 0.5,
    allowed: "a share from 0% to 50%",
};

/// The fewest bytes of a block.
pub(crate) const LEAST_BLOCK: Bytes = Bytes::new(8);

impl Cellular {
    /// The part of the slots whose blocks arrive: each block takes one slot and, with the same
    /// probability every time, one more.
    ///
    /// ```
    /// use forebay_scenario::{Format, Medium, Scenario};
    ///
    /// let text = "
    ///     [link]
    ///     rate = '50Mbps'
    ///     buffer = '100p'
    ///     medium = { kind = 'cellular', block_error = '20%' }
    ///     [[flows]]
    ///     rtt = '50ms'
    /// ";
    /// let scenario = Scenario::parse(text, Format::Toml, "radio", &[])?;
    /// assert_eq!(scenario.target().rate.to_string(), "40Mbps");
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn arriving(&self) -> f64 {
        1.0 - self.block_error
    }

    /// Whether a slot at this rate has room for a block.
    pub(crate) fn has_room(&self, rate: Rate) -> bool {
        Work::at(rate, self.slot) >= Work::of(LEAST_BLOCK)
    }

    /// Blocks in flight at once, and repeats that are due: those of the largest packet, and those
    /// of all blocks that have failed, a few times as many as on average.
    pub fn max_in_flight(&self, largest: u64) -> f64 {
        let tries = 1.0 / self.arriving();
        let longest = self.wait(0).max(self.feedback);
        let blocks = largest.div_ceil(LEAST_BLOCK.get());
        4.0 * tries * (longest as f64 * self.block_error + blocks as f64)
    }

    /// Slots from a block that has failed so often to the next time that it is sent.
    pub fn wait(&self, failures: u64) -> u64 {
        if failures.is_multiple_of(self.repeats + 1) {
            self.recovery.as_picos().div_ceil(self.slot.as_picos())
        } else {
            self.feedback
        }
    }
}
