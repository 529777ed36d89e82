//! Policers, which drop packets before a queue if they exceed the agreed rate. The table of a link
//! reads them.

use forebay_units::{Bytes, Rate};
use serde_json::Value;

use crate::model::varying::RATE;
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, Table, Within, Words};
use crate::text::grammar::Grammar;
use crate::text::keys::{Context, Form, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// A policer in front of a queue: token buckets that color packets and drop the red ones. With
    /// a rate and a burst alone, a packet is green or red; with `excess_burst` it is RFC 2697's
    /// single-rate three-color marker, with `peak` and `peak_burst` RFC 2698's two-rate one, both
    /// color-blind.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Policer: const {
        /// Rate of the tokens, in bits of IP packets per second (RFC 2697: CIR).
        rate: Rate = Rate::from_bits_per_second(0), required("\"50Mbps\"", RATE);
        /// Burst size in bytes (RFC 2697: CBS), at least the largest packet.
        burst: Bytes = Bytes::ZERO, required("\"625kB\"", BURST);
        /// Excess burst size in bytes for yellow packets; its tokens are those that overflow the
        /// first bucket (RFC 2697: EBS).
        excess_burst: Option<Bytes> = None, key(Maybe(BURST));
        /// Peak rate (RFC 2698: PIR). Packets above it are red, packets between both rates are
        /// yellow.
        peak: Option<Rate> = None, key(Maybe(RATE));
        /// Burst size in bytes at the peak rate (RFC 2698: PBS).
        peak_burst: Option<Bytes> = None, key(Maybe(BURST));
        /// Action on yellow packets.
        yellow: Yellow = Yellow::Pass, key(Words);
    }
}

words! {
    /// The treatment of packets that exceed the burst and do not violate the second one.
    pub enum Yellow {
        /// They pass like green ones.
        Pass = "pass",
        /// They are dropped like red ones.
        Drop = "drop",
    }
}

/// The size of a token bucket.
pub(crate) const BURST: Within<Bytes> = Within {
    least: Bytes::new(1),
    most: Bytes::new(1_000_000_000_000_000),
    allowed: "a size from 1B to 1e15 bytes, at least the largest packet",
};

/// The form of a policer: a table whose keys agree with each other.
pub(crate) struct PolicerTable;

impl Form<Policer> for PolicerTable {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Policer, ScenarioError> {
        let policer: Policer = Table.read(at, context)?;
        if let Some(peak) = at.get("peak") {
            if policer.peak < Some(policer.rate) {
                return Err(peak.error(format!("a rate of {} or more, the `rate`", policer.rate)));
            }
            at.require(
                "peak_burst",
                "\"625kB\", what may pass at once above `peak`",
            )?;
            if let Some(excess) = at.get("excess_burst") {
                let allowed = "either `excess_burst` (one rate) or `peak` and `peak_burst` (two)";
                return Err(excess.error_found("`excess_burst` beside `peak`", allowed));
            }
        }
        if at.get("peak_burst").is_some() {
            at.require("peak", "\"100Mbps\", the rate of `peak_burst`")?;
        }
        if policer.excess_burst.is_none()
            && policer.peak.is_none()
            && policer.yellow == Yellow::Drop
        {
            let at = at.get("yellow").unwrap_or_else(|| at.clone());
            let allowed = "beside `excess_burst` or `peak`, without which no packet is yellow";
            return Err(at.error(allowed));
        }
        Ok(policer)
    }

    fn write(&self, policer: &Policer, context: &Context<'_>) -> Option<Value> {
        Table.write(policer, context)
    }

    fn grammar(&self) -> Grammar {
        Form::<Policer>::grammar(&Table)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::scenario::Scenario;
    use crate::text::tree::{Format, ScenarioError};

    fn with_policer(policer: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\npolicer = {policer}\n\
             [[flows]]\nrtt = \"40ms\"\n[[flows]]\nrtt = \"40ms\"\npacket = {{ choice = [\"100B\", \"9kB\"] }}\n\
             workload = {{ cbr = {{ rate = \"1Mbps\" }} }}"
        );
        Scenario::parse(&text, Format::Toml, "x.toml", &[])
    }

    #[test]
    fn what_is_no_policer_is_refused_in_a_line() {
        for (policer, found) in [
            ("{}", "found no `rate`"),
            ("{ rate = \"1Mbps\" }", "found no `burst`"),
            (
                "{ rate = \"1bps\", burst = \"20kB\" }",
                "policer.rate: found `1bps`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"0B\" }",
                "policer.burst: found `0B`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"8999B\" }",
                "policer.burst: found `8999B`; allowed: 9kB or more, the largest packet",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", excess_burst = \"1500B\" }",
                "policer.excess_burst: found `1500B`; allowed: 9kB or more",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", peak = \"2Mbps\", peak_burst = \"1kB\" }",
                "policer.peak_burst: found `1kB`; allowed: 9kB or more",
            ),
            (
                "{ rate = \"3Mbps\", burst = \"20kB\", peak = \"2Mbps\", peak_burst = \"20kB\" }",
                "policer.peak: found `2Mbps`; allowed: a rate of 3Mbps or more",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", peak = \"2Mbps\" }",
                "found no `peak_burst`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", peak_burst = \"20kB\" }",
                "found no `peak`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", excess_burst = \"20kB\", peak = \"2Mbps\", peak_burst = \"20kB\" }",
                "either `excess_burst`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", yellow = \"drop\" }",
                "policer.yellow: found `drop`; allowed: beside `excess_burst`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", excess_burst = \"20kB\", yellow = \"mark\" }",
                "policer.yellow: unknown yellow `mark`; known: pass, drop",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", cbs = 1 }",
                "unknown key `cbs`",
            ),
        ] {
            let error = with_policer(policer).unwrap_err().to_string();
            assert!(error.contains(found), "{policer}: {error}");
            assert!(
                error.starts_with("x.toml:4: link.policer") && !error.contains('\n'),
                "{error}"
            );
        }
        with_policer(
            "{ rate = \"2Mbps\", burst = \"9kB\", peak = \"2Mbps\", peak_burst = \"9kB\" }",
        )
        .unwrap();
    }
}
