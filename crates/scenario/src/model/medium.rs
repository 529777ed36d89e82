//! The medium of a link, where packets do not simply follow each other at its rate: `medium = {
//! kind, ... }`. The table of a link reads it.
//!
//! A new medium also has its memory in `derived/memory_estimate.rs`, and its words in
//! `views/headline.py` of the Python package.

mod cellular;
mod docsis;
mod wifi;

use forebay_units::Rate;
use serde_json::{Value, json};

pub use self::cellular::Cellular;
pub use self::docsis::Docsis;
pub use self::wifi::{Contention, SLOT, Wifi};
use crate::model::varying::Varying;
use crate::text::cursor::Cursor;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::grammar::{entry, object};
use crate::text::keys::{Context, Form, Section};
use crate::text::tree::ScenarioError;

/// How packets cross a link that is no wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Medium {
    /// Wi-Fi.
    Wifi(Wifi),
    /// LTE or NR.
    Cellular(Cellular),
    /// The upstream of a cable modem.
    Docsis(Docsis),
}

/// The rate of a link before its medium takes its share.
#[derive(Clone, Debug, PartialEq)]
pub struct Phy {
    /// The rate as it is written.
    pub rate: Rate,
    /// How it changes, as it is written.
    pub varying: Option<Varying>,
    /// The highest of its rates.
    pub highest: Rate,
    /// Bytes of the packets that the link's rate is of.
    pub packet: u64,
    /// Bytes of the largest packet.
    pub largest: u64,
}

/// A kind of medium as the key `kind` names it.
struct Kind {
    name: &'static str,
    meaning: &'static str,
    plain: fn() -> Medium,
    read: fn(&Cursor<'_>, &Context<'_>) -> Result<Medium, ScenarioError>,
    texts: fn() -> Vec<KeyText>,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "wifi",
        meaning: "Wi-Fi: aggregates of frames after contention (IEEE 802.11n and ac).",
        plain: || Medium::Wifi(Wifi::defaults()),
        read: |at, context| Wifi::read_beside(at, &["kind"], context).map(Medium::Wifi),
        texts: Wifi::texts,
    },
    Kind {
        name: "cellular",
        meaning: "LTE or NR: blocks in slots, each repeated until it has arrived.",
        plain: || Medium::Cellular(Cellular::defaults()),
        read: |at, context| Cellular::read_beside(at, &["kind"], context).map(Medium::Cellular),
        texts: Cellular::texts,
    },
    Kind {
        name: "docsis",
        meaning: "Upstream of a cable modem: the modem requests and the CMTS grants bytes (DOCSIS).",
        plain: || Medium::Docsis(Docsis::defaults()),
        read: |at, context| Docsis::read_beside(at, &["kind"], context).map(Medium::Docsis),
        texts: Docsis::texts,
    },
];

/// The form of `medium`: a kind with its defaults, or a table with `kind` and its keys.
pub(crate) struct MediumForm;

impl Form<Medium> for MediumForm {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Medium, ScenarioError> {
        if at.text().is_some() {
            return Ok((kind_at(at)?.plain)());
        }
        at.entries().map_err(|_| at.error(self.grammar().allowed))?;
        let kind = at.require("kind", "\"wifi\"")?;
        (kind_at(&kind)?.read)(at, context)
    }

    fn write(&self, medium: &Medium, context: &Context<'_>) -> Option<Value> {
        let (kind, keys) = match medium {
            Medium::Wifi(wifi) => ("wifi", wifi.write(context)),
            Medium::Cellular(cellular) => ("cellular", cellular.write(context)),
            Medium::Docsis(docsis) => ("docsis", docsis.write(context)),
        };
        let mut table = json!({ "kind": kind });
        table.as_object_mut()?.extend(keys);
        Some(table)
    }

    fn grammar(&self) -> Grammar {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let mut forms = vec![json!({ "enum": names })];
        let mut keys = Vec::new();
        for kind in &KINDS {
            let word = Grammar::new(json!({"const": kind.name}), "");
            keys.push(KeyText::of(kind.name, kind.meaning, word));
            let mut entries = vec![entry("kind", json!({"const": kind.name}))];
            entries.extend((kind.texts)());
            let mut schema = object(&entries);
            schema["required"] = json!(["kind"]);
            schema["description"] = kind.meaning.into();
            forms.push(schema);
        }
        for kind in &KINDS {
            keys.extend((kind.texts)());
        }
        let allowed = format!("{}, or a table with `kind` and its keys", names.join(", "));
        Grammar::new(json!({ "oneOf": forms }), allowed).with_keys(keys)
    }
}

fn kind_at(at: &Cursor<'_>) -> Result<&'static Kind, ScenarioError> {
    let names = || KINDS.iter().map(|kind| kind.name);
    let Some(text) = at.text() else {
        return Err(at.error(names().collect::<Vec<_>>().join(", ")));
    };
    let found = KINDS.iter().find(|kind| kind.name == text);
    found.ok_or_else(|| at.unknown("medium", text, names()))
}

#[cfg(test)]
mod tests {
    use forebay_units::Time;

    use crate::model::scenario::Scenario;
    use crate::text::overrides::Override;
    use crate::text::tree::{Format, ScenarioError};

    fn with_medium(rate: &str, medium: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "[link]\nrate = {rate}\nmedium = {medium}\nbuffer = \"1BDP\"\n[[flows]]\nrtt = \"100ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "x.toml", &[])
    }

    /// All values in units of the rate refer to the rate that the medium carries.
    #[test]
    fn the_rate_is_what_the_medium_carries() {
        let scenario = with_medium("\"390Mbps\"", "\"wifi\"").unwrap();
        let link = scenario.target();
        assert_eq!(link.rate.to_string(), "341.257498Mbps");
        let bits = link.rate.as_bits_per_second() as f64;
        assert_eq!(scenario.buffer().bytes, (bits / 8.0 * 0.1).floor());
        let notes = scenario.averages();
        assert_eq!(notes[0].values["average_bps"], bits);
        assert!(notes[0].text.contains("of its 390Mbps"), "{notes:?}");
        assert!(
            with_medium("\"390Mbps\"", "{ kind = \"wifi\", stations = 4 }")
                .unwrap()
                .target()
                .rate
                < link.rate
        );
        // An offered load is of that, too.
        let load = "[link]\nrate = \"390Mbps\"\nmedium = \"wifi\"\nbuffer = \"9p\"\n[[flows]]\nrtt = \"1ms\"\nworkload = { open_loop = { load = 0.5, size = \"10p\" } }";
        let load = Scenario::parse(load, Format::Toml, "x", &[]).unwrap();
        assert!(
            (load.open_loop_load() - 0.5).abs() < 1e-6,
            "{}",
            load.open_loop_load()
        );
    }

    /// The manual's table.
    #[test]
    fn the_manual_says_what_is_left() {
        for (medium, megabits) in [
            ("\"wifi\"", 341.0),
            ("{ kind = \"wifi\", frames = 1 }", 51.2),
            ("{ kind = \"wifi\", stations = 3 }", 76.0),
            (
                "{ kind = \"wifi\", stations = 3, slow = \"6500kbps\" }",
                61.8,
            ),
        ] {
            let rate = with_medium("\"390Mbps\"", medium).unwrap().target().rate;
            let found = rate.as_bits_per_second() as f64 / 1e6;
            assert!((found / megabits - 1.0).abs() < 0.005, "{medium} {found}");
        }
    }

    /// A share of each rate is left: of steps, of drawn ones, and of what outages leave.
    #[test]
    fn repeats_take_their_share_of_every_rate() {
        for (rate, megabits) in [
            ("\"10Mbps\"", 9.0),
            (
                "{ steps = [[\"0s\", \"10Mbps\"], [\"1s\", \"20Mbps\"]], repeat = \"2s\" }",
                13.5,
            ),
            (
                "{ markov = [{ rate = \"10Mbps\", mean_time = \"1s\" }, { rate = \"20Mbps\", mean_time = \"3s\" }] }",
                15.75,
            ),
            ("\"10Mbps\"\noutages = [[\"7s\", \"7s\"]]", 8.1),
        ] {
            let scenario = with_medium(rate, "\"cellular\"").unwrap();
            let link = scenario.target();
            assert!(
                (link.rate.as_bits_per_second() as f64 / 1e6 - megabits).abs() < 1e-5,
                "{rate} {}",
                link.rate
            );
            let measured = link.mean_rate(Time::ZERO, scenario.run().end());
            assert!(
                (measured / 1e6 - megabits).abs() < 1e-5,
                "{rate} {measured}"
            );
            let json = scenario.canonical_json();
            let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
            assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
        }
    }

    #[test]
    fn the_canonical_form_reads_back_and_takes_changes() {
        let scenario = with_medium("\"390Mbps\"", "\"wifi\"").unwrap();
        let json = scenario.canonical_json();
        assert!(json.contains(r#""rate":"390Mbps""#), "{json}");
        assert!(json.contains(r#""medium":{"kind":"wifi"}"#), "{json}");
        let again = Scenario::parse(&json, Format::Json, "y", &[]).unwrap();
        assert_eq!((again.sha256(), &again), (scenario.sha256(), &scenario));
        let changes = [Override::parse("link.medium.frames=1").unwrap()];
        let single = with_medium("\"390Mbps\"", "{ kind = \"wifi\", frames = 1 }").unwrap();
        let changed = scenario.with(&changes).unwrap();
        assert_eq!(changed.target().medium, single.target().medium);
        assert_eq!(changed.target().rate, single.target().rate);
        let faster = [Override::parse("link.rate=780Mbps").unwrap()];
        assert!(scenario.with(&faster).unwrap().target().rate > scenario.target().rate);
    }

    #[test]
    fn what_is_no_medium_is_refused_in_a_line() {
        for (rate, medium, found) in [
            ("\"1Mbps\"", "3", "link.medium: found `3`; allowed: wifi"),
            ("\"1Mbps\"", "\"wify\"", "unknown medium `wify`"),
            ("\"1Mbps\"", "{}", "found no `kind`"),
            ("\"1Mbps\"", "{ kind = 3 }", "link.medium.kind: found `3`"),
            (
                "\"1Mbps\"",
                "{ kind = \"wifi\", frame = 3 }",
                "link.medium.frame",
            ),
            (
                "\"1Mbps\"",
                "{ kind = \"wifi\", frames = 0 }",
                "link.medium.frames: found `0`",
            ),
            (
                "\"1kbps\"",
                "\"wifi\"",
                "link.rate: found a medium that carries",
            ),
            (
                "\"10Mbps\"\noutages = [[\"1s\", \"1s\"]]",
                "\"wifi\"",
                "link.outages: found outages; allowed: none on Wi-Fi",
            ),
            (
                "\"10Mbps\"\noutages = { times = [[\"1s\", \"1s\"]], flush = true }",
                "\"cellular\"",
                "link.outages: found `flush`; allowed: outages in which packets wait",
            ),
            (
                "\"10Mbps\"\nshaper = { rate = \"2Mbps\", burst = \"3kB\" }",
                "\"wifi\"",
                "link.shaper: found a shaper; allowed: none in front of a medium",
            ),
            (
                "{ opportunities = \"1\" }",
                "\"cellular\"",
                "link.rate: found opportunities; allowed: a rate",
            ),
            (
                "\"63kbps\"",
                "\"cellular\"",
                "link.medium: found a slot of 1ms at 63kbps; allowed: slots of 8 B",
            ),
            (
                "{ steps = [[\"0s\", \"1Mbps\"], [\"1s\", \"2Mbps\"]] }",
                "\"wifi\"",
                "link.rate: found a rate that changes; allowed: a constant one",
            ),
            (
                "\"1Mbps\"\nrate_layer = \"l2\"",
                "\"wifi\"",
                "link.rate_layer: found `l2`; allowed: l3",
            ),
        ] {
            let error = with_medium(rate, medium).unwrap_err().to_string();
            assert!(error.contains(found), "{rate} {medium}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
