//! Modules that are damaged, greedy or wrong end in one line that names the cause.

use std::panic::{AssertUnwindSafe, catch_unwind};

use forebay_congestion::custom::{CustomControl, registered};
use forebay_congestion::packet::{Ack, CongestionEvent, Path, Window};
use forebay_random::{Purpose, Seed, StreamKey};
use forebay_units::custom::CodeError;
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};
use forebay_webassembly::{Limits, Module, begin_run, register};

/// Little limits, so that tests are quick.
const LIMITS: Limits = Limits {
    call: 100_000,
    run: 1_000_000,
    memory: 64 << 20,
    table: 10_000,
};

/// A module that does nothing: `more` has further parts, and `on_ack` its body.
fn text(on_ack: &str, more: &str) -> String {
    format!(
        r#"(module {more}
        (memory (export "memory") 2)
        (global $fresh (mut i32) (i32.const 0))
        (data (i32.const 1024) "{{\"title\": \"Mine\", \"state_bytes\": 16, \"parameters\": [{{\"name\": \"gain\", \"default\": 2}}]}}\00")
        (func (export "forebay_abi") (result i32) i32.const 1)
        (func (export "forebay_describe") (result i32) i32.const 1024)
        (func (export "forebay_exchange") (result i32) i32.const 2048)
        (func (export "create") (param i32) (f64.store (local.get 0) (f64.load (i32.const 2048))))
        (func (export "on_congestion_event") (param i32)
            (f64.store (i32.const 2048) (f64.load (i32.const 2104))))
        (func (export "on_ack") (param i32) {on_ack}))"#
    )
}

fn compiled(text: &str) -> Result<Module, String> {
    let bytes = wat::parse_str(text).expect("it is WebAssembly");
    let module = Module::compile("mine.wasm", &bytes, LIMITS);
    module.inspect_err(|text| assert!(!text.contains('\n') && text.starts_with("mine.wasm: ")))
}

fn refusal(text: &str) -> String {
    compiled(text).map(drop).expect_err("it is refused")
}

fn window() -> Window {
    Window {
        cwnd: 10.0,
        ssthresh: 20.0,
    }
}

fn ack(control: &mut dyn CustomControl, window: &mut Window) {
    let ack = Ack {
        acked: 1.0,
        now: Time::from_millis(7),
    };
    control.on_ack(window, &ack, &Path::default());
}

/// A connection of a module.
fn control(name: &str, module: Module) -> Box<dyn CustomControl> {
    begin_run();
    register(name, module).expect("it has valid defaults");
    let custom = registered(name).expect("it was registered");
    let parameters = Parameters::defaults(custom.description.algorithm.parameters);
    let make = custom.make.expect("it runs here");
    let mut control = make(&parameters, key(7));
    control.on_open(Bytes::new(1448));
    control
}

fn key(flow: u64) -> StreamKey {
    StreamKey::new(Seed::default(), flow, Purpose::Controller)
}

/// The error of some work.
fn failure(work: impl FnOnce()) -> String {
    let error = catch_unwind(AssertUnwindSafe(work)).expect_err("it fails");
    let error = error.downcast_ref::<CodeError>().expect("a code error");
    assert!(!error.0.contains('\n') && error.0.starts_with("mine.wasm: "));
    error.0.clone()
}

/// The error of one acknowledgment.
fn ack_failure(name: &str, text: &str) -> String {
    let mut control = control(name, compiled(text).expect("it compiles"));
    failure(|| ack(&mut *control, &mut window()))
}

#[test]
fn a_plain_module_reads_and_writes_the_exchange() {
    let body = "(f64.store (i32.const 2048) (f64.add (f64.load (i32.const 2048))
        (f64.mul (f64.load (local.get 0)) (f64.load (i32.const 2104)))))";
    let module = compiled(&text(body, "")).expect("it compiles");
    assert_eq!(module.facts().title, "Mine");
    let mut control = control("plain", module);
    let mut window = window();
    ack(&mut *control, &mut window);
    // The gain is 2, and one packet was acknowledged.
    assert_eq!(window.cwnd, 12.0);
    let path = Path {
        flight: 8.0,
        ..Path::default()
    };
    control.on_congestion_event(&mut window, CongestionEvent::Loss, Time::ZERO, &path);
    assert_eq!(window.cwnd, 8.0);
    control.on_congestion_event(&mut window, CongestionEvent::Timeout, Time::ZERO, &path);
    assert_eq!(window.cwnd, 1.0);
    assert_eq!(control.recovery_floor(&window), 10.0);
    assert!(control.pacing(&window, &path).is_none());
}

#[test]
fn each_connection_has_a_state_of_its_own_and_a_copy_keeps_the_old_one() {
    let body = "(f64.store (local.get 0) (f64.add (f64.load (local.get 0)) (f64.const 1)))
        (f64.store (i32.const 2048) (f64.load (local.get 0)))";
    let module = compiled(&text(body, "")).expect("it compiles");
    let mut first = control("states", module);
    let custom = registered("states").expect("it was registered");
    let parameters = Parameters::defaults(custom.description.algorithm.parameters);
    let mut second = custom.make.expect("it runs here")(&parameters, key(8));
    let mut window = window();
    let count = |control: &mut dyn CustomControl, window: &mut Window| {
        ack(control, window);
        window.cwnd
    };
    assert_eq!(count(&mut *first, &mut window), 3.0);
    let mut copy = first.copied();
    assert_eq!(count(&mut *first, &mut window), 4.0);
    assert_eq!(count(&mut *second, &mut window), 3.0);
    assert_eq!(count(&mut *copy, &mut window), 4.0);
    drop(copy);
    let mut third = first.copied();
    assert_eq!(count(&mut *third, &mut window), 5.0);
}

#[test]
fn a_connection_that_ends_gives_its_state_back() {
    let body = "(f64.store (i32.const 2048) (f64.convert_i32_u (memory.size)))";
    let mut first = control("reused", compiled(&text(body, "")).expect("it compiles"));
    let custom = registered("reused").expect("it was registered");
    let parameters = Parameters::defaults(custom.description.algorithm.parameters);
    let make = custom.make.expect("it runs here");
    // A page has 4,096 states.
    for number in 0..20_000 {
        let mut other = make(&parameters, key(number));
        ack(&mut *other, &mut window());
    }
    let mut window = window();
    ack(&mut *first, &mut window);
    // Two pages of its own, and one for all states.
    assert_eq!(window.cwnd, 3.0);
}

#[test]
fn a_connection_of_an_earlier_run_reaches_no_state_of_the_present_one() {
    let body = "(f64.store (local.get 0) (f64.const 77))
        (f64.store (i32.const 2048) (f64.load (local.get 0)))";
    let module = compiled(&text(body, "")).expect("it compiles");
    let mut early = control("runs", module.clone());
    let mut late = control("runs", module);
    let found = failure(|| ack(&mut *early, &mut window()));
    assert!(found.contains("the run has ended"), "{found}");
    // Its end frees no state that another connection has.
    drop(early);
    let custom = registered("runs").expect("it was registered");
    let parameters = Parameters::defaults(custom.description.algorithm.parameters);
    let mut third = custom.make.expect("it runs here")(&parameters, key(9));
    let before = late.copied();
    ack(&mut *third, &mut window());
    assert_eq!(before.recovery_floor(&window()), 10.0);
    ack(&mut *late, &mut window());
}

#[test]
fn an_endless_loop_ends() {
    let found = ack_failure("loop", &text("(loop (br 0))", ""));
    assert!(found.contains("`on_ack` needs more than 100000 instructions (in `on_ack` at 7ms"));
}

#[test]
fn a_run_has_a_budget_of_instructions() {
    let body = "(local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if 0 (i32.lt_u (local.get $i) (i32.const 9000))))";
    let mut control = control("budget", compiled(&text(body, "")).expect("it compiles"));
    let found = failure(|| {
        for _ in 0..100 {
            ack(&mut *control, &mut window());
        }
    });
    assert!(
        found.contains("the run needs more than 1000000 instructions"),
        "{found}"
    );
}

#[test]
fn calls_that_fail_are_named() {
    let recursion = "(func $deep (param i32) (call $deep (local.get 0)))";
    let segment = r#"(data $passive "abc")"#;
    let table = "(table $t 1 funcref)";
    for (name, body, more, words) in [
        (
            "grow",
            "(drop (memory.grow (i32.const 160000)))",
            "",
            "found a memory of",
        ),
        ("unreachable", "unreachable", "", "`unreachable`"),
        (
            "range",
            "(drop (i32.load (i32.const 0x7fffffff)))",
            "",
            "out of bounds memory access",
        ),
        (
            "store",
            "(i32.store (i32.const -4) (i32.const 1))",
            "",
            "out of bounds memory access",
        ),
        (
            "deep",
            "(call $deep (i32.const 0))",
            recursion,
            "call stack exhausted",
        ),
        (
            "passive",
            "(memory.init $passive (i32.const 0) (i32.const 2) (i32.const 9))",
            segment,
            "out of bounds memory access",
        ),
        (
            "table",
            "(drop (table.grow $t (ref.null func) (i32.const 1000000)))",
            table,
            "found a table of",
        ),
        (
            "divide",
            "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
            "",
            "integer divide by zero",
        ),
        (
            "nan",
            "(f64.store (i32.const 2048) (f64.const nan))",
            "",
            "the window NaN",
        ),
        (
            "negative",
            "(f64.store (i32.const 2048) (f64.const -1))",
            "",
            "the window -1",
        ),
        (
            "huge",
            "(f64.store (i32.const 2048) (f64.const 1e300))",
            "",
            "from 0 to 2^24",
        ),
        (
            "infinite",
            "(f64.store (i32.const 2048) (f64.const inf))",
            "",
            "the window inf",
        ),
        (
            "threshold",
            "(f64.store (i32.const 2056) (f64.const nan))",
            "",
            "the threshold NaN",
        ),
    ] {
        let found = ack_failure(name, &text(body, more));
        assert!(found.contains(words), "{name}: {found}");
        assert!(
            found.contains("in `on_ack` at 7ms, window 10.000000 packets"),
            "{found}"
        );
    }
}

#[test]
fn wrong_rates_and_floors_are_named() {
    let function = |name: &str, value: &str| {
        let more =
            format!(r#"(func (export "{name}") (param i32) (result f64) (f64.const {value}))"#);
        text("", &more)
    };
    for (value, is_wrong) in [
        ("-1", true),
        ("nan", true),
        ("inf", true),
        ("0", false),
        ("1448", false),
    ] {
        let module = compiled(&function("pacing_rate", value)).expect("it compiles");
        // The engine asks a sender for its pace only if it knows the times of its packets.
        assert_eq!(module.facts().samples, "round_trips");
        let control = control(&format!("rate{value}"), module);
        let pace = catch_unwind(AssertUnwindSafe(|| {
            control.pacing(&window(), &Path::default())
        }));
        assert_eq!(pace.is_err(), is_wrong, "{value}");
        if value == "1448" {
            let pace = pace.expect("no error").expect("it paces");
            assert_eq!(pace.rate, 0.125);
        }
    }
    for value in ["-1", "nan"] {
        let module = compiled(&function("recovery_floor", value)).expect("it compiles");
        let control = control(&format!("floor{value}"), module);
        let found = failure(|| {
            control.recovery_floor(&window());
        });
        assert!(found.contains("`recovery_floor` returned"), "{found}");
    }
}

#[test]
fn random_numbers_are_those_of_the_connection() {
    let import = r#"(import "forebay" "random_uniform" (func $random (result f64)))"#;
    let body = "(f64.store (i32.const 2048) (f64.add (f64.const 2) (call $random)))";
    let mut control = control(
        "random",
        compiled(&text(body, import)).expect("it compiles"),
    );
    let mut stream = key(7).stream();
    for _ in 0..3 {
        let mut window = window();
        ack(&mut *control, &mut window);
        assert_eq!(window.cwnd, 2.0 + stream.uniform());
    }
}

#[test]
fn functions_of_the_host_have_the_bits_of_libm() {
    for (name, expected) in [
        ("cbrt", libm::cbrt(10.0)),
        ("exp", libm::exp(10.0)),
        ("log", libm::log(10.0)),
    ] {
        let import = format!(r#"(import "forebay" "{name}" (func $f (param f64) (result f64)))"#);
        let body = "(f64.store (i32.const 2048) (call $f (f64.load (i32.const 2048))))";
        let module = compiled(&text(body, &import)).expect("it compiles");
        let mut control = control(name, module);
        let mut window = window();
        ack(&mut *control, &mut window);
        assert_eq!(window.cwnd, expected);
    }
}

#[test]
fn imports_of_others_are_refused_by_name() {
    for (module, name, ty) in [
        (
            "wasi_snapshot_preview1",
            "fd_write",
            "(param i32 i32 i32 i32) (result i32)",
        ),
        ("env", "abort", ""),
        ("forebay", "now", "(result f64)"),
        ("forebay", "cbrt", "(param f32) (result f32)"),
    ] {
        let import = format!(r#"(import "{module}" "{name}" (func {ty}))"#);
        let found = refusal(&text("", &import));
        assert!(found.contains(&format!("`{module}.{name}`")), "{found}");
    }
    let found = refusal(&text("", r#"(import "env" "t" (table 1 funcref))"#));
    assert!(found.contains("`env.t`"), "{found}");
}

#[test]
fn missing_and_wrong_exports_are_named() {
    let plain = text("", "");
    for (from, to, words) in [
        (
            r#"(export "on_ack")"#,
            "",
            "found no export `on_ack` or `on_sample`",
        ),
        (r#"(export "create")"#, "", "found no export `create`"),
        (r#"(export "memory")"#, "", "found no export `memory`"),
        (
            r#"(func (export "on_ack") (param i32)"#,
            r#"(func (export "on_ack") (param f64)"#,
            "allowed: (i32)",
        ),
        (
            r#"(func (export "forebay_abi") (result i32) i32.const 1)"#,
            r#"(global (export "forebay_abi") i32 (i32.const 1))"#,
            "found no function",
        ),
        (
            "i32.const 1)",
            "i32.const 2)",
            "`forebay_abi` returned 2; allowed: 1",
        ),
        (
            "(result i32) i32.const 1024)",
            "(result i32) i32.const -9)",
            "found no text",
        ),
        (
            "(result i32) i32.const 2048)",
            "(result i32) i32.const 131000)",
            "`forebay_exchange` returned 131000",
        ),
        (
            "(result i32) i32.const 2048)",
            "(result i32) i32.const 2049)",
            "a multiple of 8",
        ),
        (
            "(result i32) i32.const 2048)",
            "(result i32) unreachable)",
            "`forebay_exchange` failed",
        ),
        ("state_bytes", "state", "unknown field"),
        (
            r#"(memory (export "memory") 2)"#,
            r#"(memory (export "memory") 2000)"#,
            "found a memory of 131072000 bytes; allowed: 64 MiB",
        ),
        (
            r#"(memory (export "memory") 2)"#,
            r#"(memory (export "memory") i64 2)"#,
            "not valid",
        ),
    ] {
        let changed = plain.replacen(from, to, 1);
        assert_ne!(changed, plain, "{from}");
        let found = refusal(&changed);
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn modules_that_do_not_start_are_refused() {
    for (more, words) in [
        ("(start $s) (func $s unreachable)", "`unreachable`"),
        (
            "(start $s) (func $s (loop (br 0)))",
            "too many instructions",
        ),
        ("(table 1000000000 funcref)", "found a table of"),
        (
            r#"(data (i32.const 131070) "abc")"#,
            "out of bounds memory access",
        ),
    ] {
        let found = refusal(&text("", more));
        assert!(
            found.contains("does not start") && found.contains(words),
            "{found}"
        );
    }
}

#[test]
fn files_that_are_no_modules_are_refused() {
    let whole = wat::parse_str(text("", "")).expect("valid");
    let large = [b"\0asm\x01\0\0\0".as_slice(), &vec![0; 2 << 20]].concat();
    let mut tried = vec![
        (b"hello".to_vec(), "found no WebAssembly module"),
        (Vec::new(), "found no"),
    ];
    tried.push((text("", "").into_bytes(), "found no WebAssembly module"));
    tried.push((large, "allowed: at most 1048576"));
    tried.push((whole[..whole.len() / 2].to_vec(), "not valid"));
    tried.push((b"\0asm\x0d\0\x01\0".to_vec(), "not valid"));
    for (bytes, words) in tried {
        let found = Module::compile("mine.wasm", &bytes, LIMITS).map(drop);
        let found = found.expect_err("it is refused");
        assert!(found.contains(words) && !found.contains('\n'), "{found}");
    }
    // The last section has only names: a module is whole without it.
    let valid =
        (0..whole.len()).filter(|end| Module::compile("mine.wasm", &whole[..*end], LIMITS).is_ok());
    assert!(valid.count() <= 1);
}

/// x86 makes NaNs with a sign, ARM without one.
#[test]
fn the_bits_of_a_nan_are_the_canonical_ones_wherever_a_module_sees_them() {
    let nan_64 = "(f64.div (f64.const -0) (f64.mul (f64.load (i32.const 3000)) (f64.const 0)))";
    let nan_32 = "(f32.div (f32.const -0) (f32.mul (f32.load (i32.const 3000)) (f32.const 0)))";
    let (canonical_64, canonical_32) = (0x7ff8_0000_0000_0000_u64, 0x7fc0_0000_u64);
    let other_64 = "(f64.const -nan:0xc000000000001)";
    let other_32 = "(f32.const -nan:0x600001)";
    let mut cases = Vec::new();
    for (index, nan) in [nan_64, other_64, "(f64.neg (f64.const nan))"]
        .into_iter()
        .enumerate()
    {
        let stored = format!("(f64.store (i32.const 4000) {nan}) (i64.load (i32.const 4000))");
        let copied = format!("(i64.reinterpret_f64 (f64.copysign (f64.const 1) {nan}))");
        cases.push((format!("stored64_{index}"), stored, canonical_64));
        cases.push((
            format!("cast64_{index}"),
            format!("(i64.reinterpret_f64 {nan})"),
            canonical_64,
        ));
        cases.push((format!("sign64_{index}"), copied, 1.0_f64.to_bits()));
    }
    for (index, nan) in [nan_32, other_32, "(f32.neg (f32.const nan))"]
        .into_iter()
        .enumerate()
    {
        let stored = format!("(f32.store (i32.const 4000) {nan}) (i64.load32_u (i32.const 4000))");
        let cast = format!("(i64.extend_i32_u (i32.reinterpret_f32 {nan}))");
        let copied =
            format!("(i64.extend_i32_u (i32.reinterpret_f32 (f32.copysign (f32.const 1) {nan})))");
        cases.push((format!("stored32_{index}"), stored, canonical_32));
        cases.push((format!("cast32_{index}"), cast, canonical_32));
        cases.push((
            format!("sign32_{index}"),
            copied,
            u64::from(1.0_f32.to_bits()),
        ));
    }
    for (name, bits, expected) in cases {
        // The two halves of the bits are the window and the threshold.
        let body = format!(
            "(local $bits i64) {bits} (local.set $bits)
            (f64.store (i32.const 2048)
                (f64.convert_i64_u (i64.shr_u (local.get $bits) (i64.const 40))))
            (f64.store (i32.const 2056)
                (f64.convert_i64_u (i64.and (local.get $bits) (i64.const 0xffffffffff))))"
        );
        let mut control = control(&name, compiled(&text(&body, "")).expect("it compiles"));
        let mut window = window();
        ack(&mut *control, &mut window);
        let expected = ((expected >> 40) as f64, (expected & 0xff_ffff_ffff) as f64);
        assert_eq!(
            (window.cwnd, window.ssthresh),
            (expected.0.max(1.0), expected.1),
            "{name}"
        );
    }
}

#[test]
fn rewriting_keeps_arguments_locals_and_numbers() {
    let function = "(func $f (param f64 i32 f32) (result f64) (local i64 i64 f64)
            (local.set 5 (f64.promote_f32 (local.get 2)))
            (local.set 3 (i64.extend_i32_u (local.get 1)))
            (f64.store (i32.const 4000) (local.get 0))
            (f64.add (f64.load (i32.const 4000)) (f64.add (local.get 5)
                (f64.add (f64.convert_i64_u (local.get 3)) (f64.convert_i32_u (local.get 1))))))";
    let body = "(f64.store (i32.const 2048)
        (call $f (f64.const 1000) (i32.const 5) (f32.const 0.5)))";
    let mut control = control(
        "rewritten",
        compiled(&text(body, function)).expect("it compiles"),
    );
    let mut window = window();
    ack(&mut *control, &mut window);
    assert_eq!(window.cwnd, 1010.5);
}

#[test]
fn vectors_are_refused() {
    let body = "(v128.store (i32.const 4000) (f64x2.splat (f64.const 1)))";
    assert!(refusal(&text(body, "")).contains("SIMD"));
}
