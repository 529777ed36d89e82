#![no_main]

use std::time::Duration;

use forebay_attack::Runner;
use forebay_engines::{aggregate, engines, rules};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let runner = Runner {
        engines: engines(),
        rules: rules(),
        aggregate,
        most_events: 1e6,
        patience: Duration::from_secs(60),
    };
    runner.feed(bytes);
});
