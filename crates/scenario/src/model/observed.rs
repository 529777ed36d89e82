//! The table `[observed]`: what `forebay observe` knows of keys that it leaves out because its
//! input does not identify their values. A reader that misses such a key says the bound and how to
//! find the value.

use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::naming::shortened;
use crate::text::tree::{ScenarioError, ValueError};

/// The section's name, and the tables in it.
pub(crate) const OBSERVED: &str = "observed";
const BOUNDS: &str = "bounds";
/// The keys of a bound: its two ends, and how to find the value.
const AT_LEAST: &str = "at_least";
const AT_MOST: &str = "at_most";
const FIND: &str = "find";
/// The most characters of a text.
const MOST_CHARACTERS: usize = 400;
/// The most bounds.
const MOST_BOUNDS: usize = 10_000;

/// Checks the table: bounds by dotted key, each a table of texts.
pub(crate) fn check(root: &Cursor<'_>) -> Result<(), ScenarioError> {
    let Some(observed) = root.get(OBSERVED) else {
        return Ok(());
    };
    observed.only(&[BOUNDS])?;
    let Some(bounds) = observed.get(BOUNDS) else {
        return Ok(());
    };
    let entries = bounds.entries()?;
    if entries.len() > MOST_BOUNDS {
        return Err(bounds.error(format!("at most {MOST_BOUNDS} keys")));
    }
    for (_, bound) in entries {
        bound.only(&[AT_LEAST, AT_MOST, FIND])?;
        for (_, text) in bound.entries()? {
            text.short(text.text(), MOST_CHARACTERS)?;
        }
    }
    Ok(())
}

/// The same error; of a key that is missing and has a bound, with the bound and how to find the
/// value.
pub(crate) fn explain(root: &Cursor<'_>, error: ScenarioError) -> ScenarioError {
    explained(root, &error).unwrap_or(error)
}

fn explained(root: &Cursor<'_>, error: &ScenarioError) -> Option<ScenarioError> {
    let ValueError::Value { found, .. } = &*error.value_error else {
        return None;
    };
    let name = found.strip_prefix("no `")?.strip_suffix('`')?;
    let parent = dotted(root, &error.key);
    let key = format!("{parent}.{name}");
    let bounds = root.get(OBSERVED)?.get(BOUNDS)?;
    let bound = bounds.get(&key)?;
    let text = |part: &str| bound.get(part).and_then(|it| it.text()).map(str::to_owned);
    let ends = [
        text(AT_LEAST).map(|end| format!("at least {}", shortened(&end))),
        text(AT_MOST).map(|end| format!("at most {}", shortened(&end))),
    ];
    let ends: Vec<_> = ends.into_iter().flatten().collect();
    let (known, assume) = if ends.is_empty() {
        (String::new(), "")
    } else {
        let known = format!(", and was observed to be {}", ends.join(" and "));
        (known, "; `recommend --assume-lower-bounds` takes the bound")
    };
    let find = text(FIND).map_or(String::new(), |find| format!(" ({find})"));
    let found = format!("no value{known}");
    let allowed = format!("a value in the file, or `--set {key}=VALUE`{find}{assume}");
    Some(ScenarioError {
        source: error.source.clone(),
        key,
        value_error: Box::new(ValueError::value(found, allowed)),
    })
}

/// A key as a change names it: `flows.web.rtt`, not `flows[0].rtt`.
fn dotted(root: &Cursor<'_>, key: &str) -> String {
    let Some((list, rest)) = key.split_once('[') else {
        return key.to_owned();
    };
    let Some((number, rest)) = rest.split_once(']') else {
        return key.to_owned();
    };
    let items = root.get(list).and_then(|it| it.items());
    let item = number
        .parse::<usize>()
        .ok()
        .and_then(|at| items?.into_iter().nth(at));
    let name = item.and_then(|it| it.get("name").and_then(|name| name.text()));
    format!("{list}.{}{rest}", name.unwrap_or(number))
}

/// The table as a JSON Schema.
pub(crate) fn schema() -> Value {
    let text = || json!({"type": "string", "maxLength": MOST_CHARACTERS});
    json!({
        "type": "object",
        "description": "what `observe` knows of keys that it leaves out",
        "additionalProperties": false,
        "properties": {BOUNDS: {
            "type": "object",
            "maxProperties": MOST_BOUNDS,
            "additionalProperties": {
                "type": "object",
                "additionalProperties": false,
                "properties": {AT_LEAST: text(), AT_MOST: text(), FIND: text()},
            },
        }},
    })
}

#[cfg(test)]
mod tests {
    use crate::{Format, Override, Scenario};

    const TEXT: &str = "[link]\nbuffer = \"100p\"\n[[flows]]\nname = \"web\"\n[observed.bounds]\n\
        \"link.rate\" = { at_least = \"9.97Mbps\", find = \"read ifHighSpeed\" }\n\
        \"flows.web.rtt\" = { at_most = \"40ms\" }\n";

    fn error(text: &str, changes: &[&str]) -> String {
        let changes: Vec<_> = changes
            .iter()
            .map(|it| Override::parse(it).unwrap())
            .collect();
        let read = Scenario::parse(text, Format::Toml, "link.toml", &changes);
        read.unwrap_err().to_string()
    }

    #[test]
    fn a_missing_key_is_named_with_its_bound_and_how_to_find_it() {
        let rate = error(TEXT, &[]);
        assert!(
            rate.starts_with("link.toml:1: link.rate: found no value"),
            "{rate}"
        );
        assert!(rate.contains("at least 9.97Mbps"), "{rate}");
        assert!(rate.contains("read ifHighSpeed"), "{rate}");
        assert!(rate.contains("--assume-lower-bounds"), "{rate}");
        let trip = error(TEXT, &["link.rate=10Mbps"]);
        assert!(trip.contains("flows.web.rtt: found no value"), "{trip}");
        assert!(trip.contains("at most 40ms"), "{trip}");
    }

    #[test]
    fn bounds_of_keys_with_values_change_nothing() {
        let changes =
            ["link.rate=10Mbps", "flows.web.rtt=20ms"].map(|it| Override::parse(it).unwrap());
        let read = |text: &str| Scenario::parse(text, Format::Toml, "link.toml", &changes).unwrap();
        let bare = TEXT.split_once("[observed").unwrap().0;
        assert_eq!(read(TEXT).canonical_json(), read(bare).canonical_json());
    }

    #[test]
    fn a_bound_is_a_table_of_texts() {
        let with = |table: &str| format!("{}{table}\n", TEXT.split_once("[observed").unwrap().0);
        for (table, place) in [
            ("[observed]\nrates = 1", "observed.rates"),
            (
                "[observed.bounds]\n\"link.rate\" = 1",
                "observed.bounds.link.rate",
            ),
            (
                "[observed.bounds]\n\"link.rate\" = { at_least = 1 }",
                "link.rate.at_least",
            ),
            (
                "[observed.bounds]\n\"link.rate\" = { least = \"1\" }",
                "link.rate.least",
            ),
        ] {
            let found = error(&with(table), &["link.rate=10Mbps", "flows.web.rtt=20ms"]);
            assert!(found.contains(place), "{table}: {found}");
        }
    }
}
