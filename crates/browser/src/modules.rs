//! WebAssembly modules of users: a scenario holds one in Base64 beside its name. Each module needs
//! the consent of the user, by its SHA-256, before [`crate::request`] reads the scenario.

use std::cell::RefCell;

use forebay_scenario::Code;
use forebay_webassembly::{Limits, Module, register};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{Fault, Refusal};

/// Keys of the name and of the content of a module.
const WASM: &str = "wasm";
const SOURCE: &str = "source";
/// Longest name of a file that a page shows, in characters.
const MOST_NAME: usize = 60;

thread_local! {
    /// SHA-256 of the registered modules.
    static KNOWN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A module that a page asks its user about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Wanted {
    file: String,
    sha256: String,
}

/// Whether a text may name a module. Other scenarios need no second reading.
pub(crate) fn mentions_module(text: &str) -> bool {
    text.contains(WASM)
}

/// Registers the modules of a scenario, given as it is written. `allowed` has the SHA-256 of those
/// that the user lets run.
pub(crate) fn admit_all(written: &Value, allowed: &[String]) -> Result<(), Refusal> {
    let groups = written["flows"].as_array().map_or(&[][..], Vec::as_slice);
    for (number, group) in groups.iter().enumerate() {
        let Some(place) = group["cca"][WASM].as_str() else {
            continue;
        };
        let key = format!("flows.{number}.cca");
        let Some(source) = group["cca"][SOURCE].as_str() else {
            let message = format!(
                "`{key}`: found `{}` without its content; allowed: the key `source` beside it, with \
                 the file in Base64",
                shown(place)
            );
            return Err(Refusal::of_code(Fault::Scenario, message, Some(key)));
        };
        let code = code(place, source);
        let sha256 = code.sha256();
        if allowed.contains(&sha256) {
            admit(&code, sha256)?;
            continue;
        }
        let file = shown(code.file());
        let message = format!(
            "The author of this scenario added code, `{file}`, which has no access to your files or to \
             the network."
        );
        let refusal = Refusal::of_code(Fault::Consent, message, Some(key));
        return Err(Refusal {
            module: Some(Wanted { file, sha256 }),
            ..refusal
        });
    }
    Ok(())
}

/// Registers a module that the user has opened. The answer has its name as a controller, its
/// SHA-256 and its facts.
pub(crate) fn open(file: &str, source: &str) -> Result<Value, Refusal> {
    let code = code(file, source);
    if !code.is_wasm() {
        let message = format!("found `{}`; allowed: a file `NAME.wasm`", shown(file));
        return Err(Refusal::of_code(Fault::Code, message, None));
    }
    let sha256 = code.sha256();
    admit(&code, sha256.clone())?;
    Ok(json!({ "name": code.name(), "sha256": sha256 }))
}

fn code(place: &str, source: &str) -> Code {
    Code {
        place: place.to_owned(),
        source: source.to_owned(),
        kernel: None,
    }
}

/// Checks and registers a module, unless it is known.
fn admit(code: &Code, sha256: String) -> Result<(), Refusal> {
    let name = code.name();
    if KNOWN.with_borrow(|known| known.contains(&sha256)) {
        return Ok(());
    }
    let file = shown(code.file());
    let made = decoded(&code.source)
        .ok_or_else(|| format!("{file}: found a `source` that is no Base64"))
        .and_then(|bytes| Module::compile(&file, &bytes, Limits::default()))
        .and_then(|module| register(&name, module));
    made.map_err(|message| Refusal::of_code(Fault::Code, message, None))?;
    KNOWN.with_borrow_mut(|known| known.push(sha256));
    Ok(())
}

/// The name of a file in one line.
fn shown(file: &str) -> String {
    let plain = |c: &char| c.is_ascii_graphic() || c.is_alphanumeric() || *c == ' ';
    file.chars().filter(plain).take(MOST_NAME).collect()
}

/// The bytes of a text in Base64 (RFC 4648, section 4), with its padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    // Unused bits of the last digit are zeros.
    (bits & ((1 << count) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_bytes_of_rfc_4648() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decoded("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        for text in [
            "Zg", "Zg=", "Z===", "Zh==", "Zm9=", "Z g=", "Zm9v\n", "====",
        ] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn a_shown_name_is_short_and_has_no_control_characters() {
        assert_eq!(shown("my\u{202e}\nfile.wasm"), "myfile.wasm");
        assert_eq!(shown(&"x".repeat(1000)).len(), MOST_NAME);
    }
}
