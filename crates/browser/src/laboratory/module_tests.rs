//! Tests of users' modules: consent, and the failure of a call. Here Wasmtime runs them; in a page
//! the browser does (`lab/test/user_modules.test.ts`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_units::custom::CodeError;
use serde_json::{Value, json};

use super::tests::asked;
use super::*;

/// A controller that keeps a window of three packets. `body` runs at each acknowledgment.
fn module(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 1)
        (data (i32.const 1024) "{{\"title\": \"Three\", \"state_bytes\": 0}}\00")
        (func (export "forebay_abi") (result i32) i32.const 1)
        (func (export "forebay_describe") (result i32) i32.const 1024)
        (func (export "forebay_exchange") (result i32) i32.const 2048)
        (func (export "create") (param i32)) (func (export "on_congestion_event") (param i32))
        (func (export "on_ack") (param i32) {body}))"#
    );
    wat::parse_str(text).expect("it is WebAssembly")
}

const THREE: &str = "(f64.store (i32.const 2048) (f64.const 3))";

fn in_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks(3).flat_map(|group| {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        (0..4).map(move |digit| {
            if digit > group.len() {
                '='
            } else {
                char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])
            }
        })
    });
    groups.collect()
}

fn text(source: &str) -> String {
    format!(
        "[link]\nrate = \"10Mbps\"\nbuffer = \"20p\"\n[[flows]]\nrtt = \"20ms\"\n\
         cca = {{ wasm = \"mine.wasm\", source = \"{source}\" }}\n\
         [run]\nwarmup = \"1s\"\nmeasure = \"1s\"\n"
    )
}

fn opened(laboratory: &mut Laboratory, source: &str) -> Value {
    let request = json!({ "do": "open", "file": "mine.wasm", "source": source });
    let (state, answer) = asked(laboratory, &request);
    assert_eq!(state, State::Done, "{answer}");
    json!([answer["sha256"]])
}

#[test]
fn a_scenario_with_a_module_waits_for_the_consent_of_the_user() {
    let mut laboratory = Laboratory::default();
    let source = in_base64(&module(THREE));
    let request = json!({ "do": "begin", "text": text(&source) });
    let (state, refusal) = asked(&mut laboratory, &request);
    assert_eq!(
        (state, &refusal["kind"]),
        (State::Refused, &json!("consent"))
    );
    assert_eq!(refusal["module"]["file"], "mine.wasm");
    let playable = asked(
        &mut laboratory,
        &json!({ "do": "playable", "text": text(&source) }),
    );
    assert_eq!(playable.1["reason"]["kind"], "consent");
    let modules = opened(&mut laboratory, &source);
    assert_eq!(modules[0], refusal["module"]["sha256"]);
    let request = json!({ "do": "begin", "text": text(&source), "modules": modules });
    assert_eq!(asked(&mut laboratory, &request).0, State::Done);
    while laboratory.advance(Time::MAX, 1000) == State::Done {}
    let (state, report) = asked(&mut laboratory, &json!({ "do": "finish" }));
    assert_eq!(state, State::Done);
    // Three packets per round trip of 20 ms and their own transmission.
    let utilization = report["metrics"]["utilization"]["mean"].as_f64().unwrap();
    assert!((0.1..0.2).contains(&utilization), "{utilization}");
}

#[test]
fn consent_is_for_one_content() {
    let mut laboratory = Laboratory::default();
    let modules = opened(&mut laboratory, &in_base64(&module(THREE)));
    let other = text(&in_base64(&module("(nop)")));
    let request = json!({ "do": "check", "text": other, "modules": modules });
    assert_eq!(asked(&mut laboratory, &request).1["kind"], "consent");
}

#[test]
fn a_failure_of_a_call_ends_the_run_with_its_reason() {
    let mut laboratory = Laboratory::default();
    let source = in_base64(&module("(unreachable)"));
    let modules = opened(&mut laboratory, &source);
    let request = json!({ "do": "begin", "text": text(&source), "modules": modules });
    assert_eq!(asked(&mut laboratory, &request).0, State::Done);
    let run = AssertUnwindSafe(|| while laboratory.advance(Time::MAX, 1000) == State::Done {});
    let error = catch_unwind(run).expect_err("it fails");
    let error = error.downcast_ref::<CodeError>().expect("a code error");
    assert!(
        error.0.starts_with("mine.wasm: `on_ack` failed: "),
        "{error}"
    );
}

#[test]
fn wrong_modules_are_refused_in_one_line() {
    let mut laboratory = Laboratory::default();
    for (source, reason) in [
        ("AAA", "found a `source` that is no Base64"),
        ("AAAA", "found no WebAssembly module"),
        ("", "found no WebAssembly module"),
    ] {
        let request = json!({ "do": "open", "file": "mine.wasm", "source": source });
        let (state, refusal) = asked(&mut laboratory, &request);
        assert_eq!((state, &refusal["kind"]), (State::Refused, &json!("code")));
        let message = refusal["message"].as_str().unwrap();
        assert!(
            message.contains(reason) && !message.contains('\n'),
            "{message}"
        );
    }
    let request = json!({ "do": "check", "text": text("").replace(", source = \"\"", "") });
    let (_, refusal) = asked(&mut laboratory, &request);
    assert_eq!(refusal["kind"], "scenario");
    assert!(
        refusal["message"]
            .as_str()
            .unwrap()
            .contains("without its content")
    );
}
