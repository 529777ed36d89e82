//! The key `assumed`: the values of a scenario that nothing has measured, a sentence each. It
//! changes no run; `recommend` lists the sentences and states no confidence.

use serde_json::{Value, json};

use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

/// The key's name.
pub(crate) const ASSUMED: &str = "assumed";
/// The most sentences, and the most characters of one.
const MOST: usize = 100;
const MOST_CHARACTERS: usize = 400;

/// Checks that the key, where it is there, is a list of texts.
pub(crate) fn check(root: &Cursor<'_>) -> Result<(), ScenarioError> {
    let Some(assumed) = root.get(ASSUMED) else {
        return Ok(());
    };
    let items = assumed
        .items()
        .filter(|items| items.len() <= MOST)
        .ok_or_else(|| assumed.error(format!("a list of at most {MOST} texts")))?;
    for item in items {
        item.short(item.text(), MOST_CHARACTERS)?;
    }
    Ok(())
}

/// The key as a JSON Schema.
pub(crate) fn schema() -> Value {
    json!({
        "type": "array",
        "description": "what stands here without being measured; `recommend` lists it and states no confidence",
        "maxItems": MOST,
        "items": {"type": "string", "maxLength": MOST_CHARACTERS},
    })
}

#[cfg(test)]
mod tests {
    use crate::{Format, Scenario};

    fn read(line: &str) -> Result<Scenario, String> {
        let text = format!(
            "{line}\n[link]\nrate = \"1Gbps\"\nbuffer = \"9p\"\n[[flows]]\nrtt = \"9ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "link.toml", &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn assumptions_change_nothing() {
        let with = read("assumed = [\"packets come at random\"]").unwrap();
        assert_eq!(with.canonical_json(), read("").unwrap().canonical_json());
    }

    #[test]
    fn assumptions_are_texts() {
        for line in [
            "assumed = \"all\"",
            "assumed = [1]",
            "assumed = [\"a\\u0007\"]",
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains("link.toml:1: assumed"), "{error}");
        }
    }
}
