#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (forebay_attack::target("captures").feed)(bytes));
