//! The upstream of a cable modem as a medium: what waits is asked for, and sent when it is granted.
//!
//! CableLabs, "DOCSIS 3.1 MAC and Upper Layer Protocols Interface Specification" (CM-SP-MULPIv3.1),
//! section 7.2; White, "Active Queue Management in DOCSIS 3.x Cable Modems", CableLabs 2014.

use forebay_units::Time;

use crate::text::form::{WholeNumber, Within};
use crate::text::keys::keys;

keys! {
    /// The upstream of a cable modem, whose `rate` is what it is granted at most.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Docsis: const {
        /// Time from one MAP to the next; in each interval the modem requests once and gets one
        /// grant.
        map: Time = Time::from_millis(2), key(Within {
            least: Time::from_micros(100),
            most: Time::from_millis(100),
            allowed: "a time from 100us to 100ms",
        });
        /// Number of MAP intervals from a request to its grant.
        grant: u64 = 2, key(WholeNumber(1, 64));
    }
}
