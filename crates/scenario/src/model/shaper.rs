//! Shapers: token buckets that empty a queue. The table of a link reads them.

use forebay_units::{Bytes, Rate};
use serde_json::Value;

use crate::model::policer::BURST;
use crate::model::varying::RATE;
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, Table, Words};
use crate::text::grammar::Grammar;
use crate::text::keys::{Context, Form, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// A token bucket that empties a queue: a packet leaves at the link's rate, but only when there
    /// are tokens (Linux 6.6, net/sched/sch_tbf.c and sch_htb.c).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Shaper: const {
        /// Rate of the tokens, in the bits that the link's rate counts.
        rate: Rate = Rate::from_bits_per_second(0), required("\"50Mbps\"", RATE);
        /// Burst size in bytes; a burst leaves at the peak or at the link's rate.
        burst: Bytes = Bytes::ZERO, required("\"15kB\"", BURST);
        /// Rate of a second bucket, above the first one's (tbf: `peakrate`; htb: `ceil`).
        peak: Option<Rate> = None, key(Maybe(RATE));
        /// Burst size in bytes at the peak rate (tbf: `mtu`; htb: `cburst`); without it the size of
        /// the largest packet.
        peak_burst: Option<Bytes> = None, key(Maybe(BURST));
        /// Condition for a packet to leave.
        kind: ShaperKind = ShaperKind::Tbf, key(Words);
    }
}

words! {
    /// The tokens that a packet needs to leave.
    pub enum ShaperKind {
        /// There are tokens for all its bytes. The bucket takes the packet from the queue when the
        /// previous one has left, and the packet waits for tokens.
        Tbf = "tbf",
        /// The bucket has no debt; it may have one afterwards. The packet is taken from the queue
        /// when the debt is paid.
        Htb = "htb",
    }
}

/// The form of a shaper: a table whose keys agree with each other.
pub(crate) struct ShaperTable;

impl Form<Shaper> for ShaperTable {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Shaper, ScenarioError> {
        let shaper: Shaper = Table.read(at, context)?;
        if let Some(peak) = at.get("peak")
            && shaper.peak < Some(shaper.rate)
        {
            let allowed = format!("a rate of {} or more, the `rate`", shaper.rate);
            return Err(peak.error(allowed));
        }
        if at.get("peak_burst").is_some() {
            at.require("peak", "\"100Mbps\", the rate of `peak_burst`")?;
        }
        Ok(shaper)
    }

    fn write(&self, shaper: &Shaper, context: &Context<'_>) -> Option<Value> {
        Table.write(shaper, context)
    }

    fn grammar(&self) -> Grammar {
        Form::<Shaper>::grammar(&Table)
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Rate;

    use crate::model::scenario::Scenario;
    use crate::text::tree::{Format, ScenarioError};

    fn with_link(rate: &str, more: &str, shaper: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "[link]\nrate = {rate}\nbuffer = \"1BDP\"\nshaper = {shaper}\n{more}\n\
             [[flows]]\nrtt = \"40ms\"\npacket = \"1500B\""
        );
        Scenario::parse(&text, Format::Toml, "x.toml", &[])
    }

    #[test]
    fn what_is_no_shaper_is_refused_in_a_line() {
        for (shaper, found) in [
            ("{}", "found no `rate`"),
            ("{ rate = \"1Mbps\" }", "found no `burst`"),
            (
                "{ rate = \"1Mbps\", burst = \"1499B\" }",
                "shaper.burst: found `1499B`; allowed: 1.5kB or more, the largest packet",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", peak = \"2Mbps\", peak_burst = \"1kB\" }",
                "shaper.peak_burst: found `1kB`; allowed: 1.5kB or more",
            ),
            (
                "{ rate = \"3Mbps\", burst = \"20kB\", peak = \"2Mbps\" }",
                "shaper.peak: found `2Mbps`; allowed: a rate of 3Mbps or more",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", peak_burst = \"20kB\" }",
                "found no `peak`",
            ),
            (
                "{ rate = \"1Mbps\", burst = \"20kB\", kind = \"hfsc\" }",
                "shaper.kind: unknown shaper `hfsc`; known: tbf, htb",
            ),
        ] {
            let error = with_link("\"10Mbps\"", "", shaper).unwrap_err().to_string();
            assert!(error.contains(found), "{shaper}: {error}");
            assert!(
                error.starts_with("x.toml:4: link.shaper") && !error.contains('\n'),
                "{error}"
            );
        }
        let htb = "{ rate = \"1Mbps\", burst = \"1B\", kind = \"htb\" }";
        with_link("\"10Mbps\"", "", htb).unwrap();
        let even = "{ rate = \"3Mbps\", burst = \"20kB\", peak = \"3Mbps\" }";
        with_link("\"10Mbps\"", "", even).unwrap();
        // The rate counts framing, and so do tokens.
        let tbf = "{ rate = \"1Mbps\", burst = \"1537B\" }";
        let error = with_link("\"10Mbps\"", "rate_layer = \"l1\"", tbf).unwrap_err();
        assert!(
            error.to_string().contains("allowed: 1.538kB or more"),
            "{error}"
        );
        let list = "{ opportunities = \"1 2\" }";
        let error = with_link(list, "", htb).unwrap_err().to_string();
        assert!(
            error
                .contains("link.shaper: found a shaper in front of opportunities; allowed: a rate"),
            "{error}"
        );
        let outages = "outages = { times = [[\"1s\", \"1s\"]], flush = true }";
        let error = with_link("\"10Mbps\"", outages, htb).unwrap_err();
        let found = "link.shaper: found a shaper with outages that empty the queue";
        assert!(error.to_string().contains(found), "{error}");
    }

    /// If the line's rate changes, the rate is the average of the smaller rate at each instant. The
    /// possible rates and their changes are those of the line, and the canonical form has the
    /// file's own rate.
    #[test]
    fn the_rate_of_a_changing_line_is_the_average_of_the_smaller_one() {
        let shaper = "{ rate = \"30Mbps\", burst = \"3kB\" }";
        let steps = "{ steps = [[\"0s\", \"100Mbps\"], [\"1s\", \"10Mbps\"]], repeat = \"4s\" }";
        let markov = "{ markov = [{ rate = \"100Mbps\", mean_time = \"1s\" }, { rate = \"10Mbps\", mean_time = \"3s\" }] }";
        let ends = "outages = [[\"130s\", \"65s\"]]\n";
        let drawn = "outages = { between = \"3s\", lasting = \"1s\" }\n";
        for (rate, more, average, lowest, highest) in [
            (steps, "", 15e6, 10e6, 100e6),
            (markov, "", 15e6, 10e6, 100e6),
            // A quarter of the run of 260 s, with as much of each rate.
            (steps, ends, 15e6 * 0.75, 0.0, 100e6),
            ("\"100Mbps\"", ends, 30e6 * 0.75, 0.0, 100e6),
            ("\"100Mbps\"", drawn, 30e6 * 0.75, 0.0, 100e6),
            (markov, drawn, 15e6 * 0.75, 0.0, 100e6),
            (
                "{ steps = [[\"0s\", \"20Mbps\"], [\"1s\", \"10Mbps\"]], repeat = \"2s\" }",
                "",
                15e6,
                10e6,
                20e6,
            ),
        ] {
            let run = "[run]\nwarmup = \"0s\"\nmeasure = \"260s\"";
            let scenario = with_link(rate, &format!("{more}{run}"), shaper).unwrap();
            let link = scenario.target();
            let bits = |rate: Rate| rate.as_bits_per_second() as f64;
            assert!(
                (bits(link.rate) / average - 1.0).abs() < 0.01,
                "{rate} {more} {}",
                link.rate
            );
            assert_eq!(
                (bits(link.lowest_rate()), bits(link.highest_rate())),
                (lowest, highest),
                "{rate}"
            );
            assert_eq!(
                scenario.buffer().bytes,
                (bits(link.rate) / 8.0 * 0.04).floor()
            );
            let json = scenario.canonical_json();
            let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
            assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
        }
    }

    /// The rate of a shaped link is the smaller one; the file's own is written.
    #[test]
    fn a_shaped_link_has_the_smaller_rate_and_writes_its_own() {
        for (rate, shaped, smaller) in [
            ("100Mbps", "30Mbps", "30Mbps"),
            ("10Mbps", "30Mbps", "10Mbps"),
        ] {
            let shaper = format!("{{ rate = \"{shaped}\", burst = \"3kB\" }}");
            let scenario = with_link(&format!("\"{rate}\""), "", &shaper).unwrap();
            let plain = with_link(&format!("\"{smaller}\""), "", &shaper).unwrap();
            let link = scenario.target();
            assert_eq!(link.rate.to_string(), smaller);
            assert_eq!(link.line_rate().to_string(), rate);
            assert_eq!(link.highest_rate().to_string(), rate);
            assert_eq!(scenario.buffer().bytes, plain.buffer().bytes);
            let json = scenario.canonical_json();
            assert!(json.contains(&format!("\"rate\":\"{rate}\"")), "{json}");
            let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
            assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
        }
    }
}
